/*
 * pending_read.c
 *	  Pending records of a group: looking at them.
 *
 * Locking: none here; the owner's.
 */
#include "pending_int.h"

bool
pending_get(const Arena *a, const Pending *p, StreamId id, PendingRecord *r)
{
	EngHandle	h;
	unsigned	i;

	if (!block_find(a, p, id, &h, &i))
		return false;
	block_get(block_at(a, h), i, r);
	return true;
}

bool
pending_min(const Arena *a, const Pending *p, PendingRecord *r)
{
	if (p->first == 0)
		return false;
	block_get(block_at(a, p->first), 0, r);
	return true;
}

bool
pending_max(const Arena *a, const Pending *p, PendingRecord *r)
{
	const Block *b;

	if (p->last == 0)
		return false;
	b = block_at(a, p->last);
	block_get(b, b->n - 1u, r);
	return true;
}

/* Where the first record is that is not below id; false: there is none. */
static bool
find_from(const Arena *a, const Pending *p, StreamId id, EngHandle *h, unsigned *i)
{
	*h = block_for(a, p, id);
	*i = 0;
	if (*h == 0)
		*h = p->first;
	else
	{
		*i = block_lower(block_at(a, *h), id);
		if (*i == block_at(a, *h)->n)
		{
			*h = block_at(a, *h)->next;
			*i = 0;
		}
	}
	return *h != 0;
}

bool
pending_any(const Arena *a, const Pending *p, StreamId lo, StreamId hi)
{
	EngHandle	h;
	unsigned	i;

	return find_from(a, p, lo, &h, &i) && sid_cmp(block_id(block_at(a, h), i), hi) <= 0;
}

void
pending_tighten(const Arena *a, Pending *p)
{
	p->oldest_owned = p->oldest_released = UINT64_MAX;
	for (EngHandle h = p->first; h != 0; h = block_at(a, h)->next)
	{
		Block	   *b = block_at(a, h);

		if (b->loose)
			pending_summarize(b);
		if (b->oldest_owned < p->oldest_owned)
			p->oldest_owned = b->oldest_owned;
		if (b->oldest_released < p->oldest_released)
			p->oldest_released = b->oldest_released;
	}
}

static uint64_t
block_next_time(const Block *b, bool released, uint64_t after)
{
	uint64_t	next = released ? b->oldest_released : b->oldest_owned;
	PendingRecord r;

	if (next > after || (released ? b->released == 0 : b->n == b->released))
		return next > after ? next : UINT64_MAX;
	next = UINT64_MAX;
	for (unsigned i = 0; i < b->n; i++)
	{
		block_get(b, i, &r);
		if ((r.consumer == 0) == released && r.time > after && r.time < next)
			next = r.time;
	}
	return next;
}

uint64_t
pending_next_time(const Arena *a, const Pending *p, bool released, uint64_t after)
{
	uint64_t	next = released ? p->oldest_released : p->oldest_owned;

	if (next > after)
		return next;
	next = UINT64_MAX;
	for (EngHandle h = p->first; h != 0; h = block_at(a, h)->next)
	{
		uint64_t	t = block_next_time(block_at(a, h), released, after);

		if (t < next)
			next = t;
	}
	return next;
}

/* --- walking --- */

void
pending_walk(PendingWalk *w, const Arena *a, const Pending *p, const PendingFilter *f, StreamId from)
{
	unsigned	i;

	w->a = a;
	w->filter = *f;
	(void) find_from(a, p, from, &w->block, &i);
	w->pos = i;
}

/* Can the block hold a record that the filter lets through? */
static bool
may_hold(const Block *b, const PendingFilter *f)
{
	if (f->released && b->released > 0 && b->oldest_released <= f->released_upto)
		return true;
	return f->owned && b->n > b->released && b->oldest_owned <= f->owned_upto &&
		(f->consumer == 0 || (b->owners >> f->consumer % 64 & 1) != 0);
}

static bool
lets_through(const PendingFilter *f, const PendingRecord *r)
{
	if (r->consumer == 0)
		return f->released && r->time <= f->released_upto;
	return f->owned && r->time <= f->owned_upto &&
		(f->consumer == 0 || r->consumer == f->consumer);
}

bool
pending_walk_next(PendingWalk *w, PendingRecord *r)
{
	while (w->block != 0)
	{
		const Block *b = block_at(w->a, w->block);

		if (may_hold(b, &w->filter))
		{
			while (w->pos < b->n)
			{
				block_get(b, w->pos++, r);
				if (lets_through(&w->filter, r))
					return true;
			}
		}
		w->block = b->next;
		w->pos = 0;
	}
	return false;
}

/* --- checking --- */

/* What was seen of the blocks so far. */
typedef struct Sums
{
	uint64_t	blocks;
	uint64_t	n;
	uint64_t	released;
	EngHandle	prev;
	StreamId	last;
} Sums;

static const char *
check_block(const Arena *a, const Pending *p, EngHandle h, Sums *sums)
{
	const Block *b = block_at(a, h);
	size_t		size = b->wide ? sizeof(Wide) : sizeof(Narrow);
	unsigned	released = 0;
	uint8_t		key[16];
	uint64_t	found;

	if (b->n == 0 || b->n > BLOCK_RECORDS || BLOCK_HEAD + b->n * size > arena_room(a, h))
		return "a block of pending records is empty or too full";
	if (b->prev != sums->prev)
		return "the chain of pending records is broken";
	sid_to_key(b->base, key);
	if (!rax_find(a, &p->blocks, key, sizeof(key), &found) || found != h)
		return "a block of pending records is not where its key leads";
	if (sums->blocks++ > 0 && sid_cmp(b->base, sums->last) <= 0)
		return "two blocks of pending records overlap";
	for (unsigned i = 0; i < b->n; i++)
	{
		PendingRecord r;

		block_get(b, i, &r);
		if (sid_cmp(r.id, i > 0 ? sums->last : b->base) < (i > 0 ? 1 : 0))
			return "pending records are not in order";
		sums->last = r.id;
		released += r.consumer == 0;
		if (r.time > PENDING_TIME_MAX || r.count > INT64_MAX)
			return "a pending record's time or count is too large";
		if (r.consumer == 0 ? r.time < b->oldest_released || r.time < p->oldest_released :
			r.time < b->oldest_owned || r.time < p->oldest_owned ||
			(b->owners >> r.consumer % 64 & 1) == 0)
			return "a pending record is older than its block says, or not its owner's";
	}
	if (released != b->released)
		return "a block of pending records has another number of released ones";
	sums->n += b->n;
	sums->released += released;
	sums->prev = h;
	return NULL;
}

const char *
pending_check(const Arena *a, const Pending *p)
{
	const char *problem = rax_check(a, &p->blocks);
	Sums		sums = {0};

	for (EngHandle h = p->first; h != 0 && problem == NULL; h = block_at(a, h)->next)
		problem = check_block(a, p, h, &sums);
	if (problem != NULL)
		return problem;
	if (sums.prev != p->last || sums.blocks != p->blocks.nkeys)
		return "the chain of pending records ends elsewhere";
	if (sums.n != p->n || sums.released != p->released)
		return "the number of pending records is wrong";
	return NULL;
}
