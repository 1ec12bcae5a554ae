// What Redis 8 added, through node-redis: `node redis8.js 2|3`. VERSION, 8.6 for example, leaves out what such a Redis does
// not have.
'use strict';
const { createClient } = require('redis');
const { assert, runAll, port, protocol, eq } = require('./common.js');

const [major, minor] = (process.env.VERSION || '8.10').split('.').map(Number);
const atLeast = (wanted) => major > 8 || minor >= wanted;
const r = createClient({ socket: { port }, RESP: protocol });

async function digests() {
    await r.connect();
    await r.flushAll();
    await r.set('d', 'value');
    const digest = await r.digest('d');
    assert(/^[0-9a-f]{16}$/.test(digest), digest);
    await r.set('d2', 'value');
    eq([await r.digest('d2'), await r.digest('none')], [digest, null]);
    await r.set('d3', '');
    eq(await r.digest('d3'), '2d06800538d394c2'); // xxHash's XXH3 of nothing
}

async function conditionalWrites() {
    await r.set('c', 'one');
    const one = await r.digest('c');
    eq(await r.set('c', 'two', { condition: 'IFDEQ', matchValue: one }), 'OK');
    eq(await r.set('c', 'three', { condition: 'IFDEQ', matchValue: one }), null);
    eq(await r.set('c', 'three', { condition: 'IFDNE', matchValue: one, GET: true }), 'two');
    eq(await r.set('c', 'four', { condition: 'IFEQ', matchValue: 'three' }), 'OK');
    eq(await r.set('c', 'five', { condition: 'IFNE', matchValue: 'four' }), null);
    eq([await r.delEx('c', { condition: 'IFDEQ', matchValue: one }), await r.delEx('c', { condition: 'IFNE', matchValue: 'four' })], [0, 0]);
    eq([await r.delEx('c', { condition: 'IFEQ', matchValue: 'four' }), await r.delEx('c')], [1, 0]);
    eq(await r.mSetEx(['c1', '1', 'c2', '2'], { expiration: { type: 'EX', value: 100 } }), 1);
}

async function bitOperations() {
    await r.set('x', 'a');
    await r.set('y', 'c');
    eq([await r.bitOp('DIFF', 'w', ['x', 'y']), await r.bitCount('w')], [1, 0]);
    eq([await r.bitOp('DIFF1', 'w', ['x', 'y']), await r.bitCount('w')], [1, 1]);
    eq([await r.bitOp('ANDOR', 'w', ['x', 'y']), await r.get('w')], [1, 'a']);
    eq([await r.bitOp('ONE', 'w', ['x', 'y']), await r.bitCount('w')], [1, 1]);
}

async function hashFields() {
    await r.hSet('h', { a: 1, b: 2, c: 3 });
    eq([...(await r.hGetDel('h', ['a', 'none'])), await r.hExists('h', 'a')], ['1', null, 0]);
    eq([...(await r.hGetEx('h', 'b', { expiration: { type: 'EX', value: 100 } }))], ['2']);
    eq([await r.hSetEx('h', { d: '4' }, { expiration: 'KEEPTTL' }), (await r.hTTL('h', ['b', 'd']))[1]], [1, -1]);
}

async function idempotentEntries() {
    const first = await r.xAdd('i', '*', { f: '1' }, { IDMP: { pid: 'producer', iid: 'one' } });
    eq([await r.xAdd('i', '*', { f: '2' }, { IDMP: { pid: 'producer', iid: 'one' } }), await r.xLen('i')], [first, 1]);
    const automatic = await r.xAdd('i', '*', { f: '3' }, { IDMPAUTO: { pid: 'other' } });
    eq([await r.xAdd('i', '*', { f: '3' }, { IDMPAUTO: { pid: 'other' } }), await r.xLen('i')], [automatic, 2]);
    eq(await r.xCfgSet('i', { IDMP_DURATION: 10, IDMP_MAXSIZE: 5 }), 'OK');
}

async function referencesOfGroups() {
    const ids = [];
    for (let n = 0; n < 4; n++) ids.push(await r.xAdd('s', '*', { f: String(n) }));
    await r.xGroupCreate('s', 'g', '0');
    await r.xReadGroup('g', 'c', { key: 's', id: '>' }, { COUNT: 2 });
    await r.xAdd('s', '*', { f: '4' }, { TRIM: { strategy: 'MAXLEN', strategyModifier: '=', threshold: 5, policy: 'KEEPREF' } });
    eq([await r.xTrim('s', 'MAXLEN', 2, { policy: 'ACKED' }), [...(await r.xAckDel('s', 'g', ids[0], 'ACKED'))]], [0, [1]]);
    eq([[...(await r.xDelEx('s', ids[1], 'DELREF'))], (await r.xPending('s', 'g')).pending], [[1], 0]);
}

async function claims() {
    await r.xAdd('p', '1-1', { f: '1' });
    await r.xAdd('p', '2-1', { f: '2' });
    await r.xGroupCreate('p', 'g', '0');
    await r.xReadGroup('g', 'first', { key: 'p', id: '>' }, { COUNT: 1 });
    const [stream] = await r.xReadGroup('g', 'second', { key: 'p', id: '>' }, { CLAIM: 0 });
    eq(stream.messages.map((m) => m.id), ['1-1', '2-1']);
    eq((await r.xPendingRange('p', 'g', '-', '+', 9)).map((m) => [m.consumer, m.deliveriesCounter]), [['second', 2], ['second', 1]]);
}

async function refusedEntries() {
    eq(await r.xNack('p', 'g', 'FAIL', ['1-1', '9-9']), 1);
    eq(await r.xNack('p', 'g', 'SILENT', '2-1', { RETRYCOUNT: 7 }), 1);
    eq((await r.xPendingRange('p', 'g', '-', '+', 9)).map((m) => [m.id, m.deliveriesCounter]), [['1-1', 2], ['2-1', 7]]);
}

async function limitedReads() {
    for (const name of ['l1', 'l2']) for (let n = 1; n < 6; n++) await r.xAdd(name, `${n}-1`, { f: '1' });
    const found = await r.xRead([{ key: 'l1', id: '0' }, { key: 'l2', id: '0' }], { MAXCOUNT: 7 });
    eq(found.map((stream) => stream.messages.length), [5, 2]);
    assert((await r.xRead({ key: 'l1', id: '0' }, { MAXSIZE: 1 }))[0].messages.length < 5);
}

async function movedElements() {
    await r.rPush('m', [...'abcdef']);
    eq([await r.lMoveM('m', 'n', 'LEFT', 'RIGHT', { COUNT: 2, ORDER: 'BULK' }), await r.lRange('n', 0, -1)], [['a', 'b'], ['a', 'b']]);
    eq([await r.lMoveM('m', 'o', 'LEFT', 'LEFT', { COUNT: 2, ORDER: 'OBO' }), await r.lRange('o', 0, -1)], [['d', 'c'], ['d', 'c']]);
    eq([await r.lMoveM('m', 'n', 'LEFT', 'RIGHT', { EXACTLY: 9, ORDER: 'BULK' }), await r.lLen('m')], [null, 2]);
    eq(await r.blMoveM('none', 'n', 'LEFT', 'RIGHT', 0.05), null);
}

async function sizesOfSets() {
    await r.sAdd('s1', ['1', '2', '3']);
    await r.sAdd('s2', ['3', '4']);
    eq([await r.sUnionCard(['s1', 's2']), await r.sUnionCard(['s1', 's2'], { LIMIT: 2 }), await r.sDiffCard(['s1', 's2'])], [4, 2, 2]);
    await r.zAdd('z1', [{ value: 'a', score: 5 }, { value: 'b', score: 6 }]);
    await r.zAdd('z2', { value: 'b', score: 7 });
    eq([await r.zUnionStore('z3', ['z1', 'z2'], { AGGREGATE: 'COUNT' }), await r.zScore('z3', 'b')], [2, 2]);
}

async function boundedCounters() {
    const numbers = (reply) => reply.map(Number);
    eq(numbers(await r.increx('counter', { by: 5, upperBound: 7, expiration: { type: 'EX', value: 100 } })), [5, 5]);
    eq(numbers(await r.increx('counter', { by: 5, upperBound: 7 })), [5, 0]);
    eq(numbers(await r.increx('counter', { by: 5, upperBound: 7, saturate: true, expiration: { type: 'PERSIST' } })), [7, 2]);
    eq(await r.ttl('counter'), -1);
}

async function hotKeys() {
    await r.hotkeysStart({ METRICS: { count: 2, CPU: true, NET: true }, COUNT: 5 });
    for (let n = 0; n < 100; n++) await r.get('hot');
    const found = await r.hotkeysGet();
    eq([found.trackingActive, found.sampleRatio, found.byNetBytes.some((entry) => entry.key === 'hot')], [1, 1, true]);
    eq([await r.hotkeysStop(), await r.hotkeysReset()], ['OK', 'OK']);
}

runAll([digests, conditionalWrites, bitOperations, hashFields, referencesOfGroups, claims,
    ...(atLeast(6) ? [idempotentEntries, hotKeys] : []), ...(atLeast(8) ? [boundedCounters, refusedEntries] : []),
    ...(atLeast(10) ? [limitedReads, movedElements, sizesOfSets] : [])]);
