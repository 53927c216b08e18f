/*
 * join.c
 *	  Deliveries of many calls become one operation, when the transaction
 *	  commits.
 *
 * A worker that reads one entry at a time leaves a delivery for each call.  The
 * most that merging one can take is much, whatever it holds: it may begin and
 * end a gap, and write anew full blocks of pending records on either side.  So
 * deliveries that follow each other are joined, and runs that meet with them:
 * what is set aside is then for the entries and not for the calls.
 *
 * A delivery may be carried out right after one before it, if nothing between
 * the two has to do with its entries.  What may lie between are acknowledgements
 * and changes of records, of lower ids only; all else, and another consumer,
 * begins a new one.  Times and counts of each entry remain what they were.
 */
#include "postgres.h"

#include "xact/group.h"

/* The delivery that more may go into, of one group. */
typedef struct Head
{
	int			first;			/* -1: none */
	int			last;			/* what went into it last */
	Gop			op;				/* the first */
	uint64		last_time;
	StreamId	end;			/* of its runs */
	StreamId	above;			/* nothing since has to do with ids above this */
} Head;

static void
read_op(const Pend *p, int i, Gop *op)
{
	/* what a load would refuse must not come into the journal */
	if (gop_read(op, p->gop_bytes + p->gops[i].offset, p->gop_used - p->gops[i].offset) == 0)
		elog(ERROR, "operation on a consumer group is malformed");
}

static bool
may_join(const Pend *p, const Head *h, const Gop *op, bool registered)
{
	return h->first >= 0 && op->nrecords > 0 && op->time >= h->last_time &&
		op->time - h->op.time <= PG_UINT32_MAX && sid_cmp(gop_run(op, 0).after, h->end) >= 0 &&
		sid_cmp(gop_record(op, 0).id, h->above) > 0 && p->gops[h->first].registered == registered &&
		((op->flags ^ h->op.flags) & ~GOP_ONE_COUNT) == 0 && op->consumer_len == h->op.consumer_len &&
		memcmp(op->consumer, h->op.consumer, op->consumer_len) == 0;
}

/* Say in `next` which of the group's deliveries follow each other; true: some do. */
static bool
find_joins(const Pend *p, const GroupPend *gp, int *next)
{
	Head		h = {.first = -1};
	bool		any = false;

	for (int i = 0; i < p->ngops; i++)
	{
		Gop			op;

		if (p->gops[i].group != gp)
			continue;
		read_op(p, i, &op);
		if (op.kind == GOP_DELIVER && op.nruns > 0)
		{
			if (may_join(p, &h, &op, p->gops[i].registered))
			{
				next[h.last] = i;
				any = true;
			}
			else
				h = (Head) {.first = i, .op = op};
			h.last = i;
			h.last_time = op.time;
			h.end = gop_run(&op, op.nruns - 1).last;
		}
		else if (op.kind != GOP_ACK && op.kind != GOP_CONSUMER &&
				 (op.kind != GOP_SET || !sid_is_zero(op.pos)))
			h.first = -1;
		if (op.nrecords > 0 && sid_cmp(gop_record(&op, op.nrecords - 1).id, h.above) > 0)
			h.above = gop_record(&op, op.nrecords - 1).id;
	}
	return any;
}

/* Add the runs and records of a delivery to those of `to`. */
static void
append(Gop *to, GopRun *runs, GopRecord *records, const Gop *op)
{
	for (uint32 i = 0; i < op->nruns; i++)
	{
		GopRun		run = gop_run(op, i);
		GopRun	   *last = to->nruns > 0 ? &runs[to->nruns - 1] : NULL;

		if (last != NULL && sid_cmp(last->last, run.after) == 0)
		{
			last->last = run.last;
			last->n += run.n;
		}
		else
			runs[to->nruns++] = run;
	}
	for (uint32 i = 0; i < op->nrecords; i++)
	{
		GopRecord	r = gop_record(op, i);

		r.later = (uint32) (op->time - to->time);
		if (r.later != 0)
			to->flags |= GOP_TIMES;
		if (r.count != to->count)
			to->flags &= ~GOP_ONE_COUNT;
		records[to->nrecords++] = r;
	}
}

/* The new list: its bytes, and the operations with their places in them. */
typedef struct List
{
	uint8	   *bytes;
	Size		used;
	Size		cap;
	GroupOp    *ops;
	int			n;
} List;

/* Take over an operation, with what is to be joined to it. */
static void
take_over(List *l, const Pend *p, const int *next, int first)
{
	Gop			to;
	Size		nruns = 0;
	Size		nrecords = 0;
	GopRun	   *runs;
	GopRecord  *records;
	GroupOp    *o = &l->ops[l->n++];

	*o = p->gops[first];
	o->offset = l->used;
	if (next[first] == 0)
	{
		Size		end = first + 1 < p->ngops ? p->gops[first + 1].offset : p->gop_used;
		Size		bytes = end - p->gops[first].offset;

		PEND_GROW(l->bytes, l->used, l->cap, bytes);
		memcpy(l->bytes + l->used, p->gop_bytes + p->gops[first].offset, bytes);
		l->used += bytes;
		return;
	}
	for (int i = first;; i = next[i])
	{
		Gop			op;

		read_op(p, i, &op);
		nruns += op.nruns;
		nrecords += op.nrecords;
		if (next[i] == 0)
			break;
	}
	runs = palloc_extended(nruns * sizeof(GopRun), MCXT_ALLOC_HUGE);
	records = palloc_extended(nrecords * sizeof(GopRecord), MCXT_ALLOC_HUGE);
	read_op(p, first, &to);
	to.nruns = to.nrecords = 0;
	for (int i = first;; i = next[i])
	{
		Gop			op;

		read_op(p, i, &op);
		append(&to, runs, records, &op);
		if (next[i] == 0)
			break;
	}
	PEND_GROW(l->bytes, l->used, l->cap, gop_size(&to));
	l->used += gop_write(&to, runs, records, l->bytes + l->used);
	pfree(runs);
	pfree(records);
}

void
gops_join(Pend *p)
{
	int			ndeliver = 0;
	bool		any = false;
	int		   *next;			/* of each: what is to be joined to it; 0: nothing */
	bool	   *joined;
	List		l = {0};

	for (int i = 0; i < p->ngops; i++)
		ndeliver += p->gops[i].kind == GOP_DELIVER;
	/* changes of the header lie between operations */
	if (ndeliver < 2 || p->nheaders > 0)
		return;
	next = palloc_extended(p->ngops * sizeof(int), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (GroupPend *gp = p->groups; gp != NULL; gp = gp->next)
		if (gp->nops > 1 && find_joins(p, gp, next))
			any = true;
	if (any)
	{
		joined = palloc_extended(p->ngops * sizeof(bool), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		for (int i = 0; i < p->ngops; i++)
			if (next[i] != 0)
				joined[next[i]] = true;
		l.ops = MemoryContextAllocHuge(pend_context(), p->ngops * sizeof(GroupOp));
		for (int i = 0; i < p->ngops; i++)
			if (!joined[i])
				take_over(&l, p, next, i);
		/* nothing can fail from here on */
		pfree(p->gops);
		pfree(p->gop_bytes);
		p->gops_cap = p->ngops;
		p->gops = l.ops;
		p->ngops = l.n;
		p->gop_bytes = l.bytes;
		p->gop_used = l.used;
		p->gop_cap = l.cap;
		pfree(joined);
	}
	pfree(next);
}
