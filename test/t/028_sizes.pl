# Large things work, and survive a restart: with the default of stream.memory, a
# value of 64 MB, ten thousand streams in one transaction, ten thousand savepoints
# of which half are rolled back, a thousand fields, a million
# entries in one transaction.  test/bench/sizes.sh measures what they cost.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', conf => "stream.memory = '256MB'\nsearch_path = 'public, stream'\n");
my $psql = sub { $node->safe_psql('postgres', $_[0]) };

is($psql->(q{SELECT octet_length(xadd('big', fields('v', repeat('x', 64 * 1024 * 1024), 'w', 'y'), '1-0')::text)}), 3, 'a value of 64 MB');
my $big = q{SELECT md5(fields->>'v'), fields->>'w', octet_length(field_bytes(fields, 'v')) FROM xrange('big')};
my $answer = $psql->($big);
like($answer, qr/\|y\|67108864$/, 'it is read');
is($psql->(q{SELECT octet_length(xinfo_stream_full('big')->'entries'->0->1->>1)}), 67108864, 'and shown');

is($psql->(q{BEGIN; SELECT count(xadd('many' || n, '*', 'k', 'v')) FROM generate_series(1, 10000) n; COMMIT;
	SELECT count(*), sum(length) FROM stream.streams WHERE stream ~ '^many'}), "10000\n10000|10000", 'ten thousand streams made in one transaction');
is($psql->(q{SELECT count(xadd('many' || n, '*', 'k', 'v')) FROM generate_series(1, 7500) n;
	SELECT count(*), sum(length) FROM stream.streams WHERE stream ~ '^many'}), "7500\n10000|17500", 'and added to');

$psql->(q{DO $$ BEGIN
	FOR i IN 1..10000 LOOP
		BEGIN
			PERFORM xadd('tried', '*', 'n', i::text);
			IF i % 2 = 0 THEN RAISE division_by_zero; END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP; END $$});
my $tried = q{SELECT count(*), sum((fields->>'n')::int), bool_and((fields->>'n')::int % 2 = 1) FROM xrange('tried')};
is($psql->($tried), '5000|25000000|t', 'ten thousand savepoints, half of them rolled back');
is($psql->(q{SELECT xadd('fields', fields_from(array_agg('f' || n), array_agg(n::text::bytea)), '1-0') FROM generate_series(1, 1000) n}),
	'1-0', 'a thousand fields');

$node->restart;
is($psql->($big), $answer, 'the value after a restart');
is($psql->($tried), '5000|25000000|t', 'the savepoints after a restart');
is($psql->(q{SELECT count(*), sum(length) FROM stream.streams WHERE stream ~ '^many'}), '10000|17500', 'the streams after a restart');
is($psql->(q{SELECT cardinality(fields::text[]), fields->>'f1000' FROM xrange('fields')}), '2000|1000', 'the fields after a restart');
is($psql->(q{SELECT count(xdrop(stream)) FROM stream.streams; SELECT count(*) FROM stream.activity}), "10003\n0", 'all dropped at once');

is($psql->(q{SELECT count(xadd('million', '*', 'n', n::text)) FROM generate_series(1, 1000000) n;
	SELECT xlen('million'), count(*), sum((fields->>'n')::bigint) FROM xrange('million')}),
	"1000000\n1000000|1000000|500000500000", 'a million entries in one transaction');

done_testing();
