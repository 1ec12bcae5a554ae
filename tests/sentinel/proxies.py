"""proxies.py - proxies before each server and each Sentinel, so that they can be partitioned.

    Sentinel A ──▶ proxy of B (the announced port) ──▶ B's port

The first words of a connection identify its Sentinel, which gives the connection a name. Between different sides a
link is refused, or drops what is sent over it, as a network that loses packets does; replicas and clients pass. One
thread does everything.
"""
import random
import re
import selectors
import socket
import threading

CALLER = re.compile(rb"sentinel-([0-9a-f]{8})-")
CHUNK = 65536
TICK_S = 0.05
PATIENCE_S = 2  # with a node that does not read


class Leg:
    def __init__(self, proxy, caller, callee):
        self.proxy, self.caller, self.callee = proxy, caller, callee
        self.who = None       # the beginning of the Sentinel's id; "": another client
        self.swallows = False


class Proxies:
    def __init__(self, host="127.0.0.1"):
        self.host = host
        self.lock = threading.RLock()
        self.selector = selectors.DefaultSelector()
        self.legs = set()
        self.ids = {}         # beginning of a Sentinel's id (Leg.who): its proxy
        self.sides = {}       # of proxies; 0 for those not in it
        self.proxies = 0
        self.listeners = []
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- Requests ----

    def open(self, port, target):
        """Opens a proxy at this port, to the server that listens at `target`; returns its number."""
        listener = socket.create_server((self.host, port))
        with self.lock:
            proxy, self.proxies = self.proxies, self.proxies + 1
            self.listeners.append(listener)
            self.selector.register(listener, selectors.EVENT_READ, (proxy, target))
        return proxy

    def introduce(self, proxy, who):
        self.ids[who] = proxy

    def part(self, proxies):
        """These on one side, all others on the other."""
        swallow = random.random() < 0.5
        with self.lock:
            self.sides = {proxy: 1 for proxy in proxies}
            for leg in [leg for leg in self.legs if self.parted(leg)]:
                if swallow:
                    leg.swallows = True
                else:
                    self.drop(leg)

    def heal(self):
        with self.lock:
            self.sides = {}
            for leg in [leg for leg in self.legs if leg.swallows]:
                self.drop(leg)

    def close(self):
        self.running = False
        self.thread.join(10)
        for leg in list(self.legs):
            self.drop(leg)
        for listener in self.listeners:
            listener.close()
        self.selector.close()

    # ---- Its thread ----

    def parted(self, leg):
        caller = self.ids.get(leg.who)  # it may call before it is introduced
        return caller is not None and self.sides.get(caller, 0) != self.sides.get(leg.proxy, 0)

    def drop(self, leg):
        if leg not in self.legs:
            return
        self.legs.discard(leg)
        for sock in (leg.caller, leg.callee):
            self.selector.unregister(sock)
            sock.close()

    def accept(self, listener, proxy, target):
        caller, _ = listener.accept()
        try:
            callee = socket.create_connection((self.host, target), PATIENCE_S)
        except OSError:
            caller.close()
            return
        leg = Leg(proxy, caller, callee)
        self.legs.add(leg)
        for sock in (caller, callee):
            sock.settimeout(PATIENCE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(sock, selectors.EVENT_READ, leg)

    def pass_on(self, sock, leg):
        data = sock.recv(CHUNK)
        if not data:
            raise ConnectionError("closed")
        if sock is leg.caller and leg.who is None:
            found = CALLER.search(data)
            leg.who = found.group(1).decode() if found else ""
            if self.parted(leg):
                raise ConnectionError("not between these")
        if not leg.swallows:
            (leg.callee if sock is leg.caller else leg.caller).sendall(data)

    def run(self):
        while self.running:
            for key, _ in self.selector.select(TICK_S):
                with self.lock:
                    if isinstance(key.data, tuple):
                        self.accept(key.fileobj, *key.data)
                    elif key.data in self.legs:
                        try:
                            self.pass_on(key.fileobj, key.data)
                        except OSError:
                            self.drop(key.data)
