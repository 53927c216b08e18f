SELECT xlen('quakes') AS entries, count(*) AS counted, count(DISTINCT id) AS different,
	count(*) = xlen('quakes') AND count(DISTINCT id) = xlen('quakes') AS each_once
FROM counted JOIN xrange('quakes') USING (id);
