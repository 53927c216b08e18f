-- Pending entries that change hands: xclaim, xautoclaim, xnack with a delay, xreclaim and dead letters.
SET search_path = public, stream;
CREATE FUNCTION pel(key text, g text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(format('%s:%s:%s', id, consumer, deliveries), ' ' ORDER BY id), 'nothing') FROM xpending(key, g) $$;
CREATE FUNCTION given(key text, g text, c text, n bigint DEFAULT 100) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(format('%s(%s)', id, deliveries), ' '), 'nothing') FROM xreadgroup(key, g, c, count => n) $$;
-- Entries 1-0 to 8-0; the first four pending with a since an hour, the next two with b, two new.
CREATE PROCEDURE begin_again() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xdrop('s');
	PERFORM xadd('s', fields('n', n), n || '-0') FROM generate_series(1, 8) n;
	PERFORM xgroup_create('s', 'g');
	PERFORM given('s', 'g', 'a', 4);
	PERFORM xclaim('s', 'g', 'a', '0', '{1-0,2-0,3-0,4-0}', idle => '1 hour', justid => true);
	PERFORM given('s', 'g', 'b', 2);
END $$;

-- XCLAIM: of the ids, in order, those that are pending for long enough; from oneself, too.
CALL begin_again();
SELECT * FROM xclaim('s', 'g', 'c', '30 min', '{5-0,3-0,1-0,3-0,7-0,99-0}');
SELECT pel('s', 'g');
SELECT id FROM xclaim('s', 'g', 'c', '0', '1-0');
SELECT * FROM xclaim('s', 'g', 'c', '0', '{}');
SELECT * FROM xclaim('s', 'g', 'c', '0', NULL);
SELECT pel('s', 'g');
-- Nobody's are always idle enough.
SELECT xnack('s', 'g', 'FAIL', '2-0'), (SELECT count(*) FROM xclaim('s', 'g', 'd', '1 day', '2-0')), pel('s', 'g');
-- FORCE makes what is not pending so: 2, with JUSTID 1, or as RETRYCOUNT says; entries only that are there.
SELECT id, fields FROM xclaim('s', 'g', 'd', '1 day', '{7-0,99-0}', force => true);
SELECT id FROM xclaim('s', 'g', 'd', '1 day', '8-0', force => true, justid => true);
SELECT xack('s', 'g', '1-0'), (SELECT count(*) FROM xclaim('s', 'g', 'd', '1 day', '1-0', force => true, retrycount => 6)), pel('s', 'g');
SELECT given('s', 'g', 'e');
-- A record whose entry is gone goes with the claim.
CALL begin_again();
SELECT xdelex('s', '{1-0,2-0}', 'KEEPREF'), pel('s', 'g');
SELECT id FROM xclaim('s', 'g', 'c', '0', '{1-0,3-0}');
SELECT pel('s', 'g');
SELECT id FROM xautoclaim('s', 'g', 'd', '0');
SELECT pel('s', 'g');
-- The consumer is there even if nothing was claimed.
SELECT count(*) FROM xclaim('s', 'g', 'none', '1 day', '3-0');
SELECT name, pending, inactive IS NULL AS never FROM xinfo_consumers('s', 'g');
\set VERBOSITY sqlstate
SELECT xclaim('s', 'g', 'c', '-1 s', '1-0');
SELECT xclaim('s', 'g', 'c', NULL, '1-0');
SELECT xclaim('s', 'g', NULL, '0', '1-0');
SELECT xclaim('s', 'g', 'c', '0', 'x');
SELECT xclaim('s', 'g', 'c', '0', '1-0', idle => '-1 s');
SELECT xclaim('s', 'g', 'c', '0', '1-0', idle => '1 s', at => now());
SELECT xclaim('s', 'g', 'c', '0', '1-0', retrycount => -1);
SELECT xclaim('s', 'nogroup', 'c', '0', '1-0');
SELECT xclaim('missing', 'g', 'c', '0', '1-0');
\set VERBOSITY default

-- XAUTOCLAIM: from the start on, up to count, however many young ones lie between.
CALL begin_again();
SELECT id, fields->>'n' AS n, deliveries FROM xautoclaim('s', 'g', 'c', '30 min', count => 2);
SELECT id FROM xautoclaim('s', 'g', 'c', '30 min', '4');
SELECT id FROM xautoclaim('s', 'g', 'c', '0', '(4-0', 1);
SELECT id, fields FROM xautoclaim('s', 'g', 'd', '0', '-', 1, justid => true);
SELECT id FROM xautoclaim('s', 'g', 'd', '0', '+');
SELECT pel('s', 'g');
\set VERBOSITY sqlstate
SELECT xautoclaim('s', 'g', 'c', '0', count => 0);
SELECT xautoclaim('s', 'g', 'c', '0', '$');
SELECT xautoclaim('s', 'g', 'c', '-1 s');
SELECT xautoclaim('s', 'g', 'c', NULL);
SELECT xautoclaim('s', 'nogroup', 'c', '0');
SELECT xautoclaim('missing', 'g', 'c', '0');
\set VERBOSITY default

-- Read with CLAIM: the idle first, then those given back, then the new.
CALL begin_again();
SELECT xnack('s', 'g', 'FAIL', '5-0');
SELECT id, idle > '30 min' AS old, deliveries FROM xreadgroup('s', 'g', 'c', claim => '30 min');
SELECT pel('s', 'g');
CALL begin_again();
SELECT id FROM xreadgroup('s', 'g', 'c', count => 2, claim => '30 min');
SELECT id FROM xreadgroup('s', 'g', 'c', '0', claim => '30 min');
SELECT pel('s', 'g');
-- Entries that are gone are passed over and stay pending.
CALL begin_again();
SELECT xdelex('s', '1-0', 'KEEPREF');
SELECT id FROM xreadgroup('s', 'g', 'c', claim => '30 min');
SELECT pel('s', 'g');

-- XNACK with a delay: not before.
CALL begin_again();
SELECT given('s', 'g', 'c'), xnack('s', 'g', 'FAIL', '1-0', delay => '1 hour'), xnack('s', 'g', 'FAIL', '2-0', delay => '300 ms'), given('s', 'g', 'c');
SELECT id FROM xreadgroup('s', 'g', 'c', block => '30 s');
SELECT given('s', 'g', 'c'), pel('s', 'g');
SELECT id FROM xclaim('s', 'g', 'd', '0', '1-0');

-- XRECLAIM: back to the group.
CALL begin_again();
SELECT * FROM xreclaim('s', 'g', '30 min');
SELECT pel('s', 'g');
SELECT * FROM xreclaim('s', 'g', '30 min');
SELECT given('s', 'g', 'c', 2), pel('s', 'g');
SELECT * FROM xreclaim('s', 'g', '0', count => 1);
SELECT pel('s', 'g');
-- Dead letters carry their history.
CALL begin_again();
SELECT id FROM xclaim('s', 'g', 'a', '0', '{2-0,3-0}', idle => '1 hour', retrycount => 3);
SELECT xadd('dead', '{"a":1}', '1-0');
SELECT * FROM xreclaim('s', 'g', '30 min', 3, 'dead');
SELECT fields FROM xrange('dead', '2');
SELECT pel('s', 'g'), xlen('s');
-- Nobody's as well; of entries that are gone nothing is moved; the other stream is made if need be.
CALL begin_again();
SELECT xnack('s', 'g', 'FATAL', '1-0'), xclaim('s', 'g', 'a', '0', '2-0', retrycount => 9, idle => '1 day'), xdelex('s', '2-0', 'KEEPREF');
SELECT * FROM xreclaim('s', 'g', '30 min', 5, 'dead:new');
SELECT fields FROM xrange('dead:new');
SELECT pel('s', 'g');
SELECT delivered, acked, dead FROM xinfo_groups('s');
-- Taken back.
CALL begin_again();
BEGIN;
SELECT * FROM xreclaim('s', 'g', '0', 1, 'dead:not');
SELECT xlen('dead:not'), pel('s', 'g');
ROLLBACK;
SELECT xexists('dead:not'), pel('s', 'g');
-- The policy instead of arguments; xreclaim_all for whoever has one.
SELECT xgroup_set('s', 'g', retry => '30 min', max_deliveries => 1, dead_letter => 'dead');
SELECT xgroup_create('dead', 'none'), xadd('t', '{"n":1}', '1-0'), xgroup_create('t', 'g'), xgroup_set('t', 'g', retry => '0.000001 s');
SELECT * FROM xreclaim('s', 'g', max_deliveries => 2);
SELECT given('s', 'g', 'c', 4), given('t', 'g', 'c');
SELECT id FROM xclaim('s', 'g', 'c', '0', '{1-0,2-0}', idle => '1 hour', justid => true);
SELECT id FROM xclaim('t', 'g', 'c', '0', '1-0', idle => '1 hour', justid => true);
SELECT * FROM xreclaim_all();
SELECT * FROM xreclaim_all();
SELECT pel('s', 'g'), pel('t', 'g');
SELECT fields->>'n' AS n, fields->>'deliveries' AS deliveries FROM xrevrange('dead', count => 2);
\set VERBOSITY sqlstate
SELECT xreclaim('dead', 'none');
SELECT xreclaim('dead', 'none', '1 s', 3);
SELECT xreclaim('dead', 'none', '1 s', 3, 'dead');
SELECT xreclaim('dead', 'none', '-1 s');
SELECT xreclaim('dead', 'none', '1 s', -1, 'other');
SELECT xreclaim('dead', 'none', '1 s', 3, repeat('x', 513));
SELECT xreclaim('dead', 'none', '1 s', count => 0);
SELECT xreclaim('dead', 'nogroup', '1 s');
SELECT xreclaim('missing', 'g', '1 s');
\set VERBOSITY default
SELECT xreclaim('dead', 'none');
SELECT xreclaim('dead', 'none', '1 s', 3);

-- More records than are looked at in one hold of the stream's lock, most of them passed over, or their entries gone.
SELECT xdrop('s');
SELECT count(xadd('s', '{"n":1}', n || '-0')) FROM generate_series(1, 5000) n;
SELECT xgroup_create('s', 'g');
SELECT (SELECT count(*) FROM xreadgroup('s', 'g', 'c', count => 2500)), (SELECT count(*) FROM xreadgroup('s', 'g', 'd', count => 2500));
SELECT xnack('s', 'g', 'FAIL', array(SELECT id FROM xpending('s', 'g', consumer => 'c')), delay => '1 hour');
SELECT * FROM xreclaim('s', 'g', '30 min', 5, 'dead');
SELECT * FROM xreclaim('s', 'g', '0', 5, 'dead', count => 500);
SELECT count(*), count(consumer), min(id) FILTER (WHERE consumer = 'd') FROM xpending('s', 'g', count => 10000);
SELECT count(*) FROM xdelex('s', array(SELECT (n || '-0')::streamid FROM generate_series(3500, 4600) n), 'KEEPREF');
SELECT count(*), count(fields), max(id) FROM xreadgroup('s', 'g', 'd', '0', count => 700);
SELECT count(*), count(fields), max(id) FROM xreadgroup('s', 'g', 'd', '0', count => 5000);
SELECT count(*), max(id) FROM xautoclaim('s', 'g', 'e', '0', '0', count => 700);

SELECT count(xdrop(s)) FROM unnest('{s,t,dead,dead:new}'::text[]) s;
DROP FUNCTION pel, given;
DROP PROCEDURE begin_again;
