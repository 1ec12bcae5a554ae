"""field.py - two servers with a proxy before each, clients that write and wait for the replica, and readers that look whether what
they are shown fits together. What tests/replication/chaos does its harm to.

    Writer ──MULTI SET a:i n, SET b:i n, RPUSH l:i n EXEC, WAIT 1──▶ primary ──proxy──▶ replica ◀──MGET──── Reader
"""
import hashlib
import os
import random
import threading
import time

from nodes import Failed, Node, check, wait_caught_up, wait_until
from data import check_same
from proxy import Proxy

WRITERS = 3
BALLAST = 2000           # keys that are always there
MEMORY_SLACK = 3 << 20   # bytes that may be in use beyond what was at the beginning
FD_SLACK = 8


def ballast_value(i):
    """Values of 160 bytes that cannot be compressed."""
    return b"".join(hashlib.sha256(b"%d/%d" % (i, part)).digest() for part in range(5))


class Writer(threading.Thread):
    """Writes n, n + 1, ... as transactions, and remembers which of them the replica is known to have."""

    def __init__(self, field, index, start):
        super().__init__(daemon=True)
        self.field, self.index, self.sent, self.acknowledged = field, index, start, []

    def step(self, connection):
        self.sent += 1
        n, i = self.sent, self.index
        replies = connection.call_all([("MULTI",), ("SET", "a:%d" % i, n), ("SET", "b:%d" % i, n), ("RPUSH", "l:%d" % i, n),
                                       ("EXEC",), self.field.waiting])
        done, waited = replies[4], replies[5]
        if done[0] == b"*" and waited[0] in (b":", b"*"):
            counts = [waited[1]] if waited[0] == b":" else [count for _, count in waited[1]]
            if all(count >= 1 for count in counts):
                self.acknowledged.append(n)

    def run(self):
        connection = None
        while not self.field.stopped:
            try:
                connection = connection or self.field.primary.connect(10)
                self.step(connection)
            except (OSError, ValueError, IndexError):
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.01)
        if connection:
            connection.close()


class Reader(threading.Thread):
    """Looks at any of the nodes: what it reads at once belongs together."""

    def __init__(self, field):
        super().__init__(daemon=True)
        self.field = field

    def look(self, connection):
        picked = random.sample(range(BALLAST), 20)
        keys = [name % i for i in range(WRITERS) for name in ("a:%d", "b:%d")] + ["ballast:%d" % i for i in picked]
        kind, items = connection.call("MGET", *keys)
        if kind == b"-":
            return  # LOADING, MASTERDOWN: that is not mixed
        found = [item for _, item in items]
        pairs, values = found[: 2 * WRITERS], found[2 * WRITERS :]
        check(pairs[::2] == pairs[1::2], "half a transaction: %r" % pairs)
        there = [value for value in values if value is not None]
        check(len(there) in (0, len(values)), "a part of the data: %d of %d keys" % (len(there), len(values)))
        check(not there or values == [ballast_value(i) for i in picked], "a value that nobody has written")

    def run(self):
        connections = {}
        while not self.field.stopped:
            node = random.choice(self.field.nodes)
            try:
                if node not in connections:
                    connections[node] = node.connect(10)
                self.look(connections[node])
            except Failed as problem:
                self.field.problems.append("%r serves mixed data: %s" % (node, problem))
            except (OSError, ValueError, IndexError):
                if node in connections:
                    connections.pop(node).close()
            time.sleep(0.003)
        for connection in connections.values():
            connection.close()


class Field:
    """A primary with BALLAST keys and its replica; their roles may change."""

    def __init__(self, options, kinds, settings=None, environment=None, waiting=("WAIT", 1, 300)):
        self.options, self.waiting = options, waiting
        self.stopped, self.problems = False, []
        self.states = [0] * WRITERS  # the last number of each writer
        self.acknowledged = 0        # in all rounds
        self.nodes, self.proxies = [], {}
        try:
            for kind in kinds:
                self.add(kind, dict({"repl-backlog-size": "1mb", "repl-timeout": "5"}, **(settings or {})), environment)
            self.primary, self.replica = self.nodes
            self.link_up()
        except BaseException:
            self.close()
            raise

    def add(self, kind, settings, environment):
        node = Node(kind, self.options.programs[kind], self.options.ports.take(), settings, environment=environment)
        self.nodes.append(node)
        self.proxies[node] = Proxy(node.port)

    def link_up(self):
        """The two are linked, and have what is always there."""
        self.replica.follow(self.proxies[self.primary])
        self.replica.wait_linked()
        connection = self.primary.connect()
        for at in range(0, BALLAST, 200):
            connection.call_all([("SET", "ballast:%d" % i, ballast_value(i)) for i in range(at, at + 200)])
        # Enough data that the backlog is full from the beginning.
        connection.call_all([("SET", "full", "x" * 100000)] * 25 + [("DEL", "full")])
        connection.close()
        self.caught_up()
        self.baseline = max(self.use(node) for node in self.nodes)
        self.descriptors = max(self.open_files(node) for node in self.nodes)

    def __repr__(self):
        return "primary %r, replica %r" % (self.primary, self.replica)

    # ---- A round ----

    def begin(self):
        self.primary.call("DEL", *["l:%d" % i for i in range(WRITERS)])
        self.stopped = False
        self.writers = [Writer(self, i, self.states[i]) for i in range(WRITERS)]
        self.readers = [Reader(self), Reader(self)]
        for thread in self.writers + self.readers:
            thread.start()

    def end(self, acknowledged=True):
        """All faults are over: the data is right on both."""
        for proxy in self.proxies.values():
            proxy.heal()
        time.sleep(0.05)
        self.stopped = True
        for thread in self.writers + self.readers:
            thread.join(30)
            check(not thread.is_alive(), "a client hangs")
        self.states = [writer.sent for writer in self.writers]
        self.acknowledged += sum(len(writer.acknowledged) for writer in self.writers)
        self.caught_up()
        check(not self.problems, "; ".join(self.problems[:3]))
        for node in (self.primary, self.replica) if acknowledged else ():
            self.check_acknowledged(node)
        check_same(self.primary, self.replica)

    def check_acknowledged(self, node):
        for writer in self.writers:
            a, b = (int(node.call("GET", "%s:%d" % (name, writer.index)) or 0) for name in "ab")
            items = [int(n) for n in node.call("LRANGE", "l:%d" % writer.index, 0, -1)]
            check(a == b, "%r has half a transaction" % node)
            check(items == sorted(set(items)), "%r has a list with repeats or out of order" % node)
            lost = sorted(set(writer.acknowledged) - set(items))
            check(not lost, "%r has lost %d of %d that were acknowledged: %r" % (node, len(lost), len(writer.acknowledged), lost[:5]))

    def caught_up(self):
        wait_caught_up(self.primary, self.replica)

    # ---- What scenarios do ----

    @property
    def link(self):
        """The proxy between the two."""
        return self.proxies[self.primary]

    def swap(self):
        """The replica becomes the primary; the old primary is killed, and returns as its replica."""
        dead, self.primary, self.replica = self.primary, self.replica, self.primary
        # Not while it is loading; that ends with the link.
        wait_until("%r leads" % self.primary, lambda: self.primary.reply("REPLICAOF", "NO", "ONE")[0] == b"+")
        dead.settings["replicaof"] = "127.0.0.1 %d" % self.proxies[self.primary].port
        dead.start()

    def lead_at_start(self, node):
        node.settings.pop("replicaof", None)

    def follow_at_start(self, node, primary):
        node.settings["replicaof"] = "127.0.0.1 %d" % self.proxies[primary].port

    def force_full_sync(self):
        """The next link that is made cannot go on where the last one ended."""
        self.primary.call("DEBUG", "CHANGE-REPL-ID")
        self.link.cut()

    # ---- The end ----

    def use(self, node):
        node.call("MEMORY", "PURGE")
        return int(node.info("memory")["used_memory"])

    def open_files(self, node):
        return len(os.listdir("/proc/%d/fd" % node.process.pid))

    def check_resources(self):
        """All resources have been freed; and they were used."""
        check(self.acknowledged, "%s has acknowledged nothing" % self.waiting[0])
        self.primary.call("DEL", *[name % i for i in range(WRITERS) for name in ("a:%d", "b:%d", "l:%d")])
        for i in range(12):  # the backlog holds no more than it may
            self.primary.call("SET", "full", "x" * 100000)
        self.primary.call("DEL", "full")
        self.caught_up()
        for node in self.nodes:
            wait_until("memory of %r returns: %d in use, %d at the beginning" % (node, self.use(node), self.baseline),
                       lambda n=node: self.use(n) <= self.baseline + MEMORY_SLACK, 10, 0.2)
            wait_until("descriptors of %r are closed" % node, lambda n=node: self.open_files(n) <= self.descriptors + FD_SLACK, 10, 0.2)
            # A child whose parent was killed notices a moment later. Servers other than ours leave the file that they
            # were receiving.
            wait_until("%r leaves no files behind" % node, lambda n=node: n.kind != "ours" or not [f for f in os.listdir(n.folder) if f.startswith("temp-")], 5, 0.1)
            children = "/proc/%d/task/%d/children" % (node.process.pid, node.process.pid)
            wait_until("%r has no child" % node, lambda path=children: not open(path).read(), 10, 0.2)
        check(int(self.primary.info("replication")["connected_slaves"]) == 1, "too many replicas are listed")

    def close(self, keep=False):
        self.stopped = True
        for proxy in self.proxies.values():
            proxy.close()
        if keep:
            for node in self.nodes:
                node.process.kill()
                node.process.wait()
            return []
        return [c for c in [node.remove() for node in self.nodes] if c]
