"""The beginning of the scripts in tests/unit/tls.tcl: TLS clients of Python's ssl module.

PORT is the TLS port, PLAIN the other one; certificates are files of the current folder.
"""
import os, socket, ssl, sys, time, threading

PORT, PLAIN = int(os.environ["TLS_PORT"]), int(os.environ["PLAIN_PORT"])
TIMEOUT_S = 120


def context(cert="client", ca="ca", lowest=None, highest=None, ciphers=None):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.load_verify_locations(ca + ".crt")
    if cert:
        c.load_cert_chain(cert + ".crt", cert + ".key")
    if lowest:
        c.minimum_version = lowest
    if highest:
        c.maximum_version = highest
    if ciphers:
        c.set_ciphers(ciphers)
    return c


def tcp(port=None):
    s = socket.create_connection(("127.0.0.1", port or PORT), timeout=TIMEOUT_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def connect(session=None, **options):
    return context(**options).wrap_socket(tcp(), session=session)


def request(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def take(s, n):
    """n bytes, or fewer at the end."""
    parts = []
    while n:
        part = s.recv(min(n, 1 << 16))
        if not part:
            break
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def line(s):
    out = b""
    while not out.endswith(b"\r\n"):
        part = s.recv(1)
        if not part:
            break
        out += part
    return out.decode().rstrip()


def ask(s, *words):
    """The reply's line; of a bulk string its bytes."""
    s.sendall(request(*words))
    head = line(s)
    if head.startswith("$") and head != "$-1":
        return take(s, int(head[1:]) + 2)[:-2].decode("latin-1")
    return head


def outcome(make, *words):
    """The result for a client that may be refused: a reply, or `refused`."""
    try:
        with make() as s:
            return ask(s, *(words or ["PING"])) or "refused"
    except (ssl.SSLError, ConnectionError):
        return "refused"
