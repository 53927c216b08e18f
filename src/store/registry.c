/*
 * registry.c
 *	  From names to streams, and the places streams live in.
 *
 * The registry is one radix tree whose keys are (database, catalog, name), so
 * that the streams of a database come out in the order of their names.  A
 * name leads to at most one place.  A provisional stream is entered as soon
 * as a transaction begins to make it, so that another that adds to the same
 * missing stream joins in; while a stream is being dropped or renamed its name
 * still leads to it, and is passed on when that is merged: to another stream
 * of the same transaction, or to nowhere.  So a name can lead for a moment to
 * a stream whose own renaming is not merged yet: who finds a stream by its
 * name looks at it first, and then whether it bears the name.
 *
 * Every backend remembers where a few names led; the memory is void when the
 * registry's generation has moved.
 *
 * Locking: see store.h.  Left out: nothing here is durable (journal/catalog.c
 * keeps the rows), and nothing here knows about privileges.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "store/store.h"

#define KEY_PREFIX	8

static void
prefix_key(uint8 *key, Oid dboid, Oid catalog)
{
	uint32		a = pg_hton32(dboid);
	uint32		b = pg_hton32(catalog);

	memcpy(key, &a, 4);
	memcpy(key + 4, &b, 4);
}

static size_t
name_key(uint8 *key, const Db *db, const char *name, uint32 len)
{
	prefix_key(key, db->dboid, db->catalog);
	memcpy(key + KEY_PREFIX, name, len);
	return KEY_PREFIX + len;
}

/* --- databases --- */

/* Registry lock held; 0: there is none. */
static EngHandle
db_find(Oid dboid, Oid catalog)
{
	EngHandle	h = StrmRegistry->dbs;

	while (h != 0 && (STRM_PTR(Db, h)->dboid != dboid || STRM_PTR(Db, h)->catalog != catalog))
		h = STRM_PTR(Db, h)->next;
	return h;
}

bool
strm_registry_has(Oid dboid, Oid catalog)
{
	bool		found;

	LWLockAcquire(strm_registry_lock(), LW_SHARED);
	found = db_find(dboid, catalog) != 0;
	LWLockRelease(strm_registry_lock());
	return found;
}

Db *
strm_db_get(Oid dboid, Oid catalog)
{
	LWLock	   *lock = strm_registry_lock();
	EngHandle	h;
	Db		   *db = NULL;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	h = db_find(dboid, catalog);
	if (h != 0)
		db = STRM_PTR(Db, h);
	else
	{
		h = arena_alloc(&StrmArena, sizeof(Db), ARENA_SHRINK);
		if (h != 0)
		{
			db = STRM_PTR(Db, h);
			memset(db, 0, sizeof(Db));
			db->dboid = dboid;
			db->catalog = catalog;
			pg_atomic_init_u32(&db->load, LOAD_NONE);
			pg_atomic_init_u32(&db->in_use, 0);
			strm_lwlock_init(&db->sequencer);
			db->next_number = 1;
			pg_atomic_init_u64(&db->next_piece_set, 1);
			pg_atomic_init_u64(&db->next_stream_id, 1);
			db->next = StrmRegistry->dbs;
			StrmRegistry->dbs = h;
		}
	}
	LWLockRelease(lock);
	if (h == 0)
		strm_raise_full();
	return db;
}

/* --- places --- */

/* A free place, or 0.  Registry lock held exclusive. */
static EngHandle
place_take(void)
{
	EngHandle	h = StrmRegistry->free_streams;
	SharedStream *ss;

	if (h != 0)
	{
		StrmRegistry->free_streams = STRM_PTR(SharedStream, h)->next_free;
		return h;
	}
	h = arena_alloc(&StrmArena, sizeof(SharedStream), ARENA_NORMAL);
	if (h == 0)
		return 0;
	ss = STRM_PTR(SharedStream, h);
	memset(ss, 0, sizeof(SharedStream));
	strm_lwlock_init(&ss->lock);
	SpinLockInit(&ss->q_mutex);
	pg_atomic_init_u32(&ss->q_len, 0);
	pg_atomic_init_u32(&ss->merge_wanted, 0);
	pg_atomic_init_u32(&ss->regrants, 0);
	pg_atomic_init_u32(&ss->rights_version, 0);
	ss->self = h;
	return h;
}

static void
place_return(SharedStream *ss)
{
	ss->id = 0;
	ss->state = SS_FREE;
	ss->next_free = StrmRegistry->free_streams;
	StrmRegistry->free_streams = ss->self;
}

/* Fill a place; NULL if memory is lacking (the place is free again).  Nobody
 * else can reach it before it has its id, which is set last. */
static SharedStream *
place_fill(EngHandle h, Db *db, int64 id, const char *name, uint32 len,
		   uint32 node_max_bytes, uint32 node_max_entries)
{
	SharedStream *ss = STRM_PTR(SharedStream, h);

	ss->name = arena_alloc(&StrmArena, Max(len, 1), ARENA_NORMAL);
	if (ss->name == 0)
	{
		place_return(ss);
		return NULL;
	}
	memcpy(arena_ptr(&StrmArena, ss->name), name, len);
	ss->name_len = len;
	ss->db = (EngHandle) ((char *) db - StrmArena.base);
	ss->owner = InvalidOid;
	ss->grants = 0;
	ss->broken = false;
	stream_init(&ss->stream, node_max_bytes, node_max_entries);
	ss->parts = 0;
	ss->last_reserved = STREAMID_MIN;
	memset(&ss->deleting, 0, sizeof(ss->deleting));
	memset(&ss->pairs, 0, sizeof(ss->pairs));
	ss->shares = 0;
	ss->nloose = 0;
	ss->hint_top = STREAMID_MIN;
	ss->waited = 0;
	ss->duplicates = 0;
	ss->creator = InvalidTransactionId;
	ss->recent = 0;
	ss->recent_next_xid = 0;
	ss->waiters = ss->waiters_last = 0;
	ss->nown_waiters = 0;
	ss->ngroup_waiters = 0;
	ss->listen_generation = 0;
	ss->listened = false;
	ss->q_head = ss->q_tail = 0;
	ss->state = SS_PROVISIONAL;
	pg_write_barrier();
	ss->id = id;
	return ss;
}

/* Enter a name.  Registry lock held exclusive. */
static bool
name_enter(Db *db, const char *name, uint32 len, SharedStream *ss)
{
	uint8		key[KEY_PREFIX + STREAM_NAME_MAX];
	EngStatus	st = rax_insert(&StrmArena, &StrmRegistry->names, key,
								name_key(key, db, name, len), ss->self, NULL, ARENA_NORMAL);

	if (st != ENG_OK && st != ENG_EXISTS)
		return false;
	pg_atomic_fetch_add_u64(&StrmRegistry->generation, 1);
	return true;
}

/* --- looking up --- */

typedef struct Remembered
{
	uint64		generation;
	Db		   *db;
	SharedStream *ss;
	int64		id;
	uint32		len;
	char		name[STREAM_NAME_MAX];
} Remembered;

#define REMEMBERED	32
static Remembered remembered[REMEMBERED];

SharedStream *
strm_registry_find(Db *db, const char *name, uint32 len, int64 *id)
{
	uint8		key[KEY_PREFIX + STREAM_NAME_MAX];
	Remembered *r = &remembered[hash_bytes((const unsigned char *) name, len) % REMEMBERED];
	uint64		generation = pg_atomic_read_u64(&StrmRegistry->generation);
	uint64		value;
	SharedStream *ss = NULL;

	if (r->ss != NULL && r->generation == generation && r->db == db &&
		r->len == len && memcmp(r->name, name, len) == 0)
	{
		*id = r->id;
		return r->ss;
	}

	LWLockAcquire(strm_registry_lock(), LW_SHARED);
	generation = pg_atomic_read_u64(&StrmRegistry->generation);
	if (rax_find(&StrmArena, &StrmRegistry->names, key, name_key(key, db, name, len), &value))
	{
		ss = STRM_PTR(SharedStream, value);
		*id = ss->id;
	}
	LWLockRelease(strm_registry_lock());

	if (ss != NULL)
	{
		r->generation = generation;
		r->db = db;
		r->ss = ss;
		r->id = *id;
		r->len = len;
		memcpy(r->name, name, len);
	}
	return ss;
}

/* Does another name, its own, lead to the stream that is being renamed?
 * Registry lock held. */
static bool
listed_elsewhere(Db *db, SharedStream *ss, const char *name, uint32 len)
{
	uint8		key[KEY_PREFIX + STREAM_NAME_MAX];
	uint64		value;

	return !strm_bears_name(ss, name, len) &&
		rax_find(&StrmArena, &StrmRegistry->names, key,
				 name_key(key, db, STRM_PTR(char, ss->name), ss->name_len), &value) &&
		value == ss->self;
}

int
strm_registry_list(Db *db, StreamRef **refs)
{
	int			n = 0;
	int			cap = 64;
	uint8		key[RAX_KEY_MAX];
	uint8		prefix[KEY_PREFIX];
	size_t		len = name_key(prefix, db, "", 0);
	RaxSeek		op = RAX_GE;

	*refs = palloc(cap * sizeof(StreamRef));
	memcpy(key, prefix, len);
	for (;;)
	{
		bool		more = true;

		/* a slice at a time, so that memory is taken outside the lock */
		LWLockAcquire(strm_registry_lock(), LW_SHARED);
		while (n < cap)
		{
			uint64		value;

			more = rax_seek(&StrmArena, &StrmRegistry->names, op, key, len, key, &len, &value) &&
				memcmp(key, prefix, KEY_PREFIX) == 0;
			if (!more)
				break;
			op = RAX_GT;
			if (listed_elsewhere(db, STRM_PTR(SharedStream, value), (char *) key + KEY_PREFIX,
								 len - KEY_PREFIX))
				continue;
			(*refs)[n].ss = STRM_PTR(SharedStream, value);
			(*refs)[n].id = (*refs)[n].ss->id;
			n++;
		}
		LWLockRelease(strm_registry_lock());
		if (!more)
			return n;
		CHECK_FOR_INTERRUPTS();
		cap *= 2;
		*refs = repalloc_huge(*refs, cap * sizeof(StreamRef));
	}
}

/* --- making --- */

SharedStream *
strm_registry_make(Db *db, const char *name, uint32 len, int64 id,
				   uint32 node_max_bytes, uint32 node_max_entries,
				   bool enter, int64 *found_id)
{
	LWLock	   *lock = strm_registry_lock();
	uint8		key[KEY_PREFIX + STREAM_NAME_MAX];
	uint64		value;
	EngHandle	h;
	SharedStream *ss = NULL;

	LWLockAcquire(lock, LW_EXCLUSIVE);
	if (enter &&
		rax_find(&StrmArena, &StrmRegistry->names, key, name_key(key, db, name, len), &value))
		ss = STRM_PTR(SharedStream, value);
	else if ((h = place_take()) != 0)
	{
		ss = place_fill(h, db, id, name, len, node_max_bytes, node_max_entries);
		if (ss != NULL && enter && !name_enter(db, name, len, ss))
		{
			arena_free(&StrmArena, ss->name);
			place_return(ss);
			ss = NULL;
		}
	}
	if (ss != NULL)
		*found_id = ss->id;
	LWLockRelease(lock);
	if (ss == NULL)
		strm_raise_full();
	return ss;
}

SharedStream *
strm_registry_load(Db *db, int64 id, const char *name, uint32 len, Oid owner,
				   uint32 node_max_bytes, uint32 node_max_entries)
{
	int64		found;
	SharedStream *ss = strm_registry_make(db, name, len, id, node_max_bytes, node_max_entries,
										  true, &found);

	if (found == id)
	{
		LWLockAcquire(&ss->lock, LW_EXCLUSIVE);
		strm_rights_set(ss, owner, 0);
		ss->state = SS_LIVE;
		LWLockRelease(&ss->lock);
	}
	return ss;
}

/* --- letting go --- */

void
strm_registry_pass_on(SharedStream *ss, EngHandle heir, int64 heir_id)
{
	Db		   *db = STRM_PTR(Db, ss->db);
	uint8		key[KEY_PREFIX + STREAM_NAME_MAX];
	size_t		len = name_key(key, db, STRM_PTR(char, ss->name), ss->name_len);
	uint64		value;

	LWLockAcquire(strm_registry_lock(), LW_EXCLUSIVE);
	if (rax_find(&StrmArena, &StrmRegistry->names, key, len, &value) && value == ss->self)
	{
		if (heir != 0 && STRM_PTR(SharedStream, heir)->id == heir_id)
			/* the key is there: this only sets its value and takes no memory */
			(void) rax_insert(&StrmArena, &StrmRegistry->names, key, len, heir, NULL, ARENA_SHRINK);
		else
			(void) rax_remove(&StrmArena, &StrmRegistry->names, key, len, NULL);
		pg_atomic_fetch_add_u64(&StrmRegistry->generation, 1);
	}
	LWLockRelease(strm_registry_lock());
}

void
strm_registry_rename(SharedStream *ss, EngHandle name, uint32 len)
{
	LWLockAcquire(strm_registry_lock(), LW_EXCLUSIVE);
	arena_free(&StrmArena, ss->name);
	ss->name = name;
	ss->name_len = len;
	ss->listen_generation = 0;	/* others may listen to this name */
	LWLockRelease(strm_registry_lock());
}

void
strm_registry_release(SharedStream *ss)
{
	strm_registry_pass_on(ss, 0, 0);
	rax_clear(&StrmArena, &ss->deleting, NULL, NULL);
	rax_clear(&StrmArena, &ss->pairs, NULL, NULL);
	strm_shares_destroy(ss);
	stream_destroy(&StrmArena, &ss->stream);
	strm_rights_set(ss, InvalidOid, 0);
	LWLockAcquire(strm_registry_lock(), LW_EXCLUSIVE);
	arena_free(&StrmArena, ss->name);
	ss->name = 0;
	place_return(ss);
	LWLockRelease(strm_registry_lock());
}

/* Any stream that is still named under these first bytes of a key, or NULL. */
static SharedStream *
any_named(const uint8 *prefix, size_t len, int64 *id)
{
	uint8		key[RAX_KEY_MAX];
	uint64		value;
	SharedStream *ss = NULL;

	LWLockAcquire(strm_registry_lock(), LW_SHARED);
	if (rax_seek(&StrmArena, &StrmRegistry->names, RAX_GE, prefix, len, key, NULL, &value) &&
		memcmp(key, prefix, len) == 0)
	{
		ss = STRM_PTR(SharedStream, value);
		*id = ss->id;
	}
	LWLockRelease(strm_registry_lock());
	return ss;
}

void
strm_registry_discard(Oid dboid, Oid catalog)
{
	uint8		prefix[KEY_PREFIX];
	size_t		len = OidIsValid(catalog) ? KEY_PREFIX : 4;
	SharedStream *ss;
	int64		id;

	/* first, so that who is woken below does not stand in line again */
	LWLockAcquire(strm_registry_lock(), LW_SHARED);
	for (EngHandle h = StrmRegistry->dbs; h != 0; h = STRM_PTR(Db, h)->next)
		if (STRM_PTR(Db, h)->dboid == dboid &&
			(!OidIsValid(catalog) || STRM_PTR(Db, h)->catalog == catalog))
		{
			pg_atomic_write_u32(&STRM_PTR(Db, h)->load, LOAD_GONE);
			strm_wake_note_db_locked(STRM_PTR(Db, h));
		}
	LWLockRelease(strm_registry_lock());

	prefix_key(prefix, dboid, catalog);
	while ((ss = any_named(prefix, len, &id)) != NULL)
	{
		if (!strm_lock(ss, id, LW_EXCLUSIVE))
			continue;
		strm_merge(ss);
		if (ss->id == id)
		{
			/* loses its name here, so that the loop comes to an end */
			ss->state = SS_DROPPED;
			stream_destroy(&StrmArena, &ss->stream);
			strm_registry_pass_on(ss, 0, 0);
			strm_wake_note(ss);
			strm_part_settle(ss);
		}
		strm_unlock(ss);
	}
}
