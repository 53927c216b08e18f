-- XCFGSET: the limits of one stream.
SET search_path = public, stream;
\set VERBOSITY terse
CREATE FUNCTION limits(s text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', j->>'idmp-duration', j->>'idmp-maxsize', j->>'node-max-bytes', j->>'node-max-entries',
		j->>'iids-tracked', j->>'iids-added')
	FROM xinfo_stream(s) j
$$;

SELECT xcfgset('c', '1 s');
SELECT xcreate('c');
SELECT limits('c');
SELECT xcfgset('c');
SELECT xcfgset('c', '0 s');
SELECT xcfgset('c', '-1 s');
SELECT xcfgset('c', '86401 s');
SELECT xcfgset('c', idmp_maxsize => 0);
SELECT xcfgset('c', idmp_maxsize => 10001);
SELECT xcfgset('c', idmp_maxsize => 9223372036854775807);
SELECT xcfgset('c', node_max_bytes => 63);
SELECT xcfgset('c', node_max_bytes => 8193);
SELECT xcfgset('c', node_max_entries => 0);
SELECT xcfgset('c', node_max_entries => 10001);
SELECT xcfgset(NULL, '1 s');
SELECT limits('c');
SELECT xcfgset('c', '1 s'), xcfgset('c', idmp_maxsize => 1), limits('c');
SELECT xcfgset('c', '1 day', 10000, 8192, 10000), limits('c');
SELECT xcfgset('c', '1.2 s', 10), limits('c');

-- the same value keeps the pairs, another forgets them; the entries stay
SELECT xcfgset('c', '50 s', 10);
SELECT xadd('c', '{"n":1}', producer => 'p', iid => 'a') AS a \gset
SELECT xcfgset('c', '50 s'), xcfgset('c', idmp_maxsize => 10), xcfgset('c', '50 s', 10), xcfgset('c', node_max_entries => 5);
SELECT xadd('c', '{"n":2}', producer => 'p', iid => 'a') = :'a' AS hit, limits('c');
SELECT xcfgset('c', '51 s');
SELECT limits('c'), xlen('c');
SELECT xadd('c', '{"n":3}', producer => 'p', iid => 'a') = :'a' AS hit, limits('c');
SELECT xadd('c', '{"n":3}', producer => 'q', iid => 'a') = :'a' AS hit, limits('c');
SELECT xcfgset('c', idmp_maxsize => 11), limits('c'), xlen('c');
SELECT limits('c'), xlen('c');

-- in a transaction: own pairs from before are forgotten, unless it is rolled back
BEGIN;
SELECT xadd('c', '{"n":4}', producer => 'p', iid => 'b') AS b \gset
SAVEPOINT s;
SELECT xcfgset('c', '52 s');
SELECT xadd('c', '{"n":5}', producer => 'p', iid => 'b') > :'b' AS added, limits('c');
SELECT xadd('c', '{"n":5}', producer => 'p', iid => 'b') > :'b' AS second;
ROLLBACK TO s;
SELECT xadd('c', '{"n":6}', producer => 'p', iid => 'b') = :'b' AS hit, limits('c');
COMMIT;
SELECT limits('c'), xlen('c');
BEGIN;
SELECT xadd('c', '{"n":7}', producer => 'p', iid => 'd') AS d \gset
SELECT xcfgset('c', '53 s');
SELECT xadd('c', '{"n":8}', producer => 'p', iid => 'd') AS d2 \gset
SELECT xadd('c', '{"n":9}', producer => 'p', iid => 'e') IS NOT NULL AS added;
COMMIT;
SELECT limits('c'), xlen('c');
SELECT xadd('c', '{"n":8}', producer => 'p', iid => 'd') = :'d2' AS hit;
BEGIN;
SELECT xcfgset('c', '54 s');
ROLLBACK;
SELECT limits('c');
SELECT xdrop('c');

-- nodes: made within the limits of their time
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 200) n;
SELECT nodes FROM streams WHERE stream = 'c';
SELECT xcfgset('c', node_max_entries => 10);
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 50) n;
SELECT nodes FROM streams WHERE stream = 'c';
BEGIN;
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 15) n;
SELECT xcfgset('c', node_max_bytes => 64);
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 15) n;
SELECT xcfgset('c', node_max_bytes => 8192, node_max_entries => 1000);
COMMIT;
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 300) n;
SELECT xlen('c'), count(*), sum((fields->>'n')::int) FROM xrange('c');
SELECT length, node_max_bytes, node_max_entries FROM streams WHERE stream = 'c';
-- the catalog keeps what the stream was made with
SELECT node_max_bytes, node_max_entries FROM catalog WHERE name = 'c';
SELECT xdrop('c');

-- a stream made in the same transaction
BEGIN;
SELECT xcreate('c'), xcfgset('c', '7 s', node_max_entries => 3);
SELECT count(xadd('c', '{"n":1}')) FROM generate_series(1, 7) n;
COMMIT;
SELECT limits('c');
SELECT xdrop('c');
DROP FUNCTION limits;
