/*
 * commit.c
 *	  From lists to change sets: pre-commit, commit, abort.
 *
 * Pre-commit, in this order; all of it may fail and abort the transaction
 *	1. who makes a provisional stream is settled: the first to commit writes
 *	   the catalog row, the others wait for him and look again;
 *	2. a change set for each stream is put together in shared memory and the
 *	   memory that its merge can need is set aside;
 *	3. the journal is opened and locked, and the bytes of a large set written;
 *	4. under the database's sequencer the number is taken and the sets are
 *	   queued, all pointing to one pending transaction record;
 *	5. the numbered row is written.
 * Then the server writes and flushes its commit record, and the commit
 * callback turns the record to committed: one store.  Nothing after that can
 * fail.  An abort, whenever it comes, turns the record to aborted, or takes
 * apart what was not queued.
 *
 * Once sealed, the transaction can do nothing more to streams: stream should
 * come first in shared_preload_libraries, so that its callback is the last.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"

#include "journal/journal.h"
#include "xact/group.h"

static bool sealed;
static EngHandle tx_record;		/* of this transaction, while there is one */
static bool numbered;			/* the sets are queued */
static Db  *first_in;			/* this transaction says that the database is in use */
static bool hurried;			/* this commit is asynchronous by our doing; what it was: */
static int	usual_synchronous_commit;

void
strm_check_sealed(void)
{
	if (sealed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("streams cannot be used after the transaction has begun to commit"),
				 errhint("Put stream first in shared_preload_libraries.")));
}

/* --- 1. making streams --- */

/* Whom to wait for before it is clear whether we make the stream.  If it is
 * ours to make, says so in p->create. */
static TransactionId
settle_creation(Pend *p)
{
	SharedStream *ss = p->ss;
	TransactionId xid = InvalidTransactionId;
	TransactionId mine = GetTopTransactionId();

	LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
	strm_merge(ss);
	if (ss->state != SS_LIVE)
	{
		if (TransactionIdIsValid(ss->creator) && !TransactionIdEquals(ss->creator, mine))
		{
			xid = ss->creator;
			SpinLockAcquire(&ss->q_mutex);
			if (ss->q_head != 0)
				xid = STRM_PTR(TxRecord, STRM_PTR(ChangeSet, ss->q_head)->tx)->xid;
			SpinLockRelease(&ss->q_mutex);
		}
		else
		{
			ss->creator = mine;
			p->create = true;
		}
	}
	strm_unlock(ss);
	return xid;
}

static void
settle_stream(Pend *p)
{
	SharedStream *ss = p->ss;
	TransactionId xid;

	if (p->placeholder)
		return;
	if (p->dropped)
	{
		if (!p->live)
		{
			/* made by others meanwhile?  The drop has seen to it that nobody
			 * else has a part, so that is final. */
			LWLockAcquire(&ss->lock, LW_SHARED);
			p->live = ss->state == SS_LIVE;
			strm_unlock(ss);
		}
		if (p->live)
		{
			strm_catalog_delete(p->id);
			strm_privilege_write(p->id, NULL);
		}
		return;
	}
	while (!p->live && TransactionIdIsValid(xid = settle_creation(p)))
	{
		XactLockTableWait(xid, NULL, NULL, XLTW_None);
		CHECK_FOR_INTERRUPTS();
	}
	strm_settle_rights(p);
}

/* --- 2. change sets --- */

/* A stream made and dropped by this transaction, or one that only held a name,
 * leaves nothing behind but a name for its heir. */
static bool
is_name_only(const Pend *p)
{
	return !p->live && (p->dropped || p->placeholder);
}

static bool
has_set(const Pend *p)
{
	return !pend_is_empty(p) && (p->heir != NULL || !is_name_only(p));
}

/* A chunk of more than half a node goes in as a node of its own. */
static bool
is_large(const Pend *p, const Chunk *c)
{
	return c->bytes + sizeof(StreamNode) > p->ss->stream.node_max_bytes / 2;
}

/*
 * Where producers have filled the memory, consumers must be able to work off
 * what there is.  Their pending records may take half of the reserve; the rest
 * is for those who acknowledge, delete and trim.
 */
static bool
may_deliver_from_reserve(void)
{
	ArenaStats	st;

	arena_stats(&StrmArena, &st);
	return st.pages_free > st.pages_charged + st.pages_reserve / 2;
}

static bool
is_removal_only(const Pend *p)
{
	for (int i = 0; i < p->ngrants; i++)
		if (p->grants[i].kind == GRANT_GIVE)
			return false;
	for (int i = 0; i < p->ngops; i++)
		if (gop_takes_memory(&p->gops[i]) ||
			(gop_makes_records(&p->gops[i]) && !may_deliver_from_reserve()))
			return false;
	return p->nchunks == 0 && !p->create && p->new_name == NULL;
}

static Size
set_size(const Pend *p)
{
	Size		size = MAXALIGN(sizeof(ChangeSet)) + p->nchunks * sizeof(SetChunk) +
		p->ndels * sizeof(SetDel) + p->npairs * sizeof(SetPair) + p->nheaders * sizeof(SetHeader) +
		p->gop_used;

	for (int i = 0; i < p->nchunks; i++)
		if (!is_large(p, &p->chunks[i]))
			size += p->chunks[i].bytes;
	return size;
}

static void
fill_chunks(Pend *p, ChangeSet *cs, uint32 offset)
{
	SetChunk   *sc = changeset_chunks(cs);
	bool		run_charged = false;

	for (int i = 0; i < p->nchunks; i++, sc++)
	{
		Chunk	   *c = &p->chunks[i];
		bool		large = is_large(p, c);

		sc->first = c->first;
		sc->last = c->last;
		sc->new_run = c->new_run;
		sc->prepared = 0;
		sc->offset = offset;
		/* of the nodes of a run only the first can meet others' entries */
		if (i == 0 || c->new_run)
			run_charged = false;
		if (large && run_charged)
			stream_charge_more(&cs->charge, &p->ss->stream);
		else
			stream_charge(&cs->charge, &p->ss->stream, c->bytes, large);
		run_charged = run_charged || large;
		if (!large)
		{
			memcpy((char *) cs + offset, c->lp, c->bytes);
			offset += c->bytes;
		}
	}
}

static bool
prepare_nodes(Pend *p, ChangeSet *cs)
{
	SetChunk   *sc = changeset_chunks(cs);

	for (int i = 0; i < p->nchunks; i++)
	{
		if (!is_large(p, &p->chunks[i]))
			continue;
		CHECK_FOR_INTERRUPTS();
		sc[i].prepared = stream_prepare_node(&StrmArena, p->chunks[i].lp, p->chunks[i].first, ARENA_NORMAL);
		if (sc[i].prepared == 0)
			return false;
	}
	return true;
}

static void
build_set(Pend *p)
{
	ArenaUse	use = is_removal_only(p) ? ARENA_SHRINK : ARENA_NORMAL;
	Size		size;
	ArenaCharge charge = {0};
	EngHandle	h;
	ChangeSet  *cs;
	SetDel	   *dels;
	uint32		offset;

	pend_join_chunks(p);
	gops_join(p);
	size = set_size(p);
	if (size > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("transaction does too much to one stream"),
				 errdetail("Its change set would have %zu bytes.", size)));
	gops_charge(&charge, p);	/* may raise: before there is a set to be lost */
	h = arena_alloc(&StrmArena, size, use);
	if (h == 0)
		strm_raise_full();
	cs = STRM_PTR(ChangeSet, h);
	memset(cs, 0, sizeof(ChangeSet));
	cs->charge = charge;
	cs->tx = tx_record;
	cs->part = p->part;
	cs->create = p->create;
	cs->drop = p->dropped || p->placeholder;
	cs->leaves = p->leaves;
	cs->heir = p->heir != NULL ? p->heir->ss->self : 0;
	cs->heir_id = p->heir != NULL ? p->heir->id : 0;
	cs->regrant = p->rights != NULL;
	cs->owner = cs->regrant ? p->rights->owner : InvalidOid;
	cs->trim_to = p->trim_refs;
	if (sid_cmp(p->trim_to, p->trim_refs) > 0)
		cs->trim_keep = p->trim_to;
	cs->chunks_offset = MAXALIGN(sizeof(ChangeSet));
	cs->nchunks = p->nchunks;
	cs->dels_offset = cs->chunks_offset + p->nchunks * sizeof(SetChunk);
	cs->ndels = p->ndels;
	dels = changeset_dels(cs);
	for (int i = 0; i < p->ndels; i++)
		dels[i] = (SetDel) {p->dels[i].id, p->dels[i].flags};
	cs->pairs_offset = cs->dels_offset + p->ndels * sizeof(SetDel);
	cs->npairs = p->npairs;
	for (int i = 0; i < p->npairs; i++)
		changeset_pairs(cs)[i] = p->pairs[i].pair;
	idmp_charge(&cs->charge, p->npairs);
	cs->headers_offset = cs->pairs_offset + p->npairs * sizeof(SetPair);
	cs->nheaders = p->nheaders;
	for (int i = 0; i < p->nheaders; i++)
		changeset_headers(cs)[i] = p->headers[i].set;
	offset = cs->headers_offset + p->nheaders * sizeof(SetHeader);
	cs->ngops = p->ngops;
	cs->gops_offset = offset;
	cs->gops_bytes = p->gop_used;
	if (p->ngops > 0)
		memcpy((char *) cs + offset, p->gop_bytes, p->gop_used);
	fill_chunks(p, cs, offset + p->gop_used);

	charge = cs->charge;
	if (!arena_charge(&StrmArena, &charge, use))
	{
		arena_free(&StrmArena, h);
		strm_raise_full();
	}
	p->changeset = h;			/* from here on the abort callback takes it apart */
	if (cs->regrant && !strm_rights_block(p->rights, use, &cs->grants))
		strm_raise_full();
	if (p->new_name != NULL)
	{
		cs->new_name = arena_alloc(&StrmArena, Max(p->new_len, 1), use);
		if (cs->new_name == 0)
			strm_raise_full();
		memcpy(STRM_PTR(char, cs->new_name), p->new_name, p->new_len);
		cs->new_len = p->new_len;
	}
	if (!prepare_nodes(p, cs))
		strm_raise_full();
}

/* --- 3. and 5. the journal --- */

static void
put_payload(PayloadSink *sink, int nsets)
{
	payload_put_head(sink, nsets);
	for (Pend *p = pend_first(); p != NULL; p = p->next)
	{
		StreamSet	set = {
			p->id, p->nchunks, p->ndels, p->trim_refs,
			sid_cmp(p->trim_to, p->trim_refs) > 0 ? p->trim_to : STREAMID_MIN,
			p->npairs, p->nheaders, p->ngops
		};

		if (p->changeset == 0 || is_name_only(p))
			continue;
		payload_put_set(sink, &set);
		for (int i = 0; i < p->nchunks; i++)
		{
			ChunkHead	head = {p->chunks[i].first, p->chunks[i].bytes, p->chunks[i].new_run};

			payload_put_chunk(sink, &head, p->chunks[i].lp);
		}
		for (int i = 0; i < p->ndels; i++)
		{
			SetDel		del = {p->dels[i].id, p->dels[i].flags};

			payload_put_del(sink, &del);
		}
		for (int i = 0; i < p->npairs; i++)
			payload_put_pair(sink, &p->pairs[i].pair);
		for (int i = 0; i < p->nheaders; i++)
			payload_put_header(sink, &p->headers[i].set);
		if (p->ngops > 0)
			sink->put(sink, p->gop_bytes, p->gop_used);
	}
}

/* --- 4. the number --- */

static uint64
take_number(Db *db)
{
	uint64		number;

	LWLockAcquire(&db->sequencer, LW_EXCLUSIVE);
	if (pg_atomic_read_u32(&db->load) == LOAD_NONE)
	{
		LWLockRelease(&db->sequencer);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables of the extension were filled by another transaction"),
				 errhint("Try again: they are read anew.")));
	}
	number = db->next_number++;
	for (Pend *p = pend_first(); p != NULL; p = p->next)
	{
		SharedStream *ss = p->ss;
		ChangeSet  *cs;

		if (p->changeset == 0)
			continue;
		cs = STRM_PTR(ChangeSet, p->changeset);
		cs->number = number;
		STRM_PTR(Part, p->part)->numbered = true;
		if (cs->regrant)
			pg_atomic_fetch_add_u32(&ss->regrants, 1);
		SpinLockAcquire(&ss->q_mutex);
		if (ss->q_tail != 0)
			STRM_PTR(ChangeSet, ss->q_tail)->next = p->changeset;
		else
			ss->q_head = p->changeset;
		ss->q_tail = p->changeset;
		SpinLockRelease(&ss->q_mutex);
		pg_atomic_fetch_add_u32(&ss->q_len, 1);
	}
	numbered = true;
	LWLockRelease(&db->sequencer);
	return number;
}

static void
new_tx_record(void)
{
	TxRecord   *tx;

	tx_record = arena_alloc(&StrmArena, sizeof(TxRecord), ARENA_SHRINK);
	if (tx_record == 0)
		strm_raise_full();
	tx = STRM_PTR(TxRecord, tx_record);
	pg_atomic_init_u32(&tx->status, TX_PENDING);
	pg_atomic_init_u32(&tx->refs, 0);
	tx->xid = GetTopTransactionId();
}

/* Streams in the order of their ids, so that two transactions that make the
 * same streams meet at the first. */
static int
pend_cmp(const void *a, const void *b)
{
	int64		x = (*(Pend *const *) a)->id;
	int64		y = (*(Pend *const *) b)->id;

	return (x > y) - (x < y);
}

static void
settle_streams(void)
{
	int			n = 0;
	Pend	  **all;

	for (Pend *p = pend_first(); p != NULL; p = p->next)
		n++;
	all = palloc(n * sizeof(Pend *));
	n = 0;
	for (Pend *p = pend_first(); p != NULL; p = p->next)
		all[n++] = p;
	if (n > 1)
		qsort(all, n, sizeof(Pend *), pend_cmp);
	for (int i = 0; i < n; i++)
		if (!pend_is_empty(all[i]))
		{
			pend_refresh(all[i]);
			settle_stream(all[i]);
		}
	pfree(all);
}

/*
 * A transaction that has done nothing but first deliveries need not wait for
 * the disk: should a crash forget it, its entries are delivered again.  (What
 * later transactions do with them is behind it in the log.)  Where anything has
 * been logged we do not ask what: it may be no more than the hint bits of a
 * page, which a server with checksums logs.
 */
static void
hurry(void)
{
	if (XactLastRecEnd != 0 || synchronous_commit <= SYNCHRONOUS_COMMIT_OFF)
		return;
	for (Pend *p = pend_first(); p != NULL; p = p->next)
		if (!pend_is_empty(p) && !pend_only_delivers(p))
			return;
	hurried = true;
	usual_synchronous_commit = synchronous_commit;
	synchronous_commit = SYNCHRONOUS_COMMIT_OFF;
}

static void
pre_commit(void)
{
	JournalWriter writer;
	Db		   *db = NULL;
	int			nsets = 0;
	bool		first;

	if (pend_first() == NULL)
	{
		sealed = true;			/* what came now would not be written */
		return;
	}
	db = strm_db_loaded();
	first = db != NULL && !pg_atomic_read_u32(&db->in_use);
	if (first)
		journal_check_empty(db);
	names_settle();
	settle_streams();
	sealed = true;
	for (Pend *p = pend_first(); p != NULL; p = p->next)
	{
		if (!has_set(p))
			continue;
		if (tx_record == 0)
			new_tx_record();
		if (is_name_only(p))
			p->nchunks = p->ndels = p->npairs = p->nheaders = 0;
		build_set(p);
		pg_atomic_fetch_add_u32(&STRM_PTR(TxRecord, tx_record)->refs, 1);
		db = STRM_PTR(Db, p->ss->db);
		nsets += !is_name_only(p);
	}
	if (nsets == 0)
		return;
	if (db->catalog != strm_catalog_oid())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension was dropped in a transaction that had used its streams")));
	hurry();
	journal_begin(&writer, db);
	if (first)
	{
		journal_mark_in_use();
		first_in = db;
	}
	put_payload(&writer.sink, nsets);
	{
		uint64		number = take_number(db);

		TEST_POINT("xact-numbered");
		journal_finish(&writer, number);
	}
	TEST_POINT("xact-journaled");
}

/* --- the end --- */

static void
forget(void)
{
	tx_record = 0;
	numbered = false;
	sealed = false;
	pend_forget_all();
}

/* Sets are queued: decide them, see to their merge, release the rest. */
static void
decide(TxStatus status)
{
	pg_memory_barrier();
	pg_atomic_write_u32(&STRM_PTR(TxRecord, tx_record)->status, status);
	if (status == TX_COMMITTED)
		TEST_POINT("xact-committed");
	for (Pend *p = pend_first(); p != NULL; p = p->next)
	{
		if (p->changeset == 0)
			continue;
		p->part = 0;			/* the set's */
		if (p->leaves)
		{
			/* so that the next to ask for the name finds it passed on; nobody
			 * else has a set here */
			LWLockAcquire(&p->ss->lock, LW_EXCLUSIVE);
			strm_merge(p->ss);
			strm_unlock(p->ss);
		}
		else
			strm_merge_soon(p->ss);
	}
}

static void
finish(bool committed)
{
	if (hurried)
		synchronous_commit = usual_synchronous_commit;
	hurried = false;
	if (committed && first_in != NULL)
		pg_atomic_write_u32(&first_in->in_use, 1);
	first_in = NULL;
	if (pend_first() == NULL)
	{
		sealed = false;
		return;
	}
	if (numbered)
		decide(committed ? TX_COMMITTED : TX_ABORTED);
	else
	{
		for (Pend *p = pend_first(); p != NULL; p = p->next)
			if (p->changeset != 0)
				strm_changeset_free(p->changeset);
		if (tx_record != 0)
			arena_free(&StrmArena, tx_record);
	}
	for (Pend *p = pend_first(); p != NULL; p = p->next)
		pend_release(p);
	strm_wake_flush();
	if (committed)
		TEST_POINT("xact-merged");
	forget();
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			pre_commit();
			break;
		case XACT_EVENT_COMMIT:
			finish(true);
			strm_lifecycle_finish(true);
			break;
		case XACT_EVENT_ABORT:
			if (strm_waiting())
				strm_wait_leave();
			finish(false);
			strm_lifecycle_finish(false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			if (pend_first() != NULL || strm_lifecycle_dropped())
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot PREPARE a transaction that has operated on streams")));
			break;
		default:
			break;
	}
}

static void
subxact_callback(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		pend_sub_commit(sub, parent);
		strm_lifecycle_sub_commit(sub, parent);
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		if (strm_waiting())
			strm_wait_leave();
		pend_sub_abort(sub);
		strm_lifecycle_sub_abort(sub);
	}
}

void
strm_xact_init(void)
{
	RegisterXactCallback(xact_callback, NULL);
	RegisterSubXactCallback(subxact_callback, NULL);
}
