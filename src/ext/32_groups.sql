-- Consumer groups.  They are written by reading, too.

CREATE FUNCTION stream.xgroup_create(
    key stream.stream, grp text, pos stream.streampos DEFAULT '0', mkstream boolean DEFAULT false,
    entries_read bigint DEFAULT NULL, in_order boolean DEFAULT true, if_not_exists boolean DEFAULT false)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xgroup_create' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgroup_set(
    key stream.stream, grp text, retry interval DEFAULT NULL, max_deliveries bigint DEFAULT NULL,
    dead_letter text DEFAULT NULL, in_order boolean DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xgroup_set' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgroup_setid(
    key stream.stream, grp text, pos stream.streampos, entries_read bigint DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xgroup_setid' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgroup_destroy(key stream.stream, grp text)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xgroup_destroy' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgroup_createconsumer(key stream.stream, grp text, consumer text)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'stream_xgroup_createconsumer' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgroup_delconsumer(
    key stream.stream, grp text, consumer text, release boolean DEFAULT true)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xgroup_delconsumer' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xreadgroup(
    key stream.stream, grp text, consumer text, pos stream.streampos DEFAULT '>',
    count bigint DEFAULT 100, block interval DEFAULT NULL, noack boolean DEFAULT false,
    claim interval DEFAULT NULL)
    RETURNS TABLE (key stream.stream, id stream.streamid, fields stream.streamfields,
                   idle interval, deliveries bigint)
    AS 'MODULE_PATHNAME', 'stream_xreadgroup' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;

CREATE FUNCTION stream.xreadgroup_many(
    keys text[], grp text, consumer text, pos stream.streampos[] DEFAULT NULL,
    count bigint DEFAULT 100, block interval DEFAULT NULL, noack boolean DEFAULT false,
    claim interval DEFAULT NULL, maxcount bigint DEFAULT NULL)
    RETURNS TABLE (key stream.stream, id stream.streamid, fields stream.streamfields,
                   idle interval, deliveries bigint)
    AS 'MODULE_PATHNAME', 'stream_xreadgroup_many' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE PROCEDURE stream.xwaitgroup(
    key stream.stream, grp text, timeout interval DEFAULT NULL, INOUT ready boolean DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'stream_xwaitgroup' LANGUAGE C;

CREATE FUNCTION stream.xack(key stream.stream, grp text, VARIADIC ids stream.streamids[])
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xack' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xackdel(
    key stream.stream, grp text, ids stream.streamids, refs text DEFAULT 'DELREF')
    RETURNS TABLE (id stream.streamid, result integer)
    AS 'MODULE_PATHNAME', 'stream_xackdel' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xnack(
    key stream.stream, grp text, mode text, ids stream.streamids, retrycount bigint DEFAULT NULL,
    force boolean DEFAULT false, delay interval DEFAULT NULL)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'stream_xnack' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xdelex(key stream.stream, ids stream.streamids, refs text DEFAULT 'DELREF')
    RETURNS TABLE (id stream.streamid, result integer)
    AS 'MODULE_PATHNAME', 'stream_xdelex' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xclaim(
    key stream.stream, grp text, consumer text, min_idle interval, ids stream.streamids,
    idle interval DEFAULT NULL, at timestamptz DEFAULT NULL, retrycount bigint DEFAULT NULL,
    force boolean DEFAULT false, justid boolean DEFAULT false, last_id stream.streamid DEFAULT NULL)
    RETURNS TABLE (id stream.streamid, fields stream.streamfields)
    AS 'MODULE_PATHNAME', 'stream_xclaim' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xautoclaim(
    key stream.stream, grp text, consumer text, min_idle interval,
    start stream.streampos DEFAULT '0-0', count bigint DEFAULT 100, justid boolean DEFAULT false)
    RETURNS TABLE (id stream.streamid, fields stream.streamfields, deliveries bigint)
    AS 'MODULE_PATHNAME', 'stream_xautoclaim' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;

CREATE FUNCTION stream.xreclaim(
    key stream.stream, grp text, min_idle interval DEFAULT NULL, max_deliveries bigint DEFAULT NULL,
    dead_letter text DEFAULT NULL, count bigint DEFAULT NULL)
    RETURNS TABLE (released bigint, dead bigint)
    AS 'MODULE_PATHNAME', 'stream_xreclaim' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1;

CREATE FUNCTION stream.xreclaim_all()
    RETURNS TABLE (key stream.stream, grp text, released bigint, dead bigint)
    AS 'MODULE_PATHNAME', 'stream_xreclaim_all' LANGUAGE C VOLATILE PARALLEL UNSAFE;

-- What there is to say about groups.

CREATE FUNCTION stream.xpending_summary(key stream.stream, grp text)
    RETURNS TABLE (pending bigint, min_id stream.streamid, max_id stream.streamid, consumers jsonb)
    AS 'MODULE_PATHNAME', 'stream_xpending_summary' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 1;

CREATE FUNCTION stream.xpending(
    key stream.stream, grp text, start stream.streampos DEFAULT '-', stop stream.streampos DEFAULT '+',
    count bigint DEFAULT NULL, consumer text DEFAULT NULL, min_idle interval DEFAULT NULL)
    RETURNS TABLE (id stream.streamid, consumer text, idle interval, deliveries bigint)
    AS 'MODULE_PATHNAME', 'stream_xpending' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE FUNCTION stream.xinfo_groups(key stream.stream)
    RETURNS TABLE (name text, consumers bigint, pending bigint, last_delivered_id stream.streamid,
                   entries_read bigint, lag bigint, released bigint, in_flight bigint,
                   in_order boolean, retry interval, max_deliveries bigint, dead_letter stream.stream,
                   delivered bigint, redelivered bigint, acked bigint, dead bigint)
    AS 'MODULE_PATHNAME', 'stream_xinfo_groups' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;

CREATE FUNCTION stream.xinfo_consumers(key stream.stream, grp text)
    RETURNS TABLE (name text, pending bigint, idle interval, inactive interval)
    AS 'MODULE_PATHNAME', 'stream_xinfo_consumers' LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 10;
