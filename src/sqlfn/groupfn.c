/*
 * groupfn.c
 *	  What the SQL functions of consumer groups share: opening a group, the
 *	  entries of ids, rows.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "sqlfn/groupfn.h"

void
open_group(Db *db, KeyArg key, NameArg grp, uint32 need, bool write, GroupTarget *gt)
{
	if (!strm_open_group(db, key.name, key.len, grp.name, grp.len, need, write, gt))
		strm_raise_missing(key.name, key.len);
}

void
refuse_dead_letter(KeyArg key)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("stream \"%.*s\" cannot be its own dead-letter stream", (int) key.len, key.name)));
}

void
arg_claim(FunctionCallInfo fcinfo, int consumer, int min_idle, int justid, ClaimSpec *spec)
{
	NameArg		name = arg_name(fcinfo, consumer, "consumer");

	arg_not_null(fcinfo, min_idle, "min_idle");
	*spec = (ClaimSpec) {
		.consumer = name.name,
		.consumer_len = name.len,
		.min_idle = (uint64) arg_duration(fcinfo, min_idle, "min_idle"),
		.retrycount = -1,
		.justid = arg_bool(fcinfo, justid, false)
	};
}

/* --- entries of ids --- */

/* So many entries are rather passed over than looked up anew: about a node. */
#define FINDER_SKIP		100

/* Move on to the first entry at or after id; false: it is too far away. */
static bool
advance(EntryFinder *f, StreamId id)
{
	for (int n = 0; n <= FINDER_SKIP; n++)
	{
		if (!f->has || sid_cmp(f->e.id, id) >= 0)
			return true;
		f->has = reader_next(f->reader, &f->e);
	}
	return false;
}

const NodeEntry *
finder_get(EntryFinder *f, StreamId id, StreamId hi, int64 want)
{
	bool		ahead = f->reader != NULL && sid_cmp(f->at, id) <= 0 && sid_cmp(id, f->hi) <= 0;

	if (!ahead || !advance(f, id))
	{
		finder_end(f);
		f->reader = reader_open(f->t, id, hi, false, want);
		f->hi = hi;
		f->has = reader_next(f->reader, &f->e);
	}
	f->at = id;
	return f->has && sid_cmp(f->e.id, id) == 0 ? &f->e : NULL;
}

void
finder_end(EntryFinder *f)
{
	if (f->reader != NULL)
		reader_close(f->reader);
	f->reader = NULL;
}

void
given_walk(GivenWalk *w, Target *t, const GivenList *list)
{
	*w = (GivenWalk) {.list = list, .finder = {.t = t}};
}

bool
given_next(GivenWalk *w, const Given **g, const NodeEntry **e)
{
	const Given *item = w->list->item;

	if (w->next >= w->list->n)
	{
		finder_end(&w->finder);
		return false;
	}
	if (w->next >= w->run_end)
		for (w->run_end = w->next + 1;
			 w->run_end < w->list->n && sid_cmp(item[w->run_end - 1].id, item[w->run_end].id) < 0;)
			w->run_end++;
	*g = &item[w->next];
	*e = (*g)->gone ? NULL : finder_get(&w->finder, (*g)->id, item[w->run_end - 1].id, w->run_end - w->next);
	w->next++;
	return true;
}

/* --- rows --- */

void
put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, unconstify(Datum *, values), unconstify(bool *, nulls));
}

Datum
name_datum(const char *s, uint32 len)
{
	return PointerGetDatum(cstring_to_text_with_len(s, len));
}
