-- xdel: what it counts, what it leaves.
SET search_path = public, stream;

CREATE FUNCTION info(key text, name text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(j->>name, j->>replace(name, '_', '-')) FROM (SELECT to_jsonb(x) AS j FROM xinfo_stream(key) x) i $$;

SELECT count(xadd('d', fields('n', n), n || '-0')) FROM generate_series(1, 10) n;
SELECT xdel('d', '2-0');
SELECT xdel('d', '2-0');
SELECT xdel('d', '3-0', '4-0', '99-0');
SELECT xdel('d', '{5-0,6-0}');
SELECT xdel('d', array['7-0', '7-0', '2-0']);
SELECT xdel('d', VARIADIC array['8-0', '9-0']);
SELECT xdel('d', NULL), xdel('d', '{}'), xdel('d', VARIADIC array(SELECT id FROM xrange('d') WHERE false));
SELECT xdel('missing', '1-0');
SELECT array_agg(id), xlen('d') FROM xrange('d');
SELECT info('d', 'recorded_first_entry_id') AS first, info('d', 'max_deleted_entry_id') AS max_deleted,
	info('d', 'entries_added') AS added, info('d', 'last_generated_id') AS last;
-- The first entry and the newest.
SELECT xdel('d', '1-0');
SELECT info('d', 'recorded_first_entry_id') AS first, info('d', 'max_deleted_entry_id') AS max_deleted;
SELECT xdel('d', '10-0'), xlen('d'), xexists('d'), xtail('d');
SELECT info('d', 'max_deleted_entry_id') AS max_deleted, info('d', 'entries_added') AS added;
-- The next id goes on from the last one ever given.
SELECT xadd('d', '{"n":11}', '10-*');
-- Deleting a lower one does not lower what was deleted last.
SELECT xadd('d', '{"n":12}', '12-0'), xadd('d', '{"n":13}', '13-0');
SELECT xdel('d', '13-0'), xdel('d', '12-0'), info('d', 'max_deleted_entry_id') AS max_deleted;

-- More than twenty nodes, emptied in random order, the length right at each step.
SELECT setseed(0.7);
SET stream.node_max_entries = 10;
SELECT count(xadd('f', fields('n', n), n || '-0')) FROM generate_series(1, 250) n;
RESET stream.node_max_entries;
CREATE TABLE doomed AS SELECT id, row_number() OVER (ORDER BY random()) AS n FROM xrange('f');
DO $$
DECLARE r record; left_over int := 250;
BEGIN
	FOR r IN SELECT id, n FROM doomed ORDER BY n LOOP
		IF xdel('f', r.id) <> 1 THEN RAISE 'entry % was not deleted', r.id; END IF;
		left_over := left_over - 1;
		IF xlen('f') <> left_over THEN RAISE 'length % instead of %', xlen('f'), left_over; END IF;
		IF r.n % 3 = 0 THEN COMMIT; END IF;
		IF r.n % 50 = 0 AND (SELECT array_agg(id) FROM xrange('f')) IS DISTINCT FROM
			(SELECT array_agg(id ORDER BY id) FROM doomed d WHERE d.n > r.n) THEN RAISE 'content differs at %', r.n; END IF;
	END LOOP;
END $$;
SELECT xlen('f'), count(*) FROM xrange('f');
SELECT info('f', 'radix_tree_keys') AS nodes;

-- Every entry of a statement's own reading.
SELECT count(xadd('own', fields('n', n))) FROM generate_series(1, 500) n;
SELECT sum(xdel('own', id)) FROM xrange('own') WHERE (fields->>'n')::int % 2 = 0;
SELECT xlen('own'), min((fields->>'n')::int), max((fields->>'n')::int) FROM xrange('own');

\set VERBOSITY sqlstate
SELECT xdel('d', 'nonsense');
SELECT xdel('d', '12-0', 'nonsense');
SELECT xdel('d', '(12-0');
SELECT xdel('d', '*');
SELECT xdel(NULL, '1-0');
\set VERBOSITY default

-- More ids than are looked at in one hold of the stream's lock: some not there, some of the transaction's own, not in order.
SELECT count(xadd('d', '{"n":1}', n || '-0')) FROM generate_series(1001, 4000) n;
BEGIN;
SELECT count(xadd('d', '{"n":1}', n || '-0')) FROM generate_series(4001, 4500) n;
SELECT xlen('d') AS before FROM xdel('d', '1002-0');
SELECT result, count(*), min(id), max(id), xlen('d') FROM xdelex('d', array(SELECT (n || '-0')::streamid FROM generate_series(1001, 5000) n ORDER BY n % 7, n)) GROUP BY result ORDER BY result;
SELECT xdel('d', array(SELECT (n || '-0')::streamid FROM generate_series(1001, 4500) n));
ROLLBACK;
SELECT xlen('d') AS before, xdel('d', array(SELECT (n || '-0')::streamid FROM generate_series(1001, 4500) n)), xlen('d');

DROP FUNCTION info;
DROP TABLE doomed;
SELECT count(xdrop(k)) FROM unnest(array['d', 'f', 'own']) k;
