\echo '-- The functions are in schema stream; with the search path set they need no prefix.'
CREATE EXTENSION stream;
ALTER DATABASE quakes SET search_path = public, stream;
\connect

CREATE TABLE quake (
	id        streamid PRIMARY KEY,
	at        timestamptz NOT NULL,
	mag       real,
	place     text,
	depth_km  real,
	position  point
);

\echo '-- The file as it comes.'
CREATE TEMP TABLE csv(time_ms bigint, mag real, place text, depth_km real, longitude float, latitude float, type text, status text);
\copy csv FROM pstdin CSV HEADER

\echo '-- One transaction a day.  xadd takes the time of the quake as the id of its entry and'
\echo '-- returns the whole id: milliseconds, and a number for quakes of the same millisecond.'
CREATE PROCEDURE load_quakes() LANGUAGE plpgsql AS $$
DECLARE
	day date;
	n bigint;
BEGIN
	FOR day IN SELECT DISTINCT to_timestamp(time_ms / 1000.0)::date AS d FROM csv ORDER BY d LOOP
		INSERT INTO quake
			SELECT xadd('quakes', fields('mag', mag, 'place', place, 'type', type), at),
				at, mag, place, depth_km, point(longitude, latitude)
			FROM (SELECT *, to_timestamp(time_ms / 1000.0) AS at FROM csv ORDER BY time_ms) c
			WHERE at::date = day;
		GET DIAGNOSTICS n = ROW_COUNT;
		COMMIT;
		RAISE NOTICE '%: % earthquakes committed', day, n;
	END LOOP;
END $$;
CALL load_quakes();

SELECT xlen('quakes') AS entries, (SELECT count(*) FROM quake) AS rows, xtail('quakes') AS newest_id;
