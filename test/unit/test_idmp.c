/*
 * test_idmp.c
 *	  Idempotent producers against a naive model: a list of pairs in the order
 *	  of adding.  A failure at every allocation changes nothing, what was
 *	  charged never fails, however full the arena is, and forgetting gives all
 *	  memory back.
 */
#include "twin.h"
#include "unit.h"
#include "scarce.h"

#include "stream.h"

typedef struct Known
{
	IdmpKey		key;
	StreamId	id;
} Known;

typedef struct Model
{
	Twin		t;
	Idmp		d;
	Known	   *item;			/* oldest first */
	size_t		count;
	size_t		cap;
	uint64_t	added;
	unsigned	producers;		/* how many there are to choose from */
	unsigned	iids;
	bool		alike;			/* digests that differ in their last bits only */
} Model;

static Arena *
A(Model *m)
{
	return &m->t.arena;
}

static void
model_open(Model *m, size_t bytes)
{
	memset(m, 0, sizeof(*m));
	twin_open(&m->t, bytes);
	idmp_init(&m->d);
	m->producers = (unsigned) unit_between(1, 20);
	m->iids = (unsigned) unit_between(1, 400);
	m->alike = unit_one_in(3);
}

static void
model_close(Model *m)
{
	ArenaStats	st;

	idmp_clear(A(m), &m->d);
	CHECK_SOUND(idmp_check(A(m), &m->d));
	CHECK_EQ(m->d.npairs, 0);
	arena_stats(A(m), &st);
	CHECK_EQ(st.used, 0);
	CHECK_SOUND(arena_check(A(m)));
	free(m->item);
	twin_close(&m->t);
}

static void
digest(Model *m, uint8_t *out, uint64_t n)
{
	if (m->alike)
		memset(out, 0xA5, IDMP_DIGEST);
	else
		for (int i = 0; i < IDMP_DIGEST; i++)
		{
			/* scattered, but the same for the same n */
			uint64_t	z = (n * IDMP_DIGEST + (uint64_t) i) * UINT64_C(0x9E3779B97F4A7C15);

			out[i] = (uint8_t) (z >> 56 ^ z >> 24);
		}
	out[IDMP_DIGEST - 2] = (uint8_t) (n >> 8);
	out[IDMP_DIGEST - 1] = (uint8_t) n;
}

static IdmpKey
some_key(Model *m)
{
	IdmpKey		key;

	digest(m, key.producer, unit_below(m->producers));
	digest(m, key.iid, unit_below(m->iids));
	return key;
}

static size_t
model_find(Model *m, const IdmpKey *key)
{
	size_t		i = 0;

	while (i < m->count && memcmp(&m->item[i].key, key, sizeof(IdmpKey)) != 0)
		i++;
	return i;
}

static void
model_drop(Model *m, size_t i)
{
	memmove(&m->item[i], &m->item[i + 1], (--m->count - i) * sizeof(Known));
}

static void
model_add(Model *m, const IdmpKey *key, StreamId id)
{
	size_t		at = model_find(m, key);
	size_t		same = 0;

	if (at < m->count)
	{
		if (sid_cmp(m->item[at].id, id) == 0)
			return;
		model_drop(m, at);
	}
	if (m->count == m->cap)
	{
		m->cap = m->cap ? 2 * m->cap : 64;
		m->item = realloc(m->item, m->cap * sizeof(Known));
	}
	m->item[m->count++] = (Known) {*key, id};
	m->added++;
	while (idmp_expired(m->d.duration, m->item[0].id, id.ms))
		model_drop(m, 0);
	for (size_t i = 0; i < m->count; i++)
		same += memcmp(m->item[i].key.producer, key->producer, IDMP_DIGEST) == 0;
	for (size_t i = 0; i < m->count && same > m->d.maxsize;)
		if (memcmp(m->item[i].key.producer, key->producer, IDMP_DIGEST) == 0)
		{
			model_drop(m, i);
			same--;
		}
		else
			i++;
}

typedef struct Walk
{
	Model	   *m;
	size_t		at;
} Walk;

static bool
same_as_model(void *arg, const IdmpKey *key, StreamId id)
{
	Walk	   *w = arg;

	CHECK(w->at < w->m->count);
	CHECK_MEM(key, &w->m->item[w->at].key, sizeof(IdmpKey));
	CHECK(sid_cmp(id, w->m->item[w->at].id) == 0);
	w->at++;
	return true;
}

static void
check(Model *m)
{
	Walk		w = {m, 0};

	CHECK_SOUND(idmp_check(A(m), &m->d));
	CHECK_EQ(m->d.npairs, m->count);
	CHECK_EQ(m->d.added, m->added);
	idmp_each(A(m), &m->d, same_as_model, &w);
	CHECK_EQ(w.at, m->count);
}

static void
check_find(Model *m)
{
	IdmpKey		key = some_key(m);
	size_t		at = model_find(m, &key);
	StreamId	id;

	CHECK_EQ(idmp_find(A(m), &m->d, &key, &id), at < m->count);
	if (at < m->count)
		CHECK(sid_cmp(id, m->item[at].id) == 0);
}

/* Ids mostly rise, now and then by much, and sometimes come late. */
static StreamId
some_id(uint64_t *ms)
{
	*ms += unit_one_in(50) ? unit_below(40000) : unit_below(300);
	return (StreamId) {unit_one_in(10) ? *ms - unit_below(*ms < 5000 ? *ms : 5000) : *ms, unit_rand()};
}

static void
test_random(void)
{
	Model		m;
	uint64_t	ms = 1;

	model_open(&m, (size_t) 4 << 20);
	if (unit_one_in(2))
		idmp_configure(A(&m), &m.d, (uint32_t) unit_between(1, 100), (uint32_t) unit_between(1, 50));
	for (int i = 0; i < 3000; i++)
	{
		IdmpKey		key = some_key(&m);
		StreamId	id = some_id(&ms);
		size_t		at = model_find(&m, &key);
		bool		same = at < m.count && unit_one_in(2);

		if (same)
			id = m.item[at].id;
		CHECK_EQ(idmp_add(A(&m), &m.d, &key, id, ARENA_NORMAL), same ? ENG_EXISTS : ENG_OK);
		model_add(&m, &key, id);
		check_find(&m);
		if (unit_one_in(100))
		{
			check(&m);
			twin_flip(&m.t);
		}
		if (unit_one_in(1000))
		{
			/* the same limits keep the pairs, others forget them */
			idmp_configure(A(&m), &m.d, m.d.duration, m.d.maxsize);
			CHECK_EQ(m.d.npairs, m.count);
			idmp_configure(A(&m), &m.d, m.d.duration % 100 + 1, m.d.maxsize);
			m.count = 0;
		}
	}
	check(&m);
	model_close(&m);
}

/* --- memory --- */

static void
test_failures(void)
{
	Model		m;
	uint64_t	ms = 1;
	int			failures = 0;

	model_open(&m, (size_t) 4 << 20);
	for (int i = 0; i < 300; i++)
	{
		IdmpKey		key = some_key(&m);
		StreamId	id = some_id(&ms);
		EngStatus	st;

		for (int at = 0;; at++)
		{
			Idmp		before = m.d;

			scarce_begin(at, false);
			st = idmp_add(A(&m), &m.d, &key, id, ARENA_NORMAL);
			scarce_end();
			if (st != ENG_NOMEM)
				break;
			failures++;
			CHECK(memcmp(&before, &m.d, sizeof(Idmp)) == 0);
			check(&m);
		}
		CHECK_EQ(st, ENG_OK);
		model_add(&m, &key, id);
		check(&m);
	}
	CHECK(failures > 0);
	model_close(&m);
}

static void
test_charge(void)
{
	Model		m;
	uint64_t	ms = 1;
	bool		full_seen = false;

	model_open(&m, (size_t) 2 << 20);
	m.iids = 60000;
	m.producers = (unsigned) unit_between(1, 3000);
	for (int i = 0; i < 20; i++)
	{
		uint32_t	n = (uint32_t) unit_between(1, 300);
		ArenaCharge charge = {0};
		EngHandle	ballast;
		StreamId	found;

		idmp_charge(&charge, n);
		CHECK(arena_charge(A(&m), &charge, ARENA_NORMAL));
		ballast = scarce_fill(A(&m));
		for (uint32_t k = 0; k < n; k++)
		{
			IdmpKey		key = some_key(&m);
			StreamId	id = some_id(&ms);

			if (!full_seen && !idmp_find(A(&m), &m.d, &key, &found))
			{
				CHECK_EQ(idmp_add(A(&m), &m.d, &key, id, ARENA_NORMAL), ENG_NOMEM);
				full_seen = true;
			}
			CHECK(idmp_add(A(&m), &m.d, &key, id, ARENA_CHARGED) != ENG_NOMEM);
			model_add(&m, &key, id);
		}
		check(&m);
		arena_uncharge(A(&m), &charge);
		scarce_unfill(A(&m), ballast);
		twin_flip(&m.t);
	}
	CHECK(full_seen);
	model_close(&m);
}

/* --- as part of a stream --- */

static void
test_header(void)
{
	Twin		t;
	Stream		s;
	StreamHeader h;
	IdmpKey		key = {{1}, {2}};
	StreamId	id;

	twin_open(&t, (size_t) 2 << 20);
	stream_init(&s, 100, 10);
	stream_get_header(&s, &h);
	CHECK(stream_header_valid(&h));
	CHECK_EQ(h.idmp_duration, IDMP_DURATION_DEFAULT);
	CHECK_EQ(h.idmp_maxsize, IDMP_MAXSIZE_DEFAULT);
	CHECK_EQ(stream_add_pair(&t.arena, &s, &key, (StreamId) {5, 1}, ARENA_NORMAL), ENG_OK);
	CHECK_EQ(stream_add_pair(&t.arena, &s, &key, (StreamId) {5, 1}, ARENA_NORMAL), ENG_EXISTS);

	h.last_id = (StreamId) {9, 9};
	h.entries_added = 7;
	h.max_deleted_id = (StreamId) {9, 9};
	h.node_max_bytes = 200;
	stream_set_header(&t.arena, &s, &h);
	CHECK_SOUND(stream_check(&t.arena, &s));
	CHECK(idmp_find(&t.arena, &s.idmp, &key, &id) && id.ms == 5 && id.seq == 1);
	CHECK_EQ(s.last_id.seq, 9);
	CHECK_EQ(s.entries_added, 7);
	CHECK_EQ(s.node_max_bytes, 200);
	h.idmp_maxsize = 99;
	stream_set_header(&t.arena, &s, &h);
	CHECK(!idmp_find(&t.arena, &s.idmp, &key, &id));
	CHECK_EQ(s.idmp.added, 1);

	{
		StreamHeader bad[] = {h, h, h, h, h, h};

		bad[0].node_max_bytes = NODE_BYTES_MAX + 1;
		bad[1].node_max_entries = 0;
		bad[2].idmp_duration = IDMP_DURATION_MAX + 1;
		bad[3].idmp_maxsize = 0;
		bad[4].entries_added = UINT64_MAX;
		bad[5].max_deleted_id = STREAMID_MAX;
		for (int i = 0; i < 6; i++)
			CHECK(!stream_header_valid(&bad[i]));
	}
	CHECK_EQ(stream_add_pair(&t.arena, &s, &key, (StreamId) {9, 10}, ARENA_NORMAL), ENG_OK);
	stream_destroy(&t.arena, &s);
	{
		ArenaStats	st;

		arena_stats(&t.arena, &st);
		CHECK_EQ(st.used, 0);
	}
	twin_close(&t);
}

int
main(void)
{
	unit_begin("idmp");
	test_header();
	for (int i = unit_scale(6); i > 0; i--)
	{
		test_random();
		test_failures();
		test_charge();
	}
	return unit_end();
}
