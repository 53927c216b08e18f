/*
 * ack.c
 *	  xack, xackdel, xnack, xdelex: Redis' XACK, XACKDEL, XNACK, XDELEX.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "sqlfn/groupfn.h"

static int
id_cmp(const void *a, const void *b)
{
	return sid_cmp(*(const StreamId *) a, *(const StreamId *) b);
}

/* Rows (id, result): each id once, in the caller's order. */
static void
put_results(FunctionCallInfo fcinfo, const IdsArg *a, const int32 *results)
{
	bool	   *put = palloc0(Max(1, a->n) * sizeof(bool));

	for (int i = 0; i < a->ngiven; i++)
	{
		StreamId	id = a->given[i];
		StreamId   *found = bsearch(&id, a->ids, a->n, sizeof(StreamId), id_cmp);
		int			k = (int) (found - a->ids);
		Datum		values[2] = {PointerGetDatum(&id), Int32GetDatum(results[k])};
		bool		nulls[2] = {false, false};

		if (put[k])
			continue;
		put_row(fcinfo, values, nulls);
		put[k] = true;
	}
	pfree(put);
}

/* Results of ids of which nothing is known: -1 each. */
static int32 *
no_results(const IdsArg *a)
{
	int32	   *results = palloc_extended(Max(1, a->n) * sizeof(int32), MCXT_ALLOC_HUGE);

	for (int i = 0; i < a->n; i++)
		results[i] = -1;
	return results;
}

/*
 * xack(key, grp, VARIADIC ids): XACK.
 *
 * Result: how many of the ids were pending in the group and are so no more; 0
 * if there is no such stream or group.  An id that another transaction has in
 * flight is waited for.  22004, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xack);
Datum
stream_xack(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xack()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	IdsArg		a = arg_ids(fcinfo, 2, true);
	GroupTarget gt;

	if (a.n == 0 ||
		!strm_open_group(db, key.name, key.len, grp.name, grp.len, PRIV_UPDATE, true, &gt))
		PG_RETURN_INT64(0);
	PG_RETURN_INT64(strm_group_ack(&gt, a.ids, a.n, false, NULL));
}

/*
 * xackdel(key, grp, ids, refs): XACKDEL.  Needs DELETE, too.
 *
 * Rows (id, result): -1 not pending in the group (nor is anything in a group
 * or stream that is not there), 1 acknowledged and the entry is gone, 2
 * acknowledged and, with refs ACKED, kept for another group.  22023, 22004,
 * 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xackdel);
Datum
stream_xackdel(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xackdel()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	IdsArg		a = arg_ids(fcinfo, 2, false);
	Refs		refs = arg_refs(fcinfo, 3);
	int32	   *results = no_results(&a);
	GroupTarget gt;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (a.n > 0 &&
		strm_open_group(db, key.name, key.len, grp.name, grp.len, PRIV_UPDATE | PRIV_DELETE, true, &gt))
	{
		bool	   *acked = palloc0(a.n * sizeof(bool));
		StreamId   *gone = palloc_extended(a.n * sizeof(StreamId), MCXT_ALLOC_HUGE);
		int32	   *deleted = no_results(&a);
		int			n = 0;

		(void) strm_group_ack(&gt, a.ids, a.n, false, acked);
		for (int i = 0; i < a.n; i++)
			if (acked[i])
				gone[n++] = a.ids[i];
		(void) strm_delete(&gt.t, gone, n, refs, deleted);
		n = 0;
		for (int i = 0; i < a.n; i++)
			if (acked[i])
				results[i] = deleted[n++] == 2 ? 2 : 1;
	}
	put_results(fcinfo, &a, results);
	return (Datum) 0;
}

/*
 * xdelex(key, ids, refs): XDELEX.
 *
 * Rows (id, result): -1 no such entry (nor any in a stream that is not there),
 * 1 deleted, 2 kept for a group (refs ACKED).  22023, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xdelex);
Datum
stream_xdelex(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xdelex()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	IdsArg		a = arg_ids(fcinfo, 1, false);
	Refs		refs = arg_refs(fcinfo, 2);
	int32	   *results = no_results(&a);
	Target		t;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (a.n > 0 && strm_open_write(db, key.name, key.len, PRIV_DELETE, &t))
		(void) strm_delete(&t, a.ids, a.n, refs, results);
	put_results(fcinfo, &a, results);
	return (Datum) 0;
}

/* SILENT, FAIL, FATAL. */
static int
arg_mode(FunctionCallInfo fcinfo, int n)
{
	static const char *const known[] = {
		[NACK_SILENT] = "SILENT", [NACK_FAIL] = "FAIL", [NACK_FATAL] = "FATAL"
	};
	char	   *mode;

	arg_not_null(fcinfo, n, "mode");
	mode = text_to_cstring(PG_GETARG_TEXT_PP(n));
	for (int i = 0; i < lengthof(known); i++)
		if (pg_strcasecmp(mode, known[i]) == 0)
			return i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("mode \"%s\" is unknown", mode),
			 errhint("It is one of SILENT, FAIL and FATAL.")));
}

/*
 * xnack(key, grp, mode, ids, retrycount, force, delay): XNACK.
 *
 * Gives pending entries back to the group: the next plain read delivers them,
 * after `delay` if given.  mode says what becomes of their number of
 * deliveries: SILENT one less, FAIL as it is, FATAL the greatest; retrycount,
 * if given, is what it becomes.  force: entries that are not pending are made
 * so.  Result: how many were given back.  22023, 22004, 42704, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xnack);
Datum
stream_xnack(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xnack()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	IdsArg		a = arg_ids(fcinfo, 3, false);
	NackSpec	spec = {
		.mode = arg_mode(fcinfo, 2),
		.retrycount = arg_int64(fcinfo, 4, -1),
		.force = arg_bool(fcinfo, 5, false),
		.delay = Max(0, arg_duration(fcinfo, 6, "delay"))
	};
	GroupTarget gt;

	if (!PG_ARGISNULL(4) && spec.retrycount < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("retrycount must not be negative")));
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	PG_RETURN_INT64(strm_group_nack(&gt, a.ids, a.n, &spec));
}
