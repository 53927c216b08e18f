/*
 * shmem.c
 *	  Taking and laying out the shared memory.
 *
 * Four pieces are asked for at server start: the arena (stream.memory), the
 * registry's head with the fixed lightweight locks, the ring of recent adds,
 * and the head of what is listened to.  After a crash of a backend the server lays all of them out anew and
 * the first use of a database loads its streams again from the tables.
 *
 * Without shared_preload_libraries there is no memory: strm_shmem_ready says
 * so, and every SQL function refuses with a hint.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"

#include "store/store.h"

#define TRANCHE_STREAM		"StreamEntries"	/* one stream */
#define TRANCHE_FIXED		"StreamEngine"	/* registry, listen, arena */

enum
{
	LOCK_REGISTRY, LOCK_LISTEN, LOCK_ARENA, LOCK_COUNT
};

typedef struct StoreShared
{
	int			stream_tranche;
	RegistryShared registry;
} StoreShared;

Arena		StrmArena;
RegistryShared *StrmRegistry;
int			strm_memory_mb = 256;

static StoreShared *Shared;
static LWLockPadded *FixedLocks;
static shmem_request_hook_type prev_shmem_request;
static shmem_startup_hook_type prev_shmem_startup;

static void
arena_lock(void *arg)
{
	LWLockAcquire((LWLock *) arg, LW_EXCLUSIVE);
}

static void
arena_unlock(void *arg)
{
	LWLockRelease((LWLock *) arg);
}

static Size
arena_bytes(void)
{
	return (Size) strm_memory_mb * 1024 * 1024;
}

static void
shmem_request(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	RequestAddinShmemSpace(add_size(add_size(MAXALIGN(sizeof(StoreShared)), arena_bytes()),
									add_size(strm_recent_size(), strm_listen_size())));
	RequestNamedLWLockTranche(TRANCHE_FIXED, LOCK_COUNT);
}

static void
shmem_startup(void)
{
	bool		found;
	void	   *region;

	if (prev_shmem_startup)
		prev_shmem_startup();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	FixedLocks = GetNamedLWLockTranche(TRANCHE_FIXED);
	Shared = ShmemInitStruct("stream registry", sizeof(StoreShared), &found);
	if (!found)
	{
		memset(Shared, 0, sizeof(StoreShared));
		Shared->stream_tranche = LWLockNewTrancheId();
		pg_atomic_init_u64(&Shared->registry.generation, 1);
	}
	LWLockRegisterTranche(Shared->stream_tranche, TRANCHE_STREAM);

	region = ShmemInitStruct("stream arena", arena_bytes(), &found);
	if (!found && arena_format(region, arena_bytes()) != ENG_OK)
		elog(FATAL, "stream.memory is too small");
	if (arena_open(&StrmArena, region, arena_lock, arena_unlock,
				   &FixedLocks[LOCK_ARENA].lock) != ENG_OK)
		elog(FATAL, "shared memory of stream has another layout");

	region = ShmemInitStruct("stream recent adds", strm_recent_size(), &found);
	strm_recent_init(region, found);

	region = ShmemInitStruct("stream listeners", strm_listen_size(), &found);
	strm_listen_init(region, found);

	StrmRegistry = &Shared->registry;
	LWLockRelease(AddinShmemInitLock);
}

void
strm_shmem_init(void)
{
	prev_shmem_request = shmem_request_hook;
	shmem_request_hook = shmem_request;
	prev_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;
}

bool
strm_shmem_ready(void)
{
	return StrmRegistry != NULL;
}

/* Initialise a lock that lives in the arena. */
void
strm_lwlock_init(LWLock *lock)
{
	LWLockInitialize(lock, Shared->stream_tranche);
}

LWLock *
strm_registry_lock(void)
{
	return &FixedLocks[LOCK_REGISTRY].lock;
}

LWLock *
strm_listen_lock(void)
{
	return &FixedLocks[LOCK_LISTEN].lock;
}

void
strm_raise_full(void)
{
	ArenaStats	st;

	arena_stats(&StrmArena, &st);
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("shared memory for streams is full"),
			 errdetail("%llu of %llu bytes are in use, %llu are set aside for transactions that are committing.",
					   (unsigned long long) st.used, (unsigned long long) st.size,
					   (unsigned long long) (st.pages_charged * ARENA_PAGE)),
			 errhint("Trim or drop streams, or raise stream.memory and restart the server.")));
}
