-- XRENAME: another name for a stream, part of the transaction.
SET search_path = public, stream;
\set VERBOSITY terse
-- what is under the names given, as one line
CREATE FUNCTION seen(VARIADIC names text[]) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(n || CASE WHEN xexists(n) THEN array(SELECT id FROM xrange(n))::text ELSE ' missing' END, ', ')
	FROM unnest(names) n
$$;
CREATE FUNCTION fresh() RETURNS text LANGUAGE sql AS $$
	SELECT xdrop(n) FROM unnest('{a,b,c,d}'::text[]) n;
	SELECT xadd('a', '{"in":"a"}', '1-0');
	SELECT xadd('b', '{"in":"b"}', '2-0');
	SELECT seen('a', 'b', 'c')
$$;

SELECT fresh();
SELECT xrename('a', 'c');
SELECT seen('a', 'b', 'c');
SELECT stream, length FROM stream.streams WHERE stream IN ('a', 'b', 'c');
SELECT name FROM stream.catalog WHERE name IN ('a', 'b', 'c') ORDER BY name;
-- the old name is free
SELECT xadd('a', '{"new":1}', '9-0'), xadd('c', '{"old":1}', '1-1');
SELECT seen('a', 'b', 'c');

-- what is refused; the missing stream comes first
\set VERBOSITY default
SELECT xrename('missing', 'x');
SELECT xrename('missing', 'b');
SELECT xrename('missing', 'missing');
\set VERBOSITY sqlstate
SELECT xrename('a', 'b');
SELECT xrename('a', NULL);
SELECT xrename(NULL, 'a');
SELECT xrename('a', repeat('x', 513));
BEGIN READ ONLY; SELECT xrename('a', 'd'); ROLLBACK;
\set VERBOSITY terse
-- to itself: nothing
SELECT xrename('a', 'a'), seen('a');
-- names of every length
SELECT xrename('a', ''); SELECT xrename('', repeat('x', 512)); SELECT xrename(repeat('x', 512), 'a'); SELECT seen('a', '');

-- seen inside at once, by nobody else before the commit, taken back with it
SELECT fresh();
BEGIN;
SELECT xrename('a', 'c'), seen('a', 'b', 'c'), xlen('c'), xinfo_stream('c') ->> 'length', (SELECT count(*) FROM xread('c', '0'));
SELECT xadd('c', '{"n":1}', '1-1'), xdel('c', '1-0'), seen('c');
-- the old name is missing, and may be made anew
SELECT xrename('a', 'd');
ROLLBACK;
SELECT seen('a', 'b', 'c');
BEGIN;
SELECT xrename('a', 'c');
SELECT xadd('a', '{"new":1}', '7-0'), xadd('c', '{"n":1}', '8-0'), seen('a', 'c');
SELECT stream FROM stream.streams WHERE stream IN ('a', 'b', 'c');	-- as others see it
COMMIT;
SELECT seen('a', 'b', 'c');

-- savepoints
SELECT fresh();
BEGIN;
SAVEPOINT one;
SELECT xrename('a', 'c');
SAVEPOINT two;
SELECT xrename('c', 'd'), xadd('c', '{"n":1}', '3-0'), seen('a', 'c', 'd');
ROLLBACK TO two;
SELECT seen('a', 'c', 'd');
RELEASE one;
SAVEPOINT three;
SELECT xrename('c', 'a'), seen('a', 'c');
ROLLBACK TO three;
SELECT seen('a', 'b', 'c', 'd');
COMMIT;
SELECT seen('a', 'b', 'c', 'd');
-- an error takes back what it had begun
BEGIN;
SELECT xadd('c', '{"n":1}', '1-1');
SAVEPOINT s;
SELECT xrename('c', 'b');
ROLLBACK TO s;
SELECT xadd('c', '{"n":1}', '1-2'), xrename('c', 'a');
COMMIT;
SELECT seen('a', 'b', 'c');

-- chains, there and back, a swap
SELECT fresh();
BEGIN; SELECT xrename('a', 'c'), xrename('c', 'd'); SELECT seen('a', 'c', 'd'); COMMIT;
SELECT seen('a', 'b', 'c', 'd');
BEGIN; SELECT xrename('d', 'c'), xrename('c', 'd'); COMMIT;
SELECT seen('a', 'b', 'c', 'd');
BEGIN; SELECT xrename('d', 'c'), xrename('b', 'd'), xrename('c', 'b'); SELECT seen('b', 'c', 'd'); COMMIT;
SELECT seen('a', 'b', 'c', 'd');
SELECT xadd('b', '{"n":1}', '5-0'), xadd('d', '{"n":1}', '6-0'), seen('b', 'd');

-- with drops: rename, drop; drop, rename; drop what came, and make it
SELECT fresh();
BEGIN; SELECT xrename('a', 'c'), xdrop('c'), seen('a', 'b', 'c'); COMMIT;
SELECT seen('a', 'b', 'c');
SELECT fresh();
BEGIN; SELECT xdrop('b'), xrename('a', 'b'), seen('a', 'b'); COMMIT;
SELECT seen('a', 'b');
SELECT fresh();
BEGIN; SELECT xdrop('b'), xrename('a', 'b'), xdrop('b'), xadd('b', '{"n":1}', '3-0'), xadd('a', '{"n":1}', '4-0'), seen('a', 'b'); COMMIT;
SELECT seen('a', 'b');
SELECT fresh();
BEGIN; SELECT xdrop('b'), xadd('b', '{"n":1}', '3-0'), xrename('b', 'c'), xrename('a', 'b'), seen('a', 'b', 'c'); COMMIT;
SELECT seen('a', 'b', 'c');
SELECT fresh();
BEGIN; SELECT xdrop('b'), xrename('a', 'b'), seen('a', 'b'); ROLLBACK;
SELECT seen('a', 'b');

-- of a stream that the transaction makes
SELECT fresh();
BEGIN; SELECT xcreate('c'), xrename('c', 'd'), seen('c', 'd'); COMMIT;
SELECT seen('c', 'd');
BEGIN; SELECT xdrop('d'), xadd('c', '{"n":1}', '3-0'), xrename('c', 'd'), xadd('c', '{"n":1}', '4-0'), seen('c', 'd'); COMMIT;
SELECT seen('c', 'd'), (SELECT count(*) FROM stream.catalog WHERE name IN ('a', 'b', 'c', 'd'));
BEGIN; SELECT xdrop('c'), xadd('c', '{"n":1}', '5-0'), xrename('c', 'e'), xdrop('e'), seen('c', 'e'); COMMIT;
SELECT seen('c', 'e');

-- everything moves along: pairs, limits, rights, counters
SELECT fresh();
CREATE ROLE xrename_owner; CREATE ROLE xrename_reader; GRANT CREATE ON SCHEMA stream TO xrename_owner;
SELECT xadd('a', '{"n":1}', producer => 'p', iid => 'i') AS id \gset
SELECT xcfgset('a', node_max_entries => 17), xgrant('a', 'SELECT', 'xrename_reader');
BEGIN;
SELECT xrename('a', 'c'), xowner('c', 'xrename_owner');
COMMIT;
SELECT xadd('c', '{"n":1}', producer => 'p', iid => 'i') = :'id' AS repeated, xinfo_stream('c') ->> 'node-max-entries' AS entries;
SELECT owner FROM stream.streams WHERE stream = 'c';
SELECT name, owner FROM stream.catalog WHERE name = 'c';
SELECT * FROM stream.grants WHERE stream = 'c';
SET ROLE xrename_reader;
SELECT xlen('c');
\set VERBOSITY sqlstate
SELECT xlen('a');
SELECT xrename('c', 'a');
\set VERBOSITY terse
RESET ROLE;
-- the owner needs no right to create
REVOKE CREATE ON SCHEMA stream FROM xrename_owner;
SET ROLE xrename_owner;
SELECT xrename('c', 'a'), xlen('a');
RESET ROLE;
SELECT xdrop(n) FROM unnest('{a,b,c,d}'::text[]) n;
DROP ROLE xrename_owner; DROP ROLE xrename_reader;

-- many in one transaction
SELECT count(xadd('r' || n, '{"n":1}', n || '-0')) FROM generate_series(1, 300) n;
BEGIN;
SELECT count(*) FROM generate_series(1, 300) n, LATERAL (SELECT xrename('r' || n, 't' || n)) x;
SAVEPOINT s;
SELECT count(*) FROM generate_series(1, 300) n, LATERAL (SELECT xrename('t' || n, 'u' || n)) x;
SELECT count(*) FILTER (WHERE xexists('t' || n)), count(*) FILTER (WHERE xexists('u' || n)) FROM generate_series(1, 300) n;
ROLLBACK TO s;
SELECT count(*) FILTER (WHERE xexists('t' || n)), count(*) FILTER (WHERE xexists('u' || n)) FROM generate_series(1, 300) n;
SELECT count(*) FROM generate_series(1, 300) n, LATERAL (SELECT xrename('t' || n, 'r' || n % 300 + 1)) x;
COMMIT;
SELECT count(*) FROM generate_series(1, 300) n WHERE (SELECT array_agg(id) FROM xrange('r' || n % 300 + 1)) = array[n || '-0']::streamid[];
SELECT count(*) FROM generate_series(1, 300) n WHERE xexists('t' || n);
SELECT count(*) FILTER (WHERE xdrop('r' || n)) FROM generate_series(1, 300) n;
