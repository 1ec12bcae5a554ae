"""arguments.py - commands with arguments that are drawn from the grammar of COMMAND DOCS.

A case is one command with its arguments. Case number 0 of a command has only what the grammar demands, and values that fit; numbers 1 and 2
have options and keys at random; number 3 is invalid: an argument too few or too many, a value of the wrong type, a key of another type.
The random numbers of a case depend on the seed, the command and the number only, so that a command has the same arguments in all states.

The keys, FIXTURES, are the same everywhere as well. Their names begin with {t}, which a state replaces by another tag where it
wants the keys in another slot.

A generator makes the values of one argument. GENERATORS lists them by "command argument" or by "argument"; arguments of a type that are not
listed have the generator of the type.
"""
import random

VARIANTS = 4
INVALID = 3
PREFIX = "{t}"

# All keys of the dataset and how they are made. The string `old` expires at once, but active expiry is off.
FIXTURES = [
    ("SET", "{t}string", "10"), ("SET", "{t}text", "hello world"), ("SET", "{t}ttl", "with a time", "EXAT", "4102444800"),
    ("RPUSH", "{t}list", "a", "b", "c", "b"), ("RPUSH", "{t}list2", "1", "2"),
    ("SADD", "{t}set", "1", "2", "3"), ("SADD", "{t}set2", "a", "b", "3"),
    ("ZADD", "{t}zset", "1", "a", "2", "b", "3", "c"), ("ZADD", "{t}zset2", "0", "a", "0", "b", "0", "d"),
    ("HSET", "{t}hash", "f", "1", "g", "text"), ("HSET", "{t}hash2", "f", "1", "g", "2"),
    ("HPEXPIREAT", "{t}hash2", "4102444800000", "FIELDS", "1", "f"),
    ("XADD", "{t}stream", "1-1", "f", "v"), ("XADD", "{t}stream", "2-1", "f", "w"), ("XGROUP", "CREATE", "{t}stream", "g", "0"),
    ("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "{t}stream", ">"),
    ("GEOADD", "{t}geo", "13.361389", "38.115556", "a", "15.087269", "37.502669", "b"),
    ("PFADD", "{t}hll", "a", "b", "c"), ("SETBIT", "{t}bits", "7", "1"), ("SET", "{t}old", "10", "PX", "1"),
]
SCRIPT = "return server.call('get', KEYS[1] or '{t}string')"
LIBRARY = "#!lua name=lib\nserver.register_function('f', function(k, a) return 1 end)\n" \
          "server.register_function{function_name='call', callback=function(k, a) return server.pcall(unpack(a)) end}\n" \
          "server.register_function{function_name='ro', callback=function(k, a) return server.pcall(unpack(a)) end, flags={'no-writes'}}"

PAYLOAD = bytes.fromhex("00c00a0b000740ea36f3318a32")  # what DUMP answers for the string 10, in a version that both load

KEYS_OF_GROUP = {
    "string": ["string", "text", "ttl"], "list": ["list", "list2"], "set": ["set", "set2"], "sorted-set": ["zset", "zset2"],
    "hash": ["hash", "hash2"], "stream": ["stream"], "geo": ["geo"], "hyperloglog": ["hll"], "bitmap": ["bits", "string"],
    "pathhash": ["paths", "paths2"],  # newer.py makes them
}
ALL_KEYS = sorted({words[1].removeprefix(PREFIX) for words in FIXTURES if words[1].startswith(PREFIX)} - {"old"})
STREAM_IDS = ["1-1", "2-1", "1-0", "5-5", "0"]

# Commands whose grammar COMMAND DOCS does not give, or which would harm the observers: a list of argument lists each,
# one of which is drawn.
WHOLE = {
    "debug": ["DIGEST", "OBJECT {t}string", "DIGEST-VALUE {t}string", "SLEEP 0", "JMAP", "STRINGMATCH-LEN 10 a", "ZIPLIST {t}list", "LISTPACK {t}hash",
              "QUICKLIST-PACKED-THRESHOLD 1gb", "CHANGE-REPL-ID", "RELOAD", "HELP", "LOG text", "PROTOCOL string", "PROTOCOL map", "HTSTATS 0",
              "STRUCTSIZE", "SDSLEN {t}string", "POPULATE 3 pop 10", "SET-DISABLE-DENY-SCRIPTS 0", "DICT-RESIZING 1", "REPLICATE AOF SET {t}gone 1",
              "MALLCTL x", "AOF-FLUSH-SLEEP 0", "nothing"],
    "replconf": ["", "listening-port 7", "capa eof", "version 9.1.2", "GETACK *", "ACK 5", "rdb-only 1", "ip-address 1.2.3.4", "nothing 1", "a"],
    "psync": ["? -1", "0000000000000000000000000000000000000000 5", "? x"],
    "client|kill": ["ID 99999999", "1.2.3.4:5", "ADDR 1.2.3.4:5", "USER nobody", "USER default MAXAGE 1000000", "TYPE nothing", "ID x", "MAXAGE 1000000"],
    "client|pause": ["0", "1", "1 WRITE", "1 ALL", "x", "-1"],
    "client|unblock": ["99999999", "99999999 ERROR", "x", "99999999 nothing"],
    "client|list": ["", "ID 99999999", "TYPE normal", "USER nobody", "ID x", "TYPE nothing", "NOT-USER default"],
    "client|tracking": ["ON", "OFF", "ON BCAST", "ON OPTIN", "ON REDIRECT 99999999", "ON OPTIN OPTOUT", "nothing"],
    "client|capa": ["redirect", "nothing"],
    "client|reply": ["ON", "OFF", "SKIP", "nothing"],
    "cluster|syncslots": ["", "ESTABLISH", "CAPA x", "ACK", "nothing", "FINISH SOURCE 1 2 3", "REQUEST-FAILOVER", "SNAPSHOT-EOF"],
    "cluster|setslot": ["{slot} STABLE", "{slot} MIGRATING {peer}", "{slot} IMPORTING {peer}", "{slot} NODE {self}", "{slot} NODE {peer}", "99999 STABLE",
                        "{slot} NODE nobody", "{slot} nothing"],
    "cluster|migrateslots": ["SLOTSRANGE {slot} {slot} NODE {peer}", "SLOTSRANGE {slot} {slot} NODE {self}", "SLOTSRANGE 5 4 NODE {peer}",
                             "SLOTSRANGE 1 2 NODE nobody", "SLOTSRANGE x"],
    "cluster|addslots": ["{slot}", "16384", "{slot} {slot}", "x"],
    "cluster|addslotsrange": ["{slot} {slot}", "5 4", "0 16384", "x y"],
    "cluster|delslots": ["{slot}", "16384", "x"],
    "cluster|delslotsrange": ["{slot} {slot}", "5 4", "0 16384"],
    "cluster|flushslot": ["{slot}", "{slot} ASYNC", "{slot} SYNC", "16384", "x", "{slot} nothing"],
    "cluster|countkeysinslot": ["{slot}", "16384", "-1", "x"],
    "cluster|getkeysinslot": ["{slot} 10", "{slot} -1", "16384 1", "x 1"],
    "cluster|forget": ["{self}", "nobody", "0000000000000000000000000000000000000000"],
    "cluster|replicate": ["{self}", "nobody", "NO ONE", "NO", "{peer} x"],
    "cluster|replicas": ["{self}", "{peer}", "nobody"],
    "cluster|slaves": ["{self}", "nobody"],
    "cluster|count-failure-reports": ["{self}", "{peer}", "nobody"],
    "cluster|meet": ["127.0.0.1 x", "nothing 7000", "127.0.0.1 0", "127.0.0.1 70000"],
    "cluster|failover": ["", "nothing", "FORCE x"],
    "cluster|reset": ["nothing", "SOFT", "HARD x"],
    "cluster|set-config-epoch": ["0", "-1", "5", "x"],
    "cluster|slot-stats": ["SLOTSRANGE 0 5", "SLOTSRANGE 5 0", "ORDERBY key-count LIMIT 3", "ORDERBY nothing", "ORDERBY key-count LIMIT 0"],
    "failover": ["", "ABORT", "TO 127.0.0.1 1", "TO 127.0.0.1 1 FORCE TIMEOUT 1", "TIMEOUT 0", "FORCE", "nothing"],
    "replicaof": ["NO ONE", "127.0.0.1 x", "127.0.0.1 70000", "127.0.0.1 1"],
    "slaveof": ["NO ONE", "127.0.0.1 x", "127.0.0.1 70000", "127.0.0.1 1"],
    "shutdown": ["nothing", "ABORT", "SAVE NOSAVE", "NOSAVE", "NOSAVE NOW FORCE", "NOSAVE ABORT"],
    "config|set": ["maxmemory-samples 6", "nothing 1", "maxmemory-samples x", "list-max-listpack-size 100 maxmemory-samples 6", "port x", "daemonize yes",
                   "maxmemory-samples 6 maxmemory-samples 7", "maxmemory-samples"],
    "config|get": ["maxmemory", "max*", "nothing", "maxmemory port"],
    "acl|setuser": ["new on nopass ~* +@all", "new", "new +nothing", "new on >secret allchannels -@all +get", "new ~* allkeys ~{t}", "new (+get ~x)"],
    "acl|deluser": ["nobody", "default", "new"],
    "acl|dryrun": ["default GET {t}string", "nobody GET x", "default nothing", "default GET", "default SET {t}string 1"],
    "acl|getuser": ["default", "nobody"],
    "acl|log": ["", "RESET", "5", "x"],
    "auth": ["default wrong", "wrong", "nobody wrong", "default x y"],
    "hello": ["", "2", "3", "4", "x", "3 SETNAME name", "3 AUTH default wrong", "2 AUTH nobody x", "3 SETNAME", "3 nothing"],
    "select": ["0", "1", "15", "16", "-1", "x"],
    "migrate": ["127.0.0.1 1 {t}string 0 100", "127.0.0.1 1 {t}gone 0 100", "127.0.0.1 1 {e} 0 100 KEYS {t}string {t}list", "127.0.0.1 1 {t}string x 100",
                "127.0.0.1 1 {t}string 0 100 COPY REPLACE", "127.0.0.1 1 {t}string 0 100 KEYS {t}string", "127.0.0.1 1 {t}string 0 100 nothing"],
    "module|load": ["/nothing.so", "/dev/null a b"], "module|loadex": ["/nothing.so CONFIG a b", "/nothing.so ARGS a"],
    "module|unload": ["nothing"],
    "wait": ["0 0", "0 1", "-1 0", "x 0", "0 -1", "5 0"], "waitaof": ["0 0 0", "0 0 1", "1 0 0", "2 0 0", "-1 0 0", "0 0 x"],
    "command|getkeys": ["GET {t}string", "SET a b", "EVAL x 1 {t}string", "PING", "nothing", "MGET"],
    "command|getkeysandflags": ["GET {t}string", "SET a b", "EVAL x 1 {t}string", "PING", "nothing"],
    "latency|graph": ["command", "nothing"], "lolwut": ["", "VERSION 5 1 1 1", "VERSION x"],
    "restore": ["{t}gone 0 {dump}", "{t}string 0 {dump}", "{t}string 0 {dump} REPLACE", "{t}gone 1000000 {dump} IDLETIME 5", "{t}gone 0 x",
                "{t}gone -1 {dump}", "{t}gone 5 {dump} ABSTTL", "{t}gone 0 {dump} nothing"],
    "script|debug": ["NO", "nothing"],
    "pfdebug": ["ENCODING {t}hll", "GETREG {t}hll", "TODENSE {t}hll", "DECODE {t}hll", "ENCODING {t}string", "nothing {t}hll", "ENCODING {t}gone"],
    "info": ["", "server", "commandstats", "everything", "nothing", "server clients"],
    "clusterscan": ["0", "0 COUNT 10", "0 SLOT {slot}", "x", "0-{t}-0", "0 nothing"],
    "bgsave": ["", "SCHEDULE", "CANCEL", "nothing"],
    "object|freq": ["{t}string", "{t}gone"],
    "acl|setrole": ["new", "new ~* +@all", "new +nothing", "new on", "new ~* ~{t}", "new (+get ~x)"],
    "acl|delrole": ["nobody", "new", "nobody new"],
}
WHOLE["restore-asking"] = WHOLE["restore"]


class Picker:
    """Draws the values of one case. Optional arguments for which `prefer` holds are always there; `keys` are the keys to take, in turn."""

    def __init__(self, name, group, rng, plain, prefer, keys):
        self.name, self.group, self.rng, self.plain, self.prefer, self.keys = name, group, rng, plain, prefer, keys
        self.count = None  # how many of the next repeated argument there must be
        self.keys_were = 1
        self.taken = 0  # of `keys`

    def one(self, *values):
        """The first of them in a plain case."""
        return values[0] if self.plain else self.rng.choice(values)

    def key(self, destination=False):
        if self.keys:
            self.taken += 1
            return self.keys[(self.taken - 1) % len(self.keys)]
        of_group = KEYS_OF_GROUP.get(self.group, ALL_KEYS)
        if destination:
            return PREFIX + self.one("gone", "gone2", *of_group)
        roll = 0 if self.plain else self.rng.random()
        if roll < 0.6:
            return PREFIX + self.one(*of_group)
        return PREFIX + (self.rng.choice(("gone", "old")) if roll < 0.85 else self.rng.choice(ALL_KEYS))


def repeated(name):
    """An argument that gives the number of those that follow."""
    def generate(pick):
        pick.count = pick.one(1, 2)
        if name == "numkeys" and pick.keys:
            pick.count = max(1, len(pick.keys) - pick.taken)
        return str(pick.count)
    return generate


GENERATORS = {
    "numkeys": repeated("numkeys"), "numfields": repeated("numfields"), "numids": repeated("numids"),
    "path": lambda p: p.one("/a", "/a/b", "/new", ""), "query": lambda p: p.one("/a/b/c", "/a", "", "x"), "prefix": lambda p: p.one("/a", "/a/", "", "x"),
    "phscan cursor": lambda p: p.one("0", "1:2f61", "1:", "x"), "max-path-bytes": lambda p: p.one("4", "2", "0", "-1"),
    "lbound": lambda p: p.one("0", "-5", "100", "x"), "ubound": lambda p: p.one("100", "11", "0", "x"), "byfloat": lambda p: p.one("1.5", "-2", "inf"),
    "ifdeq-digest": lambda p: p.one("0" * 16, "x"), "ifdne-digest": lambda p: p.one("0" * 16, "x"), "comparison-digest": lambda p: p.one("0" * 16, "x"),
    "delex value": lambda p: p.one("10", "other"), "exec value": lambda p: p.one("10", "other"), "exec nx": lambda p: p.key(), "exec xx": lambda p: p.key(), "rolename": lambda p: p.one("nobody", "new"),
    "timeout": lambda p: p.one("0", "0", "-1", "x"),
    "block": lambda p: "0", "cursor": lambda p: p.one("0", "0", "5", "x"),
    "xread id": lambda p: p.one("0", "$", "1-1", "+", "x"), "xreadgroup id": lambda p: p.one(">", "0", "1-1", "x"),
    "xadd id": lambda p: p.one("9-9", "*", "9-*", "1-1", "0-0"), "id": lambda p: p.one(*STREAM_IDS),
    "last-id": lambda p: p.one("9-9", "1-1"), "lastid": lambda p: p.one("9-9", "1-1"), "max-deleted-id": lambda p: p.one("1-0", "99-0"),
    "xgroup|create id": lambda p: p.one("$", "0", "1-1", "x"), "group": lambda p: p.one("g", "h"), "consumer": lambda p: p.one("c", "d"),
    "xgroup|create group": lambda p: p.one("h", "g"), "xgroup|createconsumer consumer": lambda p: p.one("d", "c"),
    "xrange start": lambda p: p.one("-", "1-1", "(1-1"), "xrange end": lambda p: p.one("+", "2-1"),
    "xrevrange start": lambda p: p.one("-", "1-1", "(1-1"), "xrevrange end": lambda p: p.one("+", "2-1"),
    "xpending start": lambda p: p.one("-", "1-1"), "xpending end": lambda p: p.one("+", "2-1"), "xautoclaim start": lambda p: p.one("0", "1-1"),
    "min-idle-time": lambda p: p.one("0", "1000000"), "threshold": lambda p: p.one("1", "0", "100", "2-1"),
    "start": lambda p: p.one("0", "1", "-2"), "stop": lambda p: p.one("-1", "1", "0"), "end": lambda p: p.one("-1", "1", "0"),
    "min": lambda p: p.one("0", "-inf", "(1", "[a", "-") if "lex" not in p.name else p.one("-", "[a", "(b"),
    "max": lambda p: p.one("3", "+inf", "(2", "[c", "+") if "lex" not in p.name else p.one("+", "[b", "(c"),
    "longitude": lambda p: p.one("15", "13.5"), "latitude": lambda p: p.one("37", "38.2"), "radius": lambda p: p.one("500", "1", "-1"),
    "width": lambda p: "400", "height": lambda p: "400", "score": lambda p: p.one("5", "1", "-inf", "x"),
    "increment": lambda p: p.one("3", "-1", "9223372036854775807"), "decrement": lambda p: p.one("3", "-1", "9223372036854775807"),
    "offset": lambda p: p.one("7", "0", "#1", "-1"), "setrange offset": lambda p: p.one("1", "0", "20", "-1"), "zrange offset": lambda p: p.one("0", "1"),
    "encoding": lambda p: p.one("u8", "i16", "u64"), "setbit value": lambda p: p.one("1", "0", "2"), "bitfield value": lambda p: p.one("5", "1"),
    "bit": lambda p: p.one("1", "0", "2"), "count": lambda p: p.one("1", "2", "0", "-1"),
    "element": lambda p: p.one("a", "b", "1", "z"), "pivot": lambda p: p.one("b", "nothing"), "member": lambda p: p.one("a", "1", "z"),
    "field": lambda p: p.one("f", "g", "z"), "value": lambda p: p.one("5", "text", ""), "comparison-value": lambda p: p.one("10", "other"),
    "delifeq value": lambda p: p.one("10", "other"), "index": lambda p: p.one("0", "1", "-1", "9"), "rank": lambda p: p.one("1", "-1", "0"),
    "milliseconds": lambda p: p.one("100000000", "0", "-1"), "seconds": lambda p: p.one("1000000", "0", "-1"),
    "expire seconds": lambda p: p.one("1000000", "0", "-1"), "unix-time-seconds": lambda p: p.one("4102444800", "1", "-1"),
    "unix-time-milliseconds": lambda p: p.one("4102444800000", "1", "-1"), "db": lambda p: p.one("1", "0", "99"),
    "destination-db": lambda p: p.one("1", "0", "99"), "index1": lambda p: p.one("0", "1"), "index2": lambda p: p.one("1", "0", "99"),
    "script": lambda p: p.one(SCRIPT, "return server.call('set', KEYS[1] or '{t}gone', 'v')", "return server.error_reply('MY error')", "syntax error here"),
    "script|load script": lambda p: p.one("return 2", "syntax error here"), "sha1": lambda p: p.one("{sha}", "0" * 40, "x"),
    "function": lambda p: p.one("f", "ro", "nothing"), "function-code": lambda p: p.one(LIBRARY.replace("name=lib", "name=other").replace("'f'", "'f2'")
                                                                       .replace("'call'", "'call2'").replace("'ro'", "'ro2'"), LIBRARY, "x"),
    "library-name": lambda p: p.one("lib", "nothing"), "library-name-pattern": lambda p: p.one("*", "nothing"),
    "function|restore serialized-value": lambda p: p.one("{functions}", "x"),
    "arg": lambda p: p.one("{t}string", "1"), "channel": lambda p: p.one("channel", "other"), "shardchannel": lambda p: PREFIX + p.one("channel", "other"),
    "pattern": lambda p: p.one("*", "{t}*", "nothing"), "message": lambda p: p.one("text", ""), "section": lambda p: p.one("server", "nothing"),
    "command": lambda p: p.one("get", "nothing"), "command-name": lambda p: p.one("get", "nothing"), "category": lambda p: p.one("read", "nothing"),
    "event": lambda p: p.one("command", "nothing"), "username": lambda p: p.one("default", "nobody"), "type": lambda p: p.one("string", "nothing"),
    "operation": lambda p: p.one("AND", "OR"), "client-id": lambda p: "99999999", "bits": lambda p: p.one("8", "0"), "protover": lambda p: "3",
    "libname": lambda p: p.one("lib", "a b"), "libver": lambda p: p.one("1", "a b"), "connection-name": lambda p: p.one("name", "a b"),
    "weight": lambda p: p.one("1", "2", "x"), "limit": lambda p: p.one("1", "0", "-1"), "parameter": lambda p: "maxmemory",
    "key": lambda p: p.key(), "by-pattern": lambda p: p.one("nosort", "{t}w_*"), "get-pattern": lambda p: p.one("#", "{t}w_*"),
    "version": lambda p: "5", "engine": lambda p: "lua", "module-name": lambda p: "nothing", "metric": lambda p: "key-count",
    "bgsave schedule": lambda p: "SCHEDULE",
}
OF_TYPE = {"integer": lambda p: p.one("1", "0", "-1", "x"), "double": lambda p: p.one("1", "2.5", "x"), "string": lambda p: p.one("text", ""),
           "pattern": lambda p: "*", "unix-time": lambda p: p.one("4102444800", "1")}
DESTINATIONS = ("destination", "destkey", "dst", "newkey", "storekey", "storedistkey")


def value_of(pick, argument):
    name, kind = argument["name"], argument["type"]
    if kind == "key":
        return pick.key(name in DESTINATIONS)
    generate = GENERATORS.get("%s %s" % (pick.name, name)) or GENERATORS.get(name) or OF_TYPE[kind]
    return generate(pick)


def render_once(pick, argument):
    """The words of one occurrence, without its token."""
    kind = argument["type"]
    if kind == "pure-token":
        return []
    if kind == "oneof":
        chosen = pick.one(*([a for a in argument["arguments"] if pick.prefer(a)] or argument["arguments"]))
        return render(pick, dict(chosen, flags=[f for f in chosen.get("flags", []) if f != "optional"]))
    if kind == "block":
        return render_all(pick, argument["arguments"])
    return [value_of(pick, argument)]


def render(pick, argument):
    """The words of an argument, as often as it occurs."""
    flags = argument.get("flags", [])
    needed, pick_count = pick.count if "multiple" in flags else None, None
    if "optional" in flags and needed is None and not pick.prefer(argument) and (pick.plain or pick.rng.random() < 0.6):
        return []
    times = 1
    if "multiple" in flags:
        times = needed if needed is not None else pick.one(1, 2)
        if pick.name in ("xread", "xreadgroup") and argument["name"] == "id":
            times = pick.keys_were
        if pick.name in ("xread", "xreadgroup") and argument["name"] == "key":
            pick.keys_were = times
        pick.count = pick_count
    words = []
    for i in range(times):
        token = argument.get("token")
        if token is not None and (i == 0 or "multiple_token" in flags):
            words += [token] if token else ['""'] if pick.name == "migrate" else [token]
        words += render_once(pick, argument)
    return words


def render_all(pick, arguments):
    words = []
    for argument in arguments or []:
        words += render(pick, argument)
    return words


# 9.2 takes further words of these, so that one too many is another error than 9.1.2's, and comes later.
OPEN_SINCE_9_2 = {"exec", "move", "sismember"}


def made_invalid(words, start, rng):
    """One thing wrong: too few, too many, a value of the wrong type, a key of another type."""
    how = rng.randrange(4)
    keys = [i for i in range(start, len(words)) if words[i].startswith(PREFIX)]
    if how == 0 and len(words) > start:
        return words[:-1]
    if how == 1 and keys:
        words[rng.choice(keys)] = PREFIX + rng.choice(ALL_KEYS)
        return words
    if how == 2 and len(words) > start and len(keys) < len(words) - start:
        words[rng.choice([i for i in range(start, len(words)) if i not in keys])] = "nonsense"
        return words
    return words if "|".join(words[:start]).lower() in OPEN_SINCE_9_2 else words + ["surplus"]


class Case:
    def __init__(self, name, group, number, words):
        self.name, self.group, self.number = name, group, number
        self.words = [word.encode() for word in words]

    def __repr__(self):
        return "%s:%d" % (self.name, self.number)


def make_case(seed, name, fact, number, prefer=lambda argument: False, keys=()):
    """Case `number` of the command `name`; `fact` is its entry of COMMAND DOCS. Picker explains `prefer` and `keys`."""
    rng = random.Random("%s/%s/%d" % (seed, name, number))
    pick = Picker(name, fact["group"], rng, number == 0, prefer, keys)
    words = name.upper().split("|")
    start = len(words)
    if name in WHOLE:
        choices = WHOLE[name]
        text = choices[0] if number == 0 else rng.choice(choices)
        words += ["" if word == "{e}" else word for word in text.split()]
    else:
        words += render_all(pick, fact.get("arguments"))
        if number == INVALID:
            words = made_invalid(words, start, rng)
    return Case(name, fact["group"], number, words)


def commands_of(docs):
    """{name: fact} of a reply to COMMAND DOCS; subcommands are named container|sub, and containers alone are left out."""
    found = {}
    for name, fact in docs.items():
        if fact.get("subcommands"):
            found.update(commands_of(fact["subcommands"]))
        else:
            found[name] = fact
    return found


def infos_of(commands):
    """The entries of a reply to COMMAND, those of subcommands among them."""
    return [entry for command in commands for entry in [command, *infos_of(command[9])]]


def dictionary(reply):
    """A reply to COMMAND DOCS (RESP3) as dictionaries and lists of strings."""
    kind, payload = reply
    if kind == b"%":
        return {dictionary(key): dictionary(value) for key, value in zip(payload[::2], payload[1::2])}
    if isinstance(payload, list):
        return [dictionary(item) for item in payload]
    return payload.decode() if isinstance(payload, bytes) else payload
