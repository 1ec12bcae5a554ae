"""pathhash_model.py HOST PORT SEED COMMANDS: random path hash commands on a server, and the same ones on a model.

The model is a dict of paths for each key; prefixes are found by comparing. Every reply must be what the model says, in RESP2 and RESP3, and so must
the number of changes that the server counts. Between two rounds the data go through a reload, the append-only file, and another place in memory.
Prints "ok" or the first difference.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "differential"))
from resp import Connection, parse_all  # noqa: E402

KEYS = [b"k1", b"k2", b"k3", b"none", b"text"]  # none is never written, text is a string
ALPHABET = [b"a", b"b", b"/", b"\x00", b"\xff", b"token", b"0123456789abcdef"]
FIELDS = [b"", b"f", b"g", b"count", b"17", b"\xff\x00", b"a field with some more bytes"]
SYNTAX, RANGE, NOT_INTEGER = "ERR syntax error", "ERR value is out of range", "ERR value is not an integer or out of range"
WRONGTYPE, CURSOR = "WRONGTYPE ", "ERR invalid cursor"
FOREIGN_CURSOR = "ERR cursor does not belong to the requested prefix"
ROUND = 1000


class Error(str):
    """An error that begins so."""


class Refused(Exception):
    pass


class Map(dict):
    """A map in RESP3, a flat array in RESP2; the order is free."""


class Model:
    """The expected replies. A method for each command takes its arguments after the name."""

    def __init__(self):
        self.data, self.dirty = {}, 0

    def run(self, words):
        try:
            return getattr(self, words[0].decode())(*words[1:])
        except Refused as e:
            return Error(e)

    def find(self, key):
        if key == b"text":
            raise Refused(WRONGTYPE)
        return self.data.get(key, {})

    def put(self, key, groups, changes):
        paths = self.data.setdefault(key, {})
        for path, pairs in groups:
            paths.setdefault(path, {}).update(pairs)
        self.dirty += changes
        return "OK"

    def phset(self, key, path, *rest):
        condition = rest[0].upper() if rest[0].upper() in (b"FNX", b"FXX") else None
        values, rest = numbered(rest[1:] if condition else rest, 2)
        if rest:
            raise Refused(SYNTAX)
        stored = self.find(key).get(path, {})
        exist = [field in stored for field, _ in values]
        if (condition == b"FNX" and any(exist)) or (condition == b"FXX" and not all(exist)):
            return None
        return self.put(key, [(path, values)], len(values))

    def phmset(self, key, *rest):
        groups = blocks(rest, 2)
        self.find(key)
        return self.put(key, groups, sum(len(pairs) for _, pairs in groups))

    def phget(self, key, path, *fields):
        stored = self.find(key).get(path, {})
        return [stored.get(f) for f in fields]

    def phmget(self, key, *rest):
        groups = blocks(rest, 1)
        paths = self.find(key)
        return [paths.get(path, {}).get(f) for path, fields in groups for (f,) in fields]

    def phgetall(self, key, path):
        return Map(self.find(key).get(path, {}))

    def phexists(self, key, path):
        return int(path in self.find(key))

    def phcard(self, key):
        return len(self.find(key))

    def phdel(self, key, path, *fields):
        paths = self.find(key)
        if path not in paths:
            return 0
        if not fields:
            del paths[path]
            self.dirty += 1
            return 1
        removed = sum(paths[path].pop(f, None) is not None for f in fields)
        if not paths[path]:
            del paths[path]
        self.dirty += removed
        return removed

    def phdelprefix(self, key, prefix):
        paths = self.find(key)
        doomed = [p for p in paths if p.startswith(prefix)]
        for p in doomed:
            del paths[p]
        self.dirty += len(doomed)
        return len(doomed)

    def prefixes(self, key, query):
        return sorted((p for p in self.find(key) if query.startswith(p)), key=len)

    def item(self, key, path, how):
        name = len(path) if how.get("length") else path
        stored = self.find(key)[path]
        if "values" in how:
            return [name, Map(stored)]
        return [name, [stored.get(f) for f in how["fields"]]] if "fields" in how else name

    def phlongest(self, key, query, *rest):
        how = options(rest, {b"LENGTH": "length"})
        found = self.prefixes(key, query)
        return self.item(key, found[-1], how) if found else None

    def phprefixes(self, key, query, *rest):
        how = options(rest, {b"LENGTHS": "length", b"COUNT": ("count", 1), b"MAXPATHLEN": ("most", 0)})
        found = [p for p in self.prefixes(key, query) if len(p) <= how.get("most", len(p))]
        return [self.item(key, p, how) for p in found[-how.get("count", len(found)):]] if found else []

    def phscan(self, key, cursor, *rest):
        how = options(rest, {b"PREFIX": "prefix", b"COUNT": ("count", 1)}, scan=True)
        prefix, count, after = how.get("prefix", b""), how.get("count", 10), None
        if cursor != b"0":
            after = unhex(cursor)
            if not after.startswith(prefix):
                raise Refused(FOREIGN_CURSOR)
        names = sorted(p for p in self.find(key) if p.startswith(prefix) and (after is None or p > after))
        more = len(names) > count
        return [b"1:" + names[count - 1].hex().encode() if more else b"0", [self.item(key, p, how) for p in names[:count]]]

    def copy(self, source, to, *_):
        if source not in self.data:
            return 0
        self.data[to] = {path: dict(pairs) for path, pairs in self.data[source].items()}
        self.dirty += 1
        return 1

    def unlink(self, key):
        self.dirty += key in self.data
        return int(self.data.pop(key, None) is not None)


def number(text, least):
    if not (text.isdigit() or (text[:1] == b"-" and text[1:].isdigit())) or not -(2**63) <= int(text) < 2**63:
        raise Refused(NOT_INTEGER)
    if int(text) < least:
        raise Refused(RANGE)
    return int(text)


def numbered(words, step):
    """FIELDS n and n groups of `step` words: (the groups, the words after them)."""
    if len(words) < 2 or words[0].upper() != b"FIELDS":
        raise Refused(SYNTAX)
    n = number(words[1], 1)
    if n * step > len(words) - 2:
        raise Refused(SYNTAX)
    return [tuple(words[2 + i * step : 2 + (i + 1) * step]) for i in range(n)], words[2 + n * step :]


def blocks(words, step):
    groups = []
    while words:
        values, rest = numbered(words[1:], step)
        groups.append((words[0], values))
        words = rest
    return groups


def options(words, known, scan=False):
    how = {}
    while words:
        word = words[0].upper()
        if word == b"WITHVALUES" and not {"values", "fields"} & how.keys():
            how["values"], words = True, words[1:]
        elif word == b"FIELDS" and not scan and not {"values", "fields"} & how.keys():
            fields, words = numbered(words, 1)
            how["fields"] = [f for (f,) in fields]
        elif word in known:
            name = known[word] if isinstance(known[word], str) else known[word][0]
            takes = name == "prefix" or name != known[word]
            if name in how or (takes and len(words) < 2):
                raise Refused(SYNTAX)
            how[name] = True if not takes else words[1] if name == "prefix" else number(words[1], known[word][1])
            words = words[1 + takes :]
        else:
            raise Refused(SYNTAX)
    return how


def unhex(cursor):
    if not cursor.startswith(b"1:"):
        raise Refused(CURSOR)
    try:
        digits = cursor[2:].decode()
        if any(c not in "0123456789abcdefABCDEF" for c in digits):
            raise ValueError
        return bytes.fromhex(digits)
    except ValueError:
        raise Refused(CURSOR) from None


# ---- What is drawn ----

class Source:
    def __init__(self, rng):
        self.rng = rng

    def key(self):
        return self.rng.choices(KEYS, (10, 10, 10, 2, 1))[0]

    def path(self):
        words = [self.rng.choice(ALPHABET) for _ in range(self.rng.choice((0, 1, 2, 3, 4, 6)))]
        if not self.rng.randrange(200):
            words.append(self.rng.choice(ALPHABET) * self.rng.choice((300, 20000)))
        return b"".join(words)

    def field(self):
        return self.rng.choice(FIELDS) if self.rng.randrange(4) else b"f%d" % self.rng.randrange(40)

    def value(self):
        return self.rng.choice((b"", b"1", b"-70000", b"v" * self.rng.choice((3, 30, 70, 300)), b"\x00\xff"))

    def count(self, n):
        """n, or seldom something else."""
        return self.rng.choice((b"0", b"-1", b"x", b"99", b"%d" % (n + 1))) if not self.rng.randrange(60) else b"%d" % n

    def fields(self, step):
        n = self.rng.choice((1, 1, 1, 2, 3, 20))
        words = [self.field() if step == 1 or i % 2 == 0 else self.value() for i in range(n * step)]
        return [self.rng.choice((b"FIELDS", b"fields")), self.count(n)] + words

    def values(self):
        return self.rng.choice(([], [], [b"WITHVALUES"], self.fields(1)))

    def some(self, *words):
        return list(words) if not self.rng.randrange(3) else []

    def groups(self, step):
        return [w for _ in range(self.rng.choice((1, 2, 3))) for w in [self.path()] + self.fields(step)]

    def shuffled(self, *parts):
        parts = list(parts)
        self.rng.shuffle(parts)
        return [w for part in parts for w in part]

    def cursor(self):
        roll = self.rng.randrange(20)
        return self.rng.choice((b"x", b"1:6", b"1:6g", b"2:61", b"")) if roll == 0 else b"0" if roll < 8 else b"1:" + self.path().hex().encode()

    def command(self):
        draw, key = self.rng.randrange(100), self.key()
        if draw < 22:
            return [b"phset", key, self.path()] + self.rng.choice(([], [], [b"FNX"], [b"fxx"])) + self.fields(2)
        if draw < 30:
            return [b"phmset", key] + self.groups(2)
        if draw < 36:
            return [b"phget", key, self.path()] + [self.field() for _ in range(self.rng.randrange(1, 4))]
        if draw < 41:
            return [b"phmget", key] + self.groups(1)
        if draw < 46:
            return [b"phgetall", key, self.path()]
        if draw < 50:
            return [b"phexists", key, self.path()] if draw % 2 else [b"phcard", key]
        if draw < 60:
            return [b"phdel", key, self.path()] + self.rng.choice(([], [self.field() for _ in range(self.rng.randrange(1, 5))]))
        if draw < 63:
            return [b"phdelprefix", key, self.path() if self.rng.randrange(8) else b""]
        if draw < 75:
            return [b"phlongest", key, self.path()] + self.shuffled(self.some(b"LENGTH"), self.values()) + self.some_garbage()
        if draw < 86:
            return [b"phprefixes", key, self.path()] + self.shuffled(
                self.some(b"LENGTHS"), self.values(), self.some(b"COUNT", self.count(self.rng.randrange(1, 4))),
                self.some(b"maxpathlen", self.count(self.rng.randrange(0, 30)))) + self.some_garbage()
        if draw < 97:
            return [b"phscan", key, self.cursor()] + self.shuffled(
                self.some(b"PREFIX", self.path()), self.some(b"COUNT", self.count(self.rng.randrange(1, 30))), self.some(b"withvalues")) + self.some_garbage()
        return [b"copy", self.rng.choice(KEYS[:3]), self.rng.choice(KEYS[:3]), b"replace"] if draw < 99 else [b"unlink", self.rng.choice(KEYS[:3])]

    def some_garbage(self):
        return [self.rng.choice((b"LENGTH", b"COUNT", b"WITHVALUES", b"what"))] if not self.rng.randrange(60) else []


# ---- Comparing ----

def same(expected, reply):
    kind, got = reply
    if isinstance(expected, Error):
        return kind == b"-" and got.decode().startswith(expected)
    if isinstance(expected, Map):
        return kind in b"*%" and len(got) == 2 * len(expected) and {k[1]: v[1] for k, v in zip(got[::2], got[1::2])} == expected
    if isinstance(expected, list):
        return kind == b"*" and got is not None and len(got) == len(expected) and all(map(same, expected, got))
    if isinstance(expected, str):
        return kind == b"+" and got == expected.encode()
    return (kind in b"$_" and got is None) if expected is None else got == expected and kind == (b":" if isinstance(expected, int) else b"$")


def fail(what, **details):
    print(what + "".join("\n  %s: %.2000r" % pair for pair in details.items()))
    sys.exit(1)


def ask(connection, *commands):
    connection.send(commands)
    return parse_all(connection.receive(), len(commands))


def check_all(connection, model, when):
    """The whole dataset is what the model holds."""
    for key in KEYS[:3]:
        card, (_, scanned), (_, exists) = ask(connection, (b"phcard", key), (b"phscan", key, b"0", b"COUNT", b"1000000", b"WITHVALUES"), (b"exists", key))
        expected = [b"0", [[p, Map(v)] for p, v in sorted(model.data.get(key, {}).items())]]
        if not same(expected, (b"*", scanned)) or card[1] != len(expected[1]) or exists != (key in model.data):
            fail("the contents differ " + when, key=key, expected=expected, got=scanned)


def run_round(rng, source, model, connections):
    connection = rng.choice(connections)
    commands = [source.command() for _ in range(ROUND)]
    commands = [c for c in commands if c[0] != b"copy" or c[1] != c[2]]
    for words in (w for w in commands if w[0][:2] == b"ph" and w[1] == b"none"):
        if words[0] in (b"phset", b"phmset"):
            words[1] = b"k1"
    before = dirty(connection)
    model.dirty = 0
    replies = ask(connection, *commands)
    for words, reply in zip(commands, replies):
        expected = model.run(words)
        if not same(expected, reply):
            fail("replies differ", command=words, expected=expected, got=reply)
    if dirty(connection) - before != model.dirty:
        fail("changes", expected=model.dirty, got=dirty(connection) - before)
    check_all(connection, model, "after a round")


def dirty(connection):
    text = ask(connection, (b"info", b"persistence"))[0][1]
    return next(int(line.split(b":")[1]) for line in text.split(b"\r\n") if line.startswith(b"rdb_changes_since_last_save:"))


def main(host, port, seed, count):
    rng = random.Random(seed)
    source, model = Source(rng), Model()
    connections = [Connection(host, port, resp) for resp in (2, 3)]
    ask(connections[0], (b"flushall",), (b"set", b"text", b"1"))
    for n in range(count // ROUND):
        limits = rng.choice(((512, 64), (4, 64), (512, 8), (0, 0)))
        ask(connections[0], *((b"config", b"set", b"hash-max-listpack-" + name, b"%d" % limit) for name, limit in zip((b"entries", b"value"), limits)))
        run_round(rng, source, model, connections)
        step = (b"reload", b"loadaof", b"defrag-all")[n % 3]
        if (reply := ask(connections[0], (b"debug", step))[0])[0] == b"-":
            fail("debug", step=step, reply=reply)
        check_all(connections[1], model, "after " + step.decode())
    print("ok")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
