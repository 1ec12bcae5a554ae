# WAITAOF: where what this connection has written is. Nothing is acknowledged that a loss of power would take.

proc ms {script} {
    set started [clock milliseconds]
    uplevel 1 $script
    return [expr {[clock milliseconds] - $started}]
}

start_server {overrides {appendonly no save {}} tags {aof external:skip}} {
    test {without the append-only file WAITAOF replies 0 local} {
        assert_equal {0 0} [r waitaof 0 0 0]
        assert_error "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled." {r waitaof 1 0 0}
        foreach {args error} {
            {2 0 0} "ERR value is out of range, value must between 0 and 1" {-1 0 0} "ERR value is out of range, value*"
            {x 0 0} "ERR value is not an integer or out of range" {0 -1 0} "ERR value is out of range, must be positive"
            {0 0 x} "ERR timeout is not an integer or out of range" {0 0 -1} "ERR timeout is negative"
        } {
            assert_error $error {r waitaof {*}$args} $args
        }
    }
}

start_server {overrides {appendonly yes appendfsync everysec save {}} tags {aof external:skip}} {
    test {appendfsync everysec: WAITAOF waits for the sync, and does not wait for clients that wrote nothing} {
        r set k 0
        r waitaof 1 0 5000
        set waited {}
        foreach i {1 2} {
            r set k $i
            lappend waited [ms { assert_equal {1 0} [r waitaof 1 0 5000] }]
        }
        # One of two writes in a row comes right after the sync for the first, so it waits for most of a second.
        assert_morethan [tcl::mathfunc::max {*}$waited] 300
        assert_lessthan [ms { r waitaof 1 0 5000 }] 300
        r set k 3
        set c [valkey_client]
        assert_equal {1 0} [$c waitaof 1 0 0]
        $c close
    }

    test {replicas are waited for until the time is over} {
        r waitaof 1 0 5000
        assert_morethan_equal [ms { assert_equal {1 0} [r waitaof 0 1 100] }] 99
        assert_equal {1 0} [r waitaof 1 1 1100]
    }

    test {in transactions and scripts WAITAOF replies at once} {
        r waitaof 1 0 5000
        r multi
        r set k 4
        r waitaof 1 0 0
        assert_equal {OK {0 0}} [r exec]
        assert_equal {1 0} [r waitaof 1 0 5000]
        assert_equal {0 0} [r eval {redis.call('set', 'k', 5) return redis.call('waitaof', 1, 0, 0)} 0]
        assert_equal {1 0} [r waitaof 1 0 5000] "what a script wrote is its caller's"
    }

    test {a write without an effect need not be waited for} {
        r waitaof 1 0 5000
        assert_equal 0 [r del nosuch]
        assert_lessthan [ms { assert_equal {1 0} [r waitaof 1 0 5000] }] 300
    }

    test {appendfsync always: at once; no: never} {
        r config set appendfsync always
        r set k 6
        assert_lessthan [ms { assert_equal {1 0} [r waitaof 1 0 5000] }] 900
        r config set appendfsync no
        r set k 7
        assert_morethan_equal [ms { assert_equal {0 0} [r waitaof 1 0 200] }] 199
        r config set appendfsync everysec
        assert_equal {1 0} [r waitaof 1 0 5000]
    }

    test {WAITAOF waits across a rewrite; switching the file off ends it} {
        r config set appendfsync no
        set d [valkey_deferring_client]
        $d set k 8
        $d read
        $d waitaof 1 0 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r config set appendonly no
        assert_error "ERR WAITAOF cannot be used*" {$d read}
        r config set appendfsync everysec
        r config set appendonly yes
        r set k 9
        assert_equal {1 0} [r waitaof 1 0 20000]
        r bgrewriteaof
        r set k 10
        assert_equal {1 0} [r waitaof 1 0 20000]
        $d close
    }

    test {acknowledged writes are there after the server was killed} {
        r set safe yes
        assert_equal {1 0} [r waitaof 1 0 20000]
        restart_server 0 KILL
        assert_equal yes [r get safe]
    }

    test {CONFIG SET appendonly yes, and DEBUG LOADAOF at once} {
        r config set appendonly no
        r set before 1
        r config set appendonly yes
        r set behind 1
        assert_equal OK [r debug loadaof]
        assert_equal {1 1 yes} [r mget before behind safe]
        r bgrewriteaof
        wait_for_condition 500 20 {[s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0} else { fail "no end" }
        assert_equal OK [r debug loadaof]
        assert_equal {1 1 yes} [r mget before behind safe]
    }
}
