/*
 * arena.h
 *	  Memory of the engine: blocks inside one fixed region.
 *
 * Model: a buddy-less page allocator under a slab layer, as in many kernels.
 *
 *   1. The region is cut into pages of ARENA_PAGE bytes.  A page map (one
 *      descriptor a page, outside the pages) says what each page is: free,
 *      a slab of one size class, or part of a run of pages.
 *   2. A request of at most ARENA_PAGE bytes is served from a slab: one page
 *      cut into equal objects of its size class.  Such a request can fail
 *      only when there is neither a partly used slab of that class nor a
 *      free page: it never suffers from fragmentation of the region.
 *   3. A larger request takes a run of adjacent pages (best fit from binned
 *      free runs, neighbours merged on free).
 *   4. A charge promises objects of at most a page for later: as many free
 *      pages are set aside as the objects promised by all charges can need in
 *      the worst case, partly used slabs not counted on (others may use them
 *      up).  Many small charges thus cost what one large one does.
 *      Allocations "on charge" draw on it and then cannot fail.  A charge is
 *      given back whole, after the work it was for; until then it counts in
 *      full, so while it is drawn fewer pages than charged may be free, and
 *      then only allocations on charge are served.
 *   5. A small reserve of pages is kept for work that frees memory.
 *
 * Locking: every function that changes the arena takes the lock it was
 * opened with and releases it before returning.  Block contents are the
 * owner's business.
 *
 * Left out on purpose: moving or compacting blocks, growing the region.
 */
#ifndef STREAM_ARENA_H
#define STREAM_ARENA_H

#include "engine.h"

#define ARENA_PAGE		((size_t) 16384)
#define ARENA_NCLASS	48		/* at least as many as there are size classes */

typedef enum ArenaUse
{
	ARENA_NORMAL,				/* leaves charged pages and the reserve alone */
	ARENA_SHRINK,				/* may use the reserve, leaves charged pages */
	ARENA_CHARGED				/* draws on a charge made before */
} ArenaUse;

/* One process's view of an arena. */
typedef struct Arena
{
	char	   *base;			/* where this process sees the region */
	void		(*lock) (void *arg);	/* NULL: no locking needed */
	void		(*unlock) (void *arg);
	void	   *lock_arg;
} Arena;

/* Objects promised, by size class.  All zero bytes are none. */
typedef struct ArenaCharge
{
	uint32_t	n[ARENA_NCLASS];	/* objects of this class or any smaller one */
	uint32_t	exact[ARENA_NCLASS];	/* objects of just this class */
} ArenaCharge;

typedef struct ArenaStats
{
	uint64_t	size;			/* bytes of the region */
	uint64_t	used;			/* bytes of allocated objects and runs (rounded to class or page) */
	uint64_t	pages;			/* pages in the region */
	uint64_t	pages_free;
	uint64_t	pages_charged;	/* set aside for charges */
	uint64_t	pages_reserve;
} ArenaStats;

/* Smallest region that arena_format accepts, in bytes. */
extern size_t arena_size_min(void);

/* Make an empty arena of `size` bytes at `base` (8-byte aligned).  The
 * reserve is 1/64 of the pages, at least 4, at least 64 if that is no more than 1/16.  ENG_TOOBIG: size too small. */
extern EngStatus arena_format(void *base, size_t size);

/* Attach to a formatted arena.  ENG_CORRUPT: no arena of this layout. */
extern EngStatus arena_open(Arena *a, void *base,
							void (*lock) (void *), void (*unlock) (void *), void *arg);

/* A block of at least `size` > 0 bytes, 16-byte aligned, contents undefined;
 * 0 when there is no room.  ARENA_CHARGED only for size <= ARENA_PAGE. */
extern EngHandle arena_alloc(Arena *a, size_t size, ArenaUse use);
extern void arena_free(Arena *a, EngHandle h);

/* Bytes usable in the block at h (never less than asked for). */
extern size_t arena_room(const Arena *a, EngHandle h);

/* Usable bytes that a request of `size` bytes would get. */
extern size_t arena_round(size_t size);

/* Note `count` objects of at most `size` <= ARENA_PAGE bytes each in a charge
 * being put together: each may turn out smaller.  With _exact each request
 * will be for a size of the same class as `size`; for many objects this sets
 * less memory aside. */
extern void arena_charge_note(ArenaCharge *c, size_t size, uint32_t count);
extern void arena_charge_exact(ArenaCharge *c, size_t size, uint32_t count);

/* Set memory aside for a charge, all or nothing (false: no room).
 * `use` is ARENA_NORMAL or ARENA_SHRINK. */
extern bool arena_charge(Arena *a, const ArenaCharge *c, ArenaUse use);
extern void arena_uncharge(Arena *a, const ArenaCharge *c);

extern void arena_stats(Arena *a, ArenaStats *st);

/* Check every invariant of the arena; NULL, or which one is broken. */
extern const char *arena_check(Arena *a);

#ifdef ENGINE_TEST
/* Test builds: asked before each allocation whether it shall fail. */
extern bool (*arena_test_fail) (size_t size, ArenaUse use);
#endif

static inline void *
arena_ptr(const Arena *a, EngHandle h)
{
	return a->base + h;
}

#endif							/* STREAM_ARENA_H */
