# No entry is skipped: while transactions of very different lengths commit and roll
# back, readers that follow a stream by its ids see every committed entry exactly
# once and in the order of ids.
use strict;
use warnings FATAL => 'all';

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $seconds = $ENV{LOAD_SECONDS} || 8;
my $node = stream_node('cursor');

$node->safe_psql('postgres', q{
	SET search_path = public, stream;
	CREATE TABLE sent(id streamid);
	CREATE TABLE seen(reader int, n int GENERATED ALWAYS AS IDENTITY, id streamid);
	SELECT xcreate('c');

	-- Follows the stream until told to stop and nothing is left.
	CREATE PROCEDURE follow(reader int, wait interval, batch int) LANGUAGE plpgsql AS $$
	DECLARE
		last streamid := '0-0';
		top streamid;
		stopping boolean;
	BEGIN
		LOOP
			stopping := EXISTS (SELECT FROM pg_class WHERE relname = 'stopped');
			WITH got AS (SELECT id FROM stream.xread('c', last, batch, block => wait)),
				kept AS (INSERT INTO seen(reader, id) SELECT reader, id FROM got RETURNING id)
			SELECT max(id) INTO top FROM kept;
			COMMIT;
			EXIT WHEN stopping AND top IS NULL;
			last := coalesce(top, last);
		END LOOP;
	END $$});

my $dir = PostgreSQL::Test::Utils::tempdir();
my %scripts = (
	'short@8' => q{
		WITH x AS (SELECT stream.xadd('c', '{"kind":"short"}') AS id) INSERT INTO sent SELECT id FROM x;
	},
	'rollback@4' => q{
		BEGIN;
		SELECT stream.xadd('c', '{"kind":"rolled back"}');
		ROLLBACK;
	},
	'long@3' => q{
		\set ms random(1, 60)
		BEGIN;
		WITH x AS (SELECT stream.xadd('c', '{"kind":"long"}') AS id) INSERT INTO sent SELECT id FROM x;
		\sleep :ms ms
		WITH x AS (SELECT stream.xadd('c', '{"kind":"long"}') AS id) INSERT INTO sent SELECT id FROM x;
		COMMIT;
	},
	'longback@2' => q{
		\set ms random(1, 60)
		BEGIN;
		SELECT stream.xadd('c', '{"kind":"rolled back"}');
		\sleep :ms ms
		SELECT stream.xadd('c', '{"kind":"rolled back"}');
		ROLLBACK;
	},
	'savepoint@3' => q{
		BEGIN;
		WITH x AS (SELECT stream.xadd('c', '{"kind":"savepoint"}') AS id) INSERT INTO sent SELECT id FROM x;
		SAVEPOINT a;
		SELECT stream.xadd('c', '{"kind":"rolled back"}');
		ROLLBACK TO a;
		WITH x AS (SELECT stream.xadd('c', '{"kind":"savepoint"}') AS id) INSERT INTO sent SELECT id FROM x;
		COMMIT;
	},
	'bulk@1' => q{
		INSERT INTO sent SELECT stream.xadd('c', '{"kind":"bulk"}') FROM generate_series(1, 200);
	});

my @files;
for my $name (sort keys %scripts)
{
	(my $file = "$dir/$name") =~ s/@(\d+)$//;
	my $weight = $1;
	append_to_file($file, "$scripts{$name}\n");
	push @files, '-f', "$file\@$weight";
}

# Searching path for the operators of streamid.
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, stream');

my @readers = (
	background($node, q{CALL follow(1, NULL, NULL)}),
	background($node, q{CALL follow(2, NULL, 7)}),
	background($node, q{CALL follow(3, '50 ms', 100)}));
my ($out, $err) = run_command([ 'pgbench', '-n', '-c', 8, '-j', 2, '-T', $seconds, @files, $node->connstr('postgres') ]);
unlike($err, qr/error|aborted/i, 'the writers ran without error') or diag($err);
$node->safe_psql('postgres', 'CREATE TABLE stopped()');
for my $reader (@readers)
{
	my ($o, $e) = $reader->();
	is($e, '', 'reader ended well');
}

my $sent = $node->safe_psql('postgres', 'SELECT count(*) FROM sent');
cmp_ok($sent, '>', 500, "$sent entries committed");
is($node->safe_psql('postgres', q{SELECT count(*) FROM xrange('c') WHERE fields->>'kind' = 'rolled back'}), 0, 'none that was rolled back');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM ((SELECT id FROM xrange('c') EXCEPT ALL SELECT id FROM sent)
		UNION ALL (SELECT id FROM sent EXCEPT ALL SELECT id FROM xrange('c'))) d}), 0, 'the stream holds what was committed');
for my $r (1 .. 3)
{
	is($node->safe_psql('postgres', qq{
		SELECT (SELECT count(*) FROM (SELECT id FROM sent EXCEPT ALL SELECT id FROM seen WHERE reader = $r) d) AS missed,
			(SELECT count(*) FROM (SELECT id FROM seen WHERE reader = $r EXCEPT ALL SELECT id FROM sent) d) AS wrong,
			(SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM seen WHERE reader = $r) o WHERE id <= before) AS disorder}),
		'0|0|0', "reader $r saw every entry once and in order");
}

done_testing();
