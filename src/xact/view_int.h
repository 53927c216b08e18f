/*
 * view_int.h
 *	  The runs of ids a snapshot does not see; for this folder only.
 */
#ifndef STREAM_VIEW_INT_H
#define STREAM_VIEW_INT_H

#include "xact/xact.h"

/* All zero to begin with; range is palloc'd in the current context. */
typedef struct Unseen
{
	IdRange    *range;
	int			n;
	int			cap;
} Unseen;

/* Lock the stream and fill u; `first`: as a look (strm_look).  False: the
 * stream is gone, not locked.  72000. */
extern bool unseen_lock(Target *t, Unseen *u, LWLockMode mode, Snapshot snap, bool first);

/* Fill u; false: unlock, and unseen_room.  Lock held. */
extern bool unseen_fill(const Target *t, Unseen *u, Snapshot snap);

/* u->n is -1 or more than there is room for: raises 72000, or makes room. */
extern void unseen_room(const Target *t, Unseen *u);

/* The greatest id a cursor read may give, `last_id` if nothing limits it.  Lock held. */
extern StreamId view_cursor_hi(Target *t, const Unseen *u, StreamId last_id);

/* view_count with the lock held and what is unseen known. */
extern uint64 view_count_locked(Target *t, const Unseen *u, StreamId lo, StreamId hi);

extern void unseen_sort(Unseen *u);
extern bool unseen_has(const Unseen *u, StreamId id);	/* after unseen_sort */

#endif							/* STREAM_VIEW_INT_H */
