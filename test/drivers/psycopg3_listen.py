#!/usr/bin/python3
"""Clients that are told of new entries by NOTIFY, with psycopg 3.

psycopg3_listen.py follow HOST PORT DBNAME STREAM...
	reads each stream from the beginning and goes on reading it whenever it is
	told to; prints what it is told and how many entries it has read.  A stream
	written as =NAME is listened to on its channel only, without xlisten.
	NOTIFY stop ends it.
psycopg3_listen.py latency HOST PORT DBNAME
	prints milliseconds from the end of an add to its notification: the median
	and the greatest of a hundred, one after another."""
import sys
import time

import psycopg
from psycopg import sql

MODE, HOST, PORT, DBNAME = sys.argv[1:5]


def connect():
    return psycopg.connect(f'host={HOST} port={PORT} dbname={DBNAME}', autocommit=True)


def listen(conn, key, signalled=True):
    """The channel of a stream, listened to."""
    if signalled:
        conn.execute('select stream.xlisten(%s)', (key,))
    channel, = conn.execute('select stream.channel(%s)', (key,)).fetchone()
    conn.execute(sql.SQL('listen {}').format(sql.Identifier(channel)))
    return channel


def follow(names):
    # What is told while this psycopg waits for a result is not given to
    # notifies(): one connection listens, another reads.
    listener = connect()
    reader = connect()
    keys = {listen(listener, n.lstrip('='), not n.startswith('=')): n.lstrip('=') for n in names}
    last = {key: '0-0' for key in keys.values()}
    total = dict.fromkeys(last, 0)

    def catch_up(key):
        for entry, in reader.execute('select id from stream.xread(%s, %s)', (key, last[key])):
            last[key] = entry
            total[key] += 1

    listener.execute('listen stop')
    for key in last:
        catch_up(key)               # what was there before, once we are listening
    print('listening', flush=True)
    for told in listener.notifies():
        if told.channel == 'stop':
            break
        catch_up(keys[told.channel])
        key = keys[told.channel]
        print(told.channel, told.payload, total[key], last[key], flush=True)


def latency():
    listener = connect()
    adder = connect()
    listen(listener, 'latency')
    told = listener.notifies()
    took = []
    for n in range(100):
        entry, = adder.execute("select stream.xadd('latency', stream.fields('n', %s::int))", (n,)).fetchone()
        added = time.monotonic()
        while next(told).payload != entry:
            pass
        took.append(1000 * (time.monotonic() - added))
    took.sort()
    print(f'{took[50]:.1f} {took[-1]:.1f}')


if MODE == 'follow':
    follow(sys.argv[5:])
else:
    latency()
