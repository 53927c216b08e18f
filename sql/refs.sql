-- Removing entries that groups have still to deliver, or have pending: DELREF, KEEPREF, ACKED.
SET search_path = public, stream;
CREATE FUNCTION pel(key text, g text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), 'nothing') FROM xpending(key, g) $$;
CREATE FUNCTION ids(key text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), 'nothing') FROM xrange(key) $$;
-- Entries 1-0 to 6-0; g has 1-0 to 4-0 pending, h 1-0 and 2-0 and has acknowledged 3-0.
CREATE PROCEDURE begin_again() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xdrop('s');
	PERFORM xadd('s', fields('n', n), n || '-0') FROM generate_series(1, 6) n;
	PERFORM xgroup_create('s', 'g'), xgroup_create('s', 'h');
	PERFORM xreadgroup('s', 'g', 'c', count => 4);
	PERFORM xreadgroup('s', 'h', 'c', count => 3);
	PERFORM xack('s', 'h', '3-0');
END $$;

-- XDEL takes the records along.
CALL begin_again();
SELECT xdel('s', '1-0', '5-0', '9-0'), ids('s'), pel('s', 'g'), pel('s', 'h');
-- XDELEX: results for each id once, in the caller's order.
CALL begin_again();
SELECT * FROM xdelex('s', '{9-0,2-0,1-0,2-0}');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
CALL begin_again();
SELECT * FROM xdelex('s', '{2-0,1-0}', 'KEEPREF');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
-- DELREF of what is gone takes the records that dangle.
SELECT * FROM xdelex('s', '1-0', 'DELREF');
SELECT pel('s', 'g'), pel('s', 'h');
-- ACKED keeps what a group has pending or still to deliver.
CALL begin_again();
SELECT * FROM xdelex('s', '{1-0,3-0,4-0,6-0}', 'acked');
SELECT ids('s');
SELECT xack('s', 'g', '3-0'), xack('s', 'g', '4-0');
SELECT * FROM xdelex('s', '{3-0,4-0}', 'ACKED');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
-- Without groups nothing is referenced.
SELECT xgroup_destroy('s', 'g'), xgroup_destroy('s', 'h');
SELECT * FROM xdelex('s', '{1-0,6-0}', 'ACKED');
SELECT * FROM xdelex('missing', '{1-0,2-0}');
SELECT * FROM xdelex('s', '{}');
SELECT * FROM xdelex('s', NULL);

-- XACKDEL.
CALL begin_again();
SELECT * FROM xackdel('s', 'g', '{5-0,2-0,1-0,2-0,9-0}');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
CALL begin_again();
SELECT * FROM xackdel('s', 'g', '{1-0,3-0}', 'KEEPREF');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
SELECT * FROM xackdel('s', 'h', '{1-0}', 'KEEPREF');
CALL begin_again();
SELECT * FROM xackdel('s', 'g', '{1-0,3-0,4-0}', 'ACKED');
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
SELECT * FROM xackdel('s', 'h', '1-0', 'ACKED');
SELECT ids('s'), pel('s', 'h');
SELECT * FROM xackdel('s', 'nogroup', '{1-0,2-0}');
SELECT * FROM xackdel('missing', 'g', '1-0');
SELECT * FROM xackdel('s', 'g', '{}');
-- More ids than fit anywhere.
SELECT count(xadd('many', fields('n', n), n || '-0')) FROM generate_series(1, 3000) n;
SELECT xgroup_create('many', 'g'), (SELECT count(*) FROM xreadgroup('many', 'g', 'c', count => 0));
SELECT result, count(*) FROM xackdel('many', 'g', array(SELECT n || '-0' FROM generate_series(1, 3001) n)) GROUP BY 1 ORDER BY 1;
SELECT xlen('many'), pel('many', 'g');

-- XTRIM and trimming with XADD.
CALL begin_again();
SELECT xtrim('s', 2), ids('s'), pel('s', 'g'), pel('s', 'h');
CALL begin_again();
SELECT xtrim('s', minid => '3', refs => 'KEEPREF'), ids('s'), pel('s', 'g'), pel('s', 'h');
CALL begin_again();
SELECT xtrim('s', 0, refs => 'ACKED'), ids('s');
SELECT xack('s', 'g', '1-0', '3-0'), xack('s', 'h', '1-0');
SELECT xtrim('s', 0, refs => 'ACKED'), ids('s'), pel('s', 'g'), pel('s', 'h');
SELECT xack('s', 'g', '2-0', '4-0'), xack('s', 'h', '2-0'), (SELECT count(*) FROM xreadgroup('s', 'h', 'd', noack => true)), (SELECT count(*) FROM xreadgroup('s', 'g', 'd', noack => true));
SELECT xadd('s', '{"n":7}', '7-0', maxlen => 2, refs => 'ACKED'), ids('s');
CALL begin_again();
SELECT xadd('s', '{"n":7}', '7-0', maxlen => 2, refs => 'KEEPREF'), ids('s'), pel('s', 'g');
SELECT xadd('s', '{"n":8}', '8-0', minid => '7'), ids('s'), pel('s', 'g');
CALL begin_again();
SELECT count(*) FROM xadd_many('s', array['{"n":7}', '{"n":8}']::streamfields[], '{7-0,8-0}', maxlen => 3, refs => 'ACKED');
SELECT ids('s');
-- Approximate trims: with ACKED they are exact, as entries go from the middle of nodes.
SELECT xcreate('nodes'), xcfgset('nodes', node_max_entries => 2);
SELECT count(xadd('nodes', fields('n', n), n || '-0')) FROM generate_series(1, 9) n;
SELECT xgroup_create('nodes', 'g'), (SELECT count(*) FROM xreadgroup('nodes', 'g', 'c', count => 4));
SELECT xack('nodes', 'g', '1-0', '2-0', '4-0'), xtrim('nodes', 2, approx => true, refs => 'ACKED'), ids('nodes');
SELECT xtrim('nodes', 2, approx => true, refs => 'DELREF'), ids('nodes'), pel('nodes', 'g');

-- Within a transaction, of what it has done itself.
CALL begin_again();
BEGIN;
SELECT * FROM xdelex('s', '1-0', 'ACKED');
SELECT xack('s', 'g', '1-0'), xack('s', 'h', '1-0');
SELECT * FROM xdelex('s', '1-0', 'ACKED');
SELECT xdelex('s', '2-0', 'KEEPREF'), pel('s', 'g');
SAVEPOINT a;
SELECT xtrim('s', 1), ids('s'), pel('s', 'g'), pel('s', 'h');
ROLLBACK TO a;
SELECT xtrim('s', 1, refs => 'KEEPREF'), ids('s'), pel('s', 'g'), pel('s', 'h');
ROLLBACK;
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');
BEGIN;
SELECT xackdel('s', 'g', '1-0', 'ACKED'), xackdel('s', 'h', '1-0', 'ACKED'), xtrim('s', minid => '3', refs => 'KEEPREF');
COMMIT;
SELECT ids('s'), pel('s', 'g'), pel('s', 'h');

-- More entries than are looked at in one hold of the stream's lock: 3000 delivered to g, 4000 to h, all pending but a few.
SELECT count(xadd('long', '{"n":1}', n || '-0')) FROM generate_series(1, 5000) n;
SELECT xgroup_create('long', 'g'), xgroup_create('long', 'h');
SELECT (SELECT count(*) FROM xreadgroup('long', 'g', 'c', count => 3000)), (SELECT count(*) FROM xreadgroup('long', 'h', 'c', count => 4000));
SELECT xack('long', 'g', '2-0', '1500-0', '2800-0', '2900-0'), xack('long', 'h', '2-0', '1500-0', '2800-0', '2900-0', '3500-0');
SELECT xadd('long', '{"n":2}', '5001-0', maxlen => 4999, refs => 'ACKED'), xlen('long'), count(*) FROM xrange('long', '1-0', '2800-0');
SELECT xtrim('long', minid => '2900-0', refs => 'ACKED'), xtrim('long', 0, refs => 'ACKED'), xlen('long');
BEGIN;
SELECT count(xack('long', 'g', id)) FROM xpending('long', 'g', '1000-0', '3000-0');
SELECT count(xack('long', 'h', id)) FROM xpending('long', 'h', '1000-0', '3000-0');
SELECT xadd('long', '{"n":2}', '5002-0'), xtrim('long', 4500, refs => 'ACKED'), xtrim('long', 0, trim_limit => 10, approx => true, refs => 'ACKED'), xlen('long');
SELECT count(*) FROM xreadgroup('long', 'g', 'c', noack => true, count => 600);
SELECT xgroup_setid('long', 'h', '$');
SELECT xtrim('long', 0, refs => 'ACKED'), xlen('long'), count(*) FROM xrange('long', '3001-0');
ROLLBACK;
SELECT xgroup_destroy('long', 'g'), xtrim('long', 0, refs => 'ACKED'), xlen('long');

\set VERBOSITY sqlstate
SELECT xdelex('s', '1-0', 'x');
SELECT xackdel('s', 'g', '1-0', 'x');
SELECT xackdel('s', NULL, '1-0');
SELECT xackdel('s', 'g', 'x');
SELECT xtrim('s', 0, refs => '');
\set VERBOSITY default
SELECT xdelex('s', '1-0', NULL);
SELECT count(xdrop(s)) FROM unnest('{s,many,nodes,long}'::text[]) s;
DROP FUNCTION pel, ids;
DROP PROCEDURE begin_again;
