/*
 * arena.c
 *	  Memory of the engine: pages, slabs and runs inside one region.
 *
 * The region:
 *
 *	 ArenaHead | Page map[npages] | (pad) | page 0 | page 1 | ...
 *
 * Page 0 begins at a multiple of ARENA_PAGE from the base.  Everything the
 * arena knows is in the head and the map; inside the pages it keeps only the
 * links of free objects.
 *
 *   1. Free pages form runs.  The first and the last page of a free run are
 *      marked PAGE_FREE and hold its length (boundary tags), so that the
 *      neighbours of a freed run are found at once; what the map says of the
 *      pages between them means nothing.  The first page is in the list of
 *      the run's bin.
 *   2. Bins divide lengths into four steps for each power of two, so lengths
 *      up to 7 have a bin each.  A request takes the shortest run of the
 *      lowest bin that has one long enough.  Single pages are cut off at the
 *      low end of a run, longer pieces at the high end: this keeps slabs and
 *      large blocks apart.
 *   3. A slab is a page of objects of one class.  Objects are handed out from
 *      the list of freed ones, else the next never used one, so that a new
 *      slab costs nothing.  Slabs with a free object are in the list of their
 *      class.  An empty slab is a free page again at once.
 *
 * Why a charge is never broken (head->charged pages are set aside):
 * Other allocations take a page only if all charged pages are still free
 * afterwards, and take an object of a partly used slab only if they are free
 * now.  So whenever an outsider took something, all charged pages were free,
 * enough for the promised objects without any slab.  From then on only
 * objects on charge are handed out, and each page these take leaves its other
 * objects to them.  What is promised in all does not grow in the meantime: a
 * charge is added only while all charged pages are free, too.
 *
 * Locking: as said in arena.h; the static functions run under the lock.
 * arena_room takes none: what it reads does not change while the caller's
 * block is allocated.
 */
#include "arena.h"

#include <assert.h>

#define ARENA_MAGIC		UINT64_C(0x616e657241787453)
#define ARENA_LAYOUT	2

#define PAGE_NONE		UINT32_MAX
#define OBJ_NONE		UINT16_MAX
#define NBIN			124
#define RESERVE_MIN		4
#define RESERVE_SMALL	64
#define PAGES_MIN		(2 * RESERVE_MIN)
#define PAGES_MAX		(UINT32_MAX - 1)

typedef enum PageKind
{
	PAGE_FREE,					/* first or last page of a free run */
	PAGE_SLAB,
	PAGE_RUN,					/* first page of an allocated run */
	PAGE_INNER					/* further page of an allocated run */
} PageKind;

typedef struct Page
{
	uint8_t		kind;
	uint8_t		class;			/* slab */
	uint16_t	nfree;			/* slab: free objects, never used ones included */
	uint16_t	first_free;		/* slab: head of the list of freed objects */
	uint16_t	carved;			/* slab: objects from here on were never used */
	uint32_t	len;			/* run, free or allocated: pages */
	uint32_t	prev;			/* in the list of the bin or class */
	uint32_t	next;
} Page;

typedef struct ArenaHead
{
	uint64_t	magic;
	uint32_t	layout;
	uint32_t	npages;
	uint64_t	size;
	uint64_t	pages_off;		/* where page 0 begins */
	uint64_t	used;			/* bytes allocated, rounded to class or page */
	uint32_t	free;			/* free pages */
	uint32_t	charged;		/* pages set aside for charges */
	uint32_t	reserve;
	uint64_t	exact[ARENA_NCLASS];	/* promised by all charges: of just this class */
	uint64_t	smaller[ARENA_NCLASS];	/* and of this class or any smaller one */
	uint32_t	bin[NBIN];		/* free runs by length */
	uint32_t	partial[ARENA_NCLASS];	/* slabs with a free object */
} ArenaHead;

#define MAP_OFF			((sizeof(ArenaHead) + 15) & ~(size_t) 15)

/* Up to 128 in steps of 16, then a page divided by a whole number. */
static const uint16_t class_size[] = {
	16, 32, 48, 64, 80, 96, 112, 128,
	144, 160, 176, 192, 224, 256, 288, 320, 352, 384, 416, 448,
	512, 576, 640, 704, 768, 848, 896, 1024,
	1168, 1360, 1488, 1632, 1808, 2048, 2336, 2720, 3264,
	4096, 5456, 8192, 16384
};

#define NCLASS			((int) (sizeof(class_size) / sizeof(class_size[0])))
#define OBJS_MAX		(ARENA_PAGE / 16)

_Static_assert(sizeof(class_size) / sizeof(class_size[0]) <= ARENA_NCLASS,
			   "ARENA_NCLASS is too small");
_Static_assert(OBJS_MAX < OBJ_NONE, "object numbers must fit 16 bits");

#ifdef ENGINE_TEST
bool		(*arena_test_fail) (size_t size, ArenaUse use);

/* What new and freed blocks are filled with, so that reading them shows. */
#define FILL_NEW		0xA5
#define FILL_FREED		0xDD
#endif

static inline void
arena_lock(Arena *a)
{
	if (a->lock != NULL)
		a->lock(a->lock_arg);
}

static inline void
arena_unlock(Arena *a)
{
	if (a->unlock != NULL)
		a->unlock(a->lock_arg);
}

static inline ArenaHead *
head_of(const Arena *a)
{
	return (ArenaHead *) a->base;
}

static inline Page *
map_of(ArenaHead *head)
{
	return (Page *) ((char *) head + MAP_OFF);
}

static inline EngHandle
page_handle(const ArenaHead *head, uint32_t p)
{
	return head->pages_off + (EngHandle) p * ARENA_PAGE;
}

static inline uint32_t
handle_page(const ArenaHead *head, EngHandle h)
{
	assert(h >= head->pages_off && h < page_handle(head, head->npages));
	return (uint32_t) ((h - head->pages_off) / ARENA_PAGE);
}

static inline unsigned
objs_in_page(int class)
{
	return (unsigned) (ARENA_PAGE / class_size[class]);
}

/* The smallest class for size, which is 1 to ARENA_PAGE. */
static int
class_for(size_t size)
{
	int			lo = 0,
				hi = NCLASS - 1;

	assert(size > 0 && size <= ARENA_PAGE);
	if (size <= 128)
		return (int) ((size - 1) / 16);
	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (class_size[mid] >= size)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int
bin_for(uint32_t len)
{
	int			e = 0;

	if (len < 4)
		return (int) len;
	for (uint32_t v = len; v > 1; v >>= 1)
		e++;
	return 4 * (e - 1) + (int) ((len >> (e - 2)) & 3);
}

/* Page numbers for a region of this size; *off is where page 0 begins. */
static uint32_t
pages_for(size_t size, size_t *off)
{
	size_t		n;

	if (size <= MAP_OFF)
		return 0;
	n = (size - MAP_OFF) / (ARENA_PAGE + sizeof(Page));
	if (n > PAGES_MAX)
		n = PAGES_MAX;
	for (; n > 0; n--)
	{
		*off = (MAP_OFF + n * sizeof(Page) + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
		if (*off <= size && (size - *off) / ARENA_PAGE >= n)
			break;
	}
	return (uint32_t) n;
}

/* --- lists of pages --- */

static void
list_push(Page *map, uint32_t *list, uint32_t p)
{
	map[p].prev = PAGE_NONE;
	map[p].next = *list;
	if (*list != PAGE_NONE)
		map[*list].prev = p;
	*list = p;
}

static void
list_unlink(Page *map, uint32_t *list, uint32_t p)
{
	Page	   *pg = &map[p];

	if (pg->prev != PAGE_NONE)
		map[pg->prev].next = pg->next;
	else
		*list = pg->next;
	if (pg->next != PAGE_NONE)
		map[pg->next].prev = pg->prev;
}

/* --- runs of pages --- */

static void
free_run_link(ArenaHead *head, uint32_t first, uint32_t len)
{
	Page	   *map = map_of(head);

	map[first].kind = map[first + len - 1].kind = PAGE_FREE;
	map[first].len = map[first + len - 1].len = len;
	list_push(map, &head->bin[bin_for(len)], first);
}

static void
free_run_unlink(ArenaHead *head, uint32_t first)
{
	Page	   *map = map_of(head);

	list_unlink(map, &head->bin[bin_for(map[first].len)], first);
}

/* Make pages free, joined with free neighbours. */
static void
pages_release(ArenaHead *head, uint32_t first, uint32_t len)
{
	Page	   *map = map_of(head);

	head->free += len;
	map[first].kind = PAGE_FREE;
	if (first > 0 && map[first - 1].kind == PAGE_FREE)
	{
		uint32_t	before = map[first - 1].len;

		free_run_unlink(head, first - before);
		first -= before;
		len += before;
	}
	if (first + len < head->npages && map[first + len].kind == PAGE_FREE)
	{
		uint32_t	after = first + len;

		len += map[after].len;
		free_run_unlink(head, after);
	}
	free_run_link(head, first, len);
}

/* Take len adjacent free pages, PAGE_NONE if there are none. */
static uint32_t
pages_take(ArenaHead *head, uint32_t len)
{
	Page	   *map = map_of(head);
	uint32_t	best = PAGE_NONE;
	uint32_t	rest;

	for (int b = bin_for(len); b < NBIN && best == PAGE_NONE; b++)
	{
		for (uint32_t p = head->bin[b]; p != PAGE_NONE; p = map[p].next)
		{
			if (map[p].len >= len && (best == PAGE_NONE || map[p].len < map[best].len))
				best = p;
			if (best == p && map[p].len == len)
				break;
		}
	}
	if (best == PAGE_NONE)
		return PAGE_NONE;

	rest = map[best].len - len;
	free_run_unlink(head, best);
	head->free -= len;
	if (rest > 0)
	{
		free_run_link(head, len == 1 ? best + 1 : best, rest);
		if (len > 1)
			best += rest;
	}
	return best;
}

/* May an allocation for this use take so many pages (0: an object of a slab)? */
static bool
may_take(const ArenaHead *head, uint64_t pages, ArenaUse use)
{
	uint64_t	keep = 0;

	if (use != ARENA_CHARGED)
		keep = head->charged;
	if (use == ARENA_NORMAL && pages > 0)
		keep += head->reserve;
	return head->free >= keep + pages;
}

/* --- blocks --- */

static EngHandle
slab_alloc(ArenaHead *head, int class, ArenaUse use)
{
	Page	   *map = map_of(head);
	uint32_t	p = head->partial[class];
	unsigned	obj;
	EngHandle	h;

	if (!may_take(head, p == PAGE_NONE ? 1 : 0, use))
		return 0;
	if (p == PAGE_NONE)
	{
		p = pages_take(head, 1);
		if (p == PAGE_NONE)
			return 0;
		map[p].kind = PAGE_SLAB;
		map[p].class = (uint8_t) class;
		map[p].nfree = (uint16_t) objs_in_page(class);
		map[p].first_free = OBJ_NONE;
		map[p].carved = 0;
		list_push(map, &head->partial[class], p);
	}

	if (map[p].first_free != OBJ_NONE)
	{
		obj = map[p].first_free;
		h = page_handle(head, p) + (EngHandle) obj * class_size[class];
		map[p].first_free = *(uint16_t *) ((char *) head + h);
	}
	else
	{
		obj = map[p].carved++;
		h = page_handle(head, p) + (EngHandle) obj * class_size[class];
	}
	if (--map[p].nfree == 0)
		list_unlink(map, &head->partial[class], p);
	head->used += class_size[class];
	return h;
}

#if defined(ENGINE_TEST) && !defined(NDEBUG)
static bool
obj_is_free(ArenaHead *head, uint32_t p, unsigned obj)
{
	const Page *pg = &map_of(head)[p];
	const char *objs = (char *) head + page_handle(head, p);

	for (unsigned o = pg->first_free; o != OBJ_NONE;
		 o = *(const uint16_t *) (objs + (size_t) o * class_size[pg->class]))
	{
		if (o == obj)
			return true;
	}
	return obj >= pg->carved;
}
#endif

static void
slab_free(ArenaHead *head, uint32_t p, EngHandle h)
{
	Page	   *map = map_of(head);
	Page	   *pg = &map[p];
	size_t		size = class_size[pg->class];
	unsigned	obj = (unsigned) ((h - page_handle(head, p)) / size);

	assert((h - page_handle(head, p)) % size == 0 && obj < pg->carved);
	assert(pg->nfree < objs_in_page(pg->class));
#ifdef ENGINE_TEST
	assert(!obj_is_free(head, p, obj));
	memset((char *) head + h, FILL_FREED, size);
#endif

	head->used -= size;
	if (pg->nfree + 1u == objs_in_page(pg->class))
	{
		if (pg->nfree > 0)
			list_unlink(map, &head->partial[pg->class], p);
		pages_release(head, p, 1);
		return;
	}
	*(uint16_t *) ((char *) head + h) = pg->first_free;
	pg->first_free = (uint16_t) obj;
	if (pg->nfree++ == 0)
		list_push(map, &head->partial[pg->class], p);
}

static EngHandle
run_alloc(ArenaHead *head, size_t size, ArenaUse use)
{
	Page	   *map = map_of(head);
	uint64_t	len = size / ARENA_PAGE + (size % ARENA_PAGE != 0);
	uint32_t	p;

	if (len > head->npages || !may_take(head, len, use))
		return 0;
	p = pages_take(head, (uint32_t) len);
	if (p == PAGE_NONE)
		return 0;
	map[p].kind = PAGE_RUN;
	map[p].len = (uint32_t) len;
	for (uint32_t i = 1; i < len; i++)
		map[p + i].kind = PAGE_INNER;
	head->used += len * ARENA_PAGE;
	return page_handle(head, p);
}

EngHandle
arena_alloc(Arena *a, size_t size, ArenaUse use)
{
	ArenaHead  *head = head_of(a);
	EngHandle	h;

	assert(size > 0);
	assert(use != ARENA_CHARGED || size <= ARENA_PAGE);
#ifdef ENGINE_TEST
	if (arena_test_fail != NULL && arena_test_fail(size, use))
		return 0;
#endif
	arena_lock(a);
	if (size <= ARENA_PAGE)
		h = slab_alloc(head, class_for(size), use);
	else
		h = run_alloc(head, size, use);
	arena_unlock(a);
#ifdef ENGINE_TEST
	if (h != 0)
		memset(arena_ptr(a, h), FILL_NEW, arena_room(a, h));
#endif
	return h;
}

void
arena_free(Arena *a, EngHandle h)
{
	ArenaHead  *head = head_of(a);
	Page	   *map = map_of(head);
	uint32_t	p = handle_page(head, h);

	arena_lock(a);
	assert(map[p].kind == PAGE_SLAB || map[p].kind == PAGE_RUN);
	if (map[p].kind == PAGE_SLAB)
		slab_free(head, p, h);
	else
	{
		assert(h == page_handle(head, p));
#ifdef ENGINE_TEST
		memset((char *) head + h, FILL_FREED, map[p].len * ARENA_PAGE);
#endif
		head->used -= map[p].len * ARENA_PAGE;
		pages_release(head, p, map[p].len);
	}
	arena_unlock(a);
}

size_t
arena_room(const Arena *a, EngHandle h)
{
	ArenaHead  *head = head_of(a);
	const Page *pg = &map_of(head)[handle_page(head, h)];

	assert(pg->kind == PAGE_SLAB || pg->kind == PAGE_RUN);
	return pg->kind == PAGE_SLAB ? class_size[pg->class] : pg->len * ARENA_PAGE;
}

size_t
arena_round(size_t size)
{
	if (size <= ARENA_PAGE)
		return class_size[class_for(size)];
	if (size > SIZE_MAX - (ARENA_PAGE - 1))
		return SIZE_MAX;
	return (size + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
}

/* --- charges --- */

/* Counts stop at the greatest; arena_charge has no room for that many. */
static void
note(uint32_t *n, uint32_t count)
{
	*n = count > UINT32_MAX - *n ? UINT32_MAX : *n + count;
}

void
arena_charge_note(ArenaCharge *c, size_t size, uint32_t count)
{
	note(&c->n[class_for(size)], count);
}

void
arena_charge_exact(ArenaCharge *c, size_t size, uint32_t count)
{
	note(&c->exact[class_for(size)], count);
}

static const ArenaCharge no_charge;

/*
 * Pages that so many promised objects of a class, and of it or any smaller
 * one, can need at most.
 *
 * m objects of one class with k to a page need 1 + (m - 1) / k pages.  Objects
 * of a class or any smaller one need most if each of those classes gets an
 * object, and thus a page, and the rest go to the class with fewest to a page.
 */
static uint64_t
class_pages(int class, uint64_t exact, uint64_t smaller)
{
	uint64_t	classes = (uint64_t) class + 1;
	uint64_t	pages = smaller;

	if (smaller > classes)
		pages = classes + (smaller - classes) / objs_in_page(class);
	if (exact > 0)
		pages += 1 + (exact - 1) / objs_in_page(class);
	return pages;
}

/* Add a charge to what is promised, or take it away (sign -1); returns the
 * pages by which that needs more. */
static int64_t
promise(ArenaHead *head, const ArenaCharge *c, int sign)
{
	uint64_t	more = 0;

	for (int i = 0; i < NCLASS; i++)
	{
		if (c->exact[i] == 0 && c->n[i] == 0)
			continue;
		more -= class_pages(i, head->exact[i], head->smaller[i]);
		head->exact[i] += (uint64_t) (sign * (int64_t) c->exact[i]);
		head->smaller[i] += (uint64_t) (sign * (int64_t) c->n[i]);
		more += class_pages(i, head->exact[i], head->smaller[i]);
	}
	return (int64_t) more;
}

bool
arena_charge(Arena *a, const ArenaCharge *c, ArenaUse use)
{
	ArenaHead  *head = head_of(a);
	int64_t		more;
	bool		good;

	assert(use != ARENA_CHARGED);
	if (memcmp(c, &no_charge, sizeof(no_charge)) == 0)
		return true;
	arena_lock(a);
	more = promise(head, c, 1);
	good = may_take(head, (uint64_t) more, use);	/* asked also where it is none */
	if (good)
		head->charged += (uint32_t) more;
	else
		promise(head, c, -1);
	arena_unlock(a);
	return good;
}

void
arena_uncharge(Arena *a, const ArenaCharge *c)
{
	ArenaHead  *head = head_of(a);
	int64_t		more;

	arena_lock(a);
	more = promise(head, c, -1);
	assert(more <= 0 && head->charged >= (uint32_t) -more);
	head->charged += (uint32_t) more;
	arena_unlock(a);
}

/* --- the arena as a whole --- */

size_t
arena_size_min(void)
{
	size_t		map = MAP_OFF + PAGES_MIN * sizeof(Page);

	return (map + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE + PAGES_MIN * ARENA_PAGE;
}

/* 1/64 of a large region; in a small one more, up to a megabyte, since what it
 * is for takes the same pages everywhere. */
static uint32_t
reserve_for(uint32_t npages)
{
	uint32_t	n = npages / 16 < RESERVE_SMALL ? npages / 16 : RESERVE_SMALL;

	if (n < npages / 64)
		n = npages / 64;
	return n > RESERVE_MIN ? n : RESERVE_MIN;
}

EngStatus
arena_format(void *base, size_t size)
{
	ArenaHead  *head = base;
	size_t		off = 0;
	uint32_t	npages = pages_for(size, &off);

	assert((uintptr_t) base % 8 == 0);
	if (npages < PAGES_MIN)
		return ENG_TOOBIG;
	memset(base, 0, MAP_OFF + npages * sizeof(Page));
	head->layout = ARENA_LAYOUT;
	head->npages = npages;
	head->size = size;
	head->pages_off = off;
	head->reserve = reserve_for(npages);
	for (int i = 0; i < NBIN; i++)
		head->bin[i] = PAGE_NONE;
	for (int i = 0; i < ARENA_NCLASS; i++)
		head->partial[i] = PAGE_NONE;
	head->free = npages;
	free_run_link(head, 0, npages);
	head->magic = ARENA_MAGIC;
	return ENG_OK;
}

EngStatus
arena_open(Arena *a, void *base, void (*lock) (void *), void (*unlock) (void *), void *arg)
{
	const ArenaHead *head = base;

	if (head->magic != ARENA_MAGIC || head->layout != ARENA_LAYOUT)
		return ENG_CORRUPT;
	a->base = base;
	a->lock = lock;
	a->unlock = unlock;
	a->lock_arg = arg;
	return ENG_OK;
}

void
arena_stats(Arena *a, ArenaStats *st)
{
	ArenaHead  *head = head_of(a);

	arena_lock(a);
	st->size = head->size;
	st->used = head->used;
	st->pages = head->npages;
	st->pages_free = head->free;
	st->pages_charged = head->charged;
	st->pages_reserve = head->reserve;
	arena_unlock(a);
}

/* --- checking --- */

/* What a walk over the map found, to be compared with head and lists. */
typedef struct Census
{
	uint64_t	used;
	uint64_t	free;
	uint32_t	runs;			/* free runs */
	uint32_t	partial;		/* slabs with a free object */
} Census;

static const char *
check_slab(ArenaHead *head, uint32_t p, Census *seen)
{
	const Page *pg = &map_of(head)[p];
	const char *objs = (char *) head + page_handle(head, p);
	uint8_t		freed[OBJS_MAX / 8] = {0};
	unsigned	count,
				nfree;

	if (pg->class >= NCLASS)
		return "slab of no class";
	count = objs_in_page(pg->class);
	if (pg->carved > count || pg->nfree >= count)
		return "slab counts are wrong";
	nfree = count - pg->carved;
	for (unsigned o = pg->first_free; o != OBJ_NONE;
		 o = *(const uint16_t *) (objs + (size_t) o * class_size[pg->class]))
	{
		if (o >= pg->carved)
			return "free object is not in its slab";
		if (freed[o / 8] & (1u << (o % 8)))
			return "free object is listed twice";
		freed[o / 8] |= (uint8_t) (1u << (o % 8));
		nfree++;
	}
	if (nfree != pg->nfree)
		return "slab has not as many free objects as it says";
	seen->used += (uint64_t) (count - nfree) * class_size[pg->class];
	seen->partial += nfree > 0;
	return NULL;
}

/* One free run, allocated run or slab; *len gets its pages. */
static const char *
check_pages(ArenaHead *head, uint32_t p, uint32_t *len, Census *seen)
{
	const Page *map = map_of(head);

	*len = 1;
	if (map[p].kind == PAGE_SLAB)
		return check_slab(head, p, seen);
	*len = map[p].len;
	if (*len == 0 || *len > head->npages - p)
		return "run has a wrong length";
	if (map[p].kind == PAGE_FREE)
	{
		if (map[p + *len - 1].kind != PAGE_FREE || map[p + *len - 1].len != *len)
			return "free run has no end";
		if (p + *len < head->npages && map[p + *len].kind == PAGE_FREE)
			return "free runs are not joined";
		seen->free += *len;
		seen->runs++;
		return NULL;
	}
	if (map[p].kind != PAGE_RUN)
		return "page is of no kind";
	for (uint32_t i = 1; i < *len; i++)
		if (map[p + i].kind != PAGE_INNER)
			return "run has a page that is not its own";
	seen->used += *len * ARENA_PAGE;
	return NULL;
}

/* Lists of bins and classes: right members, and no fewer than the walk saw. */
static const char *
check_lists(ArenaHead *head, const Census *seen)
{
	const Page *map = map_of(head);
	uint32_t	runs = 0,
				partial = 0;

	for (int b = 0; b < NBIN; b++)
	{
		uint32_t	prev = PAGE_NONE;

		for (uint32_t p = head->bin[b]; p != PAGE_NONE; prev = p, p = map[p].next)
		{
			if (p >= head->npages || map[p].prev != prev || ++runs > seen->runs)
				return "list of free runs is broken";
			if (map[p].kind != PAGE_FREE || bin_for(map[p].len) != b)
				return "free run is in a wrong list";
		}
	}
	for (int c = 0; c < ARENA_NCLASS; c++)
	{
		uint32_t	prev = PAGE_NONE;

		for (uint32_t p = head->partial[c]; p != PAGE_NONE; prev = p, p = map[p].next)
		{
			if (p >= head->npages || map[p].prev != prev || ++partial > seen->partial)
				return "list of slabs is broken";
			if (map[p].kind != PAGE_SLAB || map[p].class != c || map[p].nfree == 0)
				return "slab is in a wrong list";
		}
	}
	if (runs != seen->runs)
		return "free run is in no list";
	if (partial != seen->partial)
		return "slab with free objects is in no list";
	return NULL;
}

static const char *
check_locked(ArenaHead *head)
{
	Census		seen = {0};
	const char *problem;
	uint64_t	promised = 0;
	uint32_t	len;

	for (uint32_t p = 0; p < head->npages; p += len)
	{
		problem = check_pages(head, p, &len, &seen);
		if (problem != NULL)
			return problem;
	}
	problem = check_lists(head, &seen);
	if (problem != NULL)
		return problem;
	if (seen.used != head->used)
		return "used bytes are miscounted";
	if (seen.free != head->free)
		return "free pages are miscounted";
	if (head->charged > head->npages)
		return "more pages are charged than there are";
	for (int i = 0; i < NCLASS; i++)
		promised += class_pages(i, head->exact[i], head->smaller[i]);
	if (head->charged != promised)
		return "charged pages are miscounted";
	return NULL;
}

const char *
arena_check(Arena *a)
{
	const char *problem;

	arena_lock(a);
	problem = check_locked(head_of(a));
	arena_unlock(a);
	return problem;
}
