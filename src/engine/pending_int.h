/*
 * pending_int.h
 *	  Blocks of pending records, for the files pending*.c only.
 *
 * A block is a head and records in order of id, in one of two forms.
 *
 *   1. Narrow: 20 bytes a record.  The id is its difference to the base, each
 *      part for itself (the second part as it is, if the first differs); both
 *      fit 32 bits.  Counts up to 65534 are kept as they are, and 65535 stands
 *      for the greatest there is, which xnack gives to what is given up.
 *   2. Wide: 40 bytes, for everything that does not fit.
 *
 * A block holds at most BLOCK_RECORDS in either form.
 */
#ifndef STREAM_PENDING_INT_H
#define STREAM_PENDING_INT_H

#include "pending.h"

#define BLOCK_RECORDS	99

typedef struct Narrow
{
	uint32_t	ms;
	uint32_t	seq;
	uint32_t	consumer;
	uint32_t	time_low;
	uint16_t	time_high;
	uint16_t	count;
} Narrow;

typedef struct Wide
{
	StreamId	id;
	uint64_t	time;
	uint64_t	count;
	uint32_t	consumer;
} Wide;

typedef struct Block
{
	EngHandle	prev;
	EngHandle	next;
	StreamId	base;			/* its key; not above its first record */
	/* summary: no owner is missing, no time is older */
	uint64_t	owners;			/* bit for each consumer's number modulo 64 */
	uint64_t	oldest_owned;	/* UINT64_MAX: none */
	uint64_t	oldest_released;
	uint16_t	n;
	uint16_t	released;
	bool		wide;
	bool		loose;			/* the summary may be too wide */
	union
	{
		Narrow		narrow[BLOCK_RECORDS];
		Wide		wide[BLOCK_RECORDS];
	}			u;
} Block;

#define BLOCK_HEAD		offsetof(Block, u)
#define NARROW_BYTES	(BLOCK_HEAD + BLOCK_RECORDS * sizeof(Narrow))
#define WIDE_BYTES		(BLOCK_HEAD + BLOCK_RECORDS * sizeof(Wide))

#define NARROW_COUNT_MAX	(UINT16_MAX - 1)

static inline Block *
block_at(const Arena *a, EngHandle h)
{
	return arena_ptr(a, h);
}

static inline StreamId
block_id(const Block *b, unsigned i)
{
	const Narrow *n = &b->u.narrow[i];

	if (b->wide)
		return b->u.wide[i].id;
	return (StreamId) {b->base.ms + n->ms, n->ms == 0 ? b->base.seq + n->seq : n->seq};
}

static inline void
block_get(const Block *b, unsigned i, PendingRecord *r)
{
	r->id = block_id(b, i);
	if (b->wide)
	{
		const Wide *w = &b->u.wide[i];

		r->consumer = w->consumer;
		r->time = w->time;
		r->count = w->count;
	}
	else
	{
		const Narrow *n = &b->u.narrow[i];

		r->consumer = n->consumer;
		r->time = (uint64_t) n->time_high << 32 | n->time_low;
		r->count = n->count > NARROW_COUNT_MAX ? INT64_MAX : n->count;
	}
}

/* The first record that is not below id; n if there is none. */
static inline unsigned
block_lower(const Block *b, StreamId id)
{
	unsigned	lo = 0;
	unsigned	hi = b->n;

	if (hi > 0 && sid_cmp(block_id(b, hi - 1u), id) < 0)
		return hi;
	while (lo < hi)
	{
		unsigned	mid = (lo + hi) / 2;

		if (sid_cmp(block_id(b, mid), id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The block that an id is in, if it is there: the last one with base <= id. */
static inline EngHandle
block_for(const Arena *a, const Pending *p, StreamId id)
{
	uint8_t		key[16];
	uint64_t	h;

	if (p->last == 0 || sid_cmp(block_at(a, p->last)->base, id) <= 0)
		return p->last;
	sid_to_key(id, key);
	return rax_seek(a, &p->blocks, RAX_LE, key, sizeof(key), NULL, NULL, &h) ? h : 0;
}

/* The last record of each block is above every one of the block before. */
static inline bool
block_find(const Arena *a, const Pending *p, StreamId id, EngHandle *h, unsigned *i)
{
	*h = block_for(a, p, id);
	if (*h == 0)
		return false;
	*i = block_lower(block_at(a, *h), id);
	return *i < block_at(a, *h)->n && sid_cmp(block_id(block_at(a, *h), *i), id) == 0;
}

/* Bring a record into the summary. */
static inline void
block_note(Block *b, uint32_t consumer, uint64_t time)
{
	if (consumer == 0)
	{
		if (time < b->oldest_released)
			b->oldest_released = time;
	}
	else
	{
		b->owners |= UINT64_C(1) << consumer % 64;
		if (time < b->oldest_owned)
			b->oldest_owned = time;
	}
}

/* Make the summary exact. */
extern void pending_summarize(Block *b);

#endif							/* STREAM_PENDING_INT_H */
