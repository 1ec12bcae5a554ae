"""valkey-glide as a client of a cluster. PORT and CONTROL (a program: failover, reshard, migrate) come from the environment; prints what it has
checked, and ends at the first difference."""
import asyncio
import os
import sys
import traceback

from glide import ClusterBatch, GlideClusterClient, GlideClusterClientConfiguration, NodeAddress

PORT, KEYS = int(os.environ["PORT"]), 500


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


async def verify(r):
    for i in range(KEYS):
        eq(await r.get("key:%d" % i), b"value:%d" % i)


async def routing(r):
    for i in range(KEYS):
        eq(await r.set("key:%d" % i, "value:%d" % i), "OK")
    await verify(r)
    eq(await r.mget(["key:1", "key:2", "key:3"]), [b"value:1", b"value:2", b"value:3"])  # of several slots
    eq(await r.dbsize(), KEYS)


async def batches(r):
    atomic = ClusterBatch(is_atomic=True)
    atomic.set("{m}1", "1").incr("{m}1")
    eq(await r.exec(atomic, raise_on_error=True), ["OK", 2])
    many = ClusterBatch(is_atomic=False)
    for i in range(100):
        many.get("key:%d" % i)
    eq(await r.exec(many, raise_on_error=True), [b"value:%d" % i for i in range(100)])


async def under_change(r, change, patient):
    """Reads and writes go on while the cluster changes. patient: they may fail for a while."""
    ended, count = False, 0

    async def work():
        nonlocal count
        n = 0
        while not ended:
            i = n % KEYS
            n += 1
            try:
                await r.set("other:%d" % i, str(n))
                got = await r.get("key:%d" % i)
            except Exception:
                if not patient:
                    raise
                await asyncio.sleep(0.1)
                continue
            eq(got, b"value:%d" % i)
            count += 1

    worker = asyncio.create_task(work())
    program = await asyncio.create_subprocess_exec(os.environ["CONTROL"], change)
    eq(await program.wait(), 0)
    before = count
    await asyncio.sleep(2)
    ended = True
    await worker
    assert count > before, "it works on"
    await verify(r)


async def reshard(r):
    await under_change(r, "reshard", False)


async def migrate(r):
    await under_change(r, "migrate", False)


async def failover(r):
    await r.wait(1, 5000)
    await under_change(r, "failover", True)


async def main():
    r = await GlideClusterClient.create(GlideClusterClientConfiguration([NodeAddress("127.0.0.1", PORT)], request_timeout=5000))
    for check in (routing, batches, reshard, migrate, failover):
        try:
            await check(r)
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print("FAILED", check.__name__)
            sys.exit(1)
        print("ok", check.__name__, flush=True)
    await r.close()


asyncio.run(main())
