/*
 * merge.c
 *	  Carrying out committed change sets on the shared state.
 *
 * From the head of the queue, while the transaction there has committed or
 * aborted; whole change sets only, in the order of their numbers.  A merge
 * takes no memory that was not set aside when the set was made (its charge),
 * does not wait and cannot fail.  Should the engine refuse all the same, the
 * shared state is not what the journal says: the stream is marked broken and
 * is refused (XX001) until a restart has loaded it again.
 *
 * The set's part in the stream, and with it the reservations of its
 * transaction, goes in the same locked section.
 */
#include "postgres.h"

#include "storage/proc.h"

#include "store/store.h"

void
strm_tx_unref(EngHandle tx)
{
	if (pg_atomic_sub_fetch_u32(&STRM_PTR(TxRecord, tx)->refs, 1) == 0)
		arena_free(&StrmArena, tx);
}

void
strm_changeset_free(EngHandle h)
{
	ChangeSet  *cs = STRM_PTR(ChangeSet, h);
	SetChunk   *chunks = changeset_chunks(cs);

	for (uint32 i = 0; i < cs->nchunks; i++)
		if (chunks[i].prepared != 0)
			arena_free(&StrmArena, chunks[i].prepared);
	if (cs->grants != 0)
		arena_free(&StrmArena, cs->grants);
	if (cs->new_name != 0)
		arena_free(&StrmArena, cs->new_name);
	arena_uncharge(&StrmArena, &cs->charge);
	arena_free(&StrmArena, h);
}

static void
apply_adds(SharedStream *ss, ChangeSet *cs, TransactionId xid, uint32 from, uint32 to)
{
	SetChunk   *chunks = changeset_chunks(cs);
	IdRange		run = {STREAMID_MIN, STREAMID_MIN};

	for (uint32 i = from; i < to; i++)
	{
		SetChunk   *c = &chunks[i];
		const uint8 *lp = c->prepared ? NULL : (const uint8 *) cs + c->offset;

		if (stream_add_chunk(&StrmArena, &ss->stream, c->first, lp, c->prepared, ARENA_CHARGED) == ENG_OK)
			c->prepared = 0;
		else
			ss->broken = true;
		strm_shares_added(ss, c->first);
		if (i > from && c->new_run)
			strm_recent_note(ss, xid, run.lo, run.hi);
		if (i == from || c->new_run)
			run.lo = c->first;
		run.hi = c->last;
	}
	if (from < to)
		strm_recent_note(ss, xid, run.lo, run.hi);
}

/* The next operation on a group; the bytes were written by gop_write. */
static const uint8 *
next_gop(Gop *op, const uint8 *p, const ChangeSet *cs)
{
	return p + gop_read(op, p, (const uint8 *) cs + cs->gops_offset + cs->gops_bytes - p);
}

/* The operations between two headers: `from` and `to` say how many of each
 * kind come before; *gop is where those on groups go on. */
static void
apply_ops(SharedStream *ss, ChangeSet *cs, TransactionId xid, const SetHeader *from, const SetHeader *to,
		  const uint8 **gop)
{
	SetPair    *pairs = changeset_pairs(cs);
	SetDel	   *dels = changeset_dels(cs);

	apply_adds(ss, cs, xid, from->chunks, to->chunks);
	for (uint32 i = from->pairs; i < to->pairs; i++)
		if (stream_add_pair(&StrmArena, &ss->stream, &pairs[i].key, pairs[i].id, ARENA_CHARGED) == ENG_NOMEM)
			ss->broken = true;
	for (uint32 i = from->gops; i < to->gops; i++)
	{
		Gop			op;

		*gop = next_gop(&op, *gop, cs);
		if (strm_gop_apply(ss, &op, ARENA_CHARGED) != ENG_OK)
			ss->broken = true;
	}
	for (uint32 i = from->dels; i < to->dels; i++)
	{
		(void) stream_del(&StrmArena, &ss->stream, dels[i].id, dels[i].flags);
		strm_flight_forget(ss, dels[i].id, dels[i].id);
	}
}

static void
apply_trim(SharedStream *ss, StreamId bound, bool keep_records)
{
	if (sid_is_zero(bound))
		return;
	(void) stream_trim(&StrmArena, &ss->stream, bound, keep_records);
	(void) sid_prev(&bound);
	strm_flight_forget(ss, STREAMID_MIN, bound);
}

static void
apply(SharedStream *ss, ChangeSet *cs, TransactionId xid)
{
	SetHeader  *headers = changeset_headers(cs);
	SetHeader	done = {0};
	SetHeader	all = {
		.chunks = cs->nchunks, .dels = cs->ndels, .pairs = cs->npairs, .gops = cs->ngops
	};
	const uint8 *gop = changeset_gops(cs);

	TEST_POINT("store-before-merge-apply");
	if (cs->create)
	{
		ss->state = SS_LIVE;
		ss->creator = InvalidTransactionId;
	}
	if (cs->leaves || cs->new_name != 0 || cs->regrant)
		strm_wake_readers_all(ss);
	if (cs->leaves)
		strm_registry_pass_on(ss, cs->heir, cs->heir_id);
	if (cs->new_name != 0)
	{
		strm_registry_rename(ss, cs->new_name, cs->new_len);
		cs->new_name = 0;
		strm_wake_groups_all(ss);
	}
	if (cs->create || cs->heir != 0)
		strm_wake_note_db(STRM_PTR(Db, ss->db));
	if (cs->regrant)
	{
		strm_rights_set(ss, cs->owner, cs->grants);
		cs->grants = 0;
	}
	for (uint32 i = 0; i < cs->nheaders; i++)
	{
		apply_ops(ss, cs, xid, &done, &headers[i], &gop);
		stream_set_header(&StrmArena, &ss->stream, &headers[i].header);
		strm_shares_reset(ss);
		done = headers[i];
	}
	apply_ops(ss, cs, xid, &done, &all, &gop);
	apply_trim(ss, cs->trim_to, false);
	apply_trim(ss, cs->trim_keep, true);
	ss->stream.applied = cs->number;
	if (cs->drop)
	{
		ss->state = SS_DROPPED;
		stream_destroy(&StrmArena, &ss->stream);
	}
}

/* Take back what the set's transaction had registered in the stream. */
static void
release(SharedStream *ss, ChangeSet *cs, bool merged)
{
	Part	   *part = STRM_PTR(Part, cs->part);
	const uint8 *gop = changeset_gops(cs);

	for (uint32 i = 0; i < cs->ngops; i++)
	{
		Gop			op;

		gop = next_gop(&op, gop, cs);
		strm_gop_end(ss, &op, cs->part, merged);
	}
	/* entries that never were have not been delivered either, not even by what a
	 * savepoint has taken off the list */
	for (uint32 i = 0; !merged && i < cs->nchunks; i++)
		strm_flight_forget(ss, changeset_chunks(cs)[i].first, changeset_chunks(cs)[i].last);

	if (part->ndeleting > 0)
	{
		SetDel	   *dels = changeset_dels(cs);
		uint8		key[16];
		uint64		holder;

		for (uint32 i = 0; i < cs->ndels; i++)
		{
			sid_to_key(dels[i].id, key);
			if (rax_find(&StrmArena, &ss->deleting, key, 16, &holder) && holder == cs->part)
				(void) rax_remove(&StrmArena, &ss->deleting, key, 16, NULL);
		}
	}
	if (part->npairs > 0)
	{
		SetPair    *pairs = changeset_pairs(cs);
		uint64		holder;

		for (uint32 i = 0; i < cs->npairs; i++)
			if (rax_find(&StrmArena, &ss->pairs, &pairs[i].key, sizeof(IdmpKey), &holder) &&
				holder == cs->part)
				(void) rax_remove(&StrmArena, &ss->pairs, &pairs[i].key, sizeof(IdmpKey), NULL);
	}
	if (cs->regrant)
		pg_atomic_fetch_sub_u32(&ss->regrants, 1);
	strm_part_release(ss, cs->part);
}

/* The decided set at the head, taken off the queue; 0 if there is none. */
static EngHandle
queue_pop(SharedStream *ss, uint32 *status)
{
	EngHandle	h;

	SpinLockAcquire(&ss->q_mutex);
	h = ss->q_head;
	if (h != 0)
	{
		ChangeSet  *cs = STRM_PTR(ChangeSet, h);

		*status = pg_atomic_read_u32(&STRM_PTR(TxRecord, cs->tx)->status);
		if (*status == TX_PENDING)
			h = 0;
		else
		{
			ss->q_head = cs->next;
			if (ss->q_head == 0)
				ss->q_tail = 0;
		}
	}
	SpinLockRelease(&ss->q_mutex);
	return h;
}

void
strm_merge(SharedStream *ss)
{
	EngHandle	h;
	uint32		status = TX_PENDING;
	bool		any = false;

	pg_atomic_write_u32(&ss->merge_wanted, 0);
	pg_memory_barrier();		/* what is wanted from here on is seen by the next */
	if (pg_atomic_read_u32(&ss->q_len) == 0)
		return;
	while ((h = queue_pop(ss, &status)) != 0)
	{
		ChangeSet  *cs = STRM_PTR(ChangeSet, h);
		TxRecord   *tx = STRM_PTR(TxRecord, cs->tx);

		pg_read_barrier();
		any = true;
		if (status == TX_COMMITTED)
			apply(ss, cs, tx->xid);
		else if (cs->create && TransactionIdEquals(ss->creator, tx->xid))
			ss->creator = InvalidTransactionId;
		release(ss, cs, status == TX_COMMITTED);
		strm_tx_unref(cs->tx);
		strm_changeset_free(h);
		/* only now: a look that finds the queue empty may trust the state */
		pg_write_barrier();
		pg_atomic_fetch_sub_u32(&ss->q_len, 1);
	}
	if (any)
	{
		strm_wake_note(ss);
		strm_part_settle(ss);
	}
}

void
strm_merge_soon(SharedStream *ss)
{
	if (!LWLockConditionalAcquire(&ss->lock, LW_EXCLUSIVE))
	{
		/* leave word, then try once more: either the holder has not looked
		 * yet and will see it, or he has let go and the lock is free */
		pg_atomic_write_u32(&ss->merge_wanted, 1);
		pg_memory_barrier();
		if (!LWLockConditionalAcquire(&ss->lock, LW_EXCLUSIVE))
			return;
	}
	strm_merge(ss);
	strm_unlock(ss);
}
