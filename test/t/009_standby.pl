# A hot standby refuses every function (0A000) and answers right away; promoted, it
# loads everything and goes on.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $primary = stream_node('primary', streaming => 1);
$primary->safe_psql('postgres', q{
	SELECT count(stream.xadd('before', stream.fields('n', n))) FROM generate_series(1, 1000) n});
$primary->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'b', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', q{
	SELECT count(stream.xadd('after', stream.fields('n', n))) FROM generate_series(1, 1000) n;
	SELECT stream.xtrim('before', 10), stream.xadd('before', '{"n":"last"}')});
$primary->wait_for_catchup($standby);

for my $read (q{SELECT stream.xlen('before')}, q{SELECT * FROM stream.xrange('before')}, q{SELECT * FROM stream.xread('before', '0')},
	q{SELECT stream.xexists('before')}, q{SELECT stream.xtail('before')}, q{SELECT * FROM stream.xinfo_stream('before')},
	q{CALL stream.xwait('before', '$', '1 s')}, q{SELECT stream.xlisten('before')}, q{SELECT stream.xunlisten('before')})
{
	is(sqlstate($standby, $read), '0A000', $read);
}
for my $write (q{SELECT stream.xadd('before', '{"a":1}')}, q{SELECT stream.xdel('before', '1-0')}, q{SELECT stream.xtrim('before', 0)},
	q{SELECT stream.xcreate('x')}, q{SELECT stream.xdrop('before')})
{
	like(sqlstate($standby, $write), qr/^(0A000|25006)$/, $write);
}
# The types and the tables are there as ever.
is($standby->safe_psql('postgres', q{SELECT count(*) FROM stream.catalog}), 2, 'tables can be read');
is($standby->safe_psql('postgres', q{SELECT stream.fields('a', 1)}), '{"a": "1"}', 'types work');
is($standby->safe_psql('postgres', q{SELECT stream.channel('before')}), 'stream.before', 'and channels have their names');

# A transaction open on the primary when it fails is not on the other side.
my $state = logical_state($primary);
my $open = $primary->background_psql('postgres');
$open->query_safe(q{BEGIN; SELECT stream.xadd('after', '{"n":"open"}')});
$primary->wait_for_catchup($standby);
$primary->stop('immediate');

$standby->promote;
wait_for { $standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 'f' } 'promotion';
is(logical_state($standby), $state, 'promoted, it holds what the primary had committed');
$standby->safe_psql('postgres', q{SELECT stream.xadd('after', '{"n":1001}')});
is($standby->safe_psql('postgres', q{SELECT stream.xlen('after')}), 1001, 'and goes on');
$state = logical_state($standby);
$standby->restart;
is(logical_state($standby), $state, 'and restarts');

done_testing();
