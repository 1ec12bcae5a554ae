// What both scripts of this folder need: the checks are run in order, and the first difference ends the program.
'use strict';
const assert = require('assert');
const { promisify } = require('util');
const exec = promisify(require('child_process').exec);

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what, seconds = 60) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
        const got = await what();
        if (got) return got;
        assert(Date.now() < end, `it did not happen within ${seconds} s: ${what}`);
        await sleep(20);
    }
}

// Makes sure that a call fails, with this in its message.
async function fails(text, call) {
    let got;
    try {
        got = await call();
    } catch (e) {
        assert(String(e.message).includes(text), `expected ${text} in ${e.message}`);
        return;
    }
    assert.fail(`expected an error with ${text}, got ${JSON.stringify(got)}`);
}

// One form for what is a map in RESP3 and a flat list in RESP2.
function map(reply) {
    if (reply instanceof Map) return Object.fromEntries(reply);
    if (!Array.isArray(reply)) return reply;
    const out = {};
    for (let i = 0; i < reply.length; i += 2) out[reply[i]] = reply[i + 1];
    return out;
}

async function runAll(checks) {
    for (const check of checks) {
        try {
            await check();
        } catch (e) {
            console.log(e.stack);
            console.log(`FAILED ${check.name}`);
            process.exit(1);
        }
        console.log(`ok ${check.name}`);
    }
    process.exit(0);
}

module.exports = { assert, until, fails, map, runAll, port: Number(process.env.PORT), protocol: Number(process.argv[2] || 3),
    restartServer: () => exec(process.env.RESTART), eq: assert.deepStrictEqual };
