-- xrange and xrevrange in FROM: read row by row, and the same rows as ever
\set VERBOSITY terse
SET search_path = public, stream;
SELECT count(xadd('scan', fields('n', n), id => (n || '-0')::streamid)) FROM generate_series(1, 500) n;

-- which calls the planner takes, and which it leaves to the server's own scan
EXPLAIN (COSTS OFF) SELECT count(*) FROM xrange('scan') WHERE id > '490-0';
EXPLAIN (COSTS OFF) SELECT id FROM xrevrange('scan', count => 3);
EXPLAIN (COSTS OFF) SELECT * FROM xrange('scan') WITH ORDINALITY;
EXPLAIN (COSTS OFF) SELECT * FROM ROWS FROM (xrange('scan'), xrange('scan'));
EXPLAIN (COSTS OFF) SELECT r FROM xrange('scan') r;
EXPLAIN (COSTS OFF) SELECT r.id FROM xrange('scan', count => (random() * 10)::bigint) r;

-- columns, filters, counts, both directions
SELECT count(*), min(id), max(id) FROM xrange('scan');
SELECT * FROM xrange('scan', '3', '5');
SELECT fields FROM xrevrange('scan', '5', '3');
SELECT id FROM xrange('scan', '(5', count => 2) WHERE fields ->> 'n' <> '6';
SELECT count(*) FROM xrange('scan', count => 0);
SELECT count(*) FROM xrange('scan', count => -1);
SELECT count(*) FROM xrange('scan', NULL, NULL, NULL);
SELECT count(*) FROM xrange('no such stream');
SELECT r FROM xrange('scan', '7', '7') r;
SELECT a.id, b.fields FROM xrange('scan', '1', '2') a JOIN xrevrange('scan') b USING (id) ORDER BY 1;
SELECT count(*) FROM xrange(NULL);
SELECT count(*) FROM xrange('scan', '$');

-- arguments from another table, and a scan that begins anew
SELECT n, r.id FROM generate_series(1, 3) n, LATERAL xrevrange('scan', count => n) r ORDER BY 1, 2;
SELECT n, (SELECT string_agg(fields ->> 'n', ',') FROM xrange('scan', (n || '-0')::streampos, count => n))
	FROM generate_series(1, 3) n;
BEGIN;
SET LOCAL enable_material = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
-- the same rows each time, whatever has been added meanwhile
SELECT count(xadd('scan', fields)) FROM generate_series(1, 3) n, xrange('scan', '499');
SELECT count(xadd('scan', fields)) FROM generate_series(1, 3) n, xrange('scan', '499');
ROLLBACK;

-- own changes, before the scan and during it
BEGIN;
SELECT xadd('scan', fields('n', 'own'), id => '501-0');
SELECT xdel('scan', '500-0');
SELECT * FROM xrange('scan', '499');
-- and where the scan begins anew with other arguments
SELECT n, r.* FROM generate_series(1, 3) n, LATERAL xrevrange('scan', count => n) r ORDER BY 1, 2;
SELECT n, count(r.id), sum(length(r.fields::text)) FROM generate_series(1, 5) n, LATERAL xrange('scan', count => n * 100) r GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM xrange('scan') WHERE xdel('scan', id::text) = 1;
SELECT count(*) FROM xrange('scan');
ROLLBACK;
SELECT count(xadd('scan', fields)) FROM xrange('scan');
SELECT xlen('scan'), xtrim('scan', 500);
SELECT id IS NOT NULL FROM xrange('scan') LIMIT 1;

-- a cursor, in both directions, over a savepoint that is rolled back
SELECT xdrop('scan');
SELECT xadd('scan', fields('n', n), id => (n || '-0')::streamid) FROM generate_series(1, 5) n;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM xrange('scan');
FETCH 2 FROM c;
SAVEPOINT s;
SELECT xadd('scan', fields('n', 6), id => '6-0');
FETCH 1 FROM c;
ROLLBACK TO s;
FETCH BACKWARD 1 FROM c;
FETCH ALL FROM c;
COMMIT;
DECLARE h CURSOR WITH HOLD FOR SELECT id FROM xrange('scan');
FETCH ALL FROM h;
CLOSE h;
-- without SCROLL only forward
BEGIN;
DECLARE f CURSOR FOR SELECT id FROM xrange('scan');
FETCH 2 FROM f;
FETCH BACKWARD 1 FROM f;
ROLLBACK;

-- a prepared plan outlives the stream it first read
PREPARE p(text) AS SELECT count(*) FROM xrange($1);
EXECUTE p('scan');
SELECT xdrop('scan');
EXECUTE p('scan');

-- who may not call the function or read the stream may not scan either
SELECT xadd('scan', fields('n', 1), id => '1-0');
CREATE ROLE regress_scan;
GRANT USAGE ON SCHEMA stream TO regress_scan;
SET ROLE regress_scan;
SELECT count(*) FROM xrange('scan');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION stream.xrange FROM PUBLIC;
SET ROLE regress_scan;
SELECT count(*) FROM xrange('scan');
RESET ROLE;
GRANT EXECUTE ON FUNCTION stream.xrange TO PUBLIC;
REVOKE USAGE ON SCHEMA stream FROM regress_scan;
DROP ROLE regress_scan;
SELECT xdrop('scan');

-- fields() with values of several types, from an array, from a plan used again
SELECT fields('a', 1, 'b', 2.50, 'c', true, 'd', 'x'::text, 'e', '\x00ff'::bytea, 'f', 'y'::name);
SELECT fields(VARIADIC ARRAY['a', 'b']), fields(VARIADIC ARRAY[1, 2]);
SELECT fields('n', n, 'half', n / 2.0) FROM generate_series(1, 2) n;
SELECT fields('a', NULL);
SELECT fields(NULL, 'a');
SELECT fields('a', 'b', 'c');
SELECT fields(VARIADIC NULL::text[]);

-- Read anew for each row, with a condition that changes: what the statement adds meanwhile is not seen.
SELECT count(xadd('again', fields('n', n))) FROM generate_series(1, 10) n;
SELECT a, (SELECT count(*) FROM xrange('again') r WHERE r.id > (a || '-0')::streamid), xadd('again', '{"n":"more"}') IS NOT NULL AS added
FROM generate_series(1, 3) a;
SELECT xlen('again'), xdrop('again');
