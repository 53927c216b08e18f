/*
 * idset.h
 *	  A set of ids, kept as ranges: a radix tree of their boundaries.
 */
#ifndef STREAM_IDSET_H
#define STREAM_IDSET_H

#include "rax.h"

typedef struct IdSet
{
	Rax			bounds;			/* first id of a range -> 1; first id behind it -> 0 */
} IdSet;

extern bool idset_has(const Arena *a, const IdSet *s, StreamId id);

/* The whole range that `id` is in; false: it is in none. */
extern bool idset_range(const Arena *a, const IdSet *s, StreamId id, StreamId *lo, StreamId *hi);

/* The first range, or part of one, at or above `from`: lo >= from.  False: none. */
extern bool idset_next(const Arena *a, const IdSet *s, StreamId from, StreamId *lo, StreamId *hi);

/* Add or take out the ids lo..hi (none if lo > hi).  With a charge neither can
 * fail; ENG_NOMEM: nothing changed. */
extern EngStatus idset_add(Arena *a, IdSet *s, StreamId lo, StreamId hi, ArenaUse use);
extern EngStatus idset_remove(Arena *a, IdSet *s, StreamId lo, StreamId hi, ArenaUse use);
extern void idset_charge(ArenaCharge *c, uint32_t n);	/* n of these */

/* Take out the whole range that `id` is in, if it is in one; never fails. */
extern void idset_drop(Arena *a, IdSet *s, StreamId id);

extern void idset_clear(Arena *a, IdSet *s);
extern const char *idset_check(const Arena *a, const IdSet *s);

#endif							/* STREAM_IDSET_H */
