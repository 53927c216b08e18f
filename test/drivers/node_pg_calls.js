// The calls of users of node-pg: every parameter is text without a type, lists
// become array literals, objects JSON text, dates a text with a time zone.
//
// node_pg_calls.js HOST PORT; prints TAP.
'use strict';

const { Client } = require('pg');
const assert = require('assert');

const [host, port] = process.argv.slice(2);
let number = 0;

function report(good, what, why) {
	number++;
	console.log(`${good ? 'ok' : 'not ok'} ${number} - ${what}`);
	if (!good) console.log(`# ${why}`);
}

async function run(client, p, named) {
	const key = `node-pg:${p || 'path'}:${named}`;
	const how = (p ? 'schema-qualified' : 'search path') + (named ? ', named' : '');
	const at = new Date(Date.UTC(2018, 1, 7, 1, 2, 3, 456));

	async function call(what, text, values, want) {
		try {
			const query = { text: text.replaceAll('{p}', p), values, rowMode: 'array' };
			if (named) query.name = `${how} ${what}`;
			const { rows } = await client.query(query);
			if (want !== undefined) assert.deepStrictEqual(rows, want);
			report(true, `${what} (${how})`);
		} catch (e) {
			report(false, `${what} (${how})`, `${e.code || ''} ${e.message.replaceAll('\n', ' ')}`);
		}
	}

	await call('add, JSON text and id', 'select {p}xadd($1, $2, $3)', [key, '{"a": 1}', '1-0'], [['1-0']]);
	await call('add, object', 'select {p}xadd($1, $2, $3)', [key, { b: 2, c: 'x' }, '2-0'], [['2-0']]);
	await call('add, pairs', 'select {p}xadd($1, $2, $3, $4)', [key, '3-0', 'k', 'v'], [['3-0']]);
	await call('add, two pairs', 'select {p}xadd($1, $2, $3, $4, $5, $6)', [key, '4-0', 'k', 'v', 'k', 'w'], [['4-0']]);
	await call('add, bytes', 'select {p}xadd($1, {p}fields(\'raw\', $2::bytea, \'n\', $3::int), $4)',
		[key, Buffer.from([0, 255]), 7, '5-0'], [['5-0']]);
	await call('add, a time as id', 'select {p}xadd($1, $2, $3)', [key, '{"t": 1}', at], [['1517965323456-0']]);
	await call('add', 'select {p}xadd($1, $2)', [key, { z: 1 }]);
	await call('add, options', 'select {p}xadd($1, $2, maxlen => $3, approx => $4)', [key, '{"o": 1}', 1000, true]);
	await call('add without a stream', 'select {p}xadd($1, $2, mkstream => false)', ['no ' + key, '{"o": 1}'], [[null]]);
	await call('add many', 'select count(*) from {p}xadd_many($1, $2)', [key, [{ m: 1 }, '{"m":2}']], [['2']]);
	await call('length', 'select {p}xlen($1)', [key], [['10']]);
	await call('exists', 'select {p}xexists($1), {p}xexists($2)', [key, 'no ' + key], [[true, false]]);
	await call('ids and texts', 'select id, fields from {p}xrange($1, $2, $3)', [key, '1', '2'],
		[['1-0', '{"a": "1"}'], ['2-0', '{"b": "2", "c": "x"}']]);
	await call('as json', 'select fields::json from {p}xrange($1, $2, $3)', [key, '1', '1'], [[{ a: '1' }]]);
	await call('as jsonb', 'select fields::jsonb from {p}xrange($1, $2, $3)', [key, '1', '1'], [[{ a: '1' }]]);
	await call('the same bytes', 'select {p}field_bytes(fields, $1) from {p}xrange($2, $3, $4)', ['raw', key, '5', '5'],
		[[Buffer.from([0, 255])]]);
	await call('range of times', 'select id from {p}xrange($1, $2, $3)', [key, new Date(at - 3600000), at], [['1517965323456-0']]);
	await call('range of texts', 'select id from {p}xrange($1, $2, $3)', [key, '2018-02-07T00:00:00Z', '2018-02-08'], [['1517965323456-0']]);
	await call('count', 'select id from {p}xrange($1, count => $2)', [key, 2], [['1-0'], ['2-0']]);
	await call('all four', 'select id from {p}xrange($1, $2, $3, $4)', [key, '-', '+', 2], [['1-0'], ['2-0']]);
	await call('backwards', 'select id from {p}xrevrange($1, $2, $3)', [key, '3', '2'], [['3-0'], ['2-0']]);
	await call('read', 'select key, id from {p}xread($1, $2, $3)', [key, '3-0', 1], [[key, '4-0']]);
	await call('read, block', 'select count(*) from {p}xread($1, $2, block => $3)', [key, '$', '20 ms'], [['0']]);
	await call('read many', 'select key, id from {p}xread_many($1, $2, count => 1)', [[key, 'no ' + key], ['0', '$']], [[key, '1-0']]);
	await call('count of a range', 'select {p}xcount($1, $2, $3)', [key, '1', '3'], [['3']]);
	await call('delete one', 'select {p}xdel($1, $2)', [key, '1-0'], [['1']]);
	await call('delete several', 'select {p}xdel($1, $2, $3)', [key, '1-0', '2-0'], [['1']]);
	await call('delete a list', 'select {p}xdel($1, $2)', [key, ['3-0', '4-0']], [['2']]);
	await call('delete VARIADIC', 'select {p}xdel($1, VARIADIC $2)', [key, ['5-0']], [['1']]);
	await call('trim', 'select {p}xtrim($1, $2)', [key, 1], [['4']]);
	await call('trim by time', 'select {p}xtrim($1, minid => $2)', [key, at], [['0']]);
	await call('wait', 'call {p}xwait($1, $2, $3)', [key, '0', '1 s']);
	await call('drop', 'select {p}xdrop($1)', [key], [[true]]);

	// a transaction with an error in it
	await client.query(`select ${p}xadd($1, $2, $3)`, [key, '{"a": 1}', '5-0']);
	await client.query('begin');
	try {
		await client.query(`select ${p}xadd($1, $2, $3)`, [key, '{"a": 1}', '6-0']);
		await client.query(`select ${p}xadd($1, $2, $3)`, [key, '{"a": 1}', '6-0']);
		report(false, `an error is raised (${how})`);
	} catch (e) {
		report(e.code === 'ST001', `an error has its SQLSTATE (${how})`, e.code);
	}
	await client.query('rollback');
	await call('and leaves the rest', 'select id from {p}xrange($1)', [key], [['5-0']]);
	await client.query(`select ${p}xdrop($1)`, [key]);
}

(async () => {
	const client = new Client({ host, port: Number(port), database: 'postgres', user: process.env.PGUSER || require('os').userInfo().username });
	await client.connect();
	for (const named of [false, true]) {
		await client.query('set search_path = public');
		await run(client, 'stream.', named);
		await client.query('set search_path = public, stream');
		await run(client, '', named);
	}
	await client.end();
	console.log(`1..${number}`);
})().catch((e) => {
	console.log(`Bail out! ${e.stack}`);
	process.exit(1);
});
