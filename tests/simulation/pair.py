"""A primary and a replica, each in a simulated machine with its own disk, and a simulated network between them.

Clients send to the primary; what they send and must find is the model of clients.py. Meanwhile either host is killed,
loses its power or stands still, and the network is slow, cut in one or both directions, or resets connections. After the
primary's death it starts again from its disk, or the replica takes its place and the old primary follows it.

What is checked:
  - the replica's keys, whenever its link is up: for each client what they hold after some unit, never fewer units than it
    had before, none without those that were answered before it was sent
  - WAIT and WAITAOF: the replica (its disk) has what they said
  - with min-replicas-sync 1: a replica that takes over has all that clients were told
  - in the end, when nothing is disturbed any more: both have the same offset, ID and DEBUG DIGEST, and what the model has

A promise holds as long as the replica that gave it lives: what it held in memory only, it may lose.
"""
import os
import random
import shutil
import socket

from clients import Client, Connection, ErrorReply, Failure, Unit
from simulated import EXIT, KILL, NEVER, STUCK, Host, World

SECOND = 1000000
PORT = 7000
MOST_STEPS = 100000       # of the driver, in a schedule
FINAL_S = 300             # within which both must agree in the end
QUEUE_BYTES = 1 << 18     # of a direction; more stays in the sender's socket
RECEIVED = 1 << 16


class Link:
    """A connection from one host to another. Way 0 is from the one that connected."""

    def __init__(self, source, target, sock, rng, slow_us):
        self.hosts, self.socks = (source, target), [sock, None]
        self.queues, self.bytes, self.last = ([], []), [0, 0], [0, 0]
        self.open = [True, True]  # nothing more comes on this way: False
        self.latency = rng.randint(20, slow_us)
        self.dead = False


class Network:
    def __init__(self, hosts, rng):
        self.hosts, self.rng = hosts, rng
        self.links, self.listeners = [], []
        self.cut = set()  # (from, to): what is sent stays where it is
        self.slow_us = rng.choice((100, 3000, 200000))
        for host in hosts:
            for other in hosts:
                if other is not host:
                    listener = socket.socket(socket.AF_UNIX)
                    listener.setblocking(False)
                    listener.bind(os.path.join(host.folder, "net-%d-%d" % (host.index, PORT + other.index)))
                    listener.listen(64)
                    self.listeners.append((host, other, listener))

    def close(self):
        for _, _, listener in self.listeners:
            listener.close()
        for link in self.links:
            self.drop(link)

    def drop(self, link):
        link.dead = True
        for sock in link.socks:
            if sock:
                sock.close()

    def enqueue(self, link, way, what, now):
        due = max(link.last[way], now + link.latency + self.rng.randrange(1 + link.latency // 2))
        link.last[way] = due
        link.queues[way].append((due, what))
        link.bytes[way] += len(what or b"")

    def step(self, now):
        """Takes and delivers what is due. Returns whether anything was delivered, and when something is due next."""
        for source, target, listener in self.listeners:
            while True:
                try:
                    sock, _ = listener.accept()
                except BlockingIOError:
                    break
                sock.setblocking(False)
                self.links.append(Link(source, target, sock, self.rng, self.slow_us))
        sent, due = False, NEVER
        for link in self.links:
            for way in (0, 1):
                self.take(link, way, now)
            for way in (0, 1):
                if not link.dead:
                    sent |= self.deliver(link, way, now)
            for way in (0, 1):
                blocked = (link.hosts[way].index, link.hosts[1 - way].index) in self.cut
                if link.queues[way] and not link.dead and not blocked:
                    due = min(due, max(link.queues[way][0][0], now + 1000))
        self.links = [link for link in self.links if not link.dead]
        return sent, due

    def take(self, link, way, now):
        sock = link.socks[way]
        while not link.dead and sock and link.open[way] and link.bytes[way] < QUEUE_BYTES:
            try:
                data = sock.recv(RECEIVED)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                link.open[way] = False
            while len(data) > 1 and self.rng.random() < 0.3:  # it comes in pieces, of which the last may never come
                n = self.rng.randrange(1, len(data))
                self.enqueue(link, way, data[:n], now)
                data = data[n:]
            self.enqueue(link, way, data or None, now)

    def deliver(self, link, way, now):
        """An empty item (None) is the end of the connection."""
        queue, sent = link.queues[way], False
        if (link.hosts[way].index, link.hosts[1 - way].index) in self.cut:
            return False
        while queue and queue[0][0] <= now:
            _, data = queue[0]
            if data is None or (not link.socks[1] and not self.connect(link)):
                self.drop(link)
                return True
            try:
                n = link.socks[1 - way].send(data)
            except BlockingIOError:
                break
            except OSError:
                self.drop(link)
                return True
            sent = True
            link.bytes[way] -= n
            queue[0] = (now, data[n:])
            if n < len(data):
                break
            queue.pop(0)
        return sent

    @staticmethod
    def connect(link):
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        try:
            sock.connect(link.hosts[1].socket_path)
        except OSError:
            sock.close()
            return False
        link.socks[1] = sock
        return True

    def reset(self):
        for link in self.links:
            self.drop(link)

    def lose_power(self, host, now):
        """The other end learns of it late, or never."""
        for link in self.links:
            if host in link.hosts and not link.dead:
                mine = link.hosts.index(host)
                self.take(link, mine, now)
                if self.rng.random() < 0.5:  # what was on its way is lost
                    link.queues[mine].clear()
                link.open[mine] = False
                if self.rng.random() < 0.5:
                    link.last[mine] = max(link.last[mine], now + self.rng.randrange(20 * SECOND))
                    self.enqueue(link, mine, None, now)

    def back(self, host):
        """A host that has started again resets the connections that it does not know."""
        for link in self.links:
            if host in link.hosts and not link.open[link.hosts.index(host)]:
                self.drop(link)


class Server:
    """A server of the pair, over its lives."""

    def __init__(self, host):
        self.host = host
        self.up = self.ready = self.asking = False
        self.admin, self.lives, self.log_at, self.aof = None, 0, 0, False
        self.disk_whole = True  # of a primary: what is on its disk is its own

    @property
    def address(self):
        return ("127.0.0.1", str(PORT + self.host.index))


class PairSchedule:
    def __init__(self, seed, options, memory, library):
        self.seed, self.options, self.memory, self.library = seed, options, memory, library
        self.rng = random.Random("pair %d" % seed)
        self.folder = os.path.join(options.work, "p%d" % seed)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.servers = [Server(Host(i, os.path.join(self.folder, "host%d" % i))) for i in (0, 1)]
        self.log_path = self.servers[0].host.log_path
        self.counts = {"units": 0, "kills": 0, "power": 0, "hangs": 0, "cuts": 0, "promotions": 0, "checks": 0, "unknown": 0}
        self.history = []  # what was done to them, for the report
        memory.clear()
        self.draw()

    def draw(self):
        rng, memory = self.rng, self.memory
        memory.random = rng.getrandbits(64)
        memory.first_pid = 1000
        memory.yield_permille = rng.choice((10, 50, 200))  # with 0, a thread that others keep awake would never wait
        memory.sync_least_us = rng.choice((20, 200, 5000))
        memory.sync_most_us = memory.sync_least_us * rng.choice((2, 20))
        memory.slow_sync_permille = rng.choice((0, 0, 50))
        memory.slow_sync_us = 3 * SECOND
        memory.fork_faults = rng.choice((0, 0, 0, 2000))
        memory.hash = 0xcbf29ce484222325
        memory.kill_at = 1 << 62
        self.sync = rng.random() < 0.5
        self.on_disk = self.sync and rng.random() < 0.3
        self.policy = rng.choice(("always", "everysec") if self.on_disk else ("always", "everysec", "no"))
        self.pace_us = rng.choice((2000, 20000, 100000))
        self.burst = 1 if self.sync else rng.choice((1, 4, 12))
        self.timeout_s = rng.choice((3, 6, 20))
        self.arguments = [
            "--save", "", "--jemalloc-bg-thread", "no", "--enable-debug-command", "yes", "--stop-writes-on-bgsave-error", "no",
            "--appendfsync", self.policy, "--auto-aof-rewrite-min-size", rng.choice(("4kb", "64mb")),
            "--auto-aof-rewrite-percentage", "50",
            "--aof-use-rdb-preamble", rng.choice(("yes", "yes", "no")),
            "--bgsave-default-method", rng.choice(("fork", "forkless")),
            "--repl-diskless-sync", rng.choice(("yes", "no")), "--repl-diskless-sync-delay", rng.choice(("0", "0", "1")),
            "--repl-diskless-load", rng.choice(("disabled", "swapdb", "on-empty-db", "flush-before-load")),
            "--dual-channel-replication-enabled", rng.choice(("yes", "no", "no")),
            "--repl-backlog-size", rng.choice(("16kb", "64kb", "1mb")), "--repl-timeout", str(self.timeout_s),
            "--repl-ping-replica-period", "1", "--repl-backlog-ttl", rng.choice(("3600", "2")),
            "--repl-compression", rng.choice(("no", "no", "lz4"))]
        if self.sync:
            self.arguments += ["--min-replicas-sync", "1", "--min-replicas-sync-timeout", rng.choice(("2000", "5000", "60000")),
                               "--min-replicas-sync-mode", "disk" if self.on_disk else "memory"]
        for server in self.servers:
            server.aof = self.on_disk or rng.random() < 0.5
            server.log_at = 0
        count = rng.randint(2, 4)
        self.clients = [Client(i, count) for i in range(count)]
        for c in self.clients:
            c.least = c.told = c.on_replica = c.on_disk = 0
            c.unsure, c.learning = False, 0
        self.units_left = rng.choice((60, 150, 400))
        self.disturbances = rng.randint(0, 8)
        self.noise = rng.random() < 0.6
        self.primary, self.replica = self.servers
        self.now = 0
        self.timers = []      # (when, function), not sorted
        self.serving = self.final = False
        self.promoting = None
        self.ids = set()      # replication IDs of the primary in this life
        self.synced = False   # the replica has been seen with data of this life of the primary
        self.admin_due = 0
        self.final_asked = self.done = False
        self.final_since = None
        self.lingering = []   # (connection, its client's units when the replica took over, lives then)

    # ---- The schedule ----

    def run(self):
        self.world = World(self.memory, self.library, self.options, 2)
        self.network = Network([server.host for server in self.servers], self.rng)
        try:
            self.start(self.primary)
            self.start(self.replica)
            self.plan_disturbance()
            steps = 0
            while not self.done:
                steps += 1
                if steps > MOST_STEPS:
                    raise Failure("there is no end: %d s, %s" % (self.now // SECOND, self.state()))
                self.turn(*self.world.next())
        except Failure as failure:
            raise Failure("%s\n    %s" % (failure, "\n    ".join(self.history[-14:]))) from None
        finally:
            self.world.close()
            self.network.close()
            for connection in self.connections():
                connection.sock.close()

    def state(self):
        return "units answered and sent: %s; %s" % (
            ", ".join("%d of %d" % (c.acked, c.sent) for c in self.clients),
            ", ".join("host %d %s" % (s.host.index, "is there" if s.ready else "runs" if s.up else "is down") for s in self.servers))

    def note(self, text):
        self.history.append("%.6f s: %s" % (self.memory.now_us / SECOND, text))

    def turn(self, reason, host):
        self.now = self.memory.now_us
        if reason == EXIT:
            raise Failure("host %d: the server exited with %s" % (host.index, host.process.wait()))
        if reason == STUCK:
            raise Failure("nothing can happen any more: a deadlock")
        if self.memory.journal_used > self.memory.journal_size // 2:
            self.world.read_journal({s.host.index: s.host for s in self.servers})
        self.receive_all()
        if reason == KILL:
            self.disturb()
        self.step()

    def step(self):
        for server in self.servers:
            if server.up and not server.ready:
                self.connect(server)
        for timer in [t for t in self.timers if t[0] <= self.now]:
            self.timers.remove(timer)
            timer[1]()
        if self.serving:
            for c in self.clients:
                if c.due <= self.now:
                    self.act(c)
            if self.admin_due <= self.now:
                self.administrate()
        self.check_final()
        sent, due = self.network.step(self.now)
        for connection in self.connections():
            sent |= connection.flush()
        self.memory.driver_sent = int(sent)
        dues = [due] + [when for when, _ in self.timers]
        if self.serving:
            dues += [c.due for c in self.clients] + [self.admin_due]
        if any(s.up and not s.ready for s in self.servers):
            dues.append(self.now + 5000)
        self.memory.driver_due = max(self.now + 1, min(dues))

    def after(self, us, then):
        self.timers.append((self.now + 1 + int(us), then))

    def later(self, average_us):
        return self.now + 1 + int(self.rng.expovariate(1 / average_us))

    def connections(self):
        return [x for x in [c.connection for c in self.clients] + [s.admin for s in self.servers] + self.lingering if x]

    def receive_all(self):
        for connection in self.connections():
            connection.receive()
        for c in self.clients:
            if c.connection and c.connection.closed:
                self.lost_connection(c)
        for connection in [x for x in self.lingering if x.closed]:
            connection.sock.close()
            self.lingering.remove(connection)
        for server in self.servers:
            if server.admin and server.admin.closed:
                server.admin.sock.close()
                server.admin, server.ready, server.asking = None, False, False

    # ---- Starting and ending servers ----

    def start(self, server):
        server.up, server.lives = True, server.lives + 1
        host = server.host
        server.log_at = os.path.getsize(host.log_path) if os.path.exists(host.log_path) else 0
        arguments = [*self.arguments, "--appendonly", "yes" if server.aof else "no", "--replica-announce-ip", "127.0.0.1",
                     "--replica-announce-port", server.address[1]]
        other = self.servers[1 - host.index]
        if server is self.replica:
            arguments += ["--replicaof", "%s %s" % other.address]
        self.network.back(host)
        self.note("host %d starts as %s" % (host.index, "replica" if server is self.replica else "primary"))
        self.world.start(host, 10 + 2 * (server.lives % 20) + host.index, arguments)

    def stop(self, server, power):
        """Kills it. What clients were told before has been received."""
        self.note("host %d (%s) %s" % (server.host.index, "primary" if server is self.primary else "replica",
                                       "loses power" if power else "is killed"))
        self.counts["power" if power else "kills"] += 1
        self.memory.frozen = self.memory.frozen & ~(1 << server.host.index)
        if power:
            self.network.lose_power(server.host, self.now)
        self.world.end(server.host)
        server.lives += 1  # what it had told is on its way still, and no longer true
        server.up = server.ready = server.asking = False
        if server.admin:
            server.admin.sock.close()
            server.admin = None
        if power:
            server.host.lose_power(self.rng)
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

    def connect(self, server):
        """Makes the administrator's connection. A primary is asked for its data before clients come."""
        if not server.admin:
            try:
                server.admin = Connection(server.host.socket_path)
            except OSError:
                return
        if server.asking:
            return
        if server is self.primary and (self.serving or self.promoting):
            server.ready = True
            return
        server.asking = True
        if server is self.primary:
            self.ask(server, lambda info, replies: self.primary_answered(server, info, replies))
        else:
            server.admin.send(("PING",), lambda reply: self.replica_answered(server, reply))

    def replica_answered(self, server, reply):
        server.asking = False
        server.ready = not (isinstance(reply, ErrorReply) and b"LOADING" in reply.text)

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
        self.plan_disturbance()

    def open_connection(self, c):
        c.connection, c.due, c.unsure = None, self.later(self.pace_us), False
        c.learning += 1
        try:
            c.connection = Connection(self.primary.host.socket_path)
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
            fields = dict(line.split(b":", 1) for line in reply.split(b"\r\n") if b":" in line)
            idle = fields[b"aof_rewrite_in_progress"] == fields[b"aof_rewrite_scheduled"] == b"0"
            if not server.aof or idle and fields[b"aof_enabled"] == b"1" and fields[b"aof_last_bgrewrite_status"] == b"ok":
                then()
            else:
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
        server.admin.send(("REPLICAOF", *self.servers[1 - server.host.index].address), lambda reply: None)

    # ---- Asking a server for everything ----

    def ask(self, server, then):
        """then(INFO's fields, replies to each client's questions) of one moment; (None, reply) if it cannot say."""
        words = [("INFO", "replication")]
        for c in self.clients:
            words.append(("SELECT", c.db))
            words += c.questions()
        words.append(("SELECT", 0))

        def answer(reply):
            if not isinstance(reply, list) or any(isinstance(x, ErrorReply) for x in reply):
                then(None, reply)
                return
            info = dict(line.split(b":", 1) for line in reply[0].split(b"\r\n") if b":" in line)
            replies, at = [], 1
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

    # ---- What clients do ----

    def act(self, c):
        c.due = self.later(self.pace_us)
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
            elif expected is not ... and not self.same(reply, expected):
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

    @staticmethod
    def same(reply, expected):
        if not isinstance(expected, list):
            return reply == expected
        return isinstance(reply, list) and len(reply) == len(expected) and all(
            e is ... or r == e for r, e in zip(reply, expected))

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
        what = self.rng.choice(("BGREWRITEAOF", "BGSAVE", "SAVE", "check", "check", "check", *["noise"] * (5 if self.noise else 0)))
        if what == "check":
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

    def plan_disturbance(self):
        self.memory.kill_at = self.memory.calls + 50 + int(10 ** self.rng.uniform(1.5, 3.6))

    def disturb(self):
        rng = self.rng
        if self.disturbances <= 0 or not self.units_left:
            self.memory.kill_at = 1 << 62
            return
        self.plan_disturbance()
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
            self.network.cut |= pairs
            self.counts["cuts"] += 1
            self.after(rng.randrange(10 * SECOND), lambda: self.heal(pairs))
            if self.primary.up:
                self.stop(self.primary, rng.random() < 0.5)
            primary = self.primary
            self.after(1000, lambda: self.restart(primary))
        elif what == "cut":
            one, two = (self.servers if rng.random() < 0.5 else self.servers[::-1])
            pairs = {(one.host.index, two.host.index)}
            if rng.random() < 0.5:
                pairs.add((two.host.index, one.host.index))
            self.note("the network is cut: %s" % sorted(pairs))
            self.counts["cuts"] += 1
            self.network.cut |= pairs
            self.after(rng.randrange(3 * self.timeout_s * SECOND), lambda: self.heal(pairs))
            if rng.random() < 0.5:
                self.after(rng.randrange(2 * SECOND), self.promote)
        elif what == "hang":
            server = rng.choice(self.servers)
            if server.up:
                self.note("host %d stands still" % server.host.index)
                self.counts["hangs"] += 1
                self.memory.frozen |= 1 << server.host.index
                lives = server.lives
                self.after(rng.randrange(2 * self.timeout_s * SECOND), lambda: self.thaw(server, lives))
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

    def heal(self, pairs):
        self.note("the network is whole again: %s" % sorted(pairs))
        self.network.cut -= pairs

    def thaw(self, server, lives):
        if server.lives == lives:
            self.note("host %d goes on" % server.host.index)
            self.memory.frozen &= ~(1 << server.host.index)

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
            server.admin.send(("DEBUG", "DIGEST"), lambda reply, i=i: digests.__setitem__(i, reply))
            self.ask(server, lambda info, replies, i=i: noted(i, (info, replies)))
        digests = [None, None]
        self.final_digests = digests

    def compare_final(self, facts):
        (info, replies), (info2, replies2) = facts
        digests = self.final_digests
        same = info and info2 and info2.get(b"master_link_status") == b"up" and all(
            info[x] == info2[x] for x in (b"master_replid", b"master_repl_offset"))
        if not same or digests[0] != digests[1]:
            pick = lambda i: i and {k: i.get(k) for k in (b"role", b"master_replid", b"master_repl_offset", b"master_link_status")}
            self.differ = "%s %s; %s %s" % (pick(info), digests[0], pick(info2), digests[1])

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
