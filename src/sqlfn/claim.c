/*
 * claim.c
 *	  xclaim, xautoclaim: Redis' XCLAIM and XAUTOCLAIM.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "sqlfn/groupfn.h"

/* Rows (id, fields) or (id, fields, deliveries) of what was claimed. */
static void
put_claimed(FunctionCallInfo fcinfo, Target *t, const GivenList *list, bool justid)
{
	FieldsBuf	buf = {0};

	if (justid)
	{
		for (int i = 0; i < list->n; i++)
		{
			StreamId	id = list->item[i].id;
			Datum		values[3] = {PointerGetDatum(&id), (Datum) 0, Int64GetDatum((int64) list->item[i].deliveries)};
			bool		nulls[3] = {false, true, false};

			put_row(fcinfo, values, nulls);
		}
	}
	else
	{
		GivenWalk	w;
		const Given *g;
		const NodeEntry *e;

		given_walk(&w, t, list);
		while (given_next(&w, &g, &e))
		{
			StreamId	id = g->id;
			Datum		values[3] = {PointerGetDatum(&id), (Datum) 0, Int64GetDatum((int64) g->deliveries)};
			bool		nulls[3] = {false, false, false};

			if (e == NULL)
				continue;		/* deleted meanwhile */
			values[1] = fields_buf_put(&buf, e);
			put_row(fcinfo, values, nulls);
		}
	}
}

/* The time of delivery that idle (argument n) or at (n + 1) asks for: 0 for
 * now, which is also what a time to come is taken for. */
static uint64
arg_time(FunctionCallInfo fcinfo, int n)
{
	int64		idle = arg_duration(fcinfo, n, "idle");
	uint64		now = strm_now_ms();
	uint64		at;

	if (!PG_ARGISNULL(n) && !PG_ARGISNULL(n + 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("idle and at cannot be used together")));
	if (idle > 0)
		at = (uint64) idle < now ? now - (uint64) idle : 1;
	else if (!PG_ARGISNULL(n + 1))
		at = Max(ms_from_timestamptz(PG_GETARG_TIMESTAMPTZ(n + 1)), 1);
	else
		at = now;
	return at < now ? at : 0;
}

/*
 * xclaim(key, grp, consumer, min_idle, ids, idle, at, retrycount, force, justid,
 *		last_id): XCLAIM.
 *
 * Makes the consumer the owner of those of the ids that are pending for at
 * least min_idle.  idle, at: since when they are to count as delivered (at
 * most one of them; neither: now).  retrycount: their number of deliveries,
 * else one more, with justid as it is.  force: entries that are not pending
 * become so.  last_id: raises the group's cursor.
 *
 * Rows (id, fields) of what was claimed; with justid fields are NULL.  Records
 * of entries that are no more are removed.  22023, 22004, 42704, 42622, 42501,
 * 53200.
 */
PG_FUNCTION_INFO_V1(stream_xclaim);
Datum
stream_xclaim(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xclaim()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	IdsArg		a = arg_ids(fcinfo, 4, false);
	GivenList	list = {0};
	ClaimSpec	spec;
	GroupTarget gt;

	arg_claim(fcinfo, 2, 3, 9, &spec);
	spec.time = arg_time(fcinfo, 5);
	if (!PG_ARGISNULL(7))
	{
		spec.retrycount = PG_GETARG_INT64(7);
		if (spec.retrycount < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("retrycount must not be negative")));
	}
	spec.force = arg_bool(fcinfo, 8, false);
	if (!PG_ARGISNULL(10))
		spec.last_id = PG_GETARG_STREAMID(10);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	strm_group_claim(&gt, a.ids, a.n, &spec, &list);
	put_claimed(fcinfo, &gt.t, &list, spec.justid);
	return (Datum) 0;
}

/*
 * xautoclaim(key, grp, consumer, min_idle, start, count, justid): XAUTOCLAIM.
 *
 * Claims, from start on in order of id, up to count entries pending for at
 * least min_idle; it looks on until there are so many or the end is reached,
 * so that no cursor is needed.
 *
 * Rows (id, fields, deliveries), deliveries as before; with justid fields are
 * NULL.  22023, 22004, 42704, 42622, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xautoclaim);
Datum
stream_xautoclaim(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xautoclaim()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	StreamId	start = PG_ARGISNULL(4) ? STREAMID_MIN : streampos_start(PG_GETARG_STREAMPOS(4));
	int64		count = arg_int64(fcinfo, 5, 100);
	GivenList	list = {0};
	ClaimSpec	spec;
	GroupTarget gt;

	arg_claim(fcinfo, 2, 3, 6, &spec);
	if (count <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count must be positive")));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	strm_group_autoclaim(&gt, start, count, &spec, &list);
	put_claimed(fcinfo, &gt.t, &list, spec.justid);
	return (Datum) 0;
}
