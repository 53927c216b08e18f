/*
 * test_stream_memory.c
 *	  Streams without memory: a failure at every allocation changes nothing,
 *	  deleting and trimming go on, and what was charged never fails, however
 *	  full the arena is.
 */
#include "twin.h"
#include "unit.h"
#include "scarce.h"
#include "stream_model.h"

#define MEGABYTE	((size_t) 1024 * 1024)

/* --- failing allocations --- */

static uint64_t
used(Model *m)
{
	ArenaStats	st;

	arena_stats(A(m), &st);
	return st.used;
}

/* Add the chunk, after it failed with no memory in every way there is. */
static void
add_at_last(Model *m, Chunk *c)
{
	EngHandle	h = 0;
	EngStatus	st;
	bool		rest;

	if (chunk_is_long(c) || unit_one_in(3))
	{
		h = stream_prepare_node(A(m), c->lp, c->first, ARENA_NORMAL);
		CHECK(h != 0);
	}
	rest = unit_one_in(2);
	for (int at = 0;; at++)
	{
		Stream		before = m->s;

		scarce_begin(at, rest);
		st = stream_add_chunk(A(m), &m->s, c->first, h != 0 ? NULL : c->lp, h, ARENA_NORMAL);
		scarce_end();
		if (st != ENG_NOMEM)
			break;
		CHECK(at < scarce.asked);
		/* a key that was put in and taken out may leave the tree in another shape */
		CHECK_EQ(before.nodes.nkeys, m->s.nodes.nkeys);
		before.nodes = m->s.nodes;
		CHECK(memcmp(&before, &m->s, sizeof(Stream)) == 0);
		CHECK_SOUND(stream_check(A(m), &m->s));
		if (unit_one_in(4))
			check_entries(m);
	}
	CHECK_EQ(st, ENG_OK);
	chunk_done(m, c);
}

static void
test_failures(void)
{
	static const uint64_t steps[] = {2, 1000000};
	Model		m;
	Chunk		c;

	model_open(&m, 16 * MEGABYTE, unit_one_in(2) ? 4096 : 300, unit_one_in(2) ? 10 : 100);
	m.step = steps[unit_below(2)];
	m.schemas = (unsigned) unit_between(1, 3);
	m.most = unit_one_in(4) ? 30000 : 20;
	for (int i = 0; i < 60; i++)
	{
		if (chunk_anywhere(&m, &c, unit_between(1, 30)))
			add_at_last(&m, &c);
		check_header(&m);
		twin_flip(&m.t);

		/* deleting and trimming need nothing */
		scarce_begin((int) unit_below(2), true);
		for (int k = (int) unit_below(20); k > 0; k--)
			model_del(&m, some_id(&m));
		if (m.count > 0 && unit_one_in(3))
			model_trim(&m, m.item[unit_below(m.count) / 4].id);
		scarce_end();
		check_header(&m);
		check_entries(&m);
	}
	model_close(&m);
}

/* Loading and preparing. */
static void
test_load_failures(void)
{
	Model		m;
	Chunk		c;
	int			at;

	model_open(&m, 16 * MEGABYTE, 4096, 100);
	chunk_make(&m, &c, STREAMID_MIN, STREAMID_MIN, 10);
	for (at = 0;; at++)
	{
		EngStatus	st;

		scarce_begin(at, true);
		st = stream_load_node(A(&m), &m.s, c.first, c.lp, ARENA_NORMAL);
		if (st == ENG_OK)
			break;
		CHECK_EQ(st, ENG_NOMEM);
		CHECK_EQ(used(&m), 0);
		CHECK_EQ(m.s.bytes, 0);
	}
	CHECK(at >= 2);
	scarce_begin(0, true);
	CHECK_EQ(stream_prepare_node(A(&m), c.lp, c.first, ARENA_NORMAL), 0);
	scarce_end();
	chunk_free(&c);
	model_close(&m);
}

/* --- charges --- */

/* Blocks that fill the arena. */
typedef struct Ballast
{
	EngHandle  *h;
	size_t		count;
	size_t		room;
} Ballast;

/* Take everything that is to be had without a charge, to the last object. */
static void
ballast_fill(Model *m, Ballast *b)
{
	static const size_t sizes[] = {16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64, 16};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		EngHandle	h;

		while ((h = arena_alloc(A(m), sizes[i], ARENA_NORMAL)) != 0)
		{
			if (b->count == b->room)
			{
				b->room = 2 * b->room + 100;
				b->h = realloc(b->h, b->room * sizeof(EngHandle));
			}
			b->h[b->count++] = h;
		}
	}
}

static void
ballast_drop(Model *m, Ballast *b, size_t n)
{
	while (n-- > 0 && b->count > 0)
	{
		size_t		i = unit_below(b->count);

		arena_free(A(m), b->h[i]);
		b->h[i] = b->h[--b->count];
	}
}

/* How often the charge was needed, and for which blocks of the set and of the
 * chunk that is being added.  (The charge for the tree is so ample that what
 * is missing elsewhere would not show by itself.) */
static int	drawn;
static int	drawn_nodes;
static int	drawn_own;
static size_t own_size;

static bool
count_drawn(size_t size, ArenaUse use)
{
	if (use != ARENA_CHARGED)
		return false;
	drawn++;
	if (size == NODE_BYTES_MAX)
		drawn_nodes++;
	else if (size == own_size)
		drawn_own++;
	return false;
}

/* What one transaction adds: chunks, some of them in runs. */
typedef struct Part
{
	Chunk		c;
	EngHandle	prepared;
} Part;

typedef struct Set
{
	Part		part[12];
	size_t		count;
	int			runs;			/* chunks charged in full */
} Set;

/* No two chunks of a set may meet: they are put above each other. */
static void
set_make(Model *m, Set *set, ArenaCharge *charge)
{
	size_t		at = unit_one_in(2) ? m->count : unit_below(m->count + 1);
	size_t		parts = unit_between(1, 12);
	StreamId	after = at > 0 ? m->item[at - 1].id : STREAMID_MIN;
	bool		run = false;	/* a prepared chunk of this run is there */

	set->count = 0;
	set->runs = 0;
	while (set->count < parts)
	{
		StreamId	before = at < m->count ? m->item[at].id : STREAMID_MIN;
		Part	   *p = &set->part[set->count];

		if (!chunk_make(m, &p->c, after, before, unit_one_in(2) ? 1 : unit_between(1, 200)))
		{
			/* to the next gap */
			after = before;
			at++;
			run = false;
			continue;
		}
		p->prepared = 0;
		if (chunk_is_long(&p->c) || unit_one_in(2))
			p->prepared = stream_prepare_node(A(m), p->c.lp, p->c.first, ARENA_NORMAL);
		if (p->prepared == 0 && chunk_is_long(&p->c))
		{
			chunk_free(&p->c);
			break;
		}
		if (run && p->prepared != 0)
			stream_charge_more(charge, &m->s);
		else
		{
			stream_charge(charge, &m->s, lp_bytes(p->c.lp), p->prepared != 0);
			set->runs++;
		}
		run |= p->prepared != 0;
		after = p->c.item[p->c.count - 1].id;
		set->count++;
		if (unit_one_in(3) && at < m->count)
		{
			after = m->item[at++].id;
			run = false;
		}
	}
}

static void
set_add(Model *m, Set *set, Ballast *b)
{
	drawn_nodes = 0;
	for (size_t i = 0; i < set->count; i++)
	{
		Part	   *p = &set->part[i];

		drawn_own = 0;
		own_size = sizeof(StreamNode) + lp_bytes(p->c.lp);

		/* others take whatever they can meanwhile */
		ballast_fill(m, b);
		arena_test_fail = count_drawn;
		CHECK_EQ(stream_add_chunk(A(m), &m->s, p->c.first, p->prepared != 0 ? NULL : p->c.lp,
								  p->prepared, ARENA_CHARGED), ENG_OK);
		scarce_end();
		/* smaller ones may be of the tree */
		CHECK(own_size < 2500 || drawn_own <= (p->prepared == 0));
		chunk_done(m, &p->c);
		CHECK_SOUND(stream_check(A(m), &m->s));
	}
	CHECK(drawn_nodes <= set->runs);
}

static void
set_drop(Model *m, Set *set)
{
	for (size_t i = 0; i < set->count; i++)
	{
		if (set->part[i].prepared != 0)
			arena_free(A(m), set->part[i].prepared);
		chunk_free(&set->part[i].c);
	}
}

static void
test_charge(void)
{
	static const uint32_t bytes[] = {0, 4096, 300, 64};
	static const uint32_t entries[] = {0, 100, 10, 1};
	static const uint64_t steps[] = {2, 1000, 1000000};
	static Set	set;
	Model		m;
	Ballast		b = {0};

	model_open(&m, 3 * MEGABYTE, bytes[unit_below(4)], entries[unit_below(4)]);
	m.step = steps[unit_below(3)];
	m.schemas = (unsigned) unit_between(1, 12);
	m.most = unit_one_in(3) ? 20000 : unit_one_in(2) ? 1000 : 10;
	for (int i = 0; i < 80; i++)
	{
		ArenaCharge charge = {0};

		set_make(&m, &set, &charge);
		if (arena_charge(A(&m), &charge, ARENA_NORMAL))
		{
			/* limits may change before the charge is used */
			if (unit_one_in(8))
			{
				m.s.node_max_bytes = (uint32_t) unit_between(NODE_BYTES_MIN, NODE_BYTES_MAX);
				m.s.node_max_entries = (uint32_t) unit_between(1, 200);
			}
			set_add(&m, &set, &b);
			arena_uncharge(A(&m), &charge);
		}
		else
		{
			set_drop(&m, &set);
			if (m.count > 0)
				model_trim(&m, m.item[unit_below(m.count)].id);
		}
		for (int k = (int) unit_below(30); k > 0; k--)
			model_del(&m, some_id(&m));
		check_header(&m);
		check_entries(&m);
		CHECK_SOUND(arena_check(A(&m)));
		ballast_drop(&m, &b, unit_below(b.count + 1));
		twin_flip(&m.t);
	}
	ballast_drop(&m, &b, b.count);
	free(b.h);
	model_close(&m);
}

/*
 * The worst split: a full node of tiny entries whose deltas all grow, because
 * what is cut off must begin with an id of a great seq.
 */
static void
test_growing_deltas(void)
{
	Model		m;
	Chunk		c = {0};
	Ballast		b = {0};
	ArenaCharge charge = {0};
	uint64_t	ms = 100;
	size_t		bytes;
	StreamId	master;

	model_open(&m, 3 * MEGABYTE, 0, 0);
	chunk_push(&m, &c, (StreamId) {ms, 0}, GEN("f", ""));
	CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
	memset(&c, 0, sizeof(c));
	chunk_push(&m, &c, (StreamId) {ms, UINT64_MAX / 3}, GEN("f", ""));
	CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
	while (m.s.nodes.nkeys == 1)
	{
		memset(&c, 0, sizeof(c));
		chunk_push(&m, &c, (StreamId) {++ms, 0}, GEN("f", ""));
		CHECK_EQ(chunk_add(&m, &c, false), ENG_OK);
	}
	CHECK(m.count > 200);
	bytes = node_bytes(stream_node_at(A(&m), &m.s, STREAMID_MIN, false, &master)->lp);

	memset(&c, 0, sizeof(c));
	{
		char		big[4001];

		memset(big, 'b', sizeof(big) - 1);
		big[sizeof(big) - 1] = '\0';
		chunk_push(&m, &c, (StreamId) {100, UINT64_MAX / 3 - 1}, GEN("f", big));
	}
	stream_charge(&charge, &m.s, lp_bytes(c.lp), false);
	CHECK(arena_charge(A(&m), &charge, ARENA_NORMAL));
	ballast_fill(&m, &b);
	CHECK_EQ(stream_add_chunk(A(&m), &m.s, c.first, c.lp, 0, ARENA_CHARGED), ENG_OK);
	chunk_done(&m, &c);
	arena_uncharge(A(&m), &charge);
	CHECK(node_bytes(stream_node_at(A(&m), &m.s, (StreamId) {101, 0}, false, &master)->lp) > bytes);
	CHECK_EQ(master.seq, UINT64_MAX / 3);
	check_header(&m);
	check_entries(&m);
	ballast_drop(&m, &b, b.count);
	free(b.h);
	model_close(&m);
}

int
main(void)
{
	unit_begin("stream_memory");
	test_load_failures();
	test_growing_deltas();
	for (int i = unit_scale(6); i > 0; i--)
	{
		test_failures();
		test_charge();
	}
	CHECK(drawn > 50);
	return unit_end();
}
