"""network.py - proxies between the nodes of a cluster, so that it can be partitioned.

    node A ──▶ proxy of B's bus ─────────────────────────▶ B's cluster-port
           ──▶ proxy of B's data (replicas, slots) ──────▶ B's port, tls-port

Nodes announce their proxies' ports. The source address of a connection identifies the node that made it: each node
has one of its own (bind-source-addr), which works with TLS too. A connection from any other address is a client's,
and is never blocked. Between nodes of different sides a link is refused, or drops what is sent over it, as a network
that loses packets does. One thread does everything.
"""
import random
import selectors
import socket
import threading

CHUNK = 65536
TICK_S = 0.05
PATIENCE_S = 2  # with a node that does not read
PLANES = ("bus", "data")


def address(node):
    """The source address of the connections of the node of this number."""
    return "127.0.1.%d" % (node + 1)


class Proxy:
    def __init__(self, plane, node, target):
        self.plane, self.node, self.target = plane, node, target


class Leg:
    def __init__(self, proxy, who, caller, callee):
        self.proxy, self.who, self.caller, self.callee = proxy, who, caller, callee
        self.swallows = False


class Network:
    """Nodes are numbers here, from 0 on."""

    def __init__(self, host="127.0.0.1"):
        self.host = host
        self.lock = threading.RLock()
        self.selector = selectors.DefaultSelector()
        self.legs = set()
        self.sides = {plane: {} for plane in PLANES}  # of nodes; 0 for those not in it
        self.behind = {}                              # ports of proxies: the ports that they lead to
        self.listeners = []
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- Requests ----

    def open(self, port, plane, node, target):
        """Opens a proxy at this port, to the node that listens at `target`."""
        listener = socket.create_server((self.host, port))
        with self.lock:
            self.behind[port] = target
            self.listeners.append(listener)
            self.selector.register(listener, selectors.EVENT_READ, Proxy(plane, node, target))

    def part(self, nodes, planes=PLANES):
        """These on one side, all others on the other."""
        swallow = random.random() < 0.5
        with self.lock:
            for plane in planes:
                self.sides[plane] = {node: 1 for node in nodes}
            for leg in [leg for leg in self.legs if self.parted(leg.proxy, leg.who)]:
                if swallow:
                    leg.swallows = True
                else:
                    self.drop(leg)

    def heal(self):
        with self.lock:
            self.sides = {plane: {} for plane in PLANES}
            for leg in [leg for leg in self.legs if leg.swallows]:
                self.drop(leg)

    def callers(self, plane, node):
        """Nodes that have a link to that one now."""
        with self.lock:
            return {leg.who for leg in self.legs if leg.proxy.plane == plane and leg.proxy.node == node} - {None}

    def close(self):
        self.running = False
        self.thread.join(10)
        for leg in list(self.legs):
            self.drop(leg)
        for listener in self.listeners:
            listener.close()
        self.selector.close()

    # ---- Its thread ----

    def parted(self, proxy, who):
        sides = self.sides[proxy.plane]
        return who is not None and sides.get(who, 0) != sides.get(proxy.node, 0)

    def drop(self, leg):
        if leg not in self.legs:
            return
        self.legs.discard(leg)
        for sock in (leg.caller, leg.callee):
            self.selector.unregister(sock)
            sock.close()

    def accept(self, listener, proxy):
        caller, (ip, _) = listener.accept()
        who = int(ip.rsplit(".", 1)[1]) - 1 if ip.startswith("127.0.1.") else None
        try:
            if self.parted(proxy, who):
                raise OSError("not between these")
            callee = socket.create_connection((self.host, proxy.target), PATIENCE_S)
        except OSError:
            caller.close()
            return
        leg = Leg(proxy, who, caller, callee)
        self.legs.add(leg)
        for sock in (caller, callee):
            sock.settimeout(PATIENCE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(sock, selectors.EVENT_READ, leg)

    def pass_on(self, sock, leg):
        data = sock.recv(CHUNK)
        if not data:
            raise ConnectionError("closed")
        if not leg.swallows:
            (leg.callee if sock is leg.caller else leg.caller).sendall(data)

    def run(self):
        while self.running:
            for key, _ in self.selector.select(TICK_S):
                with self.lock:
                    if isinstance(key.data, Proxy):
                        self.accept(key.fileobj, key.data)
                    elif key.data in self.legs:
                        try:
                            self.pass_on(key.fileobj, key.data)
                        except OSError:
                            self.drop(key.data)
