"""writers.py - clients that get the primary from Sentinels, write, and record what all its replicas are known to
have.

A promoted replica is the one with most data, as far as Sentinels know: their knowledge is seconds old. So a write
counts as acknowledged when every replica has it, not just one.
"""
import os
import random
import sys
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "replication"))

from nodes import Failed, check, wait_caught_up
from resp import Connection

KEYS = 8              # of each writer
CLIENT_TIMEOUT_S = 1.5
WAIT_MS = 300


class Writer(threading.Thread):
    """Appends 1, 2, 3 ... to lists of its own. It stays with a primary until that refuses, or hangs up."""

    def __init__(self, watched, index):
        super().__init__(daemon=True)
        self.watched, self.stopped, self.connection, self.sent = watched, False, None, 0
        self.acknowledged = {"list:%d:%d" % (index, i): [] for i in range(KEYS)}
        self.longest_gap_s, self.last = 0, None

    def find(self):
        sentinel = random.choice(self.watched.sentinels)
        asked = sentinel.connect(CLIENT_TIMEOUT_S)
        try:
            address = asked.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster")[1]
        finally:
            asked.close()
        return Connection("127.0.0.1", self.watched.server_at(int(address[1][1])).port, 2, CLIENT_TIMEOUT_S)

    def attempt(self, key):
        """Is it acknowledged?"""
        self.connection = self.connection or self.find()
        replicas = len(self.watched.servers) - 1
        added, waited = self.connection.call_all([("RPUSH", key, self.sent), ("WAIT", replicas, WAIT_MS)])
        if added[0] == b"-":
            raise ConnectionError(added[1])
        return waited[0] == b":" and int(waited[1]) >= replicas

    def lost(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def run(self):
        keys = list(self.acknowledged)
        while not self.stopped:
            key = random.choice(keys)
            self.sent += 1
            try:
                if self.attempt(key):
                    self.acknowledged[key].append(self.sent)
                    self.note_gap()
                    time.sleep(0.002)
                    continue
            except (OSError, ValueError, IndexError, TypeError, StopIteration):
                self.lost()
            time.sleep(0.02)
        self.lost()

    def note_gap(self):
        now = time.monotonic()
        self.longest_gap_s = max(self.longest_gap_s, now - (self.last or now))
        self.last = now

    def count(self):
        return sum(map(len, self.acknowledged.values()))


def end_writers(writers):
    for writer in writers:
        writer.stopped = True
    for writer in writers:
        writer.join(30)
        check(not writer.is_alive(), "a writer does not end")


def check_lists(watched, writers):
    """All that was acknowledged is there, in order, once; and the same on every server."""
    primary = watched.primary()
    wait_caught_up(primary, *[server for server in watched.servers if server is not primary])
    for writer in writers:
        for key, acknowledged in writer.acknowledged.items():
            lists = {server: server.call("LRANGE", key, 0, -1) for server in watched.servers}
            there = [int(item) for item in lists[primary]]
            missing = set(acknowledged) - set(there)
            if missing:
                raise Failed("%s: %d of %d acknowledged writes are lost, e.g. %d\n%s" % (
                    key, len(missing), len(acknowledged), min(missing), watched.beliefs()))
            check(all(a < b for a, b in zip(there, there[1:])), "%s: out of order, or twice" % key)
            check(all(one == lists[primary] for one in lists.values()), "%s: not the same on all servers" % key)
