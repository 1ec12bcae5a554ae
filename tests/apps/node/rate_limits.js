// rate-limiter-flexible, on ioredis.
'use strict';
const assert = require('assert');
const Redis = require('ioredis');
const { RateLimiterRedis, RLWrapperBlackAndWhite, RateLimiterQueue } = require('rate-limiter-flexible');

const storeClient = new Redis({ port: Number(process.env.PORT) });

async function points() {
    const limiter = new RateLimiterRedis({ storeClient, keyPrefix: 'points', points: 5, duration: 3600 });
    const answers = await Promise.allSettled([...Array(8).keys()].map(() => limiter.consume('a')));
    assert.deepStrictEqual(answers.map((a) => a.status), [...Array(5).fill('fulfilled'), ...Array(3).fill('rejected')]);
    assert.strictEqual(answers[7].reason.remainingPoints, 0);
    assert(answers[7].reason.msBeforeNext > 3000000);
    assert.strictEqual((await limiter.get('a')).consumedPoints, 8);
    await limiter.reward('a', 5);
    assert.strictEqual((await limiter.consume('a')).consumedPoints, 4);
    assert.strictEqual(await limiter.delete('a'), true);
}

async function blocks() {
    const limiter = new RateLimiterRedis({ storeClient, keyPrefix: 'blocks', points: 1, duration: 1, blockDuration: 3600 });
    await limiter.consume('a');
    await assert.rejects(limiter.consume('a'), (e) => e.msBeforeNext > 3000000);
    const wrapped = new RLWrapperBlackAndWhite({ limiter, whiteList: ['b'], blackList: ['c'] });
    for (let i = 0; i < 3; i++) await wrapped.consume('b');
    await assert.rejects(wrapped.consume('c'));
}

async function queue() {
    const limiter = new RateLimiterQueue(new RateLimiterRedis({ storeClient, keyPrefix: 'queue', points: 2, duration: 1 }));
    const started = Date.now();
    await Promise.all([...Array(5).keys()].map(() => limiter.removeTokens(1)));
    assert(Date.now() - started >= 900);
}

(async () => {
    await storeClient.flushall();
    for (const check of [points, blocks, queue]) {
        await check();
        console.log(`ok ${check.name}`);
    }
    process.exit(0);
})();
