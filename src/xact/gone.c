/*
 * gone.c
 *	  The ids that this transaction has deleted, to be looked up.
 *
 * Derived from Pend.dels: a large sorted array, which takes ids that come in
 * rising order at its end, and a small one for all others, which now and then
 * goes into the large one.  So an id costs little whatever the order; and a
 * subtransaction that aborts takes out what it has put in.
 *
 * Nothing here allocates but pend_refresh: pend_prepare has seen to the room.
 */
#include "postgres.h"

#include "access/xact.h"

#include "xact/xact.h"

/* Index of the first of n sorted ids that is >= id. */
static int
ids_from(const StreamId *ids, int n, StreamId id)
{
	int			lo = 0;
	int			hi = n;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (sid_cmp(ids[mid], id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
ids_any(const StreamId *ids, int n, StreamId lo, StreamId hi)
{
	int			i = ids_from(ids, n, lo);

	return i < n && sid_cmp(ids[i], hi) <= 0;
}

static bool
ids_remove(StreamId *ids, int *n, StreamId id)
{
	int			i = ids_from(ids, *n, id);

	if (i == *n || sid_cmp(ids[i], id) != 0)
		return false;
	--*n;
	memmove(&ids[i], &ids[i + 1], (*n - i) * sizeof(StreamId));
	return true;
}

/* Let the small array of deleted ids go into the large one; there is room. */
static void
merge_fresh(Pend *p)
{
	int			i = p->ngone - 1;
	int			k = p->nfresh - 1;

	for (int at = i + k + 1; k >= 0; at--)
		p->gone[at] = i >= 0 && sid_cmp(p->gone[i], p->fresh[k]) > 0 ? p->gone[i--] : p->fresh[k--];
	p->ngone += p->nfresh;
	p->nfresh = 0;
}

void
pend_add_deletion(Pend *p, StreamId id, bool own, bool again, uint32 flags)
{
	int			at;

	if ((flags & STREAM_DEL_KEEPREF) != 0)
	{
		p->nkeep++;
		p->nkept = -1;
	}
	p->nagain += again;
	p->dels[p->ndels++] = (Deletion) {id, own, again, flags, GetCurrentSubTransactionId(), GetCurrentTransactionId()};
	if (p->gone_stale)
		return;
	if (p->nfresh == p->fresh_cap)
		merge_fresh(p);
	/* ids mostly come in rising order */
	if (p->nfresh == 0 && (p->ngone == 0 || sid_cmp(p->gone[p->ngone - 1], id) < 0))
	{
		p->gone[p->ngone++] = id;
		return;
	}
	at = ids_from(p->fresh, p->nfresh, id);
	memmove(&p->fresh[at + 1], &p->fresh[at], (p->nfresh - at) * sizeof(StreamId));
	p->fresh[at] = id;
	p->nfresh++;
}

/* A few ids are looked up; for many it is not worth it. */
void
pend_undelete(Pend *p, int from)
{
	if (p->ndels - from > 16)
		p->gone_stale = true;
	for (int i = from; i < p->ndels; i++)
	{
		if ((p->dels[i].flags & STREAM_DEL_KEEPREF) != 0)
		{
			p->nkeep--;
			p->nkept = -1;
		}
		p->nagain -= p->dels[i].again;
	}
	for (int i = from; i < p->ndels && !p->gone_stale; i++)
		if (!ids_remove(p->fresh, &p->nfresh, p->dels[i].id))
			(void) ids_remove(p->gone, &p->ngone, p->dels[i].id);
}

static int
id_cmp(const void *a, const void *b)
{
	return sid_cmp(*(const StreamId *) a, *(const StreamId *) b);
}

/* The sorted ids of deletions that leave pending records alone; may raise. */
static void
refresh_kept(Pend *p)
{
	p->nkept = 0;
	PEND_GROW(p->kept, 0, p->kept_cap, p->nkeep);
	for (int i = 0; i < p->ndels; i++)
		if ((p->dels[i].flags & STREAM_DEL_KEEPREF) != 0)
			p->kept[p->nkept++] = p->dels[i].id;
	if (p->nkept > 1)
		qsort(p->kept, p->nkept, sizeof(StreamId), id_cmp);
}

void
pend_refresh(Pend *p)
{
	if (p->nkept != p->nkeep)
		refresh_kept(p);
	if (!p->gone_stale)
		return;
	Assert(p->gone_cap >= p->ndels);	/* all of them were in it */
	for (int i = 0; i < p->ndels; i++)
		p->gone[i] = p->dels[i].id;
	p->ngone = p->ndels;
	p->nfresh = 0;
	if (p->ngone > 1)
		qsort(p->gone, p->ngone, sizeof(StreamId), id_cmp);
	p->gone_stale = false;
}

bool
pend_is_gone(const Pend *p, StreamId id)
{
	return sid_cmp(id, p->trim_to) < 0 || pend_any_deleted(p, id, id);
}

bool
pend_any_deleted(const Pend *p, StreamId lo, StreamId hi)
{
	return (p->ngone > 0 && ids_any(p->gone, p->ngone, lo, hi)) ||
		(p->nfresh > 0 && ids_any(p->fresh, p->nfresh, lo, hi));
}

bool
pend_refs_gone(const Pend *p, StreamId id)
{
	if (sid_cmp(id, p->trim_refs) < 0)
		return true;
	if (!pend_any_deleted(p, id, id))
		return false;
	if (p->nkeep == 0 || !ids_any(p->kept, p->nkept, id, id))
		return true;
	/* deleted first with its records left alone, then for those */
	for (int i = p->nagain > 0 ? 0 : p->ndels; i < p->ndels; i++)
		if (p->dels[i].again && sid_cmp(p->dels[i].id, id) == 0)
			return true;
	return false;
}
