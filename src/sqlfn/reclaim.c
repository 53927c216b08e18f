/*
 * reclaim.c
 *	  xreclaim, xreclaim_all: pending entries back to the group, and those
 *	  delivered too often to another stream.
 *
 * Made to be called from time to time, by a scheduler.  What Redis leaves to
 * its users (XAUTOCLAIM in a loop, counting deliveries, XADD elsewhere, XACK)
 * is one operation of the transaction here: a dead letter is in the other
 * stream exactly if it is no longer pending in this.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/resowner.h"

#include "sqlfn/groupfn.h"

/* What is asked for; NULL arguments stand for the policy of the group. */
typedef struct ReclaimSpec
{
	int64		min_idle;		/* ms; -1: the policy's */
	int64		max_deliveries; /* -1: the policy's; 0: no limit */
	KeyArg		dead_letter;	/* name NULL: the policy's */
	bool		as_owner;		/* it is the policy's */
	int64		count;			/* -1: all */
} ReclaimSpec;

typedef struct Reclaimed
{
	int64		released;
	int64		dead;
} Reclaimed;

/* Fill in what the policy says.  22023 if that is not enough. */
static void
complete_spec(GroupTarget *gt, ReclaimSpec *spec)
{
	GroupPolicy policy;

	(void) strm_group_policy(gt, &policy);
	if (spec->min_idle < 0)
	{
		if (policy.retry == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("min_idle is needed: consumer group \"%.*s\" has no policy",
							(int) gt->len, gt->name),
					 errhint("Give min_idle, or set retry with xgroup_set.")));
		spec->min_idle = (int64) policy.retry;
	}
	if (spec->dead_letter.name == NULL && policy.dead_letter_len > 0)
	{
		spec->dead_letter = (KeyArg) {policy.dead_letter, policy.dead_letter_len};
		spec->as_owner = true;
	}
	if (spec->max_deliveries < 0)
		spec->max_deliveries = (int64) policy.max_deliveries;
	if (spec->max_deliveries > 0 && spec->dead_letter.name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_deliveries needs a dead-letter stream"),
				 errhint("Give dead_letter, or set it with xgroup_set.")));
	if (spec->max_deliveries > 0 && spec->dead_letter.len == gt->t.len &&
		memcmp(spec->dead_letter.name, gt->t.name, gt->t.len) == 0)
		refuse_dead_letter(spec->dead_letter);
}

static void
add_pair(FieldsBuilder *b, const char *field, const char *value, size_t len)
{
	fields_add(b, field, strlen(field));
	fields_add(b, value, len);
}

/* The entry's own fields, then its history. */
static StreamFields *
dead_fields(const GroupTarget *gt, const NodeEntry *e, const DeadRecord *d)
{
	StreamFields *own = entry_fields(e);
	FieldsBuilder b;
	char		text[64];

	fields_begin_dead(&b);
	for (const uint8 *p = lp_first(streamfields_lp(own)); !lp_at_end(p); p = lp_next(p))
	{
		LpValue		v;

		lp_get(p, &v);
		fields_add(&b, v.str, v.len);
	}
	add_pair(&b, "stream", gt->t.name, gt->t.len);
	add_pair(&b, "group", gt->name, gt->len);
	add_pair(&b, "id", text, snprintf(text, sizeof(text), UINT64_FORMAT "-" UINT64_FORMAT, d->id.ms, d->id.seq));
	add_pair(&b, "deliveries", text, snprintf(text, sizeof(text), UINT64_FORMAT, d->deliveries));
	add_pair(&b, "consumer", d->consumer != NULL ? d->consumer : "", d->consumer_len);
	pfree(own);
	return fields_end(&b);
}

static int
dead_cmp(const void *a, const void *b)
{
	return sid_cmp(((const DeadRecord *) a)->id, ((const DeadRecord *) b)->id);
}

/*
 * Add dead letters, which are acknowledged already, to the other stream, by
 * the rules of xadd.  Of an entry that is no more there is nothing to add.
 * Returns how many were.
 *
 * Where the policy says where to, it is done with the rights of the owner of
 * the group's stream, as a trigger of his would: who calls may have more, and
 * the policy is others' choice.
 */
static int64
move_dead(Db *db, GroupTarget *gt, const ReclaimSpec *spec, DeadRecord *dead, int ndead)
{
	static const StreamPos automatic = {.kind = POS_AUTO};
	EntryFinder finder = {.t = &gt->t};
	int64		moved = 0;
	Oid			caller;
	int			context;

	GetUserIdAndSecContext(&caller, &context);
	qsort(dead, ndead, sizeof(DeadRecord), dead_cmp);
	for (int i = 0; i < ndead; i++)
	{
		const NodeEntry *e = finder_get(&finder, dead[i].id, dead[ndead - 1].id, ndead - i);
		StreamFields *fields;
		StreamId	id;
		bool		repeated;

		CHECK_FOR_INTERRUPTS();
		if (e == NULL)
			continue;
		fields = dead_fields(gt, e, &dead[i]);
		/* an error gives the caller back his rights, as it undoes the rest */
		if (spec->as_owner)
			SetUserIdAndSecContext(gt->t.owner, context | SECURITY_LOCAL_USERID_CHANGE);
		(void) add_entry(db, spec->dead_letter, true, &automatic, streamfields_lp(fields), NULL, NULL, &id, &repeated);
		SetUserIdAndSecContext(caller, context);
		pfree(fields);
		moved++;
	}
	finder_end(&finder);
	return moved;
}

static Reclaimed
reclaim(Db *db, GroupTarget *gt, ReclaimSpec spec)
{
	Reclaimed	r = {0};
	DeadRecord *dead = NULL;
	int			ndead = 0;

	complete_spec(gt, &spec);
	r.released = strm_group_reclaim(gt, (uint64) spec.min_idle, (uint64) spec.max_deliveries, spec.count,
									&dead, &ndead);
	if (ndead > 0)
		r.dead = move_dead(db, gt, &spec, dead, ndead);
	return r;
}

/*
 * xreclaim(key, grp, min_idle, max_deliveries, dead_letter, count).  Not in
 * Redis.
 *
 * Entries pending for at least min_idle are released, so that the next plain
 * read delivers them; those delivered max_deliveries times or more are moved
 * to the stream dead_letter, with the fields stream, group, id, deliveries and
 * consumer added.  NULL: as the group's policy says; max_deliveries 0: no
 * limit; count NULL: all of them.
 *
 * Result: one row (released, dead).  If there are any dead letters, the caller
 * needs INSERT on the stream dead_letter, the owner of the group's stream on
 * that of the policy.  22023, 42704, 42622, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xreclaim);
Datum
stream_xreclaim(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xreclaim()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	NameArg		grp = arg_name(fcinfo, 1, "grp");
	ReclaimSpec spec = {
		.min_idle = arg_duration(fcinfo, 2, "min_idle"),
		.max_deliveries = arg_int64(fcinfo, 3, -1),
		.count = arg_int64(fcinfo, 5, -1)
	};
	Reclaimed	r;
	GroupTarget gt;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (!PG_ARGISNULL(3) && spec.max_deliveries < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_deliveries must not be negative")));
	if (!PG_ARGISNULL(4))
		spec.dead_letter = key_from_text(PG_GETARG_TEXT_PP(4));
	if (!PG_ARGISNULL(5) && spec.count <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count must be positive")));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	open_group(db, key, grp, PRIV_UPDATE, true, &gt);
	r = reclaim(db, &gt, spec);
	values[0] = Int64GetDatum(r.released);
	values[1] = Int64GetDatum(r.dead);
	put_row(fcinfo, values, nulls);
	return (Datum) 0;
}

/*
 * Reclaim one group by its policy.  An error is its own: it becomes a warning,
 * so that one group cannot keep the others from being reclaimed.
 */
static bool
reclaim_apart(Db *db, KeyArg key, const GroupView *group, GroupTarget *gt, Reclaimed *r)
{
	static const ReclaimSpec by_policy = {.min_idle = -1, .max_deliveries = -1, .count = -1};
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		if (strm_open_group(db, key.name, key.len, group->name, group->len, PRIV_UPDATE, true, gt))
		{
			*r = reclaim(db, gt, by_policy);
			done = true;
		}
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;
		int			class;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		class = ERRCODE_TO_CATEGORY(error->sqlerrcode);
		if (class == ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) ||
			class == ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK) ||
			class == ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR))
			ReThrowError(error);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("consumer group \"%.*s\" of stream \"%.*s\" was not reclaimed: %s",
						(int) group->len, group->name, (int) key.len, key.name, error->message),
				 error->detail ? errdetail_internal("%s", error->detail) : 0,
				 error->hint ? errhint("%s", error->hint) : 0));
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	return done;
}

/*
 * xreclaim_all(): xreclaim of every group that has a policy with retry, in
 * every stream the caller may work with groups of.
 *
 * Rows (key, grp, released, dead), a row a group; a WARNING for one where it
 * failed.
 */
PG_FUNCTION_INFO_V1(stream_xreclaim_all);
Datum
stream_xreclaim_all(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xreclaim_all()", true);
	KeyArg	   *keys;
	int			nkeys = streams_allowed(db, PRIV_UPDATE, &keys);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	for (int i = 0; i < nkeys; i++)
	{
		GroupTarget gt;
		GroupView  *views;
		int			n;

		CHECK_FOR_INTERRUPTS();
		if (!strm_open_group(db, keys[i].name, keys[i].len, "", 0, PRIV_UPDATE, false, &gt))
			continue;
		n = strm_groups_view(&gt.t, &views);
		for (int k = 0; k < n; k++)
		{
			Reclaimed	r;
			Datum		values[4];
			bool		nulls[4] = {false};

			if (views[k].retry == 0 || !reclaim_apart(db, keys[i], &views[k], &gt, &r))
				continue;
			values[0] = name_datum(keys[i].name, keys[i].len);
			values[1] = name_datum(gt.name, gt.len);
			values[2] = Int64GetDatum(r.released);
			values[3] = Int64GetDatum(r.dead);
			put_row(fcinfo, values, nulls);
		}
		pfree(views);
	}
	return (Datum) 0;
}
