# Unions, intersections and differences of random sorted sets and sets, with weights and aggregates, beside Valkey 9.1: the
# replies and the stored sets must be equal, whatever the encodings of the sources are.

set ops_members [concat [numbers 0 399] [lmap i [numbers 0 399] { string cat m: $i }] [lmap i [numbers 0 19] { string repeat x$i 90 }]]

# Scores of one kind: equal ones, whole ones with ties, fractions with decimals, doubles, and infinities.
proc ops_score {kind} {
    switch $kind {
        equal { return 0 }
        whole { return [expr {[randomInt 40] - 20}] }
        decimals { return [expr {[randomInt 4000] / 8.0}] }
        doubles { return [expr {rand() * 1e6 - 3e5}] }
        infinite { return [randomElement {inf -inf 0 -0.0 1 -1 1e300}] }
    }
}

# Makes the same random source on both servers: none, a set, or a sorted set, of one of several sizes.
proc ops_fill {key most} {
    foreach level {ours valkey} { r [at $level] del $key }
    set kind [randomElement {none set zset zset zset zset zset}]
    if {$kind eq {none}} { return }
    set from [randomInt 400]
    set members [lrange $::ops_members $from [expr {$from + [randomInt $most]}]]
    if {$kind eq {set}} {
        foreach level {ours valkey} { r [at $level] sadd $key {*}$members }
        return
    }
    set scores [randomElement {equal whole whole decimals doubles infinite}]
    set words {}
    foreach member $members { lappend words [ops_score $scores] $member }
    foreach level {ours valkey} { r [at $level] zadd $key {*}$words }
}

proc ops_options {command count} {
    set options {}
    if {[string match *diff* $command]} { return {} }
    if {[randomInt 2]} {
        lappend options weights
        for {set i 0} {$i < $count} {incr i} { lappend options [randomElement {1 1 2 0 -1 0.5 -3 inf -inf 1e-320}] }
    }
    if {[randomInt 2]} { lappend options aggregate [randomElement {sum min max}] }
    return $options
}

# A reply with scores as numbers: Valkey writes some of them with an exponent.
proc ops_reply {level words} {
    set reply [r [at $level] {*}$words]
    if {[lindex $words end] ne {withscores}} { return $reply }
    return [concat {*}[lmap {member score} $reply { list $member [expr {double($score)}] }]]
}

proc assert_same_result {words} {
    assert_equal [ops_reply valkey $words] [ops_reply ours $words] $words
    if {![string match *store* $words]} { return }
    set all {zrange d 0 -1 withscores}
    assert_equal [ops_reply valkey $all] [ops_reply ours $all] $words
    set members [r [at ours] zrange d 0 -1]
    if {[llength $members]} { assert {{} ni [r [at ours] zmscore d {*}$members]} }
}

# Larger sets are looked up in another way: most of them are above 1,024 members.
foreach {index limit rounds most} {
    skiplist 128 100 200 btree 128 100 200 skiplist 0 50 820 btree 0 50 820 btree 4 100 40
} {
    set servers [list ours [list kind ours overrides [list zset-index $index zset-max-listpack-entries $limit]] \
        valkey [list kind valkey overrides [list zset-max-listpack-entries $limit]]]
    start_servers $servers {
        test "set operations as Valkey's ($index, listpacks of $limit, up to $most members)" {
            for {set round 0} {$round < $rounds} {incr round} {
                if {$round % 4 == 0} { foreach key {a b c} { ops_fill $key $most } }
                set count [expr {1 + [randomInt 4]}]
                set keys {}
                for {set i 0} {$i < $count} {incr i} { lappend keys [randomElement {a b c}] }
                set command [randomElement {zunion zinter zdiff}]
                set words [list $count {*}$keys {*}[ops_options $command $count]]
                assert_same_result [list $command {*}$words withscores]
                assert_same_result [list ${command}store d {*}$words]
                assert_same_result [list zintercard $count {*}$keys limit [randomElement {0 0 1 7 100}]]
            }
            r [at ours] flushall sync; # LeakSanitizer does not see the pointers to long members in leaves of the tree
        }
    }
}

start_servers {
    ours {kind ours overrides {zset-index btree}} valkey {kind valkey}
} {
    test {set operations of more than 1,024 members as Valkey's} {
        foreach index {btree skiplist} {
            r [at ours] config set zset-index $index
            foreach {key from to} {a 0 1099 b 500 1700 c 1600 1650 e 900 2200} {
                foreach scores {whole doubles} {
                    set words {}
                    foreach i [numbers $from $to] { lappend words [ops_score $scores] member:$i }
                    foreach level {ours valkey} {
                        r [at $level] del $key$scores
                        r [at $level] zadd $key$scores {*}$words
                    }
                }
            }
            foreach level {ours valkey} {
                r [at $level] del s
                r [at $level] sadd s {*}[lmap i [numbers 300 1500] { string cat member: $i }]
            }
            foreach keys {
                {awhole bwhole} {adoubles bdoubles} {bwhole awhole} {bwhole cwhole} {cdoubles bdoubles} {awhole bdoubles edoubles}
                {bwhole cwhole cdoubles} {awhole s} {s bdoubles} {bwhole s cwhole s} {s cwhole} {bwhole cwhole bwhole}
            } {
                set keys [list [llength $keys] {*}$keys]
                foreach command {zunionstore zinterstore} {
                    assert_same_result [list $command d {*}$keys]
                    assert_same_result [list $command d {*}$keys aggregate max]
                }
                assert_same_result [list zdiffstore d {*}$keys]
                assert_same_result [list zintercard {*}$keys]
            }
        }
    }
}
