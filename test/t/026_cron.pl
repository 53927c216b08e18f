# With pg_cron: what was abandoned comes back, what was delivered too often goes
# to the dead-letter stream with its history.
#
# The jobs are the README's.  Their schedule, each minute, is the shortest that
# pg_cron 1.4 has; for them to run at once it becomes @reboot here, and the server
# is started again.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use StreamTest;
use Test::More;

my $node = stream_node('cron', conf => q{
shared_preload_libraries = 'stream, pg_cron'
cron.database_name = 'postgres'
cron.use_background_workers = on
});

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_cron;
	ALTER DATABASE postgres SET search_path = "$user", public, stream;
});
$node->safe_psql('postgres', q{
	SELECT count(xadd('orders', fields('number', n), n || '-0')) FROM generate_series(1, 5) n;
	SELECT xgroup_create('orders', 'billing'), xgroup_create('orders', 'letters');
	SELECT count(*) FROM xreadgroup('orders', 'billing', 'gone', count => 3);
	SELECT count(*) FROM xreadgroup('orders', 'letters', 'gone', count => 3);
	-- 1-0: abandoned an hour ago; 2-0: for the fifth time; 3-0: still at work
	SELECT count(*) FROM xclaim('orders', 'billing', 'gone', '0', '1-0', idle => '1 hour', retrycount => 1);
	SELECT count(*) FROM xclaim('orders', 'billing', 'gone', '0', '2-0', idle => '1 hour', retrycount => 5);
});
$node->safe_psql('postgres', $_) for recipe('Abandoned entries', 'sql');
is($node->safe_psql('postgres', q{SELECT jobname, schedule, active FROM cron.job ORDER BY jobid}),
	"reclaim|* * * * *|t\nreclaim letters|* * * * *|t", 'the jobs are scheduled');
is($node->safe_psql('postgres', q{SELECT pending FROM xpending_summary('orders', 'billing')}), '3', 'nothing has come back');

# Starts the server again and waits for the jobs; returns what became of them.
sub run_jobs
{
	my $before = $node->safe_psql('postgres', q{SELECT coalesce(max(runid), 0) FROM cron.job_run_details});
	my $runs = qq{SELECT j.jobname, d.status, d.return_message FROM cron.job_run_details d JOIN cron.job j USING (jobid)
		WHERE runid > $before AND status IN ('succeeded', 'failed') ORDER BY jobid};

	$node->restart;
	wait_for { 2 == split /\n/, $node->safe_psql('postgres', $runs) } 'the jobs';
	return $node->safe_psql('postgres', $runs);
}

$node->safe_psql('postgres', q{SELECT cron.alter_job(jobid, schedule => '@reboot') FROM cron.job});
is(run_jobs(), "reclaim|succeeded|SELECT 1\nreclaim letters|succeeded|SELECT 1", 'the jobs have run');

is($node->safe_psql('postgres', q{SELECT id, consumer FROM xpending('orders', 'billing') WHERE consumer <> ''}), '3-0|gone', 'what is at work stays');
is($node->safe_psql('postgres', q{SELECT name, released, dead FROM xinfo_groups('orders') ORDER BY name}),
	"billing|1|1\nletters|0|0", 'one is released, one dead');
is($node->safe_psql('postgres', q{SELECT id, fields->>'number', deliveries FROM xreadgroup('orders', 'billing', 'next', count => 2)}),
	"1-0|1|1\n4-0|4|0", 'the next reader gets what was abandoned, then what is new');
is($node->safe_psql('postgres', q{SELECT fields FROM xrange('orders-dead')}),
	'{"number": "2", "stream": "orders", "group": "billing", "id": "2-0", "deliveries": "5", "consumer": "gone"}',
	'the dead letter has its history');
is($node->safe_psql('postgres', q{SELECT xack('orders', 'billing', '2-0')}), '0', 'and is pending no more');

# The second job's group has no policy; and what the first has done is not done again.
$node->safe_psql('postgres', q{
	SELECT count(*) FROM xclaim('orders', 'letters', 'gone', '0', '2-0', idle => '1 hour', retrycount => 5);
	SELECT count(*) FROM xclaim('orders', 'letters', 'gone', '0', '3-0', idle => '1 hour', retrycount => 4)});
is(run_jobs(), "reclaim|succeeded|SELECT 1\nreclaim letters|succeeded|SELECT 1", 'the jobs have run again');
is($node->safe_psql('postgres', q{SELECT name, released, dead FROM xinfo_groups('orders') ORDER BY name}),
	"billing|0|1\nletters|1|1", 'each in its group');
is($node->safe_psql('postgres', q{SELECT fields->>'group', fields->>'id' FROM xrange('orders-dead')}), "billing|2-0\nletters|2-0",
	'a dead letter is one once');

done_testing();
