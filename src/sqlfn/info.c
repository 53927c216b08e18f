/*
 * info.c
 *	  xinfo_stream, xinfo_stream_full: a stream as jsonb.
 *
 * Keys and their order are those of XINFO STREAM.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "sqlfn/sqlfn.h"
#include "xact/group.h"

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

/* A number under a key, or (NULL) as the next element. */
static void
push_number(JsonbParseState **state, const char *key, int64 n)
{
	JsonbValue	v = {.type = jbvNumeric};

	if (key != NULL)
		push_key(state, key);
	v.val.numeric = int64_to_numeric(n);
	(void) pushJsonbValue(state, key != NULL ? WJB_VALUE : WJB_ELEM, &v);
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

/* A number, or null where it is unknown. */
static void
push_known(JsonbParseState **state, const char *key, int64 n)
{
	JsonbValue	null = {.type = jbvNull};

	if (n >= 0)
	{
		push_number(state, key, n);
		return;
	}
	push_key(state, key);
	(void) pushJsonbValue(state, WJB_VALUE, &null);
}

static void
push_name(JsonbParseState **state, const char *name, uint32 len)
{
	push_key(state, "name");
	push_text(state, WJB_VALUE, name, len);
}

/* The first `count` pending records of a group, or of one of its consumers:
 * [id, owner ("" of a released one), time of delivery in ms, deliveries], for a
 * consumer without the owner. */
static void
push_pending(JsonbParseState **state, GroupTarget *gt, int64 count, const ConsumerView *of)
{
	PendingView *rows;
	int			n = strm_pending_view(gt, STREAMID_MIN, STREAMID_MAX, count == 0 ? PG_INT64_MAX : count,
									  of ? of->name : NULL, of ? of->len : 0, of != NULL, 0, &rows);

	push_key(state, "pending");
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		char	   *id = psprintf(UINT64_FORMAT "-" UINT64_FORMAT, rows[i].id.ms, rows[i].id.seq);

		(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
		push_text(state, WJB_ELEM, id, strlen(id));
		if (of == NULL)
			push_text(state, WJB_ELEM, rows[i].consumer ? rows[i].consumer : "", rows[i].consumer_len);
		push_number(state, NULL, rows[i].owned ? (int64) rows[i].time : 0);
		push_number(state, NULL, (int64) rows[i].deliveries);
		(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
	}
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

static void
push_consumers(JsonbParseState **state, GroupTarget *gt, int64 count)
{
	ConsumerView *consumers;
	int			n = strm_consumers_view(gt, &consumers);

	push_key(state, "consumers");
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		ConsumerView *c = &consumers[i];

		(void) pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
		push_name(state, c->name, c->len);
		push_number(state, "seen-time", c->seen);
		push_number(state, "active-time", c->active == 0 ? -1 : (int64) c->active);
		push_number(state, "pel-count", c->pending);
		push_pending(state, gt, count, c);
		(void) pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
	(void) pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/* The groups in full. */
static void
push_groups(JsonbParseState **state, Target *t, int64 count)
{
	GroupView  *groups;
	int			n = strm_groups_view(t, &groups);

	push_key(state, "groups");
	(void) pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		GroupView  *g = &groups[i];
		GroupTarget gt = {*t, g->name, g->len};

		(void) pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
		push_name(state, g->name, g->len);
		push_id(state, "last-delivered-id", g->cursor);
		push_known(state, "entries-read", g->entries_read);
		push_number(state, "lag", g->lag);
		push_number(state, "pel-count", g->pending);
		push_number(state, "nacked-count", g->released);
		push_pending(state, &gt, count, NULL);
		push_consumers(state, &gt, count);
		(void) pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
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
	push_number(&state, "groups", strm_groups_view(&t, &groups));
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
	if (count < 0)
		count = FULL_COUNT;
	push_entries(&state, &t, count);
	push_groups(&state, &t, count);
	return info_end(&state);
}
