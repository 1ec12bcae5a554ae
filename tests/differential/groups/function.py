"""function.py - libraries of functions: loading them, calling them, listing them.

Left out is what makes an oracle fail or never end (an error value without a text, endless loops), and the order in which
libraries and functions are listed."""
from compare import FLOAT, NESTED
from groups import script, string, zset
from groups.script import EXPRESSIONS
from stream import Command, damage

LIMITS = {}

# Functions of their own, and one that any library may have: which of several clashing names an error has does not
# matter.
LIBRARIES = {b"liba": [b"fa1", b"fa2"], b"libb": [b"fb1", b"fb2"], b"libc": [b"fc"]}
SHARED = b"fs"
FUNCTIONS = [SHARED] + sum(LIBRARIES.values(), [])
FIRST_LINES = [b"", b"#!lua", b"#!lua\n", b"#!lua name=\n", b"#!lua name=a-b\n", b"#!js name=liba\n", b"#!lua foo=1\n",
               b"#!lua name=liba name=libb\n", b"#!lua name='liba'\n", b"return 1", b"#!LUA NAME=liba\n", b"#! name=liba\n"]
BODIES = [b"return #keys + #args", b"return {keys, args}", b"return redis.call(unpack(args))", b"return redis.pcall(unpack(args))",
          b"redis.setresp(3) return redis.call(unpack(args))", b"return {redis.pcall(unpack(args))}", b"n = 1", b"return KEYS",
          b"local r = redis.pcall(unpack(args)) return type(r)", b"error('boom')", b"error({err='TBL x'})", b"return redis",
          b"return redis.register_function", b"redis.register_function('z', function() end)", b"calls = calls + 1 return calls",
          b"return redis.call('set', keys[1] or 'k0', args[1] or 'v')", b"return redis.call('get', keys[1] or 'k0')",
          b"return _G.x", b"string.x = 1", b"return", b"return nil, 1", b"return pcall(function() return x end)", b""]
# What follows the registrations: most often nothing.
ENDS = [b"return 1", b"x = 1", b"redis.call('ping')", b"local x = nil + 1", b"syntax error", b"local x = math", b"redis.register_function('fs', function() end)", b"redis.register_function()",
        b"redis.register_function('', function() end)", b"redis.register_function('x', 1)", b"redis.register_function({}, 1)",
        b"redis.register_function{function_name='x'}", b"redis.register_function{callback=function() end}",
        b"redis.register_function{function_name='x', callback=function() end, more=1}",
        b"redis.register_function{function_name='x', callback=function() end, flags={'no-writes', 'bad'}}",
        b"redis.register_function{function_name='x', callback=function() end, flags='no-writes'}",
        b"redis.register_function{function_name={}, callback=function() end}",
        b"redis.register_function{function_name='x', callback=function() end, description={}}", b"redis = 1", b"redis.x = 1"]
FLAGS = [b"no-writes", b"allow-oom", b"allow-stale", b"no-cluster", b"allow-cross-slot-keys"]


def registration(p, name):
    body = p.choice(BODIES) if p.chance(0.7) else b"local KEYS, ARGV = keys, args return " + p.choice(EXPRESSIONS)
    function = b"function(keys, args) " + body + b" end"
    if p.chance(0.5):
        return b"redis.register_function('" + name + b"', " + function + b")"
    flags = b", ".join(b"'" + f + b"'" for f in FLAGS if p.chance(0.4))
    rest = p.choice([b"", b", description='what it does'", b", flags={" + flags + b"}", b", flags={" + flags + b"}"])
    return b"redis.register_function{function_name='" + name + b"', callback=" + function + rest + b"}"


# A log line while a library is loaded: Valkey 9.1.2 crashes.
OLD_ENDS = [b"redis.log(redis.LOG_DEBUG, 'x')", b"redis.log()"]


def library(p):
    if p.chance(0.05):
        return p.choice(FIRST_LINES)
    name = p.choice(list(LIBRARIES))
    names = [f for f in LIBRARIES[name] if p.chance(0.7)] + p.maybe(0.3, SHARED)
    lines = [b"#!lua name=" + name, b"local calls = 0"] + [registration(p, name) for name in names]
    return b"\n".join(lines + p.maybe(0.1, p.choice(ENDS if p.newer else ENDS + OLD_ENDS)))


def load(p):
    return Command(b"FUNCTION", b"LOAD", *p.maybe(0.6, b"REPLACE"), library(p))


def manage(p):
    return p.choice([Command(b"FUNCTION", b"DELETE", p.choice(list(LIBRARIES))), Command(b"FUNCTION", b"DELETE", p.choice(FUNCTIONS)),
                     Command(b"FUNCTION", b"FLUSH", *p.maybe(0.5, p.token(b"SYNC", b"ASYNC"))),
                     Command(b"FUNCTION", b"STATS"), Command(b"FUNCTION", b"KILL"), Command(b"FUNCTION", b"nonsense"),
                     Command(b"FUNCTION", b"RESTORE", p.value(), *p.maybe(0.5, p.token(b"FLUSH", b"APPEND", b"REPLACE", b"x")))])


def list_(p):
    pattern = p.choice([b"*", b"lib*", b"LIBA", b"lib[ab]", b""] + list(LIBRARIES))
    return Command(b"FUNCTION", b"LIST", *p.maybe(0.5, p.token(b"LIBRARYNAME"), pattern),
                   *p.maybe(0.5, p.token(b"WITHCODE")), how=NESTED)


def call(p):
    name = p.choice([b"FCALL", b"FCALL", b"FCALL_RO"])
    function = p.choice(FUNCTIONS) if p.chance(0.97) else p.choice([b"FA1", b"nope", b""])
    if p.chance(0.03):
        return Command(name, function, p.choice([b"-1", b"x", b"5"]), *p.keys("k", 0, 2))
    return Command(name, function, *script.arguments(p), how=FLOAT)


def relay(p):
    """A command of another group, called from a function."""
    group = p.choice([string, zset])
    made = p.choices([f for _, f in group.COMMANDS], [w for w, _ in group.COMMANDS])[0](p)
    if isinstance(made, list) or made.how not in ("exact", "float") or made.args[0].startswith((b"~", b"BZ")):
        return call(p)
    damage(p, made)
    return Command(p.choice([b"FCALL", b"FCALL_RO"]), p.choice(FUNCTIONS), b"0", *made.args, how=made.how, fixed=True)


COMMANDS = [(4, load), (0.5, manage), (1, list_), (8, call), (6, relay)]
