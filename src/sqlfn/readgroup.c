/*
 * readgroup.c
 *	  xreadgroup, xreadgroup_many: Redis' XREADGROUP; and xwaitgroup.
 *
 * A read of `>` gives the consumer what the group has to deliver: entries
 * released or, with `claim` or the group's retry, pending for too long come
 * first, then new ones up to the horizon.  A read of an id gives again what
 * the consumer has pending after it.
 *
 * The transaction layer decides which entries those are and notes that they
 * are delivered; only then their fields are read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "sqlfn/groupfn.h"

/* One stream of a read. */
typedef struct GroupCursor
{
	KeyArg		key;
	Datum		key_datum;
	bool		history;
	StreamId	after;			/* if it is the history that is read */
} GroupCursor;

typedef struct GroupCall
{
	FunctionCallInfo fcinfo;
	Db		   *db;
	NameArg		grp;
	ReadSpec	spec;			/* count: per stream */
	GroupCursor *cursors;
	int			n;
	int64		maxcount;		/* of all */
} GroupCall;

/* `>`, also for NULL (pos NULL), or an id. */
static void
set_position(GroupCursor *c, const StreamPos *pos)
{
	c->history = pos != NULL && pos->kind != POS_NEW;
	if (!c->history)
		return;
	if (pos->kind > POS_TIME || pos->exclusive)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("position \"%s\" has no meaning for a group", streampos_text(pos)),
				 errhint("Use '>' for what the group has to deliver, or an id for what the consumer has pending after it.")));
	c->after = pos->id;
}

/* Rows of what was given; returns how many. */
static int64
put_given(GroupCall *call, GroupCursor *c, Target *t, const GivenList *list, FieldsBuf *buf)
{
	GivenWalk	w;
	const Given *g;
	const NodeEntry *e;
	int64		n = 0;

	given_walk(&w, t, list);
	while (given_next(&w, &g, &e))
	{
		StreamId	id = g->id;
		Datum		values[5] = {
			c->key_datum,
			PointerGetDatum(&id),
			e != NULL ? fields_buf_put(buf, e) : (Datum) 0,
			interval_from_ms(g->idle),
			Int64GetDatum((int64) g->deliveries)
		};
		bool		nulls[5] = {false, false, e == NULL, false, false};

		/* of the history an entry that is no more is told, so that it can
		 * be acknowledged */
		if (e == NULL && !c->history)
			continue;
		put_row(call->fcinfo, values, nulls);
		pfree(DatumGetPointer(values[3]));
		n++;
	}
	return n;
}

/* One pass over all streams, without waiting for entries.  Returns the number
 * of rows. */
static int64
read_groups(GroupCall *call, FieldsBuf *buf)
{
	int64		total = 0;

	for (int i = 0; i < call->n && total < call->maxcount; i++)
	{
		GroupCursor *c = &call->cursors[i];
		ReadSpec	spec = call->spec;
		GivenList	list = {0};
		GroupTarget gt;

		spec.count = Min(spec.count, call->maxcount - total);
		open_group(call->db, c->key, call->grp, PRIV_UPDATE, c->history, &gt);
		if (c->history)
			strm_group_history(&gt, &spec, c->after, &list);
		else
			strm_group_read(&gt, &spec, &list);
		total += put_given(call, c, &gt.t, &list, buf);
		if (list.item != NULL)
			pfree(list.item);
	}
	return total;
}

/* --- waiting --- */

/* Stand in line at all streams, or see that we still do; 42704 if one is gone,
 * or its group.  In line first, then a look with a newer snapshot, then sleep:
 * nothing is missed between. */
static void
stand_in_line(GroupCall *call)
{
	bool		again = strm_waiting();

	AcceptInvalidationMessages();	/* the extension may be gone */
	call->db = strm_use("waiting for entries", false);
	for (int i = 0; i < call->n; i++)
	{
		GroupTarget gt;
		const char *name;

		open_group(call->db, call->cursors[i].key, call->grp, PRIV_UPDATE, false, &gt);
		name = gt.t.ours ? NULL : gt.t.name;
		if (again && !strm_wait_again(i, gt.t.ss, gt.t.id, name, gt.t.len))
		{
			/* a name leads elsewhere now */
			strm_wait_leave();
			again = false;
			i = -1;
		}
		else if (!again &&
				 !strm_wait_enlist_group(gt.t.ss, gt.t.id, name, gt.t.len, gt.name, gt.len,
										 call->spec.claim < 0 ? PG_UINT64_MAX : (uint64) call->spec.claim,
										 strm_group_changed(&gt)))
			i--;				/* dropped meanwhile: find it again */
	}
}

/* When a record that only this transaction knows of comes due. */
static uint64
own_due(GroupCall *call)
{
	uint64		first = PG_UINT64_MAX;

	for (int i = 0; i < call->n; i++)
	{
		GroupTarget gt;
		uint64		due = PG_UINT64_MAX;

		open_group(call->db, call->cursors[i].key, call->grp, PRIV_UPDATE, false, &gt);
		if (gt.t.pend != NULL && strm_group_ready(&gt, &call->spec, &due))
			due = 0;
		first = Min(first, due);
	}
	return first;
}

/* Sleep until there may be something; false: the time is over.  due: something
 * comes due then (ms); deadline 0: none. */
static bool
sleep_in_line(TimestampTz deadline, uint64 due)
{
	for (;;)
	{
		uint64		alarm = Min(strm_wait_alarm(), due);
		TimestampTz at = alarm == PG_UINT64_MAX ? PG_INT64_MAX : timestamptz_from_ms(alarm);
		TimestampTz until = deadline != 0 ? Min(deadline, at) : at;

		/* our own looking may be what woke us: time goes by all the same */
		if (deadline != 0 && GetCurrentTimestamp() >= deadline)
			return false;
		if (alarm == 0)
			return true;
		if (!sleep_until(until == PG_INT64_MAX ? 0 : until, true))
			return until != deadline;
		if (strm_wait_woken() || GetCurrentTimestamp() >= at)
			return true;
	}
}

/* Wait until there is something to read, and read it; no longer than
 * spec.until. */
static void
wait_for_groups(GroupCall *call, FieldsBuf *buf)
{
	int64		n;

	for (;;)
	{
		uint64		due = PG_UINT64_MAX;

		PushActiveSnapshot(GetLatestSnapshot());
		stand_in_line(call);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		n = read_groups(call, buf);
		if (n == 0)
			due = own_due(call);
		PopActiveSnapshot();
		if (n > 0 || !call->spec.waits)
			break;
		/* the time over, a last look, which makes the consumer */
		call->spec.waits = sleep_in_line(call->spec.until, due);
	}
	strm_wait_leave();
}

/* What both forms have in common: grp and consumer from argument 1 on, then
 * count, block, noack, claim from `options` on.  Returns block. */
static int64
begin_call(FunctionCallInfo fcinfo, GroupCall *call, const char *command, int options)
{
	NameArg		consumer;
	int64		block = arg_duration(fcinfo, options + 1, "block");

	call->fcinfo = fcinfo;
	call->db = strm_use(command, true);
	call->grp = arg_name(fcinfo, 1, "grp");
	consumer = arg_name(fcinfo, 2, "consumer");
	call->spec = (ReadSpec) {
		.consumer = consumer.name,
		.consumer_len = consumer.len,
		.count = arg_count(fcinfo, options, 100),
		.noack = arg_bool(fcinfo, options + 2, false),
		.claim = arg_duration(fcinfo, options + 3, "claim")
	};
	call->maxcount = PG_INT64_MAX;
	if (block >= 0)
		refuse_block();
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	return block;
}

static void
run_call(GroupCall *call, int64 block)
{
	FieldsBuf	buf = {0};

	/* the history does not wait: nobody adds to it but the consumer */
	for (int i = 0; i < call->n; i++)
		if (call->cursors[i].history)
			block = -1;
	call->spec.waits = block >= 0 && call->n > 0;
	call->spec.until = deadline_after(block);
	if (read_groups(call, &buf) == 0 && call->spec.waits)
		wait_for_groups(call, &buf);
	else if (strm_waiting())
		strm_wait_leave();		/* he is back whom xwaitgroup told to come */
}

/*
 * xreadgroup(key, grp, consumer, pos, count, block, noack, claim): XREADGROUP
 * of one stream.
 *
 * pos: `>` or an id; NULL is `>`.  count: entries; NULL is 100, not positive
 * all.  block: how long to wait if there is nothing, or for somebody who changes
 * the group; 0 for ever.  noack: what is new is delivered without becoming
 * pending.  claim: pending entries idle for longer come first; NULL: for longer
 * than the group's retry.
 *
 * Rows (key, id, fields, idle, deliveries): idle and deliveries as they were
 * before, 0 for new entries.  A consumer that is not there is made.  22023,
 * 25001, 42704, 42501, 42622, 53200, 72000.
 */
PG_FUNCTION_INFO_V1(stream_xreadgroup);
Datum
stream_xreadgroup(PG_FUNCTION_ARGS)
{
	GroupCall	call = {.n = 1};
	GroupCursor c = {.key = arg_key(fcinfo, 0), .key_datum = PG_GETARG_DATUM(0)};
	int64		block = begin_call(fcinfo, &call, "xreadgroup()", 4);

	call.cursors = &c;
	set_position(&c, PG_ARGISNULL(3) ? NULL : PG_GETARG_STREAMPOS(3));
	run_call(&call, block);
	return (Datum) 0;
}

/*
 * xreadgroup_many(keys, grp, consumer, pos, count, block, noack, claim,
 *		maxcount): XREADGROUP of several streams, in the order of the list.
 *
 * pos: NULL is `>` for all, a NULL in it for one.  count is for each stream,
 * maxcount for all of them.
 */
PG_FUNCTION_INFO_V1(stream_xreadgroup_many);
Datum
stream_xreadgroup_many(PG_FUNCTION_ARGS)
{
	GroupCall	call = {0};
	int64		block = begin_call(fcinfo, &call, "xreadgroup_many()", 4);
	Datum	   *keys;
	Datum	   *pos = NULL;
	bool	   *pos_nulls = NULL;

	call.n = arg_array(fcinfo, 0, "keys", &keys, NULL);
	call.maxcount = arg_int64(fcinfo, 8, PG_INT64_MAX);
	if (call.maxcount <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("maxcount must be positive")));
	if (!PG_ARGISNULL(3))
	{
		int			npos = arg_array(fcinfo, 3, "pos", &pos, &pos_nulls);

		if (npos != call.n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("as many positions as keys are needed"),
					 errdetail("There are %d keys and %d positions.", call.n, npos)));
	}
	call.cursors = palloc0(Max(1, call.n) * sizeof(GroupCursor));
	for (int i = 0; i < call.n; i++)
	{
		call.cursors[i].key = key_from_text(DatumGetTextPP(keys[i]));
		call.cursors[i].key_datum = keys[i];
		set_position(&call.cursors[i], pos == NULL || pos_nulls[i] ? NULL : DatumGetStreamPosP(pos[i]));
	}
	run_call(&call, block);
	return (Datum) 0;
}

/* --- waiting without a snapshot --- */

/*
 * CALL xwaitgroup(key, grp, timeout, INOUT ready)
 *
 * ready: the group has something to deliver.  Nothing is taken; but as long as
 * the caller is expected to come back for it (wait_group.c), who waits behind
 * him is not told of the same entry.  25001 inside a transaction block or a
 * function; 42704, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xwaitgroup);
Datum
stream_xwaitgroup(PG_FUNCTION_ARGS)
{
	GroupCursor c = {.key = arg_key(fcinfo, 0)};
	GroupCall	call = {
		.fcinfo = fcinfo, .cursors = &c, .n = 1, .grp = arg_name(fcinfo, 1, "grp"),
		.spec = {.count = 1, .claim = -1}
	};
	int64		timeout = arg_duration(fcinfo, 2, "timeout");
	TimestampTz deadline = timeout >= 0 ? GetCurrentTimestamp() + timeout * 1000 : 0;
	bool		more = true;
	bool		ready;
	TupleDesc	desc;
	Datum		values[1];
	bool		nulls[1] = {false};
	GroupTarget gt;

	refuse_atomic(fcinfo, "xwaitgroup", "xreadgroup");
	if (strm_waiting())
		strm_wait_leave();		/* told before, and has not come for it */
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	/* the arguments may not outlast the transaction */
	c.key.name = memcpy(palloc(Max(1, c.key.len)), c.key.name, c.key.len);
	call.grp.name = memcpy(palloc(Max(1, call.grp.len)), call.grp.name, call.grp.len);

	call.db = strm_use("xwaitgroup()", false);
	(void) SPI_connect_ext(SPI_OPT_NONATOMIC);
	open_group(call.db, c.key, call.grp, PRIV_UPDATE, false, &gt);
	ready = strm_group_ready(&gt, &call.spec, NULL);
	while (!ready && more)
	{
		/* a new transaction, without a snapshot until the next look */
		SPI_commit();
		PushActiveSnapshot(GetTransactionSnapshot());
		stand_in_line(&call);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		open_group(call.db, c.key, call.grp, PRIV_UPDATE, false, &gt);
		ready = strm_group_ready(&gt, &call.spec, NULL);
		PopActiveSnapshot();
		if (ready)
			break;
		SPI_commit();
		more = sleep_in_line(deadline, PG_UINT64_MAX);
	}
	if (ready)
		strm_wait_promise();
	else
		strm_wait_leave();
	SPI_finish();
	values[0] = BoolGetDatum(ready);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
