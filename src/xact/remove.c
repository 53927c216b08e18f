/*
 * remove.c
 *	  XDEL and XTRIM.
 *
 * Both act on the merged state and the transaction's own entries, not on what
 * the snapshot sees: what is removed is gone for every reader.
 *
 * A deletion is registered under its id; who wants to delete an id that
 * another transaction is deleting waits for it and looks again.  A trim is
 * resolved at the call to the id it trims to, and never goes beyond the
 * smallest id another transaction has reserved; trims that come with an add
 * do not wait for each other.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "xact/group.h"

#define BATCH	1000			/* ids looked at in one hold of the stream's lock */

static uint64 trim_acked(Target *t, const TrimSpec *spec);

/* --- trimming --- */

/* One entry less to remove; true when that was the last. */
static bool
take(StreamId id, uint64 *excess, StreamId *bound)
{
	*bound = id;
	return --*excess == 0;
}

/*
 * The id of the `excess`th oldest entry, merged and own together, in *last;
 * whole nodes are skipped where nothing of ours is among them.  Lock held.
 */
static void
find_excess(Pend *p, uint64 excess, StreamId *last)
{
	const Stream *s = &p->ss->stream;
	StreamId	from = p->trim_to;
	StreamId	master;
	const StreamNode *n;
	OwnWalk		w;

	*last = STREAMID_MIN;
	own_walk(&w, p, p->trim_to);
	while ((n = stream_node_at(&StrmArena, s, from, false, &master)) != NULL)
	{
		NodeIter	it;
		NodeEntry	e;

		if (n->live <= excess && sid_cmp(master, p->trim_to) >= 0 &&
			!(w.has && sid_cmp(w.e.id, n->last) < 0) && !pend_any_deleted(p, master, n->last))
		{
			if (n->live > 0)
				*last = n->last;
			excess -= n->live;
			if (excess == 0)
				return;
		}
		else
		{
			node_iter(&it, n->lp, master, false, false);
			while (node_next(&it, &e))
			{
				if (pend_is_gone(p, e.id))
					continue;
				for (; w.has && sid_cmp(w.e.id, e.id) < 0; own_next(&w))
					if (take(w.e.id, &excess, last))
						return;
				if (take(e.id, &excess, last))
					return;
			}
		}
		from = n->last;
		if (!sid_next(&from))
			break;
	}
	for (; w.has; own_next(&w))
		if (take(w.e.id, &excess, last))
			return;
}

/* Merged entries in lo..hi that this transaction has not removed.  Lock held. */
static uint64
count_not_gone(Pend *p, StreamId lo, StreamId hi)
{
	const Stream *s = &p->ss->stream;
	uint64		n;

	if (sid_cmp(lo, p->trim_to) < 0)
		lo = p->trim_to;
	n = stream_count(&StrmArena, s, lo, hi);
	for (int i = 0; i < p->ndels; i++)
		if (!p->dels[i].own && !p->dels[i].again && sid_cmp(p->dels[i].id, lo) >= 0 && sid_cmp(p->dels[i].id, hi) <= 0 &&
			stream_exists(&StrmArena, s, p->dels[i].id))
			n--;
	return n;
}

uint64
strm_live(Pend *p)
{
	return count_not_gone(p, STREAMID_MIN, STREAMID_MAX) + pend_count(p, STREAMID_MIN, STREAMID_MAX);
}

/*
 * The id below which the trim removes everything; false: nothing.  Nothing is
 * above the greatest id there is: *greatest says that it is to go too.  Lock
 * held.
 */
static bool
resolve(Pend *p, const TrimSpec *spec, StreamId *bound, bool *greatest)
{
	SharedStream *ss = p->ss;
	uint64		excess = PG_UINT64_MAX;
	StreamId	horizon;
	StreamId	top;

	*greatest = false;
	if (spec->by_len)
	{
		uint64		length = strm_live(p);

		if (length <= spec->maxlen)
			return false;
		excess = length - spec->maxlen;
	}
	if (spec->approx)
		stream_approx_bound(&StrmArena, &ss->stream, excess,
							spec->by_id ? spec->minid : STREAMID_MAX, spec->limit, bound);
	else if (spec->by_id)
		*bound = spec->minid;
	else
	{
		find_excess(p, excess, bound);
		*greatest = !sid_next(bound);
	}
	/* what is added from now on has a greater id and stays */
	top = pend_top(p);
	if (sid_next(&top) && sid_cmp(*bound, top) > 0)
		*bound = top;
	if (strm_horizon(ss, p->part, &horizon) && sid_cmp(*bound, horizon) > 0)
		*bound = horizon;
	return *greatest || sid_cmp(*bound, p->trim_to) > 0;
}

/* Another transaction that removes entries below bound: whom to wait for. */
static TransactionId
other_remover(Pend *p, StreamId bound)
{
	uint8		key[16];
	uint64		holder;

	for (EngHandle h = p->ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
		if (h != p->part && !sid_is_zero(STRM_PTR(Part, h)->trim_to))
			return strm_part_waitfor(p->ss, STRM_PTR(Part, h));
	for (RaxSeek op = RAX_FIRST;
		 rax_seek(&StrmArena, &p->ss->deleting, op, key, 16, key, NULL, &holder) &&
		 sid_cmp(sid_from_key(key), bound) < 0;
		 op = RAX_GT)
		if (holder != p->part)
			return strm_part_waitfor(p->ss, STRM_PTR(Part, holder));
	return InvalidTransactionId;
}

/* Delete the entry with the greatest id; returns how many that were.  Lock
 * held; should the index of deletions find no memory, it stays. */
static uint64
delete_greatest(Pend *p, uint32 flags)
{
	uint8		key[16];

	if (pend_has(p, STREAMID_MAX))
	{
		pend_add_deletion(p, STREAMID_MAX, true, false, flags);
		return 1;
	}
	sid_to_key(STREAMID_MAX, key);
	if (pend_is_gone(p, STREAMID_MAX) ||
		!stream_exists(&StrmArena, &p->ss->stream, STREAMID_MAX) ||
		rax_find(&StrmArena, &p->ss->deleting, key, 16, NULL) ||
		rax_insert(&StrmArena, &p->ss->deleting, key, 16, p->part, NULL, ARENA_SHRINK) != ENG_OK)
		return 0;
	STRM_PTR(Part, p->part)->ndeleting++;
	pend_add_deletion(p, STREAMID_MAX, false, false, flags);
	return 1;
}

uint64
strm_trim(Target *t, const TrimSpec *spec, bool wait)
{
	if (spec->refs == REFS_ACKED && groups_any(t))
		return trim_acked(t, spec);
	for (;;)
	{
		Pend	   *p = t->pend;
		TransactionId xid = InvalidTransactionId;
		StreamId	bound;
		StreamId	below;
		uint64		n = 0;
		uint64		extra = 0;
		bool		greatest;

		(void) pend_prepare(p, 1);
		pend_refresh(p);
		if (!strm_op_lock(t, p, wait ? GetActiveSnapshot() : NULL))
		{
			/* dropped or renamed meanwhile */
			if (!strm_open_write(t->db, t->name, t->len, t->need, t))
				return 0;
			continue;
		}
		if (resolve(p, spec, &bound, &greatest))
		{
			if (wait)
				xid = other_remover(p, bound);
			if (!TransactionIdIsValid(xid))
			{
				below = bound;
				(void) sid_prev(&below);
				n = count_not_gone(p, STREAMID_MIN, below) + pend_count(p, STREAMID_MIN, below);
				if (n > 0)
				{
					Part	   *part = STRM_PTR(Part, p->part);

					if (sid_cmp(bound, part->trim_to) > 0)
						part->trim_to = bound;
				}
				if (greatest)
					extra = delete_greatest(p, STREAM_DEL_TRIM | (spec->refs == REFS_KEEP ? STREAM_DEL_KEEPREF : 0));
			}
		}
		if (TransactionIdIsValid(xid))
			pend_let_go(p);
		strm_unlock(p->ss);
		if (!TransactionIdIsValid(xid))
		{
			if (n > 0)
				pend_add_trim(p, bound, spec->refs == REFS_KEEP);
			return n + extra;
		}
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
}

/* --- deleting --- */

/* Somebody else removes this id: whom to wait for.  Lock held. */
static TransactionId
remover_of(Pend *p, StreamId id, const uint8 *key)
{
	uint64		holder;

	if (rax_find(&StrmArena, &p->ss->deleting, key, 16, &holder) && holder != p->part)
		return strm_part_waitfor(p->ss, STRM_PTR(Part, holder));
	for (EngHandle h = p->ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
		if (h != p->part && sid_cmp(id, STRM_PTR(Part, h)->trim_to) < 0)
			return strm_part_waitfor(p->ss, STRM_PTR(Part, h));
	return strm_flight_other(p->ss, id, p->part);
}

/* A deletion under way. */
typedef struct Removal
{
	const StreamId *ids;
	int			n;
	Refs		refs;
	bool		trims;			/* as part of a trim */
	int32	   *results;
	int			done;
	uint64		deleted;
	bool		full;
} Removal;

/* Has any group a pending record of the id, merged or ours? */
static bool
has_records(const Pend *p, StreamId id)
{
	const StreamGroup *g = NULL;
	PendingRecord r;

	while ((g = group_after(&StrmArena, &p->ss->stream, g ? g->name : NULL, g ? g->name_len : 0)) != NULL)
		if (pending_get(&StrmArena, &g->pending, id, &r))
			return true;
	for (GroupPend *gp = p->groups; gp != NULL; gp = gp->next)
	{
		const OwnRecord *own = overlay_record(gp, id);

		if (own != NULL && own->there)
			return true;
	}
	return false;
}

static void
removed(Removal *rm, int32 result)
{
	if (rm->results != NULL)
		rm->results[rm->done] = result;
	rm->deleted += result == 1;
}

/*
 * Register what of the next ids, up to a batch, can be; stops at one that
 * another removes or has in flight (returns whom to wait for) and, with
 * rm->full, at lack of memory.
 */
static TransactionId
register_deletions(Target *t, Pend *p, Removal *rm)
{
	uint8		key[16];
	uint32		flags = (rm->refs == REFS_KEEP ? STREAM_DEL_KEEPREF : 0) | (rm->trims ? STREAM_DEL_TRIM : 0);
	int			end = rm->done + Min(rm->n - rm->done, BATCH);

	for (; rm->done < end; rm->done++)
	{
		StreamId	id = rm->ids[rm->done];
		TransactionId xid;

		if (rm->refs == REFS_ACKED)
		{
			xid = strm_flight_other(p->ss, id, p->part);
			if (TransactionIdIsValid(xid))
				return xid;
			/* as Redis: what no group has come to yet counts as referenced, there or not */
			if (!pend_is_gone(p, id) && strm_referenced(t, id))
			{
				removed(rm, 2);
				continue;
			}
		}
		if (pend_has(p, id))
		{
			pend_add_deletion(p, id, true, false, flags);
			removed(rm, 1);
			continue;
		}
		if (pend_is_gone(p, id) || !stream_exists(&StrmArena, &p->ss->stream, id))
		{
			/* DELREF drops the records that were left of it */
			if (rm->refs == REFS_DELETE && !pend_refs_gone(p, id) && has_records(p, id))
			{
				xid = strm_flight_other(p->ss, id, p->part);
				if (TransactionIdIsValid(xid))
					return xid;
				pend_add_deletion(p, id, false, true, STREAM_DEL_TRIM);
			}
			removed(rm, -1);
			continue;
		}
		sid_to_key(id, key);
		xid = remover_of(p, id, key);
		if (TransactionIdIsValid(xid))
			return xid;
		if (rax_insert(&StrmArena, &p->ss->deleting, key, 16, p->part, NULL, ARENA_SHRINK) != ENG_OK)
		{
			rm->full = true;
			return InvalidTransactionId;
		}
		STRM_PTR(Part, p->part)->ndeleting++;
		pend_add_deletion(p, id, false, false, flags);
		removed(rm, 1);
	}
	return InvalidTransactionId;
}

static int
id_cmp(const void *a, const void *b)
{
	return sid_cmp(*(const StreamId *) a, *(const StreamId *) b);
}

int
strm_sort_ids(StreamId *ids, int n)
{
	int			kept = 0;

	qsort(ids, n, sizeof(StreamId), id_cmp);
	for (int i = 0; i < n; i++)
		if (kept == 0 || sid_cmp(ids[i], ids[kept - 1]) != 0)
			ids[kept++] = ids[i];
	return kept;
}

/* In order of id: two deleters meet at the first they share. */
static void
delete_all(Target *t, Removal *rm)
{
	while (rm->done < rm->n)
	{
		Pend	   *p = t->pend;
		TransactionId xid;

		(void) pend_prepare(p, Min(rm->n - rm->done, BATCH));
		if (rm->done == 0)
		{
			/* not again: nothing looks at what this call itself keeps */
			pend_refresh(p);
			groups_refresh(p);
		}
		if (!strm_op_lock(t, p, GetActiveSnapshot()))
		{
			/* dropped or renamed meanwhile, so nothing was registered yet */
			if (!strm_open_write(t->db, t->name, t->len, t->need, t))
				break;
			rm->done = 0;
			rm->deleted = 0;
			continue;
		}
		xid = register_deletions(t, p, rm);
		if (TransactionIdIsValid(xid))
			pend_let_go(p);
		strm_unlock(p->ss);
		if (rm->full)
			strm_raise_full();
		if (TransactionIdIsValid(xid))
			XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
	for (; rm->done < rm->n; rm->done++)
		removed(rm, -1);		/* the stream was dropped meanwhile */
}

uint64
strm_delete(Target *t, const StreamId *ids, int nids, Refs refs, int32 *results)
{
	Removal		rm = {.ids = ids, .n = nids, .refs = refs, .results = results};

	delete_all(t, &rm);
	return rm.deleted;
}

/* --- trimming what no group needs any more --- */

/* Everything from this id on is still to be delivered, by a group that we have
 * done nothing to.  Lock held. */
static StreamId
needed_from(const Target *t)
{
	const StreamGroup *g = NULL;
	StreamId	from = STREAMID_MAX;

	while ((g = group_after(&StrmArena, &t->ss->stream, g ? g->name : NULL, g ? g->name_len : 0)) != NULL)
	{
		StreamId	id = g->cursor;

		if (gpend_find(t->pend, g->name, g->name_len) == NULL && sid_next(&id) && sid_cmp(id, from) < 0)
			from = id;
	}
	return from;
}

/* The oldest entries from *from on that no group needs, up to `want`, none at or
 * above `bound`; no more than a batch is looked at.  Returns how many; *from is
 * where to go on, *more whether there may be any.  Lock held. */
static int
find_acked(Target *t, Pend *p, StreamId *from, StreamId bound, uint64 want, StreamId *ids, bool *more)
{
	LiveWalk	w;
	StreamId	id;
	uint8		key[16];
	int			n = 0;

	live_walk(&w, p->ss, p, *from);
	for (int met = 0; (*more = live_next(&w, &id) && sid_cmp(id, bound) < 0); met++)
	{
		*from = id;
		if (met == BATCH || (uint64) n == want)
			break;
		sid_to_key(id, key);
		if (!strm_referenced(t, id) && !TransactionIdIsValid(remover_of(p, id, key)))
			ids[n++] = id;
	}
	return n;
}

/*
 * ACKED: whole nodes cannot go, so these are deletions; approx means nothing,
 * as in Redis.
 */
static uint64
trim_acked(Target *t, const TrimSpec *spec)
{
	StreamId   *ids = palloc(BATCH * sizeof(StreamId));
	StreamId	from = STREAMID_MIN;
	uint64		left = spec->limit > 0 ? spec->limit : PG_UINT64_MAX;
	uint64		n = 0;
	uint64		merged = 0;
	int64		length = 0;
	bool		first = true;
	bool		more = true;

	while (more && left > 0)
	{
		Pend	   *p = t->pend;
		Removal		rm = {.ids = ids, .refs = REFS_ACKED, .trims = true};
		StreamId	bound = spec->by_id ? spec->minid : STREAMID_MAX;
		StreamId	needed;
		StreamId	horizon;

		(void) pend_prepare(p, 0);
		pend_refresh(p);
		groups_refresh(p);
		if (!strm_op_lock(t, p, GetActiveSnapshot()))
			break;
		if (spec->by_len)
		{
			/* counted once; then it changes by what others have merged, and by what we delete */
			length = first ? (int64) strm_live(p) : length + (int64) (p->ss->stream.length - merged);
			merged = p->ss->stream.length;
			first = false;
			left = Min(left, length > 0 && (uint64) length > spec->maxlen ? length - spec->maxlen : 0);
		}
		needed = needed_from(t);
		if (sid_cmp(bound, needed) > 0)
			bound = needed;
		if (strm_horizon(p->ss, p->part, &horizon) && sid_cmp(bound, horizon) > 0)
			bound = horizon;
		rm.n = find_acked(t, p, &from, bound, left, ids, &more);
		pend_let_go(p);
		strm_unlock(p->ss);
		delete_all(t, &rm);
		n += rm.deleted;
		length -= rm.deleted;
		left -= Min(left, rm.deleted);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(ids);
	return n;
}
