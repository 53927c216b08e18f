/*
 * fuzz_rax.c
 *	  Sequences of radix tree operations against a naive model.
 *
 * The input is a program: an operation byte, a key (a byte for its length and
 * kind, then bytes) and what else the operation takes.  The arena is small, so
 * inserts may fail for lack of memory; then nothing may have changed.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined, with src/engine.
 */
#include <stdlib.h>

#include "rax.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY			((size_t) 1 << 19)
#define ITEMS_MAX		512

typedef struct Item
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len;
	uint64_t	value;
} Item;

/* The model: items in no order. */
static Item item[ITEMS_MAX];
static size_t nitems;

typedef struct Input
{
	const uint8_t *p;
	const uint8_t *end;
} Input;

#define MUST(cond) \
	do { if (!(cond)) abort(); } while (0)

static uint8_t
next_byte(Input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static int
key_cmp(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	size_t		least = alen < blen ? alen : blen;
	int			c = least > 0 ? memcmp(a, b, least) : 0;

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

static size_t
next_key(Input *in, uint8_t *key)
{
	uint8_t		kind = next_byte(in);
	size_t		len = kind & 15;
	size_t		alike = 0;

	switch (kind >> 6)
	{
		case 0:
			break;
		case 1:
			/* the beginning or all of a key that is there, and more */
			if (nitems > 0)
			{
				const Item *it = &item[next_byte(in) % nitems];

				alike = it->len - (kind & 32 ? 0 : next_byte(in) % (it->len + 1));
				memcpy(key, it->key, alike);
			}
			if (kind & 16)
				len = 0;
			break;
		case 2:
			/* an id */
			sid_to_key((StreamId) {1000 + next_byte(in), next_byte(in) & 3}, key);
			return 16;
		case 3:
			/* a long one */
			alike = (size_t) next_byte(in) * 4;
			memset(key, 'x', alike);
			break;
	}
	for (size_t i = 0; i < len && alike < RAX_KEY_MAX; i++)
		key[alike++] = next_byte(in);
	return alike;
}

static Item *
model_find(const uint8_t *key, size_t len)
{
	for (size_t i = 0; i < nitems; i++)
		if (key_cmp(item[i].key, item[i].len, key, len) == 0)
			return &item[i];
	return NULL;
}

static const Item *
model_seek(RaxSeek op, const uint8_t *key, size_t len)
{
	const Item *best = NULL;

	for (size_t i = 0; i < nitems; i++)
	{
		const Item *it = &item[i];
		int			c = op <= RAX_LAST ? 0 : key_cmp(it->key, it->len, key, len);
		bool		up = op == RAX_FIRST || op == RAX_GT || op == RAX_GE;
		int			b = best == NULL ? 0 : key_cmp(it->key, it->len, best->key, best->len);

		if ((op == RAX_EQ && c != 0) || (op == RAX_GT && c <= 0) || (op == RAX_GE && c < 0) ||
			(op == RAX_LT && c >= 0) || (op == RAX_LE && c > 0))
			continue;
		if (best == NULL || (up ? b < 0 : b > 0))
			best = it;
	}
	return best;
}

static void
do_insert(Arena *a, Rax *r, Input *in, ArenaUse use)
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len = next_key(in, key);
	Item	   *it = model_find(key, len);
	uint64_t	value = next_byte(in) * UINT64_C(0x123456789abcdf);
	uint64_t	old = 0;
	Rax			was = *r;
	EngStatus	st;

	if (it == NULL && nitems == ITEMS_MAX)
		return;
	st = rax_insert(a, r, key, len, value, &old, use);
	if (it != NULL)
	{
		MUST(st == ENG_EXISTS && old == it->value);
		it->value = value;
	}
	else if (st == ENG_NOMEM)
		MUST(use == ARENA_NORMAL && memcmp(&was, r, sizeof(was)) == 0);
	else
	{
		MUST(st == ENG_OK);
		it = &item[nitems++];
		memcpy(it->key, key, len);
		it->len = len;
		it->value = value;
	}
}

static void
do_remove(Arena *a, Rax *r, Input *in)
{
	uint8_t		key[RAX_KEY_MAX];
	size_t		len = next_key(in, key);
	Item	   *it = model_find(key, len);
	uint64_t	old = 0;

	MUST(rax_remove(a, r, key, len, &old) == (it != NULL));
	if (it != NULL)
	{
		MUST(old == it->value);
		*it = item[--nitems];
	}
}

static void
do_seek(const Arena *a, const Rax *r, Input *in)
{
	RaxSeek		op = (RaxSeek) (next_byte(in) % (RAX_LE + 1));
	uint8_t		key[RAX_KEY_MAX];
	size_t		len = next_key(in, key);
	const Item *it = model_seek(op, key, len);
	uint64_t	value = 0;

	MUST(rax_seek(a, r, op, key, len, key, &len, &value) == (it != NULL));
	if (it != NULL)
		MUST(key_cmp(key, len, it->key, it->len) == 0 && value == it->value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *region;
	Input		in = {data, data + size};
	Rax			r = {0};
	Arena		a;
	ArenaStats	st;
	EngHandle	block = 0;

	if (region == NULL)
		region = aligned_alloc(64, MEMORY);
	MUST(arena_format(region, MEMORY) == ENG_OK);
	MUST(arena_open(&a, region, NULL, NULL, NULL) == ENG_OK);
	nitems = 0;
	while (in.p < in.end)
	{
		switch (next_byte(&in) % 8)
		{
			case 0:
			case 1:
			case 2:
				do_insert(&a, &r, &in, ARENA_NORMAL);
				break;
			case 3:
			case 4:
				do_remove(&a, &r, &in);
				break;
			case 5:
				do_seek(&a, &r, &in);
				break;
			case 6:
				/* take most of the memory, or give it back */
				if (block != 0)
				{
					arena_free(&a, block);
					block = 0;
				}
				else
				{
					arena_stats(&a, &st);
					block = arena_alloc(&a, (size_t) st.pages_free * ARENA_PAGE, ARENA_SHRINK);
				}
				break;
			case 7:
				{
					ArenaCharge c = {{0}, {0}};

					rax_charge(&c, RAX_KEY_MAX, 1);
					if (arena_charge(&a, &c, ARENA_SHRINK))
					{
						uint64_t	n = r.nkeys;
						size_t		m = nitems;

						do_insert(&a, &r, &in, ARENA_CHARGED);
						MUST(r.nkeys - n == nitems - m);
						arena_uncharge(&a, &c);
					}
					break;
				}
		}
		MUST(r.nkeys == nitems);
	}
	MUST(rax_check(&a, &r) == NULL);
	MUST(arena_check(&a) == NULL);
	rax_clear(&a, &r, NULL, NULL);
	if (block != 0)
		arena_free(&a, block);
	arena_stats(&a, &st);
	MUST(st.used == 0 && st.pages_free == st.pages);
	return 0;
}
