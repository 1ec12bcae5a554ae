# Keys and values through the module API (tests/modules/values.c), compared with the oracle: both must give the same
# replies, also to random requests over all encodings.

source -encoding utf-8 $::support/module.tcl

proc random_text {} {
    return [randomElement {a b c d e 1 2 -17 3.5 {} long-enough-to-be-no-listpack-of-a-few-bytes-0123456789012345678901234567890123456789}]
}
proc random_key {} { return [randomElement {s l z h x t none}] }
proc how {} { return [randomElement {r w rw rw rw}] }

# The value of any key, as commands that create it.
proc both_hold {} {
    foreach key {s l z h x t none} {
        switch [both type $key] {
            string { both get $key }
            list { both lrange $key 0 -1 }
            zset { both zrange $key 0 -1 withscores }
            hash { foreach kind {ours valkey} { set $kind [lsort [r [at $kind] hgetall $key]] }; assert_equal $valkey $ours }
            set { foreach kind {ours valkey} { set $kind [lsort [r [at $kind] smembers $key]] }; assert_equal $valkey $ours }
            stream { both xrange $key - + }
        }
    }
}

proc random_request {} {
    set index [randomRange -4 6]
    set score [randomElement {0 1 -1 2.5 inf -inf 1e10}]
    set id [randomElement {0-0 1-1 2-0 2-5 7-1 100-0 +}]
    switch [randomInt 14] {
        0 { return [list values.key [how] [random_key]] }
        1 { return [list values.do [randomElement {delete unlink -delete exists signal}] [random_key]] }
        2 { return [list values.do expire [random_key] [randomElement {-1 -5 100000}]] }
        3 { return [list values.do truncate [random_key] [randomElement {0 1 5 300}]] }
        4 { return [list values.set [how] [randomElement {s s s t z}] [random_text]] }
        5 { return [list values.dma [how] [randomElement {s t l z none}]] }
        6 - 7 {
            set what [randomElement {lpush rpush set insert delete lpop rpop get}]
            set key [randomElement {l l l l s none}]
            # Elsewhere 9.1.2 ends.
            if {$what eq {insert} && [both type l] ne {list}} { set what rpush }
            if {$what eq {insert}} { lassign [list [randomElement {0 -1}] l] index key }
            return [list values.list [how] $key $what $index [random_text]]
        }
        8 - 9 {
            # (On a key that is not there, an addition that is refused leaves an empty set in 9.1.2.)
            if {[both type z] eq {none}} { both zadd z 0 there }
            if {[both type t] eq {none}} { both sadd t m }
            set what [randomElement {add add incr rem score}]
            return [list values.zset [how] [randomElement {z z z z t}] $what [random_text] $score [randomElement {- nx xx gt lt gtxx}]]
        }
        10 {
            set flags [randomElement {- n x c a na xa ?}]
            return [list values.hset [how] [randomElement {h h h s}] $flags [randomElement {f g i}] [randomElement {v w - 5}] [randomElement {f g i}] [randomElement {v - 7}]]
        }
        11 { return [list values.hget [randomElement {h h h s none}] [randomElement {f g none}] [randomElement {f g none}]] }
        12 { return [list values.xadd [how] [randomElement {x x x s}] $id [random_text] [random_text]] }
        13 { return [list values.xdo [randomElement {x x s none}] [randomElement {del maxlen minid}] [randomElement {1-1 2-5 0 3 1}]] }
    }
}

beside_modules {values} {} {
    # The key is deleted with its last element, in every encoding.
    foreach {form limit} {small 128 large 1} {
        test "a collection that a module empties is deleted: $form" {
            foreach type {zset hash list set} { both config set $type-max-listpack-[expr {$type eq {list} ? {size} : {entries}}] $limit }
            foreach index {skiplist btree} {
                r [at ours] config set zset-index $index
                both zadd z 1 a 2 b 3 c
                foreach member {a b c} { both values.zset w z rem $member }
                assert_equal {0 none 0} [list [both exists z] [both type z] [both zadd z xx 1 a]]
            }
            both hset h f 1 g 2
            foreach field {f g} { both values.hset w h - $field - }
            assert_equal 0 [both exists h]
            foreach what {delete lpop rpop} {
                both rpush l a b
                both values.list w l $what 0 -
                both values.list w l $what 0 -
                assert_equal {0 none} [list [both exists l] [both type l]] $what
            }
            both dbsize
        }
    }

    test {keys past their time are not found by Scan (9.1.2 shows them)} {
        foreach kind {ours valkey} { r [at $kind] debug set-active-expire 0 }
        both set dead x px 1
        both set living x
        after 20 ;# without an access, which would delete it
        assert_equal {living 1 1} [r [at ours] values.scan]
        foreach kind {ours valkey} { r [at $kind] debug set-active-expire 1 }
        both flushall
    }

    test {a key that is open for reading only is not changed} {
        both set s text px 100000
        both rpush l a
        both zadd z 1 a
        both hset h f v
        both xadd x 1-1 f v
        foreach {what number} {delete 0 unlink 0 expire 5000 expireat 1 expire -1 truncate 2 truncate 10} {
            foreach key {s l z h x} { both values.do -$what $key $number }
        }
        both get s
        assert_range [r [at ours] pttl s] 5001 100000
        foreach key {l z h x} { assert_equal -1 [both pttl $key] }
        assert_equal 5 [both dbsize]
        both flushall
    }
}

foreach index {skiplist btree} {
    beside_modules {values} {} {
        if {$index eq {btree}} { r [at ours] config set zset-index btree }

        test "random requests, index $index" {
            # Small limits, so that all encodings occur.
            foreach {name value} {list-max-listpack-size 4 zset-max-listpack-entries 3 hash-max-listpack-entries 2 stream-node-max-entries 3 set-max-listpack-entries 2} {
                both config set $name $value
            }
            both sadd t m1 m2 1
            for {set i 0} {$i < 3000} {incr i} {
                both {*}[random_request]
                if {$i % 20 == 0} { both_hold }
            }
            both_hold
        }

        test "ranges of sorted sets, index $index" {
            both flushall
            foreach size {3 200} {
                for {set i 0} {$i < $size} {incr i} { both zadd z [expr {$i / 2}] m$i; both zadd lex 0 m$i }
                foreach {min max minex maxex} {0 10 0 0 0 10 1 1 -inf inf 0 0 5 5 0 0 5 5 1 0 7 3 0 0 50 1e9 0 0 1e9 inf 0 0} {
                    foreach end {first last} { both values.zrange z score $end $min $max $minex $maxex }
                }
                foreach {min max} {- + [m1 [m2 (m1 (m2 [m5 + - (m3 [z + bad + - bad [m3 [m1} {
                    foreach end {first last} { both values.zrange lex lex $end $min $max 0 0 }
                }
            }
            both values.zrange none score first 0 1 0 0
        }
    }
}

beside_modules {values} {} {
    test {lists by position} {
        foreach size {5 3000} {
            both flushall
            for {set i 0} {$i < $size} {incr i} { both rpush l element-$i }
            both values.listwalk l 1
            both values.listwalk l 7
        }
        both values.list rw l get 100000
        both values.list rw l insert -1 last
        both values.list rw l insert -3 third-from-the-end
        both lrange l -5 -1
    }

    test {streams, both ways, while entries go} {
        both flushall
        for {set i 1} {$i <= 250} {incr i} { both xadd x $i-1 a $i b $i }
        foreach flags {- r e er} {
            foreach {start end} {. . 10-0 20-0 10-1 20-1 20-1 10-1 . 5-0 245-0 . 0-0 + 300-0 400-0} { both values.xwalk x $flags $start $end }
        }
        both values.xwalk x e . 0-0
        both values.xwalk none - . .
        both values.xwalk x d . .
        both xrange x - +
        both values.xwalk x dr . .
        both xrange x - +
        both values.xdo x ~maxlen 10
        both values.xadd w x 250-1 a b
        both values.xadd w x 18446744073709551615-18446744073709551615 a b
        both values.xadd w x * a b
        both values.xadd w y * a b
        both values.xadd w y 0-0 a b
    }

    test {scans visit all keys and elements} {
        both flushall
        foreach {name value} {list-max-listpack-size 4 zset-max-listpack-entries 3 hash-max-listpack-entries 2 set-max-listpack-entries 2 set-max-intset-entries 2} { both config set $name $value }
        for {set i 0} {$i < 500} {incr i} { both set key:$i $i; both hset h f$i v$i; both sadd s m$i; both zadd z $i.5 m$i }
        both sadd small 1 2
        both hset hsmall a b
        both zadd zsmall 1 a
        foreach {key step} {h 2 s 2 z 2 small 2 hsmall 2 zsmall 2 key:1 2 none 2} {
            foreach kind {ours valkey} {
                set pairs [lassign [lreverse [r [at $kind] values.scankey $key]] error]
                set $kind [list $error [lsort -stride $step [lreverse $pairs]]]
            }
            assert_equal $valkey $ours $key
        }
        foreach kind {ours valkey} { set $kind [lsort -stride 2 [lrange [r [at $kind] values.scan] 0 end-1]] }
        assert_equal $valkey $ours
        assert_equal 1 [lindex [r [at ours] values.scan] end]
    }

    # Valkey 9.1 has no path hashes, and the module API of 9.2 no number for them.
    test {a path hash has no type and no length for modules} {
        set ours [at ours]
        r $ours flushall
        r $ours phmset k a FIELDS 1 f 1 b FIELDS 1 f 1
        assert_equal {1 0 0 -4 k 0} [r $ours values.key r k]
        assert_equal {k 0} [lrange [r $ours values.scan] 0 1]
        assert_equal {0 {a b}} [r $ours phscan k 0]
        r $ours del k
    }

    test {databases, time to live, use} {
        both flushall
        both values.db 3
        both set k v
        both values.db 3
        both values.db 99
        both dbsize
        both select 9
        both set k v
        both values.do expire k 100000
        both values.key r k
        both values.do expire k -1
        both values.key r k
        both values.do expireat k 1
        both exists k
        both set k v
        both values.do setlru k 5000
        both config set maxmemory-policy allkeys-lfu
        both values.do getlru k
        both values.do setlru k 5000
        both values.do setlfu k 77
        both values.do getlfu k
        both config set maxmemory-policy noeviction
        both values.do setlfu k 5
        both values.do getlfu k
    }

    test {the flags of OpenKey decide hits, misses and events} {
        both flushall
        both config resetstat
        both config set notify-keyspace-events KEA
        foreach how {r w rt rn rs re rx} { both values.key $how none; both values.key $how k }
        both set k v
        foreach how {r w rt rn rs re rx} { both values.key $how k }
        foreach field {keyspace_hits keyspace_misses} {
            assert_equal [s [at valkey] $field] [s [at ours] $field] $field
        }
    }

    test {a key that a module has changed and closed counts as changed for WATCH} {
        both select 0
        foreach how {set dma do} {
            foreach kind {ours valkey} {
                r [at $kind] set k v
                set c [valkey_client [at $kind]]
                $c watch k
                switch $how {
                    set { r [at $kind] values.set w k other }
                    dma { r [at $kind] values.dma w k 0 o }
                    do { r [at $kind] values.do signal k }
                }
                $c multi
                $c ping
                set $kind [$c exec]
                $c close
            }
            assert_equal $valkey $ours $how
            assert_equal {} $ours $how
        }
    }

    test {a client that waits for a key is served when a module creates it} {
        foreach {command arguments module} {
            blpop {l 0} {values.list w l rpush 0 x}
            bzpopmin {z 0} {values.zset w z add x 5}
            xread {block 0 streams x 0} {values.xadd w x 5-5 a b}
        } {
            foreach kind {ours valkey} {
                r [at $kind] del l z x
                set c [valkey_deferring_client [at $kind]]
                $c $command {*}$arguments
                wait_for_condition 100 20 {[s [at $kind] blocked_clients] == 1} else { fail "not blocked" }
                r [at $kind] {*}$module
                set $kind [$c read]
                $c close
            }
            assert_equal $valkey $ours $command
        }
    }
}
