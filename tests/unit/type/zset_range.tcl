# Sorted sets by ranges: counting, replying, storing, removing; in both encodings.
source [file join [file dirname [info script]] zset_util.tcl]

# The answer of a naive model: members of a flat list of (member, score), in order, for which the condition on m
# and s holds.
proc matching {flat condition} {
    set found {}
    foreach {m s} $flat { if $condition { lappend found $m } }
    return $found
}

proc limited {list offset limit} {
    if {$offset < 0} { return {} }
    return [lrange $list $offset [expr {$limit < 0 ? "end" : $offset + $limit - 1}]]
}

foreach {encoding limit} {listpack 128 large 0} {
    start_server [list overrides [list zset-max-listpack-entries $limit] tags [list zset]] {
        test "ZRANGE by rank ($encoding)" {
            fill k {*}$letters
            assert_encoding [zset_encoding $encoding] k
            foreach {start stop expected} {
                0 0 a  0 -1 {a b c d e}  1 3 {b c d}  -2 -1 {d e}  -100 1 {a b}  3 100 {d e}  5 10 {}  3 1 {}
                -1 -2 {}  0 -6 {}  4 4 e  -9223372036854775808 9223372036854775807 {a b c d e}
                9223372036854775807 -9223372036854775808 {}
            } {
                assert_equal $expected [r zrange k $start $stop] "$start $stop"
                set mirrored [lreverse [r zrange k [expr {-$stop - 1}] [expr {-$start - 1}]]]
                if {abs($start) < 1000} {
                    assert_equal $mirrored [r zrevrange k $start $stop] "rev $start $stop"
                    assert_equal $mirrored [r zrange k $start $stop rev] "rev $start $stop"
                }
            }
            assert_equal {} [r zrange none 0 -1]
        }

        test "ZRANGE by score ($encoding)" {
            fill k -inf a 1 b 2 c 3 d 4 e 5 f +inf g
            foreach {min max expected} {
                -inf 2 {a b c}  0 3 {b c d}  3 6 {d e f}  4 inf {e f g}  (-inf (2 b  (0 (3 {b c}  (3 (6 {e f}
                (4 (inf f  -inf +inf {a b c d e f g}  4 2 {}  6 inf g  (2 (2 {}  2 (2 {}  (2 2 {}  2 2 c
                -inf -inf a  inf inf g  (-inf -inf {}  2.5 2.6 {}  6 7 {}  (5 6 {}
            } {
                assert_equal $expected [r zrangebyscore k $min $max] "$min $max"
                assert_equal $expected [r zrange k $min $max byscore] "$min $max"
                assert_equal [llength $expected] [r zcount k $min $max] "count $min $max"
                assert_equal [lreverse $expected] [r zrevrangebyscore k $max $min] "rev $min $max"
                assert_equal [lreverse $expected] [r zrange k $max $min rev byscore] "rev $min $max"
            }
            assert_equal 0 [r zcount none 0 1]
        }

        test "bounds of scores may be in any number format ($encoding)" {
            fill k 0 a 1 b 16 c
            assert_equal {a b c} [r zrangebyscore k -1e999 (1e999]
            assert_equal {a} [r zrangebyscore k -1e-999 1e-999]
            foreach {min max} {x 1 1 x 1x 2 nan 1 1 (nan ((1 2 "1 " 2 [1 2 0 " 1" "( 1" 2 0 0x10 (0x1 2 "\t1" 2} {
                assert_error "ERR min or max is not a float" { r zrangebyscore k $min $max } "$min $max"
                assert_error "ERR min or max is not a float" { r zcount k $min $max } "$min $max"
            }
        }

        test "bounds of scores are not empty: 9.2 §3 ($encoding)" {
            fill k 0 a 1 b 16 c
            foreach {min max} {{} 1 0 {} ( 1 0 ( ( ( {} {}} {
                foreach command [list [list zrangebyscore k $min $max] [list zrevrangebyscore k $max $min] [list zrange k $min $max byscore] \
                    [list zcount k $min $max] [list zremrangebyscore k $min $max] [list zrangestore d k $min $max byscore]] {
                    assert_error "ERR min or max is not a float" { r {*}$command } $command
                }
            }
            assert_equal {3 0} [list [r zcard k] [r exists d]]
            assert_equal {a b} [r zrangebyscore k (-0.5 1]
        }

        test "XX tells a missing key from an empty range: 9.2 §3 ($encoding)" {
            fill k 0 a 1 b 2 c
            r set text x
            r del none
            foreach {command bounds expected nothing} {
                zrange {0 1} {a b} {5 6}  zrevrange {0 1} {c b} {5 6}
                zrangebyscore {1 2} {b c} {8 9}  zrevrangebyscore {2 1} {c b} {9 8}
                zrangebylex {- +} {a b c} {[x [y}  zrevrangebylex {+ -} {c b a} {[y [x}
            } {
                foreach resp {2 3} {
                    r hello $resp
                    assert_equal $expected [r $command k {*}$bounds xx] $command
                    assert_equal [expr {$resp == 2 ? "*-1" : "_"}] [wire $command none {*}$bounds Xx] "$command, missing"
                    assert_equal *0 [wire $command k {*}$nothing xx] "$command, empty"
                    assert_equal *0 [wire $command none {*}$bounds] "$command without XX"
                }
                r hello 2
                assert_error "WRONGTYPE*" { r $command text {*}$bounds xx }
                assert_error "ERR syntax error" { r $command none {*}$bounds xy }
            }
            assert_equal {c 2 b 1} [r zrange k 2 1 byscore rev xx withscores]
            assert_equal b [r zrangebyscore k 0 9 xx limit 1 1 xx]
            assert_error "ERR syntax error" { r zrangestore d k 0 -1 xx }
            fill k 0 a
            r pexpire k 1
            after 5
            assert_equal *-1 [wire zrange k 0 -1 xx] "expired"
        }

        test "ZRANGE by member ($encoding)" {
            fill k 0 alpha 0 bar 0 cool 0 down 0 elephant 0 foo 0 great 0 hill 0 omega
            foreach {min max expected} {
                - + {alpha bar cool down elephant foo great hill omega}  - [cool {alpha bar cool}
                [bar [down {bar cool down}  (alpha (bar {}  (bar (down cool  [h + {hill omega}  + - {}  - - {}
                + + {}  [x [a {}  (hill [omega omega  [foo [foo foo  (foo [foo {}  - ( {}  [ + 
                {alpha bar cool down elephant foo great hill omega}
            } {
                assert_equal $expected [r zrangebylex k $min $max] "$min $max"
                assert_equal $expected [r zrange k $min $max bylex] "$min $max"
                assert_equal [llength $expected] [r zlexcount k $min $max] "count $min $max"
                assert_equal [lreverse $expected] [r zrevrangebylex k $max $min] "rev $min $max"
                assert_equal [lreverse $expected] [r zrange k $max $min rev bylex] "rev $min $max"
            }
            foreach {min max} {foo + - bar "" + -x + - +x} {
                assert_error "ERR min or max not valid string range item" { r zrangebylex k $min $max } "$min $max"
                assert_error "ERR min or max not valid string range item" { r zlexcount k $min $max } "$min $max"
            }
        }

        if {$encoding eq "listpack"} {
            test "members among differing scores: the range is the first row of members that fit" {
                foreach {pairs min max found reversed} {
                    {0 d0 0 g1 1 h2 1 h3 1 d4 1 h5 0 e6} (g [h {g1 d4} {}
                    {2 a0 2 h1 1 f2 0 c3 0 h4 1 a5 0 c6 1 b7} (d + {h4 a5 b7 f2 a0 h1} {h1}
                    {1 g0 2 b1 0 d2 1 b3 1 d4} [c (h {} {}
                    {1 f0 2 a1 1 d2 2 a3 0 b4 1 h5} - [d b4 {a3 a1 h5 f0 d2 b4}
                } {
                    fill k {*}$pairs
                    assert_equal $found [r zrangebylex k $min $max] "$pairs $min $max"
                    assert_equal $reversed [r zrevrangebylex k $max $min] "$pairs $max $min"
                    assert_equal [llength $found] [r zlexcount k $min $max]
                    assert_equal [llength $found] [r zremrangebylex k $min $max]
                    assert_equal [llength $pairs] [expr {2 * ([r zcard k] + [llength $found])}]
                }
            }
        }

        test "LIMIT ($encoding)" {
            set pairs {}
            for {set i 0} {$i < 60} {incr i} { lappend pairs $i m[format %02d $i] }
            fill k {*}$pairs
            foreach {offset limit} {0 2 2 3 2 1000 0 0 7 -1 -1 3 60 1 59 1 59 5 0 16 0 17 3 40 100 -5} {
                foreach {min max} {10 50 (10 (50 -inf inf 55 100} {
                    set all [r zrangebyscore k $min $max]
                    assert_equal [limited $all $offset $limit] [r zrangebyscore k $min $max limit $offset $limit]
                    assert_equal [limited [lreverse $all] $offset $limit] \
                        [r zrevrangebyscore k $max $min limit $offset $limit] "$max $min $offset $limit"
                }
                foreach {min max} {- + [m10 [m50 (m10 (m50 [m55 +} {
                    set all [r zrangebylex k $min $max]
                    assert_equal [limited $all $offset $limit] [r zrangebylex k $min $max limit $offset $limit]
                    assert_equal [limited [lreverse $all] $offset $limit] \
                        [r zrevrangebylex k $max $min limit $offset $limit] "$max $min $offset $limit"
                }
            }
            assert_equal {m01 m02} [r zrange k 0 9 byscore limit 0 1 limit 1 2]
        }

        test "ZRANGE options and their errors ($encoding)" {
            fill k {*}$letters
            set limit_only "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
            set no_scores "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
            foreach {error command} [list \
                $limit_only {zrange k 0 1 limit 0 1} $limit_only {zrange k x 1 limit 0 1} \
                $limit_only {zrevrange k 0 1 limit 0 1} $limit_only {zrangestore d k 0 1 limit 0 1} \
                $no_scores {zrange k - + bylex withscores} $no_scores {zrange k x + withscores bylex} \
                $no_scores {zrangebylex k - + withscores} \
                "ERR syntax error" {zrange k 0 1 nosuch} "ERR syntax error" {zrange k 0 1 limit 0} \
                "ERR syntax error" {zrange k 0 1 byscore bylex} "ERR syntax error" {zrange k 0 1 rev rev} \
                "ERR syntax error" {zrange k 0 1 byscore byscore} "ERR syntax error" {zrevrange k 0 1 rev} \
                "ERR syntax error" {zrangebyscore k 0 1 rev} "ERR syntax error" {zrangebyscore k 0 1 byscore} \
                "ERR syntax error" {zrangebylex k - + bylex} "ERR syntax error" {zrangestore d k 0 1 withscores} \
                "ERR value is not an integer or out of range" {zrange k x 1} \
                "ERR value is not an integer or out of range" {zrange k 0 1.5} \
                "ERR value is not an integer or out of range" {zrange k 0 1 byscore limit x 1} \
                "ERR value is not an integer or out of range" {zrange k 0 1 byscore limit 0 x} \
                "ERR value is not an integer or out of range" {zrange k 0 1 limit x 1} \
                "ERR min or max is not a float" {zrange k x 1 byscore} \
                "ERR min or max not valid string range item" {zrange k x + bylex}] {
                assert_error $error { r {*}$command } $command
            }
        }

        test "range replies in RESP2 and RESP3 ($encoding)" {
            fill k 1 a 2.5 b
            foreach {command two three} {
                {zrange k 0 -1} {*2 $1 a $1 b} {*2 $1 a $1 b}
                {zrange k 0 -1 withscores} {*4 $1 a $1 1 $1 b $3 2.5} {*2 *2 $1 a ,1 *2 $1 b ,2.5}
                {zrevrange k 0 0 withscores} {*2 $1 b $3 2.5} {*1 *2 $1 b ,2.5}
                {zrangebyscore k 2 3 withscores} {*2 $1 b $3 2.5} {*1 *2 $1 b ,2.5}
                {zrange k 5 9 withscores} *0 *0
                {zrange none 0 -1 withscores} *0 *0
                {zcount k 0 9} :2 :2
            } {
                r hello 2
                assert_equal $two [wire {*}$command] $command
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }

        test "members and scores of all lengths are replied completely ($encoding)" {
            r del k
            set expected {}
            foreach n {0 1 7 8 9 15 16 17 63 64 99 100 500 511 512 513 900 1000 1024 1025 5000 20000 70000} {
                set m [string repeat x $n]
                r zadd k $n.5 $m
                lappend expected $m $n.5
            }
            assert_equal $expected [r zrange k 0 -1 withscores]
            assert_equal [lmap {m s} $expected { set m }] [r zrange k 0 -1]
            set pairs {}
            for {set i 0} {$i < 3000} {incr i} { lappend pairs $i [string repeat y [expr {$i % 40}]]$i }
            fill k {*}$pairs
            assert_equal $pairs [lreverse [r zrevrange k 0 -1 withscores]]
        }

        test "ZRANGESTORE ($encoding)" {
            fill k {*}$letters
            assert_equal 2 [r zrangestore d k 0 1]
            assert_equal {a 1 b 2} [r zrange d 0 -1 withscores]
            assert_encoding [zset_encoding $encoding] d
            assert_equal 3 [r zrangestore d k (1 inf byscore limit 0 3]
            assert_equal {b 2 c 3 d 4} [r zrange d 0 -1 withscores]
            assert_equal 2 [r zrangestore d k 5 1 byscore rev limit 1 2]
            assert_equal {c 3 d 4} [r zrange d 0 -1 withscores]
            assert_equal 2 [r zrangestore d k \[b (d bylex]
            assert_equal 2 [r zrangestore d k 0 1 rev]
            assert_equal {d 4 e 5} [r zrange d 0 -1 withscores]
            assert_equal 0 [r zrangestore d k 5 9]
            assert_equal 0 [r exists d]
            r set d text
            assert_equal 5 [r zrangestore d k 0 -1]
            assert_type zset d
            assert_equal 2 [r zrangestore k k 1 2]
            assert_equal {b c} [r zrange k 0 -1]
            assert_equal 0 [r zrangestore d none 0 -1]
            assert_equal 0 [r exists d]
        }

        test "ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX ($encoding)" {
            foreach {command left} {
                {zremrangebyrank k 0 0} {b c d e}  {zremrangebyrank k 1 3} {a e}  {zremrangebyrank k -2 -1} {a b c}
                {zremrangebyrank k 3 1} {a b c d e}  {zremrangebyrank k 0 -1} {}  {zremrangebyrank k 9 9} {a b c d e}
                {zremrangebyscore k 2 4} {a e}  {zremrangebyscore k (1 (3} {a c d e}
                {zremrangebyscore k -inf +inf} {}  {zremrangebyscore k 6 9} {a b c d e}
                {zremrangebylex k [b (d} {a d e}  {zremrangebylex k - +} {}  {zremrangebylex k (e +} {a b c d e}
            } {
                fill k {*}$letters
                assert_equal [expr {5 - [llength $left]}] [r {*}$command] $command
                assert_equal $left [r zrange k 0 -1] $command
                assert_equal [llength $left] [r zcard k]
                assert_equal [expr {$left ne {}}] [r exists k]
                foreach m {a b c d e} { assert_equal [expr {$m in $left}] [expr {[r zscore k $m] ne {}}] }
            }
            assert_equal 0 [r zremrangebyrank none 0 -1]
            assert_error "ERR value is not an integer*" { r zremrangebyrank k x 1 }
            assert_error "ERR min or max is not a float" { r zremrangebyscore k x 1 }
            assert_error "ERR min or max not valid string range item" { r zremrangebylex k x + }
        }

        test "random ranges by score against a model ($encoding)" {
            for {set round 0} {$round < 20} {incr round} {
                r del k
                array unset model
                set n [expr {1 + [randomInt 120]}]
                for {set i 0} {$i < $n} {incr i} {
                    set model(m[randomInt 1000]) [expr {[randomInt 60] / 2.0}]
                }
                set pairs [by_score [array get model]]
                foreach {m s} $pairs { r zadd k $s $m }
                for {set i 0} {$i < 40} {incr i} {
                    set min [expr {[randomInt 70] / 2.0 - 2}]
                    set max [expr {$min + [randomInt 40] / 2.0 - 2}]
                    set minex [randomInt 2]
                    set maxex [randomInt 2]
                    set expected [matching $pairs {
                        ($::minex ? $s > $::min : $s >= $::min) && ($::maxex ? $s < $::max : $s <= $::max)
                    }]
                    set from [expr {$minex ? "(" : ""}]$min
                    set to [expr {$maxex ? "(" : ""}]$max
                    set offset [expr {[randomInt 20] - 1}]
                    set limit [expr {[randomInt 30] - 1}]
                    assert_equal $expected [r zrangebyscore k $from $to]
                    assert_equal [lreverse $expected] [r zrevrangebyscore k $to $from]
                    assert_equal [llength $expected] [r zcount k $from $to]
                    assert_equal [limited $expected $offset $limit] \
                        [r zrangebyscore k $from $to limit $offset $limit]
                    assert_equal [limited [lreverse $expected] $offset $limit] \
                        [r zrange k $to $from byscore rev limit $offset $limit]
                }
                assert_equal [llength $expected] [r zremrangebyscore k $from $to]
                set left {}
                foreach {m s} $pairs { if {$m ni $expected} { lappend left $m } }
                assert_equal $left [r zrange k 0 -1]
            }
        }
    }
}

start_server {tags {zset} overrides {zset-max-listpack-entries 4 zset-max-listpack-value 8}} {
    test {ZRANGESTORE chooses the encoding that fits the result} {
        r zadd big 0 a 1 b 2 c 3 d 4 e 5 f 6 g
        assert_encoding [zset_big_encoding] big
        foreach {words encoding} {
            {0 3} listpack {0 4} large {0 3 byscore} listpack {0 4 byscore} large
            {-inf inf byscore limit 0 4} listpack {-inf inf byscore limit 0 5} large
        } {
            r zrangestore d big {*}$words
            assert_encoding [zset_encoding $encoding] d
        }
        r zadd long 1 a 2 123456789
        r zrangestore d long 0 0
        assert_encoding listpack d
        r zrangestore d long 0 1
        assert_encoding [zset_big_encoding] d
        assert_equal {a 1 123456789 2} [r zrange d 0 -1 withscores]
    }

    test {ranges of a large sorted set} {
        set pairs {}
        for {set i 0} {$i < 10000} {incr i} { lappend pairs [expr {$i / 10}] m[format %05d $i] }
        fill big {*}$pairs
        assert_equal 10000 [llength [r zrange big 0 -1]]
        assert_equal {m05000 m05001} [r zrange big 5000 5001]
        assert_equal {m09999 m09998} [r zrevrange big 0 1]
        assert_equal 10 [r zcount big 500 500]
        assert_equal 4990 [r zcount big (500 inf]
        assert_equal {m05008 m05009 m05010} [r zrangebyscore big 500 501 limit 8 3]
        assert_equal {m05011 m05010 m05009} [r zrevrangebyscore big 501 500 limit 8 3]
        assert_equal m09999 [r zrangebyscore big 0 inf limit 9999 5]
        assert_equal 5000 [r zremrangebyscore big 250 749]
        assert_equal 5000 [r zcard big]
        assert_equal {m02499 m07500} [r zrange big 2499 2500]
        assert_equal 2500 [r zrank big m07500]
        assert_equal 4999 [r zremrangebyrank big 1 -1]
        assert_equal {m00000 0} [r zrange big 0 -1 withscores]
    }
}
