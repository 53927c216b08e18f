/*
 * node.c
 *	  The listpack of a stream's node: entries that share field names.
 *
 * The layout is drawn in node.h and, byte by byte, in docs/formats.md.
 *
 * All writing goes through one description of an entry, NodeEntry: a fields
 * list from outside looks like an entry that brings its own names.  Elements
 * are copied as they are, never decoded: canonical encodings are equal exactly
 * when the strings are.
 *
 * The listpack count of a node is kept while it is known; a node of 65535
 * elements or more says "not known", as the format has it.
 */
#include "node.h"

/* Places in every node: live and dead have a fixed width. */
#define OFF_LIVE		LP_HDR_SIZE
#define OFF_DEAD		(OFF_LIVE + LP_INT32_SIZE)
#define OFF_NFIELDS		(OFF_DEAD + LP_INT32_SIZE)

/* Elements of a master beside the names, and of an entry with lp-count. */
#define MASTER_ELEMS(n)	(4 + (n))
#define SAME_ELEMS(n)	(4 + (n))
#define OWN_ELEMS(n)	(5 + 2 * (n))

/* --- small things --- */

static inline uint32_t
int32_at(const uint8_t *p)
{
	return (uint32_t) p[1] | (uint32_t) p[2] << 8 | (uint32_t) p[3] << 16 | (uint32_t) p[4] << 24;
}

static inline void
set_counts(uint8_t *node, uint32_t live, uint32_t dead)
{
	lp_int32_write(node + OFF_LIVE, (int32_t) live);
	lp_int32_write(node + OFF_DEAD, (int32_t) dead);
}

/* The element count in the header, as it stands. */
static inline uint32_t
raw_count(const uint8_t *node)
{
	return (uint32_t) node[4] | (uint32_t) node[5] << 8;
}

/* Header after `more` elements were added. */
static inline void
grow_header(uint8_t *node, size_t bytes, uint32_t more)
{
	uint32_t	count = raw_count(node);

	lp_set_header(node, bytes, count == LP_COUNT_UNKNOWN ? count : count + more);
}

/* Read a number and step over it. */
static inline int64_t
take_int(const uint8_t **p)
{
	int64_t		v;

	if (**p < 0x80)
	{
		v = **p;
		*p += 2;
		return v;
	}
	v = lp_get_int(*p);
	*p = lp_next(*p);
	return v;
}

static inline uint8_t *
put_bytes(uint8_t *p, const void *src, size_t n)
{
	memcpy(p, src, n);
	return p + n;
}

static inline bool
too_far(StreamId master, StreamId id)
{
	return id.ms - master.ms > (uint64_t) INT64_MAX;
}

uint32_t
node_live(const uint8_t *node)
{
	return int32_at(node + OFF_LIVE);
}

uint32_t
node_dead(const uint8_t *node)
{
	return int32_at(node + OFF_DEAD);
}

/* A fields list as an entry that brings its own names. */
static void
entry_of_fields(NodeEntry *e, StreamId id, const uint8_t *fields)
{
	memset(e, 0, sizeof(*e));
	e->id = id;
	e->nfields = lp_count(fields) / 2;
	e->names = lp_first(fields);
	e->values = lp_next(e->names);
	e->fields_end = fields + lp_bytes(fields) - 1;
}

/* --- writing one entry --- */

/* What a writer knows of the node it writes to. */
typedef struct Target
{
	StreamId	master;
	uint32_t	nfields;
	const uint8_t *names;
	size_t		names_bytes;

	/* the answer for the names last asked about, if in some master */
	const uint8_t *seen;
	bool		seen_same;
} Target;

static void
target_init(Target *t, const uint8_t *node, StreamId master)
{
	NodeIter	it;

	node_iter(&it, node, master, false, true);
	t->master = master;
	t->nfields = it.nfields;
	t->names = it.names;
	t->names_bytes = it.names_bytes;
	t->seen = NULL;
	t->seen_same = false;
}

/* Has the entry the names of the master, in the same order? */
static bool
target_same(Target *t, const NodeEntry *e)
{
	const uint8_t *m = t->names;
	const uint8_t *p = e->names;

	if (e->nfields != t->nfields)
		return false;
	if (e->same_fields)
	{
		if (t->seen != e->names)
		{
			t->seen = e->names;
			t->seen_same = e->names_bytes == t->names_bytes &&
				memcmp(e->names, t->names, t->names_bytes) == 0;
		}
		return t->seen_same;
	}
	for (uint32_t i = 0; i < t->nfields; i++)
	{
		size_t		n = lp_elem_bytes(m);

		if (lp_elem_bytes(p) != n || memcmp(m, p, n) != 0)
			return false;
		m += n;
		p = lp_next(p + n);
	}
	return true;
}

static size_t
entry_size(const Target *t, const NodeEntry *e, bool same)
{
	size_t		n = 2;			/* flags */

	n += lp_int_size((int64_t) (e->id.ms - t->master.ms));
	n += lp_int_size((int64_t) (e->id.seq - t->master.seq));
	if (e->same_fields)
		n += (size_t) (e->fields_end - e->values) + (same ? 0 : e->names_bytes);
	else
		n += (size_t) (e->fields_end - e->names) - (same ? t->names_bytes : 0);
	if (same)
		return n + lp_int_size((int64_t) SAME_ELEMS(e->nfields) - 1);
	return n + lp_int_size(e->nfields) + lp_int_size(2 * (int64_t) e->nfields + 4);
}

/* Write the entry at p; returns the place after it. */
static uint8_t *
entry_write(uint8_t *p, StreamId master, const NodeEntry *e, bool same)
{
	p += lp_int_write(p, same ? NODE_SAME : 0);
	p += lp_int_write(p, (int64_t) (e->id.ms - master.ms));
	p += lp_int_write(p, (int64_t) (e->id.seq - master.seq));
	if (!same)
		p += lp_int_write(p, e->nfields);

	if (same == e->same_fields)
	{
		/* the elements stand there as they are wanted */
		const uint8_t *from = same ? e->values : e->names;

		p = put_bytes(p, from, (size_t) (e->fields_end - from));
	}
	else if (same)
	{
		const uint8_t *v = e->values;

		for (uint32_t i = 0;; i++)
		{
			size_t		n = lp_elem_bytes(v);

			p = put_bytes(p, v, n);
			if (i + 1 >= e->nfields)
				break;
			v = lp_next(v + n);
		}
	}
	else
	{
		const uint8_t *f = e->names;
		const uint8_t *v = e->values;

		for (uint32_t i = 0; i < e->nfields; i++)
		{
			size_t		nf = lp_elem_bytes(f);
			size_t		nv = lp_elem_bytes(v);

			p = put_bytes(p, f, nf);
			p = put_bytes(p, v, nv);
			f += nf;
			v += nv;
		}
	}
	return p + lp_int_write(p, same ? (int64_t) SAME_ELEMS(e->nfields) - 1 : 2 * (int64_t) e->nfields + 4);
}

/* --- making and appending --- */

size_t
node_size_one(const uint8_t *fields)
{
	int64_t		n = lp_count(fields) / 2;

	return LP_EMPTY_SIZE + 2 * LP_INT32_SIZE +
		lp_int_size(n) + (lp_bytes(fields) - LP_EMPTY_SIZE) + 2 +	/* names and values, 0 */
		6 + lp_int_size(n + 3);	/* flags, deltas, lp-count */
}

void
node_create(uint8_t *node, const uint8_t *fields)
{
	uint32_t	n = lp_count(fields) / 2;
	const uint8_t *f = lp_first(fields);
	uint8_t    *p = node + OFF_NFIELDS;

	set_counts(node, 0, 0);
	p += lp_int_write(p, n);
	for (uint32_t i = 0; i < n; i++)
	{
		size_t		nf = lp_elem_bytes(f);

		p = put_bytes(p, f, nf);
		f = lp_next(f + nf);
	}
	p += lp_int_write(p, 0);
	*p++ = LP_EOF;
	lp_set_header(node, (size_t) (p - node), MASTER_ELEMS(n));
	node_append(node, STREAMID_MIN, STREAMID_MIN, fields);
}

size_t
node_add_size(NodeAdd *add, const uint8_t *node, StreamId master, StreamId id, const uint8_t *fields)
{
	Target		t;

	if (too_far(master, id))
		return NODE_TOO_FAR;
	target_init(&t, node, master);
	add->master = master;
	entry_of_fields(&add->entry, id, fields);
	add->same = target_same(&t, &add->entry);
	return entry_size(&t, &add->entry, add->same);
}

void
node_add_write(const NodeAdd *add, uint8_t *node)
{
	uint32_t	n = add->entry.nfields;
	uint8_t    *p = entry_write(node + lp_bytes(node) - 1, add->master, &add->entry, add->same);

	*p++ = LP_EOF;
	grow_header(node, (size_t) (p - node), add->same ? SAME_ELEMS(n) : OWN_ELEMS(n));
	lp_int32_write(node + OFF_LIVE, (int32_t) (node_live(node) + 1));
}

size_t
node_entry_size(const uint8_t *node, StreamId master, StreamId id, const uint8_t *fields)
{
	NodeAdd		add;

	return node_add_size(&add, node, master, id, fields);
}

void
node_append(uint8_t *node, StreamId master, StreamId id, const uint8_t *fields)
{
	NodeAdd		add;

	(void) node_add_size(&add, node, master, id, fields);
	node_add_write(&add, node);
}

/* --- walking --- */

void
node_iter(NodeIter *it, const uint8_t *node, StreamId master, bool reverse, bool with_deleted)
{
	const uint8_t *p = node + OFF_NFIELDS;

	it->node = node;
	it->master = master;
	it->nfields = (uint32_t) take_int(&p);
	it->names = p;
	for (uint32_t i = 0; i < it->nfields; i++)
		p = lp_next(p);
	it->names_bytes = (size_t) (p - it->names);
	it->begin = lp_next(p);		/* after the 0 */
	it->p = reverse ? node + lp_bytes(node) - 1 : it->begin;
	it->reverse = reverse;
	it->with_deleted = with_deleted;
}

/* Read an entry up to its first value. */
static inline void
entry_head(const NodeIter *it, const uint8_t *p, NodeEntry *e)
{
	int64_t		flags;

	e->at = p;
	flags = take_int(&p);
	e->deleted = (flags & NODE_DELETED) != 0;
	e->same_fields = (flags & NODE_SAME) != 0;
	e->id.ms = it->master.ms + (uint64_t) take_int(&p);
	e->id.seq = it->master.seq + (uint64_t) take_int(&p);
	e->body = p;
	if (e->same_fields)
	{
		e->nfields = it->nfields;
		e->names = it->names;
		e->names_bytes = it->names_bytes;
		e->values = p;
	}
	else
	{
		e->nfields = (uint32_t) take_int(&p);
		e->names = p;
		e->names_bytes = 0;
		e->values = lp_next(p);
	}
}

static inline bool
next_forward(NodeIter *it, NodeEntry *e)
{
	const uint8_t *p = it->p;
	uint32_t	n;

	if (lp_at_end(p))
		return false;
	entry_head(it, p, e);
	p = e->same_fields ? e->values : e->names;
	n = e->same_fields ? e->nfields : 2 * e->nfields;
	while (n-- > 0)
		p = lp_next(p);
	e->fields_end = p;
	e->end = it->p = lp_next(p);
	return true;
}

static inline bool
next_reverse(NodeIter *it, NodeEntry *e)
{
	const uint8_t *p = it->p;
	int64_t		n;

	if (p == it->begin)
		return false;
	e->end = p;
	e->fields_end = p = lp_prev(it->node, p);
	for (n = lp_get_int(p); n > 0; n--)
		p = lp_prev(it->node, p);
	entry_head(it, p, e);
	it->p = p;
	return true;
}

bool
node_next(NodeIter *it, NodeEntry *e)
{
	do
	{
		if (!(it->reverse ? next_reverse(it, e) : next_forward(it, e)))
			return false;
	} while (e->deleted && !it->with_deleted);
	return true;
}

size_t
node_fields_size(const NodeEntry *e)
{
	if (e->same_fields)
		return LP_EMPTY_SIZE + e->names_bytes + (size_t) (e->fields_end - e->values);
	return LP_EMPTY_SIZE + (size_t) (e->fields_end - e->names);
}

void
node_fields_write(const NodeEntry *e, uint8_t *fields)
{
	uint8_t    *p = fields + LP_HDR_SIZE;

	if (e->same_fields)
	{
		const uint8_t *f = e->names;
		const uint8_t *v = e->values;

		for (uint32_t i = 0; i < e->nfields; i++)
		{
			size_t		nf = lp_elem_bytes(f);
			size_t		nv = lp_elem_bytes(v);

			p = put_bytes(p, f, nf);
			p = put_bytes(p, v, nv);
			f += nf;
			v += nv;
		}
	}
	else
		p = put_bytes(p, e->names, (size_t) (e->fields_end - e->names));
	*p++ = LP_EOF;
	lp_set_header(fields, (size_t) (p - fields), 2 * e->nfields);
}

StreamId
node_last(const uint8_t *node, StreamId master)
{
	NodeIter	it;
	NodeEntry	e;

	node_iter(&it, node, master, true, true);
	return node_next(&it, &e) ? e.id : master;
}

bool
node_find(const uint8_t *node, StreamId master, StreamId id, NodeEntry *e)
{
	NodeIter	it;

	node_iter(&it, node, master, false, true);
	while (node_next(&it, e))
	{
		int			cmp = sid_cmp(e->id, id);

		if (cmp >= 0)
			return cmp == 0;
	}
	return false;
}

bool
node_bounds(const uint8_t *node, StreamId master, StreamId *first, StreamId *last)
{
	NodeIter	it;
	NodeEntry	e;

	node_iter(&it, node, master, false, false);
	if (!node_next(&it, &e))
		return false;
	*first = e.id;
	node_iter(&it, node, master, true, false);
	node_next(&it, &e);
	*last = e.id;
	return true;
}

/* --- deleting --- */

/* Flags are below 128 and so stand in the element's first byte. */
static void
set_deleted(uint8_t *node, const NodeEntry *e)
{
	node[e->at - node] |= NODE_DELETED;
}

bool
node_delete(uint8_t *node, StreamId master, StreamId id)
{
	NodeEntry	e;

	if (!node_find(node, master, id, &e) || e.deleted)
		return false;
	set_deleted(node, &e);
	set_counts(node, node_live(node) - 1, node_dead(node) + 1);
	return true;
}

uint32_t
node_delete_below(uint8_t *node, StreamId master, StreamId bound)
{
	NodeIter	it;
	NodeEntry	e;
	uint32_t	n = 0;

	node_iter(&it, node, master, false, false);
	while (node_next(&it, &e) && sid_cmp(e.id, bound) < 0)
	{
		set_deleted(node, &e);
		n++;
	}
	set_counts(node, node_live(node) - n, node_dead(node) + n);
	return n;
}

static inline uint32_t
entry_elems(const NodeEntry *e)
{
	return e->same_fields ? SAME_ELEMS(e->nfields) : OWN_ELEMS(e->nfields);
}

void
node_compact(uint8_t *node)
{
	NodeIter	it;
	NodeEntry	e;
	uint8_t    *p;
	uint32_t	elems;
	uint32_t	live = 0;

	node_iter(&it, node, STREAMID_MIN, false, false);
	p = node + (it.begin - node);
	elems = MASTER_ELEMS(it.nfields);
	while (node_next(&it, &e))
	{
		size_t		n = (size_t) (e.end - e.at);

		memmove(p, e.at, n);
		p += n;
		elems += entry_elems(&e);
		live++;
	}
	*p++ = LP_EOF;
	lp_set_header(node, (size_t) (p - node), elems);
	set_counts(node, live, 0);
}

size_t
node_compact_size(const uint8_t *node)
{
	NodeIter	it;
	NodeEntry	e;
	size_t		bytes;

	if (node_dead(node) == 0)
		return lp_bytes(node);
	node_iter(&it, node, STREAMID_MIN, false, false);
	bytes = (size_t) (it.begin - node) + 1;
	while (node_next(&it, &e))
		bytes += (size_t) (e.end - e.at);
	return bytes;
}

void
node_truncate(uint8_t *node, const uint8_t *at)
{
	NodeIter	it;
	NodeEntry	e;
	uint32_t	elems;
	uint32_t	live = 0;
	uint32_t	dead = 0;

	node[at - node] = LP_EOF;
	node_iter(&it, node, STREAMID_MIN, false, true);
	elems = MASTER_ELEMS(it.nfields);
	while (node_next(&it, &e))
	{
		elems += entry_elems(&e);
		if (e.deleted)
			dead++;
		else
			live++;
	}
	lp_set_header(node, (size_t) (at - node) + 1, elems);
	set_counts(node, live, dead);
}

/* --- from node to node --- */

bool
node_same_names(const uint8_t *a, const uint8_t *b)
{
	NodeIter	ia;
	NodeIter	ib;

	node_iter(&ia, a, STREAMID_MIN, false, false);
	node_iter(&ib, b, STREAMID_MIN, false, false);
	return ia.nfields == ib.nfields && ia.names_bytes == ib.names_bytes &&
		memcmp(ia.names, ib.names, ia.names_bytes) == 0;
}

size_t
node_copy_size(const uint8_t *node, StreamId master, const uint8_t *src, StreamId src_master)
{
	Target		t;
	NodeIter	it;
	NodeEntry	e;
	size_t		n = 0;

	target_init(&t, node, master);
	node_iter(&it, src, src_master, false, false);
	while (node_next(&it, &e))
	{
		if (too_far(master, e.id))
			return NODE_TOO_FAR;
		n += entry_size(&t, &e, target_same(&t, &e));
	}
	return n;
}

void
node_copy(uint8_t *node, StreamId master, uint8_t *at, const uint8_t *src, StreamId src_master)
{
	Target		t;
	NodeIter	it;
	NodeEntry	e;
	size_t		bytes = lp_bytes(node);
	size_t		tail = bytes - (size_t) (at - node);	/* with the terminator */
	uint32_t	elems = 0;
	uint32_t	live = 0;
	uint8_t    *p = at;

	target_init(&t, node, master);
	if (tail > 1)
	{
		size_t		n = node_copy_size(node, master, src, src_master);

		memmove(at + n, at, tail);
		bytes += n;
	}
	node_iter(&it, src, src_master, false, false);
	while (node_next(&it, &e))
	{
		bool		same = target_same(&t, &e);

		p = entry_write(p, master, &e, same);
		elems += same ? SAME_ELEMS(e.nfields) : OWN_ELEMS(e.nfields);
		live++;
	}
	if (tail == 1)
	{
		*p++ = LP_EOF;
		bytes = (size_t) (p - node);
	}
	grow_header(node, bytes, elems);
	lp_int32_write(node + OFF_LIVE, (int32_t) (node_live(node) + live));
}

/* The iterator for node_recode: names and all, then at `from`. */
static void
recode_iter(NodeIter *it, const uint8_t *src, StreamId src_master, const uint8_t *from)
{
	node_iter(it, src, src_master, false, false);
	if (from != NULL)
		it->p = from;
}

size_t
node_recode_size(const uint8_t *src, StreamId src_master, const uint8_t *from, StreamId master)
{
	NodeIter	it;
	NodeEntry	e;
	size_t		n;

	recode_iter(&it, src, src_master, from);
	n = (size_t) (it.begin - src) + 1;
	while (node_next(&it, &e))
		n += 2 + lp_int_size((int64_t) (e.id.ms - master.ms)) +
			lp_int_size((int64_t) (e.id.seq - master.seq)) + (size_t) (e.end - e.body);
	return n;
}

void
node_recode(uint8_t *node, const uint8_t *src, StreamId src_master, const uint8_t *from, StreamId master)
{
	NodeIter	it;
	NodeEntry	e;
	uint8_t    *p;
	uint32_t	elems;
	uint32_t	live = 0;

	recode_iter(&it, src, src_master, from);
	elems = MASTER_ELEMS(it.nfields);
	p = put_bytes(node, src, (size_t) (it.begin - src));
	while (node_next(&it, &e))
	{
		p += lp_int_write(p, e.same_fields ? NODE_SAME : 0);
		p += lp_int_write(p, (int64_t) (e.id.ms - master.ms));
		p += lp_int_write(p, (int64_t) (e.id.seq - master.seq));
		p = put_bytes(p, e.body, (size_t) (e.end - e.body));
		elems += entry_elems(&e);
		live++;
	}
	*p++ = LP_EOF;
	lp_set_header(node, (size_t) (p - node), elems);
	set_counts(node, live, 0);
}
