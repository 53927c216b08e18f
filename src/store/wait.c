/*
 * wait.c
 *	  Standing in line at streams, and waking those who do.
 *
 * A reader that finds nothing enters a link in the line of each stream it
 * waits for (or in its database's line, for a stream that does not exist) and
 * sleeps on its latch.  Merges and releases note who is to be woken; latches
 * are set once no lock is held.  Being woken means "look again", nothing more,
 * so waking somebody twice or for nothing does no harm, but costs.
 *
 * A reader of a stream keeps in its link after which id it reads, and is woken
 * when an entry above that is below the horizon: not by entries behind another's
 * open reservation, nor by acknowledgements and deletions.  All are woken where
 * the stream goes, its name leads elsewhere or its rights are others.  Readers of a
 * group stand in the group's own line, where they share what there is:
 * wait_group.c.
 *
 * A link goes when the reader leaves the line: after the wait, or when its
 * transaction or its backend ends.  Links live in the arena; a line is
 * protected by its stream's lock, a database's by the registry lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "store/store.h"

/* Where this backend stands in line. */
typedef struct Standing
{
	SharedStream *ss;			/* or NULL: the database's line */
	int64		id;
	Db		   *db;
	EngHandle	link;
} Standing;

static Standing *standing;
static int	nstanding;
static int	standing_cap;

/* Whom to wake: each process at most once. */
static bool *wake_noted;
static int *wake_list;
static int	nwake;

static void
wake_prepare(void)
{
	if (wake_noted == NULL)
	{
		Size		n = ProcGlobal->allProcCount;

		wake_list = MemoryContextAlloc(TopMemoryContext, n * sizeof(int));
		wake_noted = MemoryContextAllocZero(TopMemoryContext, n * sizeof(bool));
	}
}

static void
wake_add(int procno)
{
	/* made ready when the backend first used a stream; see strm_wake_flush */
	if (wake_noted == NULL || wake_noted[procno])
		return;
	wake_noted[procno] = true;
	wake_list[nwake++] = procno;
}

static void
wake_line(EngHandle first)
{
	for (EngHandle h = first; h != 0; h = STRM_PTR(WaitLink, h)->next)
	{
		STRM_PTR(WaitLink, h)->woken = true;
		wake_add(STRM_PTR(WaitLink, h)->procno);
	}
}

/* The last entry that a reader with that part in the stream (0: none) may
 * read; 0-0: there is none. */
static StreamId
last_readable(SharedStream *ss, EngHandle own)
{
	StreamId	id;

	if (strm_horizon(ss, own, &id))
		(void) sid_prev(&id);
	return stream_last_upto(&StrmArena, &ss->stream, id, &id) ? id : STREAMID_MIN;
}

/* Those for whom there is something. */
static void
wake_readers(SharedStream *ss)
{
	StreamId	last = last_readable(ss, 0);
	StreamId	least = STREAMID_MAX;

	if (ss->nown_waiters == 0 && sid_cmp(last, ss->wait_from) <= 0)
		return;
	for (EngHandle h = ss->waiters; h != 0; h = STRM_PTR(WaitLink, h)->next)
	{
		WaitLink   *w = STRM_PTR(WaitLink, h);

		if (w->woken)
			continue;
		if (sid_cmp(w->own != 0 ? last_readable(ss, w->own) : last, w->after) > 0)
		{
			w->woken = true;
			wake_add(w->procno);
		}
		else if (sid_cmp(w->after, least) < 0)
			least = w->after;
	}
	ss->wait_from = least;
}

void
strm_wake_proc(int procno)
{
	wake_add(procno);
}

void
strm_wake_note(SharedStream *ss)
{
	if (ss->state == SS_DROPPED || ss->broken)
		wake_line(ss->waiters);
	else if (ss->waiters != 0)
		wake_readers(ss);
	strm_wake_groups(ss);
}

void
strm_wake_readers_all(SharedStream *ss)
{
	wake_line(ss->waiters);
}

void
strm_wake_note_db_locked(Db *db)
{
	wake_line(db->waiters);
}

void
strm_wake_note_db(Db *db)
{
	LWLockAcquire(strm_registry_lock(), LW_SHARED);
	strm_wake_note_db_locked(db);
	LWLockRelease(strm_registry_lock());
}

void
strm_wake_flush(void)
{
	/* in the order of the line */
	for (int i = 0; i < nwake; i++)
	{
		wake_noted[wake_list[i]] = false;
		SetLatch(&ProcGlobal->allProcs[wake_list[i]].procLatch);
	}
	nwake = 0;
	strm_listen_flush();
}

bool
strm_waiting(void)
{
	return nstanding > 0;
}

/*
 * The latch alone does not tell: a wait for a lock in the look that follows
 * standing in line resets it.
 */
bool
strm_wait_woken(void)
{
	pg_memory_barrier();
	for (int i = 0; i < nstanding; i++)
		if (STRM_PTR(WaitLink, standing[i].link)->woken)
			return true;
	return false;
}

/* Memory for one more place in line, and the link itself; 0 if the arena is full. */
static EngHandle
link_new(void)
{
	EngHandle	h;
	WaitLink   *w;

	h = arena_alloc(&StrmArena, sizeof(WaitLink), ARENA_SHRINK);
	if (h == 0)
		return 0;
	w = STRM_PTR(WaitLink, h);
	memset(w, 0, sizeof(WaitLink));
	w->procno = MyProcNo();
	w->pid = MyProcPid;
	w->alarm = UINT64_MAX;
	return h;
}

static void
standing_reserve(void)
{
	if (nstanding < standing_cap)
		return;
	standing_cap = Max(8, 2 * standing_cap);
	if (standing == NULL)
		standing = MemoryContextAlloc(TopMemoryContext, standing_cap * sizeof(Standing));
	else
		standing = repalloc(standing, standing_cap * sizeof(Standing));
}

/* Lock the stream to stand in line there; false (and not locked): it is gone or
 * called otherwise. */
static bool
line_lock(SharedStream *ss, int64 id, const char *name, uint32 len)
{
	standing_reserve();
	if (!strm_lock(ss, id, LW_EXCLUSIVE))
		return false;
	if (ss->state != SS_DROPPED && (name == NULL || strm_bears_name(ss, name, len)))
		return true;
	strm_unlock(ss);
	return false;
}

bool
strm_wait_enlist(SharedStream *ss, int64 id, const char *name, uint32 len, StreamId after, EngHandle own)
{
	EngHandle	h;
	WaitLink   *w;

	if (!line_lock(ss, id, name, len))
		return false;
	h = link_new();
	if (h != 0)
	{
		w = STRM_PTR(WaitLink, h);
		w->after = after;
		w->own = own;
		ss->nown_waiters += own != 0;
		if (ss->waiters == 0 || sid_cmp(after, ss->wait_from) < 0)
			ss->wait_from = after;
		w->prev = ss->waiters_last;
		if (ss->waiters_last != 0)
			STRM_PTR(WaitLink, ss->waiters_last)->next = h;
		else
			ss->waiters = h;
		ss->waiters_last = h;
		standing[nstanding++] = (Standing) {ss, id, NULL, h};
	}
	strm_unlock(ss);
	if (h == 0)
		strm_raise_full();
	return true;
}

bool
strm_wait_enlist_group(SharedStream *ss, int64 id, const char *name, uint32 len,
					   const char *grp, uint32 grp_len, uint64 claim, bool always)
{
	EngHandle	h;

	if (!line_lock(ss, id, name, len))
		return false;
	h = link_new();
	if (h != 0)
	{
		STRM_PTR(WaitLink, h)->claim = claim;
		STRM_PTR(WaitLink, h)->always = always;
		if (strm_share_join(ss, grp, grp_len, h))
			standing[nstanding++] = (Standing) {ss, id, NULL, h};
		else
		{
			arena_free(&StrmArena, h);
			h = 0;
		}
	}
	strm_unlock(ss);
	if (h == 0)
		strm_raise_full();
	return true;
}

void
strm_wait_enlist_db(Db *db)
{
	EngHandle	h;

	standing_reserve();
	LWLockAcquire(strm_registry_lock(), LW_EXCLUSIVE);
	h = link_new();
	if (h != 0)
	{
		STRM_PTR(WaitLink, h)->next = db->waiters;
		if (db->waiters != 0)
			STRM_PTR(WaitLink, db->waiters)->prev = h;
		db->waiters = h;
		standing[nstanding++] = (Standing) {NULL, 0, db, h};
	}
	LWLockRelease(strm_registry_lock());
	if (h == 0)
		strm_raise_full();
}

static void
line_leave(EngHandle *first, EngHandle *last, EngHandle h)
{
	WaitLink   *w = STRM_PTR(WaitLink, h);

	if (w->prev != 0)
		STRM_PTR(WaitLink, w->prev)->next = w->next;
	else
		*first = w->next;
	if (w->next != 0)
		STRM_PTR(WaitLink, w->next)->prev = w->prev;
	else if (last != NULL)
		*last = w->prev;
}

void
strm_wait_leave(void)
{
	while (nstanding > 0)
	{
		Standing   *s = &standing[--nstanding];

		if (s->ss == NULL)
		{
			LWLockAcquire(strm_registry_lock(), LW_EXCLUSIVE);
			line_leave(&s->db->waiters, NULL, s->link);
			arena_free(&StrmArena, s->link);
			LWLockRelease(strm_registry_lock());
		}
		else
		{
			WaitLink   *w = STRM_PTR(WaitLink, s->link);

			/* a place with somebody in line is not freed (strm_part_settle);
			 * out of the line, it may be another's by now */
			LWLockAcquire(&s->ss->lock, LW_EXCLUSIVE);
			if (!w->lapsed)
			{
				if (w->share != 0)
					strm_share_leave(s->ss, s->link);
				else
				{
					s->ss->nown_waiters -= w->own != 0;
					line_leave(&s->ss->waiters, &s->ss->waiters_last, s->link);
				}
				strm_part_settle(s->ss);
			}
			arena_free(&StrmArena, s->link);
			strm_unlock(s->ss);
		}
	}
}

EngHandle
strm_wait_place(int n, SharedStream **ss, int64 *id)
{
	if (n >= nstanding)
		return 0;
	*ss = standing[n].ss;
	*id = standing[n].id;
	return standing[n].link;
}

/* A backend may end with a place in line and no transaction: promised to come
 * back (wait_group.c). */
static void
leave_at_exit(int code, Datum arg)
{
	strm_wait_leave();
}

/* Called by every backend that uses streams, before it does. */
void
strm_wait_init(void)
{
	if (wake_noted != NULL)
		return;
	wake_prepare();
	before_shmem_exit(leave_at_exit, (Datum) 0);
}
