# Grants are durable: they are the same after every way a server can stop and in a
# restored dump, and damaged rows are reported.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('privileges', fsync => 1);

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
