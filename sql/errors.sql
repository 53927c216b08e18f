-- Each SQLSTATE that this library raises, provoked once; none is ever XX000.
-- 55000 without preloading, 57P03, 0A000 on a standby and XX001 need servers of
-- their own: test/t.  53200 is in sql/full.sql, 42501 in sql/streams.sql.
SET search_path = public, stream;
SELECT xadd('e', '{"a":1}', '5-0');
\set VERBOSITY sqlstate

-- 22P02: malformed ids, positions, fields.
SELECT 'x'::streamid;
SELECT '1-'::streamid;
SELECT '-1'::streamid;
SELECT '1-2-3'::streamid;
SELECT '99999999999999999999'::streamid;
SELECT ''::streamid;
SELECT xadd('e', '{"a":1}', 'x');
SELECT xadd('e', 'no json');
SELECT xadd('e', '[1,2]');
SELECT xadd('e', '"text"');
SELECT xadd('e', '{"a":');
SELECT xdel('e', '{1-0,x}');

-- 22023: an option out of its range, or a form without meaning here.
SELECT xadd('e', '{"a":1}', maxlen => -1);
SELECT xadd('e', '{"a":1}', maxlen => 1, minid => '1-0');
SELECT xadd('e', '{"a":1}', trim_limit => 1);
SELECT xadd('e', '{"a":1}', maxlen => 1, trim_limit => 1);
SELECT xadd('e', '{"a":1}', maxlen => 1, approx => true, trim_limit => -1);
SELECT xadd('e', '{"a":1}', maxlen => 1, refs => 'NONSENSE');
SELECT xadd('e', '{"a":1}', '-');
SELECT xadd('e', '{"a":1}', '+');
SELECT xadd('e', '{"a":1}', '$');
SELECT xadd('e', '{"a":1}', '>');
SELECT xadd('e', '{"a":1}', '(6-0');
SELECT xadd('e', '{"a":1}', minid => '+');
SELECT xadd('e', '*', 'a', '1', 'b');
SELECT xrange('e', '$');
SELECT xread('e', '>');
SELECT xread('e', '0', block => '-1 ms');
SELECT xtrim('e');
SELECT xadd('e', '{"a":1}', producer => 'p');
SELECT xadd('e', '{"a":1}', iid => 'i');
SELECT xadd('e', '{"a":1}', producer => '', iid => 'i');
SELECT xadd('e', '{"a":1}', producer => 'p', iid => '');
SELECT xadd('e', '{"a":1}', '6-0', producer => 'p', iid => 'i');
SELECT xadd_many('e', array['{"a":1}']::streamfields[], producer => 'p', iids => '{a,b}');
SELECT xadd_many('e', array['{"a":1}']::streamfields[], ids => '{6-0}', producer => 'p', iids => '{a}');
SELECT xcfgset('e');
SELECT xcfgset('e', '0 s');
SELECT xcfgset('e', '2 days');
SELECT xcfgset('e', idmp_maxsize => 0);
SELECT xcfgset('e', node_max_bytes => 1);
SELECT xcfgset('e', node_max_entries => 0);
SELECT xsetid('e', '4-0');
SELECT xsetid('e', '6-0', -1);
SELECT xsetid('e', '6-0', 0);
SELECT xsetid('e', '6-0', 1, '7-0');

-- 22004: NULL where none may be.
SELECT xadd(NULL, '{"a":1}');
SELECT xadd('e', NULL::streamfields);
SELECT xadd('e', '*', NULL, '1');
SELECT fields(NULL, 1);
SELECT xlen(NULL);
SELECT xexists(NULL);
SELECT xdrop(NULL);
SELECT xsetid('e', NULL);
SELECT xcfgset(NULL, '1 s');
SELECT xadd_many('e', array['{"a":1}']::streamfields[], producer => 'p', iids => array[NULL]::text[]);

-- 42704 and 42710: no such stream, stream exists.
SELECT xinfo_stream('missing');
SELECT xsetid('missing', '1-0');
SELECT xcfgset('missing', '1 s');
SELECT xcreate('e');

-- ST001: not above the newest id.  54000: no id left, or too large.
SELECT xadd('e', '{"a":1}', '5-0');
SELECT xadd('e', '{"a":1}', '0-0');
SELECT xadd('x', '{"a":1}', '18446744073709551615-18446744073709551615');
SELECT xadd('x', '{"a":1}');

-- 25001: a wait inside a transaction block.  25006: a write in a read-only one.
BEGIN;
CALL xwait('e', '$', '10 ms');
ROLLBACK;
BEGIN READ ONLY;
SELECT xadd('e', '{"a":1}');
ROLLBACK;

-- 0A000: a prepared transaction.
BEGIN;
SELECT xadd('e', '{"a":1}', '6-0');
PREPARE TRANSACTION 'stream';
-- and an id that is lowered after a trim.
BEGIN;
SELECT xtrim('e', 0);
SELECT xsetid('e', '1-0');
ROLLBACK;

-- Nothing of it left a trace.
\set VERBOSITY default
SELECT id FROM xrange('e');

-- The messages follow the server's style: what, detail, hint.
SELECT xadd('e', '{"a":1}', '5-0');
SELECT xcreate('e');
SELECT xinfo_stream('missing');
SELECT 'x'::streamid;
SELECT xread('e', '>');
BEGIN;
CALL xwait('e', '$', '10 ms');
ROLLBACK;
SELECT xdrop('e'), xdrop('x');
