# Sorted sets, member by member: adding, removing, scores, ranks, scanning. Everything runs in both encodings.

source [file join [file dirname [info script]] zset_util.tcl]

foreach {encoding limit} {listpack 128 large 0} {
    start_server [list overrides [list zset-max-listpack-entries $limit] tags [list zset]] {
        test "ZADD adds, updates, and counts what it added ($encoding)" {
            assert_equal 3 [r zadd k 10 a 20 b 30 c]
            assert_encoding [zset_encoding $encoding] k
            assert_type zset k
            assert_equal 1 [r zadd k 5 a 40 d]
            assert_equal {a 5 b 20 c 30 d 40} [r zrange k 0 -1 withscores]
            assert_equal 0 [r zadd k 5 a 50 b]
            assert_equal {a 5 c 30 d 40 b 50} [r zrange k 0 -1 withscores]
            assert_equal 0 [r zadd k 1 a 2 a 3 a]
            assert_equal 3 [r zscore k a]
        }

        test "ZADD CH counts changes as well ($encoding)" {
            fill k 10 a 20 b
            assert_equal 0 [r zadd k ch 10 a 20 b]
            assert_equal 2 [r zadd k ch 10 a 21 b 22 c]
        }

        test "ZADD NX only adds, XX only updates ($encoding)" {
            fill k 10 a
            assert_equal 1 [r zadd k nx 99 a 20 b]
            assert_equal {a 10 b 20} [r zrange k 0 -1 withscores]
            assert_equal 0 [r zadd k xx 11 a 30 c]
            assert_equal {a 11 b 20} [r zrange k 0 -1 withscores]
            assert_equal 1 [r zadd k xx ch 12 a 20 b 30 c]
            r del none
            assert_equal 0 [r zadd none xx 1 a]
            assert_equal 0 [r exists none]
            assert_equal {} [r zadd none xx incr 1 a]
            assert_equal 0 [r exists none]
        }

        test "ZADD GT and LT update in one direction, and add ($encoding)" {
            fill k 10 a 10 b
            assert_equal 2 [r zadd k gt ch 9 a 11 b 1 c]
            assert_equal {c 1 a 10 b 11} [r zrange k 0 -1 withscores]
            assert_equal 1 [r zadd k lt ch 9 a 12 b]
            assert_equal {c 1 a 9 b 11} [r zrange k 0 -1 withscores]
            assert_equal 0 [r zadd k xx gt ch 1 c 5 new]
        }

        test "ZADD INCR replies the score, or null when the options forbid it ($encoding)" {
            r del k
            assert_equal 1.5 [r zadd k incr 1.5 a]
            assert_equal 4 [r zadd k incr 2.5 a]
            assert_equal {} [r zadd k nx incr 1 a]
            assert_equal {} [r zadd k gt incr -1 a]
            assert_equal {} [r zadd k gt incr 0 a]
            assert_equal 3 [r zadd k lt incr -1 a]
            assert_equal {} [r zadd k xx incr 1 b]
            assert_equal 1 [r zadd k gt incr 1 b]
        }

        test "ZADD refuses bad options and scores, and changes nothing ($encoding)" {
            fill k 1 a
            foreach {error words} {
                "ERR syntax error" {1}
                "ERR syntax error" {1 b 2}
                "ERR syntax error" {nosuch 1 b}
                "ERR syntax error" {nx xx 1}
                "ERR XX and NX options at the same time are not compatible" {nx xx 1 b}
                "ERR GT, LT, and/or NX options at the same time are not compatible" {nx gt 1 b}
                "ERR GT, LT, and/or NX options at the same time are not compatible" {lt nx 1 b}
                "ERR GT, LT, and/or NX options at the same time are not compatible" {gt lt 1 b}
                "ERR INCR option supports a single increment-element pair" {incr 1 b 2 c}
                "ERR value is not a valid float" {1 b x c}
                "ERR value is not a valid float" {1 b nan c}
                "ERR value is not a valid float" {1 b 1e400 c}
                "ERR value is not a valid float" {1 b {1 } c}
                "ERR value is not a valid float" {1 b {} c}
            } {
                if {$words eq "1"} { set words {nx 1} }
                assert_error $error { r zadd k {*}$words } $words
            }
            assert_error "ERR wrong number of arguments for 'zadd' command" { r zadd k 1 }
            assert_equal {a 1} [r zrange k 0 -1 withscores]
        }

        test "ZADD takes many pairs at once ($encoding)" {
            set pairs {}
            for {set i 0} {$i < 100} {incr i} { lappend pairs [expr {99 - $i}] m$i }
            assert_equal 100 [fill k {*}$pairs]
            assert_equal {m99 m98 m97} [r zrange k 0 2]
        }

        test "ZINCRBY ($encoding)" {
            r del k
            assert_equal 1 [r zincrby k 1 a]
            assert_equal 3.5 [r zincrby k 2.5 a]
            assert_equal -1 [r zincrby k -4.5 a]
            assert_error "ERR value is not a valid float" { r zincrby k x a }
            assert_error "ERR value is not a valid float" { r zincrby k nan a }
            assert_equal -1 [r zscore k a]
        }

        test "infinite scores work, and do not add up to NaN ($encoding)" {
            fill k inf a -inf b +inf c 0 d infinity e
            assert_equal {b -inf d 0 a inf c inf e inf} [r zrange k 0 -1 withscores]
            assert_error "ERR resulting score is not a number (NaN)" { r zincrby k -inf a }
            assert_error "ERR resulting score is not a number (NaN)" { r zadd k incr inf b }
            assert_equal inf [r zincrby k 5 a]
            assert_equal -inf [r zincrby k -inf d]
        }

        test "scores print in the shortest form that reads back equal ($encoding)" {
            foreach {score text} {
                0.1 0.1 3.0 3 -2.50 -2.5 1e3 1000 16 16 3.141592653589793 3.141592653589793
                0.30000000000000004 0.30000000000000004 1e21 1e+21 12345678901234567 12345678901234568
                1e-7 1e-7 5e-324 5e-324 1.7976931348623157e308 1.7976931348623157e+308
                1e-5 0.00001 1.5e-5 0.000015 1.5e-6 1.5e-6 0.00012345678 1.2345678e-4 0.0012345678 0.0012345678
                1e17 100000000000000000 -1e18 -1000000000000000000 4611686018427387904 4611686018427387904
                5e18 5e+18 1e20 1e+20 123456789012345680000 123456789012345680000
                9223372036854775807 9223372036854776000 1234.5678901234567 1234.5678901234567
                12345.678901234567 1.2345678901234567e+4 12345.678901 12345.678901
            } {
                fill k $score m
                assert_equal $text [r zscore k m]
                assert_equal $text [r zincrby k 0 m]
                assert_equal [list m $text] [r zrange k 0 -1 withscores]
                r hello 3
                assert_equal ,$text [wire zscore k m]
                r hello 2
            }
        }

        test "hex is not a float ($encoding)" {
            fill k 1 m
            foreach hex {0x10 -0x10 0X1p3} {
                assert_error "ERR value is not a valid float" { r zadd k $hex m }
                assert_error "ERR value is not a valid float" { r zincrby k $hex m }
                assert_error "ERR weight value is not a float" { r zunion 1 k weights $hex }
                assert_error "ERR value is not a valid float" { r geoadd k $hex 1 m }
            }
            assert_equal 1 [r zscore k m]
        }

        test "members are any bytes; equal scores are ordered by them ($encoding)" {
            fill k 0 "" 0 "\x00" 0 "\xff\xfe" 0 "a\r\nb" 0 12 0 -7 0 007 0 9223372036854775807
            assert_equal [list "" "\x00" -7 007 12 9223372036854775807 "a\r\nb" "\xff\xfe"] [r zrange k 0 -1]
            assert_equal 0 [r zscore k "\x00"]
            assert_equal 0 [r zscore k ""]
            assert_equal 3 [r zrank k 007]
            assert_equal {} [r zscore k 7]
        }

        test "ZREM removes members, and the key with the last ($encoding)" {
            fill k {*}$letters
            assert_equal 0 [r zrem k x]
            assert_equal 2 [r zrem k a x c a]
            assert_equal {b d e} [r zrange k 0 -1]
            assert_equal 3 [r zrem k b d e f]
            assert_equal 0 [r exists k]
            assert_equal 0 [r zrem k a]
        }

        test "ZCARD, ZSCORE, ZMSCORE ($encoding)" {
            fill k {*}$letters
            assert_equal 5 [r zcard k]
            assert_equal 0 [r zcard none]
            assert_equal 4 [r zscore k d]
            assert_equal {} [r zscore k x]
            assert_equal {} [r zscore none x]
            assert_equal {1 {} 5} [r zmscore k a x e]
            assert_equal {{} {}} [r zmscore none a b]
        }

        test "ZRANK and ZREVRANK ($encoding)" {
            fill k {*}$letters
            foreach {m rank} {a 0 b 1 c 2 d 3 e 4} {
                assert_equal $rank [r zrank k $m]
                assert_equal [expr {4 - $rank}] [r zrevrank k $m]
            }
            assert_equal {} [r zrank k x]
            assert_equal {} [r zrevrank none x]
        }

        test "ZRANK WITHSCORE ($encoding)" {
            fill k {*}$letters
            assert_equal {1 2} [r zrank k b withscore]
            assert_equal {3 2} [r zrevrank k b WITHSCORE]
            assert_equal {*-1} [wire zrank k x withscore]
            assert_equal {*-1} [wire zrank none x withscore]
            assert_error "ERR syntax error" { r zrank k b withscores }
            assert_error "ERR wrong number of arguments for 'zrank' command" { r zrank k b withscore x }
        }

        test "reply shapes in RESP2 and RESP3 ($encoding)" {
            fill k 1 a 2.5 b
            foreach {command two three} {
                {zscore k b} {$3 2.5} ,2.5
                {zscore k x} $-1 _
                {zmscore k a x} {*2 $1 1 $-1} {*2 ,1 _}
                {zadd k incr 0 b} {$3 2.5} ,2.5
                {zadd k nx incr 0 b} $-1 _
                {zincrby k 0 b} {$3 2.5} ,2.5
                {zrank k b} :1 :1
                {zrank k x} $-1 _
                {zrank k b withscore} {*2 :1 $3 2.5} {*2 :1 ,2.5}
                {zrank k x withscore} *-1 _
                {zscan k 0} {*2 $1 0 *4 $1 a $1 1 $1 b $3 2.5} {*2 $1 0 *4 $1 a $1 1 $1 b $3 2.5}
                {zadd k 1 a} :0 :0
            } {
                r hello 2
                set got [wire {*}$command]
                r hello 3
                set got3 [wire {*}$command]
                if {[lindex $command 0] eq "zscan" && $encoding eq "large"} {
                    assert_equal [lsort $two] [lsort $got]
                    assert_equal [lsort $three] [lsort $got3]
                    continue
                }
                assert_equal $two $got $command
                assert_equal $three $got3 $command
            }
            r hello 2
        }

        test "ZSCAN returns everything once ($encoding)" {
            r del k
            set expected {}
            for {set i 0} {$i < 120} {incr i} {
                r zadd k $i m:$i
                lappend expected m:$i $i
            }
            set cursor 0
            set got {}
            while 1 {
                lassign [r zscan k $cursor count 7] cursor elements
                lappend got {*}$elements
                if {$cursor == 0} break
            }
            assert_equal [lsort -stride 2 $expected] [lsort -stride 2 $got]
        }

        test "ZSCAN MATCH and NOSCORES ($encoding)" {
            fill k 1 aa 2 ab 3 bb 4 10
            assert_equal {aa 1 ab 2} [lsort -stride 2 [lindex [r zscan k 0 match a* count 100] 1]]
            assert_equal {10 aa ab bb} [lsort [lindex [r zscan k 0 count 100 noscores] 1]]
            assert_equal {aa ab} [lsort [lindex [r zscan k 0 noscores match a* count 100] 1]]
            assert_equal {0 {}} [r zscan k 0 match x* count 100]
        }

        test "ZSCAN errors ($encoding)" {
            fill k 1 a
            foreach cursor {x 1x 18446744073709551616 {} "1 "} {
                assert_error "ERR invalid cursor" { r zscan k $cursor }
            }
            assert_error "ERR syntax error" { r zscan k 0 count 0 }
            assert_error "ERR syntax error" { r zscan k 0 match }
            assert_error "ERR syntax error" { r zscan k 0 type zset }
            assert_error "ERR value is not an integer or out of range" { r zscan k 0 count x }
            assert_equal {0 {}} [r zscan none 0]
            assert_equal {0 {}} [r zscan none 7]
        }

        test "scans survive changes between the calls ($encoding)" {
            r del k
            for {set i 0} {$i < 60} {incr i} { r zadd k $i stay:$i }
            set cursor 0
            set got {}
            set n 0
            while 1 {
                lassign [r zscan k $cursor count 3 noscores] cursor elements
                lappend got {*}$elements
                for {set i 0} {$i < 20} {incr i} { r zadd k 1 come:[incr n] }
                for {set i 0} {$i < 5} {incr i} { r zrem k come:[randomInt $n] }
                if {$cursor == 0} break
            }
            set found [lsort -unique [lsearch -all -inline $got stay:*]]
            assert_equal 60 [llength $found]
        }

        test "COPY makes an independent sorted set ($encoding)" {
            fill k {*}$letters
            r del other
            assert_equal 1 [r copy k other]
            assert_encoding [zset_encoding $encoding] other
            r zadd other 9 z
            r zrem other a
            assert_equal $letters [lreverse [r zrange k 0 -1 rev withscores]]
            assert_equal {b c d e z} [r zrange other 0 -1]
        }

        test "random changes against a model ($encoding)" {
            r del k
            array unset model
            for {set step 0} {$step < 3000} {incr step} {
                set m [randomElement {a b c d e f 1 2 30 400 long:member:name}][randomInt 8]
                set score [expr {[randomInt 40] / 4.0}]
                switch [randomInt 4] {
                    0 {
                        assert_equal [info exists model($m)] [r zrem k $m]
                        array unset model $m
                    }
                    1 {
                        set was [expr {[info exists model($m)] ? $model($m) : 0}]
                        set model($m) [expr {$was + $score}]
                        assert_equal $model($m) [expr {double([r zincrby k $score $m])}]
                    }
                    default {
                        assert_equal [expr {![info exists model($m)]}] [r zadd k $score $m]
                        set model($m) $score
                    }
                }
                if {$step % 50} continue
                set order {}
                foreach {m score} [array get model] { lappend order [list $score $m] }
                set order [lsort -real -index 0 [lsort -index 1 $order]]
                set expected [lmap pair $order { lindex $pair 1 }]
                assert_equal $expected [r zrange k 0 -1]
                assert_equal [lreverse $expected] [r zrevrange k 0 -1]
                set rank 0
                foreach m $expected {
                    assert_equal $rank [r zrank k $m]
                    incr rank
                    assert_equal $model($m) [expr {double([r zscore k $m])}]
                }
            }
            if {[array size model]} { assert_encoding [zset_encoding $encoding] k }
        }
    }
}

start_server {tags {zset}} {
    test {sorted set commands refuse other types} {
        r set s x
        foreach command {
            {zadd s 1 a} {zadd s xx 1 a} {zincrby s 1 a} {zrem s a} {zcard s} {zscore s a} {zmscore s a} {zrank s a}
            {zrevrank s a} {zrank s a withscore} {zcount s 0 1} {zlexcount s - +} {zrange s 0 1} {zrevrange s 0 1}
            {zrangebyscore s 0 1} {zrevrangebyscore s 1 0} {zrangebylex s - +} {zrevrangebylex s + -}
            {zrangestore d s 0 1} {zremrangebyrank s 0 1} {zremrangebyscore s 0 1} {zremrangebylex s - +}
            {zrandmember s} {zrandmember s 2} {zscan s 0} {zpopmin s} {zpopmax s 2} {zmpop 1 s min}
            {bzpopmin s 0} {bzpopmax s 0} {bzmpop 0 1 s max} {zunion 1 s} {zinter 1 s} {zdiff 1 s}
            {zunionstore d 1 s} {zinterstore d 1 s} {zdiffstore d 1 s} {zintercard 1 s}
        } {
            assert_error "WRONGTYPE Operation against a key holding the wrong kind of value" { r {*}$command } $command
        }
        assert_equal x [r get s]
    }

    test {arguments are checked before the type} {
        r set s x
        assert_error "ERR value is not a valid float" { r zadd s x a }
        assert_error "ERR min or max is not a float" { r zcount s x 1 }
        assert_error "ERR min or max not valid string range item" { r zlexcount s x + }
        assert_error "ERR value is not an integer*" { r zrange s x 1 }
        assert_error "ERR value is not an integer*" { r zremrangebyrank s x 1 }
        assert_error "ERR invalid cursor" { r zscan s x }
    }

    test {a listpack becomes a large set at its limits, and stays one} {
        config_set zset-max-listpack-entries 4
        config_set zset-max-listpack-value 8
        r zadd e 1 a 2 b 3 c 4 d
        assert_encoding listpack e
        r zadd e 5 b
        assert_encoding listpack e
        r zadd e 5 e
        assert_encoding [zset_big_encoding] e
        assert_equal {a 1 c 3 d 4 b 5 e 5} [r zrange e 0 -1 withscores]
        r zrem e a b c
        assert_encoding [zset_big_encoding] e
        r zadd v 1 12345678
        assert_encoding listpack v
        r zadd v 1 123456789
        assert_encoding [zset_big_encoding] v
        assert_equal {12345678 123456789} [r zrange v 0 -1]
        r zadd w 1 123456789
        assert_encoding [zset_big_encoding] w
        r zadd many 1 a 2 b 3 c 4 d 5 e
        assert_encoding [zset_big_encoding] many
        r zincrby x 1 123456789
        assert_encoding [zset_big_encoding] x
    }

    test {growing and converting in one command, from every size} {
        config_set zset-max-listpack-entries 128
        config_set zset-max-listpack-value 64
        set many {}
        for {set i 0} {$i < 140} {incr i} { lappend many $i.5 new:$i }
        for {set n 1} {$n <= 128} {incr n} {
            set pairs {}
            for {set i 0} {$i < $n} {incr i} { lappend pairs $i [string repeat x [expr {$i % 60}]]$i }
            fill k {*}$pairs
            assert_encoding listpack k
            assert_equal 140 [r zadd k {*}$many]
            assert_encoding [zset_big_encoding] k
            assert_equal [expr {$n + 140}] [llength [r zrange k 0 -1]]
        }
    }

    test {the limits have their old names as well} {
        config_set zset-max-ziplist-entries 7
        config_set zset-max-ziplist-value 1kb
        assert_equal 7 [config_get zset-max-listpack-entries]
        assert_equal 1024 [config_get zset-max-listpack-value]
        config_set zset-max-listpack-entries 128
        config_set zset-max-listpack-value 64
        assert_equal 128 [config_get zset-max-ziplist-entries]
        assert_equal 64 [config_get zset-max-ziplist-value]
        assert_error "*argument must be between 0 and 9223372036854775807 inclusive" {
            r config set zset-max-listpack-entries -1
        }
    }

    test {equal sets have equal digests, whatever their encoding} {
        r zadd p 1 a 2.5 b -3 12
        config_set zset-max-listpack-entries 0
        r zadd q -3 12 2.5 b 1 a
        config_set zset-max-listpack-entries 128
        assert_encoding listpack p
        assert_encoding [zset_big_encoding] q
        assert_equal [r debug digest-value p] [r debug digest-value q]
        r zincrby q 1 a
        assert_not_equal [r debug digest-value p] [r debug digest-value q]
    } {} {needs:debug}

    test {a large sorted set: every rank and score} {
        r del big
        set pairs {}
        for {set i 0} {$i < 20000} {incr i} { lappend pairs [expr {($i * 7919) % 20000}] m$i }
        r zadd big {*}$pairs
        assert_equal 20000 [r zcard big]
        foreach i {0 1 17 9999 19998 19999} {
            set score [expr {($i * 7919) % 20000}]
            assert_equal $score [r zrank big m$i]
            assert_equal [expr {19999 - $score}] [r zrevrank big m$i]
            assert_equal m$i [r zrange big $score $score]
        }
        for {set i 0} {$i < 20000} {incr i 2} { lappend gone m$i }
        assert_equal 10000 [r zrem big {*}$gone]
        assert_equal 10000 [r zcard big]
        assert_equal 10000 [llength [r zrange big 0 -1]]
        assert_equal 0 [r zcount big -inf (0]
        r del big
    }
}
