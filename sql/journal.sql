-- The bytes of a transaction in the journal, as docs/formats.md draws them, and
-- the rows of a large one.
SET search_path = public, stream;

BEGIN;
SELECT xadd('journal', '{"a":1,"b":"x"}', '258-3');
SELECT xadd('journal', '{"a":2,"b":"y"}', '258-4');
COMMIT;
-- head: format, number of streams; set: chunks, deletions, trim-to id (the id of
-- the stream, 8 bytes before it, is left out); chunk: first id, bytes, new run, listpack.
SELECT encode(substr(bytes, 1, 5), 'hex') AS head,
	encode(substr(bytes, 14, 8), 'hex') AS counts,
	encode(substr(bytes, 22, 16), 'hex') AS trim_to,
	encode(substr(bytes, 38, 16), 'hex') AS first_id,
	encode(substr(bytes, 54, 5), 'hex') AS bytes_and_run,
	encode(substr(bytes, 59), 'hex') AS listpack
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx
BEGIN;
SELECT xadd('journal', '{"a":1,"b":"x"}', '258-5');
SELECT xdel('journal', '258-3'), xtrim('journal', 1);
COMMIT;
SELECT encode(substr(bytes, 14, 8), 'hex') AS counts,
	encode(substr(bytes, 22, 16), 'hex') AS trim_to,
	encode(substr(bytes, length(bytes) - 15), 'hex') AS deleted_id
FROM journal_0 WHERE num IS NOT NULL ORDER BY num DESC LIMIT 1 \gx

-- Over one row: pieces without a number, then the numbered rest.
SELECT count(xadd('journal', fields('v', repeat(n::text, 3000)))) FROM generate_series(10, 14) n;
SELECT num IS NULL AS is_piece, piece, crc IS NULL AS no_crc, length(bytes)
FROM journal_0 WHERE piece_set = (SELECT max(piece_set) FROM journal_0) ORDER BY num NULLS FIRST, piece;
SELECT xdrop('journal');
