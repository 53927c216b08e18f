/*
 * streampos.h
 *	  The SQL type streampos: a position in a stream as a caller gives it.
 *
 * The type only says what was written; what a form means, and which forms
 * mean nothing, is up to the function it is given to.
 */
#ifndef STREAM_STREAMPOS_H
#define STREAM_STREAMPOS_H

#include "types/streamid.h"

typedef enum StreamPosKind
{
	POS_ID,						/* ms-seq */
	POS_MS,						/* ms; id.seq is 0 */
	POS_TIME,					/* a date or time; as POS_MS, but in xadd as POS_MS_AUTO */
	POS_MIN,					/* - */
	POS_MAX,					/* + */
	POS_LAST,					/* $ */
	POS_NEW,					/* > */
	POS_AUTO,					/* * */
	POS_MS_AUTO					/* ms-*; id.seq is 0 */
} StreamPosKind;

typedef struct StreamPos
{
	StreamId	id;				/* 0-0 in forms without one */
	uint8		kind;			/* StreamPosKind */
	bool		exclusive;		/* written (id; only with POS_ID and POS_MS */
	uint8		unused[6];		/* zero */
} StreamPos;

#define DatumGetStreamPosP(d)	((StreamPos *) DatumGetPointer(d))
#define PG_GETARG_STREAMPOS(n)	DatumGetStreamPosP(PG_GETARG_DATUM(n))

/* As it is written, palloc'd. */
extern char *streampos_text(const StreamPos *pos);

/*
 * The bounds of a range, both inclusive: `-`, `+`, ids and times.  A missing
 * sequence is 0 in a start and the greatest in a stop.  An exclusive bound
 * beyond which there is no id, and every other form, is an error (22023).
 */
extern StreamId streampos_start(const StreamPos *pos);
extern StreamId streampos_stop(const StreamPos *pos);

/* One id: an id, or a time or ms with sequence 0.  Every other form is
 * refused, `what` as in streampos_refuse. */
extern StreamId streampos_id(const StreamPos *pos, const char *what);

/* The error for a form without meaning (22023); `what` completes the sentence
 * 'position "x" cannot be used as ...', for example "the start of a range". */
pg_noreturn extern void streampos_refuse(const StreamPos *pos, const char *what);

#endif							/* STREAM_STREAMPOS_H */
