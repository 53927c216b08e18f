/*
 * streamid.c
 *	  The SQL type streamid: text and binary form, order, hash, casts.
 *
 * Ids order by (ms, seq), unsigned.  A time is the ms part: casts between
 * streamid and timestamptz never fail, because a stream may hold ids that no
 * clock gave out.
 */
#include "types/streamid.h"

#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/sortsupport.h"
#include "utils/timestamp.h"

#include "types/idtext.h"

/* milliseconds from 1970 to PostgreSQL's epoch */
#define EPOCH_MS	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (SECS_PER_DAY * INT64CONST(1000)))

/* first millisecond since 1970 that no timestamptz has */
#define END_MS		((uint64) (END_TIMESTAMP / 1000 + EPOCH_MS))

StaticAssertDecl(sizeof(StreamId) == 16, "streamid is 16 bytes in SQL");

Datum
StreamIdGetDatum(StreamId id)
{
	StreamId   *copy = palloc(sizeof(StreamId));

	*copy = id;
	return PointerGetDatum(copy);
}

StreamId
streamid_from_text(const char *s, size_t len)
{
	StreamId	id;
	bool		has_seq;

	if (!idtext_parse(s, len, &id, &has_seq))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s: \"%.*s\"",
						"streamid", pg_mbcliplen(s, (int) len, 200), s),
				 errdetail("An id is two unsigned 64-bit numbers, \"ms-seq\", or \"ms\" alone.")));
	return id;
}

uint64
ms_from_timestamptz(TimestampTz t)
{
	int64		ms;

	if (TIMESTAMP_IS_NOBEGIN(t))
		return 0;
	if (TIMESTAMP_IS_NOEND(t))
		return UINT64_MAX;
	ms = t / 1000;
	if (t % 1000 < 0)
		ms--;					/* a millisecond begins at or before t */
	ms += EPOCH_MS;
	return ms < 0 ? 0 : (uint64) ms;
}

TimestampTz
timestamptz_from_ms(uint64 ms)
{
	TimestampTz t;

	if (ms >= END_MS)
		TIMESTAMP_NOEND(t);
	else
		t = ((int64) ms - EPOCH_MS) * 1000;
	return t;
}

/* --- text and binary form --- */

PG_FUNCTION_INFO_V1(stream_streamid_in);
Datum
stream_streamid_in(PG_FUNCTION_ARGS)
{
	char	   *s = PG_GETARG_CSTRING(0);

	PG_RETURN_STREAMID(streamid_from_text(s, strlen(s)));
}

PG_FUNCTION_INFO_V1(stream_streamid_out);
Datum
stream_streamid_out(PG_FUNCTION_ARGS)
{
	char	   *buf = palloc(IDTEXT_OUT_MAX);

	idtext_print(PG_GETARG_STREAMID(0), buf);
	PG_RETURN_CSTRING(buf);
}

PG_FUNCTION_INFO_V1(stream_streamid_recv);
Datum
stream_streamid_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	StreamId	id;

	id.ms = (uint64) pq_getmsgint64(buf);
	id.seq = (uint64) pq_getmsgint64(buf);
	PG_RETURN_STREAMID(id);
}

PG_FUNCTION_INFO_V1(stream_streamid_send);
Datum
stream_streamid_send(PG_FUNCTION_ARGS)
{
	StreamId	id = PG_GETARG_STREAMID(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendint64(&buf, id.ms);
	pq_sendint64(&buf, id.seq);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* --- order --- */

PG_FUNCTION_INFO_V1(stream_streamid_eq);
Datum
stream_streamid_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) == 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_ne);
Datum
stream_streamid_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) != 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_lt);
Datum
stream_streamid_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) < 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_le);
Datum
stream_streamid_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) <= 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_gt);
Datum
stream_streamid_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) > 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_ge);
Datum
stream_streamid_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) >= 0);
}

PG_FUNCTION_INFO_V1(stream_streamid_cmp);
Datum
stream_streamid_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)));
}

PG_FUNCTION_INFO_V1(stream_streamid_smaller);
Datum
stream_streamid_smaller(PG_FUNCTION_ARGS)
{
	bool		first = sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) < 0;

	PG_RETURN_DATUM(PG_GETARG_DATUM(first ? 0 : 1));
}

PG_FUNCTION_INFO_V1(stream_streamid_larger);
Datum
stream_streamid_larger(PG_FUNCTION_ARGS)
{
	bool		first = sid_cmp(PG_GETARG_STREAMID(0), PG_GETARG_STREAMID(1)) > 0;

	PG_RETURN_DATUM(PG_GETARG_DATUM(first ? 0 : 1));
}

static int
sort_compare(Datum x, Datum y, SortSupport ssup)
{
	return sid_cmp(*DatumGetStreamIdP(x), *DatumGetStreamIdP(y));
}

#if SIZEOF_DATUM == 8
/* the abbreviated key is the ms part, which most ids differ in */
static Datum
sort_abbreviate(Datum original, SortSupport ssup)
{
	return UInt64GetDatum(DatumGetStreamIdP(original)->ms);
}

/* taking the ms part costs next to nothing, so it is never given up */
static bool
sort_abbreviate_abort(int memtupcount, SortSupport ssup)
{
	return false;
}
#endif

PG_FUNCTION_INFO_V1(stream_streamid_sortsupport);
Datum
stream_streamid_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = sort_compare;
#if SIZEOF_DATUM == 8
	if (ssup->abbreviate)
	{
		ssup->comparator = ssup_datum_unsigned_cmp;
		ssup->abbrev_full_comparator = sort_compare;
		ssup->abbrev_converter = sort_abbreviate;
		ssup->abbrev_abort = sort_abbreviate_abort;
	}
#endif
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(stream_streamid_hash);
Datum
stream_streamid_hash(PG_FUNCTION_ARGS)
{
	return hash_any((unsigned char *) PG_GETARG_POINTER(0), sizeof(StreamId));
}

PG_FUNCTION_INFO_V1(stream_streamid_hash_extended);
Datum
stream_streamid_hash_extended(PG_FUNCTION_ARGS)
{
	return hash_any_extended((unsigned char *) PG_GETARG_POINTER(0),
							 sizeof(StreamId), PG_GETARG_INT64(1));
}

/* --- casts --- */

PG_FUNCTION_INFO_V1(stream_streamid_from_timestamptz);
Datum
stream_streamid_from_timestamptz(PG_FUNCTION_ARGS)
{
	StreamId	id = {ms_from_timestamptz(PG_GETARG_TIMESTAMPTZ(0)), 0};

	PG_RETURN_STREAMID(id);
}

PG_FUNCTION_INFO_V1(stream_streamid_to_timestamptz);
Datum
stream_streamid_to_timestamptz(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(timestamptz_from_ms(PG_GETARG_STREAMID(0).ms));
}
