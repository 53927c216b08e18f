/*
 * header.c
 *	  XSETID and XCFGSET: setting what a stream is besides its entries.
 *
 * Both resolve at the call to the whole header as it is then, so that replay
 * needs no rules; for that the transaction has the stream to itself from the
 * call on: it waits for all others who have changed the stream, and who comes
 * later waits for it (strm_op_lock).  Readers do not wait.
 *
 * The change takes its place among the transaction's adds, deletions and
 * pairs.  Trims alone are carried out at the end of the set, whatever came
 * after them: an id lowered after a trim could be given to an entry that the
 * trim would then remove, so that is refused.  So is lowering it below an id
 * that the transaction has added or deleted itself (possible where it has set
 * the greatest deleted id to less): its ids always rise, and what it has
 * deleted stays so to its end.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "xact/xact.h"

/*
 * While it waits for those who have a part in the stream it keeps its own, though
 * there be nothing in it, so that nobody else begins one: under load there is
 * always somebody else.  Two who wait so do not wait for each other.
 */
Pend *
strm_lock_alone(Db *db, const char *name, uint32 len, bool missing_ok, Target *t)
{
	Pend	   *wanted = NULL;

	for (;;)
	{
		TransactionId xid;
		bool		found = strm_open_write(db, name, len, PRIV_OWNER, t);
		Pend	   *p = found ? t->pend : NULL;

		/* the name leads elsewhere by now */
		if (wanted != NULL && wanted != p)
			pend_give_up(wanted);
		if (!found && missing_ok)
			return NULL;
		if (!found)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("stream \"%.*s\" does not exist", (int) len, name),
					 t->provisional ? errdetail("Another transaction is making it and has not committed.") : 0));
		(void) pend_prepare(p, 0);
		pend_prepare_rare(p);
		pend_refresh(p);
		wanted = p;
		if (!strm_op_lock(t, p, GetActiveSnapshot()))
			continue;
		xid = strm_part_other(p->ss, p->part, PART_ANY);
		STRM_PTR(Part, p->part)->wants = TransactionIdIsValid(xid);
		STRM_PTR(Part, p->part)->idle = TransactionIdIsValid(xid) && pend_is_empty(p);
		if (!TransactionIdIsValid(xid))
			return p;
		strm_unlock(p->ss);
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The greatest id of a live entry, 0-0 if there is none.  Lock held. */
static StreamId
top_live(Pend *p)
{
	StreamId	upto = STREAMID_MAX;
	StreamId	merged;
	StreamId	top = STREAMID_MIN;

	while (stream_last_upto(&StrmArena, &p->ss->stream, upto, &merged))
	{
		if (!pend_is_gone(p, merged))
		{
			top = merged;
			break;
		}
		upto = merged;
		(void) sid_prev(&upto);
	}
	for (int i = p->nchunks - 1; i >= 0 && sid_cmp(p->chunks[i].last, top) > 0; i--)
	{
		NodeIter	it;
		NodeEntry	e;

		node_iter(&it, p->chunks[i].lp, p->chunks[i].first, true, false);
		while (node_next(&it, &e) && sid_cmp(e.id, top) > 0)
			if (!pend_is_gone(p, e.id))
				return e.id;
	}
	return top;
}

/* Has this transaction trimmed, or added or deleted an id above `last`? */
static bool
removed_above(const Pend *p, StreamId last)
{
	StreamId	top;

	if (p->ntrims > 0 || (pend_last_id(p, &top) && sid_cmp(top, last) > 0))
		return true;
	for (int i = 0; i < p->ndels; i++)
		if (sid_cmp(p->dels[i].id, last) > 0)
			return true;
	return false;
}

static void
refuse(const char *message, StreamId limit)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errdetail("It is %llu-%llu.", (unsigned long long) limit.ms, (unsigned long long) limit.seq)));
}

void
strm_set_id(Db *db, const char *name, uint32 len, StreamId last, int64 entries_added,
			const StreamId *max_deleted)
{
	Target		t;
	Pend	   *p = strm_lock_alone(db, name, len, false, &t);
	StreamHeader h;
	StreamId	top = top_live(p);
	StreamId	deleted;
	uint64		length = strm_live(p);
	bool		lowers_too_early;
	bool		too_few;
	bool		good;

	pend_header(p, &h);
	deleted = h.max_deleted_id;
	too_few = entries_added >= 0 && (uint64) entries_added < length;
	lowers_too_early = sid_cmp(last, h.last_id) < 0 && removed_above(p, last);
	good = sid_cmp(last, deleted) >= 0 && sid_cmp(last, top) >= 0 && !too_few && !lowers_too_early;
	if (good)
	{
		h.last_id = last;
		if (entries_added >= 0)
			h.entries_added = (uint64) entries_added;
		if (max_deleted != NULL && !sid_is_zero(*max_deleted))
			h.max_deleted_id = *max_deleted;
		STRM_PTR(Part, p->part)->exclusive = true;
	}
	else
		pend_let_go(p);
	strm_unlock(p->ss);

	if (sid_cmp(last, deleted) < 0)
		refuse("last_id is smaller than the greatest deleted id", deleted);
	if (sid_cmp(last, top) < 0)
		refuse("last_id is smaller than the id of the last entry", top);
	if (too_few)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("entries_added is smaller than the length of the stream"),
				 errdetail("The length is %llu.", (unsigned long long) length)));
	if (lowers_too_early)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("last_id cannot be lowered in a transaction that has removed entries above it"),
				 errhint("Commit the removal first.")));
	pend_add_header(p, &h, false);
}

void
strm_configure(Db *db, const char *name, uint32 len, uint32 idmp_duration,
			   uint32 idmp_maxsize, uint32 node_max_bytes, uint32 node_max_entries)
{
	Target		t;
	Pend	   *p = strm_lock_alone(db, name, len, false, &t);
	StreamHeader before;
	StreamHeader h;
	bool		forgets;
	bool		changes;

	pend_header(p, &before);
	h = before;
	if (idmp_duration != 0)
		h.idmp_duration = idmp_duration;
	if (idmp_maxsize != 0)
		h.idmp_maxsize = idmp_maxsize;
	if (node_max_bytes != 0)
		h.node_max_bytes = node_max_bytes;
	if (node_max_entries != 0)
		h.node_max_entries = node_max_entries;
	forgets = h.idmp_duration != before.idmp_duration || h.idmp_maxsize != before.idmp_maxsize;
	changes = forgets || h.node_max_bytes != before.node_max_bytes ||
		h.node_max_entries != before.node_max_entries;
	if (changes)
		STRM_PTR(Part, p->part)->exclusive = true;
	else
		pend_let_go(p);
	strm_unlock(p->ss);
	if (changes)
		pend_add_header(p, &h, forgets);
}
