/*
 * fuzz_node.c
 *	  The checking reader of nodes on any bytes, and using what passed: both
 *	  ways of walking, fields, deleting, and all that makes other nodes of it.
 *
 * Input: a byte of options, the master id, then either the node itself (total
 * and terminator put right), or a program: entries to append, and then bytes
 * to change.  The second way gets deep into nodes that are nearly right.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined, with src/engine.
 */
#include <stdlib.h>

#include "node.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPT_PROGRAM		1

#define MUST(cond) \
	do { if (!(cond)) abort(); } while (0)

typedef struct Input
{
	const uint8_t *p;
	const uint8_t *end;
} Input;

static uint8_t
next_byte(Input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static uint64_t
next_u64(Input *in)
{
	uint64_t	v = 0;
	int			n = next_byte(in) & 7;

	/* mostly short numbers */
	while (n-- >= 0)
		v = v << 8 | next_byte(in);
	return v;
}

/* --- using a sound node --- */

static void
walk(const uint8_t *node, StreamId master, bool with_deleted)
{
	NodeIter	it;
	NodeEntry	e;
	NodeEntry	found;
	StreamId	last = STREAMID_MIN;
	uint32_t	n = 0;

	node_iter(&it, node, master, false, with_deleted);
	while (node_next(&it, &e))
	{
		size_t		size = node_fields_size(&e);
		uint8_t    *f = malloc(size);
		uint32_t	count;

		node_fields_write(&e, f);
		MUST(lp_validate(f, size, true, &count) && count == 2 * e.nfields);
		free(f);
		MUST(sid_cmp(e.id, last) > 0);
		last = e.id;
		MUST(node_find(node, master, e.id, &found) && found.at == e.at && found.end == e.end);
		n++;
	}
	MUST(n == node_live(node) + (with_deleted ? node_dead(node) : 0));
	node_iter(&it, node, master, true, with_deleted);
	while (node_next(&it, &e))
	{
		MUST(sid_cmp(e.id, last) <= 0);
		last = e.id;
		n--;
	}
	MUST(n == 0);
}

/* Split the node at its middle live entry and put the parts together again. */
static void
split_and_join(const uint8_t *node, StreamId master)
{
	uint32_t	live = node_live(node);
	uint8_t    *left;
	uint8_t    *right;
	size_t		size;
	NodeIter	it;
	NodeEntry	e;

	if (live == 0)
		return;
	node_iter(&it, node, master, false, false);
	for (uint32_t i = 0; i <= live / 2; i++)
		node_next(&it, &e);

	size = node_recode_size(node, master, e.at, e.id);
	right = malloc(size);
	node_recode(right, node, master, e.at, e.id);
	MUST(node_bytes(right) == size && node_validate(right, size, e.id));

	left = malloc(node_bytes(node));
	memcpy(left, node, node_bytes(node));
	node_truncate(left, left + (e.at - node));
	size = node_compact_size(left);
	node_compact(left);
	MUST(node_bytes(left) == size);
	MUST(node_live(left) == live / 2);
	if (live / 2 > 0)
		MUST(node_validate(left, size, master));

	size += node_copy_size(left, master, right, e.id);
	left = realloc(left, size);
	node_copy(left, master, left + lp_bytes(left) - 1, right, e.id);
	MUST(node_bytes(left) == size && node_validate(left, size, master));
	MUST(node_live(left) == live);
	free(left);
	free(right);
}

static void
delete_all(uint8_t *node, StreamId master)
{
	StreamId	first;
	StreamId	last;
	size_t		size = node_bytes(node);

	while (node_bounds(node, master, &first, &last))
	{
		uint32_t	live = node_live(node);

		MUST(node_delete(node, master, last));
		MUST(!node_delete(node, master, last));
		MUST(node_live(node) == live - 1);
		if (live == 3)
		{
			uint32_t	n = node_delete_below(node, master, last);

			MUST(n == 2);
		}
		MUST(node_validate(node, size, master));
	}
	MUST(node_live(node) == 0);
}

static void
use_node(const uint8_t *bytes, size_t size, StreamId master)
{
	uint8_t    *node = malloc(size);

	memcpy(node, bytes, size);
	if (node_validate(node, size, master))
	{
		walk(node, master, true);
		walk(node, master, false);
		split_and_join(node, master);
		delete_all(node, master);
	}
	free(node);
}

/* --- making nodes --- */

/* A fields list of 1 to 4 pairs; names from a few, so that they meet again. */
static size_t
next_fields(Input *in, uint8_t *f)
{
	unsigned	n = (next_byte(in) & 3) + 1;

	lp_init(f);
	for (unsigned i = 0; i < n; i++)
	{
		char		s[300];
		uint8_t		kind = next_byte(in);
		size_t		len = kind == 255 ? 280 : kind / 16;

		s[0] = (char) ('a' + kind % 4);
		lp_append(f, s, kind % 4 == 0 ? 0 : 1);
		for (size_t k = 0; k < len; k++)
			s[k] = (char) (kind == 255 ? 'x' : kind & 8 ? '0' + next_byte(in) % 10 : next_byte(in));
		lp_append(f, s, len);
	}
	return lp_bytes(f);
}

static void
run_program(Input *in, StreamId master)
{
	enum
	{
		MOST = 16384
	};
	uint8_t    *node = malloc(MOST);
	uint8_t		f[2048];
	StreamId	id = master;
	size_t		size;
	int			entries = next_byte(in) % 40;

	next_fields(in, f);
	node_create(node, f);
	while (entries-- > 0)
	{
		uint8_t		step = next_byte(in);
		StreamId	before = id;

		next_fields(in, f);
		if (step < 128)
			id.seq += 1 + step % 4;
		else
		{
			id.ms += step < 250 ? step : next_u64(in);
			id.seq = step % 3 == 0 ? next_u64(in) : 0;
		}
		size = node_entry_size(node, master, id, f);
		if (sid_cmp(id, before) <= 0 || node_bytes(node) + size > MOST)
		{
			id = before;
			continue;
		}
		node_append(node, master, id, f);
	}
	size = node_bytes(node);
	MUST(sid_is_zero(master) || node_validate(node, size, master));
	use_node(node, size, master);

	while (in->p < in->end)
	{
		size_t		at = (size_t) next_byte(in) << 8;

		at = (at | next_byte(in)) % size;
		node[at] = next_byte(in);
	}
	use_node(node, size, master);
	free(node);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		in = {data, data + size};
	uint8_t		options = next_byte(&in);
	StreamId	master;

	master.ms = next_u64(&in);
	master.seq = next_u64(&in);
	if (options & OPT_PROGRAM)
		run_program(&in, master);
	else
	{
		size_t		n = (size_t) (in.end - in.p);
		uint8_t    *node = malloc(n + LP_EMPTY_SIZE);

		memcpy(node + LP_HDR_SIZE, in.p, n);
		node[LP_HDR_SIZE + n] = LP_EOF;
		lp_set_header(node, n + LP_EMPTY_SIZE, LP_COUNT_UNKNOWN);
		use_node(node, n + LP_EMPTY_SIZE, master);
		free(node);
	}
	return 0;
}
