/*
 * add.c
 *	  XADD: reserving an id, putting the entry on the list.
 *
 * The id is decided under the stream's lock and registered in the
 * transaction's part; nobody can then reserve an id at or below it.  An
 * automatic id is above everything reserved.  An explicit one that is above
 * what is committed but not above what another transaction has reserved waits
 * for that transaction, and looks again: only what commits counts.
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

/* Reserve under the lock.  *limit: what the id must exceed, *xid: whom to
 * wait for. */
static Verdict
reserve(Pend *p, const StreamPos *pos, uint64 now_ms, StreamId *id, bool *new_run,
		StreamId *limit, TransactionId *xid)
{
	SharedStream *ss = p->ss;
	Part	   *part = STRM_PTR(Part, p->part);
	StreamId	top = ss->last_reserved;
	StreamId	ignored;
	Verdict		v;

	if (sid_cmp(ss->stream.last_id, top) > 0)
		top = ss->stream.last_id;
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
strm_add(Target *t, const StreamPos *pos, const uint8 *fields, bool make, StreamId *id)
{
	uint64		now_ms = pos->kind == POS_AUTO ? ms_from_timestamptz(GetCurrentTimestamp()) : 0;
	Snapshot	snap = pos->kind == POS_AUTO ? NULL : GetActiveSnapshot();
	for (;;)
	{
		TransactionId xid = InvalidTransactionId;
		StreamId	limit;
		bool		new_run;
		Verdict		v;
		Pend	   *p = t->pend;

		(void) pend_prepare(p, 0);
		if (!strm_op_lock(t, p, snap))
		{
			/* dropped, or given up by those who were making it */
			if (!strm_open_add(t->db, t->name, t->len, make, t))
				return false;
			continue;
		}
		v = reserve(p, pos, now_ms, id, &new_run, &limit, &xid);
		if (v == WAIT)
			pend_let_go(p);
		strm_unlock(p->ss);
		switch (v)
		{
			case RESERVED:
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
