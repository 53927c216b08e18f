/*
 * rename.c
 *	  XRENAME: another name for a stream.
 *
 * The transaction has the stream to itself from the call on, and the new name
 * too: if nothing is there, a provisional stream holds it, so that others who
 * create or rename to the same name wait, and look again; if a stream was
 * there that this transaction has dropped or renamed, that one holds it still
 * (names.c).  The old name stays with the stream until the transaction has
 * committed, and is free for this transaction at once.
 *
 * Waiting for one of the two while holding the other would make deadlocks of
 * transactions that could have gone one after the other: what is held is given
 * up before.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"

#include "xact/xact.h"

/* Register that we hold the name of a provisional stream.  False: it has become
 * a stream, or is gone, look again; or *xid: whom to wait for. */
static bool
hold_place(Pend *p, TransactionId *xid)
{
	SharedStream *ss = p->ss;
	bool		full = false;
	bool		there;

	if (!strm_look(ss, p->id, LW_EXCLUSIVE, NULL))
		return false;
	strm_merge(ss);
	there = ss->id == p->id && ss->state == SS_PROVISIONAL;
	if (there)
		*xid = strm_part_other(ss, p->part, PART_ANY);
	if (there && !TransactionIdIsValid(*xid))
	{
		full = pend_part(p) == 0;
		if (!full)
			STRM_PTR(Part, p->part)->renaming = STRM_PTR(Part, p->part)->exclusive = true;
	}
	else
		there = false;
	strm_unlock(ss);
	if (full)
		strm_raise_full();
	return there;
}

/* The holder of a name that leads nowhere, to be ours; 42710.  NULL: *xid is
 * whom to wait for. */
static Pend *
hold_name(Db *db, const char *name, uint32 len, TransactionId *xid)
{
	*xid = InvalidTransactionId;
	for (;;)
	{
		const NameChange *c;
		SharedStream *ss;
		Target		t;
		Pend	   *p;
		int64		id;

		if (strm_open_read(db, name, len, PRIV_ANY, &t))
		{
			*xid = strm_being_left(&t);
			if (!TransactionIdIsValid(*xid))
				strm_raise_exists(name, len);
			return NULL;
		}
		c = names_find(name, len);
		if (c != NULL)
			return c->holder;
		id = (int64) pg_atomic_fetch_add_u64(&db->next_stream_id, 1);
		ss = strm_registry_make(db, name, len, id, strm_node_max_bytes, strm_node_max_entries, true, &id);
		p = pend_get(ss, id);
		(void) pend_prepare(p, 0);
		if (hold_place(p, xid))
		{
			p->placeholder = true;
			return p;
		}
		if (TransactionIdIsValid(*xid))
			return NULL;
		CHECK_FOR_INTERRUPTS();
	}
}

void
strm_rename(Db *db, const char *name, uint32 len, const char *to, uint32 to_len)
{
	Target		t;

	if (len == to_len && memcmp(name, to, len) == 0)
	{
		if (!strm_open_read(db, name, len, PRIV_OWNER, &t))
			strm_raise_missing(name, len);
		return;
	}
	for (;;)
	{
		TransactionId xid;
		Pend	   *p = strm_lock_alone(db, name, len, false, &t);
		Pend	   *holder;

		STRM_PTR(Part, p->part)->renaming = STRM_PTR(Part, p->part)->exclusive = true;
		strm_unlock(p->ss);
		holder = hold_name(db, to, to_len, &xid);
		if (holder != NULL)
		{
			names_leave(&t);
			names_change(to, to_len, holder, t.id);
			return;
		}
		pend_give_up(p);
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
}
