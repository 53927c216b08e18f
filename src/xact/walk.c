/*
 * walk.c
 *	  Live entries in order, merged and own, while the lock is held.
 *
 * For operations that decide something by what entries there are.  Reads that
 * return entries copy nodes out instead (reader.c).
 */
#include "postgres.h"

#include "xact/group.h"

static void
next_merged(LiveWalk *w)
{
	w->has_merged = false;
	for (;;)
	{
		const StreamNode *n;
		StreamId	master;

		while (w->in_node && node_next(&w->it, &w->e))
			if (sid_cmp(w->e.id, w->first) >= 0 && (w->p == NULL || !pend_is_gone(w->p, w->e.id)))
			{
				w->has_merged = true;
				return;
			}
		w->in_node = false;
		if (w->drained || (n = stream_node_at(&StrmArena, w->s, w->from, false, &master)) == NULL)
		{
			w->drained = true;
			return;
		}
		node_iter(&w->it, n->lp, master, false, false);
		w->in_node = true;
		w->from = n->last;
		w->drained = !sid_next(&w->from);
	}
}

void
own_walk(OwnWalk *w, const Pend *p, StreamId from)
{
	w->p = p;
	w->from = from;
	w->in_chunk = false;
	w->chunk = p != NULL ? pend_chunk_from(p, from) : 0;
	own_next(w);
}

void
own_next(OwnWalk *w)
{
	w->has = false;
	while (w->in_chunk || (w->p != NULL && w->chunk < w->p->nchunks))
	{
		if (!w->in_chunk)
		{
			node_iter(&w->it, w->p->chunks[w->chunk].lp, w->p->chunks[w->chunk].first, false, false);
			w->chunk++;
			w->in_chunk = true;
		}
		while (node_next(&w->it, &w->e))
			if (sid_cmp(w->e.id, w->from) >= 0 && !pend_is_gone(w->p, w->e.id))
			{
				w->has = true;
				return;
			}
		w->in_chunk = false;
	}
}

void
live_walk(LiveWalk *w, SharedStream *ss, Pend *p, StreamId from)
{
	w->p = p;
	w->s = &ss->stream;
	w->first = w->from = from;
	w->in_node = w->drained = false;
	next_merged(w);
	own_walk(&w->own, p, from);
}

bool
live_next(LiveWalk *w, StreamId *id)
{
	if (w->own.has && (!w->has_merged || sid_cmp(w->own.e.id, w->e.id) < 0))
	{
		*id = w->own.e.id;
		w->gave_own = true;
		own_next(&w->own);
		return true;
	}
	if (!w->has_merged)
		return false;
	*id = w->e.id;
	w->gave_own = false;
	next_merged(w);
	return true;
}

bool
live_has(SharedStream *ss, Pend *p, StreamId id)
{
	if (p != NULL && pend_is_gone(p, id))
		return false;
	return stream_exists(&StrmArena, &ss->stream, id) || (p != NULL && pend_has(p, id));
}
