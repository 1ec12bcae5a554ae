"""resp.py - speaks RESP2 and RESP3 with a server, many commands at a time.

A reply is a pair (kind, payload); kind is the byte it starts with on the wire:

    (b"+", bytes)  (b"-", bytes)  (b":", int)  (b"$", bytes or None)  (b",", bytes)  (b"#", bytes)  (b"(", bytes)
    (b"_", None)   (b"*", list or None)  (b"~", list)  (b">", list)  (b"%", flat list of keys and values)

A pipeline ends with an ECHO of a random word, so the bytes of all its replies can be fetched, and compared with
another server's, without looking into them. A DISCARD goes before it: in a transaction that a pipeline (a shortened one,
most often) leaves open, the ECHO would only be queued.
"""
import os
import socket


def encode(args):
    """The bytes of one command."""
    return b"*%d\r\n" % len(args) + b"".join([b"$%d\r\n%b\r\n" % (len(a), a) for a in args])


def parse(buf, at):
    """The reply that begins at buf[at]: (reply, position behind it)."""
    kind = buf[at : at + 1]
    end = buf.index(b"\r\n", at)
    line, at = buf[at + 1 : end], end + 2
    if kind in b"+-,#(_":
        return (kind, None if kind == b"_" else line), at
    n = int(line)
    if kind == b":":
        return (kind, n), at
    if kind in b"$=!":
        return ((kind, None), at) if n < 0 else ((kind, buf[at : at + n]), at + n + 2)
    if kind not in b"*~>%|":
        raise ValueError("not RESP: %r" % buf[at - 20 : at + 20])
    if n < 0:
        return (kind, None), at
    items = []
    for _ in range(2 * n if kind in b"%|" else n):
        item, at = parse(buf, at)
        items.append(item)
    return ((kind, items), at) if kind != b"|" else parse(buf, at)


def parse_all(buf, count):
    """The first `count` replies in buf."""
    replies, at = [], 0
    for _ in range(count):
        reply, at = parse(buf, at)
        replies.append(reply)
    return replies


class Connection:
    def __init__(self, host, port, resp=2, timeout_s=30):
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sentinel = b""
        if resp == 3:
            self.call(b"HELLO", b"3")

    def close(self):
        self.socket.close()

    def send(self, commands, encoded=None):
        """Start a pipeline; its replies are fetched with receive()."""
        word = os.urandom(12).hex().encode()
        self.sentinel = b"$24\r\n" + word + b"\r\n"
        data = encoded if encoded is not None else b"".join([encode(c) for c in commands])
        self.socket.sendall(data + encode((b"DISCARD",)) + encode((b"ECHO", word)))

    def receive(self):
        """The bytes of the replies to what was sent. Raises OSError when the server hangs up or says nothing."""
        chunks, tail, sentinel = [], b"", self.sentinel
        while not tail.endswith(sentinel):
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the connection")
            chunks.append(data)
            tail = (tail + data)[-len(sentinel) :]
        return b"".join(chunks)[: -len(sentinel)]

    def call_all(self, commands):
        """Their replies."""
        self.send([[a if isinstance(a, bytes) else str(a).encode() for a in args] for args in commands])
        return parse_all(self.receive(), len(commands))

    def call(self, *args):
        """One command; its reply."""
        return self.call_all([args])[0]
