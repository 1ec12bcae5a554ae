"""links.py - states of replicas and of a primary in FAILOVER. The primary of a replica is a server of the same kind."""
import os

from nodes import wait_until
from states import Broken, Configured, Multi, Script, State
from observe import Client

FILLER = 4000


class Replica(State):
    """Its link is up; the dataset comes from its primary."""
    name, mirrors = "replica", False
    primary_settings = {}

    def build(self, side):
        side.tag = self.tag
        side.primary = side.start(dict(self.primary_settings))
        side.node = side.start(self.settings)
        side.follow = Client("127.0.0.1", side.primary.port)

    def prepare(self, side):
        side.look_on(follows=False)
        self.fill(side)
        names_of_replica(side)
        self.link(side)
        self.enter(side)
        side.look_on(self.follows)
        side.facts = self.fingerprint(side)

    def link(self, side):
        side.node.follow(side.primary)
        side.node.wait_linked()
        side.must("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        self.wait_same(side)

    def wait_same(self, side):
        def same():
            mine, theirs = side.info(), side.primary.info("replication")
            return mine.get("master_link_status") == "up" and mine["master_repl_offset"] == theirs["master_repl_offset"]
        wait_until("the replica has all", same, 10, 0.002)

    def fill(self, side):
        """The data is written by the primary's administrator."""
        own = side.admin
        side.admin = side.follow
        try:
            super().fill(side)
        finally:
            side.admin = own
        if side.node.linked():
            self.wait_same(side)
            side.must("SCRIPT", "FLUSH")
            side.must("SCRIPT", "LOAD", "return 1")
            side.must("DEBUG", "SET-ACTIVE-EXPIRE", "0")

    def repair(self, side, facts):
        super().repair(side, facts)
        if facts["role"] != side.facts["role"]:
            raise Broken("its role")

    def more_facts(self, side):
        return side.info().get("master_link_status")


def names_of_replica(side):
    import states
    own, side.admin = side.admin, side.follow
    try:
        states.names_of(side)
    finally:
        side.admin = own
    side.must("SCRIPT", "LOAD", "return 1")


class Writable(Replica):
    """Reading and writing; its own writes are lost when the primary sends the dataset again."""
    name, settings = "replica-writable", {"replica-read-only": "no"}


class ReplicaMulti(Replica, Multi):
    name = "replica-multi"


class ReplicaScript(Replica, Script):
    name = "replica-eval"


class ReplicaShebang(Replica, Script):
    name, caller = "replica-eval-shebang", ("EVAL", "#!lua\nreturn server.pcall(unpack(ARGV))", "0")


class Down(Replica):
    """It has data, and its primary is down."""
    name, follows = "replica-down", False
    directives = {"replica-serve-stale-data": "yes"}

    def enter(self, side):
        side.node.call("REPLICAOF", "127.0.0.1", side.ports.take())
        for name, value in self.directives.items():
            side.must("CONFIG", "SET", name, value)

    def refill(self, side):
        side.must("CONFIG", "SET", "replica-serve-stale-data", "yes")
        self.link(side)
        self.fill(side)
        self.enter(side)
        side.facts = self.fingerprint(side)


class Stale(Down):
    name = "replica-stale"
    directives = {"replica-serve-stale-data": "no"}


class StaleMulti(Stale, Multi):
    name = "replica-stale-multi"


class StaleScript(Stale, Script):
    name = "replica-stale-eval"


class StaleShebang(Stale, Script):
    name, caller = "replica-stale-eval-shebang", ("EVAL", "#!lua flags=allow-stale\nreturn server.pcall(unpack(ARGV))", "0")


class Synchronizing(Replica):
    """In the middle of its second full synchronization, which the primary's child sends slowly."""
    name, follows = "replica-sync", False
    primary_settings = {"repl-diskless-sync": "yes"}
    settings = {"repl-diskless-load": "disabled"}
    here = "master_sync_in_progress"
    save_delay_us, load_delay_us = 10000, 0

    def prepare(self, side):
        side.look_on(follows=False)
        self.fill(side)
        names_of_replica(side)
        self.link(side)
        for i in range(FILLER):
            side.follow.send(("SET", "filler:%d" % i, os.urandom(1100)))  # a file is loaded in steps of its bytes
        for i in range(FILLER):
            side.follow.next()
        self.wait_same(side)
        side.primary.configure(rdb_key_save_delay=self.save_delay_us)
        for name, value in (("key-load-delay", self.load_delay_us), ("loading-process-events-interval-bytes", 1024)):
            side.must("CONFIG", "SET", name, value)
        self.lose_history(side)
        wait_until("it synchronizes", lambda: self.is_there(side))
        side.look_on(follows=False)
        side.facts = self.fingerprint(side)

    def lose_history(self, side):
        """The primary closes the link and no longer has what the replica then requests."""
        for words in (("CONFIG", "SET", "repl-backlog-size", "16384"), ("MULTI",), ("CLIENT", "KILL", "TYPE", "replica"), ("SET", "long", "x" * 100000),
                      ("SET", "long", "x" * 100000), ("EXEC",)):
            side.follow.call(*words)

    def is_there(self, side):
        return side.info().get(self.here) == "1"

    def refill(self, side):
        """Nothing that can be repaired has changed."""

    def more_facts(self, side):
        return None


class SynchronizingStale(Synchronizing):
    name = "replica-sync-stale"
    settings = dict(Synchronizing.settings, **{"replica-serve-stale-data": "no"})


class DualChannel(Synchronizing):
    name = "replica-dual-channel"
    primary_settings = dict(Synchronizing.primary_settings, **{"dual-channel-replication-enabled": "yes"})
    settings = dict(Synchronizing.settings, **{"dual-channel-replication-enabled": "yes"})


class LoadingSync(Synchronizing):
    """Loading the primary's data, after its own data was deleted."""
    name, here, looks, save_delay_us, load_delay_us = "replica-loading", "loading", False, 0, 3000

    def answer(self, side, client):
        return client.next(2)


class LoadingSwapdb(LoadingSync):
    """Loading beside its data, which it still shows."""
    name, here = "replica-swapdb", "async_loading"
    settings = {"repl-diskless-load": "swapdb"}

    def dataset(self, side):
        """9.1.2 shows expired keys as long as it loads (docs/differences.md)."""
        return [words for words in super().dataset(side) if not words[1].endswith("old")]


class Failover(State):
    """Waiting for a replica that does not answer; writes are paused."""
    name, mirrors = "failover", False

    def hold(self, side):
        side.must("FAILOVER")

    def exchange(self, side, client, words):
        replies = super().exchange(side, client, words)
        if replies[-1].__class__ is tuple and replies[-1][0] == b"":
            side.ask("FAILOVER", "ABORT")
            replies.append(self.answer(side, client))
        return replies

    def release(self, side):
        side.ask("FAILOVER", "ABORT")


def states():
    return [Replica, Writable, ReplicaMulti, ReplicaScript, ReplicaShebang, Down, Stale, StaleMulti, StaleScript, StaleShebang, Synchronizing,
            SynchronizingStale, DualChannel, LoadingSync, LoadingSwapdb, Failover]
