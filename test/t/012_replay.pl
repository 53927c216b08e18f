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
# streams that come and go, and work with groups that do, from many sessions.
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
	group => q{
		SELECT xgroup_create('s' || :s, 'g' || :n % 3, '0', mkstream => true, in_order => :n % 2 = 0, if_not_exists => true),
		       xgroup_set('s' || :s, 'g' || :n % 3, retry => '3 ms', max_deliveries => 2, dead_letter => 's' || :s % 6 + 1) WHERE :n % 20 < 10;
	},
	work => q{
		DO $$ DECLARE
			ids streamid[];
		BEGIN
			SELECT array_agg(id) INTO ids FROM xreadgroup('s' || :s, 'g' || :n % 3, 'c' || :n % 4, count => :n, noack => :n % 17 = 0);
			PERFORM xack('s' || :s, 'g' || :n % 3, ids[1:(:n + 1) / 2]);
			PERFORM xnack('s' || :s, 'g' || :n % 3, 'SILENT', ids[:n - 1:], delay => CASE WHEN :n % 5 = 0 THEN interval '1 hour' END);
		EXCEPTION WHEN undefined_object THEN NULL; END $$; },
	finish => q{
		DO $$ DECLARE
			ids streamid[];
		BEGIN
			SELECT array_agg(id) INTO ids FROM xreadgroup('s' || :s, 'g' || :n % 3, 'c' || :n % 4, '0', count => :n);
			PERFORM xackdel('s' || :s, 'g' || :n % 3, ids[1:3], (array['DELREF', 'KEEPREF', 'ACKED'])[:n % 3 + 1]), xdelex('s' || :s, ids[4:5], 'KEEPREF');
			PERFORM xclaim('s' || :s, 'g' || :n % 3, 'c9', '0', ids[6:], retrycount => :n, justid => true);
			PERFORM xtrim('s' || :s, 100 + :n, refs => (array['DELREF', 'KEEPREF', 'ACKED'])[:n % 3 + 1]) WHERE :n % 10 = 0;
		EXCEPTION WHEN undefined_object THEN NULL; END $$; },
	reclaim => q{
		DO $$ BEGIN
			PERFORM xreclaim('s' || :s, 'g' || :n % 3, '5 ms', count => :n);
			PERFORM xautoclaim('s' || :s, 'g' || :n % 3, 'c' || :n % 4, '5 ms', count => 5);
			PERFORM xgroup_delconsumer('s' || :s, 'g' || :n % 3, 'c' || :n % 4, release => :n % 2 = 0) WHERE :n % 7 = 0;
			PERFORM xgroup_setid('s' || :s, 'g' || :n % 3, '0') WHERE :n % 11 = 0;
			PERFORM xgroup_destroy('s' || :s, 'g' || :n % 3) WHERE :n % 13 = 0;
		EXCEPTION WHEN undefined_object OR invalid_parameter_value THEN NULL; END $$; },
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
my %weight = (add => 20, many => 3, trim => 2, about => 3, delete => 5, mixed => 6, back => 3, pair => 6, configure => 1, group => 2, work => 12, finish => 4, reclaim => 3, drop => 2, rename => 2, swap => 2);
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
	is($node->safe_psql('postgres', q{SELECT sum(delivered) > 0 AND sum(redelivered) > 0 AND sum(acked) > 0 AND sum(pending) > 0 FROM stream.groups}),
		't', 'of groups, too');
	$node->stop($round == 2 ? 'immediate' : 'fast');
	$node->start;
	is(logical_state($node), $state, "round $round: replayed, it is the same");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM stream.activity'), 0, 'and at rest');
}

done_testing();
