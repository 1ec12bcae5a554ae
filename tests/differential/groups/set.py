"""set.py - commands on sets. Keys e0..e5.

What SPOP takes is chosen at random, so only a whole set is ever popped.
"""
from compare import DISTINCT, RANDOM, SCAN, SORTED
from stream import Command

LIMITS = {b"set-max-intset-entries": [b"0", b"1", b"3", b"20", b"512"]}
NEWER_LIMITS = {b"set-max-listpack-entries": [b"0", b"2", b"10", b"128"], b"set-max-listpack-value": [b"0", b"8", b"64", b"255"]}

ODD = [b"", b"\x00\xff\r\n", b"007", b"-0", b"+5", b"3.5", b"9223372036854775807", b"-9223372036854775808",
       b"9223372036854775808", b"32767", b"32768", b"-32769", b"2147483648", b"x" * 63, b"x" * 64, b"x" * 65, b"y" * 254,
       b"y" * 255, b"z" * 300]


def member(p):
    r = p.random()
    if r < 0.08:
        return p.choice(ODD)
    if r < 0.6:
        return b"%d" % p.randint(-5, 40)
    return b"m%d" % p.randint(0, 30)


def key(p):
    return p.key("e")


def keys(p, low=1, high=4):
    return [key(p) for _ in range(p.randint(low, high))]


def sadd(p):
    if p.chance(0.01):
        return Command(b"SADD", key(p))
    members = p.once([member(p) for _ in range(p.choice([1, 1, 2, 3, 8]))])
    return Command(b"SADD", key(p), *members, fixed=True)


def sadd_many(p):
    start = p.randint(0, 100)
    form = p.choice([b"%d", b"m%d"])
    return Command(b"SADD", key(p), *[form % (start + i) for i in range(p.choice([100, 130, 520]))])


def srem(p):
    return Command(b"SREM", key(p), *[member(p) for _ in range(p.choice([1, 1, 2, 5]))])


def smove(p):
    return Command(b"SMOVE", key(p), key(p), member(p))


def ask(p):
    if p.chance(0.5):
        return Command(b"SISMEMBER", key(p), member(p))
    return Command(b"SMISMEMBER", key(p), *[member(p) for _ in range(p.randint(1, 4))])


def scard(p):
    return Command(b"SCARD", key(p))


def smembers(p):
    return Command(b"SMEMBERS", key(p), how=SORTED)


def combine(p):
    return Command(p.choice([b"SINTER", b"SUNION", b"SDIFF"]), *keys(p), how=SORTED)


def combine_store(p):
    return Command(p.choice([b"SINTERSTORE", b"SUNIONSTORE", b"SDIFFSTORE"]), key(p), *keys(p))


def sintercard(p):
    ks = keys(p)
    n = p.choice([len(ks)] * 9 + [0, -1, 9, b"x"])
    return Command(b"SINTERCARD", n, *ks, *p.maybe(0.4, p.token(b"LIMIT"), p.choice([b"0", b"1", b"3", b"-1", b"x"])))


def spop(p):
    if p.chance(0.7):
        return Command(b"SPOP", key(p), p.choice([b"100000", b"0", b"9223372036854775807"]), how=SORTED, fixed=True)
    return Command(b"SPOP", key(p), p.choice([b"-1", b"x", b""]), fixed=True)


def srandmember(p):
    r = p.random()
    if r < 0.3:
        return Command(b"SRANDMEMBER", key(p), how=RANDOM, fixed=True)
    if r < 0.7:
        return Command(b"SRANDMEMBER", key(p), p.choice([b"0", b"1", b"3", b"10", b"1000"]), how=DISTINCT, fixed=True)
    return Command(b"SRANDMEMBER", key(p), p.choice([b"-1", b"-7", b"-30", b"x", b"-9223372036854775808"]), how=RANDOM,
                   fixed=True)


def sscan(p):
    options = p.maybe(0.3, b"MATCH", p.choice([b"*", b"m1*", b"1?", b"[^m]*", b"nothing"]))
    if p.chance(0.4):
        return Command(b"~SCAN", b"SSCAN", key(p), *options, *p.maybe(0.6, b"COUNT", p.randint(1, 40)), how=SCAN, fixed=True)
    return Command(b"SSCAN", key(p), p.choice([b"0"] * 9 + [b"abc"]), *options, b"COUNT",
                   p.choice([b"100000"] * 8 + [b"0", b"x"]), how=SCAN, fixed=True)


def keyspace(p):
    return p.choice([Command(b"DEL", key(p)), Command(b"TYPE", key(p)), Command(b"RENAME", key(p), key(p)),
                     Command(b"COPY", key(p), key(p), b"REPLACE"), Command(b"EXISTS", *keys(p))])


COMMANDS = [
    (30, sadd), (0.7, sadd_many), (14, srem), (5, smove), (8, ask), (3, scard), (5, smembers), (8, combine),
    (8, combine_store), (4, sintercard), (1, spop), (4, srandmember), (2, sscan), (3, keyspace),
]
