# SCAN: its options, and its guarantee: keys that exist during the whole scan are returned.

# All keys that a scan gives, with repetitions.
proc scan_all {args} {
    set cursor 0
    set keys {}
    while 1 {
        lassign [r scan $cursor {*}$args] cursor some
        lappend keys {*}$some
        if {$cursor == 0} { return $keys }
    }
}

start_server {tags {scan needs:debug}} {
    test {SCAN returns every key} {
        r flushall
        assert_equal {0 {}} [r scan 0]
        foreach count {1 5 50 1000} {
            r debug populate $count
            foreach batch {1 10 5000} {
                assert_equal $count [llength [lsort -unique [scan_all count $batch]]] "$count keys, COUNT $batch"
            }
        }
    }

    test {SCAN MATCH, TYPE and COUNT} {
        r flushall
        r debug populate 100
        for {set i 0} {$i < 10} {incr i} { r zadd z:$i 1 a }
        assert_equal 11 [llength [lsort -unique [scan_all match key:1*]]]
        assert_equal 10 [llength [lsort -unique [scan_all type zset]]]
        assert_equal 10 [llength [lsort -unique [scan_all TYPE ZSET]]]
        assert_equal 1 [llength [lsort -unique [scan_all type zset match *:3 count 3]]]
        assert_equal {} [scan_all type zset match key:*]
        assert_equal {} [scan_all type stream]
        assert_equal {} [scan_all match nosuch]
        assert_range [llength [lindex [r scan 0 count 20] 1]] 20 40
    }

    test {SCAN: bad arguments} {
        foreach cursor {abc {} "0 " -1 0x0 18446744073709551616 "+ 1" ++1 " "} {
            assert_error "ERR invalid cursor" {r scan $cursor} "'$cursor'"
        }
        foreach cursor {" 0" "\n0" +0 " +0" 00 000000000000000000000000} { assert_equal 2 [llength [r scan $cursor]] "'$cursor'" }
        assert_error "ERR value is not an integer or out of range" {r scan 0 count abc}
        foreach bad {{count 0} {count -1} count match type what {what x} {match a b}} {
            assert_error "ERR syntax error" {r scan 0 {*}$bad} $bad
        }
        assert_error "ERR unknown type name 'nosuch'" {r scan 0 type nosuch}
        assert_error "ERR unknown type name ''" {r scan 0 type {}}
        assert_error "ERR unknown type name 'nosuch'" {r scan 0 type string type nosuch count x}
    }

    test {SCAN, HSCAN, SSCAN, ZSCAN: options of another command, and bad cursors} {
        r flushall
        r hset h a 1
        r sadd s a
        r zadd z 1 a
        foreach command {{scan} {sscan s} {zscan z}} {
            assert_error "ERR NOVALUES option can only be used in HSCAN" {r {*}$command 0 novalues} $command
        }
        foreach command {{scan} {sscan s} {hscan h}} {
            assert_error "ERR NOSCORES option can only be used in ZSCAN" {r {*}$command 0 noscores} $command
        }
        assert_equal {0 a} [r hscan h 0 novalues novalues]
        assert_equal {0 a} [r zscan z 0 noscores]
        assert_equal {0 {}} [r hscan h 0 match novalues]
        foreach command {{sscan s} {hscan h} {zscan z}} {
            foreach cursor {{} abc "0 " -1} {
                assert_error "ERR invalid cursor" {r {*}$command $cursor} "$command '$cursor'"
            }
            assert_equal 0 [lindex [r {*}$command " 0"] 0]
        }
        foreach command {sscan hscan zscan} { assert_equal {0 {}} [r $command none 0 novalues] }
    }

    test {SCAN accepts any cursor} {
        foreach cursor {1 12345 281474976710655 281474976710656 18446744073709551615} {
            lassign [r scan $cursor] next
            assert_match {[0-9]*} $next
        }
    }

    test {SCAN leaves out expired keys} {
        r flushall
        r debug set-active-expire 0
        r debug populate 50
        for {set i 0} {$i < 25} {incr i} { r pexpire key:$i 1 }
        after 5
        assert_equal 25 [llength [lsort -unique [scan_all]]]
        r debug set-active-expire 1
    }

    test {SCAN while the table grows} {
        r flushall
        r debug populate 300 old
        set seen {}
        set cursor 0
        set n 0
        while 1 {
            lassign [r scan $cursor count 10] cursor keys
            lappend seen {*}$keys
            if {$n < 5000} { r debug populate [incr n 100] new }
            if {$cursor == 0} break
        }
        assert_equal 300 [llength [lsort -unique [lsearch -all -inline $seen old:*]]]
    }

    test {SCAN while the table shrinks} {
        r flushall
        r debug populate 3000 gone
        r debug populate 300 kept
        set seen {}
        set cursor 0
        set next 0
        while 1 {
            lassign [r scan $cursor count 10] cursor keys
            lappend seen {*}$keys
            for {set i 0} {$i < 100 && $next < 3000} {incr i} { r del gone:$next; incr next }
            if {$cursor == 0} break
        }
        assert_equal 300 [llength [lsort -unique [lsearch -all -inline $seen kept:*]]]
    }

    test {SCAN while keys change their size and expiry} {
        r flushall
        r debug populate 500
        set seen {}
        set cursor 0
        while 1 {
            lassign [r scan $cursor count 7] cursor keys
            lappend seen {*}$keys
            foreach key $keys {
                r append $key [string repeat x [randomInt 100]]
                r expire $key 1000
            }
            if {$cursor == 0} break
        }
        assert_equal 500 [llength [lsort -unique $seen]]
    }
}
