/*
 * xact.h
 *	  What the running transaction does to streams, and what it sees of them.
 *
 * Model (after async.c of the server)
 *	1. An operation is decided at the call and put on the list of the stream's
 *	   Pend, private to this backend and tagged with its subtransaction; what
 *	   others must respect meanwhile is registered in shared memory as the
 *	   transaction's Part in the stream.  The list is the only truth about the
 *	   open transaction.
 *	2. A subtransaction that commits hands its operations to its parent; one
 *	   that aborts cuts them off the end of the lists and what they had
 *	   registered is taken back.
 *	3. At pre-commit the lists become change sets: memory for their merge is
 *	   set aside, rows are written, a number is taken, the sets are queued.
 *	   Any of that may fail, and then the transaction aborts.
 *	4. At commit one store makes the sets effective; merging and waking is the
 *	   last thing done.  At abort the same with the opposite sign.
 *	5. PREPARE TRANSACTION is refused.
 *
 * What a function sees = shared state as of its snapshot + the lists.
 *
 * Locking: nothing here holds a lightweight lock when it can raise an error.
 */
#ifndef STREAM_XACT_H
#define STREAM_XACT_H

#include "store/store.h"
#include "types/streampos.h"

/* Entries this transaction has added: a chunk (engine/stream.h) of one run of
 * ids and of one subtransaction. */
typedef struct Chunk
{
	StreamId	first;
	StreamId	last;
	uint32		entries;
	uint32		bytes;
	uint32		cap;
	bool		new_run;		/* ids of others may lie before it */
	SubTransactionId sub;
	TransactionId xid;			/* of the subtransaction */
	uint8	   *lp;
} Chunk;

typedef struct Deletion
{
	StreamId	id;
	bool		own;			/* of an entry of this transaction: not registered */
	bool		again;			/* the entry is gone: just for its pending records */
	uint32		flags;			/* STREAM_DEL_... */
	SubTransactionId sub;
	TransactionId xid;
} Deletion;

/* A (producer, iid) pair that made an entry. */
typedef struct Pairing
{
	SetPair		pair;
	bool		again;			/* registered before, by a pair that own xcfgset has made us forget */
	SubTransactionId sub;
	TransactionId xid;
} Pairing;

/* XSETID or XCFGSET, resolved to what the header is then. */
typedef struct HeaderChange
{
	SetHeader	set;
	bool		forgets;		/* all pairs from before */
	SubTransactionId sub;
	TransactionId xid;
} HeaderChange;

typedef struct Trim
{
	StreamId	to;
	StreamId	refs_to;		/* pending records go up to here */
	SubTransactionId sub;
	TransactionId xid;
} Trim;

/* A change of a stream's rights. */
typedef enum GrantKind
{
	GRANT_GIVE,
	GRANT_TAKE,
	GRANT_OWNER					/* role is the new owner */
} GrantKind;

typedef struct GrantChange
{
	GrantKind	kind;
	Oid			role;			/* InvalidOid: everybody */
	uint32		mask;
	SubTransactionId sub;
	TransactionId xid;
} GrantChange;

/* What this transaction has done to one stream. */
typedef struct Pend
{
	struct Pend *next;			/* list of all */
	SharedStream *ss;
	int64		id;
	EngHandle	part;			/* 0: nothing registered yet */
	Oid			checked;		/* role whose right to change it was checked */
	uint32		checked_for;	/* which privileges */
	uint32		checked_version;	/* and as of which SharedStream.rights_version */
	Oid			made_by;		/* role that makes it, or joins others who do; invalid once
								 * the owner of a live stream was asked */
	bool		live;			/* existed before we took our part in it, and so still does */

	bool		made;			/* xcreate of a missing stream */
	SubTransactionId made_sub;
	bool		dropped;
	SubTransactionId dropped_sub;
	int			nnames;			/* changes of names whose holder this is (names.c) */
	bool		placeholder;	/* a name's holder and nothing else */

	Chunk	   *chunks;
	int			nchunks;
	int			chunks_cap;
	uint64		nentries;		/* in chunks */
	Deletion   *dels;
	int			ndels;
	int			dels_cap;
	Trim	   *trims;
	int			ntrims;
	int			trims_cap;
	Pairing    *pairs;
	int			npairs;
	int			pairs_cap;
	HeaderChange *headers;
	int			nheaders;
	int			headers_cap;
	GrantChange *grants;
	int			ngrants;
	int			grants_cap;
	struct GroupOp *gops;		/* operations on groups: group.h */
	int			ngops;
	int			gops_cap;
	uint8	   *gop_bytes;		/* theirs, one behind the other */
	Size		gop_used;
	Size		gop_cap;
	struct GroupPend *groups;	/* the groups they are of */
	SubTransactionId touched;	/* newest subtransaction that has operations here */

	/* derived from the lists: the ids of dels, sorted, in two arrays; the
	 * small one takes what does not come in rising order */
	bool		gone_stale;		/* to be made anew: pend_refresh */
	StreamId   *gone;
	int			ngone;
	int			gone_cap;
	StreamId   *fresh;
	int			nfresh;
	int			fresh_cap;
	StreamId	trim_to;		/* of the last trim, 0-0 if there is none */
	StreamId	trim_refs;		/* of the last that took pending records along */
	int			nkeep;			/* deletions that leave them; their ids, sorted: */
	StreamId   *kept;
	int			nkept;			/* other than nkeep: to be made anew */
	int			kept_cap;
	int			nagain;			/* deletions just for pending records */

	/* while committing */
	EngHandle	changeset;
	bool		create;			/* this transaction writes the catalog row */
	bool		leaves;			/* the name that leads here leads elsewhere then: */
	struct Pend *heir;			/* to this, or nowhere */
	const char *new_name;		/* what the stream is to be called; NULL: as it is */
	uint32		new_len;
	Rights	   *rights;			/* what the stream's are to be; NULL: as they are */
} Pend;

/* A name leads elsewhere from here on, for this transaction. */
typedef struct NameChange
{
	Pend	   *holder;			/* of the place that the registry leads to */
	int64		id;				/* of the stream it leads to; 0: nowhere */
	SubTransactionId sub;
	int			before;			/* the next older of its hash, if there is an index */
	uint32		hash;
	uint32		len;
	const char *name;
} NameChange;

/* A stream as named in a call. */
typedef struct Target
{
	Db		   *db;
	const char *name;
	uint32		len;
	SharedStream *ss;			/* NULL: there is none that this transaction sees */
	int64		id;
	Pend	   *pend;			/* NULL: nothing done to it yet */
	bool		ours;			/* the name means what this transaction has made it mean */
	uint32		need;			/* privileges asked for */
	Oid			owner;			/* whose it was when the rights were looked at */
	bool		provisional;	/* it is there only for transactions that are making it */
	uint32		node_max_bytes;
	uint32		node_max_entries;
	TimestampTz until;			/* the operation waits for others no longer than so; 0: as long as it takes */
	bool		late;			/* it has given up for that */
} Target;

/* --- access.c: finding streams and the right to use them --- */

extern int	strm_node_max_bytes;	/* settings for streams made from now on */
extern int	strm_node_max_entries;

/* Entry of every SQL function: memory there, not in recovery, database loaded.
 * `command` names the function in errors; write: refused in read-only
 * transactions.  55000, 0A000, 25006. */
extern Db  *strm_use(const char *command, bool write);

/* The database as strm_use gave it last, or NULL; raises nothing. */
extern Db  *strm_db_loaded(void);

/* Find a stream for reading: what the active snapshot and this transaction
 * see.  False if missing.  42501 if the caller lacks a privilege of `need`
 * (PRIV_SELECT for whatever tells about entries). */
extern bool strm_open_read(Db *db, const char *name, uint32 len, uint32 need, Target *t);

/* The same for changing it; 42501 likewise. */
extern bool strm_open_write(Db *db, const char *name, uint32 len, uint32 need, Target *t);

/* For adding: makes a provisional stream if it is missing and `make`. */
extern bool strm_open_add(Db *db, const char *name, uint32 len, bool make, uint32 need, Target *t);

pg_noreturn extern void strm_raise_missing(const char *name, uint32 len);
pg_noreturn extern void strm_raise_exists(const char *name, uint32 len);
extern void strm_check_broken(SharedStream *ss);

/* --- limit.c --- */

/* Wait for the end of a transaction, as for a row; until: no longer than so (0:
 * as long as it takes).  False: the time was over before.  40P01, 55P03. */
extern bool strm_wait_xact(TransactionId xid, TimestampTz until);

/* --- pend.c: the lists --- */

/* Room for `more` elements after the n that an array of the lists has. */
#define PEND_GROW(array, n, cap, more) \
	do { \
		if ((n) + (more) > (cap)) \
		{ \
			Size		newcap_ = Max((Size) (n) + (more), (cap) == 0 ? 4 : 2 * (Size) (cap)); \
			\
			(array) = (array) == NULL ? MemoryContextAllocHuge(pend_context(), newcap_ * sizeof(*(array))) \
				: repalloc_huge((array), newcap_ * sizeof(*(array))); \
			(cap) = newcap_; \
		} \
	} while (0)

extern Pend *pend_find(SharedStream *ss, int64 id);
extern Pend *pend_find_id(int64 id);
extern Pend *pend_get(SharedStream *ss, int64 id);
extern Pend *pend_first(void);
extern MemoryContext pend_context(void);	/* goes when the transaction has ended */

/* Before an operation, outside all locks: the subtransaction has an xid, the
 * Pend knows it, the lists have room for one more (n more deletions). */
extern TransactionId pend_prepare(Pend *p, int ndels);
extern void pend_prepare_rare(Pend *p);	/* room for a pair and a header, too */
extern EngHandle pend_part(Pend *p);	/* registers the Part; lock held; 0: no memory */

extern void pend_add_entry(Pend *p, StreamId id, bool new_run, const uint8 *fields);
extern void pend_add_trim(Pend *p, StreamId to, bool keep);
extern void pend_add_pair(Pend *p, const IdmpKey *key, StreamId id, bool again);
extern void pend_add_header(Pend *p, const StreamHeader *header, bool forgets);

/* Before a change of rights, instead of pend_prepare; and the change. */
extern TransactionId pend_prepare_grant(Pend *p);
extern void pend_add_grant(Pend *p, GrantKind kind, Oid role, uint32 mask);

extern bool pend_is_empty(const Pend *p);
extern bool pend_last_id(const Pend *p, StreamId *id);	/* greatest id added */
extern StreamId pend_top(const Pend *p);	/* the last id with our changes; lock held */
extern void pend_header(const Pend *p, StreamHeader *h);	/* the same for all of it */
extern bool pend_pair(const Pend *p, const IdmpKey *key, StreamId *id);	/* not forgotten */
extern bool pend_has(const Pend *p, StreamId id);	/* an entry of ours, not gone */
extern uint64 pend_count(const Pend *p, StreamId lo, StreamId hi);	/* not gone */

extern void pend_sub_commit(SubTransactionId sub, SubTransactionId parent);
extern void pend_sub_abort(SubTransactionId sub);
extern void pend_release(Pend *p);	/* take back what is registered; cannot fail */
extern void pend_unlink(Pend *p);

/* Before waiting for another at this stream, the lock still held: a part that
 * holds nothing is given up, so that others do not wait for it. */
extern void pend_let_go(Pend *p);

/* The same, the lock not held, where the part says already what did not come
 * onto the lists. */
extern void pend_give_up(Pend *p);

/* Index of the first chunk whose last id is >= id. */
extern int	pend_chunk_from(const Pend *p, StreamId id);

/* At pre-commit: chunks that only their subtransactions kept apart become one. */
extern void pend_join_chunks(Pend *p);

extern void pend_forget_all(void);

/* --- names.c: what names mean to this transaction --- */

/* The newest change of the name; NULL: it means what the registry says. */
extern const NameChange *names_find(const char *name, uint32 len);

/* The name leads to stream `id` from here on, 0: nowhere.  May raise. */
extern void names_change(const char *name, uint32 len, Pend *holder, int64 id);
extern void names_leave(const Target *t);	/* t's stream has its name no longer */

extern void names_sub_commit(SubTransactionId sub, SubTransactionId parent);
extern void names_sub_abort(SubTransactionId sub);
extern void names_forget(void);
extern void names_settle(void);	/* at pre-commit: heirs and new names of all Pends */

/* --- gone.c: what is deleted --- */

#define PEND_FRESH_MAX	512		/* ids in Pend.fresh */

extern void pend_add_deletion(Pend *p, StreamId id, bool own, bool again, uint32 flags);
extern void pend_undelete(Pend *p, int from);	/* the deletions from this one on */
extern void pend_refresh(Pend *p);	/* brings gone up to date */
extern bool pend_is_gone(const Pend *p, StreamId id);	/* deleted or trimmed by us */
extern bool pend_refs_gone(const Pend *p, StreamId id);	/* and its pending records with it */
extern bool pend_any_deleted(const Pend *p, StreamId lo, StreamId hi);	/* trims not considered */

/* --- commit.c: callbacks --- */

extern void strm_xact_init(void);	/* from _PG_init */
extern void strm_check_sealed(void);	/* 55000 after pre-commit */

/* --- lifecycle.c: drops of the extension and of databases, and the like --- */

extern void strm_lifecycle_init(void);
extern void strm_lifecycle_finish(bool committed);
extern bool strm_lifecycle_dropped(void);	/* has this transaction dropped any? */
extern void strm_lifecycle_sub_commit(SubTransactionId sub, SubTransactionId parent);
extern void strm_lifecycle_sub_abort(SubTransactionId sub);

/* --- view.c: one look --- */

/* What a look found; taken under one holding of the lock. */
typedef struct View
{
	uint64		length;			/* live entries that the caller sees, own changes included */
	uint64		entries_added;
	StreamId	last_id;		/* greatest id, own adds included */
	StreamId	max_deleted_id;
	StreamId	cursor_hi;		/* a cursor read ends with this id at the latest */
	StreamId	last;			/* what `$` means */
	uint64		nodes;
	uint64		rax_nodes;
	uint64		bytes;
	uint32		node_max_bytes;
	uint32		node_max_entries;
	uint64		applied;
	uint32		idmp_duration;
	uint32		idmp_maxsize;
	uint64		producers;		/* with pairs; of merged adds only, as is iids */
	uint64		iids;
	uint64		iids_added;		/* own included */
	uint64		iids_duplicates;
} View;

/* 72000 if the snapshot is too old; false if the stream is gone. */
extern bool view_take(Target *t, View *v);

/* Count what the caller sees between lo and hi, inclusive. */
extern uint64 view_count(Target *t, StreamId lo, StreamId hi);

/* A planner's guess of view_count: merged entries only, no waiting, no error.
 * False if it cannot tell. */
extern bool strm_estimate(const char *name, uint32 len, StreamId lo, StreamId hi, uint64 *n);

/* --- reader.c: entries in order --- */

typedef struct Reader Reader;

/* Entries lo <= id <= hi as the caller sees them.  The snapshot is the active
 * one.  want: how many are likely to be read (0: all). */
extern Reader *reader_open(Target *t, StreamId lo, StreamId hi, bool reverse, int64 want);

/* The same as of a snapshot that lasts as long as the reader. */
extern Reader *reader_open_at(Target *t, Snapshot snap, StreamId lo, StreamId hi, bool reverse, int64 want);
extern bool reader_next(Reader *r, NodeEntry *e);	/* valid until the next call */
extern void reader_close(Reader *r);

/* --- add.c, remove.c, create.c, rename.c, header.c: operations --- */

/* What becomes of the pending records that groups have of a removed entry. */
typedef enum Refs
{
	REFS_DELETE,				/* DELREF: they go too */
	REFS_KEEP,					/* KEEPREF */
	REFS_ACKED					/* ACKED: an entry that a group has yet to deliver, or has
								 * pending, is not removed */
} Refs;

typedef struct TrimSpec
{
	bool		by_len;
	bool		by_id;
	uint64		maxlen;
	StreamId	minid;
	bool		approx;
	Refs		refs;
	uint64		limit;			/* entries; 0: none */
} TrimSpec;

/* XADD: reserve an id and put the entry on the list.  Should the stream be
 * gone it is made again, or (make is false) nothing is added: false.  ST001,
 * 54000.  pair, if not NULL, comes with an automatic id: if it is remembered,
 * *id is that of the entry it made, *repeated is true and nothing is added. */
extern bool strm_add(Target *t, const StreamPos *pos, const uint8 *fields, const IdmpKey *pair,
					 bool make, StreamId *id, bool *repeated);

/* Lock the stream for an operation, its Part registered: waits for who has it
 * to himself, or before it has a part for who wants to.  snap as in strm_look.
 * False: it is gone, find it again. */
extern bool strm_op_lock(Target *t, Pend *p, Snapshot snap);

/* XTRIM, resolved now; `wait`: for others who trim here, so that the count is
 * exact.  Returns how many entries go. */
extern uint64 strm_trim(Target *t, const TrimSpec *spec, bool wait);

/* Live entries, merged and own.  Lock held, lists refreshed. */
extern uint64 strm_live(Pend *p);

/* The stream locked, the caller its owner and nobody else with a part in it but
 * such as wait to be alone, too.  NULL, or 42704: it is missing. */
extern Pend *strm_lock_alone(Db *db, const char *name, uint32 len, bool missing_ok, Target *t);

/* XSETID; negative entries_added and max_deleted NULL: leave alone.  22023;
 * 0A000 where it is lowered after a removal by the same transaction. */
extern void strm_set_id(Db *db, const char *name, uint32 len, StreamId last, int64 entries_added,
						const StreamId *max_deleted);

/* XCFGSET; 0 leaves alone.  The values are in their ranges. */
extern void strm_configure(Db *db, const char *name, uint32 len, uint32 idmp_duration,
						   uint32 idmp_maxsize, uint32 node_max_bytes, uint32 node_max_entries);

/* Sort ids and drop repetitions; returns how many are left. */
extern int	strm_sort_ids(StreamId *ids, int n);

/* XDEL, XDELEX, of sorted ids: returns how many were there and are removed.
 * results, if not NULL: of each 1 removed, -1 not there, 2 referenced. */
extern uint64 strm_delete(Target *t, const StreamId *ids, int nids, Refs refs, int32 *results);

/* Make or drop a stream.  strm_make: false if it was there. */
extern bool strm_make(Db *db, const char *name, uint32 len);
extern bool strm_drop(Db *db, const char *name, uint32 len);

/* Another drops or renames the stream found: whom to wait for. */
extern TransactionId strm_being_left(Target *t);

/* RENAMENX.  42704 if the stream is missing, 42710 if the new name is taken. */
extern void strm_rename(Db *db, const char *name, uint32 len, const char *to, uint32 to_len);

/* --- grant.c: privileges --- */

/* Has the role the privileges `need` by these rights?  May raise. */
extern bool strm_allowed(Oid role, const Rights *r, uint32 need);

/* Carry out on a copy of a stream's rights what this transaction changes. */
extern void pend_rights(const Pend *p, Rights *r);

/* The privileges that what is on the lists needs. */
extern uint32 pend_needs(const Pend *p);

/* xgrant, xrevoke, xowner: waits for another transaction that changes the
 * stream's rights.  42704, 42501. */
extern void strm_regrant(Db *db, const char *name, uint32 len, GrantKind kind, Oid role, uint32 mask);

/* At pre-commit, once it is settled who makes the stream: the rights it is to
 * have, in p->rights, and their rows.  Writes the catalog row if p->create, its
 * new name if p->new_name. */
extern void strm_settle_rights(Pend *p);

#endif							/* STREAM_XACT_H */
