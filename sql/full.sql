-- A full engine refuses what needs room (53200), loses nothing, and can be emptied.
SET search_path = public, stream;

CREATE FUNCTION fill(key text, bytes int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
BEGIN
	LOOP
		BEGIN
			PERFORM xadd(key, fields('n', n, 'v', repeat(chr(65 + n % 26), bytes)));
			n := n + 1;
		EXCEPTION WHEN out_of_memory THEN
			RETURN n;
		END;
	END LOOP;
END $$;

-- In one transaction, which is then committed: all that was said to be in is in.
SELECT fill('full', 1000000) AS n \gset
SELECT xlen('full') = :n AS whole, :n BETWEEN 5 AND 1000 AS plausible;
-- One transaction an entry.
SELECT xtrim('full', 0) = :n AS emptied;
CREATE PROCEDURE fill_slowly(key text, bytes int, INOUT n int) LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM xadd(key, fields('n', n, 'v', repeat(chr(65 + n % 26), bytes)));
		COMMIT;
		n := n + 1;
	END LOOP;
END $$;
\set VERBOSITY sqlstate
CALL fill_slowly('full', 1000000, 0);
\set VERBOSITY default
SELECT xlen('full') BETWEEN 5 AND 1000 AS plausible;
SELECT count(*) = xlen('full') AND bool_and(fields->>'v' = repeat(chr(65 + (fields->>'n')::int % 26), 1000000)) AS sound
FROM xrange('full');
-- Reading and freeing work in a full engine; then there is room again.
SELECT count(*) FROM xrange('full', count => 2);
SELECT xdel('full', (SELECT id FROM xrange('full', count => 1)));
SELECT xtrim('full', 2), xlen('full') \gset
SELECT :xlen AS left_over;
SELECT xadd('full', fields('v', repeat('x', 1000000))) IS NOT NULL AS room;
SELECT xdrop('full');
SELECT xadd('other', fields('v', repeat('x', 1000000))) IS NOT NULL AS room, xdrop('other');

-- Many small entries: until full, emptied one by one.
SELECT count(xadd('small', fields('v', repeat('y', 100)))) FROM generate_series(1, 100000);
SELECT sum(xdel('small', id)) FROM xrange('small');
SELECT xlen('small'), xdrop('small');

DROP FUNCTION fill;
DROP PROCEDURE fill_slowly;
