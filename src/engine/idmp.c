/*
 * idmp.c
 *	  Idempotent producers: adding, finding and forgetting pairs.
 *
 * A producer is there as long as it has pairs.  Removing from a digital
 * search tree puts any leaf below the removed node in its place: all that is
 * below a node shares the bits that lead to it.
 */
#include "idmp.h"

#include <assert.h>

/* What the trees are made of; first in both kinds of blocks. */
typedef struct TreeNode
{
	uint8_t		digest[IDMP_DIGEST];
	EngHandle	child[2];
} TreeNode;

typedef struct Producer
{
	TreeNode	tree;			/* in Idmp.producers */
	EngHandle	iids;			/* root of the tree of its pairs */
	EngHandle	first;			/* line of its pairs, oldest first */
	EngHandle	last;
	uint32_t	npairs;
} Producer;

typedef struct Pair
{
	TreeNode	tree;			/* in Producer.iids */
	StreamId	id;
	EngHandle	producer;
	EngHandle	next;			/* in the producer's line */
	EngHandle	all_next;		/* in the line of all */
	EngHandle	all_prev;
} Pair;

#define TREE_DEPTH	(IDMP_DIGEST * 8)

/* --- the trees --- */

static inline TreeNode *
tree_node(const Arena *a, EngHandle h)
{
	return arena_ptr(a, h);
}

static inline int
digest_bit(const uint8_t *digest, int depth)
{
	return digest[depth / 8] >> (7 - depth % 8) & 1;
}

/* The link that leads to the digest, or the empty one where it belongs. */
static EngHandle *
tree_link(const Arena *a, EngHandle *root, const uint8_t *digest)
{
	EngHandle  *link = root;

	for (int depth = 0; *link != 0; depth++)
	{
		TreeNode   *n = tree_node(a, *link);

		if (memcmp(n->digest, digest, IDMP_DIGEST) == 0)
			break;
		assert(depth < TREE_DEPTH);
		link = &n->child[digest_bit(digest, depth)];
	}
	return link;
}

static EngHandle
tree_find(const Arena *a, EngHandle root, const uint8_t *digest)
{
	return *tree_link(a, &root, digest);
}

static void
tree_insert(const Arena *a, EngHandle *root, const uint8_t *digest, EngHandle h)
{
	EngHandle  *link = tree_link(a, root, digest);
	TreeNode   *n = tree_node(a, h);

	assert(*link == 0);
	memcpy(n->digest, digest, IDMP_DIGEST);
	n->child[0] = n->child[1] = 0;
	*link = h;
}

static void
tree_remove(const Arena *a, EngHandle *root, EngHandle h)
{
	TreeNode   *n = tree_node(a, h);
	EngHandle  *link = tree_link(a, root, n->digest);
	EngHandle  *leaf_link = link;
	EngHandle	leaf;

	assert(*link == h);
	for (;;)
	{
		TreeNode   *below = tree_node(a, *leaf_link);

		if (below->child[0] == 0 && below->child[1] == 0)
			break;
		leaf_link = &below->child[below->child[0] == 0];
	}
	leaf = *leaf_link;
	*leaf_link = 0;
	if (leaf != h)
	{
		memcpy(tree_node(a, leaf)->child, n->child, sizeof(n->child));
		*link = leaf;
	}
}

/* --- the lines --- */

static inline Pair *
pair_at(const Arena *a, EngHandle h)
{
	return arena_ptr(a, h);
}

static void
line_append(const Arena *a, Idmp *d, EngHandle h)
{
	Pair	   *p = pair_at(a, h);
	Producer   *of = arena_ptr(a, p->producer);

	p->next = 0;
	if (of->last != 0)
		pair_at(a, of->last)->next = h;
	else
		of->first = h;
	of->last = h;

	p->all_next = 0;
	p->all_prev = d->last;
	if (d->last != 0)
		pair_at(a, d->last)->all_next = h;
	else
		d->first = h;
	d->last = h;
}

/* Of its producer's line a pair nearly always is the first. */
static void
line_remove(const Arena *a, Idmp *d, EngHandle h)
{
	Pair	   *p = pair_at(a, h);
	Producer   *of = arena_ptr(a, p->producer);
	EngHandle	before = 0;

	for (EngHandle at = of->first; at != h; at = pair_at(a, at)->next)
		before = at;
	if (before != 0)
		pair_at(a, before)->next = p->next;
	else
		of->first = p->next;
	if (of->last == h)
		of->last = before;

	if (p->all_prev != 0)
		pair_at(a, p->all_prev)->all_next = p->all_next;
	else
		d->first = p->all_next;
	if (p->all_next != 0)
		pair_at(a, p->all_next)->all_prev = p->all_prev;
	else
		d->last = p->all_prev;
}

static void
forget(Arena *a, Idmp *d, EngHandle h)
{
	EngHandle	producer = pair_at(a, h)->producer;
	Producer   *of = arena_ptr(a, producer);

	line_remove(a, d, h);
	tree_remove(a, &of->iids, h);
	arena_free(a, h);
	d->npairs--;
	if (--of->npairs == 0)
	{
		tree_remove(a, &d->producers, producer);
		arena_free(a, producer);
		d->nproducers--;
	}
}

/* --- the whole --- */

void
idmp_init(Idmp *d)
{
	memset(d, 0, sizeof(*d));
	d->duration = IDMP_DURATION_DEFAULT;
	d->maxsize = IDMP_MAXSIZE_DEFAULT;
}

bool
idmp_find(const Arena *a, const Idmp *d, const IdmpKey *key, StreamId *id)
{
	EngHandle	h = tree_find(a, d->producers, key->producer);

	if (h != 0)
		h = tree_find(a, ((Producer *) arena_ptr(a, h))->iids, key->iid);
	if (h != 0)
		*id = pair_at(a, h)->id;
	return h != 0;
}

void
idmp_charge(ArenaCharge *c, uint32_t n)
{
	if (n == 0)
		return;
	arena_charge_exact(c, sizeof(Pair), n);
	arena_charge_exact(c, sizeof(Producer), n);
}

/* A pair not seen before; its producer is made if need be. */
static EngStatus
make_pair(Arena *a, Idmp *d, const IdmpKey *key, EngHandle producer, ArenaUse use, EngHandle *made)
{
	EngHandle	h = arena_alloc(a, sizeof(Pair), use);
	Producer   *of;

	if (h == 0)
		return ENG_NOMEM;
	if (producer == 0)
	{
		producer = arena_alloc(a, sizeof(Producer), use);
		if (producer == 0)
		{
			arena_free(a, h);
			return ENG_NOMEM;
		}
		memset(arena_ptr(a, producer), 0, sizeof(Producer));
		tree_insert(a, &d->producers, key->producer, producer);
		d->nproducers++;
	}
	of = arena_ptr(a, producer);
	tree_insert(a, &of->iids, key->iid, h);
	of->npairs++;
	d->npairs++;
	pair_at(a, h)->producer = producer;
	*made = h;
	return ENG_OK;
}

EngStatus
idmp_add(Arena *a, Idmp *d, const IdmpKey *key, StreamId id, ArenaUse use)
{
	EngHandle	producer = tree_find(a, d->producers, key->producer);
	EngHandle	h = 0;
	Producer   *of;

	if (producer != 0)
		h = tree_find(a, ((Producer *) arena_ptr(a, producer))->iids, key->iid);
	if (h != 0)
	{
		if (sid_cmp(pair_at(a, h)->id, id) == 0)
			return ENG_EXISTS;
		line_remove(a, d, h);
	}
	else if (make_pair(a, d, key, producer, use, &h) != ENG_OK)
		return ENG_NOMEM;

	pair_at(a, h)->id = id;
	line_append(a, d, h);
	d->added++;
	while (idmp_expired(d->duration, pair_at(a, d->first)->id, id.ms))
		forget(a, d, d->first);
	of = arena_ptr(a, pair_at(a, h)->producer);
	while (of->npairs > d->maxsize)
		forget(a, d, of->first);
	return ENG_OK;
}

void
idmp_configure(Arena *a, Idmp *d, uint32_t duration, uint32_t maxsize)
{
	if (duration == d->duration && maxsize == d->maxsize)
		return;
	idmp_clear(a, d);
	d->duration = duration;
	d->maxsize = maxsize;
}

void
idmp_clear(Arena *a, Idmp *d)
{
	while (d->first != 0)
		forget(a, d, d->first);
}

void
idmp_each(const Arena *a, const Idmp *d,
		  bool (*fn) (void *arg, const IdmpKey *key, StreamId id), void *arg)
{
	for (EngHandle h = d->first; h != 0; h = pair_at(a, h)->all_next)
	{
		Pair	   *p = pair_at(a, h);
		IdmpKey		key;

		memcpy(key.producer, tree_node(a, p->producer)->digest, IDMP_DIGEST);
		memcpy(key.iid, p->tree.digest, IDMP_DIGEST);
		if (!fn(arg, &key, p->id))
			break;
	}
}

/* --- checking --- */

/* Count a tree; no deeper than a digest has bits, so recursion is bounded. */
static const char *
check_tree(const Arena *a, EngHandle root, EngHandle h, int depth, uint64_t *n)
{
	const char *problem;

	if (h == 0)
		return NULL;
	if (depth > TREE_DEPTH)
		return "a tree is deeper than a digest";
	if (tree_find(a, root, tree_node(a, h)->digest) != h)
		return "an object is not where its digest leads";
	++*n;
	problem = check_tree(a, root, tree_node(a, h)->child[0], depth + 1, n);
	return problem ? problem : check_tree(a, root, tree_node(a, h)->child[1], depth + 1, n);
}

static const char *
check_producer(const Arena *a, EngHandle h, uint32_t maxsize)
{
	Producer   *of = arena_ptr(a, h);
	uint64_t	in_tree = 0;
	uint64_t	in_line = 0;
	const char *problem = check_tree(a, of->iids, of->iids, 0, &in_tree);

	if (problem != NULL)
		return problem;
	for (EngHandle at = of->first; at != 0; at = pair_at(a, at)->next)
	{
		in_line++;
		if (pair_at(a, at)->producer != h)
			return "a pair is in another producer's line";
		if ((pair_at(a, at)->next == 0) != (of->last == at))
			return "a producer's line ends elsewhere";
	}
	if (in_tree != of->npairs || in_line != of->npairs)
		return "a producer has another number of pairs";
	return of->npairs == 0 || of->npairs > maxsize ? "a producer has none or too many pairs" : NULL;
}

const char *
idmp_check(const Arena *a, const Idmp *d)
{
	uint64_t	n = 0;
	EngHandle	prev = 0;
	const char *problem = check_tree(a, d->producers, d->producers, 0, &n);

	if (problem != NULL)
		return problem;
	if (n != d->nproducers)
		return "the number of producers is wrong";
	n = 0;
	for (EngHandle h = d->first; h != 0; h = pair_at(a, h)->all_next)
	{
		Pair	   *p = pair_at(a, h);

		n++;
		if (p->all_prev != prev)
			return "the line of all pairs is broken";
		problem = check_producer(a, p->producer, d->maxsize);
		if (problem != NULL)
			return problem;
		if (tree_find(a, d->producers, tree_node(a, p->producer)->digest) != p->producer)
			return "a pair's producer is not in the tree";
		prev = h;
	}
	if (prev != d->last)
		return "the line of all pairs ends elsewhere";
	return n != d->npairs ? "the number of pairs is wrong" : NULL;
}
