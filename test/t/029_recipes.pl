# The workers of the README, as they stand there, at work together: each order
# makes one bill although workers are killed, and each letter is sent.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('recipes');
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($started, $ordered) = (0, 0);

$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = "$user", public, stream');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
$ENV{PGUSER} = getpwuid($>);

sub query { return $node->safe_psql('postgres', @_) }

# start(heading, language, command): the command, with the code of the README in
# FILE; it runs until it is killed.
sub start
{
	my ($heading, $language, @command) = @_;
	my $file = "$dir/worker" . ++$started;

	append_to_file($file, $language eq 'sql' ? '' : (recipe($heading, $language))[0]);
	append_to_file("$file.$_", '') for qw(out err);
	@command = map { $_ eq 'FILE' ? $file : $_ } @command;
	return { file => $file,
		run => IPC::Run::start(\@command, '<', \undef, '>', "$file.out", '2>', "$file.err") };
}

sub killed
{
	my ($worker) = @_;

	$worker->{run}->signal('KILL');
	$worker->{run}->finish;
	return slurp_file("$worker->{file}.err");
}

# The README's order, n times, each with an amount of its own.
my ($add) = grep { /xadd/ } recipe('Recipes', 'sql');

sub order
{
	query(join '', map { (my $one = $add) =~ s/12\.5/++$ordered . '.5'/e; $one } 1 .. shift);
	return;
}

# Until the group has nothing more to deliver and nothing pending.
sub all_done
{
	my ($group) = @_;

	return wait_for { query(qq{SELECT lag + pending + released + in_flight FROM stream.groups WHERE grp = '$group'}) eq '0' }
		"the end of $group";
}

# --- a transaction for reading, writing and acknowledging -----------------

query($_) for grep { !/xadd/ } recipe('Recipes', 'sql');
query((recipe('A worker in SQL', 'sql'))[0]);

my %command = (
	'sql' => [ 'A worker in SQL', 'sql', 'psql', '-Xqc', q{CALL make_bills('sql')} ],
	'psycopg 3' => [ 'A worker in Python, psycopg 3', 'python', '/usr/bin/python3', 'FILE', '' ],
	'psycopg 2' => [ 'A worker in Python, psycopg 2', 'python', '/usr/bin/python3', 'FILE', '' ],
	'node' => [ 'A worker in Node', 'js', 'node', 'FILE' ]);
my %worker = map { $_ => start(@{ $command{$_} }) } keys %command;

for my $name (sort keys %worker)
{
	wait_for { order(10); query(qq{SELECT count(*) > 0 FROM bill WHERE worker = '$name'}) eq 't' } "a bill by $name";
	order(50);
	is(killed($worker{$name}), '', "$name made bills, until it was killed");
	$worker{$name} = start(@{ $command{$name} });
}
order(50);
all_done('billing');
is(query('SELECT count(*), count(DISTINCT amount), min(amount), max(amount) FROM bill'),
	"$ordered|$ordered|1.5|$ordered.5", 'each order made one bill');
killed($_) for values %worker;

# --- the read committed first --------------------------------------------

query($_) for recipe('Effects outside the database', 'sql');
# Somebody takes ten and is not seen again.
is(query(q{SELECT count(*) FROM xreadgroup('orders', 'letters', 'gone', count => 10)}), '10', 'ten are with a worker that died');
query(q{SELECT xgroup_set('orders', 'letters', retry => '1 s')});

my @letters = ('Effects outside the database', 'python', '/usr/bin/python3', 'FILE', '');
# The second comes when the first has sent one: it might leave him none.
my @worker = start(@letters, 'worker 1');

wait_for { -s "$worker[0]->{file}.out" } 'the first letter';
push @worker, start(@letters, 'worker 2');
is(killed($worker[0]), '', 'a worker sent letters, until it was killed');
push @worker, start(@letters, 'worker 3');
all_done('letters');

my %sent;
for my $worker (@worker)
{
	for (split /\n/, slurp_file("$worker->{file}.out"))
	{
		/^(\d+-\d+) Dear Ada (\(perhaps again\))?/ or next;
		$sent{$1}++;
		$sent{again}++ if $2;
	}
}
cmp_ok(delete $sent{again}, '>=', 10, 'letters that another had been given are marked');
is(join(' ', sort keys %sent), join(' ', sort split /\n/, query(q{SELECT id FROM xrange('orders')})), 'each letter was sent');
killed($_) for @worker[1 .. 2];

done_testing();
