// ioredis as a client of a cluster. PORT and CONTROL (a program: failover, reshard, migrate) come from the environment.
'use strict';
const Redis = require('ioredis');
const { promisify } = require('util');
const execFile = promisify(require('child_process').execFile);
const { until, runAll, port, eq } = require('./common.js');

const KEYS = 500;
const connect = (options) => new Redis.Cluster([{ host: '127.0.0.1', port }], options);
const r = connect();

async function verify(client) {
    for (let i = 0; i < KEYS; i++) eq(await client.get(`key:${i}`), `value:${i}`);
}

async function topology() {
    await until(() => r.status === 'ready');
    eq([r.nodes('master').length, r.nodes('slave').length], [3, 3]);
}

async function routing() {
    for (let i = 0; i < KEYS; i++) eq(await r.set(`key:${i}`, `value:${i}`), 'OK');
    await verify(r);
    eq(await r.mset('{t}1', 'x', '{t}2', 'y'), 'OK');
    eq(await r.mget('{t}1', '{t}2'), ['x', 'y']);
    const sizes = await Promise.all(r.nodes('master').map((n) => n.dbsize()));
    eq(sizes.reduce((a, b) => a + b), KEYS + 2);
}

async function transactions() {
    const got = await r.multi().set('{m}1', '1').incr('{m}1').get('{m}1').exec();
    eq(got, [[null, 'OK'], [null, 2], [null, '2']]);
    eq((await r.pipeline().set('{p}1', 'a').get('{p}1').exec())[1], [null, 'a']);
}

async function shardedPubsub() {
    const subscriber = connect({ shardedSubscribers: true });
    const heard = [];
    subscriber.on('smessage', (channel, message) => heard.push([channel, message]));
    await subscriber.ssubscribe('news');
    await until(async () => (await r.spublish('news', 'hello')) > 0 && heard.length > 0);
    eq(heard[0], ['news', 'hello']);
    subscriber.disconnect();
}

async function replicas() {
    const reader = connect({ scaleReads: 'slave' });
    await until(async () => (await reader.get(`key:${KEYS - 1}`)) === `value:${KEYS - 1}`);
    await verify(reader);
    reader.disconnect();
}

// Reads and writes go on while the cluster changes. patient: they may fail for a while.
async function underChange(change, patient) {
    let ended = false, count = 0;
    const work = (async () => {
        for (let n = 0; !ended; n++) {
            const i = n % KEYS;
            try {
                await r.set(`other:${i}`, n);
                eq(await r.get(`key:${i}`), `value:${i}`);
                count++;
            } catch (e) {
                if (!patient || e.code === 'ERR_ASSERTION') throw e;
            }
        }
    })();
    const changed = execFile(process.env.CONTROL, [change]);
    await Promise.race([changed, work]);
    await changed;
    const before = count;
    await until(() => count > before + 100);
    ended = true;
    await work;
    await verify(r);
}

async function reshard() {
    await underChange('reshard', false);
}

async function migrate() {
    await underChange('migrate', false);
}

async function failover() {
    await Promise.all(r.nodes('master').map((n) => n.wait(1, 5000)));
    await underChange('failover', true);
}

r.on('error', () => {}); // nodes that are down are tried again
runAll([topology, routing, transactions, shardedPubsub, replicas, reshard, migrate, failover]);
