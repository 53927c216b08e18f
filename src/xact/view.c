/*
 * view.c
 *	  What one look at a stream tells: counters, horizon, the meaning of `$`.
 *
 * seen = merged entries, less those whose transaction the snapshot does not
 * see, less what this transaction has deleted or trimmed, plus what it has
 * added.  Counting costs nodes, not entries.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "xact/view_int.h"

static int
range_cmp(const void *a, const void *b)
{
	return sid_cmp(((const IdRange *) a)->lo, ((const IdRange *) b)->lo);
}

void
unseen_room(const Target *t, Unseen *u)
{
	if (u->n < 0)
		ereport(ERROR,
				(errcode(ERRCODE_SNAPSHOT_TOO_OLD),
				 errmsg("snapshot is too old to read stream \"%.*s\"", (int) t->len, t->name),
				 errdetail("More transactions have added entries since it was taken than are remembered."),
				 errhint("Repeat the read in a new transaction.")));
	u->cap = u->n * 2;
	u->range = u->range ? repalloc(u->range, u->cap * sizeof(IdRange))
		: palloc(u->cap * sizeof(IdRange));
}

bool
unseen_fill(const Target *t, Unseen *u, Snapshot snap)
{
	u->n = strm_recent_unseen(t->ss, snap, u->range, u->cap);
	return u->n >= 0 && u->n <= u->cap;
}

bool
unseen_lock(Target *t, Unseen *u, LWLockMode mode, Snapshot snap, bool first)
{
	for (;;)
	{
		bool		ok = first ? strm_look(t->ss, t->id, mode, snap)
			: strm_lock(t->ss, t->id, mode);

		if (!ok)
			return false;
		if (unseen_fill(t, u, snap))
			return true;
		strm_unlock(t->ss);
		unseen_room(t, u);
	}
}

void
unseen_sort(Unseen *u)
{
	if (u->n > 1)
		qsort(u->range, u->n, sizeof(IdRange), range_cmp);
}

bool
unseen_has(const Unseen *u, StreamId id)
{
	int			lo = 0;
	int			hi = u->n;

	/* the last range that begins at or before id */
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (sid_cmp(u->range[mid].lo, id) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && sid_cmp(id, u->range[lo - 1].hi) <= 0;
}

static bool
unseen_scan(const Unseen *u, StreamId id)
{
	for (int i = 0; i < u->n; i++)
		if (sid_cmp(u->range[i].lo, id) <= 0 && sid_cmp(id, u->range[i].hi) <= 0)
			return true;
	return false;
}

/* Merged entries in lo..hi that are seen and not gone; lock held. */
static uint64
count_merged(Target *t, const Unseen *u, StreamId lo, StreamId hi)
{
	SharedStream *ss = t->ss;
	Pend	   *p = t->pend;
	uint64		n;

	if (p != NULL && sid_cmp(lo, p->trim_to) < 0)
		lo = p->trim_to;
	if (sid_cmp(lo, hi) > 0)
		return 0;
	n = sid_is_zero(lo) && sid_cmp(hi, STREAMID_MAX) == 0 ? ss->stream.length
		: stream_count(&StrmArena, &ss->stream, lo, hi);
	for (int i = 0; i < u->n; i++)
	{
		StreamId	a = sid_cmp(u->range[i].lo, lo) > 0 ? u->range[i].lo : lo;
		StreamId	b = sid_cmp(u->range[i].hi, hi) < 0 ? u->range[i].hi : hi;

		if (sid_cmp(a, b) <= 0)
			n -= stream_count(&StrmArena, &ss->stream, a, b);
	}
	for (int i = 0; p != NULL && i < p->ndels; i++)
	{
		StreamId	id = p->dels[i].id;

		if (!p->dels[i].own && !p->dels[i].again && sid_cmp(id, lo) >= 0 && sid_cmp(id, hi) <= 0 &&
			stream_exists(&StrmArena, &ss->stream, id) && !unseen_scan(u, id))
			n--;
	}
	return n;
}

StreamId
view_cursor_hi(Target *t, const Unseen *u, StreamId last_id)
{
	StreamId	stop;
	bool		limited = strm_horizon(t->ss, t->pend ? t->pend->part : 0, &stop);

	for (int i = 0; i < u->n; i++)
		if (!limited || sid_cmp(u->range[i].lo, stop) < 0)
		{
			stop = u->range[i].lo;
			limited = true;
		}
	if (!limited || sid_cmp(stop, last_id) > 0)
		return last_id;
	(void) sid_prev(&stop);
	return stop;
}

uint64
view_count_locked(Target *t, const Unseen *u, StreamId lo, StreamId hi)
{
	return sid_cmp(lo, hi) > 0 ? 0
		: count_merged(t, u, lo, hi) + (t->pend != NULL ? pend_count(t->pend, lo, hi) : 0);
}

/* Where cursor reads end, and what `$` is; lock held. */
static void
find_cursor(Target *t, const Unseen *u, View *v)
{
	SharedStream *ss = t->ss;
	StreamId	stop = view_cursor_hi(t, u, v->last_id);
	StreamId	own;

	v->cursor_hi = stop;
	if (sid_cmp(stop, v->last_id) == 0)
	{
		v->last = stop;
		return;
	}
	if (!stream_last_upto(&StrmArena, &ss->stream, stop, &v->last))
		v->last = STREAMID_MIN;
	for (int i = t->pend ? t->pend->nchunks - 1 : -1; i >= 0; i--)
	{
		/* own entries below the stop count as well; a chunk is one run */
		own = t->pend->chunks[i].last;
		if (sid_cmp(t->pend->chunks[i].first, stop) > 0)
			continue;
		if (sid_cmp(own, stop) > 0)
			own = stop;
		if (sid_cmp(own, v->last) > 0)
			v->last = own;
		break;
	}
}

bool
view_take(Target *t, View *v)
{
	Snapshot	snap = GetActiveSnapshot();
	Unseen		u = {0};
	SharedStream *ss = t->ss;
	uint64		own = 0;
	StreamHeader header;

	if (t->pend != NULL)
	{
		pend_refresh(t->pend);
		own = pend_count(t->pend, STREAMID_MIN, STREAMID_MAX);
	}
	if (!unseen_lock(t, &u, LW_SHARED, snap, true))
		return false;
	v->length = count_merged(t, &u, STREAMID_MIN, STREAMID_MAX) + own;
	if (t->pend != NULL)
		pend_header(t->pend, &header);
	else
		stream_get_header(&ss->stream, &header);
	v->entries_added = header.entries_added;
	v->last_id = header.last_id;
	v->max_deleted_id = header.max_deleted_id;
	v->nodes = ss->stream.nodes.nkeys;
	v->rax_nodes = ss->stream.nodes.nnodes;
	v->bytes = ss->stream.bytes;
	v->node_max_bytes = header.node_max_bytes;
	v->node_max_entries = header.node_max_entries;
	v->applied = ss->stream.applied;
	v->idmp_duration = header.idmp_duration;
	v->idmp_maxsize = header.idmp_maxsize;
	v->producers = ss->stream.idmp.nproducers;
	v->iids = ss->stream.idmp.npairs;
	v->iids_added = ss->stream.idmp.added + (t->pend ? t->pend->npairs : 0);
	v->iids_duplicates = ss->duplicates;
	for (int i = 0; t->pend != NULL && i < t->pend->nheaders; i++)
		if (t->pend->headers[i].forgets)
			v->producers = v->iids = 0;
	find_cursor(t, &u, v);
	strm_unlock(ss);
	if (u.range != NULL)
		pfree(u.range);
	return true;
}

uint64
view_count(Target *t, StreamId lo, StreamId hi)
{
	Unseen		u = {0};
	uint64		n = 0;

	if (sid_cmp(lo, hi) > 0)
		return 0;
	if (t->pend != NULL)
	{
		pend_refresh(t->pend);
		n = pend_count(t->pend, lo, hi);
	}
	if (!unseen_lock(t, &u, LW_SHARED, GetActiveSnapshot(), true))
		return n;
	n += count_merged(t, &u, lo, hi);
	strm_unlock(t->ss);
	if (u.range != NULL)
		pfree(u.range);
	return n;
}

bool
strm_estimate(const char *name, uint32 len, StreamId lo, StreamId hi, uint64 *n)
{
	Db		   *db = strm_db_loaded();
	SharedStream *ss;
	int64		id;
	bool		live;
	StreamGrant few[16];
	Rights		rights = {.cap = lengthof(few), .grant = few};
	bool		fits;

	if (db == NULL || len > STREAM_NAME_MAX || names_find(name, len) != NULL)
		return false;
	ss = strm_registry_find(db, name, len, &id);
	if (ss == NULL || !strm_lock(ss, id, LW_SHARED))
		return false;
	*n = sid_cmp(lo, hi) > 0 ? 0 : stream_count(&StrmArena, &ss->stream, lo, hi);
	live = ss->state == SS_LIVE && strm_bears_name(ss, name, len);
	fits = strm_rights_copy(ss, &rights);
	strm_unlock(ss);
	return live && fits && strm_allowed(GetUserId(), &rights, PRIV_SELECT);
}
