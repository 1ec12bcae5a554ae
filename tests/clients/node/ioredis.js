// ioredis: `node ioredis.js 2|3`.
'use strict';
const Redis = require('ioredis');
const { assert, until, fails, map, runAll, port, protocol, restartServer, eq } = require('./common.js');

function connect(options = {}) {
    const client = new Redis({ port, protocol, retryStrategy: () => 50, maxRetriesPerRequest: null, ...options });
    client.on('error', () => {}); // what matters arrives at a call
    return client;
}

const r = connect();

async function connection() {
    eq(await r.ping(), 'PONG');
    assert((await r.call('CLIENT', 'INFO')).includes(`resp=${protocol}`));
    const other = connect({ db: 5, connectionName: 'other' });
    eq([await other.set('in5', 1), await other.client('GETNAME'), await r.exists('in5')], ['OK', 'other', 0]);
    eq(await r.call('CLIENT', 'KILL', 'ID', await other.client('ID')), 1);
    eq(await other.get('in5'), '1');
    other.disconnect();
}

async function users() {
    await r.acl('SETUSER', 'alice', 'on', '>secret', '~a:*', '&*', '+@all', '-flushall');
    const alice = connect({ username: 'alice', password: 'secret' });
    eq([await alice.acl('WHOAMI'), await alice.set('a:1', 1)], ['alice', 'OK']);
    await fails('NOPERM', () => alice.get('b:1'));
    await fails('NOPERM', () => alice.flushall());
    alice.disconnect();
    const wrong = connect({ username: 'alice', password: 'wrong', retryStrategy: null, lazyConnect: true });
    await fails('', () => wrong.connect().then(() => wrong.ping()));
    wrong.disconnect();
    await r.acl('DELUSER', 'alice');
}

async function pipelines() {
    const p = r.pipeline();
    for (let i = 0; i < 1000; i++) p.set(`p:${i}`, i);
    p.lpush('p:1', 'x');
    for (let i = 0; i < 1000; i++) p.incr(`p:${i}`);
    const replies = await p.exec();
    assert(replies[1000][0].message.startsWith('WRONGTYPE'));
    eq(replies.slice(1001).map((x) => x[1]), [...Array(1000).keys()].map((i) => i + 1));
    const auto = connect({ enableAutoPipelining: true });
    eq(await Promise.all([...Array(500).keys()].map((i) => auto.get(`p:${i}`))), [...Array(500).keys()].map((i) => String(i + 1)));
    auto.disconnect();
}

async function transactions() {
    eq(await r.multi().set('t', 1).incrby('t', 41).get('t').exec(), [[null, 'OK'], [null, 42], [null, '42']]);
    const other = connect();
    await r.watch('t');
    await other.set('t', 'changed');
    eq([await r.multi().set('t', 'mine').exec(), await r.get('t')], [null, 'changed']);
    await fails('EXECABORT', () => r.multi().set('t', 'x').call('NOSUCH').exec());
    other.disconnect();
}

async function types() {
    eq(await r.hset('h', { a: 1, b: 2 }), 2);
    eq(await r.hgetall('h'), { a: '1', b: '2' });
    await r.zadd('z', 1.5, 'a', 'inf', 'b');
    eq(await r.zrange('z', 0, -1, 'WITHSCORES'), ['a', '1.5', 'b', 'inf']);
    eq(await r.zscore('z', 'a'), '1.5');
    eq(await r.mget('t', 'none'), ['changed', null]);
    eq(await r.geoadd('g', 13.361389, 38.115556, 'Palermo'), 1);
    eq(await r.geosearch('g', 'FROMLONLAT', 13, 38, 'BYRADIUS', 200, 'km'), ['Palermo']);
    assert((await r.info('server')).includes('redis_version:'));
    eq(map(await r.config('GET', 'maxmemory'))['maxmemory'], '0');
    await fails('WRONGTYPE', () => r.get('h'));
    eq((await r.getBuffer('t')).toString(), 'changed');
}

async function pubsub() {
    const sub = connect(), seen = [];
    sub.on('message', (channel, m) => seen.push(['message', channel, m]));
    sub.on('pmessage', (pattern, channel, m) => seen.push(['pmessage', pattern, channel, m]));
    sub.on('smessage', (channel, m) => seen.push(['smessage', channel, m]));
    eq([await sub.subscribe('c1', 'c2'), await sub.psubscribe('c*'), await sub.ssubscribe('s')], [2, 3, 1]);
    eq([await r.publish('c1', 'one'), await r.spublish('s', 'two')], [2, 1]);
    await until(() => seen.length === 3);
    eq(seen.sort(), [['message', 'c1', 'one'], ['pmessage', 'c*', 'c1', 'one'], ['smessage', 's', 'two']]);
    eq(map(await r.pubsub('NUMSUB', 'c1', 'none')), { c1: 1, none: 0 });
    eq([await sub.unsubscribe('c1', 'c2'), await sub.punsubscribe('c*'), await sub.sunsubscribe('s')], [1, 0, 0]);
    eq(await sub.get('t'), 'changed');
    sub.disconnect();
}

async function scripts() {
    r.defineCommand('addup', { numberOfKeys: 1, lua: "return {redis.call('INCRBY', KEYS[1], ARGV[1]), false, 'x', {ok='FINE'}}" });
    await r.del('n');
    eq(await r.addup('n', 5), [5, null, 'x', 'FINE']);
    await r.script('FLUSH');
    eq((await r.addup('n', 5))[0], 10);
    await r.script('FLUSH');
    eq((await r.pipeline().addup('n', 1).addup('n', 1).exec()).map((x) => x[1][0]), [11, 12]);
    await fails('NOSCRIPT', () => r.evalsha('0'.repeat(40), 0));
    await fails('boom', () => r.eval("return redis.error_reply('MY boom')", 0));
}

async function functions() {
    const code = "#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)";
    eq(await r.call('FUNCTION', 'LOAD', 'REPLACE', code), 'l');
    eq(await r.fcall('f', 1, 'fn', 3), 3);
    const dump = await r.callBuffer('FUNCTION', 'DUMP');
    await r.function('FLUSH');
    await fails('not found', () => r.fcall('f', 1, 'fn', 3));
    await r.call('FUNCTION', 'RESTORE', dump);
    eq(await r.fcall('f', 1, 'fn', 3), 6);
}

async function streams() {
    const ids = [];
    for (let i = 0; i < 6; i++) ids.push(await r.xadd('x', '*', 'i', i));
    await r.xgroup('CREATE', 'x', 'g', '0');
    await fails('BUSYGROUP', () => r.xgroup('CREATE', 'x', 'g', '0'));
    const first = (reply) => (Array.isArray(reply) ? reply[0][1] : Object.values(map(reply))[0]);
    eq(first(await r.xreadgroup('GROUP', 'g', 'one', 'COUNT', 4, 'STREAMS', 'x', '>')).map((e) => e[0]), ids.slice(0, 4));
    eq(await r.xack('x', 'g', ids[0]), 1);
    const pending = await r.xpending('x', 'g');
    eq([pending[0], pending[1], pending[2]], [3, ids[1], ids[3]]);
    eq((await r.xautoclaim('x', 'g', 'two', 0, '0', 'COUNT', 2))[1].map((e) => e[0]), ids.slice(1, 3));
    eq(map(await r.xinfo('STREAM', 'x')).length, 6);
    const blocked = connect();
    const read = blocked.xread('BLOCK', 60000, 'STREAMS', 'x', '$');
    await until(async () => (await r.info('clients')).includes('blocked_clients:1'));
    const id = await r.xadd('x', '*', 'i', 'last');
    eq(first(await read)[0][0], id);
    eq(await blocked.xread('BLOCK', 30, 'STREAMS', 'x', '$'), null);
    blocked.disconnect();
}

async function blocking() {
    const b = connect();
    const started = Date.now();
    eq([await b.blpop('none', 0.5), await b.bzpopmin('none', 0.1)], [null, null]);
    assert(Date.now() - started >= 590);
    const pop = b.brpop('q1', 'q2', 60);
    await until(async () => (await r.info('clients')).includes('blocked_clients:1'));
    await r.lpush('q2', 'v');
    eq(await pop, ['q2', 'v']);
    const move = b.blmove('q1', 'q3', 'LEFT', 'RIGHT', 60);
    await until(async () => (await r.info('clients')).includes('blocked_clients:1'));
    await r.rpush('q1', 'w');
    eq(await move, 'w');
    b.disconnect();
}

async function iterators() {
    const p = r.pipeline();
    for (let i = 0; i < 1000; i++) p.set(`scan:${i}`, 1).hset('sh', i, i);
    await p.exec();
    const keys = new Set();
    for await (const some of r.scanStream({ match: 'scan:*', count: 100 })) some.forEach((k) => keys.add(k));
    eq(keys.size, 1000);
    let fields = 0;
    for await (const some of r.hscanStream('sh')) fields += some.length;
    eq(fields, 2000);
}

async function bigValues() {
    const value = Buffer.alloc(32 << 20, Buffer.from([...Array(251).keys()]));
    await r.set('big', value);
    assert((await r.getBuffer('big')).equals(value));
    eq(await r.strlen('big'), value.length);
    await r.del('big');
}

async function tracking() {
    const listener = connect(), reader = connect(), seen = [];
    listener.on('message', (channel, keys) => seen.push(String(keys)));
    const id = await listener.client('ID');
    await listener.subscribe('__redis__:invalidate');
    if (protocol === 2) {
        eq(await reader.client('TRACKING', 'ON', 'REDIRECT', id), 'OK');
        await reader.get('t');
        await r.set('t', 'new');
        await until(() => seen.length === 1);
        eq(seen, ['t']);
    } else {
        eq(await reader.client('TRACKING', 'ON'), 'OK');
        await reader.get('t');
        await r.set('t', 'new');
        eq(await reader.get('t'), 'new'); // the push in between must not be taken for the reply
    }
    listener.disconnect();
    reader.disconnect();
}

async function monitor() {
    const m = await connect().monitor();
    const seen = [];
    m.on('monitor', (time, args) => seen.push(args.join(' ')));
    await r.set('watched', 'x y');
    await until(() => seen.some((s) => s.toLowerCase() === 'set watched x y'));
    m.disconnect();
}

async function restart() {
    const sub = connect(), seen = [];
    sub.on('message', (channel, m) => seen.push(m));
    await sub.subscribe('after');
    await r.rpush('kept', 1, 2, 3);
    await restartServer();
    eq(await r.lrange('kept', 0, -1), ['1', '2', '3']);
    eq((await r.addup('n', 1))[0], 13);
    await until(async () => (await r.publish('after', 'hello')) && seen.length);
    sub.disconnect();
}

r.flushall().then(() => runAll([connection, users, pipelines, transactions, types, pubsub, scripts, functions, streams, blocking, iterators,
    bigValues, tracking, monitor, restart]));
