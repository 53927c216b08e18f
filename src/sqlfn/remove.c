/*
 * remove.c
 *	  xdel, xtrim: Redis' XDEL and XTRIM.
 *
 * A missing stream has nothing to remove: 0.
 */
#include "postgres.h"

#include "sqlfn/sqlfn.h"

/*
 * xdel(key, VARIADIC ids): how many of them were there.
 */
PG_FUNCTION_INFO_V1(stream_xdel);
Datum
stream_xdel(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xdel()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	IdsArg		a = arg_ids(fcinfo, 1, true);
	Target		t;

	if (a.n == 0 || !strm_open_write(db, key.name, key.len, PRIV_DELETE, &t))
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) strm_delete(&t, a.ids, a.n, REFS_DELETE, NULL));
}

/*
 * xtrim(key, maxlen, minid, approx, trim_limit, refs): how many entries go.
 */
PG_FUNCTION_INFO_V1(stream_xtrim);
Datum
stream_xtrim(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xtrim()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	TrimSpec	trim;
	Target		t;

	if (!arg_trim(fcinfo, 1, 4, 5, &trim))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("xtrim needs maxlen or minid")));
	if (!strm_open_write(db, key.name, key.len, PRIV_DELETE, &t))
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) strm_trim(&t, &trim, true));
}
