# Several databases: MOVE and SWAPDB, with expiries, hashes with fields that expire, and blocked clients.

start_server {tags {generic external:skip}} {
    proc fresh {} {
        r select 0
        r flushall
    }
    proc in_db {db args} {
        r select $db
        set reply [r {*}$args]
        r select 0
        return $reply
    }

    test {MOVE: value and expiry move too} {
        fresh
        r set a value ex 1000
        r rpush l {*}[lrepeat 200 [string repeat x 100]]
        assert_equal {1 1} [list [r move a 1] [r move l 1]]
        assert_equal {0 2} [list [r dbsize] [in_db 1 dbsize]]
        assert_range [in_db 1 ttl a] 990 1000
        assert_equal {value 200 -1} [list [in_db 1 get a] [in_db 1 llen l] [in_db 1 ttl l]]
        assert_equal {0 1} [list [r exists a] [lindex [split [regexp -inline {db1:.*} [r info keyspace]] =,] 3]]
    }

    test {MOVE: replies 0 when the target exists or the key does not} {
        fresh
        r set a 1
        in_db 1 set a 2
        assert_equal {0 0} [list [r move a 1] [r move nosuch 1]]
        assert_equal {1 2} [list [r get a] [in_db 1 get a]]
        in_db 1 pexpire a 1
        after 10
        assert_equal 1 [r move a 1]
        assert_equal {1 -1} [list [in_db 1 get a] [in_db 1 ttl a]]
    }

    test {MOVE REPLACE: the target is overwritten (9.2 §3)} {
        fresh
        r set a 1 ex 1000
        in_db 1 rpush a x y
        assert_equal 0 [r move a 1]
        assert_equal 1 [r move a 1 Replace]
        assert_equal {0 1} [list [r exists a] [in_db 1 get a]]
        assert_range [in_db 1 ttl a] 990 1000
        r hset a f v
        assert_equal 1 [r move a 1 replace]
        assert_equal {{f v} -1} [list [in_db 1 hgetall a] [in_db 1 ttl a]] "the expiry of the old one is gone"
        assert_equal {0 {f v}} [list [r move a 1 replace] [in_db 1 hgetall a]] "nothing to move"
        r hset b f v
        assert_equal 1 [r move b 1 replace] "nothing to overwrite"
        in_db 1 hpexpire a 100 fields 1 f
        r set a string
        assert_equal 1 [r move a 1 replace]
        after 150
        assert_equal string [in_db 1 get a] "expiring fields of the old one are forgotten"
    }

    test {MOVE REPLACE: errors} {
        fresh
        r set a 1
        in_db 1 set a 2
        foreach words {{a 1 nosuch} {a 1 replace replace} {a 1 {}} {a x nosuch}} { assert_error "ERR syntax error" {r move {*}$words} $words }
        assert_error "ERR source and destination objects are the same" {r move a 0 replace}
        assert_error "ERR DB index is out of range" {r move a 16 replace}
        assert_equal {1 2} [list [r get a] [in_db 1 get a]]
    }

    test {MOVE REPLACE: watches of both keys, and those who wait for either} {
        fresh
        r set a 1
        in_db 1 set a 2
        foreach db {0 1} {
            set w$db [valkey_client]
            [set w$db] select $db
            [set w$db] watch a
        }
        assert_equal 1 [r move a 1 replace]
        foreach w [list $w0 $w1] {
            $w multi
            $w ping
            assert_equal {} [$w exec]
            $w close
        }
        in_db 1 xgroup create s g $ mkstream
        set c [valkey_deferring_client]
        $c select 1
        $c read
        $c xreadgroup group g me block 0 streams s >
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r rpush s x
        assert_equal 1 [r move s 1 replace]
        assert_error "*" {$c read}
        assert_equal 0 [s blocked_clients]
        $c close
    }

    test {MOVE: errors} {
        fresh
        r set a 1
        assert_error "ERR source and destination objects are the same" {r move a 0}
        assert_error "ERR DB index is out of range" {r move a 16}
        assert_error "ERR DB index is out of range" {r move a -1}
        assert_error "ERR value is not an integer or out of range" {r move a x}
        assert_error "ERR wrong number of arguments for 'move' command" {r move a}
        assert_error "ERR syntax error" {r move a 1 2}
    }

    test {MOVE: fields of a moved hash expire in its new database} {
        fresh
        r hset h f v g w
        r hpexpire h 100 fields 1 f
        assert_equal 1 [r move h 5]
        assert_equal v [in_db 5 hget h f]
        wait_for_condition 500 20 {[in_db 5 hlen h] == 1} else { fail "not expired" }
        assert_equal {g w} [in_db 5 hgetall h]
    }

    test {MOVE: serves a client that waits in the target database} {
        fresh
        set c [valkey_deferring_client]
        $c select 2
        $c read
        $c blpop l 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r rpush l a b
        assert_equal 1 [r move l 2]
        assert_equal {l a} [$c read]
        assert_equal b [in_db 2 lpop l]
        $c close
    }

    test {SWAPDB: keys, expiries and watches change their database} {
        fresh
        r set a 0 ex 1000
        r set b 0
        in_db 3 set a 3
        assert_equal OK [r swapdb 0 3]
        assert_equal {3 -1 {}} [list [r get a] [r ttl a] [r get b]]
        assert_equal {0 0 1} [list [in_db 3 get a] [in_db 3 get b] [expr {[in_db 3 ttl a] > 990}]]
        assert_equal OK [r swapdb 3 3]
        assert_equal OK [r swapdb 3 0]
        assert_equal {0 0 3} [list [r get a] [r get b] [in_db 3 get a]]
        r pexpire a 50
        r swapdb 0 9
        wait_for_condition 500 20 {[in_db 9 dbsize] == 1} else { fail "not expired" }
    }

    test {SWAPDB: errors} {
        assert_error "ERR invalid first DB index" {r swapdb x 0}
        assert_error "ERR invalid second DB index" {r swapdb 0 x}
        assert_error "ERR DB index is out of range" {r swapdb 0 16}
        assert_error "ERR DB index is out of range" {r swapdb -1 0}
    }

    test {SWAPDB: fields of hashes expire in their new database} {
        fresh
        r hset h f v g w
        r hpexpire h 100 fields 1 f
        in_db 4 hset other f v g w
        in_db 4 hpexpire other 100 fields 1 f
        r swapdb 0 4
        wait_for_condition 500 20 {[in_db 4 hlen h] == 1 && [r hlen other] == 1} else { fail "not expired" }
        r swapdb 0 4
        assert_equal {1 1} [list [r del h] [in_db 4 del other]]
    }

    test {SWAPDB: clients stay with their database, and are served by keys that come into it} {
        fresh
        set c [valkey_deferring_client]
        set d [valkey_deferring_client]
        $c bzpopmin z 0
        $d select 6
        $d read
        $d blpop l 0
        wait_for_condition 500 20 {[s blocked_clients] == 2} else { fail "not blocked" }
        in_db 6 zadd z 1 m 2 n
        in_db 6 set x 1
        assert_equal 2 [s blocked_clients]
        r rpush l a b
        assert_equal OK [r swapdb 0 6]
        assert_equal {z m 1} [$c read]
        assert_equal {l a} [$d read]
        assert_equal {n b 1} [list [r zrange z 0 -1] [in_db 6 lrange l 0 -1] [r get x]]
        assert_equal 0 [s blocked_clients]
        $c get x
        assert_equal 1 [$c read]
        $c close
        $d close
    }

    test {SWAPDB: a key of another type does not serve a client} {
        fresh
        set c [valkey_deferring_client]
        $c blpop l 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        in_db 6 set l string
        r swapdb 0 6
        assert_equal string [r get l]
        assert_equal 1 [s blocked_clients]
        r del l
        r rpush l a
        assert_equal {l a} [$c read]
        $c close
    }

    test {SWAPDB in the middle of a resize of both} {
        fresh
        r debug populate 5000 k
        in_db 1 debug populate 3001 q
        r swapdb 0 1
        assert_equal {3001 5000} [list [r dbsize] [in_db 1 dbsize]]
        for {set i 0} {$i < 3001} {incr i} { assert_equal 1 [r del q:$i] }
        assert_equal 0 [r dbsize]
        assert_equal value:4999 [in_db 1 get k:4999]
    } {} {needs:debug}

    test {activerehashing and active-expire-effort are directives} {
        assert_equal {yes 1} [list [config_get activerehashing] [config_get active-expire-effort]]
        config_set activerehashing no
        r debug populate 20000 n
        assert_equal 20000 [r dbsize]
        config_set activerehashing yes
        assert_error "ERR CONFIG SET failed*must be between 1 and 10 inclusive" {r config set active-expire-effort 11}
        foreach effort {10 1} {
            fresh
            config_set active-expire-effort $effort
            r eval {for i = 1, 2000 do redis.call('set', i, i, 'px', 50) end} 0
            wait_for_condition 500 20 {[r dbsize] == 0} else { fail "effort $effort: [r dbsize] are left" }
        }
    } {} {needs:debug}
}
