/*
 * lifecycle.c
 *	  DROP EXTENSION and DROP DATABASE: streams go from memory too.
 *
 * The server tells of a drop while its transaction is running; what was told
 * is carried out when that commits.  Nobody else can be using the streams for
 * long then: who has uncommitted work in them fails at commit, since the
 * tables are gone, and lets go of the places.
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"

#include "journal/journal.h"
#include "xact/xact.h"

static object_access_hook_type prev_hook;

/* Dropped in this transaction; a catalog in another database is not heard of. */
static Oid	dropped_catalog;
static Oid	dropped_database;

static void
hook(ObjectAccessType access, Oid class, Oid object, int subid, void *arg)
{
	if (prev_hook)
		prev_hook(access, class, object, subid, arg);
	if (access != OAT_DROP || subid != 0 || !strm_shmem_ready())
		return;
	strm_wait_init();			/* we shall wake who waits there */
	if (class == DatabaseRelationId)
		dropped_database = object;
	else if (class == RelationRelationId && strm_registry_has(MyDatabaseId, object))
		dropped_catalog = object;
}

void
strm_lifecycle_finish(bool committed)
{
	if (committed && OidIsValid(dropped_catalog))
		strm_registry_discard(MyDatabaseId, dropped_catalog);
	if (committed && OidIsValid(dropped_database))
		strm_registry_discard(dropped_database, InvalidOid);
	dropped_catalog = dropped_database = InvalidOid;
}

void
strm_lifecycle_init(void)
{
	prev_hook = object_access_hook;
	object_access_hook = hook;
}
