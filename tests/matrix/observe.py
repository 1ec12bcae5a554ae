"""observe.py - what can be observed of one case on one server: the replies, what is propagated, keyspace events, and
what INFO counts.

A client reads replies one at a time and notices that none arrives and that the connection is closed. A follower is a
replica that never acknowledges: it takes the full synchronization and then everything that the server propagates, up
to the offset in INFO. An observer is a client with RESP3 that has subscribed to the keyspace events.

The comparison is made on texts: `reply_class` removes from a reply what two right servers may have differently.
"""
import re
import socket
import time

from resp import encode, parse

NOTHING = (b"", b"no reply")
CLOSED = (b"", b"closed")
REPLY_LIMIT_S = 20
EVENTS = "AEnm"
# Fields of INFO. Of the first ones the difference that the case makes is compared, of the others the value while its connection is there.
COUNTERS = """total_error_replies unexpected_error_replies expired_keys evicted_keys keyspace_hits keyspace_misses acl_access_denied_auth acl_access_denied_cmd
acl_access_denied_key acl_access_denied_channel rejected_connections sync_full sync_partial_ok sync_partial_err expired_fields
clients_denied_oom unblocked_clients rdb_changes_since_last_save evicted_scripts total_active_defrag_time""".split()
GAUGES = """blocked_clients tracking_clients watching_clients pubsub_clients total_watched_keys total_blocking_keys pubsub_channels pubsub_patterns
pubsubshard_channels number_of_functions number_of_libraries number_of_cached_scripts role master_link_status connected_slaves loading
clients_in_timeout_table""".split()


class Client:
    """A connection whose replies are read one by one."""

    def __init__(self, host, port, resp=2):
        self.socket = socket.create_connection((host, port), REPLY_LIMIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.closed = False
        self.takes_snapshot = False
        if resp == 3:
            self.call(b"HELLO", b"3")

    def close(self):
        self.socket.close()
        self.closed = True

    def send(self, words):
        try:
            self.socket.sendall(encode([w if isinstance(w, bytes) else str(w).encode() for w in words]))
        except OSError:
            self.closed = True

    def take(self):
        """The next whole reply of what has been received, or None."""
        while self.buffer[:1] == b"\n":  # signs of life of a server that prepares a synchronization
            self.buffer = self.buffer[1:]
        if not self.buffer:
            return None
        if self.takes_snapshot and re.match(rb"\$.*\r\n", self.buffer):  # it has no end that a reply has
            self.buffer = b""
            return (b"$", b"a snapshot")
        try:
            reply, at = parse(self.buffer, 0)
        except ValueError as problem:
            if "not RESP" in str(problem):
                self.buffer = b""
                return (b"?", b"not RESP")
            return None
        if at > len(self.buffer):
            return None
        self.buffer = self.buffer[at:]
        return reply

    def next(self, limit_s=REPLY_LIMIT_S):
        """The next reply, NOTHING when there is none within the limit, or CLOSED."""
        deadline = time.monotonic() + limit_s
        while True:
            reply = self.take()
            if reply:
                return reply
            left = deadline - time.monotonic()
            if self.closed:
                return CLOSED
            if left <= 0:
                return NOTHING
            try:
                self.socket.settimeout(left)
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                return NOTHING
            except OSError:
                data = b""
            if not data:
                self.closed = True
            self.buffer += data

    def call(self, *words, limit_s=REPLY_LIMIT_S):
        self.send(words)
        return self.next(limit_s)


class Follower:
    """A replica of the server, which takes what is propagated and acknowledges nothing but the snapshot."""

    def __init__(self, host, port, words=()):
        self.client = Client(host, port)
        self.database = 0
        for command in (*words, ("REPLCONF", "listening-port", "1"), ("REPLCONF", "version", "9.1.2"), ("REPLCONF", "capa", "eof", "capa", "psync2")):
            self.client.call(*command)
        reply = self.client.call("PSYNC", "?", "-1")
        if reply[0] != b"+" or not reply[1].startswith(b"FULLRESYNC"):
            raise ConnectionError("PSYNC: %r" % (reply,))
        self.offset = int(reply[1].split()[2])
        self.skip_snapshot()

    def start_stream(self):
        """After a synchronization without a file the stream begins with this. (WAIT counts a replica that has the snapshot for what was
        written before there was a stream, which 9.1.2 does without having been told.)"""
        self.client.send(("REPLCONF", "ACK", "1"))

    def fill(self, limit_s=REPLY_LIMIT_S):
        self.client.socket.settimeout(limit_s)
        data = self.client.socket.recv(1 << 20)
        if not data:
            self.client.closed = True
            raise ConnectionError("the server has closed the link to its replica")
        self.client.buffer += data

    def skip_snapshot(self):
        client = self.client
        while True:
            client.buffer = client.buffer.lstrip(b"\n")
            if b"\r\n" in client.buffer:
                break
            self.fill()
        line, client.buffer = client.buffer.split(b"\r\n", 1)
        if line.startswith(b"$EOF:"):
            while line[5:] not in client.buffer:
                self.fill()
            client.buffer = client.buffer.split(line[5:], 1)[1]
        else:
            left = int(line[1:])
            while len(client.buffer) < left:
                self.fill()
            client.buffer = client.buffer[left:]

    def read_to(self, offset):
        """The commands up to that offset, each with its database; the link is closed: `closed`."""
        commands = []
        while self.offset < offset:
            before = len(self.client.buffer)
            reply = self.take()
            if reply is None:
                try:
                    self.fill(3)
                except OSError:
                    commands.append("closed" if self.client.closed else "incomplete")
                    return commands
                continue
            self.offset += before - len(self.client.buffer)
            words = [item[1] for item in reply[1]]
            name = words[0].upper()
            if name == b"SELECT":
                self.database = int(words[1])
            elif name not in (b"PING", b"REPLCONF"):
                commands.append("%d %s" % (self.database, " ".join(normal(word) for word in [name] + words[1:])))
        return commands

    def take(self):
        if self.client.buffer[:1] == b"\n":  # one byte of the stream's offset it is not
            self.client.buffer = self.client.buffer[1:]
            return None
        return self.client.take()

    def closed(self):
        if not self.client.closed:
            try:
                self.client.socket.setblocking(False)
                self.client.closed = not self.client.socket.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                pass
            except OSError:
                self.client.closed = True
            finally:
                self.client.socket.setblocking(True)
        return self.client.closed


def normal(word):
    """A word of the stream or of an error without times, identifiers and ports."""
    text = word.decode("latin-1") if isinstance(word, bytes) else str(word)
    text = re.sub(r"\b[0-9a-f]{40}\b", "<id>", text)
    text = re.sub(r"\d{13,}|^\d{10}\.\d{6}", "<time>", text)
    text = re.sub(r"(127\.0\.0\.1:)\d+", r"\1<port>", text)
    text = re.sub(r"\bid=\d+", "id=<n>", text)
    text = re.sub(r"^(FULLRESYNC \S+) \d+", r"\1 <offset>", text)
    return text if len(text) < 200 else text[:80] + "...%d" % len(text)


def reply_class(reply, depth=0):
    """Errors and statuses in full, numbers by their sign, of the others the type and what is in the first place."""
    kind, payload = reply
    if kind == b"":
        return payload.decode()
    if kind in b"-+":
        return kind.decode() + normal(payload)
    if payload is None or kind == b"_":
        return kind.decode() + "nil"
    if kind == b":":
        return ":%s" % ("-" if payload < 0 else "0" if payload == 0 else "+")
    if isinstance(payload, list):
        if not payload:
            return kind.decode() + "[]"
        return "%s[%s]" % (kind.decode(), reply_class(payload[0], depth + 1)) if depth < 2 else kind.decode()
    if kind == b"#":
        return "#" + payload.decode()
    return kind.decode()


def contents(client):
    """{database and key: a digest of its value and expiry} of a server, without the key that expires."""
    found = {}
    for database in ("9", "1", "0"):
        client.call("SELECT", database)
        keys = [item[1] for item in client.call("KEYS", "*")[1] if not item[1].endswith(b"old")]
        found.update({"%s %s" % (database, normal(key)): digest[1] for key, digest in zip(keys, client.call("DEBUG", "DIGEST-VALUE", *keys)[1])} if keys else {})
    return found


def difference(one, other):
    """`same`, or the keys of two contents that differ."""
    return "same" if one == other else [key for key in sorted(set(one) | set(other)) if one.get(key) != other.get(key)]


def fields_of(text):
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def numbers(line):
    return {name: int(value) for name, value in re.findall(r"(calls|rejected_calls|failed_calls|count)=(\d+)", line)}


def counted(before, after, without):
    """{what: how it has changed} of two INFOs, for those that have."""
    changes = {}
    for field in sorted(set(after) | set(before)):
        if field.startswith(("cmdstat_", "errorstat_")):
            if field.partition("_")[2] in without:
                continue
            old, new = numbers(before.get(field, "")), numbers(after.get(field, ""))
            changed = {name: new.get(name, 0) - old.get(name, 0) for name in {**old, **new} if new.get(name, 0) != old.get(name, 0)}
            if changed:
                reset = any(n < 0 for n in changed.values())
                changes[field] = "reset" if reset else " ".join("%s=%d" % item for item in sorted(changed.items()))
        elif field in COUNTERS and field not in without:
            difference = int(after.get(field, 0)) - int(before.get(field, 0))
            if difference and not (difference < 0 and field == "rdb_changes_since_last_save"):  # a child that has just ended
                changes[field] = "less" if difference < 0 else str(difference)
    return changes


ASPECTS = ("replies", "connection", "propagated", "events", "counted", "state")


def differing(ours, theirs):
    """[(aspect, ours, theirs)] of two records."""
    found = []
    for aspect in ASPECTS:
        a, b = ours.get(aspect), theirs.get(aspect)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            names = [n for n in sorted(set(a) | set(b)) if a.get(n) != b.get(n)]
            a, b = {n: a.get(n) for n in names}, {n: b.get(n) for n in names}
        found.append((aspect, a, b))
    return found
