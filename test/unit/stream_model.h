/*
 * stream_model.h
 *	  A stream and what it must hold: an array of its live entries.
 *
 * Include it after twin.h and unit.h.
 */
#ifndef STREAM_STREAM_MODEL_H
#define STREAM_STREAM_MODEL_H

#include "stream.h"
#include "gen.h"

typedef struct Item
{
	StreamId	id;
	uint8_t    *fields;
} Item;

typedef struct Model
{
	Twin		t;				/* the arena */
	Stream		s;
	Item	   *item;			/* live entries in order */
	size_t		count;
	size_t		room;
	uint64_t	added;
	StreamId	last;
	StreamId	max_deleted;

	/* how chunks are made */
	uint64_t	step;			/* ids are at most so far apart */
	unsigned	schemas;		/* so many sets of names */
	size_t		most;			/* longest value */
} Model;

#define A(m)	(&(m)->t.arena)

UNIT_FUNC void
model_open(Model *m, size_t memory, uint32_t max_bytes, uint32_t max_entries)
{
	memset(m, 0, sizeof(*m));
	twin_open(&m->t, memory);
	stream_init(&m->s, max_bytes, max_entries);
	m->step = 1000;
	m->schemas = 1;
	m->most = 20;
}

UNIT_FUNC void
model_close(Model *m)
{
	ArenaStats	st;

	stream_destroy(A(m), &m->s);
	CHECK_SOUND(stream_check(A(m), &m->s));
	arena_stats(A(m), &st);
	CHECK_EQ(st.used, 0);
	CHECK_SOUND(arena_check(A(m)));
	twin_close(&m->t);
	for (size_t i = 0; i < m->count; i++)
		free(m->item[i].fields);
	free(m->item);
}

/* The first entry that is not below id. */
UNIT_FUNC size_t
model_at(const Model *m, StreamId id)
{
	size_t		lo = 0;
	size_t		hi = m->count;

	while (lo < hi)
	{
		size_t		mid = (lo + hi) / 2;

		if (sid_cmp(m->item[mid].id, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

UNIT_FUNC bool
model_has(const Model *m, StreamId id)
{
	size_t		at = model_at(m, id);

	return at < m->count && sid_cmp(m->item[at].id, id) == 0;
}

UNIT_FUNC void
model_remove(Model *m, size_t at, size_t n)
{
	for (size_t i = at; i < at + n; i++)
		free(m->item[i].fields);
	if (n > 0)
		memmove(m->item + at, m->item + at + n, (m->count - at - n) * sizeof(Item));
	m->count -= n;
}

/* --- chunks --- */

typedef struct Chunk
{
	StreamId	first;
	uint8_t    *lp;
	Item		item[200];
	size_t		count;
} Chunk;

UNIT_FUNC void
chunk_free(Chunk *c)
{
	free(c->lp);
	for (size_t i = 0; i < c->count; i++)
		free(c->item[i].fields);
}

/* Add an entry to the chunk; false (and the fields are freed) if the limits do
 * not allow. */
UNIT_FUNC bool
chunk_push(Model *m, Chunk *c, StreamId id, uint8_t *fields)
{
	if (c->count == 0)
	{
		c->first = id;
		c->lp = malloc(node_size_one(fields));
		node_create(c->lp, fields);
	}
	else
	{
		size_t		more = node_entry_size(c->lp, c->first, id, fields);
		size_t		bytes = node_bytes(c->lp);

		if (c->count == 200 ||
			!stream_node_fits(&m->s, bytes, (uint32_t) c->count, more, 1))
		{
			free(fields);
			return false;
		}
		c->lp = realloc(c->lp, bytes + more);
		node_append(c->lp, c->first, id, fields);
	}
	c->item[c->count].id = id;
	c->item[c->count++].fields = fields;
	return true;
}

UNIT_FUNC StreamId
id_after(const Model *m, StreamId id)
{
	if (m->step <= 3 || unit_one_in(4))
		id.seq += unit_between(1, m->step);
	else
	{
		id.ms += unit_between(1, m->step);
		id.seq = unit_one_in(3) ? unit_rand() >> unit_between(40, 63) : 0;
	}
	return id;
}

/* A chunk of up to `most` entries above the id `after` and below `before`
 * (0-0: open); false if there is no such id. */
UNIT_FUNC bool
chunk_make(Model *m, Chunk *c, StreamId after, StreamId before, size_t most)
{
	StreamId	id = id_after(m, after);

	c->count = 0;
	c->lp = NULL;
	if (!sid_is_zero(before) && sid_cmp(id, before) >= 0)
	{
		id = after;
		if (!sid_next(&id) || sid_cmp(id, before) >= 0)
			return false;
	}
	while (c->count < most && (sid_is_zero(before) || sid_cmp(id, before) < 0))
	{
		if (!chunk_push(m, c, id, gen_fields((unsigned) unit_below(m->schemas), m->most)))
			break;
		id = id_after(m, id);
	}
	return true;
}

/* A chunk in some gap of the model, the top included. */
UNIT_FUNC bool
chunk_anywhere(Model *m, Chunk *c, size_t most)
{
	size_t		at = unit_one_in(3) ? m->count : unit_below(m->count + 1);
	StreamId	after = at > 0 ? m->item[at - 1].id : STREAMID_MIN;
	StreamId	before = at < m->count ? m->item[at].id : STREAMID_MIN;

	if (at == m->count && sid_cmp(m->last, after) > 0 && !unit_one_in(3))
		after = m->last;
	return chunk_make(m, c, after, before, most);
}

/* The chunk is in the stream: so it is in the model. */
UNIT_FUNC void
chunk_done(Model *m, Chunk *c)
{
	size_t		at = model_at(m, c->first);

	if (m->count + c->count > m->room)
	{
		m->room = 2 * m->room + c->count;
		m->item = realloc(m->item, m->room * sizeof(Item));
	}
	memmove(m->item + at + c->count, m->item + at, (m->count - at) * sizeof(Item));
	memcpy(m->item + at, c->item, c->count * sizeof(Item));
	m->count += c->count;
	m->added += c->count;
	if (sid_cmp(c->item[c->count - 1].id, m->last) > 0)
		m->last = c->item[c->count - 1].id;
	free(c->lp);
}

/* Must this chunk be prepared? */
UNIT_FUNC bool
chunk_is_long(const Chunk *c)
{
	return sizeof(StreamNode) + node_bytes(c->lp) > ARENA_PAGE;
}

UNIT_FUNC EngStatus
chunk_add(Model *m, Chunk *c, bool prepare)
{
	EngHandle	h = 0;
	EngStatus	st;

	if (prepare)
	{
		h = stream_prepare_node(A(m), c->lp, c->first, ARENA_NORMAL);
		if (h == 0)
			return ENG_NOMEM;
	}
	st = stream_add_chunk(A(m), &m->s, c->first, prepare ? NULL : c->lp, h, ARENA_NORMAL);
	if (st == ENG_OK)
		chunk_done(m, c);
	else if (h != 0)
		arena_free(A(m), h);
	return st;
}

/* --- other changes --- */

UNIT_FUNC void
model_del(Model *m, StreamId id)
{
	size_t		at = model_at(m, id);
	bool		there = model_has(m, id);

	CHECK_EQ(stream_del(A(m), &m->s, id, 0), there);
	if (there)
	{
		model_remove(m, at, 1);
		if (sid_cmp(id, m->max_deleted) > 0)
			m->max_deleted = id;
	}
}

UNIT_FUNC void
model_trim(Model *m, StreamId bound)
{
	size_t		n = model_at(m, bound);

	CHECK_EQ(stream_trim(A(m), &m->s, bound, false), n);
	model_remove(m, 0, n);
}

/* --- comparing --- */

UNIT_FUNC void
check_entry(const NodeEntry *e, const Item *it)
{
	size_t		size = node_fields_size(e);
	uint8_t    *f = malloc(size);

	CHECK(sid_cmp(e->id, it->id) == 0);
	node_fields_write(e, f);
	CHECK(size == lp_bytes(it->fields) && memcmp(f, it->fields, size) == 0);
	free(f);
}

/* Everything the stream holds, read both ways. */
UNIT_FUNC void
check_entries(const Model *m)
{
	StreamId	pos = STREAMID_MIN;
	StreamId	master;
	const StreamNode *n;
	NodeIter	it;
	NodeEntry	e;
	size_t		i = 0;

	while ((n = stream_node_at(A(m), &m->s, pos, false, &master)) != NULL)
	{
		node_iter(&it, n->lp, master, false, false);
		while (i < m->count && node_next(&it, &e))
			check_entry(&e, &m->item[i++]);
		pos = n->last;
		if (!sid_next(&pos))
			break;
	}
	CHECK_EQ(i, m->count);
	pos = STREAMID_MAX;
	while ((n = stream_node_at(A(m), &m->s, pos, true, &master)) != NULL)
	{
		node_iter(&it, n->lp, master, true, false);
		while (i > 0 && node_next(&it, &e))
			check_entry(&e, &m->item[--i]);
		pos = master;
		if (!sid_prev(&pos))
			break;
	}
	CHECK_EQ(i, 0);
}

UNIT_FUNC void
check_header(const Model *m)
{
	const Stream *s = &m->s;

	CHECK_SOUND(stream_check(A(m), s));
	CHECK_EQ(s->length, m->count);
	CHECK_EQ(s->entries_added, m->added);
	CHECK(sid_cmp(s->last_id, m->last) == 0);
	CHECK(sid_cmp(s->max_deleted_id, m->max_deleted) == 0);
	CHECK(sid_cmp(s->first_id, m->count > 0 ? m->item[0].id : STREAMID_MIN) == 0);
}

/* An id in or near the stream. */
UNIT_FUNC StreamId
some_id(const Model *m)
{
	StreamId	id = STREAMID_MIN;

	switch (unit_below(8))
	{
		case 0:
			return STREAMID_MIN;
		case 1:
			return STREAMID_MAX;
		case 2:
			return m->last;
		default:
			break;
	}
	if (m->count > 0)
		id = m->item[unit_below(m->count)].id;
	if (unit_one_in(3))
		sid_next(&id);
	else if (unit_one_in(3))
		sid_prev(&id);
	return id;
}

/* One question of each kind. */
UNIT_FUNC void
check_reads(const Model *m)
{
	const Stream *s = &m->s;
	StreamId	id = some_id(m);
	StreamId	stop = some_id(m);
	StreamId	past = stop;
	StreamId	found;
	size_t		at = model_at(m, id);
	size_t		to;
	uint64_t	n = unit_below(m->count + 2);

	CHECK_EQ(stream_exists(A(m), s, id), model_has(m, id));

	to = sid_next(&past) ? model_at(m, past) : m->count;
	CHECK_EQ(stream_count(A(m), s, id, stop), to > at ? to - at : 0);

	if (CHECK_EQ(stream_nth(A(m), s, n, &found), n < m->count) && n < m->count)
		CHECK(sid_cmp(found, m->item[n].id) == 0);

	if (CHECK_EQ(stream_first_from(A(m), s, id, &found), at < m->count) && at < m->count)
		CHECK(sid_cmp(found, m->item[at].id) == 0);

	if (CHECK_EQ(stream_last_upto(A(m), s, stop, &found), to > 0) && to > 0)
		CHECK(sid_cmp(found, m->item[to - 1].id) == 0);
}

#endif							/* STREAM_STREAM_MODEL_H */
