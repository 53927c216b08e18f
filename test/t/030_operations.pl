# What docs/operations.md shows is what the server answers: each query of the page
# with the rows below it, in a database where there is something to see.
#
# Compared are the columns, names and small numbers; times, ids, pids, sizes and
# whatever has three digits or more differ from run to run.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('operations');

sub query { return $node->safe_psql('postgres', @_) }

query(q{ALTER DATABASE postgres SET search_path = "$user", public, stream});
query(q{CREATE ROLE app LOGIN SUPERUSER});
query(q{SELECT count(xadd('orders', fields('number', n), now() - interval '1 hour')) FROM generate_series(1, 12) n});
query(q{
	SELECT xgroup_create('orders', 'billing'), xgroup_create('orders', 'letters');
	SELECT xgroup_set('orders', 'billing', retry => '5 minutes', max_deliveries => 5, dead_letter => 'orders-dead')});
# anna has acknowledged three of four; one of bert's is dead, of three he has two since long.
query(q{SELECT xack('orders', 'billing', array_agg(id)) FROM (SELECT id FROM xreadgroup('orders', 'billing', 'anna', count => 4) LIMIT 3) r});
query(q{SELECT xclaim('orders', 'billing', 'bert', '0', id, idle => '1 hour', retrycount => 5) FROM xreadgroup('orders', 'billing', 'bert', count => 1)});
query(q{SELECT * FROM xreclaim_all()});
query(q{SELECT xclaim('orders', 'billing', 'bert', '0', array_agg(id), idle => '2 hours') FROM (SELECT id FROM xreadgroup('orders', 'billing', 'bert', count => 3) LIMIT 2) r});

# Somebody has added and does not commit; two entries and a reader wait behind.
my $open = $node->background_psql('postgres', extra_params => [ '-U', 'app' ]);
$open->query_safe(q{SET application_name = 'shop'; BEGIN; SELECT xadd('orders', '{"number":"open"}')});
query(q{SELECT xadd('orders', '{"number":13}'), xadd('orders', '{"number":14}')});
my $reader = background($node, q{SET application_name = 'follower'; SELECT count(*) FROM xread('orders', '$', block => '10 minutes')});
query(q{SELECT xgroup_create('orders-dead', 'repair', '$')});
my $worker = background($node, q{SET application_name = 'repair'; SELECT fields->>'number' FROM xreadgroup('orders-dead', 'repair', 'carla', block => '10 minutes')});
wait_for { query(q{SELECT count(*) FROM stream.activity WHERE state = 'waiting'}) eq '2' } 'the readers';

sub common
{
	my ($text) = @_;

	$text =~ s/\d+(\.\d+)? (bytes|kB|MB|GB)/SIZE/g;
	$text =~ s/\d+:\d\d:\d\d(\.\d+)?/TIME/g;
	$text =~ s/\d{3,}/N/g;
	$text =~ s/-{2,}/-/g;
	$text =~ s/[ \t]+/ /g;
	$text =~ s/\b(postgres|\Q@{[scalar getpwuid($>)]}\E)\b/OWNER/g;
	$text =~ s/^ | $//mg;
	$text =~ s/\s+\z//;
	return $text;
}

my $page = slurp_file("$ENV{STREAM_TREE}/docs/operations.md");
my $n = 0;

while ($page =~ /^```sql\n(.*?)^```\n```\n(.*?)^```$/msg)
{
	my ($sql, $want) = ($1, $2);
	my ($out, $err) = run_command([ 'psql', '-X', '-P', 'footer=off', '-d', $node->connstr('postgres'), '-c', $sql ]);

	is(common($out), common($want), 'as shown: ' . (split /\n/, $sql)[0]) or diag("$out\n$err");
	$n++;
}
cmp_ok($n, '>=', 11, 'the page has queries');

$open->query_safe('ROLLBACK');
$open->quit;
is(($reader->())[0], '2', 'the reader gets what was behind');

query(q{SELECT xadd('orders-dead', '{"number":"another"}')});
is(($worker->())[0], 'another', 'the worker its dead letter');

done_testing();
