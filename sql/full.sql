-- A full engine refuses what needs room (53200), loses nothing, and can be emptied.
SET search_path = public, stream;

-- All in one transaction: it is refused when it commits, and leaves nothing.
\set VERBOSITY sqlstate
SELECT count(xadd('full', fields('n', n, 'v', repeat('x', 1000000)))) FROM generate_series(1, 100) n;
BEGIN;
SELECT xadd('other', '{"n":1}', '1-0');
SELECT count(xadd('full', fields('n', n, 'v', repeat('x', 1000000)))) FROM generate_series(1, 100) n;
COMMIT;
\set VERBOSITY default
SELECT xexists('full'), xexists('other'), (SELECT count(*) FROM stream.activity) AS activity;

-- One transaction an entry.
CREATE PROCEDURE fill_slowly(key text, bytes int, INOUT n int) LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM xadd(key, fields('n', n, 'v', repeat(chr(65 + n % 26), bytes)));
		COMMIT;
		n := n + 1;
	END LOOP;
END $$;
SELECT xcreate('full'), xgrant('full', 'ALL', '-');
\set VERBOSITY sqlstate
CALL fill_slowly('full', 1000000, 0);
SELECT xadd('full', fields('v', repeat('x', 1000000)), producer => 'p', iid => 'i');
\set VERBOSITY default
SELECT xlen('full') BETWEEN 5 AND 1000 AS plausible;
SELECT count(*) = xlen('full') AND bool_and(fields->>'v' = repeat(chr(65 + (fields->>'n')::int % 26), 1000000)) AS sound
FROM xrange('full');
-- Reading and freeing work in a full engine; then there is room again.
SELECT count(*) FROM xrange('full', count => 2);
SELECT xrevoke('full', 'ALL', '-');
SELECT xcfgset('full', '50 s');
SELECT xdel('full', (SELECT id FROM xrange('full', count => 1)));
SELECT xtrim('full', 2) > 3 AS trimmed, xlen('full');
SELECT xadd('full', fields('v', repeat('x', 1000000))) IS NOT NULL AS room;
-- what found no room was not remembered
SELECT xadd('full', '{"n":1}', producer => 'p', iid => 'i') = xtail('full') AS added,
	xinfo_stream('full')->>'iids-added' AS iids, xlen('full');
SELECT xdrop('full');
SELECT xadd('other', fields('v', repeat('x', 1000000))) IS NOT NULL AS room, xdrop('other');

-- Many small entries: until full, emptied one by one.
SELECT count(xadd('small', fields('v', repeat('y', 100)))) FROM generate_series(1, 100000);
SELECT sum(xdel('small', id)) FROM xrange('small');
SELECT xlen('small'), xdrop('small');

-- A full engine is worked off by consumers: at once, or read first and acknowledged later.
SELECT xgroup_create('work', 'g', mkstream => true), xgroup_create('work', 'h');
\set VERBOSITY sqlstate
CALL fill_slowly('work', 30000, 0);
\set VERBOSITY default
SELECT xackdel('work', 'g', id, 'KEEPREF') IS NOT NULL AS done FROM xreadgroup('work', 'g', 'c', count => 1);
SELECT count(*) FROM xreadgroup('work', 'g', 'c', count => 20);
SELECT xack('work', 'g', array_agg(id)) FROM xpending('work', 'g');
SELECT count(*) FROM xreadgroup('work', 'h', 'c', noack => true, count => 30);
SELECT id IS NOT NULL AS read FROM xreadgroup('work', 'g', 'd', count => 3);
SELECT xtrim('work', 10) > 100 AS trimmed, xlen('work');
SELECT xadd('work', '{"n":1}') IS NOT NULL AS room, xdrop('work');

DROP PROCEDURE fill_slowly;
