"""list.py - commands on lists. Keys q0..q5; few different elements, so that searching finds some.

Limits are small, so that both sides split and join nodes.
"""
from compare import ENCODING
from stream import Command

LIMITS = {
    b"list-max-listpack-size": [b"1", b"2", b"3", b"5", b"20", b"128", b"-1", b"-2", b"-5"],
    b"list-compress-depth": [b"0", b"0", b"1", b"2", b"3"],
}

ODD = [b"", b"\x00\xff\r\n", b"007", b"-0", b"+5", b"3.5", b"9223372036854775807", b"-9223372036854775808",
       b"9223372036854775808", b"4095", b"4096", b"-4097", b"127", b"128", b"x" * 63, b"x" * 64, b"ab" * 63, b"y" * 300,
       b"z" * 1100, b"w" * 4090, b"v" * 9000]
BLOCK_S = b"0.01"


def element(p):
    r = p.random()
    if r < 0.06:
        return p.choice(ODD)
    if r < 0.5:
        return b"%d" % p.randint(-3, 12)
    return b"e%d" % p.randint(0, 12)


def key(p):
    return p.key("q")


def end(p):
    return p.token(b"LEFT", b"RIGHT", b"LEFT", b"RIGHT", b"LEFT", b"RIGHT", b"MIDDLE" if p.chance(0.02) else b"LEFT")


def index(p):
    return p.index() if p.chance(0.8) else b"%d" % p.randint(-80, 80)


def push(p):
    name = p.choice([b"LPUSH", b"RPUSH", b"LPUSH", b"RPUSH", b"LPUSHX", b"RPUSHX"])
    return Command(name, key(p), *[element(p) for _ in range(p.choice([1, 1, 1, 2, 3, 10]))])


def push_many(p):
    return Command(p.choice([b"LPUSH", b"RPUSH"]), key(p), *[element(p) for _ in range(p.choice([50, 120, 300]))])


def pop(p):
    return Command(p.choice([b"LPOP", b"RPOP"]), key(p),
                   *p.maybe(0.4, p.choice([b"0", b"1", b"2", b"3", b"7", b"40", b"-1", b"x"])))


def llen(p):
    return Command(b"LLEN", key(p))


def lindex(p):
    return Command(b"LINDEX", key(p), index(p))


def lrange(p):
    return Command(b"LRANGE", key(p), *([b"0", b"-1"] if p.chance(0.3) else [index(p), index(p)]))


def lset(p):
    """Not beyond 32 bits, which the oracle forgets."""
    at = index(p)
    return Command(b"LSET", key(p), at if len(at) < 9 else b"-1", element(p), fixed=True)


def linsert(p):
    return Command(b"LINSERT", key(p), p.token(b"BEFORE", b"AFTER", b"BEFORE", b"AFTER", b"BESIDE"), element(p), element(p))


def lrem(p):
    return Command(b"LREM", key(p), p.choice([b"0", b"1", b"-1", b"2", b"-2", b"3", b"-5", b"100", b"x"]), element(p))


def ltrim(p):
    """Rarely leaves a little only."""
    if p.chance(0.6):
        return Command(b"LTRIM", key(p), b"%d" % p.randint(0, 3), b"%d" % p.randint(-4, -1))
    return Command(b"LTRIM", key(p), index(p), index(p))


def lpos(p):
    options = []
    if p.chance(0.4):
        options += [p.token(b"RANK"), p.choice([b"1", b"2", b"-1", b"-2", b"3", b"0", b"x", b"9223372036854775807"])]
    if p.chance(0.4):
        options += [p.token(b"COUNT"), p.choice([b"0", b"1", b"2", b"5", b"-1", b"x"])]
    if p.chance(0.3):
        options += [p.token(b"MAXLEN"), p.choice([b"0", b"1", b"3", b"10", b"-1", b"x"])]
    return Command(b"LPOS", key(p), element(p), *options, *p.maybe(0.02, b"RANK"))


def move(p):
    if p.chance(0.3):
        return Command(b"RPOPLPUSH", key(p), key(p))
    return Command(b"LMOVE", key(p), key(p), end(p), end(p))


def several(p):
    """numkeys and keys; the number is wrong at times."""
    keys = p.keys("q", 1, 3)
    number = len(keys) if p.chance(0.96) else p.choice([0, -1, len(keys) + 1, len(keys) - 1, 1000000])
    return [b"%d" % number] + keys


def lmpop(p):
    return Command(b"LMPOP", *several(p), end(p),
                   *p.maybe(0.5, p.token(b"COUNT"), p.choice([b"1", b"2", b"5", b"30", b"0", b"-1", b"x"])))


def block(p):
    """No client waits long: there is an element, or the timeout is short, or it is an error."""
    timeout = BLOCK_S if p.chance(0.7) else p.choice([b"-1", b"abc", b"", b"nan"])
    r = p.random()
    if r < 0.4:
        return Command(p.choice([b"BLPOP", b"BRPOP"]), *p.keys("q", 1, 3), timeout, fixed=True)
    if r < 0.6:
        return Command(b"BLMOVE", key(p), key(p), end(p), end(p), timeout, fixed=True)
    if r < 0.75:
        return Command(b"BRPOPLPUSH", key(p), key(p), timeout, fixed=True)
    return Command(b"BLMPOP", timeout, *several(p), end(p), *p.maybe(0.3, b"COUNT", b"2"), fixed=True)


def encoding(p):
    return Command(b"OBJECT", b"ENCODING", key(p), how=ENCODING)


def whole(p):
    r = p.random()
    if r < 0.3:
        return Command(b"DEL", key(p))
    return Command(b"COPY", key(p), key(p), b"REPLACE") if r < 0.8 else Command(b"RENAME", key(p), key(p))


COMMANDS = [
    (26, push), (1, push_many), (7, pop), (3, llen), (8, lindex), (12, lrange), (9, lset), (9, linsert), (6, lrem),
    (3, ltrim), (8, lpos), (7, move), (3, lmpop), (0.7, block), (1.5, whole), (2, encoding),
]
