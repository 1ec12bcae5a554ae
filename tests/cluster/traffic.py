"""traffic.py - what clients do with a cluster while it is broken, and the promises to them.

    Writer ──RPUSH key n, WAIT 1──▶ the owner of the slot; follows MOVED and ASK
    Watcher ──CLUSTER NODES──▶ every node, repeatedly: in one epoch a slot has one owner
"""
import os
import random
import signal
import sys
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "replication"))

from nodes import Failed, wait_caught_up, wait_until
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
        """The replies of one attempt, whose first command has the key; redirections are followed. None: it may have
        been done, or not."""
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


class Attempt:
    """One write: its time, its node, and its reply."""

    def __init__(self, key, begun, port, replies):
        self.key, self.begun, self.ended, self.port, self.replies = key, begun, time.time(), port, replies

    def __str__(self):
        return "%.3f-%.3f at %s: %s" % (self.begun, self.ended, self.port, self.replies)


class Writer(threading.Thread):
    """Appends 1, 2, 3 ... to lists of its own, and remembers what a replica is known to have."""

    def __init__(self, cluster, index):
        super().__init__(daemon=True)
        self.cluster, self.index, self.stopped = cluster, index, False
        self.acknowledged = {"list:%d:%d" % (index, i): [] for i in range(KEYS)}
        self.sent, self.attempts = 0, {}

    def run(self):
        routes, keys = Routes(self.cluster), list(self.acknowledged)
        while not self.stopped:
            key = random.choice(keys)
            self.sent += 1
            begun = time.time()
            replies = routes.call(key, ("RPUSH", key, self.sent), ("WAIT", 1, WAIT_MS))
            self.attempts[self.sent] = Attempt(key, begun, routes.port_of.get(key), replies)
            if replies and replies[0][0] == b":" and replies[1][0] == b":" and int(replies[1][1]) >= 1:
                self.acknowledged[key].append(self.sent)
                time.sleep(0.002)
            else:
                time.sleep(0.02)
        routes.close()

    def count(self):
        return sum(map(len, self.acknowledged.values()))


def lost_writes(writer, key, there):
    """Describes lost writes: which, when and by which node they were acknowledged, and what of that key exists. None:
    none."""
    missing = sorted(set(writer.acknowledged[key]) - set(there))
    if not missing:
        return None
    lines = ["%s: %d of %d acknowledged writes are lost" % (key, len(missing), len(writer.acknowledged[key]))]
    for number in (n for n, attempt in sorted(writer.attempts.items()) if attempt.key == key):
        mark = "lost   " if number in missing else "there  " if number in there else "       "
        lines.append("    %s %d %s" % (mark, number, writer.attempts[number]))
    return "\n".join(lines)


def check_lists(cluster, writers):
    """All that was acknowledged and promised is there, in order, once. {key: port of its owner}"""
    routes, problems = Routes(cluster, 10), []
    try:
        for writer in writers:
            for key in writer.acknowledged:
                there = [int(item) for _, item in routes.read(key, "LRANGE", key, 0, -1)[1]]
                lost = lost_writes(writer, key, there)
                if lost and not cluster.excuses_loss(key):
                    problems.append(lost)
                if any(a >= b for a, b in zip(there, there[1:])):
                    problems.append("%s: out of order, or twice: %s" % (key, there))
        if problems:
            raise Failed("\n".join(problems))
        return dict(routes.port_of)
    finally:
        routes.close()


def contents(node, keys):
    connection = node.connect(10)
    try:
        return connection.call_all([("READONLY",)] + [("LRANGE", key, 0, -1) for key in keys])[1:]
    finally:
        connection.close()


def check_replicas(cluster, owners):
    """A replica that is as far as its primary has what that one has; and what no replica can have, none has acknowledged."""
    for primary, replicas in cluster.primaries().items():
        keys = [key for key, port in owners.items() if port == primary.port]
        if not replicas or not keys:
            continue
        wait_caught_up(primary, *replicas)
        there = contents(primary, keys)
        for replica in replicas:
            for key, ours, theirs in zip(keys, there, contents(replica, keys)):
                if ours != theirs:
                    raise Failed("%s: %r has %s, its replica %r %s" % (key, primary, ours, replica, theirs))
        check_asleep(primary, replicas, keys[0])


def check_asleep(primary, replicas, key):
    """A node that is stopped acknowledges nothing."""
    for replica in replicas:
        os.kill(replica.process.pid, signal.SIGSTOP)
    try:
        connection = primary.connect(10)
        wrote, waited = connection.call_all([("RPUSH", key, 0), ("WAIT", 1, 50)])
        connection.close()
    finally:
        for replica in replicas:
            os.kill(replica.process.pid, signal.SIGCONT)
    if wrote[0] == b":" and waited != (b":", 0):
        raise Failed("%r says that %s of %s have what they cannot have" % (primary, waited, replicas))


class Watcher(threading.Thread):
    """Reads what each node reports of itself."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.stopped, self.problems = cluster, False, []
        self.owner = {}  # (epoch, slot): id
        self.twins = set()  # (epoch, id, id) that have been reported, or excused

    def known(self, twins):
        """One slot of the two is enough."""
        if twins in self.twins:
            return True
        self.twins.add(twins)
        return self.cluster.excuses_owners(twins[0], twins[1:])

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
                if owner != words[0] and not self.known((int(words[6]), owner, words[0])):
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
