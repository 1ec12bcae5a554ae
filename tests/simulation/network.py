"""The network between simulated hosts: connections that are slow, cut in one or both directions, or reset."""
import heapq
import os
import select
import socket

SECOND = 1000000
NEVER = (1 << 64) - 1
QUEUE_BYTES = 1 << 18     # of a direction; more stays in the sender's socket
RECEIVED = 1 << 16


class Link:
    """A connection from one host to another. Way 0 is from the one that connected."""

    def __init__(self, number, source, target, path, sock, rng, slow_us):
        self.ways = (source.index, target.index), (target.index, source.index)
        self.number, self.hosts, self.path, self.socks = number, (source, target), path, [sock, None]
        self.queues, self.bytes, self.last = ([], []), [0, 0], [0, 0]
        self.open = [True, True]  # nothing more comes on this way: False
        self.latency = rng.randint(20, slow_us)
        self.dead = False
        self.planned = [False, False]  # something will look at the queue of this way


class Network:
    """Each host has `services`: ports and the paths of the sockets on which its server accepts what comes for them."""

    def __init__(self, hosts, rng):
        self.rng, self.links, self.listeners, self.count = rng, {}, [], 0
        self.poller, self.waiting = select.epoll(), {}  # by descriptor: (link, way)
        self.plans, self.held = [], []  # when to look at which queue, sorted; queues that are cut
        self.sent = False  # something was delivered or closed, or there is room again
        self.cut = set()  # (from, to): what is sent stays where it is
        self.delays = {}  # (from, to): us by which what is sent comes later
        self.slow_us = rng.choice((100, 3000, 200000))
        for host in hosts:
            for other in hosts:
                for port, path in other.services.items() if other is not host else ():
                    listener = socket.socket(socket.AF_UNIX)
                    listener.setblocking(False)
                    listener.bind(os.path.join(host.folder, "net-%d-%d" % (host.index, port)))
                    listener.listen(64)
                    self.poller.register(listener, select.EPOLLIN)
                    self.listeners.append((host, other, path, listener))

    def close(self):
        for *_, listener in self.listeners:
            listener.close()
        for link in list(self.links.values()):
            self.drop(link)
        self.poller.close()

    def drop(self, link):
        if link.dead:
            return
        link.dead = True
        del self.links[link.number]
        for way, sock in enumerate(link.socks):
            if sock:
                self.sent = True
                self.ignore(link, way)
                sock.close()

    def watch(self, link, way):
        self.poller.register(link.socks[way], select.EPOLLIN)
        self.waiting[link.socks[way].fileno()] = link, way

    def ignore(self, link, way):
        if self.waiting.pop(link.socks[way].fileno(), None):
            self.poller.unregister(link.socks[way])

    def enqueue(self, link, way, what, now):
        due = max(link.last[way], now + self.delays.get(link.ways[way], 0) + link.latency + self.rng.randrange(1 + link.latency // 2))
        link.last[way] = due
        link.queues[way].append((due, what))
        link.bytes[way] += len(what or b"")
        if not link.planned[way]:
            self.plan(link, way, due)

    def plan(self, link, way, when):
        link.planned[way] = True
        heapq.heappush(self.plans, (when, link.number, way, link))

    def step(self, now):
        """Takes and delivers what is due. Returns whether any connection has changed since the last time, and when something is
        due next."""
        ready = {fd for fd, _ in self.poller.poll(0)}
        if not ready <= self.waiting.keys():
            ready |= self.accept_all()
        taken = [self.waiting[fd] for fd in ready if fd in self.waiting]
        for link, way in sorted(taken, key=lambda x: (x[0].number, x[1])):
            self.take(link, way, now)
        while self.plans and self.plans[0][0] <= now:
            _, _, way, link = heapq.heappop(self.plans)
            if link.ways[way] in self.cut:
                self.held.append((link, way))
                continue
            link.planned[way] = False
            self.deliver(link, way, now)
            if link.queues[way] and not link.dead:
                self.plan(link, way, max(link.queues[way][0][0], now + 1000))
        sent, self.sent = self.sent, False
        return sent, self.plans[0][0] if self.plans else NEVER

    def heal(self, pairs, now):
        self.cut -= pairs
        held, self.held = self.held, []
        for link, way in held:
            self.plan(link, way, now)

    def accept_all(self):
        """Returns the descriptors of what has connected."""
        accepted = set()
        for source, target, path, listener in self.listeners:
            while True:
                try:
                    sock, _ = listener.accept()
                except BlockingIOError:
                    break
                sock.setblocking(False)
                self.count += 1
                link = Link(self.count, source, target, path, sock, self.rng, self.slow_us)
                self.links[link.number] = link
                self.watch(link, 0)
                accepted.add(sock.fileno())
        return accepted

    def take(self, link, way, now):
        sock = link.socks[way]
        while not link.dead and sock and link.open[way] and link.bytes[way] < QUEUE_BYTES:
            try:
                data = sock.recv(RECEIVED)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if len(data) == RECEIVED:
                self.sent = True  # there may be room again for what it waits to send
            if not data:
                link.open[way] = False
                self.ignore(link, way)
            while len(data) > 1 and self.rng.random() < 0.3:  # it comes in pieces, of which the last may never come
                n = self.rng.randrange(1, len(data))
                self.enqueue(link, way, data[:n], now)
                data = data[n:]
            self.enqueue(link, way, data or None, now)

    def deliver(self, link, way, now):
        """An empty item (None) is the end of the connection."""
        queue = link.queues[way]
        while queue and queue[0][0] <= now and not link.dead:
            _, data = queue[0]
            if data is None or (not link.socks[1] and not self.connect(link)):
                self.drop(link)
                return
            try:
                n = link.socks[1 - way].send(data)
            except BlockingIOError:
                break
            except OSError:
                self.drop(link)
                return
            self.sent = True
            link.bytes[way] -= n
            queue[0] = (now, data[n:])
            if n < len(data):
                break
            queue.pop(0)

    def connect(self, link):
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        try:
            sock.connect(link.path)
        except OSError:
            sock.close()
            return False
        link.socks[1] = sock
        self.watch(link, 1)
        return True

    def reset(self):
        for link in list(self.links.values()):
            self.drop(link)

    def lose_power(self, host, now):
        """The other end learns of it late, or never."""
        for link in list(self.links.values()):
            if host in link.hosts:
                mine = link.hosts.index(host)
                self.take(link, mine, now)
                if self.rng.random() < 0.5:  # what was on its way is lost
                    link.queues[mine].clear()
                link.open[mine] = False
                if link.socks[mine]:
                    self.ignore(link, mine)
                if self.rng.random() < 0.5:
                    link.last[mine] = max(link.last[mine], now + self.rng.randrange(20 * SECOND))
                    self.enqueue(link, mine, None, now)

    def back(self, host):
        """A host that has started again resets the connections that it does not know."""
        for link in list(self.links.values()):
            if host in link.hosts and not link.open[link.hosts.index(host)]:
                self.drop(link)
