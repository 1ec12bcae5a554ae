"""redis-py and valkey-py with Sentinels: `sentinel_redis_py.py redis|valkey`. PORT and CONTROL (a program: failover, switch) come from the
environment; prints what it has checked, and ends at the first difference."""
import importlib
import os
import subprocess
import sys
import threading
import time
import traceback

NAME = sys.argv[1]
lib = importlib.import_module(NAME)
sentinels = importlib.import_module(NAME + ".sentinel")
PORT = int(os.environ["PORT"])
KIND = {"password": "watch", "decode_responses": True}
s = sentinels.Sentinel([("127.0.0.1", PORT + i) for i in (3, 4, 5)], sentinel_kwargs=KIND, password="data", decode_responses=True, socket_timeout=2)
one = (lib.Redis if NAME == "redis" else lib.Valkey)(port=PORT + 3, **KIND)


def eq(actual, expected):
    assert actual == expected, "expected %r, got %r" % (expected, actual)


def discovery():
    eq(s.discover_master("mymaster"), ("127.0.0.1", PORT))
    eq(sorted(s.discover_slaves("mymaster")), [("127.0.0.1", PORT + 1), ("127.0.0.1", PORT + 2)])
    try:
        s.discover_master("nobody")
    except sentinels.MasterNotFoundError:
        pass
    else:
        raise AssertionError("a primary that nobody watches was found")


def commands():
    eq(one.sentinel_get_master_addr_by_name("mymaster", return_responses=True) if NAME == "redis" else one.sentinel_get_master_addr_by_name("mymaster"), ("127.0.0.1", PORT))
    def shown(*words):
        flat = one.execute_command("SENTINEL", *words)
        return flat if isinstance(flat, dict) else flat[0] if isinstance(flat[0], dict) else dict(zip(flat[::2], flat[1::2]))
    eq([str(shown("MASTER", "mymaster")[name]) for name in ("num-slaves", "num-other-sentinels", "quorum")], ["2", "2", "2"])
    eq(one.info("sentinel")["sentinel_masters"], 1)
    eq(one.info("sentinel")["master0"], {"name": "mymaster", "status": "ok", "address": "127.0.0.1:%d" % PORT, "slaves": 2, "sentinels": 3})
    eq(one.ping(), True)
    eq(one.execute_command("ROLE")[0], "sentinel")
    try:
        one.get("x")
    except Exception as e:
        assert "unknown command" in str(e), e
    else:
        raise AssertionError("a Sentinel has no GET")


def roles():
    primary, replica = s.master_for("mymaster"), s.slave_for("mymaster")
    eq(primary.set("a", "1"), True)
    eq(primary.wait(2, 5000), 2)
    eq(replica.get("a"), "1")
    eq([primary.role()[0], replica.role()[0]], ["master", "slave"])


def under_change(change):
    """Writes go on, with pauses; what all replicas have is there at the end. One listens at a Sentinel."""
    ended, kept, r = threading.Event(), [], s.master_for("mymaster")
    events = one.pubsub()
    events.subscribe("+switch-master")
    eq(events.get_message(timeout=5)["type"], "subscribe")

    def work():
        n = 0
        while not ended.is_set():
            n += 1
            try:
                r.rpush(change, n)
                if r.wait(2, 500) == 2:
                    kept.append(n)
            except Exception:
                time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        subprocess.run([os.environ["CONTROL"], change], check=True)
        before = len(kept)
        time.sleep(1)
    finally:
        ended.set()
        thread.join()
    assert len(kept) > before > 0, "it works on"
    there = r.lrange(change, 0, -1)
    eq([n for n in kept if str(n) not in there], [])
    new = s.discover_master("mymaster")
    words = events.get_message(timeout=5)["data"].split()
    eq((words[0], words[3], int(words[4])), ("mymaster", new[0], new[1]))
    assert words[2] != words[4], words


def failover():
    under_change("failover")


def switch():
    under_change("switch")


for check in (discovery, commands, roles, failover, switch):
    try:
        check()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print("FAILED", check.__name__)
        sys.exit(1)
    print("ok", check.__name__, flush=True)
