/*
 * idset.c
 *	  A set of ids: adding and removing ranges.
 *
 * The keys of the tree are the ids where membership changes, so they take
 * turns: a range begins, it ends.  A range that reaches to the greatest id has
 * no key for its end.  Ranges that touch are one; so equal sets have equal
 * keys.  Both changes put in the keys they need and then take out those that
 * mean nothing any more, which cannot fail.
 *
 * Locking: none here; the owner's, as for the tree.
 */
#include "idset.h"

/* The bound next to an id; op as in rax_seek. */
static bool
seek(const Arena *a, const IdSet *s, RaxSeek op, StreamId id, StreamId *found, uint64_t *begins)
{
	uint8_t		key[RAX_KEY_MAX];

	sid_to_key(id, key);
	if (!rax_seek(a, &s->bounds, op, key, 16, key, NULL, begins))
		return false;
	*found = sid_from_key(key);
	return true;
}

/* Does a range go on from the last bound up to an id?  RAX_LE: is the id in the
 * set?  RAX_LT: is the one before it? */
static bool
inside(const Arena *a, const IdSet *s, RaxSeek op, StreamId id)
{
	StreamId	bound;
	uint64_t	begins;

	return seek(a, s, op, id, &bound, &begins) && begins != 0;
}

static EngStatus
bound_insert(Arena *a, IdSet *s, StreamId id, uint64_t begins, ArenaUse use)
{
	uint8_t		key[16];

	sid_to_key(id, key);
	return rax_insert(a, &s->bounds, key, sizeof(key), begins, NULL, use);
}

static void
bound_remove(Arena *a, IdSet *s, StreamId id)
{
	uint8_t		key[16];

	sid_to_key(id, key);
	rax_remove(a, &s->bounds, key, sizeof(key), NULL);
}

bool
idset_has(const Arena *a, const IdSet *s, StreamId id)
{
	return s->bounds.nkeys > 0 && inside(a, s, RAX_LE, id);
}

/* The last id of the range that begins at or below `at` and has it. */
static StreamId
range_end(const Arena *a, const IdSet *s, StreamId at)
{
	StreamId	end;
	uint64_t	begins;

	if (!seek(a, s, RAX_GT, at, &end, &begins))
		return STREAMID_MAX;
	sid_prev(&end);
	return end;
}

bool
idset_range(const Arena *a, const IdSet *s, StreamId id, StreamId *lo, StreamId *hi)
{
	uint64_t	begins;

	if (!seek(a, s, RAX_LE, id, lo, &begins) || begins == 0)
		return false;
	*hi = range_end(a, s, id);
	return true;
}

bool
idset_next(const Arena *a, const IdSet *s, StreamId from, StreamId *lo, StreamId *hi)
{
	uint64_t	begins;

	if (s->bounds.nkeys == 0)
		return false;
	*lo = from;
	if (!inside(a, s, RAX_LE, from) && !seek(a, s, RAX_GT, from, lo, &begins))
		return false;
	*hi = range_end(a, s, *lo);
	return true;
}

/* Make the ids lo..hi members, or not. */
static EngStatus
change(Arena *a, IdSet *s, StreamId lo, StreamId hi, bool member, ArenaUse use)
{
	StreamId	past = hi;
	bool		has_past = sid_next(&past);
	bool		begin = inside(a, s, RAX_LT, lo) != member;
	bool		end = has_past && inside(a, s, RAX_LE, past) != member;
	bool		made = false;
	StreamId	bound;
	uint64_t	begins;

	/* a key that is there for such a bound already has this value */
	if (begin)
	{
		EngStatus	st = bound_insert(a, s, lo, member, use);

		if (st == ENG_NOMEM)
			return st;
		made = st == ENG_OK;
	}
	if (end && bound_insert(a, s, past, !member, use) == ENG_NOMEM)
	{
		if (made)
			bound_remove(a, s, lo);
		return ENG_NOMEM;
	}

	if (!begin)
		bound_remove(a, s, lo);
	while (seek(a, s, RAX_GT, lo, &bound, &begins) &&
		   (!has_past || sid_cmp(bound, past) < 0))
		bound_remove(a, s, bound);
	if (has_past && !end)
		bound_remove(a, s, past);
	return ENG_OK;
}

EngStatus
idset_add(Arena *a, IdSet *s, StreamId lo, StreamId hi, ArenaUse use)
{
	if (sid_cmp(lo, hi) > 0)
		return ENG_OK;
	return change(a, s, lo, hi, true, use);
}

EngStatus
idset_remove(Arena *a, IdSet *s, StreamId lo, StreamId hi, ArenaUse use)
{
	if (sid_cmp(lo, hi) > 0 || s->bounds.nkeys == 0)
		return ENG_OK;
	return change(a, s, lo, hi, false, use);
}

void
idset_drop(Arena *a, IdSet *s, StreamId id)
{
	StreamId	bound;
	uint64_t	begins;

	if (!seek(a, s, RAX_LE, id, &bound, &begins) || begins == 0)
		return;
	bound_remove(a, s, bound);
	if (seek(a, s, RAX_GT, id, &bound, &begins))
		bound_remove(a, s, bound);
}

void
idset_charge(ArenaCharge *c, uint32_t n)
{
	rax_charge(c, 16, n > UINT32_MAX / 2 ? UINT32_MAX : 2 * n);
}

void
idset_clear(Arena *a, IdSet *s)
{
	rax_clear(a, &s->bounds, NULL, NULL);
}

const char *
idset_check(const Arena *a, const IdSet *s)
{
	const char *problem = rax_check(a, &s->bounds);
	StreamId	bound;
	uint64_t	begins;
	uint64_t	before = 0;
	bool		more;

	if (problem != NULL)
		return problem;
	for (more = seek(a, s, RAX_FIRST, STREAMID_MIN, &bound, &begins);
		 more;
		 more = seek(a, s, RAX_GT, bound, &bound, &begins))
	{
		if (begins > 1)
			return "a bound is of no kind";
		if (begins == before)
			return "bounds of a set do not take turns";
		before = begins;
	}
	return NULL;
}
