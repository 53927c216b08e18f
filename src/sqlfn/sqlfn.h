/*
 * sqlfn.h
 *	  What the SQL functions share: reading arguments, building rows.
 *
 * The functions parse their arguments, call the transaction layer and build
 * results; they know nothing of locks or shared memory.
 */
#ifndef STREAM_SQLFN_H
#define STREAM_SQLFN_H

#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"

#include "types/streamfields.h"
#include "types/streamid.h"
#include "types/streamids.h"
#include "types/streampos.h"
#include "xact/xact.h"

/* A stream's name as an argument: not NULL (22004), not too long (42622). */
typedef struct KeyArg
{
	const char *name;
	uint32		len;
} KeyArg;

extern KeyArg arg_key(FunctionCallInfo fcinfo, int n);
extern KeyArg key_from_text(text *t);

/* An argument that must not be NULL (22004: names it). */
extern void arg_not_null(FunctionCallInfo fcinfo, int n, const char *name);

/* A bigint or boolean argument with a default for NULL. */
extern int64 arg_int64(FunctionCallInfo fcinfo, int n, int64 null_value);
extern bool arg_bool(FunctionCallInfo fcinfo, int n, bool null_value);

/* The name of a group or a consumer: not NULL (22004, naming the argument),
 * not longer than GROUP_NAME_MAX (42622). */
typedef KeyArg NameArg;
extern NameArg arg_name(FunctionCallInfo fcinfo, int n, const char *name);

/* What becomes of groups' records of an entry that goes; NULL is DELREF.
 * 22023. */
extern Refs arg_refs(FunctionCallInfo fcinfo, int n);

/* COUNT as Redis' reads take it: not positive means all. */
extern int64 arg_count(FunctionCallInfo fcinfo, int n, int64 null_value);

/* maxlen, minid, approx from argument n on, trim_limit and refs where said;
 * false: no trim asked for.  22023 for what does not go together. */
extern bool arg_trim(FunctionCallInfo fcinfo, int n, int limit, int refs, TrimSpec *spec);

/* A duration in milliseconds; negative is refused (22023).  -1 for NULL. */
extern int64 arg_duration(FunctionCallInfo fcinfo, int n, const char *name);

/* Milliseconds as an interval. */
extern Datum interval_from_ms(uint64 ms);

/* Ids of an argument, streamids or (variadic) streamids[]; NULL is none. */
typedef struct IdsArg
{
	const StreamId *given;		/* in the caller's order, with repetitions */
	int			ngiven;
	StreamId   *ids;			/* in order, each once */
	int			n;
} IdsArg;

extern IdsArg arg_ids(FunctionCallInfo fcinfo, int n, bool variadic);

/* The fields of one entry after another, each in the place of the one before.
 * All zero to begin with; grows in the current context. */
typedef struct FieldsBuf
{
	char	   *buf;
	Size		cap;
} FieldsBuf;

extern Datum fields_buf_put(FieldsBuf *b, const NodeEntry *e);

/* Rows (id, fields) or (key, id, fields) into the function's tuplestore. */
typedef struct RowSink
{
	ReturnSetInfo *rsinfo;
	bool		with_key;
	Datum		key;
	FieldsBuf	fields;
} RowSink;

extern void rows_begin(FunctionCallInfo fcinfo, RowSink *sink, bool with_key);
extern void rows_put(RowSink *sink, const NodeEntry *e);

/* The fields of an entry as a value of their own. */
extern StreamFields *entry_fields(const NodeEntry *e);

/* Add an entry, then trim if asked to (add.c).  False: the stream is missing
 * and not to be made.  *repeated: pair was there, nothing was added or
 * trimmed. */
extern bool add_entry(Db *db, KeyArg key, bool mkstream, const StreamPos *pos, const uint8 *fields,
					  const IdmpKey *pair, const TrimSpec *trim, StreamId *id, bool *repeated);

/* Elements of an array argument of any type; NULL elements are refused
 * (22004, naming the argument) unless nulls is given. */
extern int arg_array(FunctionCallInfo fcinfo, int n, const char *name, Datum **elems, bool **nulls);

/* The arguments of xrange and xrevrange. */
typedef struct RangeArgs
{
	Db		   *db;
	KeyArg		key;
	StreamId	lo;
	StreamId	hi;
	bool		reverse;
	int64		count;
} RangeArgs;

extern Datum stream_xrange(PG_FUNCTION_ARGS);
extern Datum stream_xrevrange(PG_FUNCTION_ARGS);
extern void range_args(FunctionCallInfo fcinfo, RangeArgs *a);

/* read.c: waiting.  block: milliseconds, 0 for ever. */
extern void refuse_block(void);	/* 25001 where one snapshot serves all statements */
extern void refuse_atomic(FunctionCallInfo fcinfo, const char *command, const char *instead);	/* 25001 */
extern TimestampTz deadline_after(int64 block);	/* 0: none */
extern bool sleep_until(TimestampTz deadline, bool group);	/* false: it has come */

/* views.c: the live streams for which the caller has the privileges `need`
 * (PRIV_SELECT: or is a member of pg_monitor), by name; palloc'd. */
extern int	streams_allowed(Db *db, uint32 need, KeyArg **keys);

/* scan.c: ranges in FROM without a tuplestore */
extern void strm_scan_init(void);	/* from _PG_init */

#endif							/* STREAM_SQLFN_H */
