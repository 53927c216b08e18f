/*
 * rax_int.h
 *	  Nodes of the radix tree, for the files rax*.c only.
 *
 * A node:
 *
 *	 size u16 | flags u8 | bytes[size] | [leaf bits] | (pad to 8) | links u64 ... | [value u64]
 *
 *   1. A branch has `size` edges with one byte and one link each, in rising
 *      order of byte.  A run (NODE_RUN) is a path of 2 to RUN_MAX bytes with
 *      no other way to go, and one link.  A path of one byte is a branch of
 *      one edge; a longer path than RUN_MAX is several nodes.
 *   2. NODE_KEY: the path from the root to this node, its own bytes not
 *      counted, is a key, and `value` is there.
 *   3. A key that is no prefix of another has no node: its value takes the
 *      place of the link that would lead there.  Such a link is a leaf: the
 *      bit of its edge is set in the leaf bits of a branch, or NODE_LEAF in a
 *      run.  So every node has a link, but for one case: the root of a tree
 *      whose only key is empty is a branch of no edges.
 *
 * A node is at most BRANCH_BYTES_MAX bytes, well within a page of the arena.
 */
#ifndef STREAM_RAX_INT_H
#define STREAM_RAX_INT_H

#include "rax.h"

/* The longest run.  Its node takes 64 bytes with a value. */
#define RUN_MAX			45

#define NODE_KEY		1
#define NODE_RUN		2
#define NODE_LEAF		4

typedef struct RaxNode
{
	uint16_t	size;
	uint8_t		flags;
	uint8_t		bytes[];
} RaxNode;

/* Where a link leads: to a node, or if leaf, to a value. */
typedef struct Ref
{
	uint64_t	to;
	bool		leaf;
} Ref;

#define REF_NONE		((Ref) {0, false})

/* What a full branch and the longest run take, as keys. */
#define BRANCH_BYTES_MAX	((offsetof(RaxNode, bytes) + 256 + 32 + 7) / 8 * 8 + 257 * sizeof(uint64_t))
#define RUN_BYTES_MAX	((offsetof(RaxNode, bytes) + RUN_MAX + 7) / 8 * 8 + 2 * sizeof(uint64_t))

/* --- nodes --- */

/* Where the links begin. */
static inline size_t
links_off(unsigned size, unsigned flags)
{
	size_t		n = offsetof(RaxNode, bytes) + size;

	if (!(flags & NODE_RUN))
		n += (size + 7) / 8;
	return (n + 7) & ~(size_t) 7;
}

static inline unsigned
link_count(const RaxNode *n)
{
	return n->flags & NODE_RUN ? 1 : n->size;
}

static inline uint64_t *
links(const RaxNode *n)
{
	return (uint64_t *) ((char *) n + links_off(n->size, n->flags));
}

static inline uint64_t *
value_of(const RaxNode *n)
{
	return links(n) + link_count(n);
}

static inline size_t
node_bytes(unsigned size, unsigned flags)
{
	return links_off(size, flags) + sizeof(uint64_t) *
		((flags & NODE_RUN ? 1 : size) + (flags & NODE_KEY ? 1 : 0));
}

static inline RaxNode *
node_at(const Arena *a, EngHandle h)
{
	return arena_ptr(a, h);
}

static inline Ref
get_link(const RaxNode *n, unsigned i)
{
	Ref			ref;

	ref.to = links(n)[i];
	if (n->flags & NODE_RUN)
		ref.leaf = (n->flags & NODE_LEAF) != 0;
	else
		ref.leaf = (n->bytes[n->size + i / 8] >> (i % 8)) & 1;
	return ref;
}

static inline void
set_link(RaxNode *n, unsigned i, Ref ref)
{
	uint8_t    *marks = &n->flags;
	uint8_t		mark = NODE_LEAF;

	if (!(n->flags & NODE_RUN))
	{
		marks = &n->bytes[n->size + i / 8];
		mark = (uint8_t) (1u << (i % 8));
	}
	*marks = (uint8_t) (ref.leaf ? *marks | mark : *marks & ~mark);
	links(n)[i] = ref.to;
}

/* First edge of a branch whose byte is not less than c; size if none is.
 * Streams look at their end mostly, so the last edge is tried first. */
static inline unsigned
edge_at_least(const RaxNode *n, uint8_t c)
{
	unsigned	lo = 0,
				hi = n->size;

	if (hi > 0 && n->bytes[hi - 1] <= c)
		return n->bytes[hi - 1] == c ? hi - 1 : hi;
	while (lo < hi)
	{
		unsigned	mid = (lo + hi) / 2;

		if (n->bytes[mid] < c)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How many bytes of a run are the first bytes of the key. */
static inline unsigned
run_match(const RaxNode *n, const uint8_t *key, size_t len)
{
	unsigned	most = len < n->size ? (unsigned) len : n->size;
	unsigned	j = 0;

	if (memcmp(n->bytes, key, most) == 0)
		return most;
	while (n->bytes[j] == key[j])
		j++;
	return j;
}

#endif							/* STREAM_RAX_INT_H */
