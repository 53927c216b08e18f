/*
 * overlay.c
 *	  A group as this transaction sees it: the merged one, with what its own
 *	  operations have made of it laid over.
 *
 * The overlay is derived from the list of operations, from where it was left.
 * It holds the records and consumers that own operations have touched, and what
 * they have changed of the group itself; all else shows through from the merged
 * group, under the stream's lock.
 *
 * What an operation of a subtransaction changes here is noted, so that a
 * rollback to a savepoint costs what it takes back, and not what the
 * transaction has done: the state of the group itself as a whole, the consumer
 * and the records one by one.  Operations that change the group rather than
 * work with it are not: where one is taken back the overlay begins anew.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "xact/group.h"

/* A record before an operation changed it. */
typedef struct RecordUndo
{
	OwnRecord	record;
	bool		had;			/* false: there was none, only the id counts */
} RecordUndo;

#define STATE_FROM		offsetof(GroupPend, hides)
#define STATE_BYTES		(offsetof(GroupPend, records) - STATE_FROM)

/* What was before an operation; an operation changes at most one consumer. */
typedef struct OpUndo
{
	int			op;				/* its place on the Pend's list */
	bool		anew;			/* it is not taken back by itself */
	int			nold;
	int			nconsumers;
	int			consumer;		/* -1: none was changed; it was: */
	OwnConsumer before;
	char		state[STATE_BYTES];
} OpUndo;

/* --- deriving it --- */

static void
forget_contents(GroupPend *gp)
{
	if (gp->context != NULL)
		MemoryContextReset(gp->context);
	gp->records = NULL;
	gp->consumers = NULL;
	gp->nconsumers = gp->consumers_cap = 0;
	gp->policy_set = false;
	gp->skipped = STREAMID_MIN;
	gp->released = false;
	gp->oldest = PG_UINT64_MAX;
	gp->delivered = gp->redelivered = gp->acked = gp->dead = 0;
}

static OwnRecord *
own_record(GroupPend *gp, StreamId id)
{
	OwnRecord  *r;
	bool		found;

	if (gp->records == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(StreamId), .entrysize = sizeof(OwnRecord), .hcxt = gp->context};

		gp->records = hash_create("stream group records", 128, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	r = hash_search(gp->records, &id, HASH_ENTER, &found);
	if (!found)
	{
		r->there = r->given = false;
		r->consumer = -1;
		r->time = r->count = 0;
	}
	if (gp->undoable)
		gp->old[gp->nold++] = (RecordUndo) {*r, found};
	return r;
}

OwnConsumer *
overlay_consumer(const GroupPend *gp, const char *name, uint32 len, int *index)
{
	for (int i = 0; gp != NULL && i < gp->nconsumers; i++)
		if (gp->consumers[i].len == len && memcmp(gp->consumers[i].name, name, len) == 0)
		{
			if (index != NULL)
				*index = i;
			return &gp->consumers[i];
		}
	return NULL;
}

static int
own_consumer(GroupPend *gp, const char *name, uint32 len)
{
	OwnConsumer *c;
	int			i;

	if ((c = overlay_consumer(gp, name, len, &i)) != NULL)
	{
		if (gp->undoable)
		{
			gp->undo[gp->nundo - 1].consumer = i;
			gp->undo[gp->nundo - 1].before = *c;
		}
		return i;
	}
	if (gp->nconsumers == gp->consumers_cap)
	{
		gp->consumers_cap = Max(4, 2 * gp->consumers_cap);
		gp->consumers = gp->consumers == NULL
			? MemoryContextAlloc(gp->context, gp->consumers_cap * sizeof(OwnConsumer))
			: repalloc(gp->consumers, gp->consumers_cap * sizeof(OwnConsumer));
	}
	c = &gp->consumers[gp->nconsumers];
	memset(c, 0, sizeof(*c));
	c->name = MemoryContextAlloc(gp->context, Max(1, len));
	memcpy(c->name, name, len);
	c->len = len;
	return gp->nconsumers++;
}

static void
drop_consumer(GroupPend *gp, const Gop *op)
{
	int			i = own_consumer(gp, op->consumer, op->consumer_len);
	bool		release = (op->flags & GOP_RELEASE) != 0;
	HASH_SEQ_STATUS seq;
	OwnRecord  *r;

	gp->released = gp->released || release;
	gp->consumers[i].there = false;
	gp->consumers[i].dropped = release ? DROPPED_RELEASING : DROPPED_ALL;
	if (gp->records == NULL)
		return;
	hash_seq_init(&seq, gp->records);
	while ((r = hash_seq_search(&seq)) != NULL)
		if (r->there && r->consumer == i)
		{
			r->there = release;
			r->consumer = -1;
			r->time = 0;
		}
}

/* The op's records are with its consumer, or released, from now on. */
static void
set_records(GroupPend *gp, const Gop *op)
{
	int			consumer = -1;
	bool		delivers = op->kind == GOP_DELIVER;
	bool		keeps = !(delivers && (op->flags & GOP_NOACK) != 0);

	if (op->has_consumer && !(delivers && (op->flags & GOP_DEAD) != 0))
	{
		OwnConsumer *c;

		consumer = own_consumer(gp, op->consumer, op->consumer_len);
		c = &gp->consumers[consumer];
		c->there = true;
		c->seen = Max(c->seen, op->time);
		if (keeps && op->nrecords > 0 && (delivers || (op->flags & GOP_ACTIVE) != 0))
			c->active = Max(c->active, op->time);
	}
	if (consumer < 0)
		gp->released = true;
	gp->oldest = Min(gp->oldest, op->time);
	for (uint32 i = 0; i < op->nrecords; i++)
	{
		GopRecord	record = gop_record(op, i);
		OwnRecord  *r = own_record(gp, record.id);

		r->there = keeps;
		r->given = r->given || delivers;
		r->consumer = consumer;
		r->time = op->time;
		r->count = record.count;
	}
}

static void
raise_cursor(GroupPend *gp, StreamId to)
{
	if (sid_cmp(to, gp->cursor) > 0)
		gp->cursor = to;
}

static void
set_policy(GroupPend *gp, const Gop *op)
{
	gp->policy_set = true;
	gp->policy.in_order = (op->flags & GOP_IN_ORDER) != 0;
	gp->policy.retry = op->retry;
	gp->policy.max_deliveries = op->max_deliveries;
	gp->policy.dead_letter_len = op->consumer_len;
	gp->policy.dead_letter = op->consumer_len == 0 ? NULL
		: memcpy(MemoryContextAlloc(gp->context, op->consumer_len), op->consumer, op->consumer_len);
}

static void
lay_over(GroupPend *gp, const Gop *op)
{
	HASH_SEQ_STATUS seq;
	OwnRecord  *r;

	switch ((GopKind) op->kind)
	{
		case GOP_CREATE:
			forget_contents(gp);
			gp->hides = gp->exists = gp->cursor_set = true;
			gp->cursor = gp->set_to = op->pos;
			gp->entries_read = op->entries_read;
			gp->policy_set = true;
			gp->policy = (GroupPolicy) {.in_order = (op->flags & GOP_IN_ORDER) != 0};
			break;
		case GOP_DESTROY:
			forget_contents(gp);
			gp->hides = true;
			gp->exists = false;
			break;
		case GOP_SETID:
			gp->cursor_set = true;
			gp->cursor = gp->set_to = op->pos;
			gp->skipped = STREAMID_MIN;
			gp->entries_read = op->entries_read;
			if (gp->records != NULL)
			{
				hash_seq_init(&seq, gp->records);
				while ((r = hash_seq_search(&seq)) != NULL)
					r->given = false;
			}
			break;
		case GOP_POLICY:
			set_policy(gp, op);
			break;
		case GOP_CONSUMER:
			{
				int			i = own_consumer(gp, op->consumer, op->consumer_len);
				OwnConsumer *c = &gp->consumers[i];

				c->there = true;
				c->seen = Max(c->seen, op->time);
				if ((op->flags & GOP_ACTIVE) != 0)
					c->active = Max(c->active, op->time);
			}
			break;
		case GOP_DELCONSUMER:
			drop_consumer(gp, op);
			break;
		case GOP_DELIVER:
			set_records(gp, op);
			if (op->nruns > 0)
				raise_cursor(gp, gop_run(op, op->nruns - 1).last);
			if ((op->flags & GOP_DEAD) != 0)
				gp->dead += op->nrecords;
			else
				gp->delivered += op->nrecords;
			break;
		case GOP_SET:
			set_records(gp, op);
			raise_cursor(gp, op->pos);
			if (sid_cmp(op->pos, gp->skipped) > 0)
				gp->skipped = op->pos;
			if (gp->cursor_set && sid_cmp(op->pos, gp->set_to) > 0)
				gp->set_to = op->pos;
			if ((op->flags & GOP_ACTIVE) != 0)
				gp->redelivered += op->nrecords;
			break;
		case GOP_ACK:
			for (uint32 i = 0; i < op->nrecords; i++)
				own_record(gp, gop_record(op, i).id)->there = false;
			if ((op->flags & GOP_DEAD) != 0)
				gp->dead += op->nrecords;
			else if ((op->flags & GOP_NOACK) == 0)
				gp->acked += op->nrecords;
			break;
	}
}

/* Make ready to take back the operation that is about to be laid over. */
static void
note_undo(Pend *p, GroupPend *gp, const Gop *op)
{
	bool		works = op->kind == GOP_CONSUMER || op->kind == GOP_DELIVER || op->kind == GOP_SET ||
		op->kind == GOP_ACK;
	OpUndo	   *u;

	gp->undoable = false;
	/* subtransactions are nested: what comes before one that is not undone is not either */
	if (!works || p->gops[gp->applied].sub == TopSubTransactionId ||
		(gp->nundo > 0 && p->gops[gp->undo[gp->nundo - 1].op].sub == TopSubTransactionId))
		gp->nundo = gp->nold = 0;
	if (p->gops[gp->applied].sub == TopSubTransactionId)
		return;
	PEND_GROW(gp->undo, gp->nundo, gp->undo_cap, 1);
	PEND_GROW(gp->old, gp->nold, gp->old_cap, (int) op->nrecords);
	u = &gp->undo[gp->nundo++];
	u->op = gp->applied;
	u->anew = !works;
	u->nold = gp->nold;
	u->nconsumers = gp->nconsumers;
	u->consumer = -1;
	memcpy(u->state, (char *) gp + STATE_FROM, STATE_BYTES);
	gp->undoable = works;
}

static void
take_back(GroupPend *gp, const OpUndo *u)
{
	while (gp->nold > u->nold)
	{
		const RecordUndo *old = &gp->old[--gp->nold];
		OwnRecord  *r = hash_search(gp->records, &old->record.id, old->had ? HASH_FIND : HASH_REMOVE, NULL);

		if (old->had)
			*r = old->record;
	}
	while (gp->nconsumers > u->nconsumers)
		pfree(gp->consumers[--gp->nconsumers].name);
	if (u->consumer >= 0)
		gp->consumers[u->consumer] = u->before;
	memcpy((char *) gp + STATE_FROM, u->state, STATE_BYTES);
}

void
overlay_cut(GroupPend *gp, int ngops)
{
	while (gp->nundo > 0 && gp->undo[gp->nundo - 1].op >= ngops)
	{
		const OpUndo *u = &gp->undo[--gp->nundo];

		if (u->anew)
			gp->applied = -1;
		else
			take_back(gp, u);
	}
	gp->applied = Min(gp->applied, ngops);
}

void
overlay_refresh(Pend *p, GroupPend *gp)
{
	if (gp->context == NULL)
		gp->context = AllocSetContextCreate(pend_context(), "stream group overlay", ALLOCSET_SMALL_SIZES);
	if (gp->applied < 0)
	{
		forget_contents(gp);
		gp->hides = gp->exists = gp->cursor_set = false;
		gp->cursor = gp->skipped = STREAMID_MIN;
		gp->nundo = gp->nold = 0;
		gp->applied = 0;
	}
	for (; gp->applied < p->ngops; gp->applied++)
	{
		const GroupOp *o = &p->gops[gp->applied];
		Gop			op;

		if (o->group != gp)
			continue;
		(void) gop_read(&op, p->gop_bytes + o->offset, p->gop_used - o->offset);
		note_undo(p, gp, &op);
		lay_over(gp, &op);
	}
}

void
groups_refresh(Pend *p)
{
	for (GroupPend *gp = p->groups; gp != NULL; gp = gp->next)
		overlay_refresh(p, gp);
}

/* --- looking through it --- */

bool
groups_any(Target *t)
{
	bool		any = t->pend != NULL && t->pend->groups != NULL;

	if (!any && strm_lock(t->ss, t->id, LW_SHARED))
	{
		any = t->ss->stream.groups.nkeys > 0;
		strm_unlock(t->ss);
	}
	return any;
}

bool
overlay_undelivered(const GroupPend *gp, const StreamGroup *base, StreamId id)
{
	const OwnRecord *own = overlay_record(gp, id);

	if (own != NULL && own->given)
		return false;
	if (gp != NULL && gp->cursor_set)
		return sid_cmp(id, gp->set_to) > 0;
	if (base == NULL)
		return false;
	if (sid_cmp(id, base->cursor) > 0)
		return gp == NULL || sid_cmp(id, gp->skipped) > 0;
	return idset_has(&StrmArena, &base->gaps, id);
}

/* Does this group?  base: the merged one if it shows. */
static bool
references(const GroupPend *gp, const StreamGroup *base, StreamId id)
{
	const OwnRecord *own = overlay_record(gp, id);
	PendingRecord r;

	if (own != NULL && (own->there || own->given))
		return own->there;
	if (own == NULL && base != NULL && pending_get(&StrmArena, &base->pending, id, &r))
		return true;
	return overlay_undelivered(gp, base, id);
}

bool
strm_referenced(const Target *t, StreamId id)
{
	const StreamGroup *g = NULL;

	while ((g = group_after(&StrmArena, &t->ss->stream, g ? g->name : NULL, g ? g->name_len : 0)) != NULL)
	{
		GroupPend  *gp = gpend_find(t->pend, g->name, g->name_len);

		if ((gp == NULL || !gp->hides) && references(gp, g, id))
			return true;
	}
	for (GroupPend *gp = t->pend ? t->pend->groups : NULL; gp != NULL; gp = gp->next)
		if (gp->hides && gp->exists && references(gp, NULL, id))
			return true;
	return false;
}

StreamGroup *
overlay_base(const GroupTarget *gt, const GroupPend *gp)
{
	return gp != NULL && gp->hides ? NULL : group_find(&StrmArena, &gt->t.ss->stream, gt->name, gt->len);
}

bool
overlay_exists(const GroupTarget *gt, const GroupPend *gp)
{
	return gp != NULL && gp->hides ? gp->exists : overlay_base(gt, gp) != NULL;
}

StreamId
overlay_cursor(const StreamGroup *base, const GroupPend *gp)
{
	StreamId	cursor = base != NULL ? base->cursor : STREAMID_MIN;

	if (gp != NULL && (gp->cursor_set || sid_cmp(gp->cursor, cursor) > 0))
		cursor = gp->cursor;
	return cursor;
}

void
overlay_policy(const StreamGroup *base, const GroupPend *gp, GroupPolicy *policy)
{
	if (gp != NULL && gp->policy_set)
		*policy = gp->policy;
	else if (base != NULL)
		group_policy(&StrmArena, base, policy);
	else
		*policy = (GroupPolicy) {.in_order = true};
}

OwnRecord *
overlay_record(const GroupPend *gp, StreamId id)
{
	return gp != NULL && gp->records != NULL ? hash_search(gp->records, &id, HASH_FIND, NULL) : NULL;
}

/* What became of a merged record by own deletions of consumers; false: it is gone. */
static bool
after_drops(const GroupPend *gp, const StreamGroup *base, SeenRecord *r)
{
	for (int i = 0; gp != NULL && i < gp->nconsumers; i++)
	{
		const OwnConsumer *c = &gp->consumers[i];
		const Consumer *b;

		if (c->dropped == DROPPED_NOT || !r->owned)
			continue;
		b = group_consumer(&StrmArena, base, c->name, c->len);
		if (b == NULL || b->number != r->number)
			continue;
		if (c->dropped == DROPPED_ALL)
			return false;
		r->owned = false;
		r->number = 0;
		r->time = 0;
	}
	return true;
}

static void
add_flight(const GroupShare *g, SeenRecord *r, bool own)
{
	Flight		f = {0};

	if (g != NULL)
		(void) strm_flight_get(g, r->id, &f);
	r->flight = f.part;
	r->attempts = own ? 0 : f.attempts;	/* ours are counted in */
	r->count = Min(r->count + r->attempts, (uint64) PG_INT64_MAX);	/* FATAL may have set it to the most */
}

static bool
see_own(const GroupTarget *gt, const GroupShare *g, const OwnRecord *own, SeenRecord *r)
{
	if (!own->there || (gt->t.pend != NULL && pend_refs_gone(gt->t.pend, own->id)))
		return false;
	*r = (SeenRecord) {
		.id = own->id, .owned = own->consumer >= 0, .own = own->consumer,
		.time = own->time, .count = own->count
	};
	add_flight(g, r, true);
	return true;
}

static bool
see_base(const GroupTarget *gt, const GroupPend *gp, const StreamGroup *base, const GroupShare *g,
		 const PendingRecord *b, SeenRecord *r)
{
	if (gt->t.pend != NULL && pend_refs_gone(gt->t.pend, b->id))
		return false;
	*r = (SeenRecord) {
		.id = b->id, .owned = b->consumer != 0, .number = b->consumer, .own = -1,
		.time = b->time, .count = b->count
	};
	if (!after_drops(gp, base, r))
		return false;
	add_flight(g, r, false);
	return true;
}

bool
seen_record(const GroupTarget *gt, const GroupPend *gp, const StreamGroup *base, const GroupShare *g,
			StreamId id, SeenRecord *r)
{
	OwnRecord  *own = overlay_record(gp, id);
	PendingRecord b;

	if (own != NULL)
		return see_own(gt, g, own, r);
	return base != NULL && pending_get(&StrmArena, &base->pending, id, &b) &&
		see_base(gt, gp, base, g, &b, r);
}

/* --- walking --- */

static int
id_cmp(const void *a, const void *b)
{
	return sid_cmp(*(const StreamId *) a, *(const StreamId *) b);
}

void
seen_walk_prepare(SeenWalk *w, const GroupTarget *gt, const GroupPend *gp, const SeenFilter *f, bool own)
{
	HASH_SEQ_STATUS seq;
	OwnRecord  *r;

	memset(w, 0, sizeof(*w));
	w->gt = gt;
	w->gp = gp;
	w->filter = *f;
	w->with_own = own;
	if (gp == NULL || gp->records == NULL || !own)
		return;
	w->own = MemoryContextAllocHuge(CurrentMemoryContext,
									Max(1, hash_get_num_entries(gp->records)) * sizeof(StreamId));
	hash_seq_init(&seq, gp->records);
	while ((r = hash_seq_search(&seq)) != NULL)
		w->own[w->nown++] = r->id;
	if (w->nown > 1)
		qsort(w->own, w->nown, sizeof(StreamId), id_cmp);
}

static void
next_base(SeenWalk *w)
{
	w->has_base = w->base != NULL && pending_walk_next(&w->walk, &w->base_record);
}

void
seen_walk_begin(SeenWalk *w, StreamId from)
{
	int			lo = 0;
	int			hi = w->nown;
	PendingFilter filter = w->filter.base;

	w->base = overlay_base(w->gt, w->gp);
	w->g = strm_share(w->gt->t.ss, w->gt->name, w->gt->len, false);
	if (w->base != NULL && w->filter.of_consumer)
	{
		const Consumer *c = group_consumer(&StrmArena, w->base, w->filter.consumer, w->filter.consumer_len);

		if (c == NULL)
			w->base = NULL;
		else
			filter.consumer = w->number = c->number;
	}
	/* what a dropped consumer had is seen as released */
	for (int i = 0; w->gp != NULL && i < w->gp->nconsumers; i++)
		if (w->gp->consumers[i].dropped != DROPPED_NOT)
			filter = (PendingFilter) {0, true, true, PG_UINT64_MAX, PG_UINT64_MAX};
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (sid_cmp(w->own[mid], from) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	w->pos = lo;
	if (w->base != NULL)
		pending_walk(&w->walk, &StrmArena, &w->base->pending, &filter, from);
	next_base(w);
}

/* Does it pass the filter?  (Of a merged record: after what our own deletions
 * of consumers have made of it.) */
static bool
wanted(const SeenWalk *w, const SeenRecord *r)
{
	const PendingFilter *f = &w->filter.base;

	if (!r->owned)
		return f->released && !w->filter.of_consumer && r->time <= f->released_upto;
	if (!f->owned || r->time > f->owned_upto)
		return false;
	if (w->filter.of_consumer && r->own < 0)
		return r->number == w->number;
	if (w->filter.of_consumer)
	{
		const OwnConsumer *c = &w->gp->consumers[r->own];

		return c->len == w->filter.consumer_len && memcmp(c->name, w->filter.consumer, c->len) == 0;
	}
	return true;
}

bool
seen_walk_next(SeenWalk *w, SeenRecord *r)
{
	while (w->has_base || w->pos < w->nown)
	{
		int			c = !w->has_base ? 1 : w->pos >= w->nown ? -1 :
			sid_cmp(w->base_record.id, w->own[w->pos]);
		bool		seen;

		if (c < 0)
		{
			seen = (w->with_own || overlay_record(w->gp, w->base_record.id) == NULL) &&
				see_base(w->gt, w->gp, w->base, w->g, &w->base_record, r);
			next_base(w);
		}
		else
		{
			seen = see_own(w->gt, w->g, overlay_record(w->gp, w->own[w->pos]), r);
			w->pos++;
			if (c == 0)
				next_base(w);
		}
		if (seen && wanted(w, r))
			return true;
	}
	return false;
}
