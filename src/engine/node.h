/*
 * node.h
 *	  The listpack of a stream's node: entries that share field names.
 *
 * After Redis' macro node.  The first entry's id is the node's master id; it
 * is kept outside the listpack, as the key of the node.
 *
 *   master:  live | dead | num-fields | field 1 ... field N | 0
 *   entry:   flags | ms-delta | seq-delta | [num-fields] | [f1] v1 ... | lp-count
 *
 * live and dead are written with lp_int32_write so that they change in place.
 * flags: 1 = deleted, 2 = same fields as the master (num-fields and names are
 * left out).  Deltas are entry minus master; seq-delta may be negative and is
 * taken modulo 2^64.  ms-delta is 0 to 2^63-1: an entry further from the
 * master never fits (see node_entry_size).  lp-count is the number of elements
 * of the entry before it: 3 + N with same fields, else 4 + 2N.
 *
 * The entry that gave the node its master id and field names may be gone:
 * the first entry's id is the master id or greater, and its fields may differ.
 * A node always has one entry or more.
 *
 * A fields list ("fields" below) is a listpack name, value, name, value ... of
 * at least one pair, canonical, as the SQL type streamfields holds it.
 *
 * Functions work on plain memory, allocate nothing and trust their input;
 * bytes from outside go through node_validate first.
 */
#ifndef STREAM_NODE_H
#define STREAM_NODE_H

#include "listpack.h"

/* Flags of an entry. */
#define NODE_DELETED	1
#define NODE_SAME		2

/* Bytes of a node that holds just one entry with these fields, at most
 * NODE_ONE_GROWTH more than the fields; its writing. */
#define NODE_ONE_GROWTH	32
extern size_t node_size_one(const uint8_t *fields);
extern void node_create(uint8_t *node, const uint8_t *fields);

/* By how many bytes the node would grow with one more entry; appending it.
 * The id is greater than every id in the node; the caller has the room.
 * NODE_TOO_FAR, more than any limit, for an id too far from the master. */
#define NODE_TOO_FAR	LP_BYTES_MAX
extern size_t node_entry_size(const uint8_t *node, StreamId master, StreamId id, const uint8_t *fields);
extern void node_append(uint8_t *node, StreamId master, StreamId id, const uint8_t *fields);


extern uint32_t node_live(const uint8_t *node);
extern uint32_t node_dead(const uint8_t *node);
static inline size_t
node_bytes(const uint8_t *node)
{
	return lp_bytes(node);
}

/* One entry as found in a node; pointers into it. */
typedef struct NodeEntry
{
	StreamId	id;
	uint32_t	nfields;
	bool		same_fields;
	bool		deleted;
	const uint8_t *names;		/* first name: in the master, or in the entry */
	const uint8_t *values;		/* first value; without same_fields the second element of the first pair */
	const uint8_t *fields_end;	/* after the last value */
	size_t		names_bytes;	/* with same_fields: bytes of the names */
	const uint8_t *at;			/* the flags element of the entry */
	const uint8_t *body;		/* after seq-delta */
	const uint8_t *end;			/* after lp-count */
} NodeEntry;

/* The two steps of appending one by one, for whoever has to make room between
 * them: the node may move, but must not change.  The fields stay in place. */
typedef struct NodeAdd
{
	StreamId	master;
	NodeEntry	entry;			/* as it comes in */
	bool		same;			/* has the names of the master */
} NodeAdd;
extern size_t node_add_size(NodeAdd *add, const uint8_t *node, StreamId master, StreamId id,
							const uint8_t *fields);
extern void node_add_write(const NodeAdd *add, uint8_t *node);

/* Walk forwards or backwards over all entries, deleted ones included only if
 * asked for.  Start at the first (last) entry. */
typedef struct NodeIter
{
	const uint8_t *node;
	StreamId	master;
	const uint8_t *p;			/* where the next entry begins (forwards) or ends (backwards) */
	const uint8_t *begin;		/* first entry */
	uint32_t	nfields;		/* of the master */
	const uint8_t *names;		/* of the master */
	size_t		names_bytes;
	bool		reverse;
	bool		with_deleted;
} NodeIter;
extern void node_iter(NodeIter *it, const uint8_t *node, StreamId master, bool reverse, bool with_deleted);
extern bool node_next(NodeIter *it, NodeEntry *e);

/* An entry's fields as a fields list: its bytes, and writing it (raw copies
 * of the elements; fields_size is exact). */
extern size_t node_fields_size(const NodeEntry *e);
extern void node_fields_write(const NodeEntry *e, uint8_t *fields);

/* Last id, dead or alive. */
extern StreamId node_last(const uint8_t *node, StreamId master);

/* The entry with this id, dead or alive. */
extern bool node_find(const uint8_t *node, StreamId master, StreamId id, NodeEntry *e);

/* First and last live id; false if there is no live entry. */
extern bool node_bounds(const uint8_t *node, StreamId master, StreamId *first, StreamId *last);

/* Mark an entry deleted, in place; false if it is not there or already is. */
extern bool node_delete(uint8_t *node, StreamId master, StreamId id);

/* Mark every live entry below `bound` deleted; returns how many. */
extern uint32_t node_delete_below(uint8_t *node, StreamId master, StreamId bound);

/* Drop dead entries, in place.  Master id and names stay. */
extern void node_compact(uint8_t *node);
extern size_t node_compact_size(const uint8_t *node);	/* bytes it would have */

/* Same names in the same order in both masters? */
extern bool node_same_names(const uint8_t *a, const uint8_t *b);

/* By how many bytes the node would grow with all live entries of src;
 * copying them in front of `at`, an entry of the node (its flags element) or
 * the terminator.  Ids must rise; the caller has the room. */
extern size_t node_copy_size(const uint8_t *node, StreamId master, const uint8_t *src, StreamId src_master);
extern void node_copy(uint8_t *node, StreamId master, uint8_t *at, const uint8_t *src, StreamId src_master);

/* The live entries of src from the entry `from` on (NULL: all; one or more)
 * as a node of its own with another master id, at most the id of the first of
 * them.  The names of the master are those of src, so that entries keep their
 * form; only the deltas change.  A seq-delta may become longer by
 * NODE_DELTA_GROWTH bytes, nothing else ever does. */
#define NODE_DELTA_GROWTH	8
extern size_t node_recode_size(const uint8_t *src, StreamId src_master, const uint8_t *from, StreamId master);
extern void node_recode(uint8_t *node, const uint8_t *src, StreamId src_master, const uint8_t *from,
						StreamId master);

/* Cut the node before `at`: that entry and all after it are gone. */
extern void node_truncate(uint8_t *node, const uint8_t *at);

/* Checking reader for a node from outside: sound listpack, well-formed
 * entries in rising order of id, counts right, no id 0-0. */
extern bool node_validate(const uint8_t *node, size_t size, StreamId master);

#endif							/* STREAM_NODE_H */
