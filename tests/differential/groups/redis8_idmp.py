"""redis8_idmp.py - idempotent XADD, XCFGSET and XIDMPRECORD of Redis 8.6. Keys i0..i3.

The IDs of the entries are in the future: so both servers choose the same next ID, and nothing is forgotten because of its age.
Redis looks at an entry that XIDMPRECORD names only where there is a record already; the order of such errors is the same here.
"""
from compare import RECORDS
from stream import Command

LIMITS = {b"stream-node-max-entries": [b"1", b"5", b"100"]}
FUTURE = b"9000000000000"
NAMES = [b"p", b"q", b"r", b"*", b"MAXLEN", b"1", b"01", b"\x00\r\n", b"x" * 100]
FIELDS = [b"a", b"b", b"ab", b"", b"1", b"f" * 300]


def key(p):
    return b"i%d" % p.choice([0, 0, 0, 1, 1, 2, 3]) if p.chance(0.98) else p.choice([b"itext", b"iabsent"])


def name(p):
    return p.choice(NAMES) if p.chance(0.8) else p.choice([b"", b"-1", b"p" * 30])


def pairs(p):
    words = []
    for _ in range(p.choice([1, 1, 1, 2, 2, 3])):
        words += [p.choice(FIELDS), p.choice(FIELDS)]
    return words if p.chance(0.98) else words[:-1]


def option(p):
    """Mostly few ids, so that there are duplicates."""
    if p.chance(0.4):
        return [p.token(b"IDMPAUTO"), name(p)]
    return [p.token(b"IDMP"), name(p), b"%d" % p.randint(0, 15) if p.chance(0.9) else name(p)]


def trim(p):
    return p.choice([[], [], [], [b"MAXLEN", b"%d" % p.randint(0, 30)], [b"MAXLEN", b"~", b"10", b"LIMIT", b"7"], [b"MINID", FUTURE + b"-5"], [b"LIMIT", b"5"]])


def xadd(p):
    """NOMKSTREAM: otherwise the clock would choose the first ID."""
    options = [[b"NOMKSTREAM"], option(p), trim(p)]
    if p.chance(0.03):
        options.append(option(p))
    p.shuffle(options)
    where = b"*" if p.chance(0.97) else p.choice([b"1-1", b"5-*", b"0-0", b"x", FUTURE + b"-*"])
    return Command(b"XADD", key(p), *[word for some in options for word in some], where, *pairs(p), fixed=True)


def begin(p):
    return Command(b"XADD", key(p), FUTURE + b"-%d" % p.choice([1, 1, 1, 50, 1000]), b"f", b"v", fixed=True)


def xcfgset(p):
    duration = [p.token(b"IDMP-DURATION"), p.choice([b"100", b"100", b"1", b"86400", b"50", b"0", b"86401", b"x"])]
    maxsize = [p.token(b"IDMP-MAXSIZE"), p.choice([b"100", b"100", b"1", b"2", b"3", b"5", b"10000", b"0", b"10001", b"-1"])]
    words = p.choice([duration, maxsize, maxsize, maxsize, duration + maxsize, maxsize + duration])
    if p.chance(0.05):
        words = p.choice([[], [b"NOSUCH", b"5"], words[:-1], duration + duration, words + [b"x"], words + words])
    return Command(b"XCFGSET", key(p), *words, fixed=True)


def xidmprecord(p):
    entry = FUTURE + b"-%d" % p.randint(1, 60) if p.chance(0.95) else p.choice([b"1-1", b"0-0", b"x", b"*", b"-", b"5"])
    return Command(b"XIDMPRECORD", key(p), name(p), b"%d" % p.randint(0, 15), entry, fixed=True)


def change(p):
    k = key(p)
    return p.choice([Command(b"XDEL", k, FUTURE + b"-%d" % p.randint(1, 60), fixed=True), Command(b"XTRIM", k, b"MAXLEN", b"%d" % p.randint(0, 20), fixed=True),
                     Command(b"COPY", k, key(p), b"REPLACE", fixed=True), Command(b"RENAME", k, key(p), fixed=True), Command(b"DEL", k, fixed=True),
                     Command(b"XSETID", k, FUTURE + b"-%d" % p.randint(1, 2000), fixed=True), Command(b"SET", b"itext", b"x", fixed=True)])


def look(p):
    k = key(p)
    return p.choice([Command(b"XINFO", b"STREAM", k, how=RECORDS, fixed=True), Command(b"XINFO", b"STREAM", k, b"FULL", how=RECORDS, fixed=True),
                     Command(b"XLEN", k, fixed=True), Command(b"XRANGE", k, b"-", b"+", fixed=True)])


COMMANDS = [(40, xadd), (6, begin), (3, xcfgset), (6, xidmprecord), (3, change), (10, look)]
