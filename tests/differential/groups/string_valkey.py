"""string_valkey.py - what strings can do since redis 7.0: SET IFEQ, DELIFEQ, MSETEX; and times in the past, which delete
at once."""
from stream import Command

LIMITS = {}

TEXTS = [b"a", b"b", b"1", b"2", b"", b"x" * 70]


def key(p):
    return p.key("s")


def text(p):
    return p.choice(TEXTS)


def time_option(p):
    name = p.token(b"EX", b"PX", b"EXAT", b"PXAT")
    r, absolute, seconds = p.random(), name.upper().endswith(b"AT"), name.upper()[:1] == b"E"
    if r < 0.2:
        return [name, b"1" if absolute else p.past()]
    if r < 0.3:
        return [name, p.impossible_ttl()]
    if absolute:
        return [name, p.at_s() if seconds else p.at_ms()]
    return [name, p.ttl_s() if seconds else p.ttl_ms()]


def set_(p):
    options = []
    for _ in range(p.choice([0, 1, 1, 2, 2, 3])):
        options += p.choice([time_option(p), [p.token(b"IFEQ"), text(p)], [p.token(b"IFEQ"), text(p)], [p.token(b"GET")],
                             [p.token(b"NX", b"XX")], [p.token(b"KEEPTTL")]])
    return Command(b"SET", key(p), text(p), *options)


def msetex(p):
    keys = [key(p) for _ in range(p.randint(1, 4))]
    count = len(keys) if p.chance(0.93) else p.choice([0, -1, 1, 9, 2147483648, b"x", b""])
    options = p.maybe(0.4, p.token(b"NX", b"XX")) + p.maybe(0.1, p.token(b"NX", b"XX", b"GET", b"PERSIST"))
    options += time_option(p) if p.chance(0.5) else p.maybe(0.2, p.token(b"KEEPTTL"))
    # With a time in the past the keys stay until they are accessed, at different times on the two servers: so they
    # are accessed now.
    over = b"1" in options
    return [Command(b"MSETEX", count, *[x for k in keys for x in (k, text(p))], *options, fixed=over),
            *([Command(b"EXISTS", *keys, fixed=True)] if over else [])]


def past(p):
    """A time that is over; what is left is looked at."""
    k = key(p)
    name, when = p.choice([(b"EXPIREAT", b"1"), (b"PEXPIREAT", b"1"), (b"EXPIRE", p.past()), (b"PEXPIRE", b"0")])
    return [p.choice([Command(name, k, when, *p.maybe(0.4, p.token(b"NX", b"XX", b"GT", b"LT"))),
                      Command(b"GETEX", k, p.token(b"EXAT", b"PXAT"), b"1")]),
            Command(b"EXISTS", k, fixed=True)]


def getex(p):
    options = time_option(p) if p.chance(0.7) else [p.token(b"PERSIST")]
    return Command(b"GETEX", p.choice([key(p), b"nosuch"]), *options, *(time_option(p) if p.chance(0.1) else []))


def read(p):
    return Command(p.choice([b"GET", b"STRLEN"]), key(p))


COMMANDS = [
    (10, set_), (4, lambda p: Command(b"DELIFEQ", key(p), text(p))), (6, msetex), (3, past), (4, getex), (4, read),
    (2, lambda p: Command(b"SET", key(p), text(p))), (1, lambda p: Command(b"LPUSH", key(p), text(p))), (1, lambda p: Command(b"DEL", key(p))),
]
