"""valkey-glide, whose core speaks RESP3. PORT and RESTART (a command) come from the environment; the first
difference ends it."""
import asyncio
import os
import sys
import traceback

from glide import (BackoffStrategy, Batch, ClosingError, ConnectionError as GlideConnectionError, GlideClient, GlideClientConfiguration, NodeAddress, RangeByIndex,
                   RequestError, Script, ServerCredentials, StreamReadOptions, TimeoutError as GlideTimeoutError)

PORT = int(os.environ["PORT"])
BROKEN = (GlideConnectionError, ClosingError, GlideTimeoutError, RequestError)


async def connect(**options):
    return await GlideClient.create(GlideClientConfiguration(
        [NodeAddress("127.0.0.1", PORT)], request_timeout=70000, reconnect_strategy=BackoffStrategy(10, 50, 2), **options))


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


async def fails(text, call):
    try:
        got = await call
    except RequestError as e:
        assert text.lower() in str(e).lower(), "expected %r in %r" % (text, str(e))
        return
    raise AssertionError("expected an error, got %r" % (got,))


async def until(what):
    for _ in range(3000):
        if await what():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen within a minute")


async def connection(c):
    eq(await c.ping(), b"PONG")
    assert b"resp=3" in await c.custom_command(["CLIENT", "INFO"])
    await c.custom_command(["ACL", "SETUSER", "alice", "on", ">secret", "~a:*", "+@all"])
    alice = await connect(credentials=ServerCredentials(username="alice", password="secret"))
    eq(await alice.set("a:1", "x"), "OK")
    await fails("permission", alice.get("b:1"))
    await alice.close()


async def commands(c):
    eq([await c.set("s", "v"), await c.get("s"), await c.get("none")], ["OK", b"v", None])
    eq([await c.hset("h", {"a": "1", "b": "2"}), await c.hgetall("h")], [2, {b"a": b"1", b"b": b"2"}])
    await c.zadd("z", {"a": 1.5, "b": float("inf")})
    eq(await c.zrange_withscores("z", RangeByIndex(0, -1)), {b"a": 1.5, b"b": float("inf")})
    eq(await c.config_get(["maxmemory"]), {b"maxmemory": b"0"})
    eq([await c.sadd("set", ["a", "b"]), await c.smembers("set")], [2, {b"a", b"b"}])
    await fails("WRONGTYPE", c.get("h"))
    value = os.urandom(8 << 20)
    await c.set("big", value)
    eq(await c.get("big") == value, True)
    eq(sorted(await asyncio.gather(*[c.incr("n") for _ in range(1000)])), list(range(1, 1001)))


async def batches(c):
    plain = Batch(is_atomic=False)
    plain.set("b", "1")
    plain.lpush("b", ["x"])
    plain.incr("b")
    replies = await c.exec(plain, raise_on_error=False)
    eq([replies[0], isinstance(replies[1], RequestError), replies[2]], ["OK", True, 2])
    transaction = Batch(is_atomic=True)
    transaction.incr("b")
    transaction.get("b")
    eq(await c.exec(transaction, raise_on_error=True), [3, b"3"])
    other = await connect()
    await c.watch(["b"])
    await other.set("b", "changed")
    eq([await c.exec(transaction, raise_on_error=True), await c.get("b")], [None, b"changed"])
    await other.close()


async def pubsub(c):
    modes = GlideClientConfiguration.PubSubChannelModes
    sub = await connect(pubsub_subscriptions=GlideClientConfiguration.PubSubSubscriptions({modes.Exact: {"c1"}, modes.Pattern: {"c*"}}, None, None))
    await until(lambda: subscribed(c))
    await c.publish("one", "c1")
    got = [await asyncio.wait_for(sub.get_pubsub_message(), 60) for _ in range(2)]
    eq(sorted((m.message, m.channel, m.pattern or b"") for m in got), [(b"one", b"c1", b""), (b"one", b"c1", b"c*")])
    await sub.close()


async def subscribed(c):
    return (await c.pubsub_numsub(["c1"]))[b"c1"] == 1 and await c.pubsub_numpat() == 1


async def scripts(c):
    script = Script("return {redis.call('INCRBY', KEYS[1], ARGV[1]), false}")
    eq(await c.invoke_script(script, keys=["sn"], args=["5"]), [5, None])
    await c.script_flush()
    eq(await c.invoke_script(script, keys=["sn"], args=["5"]), [10, None])
    eq(await c.function_load("#!lua name=l\nredis.register_function('f', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)", True), b"l")
    eq(await c.fcall("f", ["fn"], ["3"]), 3)
    eq((await c.function_list())[0][b"library_name"], b"l")


async def streams(c):
    ids = [await c.xadd("x", [("i", str(i))]) for i in range(4)]
    eq(await c.xgroup_create("x", "g", "0"), "OK")
    read = await c.xreadgroup({"x": ">"}, "g", "one")
    eq(list(read[b"x"]), ids)
    eq(await c.xack("x", "g", [ids[0]]), 1)
    eq((await c.xpending("x", "g"))[:3], [3, ids[1], ids[3]])
    eq((await c.xinfo_stream("x"))[b"length"], 4)
    eq(await c.xread({"x": "$"}, StreamReadOptions(block_ms=30)), None)


async def blocking(c):
    eq(await c.blpop(["none"], 0.3), None)
    waiting = await connect()
    pop = asyncio.ensure_future(waiting.blpop(["q1", "q2"], 60))
    await until(lambda: blocked(c))
    await c.rpush("q2", ["v"])
    eq(await pop, [b"q2", b"v"])
    await waiting.close()


async def blocked(c):
    return b"blocked_clients:1" in await c.custom_command(["INFO", "clients"])


async def iterators(c):
    await asyncio.gather(*[c.set("scan:%d" % i, "1") for i in range(1000)])
    cursor, keys = b"0", set()
    while True:
        cursor, some = await c.scan(cursor, match="scan:*", count=100)
        keys.update(some)
        if cursor == b"0":
            break
    eq(len(keys), 1000)


async def restart(c):
    await c.rpush("kept", ["1", "2"])
    process = await asyncio.create_subprocess_shell(os.environ["RESTART"])
    eq(await process.wait(), 0)

    async def again():
        try:
            return await c.ping() == b"PONG"
        except BROKEN:
            return False

    await until(again)
    eq(await c.lrange("kept", 0, -1), [b"1", b"2"])
    eq(await c.fcall("f", ["fn"], ["3"]), 6)


async def main():
    c = await connect()
    await c.flushall()
    for check in (connection, commands, batches, pubsub, scripts, streams, blocking, iterators, restart):
        try:
            await check(c)
        except Exception:
            traceback.print_exc()
            print("FAILED %s" % check.__name__)
            return 1
        print("ok %s" % check.__name__, flush=True)
    await c.close()
    return 0


sys.exit(asyncio.run(main()))
