/*
 * test_node.c
 *	  Nodes: the example of docs/formats.md, every function against an array of
 *	  entries, and what the checking reader must refuse.
 *
 * Blocks have exactly the bytes that the size functions say, so that the
 * sanitizer sees any byte too many.
 */
#include "node.h"
#include "unit.h"
#include "gen.h"

/* --- the model --- */

typedef struct Item
{
	StreamId	id;
	uint8_t    *fields;
	bool		dead;
} Item;

typedef struct Model
{
	Item		item[400];
	int			count;
	StreamId	master;
	uint8_t    *node;
} Model;

static bool
same_list(const uint8_t *a, const uint8_t *b)
{
	return lp_bytes(a) == lp_bytes(b) && memcmp(a, b, lp_bytes(a)) == 0;
}

static StreamId
random_step(StreamId id)
{
	switch (unit_below(6))
	{
		case 0:
			id.seq += 1 + unit_below(3);
			break;
		case 1:
			id.ms += 1 + unit_below(5000);
			id.seq = unit_rand() >> unit_below(64);
			break;
		default:
			id.ms += 1 + unit_below(200);
			id.seq = 0;
			break;
	}
	return id;
}

/* A node of count entries; `schemas` different sets of names. */
static void
model_make(Model *m, StreamId master, int count, unsigned schemas, size_t most)
{
	StreamId	id = master;

	m->count = 0;
	m->master = master;
	m->node = NULL;
	for (int i = 0; i < count; i++)
	{
		uint8_t    *f = gen_fields((unsigned) unit_below(schemas), most);

		if (i == 0)
		{
			m->node = malloc(node_size_one(f));
			node_create(m->node, f);
			CHECK_EQ(node_bytes(m->node), node_size_one(f));
			CHECK(node_size_one(f) <= lp_bytes(f) + NODE_ONE_GROWTH);
		}
		else
		{
			size_t		bytes = node_bytes(m->node);
			size_t		more = node_entry_size(m->node, master, id, f);

			m->node = realloc(m->node, bytes + more);
			node_append(m->node, master, id, f);
			CHECK_EQ(node_bytes(m->node), bytes + more);
		}
		m->item[i].id = id;
		m->item[i].fields = f;
		m->item[i].dead = false;
		m->count++;
		do
			id = random_step(id);
		while (sid_cmp(id, m->item[i].id) <= 0);
	}
}

static void
model_free(Model *m)
{
	for (int i = 0; i < m->count; i++)
		free(m->item[i].fields);
	free(m->node);
}

static void
model_drop_dead(Model *m)
{
	int			n = 0;

	for (int i = 0; i < m->count; i++)
	{
		if (m->item[i].dead)
			free(m->item[i].fields);
		else
			m->item[n++] = m->item[i];
	}
	m->count = n;
}

static void
check_entry(const NodeEntry *e, const Item *it)
{
	size_t		size = node_fields_size(e);
	uint8_t    *f = malloc(size);

	CHECK(sid_cmp(e->id, it->id) == 0);
	CHECK_EQ(e->deleted, it->dead);
	CHECK_EQ(e->nfields, lp_count(it->fields) / 2);
	node_fields_write(e, f);
	CHECK_EQ(size, lp_bytes(it->fields));
	CHECK(same_list(f, it->fields));
	free(f);
}

/* The node holds what the model says, whichever way it is read. */
static void
check_node(const Model *m)
{
	NodeIter	it;
	NodeEntry	e;
	StreamId	first = STREAMID_MIN;
	StreamId	last = STREAMID_MIN;
	uint32_t	live = 0;

	CHECK(node_validate(m->node, node_bytes(m->node), m->master));
	for (int i = 0; i < m->count; i++)
	{
		if (m->item[i].dead)
			continue;
		if (live++ == 0)
			first = m->item[i].id;
		last = m->item[i].id;
	}
	CHECK_EQ(node_live(m->node), live);
	CHECK_EQ(node_dead(m->node), (uint32_t) m->count - live);
	if (m->count > 0)
		CHECK(sid_cmp(node_last(m->node, m->master), m->item[m->count - 1].id) == 0);

	for (int with_deleted = 0; with_deleted < 2; with_deleted++)
	{
		int			i = 0;

		node_iter(&it, m->node, m->master, false, with_deleted);
		while (node_next(&it, &e))
		{
			while (!with_deleted && m->item[i].dead)
				i++;
			check_entry(&e, &m->item[i++]);
		}
		while (!with_deleted && i < m->count && m->item[i].dead)
			i++;
		CHECK_EQ(i, m->count);
		CHECK(!node_next(&it, &e));

		node_iter(&it, m->node, m->master, true, with_deleted);
		while (node_next(&it, &e))
		{
			i--;
			while (!with_deleted && m->item[i].dead)
				i--;
			check_entry(&e, &m->item[i]);
		}
		while (!with_deleted && i > 0 && m->item[i - 1].dead)
			i--;
		CHECK_EQ(i, 0);
		CHECK(!node_next(&it, &e));
	}
	for (int i = 0; i < m->count; i++)
	{
		CHECK(node_find(m->node, m->master, m->item[i].id, &e));
		check_entry(&e, &m->item[i]);
	}
	if (live > 0)
	{
		StreamId	f;
		StreamId	l;

		CHECK(node_bounds(m->node, m->master, &f, &l));
		CHECK(sid_cmp(f, first) == 0 && sid_cmp(l, last) == 0);
	}
	else
		CHECK(!node_bounds(m->node, m->master, &first, &last));
}

static StreamId
random_master(void)
{
	StreamId	master;

	master.ms = unit_rand() >> unit_between(2, 60);
	master.seq = unit_rand() >> unit_between(1, 63);
	/* 0-0 is nobody's id */
	if (unit_one_in(4) || (master.ms == 0 && master.seq == 0))
		return (StreamId) {0, 1};
	return master;
}

/* Delete some entries, one by one and all below an id. */
static void
delete_some(Model *m)
{
	for (int n = (int) unit_below((uint64_t) m->count + 1); n > 0; n--)
	{
		int			i = (int) unit_below((uint64_t) m->count);
		StreamId	no = m->item[i].id;

		CHECK_EQ(node_delete(m->node, m->master, m->item[i].id), !m->item[i].dead);
		m->item[i].dead = true;
		sid_prev(&no);
		if (i == 0 || sid_cmp(no, m->item[i - 1].id) != 0)
			CHECK(!node_delete(m->node, m->master, no));
	}
	if (unit_one_in(3))
	{
		int			n = (int) unit_below((uint64_t) m->count);
		uint32_t	gone = 0;

		for (int i = 0; i < n; i++)
		{
			gone += !m->item[i].dead;
			m->item[i].dead = true;
		}
		CHECK_EQ(node_delete_below(m->node, m->master, m->item[n].id), gone);
	}
}

static void
random_node(Model *m)
{
	static const size_t mosts[] = {0, 5, 30, 100, 5000};
	static const unsigned schemas[] = {1, 1, 2, 30};

	model_make(m, random_master(), (int) unit_between(1, unit_one_in(4) ? 300 : 20),
			   schemas[unit_below(4)], mosts[unit_below(5)]);
}

static void
test_random(void)
{
	static Model m;
	size_t		bytes;

	random_node(&m);
	check_node(&m);
	delete_some(&m);
	check_node(&m);

	bytes = node_compact_size(m.node);
	node_compact(m.node);
	model_drop_dead(&m);
	CHECK_EQ(node_bytes(m.node), bytes);
	if (m.count > 0)
		check_node(&m);
	else
		CHECK(!node_validate(m.node, bytes, m.master));
	model_free(&m);
}

/* Copying all live entries of one node into another: at its end, or inside. */
static void
test_copy(void)
{
	static Model m;
	static Model src;
	int			gap;
	int			n = 0;
	size_t		more;
	size_t		bytes;
	size_t		off;
	uint8_t    *copy;
	StreamId	from;
	NodeEntry	e;

	/* a node, and one whose ids are made to lie after the gap's entry */
	model_make(&m, (StreamId) {1000, 5}, (int) unit_between(1, 40), (unsigned) unit_between(1, 3), 20);
	gap = (int) unit_between(0, (uint64_t) m.count - 1);
	for (int i = gap + 1; i < m.count; i++)
		m.item[i].id.ms += 100000000;
	/* written anew with the gap */
	bytes = node_bytes(m.node);
	m.node = realloc(m.node, bytes + (size_t) m.count * 20);
	node_create(m.node, m.item[0].fields);
	for (int i = 1; i < m.count; i++)
		node_append(m.node, m.master, m.item[i].id, m.item[i].fields);

	from = m.item[gap].id;
	sid_next(&from);
	model_make(&src, from, (int) unit_between(1, 40), (unsigned) unit_between(1, 3), 20);
	if (unit_one_in(2))
		delete_some(&src);

	more = node_copy_size(m.node, m.master, src.node, src.master);
	bytes = node_bytes(m.node);
	copy = malloc(bytes + more);
	memcpy(copy, m.node, bytes);
	off = bytes - 1;
	if (gap + 1 < m.count)
	{
		CHECK(node_find(m.node, m.master, m.item[gap + 1].id, &e));
		off = (size_t) (e.at - m.node);
	}
	node_copy(copy, m.master, copy + off, src.node, src.master);
	CHECK_EQ(node_bytes(copy), bytes + more);
	free(m.node);
	m.node = copy;

	free(src.node);
	src.node = NULL;
	model_drop_dead(&src);
	n = src.count;
	memmove(m.item + gap + 1 + n, m.item + gap + 1, (size_t) (m.count - gap - 1) * sizeof(Item));
	memcpy(m.item + gap + 1, src.item, (size_t) n * sizeof(Item));
	m.count += n;
	check_node(&m);
	model_free(&m);
}

/* The upper part under another master, the lower part cut. */
static void
test_split(void)
{
	static Model m;
	static Model up;
	int			at;
	size_t		size;
	size_t		whole;
	NodeEntry	e;

	random_node(&m);
	delete_some(&m);
	at = (int) unit_below((uint64_t) m.count);
	while (at < m.count && m.item[at].dead)
		at++;
	if (at == m.count)
	{
		model_free(&m);
		return;
	}
	CHECK(node_find(m.node, m.master, m.item[at].id, &e));

	memset(&up, 0, sizeof(up));
	up.master = m.item[at].id;
	if (at > 0 && unit_one_in(2))
	{
		/* the new master need not be an entry's id */
		up.master = m.item[at - 1].id;
		sid_next(&up.master);
	}
	size = node_recode_size(m.node, m.master, e.at, up.master);
	whole = node_bytes(m.node) + NODE_DELTA_GROWTH * (size_t) m.count;
	CHECK(size <= whole);
	up.node = malloc(size);
	node_recode(up.node, m.node, m.master, e.at, up.master);
	CHECK_EQ(node_bytes(up.node), size);
	for (int i = at; i < m.count; i++)
	{
		Item		it = m.item[i];

		it.fields = malloc(lp_bytes(m.item[i].fields));
		memcpy(it.fields, m.item[i].fields, lp_bytes(m.item[i].fields));
		up.item[up.count++] = it;
	}
	model_drop_dead(&up);
	check_node(&up);
	CHECK(node_same_names(up.node, m.node));
	model_free(&up);

	node_truncate(m.node, e.at);
	for (int i = at; i < m.count; i++)
		free(m.item[i].fields);
	m.count = at;
	if (at > 0)
		check_node(&m);
	model_free(&m);
}

/* --- the example of docs/formats.md --- */

static void
test_example(void)
{
	static const uint8_t want[] = {
		0x52, 0x00, 0x00, 0x00, 0x19, 0x00,
		/* master */
		0xF3, 0x03, 0x00, 0x00, 0x00, 0x05,
		0xF3, 0x00, 0x00, 0x00, 0x00, 0x05,
		0x02, 0x01,
		0x84, 't', 'e', 'm', 'p', 0x05,
		0x84, 'r', 'o', 'o', 'm', 0x05,
		0x00, 0x01,
		/* 1526919030474-55 */
		0x02, 0x01, 0x00, 0x01, 0x00, 0x01,
		0x84, '1', '9', '.', '8', 0x05, 0xC3, 0xE8, 0x02,
		0x05, 0x01,
		/* 1526919030474-56 */
		0x02, 0x01, 0x00, 0x01, 0x01, 0x01,
		0x14, 0x01, 0xC3, 0xE8, 0x02,
		0x05, 0x01,
		/* 1526919030500-0 */
		0x00, 0x01, 0x1A, 0x01, 0xDF, 0xC9, 0x02,
		0x01, 0x01, 0x82, 'u', 'p', 0x03, 0x01, 0x01,
		0x06, 0x01,
	0xFF};
	static const uint8_t want_key[] = {
		0x00, 0x00, 0x01, 0x63, 0x83, 0x77, 0x66, 0xCA, 0, 0, 0, 0, 0, 0, 0, 0x37,
	};
	const StreamId master = {1526919030474, 55};
	uint8_t		key[16];
	uint8_t    *f1 = GEN("temp", "19.8", "room", "1000");
	uint8_t    *f2 = GEN("temp", "20", "room", "1000");
	uint8_t    *f3 = GEN("up", "1");
	uint8_t		node[200];

	node_create(node, f1);
	node_append(node, master, (StreamId) {1526919030474, 56}, f2);
	node_append(node, master, (StreamId) {1526919030500, 0}, f3);
	CHECK_EQ(node_bytes(node), sizeof(want));
	CHECK_MEM(node, want, sizeof(want));
	CHECK(node_validate(want, sizeof(want), master));

	sid_to_key(master, key);
	CHECK_MEM(key, want_key, sizeof(key));
	CHECK(sid_cmp(sid_from_key(key), master) == 0);

	/* deleting changes three bytes */
	CHECK(node_delete(node, master, (StreamId) {1526919030474, 56}));
	CHECK(node[7] == 2 && node[13] == 1 && node[51] == 3);
	CHECK_EQ(node_bytes(node), sizeof(want));
	node[7] = 3;
	node[13] = 0;
	node[51] = 2;
	CHECK_MEM(node, want, sizeof(want));
	free(f1);
	free(f2);
	free(f3);
}

/* --- limits --- */

/* Nodes of more elements than the count in the header can say. */
static void
test_many_elements(void)
{
	enum
	{
		PAIRS = 20000
	};
	uint8_t    *f = malloc(LP_EMPTY_SIZE + PAIRS * 10);
	const StreamId master = {5, 5};
	uint8_t    *node;
	NodeIter	it;
	NodeEntry	e;
	uint32_t	n = 0;

	lp_init(f);
	for (int i = 0; i < PAIRS; i++)
	{
		lp_append(f, "f", 1);
		lp_append(f, i % 2 == 0 ? "v" : "", (size_t) (i % 2 == 0));
	}
	CHECK_EQ(lp_count(f), 2 * PAIRS);
	node = malloc(node_size_one(f) + 3 * lp_bytes(f));
	node_create(node, f);
	CHECK_EQ(node[4] | node[5] << 8, 2 * PAIRS + 8);
	for (uint64_t seq = 6; seq <= 8; seq++)
	{
		node_append(node, master, (StreamId) {5, seq}, f);
		CHECK(node_validate(node, node_bytes(node), master));
	}
	CHECK_EQ(node[4] | node[5] << 8, LP_COUNT_UNKNOWN);
	CHECK_EQ(lp_count(node), 5 * (PAIRS + 4));
	node_iter(&it, node, master, false, false);
	while (node_next(&it, &e))
	{
		uint8_t    *got = malloc(node_fields_size(&e));

		node_fields_write(&e, got);
		CHECK(same_list(got, f));
		free(got);
		n++;
	}
	CHECK_EQ(n, 4);

	/* a node with few entries left knows its count again */
	CHECK(node_delete(node, master, (StreamId) {5, 6}));
	CHECK(node_delete(node, master, (StreamId) {5, 8}));
	node_compact(node);
	CHECK(node_validate(node, node_bytes(node), master));
	CHECK_EQ(node[4] | node[5] << 8, 3 * (PAIRS + 4));
	free(node);
	free(f);
}

static void
test_ids(void)
{
	uint8_t    *f = GEN("f", "v");
	uint8_t		node[400];
	StreamId	master = {10, UINT64_MAX - 1};
	static const StreamId id[] = {
		{10, UINT64_MAX}, {11, 0}, {11, UINT64_MAX}, {12, UINT64_MAX / 2},
		{(uint64_t) INT64_MAX + 10, 0},
	};
	NodeIter	it;
	NodeEntry	e;

	node_create(node, f);
	for (int i = 0; i < 5; i++)
	{
		CHECK(node_entry_size(node, master, id[i], f) < 40);
		node_append(node, master, id[i], f);
	}
	CHECK(node_validate(node, node_bytes(node), master));
	node_iter(&it, node, master, false, false);
	CHECK(node_next(&it, &e) && sid_cmp(e.id, master) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(node_next(&it, &e) && sid_cmp(e.id, id[i]) == 0);
	CHECK(!node_next(&it, &e));
	CHECK_EQ(node_entry_size(node, master, (StreamId) {(uint64_t) INT64_MAX + 11, 0}, f), NODE_TOO_FAR);
	CHECK_EQ(node_entry_size(node, master, STREAMID_MAX, f), NODE_TOO_FAR);

	/* under other masters the same bytes are other ids, not all of them good */
	CHECK(node_validate(node, node_bytes(node), (StreamId) {20, UINT64_MAX - 1}));
	CHECK(!node_validate(node, node_bytes(node), (StreamId) {10, 0}));
	CHECK(!node_validate(node, node_bytes(node), (StreamId) {(uint64_t) INT64_MAX + 2, UINT64_MAX - 1}));
	node_create(node, f);
	CHECK(node_validate(node, node_bytes(node), (StreamId) {0, 1}));
	CHECK(!node_validate(node, node_bytes(node), STREAMID_MIN));
	CHECK(node_validate(node, node_bytes(node), STREAMID_MAX));
	free(f);
}

/* --- what must be refused --- */

/* Use a node that passed in every way. */
static void
use_node(uint8_t *node, StreamId master)
{
	NodeIter	it;
	NodeEntry	e;
	uint32_t	n = 0;

	for (int reverse = 0; reverse < 2; reverse++)
	{
		node_iter(&it, node, master, reverse, true);
		while (node_next(&it, &e))
		{
			uint8_t    *f = malloc(node_fields_size(&e));

			node_fields_write(&e, f);
			CHECK(lp_validate(f, node_fields_size(&e), true, NULL));
			free(f);
			n++;
		}
	}
	CHECK_EQ(n, 2 * (node_live(node) + node_dead(node)));
	node_delete_below(node, master, STREAMID_MAX);
	CHECK(node_validate(node, node_bytes(node), master));
}

static void
test_broken(void)
{
	const StreamId master = {1000, 3};
	uint8_t    *f1 = GEN("temp", "19.8", "room", "1000");
	uint8_t    *f2 = GEN("up", "1");
	uint8_t		node[300];
	size_t		size;
	int			passed = 0;

	node_create(node, f1);
	node_append(node, master, (StreamId) {1000, 4}, f1);
	node_append(node, master, (StreamId) {1001, 0}, f2);
	node_append(node, master, (StreamId) {1300, 0}, f1);
	node_delete(node, master, (StreamId) {1001, 0});
	size = node_bytes(node);
	CHECK(node_validate(node, size, master));

	for (size_t i = 0; i < size; i++)
	{
		for (int b = 0; b < 256; b++)
		{
			uint8_t    *copy = malloc(size);

			memcpy(copy, node, size);
			copy[i] = (uint8_t) b;
			if (node_validate(copy, size, master))
			{
				use_node(copy, master);
				passed++;
			}
			free(copy);
		}
	}
	CHECK(passed > (int) size);
	for (size_t n = 0; n < size; n++)
	{
		uint8_t    *copy = malloc(n + 1);

		memcpy(copy, node, n);
		CHECK(n < 4 || !node_validate(copy, n, master));
		if (n >= LP_EMPTY_SIZE)
		{
			lp_set_header(copy, n, LP_COUNT_UNKNOWN);
			copy[n - 1] = LP_EOF;
			CHECK(!node_validate(copy, n, master));
		}
		free(copy);
	}

	/* wrong counts, ids that do not rise, a name that is not canonical */
	node[7]++;
	CHECK(!node_validate(node, size, master));
	node[7]--;
	node_create(node, f2);
	node_append(node, master, master, f2);
	CHECK(!node_validate(node, node_bytes(node), master));
	node_create(node, f2);
	CHECK_EQ(node[21], 'u');
	node[21] = '4';
	CHECK(node_validate(node, node_bytes(node), master));
	node[22] = '2';
	CHECK(!node_validate(node, node_bytes(node), master));
	free(f1);
	free(f2);
}

int
main(void)
{
	unit_begin("node");
	test_example();
	test_many_elements();
	test_ids();
	test_broken();
	for (int i = unit_scale(150); i > 0; i--)
	{
		test_random();
		test_copy();
		test_split();
	}
	return unit_end();
}
