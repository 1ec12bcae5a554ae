"""traffic.py - what clients do to a cluster while it is broken, and what they are promised.

    Writer ──RPUSH key n, WAIT 1──▶ whoever has the slot; follows MOVED and ASK
    Watcher ──CLUSTER NODES──▶ every node, again and again: in one epoch a slot has one owner
"""
import os
import random
import sys
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "replication"))

from nodes import Failed, wait_until
from resp import Connection

KEYS = 24             # of each writer
CLIENT_TIMEOUT_S = 1.5
WAIT_MS = 300


class Routes:
    """A client of a cluster: connections to its nodes, and which of them has which key."""

    def __init__(self, cluster, timeout_s=CLIENT_TIMEOUT_S):
        self.cluster, self.timeout_s, self.connections, self.port_of = cluster, timeout_s, {}, {}

    def connection(self, port):
        if port not in self.connections:
            self.connections[port] = Connection("127.0.0.1", port, 2, self.timeout_s)
        return self.connections[port]

    def lost(self, port):
        connection = self.connections.pop(port, None)
        if connection:
            connection.close()

    def call(self, key, *commands):
        """The replies of one attempt, whose first command has the key; redirections are followed. None: it may have been
        done, or not."""
        port, ahead = self.port_of.get(key) or random.choice(self.cluster.nodes).port, []
        for _ in range(6):
            try:
                replies = self.connection(port).call_all(ahead + list(commands))[len(ahead):]
            except (OSError, ValueError, IndexError):
                self.lost(port)
                self.port_of.pop(key, None)
                return None
            kind, text = replies[0]
            words = text.split() if kind == b"-" else [b""]
            if words[0] not in (b"MOVED", b"ASK"):
                if words[0] == b"":
                    self.port_of[key] = port
                else:
                    self.port_of.pop(key, None)
                return replies
            port = self.cluster.network.behind[int(words[2].rsplit(b":", 1)[1])]
            ahead = [("ASKING",)] if words[0] == b"ASK" else []
        return None

    def read(self, key, *command):
        last = None

        def answer():
            nonlocal last
            last = self.call(key, command)
            return last if last and last[0][0] != b"-" else None

        try:
            return wait_until("an answer to %s" % (command,), answer, 20, 0.05)[0]
        except Failed as problem:
            raise Failed("%s; last %r\n%s" % (problem, last, self.cluster.beliefs())) from None

    def close(self):
        for port in list(self.connections):
            self.lost(port)


class Writer(threading.Thread):
    """Appends 1, 2, 3 ... to lists of its own, and remembers what a replica is known to have."""

    def __init__(self, cluster, index):
        super().__init__(daemon=True)
        self.cluster, self.index, self.stopped = cluster, index, False
        self.acknowledged = {"list:%d:%d" % (index, i): [] for i in range(KEYS)}
        self.sent = 0

    def run(self):
        routes, keys = Routes(self.cluster), list(self.acknowledged)
        while not self.stopped:
            key = random.choice(keys)
            self.sent += 1
            replies = routes.call(key, ("RPUSH", key, self.sent), ("WAIT", 1, WAIT_MS))
            if replies and replies[0][0] == b":" and replies[1][0] == b":" and int(replies[1][1]) >= 1:
                self.acknowledged[key].append(self.sent)
                time.sleep(0.002)
            else:
                time.sleep(0.02)
        routes.close()

    def count(self):
        return sum(map(len, self.acknowledged.values()))


def check_lists(cluster, writers):
    """All that was acknowledged and promised is there, in order, once."""
    routes = Routes(cluster, 10)
    try:
        for writer in writers:
            for key, acknowledged in writer.acknowledged.items():
                there = [int(item) for _, item in routes.read(key, "LRANGE", key, 0, -1)[1]]
                missing = set(acknowledged) - set(there)
                if missing and cluster.promises(key):
                    raise Failed("%s: %d of %d acknowledged writes are lost, e.g. %d" % (key, len(missing), len(acknowledged), min(missing)))
                if any(a >= b for a, b in zip(there, there[1:])):
                    raise Failed("%s: out of order, or twice" % key)
    finally:
        routes.close()


class Watcher(threading.Thread):
    """Looks at what each node says of itself."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopped, self.problems = cluster, False, []
        self.owner = {}  # (epoch, slot): id

    def look(self, connection):
        line = next(line for line in connection.call("CLUSTER", "NODES")[1].decode().split("\n") if "myself" in line)
        words = line.split()
        if "master" not in words[2]:
            return
        for part in words[8:]:
            if part.startswith("["):
                continue
            first, _, last = part.partition("-")
            for slot in range(int(first), int(last or first) + 1):
                owner = self.owner.setdefault((int(words[6]), slot), words[0])
                if owner != words[0] and len(self.problems) < 5:
                    self.problems.append("slot %d in epoch %s is of %s and of %s" % (slot, words[6], owner, words[0]))

    def run(self):
        connections = {}
        while not self.stopped:
            for node in self.cluster.nodes:
                try:
                    if node.port not in connections:
                        connections[node.port] = Connection("127.0.0.1", node.port, 2, 0.5)
                    self.look(connections[node.port])
                except (OSError, ValueError, IndexError, AttributeError, StopIteration):
                    if node.port in connections:
                        connections.pop(node.port).close()
            time.sleep(0.1)
        for connection in connections.values():
            connection.close()
