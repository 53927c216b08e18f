/*
 * idmp.h
 *	  Idempotent producers: which (producer, iid) pair made which entry.
 *
 * The durable memory of a stream that lets a producer repeat an add: a pair
 * that is remembered gives the id of the entry it made.
 *
 *	1. Producers and iids are strings of any length and any bytes; here they
 *	   are digests of 16 bytes, made outside (src/sqlfn/add.c), which must
 *	   come from a good hash: the trees rely on it for their shape.
 *	2. A producer's pairs form a line in the order of adding; beyond
 *	   `maxsize` the oldest is forgotten.
 *	3. All pairs of the stream form another such line.  Adding a pair whose
 *	   entry has the time t forgets the pairs at its head with times at or
 *	   below t - duration.  No clock is read: replay forgets the same pairs.
 *	   A pair that has outlived the duration behind a younger one is still
 *	   here, and it is for the caller to compare times (idmp_expired).
 *	4. Pairs of a producer, and producers, are found through digital search
 *	   trees: binary trees whose links are in the objects, branching at each
 *	   depth on that bit of the digest.  Linking and unlinking takes no memory
 *	   and no rebalancing, and no digest lies deeper than it has bits.
 *
 * Adding takes at most two small blocks, which idmp_charge notes; the rest
 * cannot fail.  Locking: the owner's, as for the stream (stream.h).
 */
#ifndef STREAM_IDMP_H
#define STREAM_IDMP_H

#include "arena.h"

#define IDMP_DIGEST				16

/* Limits of what a stream may be set to, and what it begins with. */
#define IDMP_DURATION_MAX		86400	/* seconds, from 1 */
#define IDMP_DURATION_DEFAULT	100
#define IDMP_MAXSIZE_MAX		10000	/* pairs of a producer, from 1 */
#define IDMP_MAXSIZE_DEFAULT	100

typedef struct IdmpKey
{
	uint8_t		producer[IDMP_DIGEST];
	uint8_t		iid[IDMP_DIGEST];
} IdmpKey;

typedef struct Idmp
{
	/* durable */
	uint32_t	duration;		/* seconds */
	uint32_t	maxsize;
	uint64_t	added;			/* pairs of all time */
	EngHandle	first;			/* line of all pairs, oldest first */
	EngHandle	last;
	/* derived */
	EngHandle	producers;		/* root of their tree */
	uint64_t	nproducers;
	uint64_t	npairs;
} Idmp;

extern void idmp_init(Idmp *d);

/* The id of the entry that a pair made. */
extern bool idmp_find(const Arena *a, const Idmp *d, const IdmpKey *key, StreamId *id);

/* Is a pair of this id too old beside an entry with the time `ms`? */
static inline bool
idmp_expired(uint32_t duration, StreamId id, uint64_t ms)
{
	uint64_t	span = (uint64_t) duration * 1000;

	return ms >= span && id.ms <= ms - span;
}

/* Note in c what adding n pairs can allocate at most. */
extern void idmp_charge(ArenaCharge *c, uint32_t n);

/* Remember a pair, and forget what is too old or too many.  A pair that is
 * here already gets the new id and goes to the end of its lines.  ENG_EXISTS:
 * it is here with this id.  ENG_NOMEM only without a charge; nothing changed
 * in both cases. */
extern EngStatus idmp_add(Arena *a, Idmp *d, const IdmpKey *key, StreamId id, ArenaUse use);

/* Other limits; if they are others, all pairs are forgotten (`added` stays). */
extern void idmp_configure(Arena *a, Idmp *d, uint32_t duration, uint32_t maxsize);

extern void idmp_clear(Arena *a, Idmp *d);	/* forget all pairs */

/* All pairs, oldest first: fn returns false to stop. */
extern void idmp_each(const Arena *a, const Idmp *d,
					  bool (*fn) (void *arg, const IdmpKey *key, StreamId id), void *arg);

/* Check every invariant; NULL, or which one is broken. */
extern const char *idmp_check(const Arena *a, const Idmp *d);

#endif							/* STREAM_IDMP_H */
