-- Consumer groups: what each command does and answers, its options and errors.
-- (State after each command: groupstate; in transactions: grouptx; claims: claim; refs: refs; lag: grouplag;
-- blocking reads and other sessions: test/t, test/specs.)
SET search_path = public, stream;
CREATE FUNCTION grp(key text) RETURNS TABLE (name text, consumers bigint, pending bigint, last streamid, read bigint, lag bigint, released bigint)
	LANGUAGE sql AS $$ SELECT name, consumers, pending, last_delivered_id, entries_read, lag, released FROM xinfo_groups(key) $$;
CREATE FUNCTION pel(key text, g text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(format('%s:%s:%s', id, consumer, deliveries), ' ' ORDER BY id), 'nothing') FROM xpending(key, g) $$;

-- Making groups.  Order is that of the names' bytes; an empty name is one.
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(1, 10) n;
SELECT xgroup_create('s', 'g'), xgroup_create('s', 'tail', '$'), xgroup_create('s', 'mid', '5'), xgroup_create('s', ''),
       xgroup_create('s', 'Ä', '3-0', entries_read => 3), xgroup_create('s', 'day', '1970-01-02'), xgroup_create('s', 'z', pos => '7-1', in_order => false);
SELECT * FROM grp('s');
SELECT xgroup_create('s', 'g', if_not_exists => true), xgroup_create('s', 'g2', if_not_exists => true);
SELECT xgroup_create('made', 'g', mkstream => true), xlen('made');
SELECT * FROM grp('made');
SELECT xinfo_stream('s')->'groups' AS groups, xinfo_stream('made')->'groups' AS made;
\set VERBOSITY sqlstate
SELECT xgroup_create('s', 'g');
SELECT xgroup_create('missing', 'g');
SELECT xgroup_create('s', 'h', '-');
SELECT xgroup_create('s', 'h', '+');
SELECT xgroup_create('s', 'h', '>');
SELECT xgroup_create('s', 'h', '*');
SELECT xgroup_create('s', 'h', '(1-0');
SELECT xgroup_create('s', 'h', 'x');
SELECT xgroup_create('s', 'h', entries_read => -2);
SELECT xgroup_create('s', NULL);
SELECT xgroup_create(NULL, 'h');
SELECT xgroup_create('s', repeat('x', 513));
SELECT xgroup_create(repeat('x', 513), 'g', mkstream => true);
\set VERBOSITY default
SELECT xgroup_create('s', repeat('x', 512)), xgroup_destroy('s', repeat('x', 512));
SELECT xgroup_create('missing', 'g');
SELECT xgroup_create('s', 'g');

-- Destroying them.
SELECT xgroup_destroy('s', 'g2'), xgroup_destroy('s', 'g2'), xgroup_destroy('s', 'Ä'), xgroup_destroy('s', 'day');
\set VERBOSITY sqlstate
SELECT xgroup_destroy('missing', 'g');
SELECT xgroup_destroy('s', NULL);
\set VERBOSITY default
SELECT xexists('missing'), (SELECT count(*) FROM grp('s'));

-- Consumers.
SELECT xgroup_createconsumer('s', 'g', 'idle'), xgroup_createconsumer('s', 'g', 'idle'), xgroup_createconsumer('s', 'g', '');
SELECT name, pending, idle < '1 min' AS fresh, inactive FROM xinfo_consumers('s', 'g');
SELECT xgroup_delconsumer('s', 'g', 'idle'), xgroup_delconsumer('s', 'g', 'never'), xgroup_delconsumer('s', 'g', '');
\set VERBOSITY sqlstate
SELECT xgroup_createconsumer('s', 'nogroup', 'c');
SELECT xgroup_createconsumer('missing', 'g', 'c');
SELECT xgroup_createconsumer('s', 'g', NULL);
SELECT xgroup_createconsumer('s', 'g', repeat('x', 513));
SELECT xgroup_delconsumer('s', 'nogroup', 'c');
SELECT xgroup_delconsumer('missing', 'g', 'c');
SELECT * FROM xinfo_consumers('s', 'nogroup');
SELECT * FROM xinfo_consumers('missing', 'g');
SELECT * FROM xinfo_groups('missing');
\set VERBOSITY default

-- Reading.
SELECT * FROM xreadgroup('s', 'g', 'c', count => 2);
SELECT id, fields->>'n' AS n FROM xreadgroup('s', 'g', 'd', '>', 3);
SELECT * FROM grp('s') WHERE name = 'g';
SELECT id FROM xreadgroup('s', 'g', 'c', '>', 1, noack => true);
SELECT pel('s', 'g');
-- No count is a hundred, one that is not positive all of them.
SELECT count(xadd('long', fields('n', n))) FROM generate_series(1, 250) n;
SELECT xgroup_create('long', 'g'), (SELECT count(*) FROM xreadgroup('long', 'g', 'c')), (SELECT count(*) FROM xreadgroup('long', 'g', 'c', count => NULL));
SELECT count(*) FROM xreadgroup('long', 'g', 'c', count => 0);
SELECT count(*) FROM xreadgroup('long', 'g', 'c', '0');
SELECT count(*) FROM xreadgroup('long', 'g', 'c', '0', -1);
SELECT pending FROM xpending_summary('long', 'g');
-- Nothing is left; the consumer is made all the same.
SELECT count(*) FROM xreadgroup('s', 'tail', 'e');
SELECT name, pending FROM xinfo_consumers('s', 'tail');
SELECT count(*) FROM xreadgroup('s', 'tail', 'f', '0');
SELECT name, pending FROM xinfo_consumers('s', 'tail');
-- The history: the consumer's own, with what it was before; each reading counts.
SELECT id, fields, idle < '1 min' AS fresh, deliveries FROM xreadgroup('s', 'g', 'c', '0');
SELECT id, deliveries FROM xreadgroup('s', 'g', 'c', '1-0');
SELECT id, deliveries FROM xreadgroup('s', 'g', 'c', '0', 1);
SELECT id FROM xreadgroup('s', 'g', 'nobody', '0');
SELECT pel('s', 'g');
-- An entry that is gone (KEEPREF keeps its record) is told without fields.
SELECT xdelex('s', '3-0', 'KEEPREF');
SELECT id, fields, deliveries FROM xreadgroup('s', 'g', 'd', '0');
SELECT pel('s', 'g');
\set VERBOSITY sqlstate
SELECT * FROM xreadgroup('s', 'g', 'c', '$');
SELECT * FROM xreadgroup('s', 'g', 'c', '+');
SELECT * FROM xreadgroup('s', 'g', 'c', '-');
SELECT * FROM xreadgroup('s', 'g', 'c', '*');
SELECT * FROM xreadgroup('s', 'g', 'c', '(1-0');
SELECT * FROM xreadgroup('s', 'g', 'c', 'x');
SELECT * FROM xreadgroup('s', 'nogroup', 'c');
SELECT * FROM xreadgroup('s', 'nogroup', 'c', '0');
SELECT * FROM xreadgroup('missing', 'g', 'c');
SELECT * FROM xreadgroup('missing', 'g', 'c', '0');
SELECT * FROM xreadgroup('s', NULL, 'c');
SELECT * FROM xreadgroup('s', 'g', NULL);
SELECT * FROM xreadgroup(NULL, 'g', 'c');
SELECT * FROM xreadgroup('s', 'g', repeat('x', 513));
SELECT * FROM xreadgroup('s', 'g', 'c', block => '-1 ms');
SELECT * FROM xreadgroup('s', 'g', 'c', claim => '-1 ms');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM xreadgroup('s', 'g', 'c', block => '1 ms');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM xreadgroup('s', 'g', 'c');
ROLLBACK;
\set VERBOSITY default
SELECT * FROM xreadgroup('s', 'g', 'c', '$');
-- NULL options are their defaults.
SELECT id FROM xreadgroup('s', 'g', 'c', NULL, 1, NULL, NULL, NULL);
-- With block it waits; the history does not.
SELECT count(*) FROM xreadgroup('s', 'tail', 'e', block => '10 ms');
SELECT count(*) FROM xreadgroup('s', 'tail', 'e', '0', block => '0');

-- Several streams in the order of the list.
SELECT count(xadd('t', fields('n', n), n || '-0')) FROM generate_series(1, 3) n;
SELECT xgroup_create('t', 'm'), xgroup_create('s', 'm'), xgroup_create('made', 'm');
SELECT key, id FROM xreadgroup_many('{t,made,s}', 'm', 'c', count => 2);
SELECT key, id FROM xreadgroup_many('{s,t}', 'm', 'c', count => 2, maxcount => 3);
SELECT key, id, deliveries FROM xreadgroup_many('{s,t,made}', 'm', 'c', '{0,>,0}', count => 2);
SELECT key, id FROM xreadgroup_many('{s,t}', 'm', 'c', array['>', NULL]::streampos[], maxcount => 1);
SELECT count(*) FROM xreadgroup_many('{}', 'm', 'c');
SELECT count(*) FROM xreadgroup_many('{}', 'm', 'c', block => '0');
\set VERBOSITY sqlstate
SELECT * FROM xreadgroup_many('{s,t}', 'm', 'c', '{>}');
SELECT * FROM xreadgroup_many('{s,NULL}', 'm', 'c');
SELECT * FROM xreadgroup_many(NULL, 'm', 'c');
SELECT * FROM xreadgroup_many('{s,missing}', 'm', 'c');
SELECT * FROM xreadgroup_many('{s,long}', 'm', 'c');
SELECT * FROM xreadgroup_many('{s}', 'm', 'c', maxcount => 0);
SELECT * FROM xreadgroup_many('{s}', 'm', 'c', '{$}');
\set VERBOSITY default
-- What failed has delivered nothing from any of them.
SELECT * FROM grp('s') WHERE name = 'm';

-- Acknowledging: each id once, of whatever owner; missing groups and streams have nothing.
SELECT xack('s', 'm', '1-0'), xack('s', 'm', '1-0'), xack('s', 'm', '2-0', '2-0', '99-0'), xack('s', 'm', '{}'), xack('s', 'm', NULL);
SELECT xack('s', 'nogroup', '1-0'), xack('missing', 'g', '1-0');
SELECT xack('s', 'g', '3-0'), pel('s', 'g');
\set VERBOSITY sqlstate
SELECT xack('s', NULL, '1-0');
SELECT xack('s', 'm', 'x');
SELECT xack('s', 'm', '{4-0,x}');
\set VERBOSITY default

-- XPENDING.
SELECT * FROM xpending_summary('s', 'g');
SELECT * FROM xpending_summary('s', 'tail');
SELECT id, consumer, idle < '1 min' AS fresh, deliveries FROM xpending('s', 'g');
SELECT id FROM xpending('s', 'g', '2', '4');
SELECT id FROM xpending('s', 'g', '(2-0', '+', 1);
SELECT id FROM xpending('s', 'g', consumer => 'd');
SELECT count(*) FROM xpending('s', 'g', consumer => 'nobody');
SELECT count(*) FROM xpending('s', 'g', count => 0);
SELECT count(*) FROM xpending('s', 'g', count => -1);
SELECT count(*) FROM xpending('s', 'g', '5', '4');
SELECT count(*) FROM xpending('s', 'g', min_idle => '1 hour');
SELECT count(*) FROM xpending('s', 'g', NULL, NULL, NULL, NULL, NULL);
\set VERBOSITY sqlstate
SELECT * FROM xpending('s', 'nogroup');
SELECT * FROM xpending('s', 'nogroup', count => 0);
SELECT * FROM xpending('missing', 'g');
SELECT * FROM xpending_summary('s', 'nogroup');
SELECT * FROM xpending_summary('missing', 'g');
SELECT * FROM xpending('s', 'g', '$');
SELECT * FROM xpending('s', 'g', min_idle => '-1 s');
SELECT * FROM xpending('s', NULL);
\set VERBOSITY default

-- XNACK: given back, and by that next for the next plain read, before new entries.
SELECT xnack('s', 'g', 'FAIL', '2-0'), xnack('s', 'g', 'silent', '{4-0,4-0,99-0}'), pel('s', 'g');
SELECT id, consumer, idle, deliveries FROM xpending('s', 'g', '4', '4');
SELECT * FROM xpending_summary('s', 'g');
SELECT id, fields->>'n' AS n, deliveries FROM xreadgroup('s', 'g', 'e', count => 3);
SELECT xnack('s', 'g', 'FATAL', '2-0'), xnack('s', 'g', 'FAIL', '4-0', retrycount => 7), pel('s', 'g');
SELECT xack('s', 'g', '4-0'), xnack('s', 'g', 'FAIL', '4-0'), xnack('s', 'g', 'FAIL', '4-0', force => true), xnack('s', 'g', 'FAIL', '77-0', force => true), pel('s', 'g');
-- Later, if a delay is given.
SELECT xnack('s', 'g', 'FAIL', '5-0', delay => '1 hour'), (SELECT count(*) FROM xreadgroup('s', 'g', 'f', count => 1000) WHERE id = '5-0');
SELECT id, consumer, due > now() + '50 min' AS later FROM stream.pending WHERE stream = 's' AND grp = 'g' AND due > now();
\set VERBOSITY sqlstate
SELECT xnack('s', 'g', 'x', '1-0');
SELECT xnack('s', 'g', NULL, '1-0');
SELECT xnack('s', 'g', 'FAIL', '1-0', retrycount => -1);
SELECT xnack('s', 'g', 'FAIL', '1-0', delay => '-1 s');
SELECT xnack('s', 'nogroup', 'FAIL', '1-0');
SELECT xnack('missing', 'g', 'FAIL', '1-0');
\set VERBOSITY default
SELECT xnack('s', 'g', 'x', '1-0');

-- What a deleted consumer had goes back to the group, or (as in Redis) is pending no more.
SELECT count(*) FROM xreadgroup('t', 'm', 'x');
SELECT xnack('t', 'm', 'FAIL', '{1-0,2-0,3-0}');
SELECT id FROM xreadgroup('t', 'm', 'x', count => 2);
SELECT xgroup_delconsumer('t', 'm', 'x'), pel('t', 'm');
SELECT id, deliveries FROM xreadgroup('t', 'm', 'y', count => 2);
SELECT xgroup_delconsumer('t', 'm', 'y', release => false), pel('t', 'm');
SELECT name, pending FROM xinfo_consumers('t', 'm');

-- The cursor, both ways; what is pending stays.  Delivered again, an entry's count begins anew.
SELECT xgroup_setid('t', 'm', '1-0');
SELECT * FROM grp('t');
SELECT id, deliveries FROM xreadgroup('t', 'm', 'z');
SELECT pel('t', 'm');
SELECT xgroup_setid('t', 'm', '$'), xgroup_setid('t', 'm', '-'), (SELECT last FROM grp('t'));
SELECT xgroup_setid('t', 'm', '+'), (SELECT last FROM grp('t'));
SELECT xgroup_setid('t', 'm', '2-0', 2), (SELECT read FROM grp('t'));
SELECT xgroup_setid('t', 'm', '2-0', 1000), (SELECT read FROM grp('t'));
\set VERBOSITY sqlstate
SELECT xgroup_setid('t', 'm', '>');
SELECT xgroup_setid('t', 'm', NULL);
SELECT xgroup_setid('t', 'm', '1', -2);
SELECT xgroup_setid('t', 'nogroup', '1');
SELECT xgroup_setid('missing', 'm', '1');
\set VERBOSITY default

-- The policy.
SELECT xgroup_set('t', 'm', retry => '5 min', max_deliveries => 3, dead_letter => 't:dead');
SELECT retry, max_deliveries, dead_letter, in_order FROM xinfo_groups('t');
SELECT xgroup_set('t', 'm', in_order => false, retry => '0'), xgroup_set('t', 'm', max_deliveries => 0), xgroup_set('t', 'm', dead_letter => '');
SELECT retry, max_deliveries, dead_letter, in_order FROM xinfo_groups('t');
\set VERBOSITY sqlstate
SELECT xgroup_set('t', 'm', NULL, NULL, NULL, NULL);
SELECT xgroup_set('t', 'm', retry => '-1 s');
SELECT xgroup_set('t', 'm', max_deliveries => -1);
SELECT xgroup_set('t', 'm', max_deliveries => 3);
SELECT xgroup_set('t', 'm', dead_letter => 't');
SELECT xgroup_set('t', 'm', dead_letter => repeat('x', 513));
SELECT xgroup_set('t', 'nogroup', retry => '1 s');
SELECT xgroup_set('missing', 'm', retry => '1 s');
\set VERBOSITY default
SELECT xgroup_set('t', 'm', max_deliveries => 3);
SELECT retry, max_deliveries, dead_letter, in_order FROM xinfo_groups('t');

-- The views.
SELECT stream, grp, lag, lag_seconds > 1e9 AS seconds, oldest_undelivered, pending, released, in_flight, consumers, delivered, redelivered, acked, dead
	FROM stream.groups ORDER BY stream, grp COLLATE "C";
SELECT stream, grp, consumer, pending, inactive IS NULL AS never FROM stream.consumers WHERE stream <> 'long' ORDER BY stream, grp COLLATE "C", consumer COLLATE "C";
SELECT stream, grp, count(*), count(consumer) AS owned FROM stream.pending GROUP BY 1, 2 ORDER BY stream, grp COLLATE "C";
SELECT count(xdrop(s)) FROM unnest('{s,t,made,long}'::text[]) s;
SELECT count(*) FROM stream.groups;
DROP FUNCTION grp, pel;
