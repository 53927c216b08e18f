/*
 * group.c
 *	  Consumer groups: finding them, and what the stream's changes mean to them.
 *
 * Whether an entry is still to be delivered is said by the cursor and the gaps
 * alone, so for every change of the stream the live entries concerned are
 * counted in the part above the cursor and in each gap.  An add above all
 * cursors, as nearly all are, costs the same however many groups there are; one
 * below a cursor, a deletion and a trim cost a step a group.
 *
 * Locking: as said in group.h.
 */
#include "group_int.h"

/* --- finding --- */

StreamGroup *
group_find(const Arena *a, const Stream *s, const char *name, size_t len)
{
	uint64_t	h;

	return rax_find(a, &s->groups, name, len, &h) ? arena_ptr(a, h) : NULL;
}

/* The object after a name in a tree of them, or the first. */
static void *
after(const Arena *a, const Rax *r, const char *name, size_t len)
{
	uint64_t	h;

	if (r->nkeys == 0 ||
		!rax_seek(a, r, name != NULL ? RAX_GT : RAX_FIRST, name != NULL ? name : "", len, NULL, NULL, &h))
		return NULL;
	return arena_ptr(a, h);
}

StreamGroup *
group_after(const Arena *a, const Stream *s, const char *name, size_t len)
{
	return after(a, &s->groups, name, len);
}

StreamGroup *
groups_step(const Arena *a, const Stream *s, const StreamGroup *g)
{
	return after(a, &s->groups, g != NULL ? g->name : NULL, g != NULL ? g->name_len : 0);
}

void
group_policy(const Arena *a, const StreamGroup *g, GroupPolicy *p)
{
	p->in_order = g->in_order;
	p->retry = g->retry;
	p->max_deliveries = g->max_deliveries;
	p->dead_letter = g->dead_letter != 0 ? arena_ptr(a, g->dead_letter) : NULL;
	p->dead_letter_len = g->dead_letter_len;
}

Consumer *
group_consumer(const Arena *a, const StreamGroup *g, const char *name, size_t len)
{
	uint64_t	h;

	return rax_find(a, &g->consumers, name, len, &h) ? arena_ptr(a, h) : NULL;
}

Consumer *
group_consumer_numbered(const Arena *a, const StreamGroup *g, uint32_t number)
{
	uint8_t		key[4];
	uint64_t	h;

	number_to_key(number, key);
	return rax_find(a, &g->numbers, key, sizeof(key), &h) ? arena_ptr(a, h) : NULL;
}

Consumer *
group_consumer_after(const Arena *a, const StreamGroup *g, const char *name, size_t len)
{
	return after(a, &g->consumers, name, len);
}

bool
stream_referenced(const Arena *a, const Stream *s, StreamId id)
{
	PendingRecord r;

	for (StreamGroup *g = groups_step(a, s, NULL); g != NULL; g = groups_step(a, s, g))
	{
		if (sid_cmp(id, g->cursor) > 0 || idset_has(a, &g->gaps, id) ||
			pending_get(a, &g->pending, id, &r))
			return true;
	}
	return false;
}

/* --- parts of a group --- */

uint64_t
group_lag(const Stream *s, const StreamGroup *g)
{
	return g->owed + s->arrived;
}

uint64_t
group_undelivered(const Arena *a, const Stream *s, const StreamGroup *g, StreamId lo, StreamId hi)
{
	uint64_t	n = 0;
	StreamId	from;
	StreamId	to;

	if (sid_cmp(hi, g->cursor) > 0)
	{
		from = g->cursor;
		sid_next(&from);
		n = stream_count(a, s, sid_cmp(lo, from) > 0 ? lo : from, hi);
	}
	while (idset_next(a, &g->gaps, lo, &from, &to) && sid_cmp(from, hi) <= 0)
	{
		n += stream_count(a, s, from, sid_cmp(to, hi) < 0 ? to : hi);
		lo = to;
		if (sid_cmp(to, hi) >= 0 || !sid_next(&lo))
			break;
	}
	return n;
}

void
group_drop_empty_gap(Arena *a, const Stream *s, StreamGroup *g, StreamId id, StreamId bound)
{
	StreamId	lo;
	StreamId	hi;
	StreamId	found;

	if (!g->in_order || !idset_range(a, &g->gaps, id, &lo, &hi))
		return;
	if (sid_cmp(lo, bound) < 0)
		lo = bound;
	if (!stream_first_from(a, s, lo, &found) || sid_cmp(found, hi) > 0)
		idset_drop(a, &g->gaps, id);
}

bool
group_remove_record(Arena *a, StreamGroup *g, StreamId id)
{
	PendingRecord old;

	if (!pending_remove(a, &g->pending, id, &old))
		return false;
	if (old.consumer != 0)
		group_consumer_numbered(a, g, old.consumer)->pending--;
	return true;
}

static void
free_block(void *arg, uint64_t value)
{
	arena_free(arg, value);
}

void
group_free(Arena *a, StreamGroup *g)
{
	pending_destroy(a, &g->pending);
	idset_clear(a, &g->gaps);
	rax_clear(a, &g->numbers, NULL, NULL);
	rax_clear(a, &g->consumers, free_block, a);
	if (g->dead_letter != 0)
		arena_free(a, g->dead_letter);
	arena_free(a, (EngHandle) ((char *) g - a->base));
}

/* --- what the stream tells --- */

void
groups_added(const Arena *a, Stream *s, StreamId first, StreamId last, uint64_t n)
{
	s->arrived += n;
	if (sid_cmp(first, s->top_cursor) > 0)
		return;
	s->top_cursor = STREAMID_MIN;
	for (StreamGroup *g = groups_step(a, s, NULL); g != NULL; g = groups_step(a, s, g))
	{
		if (sid_cmp(first, g->cursor) <= 0)
			g->owed += group_undelivered(a, s, g, first, last) - n;
		if (sid_cmp(g->cursor, s->top_cursor) > 0)
			s->top_cursor = g->cursor;
	}
}

void
groups_deleted(Arena *a, Stream *s, StreamId id, bool was_there, bool keep_records)
{
	for (StreamGroup *g = groups_step(a, s, NULL); g != NULL; g = groups_step(a, s, g))
	{
		if (was_there && (sid_cmp(id, g->cursor) > 0 || idset_has(a, &g->gaps, id)))
		{
			g->owed--;
			group_drop_empty_gap(a, s, g, id, STREAMID_MIN);
			s->version++;
		}
		if (!keep_records && group_remove_record(a, g, id))
			s->version++;
	}
}

/* One group's part of a trim. */
static void
group_trimming(Arena *a, Stream *s, StreamGroup *g, StreamId bound, bool keep_records)
{
	StreamId	last = bound;
	StreamId	lo;
	StreamId	hi;
	PendingRecord r;

	if (!sid_prev(&last))
		return;
	g->owed -= group_undelivered(a, s, g, STREAMID_MIN, last);
	while (idset_next(a, &g->gaps, STREAMID_MIN, &lo, &hi) && sid_cmp(hi, bound) < 0)
	{
		idset_drop(a, &g->gaps, lo);
		s->version++;
	}
	group_drop_empty_gap(a, s, g, last, bound);
	while (!keep_records && pending_min(a, &g->pending, &r) && sid_cmp(r.id, bound) < 0)
	{
		group_remove_record(a, g, r.id);
		s->version++;
	}
}

void
groups_trimming(Arena *a, Stream *s, StreamId bound, bool keep_records)
{
	for (StreamGroup *g = groups_step(a, s, NULL); g != NULL; g = groups_step(a, s, g))
		group_trimming(a, s, g, bound, keep_records);
}

void
groups_destroy(Arena *a, Stream *s)
{
	for (StreamGroup *g = groups_step(a, s, NULL); g != NULL; g = groups_step(a, s, NULL))
	{
		rax_remove(a, &s->groups, g->name, g->name_len, NULL);
		group_free(a, g);
	}
}
