/*
 * readgroup.c
 *	  xreadgroup, xreadgroup_many: Redis' XREADGROUP.
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

/* When the first of the streams has something that it has not now, without
 * anybody doing anything: as deadline, 0 for never. */
static TimestampTz
next_due(GroupCall *call)
{
	uint64		first = PG_UINT64_MAX;

	for (int i = 0; i < call->n; i++)
	{
		GroupTarget gt;
		uint64		due = PG_UINT64_MAX;

		open_group(call->db, call->cursors[i].key, call->grp, PRIV_UPDATE, false, &gt);
		if (strm_group_ready(&gt, &call->spec, &due))
			due = 0;
		first = Min(first, due);
	}
	return first == PG_UINT64_MAX ? 0 : Max(timestamptz_from_ms(first), 1);
}

/* Stand in line at all streams, anew; 42704 if one is gone. */
static void
enlist_all(GroupCall *call)
{
	strm_wait_leave();
	call->db = strm_use("waiting for entries", true);
	for (int i = 0; i < call->n; i++)
	{
		GroupTarget gt;

		/* what is dropped between finding it and standing there is found again */
		do
			open_group(call->db, call->cursors[i].key, call->grp, PRIV_UPDATE, false, &gt);
		while (!strm_wait_enlist(gt.t.ss, gt.t.id, gt.t.name, gt.t.len));
	}
}

/* Wait until there is something to read, and read it.  block: milliseconds, 0
 * for ever. */
static void
wait_for_groups(GroupCall *call, FieldsBuf *buf, int64 block)
{
	TimestampTz deadline = deadline_after(block);

	for (;;)
	{
		int64		n;
		TimestampTz due = 0;
		TimestampTz until;

		/* in line first, then a look with a newer snapshot, then sleep:
		 * nothing is missed between */
		PushActiveSnapshot(GetLatestSnapshot());
		enlist_all(call);
		PopActiveSnapshot();
		PushActiveSnapshot(GetLatestSnapshot());
		n = read_groups(call, buf);
		if (n == 0)
			due = next_due(call);
		PopActiveSnapshot();
		if (n > 0)
			break;
		until = due != 0 && (deadline == 0 || due < deadline) ? due : deadline;
		if (!sleep_until(until) && until == deadline)
			break;
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
	InitMaterializedSRF(fcinfo, 0);
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
	if (read_groups(call, &buf) == 0 && block >= 0 && call->n > 0)
		wait_for_groups(call, &buf, block);
}

/*
 * xreadgroup(key, grp, consumer, pos, count, block, noack, claim): XREADGROUP
 * of one stream.
 *
 * pos: `>` or an id; NULL is `>`.  count: entries; NULL is 100, not positive
 * all.  block: how long to wait if there is nothing; 0 for ever.  noack: what
 * is new is delivered without becoming pending.  claim: pending entries idle
 * for longer come first; NULL: for longer than the group's retry.
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
