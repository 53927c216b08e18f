# A read sees what its snapshot sees: a stream joined with the table its producers
# write never has a row without its entry nor an entry without its row, while
# thousands of transactions commit; in READ COMMITTED, where one statement has one
# snapshot, and in REPEATABLE READ, where a whole transaction has.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 8;
my $node = stream_node('joined');

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET search_path = public, stream;
	SET search_path = public, stream;
	CREATE TABLE rows(id streamid PRIMARY KEY, n int);
	SELECT xcreate('j');

	-- How many of the newest entries and rows have no counterpart, in one statement.
	CREATE FUNCTION unmatched(lo streamid) RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT count(*) FROM (SELECT id FROM xrange('j', lo)) e FULL JOIN (SELECT id FROM rows WHERE id >= lo) r USING (id)
		WHERE e.id IS NULL OR r.id IS NULL $$;

	-- Each statement of a plpgsql function that is VOLATILE has a snapshot of its own.
	CREATE TABLE looks(what text, n bigint, wrong bigint);
	CREATE PROCEDURE look(what text) LANGUAGE plpgsql AS $$
	DECLARE n bigint := 0; bad bigint := 0; lo streamid := '0-0'; u bigint; e bigint; r bigint; c bigint;
	BEGIN
		WHILE NOT EXISTS (SELECT FROM pg_class WHERE relname = 'stopped') LOOP
			n := n + 1;
			IF what <> 'read committed' THEN
				-- Statements one after the other, all under one snapshot.
				SELECT count(*) INTO r FROM rows WHERE id >= lo;
				SELECT count(*) INTO e FROM xrange('j', lo);
				SELECT xcount('j', lo) INTO c;
				bad := bad + (r <> e)::int + (c <> e)::int;
				SELECT count(*) INTO u FROM xread('j', lo) x LEFT JOIN rows USING (id) WHERE rows.id IS NULL;
				bad := bad + u;
			END IF;
			SELECT unmatched(lo) INTO u;
			bad := bad + u;
			-- The row first, then the entry in the next statement: it must be there.
			SELECT max(id) INTO lo FROM rows;
			IF lo IS NOT NULL AND NOT EXISTS (SELECT FROM xrange('j', lo, lo)) THEN bad := bad + 1; END IF;
			lo := coalesce((SELECT min(id) FROM xrevrange('j', count => 300)), '0-0');
			COMMIT;
		END LOOP;
		COMMIT;
		INSERT INTO looks VALUES (what, n, bad);
	END $$});

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/entry", q{
	WITH x AS (SELECT xadd('j', '{"a":1}') AS id) INSERT INTO rows SELECT id, 1 FROM x;
});
append_to_file("$dir/more", q{
	BEGIN;
	INSERT INTO rows SELECT xadd('j', '{"a":2}'), 2;
	INSERT INTO rows SELECT xadd('j', '{"a":2}'), 3 FROM generate_series(1, 5);
	COMMIT;
});
append_to_file("$dir/back", q{
	BEGIN;
	INSERT INTO rows SELECT xadd('j', '{"a":3}'), 4;
	ROLLBACK;
});

# A transaction of its own is repeatable read from its first statement.
my @readers = (
	background($node, q{CALL look('read committed')}),
	background($node, q{SET default_transaction_isolation = 'repeatable read'; CALL look('repeatable read')}),
	background($node, q{SET default_transaction_isolation = 'serializable'; CALL look('serializable')}));
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 6, '-j', 2, '-t', 65 * $seconds, '-M', 'prepared',
	'-f', "$dir/entry\@6", '-f', "$dir/more\@2", '-f', "$dir/back\@2", $node->connstr('postgres') ]);
unlike($err, qr/error|aborted/i, 'the writers ran without error') or diag($err);
$node->safe_psql('postgres', 'CREATE TABLE stopped()');
for my $reader (@readers)
{
	my ($o, $e) = $reader->();
	is($e, '', 'reader ended well');
}
my $commits = $node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT DISTINCT xmin::text FROM rows) x});
cmp_ok($commits, '>', 2000, "$commits transactions committed");
note($node->safe_psql('postgres', 'TABLE looks'));
for my $what ('read committed', 'repeatable read', 'serializable')
{
	is($node->safe_psql('postgres', qq{SELECT n > 20, wrong FROM looks WHERE what = '$what'}), 't|0', "$what: never one without the other");
}

# A snapshot taken before keeps showing what it showed, whatever is added.
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(7)');
my $old = background($node, q{
	BEGIN ISOLATION LEVEL REPEATABLE READ;
	SELECT 'first', xcount('j') = (SELECT count(*) FROM rows);
	\echo ready
	SELECT pg_advisory_lock(7) IS NULL;
	SELECT 'again', xcount('j') = (SELECT count(*) FROM rows), count(*) = xcount('j') FROM xrange('j');
	COMMIT;
	SELECT 'after', xcount('j') = (SELECT count(*) FROM rows);
});
wait_for { $old->('peek') =~ /ready/ } 'an old snapshot';
$node->safe_psql('postgres', q{INSERT INTO rows SELECT xadd('j', '{"a":5}'), 5 FROM generate_series(1, 3)}) for 1 .. 20;
$gate->query_safe('SELECT pg_advisory_unlock(7)');
$gate->quit;
($out, $err) = $old->();
is($out, "first|t\nready\nf\nagain|t|t\nafter|t", 'an old snapshot sees neither row nor entry of later ones');

done_testing();
