/*
 * add.c
 *	  xadd, xadd_many: Redis' XADD.
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "miscadmin.h"

#include "sqlfn/sqlfn.h"

/* 0-0 is below every id; said before a stream is made for it. */
static void
check_pos(const StreamPos *pos)
{
	switch (pos->kind)
	{
		case POS_ID:
		case POS_MS:
			if (pos->exclusive)
				streampos_refuse(pos, "the id of a new entry");
			if (sid_is_zero(pos->id))
				ereport(ERROR,
						(errcode(MAKE_SQLSTATE('S', 'T', '0', '0', '1')),
						 errmsg("the id of an entry must be greater than 0-0")));
			break;
		case POS_TIME:
		case POS_AUTO:
		case POS_MS_AUTO:
			break;
		default:
			streampos_refuse(pos, "the id of a new entry");
	}
}

/*
 * The engine knows a producer or an iid, a string of any length, by half of
 * its SHA-256.  Among the million pairs that a stream may well remember two
 * that are not equal fall together with a probability of 2^-89.
 */
static void
digest(const char *name, text *t, uint8 *out)
{
	uint8		hash[PG_SHA256_DIGEST_LENGTH];
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);

	if (VARSIZE_ANY_EXHDR(t) == 0)
	{
		pg_cryptohash_free(ctx);
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be empty", name)));
	}
	if (pg_cryptohash_init(ctx) < 0 ||
		pg_cryptohash_update(ctx, (uint8 *) VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)) < 0 ||
		pg_cryptohash_final(ctx, hash, sizeof(hash)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not compute the digest of %s", name)));
	pg_cryptohash_free(ctx);
	memcpy(out, hash, IDMP_DIGEST);
}

/* producer from argument n, iid or iids from n + 1: none or both. */
static bool
has_pair(FunctionCallInfo fcinfo, int n, const char *iid)
{
	if (PG_ARGISNULL(n) != PG_ARGISNULL(n + 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("producer and %s must be given together", iid)));
	return !PG_ARGISNULL(n);
}

static void
refuse_id_of_pair(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("producer can be used only where ids are chosen automatically")));
}

/* Adding needs INSERT, and trimming with it DELETE too: who may only add must
 * not be able to remove what others have added. */
bool
add_entry(Db *db, KeyArg key, bool mkstream, const StreamPos *pos, const uint8 *fields,
		  const IdmpKey *pair, const TrimSpec *trim, StreamId *id, bool *repeated)
{
	uint32		need = trim != NULL ? PRIV_INSERT | PRIV_DELETE : PRIV_INSERT;
	Target		t;

	check_pos(pos);
	if (!strm_open_add(db, key.name, key.len, mkstream, need, &t) ||
		!strm_add(&t, pos, fields, pair, mkstream, id, repeated))
		return false;
	if (trim != NULL && !*repeated)
		(void) strm_trim(&t, trim, false);
	return true;
}

/*
 * xadd(key, fields, id, mkstream, maxlen, minid, approx, trim_limit, refs,
 *		producer, iid)
 *
 * Result: the entry's id, of the first entry of the pair (producer, iid) if
 * that is remembered; NULL if the stream is missing and not to be made.
 * ST001 (id not greater), 54000 (no ids left), 22023, 42501, 53200.
 */
PG_FUNCTION_INFO_V1(stream_xadd);
Datum
stream_xadd(PG_FUNCTION_ARGS)
{
	static const StreamPos automatic = {.kind = POS_AUTO};
	Db		   *db = strm_use("xadd()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	const StreamPos *pos = PG_ARGISNULL(2) ? &automatic : PG_GETARG_STREAMPOS(2);
	TrimSpec	trim;
	bool		trims;
	IdmpKey		pair;
	bool		paired;
	StreamId	id;
	bool		repeated;

	arg_not_null(fcinfo, 1, "fields");
	trims = arg_trim(fcinfo, 4, 7, 8, &trim);
	paired = has_pair(fcinfo, 9, "iid");
	if (paired)
	{
		digest("producer", PG_GETARG_TEXT_PP(9), pair.producer);
		digest("iid", PG_GETARG_TEXT_PP(10), pair.iid);
		if (pos->kind != POS_AUTO)
			refuse_id_of_pair();
	}
	if (!add_entry(db, key, arg_bool(fcinfo, 3, true), pos,
				 streamfields_lp(PG_GETARG_STREAMFIELDS(1)), paired ? &pair : NULL,
				 trims ? &trim : NULL, &id, &repeated))
		PG_RETURN_NULL();
	PG_RETURN_STREAMID(id);
}

/*
 * xadd(key, at, fields): at a time, as the id `ms-*`.
 */
PG_FUNCTION_INFO_V1(stream_xadd_at);
Datum
stream_xadd_at(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xadd()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	StreamPos	pos = {.kind = POS_TIME};
	StreamId	id;
	bool		repeated;

	arg_not_null(fcinfo, 1, "at");
	arg_not_null(fcinfo, 2, "fields");
	pos.id.ms = ms_from_timestamptz(PG_GETARG_TIMESTAMPTZ(1));
	(void) add_entry(db, key, true, &pos, streamfields_lp(PG_GETARG_STREAMFIELDS(2)), NULL, NULL, &id, &repeated);
	PG_RETURN_STREAMID(id);
}

static void
add_text(FieldsBuilder *b, text *t)
{
	fields_add(b, VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t));
}

/*
 * xadd(key, id, field, value, VARIADIC more): the pairs form.
 */
PG_FUNCTION_INFO_V1(stream_xadd_pairs);
Datum
stream_xadd_pairs(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xadd()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	StreamPos  *pos;
	FieldsBuilder b;
	StreamId	id;
	bool		repeated;

	arg_not_null(fcinfo, 1, "id");
	arg_not_null(fcinfo, 2, "field");
	arg_not_null(fcinfo, 3, "value");
	pos = PG_GETARG_STREAMPOS(1);
	fields_begin(&b);
	add_text(&b, PG_GETARG_TEXT_PP(2));
	add_text(&b, PG_GETARG_TEXT_PP(3));
	if (!PG_ARGISNULL(4))
	{
		Datum	   *more;
		int			n = arg_array(fcinfo, 4, "more", &more, NULL);

		if (n % 2 != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("fields and values must come in pairs"),
					 errdetail("The last field has no value.")));
		for (int i = 0; i < n; i++)
			add_text(&b, DatumGetTextPP(more[i]));
	}
	(void) add_entry(db, key, true, pos, streamfields_lp(fields_end(&b)), NULL, NULL, &id, &repeated);
	PG_RETURN_STREAMID(id);
}

/*
 * xadd_many(key, entries, ids, mkstream, maxlen, minid, approx, refs, trim_limit,
 *		producer, iids)
 *
 * Result: the ids in the order of the entries; nothing if the stream is
 * missing and not to be made.  A NULL among the ids has one chosen.  The trim
 * comes after the last entry that is added.
 */
PG_FUNCTION_INFO_V1(stream_xadd_many);
Datum
stream_xadd_many(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xadd_many()", true);
	KeyArg		key = arg_key(fcinfo, 0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		mkstream = arg_bool(fcinfo, 3, true);
	Datum	   *entries;
	Datum	   *ids = NULL;
	bool	   *id_nulls = NULL;
	Datum	   *iids = NULL;
	IdmpKey		pair;
	bool		added = false;
	int			n = arg_array(fcinfo, 1, "entries", &entries, NULL);
	TrimSpec	trim;
	bool		trims = arg_trim(fcinfo, 4, 8, 7, &trim);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!PG_ARGISNULL(2))
	{
		int			nids = arg_array(fcinfo, 2, "ids", &ids, &id_nulls);

		if (nids != n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("as many ids as entries are needed"),
					 errdetail("There are %d entries and %d ids.", n, nids)));
	}
	if (has_pair(fcinfo, 9, "iids"))
	{
		int			niids = arg_array(fcinfo, 10, "iids", &iids, NULL);

		if (niids != n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("as many iids as entries are needed"),
					 errdetail("There are %d entries and %d iids.", n, niids)));
		if (ids != NULL)
			refuse_id_of_pair();
		digest("producer", PG_GETARG_TEXT_PP(9), pair.producer);
	}
	for (int i = 0; i < n; i++)
	{
		StreamPos	pos = {.kind = POS_AUTO};
		StreamId	id;
		bool		repeated;
		Datum		value;
		bool		isnull = false;

		CHECK_FOR_INTERRUPTS();
		if (ids != NULL && !id_nulls[i])
		{
			pos.kind = POS_ID;
			pos.id = *DatumGetStreamIdP(ids[i]);
		}
		if (iids != NULL)
			digest("iid", DatumGetTextPP(iids[i]), pair.iid);
		if (!add_entry(db, key, mkstream, &pos, streamfields_lp(DatumGetStreamFieldsP(entries[i])),
					 iids ? &pair : NULL, NULL, &id, &repeated))
			break;
		added = added || !repeated;
		value = PointerGetDatum(&id);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &isnull);
	}
	if (trims && added)
	{
		Target		t;

		if (strm_open_add(db, key.name, key.len, false, PRIV_INSERT | PRIV_DELETE, &t))
			(void) strm_trim(&t, &trim, false);
	}
	return (Datum) 0;
}
