# Without shared_preload_libraries nothing works, and the errors say what to do.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('plain', extension => 0, conf => "shared_preload_libraries = ''\n");

# Creating may work (a restore does it), using may not.
my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nCREATE EXTENSION stream");
if ($status == 0)
{
	pass('the extension can be created');
}
else
{
	like($err, qr/55000/, 'CREATE EXTENSION without the library is 55000');
	like($err, qr/shared_preload_libraries/, 'and names the setting');
}

SKIP:
{
	skip 'extension not created', 8 if $status != 0;
	for my $call ("xadd('s', '{\"a\":1}')", "xlen('s')", "xcreate('s')", "xtrim('s', 1)", "xlisten('s')", "xunlisten('s')")
	{
		is(sqlstate($node, "SELECT stream.$call"), '55000', "$call is 55000");
	}
	($status, $out, $err) = $node->psql('postgres', "SELECT * FROM stream.xrange('s')");
	like($err, qr/HINT:.*shared_preload_libraries/, 'the hint names the setting');
	# Types need no engine.
	is($node->safe_psql('postgres', q{SELECT stream.fields('a', 1), '5'::stream.streamid}), '{"a": "1"}|5-0', 'types work');
}

# Then with it.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'stream'\n");
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS stream');
is($node->safe_psql('postgres', q{SELECT stream.xadd('s', '{"a":1}', '1-0'), stream.xlen('s')}), '1-0|1', 'after a restart it works');

# Loading it into a session by hand changes nothing, in either server.
is(sqlstate($node, "LOAD 'stream'"), '', 'LOAD does no harm');

done_testing();
