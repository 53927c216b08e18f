-- xtrim: exact, about, by id, with a limit.
SET search_path = public, stream;

CREATE FUNCTION refill(key text, entries int, node int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xdrop(key);
	PERFORM set_config('stream.node_max_entries', node::text, false);
	PERFORM xcreate(key);
	RETURN count(xadd(key, fields('xitem', n), n || '-0')) FROM generate_series(1, entries) n;
END $$;

SELECT refill('t', 1000, 100);
SELECT xtrim('t', maxlen => 666), xlen('t');
SELECT xtrim('t', maxlen => 555), xlen('t');
SELECT xtrim('t', 444, approx => true), xlen('t');
SELECT xtrim('t', maxlen => 400, approx => true), xlen('t');
SELECT xtrim('t', maxlen => 400), xtrim('t', maxlen => 1000), xlen('t');
SELECT min(id), max(id), count(*) FROM xrange('t');
SELECT xtrim('t', maxlen => 0), xlen('t'), xexists('t'), xtail('t');
SELECT xtrim('missing', maxlen => 0), xexists('missing');

-- By id: what is below goes, the bound stays.
SELECT refill('t', 6, 100);
SELECT xtrim('t', minid => '3-0');
SELECT array_agg(id) FROM xrange('t');
SELECT xtrim('t', minid => '3-1');
SELECT array_agg(id) FROM xrange('t');
SELECT xtrim('t', minid => '5');
SELECT array_agg(id) FROM xrange('t');
SELECT xtrim('t', minid => timestamptz '2018-01-01');
SELECT xlen('t'), xtail('t');
-- Ids far apart in one node.
SELECT xadd('far', '1-0', 'f', 'v'), xadd('far', '1641544570597-0', 'f', 'v'), xadd('far', '1641544570597-1', 'f', 'v');
SELECT xtrim('far', minid => '1641544570597-0'), xlen('far');
SELECT xtrim('far', minid => '1641544570597-1'), xlen('far');

-- The limit counts whole nodes: below a node's size nothing goes.
SELECT refill('t', 3, 2);
SELECT xtrim('t', maxlen => 0, approx => true, trim_limit => 1) AS one, xtrim('t', maxlen => 0, approx => true, trim_limit => 2) AS two;
-- Without a limit of one's own, an approximate trim takes up to 100 nodes' worth.
SELECT refill('t', 102, 1);
SELECT xtrim('t', maxlen => 1, approx => true), xlen('t');
SELECT refill('t', 102, 1);
SELECT xtrim('t', maxlen => 1, approx => true, trim_limit => 0), xlen('t');
SELECT refill('t', 102, 1);
SELECT xtrim('t', maxlen => 1), xlen('t');
-- Consecutive adds with a limit.
SELECT refill('t', 100, 10);
SELECT xadd('t', '{"xitem":"v"}', maxlen => 55, approx => true, trim_limit => 30) IS NOT NULL, xlen('t');
SELECT xlen('t');
SELECT xadd('t', '{"xitem":"v"}', maxlen => 55, approx => true, trim_limit => 30) IS NOT NULL;
SELECT xlen('t');

-- Trims inside a transaction, seen by it at once, undone with it.
SELECT refill('t', 100, 10);
BEGIN;
SELECT xtrim('t', maxlen => 42), xlen('t');
SELECT xadd('t', '{"xitem":"101"}', '101-0'), xtrim('t', maxlen => 42), xlen('t');
SAVEPOINT a;
SELECT xtrim('t', maxlen => 0), xlen('t');
ROLLBACK TO a;
SELECT xlen('t'), min(id), max(id) FROM xrange('t');
ROLLBACK;
SELECT xlen('t'), min(id), max(id) FROM xrange('t');
BEGIN;
SELECT count(xadd('t', fields('xitem', n), n || '-0')) FROM generate_series(101, 200) n;
SELECT xtrim('t', maxlen => 50), xlen('t');
COMMIT;
SELECT xlen('t'), min(id), max(id) FROM xrange('t');

\set VERBOSITY sqlstate
SELECT xtrim('t');
SELECT xtrim('t', maxlen => 1, minid => '1-0');
SELECT xtrim('t', maxlen => -1);
SELECT xtrim('t', maxlen => 1, trim_limit => 10);
SELECT xtrim('t', maxlen => 1, trim_limit => 0);
SELECT xtrim('t', maxlen => 1, approx => true, trim_limit => -1);
SELECT xtrim('t', minid => '-');
SELECT xtrim('t', minid => '+');
SELECT xtrim('t', minid => '$');
SELECT xtrim('t', minid => 'nonsense');
SELECT xtrim('t', maxlen => 1, refs => 'NONSENSE');
SELECT xtrim(NULL, 1);
\set VERBOSITY default

DROP FUNCTION refill;
RESET stream.node_max_entries;
SELECT count(xdrop(k)) FROM unnest(array['t', 'far']) k;

-- The greatest id there is goes too, whoever added it.
SELECT xadd('greatest', '{"a":1}', '1-0'), xadd('greatest', '{"a":1}', '18446744073709551615-18446744073709551615');
SELECT xtrim('greatest', 1);
SELECT xtrim('greatest', 0), xlen('greatest');
BEGIN;
SELECT xadd('greatest2', '{"a":1}', '18446744073709551615-18446744073709551615', maxlen => 0), xlen('greatest2');
COMMIT;
SELECT xlen('greatest2'), xdrop('greatest'), xdrop('greatest2');

-- What is added after a trim to a later id stays.
SELECT xadd('later', '{"a":1}', '5-0');
BEGIN;
SELECT xtrim('later', minid => '1000-0'), xadd('later', '{"a":2}', '6-0');
SELECT * FROM xrange('later');
COMMIT;
SELECT * FROM xrange('later');
SELECT xdrop('later');
