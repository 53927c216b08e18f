/*
 * test_arena.c
 *	  The arena: blocks do not overlap, free pages join, limits of each use are
 *	  kept, and a charge can always be drawn.
 */
#include "twin.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

static ArenaStats
stats(Twin *t)
{
	ArenaStats	st;

	arena_stats(&t->arena, &st);
	return st;
}

static void
check_empty(Twin *t)
{
	CHECK_SOUND(arena_check(&t->arena));
	CHECK_EQ(stats(t).used, 0);
	CHECK_EQ(stats(t).pages_free, stats(t).pages);
	CHECK_EQ(stats(t).pages_charged, 0);
}

/* --- format and open --- */

static void
test_format(void)
{
	size_t		least = arena_size_min();
	char	   *region = aligned_alloc(64, (least / 64 + 100) * 64);
	Arena		a;

	CHECK_EQ(arena_format(region, 0), ENG_TOOBIG);
	CHECK_EQ(arena_format(region, least - 1), ENG_TOOBIG);
	memset(region, 0, least);
	CHECK_EQ(arena_open(&a, region, NULL, NULL, NULL), ENG_CORRUPT);
	CHECK_EQ(arena_format(region, least), ENG_OK);
	CHECK_EQ(arena_open(&a, region, NULL, NULL, NULL), ENG_OK);
	CHECK_SOUND(arena_check(&a));

	/* 8-byte alignment is enough, and no byte outside is touched */
	for (size_t shift = 8; shift < 64; shift += 8)
	{
		EngHandle	h;
		ArenaStats	st;

		memset(region, 0x77, least + 128);
		CHECK_EQ(arena_format(region + shift, least), ENG_OK);
		CHECK_EQ(arena_open(&a, region + shift, NULL, NULL, NULL), ENG_OK);
		arena_stats(&a, &st);
		while ((h = arena_alloc(&a, ARENA_PAGE, ARENA_SHRINK)) != 0)
		{
			CHECK(h + ARENA_PAGE <= least);
			memset(arena_ptr(&a, h), 0x11, ARENA_PAGE);
			st.pages_free--;
		}
		CHECK_EQ(st.pages_free, 0);
		CHECK_EQ(region[shift - 1], 0x77);
		CHECK_EQ(region[shift + least], 0x77);
		CHECK_SOUND(arena_check(&a));
	}
	free(region);

	/* any size gives as many pages as it can hold */
	for (int i = 0; i < 200; i++)
	{
		size_t		size = least + unit_below(3 << 20);
		ArenaStats	st;

		region = malloc(size);
		CHECK_EQ(arena_format(region, size), ENG_OK);
		CHECK_EQ(arena_open(&a, region, NULL, NULL, NULL), ENG_OK);
		arena_stats(&a, &st);
		CHECK_EQ(st.size, size);
		CHECK(st.pages * ARENA_PAGE < size && (st.pages + 3) * ARENA_PAGE > size);
		{
			uint64_t	small = st.pages / 16 < 64 ? st.pages / 16 : 64;
			uint64_t	reserve = st.pages / 64 > small ? st.pages / 64 : small;

			CHECK_EQ(st.pages_reserve, reserve > 4 ? reserve : 4);
		}
		free(region);
	}
}

/* --- sizes --- */

static void
test_sizes(void)
{
	Twin		t;
	size_t		classes = 0,
				last = 0;

	twin_open(&t, 1 << 20);
	for (size_t size = 1; size <= ARENA_PAGE; size++)
	{
		size_t		room = arena_round(size);

		CHECK(room >= size && room % 16 == 0);
		if (size > 128 && size <= 4096)
			CHECK((room - size) * 4 <= room);
		if (room != last)
		{
			EngHandle	h = arena_alloc(&t.arena, size, ARENA_NORMAL);

			classes++;
			last = room;
			CHECK_EQ(h % 16, 0);
			CHECK_EQ(arena_room(&t.arena, h), room);
			CHECK_EQ(stats(&t).used, room);
			arena_free(&t.arena, h);
		}
	}
	CHECK(classes <= ARENA_NCLASS);
	CHECK_EQ(arena_round(ARENA_PAGE + 1), 2 * ARENA_PAGE);
	CHECK_EQ(arena_round(SIZE_MAX), SIZE_MAX);
	CHECK_EQ(arena_alloc(&t.arena, SIZE_MAX, ARENA_NORMAL), 0);
	CHECK_EQ(arena_alloc(&t.arena, SIZE_MAX - ARENA_PAGE, ARENA_SHRINK), 0);
	CHECK_EQ(arena_alloc(&t.arena, (size_t) UINT32_MAX * ARENA_PAGE, ARENA_SHRINK), 0);
	check_empty(&t);
	twin_close(&t);
}

/* --- random blocks --- */

typedef struct Block
{
	EngHandle	h;
	size_t		size;
	uint8_t		fill;
} Block;

static void
block_free(Twin *t, Block *b)
{
	const uint8_t *p = arena_ptr(&t->arena, b->h);
	size_t		room = arena_room(&t->arena, b->h);
	bool		whole = true;

	CHECK(room >= b->size);
	for (size_t i = 0; i < room; i++)
		whole = whole && p[i] == b->fill;
	CHECK(whole);
	arena_free(&t->arena, b->h);
}

static void
test_random(size_t memory, size_t big)
{
	enum
	{
		MOST = 4000
	};
	Block	   *b = malloc(MOST * sizeof(Block));
	size_t		n = 0;
	uint64_t	used = 0;
	Twin		t;

	twin_open(&t, memory);
	for (int i = 0; i < unit_scale(20000); i++)
	{
		if (n < MOST && unit_below(100) < (i % 8000 < 4000 ? 60u : 40u))
		{
			size_t		size = unit_one_in(20) ? unit_between(1, big) :
				unit_between(1, unit_one_in(3) ? 5000 : 200);
			EngHandle	h = arena_alloc(&t.arena, size, unit_one_in(2) ? ARENA_NORMAL : ARENA_SHRINK);

			if (h != 0)
			{
				b[n] = (Block) {h, size, (uint8_t) i};
				memset(arena_ptr(&t.arena, h), b[n].fill, arena_room(&t.arena, h));
				used += arena_room(&t.arena, h);
				n++;
			}
		}
		else if (n > 0)
		{
			size_t		k = unit_below(n);

			used -= arena_room(&t.arena, b[k].h);
			block_free(&t, &b[k]);
			b[k] = b[--n];
		}
		CHECK_EQ(stats(&t).used, used);
		if (i % 64 == 0)
		{
			twin_flip(&t);
			CHECK_SOUND(arena_check(&t.arena));
		}
	}
	while (n > 0)
		block_free(&t, &b[--n]);
	check_empty(&t);

	/* all pages are one run again */
	CHECK(arena_alloc(&t.arena, (stats(&t).pages - stats(&t).pages_reserve) * ARENA_PAGE, ARENA_NORMAL) != 0);
	twin_close(&t);
	free(b);
}

/* --- runs of pages --- */

static void
test_runs(void)
{
	static const uint32_t hole[] = {5, 3, 9, 4, 6, 2, 17, 16};
	enum
	{
		HOLES = sizeof(hole) / sizeof(hole[0])
	};
	EngHandle	block[HOLES],
				wall[HOLES];
	EngHandle	h;
	Twin		t;

	twin_open(&t, 200 * ARENA_PAGE);
	for (int i = 0; i < HOLES; i++)
	{
		/* between walls */
		block[i] = arena_alloc(&t.arena, hole[i] * ARENA_PAGE - 7, ARENA_NORMAL);
		wall[i] = arena_alloc(&t.arena, 2 * ARENA_PAGE, ARENA_NORMAL);
		CHECK(block[i] != 0 && wall[i] != 0);
	}
	for (int i = 0; i < HOLES; i++)
		arena_free(&t.arena, block[i]);
	CHECK_SOUND(arena_check(&t.arena));

	/* a request gets the shortest run that holds it */
	for (int i = 0; i < HOLES; i++)
	{
		h = arena_alloc(&t.arena, hole[i] * ARENA_PAGE, ARENA_NORMAL);
		CHECK_EQ(h, block[i]);
		arena_free(&t.arena, h);
		CHECK_SOUND(arena_check(&t.arena));
	}

	/* single pages take the shortest runs, from the low end: 2, 3, then 4 */
	for (uint32_t i = 0; i < 6; i++)
	{
		h = arena_alloc(&t.arena, ARENA_PAGE, ARENA_NORMAL);
		if (i < 2)
			CHECK_EQ(h, block[5] + i * ARENA_PAGE);
		else if (i < 5)
			CHECK_EQ(h, block[1] + (i - 2) * ARENA_PAGE);
		else
			CHECK_EQ(h, block[3]);
	}
	CHECK_SOUND(arena_check(&t.arena));
	twin_close(&t);
}

/* Small requests do not suffer from fragmentation. */
static void
test_fragmented(void)
{
	EngHandle	page[512];
	size_t		n = 0,
				got = 0;
	Twin		t;

	twin_open(&t, 300 * ARENA_PAGE);
	while ((page[n] = arena_alloc(&t.arena, ARENA_PAGE, ARENA_SHRINK)) != 0)
		n++;
	CHECK_EQ(n, stats(&t).pages);
	for (size_t i = 0; i < n; i += 2)
		arena_free(&t.arena, page[i]);
	CHECK_SOUND(arena_check(&t.arena));
	CHECK_EQ(arena_alloc(&t.arena, ARENA_PAGE + 1, ARENA_SHRINK), 0);
	while (arena_alloc(&t.arena, 96, ARENA_SHRINK) != 0)
		got++;
	CHECK_EQ(got, (n + 1) / 2 * (ARENA_PAGE / 96));
	CHECK_EQ(stats(&t).pages_free, 0);
	CHECK_SOUND(arena_check(&t.arena));
	twin_close(&t);
}

/* --- uses --- */

static void
test_uses(void)
{
	Twin		t;
	ArenaStats	st;
	ArenaCharge c = {{0}, {0}};
	EngHandle	h,
				small;
	size_t		n;

	twin_open(&t, 400 * ARENA_PAGE);
	st = stats(&t);
	arena_charge_exact(&c, 64, 3 * (ARENA_PAGE / 64) + 1);
	CHECK(arena_charge(&t.arena, &c, ARENA_NORMAL));
	CHECK_EQ(stats(&t).pages_charged, 4);
	small = arena_alloc(&t.arena, 512, ARENA_NORMAL);

	/* NORMAL stops at charge and reserve, but for objects of open slabs */
	for (n = 1; (h = arena_alloc(&t.arena, ARENA_PAGE, ARENA_NORMAL)) != 0;)
		n++;
	CHECK_EQ(n, st.pages - st.pages_reserve - 4);
	CHECK_EQ(arena_alloc(&t.arena, 2 * ARENA_PAGE, ARENA_NORMAL), 0);
	CHECK(!arena_charge(&t.arena, &c, ARENA_NORMAL));
	for (n = 1; arena_alloc(&t.arena, 512, ARENA_NORMAL) != 0;)
		n++;
	CHECK_EQ(n, ARENA_PAGE / 512);

	/* SHRINK stops at the charge */
	for (n = 0; arena_alloc(&t.arena, ARENA_PAGE, ARENA_SHRINK) != 0;)
		n++;
	CHECK_EQ(n, st.pages_reserve);
	CHECK_EQ(stats(&t).pages_free, 4);
	CHECK(!arena_charge(&t.arena, &c, ARENA_SHRINK));

	/* a charge is drawn in full, and nobody gets at the slabs it opens */
	for (n = 0; n < 3 * (ARENA_PAGE / 64) + 1; n++)
	{
		CHECK(arena_alloc(&t.arena, 50, ARENA_CHARGED) != 0);
		CHECK_EQ(arena_alloc(&t.arena, 64, ARENA_NORMAL), 0);
		CHECK_EQ(arena_alloc(&t.arena, 64, ARENA_SHRINK), 0);
	}
	CHECK_EQ(stats(&t).pages_free, 0);
	CHECK_SOUND(arena_check(&t.arena));
	arena_uncharge(&t.arena, &c);
	CHECK(arena_alloc(&t.arena, 64, ARENA_NORMAL) != 0);
	arena_free(&t.arena, small);
	CHECK_SOUND(arena_check(&t.arena));

	/* none is no charge; too many are refused, whatever the number */
	memset(&c, 0, sizeof(c));
	CHECK(arena_charge(&t.arena, &c, ARENA_NORMAL));
	arena_uncharge(&t.arena, &c);
	arena_charge_note(&c, 16, UINT32_MAX);
	arena_charge_note(&c, 16, UINT32_MAX);
	arena_charge_exact(&c, ARENA_PAGE, UINT32_MAX);
	arena_charge_exact(&c, ARENA_PAGE, 1);
	CHECK(!arena_charge(&t.arena, &c, ARENA_SHRINK));
	twin_close(&t);
}

/* --- charges at random --- */

typedef struct Promise
{
	ArenaCharge c;
	bool		open;
	uint32_t	left[3];		/* objects left of each note */
	size_t		size[3];
	bool		exact[3];
} Promise;

static void
promise_make(Twin *t, Promise *p)
{
	memset(p, 0, sizeof(*p));
	for (int i = 0; i < 3; i++)
	{
		p->left[i] = (uint32_t) unit_below(unit_one_in(3) ? 300 : 4);
		p->size[i] = unit_one_in(6) ? ARENA_PAGE : unit_between(1, unit_one_in(2) ? 100 : 3000);
		p->exact[i] = unit_one_in(2);
		if (p->exact[i])
			arena_charge_exact(&p->c, p->size[i], p->left[i]);
		else
			arena_charge_note(&p->c, p->size[i], p->left[i]);
	}
	p->open = arena_charge(&t->arena, &p->c, unit_one_in(2) ? ARENA_NORMAL : ARENA_SHRINK);
}

/*
 * Several charges at once, each drawn at random, while others take all they
 * can and give back some: no draw fails.
 */
static void
test_charges(void)
{
	enum
	{
		PROMISES = 24, MOST = 20000
	};
	Promise		p[PROMISES];
	EngHandle  *block = malloc(MOST * sizeof(EngHandle));
	size_t		n = 0;
	uint64_t	drawn = 0;
	Twin		t;

	memset(p, 0, sizeof(p));
	twin_open(&t, 160 * ARENA_PAGE);
	for (int i = 0; i < unit_scale(60000); i++)
	{
		Promise    *one = &p[unit_below(PROMISES)];
		EngHandle	h = 0;
		int			k = (int) unit_below(3);

		if (unit_one_in(3))
		{
			if (!one->open)
				promise_make(&t, one);
			else if (unit_one_in(20))
			{
				arena_uncharge(&t.arena, &one->c);
				one->open = false;
			}
		}
		else if (unit_one_in(2))
		{
			if (one->open && one->left[k] > 0)
			{
				size_t		size = one->exact[k] ? one->size[k] :
					unit_between(1, unit_one_in(2) ? one->size[k] : one->size[k] / 4 + 1);

				one->left[k]--;
				h = arena_alloc(&t.arena, size, ARENA_CHARGED);
				CHECK(h != 0);
				drawn++;
			}
		}
		else if (i % 10000 < 9000)
			h = arena_alloc(&t.arena, unit_one_in(40) ? 3 * ARENA_PAGE : unit_between(1, 3000),
							unit_one_in(2) ? ARENA_NORMAL : ARENA_SHRINK);
		if (h != 0)
			block[n++] = h;
		if (n > 0 && (n == MOST || unit_one_in(i % 10000 < 9000 ? 8 : 1)))
		{
			size_t		v = unit_below(n);

			arena_free(&t.arena, block[v]);
			block[v] = block[--n];
		}
		if (i % 100 == 0)
		{
			twin_flip(&t);
			CHECK_SOUND(arena_check(&t.arena));
		}
	}
	CHECK(drawn > 1000);
	for (int i = 0; i < PROMISES; i++)
		if (p[i].open)
			arena_uncharge(&t.arena, &p[i].c);
	while (n > 0)
		arena_free(&t.arena, block[--n]);
	check_empty(&t);
	twin_close(&t);
	free(block);
}

/* Many small charges set aside what one large one does, and are drawn and
 * given back in any order. */
static void
test_charge_many(void)
{
	enum
	{
		CHARGES = 300
	};
	ArenaCharge c = {{0}, {0}};
	ArenaCharge all = {{0}, {0}};
	Twin		t;
	uint64_t	pages;

	twin_open(&t, 200 * ARENA_PAGE);
	arena_charge_exact(&c, 8192, 1);
	arena_charge_note(&c, 2720, 2);
	for (int i = 0; i < CHARGES; i++)
	{
		arena_charge_exact(&all, 8192, 1);
		arena_charge_note(&all, 2720, 2);
	}
	CHECK(!arena_charge(&t.arena, &all, ARENA_NORMAL));
	twin_close(&t);

	twin_open(&t, 400 * ARENA_PAGE);
	CHECK(arena_charge(&t.arena, &all, ARENA_NORMAL));
	pages = stats(&t).pages_charged;
	arena_uncharge(&t.arena, &all);
	CHECK_EQ(stats(&t).pages_charged, 0);
	for (int i = 0; i < CHARGES; i++)
		CHECK(arena_charge(&t.arena, &c, ARENA_NORMAL));
	CHECK_EQ(stats(&t).pages_charged, pages);
	CHECK(pages < CHARGES);
	while (arena_alloc(&t.arena, ARENA_PAGE, ARENA_SHRINK) != 0)
		;
	CHECK_EQ(stats(&t).pages_free, pages);
	for (int i = 0; i < CHARGES; i++)
	{
		CHECK(arena_alloc(&t.arena, 8192, ARENA_CHARGED) != 0);
		for (int k = 0; k < 2; k++)
			CHECK(arena_alloc(&t.arena, unit_one_in(2) ? 2720 : unit_between(1, 2720), ARENA_CHARGED) != 0);
		arena_uncharge(&t.arena, &c);
		if (i % 50 == 0)
			CHECK_SOUND(arena_check(&t.arena));
	}
	CHECK_EQ(stats(&t).pages_charged, 0);
	twin_close(&t);
}

/* The worst case of "or any smaller size": one object of each class. */
static void
test_charge_worst(void)
{
	for (uint32_t n = 1; n <= 200; n += 1 + n / 8)
	{
		ArenaCharge c = {{0}, {0}};
		uint32_t	left = n;
		size_t		size = 1;
		Twin		t;

		twin_open(&t, 120 * ARENA_PAGE);
		arena_charge_note(&c, 2720, n);
		CHECK(arena_charge(&t.arena, &c, ARENA_NORMAL));
		while (arena_alloc(&t.arena, ARENA_PAGE, ARENA_SHRINK) != 0)
			;
		CHECK_EQ(stats(&t).pages_free, stats(&t).pages_charged);
		for (; left > 0 && size <= 2720; left--)
		{
			CHECK(arena_alloc(&t.arena, size, ARENA_CHARGED) != 0);
			size = arena_round(size) + 1;
		}
		for (; left > 0; left--)
			CHECK(arena_alloc(&t.arena, 2720, ARENA_CHARGED) != 0);
		CHECK_SOUND(arena_check(&t.arena));
		arena_uncharge(&t.arena, &c);
		twin_close(&t);
	}
}

/* --- misuse and damage --- */

static bool
dies(Twin *t, EngHandle h)
{
	int			status;
	pid_t		pid = fork();

	if (pid == 0)
	{
		fclose(stderr);
		signal(SIGABRT, SIG_DFL);
		arena_free(&t->arena, h);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
}

static void
test_misuse(void)
{
	Twin		t;
	EngHandle	a,
				b,
				run;

	twin_open(&t, 1 << 20);
	a = arena_alloc(&t.arena, 100, ARENA_NORMAL);
	b = arena_alloc(&t.arena, 100, ARENA_NORMAL);
	run = arena_alloc(&t.arena, 3 * ARENA_PAGE, ARENA_NORMAL);
	CHECK(dies(&t, a + 16));
	CHECK(dies(&t, run + ARENA_PAGE));
	CHECK(dies(&t, run + 16));
	CHECK(dies(&t, 16));
	arena_free(&t.arena, a);
	CHECK(dies(&t, a));
	arena_free(&t.arena, run);
	CHECK(dies(&t, run));
	CHECK_SOUND(arena_check(&t.arena));

	/* a write to a freed object may break the list of free ones */
	*(uint16_t *) arena_ptr(&t.arena, a) = 7777;
	CHECK_STR(arena_check(&t.arena), "free object is not in its slab");
	*(uint16_t *) arena_ptr(&t.arena, a) = 0;
	CHECK_STR(arena_check(&t.arena), "free object is listed twice");
	*(uint16_t *) arena_ptr(&t.arena, a) = 1;
	*(uint16_t *) arena_ptr(&t.arena, b) = UINT16_MAX;
	CHECK_STR(arena_check(&t.arena), "slab has not as many free objects as it says");
	*(uint16_t *) arena_ptr(&t.arena, a) = UINT16_MAX;
	CHECK_SOUND(arena_check(&t.arena));
	arena_free(&t.arena, b);
	check_empty(&t);
	twin_close(&t);
}

static bool
always(size_t size, ArenaUse use)
{
	(void) size;
	(void) use;
	return true;
}

static void
test_hook(void)
{
	Twin		t;

	twin_open(&t, 1 << 20);
	arena_test_fail = always;
	CHECK_EQ(arena_alloc(&t.arena, 10, ARENA_NORMAL), 0);
	arena_test_fail = NULL;
	CHECK(arena_alloc(&t.arena, 10, ARENA_NORMAL) != 0);
	twin_close(&t);
}

int
main(void)
{
	unit_begin("arena");
	test_format();
	test_sizes();
	test_runs();
	test_fragmented();
	test_uses();
	test_charge_many();
	test_charge_worst();
	test_misuse();
	test_hook();
	test_random(arena_size_min(), 3 * ARENA_PAGE);
	test_random(2 << 20, 10 * ARENA_PAGE);
	test_random(16 << 20, 40 * ARENA_PAGE);
	test_charges();
	return unit_end();
}
