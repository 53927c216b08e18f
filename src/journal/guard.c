/*
 * guard.c
 *	  Keeping other hands off the extension's tables.
 *
 * The library writes rows without firing triggers, so a trigger that fires is
 * somebody else's write.  It is refused, since what is in memory would no
 * longer be what the tables say: except in a database whose streams have not
 * been used since CREATE EXTENSION, where pg_restore fills the tables and the
 * first use loads them (a dashboard that looked at the empty views is no use;
 * writing is, also after a restart: stream.in_use).
 * Rows that come by logical replication are passed over: the subscriber's
 * streams are its own.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "miscadmin.h"

#include "journal/journal.h"

/*
 * Nothing was ever loaded or written: what is put into the tables now is
 * loaded by the first use after, which the lock makes wait until all of it is
 * there.  Who has begun to write before he could know finds at his commit that
 * the streams have to be loaded.
 */
static bool
still_unused(Db *db)
{
	StreamRef  *refs;
	bool		unused;

	journal_hold_load(db);
	if (pg_atomic_read_u32(&db->in_use) || journal_in_use())
		return false;
	if (pg_atomic_read_u32(&db->load) != LOAD_DONE)
		return true;
	if (strm_registry_list(db, &refs) > 0)
		return false;
	LWLockAcquire(&db->sequencer, LW_EXCLUSIVE);
	unused = db->next_number == 1;
	if (unused)
		pg_atomic_write_u32(&db->load, LOAD_NONE);
	LWLockRelease(&db->sequencer);
	return unused;
}

PG_FUNCTION_INFO_V1(stream_guard);
Datum
stream_guard(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	HeapTuple	row = NULL;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("guard() must be called as a trigger")));
	if (TRIGGER_FIRED_FOR_ROW(data->tg_event))
	{
		if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
			return PointerGetDatum(NULL);
		row = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
	}
	if (strm_shmem_ready() &&
		!still_unused(strm_db_get(MyDatabaseId, strm_catalog_oid())))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"stream.%s\" cannot be written to by hand",
						RelationGetRelationName(data->tg_relation)),
				 errdetail("The streams of this database are in use."),
				 errhint("Restore into a database where streams have not been used since CREATE EXTENSION.")));
	return PointerGetDatum(row);
}
