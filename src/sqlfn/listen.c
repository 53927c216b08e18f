/*
 * listen.c
 *	  xlisten, xunlisten, channel: streams whose new entries are signalled.
 *
 * They take effect at once and are no part of the transaction, as with
 * advisory locks of a session: all they decide is whether the worker sends.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "sqlfn/sqlfn.h"
#include "store/listen.h"

/*
 * xlisten(key): from now on, until xunlisten or the end of the session, new
 * entries are signalled on the stream's channel.  As with reads that wait,
 * the stream need not be there.  42501, 54000 for more than 1000 names.
 */
PG_FUNCTION_INFO_V1(stream_xlisten);
Datum
stream_xlisten(PG_FUNCTION_ARGS)
{
	Db		   *db = strm_use("xlisten()", false);
	KeyArg		key = arg_key(fcinfo, 0);
	Target		t;

	(void) strm_open_read(db, key.name, key.len, PRIV_SELECT, &t);
	strm_listen(key.name, key.len);
	PG_RETURN_VOID();
}

/*
 * xunlisten(key): no more, as far as this session goes.
 */
PG_FUNCTION_INFO_V1(stream_xunlisten);
Datum
stream_xunlisten(PG_FUNCTION_ARGS)
{
	KeyArg		key;

	(void) strm_use("xunlisten()", false);
	key = arg_key(fcinfo, 0);
	strm_unlisten(key.name, key.len);
	PG_RETURN_VOID();
}

/*
 * channel(key): what to LISTEN on.  Needs no stream and no server memory.
 */
PG_FUNCTION_INFO_V1(stream_channel);
Datum
stream_channel(PG_FUNCTION_ARGS)
{
	KeyArg		key = arg_key(fcinfo, 0);
	char		channel[CHANNEL_SIZE];

	strm_channel(key.name, key.len, channel);
	PG_RETURN_TEXT_P(cstring_to_text(channel));
}
