# Everything committed survives every way a server can stop, and nothing else does.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', fsync => 1);

# Streams of every kind: long, with holes, trimmed, emptied, with large and odd
# values, made and never used, dropped, dropped and made again.
$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	SELECT count(xadd('long', fields('n', n, 'v', repeat('x', n % 300)))) FROM generate_series(1, 20000) n;
	SELECT count(xadd('holes', fields('n', n), n || '-0')) FROM generate_series(1, 1000) n;
	SELECT sum(xdel('holes', id)) FROM xrange('holes') WHERE (fields->>'n')::int % 3 = 0;
	SELECT count(xadd('trimmed', fields('n', n))) FROM generate_series(1, 1000) n;
	SELECT xtrim('trimmed', 123);
	SELECT xadd('emptied', '{"a":1}', '77-7'), xtrim('emptied', 0);
	SELECT count(xadd('large', fields('v', repeat(chr(64 + n), n * 100000)))) FROM generate_series(1, 20) n;
	SELECT xadd('odd', fields('', '', 'z', '\x00ff'::bytea, 'z', 'twice', 'ключ', '値')), xadd('odd', '{"a":{"b":[1,null]}}');
	SELECT xcreate('unused'), xcreate('dropped'), xadd('again', '{"a":1}', '9-9'), xdrop('dropped'), xdrop('again');
	SELECT xadd('again', '{"a":2}', '1-0');
});
# One entry a transaction, ids below the top, rolled-back ones in between.
$node->safe_psql('postgres', q{
	DO $$ BEGIN FOR n IN 1..300 LOOP
		PERFORM stream.xadd('single', stream.fields('n', n));
		IF n % 7 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP; END $$});

my $state = logical_state($node);
is(scalar(split /\n/, $state), 9, 'nine streams');

for my $how (qw(fast immediate kill))
{
	# A transaction that is open when the server stops.
	my $open = background($node, q{
		BEGIN;
		SELECT stream.xadd('long', '{"open":1}'), stream.xdel('holes', '1-0'), stream.xadd('never', '{"a":1}'), stream.xtrim('trimmed', 0);
		\echo ready
		SELECT 1 FROM stream.xread('none', '$', block => '1 hour')});
	wait_for { $open->('peek') =~ /ready/ } 'an open transaction';

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
	is(logical_state($node), $state, "the same after a $how stop");
	is($node->safe_psql('postgres', q{SELECT stream.xexists('never')}), 'f', 'what was open is gone');
}

# Ids go on above the ones handed out before, though those entries are gone.
is($node->safe_psql('postgres', q{SELECT stream.xadd('emptied', '{"a":1}', '77-*')}), '77-8', 'the last id of an empty stream is kept');
is(sqlstate($node, q{SELECT stream.xadd('holes', '{"a":1}', '999-0')}), 'ST001', 'so is that of a deleted entry');

# Work goes on after each start, and survives the next.
for my $n (1 .. 3)
{
	$node->safe_psql('postgres', qq{
		SELECT stream.xadd('holes', stream.fields('round', $n), '1000-*'), stream.xdel('long', id) FROM stream.xrange('long', count => 1);
		SELECT stream.xtrim('trimmed', 100 - $n)});
	$state = logical_state($node);
	$node->stop('immediate');
	$node->start;
	is(logical_state($node), $state, "round $n");
}

# The first use after a start may come from many sessions at once.
$state = logical_state($node);
$node->restart;
my @all = map { background($node, q{SELECT stream.xlen('long'), stream.xlen('holes')}) } 1 .. 8;
my %answers = map { my ($out) = $_->(); $out => 1 } @all;
is(scalar(keys %answers), 1, 'eight sessions that load at once see the same');
is(logical_state($node), $state, 'and the state is whole');

# One that is cancelled while it loads does not spoil it for others.
$node->restart;
sqlstate($node, q{SET statement_timeout = '1ms'; SELECT stream.xlen('long')}) for 1 .. 3;
is(logical_state($node), $state, 'loading can be cancelled');

done_testing();
