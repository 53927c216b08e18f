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
