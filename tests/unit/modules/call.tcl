# Commands that modules run, and what they replicate (tests/modules/call.c), compared with the oracle: replies and
# errno are those of 9.1.2, and so is every byte for files and replicas. Calls that crash 9.1.2 are made on this
# server only.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/../unit/persist/aof_util.tcl

proc both_quietly {args} { foreach kind {ours valkey} { catch { r [at $kind] {*}$args } } }

# ---- What is propagated ----

# A replica that is no more than a socket.
proc call_follower {level} {
    r $level config set repl-diskless-sync-delay 0
    set f [valkey_client $level]
    $f replconf capa eof capa psync2
    $f write "PSYNC ? -1\r\n"
    while {![string match +FULLRESYNC* [$f rawread]]} {}
    while {![regexp {^\$EOF:(.*)$} [$f rawread] - mark]} {}
    set bytes {}
    while {[string range $bytes end-39 end] ne $mark} { append bytes [$f rawread 1] }
    $f deferred 1
    wait_for_condition 100 50 {[call_online $f $level]} else { fail "the stream does not start" }
    return $f
}

proc call_online {f level} {
    $f replconf ack 0
    return [string match *state=online* [r $level info replication]]
}

# The commands of a stream up to its marker; times are shown as <ms>.
proc call_stream {f marker} {
    set commands {}
    while {[set command [$f read]] ne [list publish marker $marker]} {
        if {[string tolower [lindex $command 0]] in {ping replconf select}} { continue }
        lappend commands [regsub -all {\y\d{13}\y} $command <ms>]
    }
    return $commands
}

proc call_file {level} {
    set ::call_dir [r $level config get dir]
    set path [lindex [lsort [glob [lindex $::call_dir 1]/appendonlydir/*.incr.aof]] end]
    set commands {}
    foreach command [aof_commands $path] {
        if {[lindex $command 0] ne {SELECT}} { lappend commands [regsub -all {\y\d{13}\y} $command <ms>] }
    }
    return $commands
}

# {what the file got} {what replicas got}: the same from both.
proc both_propagate {args} {
    foreach kind {ours valkey} {
        set level [at $kind]
        set before [llength [call_file $level]]
        catch { r $level {*}$args }
        set number [incr ::call_marker]
        r $level publish marker $number
        set got($kind) [list [lrange [call_file $level] $before end] [call_stream $::call_follower($kind) $number]]
    }
    assert_equal $got(valkey) $got(ours) $args
    return $got(ours)
}

beside_modules {call} {overrides {appendonly yes appendfsync always}} {
    foreach kind {ours valkey} { set ::call_follower($kind) [call_follower [at $kind]] }

    test "changes by a module's command are propagated only as the module asks" {
        set set {{set a 1}}
        foreach {steps propagated} [list \
            {call - set a 1} {{} {}} {call ! set a 1} [list $set $set] {call A set a 1} {{} {}} \
            {call !A set a 1} [list {} $set] {call !R set a 1} [list $set {}] {call !AR set a 1} {{} {}} \
            {write k v} {{} {}} {call ! get a} {{} {}} {call ! lpush a 1} {{} {}} {call ! nosuch a} {{} {}}] {
            assert_equal $propagated [both_propagate call.steps {*}$steps] $steps
        }
        assert_match {{{call.steps write k v / verbatim}}*} [both_propagate call.steps write k v / verbatim]
    }

    test "several replicated commands are one transaction, in order" {
        set transaction {MULTI {set q 1} {set z 1} {call.steps replicate - set q 1 / call ! set z 1 / verbatim} EXEC}
        assert_equal $transaction [lindex [both_propagate call.steps replicate - set q 1 / call ! set z 1 / verbatim] 0]
        both_propagate call.steps call !A set a 1 / call !R set b 1
        both_propagate call.steps call ! set z 1 / replicate A set q 1 / replicate R set q 2 / replicate - nosuch 1 / replicate - set
        assert_equal nosuch [both lindex failures 0]
        both_propagate call.steps verbatim / call !R set a 1 / replicate ! set b 1
        both_propagate call.steps call ! select 3 / call ! set a 1
        both_propagate call.db 3 set a 1
    }

    test "a call that is not replicated suppresses the propagation of all its effects" {
        assert_equal {{} {}} [both_propagate call.steps call - call.inner call ! set a 1 // replicate - set q 1 // verbatim]
        assert_equal {{} {}} [both_propagate call.steps call - eval "redis.call('set', 'a', 1) return redis.call('incr', 'b')" 0]
        assert_equal {{} {}} [both_propagate call.steps call - publish ch m]
        both_propagate call.steps call ! call.inner call ! set a 1 // replicate - set q 1
        both_propagate call.steps call ! call.inner call - set a 1
        both_propagate call.steps call !A call.inner call ! set a 1 // replicate - set q 1
        both_propagate set behind 1
    }

    test "an expired key that an unreplicated call accesses is deleted everywhere" {
        both debug set-active-expire 0
        both_propagate set gone 1 px 1
        after 5
        assert_equal {{{UNLINK gone}} {{UNLINK gone}}} [both_propagate call.steps call - get gone]
        both_propagate set gone 1 px 1
        after 5
        assert_equal {{{UNLINK gone}} {{UNLINK gone}}} [both_propagate call.steps call - call.inner call - del gone]
        both debug set-active-expire 1
    }

    test "rewritten commands, scripts and messages" {
        both_propagate call.steps call ! sadd s 1
        assert_equal {{{SREM s 1}} {{SREM s 1}}} [both_propagate call.steps call ! spop s]
        both_propagate sadd s 2
        assert_equal {{} {{SREM s 2}}} [both_propagate call.steps call !A spop s]
        both_propagate sadd s 3
        assert_equal {{} {}} [both_propagate call.steps call - spop s]
        both_propagate call.steps call ! set e 1 ex 1000
        both_propagate call.steps call ! publish ch m
        both_propagate call.steps call ! eval "redis.call('set', 'a', 1) return redis.call('incr', 'b')" 0
        both_propagate call.steps call !A eval "redis.call('set', 'a', 1)" 0
        foreach {to propagated} {REPL_AOF {{{SET a 1}} {}} REPL_REPLICA {{} {{SET a 1}}} REPL_NONE {{} {}}} {
            assert_equal $propagated [both_propagate eval "redis.set_repl(redis.$to) redis.call('SET', 'a', '1')" 0]
        }
        both_propagate eval "redis.call('set', 'a', '1') redis.set_repl(redis.REPL_AOF) redis.call('incr', 'n') redis.call('spop', 's')
            redis.set_repl(redis.REPL_REPLICA) redis.call('incr', 'm') redis.set_repl(redis.REPL_ALL) redis.call('set', 'z', '1')" 0
        both_propagate eval "return redis.call('call.steps', 'call', '!', 'set', 'a', '1')" 0
        both_propagate eval "redis.call('set', 'k', 1) return redis.call('call.steps', 'call', '!', 'set', 'a', '1', '/', 'replicate', '-', 'set', 'w', '1')" 0
        both_propagate call.steps call ! flushall
    }

    test "calls within a transaction are propagated in it" {
        foreach kind {ours valkey} {
            set level [at $kind]
            set before [llength [call_file $level]]
            r $level multi
            r $level call.steps call ! set a 1
            r $level call.steps call - set b 1
            r $level set c 1
            r $level call.steps verbatim
            r $level exec
            set got($kind) [lrange [call_file $level] $before end]
        }
        assert_equal $got(valkey) $got(ours)
        assert_equal {MULTI {set a 1} {set c 1} {call.steps verbatim} EXEC} $got(ours)
    }

    test "promises are kept in one unit with what kept them" {
        assert_equal PROMISE [both call.promise p1 !K blpop list 0]
        assert_equal {{rpush list v} MULTI {LPOP list} {RPUSH outcomes p1} EXEC} \
            [lmap command [lindex [both_propagate rpush list v] 0] { lrange $command 0 2 }]
    }

    foreach kind {ours valkey} { $::call_follower($kind) close }
}

# ---- Replies and errors ----

beside_modules {call} {} {
    both set x 1
    both hset h f v
    both rpush lst a

    test "checks come in their order, with their errno and text" {
        foreach request {
            {do - nosuch a} {do E nosuch a} {do E config nosuch} {do E get} {do - get} {do - get x} {do SE subscribe a}
            {do SE call.noscript} {do WE set a b} {do W set a b} {do D set a b} {do D get} {do D nosuch} {do SE eval "return 1" 0}
            {do SE blpop none 0} {do C acl whoami} {do - acl whoami} {do ME set a b} {do SWMCE set a} {do SWE eval 1 0} {raw E3@ get} {raw zget get}
            {raw Czz get} {raw "" ping}
        } { both call.{*}$request }
        both config set maxmemory-policy noeviction
        both config set maxmemory 1000
        foreach request {{ME set a b} {M set a b} {ME get a} {SME lpush a b} {E set a b} {MWE set a b}} { both call.do {*}$request }
        both config set maxmemory 0
    }

    test "commands that need a connection" {
        foreach request {
            {incr lst} {multi} {exec} {watch a} {subscribe ch} {psubscribe ch} {ssubscribe ch} {unsubscribe} {blpop none 0} {monitor} {auth x} {reset} {quit} {hello 3}
            {wait 1 0} {client reply off} {client setname bob} {client getname} {client tracking on} {asking} {readonly} {select 5} {debug sleep 0} {client kill id 0}
        } {
            both call.do - {*}$request
            both call.do - get x
        }
        assert_equal "- 4 {\$-1\r\n}" [both call.do - client getname]
        both call.do K ping
        assert_equal {OK 3} [both call.db 3 select 9]
        both select 0
        assert_equal {1 v a} [list [both get x] [both hget h f] [both lindex lst 0]]
    }

    test "calls on which 9.1.2 crashes" {
        foreach request {sync {psync ? -1} {replconf ack 1} {script debug yes}} {
            assert_match "- 1 {-ERR * is for clients with a connection*}" [r [at ours] call.do - {*}$request]
        }
        assert_match "- 1 {-ERR 'eval' cannot be called while a script runs*}" \
            [r [at ours] eval "return redis.call('call.do', '-', 'eval', 'return 1', '0')" 0]
        assert_match "- 1 {-ERR 'function|flush' cannot be called while a script runs*}" \
            [r [at ours] eval "return redis.call('call.do', '-', 'function', 'flush')" 0]
        assert_equal ESPIPE [r [at ours] call.do S subscribe a]
        assert_equal {1 EINVAL} [r [at ours] call.argv newer 0 incr n]
        assert_error "ERR not passed on" { r [at ours] call.pass 3 call.types }
        # Replies of a module that are none.
        foreach raw [list "*2\r\n:1\r\n" "\$5\r\nabc\r\n" "\$-7" "*9999999999\r\n" "=1\r\na\r\n" "x" "+" "*1\r\n" "%1\r\n+a\r\n" "|1\r\n+a\r\n+b\r\n" \
            [string repeat "*1\r\n" 100000] "*[string repeat 9 30]\r\n"] {
            assert_equal {-1 0} [r [at ours] call.tree - call.replyraw $raw]
            assert_match "raw * {parsing error} {} 0 -" [r [at ours] call.argv all 8 call.replyraw $raw]
        }
    }

    test "replies in all types, in both protocols" {
        foreach how {- X 3 X3 0} {
            both call.tree $how call.types
            foreach request {{get none} {get x} {ping} {hgetall h} {lrange lst 0 -1} {lpop none 3} {config get maxmemory} {incr lst} {zscore none m}} {
                both call.do $how {*}$request
                both call.tree $how {*}$request
                both call.string $how {*}$request
                both call.wrong $how {*}$request
            }
        }
        foreach kind {ours valkey} { r [at $kind] hello 3 }
        foreach how {- 3 0} {
            both call.pass $how hgetall h
            both call.pass $how call.types
        }
        foreach kind {ours valkey} { r [at $kind] hello 2 }
        foreach i {0 1 2 3 7 9 10 12} { both call.pass_element $i - call.types }
    }

    test "arguments of every kind" {
        both call.arguments a b c
        both lrange call.arguments 0 -1
        both call.do ! mset {*}[lmap i [numbers 1 200] { string cat k $i }]
        both mget k1 k199
    }

    test "CallArgv" {
        foreach how {all raw none some} {
            foreach flags {0 8 256 4096 4104 64 320 1024 1280 128 384} {
                foreach request {{get x} {get none} {call.types} {nosuch} {get} {set a b} {lpush x 1} {subscribe c}} {
                    # (9.1.2 ends of a script's call that is refused without a reply.)
                    if {$flags == 64 && [lindex $request 0] in {nosuch get subscribe}} { continue }
                    both call.argv $how $flags {*}$request
                }
            }
        }
    }

    test "errors count when they are passed on" {
        both config resetstat
        both_quietly call.pass - lpush h 1
        both_quietly call.do - lpush h 1
        both_quietly call.do E get
        both_quietly call.pass E get
        both_quietly call.pass - call.types
        both_quietly call.do - call.types
        assert_equal {errorstat_ERR:count=2 errorstat_WRONGTYPE:count=1} [regexp -all -inline {errorstat_\w+:count=\d+} [both info errorstats]]
        foreach kind {ours valkey} {
            set stats($kind) [regsub -all {usec=\d+,usec_per_call=[\d.]+,} [lsort [split [r [at $kind] info commandstats] \r\n]] {}]
        }
        foreach name {lpush get call.pass call.do call.types} {
            assert_equal [lsearch -inline $stats(valkey) cmdstat_$name:*] [lsearch -inline $stats(ours) cmdstat_$name:*]
        }
    }

    test "calls with the rights of a user" {
        both acl setuser u on >x +@all -set ~k* &*
        foreach kind {ours valkey} { r [at $kind] auth u x }
        foreach request {{C get x} {CE get x} {CE set k 1} {CE get k} {- get x} {CE nosuch} {CE publish a b} {C3E acl whoami} {SCE set k 1} {SCE get x}} { both call.do {*}$request }
        foreach script {{redis.call('set','k',1)} {redis.call('get','x')}} { both call.do CE eval "return $script" 0 }
        foreach kind {ours valkey} {
            r [at $kind] auth default ""
            set log($kind) [lmap entry [r [at $kind] acl log] { dict remove $entry age-seconds timestamp-created timestamp-last-updated client-info }]
        }
        assert_equal $log(valkey) $log(ours)
        assert_match {*context module*} $log(ours)
    }

    test "MONITOR, the command log and tracking see calls" {
        foreach kind {ours valkey} {
            set level [at $kind]
            r $level config set slowlog-log-slower-than 0
            r $level slowlog reset
            set m [valkey_client $level]
            $m monitor
            r $level call.do ! set a b
            r $level call.do - get a
            r $level ping end
            set seen($kind) {}
            while {![string match {*"end"*} [set line [$m read]]]} {
                lappend seen($kind) [regsub {^[\d.]+ (\[\d+ \S{0,3})[^\]]*} $line {\1}]
            }
            $m close
            set slow($kind) [lmap entry [r $level slowlog get 10] { lrange $entry 3 3 }]
            r $level config set slowlog-log-slower-than -1
            set t [valkey_client $level]
            $t hello 3
            $t client tracking on
            $t call.read - get a
            regexp {tracking_total_keys:\d+} [r $level info stats] tracked($kind)
            $t close
        }
        assert_equal $seen(valkey) $seen(ours)
        assert_equal $slow(valkey) $slow(ours)
        assert_equal $tracked(valkey) $tracked(ours)
    }
}

# ---- What only roles and files refuse ----

beside_modules {call} {} {
    test "calls with the rules of scripts: too few replicas, a read-only replica" {
        both config set min-replicas-to-write 3
        # (9.1.2 ends of S without E.)
        foreach how {E SE WSE} { both call.read $how set a b }
        both call.read SE get a
        assert_equal ESPIPE [r [at ours] call.read S set a b]
        both config set min-replicas-to-write 0
        both replicaof 127.0.0.1 1
        foreach how {E SE} { foreach request {{set a b} {get a}} { both call.read $how {*}$request } }
        both config set replica-serve-stale-data no
        foreach how {E SE} { foreach request {{get a} {ping} {set a b}} { both call.stale $how {*}$request } }
        both config set replica-serve-stale-data yes
        both replicaof no one
    }
}

# In a cluster of one node. (In 9.1.2 one refused call spoils all later ones: it gets the allowed calls, then one
# refused call.)
beside_modules {call} {overrides {cluster-enabled yes}} {
    proc errnos {how} {
        return [lmap request {{get x} {set x 1} {get a} {mget a x} {ping} {publish a b} {nosuch}} { lindex [r [at ours] call.read $how {*}$request] 0 }]
    }

    test "calls are refused by the rules of a cluster" {
        assert_equal {EPERM EPERM EPERM EPERM - - ENOENT} [errnos -]
        both cluster addslotsrange 8001 16383
        assert_equal {ENETDOWN ENETDOWN ENETDOWN EPERM - - ENOENT} [errnos -]
        r [at ours] config set cluster-allow-reads-when-down yes
        assert_equal {- EROFS - EPERM - - ENOENT} [errnos E]
        both cluster addslotsrange 0 8000
        foreach kind {ours valkey} {
            wait_for_condition 200 50 {[string match *state:ok* [r [at $kind] cluster info]]} else { fail "never ok" }
        }
        foreach how {- !E SE} {
            foreach request {{get x} {set x 1} {get a} {ping} {publish a b} {mget x{a} y{a}}} {
                both call.read $how {*}$request
            }
        }
        both call.read E mget a x
        assert_equal {- - - EPERM - - ENOENT} [errnos SE]
    }
}

# ---- Promises ----

beside_modules {call} {} {
    proc outcomes {} { return [both lrange outcomes 0 -1] }

    test "a promise is kept when the command has ended" {
        assert_equal PROMISE [both call.promise a K blpop l 0]
        assert_equal PROMISE [both call.promise b K blpop l 0.5]
        assert_equal {} [outcomes]
        wait_for_condition 100 50 {[r [at ours] llen outcomes] == 2 && [r [at valkey] llen outcomes] == 2} else { fail "no timeout" }
        assert_equal [list b "*-1\r\n"] [outcomes]
        both rpush l v
        assert_equal [list b "*-1\r\n" a "*2\r\n\$1\r\nl\r\n\$1\r\nv\r\n"] [outcomes]
        both del outcomes
    }

    test "several blocked calls wait in order, also behind clients" {
        foreach name {a b c} { both call.promise $name K3 bzpopmin z 0 }
        both zadd z 1 m 2 n
        both zadd z 3 o
        outcomes
        both del outcomes
        assert_equal 0 [both exists z l]
    }

    test "blocked calls can be aborted" {
        both call.promise a K blpop l 0
        assert_equal 1 [both call.abort a]
        both rpush l v
        assert_equal 1 [both llen l]
        assert_equal {} [outcomes]
        both del l
        both call.promise a K blmove l other left right 0
        both rpush l v
        assert_equal {} [both call.abort a]
        both lrange other 0 -1
        both del l other outcomes
    }

    test "transactions, scripts and calls within calls"  {
        foreach kind {ours valkey} {
            set level [at $kind]
            r $level multi
            r $level call.promise a K blpop l 0
            set got($kind) [r $level exec]
            lappend got($kind) [r $level eval "return redis.call('call.promise', 'a', 'K', 'blpop', 'l', '0')" 0]
        }
        assert_equal $got(valkey) $got(ours)
        both call.do K call.promise inner K blpop l 0
        both call.do - call.promise other K blpop l 0
        both rpush l 1 2 3 4 5 6
        outcomes
        both lrange l 0 -1
        both del l outcomes
    }

    test "blocked calls with CallArgv" {
        assert_equal {blocked {} 0 -} [both call.argv all 2049 blpop l 0]
        both rpush l v
        outcomes
        assert_equal -1 [both call.argvabort]
        both call.argv all 2048 blpop l 0
        assert_equal 0 [both call.argvabort]
        both rpush l w
        assert_equal w [both lindex l 0]
    }
}

# Nothing is left when the module is unloaded.
with_modules {call} {kinds {ours}} {
    test "promises end when their module is unloaded" {
        r call.promise a K blpop l 0
        r call.argv all 2048 blpop l 0
        r module unload call
        r rpush l v
        assert_equal v [r lpop l]
    }
}
