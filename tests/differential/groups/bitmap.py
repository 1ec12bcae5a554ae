"""bitmap.py - commands on bits. Keys b0..b5, and the strings s0..s5."""
from stream import Command

LIMITS = {}
OFFSETS = [b"0", b"1", b"7", b"8", b"31", b"63", b"64", b"100", b"1000", b"9999"]
BAD_OFFSETS = [b"-1", b"abc", b"", b"4294967296", b"99999999999999999999", b"1.5"]


def key(p):
    return p.key(p.choice("bbbbs"))


def offset(p):
    r = p.random()
    return b"%d" % p.randint(0, 300) if r < 0.7 else p.choice(OFFSETS) if r < 0.97 else p.choice(BAD_OFFSETS)


def setbit(p):
    return Command(b"SETBIT", key(p), offset(p), p.choice([b"0", b"1", b"1", b"1"] * 6 + [b"2", b"x"]))


def getbit(p):
    return Command(b"GETBIT", key(p), offset(p))


def fill(p):
    return Command(b"SET", p.key("b"), bytes([p.choice([0, 255, p.randint(0, 255)]) for _ in range(p.choice([0, 1, 3, 8, 40, 300]))]))


def bounds(p):
    edge = [p.choice([p.integer() if p.newer else p.index(), b"%d" % p.randint(-20, 20), b"%d" % p.randint(-320, 320)]) for _ in range(2)]
    return edge + p.maybe(0.6, p.token(b"BYTE", b"BIT"))


def bitcount(p):
    """Not damaged for 7.0, which does not take a start without an end."""
    edges = [p.index()] if p.newer and p.chance(0.1) else bounds(p) if p.chance(0.7) else []
    return Command(b"BITCOUNT", key(p), *edges, fixed=not p.newer)


def bitpos(p):
    bit = p.choice([b"0", b"1"] * 8 + [b"2", b"x"])
    r = p.random()
    return Command(b"BITPOS", key(p), bit, *(bounds(p) if r < 0.6 else [p.index()] if r < 0.8 else []))


def bitop(p):
    op = p.token(b"AND", b"OR", b"XOR", b"NOT")
    count = 1 if op.upper() == b"NOT" and p.chance(0.9) else p.randint(1, 5)
    return Command(b"BITOP", op, p.key("b"), *[key(p) for _ in range(count)])


def field_type(p):
    return b"%s%d" % (p.choice([b"i", b"u"]), p.choice([1, 2, 3, 5, 7, 8, 8, 9, 16, 31, 32, 33, 62, 63]))


def field_offset(p):
    return p.choice([b"", b"#"]) + b"%d" % p.randint(0, 60)


def field_value(p):
    """Not the lowest integer: saturating SET of it to 63 bits or fewer goes wrong in the oracles."""
    v = p.choice([p.integer(), b"%d" % p.randint(-300, 300), b"9223372036854775807", b"-9223372036854775", b"255"])
    return b"0" if v == b"-9223372036854775808" else v


def operation(p, only_get=False):
    r = p.random()
    if r < 0.3 or only_get:
        return [p.token(b"GET"), p.choice([field_type(p), b"i64"]), field_offset(p)]
    return (p.maybe(0.4, p.token(b"OVERFLOW"), p.token(b"WRAP", b"SAT", b"FAIL")) +
            [p.token(b"SET", b"INCRBY"), p.choice([field_type(p)] * 9 + [b"i64"]), field_offset(p), field_value(p)])


def bitfield(p):
    args = [a for _ in range(p.randint(0, 4)) for a in operation(p)]
    return Command(b"BITFIELD", key(p), *args)


def bitfield_bad(p):
    return Command(b"BITFIELD", key(p), *p.choice([[b"GET", b"u64", b"0"], [b"GET", b"i65", b"0"], [b"GET", b"x8", b"0"], [b"GET", b"i0", b"0"],
                                                   [b"GET", b"i8", b"#-1"], [b"SET", b"i8", b"0"], [b"OVERFLOW", b"no"],
                                                   [b"GET", b"i8", b"99999999999"], [b"INCRBY", b"i8", b"0", b"x"]]))


def bitfield_ro(p):
    return Command(b"BITFIELD_RO", key(p), *[a for _ in range(p.randint(0, 3)) for a in operation(p, p.chance(0.9))])


def read(p):
    return Command(b"GET", p.key("b"))


COMMANDS = [(20, setbit), (5, getbit), (8, fill), (12, bitcount), (12, bitpos), (10, bitop), (14, bitfield), (2, bitfield_bad),
            (3, bitfield_ro), (6, read)]
