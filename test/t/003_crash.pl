# Kill -9 of single backends and of the postmaster under load, at random moments:
# afterwards the stream holds what the table holds, everything acknowledged is
# there, and at most what was in flight besides.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $rounds = $ENV{ROUNDS} || 6;
my $workers = 6;
my $node = stream_node('crash', fsync => 1);
my @acked;
my $most_in_flight = 0;

random_seed();
for my $round (1 .. $rounds)
{
	my $load = start_load($node, $workers, 3000);
	my $wanted = 5 + int(rand(400));

	# Let it come to some point, then kill.
	wait_for {
		my $acks = 0;
		$acks += () = slurp_file($_->{acks}) =~ /^ack/mg for @$load;
		$acks >= $wanted;
	} "$wanted transactions";
	if ($round % 3 == 0)
	{
		$node->kill9;
		push @acked, stop_load($load);
		start_again($node);
	}
	else
	{
		my @pids = split /\n/, $node->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY pid});
		kill 'KILL', $pids[ rand @pids ];
		push @acked, stop_load($load);
		wait_back($node);
	}
	$most_in_flight += $workers;
	check_load($node, $most_in_flight, \@acked, "round $round: " . @acked . " acknowledged");
}

# A load that is let finish leaves nothing in flight.
my $load = start_load($node, $workers, 200);
push @acked, stop_load($load);
check_load($node, $most_in_flight, \@acked, 'and a quiet end');

my $state = logical_state($node);
$node->restart;
is(logical_state($node), $state, 'a replay of the same journal from the start gives the same');

done_testing();
