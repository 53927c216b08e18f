/*
 * pend.c
 *	  The lists of what this transaction has done, stream by stream.
 *
 * Operations are in the order of the calls, tagged with their subtransaction,
 * so that those of a subtransaction are always at the end of a list when it
 * ends.  A stack remembers which streams a subtransaction has touched: its end
 * costs what it did, not what the transaction did.
 *
 * All memory is in one context that is reset when the transaction has ended.
 * Ending a subtransaction allocates nothing.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "xact/group.h"

typedef struct Touch
{
	SubTransactionId sub;
	SubTransactionId before;	/* Pend.touched until then */
	Pend	   *pend;
} Touch;

#define FEW_PENDS	16			/* up to so many, the list is searched */

static MemoryContext context;
static Pend *pends;				/* newest first */
static int	npends;
static HTAB *pends_by_id;		/* once there are more than a few */
static Size kept_bytes;			/* of all chunks */
static Size kept_checked;		/* kept_bytes when last compared with the room there is */

static Touch *touches;
static int	ntouches;
static int	touches_cap;

typedef struct PendEntry
{
	int64		id;				/* hash key */
	Pend	   *pend;
} PendEntry;

/* --- finding --- */

Pend *
pend_first(void)
{
	return pends;
}

Pend *
pend_find_id(int64 id)
{
	PendEntry  *e;

	if (pends_by_id == NULL)
	{
		for (Pend *p = pends; p != NULL; p = p->next)
			if (p->id == id)
				return p;
		return NULL;
	}
	e = hash_search(pends_by_id, &id, HASH_FIND, NULL);
	return e ? e->pend : NULL;
}

Pend *
pend_find(SharedStream *ss, int64 id)
{
	Pend	   *p = pends != NULL ? pend_find_id(id) : NULL;

	return p != NULL && p->ss == ss ? p : NULL;
}

MemoryContext
pend_context(void)
{
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "stream pending", ALLOCSET_DEFAULT_SIZES);
	return context;
}

static void
index_all(void)
{
	HASHCTL		ctl = {.keysize = sizeof(int64), .entrysize = sizeof(PendEntry), .hcxt = context};
	HTAB	   *h = hash_create("stream pending", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (Pend *p = pends; p != NULL; p = p->next)
		((PendEntry *) hash_search(h, &p->id, HASH_ENTER, NULL))->pend = p;
	pends_by_id = h;
}

Pend *
pend_get(SharedStream *ss, int64 id)
{
	Pend	   *p = pend_find(ss, id);

	if (p != NULL)
		return p;
	p = MemoryContextAllocZero(pend_context(), sizeof(Pend));
	p->ss = ss;
	p->id = id;
	if (pends_by_id != NULL)
		((PendEntry *) hash_search(pends_by_id, &p->id, HASH_ENTER, NULL))->pend = p;
	p->next = pends;
	pends = p;
	if (++npends > FEW_PENDS && pends_by_id == NULL)
		index_all();
	return p;
}

/* The Pend of a stream that nothing is done to any more: a loop of savepoints
 * that fail must not pile them up. */
static void
pend_free(Pend *p)
{
	void	   *arrays[] = {
		p->chunks, p->dels, p->trims, p->pairs, p->headers, p->grants, p->gops, p->gop_bytes,
		p->gone, p->fresh, p->kept
	};

	for (int i = 0; i < lengthof(arrays); i++)
		if (arrays[i] != NULL)
			pfree(arrays[i]);
	while (p->groups != NULL)
	{
		GroupPend  *gp = p->groups;

		p->groups = gp->next;
		if (gp->context != NULL)
			MemoryContextDelete(gp->context);
		pfree(gp->name);
		pfree(gp);
	}
	pfree(p);
}

void
pend_unlink(Pend *p)
{
	Pend	  **link = &pends;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	npends--;
	if (pends_by_id != NULL)
		(void) hash_search(pends_by_id, &p->id, HASH_REMOVE, NULL);
}

void
pend_forget_all(void)
{
	if (context != NULL)
		MemoryContextReset(context);
	pends = NULL;
	npends = 0;
	pends_by_id = NULL;
	names_forget();
	kept_bytes = kept_checked = 0;
	touches = NULL;
	ntouches = touches_cap = 0;
}

/* --- adding operations --- */

TransactionId
pend_prepare(Pend *p, int ndels)
{
	SubTransactionId sub = GetCurrentSubTransactionId();

	strm_check_sealed();
	PEND_GROW(p->chunks, p->nchunks, p->chunks_cap, 1);
	if (ndels > 0)
	{
		PEND_GROW(p->dels, p->ndels, p->dels_cap, ndels);
		PEND_GROW(p->gone, p->ngone + p->nfresh, p->gone_cap, ndels);
		if (p->nfresh == p->fresh_cap && p->fresh_cap < PEND_FRESH_MAX)
			PEND_GROW(p->fresh, p->nfresh, p->fresh_cap, 1);
	}
	PEND_GROW(p->trims, p->ntrims, p->trims_cap, 1);
	if (p->touched != sub)
	{
		PEND_GROW(touches, ntouches, touches_cap, 1);
		touches[ntouches++] = (Touch) {sub, p->touched, p};
		p->touched = sub;
	}
	return GetCurrentTransactionId();
}

void
pend_prepare_rare(Pend *p)
{
	PEND_GROW(p->pairs, p->npairs, p->pairs_cap, 1);
	PEND_GROW(p->headers, p->nheaders, p->headers_cap, 1);
}

TransactionId
pend_prepare_grant(Pend *p)
{
	PEND_GROW(p->grants, p->ngrants, p->grants_cap, 1);
	return pend_prepare(p, 0);
}

EngHandle
pend_part(Pend *p)
{
	if (p->part == 0)
		p->part = strm_part_new(p->ss, GetTopTransactionId());
	if (p->part != 0)
		STRM_PTR(Part, p->part)->holder = GetCurrentTransactionId();
	return p->part;
}

/*
 * What a transaction keeps here must fit into shared memory when it commits.
 * Said as early as it is clear that it will not: looked at after every
 * megabyte, with a quarter added for the nodes' overhead.
 */
static void
check_room(Size more)
{
	ArenaStats	st;
	Size		room;

	kept_bytes += more;
	if (kept_bytes < kept_checked + 1024 * 1024)
		return;
	kept_checked = kept_bytes;
	arena_stats(&StrmArena, &st);
	room = (st.pages_free - Min(st.pages_free, st.pages_charged + st.pages_reserve)) * ARENA_PAGE;
	if (kept_bytes + kept_bytes / 4 > room)
		strm_raise_full();
}

static void
chunk_reserve(Chunk *c, Size more)
{
	Size		need = c->bytes + more;

	if (need <= c->cap)
		return;
	need = Max(need, c->cap == 0 ? 256 : Min((Size) c->cap * 2, NODE_BYTES_MAX));
	c->lp = c->lp == NULL ? MemoryContextAllocHuge(context, need) : repalloc_huge(c->lp, need);
	c->cap = need;
}

void
pend_add_entry(Pend *p, StreamId id, bool new_run, const uint8 *fields)
{
	SubTransactionId sub = GetCurrentSubTransactionId();
	Chunk	   *c = p->nchunks > 0 ? &p->chunks[p->nchunks - 1] : NULL;

	/* a chunk lies wholly before or after a change of the header */
	if (c != NULL && c->sub == sub && !new_run &&
		(p->nheaders == 0 || p->headers[p->nheaders - 1].set.chunks < (uint32) p->nchunks))
	{
		NodeAdd		add;
		Size		more = node_add_size(&add, c->lp, c->first, id, fields);

		if (stream_node_fits(&p->ss->stream, c->bytes, c->entries, more, 1))
		{
			check_room(more);
			chunk_reserve(c, more);
			node_add_write(&add, c->lp);
			c->bytes += more;
			c->entries++;
			c->last = id;
			p->nentries++;
			return;
		}
	}
	check_room(node_size_one(fields));
	c = &p->chunks[p->nchunks];	/* pend_prepare has seen to the place */
	memset(c, 0, sizeof(Chunk));
	chunk_reserve(c, node_size_one(fields));
	node_create(c->lp, fields);
	c->first = c->last = id;
	c->entries = 1;
	c->bytes = node_bytes(c->lp);
	c->new_run = new_run;
	c->sub = sub;
	c->xid = GetCurrentTransactionId();
	p->nchunks++;
	p->nentries++;
}

/* Trims rise: what is below one is gone already.  So the last of a
 * subtransaction stands for all of it. */
void
pend_add_trim(Pend *p, StreamId to, bool keep)
{
	SubTransactionId sub = GetCurrentSubTransactionId();

	Assert(sid_cmp(to, p->trim_to) > 0);
	p->trim_to = to;
	if (!keep)
		p->trim_refs = to;
	if (p->ntrims > 0 && p->trims[p->ntrims - 1].sub == sub)
		p->ntrims--;
	p->trims[p->ntrims++] = (Trim) {to, p->trim_refs, sub, GetCurrentTransactionId()};
}

static StreamId
last_trim(const Pend *p)
{
	return p->ntrims > 0 ? p->trims[p->ntrims - 1].to : STREAMID_MIN;
}

void
pend_add_pair(Pend *p, const IdmpKey *key, StreamId id, bool again)
{
	p->pairs[p->npairs++] = (Pairing) {
		{id, *key}, again, GetCurrentSubTransactionId(), GetCurrentTransactionId()
	};
}

void
pend_add_header(Pend *p, const StreamHeader *header, bool forgets)
{
	p->headers[p->nheaders++] = (HeaderChange) {
		{p->nchunks, p->ndels, p->npairs, p->ngops, *header}, forgets,
		GetCurrentSubTransactionId(), GetCurrentTransactionId()
	};
}

void
pend_add_grant(Pend *p, GrantKind kind, Oid role, uint32 mask)
{
	p->grants[p->ngrants++] = (GrantChange) {kind, role, mask, GetCurrentSubTransactionId(),
		GetCurrentTransactionId()};
	p->checked = InvalidOid;
}

bool
pend_is_empty(const Pend *p)
{
	return p->nchunks == 0 && p->ndels == 0 && p->ntrims == 0 && p->npairs == 0 &&
		p->nheaders == 0 && p->ngrants == 0 && p->ngops == 0 && p->nnames == 0 &&
		!p->made && !p->dropped;
}

/* --- what the lists amount to --- */

bool
pend_last_id(const Pend *p, StreamId *id)
{
	if (p->nchunks == 0)
		return false;
	*id = p->chunks[p->nchunks - 1].last;
	return true;
}

StreamId
pend_top(const Pend *p)
{
	StreamId	top = p->ss->stream.last_id;
	int			from = 0;

	if (p->nheaders > 0)
	{
		top = p->headers[p->nheaders - 1].set.header.last_id;
		from = p->headers[p->nheaders - 1].set.chunks;
	}
	if (p->nchunks > from && sid_cmp(p->chunks[p->nchunks - 1].last, top) > 0)
		top = p->chunks[p->nchunks - 1].last;
	return top;
}

void
pend_header(const Pend *p, StreamHeader *h)
{
	const HeaderChange *newest = p->nheaders > 0 ? &p->headers[p->nheaders - 1] : NULL;

	if (newest != NULL)
		*h = newest->set.header;
	else
		stream_get_header(&p->ss->stream, h);
	h->last_id = pend_top(p);
	for (int i = newest ? newest->set.chunks : 0; i < p->nchunks; i++)
		h->entries_added = Min(h->entries_added + p->chunks[i].entries, (uint64) PG_INT64_MAX);
	for (int i = newest ? newest->set.dels : 0; i < p->ndels; i++)
		if ((p->dels[i].flags & STREAM_DEL_TRIM) == 0 && sid_cmp(p->dels[i].id, h->max_deleted_id) > 0)
			h->max_deleted_id = p->dels[i].id;
}

bool
pend_pair(const Pend *p, const IdmpKey *key, StreamId *id)
{
	int			from = 0;

	for (int i = p->nheaders - 1; i >= 0 && from == 0; i--)
		if (p->headers[i].forgets)
			from = p->headers[i].set.pairs;
	for (int i = p->npairs - 1; i >= from; i--)
		if (memcmp(&p->pairs[i].pair.key, key, sizeof(IdmpKey)) == 0)
		{
			*id = p->pairs[i].pair.id;
			return true;
		}
	return false;
}

int
pend_chunk_from(const Pend *p, StreamId id)
{
	int			lo = 0;
	int			hi = p->nchunks;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (sid_cmp(p->chunks[mid].last, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Entries of a chunk with lo <= id <= hi, deletions not considered. */
static uint64
chunk_count(const Chunk *c, StreamId lo, StreamId hi)
{
	NodeIter	it;
	NodeEntry	e;
	uint64		n = 0;

	if (sid_cmp(lo, c->first) <= 0 && sid_cmp(c->last, hi) <= 0)
		return c->entries;
	node_iter(&it, c->lp, c->first, false, false);
	while (node_next(&it, &e) && sid_cmp(e.id, hi) <= 0)
		if (sid_cmp(e.id, lo) >= 0)
			n++;
	return n;
}

uint64
pend_count(const Pend *p, StreamId lo, StreamId hi)
{
	uint64		n = 0;

	if (sid_cmp(lo, p->trim_to) < 0)
		lo = p->trim_to;
	if (p->nchunks > 0 && sid_cmp(lo, p->chunks[0].first) <= 0 &&
		sid_cmp(p->chunks[p->nchunks - 1].last, hi) <= 0)
		n = p->nentries;
	else
		for (int i = pend_chunk_from(p, lo); i < p->nchunks && sid_cmp(p->chunks[i].first, hi) <= 0; i++)
			n += chunk_count(&p->chunks[i], lo, hi);
	for (int i = 0; i < p->ndels; i++)
		if (p->dels[i].own && sid_cmp(p->dels[i].id, lo) >= 0 && sid_cmp(p->dels[i].id, hi) <= 0)
			n--;
	return n;
}

bool
pend_has(const Pend *p, StreamId id)
{
	int			i = pend_chunk_from(p, id);

	return i < p->nchunks && !pend_is_gone(p, id) && chunk_count(&p->chunks[i], id, id) == 1;
}

/*
 * A savepoint in a loop leaves a chunk for each time round.  Merged one by one
 * each would have memory set aside that a full node needs.
 */
void
pend_join_chunks(Pend *p)
{
	int			kept = 0;

	/* changes of the header lie between chunks */
	if (p->nheaders > 0)
		return;
	for (int i = 1; i < p->nchunks; i++)
	{
		Chunk	   *c = &p->chunks[kept];
		Chunk	   *next = &p->chunks[i];

		/* those of one subtransaction are apart because they are full */
		if (!next->new_run && next->xid != c->xid)
		{
			Size		more = node_copy_size(c->lp, c->first, next->lp, next->first);

			if (stream_node_fits(&p->ss->stream, c->bytes, c->entries, more, next->entries))
			{
				chunk_reserve(c, more);
				node_copy(c->lp, c->first, c->lp + c->bytes - 1, next->lp, next->first);
				c->bytes += more;
				c->entries += next->entries;
				c->last = next->last;
				c->xid = next->xid;
				pfree(next->lp);
				continue;
			}
		}
		p->chunks[++kept] = *next;
	}
	p->nchunks = Min(p->nchunks, kept + 1);
}

/* --- subtransactions --- */

void
pend_sub_commit(SubTransactionId sub, SubTransactionId parent)
{
	int			keep = ntouches;

	names_sub_commit(sub, parent);
	while (keep > 0 && touches[keep - 1].sub == sub)
		keep--;
	for (int i = keep; i < ntouches; i++)
	{
		Touch		t = touches[i];
		Pend	   *p = t.pend;

		for (int k = p->nchunks - 1; k >= 0 && p->chunks[k].sub == sub; k--)
			p->chunks[k].sub = parent;
		for (int k = p->ndels - 1; k >= 0 && p->dels[k].sub == sub; k--)
			p->dels[k].sub = parent;
		if (p->ntrims > 0 && p->trims[p->ntrims - 1].sub == sub)
		{
			p->trims[p->ntrims - 1].sub = parent;
			if (p->ntrims > 1 && p->trims[p->ntrims - 2].sub == parent)
			{
				p->trims[p->ntrims - 2] = p->trims[p->ntrims - 1];
				p->ntrims--;
			}
		}
		for (int k = p->npairs - 1; k >= 0 && p->pairs[k].sub == sub; k--)
			p->pairs[k].sub = parent;
		for (int k = p->nheaders - 1; k >= 0 && p->headers[k].sub == sub; k--)
			p->headers[k].sub = parent;
		for (int k = p->ngrants - 1; k >= 0 && p->grants[k].sub == sub; k--)
			p->grants[k].sub = parent;
		for (int k = p->ngops - 1; k >= 0 && p->gops[k].sub == sub; k--)
			p->gops[k].sub = parent;
		if (p->made && p->made_sub == sub)
			p->made_sub = parent;
		if (p->dropped && p->dropped_sub == sub)
			p->dropped_sub = parent;
		p->touched = parent;
		/* the parent knows it already, or knows it from now on */
		if (t.before != parent)
			touches[keep++] = (Touch) {parent, t.before, p};
	}
	ntouches = keep;
}

/* Take the deletions from the given one on back from the stream's index.  Lock held. */
static void
unregister_deletions(Pend *p, int from)
{
	uint8		key[16];
	uint64		holder;

	for (int i = from; i < p->ndels; i++)
	{
		if (p->dels[i].own || p->dels[i].again)
			continue;
		sid_to_key(p->dels[i].id, key);
		if (rax_find(&StrmArena, &p->ss->deleting, key, 16, &holder) && holder == p->part)
		{
			(void) rax_remove(&StrmArena, &p->ss->deleting, key, 16, NULL);
			STRM_PTR(Part, p->part)->ndeleting--;
		}
	}
}

/* The same for pairs. */
static void
unregister_pairs(Pend *p, int from)
{
	uint64		holder;

	for (int i = from; i < p->npairs; i++)
	{
		const IdmpKey *key = &p->pairs[i].pair.key;

		if (p->pairs[i].again)
			continue;
		if (rax_find(&StrmArena, &p->ss->pairs, key, sizeof(IdmpKey), &holder) && holder == p->part)
		{
			(void) rax_remove(&StrmArena, &p->ss->pairs, key, sizeof(IdmpKey), NULL);
			STRM_PTR(Part, p->part)->npairs--;
		}
	}
}

/* The part in shared memory says again what the lists say.  Lock held. */
static void
part_recompute(Pend *p)
{
	Part	   *part = STRM_PTR(Part, p->part);

	if (p->nentries == 0)
		strm_part_note(p->ss, part);
	part->reserved = p->nentries;
	part->min_id = p->nchunks > 0 ? p->chunks[0].first : STREAMID_MAX;
	part->max_id = p->nchunks > 0 ? p->chunks[p->nchunks - 1].last : STREAMID_MIN;
	part->trim_to = last_trim(p);
	part->dropping = p->dropped;
	part->renaming = p->nnames > 0;
	part->exclusive = p->dropped || p->nheaders > 0 || p->nnames > 0;
	part->granting = p->ngrants > 0;
	part->wants = part->idle = false;
	part->holder = part->xid;
	if (!p->made && !p->dropped && p->nnames == 0)
	{
		/* the newest operation that is left */
		if (p->nchunks > 0)
			part->holder = p->chunks[p->nchunks - 1].xid;
		if (p->ndels > 0 && TransactionIdFollows(p->dels[p->ndels - 1].xid, part->holder))
			part->holder = p->dels[p->ndels - 1].xid;
		if (p->ntrims > 0 && TransactionIdFollows(p->trims[p->ntrims - 1].xid, part->holder))
			part->holder = p->trims[p->ntrims - 1].xid;
		if (p->nheaders > 0 && TransactionIdFollows(p->headers[p->nheaders - 1].xid, part->holder))
			part->holder = p->headers[p->nheaders - 1].xid;
		if (p->ngrants > 0 && TransactionIdFollows(p->grants[p->ngrants - 1].xid, part->holder))
			part->holder = p->grants[p->ngrants - 1].xid;
		if (p->ngops > 0 && TransactionIdFollows(p->gops[p->ngops - 1].xid, part->holder))
			part->holder = p->gops[p->ngops - 1].xid;
	}
}

/* The entries of the chunks from `from` on never were: neither were deliveries of
 * them.  Lock held. */
static void
forget_attempts(Pend *p, int from, int to)
{
	for (int i = from; i < to; i++)
		strm_flight_forget(p->ss, p->chunks[i].first, p->chunks[i].last);
}

static void
cut(Pend *p, SubTransactionId sub)
{
	int			nchunks = p->nchunks;
	int			ndels = p->ndels;
	int			npairs = p->npairs;
	int			ngops = p->ngops;

	while (p->nchunks > 0 && p->chunks[p->nchunks - 1].sub == sub)
	{
		Chunk	   *c = &p->chunks[--p->nchunks];

		p->nentries -= c->entries;
		kept_bytes -= c->bytes;
		kept_checked = Min(kept_checked, kept_bytes);
		pfree(c->lp);
	}
	while (ndels > 0 && p->dels[ndels - 1].sub == sub)
		ndels--;
	while (p->ntrims > 0 && p->trims[p->ntrims - 1].sub == sub)
		p->ntrims--;
	while (npairs > 0 && p->pairs[npairs - 1].sub == sub)
		npairs--;
	while (p->nheaders > 0 && p->headers[p->nheaders - 1].sub == sub)
		p->nheaders--;
	while (p->ngrants > 0 && p->grants[p->ngrants - 1].sub == sub)
	{
		p->ngrants--;
		p->checked = InvalidOid;
	}
	while (ngops > 0 && p->gops[ngops - 1].sub == sub)
		ngops--;
	if (p->made && p->made_sub == sub)
		p->made = false;
	if (p->dropped && p->dropped_sub == sub)
		p->dropped = false;
	if (p->nnames == 0)
		p->placeholder = false;
	pend_undelete(p, ndels);
	p->trim_to = last_trim(p);
	p->trim_refs = p->ntrims > 0 ? p->trims[p->ntrims - 1].refs_to : STREAMID_MIN;

	if (p->part != 0)
	{
		LWLockAcquire(&p->ss->lock, LW_EXCLUSIVE);
		unregister_deletions(p, ndels);
		unregister_pairs(p, npairs);
		gops_unregister(p, ngops);
	}
	p->ndels = ndels;
	p->npairs = npairs;
	gops_cut(p, ngops);
	if (p->part != 0)
	{
		/* the lists have their new ends: the holder is to be one of those left */
		strm_uses_unwant(p->ss, p->part);
		forget_attempts(p, p->nchunks, nchunks);
		part_recompute(p);
		strm_part_settle(p->ss);
		strm_wake_note(p->ss);
		pend_let_go(p);
		strm_unlock(p->ss);
	}
}

void
pend_sub_abort(SubTransactionId sub)
{
	names_sub_abort(sub);
	while (ntouches > 0 && touches[ntouches - 1].sub == sub)
	{
		Touch		t = touches[--ntouches];
		Pend	   *p = t.pend;

		cut(p, sub);
		p->touched = t.before;
		if (pend_is_empty(p) && p->touched == InvalidSubTransactionId)
		{
			pend_release(p);
			pend_unlink(p);
			pend_free(p);
		}
	}
}

void
pend_release(Pend *p)
{
	SharedStream *ss = p->ss;

	if (p->part == 0)
	{
		/* should it have been made by us and never used, it goes */
		if (!p->live && strm_lock(ss, p->id, LW_EXCLUSIVE))
		{
			strm_part_settle(ss);
			strm_unlock(ss);
		}
		return;
	}
	LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
	unregister_deletions(p, 0);
	unregister_pairs(p, 0);
	gops_unregister(p, 0);
	forget_attempts(p, 0, p->nchunks);
	if (TransactionIdIsValid(ss->creator) &&
		TransactionIdEquals(ss->creator, STRM_PTR(Part, p->part)->xid))
		ss->creator = InvalidTransactionId;
	strm_part_release(ss, p->part);
	p->part = 0;
	strm_part_settle(ss);
	strm_wake_note(ss);
	strm_unlock(ss);
}

void
pend_give_up(Pend *p)
{
	if (p->part == 0)
		return;
	LWLockAcquire(&p->ss->lock, LW_EXCLUSIVE);
	part_recompute(p);
	pend_let_go(p);
	strm_unlock(p->ss);
}

void
pend_let_go(Pend *p)
{
	if (p->part == 0 || !pend_is_empty(p))
		return;
	strm_part_release(p->ss, p->part);
	p->part = 0;
	strm_part_settle(p->ss);
	strm_wake_note(p->ss);
}
