/*
 * groupfn.h
 *	  What the SQL functions of consumer groups share.
 */
#ifndef STREAM_GROUPFN_H
#define STREAM_GROUPFN_H

#include "sqlfn/sqlfn.h"
#include "xact/group.h"

/* Open a group of a stream; write: to change something.  42704 if the stream
 * is missing, 42501.  The group is looked for by the operation. */
extern void open_group(Db *db, KeyArg key, NameArg grp, uint32 need, bool write, GroupTarget *gt);

/* 22023: a stream as its own dead-letter stream. */
pg_noreturn extern void refuse_dead_letter(KeyArg key);

/* The consumer, min_idle and justid of a claim; *spec is all set. */
extern void arg_claim(FunctionCallInfo fcinfo, int consumer, int min_idle, int justid, ClaimSpec *spec);

/*
 * Entries found by id, one after another.  Ids that follow each other closely
 * are read in one go; for one that is far from the one before reading begins
 * anew.
 */
typedef struct EntryFinder
{
	Target	   *t;
	Reader	   *reader;			/* NULL: none open */
	StreamId	hi;				/* where it ends */
	StreamId	at;				/* asked for last */
	NodeEntry	e;				/* its newest */
	bool		has;
} EntryFinder;

/* The entry of that id, valid until the next call; NULL: there is none.  hi
 * and want: how far the ids to be asked for next go on in order, and how many
 * they are. */
extern const NodeEntry *finder_get(EntryFinder *f, StreamId id, StreamId hi, int64 want);
extern void finder_end(EntryFinder *f);

/* The entries of a list of given ones. */
typedef struct GivenWalk
{
	const GivenList *list;
	int			next;
	int			run_end;		/* ids up to here are in order */
	EntryFinder finder;
} GivenWalk;

extern void given_walk(GivenWalk *w, Target *t, const GivenList *list);

/* The next one, and its entry or NULL if that is not there (any more). */
extern bool given_next(GivenWalk *w, const Given **g, const NodeEntry **e);

/* Columns of a group (GroupView; those of stream.groups follow), a consumer
 * and a pending record.  The values point into the view; now in ms. */
#define GROUP_COLUMNS		16
#define CONSUMER_COLUMNS	4
#define PENDING_COLUMNS		4
extern void group_row(const GroupView *v, Datum *values, bool *nulls);
extern void consumer_row(const ConsumerView *v, uint64 now, Datum *values, bool *nulls);
extern void pending_row(const PendingView *v, uint64 now, Datum *values, bool *nulls);

/* Put a row into the function's tuple store. */
extern void put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);

extern Datum name_datum(const char *s, uint32 len);

#endif							/* STREAM_GROUPFN_H */
