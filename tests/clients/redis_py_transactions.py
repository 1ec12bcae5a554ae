#!/usr/bin/env python3
"""redis-py's pipelines, which are transactions by default, and its WATCH loop, against our server.

    tests/clients/redis_py_transactions.py [server binary]

Skipped, with exit code 0, where redis-py is not installed.
"""
import os
import socket
import subprocess
import sys
import threading
import time

try:
    import redis
except ImportError:
    print("skipped: no redis-py here")
    sys.exit(0)

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "src", "valkey-server")
THREADS, ADDS = 4, 50


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def default_pipeline(client):
    replies = client.pipeline().set("a", 1).incr("a").hset("h", mapping={"f": "v"}).hgetall("h").execute()
    assert replies == [True, 2, 1, {"f": "v"}], replies


def error_in_pipeline(client):
    replies = client.pipeline().set("a", "x").incr("a").get("a").execute(raise_on_error=False)
    assert isinstance(replies[1], redis.ResponseError) and replies[2] == "x", replies


def aborted_pipeline(client):
    client.set("a", "before")
    try:
        client.pipeline().set("a", "after").execute_command("NOSUCH").execute()
        raise AssertionError("no error")
    except redis.ResponseError as e:
        assert "unknown command" in str(e), e
    assert client.get("a") == "before"


def watch_error(client):
    with client.pipeline() as pipe:
        pipe.watch("a")
        client.set("a", "changed")
        pipe.multi()
        pipe.set("a", "mine")
        try:
            pipe.execute()
            raise AssertionError("no WatchError")
        except redis.WatchError:
            assert client.get("a") == "changed"


def retry_loop(client):
    """Threads that read, add and write lose nothing."""
    client.set("n", 0)
    retries = []

    def add(pipe):
        retries.append(1)
        n = int(pipe.get("n"))
        pipe.multi()
        pipe.set("n", n + 1)

    threads = [threading.Thread(target=lambda: [client.transaction(add, "n") for _ in range(ADDS)]) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert int(client.get("n")) == THREADS * ADDS, client.get("n")
    assert len(retries) >= THREADS * ADDS


def main():
    port, failed = free_port(), 0
    server = subprocess.Popen([SERVER, "--port", str(port)], stdout=subprocess.DEVNULL)
    checks = [default_pipeline, error_in_pipeline, aborted_pipeline, watch_error, retry_loop]
    try:
        for protocol in (2, 3):
            client = redis.Redis(port=port, protocol=protocol, decode_responses=True)
            for _ in range(100):
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.05)
            client.flushdb()
            for check in checks:
                try:
                    check(client)
                except Exception as e:
                    failed += 1
                    print("FAILED RESP%d %s: %r" % (protocol, check.__name__, e))
            client.close()
    finally:
        server.terminate()
        server.wait()
    print("%d passed, %d failed" % (2 * len(checks) - failed, failed))
    return 1 if failed else 0


sys.exit(main())
