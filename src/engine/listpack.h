/*
 * listpack.h
 *	  Listpack: a list of short strings and integers in one run of bytes.
 *
 * The published format (antirez/listpack), written here from its
 * specification.  docs/formats.md draws the bytes.
 *
 *	 total u32 LE | count u16 LE (65535: not known) | element ... | 0xFF
 *	 element = encoding and payload | backlen
 *
 * A string that is the canonical decimal of an int64 is kept as an integer
 * and comes back as the same text, so equal strings have equal bytes.
 *
 * These functions work on plain memory, allocate nothing, and trust the bytes
 * given to them; bytes from outside go through lp_validate first.
 */
#ifndef STREAM_LISTPACK_H
#define STREAM_LISTPACK_H

#include "engine.h"

#define LP_HDR_SIZE		6
#define LP_EMPTY_SIZE	7		/* header and terminator */
#define LP_EOF			0xFF
#define LP_BYTES_MAX	((size_t) 1 << 30)
#define LP_COUNT_UNKNOWN 65535

/* An element as read: its text, wherever that is. */
typedef struct LpValue
{
	const char *str;			/* into the listpack, or into buf */
	size_t		len;
	bool		is_int;
	int64_t		num;			/* if is_int */
	char		buf[24];
} LpValue;

/* Bytes of one element with its backlen, and writing one at p; both return
 * that number of bytes. */
extern size_t lp_str_size(const void *s, size_t len);
extern size_t lp_str_write(uint8_t *p, const void *s, size_t len);
extern size_t lp_int_size(int64_t v);
extern size_t lp_int_write(uint8_t *p, int64_t v);

/* Integer in the int32 encoding whatever its size (6 bytes with backlen), so
 * that it can be changed in place; v must fit. */
#define LP_INT32_SIZE	6
extern void lp_int32_write(uint8_t *p, int32_t v);

extern void lp_init(uint8_t *lp);	/* writes LP_EMPTY_SIZE bytes */
extern size_t lp_bytes(const uint8_t *lp);
extern uint32_t lp_count(const uint8_t *lp);	/* scans if not known */
extern void lp_set_header(uint8_t *lp, size_t bytes, uint32_t count);

/* Append an element; the caller has room for lp_bytes + lp_str_size. */
extern void lp_append(uint8_t *lp, const void *s, size_t len);

/* Walking.  lp_first gives the first element or the terminator; lp_next the
 * element after p or the terminator; lp_prev the one before p (p may be the
 * terminator) or NULL at the start. */
static inline uint8_t *
lp_first(const uint8_t *lp)
{
	return (uint8_t *) lp + LP_HDR_SIZE;
}
static inline bool
lp_at_end(const uint8_t *p)
{
	return *p == LP_EOF;
}
extern size_t lp_elem_bytes_long(const uint8_t *p); /* of the longer encodings */
static inline size_t
lp_elem_bytes(const uint8_t *p)			/* with backlen */
{
	if (*p < 0x80)
		return 2;				/* 0 to 127 */
	if (*p < 0xC0)
		return 2 + (size_t) (*p & 0x3F);	/* string of up to 63 bytes */
	return lp_elem_bytes_long(p);
}
static inline uint8_t *
lp_next(const uint8_t *p)
{
	return (uint8_t *) p + lp_elem_bytes(p);
}
extern uint8_t *lp_prev(const uint8_t *lp, const uint8_t *p);

extern void lp_get(const uint8_t *p, LpValue *v);
extern int64_t lp_get_int(const uint8_t *p);	/* 0 for a string */

/* Element at p equals the string? */
extern bool lp_equal(const uint8_t *p, const void *s, size_t len);

/* Checking readers.  lp_check_elem: bytes of the element at p, backlen
 * included, if it is sound and ends at or before `end`, else 0 (also for the
 * terminator).  Canonical asks besides that a string that is the decimal of
 * an int64 is kept as an integer and that every encoding is the shortest. */
extern size_t lp_check_elem(const uint8_t *p, const uint8_t *end, bool canonical);

/* Are these `size` bytes one sound listpack: total, count, every element?
 * Canonical lists also have the count that is written for them; others may
 * say "not known" whatever it is.  *nelem (if not NULL) as counted. */
extern bool lp_validate(const uint8_t *lp, size_t size, bool canonical, uint32_t *nelem);

/* For who walks over the elements himself: total and terminator before, the
 * number of elements afterwards. */
extern bool lp_check_frame(const uint8_t *lp, size_t size);
extern bool lp_check_count(const uint8_t *lp, uint32_t count, bool canonical);

#endif							/* STREAM_LISTPACK_H */
