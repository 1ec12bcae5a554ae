"""RQ: two workers and a few hundred jobs, some of which fail, are retried, depend on others or are scheduled."""
import os
import subprocess
import sys
import time
from datetime import timedelta

import redis
from rq import Queue, Retry

URL = "redis://127.0.0.1:%s/0" % os.environ["PORT"]
connection = redis.Redis.from_url(URL)


# ---- What the workers run ----

def square(n):
    connection.incr("squared")
    return n * n


def stumble(name):
    """Fails when it is tried for the first time."""
    if connection.incr("tries:" + name) == 1:
        raise ValueError("the first try")
    return "done"


def fail():
    raise RuntimeError("always")


# ---- What sees to it ----

def worker(*args):
    return subprocess.Popen([os.path.join(os.environ["OUT"], "bin", "rq"), "worker", "--url", URL, "--quiet", *args])


def settle(jobs, wanted):
    for _ in range(1200):
        if all(j.get_status(refresh=True) == wanted for j in jobs):
            return
        time.sleep(0.1)
    raise AssertionError("not all are %s: %s" % (wanted, {str(j.get_status()) for j in jobs}))


def main():
    from rq_jobs import fail, square, stumble  # by the name that the workers know
    connection.flushall()
    queue = Queue("default", connection=connection)
    late = Queue("late", connection=connection)
    workers = [worker("--with-scheduler", "-w", "rq.SimpleWorker", "default", "late"), worker("default")]
    try:
        squares = [queue.enqueue(square, n) for n in range(200)]
        retried = [queue.enqueue(stumble, "s%d" % n, retry=Retry(max=2)) for n in range(20)]
        spaced = [late.enqueue(stumble, "t%d" % n, retry=Retry(max=1, interval=1)) for n in range(3)]
        failing = [queue.enqueue(fail, retry=Retry(max=1)) for _ in range(10)]
        scheduled = [late.enqueue_in(timedelta(seconds=1), square, n) for n in range(5)]
        after = queue.enqueue(square, 1000, depends_on=squares)
        settle(squares, "finished")
        assert [j.return_value() for j in squares] == [n * n for n in range(200)]
        print("ok jobs")
        settle(failing, "failed")
        registry = queue.failed_job_registry
        assert sorted(registry.get_job_ids()) == sorted(j.id for j in failing)
        assert "always" in failing[0].latest_result().exc_string
        print("ok failures")
        settle(retried + spaced, "finished")
        assert {connection.get("tries:s%d" % n) for n in range(20)} == {b"2"}
        print("ok retries")
        settle(scheduled, "finished")
        print("ok schedule")
        settle([after], "finished")
        assert after.return_value() == 1000000 and int(connection.get("squared")) == 206
        print("ok dependencies")
    finally:
        for w in workers:
            w.terminate()
        codes = [w.wait(60) for w in workers]
    assert codes == [0, 0], codes
    assert len(queue) == 0 and not queue.started_job_registry.get_job_ids()
    print("ok end")


if __name__ == "__main__":
    sys.exit(main())
