-- Types: their I/O functions, casts, operators, operator classes and
-- aggregates, and the functions that build and read streamfields.

-- ---------------------------------------------------------------------------
-- stream: the name of a stream.  It is text in everything but its name: the
-- I/O functions are those of text, and casts both ways cost nothing.

CREATE TYPE stream.stream;

CREATE FUNCTION stream.stream_in(cstring) RETURNS stream.stream
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION stream.stream_out(stream.stream) RETURNS cstring
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE FUNCTION stream.stream_recv(internal) RETURNS stream.stream
    LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textrecv';
CREATE FUNCTION stream.stream_send(stream.stream) RETURNS bytea
    LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'textsend';

CREATE TYPE stream.stream (
    INPUT = stream.stream_in,
    OUTPUT = stream.stream_out,
    RECEIVE = stream.stream_recv,
    SEND = stream.stream_send,
    LIKE = pg_catalog.text,
    CATEGORY = 'S',
    PREFERRED = false,
    COLLATABLE = true
);
COMMENT ON TYPE stream.stream IS 'name of a stream';

CREATE CAST (stream.stream AS pg_catalog.text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (pg_catalog.text AS stream.stream) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS stream.stream) WITHOUT FUNCTION AS IMPLICIT;

-- ---------------------------------------------------------------------------
-- streamid: the id of an entry

CREATE TYPE stream.streamid;

CREATE FUNCTION stream.streamid_in(cstring) RETURNS stream.streamid
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_in';
CREATE FUNCTION stream.streamid_out(stream.streamid) RETURNS cstring
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_out';
CREATE FUNCTION stream.streamid_recv(internal) RETURNS stream.streamid
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_recv';
CREATE FUNCTION stream.streamid_send(stream.streamid) RETURNS bytea
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_send';

CREATE TYPE stream.streamid (
    INPUT = stream.streamid_in,
    OUTPUT = stream.streamid_out,
    RECEIVE = stream.streamid_recv,
    SEND = stream.streamid_send,
    INTERNALLENGTH = 16,
    ALIGNMENT = double
);
COMMENT ON TYPE stream.streamid IS 'id of a stream entry, ms-seq';

CREATE FUNCTION stream.streamid_eq(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_eq';
CREATE FUNCTION stream.streamid_ne(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_ne';
CREATE FUNCTION stream.streamid_lt(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_lt';
CREATE FUNCTION stream.streamid_le(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_le';
CREATE FUNCTION stream.streamid_gt(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_gt';
CREATE FUNCTION stream.streamid_ge(stream.streamid, stream.streamid) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_ge';
CREATE FUNCTION stream.streamid_cmp(stream.streamid, stream.streamid) RETURNS integer
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_cmp';
CREATE FUNCTION stream.streamid_sortsupport(internal) RETURNS void
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_sortsupport';
CREATE FUNCTION stream.streamid_hash(stream.streamid) RETURNS integer
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_hash';
CREATE FUNCTION stream.streamid_hash_extended(stream.streamid, bigint) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_hash_extended';
CREATE FUNCTION stream.streamid_smaller(stream.streamid, stream.streamid) RETURNS stream.streamid
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_smaller';
CREATE FUNCTION stream.streamid_larger(stream.streamid, stream.streamid) RETURNS stream.streamid
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_larger';

CREATE OPERATOR stream.= (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_eq,
    COMMUTATOR = OPERATOR(stream.=), NEGATOR = OPERATOR(stream.<>),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR stream.<> (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_ne,
    COMMUTATOR = OPERATOR(stream.<>), NEGATOR = OPERATOR(stream.=),
    RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR stream.< (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_lt,
    COMMUTATOR = OPERATOR(stream.>), NEGATOR = OPERATOR(stream.>=),
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR stream.<= (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_le,
    COMMUTATOR = OPERATOR(stream.>=), NEGATOR = OPERATOR(stream.>),
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR stream.> (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_gt,
    COMMUTATOR = OPERATOR(stream.<), NEGATOR = OPERATOR(stream.<=),
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR stream.>= (
    LEFTARG = stream.streamid, RIGHTARG = stream.streamid, FUNCTION = stream.streamid_ge,
    COMMUTATOR = OPERATOR(stream.<=), NEGATOR = OPERATOR(stream.<),
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE OPERATOR CLASS stream.streamid_ops DEFAULT FOR TYPE stream.streamid USING btree AS
    OPERATOR 1 stream.<,
    OPERATOR 2 stream.<=,
    OPERATOR 3 stream.=,
    OPERATOR 4 stream.>=,
    OPERATOR 5 stream.>,
    FUNCTION 1 stream.streamid_cmp(stream.streamid, stream.streamid),
    FUNCTION 2 stream.streamid_sortsupport(internal),
    FUNCTION 4 pg_catalog.btequalimage(oid);

CREATE OPERATOR CLASS stream.streamid_hash_ops DEFAULT FOR TYPE stream.streamid USING hash AS
    OPERATOR 1 stream.=,
    FUNCTION 1 stream.streamid_hash(stream.streamid),
    FUNCTION 2 stream.streamid_hash_extended(stream.streamid, bigint);

CREATE OPERATOR CLASS stream.streamid_minmax_ops DEFAULT FOR TYPE stream.streamid USING brin AS
    OPERATOR 1 stream.<,
    OPERATOR 2 stream.<=,
    OPERATOR 3 stream.=,
    OPERATOR 4 stream.>=,
    OPERATOR 5 stream.>,
    FUNCTION 1 pg_catalog.brin_minmax_opcinfo(internal),
    FUNCTION 2 pg_catalog.brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 pg_catalog.brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 pg_catalog.brin_minmax_union(internal, internal, internal);

CREATE AGGREGATE stream.min(stream.streamid) (
    SFUNC = stream.streamid_smaller, STYPE = stream.streamid,
    COMBINEFUNC = stream.streamid_smaller, SORTOP = OPERATOR(stream.<), PARALLEL = SAFE
);
CREATE AGGREGATE stream.max(stream.streamid) (
    SFUNC = stream.streamid_larger, STYPE = stream.streamid,
    COMBINEFUNC = stream.streamid_larger, SORTOP = OPERATOR(stream.>), PARALLEL = SAFE
);

CREATE FUNCTION stream.streamid(timestamptz) RETURNS stream.streamid
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_from_timestamptz';
CREATE FUNCTION stream.streamid_to_timestamptz(stream.streamid) RETURNS timestamptz
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamid_to_timestamptz';

CREATE CAST (pg_catalog.text AS stream.streamid) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS stream.streamid) WITH INOUT AS IMPLICIT;
CREATE CAST (stream.streamid AS pg_catalog.text) WITH INOUT;
CREATE CAST (timestamptz AS stream.streamid) WITH FUNCTION stream.streamid(timestamptz) AS ASSIGNMENT;
CREATE CAST (stream.streamid AS timestamptz) WITH FUNCTION stream.streamid_to_timestamptz(stream.streamid) AS ASSIGNMENT;

-- ---------------------------------------------------------------------------
-- streampos: a position as a caller gives it.  Reading one is only stable,
-- since a time without zone depends on the session.
--
-- Its category and that of streamfields are string, which is what lets
-- xadd('s', '{"a":1}', '5-0') and xadd('s', now(), '{"a":1}') both resolve.

CREATE TYPE stream.streampos;

CREATE FUNCTION stream.streampos_in(cstring) RETURNS stream.streampos
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_in';
CREATE FUNCTION stream.streampos_out(stream.streampos) RETURNS cstring
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_out';
CREATE FUNCTION stream.streampos_recv(internal) RETURNS stream.streampos
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_recv';
CREATE FUNCTION stream.streampos_send(stream.streampos) RETURNS bytea
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_send';

CREATE TYPE stream.streampos (
    INPUT = stream.streampos_in,
    OUTPUT = stream.streampos_out,
    RECEIVE = stream.streampos_recv,
    SEND = stream.streampos_send,
    INTERNALLENGTH = 24,
    ALIGNMENT = double,
    CATEGORY = 'S',
    PREFERRED = false
);
COMMENT ON TYPE stream.streampos IS 'position in a stream: an id, a time, or one of ms, (id, -, +, $, >, *, ms-*';

CREATE FUNCTION stream.streampos(stream.streamid) RETURNS stream.streampos
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_from_streamid';
CREATE FUNCTION stream.streampos(timestamptz) RETURNS stream.streampos
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_from_timestamptz';
CREATE FUNCTION stream.streampos(timestamp) RETURNS stream.streampos
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_from_timestamp';
CREATE FUNCTION stream.streampos(date) RETURNS stream.streampos
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streampos_from_date';

CREATE CAST (pg_catalog.text AS stream.streampos) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS stream.streampos) WITH INOUT AS IMPLICIT;
CREATE CAST (stream.streamid AS stream.streampos) WITH FUNCTION stream.streampos(stream.streamid) AS IMPLICIT;
CREATE CAST (timestamptz AS stream.streampos) WITH FUNCTION stream.streampos(timestamptz) AS IMPLICIT;
CREATE CAST (timestamp AS stream.streampos) WITH FUNCTION stream.streampos(timestamp) AS IMPLICIT;
CREATE CAST (date AS stream.streampos) WITH FUNCTION stream.streampos(date) AS IMPLICIT;

-- ---------------------------------------------------------------------------
-- streamids: one id or a list of ids

CREATE TYPE stream.streamids;

CREATE FUNCTION stream.streamids_in(cstring) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_in';
CREATE FUNCTION stream.streamids_out(stream.streamids) RETURNS cstring
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_out';
CREATE FUNCTION stream.streamids_recv(internal) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_recv';
CREATE FUNCTION stream.streamids_send(stream.streamids) RETURNS bytea
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_send';

CREATE TYPE stream.streamids (
    INPUT = stream.streamids_in,
    OUTPUT = stream.streamids_out,
    RECEIVE = stream.streamids_recv,
    SEND = stream.streamids_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = extended
);
COMMENT ON TYPE stream.streamids IS 'one id of a stream entry, or a list of them';

CREATE FUNCTION stream.streamids(stream.streamid) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_from_streamid';
CREATE FUNCTION stream.streamids(stream.streamid[]) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_from_streamid_array';
CREATE FUNCTION stream.streamids(text[]) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_from_text_array';
CREATE FUNCTION stream.streamids(varchar[]) RETURNS stream.streamids
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamids_from_text_array';

CREATE CAST (pg_catalog.text AS stream.streamids) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS stream.streamids) WITH INOUT AS IMPLICIT;
CREATE CAST (stream.streamid AS stream.streamids) WITH FUNCTION stream.streamids(stream.streamid) AS IMPLICIT;
CREATE CAST (stream.streamid[] AS stream.streamids) WITH FUNCTION stream.streamids(stream.streamid[]) AS IMPLICIT;
CREATE CAST (text[] AS stream.streamids) WITH FUNCTION stream.streamids(text[]) AS IMPLICIT;
CREATE CAST (varchar[] AS stream.streamids) WITH FUNCTION stream.streamids(varchar[]) AS IMPLICIT;

-- ---------------------------------------------------------------------------
-- streamfields: the field/value list of an entry.  Its category: see streampos.

CREATE TYPE stream.streamfields;

CREATE FUNCTION stream.streamfields_in(cstring) RETURNS stream.streamfields
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_in';
CREATE FUNCTION stream.streamfields_out(stream.streamfields) RETURNS cstring
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_out';
CREATE FUNCTION stream.streamfields_recv(internal) RETURNS stream.streamfields
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_recv';
CREATE FUNCTION stream.streamfields_send(stream.streamfields) RETURNS bytea
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_send';

CREATE TYPE stream.streamfields (
    INPUT = stream.streamfields_in,
    OUTPUT = stream.streamfields_out,
    RECEIVE = stream.streamfields_recv,
    SEND = stream.streamfields_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = int4,
    STORAGE = extended,
    CATEGORY = 'S',
    PREFERRED = false
);
COMMENT ON TYPE stream.streamfields IS 'fields of a stream entry: names and values in order, as a JSON object';

CREATE FUNCTION stream.streamfields(text[]) RETURNS stream.streamfields
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_from_text_array';
CREATE FUNCTION stream.streamfields_to_json(stream.streamfields) RETURNS json
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_to_json';
CREATE FUNCTION stream.streamfields_to_text_array(stream.streamfields) RETURNS text[]
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_to_text_array';

CREATE CAST (pg_catalog.text AS stream.streamfields) WITH INOUT AS IMPLICIT;
CREATE CAST (pg_catalog.varchar AS stream.streamfields) WITH INOUT AS IMPLICIT;
CREATE CAST (json AS stream.streamfields) WITH INOUT AS IMPLICIT;
CREATE CAST (jsonb AS stream.streamfields) WITH INOUT AS IMPLICIT;
CREATE CAST (text[] AS stream.streamfields) WITH FUNCTION stream.streamfields(text[]) AS IMPLICIT;
CREATE CAST (stream.streamfields AS json) WITH FUNCTION stream.streamfields_to_json(stream.streamfields) AS IMPLICIT;
CREATE CAST (stream.streamfields AS jsonb) WITH INOUT;
CREATE CAST (stream.streamfields AS text[]) WITH FUNCTION stream.streamfields_to_text_array(stream.streamfields);

CREATE FUNCTION stream.fields(VARIADIC "any") RETURNS stream.streamfields
    LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_fields';
COMMENT ON FUNCTION stream.fields(VARIADIC "any") IS 'fields from name, value, ...; bytea values keep their bytes';
CREATE FUNCTION stream.fields_from(names text[], vals bytea[]) RETURNS stream.streamfields
    LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_fields_from';
COMMENT ON FUNCTION stream.fields_from(text[], bytea[]) IS 'fields from an array of names and an array of values';
CREATE FUNCTION stream.field_bytes(fields stream.streamfields, name text) RETURNS bytea
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_field_bytes';
COMMENT ON FUNCTION stream.field_bytes(stream.streamfields, text) IS 'bytes of the last field of this name';

CREATE FUNCTION stream.streamfields_get(stream.streamfields, text) RETURNS text
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_get';
CREATE FUNCTION stream.streamfields_exists(stream.streamfields, text) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_exists';

CREATE OPERATOR stream.->> (
    LEFTARG = stream.streamfields, RIGHTARG = text, FUNCTION = stream.streamfields_get
);
CREATE OPERATOR stream.? (
    LEFTARG = stream.streamfields, RIGHTARG = text, FUNCTION = stream.streamfields_exists,
    RESTRICT = contsel, JOIN = contjoinsel
);

CREATE FUNCTION stream.streamfields_eq(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_eq';
CREATE FUNCTION stream.streamfields_ne(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_ne';
CREATE FUNCTION stream.streamfields_lt(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_lt';
CREATE FUNCTION stream.streamfields_le(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_le';
CREATE FUNCTION stream.streamfields_gt(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_gt';
CREATE FUNCTION stream.streamfields_ge(stream.streamfields, stream.streamfields) RETURNS boolean
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_ge';
CREATE FUNCTION stream.streamfields_cmp(stream.streamfields, stream.streamfields) RETURNS integer
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_cmp';
CREATE FUNCTION stream.streamfields_hash(stream.streamfields) RETURNS integer
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_hash';
CREATE FUNCTION stream.streamfields_hash_extended(stream.streamfields, bigint) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'stream_streamfields_hash_extended';

CREATE OPERATOR stream.= (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_eq,
    COMMUTATOR = OPERATOR(stream.=), NEGATOR = OPERATOR(stream.<>),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
CREATE OPERATOR stream.<> (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_ne,
    COMMUTATOR = OPERATOR(stream.<>), NEGATOR = OPERATOR(stream.=),
    RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR stream.< (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_lt,
    COMMUTATOR = OPERATOR(stream.>), NEGATOR = OPERATOR(stream.>=),
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR stream.<= (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_le,
    COMMUTATOR = OPERATOR(stream.>=), NEGATOR = OPERATOR(stream.>),
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR stream.> (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_gt,
    COMMUTATOR = OPERATOR(stream.<), NEGATOR = OPERATOR(stream.<=),
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR stream.>= (
    LEFTARG = stream.streamfields, RIGHTARG = stream.streamfields, FUNCTION = stream.streamfields_ge,
    COMMUTATOR = OPERATOR(stream.<=), NEGATOR = OPERATOR(stream.<),
    RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE OPERATOR CLASS stream.streamfields_ops DEFAULT FOR TYPE stream.streamfields USING btree AS
    OPERATOR 1 stream.<,
    OPERATOR 2 stream.<=,
    OPERATOR 3 stream.=,
    OPERATOR 4 stream.>=,
    OPERATOR 5 stream.>,
    FUNCTION 1 stream.streamfields_cmp(stream.streamfields, stream.streamfields),
    FUNCTION 4 pg_catalog.btequalimage(oid);

CREATE OPERATOR CLASS stream.streamfields_hash_ops DEFAULT FOR TYPE stream.streamfields USING hash AS
    OPERATOR 1 stream.=,
    FUNCTION 1 stream.streamfields_hash(stream.streamfields),
    FUNCTION 2 stream.streamfields_hash_extended(stream.streamfields, bigint);
