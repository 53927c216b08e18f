-- Streams as such: xcreate, xdrop, xinfo_stream, the views, and who may do what.
SET search_path = public, stream;

CREATE FUNCTION info(key text, VARIADIC names text[]) RETURNS TABLE(name text, value text) LANGUAGE sql AS
	$$ SELECT n, coalesce(j->>n, j->>replace(n, '_', '-'))
	   FROM (SELECT to_jsonb(x) AS j FROM xinfo_stream(key) x) i, unnest(names) n $$;

SELECT xcreate('c'), xexists('c'), xlen('c'), xtail('c');
SELECT xcreate('c', if_not_exists => true);
\set VERBOSITY sqlstate
SELECT xcreate('c');
SELECT xcreate(NULL);
\set VERBOSITY default
SELECT xdrop('c'), xdrop('c'), xexists('c');

-- A stream may have any name.
SELECT xadd(k, '{"a":1}') IS NOT NULL FROM unnest(array['', ' ', 'ключ', 'a:b/c"d''e', repeat('k', 512)]) k;
SELECT xlen(''), xlen(' '), xlen('ключ'), xlen('a:b/c"d''e'), xlen(repeat('k', 512)), xlen(repeat('k', 511));
SELECT count(*) FILTER (WHERE xdrop(k)) FROM unnest(array['', ' ', 'ключ', 'a:b/c"d''e', repeat('k', 512)]) k;

\set VERBOSITY sqlstate
SELECT xcreate(repeat('k', 513));
SELECT xlen(repeat('k', 513));
\set VERBOSITY default

-- Creation and drop within transactions.
BEGIN;
SELECT xcreate('c'), xadd('c', '{"a":1}', '1-0');
ROLLBACK;
SELECT xexists('c');
SELECT xadd('c', '{"a":1}', '5-0');
BEGIN;
SELECT xdrop('c'), xexists('c'), xlen('c');
ROLLBACK;
SELECT xlen('c'), xtail('c');
BEGIN;
SELECT xdrop('c'), xadd('c', '{"b":1}', '1-0'), xlen('c');
SELECT * FROM xrange('c');
COMMIT;
SELECT * FROM xrange('c');
BEGIN;
SAVEPOINT a;
SELECT xdrop('c');
ROLLBACK TO a;
SELECT xadd('c', '{"b":2}', '2-0'), xlen('c');
COMMIT;
BEGIN;
SELECT xdrop('c'), xcreate('c'), xdrop('c'), xcreate('c'), xlen('c');
COMMIT;
SELECT xexists('c'), xlen('c');
BEGIN;
SELECT xcreate('twice');
SAVEPOINT a;
SELECT xdrop('twice'), xexists('twice');
ROLLBACK TO a;
SELECT xexists('twice'), xadd('twice', '{"a":1}', '1-0');
COMMIT;
SELECT xlen('twice'), xdrop('twice');

-- What is told of a stream.
SELECT count(xadd('i', fields('n', n), n || '-0')) FROM generate_series(1, 7) n;
SELECT xdel('i', '1-0', '4-0');
SELECT * FROM info('i', 'length', 'last_generated_id', 'max_deleted_entry_id', 'entries_added', 'recorded_first_entry_id');
BEGIN;
SELECT xadd('i', '{"n":8}', '8-0'), xdel('i', '2-0');
SELECT * FROM info('i', 'length', 'last_generated_id', 'max_deleted_entry_id', 'entries_added', 'recorded_first_entry_id');
ROLLBACK;
SELECT * FROM info('i', 'length', 'last_generated_id', 'entries_added');
\set VERBOSITY sqlstate
SELECT * FROM xinfo_stream('missing');
SELECT * FROM xinfo_stream(NULL);
\set VERBOSITY default
SELECT count(*) FROM stream.streams;
SELECT count(*) FROM stream.activity;

-- In full: what xinfo_stream says, but for its two entries and the number of groups, then entries and groups.
SELECT xinfo_stream('i') - '{groups,first-entry,last-entry}'::text[] = xinfo_stream_full('i') - '{groups,entries}'::text[] AS same_head;
SELECT xinfo_stream_full('i', 2)->'entries' AS entries, xinfo_stream_full('i')->'groups' AS groups;
SELECT count(xadd('i', fields('n', n), n || '-0')) FROM generate_series(11, 20) n;
SELECT n, jsonb_array_length(xinfo_stream_full('i', n)->'entries') AS entries FROM unnest('{1,0,-1,NULL,100}'::bigint[]) n;
-- It sees own changes.
BEGIN;
SELECT xadd('i', '{"n":21, "n":"again"}', '21-0'), xtrim('i', minid => '20'), xdel('i', '20-0');
SELECT xinfo_stream_full('i')->'entries' AS entries, xinfo_stream_full('i')->'length' AS length;
ROLLBACK;
SELECT xadd('i', fields('\xff00'::bytea, '\xff00'::bytea), '22-0');
SELECT xinfo_stream_full('i', 0)->'entries'->-1 AS newest;
SELECT xcreate('empty'), xinfo_stream_full('empty')->'entries' AS entries, xdrop('empty');
\set VERBOSITY sqlstate
SELECT xinfo_stream_full('missing');
SELECT xinfo_stream_full(NULL);
\set VERBOSITY default

-- A stream is its creator's.
CREATE ROLE regress_stream_user;
CREATE ROLE regress_stream_other;
GRANT USAGE, CREATE ON SCHEMA stream TO regress_stream_user, regress_stream_other;
SET ROLE regress_stream_user;
SELECT xadd('mine', '{"a":1}', '1-0'), xlen('mine');
SELECT count(*) FROM stream.streams;
SET ROLE regress_stream_other;
SELECT count(*) FROM stream.streams;
\set VERBOSITY sqlstate
SELECT xadd('mine', '{"a":1}');
SELECT * FROM xadd_many('mine', array['{"a":1}']::streamfields[]);
SELECT xlen('mine');
SELECT xcount('mine');
SELECT xtail('mine');
SELECT * FROM xrange('mine');
SELECT * FROM xrevrange('mine');
SELECT * FROM xread('mine', '0');
SELECT * FROM xread_many('{mine}', '{0}');
SELECT xdel('mine', '1-0');
SELECT xtrim('mine', 0);
SELECT xdrop('mine');
SELECT xcreate('mine', if_not_exists => true);
SELECT * FROM xinfo_stream('mine');
CALL xwait('mine', '0', '20 ms');
-- Nor are the tables the engine keeps its state in for everyone.
SELECT count(*) FROM stream.catalog;
SELECT count(*) FROM stream.journal_0;
RESET ROLE;
REVOKE CREATE ON SCHEMA stream FROM regress_stream_other;
SET ROLE regress_stream_other;
SELECT xcreate('not mine');
SELECT xadd('not mine', '{"a":1}');
RESET ROLE;
\set VERBOSITY default
-- The superuser may.
SELECT xlen('mine'), xdrop('mine');
REVOKE ALL ON SCHEMA stream FROM regress_stream_user, regress_stream_other;
DROP ROLE regress_stream_user, regress_stream_other;

DROP FUNCTION info;
SELECT count(*) FILTER (WHERE xdrop(k)) FROM unnest(array['c', 'i']) k;
