# pg_dump and pg_restore carry streams with everything else: the restored database
# answers the same, goes on from the same ids, and keeps owners.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('dump');
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	CREATE ROLE producer LOGIN;
	GRANT USAGE, CREATE ON SCHEMA stream TO producer;
	CREATE TABLE orders(n int, id streamid, what streamfields, log stream);
	INSERT INTO orders SELECT n, xadd('orders', fields('n', n, 'v', repeat('v', n))), fields('raw', '\x00ff'::bytea, 'n', n), 'orders'
		FROM generate_series(1, 500) n;
	SELECT sum(xdel('orders', id)) FROM orders WHERE n % 5 = 0;
	SELECT xadd('odd', fields('a', '\x00ff'::bytea, 'a', 'twice', '', 'ключ')), xadd('emptied', '{"a":1}', '9-9'), xtrim('emptied', 0), xcreate('new');
	SELECT xadd('big', fields('v', repeat('x', 3000000)));
	SELECT xgroup_create('orders', 'g'), xgroup_create('orders', 'end', '$'), xgroup_set('orders', 'g', retry => '1 day', max_deliveries => 3, dead_letter => 'dead');
	SELECT count(xack('orders', 'g', id)) FROM xreadgroup('orders', 'g', 'c') WHERE (fields->>'n')::int % 2 = 0;
	SELECT xnack('orders', 'g', 'FAIL', array(SELECT id FROM xpending('orders', 'g', count => 3)));
	CREATE INDEX ON orders(id);
	SET ROLE producer;
	SELECT xadd('theirs', '{"a":1}', '1-1')});

my $state = logical_state($node);
my $table = $node->safe_psql('postgres', q{SELECT md5(string_agg(o::text, ',' ORDER BY n)) FROM orders o});

for my $format ('plain', 'custom')
{
	my $db = "restored_$format";
	my $file = "$dir/$format";

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	command_ok([ 'pg_dump', '-F', $format, '-f', $file, '-d', $node->connstr('postgres') ], "pg_dump, $format");
	if ($format eq 'plain')
	{
		command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr($db) ], 'psql restores it');
	}
	else
	{
		command_ok([ 'pg_restore', '-j', 2, '--exit-on-error', '-d', $node->connstr($db), $file ], 'pg_restore restores it');
	}
	is(logical_state($node, $db), $state, "$format: the streams are the same");
	is($node->safe_psql($db, q{SELECT md5(string_agg(o::text, ',' ORDER BY n)) FROM orders o}), $table, "$format: so is the table");
	is($node->safe_psql($db, q{SELECT count(*) FROM stream.xrange('orders') x JOIN orders o ON x.id OPERATOR(stream.=) o.id
		WHERE x.fields OPERATOR(stream.->>) 'n' = o.n::text}), 400, "$format: they join");
	is(sqlstate($node, q{SELECT stream.xadd('emptied', '{"a":1}', '9-9')}, dbname => $db), 'ST001', "$format: ids go on from where they were");
	is($node->safe_psql($db, q{SET ROLE producer; SELECT stream.xlen('theirs')}), 1, "$format: the owner is the same");
	is($node->safe_psql($db, q{SELECT count(*), sum(deliveries) FROM stream.xreadgroup('orders', 'g', 'd', count => 5)}), '5|3', "$format: groups go on, released entries first");
	is($node->safe_psql($db, q{SELECT stream.xadd('orders', '{"n":501}') IS NOT NULL, stream.xlen('orders')}), 't|401', "$format: and it works on");
	is(logical_state($node), $state, "$format: the first database knows nothing of it");
	$node->restart;
	is($node->safe_psql($db, q{SELECT stream.xlen('orders')}), 401, "$format: after a restart too");
}

done_testing();
