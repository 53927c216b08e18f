-- Streams in transactions, one session: own effects are seen at once, take effect
-- together with those on tables, and are gone with a rollback.
SET search_path = public, stream;
CREATE TABLE orders(n int PRIMARY KEY, id streamid);
CREATE FUNCTION ids(key text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), 'nothing') FROM xrange(key) $$;

-- Commit and rollback, together with a table.
BEGIN;
INSERT INTO orders SELECT 1, xadd('o', '{"n":1}', '1-0');
SELECT ids('o'), xlen('o'), xcount('o'), xtail('o'), xexists('o');
COMMIT;
BEGIN;
INSERT INTO orders SELECT 2, xadd('o', '{"n":2}', '2-0');
SELECT xdel('o', '1-0'), ids('o'), xlen('o'), xtail('o');
SELECT id FROM xread('o', '1-0');
ROLLBACK;
SELECT ids('o'), xlen('o'), xtail('o'), (SELECT count(*) FROM orders);
-- The id that was rolled back may be handed out again.
SELECT xadd('o', '{"n":2}', '2-0');

-- A stream made by a transaction that rolls back was never there.
BEGIN;
SELECT xadd('gone', '{"n":1}'), xexists('gone') \gset
SELECT :'xexists' AS inside;
ROLLBACK;
SELECT xexists('gone'), ids('gone');

-- Savepoints.
BEGIN;
SELECT xadd('o', '{"n":3}', '3-0');
SAVEPOINT a;
SELECT xadd('o', '{"n":4}', '4-0'), xdel('o', '1-0');
SAVEPOINT b;
SELECT xadd('o', '{"n":5}', '5-0'), xdel('o', '3-0'), ids('o');
ROLLBACK TO b;
SELECT ids('o');
SELECT xadd('o', '{"n":5}', '5-5');
RELEASE a;
SAVEPOINT c;
SELECT xtrim('o', maxlen => 1), ids('o');
ROLLBACK TO c;
SELECT xdel('o', '5-5'), ids('o');
ROLLBACK TO c;
COMMIT;
SELECT ids('o'), xlen('o');
-- Deep ones, every second rolled back.
DO $$
BEGIN
	FOR n IN 1..100 LOOP
		BEGIN
			PERFORM xadd('deep', fields('n', n), (n || '-0')::streamid);
			BEGIN
				PERFORM xadd('deep', fields('n', n), (n || '-1')::streamid);
				IF n % 2 = 0 THEN RAISE division_by_zero; END IF;
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
			IF n % 10 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
END $$;
SELECT xlen('deep'), count(*) FILTER (WHERE id::text LIKE '%-1') AS inner_ones, count(*) FILTER (WHERE id::text LIKE '%0-0') AS lost
FROM xrange('deep');

-- An exception block around a failed add leaves the rest as it was.
DO $$
BEGIN
	PERFORM xadd('o', '{"n":6}', '6-0');
	BEGIN
		PERFORM xadd('o', '{"n":7}', '7-0');
		PERFORM xadd('o', '{"n":7}', '7-0');
	EXCEPTION WHEN SQLSTATE 'ST001' THEN
		RAISE NOTICE 'refused: %', ids('o');
	END;
	PERFORM xadd('o', '{"n":8}', '8-0');
END $$;
SELECT ids('o');

-- An error in the middle of a statement, and of a transaction.
\set VERBOSITY sqlstate
SELECT xadd('o', '{"n":9}', '9-0'), 1/0;
SELECT xadd('o', fields('n', n), '9-0') FROM generate_series(1, 2) n;
SELECT 10 / (3 - n), xadd('o', fields('n', n), '9-*') FROM generate_series(1, 5) n;
BEGIN;
SELECT xadd('o', '{"n":9}', '9-0');
SELECT 1/0;
SELECT xadd('o', '{"n":9}', '9-1');
COMMIT;
\set VERBOSITY default
SELECT ids('o'), xtail('o');

-- A statement that adds and reads in one: the read sees what was added before its first row.
SELECT xadd('o', '{"n":9}', '9-0'), ids('o');
SELECT count(xadd('copy', fields)) FROM xrange('o');
SELECT count(xadd('copy', fields)) FROM xrange('copy');
SELECT xlen('o') AS o, xlen('copy') AS copy;
-- A deferred constraint that fails at commit takes the entry with it.
CREATE TABLE strict(n int UNIQUE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO strict VALUES (1);
\set VERBOSITY sqlstate
BEGIN;
INSERT INTO strict VALUES (1);
SELECT xadd('o', '{"n":10}', '10-0');
COMMIT;
\set VERBOSITY default
SELECT ids('o');

-- Read-only transactions read and do not write; prepared ones are refused.
\set VERBOSITY sqlstate
BEGIN READ ONLY;
SELECT xlen('o');
SAVEPOINT a;
SELECT xadd('o', '{"n":10}');
ROLLBACK TO a;
SELECT xdel('o', '1-0');
ROLLBACK TO a;
SELECT xtrim('o', 0);
ROLLBACK TO a;
SELECT xcreate('ro');
ROLLBACK TO a;
SELECT xdrop('o');
ROLLBACK TO a;
SELECT count(*) FROM xread('o', '0');
COMMIT;
BEGIN;
SELECT xadd('o', '{"n":10}', '10-0');
PREPARE TRANSACTION 'stream';
SELECT ids('o');
\set VERBOSITY default

-- Isolation levels.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT ids('o');
SELECT xadd('o', '{"n":11}', '11-0');
SELECT ids('o');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT xadd('o', '{"n":12}', '12-0'), xdel('o', '11-0');
SELECT ids('o');
COMMIT;
SELECT ids('o');

-- Functions, in the languages at hand.
CREATE FUNCTION add_sql(n int) RETURNS streamid LANGUAGE sql AS $$ SELECT xadd('fn', fields('n', n), (n || '-0')::streamid) $$;
CREATE FUNCTION add_plpgsql(n int) RETURNS streamid LANGUAGE plpgsql AS
	$$ BEGIN RETURN xadd('fn', fields('n', n), (n || '-0')::streamid); END $$;
CREATE PROCEDURE add_and_commit(n int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xadd('fn', fields('n', n), (n || '-0')::streamid);
	COMMIT;
	PERFORM xadd('fn', fields('n', n + 1), (n + 1 || '-0')::streamid);
	ROLLBACK;
	PERFORM xadd('fn', fields('n', n + 2), (n + 2 || '-0')::streamid);
END $$;
SELECT add_sql(1), add_plpgsql(2);
CALL add_and_commit(3);
SELECT ids('fn');

-- Triggers: for each row, under COPY, as a deferred constraint.
CREATE TABLE items(n int PRIMARY KEY, what text);
CREATE FUNCTION items_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xadd('items', fields('op', TG_OP, 'n', coalesce(NEW.n, OLD.n), 'what', coalesce(NEW.what, OLD.what, 'nothing')));
	RETURN NULL;
END $$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION items_changed();
INSERT INTO items SELECT n, 'w' || n FROM generate_series(1, 3) n;
UPDATE items SET what = what || '!' WHERE n = 2;
DELETE FROM items WHERE n = 1;
COPY items FROM stdin;
10	ten
11	eleven
12	twelve
\.
-- COPY of a row that fails.
\set VERBOSITY sqlstate
COPY items FROM stdin;
13	thirteen
10	again
\.
\set VERBOSITY default
INSERT INTO items VALUES (10, 'conflict'), (14, 'fourteen') ON CONFLICT DO NOTHING;
SELECT fields FROM xrange('items');
-- A deferred trigger runs within COMMIT.
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION items_changed();
ALTER TABLE orders ADD what text;
BEGIN;
INSERT INTO orders VALUES (100, NULL, 'late');
SELECT xlen('items') AS before_commit;
COMMIT;
SELECT xlen('items') AS after_commit;

-- INSERT … SELECT xadd, RETURNING, CTEs, and rows that a LIMIT keeps from being made.
INSERT INTO orders(n, id) SELECT n, xadd('sel', fields('n', n), n || '-0') FROM generate_series(200, 202) n RETURNING n, id;
WITH added AS (SELECT xadd('sel', fields('n', n), n || '-0') AS id FROM generate_series(210, 212) n)
SELECT count(id) FROM added;
WITH ins AS (INSERT INTO orders(n) SELECT generate_series(220, 222) RETURNING n)
SELECT xadd('sel', fields('n', n), n || '-0') FROM ins;
SELECT ids('sel');
-- A cursor over the adding itself.
BEGIN;
DECLARE c CURSOR FOR SELECT xadd('sel', fields('n', n), n || '-0') AS id FROM generate_series(300, 400) n;
FETCH 2 FROM c;
CLOSE c;
COMMIT;
SELECT count(*) FROM xrange('sel', '300', '400');
-- A cursor that stays open over a rollback to a savepoint.
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM xrange('o');
FETCH 2 FROM c;
SAVEPOINT a;
SELECT xadd('o', '{"n":20}', '20-0'), xdel('o', '6-0');
ROLLBACK TO a;
FETCH ALL FROM c;
COMMIT;
-- And one WITH HOLD.
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM xrange('o');
COMMIT;
SELECT xtrim('o', 1);
FETCH 3 FROM held;
CLOSE held;

-- Two streams and more in one transaction; many transactions one after the other.
BEGIN;
SELECT xadd(k, '{"n":1}', '1-0') FROM unnest(array['many:1', 'many:2', 'many:3']) k;
ROLLBACK;
SELECT count(*) FROM unnest(array['many:1', 'many:2', 'many:3']) k WHERE xexists(k);
BEGIN;
SELECT xadd(k, '{"n":1}', '1-0') FROM unnest(array['many:1', 'many:2', 'many:3']) k;
SELECT xdrop('many:2');
COMMIT;
SELECT k, ids(k) FROM unnest(array['many:1', 'many:2', 'many:3']) k;
DO $$ BEGIN FOR n IN 1..500 LOOP
	PERFORM xadd('often', fields('n', n)), xadd('often:' || n % 7, fields('n', n));
	IF n % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
END LOOP; END $$;
SELECT xlen('often'), sum(xlen('often:' || k)) FROM generate_series(0, 6) k;
SELECT bool_and((fields->>'n')::int % 3 <> 0) FROM xrange('often');

-- A name that changes hands within a transaction leads to the last stream, or nowhere.
BEGIN;
SELECT xadd('hands', '{"n":1}', '1-0'), xdrop('hands'), xadd('hands', '{"n":2}', '2-0'), xdrop('hands');
COMMIT;
SELECT xadd('hands2', '{"n":3}', '3-0'), xadd('hands3', '{"n":4}', '4-0');
SELECT xexists('hands'), ids('hands');
BEGIN;
SELECT xadd('hands', '{"n":1}', '1-0'), xdrop('hands'), xadd('hands', '{"n":2}', '2-0'), xdrop('hands'), xadd('hands', '{"n":5}', '5-0');
SAVEPOINT s;
SELECT xdrop('hands'), xadd('hands', '{"n":6}', '6-0'), xdrop('hands');
ROLLBACK TO s;
COMMIT;
SELECT ids('hands'), xdrop('hands'), xdrop('hands2'), xdrop('hands3');

DROP TABLE orders, strict, items;
DROP FUNCTION ids, add_sql, add_plpgsql, items_changed;
DROP PROCEDURE add_and_commit;
SELECT count(*) FILTER (WHERE xdrop(k)) FROM (SELECT unnest(array['o', 'deep', 'copy', 'fn', 'items', 'sel', 'many:1', 'many:3', 'often'])
	UNION ALL SELECT 'often:' || k FROM generate_series(0, 6) k) u(k);

-- What is done in a savepoint that is rolled back, and had not been done to the
-- stream before, leaves nothing in the session's memory either.
SELECT xadd('failing', '{"a":1}', '1-0');
SELECT xgroup_create('failing', 'g', '0');
DO $$
BEGIN
	FOR i IN 1..2000 LOOP
		BEGIN
			PERFORM xadd('failing', fields('n', i));
			PERFORM xdel('failing', '1-0');
			PERFORM xreadgroup('failing', 'g', 'c');
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
		BEGIN
			PERFORM xadd('failing' || i, fields('n', i));
			PERFORM xrename('failing' || i, 'renamed');
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN NULL;
		END;
	END LOOP;
	RAISE NOTICE 'bounded: %', (SELECT sum(total_bytes) < 300000 FROM pg_backend_memory_contexts WHERE name LIKE 'stream%');
END $$;
SELECT xlen('failing'), xdrop('failing');
