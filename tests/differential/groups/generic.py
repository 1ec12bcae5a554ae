"""generic.py - commands on keys of any type, and expiry."""
from compare import ENCODING, RANDOM, SCAN, SORTED, TIME, TIME_MS
from groups import zset
from stream import Command

LIMITS = {b"maxmemory-policy": [b"noeviction", b"allkeys-lru", b"allkeys-lfu", b"volatile-lfu", b"volatile-ttl"]}
PATTERNS = [b"*", b"s*", b"z?", b"?[0-2]", b"[^s]*", b"k[12]", b"", b"s1", b"[a-", b"\\s0", b"*0*", b"**0", b"nothing"]
TYPES = [b"string", b"zset", b"list", b"hash", b"set", b"stream", b"STRING"]


def any_key(p):
    return p.key(p.choice("sssnzzzk"))


def make(p):
    """Something to work with, when this group is alone."""
    if p.chance(0.5):
        return Command(b"SET", p.key("s"), p.value())
    return zset.zadd(p)


def delete(p):
    return Command(p.choice([b"DEL", b"UNLINK"]), *[any_key(p) for _ in range(p.randint(1, 3))])


def count(p):
    return Command(p.choice([b"EXISTS", b"TOUCH"]), *[any_key(p) for _ in range(p.randint(1, 4))])


def type_(p):
    return Command(b"TYPE", any_key(p))


def expire(p):
    name, ttl = p.choice([(b"EXPIRE", p.ttl_s), (b"PEXPIRE", p.ttl_ms), (b"EXPIREAT", p.at_s),
                          (b"PEXPIREAT", p.at_ms)])
    r = p.random()
    when = ttl() if r < 0.9 else p.past() if r < 0.95 else p.impossible_ttl()
    return Command(name, any_key(p), when, *p.maybe(0.4, p.token(b"NX", b"XX", b"GT", b"LT")),
                   *p.maybe(0.05, p.token(b"NX", b"XX", b"GT", b"LT")))


def expires_soon(p):
    key = any_key(p)
    return [Command(b"PEXPIRE", key, p.randint(1, 3), fixed=True), Command(b"~PAUSE", b"10", fixed=True),
            Command(b"EXISTS", key, fixed=True)]


def ttl(p):
    name, how = p.choice([(b"TTL", TIME), (b"PTTL", TIME_MS), (b"EXPIRETIME", TIME), (b"PEXPIRETIME", TIME_MS)])
    return Command(name, any_key(p), how=how)


def persist(p):
    return Command(b"PERSIST", any_key(p))


def two_keys(p):
    """Mostly of one type, else soon no key would hold what its name says."""
    kind = p.choice("sssnzzzk")
    return p.key(kind), p.key(kind)


def rename(p):
    return Command(p.choice([b"RENAME", b"RENAMENX"]), *two_keys(p))


def copy(p):
    return Command(b"COPY", *two_keys(p), *p.maybe(0.2, b"DB", p.choice([b"0", b"1", b"16", b"-1", b"x"])),
                   *p.maybe(0.4, p.token(b"REPLACE")))


def keys(p):
    return Command(b"KEYS", p.choice(PATTERNS), how=SORTED)


def scan_options(p):
    types = TYPES + [b"unknown"] if p.newer else TYPES  # 7.0 finds no keys of an unknown type
    options = p.maybe(0.4, p.token(b"MATCH"), p.choice(PATTERNS)) + p.maybe(0.3, p.token(b"TYPE"), p.choice(types))
    return options


def scan(p):
    """The driver walks through all of it, in small steps."""
    return Command(b"~SCAN", b"SCAN", *scan_options(p), *p.maybe(0.5, p.token(b"COUNT"), p.randint(1, 30)), how=SCAN,
                   fixed=True)


def scan_once(p):
    cursor = p.choice([b"0"] * 30 + ([b"abc", b"1.5", b"0x10", b"99999999999999999999"] if p.newer else [b"abc"]))
    return Command(b"SCAN", cursor, *scan_options(p), b"COUNT", p.choice([b"1000"] * 5 + [b"0", b"-1", b"x"]), how=SCAN,
                   fixed=True)


def randomkey(p):
    return Command(b"RANDOMKEY", how=RANDOM)


def dbsize(p):
    return Command(b"DBSIZE")


def object_(p):
    r = p.random()
    if r < 0.6:
        return Command(b"OBJECT", p.token(b"ENCODING"), any_key(p), how=ENCODING)
    if r < 0.8:  # 7.0 shares the objects of small integers
        return Command(b"OBJECT", p.choice([b"IDLETIME", b"REFCOUNT"]), any_key(p), how=RANDOM)
    if r < 0.9:
        return Command(b"OBJECT", b"FREQ", any_key(p), how=RANDOM)
    return Command(b"OBJECT", p.choice([b"FREQ", b"nonsense", b"ENCODING"]), *p.maybe(0.5, any_key(p)), how=RANDOM)


def select(p):
    """Something in another database, and back."""
    inside = Command(b"GET", any_key(p)) if p.chance(0.5) else Command(b"SET", any_key(p), p.value())
    return [Command(b"SELECT", b"1", fixed=True), inside, Command(b"SELECT", b"0", fixed=True)]


def move(p):
    """There, or back."""
    to = p.choice([b"1"] * 9 + [b"0", b"16", b"-1", b"x", b"99999999999999999999"])
    if p.chance(0.5):
        return Command(b"MOVE", any_key(p), to, fixed=p.chance(0.8))
    return [Command(b"SELECT", b"1", fixed=True), Command(b"MOVE", any_key(p), b"0", fixed=True),
            Command(b"SELECT", b"0", fixed=True)]


def swapdb(p):
    numbers = [b"0", b"1", b"0", b"1", b"2", b"16", b"-1", b"x"]
    return Command(b"SWAPDB", p.choice(numbers), p.choice(numbers))


def memory(p):
    options = p.maybe(0.4, p.token(b"SAMPLES"), p.choice([b"0", b"5", b"1000", b"-1", b"x", b"9223372036854775807"]))
    return Command(b"MEMORY", p.choice([b"USAGE"] * 9 + [b"PURGE", b"nonsense"]), any_key(p), *options, how=RANDOM)


def flush(p):
    return Command(p.choice([b"FLUSHDB", b"FLUSHALL"]), *p.maybe(0.5, p.choice([b"SYNC", b"ASYNC", b"nonsense"])))


def unknown(p):
    args = [p.value() if p.newer else p.value().replace(b"\0", b"") for _ in range(p.randint(0, 3))]  # 7.0 quotes up to the first NUL
    return p.choice([Command(b"NOSUCHCOMMAND", *args),
                     Command(b"PING"), Command(b"PING", p.value()), Command(b"ECHO", p.value()),
                     Command(b"SELECT", p.choice([b"16", b"-1", b"x"]), fixed=True)])


COMMANDS = [
    (14, make), (3, delete), (8, count), (6, type_), (16, expire), (1, expires_soon), (12, ttl), (4, persist),
    (7, rename), (7, copy), (2, keys), (0.4, scan), (2, scan_once), (2, randomkey), (2, dbsize), (8, object_),
    (1, select), (0.15, flush), (1, unknown), (4, move), (1, swapdb), (3, memory),
]
