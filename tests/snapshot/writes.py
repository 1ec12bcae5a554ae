"""writes.py - what the model test of snapshots writes: values of every type that are large enough to be saved in parts, many small keys, keys
that expire soon; and then changes of all of them, beside the random streams of tests/differential.

A value is large from 2,048 elements or 256 KB on (data/forkless/large_value.h). Commands are tuples of words; errors are as good as successes.

Three kinds of keys hold what Valkey 9.1 cannot store (OWN): path hashes of many paths (paths) or of few paths with many fields (deep), and
idempotent streams (idmp). Keys with S: in the place of L: are small ones of these kinds.
"""
OWN = ("L:paths", "L:deep", "L:idmp", "S:paths", "S:idmp")
LARGE = ("L:list", "L:long", "L:set", "L:ints", "L:hash", "L:timed", "L:zset", "L:stream", "L:text", "L:paths", "L:deep", "L:idmp")
KEYS = {kind: ["%s%d" % (kind, i) for i in range(2)] for kind in LARGE}
KEYS.update({kind: ["%s%d" % (kind, i) for i in range(8)] for kind in ("S:paths", "S:idmp")})
ALL = [key for keys in KEYS.values() for key in keys]
# Directives that decide encodings, with their values: set before the snapshot, and perhaps changed meanwhile.
GROWTH = {
    "zset-index": ("skiplist", "btree"), "list-compress-depth": ("0", "1"), "activerehashing": ("yes", "no"), "set-max-intset-entries": ("512", "100000"),
    "hash-max-listpack-entries": ("128", "5000"), "hash-max-listpack-value": ("64", "8"), "list-max-listpack-size": ("-2", "7", "-5"), "stream-node-max-entries": ("100", "7"),
}
TAIL = "~" * 1200  # of every fourth member and field, so that values of fewer elements are large by their bytes
PATHS, DEEP_PATHS = 50, 7  # first parts of paths; paths of a deep one
PIDS, IIDS = ("p0", "p1", "p2"), 60  # producers, and ids of each, of idempotent streams


def chunks(words, size):
    return [words[at : at + size] for at in range(0, len(words), size)]


def named(pattern, at):
    """The name of a member or a field."""
    return pattern % at + (TAIL if pattern[0] in "mf" and at % 4 == 0 else "")


def build_one(pick, kind, key, soon=True, own=True):
    """Commands that make one value. soon: with fields that expire soon; own: with what Valkey 9.1 does not know."""
    n = pick.randint(2049, 4500)
    if kind in ("L:set", "L:hash", "L:timed", "L:zset") and pick.random() < 0.4:
        n = pick.randint(1010, 2000)
    if kind == "L:list":
        return [("RPUSH", key, *["e%d" % i if i % 3 else i for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:long":
        return [("RPUSH", key, *[str(i) * pick.randint(300, 900) for i in part]) for part in chunks(range(260), 50)]
    if kind == "L:set":
        return [("SADD", key, *[named("m%d", i) for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:ints":
        return [("SADD", key, *[i * 3 for i in part]) for part in chunks(range(n), 500)]
    if kind == "L:zset":
        return [("ZADD", key, *[w for i in part for w in (pick.choice((i, i % 7, i / 3)), named("m%d", i))]) for part in chunks(range(n), 500)]
    if kind in ("L:hash", "L:timed"):
        made = [("HSET", key, *[w for i in part for w in (named("f%d", i), i * i)]) for part in chunks(range(n), 500)]
        if kind == "L:timed":
            made += [("HPEXPIRE", key, pick.choice((1, 30, 100, 10**8)) if soon else 10**8, "FIELDS", 40, *[named("f%d", pick.randrange(n)) for _ in range(40)]) for _ in range(12)]
        return made
    if kind == "L:text":
        return [("SET", key, pick.choice("xyz") * pick.randint(270000, 400000))]
    if kind in ("L:paths", "L:deep", "S:paths"):
        return build_paths(pick, kind, key, n if kind == "L:paths" else pick.randint(1, 60))
    if kind in ("L:idmp", "S:idmp"):
        return build_idempotent(pick, key, n if kind == "L:idmp" else pick.randint(1, 60))
    made = [("XADD", key, "%d-1" % (i + 1), "f", i, "g", "v%d" % (i % 9)) for i in range(n)]
    return made + build_groups(pick, key, own)


def build_groups(pick, key, own):
    """Two groups with pending entries, some of which are gone, given back, or have been looked for by CLAIM."""
    made = []
    for group in ("g0", "g1"):
        made += [("XGROUP", "CREATE", key, group, 0)]
        made += [("XREADGROUP", "GROUP", group, "c%d" % i, "COUNT", pick.choice((10, 600)), "STREAMS", key, ">") for i in range(4)]
    made += [("XDEL", key, "%d-1" % i) for i in range(1, 100, 9)]
    if own:
        made += [("XNACK", key, "g0", mode, "IDS", 1, "%d-1" % (at + 2)) for at, mode in enumerate(("SILENT", "FAIL", "FATAL"))]
        made += [("XREADGROUP", "GROUP", "g1", "c5", "COUNT", 5, "CLAIM", 0, "STREAMS", key, ">")] if pick.random() < 0.5 else []
    return made


def path_of(pick, key):
    """A path that may be there: paths that begin with others, the empty one, and bytes of any kind are among them."""
    if key[2:6] == "deep":
        return "d%d" % pick.randrange(DEEP_PATHS)
    chance, at = pick.random(), pick.randrange(4600)
    return pick.choice(("", "%d" % (at % PATHS), b"\xff\x00%d" % (at % 9))) if chance < 0.1 else "%d/%d" % (at % PATHS, at)


def fields_of(pick, key, most):
    """Fields and values: short ones stay packed, more become a listpack, long ones a table."""
    several = 9000 if key[2:6] == "deep" else 30
    return [w for _ in range(pick.randint(1, most)) for w in ("f%d" % pick.randrange(several), pick.choice("abc") * pick.choice((1, 5, 5, 40, 100)))]


def phset(key, path, pairs):
    return ("PHSET", key, path, "FIELDS", len(pairs) // 2, *pairs)


def build_paths(pick, kind, key, n):
    if kind == "L:deep":
        return [phset(key, "d%d" % at, [w for i in part for w in ("f%d" % i, i)]) for at in range(DEEP_PATHS) for part in chunks(range(pick.randint(400, 900)), 300)]
    made = [("PHMSET", key, *[w for at in part for w in ("%d/%d" % (at % PATHS, at), "FIELDS", 1, "f%d" % (at % 3), "v" * (at % 7))]) for part in chunks(range(n), 300)]
    made += [phset(key, path_of(pick, key), fields_of(pick, key, 40)) for _ in range(n // 30 + 1)]
    return made + ([("PHDELPREFIX", key, "")] if kind == "S:paths" and pick.random() < 0.2 else [])


def build_idempotent(pick, key, n):
    """Records are only of ids below IIDS, so that they can be asked for."""
    made = [("XADD", key, "%d-1" % (i + 1), "f", i) for i in range(n)]
    made += [("XADD", key, "IDMP", pick.choice(PIDS), pick.randrange(IIDS), "*", "f", i) for i in range(min(n, 100))]
    if pick.random() < 0.4:
        made.insert(n, ("XCFGSET", key, "IDMP-MAXSIZE", pick.choice((5, 1000)), "IDMP-DURATION", pick.choice((1000, 86400))))
    return made + build_groups(pick, key, True)


def build(pick, small, soon, own):
    """Commands for the data before the snapshot."""
    commands = [("CONFIG", "SET", name, pick.choice(values)) for name, values in GROWTH.items()]
    for at in range(small):
        commands.append(("SET", "key:%d" % at, "v" * pick.choice((1, 10, 100)), *(("PX", 10**8) if at % 9 == 0 else ())))
    for kind, keys in KEYS.items():
        for key in keys:
            if pick.random() < 0.6 and (own or kind not in OWN):
                commands += build_one(pick, kind, key, soon, own)
                if pick.random() < 0.15:
                    commands.append(("PEXPIRE", key, pick.choice((20, 60, 10**8))))
    for at in range(40):
        commands.append(("SET", "soon:%d" % at, at, "PX", pick.randint(5, 150)))
    commands += [("SELECT", 1)] + [("SET", "other:%d" % at, at) for at in range(pick.choice((3, 300)))] + [("SELECT", 0)]
    return commands


def some(pick, name, most=6):
    return [named(name, pick.randrange(5000)) for _ in range(pick.randint(1, most))]


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
        ("SADD", key, *some(pick, name)), ("SREM", key, *some(pick, name)), ("SPOP", key), ("SPOP", key, pick.choice((5, 200))), ("SMOVE", key, other, named(name, pick.randrange(3000))),
        ("SUNIONSTORE", key, key, other), ("SDIFFSTORE", other, key, other), ("SADD", key, *some(pick, "n%d", 60)),
    ])


def hash_write(pick, key):
    fields = some(pick, "f%d")
    return pick.choice([
        ("HSET", key, *[w for f in fields for w in (f, "v" * pick.choice((1, 30, 200)))]), ("HDEL", key, *fields), ("HINCRBY", key, fields[0], 3),
        ("HPEXPIRE", key, pick.choice((1, 20, 10**8)), "FIELDS", len(fields), *fields), ("HPERSIST", key, "FIELDS", len(fields), *fields), ("HSETNX", key, fields[0], "x"),
        ("HSETEX", key, "PX", pick.choice((1, 10**7)), "FIELDS", 1, fields[0], "ex"), ("HGETEX", key, "PX", 3, "FIELDS", 1, fields[0]), ("HINCRBYFLOAT", key, fields[0], "0.5"),
        ("HGETDEL", key, "FIELDS", len(fields), *fields), ("HPEXPIREAT", key, 1, "FIELDS", 1, fields[0]),
    ])


def zset_write(pick, key):
    member, at = named("m%d", pick.randrange(5000)), pick.randrange(3000)
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
        *newer_stream_writes(pick, key, group, ids),
    ])


def newer_stream_writes(pick, key, group, ids):
    """What Redis 8 has for groups."""
    mode, numbered = pick.choice(("KEEPREF", "DELREF", "ACKED")), ("IDS", len(ids), *ids)
    return [
        ("XACKDEL", key, group, mode, *numbered), ("XDELEX", key, mode, *numbered), ("XNACK", key, group, pick.choice(("SILENT", "FAIL", "FATAL")), *numbered),
        ("XNACK", key, group, "FAIL", *numbered, "FORCE"), ("XREADGROUP", "GROUP", group, "c%d" % pick.randrange(6), "COUNT", pick.choice((3, 100)), "CLAIM", 0, "STREAMS", key, ">"),
        ("XTRIM", key, "MINID", ids[0], mode), ("XADD", key, "MAXLEN", pick.choice((100, 2000)), mode, "*", "g", "new"),
    ]


def idempotent_write(pick, key):
    pid, chance = pick.choice(PIDS), pick.random()
    if chance < 0.5:
        return stream_write(pick, key)
    if chance < 0.55:
        return pick.choice([("XCFGSET", key, "IDMP-MAXSIZE", pick.choice((3, 500))), ("XCFGSET", key, "IDMP-DURATION", pick.choice((500, 5000)))])
    return pick.choice([
        ("XADD", key, "IDMP", pid, pick.randrange(IIDS), "*", "f", "v"), ("XADD", key, "IDMPAUTO", pid, "*", "f", pick.randrange(9)),
        ("XADD", key, "IDMP", pid, pick.randrange(IIDS), "MAXLEN", 500, "*", "f", "v"), ("XIDMPRECORD", key, pid, pick.randrange(IIDS), "%d-1" % pick.randrange(1, 4600)),
    ])


def paths_write(pick, key):
    path, pairs = path_of(pick, key), fields_of(pick, key, 4)
    return pick.choice([
        phset(key, path, pairs), phset(key, path, pairs), phset(key, path, pairs * 12), ("PHDEL", key, path), ("PHDEL", key, path, *pairs[::2]), ("PHDELPREFIX", key, path),
        ("PHDELPREFIX", key, "" if pick.random() < 0.1 else path[:1]), ("PHMSET", key, path, "FIELDS", 1, *pairs[:2], path_of(pick, key), "FIELDS", 1, "g", "1"),
        ("PHSET", key, path, "FXX", "FIELDS", 1, "f1", "changed"), phset(key, "new/%d" % pick.randrange(900), pairs),
    ])


def text_write(pick, key):
    return pick.choice([("SETRANGE", key, pick.randrange(260000), "changed"), ("APPEND", key, "more" * 50), ("SETBIT", key, pick.randrange(2000000), 1), ("GETSET", key, "w" * 300000)])


WRITES = {
    "list": list_write, "long": list_write, "set": set_write, "ints": set_write, "hash": hash_write, "timed": hash_write, "zset": zset_write, "stream": stream_write, "text": text_write,
    "paths": paths_write, "deep": paths_write, "idmp": idempotent_write,
}
RESTORE = "local d = redis.call('DUMP', KEYS[1]) if d then redis.call('RESTORE', KEYS[2], ARGV[1], d, 'REPLACE') end"
LOOP = "for i = 1, 300 do redis.call(ARGV[1], KEYS[1], ARGV[2] .. i, ARGV[3] .. i) end"


def key_write(pick, key, small):
    """Changes of whole keys."""
    other, name = pick.choice(ALL), "key:%d" % pick.randrange(small + 200)
    return pick.choice([
        ("RENAME", key, other), ("COPY", key, other, "REPLACE"), ("COPY", key, other, "DB", 1, "REPLACE"), ("MOVE", key, 1), ("DEL", key), ("UNLINK", key), ("PEXPIRE", key, pick.choice((1, 10, 10**8))),
        ("PERSIST", key), ("SET", key, "overwritten"), ("SORT", key, "ALPHA", "STORE", other), ("DEL", name), ("RENAME", name, "key:%d" % pick.randrange(small)), ("GETEX", name, "PX", 1),
        ("MOVE", name, 1), ("UNLINK", *["key:%d" % pick.randrange(small) for _ in range(60)]), ("EVAL", LOOP, 1, key, "HSET", "f", "s"), ("EVAL", LOOP, 1, key, "SMOVE", "L:set1", "m"),
        ("EVAL", "for i = 1, 300 do redis.call('SET', 'new:' .. i + ARGV[1], i) end", 0, pick.randrange(3000)), ("SWAPDB", 0, 1), ("FLUSHDB",) if pick.random() < 0.1 else ("SET", name, "x"),
        ("EVAL", RESTORE, 2, key, other, pick.choice((0, 0, 20))), ("MOVE", key, 1, "REPLACE"), ("CONFIG", "SET", *pick.choice([(n, pick.choice(v)) for n, v in sorted(GROWTH.items())])),
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
