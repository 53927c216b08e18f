/*
 * access.c
 *	  From a name in a call to a stream this transaction may use.
 *
 * Whether he may is asked of the rights as they are merged, with what the
 * transaction itself has changed of them (grant.c); making a stream needs
 * CREATE on schema stream.  Rights that a snapshot sees changed are merged
 * before they are asked.  For repeated adds the answer is kept in the Pend
 * with the version of the rights it was given by.
 *
 * A name can lead elsewhere between finding the place and locking it (the
 * stream was dropped, its place taken); then it is looked up again.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "journal/journal.h"
#include "xact/xact.h"

int			strm_node_max_bytes = 4096;
int			strm_node_max_entries = 100;

void
strm_raise_missing(const char *name, uint32 len)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("stream \"%.*s\" does not exist", (int) len, name)));
}

void
strm_raise_exists(const char *name, uint32 len)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("stream \"%.*s\" already exists", (int) len, name)));
}

static void
raise_denied(const char *name, uint32 len)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for stream \"%.*s\"", (int) len, name)));
}

void
strm_check_broken(SharedStream *ss)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the state of a stream in memory is damaged"),
			 errdetail("A committed change to stream number %lld could not be carried out.",
					   (long long) ss->id),
			 errhint("Restart the server to load the stream from its tables again.")));
}

/* The database's streams as this backend used them last. */
static Db  *used_db;

Db *
strm_db_loaded(void)
{
	return used_db != NULL && pg_atomic_read_u32(&used_db->load) == LOAD_DONE ? used_db : NULL;
}

Db *
strm_use(const char *command, bool write)
{
	static bool ready;
	static Db  *pends_db;		/* that of the pending lists */
	Db		   *db = used_db;
	Oid			catalog;

	if (!strm_shmem_ready())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("stream must be loaded at server start"),
				 errhint("Add stream to shared_preload_libraries and restart the server.")));
	if (write)
	{
		PreventCommandIfReadOnly(command);
		PreventCommandIfParallelMode(command);
		PreventCommandDuringRecovery(command);
	}
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s is not supported on a standby server", command),
				 errhint("Streams are read and written on the primary server.")));
	strm_check_sealed();
	if (!ready)
	{
		strm_wait_init();
		ready = true;
	}
	catalog = strm_catalog_oid();
	if (db == NULL || db->catalog != catalog || db->dboid != MyDatabaseId)
		db = used_db = strm_db_get(MyDatabaseId, catalog);
	/* not asked of their streams: who has no part in one does not keep its place,
	 * which may hold a stream of another database by now */
	if (pend_first() == NULL)
		pends_db = db;
	if (pends_db != db)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension was made anew in a transaction that had used its streams"),
				 errhint("Use streams in another transaction.")));
	if (pg_atomic_read_u32(&db->load) != LOAD_DONE)
		journal_load(db);
	if (pg_atomic_read_u32(&db->load) == LOAD_GONE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension was dropped meanwhile")));
	return db;
}

/*
 * Where the name leads for this transaction; false: nowhere.  What it has made
 * the name mean stays so: it has the holder of the name to itself.
 */
static bool
resolve(Target *t)
{
	const NameChange *c = names_find(t->name, t->len);

	t->ss = NULL;
	t->pend = NULL;
	t->ours = c != NULL;
	if (c == NULL)
	{
		t->ss = strm_registry_find(t->db, t->name, t->len, &t->id);
		if (t->ss != NULL)
			t->pend = pend_find(t->ss, t->id);
	}
	else if (c->id != 0 && (t->pend = pend_find_id(c->id)) != NULL)
	{
		t->ss = t->pend->ss;
		t->id = t->pend->id;
	}
	return t->ss != NULL;
}

/* Does the stream, locked, bear the name asked for, or are we renaming it? */
static bool
bears_name(const Target *t)
{
	return t->ours || strm_bears_name(t->ss, t->name, t->len);
}

/* The rights of the stream that find found, as committed. */
static Rights found;

/* Find the stream and say in what state it is; false if the name leads nowhere. */
static bool
find(Target *t, Snapshot snap, StreamState *state)
{
	for (;;)
	{
		bool		named;
		bool		broken;
		bool		fits;
		bool		gone = true;

		if (!resolve(t))
			return false;
		if (strm_look(t->ss, t->id, LW_SHARED,
					  snap != NULL || pg_atomic_read_u32(&t->ss->regrants) == 0 ? snap : GetActiveSnapshot()))
		{
			*state = t->ss->state;
			named = bears_name(t);
			fits = strm_rights_copy(t->ss, &found);
			broken = t->ss->broken;
			t->node_max_bytes = t->ss->stream.node_max_bytes;
			t->node_max_entries = t->ss->stream.node_max_entries;
			t->provisional = *state == SS_PROVISIONAL;
			strm_unlock(t->ss);
			if (broken)
				strm_check_broken(t->ss);
			if (!fits)
			{
				strm_rights_room(&found, found.n);
				gone = false;
			}
			else if (named && (*state == SS_LIVE || *state == SS_PROVISIONAL))
				return true;
		}
		if (gone && t->ours)
		{
			/* we had begun to make it under a freed name, and it came to nothing */
			t->ss = NULL;
			t->pend = NULL;
			return false;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static void
target_init(Target *t, Db *db, const char *name, uint32 len, uint32 need)
{
	memset(t, 0, sizeof(*t));
	t->db = db;
	t->name = name;
	t->len = len;
	t->need = need;
}

/*
 * May the caller do what he asks for with the stream just found?  A
 * provisional one belongs to the role that makes it, or joins others who do:
 * should another turn out to be its owner, that is checked at commit.
 */
static void
check_rights(Target *t)
{
	if (t->provisional)
	{
		found.owner = t->pend != NULL && OidIsValid(t->pend->made_by) ? t->pend->made_by : GetUserId();
		found.n = 0;
	}
	if (t->pend != NULL)
		pend_rights(t->pend, &found);
	t->owner = found.owner;
	if (!strm_allowed(GetUserId(), &found, t->need))
		raise_denied(t->name, t->len);
}

/* Found, seen by this transaction, and allowed? */
static bool
open_existing(Target *t, Snapshot snap)
{
	StreamState state;

	if (!find(t, snap, &state) ||
		(state == SS_PROVISIONAL && (t->pend == NULL || pend_is_empty(t->pend))))
	{
		t->ss = NULL;
		return false;
	}
	check_rights(t);
	return true;
}

/* The Pend of a stream, found and checked just now. */
static void
take_pend(Target *t)
{
	Pend	   *p = pend_get(t->ss, t->id);

	if (t->provisional)
	{
		if (!OidIsValid(p->made_by))
			p->made_by = GetUserId();
	}
	else
	{
		p->live = true;
		/* what it did before the owner was known, it may have done */
		if (p->made_by == GetUserId() && (pend_needs(p) & ~t->need) == 0)
			p->made_by = InvalidOid;
	}
	if (p->checked != GetUserId() || p->checked_version != found.version)
		p->checked_for = 0;
	p->checked_for |= t->need;
	p->checked = GetUserId();
	p->checked_version = found.version;
	t->pend = p;
}

bool
strm_open_read(Db *db, const char *name, uint32 len, uint32 need, Target *t)
{
	target_init(t, db, name, len, need);
	return open_existing(t, GetActiveSnapshot());
}

bool
strm_open_write(Db *db, const char *name, uint32 len, uint32 need, Target *t)
{
	target_init(t, db, name, len, need);
	if (!open_existing(t, GetActiveSnapshot()))
		return false;
	take_pend(t);
	return true;
}

/* Make a provisional stream for t, whose name led nowhere this transaction sees. */
static void
make_provisional(Target *t)
{
	const NameChange *c;
	Pend	   *holder;
	int64		id;

	if (NamespaceAclCheck(strm_schema_oid(), GetUserId(), ACL_CREATE) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to create stream \"%.*s\"", (int) t->len, t->name),
				 errhint("Creating a stream needs the CREATE privilege on schema stream.")));

	id = (int64) pg_atomic_fetch_add_u64(&t->db->next_stream_id, 1);
	/* under a name that this transaction has freed it waits to inherit it */
	c = names_find(t->name, t->len);
	holder = c != NULL ? c->holder : NULL;
	t->ss = strm_registry_make(t->db, t->name, t->len, id,
							   strm_node_max_bytes, strm_node_max_entries, holder == NULL, &t->id);
	if (holder != NULL)
	{
		(void) pend_get(t->ss, t->id);
		names_change(t->name, t->len, holder, t->id);
	}
}

bool
strm_open_add(Db *db, const char *name, uint32 len, bool make, uint32 need, Target *t)
{
	target_init(t, db, name, len, need);

	/* the usual case: something was done to it before, by the same role, and
	 * nobody has changed the rights since */
	if (resolve(t) && !t->ours && t->pend != NULL && t->pend->checked == GetUserId() &&
		(need & ~t->pend->checked_for) == 0 &&
		t->pend->checked_version == pg_atomic_read_u32(&t->ss->rights_version) &&
		pg_atomic_read_u32(&t->ss->regrants) == 0 &&
		(!OidIsValid(t->pend->made_by) || t->pend->made_by == GetUserId()))
		return true;

	for (;;)
	{
		StreamState state;

		if (!find(t, make ? NULL : GetActiveSnapshot(), &state))
		{
			if (!make)
				return false;
			make_provisional(t);
			continue;
		}
		if (state == SS_PROVISIONAL && t->pend == NULL)
		{
			/* others are making it: join them, or see nothing */
			if (!make)
				return false;
			if (NamespaceAclCheck(strm_schema_oid(), GetUserId(), ACL_CREATE) != ACLCHECK_OK)
				raise_denied(name, len);
		}
		check_rights(t);
		take_pend(t);
		return true;
	}
}

bool
strm_op_lock(Target *t, Pend *p, Snapshot snap)
{
	for (;;)
	{
		TransactionId xid;
		bool		broken;

		if (!strm_look(p->ss, p->id, LW_EXCLUSIVE, snap))
			return false;
		strm_merge(p->ss);
		if (p->ss->id != p->id || p->ss->state == SS_DROPPED || !bears_name(t))
		{
			strm_unlock(p->ss);
			return false;
		}
		broken = p->ss->broken;
		xid = strm_part_other(p->ss, p->part, p->part != 0 ? PART_EXCLUSIVE : PART_CLOSING);
		if (!broken && xid == InvalidTransactionId)
		{
			if (pend_part(p) != 0)
				return true;
			strm_part_settle(p->ss);
			strm_unlock(p->ss);
			strm_raise_full();
		}
		pend_let_go(p);
		strm_unlock(p->ss);
		if (broken)
			strm_check_broken(p->ss);
		t->late = !strm_wait_xact(xid, t->until);
		if (t->late)
			return false;
	}
}
