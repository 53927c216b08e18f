/*
 * stream.c
 *	  A stream: adding chunks, deleting, trimming.
 *
 *   1. A chunk goes where its ids belong: to the end of the node below it, or
 *      into the node that has ids on both sides of it, if that node's limits
 *      allow; else the node is split at that place, and the chunk becomes the
 *      end of the left part or a node of its own.
 *   2. Ids of dead entries may lie in the range of a chunk.  They are dropped
 *      when they would be in the way, and a node whose key is such an id gets
 *      a new key.
 *   3. Every change first finds out what it needs and takes it (blocks, then
 *      keys; what was taken is given back if the rest is not to be had), and
 *      then changes the stream without any step that can fail.
 *   4. A node more than half dead is written anew in place, and joined with
 *      the node above it if both are small.  The last node is left alone: it
 *      is being written to, and its turn comes when it is closed.
 *
 * Memory: blocks are first asked for as anyone may ask (ARENA_NORMAL), in the
 * size that suits; the charge is drawn on only if that fails, with sizes that
 * stream_charge knows.  A node that more will be added to doubles when it
 * grows; all others fit their contents.
 *
 * Locking: as said in stream.h.
 */
#include "stream_int.h"
#include "group.h"

#include <assert.h>

#define BLOCK_BYTES_MIN		256 /* of the last node */
#define ENTRIES_ADDED_MAX	((uint64_t) INT64_MAX)

_Static_assert(NODE_BYTES_MAX <= ARENA_PAGE, "a node of several entries must fit an arena page");

/* --- blocks --- */

static inline void
touch_node(Stream *s, StreamNode *n)
{
	n->version = ++s->version;
}

/* A block for `need` bytes, better `want`; from a charge, of `charged` bytes. */
static EngHandle
block_alloc(Arena *a, size_t need, size_t want, size_t charged, ArenaUse use)
{
	EngHandle	h = arena_alloc(a, want, ARENA_NORMAL);

	if (h == 0 && want > need)
		h = arena_alloc(a, need, ARENA_NORMAL);
	if (h == 0 && use != ARENA_NORMAL && charged >= need)
		h = arena_alloc(a, charged, use);
	return h;
}

/* Fill a block with a listpack that is no stream's yet. */
static void
block_fill(const Arena *a, EngHandle h, const uint8_t *lp, StreamId master)
{
	StreamNode *n = arena_ptr(a, h);

	n->version = 0;
	n->saved = 0;
	n->live = node_live(lp);
	n->dead = node_dead(lp);
	memcpy(n->lp, lp, lp_bytes(lp));
	n->last = node_last(n->lp, master);
}

/* Let the key of a node lead to block h; the key is there. */
static void
set_block(Arena *a, Stream *s, StreamId master, EngHandle h)
{
	uint8_t		key[16];

	sid_to_key(master, key);
	rax_insert(a, &s->nodes, key, sizeof(key), h, NULL, ARENA_NORMAL);
}

static EngStatus
insert_key(Arena *a, Stream *s, StreamId master, EngHandle h, ArenaUse use)
{
	uint8_t		key[16];

	sid_to_key(master, key);
	return rax_insert(a, &s->nodes, key, sizeof(key), h, NULL, use);
}

static void
remove_key(Arena *a, Stream *s, StreamId master)
{
	uint8_t		key[16];

	sid_to_key(master, key);
	rax_remove(a, &s->nodes, key, sizeof(key), NULL);
}

/* Move a node to another block. */
static void
move_block(Arena *a, Stream *s, NodePos *pos, EngHandle h)
{
	memcpy(arena_ptr(a, h), pos->n, sizeof(StreamNode) + lp_bytes(pos->n->lp));
	set_block(a, s, pos->master, h);
	arena_free(a, pos->h);
	pos->h = h;
	pos->n = arena_ptr(a, h);
}

/* Give a node a block that fits, if memory allows. */
static void
shrink_block(Arena *a, Stream *s, NodePos *pos)
{
	size_t		need = sizeof(StreamNode) + lp_bytes(pos->n->lp);

	if (arena_round(need) < arena_room(a, pos->h))
	{
		EngHandle	h = arena_alloc(a, need, ARENA_NORMAL);

		if (h != 0)
			move_block(a, s, pos, h);
	}
}

static void
drop_node(Arena *a, Stream *s, const NodePos *pos)
{
	s->bytes -= lp_bytes(pos->n->lp);
	remove_key(a, s, pos->master);
	arena_free(a, pos->h);
	s->version++;
}

/* Drop the dead entries of a node. */
static void
compact_node(Stream *s, const NodePos *pos)
{
	StreamNode *n = pos->n;

	s->bytes -= lp_bytes(n->lp);
	node_compact(n->lp);
	s->bytes += lp_bytes(n->lp);
	n->dead = 0;
	n->last = node_last(n->lp, pos->master);
	touch_node(s, n);
}

static bool
is_last_node(const Arena *a, const Stream *s, StreamId master)
{
	NodePos		next;

	return !node_seek(a, s, RAX_GT, master, &next);
}

/* --- the stream as a whole --- */

void
stream_init(Stream *s, uint32_t node_max_bytes, uint32_t node_max_entries)
{
	memset(s, 0, sizeof(*s));
	s->version = 1;
	if (node_max_bytes == 0 || node_max_bytes > NODE_BYTES_MAX)
		node_max_bytes = NODE_BYTES_MAX;
	if (node_max_bytes < NODE_BYTES_MIN)
		node_max_bytes = NODE_BYTES_MIN;
	if (node_max_entries == 0 || node_max_entries > NODE_ENTRIES_MAX)
		node_max_entries = NODE_ENTRIES_MAX;
	s->node_max_bytes = node_max_bytes;
	s->node_max_entries = node_max_entries;
	idmp_init(&s->idmp);
}

static void
free_block(void *arg, uint64_t value)
{
	arena_free(arg, value);
}

void
stream_destroy(Arena *a, Stream *s)
{
	groups_destroy(a, s);
	rax_clear(a, &s->nodes, free_block, a);
	idmp_clear(a, &s->idmp);
	s->bytes = 0;
	s->length = 0;
	s->first_id = STREAMID_MIN;
	s->version++;
}

void
stream_get_header(const Stream *s, StreamHeader *h)
{
	*h = (StreamHeader) {
		.last_id = s->last_id, .entries_added = s->entries_added,
		.max_deleted_id = s->max_deleted_id,
		.node_max_bytes = s->node_max_bytes, .node_max_entries = s->node_max_entries,
		.idmp_duration = s->idmp.duration, .idmp_maxsize = s->idmp.maxsize
	};
}

bool
stream_header_valid(const StreamHeader *h)
{
	return h->node_max_bytes >= NODE_BYTES_MIN && h->node_max_bytes <= NODE_BYTES_MAX &&
		h->node_max_entries >= 1 && h->node_max_entries <= NODE_ENTRIES_MAX &&
		h->idmp_duration >= 1 && h->idmp_duration <= IDMP_DURATION_MAX &&
		h->idmp_maxsize >= 1 && h->idmp_maxsize <= IDMP_MAXSIZE_MAX &&
		h->entries_added <= ENTRIES_ADDED_MAX && sid_cmp(h->max_deleted_id, h->last_id) <= 0;
}

void
stream_set_header(Arena *a, Stream *s, const StreamHeader *h)
{
	assert(stream_header_valid(h));
	s->last_id = h->last_id;
	s->entries_added = h->entries_added;
	s->max_deleted_id = h->max_deleted_id;
	s->node_max_bytes = h->node_max_bytes;
	s->node_max_entries = h->node_max_entries;
	idmp_configure(a, &s->idmp, h->idmp_duration, h->idmp_maxsize);
	s->version++;
}

EngStatus
stream_add_pair(Arena *a, Stream *s, const IdmpKey *key, StreamId id, ArenaUse use)
{
	EngStatus	st = idmp_add(a, &s->idmp, key, id, use);

	if (st == ENG_OK)
		s->version++;
	return st;
}

EngHandle
stream_prepare_node(Arena *a, const uint8_t *lp, StreamId first, ArenaUse use)
{
	EngHandle	h = arena_alloc(a, sizeof(StreamNode) + lp_bytes(lp), use);

	if (h != 0)
		block_fill(a, h, lp, first);
	return h;
}

EngStatus
stream_load_node(Arena *a, Stream *s, StreamId master, const uint8_t *lp, ArenaUse use)
{
	NodePos		top;
	EngHandle	h;
	StreamNode *n;

	if (node_live(lp) == 0)
		return ENG_CORRUPT;
	if (node_seek(a, s, RAX_LAST, STREAMID_MIN, &top) && sid_cmp(master, top.n->last) <= 0)
		return ENG_CORRUPT;
	h = stream_prepare_node(a, lp, master, use);
	if (h == 0)
		return ENG_NOMEM;
	if (insert_key(a, s, master, h, use) != ENG_OK)
	{
		arena_free(a, h);
		return ENG_NOMEM;
	}
	n = arena_ptr(a, h);
	n->version = n->saved = s->version;
	s->bytes += lp_bytes(lp);
	return ENG_OK;
}

/* --- adding --- */

/*
 * What a chunk of any size can need:
 *
 * - one block for a node that grows, or for what is cut off one by a split or
 *   by a new key: all of these are nodes of several entries;
 * - one block for the chunk itself, unless prepared (a prepared chunk never
 *   makes another node grow: it is linked instead);
 * - two keys.
 *
 * Once a node was split for a chunk of a run, or got a new key, nothing above
 * is in the way of the chunks that follow: the prepared ones of a run need the
 * first block once for all of them.
 */
void
stream_charge(ArenaCharge *c, const Stream *s, size_t lp_bytes, bool prepared)
{
	(void) s;
	arena_charge_exact(c, NODE_BYTES_MAX, 1);
	if (!prepared && sizeof(StreamNode) + lp_bytes <= ARENA_PAGE)
		arena_charge_exact(c, sizeof(StreamNode) + lp_bytes, 1);
	rax_charge(c, 16, 2);
}

void
stream_charge_more(ArenaCharge *c, const Stream *s)
{
	(void) s;
	rax_charge(c, 16, 1);
}

/* A chunk on its way into the stream. */
typedef struct Add
{
	Arena	   *a;
	Stream	   *s;
	ArenaUse	use;
	StreamId	first;
	StreamId	last;
	const uint8_t *lp;
	uint32_t	count;
	EngHandle	own;			/* block with the chunk alone, or 0 */
	bool		prepared;		/* it came with it */

	NodePos		low;			/* the node with the greatest key <= first */
	NodePos		up;				/* the one after it; not looked for if inside */
	bool		has_low;
	bool		has_up;
	bool		inside;			/* low has live entries above the chunk */
	bool		low_overlaps;	/* low has nothing alive above, but dead ids >= first */
	bool		up_overlaps;	/* up begins, with dead ids, at or below last */

	/* if inside or up_overlaps: that node's first live entry above the chunk */
	const uint8_t *above;
	StreamId	above_id;

	/* if inside: live entries below the chunk, and a node's bytes with just these */
	uint32_t	below;
	size_t		below_bytes;
} Add;

/* Find live entries of a node around the chunk; ENG_EXISTS if one is in it. */
static EngStatus
add_scan(Add *add, const NodePos *pos)
{
	NodeIter	it;
	NodeEntry	e;

	add->above = NULL;
	add->below = 0;
	node_iter(&it, pos->n->lp, pos->master, false, false);
	add->below_bytes = (size_t) (it.begin - pos->n->lp) + 1;
	while (node_next(&it, &e))
	{
		if (sid_cmp(e.id, add->first) < 0)
		{
			add->below++;
			add->below_bytes += (size_t) (e.end - e.at);
		}
		else if (sid_cmp(e.id, add->last) <= 0)
			return ENG_EXISTS;
		else
		{
			add->above = e.at;
			add->above_id = e.id;
			break;
		}
	}
	return ENG_OK;
}

/* Find the place of the chunk. */
static EngStatus
add_place(Add *add)
{
	EngStatus	st;

	add->has_low = node_seek(add->a, add->s, RAX_LE, add->first, &add->low);
	if (add->has_low && sid_cmp(add->low.n->last, add->first) >= 0)
	{
		st = add_scan(add, &add->low);
		if (st != ENG_OK)
			return st;
		add->inside = add->above != NULL;
		add->low_overlaps = !add->inside;
	}
	if (!add->inside && sid_cmp(add->first, add->s->last_id) <= 0)
	{
		add->has_up = node_seek(add->a, add->s, RAX_GT, add->first, &add->up);
		if (add->has_up && sid_cmp(add->up.master, add->last) <= 0)
		{
			st = add_scan(add, &add->up);
			if (st != ENG_OK)
				return st;
			assert(add->above != NULL && add->below == 0);
			add->up_overlaps = true;
		}
	}
	return ENG_OK;
}

/* A block for the chunk as a node of its own, unless there is one. */
static bool
add_own_block(Add *add)
{
	size_t		need = sizeof(StreamNode) + lp_bytes(add->lp);
	size_t		want = need;

	if (add->own != 0)
		return true;
	if (!add->inside && !add->has_up && want < BLOCK_BYTES_MIN)
		want = BLOCK_BYTES_MIN; /* it will be the last node */
	add->own = block_alloc(add->a, need, want, need, add->use);
	if (add->own == 0)
		return false;
	block_fill(add->a, add->own, add->lp, add->first);
	return true;
}

/* The chunk was put into another node. */
static void
add_free_own(Add *add)
{
	if (add->own != 0)
		arena_free(add->a, add->own);
	add->own = 0;
}

/* Nothing will come of it; what the caller brought stays the caller's. */
static EngStatus
add_fail(Add *add)
{
	if (!add->prepared)
		add_free_own(add);
	return ENG_NOMEM;
}

/* The chunk's own block has its key now. */
static void
add_linked(Add *add)
{
	touch_node(add->s, arena_ptr(add->a, add->own));
	add->s->bytes += lp_bytes(add->lp);
}

/* Large prepared chunks at the top are not worth a copy. */
static bool
add_is_large(const Add *add)
{
	return add->prepared && sizeof(StreamNode) + lp_bytes(add->lp) > add->s->node_max_bytes / 2;
}

/*
 * Put the chunk into the node `low`, if limits allow: at its end, or if inside
 * before the entries above.  *done: that was done.
 */
static EngStatus
add_to_low(Add *add, bool *done)
{
	Arena	   *a = add->a;
	Stream	   *s = add->s;
	NodePos    *pos = &add->low;
	bool		compact = (add->inside || add->low_overlaps) && pos->n->dead > 0;
	size_t		bytes = compact ? node_compact_size(pos->n->lp) : lp_bytes(pos->n->lp);
	uint32_t	entries = pos->n->live + (compact ? 0 : pos->n->dead);
	size_t		more = node_copy_size(pos->n->lp, pos->master, add->lp, add->first);
	size_t		need = sizeof(StreamNode) + bytes + more;
	size_t		room = arena_room(a, pos->h);
	uint8_t    *at;

	*done = false;
	if (!stream_node_fits(s, bytes, entries, more, add->count))
		return ENG_OK;
	if (need > room)
	{
		size_t		want = need;
		EngHandle	h;

		if (add->prepared)
			return ENG_OK;
		if (is_last_node(a, s, pos->master))
		{
			want = 2 * room < s->node_max_bytes ? 2 * room : s->node_max_bytes;
			if (want < need)
				want = need;
		}
		h = block_alloc(a, need, want, NODE_BYTES_MAX, add->use);
		if (h == 0)
			return ENG_NOMEM;
		move_block(a, s, pos, h);
	}

	if (compact)
		compact_node(s, pos);
	at = pos->n->lp + lp_bytes(pos->n->lp) - 1;
	if (add->inside)
	{
		NodeEntry	e;

		node_find(pos->n->lp, pos->master, add->above_id, &e);
		at = pos->n->lp + (e.at - pos->n->lp);
	}
	else
		pos->n->last = add->last;
	s->bytes -= lp_bytes(pos->n->lp);
	node_copy(pos->n->lp, pos->master, at, add->lp, add->first);
	s->bytes += lp_bytes(pos->n->lp);
	pos->n->live += add->count;
	touch_node(s, pos->n);
	add_free_own(add);
	*done = true;
	return ENG_OK;
}

/* The chunk as a node between low and up. */
static EngStatus
add_own_node(Add *add)
{
	if (!add_own_block(add) ||
		insert_key(add->a, add->s, add->first, add->own, add->use) == ENG_NOMEM)
		return add_fail(add);
	add_linked(add);
	if (add->low_overlaps)
		compact_node(add->s, &add->low);
	if (add->has_low && !add->has_up)
		shrink_block(add->a, add->s, &add->low);	/* nothing is added to it any more */
	return ENG_OK;
}

/* A block for the entries of a node from `above` on, under a key of their own. */
static EngHandle
above_block(Add *add, const NodePos *pos)
{
	size_t		need = sizeof(StreamNode) +
		node_recode_size(pos->n->lp, pos->master, add->above, add->above_id);

	return block_alloc(add->a, need, need, NODE_BYTES_MAX, add->use);
}

static void
above_fill(Add *add, const NodePos *pos, EngHandle h)
{
	StreamNode *n = arena_ptr(add->a, h);

	node_recode(n->lp, pos->n->lp, pos->master, add->above, add->above_id);
	n->saved = 0;
	n->live = node_live(n->lp);
	n->dead = 0;
	n->last = node_last(n->lp, add->above_id);
	touch_node(add->s, n);
	add->s->bytes += lp_bytes(n->lp);
}

/*
 * The chunk lies between live entries of the node low and does not fit there:
 * what is above gets a node of its own.
 */
static EngStatus
add_by_split(Add *add)
{
	Arena	   *a = add->a;
	Stream	   *s = add->s;
	StreamNode *n = add->low.n;
	size_t		more = node_copy_size(n->lp, add->low.master, add->lp, add->first);
	bool		onto_left;
	EngHandle	right;

	onto_left = !add_is_large(add) &&
		stream_node_fits(s, add->below_bytes, add->below, more, add->count) &&
		sizeof(StreamNode) + add->below_bytes + more <= arena_room(a, add->low.h);

	right = above_block(add, &add->low);
	if (right == 0)
		return add_fail(add);
	if ((!onto_left && !add_own_block(add)) ||
		insert_key(a, s, add->above_id, right, add->use) == ENG_NOMEM)
	{
		arena_free(a, right);
		return add_fail(add);
	}
	if (!onto_left && insert_key(a, s, add->first, add->own, add->use) == ENG_NOMEM)
	{
		remove_key(a, s, add->above_id);
		arena_free(a, right);
		return add_fail(add);
	}

	above_fill(add, &add->low, right);
	s->bytes -= lp_bytes(n->lp);
	node_truncate(n->lp, add->above);
	node_compact(n->lp);
	if (onto_left)
	{
		node_copy(n->lp, add->low.master, n->lp + lp_bytes(n->lp) - 1, add->lp, add->first);
		add_free_own(add);
	}
	else
		add_linked(add);
	s->bytes += lp_bytes(n->lp);
	n->live = node_live(n->lp);
	n->dead = 0;
	n->last = node_last(n->lp, add->low.master);
	touch_node(s, n);
	shrink_block(a, s, &add->low);
	return ENG_OK;
}

/*
 * The node at pos has no live entry below the chunk, but its key, once an id,
 * is not above it: it gets the key of its first live entry.
 */
static EngStatus
add_by_new_key(Add *add, NodePos *pos)
{
	Arena	   *a = add->a;
	Stream	   *s = add->s;
	EngHandle	above = above_block(add, pos);

	if (above == 0)
		return add_fail(add);
	if (!add_own_block(add) ||
		insert_key(a, s, add->above_id, above, add->use) == ENG_NOMEM)
	{
		arena_free(a, above);
		return add_fail(add);
	}
	/* if the chunk begins with the old key, it just takes it over */
	if (insert_key(a, s, add->first, add->own, add->use) == ENG_NOMEM)
	{
		remove_key(a, s, add->above_id);
		arena_free(a, above);
		return add_fail(add);
	}

	above_fill(add, pos, above);
	add_linked(add);
	if (add->low_overlaps)
		compact_node(s, &add->low);
	s->bytes -= lp_bytes(pos->n->lp);
	if (sid_cmp(pos->master, add->first) != 0)
		remove_key(a, s, pos->master);
	arena_free(a, pos->h);
	return ENG_OK;
}

static EngStatus
add_chunk(Add *add)
{
	EngStatus	st = add_place(add);
	bool		done = false;

	if (st != ENG_OK)
		return st;
	if (add->up_overlaps)
		return add_by_new_key(add, &add->up);
	if (add->has_low && (add->inside || !add_is_large(add)))
	{
		st = add_to_low(add, &done);
		if (st != ENG_OK || done)
			return st;
	}
	if (!add->inside)
		return add_own_node(add);
	if (add->below == 0)
		return add_by_new_key(add, &add->low);
	return add_by_split(add);
}

EngStatus
stream_add_chunk(Arena *a, Stream *s, StreamId first, const uint8_t *lp, EngHandle prepared, ArenaUse use)
{
	Add			add = {.a = a, .s = s, .use = use, .first = first, .lp = lp};
	EngStatus	st;

	if (prepared != 0)
	{
		const StreamNode *n = arena_ptr(a, prepared);

		add.own = prepared;
		add.prepared = true;
		add.lp = n->lp;
		add.last = n->last;
	}
	else
		add.last = node_last(lp, first);
	add.count = node_live(add.lp);

	st = add_chunk(&add);
	if (st != ENG_OK)
		return st;
	s->length += add.count;
	s->entries_added = s->entries_added < ENTRIES_ADDED_MAX - add.count ?
		s->entries_added + add.count : ENTRIES_ADDED_MAX;
	if (sid_cmp(add.last, s->last_id) > 0)
		s->last_id = add.last;
	if (s->length == add.count || sid_cmp(first, s->first_id) < 0)
		s->first_id = first;
	s->version++;
	groups_added(a, s, first, add.last, add.count);
	return ENG_OK;
}

/* --- deleting --- */

/* Join a small node with the one above it, if that is small and not the last. */
static bool
join_with_next(Arena *a, Stream *s, NodePos *pos, const NodePos *next)
{
	StreamNode *n = pos->n;
	size_t		more;
	size_t		need;

	if (n->live >= s->node_max_entries / 2 ||
		is_last_node(a, s, next->master) ||
		!node_same_names(n->lp, next->n->lp))
		return false;
	more = node_copy_size(n->lp, pos->master, next->n->lp, next->master);
	if (!stream_node_fits(s, lp_bytes(n->lp), n->live, more, next->n->live))
		return false;
	need = sizeof(StreamNode) + lp_bytes(n->lp) + more;
	if (need > arena_room(a, pos->h))
	{
		EngHandle	h = arena_alloc(a, need, ARENA_NORMAL);

		if (h == 0)
			return false;
		move_block(a, s, pos, h);
		n = pos->n;
	}
	node_copy(n->lp, pos->master, n->lp + lp_bytes(n->lp) - 1, next->n->lp, next->master);
	s->bytes += more;
	n->live += next->n->live;
	n->last = node_last(n->lp, pos->master);
	touch_node(s, n);
	drop_node(a, s, next);
	return true;
}

/* Entries of the node have died, but not all. */
static void
collect(Arena *a, Stream *s, NodePos *pos)
{
	NodePos		next;

	if (pos->n->dead <= pos->n->live || !node_seek(a, s, RAX_GT, pos->master, &next))
		return;
	compact_node(s, pos);
	join_with_next(a, s, pos, &next);
	shrink_block(a, s, pos);
}

/* first_id after entries from the old one on have gone. */
static void
find_first(const Arena *a, Stream *s)
{
	if (!stream_first_from(a, s, s->first_id, &s->first_id))
		s->first_id = STREAMID_MIN;
}

bool
stream_del(Arena *a, Stream *s, StreamId id, int flags)
{
	bool		keep_records = (flags & STREAM_DEL_KEEPREF) != 0;
	NodePos		pos;

	if (!node_seek(a, s, RAX_LE, id, &pos) || sid_cmp(pos.n->last, id) < 0 ||
		!node_delete(pos.n->lp, pos.master, id))
	{
		groups_deleted(a, s, id, false, keep_records);
		return false;
	}
	pos.n->live--;
	pos.n->dead++;
	touch_node(s, pos.n);
	s->length--;
	if (!(flags & STREAM_DEL_TRIM) && sid_cmp(id, s->max_deleted_id) > 0)
		s->max_deleted_id = id;
	if (pos.n->live == 0)
		drop_node(a, s, &pos);
	else
		collect(a, s, &pos);
	if (sid_cmp(id, s->first_id) == 0)
		find_first(a, s);
	s->version++;
	groups_deleted(a, s, id, true, keep_records);
	return true;
}

uint64_t
stream_trim(Arena *a, Stream *s, StreamId bound, bool keep_records)
{
	uint64_t	removed = 0;
	NodePos		pos;

	groups_trimming(a, s, bound, keep_records);
	while (node_seek(a, s, RAX_FIRST, STREAMID_MIN, &pos) && sid_cmp(pos.master, bound) < 0)
	{
		uint32_t	n = pos.n->live;

		if (sid_cmp(pos.n->last, bound) >= 0)
			n = node_delete_below(pos.n->lp, pos.master, bound);
		removed += n;
		pos.n->live -= n;
		pos.n->dead += n;
		if (pos.n->live > 0)
		{
			if (n > 0)
			{
				touch_node(s, pos.n);
				collect(a, s, &pos);
			}
			break;
		}
		drop_node(a, s, &pos);
	}
	if (removed > 0)
	{
		s->length -= removed;
		find_first(a, s);
		s->version++;
	}
	return removed;
}
