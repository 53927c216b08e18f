-- Privileges of streams.

CREATE FUNCTION stream.xgrant(key stream.stream, privileges text, grantee regrole)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xgrant' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xrevoke(key stream.stream, privileges text, grantee regrole)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xrevoke' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xowner(key stream.stream, new_owner regrole)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xowner' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xgrant_default(
    privileges text, grantee regrole,
    owner regrole DEFAULT pg_catalog.quote_ident(current_user)::regrole)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xgrant_default' LANGUAGE C VOLATILE PARALLEL UNSAFE;

CREATE FUNCTION stream.xrevoke_default(
    privileges text, grantee regrole,
    owner regrole DEFAULT pg_catalog.quote_ident(current_user)::regrole)
    RETURNS void
    AS 'MODULE_PATHNAME', 'stream_xrevoke_default' LANGUAGE C VOLATILE PARALLEL UNSAFE;
