/*
 * test_group.c
 *	  Consumer groups against a naive model: which ids of a small space are
 *	  alive, still to be delivered, pending, and whose.
 *
 * Every operation goes through its bytes.  Random ones keep to what runs
 * promise: no live entry and no record lies in a run that it does not carry.
 */
#include "twin.h"
#include "unit.h"
#include "scarce.h"
#include "gen.h"
#include "group.h"
#include "stream.h"

#define SEQS		16
#define NIDS		(32 * SEQS)
#define NGROUPS		3
#define NCONSUMERS	6
#define OPS_AHEAD	6

typedef struct MRecord
{
	bool		has;
	int			consumer;		/* -1: released */
	uint64_t	time;
	uint64_t	count;
} MRecord;

typedef struct MConsumer
{
	bool		has;
	uint64_t	seen;
	uint64_t	active;
} MConsumer;

typedef struct MGroup
{
	bool		has;
	bool		in_order;
	int			cursor;			/* place of an id in the space */
	bool		gap[NIDS];
	MRecord		r[NIDS];
	MConsumer	c[NCONSUMERS];
	uint64_t	delivered;
	uint64_t	redelivered;
	uint64_t	acked;
	uint64_t	dead;
} MGroup;

typedef struct Model
{
	Twin		t;
	Stream		s;
	bool		live[NIDS];
	MGroup		g[NGROUPS];
} Model;

/* names; empty ones are legal */
static const char *const group_name[NGROUPS] = {"", "g", "group"};
static const char *const consumer_name[NCONSUMERS] = {"", "a", "al", "alice", "b", "bob"};

static Arena *
A(Model *m)
{
	return &m->t.arena;
}

/* The ids of the space, 0-0 the first of them. */
static StreamId
id_at(int i)
{
	return (StreamId) {(uint64_t) (i / SEQS), (uint64_t) (i % SEQS)};
}

/* --- operations --- */

typedef struct Op
{
	Gop			g;
	int			group;
	int			consumer;
	GopRun		runs[NIDS];
	GopRecord	records[NIDS];
	uint8_t    *bytes;
	size_t		size;
	ArenaCharge charge;
} Op;

static void
op_start(Op *op, GopKind kind, int group, int consumer)
{
	memset(op, 0, sizeof(*op));
	op->g.kind = (uint8_t) kind;
	op->group = group;
	op->consumer = consumer;
	op->g.group = group_name[group];
	op->g.group_len = (uint32_t) strlen(group_name[group]);
	if (consumer >= 0)
	{
		op->g.has_consumer = true;
		op->g.consumer = consumer_name[consumer];
		op->g.consumer_len = (uint32_t) strlen(consumer_name[consumer]);
	}
}

/* Into bytes and back; op->g then points into them. */
static void
op_encode(Op *op)
{
	Gop			g = op->g;

	op->size = gop_size(&g);
	op->bytes = malloc(op->size);
	CHECK_EQ(gop_write(&g, op->runs, op->records, op->bytes), op->size);
	CHECK_EQ(gop_read(&op->g, op->bytes, op->size), op->size);
	for (size_t cut = op->size > 40 ? op->size - 40 : 0; cut < op->size; cut++)
	{
		Gop			x;

		CHECK_EQ(gop_read(&x, op->bytes, cut), 0);
	}
	CHECK_EQ(op->g.kind, g.kind);
	CHECK_EQ(op->g.flags, g.flags);
	CHECK_EQ(op->g.time, g.time);
	CHECK(sid_cmp(op->g.pos, g.pos) == 0);
	CHECK_EQ(op->g.entries_read, g.entries_read);
	CHECK_EQ(op->g.nruns, g.nruns);
	CHECK_EQ(op->g.nrecords, g.nrecords);
	CHECK_EQ(op->g.has_consumer, g.has_consumer);
	CHECK(op->g.group_len == g.group_len && memcmp(op->g.group, g.group, g.group_len) == 0);
	CHECK(op->g.consumer_len == g.consumer_len &&
		  (g.consumer_len == 0 || memcmp(op->g.consumer, g.consumer, g.consumer_len) == 0));
}

static void
op_free(Op *op)
{
	free(op->bytes);
}

static void
add_record(Op *op, int i, uint64_t count)
{
	op->records[op->g.nrecords++] = (GopRecord) {id_at(i), count, 0};
}

static void
one_count(Op *op, uint64_t count)
{
	op->g.flags |= GOP_ONE_COUNT;
	op->g.count = count;
	for (uint32_t i = 0; i < op->g.nrecords; i++)
		op->records[i].count = count;
}

/* Some of the deliveries are later than the op. */
static void
some_later(Op *op)
{
	op->g.flags |= GOP_TIMES;
	for (uint32_t i = 0; i < op->g.nrecords; i++)
		op->records[i].later = (uint32_t) unit_below(3) * 500;
}

/* --- the model --- */

static bool
undelivered(const Model *m, const MGroup *g, int i)
{
	return m->live[i] && (i > g->cursor || g->gap[i]);
}

/* In a group in order: no gap without an entry. */
static void
drop_empty_gaps(const Model *m, MGroup *g)
{
	for (int i = 0; g->in_order && i < NIDS; i++)
	{
		int			to = i;
		bool		any = false;

		for (; to < NIDS && g->gap[to]; to++)
			any = any || m->live[to];
		for (int k = i; k < to && !any; k++)
			g->gap[k] = false;
		if (to > i)
			i = to - 1;
	}
}

static int
place_of(StreamId id)
{
	return (int) (id.ms * SEQS + id.seq);
}

static void
model_deliver(Model *m, MGroup *g, const Op *op)
{
	int			old = g->cursor;
	int			prev = old;
	uint32_t	at = 0;
	MConsumer  *c = &g->c[op->consumer];
	uint64_t	time;

	for (uint32_t i = 0; i < op->g.nrecords; i++)
		if (op->g.time + op->records[i].later > c->seen)
			c->seen = op->g.time + op->records[i].later;
	for (uint32_t i = 0; i < op->g.nruns; i++)
	{
		int			after = place_of(op->runs[i].after);
		int			last = place_of(op->runs[i].last);
		bool		any = false;

		for (int k = prev + 1; k <= after; k++)
			any = any || m->live[k];
		for (int k = prev + 1; k <= after && (any || !g->in_order); k++)
			g->gap[k] = true;
		for (int k = after + 1; k <= last; k++)
			g->gap[k] = false;
		drop_empty_gaps(m, g);
		for (uint32_t k = 0; k < op->runs[i].n; k++, at++)
		{
			int			p = place_of(op->records[at].id);

			if (!m->live[p])
				continue;
			time = op->g.time + op->records[at].later;
			g->r[p] = (MRecord) {!(op->g.flags & GOP_NOACK), op->consumer, time, op->records[at].count};
			if (!(op->g.flags & GOP_NOACK) && time > c->active)
				c->active = time;
		}
		if (last > prev)
			prev = last;
		g->cursor = prev;
	}
	g->delivered += op->g.nrecords;
}

static void
model_set(Model *m, MGroup *g, const Op *op)
{
	uint64_t	n = 0;

	for (uint32_t k = 0; k < op->g.nrecords; k++)
	{
		int			p = place_of(op->records[k].id);

		if (!g->r[p].has && !((op->g.flags & GOP_FORCE) && m->live[p]))
			continue;
		g->r[p] = (MRecord) {true, op->consumer, op->g.time, op->records[k].count};
		n++;
	}
	if (n > 0 && (op->g.flags & GOP_ACTIVE))
	{
		g->redelivered += n;
		if (op->g.time > g->c[op->consumer].active)
			g->c[op->consumer].active = op->g.time;
	}
	if (place_of(op->g.pos) > g->cursor)
		g->cursor = place_of(op->g.pos);
}

static void
model_apply(Model *m, const Op *op)
{
	MGroup	   *g = &m->g[op->group];
	bool		makes = op->g.kind == GOP_CONSUMER || op->g.kind == GOP_DELIVER ||
		(op->g.kind == GOP_SET && op->consumer >= 0);

	if (op->g.kind == GOP_CREATE ? g->has : !g->has)
		return;
	if (makes)
	{
		MConsumer  *c = &g->c[op->consumer];

		c->has = true;
		if (op->g.time > c->seen)
			c->seen = op->g.time;
	}
	switch ((GopKind) op->g.kind)
	{
		case GOP_CREATE:
			memset(g, 0, sizeof(*g));
			g->has = true;
			g->cursor = place_of(op->g.pos);
			g->in_order = (op->g.flags & GOP_IN_ORDER) != 0;
			break;
		case GOP_DESTROY:
			g->has = false;
			break;
		case GOP_SETID:
			g->cursor = place_of(op->g.pos);
			memset(g->gap, 0, sizeof(g->gap));
			break;
		case GOP_POLICY:
			g->in_order = (op->g.flags & GOP_IN_ORDER) != 0;
			drop_empty_gaps(m, g);
			break;
		case GOP_CONSUMER:
			break;
		case GOP_DELCONSUMER:
			for (int i = 0; i < NIDS; i++)
			{
				if (!g->r[i].has || g->r[i].consumer != op->consumer)
					continue;
				g->r[i].has = (op->g.flags & GOP_RELEASE) != 0;
				g->r[i].consumer = -1;
				g->r[i].time = 0;
			}
			memset(&g->c[op->consumer], 0, sizeof(MConsumer));
			break;
		case GOP_DELIVER:
			model_deliver(m, g, op);
			break;
		case GOP_SET:
			model_set(m, g, op);
			break;
		case GOP_ACK:
			for (uint32_t k = 0; k < op->g.nrecords; k++)
			{
				MRecord    *r = &g->r[place_of(op->records[k].id)];

				if (r->has && (op->g.flags & GOP_DEAD))
					g->dead++;
				else if (r->has && !(op->g.flags & GOP_NOACK))
					g->acked++;
				r->has = false;
			}
			break;
	}
}

/* --- comparing --- */

static void
check_group(Model *m, int gi)
{
	const MGroup *mg = &m->g[gi];
	const StreamGroup *g = group_find(A(m), &m->s, group_name[gi], strlen(group_name[gi]));
	uint64_t	n = 0;
	uint64_t	lag = 0;
	uint64_t	owned[NCONSUMERS] = {0};

	if (!CHECK_EQ(g != NULL, mg->has) || g == NULL)
		return;
	CHECK(sid_cmp(g->cursor, id_at(mg->cursor)) == 0);
	CHECK_EQ(g->in_order, mg->in_order);
	CHECK_EQ(g->delivered, mg->delivered);
	CHECK_EQ(g->redelivered, mg->redelivered);
	CHECK_EQ(g->acked, mg->acked);
	CHECK_EQ(g->dead, mg->dead);
	for (int i = 0; i < NIDS; i++)
	{
		PendingRecord r;
		const MRecord *mr = &mg->r[i];

		CHECK_EQ(idset_has(A(m), &g->gaps, id_at(i)), mg->gap[i]);
		lag += undelivered(m, mg, i);
		if (!CHECK_EQ(pending_get(A(m), &g->pending, id_at(i), &r), mr->has) || !mr->has)
			continue;
		n++;
		CHECK_EQ(r.time, mr->time);
		CHECK_EQ(r.count, mr->count);
		if (mr->consumer >= 0)
		{
			const Consumer *c = group_consumer_numbered(A(m), g, r.consumer);

			owned[mr->consumer]++;
			CHECK(c == group_consumer(A(m), g, consumer_name[mr->consumer], strlen(consumer_name[mr->consumer])));
		}
		else
			CHECK_EQ(r.consumer, 0);
	}
	CHECK_EQ(g->pending.n, n);
	CHECK_EQ(group_lag(&m->s, g), lag);
	for (int k = 0; k < NCONSUMERS; k++)
	{
		const Consumer *c = group_consumer(A(m), g, consumer_name[k], strlen(consumer_name[k]));

		if (!CHECK_EQ(c != NULL, mg->c[k].has) || c == NULL)
			continue;
		CHECK_EQ(c->pending, owned[k]);
		CHECK_EQ(c->seen, mg->c[k].seen);
		CHECK_EQ(c->active, mg->c[k].active);
	}
}

static void
check(Model *m)
{
	CHECK_SOUND(stream_check(A(m), &m->s));
	for (int i = 0; i < NIDS; i++)
	{
		bool		referenced = false;

		CHECK_EQ(stream_exists(A(m), &m->s, id_at(i)), m->live[i]);
		for (int k = 0; k < NGROUPS; k++)
			referenced = referenced || (m->g[k].has &&
										(i > m->g[k].cursor || m->g[k].gap[i] || m->g[k].r[i].has));
		CHECK_EQ(stream_referenced(A(m), &m->s, id_at(i)), referenced);
	}
	for (int k = 0; k < NGROUPS; k++)
		check_group(m, k);
}

/* --- changes of the stream --- */

/* Add the ids from..to as entries, those that are not there: they must be
 * between two live ones, or between one and an end. */
static void
add_entries(Model *m, int from, int to)
{
	const StreamGroup *g;
	StreamGroup before;
	bool		above;
	uint8_t    *lp = NULL;
	uint32_t	n = 0;

	for (int i = from; i <= to; i++)
	{
		uint8_t    *f;

		if (n > 0 && unit_one_in(3))
			continue;
		f = gen_fields(0, 5);
		if (n++ == 0)
		{
			from = i;
			lp = malloc(node_size_one(f));
			node_create(lp, f);
		}
		else
		{
			lp = realloc(lp, node_bytes(lp) + node_entry_size(lp, id_at(from), id_at(i), f));
			node_append(lp, id_at(from), id_at(i), f);
		}
		free(f);
		m->live[i] = true;
	}
	/* an add above all cursors changes no group, so it costs the same however many there are */
	g = group_after(A(m), &m->s, NULL, 0);
	above = g != NULL && sid_cmp(id_at(from), m->s.top_cursor) > 0;
	if (above)
		memcpy(&before, g, sizeof(before));
	CHECK_EQ(stream_add_chunk(A(m), &m->s, id_at(from), lp, 0, ARENA_NORMAL), ENG_OK);
	if (above)
		CHECK_EQ(memcmp(&before, g, sizeof(before)), 0);
	free(lp);
}

static void
add_some(Model *m)
{
	int			from = (int) unit_between(1, NIDS - 1);
	int			to = from;

	if (m->live[from])
		return;
	while (to < NIDS - 1 && to < from + 20 && !m->live[to + 1])
		to++;
	add_entries(m, from, to);
}

static void
delete_some(Model *m)
{
	int			i = (int) unit_between(1, NIDS - 1);
	int			flags = (int) unit_below(4);
	StreamId	max = m->s.max_deleted_id;
	const MGroup *g = &m->g[unit_below(NGROUPS)];

	/* sometimes one in a gap */
	if (g->has && unit_one_in(2))
		for (int k = 1; k < NIDS; k++)
			if (g->gap[k] && m->live[k] && unit_one_in(2))
				i = k;
	CHECK_EQ(stream_del(A(m), &m->s, id_at(i), flags), m->live[i]);
	if (m->live[i] && !(flags & STREAM_DEL_TRIM) && sid_cmp(id_at(i), max) > 0)
		max = id_at(i);
	CHECK(sid_cmp(m->s.max_deleted_id, max) == 0);
	for (int k = 0; k < NGROUPS; k++)
		if (!(flags & STREAM_DEL_KEEPREF))
			m->g[k].r[i].has = false;
	if (m->live[i])
	{
		m->live[i] = false;
		for (int k = 0; k < NGROUPS; k++)
			drop_empty_gaps(m, &m->g[k]);
	}
}

static void
trim_some(Model *m)
{
	int			bound = (int) unit_below(NIDS) / (int) unit_between(1, 20);
	bool		keep = unit_one_in(2);
	uint64_t	n = 0;

	for (int i = 0; i < bound; i++)
	{
		n += m->live[i];
		m->live[i] = false;
		for (int k = 0; k < NGROUPS && !keep; k++)
			m->g[k].r[i].has = false;
	}
	CHECK_EQ(stream_trim(A(m), &m->s, id_at(bound), keep), n);
	for (int k = 0; k < NGROUPS; k++)
	{
		/* gaps that end below the bound */
		for (int i = 0, to; i < bound; i = to + 1)
		{
			for (to = i; to < NIDS && m->g[k].gap[to]; to++)
				;
			if (to <= bound && to > i)
				memset(&m->g[k].gap[i], 0, (size_t) (to - i) * sizeof(bool));
		}
		drop_empty_gaps(m, &m->g[k]);
	}
}

/* --- random operations --- */

static uint64_t
some_count(void)
{
	return unit_one_in(10) ? INT64_MAX : unit_one_in(10) ? 65535 + unit_below(100) : unit_below(4);
}

/* Runs from a place on, each carrying what lies in it. */
static void
make_deliver(Model *m, Op *op)
{
	const MGroup *g = &m->g[op->group];
	int			at = unit_one_in(2) ? g->cursor : (int) unit_below(NIDS);

	if (unit_one_in(3) && at < NIDS - 10)
		at += (int) unit_below(10);
	op->g.time = unit_below(1000);
	for (int k = (int) unit_below(4); k > 0 && at < NIDS - 1; k--)
	{
		GopRun	   *run = &op->runs[op->g.nruns];
		int			last = at + 1 + (int) unit_below(unit_one_in(20) ? NIDS : unit_one_in(3) ? 100 : 10);

		if (last >= NIDS)
			last = NIDS - 1;
		run->after = id_at(at);
		run->last = id_at(last);
		for (int i = at + 1; i <= last; i++)
		{
			if (m->live[i] || g->r[i].has || unit_one_in(30))
			{
				add_record(op, i, some_count());
				run->n++;
			}
		}
		op->g.nruns++;
		at = last + (unit_one_in(2) ? 0 : (int) unit_below(30));
	}
	if (unit_one_in(2))
		one_count(op, 1);
	if (unit_one_in(5))
		op->g.flags |= GOP_NOACK;
	if (unit_one_in(4))
		some_later(op);
}

static void
make_records(Model *m, Op *op)
{
	int			step = (int) unit_between(1, 20);

	(void) m;
	for (int i = (int) unit_between(1, NIDS - 1); i < NIDS && op->g.nrecords < 100; i += (int) unit_between(1, (uint64_t) step))
		add_record(op, i, some_count());
}

static void
make_op(Model *m, Op *op)
{
	int			group = (int) unit_below(NGROUPS);
	int			consumer = (int) unit_below(NCONSUMERS);

	switch (!m->g[group].has && unit_one_in(2) ? 0 : unit_below(20))
	{
		case 0:
			op_start(op, GOP_CREATE, group, -1);
			op->g.flags = unit_one_in(2) ? GOP_IN_ORDER : 0;
			op->g.pos = id_at(unit_one_in(2) ? 0 : (int) unit_below(NIDS));
			op->g.entries_read = -1;
			break;
		case 1:
			op_start(op, unit_one_in(8) ? GOP_DESTROY : GOP_SETID, group, -1);
			if (op->g.kind == GOP_SETID)
				op->g.pos = id_at((int) unit_below(NIDS));
			break;
		case 2:
			op_start(op, GOP_POLICY, group, unit_one_in(2) ? 3 : -1);
			op->g.flags = unit_one_in(2) ? GOP_IN_ORDER : 0;
			op->g.retry = unit_below(1000);
			break;
		case 3:
			op_start(op, GOP_CONSUMER, group, consumer);
			op->g.time = unit_below(1000);
			break;
		case 4:
			op_start(op, GOP_DELCONSUMER, group, consumer);
			op->g.flags = unit_one_in(2) ? GOP_RELEASE : 0;
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			op_start(op, GOP_SET, group, unit_one_in(4) ? -1 : consumer);
			op->g.time = unit_below(1000);
			make_records(m, op);
			if (unit_one_in(2))
				one_count(op, some_count());
			if (unit_one_in(2))
				op->g.flags |= GOP_FORCE;
			if (op->consumer >= 0 && unit_one_in(2))
				op->g.flags |= GOP_ACTIVE;
			if (unit_one_in(5))
				op->g.pos = id_at((int) unit_below(NIDS));
			break;
		case 9:
		case 10:
		case 11:
			op_start(op, GOP_ACK, group, -1);
			make_records(m, op);
			op->g.flags = unit_one_in(3) ? GOP_DEAD : unit_one_in(3) ? GOP_NOACK : 0;
			break;
		default:
			op_start(op, GOP_DELIVER, group, consumer);
			make_deliver(m, op);
			break;
	}
	op_encode(op);
}

/* --- applying --- */

/* Everything that may fail does. */
static bool
fail_all(size_t size, ArenaUse use)
{
	(void) size;
	return use != ARENA_CHARGED;
}

static bool
fail_sometimes(size_t size, ArenaUse use)
{
	(void) size;
	return use != ARENA_CHARGED && unit_one_in(2);
}

static void
op_apply(Model *m, const Op *op, ArenaUse use)
{
	bool		has = m->g[op->group].has;
	EngStatus	want = op->g.kind == GOP_CREATE ? (has ? ENG_EXISTS : ENG_OK) : (has ? ENG_OK : ENG_NOTFOUND);

	arena_test_fail = unit_one_in(3) ? fail_all : unit_one_in(2) ? fail_sometimes : NULL;
	CHECK_EQ(gop_apply(A(m), &m->s, &op->g, use), want);
	arena_test_fail = NULL;
	model_apply(m, op);
}

static void
model_open(Model *m, size_t memory)
{
	memset(m, 0, sizeof(*m));
	twin_open(&m->t, memory);
	stream_init(&m->s, 0, unit_one_in(2) ? 10 : 0);
}

static void
model_close(Model *m)
{
	ArenaStats	st;

	stream_destroy(A(m), &m->s);
	CHECK_EQ(m->s.groups.nkeys, 0);
	arena_stats(A(m), &st);
	CHECK_EQ(st.used, 0);
	CHECK_SOUND(arena_check(A(m)));
	twin_close(&m->t);
}

static void
change_stream(Model *m)
{
	switch (unit_below(8))
	{
		case 0:
			trim_some(m);
			break;
		case 1:
		case 2:
		case 3:
			delete_some(m);
			break;
		default:
			add_some(m);
			break;
	}
}

static void
test_random(void)
{
	static Model m;
	static Op	op;

	model_open(&m, (size_t) 8 << 20);
	for (int i = 0; i < 300; i++)
	{
		if (unit_one_in(2))
			change_stream(&m);
		else
		{
			make_op(&m, &op);
			op_apply(&m, &op, unit_one_in(2) ? ARENA_NORMAL : ARENA_SHRINK);
			op_free(&op);
		}
		if (unit_one_in(4))
			check(&m);
		if (unit_one_in(10))
			twin_flip(&m.t);
	}
	check(&m);
	model_close(&m);
}

/*
 * Several operations are charged, then nothing is left in the arena but these
 * charges, then they are carried out in any order, with deletions and trims
 * between them: none fails.  Entries are not added, which runs rule out.
 */
static void
test_charge(void)
{
	static Model m;
	static Op	op[OPS_AHEAD];

	model_open(&m, (size_t) 24 << 20);
	for (int i = 0; i < 30; i++)
	{
		EngHandle	ballast;

		for (int k = 0; k < 20; k++)
			change_stream(&m);
		for (int k = 0; k < OPS_AHEAD; k++)
		{
			make_op(&m, &op[k]);
			gop_charge(&op[k].charge, &op[k].g);
			CHECK(arena_charge(A(&m), &op[k].charge, ARENA_NORMAL));
		}
		ballast = scarce_fill(A(&m));
		for (int left = OPS_AHEAD; left > 0; left--)
		{
			int			k = (int) unit_below((uint64_t) left);
			Op			x = op[k];

			while (unit_one_in(3))
			{
				if (unit_one_in(10))
					trim_some(&m);
				else
					delete_some(&m);
			}
			op_apply(&m, &x, ARENA_CHARGED);
			arena_uncharge(A(&m), &x.charge);
			op_free(&x);
			op[k] = op[left - 1];
		}
		check(&m);
		scarce_unfill(A(&m), ballast);
	}
	model_close(&m);
}

/*
 * The same for operations that are carried out one after the other, of a few
 * consumers: one that is known by then is not charged again.
 */
static void
test_charge_list(void)
{
	static Model m;
	static Op	op[OPS_AHEAD];

	model_open(&m, (size_t) 24 << 20);
	for (int i = 0; i < 30; i++)
	{
		bool		known[NGROUPS][NCONSUMERS] = {0};
		ArenaCharge charge = {0};
		EngHandle	ballast;

		for (int k = 0; k < 20; k++)
			change_stream(&m);
		for (int k = 0; k < OPS_AHEAD; k++)
		{
			bool		makes;

			make_op(&m, &op[k]);
			makes = op[k].consumer >= 0 && (op[k].g.kind == GOP_CONSUMER || op[k].g.kind == GOP_DELIVER ||
											op[k].g.kind == GOP_SET);
			if (makes && known[op[k].group][op[k].consumer])
				gop_charge_known(&charge, &op[k].g);
			else
				gop_charge(&charge, &op[k].g);
			if (makes)
				known[op[k].group][op[k].consumer] = true;
			else if (op[k].g.kind == GOP_DELCONSUMER || op[k].g.kind == GOP_CREATE || op[k].g.kind == GOP_DESTROY)
				memset(known[op[k].group], 0, sizeof(known[op[k].group]));
		}
		CHECK(arena_charge(A(&m), &charge, ARENA_NORMAL));
		ballast = scarce_fill(A(&m));
		for (int k = 0; k < OPS_AHEAD; k++)
		{
			op_apply(&m, &op[k], ARENA_CHARGED);
			op_free(&op[k]);
		}
		arena_uncharge(A(&m), &charge);
		check(&m);
		scarce_unfill(A(&m), ballast);
	}
	model_close(&m);
}

/* Apply the op with nothing in the arena but its charge. */
static void
apply_large(Model *m, Gop *g, const GopRun *runs, const GopRecord *records)
{
	size_t		size = gop_size(g);
	uint8_t    *bytes = malloc(size);
	ArenaCharge charge = {0};
	EngHandle	ballast;
	Gop			op;

	gop_write(g, runs, records, bytes);
	CHECK_EQ(gop_read(&op, bytes, size), size);
	gop_charge(&charge, &op);
	CHECK(arena_charge(A(m), &charge, ARENA_NORMAL));
	ballast = scarce_fill(A(m));
	CHECK_EQ(gop_apply(A(m), &m->s, &op, ARENA_CHARGED), ENG_OK);
	arena_uncharge(A(m), &charge);
	scarce_unfill(A(m), ballast);
	CHECK_SOUND(groups_check(A(m), &m->s));
	free(bytes);
}

#define LARGE		20000

/* Operations so large that the charge has no slack to speak of. */
static void
test_large(void)
{
	static Model m;
	static GopRun runs[LARGE];
	static GopRecord records[LARGE];
	Gop			create = {.kind = GOP_CREATE, .group = "g", .group_len = 1};
	Gop			g = {.kind = GOP_DELIVER, .flags = GOP_ONE_COUNT, .count = 1, .group = "g", .group_len = 1,
	.has_consumer = true, .consumer = "a", .consumer_len = 1};
	const StreamGroup *group;
	uint8_t    *f = gen_fields(0, 5);
	uint8_t    *lp = malloc(node_size_one(f));

	model_open(&m, (size_t) 200 << 20);
	node_create(lp, f);
	for (int i = 0; i < LARGE; i++)
	{
		StreamId	id = {(uint64_t) i * 2 + 1, 0};

		CHECK_EQ(stream_add_chunk(A(&m), &m.s, id, lp, 0, ARENA_NORMAL), ENG_OK);
		records[i] = (GopRecord) {id, 1, 0};
		runs[i] = (GopRun) {{id.ms - 1, 5}, id, 1};
	}
	free(f);
	free(lp);
	apply_large(&m, &create, NULL, NULL);
	group = group_find(A(&m), &m.s, "g", 1);

	/* what is asked for the consumer of an operation is asked for once */
	{
		ArenaCharge all = {0};
		ArenaCharge rest = {0};
		ArenaCharge one = {0};

		g.kind = GOP_CONSUMER;
		gop_charge(&one, &g);
		gop_charge_known(&rest, &g);
		CHECK(memcmp(&rest, &all, sizeof(all)) == 0);
		g.kind = GOP_DELIVER;
		gop_charge(&all, &g);
		gop_charge_known(&rest, &g);
		for (int i = 0; i < ARENA_NCLASS; i++)
		{
			CHECK_EQ(rest.n[i] + one.n[i], all.n[i]);
			CHECK_EQ(rest.exact[i] + one.exact[i], all.exact[i]);
		}
	}

	/* runs with gaps between, which is the most that gaps can take */
	g.nruns = LARGE / 10;
	g.nrecords = LARGE / 10;
	apply_large(&m, &g, runs, records);
	CHECK_EQ(group->gaps.bounds.nkeys, 2 * g.nruns);
	CHECK_EQ(group->pending.n, g.nrecords);

	/* all in one run; what was there is overwritten, in wide blocks */
	runs[0] = (GopRun) {STREAMID_MIN, records[LARGE - 1].id, LARGE};
	g.nruns = 1;
	g.nrecords = LARGE;
	g.count = 70000;
	apply_large(&m, &g, runs, records);
	CHECK_EQ(group->gaps.bounds.nkeys, 0);
	CHECK_EQ(group->pending.n, LARGE);
	CHECK_EQ(group_lag(&m.s, group), 0);

	/* times of their own take no memory */
	g.flags |= GOP_TIMES;
	for (int i = 0; i < LARGE; i++)
		records[i].later = (uint32_t) i;
	apply_large(&m, &g, runs, records);
	{
		PendingRecord r;

		CHECK(pending_get(A(&m), &group->pending, records[LARGE - 1].id, &r));
		CHECK_EQ(r.time, LARGE - 1);
		CHECK_EQ(group_consumer(A(&m), group, "a", 1)->active, LARGE - 1);
		CHECK_EQ(group_consumer(A(&m), group, "a", 1)->seen, LARGE - 1);
	}

	/* anew, in narrow blocks, then each made wide */
	g.kind = GOP_ACK;
	g.flags = 0;
	g.has_consumer = false;
	g.consumer_len = 0;
	apply_large(&m, &g, NULL, records);
	CHECK_EQ(group->acked, LARGE);
	g.kind = GOP_DELIVER;
	g.flags = GOP_ONE_COUNT;
	g.has_consumer = true;
	g.consumer_len = 1;
	g.count = 1;
	apply_large(&m, &g, runs, records);
	g.kind = GOP_SET;
	g.count = 70000;
	apply_large(&m, &g, NULL, records);
	CHECK_EQ(group->pending.n, LARGE);

	/* as many records by force, with others between them from before */
	g.kind = GOP_ACK;
	g.flags = 0;
	for (int i = 0; i < LARGE / 2; i++)
		records[i] = (GopRecord) {{(uint64_t) i * 4 + 1, 0}, 1, 0};
	g.nrecords = LARGE / 2;
	g.has_consumer = false;
	g.consumer_len = 0;
	apply_large(&m, &g, NULL, records);
	g.kind = GOP_SET;
	g.flags = GOP_FORCE;
	g.nrecords = LARGE / 10;
	apply_large(&m, &g, NULL, records);
	CHECK_EQ(group->pending.n, LARGE / 2 + LARGE / 10);
	CHECK_EQ(group->pending.released, LARGE / 10);
	model_close(&m);
}

/* Without memory nothing happens. */
static void
test_no_memory(void)
{
	static Model m;
	static Op	op;
	EngHandle	ballast;
	int			refused = 0;

	model_open(&m, (size_t) 2 << 20);
	for (int i = 0; i < 200; i++)
	{
		EngStatus	st;

		change_stream(&m);
		make_op(&m, &op);
		ballast = unit_one_in(2) ? scarce_fill(A(&m)) : 0;
		st = gop_apply(A(&m), &m.s, &op.g, ARENA_NORMAL);
		if (st == ENG_NOMEM)
			refused++;
		else
			model_apply(&m, &op);
		op_free(&op);
		scarce_unfill(A(&m), ballast);
		if (st == ENG_NOMEM || unit_one_in(4))
			check(&m);
	}
	CHECK(refused > 0);
	model_close(&m);
}

/* --- what Redis does --- */

/* A stream of the entries 1-0, 2-0 ... n-0 and one group, created at `pos`. */
static void
start(Model *m, int n, int pos)
{
	static Op	op;

	model_open(m, (size_t) 4 << 20);
	for (int i = 1; i <= n; i++)
		add_entries(m, i * SEQS, i * SEQS);
	op_start(&op, GOP_CREATE, 1, -1);
	op.g.pos = id_at(pos * SEQS);
	op.g.entries_read = -1;
	op_encode(&op);
	op_apply(m, &op, ARENA_NORMAL);
	op_free(&op);
}

static StreamGroup *
the_group(Model *m)
{
	return group_find(A(m), &m->s, group_name[1], strlen(group_name[1]));
}

static void
deliver_to(Model *m, int consumer, uint64_t time, int from, int to, uint8_t flags)
{
	static Op	op;

	op_start(&op, GOP_DELIVER, 1, consumer);
	op.g.time = time;
	op.runs[op.g.nruns++] = (GopRun) {id_at((from - 1) * SEQS), id_at(to * SEQS), (uint32_t) (to - from + 1)};
	for (int i = from; i <= to; i++)
		add_record(&op, i * SEQS, 1);
	one_count(&op, 1);
	op.g.flags |= flags;
	op_encode(&op);
	op_apply(m, &op, ARENA_NORMAL);
	op_free(&op);
	check(m);
}

static void
set_to(Model *m, int consumer, uint64_t time, int i, uint64_t count, uint8_t flags)
{
	static Op	op;

	op_start(&op, GOP_SET, 1, consumer);
	op.g.time = time;
	op.g.flags = flags;
	add_record(&op, i * SEQS, count);
	op_encode(&op);
	op_apply(m, &op, ARENA_NORMAL);
	op_free(&op);
	check(m);
}

static void
set_id(Model *m, int pos, int64_t entries_read)
{
	static Op	op;

	op_start(&op, GOP_SETID, 1, -1);
	op.g.pos = id_at(pos * SEQS);
	op.g.entries_read = entries_read;
	op_encode(&op);
	op_apply(m, &op, ARENA_NORMAL);
	op_free(&op);
	check(m);
}

static void
check_record(Model *m, int i, int consumer, uint64_t count, uint64_t time)
{
	StreamGroup	   *g = the_group(m);
	PendingRecord r;

	if (!CHECK(pending_get(A(m), &g->pending, id_at(i * SEQS), &r)))
		return;
	CHECK_EQ(r.count, count);
	CHECK_EQ(r.time, time);
	if (consumer < 0)
		CHECK_EQ(r.consumer, 0);
	else
		CHECK(group_consumer_numbered(A(m), g, r.consumer) ==
			  group_consumer(A(m), g, consumer_name[consumer], strlen(consumer_name[consumer])));
}

static void
check_times(Model *m, int consumer, uint64_t seen, uint64_t active)
{
	Consumer   *c = group_consumer(A(m), the_group(m), consumer_name[consumer], strlen(consumer_name[consumer]));

	CHECK_EQ(c->seen, seen);
	CHECK_EQ(c->active, active);
}

/* The changes of a record, its consumer and its group, command by command:
 * owner, count, time, seen, active, last delivered. */
static void
test_states(void)
{
	static Model m;
	static Op	op;
	StreamGroup	   *g;

	start(&m, 9, 0);
	g = the_group(&m);

	/* xreadgroup >, new */
	deliver_to(&m, 1, 10, 1, 3, 0);
	check_record(&m, 2, 1, 1, 10);
	check_times(&m, 1, 10, 10);
	CHECK_EQ(g->cursor.ms, 3);
	/* with noack */
	deliver_to(&m, 1, 20, 4, 5, GOP_NOACK);
	CHECK_EQ(g->pending.n, 3);
	check_times(&m, 1, 20, 10);
	CHECK_EQ(g->cursor.ms, 5);
	CHECK_EQ(g->delivered, 5);
	/* a record that was there, after xgroup_setid back */
	set_to(&m, 1, 25, 2, 7, GOP_ACTIVE);
	set_id(&m, 1, -1);
	check_record(&m, 3, 1, 1, 10);
	CHECK_EQ(g->cursor.ms, 1);
	deliver_to(&m, 4, 30, 2, 2, 0);
	check_record(&m, 2, 4, 1, 30);
	check_times(&m, 4, 30, 30);
	CHECK_EQ(g->cursor.ms, 2);
	/* and with noack it goes */
	set_id(&m, 1, -1);
	deliver_to(&m, 4, 31, 2, 2, GOP_NOACK);
	CHECK_EQ(g->pending.n, 2);
	/* history: count and time, no activity; of an entry that is gone nothing */
	set_to(&m, 1, 40, 3, 2, 0);
	check_record(&m, 3, 1, 2, 40);
	check_times(&m, 1, 40, 25);
	CHECK_EQ(g->redelivered, 1);
	/* a claim */
	set_to(&m, 4, 50, 3, 3, GOP_ACTIVE);
	check_record(&m, 3, 4, 3, 50);
	check_times(&m, 4, 50, 50);
	CHECK_EQ(g->redelivered, 2);
	/* a claim of nothing: seen, but not active */
	set_to(&m, 4, 60, 8, 3, GOP_ACTIVE);
	check_times(&m, 4, 60, 50);
	CHECK_EQ(g->redelivered, 2);
	/* forced: a record, and the entry is still delivered later, which resets it */
	CHECK_EQ(group_lag(&m.s, g), 7);
	set_to(&m, 4, 60, 8, 2, GOP_ACTIVE | GOP_FORCE);
	check_record(&m, 8, 4, 2, 60);
	CHECK_EQ(group_lag(&m.s, g), 7);
	deliver_to(&m, 1, 70, 3, 9, 0);
	check_record(&m, 8, 1, 1, 70);
	CHECK_EQ(group_lag(&m.s, g), 0);
	/* forced for an entry that is not there */
	set_to(&m, 4, 60, 20, 2, GOP_FORCE);
	CHECK_EQ(g->pending.n, 8);
	/* xnack: released, times of nobody change */
	set_to(&m, -1, 0, 8, INT64_MAX, 0);
	check_record(&m, 8, -1, INT64_MAX, 0);
	check_times(&m, 1, 70, 70);
	CHECK_EQ(g->pending.released, 1);
	/* xclaim with lastid, nothing claimed */
	set_id(&m, 1, -1);
	op_start(&op, GOP_SET, 1, 1);
	op.g.time = 80;
	op.g.pos = id_at(4 * SEQS);
	op_encode(&op);
	op_apply(&m, &op, ARENA_NORMAL);
	op_free(&op);
	CHECK_EQ(g->cursor.ms, 4);
	CHECK_EQ(group_lag(&m.s, g), 5);
	/* xack, and as a dead letter */
	for (int i = 3; i < 5; i++)
	{
		op_start(&op, GOP_ACK, 1, -1);
		add_record(&op, i * SEQS, 0);
		add_record(&op, 20 * SEQS, 0);
		op.g.flags = i == 4 ? GOP_DEAD : 0;
		op_encode(&op);
		op_apply(&m, &op, ARENA_NORMAL);
		op_free(&op);
		check(&m);
	}
	CHECK_EQ(g->acked, 1);
	CHECK_EQ(g->dead, 1);
	check_times(&m, 1, 80, 70);
	/* xgroup_delconsumer gives back */
	op_start(&op, GOP_DELCONSUMER, 1, 1);
	op.g.flags = GOP_RELEASE;
	op_encode(&op);
	op_apply(&m, &op, ARENA_NORMAL);
	op_free(&op);
	check(&m);
	check_record(&m, 5, -1, 1, 0);
	CHECK_EQ(g->pending.released, g->pending.n);
	/* a new consumer of that name has another number */
	deliver_to(&m, 1, 90, 5, 5, 0);
	CHECK_EQ(group_consumer(A(&m), g, "a", 1)->number, 3);
	model_close(&m);
}

/* entries_read, as the rules for it say. */
static void
test_entries_read(void)
{
	static Model m;

	/* from the beginning: known as soon as something was read */
	start(&m, 9, 0);
	CHECK_EQ(the_group(&m)->entries_read, -1);
	deliver_to(&m, 1, 1, 1, 1, 0);
	CHECK_EQ(the_group(&m)->entries_read, 1);
	deliver_to(&m, 1, 1, 2, 4, 0);
	CHECK_EQ(the_group(&m)->entries_read, 4);
	/* what was passed by counts, and not again when it is delivered */
	deliver_to(&m, 1, 1, 7, 7, 0);
	CHECK_EQ(group_lag(&m.s, the_group(&m)), 4);
	CHECK_EQ(the_group(&m)->entries_read, 7);
	deliver_to(&m, 1, 1, 5, 6, 0);
	CHECK_EQ(the_group(&m)->entries_read, 7);
	/* an entry above the cursor is deleted: unknown until the last one is read */
	CHECK(stream_del(A(&m), &m.s, id_at(8 * SEQS), 0));
	m.live[8 * SEQS] = false;
	set_id(&m, 6, 6);
	deliver_to(&m, 1, 1, 7, 7, 0);
	CHECK_EQ(the_group(&m)->entries_read, -1);
	deliver_to(&m, 1, 1, 8, 9, 0);
	CHECK_EQ(the_group(&m)->entries_read, 9);
	model_close(&m);

	/* in the middle: unknown until the last one */
	start(&m, 9, 4);
	deliver_to(&m, 1, 1, 5, 8, 0);
	CHECK_EQ(the_group(&m)->entries_read, -1);
	deliver_to(&m, 1, 1, 9, 9, 0);
	CHECK_EQ(the_group(&m)->entries_read, 9);
	model_close(&m);

	/* behind a trim: known from the first one on */
	start(&m, 9, 0);
	CHECK_EQ(stream_trim(A(&m), &m.s, id_at(4 * SEQS), false), 3);
	for (int i = 1; i < 4; i++)
		m.live[i * SEQS] = false;
	deliver_to(&m, 1, 1, 4, 5, 0);
	CHECK_EQ(the_group(&m)->entries_read, 5);
	model_close(&m);

	/* a trim of what was not read: what is read next tells where that is */
	start(&m, 9, 0);
	deliver_to(&m, 1, 1, 1, 1, 0);
	CHECK_EQ(stream_trim(A(&m), &m.s, id_at(4 * SEQS), false), 3);
	for (int i = 1; i < 4; i++)
		m.live[i * SEQS] = false;
	m.g[1].r[SEQS].has = false;
	deliver_to(&m, 1, 1, 4, 4, 0);
	CHECK_EQ(the_group(&m)->entries_read, 4);
	model_close(&m);
}

static void
test_policy(void)
{
	static Model m;
	static Op	op;
	GroupPolicy p;

	start(&m, 1, 0);
	for (int i = 0; i < 3; i++)
	{
		op_start(&op, GOP_POLICY, 1, i < 2 ? 3 + i : -1);
		op.g.flags = i == 1 ? GOP_IN_ORDER : 0;
		op.g.retry = 1000;
		op.g.max_deliveries = 5;
		op_encode(&op);
		op_apply(&m, &op, ARENA_NORMAL);
		group_policy(A(&m), the_group(&m), &p);
		CHECK_EQ(p.in_order, i == 1);
		CHECK_EQ(p.retry, 1000);
		CHECK_EQ(p.max_deliveries, 5);
		CHECK_EQ(p.dead_letter_len, op.g.consumer_len);
		CHECK_EQ(p.dead_letter != NULL, i < 2);
		if (i < 2)
			CHECK_MEM(p.dead_letter, consumer_name[3 + i], p.dead_letter_len);
		op_free(&op);
		check(&m);
	}
	model_close(&m);
}

/* --- bytes --- */

/* The example of docs/formats.md. */
static void
test_example(void)
{
	static Op	op;
	static const uint8_t bytes[] = {
		0x07, 0x40, 0x04, 0x00, 0x05, 0x00,
		'j', 'o', 'b', 's',
		'a', 'l', 'i', 'c', 'e',
		0x00, 0x68, 0xE5, 0xCF, 0x8B, 0x01, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x00,
		0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
	};

	op_start(&op, GOP_DELIVER, 0, 3);
	op.g.group = "jobs";
	op.g.group_len = 4;
	op.g.time = UINT64_C(1700000000000);
	op.runs[op.g.nruns++] = (GopRun) {{5, 0}, {7, 0}, 2};
	op.records[op.g.nrecords++] = (GopRecord) {{6, 1}, 1, 0};
	op.records[op.g.nrecords++] = (GopRecord) {{7, 0}, 1, 0};
	one_count(&op, 1);
	op_encode(&op);
	CHECK_EQ(op.size, sizeof(bytes));
	CHECK_MEM(op.bytes, bytes, sizeof(bytes));
	CHECK_EQ(gop_run(&op.g, 0).n, 2);
	CHECK_EQ(gop_record(&op.g, 0).id.seq, 1);
	CHECK_EQ(gop_record(&op.g, 1).count, 1);
	op_free(&op);
}

/* Is the op, as written, refused? */
static void
check_refused(const Op *op, const char *what)
{
	size_t		size = gop_size(&op->g);
	uint8_t    *bytes = malloc(size);
	Gop			g;

	gop_write(&op->g, op->runs, op->records, bytes);
	if (!CHECK_EQ(gop_read(&g, bytes, size), 0))
		printf("# %s\n", what);
	free(bytes);
}

static Op  *
sound_deliver(void)
{
	static Op	op;

	op_start(&op, GOP_DELIVER, 1, 3);
	op.runs[0] = (GopRun) {{5, 0}, {7, 0}, 2};
	op.runs[1] = (GopRun) {{7, 0}, {9, 0}, 1};
	op.records[0] = (GopRecord) {{6, 1}, 1, 0};
	op.records[1] = (GopRecord) {{7, 0}, 1, 0};
	op.records[2] = (GopRecord) {{8, 0}, 1, 0};
	op.g.nruns = 2;
	op.g.nrecords = 3;
	return &op;
}

static void
test_refused(void)
{
	static char long_name[GROUP_NAME_MAX + 1];
	Op		   *op = sound_deliver();
	uint8_t		head[] = {0, 0, 0, 0, 0xFF, 0xFF};
	Gop			g;

	op_encode(op);
	op_free(op);
#define REFUSED(change) \
	do { op = sound_deliver(); change; check_refused(op, #change); } while (0)
	REFUSED(op->g.flags = GOP_FORCE);
	REFUSED(op->g.flags = GOP_IN_ORDER);
	REFUSED(op->g.flags = GOP_TIMES; op->g.time = PENDING_TIME_MAX; op->records[1].later = 1);
	REFUSED(op->g.time = UINT64_C(1) << 48);
	REFUSED(op->runs[0].n = 1);
	REFUSED(op->runs[1].n = 2);
	REFUSED(op->runs[1].n = UINT32_MAX);
	REFUSED(op->runs[1].after.seq = 1; op->runs[0].last.seq = 2);
	REFUSED(op->runs[0].last = op->runs[0].after);
	REFUSED(op->runs[0].after = ((StreamId) {6, 1}));
	REFUSED(op->runs[1].last = ((StreamId) {7, 9}));
	REFUSED(op->records[1].id = op->records[0].id);
	REFUSED(op->records[0].count = UINT64_MAX);
	REFUSED(op->g.flags = GOP_ONE_COUNT; op->g.count = UINT64_MAX);
	REFUSED(op->g.nruns = 0);
	REFUSED(op->g.group = long_name; op->g.group_len = GROUP_NAME_MAX + 1);
	REFUSED(op->g.consumer = long_name; op->g.consumer_len = GROUP_NAME_MAX + 1);
	REFUSED(op_start(op, GOP_SET, 1, -1); op->g.flags = GOP_ACTIVE);
	REFUSED(op_start(op, GOP_ACK, 1, -1); op->g.nrecords = 1);	/* 0-0 */
	REFUSED(op_start(op, GOP_ACK, 1, -1); op->g.flags = GOP_ONE_COUNT);
	REFUSED(op_start(op, GOP_SET, 1, 1); op->g.flags = GOP_TIMES);
	REFUSED(op_start(op, GOP_CREATE, 1, -1); op->g.entries_read = -2);
	REFUSED(op_start(op, GOP_POLICY, 1, -1); op->g.retry = UINT64_MAX);
	REFUSED(op_start(op, GOP_POLICY, 1, -1); op->g.max_deliveries = UINT64_MAX);
#undef REFUSED
	/* no such kind, a consumer missing, or too much */
	for (int kind = 0; kind < 256; kind++)
	{
		head[0] = (uint8_t) kind;
		CHECK_EQ(gop_read(&g, head, sizeof(head)), kind == GOP_DESTROY ? sizeof(head) : 0);
	}
	head[0] = GOP_DESTROY;
	head[4] = head[5] = 0;
	CHECK_EQ(gop_read(&g, head, sizeof(head)), 0);
	CHECK_EQ(gop_read(&g, head, 0), 0);
}

int
main(void)
{
	unit_begin("group");
	test_example();
	test_refused();
	test_states();
	test_entries_read();
	test_policy();
	test_large();
	for (int i = unit_scale(8); i > 0; i--)
	{
		test_random();
		test_charge();
		test_charge_list();
		test_no_memory();
	}
	return unit_end();
}
