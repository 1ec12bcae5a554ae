"""The driver's side of machine.c: the memory that it shares with the servers, and the processes that run in it."""
import ctypes
import mmap
import os
import select
import signal
import socket
import subprocess

from clients import Failure
from disk import Disk

FIELDS = ("random kill_at yield_permille sync_least_us sync_most_us slow_sync_permille slow_sync_us write_faults sync_faults "
          "name_faults fork_faults first_pid journal_size driver_due driver_sent reason now_us calls hash activity driver_seen "
          "journal_used pids longest_sync_us faults switches hosts frozen sound caller").split() + ["clock%d" % i for i in range(16)]
FIELD_INDEX = {name: i for i, name in enumerate(FIELDS)}
SLOTS, JOURNAL_OFFSET = 128, 65536
SLOT_FIELDS = "state address deadline seen real_pid pid process signal status thread turn host".split()
SLOT_READY = 1
MEMORY_BYTES = 1 << 28
STEP, KILL, STUCK, EXIT = range(1, 5)
NEVER = (1 << 64) - 1
WALL_LIMIT_S = 12


class Memory:
    """The memory shared with the machine: its fields are attributes."""

    def __init__(self):
        object.__setattr__(self, "fd", os.memfd_create("machine"))
        os.ftruncate(self.fd, MEMORY_BYTES)
        object.__setattr__(self, "map", mmap.mmap(self.fd, MEMORY_BYTES))
        object.__setattr__(self, "words", memoryview(self.map).cast("Q"))
        object.__setattr__(self, "address", ctypes.addressof(ctypes.c_char.from_buffer(self.map)))

    def __getattr__(self, name):
        return self.words[FIELD_INDEX[name]]

    def __setattr__(self, name, value):
        self.words[FIELD_INDEX[name]] = value & NEVER

    def clear(self):
        start = (len(FIELDS) + SLOTS * len(SLOT_FIELDS)) * 8
        self.map[:start] = bytes(start)
        self.journal_size = MEMORY_BYTES

    def slot(self, index):
        start = len(FIELDS) + index * len(SLOT_FIELDS)
        return self.words[start:start + len(SLOT_FIELDS)]

    def slot_host(self, index):
        return self.words[len(FIELDS) + (index + 1) * len(SLOT_FIELDS) - 1]

    def slots(self):
        """Pairs of index and fields, of those that are in use."""
        return [(i, dict(zip(SLOT_FIELDS, self.slot(i)))) for i in range(SLOTS) if self.slot(i)[0]]

    def set_slot(self, index, **values):
        words = self.slot(index)
        for i, name in enumerate(SLOT_FIELDS):
            words[i] = values.get(name, 0)

    def free_slot(self):
        used = {i for i, _ in self.slots()}
        return next(i for i in range(SLOTS) if i not in used)


class Host:
    """A machine with a disk, on which a server may run."""

    def __init__(self, index, folder):
        os.makedirs(folder, exist_ok=True)
        self.index, self.folder, self.services = index, folder, {}
        self.disk = Disk(os.path.join(folder, "disk0"))
        self.disks, self.process, self.pidfd = 1, None, None
        self.socket_path = os.path.join(folder, "socket")
        self.log_path = os.path.join(folder, "log")

    def lose_power(self, rng):
        """What the disk had not got is lost. The server must have ended."""
        self.disk = self.disk.lose_power(rng, os.path.join(self.folder, "disk%d" % self.disks))
        self.disks += 1


class World:
    """The hosts, of whose threads one has the turn, or the driver."""

    def __init__(self, memory, library, options, count):
        memory.hosts = count
        self.memory, self.library, self.options = memory, library, options
        self.control, self.theirs = socket.socketpair()
        self.caller = None  # the host whose thread waits for the driver
        self.turn_given = False
        self.poller = select.poll()
        self.poller.register(self.control, select.POLLIN)
        self.running = {}   # hosts by pidfd

    def start(self, host, pid, arguments, turn=False):
        """Starts the server. turn: nothing else runs, and it has the turn at once."""
        memory = self.memory
        if os.path.exists(host.socket_path):
            os.unlink(host.socket_path)
        slot = memory.free_slot()
        environment = {"LD_PRELOAD": self.library, "PATH": "/usr/bin:/bin", "TZ": "UTC",
                       "SIMULATION": "%d:%d:%d:%s" % (memory.fd, self.theirs.fileno(), slot, host.disk.path)}
        if self.options.trace:
            environment["SIMULATION_TRACE"] = os.path.abspath(self.options.trace)
        memory.set_slot(slot, state=SLOT_READY, pid=pid, process=slot, host=host.index, turn=int(turn))
        with open(host.log_path, "ab") as log:
            host.process = subprocess.Popen(
                [self.options.server, "--port", "0", "--unixsocket", host.socket_path, "--dir", host.disk.path,
                 "--event-backend", "epoll", *arguments],
                cwd=host.disk.path, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(memory.fd, self.theirs.fileno()))
        host.pidfd = os.pidfd_open(host.process.pid)
        self.poller.register(host.pidfd, select.POLLIN)
        self.running[host.pidfd] = host
        self.turn_given = turn

    def next(self):
        """Lets the servers run until the driver has the turn again. Returns why, and a host: whose thread called, or that
        has exited."""
        if self.caller:
            self.control.send(b"x")
        elif not self.turn_given:
            who = self.library_call()
            if who < 0:
                return (STEP if who == -1 else STUCK), None
        self.turn_given = False
        ready = [fd for fd, _ in self.poller.poll(WALL_LIMIT_S * 1000)]
        if not ready:
            raise Failure("a server runs without a call for %d s" % WALL_LIMIT_S)
        if self.control.fileno() in ready:
            self.control.recv(1)
            index = self.memory.slot_host(self.memory.caller)
            self.caller = next(host for host in self.running.values() if host.index == index)
            return self.memory.reason, self.caller
        self.caller = None
        return EXIT, self.running[ready[0]]

    def library_call(self):
        if not hasattr(self, "hand_over"):
            self.hand_over = ctypes.CDLL(self.library).machineHandOver
            self.hand_over.argtypes = [ctypes.c_void_p]
        return self.hand_over(self.memory.address)

    def end(self, host):
        """Ends all processes of the host, and takes the journal over. Returns the exit code of one that has exited."""
        memory = self.memory
        mine = [(i, slot) for i, slot in memory.slots() if slot["host"] == host.index]
        code = host.process.poll()
        pids = {slot["real_pid"] for _, slot in mine if slot["real_pid"]}
        for pid in pids | {host.process.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        host.process.wait()
        for pid in pids:
            try:
                os.waitpid(pid, 0)  # its children are now ours
            except ChildProcessError:
                pass
        self.poller.unregister(host.pidfd)
        del self.running[host.pidfd]
        os.close(host.pidfd)
        host.pidfd = None
        if self.caller is host:
            self.caller = None
        self.read_journal({host.index: host, **{other.index: other for other in self.running.values()}})
        for i, _ in mine:
            memory.set_slot(i)
        return code

    def read_journal(self, hosts):
        view = memoryview(self.memory.map)[JOURNAL_OFFSET:]
        Disk.read_journal(view, self.memory.journal_used, {index: host.disk for index, host in hosts.items()})
        view.release()
        self.memory.journal_used = 0

    def close(self):
        for host in list(self.running.values()):
            self.end(host)
        self.control.close()
        self.theirs.close()
