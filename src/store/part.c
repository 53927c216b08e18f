/*
 * part.c
 *	  Transactions' parts in a stream: reservations, deletions, trims, groups.
 *
 * All functions need the stream's lock, exclusive where they change
 * something.  None waits, and only strm_part_new can lack memory.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"

#include "store/store.h"

EngHandle
strm_part_new(SharedStream *ss, TransactionId xid)
{
	EngHandle	h = arena_alloc(&StrmArena, sizeof(Part), ARENA_SHRINK);
	Part	   *p;

	if (h == 0)
		return 0;
	p = STRM_PTR(Part, h);
	memset(p, 0, sizeof(Part));
	p->procno = MyProcNo();
	p->pid = MyProcPid;
	p->xid = xid;
	p->holder = xid;
	p->min_id = STREAMID_MAX;
	p->max_id = STREAMID_MIN;
	p->next = ss->parts;
	if (ss->parts != 0)
		STRM_PTR(Part, ss->parts)->prev = h;
	ss->parts = h;
	return h;
}

/*
 * The least of its ids tells: those of a set that has been merged are not above
 * the last id, and one that goes unused matters to readers if there is an entry
 * above it, which they could not reach.
 */
void
strm_part_note(SharedStream *ss, const Part *part)
{
	if (part->reserved > 0 && sid_cmp(part->min_id, ss->stream.last_id) <= 0)
		strm_listen_note(ss);
}

void
strm_part_release(SharedStream *ss, EngHandle h)
{
	Part	   *p = STRM_PTR(Part, h);

	while (p->uses != 0)
		strm_use_set(ss, h, STRM_PTR(GroupShare, STRM_PTR(GroupUse, p->uses)->share), false, false);
	strm_part_note(ss, p);
	if (p->prev != 0)
		STRM_PTR(Part, p->prev)->next = p->next;
	else
		ss->parts = p->next;
	if (p->next != 0)
		STRM_PTR(Part, p->next)->prev = p->prev;
	arena_free(&StrmArena, h);
}

void
strm_part_settle(SharedStream *ss)
{
	ss->last_reserved = ss->stream.last_id;
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
	{
		Part	   *p = STRM_PTR(Part, h);

		if (p->reserved > 0 && sid_cmp(p->max_id, ss->last_reserved) > 0)
			ss->last_reserved = p->max_id;
	}
	strm_shares_settle(ss);
	/* a stream nobody makes any more, or that is dropped and left by all */
	if ((ss->state == SS_PROVISIONAL || ss->state == SS_DROPPED) &&
		ss->parts == 0 && ss->waiters == 0 && ss->ngroup_waiters == 0 &&
		pg_atomic_read_u32(&ss->q_len) == 0)
		strm_registry_release(ss);
}

bool
strm_horizon(SharedStream *ss, EngHandle own, StreamId *id)
{
	bool		found = false;

	*id = STREAMID_MAX;
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
	{
		Part	   *p = STRM_PTR(Part, h);

		if (h == own || p->reserved == 0)
			continue;
		found = true;
		if (sid_cmp(p->min_id, *id) < 0)
			*id = p->min_id;
	}
	return found;
}

TransactionId
strm_reserved_upto(SharedStream *ss, EngHandle own, StreamId id)
{
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
	{
		Part	   *p = STRM_PTR(Part, h);

		if (h != own && p->reserved > 0 && sid_cmp(p->min_id, id) <= 0)
			return strm_part_waitfor(ss, p);
	}
	return InvalidTransactionId;
}

TransactionId
strm_part_waitfor(SharedStream *ss, Part *part)
{
	TransactionId xid = part->holder;

	if (part->numbered)
	{
		SpinLockAcquire(&ss->q_mutex);
		if (ss->q_head != 0)
			xid = STRM_PTR(TxRecord, STRM_PTR(ChangeSet, ss->q_head)->tx)->xid;
		SpinLockRelease(&ss->q_mutex);
	}
	return xid;
}

static bool
is_kind(const Part *part, PartKind kind)
{
	switch (kind)
	{
		case PART_LEAVING:
			return part->dropping || part->renaming;
		case PART_EXCLUSIVE:
			return part->exclusive;
		case PART_CLOSING:
			return part->exclusive || part->wants;
		case PART_GRANTING:
			return part->granting;
		default:
			return !part->idle;
	}
}

TransactionId
strm_part_other(SharedStream *ss, EngHandle own, PartKind kind)
{
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
		if (h != own && is_kind(STRM_PTR(Part, h), kind))
			return strm_part_waitfor(ss, STRM_PTR(Part, h));
	return InvalidTransactionId;
}
