/*
 * admin.c
 *	  xcreate, xdrop, xrename, xsetid, xcfgset.
 */
#include "postgres.h"

#include "sqlfn/sqlfn.h"

/*
 * xcreate(key, if_not_exists): an empty stream.  False if it was there and
 * that was allowed, else 42710.
 */
PG_FUNCTION_INFO_V1(stream_xcreate);
Datum
stream_xcreate(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xcreate()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	bool		made = strm_make(db, key.name, key.len);

	if (!made && !arg_bool(fcinfo, 1, false))
		strm_raise_exists(key.name, key.len);
	PG_RETURN_BOOL(made);
}

/*
 * xdrop(key): DEL.  False if it was not there.
 */
PG_FUNCTION_INFO_V1(stream_xdrop);
Datum
stream_xdrop(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xdrop()", true);
	KeyArg		key = arg_key(fcinfo, 0);

	PG_RETURN_BOOL(strm_drop(db, key.name, key.len));
}

/*
 * xrename(key, newkey): RENAMENX.  42704, 42710.
 */
PG_FUNCTION_INFO_V1(stream_xrename);
Datum
stream_xrename(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xrename()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	KeyArg		newkey;

	arg_not_null(fcinfo, 1, "newkey");
	newkey = arg_key(fcinfo, 1);
	strm_rename(db, key.name, key.len, newkey.name, newkey.len);
	PG_RETURN_VOID();
}

/*
 * xsetid(key, last_id, entries_added, max_deleted_id).  42704, 22023; 0A000
 * for what cannot be done after a removal in one transaction.
 */
PG_FUNCTION_INFO_V1(stream_xsetid);
Datum
stream_xsetid(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xsetid()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	int64		entries_added = arg_int64(fcinfo, 2, -1);
	const StreamId *last;
	const StreamId *max_deleted = NULL;

	arg_not_null(fcinfo, 1, "last_id");
	last = DatumGetStreamIdP(PG_GETARG_DATUM(1));
	if (!PG_ARGISNULL(3))
		max_deleted = DatumGetStreamIdP(PG_GETARG_DATUM(3));
	if (!PG_ARGISNULL(2) && entries_added < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("entries_added must not be negative")));
	if (max_deleted != NULL && sid_cmp(*last, *max_deleted) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last_id is smaller than max_deleted_id")));
	strm_set_id(db, key.name, key.len, *last, entries_added, max_deleted);
	PG_RETURN_VOID();
}

static uint32
cfg_value(const char *name, const char *unit, bool given, int64 value, int64 min, int64 max)
{
	if (!given)
		return 0;
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between %lld and %lld%s",
						name, (long long) min, (long long) max, unit)));
	return (uint32) value;
}

/*
 * xcfgset(key, idmp_duration, idmp_maxsize, node_max_bytes, node_max_entries).
 * 42704, 22023.
 */
PG_FUNCTION_INFO_V1(stream_xcfgset);
Datum
stream_xcfgset(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xcfgset()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	int64		ms = arg_duration(fcinfo, 1, "idmp_duration");
	uint32		seconds;
	uint32		maxsize;
	uint32		bytes;
	uint32		entries;

	if (PG_ARGISNULL(1) && PG_ARGISNULL(2) && PG_ARGISNULL(3) && PG_ARGISNULL(4))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("at least one option must be given")));
	/* whole seconds, so that what is set is what is shown */
	seconds = cfg_value("idmp_duration", " seconds", !PG_ARGISNULL(1),
						ms / 1000 + (ms % 1000 > 0), 1, IDMP_DURATION_MAX);
	maxsize = cfg_value("idmp_maxsize", "", !PG_ARGISNULL(2), arg_int64(fcinfo, 2, 0), 1, IDMP_MAXSIZE_MAX);
	bytes = cfg_value("node_max_bytes", " bytes", !PG_ARGISNULL(3), arg_int64(fcinfo, 3, 0),
					  NODE_BYTES_MIN, NODE_BYTES_MAX);
	entries = cfg_value("node_max_entries", "", !PG_ARGISNULL(4), arg_int64(fcinfo, 4, 0),
						1, NODE_ENTRIES_MAX);
	strm_configure(db, key.name, key.len, seconds, maxsize, bytes, entries);
	PG_RETURN_VOID();
}
