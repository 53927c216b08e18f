/*
 * admin.c
 *	  xcreate, xdrop, xrename, xsetid, xcfgset, xinfo_stream, xinfo_stream_full.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "sqlfn/sqlfn.h"
#include "xact/group.h"

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

/* --- XINFO STREAM --- */

static void
push_key(JsonbParseState **state, const char *key)
{
	JsonbValue	v = {.type = jbvString};

	v.val.string.val = unconstify(char *, key);
	v.val.string.len = strlen(key);
	(void) pushJsonbValue(state, WJB_KEY, &v);
}

static void
push_text(JsonbParseState **state, JsonbIteratorToken tok, const char *s, int len)
{
	JsonbValue	v = {.type = jbvString};

	v.val.string.val = unconstify(char *, s);
	v.val.string.len = len;
	(void) pushJsonbValue(state, tok, &v);
}

static void
push_number(JsonbParseState **state, const char *key, uint64 n)
{
	JsonbValue	v = {.type = jbvNumeric};

	push_key(state, key);
	v.val.numeric = int64_to_numeric((int64) n);
	(void) pushJsonbValue(state, WJB_VALUE, &v);
}

static void
push_id(JsonbParseState **state, const char *key, StreamId id)
{
	char	   *s = psprintf(UINT64_FORMAT "-" UINT64_FORMAT, id.ms, id.seq);

	push_key(state, key);
	push_text(state, WJB_VALUE, s, strlen(s));
}

/* [id, [name, value, ...]] */
static void
push_entry(JsonbParseState **state, const NodeEntry *e)
{
	StreamFields *f = entry_fields(e);
	char	   *s = psprintf(UINT64_FORMAT "-" UINT64_FORMAT, e->id.ms, e->id.seq);
	bool		is_name = true;

	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	push_text(state, WJB_ELEM, s, strlen(s));
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (const uint8 *p = lp_first(streamfields_lp(f)); !lp_at_end(p); p = lp_next(p))
	{
		text	   *shown = streamfields_show(p, is_name);

		push_text(state, WJB_ELEM, VARDATA_ANY(shown), VARSIZE_ANY_EXHDR(shown));
		is_name = !is_name;
	}
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
	pfree(f);
}

/* The first or last entry under a key, or null. */
static void
push_outermost(JsonbParseState **state, const char *key, Target *t, bool last)
{
	Reader	   *r = reader_open(t, STREAMID_MIN, STREAMID_MAX, last, 1);
	NodeEntry	e;

	push_key(state, key);
	if (reader_next(r, &e))
		push_entry(state, &e);
	else
	{
		JsonbValue	null = {.type = jbvNull};

		(void) pushJsonbValue(state, WJB_VALUE, &null);
	}
	reader_close(r);
}

/* The first `count` entries, 0: all of them. */
static void
push_entries(JsonbParseState **state, Target *t, int64 count)
{
	Reader	   *r = reader_open(t, STREAMID_MIN, STREAMID_MAX, false, count);
	NodeEntry	e;

	push_key(state, "entries");
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (int64 n = 0; (count == 0 || n < count) && reader_next(r, &e); n++)
		push_entry(state, &e);
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
	reader_close(r);
}

/* The groups in full: there are none. */
static void
push_groups(JsonbParseState **state)
{
	push_key(state, "groups");
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/* Id of the first entry seen, 0-0 if there is none. */
static StreamId
first_id(Target *t)
{
	Reader	   *r = reader_open(t, STREAMID_MIN, STREAMID_MAX, false, 1);
	NodeEntry	e;
	StreamId	id = reader_next(r, &e) ? e.id : STREAMID_MIN;

	reader_close(r);
	return id;
}

/* Find the stream and begin the answer with what both forms tell.  42704 if
 * it is missing. */
static void
info_begin(JsonbParseState **state, Db *db, KeyArg key, Target *t)
{
	View		v;

	if (!strm_open_read(db, key.name, key.len, PRIV_SELECT, t) || !view_take(t, &v))
		strm_raise_missing(key.name, key.len);
	(void) pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_number(state, "length", v.length);
	push_number(state, "radix-tree-keys", v.nodes);
	push_number(state, "radix-tree-nodes", v.rax_nodes);
	push_id(state, "last-generated-id", v.last_id);
	push_id(state, "max-deleted-entry-id", v.max_deleted_id);
	push_number(state, "entries-added", v.entries_added);
	push_id(state, "recorded-first-entry-id", first_id(t));
	push_number(state, "idmp-duration", v.idmp_duration);
	push_number(state, "idmp-maxsize", v.idmp_maxsize);
	push_number(state, "pids-tracked", v.producers);
	push_number(state, "iids-tracked", v.iids);
	push_number(state, "iids-added", v.iids_added);
	push_number(state, "iids-duplicates", v.iids_duplicates);
	push_number(state, "node-max-bytes", v.node_max_bytes);
	push_number(state, "node-max-entries", v.node_max_entries);
}

static Datum
info_end(JsonbParseState **state)
{
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(state, WJB_END_OBJECT, NULL)));
}

/*
 * xinfo_stream(key): XINFO STREAM.
 */
PG_FUNCTION_INFO_V1(stream_xinfo_stream);
Datum
stream_xinfo_stream(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xinfo_stream()", false);
	JsonbParseState *state = NULL;
	Target		t;
	GroupView  *groups;

	info_begin(&state, db, arg_key(fcinfo, 0), &t);
	push_number(&state, "groups", (uint64) strm_groups_view(&t, &groups));
	push_outermost(&state, "first-entry", &t, false);
	push_outermost(&state, "last-entry", &t, true);
	return info_end(&state);
}

#define FULL_COUNT		10

/*
 * xinfo_stream_full(key, count): XINFO STREAM FULL.  As Redis has it, 0 is all
 * entries and a negative count the default.
 */
PG_FUNCTION_INFO_V1(stream_xinfo_stream_full);
Datum
stream_xinfo_stream_full(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xinfo_stream_full()", false);
	int64		count = arg_int64(fcinfo, 1, FULL_COUNT);
	JsonbParseState *state = NULL;
	Target		t;

	info_begin(&state, db, arg_key(fcinfo, 0), &t);
	push_entries(&state, &t, count < 0 ? FULL_COUNT : count);
	push_groups(&state);
	return info_end(&state);
}
