"""string.py - commands on strings."""
from compare import ENCODING
from stream import Command

LIMITS = {b"proto-max-bulk-len": [b"1048576", b"536870912"]}


def expiry(p, *more):
    """An option that sets an expiry; rarely a wrong one."""
    r = p.random()
    if r < 0.2:
        return [p.token(b"EX"), p.ttl_s()]
    if r < 0.4:
        return [p.token(b"PX"), p.ttl_ms()]
    if r < 0.55:
        return [p.token(b"EXAT"), p.at_s()]
    if r < 0.7:
        return [p.token(b"PXAT"), p.at_ms()]
    if r < 0.75:
        return [p.token(b"EX", b"PX", b"EXAT", b"PXAT"), p.past()]
    if r < 0.8:
        return [p.token(b"EX", b"PX", b"EXAT", b"PXAT"), p.impossible_ttl()]
    return [p.token(*more)]


def set_(p):
    options = p.maybe(0.15, p.token(b"NX", b"XX")) + p.maybe(0.15, p.token(b"GET"))
    if p.chance(0.2):
        options += expiry(p, b"KEEPTTL")
    if p.chance(0.02):
        options += expiry(p, b"KEEPTTL", b"PERSIST")
    return Command(b"SET", p.key("s"), p.value(), *options)


def expires_soon(p):
    key = p.key("s")
    return [p.choice([Command(b"SET", key, p.value(), b"PX", b"2", fixed=True),
                      Command(b"PSETEX", key, b"1", p.value(), fixed=True),
                      Command(b"GETEX", key, b"PX", b"3", fixed=True)]),
            Command(b"~PAUSE", b"10", fixed=True), Command(b"EXISTS", key, fixed=True)]


def getex(p):
    """7.0 looks at the key before the time."""
    if not p.newer:
        return Command(b"GETEX", p.key("s"), *p.maybe(0.6, p.choice([b"EX", b"PX"]), p.ttl_s()))
    return Command(b"GETEX", p.key("s"), *(expiry(p, b"PERSIST") if p.chance(0.7) else []))


def setex(p):
    name, ttl = p.choice([(b"SETEX", p.ttl_s), (b"PSETEX", p.ttl_ms)])
    return Command(name, p.key("s"), ttl() if p.chance(0.8) else p.choice([p.past, p.impossible_ttl])(), p.value())


def number_key(p):
    return p.key("n" if p.chance(0.7) else "s")


def step(p):
    return Command(p.choice([b"INCR", b"DECR"]), number_key(p))


def one_key(name):
    return lambda p: Command(name, p.key("s"))


def key_value(name):
    return lambda p: Command(name, p.key("s"), p.value())


def incrby(p):
    return Command(p.choice([b"INCRBY", b"DECRBY"]), number_key(p), p.integer())


FLOATS = [b"0.1", b"0.2", b"1.5", b"-1", b"3", b"5e3", b"1e-5", b"1e308", b"-1e308", b"1e17", b"inf", b"-inf",
          b"nan", b"0x1p3", b" 1", b"1e5000", b"100.00000000000001", b".5", b"5.", b"1e", b"-0", b"123456789.987654321"]


def incrbyfloat(p):
    return Command(b"INCRBYFLOAT", number_key(p), p.choice(FLOATS) if p.chance(0.8) else p.value())


def set_number(p):
    """Back to something that can be counted up."""
    return Command(b"SET", p.key("n"), p.integer())


def getrange(p):
    return Command(p.choice([b"GETRANGE", b"SUBSTR"]), p.key("s"), p.index(), p.index())


def setrange(p):
    offset = p.randint(0, 20) if p.chance(0.9) else p.choice([-1, 600, 536870912, 4294967296, 9223372036854775807])
    value = p.value() if p.chance(0.9) else b""
    return Command(b"SETRANGE", p.key("s"), offset, value)


def reach(p):
    """To the end of the longest string, or just past it."""
    at = 1048576 + p.randint(-2, 2)
    if p.chance(0.3):
        return Command(b"SETBIT", p.key("s"), at * 8 + p.randint(-1, 1), b"1")
    return Command(b"SETRANGE", p.key("s"), at, p.value())


def lcs_text(p):
    """Few different letters, so that there is much in common."""
    return bytes(p.choices(b"abc", k=p.choice([0, 1, 5, 20, 70, 300])))


def lcs(p):
    keys = [p.key("s"), p.key("s")]
    options = p.maybe(0.2, p.token(b"LEN")) + p.maybe(0.6, p.token(b"IDX"))
    options += p.maybe(0.3, p.token(b"MINMATCHLEN"), p.index()) + p.maybe(0.3, p.token(b"WITHMATCHLEN"))
    p.shuffle(options) if p.chance(0.1) else None
    made = [Command(b"SET", key, lcs_text(p)) for key in keys] if p.chance(0.7) else []
    return made + [Command(b"LCS", *keys, *options)]


def mget(p):
    return Command(b"MGET", *p.keys("s", 1, 5))


def mset(p):
    name = b"MSET" if p.chance(0.7) else b"MSETNX"
    pairs = [item for key in p.keys("s", 1, 4) for item in (key, p.value())]
    return Command(name, *pairs)


def encoding(p):
    return Command(b"OBJECT", b"ENCODING", p.key("s"), how=ENCODING)


COMMANDS = [
    (20, set_), (1, expires_soon), (4, getex), (4, setex), (10, one_key(b"GET")), (7, step), (3, set_number), (6, incrby), (5, incrbyfloat), (5, key_value(b"APPEND")), (3, one_key(b"STRLEN")),
    (3, one_key(b"GETDEL")), (3, key_value(b"GETSET")), (3, key_value(b"SETNX")), (6, getrange), (5, setrange),
    (5, mget), (4, mset), (4, encoding), (3, lcs), (0.2, reach),
]
