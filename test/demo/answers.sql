SELECT xlen('quakes') AS entries, xtail('quakes') AS newest_id, (SELECT count(*) FROM quake) AS rows;
SELECT id, fields->>'place' AS place FROM xrevrange('quakes', count => 2);
SELECT count(*) AS joined, round(avg(q.mag)::numeric, 3) AS mean_magnitude, max(q.mag) AS strongest
FROM xrange('quakes', '2018-02-06', '2018-02-07') e JOIN quake q USING (id);
SELECT md5(string_agg(id::text || fields::text, ',')) AS of_all_entries FROM xrange('quakes');
SELECT position, (SELECT count(*) FROM xread('quakes', position)) AS unread FROM follower;
