# EVAL and its family: calling commands, what replies become in Lua and back, errors, the cache of scripts.

# The reply to a command as it is on the wire, in short: :1 +OK -ERR.. $text $nil *[..] %[..] ~[..] ,1.5 (12 =txt:.. #t _
proc wire {args} {
    r write [resp::encode $args]
    return [wire_reply]
}

proc wire_reply {} {
    set line [r rawread]
    set n [string range $line 1 end]
    switch -exact -- [string index $line 0] {
        $ - = {
            if {$n < 0} { return \$nil }
            set text [r rawread $n]
            r rawread 2
            return [string index $line 0]$text
        }
        * - ~ { return [string index $line 0]\[[wire_items $n]\] }
        % { return %\[[wire_items [expr {$n * 2}]]\] }
        default { return $line }
    }
}

proc wire_items {n} {
    set items {}
    for {set i 0} {$i < $n} {incr i} { lappend items [wire_reply] }
    return [join $items]
}

# Pairs of script and reply on the wire, in the protocol that is on.
proc assert_wire {pairs} {
    foreach {script expected} $pairs { assert_equal $expected [wire eval $script 0] $script }
}

proc sha_of {script} { return [r eval {return redis.sha1hex(ARGV[1])} 0 $script] }

start_server {tags {scripting}} {
    # ---- Arguments ----

    test {EVAL: KEYS and ARGV} {
        assert_equal {a b c d} [r eval {return {KEYS[1], KEYS[2], ARGV[1], ARGV[2]}} 2 a b c d]
        assert_equal {0 0} [r eval {return {#KEYS, #ARGV}} 0]
        assert_equal {} [r eval {return KEYS[2]} 1 a b]
        set bytes [binary format H* 00ff0d0a]
        assert_equal $bytes [r eval {return ARGV[1]} 0 $bytes]
        assert_equal x [r eval {KEYS[1] = 'x' return KEYS[1]} 1 a]
        assert_equal a [r eval {return KEYS[1]} 1 a] "a table that a script has changed does not come back"
    }

    test {EVAL: the number of keys is checked} {
        assert_error {ERR value is not an integer or out of range} { r eval {return 1} x }
        assert_error {ERR Number of keys can't be negative} { r eval {return 1} -1 }
        assert_error {ERR Number of keys can't be greater than number of args} { r eval {return 1} 2 k }
        assert_error {ERR wrong number of arguments for 'eval' command} { r eval {return 1} }
    }

    test {arguments of redis.call may be strings and numbers} {
        foreach {expression text} {
            1 1  -5 -5  1.5 1.5  0.1 0.10000000000000001  2^53 9007199254740992  1e17 1e+17  1e16 10000000000000000
            -0 -0  3.14159265358979 3.14159265358979  1/0 inf  -1/0 -inf  123456789012345678 1.2345678901234568e+17
        } {
            assert_equal $text [r eval "redis.call('set', 'n', $expression) return redis.call('get', 'n')" 0] $expression
        }
        foreach bad {nil {{}} {'get', {}} {'get', true} {'get', tostring} {'get', nil}} {
            assert_error {ERR Command arguments must be strings or integers script:*} { r eval "redis.call($bad)" 0 }
        }
        assert_error {ERR Please specify at least one argument for this call script: on @user_script:1.} { r eval {redis.call()} 0 }
    }

    test {a command with many arguments} {
        assert_equal 1000 [r eval {
            local args = {}
            for i = 1, 1000 do args[2 * i - 1] = i; args[2 * i] = 'm' .. i end
            return redis.call('zadd', KEYS[1], unpack(args))
        } 1 many]
        assert_equal 1000 [r zcard many]
        assert_equal 2000 [llength [r eval {return redis.call('zrange', 'many', 0, -1, 'withscores')} 0]]
        # The most values that unpack returns: the reply still fits.
        foreach n {7990 7998 7999} {
            set fill "local t = {} for i = 1, $n do t\[i\] = 'x' end"
            r del many
            assert_equal $n [r eval "$fill return redis.call('rpush', 'many', unpack(t))" 0]
            assert_equal [lrepeat $n x] [r eval "return redis.call('lrange', 'many', 0, -1)" 0]
            assert_match {WRONGTYPE *} [r eval "$fill return redis.pcall('sadd', 'many', unpack(t)).err" 0]
            assert_error {ERR Unknown command called from script*} {r eval "$fill return redis.call('nosuch', unpack(t))" 0}
        }
    }

    # ---- Conversions ----

    test {Lua to RESP2} {
        assert_wire {
            {return 3.99} :3  {return -3.99} :-3  {return 2^62} :4611686018427387904
            {return 1e30} :-9223372036854775808  {return 0/0} :-9223372036854775808
            {return true} :1  {return false} $nil  {return nil} $nil  {return} $nil  {} $nil
            {return 'a\r\nb'} "$a\r\nb"  {return function() end} $nil
            {return {}} {*[]}  {return {1, 2, nil, 4}} {*[:1 :2]}  {return {1, {2, {'x'}}, false}} {*[:1 *[:2 *[$x]] $nil]}
            {return {1, {err = 'A b'}, {ok = 'fine'}}} {*[:1 -A b +fine]}
            {return {ok = 'a\r\nb'}} {+a  b}  {return {err = 'a\r\nb'}} {-a  b}
            {return {ok = 5}} {*[]}  {return {err = 5}} {*[]}  {return {ok = 'x', err = 'y'}} -y
            {return {double = 3.5}} $3.5  {return {double = 'x'}} {*[]}
            {return {map = {a = 1}}} {*[$a :1]}  {return {set = {a = true}}} {*[$a]}
            {return {big_number = '12\r\n3'}} {$12  3}
            {return {verbatim_string = {format = 'txt', string = 'abc'}}} $abc
            {return {verbatim_string = {string = 'abc'}}} {*[]}
            {redis.setresp(3) return true} :1  {redis.setresp(3) return false} :0
        }
    }

    test {Lua to RESP3} {
        wire hello 3
        assert_wire {
            {return true} :1  {return false} _  {return nil} _
            {redis.setresp(3) return true} #t  {redis.setresp(3) return {false}} {*[#f]}
            {return {double = 3.5}} ,3.5  {return {double = 1/0}} ,inf
            {return {map = {a = 1}}} {%[$a :1]}  {return {map = {a = {map = {b = false}}}}} {%[$a %[$b _]]}
            {return {map = {}}} {%[]}  {return {set = {}}} {~[]}  {return {set = {a = true}}} {~[$a]}
            {return {big_number = '123'}} (123
            {return {verbatim_string = {format = 'txtx', string = 'abc'}}} =txt:abc
            {return {verbatim_string = {format = 'x', string = 'abc'}}} {=x  :abc}
        }
        wire hello 2
    }

    test {RESP2 to Lua} {
        r flushall
        r zadd z 1.5 a
        assert_wire {
            {return redis.call('ping')} +PONG  {return redis.call('ping').ok} $PONG
            {return redis.call('echo', 'x\r\ny')} "$x\r\ny"
            {return redis.call('zcard', 'z') + 1} :2
            {return tostring(redis.call('get', 'none'))} $false  {return redis.call('get', 'none')} $nil
            {return redis.call('mget', 'none', 'none')} {*[$nil $nil]}  {return #redis.call('mget', 'a', 'b')} :2
            {return type(redis.call('zscore', 'z', 'a'))} $string
            {return redis.call('zrange', 'z', 0, -1, 'withscores')} {*[$a $1.5]}
        }
    }

    test {RESP3 to Lua} {
        assert_wire {
            {redis.setresp(3) return tostring(redis.call('get', 'none'))} $nil
            {redis.setresp(3) return type(redis.call('zscore', 'z', 'a').double)} $number
            {redis.setresp(3) return redis.call('zscore', 'z', 'a')} $1.5
            {redis.setresp(3) return redis.call('zrange', 'z', 0, -1, 'withscores')} {*[*[$a $1.5]]}
            {redis.setresp(3) return #redis.call('mget', 'a', 'b')} :0
            {redis.setresp(3) redis.setresp(2) return type(redis.call('zscore', 'z', 'a'))} $string
            {return type(redis.call('zscore', 'z', 'a'))} $string
        }
        wire hello 3
        assert_wire {
            {redis.setresp(3) return redis.call('zscore', 'z', 'a')} ,1.5
            {redis.setresp(3) return redis.call('zrange', 'z', 0, -1, 'withscores')} {*[*[$a ,1.5]]}
            {return redis.call('zscore', 'z', 'a')} $1.5
        }
        wire hello 2
        assert_error {ERR RESP version must be 2 or 3.*} { r eval {redis.setresp(4)} 0 }
        assert_error {ERR server.setresp() requires one argument.*} { r eval {redis.setresp()} 0 }
    }

    test {replies that take several blocks of output} {
        r del big
        r eval {for i = 1, 5000 do redis.call('zadd', 'big', i, 'member:' .. i) end} 0
        assert_equal 10000 [llength [r eval {return redis.call('zrange', 'big', 0, -1, 'withscores')} 0]]
        assert_equal member:5000 [r eval {local t = redis.call('zrange', 'big', 0, -1) return t[#t]} 0]
        r set long [string repeat x 200000]
        assert_equal 200000 [r eval {return #redis.call('get', 'long')} 0]
        assert_equal 200000 [string length [r eval {return redis.call('get', 'long')} 0]]
    }

    test {an endless table is cut at the depth of the stack} {
        r write [resp::encode {eval {local t = {} t[1] = t return t} 0}]
        set depth 0
        while {[set line [r rawread]] eq "*1"} { incr depth }
        assert_equal {-ERR reached lua stack limit} $line
        assert_range $depth 1000 10000
        assert_equal PONG [r ping]
    }

    # ---- Errors ----

    test {errors name the script and the line} {
        set script "\n\nreturn redis.call('nosuch')"
        assert_error "ERR Unknown command called from script script: on @user_script:3." { r eval $script 0 }
        assert_error {ERR Wrong number of args calling command from script script: on @user_script:1.} { r eval {redis.call('get')} 0 }
        assert_error {ERR user_script:1: oops script: on @user_script:1.} { r eval {error('oops')} 0 }
        assert_error {MY words script: on @user_script:1.} { r eval {error({err = 'MY words'})} 0 }
        assert_error {ERR nil script: *} { r eval {error(nil)} 0 }
        assert_error {ERR true script: *} { r eval {error(true)} 0 }
        assert_error {ERR unknown error script: *} { r eval {error({'x'})} 0 }
        assert_error {ERR unknown error script: *} { r eval {error(redis)} 0 }
        assert_error {ERR user_script:1: stack overflow*} { r eval {local function f() f() end f()} 0 }
        assert_error {ERR *on return nosuch:1.} { r eval {return loadstring('return nosuch')()} 0 }
        assert_error {ERR attempt to yield across*} { r eval {coroutine.yield(1)} 0 }
    }

    test {errors of commands are raised by call, and returned by pcall} {
        r set s abc
        assert_error {ERR value is not an integer or out of range script: *} { r eval {redis.call('incr', 's') return 1} 0 }
        assert_error {ERR value is not an integer or out of range} { r eval {return redis.pcall('incr', 's')} 0 }
        assert_equal {ERR value is not an integer or out of range} [r eval {return redis.pcall('incr', 's').err} 0]
        assert_equal {ERR value is not an integer or out of range} [r eval {local ok, e = pcall(redis.call, 'incr', 's') return e} 0]
        assert_error {WRONGTYPE *} { r eval {return redis.call('zadd', 's', 1, 'a')} 0 }
        assert_equal 7 [r eval {redis.pcall('incr', 's') pcall(redis.call, 'nosuch') return 7} 0]
    }

    test {pcall and xpcall} {
        assert_equal {1 2 3} [lrange [r eval {return {pcall(function() return 1, 2, 3 end)}} 0] 1 end]
        assert_equal {{} x} [r eval {return {pcall(error, {err = 'x'})}} 0]
        assert_equal table [r eval {return type(select(2, pcall(error, {a = 1})))} 0]
        assert_equal {{} {attempt to call a number value}} [r eval {return {pcall(5)}} 0]
        assert_equal {{} table} [r eval {return {xpcall(function() redis.call('nosuch') end, type)}} 0]
        assert_equal {1 5} [r eval {return {xpcall(function() return 5 end, type)}} 0]
    }

    test {an error counts once} {
        r config resetstat
        catch { r eval {return redis.call('nosuch')} 0 }
        assert_equal 1 [s total_error_replies]
        catch { r eval {return redis.pcall('nosuch')} 0 }
        assert_equal 2 [s total_error_replies]
        catch { r eval {return redis.error_reply('MINE oh')} 0 }
        catch { r eval {error('oops')} 0 }
        assert_equal 4 [s total_error_replies]
        assert_match {*errorstat_ERR:count=3*errorstat_MINE:count=1*} [r info errorstats]
        catch { r eval {return {err = "NEW\r\nkey:1"}} 0 }
        assert_no_match "*\r\nkey:1*" [r info errorstats]
    }

    test {redis.error_reply and redis.status_reply} {
        assert_wire {
            {return redis.error_reply('word')} {-ERR word}  {return redis.error_reply('A word')} {-A word}
            {return redis.error_reply('-A word')} {-A word}  {return redis.error_reply('-word')} {-ERR word}
            {return redis.error_reply('')} {-ERR }  {return redis.error_reply('a b\r\n')} {-a b}
            {return redis.error_reply()} {-ERR wrong number or type of arguments}
            {return redis.error_reply(5)} {-ERR wrong number or type of arguments}
            {return redis.status_reply('a\nb')} {+a b}  {return redis.status_reply({})} {-ERR wrong number or type of arguments}
        }
    }

    test {a script that does not compile} {
        assert_error {ERR Error compiling script (new function): user_script:1: unexpected symbol near '='} { r eval {return =} 0 }
        assert_error {ERR Error compiling script (new function): *} { r script load {return foo(} }
        assert_error {ERR Error compiling script (new function): user_script:1: unexpected symbol near 'char(27)'} { r eval "\x1bLua" 0 }
        assert_equal 0 [r script exists [sha_of {return =}]]
    }

    # ---- What may be called ----

    test {an unknown subcommand is named} {
        set e "ERR unknown subcommand 'NoSuch'. Try OBJECT HELP."
        assert_error $e { r eval {return redis.pcall('object', 'NoSuch', 'x')} 0 }
        assert_error "$e script: on @user_script:1." { r eval {return redis.call('object', 'NoSuch', 'x')} 0 }
    }

    test {commands that scripts may not call} {
        foreach command {eval evalsha script config client debug shutdown hello auth} {
            catch { r eval "return redis.call('$command', 'x', 'y', 'z')" 0 } message
            assert {[string match {ERR This Valkey command is not allowed from script*} $message] ||
                    [string match {ERR unknown subcommand *} $message] ||
                    [string match {ERR Wrong number of args*} $message]} "$command: $message"
        }
        assert_error {ERR This Valkey command is not allowed from script script:*} { r eval {redis.call('eval', 'return 1', 0)} 0 }
        assert_error {ERR This Valkey command is not allowed from script script:*} { r eval {redis.call('script', 'flush')} 0 }
        assert_error {ERR This Valkey command is not allowed from script} { r eval {return redis.pcall('exec')} 0 }
    }

    test {read-only scripts} {
        r set k v
        foreach command {eval_ro evalsha_ro} {
            foreach {script expected} {
                {return redis.call('get', KEYS[1])} v
                {return redis.call('set', KEYS[1], 'x')} {ERR Write commands are not allowed from read-only scripts. script:*}
                {return redis.pcall('set', KEYS[1], 'x')} {ERR Write commands are not allowed from read-only scripts.}
            } {
                set what [expr {$command eq "eval_ro" ? $script : [r script load $script]}]
                catch { r $command $what 1 k } result
                assert_match $expected $result
            }
        }
        assert_equal v [r get k]
    }

    test {a shebang sets flags} {
        assert_equal 1 [r eval "#!lua\nreturn 1" 0]
        assert_equal 1 [r eval "#!LUA\nreturn 1" 0]
        assert_equal 1 [r eval "#!lua flags=allow-oom,allow-stale,no-cluster,allow-cross-slot-keys\nreturn 1" 0]
        assert_error {ERR Write commands are not allowed from read-only scripts. script: on @user_script:2.} {
            r eval "#!lua flags=no-writes\nreturn redis.call('set','a','b')" 0
        }
        assert_error {ERR Can not execute a script with write flag using \*_ro command.} { r eval_ro "#!lua\nreturn 1" 0 }
        assert_equal 1 [r eval_ro "#!lua flags=no-writes\nreturn 1" 0]
        assert_error {ERR Unexpected flag in script shebang: nosuch} { r eval "#!lua flags=nosuch\nreturn 1" 0 }
        assert_error {ERR Unknown lua shebang option: name=x} { r eval "#!lua name=x\nreturn 1" 0 }
        assert_error {ERR Could not find scripting engine 'python'} { r eval "#!python\nreturn 1" 0 }
        assert_error {ERR Invalid script shebang} { r eval "#!lua" 0 }
        assert_error {ERR user_script:3:*} { r eval "#!lua\n\nreturn nosuch" 0 }
    }

    test {SELECT in a script applies to the script only} {
        r eval {redis.call('select', 5) redis.call('set', 'in5', 1)} 0
        assert_equal 0 [r exists in5]
        r select 5
        assert_equal 1 [r get in5]
        assert_equal 1 [r eval {return redis.call('del', 'in5')} 0] "a script starts in its caller's database"
        r select 0
    }

    test {blocking commands do not wait in a script} {
        assert_equal {} [r eval {return redis.call('bzpopmin', 'none', 0)} 0]
    }

    test {the time does not change in a script} {
        r eval {redis.call('set', 'volatile', 1, 'px', 20)} 0
        assert_equal {1 1} [r eval {
            redis.call('set', KEYS[1], 1, 'px', 5)
            local before, after = redis.call('exists', KEYS[1])
            local start = os.clock()
            while os.clock() - start < 0.03 do end
            return {before, redis.call('exists', KEYS[1])}
        } 1 short]
        wait_for_condition 1000 10 {[r exists short] == 0} else { fail "the key did not expire after the script" }
        # TIME too returns when the script began, and not a time before earlier commands of the client.
        set script {
            local before, start = redis.call('time'), os.clock()
            while os.clock() - start < 0.03 do end
            local now = redis.call('time')
            redis.call('set', KEYS[1], 1, 'px', 20)
            return {before, now, {redis.call('pexpiretime', KEYS[1])}}
        }
        foreach multi {0 1} {
            set earlier [lindex [r time] 0][format %06d [lindex [r time] 1]]
            if {$multi} { r multi }
            set reply [r eval $script 1 short]
            if {$multi} { set reply [lindex [r exec] 0] }
            lassign $reply before now expiry
            assert_equal $before $now
            set us [lindex $now 0][format %06d [lindex $now 1]]
            assert_morethan_equal $us $earlier
            assert_equal [expr {$us / 1000 + 20}] $expiry
        }
        # The time is not before that of a TIME in the same packet.
        set c [valkey_deferring_client]
        set requests [string repeat [resp::encode {time}] 20]
        $c write $requests[resp::encode [list eval {return redis.call('time')} 0]]
        for {set i 0} {$i < 20} {incr i} { set earlier [$c read] }
        set in_script [$c read]
        assert_morethan_equal [lindex $in_script 0][format %06d [lindex $in_script 1]] [lindex $earlier 0][format %06d [lindex $earlier 1]]
        $c close
    }

    # ---- redis.* ----

    test {redis and server are the same} {
        assert_equal 1 [r eval {return redis == server} 0]
        assert_equal PONG [r eval {return server.call('ping').ok} 0]
        assert_equal {7.2.4 459268 valkey} [r eval {return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM, server.SERVER_NAME}} 0]
        assert_equal [s valkey_version] [r eval {return server.VALKEY_VERSION} 0]
    }

    test {redis.sha1hex} {
        assert_equal da39a3ee5e6b4b0d3255bfef95601890afd80709 [r eval {return redis.sha1hex('')} 0]
        assert_equal [r eval {return redis.sha1hex('5')} 0] [r eval {return redis.sha1hex(5)} 0]
        assert_error {ERR wrong number of arguments script:*} { r eval {return redis.sha1hex()} 0 }
    }

    test {redis.log} {
        r eval {redis.log(redis.LOG_WARNING, 'words', 5, {}, true, nil, 'more')} 0
        wait_for_log "# words 5 more"
        assert_error {ERR server.log() requires two arguments or more.*} { r eval {redis.log(1)} 0 }
        assert_error {ERR First argument must be a number (log level).*} { r eval {redis.log('a', 'b')} 0 }
        assert_error {ERR Invalid log level.*} { r eval {redis.log(9, 'b')} 0 }
    }

    test {redis.set_repl, replicate_commands, breakpoint, debug, acl_check_cmd} {
        assert_equal {} [r eval {return redis.set_repl(redis.REPL_ALL)} 0]
        assert_error {ERR Invalid replication flags.*} { r eval {redis.set_repl(9)} 0 }
        assert_error {ERR server.set_repl() requires one argument.*} { r eval {redis.set_repl()} 0 }
        assert_equal 1 [r eval {return redis.replicate_commands()} 0]
        assert_equal {} [r eval {redis.debug('x') return redis.breakpoint()} 0]
        assert_equal 1 [r eval {return redis.acl_check_cmd('get', 'x')} 0]
        assert_error {ERR Invalid command passed to server.acl_check_cmd()*} { r eval {return redis.acl_check_cmd('nosuch')} 0 }
        assert_error {ERR Please specify*} { r eval {return redis.acl_check_cmd()} 0 }
    }

    test {math.random: a seed gives the numbers it always gave} {
        assert_equal {0.52483957937213 0.27285430173988 79 6} \
            [r eval {math.randomseed(5) return {tostring(math.random()), tostring(math.random()), math.random(100), math.random(5, 10)}} 0]
        assert_error {ERR user_script:1: bad argument #1 to 'random' (interval is empty)*} { r eval {return math.random(0)} 0 }
        assert_error {ERR user_script:1: bad argument #2 to 'random' (interval is empty)*} { r eval {return math.random(5, 1)} 0 }
    }

    # ---- The cache ----

    test {EVALSHA, SCRIPT LOAD and SCRIPT EXISTS} {
        r script flush
        set sha [r script load {return {KEYS[1], ARGV[1]}}]
        assert_equal [sha_of {return {KEYS[1], ARGV[1]}}] $sha
        assert_equal {a b} [r evalsha $sha 1 a b]
        assert_equal {a b} [r evalsha [string toupper $sha] 1 a b]
        assert_equal {1 0 1} [r script exists $sha abc [string toupper $sha]]
        assert_equal $sha [r script load {return {KEYS[1], ARGV[1]}}]
        assert_error {NOSCRIPT No matching script.} { r evalsha [string repeat f 40] 0 }
        assert_error {NOSCRIPT No matching script.} { r evalsha x 0 }
        assert_equal 1 [r eval {return 1} 0]
        assert_equal 1 [r evalsha [sha_of {return 1}] 0]
    }

    test {SCRIPT SHOW} {
        set text "return 'a\\0b' -- with a comment\n"
        set sha [r script load $text]
        assert_equal $text [r script show $sha]
        assert_equal $text [r script show [string toupper $sha]]
        assert_error {NOSCRIPT No matching script.} { r script show [string repeat 0 40] }
        assert_error {NOSCRIPT *} { r script show x }
        r script flush
        assert_error {NOSCRIPT *} { r script show $sha }
    }

    test {SCRIPT LOAD needs memory (9.2 §3)} {
        r script flush
        set sha [sha_of {return 1}]
        r config set maxmemory 1
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} { r script load {return 1} }
        assert_equal 0 [r script exists $sha]
        r multi
        assert_error {OOM *} { r script load {return 1} }
        assert_error {EXECABORT *} { r exec }
        r config set maxmemory 0
        assert_equal 1 [r script exists [r script load {return 1}]]
    }

    test {a script's declared flags count before it runs} {
        r set k v
        set writes "#!lua\nreturn redis.call('set', 'k', 'w')"
        set sha [r script load $writes]
        r config set maxmemory 1
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} { r eval $writes 0 }
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} { r evalsha $sha 0 }
        assert_error {OOM *} { r eval "#!lua\nreturn 'never seen before'" 0 }
        assert_equal v [r eval "#!lua flags=no-writes\nreturn redis.call('get', 'k')" 0]
        assert_equal OK [r eval "#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'v2')" 0]
        assert_equal v2 [r eval {return redis.call('get', 'k')} 0] "one that says nothing is checked as it goes"
        assert_error {OOM * script: on @user_script:1.} { r eval {return redis.call('set', 'k', 'w')} 0 }
        assert_error {ERR Unexpected flag in script shebang: nosuch} { r eval "#!lua flags=nosuch\nreturn 1" 0 }
        r multi
        assert_error {OOM *} { r evalsha $sha 0 }
        assert_error {EXECABORT *} { r exec }
        r config set maxmemory 0
        assert_equal v2 [r get k]
        assert_equal OK [r evalsha $sha 0]
    }

    test {SCRIPT FLUSH} {
        foreach mode {{} async sync} {
            set sha [r script load {return 'flushed'}]
            assert_equal OK [r script flush {*}$mode]
            assert_equal 0 [r script exists $sha]
            assert_equal 0 [s number_of_cached_scripts]
            assert_error NOSCRIPT* { r evalsha $sha 0 }
            assert_equal flushed [r eval {return 'flushed'} 0]
        }
        assert_error {ERR SCRIPT FLUSH only support SYNC|ASYNC option} { r script flush x }
        assert_error {ERR SCRIPT FLUSH only support SYNC|ASYNC option} { r script flush sync async }
    }

    test {scripts that were sent only by EVAL are dropped at the limit} {
        r script flush
        r config resetstat
        set loaded [r script load {return 'kept'}]
        set used [sha_of {return 0}]
        for {set i 0} {$i < 520} {incr i} {
            r eval "return $i" 0
            if {$i % 100 == 0} { r eval {return 0} 0 }
        }
        assert_equal {1 1 0} [r script exists $loaded $used [sha_of {return 1}]]
        assert_morethan [s evicted_scripts] 15
        assert_range [s number_of_cached_scripts] 500 503
        assert_equal kept [r evalsha $loaded 0]
    }

    test {9.2 §6: maxmemory-scripts limits what EVAL leaves, the least recently used scripts go first} {
        r script flush
        r config resetstat
        set loaded [r script load "return 'loaded' --[string repeat x 100000]"]
        set text {return KEYS[1] --}
        r config set maxmemory-scripts 1mb
        r eval {return 'used'} 0
        for {set i 0} {$i < 30} {incr i} {
            assert_equal k [r eval "$text$i[string repeat y 100000]" 1 k]
            r eval {return 'used'} 0
            assert_lessthan [s used_memory_scripts_eval] 1250000
        }
        assert_range [s number_of_cached_scripts] 9 12
        assert_equal [expr {32 - [s number_of_cached_scripts]}] [s evicted_scripts]
        set newest [sha_of "${text}29[string repeat y 100000]"]
        assert_equal {1 1 1 0} [r script exists $loaded [sha_of {return 'used'}] $newest [sha_of "${text}0[string repeat y 100000]"]]
        r config set maxmemory-scripts 200000
        assert_range [s number_of_cached_scripts] 2 4
        assert_equal {1 1 1} [r script exists $loaded [sha_of {return 'used'}] $newest]
        assert_equal loaded [r evalsha $loaded 0]
        r config set maxmemory-scripts 0
    }

    test {9.2 §6: maxmemory-scripts: a script larger than the limit runs and is forgotten, and so within MULTI} {
        r script flush
        r config set maxmemory-scripts 50000
        set large "return 'large' --[string repeat z 100000]"
        assert_equal large [r eval $large 0]
        assert_equal 0 [r script exists [sha_of $large]]
        r multi
        for {set i 0} {$i < 5} {incr i} { r eval "return $i --[string repeat z 20000]" 0 }
        r info memory
        set replies [r exec]
        assert_equal {0 1 2 3 4} [lrange $replies 0 4]
        regexp -line {^used_memory_scripts_eval:(\d+)} [lindex $replies 5] - within
        assert_lessthan $within 90000 "the limit holds while they run"
        assert_range [s number_of_cached_scripts] 1 2
        r script load $large
        assert_equal 1 [r script exists [sha_of $large]]
        r config set maxmemory-scripts 0
    }

    test {9.2 §6: maxmemory-scripts in percent of maxmemory} {
        r script flush
        r config set maxmemory-scripts 1%
        for {set i 0} {$i < 10} {incr i} { r eval "return $i --[string repeat z 100000]" 0 }
        assert_equal 10 [s number_of_cached_scripts] "without maxmemory there is no limit"
        r config set maxmemory 50mb
        r ping
        assert_range [s number_of_cached_scripts] 4 5
        r config set maxmemory 0
        r config set maxmemory-scripts 0
    }

    test {SCRIPT LOAD keeps a script that was sent by EVAL} {
        r script flush
        r eval {return 'first'} 0
        set sha [r script load {return 'first'}]
        for {set i 0} {$i < 510} {incr i} { r eval "return $i" 0 }
        assert_equal 1 [r script exists $sha]
    }

    test {INFO memory} {
        r script flush
        set before [s used_memory_scripts_eval]
        r script load "return '[string repeat x 10000]'"
        assert_morethan [s used_memory_scripts_eval] [expr {$before + 10000}]
        assert_equal 1 [s number_of_cached_scripts]
        set memory [r info memory] ;# both at one time: garbage is collected meanwhile
        assert {[regexp {used_memory_vm_eval:(\d+)} $memory - vm] && [regexp {used_memory_lua:(\d+)} $memory - lua]}
        assert_equal $lua $vm
        assert_morethan [s used_memory_lua] 10000
        set base [s used_memory_lua]
        r eval {local t = {} for i = 1, 200000 do t[i] = {} end return 1} 0
        wait_for_condition 200 50 {[s used_memory_lua] < $base * 2 + 100000} else { fail "garbage stays: [s used_memory_lua]" }
    }

    test {SCRIPT HELP, KILL and unknown subcommands} {
        assert_match {*SCRIPT <subcommand>*EXISTS*FLUSH*KILL*LOAD*HELP*} [r script help]
        assert_error {NOTBUSY No scripts in execution right now.} { r script kill }
        assert_error {ERR unknown subcommand 'nosuch'. Try SCRIPT HELP.} { r script nosuch }
    }

    # ---- Accounting ----

    test {commands of scripts count in the statistics} {
        r config resetstat
        r eval {for i = 1, 10 do redis.call('set', 'counted', i) end redis.pcall('incr', 's')} 0
        assert_match {*cmdstat_set:calls=10,*} [r info commandstats]
        assert_match {*cmdstat_incr:calls=1,*failed_calls=1*} [r info commandstats]
        assert_match {*cmdstat_eval:calls=1,*failed_calls=0*} [r info commandstats]
        catch { r eval {error('x')} 0 }
        assert_match {*cmdstat_eval:calls=2,*failed_calls=1*} [r info commandstats]
    }

    test {CLIENT REPLY OFF silences EVAL} {
        set c [valkey_deferring_client]
        $c client reply off
        $c eval {return {1, 2, {err = 'x'}}} 0
        $c eval {error('x')} 0
        $c eval {return redis.call('zrange', 'big', 0, -1)} 0
        $c client reply on
        assert_equal OK [$c read]
        $c close
    }
}
