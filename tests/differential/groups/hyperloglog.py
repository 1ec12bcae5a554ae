"""hyperloglog.py - HyperLogLogs. Keys h0..h5. Their bytes are compared, too: GET shows them."""
from stream import Command

# Without hll-sparse-max-bytes: the file has the added elements, not their encoding; read with another limit, it gives
# other bytes, which other commands on strings see.
LIMITS = {}


def key(p):
    return p.key("h")


def elements(p, most):
    spread = p.choice([10, 1000, 10**9])
    return [b"%d" % p.randint(0, spread) for _ in range(p.randint(0, most))]


def pfadd(p):
    return Command(b"PFADD", key(p), *elements(p, p.choice([1, 3, 10, 300])))


def pfcount(p):
    return Command(b"PFCOUNT", *[key(p) for _ in range(p.choice([1, 1, 2, 4]))])


def pfmerge(p):
    return Command(b"PFMERGE", *[key(p) for _ in range(p.randint(1, 4))])


def pfdebug(p):
    return Command(b"PFDEBUG", p.choice([b"ENCODING", b"DECODE", b"TODENSE", b"GETREG", b"DECODE", b"x"]), key(p), fixed=True)


def get(p):
    return Command(b"GET", key(p))


def spoil(p):
    return p.choice([Command(b"SET", key(p), b"HYLL" + bytes([p.randint(0, 3)]) + bytes(11)), Command(b"SETRANGE", key(p), b"4", b"\x07"),
                     Command(b"SET", key(p), b"text")])


def delete(p):
    return Command(b"DEL", key(p))


COMMANDS = [(30, pfadd), (15, pfcount), (6, pfmerge), (4, pfdebug), (8, get), (0.3, spoil), (3, delete)]
