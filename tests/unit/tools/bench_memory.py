"""The conclusions of utils/bench/memory from known sizes, and what it sends to servers. The first difference ends it."""
import os
import sys
import time
import types
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils", "bench"))

import memory_load as load
import memory_report as report
from resp import encode


def check(what, expected, actual):
    if expected != actual:
        sys.exit("%s: expected %r, got %r" % (what, expected, actual))


def taken(used, resident=1.0):
    result = load.Taken([1000, 2000])
    result.used, result.resident = used, resident
    return result


def found_of(rows, sizes):
    """`sizes`: {cell: (ours, btree or None, peer, other peer)}, each [used at two counts] or (the same, resident)."""
    servers = [types.SimpleNamespace(label=label, index=index) for label, index in
               (("ours", load.SKIPLIST), ("ours, btree", load.BTREE), ("valkey", None), ("redis", None))]
    results = {cell: {server.label: taken(*(s if isinstance(s, tuple) else (s,))) for server, s in zip(servers, four) if s}
               for cell, four in sizes.items()}
    return report.Found(rows, servers, results, [1000, 2000], 10)


def check_counts():
    counts = load.counts_up_to(1200000)
    check("the last count", 1200000, counts[-1])
    check("how many", load.STEPS, len(counts))
    factors = [b / a for a, b in zip(counts, counts[1:])]
    check("equal factors", True, max(factors) - min(factors) < 0.01)
    check("together a doubling", True, abs(counts[-1] / counts[0] * factors[0] - 2) < 0.01)
    check("whole pipelines", True, all(count % load.PIPELINE == 0 for count in counts + load.counts_up_to(777)))


def check_words():
    words = load.Words(20000)
    for length in load.MEMBERS:
        names = words.names(length, 0, 20000)
        check("names that no two share", 20000, len(set(names)))
        check("their lengths", {length}, {len(name) for name in names})
        check("letters only", True, all(name.isalpha() for name in names))
    check("lengths of values", {200}, {len(value) for value in words.values(200, 0, 20000)})
    check("several values of an element differ", 0, sum(a == b for a, b in zip(words.values(10, 0, 500), words.values(10, 0, 500, 1))))
    check("a part of them", words.names(10, 0, 30)[10:20], words.names(10, 10, 20))


def check_commands():
    """Against commands put together one by one."""
    words, (first, last) = load.Words(load.PIPELINE), (100, 120)
    by_name = {row.name: row for row in load.ROWS}
    names, values = (lambda length: words.names(length, first, last)), (lambda length: words.values(length, first, last))
    expected = b"".join(encode((b"SET", k, v)) for k, v in zip(names(24), values(100)))
    check("SET", expected, by_name["strings"].cells[2 * len(load.VALUES) + 7].commands(words, first, last))
    expected = b"".join(encode((b"ZADD", b"zset", s, m)) for s, m in zip(words.scores[first:last], names(10)))
    check("ZADD", expected, by_name["zset btree"].cells[1].commands(words, first, last))
    expected = b"".join(encode((b"SET", k, v, b"EX", b"100000")) for k, v in zip(names(10), values(10)))
    check("SET with a TTL", expected, by_name["TTL"].cells[0].commands(words, first, last))
    check("sizes of strings", [(k, v) for k in load.KEYS for v in load.VALUES], [cell.sizes for cell in by_name["strings"].cells])
    check("both indexes hold the same", by_name["zset skiplist"].cells, by_name["zset btree"].cells)


class Imagined:
    """A server whose used_memory per element is taken from a list; reads lower it to the value that follows there."""

    def __init__(self, sizes):
        self.sizes, self.reads, self.taken = list(sizes), 0, load.Taken([])

    def per_element(self, count):
        return self.sizes.pop(0)

    def run(self, data):
        self.reads += 1


def check_rest():
    """Only where used_memory per element has risen a table may be twice there."""
    server = Imagined([50, 48, 46, 46.01, 60, 52, 51])  # at the first count and the fourth there is a second look, after reads
    for count in (1000, 1100, 1200, 1300, 1400):
        server.reads = 0
        load.Subject.look(server, count, b"")
        check("reads at %d" % count, count in (1000, 1300), server.reads > 0)
    check("what is noted", [48, 46, 46.01, 52, 51], server.taken.used)


def check_waiting():
    ended = []
    subject = types.SimpleNamespace(look_at_resident=lambda: ended.append("looked"),
                                    server=types.SimpleNamespace(stop=lambda: ended.append("stopped")))
    waiting = load.Waiting(0.2)
    waiting.add(subject)
    waiting.look()
    check("too early", [], ended)
    begin = time.monotonic()
    waiting.finish()
    check("looked at, then stopped", ["looked", "stopped"], ended)
    check("in time", True, 0.1 < time.monotonic() - begin < 5)


def example():
    """Strings in two sizes of key and of value; a sorted set; a stream."""
    strings = load.Row("strings", "strings", ("key", "value"), (0.80, 0.95), [load.keys((k, v), b"SET") for k in (10, 16) for v in (4, 10)])
    members = [load.sorted_set(6)]
    skiplist = load.Row("skiplist", "skiplist", ("name",), (0.85, 0.95), members, load.SKIPLIST)
    btree = load.Row("btree", "btree", ("name",), (0.52, 0.62), members, load.BTREE)
    stream = load.Row("stream", "stream", (), (0.90, None), [load.keys((), b"XADD")])
    sizes = dict(zip(strings.cells, ([([30, 50], 1.01), None, [40, 60], [80, 80]], [[60, 60], None, [100, 100], [120, 120]],
                                     [([96, 96], 1.08), None, [100, 90], [100, 100]], [[50, 50], None, [100, 100], [100, 100]])))
    sizes[members[0]] = [[90, 90], [40, 40], [100, 100], [100, 100]]
    sizes[stream.cells[0]] = [[8, 8], None, [10, 10], [16, 16]]
    return found_of([strings, skiplist, btree, stream], sizes)


def near(a, b):
    return abs(a - b) < 1e-9


def check_ratios():
    found = example()
    strings, skiplist, btree, stream = found.rows
    ratios = [found.ratio(strings, cell) for cell in strings.cells]
    check("means of the counts", True, all(map(near, ratios, (0.8, 0.6, 96 / 95, 0.5))))
    check("mean of the cells", True, near(found.mean(strings), sum(ratios) / 4))
    check("against the other", True, near(found.mean(strings, "redis"), (0.5 + 0.5 + 0.96 + 0.5) / 4))
    check("the worst", strings.cells[2], found.worst(strings)[1])
    check("at one count", True, near(found.at_one_count(strings), 96 / 90))
    check("each index has its own", (0.9, 0.4), (round(found.mean(skiplist), 9), round(found.mean(btree), 9)))
    rows = {line.split("|")[1].strip(): [word.strip() for word in line.split("|")[2:-1]] for line in report.means_table(found).split("\n")}
    check("strings", ["4", "0.73×", "≤ 0.80×", "yes", "1.01× (16 + 4)", "≤ 0.95×", "**no**", "1.07×", "0.61×"], rows["strings"])
    check("skiplist", ["1", "0.90×", "≤ 0.85×", "**no**", "0.90× (6)", "≤ 0.95×", "yes", "0.90×", "0.90×"], rows["skiplist"])
    check("stream", ["1", "0.80×", "≤ 0.90×", "yes", "0.80×", "", "", "0.80×", "0.50×"], rows["stream"])
    check("the rows' mean", ["7", "**%.2f×**" % ((found.mean(strings) + 0.9 + 0.4 + 0.8) / 4)], rows["**mean of the rows**"][:2])
    resident = report.resident_table(found).split("\n")
    check("resident, strings", "| strings | 1.02, 1.08 | ≤ 1.05 | **no** | 1.00, 1.00 | 1.00, 1.00 |", resident[2])
    check("resident, btree", "| btree | 1.00, 1.00 | ≤ 1.05 | yes | 1.00, 1.00 | 1.00, 1.00 |", resident[4])


def check_grids():
    found = example()
    grids = [(axis, columns, [name for _, name, _ in lines]) for axis, columns, lines in report.grids(found)]
    check("grids", [("value", [4, 10], ["strings, key of 10", "strings, key of 16"]), ("name", [6], ["skiplist", "btree"]),
                    ("", [None], ["stream"])], grids)
    check("bytes", "| strings, key of 10 | 40.0 / 50.0 / 80.0 | 60.0 / 100.0 / 120.0 |", report.size_tables(found)[0].split("\n")[2])


def check_colors():
    check("as it is printed", [0, 4, 5, 5, 6, 7], [report.color_of(ratio) for ratio in (0.3, 0.904, 0.906, 1.0, 1.01, 3)])
    check("a colour for each class", (len(report.ENDS), len(report.ENDS)), (len(report.LIGHT), len(report.DARK)))


def main():
    if len(sys.argv) > 1:  # a heat map that was drawn
        print("%d cells" % len(xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("g")))
        return
    for part in (check_counts, check_words, check_commands, check_rest, check_waiting, check_ratios, check_grids, check_colors):
        part()
    print("ok")


main()
