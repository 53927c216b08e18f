# Streams belong to a database, and to the extension in it.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('databases');
my $add = q{SELECT stream.xadd('s', '{"a":1}', '1-0')};

# One name in two databases is two streams.
$node->safe_psql('postgres', 'CREATE DATABASE two');
$node->safe_psql('two', "CREATE EXTENSION stream; $add; $add" =~ s/'1-0'\)$/'2-0')/r);
$node->safe_psql('postgres', $add);
is($node->safe_psql('postgres', q{SELECT stream.xlen('s')}), 1, 'one entry here');
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 2, 'two there');

# A copy of a database has its streams, and goes its own way.
wait_for { ($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE two'))[0] == 0 } 'a copy';
is(logical_state($node, 'copy'), logical_state($node, 'two'), 'a copy of a database has its streams');
$node->safe_psql('copy', q{SELECT stream.xadd('s', '{"a":1}', '9-0')});
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 2, 'and changes the other no more');

# Dropping the extension drops the streams, but only when it commits.
$node->safe_psql('two', 'BEGIN; DROP EXTENSION stream; ROLLBACK');
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 2, 'a drop that is rolled back drops nothing');
$node->safe_psql('two', $_) for (
	'BEGIN; SAVEPOINT a; DROP EXTENSION stream; ROLLBACK TO a; COMMIT',
	q{DO $$ BEGIN DROP EXTENSION stream; RAISE 'no'; EXCEPTION WHEN OTHERS THEN NULL; END $$},
	'BEGIN; SAVEPOINT a; SAVEPOINT b; DROP EXTENSION stream; RELEASE b; ROLLBACK TO a; SELECT 1; COMMIT');
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 2, 'and so does one that is rolled back to a savepoint');
is(sqlstate($node, q{BEGIN; DROP EXTENSION stream; PREPARE TRANSACTION 'p'}, dbname => 'two'), '0A000', 'a drop cannot be prepared');
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 2, 'and drops nothing');
$node->safe_psql('two', 'BEGIN; SAVEPOINT a; DROP EXTENSION stream; RELEASE a; COMMIT');
$node->safe_psql('two', 'CREATE EXTENSION stream');
is($node->safe_psql('two', q{SELECT stream.xexists('s'), stream.xlen('s')}), 'f|0', 'a new extension begins empty');
$node->safe_psql('two', $add);
$node->restart;
is($node->safe_psql('two', q{SELECT stream.xlen('s')}), 1, 'and stays what it is after a restart');

# Creating it within a transaction, with use, and rolled back.
$node->safe_psql('postgres', 'CREATE DATABASE three');
$node->psql('three', "BEGIN; CREATE EXTENSION stream; $add; ROLLBACK");
is($node->safe_psql('three', q{SELECT count(*) FROM pg_extension WHERE extname = 'stream'}), 0, 'nothing is left of it');
$node->safe_psql('three', 'CREATE EXTENSION stream');
is($node->safe_psql('three', q{SELECT stream.xlen('s')}), 0, 'and a later one begins empty');
is($node->safe_psql('three', "BEGIN; DROP EXTENSION stream; CREATE EXTENSION stream; $add; COMMIT") =~ /1-0/ ? 1 : 0, 1, 'created and used in one transaction');
is($node->safe_psql('three', q{SELECT stream.xlen('s')}), 1, 'it keeps what was added');

# A session that knew the old streams finds the new ones.
my $session = $node->background_psql('three');
$session->query_safe(q{SELECT stream.xlen('s')});
$node->safe_psql('three', 'DROP EXTENSION stream; CREATE EXTENSION stream');
is($session->query_safe(q{SELECT stream.xlen('s')}), 0, 'a session that was there before sees the new one');
$session->quit;

# A place in memory goes to another database while a transaction remembers the
# stream that was there, having found nothing to do in it.
$node->safe_psql('postgres', q{SELECT stream.xadd('placed', '{"a":1}')});
$session = $node->background_psql('postgres');
$session->query_safe(q{BEGIN; SELECT stream.xack('placed', 'none', '1-0')});
$node->safe_psql('postgres', q{SELECT stream.xdrop('placed')});
$node->safe_psql('two', q{SELECT stream.xadd('placed', '{"a":1}')});
is($session->query_safe(q{SELECT stream.xexists('placed')}), 'f', 'the transaction goes on');
$session->query_safe(q{SELECT stream.xadd('placed', '{"a":1}'); COMMIT});
$session->quit;
is($node->safe_psql('postgres', q{SELECT stream.xlen('placed')}), 1, 'and commits');

# DROP DATABASE, and another of the same name.
for my $n (1, 2)
{
	wait_for { ($node->psql('postgres', 'DROP DATABASE three'))[0] == 0 } 'the drop';
	$node->safe_psql('postgres', 'CREATE DATABASE three');
	$node->safe_psql('three', 'CREATE EXTENSION stream');
	is($node->safe_psql('three', q{SELECT stream.xlen('s')}), 0, 'a new database begins empty');
	$node->safe_psql('three', $add);
}
is($node->safe_psql('postgres', q{SELECT stream.xlen('s')}), 1, 'the first database is what it was');

# What is dropped leaves shared memory at once.
my $used = sub { $node->safe_psql('postgres', 'SELECT used FROM stream.memory') };
my $fill = q{CREATE EXTENSION stream; SELECT count(stream.xadd('fill', stream.fields('v', repeat('v', 1000)))) FROM generate_series(1, 5000)};
$node->safe_psql('postgres', 'CREATE DATABASE filled');
my $before = $used->();
$node->safe_psql('filled', $fill);
cmp_ok($used->(), '>', $before + 5_000_000, 'streams take memory');
$node->safe_psql('filled', 'BEGIN; DROP EXTENSION stream; ROLLBACK');
cmp_ok($used->(), '>', $before + 5_000_000, 'a drop that is rolled back leaves them');
my $waiter = background($node, q{SELECT * FROM stream.xread('fill', '$', block => '1 hour')}, dbname => 'filled', go_on => 1);
my $hopeful = background($node, q{SELECT * FROM stream.xread('missing', '$', block => '1 hour')}, dbname => 'filled', go_on => 1);
wait_for { $node->safe_psql('filled', q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'filled' AND state = 'active' AND wait_event_type = 'Extension'}) eq '2' } 'the waiters';
$node->safe_psql('filled', 'DROP EXTENSION stream');
cmp_ok($used->(), '<', $before + 100_000, 'DROP EXTENSION gives it back');
like(($waiter->())[1], qr/55000/, 'who waited there is told');
like(($hopeful->())[1], qr/55000/, 'and who waited for a stream to be made');
$node->safe_psql('filled', $fill);
wait_for { ($node->psql('postgres', 'DROP DATABASE filled'))[0] == 0 } 'the drop';
cmp_ok($used->(), '<', $before + 100_000, 'and so does DROP DATABASE');

done_testing();
