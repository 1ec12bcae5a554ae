"""What Redis 8 added, through redis-py: `redis8.py 2|3`. PORT comes from the environment; prints what it has checked, and
ends at the first difference. VERSION, 8.6 for example, leaves out what such a Redis does not have."""
import os
import sys
import time
import traceback

import redis
import xxhash
from redis.commands.core import HotkeysMetricsTypes

PROTOCOL = int(sys.argv[1])
VERSION = tuple(int(word) for word in os.environ.get("VERSION", "8.10").split("."))
r = redis.Redis(host="127.0.0.1", port=int(os.environ["PORT"]), protocol=PROTOCOL, decode_responses=True)


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


def raises(text, call, *args, **kwargs):
    try:
        got = call(*args, **kwargs)
    except redis.ResponseError as e:
        assert text in str(e), "expected %r in %r" % (text, str(e))
        return
    raise AssertionError("expected an error, got %r" % (got,))


def digests():
    for text in ("", "value", "x" * 1000):
        r.set("d", text)
        eq(r.digest("d"), xxhash.xxh3_64(text.encode()).hexdigest())
        eq(r.digest_local(text), r.digest("d"))
    eq(r.digest("none"), None)
    r.rpush("d:list", 1)
    raises("", r.digest, "d:list")


def conditional_writes():
    r.set("c", "one")
    one, two = xxhash.xxh3_64(b"one").hexdigest(), xxhash.xxh3_64(b"two").hexdigest()
    eq([r.set("c", "two", ifdeq=two), r.set("c", "two", ifdeq=one), r.get("c")], [None, True, "two"])
    eq([r.set("c", "three", ifdne=two), r.set("c", "three", ifdne=one, get=True), r.get("c")], [None, "two", "three"])
    eq([r.set("c", "four", ifeq="three"), r.set("c", "five", ifne="four"), r.get("c")], [True, None, "four"])
    eq([r.delex("c", ifne="four"), r.delex("c", ifeq="four"), r.delex("c", ifeq="four")], [0, 1, 0])
    r.set("c", "one")
    eq([r.delex("c", ifdne=one), r.delex("c", ifdeq=two), r.delex("c", ifdeq=one), r.delex("c")], [0, 0, 1, 0])
    r.rpush("c", 1)
    eq(r.delex("c"), 1)
    eq([r.msetex({"c1": 1, "c2": 2}, ex=100), r.ttl("c2") > 0], [1, True])


def bit_operations():
    for name, bits in (("x", b"\xff"), ("y", b"\x0f"), ("z", b"\x3c")):
        r.set(name, bits)
    raw = redis.Redis(port=int(os.environ["PORT"]))
    for operation, expected in (("DIFF", b"\xc0"), ("DIFF1", b"\x00"), ("ANDOR", b"\x3f"), ("ONE", b"\xc0")):
        eq([r.bitop(operation, "w", "x", "y", "z"), raw.get("w")], [1, expected])
    raw.close()


def hash_fields():
    r.hset("h", mapping={"a": 1, "b": 2, "c": 3})
    eq([r.hgetdel("h", "a", "none"), r.hexists("h", "a")], [["1", None], False])
    eq([r.hgetex("h", "b", ex=100), r.httl("h", "b")[0] > 0], [["2"], True])
    eq([r.hsetex("h", "d", 4, ex=100), r.httl("h", "d", "c")[1]], [1, -1])


def idempotent_entries():
    first = r.xadd("i", {"f": 1}, idmp=("producer", b"one"))
    eq([r.xadd("i", {"f": 2}, idmp=("producer", b"one")), r.xlen("i")], [first, 1])
    automatic = r.xadd("i", {"f": 3}, idmpauto="other")
    eq([r.xadd("i", {"f": 3}, idmpauto="other"), r.xlen("i")], [automatic, 2])
    eq(r.xcfgset("i", idmp_duration=10, idmp_maxsize=5) in ("OK", True), True)
    info = r.xinfo_stream("i")
    eq([info["idmp-duration"], info["idmp-maxsize"], info["iids-duplicates"]], [10, 5, 2])


def references_of_groups():
    ids = [r.xadd("s", {"f": n}) for n in range(4)]
    r.xgroup_create("s", "g", 0)
    r.xreadgroup("g", "c", {"s": ">"}, count=2)
    eq(r.xadd("s", {"f": 4}, maxlen=5, approximate=False, ref_policy="KEEPREF") > ids[3], True)
    eq([r.xtrim("s", maxlen=2, approximate=False, ref_policy="ACKED"), r.xackdel("s", "g", ids[0], ref_policy="ACKED")], [0, [1]])
    eq([r.xdelex("s", ids[1], ref_policy="DELREF"), r.xpending("s", "g")["pending"]], [[1], 0])


def claims():
    r.xadd("p", {"f": 1}, id="1-1")
    r.xadd("p", {"f": 2}, id="2-1")
    r.xgroup_create("p", "g", 0)
    r.xreadgroup("g", "first", {"p": ">"}, count=1)
    reply = r.xreadgroup("g", "second", {"p": ">"}, claim_min_idle_time=0)
    entries = dict(reply)["p"]
    entries = entries[0] if len(entries) == 1 else entries
    eq([entry[0] for entry in entries], ["1-1", "2-1"])
    eq([(item["consumer"], item["times_delivered"]) for item in r.xpending_range("p", "g", "-", "+", 9)], [("second", 2), ("second", 1)])


def refused_entries():
    eq(r.xnack("p", "g", "FAIL", "1-1", "9-9"), 1)
    eq(r.xnack("p", "g", "SILENT", "2-1", retrycount=7), 1)
    pending = r.xpending_range("p", "g", "-", "+", 9)
    eq([(item["message_id"], item["times_delivered"]) for item in pending], [("1-1", 2), ("2-1", 7)])
    taken = dict(r.xreadgroup("g", "third", {"p": ">"}, claim_min_idle_time=1000000))["p"]
    taken = taken[0] if len(taken) == 1 else taken
    eq([entry[0] for entry in taken], ["1-1", "2-1"])


def limited_reads():
    for name in ("l1", "l2"):
        for number in range(1, 6):
            r.xadd(name, {"f": number}, id="%d-1" % number)
    flat = [entry for entries in dict(r.xread({"l1": 0, "l2": 0}, max_count=7)).values() for entry in (entries[0] if len(entries) == 1 else entries)]
    eq(len(flat), 7)
    eq(0 < len(dict(r.xread({"l1": 0, "l2": 0}, max_size=1))) < 3, True)


def moved_elements():
    r.rpush("m", *"abcdef")
    eq([r.lmovem("m", "n", "LEFT", "RIGHT", count=2, ordering="BULK"), r.lrange("n", 0, -1)], [["a", "b"], ["a", "b"]])
    eq([r.lmovem("m", "o", "LEFT", "LEFT", count=2, ordering="OBO"), r.lrange("o", 0, -1)], [["d", "c"], ["d", "c"]])
    eq([r.lmovem("m", "n", "LEFT", "RIGHT", count=9, mode="EXACTLY", ordering="BULK"), r.llen("m")], [None, 2])
    eq(r.blmovem("m", "n", 1, "RIGHT", "LEFT"), ["f"])
    eq(r.blmovem("none", "n", 0.05, count=1, ordering="BULK"), None)


def sizes_of_sets():
    r.sadd("s1", 1, 2, 3)
    r.sadd("s2", 3, 4)
    eq([r.sunioncard(2, ["s1", "s2"]), r.sunioncard(2, ["s1", "s2"], limit=2), r.sdiffcard(2, ["s1", "s2"]), r.sdiffcard(2, ["s1", "s2"], limit=1)], [4, 2, 2, 1])
    r.zadd("z1", {"a": 5, "b": 6})
    r.zadd("z2", {"b": 7})
    eq(r.execute_command("ZUNION", 2, "z1", "z2", "AGGREGATE", "COUNT"), ["a", "b"])
    eq([r.zunionstore("z3", ["z1", "z2"], aggregate="COUNT"), r.zscore("z3", "b")], [2, 2.0])


def bounded_counters():
    eq([float(number) for number in r.increx("counter", byint=5, ubound=7, ex=100)], [5, 5])
    eq([float(number) for number in r.increx("counter", byint=5, ubound=7)], [5, 0])
    eq([float(number) for number in r.increx("counter", byint=5, ubound=7, saturate=True, persist=True)], [7, 2])
    eq(r.ttl("counter"), -1)


def field_events():
    r.config_set("notify-keyspace-events", "KEASTIV")
    notifications = r.keyspace_notifications()
    notifications.subscribe_subkeyspace("fields")
    while r.pubsub_numsub("__subkeyspace@0__:fields")[0][1] == 0:
        pass
    r.hset("fields", mapping={"a": 1, "b": 2})
    found, end = None, time.time() + 10
    while not found and time.time() < end:
        found = notifications.get_message(timeout=0.1)
    eq([found.key, found.event_type, sorted(found.subkeys)], ["fields", "hset", ["a", "b"]])
    notifications.close()
    r.config_set("notify-keyspace-events", "")


def hot_keys():
    eq(r.hotkeys_start([HotkeysMetricsTypes.CPU, HotkeysMetricsTypes.NET], count=5) in ("OK", True), True)
    for _ in range(100):
        r.get("hot")
    found = r.hotkeys_get()[0]
    eq(r.hotkeys_stop() in ("OK", True), True)
    eq([found["tracking-active"], found["sample-ratio"]], [1, 1])
    assert "hot" in found["by-net-bytes"], found
    eq(r.hotkeys_reset() in ("OK", True), True)


CHECKS = [((8, 4), [digests, conditional_writes, bit_operations, hash_fields, references_of_groups, claims]), ((8, 6), [idempotent_entries, hot_keys]),
          ((8, 8), [bounded_counters, refused_entries, field_events]), ((8, 10), [limited_reads, moved_elements, sizes_of_sets])]


def main():
    r.flushall()
    for version, checks in CHECKS:
        for check in checks if version <= VERSION else []:
            try:
                check()
            except Exception as e:
                traceback.print_exc()
                print("FAILED %s: %s" % (check.__name__, e))
                return 1
            print("ok %s" % check.__name__, flush=True)
    return 0


sys.exit(main())
