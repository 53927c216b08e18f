-- Tables: the durable form of streams.  Written and read by the library only,
-- which knows heap tables.

CREATE TYPE stream.role;
CREATE FUNCTION stream.role_in(cstring) RETURNS stream.role
    AS 'MODULE_PATHNAME', 'stream_role_in' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION stream.role_out(stream.role) RETURNS cstring
    AS 'MODULE_PATHNAME', 'stream_role_out' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE TYPE stream.role (
    INPUT = stream.role_in, OUTPUT = stream.role_out,
    INTERNALLENGTH = 4, PASSEDBYVALUE, ALIGNMENT = int4
);
COMMENT ON TYPE stream.role IS 'a role in the tables of the extension: its oid inside, its name outside';

-- Rows are written while a transaction commits, when it has no snapshot any more,
-- and the server asks for one where a table has a TOAST table.  It gives a table
-- none whose columns are all plain at the end of a command, so those that would
-- not be are added by the command that makes them so.

CREATE TABLE stream.catalog (
    id bigint PRIMARY KEY
) USING heap;
ALTER TABLE stream.catalog
    ADD COLUMN name text COLLATE "C" NOT NULL,
    ADD COLUMN owner stream.role NOT NULL,
    ADD COLUMN node_max_bytes integer NOT NULL,
    ADD COLUMN node_max_entries integer NOT NULL,
    ALTER COLUMN name SET STORAGE PLAIN;
COMMENT ON TABLE stream.catalog IS 'streams of this database; not to be written by hand';

CREATE TABLE stream.privilege (
    stream_id bigint NOT NULL,
    grantee stream.role NOT NULL
) USING heap;
ALTER TABLE stream.privilege
    ADD COLUMN privileges text COLLATE "C" NOT NULL,
    ALTER COLUMN privileges SET STORAGE PLAIN;
CREATE INDEX privilege_stream ON stream.privilege (stream_id);
COMMENT ON TABLE stream.privilege IS 'grants of streams; not to be written by hand';

CREATE TABLE stream.default_privilege (
    owner stream.role NOT NULL,
    grantee stream.role NOT NULL,
    privileges text COLLATE "C" NOT NULL
) USING heap;
COMMENT ON TABLE stream.default_privilege IS 'grants that streams made by a role begin with; not to be written by hand';

-- num and crc are NULL in the pieces of a large change set.
CREATE TABLE stream.journal_0 (
    num bigint,
    piece_set bigint NOT NULL,
    piece integer NOT NULL,
    crc integer
) USING heap WITH (autovacuum_enabled = false);
ALTER TABLE stream.journal_0
    ADD COLUMN bytes bytea NOT NULL,
    ALTER COLUMN bytes SET STORAGE PLAIN;
COMMENT ON TABLE stream.journal_0 IS 'change sets of committed transactions; not to be written by hand';

-- Not dumped: it is about this database, not about what its streams hold.
CREATE TABLE stream.in_use (
    since timestamptz NOT NULL
) USING heap;
COMMENT ON TABLE stream.in_use IS 'has a row once streams of this database were written to; not to be written by hand';

SELECT pg_catalog.pg_extension_config_dump('stream.catalog', '');
SELECT pg_catalog.pg_extension_config_dump('stream.privilege', '');
SELECT pg_catalog.pg_extension_config_dump('stream.default_privilege', '');
SELECT pg_catalog.pg_extension_config_dump('stream.journal_0', '');

CREATE FUNCTION stream.guard() RETURNS trigger
    AS 'MODULE_PATHNAME', 'stream_guard' LANGUAGE C;
REVOKE EXECUTE ON FUNCTION stream.guard() FROM PUBLIC;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stream.catalog
    FOR EACH ROW EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON stream.catalog
    FOR EACH STATEMENT EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stream.privilege
    FOR EACH ROW EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON stream.privilege
    FOR EACH STATEMENT EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stream.default_privilege
    FOR EACH ROW EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON stream.default_privilege
    FOR EACH STATEMENT EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stream.journal_0
    FOR EACH ROW EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON stream.journal_0
    FOR EACH STATEMENT EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON stream.in_use
    FOR EACH ROW EXECUTE FUNCTION stream.guard();
CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON stream.in_use
    FOR EACH STATEMENT EXECUTE FUNCTION stream.guard();
ALTER TABLE stream.catalog ENABLE ALWAYS TRIGGER guard;
ALTER TABLE stream.catalog ENABLE ALWAYS TRIGGER guard_truncate;
ALTER TABLE stream.privilege ENABLE ALWAYS TRIGGER guard;
ALTER TABLE stream.privilege ENABLE ALWAYS TRIGGER guard_truncate;
ALTER TABLE stream.default_privilege ENABLE ALWAYS TRIGGER guard;
ALTER TABLE stream.default_privilege ENABLE ALWAYS TRIGGER guard_truncate;
ALTER TABLE stream.journal_0 ENABLE ALWAYS TRIGGER guard;
ALTER TABLE stream.journal_0 ENABLE ALWAYS TRIGGER guard_truncate;
ALTER TABLE stream.in_use ENABLE ALWAYS TRIGGER guard;
ALTER TABLE stream.in_use ENABLE ALWAYS TRIGGER guard_truncate;
