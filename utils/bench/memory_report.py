"""memory_report.py - reports the results of utils/bench/memory: means, worst cells, tables, heat map. It measures nothing.

A ratio is ours / another's, of means over the counts: below 1 this server takes less.
"""
import html
import os

import bench
from suite_report import STYLE, text

RESIDENT_WANTED = 1.05


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Found:
    """The results of a sweep: `results` is {cell: {label: Taken}}."""

    def __init__(self, rows, servers, results, counts, rest_s):
        self.rows, self.results, self.counts, self.rest_s = rows, results, counts, rest_s
        self.ours = {server.index: server.label for server in servers if server.index}
        self.peers = [server.label for server in servers if not server.index]
        self.reference = self.peers[0]

    def label(self, row):
        """The label of ours in this row: the one with its index, or any if there is no index."""
        return self.ours[row.index] if row.index else next(iter(self.ours.values()))

    def mine(self, row, cell):
        return self.results[cell][self.label(row)]

    def ratio(self, row, cell, peer=None):
        return self.mine(row, cell).mean / self.results[cell][peer or self.reference].mean

    def mean(self, row, peer=None):
        return mean(self.ratio(row, cell, peer) for cell in row.cells)

    def worst(self, row):
        """Returns (ratio, cell) of the cell with the largest ratio."""
        return max(((self.ratio(row, cell), cell) for cell in row.cells), key=lambda found: found[0])

    def at_one_count(self, row):
        """The largest ratio of any cell at any one count."""
        return max(a / b for cell in row.cells for a, b in zip(self.mine(row, cell).used, self.results[cell][self.reference].used))

    def resident(self, row, label):
        return [self.results[cell][label].resident for cell in row.cells]


# ---- Tables ----

NOTE = """Bytes of used_memory that an element has added, the mean of {steps} counts, equal factors apart, from {first:,} to {last:,}: a table that
doubles is nearly full at one count and half empty at another. Ratios are ours / {reference}, so that 0.8 is a fifth less. Names and values are letters without common
beginnings, and arrive in random order. Every cell has servers of its own; RSS/used is what the data has added to resident memory for each byte that it has
added to used_memory, {rest:g} s after the last reply at {last:,} elements, and nobody has asked for a purge."""


def times(ratio):
    return "%.2f×" % ratio


def limit(wanted):
    return "" if wanted is None else "≤ %.2f×" % wanted


def means_table(found):
    others = found.peers[1:]
    head = ["what", "cells", "mean ratio to " + found.reference, "budget", "met", "worst cell", "budget", "met", "at any one count"]
    body = []
    for row in found.rows:
        ratio, cell = found.worst(row)
        most, most_of_any = row.wanted
        body.append([row.title, str(len(row.cells)), times(found.mean(row)), limit(most), bench.met(found.mean(row) <= most),
                     times(ratio) + (" (%s)" % cell.size if cell.size else ""), limit(most_of_any),
                     "" if most_of_any is None else bench.met(ratio <= most_of_any), times(found.at_one_count(row))]
                    + [times(found.mean(row, other)) for other in others])
    body.append(["**mean of the rows**", str(sum(len(row.cells) for row in found.rows)), "**%s**" % times(mean(map(found.mean, found.rows)))]
                + [""] * 6 + [times(mean(found.mean(row, other) for row in found.rows)) for other in others])
    return bench.table(head + ["mean ratio to " + other for other in others], body)


def resident_cell(values):
    return "%.2f, %.2f" % (mean(values), max(values))


def resident_table(found):
    body = []
    for row in found.rows:
        values = found.resident(row, found.label(row))
        body.append([row.title, resident_cell(values), "≤ %.2f" % RESIDENT_WANTED, bench.met(round(max(values), 2) <= RESIDENT_WANTED)]
                    + [resident_cell(found.resident(row, peer)) for peer in found.peers])
    return bench.table(["RSS/used: mean, worst cell", "ours", "budget", "met"] + found.peers, body)


def bytes_cell(found, row, cell):
    return " / ".join("%.1f" % taken.mean for taken in [found.mine(row, cell)] + [found.results[cell][peer] for peer in found.peers])


def lines_of(row):
    """[(name of a line, {column: cell})]: the last size of a cell is its column, one before that its line."""
    lines = {}
    for cell in row.cells:
        name = row.title if len(cell.sizes) < 2 else "%s, %s of %d" % (row.title, row.axes[0], cell.sizes[0])
        lines.setdefault(name, {})[cell.sizes[-1] if cell.sizes else None] = cell
    return list(lines.items())


def grids(found):
    """Rows whose columns mean the same together: [(what they mean, columns, [(row, name of the line, {column: cell})])]."""
    together = {}
    for row in found.rows:
        together.setdefault(row.axes[-1] if row.axes else "", []).extend((row, name, cells) for name, cells in lines_of(row))
    return [(axis, list(dict.fromkeys(column for _, _, cells in lines for column in cells)), lines) for axis, lines in together.items()]


def size_tables(found):
    parts = []
    for axis, columns, lines in grids(found):
        head = [axis and axis + " of"] + ["bytes" if column is None else str(column) for column in columns]
        body = [[name] + [bytes_cell(found, row, cells[c]) if c in cells else "" for c in columns] for row, name, cells in lines]
        parts.append(bench.table(head, body))
    return parts


def compose(found):
    note = NOTE.format(steps=len(found.counts), first=found.counts[0], last=found.counts[-1], reference=found.reference, rest=found.rest_s)
    parts = [note, "![Memory by size, ours / %s](../../docs/memory.svg)" % found.reference, means_table(found), resident_table(found),
             "### Bytes per element: " + " / ".join(["ours"] + found.peers)]
    return "\n\n".join(parts + size_tables(found))


# ---- Heat map ----

WIDTH, LABELS, COLUMN, STEP, TOP, GAP, FOOT = 760, 240, 48, 26, 58, 14, 32
BASE = STEP / 2 + 3  # of a line's text
MEAN = LABELS + 9.2 * COLUMN
# Upper ends of the classes of ratios; (fill, text) of each, light and dark: from strong blue, far below 1, to orange, above 1.
ENDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, float("inf"))
LIGHT = (("#08519c", "#fff"), ("#2171b5", "#fff"), ("#5ba3d3", "#10202f"), ("#93c4e3", "#10202f"), ("#c6dff0", "#10202f"),
         ("#eaf1f7", "#10202f"), ("#fdc086", "#2b1600"), ("#e6701b", "#2b1600"))
DARK = (("#8fcbff", "#04101c"), ("#62aef2", "#04101c"), ("#3d8bd0", "#04101c"), ("#2b659b", "#f0f6fc"), ("#22486d", "#f0f6fc"),
        ("#1b2e43", "#f0f6fc"), ("#74420f", "#f0f6fc"), ("#c96a17", "#140a00"))


def style():
    return STYLE % tuple("".join("rect.c%d{fill:%s}text.c%d{fill:%s}" % (i, fill, i, ink) for i, (fill, ink) in enumerate(colors))
                         for colors in (LIGHT, DARK))


def color_of(ratio):
    """The ratio is compared as it is printed: 0.90 belongs to the class that ends there."""
    return next(i for i, end in enumerate(ENDS) if round(ratio, 2) <= end)


def patch(x, y, ratio, words):
    """A coloured cell with the bytes as its tooltip."""
    color = color_of(ratio)
    return '<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" class="c%d"/>%s</g>' % (
        html.escape(words), x, y, COLUMN - 2, STEP - 2, color, text(x + COLUMN / 2 - 1, y + BASE, "%.2f" % ratio, "m c%d" % color))


def heat_panel(found, top, axis, columns, lines):
    """Cells of some rows; at the right the mean of each row."""
    base, shown = top + STEP - 8, set()
    parts = [text(MEAN + COLUMN / 2 - 1, base, "mean", "s m")]
    if axis:
        parts.append(text(LABELS - 8, base, axis + " of … bytes", "s e"))
        parts += [text(LABELS + (i + 0.5) * COLUMN - 1, base, str(column), "s m") for i, column in enumerate(columns)]
    for line, (row, name, cells) in enumerate(lines):
        y = top + STEP * (line + 1)
        parts.append(text(LABELS - 8, y + BASE, name, "e"))
        for i, column in enumerate(columns):
            if column in cells:
                parts.append(patch(LABELS + i * COLUMN, y, found.ratio(row, cells[column]),
                                   "%s, %s: %s B" % (row.title, cells[column].size, bytes_cell(found, row, cells[column]))))
        if row not in shown:
            shown.add(row)
            parts.append(patch(MEAN, y, found.mean(row), row.title))
    return parts


def legend(y):
    parts, x, begin = [text(LABELS - 8, y + 12, "ours / theirs", "s e")], LABELS, None
    for i, end in enumerate(ENDS):
        words = "≤ %.1f" % end if i == 0 else "> %.1f" % begin if end == float("inf") else "– %.1f" % end
        parts.append('<rect x="%.1f" y="%.1f" width="14" height="14" rx="2" class="c%d"/>' % (x, y, i) + text(x + 19, y + 12, words, "s"))
        x, begin = x + 62, end
    return parts


def draw(path, found):
    head = "Memory per element: ours / %s" % found.reference
    parts, top = [], TOP
    for axis, columns, lines in grids(found):
        parts += heat_panel(found, top, axis, columns, lines)
        top += STEP * (len(lines) + 1) + GAP
    parts += legend(top + 4)
    height = top + FOOT
    first = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img"><title>%s</title><style>%s</style>'
             % (WIDTH, height, WIDTH, html.escape(head), style()),
             '<rect width="100%" height="100%" class="page"/>', text(12, 24, head, "h"),
             text(12, 44, "used_memory, mean of %d counts from %s to %s elements; the stronger the blue, the less we take" % (
                 len(found.counts), "{:,}".format(found.counts[0]), "{:,}".format(found.counts[-1])), "s")]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(first + parts) + "\n</svg>\n")
    bench.progress("chart: " + os.path.relpath(path))
