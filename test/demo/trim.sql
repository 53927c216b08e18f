SELECT xtrim('quakes', minid => '2018-02-04') AS removed;
SELECT xlen('quakes') AS entries, min(id)::timestamptz(0) AS oldest FROM xrange('quakes', count => 1);
SELECT count(*) AS rows FROM quake;
