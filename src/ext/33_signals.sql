-- Signals: NOTIFY for new entries, sent by a background worker.

CREATE FUNCTION stream.xlisten(key stream.stream) RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xlisten' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xunlisten(key stream.stream) RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xunlisten' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.channel(key stream.stream) RETURNS text
    AS 'MODULE_PATHNAME', 'stream_channel' LANGUAGE C IMMUTABLE PARALLEL SAFE;
