/*
 * test_idset.c
 *	  Sets of ids against an array that says of each id whether it is in.
 *
 * The ids are those around 0-0, around a change of ms, and around the greatest
 * one.  Ranges begin and end within these groups, never at a group's edge, so
 * what lies between two groups is in the set if their edges are.
 */
#include "twin.h"
#include "unit.h"
#include "scarce.h"
#include "idset.h"

#define GROUP_IDS	40
#define NIDS		(3 * GROUP_IDS)

typedef struct Model
{
	Twin		t;
	IdSet		s;
	bool		in[NIDS];
} Model;

static StreamId id_of[NIDS];

static Arena *
A(Model *m)
{
	return &m->t.arena;
}

static void
make_ids(void)
{
	StreamId	from[] = {STREAMID_MIN, {5, UINT64_MAX - GROUP_IDS / 2}, {UINT64_MAX, UINT64_MAX - GROUP_IDS + 1}};

	for (int i = 0; i < NIDS; i++)
	{
		id_of[i] = i % GROUP_IDS == 0 ? from[i / GROUP_IDS] : id_of[i - 1];
		if (i % GROUP_IDS > 0)
			sid_next(&id_of[i]);
	}
}

/* An id that may begin or end a range. */
static int
some_place(void)
{
	int			i;

	do
		i = (int) unit_below(NIDS);
	while (i != 0 && i != NIDS - 1 && (i % GROUP_IDS == 0 || i % GROUP_IDS == GROUP_IDS - 1));
	return i;
}

/* The members from place i on that are one range; false: there are none. */
static bool
model_next(const Model *m, int i, int *lo, int *hi)
{
	while (i < NIDS && !m->in[i])
		i++;
	*lo = i;
	while (i < NIDS && m->in[i])
		i++;
	*hi = i - 1;
	return *lo < NIDS;
}

static void
check_next(Model *m, int i)
{
	StreamId	lo;
	StreamId	hi;
	int			want_lo;
	int			want_hi;

	if (CHECK_EQ(idset_next(A(m), &m->s, id_of[i], &lo, &hi), model_next(m, i, &want_lo, &want_hi)) &&
		want_lo < NIDS)
	{
		CHECK(sid_cmp(lo, id_of[want_lo]) == 0);
		CHECK(sid_cmp(hi, id_of[want_hi]) == 0);
	}
}

static void
check(Model *m)
{
	CHECK_SOUND(idset_check(A(m), &m->s));
	for (int i = 0; i < NIDS; i++)
	{
		CHECK_EQ(idset_has(A(m), &m->s, id_of[i]), m->in[i]);
		if (i == 0 || i % GROUP_IDS != 0 || m->in[i] || !m->in[i - 1])
			check_next(m, i);
	}
}

static void
model_set(Model *m, int lo, int hi, bool in)
{
	for (int i = lo; i <= hi; i++)
		m->in[i] = in;
}

static void
check_drop(Model *m, int i)
{
	StreamId	lo;
	StreamId	hi;
	int			from = i;
	int			to = i;

	while (from > 0 && m->in[i] && m->in[from - 1])
		from--;
	while (to < NIDS - 1 && m->in[i] && m->in[to + 1])
		to++;
	if (CHECK_EQ(idset_range(A(m), &m->s, id_of[i], &lo, &hi), m->in[i]) && m->in[i])
	{
		CHECK(sid_cmp(lo, id_of[from]) == 0);
		CHECK(sid_cmp(hi, id_of[to]) == 0);
	}
	idset_drop(A(m), &m->s, id_of[i]);
	if (m->in[i])
		model_set(m, from, to, false);
}

/* Add or remove, after it failed with no memory in every way there is. */
static int
change_at_last(Model *m, int lo, int hi, bool in)
{
	EngStatus	st;
	int			at;

	for (at = 0;; at++)
	{
		scarce_begin(at, false);
		st = (in ? idset_add : idset_remove) (A(m), &m->s, id_of[lo], id_of[hi], ARENA_NORMAL);
		scarce_end();
		if (st != ENG_NOMEM)
			break;
		check(m);
	}
	CHECK_EQ(st, ENG_OK);
	model_set(m, lo, hi, in);
	return at;
}

static void
test_random(void)
{
	Model		m;
	ArenaStats	st;
	uint64_t	failures = 0;

	memset(&m, 0, sizeof(m));
	twin_open(&m.t, (size_t) 2 << 20);
	for (int i = 0; i < 400; i++)
	{
		int			lo = some_place();
		int			hi = unit_one_in(3) ? lo : some_place();

		if (lo > hi)
		{
			int			x = lo;

			lo = hi;
			hi = x;
		}
		if (unit_one_in(8))
			check_drop(&m, lo);
		else
			failures += (uint64_t) change_at_last(&m, lo, hi, unit_one_in(2));
		/* a range of nothing */
		CHECK_EQ(idset_add(A(&m), &m.s, id_of[5], id_of[4], ARENA_NORMAL), ENG_OK);
		check(&m);
		if (unit_one_in(10))
			twin_flip(&m.t);
	}
	CHECK(failures > 0);
	idset_clear(A(&m), &m.s);
	arena_stats(A(&m), &st);
	CHECK_EQ(st.used, 0);
	twin_close(&m.t);
}

/* With nothing left in the arena but the charge, nothing fails. */
static void
test_charge(void)
{
	Model		m;
	ArenaCharge charge = {0};
	EngHandle	h;

	memset(&m, 0, sizeof(m));
	twin_open(&m.t, (size_t) 1 << 20);
	idset_charge(&charge, 60);
	CHECK(arena_charge(A(&m), &charge, ARENA_NORMAL));
	for (size_t size = ARENA_PAGE; size >= 16; size /= 2)
		while ((h = arena_alloc(A(&m), size, ARENA_SHRINK)) != 0)
			;
	CHECK_EQ(idset_add(A(&m), &m.s, id_of[1], id_of[2], ARENA_SHRINK), ENG_NOMEM);
	for (int i = 0; i < 60; i++)
	{
		int			lo = some_place();
		bool		in = unit_one_in(2);

		CHECK_EQ((in ? idset_add : idset_remove) (A(&m), &m.s, id_of[lo], id_of[lo], ARENA_CHARGED), ENG_OK);
		model_set(&m, lo, lo, in);
	}
	check(&m);
	twin_close(&m.t);
}

int
main(void)
{
	unit_begin("idset");
	make_ids();
	for (int i = unit_scale(5); i > 0; i--)
	{
		test_random();
		test_charge();
	}
	return unit_end();
}
