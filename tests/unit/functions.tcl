# FUNCTION and FCALL: loading libraries, what they may do, listing, dumping and restoring them.

proc library {name args} { return "#!lua name=$name\n[join $args \n]" }
proc plain {name function {body {return 1}}} {
    return [library $name "server.register_function('$function', function(keys, args) $body end)"]
}
proc names {} {
    set found {}
    foreach l [r function list] {
        foreach f [dict get $l functions] { lappend found [dict get $l library_name].[dict get $f name] }
    }
    return [lsort $found]
}
proc refused {error text} {
    set before [r function list]
    assert_error $error { r function load $text }
    assert_equal $before [r function list] "what is refused changes nothing"
}
# A payload of these bytes, in hex, sealed.
proc function_payload {hex} {
    set body [binary format H* $hex][binary format s 11]
    set crc 0
    foreach b [split $body {}] {
        set crc [expr {$crc ^ [scan $b %c]}]
        for {set i 0} {$i < 8} {incr i} {
            set crc [expr {$crc & 1 ? ($crc >> 1) ^ 0x95ac9329ac4bc9b5 : $crc >> 1}]
        }
    }
    return $body[string reverse [binary format H* [format %016llx $crc]]]
}

set name_error "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

start_server {tags {scripting functions}} {
    # ---- The first line ----

    test {FUNCTION LOAD: the first line} {
        r function flush
        refused {ERR Missing library metadata} ""
        refused {ERR Missing library metadata} "return 1"
        refused {ERR Invalid library metadata} "#!lua name=l"
        refused {ERR Invalid library metadata} "#!lua \"name=l\n"
        refused {ERR Library name was not given} "#!lua\n"
        refused {ERR Engine 'foo' not found} "#!foo name=l\n"
        refused {ERR Invalid metadata value given: foo=bar} "#!lua name=l foo=bar\n"
        refused {ERR Invalid metadata value, name argument was given multiple times} "#!lua name=l name=m\n"
        refused "ERR $name_error" "#!lua name=\n"
        refused "ERR $name_error" "#!lua name=a-b\n"
        assert_equal good_1 [r function load [plain good_1 f]]
        assert_equal quoted [r function load "#!LUA NAME='quoted'\nredis.register_function('g', function() end)"]
        assert_equal 1 [r fcall f 0]
    }

    # ---- Registering ----

    test {FUNCTION LOAD: the text must compile, run, and register something} {
        r function flush
        refused {ERR Error compiling function: user_function:3: '=' expected near 'error'} [library l "" "syntax error"]
        refused {ERR Error compiling function: user_function:2: unexpected symbol near 'char(27)'} [library l "\x1bLua"]
        refused {ERR No functions registered} [library l "return 1"]
        refused {ERR Error registering functions: ERR user_function:3: attempt to perform arithmetic on a nil value} \
            [library l "server.register_function('f', function() end)" "local x = nil + 1"]
        refused {ERR Error registering functions: ERR FUNCTION LOAD timeout} [library l "while true do end"]
        assert_equal {} [names]
        assert_error {ERR Function not found} { r fcall f 0 }
    }

    test {FUNCTION LOAD: while the text runs only registration and log are available} {
        r function flush
        foreach global {_G pairs error pcall string cjson os KEYS getmetatable setmetatable rawset loadstring print} {
            refused "*Script attempted to access nonexistent global variable '$global'" [library l "local x = $global"]
        }
        foreach field {call pcall setresp sha1hex error_reply acl_check_cmd set_repl REPL_ALL} {
            refused "*Script attempted to access nonexistent global variable '$field'" [library l "local x = redis.$field"]
        }
        refused {*Attempt to modify a readonly table} [library l "x = 1"]
        refused {*Attempt to modify a readonly table} [library l "redis.x = 1"]
        refused {*Attempt to modify a readonly table} [library l "redis = 1"]
        refused {ERR No functions registered} [library l "server.log(server.LOG_WARNING, 'loaded by ' .. redis.REDIS_VERSION)"]
        wait_for_log "loaded by 7.*"
    }

    test {register_function: positional arguments} {
        r function flush
        foreach {arguments error} {
            {}                      {wrong number of arguments to server.register_function}
            {'f', f, 1}             {wrong number of arguments to server.register_function}
            {'f'}                   {calling server.register_function with a single argument is only applicable to Lua table (representing named arguments).}
            {{}, f}                 {first argument to server.register_function must be a string}
            {nil, f}                {first argument to server.register_function must be a string}
            {'f', 1}                {second argument to server.register_function must be a function}
        } {
            refused "ERR Error registering functions: ERR $error" [library l "local f = function() end" "server.register_function($arguments)"]
        }
        foreach name {'' 'a-b' {'a b'} 1.5} {
            refused "ERR [string map {Library Function} $name_error]" [library l "server.register_function($name, function() end)"]
        }
        r function load [library l "server.register_function(12, function() return 'by number' end)"]
        assert_equal {by number} [r fcall 12 0]
    }

    test {register_function: named arguments} {
        r function flush
        foreach {table error} {
            {}                                             {server.register_function must get a function name argument}
            {callback = f}                                 {server.register_function must get a function name argument}
            {function_name = 'f'}                          {server.register_function must get a callback argument}
            {function_name = {}, callback = f}             {function_name argument given to server.register_function must be a string}
            {function_name = 'f', callback = 1}            {callback argument given to server.register_function must be a function}
            {function_name = 'f', callback = f, description = {}} {description argument given to server.register_function must be a string}
            {function_name = 'f', callback = f, flags = 1} {flags argument to server.register_function must be a table representing function flags}
            {function_name = 'f', callback = f, flags = {'x'}} {unknown flag given}
            {function_name = 'f', callback = f, flags = {1}} {unknown flag given}
            {function_name = 'f', callback = f, other = 1} {unknown argument given to server.register_function}
            {f}                                            {unknown argument given to server.register_function}
            {[{}] = 1}                                     {named argument key given to server.register_function is not a string}
        } {
            refused "ERR Error registering functions: ERR $error" [library l "local f = function() end" "server.register_function{$table}"]
        }
        r function load [library l "server.register_function{FUNCTION_NAME='f', callback=function() return 5 end, description='five',
            flags={'NO-WRITES', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys', 'no-writes'}}"]
        assert_equal 5 [r fcall_ro F 0]
        set f [lindex [dict get [lindex [r function list] 0] functions] 0]
        assert_equal {name f description five flags {no-writes allow-oom allow-stale no-cluster allow-cross-slot-keys}} $f
    }

    test {register_function: only while loading, and every name once} {
        r function flush
        refused {ERR Function already exists in the library} \
            [library l "server.register_function('f', function() end)" "server.register_function('f', function() end)"]
        r function load [library l "local reg = server.register_function" \
            "reg('f', function() reg('g', function() end) end)" "reg('h', function() return server.register_function end)"]
        assert_error {ERR server.register_function can only be called on FUNCTION LOAD command script: on @user_function:3.} { r fcall f 0 }
        assert_equal {} [r fcall h 0] "functions see no such field"
        refused {ERR Function f already exists} [plain m f]
        refused {ERR Function F already exists} [plain m F]
        refused {ERR Library 'l' already exists} [plain l g]
    }

    test {FUNCTION LOAD REPLACE} {
        r function flush
        r function load [plain l f {return 'old'}]
        r function load [plain m g]
        assert_error {ERR Function g already exists} { r function load replace [plain l g] }
        assert_error {ERR Error compiling*} { r function load replace "#!lua name=l\n?" }
        assert_error {ERR Unknown option given: foo} { r function load foo [plain l f] }
        assert_equal old [r fcall f 0]
        assert_equal l [r function load RePlace [plain l f {return 'new'}]]
        assert_equal new [r fcall f 0]
        r function load replace [plain l h]
        assert_error {ERR Function not found} { r fcall f 0 }
        assert_equal {l.h m.g} [names]
    }

    test {FUNCTION LOAD REPLACE by the same text resets the library's state} {
        r function flush
        set counter [library l {local n = 0} {server.register_function('next', function() n = n + 1 return n end)}]
        r function load $counter
        assert_equal {1 2} [list [r fcall next 0] [r fcall next 0]]
        for {set i 0} {$i < 3} {incr i} {
            r function load replace $counter
            assert_equal {1 2} [list [r fcall next 0] [r fcall next 0]] "load $i"
        }
        assert_error {ERR Library 'l' already exists} { r function load $counter }
        assert_equal 3 [r fcall next 0]
        r function flush
        r function load $counter
        assert_equal 1 [r fcall next 0] "the compiled text went with the interpreter"
        r function restore [r function dump] replace
        r function load replace $counter
        assert_equal 1 [r fcall next 0] "restored, and loaded again"
    }

    test {FUNCTION LOAD REPLACE by the same text compiles nothing} {
        r function flush
        set long [library l {server.register_function('f', function() return 1 end)} "if false then [string repeat {g() } 60000]end"]
        foreach load {first second} {
            r config resetstat
            r function load replace $long
            regexp {cmdstat_function\|load:calls=1,usec=(\d+)} [r info commandstats] - us($load)
        }
        assert_lessthan [expr {$us(second) * 3}] $us(first)
    }

    # ---- Calling ----

    test {FCALL: keys and arguments} {
        r function flush
        r function load [library l {server.register_function('echo', function(keys, args) return {keys, args} end)} \
            {server.register_function('count', function(...) return select('#', ...) end)} \
            {server.register_function('globals', function() return {pcall(function() return KEYS end)} end)}]
        assert_equal {{a b} {c d}} [r fcall echo 2 a b c d]
        assert_equal {{} {}} [r fcall echo 0]
        assert_equal 2 [r fcall count 0]
        assert_match {*nonexistent global variable 'KEYS'*} [r fcall globals 0]
        assert_error {ERR Bad number of keys provided} { r fcall echo x }
        assert_error {ERR Number of keys can't be negative} { r fcall echo -1 }
        assert_error {ERR Number of keys can't be greater than number of args} { r fcall echo 3 a b }
        assert_error {ERR Function not found} { r fcall nope x }
        assert_error {ERR wrong number of arguments for 'fcall' command} { r fcall echo }
        assert_equal {b a} [lreverse [lindex [r fcall ECHO 2 a b] 0]] "names of functions have no case"
    }

    test {FCALL: values stay in the library's local variables only} {
        r function flush
        r function load [library l {local n = 0} {server.register_function('next', function() n = n + 1 return n end)} \
            {server.register_function('leak', function() n = n + 1 leaked = n end)}]
        assert_equal {1 2} [list [r fcall next 0] [r fcall next 0]]
        assert_error {ERR user_function:4: Attempt to modify a readonly table script: on @user_function:4.} { r fcall leak 0 }
        assert_equal 4 [r fcall next 0]
        assert_error {*nonexistent global variable 'leaked'*} { r eval {return leaked} 0 }
    }

    test {FCALL: errors name the function} {
        r function flush
        r set text x
        foreach {body error} {
            {error('boo')}                          {ERR user_function:2: boo script: on @user_function:2.}
            {error({err = 'MY boo'})}               {MY boo script: on @user_function:2.}
            {return server.error_reply('MY boo')}   {MY boo}
            {return redis.call('lpush', 'text', 1)} {WRONGTYPE Operation against a key holding the wrong kind of value script: on @user_function:2.}
        } {
            r function load replace [plain l f $body]
            assert_error $error { r fcall f 0 }
        }
        assert_match {*errorstat_MY:count=2*} [r info errorstats]
    }

    test {FCALL_RO and no-writes} {
        r function flush
        r function load [library l {local get = function(keys) return redis.call('get', keys[1]) end} \
            {local set = function(keys) return redis.call('set', keys[1], 'changed') end} \
            {server.register_function('get', get)} {server.register_function{function_name='get_ro', callback=get, flags={'no-writes'}}} \
            {server.register_function{function_name='set_ro', callback=set, flags={'no-writes'}}}]
        r set k v
        assert_equal v [r fcall get 1 k]
        assert_equal v [r fcall get_ro 1 k]
        assert_equal v [r fcall_ro get_ro 1 k]
        assert_error {ERR Can not execute a script with write flag using *_ro command.} { r fcall_ro get 1 k }
        assert_error {ERR Write commands are not allowed from read-only scripts. script: on @user_function:3.} { r fcall set_ro 1 k }
        assert_error {ERR Write commands are not allowed from read-only scripts.*} { r fcall_ro set_ro 1 k }
        assert_equal v [r get k]
    }

    test {functions and memory} {
        r function flush
        set call {function() return redis.call('set', 'k', 'v') end}
        r function load [library l "server.register_function('f', $call)" \
            "server.register_function{function_name='oom', callback=$call, flags={'allow-oom'}}" \
            "server.register_function{function_name='ro', callback=function() return redis.call('exists', 'k') end, flags={'no-writes'}}"]
        r config set maxmemory 1
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} { r fcall f 0 }
        assert_error {OOM*} { r function load [plain m g] }
        assert_equal OK [r fcall oom 0]
        assert_equal 1 [r fcall_ro ro 0]
        r multi
        assert_error {OOM*} { r fcall f 0 }
        assert_error {EXECABORT*} { r exec }
        r config set maxmemory 0
        assert_equal OK [r fcall f 0]
    }

    test {functions in transactions, and not in scripts} {
        r function flush
        r multi
        r function load [plain l f]
        r fcall f 0
        assert_equal {l 1} [r exec]
        assert_error {ERR This * command is not allowed from script*} { r eval {return redis.call('fcall', 'f', 0)} 0 }
        assert_error {ERR This * command is not allowed from script*} { r eval {return redis.call('function', 'flush')} 0 }
    }

    test {functions and RESP3} {
        r function flush
        r function load [library l {server.register_function('f', function() redis.setresp(3) redis.call('del', 'h') redis.call('hset', 'h', 'a', 'b') return redis.call('hgetall', 'h') end)} \
            {server.register_function('two', function() return {redis.call('hgetall', 'h'), {double = 0.5}, {map = {x = true}}} end)}]
        assert_equal {a b} [r fcall f 0]
        assert_equal {{a b} 0.5 {x 1}} [r fcall two 0]
        r hello 3
        r write [resp::encode {fcall f 0}]
        assert_equal "%1" [r rawread]
        assert_equal "\$1\r\na\r\n\$1\r\nb\r\n" [r rawread 14]
        r hello 2
    }

    # ---- The sandbox ----

    test {functions cannot change globals that other functions see} {
        r function flush
        foreach body {
            {redis.call = 1} {_G.x = 1} {rawset(_G, 'x', 1)} {setmetatable(_G, {})} {getmetatable(_G).__index = 1}
            {string.rep = 1} {rawset(string, 'rep', 1)} {getmetatable('').__index = {}} {table.insert(_G, 1)} {server = nil}
        } {
            r function load replace [plain l f $body]
            assert_error {*Attempt to modify a readonly table*} { r fcall f 0 } $body
        }
        foreach body {{return getfenv()} {return setfenv(1, {})} {return newproxy()} {return dofile('x')} {return require('x')} {return debug.getinfo(1)} {return io.open('/etc/passwd')}} {
            r function load replace [plain l f $body]
            assert_error {*nonexistent global variable*} { r fcall f 0 } $body
        }
        r function load replace [plain l f {return loadstring(string.dump and 'x = 1' or 'y = 1')()}]
        assert_error {*Attempt to modify a readonly table*} { r fcall f 0 }
        r function load replace [plain l f {return {loadstring('\27Lua')}}]
        assert_equal {} [r fcall f 0]
    }

    # ---- Listing ----

    test {FUNCTION LIST} {
        r function flush
        r function load [plain one f]
        r function load [plain Other g]
        assert_equal {Other.g one.f} [names]
        assert_equal {{library_name one engine LUA functions {{name f description {} flags {}}}}} [r function list libraryname O*e]
        assert_equal 2 [llength [r function list libraryname o*]]
        assert_equal [plain one f] [dict get [lindex [r function list withcode libraryname one] 0] library_code]
        assert_error {ERR library name argument was not given} { r function list libraryname }
        assert_error {ERR Unknown argument foo} { r function list foo }
        assert_error {ERR Unknown argument withcode} { r function list withcode withcode }
        assert_error {ERR Unknown argument libraryname} { r function list libraryname a libraryname b }
    }

    test {FUNCTION STATS and INFO count} {
        r function flush
        assert_equal {running_script {} engines {LUA {libraries_count 0 functions_count 0}}} [r function stats]
        set empty [status r used_memory_functions]
        r function load [library l {server.register_function('a', function() end)} {server.register_function('b', function() end)}]
        r function load [plain m c]
        assert_equal {running_script {} engines {LUA {libraries_count 2 functions_count 3}}} [r function stats]
        assert_equal {2 3} [list [status r number_of_libraries] [status r number_of_functions]]
        assert_morethan [status r used_memory_functions] $empty
        assert_morethan [status r used_memory_vm_functions] 0
        set memory [r info memory] ;# in one piece: garbage goes meanwhile
        foreach vm {functions eval total} { regexp "used_memory_vm_$vm:(\\d+)" $memory - bytes($vm) }
        assert_equal [expr {$bytes(functions) + $bytes(eval)}] $bytes(total)
        r function delete l
        assert_equal {1 1} [list [status r number_of_libraries] [status r number_of_functions]]
        assert_error {NOTBUSY No scripts in execution right now.} { r function kill }
    }

    test {FUNCTION DELETE and FLUSH} {
        r function flush
        r function load [plain l f]
        assert_error {ERR Library not found} { r function delete nope }
        assert_error {ERR Library not found} { r function delete L }
        assert_equal OK [r function delete l]
        assert_error {ERR Function not found} { r fcall f 0 }
        foreach mode {{} sync async SYNC} {
            r function load [plain l f]
            assert_equal OK [r function flush {*}$mode]
            assert_equal {} [names]
            assert_error {ERR Function not found} { r fcall f 0 }
        }
        r function load [plain l f {return 'still works'}]
        assert_equal {still works} [r fcall f 0]
        assert_error {ERR FUNCTION FLUSH only supports SYNC|ASYNC option} { r function flush foo }
        assert_error {ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.} { r function flush sync x }
        r flushall
        assert_equal {l.f} [names] "functions are no data"
    }

    # ---- DUMP and RESTORE ----

    test {FUNCTION DUMP and RESTORE} {
        r function flush
        r function load [plain a fa]
        r function load [plain b fb "return '[string repeat x 300]'"]
        set both [r function dump]
        r function flush
        assert_equal OK [r function restore $both]
        assert_equal {a.fa b.fb} [names]
        assert_equal [string repeat x 300] [r fcall fb 0]
        assert_error {ERR Library ? already exists} { r function restore $both }
        assert_error {ERR Library ? already exists} { r function restore $both append }
        r function load replace [plain a other]
        assert_equal OK [r function restore $both replace]
        assert_equal {a.fa b.fb} [names]
        r function flush
        r function load [plain c fb]
        assert_error {ERR Function fb already exists} { r function restore $both }
        assert_error {ERR Function fb already exists} { r function restore $both replace }
        assert_equal {c.fb} [names] "all or nothing"
        assert_equal OK [r function restore $both flush]
        assert_equal {a.fa b.fb} [names]
        assert_equal 1 [r fcall fa 0]
    }

    test {FUNCTION RESTORE: a function may move to another library} {
        r function flush
        r function load [plain a f1]
        r function load [plain b f2]
        set payload [r function dump]
        r function flush
        r function load [plain a f2]
        r function load [plain b f1]
        assert_equal OK [r function restore $payload replace]
        assert_equal {a.f1 b.f2} [names]
    }

    test {FUNCTION RESTORE: bad payloads change nothing} {
        r function flush
        r function load [plain a fa]
        set good [r function dump]
        assert_error {ERR DUMP payload version or checksum are wrong} { r function restore "" }
        assert_error {ERR DUMP payload version or checksum are wrong} { r function restore [string range $good 0 end-1] }
        for {set i 0} {$i < [string length $good]} {incr i} {
            set bad [string replace $good $i $i [binary format c [expr {[scan [string index $good $i] %c] ^ 1}]]]
            assert_error {ERR DUMP payload version or checksum are wrong} { r function restore $bad flush }
        }
        assert_error {ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.} { r function restore $good foo }
        assert_error {ERR unknown subcommand or wrong number of arguments for 'restore'. Try FUNCTION HELP.} { r function restore $good flush x }
        r set k v
        assert_error {ERR given type is not a function} { r function restore [function_payload f4016b] flush }
        assert_error {ERR Failed loading library payload} { r function restore [function_payload f5] flush }
        assert_error {ERR Failed loading library payload} { r function restore [function_payload f50a6b] flush }
        assert_error {ERR Missing library metadata} { r function restore [function_payload f5016b] flush }
        assert_equal {a.fa} [names]
        assert_equal OK [r function restore [function_payload {}] flush]
        assert_equal {} [names]
    }
}

start_server {tags {scripting functions}} {
    test {FUNCTION RESTORE: damaged payloads with a right checksum} {
        for {set i 0} {$i < 5} {incr i} { r function load [plain l$i f$i "return '[string repeat "ab$i" [expr {$i * 40}]]'"] }
        set good [string range [r function dump] 0 end-10]
        set before [names]
        set restored 0
        for {set i 0} {$i < 300} {incr i} {
            set bad $good
            for {set n [randomRange 1 4]} {$n > 0} {incr n -1} {
                set at [randomInt [string length $bad]]
                switch [randomInt 3] {
                    0 { set bad [string replace $bad $at $at [binary format c [randomInt 256]]] }
                    1 { set bad [string range $bad 0 $at-1] }
                    2 { set bad [string replace $bad $at $at [string repeat [string index $bad $at] 3]] }
                }
            }
            binary scan $bad H* hex
            if {[catch { r function restore [function_payload $hex] flush } message]} {
                assert_match {ERR *} $message
                assert_equal $before [names] "all or nothing"
            } else {
                incr restored
                r function restore [function_payload [binary encode hex $good]] flush
            }
        }
        assert_lessthan $restored 300
        assert_equal $before [names]
        assert_equal [string repeat ab3 120] [r fcall f3 0]
    }

    test {FUNCTION LIST with many libraries, and one large} {
        r function flush
        for {set i 0} {$i < 300} {incr i} { r function load [plain l$i f$i "return $i"] }
        assert_equal 300 [llength [r function list]]
        assert_equal 299 [r fcall f299 0]
        set large [plain large big "return #'[string repeat x 2000000]'"]
        r function load $large
        assert_equal 2000000 [r fcall big 0]
        assert_equal $large [dict get [lindex [r function list libraryname large withcode] 0] library_code]
        set payload [r function dump]
        r function flush async
        r function restore $payload
        assert_equal {2000000 150} [list [r fcall big 0] [r fcall f150 0]]
        assert_equal 301 [status r number_of_libraries]
        assert_morethan [status r used_memory_functions] 2000000
        r function flush
        assert_lessthan [status r used_memory_functions] 2000000
    }
}

# ---- Files ----

start_server {tags {scripting functions} overrides {save {}}} {
    test {libraries are in the RDB file} {
        r function load [plain a fa {return 'from a'}]
        r function load [plain b fb "return #'[string repeat long 2000]'"]
        r set k v
        set before [lsort [r function list withcode]]
        r save
        r function flush
        r function load [plain later f]
        restart_server 0 KILL
        assert_equal $before [lsort [r function list withcode]]
        assert_equal {{from a} 8000 v} [list [r fcall fa 0] [r fcall fb 0] [r get k]]
    }

    test {DEBUG RELOAD keeps libraries} {
        r function load [plain c fc]
        set before [lsort [r function list withcode]]
        r debug reload
        assert_equal $before [lsort [r function list withcode]]
        assert_equal 1 [r fcall fc 0]
        r debug reload nosave noflush merge
        assert_equal $before [lsort [r function list withcode]]
        r function flush
        r debug reload
        assert_equal {} [r function list]
    }
}

foreach preamble {yes no} {
    start_server [list tags {scripting functions aof} overrides [list save {} appendonly yes aof-use-rdb-preamble $preamble]] {
        test "libraries are in the append-only file (preamble $preamble)" {
            r function load [plain a fa {return 'from a'}]
            r function load [plain gone fg]
            r function delete gone
            r function load replace [plain b fb {redis.call('set', keys[1], 'by b') return 'from b'}]
            set payload [r function dump]
            r function flush
            r function load [plain c fc]
            r function restore $payload
            assert_equal {from b} [r fcall fb 1 k]
            set before [lsort [r function list withcode]]
            restart_server 0 KILL
            assert_equal $before [lsort [r function list withcode]]
            assert_equal {a.fa b.fb c.fc} [names]
            assert_equal {{from a} {by b}} [list [r fcall fa 0] [r get k]]
            r bgrewriteaof
            wait_for_condition 500 20 {[status r aof_rewrite_in_progress] == 0 && [status r aof_rewrite_scheduled] == 0} else { fail "no end of BGREWRITEAOF" }
            r function delete a
            restart_server 0 KILL
            assert_equal {b.fb c.fc} [names]
        }
    }
}

# ---- Functions that run on ----

start_server {tags {scripting functions} overrides {busy-reply-threshold 50}} {
    set busy "BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."

    proc start_function {args} {
        set c [valkey_deferring_client]
        $c fcall {*}$args
        wait_for_condition 500 20 {[catch { r ping } message] && [string match BUSY* $message]} else { fail "the server is not busy" }
        return $c
    }
    r function load [library l {server.register_function('spin', function(keys, args) if args[1] then redis.call('set', 'x', args[1]) end while true do end end)} \
        {server.register_function('guarded', function() while true do pcall(function() while true do end end) end end)}]

    test {other clients get BUSY during a function, and FUNCTION KILL ends it} {
        set c [start_function spin 1 key]
        assert_error $busy { r get k }
        assert_error $busy { r function list }
        assert_error $busy { r fcall spin 0 }
        assert_error $busy { r script kill }
        set stats [dict get [r function stats] running_script]
        assert_equal {spin {fcall spin 1 key}} [list [dict get $stats name] [dict get $stats command]]
        assert_morethan [dict get $stats duration_ms] 49
        assert_equal OK [r function kill]
        assert_error {ERR Script killed by user with FUNCTION KILL. script: on @user_function:2.} { $c read }
        assert_equal PONG [r ping]
        wait_for_log "*using the FUNCTION KILL command. Script name is: spin."
        $c close
    }

    test {pcall does not hold up FUNCTION KILL} {
        set c [start_function guarded 0]
        assert_equal OK [r function kill]
        assert_error {ERR Script killed by user*} { $c read }
        assert_equal PONG [r ping]
        $c close
    }

    test {FUNCTION KILL and FUNCTION STATS while a script runs} {
        set c [valkey_deferring_client]
        $c eval {while true do end} 0
        wait_for_condition 500 20 {[catch { r ping } message] && [string match BUSY* $message]} else { fail "the server is not busy" }
        assert_error {BUSY * call SCRIPT KILL or *} { r function kill }
        assert_error {BUSY * call SCRIPT KILL or *} { r function stats }
        assert_equal OK [r script kill]
        assert_error {ERR Script killed*} { $c read }
        $c close
    }

    test {a function that has written is not killed; SHUTDOWN NOSAVE ends it} {
        set c [start_function spin 0 written]
        assert_error {UNKILLABLE *} { r function kill }
        assert_error {UNKILLABLE *} { r script kill }
        assert_error $busy { r shutdown }
        catch { r shutdown nosave }
        wait_for_log "ready to exit"
        $c close
    }
}
