// node-redis with Sentinels. PORT and CONTROL (a program: failover, switch) come from the environment.
'use strict';
const { createSentinel } = require('redis');
const { promisify } = require('util');
const execFile = promisify(require('child_process').execFile);
const { assert, until, runAll, port, eq } = require('./common.js');

const r = createSentinel({
    name: 'mymaster',
    sentinelRootNodes: [3, 4, 5].map((i) => ({ host: '127.0.0.1', port: port + i })),
    sentinelClientOptions: { password: 'watch' },
    nodeClientOptions: { password: 'data' },
    replicaPoolSize: 1,
    scanInterval: 1000,
});
r.on('error', () => {});

async function discovery() {
    await r.connect();
    eq(await r.set('a', '1'), 'OK');
    eq(await r.use(async (client) => { await client.set('b', '2'); return client.wait(2, 5000); }), 2);
    await until(async () => (await r.get('b')) === '2');
    eq((await r.getPrimaryNode?.() ?? r.getMasterNode()).port, port);
}

// Writes go on; what all replicas have is there at the end.
async function underChange(change) {
    let ended = false;
    const kept = [];
    const work = (async () => {
        for (let n = 1; !ended; n++) {
            try {
                const replicas = await r.use(async (client) => { await client.rPush(change, String(n)); return client.wait(2, 500); });
                if (replicas === 2) kept.push(String(n));
            } catch (e) {
                await new Promise((done) => setTimeout(done, 50));
            }
        }
    })();
    await execFile(process.env.CONTROL, [change]);
    const before = kept.length;
    await until(() => kept.length > before + 10);
    ended = true;
    await work;
    assert(before > 0);
    const there = new Set(await r.use((client) => client.lRange(change, 0, -1)));
    eq(kept.filter((n) => !there.has(n)), []);
}

const failover = () => underChange('failover');
const switchOver = () => underChange('switch');

runAll([discovery, failover, switchOver]);
