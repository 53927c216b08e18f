/*
 * lifecycle.c
 *	  Commands that concern streams and their workers without naming them.
 *
 * DROP EXTENSION and DROP DATABASE: streams go from memory too.  The server
 * tells of a drop while its transaction is running; what was told is carried
 * out when that commits.  Nobody else can be using the streams for long then:
 * who has uncommitted work in them fails at commit, since the tables are gone,
 * and lets go of the places.
 *
 * DROP DATABASE ... WITH (FORCE), which ends the sessions for whose sake there
 * is a worker, and CREATE DATABASE with the session's own database as template,
 * which minds other sessions only: the worker is held off until they are done.
 *
 * DISCARD ALL ends what the session listens to, as it does UNLISTEN *.
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "journal/journal.h"
#include "store/listen.h"
#include "xact/xact.h"

static object_access_hook_type prev_hook;
static ProcessUtility_hook_type prev_utility;

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
	{
		dropped_database = object;
		strm_listen_hold(object);
	}
	else if (class == RelationRelationId && strm_registry_has(MyDatabaseId, object))
		dropped_catalog = object;
}

static bool
copies_own_database(const CreatedbStmt *stmt)
{
	const char *template = "template1";
	ListCell   *lc;

	foreach(lc, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "template") == 0 && option->arg != NULL)
			template = defGetString(option);
	}
	return strcmp(template, get_database_name(MyDatabaseId)) == 0;
}

static void
utility(PlannedStmt *pstmt, const char *query, bool read_only_tree, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *env, DestReceiver *dest, QueryCompletion *qc)
{
	Node	   *stmt = pstmt->utilityStmt;
	bool		discard = IsA(stmt, DiscardStmt) && ((DiscardStmt *) stmt)->target == DISCARD_ALL;

	if (strm_shmem_ready() && IsA(stmt, CreatedbStmt) && copies_own_database((CreatedbStmt *) stmt))
		strm_listen_hold(MyDatabaseId);
	if (prev_utility)
		prev_utility(pstmt, query, read_only_tree, context, params, env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params, env, dest, qc);
	if (discard)
		strm_unlisten_all();
}

void
strm_lifecycle_finish(bool committed)
{
	strm_listen_unhold();
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
	prev_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
