# The extension's tables are the library's: other writes are refused once the
# streams are in use, restoring works before, and what arrives by logical
# replication is passed over.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', streaming => 1, conf => "wal_level = logical\n");
$node->safe_psql('postgres', q{SELECT stream.xadd('s', stream.fields('n', n), n || '-0') FROM generate_series(1, 1000) n});
my $state = logical_state($node);

for my $sql (
	q{INSERT INTO stream.catalog SELECT 99, 'x', owner, 1, 1 FROM stream.catalog LIMIT 1},
	q{UPDATE stream.catalog SET name = 'y'},
	q{DELETE FROM stream.catalog},
	q{TRUNCATE stream.catalog},
	q{DELETE FROM stream.journal_0},
	q{INSERT INTO stream.journal_0 VALUES (1000, 0, 0, 0, '')},
	q{TRUNCATE stream.journal_0},
	q{SET session_replication_role = replica; TRUNCATE stream.journal_0})
{
	is(sqlstate($node, $sql), '55000', $sql);
}
is(logical_state($node), $state, 'nothing happened to the streams');

# A dashboard has looked at the empty views before the restore.
$node->command_ok([ 'pg_dump', '-f', $node->basedir . '/dump.sql', '-d', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION stream; SELECT * FROM stream.streams');
$node->command_ok([ 'psql', '-qX', '-f', $node->basedir . '/dump.sql', '-d', $node->connstr('other') ], 'restore');
is(logical_state($node, 'other'), $state, 'restored after a look at the views');
$node->safe_psql('other', q{SELECT stream.xadd('s', '{"n":1001}', '1001-0')});
$node->restart;
is($node->safe_psql('other', q{SELECT stream.xlen('s')}), 1001, 'and it goes on from there');

# After a restart, before anybody has used them, they are the same streams.
$node->restart;
is(sqlstate($node, 'INSERT INTO stream.journal_0 SELECT * FROM stream.journal_0 LIMIT 1'), '55000', 'refused before the first use after a restart');
is(sqlstate($node, $_), '55000', $_) for 'DELETE FROM stream.in_use', 'TRUNCATE stream.in_use';
is(logical_state($node), $state, 'nothing happened to the streams');

# Another session looks while the restore is not through: it waits, and sees all of it or nothing.
(my $data = slurp_file($node->basedir . '/dump.sql')) =~ s/^(?:CREATE (?:SCHEMA|EXTENSION)[^;]*;|\\(?:un)?restrict .*)$//mg;
$node->safe_psql('postgres', 'CREATE DATABASE slow');
$node->safe_psql('slow', 'CREATE EXTENSION stream; SELECT * FROM stream.streams');
my $waiting = sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = '$_[0]'") };
for my $end ('ROLLBACK', 'COMMIT')
{
	my $gate = $node->background_psql('slow');

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	my $restore = background($node, "BEGIN;\n$data\nSELECT pg_advisory_xact_lock(1);\n$end;", dbname => 'slow');
	wait_for { $waiting->('advisory') eq '1' } 'the restore';
	my $look = background($node, q{SELECT stream.xlen('s')}, dbname => 'slow');
	wait_for { $waiting->('object') eq '1' } 'the look that waits';
	$gate->quit;
	$restore->();
	is(($look->())[0], $end eq 'COMMIT' ? 1000 : 0, "a look during a restore, then $end");
}
is(logical_state($node, 'slow'), $state, 'restored in one transaction');
$node->safe_psql('postgres', 'CREATE DATABASE slow2');
$node->safe_psql('slow2', 'CREATE EXTENSION stream');
is(sqlstate($node, "BEGIN;\n$data\nSELECT stream.xlen('s')", dbname => 'slow2'), '55000', 'no use in the transaction that restores');
$node->safe_psql('slow2', "DROP EXTENSION stream; BEGIN; CREATE EXTENSION stream;\n$data\nSELECT stream.xlen('s'); COMMIT");
is(logical_state($node, 'slow2'), $state, 'but in the one that makes the extension, too');

# Triggers were off, after somebody had found the tables empty.
$node->safe_psql('postgres', 'CREATE DATABASE past');
$node->safe_psql('past', 'CREATE EXTENSION stream; SELECT * FROM stream.streams');
$node->command_ok([ 'pg_dump', '--data-only', '--disable-triggers', '-f', $node->basedir . '/data.sql', '-d', $node->connstr('postgres') ], 'dump of the data');
$node->command_ok([ 'psql', '-qX', '-f', $node->basedir . '/data.sql', '-d', $node->connstr('past') ], 'restore past the guard');
is(sqlstate($node, q{SELECT stream.xadd('new', '{"a":1}')}, dbname => 'past'), '55000', 'the first to write finds the rows');
is(logical_state($node, 'past'), $state, 'and they are read');
$node->safe_psql('past', q{SELECT stream.xadd('s', '{"n":1001}', '1001-0')});
$node->restart;
is($node->safe_psql('past', q{SELECT stream.xlen('s')}), 1001, 'after a restart too');

# What a crash would empty is not written to.
$node->safe_psql('past', 'ALTER TABLE stream.journal_0 SET UNLOGGED');
is(sqlstate($node, q{SELECT stream.xadd('s', '{"a":1}')}, dbname => 'past'), '55000', 'not into an unlogged table');
$node->safe_psql('past', 'ALTER TABLE stream.journal_0 SET LOGGED');
is(sqlstate($node, q{SELECT stream.xadd('s', '{"a":1}')}, dbname => 'past'), '', 'when it is logged again');

# A subscriber with streams of its own.
my $subscriber = stream_node('subscriber');
$subscriber->safe_psql('postgres', q{SELECT stream.xadd('own', '{"n":1}', '1-0')});
my $own = logical_state($subscriber);
$node->safe_psql('postgres', 'CREATE TABLE t(n int); CREATE PUBLICATION everything FOR ALL TABLES');
$subscriber->safe_psql('postgres', 'CREATE TABLE t(n int)');
my $connstr = $node->connstr('postgres');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION \$\$$connstr\$\$ PUBLICATION everything WITH (copy_data = false)");
$node->safe_psql('postgres', q{BEGIN; INSERT INTO t VALUES (1); SELECT stream.xadd('s', '{"n":1002}', '1002-0'); COMMIT});
$node->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', 'SELECT n FROM t'), 1, 'the table is replicated');
is(logical_state($subscriber), $own, 'the subscriber has its own streams');
$subscriber->restart;
is(logical_state($subscriber), $own, 'after a restart too');

done_testing();
