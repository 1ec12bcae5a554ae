"""acl.py - users: random rules, the replies of GETUSER, LIST and DRYRUN, and commands that are really run by such a
user, in transactions too. The connection with RESP3 is the user's, the other one sets the rules.

Left out is what differs on purpose: %RW~* (Valkey shows it as ~*, which means something else), the options of SORT,
XREAD and XREADGROUP that look like other options (Valkey takes them for these), PFMERGE without sources.
"""
from stream import Command

LIMITS = {}

CATEGORIES = """all read write keyspace fast slow dangerous admin string hash list set sortedset stream connection pubsub transaction
    scripting blocking bitmap geo hyperloglog nosuch READ""".split()
NAMES = """get set del config config|get config|set CONFIG|GET config|nosuch client client|id client|list select select|0 select|1 nosuch
    get|x get| | sort acl acl|list acl|whoami mget publish subscribe psubscribe xgroup|create object object|encoding config|get|x
    select|0|1 |get eval copy swapdb flushall move multi exec dbsize keys""".split()
PATTERNS = ["a", "a*", "b*", "ab*", "a*c", "[ab]*", "b\\*", "", "a b", "s*", "s1", "?1", "*1", "x?y"]
CHANNELS = ["c", "c*", "n*", "*", "", "c1", "[c]*"]
DATABASES = ["db=0", "db=0", "db=1", "db=0,1", "db=2,0,2", "db=99", "db=-1", "db=", "db=x", "db=0,", "DB=1", "db=2147483647", "db=2147483648",
             "alldbs", "resetdbs"]
WORDS = """allkeys resetkeys allchannels resetchannels allcommands nocommands ALLKEYS ResetKeys ~* on off nopass resetpass >p >q <p <q reset
    clearselectors sanitize-payload skip-sanitize-payload ON > !x #x bad () (x} % %R %W %RW %RR""".split()
WORDS += [mark + digit * 64 for mark in "#!" for digit in "aA"]

# Rules of the user; s0.. and a, ab are keys, 0 to 3 and 99 databases.
COMMANDS_RUN = """get s1|set s1 1|set ab 1 get|mget a ab s1|mset a 1 s0 2|del a s1|getset a 1|copy a ab|copy a ab db 1|
    copy a ab db 0 db 1|copy a ab replace db 2|copy a ab db 99|copy a ab db 1 nosuch|exists a|type s0|ttl ab|append a 1|rename a ab|
    config get maxmemory|client id x|select 0|select 1|select 2|select 99|select x|sort s0|sort s0 store b|sort s0 by nosort get s*|
    sort_ro s0 by s*|acl whoami|publish c m|publish c1 m|publish n m|spublish c m|ping|echo x|eval return(1) 0|eval return(1) 1 a|
    eval return(1) 2 a s0|eval return(redis.call('get','s1')) 0|eval return(redis.call('select','1')) 0|evalsha x 0|lpush l 1|
    lrange a 0 1|hget s0 x|sadd a 1|sinterstore a ab s0|smove a ab x|zadd a 1 1|zunionstore a 2 ab s0|zunionstore a 9 ab s0|
    georadius a 1 1 1 m|georadius a 1 1 1 m store ab|georadius a 1 1 1 m store ab store s0|georadius a 1 1 1 m storedist a store s0|
    georadiusbymember a m 1 m store a store s0|xread streams a s0 0 0|xread count 1 streams ab 0|xgroup create a g 0|object encoding a|
    object freq s0|dbsize|keys a|randomkey x|flushdb|flushall|swapdb 0 1|swapdb 1 2|swapdb 0 99|swapdb x 0|swapdb 0 x|move a 1|move s1 0|
    move a 99|move a x|bitop and a ab s0|bitfield a get u8 0|bitfield a set u8 0 1|bitfield a get u8 set|pfcount a ab|pfadd a b|
    pfmerge a b|touch a ab|unlink a|expire a 0|getex a|getex s1 persist|hgetex ab fields 1 f|hgetex ab persist fields 1 f|hgetdel ab fields 1 f|
    delifeq s1 v|watch a b|unwatch|zrangestore a ab 0 1|zmpop 1 a min|lmpop 1 ab left|function delete x|function flush|script exists x|
    nosuch x|get|config nosuch|multi|multi|multi|exec|exec|exec|discard|msetex 2 a 1 s0 2|restore a 0 x|
    lcs a s1|incr a|setrange ab 0 v|hset ab f v|acl dryrun u get a""".replace("\n", "").split("|")
COMMANDS_RUN = [[word.encode() for word in line.split()] for line in COMMANDS_RUN]
# Commands that are only checked: they would block, or their replies depend on the server.
COMMANDS_ASKED = COMMANDS_RUN + [[word.encode() for word in line.split()] for line in """subscribe c c1|psubscribe c*|psubscribe c|
    ssubscribe n1|auth x|hello|blpop a ab 0|blmpop 0 1 a left|save|debug object a|info|lolwut|client list|scan 0|xinfo stream a|
    migrate h 1 a 0 1|migrate h 1 a 0 1 copy|function stats|memory usage s1|dump s1|acl list|acl setuser u|latency reset|xreadgroup group g c streams a >""".replace("\n", "").split("|")]


def simple_rule(p):
    kind = p.randint(0, 9)
    if kind == 0:
        return p.choice("+-") + "@" + p.choice(CATEGORIES)
    if kind <= 2:
        return p.choice("+-") + p.choice(NAMES)
    if kind == 3:
        return p.choice("~ ~ %R~ %W~ %RW~ %WR~ %r~ %~ %RR~ %X~".split()) + p.choice(PATTERNS)
    if kind == 4:
        return "&" + p.choice(CHANNELS)
    if kind <= 6:
        return p.choice(DATABASES)
    if kind == 7:
        return p.choice(WORDS)
    return p.choice(["+@read", "+@write", "+@all", "~a*", "~s*", "&c*", "+get", "on"])


def rule(p):
    if p.chance(0.9):
        return simple_rule(p)
    inner = [r for r in (simple_rule(p) for _ in range(p.randint(0, 4))) if not set("()") & set(r)]
    return "(%s)" % " ".join(inner)


def rules(p, low, high):
    return [r.encode() for r in (rule(p) for _ in range(p.randint(low, high)))]


def setuser(p):
    """Rules that may be refused; then the user as the servers show it, sometimes from another database."""
    first = [b"reset"] if p.chance(0.3) else []
    block = [Command(b"ACL", b"SETUSER", b"u", *first, *rules(p, 1, 5)), Command(b"ACL", b"GETUSER", b"u")]
    asked = [Command(b"ACL", b"DRYRUN", b"u", *p.choice(COMMANDS_ASKED), fixed=True) for _ in range(p.randint(4, 12))]
    if p.chance(0.2):
        asked = [Command(b"SELECT", b"%d" % p.randint(1, 3), fixed=True), *asked, Command(b"SELECT", b"0", fixed=True)]
    block += asked
    for command in block:
        command.on(2)
    return block


def grant(*given):
    """Rules for the user of a session. The driver itself ends a pipeline with DISCARD and ECHO."""
    return [command(2, b"ACL", b"SETUSER", b"w", *given), command(2, b"ACL", b"SETUSER", b"w", b"on", b"nopass", b"+echo", b"+discard")]


def command(resp, *args):
    made = Command(*args, fixed=True)
    made.on(resp)
    return made


def harmless(rules):
    """Rules that leave ECHO and DISCARD to the user, for the moment between two commands of grant()."""
    taken = (b"off", b"reset", b"nocommands", b"-@all")
    return [r for r in rules if r not in taken and not r.startswith(b"-@")]


def session(p):
    """A user with some rights runs commands."""
    given = [b"+@all" if p.chance(0.5) else b"+@read", b"~a*", b"~s*", b"&c*", p.choice(DATABASES[:5]).encode()]
    block = grant(b"reset", *given, *rules(p, 0, 3)) + [command(3, b"AUTH", b"w", b"x")]
    for _ in range(p.randint(5, 40)):
        block.append(command(3, *p.choice(COMMANDS_RUN)))
        if p.chance(0.03):
            block += grant(*harmless(rules(p, 1, 2)))
    return block + [command(3, b"DISCARD"), command(3, b"AUTH", b"default", b"x"), command(3, b"SELECT", b"0")]


COMMANDS = [(10, setuser), (10, session)]
