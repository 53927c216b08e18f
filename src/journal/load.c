/*
 * load.c
 *	  Reading a database's streams into memory on first use.
 *
 *	1. Who comes first loads; others wait for him.  Should he be cancelled,
 *	   the next goes on: what a stream has applied is not applied again.
 *	2. The catalog's rows become live streams, the rows of stream.privilege
 *	   their grants.
 *	3. The journal is scanned once for numbers and places of rows, which are
 *	   sorted; then the payloads are carried out in the order of their numbers
 *	   by the functions that merge live change sets.  Sets of streams that are
 *	   not in the catalog belong to dropped ones and are passed over.
 *	4. The next number is beyond every one seen.
 *
 * Nobody writes to the journal of a database that is not loaded, so what is
 * committed does not change meanwhile.  The tables are read with SnapshotSelf:
 * a snapshot of the MVCC kind would take predicate locks in a serializable
 * transaction and make it fail for nothing.
 *
 * Everything read is checked first (XX001 names the row); nothing is trusted
 * because it is in a table of ours.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "journal/journal.h"
#include "journal/rows.h"

/* A numbered row, or a piece (num = its set), and where it is. */
typedef struct RowRef
{
	int64		num;
	int64		piece_set;
	int32		piece;			/* numbered row: how many pieces; piece: which */
	pg_crc32c	crc;
	ItemPointerData tid;
} RowRef;

typedef struct RowRefs
{
	RowRef	   *row;
	Size		n;
	Size		cap;
} RowRefs;

typedef struct KnownStream
{
	int64		id;				/* hash key */
	SharedStream *ss;
} KnownStream;

typedef struct Loader
{
	Db		   *db;
	Relation	journal;
	HTAB	   *known;
	RowRefs		numbered;
	RowRefs		pieces;
	char	   *payload;
	Size		payload_cap;
	MemoryContext scratch;		/* reset for each payload */
	int64		max_stream_id;
} Loader;

/* --- the catalog --- */

static void
unsound(const char *table, ItemPointer tid, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored streams are damaged"),
			 errdetail("Row (%u,%u) of table \"stream.%s\": %s.",
					   ItemPointerGetBlockNumberNoCheck(tid), ItemPointerGetOffsetNumberNoCheck(tid),
					   table, what),
			 errhint("Restore the table from a backup.")));
}

static void
load_catalog(Loader *ld)
{
	Relation	rel = strm_table_open(strm_catalog_oid(), AccessShareLock);
	TableScanDesc scan = table_beginscan(rel, SnapshotSelf, 0, NULL);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Datum		values[Natts_catalog];
		bool		nulls[Natts_catalog];
		text	   *name;
		int64		id;
		KnownStream *known;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		for (int i = 0; i < Natts_catalog; i++)
			if (nulls[i])
				unsound("catalog", &tuple->t_self, "a column is null");
		id = DatumGetInt64(values[Anum_catalog_id - 1]);
		name = DatumGetTextPP(values[Anum_catalog_name - 1]);
		if (id <= 0 || VARSIZE_ANY_EXHDR(name) > STREAM_NAME_MAX)
			unsound("catalog", &tuple->t_self, "the id or the name is out of range");

		known = hash_search(ld->known, &id, HASH_ENTER, &found);
		ld->max_stream_id = Max(ld->max_stream_id, id);
		known->ss = strm_registry_load(ld->db, id, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name),
									   DatumGetObjectId(values[Anum_catalog_owner - 1]),
									   DatumGetInt32(values[Anum_catalog_node_max_bytes - 1]),
									   DatumGetInt32(values[Anum_catalog_node_max_entries - 1]));
		if (known->ss->id != id)
			unsound("catalog", &tuple->t_self, "another stream has the same name");
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* One more grant of a stream; two rows for one role count together. */
static void
load_grant(SharedStream *ss, Oid role, uint32 mask)
{
	static Rights r;
	EngHandle	grants;

	strm_rights_read(ss, &r);
	strm_rights_give(&r, role, mask);
	if (!strm_rights_block(&r, ARENA_SHRINK, &grants))
		strm_raise_full();
	LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
	strm_rights_set(ss, r.owner, grants);
	LWLockRelease(&ss->lock);
}

static void
load_privileges(Loader *ld)
{
	Relation	rel = strm_table_open(strm_privilege_oid(), AccessShareLock);
	TableScanDesc scan = table_beginscan(rel, SnapshotSelf, 0, NULL);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Datum		values[Natts_privilege];
		bool		nulls[Natts_privilege];
		text	   *privileges;
		uint32		mask;
		int64		id;
		KnownStream *known;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
		for (int i = 0; i < Natts_privilege; i++)
			if (nulls[i])
				unsound("privilege", &tuple->t_self, "a column is null");
		id = DatumGetInt64(values[Anum_privilege_stream_id - 1]);
		privileges = DatumGetTextPP(values[Anum_privilege_privileges - 1]);
		mask = strm_privileges_mask(VARDATA_ANY(privileges), VARSIZE_ANY_EXHDR(privileges));
		if (id <= 0 || mask == 0)
			unsound("privilege", &tuple->t_self, "the stream or the privileges are out of range");
		/* a stream made later must not come into an id that has grants */
		ld->max_stream_id = Max(ld->max_stream_id, id);
		known = hash_search(ld->known, &id, HASH_FIND, NULL);
		if (known != NULL)
			load_grant(known->ss, DatumGetObjectId(values[Anum_privilege_grantee - 1]), mask);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
}

/* --- the journal: where rows are --- */

static void
refs_add(RowRefs *refs, const RowRef *ref)
{
	if (refs->n == refs->cap)
	{
		refs->cap = refs->cap ? refs->cap * 2 : 1024;
		refs->row = refs->row ? repalloc_huge(refs->row, refs->cap * sizeof(RowRef))
			: palloc(refs->cap * sizeof(RowRef));
	}
	refs->row[refs->n++] = *ref;
}

static int
cmp_i64(int64 a, int64 b)
{
	return (a > b) - (a < b);
}

static int
refs_cmp(const void *a, const void *b)
{
	const RowRef *x = a;
	const RowRef *y = b;
	int			c = cmp_i64(x->num, y->num);

	return c != 0 ? c : cmp_i64(x->piece, y->piece);
}

static void
refs_sort(RowRefs *refs)
{
	for (Size i = 1; i < refs->n; i++)
		if (refs_cmp(&refs->row[i - 1], &refs->row[i]) > 0)
		{
			qsort(refs->row, refs->n, sizeof(RowRef), refs_cmp);
			return;
		}
}

static void
scan_journal(Loader *ld)
{
	TableScanDesc scan = table_beginscan(ld->journal, SnapshotSelf, 0, NULL);
	HeapTuple	tuple;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Datum		values[Natts_journal];
		bool		nulls[Natts_journal];
		RowRef		ref;
		bool		numbered;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(tuple, RelationGetDescr(ld->journal), values, nulls);
		numbered = !nulls[Anum_journal_num - 1];
		if (nulls[Anum_journal_piece_set - 1] || nulls[Anum_journal_piece - 1] ||
			nulls[Anum_journal_bytes - 1] || nulls[Anum_journal_crc - 1] == numbered)
			unsound("journal_0", &tuple->t_self, "a column is null that should not be");
		ref.piece_set = DatumGetInt64(values[Anum_journal_piece_set - 1]);
		ref.piece = DatumGetInt32(values[Anum_journal_piece - 1]);
		ref.num = numbered ? DatumGetInt64(values[Anum_journal_num - 1]) : ref.piece_set;
		ref.crc = numbered ? (pg_crc32c) DatumGetInt32(values[Anum_journal_crc - 1]) : 0;
		ref.tid = tuple->t_self;
		if (ref.num <= 0 || ref.num == PG_INT64_MAX || ref.piece < 0 || ref.piece_set < 0)
			unsound("journal_0", &tuple->t_self, "a number is out of range");
		refs_add(numbered ? &ld->numbered : &ld->pieces, &ref);
	}
	table_endscan(scan);
	refs_sort(&ld->numbered);
	refs_sort(&ld->pieces);
	for (Size i = 1; i < ld->numbered.n; i++)
		if (ld->numbered.row[i].num == ld->numbered.row[i - 1].num)
			unsound("journal_0", &ld->numbered.row[i].tid, "its number is there twice");
}

/* --- the journal: payloads --- */

static void
payload_append(Loader *ld, Size used, ItemPointer tid, Size *len)
{
	HeapTupleData tuple;
	Buffer		buffer;
	bool		isnull;
	bytea	   *bytes;

	tuple.t_self = *tid;
	if (!heap_fetch(ld->journal, SnapshotAny, &tuple, &buffer, false))
		unsound("journal_0", tid, "it cannot be read");
	bytes = (bytea *) DatumGetPointer(heap_getattr(&tuple, Anum_journal_bytes,
												   RelationGetDescr(ld->journal), &isnull));
	if (VARATT_IS_EXTERNAL(bytes))
		unsound("journal_0", tid, "its bytes are not in the row");
	/* the library writes them plain; by way of another table they may be compressed */
	bytes = (bytea *) PG_DETOAST_DATUM_PACKED(PointerGetDatum(bytes));
	*len = VARSIZE_ANY_EXHDR(bytes);
	if (used + *len > ld->payload_cap)
	{
		ld->payload_cap = Max(2 * ld->payload_cap, used + *len);
		ld->payload = repalloc_huge(ld->payload, ld->payload_cap);
	}
	memcpy(ld->payload + used, VARDATA_ANY(bytes), *len);
	ReleaseBuffer(buffer);
}

/* The first piece of a set in the sorted list, or its end. */
static Size
pieces_find(RowRefs *pieces, int64 set)
{
	Size		lo = 0;
	Size		hi = pieces->n;

	while (lo < hi)
	{
		Size		mid = lo + (hi - lo) / 2;

		if (pieces->row[mid].num < set)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Put the payload of a numbered row together; returns its length. */
static Size
payload_read(Loader *ld, RowRef *ref)
{
	Size		used = 0;
	Size		len;
	pg_crc32c	crc;

	if (ref->piece > 0)
	{
		Size		at = pieces_find(&ld->pieces, ref->piece_set);

		for (int32 i = 0; i < ref->piece; i++, at++)
		{
			if (at >= ld->pieces.n || ld->pieces.row[at].num != ref->piece_set ||
				ld->pieces.row[at].piece != i)
				unsound("journal_0", &ref->tid, "a piece of it is missing");
			payload_append(ld, used, &ld->pieces.row[at].tid, &len);
			used += len;
		}
	}
	payload_append(ld, used, &ref->tid, &len);
	used += len;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, ld->payload, used);
	FIN_CRC32C(crc);
	if (!EQ_CRC32C(crc, ref->crc))
		unsound("journal_0", &ref->tid, "the checksum is wrong");
	return used;
}

/* A set read and checked. */
typedef struct ReadySet
{
	SharedStream *ss;			/* NULL: dropped since */
	StreamSet	set;
	StreamId   *first;
	const uint8 **lp;
	SetDel	   *dels;
	SetPair    *pairs;
	SetHeader  *headers;
	Gop		   *gops;
} ReadySet;

static void
ready_set(Loader *ld, PayloadReader *r, RowRef *ref, ReadySet *ready)
{
	KnownStream *known;

	if (!payload_get_set(r, &ready->set) ||
		ready->set.nchunks > (Size) (r->end - r->p) || ready->set.ndels > (Size) (r->end - r->p) ||
		ready->set.npairs > (Size) (r->end - r->p) || ready->set.nheaders > (Size) (r->end - r->p) ||
		ready->set.ngops > (Size) (r->end - r->p))
		unsound("journal_0", &ref->tid, "a change set is malformed");
	known = hash_search(ld->known, &ready->set.stream_id, HASH_FIND, NULL);
	ready->ss = known ? known->ss : NULL;
	ld->max_stream_id = Max(ld->max_stream_id, ready->set.stream_id);
	ready->first = MemoryContextAllocHuge(ld->scratch, Max(1, ready->set.nchunks) * sizeof(StreamId));
	ready->lp = MemoryContextAllocHuge(ld->scratch, Max(1, ready->set.nchunks) * sizeof(uint8 *));
	ready->dels = MemoryContextAllocHuge(ld->scratch, Max(1, ready->set.ndels) * sizeof(SetDel));
	for (uint32 i = 0; i < ready->set.nchunks; i++)
	{
		ChunkHead	head;

		if (!payload_get_chunk(r, &head, &ready->lp[i]))
			unsound("journal_0", &ref->tid, "a chunk of entries is malformed");
		ready->first[i] = head.first;
	}
	for (uint32 i = 0; i < ready->set.ndels; i++)
		if (!payload_get_del(r, &ready->dels[i]))
			unsound("journal_0", &ref->tid, "a deletion is malformed");
	ready->pairs = MemoryContextAllocHuge(ld->scratch, Max(1, ready->set.npairs) * sizeof(SetPair));
	for (uint32 i = 0; i < ready->set.npairs; i++)
		if (!payload_get_pair(r, &ready->pairs[i]))
			unsound("journal_0", &ref->tid, "a pair of producer and iid is malformed");
	ready->headers = MemoryContextAllocHuge(ld->scratch, (ready->set.nheaders + (Size) 1) * sizeof(SetHeader));
	for (uint32 i = 0; i < ready->set.nheaders; i++)
	{
		SetHeader  *h = &ready->headers[i];

		if (!payload_get_header(r, h) || h->chunks > ready->set.nchunks ||
			h->dels > ready->set.ndels || h->pairs > ready->set.npairs || h->gops > ready->set.ngops ||
			(i > 0 && (h->chunks < h[-1].chunks || h->dels < h[-1].dels || h->pairs < h[-1].pairs ||
					   h->gops < h[-1].gops)))
			unsound("journal_0", &ref->tid, "a header is malformed");
	}
	ready->gops = MemoryContextAllocHuge(ld->scratch, (ready->set.ngops + (Size) 1) * sizeof(Gop));
	for (uint32 i = 0; i < ready->set.ngops; i++)
		if (!payload_get_gop(r, &ready->gops[i]))
			unsound("journal_0", &ref->tid, "an operation on a group is malformed");
}

static EngStatus
add_chunk(Stream *s, StreamId first, const uint8 *lp)
{
	EngHandle	prepared = 0;
	EngStatus	st;

	/* what does not fit a page has to be a node of its own */
	if (node_bytes(lp) + sizeof(StreamNode) > s->node_max_bytes)
	{
		prepared = stream_prepare_node(&StrmArena, lp, first, ARENA_SHRINK);
		if (prepared == 0)
			return ENG_NOMEM;
	}
	st = stream_add_chunk(&StrmArena, s, first, lp, prepared, ARENA_SHRINK);
	if (st != ENG_OK && prepared != 0)
		arena_free(&StrmArena, prepared);
	return st;
}

/* The operations between two headers, as in a merge. */
static EngStatus
apply_ops(ReadySet *ready, const SetHeader *from, const SetHeader *to)
{
	Stream	   *s = &ready->ss->stream;
	EngStatus	st = ENG_OK;

	/* ENG_EXISTS: done already by somebody who could not finish */
	for (uint32 i = from->chunks; i < to->chunks && st != ENG_NOMEM; i++)
		st = add_chunk(s, ready->first[i], ready->lp[i]);
	for (uint32 i = from->pairs; i < to->pairs && st != ENG_NOMEM; i++)
		st = stream_add_pair(&StrmArena, s, &ready->pairs[i].key, ready->pairs[i].id, ARENA_SHRINK);
	if (st == ENG_NOMEM)
		return st;
	for (uint32 i = from->gops; i < to->gops; i++)
	{
		st = strm_gop_apply(ready->ss, &ready->gops[i], ARENA_SHRINK);
		if (st == ENG_OK)
			ready->ss->broken = true;	/* as after a header */
		else
			return st == ENG_NOMEM ? ENG_NOMEM : ENG_CORRUPT;
	}
	for (uint32 i = from->dels; i < to->dels; i++)
		(void) stream_del(&StrmArena, s, ready->dels[i].id, ready->dels[i].flags);
	return ENG_OK;
}

/* Carry a set out.  The reserve of memory may be used: what was merged once
 * must fit again. */
static EngStatus
apply_set(ReadySet *ready, uint64 number)
{
	SharedStream *ss = ready->ss;
	EngStatus	st = ENG_OK;

	LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
	if (ss->stream.applied < number)
	{
		bool		broken = ss->broken;
		SetHeader	done = {0};
		SetHeader	all = {
			.chunks = ready->set.nchunks, .dels = ready->set.ndels, .pairs = ready->set.npairs,
			.gops = ready->set.ngops
		};

		for (uint32 i = 0; i < ready->set.nheaders && st == ENG_OK; i++)
		{
			st = apply_ops(ready, &done, &ready->headers[i]);
			if (st == ENG_OK)
			{
				stream_set_header(&StrmArena, &ss->stream, &ready->headers[i].header);
				ss->broken = true;	/* should it end in the middle: it cannot be begun again */
			}
			done = ready->headers[i];
		}
		if (st == ENG_OK)
			st = apply_ops(ready, &done, &all);
		if (st == ENG_OK)
		{
			if (!sid_is_zero(ready->set.trim_to))
				(void) stream_trim(&StrmArena, &ss->stream, ready->set.trim_to, false);
			if (!sid_is_zero(ready->set.trim_keep))
				(void) stream_trim(&StrmArena, &ss->stream, ready->set.trim_keep, true);
			ss->broken = broken;
			ss->stream.applied = number;
			ss->last_reserved = ss->stream.last_id;
		}
	}
	LWLockRelease(&ss->lock);
	return st;
}

static void
carry_out(Loader *ld, RowRef *ref)
{
	Size		len = payload_read(ld, ref);
	PayloadReader r = {(const uint8 *) ld->payload, (const uint8 *) ld->payload + len};
	uint32		nstreams;
	ReadySet   *ready;
	MemoryContext old = MemoryContextSwitchTo(ld->scratch);

	if (!payload_get_head(&r, &nstreams) || nstreams > len)
		unsound("journal_0", &ref->tid, "the payload is malformed or of another version");
	ready = palloc_extended(Max(1, nstreams) * sizeof(ReadySet), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < nstreams; i++)
		ready_set(ld, &r, ref, &ready[i]);
	if (r.p != r.end)
		unsound("journal_0", &ref->tid, "the payload is longer than its contents");
	for (uint32 i = 0; i < nstreams; i++)
	{
		EngStatus	st = ready[i].ss ? apply_set(&ready[i], (uint64) ref->num) : ENG_OK;

		if (st == ENG_NOMEM)
			strm_raise_full();
		if (st != ENG_OK)
			unsound("journal_0", &ref->tid, "a change set does not fit the stream");
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(ld->scratch);
}

/* --- the whole --- */

static void
load(Db *db)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "stream load",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Loader		ld = {.db = db};
	HASHCTL		ctl = {.keysize = sizeof(int64), .entrysize = sizeof(KnownStream), .hcxt = context};
	uint64		next_number = 1;
	uint64		next_set = 1;

	ld.known = hash_create("stream load", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	ld.scratch = AllocSetContextCreate(context, "stream load payload", ALLOCSET_DEFAULT_SIZES);
	ld.payload_cap = 16 * 1024;
	ld.payload = palloc(ld.payload_cap);

	load_catalog(&ld);
	load_privileges(&ld);
	ld.journal = strm_table_open(strm_journal_oid(), AccessShareLock);
	scan_journal(&ld);
	for (Size i = 0; i < ld.numbered.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		carry_out(&ld, &ld.numbered.row[i]);
	}
	if (ld.numbered.n > 0)
		next_number = (uint64) ld.numbered.row[ld.numbered.n - 1].num + 1;
	if (ld.pieces.n > 0)
		next_set = (uint64) ld.pieces.row[ld.pieces.n - 1].num + 1;
	table_close(ld.journal, AccessShareLock);

	LWLockAcquire(&db->sequencer, LW_EXCLUSIVE);
	db->next_number = next_number;
	LWLockRelease(&db->sequencer);
	pg_atomic_write_u32(&db->in_use, journal_in_use());
	pg_atomic_write_u64(&db->next_piece_set, next_set);
	pg_atomic_write_u64(&db->next_stream_id, (uint64) ld.max_stream_id + 1);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* A load sees the rows of its own transaction, which may never commit. */
static void
refuse_own_rows(Db *db)
{
	LOCKTAG		tag;
	Relation	rel;
	bool		own_tables;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId, db->catalog, 0);
	if (!HeldByMe(&tag, ShareLock))
		return;
	/* with the extension made here too, nobody else sees what is loaded */
	rel = strm_table_open(strm_catalog_oid(), AccessShareLock);
	own_tables = rel->rd_createSubid != InvalidSubTransactionId;
	table_close(rel, AccessShareLock);
	if (!own_tables)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("streams cannot be used in the transaction that restores them")));
}

/*
 * What a load that was cancelled has done, the next goes on from.  One that has
 * not found the memory gives all of it back: it came out of the reserve, too,
 * which the other databases need.
 */
static void
load_or_nothing(Db *db)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		load(db);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (geterrcode() != ERRCODE_OUT_OF_MEMORY)
			PG_RE_THROW();
		FlushErrorState();
		strm_registry_discard(db->dboid, db->catalog);
		pg_atomic_write_u32(&db->load, LOAD_NONE);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("the streams of this database do not fit into stream.memory"),
				 errdetail("While they are read they need the most memory they ever had."),
				 errhint("Raise stream.memory and restart the server.")));
	}
	PG_END_TRY();
}

/*
 * The loader holds a lock of the server's on the catalog as an object, so that
 * waiting for him can be cancelled and is known to the deadlock detector, and
 * an error lets the next one in.  Who fills the tables, which the guard allows
 * before the first use, holds it too, shared: a load would see half of it.
 */
void
journal_load(Db *db)
{
	refuse_own_rows(db);
	LockDatabaseObject(RelationRelationId, db->catalog, 0, ExclusiveLock);
	if (pg_atomic_read_u32(&db->load) == LOAD_NONE)
	{
		load_or_nothing(db);
		pg_write_barrier();
		pg_atomic_write_u32(&db->load, LOAD_DONE);
	}
	UnlockDatabaseObject(RelationRelationId, db->catalog, 0, ExclusiveLock);
}

void
journal_hold_load(Db *db)
{
	LockDatabaseObject(RelationRelationId, db->catalog, 0, ShareLock);
}

void
journal_check_empty(Db *db)
{
	bool		filled = strm_table_filled(strm_journal_oid(), true) || strm_table_filled(strm_catalog_oid(), true);

	if (!filled)
		return;
	LWLockAcquire(&db->sequencer, LW_EXCLUSIVE);
	filled = db->next_number == 1;	/* else it was the first change set, of another */
	if (filled && pg_atomic_read_u32(&db->load) == LOAD_DONE)
		pg_atomic_write_u32(&db->load, LOAD_NONE);
	LWLockRelease(&db->sequencer);
	if (filled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the tables of the extension were filled after they had been found empty"),
				 errhint("Try again: they are read anew.")));
}
