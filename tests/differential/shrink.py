"""shrink.py - makes a failing stream short: fewer commands first (delta debugging), then fewer arguments.

Delta debugging: leave out a chunk; if the stream still fails, it is not needed. When no chunk of a size can be left
out, chunks get half as long, down to single commands.
"""
import time

from driver import Difference
from stream import Command


class Shrinker:
    def __init__(self, driver, difference, limit_s):
        self.driver, self.difference = driver, difference
        self.by_reload = difference.command is None or difference.command.args[0] == b"DEBUG"  # else it is no use
        self.deadline = time.monotonic() + limit_s

    def fails(self, stream):
        """True when the stream shows the same kind of difference, which is then remembered."""
        try:
            self.driver.run(stream, may_reload=self.by_reload)
        except Difference as d:
            if d.signature() != self.difference.signature():
                return False
            self.difference = d
            return True
        return False

    def time_is_up(self):
        return time.monotonic() > self.deadline

    def fewer_commands(self, stream):
        size = max(1, len(stream) // 2)
        while True:
            at = 0
            while at < len(stream) and not self.time_is_up():
                without = stream[:at] + stream[at + size :]
                if self.fails(without):
                    stream = without
                else:
                    at += size
            if size == 1 or self.time_is_up():
                return stream
            size = max(1, size // 2)

    def fewer_arguments(self, stream):
        """Pairs first, so that ZADD's members go together with their scores."""
        for i in range(len(stream)):
            for width in (2, 1):
                at = 1
                while at + width <= len(stream[i].args) and not self.time_is_up():
                    shorter = Command(*stream[i].args[:at], *stream[i].args[at + width :], how=stream[i].how)
                    shorter.resp = stream[i].resp
                    # Waiting forever or depending on the time is no way to fail.
                    if not stream[i].fixed and self.fails(stream[:i] + [shorter] + stream[i + 1 :]):
                        stream = stream[:i] + [shorter] + stream[i + 1 :]
                    else:
                        at += 1
        return stream


def shrink(driver, stream, difference, limit_s=60):
    """(short stream, its difference). A stream that does not fail again is returned as it is."""
    shrinker = Shrinker(driver, difference, limit_s)
    upto = stream[: difference.index + 1]
    if not shrinker.fails(upto):
        upto = stream
        if not shrinker.fails(upto):
            return None, difference
    short = shrinker.fewer_arguments(shrinker.fewer_commands(upto))
    short = shrinker.fewer_commands(short)
    shrinker.fails(short)  # so that the reported difference is that of the reported stream
    return short, shrinker.difference
