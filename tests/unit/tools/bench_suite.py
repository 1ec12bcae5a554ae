"""The conclusions of utils/bench/suite from known costs, and what it reads of a process. The first difference ends
it."""
import os
import sys
import threading
import types
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "utils", "bench"))

import cpu_time
import suite_load as load
import suite_report as report


def used(requests, main, io=None):
    """(user, kernel) µs of each request, by thread."""
    names = {"main": main, **({"io_thd_1": io} if io else {})}
    result = types.SimpleNamespace(requests=requests, rps=1000, all_ns=0, ns=dict.fromkeys(cpu_time.GROUPS, 0),
                                   ticks={g: [0, 0] for g in cpu_time.GROUPS}, names={})
    for name, (user, kernel) in names.items():
        group, ns, ticks = "main" if name == "main" else "io", (user + kernel) * 1000 * requests, (user * 1000, kernel * 1000)
        result.ns[group], result.ticks[group], result.names[name] = ns, list(ticks), ticks + (ns,)
        result.all_ns += ns
    return result


def cost(*how):
    return cpu_time.Cost([used(1000, *how), used(3000, *how), used(1000, *(tuple(9 * us for us in thread) for thread in how))])


def check(what, expected, actual):
    if expected != actual:
        sys.exit("%s: expected %r, got %r" % (what, expected, actual))


def peer(text):
    p = load.Peer(text)
    p.api = p.option("event-backend", "epoll")  # as it would say
    return p


def budgets(threads, ring, piped):
    """{what: met} when I/O threads cost so much, and io_uring, and a SPOP in a pipeline."""
    ours, threaded, uring, other = peers = [peer(t) for t in ("ours", "ours --io-threads 2", "ours --event-backend io_uring", "other=" + sys.executable)]
    row = {ours: cost((0.5, 2.3)), threaded: cost(*threads), uring: cost(ring), other: cost((1.2, 2.4))}
    results = {(200, 1): {"get": row}, (50, 16): {"spop": {ours: cost(piped), other: cost((1.0, 0.5))}}}
    table = report.budgets_text(results, peers, other, 200)[1]
    return {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in table.split("\n")[2:]}


def check_peers():
    p = peer("two threads=ours --io-threads 2 --save ''")
    check("label", "two threads", p.label)
    check("options", ["--io-threads", "2", "--save", ""], p.options)
    check("threads", (True, False), (p.threaded, peer("ours").threaded))
    check("a label of its own", "ours --io-threads 2", peer("ours --io-threads 2").label)


def check_costs():
    c = cost((0.5, 0.25), (0.25, 2.0))  # its third round is far off, which a median does not see
    check("the sum", (0.75, 2.25, 3.0), tuple(round(v, 6) for v in (c.of("main"), c.user["io"] + c.kernel["io"], c.all)))
    check("the kernel's share of I/O threads", (0.25, 2.0), tuple(round(v, 6) for v in (c.user["io"], c.kernel["io"])))


def check_budgets():
    good = budgets(((0.5, 0.05), (0.4, 2.2)), (0.4, 1.6), (0.6, 0.3))
    get = "GET, 200 clients, no pipeline"
    parts = [", with I/O threads: main thread, user", ", with I/O threads: main thread, kernel", ", with I/O threads: one thread / main thread",
             ", with I/O threads: all threads / one thread", ": io_uring / epoll"]
    for part in parts:
        check(part, "yes", good[get + part])
        check("SET" + part, "not measured", good[get.replace("GET", "SET") + part])
    check("rows", "yes", good["every row, 50 clients, pipeline 16"])
    bad = budgets(((0.7, 0.2), (0.4, 2.2)), (0.5, 2.0), (0.7, 0.4))
    for part in parts:
        check("not met" + part, "**no**", bad[get + part])
    check("rows", "**no**", bad["every row, 50 clients, pipeline 16"])


def check_times():
    busy = threading.Event()
    spinning = threading.Thread(target=lambda: [None for _ in iter(busy.is_set, True)])
    before = cpu_time.Times(os.getpid())
    spinning.start()
    sum(i for i in range(5000000))
    after = cpu_time.Times(os.getpid())
    busy.set()
    spinning.join()
    spent = cpu_time.Used(before, after, 1, 0)
    check("two threads took time", True, spent.ns["main"] > 1e6 and spent.ns["other"] > 1e6)
    check("the sum of the threads is that of the process", True, abs(sum(spent.ns.values()) / spent.all_ns - 1) < 0.3)


def check_percentiles():
    text = "99.805% <= 5.0 milliseconds (cumulative count 1)\n99.902% <= 7.5 milliseconds (cumulative count 1)\n" \
           "  latency summary (msec):\n          avg       min       p50       p95       p99       max\n" \
           "        1.0     0.1     0.5     2.0     4.0     9.0\n"
    check("percentiles", [0.5, 4.0, 7.5], load.percentiles(text))
    check("nothing", None, load.percentiles(""))


def main():
    if len(sys.argv) > 1:  # a chart that was drawn
        marks = xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("circle")
        print("%d dots" % len(marks))
        return
    for part in (check_peers, check_costs, check_budgets, check_times, check_percentiles):
        part()
    print("ok")


main()
