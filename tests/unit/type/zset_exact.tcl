# Scores that are integers beyond 2^53: they print, compare and increment exactly, in every encoding, in files and on a
# replica. Numbers of Tcl have any length, which makes the model exact.
source [file join [file dirname [info script]] zset_util.tcl]
source [file join $::support dump.tcl]

set two53 [expr {2 ** 53}]
set highest [expr {2 ** 63 - 1}]
set lowest [expr {-2 ** 63}]

# Sets of up to 128 members are of this encoding, and of all sizes if it is large.
proc use_encoding {encoding} {
    config_set zset-max-listpack-entries [expr {$encoding eq "listpack" ? 1000 : 0}]
    if {$encoding ne "listpack"} { config_set zset-index $encoding }
}

# Five integers of which doubles hold three.
proc fill_five {key} {
    fill $key $::two53 a [expr {$::two53 + 1}] b [expr {$::two53 + 2}] c [expr {$::two53 + 3}] d [expr {$::two53 + 4}] e
}

# ---- The model: an array of member and score, of integers and halves ----

proc model_score {} {
    if {[randomInt 6] == 0} { return [expr {[randomInt 20] / 2.0}] }
    set around [randomElement [list 0 $::two53 -$::two53 [expr {2 ** 54}] [expr {2 ** 60}] [expr {-2 ** 62}] $::highest $::lowest]]
    set score [expr {$around + [randomInt 9] - 4}]
    return [expr {min(max($score, $::lowest), $::highest)}]
}

# As the server prints it: a half of a whole number has no fraction.
proc plain {score} { return [expr {[string is double $score] && ![string is entier $score] && $score == int($score) ? int($score) : $score}] }

proc compare_scores {a b} { return [expr {$a < $b ? -1 : $a > $b}] }

proc compare_pairs {a b} {
    set order [compare_scores [lindex $a 1] [lindex $b 1]]
    return [expr {$order ? $order : [string compare [lindex $a 0] [lindex $b 0]]}]
}

proc model_pairs {} {
    set pairs {}
    foreach {member score} [array get ::model] { lappend pairs [list $member $score] }
    return [lsort -command compare_pairs $pairs]
}

proc inside {score min max} {
    foreach {bound sign} [list $min 1 $max -1] {
        set open [string match (* $bound]
        set order [expr {$sign * [compare_scores $score [string trimleft $bound (]]}]
        if {$order < 0 || ($open && $order == 0)} { return 0 }
    }
    return 1
}

proc bound {} { return [expr {[randomInt 3] ? {} : "("}][model_score] }

# A change of both. The reply is compared.
proc model_change {key} {
    set member m:[randomInt 60]
    set score [model_score]
    set known [info exists ::model($member)]
    switch [randomInt 10] {
        0 - 1 - 2 - 3 {
            assert_equal [expr {!$known}] [r zadd $key $score $member]
            set ::model($member) [plain $score]
        }
        4 {
            set option [randomElement {gt lt}]
            if {!$known} return
            set higher [compare_scores $score $::model($member)]
            set changes [expr {$option eq "gt" ? $higher > 0 : $higher < 0}]
            assert_equal $changes [r zadd $key $option ch $score $member]
            if {$changes} { set ::model($member) [plain $score] }
        }
        5 - 6 - 7 {
            set by [expr {[randomInt 2] ? [randomInt 2000] - 1000 : [randomInt 9] - 4}]
            set sum [expr {$known ? $::model($member) + $by : $by}]
            if {$sum > $::highest || $sum < $::lowest} return
            assert_equal [plain $sum] [expr {[randomInt 2] ? [r zincrby $key $by $member] : [r zadd $key incr $by $member]}]
            set ::model($member) [plain $sum]
        }
        8 {
            assert_equal $known [r zrem $key $member]
            array unset ::model $member
        }
        9 {
            if {[array size ::model] < 5 || [randomInt 4]} return
            set min [bound]
            set gone 0
            set max [expr {[randomInt 2] ? "[string trimleft $min (]" : [bound]}]
            foreach {name its} [array get ::model] {
                if {[inside $its $min $max]} { unset ::model($name); incr gone }
            }
            assert_equal $gone [r zremrangebyscore $key $min $max]
        }
    }
}

proc model_check {key} {
    set pairs [model_pairs]
    assert_equal [concat {*}$pairs] [r zrange $key 0 -1 withscores]
    assert_equal [concat {*}[lreverse $pairs]] [concat {*}[lmap {m s} [r zrevrange $key 0 -1 withscores] { list $m $s }]]
    set at 0
    foreach pair $pairs {
        lassign $pair member score
        assert_equal $score [r zscore $key $member]
        assert_equal [list $at $score] [r zrank $key $member withscore]
        incr at
    }
    for {set i 0} {$i < 20} {incr i} {
        set min [bound]
        set max [bound]
        set wanted [lmap pair $pairs { expr {[inside [lindex $pair 1] $min $max] ? $pair : [continue]} }]
        assert_equal [concat {*}$wanted] [r zrangebyscore $key $min $max withscores]
        assert_equal [llength $wanted] [r zcount $key $min $max]
        assert_equal [concat {*}[lreverse $wanted]] [concat {*}[lmap {m s} [r zrevrangebyscore $key $max $min withscores] { list $m $s }]]
    }
}

# ---- One server ----

start_server {tags {zset} overrides {zset-exact-integers yes zset-index-convert-percent 0 appendonly yes save {}}} {
    foreach encoding {listpack skiplist btree} {
        use_encoding $encoding

        test "integers beyond 2^53 print, compare and increment exactly ($encoding)" {
            fill_five k
            assert_encoding $encoding k
            assert_equal {a 9007199254740992 b 9007199254740993 c 9007199254740994 d 9007199254740995 e 9007199254740996} [r zrange k 0 -1 withscores]
            assert_equal 9007199254740993 [r zscore k b]
            assert_equal {9007199254740992 {} 9007199254740995} [r zmscore k a x d]
            assert_equal {1 9007199254740993} [r zrank k b withscore]
            assert_equal 9007199254740994 [r zincrby k 1 b]
            assert_equal 9007199254740993 [r zadd k incr -1 b]
            assert_equal {b c} [r zrangebyscore k 9007199254740993 9007199254740994]
            assert_equal {c} [r zrangebyscore k (9007199254740993 9007199254740994]
            assert_equal {c b} [r zrange k (9007199254740995 (9007199254740992 byscore rev]
            assert_equal 1 [r zcount k 9007199254740993 9007199254740993]
            assert_equal 0 [r zcount k (9007199254740993 (9007199254740994]
            assert_equal 0 [r zadd k gt ch 9007199254740993 b]
            assert_equal 1 [r zadd k gt ch 9007199254740994 b]
            assert_equal 1 [r zadd k lt ch 9007199254740993 b]
            assert_equal 0 [r zadd k nx 1 b]
            assert_equal {e 9007199254740996} [r zpopmax k]
            assert_equal {k {{d 9007199254740995}}} [r zmpop 1 k max]
            assert_equal {k a 9007199254740992} [r bzpopmin k 0]
            assert_equal 1 [r zremrangebyscore k 9007199254740993 9007199254740993]
            assert_equal {c 9007199254740994} [r zrange k 0 -1 withscores]
        }

        test "the ends of 64 bits, and sums beyond them, which are doubles ($encoding)" {
            fill k $::highest h $::lowest l 1 one
            assert_encoding $encoding k
            assert_equal "l $::lowest one 1 h $::highest" [r zrange k 0 -1 withscores]
            assert_equal [expr {$::highest - 1}] [r zincrby k -1 h]
            assert_equal $::highest [r zincrby k 1 h]
            assert_equal 9223372036854776000 [r zincrby k 1 h]
            assert_equal [expr {$::lowest + 1}] [r zincrby k 1 l]
            assert_equal $::lowest [r zincrby k -5 l] "the double nearest to the sum"
            assert_equal {l one h} [r zrange k 0 -1]
            assert_equal 1e+19 [r zadd k incr 1e19 new]
        }

        test "replies of RESP3, scans, scripts and random members have all digits ($encoding)" {
            fill k 9007199254740993 m
            r hello 3
            assert_equal ,9007199254740993 [wire zscore k m]
            assert_equal ,9007199254740994 [wire zincrby k 1 m]
            r hello 2
            assert_equal {0 {m 9007199254740994}} [r zscan k 0]
            assert_equal {m 9007199254740994} [r zrandmember k 5 withscores]
            assert_equal 9007199254740994 [r eval {return redis.call('zscore', KEYS[1], 'm')} 1 k]
            assert_equal 9007199254740995 [r eval {return redis.call('zincrby', KEYS[1], '1', 'm')} 1 k]
        }

        test "what is not given as an integer is a double ($encoding)" {
            foreach text {9007199254740993.0 9007199254740993e0 +9007199254740993 09007199254740993} {
                fill k $text m
                assert_equal 9007199254740992 [r zscore k m]
            }
            foreach {text printed} {0.1 0.1 1e16 10000000000000000 1e20 1e+20 1e300 1e+300 inf inf -0.5 -0.5 9223372036854775808 9223372036854776000} {
                fill k $text m
                assert_equal $printed [r zscore k m]
            }
            fill k 9007199254740993 m
            assert_equal 9007199254740992 [r zincrby k 0.5 m] "with a fraction, a sum is one of doubles"
            fill k 1e16 m
            assert_equal 10000000000000001 [r zincrby k 1 m] "a double without a fraction is an integer"
        }

        test "unions, intersections and differences are exact where weights are 1 ($encoding)" {
            fill_five x{k}
            fill y{k} 1 a 1 b 9007199254740993 c
            assert_equal {a 9007199254740993 b 9007199254740994 c 18014398509481987} [r zinter 2 x{k} y{k} withscores]
            assert_equal {d 9007199254740995 e 9007199254740996} [r zdiff 2 x{k} y{k} withscores]
            assert_equal {a 1 b 1 c 9007199254740993} [r zinter 2 x{k} y{k} aggregate min withscores]
            assert_equal {a 9007199254740992 b 9007199254740993 c 9007199254740994} [r zinter 2 x{k} y{k} aggregate max withscores]
            assert_equal 5 [r zunionstore z{k} 2 x{k} y{k}]
            assert_encoding $encoding z{k}
            assert_equal {a 9007199254740993 b 9007199254740994 d 9007199254740995 e 9007199254740996 c 18014398509481987} [r zrange z{k} 0 -1 withscores]
            assert_equal 2 [r zrangestore z{k} x{k} 9007199254740993 (9007199254740995 byscore]
            assert_equal {b 9007199254740993 c 9007199254740994} [r zrange z{k} 0 -1 withscores]
            assert_equal {b 18014398509481984} [lrange [r zunion 1 z{k} weights 2 withscores] 0 1] "with another weight, scores are doubles"
        }

        test "digests, copies, dumps and files keep what is beyond doubles ($encoding)" {
            fill k 9007199254740992 m 0.25 n
            set rounded [r debug digest-value k]
            fill k 9007199254740993 m 0.25 n
            set exact [r debug digest-value k]
            assert_not_equal $rounded $exact
            r del copied restored
            r copy k copied
            r restore restored 0 [r dump k]
            assert_equal [list $exact $exact] [r debug digest-value copied restored]
            foreach way {reload loadaof} {
                r debug $way
                assert_equal $exact [r debug digest-value k] $way
                assert_equal 9007199254740993 [r zscore k m]
            }
        }

        test "scores are text in a dump only if one of them is beyond doubles ($encoding)" {
            fill k 9007199254740992 m
            set type [expr {$encoding eq "listpack" ? 17 : 5}]
            assert_equal $type [scan [string index [r dump k] 0] %c]
            r zincrby k 1 m
            assert_equal 3 [scan [string index [r dump k] 0] %c]
            assert_equal "\x03\x01\x01m\x109007199254740993" [dump_body [r dump k]]
        }

        test "integers around the limits agree with a model ($encoding)" {
            array unset ::model
            r del k
            for {set i 0} {$i < 1500} {incr i} {
                model_change k
                if {$i % 100 == 50} { model_check k }
                if {$i % 300 == 0} { assert_equal [r debug digest-value k] [lindex [r debug digest-value k [r debug reload; string cat k]] 0] }
            }
            model_check k
            set digest [r debug digest-value k]
            r bgrewriteaof
            wait_for_condition 300 20 {![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else { fail "the rewrite does not end" }
            r debug loadaof
            assert_equal $digest [r debug digest-value k]
            model_check k
        }
    }

    test {a listpack that grows, and another index, keep integers exact} {
        foreach index {skiplist btree} {
            config_set zset-index $index
            config_set zset-max-listpack-entries 4
            fill_five k
            assert_encoding $index k
            fill k 9007199254740993 a 9007199254740992 b 1 c 2 d
            assert_encoding listpack k
            r zadd k 9007199254740994 e
            assert_encoding $index k
            assert_equal {c 1 d 2 b 9007199254740992 a 9007199254740993 e 9007199254740994} [r zrange k 0 -1 withscores]
        }
        config_set zset-max-listpack-entries 0
        config_set zset-index skiplist
        fill_five k
        set digest [r debug digest-value k]
        config_set zset-index-convert-percent 50
        config_set zset-index btree
        wait_for_condition 100 20 {[r object encoding k] eq "btree"} else { fail "the set is not converted" }
        assert_equal $digest [r debug digest-value k]
        config_set zset-index-convert-percent 0
    }

    test {with zset-exact-integers no, scores are rounded as in Valkey} {
        config_set zset-exact-integers no
        foreach encoding {listpack skiplist btree} {
            use_encoding $encoding
            fill k 9007199254740993 m 9007199254740995 n
            assert_equal {m 9007199254740992 n 9007199254740996} [r zrange k 0 -1 withscores]
            assert_equal 9007199254740992 [r zincrby k 1 m]
            assert_equal 1 [r zcount k 9007199254740993 9007199254740993]
            fill k 5000000000000000000 m
            assert_equal 5e+18 [r zscore k m]
        }
        config_set zset-exact-integers yes
        assert_equal 5000000000000000000 [r zscore k m]
    }

    test {an exact score stays when zset-exact-integers is set to no} {
        fill k 9007199254740993 m
        config_set zset-exact-integers no
        assert_equal 9007199254740993 [r zscore k m]
        r debug reload
        assert_equal 9007199254740993 [r zscore k m]
        assert_equal 9007199254740992 [r zincrby k 0 m]
        config_set zset-exact-integers yes
    }
}

# ---- A replica, snapshots without a fork, and another server ----

start_server {tags {zset external:skip repl} overrides {zset-exact-integers yes save {} zset-max-listpack-entries 20}} {
    start_server {overrides {zset-exact-integers yes save {} bgsave-default-method forkless zset-max-listpack-entries 10}} {
        test {a replica has integers exactly, by full synchronisation and by commands} {
            foreach index {skiplist btree} {
                config_set zset-index $index
                r del large:$index
                for {set i 0} {$i < 6000} {incr i 500} {
                    r zadd large:$index {*}[concat {*}[lmap j [numbers $i [expr {$i + 499}]] { list [expr {2 ** 60 + $j * 7919 % 6000}] m:$j }]]
                }
            }
            fill_five small
            r -1 replicaof [srv host] [srv port]
            wait_for_condition 200 50 {[s -1 master_link_status] eq "up"} else { fail "the replica does not come up" }
            for {set i 0} {$i < 200} {incr i} {
                r zincrby large:btree [randomInt 5] m:[randomInt 6000]
                r zadd large:skiplist [expr {2 ** 60 + [randomInt 6000]}] m:[randomInt 6000]
                r zincrby small 1 [randomElement {a b c d e}]
            }
            r wait 1 5000
            assert_equal [r debug digest] [r -1 debug digest]
            r -1 replicaof no one
        }

        test {a snapshot without a fork has integers exactly, as they were at its start} {
            set digest [r debug digest]
            r config set rdb-key-save-delay 100
            r bgsave
            for {set i 0} {$i < 300} {incr i} {
                r zincrby large:[randomElement {skiplist btree}] [expr {[randomInt 2] ? 1 : 0.5}] m:[randomInt 6000]
            }
            r config set rdb-key-save-delay 0
            wait_for_condition 300 20 {![s rdb_bgsave_in_progress]} else { fail "the save does not end" }
            assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
            file copy -force [srv dir]/dump.rdb [srv -1 dir]/dump.rdb
            r -1 debug reload nosave
            assert_equal $digest [r -1 debug digest]
        }

        test {defragmentation moves sets with such integers, and changes nothing} {
            set digest [r debug digest]
            for {set i 0} {$i < 3} {incr i} { r debug defrag-all }
            assert_equal $digest [r debug digest]
        }
    }
}

tags {zset external:skip} {
    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 reads files with and without integers beyond doubles} { skip "no Valkey to compare with: utils/oracle fetches it" }
    } else {
        start_server [list executable [valkey_oracle] overrides {save {} enable-debug-command yes}] {
            start_server {overrides {zset-exact-integers yes save {} zset-max-listpack-entries 3}} {
                test {Valkey 9.1 reads files with and without integers beyond doubles} {
                    foreach index {skiplist btree} {
                        config_set zset-index $index
                        r flushall
                        fill none 1 a 2.5 b 9007199254740992 c
                        fill many:none 1 a 2.5 b 9007199254740992 c 4 d
                        r save
                        file copy -force [srv dir]/dump.rdb [srv -1 dir]/dump.rdb
                        r -1 debug reload nosave
                        foreach key {none many:none} { assert_equal [r zrange $key 0 -1 withscores] [r -1 zrange $key 0 -1 withscores] }
                        fill some 9007199254740993 a 9007199254740992 z
                        fill many:some 9007199254740993 a 9007199254740992 z 0.5 c 4 d
                        r save
                        file copy -force [srv dir]/dump.rdb [srv -1 dir]/dump.rdb
                        r -1 debug reload nosave
                        assert_equal {a 9007199254740992 z 9007199254740992} [r -1 zrange some 0 -1 withscores]
                        assert_equal {c 0.5 d 4 a 9007199254740992 z 9007199254740992} [r -1 zrange many:some 0 -1 withscores]
                        assert_equal 1 [r -1 zadd many:some 9007199254740992 b]
                        assert_equal {c d a b z} [r -1 zrange many:some 0 -1]
                    }
                }
            }
        }
    }
}
