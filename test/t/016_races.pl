# Races that need real concurrency: wake-ups that must not be lost, names that
# change hands while others look, deletions counted once.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', conf => "synchronous_commit = off\n");

# Ping-pong: each side adds one entry and waits without a limit for the other's.
# A lost wake-up would stop both.
$node->safe_psql('postgres', q{
	CREATE PROCEDURE play(mine text, yours text, serves bool, rounds int) LANGUAGE plpgsql AS $$
	DECLARE last stream.streamid := '0-0';
	BEGIN
		FOR n IN 1..rounds LOOP
			IF serves THEN
				PERFORM stream.xadd(mine, stream.fields('n', n));
				COMMIT;
			END IF;
			SELECT r.id INTO STRICT last FROM stream.xread(yours, last, block => '0') r;
			IF NOT serves THEN
				PERFORM stream.xadd(mine, stream.fields('n', n));
				COMMIT;
			END IF;
		END LOOP;
	END $$});
for my $pair (1 .. 3)
{
	my @players = (
		background($node, "CALL play('a$pair', 'b$pair', true, 2000)"),
		background($node, "CALL play('b$pair', 'a$pair', false, 2000)"));
	for my $p (@players)
	{
		my ($out, $err) = $p->();
		is($err, '', "pair $pair played to the end");
	}
	is($node->safe_psql('postgres', "SELECT stream.xlen('a$pair') + stream.xlen('b$pair')"), 4000, "pair $pair added everything");
}

# A name is dropped, made, dropped again and made in all ways while others read
# and add: no backend hangs, nothing of one stream shows in another.
my $scripts = $node->basedir . '/scripts';
mkdir $scripts;
append_to_file("$scripts/cycle.sql", q{
BEGIN;
SELECT stream.xdrop('name');
SELECT stream.xadd('name', '{"in":"name"}');
SELECT stream.xdrop('name');
COMMIT;
BEGIN;
SELECT stream.xdrop('name');
SELECT stream.xadd('name', '{"in":"name"}');
SELECT stream.xdrop('name');
SELECT stream.xadd('name', '{"in":"name"}');
COMMIT;
BEGIN;
SELECT stream.xadd('name', '{"in":"name"}');
SAVEPOINT s;
SELECT stream.xdrop('name');
SELECT stream.xadd('name', '{"in":"name"}');
ROLLBACK TO s;
SELECT stream.xadd('other', '{"in":"other"}');
COMMIT;
SELECT stream.xdrop('other');
});
append_to_file("$scripts/read.sql", q{
SELECT 1 / (1 - count(*)) FROM stream.xrange('name') WHERE stream.streamfields_get(fields, 'in') <> 'name' HAVING count(*) = 1;
SELECT 1 / (1 - count(*)) FROM stream.xrange('other') WHERE stream.streamfields_get(fields, 'in') <> 'other' HAVING count(*) = 1;
SELECT stream.xexists('name'), stream.xlen('other');
SELECT count(*) FROM stream.streams;
});
append_to_file("$scripts/add.sql", q{
SELECT stream.xadd('name', '{"in":"name"}');
SELECT stream.xadd('other', '{"in":"other"}', mkstream => false);
});
$node->command_ok(
	[ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', 6, '--max-tries=1',
		'-f', "$scripts/cycle.sql\@2", '-f', "$scripts/read.sql\@4", '-f', "$scripts/add.sql\@3",
		'-d', $node->connstr('postgres') ],
	'names change hands under load');
is($node->safe_psql('postgres', q{SELECT count(*) FROM stream.activity}), 0, 'nothing is left behind');
my $state = logical_state($node);
$node->safe_psql('postgres', 'CHECKPOINT');	# commits here are asynchronous: an immediate stop could forget the last
$node->stop('immediate');
$node->start;
is(logical_state($node), $state, 'what was seen is what the journal says');

# Many delete the same ids: each counts once.
$node->safe_psql('postgres', q{
	SELECT count(stream.xadd('d', stream.fields('n', n), n || '-0')) FROM generate_series(1, 3000) n;
	CREATE TABLE deleted(n bigint)});
my @deleters = map {
	my $start = 1 + $_ * 37;
	background($node, join("\n", map {
		my $first = ($start + $_ * 11) % 2990;
		"BEGIN; INSERT INTO deleted SELECT stream.xdel('d', array(SELECT (i || '-0')::stream.streamid FROM generate_series($first, $first + 9) i)); "
		  . ($_ % 5 == 0 ? 'ROLLBACK;' : 'COMMIT;')
	} 1 .. 200))
} 0 .. 3;
is(($_->())[1], '', 'deleter ended well') for @deleters;
is($node->safe_psql('postgres', q{SELECT sum(n) + stream.xlen('d') FROM deleted}), 3000, 'every entry was deleted at most once');

# A reader that waits for a missing stream is woken whatever becomes of the name
# within the transaction that makes it.
my $waiters = join("\n", map {"SELECT count(*) FROM stream.xread('late$_', '0', block => '0');"} 1 .. 60);
my @waiting = map { background($node, $waiters) } 1 .. 3;
for my $n (1 .. 60)
{
	wait_for { $node->safe_psql('postgres', "SELECT count(*) >= 3 FROM pg_stat_activity WHERE query LIKE '%xread(''late$n''%' AND wait_event_type = 'Extension'") eq 't' } 'three waiters';
	$node->safe_psql('postgres', $n % 2
		? "BEGIN; SELECT stream.xadd('late$n', '{\"n\":1}'); SELECT stream.xdrop('late$n'); SELECT stream.xadd('late$n', '{\"n\":2}'); COMMIT"
		: "SELECT stream.xcreate('late$n'); SELECT stream.xdrop('late$n'); SELECT stream.xadd('late$n', '{\"n\":2}')");
}
is(join(' ', $_->()), join("\n", (1) x 60) . ' ', 'a waiter was woken every time') for @waiting;

# Two who wait for a third do not wait for each other: drops from everywhere.
append_to_file("$scripts/drop.sql", q{
SELECT stream.xadd('dropped', '{"a":1}');
SELECT stream.xdrop('dropped');
});
$node->command_ok([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 300, '-f', "$scripts/drop.sql", '-d', $node->connstr('postgres') ],
	'eight drop and make one stream');

# There is always somebody who has added to the stream and not committed: who needs
# it to himself gets through all the same.
append_to_file("$scripts/busy.sql", q{
BEGIN;
SELECT stream.xadd('busy', '{"a":1}');
\sleep 50 ms
COMMIT;
});
$node->safe_psql('postgres', q{SELECT stream.xcreate('busy')});
my $load = IPC::Run::start(
	[ 'pgbench', '-n', '-c', 6, '-j', 1, '-T', 600, '-f', "$scripts/busy.sql", '-d', $node->connstr('postgres') ],
	'>', "$scripts/busy.out", '2>', "$scripts/busy.err");
for my $change ("xcfgset('busy', node_max_entries => 50)", "xsetid('busy', '9999999999999-0')", "xrename('busy', 'calm')",
	"xdrop('busy')")
{
	wait_for { $node->safe_psql('postgres', q{SELECT count(*) >= 4 FROM stream.activity WHERE stream = 'busy'}) eq 't' } 'a busy stream';
	is(sqlstate($node, "SET statement_timeout = '20s'; SELECT stream.$change"), '', "$change gets through");
}
$load->kill_kill;

done_testing();
