/*
 * args.c
 *	  Reading arguments, building rows.
 */
#include "postgres.h"

#include <math.h>

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "sqlfn/sqlfn.h"

void
arg_not_null(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
}

KeyArg
key_from_text(text *t)
{
	KeyArg		k = {VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)};

	if (k.len > STREAM_NAME_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of a stream is too long"),
				 errdetail("It has %u bytes, the most are %d.", k.len, STREAM_NAME_MAX)));
	return k;
}

KeyArg
arg_key(FunctionCallInfo fcinfo, int n)
{
	arg_not_null(fcinfo, n, "key");
	return key_from_text(PG_GETARG_TEXT_PP(n));
}

NameArg
arg_name(FunctionCallInfo fcinfo, int n, const char *name)
{
	text	   *t;
	NameArg		a;

	arg_not_null(fcinfo, n, name);
	t = PG_GETARG_TEXT_PP(n);
	a = (NameArg) {VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)};
	if (a.len > GROUP_NAME_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of a consumer group or consumer is too long"),
				 errdetail("Argument \"%s\" has %u bytes, the most are %d.", name, a.len, GROUP_NAME_MAX)));
	return a;
}

int64
arg_int64(FunctionCallInfo fcinfo, int n, int64 null_value)
{
	return PG_ARGISNULL(n) ? null_value : PG_GETARG_INT64(n);
}

int64
arg_count(FunctionCallInfo fcinfo, int n, int64 null_value)
{
	int64		count = arg_int64(fcinfo, n, null_value);

	return count <= 0 ? PG_INT64_MAX : count;
}

bool
arg_bool(FunctionCallInfo fcinfo, int n, bool null_value)
{
	return PG_ARGISNULL(n) ? null_value : PG_GETARG_BOOL(n);
}

static void
bad_option(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 hint ? errhint("%s", hint) : 0));
}

Refs
arg_refs(FunctionCallInfo fcinfo, int n)
{
	static const char *const known[] = {
		[REFS_DELETE] = "DELREF", [REFS_KEEP] = "KEEPREF", [REFS_ACKED] = "ACKED"
	};
	text	   *refs;
	size_t		len;

	if (PG_ARGISNULL(n))
		return REFS_DELETE;
	refs = PG_GETARG_TEXT_PP(n);
	len = VARSIZE_ANY_EXHDR(refs);
	for (int i = 0; i < lengthof(known); i++)
		if (len == strlen(known[i]) && pg_strncasecmp(VARDATA_ANY(refs), known[i], len) == 0)
			return (Refs) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("refs \"%s\" is unknown", text_to_cstring(refs)),
			 errhint("It is one of KEEPREF, DELREF and ACKED.")));
}

bool
arg_trim(FunctionCallInfo fcinfo, int n, int limit_arg, int refs_arg, TrimSpec *spec)
{
	int64		maxlen = arg_int64(fcinfo, n, 0);
	int64		limit = arg_int64(fcinfo, limit_arg, 0);

	memset(spec, 0, sizeof(*spec));
	spec->by_len = !PG_ARGISNULL(n);
	spec->by_id = !PG_ARGISNULL(n + 1);
	spec->approx = arg_bool(fcinfo, n + 2, false);
	spec->refs = arg_refs(fcinfo, refs_arg);

	if (spec->by_len && spec->by_id)
		bad_option("maxlen and minid cannot be used together", NULL);
	if (maxlen < 0)
		bad_option("maxlen must not be negative", NULL);
	if (limit < 0)
		bad_option("trim_limit must not be negative", NULL);
	if (!PG_ARGISNULL(limit_arg) && limit > 0 && !spec->by_len && !spec->by_id)
		bad_option("trim_limit cannot be used without maxlen or minid", NULL);
	if (!PG_ARGISNULL(limit_arg) && !spec->approx)
		bad_option("trim_limit cannot be used in an exact trim", "Add approx => true.");
	if (!spec->by_len && !spec->by_id)
		return false;

	spec->maxlen = (uint64) maxlen;
	if (spec->by_id)
		spec->minid = streampos_id(PG_GETARG_STREAMPOS(n + 1), "minid");
	/* Redis' default limit of an approximate trim: a hundred nodes */
	if (!PG_ARGISNULL(limit_arg))
		spec->limit = (uint64) limit;
	else if (spec->approx)
		spec->limit = strm_node_max_entries > 0 ? Min((uint64) strm_node_max_entries * 100, 1000000) : 10000;
	return true;
}

int64
arg_duration(FunctionCallInfo fcinfo, int n, const char *name)
{
	Interval   *span;
	double		ms;

	if (PG_ARGISNULL(n))
		return -1;
	span = PG_GETARG_INTERVAL_P(n);
	ms = span->time / 1000.0 + ((double) span->day + 30.0 * span->month) * 86400000.0;
	if (ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", name)));
	/* never down to 0, which means no end */
	return ms > 1e15 ? (int64) 1e15 : (int64) ceil(ms);
}

Datum
interval_from_ms(uint64 ms)
{
	Interval   *span = palloc0(sizeof(Interval));

	span->time = (int64) Min(ms, (uint64) PG_INT64_MAX / 1000) * 1000;
	return IntervalPGetDatum(span);
}

IdsArg
arg_ids(FunctionCallInfo fcinfo, int n, bool variadic)
{
	StreamIds  *list;
	IdsArg		a = {0};

	if (PG_ARGISNULL(n))
		return a;
	list = variadic ? streamids_flatten(PG_GETARG_DATUM(n)) : PG_GETARG_STREAMIDS(n);
	a.given = list->ids;
	a.ngiven = list->count;
	a.ids = palloc_extended(Max(1, a.ngiven) * sizeof(StreamId), MCXT_ALLOC_HUGE);
	memcpy(a.ids, a.given, a.ngiven * sizeof(StreamId));
	a.n = strm_sort_ids(a.ids, a.ngiven);
	return a;
}

int
arg_array(FunctionCallInfo fcinfo, int n, const char *name, Datum **elems, bool **nulls)
{
	ArrayType  *array;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool	   *isnull;
	int			count;

	arg_not_null(fcinfo, n, name);
	array = PG_GETARG_ARRAYTYPE_P(n);
	if (ARR_NDIM(array) == 0)
	{
		/* as most calls of xadd bring it */
		*elems = NULL;
		if (nulls != NULL)
			*nulls = NULL;
		return 0;
	}
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, elems, &isnull, &count);
	for (int i = 0; nulls == NULL && i < count; i++)
		if (isnull[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("an element of \"%s\" must not be null", name)));
	if (nulls != NULL)
		*nulls = isnull;
	return count;
}

/* --- rows --- */

Datum
fields_buf_put(FieldsBuf *b, const NodeEntry *e)
{
	Size		size = VARHDRSZ + node_fields_size(e);

	if (size > b->cap)
	{
		if (b->buf != NULL)
			pfree(b->buf);
		b->buf = NULL;
		b->cap = Max(size, 8 * 1024);
		b->buf = palloc_extended(b->cap, MCXT_ALLOC_HUGE);
	}
	SET_VARSIZE(b->buf, size);
	node_fields_write(e, (uint8 *) VARDATA(b->buf));
	return PointerGetDatum(b->buf);
}

void
rows_begin(FunctionCallInfo fcinfo, RowSink *sink, bool with_key)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	sink->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	sink->with_key = with_key;
	sink->key = (Datum) 0;
	sink->fields = (FieldsBuf) {0};
}

void
rows_put(RowSink *sink, const NodeEntry *e)
{
	StreamId	id = e->id;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	int			n = 0;

	if (sink->with_key)
		values[n++] = sink->key;
	values[n++] = PointerGetDatum(&id);
	values[n++] = fields_buf_put(&sink->fields, e);
	tuplestore_putvalues(sink->rsinfo->setResult, sink->rsinfo->setDesc, values, nulls);
}

StreamFields *
entry_fields(const NodeEntry *e)
{
	StreamFields *f = streamfields_alloc(node_fields_size(e));

	node_fields_write(e, (uint8 *) streamfields_lp(f));
	return f;
}
