/*
 * pending.c
 *	  xpending, xpending_summary, xinfo_groups, xinfo_consumers: Redis' XPENDING
 *	  and XINFO GROUPS, CONSUMERS.
 *
 * All need SELECT on the stream; a stream or group that is missing is 42704.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "sqlfn/groupfn.h"

/* {"consumer": pending, ...} of the consumers that have any. */
static Datum
pending_by_consumer(GroupTarget *gt)
{
	JsonbParseState *state = NULL;
	ConsumerView *views;
	int			n = strm_consumers_view(gt, &views);

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < n; i++)
	{
		JsonbValue	name = {.type = jbvString};
		JsonbValue	pending = {.type = jbvNumeric};

		if (views[i].pending == 0)
			continue;
		name.val.string.val = views[i].name;
		name.val.string.len = (int) views[i].len;
		pending.val.numeric = int64_to_numeric((int64) views[i].pending);
		(void) pushJsonbValue(&state, WJB_KEY, &name);
		(void) pushJsonbValue(&state, WJB_VALUE, &pending);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/*
 * xpending_summary(key, grp): XPENDING without a range.
 *
 * Result: one row (pending, min_id, max_id, consumers): how many entries are
 * pending, the released included; the least and the greatest id, and how many
 * each consumer has, NULL if there are none.  42704, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xpending_summary);
Datum
stream_xpending_summary(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xpending_summary()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	GroupTarget gt;
	GroupView	v;
	Datum		values[4] = {0};
	bool		nulls[4] = {false};

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_SELECT, false, &gt);
	if (!strm_group_view(&gt, &v))
		strm_raise_no_group(&gt);
	values[0] = Int64GetDatum((int64) v.pending);
	nulls[1] = nulls[2] = nulls[3] = v.pending == 0;
	if (v.pending > 0)
	{
		values[1] = PointerGetDatum(&v.min_id);
		values[2] = PointerGetDatum(&v.max_id);
		values[3] = pending_by_consumer(&gt);
	}
	put_row(fcinfo, values, nulls);
	return (Datum) 0;
}

/*
 * xpending(key, grp, start, stop, count, consumer, min_idle): XPENDING of a
 * range.
 *
 * count: rows; NULL is all, not positive none.  consumer: of this one only.
 * min_idle: pending for at least so long; released ones always are.
 *
 * Rows (id, consumer, idle, deliveries) in order of id; consumer and idle are
 * NULL of released ones.  22023, 42704, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xpending);
Datum
stream_xpending(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xpending()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	StreamId	from = PG_ARGISNULL(2) ? STREAMID_MIN : streampos_start(PG_GETARG_STREAMPOS(2));
	StreamId	to = PG_ARGISNULL(3) ? STREAMID_MAX : streampos_stop(PG_GETARG_STREAMPOS(3));
	int64		count = arg_int64(fcinfo, 4, PG_INT64_MAX);
	bool		of_consumer = !PG_ARGISNULL(5);
	NameArg		consumer = of_consumer ? arg_name(fcinfo, 5, "consumer") : (NameArg) {"", 0};
	uint64		min_idle = (uint64) Max(0, arg_duration(fcinfo, 6, "min_idle"));
	uint64		now = strm_now_ms();
	PendingView *views = NULL;
	GroupTarget gt;
	GroupView	v;
	int			n = 0;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_SELECT, false, &gt);
	if (count > 0)
		n = strm_pending_view(&gt, from, to, count, consumer.name, consumer.len, of_consumer, min_idle, &views);
	else if (!strm_group_view(&gt, &v))
		n = -1;
	if (n < 0)
		strm_raise_no_group(&gt);
	for (int i = 0; i < n; i++)
	{
		Datum		values[PENDING_COLUMNS];
		bool		nulls[PENDING_COLUMNS];

		pending_row(&views[i], now, values, nulls);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * xinfo_groups(key): XINFO GROUPS.
 *
 * Rows in order of name: name, consumers, pending, last_delivered_id,
 * entries_read, lag as in Redis (lag is never NULL, entries_read is if it is
 * not known); then how many of the pending are released, how many entries are
 * in flight in open transactions, the policy (NULL: none), and what the group
 * has done since it was made: first deliveries, redeliveries,
 * acknowledgements, dead letters.  42704, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xinfo_groups);
Datum
stream_xinfo_groups(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xinfo_groups()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	GroupView  *views;
	Target		t;
	int			n;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!strm_open_read(db, key.name, key.len, PRIV_SELECT, &t))
		strm_raise_missing(key.name, key.len);
	n = strm_groups_view(&t, &views);
	for (int i = 0; i < n; i++)
	{
		Datum		values[GROUP_COLUMNS];
		bool		nulls[GROUP_COLUMNS];

		group_row(&views[i], values, nulls);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * xinfo_consumers(key, grp): XINFO CONSUMERS.
 *
 * Rows in order of name: name, pending, idle (since it asked last), inactive
 * (since it was given something last; NULL: never).  42704, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xinfo_consumers);
Datum
stream_xinfo_consumers(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xinfo_consumers()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	uint64		now = strm_now_ms();
	ConsumerView *views;
	GroupTarget gt;
	int			n;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_SELECT, false, &gt);
	n = strm_consumers_view(&gt, &views);
	if (n < 0)
		strm_raise_no_group(&gt);
	for (int i = 0; i < n; i++)
	{
		Datum		values[CONSUMER_COLUMNS];
		bool		nulls[CONSUMER_COLUMNS];

		consumer_row(&views[i], now, values, nulls);
		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}
