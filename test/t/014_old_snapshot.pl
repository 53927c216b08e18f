# A snapshot held while more transactions add entries than the engine remembers:
# it slows nobody, its reads are right as long as they are answered, then they
# are refused (72000); quiet streams stay readable, and a new snapshot sees all.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', conf => "synchronous_commit = off\nstream.memory = '256MB'\n");
$node->safe_psql('postgres', q{
	CREATE TABLE made(n int);
	CREATE PROCEDURE work(first int, last int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR n IN first..last LOOP
			PERFORM stream.xadd('busy', stream.fields('n', n));
			INSERT INTO made VALUES (n);
			COMMIT;
		END LOOP;
	END $$;
	SELECT stream.xadd('quiet', '{"n":1}');
	CALL work(1, 100);
});

my $old = $node->background_psql('postgres', on_error_stop => 0);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $held = sub { $old->query_safe(q{SELECT stream.xlen('busy'), (SELECT count(*) FROM made)}) };
is($held->(), '100|100', 'the snapshot sees what was there');

$node->safe_psql('postgres', 'CALL work(101, 20000)');
is($held->(), '100|100', 'and still does, twenty thousand transactions later');
is($old->query_safe(q{SELECT count(*) FROM stream.xrange('busy')}), 100, 'entry by entry');
is($old->query_safe(q{SELECT count(*) FROM stream.xread('busy', '0')}), 100, 'by cursor');

$node->safe_psql('postgres', 'CALL work(20001, 90000)');
my $new = q{SELECT stream.xlen('busy'), stream.xcount('busy'), (SELECT count(*) FROM made)};
is($node->safe_psql('postgres', $new), '90000|90000|90000', 'a new snapshot sees everything');
is($old->query_safe(q{SELECT count(*) FROM stream.xrange('quiet')}), 1, 'a quiet stream is readable by the old one');
$old->query_safe('SAVEPOINT s');
$old->query('\set VERBOSITY sqlstate');
$old->query(q{SELECT stream.xlen('busy')});
like($old->{stderr}, qr/72000/, 'a busy one is refused');
$old->{stderr} = '';
$old->query_safe('ROLLBACK');
is($old->query_safe($new), '90000|90000|90000', 'in the next transaction it is readable again');
$old->quit;

done_testing();
