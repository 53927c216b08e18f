# Damaged tables are reported (XX001, with the row), never trusted, never a crash;
# mended, they load.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main');
my $seed = random_seed();
$node->safe_psql('postgres', q{
	SELECT stream.xadd('s', stream.fields('n', n), n || '-0') FROM generate_series(1, 20) n;
	SELECT stream.xdel('s', '3-0'), stream.xtrim('s', 15);
	SELECT stream.xadd('other', stream.fields('big', repeat('b', 30000)), '1-0');
	SELECT stream.xadd('other', stream.fields('a', 'b'), producer => 'p', iid => 'i');
	SELECT stream.xsetid('s', '100-0');
	CREATE TABLE journal AS SELECT * FROM stream.journal_0;
	CREATE TABLE catalog AS SELECT * FROM stream.catalog});
my $state = logical_state($node);

my $mend = q{
	TRUNCATE stream.journal_0; INSERT INTO stream.journal_0 SELECT * FROM journal;
	TRUNCATE stream.catalog; INSERT INTO stream.catalog SELECT * FROM catalog};

# By hands that keep the guard off.
$node->safe_psql('postgres', "ALTER TABLE stream.$_ DISABLE TRIGGER ALL") for 'journal_0', 'catalog';
my @damages = (
	[ 'a piece is gone', q{DELETE FROM stream.journal_0 WHERE num IS NULL AND piece = 1} ],
	[ 'the first piece is gone', q{DELETE FROM stream.journal_0 WHERE num IS NULL AND piece = 0} ],
	[ 'a number is there twice', q{UPDATE stream.journal_0 SET num = (SELECT max(num) FROM stream.journal_0) WHERE num = (SELECT min(num) FROM stream.journal_0)} ],
	[ 'a number is negative', q{UPDATE stream.journal_0 SET num = -num WHERE num = (SELECT min(num) FROM stream.journal_0)} ],
	[ 'a number has no checksum', q{UPDATE stream.journal_0 SET crc = NULL WHERE num = (SELECT min(num) FROM stream.journal_0)} ],
	[ 'bytes are missing', q{UPDATE stream.journal_0 SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE num = (SELECT min(num) FROM stream.journal_0)} ],
	[ 'there are no bytes', q{UPDATE stream.journal_0 SET bytes = '' WHERE num = (SELECT max(num) FROM stream.journal_0)} ],
	[ 'a stream has a number that is none', q{UPDATE stream.catalog SET id = -id} ],
	[ 'two streams have one name', q{UPDATE stream.catalog SET name = 'same'} ],
	map { [ "byte flipped, $_", sprintf(q{
		UPDATE stream.journal_0 SET bytes = set_byte(bytes, %d %% length(bytes), get_byte(bytes, %d %% length(bytes)) # %d)
		WHERE ctid = (SELECT ctid FROM stream.journal_0 ORDER BY ctid OFFSET %d %% (SELECT count(*) FROM stream.journal_0) LIMIT 1)}, (int(rand(30000))) x 2, 1 + int(rand(255)), int(rand(20))) ] } 1 .. 12);
$node->restart;
for my $damage (@damages)
{
	my ($what, $sql) = @$damage;

	$node->safe_psql('postgres', $sql);
	my ($status, $out, $err) = $node->psql('postgres', q{SELECT stream.xlen('s')}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($err, qr/XX001.*Row \(\d+,\d+\) of table "stream\.(catalog|journal_0)"/s, $what) or diag("$sql\n$out\n$err");
	is(sqlstate($node, q{SELECT stream.xadd('s', '{"a":1}')}), 'XX001', 'writing is refused too');
	$node->safe_psql('postgres', $mend);
	$node->restart;
}
is(logical_state($node), $state, 'mended, everything is there');
$node->restart;
is(logical_state($node), $state, 'and stays');

done_testing();
