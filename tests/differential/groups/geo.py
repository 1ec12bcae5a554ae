"""geo.py - places on the globe. Keys g0..g5, results in e0..e5, members m0..m39.

Places are chosen at random from regions of different sizes, so no two distances are equal, and an order is the order.
What is not ordered comes as it is found, which is mostly, not always, the same order in both: it is compared without one, and what
ANY chooses is only counted.

Kept out of the streams, because there the oracle misses members that lie within the shape (we find them): large shapes
that come near a pole, and members at exactly 180 degrees or at the last latitude in the north."""
import math

from compare import EXACT, RANDOM, SORTED
from stream import Command

LIMITS = {b"zset-max-listpack-entries": [b"0", b"8", b"128"]}

# Longitude, latitude, how far around there; and the radii that fit, in metres.
REGIONS = [(13.4, 52.5, 0.3, 30000), (-74, 40.7, 2, 200000), (0, 0, 5, 400000), (139.7, 35.7, 0.01, 1000), (0, 0, 20, 1500000),
           (-120, -60, 8, 300000), (30, 70, 3, 100000), (0, 0, 70, 3000000), (0, 0, 50, 20000000),
           (179.5, 1, 0.5, 100000), (-179.5, 1, 0.5, 100000)]
UNITS = {b"m": 1, b"km": 1000, b"ft": 0.3048, b"mi": 1609.34}


def key(p):
    """Never another type's: which of several members at the same place comes first is undefined, and sorted sets of
    other groups have many with one score."""
    return b"g%d" % p.randint(0, 5)


def member(p):
    return b"m%d" % p.randint(0, 39)


def number(v):
    return b"%.*f" % (7, v)


def lonlat(p, region):
    lon, lat, around, _ = region
    return [number(p.uniform(lon - around, lon + around)), number(p.uniform(lat - around, lat + around))]


def length(p, region):
    """A length and its unit."""
    metres = region[3] * p.choice([0.001, 0.1, 0.5, 1, 1])
    unit = p.choice(list(UNITS))
    return number(metres * p.uniform(0.2, 1) / UNITS[unit]), p.token(unit, unit.upper())


def geoadd(p):
    args = [word for _ in range(p.choice([1, 2, 5, 15])) for word in lonlat(p, p.choice(REGIONS)) + [member(p)]]
    if p.chance(0.03):
        args[0:2] = p.choice([[b"-180", b"-85.05112878"], [b"0", b"0"], [b"181", b"1"], [b"1", b"-86"],
                              [b"x", b"1"], [b"1", b"nan"], [b"inf", b"1"], [b"0x10", b"-0"] if p.newer else [b"16", b"-0"]])
    return Command(b"GEOADD", key(p), *p.maybe(0.1, p.token(b"NX", b"XX")), *p.maybe(0.2, p.token(b"CH")), *args)


def look(p):
    name = p.choice([b"GEOPOS", b"GEOHASH"])
    return Command(name, key(p), *[member(p) for _ in range(p.randint(0, 5))])


def geodist(p):
    return Command(b"GEODIST", key(p), member(p), member(p), *p.maybe(0.6, p.token(*UNITS, b"KM", b"mm")))


def options(p, store):
    """Options, and how to compare."""
    words = p.maybe(0.4, p.token(b"WITHDIST")) + p.maybe(0.3, p.token(b"WITHHASH")) + p.maybe(0.3, p.token(b"WITHCOORD"))
    if store:
        words = []
    ordered = p.chance(0.5)
    words += [p.token(b"ASC", b"DESC")] if ordered else []
    any_of = False
    if p.chance(0.4):
        any_of = p.chance(0.3) and not store
        words += [p.token(b"COUNT"), b"%d" % p.choice([1, 2, 3, 10, 100])] + ([p.token(b"ANY")] if any_of else [])
        ordered = True
    how = EXACT if store else RANDOM if any_of else EXACT if ordered else SORTED
    return words, how


def shuffled(p, groups):
    """Options may come in any order, but their own arguments stay together."""
    p.shuffle(groups)
    return [word for group in groups for word in group]


def by_polygon(p, region):
    """Corners around the middle of a region, in any direction and distance; rarely too few of them, or a wrong count."""
    lon, lat, around, _ = region
    angles = sorted(p.uniform(0, 2 * math.pi) for _ in range(p.choice([3, 3, 4, 5, 8] if p.chance(0.95) else [1, 2])))
    corners = [(lon + p.uniform(0.1, 0.9) * around * math.cos(a), lat + p.uniform(0.1, 0.9) * around * math.sin(a)) for a in angles]
    count = len(corners) if p.chance(0.95) else p.choice([b"0", b"2", b"-1", b"x", b"9", len(corners) - 1])
    words, how = options(p, False)
    shape = [p.token(b"BYPOLYGON"), count, *[number(v) for corner in corners for v in corner]]
    return Command(b"GEOSEARCH", key(p), *shuffled(p, [shape, words]), how=how, fixed=True)


def geosearch(p):
    store = p.chance(0.2)
    region = p.choice(REGIONS)
    origin = [p.token(b"FROMMEMBER"), member(p)] if p.chance(0.4) else [p.token(b"FROMLONLAT"), *lonlat(p, region)]
    if origin[0].upper() == b"FROMMEMBER":
        region = (0, 0, 0, p.choice([1000, 30000, 200000]))  # it may lie anywhere
    if p.newer and not store and p.chance(0.2):
        return by_polygon(p, region)
    if p.chance(0.5):
        shape = [p.token(b"BYRADIUS"), *length(p, region)]
    else:
        shape = [p.token(b"BYBOX"), length(p, region)[0], *length(p, region)]
    words, how = options(p, store)
    if store:
        words += p.maybe(0.4, p.token(b"STOREDIST"))
        return Command(b"GEOSEARCHSTORE", p.key("e"), key(p), *shuffled(p, [origin, shape]), *words)
    if p.chance(0.02) and how != EXACT:
        words.append(p.token(b"ANY", b"COUNT", b"STOREDIST", b"BYBOX", b"FROMMEMBER"))
    return Command(b"GEOSEARCH", key(p), *shuffled(p, [origin, shape, words]), how=how, fixed=how != SORTED)


def georadius(p):
    region = p.choice(REGIONS)
    by_member, read_only = p.chance(0.5), p.chance(0.2)
    store = not read_only and p.chance(0.2)
    name = (b"GEORADIUSBYMEMBER" if by_member else b"GEORADIUS") + (b"_RO" if read_only else b"")
    origin = [member(p)] if by_member else lonlat(p, region)
    if by_member:
        region = (0, 0, 0, p.choice([1000, 30000, 200000]))
    words, how = options(p, store)
    if store:
        words += [p.token(b"STORE", b"STOREDIST"), p.key("e")]
    return Command(name, key(p), *origin, *length(p, region), *words, how=how, fixed=how != SORTED and not store)


def wrong(p):
    """Errors, and which of several comes first."""
    area = [p.choice([b"FROMMEMBER", b"FROMLONLAT", b"BYRADIUS", b"BYBOX", b"COUNT", b"ANY", b"ASC", b"WITHDIST", b"STOREDIST", b"1",
                      b"-1", b"0", b"km", b"x", b"nan", member(p)]) for _ in range(p.randint(4, 9))]
    name = p.choice([[b"GEOSEARCH"], [b"GEOSEARCHSTORE", p.key("e")], [b"GEORADIUS"], [b"GEORADIUSBYMEMBER"]])
    # A random search may find many members: any order is right.
    return Command(*name, p.key("g"), *area, how=RANDOM)


def change(p):
    return p.choice([Command(b"ZREM", key(p), member(p)), Command(b"DEL", key(p)), Command(b"ZCARD", p.key("e")),
                     Command(b"ZRANGE", p.key("e"), 0, -1), Command(b"ZSCORE", key(p), member(p))])


COMMANDS = [(25, geoadd), (10, look), (6, geodist), (30, geosearch), (20, georadius), (3, wrong), (3, change)]
