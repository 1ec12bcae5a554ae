"""redis-py and valkey-py as clients of a cluster: `cluster_redis_py.py redis|valkey`. PORT and CONTROL (a program: failover, reshard,
migrate) come from the environment; prints what it has checked, and ends at the first difference."""
import importlib
import os
import subprocess
import sys
import threading
import time
import traceback

NAME = sys.argv[1]
lib = importlib.import_module(NAME)
cluster = importlib.import_module(NAME + ".cluster")
Client = cluster.RedisCluster if NAME == "redis" else cluster.ValkeyCluster
PORT, KEYS = int(os.environ["PORT"]), 500


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


def connect(**options):
    return Client(host="127.0.0.1", port=PORT, decode_responses=True, **options)


def verify(r):
    for i in range(KEYS):
        eq(r.get("key:%d" % i), "value:%d" % i)


def topology(r):
    nodes = r.get_nodes()
    eq((len(nodes), len(r.get_primaries()), len(r.get_replicas())), (6, 3, 3))
    eq(r.keyslot("foo"), r.cluster_keyslot("foo"))
    eq(sum(len(r.execute_command("CLUSTER SHARDS", target_nodes=n)) for n in r.get_primaries()), 9)


def routing(r):
    for i in range(KEYS):
        eq(r.set("key:%d" % i, "value:%d" % i), True)
    verify(r)
    eq(r.mset_nonatomic({"a": "1", "b": "2", "c": "3"}) and True, True)
    eq(r.mget_nonatomic("a", "b", "c"), ["1", "2", "3"])
    eq(r.mset({"{t}1": "x", "{t}2": "y"}), True)
    eq(r.mget("{t}1", "{t}2"), ["x", "y"])
    eq(sorted(r.scan_iter("key:*", count=100)), sorted("key:%d" % i for i in range(KEYS)))
    try:
        r.mget("a", "b")
    except Exception as e:
        assert "slot" in str(e).lower(), e
    else:
        raise AssertionError("keys of two slots")


def pipelines(r):
    p = r.pipeline()
    for i in range(200):
        p.set("pipe:%d" % i, i)
    for i in range(200):
        p.get("pipe:%d" % i)
    eq(p.execute(), [True] * 200 + [str(i) for i in range(200)])


def replicas(r):
    reader = connect(read_from_replicas=True)
    r.wait(1, 5000, target_nodes=r.get_primaries())
    verify(reader)
    reader.close()


def scripts(r):
    eq(r.eval("return redis.call('get', KEYS[1])", 1, "key:7"), "value:7")


def under_change(r, change, patient):
    """Reads and writes continue while the cluster changes. patient: they may fail for a while."""
    ended, wrong, counts = threading.Event(), [], [0]

    def work():
        mine, n = connect(), 0
        while not ended.is_set():
            i = n % KEYS
            n += 1
            try:
                mine.set("other:%d" % i, n)
                if mine.get("key:%d" % i) != "value:%d" % i:
                    wrong.append(i)
                counts[0] += 1
            except Exception as e:
                if not patient:
                    wrong.append(repr(e))
                    return
                time.sleep(0.1)
        mine.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        subprocess.run([os.environ["CONTROL"], change], check=True)
    finally:
        before = counts[0]
        time.sleep(1)
        ended.set()
        thread.join()
    eq(wrong, [])
    assert counts[0] > before, "it works on"
    verify(r)


def reshard(r):
    under_change(r, "reshard", False)


def migrate(r):
    under_change(r, "migrate", False)


def failover(r):
    r.wait(1, 5000, target_nodes=r.get_primaries())
    under_change(r, "failover", True)


r = connect()
for check in (topology, routing, pipelines, replicas, scripts, reshard, migrate, failover):
    try:
        check(r)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print("FAILED", check.__name__)
        sys.exit(1)
    print("ok", check.__name__, flush=True)
