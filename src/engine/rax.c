/*
 * rax.c
 *	  Radix tree with compressed paths: find and change.
 *
 * rax_int.h draws the nodes.
 *
 *   1. Nodes have the size they need and are replaced when they grow.  An
 *      insert builds all nodes that are new or different, then puts them in
 *      by changing one link, then frees what they replace.
 *   2. Removing frees nodes that lead nowhere, and joins nodes that have
 *      become one path.  Both leave a node where it is if there is no memory
 *      for a better one.
 *   3. There is no way back up: the walk down notes the places that matter.
 *
 * Locking: none, see rax.h.  Left out: iterators that stay valid over a
 * change (a seek from the last key does that).
 */
#include "rax_int.h"

#include <assert.h>

/* --- new nodes --- */

/* Nodes made for one change.  After a failure all are freed again. */
#define NEW_MAX			(RAX_KEY_MAX / RUN_MAX + 5)

typedef struct New
{
	Arena	   *a;
	ArenaUse	use;
	bool		failed;
	unsigned	count;
	EngHandle	node[NEW_MAX];
} New;

static void
new_free(New *new)
{
	while (new->count > 0)
		arena_free(new->a, new->node[--new->count]);
}

/* A node with no bytes and links filled in, NULL if there is no memory. */
static RaxNode *
new_node(New *new, unsigned size, unsigned flags, Ref *ref)
{
	size_t		bytes = node_bytes(size, flags);
	EngHandle	h;
	RaxNode    *n;

	*ref = REF_NONE;
	if (new->failed)
		return NULL;
	assert(new->count < NEW_MAX);
	h = arena_alloc(new->a, bytes, new->use);
	if (h == 0)
	{
		new->failed = true;
		return NULL;
	}
	new->node[new->count++] = h;
	n = node_at(new->a, h);
	memset(n, 0, bytes);
	n->size = (uint16_t) size;
	n->flags = (uint8_t) flags;
	ref->to = h;
	return n;
}

/* A node for a path of at most RUN_MAX bytes; *key: the value if it is a key. */
static Ref
new_path(New *new, const uint8_t *bytes, size_t len, const uint64_t *key, Ref next)
{
	unsigned	flags = (len > 1 ? NODE_RUN : 0) | (key != NULL ? NODE_KEY : 0);
	Ref			ref;
	RaxNode    *n = new_node(new, (unsigned) len, flags, &ref);

	if (n != NULL)
	{
		if (len > 0)
		{
			memcpy(n->bytes, bytes, len);
			set_link(n, 0, next);
		}
		if (key != NULL)
			*value_of(n) = *key;
	}
	return ref;
}

/* Nodes for a path of any length, built from its end; *key as above, for its
 * beginning.  Without bytes and key there is nothing to build. */
static Ref
new_chain(New *new, const uint8_t *bytes, size_t len, const uint64_t *key, Ref next)
{
	while (len > RUN_MAX)
	{
		size_t		part = (len - 1) % RUN_MAX + 1;

		len -= part;
		next = new_path(new, bytes + len, part, NULL, next);
	}
	if (len > 0 || key != NULL)
		next = new_path(new, bytes, len, key, next);
	return next;
}

/* The node as it is, but a key. */
static Ref
new_key(New *new, const RaxNode *old, uint64_t value)
{
	Ref			ref;
	RaxNode    *n = new_node(new, old->size, old->flags | NODE_KEY, &ref);

	if (n != NULL)
	{
		memcpy(n->bytes, old->bytes,
			   node_bytes(old->size, old->flags) - offsetof(RaxNode, bytes));
		*value_of(n) = value;
	}
	return ref;
}

/* The branch with one more edge. */
static Ref
new_edge(New *new, const RaxNode *old, unsigned at, uint8_t byte, Ref next)
{
	Ref			ref;
	RaxNode    *n = new_node(new, old->size + 1u, old->flags, &ref);

	if (n == NULL)
		return ref;
	memcpy(n->bytes, old->bytes, at);
	n->bytes[at] = byte;
	memcpy(n->bytes + at + 1, old->bytes + at, old->size - at);
	/* the links as they are, the leaf marks one by one only from `at` on */
	memcpy(links(n), links(old), at * sizeof(uint64_t));
	memcpy(n->bytes + n->size, old->bytes + old->size, (at + 7) / 8);
	set_link(n, at, next);
	for (unsigned i = at + 1; i < n->size; i++)
		set_link(n, i, get_link(old, i - 1));
	if (n->flags & NODE_KEY)
		*value_of(n) = *value_of(old);
	return ref;
}

/* A branch of two edges. */
static Ref
new_fork(New *new, uint8_t b1, Ref next1, uint8_t b2, Ref next2, const uint64_t *key)
{
	Ref			ref;
	RaxNode    *n = new_node(new, 2, key != NULL ? NODE_KEY : 0, &ref);

	if (n != NULL)
	{
		n->bytes[b1 < b2 ? 0 : 1] = b1;
		n->bytes[b1 < b2 ? 1 : 0] = b2;
		set_link(n, b1 < b2 ? 0 : 1, next1);
		set_link(n, b1 < b2 ? 1 : 0, next2);
		if (key != NULL)
			*value_of(n) = *key;
	}
	return ref;
}

/* --- walking down along a key --- */

/* A link in the tree: link i of a node, or the root if node is NULL. */
typedef struct Place
{
	RaxNode    *node;
	unsigned	i;
} Place;

static inline Ref
place_get(const Rax *r, Place p)
{
	if (p.node == NULL)
		return (Ref) {r->root, false};
	return get_link(p.node, p.i);
}

static void
place_set(Rax *r, Place p, Ref ref)
{
	if (p.node != NULL)
		set_link(p.node, p.i, ref);
	else
	{
		assert(!ref.leaf);
		r->root = ref.to;
	}
}

/* Where the walk ended: in the node or leaf at `place`. */
typedef struct Walk
{
	Place		place;
	RaxNode    *node;			/* NULL if it is a leaf */
	size_t		matched;		/* bytes of the key that led there */
	unsigned	in_run;			/* and that go on into the node's run */
	unsigned	edge;			/* in a branch: where the missing edge belongs */
} Walk;

static void
walk(const Arena *a, const Rax *r, const uint8_t *key, size_t len, Walk *w)
{
	w->place = (Place) {NULL, 0};
	w->matched = 0;
	w->in_run = 0;
	w->edge = 0;
	for (;;)
	{
		Ref			ref = place_get(r, w->place);
		RaxNode    *n;

		w->node = NULL;
		if (ref.leaf)
			return;
		w->node = n = node_at(a, ref.to);
		if (w->matched == len)
			return;
		if (n->flags & NODE_RUN)
		{
			w->in_run = run_match(n, key + w->matched, len - w->matched);
			if (w->in_run < n->size)
				return;
			w->place = (Place) {n, 0};
			w->matched += n->size;
			w->in_run = 0;
		}
		else
		{
			w->edge = edge_at_least(n, key[w->matched]);
			if (w->edge == n->size || n->bytes[w->edge] != key[w->matched])
				return;
			w->place = (Place) {n, w->edge};
			w->matched++;
		}
	}
}

bool
rax_find(const Arena *a, const Rax *r, const void *key, size_t len, uint64_t *value)
{
	uint64_t	found;
	Walk		w;

	if (r->root == 0)
		return false;
	walk(a, r, key, len, &w);
	if (w.matched < len || w.in_run > 0)
		return false;
	if (w.node == NULL)
		found = place_get(r, w.place).to;
	else if (w.node->flags & NODE_KEY)
		found = *value_of(w.node);
	else
		return false;
	if (value != NULL)
		*value = found;
	return true;
}

/* --- insert --- */

/* The key ends in the run, or leaves it: cut the run in two, with a key or a
 * fork between. */
static Ref
split_run(New *new, const Walk *w, const uint8_t *key, size_t len, uint64_t value)
{
	const RaxNode *n = w->node;
	unsigned	j = w->in_run;
	size_t		at = w->matched + j;
	Ref			next = get_link(n, 0);
	const uint64_t *own = n->flags & NODE_KEY ? value_of(n) : NULL;

	if (at == len)
		next = new_path(new, n->bytes + j, n->size - j, &value, next);
	else
	{
		next = new_chain(new, n->bytes + j + 1, n->size - j - 1u, NULL, next);
		next = new_fork(new, n->bytes[j], next, key[at],
						new_chain(new, key + at + 1, len - at - 1, NULL, (Ref) {value, true}),
						j == 0 ? own : NULL);
	}
	if (j > 0)
		next = new_path(new, n->bytes, j, own, next);
	return next;
}

EngStatus
rax_insert(Arena *a, Rax *r, const void *keyp, size_t len, uint64_t value, uint64_t *old,
		   ArenaUse use)
{
	const uint8_t *key = keyp;
	const Ref	leaf = {value, true};
	uint64_t   *present = NULL;
	New			new = {.a = a, .use = use};
	Walk		w = {0};
	Ref			ref;

	if (len > RAX_KEY_MAX)
		return ENG_TOOBIG;
	if (r->root != 0)
		walk(a, r, key, len, &w);

	/* The key is there already? */
	if (r->root != 0 && w.matched == len && w.in_run == 0)
	{
		if (w.node == NULL)
			present = &links(w.place.node)[w.place.i];
		else if (w.node->flags & NODE_KEY)
			present = value_of(w.node);
	}
	if (present != NULL)
	{
		if (old != NULL)
			*old = *present;
		*present = value;
		return ENG_EXISTS;
	}

	/* Build what shall be at w.place. */
	if (r->root == 0)
		ref = new_chain(&new, key, len, len == 0 ? &value : NULL, leaf);
	else if (w.node == NULL || w.node->size == 0)
	{
		/* the key there gets its first successor */
		uint64_t	here = w.node == NULL ? place_get(r, w.place).to : *value_of(w.node);

		ref = new_chain(&new, key + w.matched, len - w.matched, &here, leaf);
	}
	else if (w.matched == len && w.in_run == 0)
		ref = new_key(&new, w.node, value);
	else if (w.node->flags & NODE_RUN)
		ref = split_run(&new, &w, key, len, value);
	else
		ref = new_edge(&new, w.node, w.edge, key[w.matched],
					   new_chain(&new, key + w.matched + 1, len - w.matched - 1, NULL, leaf));
	if (new.failed)
	{
		new_free(&new);
		return ENG_NOMEM;
	}

	r->nnodes += new.count;
	if (w.node != NULL)
	{
		EngHandle	replaced = place_get(r, w.place).to;

		place_set(r, w.place, ref);
		arena_free(a, replaced);
		r->nnodes--;
	}
	else
		place_set(r, w.place, ref);
	r->nkeys++;
	return ENG_OK;
}

void
rax_charge(ArenaCharge *c, size_t len, uint32_t n)
{
	/*
	 * The most nodes come from leaving a run: both parts of the run, the fork
	 * and the rest of the key.  Then all are small, else one may be a branch
	 * of any size.
	 */
	uint64_t	small = (2 + (len + RUN_MAX - 1) / RUN_MAX) * (uint64_t) n;

	assert(len <= RAX_KEY_MAX);
	if (n > 0)
	{
		arena_charge_note(c, BRANCH_BYTES_MAX, n);
		arena_charge_note(c, RUN_BYTES_MAX, small > UINT32_MAX ? UINT32_MAX : (uint32_t) small);
	}
}

/* --- remove --- */

static void
node_free(Arena *a, Rax *r, EngHandle h)
{
	arena_free(a, h);
	r->nnodes--;
}

/* The one way on from a node with one link; frees it. */
static Ref
free_step(Arena *a, Rax *r, EngHandle h)
{
	Ref			next = get_link(node_at(a, h), 0);

	node_free(a, r, h);
	return next;
}

/*
 * Join the path of one-link nodes that begins at `top` into as few nodes as
 * will hold it.  All but the first are no keys.
 */
static void
join_path(Arena *a, Rax *r, Place top)
{
	New			new = {.a = a, .use = ARENA_SHRINK};
	Ref			ref = place_get(r, top);
	RaxNode    *n = node_at(a, ref.to);
	uint64_t   *key = n->flags & NODE_KEY ? value_of(n) : NULL;
	uint8_t		path[RAX_KEY_MAX];
	size_t		len = 0;
	unsigned	count = 0;

	for (;;)
	{
		memcpy(path + len, n->bytes, n->size);
		len += n->size;
		count++;
		ref = get_link(n, 0);
		if (ref.leaf)
			break;
		n = node_at(a, ref.to);
		if (link_count(n) != 1 || n->flags & NODE_KEY)
			break;
	}
	if ((len + RUN_MAX - 1) / RUN_MAX >= count)
		return;
	ref = new_chain(&new, path, len, key, ref);
	if (new.failed)
	{
		new_free(&new);
		return;
	}
	for (Ref old = place_get(r, top); count > 0; count--)
		old = free_step(a, r, old.to);
	place_set(r, top, ref);
	r->nnodes += new.count;
}

/* Take edge i out of the branch at `place`. */
static void
drop_edge(Arena *a, Rax *r, Place place, unsigned i)
{
	New			new = {.a = a, .use = ARENA_SHRINK};
	EngHandle	h = place_get(r, place).to;
	RaxNode    *n = node_at(a, h);
	unsigned	size = n->size - 1u;
	size_t		bytes = node_bytes(size, n->flags);
	uint64_t   *from = links(n);
	uint64_t   *to;
	bool		leaf[256];

	/* In place first.  No part moves up, so none runs over one still needed. */
	for (unsigned k = 0; k < size; k++)
		leaf[k] = get_link(n, k < i ? k : k + 1).leaf;
	memmove(n->bytes + i, n->bytes + i + 1, size - i);
	n->size = (uint16_t) size;
	to = links(n);
	memset(n->bytes + size, 0, (size_t) ((char *) to - (char *) (n->bytes + size)));
	memmove(to, from, i * sizeof(*to));
	memmove(to + i, from + i + 1, (size - i + (n->flags & NODE_KEY ? 1 : 0)) * sizeof(*to));
	for (unsigned k = 0; k < size; k++)
		set_link(n, k, (Ref) {to[k], leaf[k]});

	if (arena_round(bytes) < arena_room(a, h))
	{
		Ref			ref;
		RaxNode    *smaller = new_node(&new, size, n->flags, &ref);

		if (smaller != NULL)
		{
			memcpy(smaller, n, bytes);
			place_set(r, place, ref);
			arena_free(a, h);
		}
	}
}

/* The node at `place` is a key and what followed it is gone: make it a leaf. */
static void
make_leaf(Arena *a, Rax *r, Place place)
{
	EngHandle	h = place_get(r, place).to;
	RaxNode    *n = node_at(a, h);
	uint64_t	value = *value_of(n);

	if (place.node != NULL)
	{
		place_set(r, place, (Ref) {value, true});
		node_free(a, r, h);
	}
	else
	{
		n->size = 0;
		n->flags = NODE_KEY;
		*value_of(n) = value;
	}
}

/* What the walk to a key passes that matters for removing it. */
typedef struct Trail
{
	Place		stays;			/* the last node that is a key or has several links */
	unsigned	edge;			/* which link of it leads to the key */
	bool		any;			/* there is such a node */
	Place		path;			/* first of the one-link nodes right above, ... */
	bool		in_path;		/* if there are any */
	Place		stays_path;		/* the same for the node that stays */
	bool		stays_in_path;
} Trail;

/* Note that the walk goes on from the node at `place` by link `edge`. */
static void
trail_note(Trail *t, Place place, const RaxNode *n, unsigned edge)
{
	bool		one = link_count(n) == 1;
	bool		key = (n->flags & NODE_KEY) != 0;

	if (key || !one)
	{
		t->stays = place;
		t->edge = edge;
		t->any = true;
		t->stays_path = t->path;
		t->stays_in_path = t->in_path;
	}
	if (!one)
		t->in_path = false;
	else if (key || !t->in_path)
	{
		t->path = place;
		t->in_path = true;
	}
}

/* Walk to a key; gives its place and value.  False: it is not there. */
static bool
walk_trail(const Arena *a, const Rax *r, const uint8_t *key, size_t len, Trail *t, Place *found, uint64_t *value)
{
	Place		place = {NULL, 0};
	Ref			ref = {r->root, false};
	RaxNode    *n;

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < len;)
	{
		unsigned	edge = 0;

		if (ref.leaf)
			return false;
		n = node_at(a, ref.to);
		if (n->flags & NODE_RUN)
		{
			if (len - i < n->size || memcmp(n->bytes, key + i, n->size) != 0)
				return false;
			i += n->size;
		}
		else
		{
			edge = edge_at_least(n, key[i]);
			if (edge == n->size || n->bytes[edge] != key[i])
				return false;
			i++;
		}
		trail_note(t, place, n, edge);
		place = (Place) {n, edge};
		ref = get_link(n, edge);
	}
	*found = place;
	*value = ref.to;
	if (ref.leaf)
		return true;
	n = node_at(a, ref.to);
	if ((n->flags & NODE_KEY) == 0)
		return false;
	*value = *value_of(n);
	return true;
}

bool
rax_remove(Arena *a, Rax *r, const void *key, size_t len, uint64_t *old)
{
	Trail		t;
	Place		place;
	Ref			ref;
	RaxNode    *n;
	uint64_t	value;

	if (r->root == 0 || !walk_trail(a, r, key, len, &t, &place, &value))
		return false;
	if (old != NULL)
		*old = value;
	ref = place_get(r, place);
	r->nkeys--;

	/* a key with others below it: they stay */
	if (!ref.leaf && node_at(a, ref.to)->size > 0)
	{
		n = node_at(a, ref.to);
		n->flags &= (uint8_t) ~NODE_KEY;
		if (link_count(n) == 1)
			join_path(a, r, t.in_path ? t.path : place);
		return true;
	}

	/* else the path to it goes, up to a node that stays */
	n = t.any ? node_at(a, place_get(r, t.stays).to) : NULL;
	ref = place_get(r, (Place) {n, t.edge});
	while (!ref.leaf)
	{
		if (node_at(a, ref.to)->size == 0)
		{
			node_free(a, r, ref.to);
			break;
		}
		ref = free_step(a, r, ref.to);
	}
	if (n == NULL)
		r->root = 0;
	else if (link_count(n) == 1)
		make_leaf(a, r, t.stays);
	else
	{
		drop_edge(a, r, t.stays, t.edge);
		n = node_at(a, place_get(r, t.stays).to);
		if (n->size == 1)
			join_path(a, r, t.stays_in_path && !(n->flags & NODE_KEY) ? t.stays_path : t.stays);
	}
	return true;
}

static void
clear_below(Arena *a, Ref ref, void (*fn) (void *arg, uint64_t value), void *arg)
{
	const RaxNode *n;

	if (ref.leaf)
	{
		if (fn != NULL)
			fn(arg, ref.to);
		return;
	}
	n = node_at(a, ref.to);
	if (n->flags & NODE_KEY && fn != NULL)
		fn(arg, *value_of(n));
	for (unsigned i = 0; i < link_count(n); i++)
		clear_below(a, get_link(n, i), fn, arg);
	arena_free(a, ref.to);
}

void
rax_clear(Arena *a, Rax *r, void (*fn) (void *arg, uint64_t value), void *arg)
{
	if (r->root != 0)
		clear_below(a, (Ref) {r->root, false}, fn, arg);
	memset(r, 0, sizeof(*r));
}
