"""memory_load.py - the data of utils/bench/memory, and its memory in a server.

A row is one kind of data, a cell one size of it; every cell is loaded into servers of its own, all at once and with the same
bytes:

    chunk k of commands --> ours, (ours with its other index), peer, ...      chunk k + 1 is composed meanwhile

A table is full before it doubles, and half empty afterwards, so at a single count a server may look good by luck. Therefore
used_memory is read at STEPS counts, equal factors apart, from a little above half of all elements to all of them, which is
one period of doubling; the result is their mean. A table that is being resized exists twice for a while: where used_memory
per element has risen since the previous count, missing keys are read until the resize is complete.
"""
import math
import random
import time

import bench
from resp import encode

PIPELINE = 500
WARM_UP = 1000       # elements, so that the program's own pages are there before it counts as empty
STEPS = 12
RISE = 1.002         # of used_memory per element, from one count to the next: a table has grown
REST_READS = 0.35    # of the elements: a renewal goes on by at least a bucket a read
PAGE = 4096
TEXT = 4096          # bytes that names and values are cut from

KEYS, VALUES = (10, 16, 24, 36), (4, 10, 16, 24, 32, 48, 64, 100, 200)
MEMBERS = (6, 10, 14, 20, 28, 36, 48)
SKIPLIST, BTREE = "skiplist", "btree"

# ---- Words ----


class Words:
    """Unique names of elements, and values: of letters only, so that no server stores one as a number, and without common
    prefixes, so that none can omit them."""

    def __init__(self, count):
        mix, letters = random.Random(14), bytes.maketrans(b"0123456789abcdef", b"ghijklmnopqrstuv")
        numbers = mix.sample(range(1 << 24), count)
        self.heads = [(b"%06x" % n).translate(letters) for n in numbers]
        self.text = bytes(mix.choices(b"abcdefghijklmnopqrstuvwxyz", k=TEXT + 256))
        self.starts = [n * 31 % TEXT for n in range(count)]
        self.scores = [b"%.17g" % (mix.random() * 1000) for _ in range(count)]

    def names(self, length, first, last):
        text, more = self.text, length - 6
        return [head + text[at : at + more] for head, at in zip(self.heads[first:last], self.starts[first:last])]

    def values(self, length, first, last, other=0):
        """`other` selects one of several values of an element."""
        text, shift = self.text, 97 * other
        return [text[at : at + length] for at in ((s + shift) % TEXT for s in self.starts[first:last])]


def interleaved(*columns):
    return tuple(word for line in zip(*columns) for word in line)


# ---- Cells ----


class Cell:
    """One size of a row. `parts` are the words of an element's command: constant bytes, or (function, length), where
    function(words, first, last) returns that word for these elements."""

    def __init__(self, sizes, parts, absent):
        self.sizes, self.size = sizes, " + ".join(map(str, sizes))
        self.parts, self.absent = parts, encode(absent)
        self.variable = [p[0] for p in parts if not isinstance(p, bytes)]

    def commands(self, words, first, last):
        """Returns the bytes of the commands of these elements. Scores have no fixed length: their header is a word, too."""
        template = b"*%d\r\n" % len(self.parts)
        for part in self.parts:
            if isinstance(part, bytes):
                template += b"$%d\r\n%b\r\n" % (len(part), part.replace(b"%", b"%%"))
            else:
                template += b"$%d\r\n%%b\r\n" % part[1] if part[1] else b"%b"
        return template * (last - first) % interleaved(*[f(words, first, last) for f in self.variable])


def name(length):
    return (lambda words, first, last: words.names(length, first, last), length)


def value(length, other=0):
    return (lambda words, first, last: words.values(length, first, last, other), length)


def score():
    return (lambda words, first, last: [b"$%d\r\n%b\r\n" % (len(s), s) for s in words.scores[first:last]], 0)


class Row:
    """`axes` names the sizes of its cells. `wanted` is (largest mean ratio, largest ratio of any cell or None). `index` is that
    of sorted sets, otherwise None."""

    def __init__(self, title, name, axes, wanted, cells, index=None):
        self.title, self.name, self.axes, self.wanted, self.cells, self.index = title, name, axes, wanted, cells, index


def sorted_set(size):
    return Cell((size,), (b"ZADD", b"zset", score(), name(size)), (b"ZSCORE", b"zset", b"nosuch"))


def hash_fields(length):
    return [Cell((size,), (b"HSET", b"hash", name(size), value(length)), (b"HEXISTS", b"hash", b"nosuch")) for size in MEMBERS]


def keys(sizes, *parts):
    """A cell whose elements are keys."""
    return Cell(sizes, parts, (b"EXISTS", b"nosuch"))


SMALL_FIELDS = (b"name", value(8), b"age", value(2, 1), b"city", value(5, 2))
SORTED_SETS = [sorted_set(size) for size in MEMBERS]
ROWS = [
    Row("strings", "strings", ("key", "value"), (0.80, 0.95), [keys((k, v), b"SET", name(k), value(v)) for k in KEYS for v in VALUES]),
    Row("members of a set", "set", ("name",), (0.80, 0.90),
        [Cell((size,), (b"SADD", b"set", name(size)), (b"SISMEMBER", b"set", b"nosuch")) for size in MEMBERS]),
    Row("fields of a hash, values of 10", "hash 10", ("name",), (0.78, 0.90), hash_fields(10)),
    Row("fields of a hash, values of 40", "hash 40", ("name",), (0.82, 0.90), hash_fields(40)),
    Row("members of a sorted set, skiplist", "zset skiplist", ("name",), (0.85, 0.95), SORTED_SETS, SKIPLIST),
    Row("members of a sorted set, btree", "zset btree", ("name",), (0.52, 0.62), SORTED_SETS, BTREE),
    Row("lists of 5 × 10", "lists", ("key",), (0.85, None), [keys((k,), b"RPUSH", name(k), *[value(10, i) for i in range(5)]) for k in KEYS]),
    Row("strings of 10 with a TTL", "TTL", ("key",), (0.62, None), [keys((k,), b"SET", name(k), value(10), b"EX", b"100000") for k in KEYS]),
    Row("hashes of 3 small fields", "hashes", ("key",), (0.65, None), [keys((k,), b"HSET", name(k), *SMALL_FIELDS) for k in KEYS]),
    Row("entries of a stream, 3 small fields", "stream", (), (0.90, None), [keys((), b"XADD", b"stream", b"*", *SMALL_FIELDS)]),
]

# ---- Measuring ----


class Configuration:
    """A server to start; `index` is that of its sorted sets, if there is a choice."""

    def __init__(self, label, program, options, index):
        self.label, self.program, self.options, self.index = label, program, list(options), index


def configurations(peers):
    """Ours with each index, and the peers."""
    ours = [Configuration("ours", bench.OURS, ("--zset-index", SKIPLIST), SKIPLIST),
            Configuration("ours, btree", bench.OURS, ("--zset-index", BTREE), BTREE)]
    return ours + [Configuration(bench.label_of(p), p, (), None) for p in peers]


class Taken:
    """The memory of a cell in one server: bytes of used_memory per element at each count, and at the end resident bytes per used byte."""

    def __init__(self, counts):
        self.counts, self.used, self.resident = counts, [], None

    @property
    def mean(self):
        return sum(self.used) / len(self.used)


def counts_up_to(count, steps=STEPS):
    """Counts whose factors are equal, the last of them all elements, the first a step above half of them."""
    return [max(PIPELINE, round(count * 2 ** (step / steps - 1) / PIPELINE) * PIPELINE) for step in range(1, steps + 1)]


class Subject:
    """A server with one cell in it."""

    def __init__(self, configuration, cpu):
        self.label = configuration.label
        self.server = bench.Server(configuration.program, cpu, configuration.options)
        self.pid = self.server.info("server")["process_id"]
        self.connection = self.server.admin

    def used(self):
        return int(self.server.info("memory")["used_memory"])

    def resident(self):
        """Resident bytes, from the kernel, as INFO shows the value of the last tick."""
        with open("/proc/%s/statm" % self.pid) as f:
            return int(f.read().split()[1]) * PAGE

    def send(self, data):
        self.connection.send((), data)

    def receive(self):
        replies = self.connection.receive()
        if replies.count(b"-ERR") > 1:  # the first is that of the DISCARD that ends a pipeline
            raise SystemExit("%s: %s" % (self.server.program, replies[:200]))

    def run(self, data):
        self.send(data)
        self.receive()

    def clear(self):
        self.connection.call("FLUSHALL")
        while int(self.server.info("memory").get("lazyfree_pending_objects", 0)):
            time.sleep(0.05)

    def begin(self, counts):
        """Takes the present memory as that of an empty server."""
        self.taken = Taken(counts)
        self.empty_used, self.empty_resident = self.used(), self.resident()

    def per_element(self, count):
        return (self.used() - self.empty_used) / count

    def look(self, count, absent):
        size, before = self.per_element(count), self.taken.used
        if not before or size > before[-1] * RISE:
            reads = absent * PIPELINE
            for _ in range(math.ceil(count * REST_READS / PIPELINE)):
                self.run(reads)
            size = self.per_element(count)
        before.append(size)

    def look_at_resident(self):
        self.taken.resident = (self.resident() - self.empty_resident) / (self.used() - self.empty_used)


class Waiting:
    """Loaded servers whose resident memory is to be read before they end."""

    def __init__(self, rest_s):
        self.rest_s, self.due = rest_s, []

    def add(self, subject):
        self.due.append((time.monotonic() + self.rest_s, subject))

    def look(self):
        while self.due and self.due[0][0] <= time.monotonic():
            subject = self.due.pop(0)[1]
            subject.look_at_resident()
            subject.server.stop()

    def finish(self):
        while self.due:
            time.sleep(max(0, self.due[0][0] - time.monotonic()))
            self.look()


def stop(subjects):
    for subject in subjects:
        subject.server.stop()


def load(subjects, cell, words, first, last, meanwhile=lambda: None):
    """Loads all elements from first to last - 1 into all servers, a pipeline at a time."""
    at, data = first, None
    while at < last or data:
        if data:
            for subject in subjects:
                subject.send(data)
        more, until = None, min(at + PIPELINE, last)
        if at < last:
            more = cell.commands(words, at, until)
            at = until
        if data:
            for subject in subjects:
                subject.receive()
        data = more
        meanwhile()


def measure(subjects, cell, words, counts, waiting):
    """Loads the cell into all servers, and reads the memory at each count; the last reading has to wait."""
    for subject in subjects:
        subject.begin(counts)
    loaded = 0
    for count in counts:
        load(subjects, cell, words, loaded, count, waiting.look)
        loaded = count
        for subject in subjects:
            subject.look(count, cell.absent)
    for subject in subjects:
        waiting.add(subject)


class Sweep:
    """All cells of some rows."""

    def __init__(self, configurations, cpu, count, rest_s):
        self.configurations, self.cpu, self.rest_s = configurations, cpu, rest_s
        self.counts = counts_up_to(count)
        self.words = Words(max(self.counts[-1], WARM_UP))

    def start(self, row, cell):
        """Returns warm, empty servers for this cell. Servers that differ only in the index of sorted sets are used for these only."""
        subjects = []
        try:
            for configuration in self.configurations:
                if row.index or configuration.index != BTREE:
                    subjects.append(Subject(configuration, self.cpu))
            load(subjects, cell, self.words, 0, WARM_UP)
            for subject in subjects:
                subject.clear()
        except BaseException:
            stop(subjects)
            raise
        return subjects

    def run(self, rows):
        """{cell: {label: Taken}}."""
        owners = {}
        for row in rows:
            for cell in row.cells:
                owners.setdefault(cell, row)
        cells, results, waiting = list(owners), {}, Waiting(self.rest_s)
        subjects, following, begin = self.start(owners[cells[0]], cells[0]), [], time.monotonic()
        try:
            for cell, after in zip(cells, cells[1:] + [None]):
                if after:  # its servers come to rest while this cell is loaded
                    following = self.start(owners[after], after)
                measure(subjects, cell, self.words, self.counts, waiting)
                results[cell] = {subject.label: subject.taken for subject in subjects}
                bench.progress("%4.0f s: %s, %s: %s" % (time.monotonic() - begin, owners[cell].title, cell.size, "; ".join(
                    "%s %.1f B" % (label, taken.mean) for label, taken in results[cell].items())))
                subjects, following = following, []
            waiting.finish()
        finally:
            stop(subjects + following + [subject for _, subject in waiting.due])
        return results
