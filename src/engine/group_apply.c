/*
 * group_apply.c
 *	  Consumer groups: carrying out their operations.
 *
 *   1. Whatever is allocated draws on a charge: the caller's, or one made for
 *      this operation.  So once gop_apply has found the group, nothing fails.
 *   2. A delivery goes from run to run: what lies between becomes a gap, then
 *      the run leaves the gaps, then its records are made in batches, and the
 *      cursor follows.  After each step the lag is right again.
 *   3. Whether carried entries are alive is not asked one by one where as many
 *      are alive in the run as it carries.
 *
 * entries_read follows Redis, with one rule more for what Redis does not know:
 * entries that become a gap count as read when the cursor passes them, and not
 * again when they are delivered, so that it stays the place of the cursor.
 *
 * Locking: as said in group.h.
 */
#include "group_int.h"

#include <assert.h>

/* An operation on its way. */
typedef struct Apply
{
	Arena	   *a;
	Stream	   *s;
	const Gop  *op;
	StreamGroup *g;
	EngStatus	st;				/* ENG_NOMEM: a run did not keep its promise, see insert_records */
} Apply;

static inline uint64_t
later(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/* --- which of rising ids are alive --- */

typedef struct LiveWalk
{
	const Arena *a;
	const Stream *s;
	const StreamNode *node;
	NodeIter	it;
	bool		has;			/* a live entry of the node not looked at yet: */
	StreamId	at;
} LiveWalk;

static void
live_step(LiveWalk *w)
{
	NodeEntry	e;

	w->has = node_next(&w->it, &e);
	if (w->has)
		w->at = e.id;
}

static bool
is_live(LiveWalk *w, StreamId id)
{
	if (w->node == NULL || sid_cmp(w->node->last, id) < 0)
	{
		StreamId	master;

		w->node = stream_node_at(w->a, w->s, id, false, &master);
		if (w->node == NULL)
			return false;
		node_iter(&w->it, w->node->lp, master, false, false);
		live_step(w);
	}
	while (w->has && sid_cmp(w->at, id) < 0)
		live_step(w);
	return w->has && sid_cmp(w->at, id) == 0;
}

/* --- entries_read --- */

/* How many entries had been added up to and including id; -1: not known. */
static int64_t
estimate(const Stream *s, StreamId id)
{
	bool		hole = !sid_is_zero(s->max_deleted_id);
	int			to_last = sid_cmp(id, s->last_id);

	if (s->entries_added == 0)
		return 0;
	if (s->length == 0 && to_last <= 0)
		return (int64_t) s->entries_added;
	if (!sid_is_zero(id) && sid_cmp(id, s->max_deleted_id) < 0)
		return -1;
	if (to_last == 0)
		return (int64_t) s->entries_added;
	if (to_last > 0 || s->entries_added < s->length)
		return -1;
	if (!hole || sid_cmp(s->max_deleted_id, s->first_id) < 0)
	{
		int			to_first = sid_cmp(id, s->first_id);

		if (to_first <= 0)
			return (int64_t) (s->entries_added - s->length) + (to_first == 0);
	}
	return -1;
}

/* The place `from` moves over n entries to the last of them, `to`. */
static void
advance(const Stream *s, StreamGroup *g, StreamId *from, StreamId to, uint64_t n)
{
	bool		tombstone = s->length > 0 && !sid_is_zero(s->max_deleted_id) &&
		sid_cmp(*from, s->max_deleted_id) <= 0;

	if (g->entries_read >= 0 && sid_cmp(*from, s->first_id) >= 0 && !tombstone)
		g->entries_read = (uint64_t) (INT64_MAX - g->entries_read) < n ? INT64_MAX :
			g->entries_read + (int64_t) n;
	else if (s->entries_added > 0)
		g->entries_read = estimate(s, to);
	*from = to;
}

/* --- consumers --- */

/* The time of the op, of several calls' of the last. */
static uint64_t
op_time(const Gop *op)
{
	uint32_t	most = 0;

	for (uint32_t i = 0; op->flags & GOP_TIMES && i < op->nrecords; i++)
	{
		uint32_t	t = gop_record(op, i).later;

		most = t > most ? t : most;
	}
	return op->time + most;
}

/* The op's consumer, made if need be; it was seen. */
static Consumer *
op_consumer(Apply *ap)
{
	Arena	   *a = ap->a;
	StreamGroup *g = ap->g;
	const Gop  *op = ap->op;
	Consumer   *c = group_consumer(a, g, op->consumer, op->consumer_len);

	if (c == NULL)
	{
		EngHandle	h = arena_alloc(a, sizeof(Consumer) + op->consumer_len, ARENA_CHARGED);
		uint8_t		key[4];

		assert(h != 0);
		c = arena_ptr(a, h);
		memset(c, 0, sizeof(*c));
		/* after all numbers have been given, those of consumers gone */
		while (g->next_number == 0 || group_consumer_numbered(a, g, g->next_number) != NULL)
			g->next_number++;
		c->number = g->next_number++;
		c->name_len = op->consumer_len;
		memcpy(c->name, op->consumer, op->consumer_len);
		number_to_key(c->number, key);
		(void) rax_insert(a, &g->consumers, c->name, c->name_len, h, NULL, ARENA_CHARGED);
		(void) rax_insert(a, &g->numbers, key, sizeof(key), h, NULL, ARENA_CHARGED);
	}
	c->seen = later(c->seen, op_time(op));
	return c;
}

/* Change a record that is there, and whose it is. */
static void
set_record(Apply *ap, const PendingRecord *old, const PendingRecord *r)
{
	EngStatus	st = pending_set(ap->a, &ap->g->pending, r, ARENA_CHARGED);

	assert(st == ENG_OK);
	(void) st;
	if (old->consumer == r->consumer)
		return;
	if (old->consumer != 0)
		group_consumer_numbered(ap->a, ap->g, old->consumer)->pending--;
	if (r->consumer != 0)
		group_consumer_numbered(ap->a, ap->g, r->consumer)->pending++;
}

/*
 * Make records, which are not there.  The charge is enough if nothing but what
 * the run carries lies between them.  An operation made up otherwise (a journal
 * may hold anything) can need more; then some of its records are missing in the
 * end, but the group is sound.
 */
static void
insert_records(Apply *ap, Consumer *c, const PendingRecord *r, size_t n)
{
	uint64_t	before = ap->g->pending.n;

	if (pending_insert(ap->a, &ap->g->pending, r, n, ARENA_CHARGED) != ENG_OK)
		ap->st = ENG_NOMEM;
	if (c != NULL)
		c->pending += ap->g->pending.n - before;
}

/* --- the group as a whole --- */

static void
recount(Apply *ap)
{
	ap->g->owed = group_undelivered(ap->a, ap->s, ap->g, STREAMID_MIN, STREAMID_MAX) - ap->s->arrived;
}

static void
create(Apply *ap)
{
	const Gop  *op = ap->op;
	EngHandle	h = arena_alloc(ap->a, sizeof(StreamGroup) + op->group_len, ARENA_CHARGED);
	StreamGroup *g;

	assert(h != 0);
	g = ap->g = arena_ptr(ap->a, h);
	memset(g, 0, sizeof(*g));
	g->cursor = op->pos;
	g->entries_read = op->entries_read;
	g->in_order = (op->flags & GOP_IN_ORDER) != 0;
	g->next_number = 1;
	g->pending.oldest_owned = g->pending.oldest_released = UINT64_MAX;
	g->name_len = op->group_len;
	memcpy(g->name, op->group, op->group_len);
	(void) rax_insert(ap->a, &ap->s->groups, g->name, g->name_len, h, NULL, ARENA_CHARGED);
	recount(ap);
}

static void
destroy(Apply *ap)
{
	rax_remove(ap->a, &ap->s->groups, ap->g->name, ap->g->name_len, NULL);
	group_free(ap->a, ap->g);
}

static void
set_id(Apply *ap)
{
	idset_clear(ap->a, &ap->g->gaps);
	ap->g->cursor = ap->op->pos;
	ap->g->entries_read = ap->op->entries_read;
	recount(ap);
}

static void
set_policy(Apply *ap)
{
	Arena	   *a = ap->a;
	StreamGroup *g = ap->g;
	const Gop  *op = ap->op;
	StreamId	from = STREAMID_MIN;
	StreamId	lo;
	StreamId	hi;

	if (g->dead_letter != 0)
		arena_free(a, g->dead_letter);
	g->dead_letter = 0;
	g->dead_letter_len = op->consumer_len;
	if (op->consumer_len > 0)
	{
		g->dead_letter = arena_alloc(a, op->consumer_len, ARENA_CHARGED);
		assert(g->dead_letter != 0);
		memcpy(arena_ptr(a, g->dead_letter), op->consumer, op->consumer_len);
	}
	g->retry = op->retry;
	g->max_deliveries = op->max_deliveries;
	g->in_order = (op->flags & GOP_IN_ORDER) != 0;
	while (g->in_order && idset_next(a, &g->gaps, from, &lo, &hi))
	{
		group_drop_empty_gap(a, ap->s, g, lo, STREAMID_MIN);
		from = hi;
		if (!sid_next(&from))
			break;
	}
}

static void
delete_consumer(Apply *ap)
{
	Arena	   *a = ap->a;
	StreamGroup *g = ap->g;
	Consumer   *c = group_consumer(a, g, ap->op->consumer, ap->op->consumer_len);
	StreamId	from = STREAMID_MIN;
	uint8_t		key[4];

	if (c == NULL)
		return;
	while (c->pending > 0)
	{
		PendingFilter f = {.consumer = c->number, .owned = true, .owned_upto = UINT64_MAX};
		PendingRecord r[64];
		PendingWalk w;
		unsigned	n = 0;

		pending_walk(&w, a, &g->pending, &f, from);
		while (n < 64 && pending_walk_next(&w, &r[n]))
			n++;
		assert(n > 0);
		from = r[n - 1].id;
		for (unsigned i = 0; i < n; i++)
		{
			PendingRecord old = r[i];

			if (ap->op->flags & GOP_RELEASE)
			{
				r[i].consumer = 0;
				r[i].time = 0;
				set_record(ap, &old, &r[i]);
			}
			else
				group_remove_record(a, g, old.id);
		}
	}
	number_to_key(c->number, key);
	rax_remove(a, &g->numbers, key, sizeof(key), NULL);
	rax_remove(a, &g->consumers, c->name, c->name_len, NULL);
	arena_free(a, (EngHandle) ((char *) c - a->base));
}

/* --- deliveries --- */

typedef struct Deliver
{
	Apply	   *ap;
	Consumer   *c;
	StreamId	old_cursor;
	StreamId	place;			/* for entries_read */
	LiveWalk	live;
	uint32_t	at;				/* the next record */
	uint64_t	in_run;			/* live entries of the run under way */
	uint64_t	active;			/* when the last of the records was given; 0: none was */
} Deliver;

/* The cursor goes up to `to`; what it passes becomes a gap. */
static void
deliver_gap(Deliver *d, StreamId to)
{
	Arena	   *a = d->ap->a;
	Stream	   *s = d->ap->s;
	StreamGroup *g = d->ap->g;
	StreamId	lo = g->cursor;
	StreamId	found;
	uint64_t	n;

	if (sid_cmp(to, g->cursor) <= 0)
		return;
	sid_next(&lo);
	n = stream_count(a, s, lo, to);
	if (n > 0 || !g->in_order)
	{
		EngStatus	st = idset_add(a, &g->gaps, lo, to, ARENA_CHARGED);

		assert(st == ENG_OK);
		(void) st;
	}
	if (n > 0 && stream_last_upto(a, s, to, &found))
		advance(s, g, &d->place, found, n);
	g->cursor = to;
}

/* The ids of the run are in no gap any more. */
static void
deliver_fill(Deliver *d, const GopRun *run)
{
	Arena	   *a = d->ap->a;
	StreamGroup *g = d->ap->g;
	StreamId	lo = run->after;
	StreamId	past = run->last;
	EngStatus	st;

	sid_next(&lo);
	d->in_run = stream_count(a, d->ap->s, lo, run->last);
	/* nearly always it lies above the cursor, and all of it was undelivered */
	g->owed -= sid_cmp(run->after, g->cursor) >= 0 ? d->in_run
		: group_undelivered(a, d->ap->s, g, lo, run->last);
	st = idset_remove(a, &g->gaps, lo, run->last, ARENA_CHARGED);
	assert(st == ENG_OK);
	(void) st;
	/* what is left of the gaps it was cut out of */
	group_drop_empty_gap(a, d->ap->s, g, run->after, STREAMID_MIN);
	if (sid_next(&past))
		group_drop_empty_gap(a, d->ap->s, g, past, STREAMID_MIN);
	if (sid_cmp(run->last, g->cursor) > 0)
		g->cursor = run->last;
}

/* The records of a run. */
static void
deliver_records(Deliver *d, const GopRun *run)
{
	Apply	   *ap = d->ap;
	StreamGroup *g = ap->g;
	PendingRecord batch[PENDING_BATCH];
	PendingRecord old;
	size_t		n = 0;
	bool		all_live = d->in_run == run->n;

	for (uint32_t i = 0; i < run->n; i++)
	{
		GopRecord	rec = gop_record(ap->op, d->at++);

		if (all_live || is_live(&d->live, rec.id))
		{
			PendingRecord r = {.id = rec.id, .consumer = d->c != NULL ? d->c->number : 0,
			.time = ap->op->time + rec.later, .count = rec.count};

			if (sid_cmp(rec.id, d->old_cursor) > 0)
				advance(ap->s, g, &d->place, rec.id, 1);
			if (ap->op->flags & GOP_NOACK)
				(void) group_remove_record(ap->a, g, rec.id);
			else if (pending_get(ap->a, &g->pending, rec.id, &old))
				set_record(ap, &old, &r);
			else
				batch[n++] = r;
			d->active = later(d->active, r.time);
		}
		if (n > 0 && (i + 1 == run->n || (i + 1) % PENDING_BATCH == 0))
		{
			insert_records(ap, d->c, batch, n);
			n = 0;
		}
	}
}

static void
deliver(Apply *ap)
{
	StreamGroup *g = ap->g;
	Deliver		d = {.ap = ap, .old_cursor = g->cursor, .place = g->cursor,
	.live = {.a = ap->a, .s = ap->s}};

	d.c = ap->op->flags & GOP_DEAD ? NULL : op_consumer(ap);
	for (uint32_t i = 0; i < ap->op->nruns; i++)
	{
		GopRun		run = gop_run(ap->op, i);

		deliver_gap(&d, run.after);
		deliver_fill(&d, &run);
		deliver_records(&d, &run);
	}
	if (ap->op->flags & GOP_DEAD)
		g->dead += ap->op->nrecords;
	else
		g->delivered += ap->op->nrecords;
	if (!(ap->op->flags & GOP_NOACK))
		d.c->active = later(d.c->active, d.active);
}

/* --- changes of records --- */

static void
set_records(Apply *ap)
{
	const Gop  *op = ap->op;
	StreamGroup *g = ap->g;
	Consumer   *c = op->has_consumer ? op_consumer(ap) : NULL;
	LiveWalk	live = {.a = ap->a, .s = ap->s};
	uint64_t	changed = 0;

	for (uint32_t i = 0; i < op->nrecords; i++)
	{
		GopRecord	rec = gop_record(op, i);
		PendingRecord r = {.id = rec.id, .consumer = c != NULL ? c->number : 0,
		.time = op->time, .count = rec.count};
		PendingRecord old;

		if (pending_get(ap->a, &g->pending, rec.id, &old))
			set_record(ap, &old, &r);
		else if ((op->flags & GOP_FORCE) && is_live(&live, rec.id))
			insert_records(ap, c, &r, 1);
		else
			continue;
		changed++;
	}
	if ((op->flags & GOP_ACTIVE) && changed > 0)
	{
		c->active = later(c->active, op->time);
		g->redelivered += changed;
	}
	if (sid_cmp(op->pos, g->cursor) > 0)
	{
		StreamId	lo = g->cursor;

		sid_next(&lo);
		g->owed -= stream_count(ap->a, ap->s, lo, op->pos);
		g->cursor = op->pos;
	}
}

static void
acknowledge(Apply *ap)
{
	uint64_t	n = 0;

	for (uint32_t i = 0; i < ap->op->nrecords; i++)
		n += group_remove_record(ap->a, ap->g, gop_record(ap->op, i).id);
	if (ap->op->flags & GOP_DEAD)
		ap->g->dead += n;
	else if (!(ap->op->flags & GOP_NOACK))
		ap->g->acked += n;
}

static void
apply(Apply *ap)
{
	switch ((GopKind) ap->op->kind)
	{
		case GOP_CREATE:
			create(ap);
			break;
		case GOP_DESTROY:
			destroy(ap);
			break;
		case GOP_SETID:
			set_id(ap);
			break;
		case GOP_POLICY:
			set_policy(ap);
			break;
		case GOP_CONSUMER:
			{
				Consumer   *c = op_consumer(ap);

				if (ap->op->flags & GOP_ACTIVE)
					c->active = later(c->active, ap->op->time);
			}
			break;
		case GOP_DELCONSUMER:
			delete_consumer(ap);
			break;
		case GOP_DELIVER:
			deliver(ap);
			break;
		case GOP_SET:
			set_records(ap);
			break;
		case GOP_ACK:
			acknowledge(ap);
			break;
	}
	if (ap->op->kind != GOP_DESTROY && sid_cmp(ap->g->cursor, ap->s->top_cursor) > 0)
		ap->s->top_cursor = ap->g->cursor;
}

EngStatus
gop_apply(Arena *a, Stream *s, const Gop *op, ArenaUse use)
{
	Apply		ap = {.a = a, .s = s, .op = op, .st = ENG_OK};
	ArenaCharge charge = {0};

	ap.g = group_find(a, s, op->group, op->group_len);
	if (op->kind == GOP_CREATE ? ap.g != NULL : ap.g == NULL)
		return op->kind == GOP_CREATE ? ENG_EXISTS : ENG_NOTFOUND;
	if (use != ARENA_CHARGED)
	{
		gop_charge(&charge, op);
		if (!arena_charge(a, &charge, use))
			return ENG_NOMEM;
	}
	apply(&ap);
	if (use != ARENA_CHARGED)
		arena_uncharge(a, &charge);
	s->version++;
	return ap.st;
}
