/*
 * test_pending.c
 *	  Pending records against an array of them: random changes, failing
 *	  allocations, walks, charges, and the bytes that a record takes.
 */
#include "twin.h"
#include "unit.h"
#include "scarce.h"
#include "pending.h"

#define RECORDS_MAX		4000
#define TIMES			1000

typedef struct Model
{
	Twin		t;
	Pending		p;
	PendingRecord r[RECORDS_MAX + PENDING_BATCH];
	size_t		n;

	/* what ids look like */
	uint64_t	ms_step;
	uint64_t	seq_max;
	uint32_t	consumers;
	bool		wide;			/* counts that are wide */
} Model;

static Arena *
A(Model *m)
{
	return &m->t.arena;
}

static void
model_open(Model *m, size_t memory)
{
	static const uint64_t ms_steps[] = {1, 3, 1000, UINT64_C(1) << 31, UINT64_C(1) << 50};

	memset(m, 0, sizeof(*m));
	twin_open(&m->t, memory);
	pending_destroy(A(m), &m->p);	/* an empty one */
	m->ms_step = ms_steps[unit_below(5)];
	m->seq_max = unit_one_in(2) ? UINT64_C(1) << unit_between(4, 20) : UINT64_MAX >> unit_below(40);
	m->consumers = (uint32_t) unit_between(1, 200);
	m->wide = unit_one_in(3);
}

static void
model_close(Model *m)
{
	ArenaStats	st;

	pending_destroy(A(m), &m->p);
	CHECK_SOUND(pending_check(A(m), &m->p));
	arena_stats(A(m), &st);
	CHECK_EQ(st.used, 0);
	CHECK_SOUND(arena_check(A(m)));
	twin_close(&m->t);
}

static size_t
model_at(const Model *m, StreamId id)
{
	size_t		lo = 0;
	size_t		hi = m->n;

	while (lo < hi)
	{
		size_t		mid = (lo + hi) / 2;

		if (sid_cmp(m->r[mid].id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
model_has(const Model *m, StreamId id)
{
	size_t		at = model_at(m, id);

	return at < m->n && sid_cmp(m->r[at].id, id) == 0;
}

static void
model_insert(Model *m, const PendingRecord *r)
{
	size_t		at = model_at(m, r->id);

	memmove(&m->r[at + 1], &m->r[at], (m->n++ - at) * sizeof(*r));
	m->r[at] = *r;
}

static uint64_t
some_count(const Model *m)
{
	switch (unit_below(8))
	{
		case 0:
			return INT64_MAX;
		case 1:
			return m->wide ? (uint64_t) unit_rand() >> 1 : 65534;
		case 2:
			return m->wide ? 65535 : 0;
		default:
			return unit_below(5);
	}
}

static PendingRecord
some_record(Model *m)
{
	PendingRecord r = {.consumer = unit_one_in(4) ? 0 : (uint32_t) unit_between(1, m->consumers)};

	r.id.ms = unit_below(unit_one_in(3) ? 4 : 2000) * m->ms_step;
	r.id.seq = unit_one_in(2) ? unit_below(20) : unit_rand() % m->seq_max;
	r.time = unit_one_in(50) ? (UINT64_C(1) << 48) - 1 : unit_below(TIMES);
	r.count = some_count(m);
	return r;
}

/* An id in or near the list. */
static StreamId
some_id(Model *m)
{
	StreamId	id = some_record(m).id;

	if (m->n > 0 && !unit_one_in(5))
		id = m->r[unit_below(m->n)].id;
	if (unit_one_in(5))
		sid_next(&id);
	if (unit_one_in(20))
		id = unit_one_in(2) ? STREAMID_MIN : STREAMID_MAX;
	return id;
}

static bool
same(const PendingRecord *x, const PendingRecord *y)
{
	return sid_cmp(x->id, y->id) == 0 && x->consumer == y->consumer && x->time == y->time &&
		x->count == y->count;
}

/* --- comparing --- */

static bool
lets_through(const PendingFilter *f, const PendingRecord *r)
{
	return r->consumer == 0 ? f->released && r->time <= f->released_upto :
		f->owned && r->time <= f->owned_upto && (f->consumer == 0 || f->consumer == r->consumer);
}

static void
check_walk(Model *m, const PendingFilter *f, StreamId from)
{
	PendingWalk w;
	PendingRecord r;

	pending_walk(&w, A(m), &m->p, f, from);
	for (size_t i = model_at(m, from); i < m->n; i++)
		if (lets_through(f, &m->r[i]))
			CHECK(pending_walk_next(&w, &r) && same(&r, &m->r[i]));
	CHECK(!pending_walk_next(&w, &r));
	CHECK(!pending_walk_next(&w, &r));
}

static void
check_reads(Model *m)
{
	PendingFilter f = {.consumer = unit_one_in(2) ? 0 : (uint32_t) unit_between(1, m->consumers),
		.owned = !unit_one_in(3), .released = unit_one_in(2),
	.owned_upto = unit_below(TIMES), .released_upto = unit_one_in(2) ? UINT64_MAX : unit_below(TIMES)};
	StreamId	id = some_id(m);
	StreamId	hi = some_id(m);
	size_t		at = model_at(m, id);
	PendingRecord r;

	/* just as old as one, and perhaps the oldest */
	if (m->n > 0 && unit_one_in(2))
	{
		if (unit_one_in(2))
			pending_tighten(A(m), &m->p);
		f.owned_upto = unit_one_in(2) ? m->p.oldest_owned : m->r[unit_below(m->n)].time;
		f.released_upto = unit_one_in(2) ? m->p.oldest_released : m->r[unit_below(m->n)].time;
	}
	if (CHECK_EQ(pending_get(A(m), &m->p, id, &r), model_has(m, id)) && model_has(m, id))
		CHECK(same(&r, &m->r[at]));
	if (CHECK_EQ(pending_min(A(m), &m->p, &r), m->n > 0) && m->n > 0)
		CHECK(same(&r, &m->r[0]));
	if (CHECK_EQ(pending_max(A(m), &m->p, &r), m->n > 0) && m->n > 0)
		CHECK(same(&r, &m->r[m->n - 1]));
	CHECK_EQ(pending_any(A(m), &m->p, id, hi), at < m->n && sid_cmp(m->r[at].id, hi) <= 0);
	check_walk(m, &f, id);
}

static void
check(Model *m)
{
	PendingFilter all = {.owned = true, .released = true, .owned_upto = UINT64_MAX, .released_upto = UINT64_MAX};
	uint64_t	released = 0;

	CHECK_SOUND(pending_check(A(m), &m->p));
	for (size_t i = 0; i < m->n; i++)
		released += m->r[i].consumer == 0;
	CHECK_EQ(m->p.n, m->n);
	CHECK_EQ(m->p.released, released);
	check_walk(m, &all, STREAMID_MIN);
}

static void
check_tighten(Model *m)
{
	uint64_t	oldest[2] = {UINT64_MAX, UINT64_MAX};

	for (size_t i = 0; i < m->n; i++)
		if (m->r[i].time < oldest[m->r[i].consumer == 0])
			oldest[m->r[i].consumer == 0] = m->r[i].time;
	CHECK(m->p.oldest_owned <= oldest[0]);
	CHECK(m->p.oldest_released <= oldest[1]);
	pending_tighten(A(m), &m->p);
	CHECK_EQ(m->p.oldest_owned, oldest[0]);
	CHECK_EQ(m->p.oldest_released, oldest[1]);
	for (int released = 0; m->n > 0 && released < 2; released++)
	{
		uint64_t	after = m->r[unit_below(m->n)].time;
		uint64_t	next = UINT64_MAX;

		for (size_t i = 0; i < m->n; i++)
			if ((m->r[i].consumer == 0) == released && m->r[i].time > after && m->r[i].time < next)
				next = m->r[i].time;
		CHECK_EQ(pending_next_time(A(m), &m->p, released, after), next);
	}
	CHECK_SOUND(pending_check(A(m), &m->p));
}

/* --- changes --- */

static int
by_id(const void *x, const void *y)
{
	return sid_cmp(((const PendingRecord *) x)->id, ((const PendingRecord *) y)->id);
}

/* A batch of records that are not there, in order. */
static size_t
make_batch(Model *m, PendingRecord *r, size_t most)
{
	size_t		n = 0;
	StreamId	id = some_record(m).id;
	bool		close = !unit_one_in(3);

	if (m->n > 0 && unit_one_in(3))
		id = m->r[m->n - 1].id;
	for (size_t i = 0; i < most; i++)
	{
		r[n] = some_record(m);
		if (close)
		{
			/* one after the other, from some place on */
			if (unit_one_in(2))
				id.seq += unit_between(1, 3);
			else
				id = (StreamId) {id.ms + m->ms_step, unit_below(3)};
			r[n].id = id;
		}
		if (!model_has(m, r[n].id))
			n++;
	}
	qsort(r, n, sizeof(*r), by_id);
	most = n;
	n = most > 0;
	for (size_t i = 1; i < most; i++)
		if (sid_cmp(r[i].id, r[n - 1].id) != 0)
			r[n++] = r[i];
	/* no more others in between than may be */
	while (n > 1 && model_at(m, r[n - 1].id) - model_at(m, r[0].id) > PENDING_BATCH)
		n--;
	return n;
}

static void
insert_some(Model *m)
{
	PendingRecord r[PENDING_BATCH];
	size_t		n = make_batch(m, r, unit_one_in(3) ? 1 : unit_between(1, PENDING_BATCH));
	Pending		before = m->p;
	EngStatus	st = ENG_OK;
	bool		rest;

	if (m->n + n > RECORDS_MAX)
		return;
	rest = unit_one_in(2);
	for (int at = 0; at < 50; at++)
	{
		if (!unit_one_in(4))
			scarce_begin(at, rest);
		st = pending_insert(A(m), &m->p, r, n, ARENA_SHRINK);
		scarce_end();
		if (st != ENG_NOMEM)
			break;
		CHECK_EQ(before.n, m->p.n);
		CHECK_EQ(before.blocks.nkeys, m->p.blocks.nkeys);
		if (unit_one_in(4))
			check(m);
	}
	CHECK_EQ(st, ENG_OK);
	for (size_t i = 0; i < n; i++)
		model_insert(m, &r[i]);
}

static void
set_one(Model *m)
{
	PendingRecord r = some_record(m);
	EngStatus	st;

	r.id = some_id(m);
	scarce_begin(0, true);
	st = pending_set(A(m), &m->p, &r, ARENA_SHRINK);
	scarce_end();
	if (!model_has(m, r.id))
	{
		CHECK_EQ(st, ENG_NOTFOUND);
		return;
	}
	if (st == ENG_NOMEM)
	{
		CHECK(pending_count_is_wide(r.count));
		CHECK_SOUND(pending_check(A(m), &m->p));
		CHECK_EQ(pending_set(A(m), &m->p, &r, ARENA_NORMAL), ENG_OK);
	}
	m->r[model_at(m, r.id)] = r;
}

/* Removing asks for nothing. */
static void
remove_some(Model *m)
{
	size_t		n = unit_one_in(4) ? unit_below(300) : unit_below(20);
	StreamId	id = some_id(m);
	PendingRecord old;

	if (unit_one_in(2))
		scarce_begin(0, true);
	for (bool scattered = unit_one_in(2); n > 0; n--)
	{
		size_t		at;

		if (scattered)
			id = some_id(m);
		at = model_at(m, id);
		if (at < m->n && !unit_one_in(20))
			id = m->r[at].id;
		if (CHECK_EQ(pending_remove(A(m), &m->p, id, &old), model_has(m, id)) && model_has(m, id))
		{
			CHECK(same(&old, &m->r[at]));
			memmove(&m->r[at], &m->r[at + 1], (--m->n - at) * sizeof(old));
		}
	}
	scarce_end();
}

static void
test_random(void)
{
	static Model m;

	model_open(&m, (size_t) 8 << 20);
	for (int i = 0; i < 400; i++)
	{
		switch (unit_below(4))
		{
			case 0:
				insert_some(&m);
				break;
			case 1:
				for (int k = (int) unit_below(30); k > 0; k--)
					set_one(&m);
				break;
			case 2:
				remove_some(&m);
				break;
			default:
				check_reads(&m);
				break;
		}
		if (unit_one_in(10))
			check(&m);
		if (unit_one_in(30))
			check_tighten(&m);
		if (unit_one_in(20))
			twin_flip(&m.t);
	}
	check(&m);
	check_tighten(&m);
	model_close(&m);
}

/* --- charges --- */

/* With nothing left in the arena but the charge nothing fails, whatever was
 * there before. */
static void
test_charge(void)
{
	static Model m;

	model_open(&m, (size_t) 6 << 20);
	for (int i = 0; i < 30; i++)
	{
		PendingRecord r[PENDING_BATCH];
		size_t		n = make_batch(&m, r, unit_between(1, PENDING_BATCH));
		bool		single = unit_one_in(3);
		ArenaCharge charge = {0};
		EngHandle	ballast;
		size_t		others;

		if (m.n + n > RECORDS_MAX)
			break;
		if (single && n > 20)
			n = 20;
		others = n > 0 ? model_at(&m, r[n - 1].id) - model_at(&m, r[0].id) : 0;
		while (!single && n + others > PENDING_BATCH)
		{
			n--;
			others = n > 0 ? model_at(&m, r[n - 1].id) - model_at(&m, r[0].id) : 0;
		}
		if (single)
			pending_charge_single(&charge, (uint32_t) n);
		else
			pending_charge(&charge, (uint32_t) (n + others));
		pending_charge_wide(&charge, 3);
		CHECK(arena_charge(A(&m), &charge, ARENA_NORMAL));
		ballast = scarce_fill(A(&m));
		if (unit_one_in(2))
			remove_some(&m);
		for (size_t k = 0; single && k < n; k++)
			CHECK_EQ(pending_insert(A(&m), &m.p, &r[k], 1, ARENA_CHARGED), ENG_OK);
		if (!single)
			CHECK_EQ(pending_insert(A(&m), &m.p, r, n, ARENA_CHARGED), ENG_OK);
		for (size_t k = 0; k < n; k++)
			model_insert(&m, &r[k]);
		for (int k = 0; k < 3 && m.n > 0; k++)
		{
			PendingRecord *x = &m.r[unit_below(m.n)];

			x->count = 70000;
			CHECK_EQ(pending_set(A(&m), &m.p, x, ARENA_CHARGED), ENG_OK);
		}
		arena_uncharge(A(&m), &charge);
		scarce_unfill(A(&m), ballast);
		check(&m);
		if (unit_one_in(3))
			insert_some(&m);
	}
	model_close(&m);
}

/* --- bytes --- */

#define MILLION		1000000u
#define FEWER		100000u

static uint64_t
used(Model *m)
{
	ArenaStats	st;

	arena_stats(A(m), &st);
	return st.used;
}

static StreamId
nth_id(uint32_t i, bool one_ms)
{
	return one_ms ? (StreamId) {UINT64_C(1700000000000), i} : (StreamId) {UINT64_C(1700000000000) + i, 0};
}

static void
deliver(Model *m, uint32_t n, bool one_ms)
{
	for (uint32_t i = 0; i < n; i += 100)
	{
		PendingRecord r[100];

		for (uint32_t j = 0; j < 100; j++)
			r[j] = (PendingRecord) {nth_id(i + j, one_ms), (uint32_t) unit_between(1, 10),
				UINT64_C(1700000000000) + i, 1};
		CHECK_EQ(pending_insert(A(m), &m->p, r, 100, ARENA_NORMAL), ENG_OK);
	}
	CHECK_EQ(m->p.n, n);
}

static void
check_bytes(Model *m, uint64_t most, const char *what)
{
	/* a block or two are not a matter of the rate */
	if (!CHECK(used(m) <= m->p.n * most + 4096))
		printf("# %s: %" PRIu64 " records take %.1f bytes each\n", what, m->p.n, (double) used(m) / (double) m->p.n);
	if (getenv("VERBOSE") != NULL)
		printf("# %s: %" PRIu64 " records take %.1f bytes each\n", what, m->p.n, (double) used(m) / (double) m->p.n);
}

static void
test_bytes(bool one_ms)
{
	static Model m;
	PendingRecord old;

	model_open(&m, (size_t) 64 << 20);
	deliver(&m, MILLION, one_ms);
	check_bytes(&m, 24, "delivered");
	CHECK_SOUND(pending_check(A(&m), &m.p));

	pending_destroy(A(&m), &m.p);

	/* all but every k-th, for ever greater k */
	deliver(&m, FEWER, one_ms);
	for (uint32_t k = 2; k <= 1024; k *= 2)
	{
		for (uint32_t i = 0; i < FEWER; i += k / 2)
			if (i % k != 0)
				(void) pending_remove(A(&m), &m.p, nth_id(i, one_ms), &old);
		check_bytes(&m, 48, "all but every k-th of each");
	}
	CHECK_SOUND(pending_check(A(&m), &m.p));
	pending_destroy(A(&m), &m.p);

	for (uint32_t k = 3; k < 100; k += 2 * k / 3)
	{
		deliver(&m, FEWER / 4, one_ms);
		for (uint32_t i = 0; i < FEWER / 4; i++)
			if (i % k != 0)
				(void) pending_remove(A(&m), &m.p, nth_id(i, one_ms), &old);
		check_bytes(&m, 48, "all but every k-th");
		pending_destroy(A(&m), &m.p);
	}

	/* of each block so many, some of which are just too many for two to be joined */
	for (uint32_t keep = 30; keep < 60; keep++)
	{
		deliver(&m, FEWER / 10, one_ms);
		for (uint32_t i = 0; i < FEWER / 10; i++)
			if (i % 99 >= keep)
				(void) pending_remove(A(&m), &m.p, nth_id(i, one_ms), &old);
		check_bytes(&m, 48, "the first of each block");
		pending_destroy(A(&m), &m.p);
	}

	/* at random, down to little */
	deliver(&m, FEWER, one_ms);
	for (uint64_t left = FEWER * 9 / 10; left > 1000; left = left * 7 / 10)
	{
		while (m.p.n > left)
			(void) pending_remove(A(&m), &m.p, nth_id((uint32_t) unit_below(FEWER), one_ms), &old);
		check_bytes(&m, 48, "left at random");
	}
	CHECK_SOUND(pending_check(A(&m), &m.p));
	pending_destroy(A(&m), &m.p);

	/* a small list takes little */
	for (uint32_t i = 0; i < 3; i++)
	{
		PendingRecord r = {nth_id(i, one_ms), 1, 1, 1};

		CHECK_EQ(pending_insert(A(&m), &m.p, &r, 1, ARENA_NORMAL), ENG_OK);
	}
	CHECK(used(&m) <= 256);
	model_close(&m);
}

/* Records come one by one from the highest down, and in between. */
static void
test_orders(void)
{
	static Model m;

	model_open(&m, (size_t) 16 << 20);
	for (uint32_t i = 20000; i > 0; i--)
	{
		PendingRecord r = {nth_id(2 * i, false), 1, 1, 1};

		CHECK_EQ(pending_insert(A(&m), &m.p, &r, 1, ARENA_NORMAL), ENG_OK);
	}
	check_bytes(&m, 48, "from above");
	for (uint32_t i = 20000; i > 0; i--)
	{
		PendingRecord r = {nth_id((uint32_t) (UINT64_C(2) * (i * UINT64_C(7919) % 20000) + 1), false), 1, 1, 1};

		CHECK_EQ(pending_insert(A(&m), &m.p, &r, 1, ARENA_NORMAL), ENG_OK);
	}
	check_bytes(&m, 48, "in between");
	CHECK_SOUND(pending_check(A(&m), &m.p));
	model_close(&m);
}

int
main(void)
{
	unit_begin("pending");
	for (int i = unit_scale(15); i > 0; i--)
	{
		test_random();
		test_charge();
	}
	test_bytes(false);
	test_bytes(true);
	test_orders();
	return unit_end();
}
