-- Views of consumer groups: a row a group, a consumer, a pending record.

CREATE FUNCTION stream.groups_rows(
    OUT stream stream.stream, OUT grp text, OUT consumers bigint, OUT pending bigint,
    OUT last_delivered_id stream.streamid, OUT entries_read bigint, OUT lag bigint,
    OUT released bigint, OUT in_flight bigint, OUT in_order boolean, OUT retry interval,
    OUT max_deliveries bigint, OUT dead_letter stream.stream, OUT delivered bigint,
    OUT redelivered bigint, OUT acked bigint, OUT dead bigint, OUT lag_seconds double precision,
    OUT oldest_undelivered stream.streamid, OUT oldest_idle interval)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_groups_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.groups AS
    SELECT stream, grp, lag, lag_seconds, oldest_undelivered, pending, oldest_idle, released, in_flight,
           consumers, last_delivered_id, entries_read, delivered, redelivered, acked, dead,
           retry, max_deliveries, dead_letter, in_order
    FROM stream.groups_rows();
COMMENT ON VIEW stream.groups IS 'consumer groups of streams the current role may read';

CREATE FUNCTION stream.consumers_rows(
    OUT stream stream.stream, OUT grp text, OUT consumer text, OUT pending bigint,
    OUT idle interval, OUT inactive interval)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_consumers_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.consumers AS SELECT * FROM stream.consumers_rows();
COMMENT ON VIEW stream.consumers IS 'consumers of those groups';

CREATE FUNCTION stream.pending_rows(
    OUT stream stream.stream, OUT grp text, OUT id stream.streamid, OUT consumer text,
    OUT idle interval, OUT deliveries bigint, OUT due timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_pending_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.pending AS SELECT * FROM stream.pending_rows();
COMMENT ON VIEW stream.pending IS 'entries delivered in those groups and not acknowledged';

GRANT SELECT ON stream.groups, stream.consumers, stream.pending TO PUBLIC;
