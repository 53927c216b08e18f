-- The view stream.append: INSERT … RETURNING, INSERT … SELECT, COPY.
SET search_path = public, stream;

INSERT INTO append(key, fields) VALUES ('ap', '{"a":1}') RETURNING id IS NOT NULL AS id, fields;
INSERT INTO append(key, fields, id) SELECT 'ap' || n % 2, fields('n', n), (n || '-0')::streamid FROM generate_series(1, 4) n RETURNING key, id;
SELECT id, fields FROM xrange('ap0');
SELECT id, fields FROM xrange('ap1');
COPY append(key, fields) FROM stdin;
ap2	{"from": "copy"}
ap2	{"from": "copy", "n": "2"}
\.
SELECT fields FROM xrange('ap2');
COPY append FROM stdin;
ap2	{"with": "id"}	18446744073709551615-0
\.
SELECT id FROM xrevrange('ap2', count => 1);
-- All of a statement or nothing.
\set VERBOSITY sqlstate
INSERT INTO append SELECT 'ap0', fields('n', n), (9 - n || '-0')::streamid FROM generate_series(1, 3) n;
INSERT INTO append(key, fields) VALUES (NULL, '{"a":1}');
INSERT INTO append(key, fields) VALUES ('ap', NULL);
INSERT INTO append(key, fields, id) VALUES ('ap', '{"a":1}', '0-0');
UPDATE append SET key = 'x';
DELETE FROM append;
COPY append(key, fields) FROM stdin;
ap0	{"a": "1"}
ap0	no json
\.
BEGIN READ ONLY;
INSERT INTO append(key, fields) VALUES ('ap', '{"a":1}');
ROLLBACK;
\set VERBOSITY default
SELECT xlen('ap0'), (SELECT count(*) FROM append);
BEGIN;
INSERT INTO append(key, fields) VALUES ('ap0', '{"a":1}');
ROLLBACK;
SELECT xlen('ap0');
SELECT xdrop(k) FROM unnest(array['ap', 'ap0', 'ap1', 'ap2']) k;
-- The trigger is of this view only: of another the columns mean something else.
CREATE VIEW not_append AS SELECT 1::bigint AS key, 1::bigint AS fields, 1::bigint AS id;
CREATE TRIGGER append INSTEAD OF INSERT ON not_append FOR EACH ROW EXECUTE FUNCTION append_row();
INSERT INTO not_append VALUES (123456789, 1, 1);
DROP VIEW not_append;
CREATE ROLE ap_role;
SET ROLE ap_role;
CREATE TEMP VIEW not_append AS SELECT 'x'::text AS key;
CREATE TRIGGER append INSTEAD OF INSERT ON not_append FOR EACH ROW EXECUTE FUNCTION stream.append_row();
RESET ROLE;
DROP OWNED BY ap_role;
DROP ROLE ap_role;
