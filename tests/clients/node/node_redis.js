// node-redis: `node node_redis.js 2|3`; RESP3 with its cache, too.
'use strict';
const { createClient, createClientPool, defineScript, BasicClientSideCache, RESP_TYPES, WatchError } = require('redis');
const { assert, until, fails, map, runAll, port, protocol, restartServer, eq } = require('./common.js');

async function connect(options = {}) {
    const client = createClient({ socket: { port, reconnectStrategy: () => 50 }, RESP: protocol, ...options });
    client.on('error', () => {});
    return client.connect();
}

const addup = defineScript({
    NUMBER_OF_KEYS: 1,
    SCRIPT: "return redis.call('INCRBY', KEYS[1], ARGV[1])",
    parseCommand(parser, key, by) {
        parser.pushKey(key);
        parser.push(String(by));
    },
    transformReply: (reply) => reply,
});
let r;

async function connection() {
    r = await connect({ scripts: { addup } });
    await r.flushAll();
    eq(await r.ping(), 'PONG');
    assert((await r.sendCommand(['CLIENT', 'INFO'])).includes(`resp=${protocol}`));
    const other = await connect({ database: 5, name: 'other' });
    eq([await other.set('in5', 1), await other.clientGetName(), await r.exists('in5')], ['OK', 'other', 0]);
    other.destroy();
}

async function users() {
    await r.aclSetUser('alice', ['on', '>secret', '~a:*', '&*', '+@all', '-flushall']);
    const alice = await connect({ username: 'alice', password: 'secret' });
    eq([await alice.aclWhoAmI(), await alice.set('a:1', 1)], ['alice', 'OK']);
    await fails('NOPERM', () => alice.get('b:1'));
    await fails('NOPERM', () => alice.flushAll());
    alice.destroy();
    await fails('WRONGPASS', () => connect({ username: 'alice', password: 'wrong', socket: { port, reconnectStrategy: false } }));
    eq((await r.aclLog())[0].username, 'alice');
    await r.aclDelUser('alice');
}

async function pipelines() {
    const many = [...Array(1000).keys()];
    await Promise.all(many.map((i) => r.set(`p:${i}`, i)));
    eq(await Promise.all(many.map((i) => r.incr(`p:${i}`))), many.map((i) => i + 1));
    eq(await r.multi().get('p:1').get('p:2').execAsPipeline(), ['2', '3']);
}

async function transactions() {
    eq(await r.multi().set('t', 1).incrBy('t', 41).get('t').exec(), ['OK', 42, '42']);
    const pool = createClientPool({ socket: { port }, RESP: protocol });
    await pool.connect();
    await pool.execute(async (client) => {
        await client.watch('t');
        await r.set('t', 'changed');
        await assert.rejects(client.multi().set('t', 'mine').exec(), WatchError);
    });
    eq(await r.get('t'), 'changed');
    pool.destroy();
}

async function types() {
    eq(await r.hSet('h', { a: 1, b: 2 }), 2);
    eq({ ...(await r.hGetAll('h')) }, { a: '1', b: '2' });
    await r.zAdd('z', [{ value: 'a', score: 1.5 }, { value: 'b', score: Infinity }]);
    eq(await r.zRangeWithScores('z', 0, -1), [{ value: 'a', score: 1.5 }, { value: 'b', score: Infinity }]);
    eq([await r.zScore('z', 'a'), await r.zScore('z', 'none')], [1.5, null]);
    eq(await r.geoAdd('g', { member: 'Palermo', longitude: 13.361389, latitude: 38.115556 }), 1);
    eq(await r.geoSearch('g', { longitude: 13, latitude: 38 }, { radius: 200, unit: 'km' }), ['Palermo']);
    eq(map(await r.configGet('maxmemory')).maxmemory, '0');
    assert((await r.info('server')).includes('redis_version:'));
    assert((await r.command()).length > 200);
    assert((await r.commandInfo(['get']))[0].arity === 2);
    assert((await r.memoryStats())['keys.count'] > 0);
    await fails('WRONGTYPE', () => r.get('h'));
}

async function pubsub() {
    const sub = await connect(), seen = [];
    await sub.subscribe(['c1', 'c2'], (m, channel) => seen.push(`message ${channel} ${m}`));
    await sub.pSubscribe('c*', (m, channel) => seen.push(`pmessage ${channel} ${m}`));
    await sub.sSubscribe('s', (m, channel) => seen.push(`smessage ${channel} ${m}`));
    eq([await r.publish('c1', 'one'), await r.sPublish('s', 'two')], [2, 1]);
    await until(() => seen.length === 3);
    eq(seen.sort(), ['message c1 one', 'pmessage c1 one', 'smessage s two']);
    eq({ ...(await r.pubSubNumSub(['c1', 'none'])) }, { c1: 1, none: 0 });
    if (protocol === 3) eq(await sub.get('t'), 'changed'); // other commands while it is subscribed
    await sub.unsubscribe();
    await sub.pUnsubscribe();
    await sub.sUnsubscribe();
    if (protocol === 3) eq(await sub.get('t'), 'changed');
    sub.destroy();
}

async function scripts() {
    eq(await r.addup('n', 5), 5);
    await r.scriptFlush();
    eq(await r.addup('n', 5), 10);
    await fails('NOSCRIPT', () => r.evalSha('0'.repeat(40)));
    eq(await r.eval("return {KEYS[1], ARGV[1], false, 7}", { keys: ['k'], arguments: ['a'] }), ['k', 'a', null, 7]);
}

async function functions() {
    const code = "#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)";
    eq(await r.functionLoad(code, { REPLACE: true }), 'l');
    eq(await r.fCall('f', { keys: ['fn'], arguments: ['3'] }), 3);
    eq((await r.functionList())[0].library_name, 'l');
    const dump = await r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).functionDump();
    await r.functionFlush();
    await fails('not found', () => r.fCall('f', { keys: ['fn'], arguments: ['3'] }));
    await r.functionRestore(dump);
    eq(await r.fCall('f', { keys: ['fn'], arguments: ['3'] }), 6);
}

async function streams() {
    const ids = [];
    for (let i = 0; i < 6; i++) ids.push(await r.xAdd('x', '*', { i: String(i) }));
    await r.xGroupCreate('x', 'g', '0');
    await fails('BUSYGROUP', () => r.xGroupCreate('x', 'g', '0'));
    const messages = (reply) => reply[0].messages;
    eq(messages(await r.xReadGroup('g', 'one', { key: 'x', id: '>' }, { COUNT: 4 })).map((m) => m.id), ids.slice(0, 4));
    eq(await r.xAck('x', 'g', ids[0]), 1);
    const pending = await r.xPending('x', 'g');
    eq([pending.pending, pending.firstId, pending.lastId], [3, ids[1], ids[3]]);
    eq((await r.xAutoClaim('x', 'g', 'two', 0, '0', { COUNT: 2 })).messages.map((m) => m.id), ids.slice(1, 3));
    eq((await r.xInfoStream('x')).length, 6);
    eq((await r.xInfoGroups('x'))[0].lag, 2);
    const blocked = await connect();
    const read = blocked.xRead({ key: 'x', id: '$' }, { BLOCK: 60000 });
    await until(async () => (await r.info('clients')).includes('blocked_clients:1'));
    const id = await r.xAdd('x', '*', { i: 'last' });
    eq(messages(await read)[0].id, id);
    eq(await blocked.xRead({ key: 'x', id: '$' }, { BLOCK: 30 }), null);
    blocked.destroy();
}

async function blocking() {
    const b = await connect();
    const started = Date.now();
    eq([await b.blPop('none', 0.5), await b.bzPopMin('none', 0.1)], [null, null]);
    assert(Date.now() - started >= 590);
    const pop = b.brPop(['q1', 'q2'], 60);
    await until(async () => (await r.info('clients')).includes('blocked_clients:1'));
    await r.lPush('q2', 'v');
    eq({ ...(await pop) }, { key: 'q2', element: 'v' });
    b.destroy();
}

async function iterators() {
    const many = [...Array(1000).keys()];
    await Promise.all(many.map((i) => r.set(`scan:${i}`, 1)));
    await r.hSet('sh', Object.fromEntries(many.map((i) => [i, i])));
    const keys = new Set();
    for await (const some of r.scanIterator({ MATCH: 'scan:*', COUNT: 100 })) some.forEach((k) => keys.add(k));
    eq(keys.size, 1000);
    const fields = new Set();
    for await (const some of r.hScanIterator('sh')) some.forEach((e) => fields.add(e.field));
    eq(fields.size, 1000);
}

async function bigValues() {
    const value = Buffer.alloc(32 << 20, Buffer.from([...Array(251).keys()]));
    await r.set('big', value);
    assert((await r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get('big')).equals(value));
    await r.del('big');
}

async function cache() {
    const clientSideCache = new BasicClientSideCache({ maxEntries: 100, recordStats: true });
    const cached = await connect({ clientSideCache });
    await r.set('cached', 'old');
    for (let i = 0; i < 10; i++) eq(await cached.get('cached'), 'old');
    eq(clientSideCache.stats().hitCount, 9);
    await r.set('cached', 'new');
    await until(async () => (await cached.get('cached')) === 'new');
    await r.flushDb();
    await until(async () => (await cached.get('cached')) === null);
    cached.destroy();
}

async function restart() {
    const sub = await connect(), seen = [];
    await sub.subscribe('after', (m) => seen.push(m));
    await r.rPush('kept', ['1', '2', '3']);
    await r.set('n', 10);
    await restartServer();
    eq(await until(() => r.lRange('kept', 0, -1).catch(() => null)), ['1', '2', '3']);
    eq(await r.addup('n', 1), 11);
    await until(async () => (await r.publish('after', 'hello')) && seen.length);
    sub.destroy();
}

runAll([connection, users, pipelines, transactions, types, pubsub, scripts, functions, streams, blocking, iterators, bigValues,
    ...(protocol === 3 ? [cache] : []), restart]);
