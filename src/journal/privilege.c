/*
 * privilege.c
 *	  The rows of stream.privilege and stream.default_privilege.
 *
 *	stream.privilege			a row a grant: stream, role, privileges
 *	stream.default_privilege	a row a role that makes streams and a role that
 *								gets the privileges on them
 *
 * Rows of the first are written at pre-commit by the one transaction that
 * changes the stream's rights (xact/grant.c), so nobody else touches them.
 * Those of the second are written at the call; a lock of the server's on the
 * maker's role keeps two of them apart until the first has ended.
 *
 * Rows are looked up with SnapshotSelf for writing: it finds what committed
 * last and what the transaction itself has written, and takes no predicate
 * locks.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_authid.h"
#include "parser/scansup.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "journal/journal.h"
#include "journal/rows.h"

/* --- privileges as text --- */

static const struct
{
	const char *name;
	uint32		mask;
}			privilege_names[] = {
	{"SELECT", PRIV_SELECT},
	{"INSERT", PRIV_INSERT},
	{"UPDATE", PRIV_UPDATE},
	{"DELETE", PRIV_DELETE},
	{"ALL", PRIV_ALL},
	{"ALL PRIVILEGES", PRIV_ALL}
};

char *
strm_privileges_text(uint32 mask)
{
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; privilege_names[i].mask != PRIV_ALL; i++)
		if (mask & privilege_names[i].mask)
			appendStringInfo(&s, "%s%s", s.len > 0 ? ", " : "", privilege_names[i].name);
	return s.data;
}

static uint32
privilege_mask(const char *word, int len)
{
	while (len > 0 && scanner_isspace(*word))
		word++, len--;
	while (len > 0 && scanner_isspace(word[len - 1]))
		len--;
	for (Size i = 0; i < lengthof(privilege_names); i++)
		if ((Size) len == strlen(privilege_names[i].name) &&
			pg_strncasecmp(word, privilege_names[i].name, len) == 0)
			return privilege_names[i].mask;
	return 0;
}

uint32
strm_privileges_mask(const char *text, int len)
{
	uint32		mask = 0;

	for (;;)
	{
		const char *comma = memchr(text, ',', len);
		int			word = comma != NULL ? (int) (comma - text) : len;
		uint32		one = privilege_mask(text, word);

		if (one == 0)
			return 0;
		mask |= one;
		if (comma == NULL)
			return mask;
		text += word + 1;
		len -= word + 1;
	}
}

/* --- grants of streams --- */

static void
insert_privilege(Relation rel, int64 id, const StreamGrant *g)
{
	Datum		values[Natts_privilege];
	bool		nulls[Natts_privilege] = {false};
	HeapTuple	tuple;

	values[Anum_privilege_stream_id - 1] = Int64GetDatum(id);
	values[Anum_privilege_grantee - 1] = ObjectIdGetDatum(g->role);
	values[Anum_privilege_privileges - 1] = CStringGetTextDatum(strm_privileges_text(g->mask));
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
}

/* Does a row say this grant? */
static bool
says(Relation rel, HeapTuple tuple, const StreamGrant *g)
{
	Datum		values[Natts_privilege];
	bool		nulls[Natts_privilege];
	text	   *t;

	heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
	if (DatumGetObjectId(values[Anum_privilege_grantee - 1]) != g->role)
		return false;
	t = DatumGetTextPP(values[Anum_privilege_privileges - 1]);
	return strm_privileges_mask(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)) == g->mask;
}

void
strm_privilege_write(int64 id, const Rights *r)
{
	Relation	rel = strm_table_open(strm_privilege_oid(), RowExclusiveLock);
	uint32		n = r != NULL ? r->n : 0;
	bool	   *there = palloc0(Max(n, 1) * sizeof(bool));
	List	   *indexes = RelationGetIndexList(rel);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_privilege_stream_id, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
	scan = systable_beginscan(rel, indexes != NIL ? linitial_oid(indexes) : InvalidOid,
							  indexes != NIL, SnapshotSelf, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		uint32		i = 0;

		while (i < n && (there[i] || !says(rel, tuple, &r->grant[i])))
			i++;
		if (i < n)
			there[i] = true;
		else
			CatalogTupleDelete(rel, &tuple->t_self);
	}
	systable_endscan(scan);
	for (uint32 i = 0; i < n; i++)
		if (!there[i])
			insert_privilege(rel, id, &r->grant[i]);
	pfree(there);
	table_close(rel, NoLock);
}

/* --- grants of streams to come --- */

static StreamGrant
default_grant(Relation rel, HeapTuple tuple, Oid *owner)
{
	Datum		values[Natts_default_privilege];
	bool		nulls[Natts_default_privilege];
	text	   *t;

	heap_deform_tuple(tuple, RelationGetDescr(rel), values, nulls);
	*owner = DatumGetObjectId(values[Anum_default_privilege_owner - 1]);
	t = DatumGetTextPP(values[Anum_default_privilege_privileges - 1]);
	return (StreamGrant) {DatumGetObjectId(values[Anum_default_privilege_grantee - 1]),
		strm_privileges_mask(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t))};
}

/* Read with what is committed now, whatever snapshot the transaction has. */
void
strm_defaults_read(Oid owner, Rights *r)
{
	Relation	rel = strm_table_open(strm_default_privilege_oid(), AccessShareLock);
	Snapshot	snap = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, snap, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			of;
		StreamGrant g = default_grant(rel, tuple, &of);

		if (of == owner && g.mask != 0)
			strm_rights_give(r, g.role, g.mask);
	}
	systable_endscan(scan);
	UnregisterSnapshot(snap);
	table_close(rel, NoLock);
}

void
strm_default_change(Oid owner, Oid grantee, uint32 give, uint32 take)
{
	Relation	rel = strm_table_open(strm_default_privilege_oid(), RowExclusiveLock);
	SysScanDesc scan;
	HeapTuple	tuple;
	uint32		mask = 0;

	LockDatabaseObject(AuthIdRelationId, owner, 0, ExclusiveLock);
	scan = systable_beginscan(rel, InvalidOid, false, SnapshotSelf, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			of;
		StreamGrant g = default_grant(rel, tuple, &of);

		if (of != owner || g.role != grantee)
			continue;
		mask |= g.mask;
		CatalogTupleDelete(rel, &tuple->t_self);
	}
	systable_endscan(scan);
	mask = (mask | give) & ~take;
	if (mask != 0)
	{
		Datum		values[Natts_default_privilege];
		bool		nulls[Natts_default_privilege] = {false};

		values[Anum_default_privilege_owner - 1] = ObjectIdGetDatum(owner);
		values[Anum_default_privilege_grantee - 1] = ObjectIdGetDatum(grantee);
		values[Anum_default_privilege_privileges - 1] = CStringGetTextDatum(strm_privileges_text(mask));
		tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
		CatalogTupleInsert(rel, tuple);
		heap_freetuple(tuple);
	}
	table_close(rel, NoLock);
	/* so that a stream made by this very transaction gets them too */
	CommandCounterIncrement();
}
