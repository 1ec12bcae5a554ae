# The walls around scripts: what they see, what they cannot change, and that nothing stays behind.

start_server {tags {scripting}} {
    test {the globals are those that scripts know, and no others} {
        set names [r eval {local n = {} for k in pairs(_G) do n[#n + 1] = k end table.sort(n) return n} 0]
        set known {ARGV KEYS _G _VERSION __redis__err__handler __server__err__handler assert bit cjson cmsgpack collectgarbage coroutine error gcinfo getmetatable ipairs \
            load loadstring math next os pairs pcall rawequal rawget rawset redis select server setmetatable string struct table \
            tonumber tostring type unpack xpcall}
        assert_equal [concat {*}$known] [concat {*}$names]
        foreach name {print dofile loadfile getfenv setfenv newproxy module require package debug io nosuch} {
            assert_error "ERR user_script:1: Script attempted to access nonexistent global variable '$name' script: *" {
                r eval "return $name" 0
            }
        }
        assert_equal clock [r eval {local n = {} for k in pairs(os) do n[#n + 1] = k end return table.concat(n)} 0]
        assert_equal {} [r eval {return rawget(_G, 'print')} 0]
    }

    test {globals and libraries cannot be changed} {
        foreach script {
            {x = 5} {_G.x = 5} {redis.x = 1} {redis.call = nil} {string.x = 1} {math.sin = 1} {cjson.x = 1} {bit.x = 1}
            {struct.x = 1} {cmsgpack.x = 1} {os.x = 1} {server.x = 1} {coroutine.x = 1} {table.x = 1} {KEYS = {}} {_G[1] = 1}
            {rawset(_G, 'x', 1)} {rawset(redis, 'x', 1)} {setmetatable(_G, {})} {setmetatable(redis, {})} {setmetatable(_G, nil)}
            {table.insert(redis, 1)} {table.insert(_G, 1, 1)} {getmetatable('').__index = nil} {getmetatable('').__add = 1}
            {getmetatable(_G).__index = nil} {setmetatable(getmetatable(_G), {})} {rawset(getmetatable(''), '__index', 1)}
            {rawset(getmetatable('').__index, 'upper', 1)} {getmetatable('').__index.upper = nil} {function f() end}
            {loadstring('x = 1')()} {pairs(redis)(redis).x = 1 redis.x = 1} {local _, t = pairs(redis) t.x = 1}
            {local _, t = pairs(_G) rawset(t, 'x', 1)} {coroutine.wrap(function() x = 1 end)()}
            {getmetatable(_G).__index(_G, 'x').y = 1}
        } {
            catch { r eval "$script return 'no error'" 0 } message
            assert {[string match {ERR *Attempt to modify a readonly table script:*} $message] ||
                    [string match {ERR *nonexistent global variable 'x'*} $message] ||
                    [string match {ERR *attempt to index a string value*} $message]} "$script: $message"
        }
        assert_equal {function ABC} [r eval {return {type(redis.call), ('abc'):upper()}} 0]
        assert_equal {} [r eval {return {rawget(_G, 'x'), redis.x, string.x, rawget(_G, 1)}} 0]
    }

    test {library functions that bypass metatables cannot change globals} {
        # These write without asking metatables: into the view, were it not refused or empty.
        foreach script {
            {table.remove(redis)} {table.sort(redis)} {pcall(table.setn, redis, 5)} {table.foreach(redis, function() end)}
            {for k, v in next, redis do end} {pcall(table.concat, redis)} {unpack(redis)} {cjson.encode(redis)} {cmsgpack.pack(redis)}
        } { r eval "$script return 1" 0 }
        assert_equal 1 [r eval {return next(redis) ~= nil and #redis == 0 and rawget(redis, 1) == nil} 0]
    }

    test {read-only views read like tables} {
        assert_equal {function table} [r eval {return {type(rawget(redis, 'call')), type(rawget(_G, 'redis'))}} 0]
        assert_equal 1 [r eval {return _G._G == _G and rawequal(_G, _G._G)} 0]
        assert_equal 1 [r eval {local n = 0 for k, v in pairs(redis) do n = n + 1 end return n > 15} 0]
        assert_equal 1 [r eval {local n = 0 table.foreach(math, function() n = n + 1 end) return n > 20} 0]
        assert_equal {} [r eval {return getmetatable(redis)} 0]
        assert_equal {table table} [r eval {return {type(getmetatable('')), type(getmetatable('').__index)}} 0]
        assert_error {ERR user_script:1: bad argument #1 to 'pairs' (table expected, got nil)*} { r eval {pairs(nil)} 0 }
        assert_error {ERR user_script:1: bad argument #1 to 'next' (table expected, got string)*} { r eval {next('')} 0 }
        assert_error {*bad argument #1 to 'rawget' (table expected, got number)*} { r eval {rawget(1, 1)} 0 }
        assert_error {*bad argument #2 to 'setmetatable' (nil or table expected)*} { r eval {setmetatable({}, 1)} 0 }
    }

    test {own metatables work} {
        assert_equal 7 [r eval {return setmetatable({}, {__index = function(t, k) return k + 2 end})[5]} 0]
        assert_equal 3 [r eval {local t = setmetatable({}, {__call = function(t, x) return x end}) return t(3)} 0]
        assert_equal hidden [r eval {return getmetatable(setmetatable({}, {__metatable = 'hidden'}))} 0]
        assert_equal x [r eval {return tostring(setmetatable({}, {__tostring = function() return 'x' end}))} 0]
    }

    test {bytecode is refused} {
        foreach script {
            {return loadstring(string.dump(function() return 1 end))}
            {return load(function() return string.dump(function() return 1 end) end)}
            {local s, i = string.dump(function() return 1 end), 0 return load(function() i = i + 1 return i <= #s and s:sub(i, i) or nil end)}
        } { assert_equal {} [r eval $script 0] }
        assert_match {*unexpected symbol near 'char(27)'} [r eval {return select(2, loadstring(string.dump(function() end)))} 0]
        assert_error {ERR Error compiling script*char(27)*} { r eval [r eval {return string.dump(function() return 1 end)} 0] 0 }
    }

    test {load and loadstring} {
        assert_equal 3 [r eval {return loadstring('return 1 + 2')()} 0]
        assert_equal 3 [r eval {local t = {'return ', '1 +', ' 2'} local i = 0 return load(function() i = i + 1 return t[i] end)()} 0]
        assert_match {*name:1:*} [r eval {return select(2, loadstring('=', '@name'))} 0]
        assert_match {*reader function must return a string*} [r eval {return select(2, load(function() return {} end))} 0]
        assert_match {*oops*} [r eval {return select(2, load(function() error('oops') end))} 0]
        assert_error {*nonexistent global variable 'print'*} { r eval {return loadstring('return print')()} 0 }
    }

    test {coroutines call commands} {
        r set k v
        assert_equal {v v} [r eval {
            local co = coroutine.wrap(function() coroutine.yield(redis.call('get', 'k')) return redis.call('get', 'k') end)
            return {co(), co()}
        } 0]
        assert_error {ERR Unknown command called from script script:*} { r eval {coroutine.wrap(function() redis.call('nosuch') end)()} 0 }
        assert_equal {boolean table} [r eval {
            local ok, e = coroutine.resume(coroutine.create(function() redis.call('nosuch') end))
            return {type(ok), type(e)}
        } 0]
    }

    test {coroutines nested without end} {
        assert_error {ERR *stack overflow*} { r eval {local function f() return coroutine.wrap(f)() end return f()} 0 }
        assert_error {ERR *stack overflow*} { r eval {local function f() return f() + 1 end return f()} 0 }
        assert_match {*stack overflow*} [r eval {local function f() local ok, e = pcall(coroutine.wrap(f)) return e end return f()} 0]
        assert_equal PONG [r ping]
    }

    test {an abandoned coroutine does no harm} {
        for {set i 0} {$i < 50} {incr i} {
            r eval {local co = coroutine.wrap(function() redis.call('set', 'c', 1) coroutine.yield() end) co() collectgarbage() return 1} 0
        }
        assert_equal 1 [r get c]
    }

    test {scripts share nothing except cjson's settings} {
        r eval {local c = cjson.new() c.x = 1 c.decode('[]') return 1} 0
        assert_equal {} [r eval {return cjson.x} 0]
        foreach name {array_mt empty_array empty_array_mt} { assert_equal {} [r eval "return cjson.$name or cjson.new().$name" 0] }
    }

    test {numbers that stock functions would trust} {
        assert_error {*too many results to unpack*} { r eval {return {unpack({}, -2^31, 2^31 - 1)}} 0 }
        assert_error {*too many results to unpack*} { r eval {return {unpack({}, 0, 2^31 - 1)}} 0 }
        assert_equal {2 3} [r eval {return {unpack({1, 2, 3}, 2)}} 0]
        assert_equal {} [r eval {return {unpack({}, 2^31 - 1, 2^31 - 1)}} 0]
        assert_error {*bad argument #2 to 'insert' (position out of bounds)*} { r eval {table.insert({1}, -2^31, 1)} 0 }
        foreach position {2^31 2^53 1/0 0/0} {
            assert_error {*bad argument #2 to 'insert' (position out of bounds)*} { r eval "table.insert({1}, $position, 1)" 0 }
        }
        assert_equal {0 1 2} [r eval {local t = {1, 2} table.insert(t, 1, 0) return t} 0]
        # A table made at once keeps these in its hash part, where the end is looked for at powers of two.
        set wide "local t = {}"
        for {set i 0} {$i < 30} {incr i} { set wide [string map [list \} "\[2^$i\]=1,\}"] $wide] }
        assert_error {*bad argument #2 to 'insert' (position out of bounds)*} { r eval "$wide table.insert(t, 1, 1)" 0 }
        assert_error {*bad argument #2 to 'remove' (position out of bounds)*} { r eval "$wide table.remove(t, 1)" 0 }
        assert_error {*bad argument #1 to 'foreachi' (table is too large)*} { r eval "$wide table.foreachi(t, math.randomseed)" 0 }
        assert_equal {1 2 {} 3} [r eval {local t = {1, 2, 3} return {table.remove(t, 1), table.remove(t, 1), table.remove(t, 2^31) or false, table.remove(t)}} 0]
        foreach {arguments digits} {
            255,4 00ff 255,-4 00FF -1,0 {} 255,-2147483648 000000FF 255,2^31 000000ff 255,0/0 000000ff 0x1234abcd,-3 BCD 1.5 00000002
        } { assert_equal $digits [r eval "return bit.tohex($arguments)" 0] $arguments }
        assert_error {*bad argument #1 to 'tohex' (number expected, got no value)*} { r eval {return bit.tohex()} 0 }
    }

    test {replies nested without end, of all kinds} {
        foreach script {
            {local t = {} t.map = {x = t} return t} {local t = {} t.set = {} t.set[t] = true return t} {local t = {} t[1] = {map = {[t] = 1}} return t}
        } {
            # Deeper than a client would read: the connection is dropped instead.
            set c [valkey_deferring_client]
            $c eval $script 0
            $c rawread
            $c close
            assert_equal PONG [r ping]
        }
    }

    test {any function with any arguments} {
        set globals {local n = {} for _, lib in ipairs({'_G', 'redis', 'string', 'table', 'math', 'bit', 'cjson', 'struct', 'cmsgpack', 'os', 'coroutine'}) do
            for k, v in pairs(_G[lib]) do n[#n + 1] = lib .. '.' .. tostring(k) .. type(v) end end table.sort(n) return table.concat(n, ' ')}
        set before [r eval $globals 0]
        for {set i 0} {$i < 10} {incr i} {
            r eval {
                math.randomseed(ARGV[1])
                local functions = {}
                local without = {yield = 1, collectgarbage = 1, log = 1, randomseed = 1, rep = 1, encode_keep_buffer = 1}
                for _, lib in ipairs({'string', 'table', 'math', 'coroutine', 'bit', 'cjson', 'struct', 'cmsgpack', 'os', 'redis', '_G'}) do
                    for name, f in pairs(_G[lib]) do
                        if type(f) == 'function' and not without[name] then functions[#functions + 1] = f end
                    end
                end
                local values = {function() end, {}, {1, 2, 3}, {a = 1}, redis, _G, string, getmetatable(''), getmetatable(_G), 'abc',
                    '>i4', 'i16!bc0s', '\145\1', '{"a":[1]}', '', '%s%d', '(.-)%1', 'ping', 'set', 'get', 1, 0, -1, 2, 3.5, 100, 0 / 0,
                    1 / 0, -1 / 0, true, false, cjson.null, 2 ^ 31, 2 ^ 53, -2 ^ 31, coroutine.create(function() end), redis.call, next}
                local function any() return values[math.random(#values + 1)] end
                for i = 1, 2000 do
                    pcall(functions[math.random(#functions)], unpack({any(), any(), any(), any(), any()}, 1, math.random(0, 5)))
                end
            } 0 [randomInt 1000000]
        }
        assert_equal $before [r eval $globals 0]
    }
}
