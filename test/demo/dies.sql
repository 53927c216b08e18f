\echo '-- The worker bert takes a hundred, and commits that he has them …'
SELECT count(*) AS given FROM xreadgroup('quakes', 'counting', 'bert', count => 100);
\echo '-- … counts 40 of them …'
BEGIN;
WITH done AS (
	INSERT INTO counted SELECT id, 'bert', deliveries - 1 FROM xpending('quakes', 'counting', count => 40, consumer => 'bert')
	RETURNING id
)
SELECT xack('quakes', 'counting', array_agg(id)) AS acknowledged FROM done;
COMMIT;
\echo '-- … and 20 more, which he does not live to commit.'
BEGIN;
WITH done AS (
	INSERT INTO counted SELECT id, 'bert', deliveries - 1 FROM xpending('quakes', 'counting', count => 20, consumer => 'bert')
	RETURNING id
)
SELECT xack('quakes', 'counting', array_agg(id)) AS acknowledged FROM done;
\echo '-- kill -9'
\! kill -9 $PPID
