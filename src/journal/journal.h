/*
 * journal.h
 *	  The durable form of streams: heap tables.
 *
 *	stream.catalog		one row a stream: id, name, owner, limits
 *	stream.privilege	one row a grant: stream, role, privileges
 *	stream.default_privilege
 *						grants that the streams of a role will be made with
 *	stream.journal_0	the change sets of committed transactions, numbered in
 *						the order in which they take effect
 *	stream.in_use		a row once this database has written such a set
 *
 * All are ordinary tables of the extension, written with the transaction
 * that makes the change and read when the database's streams are first used
 * after a start.  docs/formats.md draws the bytes of a journal row.
 *
 * Layer: knows the store (to load into it) and the engine; not the
 * transaction layer.  All functions may raise errors; none holds a
 * lightweight lock when it does.
 */
#ifndef STREAM_JOURNAL_H
#define STREAM_JOURNAL_H

#include "port/pg_crc32c.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "store/store.h"

/* --- tables.c: the tables and their oids --- */

extern Oid	strm_schema_oid(void);
extern Oid	strm_catalog_oid(void);	/* 55000 if the extension's tables are not there */
extern Oid	strm_journal_oid(void);
extern Oid	strm_privilege_oid(void);
extern Oid	strm_default_privilege_oid(void);
extern Relation strm_table_open(Oid oid, LOCKMODE mode);	/* 55000 if it was dropped meanwhile */

/* Is there a row, other than this transaction's own if by_others? */
extern bool strm_table_filled(Oid oid, bool by_others);
extern void strm_tables_init(void); /* from _PG_init: invalidation callback */

extern void strm_catalog_insert(int64 id, const char *name, uint32 len, Oid owner,
								uint32 node_max_bytes, uint32 node_max_entries);
extern void strm_catalog_delete(int64 id);
extern void strm_catalog_change(int64 id, const char *name, uint32 len, Oid owner);	/* NULL, InvalidOid: as it is */

/* Has this database written a change set, ever?  Reads the table; and write
 * the row that says so. */
extern bool journal_in_use(void);
extern void journal_mark_in_use(void);

/* --- privilege.c: the rows of grants --- */

/* Privileges as text: a list of names, or ALL.  0: it is none. */
extern uint32 strm_privileges_mask(const char *text, int len);
extern char *strm_privileges_text(uint32 mask);

/* Make the rows of a stream say these grants; NULL: none. */
extern void strm_privilege_write(int64 id, const Rights *r);

/* Give the default grants of a role's streams in r. */
extern void strm_defaults_read(Oid owner, Rights *r);

/* Change them; waits for another who does. */
extern void strm_default_change(Oid owner, Oid grantee, uint32 give, uint32 take);

/* --- format.c: the bytes of a transaction in the journal --- */

/* Takes the bytes of a payload one after another. */
typedef struct PayloadSink
{
	void		(*put) (struct PayloadSink *sink, const void *data, Size len);
} PayloadSink;

/* One stream's share of a payload, as written and as read. */
typedef struct StreamSet
{
	int64		stream_id;
	uint32		nchunks;
	uint32		ndels;
	StreamId	trim_to;
	StreamId	trim_keep;
	uint32		npairs;
	uint32		nheaders;
	uint32		ngops;
} StreamSet;

typedef struct ChunkHead
{
	StreamId	first;
	uint32		bytes;			/* of the listpack that follows */
	bool		new_run;
} ChunkHead;

#define JOURNAL_FORMAT	1

extern void payload_put_head(PayloadSink *sink, uint32 nstreams);
extern void payload_put_set(PayloadSink *sink, const StreamSet *set);
extern void payload_put_chunk(PayloadSink *sink, const ChunkHead *head, const uint8 *lp);
extern void payload_put_del(PayloadSink *sink, const SetDel *del);
extern void payload_put_pair(PayloadSink *sink, const SetPair *pair);
extern void payload_put_header(PayloadSink *sink, const SetHeader *header);

/* Checking reader over a whole payload in memory. */
typedef struct PayloadReader
{
	const uint8 *p;
	const uint8 *end;
} PayloadReader;

extern bool payload_get_head(PayloadReader *r, uint32 *nstreams);
extern bool payload_get_set(PayloadReader *r, StreamSet *set);
extern bool payload_get_chunk(PayloadReader *r, ChunkHead *head, const uint8 **lp);
extern bool payload_get_del(PayloadReader *r, SetDel *del);
extern bool payload_get_pair(PayloadReader *r, SetPair *pair);
extern bool payload_get_header(PayloadReader *r, SetHeader *header);
extern bool payload_get_gop(PayloadReader *r, Gop *op);

/* --- write.c --- */

/* Bytes of a payload that go into one row. */
#define JOURNAL_PIECE	8000

typedef struct JournalWriter
{
	PayloadSink sink;			/* put payload bytes here */
	Db		   *db;
	Relation	rel;
	struct BulkInsertStateData *bulk;	/* once there is more than one row */
	int64		piece_set;		/* 0: it all fits the numbered row */
	int32		npieces;
	pg_crc32c	crc;
	Size		used;
	struct
	{
		int32		vl_len;		/* a bytea */
		char		data[JOURNAL_PIECE];
	}			piece;
} JournalWriter;

/* Open and lock the journal.  Bytes put into the sink that do not fit one row
 * are written at once; the rest goes with the number. */
extern void journal_begin(JournalWriter *w, Db *db);

/* Write the numbered row, which makes the set complete. */
extern void journal_finish(JournalWriter *w, uint64 number);

/* --- load.c --- */

/* See to it that the database's streams are in memory; waits for another who
 * is loading them.  XX001 if the tables are not sound. */
extern void journal_load(Db *db);

/* Until the transaction ends nobody loads; waits for one who does. */
extern void journal_hold_load(Db *db);

/* The first change set of a database that was found empty is about to be
 * written: 55000 if somebody has filled the tables since, past the guard. */
extern void journal_check_empty(Db *db);

#endif							/* STREAM_JOURNAL_H */
