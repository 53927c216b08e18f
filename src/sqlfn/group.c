/*
 * group.c
 *	  xgroup_create, xgroup_set, xgroup_setid, xgroup_destroy,
 *	  xgroup_createconsumer, xgroup_delconsumer: Redis' XGROUP.
 *
 * All need UPDATE on the stream.  A missing stream is 42704, so is a missing
 * group where one is needed.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sqlfn/groupfn.h"

/* entries_read: NULL and -1 mean that it is not known. */
static int64
arg_entries_read(FunctionCallInfo fcinfo, int n)
{
	int64		entries_read = arg_int64(fcinfo, n, -1);

	if (entries_read < -1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("entries_read must not be negative"),
				 errhint("-1 or NULL stand for an unknown number.")));
	return entries_read;
}

/* The position of a cursor: an id, a time, or `$`. */
static void
check_cursor(const StreamPos *pos)
{
	if (pos->kind != POS_LAST)
		(void) streampos_id(pos, "the position of a group");
}

/*
 * xgroup_create(key, grp, pos, mkstream, entries_read, in_order, if_not_exists):
 * XGROUP CREATE.
 *
 * pos: entries after it will be delivered; an id, a time, `$` (what is added
 * from now on); NULL is 0.  mkstream: makes the stream if it is missing, by
 * the rules of xcreate.  in_order false: entries committed below the cursor
 * are delivered too.  Result: false if the group was there and that is
 * allowed.  42710, 42704, 22023, 42622, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_create);
Datum
stream_xgroup_create(PG_FUNCTION_ARGS)
{
	static const StreamPos beginning = {.kind = POS_ID};
	Db		   *db = strm_use("xgroup_create()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	const StreamPos *pos = PG_ARGISNULL(2) ? &beginning : PG_GETARG_STREAMPOS(2);
	bool		mkstream = arg_bool(fcinfo, 3, false);
	int64		entries_read = arg_entries_read(fcinfo, 4);
	GroupTarget gt;

	check_cursor(pos);
	while (!strm_open_group(db, key.name, key.len, grp.name, grp.len, PRIV_UPDATE, true, &gt))
	{
		if (!mkstream)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("stream \"%.*s\" does not exist", (int) key.len, key.name),
					 errhint("Add mkstream => true to make it.")));
		(void) strm_make(db, key.name, key.len);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_BOOL(strm_group_create(&gt, pos, entries_read, arg_bool(fcinfo, 5, true),
									 arg_bool(fcinfo, 6, false)));
}

/* What xgroup_set changes of a policy. */
typedef struct PolicyChange
{
	int64		retry;			/* ms; -1: as it is */
	int64		max_deliveries; /* likewise */
	bool		sets_dead_letter;
	KeyArg		dead_letter;
	bool		sets_in_order;
	bool		in_order;
} PolicyChange;

static void
change_policy(GroupPolicy *p, void *arg)
{
	PolicyChange *c = arg;

	if (c->retry >= 0)
		p->retry = (uint64) c->retry;
	if (c->max_deliveries >= 0)
		p->max_deliveries = (uint64) c->max_deliveries;
	if (c->sets_dead_letter)
	{
		p->dead_letter = c->dead_letter.name;
		p->dead_letter_len = c->dead_letter.len;
	}
	if (c->sets_in_order)
		p->in_order = c->in_order;
	if (p->max_deliveries > 0 && p->dead_letter_len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_deliveries needs a dead-letter stream"),
				 errhint("Give dead_letter, too.")));
}

/*
 * xgroup_set(key, grp, retry, max_deliveries, dead_letter, in_order): the
 * group's policy.  Not in Redis.
 *
 * NULL leaves alone, at least one must be given.  retry: entries pending for
 * longer are handed out again; 0: never.  max_deliveries: xreclaim moves
 * entries delivered so often to the stream dead_letter; 0: never; '': none.
 * Needs INSERT on that stream if it is there.
 * 22023, 42704, 42622, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_set);
Datum
stream_xgroup_set(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xgroup_set()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	PolicyChange change = {
		.retry = arg_duration(fcinfo, 2, "retry"),
		.max_deliveries = arg_int64(fcinfo, 3, -1),
		.sets_dead_letter = !PG_ARGISNULL(4),
		.sets_in_order = !PG_ARGISNULL(5),
		.in_order = arg_bool(fcinfo, 5, true)
	};
	GroupTarget gt;
	Target		dead_letter;

	if (PG_ARGISNULL(2) && PG_ARGISNULL(3) && PG_ARGISNULL(4) && PG_ARGISNULL(5))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("at least one option must be given")));
	if (!PG_ARGISNULL(3) && change.max_deliveries < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_deliveries must not be negative")));
	if (change.sets_dead_letter)
		change.dead_letter = key_from_text(PG_GETARG_TEXT_PP(4));
	if (change.sets_dead_letter && change.dead_letter.len == key.len &&
		memcmp(change.dead_letter.name, key.name, key.len) == 0)
		refuse_dead_letter(key);
	if (change.sets_dead_letter && change.dead_letter.len > 0)
		(void) strm_open_read(db, change.dead_letter.name, change.dead_letter.len, PRIV_INSERT, &dead_letter);
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	strm_group_set(&gt, change_policy, &change);
	PG_RETURN_VOID();
}

/*
 * xgroup_setid(key, grp, pos, entries_read): XGROUP SETID.
 *
 * Sets the cursor, both ways; pending entries stay.  pos also `-` and `+`.
 * 42704, 22023, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_setid);
Datum
stream_xgroup_setid(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xgroup_setid()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	int64		entries_read = arg_entries_read(fcinfo, 3);
	StreamPos	pos;
	GroupTarget gt;

	arg_not_null(fcinfo, 2, "pos");
	pos = *PG_GETARG_STREAMPOS(2);
	if (pos.kind == POS_MIN || pos.kind == POS_MAX)
		pos = (StreamPos) {.kind = POS_ID, .id = pos.kind == POS_MIN ? STREAMID_MIN : STREAMID_MAX};
	check_cursor(&pos);
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	strm_group_setid(&gt, &pos, entries_read);
	PG_RETURN_VOID();
}

/*
 * xgroup_destroy(key, grp): XGROUP DESTROY.  False if there was no such group;
 * 42704 if there is no such stream, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_destroy);
Datum
stream_xgroup_destroy(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xgroup_destroy()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	GroupTarget gt;

	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	PG_RETURN_BOOL(strm_group_destroy(&gt));
}

/*
 * xgroup_createconsumer(key, grp, consumer): XGROUP CREATECONSUMER.  False if
 * it was there.  42704, 42622, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_createconsumer);
Datum
stream_xgroup_createconsumer(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xgroup_createconsumer()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	NameArg		consumer = arg_name(fcinfo, 2, "consumer");
	GroupTarget gt;

	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	PG_RETURN_BOOL(strm_consumer_create(&gt, consumer.name, consumer.len));
}

/*
 * xgroup_delconsumer(key, grp, consumer, release): XGROUP DELCONSUMER.
 *
 * Result: how many entries it had pending; they are released to the group, or
 * (release false) are pending no more, as in Redis.  0 if there was no such
 * consumer.  42704, 42622, 42501.
 */
PG_FUNCTION_INFO_V1(stream_xgroup_delconsumer);
Datum
stream_xgroup_delconsumer(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xgroup_delconsumer()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	NameArg		consumer = arg_name(fcinfo, 2, "consumer");
	GroupTarget gt;

	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	PG_RETURN_INT64(strm_consumer_delete(&gt, consumer.name, consumer.len, arg_bool(fcinfo, 3, true)));
}
