"""Rate limiters: those of `limits`, whose Lua runs in the server, and a token bucket as applications write it."""
import os
import threading
import time

import redis
from limits import RateLimitItemPerHour, RateLimitItemPerSecond
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

PORT = int(os.environ["PORT"])
BUCKET = """
local capacity, per_second, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(state[1]) or capacity, tonumber(state[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * per_second)
local granted = tokens >= wanted
if granted then tokens = tokens - wanted end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / per_second * 1000))
return {granted and 1 or 0, tostring(tokens)}
"""


def windows():
    storage = storage_from_string("redis://127.0.0.1:%d" % PORT)
    assert storage.check()
    for strategy in (FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter):
        limiter, item = strategy(storage), RateLimitItemPerHour(10)
        name = strategy.__name__
        assert [limiter.hit(item, name) for _ in range(12)] == [True] * 10 + [False] * 2, name
        assert not limiter.test(item, name) and limiter.get_window_stats(item, name).remaining == 0
        assert limiter.get_window_stats(item, "another").remaining == 10
        limiter.clear(item, name)
        assert limiter.hit(item, name, cost=10) and not limiter.hit(item, name)
        short = RateLimitItemPerSecond(1)
        assert limiter.hit(short, name)
        end = time.time() + 60
        while not limiter.hit(short, name):
            assert time.time() < end, name
            time.sleep(0.05)
        print("ok %s" % name)


def bucket():
    client = redis.Redis(port=PORT)
    take = client.register_script(BUCKET)
    granted, started = [], time.time()

    def user():
        for _ in range(100):
            granted.append(take(keys=["bucket"], args=[50, 10, 1])[0])

    threads = [threading.Thread(target=user) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    most = 50 + 10 * (time.time() - started) + 1
    assert len(granted) == 800 and 50 <= sum(granted) <= most, (len(granted), sum(granted), most)
    assert 0 < client.pttl("bucket") <= 5000
    print("ok bucket")


redis.Redis(port=PORT).flushall()
windows()
bucket()
