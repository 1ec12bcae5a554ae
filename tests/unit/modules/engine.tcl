# Scripting engines of modules (tests/modules/engine.c), compared with the oracle: this server replies what 9.1.2
# does. Calls that crash 9.1.2 (a script that runs another or flushes scripts, calls with S but without E) are made on
# this server only.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/../unit/persist/aof_util.tcl

set toy "#!toy name=lib\ndef f1\nsay one \$k1 \$a1\ndef f2 no-writes,allow-oom,allow-stale,no-cluster,cross-slot : It says.\nkeys\n"

# Replies in which the order of functions, or of engines, has no meaning.
proc both_sorted {args} {
    foreach kind {ours valkey} { set $kind [lsort_deep [r [at $kind] {*}$args]] }
    assert_equal $valkey $ours $args
    return $ours
}
proc lsort_deep {list} {
    if {[llength $list] == 1 && [lindex $list 0] eq $list} { return $list }
    return [lsort [lmap item $list { lsort_deep $item }]]
}
# The counters of an engine, when the background thread has finished.
proc engine_counts {kind name args} {
    set counts {}
    foreach {what count} [r [at $kind] engine.counts $name] { if {$what in $args} { lappend counts $count } }
    return $counts
}
proc both_counted {expected name args} {
    foreach kind {ours valkey} {
        wait_for_condition 100 20 {[engine_counts $kind $name {*}$args] eq $expected} else {
            fail "$kind counts [engine_counts $kind $name {*}$args] of $args, not $expected"
        }
    }
}
proc engine_info {kind} {
    set engines {}
    foreach line [split [r [at $kind] info scriptingengines] \r\n] {
        if {[regexp {^engine_\d+:(.*)$} $line - engine] && ![string match name=LUA,* $engine]} { lappend engines $engine }
        if {[regexp {^engines_count:} $line]} { lappend engines $line }
    }
    return [lsort $engines]
}

beside_modules {{engine TOY one:1 two:2 three:3}} {overrides {save {} enable-debug-command yes} tags {modules}} {
    test {scripts in a language of a module} {
        assert_equal {say hello} [both eval "#!toy\nsay say hello" 0]
        assert_equal {a b} [both eval "#!TOY\nkeys" 2 a b c]
        assert_equal c [both eval "#!toy  flags=no-writes  \nargs" 2 a b c]
        assert_equal {x y} [both eval "#!toy\nsay \$k1 \$a1" 1 x y]
        both eval "#!toy\n" 0
        both eval "#!toy" 0
        both eval "#!\nsay" 0
        both eval " #!toy\nsay" 0
        both eval "#!nope\nsay" 0
        both eval "#!nope flags=zz\nsay" 0
        both eval "#!toy flags=zz\nsay" 0
        both eval "#!toy flags=\nsay x" 0
        both eval "#!toy x=\nsay x" 0
        both eval "#!toy flags=no-writes flags=allow-oom\nsay x" 0
        both eval "#!toy 'x\nsay" 0
        both eval "#!lua 'x\nsay" 0
        both eval "#!lua 'x" 0
        both eval "#!toy\nsay" x
        both eval "#!toy\nsay" 1
        both eval "#!toy\nfail WHAT is it" 0
        both eval "#!toy\nfail" 0
        assert_match {*toy: what is 'bad' at 1 of 4?} [both eval "#!toy\nbad" 0]
    }

    test {each version of the interface} {
        foreach name {one two three} {
            assert_equal hi [both eval "#!$name\nsay hi" 0]
            both eval "#!$name\nbad" 0
            both function load "#!$name name=lib_$name\ndef f_$name\nsay f_$name"
            assert_equal f_$name [both fcall f_$name 0]
        }
        both_sorted function list
        both function flush sync
        both script flush sync
        both_counted 1 one reset
        both_counted 2 three reset
        both function flush async
        both_counted 1 one reset
        both_counted {3 1} three reset later
        both script flush async
        both_counted {2 1} two reset later
    }

    test {scripts that are kept} {
        set sha [both script load "#!toy\nsay kept"]
        assert_equal kept [both evalsha $sha 0]
        assert_equal kept [both evalsha [string toupper $sha] 0]
        assert_equal "#!toy\nsay kept" [both script show $sha]
        both script exists $sha 0123456789012345678901234567890123456789
        assert_match {*Can not execute a script with write flag*} [both evalsha_ro $sha 0]
        both script flush
        both evalsha $sha 0
    }

    test {calls of a script reply, and are refused, as their flags say} {
        both flushall
        foreach how {SE SE! E E! SE3 SE0 S! - W EW SEW SEM SEX} {
            foreach command {{set k v} {get k} {get nope} {incr k} {lpush k x}} {
                # Without E, 9.1.2 crashes at a refusal.
                both eval "#!toy\ncall $how $command" 0
            }
        }
        foreach command {{nosuch a} get {eval x 0} multi {subscribe c} {debug jmap} {module list} {function stats}
                         {script flush} {client reply off} {blpop l 0} {brpoplpush a b 0} {xread block 0 streams s $}
                         {publish c m} {spublish c m} {engine.counts nope} {wait 1 10} randomkey {sort nope}
                         {config get port}} {
            both eval "#!toy\ncall SE $command" 0
        }
        both eval "#!toy\ncall E blpop l 0" 0
        both eval "#!toy\nflags" 0
        both engine.call E eval "#!toy\nflags" 0
        both eval "return redis.call('engine.call', 'E', 'get', 'k')" 0
        both hset h f v
        foreach flags {256 264 272 320 328 336 321} { both eval "#!toy\nargv $flags hgetall h" 0 }
        foreach kind {ours valkey} { r [at $kind] hello 3 }
        foreach flags {256 264 272 320 328 336} { both eval "#!toy\nargv $flags hgetall h" 0 }
        foreach how {E E3 E0 SE SE3 SE0} { both eval "#!toy\ncall $how hgetall h" 0 }
        foreach kind {ours valkey} { r [at $kind] hello 2 }
    }

    test {a database that a script selects is the script's} {
        both flushall
        both set a of-0
        both eval "#!toy\ncall SE select 3\ncall SE set a 1\ncall E set b 2\ncall SE select 4" 0
        assert_equal of-0 [both get a]
        both select 3
        assert_equal 1 [both get a]
        assert_equal 2 [both get b]
        both select 0
    }

    test {flags say what a script may} {
        foreach flags {{} flags=no-writes flags=allow-oom flags=allow-stale flags=no-cluster
                       flags=no-writes,allow-oom flags=allow-cross-slot-keys} {
            foreach command {{set k v} {get k} {lpop nope} {pfcount k2}} {
                both eval "#!toy $flags\ncall SE! $command" 0
                both eval_ro "#!toy $flags\ncall SE! $command" 0
                both eval "#!toy $flags\ncall E! $command" 0
            }
        }
        both function load "#!toy name=oom\ndef plain\ncall SE! set k v\ndef oom allow-oom\ncall SE! set k v\ndef oomM allow-oom\ncall SEM! set k v\ndef compat compat\ncall SE! set k v\ndef reads no-writes\ncall SE! get k\ndef lies no-writes\ncall SE! set k v"
        both_sorted function list
        both config set maxmemory 1
        foreach function {plain oom oomM compat reads lies} {
            both fcall $function 0
            both fcall_ro $function 0
        }
        both function load "#!toy name=more\ndef more\nsay"
        foreach flags {{} flags=allow-oom flags=no-writes} {
            foreach how {SE SEM E} {
                both eval "#!toy $flags\ncall $how set k v" 0
            }
        }
        both config set maxmemory 0
        foreach function {plain oom oomM compat reads lies} { both fcall_ro $function 0 }
        both function delete oom
    }

    test {errors and refusals are counted} {
        both flushall
        both set text x
        foreach steps {
            "call SE nosuch" "call E nosuch" "call SE incr text" "call E incr text" "call SE incr text\nsay fine" "call E incr text\nsay fine"
            "fail ERR x" "call SE get" "call SE multi" "call SE multi\nsay fine" "call SEW set a b" "call SE set a b"
        } {
            foreach kind {ours valkey} {
                r [at $kind] config resetstat
                catch { r [at $kind] eval "#!toy flags=no-writes\n$steps" 0 }
                set $kind [r [at $kind] info errorstats]
                foreach line [lsort [split [r [at $kind] info commandstats] \r\n]] {
                    if {[regexp {^cmdstat_(?!config|info)(.*)usec=.*(rejected.*)$} $line - calls ends]} { lappend $kind $calls $ends }
                }
            }
            assert_equal $valkey $ours $steps
        }
    }

    test {a script has its caller's rights} {
        foreach kind {ours valkey} {
            r [at $kind] acl setuser alice on nopass ~a* +@all -set
            r [at $kind] acl log reset
            set c [valkey_client [at $kind]]
            $c auth alice x
            set answers($kind) {}
            foreach how {SE SEC EC E S} {
                foreach command {{set a v} {incr n} {incr a2}} {
                    if {$how eq {S} && $command ne {incr a2}} { continue }
                    catch { $c eval "#!toy\ncall $how $command" 0 } answer
                    lappend answers($kind) $answer
                }
            }
            foreach entry [r [at $kind] acl log] {
                lappend answers($kind) [lmap field {count reason context object username} { dict get $entry $field }]
            }
            r [at $kind] acl log reset
            catch { $c eval "return redis.call('engine.call', 'EC', 'set', 'a', 'v')" 0 } answer
            lappend answers($kind) $answer [dict get [lindex [r [at $kind] acl log] 0] context]
            $c close
        }
        assert_equal $answers(valkey) $answers(ours)
        assert_match {*script*} $answers(ours)
    }

    test {functions in a language of a module} {
        both function flush
        assert_equal lib [both function load $toy]
        both function load $toy
        both function load replace $toy
        assert_equal {one k a} [both fcall f1 1 k a]
        assert_equal {k l} [both fcall F2 2 k l m]
        both fcall_ro f1 0
        both fcall_ro f2 0
        both fcall nope 0
        foreach text {
            "#!toy name=l2\ndef F1\nsay" "#!toy name=l2\ndef a\ndef a" "#!toy name=l2\n" "#!toy name=l2\nsay"
            "#!toy name=l2\nbad" "#!toy name=l2\ndef bad-name" "#!nope name=l2\nsay" "#!toy name=l%\ndef a"
            "#!nope name=l%\ndef a" "#!toy nme=l2\ndef a" "#!toy\ndef a" "#!toy name=a name=b\ndef a" "#!toy name=l2"
            "#!toy 'name=l2\ndef a" "#!lua 'name=l2\ndef a"
            "#!toy name=l2\ndef ok\nsay 1\ndef q %\nsay 2\ndef r\nfoo"
        } {
            both function load [subst $text]
        }
        both function load "#!lua name=lua_lib\nserver.register_function('lf', function() return 1 end)"
        both_sorted function list
        both_sorted function list withcode libraryname LIB
        both_sorted function stats
        # A library may change its language.
        both function load replace "#!lua name=lib\nserver.register_function('f1', function() return 'lua' end)"
        assert_equal lua [both fcall f1 0]
        both function load replace $toy
        both function delete lib
        both fcall f1 0
        both_sorted function stats
    }

    test {libraries as a payload} {
        both function flush
        both function load $toy
        foreach kind {ours valkey} { set dump($kind) [r [at $kind] function dump] }
        both function restore $dump(ours)
        both function load "#!lua name=lua_lib\nserver.register_function('lf', function() return 1 end)"
        foreach kind {ours valkey} { set dump($kind) [r [at $kind] function dump] }
        both function restore $dump(valkey) replace
        both_sorted function list withcode
        both function flush
        both function restore $dump(valkey)
        both function restore $dump(ours) flush
        assert_equal {one k a} [both fcall f1 1 k a]
        assert_equal 1 [both fcall lf 0]
        both function flush
        both engine.unregister toy
        both function restore $dump(ours)
        both_sorted function list
        both engine.register TOY
    }

    test {INFO} {
        both script flush sync
        both function flush sync
        foreach kind {ours valkey} { set info($kind) [engine_info $kind] }
        assert_equal $info(valkey) $info(ours)
        both eval "#!toy\nsay 1" 0
        both script load "#!toy\nsay 2"
        both function load $toy
        foreach kind {ours valkey} {
            foreach field {number_of_cached_scripts number_of_functions number_of_libraries} {
                lappend counts($kind) [s [at $kind] $field]
            }
            # Lua's own memory beside those of the engines.
            set memory [r [at $kind] info memory]
            foreach field {vm_eval vm_functions vm_total scripts_eval} { regexp "used_memory_$field:(\\d+)" $memory - $field }
            assert_morethan $vm_eval 4000
            assert_morethan $scripts_eval 0
            assert_equal $vm_total [expr {$vm_eval + $vm_functions}]
        }
        assert_equal {2 2 1} $counts(ours)
        assert_equal $counts(valkey) $counts(ours)
    }

    test {engines are registered and removed} {
        both function load replace $toy
        both script load "#!toy\nsay kept"
        foreach engine {{four 4} {zero 0} {five 5} {toy 4} {Lua 4} {{x y} 4}} { both engine.register {*}$engine }
        both eval "#!x y\nsay" 0
        both eval "#!zero\nsay zero" 0
        both engine.unregister toy
        both engine.unregister toy
        both engine.unregister {x y}
        both engine.unregister zero
        both engine.unregister FOUR
        both engine.unregister nope
        both eval "#!toy\nsay kept" 0
        both fcall f1 0
        both_sorted function list
        foreach kind {ours valkey} { set info($kind) [engine_info $kind] }
        assert_equal $info(valkey) $info(ours)
        foreach {pattern other} {
            "*The scripting engine needs a newer server: the server has ABI version 4, the engine 5"
            "*The engine implementation version is greater than what this server supports*"
            "*A scripting engine 'Lua' is registered already" "*Scripting engine 'Lua' is already registered*"
            "*No scripting engine 'nope' is registered" "*no engine registered with name nope"
            "*The scripting engine 'zero' uses the older ABI version 0" "*Registering scripting engine 'zero' with ABI version '0'"
        } {
            assert_equal 1 [count_log_message $pattern [at ours]] $pattern
            assert_equal 1 [count_log_message $other [at valkey]] $other
        }
        both engine.register TOY
        both eval "#!toy\nsay again" 0
    }

    test {each compiled function is freed once} {
        both engine.register counted
        foreach i {1 2 3} { both eval "#!counted\nsay $i" 0 }
        both function load "#!counted name=c\ndef c1\nsay\ndef c2\nsay"
        both function load replace "#!counted name=c\ndef c1\nsay\ndef c2\nsay"
        both_counted {5 2} counted compiled freed
        both function load "#!counted name=d\ndef d1\nsay\ndef c2\nsay"
        both function load "#!counted name=d\ndef d1\ndef d1"
        both_counted 6 counted freed
        both script flush
        both_counted 9 counted freed
        both function delete c
        both_counted 11 counted freed
        both function load "#!counted name=c\ndef c1\nsay\ndef c2\nsay"
        both engine.unregister counted
        both_counted 13 counted freed
    }
}

# ---- What takes long -------------------------------------------------------------------------------------------

# What other clients get while `args` runs, then its own reply: the same from both.
proc both_while {args others} {
    foreach kind {ours valkey} {
        set heard($kind) {}
        set c [valkey_deferring_client [at $kind]]
        $c {*}$args
        # (BUSY: its threshold is 50 ms.)
        wait_for_condition 100 20 {[catch { r [at $kind] ping } answer]} else { fail "$kind is not busy" }
        lappend heard($kind) $answer
        foreach other $others {
            catch { r [at $kind] {*}$other } answer
            lappend heard($kind) [expr {$other eq {function stats} ? [lsort_deep [regsub {duration_ms \d+} $answer {}]] : $answer}]
        }
        lappend heard($kind) [catch { $c read } answer] $answer
        $c close
    }
    assert_equal $heard(valkey) $heard(ours) $args
    return $heard(ours)
}

beside_modules {engine} {overrides {save {} busy-reply-threshold 50} tags {modules}} {
    test {a script that takes long is killed by its engine} {
        assert_match {*toy: killed*} [both_while {eval "#!toy\nspin 20000" 0} {{get k} {function stats} {function kill} {script kill}}]
        assert_match {*toy: killed*} [both_while {engine.call E! eval "#!toy\nspin 20000" 0} {{script kill}}]
        foreach kind {ours valkey} {
            assert_morethan_equal [count_log_message {*Slow script detected: still in execution after*SCRIPT KILL*} [at $kind]] 2
        }
    }

    test {a function that takes long is killed by its engine} {
        both function load "#!toy name=lib\ndef slow\nspin 20000\nsay not this\ndef fast\nsay x"
        assert_match {*toy: killed*} [both_while {fcall slow 1 k} {{get k} {function stats} {script kill} {module unload engine} {function kill}}]
        assert_equal x [both fcall fast 0]
    }

    test {a function that has written is not killed} {
        assert_match {*UNKILLABLE*UNKILLABLE*spun} [both_while {eval "#!toy\ncall SE! set a b\nspin 600" 0} {{script kill} {function kill}}]
        assert_match {*toy: killed*} [both_while {eval "#!toy\ncall E! set a b\nspin 20000" 0} {{script kill}}]
    }

    test {scripts of a module's engine run in transactions} {
        foreach kind {ours valkey} {
            set c [valkey_deferring_client [at $kind]]
            foreach command {multi {eval "#!toy\nspin 20000" 0} exec} { $c {*}$command }
            wait_for_condition 100 20 {[catch { r [at $kind] ping }]} else { fail "it is not busy" }
            r [at $kind] script kill
            $c read
            $c read
            catch { $c read } $kind
            $c close
        }
        assert_equal $valkey $ours
    }
}

# ---- Files and replicas ----------------------------------------------------------------------------------------

proc engine_file {level} {
    set path [lindex [lsort [glob [lindex [r $level config get dir] 1]/appendonlydir/*.incr.aof]] end]
    return [lsearch -all -inline -not [aof_commands $path] SELECT*]
}

beside_modules {engine} {overrides {save {} appendonly yes appendfsync always aof-use-rdb-preamble no enable-debug-command yes} tags {modules}} {
    test {changes by scripts are propagated as one transaction per script} {
        both function load $toy
        foreach how {SE! SE!A SE!R E! SE S!} {
            both eval "#!toy\ncall $how set k $how" 0
            # (Two that replicas alone shall have leave an empty transaction in our file.)
            if {$how ne {SE!A}} { both eval "#!toy\ncall $how set k 1\ncall $how incr n\ncall $how get k" 0 }
            both eval "#!toy\ncall SE! set k 1\ncall $how incr n\ncall SE! sadd s 1 2\ncall $how spop s 2" 0
        }
        both eval "#!toy\nargv 321 set k raw" 0
        both eval "#!toy\ncall SE! set k 1\nfail ERR half done" 0
        both eval "#!toy\ncall SE! select 2\ncall SE! set k 1" 0
        both fcall f1 1 k a
        both eval "return redis.call('engine.call', 'E!', 'set', 'k', 'lua')" 0
        both engine.call E! eval "#!toy\ncall SE! set a 1\ncall SE! set b 2" 0
        foreach kind {ours valkey} { set $kind [engine_file [at $kind]] }
        assert_equal $valkey $ours
    }

    test {libraries are loaded from files} {
        both function load "#!lua name=lua_lib\nserver.register_function('lf', function() return 1 end)"
        foreach how {{debug reload} {debug loadaof}} {
            both {*}$how
            assert_equal {one k a} [both fcall f1 1 k a]
            assert_equal 1 [both fcall lf 0]
        }
        foreach kind {ours valkey} {
            r [at $kind] bgrewriteaof
            wait_for_condition 100 50 {![s [at $kind] aof_rewrite_in_progress] && ![s [at $kind] aof_rewrite_scheduled]} else { fail "it does not end" }
        }
        both debug loadaof
        assert_equal {one k a} [both fcall f1 1 k a]
        both_sorted function list withcode
    }
}

foreach kind {ours valkey} {
    set loaded [list kind $kind overrides [concat [module_overrides {engine} {}] {save {} repl-diskless-sync-delay 0 repl-diskless-load swapdb}]]
    set bare [list kind $kind overrides {save {} dbfilename bare.rdb}]
    start_servers [list primary $loaded replica $loaded bare $bare] [string map [list KIND [expr {$kind eq {ours} ? {} : ", $kind"}]] {
        test {a replica has the functions of enginesKIND} {
            r [at primary] function load $toy
            r [at replica] function load "#!toy name=other\ndef gone\nsay"
            follow replica primary
            assert_error {READONLY*} { r [at replica] fcall f1 1 k a }
            assert_equal {k a} [r [at replica] fcall_ro f2 2 k a]
            assert_error {ERR Function not found} { r [at replica] fcall gone 0 }
            r [at primary] function load "#!toy name=more\ndef f3\ncall SE! set written by-f3"
            r [at primary] fcall f3 0
            wait_for_offset replica primary
            assert_equal by-f3 [r [at replica] get written]
            assert_error {*READONLY*} { r [at replica] fcall f3 0 }
            assert_error {*READONLY*} { r [at replica] eval "#!toy\ncall SE! set written by-hand" 0 }
            assert_equal by-f3 [r [at replica] eval "#!toy flags=no-writes\ncall SE get written" 0]
            r [at primary] function flush
            wait_for_offset replica primary
            assert_equal {} [r [at replica] function list]
            r [at replica] replicaof no one
            assert_equal OK [r [at replica] eval "#!toy\ncall SE! set written by-hand" 0]
        }

        test {without the engine a dataset with its functions is refusedKIND} {
            r [at primary] function load $toy
            assert_error {ERR Engine 'toy' not found} { r [at bare] function restore [r [at primary] function dump] }
            assert_error {ERR Engine 'toy' not found} { r [at bare] function load $toy }
            # (9.1.2 ends.)
            if {{KIND} ne {}} return
            r [at bare] replicaof [srv [at primary] host] [srv [at primary] port]
            wait_for_condition 100 50 {[count_log_message {Failed creating the library: *Engine 'toy' not found} [at bare]]} else { fail "it says nothing of it" }
            r [at bare] replicaof no one
        }
    }]
}

# ---- Debuggers -------------------------------------------------------------------------------------------------

# A session of both, in which nothing but help differs.
proc both_debug {mode engine script requests} {
    foreach kind {ours valkey} {
        set heard($kind) {}
        set c [valkey_client [at $kind]]
        lappend heard($kind) [$c script debug $mode $engine]
        $c deferred 1
        foreach request [list [list eval $script 0] {*}$requests] {
            $c {*}$request
            lappend heard($kind) [$c read]
        }
        lappend heard($kind) [catch { $c read } answer] $answer [catch { $c read }]
        $c close
    }
    assert_equal $heard(valkey) $heard(ours) $script
    return $heard(ours)
}

beside_modules {{engine toy old:3}} {overrides {save {}} tags {modules}} {
    test {SCRIPT DEBUG works only for engines that have a debugger} {
        foreach words {{yes nope} {yes old} {yes toy} {no toy} {sync TOY} {no} {maybe toy} {maybe nope} {yes toy x} {no nope} {no old}} {
            both script debug {*}$words
        }
        foreach how {1 2} {
            both engine.debugger toy $how
            both script debug yes toy
        }
        both engine.debugger toy 0
        both script debug no
    }

    test {a debugging session of a module's engine} {
        foreach mode {sync yes} {
            set heard [both_debug $mode toy "#!toy\nsay a\ntrace hello you\ntraced that's it\nstop\ntrace more\nstop\nsay the end" {
                maxlen {maxlen 60} {max 5} {maxlen 0} {max} {maxlen a} {maxlen -1} {maxlen 1 2} {m} {ma 5}
                nope {tell} {tell a b c} {te xx} {t yy} {TELL zz} {tel x} {g x} {he} {eval "return 1" 0}
                g {go}
            }]
            assert_equal {{hello you} {<reply> "that's it"} {<reply> [1,"x"]}} [lindex $heard 1]
            assert_equal {<endsession> 0 {the end} 1} [lrange $heard end-3 end]
        }
        both_debug sync toy "#!toy\ntrace [string repeat x 300]\nstop" go
        both_debug sync toy "#!toy\nbad" {}
        both_debug sync toy "#!toy\nfail WHAT it is" {}
        both_debug yes toy {return 1} {}
        both_debug yes lua "#!toy\nsay x" {}
        both_debug yes toy "#!toy\nstop\ncall SE! set written 1\nstop" {go go}
        assert_equal 0 [both exists written]
        both_debug sync toy "#!toy\nstop\ncall SE! set written 1\nstop" {go go}
        assert_equal 1 [both exists written]
        both_counted {5 5} toy started ended ;# those in copies were counted there
        assert_equal [engine_counts ours toy enabled] [engine_counts ours toy disabled]
    }

    test {the help of a session lists its commands} {
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            $c script debug sync toy
            $c eval "#!toy\nstop" 0
            set help [$c help]
            foreach words {{\[h]elp *} {\[max]len *} {\[g]o *Goes on.} {\[te]ll *Tells the engine something.}} {
                assert_morethan_equal [lsearch $help $words] 0 "$words of $kind"
            }
            assert_equal <endsession> [$c go]
            $c close
        }
    }

    test {a client that disconnects ends its session} {
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            $c script debug sync toy
            $c eval "#!toy\nstop\nsay more" 0
            $c close
            assert_equal PONG [r [at $kind] ping]
        }
        # Outside of a session, nothing happens.
        assert_equal {} [r [at ours] eval "#!toy\ntrace x\nstop" 0]
    }
}

# ---- What 9.1.2 does not survive, or does not forbid -----------------------------------------------------------

with_modules {engine} {kinds ours overrides {save {} enable-debug-command yes} tags {modules}} {
    test {an engine without a method or a name is refused} {
        foreach which {1 2 3 4 5 6 7 8} { assert_equal 1 [r engine.register-half half $which] }
        assert_equal 1 [r engine.unregister half]
        assert_error {ERR Could not find scripting engine 'half'} { r eval "#!half\nsay" 0 }
    }

    test {a script that runs is not flushed, nor its engine unloaded} {
        foreach command {{eval "return 1" 0} {script flush} {function flush} {function delete x} {fcall x 0} {debug reload} {function stats}} {
            assert_error "*cannot be called while a script runs" { r eval "#!toy\ncall E $command" 0 }
        }
        assert_equal 1 [r eval "#!toy\ncall E engine.unregister toy" 0]
        assert_equal 0 [r eval "#!toy\ncall E engine.register second" 0]
        assert_error {ERR Error unloading module: operation not possible.} { r eval "#!toy\ncall E module unload engine" 0 }
        assert_equal alive [r eval "#!toy\nsay alive" 0]
        assert_equal 0 [r engine.unregister second]
    }

    test {calls with S and without E return errors too} {
        assert_equal {errno 2} [r eval "#!toy\ncall S nosuch" 0]
        assert_equal {errno 22} [r eval "#!toy\ncall S get" 0]
        assert_equal {errno 29} [r eval "#!toy\ncall S multi" 0]
        assert_equal {errno 28} [r eval "#!toy flags=no-writes\ncall S set a b" 0]
        assert_equal {} [r eval "#!toy\ncall SEK blpop nope 0" 0]
    }

    test {a function that replies nothing, replies null} {
        assert_equal {} [r eval "#!toy\nnothing" 0]
        assert_equal PONG [r ping]
        assert_equal {_} [string trim [r hello 3; wire eval "#!toy\nnothing" 0]]
        r hello 2
    }

    test {a thread that has the lock runs scripts, and others are served while they take long} {
        assert_equal hi [r engine.thread eval "#!toy\nsay hi" 0]
        assert_equal 7 [r engine.thread eval {return 7} 0]
        r config set busy-reply-threshold 50
        foreach script {"#!toy\nspin 20000" {while true do pcall(function() while true do end end) end}} {
            set c [valkey_deferring_client]
            $c engine.thread eval [subst -nocommands -novariables $script] 0
            wait_for_condition 100 20 {[catch { r ping } answer]} else { fail "it is not busy" }
            assert_match {BUSY Valkey is busy running a script*} $answer
            assert_error {BUSY*} { r get k }
            assert_equal OK [r script kill]
            assert_error {*illed*} { $c read }
            $c close
            assert_equal PONG [r ping]
        }
        r config set busy-reply-threshold 5000
    }

    test {Lua can be unloaded, and its scripts with it} {
        set sha [r script load "return 1"]
        r function load "#!lua name=lua_lib\nserver.register_function('lf', function() return 1 end)"
        r function load $toy
        assert_error {ERR Error unloading module: operation not possible.*} { r eval "return redis.call('engine.call', 'E', 'module', 'unload', 'lua')" 0 }
        assert_equal OK [r module unload lua]
        assert_error {NOSCRIPT*} { r evalsha $sha 0 }
        assert_error {ERR Could not find scripting engine 'lua'} { r eval {return 1} 0 }
        assert_error {ERR Engine 'lua' not found} { r function load "#!lua name=x\n" }
        assert_error {ERR Function not found} { r fcall lf 0 }
        assert_error {ERR No scripting engine found with name 'lua' to enable debug} { r script debug yes }
        assert_error {ERR Error unloading module: no such module with that name} { r module unload lua }
        assert_equal engine [lmap m [r module list] { dict get $m name }]
        assert_equal {one k a} [r fcall f1 1 k a]
        r function flush
        r script flush
        assert_equal 0 [r engine.register lua]
        assert_equal {no Lua at all} [r eval "#!lua\nsay no Lua at all" 0]
        assert_error {*toy: what is 'return 1'*} { r eval {return 1} 0 }
    }

    test {unloading a module removes its engines with their scripts and functions} {
        r function load replace $toy
        set sha [r script load "#!toy\nsay kept"]
        assert_equal OK [r module unload engine]
        assert_error {NOSCRIPT*} { r evalsha $sha 0 }
        assert_error {ERR Function not found} { r fcall f1 0 }
        assert_error {ERR Could not find scripting engine 'toy'} { r eval "#!toy\nsay" 0 }
        assert_equal {} [r function list]
        # One that leaves its engines behind.
        r module load [module_so engine] leave TOY
        r function load $toy
        r script load "#!toy\nsay kept"
        r script flush async
        r script load "#!toy\nsay kept"
        assert_equal OK [r module unload engine]
        assert_equal {} [r function list]
        assert_error {NOSCRIPT*} { r evalsha $sha 0 }
        assert_error {ERR Could not find scripting engine 'toy'} { r eval "#!toy\nsay" 0 }
    }

    test {an engine of a module that fails to load is removed} {
        assert_error {ERR Error loading*} { r module load [module_so engine] LUX lux }
        assert_error {ERR Could not find scripting engine 'lux'} { r eval "#!lux\nsay" 0 }
    }
}

# An engine named lua replaces Lua when it is registered first.
with_modules {{engine lua}} {overrides {save {}} tags {modules}} {
    test {an engine of a module named lua} {
        assert_equal {toy talk} [r eval "#!lua\nsay toy talk" 0]
        assert_error {*toy: what is*} { r eval {return 1} 0 }
        assert_equal engine [lmap m [r module list] { dict get $m name }]
        assert_error {ERR Error unloading module: no such module with that name} { r module unload lua }
    }
}

beside_modules {engine} {overrides {save {} cluster-enabled yes} tags {modules}} {
    test {scripts of engines in a cluster} {
        foreach kind {ours valkey} {
            r [at $kind] cluster addslotsrange 0 16383
            wait_for_condition 100 50 {[string match *cluster_state:ok* [r [at $kind] cluster info]]} else { fail "the cluster is not ok" }
        }
        both function load "#!toy name=lib\ndef across\ncall SE! set a 1\ncall SE! set b 2\ndef may cross-slot\ncall SE! set a 1\ncall SE! set b 2\ndef compat compat\ncall SE! set a 1\ncall SE! set b 2\ndef never no-cluster\nsay x"
        foreach how {SE! E! SEC!} {
            foreach flags {flags=allow-cross-slot-keys flags=no-cluster} {
                both eval "#!toy $flags\ncall $how set a 1\ncall $how set b 2" 0
                both eval "#!toy $flags\ncall $how set {a}1 1\ncall $how set {a}2 2" 1 a
            }
            both eval "#!toy\ncall $how set {a}1 1\ncall $how set {a}2 2" 1 a
            both eval "#!toy\ncall $how set a 1\ncall $how set {a}2 2" 0
        }
        foreach function {may compat never} { both fcall $function 0 }
        both eval "#!toy\nsay" 2 a b
        both eval "#!toy\ncall SE! set a 1\ncall SE! set b 2" 0
        # (In 9.1.2 one refused call spoils all that follow it.)
        foreach {script refusal} {
            "call SE! set a 1\ncall SE! mset a 1 b 2" "ERR Attempted to access a non local key in a cluster node"
            "call SE! set {b}1 1" "ERR Script attempted to access keys that do not hash to the same slot"
        } {
            assert_error $refusal { r [at ours] eval "#!toy\n[subst $script]" 1 a }
        }
        assert_error {ERR Script attempted*} { r [at ours] fcall across 0 }
        r [at ours] cluster delslots 15495
        assert_error {*} { r [at ours] eval "#!toy\ncall SE! set a 1" 0 }
    }
}

# ---- At random, and under traffic ------------------------------------------------------------------------------

proc random_engine {} { return [randomElement {toy TOY two lua nope}] }
proc random_library {} {
    set engine [random_engine]
    set functions {}
    for {set i [randomInt 3]} {$i >= 0} {incr i -1} {
        # (9.1.2 does not survive names that differ in case alone.)
        set name [randomElement {f g h bad-name}]
        if {$engine eq {lua}} {
            append functions "server.register_function('$name', function(k, a) return a\[1\] end)\n"
        } else {
            append functions "def $name [randomElement {{} no-writes compat {allow-oom : x}}]\n[random_step]\n"
        }
    }
    return "#!$engine name=[randomElement {a b c}]\n$functions"
}
proc random_step {} {
    return [randomElement {
        {say x $a1} keys args {call SE! incr n} {call SE get n} {call E! append s $a1} {call SEC! del n s} {fail ERR no}
        {say $k1 $k2} {} bad {call SE! lpush n 1} {call SEW incr n} flags
    }]
}
proc random_engine_request {} {
    switch [randomInt 12] {
        0 - 1 - 2 { return [list eval "#![random_engine] [randomElement {{} {} flags=no-writes flags=bad}]\n[random_step]" [randomInt 3] k a] }
        3 { return [list eval_ro "#![random_engine] flags=no-writes\n[random_step]" 1 k a] }
        4 - 5 { return [list fcall [randomElement {f g h F H nope}] [randomInt 3] k a] }
        6 - 7 { return [list function load [random_library]] }
        8 { return [list function load replace [random_library]] }
        9 { return [list function delete [randomElement {a b c d}]] }
        10 { return [randomElement {{script flush} {function flush} {function list} {function stats}
                                    {engine.unregister two} {engine.unregister toy}}] }
        11 { return [randomElement {{engine.register two 2} {engine.register TOY 4}}] }
    }
}

beside_modules {{engine TOY two:2}} {overrides {save {}} tags {modules}} {
    test {random requests} {
        for {set i 0} {$i < 1500} {incr i} {
            set request [random_engine_request]
            if {[lindex $request 0] eq {function} && [lindex $request 1] in {list stats}} {
                both_sorted {*}$request
            } elseif {[string match {*call S? *} $request] && ![string match {*SE*} $request]} {
                continue
            } else {
                foreach kind {ours valkey} {
                    catch { r [at $kind] {*}$request } $kind
                    # Either of several errors may be reported.
                    regsub {Function \w+ already exists$} [set $kind] {Function already exists} $kind
                }
                assert_equal $valkey $ours $request
            }
            # (The module has space for this many.)
            if {$i % 300 == 299} {
                both engine.unregister toy
                both engine.unregister two
                both module unload engine
                foreach kind {ours valkey} { r [at $kind] module load [module_so engine] TOY two:2 }
            }
        }
        both_sorted function list withcode
        both_sorted function stats
        foreach key {n s} { both type $key }
    }
}

foreach threads {1 4} {
    set overrides [list enable-module-command yes io-threads $threads io-threads-always-active yes save {}]
    start_servers [list module [list kind ours overrides $overrides]] [string map [list THREADS $threads] {
        test {engines are loaded and unloaded under traffic, THREADS io-threads} {
            set so [module_so engine]
            r module load $so
            # The queue of a transaction is never run.
            set c [valkey_client]
            $c multi
            $c eval "#!toy\nsay queued" 0
            $c fcall f1 0
            r module unload engine
            assert_match "{ERR Could not find scripting engine 'toy'} {ERR Function not found}" [$c exec]
            $c close
            set clients [lmap i {1 2 3 4} { valkey_deferring_client }]
            for {set round 0} {$round < 60} {incr round} {
                foreach c $clients {
                    $c eval "#!toy\ncall SE! set k $round\ncall SE get k" 0
                    $c function load replace "#!toy name=lib\ndef f1\nsay f1 of $round\n"
                    $c fcall f1 0
                    $c script load "#!toy\nsay $round"
                    $c eval "return 'lua'" 0
                }
                if {$round % 2} { r module unload engine } else { r module load $so }
                if {$round % 5 == 0} { r script flush async; r function flush async }
                foreach c $clients {
                    for {set i 0} {$i < 4} {incr i} { catch { $c read } reply }
                    assert_equal lua [$c read]
                }
            }
            foreach c $clients { $c close }
            assert_equal {} [r function list]
        }
    }]
}
