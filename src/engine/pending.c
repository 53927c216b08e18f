/*
 * pending.c
 *	  Pending records of a group: changing them.
 *
 *   1. A record is changed in its place.  Only a count that no narrow block
 *      can hold makes the block wide.
 *   2. Records are inserted in batches.  What a batch touches, the blocks
 *      between its first and its last id, is written anew, together with the
 *      batch, into as few blocks as hold it: so the memory needed depends on
 *      the number of records only, wherever they belong.  Blocks are filled at
 *      the end of the list, where nothing comes between; elsewhere the records
 *      are divided evenly.  A block with room for all just takes them.
 *   3. After a removal a block and its neighbour become one, if they hold no
 *      more than JOIN_RECORDS together and one of them has the room.  Since
 *      this allocates nothing and full blocks are of one size, any two
 *      neighbours are nearly half full on average, whatever was removed.
 *
 * Memory: as in stream.c, blocks are first asked for as anyone may ask, and
 * only if that fails taken from the charge, with the greatest size of their
 * form.  All is taken before the first change.
 *
 * Locking: none here; the owner's.
 */
#include "pending_int.h"

#include <assert.h>

#define JOIN_RECORDS	(BLOCK_RECORDS - 7)
#define FIRST_RECORDS	4

/* Blocks written by one batch, and the records of the two blocks at its ends. */
#define ENDS			(2 * BLOCK_RECORDS)
#define BLOCKS_FOR(n)	(((n) + ENDS + BLOCK_RECORDS - 1) / BLOCK_RECORDS)
#define BLOCKS_MAX		BLOCKS_FOR(2 * PENDING_BATCH)

_Static_assert(sizeof(Narrow) == 20 && sizeof(Wide) == 40, "records must be packed");
_Static_assert(BLOCK_HEAD == 64, "the head of a block is one cache line");
_Static_assert(NARROW_BYTES <= 2048 && WIDE_BYTES <= 4096, "blocks must fit their size classes");

/* --- records in blocks --- */

static inline size_t
record_bytes(bool wide)
{
	return wide ? sizeof(Wide) : sizeof(Narrow);
}

/* Records that a block with this room holds at most. */
static unsigned
room_for(size_t room, bool wide)
{
	size_t		n = (room - BLOCK_HEAD) / record_bytes(wide);

	return n < BLOCK_RECORDS ? (unsigned) n : BLOCK_RECORDS;
}

bool
pending_count_is_wide(uint64_t count)
{
	return count > NARROW_COUNT_MAX && count != INT64_MAX;
}

static bool
is_narrow(StreamId base, const PendingRecord *r)
{
	uint64_t	ms = r->id.ms - base.ms;
	uint64_t	seq = ms == 0 ? r->id.seq - base.seq : r->id.seq;

	return ms <= UINT32_MAX && seq <= UINT32_MAX && !pending_count_is_wide(r->count);
}

/* Write a record in its place; the summary is noted, the counts are not. */
static void
block_put(Block *b, unsigned i, const PendingRecord *r)
{
	if (b->wide)
	{
		Wide	   *w = &b->u.wide[i];

		w->id = r->id;
		w->time = r->time;
		w->count = r->count;
		w->consumer = r->consumer;
	}
	else
	{
		Narrow	   *n = &b->u.narrow[i];
		uint64_t	ms = r->id.ms - b->base.ms;

		n->ms = (uint32_t) ms;
		n->seq = (uint32_t) (ms == 0 ? r->id.seq - b->base.seq : r->id.seq);
		n->consumer = r->consumer;
		n->time_low = (uint32_t) r->time;
		n->time_high = (uint16_t) (r->time >> 32);
		n->count = (uint16_t) (r->count == INT64_MAX ? UINT16_MAX : r->count);
	}
	block_note(b, r->consumer, r->time);
}

/* Records from i on one place up, or down. */
static void
block_shift(Block *b, unsigned i, int by)
{
	size_t		size = record_bytes(b->wide);
	char	   *at = (char *) &b->u + i * size;

	memmove(at + by * (ptrdiff_t) size, at, (b->n - i) * size);
}

static void
block_init(Block *b, StreamId base, bool wide)
{
	memset(b, 0, BLOCK_HEAD);
	b->base = base;
	b->wide = wide;
	b->oldest_owned = b->oldest_released = UINT64_MAX;
}

static void
block_append(Block *b, const PendingRecord *r)
{
	block_put(b, b->n++, r);
	b->released += r->consumer == 0;
}

void
pending_summarize(Block *b)
{
	PendingRecord r;

	b->owners = 0;
	b->oldest_owned = b->oldest_released = UINT64_MAX;
	for (unsigned i = 0; i < b->n; i++)
	{
		block_get(b, i, &r);
		block_note(b, r.consumer, r.time);
	}
	b->loose = false;
}

/* --- blocks in the list --- */

/* A block for n records, better `want`. */
static EngHandle
block_alloc(Arena *a, unsigned n, unsigned want, bool wide, ArenaUse use)
{
	size_t		need = BLOCK_HEAD + n * record_bytes(wide);
	size_t		most = BLOCK_HEAD + (want < BLOCK_RECORDS ? want : BLOCK_RECORDS) * record_bytes(wide);
	EngHandle	h = arena_alloc(a, most > need ? most : need, ARENA_NORMAL);

	if (h == 0 && most > need)
		h = arena_alloc(a, need, ARENA_NORMAL);
	if (h == 0 && use != ARENA_NORMAL)
		h = arena_alloc(a, wide ? WIDE_BYTES : NARROW_BYTES, use);
	return h;
}

static EngStatus
key_insert(Arena *a, Pending *p, StreamId base, EngHandle h, uint64_t *old, ArenaUse use)
{
	uint8_t		key[16];

	sid_to_key(base, key);
	return rax_insert(a, &p->blocks, key, sizeof(key), h, old, use);
}

/* Let a key that is there lead to block h. */
static void
key_set(Arena *a, Pending *p, StreamId base, EngHandle h)
{
	(void) key_insert(a, p, base, h, NULL, ARENA_NORMAL);
}

static void
key_remove(Arena *a, Pending *p, StreamId base)
{
	uint8_t		key[16];

	sid_to_key(base, key);
	rax_remove(a, &p->blocks, key, sizeof(key), NULL);
}

/* Chain two blocks; either may be none. */
static void
chain(const Arena *a, Pending *p, EngHandle left, EngHandle right)
{
	if (left != 0)
		block_at(a, left)->next = right;
	else
		p->first = right;
	if (right != 0)
		block_at(a, right)->prev = left;
	else
		p->last = left;
}

/* --- bounds of all --- */

static void
note_record(Pending *p, const PendingRecord *r)
{
	uint64_t   *oldest = r->consumer == 0 ? &p->oldest_released : &p->oldest_owned;

	if (p->n == 0)
		p->oldest_owned = p->oldest_released = UINT64_MAX;
	if (r->time < *oldest)
		*oldest = r->time;
}

/* Where nothing is left the bounds are known. */
static void
note_gone(Pending *p)
{
	if (p->released == 0)
		p->oldest_released = UINT64_MAX;
	if (p->released == p->n)
		p->oldest_owned = UINT64_MAX;
}

/* --- setting --- */

EngStatus
pending_set(Arena *a, Pending *p, const PendingRecord *r, ArenaUse use)
{
	EngHandle	h;
	Block	   *b;
	unsigned	i;
	PendingRecord old;

	if (!block_find(a, p, r->id, &h, &i))
		return ENG_NOTFOUND;
	b = block_at(a, h);
	block_get(b, i, &old);
	if (!b->wide && !is_narrow(b->base, r))
	{
		EngHandle	wide_h = block_alloc(a, b->n, b->n, true, use);
		Block	   *wide;

		if (wide_h == 0)
			return ENG_NOMEM;
		wide = block_at(a, wide_h);
		block_init(wide, b->base, true);
		for (unsigned j = 0; j < b->n; j++)
		{
			PendingRecord moved;

			block_get(b, j, &moved);
			block_append(wide, &moved);
		}
		chain(a, p, b->prev, wide_h);
		chain(a, p, wide_h, b->next);
		key_set(a, p, b->base, wide_h);
		arena_free(a, h);
		b = wide;
	}

	b->released += r->consumer == 0;
	b->released -= old.consumer == 0;
	b->loose = true;
	block_put(b, i, r);
	p->released += r->consumer == 0;
	p->released -= old.consumer == 0;
	note_gone(p);
	note_record(p, r);
	return ENG_OK;
}

/* --- inserting --- */

/* Records of a part of the list and those of a batch, as one list. */
typedef struct Merge
{
	const Arena *a;
	EngHandle	block;
	EngHandle	end;			/* the block behind the part, or 0 */
	unsigned	pos;
	const PendingRecord *r;
	size_t		n;
} Merge;

static void
merge_next(Merge *m, PendingRecord *r)
{
	const Block *b;

	while (m->block != m->end && m->pos == block_at(m->a, m->block)->n)
	{
		m->block = block_at(m->a, m->block)->next;
		m->pos = 0;
	}
	if (m->block == m->end)
	{
		*r = *m->r++;
		m->n--;
		return;
	}
	b = block_at(m->a, m->block);
	if (m->n > 0 && sid_cmp(m->r->id, block_id(b, m->pos)) < 0)
	{
		*r = *m->r++;
		m->n--;
	}
	else
		block_get(b, m->pos++, r);
}

/* What a batch touches, and the blocks that take its place. */
typedef struct Insert
{
	Arena	   *a;
	Pending    *p;
	ArenaUse	use;
	const PendingRecord *r;
	size_t		n;
	EngHandle	from;			/* first block touched; 0: none */
	EngHandle	prev;			/* the blocks around, or 0 */
	EngHandle	end;
	size_t		total;			/* records: touched and new */

	unsigned	count;			/* blocks made */
	struct
	{
		EngHandle	h;
		StreamId	base;
		unsigned	n;			/* records to come into it */
		bool		made_key;
		uint64_t	old;		/* what the key led to; 0: it was not there */
	}			new[BLOCKS_MAX];
} Insert;

/* Find what is touched. */
static void
insert_place(Insert *in)
{
	const Arena *a = in->a;
	const Pending *p = in->p;
	StreamId	last = in->r[in->n - 1].id;
	EngHandle	low = block_for(a, p, in->r[0].id);

	in->from = low != 0 ? low : p->first;
	in->total = in->n;
	if (low == 0 && in->from != 0 && sid_cmp(block_at(a, in->from)->base, last) > 0 &&
		block_at(a, in->from)->n + in->n > BLOCK_RECORDS)
	{
		/* all below the first block, which has no room */
		in->end = in->from;
		in->from = 0;
		in->prev = 0;
		return;
	}
	in->prev = in->from != 0 ? block_at(a, in->from)->prev : 0;
	in->end = in->from;
	while (in->end != 0 && (in->end == in->from || sid_cmp(block_at(a, in->end)->base, last) <= 0))
	{
		in->total += block_at(a, in->end)->n;
		in->end = block_at(a, in->end)->next;
	}
}

/* Put all into the one block that is touched, if it has the room. */
static bool
insert_in_place(Insert *in)
{
	Block	   *b;
	unsigned	i;

	if (in->from == 0)
		return false;
	b = block_at(in->a, in->from);
	if (b->next != in->end || in->total > room_for(arena_room(in->a, in->from), b->wide) ||
		sid_cmp(in->r[0].id, b->base) < 0)
		return false;
	for (size_t j = 0; j < in->n && !b->wide; j++)
		if (!is_narrow(b->base, &in->r[j]))
			return false;
	i = block_lower(b, in->r[0].id);
	for (size_t j = 0; j < in->n; j++, i++)
	{
		while (i < b->n && sid_cmp(block_id(b, i), in->r[j].id) < 0)
			i++;
		if (i < b->n)
			block_shift(b, i, 1);
		block_put(b, i, &in->r[j]);
		b->n++;
		b->released += in->r[j].consumer == 0;
	}
	return true;
}

static void
insert_start(const Insert *in, Merge *m)
{
	*m = (Merge) {.a = in->a, .block = in->from, .end = in->end, .r = in->r, .n = in->n};
	if (in->from == 0)
		m->block = m->end;
}

/* Take the blocks and their keys. */
static bool
insert_prepare(Insert *in)
{
	size_t		blocks = (in->total + BLOCK_RECORDS - 1) / BLOCK_RECORDS;
	bool		on_top = in->end == 0;
	size_t		left = in->total;
	Merge		m;

	assert(blocks <= BLOCKS_MAX);
	insert_start(in, &m);
	for (size_t k = 0; k < blocks; k++)
	{
		unsigned	n = (unsigned) (on_top ? (left < BLOCK_RECORDS ? left : BLOCK_RECORDS) :
									left / (blocks - k));
		unsigned	want = n;
		bool		wide = false;
		StreamId	base = STREAMID_MIN;
		EngHandle	h;

		for (unsigned j = 0; j < n; j++)
		{
			PendingRecord r;

			merge_next(&m, &r);
			if (j == 0)
			{
				base = r.id;
				/* the first key stays, if it can */
				if (k == 0 && in->from != 0 && sid_cmp(block_at(in->a, in->from)->base, base) < 0)
					base = block_at(in->a, in->from)->base;
			}
			wide = wide || !is_narrow(base, &r);
		}
		left -= n;
		if (on_top && left == 0)
			want = n < FIRST_RECORDS / 2 ? FIRST_RECORDS : 2 * n;
		else if (!on_top)
			want = n + n / 4;
		h = block_alloc(in->a, n, want, wide, in->use);
		if (h == 0)
			return false;
		block_init(block_at(in->a, h), base, wide);
		in->new[in->count].h = h;
		in->new[in->count].base = base;
		in->new[in->count].n = n;
		in->new[in->count].made_key = false;
		in->new[in->count].old = 0;
		in->count++;
	}
	for (unsigned k = 0; k < in->count; k++)
	{
		EngStatus	st = key_insert(in->a, in->p, in->new[k].base, in->new[k].h, &in->new[k].old, in->use);

		if (st == ENG_NOMEM)
			return false;
		if (st == ENG_OK)
			in->new[k].old = 0;
		in->new[k].made_key = true;
	}
	return true;
}

static void
insert_undo(Insert *in)
{
	for (unsigned k = 0; k < in->count; k++)
	{
		if (in->new[k].made_key && in->new[k].old != 0)
			key_set(in->a, in->p, in->new[k].base, in->new[k].old);
		else if (in->new[k].made_key)
			key_remove(in->a, in->p, in->new[k].base);
		arena_free(in->a, in->new[k].h);
	}
}

/* Fill the new blocks and put them where the touched ones were. */
static void
insert_rewrite(Insert *in)
{
	Arena	   *a = in->a;
	EngHandle	prev = in->prev;
	Merge		m;

	insert_start(in, &m);
	for (unsigned k = 0; k < in->count; k++)
	{
		Block	   *b = block_at(a, in->new[k].h);

		for (unsigned j = 0; j < in->new[k].n; j++)
		{
			PendingRecord r;

			merge_next(&m, &r);
			block_append(b, &r);
		}
	}
	for (EngHandle h = in->from; h != 0 && h != in->end;)
	{
		EngHandle	next = block_at(a, h)->next;
		bool		replaced = false;

		for (unsigned k = 0; k < in->count; k++)
			replaced = replaced || in->new[k].old == h;
		if (!replaced)
			key_remove(a, in->p, block_at(a, h)->base);
		arena_free(a, h);
		h = next;
	}
	for (unsigned k = 0; k < in->count; k++)
	{
		chain(a, in->p, prev, in->new[k].h);
		prev = in->new[k].h;
	}
	chain(a, in->p, prev, in->end);
}

EngStatus
pending_insert(Arena *a, Pending *p, const PendingRecord *r, size_t n, ArenaUse use)
{
	Insert		in = {.a = a, .p = p, .use = use, .r = r, .n = n};

	if (n == 0)
		return ENG_OK;
	insert_place(&in);
	if (in.total > (size_t) BLOCKS_MAX * BLOCK_RECORDS)
	{
		EngStatus	st = ENG_OK;

		for (size_t i = 0; i < n && st == ENG_OK; i++)
			st = pending_insert(a, p, &r[i], 1, use);
		return st;
	}
	if (!insert_in_place(&in))
	{
		if (!insert_prepare(&in))
		{
			insert_undo(&in);
			return ENG_NOMEM;
		}
		insert_rewrite(&in);
	}
	for (size_t i = 0; i < n; i++)
	{
		note_record(p, &r[i]);
		p->n++;
		p->released += r[i].consumer == 0;
	}
	return ENG_OK;
}

/* A batch keeps the key of the first block it touches, if any is below it. */
static void
charge_batches(ArenaCharge *c, uint32_t n, uint64_t blocks)
{
	uint64_t	all = n * blocks;
	uint32_t	count = all > UINT32_MAX ? UINT32_MAX : (uint32_t) all;

	if (count == 0)
		return;
	arena_charge_exact(c, NARROW_BYTES, count);
	arena_charge_exact(c, WIDE_BYTES, count);
	rax_charge(c, 16, count - n);
}

void
pending_charge(ArenaCharge *c, uint32_t n)
{
	charge_batches(c, n / PENDING_BATCH, BLOCKS_FOR(PENDING_BATCH));
	if (n % PENDING_BATCH > 1)
		charge_batches(c, 1, BLOCKS_FOR(n % PENDING_BATCH));
	else
		pending_charge_single(c, n % PENDING_BATCH);
}

void
pending_charge_single(ArenaCharge *c, uint32_t n)
{
	charge_batches(c, n, 2);
}

void
pending_charge_wide(ArenaCharge *c, uint32_t n)
{
	if (n > 0)
		arena_charge_exact(c, WIDE_BYTES, n);
}

/* --- removing --- */

/* Make one block of two neighbours, if they are small. */
static bool
join(Arena *a, Pending *p, EngHandle left_h, EngHandle right_h)
{
	Block	   *left;
	Block	   *right;
	EngHandle	into_h = left_h;
	Block	   *into;
	PendingRecord r[JOIN_RECORDS];
	unsigned	n;
	bool		wide = false;
	EngHandle	prev;
	EngHandle	next;
	StreamId	base;

	if (left_h == 0 || right_h == 0)
		return false;
	left = block_at(a, left_h);
	right = block_at(a, right_h);
	n = left->n + right->n;
	if (n > JOIN_RECORDS)
		return false;
	for (unsigned i = 0; i < n; i++)
	{
		if (i < left->n)
			block_get(left, i, &r[i]);
		else
			block_get(right, i - left->n, &r[i]);
		wide = wide || !is_narrow(left->base, &r[i]);
	}
	if (arena_room(a, right_h) > arena_room(a, left_h))
		into_h = right_h;
	if (n > room_for(arena_room(a, into_h), wide))
		return false;

	prev = left->prev;
	next = right->next;
	base = left->base;
	key_remove(a, p, right->base);
	if (into_h == right_h)
		key_set(a, p, base, right_h);
	arena_free(a, into_h == left_h ? right_h : left_h);
	into = block_at(a, into_h);
	block_init(into, base, wide);
	for (unsigned i = 0; i < n; i++)
		block_append(into, &r[i]);
	chain(a, p, prev, into_h);
	chain(a, p, into_h, next);
	return true;
}

bool
pending_remove(Arena *a, Pending *p, StreamId id, PendingRecord *old)
{
	EngHandle	h;
	Block	   *b;
	unsigned	i;

	if (!block_find(a, p, id, &h, &i))
		return false;
	b = block_at(a, h);
	block_get(b, i, old);
	block_shift(b, i + 1, -1);
	b->n--;
	b->released -= old->consumer == 0;
	b->loose = true;
	p->n--;
	p->released -= old->consumer == 0;
	note_gone(p);
	if (b->n == 0)
	{
		chain(a, p, b->prev, b->next);
		key_remove(a, p, b->base);
		arena_free(a, h);
	}
	else if (!join(a, p, b->prev, h))
		(void) join(a, p, h, b->next);
	return true;
}

static void
free_block(void *arg, uint64_t value)
{
	arena_free(arg, value);
}

void
pending_destroy(Arena *a, Pending *p)
{
	rax_clear(a, &p->blocks, free_block, a);
	memset(p, 0, sizeof(*p));
	p->oldest_owned = p->oldest_released = UINT64_MAX;
}
