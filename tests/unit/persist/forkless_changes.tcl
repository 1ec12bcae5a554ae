# Changes of values that are found in another way than by a look-up for writing: each must be saved by a snapshot
# without a fork before it is made. With forkless-always one snapshot follows the other, and the server panics when
# one does not have a key as it was at the start.
start_server {tags {persist}} {
    # Repeats a change, which may use n, during several snapshots, half of which are checked.
    proc change_for {ms script} {
        upvar n n
        r config set forkless-always 20
        for {set n 0; set end [expr {[clock milliseconds] + $ms}]} {[clock milliseconds] < $end} {incr n} {
            uplevel $script
            after 4
        }
        r config set forkless-always 0
        assert_equal PONG [r ping]
    }

    foreach {name setup change} {
        GETSET {r set k 0} {r getset k $n}
        {SET with GET} {r set k 0} {r set k $n get}
        {GETEX with a time} {r set k v ex 1000} {r getex k ex [expr {1000 + $n}]}
        {HGETEX with a time} {r hset h f v} {r hgetex h ex [expr {1000 + $n}] fields 1 f}
        {XACK and XREADGROUP} {r xgroup create s g 0 mkstream} {
            r xadd s [incr n]-1 a b
            after 30
            r xreadgroup group g c count 1 streams s >
            after 30
            r xack s g $n-1
            after 30
        }
        XCLAIM {r xadd s 1-1 a b; r xgroup create s g 0; r xreadgroup group g c streams s >} {
            r xclaim s g c[expr {$n % 2}] 0 1-1 retrycount $n
        }
        XAUTOCLAIM {r xadd s 1-1 a b; r xgroup create s g 0; r xreadgroup group g c streams s >} {
            r xautoclaim s g c[expr {$n % 2}] 0 0
        }
        {SORT with STORE} {r rpush src 1 2 3; r set k 0} {
            r sort src store k limit [expr {$n % 3}] 1
        }
        {a field's expiry} {r hset h stays v} {
            r hsetex h px 10 fields 1 f$n v
            after 30
        }
    } {
        test "forkless: what $name changes, a snapshot that has begun writes as it was" {
            r flushall
            eval $setup
            change_for 400 $change
        }
    }

    test {forkless: the count that PFCOUNT caches does not reach a snapshot that has begun} {
        r flushall
        r pfadd h a
        change_for 900 {
            r pfadd h $n
            after 45
            r pfcount h
            after 45
        }
    }

    test {forkless: a text that GET links to its reply stays as it was while a snapshot runs} {
        r flushall
        set text [string repeat x 100000]
        for {set i 0} {$i < 20} {incr i} { r set k$i $text }
        change_for 300 { assert_equal $text [r get k[expr {$n % 20}]] }
        assert_equal $text [r get k0]
    }

    # The thread may be reading the table's entries, or the main thread be collecting them.
    test {forkless: picks of random members shrink a sparse table when there is no snapshot, and not before} {
        proc slots_of {key} {
            regexp {table size: (\d+)} [r debug htstats-key $key] - slots
            return $slots
        }
        r flushall
        # The child of a fork ends after 20 s by itself: under ThreadSanitizer it gets no signal.
        r debug populate 200
        r config set rdb-key-save-delay 100000
        r eval {for i = 1, 20000 do redis.call('sadd', 'sparse', 'member:' .. i) end} 0
        r bgsave ;# while a fork lives, removals do not shrink tables
        r eval {for i = 101, 20000 do redis.call('srem', 'sparse', 'member:' .. i) end} 0
        r bgsave cancel
        wait_for_condition 100 50 { [s rdb_bgsave_in_progress] == 0 } else { fail "the save does not end" }
        r config set bgsave-default-method forkless
        set slots [slots_of sparse]
        assert_morethan $slots 10000
        r bgsave
        for {set i 0} {$i < 200} {incr i} { r srandmember sparse }
        assert_equal $slots [slots_of sparse]
        r bgsave cancel
        wait_for_condition 100 50 { [s rdb_bgsave_in_progress] == 0 } else { fail "the save does not end" }
        for {set i 0} {$i < 200} {incr i} { r srandmember sparse }
        assert_lessthan [slots_of sparse] 2000
        r config set bgsave-default-method fork rdb-key-save-delay 0
    } {} {needs:debug external:skip}

    test {forkless-always: clients see no save, and a save can start} {
        r set k v
        r config set forkless-always 300
        assert_equal 0 [s rdb_bgsave_in_progress]
        assert_equal none [s rdb_current_bgsave_type]
        assert_match {Background sav*} [r bgsave]
        wait_for_condition 100 50 { [s rdb_bgsave_in_progress] == 0 } else { fail "the save does not end" }
        assert_equal ok [s rdb_last_bgsave_status]
        r config set bgsave-default-method forkless
        assert_match {Background sav*} [r bgsave]
        wait_for_condition 100 50 { [s rdb_bgsave_in_progress] == 0 } else { fail "the save does not end" }
        assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
        r config set forkless-always 0 bgsave-default-method fork
    }
}
