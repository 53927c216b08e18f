-- Lag is the number of entries that the group has yet to deliver, exactly, where Redis answers NULL or guesses, too.
SET search_path = public, stream;
-- lag as told, and counted; the same in the view; and what a read then gives.
CREATE FUNCTION waits(key text, g text) RETURNS text LANGUAGE sql AS $$
	SELECT format('lag %s, counted %s%s', i.lag, (SELECT count(*) FROM xrange(key) r WHERE r.id > i.last_delivered_id),
		CASE WHEN v.lag IS DISTINCT FROM i.lag THEN ', view ' || v.lag END)
	FROM xinfo_groups(key) i LEFT JOIN stream.groups v ON v.stream = key AND v.grp = i.name WHERE i.name = g $$;

-- No entry, none left, all read.
SELECT xgroup_create('s', 'zero', mkstream => true), waits('s', 'zero');
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(1, 10) n;
SELECT waits('s', 'zero');
-- A group in the middle: Redis does not know before it has read the last entry.
SELECT xgroup_create('s', 'middle', '4-0'), waits('s', 'middle'), (SELECT entries_read FROM xinfo_groups('s') WHERE name = 'middle');
SELECT xgroup_create('s', 'between', '4-5'), waits('s', 'between');
SELECT xgroup_create('s', 'end', '$'), waits('s', 'end');
SELECT xgroup_create('s', 'ahead', '100-0'), waits('s', 'ahead');
SELECT xgroup_create('s', 'said', '4-0', entries_read => 4), waits('s', 'said');
SELECT xgroup_create('s', 'wrong', '4-0', entries_read => 9), waits('s', 'wrong');
SELECT count(*), waits('s', 'middle') FROM xreadgroup('s', 'middle', 'c', count => 2);
-- Deletions behind, at and ahead of the cursor.
SELECT xdel('s', '2-0'), waits('s', 'zero'), waits('s', 'middle');
SELECT xdel('s', '6-0'), waits('s', 'middle');
SELECT xdel('s', '8-0'), waits('s', 'zero'), waits('s', 'middle'), waits('s', 'between'), waits('s', 'said'), waits('s', 'wrong');
SELECT xdel('s', '10-0'), waits('s', 'zero'), waits('s', 'middle'), waits('s', 'end');
SELECT count(*), waits('s', 'middle') FROM xreadgroup('s', 'middle', 'c', count => 1);
-- Trims behind and beyond it.
SELECT xtrim('s', minid => '4'), waits('s', 'zero'), waits('s', 'middle');
SELECT xtrim('s', 1), waits('s', 'zero'), waits('s', 'middle'), waits('s', 'between');
SELECT xtrim('s', 0), waits('s', 'zero'), waits('s', 'middle'), waits('s', 'ahead');
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(11, 15) n;
SELECT waits('s', 'zero'), waits('s', 'middle'), waits('s', 'end'), waits('s', 'ahead');
-- The cursor set.
SELECT xgroup_setid('s', 'zero', '12-0'), waits('s', 'zero'), xgroup_setid('s', 'zero', '0'), waits('s', 'zero'),
       xgroup_setid('s', 'zero', '$'), waits('s', 'zero'), xgroup_setid('s', 'zero', '13-5'), waits('s', 'zero');
SELECT xsetid('s', '200-0', 1000, '150-0'), waits('s', 'zero'), waits('s', 'ahead');
SELECT xadd('s', '{"n":1}', '201-0'), waits('s', 'zero'), waits('s', 'ahead');
-- Delivered without acknowledgement, and given back.
SELECT count(*), waits('s', 'end') FROM xreadgroup('s', 'end', 'c', count => 2, noack => true);
SELECT count(*), waits('s', 'end') FROM xreadgroup('s', 'end', 'c', count => 2);
SELECT xnack('s', 'end', 'FAIL', '13-0'), waits('s', 'end');
BEGIN;
SELECT count(*), waits('s', 'end') FROM xreadgroup('s', 'end', 'd');
ROLLBACK;
SELECT lag FROM xinfo_groups('s') WHERE name = 'end';
-- ACKED removes from the middle.
SELECT xgroup_destroy('s', n) FROM unnest('{zero,middle,between,ahead,said,wrong,end}'::text[]) n;
SELECT xgroup_create('s', 'g'), (SELECT count(*) FROM xreadgroup('s', 'g', 'c', count => 3)), xack('s', 'g', '12-0'), xtrim('s', 0, refs => 'ACKED'), waits('s', 'g');
-- In the transaction that adds, deletes and reads.
BEGIN;
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(301, 305) n;
SELECT waits('s', 'g'), xdel('s', '302-0'), waits('s', 'g');
SELECT count(*), waits('s', 'g') FROM xreadgroup('s', 'g', 'c', count => 4);
SELECT xdel('s', '303-0', '305-0'), waits('s', 'g'), xtrim('s', 1), waits('s', 'g');
SELECT xgroup_create('s', 'new'), waits('s', 'new');
ROLLBACK;
SELECT waits('s', 'g');
-- How old the oldest is that waits.
SELECT xadd('age', '{"n":1}', ((extract(epoch FROM now()) * 1000)::bigint - 60000) || '-0') AS old \gset
SELECT xadd('age', '{"n":2}') > :'old', xgroup_create('age', 'g');
SELECT lag, lag_seconds BETWEEN 59 AND 90 AS a_minute, oldest_undelivered = :'old' AS oldest FROM stream.groups WHERE stream = 'age';
SELECT count(*) FROM xreadgroup('age', 'g', 'c', count => 1);
SELECT lag, lag_seconds BETWEEN 0 AND 30 AS now, oldest_undelivered > :'old' AS later FROM stream.groups WHERE stream = 'age';
SELECT count(*) FROM xreadgroup('age', 'g', 'c');
SELECT lag, lag_seconds, oldest_undelivered FROM stream.groups WHERE stream = 'age';
SELECT count(xdrop(s)) FROM unnest('{s,age}'::text[]) s;
DROP FUNCTION waits;
