"""data.py - keys of every type and encoding, and the contents of a server in a form that can be compared between
versions.

Two servers of one kind are compared by tests/differential/dataset.py with DEBUG DIGEST-VALUE, whose result is each
kind's own. contents() uses commands that all of them have.
"""
import os
import re

from nodes import Failed, check  # first: it knows where the next one is
from dataset import dataset, facts, hash_state, values

NEWER_KINDS = ("ours", "valkey", "redis8")
FAR_MS = 4102444800000  # the year 2100


def call_all(connection, commands):
    """Their replies, which must be no errors."""
    for at in range(0, len(commands), 500):
        part = commands[at : at + 500]
        for command, reply in zip(part, connection.call_all(part)):
            check(reply[0] != b"-", "%s: %r" % (" ".join(map(str, command))[:80], reply[1]))


def pairs(count, name, value):
    return [word for i in range(count) for word in (name % i, value(i))]


def collections():
    """Lists, sets, hashes and sorted sets on both sides of the usual limits."""
    commands = []
    for n in (1, 3, 128, 129, 513, 3000):
        commands.append(["RPUSH", "list:%d" % n] + [str(i) if i % 3 else "element %d" % i for i in range(n)])
        commands.append(["SADD", "integers:%d" % n] + [i * 7 - 300 for i in range(n)])
        commands.append(["SADD", "set:%d" % n] + ["member %d" % i for i in range(n)])
        commands.append(["HSET", "hash:%d" % n] + pairs(n, "field:%d", lambda i: i * i))
        commands.append(["ZADD", "zset:%d" % n] + [w for i in range(n) for w in (i / 3 if i % 5 else i, "member:%d" % i)])
    commands += [
        ["RPUSH", "list:long", "x" * 20000, "y", "z" * 9000, 7], ["SADD", "set:wide", 1099511627776, -5, 7],
        ["SADD", "set:long", "a" * 300, "b"], ["HSET", "hash:long", "f", "v" * 500, "g" * 300, "w"],
        ["ZADD", "zset:special", "inf", "a", "-inf", "b", "1e300", "c", 0, "d", "0.1", "e" * 100],
        ["GEOADD", "geo", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania"],
    ]
    return commands


def strings():
    return [
        ["SET", "int", 12345], ["SET", "negative", -70000], ["SET", "wide", 4611686018427387904], ["SET", "short", "hello"],
        ["SET", "empty", ""], ["SET", "long", "abcdefgh" * 10000], ["SET", "binary", bytes(range(256)) * 9],
        ["SETBIT", "bits", 100000, 1], ["PFADD", "hll:sparse"] + list(range(100)), ["PFADD", "hll:dense"] + list(range(20000)),
        ["SET", b"\x00key \r\n\xff", "odd"], ["SET", "", "the key without a name"],
    ]


def streams():
    commands = [["XADD", "stream", "%d-%d" % (1000 + i // 3, i), "f", i, "g", "v%d" % i] for i in range(1, 300)]
    commands += [
        ["XDEL", "stream", "1002-8"], ["XGROUP", "CREATE", "stream", "g1", 0], ["XGROUP", "CREATE", "stream", "g2", "$"],
        ["XREADGROUP", "GROUP", "g1", "alice", "COUNT", 20, "STREAMS", "stream", ">"],
        ["XREADGROUP", "GROUP", "g1", "bob", "COUNT", 5, "STREAMS", "stream", ">"],
        ["XGROUP", "CREATECONSUMER", "stream", "g1", "carol"], ["XACK", "stream", "g1", "1000-1"],
        ["XADD", "stream:empty", "5-5", "a", "b"], ["XDEL", "stream:empty", "5-5"],
        ["XGROUP", "CREATE", "stream:new", "g", "$", "MKSTREAM"],
    ]
    return commands


def expiring(newer):
    commands = [["SET", "expires:%d" % i, "v", "PXAT", FAR_MS + i] for i in range(20)]
    commands += [["RPUSH", "expires:list", 1, 2], ["PEXPIREAT", "expires:list", FAR_MS]]
    if newer:
        commands += [["HSET", "hash:times", *pairs(40, "f%d", str)],
                     ["HPEXPIREAT", "hash:times", FAR_MS, "FIELDS", 3, "f1", "f2", "f30"]]
    return commands


LIBRARY = """#!lua name=%s
redis.register_function('put_%s', function(keys, args) return redis.call('set', keys[1], args[1]) end)
redis.register_function{function_name='get_%s', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}
"""


def library(name):
    return LIBRARY % (name, name, name)


def fill(node, newer, field_times=None):
    """Every type and encoding, in several databases, and functions. newer: nothing that redis 7.0 does not know;
    field_times: with hashes whose fields expire, which no older snapshot can hold."""
    field_times = newer if field_times is None else field_times
    connection = node.connect()
    call_all(connection, strings() + collections() + streams() + expiring(field_times))
    call_all(connection, [["SELECT", 3], ["SET", "in three", 3], ["SELECT", 9], ["RPUSH", "in nine", 9, 9], ["SELECT", 0]])
    for name in ("first", "second"):
        call_all(connection, [["FUNCTION", "LOAD", "REPLACE", library(name)]])
    connection.close()


# ---- What is there ----


def stream_contents(connection, key, newer, redis8):
    stream = facts(values(connection.call("XINFO", "STREAM", key, "FULL", "COUNT", 0)))
    state = [stream[name] for name in (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added", b"entries")]
    if redis8 and state[2] == b"0-1":  # a trim with ACKED that leaves gaps: 8.6 leaves this at 0-0
        state[2] = b"0-0"
    for group in sorted(map(facts, stream[b"groups"]), key=lambda g: g[b"name"]):
        # Redis 8.6 does not propagate that XREADGROUP has created a consumer.
        consumers = sorted(facts(c)[b"name"] for c in group[b"consumers"] if not redis8 or facts(c)[b"pel-count"])
        state += [group[b"name"], group[b"last-delivered-id"], sorted(group[b"pending"]), consumers]
        if newer:  # redis 7.0 does not propagate this
            state.append(group[b"entries-read"])
    return state


def hash_contents(connection, key, newer, _):
    return sorted(facts(values(connection.call("HGETALL", key))).items()), hash_state(connection, key) if newer else None


# A score of -0 is 0 after a restart, for some members: adding 0 makes it 0 for all.
READERS = {
    b"list": lambda c, key, *_: values(c.call("LRANGE", key, 0, -1)),
    b"set": lambda c, key, *_: sorted(values(c.call("SMEMBERS", key))),
    b"hash": hash_contents,
    b"zset": lambda c, key, *_: sorted((float(score) + 0.0, member) for member, score in facts(values(c.call("ZRANGE", key, 0, -1, "WITHSCORES"))).items()),
    b"stream": stream_contents,
    b"none": lambda c, key, *_: None,
}


def string_contents(connection, key, *_):
    """The count of a HyperLogLog: when it gets its full size depends on the server."""
    text = values(connection.call("GET", key))
    return ("hyperloglog", values(connection.call("PFCOUNT", key))) if text[:4] == b"HYLL" else text


def functions(connection):
    """The order of a library's functions is random."""
    return repr(sorted((facts(one)[b"library_name"], facts(one)[b"library_code"])
                       for one in values(connection.call("FUNCTION", "LIST", "WITHCODE"))))


def contents(connection, newer, redis8=False):
    """{(database, key): what it is}, without encodings. newer: with what redis 7.0 does not have; redis8: as far as 8.6
    propagates it."""
    state = {}
    for db in map(int, re.findall(rb"^db(\d+):", connection.call("INFO", "keyspace")[1], re.M)):
        connection.call("SELECT", db)
        for key in sorted(values(connection.call("KEYS", "*"))):
            kind = values(connection.call("TYPE", key))
            read = READERS.get(kind, string_contents)
            state[db, key] = repr([kind, values(connection.call("PEXPIRETIME", key)), read(connection, key, newer, redis8)])
    connection.call("SELECT", 0)
    return state


def differing(one, other, limit=4):
    """Lines of the states that differ, from shortly before the first difference of each on."""
    lines = []
    for name in [name for name in {**one, **other} if one.get(name) != other.get(name)][:limit]:
        texts = [str(state.get(name)) for state in (one, other)]
        at = max(0, len(os.path.commonprefix(texts)) - 60)
        lines.append("%r: %s | %s" % (name, texts[0][at : at + 250], texts[1][at : at + 250]))
    return lines


def check_same(one, other):
    """Two nodes hold the same."""
    redis8 = any(node.kind == "redis8" for node in (one, other))
    newer, alike = all(node.kind in NEWER_KINDS for node in (one, other)), one.kind == other.kind not in ("redis", "redis8")
    ends = [node.connect() for node in (one, other)]
    try:
        states = [dataset(end) for end in ends] if alike else None
        if not alike or differing(*states):
            alike, states = False, [contents(end, newer, redis8) for end in ends]
        lines = differing(*(dict(state, functions=functions(end)) for state, end in zip(states, ends)))
        check(not lines, "%r and %r differ:\n    %s" % (one, other, "\n    ".join(lines)))
        digests = [end.call("DEBUG", "DIGEST") for end in ends]
        check(not alike or digests[0] == digests[1], "DEBUG DIGEST of %r and %r: %r" % (one, other, digests))
    except (TypeError, KeyError) as problem:
        raise Failed("cannot compare %r and %r: %r" % (one, other, problem)) from None
    finally:
        for end in ends:
            end.close()
