# What the TAP tests share: nodes with the extension, waiting with a deadline,
# psql in the background, load that keeps its own record of what was committed.
package StreamTest;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

our @EXPORT = qw(
  stream_node wait_for wait_back background switches start_again sqlstate logical_state recipe
  start_load stop_load check_load random_seed
);

# Seconds that anything may take before the test is given up.
my $patience = $ENV{PG_TEST_TIMEOUT_DEFAULT} || 180;

# A started node with the extension in database postgres.  Options:
#	conf => lines for postgresql.conf, fsync => 1 for tests of durability,
#	streaming => 1 for a node that a standby follows, extension => 0 for none.
sub stream_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => $opt{streaming} ? 1 : 0);
	$node->append_conf('postgresql.conf', slurp_file("$ENV{STREAM_TREE}/test/stream.conf"));
	$node->append_conf('postgresql.conf', "restart_after_crash = on\nlog_statement = none\n");
	$node->append_conf('postgresql.conf', 'fsync = ' . ($opt{fsync} ? 'on' : 'off') . "\n");
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION stream') unless exists $opt{extension} && !$opt{extension};
	return $node;
}

# Wait until the code returns true.  Dies when it takes too long.
sub wait_for(&$)
{
	my ($condition, $what) = @_;
	my $deadline = Time::HiRes::time() + $patience;

	until ($condition->())
	{
		die "gave up waiting for: $what" if Time::HiRes::time() > $deadline;
		select(undef, undef, undef, 0.02);
	}
	return 1;
}

# Wait until a server that has crashed takes connections again.
sub wait_back
{
	my ($node) = @_;

	# A psql that is refused may be gone before it is given its statement.
	return wait_for { eval { ($node->psql('postgres', 'SELECT 1'))[0] == 0 } } 'the server is back';
}

# psql with a script of its own, in the background.  ->('peek') returns what it
# has written so far; ->() waits for its end and returns stdout and stderr.
# Errors carry their SQLSTATE.
sub background
{
	my ($node, $script, %opt) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/psql';

	# Files, not pipes: those would only be served while we wait for them.
	append_to_file("$file.sql", "\\set VERBOSITY verbose\n$script\n");
	append_to_file("$file.$_", '') for qw(out err);
	my $run = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', "ON_ERROR_STOP=" . ($opt{go_on} ? 0 : 1), '-f', "$file.sql",
			'-d', $node->connstr($opt{dbname} || 'postgres') ],
		'>', "$file.out", '2>', "$file.err");

	return sub {
		my $step = shift || 'finish';

		return slurp_file("$file.out") if $step eq 'peek';
		wait_for { !$run->pumpable } 'the end of a psql';
		$run->finish;
		my ($out, $err) = (slurp_file("$file.out"), slurp_file("$file.err"));
		chomp($out);
		return ($out, $err);
	};
}

# How often a process has given up the processor; more than ever once it is gone.
sub switches
{
	my ($pid) = @_;
	open(my $status, '<', "/proc/$pid/status") or return 9e9;
	return join('', <$status>) =~ /^voluntary_ctxt_switches:\s*(\d+)/m ? $1 : 9e9;
}

# The SQLSTATE a statement fails with, or '' where it does not.
sub sqlstate
{
	my ($node, $sql, %opt) = @_;
	my ($status, $out, $err) = $node->psql($opt{dbname} || 'postgres', "\\set VERBOSITY verbose\n$sql", on_error_stop => 1);

	return $err =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})/ ? $1 : $status == 0 ? '' : "status $status: $err";
}

# Start a node whose postmaster was killed: its last children hold on to the
# shared memory for a moment.
sub start_again
{
	my ($node) = @_;
	my $pid = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];

	# Its parent may take a moment to notice that it is dead.
	wait_for { !kill(0, $pid) } 'the end of a killed postmaster';
	return wait_for {
		$node->start(fail_ok => 1) || ($node->stop('fast', fail_ok => 1), 0)[1]
	} 'start after a kill';
}

# Everything that can be said about the contents of all streams of a database
# and their groups, one line a stream.  How entries are packed into nodes is
# not part of it, nor is what memory alone knows of groups: when consumers
# asked last, and attempts that were rolled back.
sub logical_state
{
	my ($node, $dbname) = @_;

	return $node->safe_psql($dbname || 'postgres', q{
		SELECT c.name, stream.xlen(c.name), stream.xtail(c.name),
			(SELECT jsonb_object_agg(i.key, i.value) FROM stream.xinfo_stream(c.name) x, jsonb_each(to_jsonb(x)) i
			 WHERE i.key NOT LIKE 'radix%' AND i.key NOT LIKE '%memory%' AND i.key <> 'iids-duplicates'),
			(SELECT md5(string_agg(id::text || fields::text, E'\n')) FROM stream.xrange(c.name)),
			(SELECT jsonb_agg(to_jsonb(g) - 'in_flight' || jsonb_build_object(
				'consumers', (SELECT jsonb_object_agg(k.name, k.pending) FROM stream.xinfo_consumers(c.name, g.name) k),
				'list', (SELECT md5(string_agg(format('%s %s', p.id, p.consumer), E'\n')) FROM stream.xpending(c.name, g.name) p)))
			 FROM stream.xinfo_groups(c.name) g)
		FROM stream.catalog c ORDER BY c.name COLLATE "C"});
}

# The pieces of code that the README gives in a language under a heading.
sub recipe
{
	my ($heading, $language) = @_;
	my $readme = slurp_file("$ENV{STREAM_TREE}/README.md");

	$readme =~ /^##+ \Q$heading\E$(.*?)(?=^##|\z)/ms or die "no heading \"$heading\" in the README";
	my @code = $1 =~ /^```\Q$language\E\n(.*?)^```$/msg or die "no $language under \"$heading\" in the README";
	return @code;
}

# A seed for srand, printed, so that a run can be repeated: SEED=n.
sub random_seed
{
	my $seed = defined $ENV{SEED} ? $ENV{SEED} : int(rand(2**31));

	srand($seed);
	note("SEED=$seed");
	return $seed;
}

# --- load with a record of what was acknowledged -------------------------
#
# Each worker is a psql that works off a script of transactions.  A transaction
# writes rows into table load and the same into stream load; once its COMMIT
# has returned psql writes "ack <tx>" to the worker's file.  Some transactions
# roll back, wholly or to a savepoint; what they wrote has tx < 0.

my $next_tx = 1;

sub load_script
{
	my ($count) = @_;
	my $script = "SET search_path = public, stream;\n";

	for (1 .. $count)
	{
		my $tx = $next_tx++;
		my $kind = int(rand(6));
		my $both = sub {
			my ($t, $k) = @_;
			return "WITH i AS (INSERT INTO load VALUES ($t, $k)) SELECT xadd('load', fields('tx', $t, 'k', $k))";
		};

		if ($kind <= 1)
		{
			$script .= "SELECT 'ack $tx' FROM (" . "SELECT xadd('load', fields('tx', $tx, 'k', 0))) x, load_row($tx, 0);\n";
			next;
		}
		$script .= "BEGIN;\n" . $both->($tx, 0) . ";\n";
		if ($kind == 3)
		{
			$script .= "SAVEPOINT a;\n" . $both->(-$tx, 1) . ";\nROLLBACK TO a;\n" . $both->($tx, 2) . ";\n";
		}
		elsif ($kind == 4)
		{
			$script .= "SELECT xadd('load', fields('tx', $tx, 'k', k)), load_row($tx, k) FROM generate_series(1, 20) k;\n";
		}
		elsif ($kind == 5)
		{
			$script =~ s/BEGIN;\n[^\n]*\n\z//;
			$script .= "BEGIN;\n" . $both->(-$tx, 0) . ";\nROLLBACK;\n";
			next;
		}
		$script .= "COMMIT;\n\\echo ack $tx\n";
	}
	return $script;
}

# start_load(node, workers, transactions each)
sub start_load
{
	my ($node, $workers, $count) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my @load;

	$node->safe_psql('postgres', q{
		CREATE TABLE IF NOT EXISTS load(tx int, k int);
		CREATE OR REPLACE FUNCTION load_row(tx int, k int) RETURNS int LANGUAGE sql VOLATILE AS
			'INSERT INTO load VALUES ($1, $2) RETURNING k'});
	for my $w (1 .. $workers)
	{
		my $file = "$dir/worker$w";

		append_to_file("$file.sql", load_script($count));
		append_to_file("$file.out", '');
		push @load, {
			acks => "$file.out",
			run => IPC::Run::start(
				[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$file.sql", '-d', $node->connstr('postgres') ],
				'>', "$file.out", '2>', "$file.err")
		};
	}
	return \@load;
}

# stop_load(load): wait until every worker has ended, by itself or because its
# server went away; returns the transactions acknowledged.
sub stop_load
{
	my ($load) = @_;
	my @acked;

	for my $worker (@$load)
	{
		$worker->{run}->finish;
		push @acked, slurp_file($worker->{acks}) =~ /^ack (\d+)$/mg;
	}
	return @acked;
}

# check_load(node, workers, acknowledged so far, what): the stream holds what the
# table holds, in order of ids; everything acknowledged is there, and at most one
# transaction a worker that was not.
sub check_load
{
	my ($node, $in_flight, $acked, $what) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();

	append_to_file("$dir/acked", join('', map { "$_\n" } @$acked));
	my $result = $node->safe_psql('postgres', qq{
		SET search_path = public, stream;
		CREATE TEMP TABLE acked(tx int);
		\\copy acked FROM '$dir/acked'
		CREATE TEMP TABLE got AS SELECT id, (fields->>'tx')::int AS tx, (fields->>'k')::int AS k FROM xrange('load');
		SELECT 'in the stream only ' || count(*) FROM (SELECT tx, k FROM got EXCEPT ALL SELECT tx, k FROM load) d;
		SELECT 'in the table only ' || count(*) FROM (SELECT tx, k FROM load EXCEPT ALL SELECT tx, k FROM got) d;
		SELECT 'rolled back ' || count(*) FROM got WHERE tx < 0;
		SELECT 'acknowledged and lost ' || count(*) FROM (SELECT tx FROM acked EXCEPT SELECT tx FROM load) d;
		SELECT 'too many in flight ' || (count(*) > $in_flight) FROM (SELECT tx FROM load EXCEPT SELECT tx FROM acked) d;
		SELECT 'length differs ' || (xlen('load') <> count(*)) FROM got;
	});
	is($result, "in the stream only 0\nin the table only 0\nrolled back 0\nacknowledged and lost 0\n"
		. "too many in flight false\nlength differs false", $what)
	  or diag($node->safe_psql('postgres', q{
		SELECT 'stream', tx, k FROM (SELECT (fields->>'tx')::int AS tx, (fields->>'k')::int AS k FROM stream.xrange('load')
			EXCEPT SELECT tx, k FROM load) d LIMIT 10}));
	return;
}

1;
