/*
 * gadmin.c
 *	  Changing groups themselves: xgroup_create, _set, _setid, _destroy,
 *	  _createconsumer, _delconsumer.
 *
 * All but making a consumer have the group alone: they wait for every
 * transaction that works with it, and who comes later waits for them.  Other
 * groups of the stream are not concerned.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "xact/group.h"

/* Resolve where a group's cursor is to be. */
static StreamId
resolve_pos(GroupTarget *gt, const StreamPos *pos)
{
	View		v;

	switch (pos->kind)
	{
		case POS_LAST:
			return view_take(&gt->t, &v) ? v.last : STREAMID_MIN;
		case POS_MIN:
			return STREAMID_MIN;
		case POS_MAX:
			return STREAMID_MAX;
		default:
			return pos->id;
	}
}

/* As in Redis no more have been read than were ever added. */
static int64
resolve_read(GroupTarget *gt, int64 entries_read)
{
	View		v;

	return entries_read > 0 && view_take(&gt->t, &v) ? (int64) Min((uint64) entries_read, v.entries_added)
		: entries_read;
}

/* Does the group exist for us, with nobody changing that now? */
static bool
exists_for_good(GroupTarget *gt)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	GroupShare *g;
	bool		exists;

	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	if (!strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
		return false;
	exists = overlay_exists(gt, gp);
	g = strm_share(gt->t.ss, gt->name, gt->len, false);
	if (g != NULL && TransactionIdIsValid(strm_share_other(gt->t.ss, g, gt->t.pend ? gt->t.pend->part : 0, USE_LOOK)))
		exists = false;
	strm_unlock(gt->t.ss);
	return exists;
}

/* The group locked, alone with us; false: the stream is gone. */
static bool
lock_alone(GroupTarget *gt, GroupPend **gp, GroupShare **g, Size names)
{
	Unseen		u = {0};
	bool		ok;

	*gp = gpend_prepare(gt->t.pend, gt->name, gt->len, names, 0, 0);
	ok = group_lock(gt, *gp, true, &u, g);
	if (u.range != NULL)
		pfree(u.range);
	return ok;
}

static void
raise_exists(const GroupTarget *gt)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("consumer group \"%.*s\" of stream \"%.*s\" already exists",
					(int) gt->len, gt->name, (int) gt->t.len, gt->t.name)));
}

bool
strm_group_create(GroupTarget *gt, const StreamPos *pos, int64 entries_read, bool in_order,
				  bool if_not_exists)
{
	Gop			op = {.kind = GOP_CREATE, .flags = in_order ? GOP_IN_ORDER : 0};
	GroupPend  *gp;
	GroupShare *g;
	bool		exists = exists_for_good(gt);

	if (!exists)
	{
		op.pos = resolve_pos(gt, pos);
		op.entries_read = resolve_read(gt, entries_read);
		if (!lock_alone(gt, &gp, &g, 0))
			strm_raise_missing(gt->t.name, gt->t.len);
		exists = overlay_exists(gt, gp);
		if (exists)
			group_unlock_unused(gt, gp, g);
		else
		{
			g->new_from = g->gap_from = STREAMID_MIN;
			strm_unlock(gt->t.ss);
			gpend_add(gt->t.pend, gp, &op, NULL, NULL, false);
		}
	}
	if (exists && !if_not_exists)
		raise_exists(gt);
	return !exists;
}

/* Lock it alone, and note the operation if the group is there. */
static bool
change(GroupTarget *gt, Gop *op)
{
	GroupPend  *gp;
	GroupShare *g;
	bool		exists;

	if (!lock_alone(gt, &gp, &g, op->consumer_len))
		return false;
	exists = overlay_exists(gt, gp);
	if (exists)
	{
		if (op->kind == GOP_SETID)
			g->new_from = g->gap_from = STREAMID_MIN;
		strm_unlock(gt->t.ss);
		gpend_add(gt->t.pend, gp, op, NULL, NULL, false);
	}
	else
		group_unlock_unused(gt, gp, g);
	return exists;
}

void
strm_group_setid(GroupTarget *gt, const StreamPos *pos, int64 entries_read)
{
	Gop			op = {
		.kind = GOP_SETID, .pos = resolve_pos(gt, pos), .entries_read = resolve_read(gt, entries_read)
	};

	if (!change(gt, &op))
		strm_raise_no_group(gt);
}

bool
strm_group_destroy(GroupTarget *gt)
{
	Gop			op = {.kind = GOP_DESTROY};

	return change(gt, &op);
}

/* --- policy --- */

/* A policy with its own copy of the name. */
typedef struct PolicyCopy
{
	GroupPolicy policy;
	char		name[STREAM_NAME_MAX];
} PolicyCopy;

/* Lock held. */
static void
copy_policy(GroupTarget *gt, const GroupPend *gp, PolicyCopy *copy)
{
	overlay_policy(overlay_base(gt, gp), gp, &copy->policy);
	if (copy->policy.dead_letter_len > 0)
		copy->policy.dead_letter = memcpy(copy->name, copy->policy.dead_letter, copy->policy.dead_letter_len);
}

static bool
same_policy(const GroupPolicy *a, const GroupPolicy *b)
{
	return a->in_order == b->in_order && a->retry == b->retry && a->max_deliveries == b->max_deliveries &&
		a->dead_letter_len == b->dead_letter_len &&
		memcmp(a->dead_letter, b->dead_letter, a->dead_letter_len) == 0;
}

/* What the policy is now; 42704. */
static void
read_policy(GroupTarget *gt, PolicyCopy *copy)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	bool		exists;

	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	if (!strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
		strm_raise_no_group(gt);
	exists = overlay_exists(gt, gp);
	if (exists)
		copy_policy(gt, gp, copy);
	strm_unlock(gt->t.ss);
	if (!exists)
		strm_raise_no_group(gt);
}

/*
 * The change is worked out before the group is ours, since it may raise; should
 * the policy have become another by then, it is worked out again.
 *
 * A group that begins to deliver in order keeps no gap without entries, so what
 * others may still commit below its cursor is waited for.
 */
void
strm_group_set(GroupTarget *gt, void (*change_policy) (GroupPolicy *p, void *arg), void *arg)
{
	for (;;)
	{
		PolicyCopy	before;
		PolicyCopy	now;
		GroupPolicy p;
		GroupPend  *gp;
		GroupShare *g;
		TransactionId xid = InvalidTransactionId;
		bool		same;

		read_policy(gt, &before);
		p = before.policy;
		change_policy(&p, arg);
		if (same_policy(&p, &before.policy))
			return;
		if (!lock_alone(gt, &gp, &g, p.dead_letter_len))
			strm_raise_no_group(gt);
		same = overlay_exists(gt, gp);
		if (same)
		{
			copy_policy(gt, gp, &now);
			same = same_policy(&now.policy, &before.policy);
		}
		if (same && p.in_order && !before.policy.in_order)
			xid = strm_reserved_upto(gt->t.ss, gt->t.pend->part, overlay_cursor(overlay_base(gt, gp), gp));
		if (same && !TransactionIdIsValid(xid))
		{
			Gop			op = {
				.kind = GOP_POLICY, .flags = p.in_order ? GOP_IN_ORDER : 0, .retry = p.retry,
				.max_deliveries = p.max_deliveries, .consumer = p.dead_letter, .consumer_len = p.dead_letter_len
			};

			strm_unlock(gt->t.ss);
			gpend_add(gt->t.pend, gp, &op, NULL, NULL, false);
			return;
		}
		group_unlock_unused(gt, gp, g);
		if (TransactionIdIsValid(xid))
			XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
}

bool
strm_group_policy(GroupTarget *gt, GroupPolicy *p)
{
	PolicyCopy	copy;

	read_policy(gt, &copy);
	*p = copy.policy;
	if (p->dead_letter_len > 0)
		p->dead_letter = memcpy(palloc(p->dead_letter_len), p->dead_letter, p->dead_letter_len);
	return p->retry > 0 || p->max_deliveries > 0;
}

/* --- consumers --- */

/* Is the consumer there for us?  Lock held.  If it is merged it has been seen
 * now. */
static bool
has_consumer(GroupTarget *gt, const GroupPend *gp, const char *consumer, uint32 len)
{
	OwnConsumer *own = overlay_consumer(gp, consumer, len, NULL);
	StreamGroup *base = overlay_base(gt, gp);
	Consumer   *c;

	if (own != NULL)
		return own->there;
	c = base != NULL ? group_consumer(&StrmArena, base, consumer, len) : NULL;
	if (c != NULL)
		c->seen = Max(c->seen, strm_now_ms());
	return c != NULL;
}

bool
strm_consumer_create(GroupTarget *gt, const char *consumer, uint32 len)
{
	GroupPend  *gp = gpend_find(gt->t.pend, gt->name, gt->len);
	GroupShare *g;
	TimestampTz until = gt->t.until;
	Unseen		u = {0};
	bool		there = false;
	bool		exists;
	Gop			op = {
		.kind = GOP_CONSUMER, .consumer = consumer, .consumer_len = len, .has_consumer = true,
		.time = strm_now_ms()
	};

	if (gp != NULL)
		overlay_refresh(gt->t.pend, gp);
	if (strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
	{
		there = overlay_exists(gt, gp) && has_consumer(gt, gp, consumer, len);
		strm_unlock(gt->t.ss);
	}
	if (there)
		return false;
	if (!strm_open_write(gt->t.db, gt->t.name, gt->t.len, gt->t.need, &gt->t))
		strm_raise_no_group(gt);
	gt->t.until = until;
	gp = gpend_prepare(gt->t.pend, gt->name, gt->len, len, 0, 0);
	if (!group_lock(gt, gp, false, &u, &g))
	{
		if (gt->t.late)
			return false;
		strm_raise_no_group(gt);
	}
	exists = overlay_exists(gt, gp);
	there = exists && has_consumer(gt, gp, consumer, len);
	if (exists && !there)
		strm_unlock(gt->t.ss);
	else
		group_unlock_unused(gt, gp, g);
	if (!exists)
		strm_raise_no_group(gt);
	if (!there)
		gpend_add(gt->t.pend, gp, &op, NULL, NULL, false);
	return !there;
}

int64
strm_consumer_delete(GroupTarget *gt, const char *consumer, uint32 len, bool release)
{
	Gop			op = {
		.kind = GOP_DELCONSUMER, .flags = release ? GOP_RELEASE : 0, .consumer = consumer,
		.consumer_len = len, .has_consumer = true
	};
	SeenFilter	filter = seen_of_consumer(consumer, len);
	GroupPend  *gp;
	GroupShare *g;
	SeenWalk	w;
	SeenRecord	r;
	bool		exists;
	bool		there;
	int64		pending = 0;

	if (!lock_alone(gt, &gp, &g, len))
		strm_raise_no_group(gt);
	exists = overlay_exists(gt, gp);
	there = exists && has_consumer(gt, gp, consumer, len);
	if (there)
		strm_unlock(gt->t.ss);
	else
		group_unlock_unused(gt, gp, g);
	if (!exists)
		strm_raise_no_group(gt);
	if (!there)
		return 0;
	gpend_add(gt->t.pend, gp, &op, NULL, NULL, false);
	/* nobody else can touch it now; what it has is still as it was before the
	 * operation until the overlay is brought up to date */
	seen_walk_prepare(&w, gt, gp, &filter, true);
	if (strm_lock(gt->t.ss, gt->t.id, LW_SHARED))
	{
		seen_walk_begin(&w, STREAMID_MIN);
		while (seen_walk_next(&w, &r))
			pending++;
		strm_unlock(gt->t.ss);
	}
	return pending;
}
