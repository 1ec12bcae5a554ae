"""Several servers, each in a simulated machine with its own disk, and a simulated network between them: what a pair
(pair.py) and a cluster (cluster.py) have in common."""
import os
import random
import select
import shutil

from clients import Connection, ErrorReply, Failure
from network import SECOND, Network
from simulated import EXIT, KILL, NEVER, STUCK, Host, World

MOST_HISTORY = 20  # what was done to them last, for the report


class Server:
    """A server of the group, over its lives."""

    def __init__(self, host):
        self.host = host
        self.up = self.ready = self.asking = False
        self.admin, self.lives, self.log_at, self.aof = None, 0, 0, False


class Group:
    """A schedule of several servers. A subclass has a `name`, and says what clients, administrators and the disturber
    do: begin, connected, play, dues, disturb, connections."""

    def __init__(self, seed, options, memory, library, count):
        self.seed, self.options, self.memory, self.library = seed, options, memory, library
        self.rng = random.Random("%s %d" % (self.name, seed))
        self.folder = os.path.join(options.work, "%s%d" % (self.name, seed))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.servers = [Server(Host(i, os.path.join(self.folder, "host%d" % i))) for i in range(count)]
        self.counts = {"units": 0, "kills": 0, "power": 0, "hangs": 0, "cuts": 0, "promotions": 0, "checks": 0}
        self.history = []
        self.timers = []  # (when, function), not sorted
        self.now, self.done = 0, False
        self.poller = select.epoll()  # of the connections of clients
        memory.clear()
        self.draw_machine()

    def draw_machine(self):
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

    def draw_arguments(self, policy, timeout_s, backlogs):
        """Settings of persistence and replication."""
        rng = self.rng
        return [
            "--save", "", "--jemalloc-bg-thread", "no", "--enable-debug-command", "yes", "--stop-writes-on-bgsave-error", "no",
            "--appendfsync", policy, "--auto-aof-rewrite-min-size", rng.choice(("4kb", "64mb")),
            "--auto-aof-rewrite-percentage", "50",
            "--aof-use-rdb-preamble", rng.choice(("yes", "yes", "no")),
            "--bgsave-default-method", rng.choice(("fork", "forkless")),
            "--repl-diskless-sync", rng.choice(("yes", "no")), "--repl-diskless-sync-delay", rng.choice(("0", "0", "1")),
            "--repl-diskless-load", rng.choice(("disabled", "swapdb", "on-empty-db", "flush-before-load")),
            "--dual-channel-replication-enabled", rng.choice(("yes", "no", "no")),
            "--repl-backlog-size", rng.choice(backlogs), "--repl-timeout", str(timeout_s),
            "--repl-ping-replica-period", "1", "--repl-backlog-ttl", rng.choice(("3600", "2")),
            "--repl-compression", rng.choice(("no", "no", "lz4"))]

    # ---- The schedule ----

    def run(self):
        self.world = World(self.memory, self.library, self.options, len(self.servers))
        self.network = Network([server.host for server in self.servers], self.rng)
        steps = 0
        try:
            self.begin()
            while not self.done:
                steps += 1
                if steps > self.most_steps:
                    raise Failure("there is no end: %d s, %s" % (self.now // SECOND, self.state()))
                self.turn(*self.world.next())
        except Failure as failure:
            raise Failure("%s\n    %s" % (failure, "\n    ".join(self.history[-MOST_HISTORY:]))) from None
        finally:
            self.world.close()
            self.network.close()
            for connection in self.connections():
                connection.sock.close()
            self.poller.close()

    def note(self, text):
        self.history.append("%.6f s: %s" % (self.memory.now_us / SECOND, text))

    def turn(self, reason, host):
        self.now = self.memory.now_us
        if reason == EXIT:
            self.exited(self.servers[host.index], host.process.wait())
        if reason == STUCK:
            raise Failure("nothing can happen any more: a deadlock")
        if self.memory.journal_used > self.memory.journal_size // 2:
            self.world.read_journal({s.host.index: s.host for s in self.servers})
        self.receive_all()
        if reason == KILL:
            self.disturb()
        self.step()

    def exited(self, server, code):
        raise Failure("host %d: the server exited with %s" % (server.host.index, code))

    def step(self):
        for server in self.servers:
            if server.up and not server.ready:
                self.connect(server)
        for timer in [t for t in self.timers if t[0] <= self.now]:
            self.timers.remove(timer)
            timer[1]()
        self.play()
        sent, due = self.network.step(self.now)
        for connection in self.connections():
            sent |= connection.flush()
        self.memory.driver_sent = int(sent)
        dues = [due] + [when for when, _ in self.timers] + self.dues()
        if any(s.up and not s.ready for s in self.servers):
            dues.append(self.now + 5000)
        self.memory.driver_due = max(self.now + 1, min(dues))

    def after(self, us, then):
        self.timers.append((self.now + 1 + int(us), then))

    def later(self, average_us):
        return self.now + 1 + int(self.rng.expovariate(1 / average_us))

    def receive_all(self):
        readable = {fd for fd, _ in self.poller.poll(0)}
        for connection in self.connections() if readable else ():
            if connection.sock.fileno() in readable:
                connection.receive()
        for server in self.servers:
            if server.admin and server.admin.closed:
                server.admin.sock.close()
                server.admin, server.ready, server.asking = None, False, False

    # ---- Starting and ending servers ----

    def launch(self, server, what, arguments):
        server.up, server.lives = True, server.lives + 1
        host = server.host
        server.log_at = os.path.getsize(host.log_path) if os.path.exists(host.log_path) else 0
        self.network.back(host)
        self.note("host %d starts%s" % (host.index, what))
        count = len(self.servers)
        self.world.start(host, 10 + count * (server.lives % 20) + host.index,
                         [*arguments, "--appendonly", "yes" if server.aof else "no"])

    def end(self, server, what, power):
        """Kills it. What clients were told before has been received."""
        self.note("host %d (%s) %s" % (server.host.index, what, "loses power" if power else "is killed"))
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

    def connection_to(self, server):
        return Connection(server.host.socket_path, self.poller)

    def connect(self, server):
        """Makes the administrator's connection."""
        if not server.admin:
            try:
                server.admin = self.connection_to(server)
            except OSError:
                return
        if not server.asking:
            self.connected(server)

    def ping(self, server):
        """Asks whether it has loaded its data."""
        def answered(reply):
            server.asking = False
            server.ready = not (isinstance(reply, ErrorReply) and b"LOADING" in reply.text)

        server.asking = True
        server.admin.send(("PING",), answered)

    # ---- Disturbances ----

    def plan_disturbance(self, most):
        self.memory.kill_at = self.memory.calls + 50 + int(10 ** self.rng.uniform(1.5, most))

    def cut(self, pairs, us):
        self.note("the network is cut: %s" % sorted(pairs))
        self.counts["cuts"] += 1
        self.network.cut |= pairs
        self.after(us, lambda: self.heal(pairs))

    def heal(self, pairs):
        self.note("the network is whole again: %s" % sorted(pairs))
        self.network.heal(pairs, self.now)

    def slow(self, pairs, delay_us, us):
        self.note("the network is slow, %d us: %s" % (delay_us, sorted(pairs)))
        self.network.delays.update(dict.fromkeys(pairs, delay_us))
        self.after(us, lambda: self.heal_slow(pairs))

    def heal_slow(self, pairs):
        self.note("the network is fast again: %s" % sorted(pairs))
        for pair in pairs:
            self.network.delays.pop(pair, None)

    def freeze(self, server, us):
        self.note("host %d stands still" % server.host.index)
        self.counts["hangs"] += 1
        self.memory.frozen |= 1 << server.host.index
        lives = server.lives
        self.after(us, lambda: self.thaw(server, lives))

    def thaw(self, server, lives):
        if server.lives == lives:
            self.note("host %d goes on" % server.host.index)
            self.memory.frozen &= ~(1 << server.host.index)


def info_fields(reply):
    return dict(line.split(b":", 1) for line in reply.split(b"\r\n") if b":" in line)


def same_reply(reply, expected):
    """expected: with ... for what may be anything."""
    if not isinstance(expected, list):
        return reply == expected
    return isinstance(reply, list) and len(reply) == len(expected) and all(
        e is ... or r == e for r, e in zip(reply, expected))
