\echo '-- The reader''s position and what it makes of the entries change in one transaction:'
\echo '-- whatever crashes, each entry is counted once.'
CREATE TABLE follower(name text PRIMARY KEY, position streamid NOT NULL);
CREATE TABLE by_magnitude(magnitude int PRIMARY KEY, quakes bigint NOT NULL);
INSERT INTO follower VALUES ('by magnitude', '0-0');

CREATE PROCEDURE follow(batch int) LANGUAGE plpgsql AS $$
DECLARE
	top streamid;
BEGIN
	LOOP
		WITH entries AS (
			SELECT e.id, floor((e.fields->>'mag')::real)::int AS magnitude
			FROM follower f, xread('quakes', f.position, batch) e
			WHERE f.name = 'by magnitude'
		), counted AS (
			INSERT INTO by_magnitude AS b SELECT magnitude, count(*) FROM entries WHERE magnitude IS NOT NULL GROUP BY 1
			ON CONFLICT (magnitude) DO UPDATE SET quakes = b.quakes + EXCLUDED.quakes
		)
		SELECT max(id) INTO top FROM entries;
		EXIT WHEN top IS NULL;
		UPDATE follower SET position = top WHERE name = 'by magnitude';
		COMMIT;
	END LOOP;
END $$;
CALL follow(500);
SELECT * FROM by_magnitude ORDER BY magnitude;

\echo '-- One more entry arrives; the reader goes on from where it was.'
SELECT xadd('quakes', fields('mag', 7.1, 'place', 'one more', 'type', 'earthquake'), '2018-02-14 00:00Z');
CALL follow(500);
SELECT * FROM by_magnitude WHERE magnitude >= 6 ORDER BY magnitude;
