/*
 * read.c
 *	  xread, xread_many, xwait: cursor reads, and waiting for entries.
 *
 * A cursor read gives what comes after a position, up to the horizon: never
 * past an id that may still be committed below.  With block it stands in line
 * at its streams and looks again whenever it is woken, each time with a new
 * snapshot; so it is refused where the transaction has one snapshot for all.
 *
 * CALL xwait ends its transaction before it waits and holds no snapshot.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/htup_details.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "sqlfn/sqlfn.h"

/* One stream of a cursor read. */
typedef struct Cursor
{
	KeyArg		key;
	Datum		key_datum;
	StreamPos	pos;
	bool		fixed;			/* after is known */
	StreamId	after;
} Cursor;

typedef struct ReadCall
{
	Db		   *db;
	Cursor	   *cursors;
	int			n;
	int64		count;			/* per stream */
	int64		maxcount;		/* of all */
} ReadCall;

static void
check_after(const StreamPos *pos)
{
	switch (pos->kind)
	{
		case POS_ID:
		case POS_MS:
		case POS_TIME:
			if (!pos->exclusive)
				return;
			break;
		case POS_LAST:
		case POS_MAX:
			return;
		default:
			break;
	}
	streampos_refuse(pos, "the position after which to read");
}

/* The position as an id; `$` is decided once, `+` as long as there is nothing.
 * False: nothing to read. */
static bool
fix_after(Cursor *c, Target *t, const View *v)
{
	Reader	   *r;
	NodeEntry	e;

	if (c->fixed)
		return true;
	switch (c->pos.kind)
	{
		case POS_LAST:
			c->after = v->last;
			c->fixed = true;
			return true;
		case POS_MAX:
			/* the last entry there is: read after the id before it */
			r = reader_open(t, STREAMID_MIN, v->cursor_hi, true, 1);
			if (!reader_next(r, &e))
			{
				reader_close(r);
				return false;
			}
			c->after = e.id;
			(void) sid_prev(&c->after);
			reader_close(r);
			return true;
		default:
			c->after = c->pos.id;
			c->fixed = true;
			return true;
	}
}

/* Read one stream; returns how many rows were put. */
static int64
read_one(ReadCall *call, Cursor *c, RowSink *sink, int64 limit)
{
	Target		t;
	View		v;
	StreamId	from;
	Reader	   *r;
	NodeEntry	e;
	int64		n = 0;

	if (!strm_open_read(call->db, c->key.name, c->key.len, PRIV_SELECT, &t) || !view_take(&t, &v))
	{
		if (c->pos.kind == POS_LAST && !c->fixed)
		{
			c->after = STREAMID_MIN;
			c->fixed = true;
		}
		return 0;
	}
	if (!fix_after(c, &t, &v))
		return 0;
	from = c->after;
	if (!sid_next(&from) || sid_cmp(from, v.cursor_hi) > 0)
		return 0;
	if (c->pos.kind == POS_MAX)
		limit = Min(limit, 1);
	r = reader_open(&t, from, v.cursor_hi, false, limit == PG_INT64_MAX ? 0 : limit);
	sink->key = c->key_datum;
	while (n < limit && reader_next(r, &e))
	{
		rows_put(sink, &e);
		n++;
	}
	reader_close(r);
	return n;
}

static int64
read_all(ReadCall *call, RowSink *sink)
{
	int64		total = 0;

	for (int i = 0; i < call->n && total < call->maxcount; i++)
		total += read_one(call, &call->cursors[i], sink,
						  Min(call->count, call->maxcount - total));
	return total;
}

/* After what to wait, once it has been looked at. */
static StreamId
waits_after(const Cursor *c)
{
	return c->fixed ? c->after : c->pos.kind == POS_LAST || c->pos.kind == POS_MAX ? STREAMID_MIN : c->pos.id;
}

/* Stand in line at all streams, anew; returns the database's streams as they
 * are now. */
static Db *
enlist_all(Cursor *cursors, int n)
{
	Db		   *db;
	bool		missing = false;

	AcceptInvalidationMessages();	/* the extension may be gone */
	strm_wait_leave();
	db = strm_use("waiting for entries", false);
	for (int i = 0; i < n; i++)
	{
		Target		t;
		bool		there;

		/* what is dropped between finding it and standing there is found again */
		do
			there = strm_open_read(db, cursors[i].key.name, cursors[i].key.len, PRIV_SELECT, &t);
		while (there && !strm_wait_enlist(t.ss, t.id, t.ours ? NULL : t.name, t.len,
										  waits_after(&cursors[i]), t.pend != NULL ? t.pend->part : 0));
		missing = missing || !there;
	}
	if (missing)
		strm_wait_enlist_db(db);
	return db;
}

/* Sleep until woken or the time has come; false if it has.  deadline 0: none. */
bool
sleep_until(TimestampTz deadline, bool group)
{
	static uint32 wait_event[2];
	long		timeout = -1;
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (wait_event[group] == 0)
		wait_event[group] = NamedWaitEvent(group ? "StreamReadGroup" : "StreamRead");
	if (deadline != 0)
	{
		timeout = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
		if (timeout <= 0)
			return false;
		events |= WL_TIMEOUT;
	}
	if (!strm_wait_woken())
		(void) WaitLatch(MyLatch, events, timeout, wait_event[group]);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

TimestampTz
deadline_after(int64 ms)
{
	return ms > 0 ? GetCurrentTimestamp() + ms * 1000 : 0;
}

/* block: milliseconds, 0 for ever, -1 not at all. */
static void
read_blocking(ReadCall *call, RowSink *sink, int64 block)
{
	TimestampTz deadline;

	if (read_all(call, sink) > 0 || block < 0 || call->n == 0)
		return;					/* of no stream there is nothing to wait for */
	deadline = deadline_after(block);
	for (;;)
	{
		int64		n;

		/* in line first, then a look with a newer snapshot, then sleep:
		 * nothing is missed between */
		PushActiveSnapshot(GetLatestSnapshot());
		call->db = enlist_all(call->cursors, call->n);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		n = read_all(call, sink);
		PopActiveSnapshot();
		if (n > 0 || !sleep_until(deadline, false))
			break;
	}
	strm_wait_leave();
}

void
refuse_block(void)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for entries in a transaction with isolation level %s",
						IsolationIsSerializable() ? "serializable" : "repeatable read"),
				 errdetail("Its snapshot would not see them."),
				 errhint("Use READ COMMITTED, or CALL stream.xwait outside a transaction block.")));
}

/*
 * xread(key, after, count, block): XREAD of one stream.
 */
PG_FUNCTION_INFO_V1(stream_xread);
Datum
stream_xread(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xread()", false);
	Cursor		c = {.key = arg_key(fcinfo, 0), .key_datum = PG_GETARG_DATUM(0)};
	ReadCall	call = {db, &c, 1, arg_count(fcinfo, 2, 0), PG_INT64_MAX};
	int64		block = arg_duration(fcinfo, 3, "block");
	RowSink		sink;

	arg_not_null(fcinfo, 1, "after");
	c.pos = *PG_GETARG_STREAMPOS(1);
	check_after(&c.pos);
	if (block >= 0)
		refuse_block();
	rows_begin(fcinfo, &sink, true);
	read_blocking(&call, &sink, block);
	return (Datum) 0;
}

/*
 * xread_many(keys, after, count, block, maxcount): XREAD of several streams,
 * in the order of the list.
 */
PG_FUNCTION_INFO_V1(stream_xread_many);
Datum
stream_xread_many(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xread_many()", false);
	int64		block = arg_duration(fcinfo, 3, "block");
	ReadCall	call = {db, NULL, 0, arg_count(fcinfo, 2, 0), arg_int64(fcinfo, 4, PG_INT64_MAX)};
	RowSink		sink;
	Datum	   *keys;
	Datum	   *after;
	int			nafter;

	call.n = arg_array(fcinfo, 0, "keys", &keys, NULL);
	nafter = arg_array(fcinfo, 1, "after", &after, NULL);
	if (nafter != call.n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as many positions as keys are needed"),
				 errdetail("There are %d keys and %d positions.", call.n, nafter)));
	if (call.maxcount <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("maxcount must be positive")));
	if (call.count != PG_INT64_MAX && call.maxcount < call.count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("maxcount must not be less than count")));
	call.cursors = palloc0(Max(1, call.n) * sizeof(Cursor));
	for (int i = 0; i < call.n; i++)
	{
		call.cursors[i].key = key_from_text(DatumGetTextPP(keys[i]));
		call.cursors[i].key_datum = keys[i];
		call.cursors[i].pos = *DatumGetStreamPosP(after[i]);
		check_after(&call.cursors[i].pos);
	}
	if (block >= 0)
		refuse_block();
	rows_begin(fcinfo, &sink, true);
	read_blocking(&call, &sink, block);
	return (Datum) 0;
}

/* --- waiting without a snapshot --- */

void
refuse_atomic(FunctionCallInfo fcinfo, const char *command, const char *instead)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("%s cannot be called inside a transaction block", command),
				 errhint("Call it on its own, outside BEGIN and functions; inside, use %s with block.", instead)));
}

/* Is there something to read after the cursor? */
static bool
look_for_new(Db *db, Cursor *c)
{
	Target		t;
	View		v;
	StreamId	from;
	NodeEntry	e;
	Reader	   *r;
	bool		found;

	if (!strm_open_read(db, c->key.name, c->key.len, PRIV_SELECT, &t) || !view_take(&t, &v))
	{
		c->after = c->fixed ? c->after : (c->pos.kind == POS_LAST ? STREAMID_MIN : c->pos.id);
		c->fixed = c->fixed || c->pos.kind != POS_MAX;
		return false;
	}
	if (!fix_after(c, &t, &v))
		return false;
	from = c->after;
	if (!sid_next(&from) || sid_cmp(from, v.cursor_hi) > 0)
		return false;
	r = reader_open(&t, from, v.cursor_hi, false, 1);
	found = reader_next(r, &e);
	reader_close(r);
	return found;
}

/*
 * CALL xwait(key, after, timeout, INOUT ready, INOUT pos)
 *
 * ready: there are entries after the position; pos: that position as an id.
 * 25001 inside a transaction block or a function.
 */
PG_FUNCTION_INFO_V1(stream_xwait);
Datum
stream_xwait(PG_FUNCTION_ARGS)
{
	Db		   *db;
	Cursor		c = {.key = arg_key(fcinfo, 0)};
	int64		timeout = arg_duration(fcinfo, 2, "timeout");
	TimestampTz deadline = timeout >= 0 ? GetCurrentTimestamp() + timeout * 1000 : 0;
	bool		ready;
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	refuse_atomic(fcinfo, "xwait", "xread");
	arg_not_null(fcinfo, 1, "after");
	c.pos = *PG_GETARG_STREAMPOS(1);
	check_after(&c.pos);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	c.key.name = memcpy(palloc(Max(1, c.key.len)), c.key.name, c.key.len);

	db = strm_use("xwait()", false);
	(void) SPI_connect_ext(SPI_OPT_NONATOMIC);
	ready = look_for_new(db, &c);
	while (!ready)
	{
		/* a new transaction, without a snapshot until the next look */
		SPI_commit();
		PushActiveSnapshot(GetTransactionSnapshot());
		db = enlist_all(&c, 1);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		ready = look_for_new(db, &c);
		PopActiveSnapshot();
		if (ready)
			break;
		SPI_commit();
		if (!sleep_until(deadline, false))
			break;
	}
	strm_wait_leave();
	SPI_finish();
	values[0] = BoolGetDatum(ready);
	values[1] = PointerGetDatum(&c.after);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
