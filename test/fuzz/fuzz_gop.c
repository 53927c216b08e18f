/*
 * fuzz_gop.c
 *	  Operations of consumer groups from any bytes, on a stream with groups.
 *
 * The input is a program: additions, deletions and trims of a stream in a small
 * space of ids, and operations of its groups, put together from a few bytes or
 * taken from the input as they stand.  Runs promise nothing here, so only
 * soundness is checked: everything counted anew, after each operation.  What
 * gop_read takes, gop_write writes again.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined, with src/engine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "group.h"
#include "stream.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY			((size_t) 1 << 19)
#define RECORDS_MAX		300
#define OPS_MAX			400

#define MUST(cond) \
	do { if (!(cond)) abort(); } while (0)
#define SOUND(call) \
	do { \
		const char *problem = (call); \
		if (problem != NULL) { fprintf(stderr, "%s\n", problem); abort(); } \
	} while (0)

typedef struct Input
{
	const uint8_t *p;
	const uint8_t *end;
} Input;

static char *region;
static Arena arena;
static Stream s;

static uint8_t
next_byte(Input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static StreamId
next_id(Input *in)
{
	uint8_t		b = next_byte(in);

	if (b == 255)
		return STREAMID_MAX;
	/* some far from the others */
	return (StreamId) {b >= 250 ? UINT64_C(1) << (b - 200) : b / 4, b % 4};
}

static void
add(Input *in)
{
	uint8_t		lp[2000];
	uint8_t		f[100];
	StreamId	first = next_id(in);
	StreamId	id;
	int			n = next_byte(in) % 32 + 1;

	lp_init(f);
	lp_append(f, "f", 1);
	lp_append(f, "v", 1);
	if (sid_is_zero(first))
		first.seq = 1;
	id = first;
	node_create(lp, f);
	while (--n > 0 && sid_next(&id))
		node_append(lp, first, id, f);
	(void) stream_add_chunk(&arena, &s, first, lp, 0, ARENA_NORMAL);
}

/* --- operations --- */

static void
apply(const uint8_t *p, size_t avail)
{
	static GopRun runs[RECORDS_MAX];
	static GopRecord records[RECORDS_MAX];
	static uint8_t again[65536];
	Gop			g;
	size_t		size = gop_read(&g, p, avail);
	EngStatus	st;
	bool		has;

	if (size == 0)
		return;
	MUST(size <= avail && size == gop_size(&g));
	if (g.nruns <= RECORDS_MAX && g.nrecords <= RECORDS_MAX && size <= sizeof(again))
	{
		for (uint32_t i = 0; i < g.nruns; i++)
			runs[i] = gop_run(&g, i);
		for (uint32_t i = 0; i < g.nrecords; i++)
			records[i] = gop_record(&g, i);
		MUST(gop_write(&g, runs, records, again) == size);
		MUST(memcmp(again, p, size) == 0);
	}
	has = group_find(&arena, &s, g.group, g.group_len) != NULL;
	st = gop_apply(&arena, &s, &g, ARENA_NORMAL);
	MUST(st == ENG_NOMEM || st == (g.kind == GOP_CREATE ? (has ? ENG_EXISTS : ENG_OK) : (has ? ENG_OK : ENG_NOTFOUND)));
}

/* As it stands in the input: a length, then the bytes. */
static void
raw(Input *in)
{
	size_t		size = (size_t) next_byte(in) * 4;
	uint8_t    *copy;

	if (size > (size_t) (in->end - in->p))
		size = (size_t) (in->end - in->p);
	copy = malloc(size + 1);
	if (size > 0)
		memcpy(copy, in->p, size);
	in->p += size;
	apply(copy, size);
	free(copy);
}

static void
made(Input *in)
{
	static const char *const names[] = {"", "g", "other"};
	static const uint8_t flags[] = {
		[GOP_CREATE] = GOP_IN_ORDER, [GOP_POLICY] = GOP_IN_ORDER, [GOP_DELCONSUMER] = GOP_RELEASE,
		[GOP_DELIVER] = GOP_NOACK | GOP_ONE_COUNT | GOP_TIMES, [GOP_SET] = GOP_FORCE | GOP_ACTIVE | GOP_ONE_COUNT,
		[GOP_ACK] = GOP_DEAD
	};
	static const uint64_t counts[] = {0, 1, 2, 65534, 65535, 70000, INT64_MAX, 1};
	static GopRun runs[RECORDS_MAX];
	static GopRecord records[RECORDS_MAX];
	uint8_t		what = next_byte(in);
	uint8_t		who = next_byte(in);
	uint8_t		much = next_byte(in);
	StreamId	id = next_id(in);
	size_t		size;
	uint8_t    *bytes;
	Gop			g = {.kind = what % 9 + 1};

	g.flags = next_byte(in);
	if (!(who & 32))
		g.flags &= flags[g.kind];
	g.group = names[who % 3];
	g.group_len = (uint32_t) strlen(g.group);
	g.has_consumer = (who & 64) == 0;
	g.consumer = names[who / 3 % 3];
	g.consumer_len = (uint32_t) strlen(g.consumer);
	g.time = what;
	g.pos = id;
	g.entries_read = (int64_t) much - 1;
	g.count = counts[much & 7];
	if (sid_is_zero(id))
		id.seq = 1;
	if (g.kind == GOP_SET && who & 128)
		g.pos = STREAMID_MIN;
	if (g.kind == GOP_DELIVER || g.kind == GOP_SET || g.kind == GOP_ACK)
	{
		for (int n = much; n >= 0 && g.nrecords < RECORDS_MAX; n--)
		{
			records[g.nrecords++] = (GopRecord) {id, counts[(much + n) & 7], (uint32_t) n};
			id.seq += 1 + (what >> 6);
			if ((what & 32) || id.seq >= 4)
				id = (StreamId) {id.ms + 1, id.seq & 3};
		}
		if (g.kind == GOP_DELIVER)
			for (uint32_t i = 0; i < g.nrecords;)
			{
				GopRun	   *run = &runs[g.nruns++];
				uint8_t		n = next_byte(in);

				run->after = records[i].id;
				sid_prev(&run->after);
				run->n = n == 0 ? g.nrecords - i : n % (g.nrecords - i) + 1;
				i += run->n;
				run->last = records[i - 1].id;
			}
	}
	size = gop_size(&g);
	bytes = malloc(size);
	gop_write(&g, runs, records, bytes);
	apply(bytes, size);
	free(bytes);
}

static void
look(Input *in)
{
	StreamId	id = next_id(in);
	bool		referenced = false;

	for (StreamGroup *g = group_after(&arena, &s, NULL, 0); g != NULL; g = group_after(&arena, &s, g->name, g->name_len))
	{
		PendingRecord r;

		referenced = referenced || sid_cmp(id, g->cursor) > 0 || idset_has(&arena, &g->gaps, id) ||
			pending_get(&arena, &g->pending, id, &r);
		pending_tighten(&arena, &g->pending);
	}
	MUST(stream_referenced(&arena, &s, id) == referenced);
}

static void
step(Input *in)
{
	uint8_t		op = next_byte(in);

	switch (op % 8)
	{
		case 0:
			add(in);
			break;
		case 1:
			(void) stream_del(&arena, &s, next_id(in), op / 8 & 3);
			break;
		case 2:
			(void) stream_trim(&arena, &s, next_id(in), op & 8);
			break;
		case 3:
			raw(in);
			break;
		case 4:
			look(in);
			break;
		default:
			made(in);
			break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		in = {data, data + size};
	ArenaStats	st;

	if (region == NULL)
		region = aligned_alloc(ARENA_PAGE, MEMORY);
	MUST(arena_format(region, MEMORY) == ENG_OK);
	MUST(arena_open(&arena, region, NULL, NULL, NULL) == ENG_OK);
	stream_init(&s, 0, 20);
	for (int i = 0; in.p < in.end && i < OPS_MAX; i++)
	{
		step(&in);
		SOUND(groups_check(&arena, &s));
	}
	SOUND(stream_check(&arena, &s));
	stream_destroy(&arena, &s);
	arena_stats(&arena, &st);
	MUST(st.used == 0);
	SOUND(arena_check(&arena));
	return 0;
}
