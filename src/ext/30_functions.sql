-- Adding and removing: they change streams with the transaction.

CREATE FUNCTION stream.xadd(
    key stream.stream, fields stream.streamfields, id stream.streampos DEFAULT '*',
    mkstream boolean DEFAULT true, maxlen bigint DEFAULT NULL,
    minid stream.streampos DEFAULT NULL, approx boolean DEFAULT false,
    trim_limit bigint DEFAULT NULL, refs text DEFAULT 'DELREF',
    producer text DEFAULT NULL, iid text DEFAULT NULL)
    RETURNS stream.streamid
    AS 'MODULE_PATHNAME', 'stream_xadd' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xadd(
    key stream.stream, id stream.streampos, field text, value text,
    VARIADIC more text[] DEFAULT '{}')
    RETURNS stream.streamid
    AS 'MODULE_PATHNAME', 'stream_xadd_pairs' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xadd(
    key stream.stream, at timestamptz, fields stream.streamfields)
    RETURNS stream.streamid
    AS 'MODULE_PATHNAME', 'stream_xadd_at' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xadd_many(
    key stream.stream, entries stream.streamfields[], ids stream.streamid[] DEFAULT NULL,
    mkstream boolean DEFAULT true, maxlen bigint DEFAULT NULL,
    minid stream.streampos DEFAULT NULL, approx boolean DEFAULT false,
    refs text DEFAULT 'DELREF', trim_limit bigint DEFAULT NULL,
    producer text DEFAULT NULL, iids text[] DEFAULT NULL)
    RETURNS SETOF stream.streamid
    AS 'MODULE_PATHNAME', 'stream_xadd_many' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xdel(key stream.stream, VARIADIC ids stream.streamids[])
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xdel' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xtrim(
    key stream.stream, maxlen bigint DEFAULT NULL, minid stream.streampos DEFAULT NULL,
    approx boolean DEFAULT false, trim_limit bigint DEFAULT NULL, refs text DEFAULT 'DELREF')
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xtrim' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xcreate(key stream.stream, if_not_exists boolean DEFAULT false)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xcreate' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xdrop(key stream.stream)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xdrop' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xrename(key stream.stream, newkey stream.stream)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xrename' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xsetid(
    key stream.stream, last_id stream.streamid, entries_added bigint DEFAULT NULL,
    max_deleted_id stream.streamid DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xsetid' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xcfgset(
    key stream.stream, idmp_duration interval DEFAULT NULL, idmp_maxsize bigint DEFAULT NULL,
    node_max_bytes bigint DEFAULT NULL, node_max_entries bigint DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xcfgset' LANGUAGE C VOLATILE PARALLEL UNSAFE;

-- Reading.  Volatile, since a transaction's own changes show at once.

CREATE FUNCTION stream.xlen(key stream.stream) RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xlen' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xexists(key stream.stream) RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xexists' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xtail(key stream.stream) RETURNS stream.streamid
    AS 'MODULE_PATHNAME', 'stream_xtail' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xcount(
    key stream.stream, start stream.streampos DEFAULT '-', stop stream.streampos DEFAULT '+')
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xcount' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xrange_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'stream_xrange_support' LANGUAGE C STRICT;
CREATE FUNCTION stream.xrevrange_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'stream_xrevrange_support' LANGUAGE C STRICT;

CREATE FUNCTION stream.xrange(
    key stream.stream, start stream.streampos DEFAULT '-', stop stream.streampos DEFAULT '+',
    count bigint DEFAULT NULL)
    RETURNS TABLE (id stream.streamid, fields stream.streamfields)
    AS 'MODULE_PATHNAME', 'stream_xrange' LANGUAGE C VOLATILE PARALLEL RESTRICTED
    SUPPORT stream.xrange_support;

CREATE FUNCTION stream.xrevrange(
    key stream.stream, stop stream.streampos DEFAULT '+', start stream.streampos DEFAULT '-',
    count bigint DEFAULT NULL)
    RETURNS TABLE (id stream.streamid, fields stream.streamfields)
    AS 'MODULE_PATHNAME', 'stream_xrevrange' LANGUAGE C VOLATILE PARALLEL RESTRICTED
    SUPPORT stream.xrevrange_support;

CREATE FUNCTION stream.xread(
    key stream.stream, after stream.streampos, count bigint DEFAULT NULL,
    block interval DEFAULT NULL)
    RETURNS TABLE (key stream.stream, id stream.streamid, fields stream.streamfields)
    AS 'MODULE_PATHNAME', 'stream_xread' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xread_many(
    keys text[], after stream.streampos[], count bigint DEFAULT NULL,
    block interval DEFAULT NULL, maxcount bigint DEFAULT NULL)
    RETURNS TABLE (key stream.stream, id stream.streamid, fields stream.streamfields)
    AS 'MODULE_PATHNAME', 'stream_xread_many' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE PROCEDURE stream.xwait(
    key stream.stream, after stream.streampos, timeout interval DEFAULT NULL,
    INOUT ready boolean DEFAULT NULL, INOUT pos stream.streamid DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'stream_xwait' LANGUAGE C;

CREATE FUNCTION stream.xinfo_stream(key stream.stream) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'stream_xinfo_stream' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xinfo_stream_full(key stream.stream, count bigint DEFAULT 10) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'stream_xinfo_stream_full' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
