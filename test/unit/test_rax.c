/*
 * test_rax.c
 *	  The radix tree: the shapes of the published description, every operation
 *	  against a sorted array, lack of memory at every allocation, and charges.
 */
#include "twin.h"
#include "rax.h"
#include "unit.h"
#include "scarce.h"

/* --- the model: a sorted array of keys --- */

typedef struct Item
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len;
	uint64_t	value;
} Item;

typedef struct Model
{
	Item	  **item;			/* in order */
	size_t		count;
	size_t		room;
} Model;

static int
key_cmp(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	size_t		least = alen < blen ? alen : blen;
	int			c = least > 0 ? memcmp(a, b, least) : 0;

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Where the key is or belongs. */
static size_t
model_at(const Model *m, const uint8_t *key, size_t len, bool *there)
{
	size_t		lo = 0,
				hi = m->count;

	while (lo < hi)
	{
		size_t		mid = (lo + hi) / 2;

		if (key_cmp(m->item[mid]->key, m->item[mid]->len, key, len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*there = lo < m->count && key_cmp(m->item[lo]->key, m->item[lo]->len, key, len) == 0;
	return lo;
}

static void
model_insert(Model *m, const uint8_t *key, size_t len, uint64_t value)
{
	bool		there;
	size_t		at = model_at(m, key, len, &there);

	if (!there)
	{
		Item	   *it = malloc(sizeof(Item));

		if (m->count == m->room)
		{
			m->room = m->room * 2 + 16;
			m->item = realloc(m->item, m->room * sizeof(*m->item));
		}
		memmove(m->item + at + 1, m->item + at, (m->count - at) * sizeof(*m->item));
		m->item[at] = it;
		m->count++;
		if (len > 0)
			memcpy(it->key, key, len);
		it->len = len;
	}
	m->item[at]->value = value;
}

static void
model_remove(Model *m, size_t at)
{
	free(m->item[at]);
	memmove(m->item + at, m->item + at + 1, (m->count - at - 1) * sizeof(*m->item));
	m->count--;
}

static void
model_free(Model *m)
{
	while (m->count > 0)
		free(m->item[--m->count]);
	free(m->item);
	memset(m, 0, sizeof(*m));
}

/* What a seek should find; m->count if nothing. */
static size_t
model_seek(const Model *m, RaxSeek op, const uint8_t *key, size_t len)
{
	bool		there;
	size_t		at = model_at(m, key, len, &there);

	switch (op)
	{
		case RAX_FIRST:
			return 0;
		case RAX_LAST:
			return m->count > 0 ? m->count - 1 : 0;
		case RAX_EQ:
			return there ? at : m->count;
		case RAX_GE:
			return at;
		case RAX_GT:
			return at + there;
		case RAX_LT:
			return at > 0 ? at - 1 : m->count;
		case RAX_LE:
			return there ? at : at > 0 ? at - 1 : m->count;
	}
	return m->count;
}

/* --- keys --- */

typedef enum KeyKind
{
	KEY_IDS,					/* ids as a stream has them */
	KEY_IDS_RANDOM,				/* ids all over */
	KEY_SHORT,					/* 0 to 6 letters of 3 */
	KEY_PREFIXES,				/* words with common beginnings, many prefixes */
	KEY_CHAINS,					/* 0 to 12 letters, mostly the same */
	KEY_BYTES,					/* any bytes, 1 to 3 */
	KEY_LONG,					/* up to RAX_KEY_MAX of two letters, mostly alike */
	KEY_KINDS
} KeyKind;

static size_t
make_key(KeyKind kind, uint8_t *key)
{
	static const char *const word[] = {"user", "users", "use", "order", "ord", ":", "1", "12", "events", "e"};
	size_t		len = 0;

	switch (kind)
	{
		case KEY_IDS:
			sid_to_key((StreamId) {UINT64_C(1526919030474) + unit_below(4000),
								   unit_one_in(4) ? unit_below(3) : 0}, key);
			return 16;
		case KEY_IDS_RANDOM:
			sid_to_key((StreamId) {unit_rand() >> unit_below(64), unit_rand() >> unit_below(64)}, key);
			return 16;
		case KEY_SHORT:
			len = unit_below(7);
			for (size_t i = 0; i < len; i++)
				key[i] = (uint8_t) ('a' + unit_below(3));
			return len;
		case KEY_PREFIXES:
			for (uint64_t n = unit_below(6); n > 0; n--)
			{
				const char *w = word[unit_below(sizeof(word) / sizeof(word[0]))];

				memcpy(key + len, w, strlen(w));
				len += strlen(w);
			}
			return len;
		case KEY_CHAINS:
			len = unit_below(13);
			for (size_t i = 0; i < len; i++)
				key[i] = unit_one_in(10) ? 'b' : 'a';
			return len;
		case KEY_BYTES:
			len = unit_between(1, 3);
			for (size_t i = 0; i < len; i++)
				key[i] = (uint8_t) unit_below(i == 0 ? 256 : 4);
			return len;
		default:
			len = unit_one_in(4) ? unit_below(RAX_KEY_MAX + 1) : unit_below(200);
			memset(key, 'x', len);
			for (uint64_t n = unit_below(3); n > 0 && len > 0; n--)
				key[unit_below(len)] = 'y';
			return len;
	}
}

/* --- tree against model --- */

static void
check_seek(const Twin *t, const Rax *r, const Model *m, RaxSeek op, const uint8_t *key, size_t len)
{
	size_t		want = model_seek(m, op, key, len);
	uint8_t		out[RAX_KEY_MAX];
	size_t		outlen = SIZE_MAX;
	uint64_t	value = 0;
	bool		in_place = unit_one_in(2);
	bool		found;

	/* the key may be given in the buffer for the answer */
	if (in_place && len > 0)
		memcpy(out, key, len);
	found = rax_seek(&t->arena, r, op, in_place ? out : key, len, out, &outlen, &value);
	if (!CHECK_EQ(found, want < m->count) || !found)
		return;
	CHECK_EQ(value, m->item[want]->value);
	if (CHECK_EQ(outlen, m->item[want]->len))
		CHECK_MEM(out, m->item[want]->key, outlen);
	CHECK(rax_seek(&t->arena, r, op, key, len, NULL, NULL, NULL));
}

/* All keys in order, both ways. */
static void
check_all(const Twin *t, const Rax *r, const Model *m)
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len = 0;
	uint64_t	value;
	size_t		n = 0;

	CHECK_SOUND(rax_check(&t->arena, r));
	CHECK_EQ(r->nkeys, m->count);
	for (bool more = rax_seek(&t->arena, r, RAX_FIRST, NULL, 0, key, &len, &value); more;
		 more = rax_seek(&t->arena, r, RAX_GT, key, len, key, &len, &value))
	{
		if (!CHECK(n < m->count))
			return;
		CHECK(key_cmp(key, len, m->item[n]->key, m->item[n]->len) == 0);
		CHECK_EQ(value, m->item[n]->value);
		n++;
	}
	CHECK_EQ(n, m->count);
	for (bool more = rax_seek(&t->arena, r, RAX_LAST, NULL, 0, key, &len, &value); more;
		 more = rax_seek(&t->arena, r, RAX_LT, key, len, key, &len, &value))
	{
		if (!CHECK(n > 0))
			return;
		n--;
		CHECK(key_cmp(key, len, m->item[n]->key, m->item[n]->len) == 0);
		CHECK_EQ(value, m->item[n]->value);
	}
	CHECK_EQ(n, 0);
}

static void
one_step(Twin *t, Rax *r, Model *m, KeyKind kind, bool grow, ArenaUse use)
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len = make_key(kind, key);
	uint64_t	value = unit_rand();
	uint64_t	old = 0;
	bool		there;
	size_t		at = model_at(m, key, len, &there);

	if (unit_one_in(4))
	{
		/* any key of those there */
		if (m->count > 0)
		{
			at = unit_below(m->count);
			len = m->item[at]->len;
			memcpy(key, m->item[at]->key, len);
			there = true;
		}
	}
	if (unit_one_in(3))
		check_seek(t, r, m, (RaxSeek) unit_below(RAX_LE + 1), key, len);
	if (unit_one_in(8))
	{
		uint64_t	found = 0;

		CHECK_EQ(rax_find(&t->arena, r, key, len, &found), there);
		if (there)
			CHECK_EQ(found, m->item[at]->value);
	}
	if (grow ? !unit_one_in(4) : unit_one_in(4))
	{
		EngStatus	st = rax_insert(&t->arena, r, key, len, value, &old, use);

		if (st == ENG_NOMEM)
		{
			CHECK(!there && use == ARENA_NORMAL);
			return;
		}
		CHECK_EQ(st, there ? ENG_EXISTS : ENG_OK);
		if (there)
			CHECK_EQ(old, m->item[at]->value);
		model_insert(m, key, len, value);
	}
	else
	{
		CHECK_EQ(rax_remove(&t->arena, r, key, len, &old), there);
		if (there)
		{
			CHECK_EQ(old, m->item[at]->value);
			model_remove(m, at);
		}
	}
}

static void
check_empty(Twin *t)
{
	ArenaStats	st;

	arena_stats(&t->arena, &st);
	CHECK_EQ(st.used, 0);
	CHECK_EQ(st.pages_free, st.pages);
	CHECK_SOUND(arena_check(&t->arena));
}

static void
test_model(KeyKind kind, size_t memory)
{
	Twin		t;
	Rax			r = {0};
	Model		m = {0};
	int			steps = unit_scale(12000);

	twin_open(&t, memory);
	for (int i = 0; i < steps; i++)
	{
		one_step(&t, &r, &m, kind, i % 6000 < 3600, ARENA_NORMAL);
		if (i % 16 == 0)
			twin_flip(&t);
		if (i % 1000 == 999)
			check_all(&t, &r, &m);
	}
	check_all(&t, &r, &m);
	while (m.count > 0)
	{
		size_t		at = unit_below(m.count);

		CHECK(rax_remove(&t.arena, &r, m.item[at]->key, m.item[at]->len, NULL));
		model_remove(&m, at);
		if (m.count % 64 == 0)
			CHECK_SOUND(rax_check(&t.arena, &r));
	}
	CHECK_EQ(r.root, 0);
	CHECK_EQ(r.nnodes, 0);
	check_empty(&t);
	model_free(&m);
	twin_close(&t);
}

/* --- shapes --- */

static void
put(Twin *t, Rax *r, const char *key, uint64_t value)
{
	CHECK_EQ(rax_insert(&t->arena, r, key, strlen(key), value, NULL, ARENA_NORMAL), ENG_OK);
}

static const char *
shape(const Twin *t, const Rax *r)
{
	static char text[65536];

	CHECK_SOUND(rax_check(&t->arena, r));
	CHECK(rax_shape(&t->arena, r, text, sizeof(text)) < sizeof(text));
	return text;
}

static void
test_shapes(void)
{
	static const char *const scenario[][2] = {
		{"abcdef", "\"abcd\"->(\"ef\")->()"},
		{"ab", "\"ab\"->(\"cd\")->()"},
		{"abABC", "\"ab\"->[Ac]{\"BC\"->() [d]->()}"},
		{"Aabc", "[Aa]{\"abc\"->() \"bcd\"->()}"},
		{"abcD", "\"abc\"->[Dd]{() ()}"},
		{"abcde", "\"abcd\"->([e])->()"},
		{"a", "[a]->(\"bcd\")->()"},
		{"abc", "\"abc\"->([d])->()"},
		{"aX", "[a]->[Xb]{() \"cd\"->()}"},
		{"", "(\"abcd\")->()"},
	};
	Twin		t;
	char		small[5];

	twin_open(&t, arena_size_min());
	for (size_t i = 0; i < sizeof(scenario) / sizeof(scenario[0]); i++)
	{
		Rax			r = {0};

		CHECK_STR(shape(&t, &r), "");
		put(&t, &r, "abcd", 1);
		CHECK_STR(shape(&t, &r), "\"abcd\"->()");
		put(&t, &r, scenario[i][0], 2);
		CHECK_STR(shape(&t, &r), scenario[i][1]);

		/* removing it leads back */
		CHECK(rax_remove(&t.arena, &r, scenario[i][0], strlen(scenario[i][0]), NULL));
		CHECK_STR(shape(&t, &r), "\"abcd\"->()");

		/* and so does removing the other one */
		put(&t, &r, scenario[i][0], 2);
		CHECK(rax_remove(&t.arena, &r, "abcd", 4, NULL));
		CHECK_EQ(r.nkeys, 1);
		rax_clear(&t.arena, &r, NULL, NULL);
		check_empty(&t);
	}

	{
		Rax			r = {0};

		/* a key in a run's place keeps its value when the run is cut */
		put(&t, &r, "x", 1);
		put(&t, &r, "xabcd", 2);
		put(&t, &r, "xABCD", 3);
		CHECK_STR(shape(&t, &r), "[x]->([Aa]){\"BCD\"->() \"bcd\"->()}");
		put(&t, &r, "xabcz", 4);
		CHECK_STR(shape(&t, &r), "[x]->([Aa]){\"BCD\"->() \"bc\"->[dz]{() ()}}");

		/* joining stops at a key */
		CHECK(rax_remove(&t.arena, &r, "xABCD", 5, NULL));
		CHECK_STR(shape(&t, &r), "[x]->(\"abc\")->[dz]{() ()}");
		CHECK(rax_remove(&t.arena, &r, "x", 1, NULL));
		CHECK_STR(shape(&t, &r), "\"xabc\"->[dz]{() ()}");
		CHECK(rax_remove(&t.arena, &r, "xabcd", 5, NULL));
		CHECK_STR(shape(&t, &r), "\"xabcz\"->()");
		CHECK(!rax_remove(&t.arena, &r, "xabc", 4, NULL));
		CHECK(!rax_remove(&t.arena, &r, "xabcza", 6, NULL));
		CHECK(!rax_remove(&t.arena, &r, "", 0, NULL));

		/* and begins at one */
		CHECK(rax_remove(&t.arena, &r, "xabcz", 5, NULL));
		put(&t, &r, "abc", 1);
		put(&t, &r, "abcde", 2);
		put(&t, &r, "abcdf", 3);
		CHECK_STR(shape(&t, &r), "\"abc\"->([d])->[ef]{() ()}");
		CHECK(rax_remove(&t.arena, &r, "abcdf", 5, NULL));
		CHECK_STR(shape(&t, &r), "\"abc\"->(\"de\")->()");
		put(&t, &r, "abcX", 4);
		CHECK_STR(shape(&t, &r), "\"abc\"->([Xd]){() [e]->()}");
		CHECK(rax_remove(&t.arena, &r, "abcX", 4, NULL));
		CHECK_STR(shape(&t, &r), "\"abc\"->(\"de\")->()");
		rax_clear(&t.arena, &r, NULL, NULL);
		put(&t, &r, "xabcz", 4);

		/* the empty key alone; it needs no bytes */
		CHECK_EQ(rax_insert(&t.arena, &r, NULL, 0, 7, NULL, ARENA_NORMAL), ENG_OK);
		CHECK(rax_find(&t.arena, &r, NULL, 0, NULL));
		CHECK(rax_remove(&t.arena, &r, "xabcz", 5, NULL));
		CHECK_STR(shape(&t, &r), "([])");
		put(&t, &r, "q\"\x01", 8);
		CHECK_STR(shape(&t, &r), "(\"q\\x22\\x01\")->()");

		/* text that does not fit is cut, its length told */
		CHECK_EQ(rax_shape(&t.arena, &r, small, sizeof(small)), 17);
		CHECK_STR(small, "(\"q\\");
		CHECK(rax_remove(&t.arena, &r, "q\"\x01", 3, NULL));
		CHECK(rax_remove(&t.arena, &r, "", 0, NULL));
		CHECK_EQ(r.root, 0);
		check_empty(&t);
	}
	twin_close(&t);
}

/* Without lack of memory, and with keys that fit one run, the shape depends
 * on the keys only, not on the way there. */
static void
test_shape_canonical(void)
{
	static char a_text[1 << 20];
	static char b_text[1 << 20];
	static const KeyKind kinds[] = {KEY_SHORT, KEY_PREFIXES, KEY_CHAINS, KEY_BYTES, KEY_IDS, KEY_IDS_RANDOM};
	Twin		t;

	twin_open(&t, 8 << 20);
	for (int round = 0; round < unit_scale(300); round++)
	{
		KeyKind		kind = kinds[round % 6];
		Rax			r = {0},
					fresh = {0};
		Model		m = {0};

		for (uint64_t n = unit_below(unit_one_in(4) ? 400 : 40); n > 0; n--)
			one_step(&t, &r, &m, kind, unit_one_in(2), ARENA_NORMAL);
		for (size_t i = 0; i < m.count; i++)
			CHECK_EQ(rax_insert(&t.arena, &fresh, m.item[i]->key, m.item[i]->len,
								m.item[i]->value, NULL, ARENA_NORMAL), ENG_OK);
		CHECK(rax_shape(&t.arena, &r, a_text, sizeof(a_text)) < sizeof(a_text));
		CHECK(rax_shape(&t.arena, &fresh, b_text, sizeof(b_text)) < sizeof(b_text));
		CHECK_STR(a_text, b_text);
		CHECK_EQ(r.nnodes, fresh.nnodes);
		rax_clear(&t.arena, &r, NULL, NULL);
		rax_clear(&t.arena, &fresh, NULL, NULL);
		model_free(&m);
	}
	check_empty(&t);
	twin_close(&t);
}

/* --- clear, limits --- */

static void
add_up(void *arg, uint64_t value)
{
	*(uint64_t *) arg += value;
}

static void
test_clear_and_limits(void)
{
	Twin		t;
	Rax			r = {0};
	uint8_t		key[RAX_KEY_MAX + 1];
	uint64_t	sum = 0,
				want = 0;

	twin_open(&t, 4 << 20);
	for (uint64_t i = 0; i < 1000; i++)
	{
		size_t		len = make_key((KeyKind) unit_below(KEY_KINDS), key);

		uint64_t	old = 0;
		EngStatus	res = rax_insert(&t.arena, &r, key, len, i, &old, ARENA_NORMAL);

		CHECK(res == ENG_OK || res == ENG_EXISTS);
		want += i - old;
		if (i % 100 == 0)
			twin_flip(&t);
	}
	CHECK_SOUND(rax_check(&t.arena, &r));
	rax_clear(&t.arena, &r, add_up, &sum);
	CHECK_EQ(sum, want);
	CHECK_EQ(r.root, 0);
	CHECK_EQ(r.nkeys, 0);
	check_empty(&t);

	/* the longest key, and one that is too long */
	memset(key, 0xFF, sizeof(key));
	CHECK_EQ(rax_insert(&t.arena, &r, key, sizeof(key), 1, NULL, ARENA_NORMAL), ENG_TOOBIG);
	CHECK_EQ(r.root, 0);
	for (size_t len = 0; len <= RAX_KEY_MAX; len++)
		CHECK_EQ(rax_insert(&t.arena, &r, key, len, len, NULL, ARENA_NORMAL), ENG_OK);
	CHECK_SOUND(rax_check(&t.arena, &r));
	for (size_t len = 0; len <= RAX_KEY_MAX; len++)
		if (len % 5 != 0)
			CHECK(rax_remove(&t.arena, &r, key, len, NULL));
	CHECK_SOUND(rax_check(&t.arena, &r));
	sum = 0;
	rax_clear(&t.arena, &r, add_up, &sum);
	CHECK_EQ(sum, 5 * (204 * 205 / 2));
	check_empty(&t);

	/* a full branch */
	for (int i = 0; i < 256; i++)
	{
		key[0] = (uint8_t) (i * 77);
		CHECK_EQ(rax_insert(&t.arena, &r, key, 1, key[0], NULL, ARENA_NORMAL), ENG_OK);
	}
	CHECK_EQ(r.nnodes, 1);
	CHECK_EQ(rax_insert(&t.arena, &r, key, 0, 256, NULL, ARENA_NORMAL), ENG_OK);
	CHECK_SOUND(rax_check(&t.arena, &r));
	for (int i = 0; i < 256; i++)
	{
		uint64_t	old = 999;

		key[0] = (uint8_t) (i * 13);
		CHECK(rax_remove(&t.arena, &r, key, 1, &old));
		CHECK_EQ(old, key[0]);
		CHECK_SOUND(rax_check(&t.arena, &r));
	}
	CHECK_STR(shape(&t, &r), "([])");
	rax_clear(&t.arena, &r, NULL, NULL);
	check_empty(&t);
	twin_close(&t);
}

/* --- lack of memory --- */

/* Each insert fails at its first, second ... allocation before it succeeds;
 * removing goes on with no memory at all. */
static void
test_no_memory(KeyKind kind)
{
	static char before[1 << 20];
	static char after[1 << 20];
	Twin		t;
	Rax			r = {0};
	Model		m = {0};

	twin_open(&t, 8 << 20);
	for (int i = 0; i < unit_scale(400); i++)
	{
		uint8_t		key[RAX_KEY_MAX];
		size_t		len = make_key(kind, key);
		uint64_t	value = unit_rand();
		EngStatus	st;
		int			fails;
		ArenaStats	used[2];
		bool		there;
		size_t		at = model_at(&m, key, len, &there);

		twin_flip(&t);
		if (there && unit_one_in(2))
		{
			scarce_begin(0, true);
			CHECK(rax_remove(&t.arena, &r, key, len, NULL));
			scarce_end();
			model_remove(&m, at);
			CHECK_SOUND(rax_check(&t.arena, &r));
			continue;
		}
		rax_shape(&t.arena, &r, before, sizeof(before));
		arena_stats(&t.arena, &used[0]);
		for (fails = 0;; fails++)
		{
			Rax			was = r;

			scarce_begin(fails, false);
			st = rax_insert(&t.arena, &r, key, len, value, NULL, ARENA_NORMAL);
			scarce_end();
			if (st != ENG_NOMEM)
				break;
			CHECK_EQ(scarce.asked, fails + 1);
			CHECK(memcmp(&r, &was, sizeof(r)) == 0);
			arena_stats(&t.arena, &used[1]);
			CHECK_EQ(used[0].used, used[1].used);
			rax_shape(&t.arena, &r, after, sizeof(after));
			CHECK_STR(after, before);
			CHECK_SOUND(rax_check(&t.arena, &r));
		}
		CHECK_EQ(st, there ? ENG_EXISTS : ENG_OK);
		CHECK(there ? fails == 0 : fails > 0 || (kind != KEY_IDS && r.nkeys == 1));
		model_insert(&m, key, len, value);
	}
	check_all(&t, &r, &m);
	rax_clear(&t.arena, &r, NULL, NULL);
	check_empty(&t);
	model_free(&m);
	twin_close(&t);
}

/* --- charges --- */

/* Take all memory there is for this use; blocks of all sizes. */
static void
fill_up(Arena *a, ArenaUse use)
{
	for (size_t size = 64 * ARENA_PAGE; size > 0; size = size > ARENA_PAGE ? size / 2 : size - 16)
		while (arena_alloc(a, size, use) != 0)
			;
}

static void
test_charge(KeyKind kind)
{
	for (int round = 0; round < unit_scale(12); round++)
	{
		Twin		t;
		Rax			r = {0};
		Model		m = {0};
		ArenaCharge charge = {{0}, {0}};
		ArenaStats	st;
		uint32_t	n = (uint32_t) unit_between(1, round % 2 == 0 ? 3 : 300);
		size_t		longest = 0;
		uint8_t	   *keys = malloc((size_t) n * RAX_KEY_MAX);
		size_t	   *lens = malloc(n * sizeof(size_t));

		twin_open(&t, 32 << 20);
		for (uint64_t i = unit_below(1500); i > 0; i--)
			one_step(&t, &r, &m, kind, true, ARENA_NORMAL);
		for (uint32_t i = 0; i < n; i++)
		{
			lens[i] = make_key(kind, keys + (size_t) i * RAX_KEY_MAX);
			longest = lens[i] > longest ? lens[i] : longest;
		}

		/* half of them each on a charge note of its own */
		rax_charge(&charge, longest, n / 2);
		for (uint32_t i = n / 2; i < n; i++)
			rax_charge(&charge, longest, 1);
		CHECK(arena_charge(&t.arena, &charge, unit_one_in(2) ? ARENA_NORMAL : ARENA_SHRINK));
		fill_up(&t.arena, ARENA_NORMAL);
		fill_up(&t.arena, ARENA_SHRINK);
		arena_stats(&t.arena, &st);
		CHECK_EQ(st.pages_free, st.pages_charged);

		for (uint32_t i = 0; i < n; i++)
		{
			const uint8_t *key = keys + (size_t) i * RAX_KEY_MAX;
			EngStatus	res = rax_insert(&t.arena, &r, key, lens[i], i, NULL, ARENA_CHARGED);

			CHECK(res == ENG_OK || res == ENG_EXISTS);
			model_insert(&m, key, lens[i], i);

			/* others go on taking what they can get */
			arena_alloc(&t.arena, unit_between(1, 3000), ARENA_NORMAL);
			arena_alloc(&t.arena, unit_between(1, 64), ARENA_SHRINK);
			if (unit_one_in(8))
				twin_flip(&t);
		}
		arena_uncharge(&t.arena, &charge);
		check_all(&t, &r, &m);
		CHECK_SOUND(arena_check(&t.arena));
		arena_stats(&t.arena, &st);
		CHECK_EQ(st.pages_charged, 0);

		/* a full arena can be emptied */
		while (m.count > 0)
		{
			size_t		at = unit_below(m.count);

			CHECK(rax_remove(&t.arena, &r, m.item[at]->key, m.item[at]->len, NULL));
			model_remove(&m, at);
		}
		CHECK_EQ(r.root, 0);
		CHECK_SOUND(arena_check(&t.arena));
		model_free(&m);
		free(keys);
		free(lens);
		twin_close(&t);
	}
}

/* What a stream's index costs. */
static void
test_node_memory(void)
{
	Twin		t;
	Rax			r = {0};
	ArenaStats	st;
	uint8_t		key[16];
	uint64_t	ms = UINT64_C(1526919030474);
	uint32_t	n = 10000;

	twin_open(&t, 4 << 20);
	for (uint32_t i = 0; i < n; i++)
	{
		ms += unit_between(1, 200);
		sid_to_key((StreamId) {ms, 0}, key);
		CHECK_EQ(rax_insert(&t.arena, &r, key, 16, i, NULL, ARENA_NORMAL), ENG_OK);
	}
	arena_stats(&t.arena, &st);
	CHECK_SOUND(rax_check(&t.arena, &r));
	CHECK(st.used / n <= 64);
	if (getenv("VERBOSE") != NULL)
		printf("# %" PRIu64 " bytes, %" PRIu64 " nodes for %u ids\n", st.used, r.nnodes, n);
	rax_clear(&t.arena, &r, NULL, NULL);
	twin_close(&t);
}

int
main(void)
{
	unit_begin("rax");
	test_shapes();
	test_clear_and_limits();
	test_shape_canonical();
	for (int kind = 0; kind < KEY_KINDS; kind++)
	{
		test_model((KeyKind) kind, 16 << 20);
		test_model((KeyKind) kind, arena_size_min());
		test_no_memory((KeyKind) kind);
		test_charge((KeyKind) kind);
	}
	test_node_memory();
	return unit_end();
}
