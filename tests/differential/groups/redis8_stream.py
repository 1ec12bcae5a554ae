"""redis8_stream.py - XACKDEL and XDELEX, which Redis has had since 8.2 and Valkey since 9.2; XADD and XTRIM with a mode; XREADGROUP
CLAIM. Keys y0..y2, groups g0..g2. Only XCLAIM makes entries wait long enough to be claimed, each with a time of its own: what was
delivered within one millisecond is claimed by ID here, and in the order of delivery there.

The two differ where an acknowledging group has its own last ID moved back (there XGROUP SETID only moves to the end), and in the
message when the number of IDs is wrong (so it is right).
"""
from compare import STREAM
from stream import Command

LIMITS = {b"stream-node-max-entries": [b"1", b"2", b"5", b"100"]}
MODES = [[], [b"KEEPREF"], [b"DELREF"], [b"DELREF"], [b"ACKED"], [b"ACKED"]]


def key(p):
    return b"y%d" % p.choice([0, 0, 0, 0, 1, 2]) if p.chance(0.98) else p.choice([b"text", b"nosuch"])


def group(p):
    return b"g%d" % p.choice([0, 0, 0, 1, 1, 2]) if p.chance(0.98) else b"nosuch"


def clock(p, step):
    p.redis8_clock = getattr(p, "redis8_clock", 1) + step
    return p.redis8_clock


def ids(p):
    at = clock(p, 0)
    some = [b"%d" % max(0, at + 1 - int(p.expovariate(0.1))) for _ in range(p.choice([1, 1, 2, 5, 12]))]
    return [b"%b-%d" % (i, p.choice([0, 0, 0, 1])) if p.chance(0.5) else i for i in some]


def numbered(p):
    some = ids(p)
    count = len(some) if p.chance(0.98) else p.choice([b"0", b"-1", b"x", b"9223372036854775808"])
    if p.chance(0.02):
        some[p.randrange(len(some))] = p.choice([b"x", b"-", b"", b"1-x"])
    return [p.token(b"IDS"), count, *some]


def mode(p):
    words = p.choice(MODES) if p.chance(0.98) else p.choice([[b"NOSUCH"], [b"ACKED", b"DELREF"]])
    return [p.token(word) for word in words]


def xackdel(p):
    return Command(b"XACKDEL", key(p), group(p), *mode(p), *numbered(p), fixed=True)


def xdelex(p):
    return Command(b"XDELEX", key(p), *mode(p), *numbered(p), fixed=True)


def xadd(p):
    k = key(p)
    return [Command(b"XADD", k, b"%d-0" % clock(p, 1), b"f", b"v", fixed=True) for _ in range(p.choice([1, 3, 10]))]


def trim(p):
    """A strategy, its threshold, perhaps a limit, and a mode, in any order."""
    near = p.choice([0, 1, 2, 3, 5, 8, 12, 30])
    strategy = [p.token(b"MAXLEN")] if p.chance(0.6) else [p.token(b"MINID")]
    threshold = near if strategy[0].lower() == b"maxlen" else max(0, clock(p, 0) - near)
    operator = p.choice([[], [b"="], [b"~"], [b"~"]])
    parts = [[*strategy, *operator, threshold], mode(p)]
    if operator == [b"~"] or p.chance(0.02):
        parts.append(p.maybe(0.4, b"LIMIT", p.choice([0, 1, 2, 3, 5, 7, 10])))
    if p.chance(0.03):
        parts.append(p.choice([mode(p), [b"LIMIT", b"x"], [b"NOMKSTREAM"]]))
    p.shuffle(parts)
    return [word for part in parts for word in part]


def xadd_trim(p):
    at = b"%d-0" % clock(p, 1)
    return Command(b"XADD", key(p), *(trim(p) if p.chance(0.9) else mode(p)), at, b"f", b"v", fixed=True)


def xtrim(p):
    return Command(b"XTRIM", key(p), *trim(p), fixed=True)


def xreadgroup(p):
    return Command(b"XREADGROUP", b"GROUP", group(p), b"c%d" % p.randint(0, 1), b"COUNT", p.randint(1, 12), b"STREAMS", key(p), b">", fixed=True)


def xclaim(p):
    p.redis8_idle = getattr(p, "redis8_idle", 1000) + 1
    idle_ms = 100000 * (p.redis8_idle if p.chance(0.5) else 10**7 - p.redis8_idle)
    return Command(b"XCLAIM", key(p), group(p), b"c%d" % p.randint(0, 1), 0, b"%d-0" % max(1, clock(p, 0) - p.randint(0, 20)), b"IDLE", idle_ms,
                   *p.maybe(0.3, b"RETRYCOUNT", p.randint(0, 9)), b"JUSTID", fixed=True)


def xreadgroup_claim(p):
    least = 10**8 if p.chance(0.97) else p.choice([b"-1", b"x", b"9223372036854775807", b"1.5", 10**10])
    options = [[p.token(b"GROUP"), group(p), b"c%d" % p.randint(0, 1)], [p.token(b"CLAIM"), least], p.maybe(0.7, b"COUNT", p.randint(0, 8)), p.maybe(0.1, b"NOACK")]
    p.shuffle(options)
    keys = [key(p) for _ in range(p.choice([1, 1, 1, 2]))]
    after = sorted([p.choice([b">"] * 9 + [b"0"]) for _ in keys], reverse=True)  # behind a history nothing is claimed there
    return Command(b"XREADGROUP", *[word for option in options for word in option], b"STREAMS", *keys, *after, how=STREAM, fixed=True)


def xgroup(p):
    k, g = key(p), group(p)
    return p.choice([Command(b"XGROUP", b"CREATE", k, g, p.choice([b"0", b"0", b"$"]), b"MKSTREAM", fixed=True),
                     Command(b"XGROUP", b"CREATE", k, g, b"0", b"MKSTREAM", fixed=True),
                     Command(b"XGROUP", b"SETID", k, g, b"$", fixed=True)])


def destroy(p):
    return p.choice([Command(b"XGROUP", b"DESTROY", key(p), group(p), fixed=True), Command(b"DEL", key(p), fixed=True),
                     Command(b"SET", b"text", b"x", fixed=True)])


def look(p):
    k = key(p)
    return p.choice([Command(b"XPENDING", k, group(p), b"-", b"+", b"100", how=STREAM, fixed=True), Command(b"XRANGE", k, b"-", b"+", fixed=True),
                     Command(b"XINFO", b"STREAM", k, how=STREAM, fixed=True), Command(b"XINFO", b"STREAM", k, b"FULL", how=STREAM, fixed=True),
                     Command(b"XLEN", k, fixed=True)])


COMMANDS = [
    (14, xadd), (20, xreadgroup), (5, xadd_trim), (10, xtrim), (12, xclaim), (12, xreadgroup_claim), (14, xackdel), (14, xdelex), (5, lambda p: Command(b"XACK", key(p), group(p), *ids(p), fixed=True)),
    (3, lambda p: Command(b"XDEL", key(p), *ids(p), fixed=True)), (5, xgroup), (0.4, destroy), (8, look),
]
