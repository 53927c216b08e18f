/*
 * idtext.h
 *	  The text of an entry id: `ms-seq` or `ms`, two unsigned 64-bit decimals.
 *
 * Plain C without PostgreSQL, so that the parser can be fuzzed on its own.
 * As in Redis there are no signs, spaces or second dashes; leading zeros are
 * accepted, the whole text has at most IDTEXT_IN_MAX bytes.
 */
#ifndef STREAM_IDTEXT_H
#define STREAM_IDTEXT_H

#include "engine/engine.h"

#define IDTEXT_IN_MAX	127		/* longest text read */
#define IDTEXT_OUT_MAX	42		/* longest text written, with its zero byte */

/* Reads the whole text; false: malformed.  Without `-seq` *has_seq is false
 * and the sequence is 0. */
extern bool idtext_parse(const char *s, size_t len, StreamId *id, bool *has_seq);

/* Writes `ms-seq`; idtext_print_u64 one number.  Both end with a zero byte and
 * return the length without it. */
extern size_t idtext_print(StreamId id, char buf[IDTEXT_OUT_MAX]);
extern size_t idtext_print_u64(uint64_t v, char *buf);

#endif							/* STREAM_IDTEXT_H */
