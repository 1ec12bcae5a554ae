"""compare.py - when two replies count as equal.

Each command says how its replies are to be compared; errors are always compared exactly. Only what may rightly differ is
forgiven, never more:

    EXACT   byte by byte
    FLOAT   the same, but for a zero's sign, which Valkey forgets in a listpack, and where it prints a score with 16 or 17 digits,
            though fewer would do; beside redis 7.0, which always does, numbers by value
    SORTED  an array in any order (KEYS)
    SCAN    a cursor, which has no meaning outside its server, and items in any order
    PAIRS   the same for ZSCAN and HSCAN, whose items come in pairs, with numbers by value: oracles print 17 digits there
    TIME    seconds, which differ a little: the servers ran the command at slightly different moments; or an array of them
    TIME_MS milliseconds, likewise
    ENCODING an encoding's name: sorted sets may be trees, and what a script set may be an integer, which it never is in Valkey;
            beside redis 7.0 sets and lists may be listpacks, and longer texts embedded
    SET_ENCODING  the same of a set, when the data are read back: which of two it is may be chance
    RANDOM  a random choice: only the types and the length
    ["each", rules] the replies of EXEC, each by its own rule
    DISTINCT  the same, and no item comes twice
    NESTED  arrays, sets and maps in any order, at every depth (FUNCTION LIST)
    RECORDS what XINFO STREAM tells, the fields of idempotence included, which a stream that does not use it has in Redis only
    STREAM  what XINFO and XPENDING tell: times may differ a little; OF_ITS_OWN and, beside redis 7.0, NOT_SHARED facts are left out

Beside redis 7.0 (`old`) a few rules forgive more, and messages that have changed since are the same (NEW_WORDS).
"""
import re

EXACT, FLOAT, SORTED, SCAN, PAIRS = "exact", "float", "sorted", "scan", "pairs"
TIME, TIME_MS, RANDOM, DISTINCT, ENCODING = "time", "time_ms", "random", "distinct", "encoding"
SET_ENCODING = "set_encoding"

STREAM, NESTED, RECORDS = "stream", "nested", "records"

TIME_SLACK_S = 3
LISTS = (b"*", b"~", b">", b"%")


def is_error(reply):
    return reply[0] in (b"-", b"!")


def same_number(a, b):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return x == y or (x != x and y != y)


def same_score(a, b):
    return same_number(a, b) and (float(a) == 0 or len(re.sub(rb"e.*|\D", b"", b).strip(b"0")) >= 16)


def same_float(a, b, same=same_score):
    if a == b:
        return True
    if a[0] != b[0] or a[1] is None or b[1] is None or is_error(a):
        return False
    if a[0] in LISTS:
        return len(a[1]) == len(b[1]) and all(same_float(x, y, same) for x, y in zip(a[1], b[1]))
    return a[0] in (b"$", b",") and same(a[1], b[1])


def same_old_float(a, b):
    return same_float(a, b, same_number)


def same_sorted(a, b):
    return a[0] == b[0] and None not in (a[1], b[1]) and sorted(a[1]) == sorted(b[1])


def scan_parts(reply):
    """(cursor is zero, items) of a scan's reply, or None when it is something else."""
    if reply[0] != b"*" or len(reply[1]) != 2 or reply[1][1][0] not in LISTS:
        return None
    return reply[1][0][1] == b"0", reply[1][1][1]


def same_scan(a, b):
    x, y = scan_parts(a), scan_parts(b)
    return None not in (x, y) and x[0] == y[0] and set(x[1]) == set(y[1])


def same_pairs(a, b):
    x, y = scan_parts(a), scan_parts(b)
    if None in (x, y) or x[0] != y[0]:
        return False
    pairs = [sorted(set(zip(items[::2], items[1::2]))) for items in (x[1], y[1])]
    return len(pairs[0]) == len(pairs[1]) and all(
        p[0] == q[0] and same_old_float(p[1], q[1]) for p, q in zip(*pairs))


def same_time(a, b, slack=TIME_SLACK_S):
    """Negative numbers have a meaning of their own (no key, no expiry)."""
    if a[0] == b"*" == b[0] and None not in (a[1], b[1]):
        return len(a[1]) == len(b[1]) and all(x == y or same_time(x, y, slack) for x, y in zip(a[1], b[1]))
    if a[0] != b":" or b[0] != b":" or min(a[1], b[1]) < 0:
        return False
    return abs(a[1] - b[1]) <= slack


def same_time_ms(a, b):
    return same_time(a, b, 1000 * TIME_SLACK_S)


def same_encoding(a, b):
    """Our encoding may be smaller: the oracle also converts where a command has no effect, after a limit has changed.
    Whether a result is an intset depends on which of several sets of one size comes first. A listpack of fields that expire
    has a name of its own in Redis 8. A list may be a quicklist here only, as LSET of a large element leaves a node above the limit
    in Valkey and divides it here, and only one node becomes a listpack again when the limit is raised (unit/type/list_encoding tests the usual cases)."""
    smaller = {b"btree": (b"skiplist",), b"int": (b"embstr",), b"listpack": (b"skiplist", b"quicklist", b"hashtable", b"intset", b"listpackex"),
               b"quicklist": (b"listpack",)}
    return b[1] in smaller.get(a[1], ())


def same_set_encoding(a, b):
    """The result of SUNIONSTORE and SDIFFSTORE depends on the order in which they visit a hash table, which is
    undefined."""
    return same_encoding(a, b) or same_encoding(b, a)


def same_old_encoding(a, b):
    newer = {b"listpack": (b"hashtable", b"quicklist"), b"embstr": (b"raw",)}
    return b[1] in newer.get(a[1], ()) or same_encoding(a, b)


def same_random(a, b):
    if a[0] != b[0] or (a[1] is None) != (b[1] is None):
        return False
    if a[0] not in LISTS or a[1] is None:
        return True
    return len(a[1]) == len(b[1]) and all(map(same_random, a[1], b[1]))


def same_distinct(a, b):
    return same_random(a, b) and len(set(a[1])) == len(a[1])


def in_order(reply):
    return (reply[0], sorted(map(in_order, reply[1]), key=repr)) if isinstance(reply[1], list) else reply


def same_nested(a, b):
    return in_order(a) == in_order(b)


# Fields of XINFO about the server's own structures, fields that 7.0 lacks or defines otherwise, and fields with ages.
IDMP = {b"idmp-duration": 100, b"idmp-maxsize": 100, b"pids-tracked": 0, b"iids-tracked": 0, b"iids-added": 0, b"iids-duplicates": 0}
OF_ITS_OWN = (b"radix-tree-nodes", *IDMP)
NOT_SHARED = (b"idle", b"inactive", b"seen-time", b"active-time")
AGES = (b"idle", b"inactive")


def stream_facts(reply, left_out):
    """The items of a reply without those fields, and with 0 for ages of a moment; a map looks like an array of names and values."""
    kind, items = reply
    if kind not in LISTS or not items or items[0][1] not in (b"name", b"length"):
        return items
    facts = []
    for name, value in zip(items[::2], items[1::2]):
        if name[1] == b"max-deleted-entry-id" and value[1] == b"0-1":
            value = (value[0], b"0-0")  # after a trim with gaps; both say that nothing was deleted
        if name[1] not in left_out:
            facts += [name, (b":", 0) if name[1] in AGES and 0 <= value[1] <= 1000 * TIME_SLACK_S else value]
    return facts


def same_stream(a, b, left_out=OF_ITS_OWN):
    if a == b:
        return True
    if a[0] == b":" == b[0]:  # a time when something was delivered, or how long ago that is
        return a[1] > 1000 < b[1] and same_time_ms(a, b)
    if a[0] not in LISTS or b[0] not in LISTS or None in (a[1], b[1]):
        return False
    if any(item[1] == b"idmp-duration" for item in b[1]):
        left_out += (b"lag",)  # of Redis 8: when a stream is empty it is always 0 there
    x, y = stream_facts(a, left_out), stream_facts(b, left_out)
    if len(x) == len(y) == 4 and x[2][0] == b":" == y[2][0]:  # pending: ID, consumer, idle time, deliveries
        return x[:2] == y[:2] and x[3] == y[3] and same_time_ms(x[2], y[2])
    return len(x) == len(y) and all(same_stream(p, q, left_out) for p, q in zip(x, y))


def same_records(a, b):
    """A stream that does not use idempotence has the fields of one that has done nothing yet."""
    found = [dict(zip((name[1] for name in reply[1][::2]), reply[1][1::2])) if reply[0] in LISTS else {} for reply in (a, b)]
    ours, oracle = [{name: facts.get(name, (b":", usual)) for name, usual in IDMP.items()} for facts in found]
    return ours == oracle and same_stream(a, b)


def same_old_stream(a, b):
    return same_stream(a, b, OF_ITS_OWN + NOT_SHARED)


RULES = {RECORDS: same_records, STREAM: same_stream, NESTED: same_nested, FLOAT: same_float, SORTED: same_sorted, SCAN: same_scan,
         PAIRS: same_pairs, TIME: same_time, TIME_MS: same_time_ms, RANDOM: same_random, DISTINCT: same_distinct,
         ENCODING: same_encoding, SET_ENCODING: same_set_encoding}
OLD_RULES = dict(RULES, **{STREAM: same_old_stream, FLOAT: same_old_float, ENCODING: same_old_encoding})

# Messages that Valkey words otherwise than redis 7.0: (its words as a pattern, ours).
NEW_WORDS = [
    (b"Unbalanced XREAD list", b"Unbalanced 'xread' list"),
    (b"Unknown Redis command called", b"Unknown command called"),
    (b"Wrong number of args calling Redis command", b"Wrong number of args calling command"),
    (b"This Redis command is not allowed", b"This Valkey command is not allowed"),
    (b"Lua redis lib command arguments must", b"Command arguments must"),
    (b"for this redis lib call", b"for this call"),
    (b"Unexpected engine in script shebang: #!js", b"Could not find scripting engine 'js'"),
    (b"redis.register_function", b"server.register_function"),
    (rb"redis\.(acl_check_cmd|log|setresp|set_repl|sha1hex)\(", rb"server.\1("),
    (rb"member .* does not exist", b"could not decode requested zset member"),  # here ours is the one that is put back
    (rb" Please use EVAL\.", b""),
    (rb"script: \w+, on @user_", b"script: on @user_"),
]


def in_new_words(reply):
    kind, payload = reply
    if isinstance(payload, list):
        return kind, [in_new_words(item) for item in payload]
    if isinstance(payload, bytes):
        for old, new in NEW_WORDS:
            payload = re.sub(old, new, payload)
    return kind, payload


def equal_each(rules, ours, oracle, old):
    if None in (ours[1], oracle[1]) or ours[0] != b"*" or oracle[0] != b"*":
        return ours == oracle
    return len(ours[1]) == len(oracle[1]) == len(rules) and all(
        equal(rule, x, y, old) for rule, x, y in zip(rules, ours[1], oracle[1]))


def equal(how, ours, oracle, old=False):
    """`old`: the oracle is redis 7.0."""
    if isinstance(how, list):
        return equal_each(how[1], ours, oracle, old)
    if ours == oracle or (old and in_new_words(ours) == in_new_words(oracle)):
        return how != DISTINCT or is_error(ours) or same_distinct(ours, oracle)
    rules = OLD_RULES if old else RULES
    return how != EXACT and not is_error(ours) and not is_error(oracle) and rules[how](ours, oracle)
