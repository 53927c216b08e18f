-- Much of everything in one transaction; here in 64 MB, more in test/t/028_sizes.pl.
SET search_path = public, stream;

-- Thousands of streams: what is set aside for their merges must not be rounded up for each.
BEGIN;
SELECT count(xadd('s' || n, '*', 'k', 'v')) FROM generate_series(1, 3500) n;
COMMIT;
SELECT count(*), sum(length) FROM stream.streams WHERE stream ~ '^s\d+$';
SELECT count(xadd('s' || n, '*', 'k', 'v')) FROM generate_series(1, 3500) n;
SELECT sum(xdrop('s' || n)::int) FROM generate_series(1, 3500) n;

-- A savepoint an entry, half of them rolled back.
CREATE PROCEDURE try_adds(key text, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		BEGIN
			PERFORM xadd(key, '*', 'n', i::text);
			IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
CALL try_adds('savepoints', 10000);
SELECT count(*), count(*) FILTER (WHERE n = 2 * r - 1) AS right
FROM (SELECT (fields->>'n')::int AS n, row_number() OVER (ORDER BY id) AS r FROM xrange('savepoints')) e;
-- They are in full nodes.
SELECT nodes FROM stream.streams WHERE stream = 'savepoints';
-- So in the journal: chunks were joined, but not across ids of others, changes of the header, nor beyond the limits.
SELECT xcfgset('savepoints', node_max_entries => 7);
BEGIN;
CALL try_adds('savepoints', 100);
SELECT xcfgset('savepoints', node_max_entries => 10);
CALL try_adds('savepoints', 100);
SELECT xlen('savepoints'), (SELECT count(*) FROM xrange('savepoints'));
COMMIT;
SELECT xlen('savepoints'), (SELECT count(*) FROM xrange('savepoints')), (SELECT sum((fields->>'n')::int) FROM xrange('savepoints'));
SELECT xdrop('savepoints');

-- Savepoints that delete, in no order and in falling order, and that trim.
SELECT count(xadd('d', fields('n', n), n || '-0')) FROM generate_series(1, 5000) n;
CREATE TABLE kept AS SELECT n FROM generate_series(1, 5000) n;
CREATE FUNCTION try_deletes(ids int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	id int;
	n int = 0;
BEGIN
	FOREACH id IN ARRAY ids LOOP
		n := n + 1;
		BEGIN
			IF xdel('d', id || '-0') <> 1 OR xdel('d', id || '-0') <> 0 THEN RAISE 'not deleted once'; END IF;
			DELETE FROM kept WHERE kept.n = id;
			IF n % 3 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
CREATE FUNCTION same() RETURNS TABLE (count bigint, same boolean) LANGUAGE sql AS $$
	SELECT xlen('d'), array(SELECT (fields->>'n')::int FROM xrange('d')) = array(SELECT n FROM kept ORDER BY n) $$;
BEGIN;
SELECT try_deletes(array_agg(n ORDER BY md5(n::text))) FROM generate_series(1001, 3000) n;
SELECT * FROM same();
SAVEPOINT many;
SELECT try_deletes(array_agg(n ORDER BY n DESC)) FROM generate_series(3001, 4000) n;
SELECT * FROM same();
ROLLBACK TO many;
SELECT * FROM same();
SELECT try_deletes(array_agg(n ORDER BY n DESC)) FROM generate_series(4001, 4400) n;
SELECT xtrim('d', minid => '501'), xtrim('d', minid => '601');
DELETE FROM kept WHERE n <= 600;
SAVEPOINT further;
SELECT xtrim('d', minid => '701'), xtrim('d', minid => '801');
ROLLBACK TO further;
SELECT * FROM same();
SAVEPOINT further;
SELECT xtrim('d', minid => '901');
DELETE FROM kept WHERE n <= 900;
RELEASE further;
SELECT * FROM same();
-- an exact trim by length counts what is deleted
SELECT xtrim('d', (SELECT count(*) - 1300 FROM kept));
DELETE FROM kept WHERE n IN (SELECT n FROM kept ORDER BY n LIMIT 1300);
SELECT * FROM same();
COMMIT;
SELECT * FROM same();
SELECT count(*) FROM stream.activity;
SELECT xdrop('d');
DROP FUNCTION same, try_deletes;
DROP PROCEDURE try_adds;
DROP TABLE kept;

-- Many fields, nothing and a megabyte as a value.
SELECT xadd('f', fields_from(array_agg('field' || n), array_agg(convert_to('value' || n, 'UTF8'))), '1-0') FROM generate_series(1, 1000) n;
SELECT xadd('f', fields_from(array_agg('same'::text), array_agg(convert_to(n::text, 'UTF8'))), '2-0') FROM generate_series(1, 1000) n;
SELECT xadd('f', fields('', '', 'v', repeat('x', 1048576)), '3-0');
SELECT id, cardinality(fields::text[]) AS strings, md5(fields::text) FROM xrange('f');
SELECT count(*) = 1000 AS all_right FROM xrange('f', '1-0', '1-0') e, generate_series(1, 1000) n WHERE e.fields->>('field' || n) = 'value' || n;
SELECT xdrop('f');
