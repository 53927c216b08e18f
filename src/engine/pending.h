/*
 * pending.h
 *	  Pending records of a group, by id, in blocks of many.
 *
 * A record is an entry's id, its owner (a consumer's number, or none), the
 * time of its last delivery and how often it was delivered.  Blocks keep them
 * in order, in fields of fixed width, so that changing a record never needs
 * memory; ids are differences to the block's base where they fit.  Each block
 * says what is in it (owners as a mask, oldest times), so that who looks for
 * records of one consumer, or for old ones, passes over whole blocks.
 *
 * Removing never fails; neighbours that have become small are joined.
 */
#ifndef STREAM_PENDING_H
#define STREAM_PENDING_H

#include "rax.h"

#define PENDING_TIME_MAX	((UINT64_C(1) << 48) - 1)

typedef struct PendingRecord
{
	StreamId	id;
	uint32_t	consumer;		/* number; 0: released */
	uint64_t	time;			/* ms, up to PENDING_TIME_MAX: last delivery; of a released one: from when to deliver */
	uint64_t	count;			/* deliveries, up to 2^63-1 */
} PendingRecord;

typedef struct Pending
{
	Rax			blocks;
	EngHandle	first;			/* blocks are chained in order */
	EngHandle	last;
	uint64_t	n;				/* records */
	uint64_t	released;		/* of them without owner */
	/* derived: no owned record has an older time, no released one is due
	 * earlier; may be too low until pending_tighten; UINT64_MAX: there is none */
	uint64_t	oldest_owned;
	uint64_t	oldest_released;
} Pending;

extern bool pending_get(const Arena *a, const Pending *p, StreamId id, PendingRecord *r);
extern bool pending_min(const Arena *a, const Pending *p, PendingRecord *r);
extern bool pending_max(const Arena *a, const Pending *p, PendingRecord *r);

/* Is there any record with lo <= id <= hi? */
extern bool pending_any(const Arena *a, const Pending *p, StreamId lo, StreamId hi);

/* Make both bounds exact, and those of the blocks; looks at every block, and
 * at the records of those that have changed since.  Lock exclusive. */
extern void pending_tighten(const Arena *a, Pending *p);

/* The oldest of the times of owned (released) records that are later than
 * `after`; it may be given too low, but later than that; UINT64_MAX: there is
 * none.  Looks at every block if any is not later, and at the records of those
 * in which that is so. */
extern uint64_t pending_next_time(const Arena *a, const Pending *p, bool released, uint64_t after);

/* Which records to walk over. */
typedef struct PendingFilter
{
	uint32_t	consumer;		/* owned by this one; 0: by any */
	bool		owned;			/* with an owner, */
	bool		released;		/* without */
	uint64_t	owned_upto;		/* owned ones only with time <= this */
	uint64_t	released_upto;	/* released ones likewise */
} PendingFilter;

/* A walk in order of id; valid while the lock is held and nothing changes. */
typedef struct PendingWalk
{
	const Arena *a;
	PendingFilter filter;
	EngHandle	block;			/* 0: at the end */
	uint32_t	pos;			/* of the next record to look at */
} PendingWalk;

extern void pending_walk(PendingWalk *w, const Arena *a, const Pending *p, const PendingFilter *f, StreamId from);
extern bool pending_walk_next(PendingWalk *w, PendingRecord *r);

/* --- changes, for gop_apply --- */

/* Change a record that is there (ENG_NOTFOUND: it is not).  This needs memory
 * only if its count is one that takes a wide block; ENG_NOMEM: nothing changed. */
extern EngStatus pending_set(Arena *a, Pending *p, const PendingRecord *r, ArenaUse use);

/* Remove a record; false: it is not there.  *old as it was. */
extern bool pending_remove(Arena *a, Pending *p, StreamId id, PendingRecord *old);

/* Insert n records in order of id, none of which is there.  All or nothing, if
 * no more than PENDING_BATCH other records lie between the first and the last. */
#define PENDING_BATCH	256
extern EngStatus pending_insert(Arena *a, Pending *p, const PendingRecord *r, size_t n, ArenaUse use);

/* Does this count take a wide block? */
extern bool pending_count_is_wide(uint64_t count);

/* Note what can be allocated at most: by inserting n records in batches, each
 * of which comes to PENDING_BATCH, the last to the rest, if those others are
 * counted that lie between its first and its last record; by inserting n
 * records one by one; by setting n records to counts that are wide. */
extern void pending_charge(ArenaCharge *c, uint32_t n);
extern void pending_charge_single(ArenaCharge *c, uint32_t n);
extern void pending_charge_wide(ArenaCharge *c, uint32_t n);

extern void pending_destroy(Arena *a, Pending *p);
extern const char *pending_check(const Arena *a, const Pending *p);

#endif							/* STREAM_PENDING_H */
