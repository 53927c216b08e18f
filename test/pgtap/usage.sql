-- A test suite as users write it: everything inside BEGIN … ROLLBACK sees its own
-- effects, and leaves nothing.
BEGIN;
SELECT plan(19);
SET search_path = public, stream;

SELECT lives_ok($$ SELECT xadd('orders', '{"n":1}', '1-0') $$, 'add to a stream that is not there');
SELECT is(xlen('orders'), 1::bigint, 'own entry is counted');
SELECT throws_ok($$ SELECT xadd('orders', '{"n":1}', '1-0') $$, 'ST001', NULL, 'an id is used once');
SELECT is(xlen('orders'), 1::bigint, 'the failure left nothing');
SELECT lives_ok($$ SELECT xadd('orders', fields('n', n), n || '-0') FROM generate_series(2, 10) n $$, 'add more');
SELECT results_eq($$ SELECT id::text, fields->>'n' FROM xrange('orders', '9', '+') $$, $$ VALUES ('9-0', '9'), ('10-0', '10') $$, 'own range');
SELECT results_eq($$ SELECT id::text FROM xread('orders', '8-0') $$, array['9-0', '10-0'], 'own entries by cursor');
SELECT is(xtail('orders')::text, '10-0', 'own tail');
SELECT is(xdel('orders', '3-0', '4-0'), 2::bigint, 'delete own');
SELECT is(xcount('orders'), 8::bigint, 'count without them');
SAVEPOINT a;
SELECT is(xtrim('orders', 2), 6::bigint, 'trim own');
ROLLBACK TO a;
SELECT is(xlen('orders'), 8::bigint, 'a savepoint gives back');
SELECT is(xexists('orders'), true, 'it exists');
SELECT is(xdrop('orders'), true, 'drop own');
SELECT is(xexists('orders'), false, 'it is gone');
SELECT is(xlen('orders'), 0::bigint, 'and empty');
SELECT lives_ok($$ SELECT xadd('orders', '{"n":1}', '1-0') $$, 'add again, from the first id');
SELECT is(xlen('orders'), 1::bigint, 'one entry');
SELECT throws_ok($$ SELECT * FROM xread('orders', '>') $$, '22023', NULL, 'a position that means nothing here');

SELECT * FROM finish();
ROLLBACK;

-- Another transaction finds nothing of it.
BEGIN;
SELECT plan(2);
SELECT is(stream.xexists('orders'), false, 'nothing is left');
SELECT is((SELECT count(*) FROM stream.catalog), 0::bigint, 'no row either');
SELECT * FROM finish();
ROLLBACK;
