# Clients that wait for keys: order, time-outs, and whatever may happen to them or to the keys meanwhile.
source [file join [file dirname [info script]] server_util.tcl]

proc clients {n} { return [lmap i [lrepeat $n x] { valkey_deferring_client }] }
proc close_all {list} { foreach c $list { $c close } }
proc id_of {c} {
    $c client id
    return [$c read]
}

start_server {tags {external:skip}} {
    test {clients of a key are served in order of arrival} {
        set all [clients 5]
        set n 0
        foreach c $all {
            $c bzpopmin q 0
            wait_for_blocked [incr n]
        }
        assert_equal 1 [s total_blocking_keys]
        r zadd q 1 a 2 b 3 c
        foreach c [lrange $all 0 2] member {a b c} { assert_equal $member [lindex [$c read] 1] }
        assert_equal 2 [s blocked_clients]
        r zadd q 1 d
        assert_equal d [lindex [[lindex $all 3] read] 1]
        r zadd q 1 e
        assert_equal e [lindex [[lindex $all 4] read] 1]
        assert_equal 0 [s blocked_clients]
        assert_equal 0 [s total_blocking_keys]
        assert_equal 0 [r exists q]
        close_all $all
    }

    # CPU time of waking all of n clients that wait for the same group, when one of them gets something.
    proc waking_cost {n} {
        r del s
        r xgroup create s g $ mkstream
        set many {exec "$0" -p $1 -c $2 -n $2 xreadgroup group g c block 0 streams s '>' >/dev/null 2>&1}
        set pid [exec sh -c $many [file dirname $::options(server)]/valkey-benchmark [srv 0 port] $n &]
        wait_for_condition 400 50 {[s blocked_clients] == $n} else { fail "not all of $n clients wait" }
        set before [expr {[s used_cpu_user_main_thread] + [s used_cpu_sys_main_thread]}]
        r xadd s * a b
        assert_equal [expr {$n - 1}] [s blocked_clients]
        set cost [expr {[s used_cpu_user_main_thread] + [s used_cpu_sys_main_thread] - $before}]
        exec kill $pid
        wait_for_blocked 0
        return $cost
    }

    test {waking takes time linear in the number of clients} {
        if {[catch { r config set maxclients 9100 }]} { skip "not so many files may be open" }
        set small [expr {min([waking_cost 1500], [waking_cost 1500]) + 0.0005}]
        assert_lessthan [expr {min([waking_cost 9000], [waking_cost 9000])}] [expr {13 * $small}]
    } {} slow

    test {fair over several keys: the client that waits longest for a key gets it} {
        set all [clients 3]
        lassign $all a b c
        $a bzpopmin k1 k2 0
        wait_for_blocked 1
        $b bzpopmax k2 k3 0
        wait_for_blocked 2
        $c bzmpop 0 2 k3 k1 min
        wait_for_blocked 3
        assert_equal 3 [s total_blocking_keys]
        r zadd k2 1 x
        assert_equal {k2 x 1} [$a read]
        r zadd k1 2 y
        assert_equal {k1 {{y 2}}} [$c read]
        r zadd k3 3 z
        assert_equal {k3 z 3} [$b read]
        assert_equal 0 [s total_blocking_keys]
        close_all $all
    }

    test {the first key of the command's list that has something is taken} {
        set c [valkey_deferring_client]
        $c bzpopmin first second 0
        wait_for_blocked 1
        r eval {redis.call('zadd', 'second', 1, 'b') redis.call('zadd', 'first', 1, 'a')} 0
        assert_equal {first a 1} [$c read]
        assert_equal 1 [r exists second]
        r del second
        $c close
    }

    test {a key that is named twice counts once} {
        set c [valkey_deferring_client]
        $c bzpopmin twice twice 0
        wait_for_blocked 1
        assert_equal 1 [s total_blocking_keys]
        r zadd twice 1 a
        assert_equal {twice a 1} [$c read]
        assert_equal 0 [s total_blocking_keys]
        $c close
    }

    test {time-outs, in their order and on time} {
        set all [clients 3]
        lassign $all a b c
        set begin [clock milliseconds]
        $a bzpopmin none 0.3
        $b bzpopmin none 0.1
        $c bzmpop 0.2 1 none min
        foreach {client after_ms} [list $b 100 $c 200 $a 300] {
            assert_equal {*-1} [$client rawread]
            assert_range [expr {[clock milliseconds] - $begin}] $after_ms [expr {$after_ms + 300}]
        }
        assert_equal 0 [s blocked_clients]
        assert_equal 0 [s total_blocking_keys]
        # An expired timeout must not fire for the next wait.
        $a bzpopmin none 0.1
        r zadd none 1 x
        assert_equal {none x 1} [$a read]
        $a bzpopmin none 0
        after 200
        assert_equal 1 [s blocked_clients]
        r zadd none 2 y
        assert_equal {none y 2} [$a read]
        close_all $all
    }

    test {CLIENT UNBLOCK} {
        set c [valkey_deferring_client]
        set id [id_of $c]
        assert_equal 0 [r client unblock $id]
        assert_equal 0 [r client unblock 123456]
        foreach {how reply} {{} {} timeout {} error "UNBLOCKED client unblocked via CLIENT UNBLOCK"} {
            $c bzpopmin none 0
            wait_for_blocked 1
            assert_equal 1 [r client unblock $id {*}$how]
            assert_equal 0 [s blocked_clients]
            catch { $c read } got
            assert_equal $reply $got
        }
        $c ping
        assert_equal PONG [$c read]
        $c close
    }

    test {a client that disconnects while it is blocked takes nothing} {
        set all [clients 3]
        set n 0
        foreach c $all {
            $c bzpopmin q other 0
            wait_for_blocked [incr n]
        }
        lassign $all a b c
        $a close
        wait_for_blocked 2
        r zadd q 1 x
        assert_equal {q x 1} [$b read]
        $c close
        wait_for_blocked 0
        assert_equal 0 [s total_blocking_keys]
        r zadd q 1 y
        assert_equal 1 [r zcard q]
        r del q
        $b close
    }

    test {a client that is killed while it is blocked takes nothing, even in the turn that would serve it} {
        set a [valkey_deferring_client]
        set b [valkey_deferring_client]
        set id [id_of $a]
        $a bzpopmin q 0
        wait_for_blocked 1
        $b bzpopmin q 0
        wait_for_blocked 2
        r write "CLIENT KILL ID $id\r\nZADD q 1 x\r\n"
        assert_equal 1 [r read]
        assert_equal 1 [r read]
        assert_equal {q x 1} [$b read]
        assert {[is_closed $a]}
        wait_for_blocked 0
        close_all [list $a $b]
    }

    foreach max {16 1 2} {
        test "requests behind a blocking command wait, and run in order (batches of $max)" {
            config_set prefetch-batch-max-size $max
            set c [valkey_deferring_client]
            set text "PING 0\r\n"
            set big [string repeat x 50000]
            foreach i {1 2 3} {
                append text "BZPOPMIN q 0\r\nPING a$i\r\n[resp::encode [list echo $big$i]]PING \"b $i\"\r\n"
                append text "[resp::encode [list echo "bin\r\nary$i"]]PING c$i\r\n"
            }
            # The last is torn, and is completed while the client is blocked.
            append text "[resp::encode [list echo last$big]]"
            set torn [expr {[string length $text] - 30000}]
            $c write [string range $text 0 $torn-1]
            wait_for_blocked 1
            assert_equal 0 [$c read]
            assert_equal 0 [$c pending]
            $c write [string range $text $torn end]
            after 20
            foreach i {1 2 3} {
                wait_for_blocked 1
                assert_equal 0 [$c pending]
                r zadd q $i m$i
                assert_equal "q m$i $i" [$c read]
                assert_equal a$i [$c read]
                assert {[$c read] eq "$big$i"}
                assert_equal "b $i" [$c read]
                assert_equal "bin\r\nary$i" [$c read]
                assert_equal c$i [$c read]
            }
            assert {[$c read] eq "last$big"}
            $c close
            config_set prefetch-batch-max-size 16
        }
    }

    foreach size {100 50000} {
        test "requests that are requeued twice, before half a request of $size bytes" {
            # The first batch ends at the incomplete request; the second runs only a part of the requests that were
            # put back.
            config_set prefetch-batch-max-size 128
            set c [valkey_deferring_client]
            set last [resp::encode [list echo [string repeat x $size]]]
            $c write "BZPOPMIN q 0\r\nBZPOPMIN q 0\r\nPING 1\r\nPING 2\r\nPING 3\r\n[string range $last 0 end-50]"
            wait_for_blocked 1
            config_set prefetch-batch-max-size 2
            r zadd q 1 a
            assert_equal {q a 1} [$c read]
            wait_for_blocked 1
            r zadd q 2 b
            assert_equal {{q b 2} 1 2 3} [lmap i {1 2 3 4} { $c read }]
            $c write [string range $last end-49 end]
            assert_equal $size [string length [$c read]]
            $c close
            config_set prefetch-batch-max-size 16
        }
    }

    test {several clients with pipelines behind are served by one command} {
        set all [clients 20]
        foreach c $all { $c write "BZPOPMIN q 0\r\nINCR served\r\nBZPOPMIN q 0\r\nINCR served\r\n" }
        wait_for_blocked 20
        set members {}
        for {set i 0} {$i < 20} {incr i} { lappend members $i m$i }
        r zadd q {*}$members
        foreach c $all {
            assert_match "q m*" [$c read]
            assert_range [$c read] 1 20
        }
        wait_for_blocked 20
        r zadd q {*}$members
        foreach c $all {
            assert_match "q m*" [$c read]
            assert_range [$c read] 21 40
        }
        assert_equal 40 [r get served]
        close_all $all
        r del served
    }

    test {a protocol error behind a blocking command is sent in order} {
        set c [valkey_deferring_client]
        $c write "BZPOPMIN q 0\r\nPING\r\n*1\r\n!\r\n"
        wait_for_blocked 1
        $c write "SET never 1\r\n"
        after 20
        assert_equal 0 [$c pending]
        r zadd q 1 x
        assert_equal {q x 1} [$c read]
        assert_equal PONG [$c read]
        assert_error "ERR Protocol error: expected*" { $c read }
        assert {[is_closed $c]}
        $c reconnect
        $c write "BZPOPMIN q 0\r\n*1\r\n!\r\n"
        wait_for_blocked 1
        r zadd q 1 x
        assert_equal {q x 1} [$c read]
        assert_error "ERR Protocol error: expected*" { $c read }
        assert {[is_closed $c]}
        assert_equal 0 [r exists never]
        $c close
    }

    test {a client that serves another continues, and can block itself} {
        set a [valkey_deferring_client]
        set b [valkey_deferring_client]
        set took {}
        foreach try {1 2 3 4 5} {
            $a write "BZPOPMIN ping 0\r\nZADD pong 1 x\r\nBZPOPMIN ping 0\r\nZADD pong 2 y\r\n"
            wait_for_blocked 1
            # Each wake-up of one wakes the other in the same turn; nothing else happens that could move the loop.
            set begin [clock milliseconds]
            $b write "ZADD ping 1 x\r\nBZPOPMIN pong 0\r\nZADD ping 1 y\r\nBZPOPMIN pong 0\r\nPING\r\n"
            assert_equal {1 {pong x 1} 1 {pong y 2} PONG} [lmap i {1 2 3 4 5} { $b read }]
            assert_equal {{ping x 1} 1 {ping y 1} 1} [lmap i {1 2 3 4} { $a read }]
            lappend took [expr {[clock milliseconds] - $begin}]
        }
        assert_lessthan [lindex [lsort -integer $took] 0] 50 "the loop slept while somebody could go on: $took ms"
        close_all [list $a $b]
    }

    test {keys are served in the order in which they became ready} {
        set a [valkey_deferring_client]
        set b [valkey_deferring_client]
        $a write "BZPOPMIN k1 0\r\nINCR order\r\n"
        wait_for_blocked 1
        $b write "BZPOPMIN k2 0\r\nINCR order\r\n"
        wait_for_blocked 2
        r eval {redis.call('zadd', 'k2', 1, 'x') redis.call('zadd', 'k1', 1, 'y')} 0
        assert_equal {{k2 x 1} 1} [list [$b read] [$b read]]
        assert_equal {{k1 y 1} 2} [list [$a read] [$a read]]
        r del order
        close_all [list $a $b]
    }

    test {a client is blocked and served within one batch} {
        set c [valkey_deferring_client]
        set busy [valkey_deferring_client]
        for {set i 0} {$i < 10} {incr i} {
            $busy debug sleep 0.05
            after 10
            $c write "BZPOPMIN q 0\r\nPING\r\nBZPOPMIN q 0\r\nPING\r\n"
            after 5
            r zadd q 1 a 2 b
            $busy read
            assert_equal {{q a 1} PONG {q b 2} PONG} [lmap j {1 2 3 4} { $c read }]
        }
        close_all [list $c $busy]
    }

    test {keys created by RENAME, COPY, stores and scripts wake clients} {
        set c [valkey_deferring_client]
        foreach {name script} {
            RENAME { r rename src q }
            RENAMENX { r renamenx src q }
            COPY { r copy src q; r del src }
            ZUNIONSTORE { r zunionstore q 1 src; r del src }
            ZINTERSTORE { r zinterstore q 1 src; r del src }
            ZDIFFSTORE { r zdiffstore q 1 src; r del src }
            ZRANGESTORE { r zrangestore q src 0 -1; r del src }
            EVAL { r eval {redis.call('zadd', KEYS[1], 7, 'm')} 1 q; r del src }
            ZINCRBY { r zincrby q 7 m; r del src }
        } {
            r del src
            r zadd src 7 m
            $c bzpopmin q 0
            wait_for_blocked 1
            eval $script
            wait_for_condition 1000 10 {[s blocked_clients] == 0} else { fail "$name does not wake up" }
            assert_equal {q m 7} [$c read] $name
            assert_equal 0 [r exists q src] $name
        }
        $c close
    }

    test {a value of another type does not wake a client; a later one of the right type does} {
        set c [valkey_deferring_client]
        $c bzpopmin q 0
        wait_for_blocked 1
        r set q text
        r append q more
        assert_equal 1 [s blocked_clients]
        r zadd src 1 a
        # Overwritten by a command that makes a sorted set of it.
        r zunionstore q 1 src
        assert_equal {q a 1} [$c read]
        r set q text
        r zadd src2 2 b
        catch { r bzpopmin q 0.01 } problem
        assert_match "WRONGTYPE*" $problem
        r del q
        $c bzpopmin q 0
        wait_for_blocked 1
        r set q text
        r rename src2 q
        assert_equal {q b 2} [$c read]
        r flushall
        $c close
    }

    test {a key that is deleted again in the same script, by DEL, SET, expiry or pops, wakes no client} {
        set c [valkey_deferring_client]
        $c bzpopmin q 0
        wait_for_blocked 1
        foreach script {
            {redis.call('zadd', 'q', 1, 'a') redis.call('del', 'q')}
            {redis.call('zadd', 'q', 1, 'a') redis.call('set', 'q', 'text')}
            {redis.call('del', 'q') redis.call('zadd', 'q', 1, 'a') redis.call('zpopmin', 'q')}
            {redis.call('zadd', 'q', 1, 'a') redis.call('pexpire', 'q', 0)}
            {redis.call('zadd', 'q', 1, 'a') redis.call('flushall')}
            {redis.call('zadd', 'q', 1, 'a') redis.call('rename', 'q', 'elsewhere')}
        } {
            r eval $script 0
            assert_equal 1 [s blocked_clients] $script
            r del q elsewhere
        }
        r zadd q 1 last
        assert_equal {q last 1} [$c read]
        $c close
    }

    test {a waiting client is served from its own database} {
        set c [valkey_deferring_client]
        $c select 4
        $c read
        $c bzpopmin q 0
        wait_for_blocked 1
        r zadd q 1 wrong
        assert_equal 1 [s blocked_clients]
        r select 4
        r zadd q 1 right
        r select 0
        assert_equal {q right 1} [$c read]
        r del q
        $c close
    }

    test {chains: a client that is served serves the next} {
        # A script per link cannot block, so links are clients with a pipeline behind.
        set all [clients 10]
        set i 0
        foreach c $all {
            $c write "BZPOPMIN chain:$i 0\r\nZADD chain:[incr i] 1 x\r\n"
        }
        wait_for_blocked 10
        set begin [clock milliseconds]
        r zadd chain:0 1 x
        set c [valkey_deferring_client]
        $c bzpopmin chain:10 2
        assert_equal {chain:10 x 1} [$c read]
        assert_lessthan [expr {[clock milliseconds] - $begin}] 400
        close_all [concat $all $c]
        wait_for_blocked 0
    }

    test {scripts do not block} {
        assert_equal {} [r eval {return redis.call('bzpopmin', 'none', 0)} 0]
        r zadd q 1 a
        assert_equal {q a 1} [r eval {return redis.call('bzpopmin', 'q', 0)} 0]
    }

    test {many clients on many keys, randomly} {
        set all [clients 40]
        foreach c $all { set waits($c) 0 }
        set added 0
        set got 0
        for {set round 0} {$round < 400} {incr round} {
            set c [randomElement $all]
            if {!$waits($c) && rand() < 0.6} {
                set keys [lmap i [lrepeat [randomRange 1 4] x] { string cat r: [randomInt 6] }]
                $c [randomElement {bzpopmin bzpopmax}] {*}$keys 0
                set waits($c) 1
            } else {
                r zadd r:[randomInt 6] [randomInt 10] m[incr added]
            }
            foreach c $all {
                if {$waits($c) && rand() < 0.2 && [$c pending]} {
                    assert_match "r:* m*" [$c read]
                    set waits($c) 0
                    incr got
                }
            }
        }
        # Feed those that still wait; nothing may be lost or given twice.
        for {set i 0} {$i < 6} {incr i} {
            while {[s blocked_clients] > 0} {
                r zadd r:$i 1 m[incr added]
                if {[r exists r:$i]} break
            }
        }
        assert_equal 0 [s blocked_clients]
        foreach c $all {
            if {$waits($c)} {
                $c read
                incr got
            }
        }
        set left 0
        for {set i 0} {$i < 6} {incr i} { incr left [r zcard r:$i] }
        assert_equal $added [expr {$got + $left}]
        close_all $all
        r flushall
    }
}
