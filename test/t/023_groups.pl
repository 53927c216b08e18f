# Groups after every way a server can stop: what was committed is the same, what
# was open is given back and delivered again.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', fsync => 1);

# Groups of every kind: in the middle, at the end, ahead, emptied; with records
# that are owned, released, delayed, without entry, many; with a policy; that
# were set back, destroyed, destroyed and made again; in streams that were
# dropped, or made by the transaction that made the group.
$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	SELECT count(xadd('s', fields('n', n), n || '-0')) FROM generate_series(1, 100) n;
	SELECT xgroup_create('s', 'new'), xgroup_create('s', 'middle', '50-0', entries_read => 50), xgroup_create('s', 'end', '$'),
	       xgroup_create('s', 'ahead', '1000-0'), xgroup_create('s', '', '0'), xgroup_create('s', 'ключ', '7-0', in_order => false);
	SELECT xgroup_create('s', 'work'), xgroup_set('s', 'work', retry => '1 hour', max_deliveries => 4, dead_letter => 's:dead');
	SELECT count(*) FROM xreadgroup('s', 'work', 'a', count => 20);
	SELECT count(*) FROM xreadgroup('s', 'work', 'b', count => 20);
	SELECT count(*) FROM xreadgroup('s', 'work', 'a', count => 5, noack => true);
	SELECT count(*) FROM xreadgroup('s', 'work', 'a', '0', count => 3);
	SELECT xack('s', 'work', array(SELECT n || '-0' FROM generate_series(1, 40, 3) n));
	SELECT xnack('s', 'work', 'FAIL', '{2-0,3-0,23-0}'), xnack('s', 'work', 'FATAL', '24-0'), xnack('s', 'work', 'FAIL', '26-0', delay => '1 day');
	SELECT count(*) FROM xclaim('s', 'work', 'c', '0', '{5-0,6-0,27-0}', at => '2020-01-01 12:00:00.5+00', retrycount => 7, last_id => '47-0');
	SELECT count(*) FROM xclaim('s', 'work', 'c', '0', '90-0', force => true);
	SELECT xgroup_createconsumer('s', 'work', 'idle'), xgroup_createconsumer('s', 'work', ''), xgroup_delconsumer('s', 'work', 'b');
	SELECT xdelex('s', '{5-0,30-0,60-0}', 'KEEPREF');
	SELECT xdelex('s', '{6-0,61-0}', 'DELREF');
	SELECT count(*) FROM xackdel('s', 'work', '{8-0,9-0}', 'ACKED');
	SELECT xgroup_create('s', 'back'), (SELECT count(*) FROM xreadgroup('s', 'back', 'a')), xgroup_setid('s', 'back', '70-0', 70);
	SELECT count(*) FROM xreadgroup('s', 'back', 'b', count => 5);
	SELECT xgroup_create('s', 'gone'), (SELECT count(*) FROM xreadgroup('s', 'gone', 'a')), xgroup_destroy('s', 'gone');
	SELECT xgroup_create('s', 'again'), (SELECT count(*) FROM xreadgroup('s', 'again', 'a'));
	BEGIN;
	SELECT xgroup_destroy('s', 'again'), xgroup_create('s', 'again', '90-0'), (SELECT count(*) FROM xreadgroup('s', 'again', 'z', count => 2));
	COMMIT;
	SELECT count(xadd('large', fields('n', n), n || '-0')) FROM generate_series(1, 20000) n;
	SELECT xgroup_create('large', 'g'), (SELECT count(*) FROM xreadgroup('large', 'g', 'c', count => 15000));
	SELECT xack('large', 'g', array(SELECT n || '-0' FROM generate_series(1, 15000) n WHERE n % 7 < 3));
	BEGIN;
	SELECT xadd('made', '{"a":1}', '1-0'), xgroup_create('made', 'g'), (SELECT count(*) FROM xreadgroup('made', 'g', 'c'));
	COMMIT;
	SELECT xgroup_create('empty', 'g', mkstream => true), xgroup_create('dropped', 'g', mkstream => true), xdrop('dropped');
});
# Entries in a gap: their deliverer rolls back after what is above them was delivered and committed.
my $back = background($node, q{
	BEGIN;
	SELECT count(*) FROM stream.xreadgroup('s', 'new', 'lost', count => 10);
	\echo ready
	SELECT 1 FROM stream.xread('none', '$', block => '1 hour')});
wait_for { $back->('peek') =~ /ready/ } 'a delivery';
is($node->safe_psql('postgres', q{SELECT stream.min(id), count(*) FROM stream.xreadgroup('s', 'new', 'a', count => 5)}), '13-0|5', 'what is in flight is passed over');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE query ~ 'xread' AND pid <> pg_backend_pid()});
$back->();

sub rest
{
	# the deliveries and times of records: when the claimed ones were delivered, when the delayed one is due
	return logical_state($node) . "\n" . $node->safe_psql('postgres', q{
		SET search_path = public, stream;
		SELECT id, date_trunc('second', clock_timestamp() - idle), due FROM stream.pending
		WHERE stream = 's' AND grp = 'work' AND (consumer = 'c' AND id < '90-0' OR due > now()) ORDER BY id;
		SELECT stream, grp, deliveries, count(*), min(id), max(id) FROM stream.pending WHERE grp <> 'new' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3});
}

# Deliveries alone do not wait for the disk: something that does comes after them.
$node->safe_psql('postgres', 'CREATE TABLE flushed()');
my $state = rest();
like($state, qr/^5-0\|2020-01-01.*^27-0\|2020-01-01/ms, 'times of claimed entries');
is(() = $state =~ /"last_delivered_id"/g, 12, 'twelve groups');

for my $how (qw(immediate kill fast))
{
	# A transaction that is open when the server stops.
	my $open = background($node, q{
		BEGIN;
		SELECT count(*) FROM stream.xreadgroup('s', 'new', 'open', count => 12);
		SELECT stream.xack('s', 'work', '10-0', '11-0'), stream.xgroup_create('made', 'open'), stream.xgroup_destroy('s', 'ahead');
		SELECT count(*) FROM stream.xclaim('s', 'work', 'open', '0', '12-0');
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
	is(rest(), $state, "the same after a $how stop");
}

# What was open is given again, the lowest first; the gap before what is new.
is($node->safe_psql('postgres', q{SELECT string_agg(id::text, ' ') FROM stream.xreadgroup('s', 'new', 'a', count => 12)}),
	join(' ', map { "$_-0" } 1 .. 4, 7 .. 12, 18, 19), 'gaps survive');

# Work goes on after each start, and survives the next.
for my $n (1 .. 3)
{
	$node->safe_psql('postgres', qq{
		SET search_path = public, stream;
		SELECT xack('large', 'g', array(SELECT id FROM xpending('large', 'g', count => 100 * $n)));
		SELECT count(*) FROM xreadgroup('large', 'g', 'c$n', count => 500);
		SELECT xnack('large', 'g', 'FAIL', array(SELECT id FROM xpending('large', 'g', count => 50, consumer => 'c')));
		SELECT * FROM xreclaim('s', 'work', '0', count => 3);
		SELECT count(*) FROM xreadgroup('s', 'work', 'd', count => 2);
		SELECT xtrim('s', 95 - $n * 5), xadd('s', '{"n":1}')});
	$state = logical_state($node);
	$node->stop('immediate');
	$node->start;
	is(logical_state($node), $state, "round $n");
}
done_testing();
