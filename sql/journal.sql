-- The bytes of a transaction in the journal, as docs/formats.md draws them, and
-- the rows of a large one.
SET search_path = public, stream;

BEGIN;
SELECT xadd('journal', '{"a":1,"b":"x"}', '258-3');
SELECT xadd('journal', '{"a":2,"b":"y"}', '258-4');
COMMIT;
-- head: format, number of streams; set: parts, chunks (the id of the stream, 8 bytes before it, is
-- left out); chunk: first id, bytes, new run, listpack.
SELECT encode(substr(bytes, 1, 5), 'hex') AS head,
	encode(substr(bytes, 14, 1), 'hex') AS parts,
	encode(substr(bytes, 15, 4), 'hex') AS chunks,
	encode(substr(bytes, 19, 16), 'hex') AS first_id,
	encode(substr(bytes, 35, 5), 'hex') AS bytes_and_run,
	encode(substr(bytes, 40), 'hex') AS listpack
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx
BEGIN;
SELECT xadd('journal', '{"a":1,"b":"x"}', '258-5');
SELECT xdel('journal', '258-3'), xtrim('journal', 1);
COMMIT;
SELECT encode(substr(bytes, 14, 1), 'hex') AS parts,
	encode(substr(bytes, 15, 8), 'hex') AS counts,
	encode(substr(bytes, 23, 16), 'hex') AS trim_to,
	encode(substr(bytes, length(bytes) - 16), 'hex') AS deletion
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx

-- A pair: the entry's id, the digests of producer and iid; a header: what comes
-- before it, last id, entries added, greatest deleted id, limits.
BEGIN;
SELECT xadd('journal', '{"a":1}', '258-6');
SELECT xadd('journal', '{"a":1}', producer => 'p', iid => '1') IS NOT NULL AS added;
SELECT xsetid('journal', '9999999999999-7', 9, '5-1');
SELECT xcfgset('journal', '10 s', 20, 1000, 30);
COMMIT;
SELECT encode(substr(bytes, 14, 1), 'hex') AS parts,
	encode(substr(bytes, 15, 12), 'hex') AS counts,
	encode(substr(bytes, length(bytes) - 2 * 72 - 31, 16), 'hex') = substr(encode(sha256('p'), 'hex'), 1, 32) AS producer,
	encode(substr(bytes, length(bytes) - 2 * 72 - 15, 16), 'hex') = substr(encode(sha256('1'), 'hex'), 1, 32) AS iid,
	encode(substr(bytes, length(bytes) - 71, 16), 'hex') AS before,
	encode(substr(bytes, length(bytes) - 55, 16), 'hex') AS last_id,
	encode(substr(bytes, length(bytes) - 39, 8), 'hex') AS entries_added,
	encode(substr(bytes, length(bytes) - 31, 16), 'hex') AS max_deleted_id,
	encode(substr(bytes, length(bytes) - 15, 16), 'hex') AS limits
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx

-- What a removal leaves of pending records, and operations on groups (their bytes: docs/formats.md).
BEGIN;
SELECT xgroup_create('journal', 'g', '0');
SELECT id FROM xreadgroup('journal', 'g', 'c', count => 1);
SELECT xtrim('journal', minid => '258-6', refs => 'KEEPREF');
COMMIT;
SELECT encode(substr(bytes, 14, 1), 'hex') AS parts,
	encode(substr(bytes, 15, 16), 'hex') AS trim_keep,
	encode(substr(bytes, 31, 4), 'hex') AS operations
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx

-- Over one row: pieces without a number, then the numbered rest.
SELECT count(xadd('journal', fields('v', repeat(n::text, 3000)))) FROM generate_series(10, 14) n;
SELECT num IS NULL AS is_piece, piece, crc IS NULL AS no_crc, length(bytes)
FROM journal_0 WHERE piece_set = (SELECT max(piece_set) FROM journal_0) ORDER BY num NULLS FIRST, piece;
SELECT xdrop('journal');
