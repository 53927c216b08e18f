\echo '-- All have been given out, and what bert had not committed is still his.'
SELECT grp, lag, pending, delivered, acked FROM stream.groups;
SELECT consumer, pending FROM stream.consumers ORDER BY consumer;

\echo '-- What has been pending for too long goes back to the group (otherwise a job of pg_cron'
\echo '-- does this) …'
SELECT * FROM xreclaim('quakes', 'counting', min_idle => '10 ms');
\echo '-- … and the next worker gets it.'
CALL work('anna');
SELECT worker, given_before, count(*) AS quakes FROM counted GROUP BY 1, 2 ORDER BY 1, 2;
