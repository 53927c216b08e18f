/*
 * gop.c
 *	  Operations of consumer groups: their bytes, and what they can need.
 *
 * The bytes are drawn in docs/formats.md.  What is read may come from a damaged
 * journal, so gop_read checks everything that carrying out relies on; records
 * and runs have a fixed width and are then taken from the bytes one by one.
 *
 * Locking: none; nothing here looks at a stream.
 */
#include "group.h"

#define HEAD_BYTES		6
#define NO_CONSUMER		UINT16_MAX
#define RUN_BYTES		36

/* --- numbers --- */

static uint64_t
get_num(const uint8_t *p, int bytes)
{
	uint64_t	v = 0;

	while (bytes-- > 0)
		v = v << 8 | p[bytes];
	return v;
}

static uint8_t *
put_num(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*p++ = (uint8_t) (v >> 8 * i);
	return p;
}

/* Written out, so that the compiler makes one load of it: records are read
 * several times on their way. */
static inline uint64_t
get_u64(const uint8_t *p)
{
	return (uint64_t) p[0] | (uint64_t) p[1] << 8 | (uint64_t) p[2] << 16 | (uint64_t) p[3] << 24 |
		(uint64_t) p[4] << 32 | (uint64_t) p[5] << 40 | (uint64_t) p[6] << 48 | (uint64_t) p[7] << 56;
}

static inline StreamId
get_id(const uint8_t *p)
{
	return (StreamId) {get_u64(p), get_u64(p + 8)};
}

static inline uint8_t *
put_u64(uint8_t *p, uint64_t v)
{
	p[0] = (uint8_t) v;
	p[1] = (uint8_t) (v >> 8);
	p[2] = (uint8_t) (v >> 16);
	p[3] = (uint8_t) (v >> 24);
	p[4] = (uint8_t) (v >> 32);
	p[5] = (uint8_t) (v >> 40);
	p[6] = (uint8_t) (v >> 48);
	p[7] = (uint8_t) (v >> 56);
	return p + 8;
}

static inline uint8_t *
put_id(uint8_t *p, StreamId id)
{
	return put_u64(put_u64(p, id.ms), id.seq);
}

/* --- what a kind has --- */

typedef struct Shape
{
	uint8_t		flags;			/* that it knows */
	bool		consumer;		/* has one, */
	bool		may_consumer;	/* or may have one */
	bool		time;
	bool		pos;
	bool		entries_read;
	bool		policy;
	bool		runs;
	bool		records;
	bool		counts;			/* records have counts */
} Shape;

static const Shape shapes[] = {
	[GOP_CREATE] = {.flags = GOP_IN_ORDER, .pos = true, .entries_read = true},
	[GOP_DESTROY] = {0},
	[GOP_SETID] = {.pos = true, .entries_read = true},
	[GOP_POLICY] = {.flags = GOP_IN_ORDER, .may_consumer = true, .policy = true},
	[GOP_CONSUMER] = {.flags = GOP_ACTIVE, .consumer = true, .time = true},
	[GOP_DELCONSUMER] = {.flags = GOP_RELEASE, .consumer = true},
	[GOP_DELIVER] = {.flags = GOP_NOACK | GOP_DEAD | GOP_ONE_COUNT | GOP_TIMES, .consumer = true, .time = true,
	.runs = true, .records = true, .counts = true},
	[GOP_SET] = {.flags = GOP_FORCE | GOP_ACTIVE | GOP_ONE_COUNT, .may_consumer = true, .time = true,
	.pos = true, .records = true, .counts = true},
	[GOP_ACK] = {.flags = GOP_DEAD | GOP_NOACK, .records = true}
};

#define NKINDS		(sizeof(shapes) / sizeof(shapes[0]))

static bool
has_consumer(const Gop *g)
{
	const Shape *shape = &shapes[g->kind];

	return shape->consumer ||
		(shape->may_consumer && (shape->policy ? g->consumer_len > 0 : g->has_consumer));
}

/* Bytes between the names and the runs. */
static size_t
fixed_bytes(const Gop *g)
{
	const Shape *s = &shapes[g->kind];

	return (s->time ? 8 : 0) + (s->pos ? 16 : 0) + (s->entries_read ? 8 : 0) + (s->policy ? 16 : 0) +
		(s->runs ? 4 : 0) + (s->records ? 4 : 0) + (g->flags & GOP_ONE_COUNT ? 8 : 0);
}

static size_t
record_bytes(const Gop *g)
{
	return 16 + (shapes[g->kind].counts && !(g->flags & GOP_ONE_COUNT) ? 8 : 0) +
		(g->flags & GOP_TIMES ? 4 : 0);
}

/* --- writing --- */

size_t
gop_size(const Gop *g)
{
	const Shape *s = &shapes[g->kind];

	return HEAD_BYTES + g->group_len + (has_consumer(g) ? g->consumer_len : 0) + fixed_bytes(g) +
		(s->runs ? (size_t) g->nruns * RUN_BYTES : 0) +
		(s->records ? g->nrecords * record_bytes(g) : 0);
}

static uint8_t *
put_bytes(uint8_t *p, const char *bytes, size_t len)
{
	if (len > 0)
		memcpy(p, bytes, len);
	return p + len;
}

size_t
gop_write(const Gop *g, const GopRun *runs, const GopRecord *records, uint8_t *out)
{
	const Shape *s = &shapes[g->kind];
	uint8_t    *p = out;

	*p++ = g->kind;
	*p++ = g->flags;
	p = put_num(p, g->group_len, 2);
	p = put_num(p, has_consumer(g) ? g->consumer_len : NO_CONSUMER, 2);
	p = put_bytes(p, g->group, g->group_len);
	if (has_consumer(g))
		p = put_bytes(p, g->consumer, g->consumer_len);
	if (s->time)
		p = put_num(p, g->time, 8);
	if (s->pos)
		p = put_id(p, g->pos);
	if (s->entries_read)
		p = put_num(p, (uint64_t) g->entries_read, 8);
	if (s->policy)
		p = put_num(put_num(p, g->retry, 8), g->max_deliveries, 8);
	if (s->runs)
		p = put_num(p, g->nruns, 4);
	if (s->records)
		p = put_num(p, g->nrecords, 4);
	if (g->flags & GOP_ONE_COUNT)
		p = put_num(p, g->count, 8);
	for (uint32_t i = 0; s->runs && i < g->nruns; i++)
		p = put_num(put_id(put_id(p, runs[i].after), runs[i].last), runs[i].n, 4);
	for (uint32_t i = 0; s->records && i < g->nrecords; i++)
	{
		p = put_id(p, records[i].id);
		if (s->counts && !(g->flags & GOP_ONE_COUNT))
			p = put_num(p, records[i].count, 8);
		if (g->flags & GOP_TIMES)
			p = put_num(p, records[i].later, 4);
	}
	return (size_t) (p - out);
}

/* --- reading --- */

GopRun
gop_run(const Gop *g, uint32_t i)
{
	const uint8_t *p = g->runs + (size_t) i * RUN_BYTES;

	return (GopRun) {get_id(p), get_id(p + 16), (uint32_t) get_num(p + 32, 4)};
}

GopRecord
gop_record(const Gop *g, uint32_t i)
{
	size_t		bytes = record_bytes(g);
	const uint8_t *p = g->records + i * bytes;

	return (GopRecord) {
		get_id(p), bytes >= 24 ? get_u64(p + 16) : g->count,
		g->flags & GOP_TIMES ? (uint32_t) get_num(p + bytes - 4, 4) : 0
	};
}

static bool
records_sound(const Gop *g)
{
	StreamId	before = STREAMID_MIN;

	for (uint32_t i = 0; i < g->nrecords; i++)
	{
		GopRecord	r = gop_record(g, i);

		if (sid_cmp(r.id, before) <= 0 || r.count > INT64_MAX || g->time + r.later > PENDING_TIME_MAX)
			return false;
		before = r.id;
	}
	return true;
}

/* Runs in order, each with the records that lie in it, and all records in one. */
static bool
runs_sound(const Gop *g)
{
	StreamId	before = STREAMID_MIN;
	uint32_t	at = 0;

	for (uint32_t i = 0; i < g->nruns; i++)
	{
		GopRun		run = gop_run(g, i);

		if (sid_cmp(run.after, before) < 0 || sid_cmp(run.last, run.after) <= 0 ||
			run.n > g->nrecords - at)
			return false;
		if (run.n > 0 && (sid_cmp(gop_record(g, at).id, run.after) <= 0 ||
						  sid_cmp(gop_record(g, at + run.n - 1).id, run.last) > 0))
			return false;
		at += run.n;
		before = run.last;
	}
	return at == g->nrecords;
}

static bool
fields_sound(const Gop *g)
{
	const Shape *s = &shapes[g->kind];

	if (g->flags & ~s->flags)
		return false;
	/* what is released is nobody's activity */
	if (g->kind == GOP_DELIVER && (g->flags & GOP_DEAD) && !(g->flags & GOP_NOACK))
		return false;
	if (g->kind == GOP_SET && (g->flags & GOP_ACTIVE) && !g->has_consumer)
		return false;
	return g->time <= PENDING_TIME_MAX && g->entries_read >= -1 && g->retry <= INT64_MAX &&
		g->max_deliveries <= INT64_MAX && g->count <= INT64_MAX;
}

/* The names; where they end, or 0. */
static size_t
read_head(Gop *g, const uint8_t *p, size_t avail)
{
	uint32_t	consumer_len;

	if (avail < HEAD_BYTES || p[0] == 0 || p[0] >= NKINDS)
		return 0;
	g->kind = p[0];
	g->flags = p[1];
	g->group_len = (uint32_t) get_num(p + 2, 2);
	consumer_len = (uint32_t) get_num(p + 4, 2);
	if (consumer_len != NO_CONSUMER)
	{
		if (!shapes[g->kind].consumer && !shapes[g->kind].may_consumer)
			return 0;
		g->has_consumer = true;
		g->consumer_len = consumer_len;
		if (shapes[g->kind].policy && consumer_len == 0)
			return 0;
	}
	else if (shapes[g->kind].consumer)
		return 0;
	if (g->group_len > GROUP_NAME_MAX || g->consumer_len > GROUP_NAME_MAX ||
		avail - HEAD_BYTES < g->group_len + g->consumer_len)
		return 0;
	g->group = (const char *) p + HEAD_BYTES;
	g->consumer = g->group + g->group_len;
	return HEAD_BYTES + g->group_len + g->consumer_len;
}

size_t
gop_read(Gop *g, const uint8_t *p, size_t avail)
{
	const Shape *s;
	const uint8_t *at;
	size_t		used;

	memset(g, 0, sizeof(*g));
	used = read_head(g, p, avail);
	if (used == 0)
		return 0;
	s = &shapes[g->kind];
	if (g->flags & ~s->flags || avail - used < fixed_bytes(g))
		return 0;
	at = p + used;
	used += fixed_bytes(g);
	if (s->time)
	{
		g->time = get_num(at, 8);
		at += 8;
	}
	if (s->pos)
	{
		g->pos = get_id(at);
		at += 16;
	}
	if (s->entries_read)
	{
		g->entries_read = (int64_t) get_num(at, 8);
		at += 8;
	}
	if (s->policy)
	{
		g->retry = get_num(at, 8);
		g->max_deliveries = get_num(at + 8, 8);
		at += 16;
	}
	if (s->runs)
	{
		g->nruns = (uint32_t) get_num(at, 4);
		at += 4;
	}
	if (s->records)
	{
		g->nrecords = (uint32_t) get_num(at, 4);
		at += 4;
	}
	if (g->flags & GOP_ONE_COUNT)
		g->count = get_num(at, 8);
	if (g->nruns > (avail - used) / RUN_BYTES)
		return 0;
	g->runs = p + used;
	used += (size_t) g->nruns * RUN_BYTES;
	if (g->nrecords > (avail - used) / record_bytes(g))
		return 0;
	g->records = p + used;
	used += g->nrecords * record_bytes(g);
	if (!fields_sound(g) || !records_sound(g) || (s->runs && !runs_sound(g)))
		return 0;
	return used;
}

/* --- charging --- */

static void
charge_consumer(ArenaCharge *c, size_t len)
{
	arena_charge_exact(c, sizeof(Consumer) + len, 1);
	rax_charge(c, len, 1);
	rax_charge(c, sizeof(uint32_t), 1);
}

static uint32_t
wide_counts(const Gop *g)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < g->nrecords; i++)
		n += pending_count_is_wide(gop_record(g, i).count);
	return n;
}

void
gop_charge(ArenaCharge *c, const Gop *g)
{
	if (g->kind == GOP_CONSUMER || g->kind == GOP_DELIVER || (g->kind == GOP_SET && g->has_consumer))
		charge_consumer(c, g->consumer_len);
	gop_charge_known(c, g);
}

void
gop_charge_known(ArenaCharge *c, const Gop *g)
{
	switch ((GopKind) g->kind)
	{
		case GOP_CREATE:
			arena_charge_exact(c, sizeof(StreamGroup) + g->group_len, 1);
			rax_charge(c, g->group_len, 1);
			break;
		case GOP_POLICY:
			if (g->consumer_len > 0)
				arena_charge_exact(c, g->consumer_len, 1);
			break;
		case GOP_DELIVER:
			/* the places where gaps may begin or end */
			rax_charge(c, 16, g->nruns < UINT32_MAX / 2 ? 2 * g->nruns + 1 : UINT32_MAX);
			if (g->flags & GOP_NOACK)
				break;
			for (uint32_t i = 0; i < g->nruns; i++)
				pending_charge(c, gop_run(g, i).n);
			pending_charge_wide(c, wide_counts(g));
			break;
		case GOP_SET:
			if (g->flags & GOP_FORCE)
				pending_charge_single(c, g->nrecords);
			pending_charge_wide(c, wide_counts(g));
			break;
		case GOP_CONSUMER:
		case GOP_DESTROY:
		case GOP_SETID:
		case GOP_DELCONSUMER:
		case GOP_ACK:
			break;
	}
}
