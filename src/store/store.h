/*
 * store.h
 *	  Shared memory of the extension: streams, change-set queues, transient
 *	  state of running transactions, waiters.
 *
 * Model
 *	1. All of it lives in one arena (engine/arena.h) of stream.memory bytes.
 *	   A SharedStream is the place of one stream.  Places are never given back
 *	   to the arena, only reused for other streams, so that a pointer to one
 *	   may always be locked; who has locked it checks that it still holds the
 *	   stream he came for (same id).
 *	2. Committed state (SharedStream.stream) changes only by merging change
 *	   sets from the head of the stream's queue, in the order of their
 *	   numbers, each once its transaction has committed or aborted.
 *	3. What running transactions have done to a stream is a list of parts, one
 *	   a transaction: the ids it has reserved, how far it trims, what it
 *	   deletes.  A part belongs to its backend until the transaction has its
 *	   number, then to the change set, and goes when that is merged or skipped.
 *	4. Recent adds are kept in one ring for all streams, so that a read can
 *	   leave out what its snapshot does not see (recent.c).
 *
 * Locks, in the order in which they may be taken
 *	  Db.sequencer			numbers and queue appends of one database
 *	  SharedStream.lock		one stream; never two at a time
 *	  registry				names and places
 *	  listen				who listens to what (listen.c)
 *	  SharedStream.q_mutex	(spinlock) the queue's links
 *	  arena					(inside the engine's calls)
 * None is held across a wait, a table access, or anything that can raise an
 * error.  The functions below say which they take.
 */
#ifndef STREAM_STORE_H
#define STREAM_STORE_H

#include "compat.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/snapshot.h"

#include "engine/group.h"
#include "engine/stream.h"

#define STREAM_NAME_MAX		512 /* bytes of a stream's name */

/* --- one database's streams --- */

typedef enum LoadState
{
	LOAD_NONE,					/* not, or not wholly, read from the tables */
	LOAD_DONE,
	LOAD_GONE					/* the tables were dropped */
} LoadState;

typedef struct Db
{
	/* set when made, then constant */
	EngHandle	next;			/* list of all; registry lock */
	Oid			dboid;
	Oid			catalog;		/* oid of stream.catalog: another after DROP, CREATE EXTENSION */

	pg_atomic_uint32 load;		/* a LoadState; the loader holds a lock (journal/load.c) */

	pg_atomic_uint32 in_use;	/* stream.in_use has a row; never reset */

	/* protected by sequencer */
	LWLock		sequencer;
	uint64		next_number;	/* of the next change set */

	pg_atomic_uint64 next_piece_set;	/* of the next large set's pieces */
	pg_atomic_uint64 next_stream_id;	/* never handed out twice once it is in the journal */

	/* waiters for streams that do not exist: registry lock */
	EngHandle	waiters;
} Db;

/* --- who may do what with a stream --- */

#define PRIV_SELECT		1		/* read, and what tells about entries */
#define PRIV_INSERT		2		/* add */
#define PRIV_UPDATE		4		/* work with groups */
#define PRIV_DELETE		8		/* delete and trim */
#define PRIV_WRITES		(PRIV_INSERT | PRIV_UPDATE | PRIV_DELETE)
#define PRIV_ALL		(PRIV_SELECT | PRIV_WRITES)
#define PRIV_OWNER		16		/* asked for only: drop, rename, grant */
#define PRIV_ANY		32		/* asked for only, and alone: one of PRIV_ALL */

typedef struct StreamGrant
{
	Oid			role;			/* InvalidOid: everybody */
	uint32		mask;			/* of PRIV_ALL, never 0 */
} StreamGrant;

/* The grants of a stream in shared memory: a block that is constant while it
 * is there, exchanged as a whole when a set that changes it is merged. */
typedef struct StreamGrants
{
	uint32		n;
	StreamGrant grant[FLEXIBLE_ARRAY_MEMBER];
} StreamGrants;

/* One process's copy: owner and grants of a stream at a moment. */
typedef struct Rights
{
	Oid			owner;
	uint32		version;		/* SharedStream.rights_version then */
	uint32		n;
	uint32		cap;
	StreamGrant *grant;			/* in TopMemoryContext, reused */
} Rights;

/* --- transactions as others see them --- */

typedef enum TxStatus
{
	TX_PENDING,					/* has its numbers, has not ended */
	TX_COMMITTED,
	TX_ABORTED
} TxStatus;

typedef struct TxRecord
{
	pg_atomic_uint32 status;
	pg_atomic_uint32 refs;		/* change sets that point here; the last to go frees it */
	TransactionId xid;			/* of the top-level transaction; constant */
} TxRecord;

/* A transaction's part in a stream.  Protected by the stream's lock. */
typedef struct Part
{
	EngHandle	next;			/* in SharedStream.parts */
	EngHandle	prev;
	int			procno;			/* of its backend */
	int			pid;
	TransactionId xid;			/* top-level */
	TransactionId holder;		/* (sub)transaction of its newest operation: whom a second comer waits for */
	bool		numbered;		/* belongs to a change set now; written under the sequencer, a hint */
	bool		dropping;		/* drops the stream */
	bool		renaming;		/* renames it, or holds a name for another */
	bool		exclusive;		/* one of these, or sets its header: nobody else changes it meanwhile */
	bool		granting;		/* changes its owner or grants: one at a time may */
	bool		wants;			/* waits to have it to itself: nobody else begins a part in it */
	bool		idle;			/* does nothing but that: nobody waits for its end to be alone */
	uint32		ndeleting;		/* its ids in SharedStream.deleting */
	uint32		npairs;			/* its pairs in SharedStream.pairs */
	uint64		reserved;		/* how many ids */
	uint64		nflight;		/* ids it has in flight, in all groups */
	StreamId	min_id;			/* reserved ids; min > max: none */
	StreamId	max_id;
	StreamId	trim_to;		/* trims all below; 0-0: does not */
	EngHandle	uses;			/* GroupUse list: the groups it works with */
} Part;

/*
 * Transient state of a group, found by its name: which entries and records
 * running transactions have in flight, who administers the group, who waits.
 * Protected by the stream's lock.
 *
 * What a transaction has in flight (being delivered, claimed, acknowledged)
 * no other touches.  An entry that a rolled-back transaction had delivered
 * keeps its number of attempts here until it is delivered for good.
 *
 * Hints: every entry above the group's cursor and up to new_from is in flight;
 * no entry in a gap below gap_from is free to be delivered.
 */
typedef struct GroupShare
{
	EngHandle	next;			/* in SharedStream.shares */
	EngHandle	self;			/* constant */
	Rax			flight;			/* id -> who has it in flight, and attempts (share.c) */
	uint64		nflight;		/* in flight */
	uint64		ntaken;			/* of them counted in the group's lag */
	StreamId	new_from;
	StreamId	gap_from;
	uint32		nuses;			/* parts that work with the group */
	EngHandle	waiters;		/* readers of the group waiting, in order of arrival */
	EngHandle	waiters_last;
	EngHandle	waited_next;	/* in SharedStream.waited, if there are any */
	EngHandle	waited_prev;
	uint32		nwaiters;
	uint32		npromised;		/* of them have been told and are to come back */
	uint32		nalways;		/* of them are woken by every change */
	bool		mixed;			/* they differ in the time after which they claim */
	uint64		claim;			/* that time, the least of it if mixed; UINT64_MAX: the group's */
	uint64		soon_owned;		/* times of records that came since waiters were told; */
	uint64		soon_released;	/* UINT64_MAX: none did */
	uint32		name_len;		/* constant, as the name */
	char		name[FLEXIBLE_ARRAY_MEMBER];
} GroupShare;

/* A part's work with a group.  Protected by the stream's lock. */
typedef struct GroupUse
{
	EngHandle	next;			/* in Part.uses */
	EngHandle	share;
	bool		works;			/* delivers, claims, acknowledges */
	bool		wants;			/* waits to change the group itself: others do not begin to work with it */
	bool		admin;			/* changes it: alone */
} GroupUse;

/* --- change sets --- */

/* A piece of what a set adds: a chunk in the sense of engine/stream.h. */
typedef struct SetChunk
{
	StreamId	first;
	StreamId	last;
	EngHandle	prepared;		/* node made ready, or 0: the bytes are in the set */
	uint32		offset;			/* of the bytes, from the start of the set */
	bool		new_run;		/* ids of others may lie between the chunk before and this */
} SetChunk;

/* A (producer, iid) pair and the entry it made. */
typedef struct SetPair
{
	StreamId	id;
	IdmpKey		key;
} SetPair;

/* The header as set between a transaction's other operations: comes after so
 * many chunks, deletions, pairs and operations on groups of it. */
typedef struct SetHeader
{
	uint32		chunks;
	uint32		dels;
	uint32		pairs;
	uint32		gops;
	StreamHeader header;
} SetHeader;

/* An entry deleted. */
typedef struct SetDel
{
	StreamId	id;
	uint32		flags;			/* STREAM_DEL_... of engine/stream.h */
} SetDel;

/* A change set: what one transaction does to one stream.  Constant once in
 * the queue, but for next. */
typedef struct ChangeSet
{
	EngHandle	next;			/* in the queue; q_mutex */
	EngHandle	tx;				/* TxRecord */
	EngHandle	part;			/* Part */
	uint64		number;
	bool		create;			/* makes the stream (whose catalog row it wrote) */
	bool		drop;
	bool		leaves;			/* the name that leads to the stream leads elsewhere: */
	EngHandle	heir;			/* to this place, or 0: nowhere */
	int64		heir_id;		/* the stream that it must hold for that */
	EngHandle	new_name;		/* 0: keeps its name; the stream's once merged */
	uint32		new_len;
	bool		regrant;		/* sets the owner and the grants (a set that creates does) */
	Oid			owner;			/* if regrant */
	EngHandle	grants;			/* if regrant: StreamGrants, or 0 for none; the stream's once merged */
	ArenaCharge charge;			/* memory set aside for the merge */
	StreamId	trim_to;		/* 0-0: none */
	StreamId	trim_keep;		/* likewise; pending records stay */
	uint32		nchunks;
	uint32		ndels;
	uint32		npairs;
	uint32		nheaders;
	uint32		ngops;
	uint32		chunks_offset;	/* of SetChunk[nchunks] */
	uint32		dels_offset;	/* of SetDel[ndels] */
	uint32		pairs_offset;	/* of SetPair[npairs] */
	uint32		headers_offset; /* of SetHeader[nheaders] */
	uint32		gops_offset;	/* of the bytes of ngops operations on groups (engine/group.h) */
	uint32		gops_bytes;
} ChangeSet;

static inline SetChunk *
changeset_chunks(ChangeSet *cs)
{
	return (SetChunk *) ((char *) cs + cs->chunks_offset);
}

static inline SetDel *
changeset_dels(ChangeSet *cs)
{
	return (SetDel *) ((char *) cs + cs->dels_offset);
}

static inline const uint8 *
changeset_gops(ChangeSet *cs)
{
	return (const uint8 *) cs + cs->gops_offset;
}

static inline SetPair *
changeset_pairs(ChangeSet *cs)
{
	return (SetPair *) ((char *) cs + cs->pairs_offset);
}

static inline SetHeader *
changeset_headers(ChangeSet *cs)
{
	return (SetHeader *) ((char *) cs + cs->headers_offset);
}

/* --- streams --- */

typedef enum StreamState
{
	SS_FREE,					/* no stream here */
	SS_PROVISIONAL,				/* being made by transactions that have not committed */
	SS_LIVE,
	SS_DROPPED					/* gone; the place is freed when the last part leaves */
} StreamState;

typedef struct SharedStream
{
	LWLock		lock;

	/* written under lock and registry lock, readable under either */
	EngHandle	self;			/* constant */
	EngHandle	next_free;
	EngHandle	db;
	int64		id;				/* 0: free */
	StreamState state;
	EngHandle	name;			/* bytes; name_len of them */
	uint32		name_len;

	/* protected by lock */
	Oid			owner;
	EngHandle	grants;			/* StreamGrants; 0: none */
	bool		broken;			/* a merge failed: unusable until restart */
	Stream		stream;			/* committed state */
	EngHandle	parts;			/* of running transactions */
	StreamId	last_reserved;	/* >= stream.last_id: next automatic id is above it */
	Rax			deleting;		/* id being deleted -> Part */
	Rax			pairs;			/* IdmpKey of an add under way -> Part */
	uint64		duplicates;		/* adds that were repetitions; since the start of the server */
	TransactionId creator;		/* provisional: who has undertaken to make it at commit */
	uint64		recent;			/* position + 1 in the ring of the newest add; 0: none */
	uint64		recent_next_xid;	/* next xid when it was merged */
	EngHandle	shares;			/* GroupShare list */
	StreamId	hint_top;		/* none of their hints is above it */
	EngHandle	waited;			/* those with readers in line */
	uint32		nloose;			/* of them without a group: to be freed when nobody needs them */
	EngHandle	waiters;		/* first of the readers waiting, in order of arrival */
	EngHandle	waiters_last;
	uint32		nown_waiters;	/* of them have a part in it */
	StreamId	wait_from;		/* none of the others that is not woken waits for anything up to here */
	uint32		ngroup_waiters; /* in the lines of all shares */
	uint64		listen_generation;	/* as of which `listened` is known (listen.c) */
	bool		listened;		/* somebody wants its entries signalled */

	/* protected by q_mutex; removal also needs lock exclusive */
	slock_t		q_mutex;
	EngHandle	q_head;
	EngHandle	q_tail;

	pg_atomic_uint32 q_len;		/* changed under q_mutex, read without */
	pg_atomic_uint32 regrants;	/* sets in the queue that change rights; as q_len */
	pg_atomic_uint32 rights_version;	/* grows with owner and grants, and is never
										 * reset; changed under lock, read without */
	pg_atomic_uint32 merge_wanted;	/* somebody could not get the lock to merge */
} SharedStream;

/* --- per-process access --- */

extern Arena StrmArena;			/* the arena as this process sees it */
extern int	strm_memory_mb;

#define STRM_PTR(type, handle) ((type *) arena_ptr(&StrmArena, (handle)))

/* shmem.c */
extern void strm_shmem_init(void);	/* from _PG_init: request and hooks */
extern bool strm_shmem_ready(void);
extern void strm_lwlock_init(LWLock *lock);
extern LWLock *strm_registry_lock(void);
extern LWLock *strm_listen_lock(void);
pg_noreturn extern void strm_raise_full(void);

typedef struct RegistryShared
{
	Rax			names;			/* (db oid, catalog oid, name) -> SharedStream; registry lock */
	EngHandle	free_streams;	/* registry lock */
	EngHandle	dbs;			/* list of Db; registry lock */
	pg_atomic_uint64 generation;	/* grows when a name leads elsewhere */
} RegistryShared;
extern RegistryShared *StrmRegistry;

/* registry.c: names, places, databases */

/* The Db of this catalog, made if need be.  Takes the registry lock; 53200. */
extern Db  *strm_db_get(Oid dboid, Oid catalog);

/* The place a name leads to, or NULL; *id is the stream it holds.  Takes the
 * registry lock shared, unless it remembers. */
extern SharedStream *strm_registry_find(Db *db, const char *name, uint32 len, int64 *id);

/* Make a provisional stream of that name, and either enter the name, or return
 * what it leads to by now; or do not enter it: it is to inherit the name.
 * Takes the registry lock; 53200. */
extern SharedStream *strm_registry_make(Db *db, const char *name, uint32 len, int64 id,
										uint32 node_max_bytes, uint32 node_max_entries,
										bool enter, int64 *found_id);

/* Is that the stream's name?  Its lock or the registry lock held. */
static inline bool
strm_bears_name(const SharedStream *ss, const char *name, uint32 len)
{
	return ss->name_len == len && memcmp(STRM_PTR(char, ss->name), name, len) == 0;
}

/* Let go of a place whose stream is gone: frees what it holds.  Lock held
 * exclusive; takes the registry lock; cannot fail. */
extern void strm_registry_release(SharedStream *ss);

/* Its name, if it leads to ss, leads to the heir or, if that place is 0 or
 * holds another stream, nowhere.  As above. */
extern void strm_registry_pass_on(SharedStream *ss, EngHandle heir, int64 heir_id);

/* ss is called that from now on; the old bytes are freed.  As above; the
 * registry is left alone. */
extern void strm_registry_rename(SharedStream *ss, EngHandle name, uint32 len);

/* A stream read from the catalog.  53200. */
extern SharedStream *strm_registry_load(Db *db, int64 id, const char *name, uint32 len, Oid owner,
										uint32 node_max_bytes, uint32 node_max_entries);

/* Is there a Db of this catalog?  Takes the registry lock. */
extern bool strm_registry_has(Oid dboid, Oid catalog);

/* All streams of a catalog that is no more, or of all catalogs of a database
 * (InvalidOid): gone from memory as soon as nobody has a part in them.  Takes
 * locks; cannot fail. */
extern void strm_registry_discard(Oid dboid, Oid catalog);

/* The named streams of a database, in order of name: places and ids, palloc'd. */
typedef struct StreamRef
{
	SharedStream *ss;
	int64		id;
} StreamRef;
extern int	strm_registry_list(Db *db, StreamRef **refs);

/* look.c: locking a stream */

/* Lock ss; false (and not locked) if it no longer holds stream `id`. */
extern bool strm_lock(SharedStream *ss, int64 id, LWLockMode mode);

/* Unlock; merges what could be merged meanwhile, wakes whom that concerns. */
extern void strm_unlock(SharedStream *ss);

/* Lock for a look: first everything that snap sees is merged, waiting for a
 * commit under way if need be (an error if cancelled meanwhile).  snap NULL:
 * merge what can be merged, do not wait.  false: the stream is gone. */
extern bool strm_look(SharedStream *ss, int64 id, LWLockMode mode, Snapshot snap);

/* Does the snapshot see this top-level transaction?  Cannot fail. */
extern bool strm_xid_seen(TransactionId xid, Snapshot snap);

/* merge.c */

/* Merge what is decided from the head of the queue.  Lock held exclusive;
 * cannot fail; the caller unlocks with strm_unlock. */
extern void strm_merge(SharedStream *ss);

/* After a transaction ended: merge if the lock is free, else leave word.
 * Takes the lock; cannot fail. */
extern void strm_merge_soon(SharedStream *ss);

/* Take one change set apart without merging it (not queued yet). */
extern void strm_changeset_free(EngHandle cs);
extern void strm_tx_unref(EngHandle tx);

/* rights.c: owner and grants */

/* Copy them.  Lock held; cannot fail.  False: there is no room for all, make
 * some with strm_rights_room (r->n says for how many) and try again. */
extern bool strm_rights_copy(SharedStream *ss, Rights *r);
extern void strm_rights_room(Rights *r, uint32 n);	/* may raise; keeps what is there */

/* The copy of a stream that stays (live, or we have a part in it). */
extern void strm_rights_read(SharedStream *ss, Rights *r);

/* Give or take in a copy.  May raise. */
extern void strm_rights_give(Rights *r, Oid role, uint32 mask);
extern void strm_rights_take(Rights *r, Oid role, uint32 mask);

/* A block with the grants of a copy, 0 if it has none.  False: no memory. */
extern bool strm_rights_block(const Rights *r, ArenaUse use, EngHandle *h);

/* Make these the stream's; the old block is freed.  Lock held exclusive;
 * cannot fail. */
extern void strm_rights_set(SharedStream *ss, Oid owner, EngHandle grants);

/* part.c: transient state.  All need the stream's lock, exclusive where they
 * change something, and cannot fail but where it is said. */
extern EngHandle strm_part_new(SharedStream *ss, TransactionId xid);	/* 0: no memory */
extern void strm_part_release(SharedStream *ss, EngHandle part);
extern void strm_part_settle(SharedStream *ss); /* recompute last_reserved; frees what nobody needs */

/* The ids that part has reserved are about to be free for readers to pass: if
 * there are entries among or above them, who listens is to be told. */
extern void strm_part_note(SharedStream *ss, const Part *part);

/* Smallest id reserved by a transaction other than `own` (a Part, or 0);
 * STREAMID_MAX and false if there is none. */
extern bool strm_horizon(SharedStream *ss, EngHandle own, StreamId *id);

/* Another transaction that has an id up to `id` reserved, or whom to wait for in
 * its place; InvalidTransactionId: there is none. */
extern TransactionId strm_reserved_upto(SharedStream *ss, EngHandle own, StreamId id);

/* A part of a transaction other than `own` (a Part, or 0) that is of that
 * kind: whom to wait for; InvalidTransactionId if there is none. */
typedef enum PartKind
{
	PART_ANY,					/* but for idle ones */
	PART_LEAVING,				/* drops or renames the stream */
	PART_EXCLUSIVE,
	PART_CLOSING,				/* these, and who wants to be one: to who has no part yet */
	PART_GRANTING
} PartKind;
extern TransactionId strm_part_other(SharedStream *ss, EngHandle own, PartKind kind);

/* Whom to wait for on account of this part: its holder, or once it is
 * numbered the transaction at the head of the queue. */
extern TransactionId strm_part_waitfor(SharedStream *ss, Part *part);

/* share.c: transient state of groups.  As part.c: the stream's lock is held,
 * exclusive where something changes; nothing fails but where it is said. */

/* The share of the group of that name; made if `make` and it is not there
 * (NULL then: no memory). */
extern GroupShare *strm_share(SharedStream *ss, const char *name, uint32 len, bool make);

typedef enum UseKind
{
	USE_LOOK,					/* asks whether anybody administers it */
	USE_WORK,
	USE_WANT,
	USE_ADMIN
} UseKind;

/* Another transaction that stands against such use of the group by `own` (a
 * Part, or 0): whom to wait for; InvalidTransactionId: there is none.  Who works
 * with it already need not wait for who wants to administer it. */
extern TransactionId strm_share_other(SharedStream *ss, const GroupShare *g, EngHandle own, UseKind kind);

/* The part uses the group so from now on, or just so (neither: no more).  False:
 * no memory. */
extern bool strm_use_add(SharedStream *ss, EngHandle part, GroupShare *g, UseKind kind);
extern void strm_use_set(SharedStream *ss, EngHandle part, GroupShare *g, bool works, bool admin);

/* The part waits for no group any more. */
extern void strm_uses_unwant(SharedStream *ss, EngHandle part);

/* The hints were raised to that id at most. */
static inline void
strm_hint_raised(SharedStream *ss, StreamId id)
{
	if (sid_cmp(id, ss->hint_top) > 0)
		ss->hint_top = id;
}

/* Entries were merged, the first of them with that id; the ids begin anew. */
extern void strm_shares_added(SharedStream *ss, StreamId first);
extern void strm_shares_reset(SharedStream *ss);

/* Free shares that nobody needs; of a stream that goes, all. */
extern void strm_shares_settle(SharedStream *ss);
extern void strm_shares_destroy(SharedStream *ss);

typedef struct Flight
{
	EngHandle	part;			/* whose; 0: nobody's */
	bool		taken;			/* counted in the group's lag */
	uint32		attempts;		/* deliveries that were rolled back */
} Flight;

/* False: nothing is known of that id (*f is all zero). */
extern bool strm_flight_get(const GroupShare *g, StreamId id, Flight *f);

/* The id is in flight with this part.  False: no memory. */
extern bool strm_flight_begin(GroupShare *g, StreamId id, EngHandle part, bool taken);

typedef enum FlightEnd
{
	FLIGHT_DONE,				/* what was to happen has */
	FLIGHT_BACK,				/* has not; it was no delivery */
	FLIGHT_FAILED				/* a delivery was rolled back */
} FlightEnd;

/* No more in flight; does nothing if it is not in flight with this part. */
extern void strm_flight_end(GroupShare *g, StreamId id, EngHandle part, FlightEnd how);

/* Entries lo..hi are gone: forget attempts at them, in all groups. */
extern void strm_flight_forget(SharedStream *ss, StreamId lo, StreamId hi);

/* The first id >= from of which at least so many deliveries were rolled back
 * and that nobody has in flight. */
extern bool strm_flight_failed(const GroupShare *g, StreamId from, uint64 attempts, StreamId *id,
							   uint32 *found);

/* Another part has this id in flight in some group: whom to wait for. */
extern TransactionId strm_flight_other(SharedStream *ss, StreamId id, EngHandle own);

/* End the flights of one operation. */
extern void strm_gop_end(SharedStream *ss, const Gop *op, EngHandle part, bool done);

/* Carry out an operation on a group, with what follows from it for its share. */
extern EngStatus strm_gop_apply(SharedStream *ss, const Gop *op, ArenaUse use);

/* recent.c: what was added recently, by whom */
typedef struct IdRange
{
	StreamId	lo;
	StreamId	hi;
} IdRange;

extern Size strm_recent_size(void);
extern void strm_recent_init(void *place, bool found);
extern void strm_recent_note(SharedStream *ss, TransactionId xid, StreamId lo, StreamId hi);

/* The ranges of ids that snap does not see, newest first.  Lock held.  Returns
 * how many there are (only `cap` are stored); -1: it no longer knows. */
extern int	strm_recent_unseen(SharedStream *ss, Snapshot snap, IdRange *ranges, int cap);

/* wait.c, wait_group.c: waiters */
typedef struct WaitLink
{
	EngHandle	next;
	EngHandle	prev;
	int			procno;
	int			pid;
	bool		woken;			/* set by who wakes, under the line's lock or the registry lock */

	/* in a stream's line; constant */
	StreamId	after;			/* waits for entries above that */
	EngHandle	own;			/* the part that the reader has in the stream itself; 0: none */

	/* in a group's line; under the stream's lock */
	EngHandle	share;
	bool		always;			/* to be woken by every change */
	bool		lapsed;			/* is in no line any more */
	uint64		claim;			/* ms after which it claims; UINT64_MAX: the group's retry */
	uint64		looked;			/* ms: its last look, or a moment before */
	uint64		alarm;			/* ms: looks then by itself; UINT64_MAX: does not */
	uint64		promised;		/* ms: until then it is expected to come back; 0: it is waiting */
} WaitLink;

/* Stand in line at a stream, for entries above `after` (own: as in WaitLink), or
 * at the database for streams to be made; takes the stream's or the registry lock.  53200.  False: the stream is gone or, if
 * name is not NULL, called otherwise, and the caller stands nowhere: find it
 * again. */
extern bool strm_wait_enlist(SharedStream *ss, int64 id, const char *name, uint32 len,
							 StreamId after, EngHandle own);
extern void strm_wait_enlist_db(Db *db);
extern void strm_wait_leave(void);	/* leave every line; takes locks; cannot fail */
extern bool strm_waiting(void);
extern bool strm_wait_woken(void);	/* since standing in line: look again before sleeping */
extern void strm_wait_init(void);	/* once a backend, before its first use of a stream */

/* Stand in line for a group, at the end: `claim` as in WaitLink; always: what
 * the transaction has done itself hides from others what it may be given.  As
 * strm_wait_enlist. */
extern bool strm_wait_enlist_group(SharedStream *ss, int64 id, const char *name, uint32 len,
								   const char *grp, uint32 grp_len, uint64 claim, bool always);

/* Before another look: is the n-th place that was taken in that stream's line
 * still?  What woke us counts as answered then. */
extern bool strm_wait_again(int n, SharedStream *ss, int64 id, const char *name, uint32 len);

/* Before sleeping: when to look without having been woken (ms), UINT64_MAX:
 * not; 0: at once. */
extern uint64 strm_wait_alarm(void);

/* Stop waiting, told that there is something, but keep the place for a moment:
 * until strm_wait_leave, or until a second has passed. */
extern void strm_wait_promise(void);

/* Note who of those in line for groups is to be woken (strm_wake_note does). */
extern void strm_wake_groups(SharedStream *ss);

extern void strm_wake_groups_all(SharedStream *ss);

/* Of wait.c for wait_group.c: the n-th place taken; 0: they are not so many. */
extern EngHandle strm_wait_place(int n, SharedStream **ss, int64 *id);

/* Put a link into the line of a group, made if need be (false: no memory), and
 * take it out again.  Lock held exclusive. */
extern bool strm_share_join(SharedStream *ss, const char *name, uint32 len, EngHandle link);
extern void strm_share_leave(SharedStream *ss, EngHandle link);

/* Note who of those in line at ss is to be woken; strm_wake_flush, called with
 * no lock held, sets their latches. */
extern void strm_wake_note(SharedStream *ss);
extern void strm_wake_readers_all(SharedStream *ss);	/* but for those of groups */
extern void strm_wake_note_db(Db *db);
extern void strm_wake_note_db_locked(Db *db);	/* the registry lock is held */
extern void strm_wake_proc(int procno);
extern void strm_wake_flush(void);

/* listen.c: who is to be told with NOTIFY (listen.h has the rest) */
extern Size strm_listen_size(void);
extern void strm_listen_init(void *place, bool found);

/* There may be something new to read in ss: if somebody listens, the worker is
 * to say so.  Lock held exclusive; takes the listen lock; cannot fail; to be
 * followed by strm_wake_flush, which calls strm_listen_flush. */
extern void strm_listen_note(SharedStream *ss);
extern void strm_listen_flush(void);

/* testpoint.c */
extern char *strm_test_point;
extern void strm_test_point_hit(const char *name);
#define TEST_POINT(name) \
	do { \
		if (unlikely(strm_test_point != NULL && strm_test_point[0] != '\0')) \
			strm_test_point_hit(name); \
	} while (0)

#endif							/* STREAM_STORE_H */
