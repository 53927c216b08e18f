-- The shape of the catalogue: what is there, what it returns, how it is marked.
BEGIN;
SELECT no_plan();
SET search_path = public, stream, pg_catalog;

SELECT has_schema('stream');
SELECT has_type('stream', t, format('type %s', t)) FROM unnest(array['streamid', 'streampos', 'streamids', 'streamfields', 'stream']::name[]) t;

-- Functions by name, with the type they return.
SELECT has_function('stream', f::name, format('function %s', f))
FROM unnest(array['xadd', 'xadd_many', 'xlen', 'xexists', 'xtail', 'xcount', 'xrange', 'xrevrange', 'xread', 'xread_many',
	'xdel', 'xtrim', 'xcreate', 'xdrop', 'xrename', 'xsetid', 'xcfgset', 'xinfo_stream', 'xinfo_stream_full', 'xwait', 'xgrant', 'xrevoke', 'xowner', 'xgrant_default', 'xrevoke_default',
	'xgroup_create', 'xgroup_set', 'xgroup_setid', 'xgroup_destroy', 'xgroup_createconsumer', 'xgroup_delconsumer', 'xreadgroup', 'xreadgroup_many', 'xwaitgroup', 'xack',
	'xackdel', 'xnack', 'xdelex', 'xclaim', 'xautoclaim', 'xreclaim', 'xreclaim_all', 'xpending', 'xpending_summary', 'xinfo_groups', 'xinfo_consumers',
	'xlisten', 'xunlisten', 'channel', 'fields', 'fields_from', 'field_bytes']) f;
SELECT is(pg_get_function_result(p.oid), r.result, format('%s returns %s', r.name, r.result))
FROM (VALUES ('xadd', 'stream.streamid'), ('xlen', 'bigint'), ('xexists', 'boolean'), ('xtail', 'stream.streamid'),
	('xcount', 'bigint'), ('xdel', 'bigint'), ('xtrim', 'bigint'), ('xcreate', 'boolean'), ('xdrop', 'boolean'),
	('xadd_many', 'SETOF stream.streamid'), ('xrename', 'void'), ('xsetid', 'void'), ('xcfgset', 'void'),
	('xinfo_stream', 'jsonb'), ('xinfo_stream_full', 'jsonb'),
	('xgroup_create', 'boolean'), ('xgroup_set', 'void'), ('xgroup_setid', 'void'), ('xgroup_destroy', 'boolean'), ('xgroup_createconsumer', 'boolean'),
	('xgroup_delconsumer', 'bigint'), ('xack', 'bigint'), ('xnack', 'bigint'), ('xackdel', 'TABLE(id stream.streamid, result integer)'),
	('xdelex', 'TABLE(id stream.streamid, result integer)'), ('xreclaim', 'TABLE(released bigint, dead bigint)'),
	('xreadgroup', 'TABLE(key stream.stream, id stream.streamid, fields stream.streamfields, idle interval, deliveries bigint)'),
	('xreadgroup_many', 'TABLE(key stream.stream, id stream.streamid, fields stream.streamfields, idle interval, deliveries bigint)'),
	('xclaim', 'TABLE(id stream.streamid, fields stream.streamfields)'),
	('xautoclaim', 'TABLE(id stream.streamid, fields stream.streamfields, deliveries bigint)'),
	('xreclaim_all', 'TABLE(key stream.stream, grp text, released bigint, dead bigint)'),
	('xpending', 'TABLE(id stream.streamid, consumer text, idle interval, deliveries bigint)'),
	('xpending_summary', 'TABLE(pending bigint, min_id stream.streamid, max_id stream.streamid, consumers jsonb)'),
	('xlisten', 'void'), ('xunlisten', 'void'), ('channel', 'text')) r(name, result)
JOIN pg_proc p ON p.proname = r.name AND p.pronamespace = 'stream'::regnamespace
WHERE set_config('search_path', 'public, pg_catalog', true) IS NOT NULL ORDER BY p.oid;
SET search_path = public, stream, pg_catalog;

-- Writes, and reads that may wait, forbid a parallel plan, other reads stay in its leader; nothing is stable or immutable that looks at a stream.
SELECT is(p.proparallel::text || p.provolatile::text, CASE WHEN p.proname ~ '^(xadd|xadd_many|xdel|xtrim|xcreate|xdrop|xrename|xsetid|xcfgset|xwait|xwaitgroup|xread|xread_many|xgrant|xrevoke|xowner|xgrant_default|xrevoke_default|xlisten|xunlisten|xgroup_\w+|xreadgroup|xreadgroup_many|xack|xackdel|xnack|xdelex|xclaim|xautoclaim|xreclaim|xreclaim_all)$' THEN 'uv' ELSE 'rv' END,
	format('%s is marked right', p.proname))
FROM pg_proc p WHERE p.pronamespace = 'stream'::regnamespace AND p.proname ~ '^x' AND p.proname !~ '_support$' ORDER BY p.oid;

-- A channel depends on the name alone.
SELECT is(proparallel::text || provolatile::text, 'si', 'channel is marked right') FROM pg_proc WHERE pronamespace = 'stream'::regnamespace AND proname = 'channel';

-- The key comes first everywhere, and is of type stream; defaults are of no stream.
SELECT is(p.proargtypes[0], 'stream.stream'::regtype::oid, format('first argument of %s', p.proname))
FROM pg_proc p WHERE p.pronamespace = 'stream'::regnamespace AND p.proname ~ '^x' AND p.proname !~ '_(support|many|default|all)$' ORDER BY p.oid;
SELECT is(p.proargnames[1], 'key', format('its name in %s', p.proname))
FROM pg_proc p WHERE p.pronamespace = 'stream'::regnamespace AND p.proname ~ '^x' AND p.proname !~ '_(support|default|all)$' AND p.proname !~ '^xread(group)?_many$' ORDER BY p.oid;

-- No function may be called by a user with an argument of type internal or cstring that does not have to be.
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'stream'::regnamespace AND p.prosecdef
		AND NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%') $$,
	'a function with its definer''s rights has a search path of its own');

-- Operator classes.
SELECT is_empty($$
	SELECT t, m FROM (VALUES ('streamid', 'btree'), ('streamid', 'hash'), ('streamid', 'brin'), ('streamfields', 'btree'), ('streamfields', 'hash')) w(t, m)
	WHERE NOT EXISTS (SELECT FROM pg_opclass o JOIN pg_am a ON a.oid = o.opcmethod
		WHERE o.opcintype = ('stream.' || t)::regtype AND a.amname = m AND o.opcdefault) $$, 'default operator classes');

-- Casts: i implicit, a assignment, e explicit.
SELECT is(c.castcontext::text, w.context, format('cast %s to %s', w.f, w.t))
FROM (VALUES ('text', 'streamid', 'i'), ('varchar', 'streamid', 'i'), ('streamid', 'timestamptz', 'a'), ('timestamptz', 'streamid', 'a'),
	('streamid', 'text', 'e'), ('text', 'streampos', 'i'), ('varchar', 'streampos', 'i'), ('streamid', 'streampos', 'i'),
	('timestamptz', 'streampos', 'i'), ('timestamp', 'streampos', 'i'), ('date', 'streampos', 'i'),
	('text', 'streamids', 'i'), ('varchar', 'streamids', 'i'), ('streamid', 'streamids', 'i'), ('text[]', 'streamids', 'i'),
	('varchar[]', 'streamids', 'i'), ('streamid[]', 'streamids', 'i'),
	('text', 'streamfields', 'i'), ('varchar', 'streamfields', 'i'), ('json', 'streamfields', 'i'), ('jsonb', 'streamfields', 'i'),
	('text[]', 'streamfields', 'i'), ('streamfields', 'json', 'i'), ('streamfields', 'jsonb', 'e'), ('streamfields', 'text[]', 'e'),
	('stream', 'text', 'i'), ('text', 'stream', 'i'), ('varchar', 'stream', 'i')) w(f, t, context)
LEFT JOIN pg_cast c ON c.castsource = w.f::regtype AND c.casttarget = w.t::regtype;

-- Views, and tables nobody but the engine writes.
SELECT has_view('stream', v, format('view %s', v)) FROM unnest(array['streams', 'grants', 'activity', 'groups', 'consumers', 'pending']::name[]) v;
SELECT has_table('stream', t, format('table %s', t)) FROM unnest(array['catalog', 'privilege', 'default_privilege', 'journal_0', 'in_use']::name[]) t;
SELECT ok(NOT has_table_privilege('public', c.oid, p), format('%s on %s is not for all', p, c.relname))
FROM pg_class c, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) p
WHERE c.relnamespace = 'stream'::regnamespace AND c.relkind = 'r' ORDER BY c.relname, p;
-- A dump takes all of it along, but for what is about this database.
SELECT is_empty($$
	SELECT c.relname FROM pg_class c, pg_extension e WHERE c.relnamespace = 'stream'::regnamespace AND c.relkind IN ('r', 'S')
		AND e.extname = 'stream' AND c.relname <> 'in_use' AND NOT c.oid = ANY (coalesce(e.extconfig, '{}')) $$, 'every table is configuration for pg_dump');

-- Every object belongs to the extension and to its schema.
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'stream'::regnamespace
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') $$,
	'every function is the extension''s');

-- Settings.
SELECT is(count(*)::int, 0, 'no setting outside the prefix') FROM pg_settings WHERE name LIKE 'strm%';
SELECT ok(EXISTS (SELECT FROM pg_settings WHERE name = s), format('setting %s', s))
FROM unnest(array['stream.memory', 'stream.node_max_bytes', 'stream.node_max_entries']) s;

SELECT finish();
ROLLBACK;
