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

done_testing();
