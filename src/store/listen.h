/*
 * listen.h
 *	  Streams whose new entries are signalled with NOTIFY.
 *
 * listen.c has the model.  Functions take the listen lock and no other, but
 * for the arena's, unless said otherwise.
 */
#ifndef STREAM_LISTEN_H
#define STREAM_LISTEN_H

#include "store/store.h"

/* --- channels --- */

#define CHANNEL_SIZE	64		/* bytes of a channel's name with its zero, NAMEDATALEN */

/* The channel of a stream: "stream." and its name, or where that is longer
 * than a channel may be, "stream#" and a digest of the name.  May raise. */
extern void strm_channel(const char *name, uint32 len, char *channel);

/* --- this session --- */

#define LISTEN_NAMES_MAX	1000	/* of a session: names need no privilege, and take shared memory */

/* Have the session's database signal new entries of the stream of that name,
 * be it there or not; a second time does nothing.  54000 for too many, 53200.
 * A warning where no worker can be had. */
extern void strm_listen(const char *name, uint32 len);

/* No more, as far as this session goes; cannot fail. */
extern void strm_unlisten(const char *name, uint32 len);
extern void strm_unlisten_all(void);

/* --- the database for oneself --- */

/* Have the database's worker leave, and wait until it has; it stays away until
 * strm_listen_unhold.  One database at a time.  Can be cancelled. */
extern void strm_listen_hold(Oid dboid);
extern void strm_listen_unhold(void);	/* cannot fail */

/* --- the worker of a database --- */

/* What is to be said: the channel's stream, and the newest id then. */
typedef struct Signal
{
	uint64		mark;			/* which saying of it this is */
	StreamId	newest;
	uint32		len;
	char		name[STREAM_NAME_MAX];
} Signal;

/* Called first, before the worker has connected: is it wanted?  If so it is
 * known as the database's worker until it exits. */
extern bool strm_worker_begin(Oid dboid);

/* Is it still wanted, and is there something to say? */
extern bool strm_worker_wanted(Oid dboid, bool *something);

/* Copy what is to be said, at most cap of it; it is to be said until
 * strm_signals_sent is told that it was. */
extern int	strm_signals_take(Oid dboid, Signal *signals, int cap);
extern void strm_signals_sent(Oid dboid, const Signal *signals, int n);

#endif							/* STREAM_LISTEN_H */
