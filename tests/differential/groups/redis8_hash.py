"""redis8_hash.py - fields that expire, in the forms that Redis 8 and Valkey share. Keys y0..y3.

As in Redis, options may follow the fields. What the two families refuse with other words, or what only one accepts, is left out:
HSETEX NX and XX, several conditions, an option given twice, times beyond 2^46 ms, wrong numbers of fields (docs/differences.md).
"""
from compare import SORTED, TIME_MS
from stream import Command

LIMITS = {b"hash-max-listpack-entries": [b"0", b"3", b"512"]}
FIELDS = [b"f%d" % i for i in range(6)] + [b"NX", b"FIELDS", b""]


def key(p):
    return b"y%d" % p.randint(0, 3) if p.chance(0.97) else b"list"


def block(p, pairs=False):
    """FIELDS n field [value] ... (HSETEX with one field twice ends Redis 8.6.3.)"""
    names = list(dict.fromkeys(p.choice(FIELDS) for _ in range(p.choice([1, 1, 2, 3]))))
    return [p.token(b"FIELDS"), b"%d" % len(names), *[word for name in names for word in ((name, p.value()) if pairs else (name,))]]


def placed(p, options, fields):
    """Options before the fields, or behind them. (A field that is called FIELDS would be taken for the word in front of it.)"""
    return [*fields, *options] if p.chance(0.5) else [*options, *fields]


def time_option(p):
    return p.choice([[p.token(b"EX"), p.ttl_s()], [p.token(b"PX"), p.ttl_ms()], [p.token(b"EXAT"), p.at_s()], [p.token(b"PXAT"), p.at_ms()],
                     [b"EX", b"0"], [b"PXAT", b"1"]])


def hexpire(p):
    name, time = p.choice([(b"HEXPIRE", p.ttl_s()), (b"HPEXPIRE", p.ttl_ms()), (b"HEXPIREAT", p.at_s()), (b"HPEXPIREAT", p.at_ms()),
                           (b"HEXPIRE", b"0"), (b"HPEXPIREAT", b"1")])
    return Command(name, key(p), time, *placed(p, p.maybe(0.5, p.token(b"NX", b"XX", b"GT", b"LT")), block(p)), fixed=True)


def hsetex(p):
    options = [p.maybe(0.3, p.token(b"FNX", b"FXX")), p.maybe(0.7, time_option(p) if p.chance(0.8) else [p.token(b"KEEPTTL")])]
    p.shuffle(options)
    words = [word for option in options for word in (option[0] if option and isinstance(option[0], list) else option)]
    return Command(b"HSETEX", key(p), *placed(p, words, block(p, pairs=True)), fixed=True)


def hgetex(p):
    options = p.choice([[], [p.token(b"PERSIST")], time_option(p), time_option(p)])
    return Command(b"HGETEX", key(p), *placed(p, options, block(p)), fixed=True)


def one_block(*names):
    return lambda p: Command(p.choice(names), key(p), *block(p), fixed=True)


def times(p):
    words = block(p)
    return Command(p.choice([b"HPTTL", b"HTTL", b"HEXPIRETIME", b"HPEXPIRETIME"]), key(p), *words, how=["each", [TIME_MS] * (len(words) - 2)], fixed=True)


def everything_of(p):
    k = key(p)
    return [Command(b"HGETALL", k, how=SORTED, fixed=True), Command(b"HLEN", k, fixed=True),
            Command(b"HPTTL", k, b"FIELDS", len(FIELDS), *FIELDS, how=["each", [TIME_MS] * len(FIELDS)], fixed=True)]


def plain(p):
    f = p.choice(FIELDS)
    return p.choice([Command(b"HSET", key(p), f, p.value(), fixed=True), Command(b"HSET", key(p), b"f0", b"1", b"f1", p.value(), b"f2", b"3", fixed=True),
                     Command(b"HINCRBY", key(p), f, p.integer(), fixed=True), Command(b"HINCRBYFLOAT", key(p), f, b"0.5", fixed=True),
                     Command(b"HSETNX", key(p), f, p.value(), fixed=True), Command(b"HDEL", key(p), f, b"f1", fixed=True),
                     Command(b"COPY", key(p), b"y3", b"REPLACE", fixed=True), Command(b"DEL", b"y%d" % p.randint(0, 3), fixed=True)])


COMMANDS = [
    (10, hexpire), (10, hsetex), (8, hgetex), (3, one_block(b"HGETDEL", b"HPERSIST")), (5, times), (10, plain), (3, everything_of),
    (0.3, lambda p: Command(b"RPUSH", b"list", b"x", fixed=True)),
]
