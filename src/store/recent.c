/*
 * recent.c
 *	  Who added what recently: the ring behind "a read sees what its snapshot
 *	  sees".
 *
 * Every merged run of ids leaves a slot in one ring for all streams: the ids,
 * the transaction, and the next transaction id at the time of the merge.  The
 * slots of a stream are chained from the newest to the oldest.  A reader walks
 * the chain and collects the runs of transactions that its snapshot does not
 * see.  It can stop at the first slot whose "next xid" is below the snapshot's
 * xmax: all transactions merged up to then had ended before an id was handed
 * out which the snapshot already counts as past.  Usually that is the first.
 *
 * The ring forgets its oldest slots.  When the chain leads to a forgotten one,
 * the snapshot still sees everything forgotten if its xmax is beyond the next
 * xid noted in the oldest slot that is still there; else the reader does not
 * know (error 72000).  The ring has more slots than there can be transactions
 * at one time, so a snapshot taken after a slot was forgotten always knows.
 *
 * Locking: a stream's chain is written under its lock exclusive and read under
 * it shared.  Slots are handed out by an atomic counter; another stream may
 * overwrite a slot while it is read, which the reader notices by the counter.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "store/store.h"

typedef struct Slot
{
	uint64		prev;			/* position + 1 of the stream's slot before; 0: none */
	uint64		next_xid;		/* next full xid when merged */
	StreamId	lo;
	StreamId	hi;
	TransactionId xid;
} Slot;

typedef struct Ring
{
	pg_atomic_uint64 next;		/* position of the next slot */
	uint64		size;			/* constant */
	Slot		slots[FLEXIBLE_ARRAY_MEMBER];
} Ring;

#define RING_MIN	65536

static Ring *ring;

/* The larger the memory, the longer a read of what is in it may take. */
static uint64
ring_slots(void)
{
	return Max(Max((uint64) RING_MIN, (uint64) strm_memory_mb * 256), 4 * (uint64) MaxBackends);
}

Size
strm_recent_size(void)
{
	return add_size(offsetof(Ring, slots), mul_size(sizeof(Slot), ring_slots()));
}

void
strm_recent_init(void *place, bool found)
{
	ring = place;
	if (!found)
	{
		memset(ring, 0, offsetof(Ring, slots));
		pg_atomic_init_u64(&ring->next, 0);
		ring->size = ring_slots();
	}
}

void
strm_recent_note(SharedStream *ss, TransactionId xid, StreamId lo, StreamId hi)
{
	uint64		pos = pg_atomic_fetch_add_u64(&ring->next, 1);
	Slot	   *slot = &ring->slots[pos % ring->size];

	pg_memory_barrier();		/* readers see the counter move before the bytes */
	slot->prev = ss->recent;
	slot->next_xid = U64FromFullTransactionId(SharedNextXid());
	slot->lo = lo;
	slot->hi = hi;
	slot->xid = xid;
	ss->recent = pos + 1;
	ss->recent_next_xid = slot->next_xid;
}

/* A snapshot's xid as a full one; it is at most 2^31 behind the next. */
static uint64
full_xid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(SharedNextXid());

	return next - (uint32) ((uint32) next - xid);
}

/*
 * All transactions merged when `next_xid` was the next had ended when the
 * snapshot was taken: it counts an id handed out since as past, or nothing
 * older is running.
 */
static bool
beyond(Snapshot snap, uint64 next_xid)
{
	return full_xid(snap->xmax) > next_xid || full_xid(snap->xmin) >= next_xid;
}

/* Read a slot; false if it has been, or may be being, overwritten. */
static bool
slot_read(uint64 pos, Slot *copy)
{
	*copy = ring->slots[pos % ring->size];
	pg_memory_barrier();
	return pg_atomic_read_u64(&ring->next) <= pos + ring->size;
}

/* The ring has forgotten what comes now: does snap see all that was forgotten?
 * Judged by the oldest slot there is, or one a little younger where others are
 * overwriting that just now. */
static bool
sees_forgotten(Snapshot snap)
{
	uint64		oldest = pg_atomic_read_u64(&ring->next) - ring->size;
	Slot		slot;

	for (uint64 ahead = 0; ahead < ring->size / 2; ahead = ahead * 2 + 1)
		if (slot_read(oldest + ahead, &slot))
			return beyond(snap, slot.next_xid);
	return false;
}

int
strm_recent_unseen(SharedStream *ss, Snapshot snap, IdRange *ranges, int cap)
{
	int			n = 0;
	Slot		slot;

	if (ss->recent == 0 || beyond(snap, ss->recent_next_xid))
		return 0;
	for (uint64 link = ss->recent; link != 0; link = slot.prev)
	{
		if (!slot_read(link - 1, &slot))
			return sees_forgotten(snap) ? n : -1;
		if (beyond(snap, slot.next_xid))
			return n;
		if (strm_xid_seen(slot.xid, snap))
			continue;
		if (n < cap)
			ranges[n] = (IdRange) {slot.lo, slot.hi};
		n++;
	}
	return n;
}
