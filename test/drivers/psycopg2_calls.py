#!/usr/bin/python3
"""The calls of users of psycopg 2, which writes parameters into the statement.

psycopg2_calls.py HOST PORT; prints TAP."""
import datetime
import sys

import psycopg2
from psycopg2.extras import Json

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


conn = psycopg2.connect(host=HOST, port=PORT, dbname='postgres')
conn.autocommit = True
cur = conn.cursor()


def ask(sql, *args):
    cur.execute(sql, args)
    return cur.fetchall() if cur.description else None


def run(p):
    """p: 'stream.' or '' with the schema in the search path."""
    key = 'psycopg2:' + (p or 'path')
    at = datetime.datetime(2018, 2, 7, 1, 2, 3, 456000, tzinfo=datetime.timezone.utc)
    how = 'schema-qualified' if p else 'search path'

    def call(what, sql, args, want):
        try:
            got = ask(sql.format(p=p), *args)
        except psycopg2.Error as e:
            return report(False, f'{what} ({how})', f'{e.pgcode} {e}')
        if want is not None:
            same(f'{what} ({how})', got, want)
        else:
            report(True, f'{what} ({how})')

    call('add, JSON text and id', 'select {p}xadd(%s, %s, %s)', (key, '{"a": 1}', '1-0'), [('1-0',)])
    call('add, dict', 'select {p}xadd(%s, %s, %s)', (key, Json({'b': 2, 'c': 'x'}), '2-0'), [('2-0',)])
    call('add, pairs', 'select {p}xadd(%s, %s, %s, %s)', (key, '3-0', 'k', 'v'), [('3-0',)])
    call('add, list', 'select {p}xadd(%s, %s, %s)', (key, ['k', 'v', 'k', 'w'], '4-0'), [('4-0',)])
    call('add, bytes', 'select {p}xadd(%s, {p}fields(%s, %s, %s, %s), %s)', (key, 'raw', b'\x00\xff', 'n', 7, '5-0'), [('5-0',)])
    call('add, a time as id', 'select {p}xadd(%s, %s, %s)', (key, '{"t": 1}', at), [('1517965323456-0',)])
    call('add, options', 'select {p}xadd(%s, %s, maxlen => %s, approx => %s)', (key, '{"o": 1}', 1000, True), None)
    call('add without a stream', 'select {p}xadd(%s, %s, mkstream => false)', ('no ' + key, '{"o": 1}'), [(None,)])
    call('add many', 'select count(*) from {p}xadd_many(%s, %s)', (key, ['{"m":1}', '{"m":2}']), [(2,)])
    call('length', 'select {p}xlen(%s)', (key,), [(9,)])
    call('exists', 'select {p}xexists(%s), {p}xexists(%s)', (key, 'no ' + key), [(True, False)])
    call('ids and texts', 'select id, fields::text from {p}xrange(%s, %s, %s)', (key, '1', '2'),
         [('1-0', '{"a": "1"}'), ('2-0', '{"b": "2", "c": "x"}')])
    call('as json', 'select fields::json from {p}xrange(%s, %s, %s)', (key, '1', '1'), [({'a': '1'},)])
    cur.execute(f"select {p}field_bytes(fields, 'raw') from {p}xrange(%s, '5', '5')", (key,))
    same(f'the same bytes ({how})', bytes(cur.fetchone()[0]), b'\x00\xff')
    call('range of times', 'select id from {p}xrange(%s, %s, %s)', (key, at - datetime.timedelta(hours=1), at),
         [('1517965323456-0',)])
    call('range of dates', 'select count(*) from {p}xrange(%s, %s, %s)', (key, at.date(), at.date() + datetime.timedelta(1)), [(1,)])
    call('count', 'select id from {p}xrange(%s, count => %s)', (key, 2), [('1-0',), ('2-0',)])
    call('backwards', 'select id from {p}xrevrange(%s, %s, %s)', (key, '3', '2'), [('3-0',), ('2-0',)])
    call('read', 'select key, id from {p}xread(%s, %s, %s)', (key, '3-0', 1), [(key, '4-0')])
    call('read an id that came back', 'select count(*) from {p}xread(%s, %s)', (key, '1-0'), [(8,)])
    call('read, block', 'select count(*) from {p}xread(%s, %s, block => %s)', (key, '$', datetime.timedelta(milliseconds=20)), [(0,)])
    call('read many', 'select key, id from {p}xread_many(%s, %s, count => 1)', ([key, 'no ' + key], ['0', '$']), [(key, '1-0')])
    call('delete one', 'select {p}xdel(%s, %s)', (key, '1-0'), [(1,)])
    call('delete several', 'select {p}xdel(%s, %s, %s)', (key, '1-0', '2-0'), [(1,)])
    call('delete a list', 'select {p}xdel(%s, %s)', (key, ['3-0', '4-0']), [(2,)])
    call('delete VARIADIC', 'select {p}xdel(%s, VARIADIC %s)', (key, ['5-0']), [(1,)])
    call('trim', 'select {p}xtrim(%s, %s)', (key, 1), [(3,)])
    call('trim by time', 'select {p}xtrim(%s, minid => %s)', (key, at), [(0,)])
    call('wait', 'call {p}xwait(%s, %s, %s)', (key, '0', '1 s'), None)
    call('drop', 'select {p}xdrop(%s)', (key,), [(True,)])

    # a transaction of psycopg's own, with an error in between
    conn.autocommit = False
    try:
        ask(f'select {p}xadd(%s, %s)', key, '{"a": 1}')
        conn.rollback()
        same(f'rolled back ({how})', ask(f'select {p}xexists(%s)', key), [(False,)])
        conn.commit()
        ask(f'select {p}xadd(%s, %s, %s)', key, '{"a": 1}', '5-0')
        conn.commit()
        try:
            ask(f'select {p}xadd(%s, %s, %s)', key, '{"a": 1}', '5-0')
            report(False, f'an error is raised ({how})')
        except psycopg2.Error as e:
            same(f'an error has its SQLSTATE ({how})', e.pgcode, 'ST001')
        conn.rollback()
        same(f'and leaves the rest ({how})', ask(f'select {p}xlen(%s)', key), [(1,)])
        conn.commit()
    finally:
        conn.autocommit = True
    ask(f'select {p}xdrop(%s)', key)


cur.execute('set search_path = public')
run('stream.')
cur.execute('set search_path = public, stream')
run('')
print(f'1..{number}')
