"""cpu_time.py - CPU time of a running program, by thread, and per request.

The kernel keeps three accounts, each with its own use:

    /proc/PID/task/*/schedstat   nanoseconds of each thread, exact
    /proc/PID/task/*/stat        ticks of 10 ms of each thread, in user mode and in the kernel
    the CPU clock of PID         nanoseconds of all threads together, including those that have ended

So the sum is taken from the first and the last, and only the share of the kernel from the ticks of all rounds together,
as one round has too few of them.
"""
import os
import re
import statistics
import time

# "io_thd_1" of Valkey and ours, "io-wq" and "iou-wrk-" of the kernel. Background jobs are called bio_*.
IO_THREAD = re.compile(r"io[-_]|iou-")
GROUPS = ("main", "io", "other")


def group_of(pid, tid, name):
    return "main" if tid == pid else "io" if IO_THREAD.match(name) else "other"


class Times:
    """CPU time used so far: all_ns, and by thread (group, name, ns, user ticks, kernel ticks)."""

    def __init__(self, pid):
        self.threads = {}
        for tid in map(int, os.listdir("/proc/%d/task" % pid)):
            try:
                self.threads[tid] = self.thread(pid, tid)
            except OSError:
                pass  # it has ended
        # The same value as of clock_getcpuclockid(); 2 selects the scheduler's count.
        self.all_ns = int(time.clock_gettime((~pid << 3) | 2) * 1e9)

    @staticmethod
    def thread(pid, tid):
        folder = "/proc/%d/task/%d/" % (pid, tid)
        with open(folder + "stat") as f:
            name, rest = re.match(r"\d+ \((.*)\) (.*)", f.read(), re.S).groups()
        user, kernel = map(int, rest.split()[11:13])
        try:
            with open(folder + "schedstat") as f:
                ns = int(f.read().split()[0])
        except OSError:  # a kernel without it
            ns = (user + kernel) * 1000000000 // os.sysconf("SC_CLK_TCK")
        return group_of(pid, tid, name), name, ns, user, kernel


class Used:
    """CPU time used between two moments, for a number of requests."""

    def __init__(self, before, after, requests, rps):
        self.requests, self.rps, self.all_ns = requests, rps, after.all_ns - before.all_ns
        self.ns, self.ticks, self.names = dict.fromkeys(GROUPS, 0), {g: [0, 0] for g in GROUPS}, {}
        for tid, (group, name, ns, user, kernel) in after.threads.items():
            _, _, ns0, user0, kernel0 = before.threads.get(tid, ("", "", 0, 0, 0))
            self.ns[group] += ns - ns0
            self.ticks[group][0] += user - user0
            self.ticks[group][1] += kernel - kernel0
            key = name if group != "main" else "main"
            user_ticks, kernel_ticks, sum_ns = self.names.get(key, (0, 0, 0))
            self.names[key] = (user_ticks + user - user0, kernel_ticks + kernel - kernel0, sum_ns + ns - ns0)


class Cost:
    """Microseconds for one request: medians over the rounds. `user` and `kernel` by group; `all` of all threads."""

    def __init__(self, rounds):
        self.rps = statistics.median(u.rps for u in rounds)
        self.all = statistics.median(u.all_ns / u.requests for u in rounds) / 1000
        self.user, self.kernel = {}, {}
        for group in GROUPS:
            us = statistics.median(u.ns[group] / u.requests for u in rounds) / 1000
            share = kernel_share([u.ticks[group] for u in rounds])
            self.user[group], self.kernel[group] = us * (1 - share), us * share
        self.threads = {name: by_thread(rounds, name) for name in rounds[-1].names}

    def of(self, group):
        return self.user[group] + self.kernel[group]


def kernel_share(ticks):
    user, kernel = sum(t[0] for t in ticks), sum(t[1] for t in ticks)
    return kernel / (user + kernel) if user + kernel else 0


def by_thread(rounds, name):
    """Returns (user, kernel) of the threads of that name."""
    seen = [(u.names[name], u.requests) for u in rounds if name in u.names]
    share = kernel_share([names for names, _ in seen])
    us = statistics.median(names[2] / requests for names, requests in seen) / 1000
    return us * (1 - share), us * share
