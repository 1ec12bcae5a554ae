"""dataset.py - all that a dataset is, as text that can be compared. Beside what DEBUG DIGEST-VALUE sees of a value, that is: times
of expiry of keys and of fields, the whole state of streams (counters, groups, consumers, what is pending, since when and how often
delivered), and functions. Not: encodings, the order of what has none, LRU clocks, when a consumer was seen.

tests/support/dataset.tcl does the same for tests in Tcl.
"""
import re
import time

LOADING_LIMIT_S = 120
STREAM_FACTS = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added", b"recorded-first-entry-id")
GROUP_FACTS = (b"name", b"last-delivered-id", b"entries-read")


class NotReloaded(Exception):
    """DEBUG answered something else than OK."""


def values(reply):
    """A reply without its types."""
    return [values(item) for item in reply[1]] if isinstance(reply[1], list) else reply[1]


def facts(items):
    """The dictionary that a flat list of names and values represents."""
    return dict(zip(items[::2], items[1::2]))


def hash_state(connection, key):
    """The times of fields, if any has one."""
    fields = sorted(values(connection.call(b"HKEYS", key)))
    if not fields:
        return None
    times = values(connection.call(b"HPEXPIRETIME", key, b"FIELDS", len(fields), *fields))
    return None if set(times) == {-1} else list(zip(fields, times))


def stream_state(connection, key):
    stream = facts(values(connection.call(b"XINFO", b"STREAM", key, b"FULL", b"COUNT", 0)))
    state = [stream[name] for name in STREAM_FACTS]
    for group in sorted(map(facts, stream[b"groups"]), key=lambda group: group[b"name"]):
        consumers = sorted(facts(consumer)[b"name"] for consumer in group[b"consumers"])
        state += [[group[name] for name in GROUP_FACTS], sorted(group[b"pending"]), consumers]
    return state


def hyperloglog_state(connection, key):
    """The state of a HyperLogLog: when it gets its full size, and so its bytes, depends on a limit that may have
    changed since."""
    return connection.call(b"PFCOUNT", key)


MORE = {b"hash": hash_state, b"stream": stream_state, b"hyperloglog": hyperloglog_state}


def dataset(connection):
    """{(database, key) or what else there is: its state}"""
    state = {"functions": repr(sorted(values(connection.call(b"FUNCTION", b"LIST", b"WITHCODE")), key=repr))}
    keyspace = connection.call(b"INFO", b"keyspace")[1]
    for db in map(int, re.findall(rb"^db(\d+):", keyspace, re.M)):
        connection.call(b"SELECT", db)
        keys = sorted(values(connection.call(b"KEYS", b"*")))
        answers = connection.call_all([question for key in keys for question in
                                       ((b"TYPE", key), (b"PEXPIRETIME", key), (b"DEBUG", b"DIGEST-VALUE", key), (b"GETRANGE", key, 0, 3))])
        for at, key in enumerate(keys):
            kind, expiry, digest, start = map(values, answers[4 * at : 4 * at + 4])
            if kind == b"string" and start == b"HYLL":
                kind, digest = b"hyperloglog", None
            state[db, key] = repr([kind, expiry, digest, MORE[kind](connection, key) if kind in MORE else None])
    connection.call(b"SELECT", 0)
    return state


def debug(connection, *command):
    reply = connection.call(b"DEBUG", *command)
    if reply != (b"+", b"OK"):
        raise NotReloaded("DEBUG %s: %r" % (command[0].decode(), reply))


def wait_for_file(connection):
    """Until the append-only file is there and no longer rewritten."""
    deadline = time.monotonic() + LOADING_LIMIT_S
    while re.search(rb"aof_rewrite_(in_progress|scheduled):1", connection.call(b"INFO", b"persistence")[1]):
        if time.monotonic() > deadline:
            raise NotReloaded("the append-only file is being rewritten for too long")
        time.sleep(0.02)


def start_file_anew(connection):
    """An append-only file without what was before: loading it again takes no longer than this stream needs."""
    if b"aof_enabled:1" in connection.call(b"INFO", b"persistence")[1]:
        wait_for_file(connection)
        connection.call(b"BGREWRITEAOF")


def changed_by_reload(connection):
    """None, or (what was done, what differs before and after it): the dataset is read back after DEBUG RELOAD and, with an
    append-only file, after DEBUG LOADAOF."""
    before = dataset(connection)
    ways = [b"RELOAD"]
    if b"aof_enabled:1" in connection.call(b"INFO", b"persistence")[1]:
        ways.append(b"LOADAOF")
    for way in ways:
        try:
            if way == b"LOADAOF":
                wait_for_file(connection)
            debug(connection, way)
        except NotReloaded as e:
            return way, {"answer": "+OK"}, {"answer": str(e)}
        after = dataset(connection)
        if after != before:
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            return way, *({name: state.get(name) for name in changed[:5]} for state in (before, after))
    return None
