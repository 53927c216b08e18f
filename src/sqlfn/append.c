/*
 * append.c
 *	  The view stream.append: adding entries with INSERT and COPY.
 *
 * The view is empty; its INSTEAD OF trigger adds each row by xadd's rules and
 * puts the id given into the row, for RETURNING.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "journal/journal.h"
#include "sqlfn/sqlfn.h"

enum
{
	Anum_append_key = 1,
	Anum_append_fields,
	Anum_append_id
};

static Datum
column(TriggerData *data, int attnum, const char *name)
{
	bool		isnull;
	Datum		value = heap_getattr(data->tg_trigtuple, attnum,
									 RelationGetDescr(data->tg_relation), &isnull);

	if (isnull && name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" of stream.append must not be null", name)));
	return isnull ? (Datum) 0 : value;
}

PG_FUNCTION_INFO_V1(stream_append_row);
Datum
stream_append_row(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Db		   *db;
	KeyArg		key;
	StreamPos	pos = {.kind = POS_AUTO};
	Datum		given;
	Datum		fields;
	StreamId	id;
	bool		repeated;
	int			attnum = Anum_append_id;
	Datum		value = PointerGetDatum(&id);
	bool		isnull = false;

	/* of another view the columns would be taken for what they are not */
	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_INSTEAD(data->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(data->tg_event) ||
		RelationGetRelid(data->tg_relation) != get_relname_relid("append", strm_schema_oid()))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("append_row() must be called as a trigger of stream.append")));
	db = strm_use("INSERT into stream.append", true);
	key = key_from_text(DatumGetTextPP(column(data, Anum_append_key, "key")));
	fields = column(data, Anum_append_fields, "fields");
	given = column(data, Anum_append_id, NULL);
	if (given != (Datum) 0)
	{
		pos.kind = POS_ID;
		pos.id = *DatumGetStreamIdP(given);
	}
	(void) add_entry(db, key, true, &pos, streamfields_lp(DatumGetStreamFieldsP(fields)),
					 NULL, NULL, &id, &repeated);
	return PointerGetDatum(heap_modify_tuple_by_cols(data->tg_trigtuple,
													 RelationGetDescr(data->tg_relation),
													 1, &attnum, &value, &isnull));
}
