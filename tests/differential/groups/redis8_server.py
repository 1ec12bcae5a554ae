"""redis8_server.py - INFO keysizes, which Redis has had since 8.0, after writes of every kind, and the grammar of HOTKEYS START, STOP and
RESET. Keys i0..i4 in two databases.

What HOTKEYS GET shows are times and bytes of the moment; unit/server/hotkeys compares it with figures from Redis.

Memory (key-memory-histograms) is left out, since it depends on the server, and so is SETBIT: Redis 8.6.3 does not notice that it makes a
string longer.
"""
from stream import Command

LIMITS = {}
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 127, 128, 255, 511, 1023, 1024, 4095, 4096, 70000]  # not where embstr ends in one of them


def key(p):
    return b"i%d" % p.randint(0, 4)


def text(p):
    return b"x" * p.choice(SIZES)


def members(p, each=1):
    first = p.randint(0, 30)
    return [b"%d" % (first + i) for i in range(p.choice([1, 1, 2, 3, 5, 17, 40])) for _ in range(each)]


def string(p):
    k = key(p)
    return p.choice([Command(b"SET", k, text(p), fixed=True), Command(b"APPEND", k, text(p), fixed=True),
                     Command(b"SETRANGE", k, b"%d" % p.choice(SIZES), b"x", fixed=True), Command(b"INCRBY", k, b"%d" % p.choice([1, 999, 10**12]), fixed=True),
                     Command(b"SET", k, b"%d" % p.randint(-1000, 10**9), fixed=True)])


def container(p):
    k = key(p)
    name, each = p.choice([(b"RPUSH", 1), (b"LPUSH", 1), (b"SADD", 1), (b"ZADD", 2), (b"HSET", 2)])
    return Command(name, k, *members(p, each), fixed=True)


def less(p):
    k = key(p)
    return p.choice([Command(b"SREM", k, *members(p), fixed=True), Command(b"ZREM", k, *members(p), fixed=True), Command(b"HDEL", k, *members(p), fixed=True),
                     Command(b"LPOP", k, b"%d" % p.randint(1, 9), fixed=True), Command(b"LTRIM", k, b"0", b"%d" % p.randint(-3, 9), fixed=True),
                     Command(b"ZREMRANGEBYRANK", k, b"0", b"%d" % p.randint(0, 9), fixed=True)])


def whole(p):
    a, b = key(p), key(p)
    return p.choice([Command(b"DEL", a, fixed=True), Command(b"UNLINK", a, b, fixed=True), Command(b"RENAME", a, b, fixed=True),
                     Command(b"COPY", a, b, b"REPLACE", fixed=True), Command(b"MOVE", a, b"%d" % p.randint(0, 1), fixed=True),
                     Command(b"SUNIONSTORE", a, b, key(p), fixed=True), Command(b"ZUNIONSTORE", a, b"2", b, key(p), fixed=True),
                     Command(b"PFADD", a, b"a", fixed=True), Command(b"XADD", a, b"1-%d" % p.randint(1, 999999), b"f", b"v", fixed=True),
                     Command(b"SELECT", b"%d" % p.randint(0, 1), fixed=True), Command(b"SWAPDB", b"0", b"1", fixed=True)])


def start(p):
    metrics = p.choice([[b"METRICS", b"1", b"CPU"], [b"METRICS", b"1", b"NET"], [b"METRICS", b"2", b"NET", b"CPU"]])
    if p.chance(0.3):
        metrics = p.choice([[], [b"METRICS"], [b"METRICS", b"0"], [b"METRICS", b"1"], [b"METRICS", b"3", b"CPU", b"NET", b"x"], [b"METRICS", b"2", b"CPU"],
                            [b"METRICS", b"1", b"x"], [b"METRICS", b"2", b"CPU", b"cpu"], [b"METRICS", b"2", b"x", b"net"], [b"METRICS", b"x", b"CPU"],
                            [b"METRICS", b"1", b"CPU", b"NET"], [b"COUNT", b"5"], [b"METRICS", b"-1", b"CPU"]])
    numbers = [b"0", b"1", b"2", b"64", b"65", b"-1", b"x", b"", b"1000000", b"1000001", b"2147483647", b"2147483648", b"9223372036854775808"]
    long = numbers[:1] + numbers[5:]  # no session ends by itself during a run
    options = [word for _ in range(p.choice([0, 0, 0, 1, 1, 2])) for word in
               p.choice([[p.token(b"COUNT", b"SAMPLE", b"SLOTS", b"NOSUCH"), p.choice(numbers)], [p.token(b"DURATION"), p.choice(long)]])]
    options += p.maybe(0.05, p.choice([b"COUNT", b"SLOTS", b"x"]))
    return Command(b"HOTKEYS", p.token(b"START"), *metrics, *options, fixed=True)


def session(p):
    return Command(b"HOTKEYS", *p.choice([[p.token(b"STOP")], [p.token(b"STOP")], [p.token(b"RESET")], [b"STOP", b"x"], [b"RESET", b"x"], [b"NOSUCH"], []]), fixed=True)


def ask(p):
    return Command(b"INFO", p.token(b"KEYSIZES"), fixed=True)


COMMANDS = [(6, string), (10, container), (6, less), (5, whole), (0.05, lambda p: Command(b"FLUSHDB", fixed=True)), (10, ask), (3, start), (3, session)]
