/*
 * streamids.h
 *	  The SQL type streamids: one id or a list of ids.
 */
#ifndef STREAM_STREAMIDS_H
#define STREAM_STREAMIDS_H

#include "types/streamid.h"

typedef struct StreamIds
{
	int32		vl_len_;		/* varlena header, always of 4 bytes in memory */
	int32		count;
	StreamId	ids[FLEXIBLE_ARRAY_MEMBER];
} StreamIds;

#define DatumGetStreamIdsP(d)	((StreamIds *) PG_DETOAST_DATUM(d))
#define PG_GETARG_STREAMIDS(n)	DatumGetStreamIdsP(PG_GETARG_DATUM(n))

/* Room for `count` ids, to be filled in; too many for one value is an error (54000). */
extern StreamIds *streamids_make(int64 count);

/* All ids of an array streamids[] (what VARIADIC streamids[] receives) in
 * their order; NULL elements and empty lists add none. */
extern StreamIds *streamids_flatten(Datum array);

#endif							/* STREAM_STREAMIDS_H */
