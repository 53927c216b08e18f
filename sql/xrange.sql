-- xrange, xrevrange, xcount: bounds, paging, times, deleted entries, estimates.
SET search_path = public, stream;

SELECT count(xadd('r', fields('n', n), n || '-0')) FROM generate_series(1, 6) n;
SELECT xadd('r', '6-5', 'n', '6.5'), xadd('r', '7-0', 'n', '7');

-- Open, closed and half-open bounds; NULL is open.
SELECT array_agg(id) FROM xrange('r');
SELECT array_agg(id) FROM xrange('r', '-', '+');
SELECT array_agg(id) FROM xrange('r', NULL, NULL);
SELECT array_agg(id) FROM xrange('r', '2', '4');
SELECT array_agg(id) FROM xrange('r', '(2', '4');
SELECT array_agg(id) FROM xrange('r', '2-0', '(4-0');
SELECT array_agg(id) FROM xrange('r', '(2-0', '(4-0');
-- A stop without sequence means the whole millisecond, a start its beginning.
SELECT array_agg(id) FROM xrange('r', '6', '6');
SELECT array_agg(id) FROM xrange('r', '(6', '6');
SELECT array_agg(id) FROM xrange('r', '6', '(6-5');
-- The wrong way round, and beyond the ends.
SELECT count(*) FROM xrange('r', '5', '2');
SELECT count(*) FROM xrange('r', '+', '-');
SELECT count(*) FROM xrange('r', '8', '+');
SELECT count(*) FROM xrange('r', '-', '0');
SELECT count(*) FROM xrange('missing');
SELECT count(*) FROM xrevrange('missing');
-- Counts.
SELECT array_agg(id) FROM xrange('r', count => 3);
SELECT array_agg(id) FROM xrange('r', '3', '+', 2);
SELECT array_agg(id) FROM xrange('r', count => 100);
SELECT count(*) FROM xrange('r', count => 0);
SELECT count(*) FROM xrevrange('r', count => -1);
SELECT array_agg(id) FROM xrevrange('r', count => 3);
SELECT array_agg(id) FROM xrevrange('r', '5', '2');
SELECT array_agg(id) FROM xrevrange('r', '(5', '(2', 10);
SELECT array_agg(id) FROM xrevrange('r', '+', '6');
SELECT xcount('r'), xcount('r', '2', '4'), xcount('r', '(2', '(4'), xcount('r', '6', '6'), xcount('r', '5', '2'),
	xcount('missing');

-- Bounds that hold nothing.
\set VERBOSITY sqlstate
SELECT * FROM xrange('r', '(18446744073709551615-18446744073709551615', '+');
SELECT * FROM xrange('r', '-', '(0-0');
SELECT * FROM xrange('r', '(-', '+');
SELECT * FROM xrange('r', '-', '(+');
SELECT * FROM xrange('r', '(', '+');
SELECT * FROM xrange('r', 'nonsense', '+');
SELECT * FROM xrange('r', '1-2-3x', '+');
SELECT * FROM xrange('r', '18446744073709551616', '+');
SELECT * FROM xrange('r', '$', '+');
SELECT * FROM xrange('r', '>', '+');
SELECT * FROM xrange('r', '*', '+');
SELECT * FROM xrange('r', '1-*', '+');
SELECT * FROM xrange(NULL);
\set VERBOSITY default

-- Times: ids are milliseconds, both bounds included.
SELECT xadd('t', fields('at', t), t) FROM unnest(array['2018-02-01 00:00:00.000+00', '2018-02-01 00:00:00.999+00',
	'2018-02-01 12:00:00+00', '2018-02-02 00:00:00+00', '2018-02-03 00:00:00+00']::timestamptz[]) t;
SET timezone = 'UTC';
SELECT id, id::timestamptz FROM xrange('t', timestamptz '2018-02-01 00:00:00.999+00', timestamptz '2018-02-02 00:00:00+00');
SELECT count(*) FROM xrange('t', date '2018-02-01', date '2018-02-02');
SELECT count(*) FROM xrange('t', timestamp '2018-02-01 00:00:00.5', '+');
SELECT count(*) FROM xrange('t', '2018-02-01', '2018-02-01 12:00');
SELECT count(*) FROM xrange('t', '2018-02-02T00:00:00Z', '2018-02-03T00:00:00Z');
SELECT count(*) FROM xrange('t', timestamptz '-infinity', timestamptz 'infinity');
SELECT count(*) FROM xrange('t', timestamptz '1900-01-01', timestamptz '9999-12-31');
SELECT count(*) FROM xrevrange('t', timestamptz '2018-02-02 00:00+00', timestamptz '2018-02-01 12:00+00');
RESET timezone;

-- Deleted entries are not shown and not counted.
SELECT xdel('r', '3-0', '6-5', '1-0');
SELECT array_agg(id) FROM xrange('r');
SELECT array_agg(id) FROM xrevrange('r');
SELECT xcount('r'), xcount('r', '1', '3'), xcount('r', '(3', '6');
SELECT array_agg(id) FROM xrange('r', count => 2);
-- A stop between nodes, and one that was deleted.
SELECT array_agg(id) FROM xrevrange('r', '6-5', '5');

-- A stream can be read to its end in pages.
SELECT count(xadd('pages', fields('n', n))) FROM generate_series(1, 2345) n;
CREATE FUNCTION page_through(key text, page int, backwards bool DEFAULT false) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	from_id text := CASE WHEN backwards THEN '+' ELSE '-' END;
	got int[] := '{}';
	part int[];
	last text;
BEGIN
	LOOP
		IF backwards THEN
			SELECT array_agg((fields->>'n')::int), min(id)::text INTO part, last FROM xrevrange(key, from_id, '-', page);
		ELSE
			SELECT array_agg((fields->>'n')::int), max(id)::text INTO part, last FROM xrange(key, from_id, '+', page);
		END IF;
		EXIT WHEN part IS NULL;
		got := got || part;
		from_id := '(' || last;
	END LOOP;
	RETURN got;
END $$;
SELECT page_through('pages', 100) = array(SELECT generate_series(1, 2345)) AS forwards,
	page_through('pages', 77, true) = array(SELECT generate_series(2345, 1, -1)) AS backwards;

-- Random ranges, counts and deletions against a table that holds the same.
SELECT setseed(0.42);
SET stream.node_max_entries = 10;
CREATE TABLE model AS SELECT DISTINCT ((1 + random() * 50)::int || '-' || (1 + random() * 20)::int)::streamid AS id
	FROM generate_series(1, 600);
SELECT count(xadd('fuzz', '{"a":1}', id)) = count(*) AS added FROM (SELECT id FROM model ORDER BY id) m;
CREATE FUNCTION random_ranges(rounds int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	lo streamid; hi streamid; n bigint; wrong int := 0; want streamid[]; want_all bigint;
BEGIN
	FOR i IN 1..rounds LOOP
		lo := (random() * 52)::int || '-' || (random() * 22)::int;
		hi := (random() * 52)::int || '-' || (random() * 22)::int;
		n := 1 + random() * 100;
		SELECT count(*) INTO want_all FROM model WHERE id BETWEEN lo AND hi;
		SELECT array_agg(id ORDER BY id) INTO want
			FROM (SELECT id FROM model WHERE id BETWEEN lo AND hi ORDER BY id LIMIT n) m;
		IF (SELECT array_agg(id) FROM xrange('fuzz', lo, hi, n)) IS DISTINCT FROM want THEN
			RAISE NOTICE 'xrange % % %', lo, hi, n; wrong := wrong + 1;
		END IF;
		SELECT array_agg(id ORDER BY id DESC) INTO want
			FROM (SELECT id FROM model WHERE id BETWEEN lo AND hi ORDER BY id DESC LIMIT n) m;
		IF (SELECT array_agg(id) FROM xrevrange('fuzz', hi, lo, n)) IS DISTINCT FROM want THEN
			RAISE NOTICE 'xrevrange % % %', hi, lo, n; wrong := wrong + 1;
		END IF;
		IF xcount('fuzz', lo, hi) <> want_all THEN
			RAISE NOTICE 'xcount % %', lo, hi; wrong := wrong + 1;
		END IF;
		IF (SELECT array_agg(id) FROM xread('fuzz', lo, n)) IS DISTINCT FROM
			(SELECT array_agg(id ORDER BY id) FROM (SELECT id FROM model WHERE id > lo ORDER BY id LIMIT n) m) THEN
			RAISE NOTICE 'xread % %', lo, n; wrong := wrong + 1;
		END IF;
	END LOOP;
	RETURN wrong;
END $$;
SELECT random_ranges(300) AS wrong;
WITH gone AS (DELETE FROM model WHERE random() < 0.4 RETURNING id)
SELECT xdel('fuzz', VARIADIC array_agg(id)) = count(*) AS deleted FROM gone;
SELECT random_ranges(300) AS wrong;
-- The same inside a transaction that has added and deleted itself.
BEGIN;
WITH more AS (INSERT INTO model SELECT ('60-' || n)::streamid FROM generate_series(1, 50) n RETURNING id)
SELECT count(xadd('fuzz', '{"a":1}', id)) FROM more;
WITH gone AS (DELETE FROM model WHERE random() < 0.3 RETURNING id)
SELECT xdel('fuzz', VARIADIC array_agg(id)) = count(*) AS deleted FROM gone;
SELECT random_ranges(300) AS wrong;
COMMIT;
SELECT random_ranges(300) AS wrong;
SELECT xlen('fuzz') = count(*) AS same FROM model;
RESET stream.node_max_entries;

-- Joins and lateral calls.
SELECT k, r.id FROM unnest(array['r', 'missing', 't']) k, xrange(k, count => 2) r;
SELECT m.n, r.id FROM generate_series(4, 6) m(n), xrange('r', m.n::text, m.n::text) r;
-- A cursor over a range.
BEGIN;
DECLARE c CURSOR FOR SELECT fields->>'n' AS n FROM xrange('pages');
FETCH 2 FROM c;
MOVE 2340 IN c;
FETCH ALL FROM c;
COMMIT;

-- The planner is told how many rows will come.
CREATE FUNCTION estimate(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT estimate($$ SELECT * FROM xrange('pages', count => 10) $$) AS by_count,
	estimate($$ SELECT * FROM xrange('pages') $$) AS whole,
	estimate($$ SELECT * FROM xrevrange('pages', count => 7) $$) AS reverse;

DROP FUNCTION page_through, random_ranges, estimate;
DROP TABLE model;
SELECT count(xdrop(k)) FROM unnest(array['r', 't', 'pages', 'fuzz']) k;
