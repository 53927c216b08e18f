# Renaming: a crash at any place, a restart, and a replay find the old names or the
# new ones, never both or neither; who waits for a name goes on waiting for it.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('main', fsync => 1);

$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET search_path = public, stream;
	CREATE FUNCTION public.seen(VARIADIC names text[]) RETURNS text LANGUAGE sql AS $$
		SELECT string_agg(n || CASE WHEN stream.xexists(n) THEN array(SELECT id FROM stream.xrange(n))::text ELSE ' missing' END, ', ')
		FROM unnest(names) n $$});

# A swap, a chain, a new stream under an old name, a name taken from a dropped one.
my $renames = q{
	SELECT xrename('a', 't'), xrename('b', 'a'), xrename('t', 'b');
	SELECT xrename('c', 'd'), xrename('d', 'e'), xadd('c', '{"new":1}', '9-0');
	SELECT xdrop('g'), xrename('f', 'g'), xadd('g', '{"after":1}', '9-1');
};
my @names = map { "'$_'" } qw(a b c d e f g t);
my $names = join ',', @names;
my $old = 'a{1-0}, b{2-0}, c{3-0}, d missing, e missing, f{4-0}, g{5-0}, t missing';
my $new = 'a{2-0}, b{1-0}, c{9-0}, d missing, e{3-0}, f missing, g{4-0,9-1}, t missing';

sub fresh
{
	$node->safe_psql('postgres', qq{SELECT xdrop(n) FROM unnest(array[$names]) n});
	$node->safe_psql('postgres', q{
		SELECT xadd('a', '{"n":1}', '1-0'), xadd('b', '{"n":1}', '2-0'), xadd('c', '{"n":1}', '3-0'),
			xadd('f', '{"n":1}', '4-0'), xadd('g', '{"n":1}', '5-0')});
	return $node->safe_psql('postgres', "SELECT seen($names)");
}

is(fresh(), $old, 'before');
for my $p ([ 'xact-numbered', 0 ], [ 'xact-journaled', 0 ], [ 'xact-committed', 1 ], [ 'xact-merged', 1 ],
	[ 'store-before-merge-apply', 1 ])
{
	my ($point, $committed) = @$p;

	fresh();
	my ($out, $err) = background($node, qq{
		BEGIN; $renames SET LOCAL stream.test_point = '$point';
		COMMIT;
		\\echo survived})->();
	unlike($out, qr/survived/, "$point: the backend died");
	wait_back($node);
	is($node->safe_psql('postgres', "SELECT seen($names)"), $committed ? $new : $old, "$point: all of it or nothing");
}

fresh();
$node->safe_psql('postgres', "BEGIN; $renames COMMIT");
is($node->safe_psql('postgres', "SELECT seen($names)"), $new, 'committed');
my $state = logical_state($node);
for my $how (qw(fast immediate))
{
	my $open = background($node, q{
		BEGIN; SELECT xrename('a', 'never'), xrename('b', 'a');
		\echo ready
		SELECT 1 FROM xread('none', '$', block => '1 hour')});
	wait_for { $open->('peek') =~ /ready/ } 'an open transaction';
	$node->stop($how);
	$node->start;
	$open->();
	is(logical_state($node), $state, "the same after a $how stop");
	is($node->safe_psql('postgres', "SELECT seen($names, 'never')"), "$new, never missing", 'what was open is gone');
	is($node->safe_psql('postgres', q{SELECT string_agg(stream, ' ' ORDER BY stream::text COLLATE "C") FROM stream.streams}), 'a b c e g', 'listed');
}

# Cancelled while it waits, in a transaction that goes on.
my $holder = $node->background_psql('postgres');
$holder->query_safe(q{BEGIN; SELECT xadd('a', '{"n":1}', '2-1')});
is(sqlstate($node, q{SET statement_timeout = '300ms'; SELECT xrename('a', 'x')}), '57014', 'cancelled');
is(sqlstate($node, q{SET statement_timeout = '300ms'; BEGIN; SAVEPOINT s; SELECT xrename('b', 'x'); SELECT xrename('a', 'y')}), '57014', 'with another one open');
$holder->query_safe('ROLLBACK');
is($node->safe_psql('postgres', "SELECT seen($names, 'x', 'y')"), "$new, x missing, y missing", 'nothing is left of it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM stream.activity'), 0, 'nor of their parts');

# What stream.activity says.
$holder->query_safe(q{BEGIN; SELECT xrename('a', 'x')});
is($node->safe_psql('postgres', 'SELECT stream, state FROM stream.activity'), 'a|renaming', 'renaming');
$holder->query_safe('ROLLBACK');

# Readers wait for a name, not for the stream that had it.
sub waiting
{
	my ($n) = @_;
	return wait_for {
		$node->safe_psql('postgres', qq{
			SELECT count(*) >= $n FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND pid <> pg_backend_pid()}) eq 't'
	} "$n waiting";
}
my $old_name = background($node, q{SELECT key, id FROM xread('a', '$', block => '1 h')});
my $new_name = background($node, q{SELECT key, id FROM xread('x', '$', block => '1 h')});
my $both = background($node, q{SELECT key, id FROM xread_many('{a,x}', '{100-0,100-0}', block => '1 h')});
waiting(3);
$holder->query_safe(q{BEGIN; SELECT xrename('a', 'x')});
$node->safe_psql('postgres', q{SELECT xadd('b', '{"n":1}')});
$holder->query_safe(q{SELECT xadd('x', '{"n":1}', '50-0')});
is($_->('peek'), '', 'nothing seen of it') for $old_name, $new_name, $both;
$holder->query_safe('COMMIT');
is(($new_name->())[0], "x|2-0\nx|50-0", 'who waits for the new name has what came with it');
waiting(2);
$node->safe_psql('postgres', q{SELECT xadd('x', '{"n":1}', '60-0')});
is($_->('peek'), '', 'who waits for the old name does not hear of the new one') for $old_name, $both;
$node->safe_psql('postgres', q{SELECT xadd('a', '{"n":1}', '70-0')});
is(($old_name->())[0], 'a|70-0', 'but of a stream that comes to the old name');
$node->safe_psql('postgres', q{SELECT xadd('x', '{"n":1}', '200-0')});
is(($both->())[0], 'x|200-0', 'and of both, who waits for both');

# A rename under which the extension goes.
$holder->quit;
$holder = $node->background_psql('postgres', on_error_stop => 0);
$holder->query_safe(q{\set VERBOSITY sqlstate
	BEGIN; SELECT xrename('x', 'y'), xrename('b', 'x')});
$node->safe_psql('postgres', 'DROP EXTENSION stream CASCADE');
$holder->query('COMMIT');
like($holder->{stderr}, qr/55000/, 'cannot commit');
$holder->quit;
is($node->safe_psql('postgres', q{
	CREATE EXTENSION stream; SELECT count(*) FROM stream.streams}), 0, 'gone with the rest');
is($node->safe_psql('postgres', q{SELECT stream.xadd('x', '{"n":1}', '1-0'), stream.xadd('y', '{"n":1}', '1-0'), stream.xrename('y', 'b')}),
	'1-0|1-0|', 'and the names are free');

done_testing();
