\echo '-- The newest entries.'
SELECT * FROM xrevrange('quakes', count => 3);

\echo '-- A range by time: ids are times.'
SELECT id, id::timestamptz(0) AS at, fields->>'mag' AS mag, fields->>'place' AS place
FROM xrange('quakes', '2018-02-06 15:30Z', '2018-02-06 16:00Z');

\echo '-- A range joined with the table its producer wrote: the day''s strongest, with what only the table knows.'
SELECT q.at::timestamptz(0), q.mag, q.depth_km, e.fields->>'place' AS place
FROM xrange('quakes', '2018-02-06', '2018-02-07') e JOIN quake q USING (id)
WHERE q.mag >= 5 ORDER BY q.mag DESC LIMIT 5;

\echo '-- How many, without reading them.'
SELECT xcount('quakes', '2018-02-06', '2018-02-07') AS on_one_day;
