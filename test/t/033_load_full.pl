# A database whose streams do not fit into the memory when they are read after a
# start: it says so, and takes none of it from the others.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', conf => "stream.memory = '64MB'\n");
my $fill = sub { "SELECT count(stream.xadd('s', stream.fields('v', repeat('v', 1000)))) FROM generate_series(1, $_[0])" };
for my $db ('big', 'small')
{
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, 'CREATE EXTENSION stream');
	$node->safe_psql($db, $fill->($db eq 'big' ? 10000 : 10)) for 1 .. 3;
}
my %state = map { $_ => logical_state($node, $_) } 'big', 'small';

$node->append_conf('postgresql.conf', "stream.memory = '16MB'\n");
$node->restart;
my $free = $node->safe_psql('postgres', 'SELECT free FROM stream.memory');
for my $n (1, 2)
{
	my (undef, undef, $err) = $node->psql('big', q{SELECT stream.xlen('s')}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($err, qr/53200.*do not fit into stream\.memory.*HINT:  Raise stream\.memory/s, "it does not fit, time $n");
	cmp_ok($node->safe_psql('postgres', 'SELECT free FROM stream.memory'), '>', $free - 100_000, 'and gives the memory back');
}
is(logical_state($node, 'small'), $state{small}, 'another database is read');
$node->safe_psql('small', $fill->(10));
is($node->safe_psql('small', q{SELECT stream.xlen('s')}), 40, 'and written');

$node->append_conf('postgresql.conf', "stream.memory = '64MB'\n");
$node->restart;
is(logical_state($node, 'big'), $state{big}, 'with more memory everything is there');

done_testing();
