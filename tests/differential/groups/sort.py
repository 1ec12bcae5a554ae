"""sort.py - SORT and SORT_RO. Lists j0 j1, sets j2 j3, sorted sets j4 j5; weights w_<element>, hashes f_<element> with the
fields a and b; results in i0..i5.

Kept out of the streams: numbers that a double cannot hold (the oracle takes the error for that of all later commands,
too), and the order of equal weights under ALPHA, which is any."""
from compare import EXACT, SORTED
from stream import Command

# The oracle converts a sorted set that it sorts: so it is big from the start.
LIMITS = {b"zset-max-listpack-entries": [b"0"]}


def element(p):
    r = p.random()
    if r < 0.8:
        return b"%d" % p.randint(-3, 20)
    if r < 0.97:
        return p.choice([b"1.5", b"2.50", b"-0.5", b"1e3", b"0x10", b"inf", b"-inf", b"01", b"+1", b"", b" 1"])
    return p.choice([b"x", b"word", b"1 ", b"nan", b"1x", b"\xc3\xa9", b"Word"])


def number(p):
    return b"%d" % p.randint(-5, 5) if p.chance(0.5) else b"%.3f" % p.uniform(-100, 100)


def fill(p):
    kind, elements = p.randint(0, 5), [element(p) for _ in range(p.choice([1, 3, 10, 60]))]
    name = b"j%d" % kind
    made = [Command(b"DEL", name, fixed=True)]
    if kind < 2:
        made.append(Command(b"RPUSH", name, *elements))
    elif kind < 4:
        made.append(Command(b"SADD", name, *elements))
    else:
        made.append(Command(b"ZADD", name, *[word for e in dict.fromkeys(elements) for word in (number(p), e)]))
    made[-1].fixed = True  # else a set could get another name
    return made


def weights(p):
    made = []
    for _ in range(p.randint(1, 8)):
        e = element(p)
        value = number(p) if p.chance(0.98) else p.choice([b"abc", b"", b"7 "])
        made.append(p.choice([Command(b"SET", b"w_" + e, value), Command(b"HSET", b"f_" + e, b"a", value, b"b", p.value()),
                              Command(b"SET", b"w_" + e, value), Command(b"DEL", b"w_" + e), Command(b"DEL", b"f_" + e),
                              Command(b"HSET", b"w_" + e, b"a", b"1") if p.chance(0.1) else Command(b"EXISTS", b"w_" + e)]))
        made[-1].fixed = True
    return made


def pattern(p):
    return p.choice([b"w_*", b"w_*", b"f_*->a", b"f_*->b", b"f_*->a", b"*", b"w_*->a", b"f_*->", b"f_->*", b"*_*", b"const", b"none_*"])


def limit(p):
    return [p.token(b"LIMIT"), p.index(), p.index()]


def shuffled(p, groups):
    p.shuffle(groups)
    return [word for group in groups for word in group]


def sort(p):
    kind = p.randint(0, 5)
    is_set = kind in (2, 3)
    by = p.choice([None, None, b"w_*", b"w_*", b"f_*->a", b"none_*", b"nosort", b"nosort", b"f_*->b" if p.chance(0.1) else b"w_*"])
    alpha, store, read_only = p.chance(0.35), p.chance(0.15), p.chance(0.2)
    store = store and not read_only
    gets = [p.choice([b"#", pattern(p)]) for _ in range(p.choice([0, 0, 0, 1, 2, 3]))]
    limits = p.maybe(0.3, limit(p))
    any_order = by == b"nosort" and is_set and not store or alpha and by not in (None, b"nosort")
    if any_order:
        gets, limits, store = [], [], False
    groups = [[p.token(b"GET"), g] for g in gets] + limits
    groups += [[p.token(b"BY"), by]] if by else []
    groups += p.maybe(0.4, [p.token(b"DESC", b"ASC")])
    groups += [[p.token(b"ALPHA")]] if alpha else []
    groups += [[p.token(b"STORE"), p.key("i")]] if store else []
    return Command(b"SORT_RO" if read_only else b"SORT", b"j%d" % kind, *shuffled(p, groups),
                   how=SORTED if any_order else EXACT, fixed=is_set or alpha)


def from_script(p):
    return Command(b"EVAL", b"return redis.call('SORT', KEYS[1], 'BY', 'nosort')", 1, b"j%d" % p.randint(0, 5), fixed=True)


def getkeys(p):
    """Not for Valkey: of two STOREs it says the last one, and finds the word where it is a pattern."""
    if p.newer:
        return Command(b"COMMAND", b"GETKEYS", b"SORT", b"j1", *p.maybe(0.5, b"BY", b"w_*"), *p.maybe(0.5, b"LIMIT", b"0", b"1"), *p.maybe(0.5, b"STORE", b"i1"),
                       fixed=True)
    words = [p.choice([b"BY", b"GET", b"LIMIT", b"STORE", b"store", b"ASC", b"x", b"w_*", b"1"]) for _ in range(p.randint(0, 8))]
    return Command(b"COMMAND", p.choice([b"GETKEYS", b"GETKEYSANDFLAGS"]), p.choice([b"SORT", b"SORT_RO"]), b"j1", *words, fixed=True)


def other(p):
    return p.choice([Command(b"SORT", p.choice([b"w_1", b"f_1", b"nothing"]), *p.maybe(0.3, b"STORE", p.key("i"))),
                     Command(b"LRANGE", p.key("i"), 0, -1), Command(b"DEL", p.key("i")), Command(b"LLEN", p.key("i"))])


COMMANDS = [(12, fill), (12, weights), (70, sort), (2, from_script), (1, getkeys), (3, other)]
