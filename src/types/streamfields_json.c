/*
 * streamfields_json.c
 *	  Field lists as JSON objects.
 *
 * Writing: every name and every value becomes a JSON string, in order,
 * repeated names included.  Bytes that are no text of the database encoding,
 * or hold a zero byte, get a stand-in of hex digits:
 *
 *	 value:  {"$bytea": "\\x00ff"}
 *	 name:	 "$bytea:\\x00ff"		(also for a name that begins with $bytea:)
 *
 * Reading: a string is its text; numbers, true, false, null, arrays and
 * objects are kept as they are written.  An object whose only member is
 * $bytea, and a name that begins with $bytea:, are stand-ins and must be well
 * formed.  So what was written reads back as the same bytes: a value that
 * merely looks like a stand-in was written as a string.
 *
 * Parsing is the server's (pg_parse_json); differences between its versions
 * are kept in the section "server versions".
 */
#include "types/streamfields.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define BYTEA_KEY			"$bytea"
#define BYTEA_NAME_PREFIX	"$bytea:"
#define BYTEA_NAME_PREFIX_LEN	(sizeof(BYTEA_NAME_PREFIX) - 1)

/* --- reading --- */

typedef struct FieldsParse
{
	JsonLexContext *lex;
	FieldsBuilder fields;

	/* the value being read, if it is an array or object */
	const char *nested_start;	/* NULL: it is a scalar */
	bool		nested_object;
	int			members;		/* of the object itself */
	bool		last_is_bytea;	/* its last member is named $bytea */
	char	   *bytea;			/* value of that member, if a string */
} FieldsParse;

pg_noreturn static void malformed(const char *detail);

static void
malformed(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s", "streamfields"),
			 errdetail("%s", detail)));
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Add the bytes of `\x` and hex digits as a name or value. */
static void
add_hex(FieldsBuilder *fields, const char *hex)
{
	size_t		len = strlen(hex);
	char	   *bytes;

	if (len % 2 != 0 || hex[0] != '\\' || hex[1] != 'x')
		malformed("Bytes in \"$bytea\" must be written as \\x and pairs of hexadecimal digits.");
	bytes = palloc(len / 2);
	for (size_t i = 2; i < len; i += 2)
	{
		int			high = hex_digit(hex[i]);
		int			low = hex_digit(hex[i + 1]);

		if (high < 0 || low < 0)
			malformed("Bytes in \"$bytea\" must be written as \\x and pairs of hexadecimal digits.");
		bytes[i / 2 - 1] = (char) (high << 4 | low);
	}
	fields_add(fields, bytes, len / 2 - 1);
	pfree(bytes);
}

/*
 * Levels: 0 outside the object, 1 between its braces, 2 inside a nested array
 * or object, and so on.
 */
static JsonActionResult
nested_start(FieldsParse *st, bool object)
{
	if (st->lex->lex_level == 0 && !object)
		malformed("Fields must be a JSON object.");
	if (st->lex->lex_level == 1)
	{
		st->nested_object = object;
		st->members = 0;
		st->last_is_bytea = false;
		st->bytea = NULL;
	}
	JSON_ACTION_DONE;
}

static JsonActionResult
on_object_start(void *state)
{
	return nested_start(state, true);
}

static JsonActionResult
on_array_start(void *state)
{
	return nested_start(state, false);
}

static JsonActionResult
on_field_start(void *state, char *name, bool isnull)
{
	FieldsParse *st = state;

	if (st->lex->lex_level == 1)
	{
		JsonTokenType token = st->lex->token_type;

		if (strncmp(name, BYTEA_NAME_PREFIX, BYTEA_NAME_PREFIX_LEN) == 0)
			add_hex(&st->fields, name + BYTEA_NAME_PREFIX_LEN);
		else
			fields_add(&st->fields, name, strlen(name));
		st->nested_start = token == JSON_TOKEN_OBJECT_START || token == JSON_TOKEN_ARRAY_START ?
			st->lex->token_start : NULL;
	}
	else if (st->lex->lex_level == 2)
	{
		st->members++;
		st->last_is_bytea = strcmp(name, BYTEA_KEY) == 0;
	}
	JSON_ACTION_DONE;
}

static JsonActionResult
on_field_end(void *state, char *name, bool isnull)
{
	FieldsParse *st = state;

	if (st->lex->lex_level == 1 && st->nested_start != NULL)
	{
		/* the lexer already stands on the token after the value */
		if (st->nested_object && st->members == 1 && st->last_is_bytea)
		{
			if (st->bytea == NULL)
				malformed("The value of \"$bytea\" must be a string.");
			add_hex(&st->fields, st->bytea);
			pfree(st->bytea);
		}
		else
			fields_add(&st->fields, st->nested_start,
					   st->lex->prev_token_terminator - st->nested_start);
	}
	pfree(name);
	JSON_ACTION_DONE;
}

static JsonActionResult
on_scalar(void *state, char *token, JsonTokenType type)
{
	FieldsParse *st = state;
	int			level = st->lex->lex_level;

	if (level == 0)
		malformed("Fields must be a JSON object.");
	if (level == 1)
		fields_add(&st->fields, token, strlen(token));
	if (level == 2 && st->nested_object && st->members == 1 && st->last_is_bytea &&
		type == JSON_TOKEN_STRING)
		st->bytea = token;
	else
		pfree(token);
	JSON_ACTION_DONE;
}

StreamFields *
streamfields_from_json(const char *json, size_t len)
{
	FieldsParse	st = {0};
	JsonSemAction actions = {
		.semstate = &st,
		.object_start = on_object_start,
		.array_start = on_array_start,
		.object_field_start = on_field_start,
		.object_field_end = on_field_end,
		.scalar = on_scalar,
	};
	JsonParseErrorType result;

	st.lex = JsonLexer(json, len);
	fields_begin(&st.fields);
	result = pg_parse_json(st.lex, &actions);
	if (result != JSON_SUCCESS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for type %s", "streamfields"),
				 errdetail_internal("%s", json_errdetail(result, st.lex)),
				 result == JSON_UNICODE_CODE_POINT_ZERO ?
				 errhint("Write a value with a zero byte as {\"$bytea\": \"\\\\x...\"}.") : 0));
	return fields_end(&st.fields);
}

/* --- writing --- */

/* A JSON string.  Every byte of a multibyte character of a server encoding
 * has its high bit set, so bytes can be looked at one by one. */
static void
append_string(StringInfo out, const char *s, size_t len)
{
	size_t		done = 0;

	appendStringInfoChar(out, '"');
	for (size_t i = 0; i < len; i++)
	{
		unsigned char c = s[i];
		const char *escape;
		char		unicode[8];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		switch (c)
		{
			case '"':
				escape = "\\\"";
				break;
			case '\\':
				escape = "\\\\";
				break;
			case '\b':
				escape = "\\b";
				break;
			case '\f':
				escape = "\\f";
				break;
			case '\n':
				escape = "\\n";
				break;
			case '\r':
				escape = "\\r";
				break;
			case '\t':
				escape = "\\t";
				break;
			default:
				snprintf(unicode, sizeof(unicode), "\\u%04x", c);
				escape = unicode;
		}
		appendBinaryStringInfo(out, s + done, i - done);
		appendStringInfoString(out, escape);
		done = i + 1;
	}
	appendBinaryStringInfo(out, s + done, len - done);
	appendStringInfoChar(out, '"');
}

static void
append_hex(StringInfo out, const char *s, size_t len)
{
	enlargeStringInfo(out, len < MaxAllocSize / 2 ? (int) (len * 2) : MaxAllocSize);
	out->len += hex_encode(s, len, out->data + out->len);
	out->data[out->len] = '\0';
}

static bool
is_text(const LpValue *v)
{
	return v->is_int || pg_verify_mbstr(GetDatabaseEncoding(), v->str, (int) v->len, true);
}

static bool
has_name_prefix(const LpValue *v)
{
	return v->len >= BYTEA_NAME_PREFIX_LEN &&
		memcmp(v->str, BYTEA_NAME_PREFIX, BYTEA_NAME_PREFIX_LEN) == 0;
}

static void
append_name(StringInfo out, const LpValue *v)
{
	if (is_text(v) && !has_name_prefix(v))
	{
		append_string(out, v->str, v->len);
		return;
	}
	appendStringInfoString(out, "\"" BYTEA_NAME_PREFIX "\\\\x");
	append_hex(out, v->str, v->len);
	appendStringInfoChar(out, '"');
}

static void
append_stand_in(StringInfo out, const LpValue *v)
{
	appendStringInfoString(out, "{\"" BYTEA_KEY "\": \"\\\\x");
	append_hex(out, v->str, v->len);
	appendStringInfoString(out, "\"}");
}

void
streamfields_to_json(const StreamFields *f, StringInfo out)
{
	const uint8_t *p = lp_first(streamfields_lp(f));
	LpValue		v;

	appendStringInfoChar(out, '{');
	for (bool first = true; !lp_at_end(p); first = false)
	{
		if (!first)
			appendStringInfoString(out, ", ");
		lp_get(p, &v);
		append_name(out, &v);
		appendStringInfoString(out, ": ");
		p = lp_next(p);
		lp_get(p, &v);
		if (is_text(&v))
			append_string(out, v.str, v.len);
		else
			append_stand_in(out, &v);
		p = lp_next(p);
	}
	appendStringInfoChar(out, '}');
}

text *
streamfields_show(const uint8_t *elem, bool is_name)
{
	LpValue		v;
	StringInfoData out;

	lp_get(elem, &v);
	if (is_text(&v))
		return cstring_to_text_with_len(v.str, (int) v.len);
	initStringInfo(&out);
	if (is_name)
	{
		appendStringInfoString(&out, BYTEA_NAME_PREFIX "\\x");
		append_hex(&out, v.str, v.len);
	}
	else
		append_stand_in(&out, &v);
	return cstring_to_text_with_len(out.data, out.len);
}
