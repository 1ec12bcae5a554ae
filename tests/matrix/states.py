"""states.py - the states of a server and of a connection in which every command is run, and how they are reached.

A Side is one of the two programs: its servers, of which `node` is the one that gets the commands, and the observers
(`admin`, `events`, `follower`). A State is a class. `build` starts servers for one side; `enter` makes the state, as
cheaply as it can, and `leave` ends it, so that the dataset can be made again: both are called before and after a case
that has changed the data. `connect` returns the client that sends the command, `exchange` sends it and returns the
replies. `Side.fingerprint` finds what else a command has broken, and the servers are then built again.

The classes are listed by `all_states`; their names are those of --states and of the file of accepted differences.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
for folder in ("replication", "differential"):
    sys.path.insert(0, os.path.join(top, "tests", folder))

from nodes import Failed, Node, SETTINGS, wait_until
from resp import encode
from arguments import ALL_KEYS, FIXTURES, LIBRARY, PAYLOAD, PREFIX
from newer import fixtures
from observe import CLOSED, EVENTS, GAUGES, NOTHING, Client, Follower, contents, counted, difference, fields_of, normal, reply_class

GONE = "the state has ended"
PATIENCE_S = 0.015  # until the server is asked whether it has seen the command
DATA_GROUPS = {"string", "list", "set", "sorted-set", "hash", "stream", "geo", "hyperloglog", "bitmap", "pathhash"}
QUIET = {"repl-timeout": "3600", "repl-ping-replica-period": "3600", "notify-keyspace-events": EVENTS, "enable-module-command": "yes",
         "busy-reply-threshold": "1", "shutdown-timeout": "0", "latency-tracking": "no", "repl-diskless-sync": "no",
         "cluster-node-timeout": "60000", "stop-writes-on-bgsave-error": "yes", "enable-debug-command": "yes", "slowlog-log-slower-than": "-1"}
SELF_MADE = {"info", "ping", "client|list", "time"}  # commands that the observers use as often as they need


class MatrixNode(Node):
    def defaults(self):
        return dict(SETTINGS, **QUIET)


class LoadingNode(MatrixNode):
    def start(self, wait=False):
        super().start(wait=False)


class Broken(Exception):
    """The state is not what it was; the servers are built again."""


class Side:
    def __init__(self, kind, program, ports):
        self.kind, self.program, self.ports = kind, program, ports
        self.nodes, self.node, self.admin, self.events, self.follower = [], None, None, None, None
        self.words, self.tag, self.facts = {}, "{t}", None
        self.newer = False  # the commands that follow are those of newer.py
        self.mirror = None  # a client of a replica that has the data

    def start(self, settings=None):
        node = MatrixNode(self.kind, self.program, self.ports.take(), settings)
        self.nodes.append(node)
        return node

    def start_loading(self, settings, files):
        """A server that finds these files, {name: a path, or the contents}; it is not waited for."""
        folder = tempfile.mkdtemp(prefix="matrix-")
        for name, source in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if isinstance(source, bytes):
                with open(path, "wb") as f:
                    f.write(source)
            else:
                os.link(source, path)
        node = LoadingNode(self.kind, self.program, self.ports.take(), settings, folder)
        self.nodes.append(node)
        return node

    def kept(self, name):
        """A copy of a file of the server that stays until the end of the run."""
        self.folder = tempfile.mkdtemp(prefix="matrix-kept-")
        return shutil.copy(os.path.join(self.node.folder, name), self.folder)

    def forget(self):
        complaints = self.stop()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)
        return complaints

    def stop(self):
        """Returns what the servers' logs complain of."""
        complaints = []
        for client in (self.admin, self.events, self.mirror, self.follower and self.follower.client):
            if client:
                client.close()
        for node in self.nodes:
            if node.alive():
                node.process.send_signal(signal.SIGCONT)
            complaints.append(node.remove())
        self.nodes, self.node, self.admin, self.events, self.follower, self.facts, self.mirror = [], None, None, None, None, None, None
        return [text for text in complaints if text]

    # ---- Observers ----

    def look_on(self, follows=True):
        self.admin = self.admin if self.admin and not self.admin.closed else Client("127.0.0.1", self.node.port)
        if not self.events or self.events.closed:
            self.events = Client("127.0.0.1", self.node.port, resp=3)
            self.events.call("PSUBSCRIBE", "__keyevent@*__:*")
        if follows and (not self.follower or self.follower.closed()):
            self.follower = Follower("127.0.0.1", self.node.port)
            # FLUSHALL would kill the child, and the link with it.
            wait_until("the child has ended", lambda: self.info()["rdb_bgsave_in_progress"] == "0", pause_s=0.002)
            self.follower.start_stream()

    def start_mirror(self):
        node = self.start()
        node.follow(self.node)
        node.wait_linked()
        wait_until("the child has ended", lambda: self.info()["rdb_bgsave_in_progress"] == "0", pause_s=0.002)
        self.mirror = Client("127.0.0.1", node.port)

    def compare_with_mirror(self):
        """`same`, or the keys that differ here and in the replica."""
        offset = self.info()["master_repl_offset"]
        wait_until("the replica has all", lambda: fields_of(self.mirror.call("INFO", "replication")[1].decode())["master_repl_offset"] == offset, pause_s=0.001)
        return difference(contents(self.admin), contents(self.mirror))

    def ask(self, *words):
        reply = self.admin.call(*words)
        if reply in (CLOSED, NOTHING):
            raise Broken("%s: %s" % (words[0], reply[1].decode()))
        return reply

    def must(self, *words):
        reply = self.ask(*words)
        if reply[0] == b"-":
            raise Failed("%s: %s: %s" % (self.kind, " ".join(map(str, words))[:60], reply[1].decode()))
        return reply

    def info(self):
        text = self.ask("INFO", "everything")[1]
        return fields_of(text.decode("latin-1"))

    def take_events(self):
        """[event at key] since the last time."""
        self.events.send(("TIME",))
        found = []
        while True:
            reply = self.events.next(3)
            if reply[0] != b">":
                return found if reply != CLOSED else found + ["closed"]
            words = [item[1] for item in reply[1]]
            if words[0] == b"pmessage":
                found.append("%s %s" % (normal(words[2]), normal(words[3])))

    def take_stream(self, info):
        return self.follower.read_to(int(info["master_repl_offset"])) if self.follower else []

    def fill_in(self, words):
        """A case's arguments with the names of this side in place of their markers."""
        replaced = []
        for word in words:
            for name, value in self.words.items():
                word = value if word == name else word.replace(name, value) if len(name) > 5 or name == b"{t}" else word
            replaced.append(word)
        return replaced


def names_of(side):
    """The markers in cases for values that a server has made."""
    own = side.node.reply("CLUSTER", "MYID")
    side.words = {
        b"{t}": side.tag.encode(), b"{dump}": PAYLOAD,
        b"{functions}": side.must("FUNCTION", "DUMP")[1], b"{sha}": side.must("SCRIPT", "LOAD", "return 1")[1],
        b"{slot}": b"%d" % slot_of(side.tag), b"{self}": own[1] if own[0] == b"$" else b"self", b"{peer}": side.peer_id if hasattr(side, "peer_id") else b"peer",
    }


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return crc


def slot_of(tag):
    return crc16(tag.strip("{}").encode()) % 16384


class State:
    name = "idle"
    settings = {}
    follows = True     # the server takes a replica in this state
    looks = True       # keyspace events can be seen
    mirrors = True     # a second replica does not end the state, and gets all that the server changes
    newer_only = False # for the commands of newer.py alone
    tag = "{t}"
    resp = 2
    sampled = True     # it is in the sample of `make test`
    uncounted = set()  # fields of INFO that chance decides in this state
    prelude = ()       # what the client sends before

    def build(self, side):
        side.node = side.start(self.settings)
        side.tag = self.tag

    def prepare(self, side):
        """After build: all that there is only once."""
        side.look_on(follows=False)
        self.fill(side)
        names_of(side)
        self.enter(side)
        side.look_on(self.follows)
        side.facts = self.fingerprint(side)

    def start_newer(self, side):
        """Before the first command of newer.py."""
        side.newer = True
        self.refill(side)
        if side.kind == "ours" and self.follows and self.mirrors:
            side.start_mirror()

    # ---- The dataset ----

    def data_tag(self, side):
        return side.tag

    def dataset(self, side):
        return [[word.replace(PREFIX, self.data_tag(side)) for word in words] for words in FIXTURES + fixtures(side)]

    def fill(self, side):
        dataset = self.dataset(side)
        for words in (("FLUSHALL",), ("FUNCTION", "FLUSH"), ("SCRIPT", "FLUSH"), ("DEBUG", "SET-ACTIVE-EXPIRE", "0"), ("FUNCTION", "LOAD", LIBRARY),
                      ("SCRIPT", "LOAD", "return 1"), *dataset):
            side.admin.send(words)
        for _ in range(6 + len(dataset)):
            reply = side.admin.next()
            if reply[0] == b"-" or reply in (CLOSED, NOTHING):
                raise Broken("the dataset: %r" % (reply,))
        time.sleep(0.002)  # until `old` has expired

    def refill(self, side):
        self.leave(side)
        self.fill(side)
        self.enter(side)

    # ---- The state ----

    def enter(self, side):
        pass

    def leave(self, side):
        pass

    def hold(self, side):
        """Begins what lasts only while one case is run."""

    def release(self, side):
        """Ends it."""

    def fingerprint(self, side):
        """What a command must not have changed permanently."""
        config = side.ask("CONFIG", "GET", "*")[1]
        role = side.ask("ROLE")[1]
        return {"config": [item[1] for item in config], "users": [item[1] for item in side.ask("ACL", "LIST")[1]],
                "role": repr(role[0] if not role or role[0][1] != b"slave" else [item[1] for item in role[:4]]), "more": self.more_facts(side)}

    def more_facts(self, side):
        return None

    def repair(self, side, facts):
        """Repairs what is cheap to repair."""
        old, new = (dict(zip(f["config"][::2], f["config"][1::2])) for f in (side.facts, facts))
        for name, value in old.items():
            if new.get(name) != value:
                side.ask("CONFIG", "SET", name, value)
        if facts["users"] != side.facts["users"]:
            for line in facts["users"]:
                if line.split()[1] != b"default":
                    side.ask("ACL", "DELUSER" if line.startswith(b"user") else "DELROLE", line.split()[1])
            for line in side.facts["users"]:
                side.ask("ACL", "SETUSER", line.split()[1], "reset", *line.split()[2:])
        if facts["role"] != side.facts["role"] and b"slave" not in side.facts["role"].encode():
            side.ask("REPLICAOF", "NO", "ONE")

    def is_there(self, side):
        """Whether a state that ends by itself is still there."""
        return True

    # ---- The connection ----

    def connect(self, side):
        client = Client("127.0.0.1", side.node.port, self.resp)
        for words in self.prelude:
            client.call(*[word.replace(PREFIX, side.tag) for word in words])
        return client

    def commands(self, side, words):
        return [words]

    def answer(self, side, client):
        """A reply; NOTHING is sure, as the server has looked at its clients since it was sent."""
        reply = client.next(PATIENCE_S if not client.takes_snapshot else 5)
        for _ in range(2):
            if reply != NOTHING:
                return reply
            side.admin.call("TIME", limit_s=self.admin_limit_s)
            reply = client.next(PATIENCE_S if not client.buffer else 10)
        return reply

    admin_limit_s = 10

    def exchange(self, side, client, words):
        replies = []
        for command in self.commands(side, words):
            client.send(command)
            replies.append(self.answer(side, client))
            if replies[-1] in (NOTHING, CLOSED):
                break
        return replies

    def probe(self, side, client, replies):
        """The next reply of the connection."""
        if replies[-1] == NOTHING or client.closed:
            return []
        client.send(("PING",))
        return [self.answer(side, client)]


def run_case(state, side, case):
    """The record of one case on one side; side.dirty and side.broken tell the caller what to do before the next."""
    side.dirty, side.broken = False, None
    record, words = {}, side.fill_in(case.words)
    try:
        client = state.connect(side)
        client.takes_snapshot = case.name == "sync"
        state.hold(side)
        before = side.info() 
        if side.follower:
            side.take_stream(before)
        if state.looks:
            side.take_events()
        replies = state.exchange(side, client, words)
        late = []
        if case.name not in ("monitor", "sync", "psync") or replies[0][0] == b"-":
            late = state.probe(side, client, replies)
        record["replies"] = [reply_class(reply) for reply in replies]
        record["connection"] = [reply_class(reply) for reply in late] + (["closed"] if client.closed else [])
        observe(state, side, case, client, record, before)
        client.close()
    except (OSError, Broken, ValueError, IndexError, KeyError) as problem:
        side.broken = "%s: %s" % (type(problem).__name__, problem)
        record.setdefault("replies", ["closed"])
        ended(side, record)
        return record
    check_up(state, side, case, record)
    try:
        if not state.is_there(side):
            side.broken = GONE
    except (OSError, Broken, ValueError, IndexError, KeyError):
        pass  # the server has ended, which check_up has noted
    return record


def no_case(side):
    """The record of a side that has nothing to run."""
    side.dirty, side.broken = False, None
    return {}


def observe(state, side, case, client, record, before):
    if client.closed and case.name == "shutdown":
        time.sleep(0.05)
        if ended(side, record):
            raise Broken("it has ended")
    gauges = side.info()
    state.release(side)
    after = side.info()
    base = case.name.partition("|")[0]
    library = normal(side.words[b"{functions}"])
    record["propagated"] = [line.replace(library, "{functions}") for line in side.take_stream(after)]
    side.dirty = bool(record["propagated"]) or case.group in ("scripting", "server", "transactions")
    if state.looks:
        record["events"] = side.take_events()
    changes = counted(before, after, SELF_MADE | state.uncounted | (set() if base == "debug" else {"debug"}))
    leave_out_chance(case, record, changes)
    if case.name == "config|resetstat":
        changes.clear()  # what there was to reset depends on earlier cases
    if base in ("bgsave", "save", "bgrewriteaof", "debug", "sync", "psync"):
        changes.pop("rdb_changes_since_last_save", None)
    record["counted"] = changes
    if side.mirror:
        record["data"] = side.compare_with_mirror()
    elif state.newer_only and side.kind == "ours":
        record["data"] = side.reloaded
    record["state"] = {name: gauges.get(name) for name in GAUGES}
    side.dirty = side.dirty or bool(changes.get("rdb_changes_since_last_save"))


# Commands that take members at random, and those that meet the expired key or do not, by the order of a hash table.
RANDOM = {"spop", "srandmember", "hrandfield", "zrandmember"}
UNORDERED = {"randomkey", "scan", "clusterscan"}


def leave_out_chance(case, record, changes):
    if case.name in RANDOM:
        record["propagated"] = [" ".join(line.split()[:2]) for line in record["propagated"]]
    if case.name == "cluster|migrateslots":  # when the slot has gone is a matter of time
        record["propagated"] = [line for line in record["propagated"] if "CLUSTER FLUSHSLOT" not in line]
    if case.name in UNORDERED:
        record["propagated"] = [line for line in record["propagated"] if not line.endswith("old")]
        record["events"] = [line for line in record.get("events", []) if "expired" not in line]
        changes.pop("expired_keys", None)


def ended(side, record):
    """Whether the server has ended; with which code, if so."""
    if side.node is None or side.node.process.poll() is None:
        return False
    record["connection"] = ["exit code %d" % side.node.process.returncode]
    return True


def check_up(state, side, case, record):
    """Finds out whether the state has to be repaired, and does it where it is cheap."""
    if case.group in DATA_GROUPS:
        return
    try:
        deadline = time.monotonic() + 20
        while True:
            info = side.info()
            if not any(info.get(name, "0") != "0" for name in ("rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled")):
                break
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        side.ask("CLIENT", "UNPAUSE")
        facts = state.fingerprint(side)
        if facts != side.facts:
            state.repair(side, facts)
            facts = state.fingerprint(side)
            if facts != side.facts:
                side.broken = "changed: %s" % [name for name in facts if facts[name] != side.facts[name]]
                return
            side.dirty = True
        side.look_on(state.follows)
    except (OSError, Broken, ValueError, IndexError) as problem:
        ended(side, record)
        side.broken = "%s: %s" % (type(problem).__name__, problem)


# ---- The connection ----

class Resp3(State):
    name, resp = "resp3", 3


class Threads(State):
    """Every connection is an I/O thread's."""
    name, settings = "io-threads", {"io-threads": "3", "io-threads-always-active": "yes"}


class Database(State):
    name, prelude = "database-9", (("SELECT", "9"),)


class Multi(State):
    name = "multi"

    def commands(self, side, words):
        return [("MULTI",), words, ("EXEC",)]


class MultiOld(State):
    """A transaction in which a command before has failed."""
    name = "multi-failed"

    def commands(self, side, words):
        return [("MULTI",), ("NOTHING",), words, ("EXEC",)]


class Watch(State):
    """The connection watches all keys; another one sends the command."""
    name = "watch"

    def exchange(self, side, client, words):
        watcher = Client("127.0.0.1", side.node.port)
        watcher.call("WATCH", *[side.tag + key for key in ALL_KEYS + ["old", "gone", "gone2"]])
        replies = super().exchange(side, client, words)
        replies += [watcher.call(*words) for words in (("MULTI",), ("ECHO", "x"), ("EXEC",))]
        watcher.close()
        return replies


class Watching(State):
    """The connection itself watches a key and then sends the command."""
    name, prelude = "watching", (("WATCH", "{t}string", "{t}list", "{t}old"),)

    def commands(self, side, words):
        return [words, ("MULTI",), ("EXEC",)]


class Subscribed2(State):
    name, prelude = "subscribed-resp2", (("SUBSCRIBE", "mine"),)


class Subscribed3(State):
    name, prelude, resp = "subscribed-resp3", (("SUBSCRIBE", "mine"),), 3


class Tracking(State):
    name, prelude, resp = "tracking", (("CLIENT", "TRACKING", "ON"), ("GET", "{t}string")), 3


class NoTouch(State):
    name = "reply-skip"

    def commands(self, side, words):
        return [("CLIENT", "REPLY", "SKIP"), words, ("ECHO", "x")]

    def exchange(self, side, client, words):
        for command in self.commands(side, words):
            client.send(command)
        return [self.answer(side, client)]


class Behind(State):
    """The command waits on its connection behind a blocked one, which is then unblocked."""
    name = "behind-blocked"

    def exchange(self, side, client, words):
        client.send(("BLPOP", side.tag + "nothing", "0"))
        client.send(words)
        replies = [self.answer(side, client)]
        side.must("LPUSH", side.tag + "nothing", "x")
        return replies + [self.answer(side, client), self.answer(side, client)]


class Bystanders(State):
    """Other clients are blocked on keys that do not exist and on a stream, and may be served by the command."""
    name = "blocked-others"
    waiting = (("BLPOP", "{t}gone", "0"), ("BZPOPMIN", "{t}gone2", "0"), ("XREAD", "BLOCK", "0", "STREAMS", "{t}stream", "$"),
               ("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "{t}stream", ">"), ("BLMOVE", "{t}gone2", "{t}list", "LEFT", "LEFT", "0"))

    def hold(self, side):
        side.must("XREADGROUP", "GROUP", "g", "c", "STREAMS", side.tag + "stream", ">")
        side.others = [Client("127.0.0.1", side.node.port) for _ in self.waiting]
        for n, (other, command) in enumerate(zip(side.others, self.waiting), 1):
            other.send([word.replace(PREFIX, side.tag) for word in command])
            wait_until("it is blocked", lambda: side.info()["blocked_clients"] == str(n), pause_s=0.001)

    def exchange(self, side, client, words):
        replies = super().exchange(side, client, words)
        side.admin.call("TIME")
        return replies + [other.next(0.003) for other in side.others]

    def release(self, side):
        for other in side.others:
            other.close()


class Script(State):
    """A script calls the command, and the arguments of the call are its arguments."""
    caller = ("EVAL", "return server.pcall(unpack(ARGV))", "0")

    def commands(self, side, words):
        return [[*self.caller, *words]]


def script(name, *caller, sampled=True):
    return type("Script_" + name, (Script,), {"name": name, "caller": caller, "sampled": sampled})


class Module(Script):
    mirrors = False  # the module does not ask for propagation

    def build(self, side):
        super().build(side)
        side.node.call("MODULE", "LOAD", module_so())

    def exchange(self, side, client, words):
        """errno, the type, and the beginning of the reply that the module got, which it returns as bytes."""
        return [(b"+", b" ".join(str(item[1]).encode() for item in reply[1][:2]) + b" " + self.outline(reply)) if reply[0] == b"*" and reply[1] else reply
                for reply in super().exchange(side, client, words)]

    def outline(self, reply):
        text = reply[1][2][1] if len(reply[1]) > 2 else b""
        return text.partition(b"\r\n")[0] if text[:1] in (b"-", b"+") else text[:1]


def module_so():
    """tests/modules/call.c as a shared object, under a name that depends on its source."""
    source = os.path.join(top, "tests", "modules", "call.c")
    with open(source, "rb") as f:
        path = os.path.join(top, "build", "modules", "matrix-call-%08x.so" % zlib.crc32(f.read()))
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-I" + os.path.join(top, "src"), "-o", "%s.%d" % (path, os.getpid()), source], check=True)
        os.rename("%s.%d" % (path, os.getpid()), path)
    return path


def module_call(letters):
    return type("Module_" + letters, (Module,), {"name": "module-call-" + (letters if letters != "-" else "plain"), "caller": ("call.do", letters)})


# ---- Users ----

class Limited(State):
    rules = ()

    def build(self, side):
        super().build(side)
        side.node.call("ACL", "SETUSER", "limited", "on", ">password", *self.rules)

    def connect(self, side):
        client = Client("127.0.0.1", side.node.port)
        client.call("AUTH", "limited", "password")
        return client


def user(name, *rules):
    return type("User_" + name, (Limited,), {"name": "user-" + name, "rules": rules})


class Unauthenticated(State):
    name, mirrors = "user-none", False

    def build(self, side):
        super().build(side)
        side.node.call("ACL", "SETUSER", "root", "on", "nopass", "~*", "&*", "+@all")
        side.node.close()

    def enter(self, side):
        side.admin.call("AUTH", "root", "x")
        side.must("ACL", "SETUSER", "default", "resetpass", ">password")

    def leave(self, side):
        side.must("ACL", "SETUSER", "default", "nopass")

    def prepare(self, side):
        side.look_on()
        self.fill(side)
        names_of(side)
        side.node.close()
        self.enter(side)
        side.facts = self.fingerprint(side)


# ---- What a server refuses ----

class Configured(State):
    """A state that directives make."""
    on, off = {}, {}

    def enter(self, side):
        for name, value in self.on.items():
            side.must("CONFIG", "SET", name, value)

    def leave(self, side):
        for name, value in self.off.items():
            side.must("CONFIG", "SET", name, value)


def configured(name, on, off, **more):
    return type("Configured_" + name, (Configured,), dict({"name": name, "on": on, "off": off}, **more))


class Misconf(Configured):
    mirrors = False  # a replica's PING is refused, too
    name, on, off, settings = "misconf", {"save": "3600 1000000"}, {"save": ""}, {"dbfilename": "occupied", "repl-diskless-sync": "yes"}

    def build(self, side):
        super().build(side)
        os.mkdir(os.path.join(side.node.folder, "occupied"))

    def enter(self, side):
        super().enter(side)
        if side.info()["rdb_last_bgsave_status"] == "ok":
            side.must("BGSAVE")
            wait_until("BGSAVE fails", lambda: side.info()["rdb_last_bgsave_status"] == "err")

    def more_facts(self, side):
        return side.info()["rdb_last_bgsave_status"]


# ---- What holds clients ----

class Paused(State):
    """Writes are paused while the command is sent, and then again allowed."""
    name, mode = "paused-write", "WRITE"

    def hold(self, side):
        side.must("CLIENT", "PAUSE", "100000", self.mode)

    def exchange(self, side, client, words):
        replies = super().exchange(side, client, words)
        if replies[-1] == NOTHING:
            side.ask("CLIENT", "UNPAUSE")
            replies.append(self.answer(side, client))
        return replies

    def release(self, side):
        side.ask("CLIENT", "UNPAUSE")


class PausedMulti(Paused):
    name = "paused-multi"

    def commands(self, side, words):
        return [("MULTI",), words, ("EXEC",)]


class PausedAll(Paused):
    """No client can end that pause, so it is short, and the server is not inspected before it ends."""
    name, mode, admin_limit_s, sampled = "paused-all", "ALL", 0.005, False
    pause_ms = 120

    def hold(self, side):
        pass

    def exchange(self, side, client, words):
        side.must("CLIENT", "PAUSE", self.pause_ms, self.mode)
        client.send(words)
        first = client.next(self.pause_ms / 2000)
        if first != NOTHING:
            time.sleep(self.pause_ms / 1000)
            return [first]
        return [first, self.answer_after(side, client)]

    def answer_after(self, side, client):
        reply = client.next(self.pause_ms / 1000)
        if reply == NOTHING:
            side.admin.call("TIME")
            reply = client.next(0.05)
        return reply

    def probe(self, side, client, replies):
        side.admin.call("TIME")
        return State.probe(self, side, client, replies)

    def answer(self, side, client):
        return client.next(1)


class Busy(State):
    """A script runs until the client that has subscribed to `go` is reset, which a busy server allows."""
    uncounted = {"pubsub|numsub"}  # as often as the time allows
    name, script, admin_limit_s = "busy", "while server.call('pubsub', 'numsub', 'go')[2] > 0 do end return 'ended'", 3

    def hold(self, side):
        pass

    def begin(self, side):
        side.gate, side.busy = (Client("127.0.0.1", side.node.port) for _ in range(2))
        side.gate.call("SUBSCRIBE", "go")
        side.busy.send(("EVAL", self.script, "1", side.tag + "busy"))
        deadline = time.monotonic() + 10
        while not side.admin.call("PING")[1].startswith(b"BUSY"):
            if time.monotonic() > deadline:
                raise Broken("the script is not busy")

    def end(self, side):
        side.gate.send(("RESET",))
        ended = side.busy.next(10)
        side.busy.close()
        side.gate.close()
        return ended

    def exchange(self, side, client, words):
        self.begin(side)
        client.send(words)
        first = client.next(2)
        replies = [first, self.end(side)]
        if first == NOTHING:
            replies.append(self.answer(side, client))
        return replies


class BusyWrite(Busy):
    name, script = "busy-after-write", "server.call('set', KEYS[1], 'v') " + Busy.script


class BusyMulti(Busy):
    name = "busy-multi"

    def exchange(self, side, client, words):
        client.call("MULTI")
        replies = super().exchange(side, client, words)
        return replies + [client.call("EXEC")]


class BusyFunction(Busy):
    name, mirrors = "busy-function", False  # each case loads a function, a change without an event

    def begin(self, side):
        code = "#!lua name=busy\nserver.register_function('busy', function(KEYS) %s end)" % Busy.script
        side.must("FUNCTION", "LOAD", "REPLACE", code)
        side.gate, side.busy = (Client("127.0.0.1", side.node.port) for _ in range(2))
        side.gate.call("SUBSCRIBE", "go")
        side.busy.send(("FCALL", "busy", "0"))
        deadline = time.monotonic() + 10
        while not side.admin.call("PING")[1].startswith(b"BUSY"):
            if time.monotonic() > deadline:
                raise Broken("the function is not busy")


# ---- Loading ----

class LoadingRdb(State):
    """The servers load a file that is long enough for many cases, and start again when it ends."""
    name, follows, looks = "loading-rdb", False, False
    loading = {"key-load-delay": "1000", "loading-process-events-interval-bytes": "1024"}

    def build(self, side):
        side.tag = self.tag
        if not hasattr(side, "file"):
            self.make_file(side)
        side.node = side.start_loading(dict(self.settings, **self.loading), self.place(side.file))

    def make_file(self, side):
        side.node = side.start()
        side.look_on(follows=False)
        self.fill(side)
        names_of(side)
        for i in range(20000):
            side.admin.send(("SET", "filler:%d" % i, os.urandom(1100)))  # clients are served after so many bytes
        for i in range(20000):
            side.admin.next()
        side.must("SAVE")
        side.file = side.kept("dump.rdb")
        side.stop()

    def place(self, file):
        """Where the file is in a server's folder."""
        return {"dump.rdb": file}

    def prepare(self, side):
        def loading():
            side.admin = Client("127.0.0.1", side.node.port)
            return side.info().get("loading") == "1"
        wait_until("it loads", loading)
        side.look_on(follows=False)
        side.facts = self.fingerprint(side)

    def refill(self, side):
        """Nothing can have changed."""

    def is_there(self, side):
        return side.info().get("loading") == "1"

    def answer(self, side, client):
        return client.next(2)


class LoadingAof(LoadingRdb):
    name, settings, loading = "loading-aof", {"appendonly": "yes"}, {"loading-process-events-interval-bytes": "16384"}
    manifest = b"file appendonly.aof.1.incr.aof seq 1 type i\n"

    def make_file(self, side):
        super().make_file(side)
        with open(side.file, "wb") as f:
            f.write(b"".join(encode([word.encode() for word in words]) for words in self.dataset(side)))
            for _ in range(4000):  # clients are served after every 1,024 commands
                f.write(encode([b"PING"]) * 1023 + encode([b"DEBUG", b"SLEEP", b"0.002"]))

    def place(self, file):
        return {"appendonlydir/appendonly.aof.1.incr.aof": file, "appendonlydir/appendonly.aof.manifest": self.manifest}


# ---- Replayed from a file ----

class Replayed(State):
    """The command is in the append-only file, after the dataset; DEBUG LOADAOF loads it."""
    # The dataset is loaded as well, functions included; its counters are not those of the command.
    uncounted = {"config|get", "keyspace_hits", "rdb_changes_since_last_save"}
    name, follows, settings = "aof", False, {"appendonly": "yes", "appendfsync": "no", "auto-aof-rewrite-percentage": "0"}

    def prefix(self, side):
        return []

    def exchange(self, side, client, words):
        path = glob.glob(os.path.join(side.node.folder, "appendonlydir", "*.incr.aof"))[-1]
        commands = [("SELECT", "0"), ("FLUSHALL",), ("FUNCTION", "LOAD", "REPLACE", LIBRARY), *self.dataset(side), *self.commands(side, words)]
        with open(path, "r+b") as f:
            f.truncate(0)
            f.write(b"".join(encode([w if isinstance(w, bytes) else w.encode() for w in command]) for command in commands))
        client.send(("DEBUG", "LOADAOF"))
        reply = client.next(10)
        if reply == CLOSED:
            return [reply]
        return [reply, *self.dump(side)] if words[0] != b"SPOP" else [reply]

    def dump(self, side):
        """The current data, except for the key that expires meanwhile."""
        time.sleep(0.002)  # until what the command has made to expire at once has done so
        keys = sorted(item[1] for item in side.ask("KEYS", "*")[1] if not item[1].endswith(b"old"))
        contents = []
        for key in keys:
            reply = side.ask(*READ.get(side.ask("TYPE", key)[1], lambda key: ("TYPE", key))(key))
            contents.append(sorted(reply[1], key=repr) if reply[0] == b"*" else reply[1])
        text = re.sub(r"\d{13,}-\d+", "<id>", repr(contents))  # an entry's, made of the time
        return [(b"+", b" ".join(keys)[:190]), (b"+", b"%08x" % zlib.crc32(text.encode()))]

    def dataset(self, side):
        """`old` expires before the file is loaded, not meanwhile."""
        return [words[:-2] + ("PXAT", "1") if words[-2] == "PX" else words for words in map(tuple, super().dataset(side))]

    def more_facts(self, side):
        return None


# How a value is read back, by its type.
READ = {b"string": lambda key: ("GETRANGE", key, 0, 3) if b"hll" in key else ("GET", key), b"list": lambda key: ("LRANGE", key, 0, -1),
        b"set": lambda key: ("SMEMBERS", key), b"zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"), b"hash": lambda key: ("HGETALL", key),
        b"stream": lambda key: ("XRANGE", key, "-", "+")}


class ReplayedMulti(Replayed):
    name = "aof-multi"

    def commands(self, side, words):
        return [("MULTI",), words, ("EXEC",)]


class Reloaded(State):
    """The data is loaded from the server's own append-only file after the command, and must be the same."""
    name, newer_only, follows, looks = "aof-reload", True, False, False
    settings = {"appendonly": "yes", "appendfsync": "no", "auto-aof-rewrite-percentage": "0"}

    def exchange(self, side, client, words):
        replies = super().exchange(side, client, words)
        if side.kind == "ours":
            before = contents(side.admin)
            side.must("DEBUG", "LOADAOF")
            side.reloaded = difference(before, contents(side.admin))
        return replies


def all_states():
    import links
    import slots
    users = [user("read", "~*", "&*", "+@read"), user("no-keys", "&*", "+@all"), user("read-keys", "%R~*", "&*", "+@all"),
             user("write-keys", "%W~*", "&*", "+@all"), user("no-channels", "~*", "+@all"), user("no-admin", "~*", "&*", "+@all", "-@dangerous", "-@admin"),
             user("some-keys", "~{t}string", "~{t}gone", "&*", "+@all", "(+get ~{t}*)"), user("database-1", "~*", "&*", "+@all", "db=1"),
             user("database-0", "~*", "&*", "+@all", "db=0")]
    scripts = [script("eval", *Script.caller), script("eval-ro", "EVAL_RO", *Script.caller[1:]),
               script("eval-shebang", "EVAL", "#!lua\nreturn server.pcall(unpack(ARGV))", "0"),
               script("eval-no-writes", "EVAL", "#!lua flags=no-writes\nreturn server.pcall(unpack(ARGV))", "0"),
               script("eval-call", "EVAL", "return server.call(unpack(ARGV))", "0", sampled=False),
               script("fcall", "FCALL", "call", "0"), script("fcall-ro", "FCALL_RO", "ro", "0")]
    over = {"maxmemory": "1"}, {"maxmemory": "0"}
    refused = [
        configured("oom", *over), configured("oom-import", {"import-mode": "yes", "maxmemory": "1"}, {"import-mode": "no", "maxmemory": "0"}),
        configured("import-mode", {"import-mode": "yes"}, {"import-mode": "no"}),
        configured("import-source", {"import-mode": "yes"}, {"import-mode": "no"}, prelude=(("CLIENT", "IMPORT-SOURCE", "ON"),)),
        configured("no-replicas", {"min-replicas-to-write": "3"}, {"min-replicas-to-write": "0"}),
        type("ScriptOom", (Configured, Script), {"name": "oom-eval", "on": over[0], "off": over[1]}),
        type("ScriptShebangOom", (Configured, Script), {"name": "oom-eval-shebang", "on": over[0], "off": over[1],
                                                        "caller": ("EVAL", "#!lua\nreturn server.pcall(unpack(ARGV))", "0")}),
        type("MultiOom", (Configured, Multi), {"name": "oom-multi", "on": over[0], "off": over[1]}), Misconf,
        type("ModuleOom", (Configured, Module), {"name": "oom-module-call", "on": over[0], "off": over[1], "caller": ("call.do", "M")}),
    ]
    modules = [module_call(letters) for letters in ("-", "E", "CE", "SE", "WE", "SCE")]
    own = [State, Resp3, Threads, Database, Multi, MultiOld, Watch, Watching, Subscribed2, Subscribed3, Tracking, NoTouch, Behind, Bystanders, *scripts, *modules,
           *users, Unauthenticated, *refused, Paused, PausedMulti, PausedAll, Busy, BusyWrite, BusyMulti, BusyFunction, LoadingRdb, LoadingAof,
           Replayed, ReplayedMulti, Reloaded]
    return own + links.states() + slots.states()
