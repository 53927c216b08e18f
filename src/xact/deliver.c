/*
 * deliver.c
 *	  xreadgroup `>`: choosing what a consumer is given.
 *
 * In this order, each from the lowest id:
 *	1. pending entries idle for long enough, where the call or the group's
 *	   policy asks for them;
 *	2. what was given back: released records that are due, and entries in the
 *	   gaps below the cursor;
 *	3. new entries, in a group that delivers in order only below the horizon.
 * What another transaction has in flight or is removing is passed over, and so
 * is what the snapshot does not see: nobody owns an entry he is not shown.
 *
 * Choosing and putting in flight happen under one holding of the lock, a batch
 * at a time.  A call that finds nothing writes nothing, but for a consumer that
 * was not there before; so one that would have to begin writing looks first
 * whether there is anything, in whatever order shows it soonest.
 *
 * Runs (engine/group.h) come from the walk: an entry passed over ends one, and
 * so does an id that somebody has reserved.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "xact/group.h"

#define BATCH	1000

typedef struct Chosen
{
	GopRecord	record;			/* with its count from now on */
	uint64		idle;
	uint64		before;			/* deliveries until now */
	bool		was_ours;		/* in flight by us already */
} Chosen;

/* One call: what holds from batch to batch. */
typedef struct Call
{
	uint64		now;
	StreamId	idle_from;		/* where to go on among idle records, */
	StreamId	released_from;	/* and among released ones */
	bool		idle_done;
	bool		prepared;
	SeenWalk	idle_walk;		/* own records as before the call: what it has done lies behind */
	SeenWalk	free_walk;
} Call;

typedef struct Collect
{
	GroupTarget *gt;
	GroupPend  *gp;				/* NULL: nothing done to the group yet */
	Pend	   *p;				/* likewise */
	SharedStream *ss;
	StreamGroup *base;			/* as merged, if that shows; else NULL */
	GroupShare *g;				/* NULL: nobody works with the group */
	EngHandle	part;
	Unseen	   *u;
	const ReadSpec *spec;
	Call	   *call;
	uint64		now;
	uint64		idle;			/* pending entries idle for so long are given; UINT64_MAX: none are */
	bool		in_order;
	StreamId	limit;			/* of new entries */
	StreamId	trimmed;		/* others remove everything below */
	bool		registers;		/* else only looks whether there is anything */
	bool		hints;			/* may raise the hints: nothing is passed over that we alone do
								 * not see any more */
	bool		full;			/* no memory to register more */
	bool		stale;			/* walked over blocks for nothing: their bounds are too low */

	uint32		want;
	Chosen	   *claims;			/* of records, the idle ones first */
	uint32		nidle;
	uint32		nclaims;
	Chosen	   *fresh;			/* entries that have no record: gaps, then new */
	uint32		nfresh;
	GopRun	   *runs;			/* of each, all or none of the entries were ours; room for
								 * twice as many as are wanted */
	uint32		nruns;
	uint32		nempty;			/* of them without entries, at most as many as are wanted */
} Collect;

static uint32
chosen(const Collect *c)
{
	return c->nclaims + c->nfresh;
}

/* May the entry be given to anybody by us now?  (In flight or not aside.) */
static bool
may_give(Collect *c, StreamId id)
{
	uint8		key[16];
	uint64		holder;

	if (sid_cmp(id, c->trimmed) < 0 || (c->u->n > 0 && unseen_has(c->u, id)))
		return false;
	if (c->ss->deleting.nkeys == 0)
		return true;
	sid_to_key(id, key);
	return !rax_find(&StrmArena, &c->ss->deleting, key, 16, &holder) || holder == c->part;
}

/* Put it in flight; counted: in the group's lag.  False: there is no
 * memory for more. */
static bool
put_in_flight(Collect *c, StreamId id, bool counted)
{
	if (!c->registers)
		return true;
	c->full = !strm_flight_begin(c->g, id, c->part, counted);
	return !c->full;
}

/* --- 1. and the records of 2. --- */

/* Is the entry of the record still to be delivered?  (The record was made by
 * force, or before the cursor was set back.)  Then it comes as an entry, once. */
static bool
comes_as_entry(const Collect *c, StreamId id)
{
	return overlay_undelivered(c->gp, c->base, id);
}

static bool
choose_record(Collect *c, const SeenRecord *r)
{
	Chosen	   *ch = &c->claims[c->nclaims];
	Flight		f = {0};

	/* the walk is one ahead: it may have been given meanwhile as an entry of a gap */
	if (c->g != NULL)
		(void) strm_flight_get(c->g, r->id, &f);
	if (f.part != r->flight || (f.part != 0 && f.part != c->part) || !may_give(c, r->id) ||
		comes_as_entry(c, r->id) || !live_has(c->ss, c->p, r->id))
		return true;
	ch->was_ours = r->flight != 0;
	if (!ch->was_ours && !put_in_flight(c, r->id, false))
		return false;
	ch->record.id = r->id;
	ch->record.count = Min(r->count + 1, (uint64) PG_INT64_MAX);
	ch->before = r->count;
	ch->idle = r->time > c->now ? 0 : c->now - r->time;
	if (!r->owned)
		ch->idle = 0;
	c->nclaims++;
	return true;
}

/* Is there any use in walking over records of that kind? */
static bool
any_record(const Collect *c, const SeenWalk *w, uint64 oldest, uint64 upto)
{
	return w->with_own || (c->base != NULL && oldest <= upto) || (c->gp != NULL && c->gp->released);
}

static void
choose_idle(Collect *c)
{
	uint64		upto;
	SeenRecord	r;
	bool		any = false;

	if (c->idle == PG_UINT64_MAX || c->now < c->idle || c->call->idle_done)
		return;
	upto = c->now - c->idle;
	if (!any_record(c, &c->call->idle_walk, c->base ? c->base->pending.oldest_owned : 0, upto))
		return;
	c->call->idle_walk.filter.base = (PendingFilter) {.owned = true, .owned_upto = upto};
	/* what this call has claimed is idle no longer, though by the clock it may be */
	seen_walk_begin(&c->call->idle_walk, c->call->idle_from);
	while (chosen(c) < c->want)
	{
		if (!seen_walk_next(&c->call->idle_walk, &r))
		{
			c->call->idle_done = true;
			break;
		}
		any = true;
		if (!choose_record(c, &r))
			break;
		c->call->idle_from = r.id;
		c->call->idle_done = !sid_next(&c->call->idle_from);
	}
	c->nidle = c->nclaims;
	c->stale = c->stale || !any;
}

/* --- entries without a record --- */

/* The end of a run comes before the next entry: something that is not ours lies
 * there, or another record of the group (which counts for the memory set aside). */
static bool
breaks_run(Collect *c, StreamId before, StreamId id)
{
	StreamId	lo = before;
	StreamId	hi = id;

	if (!sid_next(&lo) || !sid_prev(&hi) || sid_cmp(lo, hi) > 0)
		return false;
	return c->base != NULL && c->base->pending.n > 0 &&
		pending_any(&StrmArena, &c->base->pending, lo, hi);
}

/* May an id between these still be committed by another? */
static bool
reserved_between(Collect *c, StreamId lo, StreamId hi)
{
	for (EngHandle h = c->ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
	{
		Part	   *part = STRM_PTR(Part, h);

		if (h != c->part && part->reserved > 0 &&
			sid_cmp(part->min_id, hi) < 0 && sid_cmp(part->max_id, lo) > 0)
			return true;
	}
	return false;
}

/*
 * No entry lies in (after, hi], the end of a gap.  If none can come there any
 * more, it is no gap: it goes with the run before, or by itself.  (Where
 * entries are delivered in order the engine sees to that.)
 */
static void
take_rest(Collect *c, StreamId after, StreamId hi, bool in_run)
{
	StreamId	end = hi;

	if (c->in_order || !c->hints || c->base == NULL || c->gp->cursor_set || sid_cmp(after, hi) >= 0 ||
		sid_cmp(hi, c->base->cursor) > 0 || !sid_next(&end) || reserved_between(c, after, end) ||
		breaks_run(c, after, end))
		return;
	if (in_run)
		c->runs[c->nruns - 1].last = hi;
	else if (c->nempty < c->want)
	{
		c->nempty++;
		c->runs[c->nruns++] = (GopRun) {.after = after, .last = hi};
	}
}

/*
 * Walk over the live entries in (after, hi] and choose those that are free.
 * *taken_to: up to here nothing is free any more.  True: and nothing is in all
 * of it.
 */
static bool
choose_entries(Collect *c, StreamId after, StreamId hi, StreamId *taken_to)
{
	StreamId	prev = after;
	StreamId	from = after;
	StreamId	id;
	bool		in_run = false;
	bool		run_ours = false;	/* the run's entries were in flight by us already */
	bool		whole = true;	/* everything so far is in flight */
	LiveWalk	w;

	*taken_to = after;
	if (!sid_next(&from) || sid_cmp(from, hi) > 0)
		return true;
	live_walk(&w, c->ss, c->p, from);
	for (;;)
	{
		Flight		f = {0};
		OwnRecord  *own;
		bool		ours;
		Chosen	   *ch = &c->fresh[c->nfresh];

		if (chosen(c) >= c->want)
			return false;
		if (!live_next(&w, &id) || sid_cmp(id, hi) > 0)
		{
			take_rest(c, prev, hi, in_run);
			return whole;
		}
		if (c->g != NULL)
			(void) strm_flight_get(c->g, id, &f);
		ours = f.part != 0 && f.part == c->part;
		own = ours ? overlay_record(c->gp, id) : NULL;
		/* (of a group that we have made anew we know what it has given) */
		if (f.part != 0 && (!ours || (own != NULL ? own->given : !c->gp->hides)))
		{
			in_run = false;
			prev = id;
			if (whole)
				*taken_to = id;
			continue;
		}
		if (!may_give(c, id))
		{
			in_run = whole = false;
			prev = id;
			continue;
		}
		if (!c->in_order && reserved_between(c, prev, id))
		{
			in_run = whole = false;
			prev = id;
			(void) sid_prev(&prev);
		}
		else if (in_run && (run_ours != ours || breaks_run(c, prev, id)))
			in_run = false;
		run_ours = ours;
		if (!run_ours && !put_in_flight(c, id, c->base != NULL && !w.gave_own))
			return false;
		/* if that is rolled back to a savepoint, it remains in flight, to be
		 * delivered by us */
		whole = whole && !run_ours;
		ch->record = (GopRecord) {id, (uint64) f.attempts + 1};
		ch->before = f.attempts;
		ch->idle = 0;
		ch->was_ours = run_ours;
		if (!in_run)
			c->runs[c->nruns++] = (GopRun) {.after = prev};
		in_run = true;
		c->runs[c->nruns - 1].last = id;
		c->runs[c->nruns - 1].n++;
		c->nfresh++;
		prev = id;
		if (whole)
			*taken_to = id;
	}
}

/* 2.: gaps and released records together, in order of id. */
static void
choose_given_back(Collect *c)
{
	bool		walk = any_record(c, &c->call->free_walk, c->base ? c->base->pending.oldest_released : 0, c->now);
	bool		gaps = c->base != NULL && (c->gp == NULL || !c->gp->cursor_set);
	StreamId	from = c->g != NULL ? c->g->gap_from : STREAMID_MIN;
	StreamId	lo;
	StreamId	hi;
	SeenRecord	r;
	bool		has = false;
	bool		hint = c->hints && gaps;

	if (walk)
	{
		c->call->free_walk.filter.base = (PendingFilter) {.released = true, .released_upto = c->now};
		seen_walk_begin(&c->call->free_walk, c->call->released_from);
		has = seen_walk_next(&c->call->free_walk, &r);
		c->stale = c->stale || !has;
	}
	while (!c->full && chosen(c) < c->want)
	{
		bool		gap = gaps && idset_next(&StrmArena, &c->base->gaps, from, &lo, &hi);
		StreamId	taken_to;
		StreamId	after;
		StreamId	stop;
		bool		all;

		if (has && (!gap || sid_cmp(r.id, lo) < 0))
		{
			if (!choose_record(c, &r))
				return;
			c->call->released_from = r.id;
			has = seen_walk_next(&c->call->free_walk, &r);
			continue;
		}
		if (!gap)
			break;
		after = lo;
		(void) sid_prev(&after);
		stop = has && sid_cmp(r.id, hi) < 0 ? r.id : hi;
		all = choose_entries(c, after, stop, &taken_to);
		/* as long as all of it is in flight the next need not look there */
		if (all)
			taken_to = stop;
		if (hint && sid_next(&taken_to) && sid_cmp(taken_to, c->g->gap_from) > 0)
		{
			c->g->gap_from = taken_to;
			strm_hint_raised(c->ss, taken_to);
		}
		hint = hint && all;
		from = stop;
		if (!sid_next(&from))
			break;
	}
}

/* 3. */
static void
choose_new(Collect *c)
{
	StreamId	after = overlay_cursor(c->base, NULL);
	StreamId	taken_to;
	bool		ours = c->gp != NULL && c->gp->cursor_set;

	if (ours)
		after = c->gp->cursor;
	else if (c->g != NULL && sid_cmp(c->g->new_from, after) > 0)
		after = c->g->new_from;
	if (c->gp != NULL && sid_cmp(c->gp->skipped, after) > 0)
		after = c->gp->skipped;
	(void) choose_entries(c, after, c->limit, &taken_to);
	/* ids above may be given out again if those who have them roll back */
	if (sid_cmp(taken_to, c->ss->stream.last_id) > 0)
		taken_to = c->ss->stream.last_id;
	if (c->hints && !ours && sid_is_zero(c->gp->skipped) && sid_cmp(taken_to, c->g->new_from) > 0)
	{
		c->g->new_from = taken_to;
		strm_hint_raised(c->ss, taken_to);
	}
}

/* All of it.  Lock held; nothing is allocated. */
static void
collect(Collect *c)
{
	GroupPolicy policy;
	StreamId	top = c->p != NULL ? pend_top(c->p) : c->ss->stream.last_id;

	if (sid_cmp(c->ss->stream.last_id, top) > 0)
		top = c->ss->stream.last_id;
	overlay_policy(c->base, c->gp, &policy);
	c->in_order = policy.in_order;
	c->limit = c->in_order ? view_cursor_hi(&c->gt->t, c->u, top) : top;
	c->idle = c->spec->claim >= 0 ? (uint64) c->spec->claim : policy.retry > 0 ? policy.retry : PG_UINT64_MAX;
	c->trimmed = STREAMID_MIN;
	for (EngHandle h = c->ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
		if (h != c->part && sid_cmp(STRM_PTR(Part, h)->trim_to, c->trimmed) > 0)
			c->trimmed = STRM_PTR(Part, h)->trim_to;
	unseen_sort(c->u);

	/* whether there is anything is mostly seen at once from what is new */
	if (!c->registers)
		choose_new(c);
	if (chosen(c) < c->want)
		choose_idle(c);
	if (!c->full && chosen(c) < c->want)
		choose_given_back(c);
	if (c->registers && !c->full && chosen(c) < c->want)
		choose_new(c);
}

static void
collect_init(Collect *c, GroupTarget *gt, GroupPend *gp, const ReadSpec *spec, Call *call, Unseen *u,
			 uint32 want)
{
	SeenFilter	none = {0};

	memset(c, 0, sizeof(*c));
	c->gt = gt;
	c->gp = gp;
	c->p = gt->t.pend;
	c->ss = gt->t.ss;
	c->part = c->p != NULL ? c->p->part : 0;
	c->spec = spec;
	c->u = u;
	c->want = want;
	c->call = call;
	c->now = call->now;
	c->claims = palloc(want * sizeof(Chosen));
	c->fresh = palloc(want * sizeof(Chosen));
	c->runs = palloc(2 * want * sizeof(GopRun));
	if (call->prepared)
		return;
	/* own records are of use only where we have released some, or are asked
	 * for idle ones that are no older; the group's policy is not meant for them */
	seen_walk_prepare(&call->idle_walk, gt, gp, &none,
					  gp != NULL && spec->claim >= 0 && gp->oldest <= c->now &&
					  c->now - gp->oldest >= (uint64) spec->claim);
	seen_walk_prepare(&call->free_walk, gt, gp, &none, gp != NULL && gp->released);
	call->prepared = true;
}

static void
call_free(Call *call)
{
	if (call->prepared && call->idle_walk.own != NULL)
		pfree(call->idle_walk.own);
	if (call->prepared && call->free_walk.own != NULL)
		pfree(call->free_walk.own);
}

static void
collect_free(Collect *c)
{
	pfree(c->claims);
	pfree(c->fresh);
	pfree(c->runs);
	if (c->u->range != NULL)
		pfree(c->u->range);
}

/* The lower bounds of times had become too low. */
static void
tighten(GroupTarget *gt)
{
	StreamGroup *g;

	if (!strm_lock(gt->t.ss, gt->t.id, LW_EXCLUSIVE))
		return;
	g = group_find(&StrmArena, &gt->t.ss->stream, gt->name, gt->len);
	if (g != NULL)
		pending_tighten(&StrmArena, &g->pending);
	strm_unlock(gt->t.ss);
}

/* When a record of our own comes due that is not yet. */
static uint64
own_due(const Collect *c)
{
	HASH_SEQ_STATUS seq;
	OwnRecord  *r;
	uint64		due = PG_UINT64_MAX;

	if (c->gp == NULL || c->gp->records == NULL)
		return due;
	hash_seq_init(&seq, c->gp->records);
	while ((r = hash_seq_search(&seq)) != NULL)
	{
		uint64		idle = r->consumer < 0 ? 0 : (uint64) c->spec->claim;

		if (r->there && (r->consumer < 0 || c->spec->claim >= 0) && r->time + idle > c->now)
			due = Min(due, r->time + idle);
	}
	return due;
}

/*
 * Look whether there is anything; the consumer has been seen.  *known: it is
 * there.
 */
static bool
look(GroupTarget *gt, const ReadSpec *spec, uint64 *due, bool *known)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	Call		call = {.now = strm_now_ms()};
	Unseen		u = {0};
	Collect		c;
	bool		exists;
	bool		found;
	Consumer   *consumer = NULL;
	OwnConsumer *own;

	if (gp != NULL)
	{
		pend_refresh(gt->t.pend);
		overlay_refresh(gt->t.pend, gp);
	}
	else if (gt->t.pend != NULL)
		pend_refresh(gt->t.pend);
	collect_init(&c, gt, gp, spec, &call, &u, 1);
	if (!unseen_lock(&gt->t, &u, LW_SHARED, GetActiveSnapshot(), true))
		strm_raise_no_group(gt);
	exists = overlay_exists(gt, gp);
	if (exists)
	{
		c.base = overlay_base(gt, gp);
		c.g = strm_share(c.ss, gt->name, gt->len, false);
		collect(&c);
		if (c.base != NULL && spec->consumer != NULL &&
			(consumer = group_consumer(&StrmArena, c.base, spec->consumer, spec->consumer_len)) != NULL)
			consumer->seen = Max(consumer->seen, c.now);
	}
	found = exists && chosen(&c) > 0;
	strm_unlock(gt->t.ss);
	if (!exists)
		strm_raise_no_group(gt);
	if (c.stale && !found)
		tighten(gt);
	if (due != NULL)
		*due = own_due(&c);
	own = spec->consumer != NULL ? overlay_consumer(gp, spec->consumer, spec->consumer_len, NULL) : NULL;
	*known = own != NULL ? own->there : consumer != NULL;
	collect_free(&c);
	call_free(&call);
	return found;
}

bool
strm_group_changed(const GroupTarget *gt)
{
	const GroupPend *gp = gpend_find(gt->t.pend, gt->name, gt->len);

	return gt->t.pend != NULL && (gt->t.pend->nentries > 0 || (gp != NULL && gp->nadmin > 0));
}

bool
strm_group_ready(GroupTarget *gt, const ReadSpec *spec, uint64 *due)
{
	bool		known;

	return look(gt, spec, due, &known);
}

/* --- taking --- */

static int
chosen_cmp(const void *a, const void *b)
{
	return sid_cmp(((const Chosen *) a)->record.id, ((const Chosen *) b)->record.id);
}

void
given_room(GivenList *out, int more)
{
	if (out->n + more <= out->cap)
		return;
	out->cap = Max(out->n + more, 2 * out->cap);
	out->item = out->item == NULL ? palloc_extended(out->cap * sizeof(Given), MCXT_ALLOC_HUGE)
		: repalloc_huge(out->item, (Size) out->cap * sizeof(Given));
}

static void
give(GivenList *out, const Chosen *ch)
{
	out->item[out->n++] = (Given) {.id = ch->record.id, .idle = ch->idle, .deliveries = ch->before};
}

/* The chosen ones as what is handed out: idle ones, then the rest by id. */
static void
give_all(Collect *c, GivenList *out)
{
	uint32		i = c->nidle;
	uint32		k = 0;

	for (uint32 n = 0; n < c->nidle; n++)
		give(out, &c->claims[n]);
	while (i < c->nclaims || k < c->nfresh)
		if (k >= c->nfresh || (i < c->nclaims && chosen_cmp(&c->claims[i], &c->fresh[k]) < 0))
			give(out, &c->claims[i++]);
		else
			give(out, &c->fresh[k++]);
}

static void
note_claims(Collect *c, const Gop *like, GopRecord *records, bool ours)
{
	Gop			op = *like;
	uint32		n = 0;

	for (uint32 i = 0; i < c->nclaims; i++)
		if (c->claims[i].was_ours == ours)
			records[n++] = c->claims[i].record;
	if (n == 0)
		return;
	op.kind = GOP_SET;
	op.flags = GOP_ACTIVE;
	op.nrecords = n;
	gpend_add(c->p, c->gp, &op, NULL, records, !ours);
}

/* The new entries that were in flight by us already, or the others; `runs` has
 * room for theirs. */
static void
note_fresh(Collect *c, const Gop *like, GopRun *runs, GopRecord *records, bool ours)
{
	Gop			op = *like;
	uint32		at = 0;

	op.kind = GOP_DELIVER;
	op.flags = c->spec->noack ? GOP_NOACK : 0;
	op.count = 1;
	for (uint32 i = 0; i < c->nruns; i++)
	{
		const Chosen *ch = &c->fresh[at];

		at += c->runs[i].n;
		if ((c->runs[i].n > 0 && ch->was_ours) != ours)
			continue;
		runs[op.nruns++] = c->runs[i];
		for (uint32 k = 0; k < c->runs[i].n; k++)
		{
			records[op.nrecords++] = ch[k].record;
			if (ch[k].record.count != 1)
				op.count = 0;
		}
	}
	if (op.nrecords == 0)
		return;
	if (op.count == 1)
		op.flags |= GOP_ONE_COUNT;
	gpend_add(c->p, c->gp, &op, runs, records, !ours);
}

/* On the list, and out: nothing here can fail. */
static void
note(Collect *c, GopRun *runs, GopRecord *records, GivenList *out)
{
	Gop			like = {
		.consumer = c->spec->consumer, .consumer_len = c->spec->consumer_len,
		.has_consumer = true, .time = c->now
	};

	give_all(c, out);
	if (c->nclaims > 1)
		qsort(c->claims, c->nclaims, sizeof(Chosen), chosen_cmp);
	note_claims(c, &like, records, false);
	note_claims(c, &like, records, true);
	/* those in flight before lie between the others: a gap first, then filled */
	note_fresh(c, &like, runs, records, false);
	note_fresh(c, &like, runs, records, true);
}

/* A batch; returns how many there were. */
static uint32
take(GroupTarget *gt, const ReadSpec *spec, Call *call, uint32 want, GivenList *out)
{
	GroupPend  *gp = gpend_prepare(gt->t.pend, gt->name, gt->len, spec->consumer_len, want, 2 * want);
	GopRecord  *records = palloc(want * sizeof(GopRecord));
	GopRun	   *runs = palloc(2 * want * sizeof(GopRun));
	Unseen		u = {0};
	Collect		c;
	bool		exists;
	uint32		n;

	given_room(out, want);
	collect_init(&c, gt, gp, spec, call, &u, want);
	c.registers = true;
	c.hints = c.p->ndels == 0 && c.p->ntrims == 0;
	exists = group_lock(gt, gp, false, &u, &c.g);
	if (exists)
	{
		c.part = c.p->part;
		exists = overlay_exists(gt, gp);
		if (exists)
		{
			c.base = overlay_base(gt, gp);
			collect(&c);
		}
		if (chosen(&c) == 0)
			group_unlock_unused(gt, gp, c.g);
		else
			strm_unlock(gt->t.ss);
	}
	n = chosen(&c);
	if (!exists && !gt->t.late)
		strm_raise_no_group(gt);
	if (n > 0)
	{
		note(&c, runs, records, out);
		TEST_POINT("group-taken");
	}
	else if (c.full)
		strm_raise_full();
	pfree(records);
	pfree(runs);
	collect_free(&c);
	return n;
}

/* Is the subtransaction writing to the group already?  Then taking nothing
 * leaves nothing behind. */
static bool
writes_already(const GroupTarget *gt)
{
	const GroupPend *gp = gpend_find(gt->t.pend, gt->name, gt->len);

	return gp != NULL && gp->nops > 0 && TransactionIdIsValid(GetCurrentTransactionIdIfAny());
}

void
strm_group_read(GroupTarget *gt, const ReadSpec *spec, GivenList *out)
{
	bool		known = true;
	bool		looked = !writes_already(gt);
	Call		call = {.now = strm_now_ms()};
	int			before = out->n;
	int64		left = !looked || look(gt, spec, NULL, &known) ? spec->count : 0;

	if (left > 0 && !strm_open_write(gt->t.db, gt->t.name, gt->t.len, gt->t.need, &gt->t))
		strm_raise_no_group(gt);
	gt->t.until = spec->until;
	while (left > 0)
	{
		uint32		want = (uint32) Min(left, BATCH);
		uint32		n = take(gt, spec, &call, want, out);

		left -= n;
		if (n < want)
			break;
		CHECK_FOR_INTERRUPTS();
	}
	call_free(&call);
	/* the consumer asked all the same */
	if (!looked && out->n == before)
		(void) look(gt, spec, NULL, &known);
	/* who is given something is made by that */
	if (!known && out->n == before && !spec->waits && !gt->t.late)
		(void) strm_consumer_create(gt, spec->consumer, spec->consumer_len);
}
