-- Who may do what: every command and view, for roles with every privilege.
SET search_path = public, stream;
SET client_min_messages = warning;

CREATE ROLE p_owner; CREATE ROLE p_poor; CREATE ROLE p_heir IN ROLE p_owner, p_poor;
CREATE ROLE p_select; CREATE ROLE p_insert; CREATE ROLE p_update; CREATE ROLE p_delete; CREATE ROLE p_all;
CREATE ROLE p_group; CREATE ROLE p_member IN ROLE p_group; CREATE ROLE p_noinherit NOINHERIT IN ROLE p_group;
CREATE ROLE p_reader IN ROLE pg_read_all_data; CREATE ROLE p_writer IN ROLE pg_write_all_data;
CREATE ROLE p_monitor IN ROLE pg_monitor; CREATE ROLE p_stranger; CREATE ROLE p_super SUPERUSER;
GRANT CREATE ON SCHEMA stream TO p_owner;

SET ROLE p_owner;
SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(1, 3) n;
SELECT xgroup_create('s', 'g'), xgroup_set('s', 'g', retry => '1 day'), (SELECT count(*) FROM xreadgroup('s', 'g', 'c', count => 2)), xcreate('dead');
SELECT xgrant('s', 'SELECT', 'p_select'), xgrant('s', 'INSERT', 'p_insert'), xgrant('s', 'UPDATE', 'p_update'),
       xgrant('s', 'DELETE', 'p_delete'), xgrant('s', 'ALL', 'p_all'), xgrant('s', 'select, insert', 'p_group');
RESET ROLE;

-- What a command ends with when a role runs it; it is taken back in any case.
CREATE FUNCTION attempt(role name, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	EXECUTE command;
	RAISE EXCEPTION USING ERRCODE = 'OK000';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'OK000' THEN 'ok' WHEN '22012' THEN 'none' ELSE SQLSTATE END;
END $$;
CREATE FUNCTION matrix(commands text[]) RETURNS TABLE (
	command text, owner text, heir text, sel text, ins text, upd text, del text, "all" text,
	member text, noinherit text, reader text, writer text, monitor text, stranger text, super text) LANGUAGE sql AS $$
	SELECT c, attempt('p_owner', c), attempt('p_heir', c), attempt('p_select', c), attempt('p_insert', c),
		attempt('p_update', c), attempt('p_delete', c), attempt('p_all', c), attempt('p_member', c),
		attempt('p_noinherit', c), attempt('p_reader', c), attempt('p_writer', c), attempt('p_monitor', c),
		attempt('p_stranger', c), attempt('p_super', c)
	FROM unnest(commands) WITH ORDINALITY AS u(c, n) ORDER BY n $$;

SELECT * FROM matrix(array[
	$$SELECT xlen('s')$$,
	$$SELECT xcount('s')$$,
	$$SELECT xtail('s')$$,
	$$SELECT * FROM xrange('s')$$,
	$$SELECT * FROM xrevrange('s')$$,
	$$SELECT * FROM xread('s', '0')$$,
	$$SELECT * FROM xread('s', '0', block => '1 ms')$$,
	$$SELECT * FROM xread_many('{s}', '{0}')$$,
	$$SELECT xinfo_stream('s')$$,
	$$SELECT xlisten('s')$$,
	$$SELECT xlisten('missing')$$,
	$$SELECT xunlisten('s')$$,
	$$SELECT channel('s')$$,
	$$SELECT xinfo_stream_full('s')$$,
	$$SELECT xexists('s')$$,
	$$SELECT xcreate('s', if_not_exists => true)$$,
	$$SELECT xadd('s', '{"a":1}')$$,
	$$SELECT xadd('s', '{"a":1}', mkstream => false)$$,
	$$SELECT xadd('s', '*', 'a', '1')$$,
	$$SELECT xadd('s', now(), '{"a":1}')$$,
	$$SELECT xadd_many('s', array['{"a":1}']::streamfields[])$$,
	$$SELECT xadd('s', '{"a":1}', maxlen => 1)$$,
	$$SELECT xadd('s', '{"a":1}', minid => '2')$$,
	$$SELECT xadd_many('s', array['{"a":1}']::streamfields[], maxlen => 9)$$,
	$$SELECT xdel('s', '1-0')$$,
	$$SELECT xtrim('s', 1)$$,
	$$INSERT INTO stream.append(key, fields) VALUES ('s', '{"a":1}')$$,
	$$SELECT xadd('s', '{"a":1}', producer => 'p', iid => 'i')$$,
	$$SELECT xgroup_create('s', 'h')$$,
	$$SELECT xgroup_set('s', 'g', retry => '1 min')$$,
	$$SELECT xgroup_setid('s', 'g', '0')$$,
	$$SELECT xgroup_destroy('s', 'g')$$,
	$$SELECT xgroup_createconsumer('s', 'g', 'd')$$,
	$$SELECT xgroup_delconsumer('s', 'g', 'c')$$,
	$$SELECT * FROM xreadgroup('s', 'g', 'c')$$,
	$$SELECT * FROM xreadgroup('s', 'g', 'c', '0')$$,
	$$SELECT * FROM xreadgroup('s', 'g', 'c', '3-0', block => '1 ms')$$,
	$$SELECT * FROM xreadgroup_many('{s}', 'g', 'c')$$,
	$$SELECT xack('s', 'g', '1-0')$$,
	$$SELECT xnack('s', 'g', 'FAIL', '1-0')$$,
	$$SELECT xclaim('s', 'g', 'd', '0', '1-0')$$,
	$$SELECT xautoclaim('s', 'g', 'd', '0')$$,
	$$SELECT xreclaim('s', 'g', '0')$$,
	$$SELECT xreclaim('s', 'g', '0', 1, 'dead')$$,
	$$SELECT 1 / count(*) FROM xreclaim_all()$$,
	$$SELECT xackdel('s', 'g', '1-0')$$,
	$$SELECT xdelex('s', '1-0')$$,
	$$SELECT xpending('s', 'g')$$,
	$$SELECT xpending_summary('s', 'g')$$,
	$$SELECT xinfo_groups('s')$$,
	$$SELECT xinfo_consumers('s', 'g')$$,
	$$SELECT xgroup_create('new', 'g', mkstream => true)$$,
	$$SELECT xsetid('s', '9-0')$$,
	$$SELECT xcfgset('s', idmp_maxsize => 7)$$,
	$$SELECT xdrop('s')$$,
	$$SELECT xrename('s', 's')$$,
	$$SELECT xrename('s', 'new')$$,
	$$SELECT xgrant('s', 'SELECT', 'p_stranger')$$,
	$$SELECT xrevoke('s', 'ALL', 'p_group')$$,
	$$SELECT xowner('s', 'p_owner')$$,
	$$SELECT xgrant_default('SELECT', 'p_stranger', 'p_owner')$$,
	$$SELECT xrevoke_default('SELECT', 'p_stranger', 'p_owner')$$,
	$$SELECT xcreate('new')$$,
	$$SELECT xadd('new', '{"a":1}')$$,
	$$SELECT 1 / count(*) FROM stream.streams$$,
	$$SELECT 1 / count(*) FROM stream.grants$$,
	$$SELECT 1 / count(*) FROM stream.groups$$,
	$$SELECT 1 / count(*) FROM stream.consumers$$,
	$$SELECT 1 / count(*) FROM stream.pending$$,
	$$SELECT 1 FROM stream.catalog$$,
	$$SELECT 1 FROM stream.privilege$$,
	$$SELECT 1 FROM stream.default_privilege$$,
	$$INSERT INTO stream.privilege VALUES (1, 'p_stranger', 'ALL')$$]);
BEGIN;
SELECT xadd('s', '{"n":4}', '4-0');
SELECT * FROM matrix(array[$$SELECT 1 / count(*) FROM stream.activity$$]);
ROLLBACK;
SELECT * FROM xrange('s');

-- CALL cannot be tried that way.
\set VERBOSITY sqlstate
SET ROLE p_stranger;
CALL xwait('s', '0', '1 ms');
SET ROLE p_insert;
CALL xwait('s', '0', '1 ms');
SET ROLE p_select;
CALL xwait('s', '0', '1 ms');
CALL xwaitgroup('s', 'g', '1 ms');
SET ROLE p_update;
CALL xwaitgroup('s', 'g', '1 ms');
RESET ROLE;
\set VERBOSITY default
SELECT * FROM stream.grants;
-- What privileges allow in one stream is nothing in another.
SELECT stream, grp FROM stream.groups;
SELECT xdrop('dead');

-- Everybody, partial revokes, and how privileges may be written.
SELECT xgrant('s', 'All  ', '-'), xrevoke('s', ' insert,DELETE ', '-'), xrevoke('s', 'all privileges', 'p_all'), xrevoke('s', 'SELECT', 'p_stranger');
SELECT * FROM stream.grants;
SELECT grantee, privileges FROM stream.privilege ORDER BY grantee::text COLLATE "C";
SELECT * FROM matrix(array[$$SELECT xlen('s')$$, $$SELECT xadd('s', '{"a":1}')$$, $$SELECT xdel('s', '1-0')$$]);
SELECT xrevoke('s', 'ALL', '-'), xgrant('s', 'ALL', 'p_all');
\set VERBOSITY sqlstate
SELECT xgrant('missing', 'ALL', 'p_all');
SELECT xrevoke('missing', 'ALL', 'p_all');
SELECT xowner('missing', 'p_all');
SELECT xgrant('s', '', 'p_all');
SELECT xgrant('s', 'SELECT,', 'p_all');
SELECT xgrant('s', 'SELECT INSERT', 'p_all');
SELECT xgrant('s', 'OWNER', 'p_all');
SELECT xgrant('s', 'ALL', 'p_nobody');
SELECT xgrant('s', 'ALL', 4294967295::oid::regrole);
SELECT xgrant(NULL, 'ALL', 'p_all');
SELECT xgrant('s', NULL, 'p_all');
SELECT xgrant('s', 'ALL', NULL);
SELECT xowner('s', NULL);
SELECT xowner('s', '-');
SELECT xgrant_default('NONE', 'p_all');
SELECT xgrant_default('ALL', NULL);
BEGIN READ ONLY;
SELECT xgrant('s', 'ALL', 'p_all');
ROLLBACK;
\set VERBOSITY default

-- A transaction sees its own changes at once, and savepoints take them back.
BEGIN;
SELECT attempt('p_stranger', $$SELECT xlen('s')$$);
SELECT xgrant('s', 'SELECT', 'p_stranger');
SELECT attempt('p_stranger', $$SELECT xlen('s')$$);
SAVEPOINT a;
SELECT xrevoke('s', 'SELECT', 'p_stranger'), xgrant('s', 'INSERT', 'p_stranger');
SELECT attempt('p_stranger', $$SELECT xlen('s')$$), attempt('p_stranger', $$SELECT xadd('s', '{"a":1}')$$);
ROLLBACK TO a;
SELECT attempt('p_stranger', $$SELECT xlen('s')$$), attempt('p_stranger', $$SELECT xadd('s', '{"a":1}')$$);
SAVEPOINT b;
SELECT xgrant('s', 'DELETE', 'p_stranger');
RELEASE b;
SELECT count(*) FROM stream.grants WHERE grantee = 'p_stranger'::regrole;	-- committed ones only
COMMIT;
SELECT * FROM stream.grants WHERE grantee = 'p_stranger'::regrole;
BEGIN;
SELECT xrevoke('s', 'ALL', 'p_stranger'), xowner('s', 'p_all');
SELECT attempt('p_stranger', $$SELECT xlen('s')$$), attempt('p_owner', $$SELECT xlen('s')$$), attempt('p_all', $$SELECT xdrop('s')$$);
ROLLBACK;
SELECT attempt('p_stranger', $$SELECT xlen('s')$$), attempt('p_owner', $$SELECT xlen('s')$$), attempt('p_all', $$SELECT xdrop('s')$$);
-- An add repeated in a transaction is not checked by what was true before.
BEGIN;
SET LOCAL ROLE p_insert;
SELECT xadd('s', '{"a":1}', '5-0'), xadd('s', '{"a":1}', '5-1');
SET LOCAL ROLE p_owner;
SELECT xrevoke('s', 'INSERT', 'p_insert');
SAVEPOINT a;
SET LOCAL ROLE p_insert;
\set VERBOSITY sqlstate
SELECT xadd('s', '{"a":1}', '5-2');
\set VERBOSITY default
ROLLBACK TO a;
SET LOCAL ROLE p_owner;
SAVEPOINT a;
SELECT xgrant('s', 'INSERT', 'p_insert');
SET LOCAL ROLE p_insert;
SELECT xadd('s', '{"a":1}', '5-2');
ROLLBACK TO a;
SET LOCAL ROLE p_insert;
\set VERBOSITY sqlstate
SELECT xadd('s', '{"a":1}', '5-3');
\set VERBOSITY default
ROLLBACK;
SELECT attempt('p_insert', $$SELECT xadd('s', '{"a":1}')$$), xlen('s');
-- Nor one that was allowed to add only by what it is for.
BEGIN;
SET LOCAL ROLE p_insert;
SELECT xadd('s', '{"a":1}', '6-0');
\set VERBOSITY sqlstate
SELECT xadd('s', '{"a":1}', '6-1', maxlen => 0);
\set VERBOSITY default
ROLLBACK;

-- Streams made, dropped, dropped and made again in the transaction that grants.
BEGIN;
SELECT xadd('made', '{"a":1}', '1-0'), xgrant('made', 'SELECT', 'p_stranger');
SELECT attempt('p_stranger', $$SELECT xlen('made')$$), attempt('p_stranger', $$SELECT xtrim('made', 0)$$);
COMMIT;
SELECT attempt('p_stranger', $$SELECT xlen('made')$$), attempt('p_stranger', $$SELECT xtrim('made', 0)$$);
BEGIN;
SELECT xgrant('made', 'ALL', 'p_insert'), xdrop('made'), xcreate('made'), xgrant('made', 'SELECT', 'p_delete');
COMMIT;
SELECT * FROM stream.grants WHERE stream = 'made';
SELECT count(*) FROM stream.privilege p WHERE NOT EXISTS (SELECT FROM stream.catalog c WHERE c.id = p.stream_id);
BEGIN;
SELECT xcreate('made too'), xowner('made too', 'p_owner'), xdrop('made');
COMMIT;
SELECT stream, owner FROM stream.streams ORDER BY 1;
SELECT count(*) FROM stream.privilege p WHERE NOT EXISTS (SELECT FROM stream.catalog c WHERE c.id = p.stream_id);
SELECT xdrop('made too');

-- Giving a stream away: to a role one can become and that may have streams.
SET ROLE p_heir;
\set VERBOSITY sqlstate
SELECT xowner('s', 'p_stranger');
SELECT xowner('s', 'p_super');
SELECT xowner('s', 'p_poor');
\set VERBOSITY default
SELECT xowner('s', 'p_heir');
SELECT owner FROM stream.streams WHERE stream = 's';
SET ROLE p_owner;
\set VERBOSITY sqlstate
SELECT xlen('s');
\set VERBOSITY default
RESET ROLE;
SELECT owner FROM stream.catalog WHERE name = 's';
SELECT xowner('s', 'p_owner');
SELECT * FROM stream.grants WHERE stream = 's';

-- Grants that streams begin with.
SET ROLE p_owner;
SELECT xgrant_default('SELECT', 'p_select'), xgrant_default('INSERT', 'p_select'), xgrant_default('SELECT, DELETE', '-');
SELECT xrevoke_default('DELETE', '-'), xgrant_default('ALL', 'p_all'), xrevoke_default('ALL', 'p_all');
SELECT xadd('default', '{"a":1}', '1-0');
BEGIN;
SELECT xadd('less', '{"a":1}', '1-0'), xrevoke('less', 'ALL', '-'), xgrant('less', 'UPDATE', 'p_select');
SELECT xgrant_default('UPDATE', 'p_update');
COMMIT;
BEGIN;
SELECT xgrant_default('ALL', 'p_stranger');
ROLLBACK;
SELECT xcreate('later');
RESET ROLE;
SELECT * FROM stream.grants WHERE stream <> 's' ORDER BY stream, grantee::text COLLATE "C";
SELECT * FROM stream.default_privilege ORDER BY grantee::text COLLATE "C";
SELECT xcreate('not theirs');
SELECT * FROM stream.grants WHERE stream = 'not theirs';
SELECT xgrant_default('SELECT', 'p_group');
SELECT owner::text = current_user AS mine, privileges FROM stream.default_privilege WHERE grantee::text = 'p_group';
SELECT xrevoke_default('SELECT', 'p_group');
SELECT count(*) FILTER (WHERE xdrop(k)) FROM unnest(array['default', 'less', 'later', 'not theirs']) k;

-- A role that is renamed keeps what it has; of one that is dropped an oid is left.
ALTER ROLE p_select RENAME TO "p Select";
SELECT * FROM stream.grants WHERE stream = 's' AND privileges = 'SELECT';
SELECT grantee FROM stream.privilege WHERE privileges = 'SELECT';
SELECT attempt('p Select', $$SELECT xlen('s')$$);
SELECT '"p Select"'::regrole::oid AS dropped \gset
-- DROP OWNED and REASSIGN OWNED do not know streams.
DROP OWNED BY "p Select";
REASSIGN OWNED BY p_owner TO p_stranger;
SELECT attempt('p Select', $$SELECT xlen('s')$$), attempt('p_owner', $$SELECT xdrop('s')$$), attempt('p_stranger', $$SELECT xdrop('s')$$);
DROP ROLE "p Select";
SELECT grantee::oid = :dropped AS dropped, grantee::text = :'dropped' AS oid FROM stream.grants WHERE stream = 's' AND privileges = 'SELECT';
SELECT grantee::text = :'dropped' AS oid FROM stream.privilege WHERE privileges = 'SELECT';
SELECT attempt('p_member', $$SELECT xlen('s')$$), xrevoke('s', 'ALL', :dropped::regrole);
SELECT count(*) FROM stream.grants WHERE stream = 's' AND privileges = 'SELECT';
REVOKE CREATE ON SCHEMA stream FROM p_owner;
DROP ROLE p_owner;
SELECT attempt('p_heir', $$SELECT xlen('s')$$), attempt('p_insert', $$SELECT xadd('s', '{"a":1}')$$), xlen('s');
SELECT xowner('s', 'p_heir');
SELECT attempt('p_heir', $$SELECT xdrop('s')$$);
SELECT count(xrevoke_default('ALL', CASE grantee::text WHEN 'public' THEN '-' ELSE grantee::text END::regrole, owner::text::regrole)) FROM stream.default_privilege;
SELECT count(*) FROM stream.default_privilege;

SELECT xdrop('s');
DROP FUNCTION matrix, attempt;
DROP ROLE p_poor, p_heir, p_insert, p_update, p_delete, p_all, p_group, p_member, p_noinherit, p_reader, p_writer, p_monitor, p_stranger, p_super;
SELECT count(*) FROM stream.privilege;
