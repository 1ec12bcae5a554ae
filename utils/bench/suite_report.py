"""suite_report.py - reports the results of utils/bench/suite: tables, budgets, projection, chart. It measures nothing.

`results` is {(clients, pipeline): {row name: {peer: Cost}}}.
"""
import html
import math
import operator
import os

import bench
from suite_load import BY_NAME

SUITE_LEAD = 1.5         # every row in a pipeline, CPU of the reference / ours
MAIN_USER_US = 0.6       # a GET or SET with I/O threads, un-pipelined: of the main thread
MAIN_KERNEL_US = 0.1
MAIN_LEAD = 4            # CPU of a server without I/O threads / of the main thread with them
THREADS_TOTAL = 1.15     # CPU of all threads, with I/O threads / without
RING_TOTAL = 0.8         # the same with io_uring / with epoll
HEADLINES = ("get", "set")

# ---- Tables ----


def us(value):
    return "%.2f" % value


def lead(costs, reference, peer):
    """How many times less CPU than the reference; None: one of them is not known."""
    if peer not in costs or reference not in costs or costs[peer].all <= 0:
        return None
    return costs[reference].all / costs[peer].all


def times(ratio):
    return "–" if ratio is None else "%.2f×" % ratio


def total_cell(costs, reference, peer):
    if peer not in costs:
        return "–"
    ratio = "" if peer is reference else " (%s)" % times(lead(costs, reference, peer))
    return us(costs[peer].all) + ratio


def split_cell(costs, peer):
    """user + kernel of the main thread, and of the I/O threads where there are any."""
    if peer not in costs:
        return "–"
    cost = costs[peer]
    cell = "%s + %s" % (us(cost.user["main"]), us(cost.kernel["main"]))
    if cost.of("io") >= 0.005:
        cell += "; %s + %s" % (us(cost.user["io"]), us(cost.kernel["io"]))
    return cell


def row_table(rows, peers, cell):
    body = [[BY_NAME[name].shown] + [cell(costs, p) for p in peers] for name, costs in rows.items()]
    return bench.table(["command"] + [p.label for p in peers], body)


def cell_title(clients, pipeline):
    return "%d clients, %s" % (clients, "pipeline %d" % pipeline if pipeline > 1 else "no pipeline")


def worst(rows, reference, peer):
    """(lead, row name) of the row in which this peer leads least."""
    leads = [(lead(costs, reference, peer), name) for name, costs in rows.items()]
    return min((l for l in leads if l[0] is not None), default=None)


def worst_line(rows, peers, reference):
    parts = []
    for peer in peers:
        found = worst(rows, reference, peer) if peer is not reference else None
        if found:
            parts.append("%s: %s %s" % (peer.label, BY_NAME[found[1]].shown, times(found[0])))
    return "Worst row against %s: %s." % (reference.label, "; ".join(parts) or "none to compare")


def suite_text(results, peers, reference):
    parts = []
    for cell, rows in results.items():
        parts += ["### CPU per request, %s" % cell_title(*cell),
                  "Microseconds of all threads; in brackets how many times less than %s." % reference.label,
                  row_table(rows, peers, lambda costs, p: total_cell(costs, reference, p)),
                  worst_line(rows, peers, reference),
                  "By thread: user + kernel of the main thread; of the I/O threads.",
                  row_table(rows, peers, split_cell)]
    return parts


def thread_text(cost, name):
    user, kernel = cost.threads[name]
    return "%s %s + %s" % (name, us(user), us(kernel))


def headline_rows(rows, peers):
    """GET and SET in every detail."""
    for name in HEADLINES:
        for peer in peers:
            cost = rows.get(name, {}).get(peer)
            if not cost:
                continue
            others = [n for n in sorted(cost.threads) if n != "main" and sum(cost.threads[n]) >= 0.005]
            yield [BY_NAME[name].shown, peer.label, us(cost.user["main"]), us(cost.kernel["main"]), us(cost.all),
                   "; ".join(thread_text(cost, n) for n in others), "{:,.0f}".format(cost.rps)]


def headline_text(results, peers, clients):
    head = ["command", "server", "main thread, user µs", "main thread, kernel µs", "all threads µs", "other threads: user + kernel µs", "requests/s"]
    return ["### GET and SET, %s" % cell_title(clients, 1), bench.table(head, list(headline_rows(results[clients, 1], peers)))]


# ---- Budgets ----

NOT_MEASURED = "not measured"


def verdict(what, wanted, measured, holds):
    return [what, wanted, measured, bench.met(holds)]


def suite_budgets(results, peer, reference):
    for (clients, pipeline), rows in results.items():
        if pipeline == 1:
            continue
        leads = {name: lead(costs, reference, peer) for name, costs in rows.items()}
        known = {n: l for n, l in leads.items() if l is not None}
        what, wanted = "every row, %s" % cell_title(clients, pipeline), "≥ %.1f×" % SUITE_LEAD
        if not known:
            yield [what, wanted, NOT_MEASURED, NOT_MEASURED]
            continue
        below = sorted((l, n) for n, l in known.items() if l < SUITE_LEAD)
        listed = ", ".join("%s %s" % (BY_NAME[n].shown, times(l)) for l, n in below)
        yield verdict(what, wanted, "%d of %d rows below: %s" % (len(below), len(known), listed) if below else "all %d rows" % len(known),
                      not below)


def costs_of(results, clients, name, peer):
    return results.get((clients, 1), {}).get(name, {}).get(peer) if peer else None


def thread_budgets(results, clients, single, threaded):
    """`single` has the same event loop."""
    for name in HEADLINES:
        cost, alone = costs_of(results, clients, name, threaded), costs_of(results, clients, name, single)
        what = "%s, %s, with I/O threads: " % (BY_NAME[name].shown, cell_title(clients, 1))
        limits = [("main thread, user", MAIN_USER_US, cost and cost.user["main"]), ("main thread, kernel", MAIN_KERNEL_US, cost and cost.kernel["main"])]
        for part, most, value in limits:
            yield limited(what + part, "≤ %.1f µs" % most, value, most, "%.2f µs")
        relief = alone.all / cost.of("main") if cost and alone else None
        yield limited(what + "one thread / main thread", "≥ %g×" % MAIN_LEAD, relief, MAIN_LEAD, "%.2f×", operator.ge)
        ratio = cost.all / alone.all if cost and alone else None
        yield limited(what + "all threads / one thread", "≤ %.2f×" % THREADS_TOTAL, ratio, THREADS_TOTAL, "%.2f×")


def ring_budgets(results, clients, epoll, ring):
    for name in HEADLINES:
        cost, other = costs_of(results, clients, name, ring), costs_of(results, clients, name, epoll)
        ratio = cost.all / other.all if cost and other else None
        yield limited("%s, %s: io_uring / epoll" % (BY_NAME[name].shown, cell_title(clients, 1)), "≤ %.1f×" % RING_TOTAL, ratio, RING_TOTAL, "%.2f×")


def limited(what, wanted, value, limit, form, holds=operator.le):
    if value is None:
        return [what, wanted, NOT_MEASURED, NOT_MEASURED]
    return verdict(what, wanted, form % value, holds(value, limit))


def budgets_text(results, peers, reference, headline_clients):
    one = [p for p in peers if p.ours and not p.threaded]
    first = lambda found: next(iter(found), None)
    threaded = first(p for p in peers if p.ours and p.threaded)
    single, epoll, ring = first(one), first(p for p in one if p.api == "epoll"), first(p for p in one if p.api == "io_uring")
    alone = first(p for p in one if threaded and p.api == threaded.api)
    rows = list(suite_budgets(results, single, reference)) if single else []
    rows += thread_budgets(results, headline_clients, alone, threaded)
    rows += ring_budgets(results, headline_clients, epoll, ring)
    return ["### Budgets", bench.table(["what", "budget", "measured", "met"], rows)]


# ---- Projection ----

PROJECTION = """What the main thread alone could do on a machine with enough cores: 1 s / (its user + kernel µs for one request), if
- I/O threads are not the limit: as many of them, each with a core of its own, as the last column says (their µs / the main thread's, rounded up);
- a request costs the main thread there what it costs here, where all threads share %d CPUs with the client. Caches of one's own would make it
  cheaper, lines of memory that travel between distant cores dearer: both are left out;
- the main thread never waits for input: what it spins or sleeps is in its µs as measured here;
- the network and the clients keep up.

It is arithmetic and no measurement."""


def projection_rows(rows, peers):
    for name in HEADLINES:
        for peer in peers:
            cost = rows.get(name, {}).get(peer)
            if not cost or cost.of("main") <= 0:
                continue
            main, io = cost.of("main"), cost.of("io")
            threads = math.ceil(io / main) if io >= 0.005 else 0
            yield [BY_NAME[name].shown, peer.label, us(main), "{:,.0f}".format(round(1e6 / main, -3)), str(threads) if threads else "none"]


def projection_text(results, peers, clients, cpus):
    head = ["command", "server", "main thread µs", "requests/s, projected", "I/O threads for that"]
    return ["### Projection for more cores", PROJECTION % cpus, bench.table(head, list(projection_rows(results[clients, 1], peers)))]


# ---- Tails ----


def ms(value):
    return "%.3f" % value if value < 1 else "%.2f" % value


def tails_text(tails, peers, reference, clients):
    """`tails`: {command: (rate, {peer: capacity}, {peer: [p50, p99, p99.9]})}."""
    rows = []
    for command, (rate, capacity, found) in tails.items():
        for p in peers:
            rows.append([BY_NAME[command].shown, p.label, "{:,.0f}".format(capacity[p]), "{:,.0f}".format(rate)]
                        + [ms(v) for v in found.get(p, [])] + ["–"] * (3 - len(found.get(p, []))))
    head = ["command", "server", "capacity, requests/s", "load, requests/s", "p50 ms", "p99 ms", "p99.9 ms"]
    note = ("%d clients, no pipeline. Requests are due at fixed moments, at 60%% of what %s can do here, and latency counts from then on, whether "
            "or not a client was free to send; the list of percentiles has 99.902 for 99.9. Medians of the rounds." % (clients, reference.label))
    return ["### Tails at 60% load", note, bench.table(head, rows)]


# ---- Chart ----

WIDTH, LABELS, GAP, TOP, STEP, AXIS = 800, 112, 22, 112, 22, 30
VALUE = 44  # right of a panel, the end of the number that stands there
LIGHT = ("#1b6ca8", "#d1495b", "#2a9d6f", "#8a5cb8", "#b07d12")
DARK = ("#5fb0ec", "#ff8a94", "#63d3a4", "#c5a3ee", "#e6bd5c")
STYLE = """
text{font:12px sans-serif;fill:#24292f}.h{font-size:15px;font-weight:bold}.s{fill:#57606a;font-size:11px}.e{text-anchor:end}.b{font-weight:bold}.m{text-anchor:middle}
.grid{stroke:#d0d7de}.one{stroke:#57606a;stroke-width:1.5}.band{fill:#f6f8fa}.page{fill:#ffffff}
%s
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9aa4af}.grid{stroke:#30363d}.one{stroke:#9aa4af}.band{fill:#161b22}.page{fill:#0d1117}
%s}"""


def style():
    rules = ["".join(".p%d{fill:%s;stroke:%s}" % (i, c, c) for i, c in enumerate(colors)) for colors in (LIGHT, DARK)]
    return STYLE % tuple(rules)


class Axis:
    """Ratios from `low` to `high` on a logarithmic scale."""

    def __init__(self, left, width, low, high):
        self.left, self.width, self.low, self.high = left, width, low, high

    def x(self, ratio):
        ratio = min(max(ratio, self.low), self.high)
        return self.left + self.width * math.log(ratio / self.low) / math.log(self.high / self.low)

    def ticks(self):
        tick = self.low
        while tick <= self.high * 1.001:
            yield tick
            tick *= 2


def mark(i, x, y):
    """The first is a full dot, the others have shapes of their own, so that colour is not all that tells them apart."""
    shapes = ['<circle cx="%.1f" cy="%.1f" r="4.5" class="p%d"/>' % (x, y, i),
              '<path d="M%.1f %.1fl4.5 4.5l-4.5 4.5l-4.5 -4.5z" class="p%d"/>' % (x, y - 4.5, i),
              '<rect x="%.1f" y="%.1f" width="7" height="7" class="p%d"/>' % (x - 3.5, y - 3.5, i),
              '<path d="M%.1f %.1fl4.5 8h-9z" class="p%d"/>' % (x, y - 4.5, i),
              '<path d="M%.1f %.1fv9M%.1f %.1fh9" class="p%d" stroke-width="2"/>' % (x, y - 4.5, x - 4.5, y, i)]
    return shapes[i % len(shapes)]


def text(x, y, words, kind=""):
    return '<text x="%.1f" y="%.1f" class="%s">%s</text>' % (x, y, kind, html.escape(words))


def line(x1, y1, x2, y2, kind):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>' % (x1, y1, x2, y2, kind)


def frame(axis, title, first, bottom):
    parts = [text(axis.left, TOP - 22, title, "b"), text(axis.left + axis.width + VALUE, TOP - 5, first, "s e")]
    for tick in axis.ticks():
        parts.append(line(axis.x(tick), TOP, axis.x(tick), bottom, "one" if tick == 1 else "grid"))
        parts.append(text(axis.x(tick), bottom + 15, "%g×" % tick, "s m"))
    parts.append(text(axis.x(1) + 3, TOP - 5, "equal", "s e"))
    return parts


def panel(axis, rows, shown, reference):
    """The marks of each row, and the first peer's number at the right of it."""
    parts = []
    for i, costs in enumerate(rows.values()):
        y = TOP + STEP * (i + 0.5)
        leads = [(p, lead(costs, reference, peer)) for p, peer in enumerate(shown)]
        for p, ratio in reversed(leads):  # the first on top
            if ratio is not None:
                parts.append(mark(p, axis.x(ratio), y))
        if leads and leads[0][1] is not None:
            parts.append(text(axis.left + axis.width + VALUE, y + 4, times(leads[0][1]), "e"))
    return parts


def legend(shown):
    parts, x = [], 12
    for i, peer in enumerate(shown):
        parts += [mark(i, x + 5, 64), text(x + 15, 68, peer.label)]
        x += 34 + 7 * len(peer.label)
    return parts


def chart(path, results, clients, peers, reference):
    """CPU per request against the reference, a line for each row, without and with a pipeline side by side."""
    shown = [p for p in peers if p is not reference]
    panels = [(p, results[clients, p]) for c, p in results if c == clients]
    names = list(panels[0][1])
    leads = [l for _, rows in panels for costs in rows.values() for l in (lead(costs, reference, p) for p in shown) if l]
    low, high = (2 ** f(math.log2(e)) for f, e in ((math.floor, min(leads + [0.9])), (math.ceil, max(leads + [2]))))
    bottom, width = TOP + STEP * len(names), (WIDTH - LABELS - GAP) / 2 - 64
    head = "CPU for one request: how many times less than %s" % reference.label
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" role="img"><title>%s</title><style>%s</style>'
             % (WIDTH, bottom + AXIS, WIDTH, html.escape(head), style()),
             '<rect width="100%" height="100%" class="page"/>', text(12, 24, head, "h"),
             text(12, 44, "all threads together, %d clients; further right is better" % clients, "s")]
    parts += legend(shown)
    for i, name in enumerate(names):
        if i % 2 == 0:
            parts.append('<rect x="8" y="%d" width="%d" height="%d" class="band"/>' % (TOP + STEP * i, WIDTH - 16, STEP))
        parts.append(text(LABELS, TOP + STEP * (i + 0.5) + 4, BY_NAME[name].shown, "e"))
    for i, (pipeline, rows) in enumerate(panels):
        axis = Axis(LABELS + 16 + i * (width + VALUE + 16 + GAP), width, low, high)
        parts += frame(axis, "pipeline of %d" % pipeline if pipeline > 1 else "no pipeline", shown[0].label if shown else "",
                       bottom)
        parts += panel(axis, rows, shown, reference)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(parts) + "\n</svg>\n")
    bench.progress("chart: " + os.path.relpath(path))
