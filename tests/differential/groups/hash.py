"""hash.py - commands on hashes; fields that expire are in hash_expire.py.

Fields come from a small space, values from one of numbers and texts around the limits of encodings.
"""
from compare import DISTINCT, ENCODING, EXACT, PAIRS, RANDOM, SCAN, SORTED
from stream import Command

LIMITS = {
    b"hash-max-listpack-entries": [b"0", b"2", b"3", b"8", b"20", b"512"],
    b"hash-max-listpack-value": [b"0", b"1", b"5", b"20", b"64", b"100"],
}

ODD_FIELDS = [b"", b"\x00\xff\r\n", b"12", b"-5", b"007", b"9223372036854775807", b"3.25", b"x" * 8, b"x" * 20, b"x" * 62,
              b"x" * 63, b"y" * 64, b"y" * 65, b"z" * 100, b"w" * 300, b"F1", b"f"]
LONG_VALUES = [b"v" * n for n in (19, 20, 21, 59, 60, 61, 62, 63, 64, 65, 100, 101, 127, 128, 253, 254, 255, 256, 1000, 40000)]
FLOATS = [b"0.1", b"-1.5", b"3.0", b"1e3", b"1e17", b"-0", b"5e-5", b"0x10", b"1.0000000000000000001"]
BAD_FLOATS = [b"nan", b"inf", b"-inf", b"abc", b"", b"1e5000", b" 1", b"1 ", b"1.5.5"]
COUNTS = [b"0", b"1", b"-1", b"2", b"3", b"-7", b"10", b"-30", b"1000"]
BAD_COUNTS = [b"x", b"", b"-9223372036854775808", b"9223372036854775808", b"1.5"]


def field(p):
    r = p.random()
    if r < 0.1:
        return p.choice(ODD_FIELDS)
    return b"f%d" % int(p.random() * (15 if r < 0.9 else 150))


def fields(p, count):
    return p.once([field(p) for _ in range(count)])


def value(p):
    r = p.random()
    if r < 0.1:
        return p.choice(LONG_VALUES)
    if r < 0.2:
        return p.choice(FLOATS)
    return p.integer() if r < 0.5 else p.value()


def key(p):
    return p.key("h")


def pairs(p, count):
    return [x for f in fields(p, count) for x in (f, value(p))]


def hset(p):
    count = p.choice([1, 1, 1, 2, 3, 6, 12])
    return Command(p.choice([b"HSET"] * 6 + [b"HMSET"]), key(p), *pairs(p, count), fixed=count > 1)


def hset_many(p):
    """Past the default limit of a listpack in one go, or just up to it."""
    start, count = p.randint(0, 50), p.choice([20, 21, 60, 511, 512, 513, 700])
    return Command(b"HSET", key(p), *[x for i in range(count) for x in (b"f%d" % (start + i), b"%d" % p.randint(0, 99))],
                   fixed=True)


def hset_twice(p):
    """The same field twice in one command: the last value counts."""
    f = field(p)
    return Command(b"HSET", p.choice([b"h0", b"h1"]), f, b"1", f, b"2")


def hsetnx(p):
    return Command(b"HSETNX", key(p), field(p), value(p))


def hget(p):
    return Command(p.choice([b"HGET", b"HEXISTS", b"HSTRLEN"]), key(p), field(p))


def hmget(p):
    return Command(b"HMGET", key(p), *[field(p) for _ in range(p.randint(1, 6))])


def hall(p):
    return Command(p.choice([b"HGETALL", b"HKEYS", b"HVALS"]), key(p), how=SORTED)


def hlen(p):
    return Command(b"HLEN", key(p))


def hdel(p):
    return Command(b"HDEL", key(p), *[field(p) for _ in range(p.choice([1, 1, 2, 6, 20]))])


def hincrby(p):
    return Command(b"HINCRBY", key(p), field(p), p.integer())


def hincrbyfloat(p):
    by = p.choice(BAD_FLOATS) if p.chance(0.1) else p.choice(FLOATS) if p.chance(0.5) else b"%d" % p.randint(-99, 99)
    return Command(b"HINCRBYFLOAT", key(p), field(p), by)


def hrandfield(p):
    r = p.random()
    if r < 0.25:
        return Command(b"HRANDFIELD", key(p), how=RANDOM)
    if r < 0.5:
        return Command(b"HRANDFIELD", key(p), p.choice([b"0", b"1", b"3", b"10", b"1000", b"9223372036854775807"]),
                       how=DISTINCT, fixed=True)
    count = p.choice(COUNTS) if r < 0.9 else p.choice(BAD_COUNTS)
    return Command(b"HRANDFIELD", key(p), count, *p.maybe(0.6, p.choice([b"WITHVALUES"] * 9 + [b"WITHSCORES"])),
                   how=RANDOM, fixed=True)


def hscan(p):
    options = p.maybe(0.3, b"MATCH", p.choice([b"*", b"f1*", b"f?", b"[^f]*", b"nothing"]))
    if p.newer and p.chance(0.2):
        return Command(b"HSCAN", key(p), b"0", *options, b"COUNT", b"1000", p.token(b"NOVALUES"), how=SCAN)
    if p.chance(0.3):
        return Command(b"~SCAN", b"HSCAN", key(p), *options, *p.maybe(0.6, b"COUNT", p.randint(1, 40)), how=PAIRS,
                       fixed=True)
    return Command(b"HSCAN", key(p), p.choice([b"0"] * 9 + [b"abc"]), *options, b"COUNT",
                   p.choice([b"1000"] * 8 + [b"0", b"x"]), how=PAIRS, fixed=True)


def encoding(p):
    return Command(b"OBJECT", b"ENCODING", key(p), how=ENCODING)


def move(p):
    """Changes that an object's own bytes must survive: a new key, an expiry and none, a copy."""
    return p.choice([Command(b"RENAME", key(p), key(p)), Command(b"COPY", key(p), key(p), b"REPLACE"),
                     Command(b"EXPIRE", key(p), p.ttl_s()), Command(b"PERSIST", key(p)), Command(b"TYPE", key(p))])


def delete(p):
    return Command(b"DEL", key(p))


def everything(p):
    k = key(p)
    return [Command(b"HGETALL", k, how=SORTED), Command(b"HLEN", k, how=EXACT)]


COMMANDS = [
    (24, hset), (0.4, hset_many), (0.5, hset_twice), (4, hsetnx), (12, hget), (4, hmget), (4, hall), (2, hlen), (8, hdel),
    (6, hincrby), (5, hincrbyfloat), (4, hrandfield), (1.5, hscan), (4, encoding), (3, move), (0.7, delete), (2, everything),
]
