"""A cluster of three primaries, each with one or two replicas, in simulated machines (group.py), with the bus on the
simulated network. Their nodes.conf is there when they start for the first time.

Writers append values, each once, to lists of their own in every shard, by commands, transactions and scripts; they
follow redirections. Meanwhile hosts are killed, lose their power, stand still or have their clock moved, disks have
errors, the network is cut (also in one direction) or resets connections, fsync is slow, and roles are changed by hand.

A schedule is `calm` or not. In a calm one the next fault comes when the cluster is whole again. Then what is *kept* may
not be lost: with min-replicas-sync what was acknowledged or read, without it what all nodes of the shard had when the
cluster was whole. With two replicas and min-replicas-sync some schedules are `still` instead: hosts stand still and the
network is cut, several at a time, but no server loses anything that it has. Nothing that is kept may be lost then,
either, nor in a `split` schedule: there a primary and one of its replicas are cut off together, or only the other replica
and the other shards do not hear it, or it hangs, for about as long as an election takes. Clients reach it all the time.
(Without the fence of cluster_engine_fence.c such a schedule loses acknowledged values as a rule.) It may be calm, too.
A server that has lost what it told (a loss of power without `always`, a kill without a file) starts again when
it has been replaced: what it would do alone is the subject of the other schedules of this folder.

What is checked in all schedules:
  - a value is there once, with all of its transaction, and only if it was sent; those acknowledged are in order
  - no two nodes own a slot in one epoch; a node never changes its name, so its nodes.conf could be read
  - within a bounded time after the last fault all nodes agree, each shard has its replicas, and all have the same data
"""
import random

from clients import ErrorReply, Failure
from group import Group, info_fields
from network import SECOND
from simulated import NEVER

PORT, BUS = 7000, 17000
SHARDS = 3
SLOTS = 16384
TAGS = ("b", "c", "a")  # of keys in the first, second and last third of the slots
SCRIPT = "redis.call('RPUSH',KEYS[1],ARGV[1]) return redis.call('RPUSH',KEYS[2],ARGV[1])"
TRY_AGAIN = (b"MOVED", b"CLUSTERDOWN", b"LOADING", b"NOREPLICAS", b"MASTERDOWN", b"EXECABORT", b"TRYAGAIN", b"READONLY")
MANUAL_S = 6     # within which a failover by hand is done or given up
REPLACED_S = 60  # and ten node timeouts, within which a primary that has died is replaced
FINAL_S = 60     # and twenty, within which all agree in the end


class Value:
    """What a writer has sent: it is appended to its list, and if it is `twin` also to the list of transactions."""

    def __init__(self, number, shard, twin):
        self.number, self.shard, self.twin = b"%d" % number, shard, twin
        self.acked = self.kept = False


class Writer:
    def __init__(self, index):
        self.index, self.values, self.due = index, [], 0
        self.connections = {}  # by server
        self.waits = None      # (value, or None for a read; server; until when)

    def key(self, shard, twin=False):
        return "%s%d{%s}" % ("t" if twin else "w", self.index, TAGS[shard])


class ClusterSchedule(Group):
    name, most_steps = "cluster", 300000

    def __init__(self, seed, options, memory, library):
        self.replicas, self.mode = options.replicas, "--cluster"
        if self.replicas > 1:
            self.mode += " --replicas %d" % self.replicas
        super().__init__(seed, options, memory, library, SHARDS * (1 + self.replicas))
        self.counts.update(clocks=0, whole=0, exits=0)
        self.draw()

    def draw(self):
        rng = self.rng
        self.calm = rng.random() < 0.7
        self.sync = rng.random() < 0.6
        self.on_disk = self.sync and rng.random() < 0.3
        self.aof = self.on_disk or rng.random() < 0.8
        self.policy = rng.choice(("always", "everysec") if self.on_disk else ("always", "everysec", "no"))
        self.timeout_ms = rng.choice((1000, 2000, 5000))
        self.pace_us = rng.choice((50000, 200000))
        self.memory.yield_permille = rng.choice((10, 50))
        self.arguments = [
            "--cluster-enabled", "yes", "--bind", "127.0.0.1", "--cluster-node-timeout", str(self.timeout_ms),
            "--cluster-require-full-coverage", rng.choice(("yes", "no")), "--cluster-announce-ip", "127.0.0.1",
            *self.draw_arguments(self.policy, max(2, self.timeout_ms // 500), ("16kb", "1mb"))]
        if self.sync:
            self.arguments += ["--min-replicas-sync", "1", "--min-replicas-sync-timeout", rng.choice(("2000", "5000")),
                               "--min-replicas-sync-mode", "disk" if self.on_disk else "memory"]
        more = random.Random("more of %s %d" % (self.name, self.seed))  # what came later leaves earlier seeds as they were
        if more.random() < 0.2:
            self.arguments += ["--io-threads", "2", "--io-threads-always-active", "yes"]
        self.bad_disks = self.aof and self.policy == "always" and more.random() < 0.3
        self.still = self.moves = self.split = False
        if self.replicas > 1:
            self.draw_replicas(more)
        self.writers = [Writer(i) for i in range(rng.randint(2, 4))]
        self.values_left = rng.choice((60, 150, 300)) // (5 if self.split else 1)
        self.disturbances = rng.randint(1, 3 if self.split else 4 if self.calm else 8)
        self.active = 0         # faults that have not ended
        self.primary_of = list(self.servers[:SHARDS])  # as the driver believes: where writers go first
        self.owners = {}        # (slot range's first slot, epoch): the node that was its owner then
        self.number, self.poll_due, self.whole, self.since = 0, 0, False, None
        self.busy_shard = None  # to which writers send most
        self.reigns = set()     # (node, epoch) that were owners
        self.settled = 0        # when the consequences of the last fault must be visible
        self.started = self.ending = False
        for server in self.servers:
            server.aof, server.id, server.view, server.asked = self.aof, None, None, False
            server.host.services = {base + server.host.index: "%s/listen-%d" % (server.host.folder, base + server.host.index)
                                    for base in (PORT, BUS)}
            server.host.disk.drops = self.bad_disks
            server.id = b"%040x" % rng.getrandbits(160)

    def draw_replicas(self, more):
        """Several replicas: they may move to shards without one, which the promise of min-replicas-sync leaves out."""
        rng = self.rng
        self.still = self.sync and rng.random() < 0.4
        self.moves = not self.still and rng.random() < 0.15
        self.split = self.sync and not self.moves and more.random() < 0.7
        self.still |= self.split
        self.calm = self.calm and (self.split or not self.still and not self.moves)
        self.arguments += ["--cluster-allow-replica-migration", "yes" if self.moves else "no"]
        if self.sync and not self.split and rng.random() < 0.2:
            self.arguments += ["--min-replicas-sync", str(self.replicas)]

    # ---- The beginning ----

    def begin(self):
        shard_ids = [b"%040x" % self.rng.getrandbits(160) for _ in range(SHARDS)]
        for server in self.servers:
            server.host.disk.put("nodes.conf", self.nodes_file(server, shard_ids))
            self.start(server)

    def nodes_file(self, own, shard_ids):
        lines = []
        for server in self.servers:
            i = server.host.index
            shard, replica = i % SHARDS, i >= SHARDS
            flags = b"myself," * (server is own) + (b"slave " + self.servers[shard].id if replica else b"master -")
            slots = b"" if replica else b" %d-%d" % (shard * SLOTS // SHARDS, (shard + 1) * SLOTS // SHARDS - 1)
            lines.append(b"%s 127.0.0.1:%d@%d,,shard-id=%s %s 0 0 %d connected%s" %
                         (server.id, PORT + i, BUS + i, shard_ids[shard], flags, shard + 1, slots))
        return b"\n".join([*lines, b"vars currentEpoch %d lastVoteEpoch 0" % SHARDS, b""])

    def start(self, server):
        if not server.up:
            server.view = None
            self.launch(server, "", [*self.arguments, "--port", str(PORT + server.host.index)])

    def stop(self, server, power):
        self.end(server, self.role(server), power)
        server.view = None
        for writer in self.writers:
            self.disconnect(writer, server)

    def role(self, server):
        return "primary" if server in self.primary_of else "replica"

    def connected(self, server):
        self.ping(server)

    def state(self):
        down = [s.host.index for s in self.servers if not s.up]
        return "%d values sent, %d acknowledged; down: %s; the nodes: %s" % (
            sum(len(w.values) for w in self.writers), sum(v.acked for w in self.writers for v in w.values), down, self.why_not_whole)

    # ---- Steps ----

    def connections(self):
        return [x for w in self.writers for x in w.connections.values()] + [s.admin for s in self.servers if s.admin]

    def receive_all(self):
        super().receive_all()
        for writer in self.writers:
            for server, connection in list(writer.connections.items()):
                if connection.closed:
                    self.disconnect(writer, server)

    def play(self):
        if self.poll_due <= self.now:
            self.poll()
        self.check_agreement()
        if not self.started:
            return
        for writer in self.writers:
            if writer.waits and writer.waits[2] <= self.now:
                self.disconnect(writer, writer.waits[1])
            if writer.due <= self.now and not writer.waits:
                self.act(writer)
        if not self.ending and self.values_left <= 0 and not self.active and not self.disturbances:
            self.ending, self.since, self.whole = True, self.now, False
            self.note("nothing is disturbed any more")

    def check_agreement(self):
        """They agree in time when the last fault has ended: in the end, and before a calm schedule goes on."""
        since = self.since if self.ending else self.settled
        waits = self.ending or not self.whole and not self.active
        if waits and self.now - since > (FINAL_S + self.timeout_ms // 50) * SECOND:
            raise Failure("after %d s the nodes do not agree: %s" % ((self.now - since) // SECOND, self.why_not_whole))

    def dues(self):
        writers = [w.waits[2] if w.waits else w.due for w in self.writers] if self.started else []
        return [self.poll_due, *writers]

    # ---- What the nodes say ----

    def poll(self):
        """Asks all nodes for their view, and thinks about it soon."""
        self.poll_due = self.now + SECOND // 4
        self.judge()
        for server in self.servers:
            server.asked = server.ready
            if server.ready and len(server.admin.expected) < 8:
                self.ask_view(server)

    def ask_view(self, server):
        lives, facts = server.lives, []

        def answered(reply):
            facts.append(reply)
            if len(facts) == 3 and lives == server.lives:
                self.note_view(server, *facts)

        for words in (("CLUSTER", "NODES"), ("INFO", "replication"), ("CLUSTER", "INFO")):
            server.admin.send(words, answered)

    def note_view(self, server, nodes, replication, info):
        if any(isinstance(x, ErrorReply) for x in (nodes, replication, info)):
            return
        rows = [line.split(b" ") for line in nodes.split(b"\n") if line]
        own = next(row for row in rows if b"myself" in row[2])
        if own[0] != server.id:
            raise Failure("host %d has become another node: its nodes.conf was lost" % server.host.index)
        if len(own) > 8:
            self.note_owner(server, own)
        server.view = {"when": self.now, "rows": {row[0]: row for row in rows}, "own": own, "info": info_fields(replication),
                       "ok": b"cluster_state:ok" in info}

    def note_owner(self, server, own):
        self.reigns.add((server.id, own[6]))
        self.counts["promotions"] = max(0, len(self.reigns) - SHARDS)
        for part in own[8:]:
            if part.startswith(b"["):
                continue
            first, _, last = part.partition(b"-")
            for slot in {int(first), int(last or first)}:
                before = self.owners.setdefault((slot, own[6]), server.id)
                if before != server.id:
                    raise Failure("slot %d has two owners in epoch %s: %s and host %d" %
                                  (slot, own[6].decode(), before.decode(), server.host.index))

    def judge(self):
        """Whether the cluster is whole, by the views of all."""
        self.why_not_whole = self.find_unwhole()
        whole = self.why_not_whole is None
        if whole and not self.active and not self.whole:
            self.whole = True
            self.counts["whole"] += 1
            self.become_whole()

    def find_unwhole(self):
        if not all(s.ready and s.view and s.view["when"] >= max(self.settled, self.now - 2 * SECOND) for s in self.servers):
            return "not all answer"
        for server in self.servers:
            view = server.view
            bad = [row[0] for row in view["rows"].values() if b"fail" in row[2] or row[7] != b"connected"]
            if not view["ok"] or bad or len(view["rows"]) != len(self.servers):
                return "host %d says %s" % (server.host.index, "fail" if not view["ok"] else bad)
        primaries = [s for s in self.servers if len(s.view["own"]) > 8]
        claims = {s.id: s.view["own"][8:] for s in primaries}
        for server in self.servers:
            if {i: row[8:] for i, row in server.view["rows"].items() if len(row) > 8} != claims:
                return "host %d sees other owners" % server.host.index
        if len(primaries) != SHARDS:
            return "%d nodes have slots" % len(primaries)
        for shard in range(SHARDS):
            first = b"%d-" % (shard * SLOTS // SHARDS)
            self.primary_of[shard] = next(s for s in primaries if s.view["own"][8].startswith(first))
        for shard, primary in enumerate(self.primary_of):
            replicas = self.replicas_of(shard)
            if not replicas or len(replicas) != self.replicas and not self.moves:
                return "shard %d has %d replicas" % (shard, len(replicas))
            if any(r.view["info"].get(b"master_link_status") != b"up" for r in replicas):
                return "shard %d has a replica without a link" % shard
            if self.sync and primary.view["info"].get(b"min_slaves_good_slaves", b"1") == b"0":
                return "shard %d has no good replica" % shard
        return None

    def replicas_of(self, shard):
        primary = self.primary_of[shard]
        return [s for s in self.servers if s.view and s.view["own"][3] == primary.id]

    def become_whole(self):
        self.note("the cluster is whole")
        if not self.started:
            self.started = True
            for writer in self.writers:
                writer.due = self.later(self.pace_us)
            self.plan_disturbance(4)
        if self.ending:
            self.compare_final()
        elif not self.sync and self.calm:
            self.note_kept()

    def ask_lists(self, server, shard, then, more=()):
        """then(the writers' lists of a shard, replies to `more`) of one moment, or then(None)."""
        words = [("LRANGE", w.key(shard, twin), 0, -1) for w in self.writers for twin in (False, True)] + [*more]

        def answered(reply):
            if not isinstance(reply, list) or any(isinstance(x, ErrorReply) for x in reply):
                then(None)
            else:
                then(reply)

        server.admin.send(("READONLY",), lambda reply: None)
        for w in [("MULTI",), *words]:
            server.admin.send(w, lambda reply: None)
        server.admin.send(("EXEC",), answered)

    def note_kept(self):
        """Without min-replicas-sync: what all nodes of the shard have now outlives any one of them."""
        for shard, primary in enumerate(self.primary_of):
            lives = [s.lives for s in self.servers]
            found, servers = [], [primary, *self.replicas_of(shard)]

            def answered(reply, shard=shard, lives=lives, found=found, count=len(servers)):
                found.append(reply)
                if len(found) < count or None in found or lives != [s.lives for s in self.servers] or not self.whole:
                    return
                self.counts["checks"] += 1
                for i, writer in enumerate(self.writers):
                    common = set.intersection(*(set(lists[2 * i]) for lists in found))
                    for value in writer.values:
                        value.kept |= value.shard == shard and value.number in common

            for server in servers:
                self.ask_lists(server, shard, answered)

    # ---- Writers ----

    def disconnect(self, writer, server):
        """What was not answered may have happened or not."""
        connection = writer.connections.pop(server, None)
        if connection:
            connection.sock.close()
        if writer.waits and writer.waits[1] is server:
            writer.waits, writer.due = None, self.later(self.pace_us)
            self.guess(writer.shard)

    def guess(self, shard):
        """The next attempt is made elsewhere."""
        self.primary_of[shard] = self.rng.choice([s for s in self.servers if s.up] or self.servers)

    def act(self, writer):
        writer.due = self.later(self.pace_us)
        if self.values_left <= 0 and not self.active and not self.disturbances:
            writer.due = NEVER
            return
        writer.shard = self.rng.randrange(SHARDS)
        if self.busy_shard is not None and self.rng.random() < 0.7:
            writer.shard = self.busy_shard
        kind = self.rng.choice(("push", "push", "push", "transaction", "script", "read"))
        if kind == "read":
            self.send(writer, None, kind)
            return
        self.number += 1
        self.values_left -= 1
        self.counts["units"] += 1
        value = Value(self.number, writer.shard, kind != "push")
        writer.values.append(value)
        self.send(writer, value, kind)

    def send(self, writer, value, kind, attempts=4):
        """Sends the request to whom the driver believes to be the primary."""
        server = self.primary_of[writer.shard]
        if server not in writer.connections:
            try:
                writer.connections[server] = self.connection_to(server)
            except OSError:
                self.guess(writer.shard)
                return
        connection, keys = writer.connections[server], [writer.key(writer.shard), writer.key(writer.shard, True)]
        words = {"push": [("RPUSH", keys[0], value and value.number)], "read": [("LRANGE", keys[0], 0, -1)],
                 "script": [("EVAL", SCRIPT, 2, *keys, value and value.number)],
                 "transaction": [("MULTI",), *(("RPUSH", k, value and value.number) for k in keys), ("EXEC",)]}[kind]
        replies = []
        writer.waits = (value, server, self.now + self.rng.randint(1, 8) * SECOND)

        def answered(reply):
            replies.append(reply)
            if len(replies) == len(words) and writer.waits and writer.waits[1] is server:
                writer.waits = None
                self.answered(writer, value, kind, replies, attempts)

        for w in words:
            connection.send(w, answered)

    def answered(self, writer, value, kind, replies, attempts):
        errors = [r.text for r in replies if isinstance(r, ErrorReply)]
        if not errors:
            if value:
                value.acked = True
                value.kept |= self.sync
            elif self.sync:
                self.note_read(writer, replies[0])
            return
        if errors[0].startswith(b"NOTSYNCED"):
            return  # nobody knows
        if not all(e.startswith(TRY_AGAIN) for e in errors):
            raise Failure("writer %d, %s: %s" % (writer.index, kind, errors))
        if errors[0].startswith(b"MOVED"):
            port = int(errors[0].rpartition(b":")[2])
            self.primary_of[writer.shard] = self.servers[port - PORT]
        elif not errors[0].startswith(b"NOREPLICAS"):
            self.guess(writer.shard)
        if attempts:  # nothing has happened: it is sent again
            self.send(writer, value, kind, attempts - 1)

    def note_read(self, writer, found):
        numbers = set(found)
        for value in writer.values:
            value.kept |= value.shard == writer.shard and value.number in numbers

    # ---- Disturbances ----

    def disturb(self):
        rng, memory = self.rng, self.memory
        self.plan_disturbance(4)
        if self.disturbances <= 0:
            memory.kill_at = 1 << 62
            return
        if not self.started or self.active and (self.calm or self.active > 2) or self.calm and not self.whole:
            return
        self.disturbances -= 1
        self.whole = False
        index = memory.slot_host(memory.caller)
        server = self.servers[index] if rng.random() < 0.5 else rng.choice(self.servers)
        what = rng.choice(("kill", "kill", "power", "power", "hang", "hang", "cut", "cut", "wire", "clock", "reset", "manual"))
        if self.bad_disks and rng.random() < 0.3:
            what = "disk"
        if self.still:
            what = rng.choice(("hang", "hang", "hang", "cut", "cut", "wire", "clock", "reset", "manual"))
        if self.replicas > 1 and rng.random() < 0.4:
            what = "part"
        if self.split and (self.busy_shard is None or rng.random() < 0.6):
            what = "split"
        self.settled = self.now + SECOND
        getattr(self, "disturb_" + what)(server)

    def begin_fault(self, us):
        self.active += 1

        def ended():
            self.active -= 1
            self.settled = self.now + SECOND
        self.after(us, ended)

    def some_time(self):
        if self.still:  # answers to a candidate that is not heard of bind for ten time-outs
            return self.rng.randrange(4 * self.timeout_ms * 1000)
        return self.rng.choice((self.rng.randrange(self.timeout_ms * 1000), self.rng.randrange(8 * self.timeout_ms * 1000)))

    def disturb_kill(self, server, power=False):
        if not server.up:
            return
        loses = not self.aof or power and self.policy != "always"
        waits = self.calm and loses and server.view and len(server.view["own"]) > 8
        self.stop(server, power)
        self.active += 1
        if waits:
            self.after(SECOND, lambda: self.restart_replaced(server, self.now))
        else:
            self.after(self.rng.choice((1000, self.some_time())), lambda: self.restart(server))

    def disturb_power(self, server):
        self.disturb_kill(server, True)

    def restart(self, server):
        self.active -= 1
        self.settled = self.now + SECOND
        self.start(server)

    def restart_replaced(self, server, since):
        """Starts it when another one has its slots."""
        others = [s.view["rows"][server.id] for s in self.servers if s.view]
        if others and all(len(row) == 8 for row in others):
            self.restart(server)
        elif self.now - since > (REPLACED_S + self.timeout_ms // 100) * SECOND:
            raise Failure("host %d was not replaced within %d s" % (server.host.index, (self.now - since) // SECOND))
        else:
            self.after(SECOND, lambda: self.restart_replaced(server, since))

    def disturb_hang(self, server):
        if server.up and not self.memory.frozen >> server.host.index & 1:
            us = self.some_time()
            self.freeze(server, us)
            self.begin_fault(us)

    def disturb_cut(self, server):
        """A host is alone, or is not heard, or does not hear."""
        own, others = server.host.index, [s.host.index for s in self.servers if s is not server]
        ways = self.rng.choice((1, 2, 3, 3))
        pairs = {(own, i) for i in others if ways & 1} | {(i, own) for i in others if ways & 2}
        us = self.some_time()
        self.cut(pairs, us)
        self.begin_fault(us)

    def disturb_part(self, server):
        """A primary with some of its replicas is cut off from the rest. They go on acknowledging to it for a while."""
        shard = self.rng.randrange(SHARDS)
        replicas = [s for s in self.servers if s.host.index % SHARDS == shard and s is not self.primary_of[shard]]
        side = [self.primary_of[shard], *self.rng.sample(replicas, self.rng.randint(1, self.replicas))]
        inside = {s.host.index for s in side}
        outside = [s.host.index for s in self.servers if s.host.index not in inside]
        ways = self.rng.choice((1, 2, 3, 3, 3))
        pairs = {(i, o) for i in inside for o in outside if ways & 1} | {(o, i) for i in inside for o in outside if ways & 2}
        us = self.some_time()
        self.cut(pairs, us)
        self.begin_fault(us)

    def disturb_split(self, server):
        """One replica and the other shards do not hear a primary for about as long as an election takes, while the other
        replica acknowledges what it writes: the first one may not take over before it has that."""
        rng = self.rng
        us = self.timeout_ms * 1000 + rng.randrange(SECOND // 2, 3 * SECOND + 2000 * self.timeout_ms)
        self.busy_shard = rng.randrange(SHARDS)
        members = [s for s in self.servers if s.host.index % SHARDS == self.busy_shard]
        primary = max(members, key=lambda s: int(s.view["own"][6]) if s.view and len(s.view["own"]) > 8 else -1)
        helper, other = rng.sample([s for s in members if s is not primary], 2)
        self.primary_of[self.busy_shard] = primary
        what = rng.choice(("apart", "apart", "apart", "mute", "hang"))  # the helper is cut off as well; is not; the primary hangs
        if rng.random() < 0.4:
            own, far = helper.host.index, rng.choice((primary, other)).host.index
            self.slow({(own, far), (far, own)}, rng.randrange(50000, SECOND // 2), us)
        if what == "hang":
            self.freeze(primary, us)
        else:
            inside = [s.host.index for s in ([primary, helper] if what == "apart" else [primary])]
            outside = [s.host.index for s in self.servers if s not in (primary, helper)]
            pairs = {(i, o) for i in inside for o in outside}
            if rng.random() < 0.7:
                pairs |= {(o, i) for i, o in pairs}
            self.cut(pairs, us)
        self.begin_fault(us)

    def disturb_wire(self, server):
        """Two hosts do not reach each other."""
        other = self.rng.choice([s for s in self.servers if s is not server])
        own, other = server.host.index, other.host.index
        us = self.some_time()
        self.cut({(own, other), *([(other, own)] if self.rng.random() < 0.6 else [])}, us)
        self.begin_fault(us)

    def disturb_disk(self, server):
        """Calls of its disk fail for a while. With `always` a server that cannot write its file exits."""
        memory, us = self.memory, self.some_time()
        self.note("the disk of host %d has errors" % server.host.index)
        memory.sound = ~(1 << server.host.index)
        memory.write_faults, memory.sync_faults, memory.name_faults = (self.rng.choice((0, 20, 500)) for _ in range(3))
        self.active += 1

        def ended():
            memory.write_faults = memory.sync_faults = memory.name_faults = 0
            self.active -= 1
            self.settled = self.now + SECOND
        self.after(us, ended)

    def exited(self, server, code):
        if self.memory.sound >> server.host.index & 1 or not self.memory.faults or code != 1:
            super().exited(server, code)
        self.note("host %d exits" % server.host.index)
        self.counts["exits"] += 1
        self.stop(server, False)
        self.whole = False
        self.active += 1
        self.after(self.rng.choice((1000, self.some_time())), lambda: self.restart(server))

    def disturb_clock(self, server):
        name = "clock%d" % server.host.index
        us = self.rng.choice((-1, 1)) * int(10 ** self.rng.uniform(3, 9))
        self.note("the clock of host %d is moved to %+d us" % (server.host.index, us))
        self.counts["clocks"] += 1
        setattr(self.memory, name, us)

    def disturb_reset(self, server):
        self.note("connections are reset")
        self.network.reset()

    def disturb_manual(self, server):
        if server.ready and server not in self.primary_of:
            self.note("host %d is told to take over" % server.host.index)
            self.settled = self.now + MANUAL_S * SECOND
            words = ("CLUSTER", "FAILOVER", *([] if self.calm or self.still else self.rng.choice(([], ["FORCE"]))))
            server.admin.send(words, lambda reply: None)

    # ---- The end ----

    def compare_final(self):
        """All nodes of each shard must have the same data, and what was kept."""
        found = [[] for _ in range(SHARDS)]

        def answered(shard, reply, digest):
            found[shard].append((reply, digest))
            if sum(map(len, found)) == len(self.servers):
                self.judge_final(found)

        for shard, primary in enumerate(self.primary_of):
            for server in (primary, *self.replicas_of(shard)):
                digests = []
                server.admin.send(("DEBUG", "DIGEST"), digests.append)
                self.ask_lists(server, shard, lambda reply, shard=shard, digests=digests: answered(shard, reply, digests[0]))

    def judge_final(self, found):
        for shard in range(SHARDS):
            digests = [digest for _, digest in found[shard]]
            if any(lists is None for lists, _ in found[shard]) or len(set(digests)) > 1:
                self.whole = False  # they may be on their way: once more
                self.note("shard %d: its nodes have %s" % (shard, digests))
                return
        for shard in range(SHARDS):
            for i, writer in enumerate(self.writers):
                self.check_lists(writer, shard, *found[shard][0][0][2 * i:2 * i + 2])
        self.done = True

    def check_lists(self, writer, shard, plain, twins):
        where = "writer %d, shard %d" % (writer.index, shard)
        sent = {v.number: v for v in writer.values if v.shard == shard}
        for name, items in (("list", plain), ("list of transactions", twins)):
            if len(set(items)) != len(items) or not sent.keys() >= set(items):
                raise Failure("%s: the %s has values twice, or that were never sent: %s" % (where, name, items))
            acked = [int(x) for x in items if sent[x].acked]
            if acked != sorted(acked):
                raise Failure("%s: the %s is not in order: %s" % (where, name, acked))
        torn = {x for x in plain if sent[x].twin} ^ set(twins)
        if torn:
            raise Failure("%s: half of a transaction is there: %s" % (where, sorted(torn)))
        lost = [v.number for v in sent.values() if v.kept and v.number not in plain]
        if lost and (self.calm or self.still):
            raise Failure("%s: lost: %s of %d" % (where, lost, len(sent)))
