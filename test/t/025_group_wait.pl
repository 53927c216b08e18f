# Waiting for groups: what wakes a reader, who is woken and who is not, and that
# no wake-up is lost with a reader that goes away.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;
use Time::HiRes ();

my $node = stream_node('group_wait', conf => "max_connections = 400\nstatement_timeout = '120s'\n");
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, stream');

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# Until so many stand in line for groups of the stream; their pids in order.
sub waiting
{
	my ($key, $n) = @_;

	wait_for { sql("SELECT count(*) = $n FROM activity WHERE stream = '$key' AND state = 'waiting'") eq 't' } "$n waiting at $key";
	return split /\n/, sql("SELECT pid FROM activity_rows() WITH ORDINALITY WHERE stream = '$key' AND state = 'waiting' ORDER BY ordinality");
}

# A reader of group g that waits: prints entries and how often they were
# delivered.  Further options of the call and, first, statements before it.
my $nth = 0;

sub reader
{
	my ($key, $options, $before) = @_;
	my $consumer = 'c' . ++$nth;

	$options = $options ? ", $options" : '';
	return background($node, ($before // '')
		. qq{SELECT fields->>'n', deliveries FROM xreadgroup('$key', 'g', '$consumer', block => '1 h'$options);});
}

sub add
{
	my ($key, @n) = @_;
	return sql(join ';', map { "SELECT xadd('$key', fields('n', $_))" } @n);
}

my $streams = 0;

# A new stream with a group.
sub stream_with_group
{
	my $key = 's' . ++$streams;

	sql("SELECT xgroup_create('$key', 'g', mkstream => true)");
	return $key;
}

sub session
{
	my $s = $node->background_psql('postgres', timeout => 60);

	$s->query_safe($_) for @_;
	return $s;
}

# --- a promise that is not kept ---------------------------------------------

# Who was told by xwaitgroup and finds that another was faster stands in line
# like all others, at whichever group he asks.
for my $grp ('g', 'other')
{
	my $key = stream_with_group();
	sql("SELECT xgroup_create('$key', 'other')");
	my $told = background($node, qq{SET search_path = public, stream;
		CALL xwaitgroup('$key', 'g', '1 h');
		SELECT pg_advisory_lock(25);
		SELECT 'got', fields->>'n' FROM xreadgroup('$key', '$grp', 'a', count => 1, block => '1 h');});
	my $gate = session('SELECT pg_advisory_lock(25)');
	wait_for { sql(q{SELECT count(*) FROM stream.activity WHERE state = 'waiting'}) eq '1' } 'who waits';
	add($key, 1);
	wait_for { sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) eq '1' } 'who was told';
	sql("SELECT * FROM xreadgroup('$key', 'g', 'b'); SELECT * FROM xreadgroup('$key', 'other', 'b')");
	$gate->quit;
	wait_for { sql(q{SELECT count(*) FROM stream.activity WHERE state = 'waiting'}) eq '1' } 'who waits again';
	add($key, 2);
	like(($told->())[0], qr/got\|2/, "told of an entry of g that is gone, then waiting for $grp");
}

# --- what wakes a reader ---------------------------------------------------
#
# name => [ what comes before the reader, what wakes it, what it then reads ];
# each a piece of SQL for the stream KEY, or a list of one session's.

my %wakes = (
	'a new entry' => [ '', q{SELECT xadd('KEY', fields('n', 1))}, '1|0' ],
	'a transaction of two' => [ '', q{SELECT xadd('KEY', fields('n', n)) FROM generate_series(1, 2) n}, "1|0\n2|0" ],
	'xnack' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT xnack('KEY', 'g', 'FAIL', (SELECT array_agg(id) FROM xpending('KEY', 'g')))}, '1|1' ],
	'xnack with a delay' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT xnack('KEY', 'g', 'FAIL', (SELECT array_agg(id) FROM xpending('KEY', 'g')), delay => '300 ms')}, '1|1' ],
	'a second xnack with a shorter delay' => [
		q{SELECT xadd('KEY', fields('n', n)) FROM generate_series(1, 2) n; SELECT * FROM xreadgroup('KEY', 'g', 'x');
		  SELECT xnack('KEY', 'g', 'FAIL', (SELECT min(id) FROM xpending('KEY', 'g')), delay => '1 h')},
		q{SELECT xnack('KEY', 'g', 'FAIL', (SELECT max(id) FROM xpending('KEY', 'g')), delay => '100 ms')}, '2|1' ],
	'xgroup_delconsumer' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT xgroup_delconsumer('KEY', 'g', 'x')}, '1|1' ],
	'an xclaim that makes it old' => [
		q{SELECT xgroup_set('KEY', 'g', '1 h', 0, NULL, true); SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT * FROM xclaim('KEY', 'g', 'y', '0', (SELECT array_agg(id) FROM xpending('KEY', 'g')), idle => '2 h')}, '1|2' ],
	'xreclaim' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT * FROM xreclaim('KEY', 'g', '0')}, '1|1' ],
	'the retry of the group' => [
		q{SELECT xgroup_set('KEY', 'g', '300 ms', 0, NULL, true)},
		q{SELECT xadd('KEY', fields('n', 1)) WHERE false; SELECT xadd('KEY', fields('n', 2))}, '2|0' ],
	'a retry that is set' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x')},
		q{SELECT xgroup_set('KEY', 'g', '100 ms', 0, NULL, true)}, '1|1' ],
	'xgroup_setid' => [
		q{SELECT xadd('KEY', fields('n', 1)); SELECT * FROM xreadgroup('KEY', 'g', 'x', noack => true)},
		q{SELECT xgroup_setid('KEY', 'g', '0')}, '1|0' ],
);

for my $what (sort keys %wakes)
{
	my ($before, $wake, $expected) = map { s/KEY/KEY/gr } @{ $wakes{$what} };
	my $key = stream_with_group();

	s/KEY/$key/g for $before, $wake;
	sql($before) if $before;
	my $reader = reader($key);
	waiting($key, 1);
	sql($wake);
	my ($out, $err) = $reader->();
	is($out, $expected, "woken by $what") or diag($err);
}

# Transactions that end: of who had the entry, in whole or to a savepoint, or
# whose backend ends; of a producer whose id was before.
for my $end ('ROLLBACK', 'ROLLBACK TO a', 'terminate')
{
	my $key = stream_with_group();
	add($key, 1);
	my $holder = session('BEGIN', 'SAVEPOINT a', "SELECT * FROM xreadgroup('$key', 'g', 'holder')");
	my $pid = $holder->query_safe('SELECT pg_backend_pid()');
	my $reader = reader($key);
	waiting($key, 1);
	if ($end eq 'terminate') { sql("SELECT pg_terminate_backend($pid)") }
	else { $holder->query_safe($end) }
	is(($reader->())[0], '1|1', "what was rolled back ($end) is read, as a second attempt");
	$end eq 'terminate' ? eval { $holder->quit } : $holder->quit;
}
for my $end ('ROLLBACK', 'COMMIT')
{
	my $key = stream_with_group();
	my $producer = session('BEGIN', "SELECT xadd('$key', fields('n', 1))");
	add($key, 2);
	my $reader = reader($key);
	waiting($key, 1);
	is($reader->('peek'), '', 'nothing beyond the horizon');
	$producer->query_safe($end);
	is(($reader->())[0], $end eq 'COMMIT' ? "1|0\n2|0" : '2|0', "the horizon moves with a producer's $end");
	$producer->quit;
}

# Time: the group's retry, and the call's claim, for a record that is delivered
# before or during the wait; the latter beside readers without it.
for my $case ([ 'retry', 'before' ], [ 'retry', 'during' ], [ 'claim', 'before' ], [ 'claim', 'during' ], [ 'mixed', 'during' ])
{
	my ($by, $when) = @$case;
	my $key = stream_with_group();
	my $deliver = "SELECT xadd('$key', fields('n', 1)); SELECT id FROM xreadgroup('$key', 'g', 'x')";
	my $started;
	my @others;

	sql("SELECT xgroup_set('$key', 'g', '400 ms', 0, NULL, true)") if $by eq 'retry';
	@others = (reader($key, '', 'SET application_name = other;')) if $by eq 'mixed';
	waiting($key, 1) if $by eq 'mixed';
	$started = Time::HiRes::time();
	sql($deliver) if $when eq 'before';
	my $reader = reader($key, $by eq 'retry' ? '' : "claim => '400 ms'");
	if ($when eq 'during')
	{
		waiting($key, 1 + @others);
		# in one transaction: nobody sees the entry as free
		$started = Time::HiRes::time();
		sql("BEGIN; $deliver; COMMIT");
	}
	is(($reader->())[0], '1|1', "$by, delivered $when the wait");
	cmp_ok(Time::HiRes::time() - $started, '>=', 0.4, 'not before it was due');
	add($key, 2) if @others;
	$_->() for @others;
}

# Delays so short that they are over before anybody can set his clock.
{
	my $key = stream_with_group();
	add($key, 1);
	sql("SELECT id FROM xreadgroup('$key', 'g', 'x')");
	for my $ms (1, 1, 1, 2, 2, 3, 4, 5)
	{
		my $reader = reader($key);
		waiting($key, 1);
		sql("SELECT xnack('$key', 'g', 'SILENT', (SELECT array_agg(id) FROM xpending('$key', 'g')), delay => '$ms ms')");
		like(($reader->())[0], qr/^1\|/, "a delay of $ms ms");
	}
}

# A record in flight that was due long ago does not hide one that comes due, and
# is waited for without looking again and again.
{
	my $key = stream_with_group();
	sql("SELECT xgroup_set('$key', 'g', '300 ms', 0, NULL, true)");
	add($key, 1, 2);
	sql("SELECT id FROM xreadgroup('$key', 'g', 'x', count => 1)");
	my $holder = session();
	wait_for { $holder->query_safe("BEGIN; SELECT count(*) FROM xreadgroup('$key', 'g', 'holder', count => 1, claim => '1 ms')") eq '1'
		|| ($holder->query_safe('ROLLBACK'), 0)[1] } 'the old record';
	sql("SELECT id FROM xreadgroup('$key', 'g', 'x', count => 1)");
	my $reader = reader($key);
	is(($reader->())[0], '2|1', 'a record comes due behind one that is in flight');
	$reader = reader($key, "claim => '1 h'");
	my ($pid) = waiting($key, 1);
	my $before = switches($pid);
	my $started = Time::HiRes::time();
	wait_for { Time::HiRes::time() > $started + 1 } 'a second';
	cmp_ok(switches($pid) - $before, '<', 4, 'who waits for it sleeps');
	$holder->query_safe('ROLLBACK');
	sql("SELECT xgroup_destroy('$key', 'g')");
	like(($reader->())[1], qr/42704/, 'until the group goes');
	$holder->quit;
}

# The group, the stream, its name goes.  A consumer that is new keeps nobody
# from that: it is made only at the end.
for my $gone ("SELECT xgroup_destroy('KEY', 'g')", "SELECT xdrop('KEY')", "SELECT xrename('KEY', 'KEY renamed')")
{
	my $key = stream_with_group();
	my @readers = (reader($key), reader($key), background($node, "CALL xwaitgroup('$key', 'g')"));
	waiting($key, 3);
	sql("SET statement_timeout = '30 s'; " . $gone =~ s/KEY/$key/gr);
	like(($_->())[1], qr/42704/, "$gone: 42704") for @readers;
}
is(sqlstate($node, q{SELECT * FROM xreadgroup('s1', 'none', 'c', block => '1 h')}), '42704', 'no such group');
is(sqlstate($node, q{SELECT * FROM xreadgroup('none', 'g', 'c', block => '1 h')}), '42704', 'no such stream');
is(sqlstate($node, q{CALL xwaitgroup('s1', 'none')}), '42704', 'no such group for xwaitgroup');
is(sqlstate($node, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM xreadgroup('s1', 'g', 'c', block => '1 s')}), '25001',
	'block is refused under a snapshot that stands still');
is(sqlstate($node, q{BEGIN; CALL xwaitgroup('s1', 'g')}), '25001', 'xwaitgroup is refused inside a transaction block');

# Time runs out, about then; the consumer is there then.
{
	my $key = stream_with_group();
	my $started = Time::HiRes::time();

	is(sql("SELECT count(*) FROM xreadgroup('$key', 'g', 'new', block => '300 ms')"), 0, 'nothing came');
	my $took = Time::HiRes::time() - $started;
	cmp_ok($took, '>=', 0.3, 'it waited');
	cmp_ok($took, '<', 3, 'not much longer');
	is(sql("SELECT count(*) FROM xinfo_consumers('$key', 'g')"), 1, 'and made the consumer');
	is(sql("BEGIN; SELECT count(*) FROM xreadgroup('$key', 'g', 'new', block => '50 ms'); SELECT pg_current_xact_id_if_assigned() IS NULL"),
		"0\nt", 'a consumer that is known writes nothing');
	is(sql("CALL xwaitgroup('$key', 'g', '50 ms')"), 'f', 'xwaitgroup: not ready');
}

# Time spent waiting for somebody who has the group, or the stream, to himself
# counts.  What there is is not read then, and no consumer is made.
for my $change (
	"xgroup_destroy('KEY', 'g')", "xgroup_setid('KEY', 'g', '0')", "xgroup_set('KEY', 'g', retry => '1 h')",
	"xgroup_delconsumer('KEY', 'g', 'x')", "xsetid('KEY', '9999999999999-0')", "xdrop('KEY')")
{
	my $key = stream_with_group();
	my $other = stream_with_group();
	sql("SELECT xgroup_createconsumer('$key', 'g', 'x')");
	add($key, 1);
	add($other, 2);
	my $admin = session('BEGIN', 'SELECT ' . $change =~ s/KEY/$key/r);
	my $started = Time::HiRes::time();
	is(sql("SET statement_timeout = '60 s'; SELECT count(*) FROM xreadgroup('$key', 'g', 'new', block => '200 ms')"), '0',
		"$change by another: no rows when the time is over");
	cmp_ok(Time::HiRes::time() - $started, '>=', 0.2, 'not before');
	is(sql("SELECT count(*) FROM activity WHERE stream = '$key' AND state = 'waiting'"), '0', 'nobody is left in line');
	is(sql("SET statement_timeout = '60 s'; SELECT fields->>'n' FROM xreadgroup_many('{$key,$other}', 'g', 'new', block => '50 ms')"), '2',
		'another stream is read all the same');
	is(sql("CALL xwaitgroup('$key', 'g', '1 h')"), 't', 'who only asks does not wait for him');
	is(sql("SELECT fields->>'n' FROM xread('$key', '0', block => '1 h')"), '1', 'nor does a plain reader');
	is(sqlstate($node, "SET lock_timeout = '50 ms'; SELECT * FROM xreadgroup('$key', 'g', 'new')"), '55P03', 'lock_timeout without block');
	is(sqlstate($node, "SET lock_timeout = '50 ms'; SELECT * FROM xreadgroup('$key', 'g', 'new', block => '1 h')"), '55P03', 'and before it');
	is(sql("SET lock_timeout = '1 h'; SELECT count(*) FROM xreadgroup('$key', 'g', 'new', block => '50 ms'); SHOW lock_timeout"), "0\n1h", 'and after it');
	is(sqlstate($node, "SET statement_timeout = '50 ms'; SELECT * FROM xreadgroup('$key', 'g', 'new', block => '1 h')"), '57014', 'statement_timeout');

	# The transaction of a reader whose time was over is none the worse for it.
	my $reader = session('BEGIN', "SELECT xadd('$other', fields('n', 3))", 'SAVEPOINT a');
	is($reader->query_safe("SELECT count(*) FROM xreadgroup('$key', 'g', 'again', block => '50 ms')"), '0', 'in a transaction with work of its own');
	is($reader->query_safe("SELECT fields->>'n' FROM xreadgroup('$other', 'g', 'new')"), '3', 'it goes on');
	$reader->query_safe('COMMIT');
	is(sql("SELECT count(*) FROM xpending('$other', 'g')"), '2', 'and commits');
	$reader->quit;

	# Who has time left is given what there is when the other gives up.
	$reader = background($node, "SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'patient', block => '1 h')");
	wait_for { sql(q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%patient%' AND pid <> pg_backend_pid()}) eq '1' }
		'a reader that waits for the other';
	$admin->query_safe('ROLLBACK');
	$admin->quit;
	is(($reader->())[0], '1', 'in time');
	is(sql("SELECT string_agg(name, ' ' ORDER BY name) FROM xinfo_consumers('$key', 'g')"), 'patient x', 'the others made no consumer');
}

# Inside a transaction that has added to the stream itself: ids of others above
# its own do not stay behind its reservation.
{
	my $key = stream_with_group();
	my $reader = background($node, qq{
		BEGIN; SELECT xadd('$key', fields('n', 1)) IS NULL;
		SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'c');
		SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'c', block => '1 h'); COMMIT});
	waiting($key, 1);
	add($key, 2);
	is(($reader->())[0], "f\n1\n2", 'what comes above an own reservation');

	$reader = background($node, qq{
		BEGIN; SELECT xnack('$key', 'g', 'FAIL', (SELECT min(id) FROM xpending('$key', 'g')), delay => '200 ms');
		SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'c', block => '1 h'); COMMIT});
	is(($reader->())[0], "1\n1", 'what it gave back itself, when the delay is over');
}

# --- who is woken ------------------------------------------------------------

# In the order of arrival, one an entry.
{
	my $key = stream_with_group();
	my @readers;
	for my $n (1 .. 5)
	{
		push @readers, reader($key, 'count => 1');
		waiting($key, $n);
	}
	my @out;
	for my $n (1 .. 5)
	{
		add($key, $n);
		push @out, ($readers[ $n - 1 ]->())[0];
	}
	is_deeply(\@out, [ map { "$_|0" } 1 .. 5 ], 'first come, first served');
}

# As many as there are entries are told at once; each takes up to its count.
{
	my $key = stream_with_group();
	my $first = reader($key, 'count => 2');
	waiting($key, 1);
	my $second = reader($key, 'count => 1');
	waiting($key, 2);
	sql("SELECT count(xadd('$key', fields('n', n))) FROM generate_series(1, 3) n");
	my @out = map { [ split /\n/, ($_->())[0] ] } $first, $second;
	is(join(' ', map { scalar @$_ } @out), '2 1', 'two for the first, one for the second');
	is(join(' ', sort map { @$_ } @out), '1|0 2|0 3|0', 'each of them once');
}

# So many waiting readers, by pgbench; what they were given is in table got.
sub crowd
{
	my ($key, $n, $count) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/read';

	append_to_file($file, "INSERT INTO got SELECT '$key', id FROM xreadgroup('$key', 'g', 'c' || :client_id, count => $count, block => '1 h');\n");
	my $run = IPC::Run::start([ 'pgbench', '-n', '-c', $n, '-j', 2, '-t', 1, '-f', $file, $node->connstr('postgres') ],
		'>', \my $out, '2>', \my $err);
	return ($run, waiting($key, $n));
}

sql('CREATE TABLE got(key text, id streamid)');
{
	my $key = stream_with_group();
	my ($run, @pids) = crowd($key, 50, 1);
	my %before = map { $_ => switches($_) } @pids;
	add($key, 1);
	wait_for { sql("SELECT count(*) FROM got WHERE key = '$key'") eq '1' } 'the entry';
	my %after = map { $_ => switches($_) } @pids;
	my @moved = grep { $after{$_} > $before{$_} } @pids;
	is_deeply(\@moved, [ $pids[0] ], 'of fifty waiting one entry wakes the first, and no other');
	is(waiting($key, 49), 49, 'the others stand in line');

	# An entry that is deleted in its transaction wakes nobody; acknowledgements neither.
	%before = map { $_ => switches($_) } @pids[ 1 .. 49 ];
	sql("BEGIN; SELECT xdel('$key', xadd('$key', fields('n', 0))); COMMIT");
	sql("SELECT xack('$key', 'g', array_agg(id)) FROM xpending('$key', 'g')");
	my $horizon = session('BEGIN', "SELECT xadd('$key', fields('n', 0))");
	add($key, 2, 3, 4);
	is(scalar(grep { switches($_) > $before{$_} } @pids[ 1 .. 49 ]), 0, 'what nobody may have yet wakes nobody');
	$horizon->query_safe('ROLLBACK');
	$horizon->quit;

	sql("SELECT count(xadd('$key', fields('n', n))) FROM generate_series(1, 46) n");
	$run->finish;
	is(sql("SELECT count(*), count(DISTINCT id) FROM got WHERE key = '$key'"), '50|50', 'fifty entries, one for each');
}
{
	my $key = stream_with_group();
	my ($run) = crowd($key, 300, 1);
	my $started = Time::HiRes::time();
	sql("SELECT xadd('$key', fields('n', n)) FROM generate_series(1, 100) n");
	add($key, $_) for 1 .. 5;
	sql("SELECT xadd('$key', fields('n', n)) FROM generate_series(1, 195) n");
	$run->finish;
	is(sql("SELECT count(*), count(DISTINCT id) FROM got WHERE key = '$key'"), '300|300', 'three hundred readers');
	note(sprintf 'in %.0f ms', 1000 * (Time::HiRes::time() - $started));
}

# All plain readers are woken beside the group's.
{
	my $key = stream_with_group();
	my @plain = map { background($node, "SELECT fields->>'n' FROM xread('$key', '\$', block => '1 h')") } 1 .. 3;
	my $reader = reader($key);
	waiting($key, 4);
	is(sql("SELECT count(*), count(grp), min(grp) FROM activity WHERE stream = '$key'"), '4|1|g', 'stream.activity tells them apart');
	add($key, 1);
	is(join(' ', map { ($_->())[0] } @plain, $reader), '1 1 1 1|0', 'each of them has it');
}

# Two streams: what one in line for both does not take of the second is left to the next there.
{
	my ($one, $two) = (stream_with_group(), stream_with_group());
	my $both = background($node, qq{SELECT key, fields->>'n' FROM xreadgroup_many('{$one,$two}', 'g', 'both', count => 1, maxcount => 1, block => '1 h')});
	waiting($one, 1);
	my $second = reader($two);
	waiting($two, 2);
	sql("BEGIN; SELECT xadd('$two', fields('n', 2)); SELECT xadd('$one', fields('n', 1)); COMMIT");
	is(($both->())[0], "$one|1", 'one in line for both takes from the first');
	is(($second->())[0], '2|0', 'and leaves the second to the next');
}

# --- nothing is lost with a reader that goes away ------------------------------
#
# The first in line is stopped (as a process), told of an entry, and then ends
# without having looked.

for my $end ('cancel', 'terminate', 'timeout', 'client')
{
	for my $call ("SELECT fields->>'n' FROM xreadgroup('KEY', 'g', 'gone', block => '1 h')", "CALL xwaitgroup('KEY', 'g')")
	{
		my $key = stream_with_group();
		my $sql = $call =~ s/KEY/$key/r;
		my $set = $end eq 'timeout' ? q{SET statement_timeout = '1 s'; } : q{SET client_connection_check_interval = '50 ms'; };
		my $client = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $set, '-c', $sql ],
			'>', \my $out, '2>', \my $err);
		my ($pid) = waiting($key, 1);
		my $behind = reader($key);
		waiting($key, 2);
		kill 'STOP', $pid;
		add($key, 1);
		sql("SELECT pg_${end}_backend($pid)") if $end eq 'cancel' || $end eq 'terminate';
		$client->kill_kill(grace => 0) if $end eq 'client';
		wait_for { sql("SELECT clock_timestamp() > query_start + interval '1.1 s' FROM pg_stat_activity WHERE pid = $pid") eq 't' }
			'the time' if $end eq 'timeout' || $end eq 'client';
		kill 'CONT', $pid;
		is(($behind->())[0], '1|0', "$end, told and not looked: the next has it ($call)");
		$client->finish if $end ne 'client';
		is(sql("SELECT count(*) FROM activity WHERE stream = '$key'"), '0', 'and nobody is left in line');
	}
}

# --- xwaitgroup -----------------------------------------------------------------

{
	my $key = stream_with_group();
	my $wait = background($node, "CALL xwaitgroup('$key', 'g')");
	my ($pid) = waiting($key, 1);
	is(sql("SELECT backend_xmin IS NULL, backend_xid IS NULL FROM pg_stat_activity WHERE pid = $pid"), 't|t', 'holds no snapshot');
	add($key, 1);
	is(($wait->())[0], 't', 'ready');
	is(sql("CALL xwaitgroup('$key', 'g')"), 't', 'no wait where something is there');
	is(sql("SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'c')"), '1', 'it has taken nothing');
}

# Who was told and has not come for it yet counts: the next is not told of the
# same.  Then he comes, or his session ends, or he lets a second go by.
for my $then ('reads', 'ends', 'idles')
{
	for my $try (1 .. 5)
	{
		my $key = stream_with_group();
		my $told = session();
		my $pid = $told->query_safe('SELECT pg_backend_pid()');
		$told->{stdin} .= "CALL xwaitgroup('$key', 'g');\n";
		$told->{run}->pump_nb;
		waiting($key, 1);
		my $next = background($node, "CALL xwaitgroup('$key', 'g')");
		waiting($key, 2);
		my $started = Time::HiRes::time();
		add($key, 1);
		wait_for { sql("SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $pid") eq 't' } 'the first one told';
		my $states = sql("SELECT string_agg(state, ' ' ORDER BY pid = $pid DESC) FROM activity WHERE stream = '$key'");
		if (Time::HiRes::time() - $started > 0.6)
		{
			# too slow to tell: the second is nearly over
			note('again');
			$told->quit;
			$next->();
			next;
		}
		is($states, 'told waiting', "one is told, the next is not ($then)");
		if ($then eq 'reads')
		{
			like($told->query_safe("SELECT fields->>'n' FROM xreadgroup('$key', 'g', 'c')"), qr/^1$/m, 'he comes for it');
			is(sql("SELECT string_agg(state, ' ') FROM activity WHERE stream = '$key'"), 'waiting', 'the next goes on waiting');
			add($key, 2);
		}
		$told->quit if $then eq 'ends';
		is(($next->())[0], 't', 'the next is told');
		my $took = Time::HiRes::time() - $started;
		cmp_ok($took, $then eq 'idles' ? '>=' : '<', $then eq 'idles' ? 0.9 : 1.0, sprintf 'after %.2f s', $took) unless $then eq 'reads';
		$told->quit if $then ne 'ends';
		last;
	}
}

# --- nobody sleeps while there is something to read ------------------------------
#
# As many reads as there are entries, one at a time, by sessions that wait for
# ever, some of whom roll back; were a wake-up lost, this would not end.

{
	my $key = stream_with_group();
	my $dir = PostgreSQL::Test::Utils::tempdir();
	random_seed();
	sql('CREATE TABLE done(n int); CREATE SEQUENCE given');
	append_to_file("$dir/add", "\\set n random(1, 3)\nSELECT xadd('$key', fields('n', nextval('given'))) FROM generate_series(1, :n);\n");
	append_to_file("$dir/roll", "BEGIN; SELECT xadd('$key', fields('n', 0)); ROLLBACK;\n");
	sql(qq{
		CREATE PROCEDURE consume(c text, goal int, waits bool) LANGUAGE plpgsql AS \$\$
		DECLARE id streamid; n int; ready bool;
		BEGIN
			WHILE (SELECT count(*) FROM done) < goal LOOP
				IF waits THEN CALL xwaitgroup('$key', 'g', '200 ms', ready); END IF;
				SELECT r.id, (r.fields->>'n')::int INTO id, n FROM xreadgroup('$key', 'g', c, count => 1,
					block => CASE WHEN NOT waits THEN interval '200 ms' END) r;
				IF id IS NOT NULL THEN
					IF random() < 0.1 THEN ROLLBACK; CONTINUE; END IF;
					INSERT INTO done VALUES (n);
					PERFORM xack('$key', 'g', id);
				END IF;
				COMMIT;
			END LOOP;
		END \$\$});
	my ($out, $err);
	my @adders = map { my $s = $_; IPC::Run::start([ 'pgbench', '-n', '-c', 3, '-t', 100, '-f', "$dir/add\@4", '-f', "$dir/roll\@1", $node->connstr('postgres') ],
		'>', \$out, '2>', \$err) } 1;
	my @consumers = map { background($node, "SET synchronous_commit = off; CALL consume('c$_', 100000000, " . ($_ % 2 ? 'true' : 'false') . ')') } 1 .. 6;
	$_->finish for @adders;
	my $goal = sql('SELECT last_value FROM given');
	wait_for { sql('SELECT count(*) FROM done') >= $goal } 'all that was added';
	sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%consume(%' AND pid <> pg_backend_pid()});
	$_->() for @consumers;
	is(sql('SELECT count(*), count(DISTINCT n) FROM done'), "$goal|$goal", 'everything is done, once');
}
{
	my $key = stream_with_group();
	my $dir = PostgreSQL::Test::Utils::tempdir();
	append_to_file("$dir/read", "SELECT id FROM xreadgroup('$key', 'g', 'c' || :client_id, count => 1, block => '1 h');\n");
	append_to_file("$dir/add", "SELECT xadd('$key', fields('n', 1));\n");
	my ($out, $err) = ('', '');
	my $readers = IPC::Run::start([ 'pgbench', '-n', '-c', 8, '-t', 250, '-f', "$dir/read", $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	run_command([ 'pgbench', '-n', '-c', 4, '-t', 500, '-f', "$dir/add", $node->connstr('postgres') ]);
	$readers->finish;
	is(sql("SELECT count(*) FROM xpending('$key', 'g')"), 2000, 'every entry woke somebody');
}

# A crowd in line does not hold up a stop.
{
	my $key = stream_with_group();
	my @readers = map { reader($key) } 1 .. 5;
	push @readers, map { background($node, "CALL xwaitgroup('$key', 'g')") } 1 .. 5;
	waiting($key, 10);
	$node->stop('fast');
	$_->() for @readers;
	pass('a fast stop is not held up');
}

done_testing();
