"""nodes.py - servers of several kinds that replicate from each other.

A Node keeps its port and its folder when it is stopped, killed and started again; tests/differential/server.py, which
starts servers for one run each, does not.

Kinds:  ours    src/valkey-server, or --server
        valkey  Valkey 9.1, as utils/oracle has fetched it
        redis   redis-server, 7.0 in Debian
        redis8  Redis 8.6, which utils/oracle --redis8 fetches, or the environment variable REDIS8 names
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(top, "tests", "differential"))

from dataset import values
from resp import Connection
from server import find_oracle

START_LIMIT_S = 60
STOP_LIMIT_S = 30
ZEROS = "0" * 40
# Short timeouts, as everything is on this machine.
SETTINGS = {
    "save": "", "bind": "127.0.0.1", "enable-debug-command": "yes", "repl-diskless-sync-delay": "0", "repl-timeout": "10",
    "repl-ping-replica-period": "1", "loglevel": "verbose", "shutdown-timeout": "3",
}
COMPLAINTS = re.compile(r"BUG REPORT START|ASSERTION FAILED|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:"
                        r"|== CRITICAL == This replica|Desync")


libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def end_with_us():
    """Runs in the child: no server outlives the test."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Failed(Exception):
    """A test has found a fault."""


def check(holds, text):
    if not holds:
        raise Failed(text)


def wait_until(what, condition, limit_s=20, pause_s=0.02):
    """Waits until it is true; returns its result. A server that does not reply now may do so later."""
    deadline, last = time.monotonic() + limit_s, None
    while True:
        try:
            last = condition()
            if last:
                return last
        except (OSError, ValueError, IndexError) as problem:
            last = problem
        if time.monotonic() > deadline:
            raise Failed("%s: not within %g s (%r)" % (what, limit_s, last))
        time.sleep(pause_s)


def programs(server=None):
    """{kind: path of its program, or why there is none}, the latter as an Exception."""
    found = {"ours": os.path.abspath(server or os.path.join(top, "src", "valkey-server"))}
    if not os.access(found["ours"], os.X_OK):
        found["ours"] = LookupError("there is no %s: build it first" % found["ours"])
    found["valkey"] = find_oracle() or LookupError("no Valkey: utils/oracle fetches it")
    found["redis"] = shutil.which("redis-server") or LookupError("no redis-server here")
    found["redis8"] = find_oracle("--redis8") or LookupError("no Redis 8: utils/oracle --redis8 fetches it")
    return found


class Ports:
    """Ports of our own stretch: `:0` may give one that a client's socket takes before the server that is restarted does."""

    def __init__(self, first):
        self.next = first

    def take(self):
        import socket
        while True:
            self.next += 1
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    s.bind(("127.0.0.1", self.next))
                except OSError:
                    continue
                return self.next


class Node:
    def __init__(self, kind, program, port, settings=None, folder=None, environment=None):
        self.kind, self.program, self.port, self.host = kind, program, port, "127.0.0.1"
        self.settings = dict(self.defaults(), **(settings or {}))
        self.environment = dict(os.environ, **(environment or {}))
        self.folder = folder or tempfile.mkdtemp(prefix="replication-%s-" % kind)
        self.log = os.path.join(self.folder, "log")
        self.process = self.connection = None
        try:
            self.start()
        except Failed:
            self.remove()
            raise

    def __repr__(self):
        return "%s:%d" % (self.kind, self.port)

    def defaults(self):
        return SETTINGS

    # ---- Life ----

    def start(self, wait=True):
        words = [self.program, "--port", str(self.port), "--dir", self.folder]
        for name, value in self.settings.items():
            words += ["--" + name, value]
        self.run(words, wait)

    def run(self, words, wait):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=self.environment, preexec_fn=end_with_us)
        if wait:
            self.wait_until_up()

    def wait_until_up(self, again=True):
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self.connection = self.connect(60)
                if self.connection.call("PING") == (b"+", b"PONG"):
                    return
            except (OSError, ValueError):
                pass
            if again and self.process.poll() is not None and "Address already in use" in self.log_tail(4):
                # A child that was forked a moment before the kill has not closed what it does not need yet.
                time.sleep(0.2)
                self.start(wait=False)
                return self.wait_until_up(again=False)
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failed("%r does not start:\n%s" % (self, self.log_tail()))
            time.sleep(0.02)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.close()

    def stop(self):
        """By SIGTERM; its exit code."""
        self.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failed("%r does not stop\n%s" % (self, self.log_tail())) from None
        return self.process.returncode

    def restart(self):
        self.stop()
        self.start()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def remove(self):
        """Stops it and removes its files. Returns the complaints of its log."""
        text = self.complaint()
        self.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return text

    def complaint(self):
        with open(self.log, errors="replace") as f:
            for line in f:
                if COMPLAINTS.search(line):
                    return "%r says: %s" % (self, self.log_tail() if "BUG REPORT" in line else line.strip())
        return None

    def alive(self):
        return self.process.poll() is None

    def log_tail(self, lines=25):
        """The end of its log; of a crash report, the beginning."""
        with open(self.log, errors="replace") as f:
            log = f.readlines()
        crash = next((i for i, line in enumerate(log) if "BUG REPORT START" in line), None)
        return "".join(log[-lines:] if crash is None else log[max(0, crash - 5) : crash + lines])

    def count_in_log(self, text):
        with open(self.log, errors="replace") as f:
            return f.read().count(text)

    # ---- Talk ----

    def connect(self, timeout_s=60, resp=2):
        return Connection(self.host, self.port, resp, timeout_s)

    def call(self, *words):
        """The reply without its type; an error is raised."""
        kind, payload = reply = self.reply(*words)
        if kind == b"-":
            raise Failed("%r: %s: %s" % (self, " ".join(map(str, words))[:80], payload.decode(errors="replace")))
        return values(reply)

    def reply(self, *words):
        try:
            self.connection = self.connection or self.connect()
            return self.connection.call(*words)
        except OSError:
            self.close()
            if not self.alive():
                raise Failed("%r has died:\n%s" % (self, self.log_tail())) from None
            raise

    def info(self, section="everything"):
        text = self.call("INFO", section).decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def configure(self, **directives):
        for name, value in directives.items():
            self.call("CONFIG", "SET", name.replace("_", "-"), value)

    # ---- Its part in a tree ----

    def follow(self, primary):
        """`primary` has host and port: a node, or a proxy before one."""
        self.call("REPLICAOF", primary.host, primary.port)

    def lead(self):
        self.call("REPLICAOF", "NO", "ONE")

    def linked(self):
        return self.info("replication").get("master_link_status") == "up"

    def wait_linked(self, limit_s=40):
        try:
            wait_until("%r is linked" % self, self.linked, limit_s)
        except Failed as problem:
            raise Failed("%s\n%s" % (problem, self.log_tail())) from None

    def offset(self):
        return int(self.info("replication")["master_repl_offset"])


def wait_caught_up(primary, *replicas, limit_s=40):
    """All are linked, and have applied what the primary has sent."""
    def same():
        return all(r.linked() and r.offset() == primary.offset() for r in replicas)
    try:
        wait_until("%s caught up with %r" % (list(replicas), primary), same, limit_s)
    except Failed as problem:
        raise Failed("%s\n%s" % (problem, "\n".join("%r:\n%s" % (n, n.log_tail(12)) for n in (primary, *replicas)))) from None


def syncs(primary):
    """(full synchronizations, partial ones, refused partial ones)"""
    info = primary.info("stats")
    return tuple(int(info["sync_" + name]) for name in ("full", "partial_ok", "partial_err"))
