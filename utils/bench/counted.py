# SPDX-License-Identifier: BSD-3-Clause
"""counted.py - a server in valgrind's callgrind, which counts instructions only while commands are sent. The counts do not depend on other
load of the machine. They still differ from run to run, as the salts of tables do: compare medians of several runs."""
import glob
import os
import re
import subprocess

import bench  # noqa: F401 (lets Python find the two below)
from resp import encode, parse_all
from server import Server

# A peer may be a script that starts the server with exec (utils/oracle creates such scripts).
OPTIONS = ["--tool=callgrind", "--instr-atstart=no", "--collect-jumps=no", "--trace-children=yes"]


class CountedServer(Server):
    """A server in valgrind. Its figures are per command: instructions and, with `caches`, misses of data in the first and the last
    level of simulated caches."""

    def __init__(self, program, options=(), pipeline=16, caches=False):
        self.pipeline = pipeline
        simulation = ["--cache-sim=yes"] if caches else []
        super().__init__(program, options=options, wrapper=["valgrind", *OPTIONS, *simulation, "--callgrind-out-file=counts.%p"])

    def control(self, what):
        done = subprocess.run(["callgrind_control", *what, str(self.process.pid)], capture_output=True, text=True)
        if done.returncode or "OK" not in done.stdout + done.stderr:
            raise SystemExit("callgrind_control %s: %s" % (what, done.stdout + done.stderr))

    def send(self, commands):
        for at in range(0, len(commands), self.pipeline):
            part = commands[at : at + self.pipeline]
            self.admin.socket.sendall(b"".join(encode(c) for c in part))
            for kind, text in self.replies(len(part)):
                if kind == b"-":
                    raise SystemExit("%s: %s" % (self.program, text.decode()))

    def replies(self, count):
        """No further command marks the end of the replies, as it would be counted, too."""
        got = b""
        while True:
            data = self.admin.socket.recv(1 << 20)
            if not data:
                raise SystemExit("%s closed the connection" % self.program)
            got += data
            try:
                return parse_all(got, count)
            except (ValueError, IndexError):
                continue

    def count(self, commands):
        """Sends the commands, of which the first fifth is not counted. Returns the figures of one."""
        warm, commands = commands[: len(commands) // 5], commands[len(commands) // 5 :]
        self.control(["-i", "on"])
        self.send(warm)
        self.control(["-z"])
        self.send(commands)
        self.control(["-d"])
        self.control(["-i", "off"])
        return [n / len(commands) for n in self.read_dump()]

    def read_dump(self):
        events, sums = [], []
        found = sorted(glob.glob(os.path.join(self.folder, "counts.*")), key=os.path.getmtime)
        for path in found:
            text = open(path).read()
            names, totals = re.search(r"^events: (.*)$", text, re.M), re.search(r"^(?:totals|summary): (.*)$", text, re.M)
            if names and totals and int(totals[1].split()[0]):
                events, sums = names[1].split(), [int(n) for n in totals[1].split()]
            os.remove(path)
        of = dict(zip(events, sums + [0] * (len(events) - len(sums))))  # zeros at the end are left out
        if "Ir" not in of:
            raise SystemExit("callgrind wrote no figures into %s: %s" % (self.folder, found))
        return [of["Ir"]] + ([of["D1mr"] + of["D1mw"], of["DLmr"] + of["DLmw"]] if "D1mr" in of else [])
