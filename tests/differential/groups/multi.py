"""multi.py - transactions: blocks of commands of the other groups between MULTI and EXEC, and keys watched by one connection
while the other one runs commands, which must agree about what is a change.

The connection that watches speaks RESP3, the one that changes RESP2, or the other way round.
"""
import importlib

from compare import ENCODING, EXACT, NESTED, RANDOM
from stream import NEWER, Command, group_names

LIMITS = {}

OTHERS = [importlib.import_module("groups." + name) for name in group_names()]
OLD_OTHERS = [importlib.import_module("groups." + name) for name in group_names() if name not in NEWER]
BAD = [[b"NOSUCH", b"x"], [b"GET"], [b"CLIENT", b"NOSUCH"], [b"SET", b"s0"]]
NEWER_BAD = [[b"MULTI"], [b"WATCH", b"s0"], [b"MULTI", b"x"], [b"WATCH"], [b"SAVE"], [b"CLIENT", b"REPLY", b"OFF"]]
KINDS = b"snzqkht"


def plain(p):
    """A command of another group, or several: none that the driver itself runs, nor what is compared loosely."""
    while True:
        group = p.choice(OTHERS if p.newer else OLD_OTHERS)
        functions = [f for _, f in group.COMMANDS]
        made = p.choices(functions, [w for w, _ in group.COMMANDS])[0](p)
        made = made if isinstance(made, list) else [made]
        if not any(c.args[0][:1] == b"~" or c.how in (ENCODING, NESTED) or c.args[0] == b"OBJECT" for c in made):
            return made


def tells_too_much(command):
    """Changes to us, but not to the oracle: SETBIT of a bit that is so already (7.0), another encoding by PFDEBUG, and a string that
    BITFIELD has made longer, or has made, although each of its writes failed (9.1 tells neither who watches nor replicas)."""
    words = [a.upper() for a in command.args]
    return b"SETBIT" in words or b"PFDEBUG" in words or (words[0] == b"BITFIELD" and b"FAIL" in words)


def some(p, low, high):
    return [c for _ in range(p.randint(low, high)) for c in plain(p)]


def key(p):
    return p.key(chr(p.choice(KINDS)))


def queue(p, commands):
    """MULTI, the commands, and an end. Their replies come with EXEC, each to be compared in its own way."""
    hows = [c.how for c in commands]
    end = Command(b"EXEC", how=["each", hows]) if p.chance(0.9) else Command(b"DISCARD")
    end.fixed = True  # what 9.2 does with words after EXEC is unknown to the oracle
    if p.chance(0.08):
        commands.insert(p.randint(0, len(commands)), Command(*p.choice(BAD + NEWER_BAD if p.newer else BAD)))
    for c in commands:
        c.fixed = True
        if c.how != RANDOM:  # as one before it may end the transaction
            c.how = EXACT
    return [Command(b"MULTI"), *commands, end]


def transaction(p):
    return queue(p, some(p, 0, 6))


def two_databases(p):
    return queue(p, [Command(b"SELECT", b"1"), *some(p, 1, 3), Command(b"SELECT", b"0"), *some(p, 0, 2)]) + [Command(b"SELECT", b"0")]


def watched(p):
    """Do the servers agree which commands change which keys?"""
    me = p.choice([2, 3])
    other = 5 - me if p.chance(0.8) else me
    block = [Command(b"WATCH", *[key(p) for _ in range(p.randint(1, 4))])]
    changes = [c for c in some(p, 1, 2) if not tells_too_much(c)]
    if p.chance(0.05):
        changes.append(Command(p.choice([b"FLUSHDB", b"FLUSHALL", b"UNWATCH"])))
    for c in changes:
        c.on(other)
    block += changes + queue(p, [Command(b"PING")] if p.chance(0.7) else some(p, 1, 2))
    for c in block:
        if not c.pinned:
            c.on(me)
    return block


def expired(p):
    """A watched key that is over before WATCH, or before EXEC."""
    k = key(p)
    wait, watch = Command(b"~PAUSE", b"12", fixed=True), Command(b"WATCH", k)
    touch = [Command(*p.choice([[b"GET", k], [b"DEL", k], [b"SET", k, b"v"], [b"FLUSHALL"], [b"PING"]])) for _ in range(p.randint(0, 2))]
    block = [Command(b"SET", k, b"v", b"PX", b"6", fixed=True)]
    block += [wait, watch] if p.chance(0.5) else [watch, wait]
    block += touch + queue(p, [Command(b"EXISTS", k)]) + [Command(b"GET", k, fixed=True)]  # deletes it: DBSIZE would differ
    for c in block:
        c.on(2)
    return block


def without_multi(p):
    return Command(*p.choice([[b"DISCARD"], [b"DISCARD", b"x"], [b"UNWATCH"]]))


COMMANDS = [(10, transaction), (3, two_databases), (20, watched), (0.3, expired), (1, without_multi)]
