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

/* Lock the stream shared and fill u; `first`: as a look (strm_look).  False:
 * the stream is gone, not locked.  72000. */
extern bool unseen_lock(Target *t, Unseen *u, Snapshot snap, bool first);

extern void unseen_sort(Unseen *u);
extern bool unseen_has(const Unseen *u, StreamId id);	/* after unseen_sort */

#endif							/* STREAM_VIEW_INT_H */
