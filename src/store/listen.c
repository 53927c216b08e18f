/*
 * listen.c
 *	  Who listens to which streams, and what the worker has to tell them.
 *
 * Model
 *	1. A session registers names of streams of its database (xlisten), which
 *	   need not exist.  It is registered until it takes that back or ends, so
 *	   nothing is left behind by a client that went away.
 *	2. When entries have become readable in a stream - they were merged, or an
 *	   older reservation below them has gone - its name, if somebody listens to
 *	   it, is put at the end of its database's queue, once however often that
 *	   happens before it has been said.
 *	3. A background worker of that database (worker/signals.c) says what is in
 *	   the queue.  It takes a name off only when the NOTIFY has committed, so
 *	   that its successor says what it could not.
 *	4. The worker is there while a session of the database is registered: where
 *	   it is in the way of a command that wants the database for itself, such a
 *	   session is as well, and it leaves with the last of them.  Two commands
 *	   do not mind the sessions, and have the worker held off (strm_listen_hold):
 *	   DROP DATABASE with FORCE, and a session's copy of its own database.
 *	5. It is started by who registers, or by who has something for the queue
 *	   and sees that there is none.  Should it end on account of an error or a
 *	   signal, the postmaster starts it again a second later.
 *
 * Names are kept by database, not by catalog: they outlive DROP EXTENSION, as
 * LISTEN does.  Which streams are listened to is remembered in the streams,
 * with the generation in which that was found out: where nobody listens, it
 * costs a merge one comparison.
 *
 * Locking: all shared here is protected by the listen lock, which may be taken
 * with a stream's lock held; what a session has registered is its own.
 *
 * Left out: rights.  Who may read a stream is asked at xlisten; a channel is
 * open to everybody in the database, and tells no more than ids.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "store/listen.h"

#define RESTART_SECONDS		1	/* after which the postmaster starts a worker that failed */
#define RETRY_MS			1000	/* after which another is asked for where none was to be had */
#define LOST_MS				10000	/* after which one that was asked for is given up */
#define LEAVE_MS			5000	/* for how long we wait for it to leave */

/* A name that sessions of a database are registered for. */
typedef struct Listened
{
	EngHandle	next;			/* in the queue */
	EngHandle	prev;
	bool		queued;
	uint32		sessions;
	uint64		mark;			/* number of the newest reason to say it */
	StreamId	newest;			/* last id of the stream then */
	uint32		len;
	char		name[FLEXIBLE_ARRAY_MEMBER];
} Listened;

typedef enum WorkerState
{
	WORKER_NONE,
	WORKER_ASKED,				/* the postmaster is to start it */
	WORKER_THERE				/* its process runs */
} WorkerState;

/* A database that somebody listens in. */
typedef struct ListenDb
{
	EngHandle	next;			/* list of all */
	Oid			dboid;
	uint32		sessions;		/* that are registered for something */
	uint32		names;
	uint32		holds;
	EngHandle	first;			/* queue of names to be said */
	EngHandle	last;
	WorkerState worker;
	int			procno;			/* of the worker, if there */
	TimestampTz asked;			/* when one was asked for last */
} ListenDb;

typedef struct ListenShared
{
	pg_atomic_uint64 generation;	/* grows with every new name; written under the lock */
	Rax			names;			/* (database, name) -> Listened */
	EngHandle	dbs;			/* list of ListenDb */
	uint64		mark;			/* the newest */
	ConditionVariable left;		/* a worker has left */
} ListenShared;

static ListenShared *Shared;

/* The names this session is registered for. */
typedef struct OwnName
{
	uint32		len;
	char		name[STREAM_NAME_MAX];	/* zero after len: the whole is the key */
} OwnName;

static HTAB *own;
static Oid	held;				/* database whose worker we hold off */
static Oid	launch_for;			/* database that wants a worker: see strm_listen_flush */

Size
strm_listen_size(void)
{
	return MAXALIGN(sizeof(ListenShared));
}

void
strm_listen_init(void *place, bool found)
{
	Shared = place;
	if (found)
		return;
	memset(Shared, 0, sizeof(ListenShared));
	pg_atomic_init_u64(&Shared->generation, 1);
	ConditionVariableInit(&Shared->left);
}

/* --- channels --- */

/* '.' and '#' tell the two forms apart, so that no name stands in the other's. */
#define CHANNEL_PREFIX		"stream."
#define CHANNEL_DIGEST		"stream#"
#define CHANNEL_PREFIX_LEN	7

StaticAssertDecl(CHANNEL_SIZE <= NAMEDATALEN, "a channel's name must be one that LISTEN takes");

void
strm_channel(const char *name, uint32 len, char *channel)
{
	uint8		hash[PG_SHA256_DIGEST_LENGTH];
	pg_cryptohash_ctx *ctx;

	if (CHANNEL_PREFIX_LEN + len < CHANNEL_SIZE)
	{
		memcpy(channel, CHANNEL_PREFIX, CHANNEL_PREFIX_LEN);
		memcpy(channel + CHANNEL_PREFIX_LEN, name, len);
		channel[CHANNEL_PREFIX_LEN + len] = '\0';
		return;
	}
	ctx = pg_cryptohash_create(PG_SHA256);
	if (ctx == NULL || pg_cryptohash_init(ctx) < 0 ||
		pg_cryptohash_update(ctx, (const uint8 *) name, len) < 0 ||
		pg_cryptohash_final(ctx, hash, sizeof(hash)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not compute the channel of a stream")));
	pg_cryptohash_free(ctx);
	/* as many digits as there is room for: 224 bits */
	memcpy(channel, CHANNEL_DIGEST, CHANNEL_PREFIX_LEN);
	for (int i = 0; CHANNEL_PREFIX_LEN + 2 * i + 2 < CHANNEL_SIZE; i++)
		snprintf(channel + CHANNEL_PREFIX_LEN + 2 * i, 3, "%02x", hash[i]);
}

/* --- finding; lock held --- */

static EngHandle
db_find(Oid dboid)
{
	EngHandle	h = Shared->dbs;

	while (h != 0 && STRM_PTR(ListenDb, h)->dboid != dboid)
		h = STRM_PTR(ListenDb, h)->next;
	return h;
}

static ListenDb *
db_of(Oid dboid)
{
	EngHandle	h = db_find(dboid);

	return h != 0 ? STRM_PTR(ListenDb, h) : NULL;
}

#define NAME_KEY_MAX	(sizeof(Oid) + STREAM_NAME_MAX)

static size_t
name_key(uint8 *key, Oid dboid, const char *name, uint32 len)
{
	memcpy(key, &dboid, sizeof(Oid));
	memcpy(key + sizeof(Oid), name, len);
	return sizeof(Oid) + len;
}

static EngHandle
name_find(Oid dboid, const char *name, uint32 len)
{
	uint8		key[NAME_KEY_MAX];
	uint64		h;

	return rax_find(&StrmArena, &Shared->names, key, name_key(key, dboid, name, len), &h) ? h : 0;
}

/* --- the queue; lock held exclusive --- */

static void
queue_leave(ListenDb *db, Listened *l)
{
	if (!l->queued)
		return;
	if (l->prev != 0)
		STRM_PTR(Listened, l->prev)->next = l->next;
	else
		db->first = l->next;
	if (l->next != 0)
		STRM_PTR(Listened, l->next)->prev = l->prev;
	else
		db->last = l->prev;
	l->queued = false;
}

static void
queue_join(ListenDb *db, EngHandle h)
{
	Listened   *l = STRM_PTR(Listened, h);

	l->next = 0;
	l->prev = db->last;
	if (db->last != 0)
		STRM_PTR(Listened, db->last)->next = h;
	else
		db->first = h;
	db->last = h;
	l->queued = true;
}

/* --- the worker, seen from outside --- */

/* Should the caller ask for a worker, once he has let go of the lock?  Lock
 * held exclusive.  `patient`: not right after that was in vain. */
static bool
worker_lacks(ListenDb *db, bool patient)
{
	TimestampTz now;
	int			wait_ms;

	if (db->worker == WORKER_THERE || db->sessions == 0 || db->holds > 0 ||
		!IsUnderPostmaster || IsBinaryUpgrade)
		return false;
	now = GetCurrentTimestamp();
	wait_ms = db->worker == WORKER_ASKED ? LOST_MS : patient ? RETRY_MS : 0;
	if (wait_ms > 0 && !TimestampDifferenceExceeds(db->asked, now, wait_ms))
		return false;
	db->worker = WORKER_ASKED;
	db->asked = now;
	return true;
}

/* Ask for it.  Raises nothing: the server checks what is the same each time. */
static bool
worker_ask(Oid dboid)
{
	BackgroundWorker worker;
	ListenDb   *db;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = RESTART_SECONDS;
	worker.bgw_main_arg = ObjectIdGetDatum(dboid);
	strlcpy(worker.bgw_library_name, "stream", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "strm_signals_main", sizeof(worker.bgw_function_name));
	strlcpy(worker.bgw_type, "stream signals", sizeof(worker.bgw_type));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name), "stream signals of database %u", dboid);
	if (RegisterDynamicBackgroundWorker(&worker, NULL))
		return true;

	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(dboid);
	if (db != NULL && db->worker == WORKER_ASKED)
		db->worker = WORKER_NONE;
	LWLockRelease(strm_listen_lock());
	return false;
}

static void
worker_wake(const ListenDb *db)
{
	if (db->worker == WORKER_THERE)
		strm_wake_proc(db->procno);
}

/* What nobody needs any more.  Lock held exclusive. */
static void
db_settle(ListenDb *db)
{
	EngHandle  *link = &Shared->dbs;
	EngHandle	h;

	if (db->sessions > 0 || db->names > 0 || db->holds > 0 || db->worker != WORKER_NONE)
		return;
	while (STRM_PTR(ListenDb, *link) != db)
		link = &STRM_PTR(ListenDb, *link)->next;
	h = *link;
	*link = db->next;
	arena_free(&StrmArena, h);
}

/* --- registering --- */

/* The record of a name, made if need be; 0: no memory.  Lock held exclusive. */
static EngHandle
name_get(Oid dboid, const char *name, uint32 len)
{
	EngHandle	dbh = db_find(dboid);
	EngHandle	h = name_find(dboid, name, len);
	bool		new_db = dbh == 0;
	uint8		key[NAME_KEY_MAX];
	Listened   *l;

	if (h != 0)
		return h;
	if (new_db)
		dbh = arena_alloc(&StrmArena, sizeof(ListenDb), ARENA_NORMAL);
	h = arena_alloc(&StrmArena, offsetof(Listened, name) + len, ARENA_NORMAL);
	if (dbh == 0 || h == 0 ||
		rax_insert(&StrmArena, &Shared->names, key, name_key(key, dboid, name, len), h, NULL,
				   ARENA_NORMAL) != ENG_OK)
	{
		if (new_db && dbh != 0)
			arena_free(&StrmArena, dbh);
		if (h != 0)
			arena_free(&StrmArena, h);
		return 0;
	}
	if (new_db)
	{
		ListenDb   *db = STRM_PTR(ListenDb, dbh);

		memset(db, 0, sizeof(ListenDb));
		db->dboid = dboid;
		db->next = Shared->dbs;
		Shared->dbs = dbh;
	}
	STRM_PTR(ListenDb, dbh)->names++;
	l = STRM_PTR(Listened, h);
	memset(l, 0, sizeof(Listened));
	l->len = len;
	memcpy(l->name, name, len);
	pg_atomic_fetch_add_u64(&Shared->generation, 1);
	return h;
}

/* One session less for a name.  Lock held exclusive. */
static void
name_leave(ListenDb *db, const char *name, uint32 len)
{
	EngHandle	h = name_find(db->dboid, name, len);
	Listened   *l = STRM_PTR(Listened, h);
	uint8		key[NAME_KEY_MAX];

	if (--l->sessions > 0)
		return;
	queue_leave(db, l);
	(void) rax_remove(&StrmArena, &Shared->names, key, name_key(key, db->dboid, name, len), NULL);
	arena_free(&StrmArena, h);
	db->names--;
}

/* The session is registered for nothing any more.  Lock held exclusive. */
static void
session_leave(ListenDb *db)
{
	if (--db->sessions == 0)
		worker_wake(db);
	db_settle(db);
}

static void
at_exit(int code, Datum arg)
{
	strm_unlisten_all();
}

static void
session_prepare(void)
{
	HASHCTL		ctl = {.keysize = sizeof(OwnName), .entrysize = sizeof(OwnName), .hcxt = TopMemoryContext};

	if (own != NULL)
		return;
	strm_wait_init();
	own = hash_create("stream names listened to", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	/* after the last transaction has been aborted, before the process counts as gone */
	on_shmem_exit(at_exit, (Datum) 0);
}

static void
own_key(OwnName *key, const char *name, uint32 len)
{
	memset(key, 0, sizeof(*key));
	key->len = len;
	memcpy(key->name, name, len);
}

void
strm_listen(const char *name, uint32 len)
{
	OwnName		key;
	bool		known;
	bool		full = false;
	bool		ask = false;

	session_prepare();
	own_key(&key, name, len);
	(void) hash_search(own, &key, HASH_ENTER, &known);
	if (!known && hash_get_num_entries(own) > LISTEN_NAMES_MAX)
	{
		(void) hash_search(own, &key, HASH_REMOVE, NULL);
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("session listens to too many streams"),
				 errdetail("The names, which are in stream.memory, can be %d.", LISTEN_NAMES_MAX),
				 errhint("Use xunlisten for what is not needed any more, or another session.")));
	}

	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	if (!known)
	{
		EngHandle	h = name_get(MyDatabaseId, name, len);

		if (h == 0)
			full = true;
		else
		{
			STRM_PTR(Listened, h)->sessions++;
			if (hash_get_num_entries(own) == 1)
				db_of(MyDatabaseId)->sessions++;
		}
	}
	if (!full)
		ask = worker_lacks(db_of(MyDatabaseId), false);
	LWLockRelease(strm_listen_lock());
	if (full)
	{
		(void) hash_search(own, &key, HASH_REMOVE, NULL);
		strm_raise_full();
	}
	if (ask && !worker_ask(MyDatabaseId))
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("there is no background worker to send notifications"),
				 errdetail("With the next entries that are added, one is asked for again."),
				 errhint("Raise max_worker_processes.")));
}

void
strm_unlisten(const char *name, uint32 len)
{
	OwnName		key;
	ListenDb   *db;

	if (own == NULL)
		return;
	own_key(&key, name, len);
	if (hash_search(own, &key, HASH_REMOVE, NULL) == NULL)
		return;
	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(MyDatabaseId);
	name_leave(db, key.name, key.len);
	if (hash_get_num_entries(own) == 0)
		session_leave(db);
	LWLockRelease(strm_listen_lock());
	strm_wake_flush();
}

void
strm_unlisten_all(void)
{
	HASH_SEQ_STATUS seq;
	OwnName    *n;

	if (own == NULL)
		return;
	hash_seq_init(&seq, own);
	while ((n = hash_seq_search(&seq)) != NULL)
		strm_unlisten(n->name, n->len);
}

/* --- what there is to say --- */

void
strm_listen_note(SharedStream *ss)
{
	uint64		generation = pg_atomic_read_u64(&Shared->generation);
	Oid			dboid;
	EngHandle	h;

	if (ss->listen_generation == generation && !ss->listened)
		return;
	dboid = STRM_PTR(Db, ss->db)->dboid;
	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	h = name_find(dboid, STRM_PTR(char, ss->name), ss->name_len);
	ss->listen_generation = pg_atomic_read_u64(&Shared->generation);
	ss->listened = h != 0;
	if (h != 0)
	{
		ListenDb   *db = db_of(dboid);
		Listened   *l = STRM_PTR(Listened, h);

		l->mark = ++Shared->mark;
		l->newest = ss->stream.last_id;
		if (!l->queued)
		{
			/* if there is more in it, the worker is at work */
			if (db->first == 0)
				worker_wake(db);
			queue_join(db, h);
		}
		if (worker_lacks(db, true))
			launch_for = dboid;
	}
	LWLockRelease(strm_listen_lock());
}

void
strm_listen_flush(void)
{
	Oid			dboid = launch_for;

	if (!OidIsValid(dboid))
		return;
	launch_for = InvalidOid;
	(void) worker_ask(dboid);
}

/* --- the database for oneself --- */

/* Does the server count the worker as a process in the database?  One that is
 * just starting and waits for our lock on it is none. */
static bool
worker_in_the_way(Oid dboid)
{
	ListenDb   *db;
	bool		there;

	LWLockAcquire(strm_listen_lock(), LW_SHARED);
	db = db_of(dboid);
	there = db != NULL && db->worker == WORKER_THERE &&
		ProcGlobal->allProcs[db->procno].databaseId == dboid;
	LWLockRelease(strm_listen_lock());
	return there;
}

void
strm_listen_hold(Oid dboid)
{
	static uint32 wait_event = 0;
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LEAVE_MS);
	ListenDb   *db;

	if (OidIsValid(held))
		return;
	if (wait_event == 0)
		wait_event = NamedWaitEvent("StreamWorkerLeave");
	strm_wait_init();
	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(dboid);
	if (db != NULL)
	{
		db->holds++;
		held = dboid;
		worker_wake(db);
	}
	LWLockRelease(strm_listen_lock());
	strm_wake_flush();
	if (db == NULL)
		return;

	ConditionVariablePrepareToSleep(&Shared->left);
	while (worker_in_the_way(dboid))
	{
		long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);

		/* should it not leave, the server says what is in the way */
		if (ms <= 0 || ConditionVariableTimedSleep(&Shared->left, ms, wait_event))
			break;
	}
	ConditionVariableCancelSleep();
}

void
strm_listen_unhold(void)
{
	Oid			dboid = held;
	ListenDb   *db;
	bool		ask;

	if (!OidIsValid(dboid))
		return;
	held = InvalidOid;
	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(dboid);
	db->holds--;
	ask = worker_lacks(db, false);
	db_settle(db);
	LWLockRelease(strm_listen_lock());
	if (ask)
		(void) worker_ask(dboid);
}

/* --- the worker itself --- */

static bool
db_wanted(const ListenDb *db)
{
	return db != NULL && db->sessions > 0 && db->holds == 0;
}

/*
 * The process ends.  If that was no fault it is gone for good, and should
 * somebody have registered since it decided to go, he gets another; else the
 * postmaster starts it again.
 */
static void
worker_end(int code, Datum arg)
{
	Oid			dboid = DatumGetObjectId(arg);
	ListenDb   *db;
	bool		ask = false;

	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(dboid);
	db->worker = code == 0 ? WORKER_NONE : WORKER_ASKED;
	db->asked = GetCurrentTimestamp();
	if (code == 0)
		ask = worker_lacks(db, false);
	db_settle(db);
	LWLockRelease(strm_listen_lock());
	ConditionVariableBroadcast(&Shared->left);
	if (ask)
		(void) worker_ask(dboid);
}

bool
strm_worker_begin(Oid dboid)
{
	ListenDb   *db;
	bool		begin;

	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	db = db_of(dboid);
	begin = db_wanted(db) && db->worker != WORKER_THERE;
	if (begin)
	{
		db->worker = WORKER_THERE;
		db->procno = MyProcNo();
	}
	else if (db != NULL && db->worker == WORKER_ASKED)
	{
		db->worker = WORKER_NONE;
		db_settle(db);
	}
	LWLockRelease(strm_listen_lock());
	/* before it connects, so that it ends after the connection does */
	if (begin)
		on_shmem_exit(worker_end, ObjectIdGetDatum(dboid));
	return begin;
}

bool
strm_worker_wanted(Oid dboid, bool *something)
{
	ListenDb   *db;
	bool		wanted;

	LWLockAcquire(strm_listen_lock(), LW_SHARED);
	db = db_of(dboid);
	wanted = db_wanted(db);
	*something = wanted && db->first != 0;
	LWLockRelease(strm_listen_lock());
	return wanted;
}

int
strm_signals_take(Oid dboid, Signal *signals, int cap)
{
	ListenDb   *db;
	int			n = 0;

	LWLockAcquire(strm_listen_lock(), LW_SHARED);
	db = db_of(dboid);
	for (EngHandle h = db != NULL ? db->first : 0; h != 0 && n < cap; h = STRM_PTR(Listened, h)->next)
	{
		Listened   *l = STRM_PTR(Listened, h);
		Signal	   *s = &signals[n++];

		s->mark = l->mark;
		s->newest = l->newest;
		s->len = l->len;
		memcpy(s->name, l->name, l->len);
	}
	LWLockRelease(strm_listen_lock());
	return n;
}

void
strm_signals_sent(Oid dboid, const Signal *signals, int n)
{
	LWLockAcquire(strm_listen_lock(), LW_EXCLUSIVE);
	for (int i = 0; i < n; i++)
	{
		EngHandle	h = name_find(dboid, signals[i].name, signals[i].len);
		Listened   *l = STRM_PTR(Listened, h);
		ListenDb   *db = db_of(dboid);

		if (h == 0 || !l->queued)
			continue;
		queue_leave(db, l);
		/* there was more meanwhile: behind the others */
		if (l->mark != signals[i].mark)
			queue_join(db, h);
	}
	LWLockRelease(strm_listen_lock());
}
