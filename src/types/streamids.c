/*
 * streamids.c
 *	  The SQL type streamids: text and binary form, casts from arrays.
 *
 * Text is one id, or ids in braces as an array of them would be written:
 * separated by commas, spaces around them, double quotes allowed.  There is
 * nothing to escape in an id, so backslashes are not.
 */
#include "types/streamids.h"

#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "parser/scansup.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "types/idtext.h"

#define STREAMIDS_MAX	((int64) ((MaxAllocSize - offsetof(StreamIds, ids)) / sizeof(StreamId)))

StreamIds *
streamids_make(int64 count)
{
	StreamIds  *list;
	Size		size;

	if (count > STREAMIDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a list of ids cannot have more than %lld elements",
						(long long) STREAMIDS_MAX)));
	size = offsetof(StreamIds, ids) + count * sizeof(StreamId);
	list = palloc(size);
	SET_VARSIZE(list, size);
	list->count = (int32) count;
	return list;
}

static void
null_element(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("a list of ids cannot have NULL elements")));
}

/* --- text and binary form --- */

static void
malformed(const char *s)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.*s\"",
					"streamids", pg_mbcliplen(s, (int) strlen(s), 200), s),
			 errdetail("A list of ids is one id, or ids in braces separated by commas.")));
}

static const char *
skip_space(const char *p)
{
	while (scanner_isspace(*p))
		p++;
	return p;
}

/* Read the element at p, quoted or not; returns where it ends. */
static const char *
parse_element(const char *p, const char *whole, StreamId *id)
{
	bool		quoted = *p == '"';
	const char *end;
	bool		has_seq;

	if (quoted)
		p++;
	end = p + strcspn(p, quoted ? "\"" : ",}\" \t\n\r\f\v");
	if (!quoted && end - p == 4 && pg_strncasecmp(p, "null", 4) == 0)
		null_element();
	if (!idtext_parse(p, end - p, id, &has_seq) || (quoted && *end != '"'))
		malformed(whole);
	return quoted ? end + 1 : end;
}

static StreamIds *
parse_list(const char *s)
{
	const char *p = skip_space(s);
	StreamIds  *list;
	int64		max = 1;
	int			n = 0;

	if (*p != '{')
	{
		list = streamids_make(1);
		list->ids[0] = streamid_from_text(s, strlen(s));
		return list;
	}

	for (const char *q = p; *q; q++)
		max += *q == ',';
	list = streamids_make(max);

	p = skip_space(p + 1);
	while (*p != '}')
	{
		if (n > 0)
		{
			if (*p != ',')
				malformed(s);
			p = skip_space(p + 1);
		}
		if (n == max)			/* cannot be: elements are separated by commas */
			malformed(s);
		p = skip_space(parse_element(p, s, &list->ids[n++]));
	}
	if (*skip_space(p + 1) != '\0')
		malformed(s);

	list->count = n;
	SET_VARSIZE(list, offsetof(StreamIds, ids) + n * sizeof(StreamId));
	return list;
}

PG_FUNCTION_INFO_V1(stream_streamids_in);
Datum
stream_streamids_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(parse_list(PG_GETARG_CSTRING(0)));
}

PG_FUNCTION_INFO_V1(stream_streamids_out);
Datum
stream_streamids_out(PG_FUNCTION_ARGS)
{
	StreamIds  *list = PG_GETARG_STREAMIDS(0);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoChar(&buf, '{');
	for (int i = 0; i < list->count; i++)
	{
		char		id[IDTEXT_OUT_MAX];
		size_t		len = idtext_print(list->ids[i], id);

		if (i > 0)
			appendStringInfoChar(&buf, ',');
		appendBinaryStringInfo(&buf, id, len);
	}
	appendStringInfoChar(&buf, '}');
	PG_RETURN_CSTRING(buf.data);
}

/* The binary form: the count, then the ids as streamid sends them. */
PG_FUNCTION_INFO_V1(stream_streamids_recv);
Datum
stream_streamids_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int32		count = (int32) pq_getmsgint(buf, 4);
	StreamIds  *list;

	if (count < 0 || (int64) count * sizeof(StreamId) != buf->len - buf->cursor)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid number of ids in external \"%s\" value", "streamids")));
	list = streamids_make(count);
	for (int i = 0; i < count; i++)
	{
		list->ids[i].ms = (uint64) pq_getmsgint64(buf);
		list->ids[i].seq = (uint64) pq_getmsgint64(buf);
	}
	PG_RETURN_POINTER(list);
}

PG_FUNCTION_INFO_V1(stream_streamids_send);
Datum
stream_streamids_send(PG_FUNCTION_ARGS)
{
	StreamIds  *list = PG_GETARG_STREAMIDS(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendint32(&buf, list->count);
	for (int i = 0; i < list->count; i++)
	{
		pq_sendint64(&buf, list->ids[i].ms);
		pq_sendint64(&buf, list->ids[i].seq);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* --- casts --- */

PG_FUNCTION_INFO_V1(stream_streamids_from_streamid);
Datum
stream_streamids_from_streamid(PG_FUNCTION_ARGS)
{
	StreamIds  *list = streamids_make(1);

	list->ids[0] = PG_GETARG_STREAMID(0);
	PG_RETURN_POINTER(list);
}

/* From streamid[]; an array of several dimensions is read in its storage order. */
PG_FUNCTION_INFO_V1(stream_streamids_from_streamid_array);
Datum
stream_streamids_from_streamid_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	StreamIds  *list;

	if (array_contains_nulls(array))
		null_element();
	list = streamids_make(count);
	memcpy(list->ids, ARR_DATA_PTR(array), count * sizeof(StreamId));
	PG_RETURN_POINTER(list);
}

/* From text[] and varchar[]. */
PG_FUNCTION_INFO_V1(stream_streamids_from_text_array);
Datum
stream_streamids_from_text_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	Datum	   *elems;
	bool	   *nulls;
	int			count;
	StreamIds  *list;

	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
					  &elems, &nulls, &count);
	list = streamids_make(count);
	for (int i = 0; i < count; i++)
	{
		text	   *t;

		if (nulls[i])
			null_element();
		t = DatumGetTextPP(elems[i]);
		list->ids[i] = streamid_from_text(VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
	}
	PG_RETURN_POINTER(list);
}

StreamIds *
streamids_flatten(Datum array)
{
	ArrayType  *a = DatumGetArrayTypeP(array);
	Datum	   *elems;
	bool	   *nulls;
	int			n;
	int64		total = 0;
	StreamIds  *all;

	deconstruct_array(a, ARR_ELEMTYPE(a), -1, false, TYPALIGN_DOUBLE,
					  &elems, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
		{
			elems[i] = PointerGetDatum(DatumGetStreamIdsP(elems[i]));
			total += DatumGetStreamIdsP(elems[i])->count;
		}
	}
	all = streamids_make(total);
	total = 0;
	for (int i = 0; i < n; i++)
	{
		StreamIds  *list;

		if (nulls[i])
			continue;
		list = DatumGetStreamIdsP(elems[i]);
		memcpy(&all->ids[total], list->ids, list->count * sizeof(StreamId));
		total += list->count;
	}
	return all;
}
