/*
 * node_check.c
 *	  Checking reader for nodes that come from outside.
 *
 * One pass: each element is checked, then read as what it is in a node.  It
 * must have its one canonical encoding, because names are compared and fields
 * copied as bytes; only live and dead have a width of their own.
 */
#include "node.h"

typedef struct Cursor
{
	const uint8_t *p;			/* sound up to here */
	const uint8_t *end;			/* the terminator */
	uint32_t	count;			/* elements */
} Cursor;

static bool
check_elem(Cursor *c)
{
	size_t		n = lp_check_elem(c->p, c->end, true);

	c->p += n;
	c->count++;
	return n != 0;
}

static bool
check_elems(Cursor *c, int64_t n)
{
	while (n-- > 0)
	{
		if (!check_elem(c))
			return false;
	}
	return true;
}

/* An integer from lo to hi. */
static bool
check_int(Cursor *c, int64_t lo, int64_t hi, int64_t *v)
{
	LpValue		val;
	const uint8_t *p = c->p;

	if (!check_elem(c))
		return false;
	lp_get(p, &val);
	if (!val.is_int)
		return false;
	*v = val.num;
	return *v >= lo && *v <= hi;
}

/* A count in its fixed width. */
static bool
check_count(Cursor *c, int64_t *v)
{
	uint8_t		want[LP_INT32_SIZE];

	if (lp_check_elem(c->p, c->end, false) != LP_INT32_SIZE)
		return false;
	*v = lp_get_int(c->p);
	if (*v < 0 || *v > INT32_MAX)
		return false;
	lp_int32_write(want, (int32_t) *v);
	if (memcmp(want, c->p, LP_INT32_SIZE) != 0)
		return false;
	c->p += LP_INT32_SIZE;
	c->count++;
	return true;
}

/* One entry; its id and whether it is deleted.  nfields: of the master. */
static bool
check_entry(Cursor *c, StreamId master, int64_t nfields, StreamId *id, bool *deleted)
{
	int64_t		flags;
	int64_t		ms;
	int64_t		seq;
	int64_t		lpcount;
	int64_t		nelems;			/* names and values */

	if (!check_int(c, 0, NODE_DELETED | NODE_SAME, &flags) ||
		!check_int(c, 0, INT64_MAX, &ms) ||
		!check_int(c, INT64_MIN, INT64_MAX, &seq))
		return false;
	if ((uint64_t) ms > UINT64_MAX - master.ms)
		return false;
	id->ms = master.ms + (uint64_t) ms;
	id->seq = master.seq + (uint64_t) seq;
	*deleted = (flags & NODE_DELETED) != 0;

	if ((flags & NODE_SAME) != 0)
		nelems = nfields;
	else
	{
		if (!check_int(c, 1, INT32_MAX, &nfields))
			return false;
		nelems = 2 * nfields + 1;
	}
	return check_elems(c, (flags & NODE_SAME) != 0 ? nelems : nelems - 1) &&
		check_int(c, nelems + 3, nelems + 3, &lpcount);
}

bool
node_validate(const uint8_t *node, size_t size, StreamId master)
{
	Cursor		c;
	StreamId	last = STREAMID_MIN;
	int64_t		live = 0;
	int64_t		dead = 0;
	int64_t		want_live;
	int64_t		want_dead;
	int64_t		nfields;
	int64_t		zero;

	if (!lp_check_frame(node, size))
		return false;
	c = (Cursor) {lp_first(node), node + size - 1, 0};
	if (!check_count(&c, &want_live) ||
		!check_count(&c, &want_dead) ||
		!check_int(&c, 1, INT32_MAX, &nfields) ||
		!check_elems(&c, nfields) ||
		!check_int(&c, 0, 0, &zero))
		return false;

	while (c.p < c.end)
	{
		StreamId	id;
		bool		deleted;

		if (!check_entry(&c, master, nfields, &id, &deleted))
			return false;
		/* rising from the master id on, and never 0-0 */
		if (sid_cmp(id, master) < 0 || sid_cmp(id, last) <= 0)
			return false;
		last = id;
		if (deleted)
			dead++;
		else
			live++;
	}
	return live == want_live && dead == want_dead && live + dead > 0 &&
		lp_check_count(node, c.count, false);
}
