"""hash_expire.py - fields of hashes that expire: HEXPIRE and its family, HSETEX, HGETEX, HGETDEL. Keys y0..y5.

Options are drawn without asking whether they go together, and the fields often do not match their number: what is
refused, and with which words, is half of what is compared. (Commands without their key are left out: Valkey then takes
a FIELDS in its place for the word, and so does not find the word where a key is called FIELDS.) Fields that are over are read and
written after a pause. Until the background job takes one out it is counted by HLEN; so their keys do not stay.
"""
from compare import SORTED, TIME_MS
from stream import Command

LIMITS = {b"hash-max-listpack-entries": [b"0", b"3", b"512"]}

FIELDS = [b"f%d" % i for i in range(8)]
CONDITIONS = [b"NX", b"XX", b"GT", b"LT"]


def key(p):
    return p.key("y")


def field(p):
    return p.choice(FIELDS) if p.chance(0.97) else p.choice([b"", b"FIELDS", b"x" * 70])


def block(p, pairs=False, wrong=0.06):
    """FIELDS n field [value] ..."""
    names = [field(p) for _ in range(p.choice([1, 1, 1, 2, 3, 5]))]
    items = [x for f in names for x in ((f, p.value()) if pairs else (f,))]
    count = b"%d" % len(names)
    if p.chance(wrong):
        count = p.choice([b"0", b"-1", b"1", b"2", b"7", b"x", b"", b"4294967297", b"9223372036854775808"])
    word = p.token(b"FIELDS") if p.chance(0.98) else p.choice([b"FIELD", b"1", b""])
    return [word, count, *items]


def bad_time(p):
    return p.choice([b"-1", b"x", b"", b"1.5", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808"])


def expiry_times(p, absolute, seconds):
    r = p.random()
    if r < 0.12:
        return b"1" if absolute else b"0"
    if r < 0.18:
        return bad_time(p)
    if absolute:
        return p.at_s() if seconds else p.at_ms()
    return p.ttl_s() if seconds else p.ttl_ms()


def hexpire(p):
    name, absolute, seconds = p.choice([(b"HEXPIRE", False, True), (b"HPEXPIRE", False, False),
                                        (b"HEXPIREAT", True, True), (b"HPEXPIREAT", True, False)])
    options = [p.token(*CONDITIONS) for _ in range(p.choice([0, 0, 0, 1, 1, 2, 3]))] + p.maybe(0.02, b"BOGUS")
    return Command(name, key(p), expiry_times(p, absolute, seconds), *options, *block(p), fixed=True)


def time_option(p):
    name = p.token(b"EX", b"PX", b"EXAT", b"PXAT")
    return [name, expiry_times(p, name.upper().endswith(b"AT"), name.upper()[:1] == b"E")]


def hsetex(p):
    options = []
    for _ in range(p.choice([0, 1, 1, 1, 2, 3])):
        options += p.choice([time_option(p), time_option(p), time_option(p), [p.token(b"KEEPTTL")],
                             [p.token(b"NX", b"XX", b"FNX", b"FXX")], [p.choice([b"PERSIST", b"GT", b"EX", b"GET"])]])
    return Command(b"HSETEX", key(p), *options, *block(p, pairs=True), fixed=True)


def hgetex(p):
    options = []
    for _ in range(p.choice([0, 1, 1, 1, 1, 2])):
        options += p.choice([time_option(p), time_option(p), [p.token(b"PERSIST")], [p.choice([b"KEEPTTL", b"NX", b"PX"])]])
    return Command(b"HGETEX", key(p), *options, *block(p), fixed=True)


def one_block(*names):
    return lambda p: Command(p.choice(names), key(p), *block(p))


def times(p):
    """They differ a little where they were given as so many seconds from now."""
    words = block(p)
    return Command(p.choice([b"HPTTL", b"HTTL", b"HEXPIRETIME", b"HPEXPIRETIME"]), key(p), *words,
                   how=["each", [TIME_MS] * (len(words) - 2)], fixed=True)


def over_soon(p):
    """Fields that have expired, and may still exist: no command may see them. Another field stays, so that the key
    does."""
    k, names = key(p), [p.choice(FIELDS) for _ in range(2)]
    soon = p.choice([Command(b"HPEXPIRE", k, 1, b"FIELDS", 2, *names, fixed=True),
                     Command(b"HSETEX", k, b"PX", 1, b"FIELDS", 1, names[0], p.value(), fixed=True)])
    after = p.choice([Command(b"HINCRBY", k, names[0], 1), Command(b"HINCRBYFLOAT", k, names[0], b"1.5"),
                      Command(b"HSETNX", k, names[0], b"x"), Command(b"HDEL", k, *names), Command(b"HSET", k, *names),
                      Command(b"HGETDEL", k, b"FIELDS", 1, names[0]), Command(b"HPERSIST", k, b"FIELDS", 2, *names),
                      Command(b"HSETEX", k, b"KEEPTTL", b"FIELDS", 1, names[0], b"x"),
                      Command(b"HGETEX", k, b"EX", 1000, b"FIELDS", 2, *names),
                      Command(b"HEXPIRE", k, 1000, b"FIELDS", 2, *names)])
    after.fixed = True
    return [Command(b"HSET", k, b"stays", b"1", fixed=True), soon, Command(b"~PAUSE", b"10", fixed=True),
            Command(b"HGETALL", k, how=SORTED), after, *everything_of(k), Command(b"DEL", k, fixed=True)]


def everything_of(k):
    return [Command(b"HGETALL", k, how=SORTED, fixed=True), Command(b"HMGET", k, *FIELDS, fixed=True),
            Command(b"HPTTL", k, b"FIELDS", len(FIELDS), *FIELDS, how=["each", [TIME_MS] * len(FIELDS)], fixed=True)]


def plain(p):
    f = field(p)
    return p.choice([Command(b"HSET", key(p), f, p.value()), Command(b"HSET", key(p), b"f0", b"1", b"f1", p.value(), b"f2", b"3"),
                     Command(b"HINCRBY", key(p), f, p.integer()), Command(b"HINCRBYFLOAT", key(p), f, b"0.5"),
                     Command(b"HSETNX", key(p), f, p.value()), Command(b"HDEL", key(p), f, field(p)), Command(b"HGET", key(p), f)])


def move(p):
    return p.choice([Command(b"RENAME", key(p), key(p)), Command(b"COPY", key(p), key(p), b"REPLACE"),
                     Command(b"EXPIRE", key(p), p.ttl_s()), Command(b"PERSIST", key(p)), Command(b"DEL", key(p))])


COMMANDS = [
    (12, hexpire), (14, hsetex), (8, hgetex), (3, one_block(b"HGETDEL")), (4, one_block(b"HPERSIST")),
    (7, times), (0.6, over_soon), (12, plain), (3, move),
    (2, lambda p: everything_of(key(p))),
]
