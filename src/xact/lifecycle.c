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

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

#include "journal/journal.h"
#include "store/listen.h"
#include "xact/xact.h"

static object_access_hook_type prev_hook;
static ProcessUtility_hook_type prev_utility;

/* Dropped in this transaction, and not taken back by ROLLBACK TO; a catalog in
 * another database is not heard of. */
typedef struct Drop
{
	struct Drop *next;
	Oid			database;
	Oid			catalog;		/* InvalidOid: all of the database */
	SubTransactionId sub;
} Drop;

static Drop *drops;				/* last first; in the transaction's memory */

static void
note_drop(Oid database, Oid catalog)
{
	Drop	   *d = MemoryContextAlloc(TopTransactionContext, sizeof(Drop));

	*d = (Drop) {drops, database, catalog, GetCurrentSubTransactionId()};
	drops = d;
}

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
		note_drop(object, InvalidOid);
		strm_listen_hold(object);
	}
	else if (class == RelationRelationId && strm_registry_has(MyDatabaseId, object))
		note_drop(MyDatabaseId, object);
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
	for (Drop *d = drops; committed && d != NULL; d = d->next)
		strm_registry_discard(d->database, d->catalog);
	if (committed && drops != NULL)
		strm_wake_flush();
	drops = NULL;
}

bool
strm_lifecycle_dropped(void)
{
	return drops != NULL;
}

void
strm_lifecycle_sub_commit(SubTransactionId sub, SubTransactionId parent)
{
	for (Drop *d = drops; d != NULL && d->sub == sub; d = d->next)
		d->sub = parent;
}

void
strm_lifecycle_sub_abort(SubTransactionId sub)
{
	while (drops != NULL && drops->sub == sub)
		drops = drops->next;
}

void
strm_lifecycle_init(void)
{
	prev_hook = object_access_hook;
	object_access_hook = hook;
	prev_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
}
