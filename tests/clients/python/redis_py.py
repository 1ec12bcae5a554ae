"""redis-py and valkey-py, which have one interface: `redis_py.py redis|valkey 2|3 [cache]`. PORT and RESTART (a
command) come from the environment; prints what it has checked, and ends at the first difference."""
import hashlib
import importlib
import os
import subprocess
import sys
import threading
import time
import traceback

NAME, PROTOCOL = sys.argv[1], int(sys.argv[2])
lib = importlib.import_module(NAME)
Client = lib.Redis if NAME == "redis" else lib.Valkey
PORT = int(os.environ["PORT"])


def connect(**options):
    options.setdefault("decode_responses", True)
    return Client(host="127.0.0.1", port=PORT, protocol=PROTOCOL, **options)


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


def raises(kind, text, call, *args, **kwargs):
    try:
        got = call(*args, **kwargs)
    except kind as e:
        assert text in str(e), "expected %r in %r" % (text, str(e))
        return
    raise AssertionError("expected %s, got %r" % (kind.__name__, got))


def until(what, seconds=60):
    end = time.time() + seconds
    while True:
        got = what()
        if got:
            return got
        assert time.time() < end, "it did not happen within %d s" % seconds
        time.sleep(0.02)


def pairs(reply):
    """A map in one protocol is a flat list in the other."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))


def connection(r):
    assert r.ping()
    eq(r.echo("hello"), "hello")
    info = r.client_info()
    eq((str(info["resp"]), info["db"] in (0, "0")), (str(PROTOCOL), True))
    eq(r.client_setname("me"), True)
    eq(r.client_getname(), "me")
    assert any(c["name"] == "me" for c in r.client_list())
    eq(r.client_no_evict("ON"), "OK")
    other = connect(db=7, client_name="other")
    other.set("in7", 1)
    eq((r.exists("in7"), other.dbsize()), (0, 1))
    assert r.client_kill_filter(_id=other.client_id()) == 1
    assert until(other.ping)


def users(r):
    eq(r.acl_setuser("alice", enabled=True, passwords=["+secret"], keys=["a:*"], channels=["c*"], categories=["+@all", "-@dangerous"]), True)
    alice = connect(username="alice", password="secret")
    eq(alice.acl_whoami(), "alice")
    eq(alice.set("a:1", "x"), True)
    raises(lib.exceptions.NoPermissionError, "key", alice.get, "b:1")
    raises(lib.exceptions.NoPermissionError, "flushall", alice.flushall)
    raises(lib.exceptions.NoPermissionError, "channel", alice.publish, "d", "x")
    raises(lib.AuthenticationError, "invalid username-password", connect(username="alice", password="wrong").ping)
    user = r.acl_getuser("alice")
    assert "on" in user["flags"] and "-@dangerous" in user["categories"], user
    assert r.acl_log()[0]["username"] == "alice"
    eq((r.acl_deluser("alice"), "alice" in r.acl_users()), (1, False))


def pipeline(r):
    p = r.pipeline(transaction=False)
    for i in range(1000):
        p.set("p:%d" % i, i)
    p.lpush("p:5", "x")
    for i in range(1000):
        p.incr("p:%d" % i)
    replies = p.execute(raise_on_error=False)
    eq(replies[:1000], [True] * 1000)
    assert isinstance(replies[1000], lib.ResponseError) and "WRONGTYPE" in str(replies[1000]), replies[1000]
    eq(replies[1001:], list(range(1, 1001)))


def transactions(r):
    eq(r.pipeline().set("t", 1).incrby("t", 41).hset("th", mapping={"a": 1, "b": 2}).hgetall("th").execute(), [True, 42, 2, {"a": "1", "b": "2"}])
    with r.pipeline() as p:
        p.watch("t")
        r.set("t", "changed")
        p.multi()
        p.set("t", "mine")
        raises(lib.WatchError, "", p.execute)
    eq(r.get("t"), "changed")
    r.set("n", 0)

    def add(p):
        n = int(p.get("n"))
        p.multi()
        p.set("n", n + 1)

    threads = [threading.Thread(target=lambda: [r.transaction(add, "n") for _ in range(20)]) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    eq(r.get("n"), "80")


def types(r):
    eq(r.set("s", "v", ex=100, get=True), None)
    assert 0 < r.ttl("s") <= 100
    eq((r.getex("s", persist=True), r.ttl("s"), r.getdel("s"), r.get("s")), ("v", -1, "v", None))
    eq(r.mget("no", "t"), [None, "changed"])
    r.zadd("z", {"a": 1.5, "b": 2, "c": float("inf")})
    eq([list(x) for x in r.zrange("z", 0, -1, withscores=True)], [["a", 1.5], ["b", 2.0], ["c", float("inf")]])
    eq((r.zscore("z", "a"), r.zincrby("z", 1, "a"), r.zrank("z", "c"), r.zmscore("z", ["a", "x"])), (1.5, 2.5, 2, [2.5, None]))
    eq([list(x) for x in r.zpopmin("z", 1)], [["b", 2.0]])
    r.geoadd("geo", (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"))
    eq(r.geosearch("geo", longitude=15, latitude=37, radius=200, unit="km", sort="ASC"), ["Catania", "Palermo"])
    assert abs(r.geodist("geo", "Palermo", "Catania", "km") - 166.2742) < 0.001
    place = r.geopos("geo", "Palermo", "none")
    assert abs(place[0][0] - 13.361389) < 1e-5 and place[1] is None, place
    eq(r.bitfield("bf").incrby("u5", 100, 1).overflow("SAT").set("u8", 0, 255).get("u8", 0).execute(), [1, 0, 255])
    eq(r.sadd("set", "a", "b"), 2)
    eq((set(r.smembers("set")), r.smismember("set", ["a", "x"])), ({"a", "b"}, [1, 0]))
    eq(r.rpush("l", *range(10)), 10)
    eq((r.lpos("l", "3"), r.lmpop(2, "no", "l", direction="LEFT", count=2)), (3, ["l", ["0", "1"]]))
    eq((r.pfadd("hll", *range(100)), 95 <= r.pfcount("hll") <= 105), (1, True))
    eq(len(r.hrandfield("th", -3)), 3)
    eq(r.sort("l", desc=True, alpha=True, start=0, num=2), ["9", "8"])
    assert r.object("encoding", "l") in ("listpack", "quicklist")
    eq(r.lcs("p:1", "p:1"), "2")
    assert r.memory_usage("l") > 0
    blob = connect(decode_responses=False)
    eq((blob.restore("l2", 0, blob.dump("l")), r.lrange("l2", 0, -1)), (b"OK", r.lrange("l", 0, -1)))
    raises(lib.ResponseError, "WRONGTYPE", r.get, "l")
    if "hexpire" in r.command() and hasattr(r, "hexpire"):
        eq(r.hexpire("th", 100, "a", "none"), [1, -2])
        eq([0 < t <= 100 for t in r.httl("th", "a")], [True])
        eq(r.hpersist("th", "a"), [1])


def introspection(r):
    info = r.info()
    eq((info["loading"], info["tcp_port"], info["aof_enabled"]), (0, PORT, 1))
    assert info["db0"]["keys"] == r.dbsize() and info["used_memory"] > 0
    assert r.info("commandstats")["cmdstat_ping"]["calls"] >= 1
    eq(r.config_get("maxmemory*")["maxmemory"], "0")
    eq((r.config_set("slowlog-log-slower-than", 0), r.config_resetstat()), (True, True))
    r.get("t")
    assert any(e["command"] in ("GET t", b"GET t") for e in r.slowlog_get(10))
    eq(r.config_set("slowlog-log-slower-than", 10000), True)
    assert r.command_count() > 200 and len(r.command()) > 200
    eq(r.command_getkeys("MSET", "a", "1", "b", "2"), ["a", "b"])
    assert len(r.time()) == 2 and r.lastsave()
    eq(r.execute_command("LATENCY", "LATEST"), [])
    assert pairs(r.memory_stats())["keys.count"] == r.dbsize() + 1


def pubsub(r):
    p = r.pubsub()
    p.subscribe("c1", "c2")
    p.psubscribe("c*")
    p.ssubscribe("shard")
    seen = []

    def take(n):
        end = time.time() + 60
        while len(seen) < n:
            assert time.time() < end, seen
            m = p.get_message(timeout=1)
            if m:
                seen.append((m["type"], m["channel"], m["data"]))

    take(4)
    eq(seen, [("subscribe", "c1", 1), ("subscribe", "c2", 2), ("psubscribe", "c*", 3), ("ssubscribe", "shard", 1)])
    eq((r.publish("c1", "one"), r.spublish("shard", "two"), r.publish("none", "x")), (2, 1, 0))
    del seen[:]
    take(3)
    eq(sorted(seen), sorted([("message", "c1", "one"), ("pmessage", "c1", "one"), ("smessage", "shard", "two")]))
    eq([tuple(x) for x in r.pubsub_numsub("c1", "none")], [("c1", 1), ("none", 0)])
    eq((sorted(r.pubsub_channels("c*")), r.pubsub_numpat(), r.pubsub_shardchannels()), (["c1", "c2"], 1, ["shard"]))
    p.unsubscribe()
    p.punsubscribe()
    p.sunsubscribe()
    del seen[:]
    take(4)
    eq(sorted(s[0] for s in seen), ["punsubscribe", "sunsubscribe", "unsubscribe", "unsubscribe"])
    r.config_set("notify-keyspace-events", "KEA")
    got = []
    p.psubscribe(**{"__keyspace@0__:note*": got.append})
    until(lambda: p.get_message(timeout=0.1) is None and p.subscribed and r.pubsub_numpat() == 1)
    r.set("note1", 1)
    r.delete("note1")
    until(lambda: p.get_message(timeout=0.1) or len(got) == 2)
    eq([m["data"] for m in got], ["set", "del"])
    r.config_set("notify-keyspace-events", "")
    p.close()


def scripts(r):
    script = r.register_script("redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[1]), 7, false, {ok='FINE'}}")
    eq(script(keys=["k"], args=["v"]), ["v", 7, None, "FINE"])
    r.script_flush()
    raises(lib.exceptions.NoScriptError, "No matching script", r.evalsha, script.sha, 1, "k", "v")
    eq(script(keys=["k"], args=["w"])[0], "w")
    eq(r.script_exists(script.sha, "0" * 40), [True, False])
    p = r.pipeline()
    script(keys=["k"], args=["x"], client=p)
    r.script_flush()
    eq(p.execute()[0][0], "x")
    raises(lib.ResponseError, "boom", r.eval, "return redis.error_reply('MY boom')", 0)
    raises(lib.ResponseError, "read-only", r.eval_ro, "return redis.call('SET', KEYS[1], 1)", 1, "k")


def functions(r):
    code = "#!lua name=lib1\nredis.register_function('f1', function(k, a) return redis.call('INCRBY', k[1], a[1]) end)\n" \
        "redis.register_function{function_name='f2', callback=function(k, a) return redis.call('GET', k[1]) end, flags={'no-writes'}}"
    eq(r.function_load(code), "lib1")
    raises(lib.ResponseError, "already exists", r.function_load, code)
    r.delete("fk")
    eq((r.fcall("f1", 1, "fk", 5), r.fcall_ro("f2", 1, "fk")), (5, "5"))
    raises(lib.ResponseError, "write flag", r.fcall_ro, "f1", 1, "fk", 5)
    listed = pairs(r.function_list(library="lib1")[0])
    eq((listed["library_name"], len(listed["functions"])), ("lib1", 2))
    blob = connect(decode_responses=False)
    dump = blob.function_dump()
    r.function_flush()
    raises(lib.ResponseError, "not found", r.fcall, "f1", 1, "fk", 5)
    blob.function_restore(dump)
    eq(r.fcall("f1", 1, "fk", 5), 10)
    r.function_delete("lib1")


def entries(reply):
    """(id, fields) of what XREADGROUP gave for its only key, a list or a map, with or without a list around."""
    value = list(reply.values())[0] if isinstance(reply, dict) else reply[0][1]
    while value and isinstance(value[0], list) and value[0] and isinstance(value[0][0], (list, tuple)):
        value = value[0]
    return value


def streams(r):
    ids = [r.xadd("x", {"i": i}, maxlen=1000, approximate=True) for i in range(10)]
    eq((r.xlen("x"), r.xrange("x", count=1)), (10, [(ids[0], {"i": "0"})]))
    eq(r.xgroup_create("x", "g", id="0"), True)
    raises(lib.ResponseError, "BUSYGROUP", r.xgroup_create, "x", "g", id="0")
    eq([i for i, _ in entries(r.xreadgroup("g", "one", {"x": ">"}, count=4))], ids[:4])
    eq([i for i, _ in entries(r.xreadgroup("g", "two", {"x": ">"}, count=3))], ids[4:7])
    eq(r.xack("x", "g", ids[0], ids[4]), 2)
    pending = r.xpending("x", "g")
    eq((pending["pending"], pending["min"], pending["max"], [(c["name"], c["pending"]) for c in pending["consumers"]]), (5, ids[1], ids[6], [("one", 3), ("two", 2)]))
    eq([e["message_id"] for e in r.xpending_range("x", "g", "-", "+", 10, consumername="two")], ids[5:7])
    eq(r.xclaim("x", "g", "two", 0, [ids[1]]), [(ids[1], {"i": "1"})])
    eq(r.xautoclaim("x", "g", "three", 0, start_id="0", count=2)[1], [(ids[1], {"i": "1"}), (ids[2], {"i": "2"})])
    info = r.xinfo_stream("x")
    eq((info["length"], info["groups"], info["last-generated-id"]), (10, 1, ids[9]))
    eq((r.xinfo_groups("x")[0]["pending"], r.xinfo_groups("x")[0]["lag"], len(r.xinfo_consumers("x", "g"))), (5, 3, 3))
    eq(r.xinfo_stream("x", full=True)["groups"] != [], True)
    eq(r.xread({"x": "$"}, block=50) in ([], {}, None), True)
    got = []
    t = threading.Thread(target=lambda: got.append(r.xreadgroup("g", "one", {"x": ">"}, count=10, block=60000)))
    r.xgroup_setid("x", "g", "$")
    t.start()
    until(lambda: r.info("clients")["blocked_clients"] == 1)
    last = r.xadd("x", {"i": "last"})
    t.join()
    eq([i for i, _ in entries(got[0])], [last])
    eq((r.xtrim("x", maxlen=3, approximate=False), r.xdel("x", last), r.xgroup_destroy("x", "g")), (8, 1, 1))


def blocking(r):
    started = time.time()
    eq((r.blpop("none", timeout=1), r.bzpopmin("none", timeout=0.1), r.blmove("none", "none2", 0.1)), (None, None, None))
    assert time.time() - started >= 1.1
    for call, push, expected in (
        (lambda: r.blpop(["b1", "b2"], timeout=60), lambda: r.rpush("b2", "v"), ["b2", "v"]),
        (lambda: r.bzpopmax("bz", timeout=60), lambda: r.zadd("bz", {"m": 3}), ["bz", "m", 3.0]),
        (lambda: [r.blmove("b1", "b3", 60, "LEFT", "RIGHT")], lambda: r.rpush("b1", "w"), ["w"]),
        (lambda: r.bzmpop(60, 2, ["bz", "bz2"], min=True), lambda: r.zadd("bz2", {"m": 3}), None),
    ):
        got = []
        t = threading.Thread(target=lambda: got.append(call()))
        t.start()
        until(lambda: r.info("clients")["blocked_clients"] == 1)
        push()
        t.join()
        assert list(got[0]) == expected or (expected is None and got[0][0] == "bz2"), got
    slow = connect(socket_timeout=0.2, retry=None)
    raises(lib.TimeoutError, "", slow.blpop, "none", timeout=60)
    until(lambda: r.info("clients")["blocked_clients"] == 0)


def iterators(r):
    p = r.pipeline(transaction=False)
    for i in range(2000):
        p.set("scan:%d" % i, 1).hset("sh", i, i).sadd("ss", i).zadd("sz", {i: i})
    p.execute()
    eq(set(r.scan_iter("scan:*", count=100)), {"scan:%d" % i for i in range(2000)})
    eq(set(r.scan_iter(_type="stream")), {"x"})
    eq(dict(r.hscan_iter("sh")), {str(i): str(i) for i in range(2000)})
    eq(set(r.sscan_iter("ss", count=7)), {str(i) for i in range(2000)})
    eq(dict(r.zscan_iter("sz")), {str(i): float(i) for i in range(2000)})


def big_values(r):
    blob = connect(decode_responses=False)
    value = bytes(range(256)) * (32 << 12)  # 32 MiB
    blob.set("big", value)
    eq(hashlib.sha1(blob.get("big")).hexdigest(), hashlib.sha1(value).hexdigest())
    eq((blob.strlen("big"), blob.getrange("big", 1000000, 1000003), blob.append("big", b"end")), (len(value), value[1000000:1000004], len(value) + 3))
    blob.rpush("bigs", *[value[:1 << 20]] * 8)
    eq([len(v) for v in blob.lrange("bigs", 0, -1)], [1 << 20] * 8)
    blob.delete("big", "bigs")


def client_cache(r):
    """redis-py's cache requires servers named redis from 7.4 on. Both are changed, so that it works with ours."""
    from redis.cache import CacheConfig
    lib.connection.CacheProxyConnection.DEFAULT_SERVER_NAME = r.execute_command("HELLO", 3)["server"]
    lib.connection.CacheProxyConnection.MIN_ALLOWED_VERSION = "7.0.0"
    cached = connect(cache_config=CacheConfig(max_size=100))
    r.set("tracked", "old")
    eq(cached.get("tracked"), "old")
    calls = r.info("commandstats")["cmdstat_get"]["calls"]
    eq([cached.get("tracked") for _ in range(10)], ["old"] * 10)
    eq(r.info("commandstats")["cmdstat_get"]["calls"], calls)
    r.set("tracked", "new")
    until(lambda: cached.get("tracked") == "new")
    eq((cached.hget("th", "b"), r.hset("th", "b", "3")), ("2", 0))
    until(lambda: cached.hget("th", "b") == "3")
    r.flushdb()
    until(lambda: cached.get("tracked") is None)
    cached.close()


def tracking_push(r):
    """An invalidation arrives as a push on the connection that has read."""
    reader, pushed = connect(single_connection_client=True), []
    reader.connection._parser.set_invalidation_push_handler(pushed.append)
    eq(reader.execute_command("CLIENT", "TRACKING", "ON"), "OK")
    r.set("pushed", 1)
    eq((reader.get("pushed"), r.set("pushed", 2), reader.ping()), ("1", True, True))
    until(lambda: reader.ping() and pushed)
    eq(str(pushed[0]).replace("b'", "'"), "['invalidate', ['pushed']]")


def tracking_by_hand(r):
    """CLIENT TRACKING with a second connection that is subscribed to what is invalid, as RESP2 clients do."""
    before = {c["id"] for c in r.client_list()}
    p = connect().pubsub()
    p.subscribe("__redis__:invalidate")
    until(lambda: p.get_message(timeout=1))
    to = [c["id"] for c in r.client_list() if c["id"] not in before and c["sub"] == "1"][0]
    reader = connect(single_connection_client=True)
    eq(reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", to), "OK")
    r.set("byhand", 1)
    eq((reader.get("byhand"), r.set("byhand", 2)), ("1", True))
    m = until(lambda: p.get_message(timeout=1))
    eq((m["channel"], m["data"]), ("__redis__:invalidate", ["byhand"]))
    p.close()


def restart(r):
    p = r.pubsub()
    p.subscribe("after")
    until(lambda: p.get_message(timeout=1))
    r.rpush("kept", *range(100))
    script = r.register_script("return redis.call('LLEN', KEYS[1])")
    eq(script(keys=["kept"]), 100)
    r.function_load("#!lua name=kept\nredis.register_function('kept', function() return 'yes' end)")
    subprocess.check_call(os.environ["RESTART"], shell=True)

    def again():
        try:
            return r.ping()
        except (lib.ConnectionError, lib.TimeoutError):
            return False

    until(again)
    eq(r.lrange("kept", 0, -1), [str(i) for i in range(100)])
    eq((script(keys=["kept"]), r.fcall("kept", 0)), (100, "yes"))

    def heard():
        try:
            r.publish("after", "hello")
            m = p.get_message(timeout=0.2)
        except lib.ConnectionError:
            return False
        return m and m["type"] == "message" and m["data"] == "hello"

    until(heard)


def main():
    r = connect()
    r.flushall()
    checks = [connection, users, pipeline, transactions, types, introspection, pubsub, scripts, functions, streams,
              blocking, iterators, big_values]
    checks += [tracking_push] if PROTOCOL == 3 else [tracking_by_hand]
    checks += ([client_cache] if PROTOCOL == 3 and NAME == "redis" else []) + [restart]
    for check in checks:
        try:
            check(r)
        except Exception as e:
            traceback.print_exc()
            print("FAILED %s: %s" % (check.__name__, e))
            return 1
        print("ok %s" % check.__name__, flush=True)
    return 0


sys.exit(main())
