"""The clients of the simulation: what they send, and a model of what they must be told and find.

A client has keys of its own, so its replies are known exactly. What it does comes in units: a command, a transaction or
a script, of which all or nothing happens. states[n] is what its keys hold after n units. What is found after a crash
must be one of them.
"""
import select
import socket

NAMES = ("c", "s", "n", "b", "e", "l", "t", "z", "h", "x")
FAR_MS = 4000000000000
SCRIPT = "redis.call('SET',KEYS[1],ARGV[1]) redis.call('RPUSH',KEYS[2],ARGV[1]) return redis.call('HSET',KEYS[3],'script',ARGV[1])"


class Failure(Exception):
    """The server broke a promise."""


class ErrorReply:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return "-" + self.text.decode(errors="replace")


class Incomplete(Exception):
    pass


def encode(words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def parse(data, at):
    end = data.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, line, at = data[at], bytes(data[at + 1:end]), end + 2
    if kind == 43:
        return line, at
    if kind == 45:
        return ErrorReply(line), at
    if kind == 58:
        return int(line), at
    n = int(line)
    if n < 0:
        return None, at
    if kind == 36:
        if len(data) < at + n + 2:
            raise Incomplete
        return bytes(data[at:at + n]), at + n + 2
    items = []
    for _ in range(n):
        item, at = parse(data, at)
        items.append(item)
    return items, at


class Connection:
    """A connection whose replies come in the order of what expects them."""

    def __init__(self, path, poller=None):
        """poller: an epoll that is told of it."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.setblocking(False)
        self.unsent, self.data, self.expected, self.closed = b"", bytearray(), [], False
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
        if poller:
            poller.register(self.sock, select.EPOLLIN)

    def send(self, words, then):
        """then(reply) is called with the reply."""
        self.unsent += encode(words)
        self.expected.append(then)

    def flush(self):
        """Returns whether anything was sent."""
        if not self.unsent or self.closed:
            return False
        try:
            n = self.sock.send(self.unsent)
        except BlockingIOError:
            return False
        except OSError:
            self.closed = True
            return False
        self.unsent = self.unsent[n:]
        return True

    def receive(self):
        while not self.closed:
            try:
                data = self.sock.recv(1 << 18)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
            self.data += data
        at = 0
        try:
            while at < len(self.data):
                reply, at = parse(self.data, at)
                if not self.expected:
                    raise Failure("an unexpected reply: %r" % (reply,))
                self.expected.pop(0)(reply)
        except Incomplete:
            pass
        del self.data[:at]


class Unit:
    """commands: pairs of words and expected reply (...: any). acked: what all clients had been told when it was
    sent."""

    def __init__(self, commands):
        self.commands, self.acked, self.refused = commands, None, False


class Client:
    def __init__(self, index, count):
        self.index, self.db = index, int(index == count - 1 and count > 2)
        self.states = [{}]
        self.units = [None]    # units[n] leads to states[n]
        self.acked = 0         # units that were answered
        self.floor = 0         # units that no loss of power may take
        self.told = []         # (when, acked): for policies that allow a delay
        self.connection = None
        self.due = 0

    @property
    def sent(self):
        return len(self.units) - 1

    def key(self, name):
        return "%s:%d" % (name, self.index)

    def forget_after(self, n):
        del self.states[n + 1:], self.units[n + 1:]
        self.acked = n

    def settle(self, n):
        """Units after which the keys hold the same cannot be told apart: the first of them counts."""
        self.forget_after(n)
        for unit in self.units[1:]:
            unit.acked = ()

    # ---- What it does ----

    def simple(self, state, k, rng):
        """One command that changes `state`; returns its words and its reply."""
        what = rng.randrange(17)
        v = b"%d" % k

        def get(name, empty):
            return state.get(name, empty)

        def put(name, value):
            if value:
                state[name] = value
            else:
                state.pop(name, None)

        if what <= 1:
            put("c", v)
            return ("SET", self.key("c"), v), b"OK"
        if what == 2:
            put("s", get("s", b"") + v + b",")
            return ("APPEND", self.key("s"), v + b","), len(state["s"])
        if what == 3:
            by = rng.randint(1, 9)
            put("n", b"%d" % (int(get("n", b"0")) + by))
            return ("INCRBY", self.key("n"), by), int(state["n"])
        if what == 4:
            size = rng.choice((100, 4096, 20000, 70000))
            put("b", v * (size // len(v)))
            return ("SET", self.key("b"), state["b"]), b"OK"
        if what == 5:
            put("e", (v, FAR_MS + k))
            return ("SET", self.key("e"), v, "PXAT", FAR_MS + k), b"OK"
        if what == 6:
            had = "e" in state
            if had:
                put("e", (state["e"][0], FAR_MS + k))
            return ("PEXPIREAT", self.key("e"), FAR_MS + k), int(had)
        if what in (7, 8):
            left = what == 7 and rng.random() < 0.5
            put("l", (v,) + get("l", ()) if left else get("l", ()) + (v,))
            return ("LPUSH" if left else "RPUSH", self.key("l"), v), len(state["l"])
        if what == 9:
            items = get("l", ())
            put("l", items[1:])
            return ("LPOP", self.key("l")), items[0] if items else None
        if what == 10:
            items = get("t", frozenset())
            put("t", items | {v})
            return ("SADD", self.key("t"), v), int(v not in items)
        if what == 11:
            items = get("t", frozenset())
            gone = min(items) if items else b"none"
            put("t", items - {gone})
            return ("SREM", self.key("t"), gone), int(bool(items))
        if what == 12:
            items = dict(get("z", ()))
            member, score = rng.choice((v, b"same")), rng.randint(0, 99) * 1000 + k
            new = member not in items
            items[member] = score
            put("z", tuple(sorted(items.items())))
            return ("ZADD", self.key("z"), score, member), int(new)
        if what == 13:
            items = dict(get("z", ()))
            items[b"incr"] = items.get(b"incr", 0) + 1
            put("z", tuple(sorted(items.items())))
            return ("ZINCRBY", self.key("z"), 1, "incr"), b"%d" % items[b"incr"]
        if what == 14:
            items = dict(get("h", ()))
            field = rng.choice((b"f%d" % rng.randrange(10), b"f" + v))
            new = field not in items
            items[field] = v
            put("h", tuple(sorted(items.items())))
            return ("HSET", self.key("h"), field, v), int(new)
        if what == 15:
            entries = get("x", ())
            name = b"%d-%d" % (k, len(entries) + 1)
            put("x", entries + ((name, v),))
            return ("XADD", self.key("x"), name, "f", v), name
        name = rng.choice(NAMES)
        had = name in state
        put(name, None)
        return (rng.choice(("DEL", "UNLINK")), self.key(name)), int(had)

    def new_unit(self, rng, others, observe):
        """Appends a unit, and returns it."""
        state, k = dict(self.states[-1]), self.sent + 1
        kind = rng.random()
        if kind < 0.12:
            other = rng.choice([c for c in others if c.db == self.db])
            unit = Unit([(("GET", other.key("c")), lambda reply: observe(other, reply))])
        elif kind < 0.72:
            unit = Unit([self.simple(state, k, rng)])
        elif kind < 0.82:
            items = dict(state.get("h", ()))
            new = b"script" not in items
            items[b"script"] = b"%d" % k
            state["s"] = b"%d" % k
            state["l"] = state.get("l", ()) + (b"%d" % k,)
            state["h"] = tuple(sorted(items.items()))
            unit = Unit([(("EVAL", SCRIPT, 3, self.key("s"), self.key("l"), self.key("h"), k), int(new))])
        else:
            parts = [self.simple(state, k, rng) for _ in range(rng.randint(1, 4))]
            state["log"] = state.get("log", ()) + (b"%d:%d" % (self.index, k),)
            parts.append((("RPUSH", "log", state["log"][-1]), ...))
            replies = [reply for _, reply in parts]
            unit = Unit([(("MULTI",), b"OK")] + [(words, b"QUEUED") for words, _ in parts] + [(("EXEC",), replies)])
        unit.acked = [c.acked for c in others]
        self.states.append(state)
        self.units.append(unit)
        return unit

    # ---- What it finds ----

    def questions(self):
        key = self.key
        ask = [("GET", key(name)) for name in ("c", "s", "n", "b", "e")]
        return ask + [("PEXPIRETIME", key("e")), ("LRANGE", key("l"), 0, -1), ("SMEMBERS", key("t")),
                      ("ZRANGE", key("z"), 0, -1, "WITHSCORES"), ("HGETALL", key("h")), ("XRANGE", key("x"), "-", "+"),
                      ("LRANGE", "log", 0, -1)]

    def found_state(self, replies):
        c, s, n, b, e, expire, items, members, scores, fields, entries, log = replies
        pairs = lambda flat: list(zip(flat[::2], flat[1::2]))
        state = {"c": c, "s": s, "n": n, "b": b, "e": e and (e, expire), "l": tuple(items), "t": frozenset(members),
                 "z": tuple(sorted((m, int(v)) for m, v in pairs(scores))), "h": tuple(sorted(pairs(fields))),
                 "x": tuple((at, f[1]) for at, f in entries),
                 "log": tuple(x for x in log if x.startswith(b"%d:" % self.index))}
        return {name: value for name, value in state.items() if value}

    def match(self, state, least):
        """The most units after which the keys hold this."""
        for n in range(self.sent, least - 1, -1):
            if self.states[n] == state:
                return n
        why = next(("only the first %d units are there" % n for n in range(least - 1, -1, -1) if self.states[n] == state),
                   "what is there is the state after no unit")
        nearest = self.states[least]
        differs = "".join("    after unit %d: %s = %.100r, found: %.100r\n" % (least, self.key(name), nearest.get(name), state.get(name))
                          for name in (*NAMES, "log") if nearest.get(name) != state.get(name))
        raise Failure("client %d: %d units may not be lost, %d were sent; %s\n%s" %
                      (self.index, least, self.sent, why, differs))
