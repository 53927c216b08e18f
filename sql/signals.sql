-- channel, and the arguments of xlisten and xunlisten.  What is sent, and when, is
-- in test/t/022_signals.pl.
SET search_path = public, stream;

-- A channel's name holds the stream's as long as there is room, else a digest.
SELECT n, channel(repeat('x', n)) AS channel, octet_length(channel(repeat('x', n))) AS bytes
FROM unnest(array[0, 1, 56, 57, 512]) n;
SELECT channel('Orders "new"'), channel('#'), channel(repeat('é', 28)), channel(repeat('é', 29));
-- No two are the same: neither names that begin alike nor a name written like a digest.
SELECT count(DISTINCT channel(k)) = count(*) AS different, bool_and(octet_length(channel(k)) < 64) AS fit
FROM (SELECT repeat('x', n) || s AS k FROM generate_series(0, 500) n, unnest(array['', 'a', 'b']) s
      UNION SELECT substr(channel(repeat('x', n)), 8) FROM generate_series(57, 500) n) k;
SELECT channel(key), pg_typeof(channel(key)) FROM (VALUES ('s'::stream)) v(key);
-- Immutable, and LISTEN takes it.
CREATE TABLE watched (key stream, ch text GENERATED ALWAYS AS (stream.channel(key)) STORED);
INSERT INTO watched VALUES ('a'), (repeat('y', 100));
SELECT * FROM watched;
SELECT format('LISTEN %I', ch) FROM watched \gexec
SELECT c FROM pg_listening_channels() c ORDER BY c COLLATE "C";
UNLISTEN *;
DROP TABLE watched;

-- A stream that is there, one that is not, twice, in a read-only transaction, in one
-- that fails; what was not listened to.
SELECT xcreate('s');
SELECT xlisten('s'), xlisten('s'), xlisten('missing'), xlisten('');
BEGIN READ ONLY;
SELECT xlisten('s'), xunlisten('s');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT xlisten(key => repeat('z', 512));
ROLLBACK;
SELECT xunlisten('s'), xunlisten('s'), xunlisten('missing'), xunlisten(key => 'never');
DISCARD ALL;
SET search_path = public, stream;
SELECT xunlisten(repeat('z', 512)), xexists('missing');

\set VERBOSITY sqlstate
SELECT xlisten(NULL);
SELECT xunlisten(NULL);
SELECT channel(NULL);
SELECT xlisten(repeat('z', 513));
SELECT xunlisten(repeat('z', 513));
SELECT channel(repeat('z', 513));
\set VERBOSITY default
SELECT xdrop('s');
-- A session's names are limited: they take shared memory, and need no privilege.
SELECT count(xlisten('name ' || n)) FROM generate_series(1, 1000) n;
SELECT xlisten('name 1'), xlisten('name 1001');
SELECT xunlisten('name 7'), xlisten('name 1001');
DISCARD ALL;
