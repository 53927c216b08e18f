-- Dead letters of a policy: written with the rights of the owner of the group's
-- stream, and none keeps the groups of others from being reclaimed.
SET search_path = public, stream;
SET client_min_messages = warning;
\set VERBOSITY terse
CREATE ROLE dl_one; CREATE ROLE dl_two;
GRANT CREATE ON SCHEMA stream TO dl_one, dl_two;
CREATE FUNCTION stuck(key text, dead text) RETURNS boolean LANGUAGE sql AS $$
	SELECT xcreate(key), xgroup_create(key, 'g'), xgroup_set(key, 'g', retry => '1 hour', max_deliveries => 1, dead_letter => dead);
	SELECT xadd(key, fields('of', key)) FROM generate_series(1, 2);
	SELECT count(*) FROM xreadgroup(key, 'g', 'c');
	SELECT count(*) FROM xclaim(key, 'g', 'c', '0', ARRAY(SELECT id FROM xrange(key))::streamids, idle => '2 hours', justid => true);
	SELECT true $$;

SELECT xcreate('payments');
SET ROLE dl_one;
-- Where one may not add one does not send dead letters.
SELECT stuck('d-a', 'payments');
-- What is made later belongs to another.
SELECT stuck('d-b', 'd-later');
-- Its own dead letters, by a change of its name.
SELECT stuck('d-c', 'd-other'), xrename('d-c', 'd-other');
RESET ROLE;
SELECT xcreate('d-later');
SET ROLE dl_two;
SELECT stuck('d-z', 'd-z-dead');
RESET ROLE;
-- The superuser's call, of pg_cron say.
SET client_min_messages = notice;
SELECT * FROM xreclaim_all() WHERE key ~ '^d-';
SELECT * FROM xreclaim('d-b', 'g');
SET client_min_messages = warning;
SELECT xlen('payments') AS payments, xlen('d-later') AS later, xlen('d-z-dead') AS dead;
SELECT stream, owner FROM streams WHERE stream ~ '^d-' ORDER BY stream;
SELECT key, grp, pending FROM unnest('{d-b,d-other,d-z}'::text[]) key, LATERAL (SELECT name AS grp, pending FROM xinfo_groups(key)) g;
-- Given by the caller it is the caller's right that counts.
SELECT * FROM xreclaim('d-b', 'g', dead_letter => 'd-later');
-- Who may reclaim needs no right of his own on the dead letters of the policy.
SELECT xgrant('d-z', 'UPDATE', 'dl_one');
SELECT xadd('d-z', fields('of', 'more')) IS NOT NULL AS added, (SELECT count(*) FROM xreadgroup('d-z', 'g', 'c')) AS read,
	(SELECT count(*) FROM xclaim('d-z', 'g', 'c', '0', xtail('d-z')::text::streamids, idle => '2 hours', justid => true)) AS old;
SET ROLE dl_one;
SELECT * FROM xreclaim('d-z', 'g');
SELECT * FROM xadd('d-z-dead', fields('a', '1'));
RESET ROLE;
SELECT xlen('d-z-dead') AS dead;

SELECT xdrop(k) FROM unnest('{payments,d-b,d-a,d-c,d-other,d-later,d-z,d-z-dead}'::text[]) k;
DROP FUNCTION stuck;
DROP OWNED BY dl_one, dl_two;
DROP ROLE dl_one, dl_two;
