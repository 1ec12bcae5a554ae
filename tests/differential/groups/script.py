"""script.py - Lua scripts: how values cross between a script and the server, errors, and commands from within.
"""
import hashlib

from compare import EXACT, FLOAT
from groups import string, zset
from stream import Command, damage

LIMITS = {}

# The value that a script returns, as text of the script; no arguments needed.
EXPRESSIONS = [
    b"1", b"-7", b"3.99", b"-3.99", b"1e15", b"2^53", b"'text'", b"''", b"true", b"false", b"nil", b"{}", b"{1,2,3}",
    b"{1,'a',{2,{3}}}", b"{1,nil,3}", b"{nil}", b"{1,2,nil,4}", b"{false,true}", b"{a=1}", b"{1,2,a=3}", b"{'\\0\\255\\r\\n'}",
    b"{ok='fine'}", b"{err='MY bad'}", b"{err='one word'}", b"{ok='x',err='y'}", b"{double=3.5}", b"{map={a=1}}",
    b"{set={a=true}}", b"{big_number='123456789012345678901234567890'}",
    b"{verbatim_string={format='txt',string='hello'}}", b"redis.status_reply('ST')", b"redis.error_reply('ER ror')",
    b"redis.error_reply('word')", b"redis.error_reply('-DASH x')", b"redis.sha1hex('')", b"redis.sha1hex('abc')",
    b"tostring(1/3)", b"tostring(1e20)", b"tostring(3.0)", b"tostring(nil)", b"#KEYS", b"#ARGV", b"KEYS", b"ARGV", b"KEYS[1]",
    b"ARGV[1]", b"tonumber('0x10')", b"tonumber(ARGV[1])", b"type(redis)", b"type(KEYS)", b"redis.LOG_WARNING",
    b"redis.REPL_ALL", b"cjson.encode({1,2,{a='b'}})", b"cjson.encode({})", b"cjson.encode(1.5)", b"cjson.encode('a\"\\n')",
    b"cjson.decode('[1,2.5,\"x\",null,true,{\"k\":[]}]')", b"cjson.decode('{bad')", b"cjson.encode(cjson.null)",
    b"cjson.decode('null') == cjson.null", b"bit.band(255,15)", b"bit.bor(1,2,4)", b"bit.bxor(5,3)", b"bit.lshift(1,31)",
    b"bit.tohex(255,4)", b"bit.bnot(0)", b"bit.arshift(-8,1)", b"{string.byte(struct.pack('>I4hbs', 1, -2, 3, 'abc'),1,-1)}",
    b"{struct.unpack('<I2', '\\1\\2')}", b"cmsgpack.unpack(cmsgpack.pack({1,'a',{b=2.5},true}))[2]",
    b"{string.byte(cmsgpack.pack({1,-1,300,70000,'abc',2.5,false}),1,-1)}", b"string.format('%5.2f|%d|%s',1.2345,7,'x')",
    b"string.rep('ab',50)", b"table.concat({1,2,3},',')", b"{unpack({1,2,3})}", b"math.floor(-1.5)", b"math.max(1,5,2)",
    b"type(io)", b"type(require)", b"type(dofile)", b"type(print)", b"type(loadstring)",
    b"type(setfenv)", b"type(newproxy)", b"type(debug)", b"_VERSION", b"select('#',1,nil,nil)", b"pcall(error)",
    b"{pcall(error,'x')}", b"{pcall(error,{a=1})}", b"redis.setresp(3)", b"redis.setresp(4)", b"redis.replicate_commands()",
    b"redis.set_repl(redis.REPL_ALL)", b"redis.set_repl(77)", b"redis.acl_check_cmd('get','k')", b"redis.acl_check_cmd('nope')",
    b"redis.call()", b"redis.call('')", b"redis.call(1)", b"redis.call('nope')", b"redis.call('get')", b"redis.call('get',{})",
    b"redis.call('ping')", b"redis.call('echo','x')", b"redis.call('eval','return 1','0')",
    b"redis.call('select','0')", b"redis.pcall('nope')", b"redis.pcall('get').err",
    b"redis.pcall('get')['err']", b"redis.error_reply()", b"redis.status_reply(1)", b"redis.log('x')", b"redis.sha1hex()",
    b"redis.call('set',KEYS[1] or 'k0',12,'get')", b"redis.call('set','k1',1.5)", b"redis.call('set','k1',10)",
    b"redis.call('set','k1',1e20)", b"redis.call('set','k1',true)", b"redis.call('set','k1',nil)", b"redis.call('get','k1')",
]

# Whole scripts; KEYS[1] and ARGV may be missing.
SCRIPTS = [
    b"x = 1", b"local x = 1", b"", b"return", b"return undefined_name", b"return 1 +", b"error('boom')", b"error({err='TBL x'})",
    b"error({err='notable'})", b"error()", b"local t = nil; return t.x", b"return 'a' + 1", b"return #5",
    b"KEYS[1] = 'changed'; return KEYS[1]", b"redis = nil; return 1", b"redis.call = nil; return 1", b"string.x = 1",
    b"_G.x = 1", b"rawset(_G, 'x', 1) return x", b"getmetatable(_G).__index = nil", b"setmetatable(_G, {})",
    b"local a = {} a.a = a return 1", b"for i = 1, 10 do redis.call('incr', 'k2') end return redis.call('get', 'k2')",
    b"#!lua\nreturn 1", b"#!lua flags=no-writes\nreturn redis.call('get','k1')",
    b"#!lua flags=no-writes\nreturn redis.call('set','k1',1)", b"#!lua flags=bogus\nreturn 1", b"#!js\nreturn 1",
    b"#!lua name=x\nreturn 1", b"#!lua flags=allow-oom,allow-stale\nreturn redis.call('set','k1',1)", b"#!lua",
    b"#!lua flags=no-cluster\nreturn 5", b"redis.setresp(3) return redis.call('zscore', KEYS[1], ARGV[1])",
    b"redis.setresp(3) local r = redis.call('zrange', KEYS[1], 0, -1, 'withscores') return #r",
    b"redis.setresp(3) return redis.call('get', 'nosuchkey') == nil",
    b"redis.setresp(2) return redis.call('get', 'nosuchkey') == false",
    b"local r = redis.pcall('incr', KEYS[1]) if type(r) == 'table' and r.err then return 'caught ' .. r.err end return r",
    b"local r = redis.pcall('zadd', KEYS[1], 'x', 'y') return {type(r), r.err}",
    b"local m = redis.call('zrandmember', KEYS[1], 5) local n = 0 "
    b"for _, x in ipairs(m) do if redis.call('zscore', KEYS[1], x) then n = n + 1 end end return n",
    b"local m = redis.call('zrandmember', KEYS[1], -20) for _, x in ipairs(m) do "
    b"if not redis.call('zscore', KEYS[1], x) then return x end end return #m",
    b"local n = 0 for i = 1, 30 do n = n + redis.call('zadd', KEYS[1], i % 7, 'm' .. i) end return n",
    b"local v = redis.call('zrange', KEYS[1], 0, -1) return table.concat(v, ' ')",
    b"redis.call('set', KEYS[1], 'x') redis.call('zadd', KEYS[1], 1, 'a')",
    b"redis.call('set', KEYS[1], 'y') return redis.error_reply('ERR after a write')",
    b"local s, e = pcall(function() return redis.call('incr', 'z0') end) return {tostring(s), type(e), e.err or 'none'}",
    b"local t = {} for i = 1, 1000 do t[i] = i end return t",
    b"local function f(n) if n == 0 then return {} end return {f(n - 1)} end return f(20)",
    b"return redis.call('set', 'k1', ARGV[1] or 'x')",
    b"return {redis.call('type', 'k1'), redis.call('exists', 'k1', 'k2')}",
]


# Features that 7.0 does not have.
NEWER_EXPRESSIONS = [
    b"type(os)", b"type(os.clock)", b"type(os.time)", b"type(server)", b"server.call('get', 'k1')", b"server.pcall('nope')", b"server.call()",
    b"server.sha1hex('')", b"server.error_reply('ER ror')", b"server.status_reply('ST')", b"server.REPL_ALL == redis.REPL_ALL",
    b"server.setresp(4)", b"redis.setresp()", b"server.log(9, 'x')", b"server.SERVER_NAME", b"server.nothing", b"server.acl_check_cmd('get', 'x')",
    b"redis.acl_check_cmd('nosuch')", b"redis.REDIS_VERSION_NUM > 0", b"server.breakpoint()", b"server.replicate_commands()", b"server.set_repl(9)",
]


def lua_text(p):
    if p.newer and p.chance(0.1):
        return b"return " + p.choice(NEWER_EXPRESSIONS)
    return b"return " + p.choice(EXPRESSIONS) if p.chance(0.7) else p.choice(SCRIPTS)


def arguments(p):
    keys = [p.key(p.choice("szk")) for _ in range(p.choice([0, 1, 1, 2]))]
    values = [zset.member(p) if p.chance(0.5) else p.value() for _ in range(p.choice([0, 0, 1, 2]))]
    return [b"%d" % len(keys)] + keys + values


def eval_(p):
    if p.chance(0.03):
        return Command(b"EVAL", lua_text(p), p.choice([b"-1", b"x", b"5", b"9223372036854775807"]), *p.keys("k", 0, 2))
    return Command(p.choice([b"EVAL", b"EVAL", b"EVAL", b"EVAL_RO"]), lua_text(p), *arguments(p), how=FLOAT)


def evalsha(p):
    """The script may be loaded or not; then it is loaded."""
    text = lua_text(p)
    sha = hashlib.sha1(text).hexdigest().encode()
    name = p.choice([b"EVALSHA", b"EVALSHA", b"EVALSHA_RO"])
    run = Command(name, sha if p.chance(0.97) else p.choice([b"abc", sha.upper(), b""]), *arguments(p), how=FLOAT)
    return run if p.chance(0.4) else [Command(b"SCRIPT", b"LOAD", text), run]


def script(p):
    shas = [hashlib.sha1(lua_text(p)).hexdigest() for _ in range(p.randint(1, 3))]
    return p.choice([Command(b"SCRIPT", b"EXISTS", *shas), Command(b"SCRIPT", b"FLUSH", *p.maybe(0.5, p.token(b"SYNC", b"ASYNC"))),
                     Command(b"SCRIPT", b"KILL"), Command(b"SCRIPT", b"nonsense"), *([Command(b"SCRIPT", b"SHOW", shas[0])] if p.newer else [])])


# How the replies of a command cross into Lua and out again.
RELAYS = [
    b"return redis.call(unpack(ARGV))", b"return redis.pcall(unpack(ARGV))", b"return {redis.pcall(unpack(ARGV))}",
    b"redis.setresp(3) return redis.call(unpack(ARGV))", b"redis.setresp(3) return {redis.pcall(unpack(ARGV))}",
    b"local r = redis.pcall(unpack(ARGV)) return type(r) == 'table' and #r or tostring(r) == 'nil'",
]


def relay(p):
    """A command of another group, called from a script."""
    group = p.choice([string, zset])
    made = p.choices([f for _, f in group.COMMANDS], [w for w, _ in group.COMMANDS])[0](p)
    if isinstance(made, list) or made.how not in (EXACT, FLOAT) or made.args[0].startswith((b"~", b"BZ")):
        return eval_(p)
    damage(p, made)
    return Command(b"EVAL", p.choice(RELAYS), b"0", *made.args, how=made.how, fixed=True)


COMMANDS = [(10, eval_), (3, evalsha), (0.3, script), (12, relay)]
