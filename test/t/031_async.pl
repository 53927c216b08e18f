# A transaction that does nothing but first deliveries does not wait for the disk;
# everything else does.  What a crash forgets of it is delivered again.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

# The log is flushed by commits alone: the WAL writer comes after ten seconds,
# unless a megabyte has gathered.
my $node = stream_node('main', fsync => 1);
$node->append_conf('postgresql.conf', "wal_writer_delay = 10s\nautovacuum = off\n");
$node->restart;
$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET search_path = public, stream;
	CREATE TABLE public.result (id text)});
# With checksums, 18's default, the first to look at a page logs its hint bits.
$node->safe_psql('postgres', 'VACUUM');
$node->safe_psql('postgres', q{
	SELECT count(xadd('s', fields('n', n), id => streampos(n || '-0'))) FROM generate_series(1, 20) n;
	SELECT xgroup_create('s', 'g'); SELECT xgroup_createconsumer('s', 'g', 'c')});

# Runs a transaction and says whether its commit was on disk when it returned.
sub waits
{
	my ($sql) = @_;
	my $out = $node->safe_psql('postgres', qq{
		BEGIN; $sql; COMMIT;
		SELECT 'on disk: ' || (pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn())});
	return $out =~ /on disk: (\w+)/ ? $1 : "no answer: $out";
}

my $read = q{SELECT count(*) FROM xreadgroup('s', 'g', 'c', count => 2)};
is(waits($read), 'false', 'a delivery');
is(waits("$read; SAVEPOINT a; $read; RELEASE a"), 'false', 'several');
is(waits(q{SELECT xack('s', 'g', '1-0')}), 'true', 'an acknowledgement');
is(waits("$read; INSERT INTO result VALUES ('x')"), 'true', 'a delivery with a row');
is(waits(q{SELECT xreadgroup('s', 'g', 'c', '0')}), 'true', 'a second delivery');
is(waits("$read; SELECT xadd('s', fields('n', 0))"), 'true', 'a delivery with an entry');
is(waits('SET LOCAL synchronous_commit = off; SELECT xadd(\'s\', fields(\'n\', 0))'), 'false', 'what asked not to wait');
is(waits(q{SELECT xadd('s', fields('n', 0))}), 'true', 'the next waits again');

# A crash right after such a commit.
my $before = $node->safe_psql('postgres', q{SELECT string_agg(id::text, ' ') FROM xpending('s', 'g')});
$node->safe_psql('postgres', q{SELECT count(*) FROM xreadgroup('s', 'g', 'c', count => 3)});
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', q{SELECT string_agg(id::text, ' ') FROM xpending('s', 'g')}), $before,
	'the crash has forgotten the delivery');
is( $node->safe_psql('postgres', q{SELECT string_agg(id::text || ' ' || deliveries, ', ') FROM xreadgroup('s', 'g', 'd', count => 3)}),
	'11-0 0, 12-0 0, 13-0 0', 'which is made again');

done_testing();
