"""proxy.py - a TCP proxy between a replica and its primary that can misbehave on request.

    replica ──▶ proxy.port ──▶ the server at `target`
            ◀── data, to which the faults below are applied ◀──

One thread does everything; other threads make requests by setting a field that it reads.
"""
import random
import selectors
import socket
import struct
import threading
import time

CHUNK = 65536
TICK_S = 0.01


class Leg:
    """One connection through the proxy: the two sockets, and what is still to be passed on to each."""

    def __init__(self, inner, outer):
        self.inner, self.outer = inner, outer
        self.pending = {inner: bytearray(), outer: bytearray()}
        self.hold_until = 0
        self.passed = 0  # bytes, from the primary to the replica

    def other(self, sock):
        return self.outer if sock is self.inner else self.inner


class Proxy:
    def __init__(self, target, host="127.0.0.1"):
        self.target, self.host = target, host
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.legs = {}
        self.lock = threading.Lock()
        # Faults.
        self.refuse_until = 0
        self.stalled = False          # nothing is read from the primary
        self.delay_s = 0              # at most so long for each piece
        self.cut_after = None         # so many bytes more to the replica; then the link is reset, within whatever it was
        self.flip_after = None        # the byte so many bytes further on is changed
        self.cuts = self.flips = 0
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- Requests ----

    def cut(self):
        """All links end now."""
        with self.lock:
            for leg in set(self.legs.values()):
                self.drop(leg)

    def refuse(self, seconds):
        """New ones end at once, for so long."""
        self.refuse_until = time.monotonic() + seconds

    def truncate(self, after):
        """The link ends after so many more bytes to the replica."""
        self.cut_after = after

    def flip(self, after):
        self.flip_after = after

    def heal(self):
        self.refuse_until, self.stalled, self.delay_s, self.cut_after, self.flip_after = 0, False, 0, None, None

    def close(self):
        self.running = False
        self.thread.join(10)
        self.cut()
        self.listener.close()
        self.selector.close()

    # ---- Its thread ----

    def drop(self, leg, reset=False):
        self.cuts += 1
        for sock in (leg.inner, leg.outer):
            if self.legs.pop(sock, None):
                try:
                    self.selector.unregister(sock)
                except KeyError:
                    pass
                if reset:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()

    def accept(self):
        try:
            inner, _ = self.listener.accept()
        except OSError:
            return
        try:
            if time.monotonic() < self.refuse_until:
                raise OSError("not now")
            outer = socket.create_connection((self.host, self.target), 5)
        except OSError:
            inner.close()
            return
        leg = Leg(inner, outer)
        for sock in (inner, outer):
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.legs[sock] = leg
            self.selector.register(sock, selectors.EVENT_READ)

    def spoil(self, leg, data):
        """Applies the faults to data from the primary. Returns what is passed on, and whether the link ends after it."""
        ends = False
        if self.flip_after is not None:
            if self.flip_after < len(data):
                data = bytearray(data)
                data[self.flip_after] ^= 1 << random.randrange(8)
                self.flip_after = None
                self.flips += 1
            else:
                self.flip_after -= len(data)
        if self.cut_after is not None:
            ends = self.cut_after < len(data)
            if ends:
                data = data[: self.cut_after]
                self.cut_after = None
            else:
                self.cut_after -= len(data)
        if self.delay_s:
            leg.hold_until = time.monotonic() + random.uniform(0, self.delay_s)
        leg.passed += len(data)
        return data, ends

    def read(self, sock, leg):
        if len(leg.pending[leg.other(sock)]) > CHUNK or (sock is leg.outer and self.stalled):
            return
        try:
            data = sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.flush(leg)
            self.drop(leg)
            return
        ends = False
        if sock is leg.outer:
            data, ends = self.spoil(leg, data)
        leg.pending[leg.other(sock)] += data
        if ends:
            self.flush(leg)
            self.drop(leg, reset=True)

    def flush(self, leg):
        if time.monotonic() < leg.hold_until:
            return
        for sock, data in leg.pending.items():
            if data and sock in self.legs:
                try:
                    del data[: sock.send(data)]
                except BlockingIOError:
                    pass
                except OSError:
                    self.drop(leg)
                    return

    def watch(self, leg):
        """The events to wait for: a full pipe is not read from, or the loop would spin."""
        for sock in (leg.inner, leg.outer):
            if sock not in self.legs:
                continue
            full = len(leg.pending[leg.other(sock)]) > CHUNK or (sock is leg.outer and self.stalled)
            events = 0 if full else selectors.EVENT_READ
            if leg.pending[sock] and time.monotonic() >= leg.hold_until:
                events |= selectors.EVENT_WRITE
            try:
                self.selector.modify(sock, events) if events else self.selector.unregister(sock)
            except KeyError:
                if events:
                    self.selector.register(sock, events)

    def run(self):
        while self.running:
            ready = self.selector.select(TICK_S if any(self.faulty()) else 0.1)
            with self.lock:
                for key, events in ready:
                    if key.fileobj is self.listener:
                        self.accept()
                        continue
                    leg = self.legs.get(key.fileobj)
                    if leg and events & selectors.EVENT_READ:
                        self.read(key.fileobj, leg)
                for leg in set(self.legs.values()):
                    self.flush(leg)
                for leg in set(self.legs.values()):
                    self.watch(leg)

    def faulty(self):
        return self.stalled, self.delay_s, any(leg.hold_until for leg in list(self.legs.values()))
