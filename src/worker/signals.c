/*
 * signals.c
 *	  The background worker that sends NOTIFY, one a database.
 *
 * It is there while a session of its database listens to a stream
 * (store/listen.c says how it comes and goes), sleeps on its latch, and when
 * there is something to say, says it in a transaction of its own: a
 * notification a stream, whose payload is the newest id.  Then it pauses,
 * however much has been added, so that a stream that is added to without
 * pause makes a hundred notifications a second and not one a transaction.
 *
 * So those who add never meet the lock that NOTIFY takes on the whole cluster.
 * The worker meets it, and gives up after a second: it may have to leave, and
 * what it could not say is said by its successor.  It commits without waiting
 * for the disk or for standbys: a notification is no more than a hint to look,
 * and a restart of the server ends all who could get it.
 *
 * It takes no lock of a stream and never looks into one.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/async.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "store/listen.h"

#define PAUSE_MS	10
#define ROUND_MAX	64			/* streams a transaction */

PGDLLEXPORT void strm_signals_main(Datum arg);

static Signal signals[ROUND_MAX];

static void
say(const Signal *s)
{
	char		channel[CHANNEL_SIZE];
	char		id[64];

	strm_channel(s->name, s->len, channel);
	snprintf(id, sizeof(id), UINT64_FORMAT "-" UINT64_FORMAT, s->newest.ms, s->newest.seq);
	Async_Notify(channel, id);
}

static void
say_all(Oid dboid)
{
	int			n;

	do
	{
		n = strm_signals_take(dboid, signals, ROUND_MAX);
		SetCurrentStatementStartTimestamp();
		pgstat_report_activity(STATE_RUNNING, "sending notifications");
		StartTransactionCommand();
		for (int i = 0; i < n; i++)
			say(&signals[i]);
		CommitTransactionCommand();
		strm_signals_sent(dboid, signals, n);
		CHECK_FOR_INTERRUPTS();
	} while (n == ROUND_MAX);
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

static void
set(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

static void
work(Oid dboid)
{
	uint32		wait_event = NamedWaitEvent("StreamSignals");
	TimestampTz pause_end = 0;
	bool		something;

	while (strm_worker_wanted(dboid, &something))
	{
		long		timeout = -1;

		if (something)
		{
			timeout = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), pause_end);
			if (timeout <= 0)
			{
				say_all(dboid);
				pause_end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PAUSE_MS);
				continue;
			}
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout > 0 ? WL_TIMEOUT : 0),
						 timeout, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

void
strm_signals_main(Datum arg)
{
	Oid			dboid = DatumGetObjectId(arg);

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();

	if (strm_shmem_ready() && strm_worker_begin(dboid))
	{
		BackgroundWorkerInitializeConnectionByOid(dboid, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
		set("synchronous_commit", "off");
		set("lock_timeout", "1s");
		pgstat_report_activity(STATE_IDLE, NULL);
		work(dboid);
	}
	proc_exit(0);
}
