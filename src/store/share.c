/*
 * share.c
 *	  Transient state of groups: what is in flight, and who administers.
 *
 * All functions need the stream's lock, exclusive where they change
 * something.  None waits; those that can lack memory say so in store.h.
 *
 * A flight is one word in a tree by id: whose part it is with (a handle,
 * which is a multiple of 16), whether the group counts it as undelivered, and
 * how often a delivery of it was rolled back.  Rolling back changes the word in
 * place, so it needs no memory; a word with attempts stays until the entry is
 * delivered for good or is gone.
 *
 * A share belongs to a name, not to a group: two transactions that make the
 * same group meet in it before there is one.
 */
#include "postgres.h"

#include "store/store.h"

/* --- hints --- */

/* The entry is there to be delivered: the hints must not be above it. */
static void
lower_hints(GroupShare *g, StreamId id)
{
	StreamId	below = id;

	(void) sid_prev(&below);
	if (sid_cmp(below, g->new_from) < 0)
		g->new_from = below;
	if (sid_cmp(id, g->gap_from) < 0)
		g->gap_from = id;
}

/* --- finding --- */

static GroupShare *
share_ptr(EngHandle h)
{
	return h != 0 ? STRM_PTR(GroupShare, h) : NULL;
}

GroupShare *
strm_share(SharedStream *ss, const char *name, uint32 len, bool make)
{
	StreamGroup *group = group_find(&StrmArena, &ss->stream, name, len);
	GroupShare *g = group != NULL ? share_ptr(group->share) : NULL;
	EngHandle	h;

	if (g != NULL)
		return g;
	/* a group that is there knows its share */
	for (g = group == NULL && ss->nloose > 0 ? share_ptr(ss->shares) : NULL; g != NULL; g = share_ptr(g->next))
		if (g->name_len == len && memcmp(g->name, name, len) == 0)
			return g;
	if (!make)
		return NULL;
	h = arena_alloc(&StrmArena, offsetof(GroupShare, name) + len, ARENA_SHRINK);
	if (h == 0)
		return NULL;
	g = STRM_PTR(GroupShare, h);
	memset(g, 0, offsetof(GroupShare, name));
	g->self = h;
	g->name_len = len;
	memcpy(g->name, name, len);
	g->next = ss->shares;
	ss->shares = h;
	if (group != NULL)
		group->share = h;
	else
		ss->nloose++;
	return g;
}

static void
share_free(GroupShare *g)
{
	rax_clear(&StrmArena, &g->flight, NULL, NULL);
	arena_free(&StrmArena, g->self);
}

void
strm_shares_added(SharedStream *ss, StreamId first)
{
	/* nearly always: what is new lies above all that anybody has looked at */
	if (sid_cmp(first, ss->hint_top) > 0)
		return;
	ss->hint_top = STREAMID_MIN;
	for (GroupShare *g = share_ptr(ss->shares); g != NULL; g = share_ptr(g->next))
	{
		lower_hints(g, first);
		strm_hint_raised(ss, g->new_from);
		strm_hint_raised(ss, g->gap_from);
	}
}

void
strm_shares_reset(SharedStream *ss)
{
	for (GroupShare *g = share_ptr(ss->shares); g != NULL; g = share_ptr(g->next))
		g->new_from = g->gap_from = STREAMID_MIN;
}

void
strm_shares_settle(SharedStream *ss)
{
	EngHandle  *link = &ss->shares;

	if (ss->nloose == 0)
		return;
	while (*link != 0)
	{
		GroupShare *g = STRM_PTR(GroupShare, *link);

		if (g->nuses == 0 && g->waiters == 0 &&
			group_find(&StrmArena, &ss->stream, g->name, g->name_len) == NULL)
		{
			*link = g->next;
			share_free(g);
			ss->nloose--;
		}
		else
			link = &g->next;
	}
}

void
strm_shares_destroy(SharedStream *ss)
{
	while (ss->shares != 0)
	{
		GroupShare *g = STRM_PTR(GroupShare, ss->shares);

		ss->shares = g->next;
		share_free(g);
	}
	ss->nloose = 0;
}

/* --- who works with a group --- */

static GroupUse *
use_of(const Part *part, const GroupShare *g)
{
	for (EngHandle h = part->uses; h != 0; h = STRM_PTR(GroupUse, h)->next)
		if (STRM_PTR(GroupUse, h)->share == g->self)
			return STRM_PTR(GroupUse, h);
	return NULL;
}

static bool
stands_against(const GroupUse *other, UseKind kind, bool works)
{
	switch (kind)
	{
		case USE_LOOK:
			return other->admin;
		case USE_WORK:
			return other->admin || (other->wants && !works);
		default:
			return other->admin || other->works;
	}
}

TransactionId
strm_share_other(SharedStream *ss, const GroupShare *g, EngHandle own, UseKind kind)
{
	GroupUse   *ours;
	bool		works;

	if (g->nuses == 0)
		return InvalidTransactionId;
	ours = own != 0 ? use_of(STRM_PTR(Part, own), g) : NULL;
	works = ours != NULL && ours->works;
	for (EngHandle h = ss->parts; h != 0; h = STRM_PTR(Part, h)->next)
	{
		GroupUse   *use = h != own ? use_of(STRM_PTR(Part, h), g) : NULL;

		if (use != NULL && stands_against(use, kind, works))
			return strm_part_waitfor(ss, STRM_PTR(Part, h));
	}
	return InvalidTransactionId;
}

bool
strm_use_add(SharedStream *ss, EngHandle part, GroupShare *g, UseKind kind)
{
	Part	   *p = STRM_PTR(Part, part);
	GroupUse   *use = use_of(p, g);

	if (use == NULL)
	{
		EngHandle	h = arena_alloc(&StrmArena, sizeof(GroupUse), ARENA_SHRINK);

		if (h == 0)
			return false;
		use = STRM_PTR(GroupUse, h);
		*use = (GroupUse) {.next = p->uses, .share = g->self};
		p->uses = h;
		g->nuses++;
	}
	use->works = use->works || kind == USE_WORK;
	use->admin = use->admin || kind == USE_ADMIN;
	use->wants = kind == USE_WANT;
	return true;
}

void
strm_use_set(SharedStream *ss, EngHandle part, GroupShare *g, bool works, bool admin)
{
	EngHandle  *link = &STRM_PTR(Part, part)->uses;

	while (*link != 0 && STRM_PTR(GroupUse, *link)->share != g->self)
		link = &STRM_PTR(GroupUse, *link)->next;
	if (*link == 0)
		return;
	if (works || admin)
	{
		GroupUse   *use = STRM_PTR(GroupUse, *link);

		use->works = works;
		use->admin = admin;
		use->wants = false;
	}
	else
	{
		EngHandle	h = *link;

		*link = STRM_PTR(GroupUse, h)->next;
		arena_free(&StrmArena, h);
		g->nuses--;
	}
}

void
strm_uses_unwant(SharedStream *ss, EngHandle part)
{
	EngHandle	next;

	for (EngHandle h = STRM_PTR(Part, part)->uses; h != 0; h = next)
	{
		GroupUse   *use = STRM_PTR(GroupUse, h);

		next = use->next;
		if (use->wants)
			strm_use_set(ss, part, STRM_PTR(GroupShare, use->share), use->works, use->admin);
	}
}

/* --- flights --- */

#define PART_BITS		40		/* of a handle, which ends in four zero bits */
#define PART_MASK		((UINT64CONST(1) << PART_BITS) - 1)
#define TAKEN_BIT		(UINT64CONST(1) << PART_BITS)
#define ATTEMPTS_SHIFT	(PART_BITS + 1)
#define ATTEMPTS_MAX	((UINT64CONST(1) << (64 - ATTEMPTS_SHIFT)) - 1)

static uint64
flight_word(EngHandle part, bool taken, uint64 attempts)
{
	return part >> 4 | (taken ? TAKEN_BIT : 0) | Min(attempts, ATTEMPTS_MAX) << ATTEMPTS_SHIFT;
}

static Flight
flight_of_word(uint64 word)
{
	return (Flight) {
		.part = (word & PART_MASK) << 4,
		.taken = (word & TAKEN_BIT) != 0,
		.attempts = (uint32) (word >> ATTEMPTS_SHIFT)
	};
}

bool
strm_flight_get(const GroupShare *g, StreamId id, Flight *f)
{
	uint8		key[16];
	uint64		word;

	*f = (Flight) {0};
	if (g->flight.nkeys == 0)
		return false;
	sid_to_key(id, key);
	if (!rax_find(&StrmArena, &g->flight, key, 16, &word))
		return false;
	*f = flight_of_word(word);
	return true;
}

bool
strm_flight_begin(GroupShare *g, StreamId id, EngHandle part, bool taken)
{
	uint8		key[16];
	Flight		f = {0};
	uint64		before;
	EngStatus	st;

	sid_to_key(id, key);
	st = rax_insert(&StrmArena, &g->flight, key, 16, flight_word(part, taken, 0), &before, ARENA_SHRINK);
	if (st != ENG_OK && st != ENG_EXISTS)
		return false;
	if (st == ENG_EXISTS)
	{
		/* attempts, or ours already; the key is there: no memory is needed */
		f = flight_of_word(before);
		(void) rax_insert(&StrmArena, &g->flight, key, 16, flight_word(part, taken, f.attempts), NULL,
						  ARENA_SHRINK);
	}
	g->nflight += f.part == 0;
	if (f.part != part)
		STRM_PTR(Part, part)->nflight++;
	g->ntaken += taken - f.taken;
	return true;
}

void
strm_flight_end(GroupShare *g, StreamId id, EngHandle part, FlightEnd how)
{
	uint8		key[16];
	Flight		f;

	if (!strm_flight_get(g, id, &f) || f.part != part)
		return;
	sid_to_key(id, key);
	g->nflight--;
	STRM_PTR(Part, part)->nflight--;
	g->ntaken -= f.taken;
	if (how == FLIGHT_FAILED)
		f.attempts++;
	if (how != FLIGHT_DONE)
		lower_hints(g, id);
	if (how == FLIGHT_DONE || f.attempts == 0)
		(void) rax_remove(&StrmArena, &g->flight, key, 16, NULL);
	else
		/* the key is there: no memory is needed */
		(void) rax_insert(&StrmArena, &g->flight, key, 16, flight_word(0, false, f.attempts), NULL,
						  ARENA_SHRINK);
}

/* Forget attempts at what lies in lo..hi, but for what the group (NULL: no matter)
 * has pending; what is in flight there the group does not count any more. */
static void
forget_attempts(GroupShare *g, StreamId lo, StreamId hi, const StreamGroup *group)
{
	uint8		key[16];
	uint64		word;
	PendingRecord r;

	if (g->flight.nkeys == 0)
		return;
	sid_to_key(lo, key);
	for (RaxSeek op = RAX_GE;
		 rax_seek(&StrmArena, &g->flight, op, key, 16, key, NULL, &word) &&
		 sid_cmp(sid_from_key(key), hi) <= 0;
		 op = RAX_GT)
		if ((word & PART_MASK) == 0)
		{
			if (group == NULL || !pending_get(&StrmArena, &group->pending, sid_from_key(key), &r))
				(void) rax_remove(&StrmArena, &g->flight, key, 16, NULL);
		}
		else if ((word & TAKEN_BIT) != 0)
		{
			/* the key is there: no memory is needed */
			(void) rax_insert(&StrmArena, &g->flight, key, 16, word & ~TAKEN_BIT, NULL, ARENA_SHRINK);
			g->ntaken--;
		}
}

void
strm_flight_forget(SharedStream *ss, StreamId lo, StreamId hi)
{
	for (GroupShare *g = share_ptr(ss->shares); g != NULL; g = share_ptr(g->next))
		forget_attempts(g, lo, hi, NULL);
}

bool
strm_flight_failed(const GroupShare *g, StreamId from, uint64 attempts, StreamId *id, uint32 *found)
{
	uint8		key[16];
	uint64		word;

	sid_to_key(from, key);
	for (RaxSeek op = RAX_GE; rax_seek(&StrmArena, &g->flight, op, key, 16, key, NULL, &word); op = RAX_GT)
		if ((word & PART_MASK) == 0 && word >> ATTEMPTS_SHIFT >= attempts)
		{
			*id = sid_from_key(key);
			*found = (uint32) (word >> ATTEMPTS_SHIFT);
			return true;
		}
	return false;
}

TransactionId
strm_flight_other(SharedStream *ss, StreamId id, EngHandle own)
{
	for (GroupShare *g = share_ptr(ss->shares); g != NULL; g = share_ptr(g->next))
	{
		Flight		f;

		if (strm_flight_get(g, id, &f) && f.part != 0 && f.part != own)
			return strm_part_waitfor(ss, STRM_PTR(Part, f.part));
	}
	return InvalidTransactionId;
}

/* --- operations --- */

void
strm_gop_end(SharedStream *ss, const Gop *op, EngHandle part, bool done)
{
	GroupShare *g;
	StreamGroup *group;
	FlightEnd	how = done ? FLIGHT_DONE :
		op->kind == GOP_DELIVER || (op->kind == GOP_SET && op->has_consumer) ? FLIGHT_FAILED : FLIGHT_BACK;

	if (op->nrecords == 0 || (g = strm_share(ss, op->group, op->group_len, false)) == NULL)
		return;
	group = group_find(&StrmArena, &ss->stream, op->group, op->group_len);
	for (uint32 i = 0; i < op->nrecords; i++)
	{
		StreamId	id = gop_record(op, i).id;

		strm_flight_end(g, id, part, how);
		/* a record made by force may be of an entry that is still to be
		 * delivered: reads that met it in flight have passed it over */
		if (done && op->kind != GOP_DELIVER && group != NULL &&
			group_undelivered(&StrmArena, &ss->stream, group, id, id) > 0)
			lower_hints(g, id);
	}
}

EngStatus
strm_gop_apply(SharedStream *ss, const Gop *op, ArenaUse use)
{
	StreamGroup *group = group_find(&StrmArena, &ss->stream, op->group, op->group_len);
	StreamId	cursor = group != NULL ? group->cursor : STREAMID_MIN;
	GroupShare *g = strm_share(ss, op->group, op->group_len, false);
	EngStatus	st = gop_apply(&StrmArena, &ss->stream, op, use);

	if (st != ENG_OK)
		return st;
	if (g == NULL)
		return ENG_OK;
	switch (op->kind)
	{
		case GOP_CREATE:
			group = group_find(&StrmArena, &ss->stream, op->group, op->group_len);
			group->share = g->self;
			ss->nloose--;
			g->new_from = g->gap_from = STREAMID_MIN;
			break;
		case GOP_DESTROY:
			ss->nloose++;
			forget_attempts(g, STREAMID_MIN, STREAMID_MAX, NULL);
			g->new_from = g->gap_from = STREAMID_MIN;
			break;
		case GOP_SETID:
			/* what lies below is not to be delivered any more */
			forget_attempts(g, STREAMID_MIN, group->cursor, group);
			g->new_from = g->gap_from = STREAMID_MIN;
			break;
		case GOP_POLICY:
			g->soon_owned = 0;	/* whoever keeps time sets his clock anew */
			break;
		case GOP_SET:
			if (op->has_consumer)
				g->soon_owned = Min(g->soon_owned, op->time);
			else
				g->soon_released = Min(g->soon_released, op->time);
			/* what the cursor was raised over is not to be delivered any more */
			if (sid_cmp(group->cursor, cursor) > 0 && sid_next(&cursor))
				forget_attempts(g, cursor, group->cursor, NULL);
			break;
		case GOP_DELIVER:
			g->soon_owned = Min(g->soon_owned, op->time);
			/* what is free in a new gap lies above the cursor and new_from as they were */
			if (sid_cmp(group->cursor, cursor) > 0 && sid_cmp(group->cursor, g->new_from) > 0)
			{
				StreamId	from = sid_cmp(cursor, g->new_from) > 0 ? cursor : g->new_from;

				if (sid_cmp(from, g->gap_from) < 0)
					g->gap_from = from;
			}
			break;
		default:
			break;
	}
	return ENG_OK;
}
