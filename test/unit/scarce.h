/*
 * scarce.h
 *	  Lack of memory: allocations that fail, and an arena with nothing left.
 */
#ifndef STREAM_SCARCE_H
#define STREAM_SCARCE_H

#include "arena.h"

static struct
{
	int			at;				/* the allocation that fails, counted from 0 */
	bool		rest;			/* and all after it */
	int			asked;			/* allocations since scarce_begin */
}			scarce;

static inline bool
scarce_fails(size_t size, ArenaUse use)
{
	int			n = scarce.asked++;

	(void) size;
	(void) use;
	return n == scarce.at || (scarce.rest && n > scarce.at);
}

/* From now on the allocation with that number fails; with rest, all later ones too. */
static inline void
scarce_begin(int at, bool rest)
{
	scarce.at = at;
	scarce.rest = rest;
	scarce.asked = 0;
	arena_test_fail = scarce_fails;
}

static inline void
scarce_end(void)
{
	arena_test_fail = NULL;
}

/* Takes all that may be had without a charge; what it took is a chain of objects. */
static inline EngHandle
scarce_fill(Arena *a)
{
	EngHandle	all = 0;
	EngHandle	h;

	for (size_t size = ARENA_PAGE; size >= 16; size /= 2)
		while ((h = arena_alloc(a, size, ARENA_SHRINK)) != 0)
		{
			*(EngHandle *) arena_ptr(a, h) = all;
			all = h;
		}
	return all;
}

static inline void
scarce_unfill(Arena *a, EngHandle all)
{
	while (all != 0)
	{
		EngHandle	next = *(EngHandle *) arena_ptr(a, all);

		arena_free(a, all);
		all = next;
	}
}

#endif
