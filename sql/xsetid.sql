-- XSETID: the last id, the number of entries ever added, the greatest deleted id.
SET search_path = public, stream;
\set VERBOSITY terse
CREATE FUNCTION header(s text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', j->>'length', j->>'last-generated-id', j->>'entries-added', j->>'max-deleted-entry-id')
	FROM xinfo_stream(s) j
$$;

SELECT xsetid('x', '1-1');
SELECT xadd('x', '{"n":1}', '100-0');
SELECT xsetid('x', '200-0'), header('x');
SELECT header('x'), xtail('x');
SELECT xadd('x', '{"n":2}', '200-0');
SELECT xadd('x', '{"n":2}', '200-*');
SELECT header('x');

-- what is refused
SELECT xsetid('x', '1-1');
SELECT xsetid('x', '200-0');
SELECT xsetid('x', NULL);
SELECT xsetid('x', '300-0', -1);
SELECT xsetid('x', '300-0', 1);
SELECT xsetid('x', '300-0', 5, '301-0');
SELECT xdel('x', '200-1');
SELECT xsetid('x', '150-0');
SELECT header('x');

-- all three
SELECT xsetid('x', '300-0', 7, '250-0');
SELECT header('x');
-- 0-0 leaves the greatest deleted id alone, a smaller one is taken
SELECT xsetid('x', '300-0', NULL, '0-0');
SELECT header('x');
SELECT xsetid('x', '300-0', NULL, '100-0');
SELECT header('x');
-- now lower, down to the last entry
SELECT xsetid('x', '99-0');
SELECT xsetid('x', '100-0');
SELECT xadd('x', '{"n":3}', '100-*');
-- ids of deleted entries again, in the same node
SELECT xadd('x', '{"n":3}', '200-1');
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;
SELECT xdrop('x');

-- a stream that is empty after a trim has no floor
SELECT count(xadd('x', '{"n":1}', (n || '-0')::streamid)) FROM generate_series(1, 5) n;
SELECT xtrim('x', 0);
SELECT xsetid('x', '2-0', 0);
SELECT xadd('x', '{"n":1}', '2-*'), header('x');
SELECT header('x');
SELECT xdrop('x');

-- its place among adds and deletions of a transaction
BEGIN;
SELECT xadd('x', '{"n":1}', '1-0'), xadd('x', '{"n":2}', '2-0');
SELECT xsetid('x', '10-0', 50), header('x');
SELECT xadd('x', '{"n":3}', '5-0');
ROLLBACK;
BEGIN;
SELECT xadd('x', '{"n":1}', '1-0'), xadd('x', '{"n":2}', '2-0');
SELECT xdel('x', '1-0');
SELECT xsetid('x', '10-0', 50, '9-0');
SELECT header('x');
SELECT xadd('x', '{"n":3}', '10-*'), xadd('x', '{"n":4}', '10-*');
SELECT header('x');
SAVEPOINT s;
SELECT xsetid('x', '20-0', 60);
SELECT xadd('x', '{"n":5}', '20-*'), header('x');
ROLLBACK TO s;
SELECT header('x');
SELECT xdel('x', '2-0');
SELECT xsetid('x', '30-0', NULL, '3-0');
SELECT xadd('x', '{"n":6}', '30-*');
SELECT header('x');
COMMIT;
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;
-- set to what it is: the entries around it are of one run
BEGIN;
SELECT xadd('x', '{"n":7}', '40-0'), xsetid('x', '40-0', 100), xadd('x', '{"n":8}', '41-0');
COMMIT;
SELECT header('x'), array(SELECT id FROM xrange('x', '40-0')) AS ids;

-- with a trim: only a lowering after it is refused
BEGIN;
SELECT xtrim('x', 2);
SELECT xsetid('x', '50-0'), xadd('x', '{"n":9}', '50-*');
COMMIT;
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;
BEGIN;
SELECT xtrim('x', 0);
SELECT xsetid('x', '45-0');
ROLLBACK;
-- the same for ids it has deleted, where the greatest deleted id is set to less
BEGIN;
SELECT xadd('x', '{"n":9}', '60-0'), xdel('x', '50-1', '60-0');
SELECT xsetid('x', '60-0', NULL, '3-0');
SAVEPOINT s;
SELECT xsetid('x', '55-0');
ROLLBACK TO s;
SELECT xsetid('x', '45-0');
ROLLBACK;
SELECT xtrim('x', 0);
BEGIN;
SELECT xsetid('x', '31-0'), xadd('x', '{"n":10}', '31-*'), xadd('x', '{"n":11}', '31-*');
SELECT xtrim('x', 1);
SELECT xadd('x', '{"n":12}', '31-*');
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;
COMMIT;
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;
SELECT xtrim('x', minid => '1000000-0');
BEGIN;
-- a trim by id does not reach what is added later at lower ids
SELECT xsetid('x', '40-0', 0), xtrim('x', minid => '45-0'), xadd('x', '{"n":13}', '41-0');
COMMIT;
SELECT header('x'), array(SELECT id FROM xrange('x')) AS ids;

-- a cursor reads across it
SELECT id FROM xread('x', '0');
SELECT xdrop('x');
DROP FUNCTION header;
