-- xread and xread_many without waiting for others (blocking reads: test/t/007_block.pl).
SET search_path = public, stream;

SELECT count(xadd('a', fields('n', n), n || '-0')) FROM generate_series(1, 5) n;
SELECT count(xadd('b', fields('n', n), n || '-0')) FROM generate_series(1, 3) n;

-- Entries above the position, itself not.
SELECT * FROM xread('a', '0');
SELECT * FROM xread('a', '3');
SELECT * FROM xread('a', '3-0', 1);
SELECT * FROM xread('a', '0', count => 2);
-- No count, or one that is not positive, means all.
SELECT count(*) FROM xread('a', '0', count => 0);
SELECT count(*) FROM xread('a', '0', count => -1);
SELECT count(*) FROM xread('a', '5-0');
SELECT count(*) FROM xread('a', '9');
SELECT count(*) FROM xread('missing', '0');
-- $ is the newest id: nothing is above it.  + is the last live entry.
SELECT count(*) FROM xread('a', '$');
SELECT id FROM xread('a', '+');
SELECT id FROM xread('a', '+', 10);
SELECT xdel('a', '5-0');
SELECT id FROM xread('a', '+');
SELECT xtail('a');
SELECT count(*) FROM xread('a', '4-0');
SELECT count(*) FROM xread('missing', '+');
SELECT count(*) FROM xread('missing', '$');
SELECT xdel('b', '1-0', '2-0', '3-0');
SELECT count(*) FROM xread('b', '+');

-- Ids at the edge of a millisecond.
SELECT xadd('edge', '1-1', 'n', '1'), xadd('edge', '1-18446744073709551615', 'n', '2'), xadd('edge', '2-1', 'n', '3');
SELECT id FROM xread('edge', '1-18446744073709551615');
SELECT xadd('edge', '18446744073709551615-18446744073709551615', 'n', '4');
SELECT id FROM xread('edge', '+');
SELECT count(*) FROM xread('edge', '18446744073709551615-18446744073709551615');

-- Several streams, in the order asked; each with its own position; once more where named twice.
SELECT xadd('b', '4-0', 'n', '4'), xadd('b', '5-0', 'n', '5');
-- Of no streams there is nothing to wait for.
SELECT * FROM xread_many('{}', '{}', block => '0');
SELECT key, id FROM xread_many(array['a', 'b'], array['0', '0']);
SELECT key, id FROM xread_many(array['b', 'missing', 'a'], array['4-0', '0', '2']);
SELECT key, id FROM xread_many('{a,b}', '{3,$}');
SELECT key, id FROM xread_many('{a,b}', '{+,+}');
SELECT key, id FROM xread_many('{b,b}', '{4,4}');
SELECT count(*) FROM xread_many('{}', '{}');
-- count is for each stream, maxcount for all of them.
SELECT key, id FROM xread_many('{a,b}', '{0,0}', count => 1);
SELECT key, id FROM xread_many('{a,b}', '{0,0}', maxcount => 5);
SELECT key, id FROM xread_many('{a,b}', '{0,0}', count => 3, maxcount => 4);
SELECT key, id FROM xread_many('{a,b}', '{0,0}', maxcount => 3);
SELECT key, id FROM xread_many('{a}', '{0}', count => 2, maxcount => 2);

-- Times.
SELECT xadd('t', '{"a":1}', timestamptz '2018-02-01 00:00+00'), xadd('t', '{"a":2}', timestamptz '2018-02-02 00:00+00');
SELECT id FROM xread('t', timestamptz '2018-02-01 12:00+00');

-- Blocking where nothing need be waited for, and a wait that ends in nothing.
SELECT id FROM xread('a', '3', block => '1 min');
SELECT count(*) FROM xread('a', '$', block => '20 ms');
SELECT count(*) FROM xread('missing', '0', block => '20 ms');
SELECT id FROM xread('a', '+', block => '1 min');
SELECT count(*) FROM xread('a', '4-0', block => '20 ms');
SELECT count(*) FROM xread('a', '0', block => '0');
SELECT key, id FROM xread_many('{a,b}', '{$,4}', block => '1 min');
-- CALL xwait tells whether there is something above the position.
CALL xwait('a', '3', '1 min');
CALL xwait('a', '$', '20 ms');
CALL xwait('missing', '0', '20 ms');

\set VERBOSITY sqlstate
SELECT * FROM xread('a', '>');
SELECT * FROM xread('a', '-');
SELECT * FROM xread('a', '(1-0');
SELECT * FROM xread('a', '*');
SELECT * FROM xread('a', '1-*');
SELECT * FROM xread('a', 'nonsense');
SELECT * FROM xread('a', '0', block => '-1 s');
SELECT * FROM xread(NULL, '0');
SELECT * FROM xread_many('{a,b}', '{0}');
SELECT * FROM xread_many('{a,NULL}', '{0,0}');
SELECT * FROM xread_many('{a,b}', '{0,0}', maxcount => 0);
SELECT * FROM xread_many('{a,b}', '{0,0}', count => 5, maxcount => 4);
-- A wait under a snapshot that stands still would never see anything.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM xread('a', '$', block => '20 ms');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM xread('a', '$', block => '20 ms');
ROLLBACK;
-- CALL xwait ends its transaction, so it needs one of its own.
BEGIN;
CALL xwait('a', '$', '20 ms');
ROLLBACK;
\set VERBOSITY default

SELECT count(xdrop(k)) FROM unnest(array['a', 'b', 'edge', 't']) k;
