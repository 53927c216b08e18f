# Grants are durable: they are the same after every way a server can stop and in a
# restored dump, and damaged rows are reported.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('privileges', fsync => 1, conf => "deadlock_timeout = '10ms'\n");

$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	CREATE ROLE maker; CREATE ROLE "Heir, the"; CREATE ROLE reader; CREATE ROLE writer; CREATE ROLE "-"; CREATE ROLE gone;
	GRANT CREATE ON SCHEMA stream TO maker;
	SET ROLE maker;
	SELECT xgrant_default('SELECT', 'reader'), xgrant_default('DELETE', 'writer');
	SELECT xadd('a', '{"n":1}', '1-0'), xadd('b', '{"n":1}', '1-0'), xadd('c', '{"n":1}', '1-0');
	SELECT xgrant('a', 'INSERT', 'writer'), xgrant('a', 'ALL', '"-"'), xgrant('a', 'UPDATE', 'gone');
	SELECT xgrant('b', 'ALL', '-'), xrevoke('b', 'DELETE, UPDATE', '-'), xrevoke('b', 'ALL', 'reader');
	SELECT xgrant('c', 'ALL', 'gone');
	RESET ROLE;
	SELECT xowner('c', '"Heir, the"'), xrevoke('c', 'ALL', 'gone');
	BEGIN;
	SELECT xgrant('a', 'ALL', 'gone'), xowner('a', 'gone'), xgrant_default('ALL', 'gone');
	ROLLBACK;
	BEGIN;
	SAVEPOINT s;
	SELECT xgrant('b', 'ALL', 'gone'), xowner('b', 'gone');
	ROLLBACK TO s;
	SELECT xgrant('b', 'DELETE', 'reader');
	COMMIT});

# What is granted, by name and in no particular order.
sub rights
{
	my ($db) = @_;
	return $node->safe_psql($db, q{
		SELECT s.stream, s.owner, string_agg(g.grantee::text || '=' || g.privileges, '; ' ORDER BY g.grantee::text COLLATE "C")
		FROM stream.streams s LEFT JOIN stream.grants g ON g.stream OPERATOR(pg_catalog.=) s.stream GROUP BY 1, 2 ORDER BY 1;
		SELECT * FROM stream.default_privilege ORDER BY owner::text COLLATE "C", grantee::text COLLATE "C"});
}

my $rights = rights('postgres');
is($rights, q{a|maker|"-"=SELECT, INSERT, UPDATE, DELETE; gone=UPDATE; reader=SELECT; writer=INSERT, DELETE
b|maker|-=SELECT, INSERT; reader=DELETE; writer=DELETE
c|"Heir, the"|reader=SELECT; writer=DELETE
maker|reader|SELECT
maker|writer|DELETE}, 'as granted');

for my $how (qw(fast immediate kill))
{
	my $open = background($node, q{
		BEGIN;
		SELECT stream.xgrant('a', 'ALL', 'gone'), stream.xowner('b', 'gone'), stream.xgrant_default('ALL', 'gone');
		\echo ready
		SELECT 1 FROM stream.xread('none', '$', block => '1 hour')});
	wait_for { $open->('peek') =~ /ready/ } 'an open grant';
	if ($how eq 'kill')
	{
		$node->kill9;
		start_again($node);
	}
	else
	{
		$node->stop($how);
		$node->start;
	}
	$open->();
	is(rights('postgres'), $rights, "the same after a $how stop");
}
is(sqlstate($node, q{SET ROLE reader; SELECT stream.xlen('a')}), '', 'a grant read from its row works');
is(sqlstate($node, q{SET ROLE reader; SELECT stream.xadd('a', '{"n":2}')}), '42501', 'and what is not granted does not');
is(sqlstate($node, q{SET ROLE "Heir, the"; SELECT stream.xlen('c')}), '', 'nor is the owner forgotten');

# A default that came with the start applies, and the grants change on.
$node->safe_psql('postgres', q{SET ROLE maker; SELECT stream.xcreate('d'), stream.xrevoke('a', 'ALL', 'gone')});
$rights = rights('postgres');
like($rights, qr/^d\|maker\|reader=SELECT; writer=DELETE$/m, 'defaults apply after a restart');
unlike($rights, qr/^a.*gone/m, 'and grants can be taken back');
$node->restart;
is(rights('postgres'), $rights, 'the same again');

# A dump and its restore; everybody and the role named like the sign for it are two.
for my $format ('plain', 'custom')
{
	my $file = $node->basedir . "/$format";

	$node->safe_psql('postgres', "CREATE DATABASE $format");
	$node->command_ok([ 'pg_dump', '-F', $format, '-f', $file, '-d', $node->connstr('postgres') ], "pg_dump, $format");
	$node->command_ok($format eq 'plain'
		? [ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($format) ]
		: [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($format), $file ], "restore, $format");
	is(rights($format), $rights, "$format: the rights are the same");
	is(sqlstate($node, q{SET ROLE gone; SELECT stream.xadd('b', '{"n":2}')}, dbname => $format), '', "$format: everybody is everybody");
	is(sqlstate($node, q{SET ROLE gone; SELECT stream.xadd('a', '{"n":2}')}, dbname => $format), '42501', "$format: and a role is a role");
}

# Many change, use, drop and make the same streams: what is in memory, in the rows
# and there after a start is one.  (Who adds and then drops
# may meet another who does; the server ends one of them.)
$node->safe_psql('postgres', q{
	CREATE FUNCTION change(key text, n int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		CASE n
			WHEN 0, 1, 2, 3 THEN PERFORM stream.xgrant(key, (array['SELECT', 'INSERT', 'UPDATE', 'DELETE'])[n + 1], 'writer');
			WHEN 4 THEN PERFORM stream.xrevoke(key, 'ALL', 'writer');
			WHEN 5 THEN PERFORM stream.xgrant(key, 'ALL', '-'), stream.xrevoke(key, 'INSERT, SELECT', 'writer');
			WHEN 6 THEN PERFORM stream.xowner(key, 'maker'), stream.xrevoke(key, 'ALL', '-');
			WHEN 7 THEN PERFORM stream.xowner(key, '"Heir, the"'), stream.xadd(key, '{"a":1}');
			WHEN 8 THEN PERFORM stream.xdrop(key);
			WHEN 9 THEN PERFORM stream.xdrop(key), stream.xadd(key, '{"a":1}'), stream.xgrant(key, 'SELECT', 'gone');
			WHEN 10 THEN PERFORM stream.xgrant_default('SELECT', 'gone'), stream.xrevoke_default('SELECT', 'gone');
			ELSE PERFORM stream.xadd(key, '{"a":1}');
		END CASE;
	EXCEPTION WHEN undefined_object THEN NULL;
	END $$;
	SELECT stream.xgrant_default('DELETE', 'reader')});
append_to_file($node->basedir . '/change.sql', q{
\set a random(1, 3)
\set n random(0, 14)
\set m random(0, 14)
BEGIN;
SELECT change('many' || :a, :n);
SAVEPOINT s;
SELECT change('many' || :a, :m);
ROLLBACK TO s;
SELECT change('many' || :a, 14 - :m);
COMMIT;
});
$node->command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 100, '-f', $node->basedir . '/change.sql', '-d', $node->connstr('postgres') ],
	'rights change under load');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (SELECT stream::text, grantee::oid::text, privileges FROM stream.grants) g
	FULL JOIN (SELECT c.name, CASE p.grantee::text WHEN 'public' THEN '0' ELSE (SELECT oid::text FROM pg_roles r WHERE r.rolname = p.grantee::text) END, p.privileges
		FROM stream.privilege p LEFT JOIN stream.catalog c ON c.id = p.stream_id) r(stream, grantee, privileges) USING (stream, grantee, privileges)
	WHERE g IS NULL OR r IS NULL}), 0, 'what is in memory is in the rows');
is($node->safe_psql('postgres', q{SELECT count(*) FROM stream.activity}), 0, 'nothing is left behind');
$rights = rights('postgres');
like($rights, qr/^many/m, 'something is');
$node->stop('immediate');
$node->start;
is(rights('postgres'), $rights, 'and is there after a start');

# By hand nothing is written there, and a row that makes no sense is reported.
for my $sql (
	q{INSERT INTO stream.privilege VALUES (1, 'gone', 'ALL')},
	q{UPDATE stream.privilege SET privileges = 'ALL'},
	q{DELETE FROM stream.privilege},
	q{TRUNCATE stream.privilege},
	q{INSERT INTO stream.default_privilege VALUES ('maker', 'gone', 'ALL')},
	q{DELETE FROM stream.default_privilege},
	q{TRUNCATE stream.default_privilege})
{
	is(sqlstate($node, $sql), '55000', $sql);
}
is(rights('postgres'), $rights, 'nothing happened to the rights');
$node->safe_psql('postgres', q{ALTER TABLE stream.privilege DISABLE TRIGGER ALL; INSERT INTO stream.privilege VALUES (1, 'gone', 'EVERYTHING')});
$node->restart;
is(sqlstate($node, q{SELECT stream.xlen('a')}), 'XX001', 'a damaged row is reported');
$node->safe_psql('postgres', q{DELETE FROM stream.privilege WHERE privileges = 'EVERYTHING'});
is(rights('postgres'), $rights, 'and without it all is well');

done_testing();
