/*
 * group.h
 *	  Consumer groups: cursor, pending records, consumers, policy.
 *
 * Part of the durable state of a stream, reached under its lock: exclusive for
 * gop_apply, what the stream calls and pending_tighten, shared for the rest.
 *
 *   Stream.groups --rax by name--> Group
 *   StreamGroup.pending: records in blocks, by id (pending.h)
 *   StreamGroup.gaps: a set of ids, as ranges (idset.h)
 *   StreamGroup.consumers --rax by name--> Consumer; StreamGroup.numbers --rax by number--> the same
 *
 * What of a stream's entries a group has to deliver
 *	1. The cursor is the greatest id delivered.  Entries above it are new.
 *	2. Entries at or below it that were not delivered lie in the gaps: a
 *	   transaction that delivered what is above them was merged before the one
 *	   that has them, or the one that has them rolled back.  Entries may also
 *	   be merged into a gap later.  Gaps are ranges of ids, so that making
 *	   them needs no look at the entries and little memory.
 *	3. Pending records are what was delivered and is not acknowledged.  A record
 *	   without an owner is released: to be delivered again from its time on.
 *	The lag is the number of live entries of 1 and 2, known at all times.  An add
 * above all cursors is new to every group: it is counted once, in the stream
 * (`arrived`), and a group keeps how much its own number differs from that.
 *
 * A group changes only by the operations below, whose bytes (formats.md) are
 * the same in a change set and in the journal.  They carry ids, times, counts
 * and names; so replay is the same calls on the same state.
 */
#ifndef STREAM_GROUP_H
#define STREAM_GROUP_H

#include "idset.h"
#include "pending.h"

struct Stream;

#define GROUP_NAME_MAX	512		/* bytes of a group's, a consumer's name */

typedef struct Consumer
{
	uint32_t	number;			/* in its group, from 1; never used twice */
	uint32_t	name_len;
	uint64_t	seen;			/* ms; last time it asked.  Written by readers, too */
	uint64_t	active;			/* ms; last time it was given something; 0: never */
	uint64_t	pending;		/* records it owns */
	char		name[];
} Consumer;

typedef struct GroupPolicy
{
	bool		in_order;
	uint64_t	retry;			/* ms after which a plain read hands out a pending entry again; 0: never */
	uint64_t	max_deliveries; /* 0: no limit */
	const char *dead_letter;	/* name of a stream; not ended by a zero */
	uint32_t	dead_letter_len;	/* 0: none */
} GroupPolicy;

typedef struct StreamGroup
{
	/* durable */
	StreamId	cursor;
	int64_t		entries_read;	/* as in Redis; -1: unknown */
	bool		in_order;
	uint64_t	retry;
	uint64_t	max_deliveries;
	EngHandle	dead_letter;	/* bytes; 0: none */
	uint32_t	dead_letter_len;
	uint32_t	next_number;	/* of consumers */
	uint64_t	delivered;		/* first deliveries, redeliveries, acknowledgements and */
	uint64_t	redelivered;	/* dead letters of all time */
	uint64_t	acked;
	uint64_t	dead;
	Pending		pending;
	IdSet		gaps;
	Rax			consumers;
	/* derived */
	Rax			numbers;
	uint64_t	owed;			/* the lag less Stream.arrived, modulo 2^64: see group_lag */
	/* the store's: transient state of the group, 0 if none; the engine only keeps it */
	EngHandle	share;
	uint32_t	name_len;
	char		name[];
} StreamGroup;

/* --- finding and reading --- */

extern StreamGroup *group_find(const Arena *a, const struct Stream *s, const char *name, size_t len);

/* The group after that name (NULL: the first), in order of name; NULL: no more. */
extern StreamGroup *group_after(const Arena *a, const struct Stream *s, const char *name, size_t len);

extern void group_policy(const Arena *a, const StreamGroup *g, GroupPolicy *p);	/* points into the arena */

extern Consumer *group_consumer(const Arena *a, const StreamGroup *g, const char *name, size_t len);
extern Consumer *group_consumer_numbered(const Arena *a, const StreamGroup *g, uint32_t number);
extern Consumer *group_consumer_after(const Arena *a, const StreamGroup *g, const char *name, size_t len);

/* How many live entries the group has yet to deliver; costs nothing. */
extern uint64_t group_lag(const struct Stream *s, const StreamGroup *g);

/* How many of those in lo..hi. */
extern uint64_t group_undelivered(const Arena *a, const struct Stream *s, const StreamGroup *g,
								  StreamId lo, StreamId hi);

/* Does any group still have to deliver the entry `id`, or has it pending?
 * (ACKED of XDELEX, XACKDEL, XTRIM.)  No group: false. */
extern bool stream_referenced(const Arena *a, const struct Stream *s, StreamId id);

/* --- operations --- */

typedef enum GopKind
{
	GOP_CREATE = 1,				/* group; pos, entries_read, flags IN_ORDER */
	GOP_DESTROY,				/* group */
	GOP_SETID,					/* group; pos, entries_read: the cursor, both ways; no gaps any more */
	GOP_POLICY,					/* group; the whole policy as it is from then on */
	GOP_CONSUMER,				/* group, consumer; time: make the consumer if it is not there; with
								 * ACTIVE it was given something */
	GOP_DELCONSUMER,			/* group, consumer; its records go, or with RELEASE are released */
	GOP_DELIVER,				/* group, consumer; time, runs, records; NOACK: no records are kept;
								 * DEAD, with NOACK: as dead letters, to no consumer */
	GOP_SET,					/* group, consumer or none; time, pos, records */
	GOP_ACK						/* group; records: removed; NOACK: since their entries are no more */
} GopKind;

#define GOP_IN_ORDER	1
#define GOP_NOACK		2
#define GOP_RELEASE		4
#define GOP_FORCE		8		/* SET: makes records that are not there, if the entry is */
#define GOP_ACTIVE		16		/* SET: counts as activity and as redelivery (a claim) */
#define GOP_DEAD		32		/* ACK: counts as dead letters, not as acknowledgements */
#define GOP_ONE_COUNT	64		/* all records have the op's count: theirs is not written */
#define GOP_TIMES		128		/* DELIVER: each record has its own time, no earlier than the op's */

/*
 * Deliveries.  The records are cut into runs.  A run says that of the ids in
 * (after, last] its n records are all that the group may ever have to deliver:
 * no other live entry lies there, none may come, and no other record of the
 * group.  So with the runs in order, everything between the cursor and the
 * last run's last id that is in no run is a gap from now on, and what is in a
 * run is in no gap.  In a group that delivers in order only gaps with live
 * entries are kept.  A run without records takes ids out of the gaps.
 */
typedef struct GopRun
{
	StreamId	after;
	StreamId	last;
	uint32_t	n;
} GopRun;

typedef struct GopRecord
{
	StreamId	id;
	uint64_t	count;			/* deliveries from now on */
	uint32_t	later;			/* with TIMES: ms after the op's time */
} GopRecord;

/* An operation taken apart; names and arrays point into its bytes. */
typedef struct Gop
{
	uint8_t		kind;
	uint8_t		flags;
	const char *group;
	uint32_t	group_len;
	const char *consumer;		/* POLICY: the dead-letter stream */
	uint32_t	consumer_len;	/* SET: a consumer's name may be empty, so whether there is
								 * one is has_consumer */
	bool		has_consumer;
	uint64_t	time;			/* ms: of delivery; of released records: from when on */
	StreamId	pos;			/* SET: the cursor is raised to it; 0-0: not */
	int64_t		entries_read;
	uint64_t	retry;
	uint64_t	max_deliveries;
	uint64_t	count;			/* with ONE_COUNT */
	uint32_t	nruns;
	uint32_t	nrecords;		/* in order of id, each id once */
	const uint8_t *runs;
	const uint8_t *records;
} Gop;

extern GopRun gop_run(const Gop *g, uint32_t i);
extern GopRecord gop_record(const Gop *g, uint32_t i);

/* Bytes it takes; with runs and records given as arrays.  Arrays may be NULL
 * where there are none.  gop_write returns the same number. */
extern size_t gop_size(const Gop *g);
extern size_t gop_write(const Gop *g, const GopRun *runs, const GopRecord *records, uint8_t *out);

/* Take apart the op that begins at p; its bytes, or 0 if they are not a sound
 * op (order of ids and runs, runs' numbers adding up, lengths, flags that the
 * kind knows).  Trusts nothing. */
extern size_t gop_read(Gop *g, const uint8_t *p, size_t avail);

/* Note what applying it can allocate at most; without what its consumer takes,
 * for one that an operation before it in the same merge sees to. */
extern void gop_charge(ArenaCharge *c, const Gop *g);
extern void gop_charge_known(ArenaCharge *c, const Gop *g);

/* Carry it out.  ENG_NOTFOUND (no such group), ENG_EXISTS (CREATE) and ENG_NOMEM
 * (never with a charge): nothing has changed.  Without a charge of the caller's
 * it makes one, so `use` says what that may take.  Only an operation whose runs
 * break their promise may, for want of memory, be left half done.  Records of
 * SET and ACK that are not there are passed over; DELIVER and FORCE make
 * records only for entries that are live.  A DESTROY, as the end of the stream,
 * takes no notice of `share`. */
extern EngStatus gop_apply(Arena *a, struct Stream *s, const Gop *g, ArenaUse use);

/* --- what the stream tells its groups (called by stream.c) --- */

/* `n` entries were added, with no other of the stream's between them. */
extern void groups_added(const Arena *a, struct Stream *s, StreamId first, StreamId last, uint64_t n);

/* The entry was deleted; or it was not there, and just its records are meant. */
extern void groups_deleted(Arena *a, struct Stream *s, StreamId id, bool was_there, bool keep_records);

/* What is below `bound` is about to go.  Gaps that end below it go, too; one
 * that goes on above stays whole, so that this never needs memory. */
extern void groups_trimming(Arena *a, struct Stream *s, StreamId bound, bool keep_records);

extern void groups_destroy(Arena *a, struct Stream *s);

/* Check every invariant; NULL, or which one is broken. */
extern const char *groups_check(const Arena *a, const struct Stream *s);

#endif							/* STREAM_GROUP_H */
