/*
 * group.h
 *	  What the running transaction does with consumer groups, and sees of them.
 *
 * Model
 *	1. An operation on a group (engine/group.h) is decided at the call, from the
 *	   merged state and the transaction's own operations, and kept as bytes on
 *	   the Pend's list, just as the change set will have it.  What it concerns
 *	   is in flight from then on (store, GroupShare): reads of others pass over
 *	   it, explicit operations of others wait.
 *	2. A transaction that works with a group keeps others from changing the
 *	   group itself; one that changes the group has it alone.  Both wait for each
 *	   other with the server's transaction locks.
 *	3. What the transaction sees of a group is the merged group with what its own
 *	   list says laid over it (overlay.c), derived when wanted; a rollback to a
 *	   savepoint takes back what it cuts from the list.
 *
 * The list is extended in memory before anything is registered, so between
 * registering and noting nothing can fail.
 */
#ifndef STREAM_XACT_GROUP_H
#define STREAM_XACT_GROUP_H

#include "utils/hsearch.h"

#include "xact/view_int.h"
#include "xact/xact.h"

typedef struct GroupOp
{
	struct GroupPend *group;
	Size		offset;			/* of its bytes in Pend.gop_bytes */
	uint8		kind;			/* a GopKind */
	uint8		flags;
	bool		registered;		/* put its records in flight; else they were by us before */
	SubTransactionId sub;
	TransactionId xid;
} GroupOp;

/* A record as our own operations have left it. */
typedef struct OwnRecord
{
	StreamId	id;				/* hash key */
	bool		there;			/* false: it is gone, or was never kept */
	bool		given;			/* delivered since the cursor was last set */
	int			consumer;		/* in GroupPend.consumers; -1: released */
	uint64		time;
	uint64		count;
} OwnRecord;

/* A consumer as our own operations have left it. */
typedef struct OwnConsumer
{
	char	   *name;
	uint32		len;
	bool		there;
	enum
	{
		DROPPED_NOT, DROPPED_RELEASING, DROPPED_ALL
	}			dropped;		/* what became of the records it had before */
	uint64		seen;
	uint64		active;			/* 0: not by us */
} OwnConsumer;

typedef struct GroupPend
{
	struct GroupPend *next;
	char	   *name;
	uint32		len;
	EngHandle	share;			/* once used */
	int			nops;
	int			nadmin;			/* of them that change the group itself */

	/* derived: the overlay */
	int			applied;		/* how many of the Pend's operations are in it; -1: none, begin anew */
	/* of the group itself, from here to `records`: taken back as a whole */
	bool		hides;			/* nothing of the merged group shows */
	bool		exists;			/* if it hides it: is there one of ours */
	bool		cursor_set;		/* the cursor is ours alone */
	StreamId	cursor;			/* else: the greater of this and the merged one */
	StreamId	set_to;			/* if cursor_set: where it was set to */
	StreamId	skipped;		/* LASTID: what is up to here is not delivered any more */
	int64		entries_read;	/* if cursor_set */
	bool		policy_set;
	GroupPolicy policy;
	uint64		delivered;
	uint64		redelivered;
	uint64		acked;
	uint64		dead;
	bool		released;		/* own operations may have released records */
	uint64		oldest;			/* no time that they have set is before this */
	HTAB	   *records;		/* OwnRecord by id; NULL: none */
	OwnConsumer *consumers;
	int			nconsumers;
	int			consumers_cap;
	MemoryContext context;		/* of these */

	/* how to take it back, as far as a savepoint may ask for it */
	struct OpUndo *undo;		/* in the order of the operations */
	int			nundo;
	int			undo_cap;
	struct RecordUndo *old;		/* records before an operation changed them */
	int			nold;
	int			old_cap;
	bool		undoable;		/* the operation being laid over is to be noted */
} GroupPend;

/* A group as named in a call. */
typedef struct GroupTarget
{
	Target		t;
	const char *name;
	uint32		len;
} GroupTarget;

/* --- group.c: the list --- */

extern GroupPend *gpend_find(const Pend *p, const char *name, uint32 len);

/* Before operations, outside all locks: the subtransaction has an xid, the
 * lists have room for a few operations with so many records and runs in all,
 * each with a name of so many bytes besides the group's; the overlay is up to
 * date. */
extern GroupPend *gpend_prepare(Pend *p, const char *name, uint32 len, Size names,
								uint32 nrecords, uint32 nruns);

/* Note the operation.  registered: its records were put in flight for it. */
extern void gpend_add(Pend *p, GroupPend *gp, Gop *op, const GopRun *runs,
					  const GopRecord *records, bool registered);

extern bool gop_takes_memory(const GroupOp *op);	/* for other things than working off entries */
extern bool gop_makes_records(const GroupOp *op);
extern void gops_charge(ArenaCharge *c, const Pend *p);
extern void gops_unregister(Pend *p, int from); /* lock held */
extern void gops_cut(Pend *p, int ngops);	/* the same if there is a part */

/* Let deliveries that follow each other be one operation (join.c).  The
 * transaction is sealed; may raise, and then nothing has changed. */
extern void gops_join(Pend *p);

/* Whether all that was done are first deliveries: a crash may forget them. */
extern bool pend_only_delivers(const Pend *p);

/*
 * Lock the stream with the group in use, or for changing it (admin), its
 * share in *g; waits for whom it must.  u: filled with what the snapshot does
 * not see.  False: the stream is gone, find it again; or gt->t.late.  53200.
 */
extern bool group_lock(GroupTarget *gt, GroupPend *gp, bool admin, Unseen *u, GroupShare **g);

/* Give up what was registered for nothing, and unlock. */
extern void group_unlock_unused(GroupTarget *gt, GroupPend *gp, GroupShare *g);

pg_noreturn extern void strm_raise_no_group(const GroupTarget *gt);	/* 42704 */

/* --- overlay.c: the group as this transaction sees it --- */

/* Bring the overlay up to date; outside locks. */
extern void overlay_refresh(Pend *p, GroupPend *gp);

/* The Pend's operations from the given one on are taken back.  Cannot fail. */
extern void overlay_cut(GroupPend *gp, int ngops);

/* The merged group if it shows, else NULL.  Lock held.  gp may be NULL, as in
 * all of these. */
extern StreamGroup *overlay_base(const GroupTarget *gt, const GroupPend *gp);
extern bool overlay_exists(const GroupTarget *gt, const GroupPend *gp);
extern StreamId overlay_cursor(const StreamGroup *base, const GroupPend *gp);
extern void overlay_policy(const StreamGroup *base, const GroupPend *gp, GroupPolicy *policy);
extern OwnRecord *overlay_record(const GroupPend *gp, StreamId id);

/* Is the entry, if there is one, still to be delivered? */
extern bool overlay_undelivered(const GroupPend *gp, const StreamGroup *base, StreamId id);
extern OwnConsumer *overlay_consumer(const GroupPend *gp, const char *name, uint32 len, int *index);

extern void groups_refresh(Pend *p);	/* overlay_refresh of all */

/* Has the stream any group, as we see it? */
extern bool groups_any(Target *t);

/* Does any group, as we see it, have yet to deliver the id, or has it pending?
 * Lock held, overlays up to date. */
extern bool strm_referenced(const Target *t, StreamId id);

/* A pending record as seen: its owner is a number of the merged group, or one
 * of our own consumers. */
typedef struct SeenRecord
{
	StreamId	id;
	bool		owned;
	uint32		number;			/* of the owner; 0: see own */
	int			own;			/* index of the owner in GroupPend.consumers */
	uint64		time;
	uint64		count;			/* attempts that were rolled back included */
	uint32		attempts;
	EngHandle	flight;			/* the part that has it in flight; 0: nobody */
} SeenRecord;

/* Which records are wanted. */
typedef struct SeenFilter
{
	PendingFilter base;			/* consumer: number, if the consumer is a merged one */
	bool		of_consumer;
	const char *consumer;
	uint32		consumer_len;
} SeenFilter;

/* One record, or the next of a walk in order of id; lock held.  A walk takes
 * own records as they are when it is prepared (outside the lock; own: else it
 * passes over them). */
extern bool seen_record(const GroupTarget *gt, const GroupPend *gp, const StreamGroup *base,
						const GroupShare *g, StreamId id, SeenRecord *r);

/* What a consumer has pending. */
static inline SeenFilter
seen_of_consumer(const char *consumer, uint32 len)
{
	return (SeenFilter) {
		.base = {.owned = true, .owned_upto = PG_UINT64_MAX},
		.of_consumer = true, .consumer = consumer, .consumer_len = len
	};
}

typedef struct SeenWalk
{
	const GroupTarget *gt;
	const GroupPend *gp;
	SeenFilter	filter;
	bool		with_own;
	StreamId   *own;			/* ids of own records, sorted */
	int			nown;
	int			pos;
	PendingWalk walk;
	PendingRecord base_record;
	uint32		number;			/* of the consumer wanted, in the merged group */
	bool		has_base;
	const StreamGroup *base;
	const GroupShare *g;
} SeenWalk;

extern void seen_walk_prepare(SeenWalk *w, const GroupTarget *gt, const GroupPend *gp, const SeenFilter *f,
							  bool own);
extern void seen_walk_begin(SeenWalk *w, StreamId from);	/* lock held */
extern bool seen_walk_next(SeenWalk *w, SeenRecord *r);

/* --- walk.c: live entries under the lock --- */

/* Own entries that are not gone, in order: e is the next if there is one. */
typedef struct OwnWalk
{
	const Pend *p;				/* NULL: none */
	StreamId	from;
	int			chunk;
	NodeIter	it;
	bool		in_chunk;
	bool		has;
	NodeEntry	e;
} OwnWalk;

extern void own_walk(OwnWalk *w, const Pend *p, StreamId from);
extern void own_next(OwnWalk *w);

/* Entries that are there for this transaction, merged and own, in order. */
typedef struct LiveWalk
{
	Pend	   *p;
	const Stream *s;
	StreamId	first;
	StreamId	from;			/* next node */
	NodeIter	it;
	NodeEntry	e;
	bool		in_node;
	bool		has_merged;
	bool		gave_own;		/* the one given last is not merged yet */
	bool		drained;
	OwnWalk		own;
} LiveWalk;

extern void live_walk(LiveWalk *w, SharedStream *ss, Pend *p, StreamId from);
extern bool live_next(LiveWalk *w, StreamId *id);
extern bool live_has(SharedStream *ss, Pend *p, StreamId id);

/* --- owner.c: owners' names outside the lock --- */

typedef struct NameCache
{
	HTAB	   *names;			/* by number; NULL to begin with */
} NameCache;

/* The name of a record's owner, palloc'd once; NULL: it has none any more. */
extern const char *owner_name(NameCache *cache, const GroupTarget *gt, const GroupPend *gp,
							  uint32 number, int own, uint32 *len);

/* --- deliver.c, record.c, gadmin.c, gview.c: what the SQL functions call --- */

/* An entry given to a consumer.  The fields are read afterwards. */
typedef struct Given
{
	StreamId	id;
	uint64		idle;			/* ms before; of a new one 0 */
	uint64		deliveries;		/* before this one */
	bool		gone;			/* pending, but the entry is no more */
} Given;

typedef struct GivenList
{
	Given	   *item;
	int			n;
	int			cap;
} GivenList;

typedef struct ReadSpec
{
	const char *consumer;
	uint32		consumer_len;
	int64		count;			/* of entries, > 0 */
	bool		noack;
	int64		claim;			/* ms idle; -1: what the group's policy says */
	bool		waits;			/* not the last look: the consumer is not made yet */
	TimestampTz until;			/* for whoever changes the group it waits no longer than so; 0: as
								 * long as it takes */
} ReadSpec;

extern void given_room(GivenList *out, int more);

/* Find the group of a call.  need: a privilege.  False: no such stream. */
extern bool strm_open_group(Db *db, const char *key, uint32 key_len, const char *grp, uint32 grp_len,
							uint32 need, bool write, GroupTarget *gt);

/* xreadgroup `>`: appends to out what the consumer is given, nothing if the
 * group is not to be had in time; 42704. */
extern void strm_group_read(GroupTarget *gt, const ReadSpec *spec, GivenList *out);

/* For those who wait.  Would strm_group_read give anything?  *due (may be NULL):
 * when a record that only we see comes due, in ms; UINT64_MAX: there is none. */
extern bool strm_group_ready(GroupTarget *gt, const ReadSpec *spec, uint64 *due);

/* Has the transaction changed the stream or the group, so that it may be given
 * what others cannot know of? */
extern bool strm_group_changed(const GroupTarget *gt);

/* xreadgroup with an id: the consumer's own pending entries after it. */
extern void strm_group_history(GroupTarget *gt, const ReadSpec *spec, StreamId after, GivenList *out);

/* In these, ids are in order and each is there once (strm_sort_ids). */

/* xack: how many were pending; which, in acked (NULL: not wanted).  dead: they
 * are dead letters. */
extern int64 strm_group_ack(GroupTarget *gt, const StreamId *ids, int n, bool dead, bool *acked);

typedef struct NackSpec
{
	enum
	{
		NACK_SILENT, NACK_FAIL, NACK_FATAL
	}			mode;
	int64		retrycount;		/* -1: not given */
	bool		force;
	int64		delay;			/* ms, 0: none */
} NackSpec;

extern int64 strm_group_nack(GroupTarget *gt, const StreamId *ids, int n, const NackSpec *spec);

typedef struct ClaimSpec
{
	const char *consumer;
	uint32		consumer_len;
	uint64		min_idle;		/* ms */
	uint64		time;			/* of delivery, ms; 0: now */
	int64		retrycount;		/* -1: not given */
	bool		force;
	bool		justid;
	StreamId	last_id;		/* 0-0: not given */
} ClaimSpec;

extern void strm_group_claim(GroupTarget *gt, const StreamId *ids, int n, const ClaimSpec *spec, GivenList *out);

/* xautoclaim: from `start` on, up to count. */
extern void strm_group_autoclaim(GroupTarget *gt, StreamId start, int64 count, const ClaimSpec *spec,
								 GivenList *out);

/* xreclaim: up to count (-1: all) records idle for long enough are released;
 * returns how many.  What was delivered max_deliveries times or more (0: no
 * limit) is acknowledged instead and comes out in `dead`, with its owner's
 * name, for the caller to move; so are released records and entries whose
 * deliveries were rolled back so often, idle or not. */
typedef struct DeadRecord
{
	StreamId	id;
	uint64		deliveries;
	const char *consumer;		/* NULL: none */
	uint32		consumer_len;
	uint32		number;			/* internal */
	int			own;
} DeadRecord;

extern int64 strm_group_reclaim(GroupTarget *gt, uint64 min_idle, uint64 max_deliveries, int64 count,
								DeadRecord **dead, int *ndead);

/* xgroup_create: false if it was there and that is allowed (42710 if not). */
extern bool strm_group_create(GroupTarget *gt, const StreamPos *pos, int64 entries_read, bool in_order,
							  bool if_not_exists);
extern void strm_group_setid(GroupTarget *gt, const StreamPos *pos, int64 entries_read);
extern bool strm_group_destroy(GroupTarget *gt);

/* xgroup_set: p says what it is to be from what it was.  42704 */
extern void strm_group_set(GroupTarget *gt, void (*change) (GroupPolicy *p, void *arg), void *arg);

/* The policy as seen (the name is palloc'd); true if there is one.  42704. */
extern bool strm_group_policy(GroupTarget *gt, GroupPolicy *p);

extern bool strm_consumer_create(GroupTarget *gt, const char *consumer, uint32 len);
extern int64 strm_consumer_delete(GroupTarget *gt, const char *consumer, uint32 len, bool release);

/* What there is to say about a group. */
typedef struct GroupView
{
	char	   *name;
	uint32		len;
	uint64		consumers;
	uint64		pending;
	uint64		released;		/* of them */
	StreamId	min_id;			/* of pending records; 0-0 */
	StreamId	max_id;
	uint64		oldest;			/* ms: lower bound of the times of owned records; UINT64_MAX: none */
	StreamId	cursor;
	int64		entries_read;	/* -1: unknown */
	uint64		lag;			/* entries to deliver */
	StreamId	next_id;		/* the first of them, as far as it costs nothing to know; 0-0 */
	bool		in_order;
	uint64		retry;
	uint64		max_deliveries;
	char	   *dead_letter;	/* NULL: none */
	uint32		dead_letter_len;
	uint64		delivered;
	uint64		redelivered;
	uint64		acked;
	uint64		dead;
	uint64		in_flight;
} GroupView;

/* All groups of a stream, in order of name: palloc'd array.  Or one: false if
 * there is no such group. */
extern int	strm_groups_view(Target *t, GroupView **views);
extern bool strm_group_view(GroupTarget *gt, GroupView *v);

typedef struct ConsumerView
{
	char	   *name;
	uint32		len;
	uint64		pending;
	uint64		seen;			/* ms */
	uint64		active;			/* ms; 0: never */
} ConsumerView;

/* The group's consumers, in order of name; -1: there is no such group. */
extern int	strm_consumers_view(GroupTarget *gt, ConsumerView **views);

/* Pending records from `from` on, up to count, with owners' names; -1: there is
 * no such group (any more). */
typedef struct PendingView
{
	StreamId	id;
	bool		owned;
	const char *consumer;
	uint32		consumer_len;
	uint64		time;			/* of delivery; released: when it is due */
	uint64		deliveries;
} PendingView;

extern int	strm_pending_view(GroupTarget *gt, StreamId from, StreamId to, int64 count,
							  const char *consumer, uint32 consumer_len, bool of_consumer,
							  uint64 min_idle, PendingView **views);

/* Byte order, as the engine has names. */
static inline int
names_cmp(const char *a, uint32 alen, const char *b, uint32 blen)
{
	int			c = memcmp(a, b, Min(alen, blen));

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Milliseconds of the clock, as deliveries have them. */
extern uint64 strm_now_ms(void);

#endif							/* STREAM_XACT_GROUP_H */
