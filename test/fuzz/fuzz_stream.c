/*
 * fuzz_stream.c
 *	  Sequences of stream operations against an array of ids.
 *
 * The input is a program: the limits, then operations, each a byte and what it
 * takes.  Ids come from a small space, so that chunks, deletions and trims
 * meet.  The fields of an entry follow from its id, so the model holds no
 * fields.  The arena is small: adding may fail for lack of memory, and then
 * nothing may have changed.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined, with src/engine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "stream.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY			((size_t) 1 << 19)
#define IDS_MAX			4096

#define MUST(cond) \
	do { if (!(cond)) abort(); } while (0)

typedef struct Input
{
	const uint8_t *p;
	const uint8_t *end;
} Input;

static char *region;
static Arena arena;
static Stream s;

/* The model: live ids in order. */
static StreamId ids[IDS_MAX];
static size_t nids;

static uint8_t
next_byte(Input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static StreamId
next_id(Input *in)
{
	StreamId	id;

	id.ms = next_byte(in);
	id.seq = next_byte(in);
	if (id.seq >= 250)
		id.seq = UINT64_MAX - 255 + id.seq;
	return id;
}

static size_t
ids_at(StreamId id)
{
	size_t		i = 0;

	while (i < nids && sid_cmp(ids[i], id) < 0)
		i++;
	return i;
}

static bool
has_id(StreamId id)
{
	size_t		i = ids_at(id);

	return i < nids && sid_cmp(ids[i], id) == 0;
}

/* The fields that the entry with this id has. */
static void
fields_of(StreamId id, uint8_t *f)
{
	char		s1[700];
	uint64_t	h = id.ms * 31 + id.seq * 7;
	size_t		len = h % 97 == 0 ? 600 : h % 20;

	lp_init(f);
	lp_append(f, "item", 4);
	memset(s1, 'v', sizeof(s1));
	lp_append(f, s1, len);
	if (h % 5 == 0)
	{
		len = (size_t) sprintf(s1, "%llu", (unsigned long long) (id.ms << id.seq % 40));
		lp_append(f, "number", 6);
		lp_append(f, s1, len);
	}
}

/* --- operations --- */

static void
do_add(Input *in)
{
	static uint8_t lp[2 * NODE_BYTES_MAX];
	uint8_t		f[1000];
	StreamId	chunk[64];
	size_t		n = 0;
	StreamId	id = next_id(in);
	uint8_t		how = next_byte(in);
	size_t		want = (size_t) (how & 63) + 1;
	uint8_t		step = next_byte(in);
	EngHandle	prepared = 0;
	EngStatus	st;
	bool		taken;

	/* by far the most programs add at the top */
	if (how & 64)
	{
		id = s.last_id;
		sid_next(&id);
	}
	if (sid_is_zero(id))
		id.seq = 1;
	while (n < want && n < 64)
	{
		fields_of(id, f);
		if (n == 0)
			node_create(lp, f);
		else
		{
			size_t		more = node_entry_size(lp, chunk[0], id, f);

			if (!stream_node_fits(&s, node_bytes(lp), (uint32_t) n, more, 1))
				break;
			node_append(lp, chunk[0], id, f);
		}
		chunk[n++] = id;
		if (step & 128)
			id.ms += step & 15;
		else
			id.seq += step & 15;
		if (sid_cmp(id, chunk[n - 1]) <= 0)
			break;
	}
	taken = ids_at(chunk[0]) < nids && sid_cmp(ids[ids_at(chunk[0])], chunk[n - 1]) <= 0;
	if (nids + n > IDS_MAX)
		return;

	if (how & 128)
		prepared = stream_prepare_node(&arena, lp, chunk[0], ARENA_NORMAL);
	st = stream_add_chunk(&arena, &s, chunk[0], prepared != 0 ? NULL : lp, prepared, ARENA_NORMAL);
	MUST((st == ENG_EXISTS) == taken);
	if (st == ENG_OK)
	{
		size_t		at = ids_at(chunk[0]);

		memmove(ids + at + n, ids + at, (nids - at) * sizeof(StreamId));
		memcpy(ids + at, chunk, n * sizeof(StreamId));
		nids += n;
	}
	else if (prepared != 0)
		arena_free(&arena, prepared);
}

static void
do_del(StreamId id)
{
	size_t		at = ids_at(id);
	bool		there = has_id(id);

	MUST(stream_del(&arena, &s, id, 0) == there);
	if (there)
		memmove(ids + at, ids + at + 1, (--nids - at) * sizeof(StreamId));
}

static void
do_trim(StreamId bound)
{
	size_t		n = ids_at(bound);

	MUST(stream_trim(&arena, &s, bound, false) == n);
	nids -= n;
	memmove(ids, ids + n, nids * sizeof(StreamId));
}

static void
do_look(StreamId from, StreamId to)
{
	size_t		lo = ids_at(from);
	size_t		hi = ids_at(to) + has_id(to);
	StreamId	id;

	MUST(stream_exists(&arena, &s, from) == has_id(from));
	MUST(stream_count(&arena, &s, from, to) == (hi > lo ? hi - lo : 0));
	MUST(stream_first_from(&arena, &s, from, &id) == (lo < nids));
	MUST(lo >= nids || sid_cmp(id, ids[lo]) == 0);
	MUST(stream_last_upto(&arena, &s, to, &id) == (hi > 0));
	MUST(hi == 0 || sid_cmp(id, ids[hi - 1]) == 0);
	MUST(stream_nth(&arena, &s, lo, &id) == (lo < nids));
	MUST(lo >= nids || sid_cmp(id, ids[lo]) == 0);
	stream_approx_bound(&arena, &s, lo, to, hi, &id);
	MUST(ids_at(id) <= lo);
}

static void
read_all(void)
{
	StreamId	pos = STREAMID_MIN;
	StreamId	master;
	const StreamNode *n;
	NodeIter	it;
	NodeEntry	e;
	size_t		i = 0;

	while ((n = stream_node_at(&arena, &s, pos, false, &master)) != NULL)
	{
		node_iter(&it, n->lp, master, false, false);
		while (node_next(&it, &e))
		{
			uint8_t		want[1000];
			uint8_t		got[1000];

			MUST(i < nids && sid_cmp(e.id, ids[i++]) == 0);
			fields_of(e.id, want);
			MUST(node_fields_size(&e) == lp_bytes(want));
			node_fields_write(&e, got);
			MUST(memcmp(got, want, lp_bytes(want)) == 0);
		}
		pos = n->last;
		if (!sid_next(&pos))
			break;
	}
	MUST(i == nids);
}

static void
step(Input *in)
{
	uint8_t		op = next_byte(in);
	StreamId	id;

	switch (op % 8)
	{
		case 0:
			do_del(next_id(in));
			break;
		case 1:
			id = next_id(in);
			do_look(id, next_id(in));
			break;
		case 2:
			if (op & 128)
				do_trim(next_id(in));
			else if (nids > 0)
				do_trim(ids[next_byte(in) % nids]);
			break;
		case 3:
			/* a stretch, thinned out */
			{
				size_t		at = nids == 0 ? 0 : (size_t) next_byte(in) * 16 % nids;
				int			n = op / 8;

				while (n-- > 0 && at < nids)
				{
					do_del(ids[at]);
					if (n % 3 == 0)
						at++;
				}
			}
			break;
		case 4:
			if (op & 128)
				s.node_max_entries = next_byte(in) + 1u;
			else
				s.node_max_bytes = NODE_BYTES_MIN + next_byte(in) * 31u;
			break;
		default:
			do_add(in);
			break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		in = {data, data + size};
	uint32_t	max_bytes;
	ArenaStats	st;

	if (region == NULL)
		region = aligned_alloc(16, MEMORY);
	MUST(arena_format(region, MEMORY) == ENG_OK);
	MUST(arena_open(&arena, region, NULL, NULL, NULL) == ENG_OK);
	nids = 0;
	max_bytes = next_byte(&in) * 32u;
	stream_init(&s, max_bytes, next_byte(&in));

	while (in.p < in.end)
	{
		step(&in);
		MUST(stream_check(&arena, &s) == NULL);
		MUST(s.length == nids);
	}
	read_all();
	stream_destroy(&arena, &s);
	arena_stats(&arena, &st);
	MUST(st.used == 0 && arena_check(&arena) == NULL);
	return 0;
}
