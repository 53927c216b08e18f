/*
 * streampos.c
 *	  The SQL type streampos: its text form, casts from times, range bounds.
 *
 * Text with two or more dashes, or a colon, or one of the words infinity and
 * -infinity, is a date or time and is read as a timestamptz.  That reading
 * depends on the session's time zone and date style, so casts from text are
 * only stable.  Times are written in UTC, which every session reads alike.
 */
#include "types/streampos.h"

#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "types/idtext.h"

StaticAssertDecl(sizeof(StreamPos) == 24, "streampos is 24 bytes in SQL");

static StreamPos *
make_pos(StreamPosKind kind, uint64 ms, uint64 seq)
{
	StreamPos  *pos = palloc0(sizeof(StreamPos));

	pos->kind = kind;
	pos->id.ms = ms;
	pos->id.seq = seq;
	return pos;
}

static StreamPos *
make_time_pos(TimestampTz t)
{
	return make_pos(POS_TIME, ms_from_timestamptz(t), 0);
}

/* --- text and binary form --- */

/* The one-byte forms; false: s is not one of them. */
static bool
kind_of_char(const char *s, StreamPosKind *kind)
{
	if (s[0] == '\0' || s[1] != '\0')
		return false;
	switch (s[0])
	{
		case '-':
			*kind = POS_MIN;
			return true;
		case '+':
			*kind = POS_MAX;
			return true;
		case '$':
			*kind = POS_LAST;
			return true;
		case '>':
			*kind = POS_NEW;
			return true;
		case '*':
			*kind = POS_AUTO;
			return true;
		default:
			return false;
	}
}

static bool
looks_like_time(const char *s)
{
	int			dashes = 0;

	if (s[0] == '(')
		return false;
	if (pg_strcasecmp(s, "infinity") == 0 || pg_strcasecmp(s, "-infinity") == 0)
		return true;
	for (; *s; s++)
	{
		if (*s == ':' || (*s == '-' && ++dashes == 2))
			return true;
	}
	return false;
}

pg_noreturn static void malformed(const char *s, const char *detail);

static void
malformed(const char *s, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.*s\"",
					"streampos", pg_mbcliplen(s, (int) strlen(s), 200), s),
			 errdetail("%s", detail)));
}

/* The server's reading of a time, with its complaint as our detail, so that
 * every malformed position has one SQLSTATE. */
static TimestampTz
parse_time(char *s)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile TimestampTz t = 0;

	PG_TRY();
	{
		t = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in,
													CStringGetDatum(s),
													ObjectIdGetDatum(InvalidOid),
													Int32GetDatum(-1)));
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(caller);
		edata = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		malformed(s, psprintf("Read as a date or time: %s.", edata->message));
	}
	PG_END_TRY();
	return t;
}

static StreamPos *
parse_pos(char *s)
{
	size_t		len = strlen(s);
	StreamPosKind kind;
	StreamPos  *pos;
	StreamId	id;
	bool		has_seq;

	if (kind_of_char(s, &kind))
		return make_pos(kind, 0, 0);
	if (looks_like_time(s))
		return make_time_pos(parse_time(s));
	if (len > 2 && s[len - 2] == '-' && s[len - 1] == '*')
	{
		if (!idtext_parse(s, len - 2, &id, &has_seq))
			malformed(s, "\"ms-*\" needs an unsigned 64-bit number of milliseconds.");
		return make_pos(POS_MS_AUTO, id.ms, 0);
	}
	if (s[0] == '(')
	{
		if (!idtext_parse(s + 1, len - 1, &id, &has_seq))
			malformed(s, "After \"(\" there must be an id, \"ms-seq\" or \"ms\".");
	}
	else if (!idtext_parse(s, len, &id, &has_seq))
		malformed(s, "A position is an id, a time, or one of -, +, $, >, * and ms-*.");

	pos = make_pos(has_seq ? POS_ID : POS_MS, id.ms, id.seq);
	pos->exclusive = s[0] == '(';
	return pos;
}

/* `ms` as a time in UTC */
static char *
time_text(uint64 ms)
{
	char	   *buf = palloc(MAXDATELEN + 1);
	TimestampTz t = timestamptz_from_ms(ms);
	struct pg_tm tm;
	fsec_t		fsec;

	if (TIMESTAMP_NOT_FINITE(t))
		return strcpy(buf, "infinity");
	if (timestamp2tm(t, NULL, &tm, &fsec, NULL, NULL) != 0)
		elog(ERROR, "timestamp out of range");	/* cannot happen */
	tm.tm_isdst = 0;			/* else no zone is written */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_ISO_DATES, buf);
	return buf;
}

char *
streampos_text(const StreamPos *pos)
{
	char	   *buf;
	size_t		len = 0;

	switch ((StreamPosKind) pos->kind)
	{
		case POS_TIME:
			return time_text(pos->id.ms);
		case POS_MIN:
			return pstrdup("-");
		case POS_MAX:
			return pstrdup("+");
		case POS_LAST:
			return pstrdup("$");
		case POS_NEW:
			return pstrdup(">");
		case POS_AUTO:
			return pstrdup("*");
		case POS_ID:
		case POS_MS:
		case POS_MS_AUTO:
			break;
	}
	buf = palloc(IDTEXT_OUT_MAX + 1);
	if (pos->exclusive)
		buf[len++] = '(';
	if (pos->kind == POS_ID)
		idtext_print(pos->id, buf + len);
	else
		len += idtext_print_u64(pos->id.ms, buf + len);
	if (pos->kind == POS_MS_AUTO)
		strcpy(buf + len, "-*");
	return buf;
}

PG_FUNCTION_INFO_V1(stream_streampos_in);
Datum
stream_streampos_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(parse_pos(PG_GETARG_CSTRING(0)));
}

PG_FUNCTION_INFO_V1(stream_streampos_out);
Datum
stream_streampos_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(streampos_text(PG_GETARG_STREAMPOS(0)));
}

/* The binary form is the text. */
PG_FUNCTION_INFO_V1(stream_streampos_recv);
Datum
stream_streampos_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			nbytes;
	char	   *s = pq_getmsgtext(buf, buf->len - buf->cursor, &nbytes);

	PG_RETURN_POINTER(parse_pos(s));
}

PG_FUNCTION_INFO_V1(stream_streampos_send);
Datum
stream_streampos_send(PG_FUNCTION_ARGS)
{
	char	   *s = streampos_text(PG_GETARG_STREAMPOS(0));
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendtext(&buf, s, strlen(s));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* --- casts --- */

PG_FUNCTION_INFO_V1(stream_streampos_from_streamid);
Datum
stream_streampos_from_streamid(PG_FUNCTION_ARGS)
{
	StreamId	id = PG_GETARG_STREAMID(0);

	PG_RETURN_POINTER(make_pos(POS_ID, id.ms, id.seq));
}

PG_FUNCTION_INFO_V1(stream_streampos_from_timestamptz);
Datum
stream_streampos_from_timestamptz(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(make_time_pos(PG_GETARG_TIMESTAMPTZ(0)));
}

/* Dates and local times beyond the range of timestamptz become infinite. */
PG_FUNCTION_INFO_V1(stream_streampos_from_timestamp);
Datum
stream_streampos_from_timestamp(PG_FUNCTION_ARGS)
{
	int			overflow;

	PG_RETURN_POINTER(make_time_pos(timestamp2timestamptz_opt_overflow(PG_GETARG_TIMESTAMP(0), &overflow)));
}

PG_FUNCTION_INFO_V1(stream_streampos_from_date);
Datum
stream_streampos_from_date(PG_FUNCTION_ARGS)
{
	int			overflow;

	PG_RETURN_POINTER(make_time_pos(date2timestamptz_opt_overflow(PG_GETARG_DATEADT(0), &overflow)));
}

/* --- what positions mean --- */

void
streampos_refuse(const StreamPos *pos, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("position \"%s\" cannot be used as %s", streampos_text(pos), what)));
}

StreamId
streampos_start(const StreamPos *pos)
{
	StreamId	id = pos->id;

	switch ((StreamPosKind) pos->kind)
	{
		case POS_MIN:
			return STREAMID_MIN;
		case POS_MAX:
			return STREAMID_MAX;
		case POS_ID:
		case POS_MS:
		case POS_TIME:
			break;
		default:
			streampos_refuse(pos, "the start of a range");
	}
	if (pos->exclusive && !sid_next(&id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid start of range: there is no id after \"%s\"",
						streampos_text(pos) + 1)));
	return id;
}

StreamId
streampos_stop(const StreamPos *pos)
{
	StreamId	id = pos->id;

	switch ((StreamPosKind) pos->kind)
	{
		case POS_MIN:
			return STREAMID_MIN;
		case POS_MAX:
			return STREAMID_MAX;
		case POS_ID:
			break;
		case POS_MS:
		case POS_TIME:
			id.seq = UINT64_MAX;
			break;
		default:
			streampos_refuse(pos, "the end of a range");
	}
	if (pos->exclusive && !sid_prev(&id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid end of range: there is no id before \"%s\"",
						streampos_text(pos) + 1)));
	return id;
}

StreamId
streampos_id(const StreamPos *pos, const char *what)
{
	if (pos->kind > POS_TIME || pos->exclusive)
		streampos_refuse(pos, what);
	return pos->id;
}
