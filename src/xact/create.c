/*
 * create.c
 *	  Making and dropping streams.
 *
 * A stream being made is provisional: a place and a name, for the transactions
 * that take part in making it only; the first of them to commit makes it real.
 * A stream is dropped when nobody else has a part in it; who comes later waits
 * for the dropping transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "xact/xact.h"

TransactionId
strm_being_left(Target *t)
{
	TransactionId xid = InvalidTransactionId;

	if (strm_lock(t->ss, t->id, LW_SHARED))
	{
		xid = strm_part_other(t->ss, t->pend ? t->pend->part : 0, PART_LEAVING);
		strm_unlock(t->ss);
	}
	return xid;
}

static void
wait_for(TransactionId xid)
{
	XactLockTableWait(xid, NULL, NULL, XLTW_None);
	CHECK_FOR_INTERRUPTS();
}

bool
strm_make(Db *db, const char *name, uint32 len)
{
	Target		t;

	for (;;)
	{
		TransactionId xid;
		Pend	   *p;

		if (strm_open_read(db, name, len, PRIV_ANY, &t))
		{
			xid = strm_being_left(&t);
			if (!TransactionIdIsValid(xid))
				return false;
			wait_for(xid);
			continue;
		}
		/* missing, or being made by others: they decide */
		(void) strm_open_add(db, name, len, true, PRIV_ANY, &t);
		p = t.pend;
		(void) pend_prepare(p, 0);
		if (!strm_op_lock(&t, p, GetActiveSnapshot()))
			continue;
		if (p->ss->state == SS_LIVE)
		{
			strm_unlock(p->ss);
			return false;
		}
		xid = strm_part_other(p->ss, p->part, PART_ANY);
		if (TransactionIdIsValid(xid))
			pend_let_go(p);
		strm_unlock(p->ss);
		if (xid == InvalidTransactionId)
		{
			p->made = true;
			p->made_sub = GetCurrentSubTransactionId();
			return true;
		}
		wait_for(xid);
	}
}

bool
strm_drop(Db *db, const char *name, uint32 len)
{
	Target		t;
	Pend	   *p = strm_lock_alone(db, name, len, true, &t);

	if (p == NULL)
		return false;
	STRM_PTR(Part, p->part)->dropping = STRM_PTR(Part, p->part)->exclusive = true;
	strm_unlock(p->ss);
	names_leave(&t);
	p->dropped = true;
	p->dropped_sub = GetCurrentSubTransactionId();
	return true;
}
