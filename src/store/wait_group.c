/*
 * wait_group.c
 *	  Who waits for a group, and which of them is to be woken.
 *
 * The readers that wait for a group stand in its share's line in order of
 * arrival, and keep their places until they go.  An entry is for one of them,
 * so not all are woken:
 *	1. With so many entries or records free to be delivered, the first so many
 *	   in line are told (`woken`).  That is worked out again whenever something
 *	   has changed and whenever somebody leaves the line, so a reader that was
 *	   told and goes away leaves nothing behind that the next is not told of.
 *	   Who is told looks, and takes something and leaves, or sleeps again.
 *	   Counting too much costs a look; counting too little would cost a wake-up,
 *	   so where it cannot be said how many there are, more is said.
 *	2. What becomes free just because time passes - a nack's delay, the retry of
 *	   the group - is the first one's to watch: he sleeps no longer than until
 *	   then (`alarm`), and not at all if it came due since he looked.  Where
 *	   readers differ in what they claim each watches for himself.  Whoever
 *	   becomes the first, and whoever should wake earlier than he knew, has his
 *	   latch set without being told to look.
 *	3. A reader that only asked whether there is something (xwaitgroup) leaves
 *	   with nothing taken.  His link stays in line and counts as told, so that
 *	   the same entry is not announced to the next, until he comes back for it,
 *	   his backend ends, or a second is over; the first one watches that too.
 *
 * All under the stream's lock, exclusive.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "store/store.h"

#define PROMISE_MS	1000

/* So many records that are in flight are passed over in search of one that is
 * free; then it is taken for granted that there is one. */
#define SEARCH_MAX	100

static uint64
now_ms(void)
{
	return (GetCurrentTimestamp() +
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY) / 1000;
}

static WaitLink *
link_ptr(EngHandle h)
{
	return h != 0 ? STRM_PTR(WaitLink, h) : NULL;
}

static StreamGroup *
group_of(const SharedStream *ss, const GroupShare *g)
{
	return group_find(&StrmArena, &ss->stream, g->name, g->name_len);
}

/* After how long an owned record is free for somebody in line. */
static uint64
claim_after(const StreamGroup *group, uint64 claim)
{
	return claim != UINT64_MAX ? claim : group->retry > 0 ? group->retry : UINT64_MAX;
}

/* --- what there is --- */

/* Entries that nobody was given yet and nobody has in flight. */
static uint64
free_entries(SharedStream *ss, const GroupShare *g, const StreamGroup *group)
{
	uint64		lag = group_lag(&ss->stream, group);
	uint64		n = lag > g->ntaken ? lag - g->ntaken : 0;
	StreamId	horizon;
	StreamId	from = sid_cmp(g->new_from, group->cursor) > 0 ? g->new_from : group->cursor;
	uint64		below;

	if (n == 0 || !group->in_order || !strm_horizon(ss, 0, &horizon) ||
		sid_cmp(horizon, ss->stream.last_id) > 0)
		return n;
	/* of what is new only that below the horizon */
	below = group_undelivered(&StrmArena, &ss->stream, group, g->gap_from, group->cursor);
	if (sid_next(&from) && sid_prev(&horizon) && sid_cmp(from, horizon) <= 0)
		below += stream_count(&StrmArena, &ss->stream, from, horizon);
	return Min(n, below);
}

/* Records that may be given again by now, up to `want`. */
static uint64
free_records(SharedStream *ss, const GroupShare *g, StreamGroup *group, uint64 claim, uint64 want)
{
	uint64		now = now_ms();
	uint64		idle = claim_after(group, claim);
	PendingFilter f = {
		.released = true, .released_upto = now,
		.owned = idle <= now, .owned_upto = now - Min(idle, now)
	};
	PendingWalk w;
	PendingRecord r;
	uint64		n = 0;
	uint64		seen = 0;

	if (group->pending.n == 0 ||
		(group->pending.oldest_released > now &&
		 (!f.owned || group->pending.oldest_owned > f.owned_upto)))
		return 0;
	pending_walk(&w, &StrmArena, &group->pending, &f, STREAMID_MIN);
	while (n < want && pending_walk_next(&w, &r))
	{
		Flight		flight;

		if (++seen > want + SEARCH_MAX)
			return n + 1;
		if ((!strm_flight_get(g, r.id, &flight) || flight.part == 0) &&
			stream_exists(&StrmArena, &ss->stream, r.id))
			n++;
	}
	if (seen == 0)
		pending_tighten(&StrmArena, &group->pending);
	return n;
}

/* How many of those in line are to be told. */
static uint64
available(SharedStream *ss, const GroupShare *g, StreamGroup *group)
{
	uint64		n;
	uint64		records;

	if (group == NULL)
		return g->nwaiters;		/* it is gone, or made by one who waits */
	n = free_entries(ss, g, group);
	if (n >= g->nwaiters)
		return n;
	if (!g->mixed)
		return n + free_records(ss, g, group, g->claim, g->nwaiters - n);
	/* whom of them the record suits is for them to see */
	records = free_records(ss, g, group, Min(g->claim, claim_after(group, UINT64_MAX)), 1);
	return records > 0 ? g->nwaiters : n;
}

/* --- time --- */

/* When a record comes due, or came since he looked. */
static uint64
next_due(const StreamGroup *group, const WaitLink *w)
{
	const Pending *p = &group->pending;
	uint64		idle = claim_after(group, w->claim);
	uint64		due = UINT64_MAX;
	uint64		time;

	if (p->released > 0)
		due = pending_next_time(&StrmArena, p, true, w->looked);
	if (idle == UINT64_MAX || p->n == p->released)
		return due;
	time = pending_next_time(&StrmArena, p, false, w->looked - Min(idle, w->looked));
	return time < UINT64_MAX - idle ? Min(due, time + idle) : due;
}

static WaitLink *
first_waiting(const GroupShare *g)
{
	WaitLink   *w = link_ptr(g->waiters);

	while (w != NULL && w->promised != 0)
		w = link_ptr(w->next);
	return w;
}

static bool
keeps_time(const GroupShare *g, const WaitLink *w)
{
	return g->mixed || w == first_waiting(g);
}

/* Something comes due at `due` for whoever claims like that: those who keep
 * time and would sleep longer set their clocks anew. */
static void
hurry(GroupShare *g, const StreamGroup *group)
{
	for (WaitLink *w = first_waiting(g); w != NULL; w = g->mixed ? link_ptr(w->next) : NULL)
	{
		uint64		idle = claim_after(group, w->claim);
		uint64		due = g->soon_released;

		if (g->soon_owned < UINT64_MAX - idle)
			due = Min(due, g->soon_owned + idle);
		if (w->promised == 0 && due < w->alarm)
			strm_wake_proc(w->procno);
	}
	g->soon_owned = g->soon_released = UINT64_MAX;
}

/* --- telling them --- */

static void
wake_share(SharedStream *ss, GroupShare *g)
{
	StreamGroup *group = group_of(ss, g);
	uint64		n = available(ss, g, group);
	uint32		always = g->nalways;

	for (WaitLink *w = link_ptr(g->waiters); w != NULL && (n > 0 || always > 0); w = link_ptr(w->next))
	{
		if ((n > 0 || w->always) && !w->woken)
		{
			w->woken = true;
			strm_wake_proc(w->procno);
		}
		always -= w->always;
		n -= n > 0;
	}
	if (group != NULL && (g->soon_owned != UINT64_MAX || g->soon_released != UINT64_MAX))
		hurry(g, group);
}

void
strm_wake_groups(SharedStream *ss)
{
	for (EngHandle h = ss->waited; h != 0; h = STRM_PTR(GroupShare, h)->waited_next)
		wake_share(ss, STRM_PTR(GroupShare, h));
}

/* All of them: the stream has another name. */
void
strm_wake_groups_all(SharedStream *ss)
{
	for (EngHandle h = ss->waited; h != 0; h = STRM_PTR(GroupShare, h)->waited_next)
		for (WaitLink *w = link_ptr(STRM_PTR(GroupShare, h)->waiters); w != NULL; w = link_ptr(w->next))
		{
			w->woken = true;
			strm_wake_proc(w->procno);
		}
}

/* --- the line --- */

/* The group has somebody in line from now on, or nobody any more. */
static void
waited_add(SharedStream *ss, GroupShare *g)
{
	g->waited_prev = 0;
	g->waited_next = ss->waited;
	if (ss->waited != 0)
		STRM_PTR(GroupShare, ss->waited)->waited_prev = g->self;
	ss->waited = g->self;
}

static void
waited_remove(SharedStream *ss, GroupShare *g)
{
	if (g->waited_prev != 0)
		STRM_PTR(GroupShare, g->waited_prev)->waited_next = g->waited_next;
	else
		ss->waited = g->waited_next;
	if (g->waited_next != 0)
		STRM_PTR(GroupShare, g->waited_next)->waited_prev = g->waited_prev;
}

bool
strm_share_join(SharedStream *ss, const char *name, uint32 len, EngHandle h)
{
	WaitLink   *w = STRM_PTR(WaitLink, h);
	GroupShare *g = strm_share(ss, name, len, true);

	if (g == NULL)
		return false;
	if (g->nwaiters == 0)
	{
		waited_add(ss, g);
		g->claim = w->claim;
		g->mixed = false;
	}
	else if (w->claim != g->claim)
	{
		/* from now on each watches for himself */
		if (!g->mixed)
			for (WaitLink *o = link_ptr(g->waiters); o != NULL; o = link_ptr(o->next))
				strm_wake_proc(o->procno);
		g->mixed = true;
		g->claim = Min(g->claim, w->claim);
	}
	w->share = g->self;
	w->looked = now_ms();
	w->prev = g->waiters_last;
	if (g->waiters_last != 0)
		STRM_PTR(WaitLink, g->waiters_last)->next = h;
	else
		g->waiters = h;
	g->waiters_last = h;
	g->nwaiters++;
	g->nalways += w->always;
	ss->ngroup_waiters++;
	return true;
}

void
strm_share_leave(SharedStream *ss, EngHandle h)
{
	WaitLink   *w = STRM_PTR(WaitLink, h);
	GroupShare *g = STRM_PTR(GroupShare, w->share);
	WaitLink   *first = first_waiting(g);

	if (w->prev != 0)
		STRM_PTR(WaitLink, w->prev)->next = w->next;
	else
		g->waiters = w->next;
	if (w->next != 0)
		STRM_PTR(WaitLink, w->next)->prev = w->prev;
	else
		g->waiters_last = w->prev;
	if (--g->nwaiters == 0)
		waited_remove(ss, g);
	g->nalways -= w->always;
	g->npromised -= w->promised != 0;
	ss->ngroup_waiters--;
	wake_share(ss, g);
	if (w == first && (first = first_waiting(g)) != NULL && !g->mixed)
	{
		StreamGroup *group = group_of(ss, g);

		/* has he anything to watch? */
		if (g->npromised > 0 || (group != NULL && group->pending.n > 0 &&
								 (group->pending.released > 0 || claim_after(group, first->claim) != UINT64_MAX)))
			strm_wake_proc(first->procno);
	}
}

/* Who was told and has not come back in time is out of the line; when the next
 * of them is expected at the latest. */
static uint64
expire(SharedStream *ss, GroupShare *g)
{
	uint64		next = UINT64_MAX;
	uint64		now = now_ms();
	EngHandle	after;

	for (EngHandle h = g->waiters; h != 0 && g->npromised > 0; h = after)
	{
		WaitLink   *w = STRM_PTR(WaitLink, h);

		after = w->next;
		if (w->promised == 0)
			continue;
		if (w->promised > now)
			next = Min(next, w->promised);
		else
		{
			strm_share_leave(ss, h);
			w->lapsed = true;
		}
	}
	return next;
}

/* --- for who waits --- */

bool
strm_wait_again(int n, SharedStream *ss, int64 id, const char *name, uint32 len)
{
	SharedStream *at;
	int64		at_id;
	EngHandle	h = strm_wait_place(n, &at, &at_id);
	bool		there;

	if (h == 0 || at != ss || at_id != id)
		return false;
	LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
	/* who stands in line keeps the place from being used for another stream; who
	 * left for what he was promised (xwaitgroup) begins anew, at any group */
	there = ss->state != SS_DROPPED && STRM_PTR(WaitLink, h)->promised == 0 &&
		!STRM_PTR(WaitLink, h)->lapsed && (name == NULL || strm_bears_name(ss, name, len));
	if (there)
	{
		STRM_PTR(WaitLink, h)->woken = false;
		STRM_PTR(WaitLink, h)->looked = now_ms();
	}
	strm_unlock(ss);
	return there;
}

uint64
strm_wait_alarm(void)
{
	uint64		alarm = UINT64_MAX;
	SharedStream *ss;
	int64		id;
	EngHandle	h;

	for (int i = 0; (h = strm_wait_place(i, &ss, &id)) != 0; i++)
	{
		WaitLink   *w = STRM_PTR(WaitLink, h);
		GroupShare *g;
		StreamGroup *group;

		if (ss == NULL || w->share == 0)
			continue;
		LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
		g = STRM_PTR(GroupShare, w->share);
		w->alarm = UINT64_MAX;
		if (keeps_time(g, w))
		{
			if (g->npromised > 0)
				w->alarm = expire(ss, g);
			group = group_of(ss, g);
			if (group != NULL)
				w->alarm = Min(w->alarm, next_due(group, w));
		}
		if (w->woken)
			w->alarm = 0;
		alarm = Min(alarm, w->alarm);
		strm_unlock(ss);
	}
	return alarm;
}

void
strm_wait_promise(void)
{
	SharedStream *ss;
	int64		id;
	EngHandle	h;

	for (int i = 0; (h = strm_wait_place(i, &ss, &id)) != 0; i++)
	{
		WaitLink   *w = STRM_PTR(WaitLink, h);
		WaitLink   *next;

		if (ss == NULL || w->share == 0)
			continue;
		LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
		w->promised = now_ms() + PROMISE_MS;
		w->woken = true;
		STRM_PTR(GroupShare, w->share)->npromised++;
		next = first_waiting(STRM_PTR(GroupShare, w->share));
		if (next != NULL && next->alarm > w->promised)
			strm_wake_proc(next->procno);
		strm_unlock(ss);
	}
}
