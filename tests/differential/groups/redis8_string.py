"""redis8_string.py - what Redis 8 has for strings: DIGEST, DELEX and SET with conditions, MSETEX (8.4), BITOP DIFF, DIFF1, ANDOR and ONE (8.2).
Keys q0..q3.

Redis has messages of its own for DELEX of what is no string and for a wrong word after DELEX, accepts a second condition after IFNE,
IFDEQ and IFDNE, and sends two replies to SET with GET and a digest of a wrong length; that is left out, and so are wrong numbers of keys
of MSETEX, where 9.1 has other messages.
"""
from compare import TIME
from stream import Command

LIMITS = {}
TEXTS = [b"a", b"b", b"1", b"01", b"", b"x" * 200]
DIGESTS = [b"e6c632b61e964e1f", b"575a0b1c44d8843f", b"65cd25028f98f158", b"d39af2a02494d689", b"2d06800538d394c2", b"50ef124fb1e4de53"]


def key(p):
    return b"q%d" % p.randint(0, 3)


def digest(p):
    """Sometimes with capital letters, sometimes none."""
    text = p.choice(DIGESTS)
    return text if p.chance(0.8) else text.upper() if p.chance(0.5) else p.choice([b"0123456789abcdef", b"0123456789abcdeg", b"0x23456789abcdef"])


def condition(p):
    """For a value, or for a digest; in rare cases one of a wrong length."""
    if p.chance(0.5):
        return [p.token(b"IFEQ", b"IFNE"), p.choice(TEXTS)]
    return [p.token(b"IFDEQ", b"IFDNE"), digest(p) if p.chance(0.95) else p.choice([b"", b"abc", b"0123456789abcdef0"])]


def set_(p):
    options = [condition(p)]
    wrong = options[0][0].upper() in (b"IFDEQ", b"IFDNE") and len(options[0][1]) != 16
    options += p.maybe(0 if wrong else 0.3, [p.token(b"GET")])
    options += p.maybe(0.5, p.choice([[p.token(b"KEEPTTL")], [b"EX", p.ttl_s()], [b"PX", p.ttl_ms()], [b"EXAT", p.at_s()], [b"PXAT", p.at_ms()],
                                      [b"PXAT", b"1"], [b"EX", b"0"], [b"EX", b"x"]]))
    p.shuffle(options)
    words = [word for option in options for word in option]
    if p.chance(0.03):
        words = p.choice([[b"IFNE"], [b"IFEQ", b"a", b"IFNE", b"a"], [b"NX", b"IFNE", b"a"], [b"XX", b"IFNE", b"a"], [b"IFNE", b"a", b"nosuch"],
                          [b"IFDEQ"], [b"NX", b"IFDEQ", DIGESTS[0]], [b"XX", b"IFDNE", DIGESTS[0]], [b"IFEQ", b"a", b"IFDEQ", DIGESTS[0]]])
    k = key(p) if p.chance(0.97) else b"list"
    return [Command(b"SET", k, p.choice(TEXTS), *words, fixed=True), *p.maybe(0.2, Command(b"EXPIRETIME", k, how=TIME, fixed=True))]


def bitop(p):
    op = p.token(b"DIFF", b"DIFF1", b"ANDOR", b"ONE")
    keys = [p.choice([key(p), key(p), key(p), b"nosuch"]) for _ in range(p.choice([1, 2, 2, 3, 3, 5]))] + p.maybe(0.02, b"list")
    to = key(p) if p.chance(0.98) else b"list"
    return [Command(b"BITOP", op, to, *keys, fixed=True), Command(b"GET", to, fixed=True)]


def msetex(p):
    """Not with a time in the past: Redis removes the keys at once, Valkey when they are looked at."""
    keys = [key(p) for _ in range(p.randint(1, 4))]
    options = p.maybe(0.4, p.token(b"NX", b"XX")) + p.maybe(0.03, p.token(b"GET", b"PERSIST", b"IFDEQ"))
    options += p.maybe(0.5, *p.choice([[b"EX", p.ttl_s()], [b"PX", p.ttl_ms()], [b"EXAT", p.at_s()], [b"PXAT", p.at_ms()], [b"EX", b"0"], [b"EX", b"x"],
                                       [b"KEEPTTL"]]))
    return [Command(b"MSETEX", len(keys), *[x for k in keys for x in (k, p.choice(TEXTS))], *options, fixed=True),
            *p.maybe(0.2, Command(b"EXPIRETIME", keys[0], how=TIME, fixed=True))]


def fill(p):
    """Bytes of all kinds. No size that is embstr here and raw in Redis."""
    size = p.choice([1, 2, 3, 7, 8, 9, 31, 120, 300, 8191, 8192, 8193, 20000])
    return Command(b"SET", key(p), bytes(p.choice([0, 255, p.randint(0, 255)]) for _ in range(min(size, 300))) * (size // 300 + 1), fixed=True)


COMMANDS = [
    (10, set_), (5, lambda p: Command(b"DELEX", key(p), *condition(p), fixed=True)), (3, bitop), (3, fill), (2, msetex),
    (1, lambda p: Command(b"DELEX", p.choice([key(p), b"list"]), fixed=True)), (4, lambda p: Command(b"DIGEST", p.choice([key(p), key(p), b"list"]), fixed=True)),
    (1, lambda p: Command(b"DELEX", key(p), p.token(b"IFEQ", b"IFNE"), *p.choice([[], [b"a", b"b"]]), fixed=True)),
    (4, lambda p: Command(b"SET", key(p), p.choice(TEXTS), fixed=True)), (3, lambda p: Command(b"GET", key(p), fixed=True)),
    (0.2, lambda p: Command(b"RPUSH", b"list", b"x", fixed=True)), (0.2, lambda p: Command(b"DEL", key(p), fixed=True)),
]
