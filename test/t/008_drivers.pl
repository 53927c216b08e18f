# The calls as psycopg 2, psycopg 3 and node-pg make them, with the server's
# search path and without.  The scripts in test/drivers print TAP.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('drivers');
my $dir = "$ENV{STREAM_TREE}/test/drivers";

for my $driver ([ '/usr/bin/python3', "$dir/psycopg2_calls.py" ], [ '/usr/bin/python3', "$dir/psycopg3_calls.py" ], [ 'node', "$dir/node_pg_calls.js" ])
{
	(my $name = $driver->[1]) =~ s{.*/}{};
	my ($out, $err) = run_command([ @$driver, $node->host, $node->port ]);
	my @results = $out =~ /^((?:not )?ok .*(?:\n#.*)*)$/mg;

	cmp_ok(scalar(@results), '>', 20, "$name ran") or diag("$out\n$err");
	for (@results)
	{
		my ($result, $why) = split /\n/, $_, 2;
		ok($result !~ /^not/, "$name: $result") or diag($why);
	}
	is($err, '', "$name wrote nothing to stderr");
	$node->safe_psql('postgres', q{SELECT stream.xdrop(name) FROM stream.catalog});
}

done_testing();
