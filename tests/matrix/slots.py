"""slots.py - states of nodes of a cluster. There are two primaries, or three nodes; slots are named by the tags of their keys."""
import signal

from nodes import wait_until
from states import Multi, Script, State, slot_of
from observe import Client

MINE, OTHERS, NOBODYS = "{a}", "{b}", "{n}"


class Cluster(State):
    """The slot is the node's own."""
    name, tag, replicas, mirrors = "cluster-mine", MINE, 0, False
    cluster_settings = {"cluster-enabled": "yes", "cluster-require-full-coverage": "no", "cluster-databases": "16"}

    def start_node(self, side):
        return side.start(dict(self.cluster_settings, **{"cluster-port": str(side.ports.take())}, **self.settings))

    def build(self, side):
        side.tag = self.tag
        side.first, side.second = self.start_node(side), self.start_node(side)
        side.node = side.first
        away = {slot_of(OTHERS), slot_of(NOBODYS)}
        side.first.call("CLUSTER", "ADDSLOTS", *[slot for slot in range(16384) if slot not in away])
        side.second.call("CLUSTER", "ADDSLOTS", slot_of(OTHERS))
        nodes = [side.first, side.second]
        if self.replicas:
            side.third = self.start_node(side)
            nodes.append(side.third)
        for i, node in enumerate(nodes):
            node.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for other in nodes[1:]:
            side.first.call("CLUSTER", "MEET", "127.0.0.1", other.port, other.settings["cluster-port"])
        wait_until("all know all", lambda: all(b"cluster_known_nodes:%d" % len(nodes) in n.call("CLUSTER", "INFO")
                                               and b"cluster_slots_assigned:16383" in n.call("CLUSTER", "INFO")
                                               and b"handshake" not in n.call("CLUSTER", "NODES") for n in nodes))
        side.peer_id = side.second.call("CLUSTER", "MYID")
        side.self_id = side.first.call("CLUSTER", "MYID")
        wait_until("it is up", lambda: b"cluster_state:ok" in side.first.call("CLUSTER", "INFO"))

    def more_facts(self, side):
        """The owners of slots, the open slots, and the state of the newest atomic migration."""
        lines = side.ask("CLUSTER", "NODES")[1].decode().split("\n")
        return [migrations(side)] + sorted(" ".join([f for i, f in enumerate(line.split()) if i not in (4, 5)]) for line in lines if line)


class ClusterMulti(Cluster, Multi):
    name = "cluster-multi"


class ClusterScript(Cluster, Script):
    name = "cluster-eval"


class ClusterDatabase(Cluster):
    name, prelude = "cluster-database-1", (("SELECT", "1"),)


class NotFilled(Cluster):
    """The keys are in a slot that is not served here, so there is no dataset in it."""

    def data_tag(self, side):
        return MINE

    def prepare(self, side):
        side.tag = MINE
        super().prepare(side)
        side.tag = self.tag
        side.words[b"{t}"] = self.tag.encode()
        side.words[b"{slot}"] = b"%d" % slot_of(self.tag)


class Others(NotFilled):
    name, tag = "cluster-others", OTHERS


class OthersMulti(NotFilled, Multi):
    name, tag = "cluster-others-multi", OTHERS


class OthersScript(NotFilled, Script):
    name, tag = "cluster-others-eval", OTHERS


class Nobodys(NotFilled):
    name, tag = "cluster-nobodys", NOBODYS


class Migrating(Cluster):
    """Some keys are still here. Our server makes SETSLOT wait for a replica's acknowledgement, so there is no
    replica."""
    name, follows = "cluster-migrating", False

    def enter(self, side):
        side.must("CLUSTER", "SETSLOT", slot_of(self.tag), "MIGRATING", side.peer_id)

    def leave(self, side):
        side.must("CLUSTER", "SETSLOT", slot_of(self.tag), "STABLE")


class MigratingMulti(Migrating, Multi):
    name = "cluster-migrating-multi"


class Importing(NotFilled):
    """The slot belongs to another node, and keys of it are here. The client does not send ASKING."""
    name, tag, follows = "cluster-importing", OTHERS, False

    def data_tag(self, side):
        return OTHERS

    def fill(self, side):
        side.must("CLUSTER", "SETSLOT", slot_of(OTHERS), "IMPORTING", side.peer_id)
        plain = side.admin
        side.admin = Asking(plain)
        try:
            super().fill(side)
        finally:
            side.admin = plain

    def prepare(self, side):
        side.tag = OTHERS
        plain = None
        side.look_on(follows=False)
        self.fill(side)
        plain = side.admin
        side.admin = Asking(plain)
        import states
        states.names_of(side)
        side.admin = plain
        side.look_on(self.follows)
        side.facts = self.fingerprint(side)


class Asking(Client):
    """A client that sends ASKING before each command."""

    def __init__(self, client):
        self.__dict__ = client.__dict__

    def send(self, words):
        super().send(("ASKING",))
        super().send(words)

    def next(self, *limit):
        super().next(*limit)
        return super().next(*limit)


class ImportingAsking(Importing):
    name = "cluster-importing-asking"

    def commands(self, side, words):
        return [("ASKING",), words]


class ImportingAskingMulti(Importing):
    name = "cluster-importing-asking-multi"

    def commands(self, side, words):
        return [("ASKING",), ("MULTI",), words, ("EXEC",)]


class DownCluster(Cluster):
    """A slot without an owner takes the whole cluster down."""
    name, directives = "cluster-down", {}

    def enter(self, side):
        side.must("CONFIG", "SET", "cluster-require-full-coverage", "yes")
        for name, value in self.directives.items():
            side.must("CONFIG", "SET", name, value)
        side.must("CLUSTER", "DELSLOTS", "5")  # which makes the node look at its state
        side.must("CLUSTER", "ADDSLOTS", "5")
        wait_until("it is down", lambda: b"cluster_state:fail" in side.must("CLUSTER", "INFO")[1])

    def leave(self, side):
        side.must("CONFIG", "SET", "cluster-require-full-coverage", "no")
        wait_until("it is up", lambda: b"cluster_state:ok" in side.must("CLUSTER", "INFO")[1])


class DownReads(DownCluster):
    name, directives = "cluster-down-reads", {"cluster-allow-reads-when-down": "yes"}


class DownScript(DownCluster, Script):
    name = "cluster-down-eval"


class ClusterReplica(Cluster):
    """A replica of the slot's owner. The client does not send READONLY."""
    name, replicas = "cluster-replica", 1

    def prepare(self, side):
        wait_until("it knows its primary", lambda: side.self_id in side.third.call("CLUSTER", "NODES"))
        side.node = side.first
        side.look_on(follows=False)
        self.fill(side)
        import states
        states.names_of(side)
        side.source, side.admin = side.admin, None
        side.events.close()
        side.third.call("CLUSTER", "REPLICATE", side.self_id)
        side.third.wait_linked()
        side.node = side.third
        side.words[b"{self}"] = side.third.call("CLUSTER", "MYID")
        side.look_on(self.follows)
        side.must("SCRIPT", "LOAD", "return 1")
        side.must("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        wait_until("a replica", lambda: side.third.info("replication")["master_repl_offset"] == side.first.info("replication")["master_repl_offset"])
        side.facts = self.fingerprint(side)

    def refill(self, side):
        side.ask("SCRIPT", "FLUSH")
        side.ask("SCRIPT", "LOAD", "return 1")


class ReadOnly(ClusterReplica):
    name, prelude = "cluster-replica-readonly", (("READONLY",),)


class ReadOnlyMulti(ClusterReplica, Multi):
    name, prelude = "cluster-replica-readonly-multi", (("READONLY",),)


class Exporting(Cluster):
    """The slot is being moved atomically, and the target hangs."""
    name = "cluster-exporting"

    def enter(self, side):
        if side.second.alive():
            side.second.process.send_signal(signal.SIGSTOP)
        side.must("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot_of(self.tag), slot_of(self.tag), "NODE", side.peer_id)

    def leave(self, side):
        side.ask("CLUSTER", "CANCELSLOTMIGRATIONS")
        side.second.process.send_signal(signal.SIGCONT)


def migrations(side):
    """State of the newest job."""
    jobs = side.ask("CLUSTER", "GETSLOTMIGRATIONS")[1]
    if not jobs:
        return None
    items = jobs[0][1]
    return next((value[1] for name, value in zip(items[::2], items[1::2]) if name[1] == b"state"), None)


class ImportingWhole(NotFilled):
    """The slot is imported atomically from its owner, whose child sends it slowly."""
    name, tag = "cluster-importing-whole", OTHERS

    def enter(self, side):
        source = Client("127.0.0.1", side.second.port)
        for words in (("FLUSHALL",), ("CONFIG", "SET", "rdb-key-save-delay", "100000"), *[("SET", "%s%d" % (OTHERS, i), "x" * 1000) for i in range(3000)]):
            source.call(*words)
        source.call("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot_of(OTHERS), slot_of(OTHERS), "NODE", side.first.call("CLUSTER", "MYID"))
        wait_until("it imports", lambda: migrations(side) is not None)
        source.close()

    def refill(self, side):
        """The contents of the node's own slots do not matter here."""


def states():
    found = [Cluster, ClusterMulti, ClusterScript, ClusterDatabase, Others, OthersMulti, OthersScript, Nobodys, Migrating, MigratingMulti, Importing,
             ImportingAsking, ImportingAskingMulti, DownCluster, DownReads, DownScript, ClusterReplica, ReadOnly, ReadOnlyMulti, Exporting, ImportingWhole]
    for state in found:  # it takes seconds to make a cluster
        state.sampled = state in (ClusterScript, OthersMulti, MigratingMulti, ImportingAsking, DownCluster, ReadOnly)
    return found
