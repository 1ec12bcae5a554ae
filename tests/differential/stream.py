"""stream.py - makes random commands: what the generators in groups/ have in common.

A generator is a function that takes a Pick, the source of randomness, and returns a Command or a list of them that
belong together. Spaces are small, so that commands meet each other's keys and members; and a key's name says what it
mostly holds, so that most commands do something, and a few meet a value of the wrong type:

    s0..s5  strings    n0..n2  numbers    z0..z5  sorted sets    l0..l3  see groups/zset.py    k0..k2  anything

One rule: no reply may depend on when a server runs a command. A time to live is therefore long, or over before it
began, or followed by a pause (short_ttl).
"""
import importlib
import os
import random

from compare import EXACT

FAR = 4102444800  # the year 2100, in seconds
CROSS = 0.03      # how often a command meets a key of another type
JUNK = [b"", b"abc", b"-1", b"0", b"1.5", b"99999999999999999999", b"nan", b" 1", b"1 ", b"0x10", b"-0", b"+1", b"007",
        b"inf", b"NX", b"GT", b"WITHSCORES", b"(1", b"[a", b"\xff\xfe"]
INTEGERS = [b"0", b"1", b"-1", b"2", b"5", b"-7", b"100", b"4294967296", b"9223372036854775807",
            b"-9223372036854775808", b"9223372036854775808", b"12345678901234567890"]
LONG = [b"x" * n for n in (43, 44, 45, 62, 63, 64, 65, 130, 191, 192, 193, 300, 5000)]


class Command:
    """`args` are bytes; `how` is a rule of compare.py. Commands of the driver itself begin with ~ (see driver.py)."""

    __slots__ = ("args", "how", "fixed", "resp", "pinned")

    def __init__(self, *args, how=EXACT, fixed=False):
        self.args = tuple([a if isinstance(a, bytes) else str(a).encode() for a in args])
        self.how = how
        self.fixed = fixed  # may not be damaged: it could block, or depend on the time
        self.resp = 2
        self.pinned = False  # resp is part of the command

    def on(self, resp):
        """Only for the connection that speaks this version."""
        self.resp = resp
        self.pinned = True


class Pick(random.Random):
    newer = True  # than redis 7.0: its options, and commands that it answers otherwise, may be picked

    def once(self, items):
        """What is given twice counts once. 7.0 chooses encodings otherwise then, so it gets different ones."""
        return items if self.newer else list(dict.fromkeys(items))

    def junk(self):
        """Numbers in hexadecimal or behind a space are none since 7.0."""
        junk = self.choice(JUNK)
        return b"abc" if junk in (b"0x10", b" 1") and not self.newer else junk

    def chance(self, p):
        return self.random() < p

    def key(self, kind):
        """A key that likely holds that kind of value."""
        if self.random() < CROSS:
            kind = self.choice("szk")
        return b"%s%d" % (kind.encode(), int(self.random() * (3 if kind in "kn" else 6)))

    def ordered(self, bounds, order, reverse=False):
        """Two bounds, most often the right way round, so that there is something between them."""
        if self.chance(0.8):
            bounds = sorted(bounds, key=order, reverse=reverse)
        return bounds

    def keys(self, kind, low, high):
        return [self.key(kind) for _ in range(self.randint(low, high))]

    def integer(self):
        return self.choice(INTEGERS) if self.chance(0.2) else b"%d" % self.randint(-20, 20)

    def index(self):
        return self.choice(INTEGERS) if self.chance(0.05) else b"%d" % self.randint(-12, 12)

    def value(self):
        r = self.random()
        if r < 0.35:
            return self.integer()
        if r < 0.45:
            return b"%.*f" % (self.randint(0, 5), self.uniform(-100, 100))
        if r < 0.6:
            return self.choice(LONG)
        if r < 0.7:
            return bytes([self.randint(0, 255) for _ in range(self.randint(0, 20))])
        return b"value" + b"%d" % self.randint(0, 30)

    def token(self, *words):
        """One of the words, in upper or lower case."""
        word = self.choice(words)
        return word.lower() if self.chance(0.1) else word

    def maybe(self, p, *args):
        """args, or nothing."""
        return list(args) if self.chance(p) else []

    def ttl_s(self):
        return b"%d" % self.randint(1000, 10**8)

    def ttl_ms(self):
        return b"%d" % self.randint(10**7, 10**11)

    def at_s(self):
        return b"%d" % (FAR + 1000 * self.randint(0, 50))

    def at_ms(self):
        return b"%d000" % (FAR + 1000 * self.randint(0, 50))

    def past(self):
        return self.choice([b"0", b"-1", b"-100000", b"-9223372036854775808"])

    def impossible_ttl(self):
        return self.choice([b"9223372036854775807", b"9223372036854775", b"9223372036854776", b"abc", b"", b"1.0"])


def is_new_in_9_2(args):
    """9.1.2 refuses these words, or takes them otherwise: a fourth word of MOVE and SISMEMBER, a bound of scores without a number."""
    words = [bytes(a).upper() for a in args]
    by_score = words[0] in (b"ZCOUNT", b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE", b"ZREMRANGEBYSCORE") or b"BYSCORE" in words
    return (words[0] in (b"MOVE", b"SISMEMBER") and len(words) > 3) or (by_score and any(w in (b"", b"(") for w in words[2:5]))


def damage(pick, command):
    """Sometimes an argument is lost, doubled or turned into junk; servers must agree about that, too."""
    r = pick.random()
    if r > 0.05 or command.fixed or len(command.args) < 2:
        return
    args = list(command.args)
    at = pick.randrange(1, len(args))
    if r < 0.01:
        del args[-1]
    elif r < 0.015:
        del args[at]
    elif r < 0.025:
        args.insert(at, args[at])
    elif r < 0.045:
        args[at] = pick.junk()
    else:
        args.append(pick.junk())
    # Every encoding of the oracle treats a negative offset differently.
    if not is_new_in_9_2(args) and not any(bytes(word).upper() == b"LIMIT" and bytes(after)[:1] == b"-" for word, after in zip(args, args[1:])):
        command.args = tuple(args)


# Groups that are compared in runs of their own. SORT of 7.0 fails after a range error that any earlier command has left behind, and
# all oracles turn sorted sets that they sort into skiplists. Transactions bring the commands of the other groups with them; users
# forbid them. INFO keysizes counts the keys of all groups.
ALONE = ["acl", "multi", "redis8_server", "sort"]
# Groups of commands that 7.0 does not have.
NEWER = ["client", "hash_expire", "string_valkey"]
NAMES = sorted(f[:-3] for f in os.listdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "groups"))
               if f.endswith(".py") and f[0] != "_")
# Groups of commands that Valkey 9.1 does not have: they are compared with Redis 8 (run --redis8), and only with it.
REDIS8 = [name for name in NAMES if name.startswith("redis8_")]
REDIS8_TOGETHER = [name for name in REDIS8 if name not in ALONE]


def group_names(newer=True):
    """Those that go together."""
    return [name for name in NAMES if name not in ALONE + REDIS8 and (newer or name not in NEWER)]


def load_groups(names):
    return [importlib.import_module("groups." + name) for name in names]


def limits_of(groups, newer):
    """{directive: values to choose from}"""
    limits = {}
    for group in groups:
        limits.update(group.LIMITS)
        limits.update(getattr(group, "NEWER_LIMITS", {}) if newer else {})
    return limits


def set_limits(pick, groups):
    """The limits of encodings, which are different in each stream."""
    return [Command("CONFIG", "SET", name, pick.choice(values), fixed=True)
            for name, values in limits_of(groups, pick.newer).items()]


# Limits that decide only the encoding of a value, not the reply of a command; OBJECT ENCODING is left out then. The
# limits of streams and HyperLogLogs are not among them: they show in XADD with `~` and in STRLEN.
OURS_ALONE = {
    b"list-max-listpack-size": [b"-5", b"-2", b"-1", b"1", b"2", b"5", b"128"],
    b"list-compress-depth": [b"0", b"1", b"3"],
    b"hash-max-listpack-entries": [b"0", b"1", b"4", b"512"],
    b"hash-max-listpack-value": [b"0", b"8", b"64", b"1000"],
    b"set-max-intset-entries": [b"0", b"2", b"10", b"512"],
    b"set-max-listpack-entries": [b"0", b"2", b"10", b"128"],
    b"set-max-listpack-value": [b"0", b"8", b"64", b"1000"],
    b"zset-max-listpack-entries": [b"0", b"1", b"4", b"128"],
    b"zset-max-listpack-value": [b"0", b"8", b"64", b"1000"],
    b"zset-index": [b"skiplist", b"btree"],
    b"min-string-size-avoid-copy-reply": [b"0", b"1", b"193", b"1000", b"16384"],
}


def is_about_encoding(command):
    words = [a.upper() for a in command.args]
    return words[:2] == [b"OBJECT", b"ENCODING"] or words[:1] in ([b"EVAL"], [b"MULTI"]) and b"ENCODING" in words


def with_random_config(seed, stream):
    """The stream, with commands for our server alone that change its encodings again and again."""
    pick, out = Pick(seed), []
    for command in stream:
        if pick.chance(0.02):
            name = pick.choice(sorted(OURS_ALONE))
            out.append(Command("~OURS", "CONFIG", "SET", name, pick.choice(OURS_ALONE[name]), fixed=True))
        if not is_about_encoding(command):
            out.append(command)
    return out


def make_stream(seed, groups, length, newer=True):
    """The commands of one stream. The same seed, groups and length give the same commands."""
    pick = Pick(seed)
    pick.newer = newer
    functions = [f for group in groups for _, f in group.COMMANDS]
    # Groups share the stream evenly, whatever their weights add up to.
    weights = []
    for group in groups:
        total = sum(w for w, _ in group.COMMANDS)
        weights += [w / total for w, _ in group.COMMANDS]
    commands = set_limits(pick, groups)
    resp = 2
    for function in pick.choices(functions, weights, k=length):
        if pick.chance(0.02):
            resp = 5 - resp
        if pick.chance(0.001):
            commands += set_limits(pick, groups)
        made = function(pick)
        made = made if isinstance(made, list) else [made]
        for command in made:
            damage(pick, command)
            if not command.pinned:
                command.resp = resp
        commands += made
    return commands
