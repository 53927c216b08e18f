/*
 * groupview.c
 *	  The rows behind the views stream.groups, stream.consumers and
 *	  stream.pending, and of the functions that tell the same of one group.
 *
 * The streams the caller may read are found first, then each is opened by its
 * name as a function would: so the rows show what the transaction itself has
 * done.  Their cost is that of the rows shown; no entry is looked at.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "sqlfn/groupfn.h"

/* --- columns --- */

void
group_row(const GroupView *v, Datum *values, bool *nulls)
{
	int			n = 0;

	memset(nulls, 0, GROUP_COLUMNS * sizeof(bool));
	values[n++] = name_datum(v->name, v->len);
	values[n++] = Int64GetDatum((int64) v->consumers);
	values[n++] = Int64GetDatum((int64) v->pending);
	values[n++] = PointerGetDatum(&v->cursor);
	nulls[n] = v->entries_read < 0;
	values[n++] = Int64GetDatum(v->entries_read);
	values[n++] = Int64GetDatum((int64) v->lag);
	values[n++] = Int64GetDatum((int64) v->released);
	values[n++] = Int64GetDatum((int64) v->in_flight);
	values[n++] = BoolGetDatum(v->in_order);
	nulls[n] = v->retry == 0;
	values[n++] = interval_from_ms(v->retry);
	nulls[n] = v->max_deliveries == 0;
	values[n++] = Int64GetDatum((int64) v->max_deliveries);
	nulls[n] = v->dead_letter == NULL;
	values[n++] = v->dead_letter == NULL ? (Datum) 0 : name_datum(v->dead_letter, v->dead_letter_len);
	values[n++] = Int64GetDatum((int64) v->delivered);
	values[n++] = Int64GetDatum((int64) v->redelivered);
	values[n++] = Int64GetDatum((int64) v->acked);
	values[n++] = Int64GetDatum((int64) v->dead);
	Assert(n == GROUP_COLUMNS);
}

/* How long ago, in ms; a time to come is now. */
static uint64
since(uint64 time, uint64 now)
{
	return time < now ? now - time : 0;
}

void
consumer_row(const ConsumerView *v, uint64 now, Datum *values, bool *nulls)
{
	memset(nulls, 0, CONSUMER_COLUMNS * sizeof(bool));
	values[0] = name_datum(v->name, v->len);
	values[1] = Int64GetDatum((int64) v->pending);
	values[2] = interval_from_ms(since(v->seen, now));
	nulls[3] = v->active == 0;
	values[3] = interval_from_ms(since(v->active, now));
}

void
pending_row(const PendingView *v, uint64 now, Datum *values, bool *nulls)
{
	memset(nulls, 0, PENDING_COLUMNS * sizeof(bool));
	values[0] = PointerGetDatum(&v->id);
	nulls[1] = nulls[2] = !v->owned;
	values[1] = v->owned ? name_datum(v->consumer, v->consumer_len) : (Datum) 0;
	values[2] = interval_from_ms(since(v->time, now));
	values[3] = Int64GetDatum((int64) v->deliveries);
}

/* --- views --- */

/* Calls emit for each group of each stream the caller may see. */
static void
each_group(FunctionCallInfo fcinfo, const char *what,
		   void (*emit) (FunctionCallInfo fcinfo, GroupTarget *gt, const GroupView *v, uint64 now))
{
	Db		   *db = strm_use(what, false);
	uint64		now = strm_now_ms();
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "stream groups", ALLOCSET_DEFAULT_SIZES);
	KeyArg	   *keys;
	int			nkeys = streams_allowed(db, PRIV_SELECT, &keys);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	for (int i = 0; i < nkeys; i++)
	{
		MemoryContext before = MemoryContextSwitchTo(context);
		GroupTarget gt;
		GroupView  *views;
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		/* asked already, and members of pg_monitor need no privilege */
		if (strm_open_group(db, keys[i].name, keys[i].len, "", 0, 0, false, &gt))
			n = strm_groups_view(&gt.t, &views);
		for (int k = 0; k < n; k++)
		{
			gt.name = views[k].name;
			gt.len = views[k].len;
			emit(fcinfo, &gt, &views[k], now);
		}
		MemoryContextSwitchTo(before);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

static void
emit_group(FunctionCallInfo fcinfo, GroupTarget *gt, const GroupView *v, uint64 now)
{
	Datum		values[1 + GROUP_COLUMNS + 3];
	bool		nulls[1 + GROUP_COLUMNS + 3];
	int			n = 1 + GROUP_COLUMNS;
	bool		known = !sid_is_zero(v->next_id);

	values[0] = name_datum(gt->t.name, gt->t.len);
	nulls[0] = false;
	group_row(v, &values[1], &nulls[1]);
	nulls[n] = v->lag > 0 && !known;
	values[n++] = Float8GetDatum(v->lag > 0 && known ? since(v->next_id.ms, now) / 1000.0 : 0);
	nulls[n] = v->lag == 0 || !known;
	values[n++] = PointerGetDatum(&v->next_id);
	nulls[n] = v->oldest == PG_UINT64_MAX;
	values[n++] = interval_from_ms(since(v->oldest, now));
	put_row(fcinfo, values, nulls);
}

PG_FUNCTION_INFO_V1(stream_groups_rows);
Datum
stream_groups_rows(PG_FUNCTION_ARGS)
{
	each_group(fcinfo, "view stream.groups", emit_group);
	return (Datum) 0;
}

static void
emit_consumers(FunctionCallInfo fcinfo, GroupTarget *gt, const GroupView *v, uint64 now)
{
	ConsumerView *views;
	int			n = strm_consumers_view(gt, &views);

	for (int i = 0; i < n; i++)
	{
		Datum		values[2 + CONSUMER_COLUMNS];
		bool		nulls[2 + CONSUMER_COLUMNS] = {false};

		values[0] = name_datum(gt->t.name, gt->t.len);
		values[1] = name_datum(gt->name, gt->len);
		consumer_row(&views[i], now, &values[2], &nulls[2]);
		put_row(fcinfo, values, nulls);
	}
}

PG_FUNCTION_INFO_V1(stream_consumers_rows);
Datum
stream_consumers_rows(PG_FUNCTION_ARGS)
{
	each_group(fcinfo, "view stream.consumers", emit_consumers);
	return (Datum) 0;
}

/* Records are copied so many at a time. */
#define ROWS_AT_ONCE	1000

static void
emit_pending(FunctionCallInfo fcinfo, GroupTarget *gt, const GroupView *v, uint64 now)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "stream pending", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	StreamId	from = STREAMID_MIN;
	int			n;

	do
	{
		PendingView *views;

		CHECK_FOR_INTERRUPTS();
		n = strm_pending_view(gt, from, STREAMID_MAX, ROWS_AT_ONCE, "", 0, false, 0, &views);
		for (int i = 0; i < n; i++)
		{
			Datum		values[2 + PENDING_COLUMNS + 1];
			bool		nulls[2 + PENDING_COLUMNS + 1] = {false};

			values[0] = name_datum(gt->t.name, gt->t.len);
			values[1] = name_datum(gt->name, gt->len);
			pending_row(&views[i], now, &values[2], &nulls[2]);
			nulls[2 + PENDING_COLUMNS] = views[i].owned;
			values[2 + PENDING_COLUMNS] = TimestampTzGetDatum(timestamptz_from_ms(views[i].time));
			put_row(fcinfo, values, nulls);
			from = views[i].id;
		}
		MemoryContextReset(context);
	} while (n == ROWS_AT_ONCE && sid_next(&from));
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
}

PG_FUNCTION_INFO_V1(stream_pending_rows);
Datum
stream_pending_rows(PG_FUNCTION_ARGS)
{
	each_group(fcinfo, "view stream.pending", emit_pending);
	return (Datum) 0;
}
