/*
 * record.c
 *	  Operations on pending records that are named: xack, xnack, xclaim; and
 *	  those that go over a consumer's or all records: the history,
 *	  xautoclaim, xreclaim.
 *
 * They act on the merged records and our own.  A record or entry that another
 * transaction has in flight is waited for where it was named, and then looked
 * at again; going over records passes over it.  Named ids are taken in order,
 * a batch at a time, so that two transactions meet at the first they share.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "xact/group.h"

#define BATCH	1000			/* records met, taken or named in one hold of the stream's lock */

typedef enum Verdict
{
	PASS_OVER,
	TAKE,						/* for the operation */
	PURGE,						/* the entry is no more: the record goes */
	BURY						/* it is a dead letter: the record goes */
} Verdict;

/* Records of a batch: taken, purged or buried; put in flight now, or ours before. */
typedef struct Batch
{
	GroupTarget *gt;
	GroupPend  *gp;
	Pend	   *p;
	StreamGroup *base;
	GroupShare *g;
	Unseen		u;
	uint64		now;
	bool		full;
	bool		stop;			/* no room for more of what is met */
	TransactionId wait;
	GopRecord  *record[3][2];	/* [verdict - TAKE][ours] */
	uint32		n[3][2];
} Batch;

static void
batch_begin(Batch *b, GroupTarget *gt, Size names, uint32 n)
{
	memset(b, 0, sizeof(*b));
	b->gt = gt;
	b->p = gt->t.pend;
	b->gp = gpend_prepare(b->p, gt->name, gt->len, names, n, n);
	b->now = strm_now_ms();
	for (int i = 0; i < 6; i++)
		b->record[i / 2][i % 2] = palloc(Max(1, n) * sizeof(GopRecord));
}

/* Lock, with the group in use; false: there is no such group, not locked. */
static bool
batch_lock(Batch *b)
{
	bool		exists;

	if (!group_lock(b->gt, b->gp, false, &b->u, &b->g))
		return false;
	unseen_sort(&b->u);
	exists = overlay_exists(b->gt, b->gp);
	b->base = overlay_base(b->gt, b->gp);
	if (!exists)
		group_unlock_unused(b->gt, b->gp, b->g);
	return exists;
}

static uint32
batch_size(const Batch *b)
{
	return b->n[0][0] + b->n[0][1] + b->n[1][0] + b->n[1][1] + b->n[2][0] + b->n[2][1];
}

static void
batch_unlock(Batch *b)
{
	if (batch_size(b) == 0)
		group_unlock_unused(b->gt, b->gp, b->g);
	else
		strm_unlock(b->p->ss);
}

static void
batch_free(Batch *b)
{
	for (int i = 0; i < 6; i++)
		pfree(b->record[i / 2][i % 2]);
	if (b->u.range != NULL)
		pfree(b->u.range);
}

/* Put a record in the batch and in flight; counted: in the group's
 * lag.  False: no memory. */
static bool
batch_put(Batch *b, StreamId id, uint64 count, Verdict v, bool ours, bool counted)
{
	if (!ours && !strm_flight_begin(b->g, id, b->p->part, counted))
	{
		b->full = true;
		return false;
	}
	b->record[v - TAKE][ours][b->n[v - TAKE][ours]++] = (GopRecord) {id, count};
	return true;
}

/* The operations for all of them; `op` says what is done with what was taken. */
static void
batch_note(Batch *b, const Gop *op)
{
	const Gop	ops[] = {
		*op, {.kind = GOP_ACK, .flags = GOP_NOACK}, {.kind = GOP_ACK, .flags = GOP_DEAD}
	};

	for (int i = 0; i < 6; i++)
	{
		bool		ours = i % 2;
		Gop			o = ops[i / 2];

		if (b->n[i / 2][ours] == 0)
			continue;
		o.nrecords = b->n[i / 2][ours];
		gpend_add(b->p, b->gp, &o, NULL, b->record[i / 2][ours], !ours);
	}
}

/* --- named records --- */

/*
 * What is to become of a named id: r is its record, NULL if it has none.
 * *count: its deliveries from now on.
 */
typedef Verdict (*Decide) (Batch *b, StreamId id, const SeenRecord *r, uint64 *count, void *arg);

typedef struct Named
{
	const Gop  *op;
	Decide		decide;
	void	   *arg;
	bool	   *taken;			/* which ids were; NULL: not wanted */
	bool		group_must_exist;
} Named;

/* The named ids from `at` on, as far as nobody is to be waited for; returns
 * where to go on. */
static int
named_batch(Batch *b, const StreamId *ids, int at, int end, const Named *named)
{
	for (; at < end; at++)
	{
		SeenRecord	r;
		Flight		f;
		uint64		count = 0;
		bool		has;
		Verdict		v;

		if (strm_flight_get(b->g, ids[at], &f) && f.part != 0 && f.part != b->p->part)
		{
			b->wait = strm_part_waitfor(b->p->ss, STRM_PTR(Part, f.part));
			break;
		}
		has = seen_record(b->gt, b->gp, b->base, b->g, ids[at], &r);
		v = named->decide(b, ids[at], has ? &r : NULL, &count, named->arg);
		if (v == PASS_OVER)
			continue;
		if (!batch_put(b, ids[at], count, v, f.part != 0, false))
			break;
		if (named->taken != NULL && v == TAKE)
			named->taken[at] = true;
	}
	return at;
}

static int64
named_all(GroupTarget *gt, const StreamId *ids, int n, const Named *named)
{
	int			at = 0;
	int64		taken = 0;

	while (at < n)
	{
		int			end = Min(n, at + BATCH);
		Batch		b;

		batch_begin(&b, gt, named->op->consumer_len, end - at);
		if (!batch_lock(&b))
		{
			if (named->group_must_exist)
				strm_raise_no_group(gt);
			break;
		}
		at = named_batch(&b, ids, at, end, named);
		batch_unlock(&b);
		batch_note(&b, named->op);
		taken += b.n[0][0] + b.n[0][1];
		if (b.full)
			strm_raise_full();
		if (TransactionIdIsValid(b.wait))
			XactLockTableWait(b.wait, NULL, NULL, XLTW_None);
		batch_free(&b);
		CHECK_FOR_INTERRUPTS();
	}
	return taken;
}

static Verdict
decide_ack(Batch *b, StreamId id, const SeenRecord *r, uint64 *count, void *arg)
{
	return r != NULL ? TAKE : PASS_OVER;
}

int64
strm_group_ack(GroupTarget *gt, const StreamId *ids, int n, bool dead, bool *acked)
{
	Gop			op = {.kind = GOP_ACK, .flags = dead ? GOP_DEAD : 0};
	Named		named = {&op, decide_ack, NULL, acked, false};

	return named_all(gt, ids, n, &named);
}

static Verdict
decide_nack(Batch *b, StreamId id, const SeenRecord *r, uint64 *count, void *arg)
{
	const NackSpec *spec = arg;

	if (r == NULL && (!spec->force || !live_has(b->p->ss, b->p, id)))
		return PASS_OVER;
	*count = r != NULL ? r->count : 0;
	if (spec->retrycount >= 0)
		*count = (uint64) spec->retrycount;
	else if (spec->mode == NACK_FATAL)
		*count = PG_INT64_MAX;
	else if (spec->mode == NACK_SILENT && *count > 0)
		--*count;
	return TAKE;
}

int64
strm_group_nack(GroupTarget *gt, const StreamId *ids, int n, const NackSpec *spec)
{
	Gop			op = {
		.kind = GOP_SET, .flags = spec->force ? GOP_FORCE : 0,
		.time = spec->delay > 0 ? Min(strm_now_ms() + (uint64) spec->delay, PENDING_TIME_MAX) : 0
	};
	Named		named = {&op, decide_nack, (void *) spec, NULL, true};

	return named_all(gt, ids, n, &named);
}

/* --- claims --- */

typedef struct Claim
{
	const ClaimSpec *spec;
	GivenList  *out;
} Claim;

static uint64
idle_of(const Batch *b, const SeenRecord *r)
{
	return r->owned && r->time < b->now ? b->now - r->time : 0;
}

static void
claimed(Batch *b, StreamId id, const SeenRecord *r, GivenList *out)
{
	out->item[out->n++] = (Given) {
		.id = id, .idle = r != NULL ? idle_of(b, r) : 0, .deliveries = r != NULL ? r->count : 0
	};
}

static uint64
claim_count(const ClaimSpec *spec, uint64 before)
{
	if (spec->retrycount >= 0)
		return (uint64) spec->retrycount;
	return spec->justid ? before : Min(before + 1, (uint64) PG_INT64_MAX);
}

static Verdict
decide_claim(Batch *b, StreamId id, const SeenRecord *r, uint64 *count, void *arg)
{
	Claim	   *c = arg;

	if (!live_has(b->p->ss, b->p, id))
		return r != NULL ? PURGE : PASS_OVER;
	if (b->u.n > 0 && unseen_has(&b->u, id))
		return PASS_OVER;
	if (r == NULL && !c->spec->force)
		return PASS_OVER;
	if (r != NULL && r->owned && idle_of(b, r) < c->spec->min_idle)
		return PASS_OVER;
	*count = claim_count(c->spec, r != NULL ? r->count : 1);
	claimed(b, id, r, c->out);
	return TAKE;
}

static Gop
claim_op(const ClaimSpec *spec, uint64 now)
{
	return (Gop) {
		.kind = GOP_SET, .flags = GOP_ACTIVE | (spec->force ? GOP_FORCE : 0),
		.has_consumer = true, .consumer = spec->consumer, .consumer_len = spec->consumer_len,
		.time = spec->time != 0 ? Min(spec->time, now) : now
	};
}

/* The consumer asked now, and the cursor is to be at least at last_id. */
static void
touch(GroupTarget *gt, const ClaimSpec *spec)
{
	Gop			op = {
		.kind = GOP_SET, .has_consumer = true, .consumer = spec->consumer,
		.consumer_len = spec->consumer_len, .time = strm_now_ms(), .pos = spec->last_id
	};
	Batch		b;
	bool		raises;

	(void) strm_consumer_create(gt, spec->consumer, spec->consumer_len);
	if (sid_is_zero(spec->last_id))
		return;
	batch_begin(&b, gt, spec->consumer_len, 0);
	if (!batch_lock(&b))
		strm_raise_no_group(gt);
	raises = sid_cmp(spec->last_id, overlay_cursor(b.base, b.gp)) > 0;
	if (raises)
		strm_unlock(b.p->ss);
	else
		group_unlock_unused(gt, b.gp, b.g);
	if (raises)
		gpend_add(b.p, b.gp, &op, NULL, NULL, false);
	batch_free(&b);
}

void
strm_group_claim(GroupTarget *gt, const StreamId *ids, int n, const ClaimSpec *spec, GivenList *out)
{
	Gop			op = claim_op(spec, strm_now_ms());
	Claim		claim = {spec, out};
	Named		named = {&op, decide_claim, &claim, NULL, true};

	touch(gt, spec);
	given_room(out, n);
	/* active is who was given something now, whatever time the records get */
	if (named_all(gt, ids, n, &named) > 0 && spec->time != 0)
	{
		Gop			active = {
			.kind = GOP_CONSUMER, .flags = GOP_ACTIVE, .has_consumer = true,
			.consumer = spec->consumer, .consumer_len = spec->consumer_len, .time = strm_now_ms()
		};
		GroupPend  *gp = gpend_prepare(gt->t.pend, gt->name, gt->len, spec->consumer_len, 0, 0);

		gpend_add(gt->t.pend, gp, &active, NULL, NULL, false);
	}
}

/* --- going over records --- */

/* As Decide, for a record met on the way; *stop ends the way there. */
typedef Verdict (*Meet) (Batch *b, const SeenRecord *r, uint64 *count, void *arg);

/*
 * Go over the records that pass the filter, from `from` on, and decide on each
 * that nobody else has in flight; up to `count` taken or purged, and no more
 * than a batch met, since others wait for the lock.  True: that was all there
 * is.  *next: where to go on.
 */
static bool
meet_batch(Batch *b, SeenWalk *w, StreamId from, int64 count, Meet meet, void *arg, StreamId *next)
{
	SeenRecord	r;

	seen_walk_begin(w, from);
	for (int met = 0; seen_walk_next(w, &r); met++)
	{
		uint64		n = 0;
		Verdict		v;

		*next = r.id;
		if (met == BATCH || batch_size(b) >= count)
			return false;
		if (r.flight != 0 && r.flight != b->p->part)
			continue;
		v = meet(b, &r, &n, arg);
		if (b->stop)
			return false;
		if (v == PASS_OVER)
			continue;
		if (!batch_put(b, r.id, n, v, r.flight != 0, false))
			return false;
	}
	return true;
}

typedef struct Tour
{
	SeenFilter	filter;
	StreamId	from;
	int64		count;			/* -1: no limit */
	Meet		meet;
	void	   *arg;
	void		(*note) (Batch *b, void *arg);	/* after each batch */
	void		(*room) (int n, void *arg);	/* before each batch */
} Tour;

static void
tour(GroupTarget *gt, Size names, Tour *t)
{
	int64		left = t->count < 0 ? PG_INT64_MAX : t->count;
	bool		done = false;
	bool		first = true;
	SeenWalk	w;

	while (!done && left > 0)
	{
		uint32		want = (uint32) Min(left, BATCH);
		Batch		b;

		t->room(want, t->arg);
		batch_begin(&b, gt, names, want);
		/* once: what is changed on the way lies behind t->from */
		if (first)
			seen_walk_prepare(&w, gt, b.gp, &t->filter, true);
		first = false;
		if (!batch_lock(&b))
			strm_raise_no_group(gt);
		done = meet_batch(&b, &w, t->from, want, t->meet, t->arg, &t->from);
		batch_unlock(&b);
		t->note(&b, t->arg);
		left -= batch_size(&b);
		if (b.full)
			strm_raise_full();
		batch_free(&b);
		CHECK_FOR_INTERRUPTS();
	}
	if (!first && w.own != NULL)
		pfree(w.own);
}

/* xautoclaim */
static Verdict
meet_autoclaim(Batch *b, const SeenRecord *r, uint64 *count, void *arg)
{
	Claim	   *c = arg;

	if (!live_has(b->p->ss, b->p, r->id))
		return PURGE;
	if (b->u.n > 0 && unseen_has(&b->u, r->id))
		return PASS_OVER;
	*count = claim_count(c->spec, r->count);
	claimed(b, r->id, r, c->out);
	return TAKE;
}

static void
note_autoclaim(Batch *b, void *arg)
{
	Gop			op = claim_op(((Claim *) arg)->spec, b->now);

	batch_note(b, &op);
}

static void
room_claim(int n, void *arg)
{
	given_room(((Claim *) arg)->out, n);
}

void
strm_group_autoclaim(GroupTarget *gt, StreamId start, int64 count, const ClaimSpec *spec, GivenList *out)
{
	Claim		claim = {spec, out};
	uint64		now = strm_now_ms();
	Tour		t = {
		.filter.base = {
			.owned = true, .released = true, .released_upto = now,
			.owned_upto = spec->min_idle <= now ? now - spec->min_idle : 0
		},
		.from = start, .count = count, .meet = meet_autoclaim, .arg = &claim,
		.note = note_autoclaim, .room = room_claim
	};

	touch(gt, spec);
	tour(gt, spec->consumer_len, &t);
}

/* --- the history of a consumer --- */

typedef struct History
{
	const ReadSpec *spec;
	GivenList  *out;
} History;

static Verdict
meet_history(Batch *b, const SeenRecord *r, uint64 *count, void *arg)
{
	History    *h = arg;
	Given	   *given = &h->out->item[h->out->n];

	/* what is gone counts, too */
	if (h->out->n == h->out->cap)
	{
		b->stop = true;
		return PASS_OVER;
	}
	*given = (Given) {.id = r->id, .idle = idle_of(b, r), .deliveries = r->count};
	if (live_has(b->p->ss, b->p, r->id))
	{
		if (b->u.n > 0 && unseen_has(&b->u, r->id))
			return PASS_OVER;
		h->out->n++;
		*count = Min(r->count + 1, (uint64) PG_INT64_MAX);
		return TAKE;
	}
	given->gone = true;
	h->out->n++;
	return PASS_OVER;
}

static void
note_history(Batch *b, void *arg)
{
	History    *h = arg;
	Gop			op = {
		.kind = GOP_SET, .has_consumer = true, .consumer = h->spec->consumer,
		.consumer_len = h->spec->consumer_len, .time = b->now
	};

	batch_note(b, &op);
}

/* Has the consumer any record after that id?  Marks it as seen; *known: it is there. */
static bool
history_any(GroupTarget *gt, const ReadSpec *spec, StreamId from, bool *known)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	SeenFilter	filter = seen_of_consumer(spec->consumer, spec->consumer_len);
	SeenWalk	w;
	SeenRecord	r;
	Unseen		u = {0};
	OwnConsumer *own;
	Consumer   *consumer;
	StreamGroup *base;
	bool		exists;
	bool		any;

	if (gt->t.pend != NULL)
		pend_refresh(gt->t.pend);
	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	seen_walk_prepare(&w, gt, gp, &filter, true);
	if (!unseen_lock(&gt->t, &u, LW_SHARED, GetActiveSnapshot(), true))
		strm_raise_no_group(gt);
	exists = overlay_exists(gt, gp);
	base = overlay_base(gt, gp);
	seen_walk_begin(&w, from);
	any = exists && seen_walk_next(&w, &r);
	consumer = base != NULL ? group_consumer(&StrmArena, base, spec->consumer, spec->consumer_len) : NULL;
	if (consumer != NULL)
		consumer->seen = Max(consumer->seen, strm_now_ms());
	strm_unlock(gt->t.ss);
	if (!exists)
		strm_raise_no_group(gt);
	own = overlay_consumer(gp, spec->consumer, spec->consumer_len, NULL);
	*known = own != NULL ? own->there : consumer != NULL;
	return any;
}

void
strm_group_history(GroupTarget *gt, const ReadSpec *spec, StreamId after, GivenList *out)
{
	History		h = {spec, out};
	SeenFilter	filter = seen_of_consumer(spec->consumer, spec->consumer_len);
	int64		left = spec->count;
	bool		known;
	bool		first = true;
	SeenWalk	w;

	if (!sid_next(&after))
	{
		/* nothing is after it, but the consumer asked */
		(void) strm_consumer_create(gt, spec->consumer, spec->consumer_len);
		return;
	}
	if (!history_any(gt, spec, after, &known))
	{
		if (!known)
			(void) strm_consumer_create(gt, spec->consumer, spec->consumer_len);
		return;
	}
	if (!strm_open_write(gt->t.db, gt->t.name, gt->t.len, gt->t.need, &gt->t))
		strm_raise_no_group(gt);
	for (bool done = false; !done && left > 0;)
	{
		uint32		want = (uint32) Min(left, BATCH);
		int			before = out->n;
		Batch		b;

		given_room(out, want);
		out->cap = out->n + want;	/* gone ones count, too */
		batch_begin(&b, gt, spec->consumer_len, want);
		if (first)
			seen_walk_prepare(&w, gt, b.gp, &filter, true);
		first = false;
		if (!batch_lock(&b))
			strm_raise_no_group(gt);
		done = meet_batch(&b, &w, after, want, meet_history, &h, &after);
		batch_unlock(&b);
		note_history(&b, &h);
		if (b.full)
			strm_raise_full();
		batch_free(&b);
		left -= out->n - before;
		CHECK_FOR_INTERRUPTS();
	}
}

/* --- reclaiming --- */

typedef struct Reclaim
{
	uint64		max;			/* deliveries; 0: no limit */
	uint64		idle_upto;		/* times of what is idle enough */
	int64		released;
	DeadRecord *dead;
	int			ndead;
	int			cap;
} Reclaim;

static void
room_reclaim(int n, void *arg)
{
	Reclaim    *rc = arg;

	if (rc->ndead + n <= rc->cap)
		return;
	rc->cap = Max(rc->ndead + n, 2 * rc->cap);
	rc->dead = rc->dead == NULL ? palloc_extended(rc->cap * sizeof(DeadRecord), MCXT_ALLOC_HUGE)
		: repalloc_huge(rc->dead, (Size) rc->cap * sizeof(DeadRecord));
}

static void
died(Reclaim *rc, StreamId id, uint64 deliveries, uint32 number, int own)
{
	rc->dead[rc->ndead++] = (DeadRecord) {.id = id, .deliveries = deliveries, .number = number, .own = own};
}

static Verdict
meet_reclaim(Batch *b, const SeenRecord *r, uint64 *count, void *arg)
{
	Reclaim    *rc = arg;
	bool		dies = rc->max > 0 && r->count >= rc->max;

	/* released already, and nothing more to do: there may be very many */
	if (r->owned ? r->time > rc->idle_upto : !dies)
		return PASS_OVER;
	/* what we may not see we cannot move */
	if (b->u.n > 0 && unseen_has(&b->u, r->id))
		return PASS_OVER;
	if (!live_has(b->p->ss, b->p, r->id))
		return PURGE;
	if (dies)
	{
		died(rc, r->id, r->count, r->number, r->own);
		return BURY;
	}
	*count = r->count;
	return TAKE;
}

static void
note_reclaim(Batch *b, void *arg)
{
	Reclaim    *rc = arg;
	Gop			op = {.kind = GOP_SET};

	rc->released += b->n[0][0] + b->n[0][1];
	batch_note(b, &op);
}

/* Up to where the group may deliver now.  Lock held. */
static StreamId
delivery_limit(Batch *b)
{
	GroupPolicy policy;

	overlay_policy(b->base, b->gp, &policy);
	return policy.in_order ? view_cursor_hi(&b->gt->t, &b->u, b->p->ss->stream.last_id) : STREAMID_MAX;
}

/*
 * Entries that have no record, since every delivery of them was rolled back:
 * they are passed on as delivered, one run each, to nobody's list.
 */
static void
reclaim_failed(GroupTarget *gt, Reclaim *rc)
{
	StreamId	from = STREAMID_MIN;
	bool		more = true;

	while (more)
	{
		Gop			op = {
			.kind = GOP_DELIVER, .flags = GOP_NOACK | GOP_DEAD, .has_consumer = true, .consumer = "",
		};
		Batch		b;
		GopRun	   *runs = palloc(BATCH * sizeof(GopRun));
		uint32		n = 0;
		StreamId	id;
		StreamId	limit;
		uint32		attempts;

		room_reclaim(BATCH, rc);
		batch_begin(&b, gt, 0, BATCH);
		if (!batch_lock(&b))
			strm_raise_no_group(gt);
		limit = delivery_limit(&b);
		while (more && n < BATCH && (more = strm_flight_failed(b.g, from, rc->max, &id, &attempts)))
		{
			SeenRecord	r;

			from = id;
			more = sid_next(&from) && sid_cmp(id, limit) <= 0;
			if (sid_cmp(id, limit) > 0)
				break;
			if (!overlay_undelivered(b.gp, b.base, id) || seen_record(gt, b.gp, b.base, b.g, id, &r) ||
				!live_has(b.p->ss, b.p, id) || (b.u.n > 0 && unseen_has(&b.u, id)))
				continue;
			if (!batch_put(&b, id, 1, TAKE, false, stream_exists(&StrmArena, &b.p->ss->stream, id)))
				break;
			died(rc, id, attempts, 0, -1);
			runs[n] = (GopRun) {.after = id, .last = id, .n = 1};
			(void) sid_prev(&runs[n].after);
			n++;
		}
		batch_unlock(&b);
		if (n > 0)
		{
			op.nruns = op.nrecords = n;
			gpend_add(b.p, b.gp, &op, runs, b.record[0][0], true);
		}
		if (b.full)
			strm_raise_full();
		batch_free(&b);
		pfree(runs);
	}
}

int64
strm_group_reclaim(GroupTarget *gt, uint64 min_idle, uint64 max_deliveries, int64 count,
				   DeadRecord **dead, int *ndead)
{
	uint64		now = strm_now_ms();
	Reclaim		rc = {.max = max_deliveries, .idle_upto = min_idle <= now ? now - min_idle : 0};
	Tour		t = {
		.filter.base = {
			.owned = true, .owned_upto = rc.idle_upto,
			.released = max_deliveries > 0, .released_upto = PG_UINT64_MAX
		},
		.count = count, .meet = meet_reclaim, .arg = &rc, .note = note_reclaim, .room = room_reclaim
	};
	NameCache	names = {0};

	tour(gt, 0, &t);
	if (max_deliveries > 0)
		reclaim_failed(gt, &rc);
	for (int i = 0; i < rc.ndead; i++)
	{
		DeadRecord *d = &rc.dead[i];

		d->consumer = owner_name(&names, gt, gpend_find(gt->t.pend, gt->name, gt->len),
								 d->number, d->own, &d->consumer_len);
	}
	*dead = rc.dead;
	*ndead = rc.ndead;
	return rc.released;
}
