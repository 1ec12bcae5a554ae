"""slots.py - the other user of snapshots in parts: slots that move to another node (CLUSTER MIGRATESLOTS).

What a target gets is the snapshot, as commands, and behind it what clients have written since. Most writes of the model give another result when
they are executed twice, or on top of a later value: so the target has what the source has only if the snapshot was that of its beginning.
"""
from dataset import facts, values
from server import free_port

SLOTS = 16384
TAG = b"{t}"
MODEL_KEYS = (b"L:", b"S:", b"key:", b"soon:", b"new:", b"other:", b"n:")
BEFORE_PAUSE = (b"snapshotting", b"waiting-to-pause")


def settings():
    """Of each node. They wait for each other for longer than usual, as the machine may be busy."""
    return ["--cluster-enabled", "yes", "--cluster-databases", "16", "--cluster-port", str(free_port()), "--cluster-allow-replica-migration", "no",
            "--cluster-manual-failover-timeout", "60000"]


def tagged(command):
    """The command with all keys of the model in one slot: clusters refuse commands with keys in several."""
    words = [w if isinstance(w, bytes) else str(w).encode() for w in command]
    return [TAG + w if w.startswith(MODEL_KEYS) else w for w in words]


def unite(source, target, wait_until):
    """Makes a cluster of both, in which the source has all slots."""
    ports = [int(values(node.admin.call("CONFIG", "GET", "cluster-port"))[1]) for node in (source, target)]
    source.admin.call("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    target.admin.call("CLUSTER", "MEET", "127.0.0.1", source.port, ports[0])
    for node in (source, target):
        wait_until("a cluster", lambda: b"cluster_state:ok" in node.admin.call("CLUSTER", "INFO")[1] and b"known_nodes:2" in node.admin.call("CLUSTER", "INFO")[1])


def choose_range(pick, connection):
    """All slots, or a range that has the slot of the model's keys."""
    slot = values(connection.call("CLUSTER", "KEYSLOT", TAG))
    return pick.choice([(0, SLOTS - 1), (slot, slot), (0, slot), (pick.randint(0, slot), pick.randint(slot, SLOTS - 1))])


def move(first, last, target):
    return ("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE", values(target.admin.call("CLUSTER", "MYID")))


def job(node):
    """The state of the newest job, and why."""
    jobs = values(node.admin.call("CLUSTER", "GETSLOTMIGRATIONS"))
    newest = facts(jobs[0]) if jobs else {b"state": b"none", b"message": b""}
    return newest[b"state"], newest[b"message"]


def hold(node, on):
    """Whether what is moved stays with the source although the target has it."""
    node.admin.call("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", int(on))


def of_slots(connection, state, first, last):
    """What of a dataset is in these slots."""
    keys = [name for name in state if isinstance(name, tuple)]
    slots = connection.call_all([("CLUSTER", "KEYSLOT", key) for _, key in keys])
    return {name: state[name] for name, slot in zip(keys, slots) if first <= values(slot) <= last}
