-- Views for dashboards: a row a stream, or a row a transaction or waiter at
-- a stream; no entry is scanned.

CREATE FUNCTION stream.streams_rows(
    OUT stream stream.stream, OUT owner regrole, OUT length bigint,
    OUT first_id stream.streamid, OUT last_id stream.streamid, OUT max_deleted_id stream.streamid,
    OUT entries_added bigint, OUT nodes bigint, OUT bytes bigint,
    OUT node_max_bytes integer, OUT node_max_entries integer,
    OUT journal_number bigint, OUT stream_id bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_streams_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.streams AS SELECT * FROM stream.streams_rows();
COMMENT ON VIEW stream.streams IS 'streams the current role may read';

CREATE FUNCTION stream.grants_rows(
    OUT stream stream.stream, OUT grantee regrole, OUT privileges text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_grants_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.grants AS SELECT * FROM stream.grants_rows();
COMMENT ON VIEW stream.grants IS 'who has been granted what on streams the current role may read';

CREATE FUNCTION stream.activity_rows(
    OUT stream stream.stream, OUT state text, OUT pid integer, OUT xid xid,
    OUT reserved bigint, OUT min_id stream.streamid, OUT deleting bigint,
    OUT trim_to stream.streamid, OUT grp text, OUT in_flight bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_activity_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.activity AS
    SELECT a.stream, a.state, a.pid, s.usename, s.application_name,
           pg_catalog.clock_timestamp() - s.xact_start AS xact_age,
           a.xid, a.reserved, a.min_id, a.deleting, a.trim_to, a.in_flight, a.grp
    FROM stream.activity_rows() a
    LEFT JOIN pg_catalog.pg_stat_activity s ON s.pid OPERATOR(pg_catalog.=) a.pid;
COMMENT ON VIEW stream.activity IS 'transactions with open work in streams, and readers waiting for entries';

CREATE FUNCTION stream.memory_rows(
    OUT size bigint, OUT used bigint, OUT free bigint, OUT set_aside bigint, OUT reserve bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'stream_memory_rows' LANGUAGE C VOLATILE PARALLEL RESTRICTED;

CREATE VIEW stream.memory AS SELECT * FROM stream.memory_rows();
COMMENT ON VIEW stream.memory IS 'shared memory of the streams of all databases, in bytes';

-- Adding with INSERT and COPY; nothing is ever in it.

CREATE FUNCTION stream.append_row() RETURNS trigger
    AS 'MODULE_PATHNAME', 'stream_append_row' LANGUAGE C;
REVOKE EXECUTE ON FUNCTION stream.append_row() FROM PUBLIC;
CREATE VIEW stream.append AS
    SELECT NULL::stream.stream AS key, NULL::stream.streamfields AS fields, NULL::stream.streamid AS id
    WHERE false;
CREATE TRIGGER append INSTEAD OF INSERT ON stream.append
    FOR EACH ROW EXECUTE FUNCTION stream.append_row();
COMMENT ON VIEW stream.append IS 'rows inserted here are added to the streams they name';

GRANT SELECT, INSERT ON stream.append TO PUBLIC;
GRANT SELECT ON stream.memory TO PUBLIC;
GRANT USAGE ON SCHEMA stream TO PUBLIC;
GRANT SELECT ON stream.streams, stream.grants, stream.activity TO PUBLIC;
