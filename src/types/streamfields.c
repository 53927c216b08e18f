/*
 * streamfields.c
 *	  The SQL type streamfields: building, binary form, comparison, access.
 *
 * Equal lists have equal bytes, because the listpack is canonical; equality,
 * hash and order work on the bytes.  The order means nothing to people, it
 * serves DISTINCT, GROUP BY and merge joins.
 *
 * The text form is in streamfields_json.c.
 */
#include "types/streamfields.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "engine/node.h"

#define BINARY_VERSION	1		/* first byte of the binary form */

/*
 * Greatest listpack in a value: less than a varlena allows by the zero byte of
 * a StringInfo, and by what a node adds to the fields of its only entry, which
 * may have another id's delta once it is in a stream.  Values made by users
 * leave room for what a dead letter adds.
 */
#define FIELDS_BYTES_MAX	((Size) (MaxAllocSize - VARHDRSZ - 1 - NODE_ONE_GROWTH - NODE_DELTA_GROWTH))
#define FIELDS_MADE_MAX		(FIELDS_BYTES_MAX - FIELDS_HISTORY_MAX)

StaticAssertDecl(MaxAllocSize <= LP_BYTES_MAX, "a value is within the limit of a listpack");

/* --- building --- */

static void
too_large(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("fields of an entry are too large"),
			 errdetail("They can have %zu bytes.", FIELDS_MADE_MAX)));
}

StreamFields *
streamfields_alloc(size_t bytes)
{
	StreamFields *f;

	if (bytes > FIELDS_BYTES_MAX)
		too_large();
	f = palloc(VARHDRSZ + bytes);
	SET_VARSIZE(f, VARHDRSZ + bytes);
	return f;
}

StreamFields *
streamfields_make(const uint8_t *lp, size_t bytes)
{
	StreamFields *f;

	if (bytes > FIELDS_MADE_MAX)
		too_large();
	f = streamfields_alloc(bytes);
	memcpy(VARDATA(f), lp, bytes);
	return f;
}

void
fields_begin(FieldsBuilder *b)
{
	initStringInfo(&b->buf);
	b->buf.len = VARHDRSZ + LP_HDR_SIZE;
	b->count = 0;
	b->max = FIELDS_MADE_MAX;
}

void
fields_begin_dead(FieldsBuilder *b)
{
	fields_begin(b);
	b->max = FIELDS_BYTES_MAX;
}

void
fields_add(FieldsBuilder *b, const char *s, size_t len)
{
	size_t		bytes = lp_str_size(s, len);
	size_t		room = b->max - (b->buf.len - VARHDRSZ) - 1;

	if (bytes > room)			/* 1 byte is for the terminator */
		too_large();
	enlargeStringInfo(&b->buf, (int) bytes + 1);
	b->buf.len += (int) lp_str_write((uint8_t *) b->buf.data + b->buf.len, s, len);
	b->count++;
}

StreamFields *
fields_end(FieldsBuilder *b)
{
	StreamFields *f = (StreamFields *) b->buf.data;
	uint8_t    *lp = (uint8_t *) VARDATA(f);

	Assert(b->count % 2 == 0);
	if (b->count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("an entry needs at least one field")));
	b->buf.data[b->buf.len++] = (char) LP_EOF;
	lp_set_header(lp, b->buf.len - VARHDRSZ, b->count);
	SET_VARSIZE(f, b->buf.len);
	return f;
}

static void
null_element(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of a field cannot be NULL", what)));
}

static void
add_varlena(FieldsBuilder *b, Datum d)
{
	struct varlena *v = PG_DETOAST_DATUM_PACKED(d);

	fields_add(b, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	if ((Pointer) v != DatumGetPointer(d))
		pfree(v);
}

/* How the arguments of one call of fields() are shown: by output function,
 * or, where that is not set, as the bytes they are. */
typedef struct FieldsCall
{
	int			nargs;
	FmgrInfo	output[FLEXIBLE_ARRAY_MEMBER];
} FieldsCall;

static void
find_output(FmgrInfo *output, Oid type, MemoryContext context)
{
	Oid			function;
	bool		is_varlena;

	memset(output, 0, sizeof(*output));
	if (type == BYTEAOID || type == TEXTOID || type == VARCHAROID)
		return;
	getTypeOutputInfo(type, &function, &is_varlena);
	fmgr_info_cxt(function, output, context);
}

static void
add_value(FieldsBuilder *b, Datum d, FmgrInfo *output)
{
	char	   *s;

	if (!OidIsValid(output->fn_oid))
	{
		add_varlena(b, d);
		return;
	}
	s = OutputFunctionCall(output, d);
	fields_add(b, s, strlen(s));
	pfree(s);
}

static void
check_pairs(int n)
{
	if (n % 2 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s needs names and values in turn", "fields"),
				 errdetail("It was given %d arguments.", n)));
}

static void
check_null(bool isnull, int i)
{
	if (isnull)
		null_element(i % 2 == 0 ? "the name" : "the value");
}

/* fields(VARIADIC array) */
static Datum
fields_of_array(FunctionCallInfo fcinfo)
{
	FieldsBuilder b;
	FmgrInfo	output;
	Datum	   *args;
	Oid		   *types;
	bool	   *nulls;
	int			n = extract_variadic_args(fcinfo, 0, true, &args, &types, &nulls);

	if (n < 0)
		null_element("a name or value");
	check_pairs(n);
	if (n > 0)
		find_output(&output, types[0], CurrentMemoryContext);
	fields_begin(&b);
	for (int i = 0; i < n; i++)
	{
		check_null(nulls[i], i);
		add_value(&b, args[i], &output);
	}
	PG_RETURN_POINTER(fields_end(&b));
}

static FieldsCall *
fields_call(FunctionCallInfo fcinfo)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	int			n = PG_NARGS();
	FieldsCall *call = MemoryContextAlloc(context, offsetof(FieldsCall, output) + n * sizeof(FmgrInfo));

	call->nargs = n;
	for (int i = 0; i < n; i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, i);

		if (!OidIsValid(type))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("could not determine data type for argument %d", i + 1)));
		find_output(&call->output[i], type, context);
	}
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/* fields(name, value, ...) */
PG_FUNCTION_INFO_V1(stream_fields);
Datum
stream_fields(PG_FUNCTION_ARGS)
{
	FieldsCall *call = fcinfo->flinfo->fn_extra;
	FieldsBuilder b;

	if (call == NULL)
	{
		if (get_fn_expr_variadic(fcinfo->flinfo))
			return fields_of_array(fcinfo);
		check_pairs(PG_NARGS());
		call = fields_call(fcinfo);
	}
	fields_begin(&b);
	for (int i = 0; i < call->nargs; i++)
	{
		check_null(PG_ARGISNULL(i), i);
		add_value(&b, PG_GETARG_DATUM(i), &call->output[i]);
	}
	PG_RETURN_POINTER(fields_end(&b));
}

static int
deconstruct_varlena(ArrayType *a, Datum **elems, bool **nulls)
{
	int			n;

	deconstruct_array(a, ARR_ELEMTYPE(a), -1, false, TYPALIGN_INT, elems, nulls, &n);
	return n;
}

/* fields_from(names text[], vals bytea[]) */
PG_FUNCTION_INFO_V1(stream_fields_from);
Datum
stream_fields_from(PG_FUNCTION_ARGS)
{
	FieldsBuilder b;
	Datum	   *names;
	Datum	   *vals;
	bool	   *name_nulls;
	bool	   *val_nulls;
	int			n;
	int			nvals;

	if (PG_ARGISNULL(0))
		null_element("the name");
	if (PG_ARGISNULL(1))
		null_element("the value");
	n = deconstruct_varlena(PG_GETARG_ARRAYTYPE_P(0), &names, &name_nulls);
	nvals = deconstruct_varlena(PG_GETARG_ARRAYTYPE_P(1), &vals, &val_nulls);
	if (n != nvals)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s needs as many values as names", "fields_from"),
				 errdetail("It was given %d names and %d values.", n, nvals)));
	fields_begin(&b);
	for (int i = 0; i < n; i++)
	{
		if (name_nulls[i])
			null_element("the name");
		if (val_nulls[i])
			null_element("the value");
		add_varlena(&b, names[i]);
		add_varlena(&b, vals[i]);
	}
	PG_RETURN_POINTER(fields_end(&b));
}

/* --- text and binary form --- */

PG_FUNCTION_INFO_V1(stream_streamfields_in);
Datum
stream_streamfields_in(PG_FUNCTION_ARGS)
{
	char	   *s = PG_GETARG_CSTRING(0);

	PG_RETURN_POINTER(streamfields_from_json(s, strlen(s)));
}

PG_FUNCTION_INFO_V1(stream_streamfields_out);
Datum
stream_streamfields_out(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	streamfields_to_json(PG_GETARG_STREAMFIELDS(0), &out);
	PG_RETURN_CSTRING(out.data);
}

/* The binary form: a version byte, then the listpack. */
PG_FUNCTION_INFO_V1(stream_streamfields_recv);
Datum
stream_streamfields_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	int			version = pq_getmsgbyte(buf);
	size_t		bytes = buf->len - buf->cursor;
	const uint8_t *lp;
	uint32_t	count;

	if (version != BINARY_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("unsupported version %d of external \"%s\" value", version, "streamfields")));
	lp = (const uint8_t *) pq_getmsgbytes(buf, (int) bytes);
	if (!lp_validate(lp, bytes, true, &count) || count == 0 || count % 2 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid list of fields in external \"%s\" value", "streamfields")));
	PG_RETURN_POINTER(streamfields_make(lp, bytes));
}

PG_FUNCTION_INFO_V1(stream_streamfields_send);
Datum
stream_streamfields_send(PG_FUNCTION_ARGS)
{
	StreamFields *f = PG_GETARG_STREAMFIELDS(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendbyte(&buf, BINARY_VERSION);
	pq_sendbytes(&buf, (const char *) streamfields_lp(f), (int) streamfields_bytes(f));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* --- casts --- */

PG_FUNCTION_INFO_V1(stream_streamfields_to_json);
Datum
stream_streamfields_to_json(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	streamfields_to_json(PG_GETARG_STREAMFIELDS(0), &out);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* Names and values in turn, or an array of pairs. */
PG_FUNCTION_INFO_V1(stream_streamfields_from_text_array);
Datum
stream_streamfields_from_text_array(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	FieldsBuilder b;
	Datum	   *elems;
	bool	   *nulls;
	int			n = deconstruct_varlena(array, &elems, &nulls);

	if (n % 2 != 0 || ARR_NDIM(array) > 2 || (ARR_NDIM(array) == 2 && ARR_DIMS(array)[1] != 2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("an array of fields must hold names and values in turn, or pairs of them")));
	fields_begin(&b);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			null_element(i % 2 == 0 ? "the name" : "the value");
		add_varlena(&b, elems[i]);
	}
	PG_RETURN_POINTER(fields_end(&b));
}

PG_FUNCTION_INFO_V1(stream_streamfields_to_text_array);
Datum
stream_streamfields_to_text_array(PG_FUNCTION_ARGS)
{
	StreamFields *f = PG_GETARG_STREAMFIELDS(0);
	ArrayBuildState *array = NULL;
	bool		is_name = true;

	for (const uint8_t *p = lp_first(streamfields_lp(f)); !lp_at_end(p); p = lp_next(p))
	{
		array = accumArrayResult(array, PointerGetDatum(streamfields_show(p, is_name)),
								 false, TEXTOID, CurrentMemoryContext);
		is_name = !is_name;
	}
	PG_RETURN_DATUM(makeArrayResult(array, CurrentMemoryContext));
}

/* --- access --- */

const uint8_t *
streamfields_find(const StreamFields *f, const char *name, size_t len)
{
	const uint8_t *found = NULL;
	const uint8_t *p = lp_first(streamfields_lp(f));

	while (!lp_at_end(p))
	{
		const uint8_t *value = lp_next(p);

		if (lp_equal(p, name, len))
			found = value;
		p = lp_next(value);
	}
	return found;
}

static const uint8_t *
find_arg(FunctionCallInfo fcinfo)
{
	text	   *name = PG_GETARG_TEXT_PP(1);

	return streamfields_find(PG_GETARG_STREAMFIELDS(0), VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
}

PG_FUNCTION_INFO_V1(stream_streamfields_get);
Datum
stream_streamfields_get(PG_FUNCTION_ARGS)
{
	const uint8_t *value = find_arg(fcinfo);

	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(streamfields_show(value, false));
}

PG_FUNCTION_INFO_V1(stream_streamfields_exists);
Datum
stream_streamfields_exists(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(find_arg(fcinfo) != NULL);
}

PG_FUNCTION_INFO_V1(stream_field_bytes);
Datum
stream_field_bytes(PG_FUNCTION_ARGS)
{
	const uint8_t *value = find_arg(fcinfo);
	LpValue		v;

	if (value == NULL)
		PG_RETURN_NULL();
	lp_get(value, &v);
	PG_RETURN_BYTEA_P((bytea *) cstring_to_text_with_len(v.str, (int) v.len));
}

/* --- comparison --- */

static int
compare(FunctionCallInfo fcinfo)
{
	StreamFields *a = PG_GETARG_STREAMFIELDS(0);
	StreamFields *b = PG_GETARG_STREAMFIELDS(1);
	size_t		alen = streamfields_bytes(a);
	size_t		blen = streamfields_bytes(b);
	int			cmp = memcmp(streamfields_lp(a), streamfields_lp(b), Min(alen, blen));

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	if (cmp != 0)
		return cmp;
	return alen < blen ? -1 : alen > blen;
}

PG_FUNCTION_INFO_V1(stream_streamfields_cmp);
Datum
stream_streamfields_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare(fcinfo));
}

PG_FUNCTION_INFO_V1(stream_streamfields_eq);
Datum
stream_streamfields_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) == 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_ne);
Datum
stream_streamfields_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) != 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_lt);
Datum
stream_streamfields_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) < 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_le);
Datum
stream_streamfields_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) <= 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_gt);
Datum
stream_streamfields_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) > 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_ge);
Datum
stream_streamfields_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) >= 0);
}

PG_FUNCTION_INFO_V1(stream_streamfields_hash);
Datum
stream_streamfields_hash(PG_FUNCTION_ARGS)
{
	StreamFields *f = PG_GETARG_STREAMFIELDS(0);
	Datum		result = hash_any(streamfields_lp(f), (int) streamfields_bytes(f));

	PG_FREE_IF_COPY(f, 0);
	return result;
}

PG_FUNCTION_INFO_V1(stream_streamfields_hash_extended);
Datum
stream_streamfields_hash_extended(PG_FUNCTION_ARGS)
{
	StreamFields *f = PG_GETARG_STREAMFIELDS(0);
	Datum		result = hash_any_extended(streamfields_lp(f), (int) streamfields_bytes(f),
										   PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(f, 0);
	return result;
}
