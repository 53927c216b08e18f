/*
 * add.c
 *	  XADD: reserving an id, putting the entry on the list.
 *
 * The id is decided under the stream's lock and registered in the
 * transaction's part; nobody can then reserve an id at or below it.  An
 * automatic id is above everything reserved.  An explicit one that is above
 * what is committed but not above what another transaction has reserved waits
 * for that transaction, and looks again: only what commits counts.
 *
 * A (producer, iid) pair is registered under its digests; who adds one that
 * another transaction is adding waits for it and looks again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "xact/xact.h"

typedef enum Verdict
{
	RESERVED,
	WAIT,						/* for another transaction */
	NOT_GREATER,
	EXHAUSTED
} Verdict;

/* The id asked for, above `top`? */
static Verdict
decide(const StreamPos *pos, uint64 now_ms, StreamId top, StreamId *id)
{
	switch (pos->kind)
	{
		case POS_AUTO:
			if (now_ms > top.ms)
			{
				*id = (StreamId) {now_ms, 0};
				return RESERVED;
			}
			*id = top;
			return sid_next(id) ? RESERVED : EXHAUSTED;
		case POS_MS_AUTO:
		case POS_TIME:
			if (pos->id.ms > top.ms)
				*id = (StreamId) {pos->id.ms, 0};
			else
			{
				*id = top;
				if (pos->id.ms < top.ms || top.seq == PG_UINT64_MAX)
					return NOT_GREATER;
				id->seq++;
			}
			return RESERVED;
		default:
			*id = pos->id;
			return sid_cmp(*id, top) > 0 ? RESERVED : NOT_GREATER;
	}
}

/* What an automatic id must exceed. */
static StreamId
top_id(Pend *p)
{
	SharedStream *ss = p->ss;

	/* we have the stream to ourselves, and may have lowered its last id */
	if (p->nheaders > 0)
		return pend_top(p);
	return sid_cmp(ss->stream.last_id, ss->last_reserved) > 0 ? ss->stream.last_id : ss->last_reserved;
}

/* Reserve under the lock.  *limit: what the id must exceed, *xid: whom to
 * wait for. */
static Verdict
reserve(Pend *p, const StreamPos *pos, uint64 now_ms, StreamId *id, bool *new_run,
		StreamId *limit, TransactionId *xid)
{
	SharedStream *ss = p->ss;
	Part	   *part = STRM_PTR(Part, p->part);
	StreamId	top = top_id(p);
	StreamId	ignored;
	Verdict		v;

	v = decide(pos, now_ms, top, id);
	*limit = top;
	if (v == RESERVED)
	{
		*new_run = part->reserved == 0 || sid_cmp(part->max_id, top) != 0;
		if (part->reserved++ == 0)
			part->min_id = *id;
		part->max_id = *id;
		ss->last_reserved = *id;
		return RESERVED;
	}

	if (p->nheaders > 0)
		return v;				/* nobody else has taken any */

	/* would it do if only committed ids and our own counted? */
	*limit = ss->stream.last_id;
	if (part->reserved > 0 && sid_cmp(part->max_id, *limit) > 0)
		*limit = part->max_id;
	if (sid_cmp(*limit, top) == 0 || decide(pos, now_ms, *limit, &ignored) != RESERVED)
		return v;
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
		if (h != p->part && STRM_PTR(Part, h)->reserved > 0 &&
			sid_cmp(STRM_PTR(Part, h)->max_id, top) == 0)
			*xid = strm_part_waitfor(ss, STRM_PTR(Part, h));
	return WAIT;
}

/* --- idempotent producers --- */

typedef enum PairVerdict
{
	PAIR_NEW,					/* registered */
	PAIR_AGAIN,					/* was registered by us, but is forgotten since */
	PAIR_REPEATED,
	PAIR_WAIT,					/* another transaction is adding it */
	PAIR_NOMEM
} PairVerdict;

/*
 * Look for the pair, and register it if it is new.  What is remembered longer
 * than the duration counts as forgotten, measured by the id that the entry
 * would get: the merge of that entry then forgets it.
 */
static PairVerdict
register_pair(Pend *p, const IdmpKey *key, uint64 now_ms, StreamId *id, TransactionId *xid)
{
	SharedStream *ss = p->ss;
	bool		forgotten = false;
	bool		registered;
	uint64		holder;

	registered = rax_find(&StrmArena, &ss->pairs, key, sizeof(IdmpKey), &holder);
	if (registered && holder == p->part && pend_pair(p, key, id))
		return PAIR_REPEATED;
	for (int i = 0; i < p->nheaders; i++)
		forgotten = forgotten || p->headers[i].forgets;
	if (!forgotten && idmp_find(&StrmArena, &ss->stream.idmp, key, id) &&
		!idmp_expired(ss->stream.idmp.duration, *id, Max(now_ms, top_id(p).ms)))
		return PAIR_REPEATED;
	if (registered)
	{
		if (holder == p->part)
			return PAIR_AGAIN;
		*xid = strm_part_waitfor(ss, STRM_PTR(Part, holder));
		return PAIR_WAIT;
	}
	if (rax_insert(&StrmArena, &ss->pairs, key, sizeof(IdmpKey), p->part, NULL, ARENA_NORMAL) != ENG_OK)
		return PAIR_NOMEM;
	STRM_PTR(Part, p->part)->npairs++;
	return PAIR_NEW;
}

static void
unregister_pair(Pend *p, const IdmpKey *key)
{
	(void) rax_remove(&StrmArena, &p->ss->pairs, key, sizeof(IdmpKey), NULL);
	STRM_PTR(Part, p->part)->npairs--;
}

static void
raise_exhausted(const Target *t)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("stream \"%.*s\" has no ids left", (int) t->len, t->name),
			 errdetail("Its last id is the greatest there is.")));
}

static void
raise_not_greater(const Target *t, const StreamPos *pos, StreamId limit)
{
	if (!sid_next(&limit))
		raise_exhausted(t);
	(void) sid_prev(&limit);
	ereport(ERROR,
			(errcode(MAKE_SQLSTATE('S', 'T', '0', '0', '1')),
			 errmsg("id \"%s\" is not greater than the last id of the stream", streampos_text(pos)),
			 errdetail("The last id is %llu-%llu.",
					   (unsigned long long) limit.ms, (unsigned long long) limit.seq),
			 errhint("Use a greater id, or \"*\" to have one chosen.")));
}

bool
strm_add(Target *t, const StreamPos *pos, const uint8 *fields, const IdmpKey *pair,
		 bool make, StreamId *id, bool *repeated)
{
	uint64		now_ms = pos->kind == POS_AUTO ? ms_from_timestamptz(GetCurrentTimestamp()) : 0;
	Snapshot	snap = pos->kind == POS_AUTO && pair == NULL ? NULL : GetActiveSnapshot();

	*repeated = false;
	for (;;)
	{
		TransactionId xid = InvalidTransactionId;
		StreamId	limit;
		bool		new_run;
		Verdict		v;
		PairVerdict pv = PAIR_AGAIN;
		Pend	   *p = t->pend;

		(void) pend_prepare(p, 0);
		if (pair != NULL)
			pend_prepare_rare(p);
		if (!strm_op_lock(t, p, snap))
		{
			/* dropped, or given up by those who were making it */
			if (!strm_open_add(t->db, t->name, t->len, make, t->need, t))
				return false;
			continue;
		}
		if (pair != NULL)
			pv = register_pair(p, pair, now_ms, id, &xid);
		v = pv == PAIR_NEW || pv == PAIR_AGAIN ? reserve(p, pos, now_ms, id, &new_run, &limit, &xid) : WAIT;
		if (pv == PAIR_NEW && v != RESERVED)
			unregister_pair(p, pair);
		if (pv == PAIR_REPEATED)
			p->ss->duplicates++;
		if (v == WAIT)
			pend_let_go(p);
		strm_unlock(p->ss);
		if (pv == PAIR_NOMEM)
			strm_raise_full();
		if (pv == PAIR_REPEATED)
		{
			*repeated = true;
			return true;
		}
		switch (v)
		{
			case RESERVED:
				if (pair != NULL)
					pend_add_pair(p, pair, *id, pv == PAIR_AGAIN);
				pend_add_entry(p, *id, new_run, fields);
				return true;
			case WAIT:
				if (TransactionIdIsValid(xid))
					XactLockTableWait(xid, NULL, NULL, XLTW_None);
				CHECK_FOR_INTERRUPTS();
				break;
			case NOT_GREATER:
				raise_not_greater(t, pos, limit);
				break;
			case EXHAUSTED:
				raise_exhausted(t);
		}
	}
}
