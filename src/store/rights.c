/*
 * rights.c
 *	  Owner and grants of a stream.
 *
 * The grants are one block of the arena, which never changes while it is
 * there: a change set carries the block that is to take its place, made when
 * the set was, so that merging is an exchange of handles and takes no memory.
 * Who wants to know copies them under the lock and asks outside it, since
 * asking about roles reads the server's catalogs and can raise an error.
 *
 * Left out: what the privileges mean (xact/grant.c), and their durable form
 * (journal/privilege.c).
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "store/store.h"

bool
strm_rights_copy(SharedStream *ss, Rights *r)
{
	StreamGrants *g = ss->grants != 0 ? STRM_PTR(StreamGrants, ss->grants) : NULL;

	r->owner = ss->owner;
	r->version = pg_atomic_read_u32(&ss->rights_version);
	r->n = g != NULL ? g->n : 0;
	if (r->n > r->cap)
		return false;
	if (r->n > 0)
		memcpy(r->grant, g->grant, r->n * sizeof(StreamGrant));
	return true;
}

void
strm_rights_room(Rights *r, uint32 n)
{
	uint32		cap;

	if (n <= r->cap)
		return;
	cap = Max(n, r->cap == 0 ? 8 : 2 * r->cap);
	r->grant = r->grant == NULL
		? MemoryContextAllocHuge(TopMemoryContext, cap * sizeof(StreamGrant))
		: repalloc_huge(r->grant, cap * sizeof(StreamGrant));
	r->cap = cap;
}

void
strm_rights_read(SharedStream *ss, Rights *r)
{
	for (;;)
	{
		bool		fits;

		LWLockAcquire(&ss->lock, LW_SHARED);
		fits = strm_rights_copy(ss, r);
		strm_unlock(ss);
		if (fits)
			return;
		strm_rights_room(r, r->n);
	}
}

void
strm_rights_give(Rights *r, Oid role, uint32 mask)
{
	for (uint32 i = 0; i < r->n; i++)
		if (r->grant[i].role == role)
		{
			r->grant[i].mask |= mask;
			return;
		}
	strm_rights_room(r, r->n + 1);
	r->grant[r->n++] = (StreamGrant) {role, mask};
}

void
strm_rights_take(Rights *r, Oid role, uint32 mask)
{
	uint32		kept = 0;

	for (uint32 i = 0; i < r->n; i++)
	{
		if (r->grant[i].role == role)
			r->grant[i].mask &= ~mask;
		if (r->grant[i].mask != 0)
			r->grant[kept++] = r->grant[i];
	}
	r->n = kept;
}

bool
strm_rights_block(const Rights *r, ArenaUse use, EngHandle *h)
{
	StreamGrants *g;

	*h = 0;
	if (r->n == 0)
		return true;
	*h = arena_alloc(&StrmArena, offsetof(StreamGrants, grant) + r->n * sizeof(StreamGrant), use);
	if (*h == 0)
		return false;
	g = STRM_PTR(StreamGrants, *h);
	g->n = r->n;
	memcpy(g->grant, r->grant, r->n * sizeof(StreamGrant));
	return true;
}

void
strm_rights_set(SharedStream *ss, Oid owner, EngHandle grants)
{
	if (ss->grants != 0)
		arena_free(&StrmArena, ss->grants);
	ss->owner = owner;
	ss->grants = grants;
	pg_atomic_fetch_add_u32(&ss->rights_version, 1);
}
