/*
 * group.c
 *	  The list of operations on groups, and locking a group.
 *
 * The operations of a stream are on one list in the order of the calls, so
 * that a rollback to a savepoint cuts its end; each is kept as the bytes that
 * the change set will have.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "types/streamid.h"
#include "xact/group.h"

uint64
strm_now_ms(void)
{
	return ms_from_timestamptz(GetCurrentTimestamp());
}

void
strm_raise_no_group(const GroupTarget *gt)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("consumer group \"%.*s\" of stream \"%.*s\" does not exist",
					(int) gt->len, gt->name, (int) gt->t.len, gt->t.name),
			 errhint("Make it with xgroup_create.")));
}

bool
strm_open_group(Db *db, const char *key, uint32 key_len, const char *grp, uint32 grp_len,
				uint32 need, bool write, GroupTarget *gt)
{
	gt->name = grp;
	gt->len = grp_len;
	return write ? strm_open_write(db, key, key_len, need, &gt->t)
		: strm_open_read(db, key, key_len, need, &gt->t);
}

/* --- the list --- */

GroupPend *
gpend_find(const Pend *p, const char *name, uint32 len)
{
	if (p != NULL)
		for (GroupPend *gp = p->groups; gp != NULL; gp = gp->next)
			if (gp->len == len && memcmp(gp->name, name, len) == 0)
				return gp;
	return NULL;
}

static GroupPend *
gpend_get(Pend *p, const char *name, uint32 len)
{
	GroupPend  *gp = gpend_find(p, name, len);

	if (gp != NULL)
		return gp;
	gp = MemoryContextAllocZero(pend_context(), sizeof(GroupPend));
	gp->name = MemoryContextAlloc(pend_context(), Max(1, len));
	memcpy(gp->name, name, len);
	gp->len = len;
	gp->applied = -1;
	gp->next = p->groups;
	p->groups = gp;
	return gp;
}

/* At most so many operations are noted after one gpend_prepare. */
#define OPS_AT_ONCE	6

GroupPend *
gpend_prepare(Pend *p, const char *name, uint32 len, Size names, uint32 nrecords, uint32 nruns)
{
	Gop			most = {.kind = GOP_DELIVER, .group_len = len, .nrecords = nrecords, .nruns = nruns};
	Gop			least = {.kind = GOP_POLICY, .group_len = len};
	Size		bytes = gop_size(&most) + OPS_AT_ONCE * (gop_size(&least) + 64 + names);
	GroupPend  *gp;

	(void) pend_prepare(p, 0);
	pend_refresh(p);
	gp = gpend_get(p, name, len);
	PEND_GROW(p->gops, p->ngops, p->gops_cap, OPS_AT_ONCE);
	PEND_GROW(p->gop_bytes, p->gop_used, p->gop_cap, bytes);
	overlay_refresh(p, gp);
	return gp;
}

static bool
is_admin(uint8 kind)
{
	return kind == GOP_CREATE || kind == GOP_DESTROY || kind == GOP_SETID || kind == GOP_POLICY ||
		kind == GOP_DELCONSUMER;
}

void
gpend_add(Pend *p, GroupPend *gp, Gop *op, const GopRun *runs, const GopRecord *records, bool registered)
{
	Size		bytes;

	op->group = gp->name;
	op->group_len = gp->len;
	bytes = gop_size(op);
	Assert(p->ngops < p->gops_cap && p->gop_used + bytes <= p->gop_cap);
	(void) gop_write(op, runs, records, p->gop_bytes + p->gop_used);
	p->gops[p->ngops++] = (GroupOp) {
		.group = gp, .offset = p->gop_used, .kind = op->kind, .flags = op->flags,
		.registered = registered,
		.sub = GetCurrentSubTransactionId(), .xid = GetCurrentTransactionId()
	};
	p->gop_used += bytes;
	gp->nops++;
	gp->nadmin += is_admin(op->kind);
}

bool
gop_takes_memory(const GroupOp *op)
{
	return op->kind == GOP_CREATE || op->kind == GOP_POLICY || op->kind == GOP_CONSUMER ||
		(op->flags & GOP_FORCE) != 0;
}

bool
gop_makes_records(const GroupOp *op)
{
	return op->kind == GOP_DELIVER && (op->flags & GOP_NOACK) == 0;
}

static size_t
op_read(const Pend *p, int i, Gop *op)
{
	return gop_read(op, p->gop_bytes + p->gops[i].offset, p->gop_used - p->gops[i].offset);
}

/* A consumer that an operation has seen to; by a hash of the name, since names
 * are long. */
typedef struct KnownKey
{
	GroupPend  *group;
	uint32		hash;
} KnownKey;

typedef struct Known
{
	KnownKey	key;			/* hash key */
	const char *name;
	uint32		len;
	int			nadmin;			/* changes of the group until then */
} Known;

static bool
makes_consumer(uint8 kind, uint8 flags)
{
	return kind == GOP_CONSUMER || kind == GOP_SET || (kind == GOP_DELIVER && (flags & GOP_DEAD) == 0);
}

/* Has an operation before this one, on the group as it is, made the consumer if
 * need be?  Notes that this one has. */
static bool
is_known(HTAB *known, GroupPend *gp, const Gop *op, int nadmin)
{
	KnownKey	key;
	Known	   *k;
	bool		found;

	memset(&key, 0, sizeof(key));
	key.group = gp;
	key.hash = hash_bytes((const unsigned char *) op->consumer, (int) op->consumer_len);
	k = hash_search(known, &key, HASH_ENTER, &found);
	if (found && k->nadmin == nadmin)
		return k->len == op->consumer_len && memcmp(k->name, op->consumer, k->len) == 0;
	k->name = op->consumer;
	k->len = op->consumer_len;
	k->nadmin = nadmin;
	return false;
}

void
gops_charge(ArenaCharge *c, const Pend *p)
{
	HASHCTL		ctl = {.keysize = sizeof(KnownKey), .entrysize = sizeof(Known), .hcxt = CurrentMemoryContext};
	HTAB	   *known = NULL;
	int			nadmin = 0;
	int			n = 0;

	for (int i = 0; i < p->ngops; i++)
		n += makes_consumer(p->gops[i].kind, p->gops[i].flags);
	if (n > 1)
		known = hash_create("stream consumers", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (int i = 0; i < p->ngops; i++)
	{
		Gop			op;

		/* what a load would refuse must not come into the journal */
		if (op_read(p, i, &op) == 0)
			elog(ERROR, "operation on a consumer group is malformed");
		nadmin += is_admin(op.kind);
		if (known != NULL && op.has_consumer && makes_consumer(op.kind, op.flags) &&
			is_known(known, p->gops[i].group, &op, nadmin))
			gop_charge_known(c, &op);
		else
			gop_charge(c, &op);
	}
	if (known != NULL)
		hash_destroy(known);
}

void
gops_unregister(Pend *p, int from)
{
	for (int i = from; i < p->ngops; i++)
	{
		Gop			op;

		if (!p->gops[i].registered)
			continue;
		(void) op_read(p, i, &op);
		strm_gop_end(p->ss, &op, p->part, false);
	}
}

void
gops_cut(Pend *p, int ngops)
{
	if (ngops == p->ngops)
		return;
	p->gop_used = p->gops[ngops].offset;
	for (int i = ngops; i < p->ngops; i++)
	{
		GroupPend  *gp = p->gops[i].group;

		gp->nops--;
		gp->nadmin -= is_admin(p->gops[i].kind);
	}
	p->ngops = ngops;
	for (GroupPend *gp = p->groups; gp != NULL; gp = gp->next)
	{
		overlay_cut(gp, ngops);
		if (gp->share == 0)
			continue;
		if (p->part != 0)
			strm_use_set(p->ss, p->part, STRM_PTR(GroupShare, gp->share), gp->nops > 0, gp->nadmin > 0);
		if (gp->nops == 0)
			gp->share = 0;
	}
}

bool
pend_only_delivers(const Pend *p)
{
	for (int i = 0; i < p->ngops; i++)
		if (p->gops[i].kind != GOP_DELIVER || (p->gops[i].flags & GOP_DEAD) != 0)
			return false;
	return p->nchunks == 0 && p->ndels == 0 && p->ntrims == 0 && p->npairs == 0 &&
		p->nheaders == 0 && p->ngrants == 0 && p->nnames == 0 &&
		!p->made && !p->dropped;
}

/* --- locking --- */

bool
group_lock(GroupTarget *gt, GroupPend *gp, bool admin, Unseen *u, GroupShare **g)
{
	Pend	   *p = gt->t.pend;
	UseKind		kind = admin ? USE_ADMIN : USE_WORK;

	for (;;)
	{
		TransactionId xid;
		bool		full;

		if (!strm_op_lock(&gt->t, p, GetActiveSnapshot()))
			return false;
		if (!unseen_fill(&gt->t, u, GetActiveSnapshot()))
		{
			pend_let_go(p);
			strm_unlock(p->ss);
			unseen_room(&gt->t, u);
			continue;
		}
		*g = strm_share(p->ss, gp->name, gp->len, true);
		full = *g == NULL;
		xid = full ? InvalidTransactionId : strm_share_other(p->ss, *g, p->part, kind);
		if (!full && !TransactionIdIsValid(xid))
		{
			full = !strm_use_add(p->ss, p->part, *g, kind);
			if (!full)
			{
				gp->share = (*g)->self;
				return true;
			}
		}
		/* who wants to change the group says so, lest others begin to work with
		 * it one after the other */
		if (full || !admin || !strm_use_add(p->ss, p->part, *g, USE_WANT))
			pend_let_go(p);
		strm_shares_settle(p->ss);
		strm_unlock(p->ss);
		if (full)
			strm_raise_full();
		gt->t.late = !strm_wait_xact(xid, gt->t.until);
		if (gt->t.late)
			return false;
	}
}

void
group_unlock_unused(GroupTarget *gt, GroupPend *gp, GroupShare *g)
{
	Pend	   *p = gt->t.pend;

	strm_use_set(p->ss, p->part, g, gp->nops > 0, gp->nadmin > 0);
	if (gp->nops == 0)
		gp->share = 0;
	pend_let_go(p);
	strm_shares_settle(p->ss);
	strm_unlock(p->ss);
}
