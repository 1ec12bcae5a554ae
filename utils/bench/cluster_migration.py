"""cluster_migration.py - moves slots with their data from one node to another of the same kind, at once (CLUSTER
MIGRATESLOTS), and measures keys per second, the processor time of all processes involved, and how long another client of
either node waits meanwhile.

    source ── CLUSTER MIGRATESLOTS ──▶ target        one migration at a time, rounds interleaved over the programs
      ▲                                  ▲
      └──── a client each, PING every ms ──┘

It is a part of utils/bench/cluster.
"""
import multiprocessing
import os
import statistics
import sys
import time

import bench
from resp import Connection
from server import Server, free_port

FIRST, LAST = 0, 15999  # the slots that move; some stay, or the source would become a replica
MOVED = (LAST + 1 - FIRST) / 16384
SPEED_BUDGET, WAIT_BUDGET = 1.5, 1.0
CHUNK = 2000  # commands sent at once when data is made
POLL_S = 0.002
PACE_S = 0.001  # between two requests of a client that waits
TICKS = os.sysconf("SC_CLK_TCK")

# ---- Data ----


def strings(size):
    def fill(server, keys):
        call(server, "DEBUG", "POPULATE", keys, "key", size)
    return fill


def commands(make):
    """make(i) returns the commands that create the data of number i."""
    def fill(server, keys):
        for first in range(0, keys, CHUNK):
            batch = [c for i in range(first, min(first + CHUNK, keys)) for c in make(i)]
            for reply in server.admin.call_all(batch):
                if reply[0] == b"-":
                    sys.exit("%s: %s" % (server.program, reply[1].decode()))
    return fill


def with_expiry(i):
    return [(b"SET", b"key:%d" % i, b"x" * 100, b"EX", b"100000")]


def hash_of_20(i):
    return [(b"HSET", b"key:%d" % i) + tuple(w for f in range(20) for w in (b"field:%d" % f, b"value:%d" % f))]


def zset_of_50(i):
    return [(b"ZADD", b"key:%d" % i) + tuple(w for m in range(50) for w in (b"%d.5" % m, b"member:%d" % m))]


# name, count at scale 1, a function that creates the data, whether the budget applies
ROWS = [
    ("strings of 500 B, 1 GB", 2000000, strings(500), True),
    ("strings of 10 B", 2000000, strings(10), False),
    ("strings of 10 KB, 1 GB", 100000, strings(10000), True),
    ("strings of 100 B with an expiry", 500000, commands(with_expiry), False),
    ("hashes of 20 fields", 100000, commands(hash_of_20), False),
    ("sorted sets of 50 members", 50000, commands(zset_of_50), False),
    ("strings of 10 B", 10000, strings(10), False),
]
QUICK_ROWS = [ROWS[1][:1] + (20000,) + ROWS[1][2:], ROWS[4][:1] + (2000,) + ROWS[4][2:]]

# ---- Two nodes ----


def call(server, *words):
    reply = server.admin.call(*words)
    if reply[0] == b"-":
        sys.exit("%s, %s: %s" % (server.program, " ".join(map(str, words)), reply[1].decode()))
    return reply[1]


def wait_for(what, condition, limit_s=600, pause_s=0.1):
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("%s: not within %d s" % (what, limit_s))
        time.sleep(pause_s)


class Pair:
    """A source that has all slots, and a target that has none."""

    def __init__(self, program):
        self.nodes = []
        try:
            for _ in range(2):
                # The default port of the bus, 10,000 higher, may be out of range.
                self.nodes.append(Server(program, None, ("--cluster-enabled", "yes", "--cluster-port", str(free_port()),
                                                         "--enable-debug-command", "yes")))
            self.source, self.target = self.nodes
            self.join()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for node in self.nodes:
            node.stop()

    def join(self):
        call(self.source, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        bus = call(self.target, "CONFIG", "GET", "cluster-port")[1][1]
        call(self.source, "CLUSTER", "MEET", self.target.host, self.target.port, int(bus))
        for node in self.nodes:
            wait_for("a cluster of two nodes", lambda: b"cluster_state:ok" in call(node, "CLUSTER", "INFO")
                     and b"handshake" not in call(node, "CLUSTER", "NODES") and b"cluster_known_nodes:2" in call(node, "CLUSTER", "INFO"))
        self.target_id = call(self.target, "CLUSTER", "MYID").decode()

    def job(self):
        words = [w[1] for w in call(self.source, "CLUSTER", "GETSLOTMIGRATIONS")[0][1]]
        return dict(zip(words[::2], words[1::2]))

    def cpu_s(self):
        """CPU seconds of both nodes, and of their children that have ended."""
        total = 0
        for node in self.nodes:
            with open("/proc/%d/stat" % node.process.pid) as f:
                total += sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:15])
        return total / TICKS


# ---- Clients that wait ----


def ask_on(host, port, pipe):
    """A PING every PACE_S until told to stop. Sends back how long each took, in ms; those that a long wait has kept from being sent
    have waited, too, each a pace less than the one before: without them a server that stands still for seconds would look like
    one that was late once."""
    connection = Connection(host, port, timeout_s=600)
    waits = []
    pipe.send("ready")
    while not pipe.poll():
        begin = time.perf_counter()
        connection.call("PING")
        wait_s = time.perf_counter() - begin
        while wait_s > 0:
            waits.append(1000 * wait_s)
            wait_s -= PACE_S
        time.sleep(PACE_S)
    pipe.send(waits)


class Asker:
    def __init__(self, server):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=ask_on, args=(server.host, server.port, other), daemon=True)
        self.process.start()
        self.pipe.recv()

    def waits(self):
        self.pipe.send("stop")
        waits = self.pipe.recv()
        self.process.join()
        return sorted(waits) or [0]


def migrate(program, fill, keys):
    """(seconds, CPU s, p99 in ms and the longest wait of a client of the source, the same of the target, keys that moved)"""
    with Pair(program) as pair:
        fill(pair.source, keys)
        all_keys = call(pair.source, "DBSIZE")
        time.sleep(0.5)  # tables that were growing come to rest
        cpu_s = pair.cpu_s()
        askers = [Asker(node) for node in pair.nodes]
        begin = time.monotonic()
        call(pair.source, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", FIRST, LAST, "NODE", pair.target_id)
        wait_for("a migration", lambda: pair.job()[b"state"] in (b"success", b"failed", b"cancelled"), pause_s=POLL_S)
        took = time.monotonic() - begin
        if pair.job()[b"state"] != b"success":
            sys.exit("%s: %s" % (program, pair.job()[b"message"].decode()))
        time.sleep(0.2)  # clients see what comes behind it, too
        waits = [w for asker in askers for w in [asker.waits()]]
        wait_for("freeing", lambda: not int(pair.source.info("memory").get("lazyfree_pending_objects", 0)))
        moved = call(pair.target, "DBSIZE")
        if moved + call(pair.source, "DBSIZE") != all_keys:
            sys.exit("%s: keys were lost" % program)
        figures = [took, pair.cpu_s() - cpu_s]
        for w in waits:
            figures += [w[len(w) * 99 // 100], w[-1]]
        return figures + [moved]


# ---- The table ----


def wait_cell(p99, longest):
    return "%.1f / %.0f ms" % (p99, longest)


def row(what, runs, held):
    """runs: figures of ours and of the peer."""
    ours, peer = runs
    ratio = peer[0] / ours[0]
    waits_less = ours[2] <= WAIT_BUDGET * peer[2] and ours[4] <= WAIT_BUDGET * peer[4]
    cells = ["%s, %s" % (what, "{:,}".format(int(ours[6])))]
    cells += ["{:,.0f}/s".format(r[6] / r[0]) for r in runs] + ["%.2f×" % ratio]
    cells += ["%.2f µs" % (1e6 * r[1] / r[6]) for r in runs]
    cells += [wait_cell(*r[2:4]) for r in runs] + [wait_cell(*r[4:6]) for r in runs]
    return cells + ["≥ %.1f×" % SPEED_BUDGET if held else "", bench.met(ratio >= SPEED_BUDGET and waits_less) if held else ""]


def section(programs, options):
    """Markdown. programs: ours and a peer; options: those of utils/bench/cluster (quick, scale, rounds)."""
    rows = []
    for what, count, fill, held in QUICK_ROWS if options.quick else ROWS:
        keys = max(1000, int(count * (1 if options.quick else options.scale) / MOVED))
        rounds = []
        for i in range(options.rounds):
            bench.progress("migration of %s, round %d" % (what, i + 1))
            rounds.append([migrate(p, fill, keys) for p in programs])
        runs = [[statistics.median(values) for values in zip(*of_program)] for of_program in zip(*rounds)]
        rows.append(row(what, runs, held))
        bench.progress(" | ".join(rows[-1]))
    labels = ["ours"] + [bench.label_of(p) for p in programs[1:]]
    head = (["what, keys"] + labels + ["ratio"] + ["CPU, %s" % l for l in labels] + ["source waits, %s" % l for l in labels]
            + ["target waits, %s" % l for l in labels] + ["budget", "met"])
    return ("16,000 slots from one node to another of the same kind. Keys per second until the source says that they have gone; CPU of both nodes and of "
            "the snapshot's child for one key, with the freeing of what has left; p99 and the longest wait of a client that sends PING every ms. Medians of "
            "%d interleaved rounds. Met: the budget, and p99 no longer than the peer's at either end.\n\n" % options.rounds + bench.table(head, rows))
