# What idempotent producers, xsetid and xcfgset leave behind is there after a restart
# and after a crash; concurrent repetitions add each pair once.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('idmp');
my $dir = PostgreSQL::Test::Utils::tempdir();

sub sql { return $node->safe_psql('postgres', shift); }

# All that is durable of the streams' headers; duplicates are counted in memory only.
sub headers
{
	return sql(q{SELECT stream, xinfo_stream(stream) - 'iids-duplicates' - 'radix-tree-nodes' - 'radix-tree-keys'
		FROM streams ORDER BY stream});
}

sql('ALTER DATABASE postgres SET search_path = public, stream');

# 40 pairs of 4 producers, each sent many times by many sessions, some in transactions that
# roll back.
append_to_file("$dir/once", q{
\set p random(1, 4)
\set i random(1, 10)
SELECT xadd('s', fields('p', :p, 'i', :i), producer => 'p' || :p, iid => 'i' || :i);
});
append_to_file("$dir/back", q{
\set p random(1, 4)
\set i random(1, 10)
BEGIN;
SELECT xadd('s', fields('p', :p, 'i', :i), producer => 'p' || :p, iid => 'i' || :i);
ROLLBACK;
});
append_to_file("$dir/savepoint", q{
\set p random(1, 4)
\set i random(1, 10)
BEGIN;
SAVEPOINT a;
SELECT xadd('s', fields('p', :p, 'i', :i), producer => 'p' || :p, iid => 'i' || :i);
ROLLBACK TO a;
SELECT xadd('s', fields('p', :p, 'i', :i), producer => 'p' || :p, iid => 'i' || :i);
COMMIT;
});
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 200,
	'-f', "$dir/once\@4", '-f', "$dir/back", '-f', "$dir/savepoint", $node->connstr('postgres') ]);
unlike($err, qr/error|aborted/i, 'repetitions from many sessions');
is(sql(q{SELECT count(*), count(DISTINCT fields::text) FROM xrange('s')}), '40|40', 'each pair was added once');
is(sql(q{SELECT j->>'pids-tracked', j->>'iids-tracked', j->>'iids-added' FROM xinfo_stream('s') j}), '4|40|40', 'and is remembered');
is(sql(q{SELECT count(*) FROM activity}), 0, 'at rest');

# The other things of a header, alone and mixed with entries.
sql(q{SELECT xadd('set', '{"n":1}', '1-0'), xsetid('set', '50-0', 9, '40-0')});
sql(q{BEGIN; SELECT xadd('mix', '{"n":1}', '1-0'), xdel('mix', '1-0'), xsetid('mix', '5-0', 7),
	xadd('mix', '{"n":2}', '5-*'), xcfgset('mix', '9 s', 5, 200, 3), xsetid('mix', '6-0'),
	xadd('mix', '{"n":3}', producer => 'p', iid => 'a'); COMMIT});
sql(q{SELECT count(xadd('mix', '{"n":3}', producer => 'p', iid => 'i' || n)) FROM generate_series(1, 12) n});
sql(q{BEGIN; SELECT xadd('made', '{"n":1}', producer => 'p', iid => 'a'), xcfgset('made', '1 day'); COMMIT});
sql(q{SELECT xadd('low', '{"n":1}', '900-0'), xtrim('low', 0)});
sql(q{SELECT xsetid('low', '3-0'), xadd('low', '{"n":2}', '3-*')});
sql(q{BEGIN; SELECT xsetid('s', '99999999999999-0'), xcfgset('s', '8 s'); ROLLBACK});

my $ids = sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM xrange('s')});
my ($headers, $state) = (headers(), logical_state($node));
for my $mode ('fast', 'immediate')
{
	$node->stop($mode);
	$node->start;
	is(headers(), $headers, "$mode: the headers are as they were");
	is(logical_state($node), $state, 'and the entries');
	is(sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM (SELECT xadd('s', '{"again":1}', producer => 'p' || p, iid => 'i' || i) id
		FROM generate_series(1, 4) p, generate_series(1, 10) i) x}), $ids, 'every pair is known')
		if $mode eq 'fast';
}
is(sql(q{SELECT xadd('low', '{"n":3}', '3-*')}), '3-2', 'a lowered id goes on from there');

# Random transactions of all operations, with savepoints: what the transaction sees at its end
# is what is there after its commit, and after the next start.
my $seed = random_seed();
sql(q{
CREATE FUNCTION state(s text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', x - 'radix-tree-keys' - 'radix-tree-nodes' - 'pids-tracked' - 'iids-tracked' - 'iids-duplicates',
		(SELECT md5(string_agg(id::text || fields::text, E'\n')) FROM xrange(s)))
	FROM xinfo_stream(s) x
$$;
CREATE FUNCTION some_id(s text, around int) RETURNS streamid LANGUAGE sql AS $$
	SELECT (greatest(0, split_part(xinfo_stream(s)->>'last-generated-id', '-', 1)::bigint - around + (random() * 2 * around)::int)
		|| '-' || (random() * 3)::int)::streamid
$$;
CREATE FUNCTION some_op(s text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	what int := random() * 99;
BEGIN
	IF what < 35 THEN PERFORM xadd(s, fields('n', what), some_id(s, 5));
	ELSIF what < 45 THEN PERFORM xadd(s, fields('n', what), some_id(s, 5), maxlen => 3 + what % 9);
	ELSIF what < 65 THEN PERFORM xdel(s, id) FROM xrange(s) id WHERE random() < 0.2;
	ELSIF what < 68 THEN PERFORM xtrim(s, what % 10);
	ELSIF what < 70 THEN PERFORM xtrim(s, minid => some_id(s, 20));
	ELSIF what < 85 THEN PERFORM xsetid(s, some_id(s, 5), CASE WHEN what < 75 THEN what END, CASE WHEN what > 80 THEN some_id(s, 9) END);
	ELSIF what < 90 THEN PERFORM xcfgset(s, idmp_maxsize => what, node_max_entries => 1 + what % 5, node_max_bytes => 64 + what * 10);
	ELSE PERFORM some_op(s), some_op(s);
	END IF;
	IF random() < 0.2 THEN RAISE EXCEPTION 'back'; END IF;
EXCEPTION
	-- refused ids, orders and arguments; everything else is a failure
	WHEN raise_exception OR invalid_parameter_value OR feature_not_supported OR SQLSTATE 'ST001' THEN NULL;
END $$;
CREATE TABLE seen (s text, state text);
});
my $script = "SELECT setseed(" . ($seed % 1000) / 1000 . ");\n";
for my $i (1 .. 150)
{
	my $s = 'r' . $i % 5;

	$script .= "BEGIN; SELECT xcreate('$s', true); SELECT count(some_op('$s')) FROM generate_series(1, " . (1 + int(rand(12))) . ");"
		. " INSERT INTO seen SELECT '$s', state('$s'); COMMIT;\n"
		. "SELECT count(*) AS differs FROM (SELECT state FROM seen) x WHERE state <> state('$s');\n"
		. "TRUNCATE seen;\n";
}
my $differs = sql($script);
my @found = grep { /^\d+$/ } split(/\n/, $differs);
is(scalar(@found), 300, 'random transactions');
# every second number is the count of operations done, the other that of differences
is(join('', grep { $_ ne '0' } map { $found[ 2 * $_ + 1 ] } 0 .. 149), '', 'a transaction sees at its end what it leaves') or diag("SEED=$seed");
$state = logical_state($node);
$node->stop('immediate');
$node->start;
is(logical_state($node), $state, 'and replay gives the same') or diag("SEED=$seed");

done_testing();
