# The whole logical state of a busy database equals that of the same server having
# replayed its journal from the start: after a quiet moment, and again and again.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('replay');
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, stream');
# Adds of all kinds, ids of a transaction's own, deletes and trims, on a handful of
# streams that come and go, from many sessions.
my %scripts = (
	add => q{SELECT xadd('s' || :s, fields('n', :n, 'v', repeat('v', :n))); },
	many => q{SELECT count(*) FROM xadd_many('s' || :s, (SELECT array_agg(fields('n', n)) FROM generate_series(1, :n) n)); },
	trim => q{SELECT xtrim('s' || :s, :n * 10); },
	about => q{SELECT xadd('s' || :s, '{"a":1}', maxlen => :n * 20, approx => true); },
	delete => q{
		SELECT count(xdel('s' || :s, id)) FROM (SELECT id FROM xrange('s' || :s, count => :n)) x;
	},
	mixed => q{
		BEGIN;
		SELECT xadd('s' || :s, '{"a":1}');
		SAVEPOINT a;
		SELECT xadd('s' || :n % 7, '{"b":1}'), xtrim('s' || :s, 50);
		ROLLBACK TO a;
		SELECT xadd('s' || :n % 5, '{"c":1}');
		COMMIT;
	},
	back => q{BEGIN; SELECT xadd('s' || :s, '{"r":1}'), xtrim('s' || :s, 0); ROLLBACK; },
	pair => q{SELECT xadd('s' || :s, fields('n', :n), producer => 'p' || :n % 3, iid => 'i' || :n); },
	configure => q{SELECT xcfgset('s' || :s, idmp_maxsize => 1 + :n % 4, node_max_entries => 10 * (1 + :n)) WHERE xexists('s' || :s); },
	drop => q{SELECT xdrop('d' || :s), xadd('d' || :s, fields('n', :n)); },
	rename => q{
		DO $$ BEGIN
			PERFORM xrename('d' || :s, 'd' || :n % 9);
		EXCEPTION WHEN undefined_object OR duplicate_object THEN NULL; END $$; },
	swap => q{
		DO $$ BEGIN
			PERFORM xrename('d' || :s, 'd:' || pg_backend_pid());
			PERFORM xrename('d' || :n % 9, 'd' || :s);
			PERFORM xadd('d' || :n % 9, fields('between', :n));
			PERFORM xadd('d:' || pg_backend_pid(), fields('n', :n));
			PERFORM xdrop('d' || :n % 9) WHERE :n % 2 = 0;
		EXCEPTION WHEN undefined_object OR duplicate_object THEN NULL; END $$; });
my %weight = (add => 20, many => 3, trim => 2, about => 3, delete => 5, mixed => 6, back => 3, pair => 6, configure => 1, drop => 2, rename => 2, swap => 2);
my @files;
for my $name (sort keys %scripts)
{
	append_to_file("$dir/$name", "\\set s random(1, 6)\n\\set n random(1, 60)\n$scripts{$name}\n");
	push @files, '-f', "$dir/$name\@$weight{$name}";
}

for my $round (1 .. 3)
{
	my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 6, '-j', 2, '-t', 300, '--max-tries=20', @files, $node->connstr('postgres') ]);
	unlike($err, qr/error|aborted/i, "round $round of load") or diag($err);
	my $state = logical_state($node);
	cmp_ok(length($state), '>', 200, 'there is something to compare');
	$node->stop($round == 2 ? 'immediate' : 'fast');
	$node->start;
	is(logical_state($node), $state, "round $round: replayed, it is the same");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM stream.activity'), 0, 'and at rest');
}

done_testing();
