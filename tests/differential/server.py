"""server.py - starts a server program of ours or of a peer on a free port, and stops it. The benchmarks use it, too."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

from resp import Connection

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_oracle(*which):
    """The path of Valkey's program, or of Redis 8's (--redis8), or None."""
    found = subprocess.run([os.path.join(top, "utils", "oracle"), "--find", *which], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running server with its data in a folder of its own, gone after stop(). It saves nothing."""

    def __init__(self, program, cpu=None, options=(), wrapper=()):
        self.program = os.path.abspath(program) if "/" in program else program  # it starts in another folder
        self.host, self.cpu, self.options = "127.0.0.1", cpu, list(options)
        self.wrapper = list(wrapper)  # a program that runs the server: valgrind and its options
        self.start()

    def start(self):
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="valkey-")
        self.log = os.path.join(self.folder, "log")
        pin = None if self.cpu is None else lambda: os.sched_setaffinity(0, {self.cpu})
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.wrapper + [self.program, "--port", str(self.port), "--dir", self.folder] + self.options, cwd=self.folder,
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, preexec_fn=pin)
        self.wait_until_up()
        # Set now and not on the command line: a server that does not know the directive starts all the same.
        self.admin.call("CONFIG", "SET", "save", "")

    def wait_until_up(self, limit_s=60):
        deadline = time.monotonic() + limit_s
        while True:
            try:
                self.admin = Connection(self.host, self.port, timeout_s=600)
                if self.admin.call("PING") == (b"+", b"PONG"):
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = self.log_tail()
                self.stop()
                raise RuntimeError("%s does not start:\n%s" % (self.program, text))
            time.sleep(0.02)

    def alive(self):
        return self.process.poll() is None

    def log_tail(self, lines=60):
        with open(self.log, errors="replace") as f:
            return "".join(f.readlines()[-lines:])

    def info(self, section):
        text = self.admin.call("INFO", section)[1].decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def stop(self, limit_s=20):
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class RemoteServer:
    """An external server: `host:port`. Its data is flushed again and again!"""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.host, self.port, self.program = host or "127.0.0.1", int(port), address
        self.admin = Connection(self.host, self.port)

    def alive(self):
        return True

    def start(self):
        raise RuntimeError("%s is gone" % self.program)

    def log_tail(self):
        return ""

    def stop(self):
        self.admin.close()


def is_old(server):
    """Redis 7.0, the oracle where there is no Valkey."""
    return b"\nredis_version:7.0" in server.admin.call("INFO", "server")[1]


def open_server(where, options=()):
    """`where` is a program to start, with these options, or the host:port of a running server."""
    return Server(where, options=options) if "/" in where or shutil.which(where) else RemoteServer(where)
