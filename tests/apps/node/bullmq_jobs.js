// BullMQ: workers with a few hundred jobs, of which some are delayed, repeated, tried again, part of a flow, or limited.
'use strict';
const assert = require('assert');
const { Queue, Worker, QueueEvents, FlowProducer } = require('bullmq');

const connection = { port: Number(process.env.PORT), host: '127.0.0.1', maxRetriesPerRequest: null };
const open = [];
const keep = (thing) => (open.push(thing), thing.on('error', (e) => console.log(`error: ${e.message}`)), thing);
const queueNamed = (name) => keep(new Queue(name, { connection }));
const eventsOf = (name) => keep(new QueueEvents(name, { connection }));
const workerOf = (name, does, options = {}) => keep(new Worker(name, does, { connection, ...options }));

async function until(what) {
    for (const end = Date.now() + 120000; !(await what());) {
        assert(Date.now() < end, `it did not happen: ${what}`);
        await new Promise((done) => setTimeout(done, 50));
    }
}

async function jobs() {
    const queue = queueNamed('jobs'), events = eventsOf('jobs');
    await events.waitUntilReady();
    for (let i = 0; i < 2; i++) workerOf('jobs', async (job) => job.data.n * job.data.n, { concurrency: 10 });
    const added = await queue.addBulk([...Array(300).keys()].map((n) => ({ name: 'square', data: { n } })));
    const results = await Promise.all(added.map((job) => job.waitUntilFinished(events, 120000)));
    assert.deepStrictEqual(results, [...Array(300).keys()].map((n) => n * n));
    assert.strictEqual((await queue.getJobCounts('completed')).completed, 300);
    assert.strictEqual((await queue.getJob(added[7].id)).returnvalue, 49);
}

async function retries() {
    const queue = queueNamed('retries');
    workerOf('retries', async (job) => {
        if (job.data.always || job.attemptsMade < 2) throw new Error(`attempt ${job.attemptsMade}`);
        await job.updateProgress(100);
        await job.log('a line');
    }, { concurrency: 5 });
    for (let i = 0; i < 20; i++) await queue.add('stumbles', {}, { attempts: 3, backoff: { type: 'exponential', delay: 20 } });
    await queue.add('fails', { always: true }, { attempts: 2 });
    await until(async () => (await queue.getCompletedCount()) === 20 && (await queue.getFailedCount()) === 1);
    const [failed] = await queue.getFailed();
    assert.deepStrictEqual([failed.attemptsMade, failed.failedReason], [2, 'attempt 1']);
    const [done] = await queue.getCompleted(0, 0);
    assert.deepStrictEqual([done.progress, (await queue.getJobLogs(done.id)).logs], [100, ['a line']]);
}

async function delays() {
    const queue = queueNamed('delays'), order = [], started = Date.now();
    await queue.add('late', {}, { delay: 600 });
    await queue.add('early', {}, { delay: 200 });
    workerOf('delays', async (job) => order.push(job.name));
    await until(() => order.length === 2);
    assert.deepStrictEqual(order, ['early', 'late']);
    assert(Date.now() - started >= 590);
}

async function priorities() {
    const queue = queueNamed('priorities'), order = [];
    for (const priority of [3, 1, 2]) await queue.add(String(priority), {}, { priority });
    workerOf('priorities', async (job) => order.push(job.name));
    await until(() => order.length === 3);
    assert.deepStrictEqual(order, ['1', '2', '3']);
}

async function repeats() {
    const queue = queueNamed('repeats');
    let runs = 0;
    await queue.upsertJobScheduler('often', { every: 100 }, { name: 'tick' });
    workerOf('repeats', async () => runs++);
    await until(() => runs >= 5);
    assert.strictEqual((await queue.getJobSchedulers()).length, 1);
    assert.strictEqual(await queue.removeJobScheduler('often'), true);
}

async function flows() {
    const flow = keep(new FlowProducer({ connection }));
    workerOf('leaves', async (job) => job.data.n);
    workerOf('tree', async (job) => Object.values(await job.getChildrenValues()).reduce((a, b) => a + b, 0));
    const events = eventsOf('tree');
    await events.waitUntilReady();
    queueNamed('tree');
    const children = [...Array(20).keys()].map((n) => ({ name: 'leaf', queueName: 'leaves', data: { n } }));
    const tree = await flow.add({ name: 'root', queueName: 'tree', children });
    assert.strictEqual(await tree.job.waitUntilFinished(events, 120000), 190);
}

async function limits() {
    const queue = queueNamed('limits'), started = Date.now();
    let runs = 0;
    workerOf('limits', async () => runs++, { limiter: { max: 5, duration: 300 }, concurrency: 10 });
    await queue.addBulk([...Array(15).keys()].map((n) => ({ name: 'j', data: { n } })));
    await until(() => runs === 15);
    assert(Date.now() - started >= 590);
}

async function control() {
    const queue = queueNamed('control');
    let runs = 0;
    workerOf('control', async () => runs++);
    await queue.pause();
    await queue.add('a', {});
    assert.strictEqual(await queue.isPaused(), true);
    await queue.resume();
    await until(() => runs === 1);
    await queue.add('once', {}, { jobId: 'same', removeOnComplete: true, delay: 3600000 });
    await queue.add('once', {}, { jobId: 'same' });
    assert.strictEqual(await queue.getDelayedCount(), 1);
    await queue.drain(true);
    await queue.obliterate({ force: true });
    assert.strictEqual((await queue.getJobs()).length, 0);
}

(async () => {
    for (const check of [jobs, retries, delays, priorities, repeats, flows, limits, control]) {
        await check();
        console.log(`ok ${check.name}`);
    }
    await Promise.all(open.map((thing) => thing.close()));
    console.log('ok end');
    process.exit(0);
})().catch((e) => {
    console.log(e.stack);
    process.exit(1);
});
