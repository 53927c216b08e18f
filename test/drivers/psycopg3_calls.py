#!/usr/bin/python3
"""The calls of users of psycopg 3, which sends parameters apart from the
statement; here each twice, the second time prepared.

psycopg3_calls.py HOST PORT; prints TAP."""
import datetime
import sys

import psycopg
from psycopg.types.json import Json, Jsonb

HOST, PORT = sys.argv[1:3]
number = 0


def report(good, what, why=''):
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    if not good:
        print(f"# {why}")


def same(what, got, want):
    report(got == want, what, f'got {got!r}, wanted {want!r}')


conn = psycopg.connect(f'host={HOST} port={PORT} dbname=postgres', autocommit=True)


def run(p, prepare):
    """p: 'stream.' or '' with the schema in the search path."""
    key = f"psycopg3:{p or 'path'}:{prepare}"
    how = ('schema-qualified' if p else 'search path') + (', prepared' if prepare else '')
    at = datetime.datetime(2018, 2, 7, 1, 2, 3, 456000, tzinfo=datetime.timezone.utc)

    def call(what, sql, args, want):
        try:
            cur = conn.execute(sql.format(p=p), args, prepare=prepare)
            got = cur.fetchall() if cur.description else None
        except psycopg.Error as e:
            return report(False, f'{what} ({how})', f'{e.sqlstate} {e}')
        if want is not None:
            same(f'{what} ({how})', got, want)
        else:
            report(True, f'{what} ({how})')

    call('add, JSON text and id', 'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', '1-0'), [('1-0',)])
    call('add, json', 'select {p}xadd(%s, %s, %s)', (key, Json({'b': 2, 'c': 'x'}), '2-0'), [('2-0',)])
    call('add, pairs', 'select {p}xadd(%s, %s, %s, %s)', (key, '3-0', 'k', 'v'), [('3-0',)])
    # psycopg sends a list without a type: without the cast it would be read as JSON
    call('add, list', 'select {p}xadd(%s, %s::text[], %s)', (key, ['k', 'v', 'k', 'w'], '4-0'), [('4-0',)])
    call('add, bytes', 'select {p}xadd(%s, {p}fields(%s::text, %s, %s::text, %s), %s)', (key, 'raw', b'\x00\xff', 'n', 7, '5-0'), [('5-0',)])
    call('add, jsonb and a time as id', 'select {p}xadd(%s, %s, %s)', (key, Jsonb({'t': 1}), at), [('1517965323456-0',)])
    call('add, jsonb', 'select {p}xadd(%s, %s)', (key, Jsonb({'z': 1})), None)
    call('add, options', 'select {p}xadd(%s, %s, maxlen => %s, approx => %s)', (key, '{"o": 1}', 1000, True), None)
    call('add without a stream', 'select {p}xadd(%s, %s, mkstream => false)', ('no ' + key, '{"o": 1}'), [(None,)])
    call('add many', 'select count(*) from {p}xadd_many(%s, %s)', (key, ['{"m":1}', '{"m":2}']), [(2,)])
    call('add many, jsonb', 'select count(*) from {p}xadd_many(%s, %s)', (key, [Jsonb({'m': 3})]), [(1,)])
    call('length', 'select {p}xlen(%s)', (key,), [(11,)])
    call('exists', 'select {p}xexists(%s), {p}xexists(%s)', (key, 'no ' + key), [(True, False)])
    call('ids and texts', 'select id, fields::text from {p}xrange(%s, %s, %s)', (key, '1', '2'),
         [('1-0', '{"a": "1"}'), ('2-0', '{"b": "2", "c": "x"}')])
    call('as json', 'select fields::json from {p}xrange(%s, %s, %s)', (key, '1', '1'), [({'a': '1'},)])
    call('as jsonb', 'select fields::jsonb from {p}xrange(%s, %s, %s)', (key, '1', '1'), [({'a': '1'},)])
    call('the same bytes', 'select {p}field_bytes(fields, %s) from {p}xrange(%s, %s, %s)', ('raw', key, '5', '5'), [(b'\x00\xff',)])
    call('range of times', 'select id from {p}xrange(%s, %s, %s)', (key, at - datetime.timedelta(hours=1), at),
         [('1517965323456-0',)])
    call('range of local times', 'select count(*) from {p}xrange(%s, %s, %s)', (key, datetime.datetime(2018, 1, 1), datetime.datetime(2018, 12, 31)), [(1,)])
    call('range of dates', 'select count(*) from {p}xrange(%s, %s, %s)', (key, at.date() - datetime.timedelta(1), at.date() + datetime.timedelta(2)), [(1,)])
    call('count', 'select id from {p}xrange(%s, count => %s)', (key, 2), [('1-0',), ('2-0',)])
    call('all four', 'select id from {p}xrange(%s, %s, %s, %s)', (key, '-', '+', 2), [('1-0',), ('2-0',)])
    call('backwards', 'select id from {p}xrevrange(%s, %s, %s)', (key, '3', '2'), [('3-0',), ('2-0',)])
    call('read', 'select key, id from {p}xread(%s, %s, %s)', (key, '3-0', 1), [(key, '4-0')])
    call('read, block', 'select count(*) from {p}xread(%s, %s, block => %s)', (key, '$', datetime.timedelta(milliseconds=20)), [(0,)])
    call('read, block as text', 'select count(*) from {p}xread(%s, %s, block => %s)', (key, '$', '20 ms'), [(0,)])
    call('read many', 'select key, id from {p}xread_many(%s, %s, count => 1)', ([key, 'no ' + key], ['0', '$']), [(key, '1-0')])
    call('count of a range', 'select {p}xcount(%s, %s, %s)', (key, '1', '3'), [(3,)])
    call('delete one', 'select {p}xdel(%s, %s)', (key, '1-0'), [(1,)])
    call('delete several', 'select {p}xdel(%s, %s, %s)', (key, '1-0', '2-0'), [(1,)])
    call('delete a list', 'select {p}xdel(%s, %s)', (key, ['3-0', '4-0']), [(2,)])
    call('delete VARIADIC', 'select {p}xdel(%s, VARIADIC %s)', (key, ['5-0']), [(1,)])
    call('trim', 'select {p}xtrim(%s, %s)', (key, 1), [(5,)])
    call('trim by time', 'select {p}xtrim(%s, minid => %s)', (key, at), [(0,)])
    call('wait', 'call {p}xwait(%s, %s, %s)', (key, '0', '1 s'), None)
    call('drop', 'select {p}xdrop(%s)', (key,), [(True,)])

    # psycopg's transaction blocks, nested ones are savepoints
    with conn.transaction():
        conn.execute(f'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', '5-0'))
        try:
            with conn.transaction():
                conn.execute(f'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', '6-0'))
                conn.execute(f'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', '6-0'))
        except psycopg.Error as e:
            same(f'an error has its SQLSTATE ({how})', e.sqlstate, 'ST001')
    same(f'and leaves the rest ({how})', conn.execute(f'select id from {p}xrange(%s)', (key,)).fetchall(), [('5-0',)])
    # many statements in a pipeline
    with conn.pipeline():
        for n in range(6, 30):
            conn.execute(f'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', f'{n}-0'))
    same(f'a pipeline ({how})', conn.execute(f'select {p}xlen(%s)', (key,)).fetchall(), [(25,)])
    # COPY of a column of these types, out and in, text and binary
    conn.execute('create temp table kept(id stream.streamid, fields stream.streamfields)')
    for form in ('text', 'binary'):
        with conn.cursor() as cur:
            with cur.copy(f"copy (select id, fields from {p}xrange('{key}')) to stdout (format {form})") as copy:
                data = b''.join(bytes(block) for block in copy)
            with cur.copy(f'copy kept from stdin (format {form})') as copy:
                copy.write(data)
        same(f'COPY {form} ({how})', conn.execute('select count(*), count(distinct id) from kept').fetchall(), [(25, 25)])
        conn.execute('truncate kept')
    conn.execute('drop table kept')
    conn.execute(f'select {p}xdrop(%s)', (key,))


for prepare in (False, True):
    conn.execute('set search_path = public')
    run('stream.', prepare)
    conn.execute('set search_path = public, stream')
    run('', prepare)
print(f'1..{number}')
