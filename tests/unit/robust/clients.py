#!/usr/bin/env python3
"""clients.py SCENARIO PORT [argument ...] - clients that behave badly, or connect in large numbers.

Tcl is too slow for some of that. A scenario checks its own observations: it prints figures for the test, or ends with
an exception. Only the standard library is used.
"""
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time

LIMIT_S = 100
IDLE_BYTES = 2000  # what a test allows an idle client


class Client:
    def __init__(self, port, rcvbuf=0):
        self.s = socket.socket()
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(LIMIT_S)
        self.s.connect(("127.0.0.1", port))
        self.f = self.s.makefile("rb")

    def send(self, *args):
        self.s.sendall(encode(*args))

    def read(self):
        line = self.f.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the server hung up")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.f.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else line[:-2].decode("latin-1")

    def __call__(self, *args):
        self.send(*args)
        return self.read()

    def info(self, field):
        for line in self("INFO", "everything").decode("latin-1").split("\r\n"):
            if line.startswith(field + ":"):
                return int(line.split(":")[1])
        raise KeyError(field)

    def reset(self):
        """Closes with RST instead of FIN."""
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self.f.close()
        self.s.close()


def encode(*args):
    words = [a if isinstance(a, bytes) else str(a).encode("latin-1") for a in args]
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%s\r\n" % (len(w), w) for w in words])


def expect(what, got, wanted):
    if got != wanted:
        raise AssertionError("%s: %r, not %r" % (what, str(got)[:300], str(wanted)[:300]))


def wait_until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.01)


def wait_for_clients(c, n):
    wait_until(lambda: c.info("connected_clients") == n, "%d clients are connected" % n)


def files_allowed():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    except (ValueError, OSError):
        pass
    return 10**9 if soft == resource.RLIM_INFINITY else soft


# ---- Many ----

def many(port, wanted):
    """So many connections at once, which all send: returns how many there were, and the bytes of memory each takes
    while idle."""
    admin = Client(port)
    count = min(int(wanted), files_allowed() - 50)
    before = admin.info("used_memory")
    clients = [Client(port) for _ in range(count)]
    for round_ in range(2):
        for c in clients:
            c.send("INCR", "visits")
        for c in clients:
            c.read()
    expect("visits", admin("GET", "visits"), b"%d" % (2 * count))
    expect("clients", admin.info("connected_clients"), count + 1)
    # Periodic jobs free blocks of replies and input that a large turn has needed.
    each, deadline = float("inf"), time.time() + LIMIT_S / 4
    while each >= IDLE_BYTES and time.time() < deadline:
        each = (admin.info("used_memory") - before) / count
        time.sleep(0.1)
    for i, c in enumerate(clients):
        c.reset() if i % 2 else c.close()
    wait_for_clients(admin, 1)
    print(count, int(each))


def come_and_go(port, wanted):
    """Connections that end at every possible moment, one after the other."""
    admin = Client(port)
    for i in range(int(wanted)):
        c = Client(port)
        if i % 5 == 1:
            expect("PING", c("PING"), "+PONG")
        elif i % 5 == 2:
            c.send("GET", "no")
        elif i % 5 == 3:
            c.s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nabc")
        elif i % 5 == 4:
            c.s.sendall(encode("SET", "big", b"x" * 40000)[:35000])
        c.reset() if i % 2 else c.close()
    wait_for_clients(admin, 1)
    expect("PING", admin("PING"), "+PONG")


# ---- Slow and rude ----

def drop_by_drop(port):
    """A request that arrives a byte at a time does not delay others, and gets a reply in the end."""
    slow, other, served = Client(port), Client(port), 0
    for byte in encode("SET", "slow", "a value in no hurry"):
        slow.s.sendall(bytes([byte]))
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            expect("PING", other("PING"), "+PONG")
            served += 1
    expect("SET", slow.read(), "+OK")
    expect("GET", other("GET", "slow"), b"a value in no hurry")
    print(served)


def half_closed(port):
    """A client that has closed its writing side still gets replies."""
    c = Client(port)
    c("SET", "k", b"v" * 50000)
    c.s.sendall(encode("GET", "k") * 3 + encode("PING"))
    c.s.shutdown(socket.SHUT_WR)
    for _ in range(3):
        expect("GET", c.read(), b"v" * 50000)
    expect("PING", c.read(), "+PONG")
    expect("the end", c.f.read(), b"")


def resets(port):
    """RST in the middle of requests, of replies, while blocked, within MULTI, as a subscriber and as a monitor."""
    admin = Client(port)
    admin("SET", "big", b"x" * 3000000)
    for i in range(300):
        c = Client(port)
        state = i % 7
        if state == 0:
            c.send("BLPOP", "nothing", "0")
        elif state == 1:
            c.s.sendall(encode("GET", "big") * 5)
        elif state == 2:
            c.s.sendall(encode("MULTI") + encode("SET", "never", "1") * 10)
        elif state == 3:
            c.send("SUBSCRIBE", "a", "b")
        elif state == 4:
            c.send("MONITOR")
        elif state == 5:
            c.s.sendall(encode("SET", "torn", b"y" * 500000)[:400000])
        else:
            c.s.sendall(encode("WATCH", "big") + encode("CLIENT", "TRACKING", "ON") + encode("GET", "big"))
        if i % 3:
            admin("PUBLISH", "a", "hello")
        c.reset()
    wait_for_clients(admin, 1)
    expect("EXISTS", admin("EXISTS", "never", "torn"), 0)
    expect("blocked", admin.info("blocked_clients"), 0)
    admin("DEL", "big")


def not_reading(port, kind):
    """Output that is not read: the limit ends the connection. Prints how much memory was in use for it at most."""
    admin, c = Client(port), Client(port, 4096)
    admin("SET", "big", b"x" * 100000)
    if kind == "subscriber":
        c("SUBSCRIBE", "a")
    elif kind == "monitor":
        c("MONITOR")
    else:
        c.s.sendall(encode("GET", "big") * 2000)
    before = admin.info("client_output_buffer_limit_disconnections")
    before_clients = admin.info("connected_clients")
    if before_clients == 1:
        return
    worst = 0
    wait = time.monotonic() + LIMIT_S
    while admin.info("client_output_buffer_limit_disconnections") == before and admin.info("connected_clients") > 1:
        if kind == "subscriber":
            admin("PUBLISH", "a", b"m" * 100000)
        elif kind == "monitor":
            admin("ECHO", b"m" * 100000)
        worst = max(worst, admin.info("mem_clients_normal"))
        if time.monotonic() > wait:
            raise AssertionError("%d bytes wait, and the client is still there" % worst)
    wait_for_clients(admin, 1)
    print(worst)


def kill_self(port):
    """Requests behind a CLIENT KILL of the client itself do not run; those before it get replies."""
    c, admin = Client(port), Client(port)
    own = c("CLIENT", "ID")
    c.s.sendall(encode("INCR", "steps") + encode("CLIENT", "KILL", "ID", own, "SKIPME", "no") + encode("INCR", "steps") * 100)
    expect("INCR", c.read(), 1)
    expect("KILL", c.read(), 1)
    expect("the end", c.f.read(), b"")
    expect("steps", admin("GET", "steps"), b"1")
    c = Client(port)
    own = c("CLIENT", "ID")
    c.s.sendall(encode("MULTI") + encode("INCR", "steps") + encode("CLIENT", "KILL", "ID", own, "SKIPME", "no") + encode("INCR", "steps")
                + encode("EXEC") + encode("INCR", "steps"))
    c.f.read()
    expect("steps", admin("GET", "steps"), b"3")


# ---- Large ----

def pipeline(port, count):
    """So many requests before the first reply is read."""
    c, count = Client(port), int(count)
    writer = threading.Thread(target=lambda: c.s.sendall(encode("INCR", "n") * count))
    writer.start()
    for i in range(1, count + 1):
        expect("INCR", c.read(), i)
    writer.join()


def many_keys(port, count):
    """So many keys in one request."""
    c, keys = Client(port), ["key:%d" % i for i in range(int(count))]
    expect("MSET", c("MSET", *[word for k in keys for word in (k, k)]), "+OK")
    expect("MGET", c("MGET", *keys), [k.encode() for k in keys])
    expect("EXISTS", c("EXISTS", *keys), len(keys))
    expect("UNLINK", c("UNLINK", *keys[::2]), len(keys[::2]))
    expect("DEL", c("DEL", *keys), len(keys) - len(keys[::2]))
    expect("DBSIZE", c("DBSIZE"), 0)


def big_names(port):
    """Names of 1 MB: of keys, members, fields, channels."""
    c, name, other = Client(port), b"n" * 2**20, b"n" * (2**20 - 1) + b"m"
    expect("SET", c("SET", name, "1"), "+OK")
    expect("INCR", c("INCR", name), 2)
    expect("RENAME", c("RENAME", name, other), "+OK")
    expect("GET", (c("GET", name), c("GET", other)), (None, b"2"))
    expect("EXPIRE", c("EXPIRE", other, 1000), 1)
    expect("SCAN", c("SCAN", 0, "COUNT", 100), [b"0", [other]])
    expect("HSET", c("HSET", "h", name, "1", other, "2"), 2)
    expect("HGET", c("HGET", "h", other), b"2")
    expect("ZADD", c("ZADD", "z", 1, name, 2, other), 2)
    expect("ZRANK", c("ZRANK", "z", other), 1)
    expect("SADD", c("SADD", "s", name, other), 2)
    expect("SISMEMBER", c("SISMEMBER", "s", name), 1)
    expect("SUBSCRIBE", c("SUBSCRIBE", name), [b"subscribe", name, 1])
    d = Client(port)
    expect("PUBLISH", d("PUBLISH", name, other), 1)
    expect("message", c.read(), [b"message", name, other])
    expect("DEL", d("DEL", name, other, "h", "z", "s"), 4)


def largest_bulk(port):
    """A value of 512 MB is taken, one byte more is not."""
    c, size, piece = Client(port), 512 * 2**20, b"x" * 2**20
    c.s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % size)
    for _ in range(size // len(piece)):
        c.s.sendall(piece)
    c.s.sendall(b"\r\n")
    expect("SET", c.read(), "+OK")
    expect("STRLEN", c("STRLEN", "k"), size)
    expect("APPEND", c("APPEND", "k", "y"), "-ERR string exceeds maximum allowed size (proto-max-bulk-len)")
    expect("GETRANGE", c("GETRANGE", "k", -2, -1), b"xx")
    expect("DEL", c("DEL", "k"), 1)
    c.s.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % (size + 1))
    expect("one more", c.read(), "-ERR Protocol error: invalid bulk length")


# ---- Load ----

def load(port, seconds):
    """Writes of several clients until the server exits or the time is over. A reply must be one of those expected."""
    end, problems, counts = time.monotonic() + float(seconds), [], [0] * 4

    def write(at):
        pick = random.Random(at)
        c = None
        try:
            c = Client(port)
            while time.monotonic() < end:
                batch = [encode("SET", "key:%d" % pick.randrange(100000), b"v" * pick.randrange(2000)) for _ in range(20)]
                c.s.sendall(b"".join(batch))
                for _ in batch:
                    reply = c.read()
                    if reply != "+OK" and not reply.startswith("-OOM "):
                        problems.append(reply)
                    counts[at] += reply == "+OK"
        except (OSError, EOFError):
            pass  # that is how it is meant to end

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(counts))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expect("replies", problems[:5], [])
    print(sum(counts))


def waiting(port, script):
    """While one client's command takes long, others wait, and all get their answers."""
    busy, others = Client(port), [Client(port) for _ in range(50)]
    busy.send(*script.split(" "))
    for i, c in enumerate(others):
        c.send("ECHO", i)
    for i, c in enumerate(others):
        expect("ECHO", c.read(), b"%d" % i)
    print(len(busy.read()))


def exhaust(port, pid, allowed):
    """More connections than the server has files for: those it takes are served, and when some end, the others are."""
    admin = Client(port)
    resource.prlimit(int(pid), resource.RLIMIT_NOFILE, (int(allowed), int(allowed)))
    clients = [Client(port) for _ in range(int(allowed) + 20)]
    for c in clients:
        c.send("PING")
    time.sleep(0.5)
    ready = select.select([c.s for c in clients], [], [], 5)[0]
    if not 0 < len(ready) < int(allowed):
        raise AssertionError("%d are served" % len(ready))
    expect("PING", admin("PING"), "+PONG")
    first = [c for c in clients if c.s in ready]
    for c in first:
        expect("PING", c.read(), "+PONG")
        c.close()
    rest = [c for c in clients if c.s not in ready]
    while rest:
        ready = select.select([c.s for c in rest], [], [], LIMIT_S)[0]
        if not ready:
            raise AssertionError("%d are never served" % len(rest))
        for c in [c for c in rest if c.s in ready]:
            expect("PING", c.read(), "+PONG")
            c.close()
            rest.remove(c)
    print(len(first))


PING = encode("PING")
HELD_MOST = 40 << 20  # more than the kernel's buffers take at either end


def fill(c, request):
    """Sends a request and PINGs behind it until the server takes no more; returns how many bytes of these were taken."""
    c.s.sendall(request)
    c.s.setblocking(False)
    sent, piece, moved = 0, PING * 20000, time.monotonic()
    while sent < HELD_MOST + len(piece) and time.monotonic() < moved + 1:
        try:
            sent += c.s.send(piece[sent % len(piece):])
            moved = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    c.s.settimeout(LIMIT_S)
    return sent


def answers_to_pings(c, sent):
    """Sends what is missing of the last one, and expects as many answers."""
    rest = -sent % len(PING)
    threading.Thread(target=c.s.sendall, args=[PING[len(PING) - rest:] + encode("ECHO", "end")]).start()
    count = 0
    while c.f.readline() == b"+PONG\r\n":
        count += 1
    expect("answers", count, (sent + rest) // len(PING))
    expect("ECHO", c.f.readline(), b"end\r\n")


def input_kept(admin, number):
    line = admin("CLIENT", "LIST", "ID", number).decode()
    return int(line.split(" qbuf=")[1].split(" ")[0])


def held_blocked(port):
    """A client that waits is not read from beyond a limit. Nothing is lost, and its end is noticed."""
    admin = Client(port)
    for goes in ("on", "reset", "kill"):
        c = Client(port)
        number = c("CLIENT", "ID")
        sent = fill(c, encode("BLPOP", "nokey", "0"))
        if sent > HELD_MOST:
            raise AssertionError("%d bytes were taken" % sent)
        kept = input_kept(admin, number)
        if not 64 << 10 <= kept <= 160 << 10:
            raise AssertionError("%d bytes are kept" % kept)
        if goes == "on":
            admin("RPUSH", "nokey", "x")
            expect("BLPOP", c.read(), [b"nokey", b"x"])
            answers_to_pings(c, sent)
        elif goes == "kill":
            expect("CLIENT KILL", admin("CLIENT", "KILL", "ID", number), 1)
        else:
            c.reset()
        wait_until(lambda: admin.info("blocked_clients") == 0, "it is gone")
    c = Client(port)  # an end in peace stands behind all that was sent, so that must fit into the kernel's buffers
    number = c("CLIENT", "ID")
    c.s.sendall(encode("BLPOP", "nokey", "0") + PING * 8000)
    wait_until(lambda: input_kept(admin, number) >= 64 << 10, "enough is kept")
    c.close()
    wait_until(lambda: admin.info("blocked_clients") == 0, "it is gone")


def held_paused(port, password):
    """The same while all clients are paused, before and after a login."""
    admin = Client(port)
    for right in (False, True):
        c = Client(port)
        expect("AUTH", admin("AUTH", password), "+OK")
        expect("CLIENT PAUSE", admin("CLIENT", "PAUSE", 2500, "ALL"), "+OK")
        sent = fill(c, encode("AUTH", password if right else "bad"))
        if sent > HELD_MOST:
            raise AssertionError("%d bytes were taken" % sent)
        if right:
            expect("AUTH", c.read(), "+OK")
            answers_to_pings(c, sent)
        c.reset()  # without a login, it is closed when its errors are not read


globals()[sys.argv[1]](int(sys.argv[2]), *sys.argv[3:])
