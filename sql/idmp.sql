-- Idempotent producers: a repeated pair of producer and iid adds nothing.
SET search_path = public, stream;
\set VERBOSITY terse
CREATE FUNCTION info(s text) RETURNS text LANGUAGE sql AS $$
	SELECT (j->>'length') || ' entries, ' || (j->>'pids-tracked') || ' producers, ' || (j->>'iids-tracked') ||
		' iids, ' || (j->>'iids-added') || ' added, ' || (j->>'iids-duplicates') || ' duplicates'
	FROM xinfo_stream(s) j
$$;

-- the first one counts: its id is returned, its fields stay
SELECT xadd('i', '{"n":1}', producer => 'p', iid => 'a') AS a \gset
SELECT xadd('i', '{"n":2}', producer => 'p', iid => 'a') = :'a' AS hit;
SELECT fields FROM xrange('i');
SELECT xinfo_stream('i')->>'idmp-duration' AS duration, xinfo_stream('i')->>'idmp-maxsize' AS maxsize, info('i');
-- other iids and other producers are others
SELECT xadd('i', '{"n":3}', producer => 'p', iid => 'b') > :'a' AS new_iid,
	xadd('i', '{"n":4}', producer => 'q', iid => 'a') > :'a' AS new_producer,
	xadd('i', '{"n":5}', producer => 'pa', iid => 'b') > :'a' AS shifted;
SELECT info('i');
-- the id is given even if the entry is gone
SELECT xdel('i', :'a');
SELECT xadd('i', '{"n":6}', producer => 'p', iid => 'a') = :'a' AS hit;
-- a hit does not trim, a miss does
SELECT xadd('i', '{"n":7}', producer => 'p', iid => 'a', maxlen => 0) = :'a' AS hit, xlen('i');
SELECT xadd('i', '{"n":8}', producer => 'p', iid => 'c', maxlen => 2) IS NOT NULL AS added, xlen('i');
SELECT xadd('i', '{"n":8}', producer => 'p', iid => 'c', minid => '9999999999999') IS NOT NULL AS hit, xlen('i');
-- no stream, and none to be made
SELECT xadd('missing', '{"n":1}', mkstream => false, producer => 'p', iid => 'a') IS NULL AS nothing, xexists('missing');
SELECT xdrop('i');

-- any text of any length
SELECT count(DISTINCT xadd('i', '{"n":1}', producer => 'p', iid => x)) AS ids, count(*) FROM
	(SELECT unnest(array['-', '+', '*', '$', '(', '0-1', ' ', E'\n', 'ü', '日本', repeat('x', 1000), repeat('x', 65536),
		repeat('x', 65535) || 'y', '-', '日本', repeat('x', 65536)]) x) s;
SELECT count(DISTINCT xadd('i', '{"n":1}', producer => x, iid => '1')) AS ids, count(*) FROM
	(SELECT unnest(array['-', 'ü', repeat('x', 65536), '-', repeat('x', 65536)]) x) s;
SELECT info('i');
SELECT xdrop('i');

-- what is refused
SELECT xadd('i', '{"n":1}', producer => 'p');
SELECT xadd('i', '{"n":1}', iid => 'a');
SELECT xadd('i', '{"n":1}', producer => '', iid => 'a');
SELECT xadd('i', '{"n":1}', producer => 'p', iid => '');
SELECT xadd('i', '{"n":1}', '1-1', producer => 'p', iid => 'a');
SELECT xadd('i', '{"n":1}', '1-*', producer => 'p', iid => 'a');
SELECT xadd('i', '{"n":1}', '2000-01-01', producer => 'p', iid => 'a');
SELECT xadd_many('i', array['{"n":1}']::streamfields[], producer => 'p');
SELECT xadd_many('i', array['{"n":1}']::streamfields[], iids => '{a}');
SELECT xadd_many('i', array['{"n":1}']::streamfields[], producer => 'p', iids => '{a,b}');
SELECT xadd_many('i', array['{"n":1}']::streamfields[], producer => 'p', iids => array['']);
SELECT xadd_many('i', array['{"n":1}']::streamfields[], producer => 'p', iids => array[NULL]::text[]);
SELECT xadd_many('i', array['{"n":1}']::streamfields[], ids => '{1-1}', producer => 'p', iids => '{a}');
SELECT xexists('i');

-- many: repeated ones among them and in the next call
SELECT count(*), count(DISTINCT id) FROM xadd_many('i', array['{"n":1}', '{"n":2}', '{"n":3}']::streamfields[],
	producer => 'p', iids => '{a,b,a}') id;
SELECT count(*), count(DISTINCT id) FROM xadd_many('i', array['{"n":4}', '{"n":5}', '{"n":6}']::streamfields[],
	producer => 'p', iids => '{c,b,a}', maxlen => 2) id;
SELECT fields FROM xrange('i');
-- nothing added, nothing trimmed
SELECT count(*) FROM xadd_many('i', array['{"n":7}']::streamfields[], producer => 'p', iids => '{c}', maxlen => 0) id;
SELECT info('i');
SELECT xdrop('i');

-- a transaction sees its own pairs; what is rolled back is forgotten
BEGIN;
SELECT xadd('i', '{"n":1}', producer => 'p', iid => 'a') AS a \gset
SELECT xadd('i', '{"n":2}', producer => 'p', iid => 'a') = :'a' AS hit, info('i');
SAVEPOINT s;
SELECT xadd('i', '{"n":3}', producer => 'p', iid => 'b') AS b \gset
SAVEPOINT t;
SELECT xadd('i', '{"n":3}', producer => 'p', iid => 'b') = :'b' AS hit;
RELEASE t;
ROLLBACK TO s;
SELECT xadd('i', '{"n":4}', producer => 'p', iid => 'b') IS NOT NULL AS added;
SELECT xadd('i', '{"n":5}', producer => 'p', iid => 'a') = :'a' AS hit;
COMMIT;
SELECT fields FROM xrange('i');
BEGIN;
SELECT xadd('i', '{"n":6}', producer => 'p', iid => 'c') IS NOT NULL AS added;
ROLLBACK;
SELECT xadd('i', '{"n":7}', producer => 'p', iid => 'c') IS NOT NULL AS added;
SELECT fields FROM xrange('i');
SELECT info('i');
SELECT xdrop('i');

-- the oldest is forgotten beyond the size, of each producer for itself
SELECT xcreate('i');
SELECT xcfgset('i', idmp_maxsize => 8);
SELECT count(xadd('i', '{"n":1}', producer => 'p' || n % 2, iid => n::text)) FROM generate_series(1, 30) n;
SELECT info('i');
SELECT count(xadd('i', '{"again":1}', producer => 'p' || n % 2, iid => n::text)) FROM generate_series(15, 30) n;
SELECT xlen('i');
SELECT xadd('i', '{"again":1}', producer => 'p0', iid => '14') IS NOT NULL AS added, xlen('i');
SELECT xadd('i', '{"again":1}', producer => 'p0', iid => '16') IS NOT NULL AS added, xlen('i');
SELECT xadd('i', '{"again":1}', producer => 'p0', iid => '20') IS NOT NULL AS added, xlen('i');
SELECT xadd('i', '{"again":1}', producer => 'p1', iid => '15') IS NOT NULL AS added, xlen('i');
SELECT info('i');
SELECT xdrop('i');

-- one that has outlived the duration is forgotten: time is that of the ids
SELECT xadd('i', '{"n":1}', producer => 'p', iid => 'a') AS a \gset
SELECT xadd('i', '{"n":2}', producer => 'q', iid => 'a') IS NOT NULL AS added;
SELECT xadd('i', '{"n":3}', ((substring(:'a' FROM '^\d+')::bigint + 95000) || '-0')::streamid) IS NOT NULL AS later;
SELECT xadd('i', '{"n":4}', producer => 'p', iid => 'a') = :'a' AS hit;
SELECT xadd('i', '{"n":5}', ((substring(:'a' FROM '^\d+')::bigint + 200000) || '-0')::streamid) IS NOT NULL AS much_later;
SELECT info('i');
SELECT xadd('i', '{"n":6}', producer => 'p', iid => 'a') = :'a' AS hit;
SELECT info('i');
SELECT xdrop('i');
DROP FUNCTION info;
