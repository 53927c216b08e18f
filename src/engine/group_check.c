/*
 * group_check.c
 *	  Consumer groups: are they sound?
 *
 * Locking: as said in group.h; shared is enough.
 */
#include "group_int.h"

/* A consumer's number leads to it, and it owns what it says. */
static const char *
check_consumer(const Arena *a, const StreamGroup *g, const Consumer *c, uint64_t *owned)
{
	PendingFilter f = {.consumer = c->number, .owned = true, .owned_upto = UINT64_MAX};
	PendingWalk w;
	PendingRecord r;
	uint64_t	n = 0;

	if (c->number == 0 || group_consumer_numbered(a, g, c->number) != c ||
		group_consumer(a, g, c->name, c->name_len) != c)
		return "a consumer is not where its name and number lead";
	pending_walk(&w, a, &g->pending, &f, STREAMID_MIN);
	while (pending_walk_next(&w, &r))
		n++;
	if (n != c->pending)
		return "a consumer owns another number of records than it says";
	*owned += n;
	return NULL;
}

static const char *
check_consumers(const Arena *a, const StreamGroup *g)
{
	const char *problem = rax_check(a, &g->consumers);
	uint64_t	owned = 0;

	if (problem == NULL)
		problem = rax_check(a, &g->numbers);
	for (const Consumer *c = group_consumer_after(a, g, NULL, 0);
		 c != NULL && problem == NULL;
		 c = group_consumer_after(a, g, c->name, c->name_len))
		problem = check_consumer(a, g, c, &owned);
	if (problem != NULL)
		return problem;
	if (g->numbers.nkeys != g->consumers.nkeys)
		return "a group's consumers have not one number each";
	if (owned + g->pending.released != g->pending.n)
		return "a pending record's owner is no consumer";
	return NULL;
}

static const char *
check_gaps(const Arena *a, const Stream *s, const StreamGroup *g)
{
	const char *problem = idset_check(a, &g->gaps);
	StreamId	from = STREAMID_MIN;
	StreamId	lo;
	StreamId	hi;

	while (problem == NULL && idset_next(a, &g->gaps, from, &lo, &hi))
	{
		StreamId	found;

		if (sid_cmp(hi, g->cursor) > 0)
			return "a gap reaches above the cursor";
		if (g->in_order && (!stream_first_from(a, s, lo, &found) || sid_cmp(found, hi) > 0))
			return "a group in order has a gap without entries";
		from = hi;
		if (!sid_next(&from))
			break;
	}
	return problem;
}

static const char *
check_group(const Arena *a, const Stream *s, const StreamGroup *g)
{
	const char *problem = pending_check(a, &g->pending);

	if (problem == NULL)
		problem = check_gaps(a, s, g);
	if (problem == NULL)
		problem = check_consumers(a, g);
	if (problem != NULL)
		return problem;
	if (g->name_len > GROUP_NAME_MAX || group_find(a, s, g->name, g->name_len) != g)
		return "a group is not where its name leads";
	if ((g->dead_letter != 0) != (g->dead_letter_len > 0))
		return "a group's dead-letter stream has no name, or no bytes";
	if (g->entries_read < -1)
		return "a group has read less than nothing";
	if (sid_cmp(g->cursor, s->top_cursor) > 0)
		return "a group's cursor is above the greatest";
	if (group_lag(s, g) != group_undelivered(a, s, g, STREAMID_MIN, STREAMID_MAX))
		return "a group's undelivered entries are miscounted";
	return NULL;
}

const char *
groups_check(const Arena *a, const Stream *s)
{
	const char *problem = rax_check(a, &s->groups);
	uint64_t	n = 0;

	for (const StreamGroup *g = groups_step(a, s, NULL); g != NULL && problem == NULL; g = groups_step(a, s, g))
	{
		problem = check_group(a, s, g);
		n++;
	}
	if (problem == NULL && n != s->groups.nkeys)
		return "the number of groups is wrong";
	return problem;
}
