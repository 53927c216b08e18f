/*
 * tables.c
 *	  The extension's tables: finding them, and the rows of the catalog.
 *
 * The oids are remembered until a relcache invalidation names the catalog
 * (DROP EXTENSION) or everything.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "journal/journal.h"
#include "journal/rows.h"

static struct
{
	bool		valid;
	Oid			schema;
	Oid			catalog;
	Oid			journal;
	Oid			privilege;
	Oid			default_privilege;
	Oid			in_use;
} tables;

static void
forget(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == tables.catalog)
		tables.valid = false;
}

void
strm_tables_init(void)
{
	CacheRegisterRelcacheCallback(forget, (Datum) 0);
}

static void
raise_missing(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"stream.%s\" is missing", name),
			 errhint("Install the extension with CREATE EXTENSION stream.")));
}

static Oid
table_oid(Oid schema, const char *name)
{
	Oid			oid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;

	if (!OidIsValid(oid))
		raise_missing(name);
	return oid;
}

static void
look_up(void)
{
	while (!tables.valid)
	{
		Oid			schema;

		tables.valid = true;	/* until told otherwise, perhaps by what follows */
		PG_TRY();
		{
			schema = get_namespace_oid("stream", true);
			tables.catalog = table_oid(schema, "catalog");
			tables.journal = table_oid(schema, "journal_0");
			tables.privilege = table_oid(schema, "privilege");
			tables.default_privilege = table_oid(schema, "default_privilege");
			tables.in_use = table_oid(schema, "in_use");
			tables.schema = schema;
		}
		PG_CATCH();
		{
			tables.valid = false;
			PG_RE_THROW();
		}
		PG_END_TRY();
	}
}

Oid
strm_schema_oid(void)
{
	look_up();
	return tables.schema;
}

Oid
strm_catalog_oid(void)
{
	look_up();
	return tables.catalog;
}

Oid
strm_journal_oid(void)
{
	look_up();
	return tables.journal;
}

Oid
strm_privilege_oid(void)
{
	look_up();
	return tables.privilege;
}

Oid
strm_default_privilege_oid(void)
{
	look_up();
	return tables.default_privilege;
}

static const char *
table_name(Oid oid)
{
	return oid == tables.catalog ? "catalog" : oid == tables.privilege ? "privilege" :
		oid == tables.default_privilege ? "default_privilege" : oid == tables.in_use ? "in_use" : "journal_0";
}

Relation
strm_table_open(Oid oid, LOCKMODE mode)
{
	Relation	rel = try_table_open(oid, mode);

	if (rel == NULL)
		raise_missing(table_name(oid));
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"stream.%s\" is unlogged", table_name(oid)),
				 errdetail("A crash would lose what it holds."),
				 errhint("Use ALTER TABLE stream.%s SET LOGGED.", table_name(oid))));
	return rel;
}

bool
strm_table_filled(Oid oid, bool by_others)
{
	Relation	rel = strm_table_open(oid, AccessShareLock);
	TableScanDesc scan = table_beginscan(rel, SnapshotSelf, 0, NULL);
	HeapTuple	tuple;

	do
		tuple = heap_getnext(scan, ForwardScanDirection);
	while (tuple != NULL && by_others &&
		   TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)));
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	return tuple != NULL;
}

bool
journal_in_use(void)
{
	look_up();
	return strm_table_filled(tables.in_use, false);
}

void
journal_mark_in_use(void)
{
	Relation	rel;
	Datum		values[1] = {TimestampTzGetDatum(GetCurrentTimestamp())};
	bool		nulls[1] = {false};
	HeapTuple	tuple;

	look_up();
	rel = strm_table_open(tables.in_use, RowExclusiveLock);
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	heap_insert(rel, tuple, GetCurrentCommandId(true), 0, NULL);
	heap_freetuple(tuple);
	table_close(rel, NoLock);
}

void
strm_catalog_insert(int64 id, const char *name, uint32 len, Oid owner,
					uint32 node_max_bytes, uint32 node_max_entries)
{
	Relation	rel = strm_table_open(strm_catalog_oid(), RowExclusiveLock);
	Datum		values[Natts_catalog];
	bool		nulls[Natts_catalog] = {false};
	HeapTuple	tuple;

	values[Anum_catalog_id - 1] = Int64GetDatum(id);
	values[Anum_catalog_name - 1] = PointerGetDatum(cstring_to_text_with_len(name, len));
	values[Anum_catalog_owner - 1] = ObjectIdGetDatum(owner);
	values[Anum_catalog_node_max_bytes - 1] = Int32GetDatum((int32) node_max_bytes);
	values[Anum_catalog_node_max_entries - 1] = Int32GetDatum((int32) node_max_entries);
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
	table_close(rel, NoLock);
}

/* SnapshotSelf: finds what the transaction itself has inserted, and takes no
 * predicate locks; nobody else changes the row of a stream that we drop,
 * rename or give to another. */
static SysScanDesc
catalog_scan(Relation rel, int64 id)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_catalog_id, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
	return systable_beginscan(rel, PrimaryKeyIndex(rel), true, SnapshotSelf, 1, &key);
}

void
strm_catalog_delete(int64 id)
{
	Relation	rel = strm_table_open(strm_catalog_oid(), RowExclusiveLock);
	SysScanDesc scan = catalog_scan(rel, id);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		CatalogTupleDelete(rel, &tuple->t_self);
	systable_endscan(scan);
	table_close(rel, NoLock);
}

void
strm_catalog_change(int64 id, const char *name, uint32 len, Oid owner)
{
	Relation	rel = strm_table_open(strm_catalog_oid(), RowExclusiveLock);
	SysScanDesc scan = catalog_scan(rel, id);
	HeapTuple	tuple = systable_getnext(scan);

	if (HeapTupleIsValid(tuple))
	{
		Datum		values[Natts_catalog] = {0};
		bool		nulls[Natts_catalog] = {false};
		bool		replace[Natts_catalog] = {false};
		HeapTuple	changed;

		values[Anum_catalog_owner - 1] = ObjectIdGetDatum(owner);
		replace[Anum_catalog_owner - 1] = OidIsValid(owner);
		if (name != NULL)
			values[Anum_catalog_name - 1] = PointerGetDatum(cstring_to_text_with_len(name, len));
		replace[Anum_catalog_name - 1] = name != NULL;
		changed = heap_modify_tuple(tuple, RelationGetDescr(rel), values, nulls, replace);
		CatalogTupleUpdate(rel, &tuple->t_self, changed);
		heap_freetuple(changed);
	}
	systable_endscan(scan);
	table_close(rel, NoLock);
}
