"""traffic.py - what clients do to a primary while it has replicas: the random streams of tests/differential, clients that block,
keys that expire soon, keys that are evicted.
"""
import random
import threading
import time

from stream import REDIS8, group_names, limits_of, load_groups, make_stream

PIPELINE = 50
BLOCKED = 6
# ACL is not replicated; SORT and the encodings of what it sorts are no matter here.
LEFT_OUT = ("acl",)
# The connection itself, and other servers' links, are not to be closed by a stream.
NOT_SENT = (b"~SCAN", b"~OURS", b"CLIENT", b"SHUTDOWN", b"REPLICAOF", b"DEBUG", b"RESET", b"MONITOR", b"CONFIG")


def groups_of(newer, redis8):
    names = group_names(newer) + ["multi", "sort"] + (REDIS8 if redis8 else [])
    return load_groups([name for name in names if name not in LEFT_OUT])


def set_limits(nodes, newer, seed):
    """The same limits of encodings everywhere: encodings are not replicated, but some values depend on them."""
    pick = random.Random(seed)
    groups = groups_of(newer, any(node.kind == "redis8" for node in nodes))
    for name, choices in limits_of(groups, newer).items():
        value = pick.choice(choices)
        for node in nodes:
            node.call("CONFIG", "SET", name, value)


CONDITIONS = (b"NX", b"XX", b"GT", b"LT", b"IFEQ", b"IFNE", b"IFDEQ", b"IFDNE")
EXPIRES = (b"EX", b"PX", b"EXAT", b"PXAT")


def sets_twice(words):
    """Whether this is an HSETEX that sets a field twice."""
    if b"HSETEX" not in words or b"FIELDS" not in words:
        return False
    fields = words[words.index(b"FIELDS") + 2 :: 2]
    return len(set(fields)) < len(fields)


def is_lost_by_redis8(words):
    """Whether 8.6.3 does not propagate all of this, so that its own replicas differ from it: an approximate trim with
    DELREF or ACKED becomes an exact one, which keeps entries that it has removed; DELREF of an entry that is gone
    already clears references and is not propagated; nor are the times of delivery after a history is read again."""
    if b"~" in words:
        return b"DELREF" in words or b"ACKED" in words
    if words[0] == b"XREADGROUP":
        return b"CLAIM" in words and b"0" in words[words.index(b"STREAMS") :]
    return words[0] == b"XDELEX" and b"DELREF" in words


def is_sent(command, kind, newer, redis8):
    """Whether a command is sent: commands about this server alone are not. 9.1.2 propagates HSETEX with several times
    in a form that no replica understands, and crashes when a library logs while it is loaded; 7.0 sorts an empty
    weight as 0, and like 8.6.3 it sometimes takes good ones for wrong, because it reads an errno that an earlier
    command has left. All three do not propagate a string that has grown in a BITFIELD whose changes FAIL. 8.6.3 fails
    an assertion when HSETEX sets a field of a hash table twice, and refuses several times in it; it takes several
    conditions in a SET, of which Valkey takes one, and one in HPEXPIRE, which takes several here; it limits
    ENTRIESREAD to the entries that were added."""
    words = [a.upper() for a in command.args]
    if (kind == "valkey" or redis8) and b"HSETEX" in words and sum(word in EXPIRES for word in words) > 1:
        return False
    if kind == "valkey" and b"FUNCTION" in words and any(b"REDIS.LOG" in word for word in words):
        return False
    if redis8 and (sets_twice(words) or sum(word in CONDITIONS for word in words) > 1 or b"ENTRIESREAD" in words):
        return False
    if kind == "redis8" and is_lost_by_redis8(words):
        return False
    if (redis8 or not newer) and words[0] == b"SORT" and b"STORE" in words and b"ALPHA" not in words:
        return False
    if kind != "ours" and words[0] == b"BITFIELD" and b"FAIL" in words:
        return False
    return words[0] not in NOT_SENT


def run_stream(node, seed, length, newer, redis8=False):
    """The random commands of one stream; errors are as good as successes. Replies are read, and not looked at."""
    commands = make_stream(seed, groups_of(newer, redis8), length, newer=newer)
    connections = {resp: node.connect(resp=resp) for resp in (2, 3)}
    sent = 0
    try:
        while sent < len(commands):
            if commands[sent].args[0] == b"~PAUSE":
                time.sleep(int(commands[sent].args[1]) / 1000)
                sent += 1
                continue
            batch = [commands[sent]]
            while len(batch) < PIPELINE and sent + len(batch) < len(commands):
                one = commands[sent + len(batch)]
                if one.args[0] == b"~PAUSE" or one.resp != batch[0].resp:
                    break
                batch.append(one)
            sent += len(batch)
            words = [c.args for c in batch if is_sent(c, node.kind, newer, redis8)]
            if words:
                connections[batch[0].resp].send(words)
                connections[batch[0].resp].receive()
    finally:
        for connection in connections.values():
            connection.close()


BLOCKING = [
    ("BLPOP", "b:list", "b:other", 0), ("BRPOP", "b:list", 0), ("BLMOVE", "b:list", "b:moved", "LEFT", "RIGHT", 0),
    ("BLMPOP", 0, 2, "b:list", "b:other", "LEFT", "COUNT", 3), ("BZPOPMIN", "b:zset", 0), ("BZMPOP", 0, 1, "b:zset", "MAX", "COUNT", 2),
    ("XREADGROUP", "GROUP", "g", "c1", "BLOCK", 0, "STREAMS", "b:stream", ">"),
]


class Blocked(threading.Thread):
    """A client that waits for elements again and again, until it is hung up."""

    def __init__(self, node, seed):
        super().__init__(daemon=True)
        self.pick, self.connection, self.served = random.Random(seed), node.connect(), 0

    def run(self):
        try:
            while True:
                self.connection.send([[str(w).encode() for w in self.pick.choice(BLOCKING)]])
                self.connection.receive()
                self.served += 1
        except (OSError, ValueError):
            pass


def serve_blocked(node, seed, steps):
    """Clients that block, and one that gives them what they wait for. How often they were served."""
    node.reply("XGROUP", "CREATE", "b:stream", "g", "$", "MKSTREAM")
    clients = [Blocked(node, "%s/%d" % (seed, i)) for i in range(BLOCKED)]
    for client in clients:
        client.start()
    pick, connection = random.Random(seed), node.connect()
    for i in range(steps):
        commands = [("RPUSH", "b:list", i, i + 1), ("LPUSH", "b:other", i), ("ZADD", "b:zset", i, i), ("XADD", "b:stream", "*", "i", i)]
        picked = pick.sample(commands, pick.randint(1, 4))
        connection.call_all([("MULTI",), *picked, ("EXEC",)] if pick.random() < 0.3 else picked)
    for client in clients:
        client.connection.socket.shutdown(2)
        client.join()
    connection.close()
    return sum(client.served for client in clients)


def expire_soon(node, seed, steps, newer):
    """Keys and fields that expire some milliseconds later; some are read, which is another way to delete them."""
    pick, connection = random.Random(seed), node.connect()
    for i in range(steps):
        key, ms = "soon:%d" % pick.randint(0, 200), pick.randint(1, 60)
        commands = [("SET", key, i, "PX", ms), ("GET", "soon:%d" % pick.randint(0, 200)), ("GETEX", key, "PX", ms + 5)]
        if newer:
            commands += [("HSET", "fields:%d" % (i % 20), "f%d" % i, i), ("HPEXPIRE", "fields:%d" % (i % 20), ms, "FIELDS", 1, "f%d" % i),
                         ("HGETALL", "fields:%d" % pick.randint(0, 19))]
        connection.call_all(commands)
        if i % 20 == 0:
            time.sleep(0.005)
    connection.close()


def evict(node, keys):
    """More than fits; how many keys were evicted."""
    before = int(node.info("stats")["evicted_keys"])
    node.configure(maxmemory_policy="allkeys-random", maxmemory=int(node.info("memory")["used_memory"]) + (1 << 20))
    connection = node.connect()
    for at in range(0, keys, 500):
        connection.call_all([("SET", "evict:%d" % i, "x" * 500) for i in range(at, at + 500)])
    connection.close()
    node.configure(maxmemory=0)
    return int(node.info("stats")["evicted_keys"]) - before
