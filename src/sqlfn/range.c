/*
 * range.c
 *	  xrange, xrevrange, xcount, xlen, xexists, xtail: reads that do not wait.
 *
 * A missing stream reads as empty.  NULL bounds are open.
 */
#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"

#include "sqlfn/sqlfn.h"

static StreamId
arg_start(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? STREAMID_MIN : streampos_start(PG_GETARG_STREAMPOS(n));
}

static StreamId
arg_stop(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? STREAMID_MAX : streampos_stop(PG_GETARG_STREAMPOS(n));
}

void
range_args(FunctionCallInfo fcinfo, RangeArgs *a)
{
	a->reverse = fcinfo->flinfo->fn_addr == stream_xrevrange;
	a->db = strm_use(a->reverse ? "xrevrange()" : "xrange()", false);
	a->key = arg_key(fcinfo, 0);
	a->lo = arg_start(fcinfo, a->reverse ? 2 : 1);
	a->hi = arg_stop(fcinfo, a->reverse ? 1 : 2);
	a->count = arg_int64(fcinfo, 3, PG_INT64_MAX);
}

static void
range(FunctionCallInfo fcinfo)
{
	RangeArgs	a;
	int64		count;
	RowSink		sink;
	Target		t;
	Reader	   *r;
	NodeEntry	e;

	range_args(fcinfo, &a);
	rows_begin(fcinfo, &sink, false);
	if (!strm_open_read(a.db, a.key.name, a.key.len, PRIV_SELECT, &t) || a.count <= 0)
		return;
	r = reader_open(&t, a.lo, a.hi, a.reverse, a.count);
	for (count = a.count; count > 0 && reader_next(r, &e); count--)
		rows_put(&sink, &e);
	reader_close(r);
}

/*
 * xrange(key, start, stop, count): XRANGE.  count <= 0 gives nothing.
 */
PG_FUNCTION_INFO_V1(stream_xrange);
Datum
stream_xrange(PG_FUNCTION_ARGS)
{
	range(fcinfo);
	return (Datum) 0;
}

/*
 * xrevrange(key, stop, start, count): XREVRANGE, the newest first.
 */
PG_FUNCTION_INFO_V1(stream_xrevrange);
Datum
stream_xrevrange(PG_FUNCTION_ARGS)
{
	range(fcinfo);
	return (Datum) 0;
}

/*
 * xcount(key, start, stop): how many entries xrange would give; costs nodes,
 * not entries.
 */
PG_FUNCTION_INFO_V1(stream_xcount);
Datum
stream_xcount(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xcount()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	StreamId	lo = arg_start(fcinfo, 1);
	StreamId	hi = arg_stop(fcinfo, 2);
	Target		t;

	if (!strm_open_read(db, key.name, key.len, PRIV_SELECT, &t))
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) view_count(&t, lo, hi));
}

/*
 * xlen(key): XLEN.
 */
PG_FUNCTION_INFO_V1(stream_xlen);
Datum
stream_xlen(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xlen()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	Target		t;
	View		v;

	if (!strm_open_read(db, key.name, key.len, PRIV_SELECT, &t) || !view_take(&t, &v))
		PG_RETURN_INT64(0);
	PG_RETURN_INT64((int64) v.length);
}

/*
 * xexists(key): EXISTS, for a stream that may be empty.
 */
PG_FUNCTION_INFO_V1(stream_xexists);
Datum
stream_xexists(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xexists()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	Target		t;

	PG_RETURN_BOOL(strm_open_read(db, key.name, key.len, PRIV_ANY, &t));
}

/*
 * xtail(key): the id that `$` means now; 0-0 for a missing stream.
 */
PG_FUNCTION_INFO_V1(stream_xtail);
Datum
stream_xtail(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xtail()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	Target		t;
	View		v;

	if (!strm_open_read(db, key.name, key.len, PRIV_SELECT, &t) || !view_take(&t, &v))
		v.last = STREAMID_MIN;
	PG_RETURN_STREAMID(v.last);
}

/* --- planner support --- */

static Const *
const_arg(List *args, int n)
{
	Node	   *arg = n < list_length(args) ? list_nth(args, n) : NULL;

	return arg != NULL && IsA(arg, Const) && !((Const *) arg)->constisnull ? (Const *) arg : NULL;
}

/* A constant bound as an id, as well as an estimate needs it. */
static StreamId
bound_id(Const *bound, StreamId open)
{
	StreamPos  *pos = DatumGetStreamPosP(bound->constvalue);

	switch (pos->kind)
	{
		case POS_ID:
		case POS_MS:
		case POS_TIME:
			return pos->id;
		case POS_MIN:
			return STREAMID_MIN;
		case POS_MAX:
			return STREAMID_MAX;
		default:
			return open;
	}
}

/* Entries of the range if it is known now, else -1.  Takes locks for moments
 * only and raises nothing. */
static double
estimate_range(List *args, bool reverse)
{
	Const	   *key = const_arg(args, 0);
	Const	   *start = const_arg(args, reverse ? 2 : 1);
	Const	   *stop = const_arg(args, reverse ? 1 : 2);
	text	   *name;
	uint64		n;

	if (key == NULL || start == NULL || stop == NULL)
		return -1;
	name = DatumGetTextPP(key->constvalue);
	return strm_estimate(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name),
						 bound_id(start, STREAMID_MIN), bound_id(stop, STREAMID_MAX), &n) ? (double) n : -1;
}

/*
 * Rows of a range: the count if it is a constant, the number of entries in
 * the range if key and bounds are.
 */
static Node *
support_rows(Node *raw, bool reverse)
{
	SupportRequestRows *req;
	List	   *args;
	Const	   *count;
	double		rows;

	if (!IsA(raw, SupportRequestRows))
		return NULL;
	req = (SupportRequestRows *) raw;
	if (req->node == NULL || !IsA(req->node, FuncExpr))
		return NULL;
	args = ((FuncExpr *) req->node)->args;
	rows = estimate_range(args, reverse);
	count = const_arg(args, 3);
	if (count != NULL)
	{
		double		limit = (double) DatumGetInt64(count->constvalue);

		if (rows < 0 || limit < rows)
			rows = limit;
	}
	if (rows < 0)
		return NULL;
	req->rows = Max(rows, 1);
	return (Node *) req;
}

PG_FUNCTION_INFO_V1(stream_xrange_support);
Datum
stream_xrange_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(support_rows((Node *) PG_GETARG_POINTER(0), false));
}

PG_FUNCTION_INFO_V1(stream_xrevrange_support);
Datum
stream_xrevrange_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(support_rows((Node *) PG_GETARG_POINTER(0), true));
}
