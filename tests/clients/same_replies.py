#!/usr/bin/env python3
"""redis-py does the same things on our server and on a peer, in RESP2 and RESP3, and must get the same results.

    tests/clients/same_replies.py [our server [peer]]       the peer: Valkey 9.1 (utils/oracle), or redis-server 7.0

Every operation is one line of a table below: a function of a client. Its result, or its exception, is compared as
redis-py gives it. Skipped, with exit code 0, where redis-py or the peer is not installed.
"""
import os
import re
import shutil
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

try:
    import redis
except ImportError:
    print("skipped: no redis-py here")
    sys.exit(0)

from server import Server

OURS = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "src", "valkey-server"))
PEER = sys.argv[2] if len(sys.argv) > 2 else "redis-server"


def unordered(value):
    """Sets, and lists that represent them, in one order."""
    return sorted(value, key=repr) if isinstance(value, (list, set, tuple)) else value


def message_stream(client):
    """All messages to a subscriber, from beginning to end."""
    p, seen = client.pubsub(), []
    p.subscribe("news")
    p.psubscribe("n?ws*")
    for _ in range(2):
        seen.append(p.get_message(timeout=10))
    seen.append(client.publish("news", "one"))
    seen.append(client.publish("newspaper", "two"))
    seen.append(client.publish("nobody", "three"))
    for _ in range(3):
        seen.append(p.get_message(timeout=10))
    seen.append(client.pubsub_channels())
    seen.append(client.pubsub_numsub("news", "none"))
    seen.append(client.pubsub_numpat())
    p.unsubscribe()
    p.punsubscribe()
    for _ in range(2):
        seen.append(p.get_message(timeout=10))
    p.close()
    return seen


def shard_stream(client):
    p, seen = client.pubsub(), []
    p.ssubscribe("shard")
    seen.append(p.get_message(timeout=10))
    seen.append(client.spublish("shard", "hello"))
    seen.append(p.get_sharded_message(timeout=10))
    p.close()
    return seen


def blocked(client, wait, serve):
    """The result of `wait`, which another connection's `serve` ends."""
    other = redis.Redis(connection_pool=client.connection_pool)

    def later():
        while other.info("clients")["blocked_clients"] == 0:
            time.sleep(0.005)
        serve(other)

    thread = threading.Thread(target=later)
    thread.start()
    result = wait(client)
    thread.join()
    return result


def transaction(client, body):
    with client.pipeline() as pipe:
        body(pipe)
        return pipe.execute(raise_on_error=False)


def batch(client, body):
    with client.pipeline(transaction=False) as pipe:
        body(pipe)
        return pipe.execute(raise_on_error=False)


def lost_watch(client):
    with client.pipeline() as pipe:
        pipe.watch("s1")
        client.set("s1", "changed")
        pipe.multi()
        pipe.get("s1")
        try:
            return pipe.execute()
        except redis.WatchError as e:
            return str(e)


def everything_scanned(client, name, *args, **options):
    return unordered(list(getattr(client, name)(*args, **options)))


def script_object(client):
    script = client.register_script("return {KEYS[1], ARGV[1], redis.call('incr', KEYS[1])}")
    return [script(keys=["counter"], args=[7]), script(keys=["counter"], args=["x"])]


def lock(client):
    first, second = client.lock("lock", timeout=100), client.lock("lock", timeout=100)
    seen = [first.acquire(blocking=False), second.acquire(blocking=False), first.owned(), first.extend(5), first.release()]
    return seen + [client.exists("lock")]


STRINGS = """
    set("s1", "value") | get("s1") | get("none") | set("s1", "x", nx=True) | set("s2", "x", xx=True) | set("s1", "y", get=True)
    set("s3", "v", ex=1000) | ttl("s3") | set("s3", "w", keepttl=True) | ttl("s3") | set("s3", b"\\x00\\xff") | get("s3") | append("s1", "more")
    strlen("s1") | strlen("none") | getrange("s1", 1, 3) | getrange("s1", -3, -1) | setrange("s1", 2, "ZZ") | setrange("pad", 5, "x") | get("pad")
    mset({"m1": 1, "m2": 2}) | mget("m1", "none", "m2") | msetnx({"m1": 1, "m3": 3}) | msetnx({"m4": 4}) | incr("n") | incrby("n", 10) | decr("n")
    decrby("n", 3) | incrbyfloat("n", 0.5) | incrbyfloat("n", "1e2") | incr("s1") | getdel("m4") | getdel("m4") | getex("s3", ex=500) | ttl("s3")
    getex("s3", persist=True) | ttl("s3") | getset("s1", "new") | psetex("e", 100000, "v") | setnx("e", "w") | substr("s1", 0, 1)
    lcs("m1", "m2") | set("l1", "ohmytext") | set("l2", "mynewtext") | lcs("l1", "l2") | lcs("l1", "l2", len=True) | lcs("l1", "l2", idx=True)
    lcs("l1", "l2", idx=True, minmatchlen=4, withmatchlen=True) | setbit("b", 7, 1) | getbit("b", 7) | getbit("b", 100) | bitcount("b")
    bitcount("b", 0, 0) | bitpos("b", 1) | bitpos("b", 0) | bitop("NOT", "b2", "b") | bitop("XOR", "b3", "b", "b2") | get("b3") | setbit("b", -1, 1)
    execute_command("BITFIELD", "bf", "SET", "u8", 0, 255, "INCRBY", "u8", 0, 1, "OVERFLOW", "FAIL", "INCRBY", "u8", 0, 300)
    execute_command("BITFIELD_RO", "bf", "GET", "i5", 3) | pfadd("hll", "a", "b", "c") | pfadd("hll", "a") | pfcount("hll") | pfmerge("hll2", "hll")
    pfcount("hll", "hll2") | pfadd("s1", "x") | set("s1", "v", ex=0) | set("s1", "v", nx=True, get=True)
"""
KEYS = """
    set("k1", "v") | exists("k1", "k1", "none") | type("k1") | type("none") | rename("k1", "k2") | rename("none", "k3") | renamenx("k2", "k4")
    expire("k4", 1000) | ttl("k4") | expire("k4", 2000, nx=True) | expire("k4", 500, gt=True) | expire("k4", 500, lt=True) | ttl("k4") | persist("k4") | ttl("k4")
    ttl("none") | pttl("none") | expireat("k4", 4102444800) | expiretime("k4") | pexpiretime("k4") | expire("k4", -1) | exists("k4") | set("k5", "v")
    copy("k5", "k6") | copy("k5", "k6") | copy("k5", "k6", replace=True) | get("k6") | touch("k5", "k6", "none") | unlink("k5", "none") | delete("k6")
    set("o", 12345) | object("ENCODING", "o") | object("REFCOUNT", "none") | object("ENCODING", "none") | dump("none") | randomkey() is not None
    dbsize() | move("o", 1) | exists("o") | swapdb(0, 1) | get("o") | swapdb(0, 1) | execute_command("RESTORE", "r", 0, b"bad") | echo("hello") | ping()
    execute_command("SELECT", 99) | execute_command("NOSUCH", "a", "b") | execute_command("GET") | execute_command("OBJECT", "nosuch") | flushdb() | dbsize()
"""
LISTS = """
    rpush("q", 1, 2, 3) | lpush("q", 0) | lrange("q", 0, -1) | llen("q") | lindex("q", 0) | lindex("q", -1) | lindex("q", 99) | lset("q", 1, "one") | lset("q", 99, "x")
    linsert("q", "BEFORE", "one", "half") | linsert("q", "AFTER", "none", "x") | lrem("q", 0, "half") | lpos("q", "one") | lpos("q", "none") | rpush("q", "one")
    lpos("q", "one", count=0) | lpos("q", "one", rank=-1) | lpop("q") | rpop("q") | lpop("q", 2) | lpop("none") | lpop("none", 2) | lpop("q", 0) | rpushx("none", "x")
    rpush("q", "a", "b", "c", "d") | ltrim("q", 1, 3) | lrange("q", 0, -1) | lmove("q", "q2", "LEFT", "RIGHT") | lmove("none", "q2") | rpoplpush("q", "q2") | lrange("q2", 0, -1)
    lmpop(2, "none", "q2", direction="LEFT", count=5) | lmpop(1, "none", direction="LEFT") | blpop(["none", "q"], 1) | brpop("none", 0.01) | blmove("none", "x", 0.01)
    blmpop(0.01, 1, "none", direction="LEFT") | set("str", "v") | lpush("str", 1) | rpush("srt", 3, 1, 2) | sort("srt") | sort("srt", desc=True) | sort("srt", start=0, num=2)
    sort("srt", store="sorted") | sort("srt", by="w_*", get=["#", "w_*"]) | rpush("words", "b", "a") | sort("words") | sort("words", alpha=True)
"""
HASHES = """
    hset("h", "f", "v") | hset("h", mapping={"a": 1, "b": 2}) | hget("h", "f") | hget("h", "none") | hmget("h", ["a", "none"]) | hgetall("h") | hgetall("none") | hlen("h")
    hexists("h", "a") | hstrlen("h", "f") | hdel("h", "f", "none") | hincrby("h", "a", 5) | hincrbyfloat("h", "a", 0.5) | hincrby("h", "a", 1) | hsetnx("h", "a", 0)
    hsetnx("h", "c", 0) | hkeys("h") | hvals("h") | hrandfield("h", 0) | len(c.hrandfield("h", 2)) | hrandfield("none") | hscan("h") | hset("h", "big", "x" * 1000)
    hget("h", "big") | hset("str2", mapping={"x": "y"}) | hget("s", "x") | execute_command("HSET", "h", "odd") | execute_command("HMSET", "h", "q", "r")
    execute_command("HRANDFIELD", "h", 100, "WITHVALUES") is not None
"""
SETS = """
    sadd("a", 1, 2, 3) | sadd("a", 3, 4) | sadd("b", 3, 4, "x") | scard("a") | sismember("a", 1) | smismember("a", [1, 9]) | smove("a", "b", 1) | smove("a", "b", 99) | srem("a", 2, 77)
    spop("none") | spop("none", 2) | srandmember("none") | srandmember("none", 2) | sinterstore("d", "a", "b") | sunionstore("d", "a", "b") | sdiffstore("d", "b", "a") | scard("d")
    sintercard(2, ["a", "b"]) | sintercard(2, ["a", "b"], limit=1) | set("str3", 1) | sadd("str3", 1) | sunion("a", "str3") | len(c.spop("d", 2)) | sadd("i", 3, 1, 2) | smembers("i")
"""
SETS_UNORDERED = ['smembers("a")', 'sinter("a", "b")', 'sunion("a", "b")', 'sdiff("b", "a")', 'smembers("none")', 'sinter("a", "none")']
ZSETS = """
    zadd("z", {"a": 1, "b": 2, "c": 3}) | zadd("z", {"a": 5}, nx=True) | zadd("z", {"a": 5}, xx=True, ch=True) | zadd("z", {"b": 1}, gt=True, ch=True) | zadd("z", {"b": 1}, incr=True)
    zscore("z", "a") | zscore("z", "none") | zmscore("z", ["a", "none"]) | zcard("z") | zcount("z", "-inf", "+inf") | zcount("z", "(3", 5) | zincrby("z", 1.5, "c") | zrank("z", "a")
    zrank("z", "none") | zrevrank("z", "a") | zrange("z", 0, -1) | zrange("z", 0, -1, withscores=True) | zrange("z", 0, 1, desc=True) | zrevrange("z", 0, -1, withscores=True)
    zrange("z", "-inf", "+inf", byscore=True, offset=1, num=1) | zrange("z", "-", "+", bylex=True) | zrangebyscore("z", 3, "+inf", withscores=True) | zrevrangebyscore("z", "+inf", 3)
    zrangestore("zs", "z", 0, 1) | zadd("lex", {"a": 0, "b": 0, "c": 0}) | zrangebylex("lex", "[a", "(c") | zrevrangebylex("lex", "+", "-") | zlexcount("lex", "-", "+")
    zremrangebylex("lex", "[a", "[a") | zremrangebyrank("lex", 0, 0) | zremrangebyscore("lex", 0, 0) | exists("lex") | zadd("y", {"a": 10, "x": 20}) | zunion(["z", "y"])
    zunion(["z", "y"], withscores=True) | zunion({"z": 2, "y": 3}, aggregate="MAX", withscores=True) | zinter(["z", "y"], withscores=True) | zdiff(["z", "y"], withscores=True)
    zunionstore("zu", ["z", "y"]) | zinterstore("zi", ["z", "y"]) | zdiffstore("zd", ["z", "y"]) | zintercard(2, ["z", "y"]) | zpopmin("z") | zpopmax("z", 2) | zpopmin("none")
    zmpop(2, ["none", "y"], min=True) | zmpop(1, ["none"], max=True) | bzpopmin("y", 1) | bzpopmax("none", 0.01) | bzmpop(0.01, 1, ["none"], min=True) | zrem("zu", "a", "none") | zscan("zu")
    zrandmember("none") | zadd("inf", {"p": "inf", "m": "-inf"}) | zrange("inf", 0, -1, withscores=True) | zincrby("inf", "-inf", "p") | zadd("z", {"n": "nan"}) | zadd("z", {"a": 1}, nx=True, xx=True)
    geoadd("g", [13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"]) | geodist("g", "Palermo", "Catania", "km") | geohash("g", "Palermo", "none") | geopos("g", "Palermo", "none")
    geosearch("g", longitude=15, latitude=37, radius=200, unit="km", sort="ASC", withdist=True, withcoord=True, withhash=True)
    geosearch("g", member="Palermo", width=400, height=400, unit="km", sort="DESC") | geosearchstore("g2", "g", longitude=15, latitude=37, radius=200, unit="km") | zcard("g2")
"""
STREAMS = """
    xadd("x", {"f": "v"}, id="1-1") | xadd("x", {"a": 1, "b": 2}, id="2-1") | xadd("x", {"f": "v"}, id="1-1") | xadd("x", {"c": 3}, id="3-*") | xlen("x") | xrange("x") | xrange("x", "(1-1", "+")
    xrevrange("x", count=2) | xrange("none") | xread({"x": "1-1"}, count=1) | xread({"x": "99-1"}) | xread({"x": "99-1", "none": 0}, block=10) | xgroup_create("x", "g", "0")
    xgroup_create("x", "g", "0") | xgroup_create("none", "g") | xgroup_create("made", "g", mkstream=True) | xgroup_createconsumer("x", "g", "c0") | xreadgroup("g", "c1", {"x": ">"}, count=2)
    xreadgroup("g", "c1", {"x": 0}) | xreadgroup("g", "c1", {"x": ">"}, noack=True) | xreadgroup("none", "c1", {"x": ">"}) | xpending("x", "g")
    [(e["message_id"], e["consumer"], e["times_delivered"]) for e in c.xpending_range("x", "g", "-", "+", 10)] | xack("x", "g", "1-1", "9-9") | xclaim("x", "g", "c2", 0, ["2-1"])
    xclaim("x", "g", "c2", 0, ["2-1"], justid=True) | xautoclaim("x", "g", "c3", 0) | xdel("x", "1-1", "9-9") | xtrim("x", maxlen=1, approximate=False) | xlen("x") | xinfo_groups("x")
    [(e["name"], e["pending"]) for e in c.xinfo_consumers("x", "g")] | {k: v for k, v in c.xinfo_stream("x").items() if "radix" not in str(k)} | xgroup_setid("x", "g", "0") | xgroup_delconsumer("x", "g", "c2")
    xgroup_destroy("x", "g") | xgroup_destroy("x", "g") | xinfo_stream("none") | xadd("cap", {"f": 1}, id="5-5", maxlen=1, approximate=False) | xadd("cap", {"f": 2}, id="6-6", nomkstream=True, minid="6")
    execute_command("XSETID", "cap", "9-9") | xadd("cap", {"f": 3}, id="9-1") | execute_command("XADD", "cap", "*", "odd")
"""
SCRIPTS = """
    eval("return 1", 0) | eval("return {1, 2, {3, 'x'}, false, true}", 0) | eval("return redis.error_reply('MY error')", 0) | eval("return redis.status_reply('FINE')", 0) | eval("return 3.99", 0)
    eval("return {KEYS[1], ARGV[1]}", 1, "k", "v") | eval("return redis.call('set', KEYS[1], ARGV[1])", 1, "sk", "v") | eval("return redis.call('get', KEYS[1])", 1, "sk")
    eval("return redis.call('nosuch')", 0) | eval("return redis.pcall('incr', KEYS[1])", 1, "sk") | eval("syntax error here", 0) | eval("return nosuch", 0) | eval("return cjson.encode({a=1})", 0)
    eval("redis.setresp(3); return redis.call('hgetall', KEYS[1])", 1, "h") | eval_ro("return redis.call('set', 'a', 1)", 0) | eval("return {double=3.5}", 0) | evalsha("0" * 40, 0) | script_load("return 'loaded'")
    evalsha(c.script_load("return 'loaded'"), 0) | script_exists("0" * 40, c.script_load("return 1")) | script_flush() | function_load("#!lua name=lib\\nredis.register_function('f', function(k, a) return {k[1], a[1]} end)")
    function_load("#!lua name=lib\\nredis.register_function('f', function() end)") | fcall("f", 1, "k", "a") | fcall("nosuch", 0) | function_list() | function_delete("lib") | function_list() | fcall_ro("f", 0)
"""
OTHERS = [
    ("pub/sub", message_stream), ("sharded pub/sub", shard_stream), ("a lost WATCH", lost_watch), ("a script object", script_object), ("a lock", lock),
    ("a transaction", lambda c: transaction(c, lambda p: p.set("t", 1).incr("t").lpush("t", 1).hset("th", mapping={"f": "v"}).hgetall("th").zadd("tz", {"a": 1.5}).zrange("tz", 0, -1, withscores=True))),
    ("an empty transaction", lambda c: transaction(c, lambda p: None)),
    ("a batch", lambda c: batch(c, lambda p: [p.incr("batch") for _ in range(300)] + [p.lpush("batch", 1), p.get("batch")])),
    ("BLPOP that waits", lambda c: blocked(c, lambda w: w.blpop(["w1", "w2"], 20), lambda o: o.rpush("w2", "x"))),
    ("BLMOVE that waits", lambda c: blocked(c, lambda w: w.blmove("w1", "w3", 20), lambda o: o.rpush("w1", "y"))),
    ("BZPOPMIN that waits", lambda c: blocked(c, lambda w: w.bzpopmin("wz", 20), lambda o: o.zadd("wz", {"m": 1.5}))),
    ("BZMPOP that waits", lambda c: blocked(c, lambda w: w.bzmpop(20, 1, ["wz"], min=True, count=2), lambda o: o.zadd("wz", {"m": 1, "n": 2}))),
    ("XREAD that waits", lambda c: blocked(c, lambda w: w.xread({"wx": "$"}, block=20000), lambda o: o.xadd("wx", {"f": "v"}, id="7-7"))),
    ("BRPOP on a wrong type", lambda c: (c.set("ws", 1), blocked(c, lambda w: w.brpop(["wl"], 20), lambda o: (o.sadd("wl", 1), o.delete("wl"), o.rpush("wl", 2))))),
    ("SCAN", lambda c: (c.mset({"scan:%d" % i: i for i in range(500)}), everything_scanned(c, "scan_iter", match="scan:*", count=7))),
    ("HSCAN", lambda c: (c.hset("hs", mapping={"f%d" % i: i for i in range(700)}), everything_scanned(c, "hscan_iter", "hs"))),
    ("SSCAN", lambda c: (c.sadd("ss", *range(700)), everything_scanned(c, "sscan_iter", "ss"))),
    ("ZSCAN", lambda c: (c.zadd("zz", {"m%d" % i: i for i in range(300)}), everything_scanned(c, "zscan_iter", "zz"))),
    ("DUMP and RESTORE", lambda c: (c.rpush("dl", 1, 2), c.restore("dl2", 0, c.dump("dl")), c.lrange("dl2", 0, -1))),
    ("CLIENT", lambda c: (c.client_setname("me"), c.client_getname(), c.client_no_evict("ON"), c.client_pause(1), c.client_unpause(), c.client_kill_filter(_id=10**9))),
    ("CONFIG", lambda c: (c.config_set("maxmemory-policy", "allkeys-lru"), c.config_get("maxmemory-policy"), c.config_set("maxmemory-policy", "noeviction"))),
    ("CONFIG, wrong", lambda c: c.config_set("appendfsync", "x")),
    ("COMMAND GETKEYS", lambda c: (c.command_getkeys("MSET", "a", 1, "b", 2), c.command_getkeys("EVAL", "x", 2, "a", "b"))),
    ("ACL", lambda c: (c.acl_setuser("bob", enabled=True, nopass=True, commands=["+get"], keys=["a*"]), c.acl_whoami(), c.acl_dryrun("bob", "get", "abc"), c.acl_deluser("bob"), c.acl_users())),
    ("a value of 3 MB", lambda c: (c.set("large", "x" * 3000000), len(c.get("large")), c.strlen("large"))),
    ("bytes", lambda c: (c.set(bytes(range(256)), bytes(range(256))), c.get(bytes(range(256))))),
]


def operations():
    for table in (STRINGS, KEYS, LISTS, HASHES, SETS, ZSETS, STREAMS, SCRIPTS):
        yield "flush", lambda c: c.flushall()
        for text in table.replace("\n", "|").split("|"):
            text = text.strip()
            if text:
                yield text, eval("lambda c: " + (text if text[0] in "[{" or text.startswith("len(") else "c." + text))
        if table is SETS:
            for text in SETS_UNORDERED:
                yield text, eval("lambda c: unordered(c.%s)" % text)
    yield "flush", lambda c: c.flushall()
    for name, function in OTHERS:
        yield name, function


# Differences between the versions: a name in 7.0, and since 9.0 scripts' errors without digest and advice.
VERSIONS = [("Unknown Redis command", "Unknown command"), (" script: [0-9a-f]{40}, on ", " script: on "), (" Please use EVAL.$", "")]


def plain(value):
    """The replies with errors as text, as exceptions are never equal."""
    if isinstance(value, Exception):
        text = str(value)
        for pattern, same in VERSIONS:
            text = re.sub(pattern, same, text)
        return type(value).__name__, text
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def outcome(client, operation):
    try:
        return plain(operation(client))
    except redis.RedisError as e:
        return plain(e)


def main():
    if not shutil.which(PEER):
        print("skipped: there is no %s to compare with" % PEER)
        return 0
    servers, passed, failed = [], 0, 0
    try:
        servers = [Server(OURS), Server(PEER)]
        for protocol in (2, 3):
            clients = [redis.Redis(port=s.port, protocol=protocol, socket_timeout=60) for s in servers]
            for name, operation in operations():
                ours, theirs = [outcome(c, operation) for c in clients]
                if ours == theirs:
                    passed += 1
                else:
                    failed += 1
                    print("FAILED RESP%d %s\n    ours   %s\n    theirs %s" % (protocol, name, str(ours)[:500], str(theirs)[:500]))
            for c in clients:
                c.close()
    finally:
        for server in servers:
            server.stop()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
