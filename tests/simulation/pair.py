"""A primary and a replica, each in a simulated machine with its own disk, and a simulated network between them.

Clients send to the primary; what they send and must find is the model of clients.py. Meanwhile either host is killed,
loses its power or stands still, and the network is slow, cut in one or both directions, or resets connections. After the
primary's death it starts again from its disk, or the replica takes its place and the old primary follows it.

What is checked:
  - the replica's keys, whenever its link is up: for each client what they hold after some unit, never fewer units than it
    had before, none without those that were answered before it was sent
  - WAIT and WAITAOF: the replica (its disk) has what they said
  - with min-replicas-sync 1: a replica that takes over has all that clients were told
  - now and then, after each promotion, and in the end: clients are quiet until both have the same offset and ID; then
    both have the same DEBUG DIGEST, and in the end what the model has

A promise holds as long as the replica that gave it lives: what it held in memory only, it may lose.
"""
from clients import Client, ErrorReply, Failure, Unit
from group import Group, info_fields, same_reply
from network import SECOND
from simulated import NEVER

PORT = 7000
FINAL_S = 300  # within which both must agree in the end
QUIET_S = 5    # for which clients are quiet at most
EXPIRE_S = 4   # within which keys that have expired are deleted


class PairSchedule(Group):
    name, mode, most_steps = "pair", "--pair", 100000

    def __init__(self, seed, options, memory, library):
        super().__init__(seed, options, memory, library, 2)
        self.counts.update(unknown=0, digests=0)
        for server in self.servers:
            server.disk_whole = True  # of a primary: what is on its disk is its own
            server.host.services = {PORT + server.host.index: server.host.socket_path}
        self.draw()

    def draw(self):
        rng = self.rng
        self.sync = rng.random() < 0.5
        self.on_disk = self.sync and rng.random() < 0.3
        self.policy = rng.choice(("always", "everysec") if self.on_disk else ("always", "everysec", "no"))
        self.pace_us = rng.choice((2000, 20000, 100000))
        self.burst = 1 if self.sync else rng.choice((1, 4, 12))
        self.timeout_s = rng.choice((3, 6, 20))
        self.arguments = self.draw_arguments(self.policy, self.timeout_s, ("16kb", "64kb", "1mb"))
        if self.sync:
            self.arguments += ["--min-replicas-sync", "1", "--min-replicas-sync-timeout", rng.choice(("2000", "5000", "60000")),
                               "--min-replicas-sync-mode", "disk" if self.on_disk else "memory"]
        for server in self.servers:
            server.aof = self.on_disk or rng.random() < 0.5
        count = rng.randint(2, 4)
        self.clients = [Client(i, count) for i in range(count)]
        for c in self.clients:
            c.least = c.told = c.on_replica = c.on_disk = 0
            c.unsure, c.learning = False, 0
        self.units_left = rng.choice((60, 150, 400))
        self.disturbances = rng.randint(0, 8)
        self.noise = rng.random() < 0.6
        self.primary, self.replica = self.servers
        self.serving = self.final = False
        self.promoting = None
        self.ids = set()      # replication IDs of the primary in this life
        self.synced = False   # the replica has been seen with data of this life of the primary
        self.admin_due = 0
        self.quiet = None     # the lives of both, while clients are quiet
        self.final_asked = False
        self.final_since = None
        self.lingering = []   # (connection, its client's units when the replica took over, lives then)

    # ---- The schedule ----

    def begin(self):
        self.start(self.primary)
        self.start(self.replica)
        self.plan_disturbance(3.6)

    def state(self):
        return "units answered and sent: %s; %s" % (
            ", ".join("%d of %d" % (c.acked, c.sent) for c in self.clients),
            ", ".join("host %d %s" % (s.host.index, "is there" if s.ready else "runs" if s.up else "is down") for s in self.servers))

    def play(self):
        if self.serving:
            for c in self.clients:
                if c.due <= self.now:
                    self.act(c)
            if self.admin_due <= self.now:
                self.administrate()
        self.check_final()

    def dues(self):
        return [c.due for c in self.clients] + [self.admin_due] if self.serving else []

    def connections(self):
        return [x for x in [c.connection for c in self.clients] + [s.admin for s in self.servers] + self.lingering if x]

    def receive_all(self):
        super().receive_all()
        for c in self.clients:
            if c.connection and c.connection.closed:
                self.lost_connection(c)
        for connection in [x for x in self.lingering if x.closed]:
            connection.sock.close()
            self.lingering.remove(connection)

    # ---- Starting and ending servers ----

    def start(self, server):
        arguments = [*self.arguments, "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", self.address(server)[1]]
        if server is self.primary:
            self.synced = False  # the replica may take over what the disk has, at any time from now on
        else:
            arguments += ["--replicaof", "%s %s" % self.address(self.primary)]
        self.launch(server, " as replica" if server is self.replica else " as primary", arguments)

    @staticmethod
    def address(server):
        return "127.0.0.1", str(PORT + server.host.index)

    def stop(self, server, power):
        self.end(server, "primary" if server is self.primary else "replica", power)
        if server is self.replica:
            self.synced = server.aof and any(c.on_disk for c in self.clients)
            self.forget_replica(server.aof)
        elif server.disk_whole:
            self.primary_died(server, power)
        else:
            self.give_up("its file is not that of what it took over")

    def give_up(self, why):
        """Nothing can be said about what comes now."""
        self.note("given up: " + why)
        self.counts["unknown"] += 1
        self.done = True

    def primary_died(self, server, power):
        self.serving = False
        for c in self.clients:
            if c.connection:
                c.connection.sock.close()
                c.connection = None
            keeps = server.aof and (not power or self.policy == "always")
            c.least = c.told if keeps else 0
        if self.can_promote() and self.rng.random() < 0.6:
            self.after(self.rng.choice((0, 1000, SECOND, 10 * SECOND)), self.promote)

    def connected(self, server):
        """A primary is asked for its data before clients come."""
        if server is not self.primary:
            self.ping(server)
        elif self.serving or self.promoting:
            server.ready = True
        else:
            server.asking = True
            self.ask(server, lambda info, replies: self.primary_answered(server, info, replies))

    def primary_answered(self, server, info, replies):
        server.asking = False
        if info is None or server is not self.primary:
            return
        server.ready = True
        self.begin_serving(info, replies)

    def begin_serving(self, info, replies):
        """The primary has this: the model goes on from there."""
        low = self.compare(replies, "the primary", [c.least for c in self.clients])
        for c, n in zip(self.clients, low):
            c.settle(n)
            c.told = c.least = n
        self.ids = {info[b"master_replid"]}
        self.synced = False
        self.forget_replica(False)
        self.serving = True
        self.admin_due = self.later(max(5 * self.pace_us, SECOND // 20))
        self.note("clients go on with units %s" % low)
        for c in self.clients:
            if c.connection:
                c.connection.sock.close()
            self.open_connection(c)
        self.after(self.rng.choice((0, SECOND, 10 * SECOND)), self.begin_quiet)
        self.plan_disturbance(3.6)

    def open_connection(self, c):
        c.connection, c.due, c.unsure = None, self.later(self.pace_us), False
        c.learning += 1
        try:
            c.connection = self.connection_to(self.primary)
        except OSError:
            c.unsure = True
            return
        if c.db:
            c.connection.send(("SELECT", c.db), lambda reply: None)

    # ---- What the replica has ----

    def forget_replica(self, keeps_disk):
        """Its memory has gone, or what it has is no longer this history."""
        for c in self.clients:
            c.on_disk = c.on_disk if keeps_disk else 0
            c.on_replica = c.on_disk

    def note_replica(self, c, n, on_disk=False):
        """The replica has n units, and has told so; unit n was sent in its present life."""
        unit = c.units[n]
        if unit is None or unit.life != (self.replica.lives, self.primary.lives) or c.states[n] == c.states[n - 1]:
            return
        self.synced = True
        c.on_replica = max(c.on_replica, n)
        if on_disk:
            c.on_disk = max(c.on_disk, n)

    def is_whole(self, server):
        """Whether its data are those of one moment of some primary."""
        with open(server.host.log_path, "rb") as log:
            log.seek(server.log_at)
            text = log.read()
        return text.rfind(b"Flushing old data") <= text.rfind(b"The synchronization with the primary is complete")

    def can_promote(self):
        return (self.replica.ready and self.synced and not self.promoting and not self.final and
                self.is_whole(self.replica))

    def promote(self):
        """The replica takes over; the primary is dead, or does not know yet."""
        if not self.can_promote():
            return
        old, new = self.primary, self.replica
        self.note("host %d takes over; it is to have %s" % (new.host.index, [c.on_replica for c in self.clients]))
        self.counts["promotions"] += 1
        self.promoting = new
        self.serving = new.disk_whole = False
        accepted = []
        if self.sync:  # its replies do not wait for a replica until clients come
            new.admin.send(("CONFIG", "SET", "min-replicas-sync", "0"), lambda reply: None)
        new.admin.send(("REPLICAOF", "NO", "ONE"), lambda reply: accepted.append(reply == b"OK"))

        def answered(info, replies):
            if accepted != [True] or not self.is_whole(new):
                self.give_up("the replica could not take over at that moment")
            elif info is None:
                self.after(1000, lambda: self.ask(new, answered))
            else:
                self.promoted(old, new, info, replies)

        self.ask(new, answered)

    def promoted(self, old, new, info, replies):
        """It has taken over. Replies of the old primary may still be on their way: what they say has to be here."""
        low = self.compare(replies, "the replica that took over", [c.on_replica for c in self.clients])
        for c, n in zip(self.clients, low):
            if c.connection:
                c.connection.limit, c.connection.lives = n, (new.lives, old.lives)
                self.lingering.append(c.connection)
                c.connection = None
            c.least = n
        self.primary, self.replica = new, old
        if old.up:
            self.after(self.rng.choice((0, 1000, SECOND, 8 * SECOND)), lambda: self.demote(old))
        if not new.aof:
            new.admin.send(("SAVE",), lambda reply: None)
        self.wait_for_disk(new, lambda: self.ask(new, lambda info, replies: self.take_clients(new, info, replies)))

    def take_clients(self, new, info, replies):
        if info is None:
            self.give_up("the new primary does not say what it has: %r" % (replies,))
            return
        if self.sync:
            new.admin.send(("CONFIG", "SET", "min-replicas-sync", "1"), lambda reply: None)
        self.promoting, new.disk_whole = None, True
        self.begin_serving(info, replies)

    def wait_for_disk(self, server, then):
        """Until its append-only file is that of its data, as it is not right after a synchronization."""
        def told(reply):
            fields = info_fields(reply)
            idle = fields[b"aof_rewrite_in_progress"] == fields[b"aof_rewrite_scheduled"] == b"0"
            if not server.aof or idle and fields[b"aof_enabled"] == b"1" and fields[b"aof_last_bgrewrite_status"] == b"ok":
                then()
            else:
                if idle and fields[b"aof_last_bgrewrite_status"] != b"ok":  # a fork has failed
                    server.admin.send(("BGREWRITEAOF",), lambda reply: None)
                self.after(SECOND // 10, lambda: self.wait_for_disk(server, then))
        if server.admin:
            server.admin.send(("INFO", "persistence"), told)

    def demote(self, server):
        """The old primary is told to follow."""
        if server is not self.replica or not server.up:
            return
        if not server.ready:
            self.after(SECOND, lambda: self.demote(server))
            return
        self.note("host %d is told to follow" % server.host.index)
        server.admin.send(("REPLICAOF", *self.address(self.primary)), lambda reply: None)

    # ---- Asking a server for everything ----

    def ask(self, server, then):
        """then(INFO's fields, replies to each client's questions) of one moment; (None, reply) if it cannot say."""
        words = [("INFO", "replication"), ("DEBUG", "DIGEST")]
        for c in self.clients:
            words.append(("SELECT", c.db))
            words += c.questions()
        words.append(("SELECT", 0))

        def answer(reply):
            if not isinstance(reply, list) or any(isinstance(x, ErrorReply) for x in reply):
                then(None, reply)
                return
            info = info_fields(reply[0])
            info["digest"] = reply[1]
            replies, at = [], 2
            for c in self.clients:
                n = len(c.questions())
                replies.append(reply[at + 1:at + 1 + n])
                at += 1 + n
            then(info, replies)

        server.admin.send(("MULTI",), lambda reply: None)
        for w in words:
            server.admin.send(w, lambda reply: None)
        server.admin.send(("EXEC",), answer)

    def compare(self, replies, who, least):
        """Returns the least number of units of each client after which its keys are like this."""
        low, high = [], []
        for c, answers, at_least in zip(self.clients, replies, least):
            state = c.found_state(answers)
            try:
                high.append(c.match(state, at_least))
            except Failure as failure:
                raise Failure("%s: %s" % (who, failure)) from None
            low.append(next(n for n in range(at_least, c.sent + 1) if c.states[n] == state))
        for c, n in zip(self.clients, low):
            for other, acked in zip(self.clients, c.units[n].acked if n else ()):
                if high[other.index] < acked:
                    raise Failure("%s: unit %d of client %d is there, and unit %d of client %d, which had been answered "
                                  "before, is not" % (who, n, c.index, acked, other.index))
        return low

    def check_replica(self):
        if not self.replica.ready or not self.primary.ready or self.promoting:
            return
        lives = (self.replica.lives, self.primary.lives, self.primary)
        asked_for = [c.on_replica for c in self.clients]

        def answered(info, replies):
            now = (self.replica.lives, self.primary.lives, self.primary)
            if info is None or now != lives or not self.serving or info.get(b"master_link_status") != b"up":
                return
            if info[b"master_replid"] not in self.ids:
                return
            self.counts["checks"] += 1
            low = self.compare(replies, "the replica", asked_for)
            for c, n in zip(self.clients, low):
                c.on_replica = max(c.on_replica, n)
            self.synced = True

        self.ask(self.replica, answered)

    def both_lives(self):
        return self.primary.host.index, self.primary.lives, self.replica.lives

    def begin_quiet(self):
        """Clients are quiet, so that both servers can have the same offset, and must have the same data then."""
        if self.quiet or not self.serving or self.promoting or self.final:
            return
        lives = self.quiet = self.both_lives()

        def end():
            if self.quiet == lives:
                self.quiet = None

        self.after(QUIET_S * SECOND, end)
        self.compare_quiet(lives, None)

    def compare_quiet(self, lives, unequal_since):
        if self.quiet != lives or self.both_lives() != lives or not (self.primary.ready and self.replica.ready):
            return
        facts = []

        def answered(info, replies):
            facts.append(info)
            if len(facts) < 2 or None in facts or self.both_lives() != lives:
                return
            since = None
            if facts[1].get(b"master_link_status") == b"up" and all(
                    facts[0][x] == facts[1][x] for x in (b"master_replid", b"master_repl_offset")):
                if facts[0]["digest"] == facts[1]["digest"]:
                    self.counts["digests"] += 1
                    self.quiet = None
                    return
                since = self.now if unequal_since is None else unequal_since
                if self.now - since > EXPIRE_S * SECOND:
                    raise Failure("at offset %s the primary has %s, the replica %s" %
                                  (facts[0][b"master_repl_offset"], facts[0]["digest"], facts[1]["digest"]))
            self.after(SECOND // 10, lambda: self.compare_quiet(lives, since))

        for server in (self.primary, self.replica):
            self.ask(server, answered)

    # ---- What clients do ----

    def act(self, c):
        c.due = self.later(self.pace_us)
        if self.quiet and not c.unsure:
            return
        if not c.connection or c.unsure:
            self.learn(c)
            return
        limit = 1 if self.burst == 1 else 3 * self.burst
        for _ in range(self.rng.randint(1, self.burst)):
            if c.sent - c.acked >= limit or not self.units_left:
                c.due = NEVER  # until there is an answer
                break
            self.units_left -= 1
            self.send_unit(c)

    def lost_connection(self, c):
        """What was not answered may have happened or not."""
        c.connection.sock.close()
        c.connection, c.unsure, c.due = None, True, self.later(self.pace_us)

    def learn(self, c):
        """Asks the primary what has become of a client's units."""
        if not self.serving or not self.primary.ready or self.promoting:
            return
        primary, lives = self.primary, self.primary.lives
        c.due = NEVER
        c.learning += 1
        learning = c.learning

        def answered(info, replies):
            if (self.primary, self.primary.lives) != (primary, lives) or self.promoting or c.learning != learning:
                return
            if info is None:
                c.due = self.later(self.pace_us)
                return
            state = c.found_state(replies[c.index])
            n = c.match(state, c.acked)
            n = next(i for i in range(c.acked, n + 1) if c.states[i] == state)
            c.forget_after(n)
            self.open_connection(c)

        def lost():
            if c.learning == learning and c.unsure:
                c.due = self.now

        self.ask(primary, answered)
        self.after(5 * SECOND, lost)

    def wait_unit(self, c):
        """WAIT or WAITAOF behind what the client has written."""
        n, timeout = c.sent + 1, self.rng.choice((10, 1000, 5000))
        unit = Unit([])
        unit.acked = [x.acked for x in self.clients]
        c.states.append(dict(c.states[-1]))
        c.units.append(unit)
        last = next((i for i in range(n - 1, 0, -1) if c.states[i] != c.states[i - 1]), 0)

        def waited(reply):
            if isinstance(reply, int) and reply >= 1:
                self.note_replica(c, last)

        def waited_disk(reply):
            if isinstance(reply, list) and reply[1] >= 1:
                self.note_replica(c, last, on_disk=True)

        if self.rng.random() < 0.5:
            unit.commands = [(("WAIT", 1, timeout), waited)]
        else:
            unit.commands = [(("WAITAOF", 0, 1, timeout), waited_disk)]
        return unit

    def send_unit(self, c):
        unit = self.wait_unit(c) if self.rng.random() < 0.1 else c.new_unit(self.rng, self.clients, self.observe)
        unit.life = (self.replica.lives, self.primary.lives)
        n, connection, refusals = c.sent, c.connection, []
        changes = c.states[n] != c.states[n - 1]
        self.counts["units"] += 1

        def check(reply, words, expected, last):
            error = isinstance(reply, ErrorReply) and reply.text
            if error and connection in self.lingering:
                refusals.append(error)  # it has learnt that it is a replica
                return
            if error and self.sync and error.startswith(b"NOTSYNCED"):
                return  # the connection ends
            if error and self.sync and (b"NOREPLICAS" in error or b"EXECABORT" in error):
                refusals.append(error)
            elif callable(expected):
                expected(reply)
            elif expected is not ... and not same_reply(reply, expected):
                raise Failure("client %d, unit %d, %.60r: %.200r was expected, the reply is %.200r" %
                              (c.index, n, words, expected, reply))
            if c.connection is not connection or not last:
                if last and not refusals and connection in self.lingering:
                    self.check_late(c, n, unit, connection, changes)
                return
            if refusals:
                c.forget_after(n - 1)
            else:
                self.note_acked(c, n)
            if c.due == NEVER and self.units_left:
                c.due = self.later(self.pace_us)

        for i, (words, expected) in enumerate(unit.commands):
            last = i == len(unit.commands) - 1
            c.connection.send(words, lambda r, w=words, e=expected, last=last: check(r, w, e, last))

    def check_late(self, c, n, unit, connection, changes):
        """The old primary has answered after the replica took over."""
        if self.sync and changes and unit.life == connection.lives and n > connection.limit:
            raise Failure("client %d: unit %d was answered by the old primary, and the replica took over with %d" %
                          (c.index, n, connection.limit))

    def note_told(self, c, n):
        c.told = max(c.told, n)
        if self.sync and n < len(c.units):
            self.note_replica(c, n, self.on_disk)

    def note_acked(self, c, n):
        c.acked = n
        self.note_told(c, n)

    def observe(self, c, reply):
        if isinstance(reply, ErrorReply):
            raise Failure("a read failed: %r" % (reply,))
        if reply is not None:
            if not 0 < int(reply) <= c.sent:
                raise Failure("client %d: unit %r has been read, %d were sent" % (c.index, reply, c.sent))
            self.note_told(c, int(reply))

    # ---- What administrators do ----

    def administrate(self):
        self.admin_due = self.later(max(5 * self.pace_us, SECOND // 20))
        server = self.rng.choice(self.servers)
        what = self.rng.choice(("BGREWRITEAOF", "BGSAVE", "SAVE", "check", "check", "check", "quiet", *["noise"] * (5 if self.noise else 0)))
        if self.quiet:
            return
        if what == "quiet" and self.units_left:
            self.begin_quiet()
        elif what == "check":
            if self.primary.ready:
                self.primary.admin.send(("INFO", "replication"), self.note_id)
            self.check_replica()
        elif what == "noise":
            if self.primary.ready and self.units_left:
                self.make_noise(self.primary.admin)
        elif server.ready and self.units_left:
            server.admin.send((what,), lambda reply: None)

    def note_id(self, reply):
        if isinstance(reply, bytes) and b"role:master" in reply:
            self.ids.add(reply.split(b"master_replid:")[1][:40])

    def make_noise(self, admin):
        """Keys in databases of their own, of which nothing is known: they must be the same on both in the end."""
        rng = self.rng
        key = "v%d" % rng.randrange(12)
        ignore = lambda reply: None
        for words in [("SELECT", rng.choice((5, 6)))] + [rng.choice((
                ("SET", key, rng.randrange(1000), "PX", rng.choice((1, 50, 3000))), ("APPEND", key, "x" * rng.randrange(100)),
                ("PEXPIRE", key, rng.choice((1, 50, 3000))), ("PERSIST", key), ("INCR", "n" + key), ("GETEX", key, "PX", 20),
                ("HSET", "h" + key, "f%d" % rng.randrange(5), "v"), ("HPEXPIRE", "h" + key, 40, "FIELDS", 1, "f1"),
                ("SADD", "s" + key, *range(rng.randrange(1, 20))), ("SPOP", "s" + key, rng.randrange(1, 4)),
                ("EXPIRE", "s" + key, 1), ("COPY", key, "n" + key, "REPLACE"), ("DEL", key), ("FLUSHDB",), ("SWAPDB", 5, 6),
                ("XADD", "x" + key, "*", "f", "v"), ("BLPOP", "l" + key, "0.001"), ("LPUSH", "l" + key, "a"),
                ("EVAL", "redis.call('SET',KEYS[1],redis.call('TIME')[2],'PX',30) return redis.call('INCR',KEYS[2])", 2, key,
                 "n2" + key))) for _ in range(rng.randrange(1, 6))] + [("SELECT", 0)]:
            admin.send(words, ignore)

    # ---- Disturbances ----

    def disturb(self):
        rng = self.rng
        if self.disturbances <= 0 or not self.units_left:
            self.memory.kill_at = 1 << 62
            return
        self.plan_disturbance(3.6)
        if self.promoting:
            return
        self.disturbances -= 1
        what = rng.choice(("primary", "primary", "replica", "both", "hang", "cut", "cut", "alone", "reset", "promote"))
        if what == "promote":
            self.promote()
        elif what == "reset":
            self.note("connections are reset")
            self.network.reset()
        elif what == "alone":  # the primary comes back from its disk, and goes on without its replica
            pairs = {(0, 1), (1, 0)}
            self.cut(pairs, rng.randrange(10 * SECOND))
            if self.primary.up:
                self.stop(self.primary, rng.random() < 0.5)
            primary = self.primary
            self.after(1000, lambda: self.restart(primary))
        elif what == "cut":
            one, two = (self.servers if rng.random() < 0.5 else self.servers[::-1])
            pairs = {(one.host.index, two.host.index)}
            if rng.random() < 0.5:
                pairs.add((two.host.index, one.host.index))
            self.cut(pairs, rng.randrange(3 * self.timeout_s * SECOND))
            if rng.random() < 0.5:
                self.after(rng.randrange(2 * SECOND), self.promote)
        elif what == "hang":
            server = rng.choice(self.servers)
            if server.up:
                self.freeze(server, rng.randrange(2 * self.timeout_s * SECOND))
        else:
            for server in [self.primary, self.replica]:
                if server.up and what in ("both", "primary" if server is self.primary else "replica"):
                    self.stop(server, rng.random() < 0.5)
                    self.after(rng.choice((1000, SECOND, 30 * SECOND)) + self.rng.randrange(SECOND), lambda s=server: self.restart(s))

    def restart(self, server):
        if not server.up:
            if server is self.primary and self.promoting:
                self.after(SECOND, lambda: self.restart(server))
            else:
                self.start(server)

    # ---- The end ----

    def check_final(self):
        if self.units_left or self.timers and not self.final or not self.serving:
            return
        if any(c.acked < c.sent or c.unsure for c in self.clients) or not self.replica.ready:
            if self.final_since is None:
                self.final_since = self.now
            self.check_patience()
            return
        if not self.final:
            self.final, self.final_since = True, self.now
            self.note("nothing is disturbed any more")
        self.check_patience()
        if not self.final_asked:
            self.final_asked = True
            self.ask_final()

    def check_patience(self):
        if self.now - self.final_since > FINAL_S * SECOND:
            raise Failure("after %d s the two do not agree: %s\n    %s" %
                          (FINAL_S, self.state(), getattr(self, "differ", "")))

    def ask_final(self):
        facts = [None, None]

        def noted(i, fact):
            facts[i] = fact
            if all(facts):
                self.compare_final(facts)

        for i, server in enumerate((self.primary, self.replica)):
            self.ask(server, lambda info, replies, i=i: noted(i, (info, replies)))

    def compare_final(self, facts):
        (info, replies), (info2, replies2) = facts
        same = info and info2 and info2.get(b"master_link_status") == b"up" and all(
            info[x] == info2[x] for x in (b"master_replid", b"master_repl_offset"))
        if not same or info["digest"] != info2["digest"]:
            pick = lambda i: i and {k: i.get(k) for k in (b"role", b"master_replid", b"master_repl_offset", b"master_link_status", "digest")}
            self.differ = "%s; %s" % (pick(info), pick(info2))

            def again():
                self.final_asked = False
            self.after(SECOND, again)
            return
        for who, each in (("the primary", replies), ("the replica", replies2)):
            for c, answers in zip(self.clients, each):
                try:
                    c.match(c.found_state(answers), c.sent)
                except Failure as failure:
                    raise Failure("in the end, %s: %s" % (who, failure)) from None
        self.done = True
