"""client.py - CLIENT: names, filters of LIST and KILL that match no client or only errors, and settings of a
connection.

Replies that depend on the server (IDs, addresses, sizes), and commands that cause pushes or silence, are left out."""
from compare import RANDOM
from stream import Command

LIMITS = {}

FILTERS = [b"ID", b"NOT-ID", b"TYPE", b"NOT-TYPE", b"USER", b"NOT-USER", b"ADDR", b"NOT-ADDR", b"LADDR", b"NOT-LADDR", b"SKIPME", b"MAXAGE", b"NAME",
           b"NOT-NAME", b"IDLE", b"FLAGS", b"NOT-FLAGS", b"LIB-NAME", b"NOT-LIB-NAME", b"LIB-VER", b"NOT-LIB-VER", b"DB", b"NOT-DB", b"CAPA", b"NOT-CAPA",
           b"IP", b"NOT-IP", b"NOSUCH", b"NOT-SKIPME"]
VALUES = {b"ID": [b"99999999", b"0", b"-1", b"abc"], b"TYPE": [b"pubsub", b"replica", b"master", b"nosuch", b"primary", b"slave"],
          b"USER": [b"nobody", b"default"], b"ADDR": [b"1.2.3.4:5", b"nonsense"], b"IP": [b"1.2.3.4", b"nonsense"], b"SKIPME": [b"yes", b"no", b"maybe"],
          b"MAXAGE": [b"100000000", b"0", b"-1", b"abc"], b"IDLE": [b"100000000", b"-1", b"abc"], b"FLAGS": [b"M", b"?", b"ON", b""],
          b"CAPA": [b"r", b"?", b""], b"DB": [b"9", b"-1", b"99", b"abc"]}
NOBODY = [[b"ID", b"99999999"], [b"TYPE", b"pubsub"], [b"NAME", b"nobody"], [b"ADDR", b"1.2.3.4:5"], [b"DB", b"9"], [b"LIB-NAME", b"nothing"]]
NAMES = [b"", b"a", b"name", b"a b", b"x\n", b"\xc3\xa9"]


def one_filter(p):
    name = p.token(*FILTERS)
    plain = name.upper().replace(b"NOT-", b"").replace(b"LADDR", b"ADDR")
    return [name, p.choice(VALUES.get(plain, [b"nothing", b"no*"]))]


def with_filters(p):
    """At least one filter matches no client: no connection is listed or closed."""
    words = p.choice(NOBODY) + [word for _ in range(p.randint(0, 2)) for word in one_filter(p)]
    return Command(b"CLIENT", p.choice([b"LIST", b"KILL"]), *words, fixed=True)


def name(p):
    text = p.choice(NAMES)
    return p.choice([Command(b"CLIENT", b"SETNAME", text), Command(b"CLIENT", b"GETNAME"),
                     Command(b"CLIENT", b"SETINFO", p.choice([b"LIB-NAME", b"lib-ver", b"nosuch"]), text)])


def setting(p):
    words = p.choice([[b"NO-EVICT", b"on"], [b"NO-EVICT", b"off"], [b"NO-TOUCH", b"ON"], [b"NO-TOUCH", b"OFF"], [b"NO-TOUCH", b"x"], [b"NO-EVICT"],
                      [b"CAPA", b"redirect"], [b"CAPA", b"nosuch"], [b"CAPA"], [b"IMPORT-SOURCE", b"on"], [b"IMPORT-SOURCE", b"x"],
                      [b"TRACKINGINFO"], [b"GETREDIR"], [b"TRACKING", b"off"], [b"TRACKING", b"x"], [b"TRACKING", b"on", b"REDIRECT", b"99999999"],
                      [b"TRACKING", b"on", b"OPTIN", b"OPTOUT"], [b"TRACKING", b"on", b"PREFIX", b"a"], [b"CACHING", b"yes"], [b"CACHING", b"x"],
                      [b"UNBLOCK", b"99999999"], [b"UNBLOCK", b"99999999", b"ERROR"], [b"UNBLOCK", b"99999999", b"x"], [b"UNBLOCK", b"x"],
                      [b"REPLY", b"on"], [b"REPLY", b"x"], [b"UNPAUSE"], [b"PAUSE", b"x"], [b"PAUSE", b"1", b"x"], [b"PAUSE", b"-1"], [b"KILL"],
                      [b"KILL", b"1.2.3.4:5"], [b"NOSUCH"], [b"LIST", b"x"], []])
    return Command(b"CLIENT", *words, fixed=True)


def identity(p):
    return Command(b"CLIENT", b"ID", how=RANDOM)


COMMANDS = [(10, with_filters), (4, name), (6, setting), (1, identity)]
