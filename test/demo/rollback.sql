BEGIN;
INSERT INTO quake(id, at, place) SELECT xadd('quakes', '{"place":"a mistake"}'), now(), 'a mistake';
SELECT xlen('quakes') AS entries_seen_inside, (SELECT count(*) FROM quake) AS rows_seen_inside;
ROLLBACK;
SELECT xlen('quakes') AS entries, (SELECT count(*) FROM quake) AS rows, xtail('quakes') AS newest_id;
