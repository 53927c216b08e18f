#!/usr/bin/python3
"""Calls of every function, type and cast of schema stream with bad arguments.

Whatever a caller gives, the answer is a result or an error with an SQLSTATE of
its own: this fails on class XX (internal error, data corrupted), on a lost
connection and on a call that does not end.  What there is to call is read from
the system catalogs, so that new functions are covered as they appear.
"""
import argparse
import io
import random
import struct
import sys
import time

import psycopg2

PATIENCE = 20           # seconds a statement may take beyond statement_timeout

INTS = [0, 1, -1, 2, 3, 5, 10, 100, 1000, 2**15, 2**31 - 1, 2**31, -2**31, 2**32, 2**53, 2**63 - 1, -2**63, -2**63 + 1]
U64 = ["0", "1", "5", "00", "01", "18446744073709551615", "18446744073709551616", "9223372036854775807",
       "9223372036854775808", "1526919030474", "-1", "+1", " 1", "1 ", "1e3", "0x10", "99999999999999999999999", ""]
TIMES = ["2024-01-01", "2024-01-01 10:00:00+02", "infinity", "-infinity", "epoch", "294276-12-31 23:59:59", "4713-01-01 BC",
         "10:00", "now", "2024-13-45", "0000-00-00", "1969-12-31 23:59:59.9995", "today", "J0", "2024-01-01T00:00:00Z",
         "2024-02-30 00:00", "9999999-01-01", "1970-01-01 00:00:00 Mars/Olympus", "12-12-12", "--", ":", "::", "---", "5874897-12-31"]
INTERVALS = ["0", "1 ms", "5 ms", "0.4 ms", "20 ms", "-1 second", "1 second", "178000000 years", "-178000000 years", "1 mon -30 days",
             "2147483647 mons 2147483647 days", "1 us", "9223372036854775807 us", "100 years"]
JSONS = ['{}', '{"a":1}', '{"a":"b"}', '[]', '1', '"x"', 'null', '{"a":null}', '{"a":true,"a":false}', '{"":""}', '{"a":[1,[2,{"b":"c"}]]}',
         '{"$bytea":"\\\\x00"}', '{"a":{"$bytea":"\\\\x00ff"}}', '{"a":{"$bytea":"\\\\xzz"}}', '{"a":{"$bytea":"\\\\x0"}}', '{"a":{"$bytea":"x"}}',
         '{"a":{"$bytea":1}}', '{"a":{"$bytea":"\\\\x00","b":1}}', '{"a":{"$bytea":{"$bytea":"\\\\x00"}}}', '{"a":{"$bytea":["\\\\x00"]}}',
         '{"a":{"$bytea":"\\\\x00","$bytea":"\\\\x01"}}', '{"a":{"$bytea":""}}', '{"a":{"$bytea":"\\\\x"}}', '{"$bytea:\\\\x00":1}', '{"$bytea:":1}',
         '{"$bytea:\\\\xgg":1}', '{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"\\u0000":1}', '{"a":"\\u00e4\\ud83d\\ude00"}', '{"a"', '{"a":}', '{a:1}', "{'a':1}",
         '{"a":1e400}', '{"a":-0}', '{"a":18446744073709551616}', '{"a":1}{"b":2}', '{"a":1,}', '  {"a" : 1 }  ', '{"a":"\\q"}', '{"a":NaN}',
         '{"a":[[[[{"$bytea":"\\\\x00"}]]]]}', '{"a":[{"$bytea":"\\\\x00"},1]}', '{"a":"\\"}', '\ufeff{"a":1}']
MODES = ["SILENT", "fail", "FATAL", "", "x"]
# What arguments of these names are mostly given, so that calls get beyond finding the group.
NAMES = {"grp": ["g", "g", "h", ""], "consumer": ["c", "c", "d", ""], "mode": MODES, "dead_letter": ["e", "dead"]}
REFS = ["KEEPREF", "delref", "ACKED", "", "x", "DELREF "]
ARRAYS = ["{}", "{NULL}", "{1-0}", "{1-0,2-0}", "{1-0,NULL}", "{{1-0},{2-0}}", "[5:6]={1-0,2-0}", "{1-0,1-0,1-0}", "{,}", "{1-0,}", "{", "}", "{1-0}x", '{"1-0"}',
          '{"1-0', "{a}", "{18446744073709551615-18446744073709551615}", "{ 1 , 2 }", "{{}}", "{1-0 2-0}"]
ENCODINGS = ["UTF8", "UTF8", "LATIN1", "SQL_ASCII", "EUC_JP", "WIN1252", "GB18030", "SJIS"]


class Fuzzer:
    def __init__(self, args):
        self.args = args
        self.r = random.Random(args.seed)
        self.connect()
        self.read_catalog()
        self.codes = {}
        self.calls = 0
        self.recent = []

    def connect(self):
        deadline = time.time() + 60
        while True:
            try:
                self.conn = psycopg2.connect(self.args.dsn)
                break
            except psycopg2.OperationalError:
                if time.time() > deadline:
                    raise
                time.sleep(0.1)
        self.conn.autocommit = True
        self.cur = self.conn.cursor()
        self.cur.execute("SET statement_timeout = '300ms'; SET client_min_messages = error; SET lock_timeout = '200ms'")
        self.cur.execute("SELECT count(*) FROM pg_roles WHERE rolname = 'stream_fuzz_nobody'")
        if not self.cur.fetchone()[0]:
            try:
                self.cur.execute("CREATE ROLE stream_fuzz_nobody")
            except psycopg2.Error:
                pass
        self.cur.execute("CREATE TEMP TABLE fuzz_types (i stream.streamid, p stream.streampos, l stream.streamids, f stream.streamfields, s stream.stream)")

    def read_catalog(self):
        self.cur.execute("""
            SELECT p.proname, p.prokind, p.provariadic <> 0, p.proretset,
                array(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY a(t, o) ORDER BY o),
                coalesce(p.proargnames, '{}'), p.pronargdefaults
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'stream' AND p.prokind IN ('f', 'p', 'a')
                AND NOT 'internal' = ANY (SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
            ORDER BY p.proname, p.oid""")
        self.functions = self.cur.fetchall()
        self.cur.execute("""
            SELECT format_type(castsource, NULL), format_type(casttarget, NULL) FROM pg_cast
            JOIN pg_type s ON s.oid = castsource JOIN pg_type t ON t.oid = casttarget
            WHERE 'stream'::regnamespace IN (s.typnamespace, t.typnamespace)""")
        self.casts = self.cur.fetchall()
        self.cur.execute("""
            SELECT o.oprname, format_type(oprleft, NULL), format_type(oprright, NULL) FROM pg_operator o
            WHERE o.oprnamespace = 'stream'::regnamespace""")
        self.operators = self.cur.fetchall()
        self.cur.execute("SELECT relname FROM pg_class WHERE relnamespace = 'stream'::regnamespace AND relkind IN ('v', 'r')")
        self.relations = [row[0] for row in self.cur.fetchall()]

    # --- arguments ---

    def key(self):
        r = self.r
        return r.choice(["a", "a", "b", "c", "d", "e"]) if r.random() < 0.85 else \
            r.choice(["", " ", "x" * 511, "x" * 512, "x" * 513, "y" * 100000, "\u00e4\u4e2d", "'", '"', "\\", "a\nb", "\x01", "%s", "stream.a"])

    def id(self):
        r = self.r
        k = r.random()
        if k < 0.6:
            return "%d-%d" % (r.randrange(10), r.randrange(4))
        if k < 0.7:
            return str(r.randrange(10))
        return r.choice([r.choice(U64) + "-" + r.choice(U64), r.choice(U64), "1-2-3", "-", "1-", "-1", "a-b", "\u0663-1", "1\u20102", "1_0-0", "1.0-0"])

    def pos(self):
        r = self.r
        k = r.random()
        if k < 0.4:
            return self.id()
        if k < 0.6:
            return r.choice(["-", "+", "$", ">", "*"])
        if k < 0.7:
            return r.choice(U64) + "-*"
        if k < 0.8:
            return "(" + self.id()
        return r.choice(TIMES + ["(", "((1-1", "(-", "*-*", "-*", "(*", "(5-*", "$$", "", " "])

    def text(self):
        r = self.r
        return r.choice(["", "a", "b", "1", "-5", "\u00e4", "x" * r.choice([1, 63, 64, 4096, 70000]), "'", "{", '{"a":1}', "\\x00", "$bytea:", "$bytea:\\x00",
                         "NULL", "\t", "%n%s", r.choice(REFS), self.pos()])

    def json(self):
        r = self.r
        k = r.random()
        if k < 0.4:
            return '{"f%d":"%s"}' % (r.randrange(3), "v" * r.choice([0, 1, 10, 70, 300, 5000]))
        if k < 0.9:
            return r.choice(JSONS)
        if k < 0.92:
            return '{"a":' * r.choice([10, 5000, 100000]) + "1"
        if k < 0.94:
            n = r.choice([10, 3000, 20000])
            return '{"a":' + "[" * n + "]" * n + "}"
        if k < 0.96:
            return "{" + ",".join('"k%d":%d' % (i, i) for i in range(r.choice([10, 200, 5000]))) + "}"
        if k < 0.98:
            return '{"a":"' + "y" * r.choice([10**5, 10**6, 5 * 10**6]) + '"}'
        return "".join(r.choice('{}[]":,\\ua01 ') for _ in range(r.randrange(30)))

    def bytea(self):
        return "\\x" + bytes(self.r.randrange(256) for _ in range(self.r.choice([0, 1, 2, 5, 20, 300]))).hex()

    @staticmethod
    def quote(s):
        return "'" + s.replace("'", "''") + "'"

    def value(self, typ):
        """An SQL expression of a type, or something that is meant to be one."""
        r = self.r
        q = self.quote
        if r.random() < 0.06:
            return "NULL::" + typ if typ not in ('"any"', "any", "cstring") else "NULL"
        if typ.endswith("[]"):
            elem = typ[:-2]
            k = r.random()
            if k < 0.2:
                return q(r.choice(ARRAYS)) + "::" + typ
            n = r.choice([0, 1, 1, 2, 3, 20, 500])
            return "ARRAY[%s]::%s" % (", ".join(self.value(elem) for _ in range(n)), typ)
        if typ in ("bigint", "integer", "oid", "smallint", "double precision", "numeric", "xid"):
            n = r.choice(INTS) if r.random() < 0.6 else r.randrange(12)
            return "(%d)::%s" % (n, typ)
        if typ == "boolean":
            return r.choice(["true", "false"])
        if typ == "interval":
            return q(r.choice(INTERVALS)) + "::interval"
        if typ in ("timestamp with time zone", "timestamp without time zone", "date"):
            return q(r.choice(TIMES)) + "::" + typ
        if typ == "bytea":
            return q(self.bytea()) + "::bytea"
        if typ in ("json", "jsonb"):
            return q(self.json()) + "::" + typ
        if typ == "stream.stream":
            return q(self.key()) + "::stream.stream"
        if typ == "stream.streamid":
            return q(self.id()) + "::stream.streamid"
        if typ == "stream.streampos":
            k = r.random()
            return q(self.pos()) + "::stream.streampos" if k < 0.8 else self.value("stream.streamid") + "::stream.streampos" if k < 0.9 \
                else self.value("timestamp with time zone") + "::stream.streampos"
        if typ == "stream.streamids":
            return q(r.choice([self.id(), r.choice(ARRAYS), "{%s}" % ",".join(self.id() for _ in range(r.randrange(6)))])) + "::stream.streamids"
        if typ == "stream.streamfields":
            k = r.random()
            if k < 0.7:
                return q(self.json()) + "::stream.streamfields"
            if k < 0.8:
                return self.value("text[]") + "::stream.streamfields"
            return "stream.fields(%s)" % ", ".join(self.value(r.choice(["text", "bytea", "bigint", "jsonb"])) for _ in range(r.randrange(5)))
        if typ in ("cstring",):
            return q(r.choice([self.pos(), self.id(), self.json(), self.text(), r.choice(ARRAYS)]))
        if typ in ('"any"', "any"):
            return self.value(r.choice(["text", "bytea", "bigint", "jsonb", "stream.streamid", "text[]", "boolean", "interval"]))
        if typ == "text":
            return q(self.text()) + "::text"
        return q(self.text()) + "::" + typ

    def argument(self, name, typ):
        if name in NAMES and typ == "text" and self.r.random() < 0.85:
            return self.quote(self.r.choice(NAMES[name])) + "::text"
        return self.value(typ)

    # --- statements ---

    def call(self):
        r = self.r
        name, kind, variadic, retset, types, names, ndefaults = r.choice(self.functions)
        args = []
        n = len(types)
        if kind == "p":
            pass
        elif ndefaults and r.random() < 0.6:
            n -= r.randrange(ndefaults + 1)
        named = names and n > 2 and r.random() < 0.2
        for i in range(n):
            v = self.argument(names[i] if i < len(names) else "", types[i])
            if variadic and i == len(types) - 1:
                v = "VARIADIC " + v if types[i].endswith("[]") else ", ".join(self.value(types[i]) for _ in range(r.choice([1, 2, 3, 4, 50])))
                named = False
            args.append(v)
        if named and len(names) >= n and not variadic:
            k = r.randrange(1, n)
            args = args[:k] + ["%s => %s" % (names[i], args[i]) for i in range(k, n)]
        text = "stream.%s(%s)" % (name, ", ".join(args))
        if kind == "p":
            return "CALL " + text
        k = r.random()
        if k < 0.8:
            return ("SELECT * FROM " if retset or r.random() < 0.2 else "SELECT ") + text
        if k < 0.9:
            return "SELECT x::text FROM (VALUES (1), (2)) v(n), LATERAL %s x" % text
        if k < 0.95:
            return "EXPLAIN SELECT * FROM " + text
        return "DO $d$BEGIN PERFORM %s; EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%%' THEN RAISE; END IF; END$d$" % text

    def useful(self):
        """What keeps the streams full enough to be worth calling."""
        r = self.r
        return r.choice(["SELECT stream.xadd('%s', '{\"a\":1}')", "SELECT stream.xadd('%s', stream.fields('b', '\\x00ff'::bytea, 'c', 5))",
                         "SELECT stream.xadd_many('%s', ARRAY['{\"a\":1}','{\"b\":\"2\"}']::stream.streamfields[])",
                         "SELECT stream.xadd('%s', '{\"a\":1}', (SELECT (stream.xtail('a')::timestamptz)))",
                         "SELECT count(*) FROM (SELECT stream.xadd('%s', fields) FROM stream.xrange('b', count => 50)) s",
                         "SELECT stream.xgroup_create('%s', 'g', mkstream => true, if_not_exists => true)",
                         "SELECT stream.xgroup_create('%s', 'h', '3', in_order => false, if_not_exists => true)",
                         "SELECT * FROM stream.xreadgroup('%s', 'g', 'c', count => 5)", "SELECT * FROM stream.xreadgroup('%s', 'h', 'd', count => 3)",
                         "SELECT stream.xack('{0}', 'g', array(SELECT id FROM stream.xpending('{0}', 'g', count => 3))) -- %s".format(r.choice("abcde")),
                         "SELECT * FROM stream.xreclaim('%s', 'g', '0', 3, 'dead')",
                         "SELECT * FROM stream.xrange('%s', count => 5)", "SELECT stream.xinfo_stream('%s')"]) % r.choice("abcde")

    def binary(self):
        """Random bytes as the binary form of the types."""
        r = self.r
        good = {
            0: struct.pack(">QQ", r.randrange(10), r.randrange(10)),
            1: self.pos().encode(),
            2: struct.pack(">iQQ", 1, 1, 1),
            3: b"\x01" + struct.pack("<IH", 6 + 4 + 1, 2) + b"\x81a\x02" + b"\x05\x01\xff",
            4: b"a",
        }
        fields = []
        for col in range(5):
            k = r.random()
            data = good[col] if k < 0.3 else bytes(r.randrange(256) for _ in range(r.choice([0, 1, 6, 7, 16, 24, 40])))
            if k > 0.5:
                data = bytearray(good[col])
                for _ in range(r.randrange(4)):
                    if data:
                        data[r.randrange(len(data))] = r.randrange(256)
                data = bytes(data[:r.randrange(len(data) + 1)] if r.random() < 0.3 else data)
            fields.append(None if r.random() < 0.6 else data)
        out = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0) + struct.pack(">h", 5)
        for f in fields:
            out += struct.pack(">i", -1) if f is None else struct.pack(">i", len(f)) + f
        return out + struct.pack(">h", -1)

    def statement(self):
        r = self.r
        k = r.random()
        if k < 0.6:
            return self.call()
        if k < 0.7:
            return self.useful()
        if k < 0.76:
            source, target = r.choice(self.casts)
            return "SELECT (%s)::%s" % (self.value(source), target)
        if k < 0.8:
            name, left, right = r.choice(self.operators)
            return "SELECT %s OPERATOR(stream.%s) %s" % (self.value(left), name, self.value(right))
        if k < 0.82:
            return "SELECT * FROM stream.%s" % r.choice(self.relations)
        if k < 0.84:
            t = r.choice(["stream.streamid", "stream.streamfields"])
            return "SELECT count(*), count(DISTINCT x) FROM (SELECT x FROM unnest(ARRAY[%s]::%s[]) x ORDER BY x) s" % (
                ", ".join(self.value(t) for _ in range(r.randrange(20))), t)
        if k < 0.86:
            t = r.choice(["stream.streamid", "stream.streampos", "stream.streamids", "stream.streamfields", "stream.stream"])
            return "SELECT encode(%s_send(%s), 'hex')" % (t, self.value(t))
        return r.choice(["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "BEGIN ISOLATION LEVEL REPEATABLE READ",
                         "BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN READ ONLY", "SET client_encoding = '%s'" % r.choice(ENCODINGS),
                         "SET stream.node_max_entries = %d" % r.choice([0, 1, 3, 100, 10000, -1, 10**9]),
                         "SET stream.node_max_bytes = %d" % r.choice([0, 1, 64, 200, 4096, 8192, 10**6]),
                         "SET ROLE stream_fuzz_nobody", "RESET ROLE", "RESET ROLE", "DISCARD ALL", "SET force_parallel_mode = %s" % r.choice(["on", "off"]), "SET timezone = '%s'" % r.choice(["UTC", "Asia/Tokyo", "America/Sao_Paulo"]),
                         "SET datestyle = '%s'" % r.choice(["ISO, DMY", "German", "SQL, MDY"]), "SET transaction_read_only = on", "RESET ALL",
                         "PREPARE TRANSACTION 'fuzz'", "ROLLBACK PREPARED 'fuzz'", "DEALLOCATE ALL", "VACUUM stream.catalog", "SET plan_cache_mode = force_generic_plan",
                         "ALTER SYSTEM RESET work_mem", "ANALYZE stream.journal_0", "SET enable_hashagg = off"])

    def execute(self, sql):
        data = sql.encode("utf-8", "surrogateescape")
        if self.r.random() < 0.03:      # bytes that are wrong in any encoding
            k = self.r.randrange(len(data) + 1)
            data = data[:k] + bytes([self.r.choice([0xff, 0xc0, 0x80, 0xe2, 0x81])]) + data[k:]
        begin = time.time()
        try:
            self.cur.execute(data)
            if self.cur.description and self.r.random() < 0.5:
                self.cur.fetchmany(10)
            code = "00000"
        except psycopg2.Error as e:
            code = e.pgcode or "?"
            if self.conn.closed or code == "?" and "server closed" in str(e) or code.startswith("XX") or code in ("57P01", "57P02", "57P03"):
                self.fail(data, "%s %s" % (code, str(e).strip()[:500]))
        except (ValueError, OverflowError):     # beyond what the driver knows
            code = "decode"
        if time.time() - begin > PATIENCE:
            self.fail(data, "took %.1f s" % (time.time() - begin))
        self.codes[code] = self.codes.get(code, 0) + 1

    def copy_binary(self):
        data = self.binary()
        try:
            self.cur.copy_expert("COPY pg_temp.fuzz_types FROM STDIN BINARY", io.BytesIO(data))
            self.cur.execute("SELECT * FROM pg_temp.fuzz_types")
            self.cur.execute("DELETE FROM pg_temp.fuzz_types")
            code = "00000"
        except psycopg2.Error as e:
            code = e.pgcode or "?"
            if self.conn.closed or code.startswith("XX"):
                self.fail(b"COPY BINARY " + data.hex().encode(), "%s %s" % (code, str(e).strip()[:500]))
        except (ValueError, OverflowError):
            code = "decode"
        self.codes["copy " + code] = self.codes.get("copy " + code, 0) + 1

    def fail(self, data, message):
        print("FAILED: --seed %d, call %d: %s" % (self.args.seed, self.calls, message))
        for line in self.recent[-self.args.history:] + [data]:
            line = line.decode("utf-8", "backslashreplace")
            print("  " + (line if len(line) < 2000 else line[:1500] + " ... " + line[-200:]))
        if not self.args.go_on:
            sys.exit(1)
        self.recent = []
        self.connect()

    def run(self):
        deadline = time.time() + self.args.seconds
        while time.time() < deadline:
            self.calls += 1
            if self.r.random() < 0.03:
                self.copy_binary()
                continue
            sql = self.statement()
            self.execute(sql)
            self.recent.append(sql.encode("utf-8", "surrogateescape"))
            del self.recent[:-50]
            if sql == "DISCARD ALL" or sql == "RESET ALL" or self.calls % 50 == 0:
                self.settle()

    def settle(self):
        """Back to a session with limits, outside a transaction."""
        for sql in ("ROLLBACK", "RESET ROLE", "SET statement_timeout = '300ms'", "SET lock_timeout = '200ms'", "SET client_min_messages = error",
                    "SET client_encoding = UTF8", "CREATE TEMP TABLE IF NOT EXISTS fuzz_types (i stream.streamid, p stream.streampos, l stream.streamids, f stream.streamfields, s stream.stream)"):
            self.execute_plain(sql)

    def execute_plain(self, sql):
        try:
            self.cur.execute(sql)
        except psycopg2.Error as e:
            if self.conn.closed:
                self.fail(sql.encode(), str(e))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", type=int, default=random.randrange(2**31))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--dsn", default="")
    p.add_argument("--history", type=int, default=5, help="statements shown before one that fails")
    p.add_argument("--go-on", action="store_true", help="do not stop at the first failure")
    args = p.parse_args()
    f = Fuzzer(args)
    f.run()
    print("ok %d calls, --seed %d: %s" % (f.calls, args.seed, ", ".join("%s %d" % c for c in sorted(f.codes.items()))))


if __name__ == "__main__":
    main()
