"""writes.py - what the model test of snapshots writes: values of every type that are large enough to be saved in parts, many small keys, keys
that expire soon; and then changes of all of them, beside the random streams of tests/differential.

A value is large from 2,048 elements or 256 KB on (data/forkless/large_value.h). Commands are tuples of words; errors are as good as successes.
"""
KEYS = {kind: ["%s%d" % (kind, i) for i in range(2)] for kind in ("L:list", "L:long", "L:set", "L:ints", "L:hash", "L:timed", "L:zset", "L:stream", "L:text")}
ALL = [key for keys in KEYS.values() for key in keys]
GROWTH = ["zset-index", "list-compress-depth", "activerehashing", "set-max-intset-entries", "hash-max-listpack-entries", "list-max-listpack-size"]
GROWTH_VALUES = [("skiplist", "btree"), ("0", "1"), ("yes", "no"), ("512", "100000"), ("128", "5000"), ("-2", "7", "-5")]


def chunks(words, size):
    return [words[at : at + size] for at in range(0, len(words), size)]


def build_one(pick, kind, key, soon=True):
    """Commands that make one large value. soon: with fields that expire soon."""
    n = pick.randint(2049, 4500)
    if kind == "L:list":
        return [("RPUSH", key, *["e%d" % i if i % 3 else i for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:long":
        return [("RPUSH", key, *[str(i) * pick.randint(300, 900) for i in part]) for part in chunks(range(260), 50)]
    if kind == "L:set":
        return [("SADD", key, *["m%d" % i for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:ints":
        return [("SADD", key, *[i * 3 for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:zset":
        return [("ZADD", key, *[w for i in part for w in (pick.choice((i, i % 7, i / 3)), "m%d" % i)]) for part in chunks(range(n), 500)]
    if kind in ("L:hash", "L:timed"):
        made = [("HSET", key, *[w for i in part for w in ("f%d" % i, i * i)]) for part in chunks(range(n), 500)]
        if kind == "L:timed":
            made += [("HPEXPIRE", key, pick.choice((1, 30, 100, 10**8)) if soon else 10**8, "FIELDS", 40, *["f%d" % pick.randrange(n) for _ in range(40)]) for _ in range(12)]
        return made
    if kind == "L:text":
        return [("SET", key, pick.choice("xyz") * pick.randint(270000, 400000))]
    made = [("XADD", key, "%d-1" % (i + 1), "f", i, "g", "v%d" % (i % 9)) for i in range(n)]
    for group in ("g0", "g1"):
        made += [("XGROUP", "CREATE", key, group, 0)]
        made += [("XREADGROUP", "GROUP", group, "c%d" % i, "COUNT", pick.choice((10, 600)), "STREAMS", key, ">") for i in range(4)]
    return made


def build(pick, small, soon):
    """Commands for the data before the snapshot."""
    commands = [("CONFIG", "SET", name, pick.choice(values)) for name, values in zip(GROWTH, GROWTH_VALUES)]
    for at in range(small):
        commands.append(("SET", "key:%d" % at, "v" * pick.choice((1, 10, 100)), *(("PX", 10**8) if at % 9 == 0 else ())))
    for kind, keys in KEYS.items():
        for key in keys:
            if pick.random() < 0.6:
                commands += build_one(pick, kind, key, soon)
                if pick.random() < 0.15:
                    commands.append(("PEXPIRE", key, pick.choice((20, 60, 10**8))))
    for at in range(40):
        commands.append(("SET", "soon:%d" % at, at, "PX", pick.randint(5, 150)))
    commands += [("SELECT", 1)] + [("SET", "other:%d" % at, at) for at in range(pick.choice((3, 300)))] + [("SELECT", 0)]
    return commands


def some(pick, name, most=6):
    return [name % pick.randrange(5000) for _ in range(pick.randint(1, most))]


def list_write(pick, key):
    at = pick.randint(-3000, 3000)
    return pick.choice([
        ("LPUSH", key, *some(pick, "n%d")), ("RPUSH", key, *some(pick, "n%d")), ("LPOP", key, pick.choice((1, 3, 50))), ("RPOP", key, pick.choice((1, 3, 50))),
        ("LSET", key, at, "set"), ("LSET", key, at, "s" * 9000), ("LINSERT", key, "BEFORE", "e%d" % at, "ins"), ("LREM", key, pick.choice((0, 1, -1)), "e%d" % at),
        ("LTRIM", key, pick.randint(0, 30), -pick.randint(1, 30)), ("LMOVE", key, pick.choice(KEYS["L:list"]), "LEFT", "RIGHT"), ("RPUSHX", key, "y" * 3000),
    ])


def set_write(pick, key):
    name = "m%d" if key[2:5] == "set" or pick.random() < 0.1 else "%d"
    other = pick.choice(KEYS["L:set"] + KEYS["L:ints"])
    return pick.choice([
        ("SADD", key, *some(pick, name)), ("SREM", key, *some(pick, name)), ("SPOP", key), ("SPOP", key, pick.choice((5, 200))), ("SMOVE", key, other, name % pick.randrange(3000)),
        ("SUNIONSTORE", key, key, other), ("SDIFFSTORE", other, key, other), ("SADD", key, *some(pick, "n%d", 60)),
    ])


def hash_write(pick, key):
    fields = some(pick, "f%d")
    return pick.choice([
        ("HSET", key, *[w for f in fields for w in (f, "v" * pick.choice((1, 30, 200)))]), ("HDEL", key, *fields), ("HINCRBY", key, fields[0], 3),
        ("HPEXPIRE", key, pick.choice((1, 20, 10**8)), "FIELDS", len(fields), *fields), ("HPERSIST", key, "FIELDS", len(fields), *fields), ("HSETNX", key, fields[0], "x"),
        ("HSETEX", key, "PX", pick.choice((1, 10**7)), "FIELDS", 1, fields[0], "ex"), ("HGETEX", key, "PX", 3, "FIELDS", 1, fields[0]), ("HINCRBYFLOAT", key, fields[0], "0.5"),
    ])


def zset_write(pick, key):
    member, at = "m%d" % pick.randrange(5000), pick.randrange(3000)
    return pick.choice([
        ("ZADD", key, *[w for m in some(pick, "m%d") for w in (pick.randint(-50, 5000), m)]), ("ZINCRBY", key, pick.choice((1, -7, 0.5)), member), ("ZREM", key, *some(pick, "m%d")),
        ("ZREMRANGEBYRANK", key, at, at + pick.choice((0, 3, 60))), ("ZPOPMIN", key, pick.choice((1, 30))), ("ZPOPMAX", key), ("ZREMRANGEBYSCORE", key, at, at + 2),
        ("ZADD", key, "GT", at, member), ("ZUNIONSTORE", key, 2, *KEYS["L:zset"]), ("ZRANGESTORE", pick.choice(KEYS["L:zset"]), key, 0, pick.choice((10, 3000))),
    ])


def stream_write(pick, key):
    ids = ["%d-1" % pick.randrange(1, 4600) for _ in range(pick.randint(1, 5))]
    group = pick.choice(("g0", "g1"))
    return pick.choice([
        ("XADD", key, "*", "f", "new"), ("XADD", key, "MAXLEN", "~", pick.choice((100, 2000)), "*", "g", "new"), ("XDEL", key, *ids), ("XTRIM", key, "MAXLEN", pick.randint(1000, 4500)),
        ("XTRIM", key, "MINID", ids[0]), ("XACK", key, group, *ids), ("XREADGROUP", "GROUP", group, "c%d" % pick.randrange(6), "COUNT", pick.choice((3, 100)), "STREAMS", key, ">"),
        ("XCLAIM", key, group, "c%d" % pick.randrange(6), 0, *ids), ("XAUTOCLAIM", key, group, "c9", 0, 0, "COUNT", 20), ("XGROUP", "SETID", key, group, ids[0]),
        ("XGROUP", "DELCONSUMER", key, group, "c%d" % pick.randrange(6)), ("XGROUP", "DESTROY", key, group), ("XGROUP", "CREATE", key, "g2", 0), ("XSETID", key, "9999999999999-1"),
    ])


def text_write(pick, key):
    return pick.choice([("SETRANGE", key, pick.randrange(260000), "changed"), ("APPEND", key, "more" * 50), ("SETBIT", key, pick.randrange(2000000), 1), ("GETSET", key, "w" * 300000)])


WRITES = {"list": list_write, "long": list_write, "set": set_write, "ints": set_write, "hash": hash_write, "timed": hash_write, "zset": zset_write, "stream": stream_write, "text": text_write}
LOOP = "for i = 1, 300 do redis.call(ARGV[1], KEYS[1], ARGV[2] .. i, ARGV[3] .. i) end"


def key_write(pick, key, small):
    """Changes of whole keys."""
    other, name = pick.choice(ALL), "key:%d" % pick.randrange(small + 200)
    return pick.choice([
        ("RENAME", key, other), ("COPY", key, other, "REPLACE"), ("COPY", key, other, "DB", 1, "REPLACE"), ("MOVE", key, 1), ("DEL", key), ("UNLINK", key), ("PEXPIRE", key, pick.choice((1, 10, 10**8))),
        ("PERSIST", key), ("SET", key, "overwritten"), ("SORT", key, "ALPHA", "STORE", other), ("DEL", name), ("RENAME", name, "key:%d" % pick.randrange(small)), ("GETEX", name, "PX", 1),
        ("MOVE", name, 1), ("UNLINK", *["key:%d" % pick.randrange(small) for _ in range(60)]), ("EVAL", LOOP, 1, key, "HSET", "f", "s"), ("EVAL", LOOP, 1, key, "SMOVE", "L:set1", "m"),
        ("EVAL", "for i = 1, 300 do redis.call('SET', 'new:' .. i + ARGV[1], i) end", 0, pick.randrange(3000)), ("SWAPDB", 0, 1), ("FLUSHDB",) if pick.random() < 0.1 else ("SET", name, "x"),
    ])


def write(pick, small):
    """One change, or some in a transaction, of keys that are there."""
    if pick.random() < 0.05:
        return [("MULTI",), *[w for _ in range(pick.randint(1, 5)) for w in write(pick, small) if w[0] not in ("MULTI", "EXEC")], ("EXEC",)]
    key, chance = pick.choice(ALL), pick.random()
    if chance < 0.06:
        return [key_write(pick, key, small)]
    if chance < 0.45:
        name = pick.choice(("key:%d", "key:%d", "new:%d")) % pick.randrange(small + 1)
        return [pick.choice([("SET", name, "w" * pick.choice((1, 60, 300))), ("APPEND", name, "a"), ("DEL", name), ("SET", "soon:%d" % pick.randrange(60), 1, "PX", 2), ("INCR", "n:" + name)])]
    return [WRITES[key[2:-1]](pick, key)]
