# Clients that behave badly, connect in large numbers or send very large requests: none of them may harm the server,
# or delay others for longer than its own command takes. The clients are in clients.py, as Tcl is too slow for many of
# them.

# Runs a scenario of clients.py against the server; what it prints.
proc scenario {name args} {
    r flushall
    set script [file join [file dirname $::test_file] clients.py]
    if {[catch {exec python3 $script $name [srv port] {*}$args 2>@1} said]} { fail $said }
    assert_equal PONG [r ping]
    return $said
}

# The test's own connection is closed while a scenario counts clients, as it does not read then.
proc lonely_scenario {name args} {
    set script [file join [file dirname $::test_file] clients.py]
    r flushall
    r close
    set failed [catch {exec python3 $script $name [srv port] {*}$args 2>@1} said]
    srv_set 0 client [resp::connect [srv host] [srv port]]
    if {$failed} { fail $said }
    assert_equal PONG [r ping]
    return $said
}

start_server {tags {robust external:skip} overrides {maxclients 10100}} {
    test {ten thousand clients at once} {
        lassign [lonely_scenario many 10000] count each
        assert_morethan $count 100
        # An idle client keeps no buffer; sanitizers put more around each allocation.
        if {[string match jemalloc* [s mem_allocator]]} { assert_lessthan $each 2000 }
    }

    test {three thousand clients connect and disconnect at random moments} { lonely_scenario come_and_go 3000 } {}

    test {a request that arrives a byte at a time does not delay others} {
        assert_morethan [scenario drop_by_drop] 100
    }

    test {a client that has closed its writing side still gets replies} { scenario half_closed } {}

    test {connections reset in the middle of requests, replies, waits and transactions} { lonely_scenario resets } {}

    test {CLIENT KILL of oneself in a pipeline} { scenario kill_self } {}

    test {a pipeline of 100,000 commands} { scenario pipeline 100000 } {}

    test {100,000 keys in one command} { scenario many_keys 100000 } {}

    test {names of 1 MB} { scenario big_names } {}

    test {other clients get their replies when KEYS of a million is done} {
        r flushall
        r debug populate 1000000 key 10
        set script [file join [file dirname $::test_file] clients.py]
        assert_equal 1000000 [exec python3 $script waiting [srv port] "KEYS *"]
    }

    test {a value of 512 MB is taken, one byte more is not} { scenario largest_bulk } {} {slow valgrind:skip}
}

start_server {tags {robust external:skip} overrides {client-output-buffer-limit {normal 20mb 0 0 pubsub 10mb 1mb 60}}} {
    foreach {kind limit} {subscriber 10000000 monitor 20000000 normal 20000000} {
        test "a client that does not read ($kind) is closed at the limit" {
            set from [expr {[llength [log_lines]] - 1}]
            set worst [lonely_scenario not_reading $kind]
            if {$kind ne "normal"} { assert_range $worst [expr {$limit / 2}] [expr {$limit * 3}] }
            wait_for_log "scheduled to be closed ASAP for overcoming of output buffer limits" $from
        }
    }

    test {the soft limit closes a client that stays above it for too long} {
        config_set client-output-buffer-limit "pubsub 0 1mb 1"
        set c [valkey_client]
        $c subscribe news
        for {set i 0} {$i < 100} {incr i} { r publish news [string repeat n 100000] }
        wait_for_condition 200 50 {[s connected_clients] == 1} else { fail "the subscriber stays" }
        $c close
    }
}

start_server {tags {robust external:skip} overrides {maxmemory 30mb maxmemory-policy noeviction}} {
    test {writes at maxmemory: an error for each, and nothing is lost} {
        scenario load 1
        # The memory of the load's client buffers is free again: it is filled too.
        assert_error "OOM command not allowed*" { for {set i 0} {$i < 100000} {incr i} { r set one:$i [string repeat x 1000] } }
        set n [r dbsize]
        assert_equal $n [llength [r keys *]]
        assert_lessthan [s used_memory] 40000000
    }

    test {writes at maxmemory with eviction: they go on, and memory stays within the limit} {
        config_set maxmemory-policy allkeys-lru
        assert_morethan [scenario load 1] 1000
        assert_morethan [s evicted_keys] 0
        assert_lessthan [s used_memory] 40000000
        assert_equal OK [r set one more]
    }

    test {a script that never ends: others get BUSY, and it can be killed under load} {
        config_set busy-reply-threshold 50
        set c [valkey_deferring_client]
        $c eval {while true do redis.call('ping') end} 0
        set d [valkey_client]
        wait_for_condition 200 20 {[catch {$d ping} problem] && [string match BUSY* $problem]} else { fail "not busy" }
        set all {}
        for {set i 0} {$i < 200} {incr i} { lappend all [valkey_deferring_client] }
        foreach e $all { $e write [string repeat "PING\r\n" 50] }
        foreach e $all { for {set i 0} {$i < 50} {incr i} { assert_error BUSY* { $e read } } }
        assert_equal OK [$d script kill]
        assert_error "*Script killed by user*" { $c read }
        foreach e $all {
            $e ping
            assert_equal PONG [$e read]
            $e close
        }
        $c close
        $d close
    }

    test {nested MULTI and other wrong commands within a transaction} {
        set c [valkey_deferring_client]
        $c write "MULTI\r\n[string repeat "MULTI\r\nSET a 1\r\nWATCH x\r\nNOSUCH\r\nSET\r\n" 1000]EXEC\r\nEXEC\r\nDISCARD\r\nPING\r\n"
        assert_equal OK [$c read]
        for {set i 0} {$i < 1000} {incr i} {
            assert_error ERR* { $c read }
            assert_equal QUEUED [$c read]
            foreach _ {watch nosuch set} { assert_error ERR* { $c read } }
        }
        assert_error EXECABORT* { $c read }
        assert_error "ERR EXEC without MULTI" { $c read }
        assert_error "ERR DISCARD without MULTI" { $c read }
        assert_equal PONG [$c read]
        $c close
        assert_equal 0 [r exists a]
    }
}

start_server {tags {robust external:skip}} {
    test {SIGTERM under load: the server exits, and acknowledged writes are kept} {
        config_set save "3600 100000000"
        set script [file join [file dirname $::test_file] clients.py]
        set load [open "| python3 $script load [srv port] 60 2>@1"]
        wait_for_condition 500 20 {[r dbsize] > 1000} else { fail "no load" }
        restart_server
        assert_morethan [lindex [read $load] 0] 1000
        close $load
        assert_morethan [r dbsize] 1000
    }
}

start_server {tags {robust external:skip}} {
    test {file descriptors run out: it is logged, and accepting goes on when there are some again} {
        set allowed 60
        set first [lonely_scenario exhaust [srv pid] $allowed]
        assert_range $first 10 $allowed
        assert_morethan [count_log_message "Accepting a connection failed: Too many open files"] 0
        # It rests between two attempts.
        assert_lessthan [count_log_message "Accepting a connection failed: Too many open files"] 600
    }
}

foreach {kind overrides} {{no threads} {io-threads 1} threads {io-threads 2 io-threads-always-active yes}} {
    start_server [list tags {robust external:skip} overrides $overrides] {
        test "$kind: a client that is blocked is not read from beyond a limit" { scenario held_blocked }

        test "$kind: a client that is paused is not read from beyond a limit, before and after its login" {
            config_set requirepass secret
            r auth secret
            scenario held_paused secret
        }
    }
}
