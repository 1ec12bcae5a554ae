# A module's objects are protected from other modules, and freed with it (tests/modules/owners.c, loaded twice),
# compared with the oracle.

source -encoding utf-8 $::support/module.tcl

beside_modules {{owners one} {owners two}} {overrides {save {}}} {
    # The id is each server's own.
    proc each_makes {args} {
        foreach kind {ours valkey} { set ::id($kind) [r [at $kind] {*}$args] }
    }
    proc both_with_id {args} {
        foreach kind {ours valkey} { set answer($kind) [r [at $kind] {*}$args $::id($kind)] }
        assert_equal $answer(valkey) $answer(ours) $args
        return $answer(ours)
    }

    test {another module's timer cannot be stopped} {
        each_makes one.timer create 100000
        assert_equal 1 [both_with_id two.timer stop]
        assert_equal 1 [both_with_id two.timer info]
        assert_equal 0 [both_with_id one.timer info]
        assert_match {*holds timer*} [both module unload one]
        assert_equal 0 [both_with_id one.timer stop]
        assert_equal 1 [both_with_id one.timer stop]
    }

    test {a timer that has been stopped does not fire} {
        each_makes one.timer create 20
        assert_equal 0 [both_with_id one.timer stop]
        each_makes one.timer create 40
        wait_for_condition 100 20 {[r [at ours] one.timer fired] && [r [at valkey] one.timer fired]} else { fail "none fires" }
        assert_equal 1 [both one.timer fired]
    }

    test {another module's filter cannot be removed} {
        each_makes one.filter add
        assert_equal 1 [both_with_id two.filter remove]
        set before [r [at ours] one.filter calls]
        r [at ours] ping
        assert_morethan [r [at ours] one.filter calls] $before
        assert_equal 0 [both_with_id one.filter remove]
        set before [r [at ours] one.filter calls]
        r [at ours] ping
        assert_equal $before [r [at ours] one.filter calls]
    }

    test {another module's commands cannot be changed} {
        assert_equal 1 [both one.command one.timer]
        assert_equal 0 [both one.command two.timer]
        assert_equal 0 [both one.command get]
    }

    test {a module whose functions others use cannot be unloaded before these} {
        both two.shared export
        assert_equal 1 [both one.shared export]
        assert_equal 1 [both one.shared use function]
        assert_equal 0 [both one.shared use nonsense]
        assert_match {*exports APIs used by other modules*} [both module unload two]
        foreach kind {ours valkey} { set $kind [lsort [lsearch -all -inline [split [r [at $kind] info modules] "\r\n"] module:name=*]] }
        foreach name {one two} {
            assert_equal [lsearch -inline $valkey *name=$name,*] [lsearch -inline $ours *name=$name,*]
        }
        both module unload one
        assert_match {*name=two,*usedby=\[\]*} [r [at ours] info modules]
        both module unload two
        foreach name {one two} {
            foreach kind {ours valkey} { assert_equal OK [r [at $kind] module load [module_so owners] $name] }
        }
        assert_equal 0 [both one.shared use function]
    }

    test {unloading a module aborts its blocked calls, and no others} {
        both one.wait list1
        both two.wait list2
        foreach kind {ours valkey} { assert_equal 2 [s [at $kind] total_blocking_keys] }
        # 9.1.2 keeps the calls of an unloaded module, and calls freed code.
        assert_equal OK [r [at ours] module unload one]
        assert_equal 1 [s [at ours] total_blocking_keys]
        r [at ours] rpush list1 x
        r [at ours] rpush list2 x
        assert_equal {1 0 1} [list [r [at ours] llen list1] [r [at ours] llen list2] [r [at ours] two.wait answered]]
        assert_equal OK [r [at ours] module load [module_so owners] one]
    }

    test {a module can kill only its own child} {
        each_makes one.child
        assert_equal 1 [both one.child kill 1]
        foreach kind {ours valkey} {
            assert_equal 1 [r [at $kind] one.child kill [expr {$::id($kind) + 1}]]
            assert_equal 1 [s [at $kind] module_fork_in_progress]
        }
        assert_equal 0 [both_with_id two.child kill]
        foreach kind {ours valkey} { assert_equal 0 [s [at $kind] module_fork_in_progress] }
        assert_equal 1 [both_with_id one.child kill]
    }

    test {only commands can be replicated, and each counts as a change} {
        set before [s [at ours] rdb_changes_since_last_save]
        assert_equal 1 [both one.replicate nonsense]
        assert_equal $before [s [at ours] rdb_changes_since_last_save]
        assert_equal 0 [both one.replicate set]
        assert_equal [expr {$before + 1}] [s [at ours] rdb_changes_since_last_save]
    }

    proc assert_same_memory {level body} {
        uplevel 1 $body ;# what is kept for the next time is there
        set before [s $level used_memory]
        uplevel 1 $body
        assert_lessthan [expr {[s $level used_memory] - $before}] 2000000 "bytes more"
    }

    test {strings are freed with their last reference} {
        assert_same_memory [at ours] { r [at ours] one.strings 2000 }
        assert_equal OK [r [at valkey] one.strings 2]
    }

    test {arguments that a filter has replaced or taken out are freed} {
        each_makes one.filter add
        set large [string repeat y 4096]
        assert_same_memory [at ours] { for {set i 0} {$i < 2000} {incr i} { r [at ours] echo $large } }
        assert_equal [string repeat "\0" 4096] [both echo x]
        both_with_id one.filter remove
        assert_equal x [both echo x]
    }

    test {no function changes a key that is open for reading only} {
        both set s member
        both rpush l member
        both sadd m member
        both zadd z 1 member
        both hset h member 1
        both xadd x 1-1 member 1
        foreach key {s l m z x} { assert_equal 0 [both one.write $key member] $key }
        assert_equal 0 [r [at ours] one.write h member] ;# 9.1.2 lets HashSetStringRef have its way
        assert_equal {member member member {member 1} {member 1} {{1-1 {member 1}}}} [list [both get s] [both lrange l 0 -1] \
            [both smembers m] [both zrange z 0 -1 withscores] [both hgetall h] [both xrange x - +]]
        foreach key {s l m z h x} { assert_equal -1 [both pttl $key] }
        both flushall
    }

    foreach threads {4 1} {
        test "a module cannot take the server's sockets (in 9.1.2 it can), io-threads $threads" {
            r [at ours] config set io-threads $threads
            r [at ours] config set io-threads-always-active [expr {$threads > 1 ? {yes} : {no}}]
            wait_for_condition 50 100 {[s [at ours] io_threads_active] == ($threads > 1)} else { fail "threads" }
            assert_equal 0 [r [at ours] one.sockets]
            assert_equal PONG [r [at ours] ping]
            set c [valkey_client [at ours]]
            assert_equal PONG [$c ping]
            $c close
        }
    }

    test {jobs of an unloaded module are dropped (9.1.2 runs them)} {
        assert_equal 0 [r [at ours] one.jobs add]
        assert_equal OK [r [at ours] module unload one]
        assert_equal 0 [r [at ours] two.jobs]
        assert_equal OK [r [at ours] module load [module_so owners] one]
    }

    test {timers of a module that refused to load are removed (9.1.2 calls freed code)} {
        set before [r [at ours] one.timer fired]
        assert_error {ERR Error loading*} { r [at ours] module load [module_so owners] three refuses }
        r [at ours] one.timer create 20
        wait_for_condition 100 20 {[r [at ours] one.timer fired] > $before} else { fail "none fires" }
        assert_equal [expr {$before + 1}] [r [at ours] one.timer fired]
    }
}
