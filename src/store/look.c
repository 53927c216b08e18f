/*
 * look.c
 *	  Locking a stream, and seeing what the snapshot sees.
 *
 * A look waits until every queued change set whose transaction the caller's
 * snapshot sees is merged: whoever sees the row sees the entry.  A change set
 * the snapshot sees but that is still pending belongs to a transaction that
 * has left the proc array and is about to say so, or waits behind one whose
 * commit is being flushed; the wait is for the transaction at the head.
 *
 * Merging is anybody's work: who cannot get the lock leaves word in
 * merge_wanted, and who unlocks looks there.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/snapmgr.h"

#include "store/store.h"

/* Before it sleeps, a look sees so many times whether it need not, pausing between. */
#define LOOKS	30
#define PAUSES	10

/*
 * The queue holds top-level transactions only, and those are always listed in
 * xip, so no subtransaction look-up (which could fail) is needed.
 */
bool
strm_xid_seen(TransactionId xid, Snapshot snap)
{
	if (TransactionIdPrecedes(xid, snap->xmin))
		return true;
	if (TransactionIdFollowsOrEquals(xid, snap->xmax))
		return false;
	for (uint32 i = 0; i < snap->xcnt; i++)
		if (TransactionIdEquals(xid, snap->xip[i]))
			return false;
	return true;
}

bool
strm_lock(SharedStream *ss, int64 id, LWLockMode mode)
{
	LWLockAcquire(&ss->lock, mode);
	if (ss->id == id)
		return true;
	strm_unlock(ss);
	return false;
}

void
strm_unlock(SharedStream *ss)
{
	LWLockRelease(&ss->lock);
	for (;;)
	{
		pg_memory_barrier();
		if (pg_atomic_read_u32(&ss->merge_wanted) == 0)
			break;
		if (!LWLockConditionalAcquire(&ss->lock, LW_EXCLUSIVE))
			break;				/* whoever has it will see to it */
		strm_merge(ss);
		LWLockRelease(&ss->lock);
	}
	strm_wake_flush();
}

/* The transaction at the head of the queue if the queue holds something that
 * snap sees; InvalidTransactionId if not.  Lock held. */
static TransactionId
must_wait_for(SharedStream *ss, Snapshot snap)
{
	TransactionId head = InvalidTransactionId;

	EngHandle	h;
	EngHandle	last;

	SpinLockAcquire(&ss->q_mutex);
	h = ss->q_head;
	last = ss->q_tail;
	SpinLockRelease(&ss->q_mutex);
	/* with the lock held nothing leaves the queue; what joins it now is of no concern */
	while (h != 0)
	{
		TransactionId xid = STRM_PTR(TxRecord, STRM_PTR(ChangeSet, h)->tx)->xid;

		if (head == InvalidTransactionId)
			head = xid;
		if (strm_xid_seen(xid, snap))
			return head;
		h = h == last ? 0 : STRM_PTR(ChangeSet, h)->next;
	}
	return InvalidTransactionId;
}

/*
 * The commit at the head of the queue may be a few instructions from its end, if
 * it does not wait for the disk.  To sleep and be woken would take longer than
 * to look again for some microseconds.  True: it has ended.
 */
static bool
decided_soon(SharedStream *ss)
{
	for (int i = 0; i < LOOKS; i++)
	{
		bool		pending;

		SpinLockAcquire(&ss->q_mutex);
		pending = ss->q_head != 0 &&
			pg_atomic_read_u32(&STRM_PTR(TxRecord, STRM_PTR(ChangeSet, ss->q_head)->tx)->status) == TX_PENDING;
		SpinLockRelease(&ss->q_mutex);
		if (!pending)
			return true;
		for (int k = 0; k < PAUSES; k++)
			SPIN_DELAY();
	}
	return false;
}

bool
strm_look(SharedStream *ss, int64 id, LWLockMode mode, Snapshot snap)
{
	while (pg_atomic_read_u32(&ss->q_len) != 0)
	{
		TransactionId xid;

		/* where the queue holds nothing that snap sees, those who look need
		 * not keep each other out */
		if (mode == LW_SHARED && snap != NULL)
		{
			if (!strm_lock(ss, id, LW_SHARED))
				return false;
			if (must_wait_for(ss, snap) == InvalidTransactionId)
				return true;
			strm_unlock(ss);
		}
		if (!strm_lock(ss, id, LW_EXCLUSIVE))
			return false;
		strm_merge(ss);
		if (ss->id != id)
		{
			strm_unlock(ss);
			return false;
		}
		xid = snap ? must_wait_for(ss, snap) : InvalidTransactionId;
		if (xid == InvalidTransactionId)
		{
			if (mode == LW_EXCLUSIVE)
				return true;
			strm_unlock(ss);
			break;
		}
		strm_unlock(ss);
		if (!decided_soon(ss))
			XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
	return strm_lock(ss, id, mode);
}
