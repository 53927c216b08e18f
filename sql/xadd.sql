-- xadd and xadd_many: how ids are chosen, what is kept, trimming on the way.
-- Explicit ids make the output the same everywhere.
SET search_path = public, stream;

-- What is added is read back in order.
SELECT xadd('s', '{"item":"1","value":"a"}', '1-0');
SELECT xadd('s', '{"item":"2","value":"b"}', '2-0');
SELECT * FROM xrange('s');

-- The pairs form, with the id before the pairs.
SELECT xadd('s', '3-0', 'item', '3', 'value', 'c');
SELECT xadd('s', '3-1', 'only', 'pair');
SELECT xlen('s'), xtail('s'), xexists('s');

-- A bare number is an id with sequence 0.
SELECT xadd('s', '{"a":1}', '4');
-- The sequence alone may be left to the server: one more than the last …
SELECT xadd('s', '{"a":1}', '123-456');
SELECT xadd('s', '{"a":1}', '123-*');
-- … or zero for a millisecond that has no entry yet.
SELECT xadd('s', '{"a":1}', '789-*');
SELECT xadd('fresh', '{"a":1}', '0-*');

-- An id must be greater than every id before it, even where that entry is gone.
\set VERBOSITY sqlstate
SELECT xadd('s', '{"a":1}', '789-0');
SELECT xadd('s', '{"a":1}', '788-5');
SELECT xadd('s', '{"a":1}', '788-*');
SELECT xdel('s', '789-0');
SELECT xadd('s', '{"a":1}', '789-0');
-- 0-0 is no id of an entry, and the stream is not made.
SELECT xadd('none', '{"a":1}', '0-0');
SELECT xadd('none', '{"a":1}', '0');
SELECT xexists('none');
\set VERBOSITY default

-- Sequences do not carry into the next millisecond with ms-*, but do with *.
SELECT xadd('edge', '{"a":1}', '1-18446744073709551615');
\set VERBOSITY sqlstate
SELECT xadd('edge', '{"a":1}', '1-*');
\set VERBOSITY default
SELECT xadd('edge', '{"a":1}', '2577343934890-18446744073709551615');
SELECT xadd('edge', '{"a":1}');
-- The clock is behind the newest id: * counts on.
SELECT xadd('edge', '{"a":1}') FROM generate_series(1, 2);
-- All ids used up.
SELECT xadd('edge', '{"a":1}', '18446744073709551615-18446744073709551615');
SELECT xadd('edge', '{"a":1}');
SELECT xadd('edge', '{"a":1}', '18446744073709551615-*');
SELECT id FROM xrange('edge');

-- Ids of the clock grow, within a statement and a transaction too.
BEGIN;
CREATE TEMP TABLE got(n serial, id streamid);
INSERT INTO got(id) SELECT xadd('clock', '{"a":1}') FROM generate_series(1, 1000);
INSERT INTO got(id) SELECT xadd('clock', '{"a":2}');
COMMIT;
INSERT INTO got(id) SELECT xadd('clock', '{"a":3}');
SELECT count(*), count(*) FILTER (WHERE id > before OR before IS NULL) AS growing
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM got) g;
SELECT (SELECT array_agg(id ORDER BY n) FROM got) = (SELECT array_agg(id) FROM xrange('clock')) AS same_order;
SELECT abs(extract(epoch FROM now() - xtail('clock')::timestamptz)) < 600 AS near_now;

-- A time as the id.
SELECT xadd('times', timestamptz '2018-02-07 00:00:00.123+00', 'a', '1'),
	xadd('times', '{"a":2}', timestamptz '2018-02-07 00:00:00.123+00'),
	xadd('times', '{"a":3}', timestamp '2018-02-08 00:00:00'::timestamp AT TIME ZONE 'UTC'),
	xadd('times', '{"a":4}', '2018-02-09T00:00:00Z');

-- Without mkstream a missing stream stays missing.
SELECT xadd('none', '{"a":1}', mkstream => false) IS NULL AS refused, xexists('none');
SELECT xcreate('none'), xadd('none', '{"a":1}', '1-1', mkstream => false);

-- Names repeat, order is kept, values are what came in.
SELECT xadd('pairs', '{"z":"1","a":"2","z":"3","":"empty name","empty":""}', '1-0');
SELECT xadd('pairs', '2-0', 'z', '1', 'a', '2', 'z', '3');
SELECT xadd('pairs', array['k', 'v', 'k', 'w'], '3-0');
SELECT xadd('pairs', jsonb_build_object('n', 1.50, 't', true, 'nul', null, 'o', '{"x": [1, 2]}'::jsonb), '4-0');
SELECT xadd('pairs', fields('t', 21.5, 'img', '\x00ff80'::bytea, 'u', 'käse ✓'), '5-0');
SELECT * FROM xrange('pairs');
SELECT fields->>'z' AS last_z, field_bytes(fields, 'img') AS img, fields ? 'a' AS has_a FROM xrange('pairs');

-- Values of many lengths: the encodings of the listpack change in between.
SELECT count(xadd('lengths', fields('v', repeat('x', n)), (n + 1) || '-0'))
FROM unnest(array[0, 1, 62, 63, 64, 65, 127, 128, 4094, 4095, 4096, 65535, 65536, 1000000, 5000000]) n;
SELECT id, length(fields->>'v') FROM xrange('lengths');
SELECT bool_and(fields->>'v' = repeat('x', length(fields->>'v'))) FROM xrange('lengths');
-- Integers of many sizes.
SELECT count(xadd('integers', fields('v', v::text)))
FROM unnest(array[0, 1, -1, 127, 128, -4096, 4095, 4096, 32767, -32768, 32768, 8388607, -8388608, 8388608,
	2147483647, -2147483648, 2147483648, 9223372036854775807, -9223372036854775808]::bigint[]) v;
SELECT array_agg(fields->>'v') FROM xrange('integers');
SELECT xadd('notints', fields('a', '007', 'b', '+1', 'c', '-0', 'd', ' 1', 'e', '1e3', 'f', '9223372036854775808'), '1-1');
SELECT fields FROM xrange('notints');

-- Mass insertion with mixed fields: order and content are kept.
SELECT count(xadd('mass', CASE WHEN n % 10 = 0 THEN fields('item', n, 'otherfield', 'foo') ELSE fields('item', n) END))
FROM generate_series(1, 10000) n;
SELECT xlen('mass');
SELECT count(*), bool_and((fields->>'item')::int = n), count(*) FILTER (WHERE fields ? 'otherfield')
FROM (SELECT fields, row_number() OVER (ORDER BY id) AS n FROM xrange('mass')) m;

-- Many at once: ids come back in the order of the input.
SELECT * FROM xadd_many('many', array['{"n":1}', '{"n":2}', '{"n":3}']::streamfields[],
	array['1-1', '1-2', '5-0']::streamid[]);
SELECT * FROM xadd_many('many', '{}'::streamfields[]);
SELECT count(*) FROM xadd_many('many', (SELECT array_agg(fields('n', n)) FROM generate_series(1, 1000) n));
SELECT xlen('many');
SELECT * FROM xadd_many('many', array['{"n":1}', '{"n":2}']::streamfields[], mkstream => false) WITH ORDINALITY m(id, n)
WHERE id IS NULL;
SELECT count(*) FROM xadd_many('none2', array['{"n":1}', '{"n":2}']::streamfields[], mkstream => false) id WHERE id IS NOT NULL;
SELECT xexists('none2');
\set VERBOSITY sqlstate
-- One bad id and nothing is added.
SELECT * FROM xadd_many('many2', array['{"n":1}', '{"n":2}']::streamfields[], array['2-0', '1-0']::streamid[]);
SELECT * FROM xadd_many('many2', array['{"n":1}', '{"n":2}']::streamfields[], array['2-0']::streamid[]);
SELECT xexists('many2');
\set VERBOSITY default

-- Trimming by the add.  One transaction an entry …
DO $$ BEGIN FOR n IN 1..1000 LOOP PERFORM xadd('m5', fields('xitem', n), maxlen => 5); COMMIT; END LOOP; END $$;
SELECT xlen('m5'), array_agg(fields->>'xitem') FROM xrange('m5');
-- … and all in one.
SELECT count(xadd('m5t', fields('xitem', n), maxlen => 5)) FROM generate_series(1, 1000) n;
SELECT xlen('m5t'), array_agg(fields->>'xitem') FROM xrange('m5t');
-- About: whole nodes only, so up to a node more than asked stays.
SET stream.node_max_entries = 100;
DO $$ BEGIN FOR n IN 1..1000 LOOP PERFORM xadd('about', fields('xitem', n), maxlen => 555, approx => true); COMMIT; END LOOP; END $$;
SELECT xlen('about');
RESET stream.node_max_entries;
-- By id: the bound itself stays.
DO $$ BEGIN FOR n IN 1..1000 LOOP
	PERFORM xadd('minid', fields('n', n), (n || '-0')::streamid, minid => '995-0'); COMMIT; END LOOP; END $$;
SELECT array_agg(id) FROM xrange('minid');
-- The trim comes after the add: a stream can be made empty, its last id stays.
SELECT xadd('empty', '{"a":1}', '7-7', maxlen => 0);
SELECT xlen('empty'), xexists('empty'), xtail('empty');
SELECT xadd('empty', '{"a":1}', '7-8', minid => '9-0'), xlen('empty'), xtail('empty');
-- A limit below the size of a node removes nothing.
SELECT count(xadd('limit', fields('n', n))) FROM generate_series(1, 5) n;
SELECT count(xadd('limit', '{"n":6}', maxlen => 0, approx => true, trim_limit => 1));
SELECT xlen('limit');

SELECT count(xdrop(k)) FROM unnest(array['s', 'fresh', 'edge', 'clock', 'times', 'none', 'pairs', 'lengths', 'integers',
	'notints', 'mass', 'many', 'm5', 'm5t', 'about', 'minid', 'empty', 'limit']) k;
