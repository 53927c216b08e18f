/*
 * stream.h
 *	  A stream: nodes in a radix tree by the id of their first entry.
 *
 * The durable part of a stream; its groups are in group.h.  Everything here is
 * reached under the stream's lock (src/store): exclusive for the functions
 * that change something, shared for the others.
 *
 *   Stream (header block) --rax by 16-byte id--> StreamNode (node block)
 *
 * Changes are made by merging committed change sets only, and are
 * deterministic: the same calls in the same order on the same state give the
 * same logical state (entries, counters; the cut into nodes may differ where
 * optional work found no memory).
 *
 * Memory: with ARENA_CHARGED a change whose worst case was charged before
 * (stream_charge) cannot fail.  Deleting and trimming never fail.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "idmp.h"
#include "node.h"
#include "rax.h"

/* Limits of node_max_bytes.  Nodes of several entries fit an arena page; a
 * larger entry has a node of its own. */
#define NODE_BYTES_MIN		64
#define NODE_BYTES_MAX		8192
#define NODE_ENTRIES_MAX	10000

/* A node block in the arena: what is durable is the key and lp. */
typedef struct StreamNode
{
	uint64_t	version;		/* of the stream when this last changed */
	uint64_t	saved;			/* version last saved; differs: changed */
	StreamId	last;			/* id of the last entry, dead ones included */
	uint32_t	live;
	uint32_t	dead;
	uint8_t		lp[];
} StreamNode;

typedef struct Stream
{
	/* durable: the header block */
	uint64_t	version;		/* grows with every change, of nodes too */
	uint64_t	saved;
	uint64_t	length;			/* live entries */
	uint64_t	entries_added;	/* of all time, saturates at 2^63-1 */
	StreamId	last_id;		/* greatest id ever merged */
	StreamId	first_id;		/* first live entry, 0-0 if none */
	StreamId	max_deleted_id; /* greatest id removed by stream_del */
	uint64_t	applied;		/* number of the last merged change set; set by the caller */
	uint32_t	node_max_bytes;
	uint32_t	node_max_entries;
	Idmp		idmp;			/* a block of its own; see idmp.h */
	Rax			groups;			/* key: name; value: StreamGroup; see group.h */
	/* derived */
	Rax			nodes;			/* key: id of the node's first entry; value: StreamNode */
	uint64_t	bytes;			/* of all node listpacks */
	uint64_t	arrived;		/* entries added since it is in memory */
	StreamId	top_cursor;		/* no group's cursor is above it */
} Stream;

/* What XSETID and XCFGSET change. */
typedef struct StreamHeader
{
	StreamId	last_id;
	uint64_t	entries_added;
	StreamId	max_deleted_id;
	uint32_t	node_max_bytes;
	uint32_t	node_max_entries;
	uint32_t	idmp_duration;
	uint32_t	idmp_maxsize;
} StreamHeader;

/* 0 as a limit means the greatest possible. */
extern void stream_init(Stream *s, uint32_t node_max_bytes, uint32_t node_max_entries);
extern void stream_destroy(Arena *a, Stream *s);	/* frees all nodes, pairs and groups */

extern void stream_get_header(const Stream *s, StreamHeader *h);

/* Are the limits in their ranges, and the ids and numbers ones a stream can have? */
extern bool stream_header_valid(const StreamHeader *h);

/* Set the header, a valid one whose last id is not below a live entry.  Other
 * limits of idempotent producers forget their pairs.  Nodes and chunks made
 * within greater limits stay as they are and take no more. */
extern void stream_set_header(Arena *a, Stream *s, const StreamHeader *h);

/* Remember which pair made the entry `id`; as idmp_add. */
extern EngStatus stream_add_pair(Arena *a, Stream *s, const IdmpKey *key, StreamId id, ArenaUse use);

/*
 * Chunks.  What a transaction adds arrives as chunks: listpacks in node form
 * (node.h) with 1 or more live entries, no dead ones, first id = master, and
 * no entry of the stream lies between its first and its last id.  A chunk is
 * built within the limits of the stream (stream_node_fits says when to begin
 * the next one); should they have become smaller since, it is a node of its
 * own.
 */
/* May `entry_bytes` (node_entry_size) and `more` entries go into a node of
 * `bytes` bytes and `entries` entries?  Within NODE_BYTES_MAX there must also
 * be room for what the deltas can grow by when the node is split. */
static inline bool
stream_node_fits(const Stream *s, size_t bytes, uint32_t entries, size_t entry_bytes, uint32_t more)
{
	size_t		size = bytes + entry_bytes + sizeof(StreamNode);

	return size <= s->node_max_bytes &&
		size + NODE_DELTA_GROWTH * (size_t) (entries + more) <= NODE_BYTES_MAX &&
		entries + more <= s->node_max_entries;
}

/* Copy a chunk into a node block of its own, ready to be linked (0: no room).
 * For chunks that are large, or larger than a page. */
extern EngHandle stream_prepare_node(Arena *a, const uint8_t *lp, StreamId first, ArenaUse use);

/* Note in c what adding one chunk of this many bytes can allocate at most;
 * `prepared`: as a prepared node, which it must be if with its StreamNode it
 * is larger than an arena page.  A run is several chunks, one above the other,
 * with no entry of the stream between the first id of the first and the last
 * id of the last: for its prepared chunks but the first of them,
 * stream_charge_more is enough. */
extern void stream_charge(ArenaCharge *c, const Stream *s, size_t lp_bytes, bool prepared);
extern void stream_charge_more(ArenaCharge *c, const Stream *s);

/* Add a chunk: appended to the node below it, put inside a node, or as a new
 * node (`prepared`, if not 0, is linked or freed: it is the stream's
 * afterwards unless the call fails; lp then points into it and may be NULL).
 * ENG_EXISTS: an id of it is there already, nothing changed; ENG_NOMEM only
 * without a charge, nothing changed. */
extern EngStatus stream_add_chunk(Arena *a, Stream *s, StreamId first, const uint8_t *lp,
								  EngHandle prepared, ArenaUse use);

/*
 * Delete one entry: false if it is not there.  Pending records of it go with
 * it, and also if it is not there any more, unless they are to be kept.
 */
#define STREAM_DEL_KEEPREF	1	/* keep pending records */
#define STREAM_DEL_TRIM		2	/* part of a trim: leaves max_deleted_id alone */
extern bool stream_del(Arena *a, Stream *s, StreamId id, int flags);

/* Delete every entry with an id below `bound`; returns how many.  Leaves
 * max_deleted_id alone.  Pending records with such ids go, unless they are to
 * be kept. */
extern uint64_t stream_trim(Arena *a, Stream *s, StreamId bound, bool keep_records);

/* --- reading --- */

extern bool stream_exists(const Arena *a, const Stream *s, StreamId id);

/* Live entries with start <= id <= stop; costs nodes, not entries. */
extern uint64_t stream_count(const Arena *a, const Stream *s, StreamId start, StreamId stop);

/* The live entry that has exactly n live entries below it. */
extern bool stream_nth(const Arena *a, const Stream *s, uint64_t n, StreamId *id);

/* First live entry >= id; last live entry <= id. */
extern bool stream_first_from(const Arena *a, const Stream *s, StreamId id, StreamId *found);
extern bool stream_last_upto(const Arena *a, const Stream *s, StreamId id, StreamId *found);

/* Where an approximate trim ends: walk whole nodes from the oldest while at
 * most `excess` entries go, each node's last id is below minid, and at most
 * `limit` entries in all go (0: no limit).  *bound is the id to trim to (0-0:
 * nothing).  For MAXLEN give minid = STREAMID_MAX, for MINID excess = UINT64_MAX. */
extern void stream_approx_bound(const Arena *a, const Stream *s, uint64_t excess, StreamId minid,
								uint64_t limit, StreamId *bound);

/* The node that holds or follows id (forwards: first node whose last entry is
 * >= id), or that holds or precedes it (reverse: last node whose first entry
 * is <= id).  Gives the node and its master id, or NULL.  Valid while the lock
 * is held. */
extern const StreamNode *stream_node_at(const Arena *a, const Stream *s, StreamId id, bool reverse,
										StreamId *master);

/* Every block of the stream's nodes in order: fn returns false to stop. */
extern void stream_each_node(const Arena *a, const Stream *s,
							 bool (*fn) (void *arg, StreamId master, const StreamNode *n), void *arg);

/* Put back a node that was saved (validated by the caller); nodes come in
 * order (ENG_CORRUPT if not, or if no entry is alive).  It counts as saved,
 * with the version the header has.  Counters of the header are the caller's
 * business, set before or after; the version is set before. */
extern EngStatus stream_load_node(Arena *a, Stream *s, StreamId master, const uint8_t *lp, ArenaUse use);

/* Check every invariant; NULL, or which one is broken. */
extern const char *stream_check(const Arena *a, const Stream *s);

#endif							/* STREAM_STREAM_H */
