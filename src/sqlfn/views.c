/*
 * views.c
 *	  The rows behind the views stream.streams, stream.grants, stream.activity,
 *	  stream.memory.
 *
 * Each stream is locked shared for a moment to copy what its row shows; no
 * entry is looked at.  Streams the caller may not read are left out, unless
 * he is a member of pg_monitor.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "journal/journal.h"
#include "sqlfn/sqlfn.h"

/* The rights of the stream each_stream is at. */
static Rights rights;

/* For each live stream for which the caller has the privileges `need`, call
 * visit, the lock held shared, then emit. */
static void
each_stream(Db *db, uint32 need, void (*visit) (SharedStream *ss, void *arg), void (*emit) (void *arg), void *arg)
{
	StreamRef  *refs;
	int			n = strm_registry_list(db, &refs);
	bool		monitor = need == PRIV_SELECT && has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
	Snapshot	snap = GetActiveSnapshot();

	for (int i = 0; i < n; i++)
	{
		SharedStream *ss = refs[i].ss;
		bool		live;
		bool		fits;

		CHECK_FOR_INTERRUPTS();
		if (!strm_look(ss, refs[i].id, LW_SHARED, snap))
			continue;
		live = ss->state == SS_LIVE;
		fits = strm_rights_copy(ss, &rights);
		strm_unlock(ss);
		if (!fits)
		{
			strm_rights_room(&rights, rights.n);
			i--;				/* once more */
			continue;
		}
		if (!live || !(monitor || strm_allowed(GetUserId(), &rights, need)))
			continue;
		if (!strm_lock(ss, refs[i].id, LW_SHARED))
			continue;
		visit(ss, arg);
		strm_unlock(ss);
		emit(arg);
	}
}

/* --- by name --- */

typedef struct StreamKeys
{
	char		name[STREAM_NAME_MAX];
	uint32		len;
	KeyArg	   *keys;
	int			n;
	int			cap;
} StreamKeys;

static void
keys_visit(SharedStream *ss, void *arg)
{
	StreamKeys *k = arg;

	memcpy(k->name, STRM_PTR(char, ss->name), ss->name_len);
	k->len = ss->name_len;
}

static void
keys_emit(void *arg)
{
	StreamKeys *k = arg;

	if (k->n == k->cap)
	{
		k->cap *= 2;
		k->keys = repalloc_huge(k->keys, k->cap * sizeof(KeyArg));
	}
	k->keys[k->n++] = (KeyArg) {pnstrdup(k->name, k->len), k->len};
}

int
streams_allowed(Db *db, uint32 need, KeyArg **keys)
{
	StreamKeys	k = {.cap = 16};

	k.keys = palloc(k.cap * sizeof(KeyArg));
	each_stream(db, need, keys_visit, keys_emit, &k);
	*keys = k.keys;
	return k.n;
}

static Datum
text_datum(const char *s, uint32 len)
{
	return PointerGetDatum(cstring_to_text_with_len(s, len));
}

/* --- stream.streams --- */

typedef struct StreamRow
{
	ReturnSetInfo *rsinfo;
	char		name[STREAM_NAME_MAX];
	uint32		len;
	int64		id;
	Oid			owner;
	Stream		stream;
} StreamRow;

static void
stream_visit(SharedStream *ss, void *arg)
{
	StreamRow  *row = arg;

	memcpy(row->name, STRM_PTR(char, ss->name), ss->name_len);
	row->len = ss->name_len;
	row->id = ss->id;
	row->owner = ss->owner;
	row->stream = ss->stream;
}

static void
stream_emit(void *arg)
{
	StreamRow  *row = arg;
	Stream	   *s = &row->stream;
	Datum		values[] = {
		text_datum(row->name, row->len),
		ObjectIdGetDatum(row->owner),
		Int64GetDatum((int64) s->length),
		PointerGetDatum(&s->first_id),
		PointerGetDatum(&s->last_id),
		PointerGetDatum(&s->max_deleted_id),
		Int64GetDatum((int64) s->entries_added),
		Int64GetDatum((int64) s->nodes.nkeys),
		Int64GetDatum((int64) s->bytes),
		Int32GetDatum((int32) s->node_max_bytes),
		Int32GetDatum((int32) s->node_max_entries),
		Int64GetDatum((int64) s->applied),
		Int64GetDatum(row->id)
	};
	bool		nulls[lengthof(values)] = {false};

	nulls[3] = sid_is_zero(s->first_id);
	tuplestore_putvalues(row->rsinfo->setResult, row->rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(stream_streams_rows);
Datum
stream_streams_rows(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("view stream.streams", false);
	StreamRow	row;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	each_stream(db, PRIV_SELECT, stream_visit, stream_emit, &row);
	return (Datum) 0;
}

/* --- stream.grants --- */

static void
grants_emit(void *arg)
{
	StreamRow  *row = arg;

	for (uint32 i = 0; i < rights.n; i++)
	{
		Datum		values[] = {
			text_datum(row->name, row->len),
			ObjectIdGetDatum(rights.grant[i].role),
			CStringGetTextDatum(strm_privileges_text(rights.grant[i].mask))
		};
		bool		nulls[lengthof(values)] = {false};

		tuplestore_putvalues(row->rsinfo->setResult, row->rsinfo->setDesc, values, nulls);
	}
}

PG_FUNCTION_INFO_V1(stream_grants_rows);
Datum
stream_grants_rows(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("view stream.grants", false);
	StreamRow	row;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	row.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	each_stream(db, PRIV_SELECT, stream_visit, grants_emit, &row);
	return (Datum) 0;
}

/* --- stream.activity --- */

typedef struct Actor
{
	bool		waits;
	bool		told;			/* xwaitgroup has told it of something it has not come for yet */
	int			pid;
	int			group;			/* whose name it is in ActivityRows.groups; -1: none */
	TransactionId xid;
	bool		committing;
	uint64		reserved;
	StreamId	min_id;
	uint64		deleting;
	StreamId	trim_to;
	uint64		in_flight;
	bool		dropping;
	bool		renaming;
	bool		exclusive;
} Actor;

typedef struct ActivityRows
{
	ReturnSetInfo *rsinfo;
	char		name[STREAM_NAME_MAX];
	uint32		len;
	Actor	   *actors;			/* room for every process twice */
	int			cap;
	int			n;
	char	   *groups;			/* names of GROUP_NAME_MAX bytes, a group that has waiters each */
	uint32	   *group_lens;
	int			ngroups;
} ActivityRows;

static void
activity_waiters(ActivityRows *rows, EngHandle first, int group)
{
	for (EngHandle h = first; h != 0 && rows->n < rows->cap; h = STRM_PTR(WaitLink, h)->next)
		rows->actors[rows->n++] = (Actor) {
			.waits = true, .told = STRM_PTR(WaitLink, h)->promised != 0,
			.pid = STRM_PTR(WaitLink, h)->pid, .group = group
		};
}

static void
activity_visit(SharedStream *ss, void *arg)
{
	ActivityRows *rows = arg;

	memcpy(rows->name, STRM_PTR(char, ss->name), ss->name_len);
	rows->len = ss->name_len;
	rows->n = rows->ngroups = 0;
	for (EngHandle h = ss->parts; h != 0 && rows->n < rows->cap; h = STRM_PTR(Part, h)->next)
	{
		Part	   *p = STRM_PTR(Part, h);

		rows->actors[rows->n++] = (Actor) {
			.pid = p->pid, .group = -1, .xid = p->xid, .committing = p->numbered, .reserved = p->reserved,
			.min_id = p->min_id, .deleting = p->ndeleting, .trim_to = p->trim_to,
			.in_flight = p->nflight,
			.dropping = p->dropping, .renaming = p->renaming, .exclusive = p->exclusive
		};
	}
	activity_waiters(rows, ss->waiters, -1);
	for (EngHandle h = ss->shares; h != 0 && rows->n < rows->cap; h = STRM_PTR(GroupShare, h)->next)
	{
		GroupShare *g = STRM_PTR(GroupShare, h);

		if (g->nwaiters == 0)
			continue;
		memcpy(rows->groups + rows->ngroups * GROUP_NAME_MAX, g->name, g->name_len);
		rows->group_lens[rows->ngroups] = g->name_len;
		activity_waiters(rows, g->waiters, rows->ngroups++);
	}
}

static const char *
actor_state(const Actor *a)
{
	return a->told ? "told" : a->waits ? "waiting" : a->committing ? "committing" : a->dropping ? "dropping" :
		a->renaming ? "renaming" : a->exclusive ? "altering" : "open";
}

static void
activity_emit(void *arg)
{
	ActivityRows *rows = arg;

	for (int i = 0; i < rows->n; i++)
	{
		Actor	   *a = &rows->actors[i];
		Datum		values[] = {
			text_datum(rows->name, rows->len),
			CStringGetTextDatum(actor_state(a)),
			Int32GetDatum(a->pid),
			TransactionIdGetDatum(a->xid),
			Int64GetDatum((int64) a->reserved),
			PointerGetDatum(&a->min_id),
			Int64GetDatum((int64) a->deleting),
			PointerGetDatum(&a->trim_to),
			a->group < 0 ? (Datum) 0 :
			text_datum(rows->groups + a->group * GROUP_NAME_MAX, rows->group_lens[a->group]),
			Int64GetDatum((int64) a->in_flight)
		};
		bool		nulls[lengthof(values)] = {false};

		nulls[8] = a->group < 0;
		nulls[3] = nulls[4] = nulls[6] = nulls[9] = a->waits;
		nulls[5] = a->reserved == 0;
		nulls[7] = sid_is_zero(a->trim_to);
		tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc, values, nulls);
	}
}

PG_FUNCTION_INFO_V1(stream_activity_rows);
Datum
stream_activity_rows(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("view stream.activity", false);
	ActivityRows rows = {.cap = 2 * MaxBackends};

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	rows.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rows.actors = palloc(rows.cap * sizeof(Actor));
	rows.groups = palloc(rows.cap * GROUP_NAME_MAX);
	rows.group_lens = palloc(rows.cap * sizeof(uint32));
	each_stream(db, PRIV_SELECT, activity_visit, activity_emit, &rows);
	return (Datum) 0;
}

/* --- stream.memory --- */

PG_FUNCTION_INFO_V1(stream_memory_rows);
Datum
stream_memory_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ArenaStats	st;

	(void) strm_use("view stream.memory", false);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	arena_stats(&StrmArena, &st);
	{
		Datum		values[] = {
			Int64GetDatum((int64) st.size),
			Int64GetDatum((int64) st.used),
			Int64GetDatum((int64) (st.pages_free * ARENA_PAGE)),
			Int64GetDatum((int64) (st.pages_charged * ARENA_PAGE)),
			Int64GetDatum((int64) (st.pages_reserve * ARENA_PAGE))
		};
		bool		nulls[lengthof(values)] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
