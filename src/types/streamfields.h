/*
 * streamfields.h
 *	  The SQL type streamfields: the field/value list of an entry.
 *
 * A varlena whose data is a canonical listpack name, value, name, value ... of
 * at least one pair (engine/listpack.h), at no particular alignment.  Names
 * may repeat, order is kept, names and values are any bytes.
 */
#ifndef STREAM_STREAMFIELDS_H
#define STREAM_STREAMFIELDS_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "compat.h"
#include "engine/listpack.h"

typedef struct varlena StreamFields;

#define DatumGetStreamFieldsP(d)	((StreamFields *) PG_DETOAST_DATUM_PACKED(d))
#define PG_GETARG_STREAMFIELDS(n)	DatumGetStreamFieldsP(PG_GETARG_DATUM(n))

/* The listpack of a detoasted value, and its bytes. */
static inline const uint8_t *
streamfields_lp(const StreamFields *f)
{
	return (const uint8_t *) VARDATA_ANY(f);
}
static inline size_t
streamfields_bytes(const StreamFields *f)
{
	return VARSIZE_ANY_EXHDR(f);
}

/* A new value of `bytes` bytes of a sound fields list; or one to be written
 * by the caller at streamfields_lp.  Over 1 GB is an error (54000). */
extern StreamFields *streamfields_make(const uint8_t *lp, size_t bytes);
extern StreamFields *streamfields_alloc(size_t bytes);

/* Last value of a name; NULL: no such field. */
extern const uint8_t *streamfields_find(const StreamFields *f, const char *name, size_t len);

/* Building a value: names and values added in turn.  The end is an error
 * (22P02) when nothing was added. */
typedef struct FieldsBuilder
{
	StringInfoData buf;			/* the varlena, without its last byte */
	uint32		count;			/* names and values */
	Size		max;			/* bytes of the listpack; 54000 beyond */
} FieldsBuilder;

#define FIELDS_HISTORY_MAX	4096	/* bytes that a dead letter may add to an entry's */

extern void fields_begin(FieldsBuilder *b);
extern void fields_begin_dead(FieldsBuilder *b);	/* with that room */
extern void fields_add(FieldsBuilder *b, const char *s, size_t len);
extern StreamFields *fields_end(FieldsBuilder *b);

/* streamfields_json.c */
extern StreamFields *streamfields_from_json(const char *json, size_t len);
extern void streamfields_to_json(const StreamFields *f, StringInfo out);

/* A name or value as text: itself where it is text of the database encoding,
 * else what streamfields_to_json shows for it. */
extern text *streamfields_show(const uint8_t *elem, bool is_name);

#endif							/* STREAM_STREAMFIELDS_H */
