"""subscribers.py - connections that read published messages, and discard them."""
import selectors
import socket
import threading


def protocol(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Subscribers(threading.Thread):
    """`count` of them, of "channel"."""

    def __init__(self, server, count):
        super().__init__(daemon=True)
        self.selector = selectors.DefaultSelector()
        for _ in range(count):
            sock = socket.create_connection((server.host, server.port))
            sock.sendall(protocol("SUBSCRIBE", "channel"))
            sock.setblocking(False)
            self.selector.register(sock, selectors.EVENT_READ)

    def run(self):
        while True:
            for key, _ in self.selector.select():
                try:
                    if not key.fileobj.recv(1 << 16):
                        self.selector.unregister(key.fileobj)
                except OSError:
                    self.selector.unregister(key.fileobj)
