/*
 * test_stream.c
 *	  Streams: random operations against an array of entries, and the cases of
 *	  trimming, of chunks below the top, and of collecting dead entries.
 *
 * Lack of memory is the matter of test_stream_memory.c.
 */
#include "twin.h"
#include "unit.h"
#include "stream_model.h"

#define MEGABYTE	((size_t) 1024 * 1024)

/* --- random operations --- */

static void
check_approx(const Model *m)
{
	uint64_t	excess = unit_one_in(3) ? UINT64_MAX : unit_below(m->count + 10);
	StreamId	minid = unit_one_in(2) ? STREAMID_MAX : some_id(m);
	uint64_t	limit = unit_one_in(2) ? 0 : unit_below(m->count + 10);
	StreamId	want = STREAMID_MIN;
	StreamId	pos = STREAMID_MIN;
	StreamId	master;
	StreamId	bound;
	const StreamNode *n;
	uint64_t	gone = 0;

	while ((n = stream_node_at(A(m), &m->s, pos, false, &master)) != NULL)
	{
		gone += n->live;
		if (gone > excess || (limit > 0 && gone > limit) || sid_cmp(n->last, minid) >= 0)
			break;
		pos = n->last;
		sid_next(&pos);
		want = pos;
	}
	stream_approx_bound(A(m), &m->s, excess, minid, limit, &bound);
	CHECK(sid_cmp(bound, want) == 0);
}

/* A chunk with a live id in its range changes nothing. */
static void
try_existing(Model *m)
{
	Chunk		c = {0};
	size_t		at = unit_below(m->count);
	StreamId	id = m->item[at].id;
	StreamId	before = id;
	StreamId	after = id;
	uint64_t	version = m->s.version;
	uint64_t	bytes = m->s.bytes;

	sid_prev(&before);
	sid_next(&after);
	if (unit_one_in(2) && !sid_is_zero(before) && !model_has(m, before))
		chunk_push(m, &c, before, GEN("f", "before"));
	if (c.count == 0 || unit_one_in(2))
		chunk_push(m, &c, id, GEN("f", "itself"));
	if (unit_one_in(2) && sid_cmp(after, id) > 0)
		chunk_push(m, &c, after, GEN("f", "after"));
	if (sid_cmp(c.item[c.count - 1].id, id) >= 0)
	{
		CHECK_EQ(chunk_add(m, &c, unit_one_in(2)), ENG_EXISTS);
		CHECK_EQ(m->s.version, version);
		CHECK_EQ(m->s.bytes, bytes);
	}
	chunk_free(&c);
}

static void
random_step(Model *m)
{
	Chunk		c;

	switch (unit_below(12))
	{
		case 0:
			if (m->count > 0)
				model_trim(m, m->item[unit_below(unit_one_in(10) ? m->count : m->count / 10 + 1)].id);
			break;
		case 1:
			if (m->count > 0)
				try_existing(m);
			break;
		case 2:
			if (unit_one_in(10))
				model_trim(m, some_id(m));
			break;
		case 3:
			/* thin out a stretch */
			if (m->count > 0)
			{
				size_t		at = unit_below(m->count);

				for (int i = (int) unit_below(60); i > 0 && at < m->count; i--)
				{
					if (!unit_one_in(4))
						model_del(m, m->item[at].id);
					else
						at++;
				}
			}
			break;
		case 4:
		case 5:
			model_del(m, some_id(m));
			break;
		case 6:
			twin_flip(&m->t);
			break;
		default:
			if (chunk_anywhere(m, &c, unit_one_in(4) ? unit_between(1, 200) : 1))
				CHECK_EQ(chunk_add(m, &c, chunk_is_long(&c) || unit_one_in(3)), ENG_OK);
			break;
	}
}

static void
test_random(void)
{
	static const uint32_t bytes[] = {0, 4096, 4096, 64, 100, 300, 1000};
	static const uint32_t entries[] = {100, 100, 1, 2, 5, 0, 20};
	static const uint64_t steps[] = {1, 2, 100, 1000000};
	static const size_t mosts[] = {0, 8, 40, 200, 3000, 100000, 3000000};
	Model		m;
	int			rounds;
	int			most = (int) unit_below(60);

	model_open(&m, 64 * MEGABYTE, bytes[unit_below(7)], entries[unit_below(7)]);
	m.step = steps[unit_below(4)];
	m.schemas = unit_one_in(2) ? 1 : (unsigned) unit_between(2, 12);
	most = most < 20 ? 2 : most < 40 ? 3 : most < 50 ? 4 : most < 58 ? 5 : 6;
	m.most = mosts[unit_below((uint64_t) most + 1)];
	rounds = m.most > 10000 ? 40 : 400;
	for (int i = 0; i < rounds; i++)
	{
		random_step(&m);
		if (m.s.bytes > 40 * MEGABYTE)
			model_trim(&m, m.item[m.count / 2].id);
		check_header(&m);
		check_reads(&m);
		check_approx(&m);
		if (unit_one_in(10))
			check_entries(&m);
	}
	check_entries(&m);
	CHECK_SOUND(arena_check(A(&m)));
	model_close(&m);
}

/* --- helpers of the cases --- */

/* One entry "f" -> value at ms-0. */
static void
add_named(Model *m, uint64_t ms, const char *name, const char *value)
{
	Chunk		c = {0};

	chunk_push(m, &c, (StreamId) {ms, 0}, GEN(name, value));
	CHECK_EQ(chunk_add(m, &c, false), ENG_OK);
}

static void
add_range(Model *m, uint64_t from, uint64_t to)
{
	for (uint64_t ms = from; ms <= to; ms++)
		add_named(m, ms, "item", "value");
}

static void
del_range(Model *m, uint64_t from, uint64_t to)
{
	for (uint64_t ms = from; ms <= to; ms++)
		model_del(m, (StreamId) {ms, 0});
}

/* The node that holds ms-0. */
static const StreamNode *
node_of(const Model *m, uint64_t ms)
{
	StreamId	master;

	return stream_node_at(A(m), &m->s, (StreamId) {ms, 0}, false, &master);
}

static void
check_all(const Model *m)
{
	check_header(m);
	check_entries(m);
}

/* --- adding --- */

static void
test_empty(void)
{
	Model		m;
	StreamId	id;

	model_open(&m, MEGABYTE, 4096, 100);
	check_all(&m);
	for (int i = 0; i < 20; i++)
	{
		check_reads(&m);
		check_approx(&m);
	}
	CHECK_EQ(stream_trim(A(&m), &m.s, STREAMID_MAX, false), 0);
	CHECK(!stream_del(A(&m), &m.s, STREAMID_MAX, 0));
	CHECK(stream_node_at(A(&m), &m.s, STREAMID_MIN, false, &id) == NULL);
	CHECK_EQ(m.s.version, 1);

	/* the smallest and the greatest id */
	{
		Chunk		c = {0};
		Chunk		d = {0};

		chunk_push(&m, &c, STREAMID_MAX, GEN("f", "v"));
		CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
		chunk_push(&m, &d, (StreamId) {0, 1}, GEN("f", "v"));
		CHECK_EQ(chunk_add(&m, &d, false), ENG_OK);
		check_all(&m);
		CHECK_EQ(m.s.nodes.nkeys, 2);
		for (int i = 0; i < 20; i++)
			check_reads(&m);
		model_trim(&m, STREAMID_MAX);
		check_all(&m);
		CHECK_EQ(m.count, 1);
		model_del(&m, STREAMID_MAX);
		check_all(&m);
	}
	model_close(&m);
}

static void
test_append(void)
{
	Model		m;
	ArenaStats	st;

	/* limits of entries and of bytes */
	model_open(&m, 4 * MEGABYTE, 4096, 100);
	add_named(&m, 1, "item", "value");
	arena_stats(A(&m), &st);
	CHECK(st.used <= 512);		/* a small stream costs little */
	add_range(&m, 2, 250);
	CHECK_EQ(m.s.nodes.nkeys, 3);
	CHECK_EQ(node_of(&m, 1)->live, 100);
	CHECK_EQ(node_of(&m, 250)->live, 50);
	arena_stats(A(&m), &st);
	CHECK(st.used < 2 * arena_round(sizeof(StreamNode) + lp_bytes(node_of(&m, 1)->lp)) + 4096 + 1024);
	check_all(&m);
	model_close(&m);

	model_open(&m, 4 * MEGABYTE, 500, 0);
	add_range(&m, 1, 300);
	for (uint64_t ms = 1; ms <= 300; ms++)
		CHECK(sizeof(StreamNode) + node_bytes(node_of(&m, ms)->lp) <= 500);
	CHECK(m.s.nodes.nkeys < 20);
	check_all(&m);
	model_close(&m);

	/* entries larger than the limit have nodes of their own */
	model_open(&m, 64 * MEGABYTE, 1000, 100);
	m.most = 5000;
	for (uint64_t i = 0; i < 20; i++)
	{
		static char big[5 * 1024 * 1024 + 1];
		Chunk		c = {0};

		memset(big, 'b', sizeof(big) - 1);
		big[i == 10 ? sizeof(big) - 1 : 1000 * i] = '\0';
		chunk_push(&m, &c, (StreamId) {1000 + i, 0}, GEN("big", big));
		CHECK_EQ(chunk_add(&m, &c, chunk_is_long(&c)), ENG_OK);
		check_header(&m);
	}
	check_all(&m);
	CHECK_EQ(m.s.nodes.nkeys, 20);
	model_close(&m);
}

/* Chunks that arrive below the top. */
static void
test_below(void)
{
	Model		m;
	uint64_t	v;

	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 100, 109);
	add_range(&m, 200, 209);
	add_range(&m, 300, 305);
	CHECK_EQ(m.s.nodes.nkeys, 3);

	/* below everything: a node; above it and below the next: appended */
	add_named(&m, 50, "item", "value");
	add_named(&m, 51, "item", "value");
	CHECK_EQ(m.s.nodes.nkeys, 4);
	CHECK_EQ(node_of(&m, 50)->live, 2);
	CHECK_EQ(m.s.first_id.ms, 50);

	/* between two nodes, the lower one full */
	add_named(&m, 150, "item", "value");
	CHECK_EQ(m.s.nodes.nkeys, 5);
	check_all(&m);

	/* inside a node with room */
	v = node_of(&m, 300)->version;
	{
		Chunk		c = {0};

		chunk_push(&m, &c, (StreamId) {302, 1}, GEN("item", "inside"));
		chunk_push(&m, &c, (StreamId) {302, 2}, GEN("other", "inside"));
		CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
	}
	CHECK_EQ(m.s.nodes.nkeys, 5);
	CHECK(node_of(&m, 300)->version > v);
	CHECK_EQ(node_of(&m, 300)->live, 8);
	check_all(&m);

	/* inside a full node: it is split there and the chunk goes to the left */
	{
		Chunk		c = {0};

		chunk_push(&m, &c, (StreamId) {204, 1}, GEN("item", "inside"));
		CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
	}
	CHECK_EQ(m.s.nodes.nkeys, 6);
	CHECK_EQ(node_of(&m, 200)->live, 6);
	CHECK_EQ(node_of(&m, 209)->live, 5);
	check_all(&m);

	/* the same where the left part has no room */
	{
		Chunk		c = {0};

		for (uint64_t seq = 1; seq <= 5; seq++)
			chunk_push(&m, &c, (StreamId) {108, seq}, GEN("item", "inside"));
		CHECK_EQ(chunk_add(&m, &c, true), ENG_OK);
	}
	CHECK_EQ(m.s.nodes.nkeys, 8);
	CHECK_EQ(node_of(&m, 100)->live, 9);
	CHECK_EQ(node_of(&m, 109)->live, 1);
	check_all(&m);
	model_close(&m);
}

/* Dead ids in the way of a chunk. */
static void
test_dead_in_the_way(void)
{
	Model		m;

	for (int prepared = 0; prepared < 2; prepared++)
	{
		/* one node ends, the next begins with dead ids */
		Chunk		c = {0};

		model_open(&m, 4 * MEGABYTE, 4096, 10);
		add_range(&m, 100, 129);
		del_range(&m, 107, 113);
		CHECK_EQ(m.s.nodes.nkeys, 3);
		chunk_push(&m, &c, (StreamId) {106, 5}, GEN("item", "again"));
		chunk_push(&m, &c, (StreamId) {108, 0}, GEN("item", "again"));
		chunk_push(&m, &c, (StreamId) {110, 0}, GEN("item", "again"));
		chunk_push(&m, &c, (StreamId) {113, 1}, GEN("item", "again"));
		CHECK_EQ(chunk_add(&m, &c, prepared), ENG_OK);
		check_all(&m);
		model_close(&m);

		/* the chunk begins with the key of the next node */
		model_open(&m, 4 * MEGABYTE, 4096, 10);
		add_range(&m, 100, 129);
		del_range(&m, 110, 113);
		memset(&c, 0, sizeof(c));
		for (uint64_t ms = 110; ms <= 113; ms++)
			for (uint64_t seq = 0; seq < 2; seq++)
				chunk_push(&m, &c, (StreamId) {ms, seq}, GEN("item", "again"));
		CHECK_EQ(chunk_add(&m, &c, prepared), ENG_OK);
		check_all(&m);
		model_close(&m);

		/* dead ids at the very end */
		model_open(&m, 4 * MEGABYTE, 4096, 10);
		add_range(&m, 100, 105);
		del_range(&m, 103, 105);
		memset(&c, 0, sizeof(c));
		chunk_push(&m, &c, (StreamId) {104, 0}, GEN("item", "again"));
		CHECK_EQ(chunk_add(&m, &c, prepared), ENG_OK);
		check_all(&m);
		CHECK_EQ(m.s.nodes.nkeys, 1);
		model_close(&m);
	}
}

static void
test_counters(void)
{
	Model		m;

	model_open(&m, 4 * MEGABYTE, 4096, 10);
	m.s.entries_added = m.added = (uint64_t) INT64_MAX - 2;
	add_range(&m, 1, 1);
	check_header(&m);
	add_range(&m, 2, 2);
	check_header(&m);
	add_range(&m, 3, 4);
	m.added = INT64_MAX;
	check_header(&m);

	/* trimming leaves max_deleted_id alone, deleting does not lower it */
	model_del(&m, (StreamId) {3, 0});
	model_del(&m, (StreamId) {2, 0});
	CHECK_EQ(m.s.max_deleted_id.ms, 3);
	model_trim(&m, (StreamId) {4, 0});
	CHECK_EQ(m.s.max_deleted_id.ms, 3);
	check_all(&m);
	model_close(&m);
}

/* --- trimming --- */

static void
test_trim(void)
{
	static const struct
	{
		uint64_t	maxlen;
		uint64_t	limit;
		uint64_t	left;
	}			t[] = {
		{555, 0, 600}, {600, 0, 600}, {601, 0, 700}, {0, 0, 0}, {1000, 0, 1000}, {999, 0, 1000},
		{0, 30, 1000}, {0, 100, 900}, {0, 199, 900}, {0, 250, 800}, {850, 1000, 900},
	};
	Model		m;
	StreamId	bound;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
	{
		model_open(&m, 4 * MEGABYTE, 4096, 100);
		add_range(&m, 1, 1000);
		CHECK_EQ(m.s.nodes.nkeys, 10);
		stream_approx_bound(A(&m), &m.s, 1000 - t[i].maxlen, STREAMID_MAX, t[i].limit, &bound);
		model_trim(&m, bound);
		CHECK_EQ(m.s.length, t[i].left);
		check_all(&m);
		model_close(&m);
	}

	/* by id, approximately and exactly */
	model_open(&m, 4 * MEGABYTE, 4096, 100);
	add_range(&m, 1, 1000);
	stream_approx_bound(A(&m), &m.s, UINT64_MAX, (StreamId) {250, 0}, 0, &bound);
	model_trim(&m, bound);
	CHECK_EQ(m.s.first_id.ms, 201);
	model_trim(&m, (StreamId) {250, 0});
	CHECK_EQ(m.s.first_id.ms, 250);
	CHECK_EQ(m.s.length, 751);
	CHECK(sid_is_zero(m.s.max_deleted_id));
	check_all(&m);

	/* more than half of the first node: it is collected */
	CHECK_EQ(node_of(&m, 260)->dead, 49);
	model_trim(&m, (StreamId) {260, 0});
	CHECK_EQ(node_of(&m, 260)->dead, 0);
	CHECK_EQ(node_of(&m, 260)->live, 41);
	check_all(&m);
	model_trim(&m, STREAMID_MAX);
	CHECK_EQ(m.s.nodes.nkeys, 0);
	check_all(&m);
	model_close(&m);
}

/* --- collecting dead entries --- */

static void
test_collect(void)
{
	Model		m;

	/* half of a node is not enough, one more is */
	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 1, 30);
	del_range(&m, 3, 7);
	CHECK_EQ(node_of(&m, 1)->dead, 5);
	del_range(&m, 9, 9);
	CHECK_EQ(node_of(&m, 1)->dead, 0);
	CHECK_EQ(node_of(&m, 1)->live, 4);
	check_all(&m);

	/* the first entry goes: the key stays */
	del_range(&m, 11, 16);
	CHECK_EQ(node_of(&m, 17)->live, 4);
	check_all(&m);

	/* the last node is left alone */
	del_range(&m, 21, 28);
	CHECK_EQ(node_of(&m, 30)->dead, 8);
	CHECK_EQ(m.s.nodes.nkeys, 3);
	check_all(&m);
	del_range(&m, 29, 30);
	CHECK_EQ(m.s.nodes.nkeys, 2);
	check_all(&m);
	model_close(&m);

	/* a single node is the last one */
	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 1, 10);
	del_range(&m, 1, 9);
	CHECK_EQ(node_of(&m, 10)->dead, 9);
	check_all(&m);
	model_close(&m);
}

static void
test_join(void)
{
	Model		m;

	/* two sparse neighbours become one, without the dead of the other */
	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 1, 40);
	del_range(&m, 11, 15);
	CHECK_EQ(node_of(&m, 20)->dead, 5);
	del_range(&m, 1, 6);
	CHECK_EQ(m.s.nodes.nkeys, 3);
	CHECK_EQ(node_of(&m, 20)->live, 9);
	CHECK_EQ(node_of(&m, 20)->dead, 0);
	check_all(&m);

	/* again and again */
	del_range(&m, 21, 27);
	del_range(&m, 7, 10);
	del_range(&m, 16, 17);
	CHECK_EQ(m.s.nodes.nkeys, 2);
	CHECK_EQ(node_of(&m, 20)->live, 6);
	check_all(&m);

	/* the last node is no target */
	del_range(&m, 31, 35);
	del_range(&m, 18, 20);
	del_range(&m, 28, 29);
	CHECK_EQ(m.s.nodes.nkeys, 2);
	CHECK_EQ(node_of(&m, 30)->live, 1);
	CHECK_EQ(node_of(&m, 40)->live, 5);
	check_all(&m);
	model_close(&m);

	/* too many entries, too many bytes */
	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 1, 40);
	del_range(&m, 1, 6);
	CHECK_EQ(m.s.nodes.nkeys, 4);
	model_close(&m);
	model_open(&m, 4 * MEGABYTE, 400, 10);
	for (uint64_t ms = 1; ms <= 20; ms++)
		add_named(&m, ms, "item", "a value of some forty bytes, or so it seems");
	CHECK_EQ(node_of(&m, 1)->live, 6);
	del_range(&m, 1, 4);
	CHECK_EQ(m.s.nodes.nkeys, 4);
	CHECK_EQ(node_of(&m, 5)->live, 2);
	CHECK_EQ(node_of(&m, 5)->dead, 0);
	check_all(&m);
	model_close(&m);

	/* other names */
	model_open(&m, 4 * MEGABYTE, 4096, 10);
	for (uint64_t ms = 1; ms <= 40; ms++)
		add_named(&m, ms, ms <= 10 ? "item" : "other", "value");
	del_range(&m, 11, 15);
	del_range(&m, 1, 6);
	CHECK_EQ(m.s.nodes.nkeys, 4);
	check_all(&m);
	model_close(&m);
}

/* --- saving and loading --- */

typedef struct Saved
{
	Model	   *to;
	int			nodes;
} Saved;

static bool
load_one(void *arg, StreamId master, const StreamNode *n)
{
	Saved	   *sv = arg;

	CHECK(node_validate(n->lp, node_bytes(n->lp), master));
	CHECK_EQ(stream_load_node(A(sv->to), &sv->to->s, master, n->lp, ARENA_NORMAL), ENG_OK);
	CHECK_EQ(stream_load_node(A(sv->to), &sv->to->s, master, n->lp, ARENA_NORMAL), ENG_CORRUPT);
	sv->nodes++;
	return true;
}

static void
test_load(void)
{
	Model		m;
	Model		to;
	Saved		sv = {&to, 0};
	Rax			nodes = {0};

	model_open(&m, 16 * MEGABYTE, 4096, 20);
	m.schemas = 3;
	for (int i = 0; i < 300; i++)
		random_step(&m);
	model_open(&to, 16 * MEGABYTE, 4096, 20);
	nodes = to.s.nodes;
	to.s = m.s;
	to.s.nodes = nodes;
	to.s.bytes = 0;
	stream_each_node(A(&m), &m.s, load_one, &sv);
	CHECK_EQ(sv.nodes, m.s.nodes.nkeys);
	CHECK_EQ(to.s.bytes, m.s.bytes);

	/* the copy holds the same and goes on in the same way */
	to.item = malloc((m.count + 1) * sizeof(Item));
	to.room = m.count + 1;
	for (size_t i = 0; i < m.count; i++)
	{
		size_t		size = lp_bytes(m.item[i].fields);

		to.item[i].id = m.item[i].id;
		to.item[i].fields = malloc(size);
		memcpy(to.item[i].fields, m.item[i].fields, size);
	}
	to.count = m.count;
	to.added = m.added;
	to.last = m.last;
	to.max_deleted = m.max_deleted;
	check_all(&to);
	for (int i = 0; i < 200; i++)
		random_step(&to);
	check_all(&to);
	model_close(&m);
	model_close(&to);
}

/* A version is never met again, whatever was deleted and made anew. */
static void
test_versions(void)
{
	Model		m;
	uint64_t	v;
	uint64_t	w;

	model_open(&m, 4 * MEGABYTE, 4096, 10);
	add_range(&m, 5, 5);
	v = node_of(&m, 5)->version;
	CHECK(node_of(&m, 5)->saved != v);
	model_del(&m, (StreamId) {5, 0});
	add_range(&m, 5, 5);
	w = node_of(&m, 5)->version;
	CHECK(w > v);
	add_range(&m, 6, 6);
	CHECK(node_of(&m, 5)->version > w);
	w = node_of(&m, 5)->version;
	CHECK(m.s.version >= w);
	model_del(&m, (StreamId) {6, 0});
	CHECK(node_of(&m, 5)->version > w);
	v = m.s.version;
	model_del(&m, (StreamId) {6, 0});
	model_trim(&m, (StreamId) {5, 0});
	CHECK_EQ(m.s.version, v);
	model_close(&m);
}

int
main(void)
{
	unit_begin("stream");
	test_empty();
	test_append();
	test_below();
	test_dead_in_the_way();
	test_counters();
	test_trim();
	test_collect();
	test_join();
	test_load();
	test_versions();
	for (int i = unit_scale(60); i > 0; i--)
		test_random();
	return unit_end();
}
