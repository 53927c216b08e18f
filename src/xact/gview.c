/*
 * gview.c
 *	  What there is to say about groups, consumers and pending records.
 *
 * All of it is the merged state with what this transaction has done laid over
 * it.  Counters answer at once; where own operations change what is counted,
 * the pending records are gone over.  Names are copied into buffers under the
 * lock and become values outside it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "xact/group.h"

/* --- counting --- */

/* Have own operations changed which records there are, or whose? */
static bool
records_changed(const GroupTarget *gt, const GroupPend *gp)
{
	const Pend *p = gt->t.pend;

	return (gp != NULL && (gp->hides || gp->nconsumers > 0 ||
						   (gp->records != NULL && hash_get_num_entries(gp->records) > 0))) ||
		(p != NULL && (p->ndels > 0 || p->ntrims > 0));
}

static void
count_records(GroupView *v, SeenWalk *w)
{
	SeenRecord	r;

	seen_walk_begin(w, STREAMID_MIN);
	while (seen_walk_next(w, &r))
	{
		if (v->pending++ == 0)
			v->min_id = r.id;
		v->max_id = r.id;
		if (!r.owned)
			v->released++;
		else
			v->oldest = Min(v->oldest, r.time);
	}
}

static void
read_counts(GroupView *v, const StreamGroup *base)
{
	PendingRecord r;

	v->pending = base->pending.n;
	v->released = base->pending.released;
	v->oldest = base->pending.oldest_owned;
	if (pending_min(&StrmArena, &base->pending, &r))
		v->min_id = r.id;
	if (pending_max(&StrmArena, &base->pending, &r))
		v->max_id = r.id;
}

/*
 * Which merged entries count: those that we have not trimmed, and above the
 * cursor only those that we have not passed over (xclaim's last_id).
 */
typedef struct Counted
{
	const Stream *s;
	const StreamGroup *base;
	StreamId	from;			/* from here to the cursor, */
	StreamId	above;			/* and from here on */
	bool		none_above;
} Counted;

static uint64
count_between(const Counted *c, StreamId lo, StreamId hi)
{
	StreamId	a = sid_cmp(lo, c->from) > 0 ? lo : c->from;
	StreamId	b = sid_cmp(hi, c->base->cursor) < 0 ? hi : c->base->cursor;
	uint64		n = 0;

	if (sid_cmp(a, b) <= 0)
		n = group_undelivered(&StrmArena, c->s, c->base, a, b);
	a = sid_cmp(lo, c->above) > 0 ? lo : c->above;
	if (!c->none_above && sid_cmp(a, hi) <= 0)
		n += group_undelivered(&StrmArena, c->s, c->base, a, hi);
	return n;
}

/* Merged entries that the group has to deliver, as we see them. */
static uint64
count_merged_lag(GroupTarget *gt, const GroupPend *gp, const StreamGroup *base, const Unseen *u,
				 const SeenWalk *w)
{
	Pend	   *p = gt->t.pend;
	Counted		c = {.s = &gt->t.ss->stream, .base = base, .above = base->cursor};
	bool		all = true;
	uint64		n;

	if (p != NULL)
	{
		c.from = p->trim_to;
		all = sid_is_zero(p->trim_to);
	}
	if (gp != NULL && sid_cmp(gp->skipped, c.above) > 0)
	{
		c.above = gp->skipped;
		all = false;
	}
	c.none_above = !sid_next(&c.above);
	if (sid_cmp(c.from, c.above) > 0)
		c.above = c.from;
	n = all ? group_lag(c.s, base) : count_between(&c, STREAMID_MIN, STREAMID_MAX);
	for (int i = 0; i < u->n; i++)
		n -= count_between(&c, u->range[i].lo, u->range[i].hi);
	for (int i = 0; p != NULL && i < p->ndels; i++)
	{
		const Deletion *d = &p->dels[i];

		if (!d->own && !d->again && !(u->n > 0 && unseen_has(u, d->id)))
			n -= count_between(&c, d->id, d->id);
	}
	for (int i = 0; i < w->nown; i++)
		if (overlay_record(gp, w->own[i])->given && live_has(gt->t.ss, p, w->own[i]))
			n -= count_between(&c, w->own[i], w->own[i]);
	return n;
}

/* Own given entries above `above` that are still there; only_ours: which we
 * have added. */
static uint64
count_given(const GroupTarget *gt, const GroupPend *gp, const SeenWalk *w, StreamId above, bool only_ours)
{
	uint64		n = 0;

	for (int i = 0; i < w->nown; i++)
		n += sid_cmp(w->own[i], above) > 0 && overlay_record(gp, w->own[i])->given &&
			(only_ours ? pend_has(gt->t.pend, w->own[i]) : live_has(gt->t.ss, gt->t.pend, w->own[i]));
	return n;
}

/*
 * Entries that the group has yet to deliver, as we see them.  Where nothing
 * is of ours that is one number; else it is corrected by what we have done.
 */
static uint64
count_lag(GroupTarget *gt, const GroupPend *gp, const StreamGroup *base, const Unseen *u, const SeenWalk *w)
{
	StreamId	above = gp != NULL && gp->cursor_set ? gp->set_to : overlay_cursor(base, NULL);
	StreamId	from = above;
	uint64		lag;

	if (base == NULL || (gp != NULL && gp->cursor_set))
		return sid_next(&from) ? view_count_locked(&gt->t, u, from, STREAMID_MAX) -
			count_given(gt, gp, w, above, false) : 0;
	lag = count_merged_lag(gt, gp, base, u, w);
	if (gt->t.pend != NULL && gp != NULL && sid_cmp(gp->skipped, above) > 0)
		from = above = gp->skipped;
	if (gt->t.pend != NULL && sid_next(&from))
		lag += pend_count(gt->t.pend, from, STREAMID_MAX) - count_given(gt, gp, w, above, true);
	return lag;
}

static uint64
count_consumers(const StreamGroup *base, const GroupPend *gp)
{
	uint64		n = base != NULL ? base->consumers.nkeys : 0;

	for (int i = 0; gp != NULL && i < gp->nconsumers; i++)
	{
		const OwnConsumer *c = &gp->consumers[i];
		bool		merged = base != NULL && group_consumer(&StrmArena, base, c->name, c->len) != NULL;

		n = n + c->there - merged;
	}
	return n;
}

/* The first entry it has yet to deliver, as merged. */
static StreamId
first_undelivered(const Stream *s, const StreamGroup *base)
{
	StreamId	from = base->cursor;
	StreamId	found = STREAMID_MIN;
	StreamId	lo;
	StreamId	hi;
	StreamId	id;

	if (sid_next(&from) && stream_first_from(&StrmArena, s, from, &id))
		found = id;
	for (StreamId at = STREAMID_MIN; idset_next(&StrmArena, &base->gaps, at, &lo, &hi);)
	{
		if (stream_first_from(&StrmArena, s, lo, &id) && sid_cmp(id, hi) <= 0)
			return id;
		at = hi;
		if (!sid_next(&at))
			break;
	}
	return found;
}

/* --- groups --- */

typedef struct GroupCopy
{
	GroupView	v;
	char		name[GROUP_NAME_MAX];
	char		dead_letter[STREAM_NAME_MAX];
} GroupCopy;

/* Lock held, exclusive (the bounds of times are made exact). */
static void
look_at_group(GroupTarget *gt, const GroupPend *gp, const Unseen *u, SeenWalk *w, GroupCopy *copy)
{
	StreamGroup *base = overlay_base(gt, gp);
	GroupShare *g = strm_share(gt->t.ss, gt->name, gt->len, false);
	GroupView  *v = &copy->v;
	GroupPolicy policy;

	memset(v, 0, sizeof(*v));
	v->oldest = PG_UINT64_MAX;
	v->entries_read = -1;
	memcpy(copy->name, gt->name, gt->len);
	v->len = gt->len;
	if (base != NULL)
		pending_tighten(&StrmArena, &base->pending);
	if (base == NULL || records_changed(gt, gp))
		count_records(v, w);
	else
		read_counts(v, base);
	v->consumers = count_consumers(base, gp);
	v->cursor = overlay_cursor(base, gp);
	v->lag = count_lag(gt, gp, base, u, w);
	if (base != NULL)
	{
		v->entries_read = base->entries_read;
		v->next_id = first_undelivered(&gt->t.ss->stream, base);
		v->delivered = base->delivered;
		v->redelivered = base->redelivered;
		v->acked = base->acked;
		v->dead = base->dead;
	}
	if (gp != NULL)
	{
		if (gp->cursor_set)
			v->entries_read = gp->entries_read;
		if (v->entries_read >= 0)
			v->entries_read += (int64) gp->delivered;
		v->delivered += gp->delivered;
		v->redelivered += gp->redelivered;
		v->acked += gp->acked;
		v->dead += gp->dead;
	}
	v->in_flight = g != NULL ? g->nflight : 0;
	overlay_policy(base, gp, &policy);
	v->in_order = policy.in_order;
	v->retry = policy.retry;
	v->max_deliveries = policy.max_deliveries;
	v->dead_letter_len = policy.dead_letter_len;
	if (policy.dead_letter_len > 0)
		memcpy(copy->dead_letter, policy.dead_letter, policy.dead_letter_len);
}

static char *
dup_bytes(const char *bytes, uint32 len)
{
	return memcpy(palloc(Max(1, len)), bytes, len);
}

static void
to_view(const GroupCopy *copy, GroupView *v)
{
	*v = copy->v;
	v->name = dup_bytes(copy->name, v->len);
	v->dead_letter = v->dead_letter_len > 0 ? dup_bytes(copy->dead_letter, v->dead_letter_len) : NULL;
}

bool
strm_group_view(GroupTarget *gt, GroupView *v)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	GroupCopy  *copy = palloc(sizeof(GroupCopy));
	SeenFilter	all = {.base = {0, true, true, PG_UINT64_MAX, PG_UINT64_MAX}};
	SeenWalk	w;
	Unseen		u = {0};
	bool		exists;

	if (gt->t.pend != NULL)
		pend_refresh(gt->t.pend);
	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	seen_walk_prepare(&w, gt, gp, &all, true);
	if (!unseen_lock(&gt->t, &u, LW_EXCLUSIVE, GetActiveSnapshot(), true))
		return false;
	unseen_sort(&u);
	exists = overlay_exists(gt, gp);
	if (exists)
		look_at_group(gt, gp, &u, &w, copy);
	strm_unlock(gt->t.ss);
	if (exists)
		to_view(copy, v);
	pfree(copy);
	return exists;
}

/* The name of the group after *name as seen, merged or ours; false: no more.
 * Takes the lock. */
static bool
next_group(Target *t, char *name, uint32 *len, bool first)
{
	const char *best = NULL;
	uint32		best_len = 0;
	const StreamGroup *g;

	if (!strm_lock(t->ss, t->id, LW_SHARED))
		return false;
	g = group_after(&StrmArena, &t->ss->stream, first ? NULL : name, *len);
	if (g != NULL)
	{
		best = g->name;
		best_len = g->name_len;
	}
	for (GroupPend *gp = t->pend ? t->pend->groups : NULL; gp != NULL; gp = gp->next)
		if ((first || names_cmp(gp->name, gp->len, name, *len) > 0) &&
			(best == NULL || names_cmp(gp->name, gp->len, best, best_len) < 0))
		{
			best = gp->name;
			best_len = gp->len;
		}
	if (best != NULL)
	{
		memmove(name, best, best_len);
		*len = best_len;
	}
	strm_unlock(t->ss);
	return best != NULL;
}

int
strm_groups_view(Target *t, GroupView **views)
{
	char		name[GROUP_NAME_MAX];
	uint32		len = 0;
	int			n = 0;
	int			cap = 8;

	*views = palloc(cap * sizeof(GroupView));
	for (bool first = true; next_group(t, name, &len, first); first = false)
	{
		GroupTarget gt = {*t, name, len};

		CHECK_FOR_INTERRUPTS();
		if (n == cap)
			*views = repalloc_huge(*views, (Size) (cap *= 2) * sizeof(GroupView));
		n += strm_group_view(&gt, &(*views)[n]);
	}
	return n;
}

/* --- consumers --- */

typedef struct ConsumerCopy
{
	ConsumerView v;
	bool		there;
	char		name[GROUP_NAME_MAX];
} ConsumerCopy;

#define CONSUMERS_AT_ONCE	32

/* The next consumers after a name, merged and ours together.  Lock held. */
static int
copy_consumers(GroupTarget *gt, const GroupPend *gp, ConsumerCopy *copy, char *name, uint32 *len, bool first)
{
	StreamGroup *base = overlay_base(gt, gp);
	int			n = 0;

	for (; n < CONSUMERS_AT_ONCE; n++, first = false)
	{
		ConsumerCopy *c = &copy[n];
		const Consumer *merged = base != NULL
			? group_consumer_after(&StrmArena, base, first ? NULL : name, *len) : NULL;
		const OwnConsumer *own = NULL;

		for (int i = 0; gp != NULL && i < gp->nconsumers; i++)
		{
			const OwnConsumer *o = &gp->consumers[i];

			if ((first || names_cmp(o->name, o->len, name, *len) > 0) &&
				(own == NULL || names_cmp(o->name, o->len, own->name, own->len) < 0))
				own = o;
		}
		if (merged != NULL && own != NULL)
		{
			int			cmp = names_cmp(merged->name, merged->name_len, own->name, own->len);

			if (cmp < 0)
				own = NULL;
			else if (cmp > 0)
				merged = NULL;
		}
		if (merged == NULL && own == NULL)
			break;
		c->there = own != NULL ? own->there : true;
		c->v = (ConsumerView) {
			.len = own != NULL ? own->len : merged->name_len,
			.pending = merged != NULL ? merged->pending : 0,
			.seen = Max(merged != NULL ? merged->seen : 0, own != NULL ? own->seen : 0),
			.active = Max(merged != NULL ? merged->active : 0, own != NULL ? own->active : 0)
		};
		memcpy(c->name, own != NULL ? own->name : merged->name, c->v.len);
		memcpy(name, c->name, c->v.len);
		*len = c->v.len;
	}
	return n;
}

/* What a consumer has pending, by going over the records. */
static uint64
count_of_consumer(GroupTarget *gt, const GroupPend *gp, const ConsumerView *c)
{
	SeenFilter	filter = seen_of_consumer(c->name, c->len);
	SeenWalk	w;
	SeenRecord	r;
	uint64		n = 0;

	seen_walk_prepare(&w, gt, gp, &filter, true);
	if (!strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
		return 0;
	seen_walk_begin(&w, STREAMID_MIN);
	while (seen_walk_next(&w, &r))
		n++;
	strm_unlock(gt->t.ss);
	return n;
}

int
strm_consumers_view(GroupTarget *gt, ConsumerView **views)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	ConsumerCopy *copy = palloc(CONSUMERS_AT_ONCE * sizeof(ConsumerCopy));
	char		name[GROUP_NAME_MAX];
	uint32		len = 0;
	bool		exists = true;
	bool		changed = false;
	bool		first = true;
	int			n = 0;
	int			cap = CONSUMERS_AT_ONCE;
	int			got;

	if (gt->t.pend != NULL)
		pend_refresh(gt->t.pend);
	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	*views = palloc(cap * sizeof(ConsumerView));
	do
	{
		CHECK_FOR_INTERRUPTS();
		exists = strm_look(gt->t.ss, gt->t.id, LW_SHARED, GetActiveSnapshot());
		if (exists)
		{
			exists = overlay_exists(gt, gp);
			changed = records_changed(gt, gp);
			got = exists ? copy_consumers(gt, gp, copy, name, &len, first) : 0;
			strm_unlock(gt->t.ss);
		}
		first = false;
		if (!exists)
			return -1;
		if (n + got > cap)
			*views = repalloc_huge(*views, (Size) (cap *= 2) * sizeof(ConsumerView));
		for (int i = 0; i < got; i++)
			if (copy[i].there)
			{
				(*views)[n] = copy[i].v;
				(*views)[n].name = dup_bytes(copy[i].name, copy[i].v.len);
				n++;
			}
	} while (got == CONSUMERS_AT_ONCE);
	pfree(copy);
	for (int i = 0; changed && i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(*views)[i].pending = count_of_consumer(gt, gp, &(*views)[i]);
	}
	return n;
}

/* --- pending records --- */

#define RECORDS_AT_ONCE	1000

int
strm_pending_view(GroupTarget *gt, StreamId from, StreamId to, int64 count,
				  const char *consumer, uint32 consumer_len, bool of_consumer,
				  uint64 min_idle, PendingView **views)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	uint64		now = strm_now_ms();
	SeenFilter	filter = {
		.base = {
			.owned = true, .owned_upto = min_idle == 0 ? PG_UINT64_MAX : min_idle <= now ? now - min_idle : 0,
			.released = true, .released_upto = PG_UINT64_MAX
		},
		.of_consumer = of_consumer, .consumer = consumer, .consumer_len = consumer_len
	};
	SeenRecord *batch = palloc(RECORDS_AT_ONCE * sizeof(SeenRecord));
	NameCache	names = {0};
	SeenWalk	w;
	int			n = 0;
	int			cap = 0;
	bool		done = sid_cmp(from, to) > 0;

	*views = NULL;
	if (of_consumer)
		filter.base.released = false;
	if (gt->t.pend != NULL)
		pend_refresh(gt->t.pend);
	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	seen_walk_prepare(&w, gt, gp, &filter, true);
	for (bool first = true; first || (!done && n < count); first = false)
	{
		int			want = (int) Min(RECORDS_AT_ONCE, count - n);
		int			got = 0;
		bool		exists = strm_look(gt->t.ss, gt->t.id, LW_SHARED, GetActiveSnapshot());

		if (exists)
		{
			exists = overlay_exists(gt, gp);
			if (exists && !done)
			{
				seen_walk_begin(&w, from);
				while (got < want && seen_walk_next(&w, &batch[got]) && sid_cmp(batch[got].id, to) <= 0)
					got++;
			}
			strm_unlock(gt->t.ss);
		}
		if (!exists)
			return -1;
		done = got < want;
		if (got == 0)
			break;
		if (n + got > cap)
		{
			cap = Max(n + got, 2 * cap);
			*views = *views == NULL ? palloc_extended(cap * sizeof(PendingView), MCXT_ALLOC_HUGE)
				: repalloc_huge(*views, (Size) cap * sizeof(PendingView));
		}
		for (int i = 0; i < got; i++)
		{
			PendingView *v = &(*views)[n++];

			*v = (PendingView) {
				.id = batch[i].id, .owned = batch[i].owned, .time = batch[i].time, .deliveries = batch[i].count
			};
			if (v->owned)
				v->consumer = owner_name(&names, gt, gp, batch[i].number, batch[i].own, &v->consumer_len);
		}
		from = batch[got - 1].id;
		done = done || !sid_next(&from);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(batch);
	return n;
}
