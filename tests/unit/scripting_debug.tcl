# The debugger of scripts: SCRIPT DEBUG, and sessions in a copy of the server and in the server itself.

set source {local a = 1
local t = {1, 2, x = 'y'}
local function f(n)
  local z = n + 1
  redis.call('set', KEYS[1], z)
  return z
end
a = f(a)
redis.debug('a is', a, t)
return {a, KEYS[1]}}

# A client whose script is stopped at its first line.
proc session {mode script args} {
    set c [valkey_deferring_client]
    $c script debug $mode
    assert_equal OK [$c read]
    $c eval $script {*}$args
    return $c
}

# The lines that answer a request.
proc ask {c args} {
    $c {*}$args
    return [$c read]
}
proc closed {c} {
    assert_error {*} { $c read }
    $c close
}

start_server {tags {scripting debugger}} {
    test {SCRIPT DEBUG: modes} {
        assert_error {ERR Use SCRIPT DEBUG YES/SYNC/NO} { r script debug maybe }
        assert_equal OK [r script debug yes]
        assert_error {ERR Please use EVAL instead of EVALSHA for debugging} { r evalsha [string repeat 0 40] 0 }
        assert_equal PONG [r ping] "other commands are as ever"
        r multi
        r eval {return 1} 0
        assert_equal 1 [r exec] "no session within a transaction"
        assert_equal OK [r script debug no]
        assert_equal 1 [r eval {return 1} 0]
        set c [valkey_deferring_client]
        $c write "[resp::encode {ping}][resp::encode {script debug yes}]"
        assert_equal PONG [$c read]
        assert_error {ERR SCRIPT DEBUG must be called outside a pipeline} { $c read }
        $c close
    }

    foreach {mode written} {yes {} sync 2} {
        test "a session ($mode): stepping, breakpoints and values" {
            r del k
            set c [session $mode $source 1 k arg]
            assert_equal {{* Stopped at 1, stop reason = step over} {-> 1   local a = 1}} [$c read]
            assert_equal {{* Stopped at 2, stop reason = step over} {-> 2   local t = {1, 2, x = 'y'}}} [ask $c step]
            assert_match {{<value> a = 1}} [ask $c print]
            assert_equal {{<value> 1}} [ask $c p a]
            assert_equal {{No such variable.}} [ask $c p nosuch]
            assert_equal {{<value> {k; }}} [ask $c p KEYS]
            assert_equal {{<value> {arg; }}} [ask $c p ARGV]
            assert_equal {{No breakpoints set. Use 'b <line>' to add one.}} [ask $c b]
            assert_equal {{   4     local z = n + 1} {  #5     redis.call('set', KEYS[1], z)} {   6     return z}} [ask $c b 5]
            assert_equal {{Wrong line number.}} [ask $c b 5]
            assert_equal {{Wrong line number.}} [ask $c b 99]
            assert_equal [list "Invalid argument:'x'"] [ask $c b x]
            assert_equal {{* Stopped at 5, stop reason = break point} {->#5     redis.call('set', KEYS[1], z)}} [ask $c c]
            assert_equal {{<value> 2}} [ask $c p z]
            assert_equal {{In f:} {->#5     redis.call('set', KEYS[1], z)} {From top level:} {   8   a = f(a)}} [ask $c trace]
            assert_equal {{   4     local z = n + 1} {->#5     redis.call('set', KEYS[1], z)} {   6     return z}} [ask $c list 5 1]
            assert_equal 10 [llength [ask $c whole]]
            assert_equal {{1 breakpoints set:} {->#5     redis.call('set', KEYS[1], z)}} [ask $c break]
            assert_equal {{Breakpoint removed.} {No breakpoint in the specified line.}} [ask $c b -5 -6]
            assert_equal {{<command> set k 2} {<reply> "+OK"} {* Stopped at 6, stop reason = step over} {-> 6     return z}} [ask $c s]
            assert_equal {{<command> get k} {<reply> "2"}} [ask $c redis get k]
            assert_equal {{<command> nosuch} {<error> Unknown command called from script}} [ask $c r nosuch]
            assert_equal {{<debug> line 9: a is, 2, {[1]=1; [2]=2; [x]=y; }} <endsession>} [ask $c continue]
            assert_equal {2 k} [$c read]
            closed $c
            assert_equal $written [r get k] "the data of the server"
        }
    }

    test {while a session in a copy goes on, the server serves} {
        set c [session yes $source 1 k]
        $c read
        r set other 1
        assert_equal {{<command> get other} {<reply> NULL}} [ask $c r get other]
        assert_equal 1 [r get other]
        set second [session yes $source 1 k]
        assert_match {*Stopped at 1*} [$second read]
        assert_equal <endsession> [ask $second abort]
        assert_error {ERR script aborted for user request script: on @user_script:1.} { $second read }
        closed $second
        $c close
    }

    test {code, replies and long values} {
        r del l
        set c [session sync "local s = string.rep('x', 400)\nlocal n\nreturn 1" 0]
        $c read
        ask $c s
        assert_equal {{<retval> 2}} [ask $c eval 1 + 1]
        assert_equal {{<retval> {1; 2; }}} [ask $c e return {{1,2}}]
        assert_equal {{<retval> nil}} [ask $c e local x = 1]
        assert_match {{<error> ldb_eval:1: Script attempted to access nonexistent global variable 's'}} [ask $c e s]
        assert_match {{<error> ldb_eval:1: unexpected symbol near '1'}} [ask $c e 1 2]
        assert_equal {{<command> rpush l a b} {<reply> 2}} [ask $c valkey rpush l a b]
        assert_equal {{<command> llen l} {<reply> 2}} [ask $c server llen l]
        foreach {code shown} {
            {'a"b'} a\"b  {'a\r\n\0b'} {a   b}  {''} {}  {{a=1}} {{[a]=1; }}  {{{}}} {{{}; }}  {{1,nil,3}} {{[1]=1; [3]=3; }}  {{true,{[2]='x'}}} {{true; {[2]=x; }; }}
            0.1 0.1  2^53 9.0072e+15  1e16 1e+16  1/0 inf
        } {
            assert_equal [list "<retval> $shown"] [ask $c e return $code]
        }
        assert_match {{<retval>  "function@0x*"}} [ask $c e return pairs]
        assert_equal {{<command> lrange l 0 -1} {<reply> ["a","b"]}} [ask $c v lrange l 0 -1]
        assert_equal {{<command> incr l} {<reply> "-WRONGTYPE Operation against a key holding the wrong kind of value"} {<error> -WRONGTYPE Operation against a key holding the wrong kind of value}} [ask $c r incr l]
        set lines [ask $c p s]
        assert_equal {256 { ...}} [list [expr {[string length [lindex $lines 0]] - 4}] [string range [lindex $lines 0] end-3 end]]
        assert_equal {<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.} [lindex $lines 1]
        assert_equal {{<value> replies are truncated at 60 bytes.}} [ask $c maxlen 5]
        assert_equal 64 [string length [lindex [ask $c p s] 0]]
        assert_equal {{<value> replies are not truncated.}} [ask $c maxlen 0]
        assert_equal [string length "<value> "] [expr {[string length [lindex [ask $c p s] 0]] - 400}]
        assert_equal {{<error> Unknown debugger command or wrong number of arguments.}} [ask $c nosuch]
        assert_morethan [llength [ask $c help]] 10
        assert_equal <endsession> [ask $c c]
        assert_equal 1 [$c read]
        closed $c
    }

    test {redis.breakpoint, loops and pcall} {
        set c [session sync "if not redis.breakpoint() then return 0 end\nlocal n = 5\nwhile true do pcall(function() while true do end end) end" 0]
        $c read
        assert_equal {{* Stopped at 2, stop reason = server.breakpoint() called} {-> 2   local n = 5}} [ask $c c]
        assert_match {{\* Stopped at 3, stop reason = step over} *} [ask $c s]
        assert_match {{\* Stopped at 3, stop reason = timeout reached, infinite loop\?} *} [ask $c c]
        assert_equal <endsession> [ask $c a]
        assert_error {ERR script aborted for user request*} { $c read }
        closed $c
        assert_equal {} [r eval {return redis.breakpoint()} 0]
        assert_equal {} [r eval {return redis.debug('nobody sees it')} 0]
    }

    test {errors, and a script that does not compile} {
        set c [session sync "error('boom')" 0]
        $c read
        assert_equal <endsession> [ask $c s]
        assert_error {ERR user_script:1: boom script:*} { $c read }
        closed $c
        set c [session sync "not lua" 0]
        assert_equal <endsession> [$c read]
        assert_error {ERR Error compiling script*} { $c read }
        closed $c
    }

    test {a client that disconnects or breaks the protocol ends its session} {
        foreach mode {sync yes} {
            set c [session $mode "local a = 1\nlocal b = 2\nreturn redis.call('set', 'k', 'gone')" 0]
            $c read
            $c close
            assert_equal PONG [r ping]
            set c [session $mode "while true do pcall(function() while true do end end) end" 0]
            $c read
            $c write "*1\r\n+x\r\n"
            assert_equal <endsession> [$c read]
            assert_error {ERR protocol error*} { $c read }
            closed $c
        }
        assert_equal PONG [r ping]
        assert_equal 1 [r eval {while true do return 1 end} 0] "and other scripts run as ever"
    }

    test {the number of sessions in forked copies is limited} {
        set sessions {}
        while {[llength $sessions] < 20} {
            set c [session yes {return 1} 0]
            if {[catch { $c read } message]} break
            lappend sessions $c
        }
        assert_equal {ERR Can't fork for a debugging session} $message
        assert_range [llength $sessions] 1 16
        $c eval {return 'not armed any more'} 0
        assert_equal {not armed any more} [$c read]
        foreach s [concat $c $sessions] { $s close }
        wait_for_condition 500 20 {[catch {
            set c [session yes {return 1} 0]
            set first [$c read]
            $c close
            set first
        } first] == 0 && [string match {*Stopped at 1*} $first]} else { fail "ended sessions are still counted: $first" }
    }
}
