# Lists: clients that wait for elements.
source [file join [file dirname [info script]] list_util.tcl]

start_server {tags {list}} {
    test {every blocking command is served when its list is created} {
        foreach push {lpush rpush} {
            foreach {command reply left} {
                {blpop k 0} {k a} {} {brpop k 0} {k a} {} {blpop none k 0} {k a} {} {brpop none k 10} {k a} {}
                {blmove k to left right 0} a {} {brpoplpush k to 0} a {} {blmpop 0 2 none k right} {k a} {}
            } {
                r del k to
                set d [blocked_client {*}$command]
                r $push k a
                assert_equal $reply [$d read] $command
                assert_equal $left [all k]
                wait_for_blocked 0
                $d close
            }
        }
    }

    test {a push of several elements ends before any client is served} {
        foreach {command reply left} {
            {blpop k 0} {k c} {b a} {brpop k 0} {k a} {c b} {blmpop 0 1 k left count 2} {k {c b}} a
            {blmpop 0 1 k right count 10} {k {a b c}} {} {blmove k k left right 0} c {b a c}
        } {
            r del k
            set d [blocked_client {*}$command]
            assert_equal 3 [r lpush k a b c]
            assert_equal $reply [$d read]
            assert_equal $left [all k]
            $d close
        }
    }

    test {the client that waits longest is served first, each element once} {
        r del k
        set waiters {}
        foreach i {1 2 3 4} { lappend waiters [blocked_client blpop k 0] }
        r rpush k a b
        assert_equal {k a} [[lindex $waiters 0] read]
        assert_equal {k b} [[lindex $waiters 1] read]
        wait_for_blocked 2
        assert_equal 0 [r exists k]
        r rpush k c
        assert_equal {k c} [[lindex $waiters 2] read]
        r rpush k d e
        assert_equal {k d} [[lindex $waiters 3] read]
        assert_equal e [all k]
        foreach d $waiters { $d close }
    }

    test {different commands stand in one queue} {
        r del k to
        set first [blocked_client brpop k 0]
        set second [blocked_client blmove k to left left 0]
        set third [blocked_client blmpop 0 1 k left count 2]
        set fourth [blocked_client blpop k 0]
        r rpush k a b c d e
        assert_equal {k e} [$first read]
        assert_equal a [$second read]
        assert_equal {k {b c}} [$third read]
        assert_equal {k d} [$fourth read]
        assert_equal a [all to]
        assert_equal 0 [r exists k]
        foreach d [list $first $second $third $fourth] { $d close }
    }

    test {a client waits for several keys, and takes from the first that it named} {
        r del a b c
        set d [blocked_client blpop a b c 0]
        r rpush c 1
        assert_equal {c 1} [$d read]
        $d blpop a b c 0
        wait_for_blocked 1
        # Both are there before it runs.
        r eval {redis.call('rpush', 'c', '3'); redis.call('rpush', 'b', '2')} 0
        assert_equal {b 2} [$d read]
        assert_equal 3 [all c]
        assert_equal {c 3} [r blpop a b c 0]
        $d brpop a a a 0
        wait_for_blocked 1
        r rpush a x
        assert_equal {a x} [$d read]
        wait_for_blocked 0
        $d close
    }

    test {a waiting client gets nothing of a list that was created and deleted again} {
        r del k
        set d [blocked_client blpop k 0]
        r eval {redis.call('rpush', 'k', 'gone'); redis.call('del', 'k')} 0
        wait_for_blocked 1
        r eval {redis.call('rpush', 'k', 'gone'); return redis.call('lpop', 'k')} 0
        wait_for_blocked 1
        r eval {redis.call('rpush', 'k', 'a', 'b'); return redis.call('lpop', 'k')} 0
        assert_equal {k b} [$d read]
        $d close
    }

    test {a script never waits} {
        r del k
        assert_equal {} [r eval {return redis.call('blpop', 'k', 0)} 0]
        assert_equal {} [r eval {return redis.call('brpop', 'k', 0)} 0]
        assert_equal {} [r eval {return redis.call('blmove', 'k', 'l', 'left', 'left', 0)} 0]
        assert_equal {} [r eval {return redis.call('brpoplpush', 'k', 'l', 0)} 0]
        assert_equal {} [r eval {return redis.call('blmpop', 0, 1, 'k', 'left')} 0]
        r rpush k a
        assert_equal {k a} [r eval {return redis.call('blpop', 'k', 0)} 0]
    }

    test {a client continues to wait when the key gets another type} {
        r del k
        set d [blocked_client blpop k 0]
        r set k text
        wait_for_blocked 1
        r del k
        r zadd k 1 a
        wait_for_blocked 1
        r del k
        r rpush k a
        assert_equal {k a} [$d read]
        $d close
    }

    test {lists created by RENAME, COPY, LMOVE and others wake clients} {
        r del k other
        set d [blocked_client blpop k 0]
        r rpush other a
        r rename other k
        assert_equal {k a} [$d read]
        $d blpop k 0
        wait_for_blocked 1
        r rpush other b
        r copy other k
        assert_equal {k b} [$d read]
        $d blpop k 0
        wait_for_blocked 1
        r lmove other k left left
        assert_equal {k b} [$d read]
        $d blpop k 0
        wait_for_blocked 1
        assert_equal 0 [r lpushx k x]
        assert_equal 0 [r linsert k before x y]
        wait_for_blocked 1
        r lpush k c
        assert_equal {k c} [$d read]
        $d close
    }

    test {BLMOVE in a chain: each move wakes the next} {
        r del a b c d
        set first [blocked_client blmove a b left right 0]
        set second [blocked_client blmove b c left right 0]
        set third [blocked_client brpoplpush c d 0]
        r rpush a x
        foreach client [list $first $second $third] { assert_equal x [$client read] }
        assert_equal 0 [r exists a b c]
        assert_equal x [all d]
        # Against the order of their arrival.
        r del d
        $third brpoplpush c d 0
        wait_for_blocked 1
        $second blmove b c left right 0
        wait_for_blocked 2
        $first blmove a b left right 0
        wait_for_blocked 3
        r rpush a y
        foreach client [list $first $second $third] { assert_equal y [$client read] }
        assert_equal y [all d]
        foreach client [list $first $second $third] { $client close }
    }

    test {BLMOVE in a ring ends} {
        r del a b
        set first [blocked_client blmove a b left left 0]
        set second [blocked_client blmove b a left left 0]
        r rpush a x
        assert_equal x [$first read]
        assert_equal x [$second read]
        assert_equal x [all a]
        wait_for_blocked 0
        $first blmove c c left right 0
        wait_for_blocked 1
        r rpush c 1 2 3
        assert_equal 1 [$first read]
        assert_equal {2 3 1} [all c]
        $first close
        $second close
    }

    test {BLMOVE to a key of another type fails when it wakes, and takes nothing} {
        r del k s
        set d [blocked_client blmove k s left left 0]
        set e [blocked_client blpop k 0]
        r set s text
        r rpush k a
        assert_error "WRONGTYPE*" { $d read }
        assert_equal {k a} [$e read]
        assert_equal text [r get s]
        # RPOPLPUSH does the same.
        $d brpoplpush k s 0
        wait_for_blocked 1
        r rpush k b
        assert_error "WRONGTYPE*" { $d read }
        assert_equal b [all k]
        $d close
        $e close
    }

    test {a client that pushes and then waits on the same key is served by others} {
        r del k
        set d [blocked_client blpop k 0]
        set out {}
        set pusher [valkey_deferring_client]
        $pusher rpush k 1
        $pusher blpop k 0
        assert_equal {k 1} [$d read]
        assert_equal 1 [$pusher read]
        wait_for_blocked 1
        r rpush k 2
        assert_equal {k 2} [$pusher read]
        $d close
        $pusher close
    }

    test {commands behind a blocking one wait for it} {
        r del k
        set d [valkey_deferring_client]
        $d blpop k 0
        $d ping one
        $d blpop k 0
        $d ping two
        wait_for_blocked 1
        r rpush k a
        assert_equal {k a} [$d read]
        assert_equal one [$d read]
        wait_for_blocked 1
        r rpush k b
        assert_equal {k b} [$d read]
        assert_equal two [$d read]
        $d close
    }

    test {timeouts} {
        r del k
        set start [clock milliseconds]
        assert_equal {} [r blpop k 0.1]
        assert_range [expr {[clock milliseconds] - $start}] 90 2000
        foreach command {{brpop k 0.02} {blmove k l left left 0.02} {brpoplpush k l 0.02} {blmpop 0.02 1 k left}} {
            assert_equal {} [r {*}$command]
        }
        foreach {error timeout} {
            "ERR timeout is not a float or out of range" x "ERR timeout is not a float or out of range" {}
            "ERR timeout is negative" -1 "ERR timeout is negative" -0.5
        } {
            assert_error $error { r blpop k $timeout }
            assert_error $error { r brpop k $timeout }
            assert_error $error { r blmove k l left left $timeout }
            assert_error $error { r brpoplpush k l $timeout }
            assert_error $error { r blmpop $timeout 1 k left }
        }
        # Timeouts are checked even when the command would not wait.
        r rpush k a
        assert_error "ERR timeout*" { r blpop k x }
        assert_error "ERR timeout*" { r blmove k l left left x }
        assert_equal a [all k]
    }

    test {a client that timed out, was unblocked or has disconnected takes nothing} {
        r del k
        set d [valkey_deferring_client]
        $d blpop k 0.05
        assert_equal {} [$d read]
        $d client id
        set id [$d read]
        $d blpop k 0
        wait_for_blocked 1
        assert_equal 1 [r client unblock $id]
        assert_equal {} [$d read]
        $d blpop k 0
        wait_for_blocked 1
        assert_equal 1 [r client unblock $id error]
        assert_error "UNBLOCKED*" { $d read }
        $d blpop k 0
        wait_for_blocked 1
        $d close
        wait_for_blocked 0
        r rpush k a
        assert_equal a [all k]
    }

    test {clients wait in their own database} {
        r del k
        set d [valkey_deferring_client]
        set e [valkey_deferring_client]
        foreach client [list $d $e] {
            $client select 5
            assert_equal OK [$client read]
        }
        $d blpop k 0
        wait_for_blocked 1
        r rpush k a
        assert_equal a [all k]
        wait_for_blocked 1
        $e rpush k b
        assert_equal {k b} [$d read]
        assert_equal a [all k]
        $d close
        $e close
    }

    test {many clients and many elements: nothing is lost or delivered twice} {
        r del k
        set waiters {}
        for {set i 0} {$i < 40} {incr i} {
            set d [valkey_deferring_client]
            $d [expr {$i % 2 ? "blpop" : "brpop"}] k 0
            lappend waiters $d
        }
        wait_for_blocked 40
        for {set i 0} {$i < 10} {incr i} { r rpush k a$i b$i c$i d$i }
        set got {}
        foreach d $waiters {
            lappend got [lindex [$d read] 1]
            $d close
        }
        assert_equal 40 [llength [lsort -unique $got]]
        assert_equal 0 [r exists k]
    }

    foreach limit {-2 2} {
        test "random producers and consumers agree on the sum (limit $limit)" {
            config_set list-max-listpack-size $limit
            r del q done
            set workers {}
            for {set i 0} {$i < 5} {incr i} {
                set d [valkey_deferring_client]
                for {set j 0} {$j < 40} {incr j} { $d blmove q done left right 0 }
                lappend workers $d
            }
            set pushed {}
            for {set i 0} {$i < 200} {} {
                set batch {}
                for {set n [randomRange 1 7]} {$n > 0 && $i < 200} {incr n -1} { lappend batch [incr i] }
                r [randomElement {lpush rpush}] q {*}$batch
            }
            foreach d $workers {
                for {set j 0} {$j < 40} {incr j} { $d read }
                $d close
            }
            assert_equal [numbers 1 200] [lsort -integer [all done]]
            assert_equal 0 [r exists q]
        }
    }
}
