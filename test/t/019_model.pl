# Random use: one session against a model kept in Python, another with consumer groups, many sessions under
# assertions on the result, and calls of every function with whatever values.
# Each prints its seed; test/model/*.py --seed repeats a run, --seconds sets how
# long (MODEL_SECONDS here).
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', conf => "client_min_messages = error\n");
my $seconds = $ENV{MODEL_SECONDS} || 15;
my $seed = random_seed();

for my $script (qw(model_single model_groups model_concurrent fuzz_calls))
{
	my ($out, $err) = run_command([ '/usr/bin/python3', "$ENV{STREAM_TREE}/test/model/$script.py",
			'--seed', $seed % 1_000_000, '--seconds', $seconds, '--dsn', $node->connstr('postgres') ]);

	is($? >> 8, 0, "$script, seed " . $seed % 1_000_000) or diag("$out\n$err");
	note($out);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM stream.activity'), 0, 'nothing is left open');
my $state = logical_state($node);
$node->restart;
is(logical_state($node), $state, 'a restart changes nothing');

done_testing();
