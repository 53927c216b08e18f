#!/usr/bin/python3
"""Consumer groups in one session against a model.

What model_single.py does, with groups: reads, acknowledgements, claims,
releases and administration among the other operations, in transactions with
savepoints and exception blocks.  After each step the groups, their consumers
and pending records as the session sees them are compared with the model, and
what another session sees with the committed state.

LASTID of claims is given outside transactions only, where it is exact at once.
Times are left out: everything pending counts as idle for long enough, nothing
released with a delay becomes due.

Deliveries that were rolled back count, although nothing else of them stays.  In
the model they are `attempts`, beside the state that a rollback brings back.
"""
import json
import random

import psycopg2

import model_single as single
from model_single import Error, Failure, MAX, id_text, parse_id, q

COUNT_MAX = 2**63 - 1
GROUPS = ["g", "h"]
CONSUMERS = ["x", "y", "z"]
next_uid = iter(range(1, 10**9))


class Group:
    def __init__(self, pos, in_order):
        self.uid = next(next_uid)
        self.setpos = pos       # entries above it are to be delivered
        self.skip = (0, 0)      # LASTID: but none up to here
        self.given = frozenset()
        self.cursor = pos
        self.in_order = in_order
        self.records = {}       # id: (consumer or None, deliveries, due)
        self.consumers = set()
        self.dangling = frozenset()     # records whose entries are gone (KEEPREF)
        self.delivered = self.redelivered = self.acked = 0

    def copy(self):
        g = Group(self.setpos, self.in_order)
        g.__dict__.update(self.__dict__)
        g.records, g.consumers = dict(self.records), set(self.consumers)
        return g

    def to_deliver(self, i):
        return i > self.setpos and i > self.skip and i not in self.given


class Stream(single.Stream):
    def __init__(self):
        super().__init__()
        self.uid = next(next_uid)
        self.groups = {}

    def copy(self):
        s = super().copy()
        s.uid = self.uid
        s.groups = {n: g.copy() for n, g in self.groups.items()}
        return s


single.Stream = Stream


class Model(single.Model):
    def __init__(self):
        super().__init__()
        self.attempts = {}      # (uid, group, id): deliveries that were rolled back
        self.known = {}         # (uid, group): which one it was at the last commit
        self.flights = []       # ((uid, group, id), does giving up count), in order

    # --- transactions ---

    def save(self, name):
        self.stack.append((name, dict(self.streams), len(self.flights)))

    def back_to(self, n):
        """Flights from the n-th on are given up."""
        for key, counts in self.flights[n:]:
            if counts:
                self.attempts[key] = self.attempts.get(key, 0) + 1
        del self.flights[n:]

    def done(self):
        """The transaction has committed."""
        for key, _ in self.flights:
            self.attempts.pop(key, None)
        self.flights = []
        before, self.known = self.known, {(s.uid, n): g.uid for s in self.streams.values() for n, g in s.groups.items()}
        self.attempts = {key: n for key, n in self.attempts.items()
                         if before.get(key[:2]) in (None, self.known.get(key[:2]))}

    def forget(self):
        """Attempts go with their entries and groups; between steps."""
        there = {}              # what is committed, and what this transaction has, or has again after a rollback
        for s in [x for level in (self.streams, self.committed, *(saved for _, saved, _ in self.stack)) for x in level.values()]:
            for n in s.groups:
                there.setdefault((s.uid, n), set()).update(e[0] for e in s.entries)
        self.attempts = {key: n for key, n in self.attempts.items() if key[2] in there.get(key[:2], ())}

    def ours(self, key):
        return any(k == key for k, _ in self.flights)

    def fly(self, key, counts):
        if not self.ours(key):
            self.flights.append((key, counts))

    # --- what a group has ---

    def group(self, key, grp):
        """A copy of the stream's group that may be changed."""
        if key not in self.streams:
            raise Error("42704")
        s = self.change(key)
        if grp not in s.groups:
            raise Error("42704")
        return s, s.groups[grp]

    def count(self, s, grp, i, committed=False):
        key = (s.uid, grp, i)
        n = s.groups[grp].records[i][1]
        if committed or not self.ours(key):
            n += self.attempts.get(key, 0)
        return min(n, COUNT_MAX)

    def clean(self):
        """Records go with their entries, but for those that were kept."""
        for key, s in list(self.streams.items()):
            live = {e[0] for e in s.entries}
            if any(i not in live and i not in g.dangling for g in s.groups.values() for i in g.records):
                s = self.change(key)
                for g in s.groups.values():
                    g.records = {i: r for i, r in g.records.items() if i in live or i in g.dangling}

    def drop_dangling(self, key, gone):
        """The records of what is not there go, too, where that is said."""
        if key in self.streams:
            s = self.change(key)
            for g in s.groups.values():
                its = frozenset(i for i in g.dangling if gone(i))
                g.records = {i: r for i, r in g.records.items() if i not in its}
                g.dangling -= its

    def xdel(self, key, ids):
        n = super().xdel(key, ids)
        self.drop_dangling(key, lambda i: i in ids)
        return n

    def xdelex(self, key, ids, refs):
        if key not in self.streams:
            return [(i, -1) for i in ids]
        live = {e[0] for e in self.streams[key].entries}
        rows = []
        for i in ids:
            s = self.streams[key]
            if i not in live:
                rows.append((i, -1))
                if refs == "DELREF":
                    self.drop_dangling(key, lambda k: k == i)
            elif refs == "ACKED" and any(i in g.records or g.to_deliver(i) for g in s.groups.values()):
                rows.append((i, 2))
            else:
                rows.append((i, 1))
                if refs == "KEEPREF":
                    for g in self.change(key).groups.values():
                        g.dangling |= {i} & set(g.records)
                super().xdel(key, [i])
        return rows

    # --- operations; rows are lists of tuples ---

    def xgroup_create(self, key, grp, pos, mkstream, in_order, if_not_exists):
        if key not in self.streams:
            if not mkstream:
                raise Error("42704")
            self.streams[key] = Stream()
        s = self.change(key)
        if grp in s.groups:
            if if_not_exists:
                return False
            raise Error("42710")
        s.groups[grp] = Group(s.last if pos == "$" else parse_id(pos), in_order)
        return True

    def xgroup_destroy(self, key, grp):
        if key not in self.streams:
            raise Error("42704")
        return self.change(key).groups.pop(grp, None) is not None

    def xgroup_setid(self, key, grp, pos):
        s, g = self.group(key, grp)
        g.setpos = g.cursor = s.last if pos == "$" else parse_id(pos)
        g.skip, g.given = (0, 0), frozenset()
        return ""

    def xgroup_set(self, key, grp, in_order):
        self.group(key, grp)[1].in_order = in_order
        return ""

    def xgroup_createconsumer(self, key, grp, consumer):
        g = self.group(key, grp)[1]
        made = consumer not in g.consumers
        g.consumers.add(consumer)
        return made

    def xgroup_delconsumer(self, key, grp, consumer, release):
        g = self.group(key, grp)[1]
        its = [i for i, r in g.records.items() if r[0] == consumer]
        for i in its:
            if release:
                g.records[i] = (None, g.records[i][1], True)
            else:
                del g.records[i]
                g.dangling -= {i}
        g.consumers.discard(consumer)
        return len(its)

    def claim_one(self, s, grp, g, i, consumer, count):
        g.records[i] = (consumer, count, True)
        self.fly((s.uid, grp, i), True)

    def read(self, key, grp, consumer, count, noack, claim):
        s, g = self.group(key, grp)
        g.consumers.add(consumer)
        live = [e[0] for e in s.entries]
        pending = [i for i in live if i in g.records and not g.to_deliver(i)]
        idle = [i for i in pending if claim and g.records[i][0] is not None][:count]
        free = [i for i in pending if g.records[i][0] is None and g.records[i][2]][:count - len(idle)]
        fresh = [i for i in live if g.to_deliver(i)][:count - len(idle) - len(free)]
        rows = {}
        for i in idle + free:
            rows[i] = self.count(s, grp, i)
            self.claim_one(s, grp, g, i, consumer, min(rows[i] + 1, COUNT_MAX))
        for i in fresh:
            rows[i] = self.attempts.get((s.uid, grp, i), 0)
            self.fly((s.uid, grp, i), True)
            g.records.pop(i, None)
            if not noack:
                g.records[i] = (consumer, rows[i] + 1, True)
            g.given |= {i}
            g.cursor = max(g.cursor, i)
        g.redelivered += len(idle) + len(free)
        g.delivered += len(fresh)
        return [(i, rows[i]) for i in idle + sorted(free + fresh)]

    def history(self, key, grp, consumer, after, count):
        s, g = self.group(key, grp)
        g.consumers.add(consumer)
        rows = []
        for i in sorted(g.records):
            if i > after and g.records[i][0] == consumer and len(rows) < count:
                rows.append((i, self.count(s, grp, i)))
                if i in g.dangling:
                    continue
                self.claim_one(s, grp, g, i, consumer, min(rows[-1][1] + 1, COUNT_MAX))
        return rows

    def xack(self, key, grp, ids):
        if key not in self.streams or grp not in self.streams[key].groups:
            return 0
        s, g = self.group(key, grp)
        its = set(ids) & set(g.records)
        for i in sorted(its):
            self.drop(s, grp, g, i)
        return len(its)

    def drop(self, s, grp, g, i, counts=True):
        self.fly((s.uid, grp, i), False)
        del g.records[i]
        g.dangling -= {i}
        g.acked += counts

    def xnack(self, key, grp, mode, ids, retrycount, force, delay):
        if not ids and key in self.streams:
            return 0            # the group is not asked for
        s, g = self.group(key, grp)
        live = {e[0] for e in s.entries}
        n = 0
        for i in sorted(set(ids)):
            if i not in g.records and not (force and i in live):
                continue
            count = self.count(s, grp, i) if i in g.records else 0
            if retrycount is not None:
                count = retrycount
            elif mode == "FATAL":
                count = COUNT_MAX
            elif mode == "SILENT":
                count = max(0, count - 1)
            g.records[i] = (None, count, not delay)
            self.fly((s.uid, grp, i), False)
            n += 1
        return n

    def xclaim(self, key, grp, consumer, ids, retrycount, force, justid, last_id):
        s, g = self.group(key, grp)
        g.consumers.add(consumer)
        if last_id is not None and tuple(last_id) > g.cursor:
            # outside transactions only; what is passed over is not to be delivered
            self.attempts = {k: n for k, n in self.attempts.items()
                             if k[:2] != (s.uid, grp) or not g.cursor < k[2] <= tuple(last_id)}
            g.cursor = g.skip = tuple(last_id)
        live = {e[0] for e in s.entries}
        rows = []
        for i in sorted(set(ids)):
            if i in g.dangling:
                self.drop(s, grp, g, i, False)
            if i not in live or (i not in g.records and not force):
                continue
            count = self.count(s, grp, i) if i in g.records else 1
            count = retrycount if retrycount is not None else count if justid else min(count + 1, COUNT_MAX)
            self.claim_one(s, grp, g, i, consumer, count)
            rows.append((i,))
        g.redelivered += len(rows)
        return rows

    def xautoclaim(self, key, grp, consumer, start, count, justid):
        s, g = self.group(key, grp)
        g.consumers.add(consumer)
        rows = []
        for i in sorted(g.records):
            if i >= tuple(start) and (g.records[i][0] is not None or g.records[i][2]) and count > 0:
                count -= 1
                if i in g.dangling:
                    self.drop(s, grp, g, i, False)
                    continue
                n = self.count(s, grp, i)
                rows.append((i, n))
                self.claim_one(s, grp, g, i, consumer, n if justid else min(n + 1, COUNT_MAX))
        g.redelivered += len(rows)
        return rows

    def xreclaim(self, key, grp, count):
        s, g = self.group(key, grp)
        its = [i for i in sorted(g.records) if g.records[i][0] is not None][:count]
        for i in its:
            if i in g.dangling:
                self.drop(s, grp, g, i, False)
            else:
                g.records[i] = (None, self.count(s, grp, i), True)
                self.fly((s.uid, grp, i), False)
        return sum(i in g.records for i in its)

    def all_groups(self, names, streams, committed):
        return {(k, n): {
            "cursor": id_text(g.cursor), "in_order": g.in_order,
            "lag": sum(g.to_deliver(e[0]) for e in streams[k].entries),
            "pending": len(g.records), "released": sum(r[0] is None for r in g.records.values()),
            "delivered": g.delivered, "redelivered": g.redelivered, "acked": g.acked,
            "consumers": sorted([c, sum(r[0] == c for r in g.records.values())] for c in g.consumers),
            "records": [[id_text(i), g.records[i][0], self.count(streams[k], n, i, committed)] for i in sorted(g.records)]
        } for k in names if k in streams for n, g in streams[k].groups.items()}


# --- the server -------------------------------------------------------------

LOOK = """
SELECT key::text, g.name, json_build_object('cursor', g.last_delivered_id::text, 'in_order', g.in_order, 'lag', g.lag,
        'pending', g.pending, 'released', g.released, 'delivered', g.delivered, 'redelivered', g.redelivered,
        'acked', g.acked, 'consumers', coalesce(c.list, '[]'), 'records', coalesce(p.list, '[]')),
    g.consumers, s.pending, s.min_id::text, s.max_id::text
FROM unnest(%s::text[]) key, stream.xinfo_groups(key) g,
    LATERAL (SELECT json_agg(json_build_array(c.name, c.pending) ORDER BY c.name) AS list
             FROM stream.xinfo_consumers(key, g.name) c) c,
    LATERAL (SELECT json_agg(json_build_array(p.id::text, p.consumer, p.deliveries) ORDER BY p.o) AS list
             FROM stream.xpending(key, g.name) WITH ORDINALITY p(id, consumer, idle, deliveries, o)) p,
    stream.xpending_summary(key, g.name) s
WHERE stream.xexists(key)"""


def look(cur, names):
    cur.execute(LOOK, (names,))
    found = {}
    for key, name, g, consumers, pending, first, last in cur.fetchall():
        records = g["records"]
        if consumers != len(g["consumers"]) or pending != len(records) or \
                (records and (first, last) != (records[0][0], records[-1][0])):
            raise Failure("group %s of %s: %s; %s consumers, summary %s %s %s"
                          % (name, key, g, consumers, pending, first, last))
        found[key, name] = g
    return found


def ids_sql(ids):
    return q("{" + ",".join(map(id_text, ids)) + "}")


class Runner(single.Runner):
    def reset(self):
        super().reset()
        self.model = Model()

    def ids(self, key, grp, ids):
        """Even numbers stand for pending records, odd ones for entries."""
        s = self.model.get(key)
        entries = [e[0] for e in s.entries] if s else []
        pending = sorted(s.groups[grp].records) if s and grp in s.groups else []
        found = []
        for n in ids:
            of = entries if n % 2 or not pending else pending
            if of:
                found.append(of[n // 2 % len(of)])
        return found

    def resolved(self, op):
        """The operation with ids in the place of numbers."""
        if op[0] == "xdelex":
            ids = sorted(set(self.ids(op[1], "g", op[2])))
            if op[3] == "ACKED":    # of what is not there the answer depends on where it was deleted
                live = {e[0] for e in self.model.get(op[1]).entries} if ids else ()
                ids = [i for i in ids if i in live]
            return op[:2] + (ids,) + op[3:]
        if op[0] in ("xack", "xnack", "xclaim"):
            k = {"xack": 3, "xnack": 4, "xclaim": 4}[op[0]]
            return op[:k] + (self.ids(op[1], op[2], op[k]),) + op[k + 1:]
        return op

    @staticmethod
    def group_sql(op):
        kind, key, grp = op[:3]
        if kind == "xdelex":
            return "stream.xdelex(%s, %s, %s)" % (q(key), ids_sql(op[2]), q(op[3]))
        args = {
            "xgroup_create": lambda pos, mk, in_order, ine: "%s, mkstream => %s, in_order => %s, if_not_exists => %s"
                % (q(pos), q(mk), q(in_order), q(ine)),
            "xgroup_setid": lambda pos: q(pos),
            "xgroup_set": lambda in_order: "in_order => " + q(in_order),
            "xgroup_delconsumer": lambda c, release: "%s, %s" % (q(c), q(release)),
            "xgroup_createconsumer": lambda c: q(c),
            "read": lambda c, count, noack, claim: "%s, '>', %d, noack => %s, claim => %s"
                % (q(c), count, q(noack), q("0" if claim else None)),
            "history": lambda c, after, count: "%s, %s, %d" % (q(c), q(id_text(after)), count),
            "xack": ids_sql,
            "xnack": lambda mode, ids, retry, force, delay: "%s, %s, %s, %s, %s"
                % (q(mode), ids_sql(ids), q(retry), q(force), q("1 day" if delay else None)),
            "xclaim": lambda c, ids, retry, force, justid, last: "%s, '0', %s, retrycount => %s, force => %s, justid => %s, last_id => %s"
                % (q(c), ids_sql(ids), q(retry), q(force), q(justid), q(last and id_text(last))),
            "xautoclaim": lambda c, start, count, justid: "%s, '0', %s, %d, %s" % (q(c), q(id_text(start)), count, q(justid)),
            "xreclaim": lambda count: "'0', count => %d" % count,
        }.get(kind)
        name = {"read": "xreadgroup", "history": "xreadgroup"}.get(kind, kind)
        return "stream.%s(%s)" % (name, ", ".join([q(key), q(grp)] + ([args(*op[3:])] if args else [])))

    def change_sql(self, op):
        if op[0] not in OPERATIONS:
            return super().change_sql(op)
        return self.group_sql(self.resolved(op))

    def change_model(self, op):
        m = self.model
        if op[0] in OPERATIONS:
            op = self.resolved(op)
            n = len(m.flights)
            got = self.model_call(getattr(m, op[0]), *op[1:])
            if isinstance(got, Error):
                m.back_to(n)
        else:
            before = m.get(op[1])
            got = super().change_model(op)
            if op[0] in ("xadd", "xadd_many", "xtrim") and before is not None and m.get(op[1]) is not None:
                s = m.get(op[1])
                gone = ({e[0] for e in before.entries} | ({s.last} if s.last > before.last else set())) - {e[0] for e in s.entries}
                if gone:
                    m.drop_dangling(op[1], lambda i: i < max(gone))
        m.clean()
        return got

    def model_call(self, fn, *a):
        got = super().model_call(fn, *a)
        if callable(got):
            def check(x):
                got(x)
                self.model.clean()
            return check
        return got

    def block(self, op):
        m = self.model
        before, n = dict(m.streams), len(m.flights)
        sql = super().block(op)
        if m.streams == before:
            m.back_to(n)
        return sql

    def step(self, op):
        m = self.model
        kind = op[0]
        flights = {"rollback": 0, "rollback_to": None, "restart": 0}.get(kind)
        if kind == "rollback_to":
            k = m.find(op[1])
            flights = m.stack[k][2] if k is not None else None
        if kind == "commit" and m.aborted:
            flights = 0
        if kind in ("read", "history", "xclaim", "xautoclaim", "xdelex") and not m.aborted:
            self.rows(op)
        elif kind == "xreclaim" and not m.aborted:
            self.call("SELECT released FROM " + self.change_sql(op), self.change_model(op))
        else:
            self.stepping = True
            super().step(op)
        self.stepping = False
        if flights is not None and (kind != "restart" or self.args.pgdata):
            m.back_to(flights)
        if m.aborted and kind != "rollback_to":
            m.back_to(m.stack[-1][2])   # an error ends the innermost subtransaction at once
        if kind == "restart" and self.args.pgdata:
            m.attempts = {}
        if not m.stack:
            m.done()
        m.forget()
        self.compare()

    def rows(self, op):
        columns = {"read": "id::text, deliveries", "history": "id::text, deliveries", "xclaim": "id::text",
                   "xautoclaim": "id::text, deliveries", "xdelex": "id::text, result"}[op[0]]
        sql = "SELECT %s FROM %s" % (columns, self.change_sql(op))
        expected = self.change_model(op)
        got, message = self.execute(sql)
        if isinstance(got, Error) or isinstance(expected, Error):
            if not (isinstance(got, Error) and isinstance(expected, Error) and got.state == expected.state):
                raise Failure("%s\n  expected %s\n  got %s %s" % (sql, repr(expected)[:300], repr(got)[:300], message))
            self.model.aborted = bool(self.model.stack)
            return
        got = [(parse_id(r[0]),) + tuple(r[1:]) for r in got]
        if got != expected:
            raise Failure("%s\n  expected %s\n  got      %s" % (sql, repr(expected)[:600], repr(got)[:600]))

    def compare(self):
        if getattr(self, "stepping", False):
            return              # of the step we were called for; it is done afterwards
        super().compare()
        m = self.model
        names = single.NAMES
        if not m.aborted:
            self.compare_groups("this session", self.server.cur, m.all_groups(names, m.streams, False))
        self.compare_groups("another session", self.server.other_cur, m.all_groups(names, m.committed, True))

    @staticmethod
    def compare_groups(who, cur, expected):
        try:
            got = look(cur, single.NAMES)
        except psycopg2.Error as e:
            raise Failure("%s cannot look at groups: %s %s" % (who, e.pgcode, e))
        for name in sorted(set(got) | set(expected)):
            g, e = got.get(name), expected.get(name)
            if g != e:
                which = sorted(k for k in e if g[k] != e[k]) if g and e else None
                raise Failure("group %s, %s, differs in %s:\n  expected %s\n  got      %s" % (
                    name, who, which, json.dumps(e and {k: e[k] for k in which or e}),
                    json.dumps(g and {k: g[k] for k in which or g})))


OPERATIONS = ["xgroup_create", "xgroup_destroy", "xgroup_setid", "xgroup_set", "xgroup_createconsumer",
              "xgroup_delconsumer", "read", "history", "xack", "xnack", "xclaim", "xautoclaim", "xreclaim", "xdelex"]


class Chooser(single.Chooser):
    def value(self):
        return str(self.r.randrange(1000))

    def group_op(self, in_block):
        r = self.r
        key, grp, c = r.choice(single.NAMES[:2]), r.choice(GROUPS), r.choice(CONSUMERS)
        s = self.model.get(key)
        count = r.choice([1, 1, 2, 5, 100])
        ids = [r.randrange(10**6) for _ in range(r.choice([0, 1, 1, 2, 4]))]
        k = r.random()
        if (s is None or grp not in s.groups) and k < 0.6 or k < 0.03:
            return ("xgroup_create", key, grp, r.choice(["0-0", "0-0", "$", id_text(self.id_near(key))]), r.random() < 0.8,
                    r.random() < 0.6, r.random() < 0.7)
        if k < 0.40:
            return ("read", key, grp, c, count, r.random() < 0.1, r.random() < 0.2)
        if k < 0.47:
            return ("history", key, grp, c, r.choice([(0, 0), self.id_near(key)]), count)
        if k < 0.60:
            return ("xack", key, grp, ids)
        if k < 0.70:
            return ("xnack", key, grp, r.choice(["FAIL", "SILENT", "FATAL"]), ids, r.choice([None, None, 0, 7]),
                    r.random() < 0.3, r.random() < 0.2)
        if k < 0.80:
            return ("xclaim", key, grp, c, ids, r.choice([None, None, 0, 7]), r.random() < 0.3, r.random() < 0.3,
                    None if in_block or self.model.stack or r.random() < 0.9 else self.id_near(key))
        if k < 0.85:
            return ("xautoclaim", key, grp, c, r.choice([(0, 0), self.id_near(key)]), count, r.random() < 0.3)
        if k < 0.88:
            return ("xreclaim", key, grp, count)
        if k < 0.90:
            return ("xdelex", key, ids, r.choice(["KEEPREF", "KEEPREF", "DELREF", "ACKED"]))
        if k < 0.91:
            return ("xgroup_setid", key, grp, r.choice(["0-0", "$", id_text(self.id_near(key))]))
        if k < 0.93:
            return ("xgroup_set", key, grp, r.random() < 0.5)
        if k < 0.95:
            return ("xgroup_createconsumer", key, grp, c)
        if k < 0.98:
            return ("xgroup_delconsumer", key, grp, c, r.random() < 0.6)
        return ("xgroup_destroy", key, grp)

    def change(self, star=True):
        if self.r.random() < 0.65:
            return self.group_op(not star)
        op = super().change(star=False)     # ids that are the same when it is repeated
        # streams that live on have more to tell
        return op if op[0] not in ("xdrop", "xrename") or self.r.random() < 0.3 else self.change(star)


single.Runner, single.Chooser = Runner, Chooser

if __name__ == "__main__":
    single.main()
