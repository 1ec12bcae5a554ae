"""watched_set.py - a primary, its replicas, and Sentinels that monitor them; the caller chooses the kind of each.

    client ─────────────────────────────▶ server        clients are not partitioned
    Sentinel, replica ──▶ proxy of server ─▶ server       the announced address, which Sentinels publish
    Sentinel ──▶ proxy of Sentinel ────────▶ Sentinel

A proxy (proxies.py) identifies the Sentinel by the first words of its connection. All have files of their own, which
they rewrite, and with which they are restarted. The Sentinels' periods are short, so that a round takes seconds.
"""
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(here), "replication"))

from proxies import Proxies
from nodes import Failed, Node, wait_until
from resp import Connection, encode, parse

NAME = "mymaster"
DOWN_AFTER_MS, FAILOVER_TIMEOUT_MS = 1000, 4000
QUORUM, NEVER = 2, 9
SHORT = {"INFO-PERIOD": 1000, "PUBLISH-PERIOD": 500, "TILT-PERIOD": 4000}
EVENT = re.compile(r"^\d+:X .*? [-.*#] ([-+][a-z].*)$")


class SentinelConnection(Connection):
    """Connection sends an ECHO after each pipeline, which a Sentinel does not know."""

    def call(self, *args):
        self.socket.sendall(encode([a if isinstance(a, bytes) else str(a).encode() for a in args]))
        data = b""
        while True:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError("the Sentinel closed the connection")
            data += piece
            try:
                return parse(data, 0)[0]
            except (ValueError, IndexError):
                continue  # not all of it


class FileNode(Node):
    """A node that is configured by a file alone."""
    face = ()

    def start(self, wait=True):
        path = os.path.join(self.folder, "conf")
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.writelines('%s "%s"\n' % item for item in dict(self.settings, port=self.port, dir=self.folder).items())
                f.writelines(line + "\n" for line in self.lines)
        self.run([self.program, path, *self.face], wait)

    def announced(self):
        return self.proxy_port or self.port


class Server(FileNode):
    def __init__(self, kind, program, port, proxy_port, settings):
        self.proxy_port, self.lines = proxy_port, []
        if proxy_port:
            settings = dict(settings, **{"replica-announce-ip": "127.0.0.1", "replica-announce-port": str(proxy_port)})
        super().__init__(kind, program, port, settings)

    def role(self):
        return self.info("replication")["role"]


class Sentinel(FileNode):
    face = ("--sentinel",)

    def __init__(self, kind, program, port, proxy_port, primary_port, periods):
        self.proxy_port, self.periods, self.id = proxy_port, periods, None
        self.lines = ["sentinel monitor %s 127.0.0.1 %d %d" % (NAME, primary_port, QUORUM),
                      "sentinel down-after-milliseconds %s %d" % (NAME, DOWN_AFTER_MS),
                      "sentinel failover-timeout %s %d" % (NAME, FAILOVER_TIMEOUT_MS)]
        if proxy_port:
            self.lines += ["sentinel announce-ip 127.0.0.1", "sentinel announce-port %d" % proxy_port]
        super().__init__(kind, program, port)

    def defaults(self):
        return {"bind": "127.0.0.1", "loglevel": "notice"}

    def connect(self, timeout_s=20, resp=2):
        return SentinelConnection(self.host, self.port, resp, timeout_s)

    def wait_until_up(self, again=True):
        super().wait_until_up(again)
        for name, value in self.periods.items():
            self.call("SENTINEL", "DEBUG", name, value)
        self.id = self.id or self.call("SENTINEL", "MYID").decode()

    def maps(self, word):
        """The result of SENTINEL MASTER, SLAVES or SENTINELS as dictionaries."""
        reply = self.call("SENTINEL", word, NAME)
        return [dict(zip(m[::2], m[1::2])) for m in [[w.decode() for w in one] for one in (reply if word != "MASTER" else [reply])]]

    def primary_port(self):
        return int(self.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1])

    def events(self, since=0):
        """Since the log had so many bytes: "+sdown master mymaster ..."."""
        with open(self.log, errors="replace") as f:
            f.seek(since)
            return [found.group(1) for found in map(EVENT.match, f) if found]


class WatchedSet:
    def __init__(self, options, sentinels, servers, with_proxies=True, periods=None):
        self.options, self.servers, self.sentinels = options, [], []
        self.proxies = Proxies() if with_proxies else None
        self.periods = SHORT if periods is None else periods
        try:
            for kind in servers:
                self.add_server(kind)
            for kind in sentinels:
                self.add_sentinel(kind)
            self.wait_ok()
        except Exception:
            self.close()
            raise

    # ---- Its parts ----

    def add_server(self, kind):
        settings = {"appendonly": "yes", "min-replicas-to-write": "1", "min-replicas-max-lag": "3"}
        self.add(self.servers, lambda port, proxy: Server(kind, self.options.programs[kind], port, proxy, settings))
        if len(self.servers) > 1:
            self.servers[-1].call("REPLICAOF", "127.0.0.1", self.servers[0].announced())
            self.servers[-1].call("CONFIG", "REWRITE")

    def add_sentinel(self, kind):
        program, first = self.options.programs[kind], self.servers[0].announced()
        node = self.add(self.sentinels, lambda port, proxy: Sentinel(kind, program, port, proxy, first, self.periods))
        if self.proxies:
            self.proxies.introduce(node.proxy, node.id[:8])

    def add(self, group, make):
        """The proxy is there before the node, which may call others at once."""
        port, proxy, proxy_port = self.options.ports.take(), None, None
        if self.proxies:
            proxy_port = self.options.ports.take()
            proxy = self.proxies.open(proxy_port, port)
        node = make(port, proxy_port)
        node.proxy = proxy
        group.append(node)
        return node

    def nodes(self):
        return self.servers + self.sentinels

    def close(self):
        complaints = [node.remove() for node in self.nodes()]
        if self.proxies:
            self.proxies.close()
        return [text for text in complaints if text]

    # ---- What they believe ----

    def server_at(self, announced):
        return next(server for server in self.servers if server.announced() == announced)

    def view(self, sentinel):
        """(its primary's port, the epoch of that); None while something is wrong with it, or not known."""
        primary, = sentinel.maps("MASTER")
        replicas, others = sentinel.maps("SLAVES"), sentinel.maps("SENTINELS")
        fine = (primary["flags"] == "master" and primary["role-reported"] == "master"
                and len(replicas) == len(self.servers) - 1 and len(others) == len(self.sentinels) - 1
                and all(r["flags"] == "slave" and r["master-link-status"] == "ok" and r["master-port"] == primary["port"]
                        and r["role-reported"] == "slave" for r in replicas)
                and all(s["flags"] in ("sentinel", "sentinel,master_down") for s in others))  # the latter is what it said last
        return (int(primary["port"]), int(primary["config-epoch"])) if fine else None

    def followed(self, primary):
        """Is it a primary, and are all the others its linked replicas?"""
        infos = {server: server.info("replication") for server in self.servers}
        return infos[primary]["role"] == "master" and all(
            info["role"] == "slave" and info["master_link_status"] == "up" and int(info["master_port"]) == primary.announced()
            for server, info in infos.items() if server is not primary)

    def agreed(self):
        views = {self.view(sentinel) for sentinel in self.sentinels}
        return len(views) == 1 and None not in views and self.followed(self.server_at(views.pop()[0]))

    def wait_ok(self, limit_s=60):
        """All agree on one primary, and every other server replicates from it."""
        try:
            wait_until("all agree", self.agreed, limit_s, 0.1)
        except Failed as problem:
            raise Failed("%s\n%s" % (problem, self.beliefs())) from None

    def beliefs(self):
        def one(node):
            try:
                known = [node.maps(word) for word in ("MASTER", "SLAVES", "SENTINELS")] if node in self.sentinels else node.info("replication")
                return "%r, announced as %d: %s\n%s" % (node, node.announced(), known, node.log_tail(30))
            except (OSError, ValueError, Failed) as problem:
                return "%r: %s" % (node, problem)
        return "\n".join(map(one, self.nodes()))

    def primary(self):
        """The one that they agree on."""
        return self.server_at(self.sentinels[0].primary_port())

    def wait_replaced(self, primary, by=None, limit_s=40):
        """Each of these Sentinels, or of all, has another one."""
        for sentinel in by or self.sentinels:
            wait_until("%r has replaced %r" % (sentinel, primary), lambda: sentinel.primary_port() != primary.announced(), limit_s, 0.05)

    def let_lead(self, leader):
        """This one (None: any) begins failovers: the others wait for more voices than there are."""
        for sentinel in self.sentinels:
            sentinel.call("SENTINEL", "SET", NAME, "quorum", QUORUM if leader in (None, sentinel) else NEVER)

    def part(self, *nodes):
        self.proxies.part([node.proxy for node in nodes])


def leaders(sentinels):
    """{epoch: run ids of those elected in it}, {(epoch, voter): run ids that it voted for}: from their logs."""
    elected, votes = {}, {}
    for sentinel in sentinels:
        heard = epoch = 0
        for event in sentinel.events():
            name, *words = event.split()
            if name == "+new-epoch":
                heard = int(words[0])
            elif name == "+try-failover":
                epoch = heard
            elif name == "+elected-leader":
                elected.setdefault(epoch, set()).add(sentinel.id)
            elif name == "+vote-for-leader":
                votes.setdefault((int(words[1]), sentinel.id), set()).add(words[0])
    return elected, votes
