"""control.py - what the programs share that start several servers for a client's checks (`cluster`, `sentinel`): PORT is the first of
their ports, DIR the folder of all; SERVERS may name several binaries, separated by colons, that take turns."""
import os
import socket
import subprocess
import sys
import time

PORT, DIR = int(os.environ["PORT"]), os.environ["DIR"]
SERVERS = os.environ.get("SERVERS", os.environ["SERVER"]).split(":")
LIMIT_S = 60


class Refused(Exception):
    """The server's error."""


def read(f):
    line = f.readline()
    kind, rest = line[:1], line[1:-2].decode()
    if kind == b"-":
        raise Refused(rest)
    if kind == b":":
        return int(rest)
    if kind == b"$":
        return None if rest == "-1" else f.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [read(f) for _ in range(int(rest))]
    return rest


def ask(node, *words, password=None):
    """Sends one command over a connection of its own."""
    with socket.create_connection(("127.0.0.1", PORT + node), 10) as s:
        s.settimeout(10)
        f = s.makefile("rb")
        for command in ([("AUTH", password)] if password else []) + [words]:
            command = [w if isinstance(w, bytes) else str(w).encode() for w in command]
            s.sendall(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in command))
            reply = read(f)
        return reply


def until(what):
    end = time.time() + LIMIT_S
    while True:
        try:
            if what():
                return
        except (OSError, Refused):
            pass
        if time.time() > end:
            sys.exit("%s: it did not happen within %d s" % (os.path.basename(sys.argv[0]), LIMIT_S))
        time.sleep(0.1)


def folder_of(node):
    folder = "%s/%d" % (DIR, node)
    os.makedirs(folder, exist_ok=True)
    return folder


def spawn(node, *arguments):
    folder = folder_of(node)
    command = [SERVERS[node % len(SERVERS)], *arguments]
    with open(folder + "/stdout", "a") as out:
        program = subprocess.Popen(command + os.environ.get("SERVER_ARGS", "").split(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    with open(folder + "/pid", "w") as f:
        f.write(str(program.pid))


def kill(node, how):
    try:
        with open("%s/%d/pid" % (DIR, node)) as f:
            os.kill(int(f.read()), how)
    except (OSError, ValueError):
        pass


def run_action(actions):
    """The one that the command line names."""
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        sys.exit("usage: %s %s" % (os.path.basename(sys.argv[0]), "|".join(actions)))
    actions[sys.argv[1]]()
