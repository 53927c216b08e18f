# NOTIFY for new entries: who listens is told, once for many, by a worker that
# comes and goes by itself and is in nobody's way.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;
use Time::HiRes ();

my $node = stream_node('signals', streaming => 1);
my $tool = "$ENV{STREAM_TREE}/test/drivers/psycopg3_listen.py";

# A client that follows streams, as the file says.  ->() gives what it was told
# so far, a line each: channel, payload, entries read, last of them.
# ->('stop') ends it.
sub follow
{
	my ($dbname, @streams) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/told';

	append_to_file($file, '');
	my $run = IPC::Run::start([ '/usr/bin/python3', $tool, 'follow', $node->host, $node->port, $dbname, @streams ],
		'>', $file, '2>', "$file.err");
	wait_for { slurp_file($file) =~ /^listening\n/ } "a listener in $dbname";

	return sub {
		return grep { $_ ne 'listening' } split /\n/, slurp_file($file) unless @_;
		$node->safe_psql($dbname, 'NOTIFY stop') if $_[0] eq 'stop';
		wait_for { !$run->pumpable } 'the end of a listener';
		$run->finish;
		return slurp_file("$file.err");
	};
}

# Wait until it was told something of a channel that matches.
sub told
{
	my ($client, $channel, $rest, $what) = @_;
	return wait_for { grep { /^\Q$channel\E $rest$/ } $client->() } $what || "$channel $rest";
}

sub times_told
{
	my ($client, $channel) = @_;
	return scalar grep { /^\Q$channel\E / } $client->();
}

sub add
{
	my ($key, $dbname) = @_;
	return $node->safe_psql($dbname || 'postgres', qq{SELECT stream.xadd('$key', '{"a":1}')});
}

# The workers there are, by database.
sub workers
{
	my ($n) = @_;
	return $n->safe_psql('postgres',
		q{SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_stat_activity WHERE backend_type = 'stream signals'});
}

sub have_workers
{
	my ($want) = @_;
	return wait_for { workers($node) eq $want } "workers in: $want";
}

# --- being told ---

is(workers($node), '', 'no worker where nobody listens');
add('s');
add('other');
is(workers($node), '', 'nor where something is added');

my $client = follow('postgres', 's', 'later', 'marker', '=other');
have_workers('postgres');
like($node->safe_psql('postgres', q{SELECT datname || ' ' || wait_event_type FROM pg_stat_activity WHERE backend_type = 'stream signals'}),
	qr/^postgres Extension$/, 'it sleeps in the database');

my $id = add('s');
ok(told($client, 'stream.s', "$id 2 $id"), 'told of an entry, with its id, and it can be read');
$id = add('later');
ok(told($client, 'stream.later', "$id 1 $id"), 'told of a stream that was not there');
$node->safe_psql('postgres', q{SELECT stream.xdrop('later')});
$id = $node->safe_psql('postgres', q{SELECT stream.xadd('later', '{"a":1}', '9999999999999-0')});
ok(told($client, 'stream.later', "$id 2 $id"), 'and when it was dropped and made anew');

my ($median, $most) = split / /, (run_command([ '/usr/bin/python3', $tool, 'latency', $node->host, $node->port, 'postgres' ]))[0];
note("$median ms, at most $most ms");
cmp_ok($median, '<', 100, 'told within milliseconds');

# Nothing is said of what was rolled back, of removals, of streams that only
# others' channels name.  (The marker comes last: what there was to say before it
# has been said.)
my $before = times_told($client, 'stream.s');
$node->safe_psql('postgres', q{BEGIN; SELECT stream.xadd('s', '{"a":1}'); ROLLBACK});
$node->safe_psql('postgres', q{BEGIN; SAVEPOINT a; SELECT stream.xadd('s', '{"a":1}'); ROLLBACK TO a; COMMIT});
$node->safe_psql('postgres', q{SELECT stream.xdel('s', id) FROM stream.xrange('s', count => 1)});
$node->safe_psql('postgres', q{SELECT stream.xsetid('s', '7777777777777-0')});
add('other');
$id = add('marker');
told($client, 'stream.marker', "$id 1 $id");
is(times_told($client, 'stream.s'), $before, 'not told of what was rolled back, nor of a removal');
is(times_told($client, 'stream.other'), 0, 'not told without xlisten');

# A stream whose name nobody listened to gets one that somebody does.
add('before');
$node->safe_psql('postgres', q{SELECT stream.xdrop('later'); SELECT stream.xrename('before', 'later')});
$id = add('later');
ok(told($client, 'stream.later', "$id .*"), 'told of a stream that was renamed to the name');

# An entry above another's reservation cannot be read before that is decided: told
# when it is committed, and again when it can be read.
for my $end ('ROLLBACK', 'ROLLBACK TO a', 'COMMIT')
{
	my $open = $node->background_psql('postgres');
	my $read = [ grep { /^stream.s / } $client->() ]->[-1] =~ s/^\S+ \S+ (\d+) .*/$1/r;

	$open->query_safe(q{BEGIN; SAVEPOINT a; SELECT stream.xadd('s', '{"a":"open"}')});
	$id = add('s');
	told($client, 'stream.s', "$id $read .*", "an entry above a reservation");
	pass("told of an entry above a reservation");
	$open->query_safe($end);
	my $now = $read + ($end eq 'COMMIT' ? 2 : 1);
	ok(told($client, 'stream.s', "$id $now $id"), "and when it can be read, after $end");
	$open->quit;
}

# --- once for many ---

$before = times_told($client, 'stream.s');
$node->safe_psql('postgres', q{SELECT count(stream.xadd('s', stream.fields('n', n))) FROM generate_series(1, 10000) n});
$id = $node->safe_psql('postgres', q{SELECT stream.xtail('s')});
told($client, 'stream.s', "$id \\d+ $id", 'ten thousand in one transaction');
cmp_ok(times_told($client, 'stream.s') - $before, '<=', 2, 'ten thousand entries in a transaction are told once');

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/add.sql", q{SELECT stream.xadd('s', '{"a":1}');});
$before = times_told($client, 'stream.s');
my $started = Time::HiRes::time();
run_command([ 'pgbench', '-n', '-c', 5, '-t', 2000, '-f', "$dir/add.sql", $node->connstr('postgres') ]);
$id = $node->safe_psql('postgres', q{SELECT stream.xtail('s')});
my $length = $node->safe_psql('postgres', q{SELECT stream.xlen('s')}) + 1;	# and the one deleted
told($client, 'stream.s', "$id $length $id", 'the last of ten thousand transactions');
my $times = times_told($client, 'stream.s') - $before;
my $seconds = Time::HiRes::time() - $started;
note(sprintf '%d notifications in %.1f s', $times, $seconds);
cmp_ok($times, '<=', 100 * $seconds + 2, 'ten thousand transactions make a hundred notifications a second at most');
is([ split / /, [ grep { /^stream.s / } $client->() ]->[-1] ]->[1], $id, 'the last of them tells the newest id');
is($client->('stop'), '', 'a client that follows reads everything, and ends');
have_workers('');

# --- registering ---

# Names of every kind; more streams than are told in one transaction.
my @names = ('Upper "quoted"', "it's", 'x' x 56, 'x' x 57, 'y' x 512, '#', '');
$client = follow('postgres', map({ "many$_" } 1 .. 200), @names);
$node->safe_psql('postgres', q{SELECT count(stream.xadd('many' || n, '{"a":1}')) FROM generate_series(1, 200) n});
told($client, "stream.many$_", '\S+ 1 .*') for 1 .. 200;
pass('two hundred streams in a transaction');
for my $name (@names)
{
	(my $quoted = $name) =~ s/'/''/g;
	my $channel = $node->safe_psql('postgres', "SELECT stream.channel('$quoted')");

	add($quoted);
	ok(told($client, $channel, '\S+ 1 .*'), "told of a stream on $channel");
}

# Two sessions for one stream; one that takes it back, one that ends, one that is
# reset as poolers do.
my $session = $node->background_psql('postgres');
$session->query_safe(q{SELECT stream.xlisten('many1'), stream.xlisten('many1'), stream.xunlisten('unknown')});
$client->('stop');
have_workers('postgres');
$client = follow('postgres', '=many1');
$id = add('many1');
ok(told($client, 'stream.many1', "$id 2 $id"), 'the worker sends while one session is registered, to whoever listens');
$session->query_safe(q{SELECT stream.xunlisten('many1')});
have_workers('');
pass('xunlisten ends it');
for my $reset ('DISCARD ALL', q{BEGIN; SELECT stream.xunlisten('many1'); ROLLBACK})
{
	$session->query_safe(q{BEGIN; SELECT stream.xlisten('many1'); ROLLBACK});
	have_workers('postgres');
	pass('xlisten is not undone by a rollback');
	$session->query_safe($reset);
	have_workers('');
	pass("$reset ends it");
}
$session->quit;
$client->('stop');

# It outlives the extension.
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->safe_psql('again', 'CREATE EXTENSION stream');
$client = follow('again', 's');
$node->safe_psql('again', 'DROP EXTENSION stream');
$node->safe_psql('again', 'CREATE EXTENSION stream');
$node->safe_psql('again', q{SELECT stream.xadd('s', '{"a":1}', '1-0')});
ok(told($client, 'stream.s', '1-0 1 1-0'), 'told of the same name in the extension made anew');

# Several databases, a worker each; they hear nothing of each other.
my $here = follow('postgres', 's', 'marker');
have_workers('again postgres');
$node->safe_psql('again', q{SELECT stream.xadd('s', '{"a":1}', '2-0')});
told($client, 'stream.s', '2-0 2 2-0');
$id = add('marker');
told($here, 'stream.marker', "$id \\d+ $id");
is(times_told($here, 'stream.s'), 0, 'nothing is said of another database');
$client->('stop');
have_workers('postgres');
$here->('stop');

# Sessions that come and go leave nothing behind.
my $used = $node->safe_psql('postgres', 'SELECT used FROM stream.memory');
append_to_file("$dir/come_and_go.sql", q{
\set n random(1, 5)
SELECT stream.xlisten('go' || :n), stream.xadd('many' || :n, '{"a":1}');
SELECT stream.xlisten('many' || :n);
SELECT stream.xadd('many' || :n, '{"a":1}', maxlen => 100), stream.xunlisten('go' || :n);
});
my ($out, $err) = run_command([ 'pgbench', '-n', '-C', '-c', 6, '-t', 60, '-f', "$dir/come_and_go.sql", $node->connstr('postgres') ]);
unlike($err, qr/ERROR|FATAL|WARNING|aborted/, 'sessions come and go');
have_workers('');
cmp_ok($node->safe_psql('postgres', 'SELECT used FROM stream.memory'), '<', $used + 65536, 'and leave nothing behind');
$client = follow('postgres', 'many1');
$id = add('many1');
ok(told($client, 'stream.many1', "$id \\d+ $id"), 'listening works as before');
$client->('stop');

# --- the worker comes to harm ---

$client = follow('postgres', 's');
have_workers('postgres');
is($node->safe_psql('postgres', q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'stream signals'}), 1, 'terminated');
$id = add('s');
ok(told($client, 'stream.s', "$id \\d+ $id"), 'it comes again, and says what there was to say');

# Somebody holds the lock on all notifications: adds do not notice.
$node->safe_psql('postgres', 'CREATE TABLE told(n int)');
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'\n");
$node->reload;
wait_for { $node->safe_psql('postgres', 'SHOW synchronous_standby_names') eq 'nobody' } 'the setting';
# (One of them, once the checkpointer has passed the setting on.)
my $stuck = background($node, "WITH i AS (INSERT INTO told VALUES (1)) SELECT pg_notify('something', '');\n" x 5000, go_on => 1);
wait_for { $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'}) eq '1' } 'a stuck NOTIFY';
$id = $node->safe_psql('postgres', q{SET synchronous_commit = local; SELECT stream.xadd('s', '{"a":1}')});
wait_for { slurp_file($node->logfile) =~ /55P03 ERROR/ } 'the worker giving up';
pass('an add does not wait for the lock on notifications');
is(times_told($client, 'stream.s'), 1, 'the worker does');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$node->reload;
$stuck->();
ok(told($client, 'stream.s', "$id \\d+ $id"), 'and says it later');
$client->('stop');
have_workers('');

# --- being in nobody's way ---

# As soon as the listeners have gone, each at the first attempt.
$node->safe_psql('postgres', 'CREATE DATABASE wanted TEMPLATE again');
for my $command ('CREATE DATABASE copy TEMPLATE wanted', 'ALTER DATABASE wanted RENAME TO renamed', 'DROP DATABASE wanted')
{
	$node->safe_psql('postgres', 'ALTER DATABASE renamed RENAME TO wanted') if $command =~ /DROP/;
	for my $round (1 .. 3)
	{
		next if $round > 1 && $command !~ /COPY/i;
		my $session = $node->background_psql('wanted');

		$session->query_safe(q{SELECT stream.xlisten('s')});
		# with the worker there, and while it is on its way
		have_workers('wanted') if $round == 1;
		$session->quit;
		$started = Time::HiRes::time();
		is(($node->psql('postgres', $command))[2], '', $command);
		note(sprintf '%.2f s', Time::HiRes::time() - $started);
		$node->safe_psql('postgres', 'DROP DATABASE copy') if $command =~ /copy/;
	}
}
have_workers('');

# A session that copies its own database while it listens.
$session = $node->background_psql('again');
$session->query_safe(q{SELECT stream.xlisten('s')});
have_workers('again');
$session->query_safe('CREATE DATABASE copy TEMPLATE again');
have_workers('again');
pass('a session copies its own database while it listens, and the worker comes back');
$session->quit;
$node->safe_psql('postgres', 'DROP DATABASE copy');

# FORCE, by an owner who may not end a superuser's processes; and a drop that is
# refused leaves all as it was.
$node->safe_psql('postgres', q{
	CREATE ROLE plain LOGIN CREATEDB; CREATE DATABASE owned OWNER plain TEMPLATE again});
$node->safe_psql('owned', 'GRANT ALL ON SCHEMA stream TO plain');
my $plain = background($node, "\\c - plain\n" . q{SELECT stream.xlisten('mine'); SELECT * FROM stream.xread('none', '$', block => '1 h')}, dbname => 'owned', go_on => 1);
have_workers('owned');
isnt(sqlstate($node, 'SET ROLE plain; DROP DATABASE owned'), '', 'a database with sessions is not dropped');
have_workers('owned');
pass('and its worker comes back');
is(sqlstate($node, 'SET ROLE plain; DROP DATABASE owned WITH (FORCE)'), '', 'WITH (FORCE) it is, by its owner');
$plain->();
have_workers('');

# --- the end ---

# The server stops at once, and a client that reconnects is served again.
$client = follow('postgres', 's');
have_workers('postgres');
$started = Time::HiRes::time();
$node->stop('fast');
cmp_ok(Time::HiRes::time() - $started, '<', 10, 'a fast stop is not held up');
$client->('gone');
$node->start;
is(workers($node), '', 'nothing is left after a restart');
$client = follow('postgres', 's');
$id = add('s');
ok(told($client, 'stream.s', "$id \\d+ $id"), 'and listening again works');

# Killed, it takes the server down, and does not come back uncalled.
my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'stream signals'});
kill 'KILL', $pid;
$client->('gone');
wait_for { (run_command([ 'psql', '-XAtc', 'SELECT 1', '-d', $node->connstr('postgres') ]))[0] eq '1' } 'the restart after a crash';
$client = follow('postgres', 's');
have_workers('postgres');
$id = add('s');
ok(told($client, 'stream.s', "$id \\d+ $id"), 'after a crash too');
$client->('stop');
have_workers('');

# In the course of pg_upgrade there is none.
$node->stop;
system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b --cluster-name=upgraded', 'start');
is($node->safe_psql('postgres', q{
	SELECT stream.xlisten('s'), stream.xadd('s', '{"a":1}');
	SELECT * FROM stream.xread('s', '$', block => '500 ms');
	SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'stream signals'}) =~ s/.*\n//sr, 0, 'no worker in binary upgrade');
system_or_bail('pg_ctl', '-w', '-D', $node->data_dir, 'stop');
$node->start;

# --- no room for a worker ---

# Two slots, one of which the server's own launcher has.
$node->append_conf('postgresql.conf', "max_worker_processes = 2\n");
$node->restart;
my $first = follow('again', 's');
have_workers('again');
my (undef, undef, $warning) = $node->psql('postgres', q{SELECT stream.xlisten('s')});
like($warning, qr/WARNING:.*\n.*\n?HINT:.*max_worker_processes/s, 'a warning with a hint where there is no worker to be had');
$client = follow('postgres', 's');
add('s');
$first->('stop');
wait_for { add('s'); workers($node) eq 'postgres' } 'a worker, once there is room';
$id = add('s');
ok(told($client, 'stream.s', "$id \\d+ $id"), 'served as soon as there is room');
$client->('stop');

done_testing();
