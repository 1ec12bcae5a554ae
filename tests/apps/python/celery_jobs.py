"""Celery with our server as broker and as store of results: tasks, retries, failures, times, and chords."""
import os
import subprocess
import sys

from celery import Celery, chain, chord, group

URL = "redis://127.0.0.1:%s/" % os.environ["PORT"]
app = Celery("celery_jobs", broker=URL + "0", backend=URL + "1")
app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False, task_acks_late=True)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=3, default_retry_delay=0.1)
def stumble(self):
    if self.request.retries < 2:
        raise self.retry()
    return self.request.retries


@app.task
def fail():
    raise RuntimeError("always")


def main():
    worker = subprocess.Popen([os.path.join(os.environ["OUT"], "bin", "celery"), "-A", "celery_jobs", "worker", "-c", "2", "-l", "ERROR"])
    try:
        results = [add.delay(n, n) for n in range(200)]
        assert [r.get(timeout=120) for r in results] == [2 * n for n in range(200)]
        print("ok tasks")
        assert [r.get(timeout=120) for r in [stumble.delay() for _ in range(10)]] == [2] * 10
        print("ok retries")
        failed = fail.delay()
        try:
            failed.get(timeout=120)
            raise AssertionError("it did not fail")
        except RuntimeError as e:
            assert "always" in str(e) and failed.state == "FAILURE"
        print("ok failures")
        assert add.apply_async((1, 2), countdown=1).get(timeout=120) == 3
        print("ok countdown")
        assert chain(add.s(1, 2), add.s(3), add.s(4))().get(timeout=120) == 10
        assert group(add.s(n, 1) for n in range(20))().get(timeout=120) == list(range(1, 21))
        assert chord([add.s(n, n) for n in range(50)])(total.s()).get(timeout=120) == 2450
        print("ok chains groups chords")
        assert app.control.ping(timeout=10), "no pong over the control channel"
        print("ok control")
    finally:
        worker.terminate()
        code = worker.wait(120)
    assert code == 0, code
    print("ok end")


if __name__ == "__main__":
    sys.exit(main())
