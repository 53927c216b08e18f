/*
 * reader.c
 *	  Reading entries in order: the merged state and the transaction's own.
 *
 * Nodes are copied out under the shared lock, a batch at a time, and taken
 * apart outside it.  Batches grow, so that a read of ten entries copies a node
 * or two and one of a million locks some dozens of times.  Between batches
 * others may merge: entries that were merged meanwhile are newer than the
 * snapshot and are left out (the unseen runs are asked for again with every
 * batch); what was deleted meanwhile is gone.
 *
 * The own entries come from the chunks of the list and are woven in by id.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "xact/view_int.h"

/* One node in the batch: this head, then its listpack, padded to 8 bytes. */
typedef struct BatchNode
{
	StreamId	master;
	Size		bytes;
} BatchNode;

#define BATCH_FIRST		(16 * 1024)
#define BATCH_MAX		(1024 * 1024)

struct Reader
{
	Target		t;
	Snapshot	snap;
	StreamId	lo;
	StreamId	hi;
	bool		reverse;
	bool		looked;

	/* merged entries */
	StreamId	from;			/* where the next batch begins */
	bool		drained;		/* no more batches */
	char	   *batch;
	Size		cap;
	Size		used;
	Size		pos;			/* of the next node */
	NodeIter	it;
	bool		in_node;
	Unseen		unseen;
	NodeEntry	merged;
	bool		has_merged;

	/* own entries */
	int			chunk;			/* next */
	NodeIter	own_it;
	bool		in_chunk;
	NodeEntry	own;
	bool		has_own;

	enum
	{
		GIVEN_NONE, GIVEN_MERGED, GIVEN_OWN
	}			given;			/* where the entry given out last came from */
};

static void next_merged(Reader *r);
static void next_own(Reader *r);

Reader *
reader_open(Target *t, StreamId lo, StreamId hi, bool reverse, int64 want)
{
	return reader_open_at(t, GetActiveSnapshot(), lo, hi, reverse, want);
}

Reader *
reader_open_at(Target *t, Snapshot snap, StreamId lo, StreamId hi, bool reverse, int64 want)
{
	Reader	   *r = palloc0(sizeof(Reader));

	r->t = *t;
	r->snap = snap;
	r->lo = lo;
	r->hi = hi;
	r->reverse = reverse;
	if (t->pend != NULL)
	{
		pend_refresh(t->pend);
		if (sid_cmp(r->lo, t->pend->trim_to) < 0)
			r->lo = t->pend->trim_to;
		r->chunk = reverse ? t->pend->nchunks - 1 : 0;
	}
	r->cap = want > 0 && want <= 100 ? BATCH_FIRST : BATCH_FIRST * 4;
	r->batch = palloc(r->cap);
	r->from = reverse ? r->hi : r->lo;
	r->drained = sid_cmp(r->lo, r->hi) > 0;
	if (!r->drained)
		next_own(r);
	next_merged(r);
	return r;
}

void
reader_close(Reader *r)
{
	pfree(r->batch);
	if (r->unseen.range != NULL)
		pfree(r->unseen.range);
	pfree(r);
}

/* Where the batch after this node begins; false: there is none. */
static bool
step_past(Reader *r, StreamId master, const StreamNode *n)
{
	if (r->reverse)
	{
		r->from = master;
		return sid_cmp(master, r->lo) > 0 && sid_prev(&r->from);
	}
	r->from = n->last;
	return sid_cmp(n->last, r->hi) < 0 && sid_next(&r->from);
}

/* Copy nodes while there is room.  Returns the room that the first one needs
 * if it has too little, else 0.  Lock held. */
static Size
copy_nodes(Reader *r)
{
	const Stream *s = &r->t.ss->stream;

	for (;;)
	{
		StreamId	master;
		const StreamNode *n = stream_node_at(&StrmArena, s, r->from, r->reverse, &master);
		Size		bytes;
		Size		need;
		BatchNode  *b;

		if (n == NULL || sid_cmp(master, r->hi) > 0 || sid_cmp(n->last, r->lo) < 0)
		{
			r->drained = true;
			return 0;
		}
		bytes = node_bytes(n->lp);
		need = MAXALIGN(sizeof(BatchNode) + bytes);
		if (r->used + need > r->cap)
			return r->used == 0 ? need : 0;
		b = (BatchNode *) (r->batch + r->used);
		b->master = master;
		b->bytes = bytes;
		memcpy(b + 1, n->lp, bytes);
		r->used += need;
		if (!step_past(r, master, n))
		{
			r->drained = true;
			return 0;
		}
	}
}

/* Fetch the next batch; false if there is none. */
static bool
fetch(Reader *r)
{
	r->used = r->pos = 0;
	if (r->looked && r->cap < BATCH_MAX)
	{
		r->cap *= 4;
		pfree(r->batch);
		r->batch = palloc(r->cap);
	}
	while (!r->drained && r->used == 0)
	{
		Size		need;

		CHECK_FOR_INTERRUPTS();
		if (!unseen_lock(&r->t, &r->unseen, LW_SHARED, r->snap, !r->looked))
		{
			r->drained = true;
			break;
		}
		r->looked = true;
		need = copy_nodes(r);
		strm_unlock(r->t.ss);
		if (need > 0)
		{
			r->cap = need;
			pfree(r->batch);
			r->batch = palloc_extended(r->cap, MCXT_ALLOC_HUGE);
		}
	}
	unseen_sort(&r->unseen);
	return r->used > 0;
}

static bool
in_bounds(const Reader *r, StreamId id)
{
	return sid_cmp(id, r->lo) >= 0 && sid_cmp(id, r->hi) <= 0;
}

static void
next_merged(Reader *r)
{
	for (;;)
	{
		if (r->in_node)
		{
			while (node_next(&r->it, &r->merged))
			{
				StreamId	id = r->merged.id;

				if (!in_bounds(r, id) ||
					(r->unseen.n > 0 && unseen_has(&r->unseen, id)) ||
					(r->t.pend != NULL && pend_is_gone(r->t.pend, id)))
					continue;
				r->has_merged = true;
				return;
			}
			r->in_node = false;
		}
		if (r->pos == r->used && (r->drained || !fetch(r)))
		{
			r->has_merged = false;
			return;
		}
		{
			BatchNode  *b = (BatchNode *) (r->batch + r->pos);

			node_iter(&r->it, (uint8 *) (b + 1), b->master, r->reverse, false);
			r->pos += MAXALIGN(sizeof(BatchNode) + b->bytes);
			r->in_node = true;
		}
	}
}

static void
next_own(Reader *r)
{
	Pend	   *p = r->t.pend;

	r->has_own = false;
	if (p == NULL)
		return;
	for (;;)
	{
		Chunk	   *c;

		if (r->in_chunk)
		{
			while (node_next(&r->own_it, &r->own))
				if (in_bounds(r, r->own.id) && !pend_is_gone(p, r->own.id))
				{
					r->has_own = true;
					return;
				}
			r->in_chunk = false;
		}
		if (r->chunk < 0 || r->chunk >= p->nchunks)
			return;
		c = &p->chunks[r->chunk];
		r->chunk += r->reverse ? -1 : 1;
		if (sid_cmp(c->last, r->lo) < 0 || sid_cmp(c->first, r->hi) > 0)
			continue;
		node_iter(&r->own_it, c->lp, c->first, r->reverse, false);
		r->in_chunk = true;
	}
}

/*
 * What is handed out points into the batch or a chunk, so the side it came
 * from moves on at the next call only.
 */
bool
reader_next(Reader *r, NodeEntry *e)
{
	if (r->given == GIVEN_MERGED)
		next_merged(r);
	else if (r->given == GIVEN_OWN)
		next_own(r);
	r->given = GIVEN_NONE;

	if (r->has_own && r->has_merged)
	{
		int			c = sid_cmp(r->own.id, r->merged.id);

		r->given = (r->reverse ? c > 0 : c < 0) ? GIVEN_OWN : GIVEN_MERGED;
	}
	else if (r->has_own)
		r->given = GIVEN_OWN;
	else if (r->has_merged)
		r->given = GIVEN_MERGED;
	if (r->given != GIVEN_NONE)
		*e = r->given == GIVEN_OWN ? r->own : r->merged;
	return r->given != GIVEN_NONE;
}
