# Sorted sets combined: union, intersection, difference, stored or replied.
source [file join [file dirname [info script]] zset_util.tcl]

foreach {encoding limit} {listpack 128 large 0} {
    start_server [list overrides [list zset-max-listpack-entries $limit] tags [list zset]] {
        test "ZUNION, ZINTER, ZDIFF ($encoding)" {
            fill p 1 a 2 b 3 c
            fill q 10 b 20 c 30 d
            assert_equal {a 1 b 12 c 23 d 30} [r zunion 2 p q withscores]
            assert_equal {b 12 c 23} [r zinter 2 p q withscores]
            assert_equal {a 1} [r zdiff 2 p q withscores]
            assert_equal {d} [r zdiff 2 q p]
            assert_equal {a b c d} [r zunion 2 p q]
            assert_equal {a 1 b 2 c 3} [r zunion 2 none p withscores]
            assert_equal {} [r zinter 2 p none]
            assert_equal {} [r zinter 2 none p]
            assert_equal {a b c} [r zdiff 2 p none]
            assert_equal {} [r zdiff 2 none p]
            assert_equal {} [r zdiff 2 p p]
            assert_equal {a 2 b 4 c 6} [r zunion 2 p p withscores]
            assert_equal {a 1 b 2 c 3} [r zinter 1 p withscores]
        }

        test "WEIGHTS and AGGREGATE ($encoding)" {
            fill p 1 a 2 b 3 c
            fill q 10 b 20 c 30 d
            foreach {words union inter} {
                {weights 2 3} {a 2 b 34 c 66 d 90} {b 34 c 66}
                {weights 2 0.5} {a 2 b 9 d 15 c 16} {b 9 c 16}
                {aggregate min} {a 1 b 2 c 3 d 30} {b 2 c 3}
                {aggregate max} {a 1 b 10 c 20 d 30} {b 10 c 20}
                {aggregate sum} {a 1 b 12 c 23 d 30} {b 12 c 23}
                {weights 2 -1 aggregate min} {d -30 c -20 b -10 a 2} {c -20 b -10}
                {aggregate max weights 2 -1} {d -30 a 2 b 4 c 6} {b 4 c 6}
                {weights 9 9 weights 1 1} {a 1 b 12 c 23 d 30} {b 12 c 23}
                {aggregate count} {a 1 d 1 b 2 c 2} {b 2 c 2}
                {weights 5 0.5 AGGREGATE COUNT} {d 0.5 a 5 b 5.5 c 5.5} {b 5.5 c 5.5}
                {aggregate count weights -1 1} {a -1 b 0 c 0 d 1} {b 0 c 0}
                {weights inf -inf aggregate count} {d -inf b 0 c 0 a inf} {b 0 c 0}
                {aggregate count aggregate min} {a 1 b 2 c 3 d 30} {b 2 c 3}
                {aggregate min aggregate max} {a 1 b 10 c 20 d 30} {b 10 c 20}
            } {
                assert_equal $union [r zunion 2 p q {*}$words withscores] $words
                assert_equal $inter [r zinter 2 p q {*}$words withscores] $words
                assert_equal [expr {[llength $union] / 2}] [r zunionstore d 2 p q {*}$words]
                assert_equal $union [r zrange d 0 -1 withscores] $words
                assert_equal [expr {[llength $inter] / 2}] [r zinterstore d 2 p q {*}$words]
                assert_equal $inter [r zrange d 0 -1 withscores] $words
            }
        }

        test "infinities never give NaN ($encoding)" {
            fill p inf a -inf b 0 c
            fill q -inf a inf b 0 c
            assert_equal {a 0 b 0 c 0} [r zunion 2 p q withscores]
            assert_equal {a 0 b 0 c 0} [r zinter 2 p q withscores]
            assert_equal {a 0 b 0 c 0} [r zunion 1 p weights 0 withscores]
            assert_equal {b -inf c 0 a inf} [r zunion 1 p weights inf withscores]
            fill q 1 a 2 b 3 c
            fill p 0 a 0 b 0 c
            assert_equal {a 1 b 2 c 3} [r zunion 2 p q weights inf 1 withscores]
            assert_equal {a 0 b 0 c 0} [r zinter 2 q p weights 1 inf withscores]
            assert_equal {a 1 b 2 c 3} [r zinter 2 q p weights 1 inf aggregate min withscores]
            assert_equal {a 1 b 2 c 3} [r zinter 2 q p weights 1 inf aggregate max withscores]
            assert_equal 3 [r zinterstore d 2 q p weights 1 inf aggregate max]
            assert_equal {b 2 a 1} [r zrevrangebyscore d +inf -inf withscores limit 1 2]
            fill p inf a -inf b 0 c
            assert_equal {a 3 b 3 c 3} [r zunion 2 p q weights 2 1 aggregate count withscores]
            assert_equal {a 3 b 3 c 3} [r zinter 2 p q weights 2 1 aggregate count withscores]
        }

        test "STORE forms replace and delete ($encoding)" {
            fill p 1 a 2 b 3 c
            fill q 10 b
            r set d text
            assert_equal 3 [r zunionstore d 2 p q]
            assert_type zset d
            assert_encoding [zset_encoding $encoding] d
            assert_equal {a 1 c 3 b 12} [r zrange d 0 -1 withscores]
            assert_equal 2 [r zdiffstore d 2 p q]
            assert_equal {a 1 c 3} [r zrange d 0 -1 withscores]
            assert_equal 1 [r zinterstore d 2 p q]
            assert_equal {b 12} [r zrange d 0 -1 withscores]
            assert_equal 0 [r zinterstore d 2 p none]
            assert_equal 0 [r exists d]
            assert_equal 0 [r zdiffstore d 1 none]
            assert_equal 3 [r zunionstore p 2 p q]
            assert_equal {a 1 c 3 b 12} [r zrange p 0 -1 withscores]
            r expire p 1000
            r zunionstore p 1 p
            assert_equal -1 [r ttl p]
        }

        test "a result is a set of its own ($encoding)" {
            fill p 1 12345 2 b 3 -7
            r zunionstore d 1 p
            r zincrby d 5 12345
            r zrem d -7
            assert_equal {12345 1 b 2 -7 3} [r zrange p 0 -1 withscores]
            assert_equal {b 2 12345 6} [r zrange d 0 -1 withscores]
        }

        test "ZINTERCARD and its LIMIT ($encoding)" {
            fill p 1 a 2 b 3 c 4 d
            fill q 1 b 2 c 3 d 4 e
            assert_equal 3 [r zintercard 2 p q]
            assert_equal 3 [r zintercard 2 p q limit 0]
            assert_equal 2 [r zintercard 2 p q limit 2]
            assert_equal 3 [r zintercard 2 p q limit 9]
            assert_equal 3 [r zintercard 2 p q limit 1 limit 3]
            assert_equal 0 [r zintercard 2 p none]
            assert_equal 4 [r zintercard 1 p]
            assert_error "ERR LIMIT can't be negative" { r zintercard 1 p limit -1 }
            assert_error "ERR LIMIT can't be negative" { r zintercard 1 p limit x }
            foreach words {{limit} {nosuch 1} {withscores} {weights 1}} {
                assert_error "ERR syntax error" { r zintercard 1 p {*}$words } $words
            }
        }

        test "replies in RESP2 and RESP3 ($encoding)" {
            fill p 1 a 2.5 b
            foreach {command two three} {
                {zunion 1 p} {*2 $1 a $1 b} {*2 $1 a $1 b}
                {zunion 1 p withscores} {*4 $1 a $1 1 $1 b $3 2.5} {*2 *2 $1 a ,1 *2 $1 b ,2.5}
                {zinter 1 p withscores} {*4 $1 a $1 1 $1 b $3 2.5} {*2 *2 $1 a ,1 *2 $1 b ,2.5}
                {zdiff 1 p withscores} {*4 $1 a $1 1 $1 b $3 2.5} {*2 *2 $1 a ,1 *2 $1 b ,2.5}
                {zdiff 1 none withscores} *0 *0
                {zintercard 1 p} :2 :2
            } {
                r hello 2
                assert_equal $two [wire {*}$command] $command
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }

        test "sets count as sorted sets with scores of 1 ($encoding)" {
            foreach members {{a b z} {1 2 30} {a 1 member:with:a:long:name:1234567890:1234567890:1234567890:12345}} {
                r del s
                r sadd s {*}$members
                fill p 1 a 2 b 3 c 4 1 5 2
                set want {}
                foreach {m score} [r zrange p 0 -1 withscores] {
                    lappend want $m [expr {$m in $members ? $score + 1 : $score}]
                }
                foreach m $members { if {[r zscore p $m] eq {}} { lappend want $m 1 } }
                assert_equal [by_score $want] [by_score [r zunion 2 p s withscores]]
                set want [lmap {m score} [r zrange p 0 -1 withscores] {
                    if {$m ni $members} continue
                    list $m [expr {$score * 2 + 3}]
                }]
                assert_equal [concat {*}$want] [r zinter 2 p s weights 2 3 withscores]
                assert_equal [concat {*}$want] [r zinter 2 s p weights 3 2 withscores]
                assert_equal [llength $want] [r zintercard 2 s p]
                set left [lmap m [r zrange p 0 -1] { if {$m in $members} continue; set m }]
                assert_equal $left [r zdiff 2 p s]
                assert_equal [llength $members] [r zunionstore d 1 s]
            }
        }

        test "random unions and intersections against a model ($encoding)" {
            for {set round 0} {$round < 30} {incr round} {
                set n [expr {1 + [randomInt 4]}]
                set keys {}
                set weights {}
                array unset sum
                array unset seen
                for {set i 0} {$i < $n} {incr i} {
                    lappend keys z$i
                    lappend weights [expr {[randomInt 9] - 4}]
                    r del z$i
                    array unset here
                    for {set j [randomInt 100]} {$j > 0} {incr j -1} {
                        set here([randomElement {m 1 member:}][randomInt 60]) [expr {[randomInt 99] / 4.0}]
                    }
                    foreach {m s} [array get here] {
                        r zadd z$i $s $m
                        if {![info exists sum($m)]} { set sum($m) 0; set seen($m) 0 }
                        set sum($m) [expr {$sum($m) + $s * [lindex $weights end]}]
                        incr seen($m)
                    }
                }
                set union {}
                set inter {}
                foreach {m s} [array get sum] {
                    lappend union $m [expr {double($s)}]
                    if {$seen($m) == $n} { lappend inter $m [expr {double($s)}] }
                }
                foreach {command expected} [list zunion $union zinter $inter] {
                    set got [lmap {m s} [r $command $n {*}$keys weights {*}$weights withscores] {
                        list $m [expr {double($s)}]
                    }]
                    assert_equal [by_score $expected] [concat {*}$got]
                    assert_equal [expr {[llength $expected] / 2}] \
                        [r ${command}store d $n {*}$keys weights {*}$weights]
                    assert_equal [lmap {m s} [by_score $expected] { set m }] [r zrange d 0 -1]
                }
            }
        }
    }
}

start_server {tags {zset} overrides {zset-max-listpack-entries 4 zset-max-listpack-value 8}} {
    test {errors of ZUNION and its relatives} {
        fill p 1 a
        r set s x
        foreach {error command} {
            "ERR at least 1 input key is needed for 'zunion' command" {zunion 0 p}
            "ERR at least 1 input key is needed for 'zinter' command" {zinter -1 p}
            "ERR at least 1 input key is needed for 'zdiff' command" {zdiff 0 p}
            "ERR at least 1 input key is needed for 'zunionstore' command" {zunionstore d 0 p}
            "ERR at least 1 input key is needed for 'zinterstore' command" {zinterstore d 0 p}
            "ERR at least 1 input key is needed for 'zdiffstore' command" {zdiffstore d 0 p}
            "ERR at least 1 input key is needed for 'zintercard' command" {zintercard 0 p}
            "ERR value is not an integer or out of range" {zunion x p}
            "ERR syntax error" {zunion 2 p} "ERR syntax error" {zunionstore d 9223372036854775807 p}
            "ERR syntax error" {zunion 1 p weights} "ERR syntax error" {zunion 1 p weights 1 2}
            "ERR syntax error" {zunion 2 p p weights 1} "ERR weight value is not a float" {zunion 1 p weights x}
            "ERR weight value is not a float" {zunion 2 p p weights 1 nan}
            "ERR syntax error" {zunion 1 p aggregate} "ERR syntax error" {zunion 1 p aggregate nosuch}
            "ERR syntax error" {zdiff 1 p aggregate count} "ERR syntax error" {zintercard 1 p aggregate count}
            "ERR syntax error" {zunion 1 p nosuch} "ERR syntax error" {zdiff 1 p weights 1}
            "ERR syntax error" {zdiff 1 p aggregate sum} "ERR syntax error" {zunionstore d 1 p withscores}
            "WRONGTYPE *" {zunion 1 s nosuch} "WRONGTYPE *" {zinter 2 none s} "WRONGTYPE *" {zdiff 2 none s}
        } {
            assert_error $error { r {*}$command } $command
        }
        assert_equal 0 [r exists d]
    }

    test {results take the encoding that fits} {
        fill p 1 a 2 b 3 c 4 d
        fill q 5 e
        r zunionstore d 1 p
        assert_encoding listpack d
        r zunionstore d 2 p q
        assert_encoding [zset_big_encoding] d
        r zinterstore e 2 d q
        assert_encoding listpack e
        r zdiffstore e 2 d q
        assert_encoding listpack e
        fill q 5 123456789
        r zunionstore d 1 q
        assert_encoding [zset_big_encoding] d
    }

    test {unions of large sorted sets} {
        for {set i 0} {$i < 5000} {incr i} {
            lappend even [expr {$i * 2}] m[expr {$i * 2}]
            lappend third [expr {$i * 3}] m[expr {$i * 3}]
        }
        fill p {*}$even
        fill q {*}$third
        assert_equal 1667 [r zinterstore d 2 p q]
        assert_equal 19992 [r zscore d m9996]
        assert_equal 8333 [r zunionstore d 2 p q]
        assert_equal 3333 [r zdiffstore d 2 p q]
        assert_equal 0 [r zdiffstore d 3 p q p]
        assert_equal 1667 [r zintercard 2 p q]
    }

    test {ZDIFF of one large sorted set and many small ones does not look each member up in all of them} {
        set small {}
        for {set i 0} {$i < 500} {incr i} {
            fill small:$i 1 m[expr {$i * 20}] 1 other$i
            lappend small small:$i
        }
        r config resetstat
        assert_equal 4500 [r zdiffstore d 501 p {*}$small]
        assert_equal {m2 m4 m6} [r zrange d 0 2]
        assert_equal {} [r zscore d m20]
        r zunionstore e 501 p {*}$small
        regexp {cmdstat_zdiffstore:calls=1,usec=(\d+)} [r info commandstats] - diff
        regexp {cmdstat_zunionstore:calls=1,usec=(\d+)} [r info commandstats] - union
        assert_lessthan $diff [expr {20 * $union}]
    }
}
