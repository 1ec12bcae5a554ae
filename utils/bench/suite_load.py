"""suite_load.py - the servers and the load of utils/bench/suite: the peers, the requests of each row, their cost.

    peer ──start──▶ Server ◀──fill── EVAL                  data that a row needs: its keys, a list to pop from
                       ▲ ────INFO──▶ commands processed    before and after: the number of requests really served
                       │ ───/proc──▶ cpu_time.Times        before and after: the time for them, by thread
                  valkey-benchmark                         the same program for all
"""
import csv
import io
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

import bench
from cpu_time import Cost, Times, Used

PIPELINES = (1, 16)
LIMIT_S = 300  # of one run
PROBE = 2000   # requests of the first, uncounted run, times the pipeline
GIVEN_MAX = 5000000

# ---- Peers ----


class Peer:
    """A program with options, and the server that runs it.

    `text`: [LABEL=]PROGRAM [OPTION ...], where PROGRAM is a path, or ours, valkey or redis."""

    def __init__(self, text):
        label, equals, rest = text.partition("=")
        if not equals or " --" in label:
            label, rest = "", text
        words = shlex.split(rest)
        if not words:
            sys.exit("'%s' names no program: [LABEL=]PROGRAM [OPTION ...]" % text)
        self.ours = words[0] == "ours"
        self.program, self.options = program_of(words[0]), words[1:]
        name = "ours" if self.ours else bench.label_of(self.program) if self.program else words[0]
        self.label = label.strip() or " ".join([name] + self.options)
        self.server, self.api, self.io_names = None, "", set()

    def option(self, name, default):
        pairs = zip(self.options, self.options[1:])
        return next((value for word, value in pairs if word == "--" + name), default)

    @property
    def threaded(self):
        return int(self.option("io-threads", "1")) > 1

    def start(self, cpus):
        """The CPUs of the server: one, or with I/O threads all that it may use."""
        wrapper = ["taskset", "-c", ",".join(map(str, cpus.server_all if self.threaded else cpus.server_one))]
        self.server = bench.Server(self.program, None, self.options, wrapper)
        self.api = self.server.info("server").get("multiplexing_api", "?")

    def stop(self):
        if self.server:
            self.server.stop()


def program_of(word):
    """Returns the path of a program, or None if it is missing."""
    if word == "ours":
        return bench.OURS
    if word == "valkey":
        fetched = os.path.join(os.environ.get("ORACLE", os.path.join(bench.top, "build", "oracle")), "bin", "valkey-server")
        word = fetched if os.path.exists(fetched) else "valkey-server"
    path = shutil.which("redis-server" if word == "redis" else word)
    return os.path.abspath(path) if path else None


class Cpus:
    """The client has the first CPU, the servers, one at a time, the others. With two CPUs, I/O threads share the client's."""

    def __init__(self):
        every = sorted(os.sched_getaffinity(0))
        self.client, self.server_one = every[:1], every[1:2] or every
        self.server_all = every[1:] if len(every) > 2 else every
        os.sched_setaffinity(0, set(self.client))


# ---- Rows ----

LIST_LENGTH = 10000  # of what LRANGE reads

# All with keys as valkey-benchmark makes them.
FILL_COUNTERS = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('set', string.format('counter:%012d', i), i) end"""
FILL_LIST = """
local value = string.rep('x', ARGV[3])
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('rpush', 'mylist', value) end"""
FILL_SET = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('sadd', 'myset', string.format('element:%012d', i)) end"""
FILL_ZSET = """
for i = tonumber(ARGV[1]), ARGV[2] - 1 do redis.call('zadd', 'myzset', i, string.format('element:%012d', i)) end"""


class Row:
    """A test of valkey-benchmark's default suite, by its name for -t, or the command itself if the test runs another one, too."""

    def __init__(self, name, shown, key=None, script=None, length=None, command=None):
        """`key` is emptied before each round, and filled by `script`: with `length` elements, or one per request."""
        self.name, self.shown, self.key, self.script, self.length, self.command = name, shown, key, script, length, command

    def words(self):
        return self.command.split() if self.command else ["-t", self.name]

    def prepare(self, peer, requests, data_bytes):
        if self.key:
            peer.server.admin.call("DEL", self.key)
        if self.script:
            bench.fill_server(peer.server, self.script, 0, self.length or requests + PROBE, 20000, data_bytes)
        while int(peer.server.info("memory").get("lazyfree_pending_objects", 0)):
            time.sleep(0.05)


ROWS = [
    Row("ping_inline", "PING, inline"),
    Row("ping_mbulk", "PING"),
    Row("set", "SET"),
    Row("get", "GET"),
    Row("incr", "INCR"),
    Row("lpush", "LPUSH", "mylist"),
    Row("rpush", "RPUSH", "mylist"),
    Row("lpop", "LPOP", "mylist", FILL_LIST),
    Row("rpop", "RPOP", "mylist", FILL_LIST),
    Row("sadd", "SADD", "myset"),
    Row("hset", "HSET", "myhash"),
    Row("spop", "SPOP", "myset", FILL_SET),
    Row("zadd", "ZADD", "myzset"),
    Row("zpopmin", "ZPOPMIN", "myzset", FILL_ZSET),
    Row("lrange_100", "LRANGE of 100", "mylist", FILL_LIST, LIST_LENGTH, "lrange mylist 0 99"),
    Row("lrange_300", "LRANGE of 300", "mylist", FILL_LIST, LIST_LENGTH, "lrange mylist 0 299"),
    Row("lrange_500", "LRANGE of 500", "mylist", FILL_LIST, LIST_LENGTH, "lrange mylist 0 499"),
    Row("lrange_600", "LRANGE of 600", "mylist", FILL_LIST, LIST_LENGTH, "lrange mylist 0 599"),
    Row("mset", "MSET of 10"),
    Row("mget", "MGET of 10"),
    Row("xadd", "XADD", "mystream"),
    Row("function_load", "FUNCTION LOAD"),
    Row("fcall", "FCALL"),
]
BY_NAME = {row.name: row for row in ROWS}

# ---- Load ----


class Load:
    """Common options of all runs."""

    def __init__(self, client, options):
        self.client, self.options = client, options

    def run(self, peer, words, client=None):
        """Returns the output of the client, or None if it failed, after a message."""
        server = peer.server
        words = [client or self.client, "-h", server.host, "-p", server.port, "-r", self.options.keys, "-d", self.options.data, *words]
        words = [str(w) for w in words]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            bench.progress("%s: not done in %d s: %s" % (peer.label, LIMIT_S, " ".join(words)))
            return None
        if done.returncode:
            bench.progress("%s: %s: %s" % (peer.label, " ".join(words), (done.stderr or done.stdout).strip()[-200:]))
            return None
        return done.stdout

    def measure(self, peer, row, clients, pipeline, requests):
        """Returns Used for one run of this many requests, or None if it failed."""
        row.prepare(peer, requests, self.options.data)
        pid = peer.server.process.pid
        commands = served(peer)
        before = Times(pid)
        out = self.run(peer, ["--csv", "-c", clients, "-P", pipeline, "-n", requests, *row.words()])
        after = Times(pid)
        count = served(peer) - commands - 1  # the first question is among them
        rates = [line for line in csv.reader(io.StringIO(out or "")) if len(line) > 2 and line[0] != "test"]
        if not rates or count < requests:
            return None
        used = Used(before, after, count, float(rates[-1][1]))
        peer.io_names |= {name for name, (_, _, ns) in used.names.items() if name.startswith("io") and ns > 1e6}
        return used

    def probe(self, peers, reference, row, clients, pipeline, longer):
        """How many requests each peer is sent: as many as take the reference options.cpu seconds of CPU, `longer` times, so that all
        have the same data; fewer only where they would take a peer longer than options.longest, as often. The first runs are not counted:
        they warm up."""
        tries = {p: self.measure(p, row, clients, pipeline, PROBE * pipeline) for p in peers}
        known = tries[reference] or next((t for t in tries.values() if t), None)
        if known is None:
            return {}
        wanted = self.options.cpu * 1e9 / (known.all_ns / known.requests)
        return {p: round_number(min(longer * min(wanted, t.rps * self.options.longest), GIVEN_MAX), pipeline) for p, t in tries.items() if t}

    def costs(self, peers, reference, row, clients, pipeline, longer=1):
        """Returns {peer: Cost}, without those that failed. Rounds are interleaved, and each begins with another peer."""
        requests = self.probe(peers, reference, row, clients, pipeline, longer)
        samples = {p: [] for p in peers}
        for turn in range(self.options.rounds):
            for i in range(len(peers)):
                peer = peers[(turn + i) % len(peers)]
                used = self.measure(peer, row, clients, pipeline, requests[peer]) if peer in requests else None
                if used:
                    samples[peer].append(used)
        return {p: Cost(rounds) for p, rounds in samples.items() if rounds}

    def fill(self, peer):
        """Creates every key that GET, SET, MGET, MSET and INCR can use."""
        bench.fill_server(peer.server, bench.FILL_STRINGS, 0, self.options.keys, 20000, self.options.data)
        bench.fill_server(peer.server, FILL_COUNTERS, 0, self.options.keys, 20000)


def served(peer):
    return int(peer.server.info("stats")["total_commands_processed"])


def round_number(n, pipeline):
    """Rounds to two digits, and to whole pipelines."""
    unit = 10 ** max(len("%d" % n) - 2, 0)
    return max(int(n) // unit * unit // pipeline, 10) * pipeline


# ---- Tails ----


def percentiles(out):
    """[p50, p99, p99.9] in milliseconds, from what the client prints; the last is 99.902, the next one that it lists. None: no such text."""
    summary = re.search(r"p99 +max\n +(.*)", out or "")
    listed = re.findall(r"^([\d.]+)% <= ([\d.]+) milliseconds", out or "", re.M)
    tail = next((float(ms) for percent, ms in listed if float(percent) >= 99.9), None)
    if not summary or tail is None:
        return None
    _, _, p50, _, p99, _ = map(float, summary[1].split())
    return [p50, p99, max(tail, p99)]


class Tails:
    """Latencies at a rate that does not wait for the server: ours is the client, as its --rps counts from the moment when a
    request was due, not from when it could be sent."""

    def __init__(self, load):
        self.load, self.options = load, load.options

    def run(self, peer, command, *more):
        words = ["-t", command, "-c", self.options.tail_clients, "--duration", self.options.tail_seconds,
                 "--warmup", int(self.options.tail_seconds > 1), *more]
        return self.load.run(peer, words, bench.CLIENT)

    def capacity(self, peer, command):
        """Requests/s when clients send as fast as they get replies: the best of the rounds, as others may use the machine, too."""
        found = [re.search(r"throughput summary: ([\d.]+)", self.run(peer, command) or "") for _ in range(self.options.rounds)]
        return max((float(f[1]) for f in found if f), default=0)

    def at(self, peers, command, rate):
        """{peer: medians of percentiles()}"""
        samples = {p: [] for p in peers}
        for turn in range(self.options.rounds):
            for i in range(len(peers)):
                peer = peers[(turn + i) % len(peers)]
                found = percentiles(self.run(peer, command, "--rps", rate))
                if found:
                    samples[peer].append(found)
        return {p: [statistics.median(column) for column in zip(*s)] for p, s in samples.items() if s}
