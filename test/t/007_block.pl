# Waiting: woken by a commit and by nothing else, ended by time, cancel and
# termination; CALL xwait holds no snapshot.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;
use Time::HiRes ();

my $node = stream_node('block');

# A session that waits, as the server sees it.
sub waiting
{
	my ($n, $like) = @_;
	$like ||= '%';
	return wait_for {
		$node->safe_psql('postgres', qq{
			SELECT count(*) >= $n FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query LIKE '$like' AND pid <> pg_backend_pid()}) eq 't'
	} "$n waiting";
}

sub add
{
	my ($key, $n) = @_;
	return $node->safe_psql('postgres', qq{SELECT stream.xadd('$key', stream.fields('n', $n))});
}

# Woken by a commit, in a stream with entries and in one that is not there yet.
add('s', 0);
for my $key ('s', 'made later')
{
	my $reader = background($node, qq{SELECT fields FROM stream.xread('$key', '\$', block => '1 h')});
	waiting(1);
	my $started = Time::HiRes::time();
	add($key, 1);
	my ($out, $err) = $reader->();
	is($out, '{"n": "1"}', "woken by an add to '$key'") or diag($err);
	note(sprintf 'within %.1f ms', 1000 * (Time::HiRes::time() - $started));
}

# Not by a rollback, not by an add that is deleted in the same transaction, not by an uncommitted one.
my $reader = background($node, q{SELECT fields FROM stream.xread('s', '$', block => '1 h')});
waiting(1);
$node->safe_psql('postgres', q{BEGIN; SELECT stream.xadd('s', '{"n":"rolled back"}'); ROLLBACK});
$node->safe_psql('postgres', q{BEGIN; SELECT stream.xdel('s', stream.xadd('s', '{"n":"deleted"}')); COMMIT});
my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN; SELECT stream.xadd('s', '{"n":"open"}')});
is($reader->('peek'), '', 'nothing seen of it');
$open->query_safe('COMMIT');
$open->quit;
is(($reader->())[0], '{"n": "open"}', 'the commit is');

# All entries of a transaction come together, those of a later one with them if they are there.
$reader = background($node, q{SELECT count(*) FROM stream.xread('s', '$', block => '1 h')});
waiting(1);
$node->safe_psql('postgres', q{SELECT count(stream.xadd('s', stream.fields('n', n))) FROM generate_series(1, 3) n});
is(($reader->())[0], '3', 'a transaction of three');

# Several streams, one named twice.
$reader = background($node, q{SELECT key, fields FROM stream.xread_many('{not there,s}', '{$,$}', block => '1 h')});
waiting(1);
add('s', 7);
is(($reader->())[0], 's|{"n": "7"}', 'woken where an earlier one of the list is missing');
$reader = background($node, q{SELECT key, fields FROM stream.xread_many('{x,s,y,s}', '{$,$,$,$}', block => '1 h')});
waiting(1);
add('y', 9);
is(($reader->())[0], 'y|{"n": "9"}', 'whichever is first');

# The newest entry of an empty stream.
$node->safe_psql('postgres', q{SELECT stream.xcreate('empty')});
$reader = background($node, q{SELECT fields FROM stream.xread('empty', '+', block => '1 h')});
waiting(1);
add('empty', 1);
is(($reader->())[0], '{"n": "1"}', '+ waits where there is none');

# A stream that ran dry: the position is above every live entry.
$node->safe_psql('postgres', q{SELECT stream.xadd('dry', '{"n":1}', '666-0'), stream.xdel('dry', '666-0')});
$reader = background($node, q{SELECT id FROM stream.xread('dry', '665', block => '1 h')});
waiting(1);
$node->safe_psql('postgres', q{SELECT stream.xadd('dry', '{"n":2}', '667-0')});
is(($reader->())[0], '667-0', 'not woken by what was deleted');

# Many at once, each gets it.
my @readers = map { background($node, q{SELECT fields FROM stream.xread('s', '$', block => '1 h')}) } 1 .. 40;
waiting(40);
add('s', 4);
my %answers;
$answers{ ($_->())[0] }++ for @readers;
is_deeply(\%answers, { '{"n": "4"}' => 40 }, 'forty readers are served by one add');

# Time runs out: no rows, about then.
my $started = Time::HiRes::time();
is($node->safe_psql('postgres', q{SELECT count(*) FROM stream.xread('s', '$', block => '300 ms')}), 0, 'nothing came');
cmp_ok(Time::HiRes::time() - $started, '>=', 0.3, 'and it waited');
is(sqlstate($node, q{SET statement_timeout = '100 ms'; SELECT * FROM stream.xread('s', '$', block => '1 h')}), '57014', 'statement_timeout');
is(sqlstate($node, q{SET statement_timeout = '100 ms'; CALL stream.xwait('s', '$')}), '57014', 'statement_timeout of xwait');

# Cancelled, terminated; whoever waits behind is still served.
for my $call (q{SELECT fields FROM stream.xread('s', '$', block => '1 h')}, q{CALL stream.xwait('s', '$', '1 h')})
{
	for my $end ('cancel', 'terminate')
	{
		my $gone = background($node, "$call -- first");
		waiting(1, '%first%');
		my $behind = background($node, "$call -- behind");
		waiting(1, '%behind%');
		$node->safe_psql('postgres', qq{SELECT pg_${end}_backend(pid) FROM pg_stat_activity WHERE query LIKE '%first%' AND pid <> pg_backend_pid()});
		my ($out, $err) = $gone->();
		like($err, $end eq 'cancel' ? qr/57014/ : qr/57P01/, "$end during $call");
		add('s', 5);
		like(($behind->())[0], qr/"5"|^t/, 'the one behind it is served');
	}
}

# A client that goes away is noticed.
my $lost = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c',
	q{SET client_connection_check_interval = '50 ms'}, '-c', q{SELECT * FROM stream.xread('s', '$', block => '1 h') -- lost} ],
	'>', \my $lost_out, '2>', \my $lost_err);
waiting(1, '%lost%');
$lost->signal('KILL');
$lost->finish;
wait_for {
	$node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%lost%' AND pid <> pg_backend_pid()}) eq '0'
} 'the backend of a client that is gone';
pass('a client that is gone is noticed');

# CALL xwait holds no snapshot, and tells where to read on.
my $wait = background($node, q{CALL stream.xwait('s', '$', '1 h')});
waiting(1);
is($node->safe_psql('postgres', q{SELECT count(*), count(backend_xmin), count(backend_xid) FROM pg_stat_activity WHERE query LIKE 'CALL%'}),
	'1|0|0', 'a session in xwait pins nothing');
my $tail = $node->safe_psql('postgres', q{SELECT stream.xtail('s')});
my $id = add('s', 6);
is(($wait->())[0], "t|$tail", 'ready, and what $ was');
is($node->safe_psql('postgres', qq{SELECT id FROM stream.xread('s', '$tail')}), $id, 'read on from there');
is($node->safe_psql('postgres', qq{CALL stream.xwait('s', '$tail', '1 h')}), "t|$tail", 'no wait where something is there');
is(sqlstate($node, q{BEGIN; CALL stream.xwait('s', '$', '1 h')}), '25001', 'refused inside a transaction block');
like(($node->psql('postgres', q{BEGIN; CALL stream.xwait('s', '$', '1 h')}))[2], qr/HINT:/, 'with a hint');
is(sqlstate($node, q{DO $$ DECLARE ready bool; pos stream.streamid; BEGIN CALL stream.xwait('s', '$', '10 ms', ready, pos); END $$}), '', 'a procedure that may commit may call it');
is(sqlstate($node, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM stream.xread('s', '$', block => '1 s')}), '25001',
	'block is refused under a snapshot that stands still');

# No entry is missed by a loop of xwait and read, whatever happens meanwhile.
$node->safe_psql('postgres', q{
	CREATE TABLE got(n int);
	CREATE PROCEDURE consume(goal int) LANGUAGE plpgsql AS $$
	DECLARE pos text := '0-0'; ready bool; p stream.streamid; c int := 0; m text;
	BEGIN
		WHILE c < goal LOOP
			CALL stream.xwait('loop', pos::stream.streampos, '10 s', ready, p);
			WITH r AS (SELECT id, (fields->>'n')::int AS n FROM stream.xread('loop', pos::stream.streampos)),
				i AS (INSERT INTO got SELECT n FROM r)
			SELECT count(*), max(id)::text INTO c, m FROM (SELECT id FROM r) x;
			pos := coalesce(m, pos);
			SELECT count(*) INTO c FROM got;
			COMMIT;
		END LOOP;
	END $$;
	ALTER DATABASE postgres SET search_path = public, stream});
my $consumer = background($node, 'CALL consume(500)');
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/one", q{SELECT xadd('loop', fields('n', :client_id)); });
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 5, '-t', 100, '-f', "$dir/one", $node->connstr('postgres') ]);
($out, $err) = $consumer->();
is($err, '', 'the consumer ended');
is($node->safe_psql('postgres', 'SELECT count(*) FROM got'), 500, 'with all of it');

# Nobody is woken by what he cannot read: a crowd of readers, xread and xwait,
# with and without a transaction that has added to the stream itself.
{
	my $sql = sub { return $node->safe_psql('postgres', $_[0]) };
	my $crowd = sub {
		my ($script, $n) = @_;
		my $file = PostgreSQL::Test::Utils::tempdir() . '/crowd';
		append_to_file($file, $script);
		return IPC::Run::start([ 'pgbench', '-n', '-c', $n, '-j', 2, '-t', 1, '-f', $file, $node->connstr('postgres') ],
			'>', \my $out, '2>', \my $err);
	};
	$sql->(q{CREATE TABLE crowd(n int, kind text);
		SELECT xgroup_create('quiet', 'g', mkstream => true);
		SELECT count(xadd('quiet', fields('n', n))) FROM generate_series(1, 20) n;
		SELECT count(*) FROM xreadgroup('quiet', 'g', 'c', count => 10)});
	my @runs = (
		$crowd->("INSERT INTO crowd SELECT (fields->>'n')::int, 'reader' FROM xread('quiet', '\$', block => '1 h');\n", 30),
		$crowd->("CALL xwait('quiet', '\$', '1 h');\nINSERT INTO crowd SELECT max((fields->>'n')::int), 'asker' FROM xrange('quiet');\n", 15));
	wait_for { $sql->(q{SELECT count(*) = 45 FROM activity WHERE stream = 'quiet' AND state = 'waiting'}) eq 't' } 'the crowd';
	push @runs, $crowd->("BEGIN;\nSELECT xadd('quiet', fields('n', 0));\nSELECT xread('quiet', xtail('quiet')::streampos, block => '1 h');\nROLLBACK;\n", 1);
	wait_for { $sql->(q{SELECT count(*) = 46 FROM activity WHERE stream = 'quiet' AND state = 'waiting'}) eq 't' } 'and one that has added';
	my %before = map { $_ => switches($_) } split /\n/, $sql->(q{SELECT pid FROM activity WHERE stream = 'quiet' AND state = 'waiting'});
	my $open = $node->background_psql('postgres');

	$sql->($_) for
		q{SELECT xack('quiet', 'g', (SELECT min(id) FROM xpending('quiet', 'g')))},
		q{SELECT xnack('quiet', 'g', 'FAIL', (SELECT array_agg(id) FROM xpending('quiet', 'g')))},
		q{SELECT count(*) FROM xreadgroup('quiet', 'g', 'c', count => 2)},
		q{SELECT xgroup_create('quiet', 'h', '0'), xgroup_destroy('quiet', 'h')},
		q{SELECT xdel('quiet', (SELECT max(id) FROM xrange('quiet')))},
		q{SELECT xtrim('quiet', maxlen => 12)},
		q{BEGIN; SELECT xadd('quiet', fields('n', 0)); ROLLBACK},
		q{BEGIN; SELECT xadd('quiet', fields('n', 0)); SAVEPOINT a; SELECT xadd('quiet', fields('n', 0)); ROLLBACK TO a; ROLLBACK},
		q{BEGIN; SELECT xdel('quiet', xadd('quiet', fields('n', 0))); COMMIT};
	$open->query_safe(q{BEGIN; SELECT xadd('quiet', fields('n', 21))});
	# they lie behind the open one, even for who has one of his own below it
	add('quiet', 22) for 1 .. 3;
	my $started = Time::HiRes::time();
	wait_for { Time::HiRes::time() > $started + 0.5 } 'a moment';
	is(scalar(grep { switches($_) > $before{$_} } keys %before), 0, 'what nobody can read wakes none of forty-six');
	$open->query_safe('COMMIT');
	$open->quit;
	$_->finish for @runs;
	is($sql->(q{SELECT kind, count(*), max(n) FROM crowd GROUP BY kind ORDER BY kind}), "asker|15|22\nreader|120|22",
		'the end of who was in the way wakes them all');
}

# Nor is anybody left asleep whom more concerns than entries.
{
	my %ends = (
		q{SELECT xdrop('KEY'); SELECT xadd('KEY', fields('n', 2))} => '2',
		q{SELECT xrename('KEY', 'KEY renamed'); SELECT xadd('KEY', fields('n', 2))} => '2',
		q{BEGIN; SELECT xdrop('KEY'); SELECT xrename('other KEY', 'KEY'); COMMIT} => '1',
		q{SELECT xrevoke('KEY', 'SELECT', 'reader')} => 'ERROR');
	my $n = 0;
	$node->safe_psql('postgres', q{CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA stream TO reader});
	for my $end (sort keys %ends)
	{
		my $key = 'ends ' . ++$n;
		my $sql = $end =~ s/KEY/$key/gr;
		$node->safe_psql('postgres', qq{SELECT xadd('$key', fields('n', 0), '1-0'); SELECT xadd('other $key', fields('n', 1), '2-0'); SELECT xgrant('$key', 'SELECT', 'reader')});
		my $reader = background($node, ($end =~ /revoke/ ? 'SET ROLE reader; ' : '') . qq{SELECT fields->>'n' FROM xread('$key', '1', block => '1 h') -- $key});
		waiting(1, "%-- $key");
		$node->safe_psql('postgres', $sql);
		my ($out, $err) = $reader->();
		is($out ne '' ? $out : $err =~ /42501/ ? 'ERROR' : $err, $ends{$end}, $sql);
	}
}

# A standing crowd of waiters takes no lock and does not hold up a stop.
@readers = map { background($node, q{CALL stream.xwait('s', '$', '1 h')}) } 1 .. 20;
waiting(20);
$node->stop('fast');
$_->() for @readers;
pass('a fast stop is not held up');

done_testing();
