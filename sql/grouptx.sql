-- Groups in transactions, one session: own effects are seen at once, savepoints take them back, nothing is left of a rollback
-- but that an entry has been tried.
SET search_path = public, stream;
CREATE FUNCTION pel(key text, g text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(format('%s:%s:%s', id, consumer, deliveries), ' ' ORDER BY id), 'nothing') FROM xpending(key, g) $$;
CREATE FUNCTION given(key text, g text, c text, n bigint DEFAULT 100) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(format('%s(%s)', id, deliveries), ' '), 'nothing') FROM xreadgroup(key, g, c, count => n) $$;
CREATE FUNCTION info(key text) RETURNS TABLE (name text, consumers bigint, pending bigint, last streamid, read bigint, lag bigint, released bigint, in_flight bigint)
	LANGUAGE sql AS $$ SELECT name, consumers, pending, last_delivered_id, entries_read, lag, released, in_flight FROM xinfo_groups(key) $$;

-- All of it in one transaction, rolled back: as a test suite does.
BEGIN;
SELECT count(xadd('t', fields('n', n), n || '-0')) FROM generate_series(1, 6) n;
SELECT xgroup_create('t', 'g'), xgroup_create('t', 'h', '3-0');
SELECT * FROM info('t');
SELECT given('t', 'g', 'c', 3), given('t', 'h', 'c', 1), pel('t', 'g');
SELECT xack('t', 'g', '1-0'), xnack('t', 'g', 'FAIL', '2-0'), pel('t', 'g');
SELECT id FROM xclaim('t', 'g', 'd', '0', '{2-0,3-0}');
SELECT name, pending, inactive < '1 min' AS active FROM xinfo_consumers('t', 'g');
SELECT * FROM xpending_summary('t', 'g');
SELECT given('t', 'g', 'd', 2), pel('t', 'g');
SELECT xdel('t', '2-0'), pel('t', 'g');
SELECT * FROM xackdel('t', 'g', '{3-0,4-0,6-0}');
SELECT * FROM info('t');
SELECT xgroup_delconsumer('t', 'g', 'd'), pel('t', 'g'), given('t', 'g', 'e'), pel('t', 'g');
SELECT xgroup_destroy('t', 'h'), (SELECT count(*) FROM info('t'));
ROLLBACK;
SELECT xexists('t');

-- The same of committed groups.
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(1, 6) n;
SELECT xgroup_create('s', 'g');
BEGIN;
SELECT given('s', 'g', 'c', 3), pel('s', 'g');
SELECT * FROM info('s');
SELECT id, deliveries FROM xreadgroup('s', 'g', 'c', '0');
SELECT xack('s', 'g', '1-0'), xack('s', 'g', '1-0'), pel('s', 'g');
COMMIT;
SELECT pel('s', 'g');
SELECT * FROM info('s');
BEGIN;
SELECT xack('s', 'g', '2-0'), given('s', 'g', 'd'), pel('s', 'g');
SELECT * FROM info('s');
ROLLBACK;
-- What was delivered and rolled back comes first, and counts as an attempt; the acknowledgement is gone.
SELECT pel('s', 'g');
SELECT * FROM info('s');
SELECT given('s', 'g', 'd', 2), pel('s', 'g');
SELECT given('s', 'g', 'd'), pel('s', 'g');
SELECT * FROM info('s');

-- Savepoints.
BEGIN;
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(7, 9) n;
SELECT given('s', 'g', 'e', 1);
SAVEPOINT a;
SELECT given('s', 'g', 'e', 1), xack('s', 'g', '{2-0,7-0}'), pel('s', 'g');
SAVEPOINT b;
SELECT given('s', 'g', 'f'), xnack('s', 'g', 'FATAL', '3-0'), xadd('s', '{"n":10}', '10-0'), pel('s', 'g');
ROLLBACK TO b;
SELECT pel('s', 'g'), given('s', 'g', 'f');
ROLLBACK TO a;
SELECT pel('s', 'g');
SELECT xdel('s', '3-0'), pel('s', 'g');
SAVEPOINT c;
SELECT xgroup_delconsumer('s', 'g', 'd'), pel('s', 'g');
RELEASE c;
SELECT given('s', 'g', 'e', 2), pel('s', 'g');
COMMIT;
SELECT pel('s', 'g');
SELECT * FROM info('s');
SELECT name, pending FROM xinfo_consumers('s', 'g');

-- Made and used, destroyed and made again.
BEGIN;
SELECT xgroup_create('s', 'new', '4-0');
SAVEPOINT a;
SELECT given('s', 'new', 'c', 2), xgroup_set('s', 'new', retry => '1 min');
ROLLBACK TO a;
SELECT given('s', 'new', 'c', 1), pel('s', 'new');
SELECT xgroup_destroy('s', 'new'), xgroup_destroy('s', 'new');
SELECT xgroup_create('s', 'new', '6-0'), given('s', 'new', 'd', 1), pel('s', 'new');
COMMIT;
SELECT pel('s', 'new');
SELECT * FROM info('s');
BEGIN;
SELECT xgroup_destroy('s', 'g');
SAVEPOINT a;
SELECT xgroup_create('s', 'g', '$'), given('s', 'g', 'c'), xadd('s', '{"n":11}', '11-0'), given('s', 'g', 'c'), pel('s', 'g');
SELECT * FROM info('s');
ROLLBACK TO a;
\set VERBOSITY sqlstate
SAVEPOINT a;
SELECT given('s', 'g', 'c');
ROLLBACK TO a;
\set VERBOSITY default
SELECT xack('s', 'g', '4-0'), (SELECT count(*) FROM info('s'));
ROLLBACK;
SELECT * FROM info('s');
BEGIN;
SELECT xgroup_destroy('s', 'g'), xgroup_create('s', 'g', '8-0'), given('s', 'g', 'c');
COMMIT;
SELECT pel('s', 'g');

-- The cursor set within.
BEGIN;
SELECT xgroup_setid('s', 'g', '0'), given('s', 'g', 'c', 2), xgroup_setid('s', 'g', '8-0'), given('s', 'g', 'c'), pel('s', 'g');
SELECT * FROM info('s');
ROLLBACK;
BEGIN;
SELECT xgroup_setid('s', 'g', '0'), given('s', 'g', 'c', 2);
COMMIT;
SELECT pel('s', 'g');
SELECT * FROM info('s');

-- A stream dropped and made again has no groups.
BEGIN;
SELECT xdrop('s'), xadd('s', '{"n":1}', '1-0'), (SELECT count(*) FROM info('s')), xgroup_create('s', 'g'), given('s', 'g', 'c');
ROLLBACK;
SELECT pel('s', 'g');
BEGIN;
SELECT xdrop('s'), xadd('s', '{"n":1}', '1-0'), xgroup_create('s', 'g'), given('s', 'g', 'c');
COMMIT;
SELECT pel('s', 'g');
SELECT * FROM info('s');

-- With tables: all or nothing.
CREATE TABLE done(id streamid PRIMARY KEY, n int);
SELECT count(xadd('w', fields('n', n), n || '-0')) FROM generate_series(1, 4) n;
SELECT xgroup_create('w', 'g');
BEGIN;
WITH work AS MATERIALIZED (SELECT * FROM xreadgroup('w', 'g', 'c', count => 2)),
	kept AS (INSERT INTO done SELECT id, (fields->>'n')::int FROM work RETURNING id)
	SELECT xack('w', 'g', array_agg(id)) FROM kept;
COMMIT;
BEGIN;
WITH work AS MATERIALIZED (SELECT * FROM xreadgroup('w', 'g', 'c', count => 2)),
	kept AS (INSERT INTO done SELECT id, (fields->>'n')::int FROM work RETURNING id)
	SELECT xack('w', 'g', array_agg(id)) FROM kept;
ROLLBACK;
SELECT * FROM done;
SELECT * FROM info('w');
SELECT given('w', 'g', 'c');

-- An error takes back what the statement had done.
SELECT xgroup_create('w', 'e');
\set VERBOSITY sqlstate
SELECT given('w', 'e', 'c'), 1 / (xlen('w') - 4);
\set VERBOSITY default
SELECT pel('w', 'e'), given('w', 'e', 'c', 1);
DO $$ BEGIN
	PERFORM given('w', 'e', 'c', 1);
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN
	RAISE NOTICE '%, %', pel('w', 'e'), given('w', 'e', 'd', 1);
END $$;

-- Who has written already does not look first; what he is not given leaves nothing but
-- a consumer that was not there.
SELECT xgroup_create('w', 'y');
BEGIN;
SELECT given('w', 'y', 'c', 2), given('w', 'y', 'c', 9), given('w', 'y', 'c'), given('w', 'y', 'd'), given('w', 'y', 'd');
SELECT name, pending FROM xinfo_consumers('w', 'y');
SAVEPOINT a;
SELECT given('w', 'y', 'e');
ROLLBACK TO a;
SELECT given('w', 'y', 'c');
COMMIT;
SELECT name, pending FROM xinfo_consumers('w', 'y');

-- Subtransactions within each other, of all that can be done to a group: what one
-- that is rolled back has done is seen no more.
CREATE FUNCTION seen() RETURNS text LANGUAGE sql AS $$
SELECT format('%s; %s; %s',
	(SELECT string_agg(format('%s %s', p.id, p.consumer), ',') FROM xpending('x', 'g') p),
	(SELECT to_jsonb(g) - 'in_flight' FROM xinfo_groups('x') g),
	(SELECT string_agg(format('%s %s', c.name, c.pending), ',') FROM xinfo_consumers('x', 'g') c))
$$;
CREATE FUNCTION some_work(depth int, INOUT kept int DEFAULT 0, INOUT undone int DEFAULT 0, INOUT wrong int DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
	before text;
	ids text[];
	c text;
	inner_work record;
BEGIN
	FOR i IN 1..4 LOOP
		before := seen();
		BEGIN
			FOR k IN 1..1 + floor(random() * 3) LOOP
				c := 'c' || floor(random() * 4);
				SELECT coalesce(array_agg(id), '{7-0}') INTO ids FROM (SELECT id FROM xpending('x', 'g') ORDER BY random() LIMIT 4) q;
				CASE floor(random() * 14)
					WHEN 0, 1, 2, 3 THEN PERFORM given('x', 'g', c, 3);
					WHEN 4, 5, 6 THEN PERFORM xack('x', 'g', ids);
					WHEN 7, 8 THEN PERFORM xnack('x', 'g', 'FAIL', ids);
					WHEN 9, 10 THEN PERFORM count(*) FROM xclaim('x', 'g', c, '0', ids, last_id => ids[1]);
					WHEN 11 THEN PERFORM xgroup_createconsumer('x', 'g', c);
					WHEN 12 THEN PERFORM xgroup_delconsumer('x', 'g', c);
					ELSE PERFORM xgroup_setid('x', 'g', ids[1]);
				END CASE;
			END LOOP;
			IF depth > 1 THEN
				inner_work := some_work(depth - 1, kept, undone, wrong);
				kept := inner_work.kept;
				undone := inner_work.undone;
				wrong := inner_work.wrong;
			END IF;
			IF random() < 0.5 THEN RAISE division_by_zero; END IF;
			kept := kept + 1;
		EXCEPTION WHEN division_by_zero THEN
			undone := undone + 1;
			wrong := wrong + (seen() IS DISTINCT FROM before)::int;
		END;
	END LOOP;
END $$;
SELECT count(xadd('x', fields('n', n), n || '-0')) FROM generate_series(1, 1000) n;
SELECT xgroup_create('x', 'g'), given('x', 'g', 'c0', 20) IS NOT NULL AS given, setseed(0.5);
BEGIN;
SELECT kept > 10 AS kept, undone > 10 AS undone, wrong FROM some_work(4);
SELECT seen() AS within \gset
COMMIT;
SELECT seen() = :'within' AS same;

SELECT count(xdrop(s)) FROM unnest('{s,w,x}'::text[]) s;
DROP TABLE done;
DROP FUNCTION pel, given, info, seen, some_work;

-- Deliveries that were rolled back count while the entry is still to be
-- delivered: what the group was set past becomes no dead letter, in the same
-- transaction or later, nor should the group be set back.
SELECT xadd('passed', '{"a":1}', i || '-0') FROM generate_series(1, 3) i;
SELECT xgroup_create('passed', 'g', '0');
BEGIN;
SELECT id FROM xreadgroup('passed', 'g', 'c');
ROLLBACK;
BEGIN;
SELECT xgroup_setid('passed', 'g', '2-0');
SELECT * FROM xreclaim('passed', 'g', '0', 1, 'passed dead');
SELECT source FROM (SELECT fields->>'id' AS source FROM xrange('passed dead')) d;
ROLLBACK;
SELECT xgroup_setid('passed', 'g', '$');
SELECT * FROM xreclaim('passed', 'g', '0', 1, 'passed dead');
SELECT xgroup_setid('passed', 'g', '0');
SELECT * FROM xreclaim('passed', 'g', '0', 1, 'passed dead');
-- Of a pending record they stay.
SELECT id FROM xreadgroup('passed', 'g', 'c', count => 1);
BEGIN;
SELECT id FROM xclaim('passed', 'g', 'd', '0', '1-0');
ROLLBACK;
SELECT id, consumer, deliveries FROM xpending('passed', 'g');
SELECT xgroup_setid('passed', 'g', '$');
SELECT id, consumer, deliveries FROM xpending('passed', 'g');
SELECT xdrop('passed');
