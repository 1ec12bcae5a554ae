# Sorted sets taken apart: pops from either end, waiting for one, random members.
source [file join [file dirname [info script]] zset_util.tcl]

foreach {encoding limit} {listpack 128 large 0} {
    start_server [list overrides [list zset-max-listpack-entries $limit] tags [list zset]] {
        test "ZPOPMIN and ZPOPMAX ($encoding)" {
            fill k {*}$letters
            assert_encoding [zset_encoding $encoding] k
            assert_equal {a 1} [r zpopmin k]
            assert_equal {e 5} [r zpopmax k]
            assert_equal {d 4 c 3} [r zpopmax k 2]
            assert_equal {b 2} [r zpopmin k 10]
            assert_equal 0 [r exists k]
            assert_equal {} [r zpopmin k]
            assert_equal {} [r zpopmax k 3]
        }

        test "ZPOPMIN counts and errors ($encoding)" {
            fill k {*}$letters
            assert_equal {} [r zpopmin k 0]
            assert_equal 5 [r zcard k]
            assert_error "ERR value is out of range, must be positive" { r zpopmin k -1 }
            assert_error "ERR value is out of range, must be positive" { r zpopmax k x }
            assert_error "ERR syntax error" { r zpopmin k 1 2 }
        }

        test "ZMPOP ($encoding)" {
            fill k {*}$letters
            fill l 7 x 8 y
            assert_equal {l {{x 7}}} [r zmpop 2 none l min]
            assert_equal {k {{e 5} {d 4}}} [r zmpop 2 k l max count 2]
            assert_equal {k {{a 1} {b 2} {c 3}}} [r zmpop 1 k min count 100]
            assert_equal 0 [r exists k]
            assert_equal {*-1} [wire zmpop 1 k min]
            assert_equal {l {{y 8}}} [r zmpop 2 k l max]
        }

        test "ZMPOP errors ($encoding)" {
            foreach {error words} {
                "ERR numkeys should be greater than 0" {0 k min} "ERR numkeys should be greater than 0" {x k min}
                "ERR numkeys should be greater than 0" {-1 k min}
                "ERR syntax error" {2 k min} "ERR syntax error" {1 k nosuch} "ERR syntax error" {1 k min count}
                "ERR syntax error" {1 k min nosuch 1} "ERR syntax error" {1 k min count 1 count 1}
                "ERR syntax error" {9223372036854775807 k min} "ERR syntax error" {99999999999 k min}
                "ERR count should be greater than 0" {1 k min count 0}
                "ERR count should be greater than 0" {1 k min count -1}
                "ERR count should be greater than 0" {1 k min count x}
            } {
                assert_error $error { r zmpop {*}$words } $words
                assert_error $error { r bzmpop 0.01 {*}$words } $words
            }
        }

        test "reply shapes of pops in RESP2 and RESP3 ($encoding)" {
            foreach {command two three} {
                {zpopmin k} {*2 $1 a $1 1} {*2 $1 a ,1}
                {zpopmax k 2} {*4 $1 b $3 2.5 $1 a $1 1} {*2 *2 $1 b ,2.5 *2 $1 a ,1}
                {zpopmin k 1} {*2 $1 a $1 1} {*1 *2 $1 a ,1}
                {zpopmin k 0} *0 *0
                {zpopmin none} *0 *0
                {zmpop 1 k min} {*2 $1 k *1 *2 $1 a $1 1} {*2 $1 k *1 *2 $1 a ,1}
                {zmpop 1 none min} *-1 _
                {bzpopmin k 0} {*3 $1 k $1 a $1 1} {*3 $1 k $1 a ,1}
                {bzpopmax none 0.01} *-1 _
                {bzmpop 0 1 k max count 2} {*2 $1 k *2 *2 $1 b $3 2.5 *2 $1 a $1 1} {*2 $1 k *2 *2 $1 b ,2.5 *2 $1 a ,1}
                {bzmpop 0.01 1 none max} *-1 _
            } {
                fill k 1 a 2.5 b
                r hello 2
                assert_equal $two [wire {*}$command] $command
                fill k 1 a 2.5 b
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }

        test "blocking pops take what is there at once ($encoding)" {
            fill k {*}$letters
            fill l 7 x
            assert_equal {k a 1} [r bzpopmin k l 0]
            assert_equal {l x 7} [r bzpopmax none l k 0]
            assert_equal {k {{e 5} {d 4}}} [r bzmpop 0 2 none k max count 2]
            assert_equal {k c 3} [r bzpopmax k 0]
            assert_equal {k b 2} [r bzpopmin k 0]
            assert_equal 0 [r exists k]
        }

        test "blocking pops wait for a sorted set ($encoding)" {
            foreach {command reply} {
                {bzpopmin k l 0} {l a 1} {bzpopmax l 0} {l b 2} {bzmpop 0 2 k l min count 5} {l {{a 1} {b 2}}}
            } {
                r del k l
                set d [valkey_deferring_client]
                $d {*}$command
                wait_for_blocked 1
                r zadd l 1 a 2 b
                assert_equal $reply [$d read]
                wait_for_blocked 0
                $d close
            }
        }

        test "waiting clients are served in order, each element once ($encoding)" {
            r del k
            set first [valkey_deferring_client]
            set second [valkey_deferring_client]
            set third [valkey_deferring_client]
            $first bzpopmin k 0
            wait_for_blocked 1
            $second bzmpop 0 1 k max
            wait_for_blocked 2
            $third bzpopmax k 0
            wait_for_blocked 3
            r zadd k 1 a 2 b
            assert_equal {k a 1} [$first read]
            assert_equal {k {{b 2}}} [$second read]
            wait_for_blocked 1
            assert_equal 0 [r exists k]
            r zincrby k 5 c
            assert_equal {k c 5} [$third read]
            foreach c [list $first $second $third] { $c close }
        }

        test "a client continues to wait when the value has another type, or is deleted ($encoding)" {
            r del k
            set d [valkey_deferring_client]
            $d bzpopmin k 0
            wait_for_blocked 1
            r set k text
            r del k
            wait_for_blocked 1
            r zadd k xx 1 a
            wait_for_blocked 1
            r zadd other 3 x
            r rename other k
            assert_equal {k x 3} [$d read]
            $d bzpopmin k 0
            wait_for_blocked 1
            r zadd other 4 y
            r zunionstore k 1 other
            assert_equal {k y 4} [$d read]
            $d bzpopmin k 0
            wait_for_blocked 1
            r zrangestore k other 0 -1
            assert_equal {k y 4} [$d read]
            $d close
        }

        test "timeouts of blocking pops ($encoding)" {
            r del k
            set start [clock milliseconds]
            assert_equal {} [r bzpopmin k 0.1]
            assert_range [expr {[clock milliseconds] - $start}] 90 1500
            assert_equal {} [r bzmpop 0.05 1 k min]
            foreach {error timeout} {
                "ERR timeout is not a float or out of range" x "ERR timeout is negative" -1
            } {
                assert_error $error { r bzpopmin k $timeout }
                assert_error $error { r bzpopmax k $timeout }
                assert_error $error { r bzmpop $timeout 1 k min }
            }
        }

        test "ZRANDMEMBER without count, and with one ($encoding)" {
            fill k {*}$letters
            assert_equal {} [r zrandmember none]
            assert_equal {} [r zrandmember none 3]
            for {set i 0} {$i < 50} {incr i} {
                assert {[r zrandmember k] in {a b c d e}}
                set got [r zrandmember k 3]
                assert_equal 3 [llength [lsort -unique $got]]
                set got [r zrandmember k -20]
                assert_equal 20 [llength $got]
                foreach m $got { assert {$m in {a b c d e}} }
                foreach {m s} [r zrandmember k -5 withscores] { assert_equal $s [r zscore k $m] }
                foreach {m s} [r zrandmember k 4 withscores] { assert_equal $s [r zscore k $m] }
            }
            assert_equal {a b c d e} [lsort [r zrandmember k 5]]
            assert_equal {a b c d e} [lsort [r zrandmember k 500]]
            assert_equal {} [r zrandmember k 0]
        }

        test "ZRANDMEMBER errors and shapes ($encoding)" {
            fill k 2.5 b
            assert_error "ERR value is not an integer or out of range" { r zrandmember k x }
            assert_error "ERR syntax error" { r zrandmember k 1 nosuch }
            assert_error "ERR syntax error" { r zrandmember k 1 withscores x }
            assert_error "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807" {
                r zrandmember k -9223372036854775808
            }
            assert_error "ERR value is out of range" { r zrandmember k -4611686018427387904 withscores }
            assert_error "ERR value is out of range" { r zrandmember none 4611686018427387904 withscores }
            foreach {command two three} {
                {zrandmember k} {$1 b} {$1 b} {zrandmember none} $-1 _ {zrandmember k 1} {*1 $1 b} {*1 $1 b}
                {zrandmember k 1 withscores} {*2 $1 b $3 2.5} {*1 *2 $1 b ,2.5}
                {zrandmember k -2 withscores} {*4 $1 b $3 2.5 $1 b $3 2.5} {*2 *2 $1 b ,2.5 *2 $1 b ,2.5}
                {zrandmember k 0} *0 *0
            } {
                r hello 2
                assert_equal $two [wire {*}$command] $command
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }

        test "ZRANDMEMBER gives every member the same chance ($encoding)" {
            set pairs {}
            for {set i 0} {$i < 50} {incr i} { lappend pairs $i m$i }
            fill k {*}$pairs
            foreach {count calls} {-2000 5 1 4000 10 1000 40 250 -7 1500} {
                array unset hits
                set total 0
                for {set i 0} {$i < $calls} {incr i} {
                    foreach m [r zrandmember k $count] { incr hits($m); incr total }
                }
                assert_equal 50 [array size hits]
                # Chi square with 49 degrees of freedom: above 120 once in a hundred million runs.
                set chi 0
                set expected [expr {$total / 50.0}]
                foreach {m n} [array get hits] { set chi [expr {$chi + ($n - $expected) ** 2 / $expected}] }
                assert_lessthan $chi 120 "count $count"
            }
        }
    }
}

start_server {tags {zset}} {
    test {a small random part of a large sorted set has no member twice} {
        set pairs {}
        for {set i 0} {$i < 2000} {incr i} { lappend pairs $i m$i }
        fill k {*}$pairs
        foreach count {1 2 10 100 499 500 501 1999 2000 2001} {
            set got [r zrandmember k $count]
            assert_equal [expr {min($count, 2000)}] [llength $got]
            assert_equal [llength $got] [llength [lsort -unique $got]]
        }
        foreach {m s} [r zrandmember k 100 withscores] { assert_equal m$s $m }
    }

    test {pops of many} {
        set pairs {}
        for {set i 0} {$i < 3000} {incr i} { lappend pairs $i m$i }
        fill k {*}$pairs
        assert_equal 2000 [llength [r zpopmin k 1000]]
        assert_equal {m1000 1000} [r zrange k 0 0 withscores]
        assert_equal {m2999 2999 m2998 2998} [r zpopmax k 2]
        assert_equal 1998 [r zcard k]
        assert_equal {} [r zscore k m2999]
        assert_equal 3996 [llength [r zpopmax k 100000]]
        assert_equal 0 [r exists k]
    }
}
