CREATE TABLE counted(id streamid, worker text, given_before bigint);

\echo '-- A group hands each entry to one of its consumers.'
SELECT xgroup_create('quakes', 'counting');

\echo '-- A worker reads entries, writes what it makes of them and acknowledges them, in one'
\echo '-- transaction.'
CREATE PROCEDURE work(me text) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	LOOP
		WITH given AS (
			SELECT id, deliveries FROM xreadgroup('quakes', 'counting', me, count => 50)
		), written AS (
			INSERT INTO counted SELECT id, me, deliveries FROM given RETURNING id
		)
		SELECT xack('quakes', 'counting', array_agg(id)) INTO n FROM written;
		COMMIT;
		EXIT WHEN n = 0;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
