// ioredis with Sentinels. PORT and CONTROL (a program: failover, switch) come from the environment.
'use strict';
const Redis = require('ioredis');
const { promisify } = require('util');
const execFile = promisify(require('child_process').execFile);
const { assert, until, fails, runAll, port, eq } = require('./common.js');

const sentinels = [3, 4, 5].map((i) => ({ host: '127.0.0.1', port: port + i }));
const connect = (role) => new Redis({ sentinels, name: 'mymaster', role, sentinelPassword: 'watch', password: 'data', failoverDetector: role === 'master' });
const one = new Redis({ port: port + 3, password: 'watch' });
const r = connect('master');
r.on('error', () => {}); // who is down is tried again

async function discovery() {
    await until(() => r.status === 'ready');
    eq((await r.role())[0], 'master');
    const replica = connect('slave');
    eq((await replica.role())[0], 'slave');
    await r.set('a', '1');
    eq(await r.wait(2, 5000), 2);
    eq(await replica.get('a'), '1');
    replica.disconnect();
}

async function commands() {
    eq(await one.sentinel('get-master-addr-by-name', 'mymaster'), ['127.0.0.1', String(port)]);
    eq((await one.role())[0], 'sentinel');
    assert((await one.info('sentinel')).includes(`master0:name=mymaster,status=ok,address=127.0.0.1:${port},slaves=2,sentinels=3`));
    await fails('unknown command', () => one.get('x'));
}

// Writes go on; what all replicas have is there at the end.
async function underChange(change) {
    let ended = false;
    const kept = [];
    const listener = one.duplicate();
    const heard = [];
    listener.on('message', (channel, text) => heard.push(text.split(' ')));
    await listener.subscribe('+switch-master');
    const work = (async () => {
        for (let n = 1; !ended; n++) {
            try {
                await r.rpush(change, n);
                if ((await r.wait(2, 500)) === 2) kept.push(String(n));
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
    const there = new Set(await r.lrange(change, 0, -1));
    eq(kept.filter((n) => !there.has(n)), []);
    await until(() => heard.length > 0);
    const address = await one.sentinel('get-master-addr-by-name', 'mymaster');
    eq(heard.at(-1).slice(3), address);
    listener.disconnect();
}

const failover = () => underChange('failover');
const switchOver = () => underChange('switch');

runAll([discovery, commands, failover, switchOver]);
