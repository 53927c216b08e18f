# Exactly once and at least once, whatever crashes.  Consumers of four groups read,
# write what they read into a table and acknowledge it
#	in one transaction (groups once_...): the table holds every entry once;
#	in three (groups least_...): every entry at least once, and the number of its
#	deliveries is never less than the deliveries that were committed.
# Meanwhile producers add and roll back, consumers roll back, wholly or to a savepoint,
# leave entries to others who claim them, and lose their client; sessions are
# terminated and killed, and the server is stopped at once.  One group of each kind
# delivers in order, the other does not.
#
# LOAD_SECONDS makes it longer, SEED repeats the choices.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;
use Time::HiRes ();

my $seconds = $ENV{LOAD_SECONDS} || 10;
my $seed = random_seed();
my $node = stream_node('once', conf => "deadlock_timeout = '20ms'\nrestart_after_crash = on\n");
my @groups = qw(once_strict once_loose least_strict least_loose);
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET search_path = public, stream;
	SET search_path = public, stream;
	CREATE TABLE made(n bigint);
	CREATE TABLE done(grp text, n bigint, id streamid);
	CREATE TABLE seen(grp text, id streamid, deliveries bigint);
	CREATE SEQUENCE n;

	-- What there is for a consumer: new entries, what others have left, its own.
	CREATE FUNCTION take(grp text, me text, left_for interval, most int, OUT id streamid, OUT n bigint, OUT deliveries bigint)
		RETURNS SETOF record LANGUAGE plpgsql AS $$
	DECLARE
		way float = random();
	BEGIN
		IF way < 0.7 THEN
			RETURN QUERY SELECT r.id, (r.fields->>'n')::bigint, r.deliveries + 1 FROM xreadgroup('jobs', grp, me, count => most) r;
		ELSIF way < 0.9 THEN
			RETURN QUERY SELECT r.id, (r.fields->>'n')::bigint, r.deliveries + 1 FROM xautoclaim('jobs', grp, me, left_for, count => most) r;
		ELSE
			RETURN QUERY SELECT r.id, (r.fields->>'n')::bigint, r.deliveries + 1 FROM xreadgroup('jobs', grp, me, '0', count => most) r;
		END IF;
	END $$;

	CREATE FUNCTION once(grp text, me text, left_for interval DEFAULT '20 ms', most int DEFAULT 1 + random() * 8) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		ids streamid[];
		acked bigint;
	BEGIN
		WITH t AS MATERIALIZED (SELECT * FROM take(grp, me, left_for, most)),
			i AS (INSERT INTO done SELECT grp, t.n, t.id FROM t RETURNING done.id)
		SELECT array_agg(i.id) INTO ids FROM i;
		acked := xack('jobs', grp, ids);
		IF acked <> coalesce(cardinality(ids), 0) THEN
			RAISE 'acknowledged % of %', acked, ids;
		END IF;
		RETURN acked;
	END $$;

	-- Three statements for the same.
	CREATE FUNCTION least_take(grp text, me text, left_for interval DEFAULT '20 ms', most int DEFAULT 1 + random() * 8) RETURNS void LANGUAGE sql AS
		'INSERT INTO seen SELECT grp, t.id, t.deliveries FROM take(grp, me, left_for, most) t';
	CREATE FUNCTION least_do(grp text, me text) RETURNS void LANGUAGE sql AS
		$$INSERT INTO done SELECT grp, (e.fields->>'n')::bigint, p.id FROM xpending('jobs', grp, consumer => me) p, xrange('jobs', p.id, p.id) e$$;
	CREATE FUNCTION least_ack(grp text, me text) RETURNS bigint LANGUAGE sql AS
		$$SELECT xack('jobs', grp, array(SELECT p.id FROM xpending('jobs', grp, consumer => me) p WHERE EXISTS
			(SELECT FROM done d WHERE d.grp = $1 AND d.id = p.id)))$$;
	CREATE INDEX ON done(grp, id)});
for my $g (@groups)
{
	my $in_order = $g =~ /strict/ ? 'true' : 'false';
	$node->safe_psql('postgres', "SELECT xgroup_create('jobs', '$g', mkstream => true, in_order => $in_order)");
}

# --- the workers: scripts for psql, in which any statement may fail ---

sub pick { return $_[ rand @_ ] }

sub producer
{
	my $add = sub {
		my $count = 1 + int(rand(4));
		return "WITH i AS MATERIALIZED (INSERT INTO made SELECT nextval('n') FROM generate_series(1, $count) RETURNING n) "
		  . "SELECT count(xadd('jobs', fields('n', n))) FROM i;\n";
	};
	return pick(
		$add->(),
		"BEGIN;\n" . $add->() . $add->() . pick('COMMIT', 'COMMIT', 'ROLLBACK') . ";\n",
		"BEGIN;\n" . $add->() . "SAVEPOINT a;\n" . $add->() . pick("ROLLBACK TO a;\n", '') . $add->() . "COMMIT;\n",
		# with the entries of others before and after its own
		"BEGIN;\n" . $add->() . "SELECT once('once_loose', 'producer');\nSELECT once('once_strict', 'producer');\n"
		  . $add->() . pick('COMMIT', 'ROLLBACK') . ";\n");
}

sub consumer
{
	my ($me) = @_;
	my $g = pick(qw(once_strict once_loose));
	my $l = pick(qw(least_strict least_loose));
	my $once = "SELECT once('$g', '$me');\n";

	return pick(
		$once,
		"BEGIN;\n$once" . pick("SELECT once('once_loose', '$me');\n", '') . pick('COMMIT', 'COMMIT', 'ROLLBACK') . ";\n",
		"BEGIN;\nSAVEPOINT a;\n${once}ROLLBACK TO a;\n${once}COMMIT;\n",
		"BEGIN;\n${once}SAVEPOINT a;\n${once}ROLLBACK TO a;\nCOMMIT;\n",
		# left to others
		"SELECT count(*) FROM xreadgroup('jobs', '$g', '$me', count => 3);\n",
		"SELECT xnack('jobs', '$g', 'FAIL', array(SELECT id FROM xpending('jobs', '$g', count => 2)));\n",
		"SELECT * FROM xreclaim('jobs', '$g', '20 ms', count => 2);\n",
		"BEGIN;\nSELECT xack('jobs', '$g', array(SELECT id FROM xpending('jobs', '$g', count => 2)));\nROLLBACK;\n",
		rand() < 0.1 ? "BEGIN;\n$once\\q\n" : $once,
		(join('', map { "SELECT $_('$l', '$me');\n" } qw(least_take least_do least_ack))) x 3,
		"BEGIN;\nSELECT least_take('$l', '$me');\n" . pick('COMMIT', 'ROLLBACK') . ";\n",
		"BEGIN;\nSELECT least_ack('$l', '$me');\n" . pick('COMMIT', 'ROLLBACK') . ";\n");
}

my @scripts;
for my $w (0 .. 6)
{
	append_to_file("$dir/$w.sql", "SET statement_timeout = '20s';\n" . join '', map { $w == 0 ? producer() : consumer("c$w") } 1 .. 300);
	push @scripts, "$dir/$w.sql";
}

my @runs = map { undef } @scripts;
sub keep_running
{
	for my $w (0 .. $#scripts)
	{
		next if $runs[$w] && $runs[$w]->pumpable;
		$runs[$w]->finish if $runs[$w];
		$runs[$w] = IPC::Run::start([ 'psql', '-XAtq', '-f', $scripts[$w], '-d', $node->connstr('postgres') ],
			'>', '/dev/null', '2>', '/dev/null');
	}
}

sub up { return $node->poll_query_until('postgres', 'SELECT true') }

my $deadline = Time::HiRes::time() + $seconds;
my %times;
while (Time::HiRes::time() < $deadline)
{
	my $what = pick(qw(terminate terminate terminate kill stop));
	my $done = $node->safe_psql('postgres', 'SELECT count(*) FROM done');

	keep_running();
	# so that something happens between
	wait_for { keep_running(); $node->safe_psql('postgres', 'SELECT count(*) FROM done') > $done + rand(300)
		or Time::HiRes::time() > $deadline } 'work';
	$times{$what}++;
	if ($what eq 'stop')
	{
		$node->stop('immediate');
		$node->start;
		next;
	}
	my @pids = split /\n/, $node->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
	kill $what eq 'kill' ? 'KILL' : 'TERM', @pids;
	up() if $what eq 'kill';
}
up();
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
$_ && $_->finish for @runs;
note(join(', ', map { "$_ $times{$_} times" } sort keys %times));

# --- what is left is worked off, before and after a crash; then all is there ---

my $first = int(rand(2));
work_off(@groups[ $first, 3 - $first ]);

my $state = group_state();
$node->stop('immediate');
$node->start;
is(group_state(), $state, 'groups are after a crash what they were');
work_off(@groups);

my $all = $node->safe_psql('postgres', 'SELECT count(*) FROM made');
cmp_ok($all, '>', 100, "$all entries");
is($node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT n FROM made EXCEPT ALL SELECT (fields->>'n')::bigint FROM xrange('jobs')) d}), 0,
	'all entries are in the stream');
is($node->safe_psql('postgres', q{SELECT xlen('jobs')}), $all, 'and nothing else');
for my $g (@groups)
{
	my $once = $g =~ /once/;

	is($node->safe_psql('postgres', qq{
		SELECT count(*) FROM ((SELECT n FROM made EXCEPT SELECT n FROM done WHERE grp = '$g')
			UNION ALL (SELECT n FROM done WHERE grp = '$g' EXCEPT SELECT n FROM made)) d}), 0, "$g: each entry");
	is($node->safe_psql('postgres', qq{SELECT count(*) FROM (SELECT n FROM done WHERE grp = '$g' GROUP BY n HAVING count(*) > 1) d}), 0,
		"$g: once") if $once;
	is($node->safe_psql('postgres', qq{SELECT acked FROM xinfo_groups('jobs') WHERE name = '$g'}), $all, "$g: acknowledged once");
	next if $once;
	is($node->safe_psql('postgres', qq{
		SELECT count(*) FROM (SELECT id FROM seen WHERE grp = '$g'
			GROUP BY id HAVING count(*) > max(deliveries) OR count(*) > count(DISTINCT deliveries)) d}), 0,
		"$g: each delivery counted");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM activity'), 0, 'nothing is left open');

done_testing();

# Nothing is left of the groups: nothing to deliver, nothing pending.
sub work_off
{
	my @which = @_;
	my $names = join(', ', map { "'$_'" } @which);

	wait_for {
		$node->safe_psql('postgres', join ';', map {
			$_ =~ /once/ ? ("SELECT once('$_', 'last', '0', 1000) FROM generate_series(1, 10)") :
			  ("SELECT least_take('$_', 'last', '0', 1000) FROM generate_series(1, 10)", "SELECT least_do('$_', 'last')", "SELECT least_ack('$_', 'last')")
		} @which);
		$node->safe_psql('postgres', "SELECT sum(lag + pending + in_flight) FROM xinfo_groups('jobs') WHERE name IN ($names)") eq '0'
	} "the end of $names";
	return;
}

# The groups and what is pending in them, without times and without attempts, which
# a crash may forget.
sub group_state
{
	return $node->safe_psql('postgres', q{
		CHECKPOINT;
		SELECT name, consumers, pending, last_delivered_id, lag, released, in_flight, delivered, redelivered, acked
		FROM xinfo_groups('jobs') ORDER BY name;
		SELECT g.name, p.id, p.consumer FROM xinfo_groups('jobs') g, xpending('jobs', g.name) p ORDER BY g.name, p.id;
		SELECT g.name, c.name, c.pending FROM xinfo_groups('jobs') g, xinfo_consumers('jobs', g.name) c ORDER BY g.name, c.name});
}
