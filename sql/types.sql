--
-- The types of the extension: every text form and its errors, binary form,
-- casts, operators, indexes, aggregates, and how calls resolve to casts.
-- (Which function a call resolves to is tested with the functions.)
--
SET search_path = public, stream;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
SET bytea_output = 'hex';

--
-- streamid
--
SELECT i, i::streamid AS id
FROM unnest(ARRAY['0-0', '0-1', '5', '1526919030474-55', '00012-007', '0',
                  '18446744073709551615-18446744073709551615']) i;
SELECT streamid '1526919030474';

-- a malformed id is always 22P02
CREATE FUNCTION sqlstate_of(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE command INTO result;
    RETURN 'ok ' || coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT i, sqlstate_of(format('SELECT %L::streamid', i)) AS sqlstate
FROM unnest(ARRAY['', '-', '1-', '-1', '1-2-3', '+1', '1-+1', ' 1-0', '1-0 ', '1 - 0', '1.5', 'x',
                  '1-x', '0x10', '1-*', '*', '$', '(1-0', '1_0', E'1-0\n', '１-0',
                  '18446744073709551616-0', '0-18446744073709551616', '99999999999999999999999']) i;
-- at most 127 bytes
SELECT sqlstate_of(format('SELECT %L::streamid', repeat('0', 125) || '-5')),
       sqlstate_of(format('SELECT %L::streamid', repeat('0', 126) || '-5'));
SELECT '1-2-3'::streamid;
SELECT repeat('9', 300)::streamid;

-- order is unsigned, ms before seq
SELECT i::streamid AS id
FROM unnest(ARRAY['10-1', '9-2', '9223372036854775808-0', '0-9223372036854775808', '9-18446744073709551615',
                  '0-1', '9223372036854775807-1', '18446744073709551615-0']) i
ORDER BY 1;
SELECT a, b, a = b AS eq, a <> b AS ne, a < b AS lt, a <= b AS le, a > b AS gt, a >= b AS ge,
       streamid_cmp(a, b) AS cmp
FROM (VALUES (streamid '1-1', streamid '1-1'), ('1-1', '1-2'), ('2-0', '1-9')) v(a, b);
SELECT streamid_hash('1-2') = streamid_hash('1-2') AS same,
       streamid_hash('1-2') = streamid_hash('2-1') AS other,
       streamid_hash('1-2') = streamid_hash_extended('1-2', 0)::bit(32)::int AS low_bits_match;

-- min and max, with and without groups
SELECT min(id), max(id)
FROM (SELECT format('%s-%s', g % 7, g)::streamid AS id FROM generate_series(1, 100) g) s;
SELECT min(id), max(id) FROM (SELECT streamid '1-1' AS id WHERE false) s;
SELECT max(id) FILTER (WHERE g > 0) OVER (ORDER BY g)
FROM (VALUES (1, streamid '5-0'), (2, '4-0'), (3, '6-0')) v(g, id);

-- casts
SELECT '1-0'::text::streamid, '1-0'::varchar(10)::streamid, streamid '1-0'::text, streamid '7-0'::varchar;
SELECT '(' || streamid '1-0' AS concatenated, '(' || streamid '1-0'::text AS with_cast;
SELECT streamid '1526919030474-55'::timestamptz AS t,
       timestamptz '2018-05-21 16:10:30.474999+00'::streamid AS id,
       timestamptz '1970-01-01 00:00:00.001+00'::streamid AS first_ms;
SELECT t, t::streamid AS id
FROM unnest(ARRAY[timestamptz '1969-12-31 23:59:59.999+00', '4713-01-01 BC', '-infinity', 'infinity',
                  '294276-12-31 23:59:59.999999+00']) t;
SELECT i, i::timestamptz AS t
FROM unnest(ARRAY[streamid '0-0', '9224318015999999-0', '9224318016000000-0', '9224318016000001-0',
                  '18446744073709551615-0']) i;
SELECT count(*) AS wrong
FROM generate_series(0, 4102444800000, 7777777777) ms
WHERE to_timestamp(ms / 1000.0)::streamid <> ms::text::streamid
   OR ms::text::streamid::timestamptz <> to_timestamp(ms / 1000.0);
CREATE TABLE casts (id streamid, t timestamptz);
INSERT INTO casts VALUES (timestamptz '2026-01-01 00:00:00+00', streamid '1526919030474-55');
INSERT INTO casts VALUES ('5-0'::text, now()), ('6-0'::varchar, '2026-01-01 00:00+00') RETURNING id;
SELECT id, t = timestamptz '2018-05-21 16:10:30.474+00' AS t FROM casts WHERE id > '6-0';
DROP TABLE casts;
-- the cast to text is explicit, that to a time an assignment
SELECT sqlstate_of($$SELECT length(streamid '1-0')$$), sqlstate_of($$SELECT streamid '1-0' > now()$$);
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext AS context, castmethod AS method
FROM pg_cast
WHERE ARRAY[castsource, casttarget] && '{stream,streamid,streampos,streamids,streamfields}'::regtype[]::oid[]
ORDER BY casttarget::regtype::text COLLATE "C", castsource::regtype::text COLLATE "C";

-- indexes
CREATE TABLE ids (id streamid, n int);
INSERT INTO ids SELECT format('%s-%s', g / 10, g % 10)::streamid, g FROM generate_series(1, 5000) g;
CREATE INDEX ids_btree ON ids (id);
ANALYZE ids;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM ids WHERE id > '499-7' ORDER BY id;
SELECT n FROM ids WHERE id > '499-7' ORDER BY id;
-- before 17 a plan says what its InitPlan returns
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT regexp_replace(line, ' \(returns .*\)', '');
	END LOOP;
END $$;
SELECT pg_temp.plan('SELECT max(id) FROM ids');
SELECT min(id), max(id) FROM ids;
EXPLAIN (COSTS OFF) SELECT n FROM ids WHERE id = ANY ('{3-1,3-2}');
SELECT n FROM ids WHERE id = ANY ('{3-1,3-2}');
DROP INDEX ids_btree;
CREATE INDEX ids_hash ON ids USING hash (id);
EXPLAIN (COSTS OFF) SELECT n FROM ids WHERE id = '77-7';
SELECT n FROM ids WHERE id = '77-7';
DROP INDEX ids_hash;
CREATE INDEX ids_brin ON ids USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF) SELECT count(*) FROM ids WHERE id >= '100-0' AND id <= '109-18446744073709551615';
SELECT count(*) FROM ids WHERE id >= '100-0' AND id <= '109-18446744073709551615';
DROP INDEX ids_brin;
CREATE UNIQUE INDEX ids_unique ON ids (id);
INSERT INTO ids VALUES ('3-1', 0) ON CONFLICT (id) DO UPDATE SET n = -1 RETURNING id, n;
RESET enable_seqscan;
-- joins of every kind give the same answer; without OFFSET 18 sees that it need not join
SET enable_mergejoin = off; SET enable_nestloop = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM ids a JOIN (TABLE ids OFFSET 0) b USING (id);
SELECT count(*) FROM ids a JOIN (TABLE ids OFFSET 0) b USING (id);
SET enable_mergejoin = on; SET enable_hashjoin = off;
SELECT count(*) FROM ids a JOIN (TABLE ids OFFSET 0) b USING (id);
RESET enable_mergejoin; RESET enable_nestloop; RESET enable_hashjoin;
SELECT count(*) AS out_of_order
FROM (SELECT n, lag(n) OVER (ORDER BY id DESC) AS p FROM ids WHERE n > 0) s WHERE n > p;
-- aggregates in parallel workers
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET enable_indexonlyscan = off;
SET enable_indexscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT min(id), max(id) FROM ids;
SELECT min(id), max(id) FROM ids;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather; RESET enable_indexonlyscan; RESET enable_indexscan; RESET enable_bitmapscan;
DROP TABLE ids;
-- partitions by range and by hash
CREATE TABLE part (id streamid) PARTITION BY RANGE (id);
CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (MINVALUE) TO ('100-0');
CREATE TABLE part_high PARTITION OF part FOR VALUES FROM ('100-0') TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE part_high0 PARTITION OF part_high FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part_high1 PARTITION OF part_high FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part SELECT (g || '-0')::streamid FROM generate_series(1, 199) g;
SELECT tableoid::regclass = 'part_low'::regclass AS low, count(*) FROM part GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM part WHERE id < '50-0';
DROP TABLE part;

--
-- streampos
--
SELECT p, p::streampos AS pos
FROM unnest(ARRAY['1-2', '5', '(1-2', '(5', '-', '+', '$', '>', '*', '5-*', '0', '18446744073709551615-*',
                  '2026-01-02', '2026-01-02T03:04:05Z', '2026-01-02 03:04:05.678999+02', '01/02/2026 03:04',
                  '1960-05-05', 'infinity', '-infinity', '294276-12-31 23:59:59.999+00']) p;
-- what is written reads back the same, in every session
SET datestyle = 'SQL, DMY';
SET timezone = 'America/New_York';
SELECT count(*) AS read, count(*) FILTER (WHERE p::streampos::text = p::streampos::text::streampos::text) AS same
FROM unnest(ARRAY['1-2', '5', '(1-2', '(5', '-', '+', '$', '>', '*', '5-*', '2026-01-02', '2026-01-02T03:04:05.6Z',
                  'infinity', '-infinity', '294276-12-31 23:59:59.999+00', '1970-01-01 00:00:00.001+00']) p;
SELECT '2026-07-01'::streampos AS local_midnight, date '2026-07-01'::streampos AS from_date,
       timestamp '2026-07-01 00:00'::streampos AS from_timestamp,
       timestamptz '2026-07-01 00:00+00'::streampos AS from_timestamptz;
SET datestyle = 'ISO, MDY';
SET timezone = 'UTC';
SELECT p, sqlstate_of(format('SELECT %L::streampos', p)) AS sqlstate
FROM unnest(ARRAY['', '(', '(-', '(+', '($', '((1-0', '(1-0)', '( 1-0', '(2026-01-01', '(1-*', '-*', '*-*', '**', '--',
                  '++', '->', '1-', '-1', 'x', 'now', 'today', '1--0', '1-2-3-4', '2026-13-01', '2026-02-30 10:00',
                  '12:00', ':', '18446744073709551616', '18446744073709551616-*', '5-0-*', '1-x', ' 5', '(',
                  '999999-01-01']) p;
SELECT '2026-13-01'::streampos;
SELECT '(-'::streampos;
SELECT 'now'::streampos;
-- casts
SELECT streamid '1-2'::streampos, '5-*'::text::streampos, '(5'::varchar(4)::streampos,
       timestamptz '2026-01-02 03:04:05.678999+00'::streampos, timestamptz '-infinity'::streampos,
       timestamptz 'infinity'::streampos, date 'infinity'::streampos, timestamp '-infinity'::streampos;
SELECT date '5874897-12-31'::streampos AS far_date, date '4714-11-24 BC'::streampos AS old_date,
       timestamp '294276-12-31 23:59:59.999999'::streampos AS last_timestamp;
SET timezone = 'America/New_York';
SELECT timestamp '294276-12-31 23:59:59'::streampos AS beyond_timestamptz;
SET timezone = 'UTC';
SELECT ARRAY['0', '$']::streampos[], '{0,>}'::streampos[], ARRAY['0']::varchar[]::streampos[];
-- a literal is read when it is planned, so a cast that depends on the session is not immutable
SELECT proname, provolatile FROM pg_proc
WHERE pronamespace = 'stream'::regnamespace AND prorettype = 'streampos'::regtype ORDER BY 1, 2;

--
-- streamids
--
SELECT l, l::streamids AS ids
FROM unnest(ARRAY['1-0', '7', '{1-0}', '{1-0,2-0}', '{ "1-0" , 2 }', '{}', ' { } ', '{5,5,5}', E'{\t1-0,\n"2-0" }']) l;
SELECT l, sqlstate_of(format('SELECT %L::streamids', l)) AS sqlstate
FROM unnest(ARRAY['', '{', '}', '{1-0', '1-0}', '{1-0}}', '{1-0},', '{,}', '{1-0,}', '{,1-0}', '{1-0 2-0}', '{"1-0}',
                  '{"1-0"2-0}', '{""}', '{x}', '{1-0,-}', '{{1-0}}', '1-0,2-0', ' 1-0', '{" 1-0"}', '{1-0,NULL}',
                  '{null}', '{"NULL"}', '{nulls}', '{\1-0}']) l;
SELECT '{1-0,NULL}'::streamids;
SELECT '{1-0;2-0}'::streamids;
SELECT '1-0'::text::streamids, '{1-0,2-0}'::varchar::streamids, streamid '1-0'::streamids,
       ARRAY['1-0', '2']::streamid[]::streamids, ARRAY['1-0', '2']::streamids, ARRAY['1-0', '2']::varchar[]::streamids;
SELECT '{}'::streamid[]::streamids, '{}'::text[]::streamids, ARRAY[['1-0', '2-0'], ['3-0', '4-0']]::streamids;
SELECT sqlstate_of(c) FROM unnest(ARRAY[
    $$SELECT ARRAY['1-0', NULL]::streamid[]::streamids$$, $$SELECT ARRAY['1-0', NULL]::streamids$$,
    $$SELECT ARRAY['1-0', NULL]::varchar[]::streamids$$, $$SELECT ARRAY['1-0', 'x']::streamids$$,
    $$SELECT NULL::streamids$$, $$SELECT NULL::streamid[]::streamids$$]) c;
-- every kind of array is an array of id lists too
SELECT ARRAY['1-0', '{2-0,3-0}']::streamids[], ARRAY[streamid '1-0']::streamids[], ARRAY['1-0'::varchar]::streamids[];
SELECT length((SELECT array_agg((g || '-0')::streamid) FROM generate_series(1, 10000) g)::streamids::text);

--
-- streamfields: text form
--
SELECT f, f::streamfields AS fields
FROM unnest(ARRAY['{"a":1}', '{"b":"x","a":"y","b":"z"}', '{"n":1.50,"e":1E5,"t":true,"f":false,"z":null}',
                  '{"o":{"k" : [1, 2]},"l":[ 1,{"x":"y"} ]}', '{"":""}', ' { "a" : "1" } ',
                  '{"big":"9223372036854775808","i":"-42","zeros":"007","plus":"+1","minus zero":"-0"}',
                  '{"esc":"\" \\ \/ \b \f \n \r \t \u0001 \u00e9 \ud83d\ude00"}']) f;
SELECT f, sqlstate_of(format('SELECT %L::streamfields', f)) AS sqlstate
FROM unnest(ARRAY['', '{}', ' { } ', '[]', '[1]', '"x"', '1', 'null', '{"a"}', '{"a":}', '{"a":1,}', '{"a":1', '{a:1}',
                  '{"a":1}x', '{"a":1}{"b":2}', '{"a":[1}', '{"a":01}', '{"a":tru}', '{"a":"\x"}', '{"a":"\u00"}',
                  '{"a":"\u0000"}', '{"\u0000":1}', '{"a":["\u0000"]}', '{"a":"\ud83d"}', E'{"a":"\n"}', '{1:2}']) f;
SELECT '{"a":1'::streamfields;
SELECT '{}'::streamfields;
SELECT '["a"]'::streamfields;
SELECT '{"a":"\u0000"}'::streamfields;
SELECT sqlstate_of(format('SELECT %L::streamfields', '{"a":' || repeat('[', 100000)));

-- bytes that are no text
SELECT fields('ok', 'é', 'zero', '\x00'::bytea, 'high', '\xff00ff'::bytea, 'cut', '\xc3'::bytea, 'empty', ''::bytea,
              'text', 'Stra\303\237e'::bytea);
SELECT fields('\xff'::bytea, 1, '\x6100'::bytea, 2, '$bytea:', 3, '$bytea:\x00', 4, '$bytea', 5) AS names;
SELECT '{"a":{"$bytea":"\\x00FF"},"b":{"$bytea":"\\x"},"c":{ "$bytea" : "\\x6162" },"$bytea:\\x00":"n"}'::streamfields;
-- a text that only looks like a stand-in stays text, and so does an object with more in it
SELECT f, f = f::text::streamfields AS same
FROM (VALUES (fields('a', '{"$bytea": "\\x00"}')),
             ('{"a":"{\"$bytea\": \"\\\\x00\"}"}'),
             ('{"a":{"$bytea":"\\x00","x":1}}'),
             ('{"a":{"x":1,"$bytea":"\\x00"}}'),
             ('{"a":{"$bytea":"\\x00","$bytea":"\\x00"}}'),
             ('{"a":[{"$bytea":"\\x00"}]}'),
             ('{"a":["$bytea","\\x00"]}'),
             ('{"a":{"x":{"$bytea":"\\x00"}}}')) v(f);
SELECT f, sqlstate_of(format('SELECT %L::streamfields', f)) AS sqlstate
FROM unnest(ARRAY['{"a":{"$bytea":"00"}}', '{"a":{"$bytea":"\\x0"}}', '{"a":{"$bytea":"\\x0g"}}', '{"a":{"$bytea":""}}',
                  '{"a":{"$bytea":1}}', '{"a":{"$bytea":null}}', '{"a":{"$bytea":["\\x00"]}}',
                  '{"a":{"$bytea":{"$bytea":"\\x00"}}}', '{"$bytea:":1}', '{"$bytea:\\x0":1}', '{"$bytea:x":1}']) f;
SELECT '{"a":{"$bytea":"abc"}}'::streamfields;

-- any bytes come back, as names and as values
SELECT count(*) AS lists, count(*) FILTER (WHERE f = f::text::streamfields) AS same
FROM (SELECT fields_from(array_agg(convert_from(substr(b, 1, 2), 'latin1')), array_agg(substr(b, 3, i))) AS f
      FROM generate_series(1, 2000) g, generate_series(0, 9) i, sha256((g || '.' || i)::bytea) b
      WHERE get_byte(b, 0) <> 0 AND get_byte(b, 1) <> 0 GROUP BY g) s;
SELECT count(*) AS lists, count(*) FILTER (WHERE f = f::text::streamfields) AS same, count(DISTINCT f) AS different
FROM (SELECT fields(substr(b, 1, g % 5), substr(b, 5, g % 25)) AS f FROM generate_series(1, 5000) g, sha256(g::text::bytea) b) s;

-- text form and binary form lose nothing
CREATE TABLE bin (n int, id streamid, ids streamids, pos streampos, f streamfields, s stream);
INSERT INTO bin VALUES
    (1, '1-2', '{1-0,2-0}', '(5-1', fields('a', 1, 'a', -1, 'x', '\x00ff'::bytea, '\xfe'::bytea, 'é'), 'dev:1'),
    (2, '18446744073709551615-18446744073709551615', '{}', '+', fields('', ''), ''),
    (3, '0-0', '0-0', '2026-01-01 00:00+00', '{"a":"9223372036854775807","b":"-9223372036854775808","c":"9223372036854775808"}', 'é'),
    (4, NULL, NULL, NULL, NULL, NULL);
INSERT INTO bin
SELECT 10 + g, (g || '-0')::streamid, array_fill((g || '-0')::text, ARRAY[g])::streamids, '$',
       fields_from(array_agg('f' || i), array_agg(decode(repeat(lpad(to_hex(i % 256), 2, '0'), i), 'hex'))), repeat('s', g)
FROM generate_series(1, 300, 37) g, generate_series(1, g * 20, g) i GROUP BY g;
CREATE TABLE bin_text AS SELECT n, id::text, ids::text, pos::text, f::text, s::text FROM bin;
\copy bin TO 'results/types.bin' (FORMAT binary)
CREATE TABLE bin_back (LIKE bin);
\copy bin_back FROM 'results/types.bin' (FORMAT binary)
SELECT count(*) AS rows,
       count(*) FILTER (WHERE a.id IS NOT DISTINCT FROM b.id AND a.f IS NOT DISTINCT FROM b.f
                          AND a.ids::text IS NOT DISTINCT FROM b.ids::text
                          AND a.pos::text IS NOT DISTINCT FROM b.pos::text AND a.s IS NOT DISTINCT FROM b.s) AS same
FROM bin a JOIN bin_back b USING (n);
SELECT count(*) AS rows, count(*) FILTER (WHERE a.f IS NOT DISTINCT FROM b.f::streamfields) AS same_fields,
       count(*) FILTER (WHERE a.id IS NOT DISTINCT FROM b.id::streamid) AS same_ids,
       count(*) FILTER (WHERE a.ids::text IS NOT DISTINCT FROM b.ids::streamids::text) AS same_lists,
       count(*) FILTER (WHERE a.pos::text IS NOT DISTINCT FROM b.pos::streampos::text) AS same_positions
FROM bin a JOIN bin_text b USING (n);
SELECT n, id, ids, pos, f, s FROM bin_back WHERE n < 10 ORDER BY n;
-- the listpack of a small value: version, header, "a" 1 "b" "x", end
SELECT encode(streamfields_send('{"a":1,"b":"x"}'), 'hex'), encode(streamid_send('1-2'), 'hex'),
       encode(streamids_send('{1-0,2-0}'), 'hex'), encode(streampos_send('(5'), 'escape');

-- malformed binary values are 22P03; bytea shows its bytes in binary form, which makes the files
CREATE TABLE bad (b bytea);
CREATE TABLE bad_fields (f streamfields);
CREATE TABLE bad_ids (ids streamids);
CREATE TABLE bad_id (id streamid);
CREATE TABLE bad_pos (pos streampos);
\set VERBOSITY sqlstate
-- unknown version
INSERT INTO bad VALUES ('\x020d0000000200816102010100ff');
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- nothing at all
UPDATE bad SET b = '\x';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- an empty list
UPDATE bad SET b = '\x01070000000000ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- a name without value
UPDATE bad SET b = '\x010a0000000100816102ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- a total beyond the end, and an element beyond it
UPDATE bad SET b = '\x010d00000002008161020101ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
UPDATE bad SET b = '\x010c00000002008961020101ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- the number 1 as a string
UPDATE bad SET b = '\x010d0000000200816102813102ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
-- sound
UPDATE bad SET b = '\x010c00000002008161020101ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_fields FROM 'results/types.bin' (FORMAT binary)
SELECT f, f = '{"a":1}' AS equal FROM bad_fields;
-- a list of ids whose count is not that of its bytes
UPDATE bad SET b = '\x0000000200000000000000010000000000000000';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_ids FROM 'results/types.bin' (FORMAT binary)
UPDATE bad SET b = '\xffffffff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_ids FROM 'results/types.bin' (FORMAT binary)
-- half an id, and more than one
UPDATE bad SET b = '\x0000000000000001';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_id FROM 'results/types.bin' (FORMAT binary)
UPDATE bad SET b = '\x00000000000000010000000000000002ff';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_id FROM 'results/types.bin' (FORMAT binary)
-- a position that is none
UPDATE bad SET b = '(-';
\copy bad TO 'results/types.bin' (FORMAT binary)
\copy bad_pos FROM 'results/types.bin' (FORMAT binary)
\set VERBOSITY default
DROP TABLE bin, bin_text, bin_back, bad, bad_fields, bad_ids, bad_id, bad_pos;

--
-- streamfields: building
--
SELECT fields('t', 21.5, 'n', NULL::text IS NULL, 'at', timestamptz '2026-01-01 00:00+00', 'j', '{"a": 1}'::jsonb,
              'arr', ARRAY[1, 2], 'name', 'x'::name, 'v', 'y'::varchar, 'id', streamid '1-0', 'c', 'z'::char(3));
SELECT fields('a', '1') = '{"a":1}' AS untyped, fields(VARIADIC ARRAY['a', '1', 'b', '2']), fields(VARIADIC ARRAY[1, 2]);
SELECT fields_from('{a,b}', '{"\\xff",x}'), fields_from(ARRAY[['a', 'b']], ARRAY[['1', '2']]::bytea[]);
SELECT c, sqlstate_of('SELECT ' || c) AS sqlstate FROM unnest(ARRAY[
    'fields(''a'')', 'fields(''a'', 1, ''b'')', 'fields(NULL, 1)', 'fields(''a'', NULL)', 'fields(''a'', NULL::int)',
    'fields(VARIADIC NULL::text[])', 'fields(VARIADIC ARRAY[''a'', NULL])', 'fields(VARIADIC ''{}''::text[])', 'fields()',
    'fields_from(NULL, ''{}'')', 'fields_from(''{a}'', NULL)', 'fields_from(''{a,b}'', ''{1}'')', 'fields_from(''{}'', ''{}'')',
    'fields_from(''{NULL}'', ''{1}'')', 'fields_from(''{a}'', ''{NULL}'')',
    'ARRAY[''a'']::streamfields', '''{}''::text[]::streamfields', 'ARRAY[''a'', NULL]::streamfields',
    'ARRAY[NULL, ''a'']::streamfields', 'ARRAY[[''a'', ''b'', ''c''], [''d'', ''e'', ''f'']]::streamfields',
    'NULL::streamfields', '''{"a":null}''::jsonb::streamfields']) c;
SELECT fields('a', 1, 'b');
SELECT fields('a', NULL);

-- casts
SELECT '{"b":1,"a":2}'::text::streamfields, '{"b":1}'::varchar(20)::streamfields, '{"b":1,"a":{"x":[1, 2]}}'::json::streamfields,
       '{"b":1.0,"a":{"x":[1,2]}}'::jsonb::streamfields, ARRAY['b', '1', 'a', '2']::streamfields,
       ARRAY[['b', '1'], ['a', '2']]::streamfields;
SELECT row_to_json(t)::streamfields, to_jsonb(t)::streamfields FROM (VALUES (1, 'x', NULL::int)) t(a, b, c);
SELECT f::json, f::jsonb, f::text[], f::text
FROM (VALUES (streamfields '{"b":1,"a":"é","b":3}'), (fields('x', '\x00'::bytea, '\xff'::bytea, 1))) v(f);
-- in JSON built from rows the fields are an object
SELECT row_to_json(v), to_jsonb(v) FROM (VALUES (streamid '1-0', streamfields '{"b":1}')) v(id, f);
SELECT j.key, j.value FROM json_each_text(streamfields '{"b":1,"a":2,"b":3}') j;
SELECT streamfields '{"b":1}' ->> 'b' AS in_path;

-- access: the last of repeated names
SELECT f ->> 'a' AS a, f ->> 'n' AS n, f ->> 'none' AS none, f ->> 'bin' AS bin, f ->> '' AS empty, f ->> '7' AS digits,
       f ? 'a' AS has_a, f ? 'A' AS has_upper, f ? 'first' AS value_is_no_name
FROM (SELECT fields('a', 'first', 'n', 12, 'a', 'last', 'bin', '\x00ff'::bytea, '', 'no name', '7', 'seven') AS f) s;
SELECT field_bytes(f, 'a') AS a, field_bytes(f, 'n') AS n, field_bytes(f, 'none') AS none, field_bytes(f, 'bin') AS bin
FROM (SELECT fields('a', 'first', 'n', 12, 'a', 'last', 'bin', '\x00ff'::bytea) AS f) s;

-- equality is that of the bytes, whatever way they came in
SELECT a = b AS eq, a <> b AS ne, streamfields_hash(a) = streamfields_hash(b) AS hash,
       streamfields_hash_extended(a, 1) = streamfields_hash_extended(b, 1) AS hash_extended, streamfields_cmp(a, b) = 0 AS cmp
FROM (VALUES (streamfields '{"a":1,"b":"x"}', fields('a', '1', 'b', 'x'::bytea)),
             ('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"a":1}', '{"a":1,"a":1}'), ('{"a":"01"}', '{"a":1}'),
             ('{"a":"x"}', '{"a":{"$bytea":"\\x78"}}')) v(a, b);
CREATE TABLE f (n int, f streamfields);
INSERT INTO f SELECT g, fields('k', g % 50, 'pad', repeat('x', g % 50 * 100)) FROM generate_series(1, 1000) g;
INSERT INTO f VALUES (0, NULL);
SELECT count(DISTINCT f), count(f) FROM f;
SELECT count(*) FROM (SELECT f FROM f GROUP BY f HAVING count(*) = 20) s;
SELECT count(*) AS wrong FROM (SELECT f, lag(f) OVER (ORDER BY f) AS p FROM f) s WHERE f < p OR NOT f >= p;
SELECT count(*) FROM f a JOIN f b USING (f);
CREATE INDEX ON f USING hash (f);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM f WHERE f = '{"k":1,"pad":"x"}';
SELECT count(*) FROM f WHERE f = fields('k', 2, 'pad', repeat('x', 200));
DROP INDEX f_f_idx;
CREATE INDEX ON f (f);
EXPLAIN (COSTS OFF) SELECT n FROM f WHERE f = '{"k":1,"pad":"x"}';
SELECT count(*) FROM f WHERE f = fields('k', 2, 'pad', repeat('x', 200));
RESET enable_seqscan;
DROP INDEX f_f_idx;
CREATE INDEX f_name ON f ((f ->> 'k'));
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM f WHERE f ->> 'k' = '7';
SELECT count(*) FROM f WHERE f ->> 'k' = '7';
RESET enable_seqscan;
DROP TABLE f;
-- values kept out of line and compressed
CREATE TABLE f (f streamfields);
INSERT INTO f VALUES (fields('small', 1, 'large', repeat('ab', 100000))),
                     (fields('small', 1, 'large', (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 5000) g)));
SELECT f ->> 'small' AS small, length(f ->> 'large'), md5(f ->> 'large'), f = f::text::streamfields AS same FROM f;
DROP TABLE f;
-- many fields, more than the count in the header of a listpack can hold
SELECT (SELECT count(*) FROM json_each(f)), f ->> 'k40000' AS last, f = f::text::streamfields AS same
FROM (SELECT fields_from(array_agg('k' || g), array_agg(g::text::bytea)) AS f FROM generate_series(1, 40000) g) s;

--
-- stream: a name that is text
--
CREATE TABLE device (id int, log stream, name text, vname varchar(20));
INSERT INTO device VALUES (1, 'dev:1', 'dev:1', 'dev:1'), (2, 'dev:é'::text, 'a', 'b'), (3, 'Dev:3'::varchar, 'c', 'd');
SELECT log = 'dev:1' AS literal, log = name AS col, log = vname AS vcol, log LIKE 'dev%' AS "like", log || '!' AS "||",
       length(log), coalesce(log, name) AS "coalesce", pg_typeof(log), log IN ('dev:1', 'x') AS "in"
FROM device ORDER BY id;
SELECT l, pg_typeof(l) FROM (SELECT log FROM device UNION SELECT name FROM device) u(l) ORDER BY l COLLATE "C";
SELECT log FROM device ORDER BY log COLLATE "C" DESC;
SELECT count(DISTINCT log), min(log COLLATE "C"), string_agg(log, ',' ORDER BY id) FROM device;
CREATE UNIQUE INDEX device_log ON device (log);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM device WHERE log = 'dev:1';
SELECT id FROM device WHERE log = 'dev:1';
RESET enable_seqscan;
SELECT d.id FROM device d JOIN device e ON d.log = e.name;
UPDATE device SET name = log, vname = log WHERE id = 3 RETURNING name, vname;
ALTER TABLE device ALTER log TYPE text;
ALTER TABLE device ALTER log TYPE stream;
SELECT log FROM device WHERE log = 'dev:é'::text;
DROP TABLE device;

--
-- Prepared statements, as drivers make them
--
CREATE TABLE ev (id streamid, fields streamfields);
INSERT INTO ev VALUES ('7-0', '{"a":"1","b":"2"}'), ('8-1', '{"a":"3"}');
PREPARE p AS SELECT id FROM ev WHERE id > $1; EXECUTE p('7-0'); DEALLOCATE p;
PREPARE p(text) AS SELECT id FROM ev WHERE id > $1; EXECUTE p('7-0'); DEALLOCATE p;
PREPARE p(varchar) AS SELECT id FROM ev WHERE id > $1; EXECUTE p('7-0'); DEALLOCATE p;
PREPARE p(text[]) AS SELECT id FROM ev WHERE id = ANY ($1); EXECUTE p('{7-0}'); DEALLOCATE p;
PREPARE p(varchar[]) AS SELECT id FROM ev WHERE id = ANY ($1); EXECUTE p('{7-0}'); DEALLOCATE p;
PREPARE p(timestamptz) AS INSERT INTO ev(id) VALUES ($1) RETURNING id; EXECUTE p('1970-01-01 00:00:05+00'); DEALLOCATE p;
-- without the schema in the path operators of other types serve where there is a cast to them
SET search_path = public;
SELECT fields ->> 'a' FROM ev WHERE fields IS NOT NULL ORDER BY 1;
SELECT count(DISTINCT fields), count(DISTINCT id) FROM ev;
SELECT id FROM ev ORDER BY id DESC;
RESET search_path;
DROP TABLE ev;
DROP FUNCTION sqlstate_of(text);
