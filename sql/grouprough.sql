-- Groups where transactions undo what they did, at the edges of numbers, and in
-- larger numbers than one batch.
SET search_path = public, stream;

-- An entry that this transaction removes is passed over, and is there again after a rollback.
SELECT xadd('r', '{"n":1}', '1-0'), xgroup_create('r', 'g');
BEGIN;
SELECT xdel('r', '1-0'), xadd('r', '{"n":2}', '2-0');
SELECT id FROM xreadgroup('r', 'g', 'c');
ROLLBACK;
SELECT id FROM xreadgroup('r', 'g', 'c');
SELECT xadd('r', '{"n":3}', '3-0'), xadd('r', '{"n":4}', '4-0');
BEGIN;
SAVEPOINT a;
SELECT xtrim('r', minid => '4-0');
SELECT id FROM xreadgroup('r', 'g', 'c', count => 1);
ROLLBACK TO a;
SELECT id FROM xreadgroup('r', 'g', 'c');
COMMIT;
SELECT id, consumer, deliveries FROM xpending('r', 'g');
SELECT lag FROM xinfo_groups('r');

-- A read in a savepoint does not give up what the transaction held before.
SELECT xgroup_create('r', 'h');
BEGIN;
SELECT id FROM xreadgroup('r', 'h', 'c', count => 1);
SAVEPOINT a;
SELECT xgroup_setid('r', 'h', '0');
SELECT id FROM xreadgroup('r', 'h', 'd', count => 1);
ROLLBACK TO a;
SELECT in_flight FROM xinfo_groups('r') WHERE name = 'h';
COMMIT;
SELECT id, consumer, deliveries FROM xpending('r', 'h');

-- Every record once, though more are idle than one batch takes.
SELECT count(xadd('many', fields('n', n))) FROM generate_series(1, 2500) n;
SELECT xgroup_create('many', 'g');
SELECT count(*), count(DISTINCT id) FROM xreadgroup('many', 'g', 'c', count => 3000);
SELECT count(*), count(DISTINCT id) FROM xreadgroup('many', 'g', 'd', count => 3000, claim => '0');
SELECT count(*), max(deliveries) FROM xpending('many', 'g', consumer => 'd');
BEGIN;
SELECT count(*), count(DISTINCT id) FROM xreadgroup('many', 'g', 'd', '0', count => 2200);
SELECT count(*), count(DISTINCT id) FROM xautoclaim('many', 'g', 'e', '0', count => 2300);
ROLLBACK;

-- A delay beyond all times is as good as for ever.
SELECT xnack('r', 'h', 'FAIL', '1-0', delay => '300000 years');
SELECT id, due > '3000-01-01' AS late FROM stream.pending WHERE stream = 'r' AND grp = 'h';
SELECT xnack('r', 'h', 'FATAL', '1-0');
BEGIN;
SELECT deliveries FROM xreadgroup('r', 'h', 'c', count => 1);
ROLLBACK;
SELECT xnack('r', 'h', 'FAIL', '1-0');
SELECT deliveries FROM xpending('r', 'h');

-- Consumers by the dozen, deleted in the transaction that looks.
SELECT count(xgroup_createconsumer('r', 'h', 'x' || n)) FROM generate_series(100, 180) n;
BEGIN;
SELECT count(xgroup_delconsumer('r', 'h', name)) FROM xinfo_consumers('r', 'h') WHERE name < 'x170';
SELECT count(*), min(name) FROM xinfo_consumers('r', 'h');
ROLLBACK;
SELECT count(*) FROM xinfo_consumers('r', 'h');

-- What is left to deliver, as a transaction sees it that removes and passes over.
SELECT xgroup_create('many', 'lag');
BEGIN;
SELECT xtrim('many', 2000), xdel('many', (SELECT id FROM xrange('many', count => 1)));
SELECT lag FROM xinfo_groups('many') WHERE name = 'lag';
SELECT count(*) FROM xreadgroup('many', 'lag', 'c', count => 99);
SELECT lag FROM xinfo_groups('many') WHERE name = 'lag';
SELECT count(*) FROM xclaim('many', 'lag', 'c', '0', '{}', last_id => (SELECT max(id) FROM (SELECT id FROM xrange('many', count => 1000)) t));
SELECT lag FROM xinfo_groups('many') WHERE name = 'lag';
SELECT xadd('many', '{"n":0}') IS NOT NULL AS added;
SELECT lag FROM xinfo_groups('many') WHERE name = 'lag';
COMMIT;
SELECT lag FROM xinfo_groups('many') WHERE name = 'lag';

-- What an open transaction has in flight.
BEGIN;
SELECT count(*) FROM xreadgroup('many', 'lag', 'c', count => 10);
SAVEPOINT a;
SELECT xack('many', 'lag', array_agg(id)) FROM xpending('many', 'lag', count => 20);
SELECT in_flight FROM stream.activity WHERE stream = 'many';
ROLLBACK TO a;
SELECT in_flight FROM stream.activity WHERE stream = 'many';
COMMIT;
SELECT count(*) FROM stream.activity WHERE stream = 'many';
SELECT xdrop('r'), xdrop('many');
