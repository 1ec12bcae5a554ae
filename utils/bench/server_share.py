# SPDX-License-Identifier: BSD-3-Clause
"""server_share.py - how long a request takes within the server, on a machine whose clients need processors, too.

    client                     kernel                                   server
    send ─────────────────────▶ the request enters its socket (sent)
                                                                        reads, runs, writes
    (runs when it can) ◀─────── the reply enters the client's (came)

Both moments are the kernel's: it notes when it passes a packet on, whoever has the processor (SO_TIMESTAMPING). So the time between them
has nothing of the client's, and the server's threads run before all others meanwhile (SCHED_FIFO), so it has nothing of waiting for a
processor either. This process, and others whose requests the server should never wait for, come next.
"""
import os
import socket
import struct
import time

SO_TIMESTAMPING = 37
FLAGS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 11  # SOF_TIMESTAMPING_: TX_SOFTWARE, RX_SOFTWARE, SOFTWARE, OPT_TSONLY
TIMES = struct.Struct("qq")
CONNECTIONS = 8


def set_priority(pid, priority):
    """Lets all threads of the process run before those with a lower priority; 0: as usual."""
    for tid in os.listdir("/proc/%d/task" % pid):
        os.sched_setscheduler(int(tid), os.SCHED_FIFO if priority else os.SCHED_OTHER, os.sched_param(priority))


class RunFirst:
    """Until the end of the block the server runs before the others named, and these before all the rest."""

    def __init__(self, server_pid, others):
        self.server_pid, self.others = server_pid, others

    def __enter__(self):
        set_priority(self.server_pid, 2)
        for pid in self.others:
            set_priority(pid, 1)

    def __exit__(self, *unused):
        for pid in [self.server_pid, *self.others]:
            set_priority(pid, 0)


def kernel_ns(ancillary):
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            s, ns = TIMES.unpack(data[: TIMES.size])
            return s * 10**9 + ns
    return 0


def one_request(sock, request):
    """Returns the nanoseconds from the request's arrival at the server to that of the reply's first bytes at the client, or None."""
    sock.sendall(request)
    came = 0
    while not came:  # the time of the request is in the queue of errors, and does not end this
        data, ancillary, _, _ = sock.recvmsg(1 << 16, 256)
        came = kernel_ns(ancillary)
        if not data:
            raise SystemExit("The server has closed a connection.")
    try:
        sent = kernel_ns(sock.recvmsg(1, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)[1])
    except BlockingIOError:
        return None
    return came - sent


def percentile_ms(server, request, others=(), part=0.99, seconds=3, pause_s=0.0005):
    """The percentile of a short request's time within the server, over connections that take turns. None: it cannot be measured here.
    others: processes whose requests come at any time."""
    socks = [socket.create_connection((server.host, server.port)) for _ in range(CONNECTIONS)]
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, FLAGS)
    time.sleep(1.2)  # by then the server's I/O threads have them
    times = []
    try:
        with RunFirst(server.process.pid, [os.getpid(), *others]):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for sock in socks:
                    times.append(one_request(sock, request))
                    time.sleep(pause_s)
    except PermissionError:
        return None
    finally:
        for sock in socks:
            sock.close()
    times = sorted(t for t in times if t is not None)
    return times[int(len(times) * part)] / 1e6 if times else None
