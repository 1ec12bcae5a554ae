"""driver.py - runs one stream of commands on two servers and finds the first reply that is not equal.

Commands go out in pipelines. Both servers get theirs before either is waited for, and equal bytes are equal replies:
only where the bytes differ are the replies parsed and compared one by one. After the stream, the data is read back, and
our server loads it again, from what it saves and from its append-only file: nothing may change.

Commands of the driver itself:

    ~PAUSE ms               lets that time pass
    ~SCAN SCAN options      walks the cursor to its end; the reply is that of one call that returned everything
    ~SCAN ZSCAN key options
    ~OURS command        is sent to our server only, which must answer OK
"""
import time

from compare import ENCODING, EXACT, FLOAT, SET_ENCODING, SORTED, STREAM, TIME_MS, equal
from dataset import changed_by_reload, start_file_anew
from resp import Connection, encode, parse_all
from server import is_old
from stream import Command

PIPELINE = 100
SCAN_CALLS_MAX = 20000
REPLY_LIMIT_S = 30


class Difference(Exception):
    def __init__(self, index, command, ours, oracle):
        super().__init__(index)
        self.index, self.command, self.ours, self.oracle = index, command, ours, oracle

    def signature(self):
        """What a person would call the same difference. Shrinking keeps it, so that it does not end at another fault."""
        name = self.command.args[0].upper() if self.command else b"(connection)"
        texts = [reply[1][:40] if reply[0] == b"-" else b"" for reply in (self.ours, self.oracle)]
        return (name, self.ours[0], self.oracle[0], *texts)


class Side:
    """One server, and a connection for each version of the protocol."""

    def __init__(self, server):
        self.server = server
        self.connections = {}

    def connect(self):
        self.close()
        self.connections = {resp: Connection(self.server.host, self.server.port, resp, REPLY_LIMIT_S) for resp in (2, 3)}

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def revive(self):
        """After a crash or a hang."""
        try:
            self.connect()
            self.connections[2].call(b"PING")
        except OSError:
            self.server.stop()
            self.server.start()

    def scan(self, resp, args):
        """Every item that a scan returns until its cursor is 0 again."""
        args = list(args[1:])
        at = 1 if args[0].upper() == b"SCAN" else 2
        args.insert(at, b"0")
        items, kind = [], b"*"
        for _ in range(SCAN_CALLS_MAX):
            reply = self.connections[resp].call(*args)
            if reply[0] == b"-":
                return reply
            cursor, (kind, more) = reply[1]
            items += more
            args[at] = cursor[1]
            if cursor[1] == b"0":
                return (b"*", [cursor, (kind, items)])
        return (b"-", b"the scan does not end")


class Driver:
    def __init__(self, ours, oracle, limits, same_encodings=True, reload=True):
        self.sides = [Side(ours), Side(oracle)]
        self.old = is_old(oracle)
        self.limits = limits
        self.reload = reload
        self.same_encodings = same_encodings
        self.compared = 0
        self.defaults = [self.read_limits(server) for server in (ours, oracle)]

    def read_limits(self, server):
        """The limits as they are now. One that a server does not know shows up in the first stream that sets it."""
        answers = {name: server.admin.call("CONFIG", "GET", name)[1] for name in self.limits}
        return {name: answer[1][1] for name, answer in answers.items() if answer}

    def close(self):
        for side in self.sides:
            side.close()

    def reset(self):
        """Every stream starts from nothing."""
        for side, defaults in zip(self.sides, self.defaults):
            side.connect()
            for name, value in defaults.items():
                side.connections[2].call(b"CONFIG", b"SET", name, value)
            side.connections[2].call(b"FLUSHALL")
            side.connections[2].call(b"SCRIPT", b"FLUSH")
            side.connections[2].call(b"FUNCTION", b"FLUSH")
        if self.reload:
            start_file_anew(self.sides[0].connections[2])

    def run(self, stream, may_reload=True):
        """Raises Difference, whose index is past the stream's end when the data read back was not equal."""
        self.reset()
        at = 0
        while at < len(stream):
            end = self.pipeline_end(stream, at)
            self.batch(stream, at, end)
            at = end
        self.read_back(len(stream))
        if self.reload and may_reload:
            self.load_again(len(stream))

    def load_again(self, at):
        """Our server's data must survive that."""
        changed = self.guard(self.sides[0], at, lambda: changed_by_reload(self.sides[0].connections[2]))
        if changed:
            way, before, after = changed
            raise Difference(at, Command(b"DEBUG", way), (b"after", repr(after).encode()), (b"before", repr(before).encode()))

    def pipeline_end(self, stream, at):
        """Commands of the driver are alone; others go together as long as they share a connection."""
        if stream[at].args[0][:1] == b"~":
            return at + 1
        end = at + 1
        while (end < len(stream) and end - at < PIPELINE and stream[end].resp == stream[at].resp
               and stream[end].args[0][:1] != b"~"):
            end += 1
        return end

    def batch(self, stream, at, end):
        """Runs stream[at:end] and compares the replies."""
        commands, first = stream[at:end], stream[at]
        if first.args[0] == b"~PAUSE":
            time.sleep(int(first.args[1]) / 1000)
            return
        if first.args[0] == b"~OURS":
            reply = self.guard(self.sides[0], at, lambda: self.sides[0].connections[2].call(*first.args[1:]))
            if reply != (b"+", b"OK"):
                raise Difference(at, first, reply, (b"+", b"OK"))
            return
        if first.args[0] == b"~SCAN":
            replies = [[self.guard(side, at, lambda: side.scan(first.resp, first.args))] for side in self.sides]
        else:
            replies = self.exchange(commands, at)
        if replies is None:
            return
        for i, (command, ours, oracle) in enumerate(zip(commands, *replies)):
            if not equal(command.how, ours, oracle, self.old):
                raise Difference(at + i, command, ours, oracle)

    def exchange(self, commands, at):
        """Both servers' replies, or None when they are the same to the byte."""
        resp, last = commands[0].resp, at + len(commands) - 1
        encoded = b"".join([encode(c.args) for c in commands])
        for side in self.sides:
            self.guard(side, last, lambda: side.connections[resp].send(None, encoded))
        raw = [self.guard(side, last, side.connections[resp].receive) for side in self.sides]
        self.compared += len(commands)
        if raw[0] == raw[1]:
            return None
        return [parse_all(r, len(commands)) for r in raw]

    def guard(self, side, at, action):
        """A server that hangs up, dies, or does not answer is different, too."""
        try:
            return action()
        except (OSError, ValueError, IndexError) as e:
            said = (b"!", ("%s: %s" % (type(e).__name__, e)).encode())
            if not isinstance(e, TimeoutError):
                time.sleep(0.3)  # it may be writing its last words
            if not side.server.alive():
                said = (b"!", b"the server died. The end of its log:\n" + side.server.log_tail().encode())
            for other in self.sides:
                other.revive()
            replies = [said if side is s else (b"?", b"") for s in self.sides]
            raise Difference(at, None, *replies) from None

    def read_back(self, at):
        """Compares keys, types, encodings, expiry and contents of the databases that streams use."""
        for db in (1, 0):
            commands = [Command(b"SELECT", db), Command(b"KEYS", b"*", how=SORTED)]
            self.checked(commands, at)
            keys = [item[1] for item in self.sides[1].connections[2].call(b"KEYS", b"*")[1]]
            for start in range(0, len(keys), 20):
                self.checked([c for key in sorted(keys)[start : start + 20] for c in self.look(key)], at)

    def checked(self, commands, at):
        try:
            self.batch(commands, 0, len(commands))
        except Difference as d:
            d.index = at
            raise

    def look(self, key):
        """Commands that show all there is to a key."""
        kind = self.sides[1].connections[2].call(b"TYPE", key)[1]
        commands = [Command(b"TYPE", key), Command(b"PTTL", key, how=TIME_MS)]
        if self.same_encodings:
            commands.append(Command(b"OBJECT", b"ENCODING", key, how=SET_ENCODING if kind == b"set" else ENCODING))
        if kind in CONTENTS:
            commands.append(CONTENTS[kind](key))
        if kind == b"hash" and not self.old:
            fields = sorted(field for _, field in self.sides[1].connections[2].call(b"HKEYS", key)[1])
            if fields:
                commands.append(Command(b"HPEXPIRETIME", key, b"FIELDS", len(fields), *fields, how=TIME_MS))
        return commands


# How to read a type back: a group for a new type adds a line.
CONTENTS = {
    b"string": lambda key: Command(b"GET", key, how=EXACT),
    b"list": lambda key: Command(b"LRANGE", key, 0, -1, how=EXACT),
    b"set": lambda key: Command(b"SMEMBERS", key, how=SORTED),
    b"hash": lambda key: Command(b"HGETALL", key, how=SORTED),
    b"stream": lambda key: Command(b"XINFO", b"STREAM", key, b"FULL", b"COUNT", 0, how=STREAM),
    b"zset": lambda key: Command(b"ZRANGE", key, 0, -1, b"WITHSCORES", how=FLOAT),
}
