"""bench.py - the common parts of the benchmarks: peers, data, load, tables, charts, RESULTS.md.

The servers run one at a time on one CPU, the client on another. Python starts them and reads their INFO; the load
comes from src/valkey-benchmark, which interleaves the servers in rounds and prints medians.

    Server (ours, peers)  <-EVAL-  fill            data, created inside the server
                          <------  valkey-benchmark --vs --csv
                          -INFO->  used_memory
"""
import csv
import datetime
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(top, "tests", "differential"))

from server import Server

OURS = os.path.join(top, "src", "valkey-server")
CLIENT = os.path.join(top, "src", "valkey-benchmark")
RESULTS = os.path.join(here, "RESULTS.md")
COLORS = ["#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a", "#999999"]


def build(folder, name, *flags):
    """Builds utils/bench/NAME.c in a folder, and returns the path of the program or library."""
    to, source = os.path.join(folder, name), os.path.join(here, name + ".c")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", to, source, *flags], check=True)
    return to


# ---- Servers ----


def label_of(program):
    """"redis 7.0.15" from the first line of --version."""
    text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"(\w+) server v=(\S+)", text)
    return "%s %s" % (found[1].lower(), found[2]) if found else os.path.basename(program)


def find_peers(named):
    """Programs to compare with; ratios are relative to the first. They are those named, or PEERS, or Valkey as utils/oracle
    has fetched it (otherwise an installed one) and redis-server; this server under another name is left out."""
    fetched = os.path.join(os.environ.get("ORACLE", os.path.join(top, "build", "oracle")), "bin", "valkey-server")
    valkey = fetched if os.path.exists(fetched) else "valkey-server"
    peers = named or os.environ.get("PEERS", valkey + " redis-server").replace(":", " ").split()
    paths = []
    for peer in peers:
        path = shutil.which(peer)
        if not path:
            if named or "PEERS" in os.environ:
                sys.exit("There is no program %s." % peer)
            continue
        # The path is not resolved, because a program may depend on the name under which it is called.
        if not any(os.path.samefile(path, other) for other in paths + [OURS]):
            paths.append(os.path.abspath(path))
    if not paths:
        sys.exit("There is no server to compare with: utils/oracle fetches one.")
    return paths


def pin():
    """Puts this process, and the client that it starts, on one CPU. Returns another one for the servers, or None."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return None
    os.sched_setaffinity(0, {cpus[0]})
    return cpus[1]


class Field:
    """Ours and the peers, running and empty."""

    def __init__(self, peers, cpu, ours=(("ours", ()),)):
        """`ours` has (label, options) of each configuration of this server."""
        programs = [OURS] * len(ours) + peers
        options = [list(words) for _, words in ours] + [[] for _ in peers]
        labels = [label for label, _ in ours] + [label_of(p) for p in peers]
        self.labels = [l if labels.count(l) == 1 else "%s (%s)" % (l, p) for l, p in zip(labels, programs)]
        self.servers = []
        try:
            for program, words in zip(programs, options):
                self.servers.append(Server(program, cpu, words))
        except BaseException:
            self.__exit__()
            raise
        self.mark()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for server in self.servers:
            server.stop()

    @staticmethod
    def used_memory(server):
        """Returns the bytes in use and resident, after lazy freeing has ended."""
        while int(server.info("memory").get("lazyfree_pending_objects", 0)):
            time.sleep(0.1)
        server.admin.call("MEMORY", "PURGE")
        info = server.info("memory")
        return int(info["used_memory"]), int(info["used_memory_rss"])

    def restart(self):
        """Restarts the servers, as resident memory would not shrink again after a load."""
        for server in self.servers:
            server.stop()
            server.start()
        self.mark()

    def mark(self):
        """Takes the present memory as that of an empty server."""
        self.empty = [self.used_memory(s) for s in self.servers]

    def memory(self):
        """Returns (bytes in use, bytes resident) of the data in each server."""
        time.sleep(1)  # let tables that were growing come to rest
        now = [self.used_memory(s) for s in self.servers]
        return [(n[0] - e[0], n[1] - e[1]) for n, e in zip(now, self.empty)]

    def memory_per(self, count):
        """Returns the memory of the data divided by `count` elements."""
        return [(used / count, resident / count) for used, resident in self.memory()]

    def fill(self, script, start, stop, chunk, *more):
        for server in self.servers:
            fill_server(server, script, start, stop, chunk, *more)

    def run(self, command, requests, pipeline, key_range, rounds, *options):
        """Runs the load on each server in turn. Returns a row for each: {rps_median, cpu_s_per_million, ...}."""
        words = [CLIENT, "--csv", "-c", "50", "-P", pipeline, "-n", requests, "-r", key_range, "--rounds", rounds]
        words += ["-h", self.servers[0].host, "-p", self.servers[0].port, *options]
        for server in self.servers[1:]:
            words += ["--vs", "%s:%d" % (server.host, server.port)]
        for label in self.labels:
            words += ["--name", label]
        if len(self.servers) == 1:  # without --vs there would be no rounds
            words += ["--vs", "%s:%d" % (self.servers[0].host, self.servers[0].port)]
        done = subprocess.run([str(w) for w in words] + command.split(), capture_output=True, text=True)
        if done.returncode:
            sys.exit("%s failed:\n%s" % (" ".join(map(str, words)), done.stderr))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))[: len(self.servers)]
        return [{k: float(v) for k, v in row.items() if k not in ("test", "server") and v} for row in rows]


# Both indexes of our sorted sets, as two servers beside the peers.
BOTH_INDEXES = (("ours, skiplist", ("--zset-index", "skiplist")), ("ours, btree", ("--zset-index", "btree")))


def fill_server(server, script, start, stop, chunk, *more):
    """EVAL of the script for each chunk of numbers from start to stop - 1: ARGV[1] and ARGV[2] are its bounds."""
    for first in range(start, stop, chunk):
        reply = server.admin.call("EVAL", script, 0, first, min(first + chunk, stop), *more)
        if reply[0] == b"-":
            sys.exit("%s: %s" % (server.program, reply[1].decode()))


def everywhere(field, *command):
    for server in field.servers:
        reply = server.admin.call(*command)
        if reply[0] == b"-":
            raise SystemExit("%s: %s" % (server.program, reply[1].decode()))


def empty(field):
    """Runs FLUSHALL, and counts memory in use from here on, but not resident memory (see restart)."""
    everywhere(field, b"FLUSHALL")
    field.mark()


# ---- Data ----

# Sorted sets zset:<12 digits> of ARGV[3] members each.
FILL_SETS = """
local pairs = {}
for i = 0, ARGV[3] - 1 do
    pairs[#pairs + 1] = i
    pairs[#pairs + 1] = 'member:' .. i
end
for set = tonumber(ARGV[1]), ARGV[2] - 1 do
    redis.call('zadd', string.format('zset:%012d', set), unpack(pairs))
end"""

FILL_ONE_SET = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('zadd', 'big', i, 'member:' .. i) end"""

# Scores that have no shorter representation; members of 7 to 13 bytes.
FILL_DOUBLES = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do
    math.randomseed(i)
    redis.call('zadd', 'big', string.format('%.17g', math.random() * 1000), 'member:' .. i)
end"""

# Members of 100 bytes.
FILL_LONG_MEMBERS = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('zadd', 'big', i, string.rep('m', 88) .. string.format('%012d', i)) end"""

# Contents of a sorted set: name, script.
ZSET_KINDS = [
    ("scores in order", FILL_ONE_SET),
    ("random doubles", FILL_DOUBLES),
    ("members of 100 bytes", FILL_LONG_MEMBERS),
]

# Keys of 16 bytes, values of ARGV[3] bytes.
FILL_STRINGS = """
local value = string.rep('x', ARGV[3])
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('set', string.format('key:%012d', i), value) end"""

# ---- Text ----


def table(head, rows):
    """Markdown; columns from the second on that hold numbers are right-aligned."""
    lines = ["| " + " | ".join(head) + " |"]
    right = [all(re.match(r"^[\d.,×%B µ-]*$", str(row[i])) for row in rows) for i in range(len(head))]
    lines.append("|" + "|".join("---:" if r else "---" for r in right) + "|")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def memory_cell(used, resident):
    return "%.1f B (RSS %.1f)" % (used, resident)


def speed_cell(rps, cpu_us):
    return "{:,.0f}/s ({:.2f} µs)".format(rps, cpu_us)


def speeds(runs):
    """(requests/s, CPU µs of the server for one) of each row of Field.run."""
    return [(r["rps_median"], r["cpu_s_per_million"]) for r in runs]


def compared_head(labels):
    """Returns the header of the tables of `compared` and `compared_memory`."""
    return ["what"] + labels + ["ratio", "CPU ratio", "budget", "met"]


def met(holds):
    return "yes" if holds else "**no**"


def compared(what, runs, budget, by="rps"):
    """A row: (requests/s, CPU µs) of ours and of the peers. Ratios are ours / first peer. The requirement is the smallest ratio
    of requests/s; with "cpu" the largest of CPU times; with "either" the better of the two, as the client may be the limit."""
    (rps, cpu), (peer_rps, peer_cpu) = runs[:2]
    ratio, cpu_ratio = rps / peer_rps, cpu / peer_cpu if peer_cpu else 1
    holds = {"rps": ratio >= budget, "cpu": cpu_ratio <= budget, "either": max(ratio, 1 / cpu_ratio if cpu_ratio else 0) >= budget}[by]
    return [what] + [speed_cell(*r) for r in runs] + ["%.2f×" % ratio, "%.2f×" % cpu_ratio,
            "CPU ≤ %.2f×" % budget if by == "cpu" else "≥ %.2f×" % budget, met(holds)]


def compared_memory(what, sizes, budget_b=None, budget_ratio=None):
    """A row: (bytes in use, resident) per element of ours and of the peers."""
    ratio = sizes[0][0] / sizes[1][0]
    if budget_b:
        budget, holds = "≤ %d B" % budget_b, sizes[0][0] <= budget_b
    else:
        budget, holds = "≤ %.2f×" % budget_ratio, ratio <= budget_ratio
    return [what] + [memory_cell(*s) for s in sizes] + ["%.2f×" % ratio, "", budget, met(holds)]


def machine():
    with open("/proc/cpuinfo") as f:
        text = f.read()
    model = re.search(r"model name\s*: (.*)", text) or re.search(r"(?:Hardware|Model)\s*: (.*)", text)
    with open("/proc/meminfo") as f:
        memory_kb = int(re.search(r"MemTotal:\s*(\d+)", f.read())[1])
    return "%s, %d CPUs, %.0f GB, Linux %s" % (model[1] if model else os.uname().machine, os.cpu_count(),
                                               memory_kb / 2**20, os.uname().release)


def section_text(name, title, text):
    """A benchmark's section of RESULTS.md, which is found again by its two comments."""
    command = " ".join(["utils/bench/" + name] + [shlex.quote(a) for a in sys.argv[1:] if a != "--write"])
    setting = ["%s=%s" % (v, shlex.quote(os.environ[v])) for v in ("COUNTS", "ZSET_COUNT", "PEERS", "SCALE") if v in os.environ]
    return "<!-- begin %s -->\n## %s\n%s, %s  \n`%s`\n\n%s\n<!-- end %s -->\n" % (
        name, title, datetime.date.today().isoformat(), machine(), " ".join(setting + [command]), text, name)


def publish(name, title, text, write):
    """Prints the section, and replaces the former one in RESULTS.md if `--write` was given."""
    section = section_text(name, title, text)
    print(section)
    if not write:
        return
    with open(RESULTS) as f:
        page = f.read()
    place = re.compile(r"<!-- begin %s -->.*?<!-- end %s -->\n" % (name, name), re.S)
    page = place.sub(lambda _: section, page) if place.search(page) else page.rstrip("\n") + "\n\n" + section
    with open(RESULTS, "w") as f:
        f.write(page)


def progress(text):
    print("... " + text, file=sys.stderr, flush=True)


# ---- Charts ----


def short_number(v):
    return "%.2fM" % (v / 1e6) if v >= 1e6 else "%.0fk" % (v / 1e3) if v >= 1e4 else "%.1f" % v if v < 1000 else "%.0f" % v


def bar(x, y, width, height, color, text):
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'
            '<text x="%.1f" y="%.1f" class="v">%s</text>' % (x, y, width, height, color, x + width / 2, y - 4, text))


def panel_svg(title, groups, left, width, base, height):
    """Bars of one panel: groups are (label, values), one value per server, over a common base line."""
    highest = max(max(values) for _, values in groups) or 1
    step = width / len(groups)
    parts = ['<text x="%.1f" y="%.1f" class="t">%s</text>' % (left + width / 2, base - height - 26, title),
             '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#555"/>' % (left, base, left + width, base)]
    for g, (label, values) in enumerate(groups):
        start, thick = left + g * step + 0.1 * step, 0.8 * step / len(values)
        for i, value in enumerate(values):
            tall = height * value / highest
            parts.append(bar(start + i * thick, base - tall, thick * 0.92, tall, COLORS[i % len(COLORS)], short_number(value)))
        parts.append('<text x="%.1f" y="%.1f" class="g">%s</text>' % (left + (g + 0.5) * step, base + 18, label))
    return parts


def chart(path, title, servers, panels):
    """Writes panels of grouped bars side by side: panels are (title, [(group, [value of each server])])."""
    step = max(55 * len(servers), 90)
    widths = [step * len(groups) for _, groups in panels]
    total, base, height = sum(widths) + 40 * (len(panels) + 1), 330, 210
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="400" font-family="sans-serif">' % total,
             '<style>text{text-anchor:middle;fill:#222}.v{font-size:11px}.g{font-size:12px}.t{font-size:13px}'
             '.h{font-size:16px;font-weight:bold}.l{font-size:12px;text-anchor:start}</style>',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="%d" y="30" class="h">%s</text>' % (total / 2, title)]
    left = 40
    for (panel, groups), width in zip(panels, widths):
        parts += panel_svg(panel, groups, left, width, base, height)
        left += width + 40
    for i, server in enumerate(servers):
        x = 40 + 180 * i
        parts.append('<rect x="%d" y="368" width="12" height="12" fill="%s"/>'
                     '<text x="%d" y="379" class="l">%s</text>' % (x, COLORS[i % len(COLORS)], x + 18, server))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(parts) + "\n</svg>\n")
    progress("chart: " + os.path.relpath(path))
