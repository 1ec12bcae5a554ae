# The directive zset-index: which index large sorted sets get, what changing it does to existing sets, and what DEBUG
# ZSET shows of them. Commands behave the same with either: `make test` runs the other files with both.
source [file join [file dirname [info script]] zset_util.tcl]

# "name:value" pairs of DEBUG ZSET as a dictionary.
proc shape {key} {
    set d {}
    foreach word [r debug zset $key] { dict set d {*}[split $word :] }
    return $d
}

# n members in a random order of insertion, in batches.
proc fill_random {key n} {
    set pairs {}
    for {set i 0} {$i < $n} {incr i} { lappend pairs [list [expr {$i * 7919 % $n}] member:$i] }
    r del $key
    for {set at 0} {$at < $n} {incr at 500} {
        r zadd $key {*}[concat {*}[lrange $pairs $at [expr {$at + 499}]]]
    }
}

start_server {tags {zset} overrides {zset-index skiplist zset-index-convert-percent 0}} {
    test {zset-index decides the encoding of sets that outgrow a listpack} {
        foreach index {skiplist btree} {
            config_set zset-index $index
            assert_equal $index [config_get zset-index]
            config_set zset-max-listpack-entries 3
            fill k 1 a 2 b 3 c
            assert_encoding listpack k
            r zadd k 4 d
            assert_encoding $index k
            fill long 1 [string repeat x 65]
            assert_encoding $index long
            config_set zset-max-listpack-entries 128
            r zunionstore stored 2 k long
            assert_encoding $index stored
        }
        assert_error "ERR CONFIG SET failed*argument*" { r config set zset-index treap }
        assert_equal btree [config_get zset-index]
    }

    test {changing zset-index does not convert existing sets while zset-index-convert-percent is 0} {
        config_set zset-max-listpack-entries 0
        config_set zset-index skiplist
        fill s {*}$letters
        config_set zset-index btree
        fill b {*}$letters
        assert_encoding skiplist s
        assert_encoding btree b
        foreach key {s b} {
            r zadd $key 0 zero
            assert_equal {zero a b c d e} [r zrange $key 0 -1]
            r zrem $key zero
        }
        assert_encoding skiplist s
        assert_encoding btree b
        config_set zset-index skiplist
        r zadd b 9 nine
        assert_encoding btree b
        r zrem b nine
    }

    test {COPY keeps the index, and commands take sets of both together} {
        r copy s s2
        r copy b b2
        assert_encoding skiplist s2
        assert_encoding btree b2
        assert_equal {a 2 b 4 c 6 d 8 e 10} [r zunion 2 s b withscores]
        assert_equal {a b c d e} [r zinter 4 s b s2 b2]
        assert_equal {} [r zdiff 2 s b]
        assert_equal 5 [r zintercard 2 b s2]
        r zadd b2 0 only
        assert_equal 5 [r zcard b]
        assert_equal {only} [r zdiff 2 b2 s]
    }

    test {both indexes have the same digest} {
        assert_equal [r debug digest-value s] [r debug digest-value b]
        set digests {}
        foreach index {skiplist btree} {
            r flushall
            config_set zset-index $index
            config_set zset-max-listpack-entries 0
            fill_random k 3000
            r zadd k 1.5 fraction -inf low inf high -0.0 zero 1e300 far 7 [string repeat y 300]
            lappend digests [r debug digest]
        }
        assert_equal {*}$digests
    } {} {needs:debug}

    test {both indexes give the same replies to random commands} {
        r flushall
        foreach index {skiplist btree} {
            config_set zset-index $index
            fill_random $index 600
            assert_encoding $index $index
        }
        for {set i 0} {$i < 400} {incr i} {
            set m member:[expr {int(rand() * 900)}]
            set score [expr {int(rand() * 600) / 2.0}]
            set command [lindex [list \
                [list zadd KEY $score $m] [list zincrby KEY $score $m] [list zrem KEY $m] [list zpopmin KEY] \
                [list zremrangebyrank KEY 5 [expr {int(rand() * 12)}]] [list zrank KEY $m withscore] \
                [list zrevrange KEY 3 9 withscores] [list zcount KEY $score [expr {$score + 40}]] \
                [list zrangebyscore KEY ($score inf limit 2 7 withscores]] [expr {int(rand() * 9)}]]
            set one [r {*}[string map {KEY skiplist} $command]]
            set two [r {*}[string map {KEY btree} $command]]
            assert_equal $one $two $command
        }
        assert_equal [r zrange skiplist 0 -1 withscores] [r zrange btree 0 -1 withscores]
        assert_encoding btree btree
    }

    test {DEBUG ZSET replies shape, fill, depth and bytes per member} {
        r flushall
        config_set zset-max-listpack-entries 128
        config_set zset-index btree
        fill small 1 a 2 b
        assert_equal 2 [dict get [shape small] elements]
        assert_error "ERR*" { r debug zset nosuch }
        r set string x
        assert_error "*" { r debug zset string }

        fill_random one 129
        set d [shape one]
        assert_equal {129 1 1} [list [dict get $d elements] [dict get $d leaves] [dict get $d depth]]
        assert {[dict get $d bytes_per_element] <= 28}
        assert_equal 1.00 [dict get $d score_bytes]

        fill_random many 20000
        set d [shape many]
        assert_equal 20000 [dict get $d elements]
        assert {[dict get $d leaves] > 100 && [dict get $d depth] >= 2}
        assert {[string trimright [dict get $d leaf_fill] %] > 50}
        assert {[string trimright [dict get $d map_fill] %] > 20}
        assert {[dict get $d bytes_per_element] <= 42}
        r zadd many 1 [string repeat l 400]
        assert_equal 1 [dict get [shape many] long_members]

        config_set zset-index skiplist
        fill_random list 20000
        set d [shape list]
        assert_equal 20000 [dict get $d elements]
        assert {[dict get $d height] >= 4 && [dict get $d height] <= 16}
        assert {[dict get $d bytes_per_element] > [dict get [shape many] bytes_per_element]}
    } {} {needs:debug}

    test {a large tree shrinks to one leaf again, and grows again} {
        r flushall
        config_set zset-max-listpack-entries 128
        config_set zset-index btree
        fill_random k 5000
        r zremrangebyrank k 40 -1
        set d [shape k]
        assert_equal 40 [dict get $d elements]
        assert {[dict get $d leaves] <= 2}
        assert_encoding btree k
        assert_equal 40 [llength [r zrange k 0 -1]]
        for {set i 0} {$i < 5000} {incr i 250} {
            set pairs {}
            for {set j $i} {$j < $i + 250} {incr j} { lappend pairs $j again:$j }
            r zadd k {*}$pairs
        }
        assert_equal 5040 [r zcard k]
        assert_equal 4321 [r zscore k again:4321]
    } {} {needs:debug}
}

# One command at a time nothing is prefetched; in a pipeline the ways to the scores are, so the same commands have to
# reply the same and leave the same set. The sets are as large as prefetching needs.
start_server {tags {zset} overrides {zset-index skiplist}} {
    test {a pipeline of commands on a huge set replies as the same commands one by one} {
        fill_random alone 40000
        r copy alone batch
        expr {srand([set seed [clock microseconds]])}
        set commands {}
        for {set i 0} {$i < 2000} {incr i} {
            set member member:[expr {int(rand() * 41000)}]
            set score [expr {int(rand() * 40000)}]
            lappend commands [randomElement [list \
                [list zincrby K [randomElement {1 -1 0 0.5 300 -20000 1e5 inf x}] $member] [list zadd K $score $member] \
                [list zadd K xx ch $score $member] [list zrem K $member] \
                [list zrangebyscore K [randomElement {( {}}]$score [expr {$score + 11}]] \
                [list zrangebyscore K $score [randomElement {inf +inf x (7 -inf}] limit [expr {$i % 3}] 12] \
                [list zrevrangebyscore K $score [expr {$score - 30}] withscores] \
                [list zrevrangebyscore K x $score]]]
        }
        set expected {}
        foreach command $commands {
            catch {r {*}[string map {K alone} $command]} reply
            lappend expected $reply
        }
        for {set at 0} {$at < 2000} {incr at 100} {
            set part [lrange $commands $at [expr {$at + 99}]]
            r write [string map {K batch} [join $part "\r\n"]]\r\n
            foreach command $part reply [lrange $expected $at [expr {$at + 99}]] {
                catch {r read} got
                assert_equal $reply $got "seed $seed: $command"
            }
        }
        assert_equal [r zrange alone 0 -1 withscores] [r zrange batch 0 -1 withscores] "seed $seed"
    }
}

proc converted {} { return [s zset_converted_members] }
proc wait_for_conversion {} {
    wait_for_condition 300 50 {[s zset_conversion_running] == 0} else { fail "the conversion does not end" }
}

# Sorted sets are converted in the background when zset-index changes. Each test begins with sets of all sizes.
start_server {tags {zset} overrides {zset-index skiplist zset-index-convert-percent 50 save {}}} {
    proc fill_sizes {} {
        r flushall
        config_set zset-index-convert-percent 50
        config_set zset-index skiplist
        wait_for_conversion
        config_set zset-index-convert-percent 0
        foreach n {3 129 500 600 5000 20000} { fill_random set:$n $n }
        r select 3
        fill_random other 700
        r select 0
        r set string x
        r config resetstat
    }
    set large {set:129 set:500 set:600 set:5000 set:20000}

    test {a new zset-index converts large sets in all databases, and back} {
        fill_sizes
        set digest [r debug digest]
        foreach index {btree skiplist} {
            config_set zset-index $index
            config_set zset-index-convert-percent 50
            wait_for_conversion
            foreach key $large { assert_encoding $index $key }
            assert_encoding listpack set:3
            r select 3
            assert_encoding $index other
            r select 0
            assert_equal $digest [r debug digest]
        }
        assert_equal {12 53858} [list [s zset_converted_sets] [converted]]
        assert_equal 0.00 [s zset_conversion_progress]
        r config resetstat
        assert_equal {0 0} [list [s zset_converted_sets] [converted]]
    } {} {needs:debug}

    test {a set changes while it is converted, and is renamed, copied, dumped, scanned and deleted} {
        fill_sizes
        fill_random twin 20000
        config_set zset-index btree
        config_set zset-index-convert-percent 3
        set rounds 0
        set scanned {}
        set cursor 0
        while {[s zset_conversion_running]} {
            if {[incr rounds] == 30} { config_set zset-index-convert-percent 50 }
            for {set i 0} {$i < 30} {incr i} {
                set m member:[expr {int(rand() * 19000) + 1000}]
                set score [expr {int(rand() * 20000) / 2.0}]
                set command [randomElement [list \
                    [list zadd KEY $score $m] [list zincrby KEY $score $m] [list zrem KEY $m] [list zadd KEY $score $m:$i] \
                    [list zremrangebyrank KEY $i [expr {$i + 3}]] [list zrank KEY $m] [list zrevrange KEY 3 9 withscores] \
                    [list zcount KEY $score [expr {$score + 40}]]]]
                assert_equal [r {*}[string map {KEY twin} $command]] [r {*}[string map {KEY set:20000} $command]] $command
            }
            if {$cursor ne {end}} {
                lassign [r zscan set:5000 $cursor count 20] cursor pairs
                foreach {m score} $pairs { dict set scanned $m $score }
                if {$cursor == 0} { set cursor end }
            }
            if {$rounds == 3} {
                r rename set:20000 other:name
                r rename other:name set:20000
                r copy set:20000 copied
                assert_equal [r zrange copied 0 -1 withscores] [r zrange set:20000 0 -1 withscores]
                r restore restored 0 [r dump set:20000]
                assert_equal [r zcard restored] [r zcard set:20000]
                r move restored 5
                r del copied
            }
        }
        while {$cursor ne {end}} {
            lassign [r zscan set:5000 $cursor count 20] cursor pairs
            foreach {m score} $pairs { dict set scanned $m $score }
            if {$cursor == 0} { set cursor end }
        }
        assert {$rounds >= 3}
        assert_equal 5000 [dict size $scanned]
        foreach key [concat $large twin] { assert_encoding btree $key }
        assert_equal [r zrange twin 0 -1 withscores] [r zrange set:20000 0 -1 withscores]
        assert_equal [r debug digest-value twin] [r debug digest-value set:20000]
        config_set zset-index skiplist
        wait_for_condition 200 10 {[converted] > 60000} else { fail "no conversion back" }
        r flushall
        wait_for_conversion
    } {} {needs:debug}

    test {zset-index set back ends a conversion, and percent 0 stops it} {
        fill_sizes
        config_set zset-index btree
        config_set zset-index-convert-percent 1
        wait_for_condition 500 10 {[converted] > 0} else { fail "no conversion" }
        config_set zset-index-convert-percent 0
        after 20
        set members [converted]
        after 200
        assert_equal $members [converted]
        assert_equal 1 [s zset_conversion_running]
        config_set zset-index skiplist
        config_set zset-index-convert-percent 50
        wait_for_conversion
        foreach key $large { assert_encoding skiplist $key }
    }

    test {a set for whose second index there is no memory keeps its own} {
        fill_sizes
        config_set zset-index btree
        set used [s used_memory]
        r config set maxmemory [expr {$used + 500000}]
        config_set zset-index-convert-percent 50
        wait_for_conversion
        r config set maxmemory 0
        assert_encoding btree set:129
        assert_encoding skiplist set:20000
    }

    foreach method {fork forkless} {
        test "snapshots ($method) while sets are converted and changed have the sets as they were" {
            fill_sizes
            r config set bgsave-default-method $method
            config_set zset-index-convert-percent 2
            config_set zset-index btree
            wait_for_condition 500 10 {[converted] > 6000} else { fail "no conversion" }
            set client [valkey_deferring_client]
            $client debug digest
            $client bgsave
            for {set i 0} {$i < 3000} {incr i} {
                $client zincrby set:[randomElement {600 5000 20000}] [expr {$i % 7 - 3}] member:[expr {$i * 31 % 600}]
                if {$i % 100 == 0} { $client zremrangebyrank set:20000 $i [expr {$i + 5}] }
                if {$i == 2000} { $client del set:5000 }
            }
            set digest [$client read]
            assert_match {Background saving started*} [$client read]
            $client close
            wait_for_condition 600 50 {[s rdb_bgsave_in_progress] == 0} else { fail "no end" }
            assert_equal ok [s rdb_last_bgsave_status]
            config_set zset-index-convert-percent 50
            wait_for_conversion
            assert_encoding btree set:20000
            r debug reload nosave
            assert_equal $digest [r debug digest]
        } {} {needs:debug needs:reload}
    }
}
