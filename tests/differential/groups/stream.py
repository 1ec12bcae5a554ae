"""stream.py - streams and consumer groups. Keys x0..x5, groups g0..g2, consumers c0..c3.

IDs are given, and mostly grow. How long an entry is pending depends on when a server ran a command, so what asks for that is
either always or never the case: entries are as good as new, or were claimed with a time far back. 7.0 creates a consumer only
when it gets something, so consumers are created before.
"""
from compare import RANDOM, STREAM
from stream import Command

LIMITS = {b"stream-node-max-entries": [b"0", b"1", b"2", b"5", b"10", b"100"],
          b"stream-node-max-bytes": [b"0", b"500", b"1000", b"4096"]}

AGE = 10**10            # of entries that are old
IDLE = [b"0", b"0", b"-5", b"%d" % (AGE // 2), b"%d" % (AGE * 2)]
ODD_IDS = [b"-", b"+", b"$", b"*", b">", b"0", b"0-0", b"007-01", b"18446744073709551615-18446744073709551615", b"5-",
           b"-5", b"18446744073709551616", b"1-1-1", b"abc", b"", b"(", b"5-*", b"18446744073709551615", b"+3", b" 4"]


def key(p):
    return b"x%d" % p.choice([0, 0, 0, 1, 1, 2, 3, 4, 5]) if p.chance(0.9) else p.key("x")


def group(p):
    return b"g%d" % p.choice([0, 0, 0, 0, 0, 0, 1, 1, 2])


def consumer(p):
    return b"c%d" % p.randint(0, 3)


def now(p):
    """Where the streams are about to be: IDs grow slowly over the whole run."""
    p.stream_clock = getattr(p, "stream_clock", 10) + p.choice([0] * 9 + [1])
    return p.stream_clock


def some_id(p, odd=0.04):
    if p.chance(odd):
        return p.choice(ODD_IDS)
    ms = max(0, getattr(p, "stream_clock", 10) - int(p.expovariate(0.4)) + p.randint(0, 1))
    return b"%d" % ms if p.chance(0.2) else b"%d-%d" % (ms, p.choice([0, 0, 0, 1, 1, 2, 3, 4, 5]))


def bound(p, end):
    if p.chance(0.4):
        return end
    return b"(" + some_id(p) if p.chance(0.2) else some_id(p)


def count(p):
    return p.maybe(0.4, p.token(b"COUNT"), p.choice([b"1", b"2", b"3", b"10", b"0", b"-1"] if p.chance(0.97) else [b"x", b""]))


def threshold(p):
    how = p.maybe(0.6, p.choice([b"=", b"~", b"~"]))
    limit = p.maybe(0.3 if how == [b"~"] else 0.02, p.token(b"LIMIT"), p.choice([b"0", b"1", b"3", b"10", b"30", b"-1", b"x"]))
    if p.chance(0.6):
        return [p.token(b"MAXLEN"), *how, p.choice([b"0", b"3", b"5", b"10", b"20", b"20", b"40", b"40", b"60", b"60", b"-1", b"x"]), *limit]
    return [p.token(b"MINID"), *how, some_id(p), *limit]


def fields(p):
    if p.chance(0.7):
        return [b"a", p.value(), b"b", p.value()][: p.choice([2, 4, 4])]
    return [x for _ in range(p.randint(1, 5)) for x in (p.value(), p.value())]


def xadd(p):
    r, ms = p.random(), now(p)
    if r < 0.55:
        id = b"%d-*" % ms
    elif r < 0.95:
        id = b"%d-%d" % (ms, p.choice([0, 1, 2, 3, 4, 5]))
    else:
        id = p.choice([i for i in ODD_IDS if i not in (b"*", b"18446744073709551615-18446744073709551615", b"18446744073709551615")])
    trim = threshold(p) if p.chance(0.2) else []
    return Command(b"XADD", key(p), *p.maybe(0.05, p.token(b"NOMKSTREAM")), *trim, id, *fields(p))


def xadd_many(p):
    k, shape = key(p), p.choice([[b"f", b"v"], [b"one", b"1", b"two", b"22"]])
    return [Command(b"XADD", k, b"%d-*" % now(p), *shape) for _ in range(p.randint(5, 60))]


def xadd_now(p):
    """What the time says is not compared; nor does it stay."""
    return [Command(b"XADD", b"now", *p.maybe(0.5, b"MAXLEN", b"2"), b"*", *fields(p), how=RANDOM, fixed=True),
            Command(b"XLEN", b"now", fixed=True), Command(b"DEL", b"now", fixed=True)]


def xadd_last(p):
    """At the end of all IDs."""
    k = p.choice([b"x4", b"x5"])
    top = b"18446744073709551615"
    return [Command(b"XADD", k, top + p.choice([b"-*", b"-18446744073709551614", b"-" + top]), b"f", b"v"),
            Command(b"XADD", k, p.choice([b"*", top + b"-*", top + b"-" + top]), b"f", b"v", how=RANDOM),
            Command(b"DEL", k, fixed=True)]


def xdel(p):
    return Command(b"XDEL", key(p), *[some_id(p, 0.01) for _ in range(p.choice([1, 2, 5, 10]))])


def xtrim(p):
    return Command(b"XTRIM", key(p), *threshold(p))


def xrange(p):
    if p.chance(0.5):
        return Command(b"XRANGE", key(p), bound(p, b"-"), bound(p, b"+"), *count(p))
    return Command(b"XREVRANGE", key(p), bound(p, b"+"), bound(p, b"-"), *count(p))


def xlen(p):
    return Command(b"XLEN", key(p))


def xread(p):
    keys = [key(p) for _ in range(p.choice([1, 1, 2, 3]))]
    ids = [b"$" if p.chance(0.05) else some_id(p, 0.01) for _ in keys]
    ids = [i if i != b"+" else b"0" for i in ids]  # which entry is the last after XDEL: ours and the oracle differ
    return Command(b"XREAD", *count(p), *p.maybe(0.02, b"BLOCK", p.choice([b"1", b"-1", b"x"])), p.token(b"STREAMS"), *keys, *ids,
                   fixed=True)


def xread_wrong(p):
    return Command(b"XREAD", *p.choice([[b"STREAMS", key(p)], [b"STREAMS", key(p), key(p), b"0"], [b"COUNT", b"STREAMS"],
                                        [b"NOACK", b"STREAMS", key(p), b"0"], [b"GROUP", b"g0", b"c0", b"STREAMS", key(p), b"0"],
                                        [b"STREAMS", key(p), b">"], [b"COUNT", b"1"], [b"FOO", b"STREAMS", key(p), b"0"]]),
                   fixed=True)


def with_consumer(keys, g, c, command):
    return [Command(b"XGROUP", b"CREATECONSUMER", k, g, c, fixed=True) for k in keys] + [command]


def xreadgroup(p):
    keys, g, c = [key(p) for _ in range(p.choice([1, 1, 1, 2]))], group(p), consumer(p)
    ids = [p.choice([b">", b">", b">", b"0", some_id(p, 0.01), b"$"]) for _ in keys]
    ids = [i if i != b"+" else b"0" for i in ids]
    return with_consumer(keys, g, c, Command(b"XREADGROUP", b"GROUP", g, c, *count(p), *p.maybe(0.02, b"BLOCK", b"1"),
                                             *p.maybe(0.1, p.token(b"NOACK")), b"STREAMS", *keys, *ids, fixed=True))


def xack(p):
    return Command(b"XACK", key(p), group(p), *[some_id(p, 0.01) for _ in range(p.choice([1, 3, 10]))])


def xgroup(p):
    r, k, g = p.random(), key(p), group(p)
    start = p.choice([b"0", b"0", b"$", some_id(p)])
    read = p.maybe(0.3, p.token(b"ENTRIESREAD"), p.choice([b"0", b"1", b"5", b"20", b"-1", b"-2", b"x"]))
    if r < 0.5:
        return Command(b"XGROUP", p.token(b"CREATE"), k, g, start, *p.maybe(0.3, p.token(b"MKSTREAM")), *read)
    if r < 0.75:
        return Command(b"XGROUP", p.token(b"SETID"), k, g, start, *read)
    if r < 0.8:
        return Command(b"XGROUP", b"DESTROY", k, g)
    if r < 0.9:
        return Command(b"XGROUP", b"CREATECONSUMER", k, g, consumer(p))
    return Command(b"XGROUP", b"DELCONSUMER", k, g, consumer(p))


def some_groups(p):
    return [Command(b"XGROUP", b"CREATE", b"x%d" % i, group(p), p.choice([b"0", b"0", b"$"])) for i in range(3)]


def xclaim(p):
    k, g, c = key(p), group(p), consumer(p)
    ids = [some_id(p, 0) for _ in range(p.choice([1, 2, 5, 10]))]
    options = [*p.maybe(0.3, p.token(b"FORCE")), *p.maybe(0.3, p.token(b"JUSTID")), *p.maybe(0.4, b"IDLE", AGE),
               *p.maybe(0.1, b"TIME", p.choice([b"100000", b"-1", b"99999999999999"])),
               *p.maybe(0.2, b"RETRYCOUNT", p.choice([b"0", b"7", b"-1"])), *p.maybe(0.1, b"LASTID", some_id(p, 0)),
               *p.maybe(0.02, p.choice([b"IDLE", b"FOO", b"LASTID"]), p.choice([b"x", b"-"]))]
    return with_consumer([k], g, c, Command(b"XCLAIM", k, g, c, p.choice(IDLE), *ids, *options, fixed=True))


def xclaim_wrong(p):
    return Command(b"XCLAIM", key(p), group(p), b"c0", *p.choice([[b"x", b"1-1"], [b"0", b"x"], [b"0", b"1-1", b"TIME"], [b"0"]]),
                   fixed=True)


def xautoclaim(p):
    k, g, c = key(p), group(p), consumer(p)
    start = p.choice([b"0", b"-", b"0-0", some_id(p), b"(" + some_id(p)])
    return with_consumer([k], g, c, Command(b"XAUTOCLAIM", k, g, c, p.choice(IDLE), start,
                                            *p.maybe(0.6, b"COUNT", p.choice([b"1", b"2", b"5", b"20", b"0", b"x"])),
                                            *p.maybe(0.3, p.token(b"JUSTID")), *p.maybe(0.02, b"FOO"), fixed=True))


def xpending(p):
    if p.chance(0.4):
        return Command(b"XPENDING", key(p), group(p))
    return Command(b"XPENDING", key(p), group(p), *p.maybe(0.3, p.token(b"IDLE"), p.choice(IDLE)), bound(p, b"-"), bound(p, b"+"),
                   p.choice([b"1", b"3", b"10", b"100", b"0", b"-1", b"x"]), *p.maybe(0.3, consumer(p)), how=STREAM)


def xinfo(p):
    r = p.random()
    if r < 0.3:
        return Command(b"XINFO", p.token(b"GROUPS"), key(p), how=STREAM)
    if r < 0.5:
        return Command(b"XINFO", p.token(b"CONSUMERS"), key(p), group(p), how=STREAM)
    full = p.maybe(0.5, p.token(b"FULL"), *p.maybe(0.5, b"COUNT", p.choice([b"0", b"1", b"5", b"-1", b"x"])))
    return Command(b"XINFO", p.token(b"STREAM"), key(p), *full, how=STREAM)


def xsetid(p):
    return Command(b"XSETID", key(p), some_id(p), *p.maybe(0.4, p.token(b"ENTRIESADDED"), p.choice([b"0", b"10", b"1000", b"-1", b"x"])),
                   *p.maybe(0.4, p.token(b"MAXDELETEDID"), some_id(p)))


def keyspace(p):
    return p.choice([Command(b"DEL", key(p)), Command(b"TYPE", key(p)), Command(b"RENAME", key(p), key(p)),
                     Command(b"COPY", key(p), key(p), b"REPLACE"), Command(b"EXISTS", key(p))])


COMMANDS = [
    (30, xadd), (1, xadd_many), (0.3, xadd_now), (0.2, xadd_last), (8, xdel), (3, xtrim), (8, xrange), (2, xlen), (5, xread),
    (1, xread_wrong), (12, xreadgroup), (6, xack), (6, xgroup), (2, some_groups), (7, xclaim), (0.5, xclaim_wrong), (4, xautoclaim), (5, xpending),
    (6, xinfo), (1, xsetid), (1, keyspace),
]
