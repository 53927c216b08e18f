/*
 * rax_read.c
 *	  Radix tree with compressed paths: seek, and a look at the whole.
 *
 * A seek walks down along the wanted key and remembers the last turn where
 * the tree offers something greater (or smaller); when the walk ends it goes
 * from there to the lowest (or highest) key.  So it needs no stack.
 *
 * Shape, as rax_shape writes it: a run is its bytes in quotes, a branch is its
 * bytes in brackets; either is in parentheses if it is a key; a leaf is ().
 * One link follows as ->, several are listed in braces, in order.
 *
 *	 abcd                  "abcd"->()
 *	 abcd, ab              "ab"->("cd")->()
 *	 abcd, abABC           "ab"->[Ac]{"BC"->() [d]->()}
 *
 * An empty tree has an empty shape.  A byte that is no letter, digit or other
 * plain character is written as \xNN.
 *
 * Shape and check recurse, one level for each byte of a key at most.
 *
 * Locking: none, see rax.h.
 */
#include "rax_int.h"

/* --- seek --- */

/* A way to other keys that the walk passed: a link of a node, or the node's
 * own key; `depth` bytes of the wanted key lead to the node. */
typedef struct Turn
{
	const RaxNode *node;
	unsigned	link;
	size_t		depth;
} Turn;

#define LINK_SELF		256u	/* no link has this number */

/* The key found: its first `common` bytes are those of the wanted key. */
typedef struct Found
{
	uint8_t    *out;			/* where to write the others, or NULL */
	size_t		common;
	size_t		len;
	uint64_t	value;
} Found;

/* Add the bytes of link i of a node; gives where it leads. */
static inline Ref
follow(Found *f, const RaxNode *n, unsigned i)
{
	if (n->flags & NODE_RUN)
	{
		if (f->out != NULL)
			memcpy(f->out + f->len, n->bytes, n->size);
		f->len += n->size;
	}
	else
	{
		if (f->out != NULL)
			f->out[f->len] = n->bytes[i];
		f->len++;
	}
	return get_link(n, i);
}

static void
go_lowest(const Arena *a, Ref ref, Found *f)
{
	while (!ref.leaf)
	{
		const RaxNode *n = node_at(a, ref.to);

		if (n->flags & NODE_KEY)
		{
			f->value = *value_of(n);
			return;
		}
		ref = follow(f, n, 0);
	}
	f->value = ref.to;
}

static void
go_highest(const Arena *a, Ref ref, Found *f)
{
	while (!ref.leaf)
	{
		const RaxNode *n = node_at(a, ref.to);

		if (n->size == 0)
		{
			f->value = *value_of(n);
			return;
		}
		ref = follow(f, n, link_count(n) - 1);
	}
	f->value = ref.to;
}

/* The least key greater than `key`, or equal if that is wanted. */
static bool
seek_up(const Arena *a, const Rax *r, const uint8_t *key, size_t len, bool equal, Found *f)
{
	Ref			ref = {r->root, false};
	Turn		turn = {NULL, 0, 0};
	size_t		i = 0;

	while (!ref.leaf)
	{
		const RaxNode *n = node_at(a, ref.to);

		if (i == len)
		{
			if (equal && n->flags & NODE_KEY)
				turn = (Turn) {n, LINK_SELF, i};
			else if (n->size > 0)
				turn = (Turn) {n, 0, i};
			break;
		}
		if (n->flags & NODE_RUN)
		{
			unsigned	j = run_match(n, key + i, len - i);

			if (j < n->size)
			{
				if (i + j == len || n->bytes[j] > key[i + j])
					turn = (Turn) {n, 0, i};
				break;
			}
			ref = get_link(n, 0);
			i += n->size;
		}
		else
		{
			unsigned	edge = edge_at_least(n, key[i]);
			bool		on_key = edge < n->size && n->bytes[edge] == key[i];

			if (edge + on_key < n->size)
				turn = (Turn) {n, edge + on_key, i};
			if (!on_key)
				break;
			ref = get_link(n, edge);
			i++;
		}
	}

	if (ref.leaf && i == len && equal)
	{
		f->common = f->len = i;
		f->value = ref.to;
		return true;
	}
	if (turn.node == NULL)
		return false;
	f->common = f->len = turn.depth;
	if (turn.link == LINK_SELF)
		f->value = *value_of(turn.node);
	else
		go_lowest(a, follow(f, turn.node, turn.link), f);
	return true;
}

/* The greatest key less than `key`, or equal if that is wanted. */
static bool
seek_down(const Arena *a, const Rax *r, const uint8_t *key, size_t len, bool equal, Found *f)
{
	Ref			ref = {r->root, false};
	Turn		turn = {NULL, 0, 0};
	size_t		i = 0;

	while (!ref.leaf)
	{
		const RaxNode *n = node_at(a, ref.to);

		if (n->flags & NODE_KEY && (i < len || equal))
			turn = (Turn) {n, LINK_SELF, i};
		if (i == len)
			break;
		if (n->flags & NODE_RUN)
		{
			unsigned	j = run_match(n, key + i, len - i);

			if (j < n->size)
			{
				if (i + j < len && n->bytes[j] < key[i + j])
					turn = (Turn) {n, 0, i};
				break;
			}
			ref = get_link(n, 0);
			i += n->size;
		}
		else
		{
			unsigned	edge = edge_at_least(n, key[i]);

			if (edge > 0)
				turn = (Turn) {n, edge - 1, i};
			if (edge == n->size || n->bytes[edge] != key[i])
				break;
			ref = get_link(n, edge);
			i++;
		}
	}

	if (ref.leaf && (i < len || equal))
	{
		f->common = f->len = i;
		f->value = ref.to;
		return true;
	}
	if (turn.node == NULL)
		return false;
	f->common = f->len = turn.depth;
	if (turn.link == LINK_SELF)
		f->value = *value_of(turn.node);
	else
		go_highest(a, follow(f, turn.node, turn.link), f);
	return true;
}

bool
rax_seek(const Arena *a, const Rax *r, RaxSeek op, const void *key, size_t len,
		 uint8_t *keyout, size_t *lenout, uint64_t *value)
{
	Found		f = {.out = keyout};
	Ref			root = {r->root, false};
	bool		good = r->root != 0;

	if (good)
		switch (op)
		{
			case RAX_FIRST:
				go_lowest(a, root, &f);
				break;
			case RAX_LAST:
				go_highest(a, root, &f);
				break;
			case RAX_EQ:
				good = rax_find(a, r, key, len, &f.value);
				f.common = f.len = len;
				break;
			case RAX_GT:
			case RAX_GE:
				good = seek_up(a, r, key, len, op == RAX_GE, &f);
				break;
			case RAX_LT:
			case RAX_LE:
				good = seek_down(a, r, key, len, op == RAX_LE, &f);
				break;
		}
	if (!good)
		return false;
	if (keyout != NULL && keyout != key && f.common > 0)
		memcpy(keyout, key, f.common);
	if (lenout != NULL)
		*lenout = f.len;
	if (value != NULL)
		*value = f.value;
	return true;
}

/* --- shape --- */

typedef struct Text
{
	char	   *out;
	size_t		cap;
	size_t		len;			/* of the whole, also what had no room */
} Text;

static void
text_char(Text *t, char c)
{
	if (t->len + 1 < t->cap)
		t->out[t->len] = c;
	t->len++;
}

static void
text_bytes(Text *t, const uint8_t *bytes, unsigned n)
{
	static const char hex[] = "0123456789abcdef";

	for (unsigned i = 0; i < n; i++)
	{
		uint8_t		c = bytes[i];

		if (c > ' ' && c < 127 && strchr("\"\\()[]{}", c) == NULL)
			text_char(t, (char) c);
		else
		{
			text_char(t, '\\');
			text_char(t, 'x');
			text_char(t, hex[c >> 4]);
			text_char(t, hex[c & 15]);
		}
	}
}

static void
shape_below(const Arena *a, Ref ref, Text *t)
{
	const RaxNode *n;
	bool		run,
				key;

	if (ref.leaf)
	{
		text_char(t, '(');
		text_char(t, ')');
		return;
	}
	n = node_at(a, ref.to);
	run = (n->flags & NODE_RUN) != 0;
	key = (n->flags & NODE_KEY) != 0;
	if (key)
		text_char(t, '(');
	text_char(t, run ? '"' : '[');
	text_bytes(t, n->bytes, n->size);
	text_char(t, run ? '"' : ']');
	if (key)
		text_char(t, ')');

	if (link_count(n) == 1)
	{
		text_char(t, '-');
		text_char(t, '>');
		shape_below(a, get_link(n, 0), t);
	}
	else if (link_count(n) > 1)
	{
		for (unsigned i = 0; i < link_count(n); i++)
		{
			text_char(t, i == 0 ? '{' : ' ');
			shape_below(a, get_link(n, i), t);
		}
		text_char(t, '}');
	}
}

size_t
rax_shape(const Arena *a, const Rax *r, char *out, size_t cap)
{
	Text		t = {out, cap, 0};

	if (r->root != 0)
		shape_below(a, (Ref) {r->root, false}, &t);
	if (cap > 0)
		out[t.len < cap ? t.len : cap - 1] = '\0';
	return t.len;
}

/* --- check --- */

typedef struct Census
{
	uint64_t	nkeys;
	uint64_t	nnodes;
} Census;

/* `depth` bytes lead to ref. */
static const char *
check_below(const Arena *a, Ref ref, size_t depth, Census *seen)
{
	const RaxNode *n;
	bool		run;

	if (depth > RAX_KEY_MAX)
		return "path is longer than a key can be";
	if (ref.leaf)
	{
		seen->nkeys++;
		return NULL;
	}
	if (ref.to == 0 || ref.to % 16 != 0)
		return "link is no handle";
	n = node_at(a, ref.to);
	run = (n->flags & NODE_RUN) != 0;
	if (n->flags & ~(NODE_KEY | NODE_RUN | NODE_LEAF) || (!run && n->flags & NODE_LEAF))
		return "node has wrong flags";
	if (run ? n->size < 2 || n->size > RUN_MAX : n->size > 256)
		return "node has a wrong size";
	if (n->size == 0 && (depth > 0 || !(n->flags & NODE_KEY)))
		return "branch has no edges";
	if (node_bytes(n->size, n->flags) > arena_room(a, ref.to))
		return "node does not fit its block";
	for (unsigned i = 1; !run && i < n->size; i++)
		if (n->bytes[i - 1] >= n->bytes[i])
			return "edges are not in order";

	seen->nnodes++;
	seen->nkeys += n->flags & NODE_KEY ? 1 : 0;
	for (unsigned i = 0; i < link_count(n); i++)
	{
		const char *problem = check_below(a, get_link(n, i), depth + (run ? n->size : 1), seen);

		if (problem != NULL)
			return problem;
	}
	return NULL;
}

const char *
rax_check(const Arena *a, const Rax *r)
{
	Census		seen = {0, 0};
	const char *problem;

	if (r->root != 0)
	{
		problem = check_below(a, (Ref) {r->root, false}, 0, &seen);
		if (problem != NULL)
			return problem;
	}
	if (seen.nkeys != r->nkeys)
		return "keys are miscounted";
	if (seen.nnodes != r->nnodes)
		return "nodes are miscounted";
	if (r->root != 0 && seen.nkeys == 0)
		return "tree without keys has nodes";
	return NULL;
}
