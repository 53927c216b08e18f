# A backend kills itself at each place between numbering, journal, commit record
# and merge.  Before the commit record nothing of its transaction is left, after it
# everything, with and without others at work; and the table always agrees.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my @points = (
	# point, and whether the transaction is committed then
	[ 'xact-numbered', 0 ],
	[ 'xact-journaled', 0 ],
	[ 'xact-committed', 1 ],
	[ 'xact-merged', 1 ],
	[ 'store-before-merge-apply', 1 ]);

my $node = stream_node('points', fsync => 1);
my @acked;
my $in_flight = 0;
my $tx = 1_000_000;

random_seed();
start_load($node, 0, 0);				# the table
$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	SELECT xcreate('load');
	SELECT count(xadd('other', fields('n', n), n || '-0')) FROM generate_series(1, 100) n});

for my $busy (0, 1)
{
	for my $p (@points)
	{
		my ($point, $committed) = @$p;
		my $what = "$point, " . ($busy ? 'busy' : 'alone');
		my $load = $busy ? start_load($node, 3, 2000) : [];
		my $before = $node->safe_psql('postgres', q{SELECT stream.xlen('other'), stream.xtail('other')});

		$tx++;
		if ($busy)
		{
			wait_for { slurp_file($load->[0]->{acks}) =~ /ack/ } 'load';
		}
		my ($out, $err) = background($node, qq{
			SET search_path = public, stream;
			BEGIN;
			SELECT xadd('load', fields('tx', $tx, 'k', k)), load_row($tx, k) FROM generate_series(1, 3) k;
			SELECT xadd('other', fields('n', $tx)), xdel('other', (SELECT id FROM xrange('other', count => 1)));
			SELECT xadd('made:$tx', fields('n', $tx));
			SET LOCAL stream.test_point = '$point';
			COMMIT;
			\\echo survived})->();
		unlike($out, qr/survived/, "$what: the backend died");
		push @acked, stop_load($load);
		$in_flight += @$load;
		wait_back($node);

		# Committed and never acknowledged: it counts as known from here on.
		push @acked, $tx if $committed;
		check_load($node, $in_flight, \@acked, "$what: stream and table agree");
		is($node->safe_psql('postgres', qq{SELECT count(*) FROM load WHERE tx = $tx}), $committed ? 3 : 0, "$what: rows");
		is($node->safe_psql('postgres', qq{SELECT stream.xexists('made:$tx')}), $committed ? 't' : 'f', "$what: stream made");
		my $after = $node->safe_psql('postgres', q{SELECT stream.xlen('other'), stream.xtail('other')});
		is($after eq $before ? 0 : 1, $committed, "$what: the second stream agrees");
	}
}

my $state = logical_state($node);
$node->restart;
is(logical_state($node), $state, 'replayed once more: the same');

# A superuser's setting: nobody else may crash the server.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
is(sqlstate($node, q{SET ROLE plain; SET stream.test_point = 'xact-merged'}), '42501', 'test points are for superusers');

done_testing();
