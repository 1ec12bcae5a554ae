"""redis8_string.py - DELEX with IFEQ and IFNE, and SET IFNE, which Redis has had since 8.4 and Valkey since 9.2. Keys q0..q3.

Redis also takes other words after DELEX, has a message of its own for DELEX of what is no string, and accepts a second condition
after IFNE; that is left out.
"""
from compare import TIME
from stream import Command

LIMITS = {}
TEXTS = [b"a", b"b", b"1", b"01", b"", b"x" * 200]


def key(p):
    return b"q%d" % p.randint(0, 3)


def set_(p):
    options = [[p.token(b"IFEQ", b"IFNE", b"IFNE"), p.choice(TEXTS)]]
    options += p.maybe(0.3, [p.token(b"GET")])
    options += p.maybe(0.5, p.choice([[p.token(b"KEEPTTL")], [b"EX", p.ttl_s()], [b"PX", p.ttl_ms()], [b"EXAT", p.at_s()], [b"PXAT", p.at_ms()],
                                      [b"PXAT", b"1"], [b"EX", b"0"], [b"EX", b"x"]]))
    p.shuffle(options)
    words = [word for option in options for word in option]
    if p.chance(0.03):
        words = p.choice([[b"IFNE"], [b"IFEQ", b"a", b"IFNE", b"a"], [b"NX", b"IFNE", b"a"], [b"XX", b"IFNE", b"a"], [b"IFNE", b"a", b"nosuch"]])
    k = key(p) if p.chance(0.97) else b"list"
    return [Command(b"SET", k, p.choice(TEXTS), *words, fixed=True), *p.maybe(0.2, Command(b"EXPIRETIME", k, how=TIME, fixed=True))]


COMMANDS = [
    (10, set_), (5, lambda p: Command(b"DELEX", key(p), p.token(b"IFEQ", b"IFNE"), p.choice(TEXTS), fixed=True)),
    (1, lambda p: Command(b"DELEX", key(p), p.token(b"IFEQ", b"IFNE"), *p.choice([[], [b"a", b"b"]]), fixed=True)),
    (4, lambda p: Command(b"SET", key(p), p.choice(TEXTS), fixed=True)), (3, lambda p: Command(b"GET", key(p), fixed=True)),
    (0.2, lambda p: Command(b"RPUSH", b"list", b"x", fixed=True)), (0.2, lambda p: Command(b"DEL", key(p), fixed=True)),
]
