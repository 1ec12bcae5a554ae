"""zset.py - commands on sorted sets. Few scores, so that many members share one and order by name matters.

Ranges of names are only defined where all scores are equal. So they have keys of their own, l0..l3, in which nothing
ever gets a score other than 0.
"""
from compare import DISTINCT, ENCODING, FLOAT, PAIRS, RANDOM
from stream import Command

LIMITS = {
    b"zset-max-listpack-entries": [b"0", b"1", b"3", b"8", b"20", b"128"],
    b"zset-max-listpack-value": [b"0", b"1", b"8", b"64", b"100"],
}

ODD_MEMBERS = [b"", b"\x00\xff\r\n", b"12", b"-5", b"007", b"9223372036854775807", b"3.25", b"x" * 8, b"x" * 9, b"y" * 64,
               b"y" * 65, b"z" * 100, b"w" * 300, b"M1", b"m"]
SCORES = [b"0", b"1", b"1", b"2", b"3", b"-1", b"-0", b"0.1", b"2.5", b"3.3", b"1e3", b"inf", b"-inf", b"+inf", b"Infinity",
          b"1e17", b"-1.7976931348623157e308", b"5e-324", b"0.30000000000000004", b"9007199254740993", b"1e100", b"0x1p3"]
BAD_SCORES = [b"nan", b"abc", b"", b"1e400", b"1e-400", b"1 ", b" 1", b"(1", b"1.5.5", b"-"]
BLOCK_S = b"0.01"


def member(p):
    r = p.random()
    if r < 0.1:
        return p.choice(ODD_MEMBERS)
    return b"m%d" % int(p.random() * (25 if r < 0.9 else 200))


def members(p, count):
    return p.once([member(p) for _ in range(count)])


def score(p):
    r = p.random()
    if r < 0.65:
        return b"%d" % p.randint(-3, 8)
    if r < 0.75:
        return repr(p.uniform(-10, 10)).encode()
    made = p.choice(SCORES) if r < 0.985 else p.choice(BAD_SCORES)
    return b"8" if made in (b"0x1p3", b" 1") and not p.newer else made  # numbers in 7.0


def key(p):
    return p.key("z")


def zadd(p):
    options = p.maybe(0.15, p.token(b"NX", b"XX")) + p.maybe(0.15, p.token(b"GT", b"LT")) + p.maybe(0.2, p.token(b"CH"))
    count = p.choice([1, 1, 2, 4, 8, 20])
    if p.chance(0.08):
        options.append(p.token(b"INCR"))
        count = 1 if p.chance(0.9) else 2
    pairs = [x for m in members(p, count) for x in (score(p), m)]
    return Command(b"ZADD", key(p), *options, *pairs, how=FLOAT)


def zadd_some(p):
    """Enough members to be added in bulk, some of them twice, with every option."""
    pairs = [x for _ in range(p.randint(4, 60)) for x in (score(p), p.choice([member(p), b"m%d" % p.randint(0, 80)]))]
    return Command(b"ZADD", key(p), *p.choice([[], [], [b"NX"], [b"XX"], [b"GT"], [b"LT", b"CH"], [b"CH"], [b"XX", b"GT", b"CH"]]), *pairs, how=FLOAT)


def zadd_many(p):
    """Past the default limit of a listpack in one go."""
    start = p.randint(0, 50)
    return Command(b"ZADD", key(p), *[x for i in range(p.randint(120, 140)) for x in (score(p), b"m%d" % (start + i))],
                   how=FLOAT)


def zincrby(p):
    return Command(b"ZINCRBY", key(p), score(p), member(p), how=FLOAT)


def zrem(p):
    return Command(b"ZREM", key(p), *[member(p) for _ in range(p.choice([1, 1, 2, 6]))])


def zscore(p):
    return Command(b"ZSCORE", key(p), member(p), how=FLOAT)


def zmscore(p):
    return Command(b"ZMSCORE", key(p), *[member(p) for _ in range(p.randint(1, 5))], how=FLOAT)


def zcard(p):
    return Command(b"ZCARD", key(p))


def zrank(p):
    score = p.maybe(0.3, p.choice([b"WITHSCORE", b"withscore", b"WITHSCORE", b"WITHSCORES"])) if p.newer else []
    return Command(p.choice([b"ZRANK", b"ZREVRANK"]), key(p), member(p), *score, fixed=not p.newer)


def score_bound(p):
    if p.chance(0.15):
        return p.choice([b"-inf", b"+inf", b"(inf", b"(-inf"])
    bound = (b"(" if p.chance(0.3) else b"") + score(p)
    return b"0" if bound in (b"", b"(") else bound  # 9.2 refuses them, 9.1.2 reads 0


def number(bound):
    try:
        return float(bound.lstrip(b"("))
    except ValueError:
        return 0.0


def score_range(p, reverse=False):
    return p.ordered([score_bound(p), score_bound(p)], number, reverse)


def rank_range(p):
    return p.ordered([p.index(), p.index()], lambda index: int(index) % 25)


def limit(p, probability):
    """Valkey's answer to a negative offset depends on the encoding."""
    return p.maybe(probability, p.token(b"LIMIT"), b"%d" % p.randint(0 if p.newer else -2, 6), b"%d" % p.randint(-2, 8))


def zcount(p):
    return Command(b"ZCOUNT", key(p), *score_range(p))


def with_scores(p, probability=0.4):
    return p.maybe(probability, p.token(b"WITHSCORES"))


def range_and_options(p):
    """What follows the key in ZRANGE; rarely wrong."""
    reverse = p.chance(0.35)
    if p.chance(0.55):
        words, bounds = p.maybe(0.02, b"BYSCORE"), rank_range(p)
    else:
        words, bounds = [p.token(b"BYSCORE")], score_range(p, reverse)
    return bounds + words + ([p.token(b"REV")] if reverse else []) + limit(p, 0.35 if words else 0.03)


def zrange(p):
    return Command(b"ZRANGE", key(p), *range_and_options(p), *with_scores(p), how=FLOAT)


def zrangestore(p):
    return Command(b"ZRANGESTORE", key(p), key(p), *range_and_options(p), *with_scores(p, 0.01))


def zrange_old(p):
    if p.chance(0.4):
        return Command(b"ZREVRANGE", key(p), *rank_range(p), *with_scores(p), how=FLOAT)
    name = p.choice([b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE"])
    bounds = score_range(p, name == b"ZREVRANGEBYSCORE")
    return Command(name, key(p), *bounds, *with_scores(p), *limit(p, 0.4), how=FLOAT)


def lex_key(p):
    return b"l%d" % p.randint(0, 3)


def lex_bound(p):
    if p.chance(0.25):
        return p.choice([b"-", b"+"])
    if p.chance(0.04):
        return p.choice([b"m1", b"", b"++", b"(", b"["])
    return p.choice([b"(", b"["]) + member(p)


LEX_ENDS = {b"-": b"\0", b"+": b"\xff" * 9}


def lex_range(p, reverse=False):
    return p.ordered([lex_bound(p), lex_bound(p)], lambda bound: LEX_ENDS.get(bound, bound[1:]), reverse)


def lex_change(p):
    pairs = [x for m in members(p, p.choice([1, 2, 5, 20])) for x in (b"0", m)]
    if p.chance(0.02):
        return Command(b"SET", lex_key(p), b"wrong type", fixed=True)
    if p.chance(0.04):
        return Command(b"DEL", lex_key(p), fixed=True)
    if p.chance(0.2):
        return Command(b"ZREM", lex_key(p), *pairs[1::2], fixed=True)
    return Command(b"ZADD", lex_key(p), *pairs, fixed=True)


def lex_command(p):
    r = p.random()
    if r < 0.2:
        return Command(b"ZLEXCOUNT", lex_key(p), *lex_range(p), fixed=True)
    if r < 0.25:
        return Command(b"ZREMRANGEBYLEX", lex_key(p), *lex_range(p), fixed=True)
    if r < 0.6:
        name = p.choice([b"ZRANGEBYLEX", b"ZREVRANGEBYLEX"])
        return Command(name, lex_key(p), *lex_range(p, name == b"ZREVRANGEBYLEX"), *limit(p, 0.4), fixed=True)
    reverse = p.chance(0.35)
    options = [p.token(b"BYLEX")] + ([p.token(b"REV")] if reverse else []) + limit(p, 0.4) + with_scores(p, 0.03)
    if r < 0.9:
        return Command(b"ZRANGE", lex_key(p), *lex_range(p, reverse), *options, fixed=True)
    return Command(b"ZRANGESTORE", lex_key(p), lex_key(p), *lex_range(p, reverse), *options, fixed=True)


def zremrange(p):
    name, bounds = p.choice([(b"ZREMRANGEBYRANK", rank_range), (b"ZREMRANGEBYSCORE", score_range)])
    return Command(name, key(p), *bounds(p))


def zpop(p):
    return Command(p.choice([b"ZPOPMIN", b"ZPOPMAX"]), key(p),
                   *p.maybe(0.5, p.choice([b"0", b"1", b"2", b"3", b"-1", b"x"])), how=FLOAT)


def several(p, low=1, high=3):
    """numkeys and keys; the number is wrong at times."""
    keys = p.keys("z", low, high)
    number = len(keys) if p.chance(0.96) else p.choice([0, -1, len(keys) + 1, len(keys) - 1, 1000000, "x"])
    return [b"%d" % number if isinstance(number, int) else b"x"] + keys


def zmpop(p):
    return Command(b"ZMPOP", *several(p), p.token(b"MIN", b"MAX"),
                   *p.maybe(0.4, p.token(b"COUNT"), p.choice([b"1", b"2", b"30", b"0", b"-1", b"x"])), how=FLOAT)


def bzpop(p):
    """No client waits long: there is a member, or the timeout is short, or it is an error."""
    timeout = BLOCK_S if p.chance(0.7) else p.choice([b"-1", b"abc", b"", b"nan"])
    if p.chance(0.4):
        return Command(b"BZMPOP", timeout, *several(p), p.token(b"MIN", b"MAX"),
                       *p.maybe(0.3, b"COUNT", b"2"), how=FLOAT, fixed=True)
    return Command(p.choice([b"BZPOPMIN", b"BZPOPMAX"]), *p.keys("z", 1, 3), timeout, how=FLOAT, fixed=True)


def combination_options(p, keys):
    options = []
    if p.chance(0.4):
        count = len(keys) - 1 if p.chance(0.95) else len(keys)
        options += [p.token(b"WEIGHTS")] + [p.choice([b"1", b"2", b"0", b"-1.5", b"inf", b"x" if p.chance(0.1) else b"3"])
                                            for _ in range(count)]
    return options + p.maybe(0.4, p.token(b"AGGREGATE"), p.token(b"SUM", b"MIN", b"MAX", b"AVG" if p.chance(0.1) else b"SUM"))


def combine(p):
    name, keys = p.choice([b"ZUNION", b"ZINTER", b"ZDIFF"]), several(p)
    options = combination_options(p, keys) if name != b"ZDIFF" or p.chance(0.03) else []
    return Command(name, *keys, *options, *with_scores(p), how=FLOAT)


def combine_store(p):
    name, keys = p.choice([b"ZUNIONSTORE", b"ZINTERSTORE", b"ZDIFFSTORE"]), several(p)
    options = combination_options(p, keys) if name != b"ZDIFFSTORE" or p.chance(0.03) else []
    return Command(name, key(p), *keys, *options, *with_scores(p, 0.01))


def zintercard(p):
    return Command(b"ZINTERCARD", *several(p), *p.maybe(0.4, p.token(b"LIMIT"), p.choice([b"0", b"1", b"2", b"-1", b"x"])))


def zrandmember(p):
    r = p.random()
    if r < 0.3:
        return Command(b"ZRANDMEMBER", key(p), how=RANDOM)
    if r < 0.6:
        return Command(b"ZRANDMEMBER", key(p), p.choice([b"0", b"1", b"3", b"10", b"1000", b"9223372036854775807"]),
                       how=DISTINCT, fixed=True)
    count = p.choice([b"0", b"1", b"5", b"-1", b"-7", b"-30", b"x", b"-9223372036854775808"])
    return Command(b"ZRANDMEMBER", key(p), count, *with_scores(p), how=RANDOM)


def zscan(p):
    options = p.maybe(0.3, b"MATCH", p.choice([b"*", b"m1*", b"m?", b"[^m]*", b"nothing"]))
    if p.chance(0.3):
        return Command(b"~SCAN", b"ZSCAN", key(p), *options, *p.maybe(0.6, b"COUNT", p.randint(1, 40)), how=PAIRS,
                       fixed=True)
    return Command(b"ZSCAN", key(p), p.choice([b"0"] * 9 + [b"abc"]), *options, b"COUNT",
                   p.choice([b"1000"] * 8 + [b"0", b"x"]), how=PAIRS, fixed=True)


def encoding(p):
    return Command(b"OBJECT", b"ENCODING", key(p), how=ENCODING)


def delete(p):
    return Command(b"DEL", key(p))


COMMANDS = [
    (30, zadd), (1.2, zadd_many), (2, zadd_some), (6, zincrby), (8, zrem), (6, zscore), (3, zmscore), (3, zcard), (7, zrank),
    (4, zcount), (5, lex_change), (7, lex_command), (12, zrange), (2, zrangestore), (9, zrange_old), (2, zremrange), (4, zpop),
    (2, zmpop), (0.5, bzpop), (7, combine), (3, combine_store), (3, zintercard), (4, zrandmember), (1.5, zscan),
    (3, encoding), (0.5, delete),
]
