-- What each command does to a pending record, its consumer and the cursor: redis-streams' table of state changes, a row a
-- block.  The record's time is shown as old (it was claimed with an idle time of an hour before) or now.
SET search_path = public, stream;
CREATE TABLE mark(at timestamptz);
INSERT INTO mark VALUES (now());
CREATE FUNCTION state(text DEFAULT 'c') RETURNS TABLE (owner text, deliveries bigint, delivered text, seen text, active text, cursor streamid)
	LANGUAGE sql AS $$
	SELECT p.consumer, p.deliveries, CASE WHEN p.idle > '30 min' THEN 'old' WHEN p.idle IS NOT NULL THEN 'now' END,
		CASE WHEN c.idle > m.mark THEN 'before' WHEN c.idle IS NOT NULL THEN 'now' END,
		CASE WHEN c.inactive > m.mark THEN 'before' WHEN c.inactive IS NOT NULL THEN 'now' END, g.last_delivered_id
	FROM xinfo_groups('s') g
	LEFT JOIN xpending('s', 'g', '1-0', '1-0') p ON true
	LEFT JOIN xinfo_consumers('s', 'g') c ON c.name = $1
	CROSS JOIN (SELECT clock_timestamp() - at FROM mark) m(mark) $$;
-- Times are kept in milliseconds: the mark lies strictly between what was before and what comes.
CREATE PROCEDURE mark() LANGUAGE plpgsql AS $$
DECLARE before timestamptz := clock_timestamp();
BEGIN
	WHILE clock_timestamp() < before + '20 ms' LOOP END LOOP;
	UPDATE mark SET at = before + '10 ms';
END $$;
-- Entry 1-0 pending with c since an hour ago, delivered once.
CREATE PROCEDURE begin_again() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM xdrop('s');
	PERFORM xadd('s', '{"n":1}', '1-0'), xadd('s', '{"n":2}', '2-0');
	PERFORM xgroup_create('s', 'g');
	PERFORM xreadgroup('s', 'g', 'c', count => 1);
	PERFORM xclaim('s', 'g', 'c', '0', '1-0', idle => '1 hour', justid => true);
	CALL mark();
END $$;
CALL begin_again();
SELECT * FROM state();

-- XREADGROUP > of a new entry
SELECT id FROM xreadgroup('s', 'g', 'c');
SELECT * FROM state();
SELECT consumer, deliveries FROM xpending('s', 'g', '2', '2');
-- the same without a pending record (NOACK)
CALL begin_again();
SELECT id FROM xreadgroup('s', 'g', 'c', noack => true);
SELECT * FROM state();
-- the same, and it had a record, after the cursor was set back
CALL begin_again();
SELECT xclaim('s', 'g', 'c', '0', '1-0', idle => '1 hour', retrycount => 5);
SELECT xgroup_setid('s', 'g', '0');
SELECT id, deliveries FROM xreadgroup('s', 'g', 'c', count => 1);
SELECT * FROM state();
CALL begin_again();
SELECT xgroup_setid('s', 'g', '0');
SELECT id FROM xreadgroup('s', 'g', 'd', count => 1);
SELECT * FROM state('d');
-- the history, its entry alive
CALL begin_again();
SELECT id, idle > '30 min' AS old, deliveries FROM xreadgroup('s', 'g', 'c', '0');
SELECT * FROM state();
-- the history, its entry gone
CALL begin_again();
SELECT xdelex('s', '1-0', 'KEEPREF');
SELECT id, fields, idle > '30 min' AS old, deliveries FROM xreadgroup('s', 'g', 'c', '0');
SELECT * FROM state();
-- an empty poll
CALL begin_again();
SELECT xgroup_setid('s', 'g', '2-0');
SELECT count(*) FROM xreadgroup('s', 'g', 'c');
SELECT * FROM state();
SELECT count(*) FROM xreadgroup('s', 'g', 'c', '2-0');
SELECT * FROM state();
-- XREADGROUP CLAIM
CALL begin_again();
SELECT id, idle > '30 min' AS old, deliveries FROM xreadgroup('s', 'g', 'd', claim => '30 min');
SELECT * FROM state('d');
SELECT * FROM state('c');
CALL begin_again();
SELECT id, deliveries FROM xreadgroup('s', 'g', 'd', claim => '2 hours');
SELECT * FROM state('d');
-- claimed with NOACK it stays pending
CALL begin_again();
SELECT id, deliveries FROM xreadgroup('s', 'g', 'd', claim => '0', noack => true);
SELECT * FROM state('d');
-- the group's own retry
CALL begin_again();
SELECT xgroup_set('s', 'g', retry => '30 min');
SELECT id, deliveries FROM xreadgroup('s', 'g', 'd', count => 1);
SELECT * FROM state('d');
-- XCLAIM
CALL begin_again();
SELECT * FROM xclaim('s', 'g', 'd', '30 min', '1-0');
SELECT * FROM state('d');
-- not idle enough
CALL begin_again();
SELECT * FROM xclaim('s', 'g', 'd', '2 hours', '1-0');
SELECT * FROM state('d');
-- RETRYCOUNT, IDLE, TIME, LASTID
CALL begin_again();
SELECT id FROM xclaim('s', 'g', 'd', '0', '1-0', retrycount => 9, idle => '2 hours', last_id => '2-0');
SELECT * FROM state('d');
SELECT id FROM xclaim('s', 'g', 'd', '0', '1-0', at => now() - interval '1 day', last_id => '1-0');
SELECT * FROM state('d');
SELECT id FROM xclaim('s', 'g', 'd', '0', '1-0', at => now() + interval '1 day');
SELECT * FROM state('d');
-- JUSTID
CALL begin_again();
SELECT * FROM xclaim('s', 'g', 'd', '0', '1-0', justid => true);
SELECT * FROM state('d');
-- XAUTOCLAIM
CALL begin_again();
SELECT * FROM xautoclaim('s', 'g', 'd', '30 min');
SELECT * FROM state('d');
CALL begin_again();
SELECT * FROM xautoclaim('s', 'g', 'd', '30 min', justid => true);
SELECT * FROM state('d');
CALL begin_again();
SELECT * FROM xautoclaim('s', 'g', 'd', '2 hours');
SELECT * FROM state('d');
-- XNACK: SILENT, FAIL, FATAL, RETRYCOUNT
CALL begin_again();
SELECT xnack('s', 'g', 'SILENT', '1-0');
SELECT * FROM state();
SELECT xnack('s', 'g', 'SILENT', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT xnack('s', 'g', 'FAIL', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT xnack('s', 'g', 'FATAL', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT xnack('s', 'g', 'FATAL', '1-0', retrycount => 4);
SELECT * FROM state();
SELECT id, deliveries FROM xreadgroup('s', 'g', 'd', count => 1);
SELECT * FROM state('d');
-- XACK, XACKDEL, XDELEX and XTRIM with DELREF
CALL begin_again();
SELECT xack('s', 'g', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT * FROM xackdel('s', 'g', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT * FROM xdelex('s', '1-0');
SELECT * FROM state();
CALL begin_again();
SELECT xtrim('s', 1);
SELECT * FROM state();
CALL begin_again();
SELECT xtrim('s', 1, refs => 'KEEPREF');
SELECT * FROM state();
-- XGROUP SETID
CALL begin_again();
SELECT xgroup_setid('s', 'g', '0');
SELECT * FROM state();

SELECT xdrop('s');
DROP FUNCTION state;
DROP PROCEDURE begin_again, mark;
DROP TABLE mark;
