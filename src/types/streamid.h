/*
 * streamid.h
 *	  The SQL type streamid: an entry's id.
 *
 * 16 bytes, passed by reference, the engine's StreamId in host order.
 */
#ifndef STREAM_STREAMID_H
#define STREAM_STREAMID_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "compat.h"
#include "engine/engine.h"

#define DatumGetStreamIdP(d)	((StreamId *) DatumGetPointer(d))
#define PG_GETARG_STREAMID(n)	(*DatumGetStreamIdP(PG_GETARG_DATUM(n)))
#define PG_RETURN_STREAMID(id)	return StreamIdGetDatum(id)

/* A palloc'd copy as a Datum. */
extern Datum StreamIdGetDatum(StreamId id);

/* Reads `ms-seq` or `ms`; malformed text is an error (22P02). */
extern StreamId streamid_from_text(const char *s, size_t len);

/* The millisecond since 1970 of a time and back.  Never fails: what the other
 * side cannot hold becomes its smallest or greatest value. */
extern uint64 ms_from_timestamptz(TimestampTz t);
extern TimestampTz timestamptz_from_ms(uint64 ms);

#endif							/* STREAM_STREAMID_H */
