# Statements end at any moment - by statement_timeout, cancel, termination - while
# others work on the same streams.  Nothing of them stays behind: no reservation
# that holds up readers, no entry, no lock; and stream and table agree.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 8;
my $node = stream_node('cancel');
my $dir = PostgreSQL::Test::Utils::tempdir();

my $seed = random_seed();
$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET search_path = public, stream;
	CREATE TABLE load(tx bigint, k int);
	CREATE SEQUENCE tx});

# Every statement may fail, psql goes on: but where it is BEGIN, what follows would
# be transactions of one statement.  A terminated session is followed by the next.
my $script = join '', map {
	my $ms = 1 + int(rand(8));
	my $count = 1 + int(rand(30));
	qq{
SELECT nextval('tx') AS tx \\gset
SET statement_timeout = @{[ rand() < 0.5 ? 0 : $ms ]};
BEGIN;
\\if :ERROR
\\else
INSERT INTO load SELECT :tx, k FROM generate_series(1, $count) k;
SELECT count(xadd('load', fields('tx', :tx, 'k', k))) FROM generate_series(1, $count) k;
@{[ rand() < 0.3 ? "SAVEPOINT a; SELECT xadd('load', fields('tx', -1)), xadd('side', '{\"a\":1}'); ROLLBACK TO a;" : '' ]}
@{[ rand() < 0.3 ? "SELECT xadd('made:' || :tx, fields('tx', :tx));" : '' ]}
@{[ rand() < 0.3 ? "SELECT count(*) FROM xread('load', '\$', block => '2 ms');" : '' ]}
COMMIT;
\\endif
}
} 1 .. 200;
append_to_file("$dir/script.sql", "SELECT 1;\n$script");

my $stop = 0;
my @workers;
my $spawn = sub {
	return IPC::Run::start([ 'psql', '-XAtq', '-f', "$dir/script.sql", '-d', $node->connstr('postgres') ],
		'>', '/dev/null', '2>', '/dev/null');	# an input of ours would count as running for ever
};
@workers = map { $spawn->() } 1 .. 6;

my $deadline = time + $seconds;
my $rounds = 0;
while (time < $deadline)
{
	my $what = rand() < 0.7 ? 'cancel' : 'terminate';
	# One of the sessions at work, whichever.
	$node->safe_psql('postgres', qq{
		SELECT pg_${what}_backend(pid) FROM pg_stat_activity
		WHERE state <> 'idle' AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
	for my $w (@workers)
	{
		next if $w->pumpable;
		$w->finish;
		$w = $spawn->();
	}
	$rounds++;
}
$node->safe_psql('postgres', q{
	SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
$_->finish for @workers;
wait_for {
	$node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}) eq '0'
} 'all sessions are gone';
cmp_ok($rounds, '>', 20, "$rounds sessions disturbed");

is($node->safe_psql('postgres', 'SELECT count(*) FROM stream.activity'), 0, 'nothing is left in stream.activity');
is($node->safe_psql('postgres', q{
	SELECT (SELECT count(*) FROM (SELECT (fields->>'tx')::bigint, (fields->>'k')::int FROM xrange('load') EXCEPT ALL SELECT tx, k FROM load) d),
		(SELECT count(*) FROM (SELECT tx, k FROM load EXCEPT ALL SELECT (fields->>'tx')::bigint, (fields->>'k')::int FROM xrange('load')) d)}),
	'0|0', 'stream and table agree');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM load}), '>', 0, 'something was committed');
is($node->safe_psql('postgres', q{SELECT xexists('side') AND xlen('side') > 0}), 'f', 'nothing of a savepoint that was rolled back');
# The horizon is free: a new entry is seen at once by a reader of all of it.
my $id = $node->safe_psql('postgres', q{SELECT xadd('load', '{"tx":"0"}')});
is($node->safe_psql('postgres', q{SELECT max(id) FROM xread('load', '0')}), $id, 'a new entry is seen at once');
is($node->safe_psql('postgres', q{SELECT count(*) FROM xread('load', '0')}), $node->safe_psql('postgres', q{SELECT xlen('load')}),
	'and so is everything before it');

my $state = logical_state($node);
$node->stop('immediate');
$node->start;
is(logical_state($node), $state, 'and the journal says the same');

done_testing();
