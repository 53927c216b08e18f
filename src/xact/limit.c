/*
 * limit.c
 *	  Waiting for another transaction, but no longer than until a given time.
 *
 * The wait is the server's for a transaction, as one for a row is: it shows in
 * pg_locks, deadlocks are found, lock_timeout holds.  The limit is a
 * lock_timeout of our own, caught in a subtransaction, since an error is the
 * only way out of such a wait.  (To sleep on the latch instead would be
 * simpler, but then nobody would see that two wait for each other.)
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "xact/xact.h"

/* With a lock_timeout of `ms`; false: it is over. */
static bool
wait_for_ms(TransactionId xid, int ms)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			usual = LockTimeout;
	bool		ended = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		LockTimeout = ms;
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
		/* the time may have been over just when the wait was */
		CHECK_FOR_INTERRUPTS();
		LockTimeout = usual;
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		LockTimeout = usual;
		if (geterrcode() != ERRCODE_LOCK_NOT_AVAILABLE)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		ended = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return ended;
}

bool
strm_wait_xact(TransactionId xid, TimestampTz until)
{
	long		left = until != 0 ? TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until) : 0;
	bool		ended = true;

	if (until != 0 && left <= 0)
		return false;
	if (until == 0 || (LockTimeout > 0 && LockTimeout <= left))
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
	else
		ended = wait_for_ms(xid, (int) Min(left, INT_MAX));
	CHECK_FOR_INTERRUPTS();
	return ended;
}
