"""network.py - what lies between the nodes of a cluster, so that it can be parted.

    node A ──▶ door of B's bus ─────────────────────────▶ B's cluster-port
           ──▶ door of B's data (replicas, slots) ──────▶ B's port, tls-port

Nodes announce their doors' ports. Who calls, the address tells that the call comes from: each node has one of its own
(bind-source-addr), so that it is known through TLS, too. Whoever comes from elsewhere is a client, and gets through always. Between
nodes of different sides a link is refused, or swallows what is sent over it, as a network does that loses packets. Everything is done
by one thread.
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
    """That the calls of the node of this number come from."""
    return "127.0.1.%d" % (node + 1)


class Door:
    def __init__(self, plane, node, target):
        self.plane, self.node, self.target = plane, node, target


class Leg:
    def __init__(self, door, who, caller, callee):
        self.door, self.who, self.caller, self.callee = door, who, caller, callee
        self.swallows = False


class Network:
    """Nodes are numbers here, from 0 on."""

    def __init__(self, host="127.0.0.1"):
        self.host = host
        self.lock = threading.RLock()
        self.selector = selectors.DefaultSelector()
        self.legs = set()
        self.sides = {plane: {} for plane in PLANES}  # of nodes; 0 for those not in it
        self.behind = {}                              # ports of doors: the ports that they lead to
        self.listeners = []
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- What can be asked for ----

    def open(self, port, plane, node, target):
        """A door at this port, to the node that listens at `target`."""
        listener = socket.create_server((self.host, port))
        with self.lock:
            self.behind[port] = target
            self.listeners.append(listener)
            self.selector.register(listener, selectors.EVENT_READ, Door(plane, node, target))

    def part(self, nodes, planes=PLANES):
        """These on one side, all others on the other."""
        swallow = random.random() < 0.5
        with self.lock:
            for plane in planes:
                self.sides[plane] = {node: 1 for node in nodes}
            for leg in [leg for leg in self.legs if self.parted(leg.door, leg.who)]:
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
            return {leg.who for leg in self.legs if leg.door.plane == plane and leg.door.node == node} - {None}

    def close(self):
        self.running = False
        self.thread.join(10)
        for leg in list(self.legs):
            self.drop(leg)
        for listener in self.listeners:
            listener.close()
        self.selector.close()

    # ---- Its thread ----

    def parted(self, door, who):
        sides = self.sides[door.plane]
        return who is not None and sides.get(who, 0) != sides.get(door.node, 0)

    def drop(self, leg):
        if leg not in self.legs:
            return
        self.legs.discard(leg)
        for sock in (leg.caller, leg.callee):
            self.selector.unregister(sock)
            sock.close()

    def accept(self, listener, door):
        caller, (ip, _) = listener.accept()
        who = int(ip.rsplit(".", 1)[1]) - 1 if ip.startswith("127.0.1.") else None
        try:
            if self.parted(door, who):
                raise OSError("not between these")
            callee = socket.create_connection((self.host, door.target), PATIENCE_S)
        except OSError:
            caller.close()
            return
        leg = Leg(door, who, caller, callee)
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
                    if isinstance(key.data, Door):
                        self.accept(key.fileobj, key.data)
                    elif key.data in self.legs:
                        try:
                            self.pass_on(key.fileobj, key.data)
                        except OSError:
                            self.drop(key.data)
