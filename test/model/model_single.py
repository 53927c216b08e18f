#!/usr/bin/python3
"""One session against a model.

Random operations on a few streams, inside random transactions with
savepoints, PL/pgSQL exception blocks and, given --pgdata, immediate restarts
of the server.  A model in plain Python says what each call must return; after
each step everything a session can see is compared, and a second session must
see the committed state and nothing else.

An operation is plain data and can be carried out in any state (where it means
nothing it is skipped), so a failing run is cut down to the few steps that
fail.  A run is repeated with its seed.
"""
import argparse
import glob
import json
import os
import pwd
import random
import subprocess
import sys
import time

import psycopg2

MAX = 2**64 - 1
NAMES = ["a", "b", "c", "limits"]


class Failure(Exception):
    pass


# --- ids and values ---------------------------------------------------------

def id_text(i):
    return "%d-%d" % i


def parse_id(s):
    ms, seq = s.split("-")
    return int(ms), int(seq)


def id_next(i):
    if i[1] < MAX:
        return i[0], i[1] + 1
    return (i[0] + 1, 0) if i[0] < MAX else None


def id_prev(i):
    if i[1] > 0:
        return i[0], i[1] - 1
    return (i[0] - 1, MAX) if i[0] > 0 else None


def q(v):
    """An SQL literal without a type."""
    if v is None:
        return "NULL"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    return "'" + v.replace("'", "''") + "'"


def pairs_json(pairs):
    return "{" + ", ".join("%s: %s" % (json.dumps(n), json.dumps(v)) for n, v in pairs) + "}"


def flat(pairs):
    return tuple(x for p in pairs for x in p)


class Error(Exception):
    """The call must fail with this SQLSTATE."""

    def __init__(self, state):
        super().__init__(state)
        self.state = state


# --- the model --------------------------------------------------------------

class Stream:
    def __init__(self):
        self.entries = []       # (id, flat fields), in order
        self.last = (0, 0)
        self.added = 0
        self.max_deleted = (0, 0)

    def copy(self):
        s = Stream()
        s.entries = list(self.entries)
        s.last, s.added, s.max_deleted = self.last, self.added, self.max_deleted
        return s


def add_id(pos, last):
    """The id an add gets, or None where the server chooses by the clock."""
    if pos in ("-", "+", "$", ">") or pos.startswith("("):
        raise Error("22023")
    if last == (MAX, MAX):
        raise Error("54000")
    if pos == "*":
        return id_next(last) if last[0] > 2**50 else None
    if pos.endswith("-*"):
        ms = int(pos[:-2])
        if ms > last[0]:
            return ms, 0
        if ms < last[0] or last[1] == MAX:
            raise Error("ST001")
        return ms, last[1] + 1
    i = parse_id(pos) if "-" in pos else (int(pos), 0)
    if i <= last:
        raise Error("ST001")
    return i


def check_add_pos(pos):
    """What is wrong with a position whatever is in the stream."""
    if pos in ("-", "+", "$", ">") or pos.startswith("("):
        raise Error("22023")
    if pos in ("0", "0-0"):
        raise Error("ST001")


def bound(pos, start):
    """A bound of a range as an id, inclusive."""
    if pos is None:
        return (0, 0) if start else (MAX, MAX)
    if pos == "-":
        return 0, 0
    if pos == "+":
        return MAX, MAX
    if pos in ("$", ">", "*") or pos.endswith("-*"):
        raise Error("22023")
    text = pos.lstrip("(")
    i = parse_id(text) if "-" in text else (int(text), 0 if start else MAX)
    if pos.startswith("("):
        i = id_next(i) if start else id_prev(i)
        if i is None:
            raise Error("22023")
    return i


class Model:
    def __init__(self):
        self.streams = {}
        self.stack = []         # (savepoint or None for BEGIN, streams then)
        self.aborted = False

    def get(self, key):
        return self.streams.get(key)

    def change(self, key):
        s = self.streams[key].copy()
        self.streams[key] = s
        return s

    @property
    def committed(self):
        return self.stack[0][1] if self.stack else self.streams

    def save(self, name):
        self.stack.append((name, dict(self.streams)))

    def find(self, name):
        for k in range(len(self.stack) - 1, 0, -1):
            if self.stack[k][0] == name:
                return k
        return None

    # each returns what the call returns; a callable checks what it returned

    def xadd(self, key, pairs, pos, mkstream, maxlen, minid):
        check_add_pos(pos)
        s = self.get(key)
        if s is None and not mkstream:
            return None
        last = s.last if s else (0, 0)
        i = add_id(pos, last)

        def effect(i):
            if key not in self.streams:
                self.streams[key] = Stream()
            s = self.change(key)
            s.entries.append((i, flat(pairs)))
            s.last = i
            s.added += 1
            self.trim(s, maxlen, minid)

        if i is not None:
            effect(i)
            return id_text(i)

        def check(got):
            i = parse_id(got)
            last = self.streams[key].last if key in self.streams else (0, 0)
            now = int(time.time() * 1000)
            if i <= last or (i != id_next(last) and not (i[1] == 0 and now - 60000 <= i[0] <= now + 60000)):
                raise Failure("id %s after %s" % (got, id_text(last)))
            effect(i)
        return check

    def xadd_many(self, key, many, poss, mkstream, maxlen, minid):
        got = []
        for k, pairs in enumerate(many):
            end = k == len(many) - 1
            r = self.xadd(key, pairs, poss[k], mkstream, maxlen if end else None, minid if end else None)
            if r is None:
                return []
            got.append(r)
        return got

    @staticmethod
    def trim(s, maxlen, minid):
        n = 0
        if maxlen is not None and len(s.entries) > maxlen:
            n = len(s.entries) - maxlen
        if minid is not None:
            b = bound(minid, True)
            while n < len(s.entries) and s.entries[n][0] < b:
                n += 1
        del s.entries[:n]
        return n

    def xtrim(self, key, maxlen, minid, approx, limit):
        s = self.get(key)
        if s is None:
            return 0
        if not approx:
            return self.trim(self.change(key), maxlen, minid)
        most = self.trim(s.copy(), maxlen, minid)

        def check(got):
            if got > most or (limit and got > limit):
                raise Failure("approximate trim of %d where %d may go, limit %s" % (got, most, limit))
            del self.change(key).entries[:got]
        return check

    def xdel(self, key, ids):
        s = self.get(key)
        if s is None:
            return 0
        gone = set(ids) & {i for i, _ in s.entries}
        s = self.change(key)
        s.entries = [e for e in s.entries if e[0] not in gone]
        s.max_deleted = max([s.max_deleted, *gone])
        return len(gone)

    def xcreate(self, key, if_not_exists):
        if key in self.streams:
            if if_not_exists:
                return False
            raise Error("42710")
        self.streams[key] = Stream()
        return True

    def xdrop(self, key):
        return self.streams.pop(key, None) is not None

    def xrename(self, key, newkey):
        if key not in self.streams:
            raise Error("42704")
        if newkey != key:
            if newkey in self.streams:
                raise Error("42710")
            self.streams[newkey] = self.streams.pop(key)
        return ""

    def range(self, key, start, stop, count, reverse):
        lo, hi = bound(start, True), bound(stop, False)
        s = self.get(key)
        found = [e for e in s.entries if lo <= e[0] <= hi] if s else []
        if reverse:
            found.reverse()
        return found if count is None else found[:max(0, count)]

    def xread(self, key, after, count):
        s = self.get(key)
        if s is None:
            return []
        if after == "+":
            return s.entries[-1:]
        i = s.last if after == "$" else parse_id(after) if "-" in after else (int(after), 0)
        found = [e for e in s.entries if e[0] > i]
        return found if count is None or count <= 0 else found[:count]

    def everything(self, names, streams=None):
        streams = self.streams if streams is None else streams
        return {k: (streams[k].entries, streams[k].last, streams[k].added, streams[k].max_deleted)
                for k in names if k in streams}


# --- the server -------------------------------------------------------------

LOOK = """
SELECT key, x.exists, stream.xlen(key), stream.xtail(key)::text,
    CASE WHEN x.exists THEN stream.xinfo_stream(key) END,
    (SELECT array_agg(id::text ORDER BY o) FROM stream.xrange(key) WITH ORDINALITY r(id, fields, o)),
    (SELECT json_agg(fields::text[] ORDER BY o) FROM stream.xrange(key) WITH ORDINALITY r(id, fields, o)),
    stream.xcount(key)
FROM unnest(%s::text[]) key, LATERAL (SELECT stream.xexists(key)) x(exists)"""


def look(cur, names):
    """Everything a session sees, as Model.everything gives it."""
    cur.execute(LOOK, (names,))
    found = {}
    for key, exists, length, tail, info, ids, fields, count in cur.fetchall():
        ids = ids or []
        if len(ids) != length or count != length or (not exists and (ids or tail != "0-0")):
            raise Failure("%s: exists %s, xlen %s, xcount %s, xrange %s, xtail %s"
                          % (key, exists, length, count, len(ids), tail))
        if not exists:
            continue
        if info["length"] != length or info["last-generated-id"] < "" or \
                info["recorded-first-entry-id"] != (ids[0] if ids else "0-0"):
            raise Failure("%s: xinfo_stream %s, xlen %s, first %s" % (key, info, length, ids[:1]))
        found[key] = ([(parse_id(i), tuple(f)) for i, f in zip(ids, fields or [])],
                      parse_id(info["last-generated-id"]), info["entries-added"],
                      parse_id(info["max-deleted-entry-id"]))
    return found


class Server:
    def __init__(self, args):
        self.args = args
        self.connect()

    def connect(self):
        deadline = time.time() + 60
        while True:
            try:
                self.conn = psycopg2.connect(self.args.dsn)
                self.other = psycopg2.connect(self.args.dsn)
                break
            except psycopg2.OperationalError:
                if time.time() > deadline:
                    raise
                time.sleep(0.05)
        for c in (self.conn, self.other):
            c.autocommit = True
            c.cursor().execute("SET client_min_messages = error; SET statement_timeout = '10s'")
        self.cur = self.conn.cursor()
        self.other_cur = self.other.cursor()

    def restart(self):
        bindir = self.args.bindir or max(glob.glob("/usr/lib/postgresql/*/bin"))
        owner = os.stat(self.args.pgdata).st_uid
        cmd = [bindir + "/pg_ctl", "-D", self.args.pgdata, "-w", "-m", "immediate",
               "-l", self.args.pgdata + "/log", "restart"]
        if owner != os.getuid():
            cmd = ["runuser", "-u", pwd.getpwuid(owner).pw_name, "--"] + cmd
        subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL)
        self.connect()


# --- operations as SQL ------------------------------------------------------

def resolve(model, key, ids):
    """Numbers stand for entries of the stream, so that a shorter history
    still deletes something."""
    s = model.get(key)
    entries = s.entries if s else []
    return [tuple(i) if isinstance(i, (list, tuple)) else entries[i % len(entries)][0]
            for i in ids if isinstance(i, (list, tuple)) or entries]


def xadd_sql(op):
    _, key, pairs, pos, mkstream, maxlen, minid = op
    if mkstream and maxlen is None and minid is None and len(pairs[0][0]) % 3 == 1:
        return "stream.xadd(%s, %s, %s)" % (q(key), q(pos), ", ".join(q(x) for x in flat(pairs)))
    return "stream.xadd(%s, %s, %s, mkstream => %s, maxlen => %s, minid => %s)" % (
        q(key), q(pairs_json(pairs)), q(pos), q(mkstream), q(maxlen), q(minid))


def many_sql(op):
    _, key, many, poss, mkstream, maxlen, minid = op
    ids = "NULL" if all(p == "*" for p in poss) else \
        "ARRAY[%s]::stream.streamid[]" % ", ".join(q(None if p == "*" else p) for p in poss)
    return "stream.xadd_many(%s, ARRAY[%s]::stream.streamfields[], %s, %s, %s, %s)" % (
        q(key), ", ".join(q(pairs_json(p)) for p in many), ids, q(mkstream), q(maxlen), q(minid))


def xtrim_sql(op):
    _, key, maxlen, minid, approx, limit = op
    return "stream.xtrim(%s, %s, %s, %s, %s)" % (q(key), q(maxlen), q(minid), q(approx), q(limit))


ROWS = "SELECT id::text, (fields::text[]) FROM "


class Runner:
    def __init__(self, args):
        self.server = Server(args)
        self.args = args
        self.log = []

    def reset(self):
        self.server.conn.close()
        self.server.other.close()
        self.server.connect()
        for n in NAMES:
            try:
                self.server.cur.execute("SELECT stream.xdrop(%s)", (n,))
            except psycopg2.Error:
                self.server.restart()
                self.server.cur.execute("SELECT stream.xdrop(%s)", (n,))
        self.model = Model()
        self.log = []

    def execute(self, sql):
        self.log.append(sql)
        cur = self.server.cur
        try:
            cur.execute(sql)
        except psycopg2.Error as e:
            if e.pgcode is None or e.pgcode.startswith("XX") or self.server.conn.closed:
                raise Failure("%s: %s %s" % (sql[:300], e.pgcode, e))
            return Error(e.pgcode), str(e)
        return (cur.fetchall() if cur.description else None), None

    def call(self, sql, expected, rows=False, single=True):
        """Carry out a call; expected: a value, a check, or the Error."""
        m = self.model
        got, message = self.execute(sql)
        if isinstance(got, Error) or isinstance(expected, Error):
            if not (isinstance(got, Error) and isinstance(expected, Error) and got.state == expected.state):
                raise Failure("%s\n  expected %s\n  got %s %s" % (sql[:500], repr(expected)[:300], repr(got)[:300], message))
            m.aborted = bool(m.stack)
            return
        if rows:
            got = [(parse_id(r[0]), tuple(r[1])) for r in got]
        elif single:
            got = got[0][0]
        else:
            got = [r[0] for r in got]
            if len(got) != len(expected):
                raise Failure("%s\n  expected %s\n  got %s" % (sql[:500], expected, got))
        for g, e in zip(got, expected) if not rows and not single else [(got, expected)]:
            if callable(e):
                e(g)
            elif g != e:
                raise Failure("%s\n  expected %s\n  got %s" % (sql[:500], repr(e)[:600], repr(g)[:600]))

    def model_call(self, fn, *a):
        """What the model says; its state is as before if that is an error."""
        m = self.model
        before = dict(m.streams)
        try:
            return fn(*a)
        except Error as e:
            m.streams = before
            return e

    def change_sql(self, op):
        kind = op[0]
        if kind == "xadd":
            return xadd_sql(op)
        if kind == "xadd_many":
            return many_sql(op)
        if kind == "xtrim":
            return xtrim_sql(op)
        if kind == "xdel":
            ids = resolve(self.model, op[1], op[2])
            return "stream.xdel(%s, %s)" % (q(op[1]), q("{" + ",".join(map(id_text, ids)) + "}"))
        if kind == "xcreate":
            return "stream.xcreate(%s, %s)" % (q(op[1]), q(op[2]))
        if kind == "xrename":
            return "stream.xrename(%s, %s)" % (q(op[1]), q(op[2]))
        return "stream.xdrop(%s)" % q(op[1])

    def change_model(self, op):
        m = self.model
        if op[0] == "xdel":
            return self.model_call(m.xdel, op[1], resolve(m, op[1], op[2]))
        return self.model_call(getattr(m, op[0]), *op[1:])

    def block(self, op):
        """A DO block with an exception handler; its operations succeed."""
        m = self.model
        _, ops, fail = op
        before = dict(m.streams)
        body = []
        failed = False
        for o in ops:
            if failed:
                break
            if o[0] == "block":
                sql = self.block(o)
            else:
                sql = "PERFORM " + self.change_sql(o) + ";"
                failed = isinstance(self.change_model(o), Error)
            body.append(sql)
        if fail and not failed:
            failed = True
            body.append("RAISE EXCEPTION 'no';")
        if failed:
            m.streams = before
        return "BEGIN %s EXCEPTION WHEN OTHERS THEN IF SQLSTATE LIKE 'XX%%' THEN RAISE; END IF; END;" % " ".join(body or ["NULL;"])

    def step(self, op):
        m = self.model
        kind = op[0]
        if kind == "restart":
            if not self.args.pgdata:
                return
            self.log.append("-- restart")
            self.server.restart()
            m.streams = dict(m.committed)
            m.stack, m.aborted = [], False
        elif kind == "begin":
            if m.stack:
                return
            self.execute("BEGIN ISOLATION LEVEL " + op[1])
            m.save(None)
        elif kind == "commit":
            if not m.stack:
                return
            self.execute("COMMIT")
            if m.aborted:
                m.streams = m.stack[0][1]
            m.stack, m.aborted = [], False
        elif kind == "rollback":
            if not m.stack:
                return
            self.execute("ROLLBACK")
            m.streams, m.stack, m.aborted = m.stack[0][1], [], False
        elif kind == "savepoint":
            if not m.stack or m.aborted:
                return
            self.execute("SAVEPOINT " + op[1])
            m.save(op[1])
        elif kind in ("rollback_to", "release"):
            k = m.find(op[1])
            if k is None or (m.aborted and kind == "release"):
                return
            if kind == "release":
                self.execute("RELEASE " + op[1])
                del m.stack[k:]
            else:
                self.execute("ROLLBACK TO " + op[1])
                m.streams = dict(m.stack[k][1])
                del m.stack[k + 1:]
                m.aborted = False
        elif kind == "limits":
            if m.stack:
                return
            self.execute("SET stream.node_max_entries = %d" % op[1])
            self.execute("SET stream.node_max_bytes = %d" % op[2])
        elif m.aborted:
            return
        elif kind in ("xrange", "xrevrange"):
            _, key, start, stop, count = op
            a, b = (start, stop) if kind == "xrange" else (stop, start)
            self.call(ROWS + "stream.%s(%s, %s, %s, %s)" % (kind, q(key), q(a), q(b), q(count)),
                      self.model_call(m.range, key, start, stop, count, kind == "xrevrange"), rows=True)
        elif kind == "xcount":
            _, key, start, stop = op
            e = self.model_call(m.range, key, start, stop, None, False)
            self.call("SELECT stream.xcount(%s, %s, %s)" % (q(key), q(start), q(stop)),
                      e if isinstance(e, Error) else len(e))
        elif kind == "xread":
            _, key, after, count = op
            self.call(ROWS + "stream.xread(%s, %s, %s)" % (q(key), q(after), q(count)),
                      self.model_call(m.xread, key, after, count), rows=True)
        elif kind == "block":
            self.execute("DO $do$BEGIN %s END$do$" % self.block(op))
        else:
            sql = "SELECT " + self.change_sql(op)
            self.call(sql, self.change_model(op), single=kind != "xadd_many")
        self.compare()

    def compare(self):
        m = self.model
        if not m.aborted:
            self.compare_one("this session", self.server.cur, m.everything(NAMES))
        self.compare_one("another session", self.server.other_cur, m.everything(NAMES, m.committed))

    def compare_one(self, who, cur, expected):
        try:
            got = look(cur, NAMES)
        except psycopg2.Error as e:
            raise Failure("%s cannot read: %s %s" % (who, e.pgcode, e))
        if got == expected:
            return
        for n in NAMES:
            g, e = got.get(n), expected.get(n)
            if g != e:
                raise Failure("stream %s, %s:\n  expected %s\n  got      %s" % (n, who, brief(e, g), brief(g, e)))

    def replay(self, ops):
        """The failure of this list of operations, or None."""
        self.reset()
        done = 0
        for done, op in enumerate(ops):
            try:
                self.step(op)
            except Failure as e:
                return done + 1, str(e)
            except psycopg2.Error as e:
                return done + 1, "lost: %s" % e
        return None


def brief(a, b):
    if a is None:
        return "missing"
    if b is None or a[0] == b[0]:
        return "%d entries, last id %s, %s added, max deleted %s" % (len(a[0]), a[1], a[2], a[3])
    return "%d entries, differing: %s; last %s" % (len(a[0]), repr([e for e in a[0] if e not in b[0]])[:300], a[1])


def shrink(runner, ops, seconds):
    """Leave out what is not needed for a failure."""
    deadline = time.time() + seconds
    size = max(1, len(ops) // 2)
    while size >= 1 and time.time() < deadline:
        k = 0
        while k < len(ops) and time.time() < deadline:
            fewer = ops[:k] + ops[k + size:]
            r = runner.replay(fewer)
            if r:
                ops = fewer[:r[0]]
            else:
                k += size
        size = size // 2
    return ops


# --- choosing operations ----------------------------------------------------

class Chooser:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def value(self):
        r = self.r
        k = r.random()
        if k < 0.3:
            return str(r.choice([0, 1, -1, 7, 127, 128, 4095, 65536, -32768, 2**31, -2**63, 2**63 - 1, 2**64]))
        if k < 0.4:
            return r.choice(["", " ", "00", "+1", "-0", "1.0", "\u00e4\u4e2d\U0001f600", "\\", '"', "\t\n\r\x01", "{}"])
        if k < 0.95:
            return "v" * r.choice([1, 5, 20, 60, 63, 64, 90])
        if k < 0.995:
            return "w" * r.choice([200, 1000, 4000, 4095, 4096, 9000])
        return "z" * r.choice([70000, 1000000])

    def pairs(self):
        r = self.r
        if r.random() < 0.5:
            return [("n", self.value()), ("m", self.value())]
        return [(r.choice(["n", "m", "", "field%d" % r.randrange(4)]), self.value())
                for _ in range(r.choice([1, 1, 2, 3, 8]))]

    def pos(self, key, star=True):
        """The id of a new entry; ids of the small streams stay small."""
        r = self.r
        k = r.random()
        if key == "limits":
            return r.choice(["*", "%d-%d" % (MAX, MAX), "%d-*" % MAX, "%d-%d" % (MAX, MAX - r.randrange(5)),
                             "%d-%d" % (MAX - r.randrange(3), MAX - r.randrange(2)), "1-1", "%d" % MAX,
                             "%d-0" % 2**63, "%d-*" % (MAX - 1)]) if star else "%d-*" % (MAX - r.randrange(3))
        s = self.model.get(key)
        last = s.last if s else (0, 0)
        if k < 0.25 and star:
            return "*"
        if k < 0.5:
            return "%d-*" % (last[0] + r.randrange(2))
        if k < 0.95:
            return id_text((last[0] + r.choice([0, 0, 1, 3]), last[1] + r.choice([1, 2, 40])))
        if k < 0.97:
            return str(last[0] + r.choice([1, 2]))
        return r.choice(["0-0", "0", "-", "+", "$", ">", "(5-5", "1-1", "3", "0-1"])

    def id_near(self, key):
        r = self.r
        s = self.model.get(key)
        if s and s.entries and r.random() < 0.85:
            i = r.choice(s.entries)[0]
            return i if r.random() < 0.7 else (id_next(i) or i) if r.random() < 0.5 else (id_prev(i) or i)
        if s and r.random() < 0.5:
            return id_next(s.last) or s.last
        return r.choice([(0, 0), (0, 1), (1, 1), (5, 0), (MAX, MAX), (MAX, 0), (2**63, 5)])

    def range_pos(self, key):
        r = self.r
        k = r.random()
        if k < 0.15:
            return r.choice(["-", "+"])
        if k < 0.2:
            return None
        if k < 0.22:
            return r.choice(["$", ">", "*", "5-*"])
        i = self.id_near(key)
        if k < 0.5:
            return str(i[0])
        return ("(" if r.random() < 0.3 else "") + (id_text(i) if r.random() < 0.8 else str(i[0]))

    def trim(self, key):
        """maxlen, minid"""
        r = self.r
        s = self.model.get(key)
        n = len(s.entries) if s else 0
        if r.random() < 0.5:
            return r.choice([0, 1, n, n + 1, max(0, n - 1), n // 2, r.randrange(n + 2)]), None
        i = self.id_near(key)
        if r.random() < 0.1:
            i = (i[0] + 1000, i[1]) if i[0] < MAX - 1000 else i
        return None, id_text(i) if r.random() < 0.8 else str(i[0])

    def change(self, star=True):
        r = self.r
        key = r.choice(NAMES + NAMES[:3])
        k = r.random()
        s = self.model.get(key)
        if s and len(s.entries) > 300:
            return ("xtrim", key, r.randrange(20), None, False, None)
        if k < 0.4:
            maxlen, minid = self.trim(key) if r.random() < 0.15 else (None, None)
            return ("xadd", key, self.pairs(), self.pos(key, star), r.random() < 0.95, maxlen, minid)
        if k < 0.55:
            n = r.choice([0, 1, 2, 3, 7, 30])
            poss = ["*"] * n
            if not star or r.random() < 0.5:
                i = s.last if s else (0, 0)
                poss = []
                for _ in range(n):
                    i = (i[0] + r.randrange(2), i[1] + r.choice([1, 3]))
                    poss.append(id_text(i) if i[0] <= MAX and i[1] <= MAX else "1-1")
            maxlen, minid = self.trim(key) if r.random() < 0.15 and n else (None, None)
            return ("xadd_many", key, [self.pairs() for _ in range(n)], poss, r.random() < 0.95, maxlen, minid)
        if k < 0.75:
            n = r.choice([0, 1, 1, 1, 2, 5, 40])
            return ("xdel", key, [r.randrange(10**6) if r.random() < 0.9 else self.id_near(key) for _ in range(n)])
        if k < 0.88:
            maxlen, minid = self.trim(key)
            approx = star and r.random() < 0.3
            return ("xtrim", key, maxlen, minid, approx, r.choice([None, 0, 1, 5, 50]) if approx else None)
        if k < 0.94:
            return ("xcreate", key, r.random() < 0.6)
        if k < 0.97:
            # "limits" has its own kind of ids, and keeps its name
            return ("xrename", r.choice(NAMES[:3]), r.choice(NAMES[:3]))
        return ("xdrop", key)

    def read(self):
        r = self.r
        key = r.choice(NAMES)
        k = r.random()
        count = r.choice([None, None, 0, -1, 1, 2, 10, 10**6])
        if k < 0.6:
            return (r.choice(["xrange", "xrevrange"]), key, self.range_pos(key), self.range_pos(key), count)
        if k < 0.8:
            return ("xcount", key, self.range_pos(key), self.range_pos(key))
        i = self.id_near(key)
        return ("xread", key, r.choice([id_text(i), id_text(i), str(i[0]), "$", "+"]), count)

    def blocked(self, depth=0):
        r = self.r
        ops = [self.blocked(depth + 1) if depth < 2 and r.random() < 0.2 else self.change(star=False)
               for _ in range(r.randrange(1, 4))]
        return ("block", ops, r.random() < 0.5)

    def next(self, model):
        r = self.r
        self.model = model
        k = r.random()
        if model.aborted:
            return r.choice([("rollback",), ("commit",), ("rollback_to", "s1"), ("rollback_to", "s2"), ("rollback_to", "s3")])
        if not model.stack:
            if k < 0.25:
                return ("begin", r.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]))
            if k < 0.27:
                return ("limits",) + r.choice([(3, 200), (3, 200), (100, 4096), (0, 0), (1, 0), (0, 64), (7, 8192)])
        elif k < 0.04:
            return ("commit",)
        elif k < 0.07:
            return ("rollback",)
        elif k < 0.14:
            return ("savepoint", r.choice(["s1", "s2", "s3"]))
        elif k < 0.22:
            return (r.choice(["rollback_to", "rollback_to", "release"]), r.choice(["s1", "s2", "s3"]))
        k = r.random()
        if k < 0.003:
            return ("restart",)
        if k < 0.1:
            return self.blocked()
        if k < 0.4:
            return self.read()
        return self.change()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", type=int, default=random.randrange(2**31))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--dsn", default="")
    p.add_argument("--pgdata", help="data directory: restart the server now and then")
    p.add_argument("--bindir", help="where pg_ctl is")
    p.add_argument("--steps", type=int, default=400, help="steps of a run")
    p.add_argument("--shrink", type=float, default=60, help="seconds to cut a failure down")
    args = p.parse_args()

    runner = Runner(args)
    deadline = time.time() + args.seconds
    seed = args.seed
    total = 0
    while time.time() < deadline:
        chooser = Chooser(seed)
        runner.reset()
        ops = []
        for _ in range(args.steps):
            op = chooser.next(runner.model)
            ops.append(op)
            try:
                runner.step(op)
            except (Failure, psycopg2.Error) as e:
                print("FAILED: --seed %d, step %d: %s" % (seed, len(ops), e))
                few = shrink(runner, ops, args.shrink)
                r = runner.replay(few)
                print("--- %d of %d steps are enough:" % (len(few), len(ops)) if r else "--- does not happen again")
                for line in runner.log:
                    print("  " + (line if len(line) < 400 else line[:400] + "..."))
                print("---", r and r[1])
                sys.exit(1)
        total += len(ops)
        seed += 1
    print("ok %d steps, seeds %d to %d" % (total, args.seed, seed - 1))


if __name__ == "__main__":
    main()
