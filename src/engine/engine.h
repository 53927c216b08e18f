/*
 * engine.h
 *	  What every file of the engine shares: status codes, handles, entry ids.
 *
 * The engine is pure C11 and includes no PostgreSQL header.  It takes plain
 * arguments, returns a status, reads no clock, no setting and no global, and
 * never waits.  It does no locking of its own, except that the arena calls
 * the lock functions it was opened with; who may call what under which lock
 * is said by src/store.
 *
 * Links between objects are handles: offsets into one region of memory that
 * processes may map at different addresses.  Handle 0 is "none".
 */
#ifndef STREAM_ENGINE_H
#define STREAM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum EngStatus
{
	ENG_OK = 0,
	ENG_EXISTS,					/* the key or id was there already */
	ENG_NOTFOUND,
	ENG_NOMEM,					/* the arena has no room; nothing was changed */
	ENG_TOOBIG,					/* over a limit of the format */
	ENG_CORRUPT					/* bytes from outside are not what they claim */
} EngStatus;

typedef uint64_t EngHandle;

/* An entry's id, ordered by (ms, seq).  0-0 is never an entry. */
typedef struct StreamId
{
	uint64_t	ms;
	uint64_t	seq;
} StreamId;

#define STREAMID_MIN	((StreamId) {0, 0})
#define STREAMID_MAX	((StreamId) {UINT64_MAX, UINT64_MAX})

static inline int
sid_cmp(StreamId a, StreamId b)
{
	if (a.ms != b.ms)
		return a.ms < b.ms ? -1 : 1;
	if (a.seq != b.seq)
		return a.seq < b.seq ? -1 : 1;
	return 0;
}

static inline bool
sid_is_zero(StreamId a)
{
	return a.ms == 0 && a.seq == 0;
}

/* The next id; the greatest one has none (false, *a unchanged). */
static inline bool
sid_next(StreamId *a)
{
	if (a->seq != UINT64_MAX)
		a->seq++;
	else if (a->ms != UINT64_MAX)
	{
		a->ms++;
		a->seq = 0;
	}
	else
		return false;
	return true;
}

/* The id before; 0-0 has none (false, *a unchanged). */
static inline bool
sid_prev(StreamId *a)
{
	if (a->seq != 0)
		a->seq--;
	else if (a->ms != 0)
	{
		a->ms--;
		a->seq = UINT64_MAX;
	}
	else
		return false;
	return true;
}

/* Key form of an id: 16 bytes big endian, so that bytes order as ids do. */
static inline void
sid_to_key(StreamId id, uint8_t key[16])
{
	for (int i = 0; i < 8; i++)
	{
		key[i] = (uint8_t) (id.ms >> (56 - 8 * i));
		key[8 + i] = (uint8_t) (id.seq >> (56 - 8 * i));
	}
}

static inline StreamId
sid_from_key(const uint8_t key[16])
{
	StreamId	id = {0, 0};

	for (int i = 0; i < 8; i++)
	{
		id.ms = (id.ms << 8) | key[i];
		id.seq = (id.seq << 8) | key[8 + i];
	}
	return id;
}

#endif							/* STREAM_ENGINE_H */
