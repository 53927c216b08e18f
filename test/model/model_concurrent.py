#!/usr/bin/python3
"""Many sessions, and the promises that hold whatever they do.

Writers put every entry they add to a stream into a table in the same
transaction, with savepoints, rollbacks, cancels, terminated backends and,
given --pgdata, killed processes in between.  Meanwhile and at the end:

  join    one statement sees the same entries in stream and table
  cursor  xread meets each committed entry once, in order, none uncommitted
  tail    nothing appears later at or below what xtail said
  delete  of many who delete an id one is told 1; trims and deletions add up
  names   streams made, renamed, dropped and added to at the same time stay equal to
          their table
  crash   what was acknowledged is there, and nothing else

Threads draw from --seed, but their interleaving is the machine's.
"""
import argparse
import glob
import os
import pwd
import random
import signal
import subprocess
import sys
import threading
import time
import traceback

import psycopg2

ADDED = ["j0", "j1"]            # adds with automatic ids
EXPLICIT = "e0"                 # adds with ids of the caller
DELETED = ["d0", "d1"]          # adds, deletions; in d1 also trims
NAMED = ["n0", "n1", "n2"]      # made, renamed and dropped
BIG = "big"                     # large values, maxlen

LOST = ("57P01", "57P02", "57P03", "08006", "08003", None)
NORMAL = ("53200", "40P01", "57014", "ST001", "55P03", "40001")

SETUP = """
DROP TABLE IF EXISTS mc_log, mc_result, mc_name;
CREATE TABLE mc_log (key text, id stream.streamid, v text, PRIMARY KEY (key, id));
CREATE TABLE mc_result (key text, id stream.streamid, n bigint);
CREATE TABLE mc_name (key text, id stream.streamid, v text);
"""


class Failure(Exception):
    pass


class Stop(Exception):
    pass


class Shared:
    """What the threads have in common."""

    def __init__(self, args):
        self.args = args
        self.deadline = time.time() + args.seconds
        self.failures = []
        self.acked = []         # (table, key, id, v) whose commit was acknowledged
        self.explicit = 0
        self.big_left = args.big
        self.lock = threading.Lock()
        self.counts = {}
        self.crashing = threading.Event()

    def stopped(self):
        return bool(self.failures) or time.time() > self.deadline

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n


class Worker(threading.Thread):
    def __init__(self, shared, number):
        super().__init__(daemon=True)
        self.s = shared
        self.r = random.Random("%s-%s-%d" % (shared.args.seed, type(self).__name__, number))
        self.name = "%s%d" % (type(self).__name__.lower(), number)
        self.conn = None
        self.recent = []
        self.beat = time.time()

    def connect(self):
        while True:
            try:
                self.conn = psycopg2.connect(self.s.args.dsn, application_name="mc_" + self.name)
                self.conn.autocommit = True
                self.cur = self.conn.cursor()
                self.cur.execute("SET client_min_messages = error")
                self.setup()
                return
            except (psycopg2.OperationalError, psycopg2.InterfaceError):
                if time.time() > self.s.deadline + 60:
                    raise Failure("cannot connect")
                time.sleep(0.05)

    def setup(self):
        pass

    def sql(self, text, params=None):
        self.recent.append((round(time.time() % 1000, 3), text[:300], params and [str(p)[:60] for p in params]))
        del self.recent[:-30]
        self.beat = time.time()
        self.cur.execute(text, params)
        self.beat = time.time()
        return self.cur.fetchall() if self.cur.description else None

    def one(self, text, params=None):
        return self.sql(text, params)[0]

    def run(self):
        try:
            self.connect()
            while not self.s.stopped():
                self.beat = time.time()
                try:
                    self.turn()
                except psycopg2.Error as e:
                    self.after_error(e)
                except Stop:
                    break
            self.beat = None
            if not self.conn.closed:
                self.conn.close()
        except Exception as e:
            self.beat = None
            text = "%s: %s" % (self.name, e if isinstance(e, Failure) else traceback.format_exc())
            self.s.failures.append(text + "\n    last statements:\n" + "\n".join("      %s %s %s" % r for r in self.recent[-12:]))

    def after_error(self, e):
        code = e.pgcode
        self.s.count("error %s" % code)
        if not self.conn.closed and (code in NORMAL or code in self.allowed):
            try:
                self.cur.execute("ROLLBACK")
                return
            except psycopg2.Error as again:
                e, code = again, again.pgcode
        if self.conn.closed or code in LOST:
            if code is None and not self.conn.closed:
                raise Failure("error without SQLSTATE: %s" % e)
            try:
                self.conn.close()
            except psycopg2.Error:
                pass
            self.connect()
        else:
            raise Failure("%s %s" % (code, e))

    allowed = ()

    def nap(self):
        k = self.r.random()
        if k < 0.3:
            time.sleep(self.r.random() * 0.01)
        elif k < 0.33:
            time.sleep(self.r.random() * 0.2)


class Writer(Worker):
    """A transaction: operations with savepoints, then an end."""

    repeatable = 0.15           # share of transactions with one snapshot
    single = 0.2                # and of those that are one statement

    def setup(self):
        self.sync = self.r.random() < 0.7
        if not self.sync:
            self.cur.execute("SET synchronous_commit = off")
        if self.r.random() < 0.3:
            self.cur.execute("SET statement_timeout = '%dms'" % self.r.choice([5, 50, 300]))

    def turn(self):
        r = self.r
        self.done = []          # what this transaction has done so far
        marks = []
        if r.random() < self.single:    # a transaction of one statement
            self.operation()
            self.committed()
            self.nap()
            return
        self.sql("BEGIN" + (" ISOLATION LEVEL REPEATABLE READ" if r.random() < self.repeatable else ""))
        for _ in range(r.choice([1, 1, 2, 3, 8])):
            k = r.random()
            if k < 0.2:
                self.sql("SAVEPOINT s%d" % len(marks))
                marks.append(list(self.done))
            elif k < 0.35 and marks:
                m = r.randrange(len(marks))
                if r.random() < 0.6:
                    self.sql("ROLLBACK TO s%d" % m)
                    self.done = list(marks[m])
                    del marks[m + 1:]
                else:
                    self.sql("RELEASE s%d" % m)
                    del marks[m:]
            self.operation()
            self.nap()
        k = r.random()
        if k < 0.75:
            self.sql("COMMIT")
            self.committed()
        elif k < 0.9:
            self.sql("ROLLBACK")
        elif k < 0.95:
            self.conn.close()   # without a word
            self.connect()
        else:
            self.sql("SELECT 1/(1 - %s)", (1,))

    allowed = ("22012",)

    def committed(self):
        if self.sync:           # else a crash may forget it
            with self.s.lock:
                self.s.acked += self.done
        self.s.count(type(self).__name__.lower() + " commits")


class Adder(Writer):
    def operation(self):
        r = self.r
        v = "%s.%d" % (self.name, r.randrange(10**9))
        key = r.choice(ADDED + [EXPLICIT] if r.random() < 0.5 else ADDED)
        if key == EXPLICIT:
            with self.s.lock:
                self.s.explicit += r.choice([1, 1, 1, 5])
                n = self.s.explicit
            pos = r.choice(["%d-%d", "%d-*"])
            pos = pos % ((n, r.randrange(3)) if pos == "%d-%d" else (n,))
            self.put("WITH a AS MATERIALIZED (SELECT stream.xadd(%s, stream.fields('v', %s::text), %s) id) "
                     "INSERT INTO mc_log SELECT %s, id, %s FROM a RETURNING id::text, v", (key, v, pos, key, v), key)
        elif r.random() < 0.7:
            self.put("WITH a AS MATERIALIZED (SELECT stream.xadd(%s, stream.fields('v', %s::text)) id) "
                     "INSERT INTO mc_log SELECT %s, id, %s FROM a RETURNING id::text, v", (key, v, key, v), key)
        elif r.random() < 0.5:
            fail = r.random() < 0.5
            self.sql("""DO $$DECLARE i stream.streamid; BEGIN BEGIN i := stream.xadd('%s', stream.fields('v', '%s')); INSERT INTO mc_log VALUES ('%s', i, '%s');
                IF %s THEN RAISE 'no'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END$$""" % (key, v, key, v, "true" if fail else "false"))
        else:
            n = r.choice([2, 5, 150, 500])
            with self.s.lock:
                if self.s.big_left > 0 and r.random() < 0.02:
                    self.s.big_left -= 1
                    n = 100000
            how = r.choice(["SELECT stream.xadd_many(%s, array(SELECT stream.fields('v', %s || g) FROM generate_series(1, %s) g)) id, 0 g",
                            "SELECT stream.xadd(%s, stream.fields('v', %s || g)) id, g FROM generate_series(1, %s) g"])
            self.put("WITH a AS MATERIALIZED (" + how + "), b AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY id) g FROM a) "
                     "INSERT INTO mc_log SELECT %s, id, %s || g FROM b RETURNING id::text, v", (key, v + ".", n, key, v + "."), key)

    def put(self, text, params, key):
        self.done += [("mc_log", key, i, v) for i, v in self.sql(text, params)]


class Deleter(Writer):
    """Adds, deletions and trims where every result is written down.

    In a transaction: alone, a deletion is committed before what it gave is
    written, and a timeout may come between."""

    single = 0

    def operation(self):
        r = self.r
        key = r.choice(DELETED)
        k = r.random()
        if k < 0.35:
            self.sql("WITH a AS MATERIALIZED (SELECT stream.xadd_many(%s, array(SELECT stream.fields('v', g::text) FROM generate_series(1, %s) g)) id) "
                     "INSERT INTO mc_log SELECT %s, id, '' FROM a", (key, r.choice([1, 3, 20]), key))
        elif k < 0.9 or key == "d0":
            # the same few entries for all
            ids = [row[0] for row in self.sql("SELECT id::text FROM stream.xrange(%s, count => 6)", (key,))]
            r.shuffle(ids)
            for i in ids[:r.choice([1, 1, 2, 4])]:
                n = self.one("SELECT stream.xdel(%s, %s)", (key, i))[0]
                self.sql("INSERT INTO mc_result VALUES (%s, %s, %s)", (key, i, n))
        else:
            n = self.one("SELECT stream.xtrim(%s, maxlen => %s)", (key, r.choice([0, 5, 50, 500])))[0] if r.random() < 0.6 else \
                self.one("SELECT stream.xtrim(%s, minid => (SELECT id FROM stream.xrange(%s, count => 20) ORDER BY id DESC LIMIT 1))", (key, key))[0] \
                if self.one("SELECT stream.xlen(%s)", (key,))[0] > 0 else 0
            self.sql("INSERT INTO mc_result VALUES (%s, NULL, %s)", (key, n))

    allowed = Writer.allowed + ("22023",)   # minid of a stream that is empty by now


class Namer(Writer):
    """Makes, renames and drops streams; their table follows.

    A drop takes all entries with it, as DROP TABLE does with rows; an old
    snapshot would not show the DELETE those that were committed since, nor may
    anybody come between the two statements, or the DELETE find what others
    add to a stream that was not there to be dropped."""

    repeatable = 0
    single = 0

    def operation(self):
        r = self.r
        key = r.choice(NAMED)
        k = r.random()
        if k < 0.6:
            v = "%s.%d" % (self.name, r.randrange(10**9))
            self.sql("WITH a AS MATERIALIZED (SELECT stream.xadd(%s, stream.fields('v', %s::text), mkstream => %s) id) "
                     "INSERT INTO mc_name SELECT %s, id, %s FROM a WHERE id IS NOT NULL", (key, v, r.random() < 0.8, key, v))
        elif k < 0.75:
            self.sql("SELECT stream.xcreate(%s, true)", (key,))
        elif k < 0.9:
            newkey = r.choice([n for n in NAMED if n != key])
            self.sql("SELECT stream.xrename(%s, %s)", (key, newkey))
            self.sql("UPDATE mc_name SET key = %s WHERE key = %s", (newkey, key))
        else:
            if self.one("SELECT stream.xdrop(%s)", (key,))[0]:
                self.sql("DELETE FROM mc_name WHERE key = %s", (key,))

    allowed = Writer.allowed + ("42704", "42710")


class Bigger(Writer):
    """Values of several megabytes."""

    def operation(self):
        r = self.r
        v = "%s.%d" % (self.name, r.randrange(10**9))
        self.sql("WITH a AS MATERIALIZED (SELECT stream.xadd(%s, stream.fields('v', %s::text, 'x', repeat(%s, %s)), maxlen => 5) id) "
                 "INSERT INTO mc_log SELECT %s, id, %s FROM a", (BIG, v, r.choice("abc"), r.choice([10**5, 10**6, 3 * 10**6, 6 * 10**6]), BIG, v))
        time.sleep(0.2)

    def turn(self):
        super().turn()
        time.sleep(0.5)

    allowed = Writer.allowed + ("53200",)


class Joiner(Worker):
    """Stream and table in one statement."""

    JOIN = """SELECT count(*), count(x.id), count(t.id), (array_agg(coalesce(x.id, t.id)::text) FILTER (WHERE x.id IS NULL OR t.id IS NULL OR x.v <> t.v))[1:5]
        FROM (SELECT id, fields ->> 'v' v FROM stream.%s(%%s, %s)) x
        FULL JOIN (SELECT id, v FROM mc_log WHERE key = %%s AND id OPERATOR(stream.>=) %%s) t ON x.id OPERATOR(stream.=) t.id"""

    def setup(self):
        self.cur.execute("SET search_path = stream, public; SET enable_nestloop = off")

    def turn(self):
        r = self.r
        level = r.choice(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE READ ONLY"])
        if r.random() < 0.5:
            self.check(r.choice(ADDED + [EXPLICIT]), None)
            return
        self.sql("BEGIN ISOLATION LEVEL " + level)
        seen = {}
        if r.random() < 0.5:
            self.sql("SELECT 1")
            time.sleep(r.random() * 0.3)
        for _ in range(r.randrange(1, 6)):
            key = r.choice(ADDED + [EXPLICIT])
            n = self.check(key, seen.get(key))
            if level != "READ COMMITTED":
                seen.setdefault(key, n)
            time.sleep(r.random() * r.choice([0.001, 0.1, 0.3]))
        self.sql("COMMIT")

    def check(self, key, known):
        r = self.r
        lo = known[0] if known else "0-0" if r.random() < 0.05 else self.one(
            "SELECT coalesce((SELECT id FROM mc_log WHERE key = %s ORDER BY id DESC OFFSET %s LIMIT 1), '0-0')::text", (key, r.choice([10, 500, 3000])))[0]
        how = r.choice([("xrange", "%s"), ("xrevrange", "'+', %s"), ("xrange", "%s, '+'")])
        total, streams, tables, odd = self.one(self.JOIN % how, (key, lo, key, lo))
        if odd or streams != tables:
            raise Failure("%s from %s: %s in the stream, %s in the table, %s differ" % (key, lo, streams, tables, odd))
        if known and known[1] != streams:
            raise Failure("%s from %s: %s entries, before in the same snapshot %s" % (key, lo, streams, known[1]))
        length, count, rows = self.one("SELECT stream.xlen(%s), stream.xcount(%s), (SELECT count(*) FROM mc_log WHERE key = %s)", (key, key, key))
        if length != rows or count != rows:
            raise Failure("%s: xlen %s, xcount %s, rows %s" % (key, length, count, rows))
        self.s.count("joins")
        return lo, streams


class Cursor(Worker):
    """Reads a stream with a cursor from its beginning."""

    def __init__(self, shared, number, key):
        super().__init__(shared, number)
        self.key = key
        self.after = "0-0"
        self.read = []

    def setup(self):
        self.cur.execute("SET search_path = stream, public")

    def turn(self):
        r = self.r
        count = r.choice([None, 1, 10, 1000])
        if r.random() < 0.5:
            rows = self.sql("SELECT x.id::text, fields ->> 'v', t.v FROM xread(%s, %s, %s) x LEFT JOIN mc_log t ON t.key = %s AND t.id = x.id ORDER BY x.id",
                            (self.key, self.after, count, self.key))
            for i, v, t in rows:
                if v != t:
                    raise Failure("%s: read %s %s that the table does not have (%s)" % (self.key, i, v, t))
        else:
            rows = self.sql("SELECT id::text, fields ->> 'v', NULL FROM xread(%s, %s, %s, %s)", (self.key, self.after, count, r.choice(["5 ms", "100 ms"])))
        for i, v, _ in rows:
            if key_of(i) <= key_of(self.after):
                raise Failure("%s: %s read after %s" % (self.key, i, self.after))
            self.after = i
            self.read.append((i, v))
        self.s.count("cursor entries", len(rows))
        if not rows:
            time.sleep(r.random() * 0.02)

    def at_end(self, cur):
        """All that is committed, once, in order."""
        cur.execute("SELECT id::text, fields ->> 'v' FROM stream.xread(%s, %s)", (self.key, self.after))
        got = self.read + cur.fetchall()
        cur.execute("SELECT id::text, v FROM mc_log WHERE key = %s ORDER BY mc_log.id", (self.key,))
        want = cur.fetchall()
        if got != want:
            missed = sorted(set(want) - set(got), key=lambda e: key_of(e[0]))
            extra = sorted(set(got) - set(want), key=lambda e: key_of(e[0]))
            raise Failure("%s: cursor read %d of %d entries, missed %s, extra %s" % (self.key, len(got), len(want), missed[:5], extra[:5]))


class Tail(Worker):
    """Nothing appears later at or below xtail or a cursor's end."""

    def setup(self):
        self.cur.execute("SET search_path = stream, public")

    def turn(self):
        key = self.r.choice(ADDED + [EXPLICIT])
        how = self.r.choice(["SELECT xtail(%s) p", "SELECT max(id) p FROM xread(%s, '0')", "SELECT max(id) p FROM xread(%s, '+')"]) if self.r.random() < 0.1 \
            else "SELECT xtail(%s) p"
        pos, n = self.one("SELECT a.p::text, (SELECT count(*) FROM mc_log WHERE key = %s AND id <= a.p) FROM (" + how + " OFFSET 0) a", (key, key))
        if pos is None:
            return
        time.sleep(self.r.random() * 0.5)
        later = self.one("SELECT count(*) FROM mc_log WHERE key = %s AND id <= %s::streamid", (key, pos))[0]
        if later != n:
            raise Failure("%s: %d entries up to the tail %s, later %d (%s)" % (key, n, pos, later, how))
        self.s.count("tails")


class Chaos(Worker):
    """Cancels, terminates, kills."""

    def turn(self):
        r = self.r
        time.sleep(r.random() * 0.5)
        k = r.random()
        args = self.s.args
        if k < 0.4:
            self.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mc\\_%%' AND application_name NOT LIKE 'mc\\_chaos%%' ORDER BY random() LIMIT 1")
        elif k < 0.7:
            self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'mc\\_%%' AND application_name NOT LIKE 'mc\\_chaos%%' ORDER BY random() LIMIT 1")
        elif k < 0.7 + args.kills and args.pgdata:
            self.s.count("kills")
            if r.random() < 0.6:
                pid = self.one("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'mc\\_%%' ORDER BY random() LIMIT 1")[0]
                os.kill(pid, signal.SIGKILL)
            else:
                with open(args.pgdata + "/postmaster.pid") as f:
                    pid = int(f.readline())
                os.kill(pid, signal.SIGKILL)
                start_server(args)
            time.sleep(1)


def key_of(i):
    ms, seq = i.split("-")
    return int(ms), int(seq)


def pg_ctl(args, *what):
    bindir = args.bindir or max(glob.glob("/usr/lib/postgresql/*/bin"))
    cmd = [bindir + "/pg_ctl", "-D", args.pgdata, "-w", "-l", args.pgdata + "/log", *what]
    owner = os.stat(args.pgdata).st_uid
    if owner != os.getuid():
        cmd = ["runuser", "-u", pwd.getpwuid(owner).pw_name, "--"] + cmd
    return subprocess.run(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def start_server(args):
    for _ in range(100):        # the killed one's children hold on to its memory for a moment
        if pg_ctl(args, "start"):
            return
        time.sleep(0.1)
    raise Failure("the server does not start")


class Final:
    """What must be true when all is quiet."""

    def __init__(self, args):
        deadline = time.time() + 60
        while True:
            try:
                self.conn = psycopg2.connect(args.dsn)
                break
            except psycopg2.OperationalError:
                if time.time() > deadline:
                    raise
                time.sleep(0.2)
        self.conn.autocommit = True
        self.cur = self.conn.cursor()

    def rows(self, sql, params=None):
        self.cur.execute(sql, params)
        return self.cur.fetchall()

    def check(self, shared, cursors):
        acked = {}
        for table, key, i, v in shared.acked:
            acked.setdefault(key, set()).add((i, v))
        for key in ADDED + [EXPLICIT]:
            stream = self.rows("SELECT id::text, fields ->> 'v' FROM stream.xrange(%s)", (key,))
            table = self.rows("SELECT id::text, v FROM mc_log WHERE key = %s ORDER BY mc_log.id", (key,))
            if stream != table:
                s, t = set(stream), set(table)
                raise Failure("%s: %d in the stream, %d in the table; only stream %s, only table %s" % (
                    key, len(stream), len(table), sorted(s - t)[:5], sorted(t - s)[:5]))
            lost = acked.get(key, set()) - set(stream)
            if lost:
                raise Failure("%s: acknowledged but not there: %s" % (key, sorted(lost)[:5]))
            if stream and self.rows("SELECT stream.xlen(%s), stream.xtail(%s)::text >= %s, (stream.xinfo_stream(%s) ->> 'entries-added')::bigint",
                                    (key, key, stream[-1][0], key))[0] != (len(stream), True, len(stream)):
                raise Failure("%s: counters" % key)
        for key in DELETED:
            adds = self.rows("SELECT count(*) FROM mc_log WHERE key = %s", (key,))[0][0]
            removed = self.rows("SELECT coalesce(sum(n), 0)::bigint FROM mc_result WHERE key = %s", (key,))[0][0]
            length = self.rows("SELECT stream.xlen(%s)", (key,))[0][0]
            if adds - removed != length:
                raise Failure("%s: %d added, %d removed, %d there" % (key, adds, removed, length))
            twice = self.rows("SELECT id::text, sum(n) FROM mc_result WHERE key = %s AND id IS NOT NULL GROUP BY id HAVING sum(n) > 1", (key,))
            if twice:
                raise Failure("%s: deleted more than once: %s" % (key, twice[:5]))
            alive = self.rows("SELECT r.id::text FROM mc_result r WHERE key = %s AND n = 1 AND id IS NOT NULL "
                              "AND EXISTS (SELECT FROM stream.xrange(%s) x WHERE x.id OPERATOR(stream.=) r.id)", (key, key))
            if alive:
                raise Failure("%s: deleted but there: %s" % (key, alive[:5]))
        for key in NAMED:
            stream = self.rows("SELECT id::text, fields ->> 'v' FROM stream.xrange(%s)", (key,))
            table = self.rows("SELECT id::text, v FROM mc_name WHERE key = %s ORDER BY mc_name.id", (key,))
            if stream != table:
                raise Failure("%s: %s in the stream, %s in the table" % (key, stream[:10], table[:10]))
            catalog = self.rows("SELECT count(*) FROM stream.catalog WHERE name = %s", (key,))[0][0]
            if catalog != int(self.rows("SELECT stream.xexists(%s)", (key,))[0][0]):
                raise Failure("%s: %d rows in the catalog, xexists differs" % (key, catalog))
        stream = self.rows("SELECT id::text, fields ->> 'v', length(fields ->> 'x') FROM stream.xrange(%s)", (BIG,))
        table = self.rows("SELECT id::text, v FROM mc_log WHERE key = %s ORDER BY mc_log.id", (BIG,))
        if [e[:2] for e in stream] != table[len(table) - len(stream):] or len(stream) < min(5, len(table)):
            raise Failure("%s: %s in the stream, %s in the table" % (BIG, [e[:2] for e in stream], table[-7:]))
        left = self.rows("SELECT * FROM stream.activity")
        if left:
            raise Failure("activity of nobody: %s" % left[:5])
        for c in cursors:
            c.at_end(self.cur)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", type=int, default=random.randrange(2**31))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--dsn", default="")
    p.add_argument("--pgdata", help="data directory: kill processes of the server")
    p.add_argument("--bindir", help="where pg_ctl is")
    p.add_argument("--kills", type=float, default=0.05, help="share of kill -9 among the mischief")
    p.add_argument("--big", type=int, default=2, help="how many transactions of 100000 entries")
    p.add_argument("--tiny", action="store_true", help="tiny nodes")
    p.add_argument("--patience", type=float, default=60, help="seconds after which a session counts as stuck")
    p.add_argument("--only", default="", help="classes of workers, with commas")
    args = p.parse_args()
    print("--seed %d" % args.seed)

    final = Final(args)
    final.cur.execute("SET client_min_messages = error")
    final.cur.execute(SETUP)
    if args.tiny:
        final.cur.execute("SET stream.node_max_entries = 3; SET stream.node_max_bytes = 200")
    for key in ADDED + [EXPLICIT, BIG] + DELETED + NAMED:
        final.cur.execute("SELECT stream.xdrop(%s)", (key,))
    for key in ADDED + [EXPLICIT] + DELETED:
        final.cur.execute("SELECT stream.xcreate(%s)", (key,))
    final.conn.close()

    shared = Shared(args)
    cursors = [Cursor(shared, k, key) for k, key in enumerate(ADDED + [EXPLICIT])]
    workers = cursors + [w(shared, k) for w, n in
                         ((Adder, 5), (Deleter, 3), (Namer, 4), (Bigger, 1), (Joiner, 2), (Tail, 1), (Chaos, 1)) for k in range(n)]
    if args.only:
        workers = [w for w in workers if type(w).__name__ in args.only.split(",")]
    for w in workers:
        w.start()
    while any(w.is_alive() for w in workers):
        time.sleep(0.2)
        stuck = [w for w in workers if w.is_alive() and w.beat and time.time() - w.beat > args.patience]
        if stuck and not shared.failures:
            shared.failures.append("stuck: " + ", ".join(w.name for w in stuck) + "".join("\n    %s %s" % (w.name, w.recent[-1:]) for w in stuck))
            rows = Final(args).rows("SELECT pid, application_name, state, wait_event_type, wait_event, backend_xid, pg_blocking_pids(pid), left(query, 120) "
                                    "FROM pg_stat_activity WHERE backend_type = 'client backend'")
            print("\n".join(map(str, rows)))
        if shared.failures and time.time() > shared.deadline + 10:
            break
        if shared.failures:
            shared.deadline = min(shared.deadline, time.time())
    print(", ".join("%s %d" % c for c in sorted(shared.counts.items())))
    try:
        if not shared.failures:
            Final(args).check(shared, cursors if not args.only else [])
            if args.pgdata:     # and once more from the tables
                pg_ctl(args, "-m", "immediate", "stop")
                start_server(args)
                Final(args).check(shared, cursors if not args.only else [])
    except (Failure, psycopg2.Error) as e:
        shared.failures.append("at the end: %s" % e)
    for f in shared.failures:
        print("FAILED: " + f)
    if shared.failures:
        sys.stdout.flush()
        os._exit(1)
    print("ok")


if __name__ == "__main__":
    main()
