# INCREX (9.2 §3), with the bounds and PERSIST, ENX of #4679: replies, errors, expiry, encoding, propagation.

set notint "ERR Increment is not an integer or out of range"
set notfloat "ERR Increment is not a valid float"
set max 9223372036854775807
set min -9223372036854775808

start_server {tags {string}} {
    # ---- Adding ----

    test {INCREX replies the value and what was added (9.2 §3)} {
        r del k
        assert_equal {1 1} [r increx k]
        assert_equal {2 1} [r INCREX k]
        assert_equal {12 10} [r increx k byint 10]
        assert_equal {2 -10} [r increx k ByInt -10]
        assert_equal {2 0} [r increx k byint 0]
        assert_equal {*2 :3 :1} [wire increx k]
        assert_equal {3 int -1} [list [r get k] [r object encoding k] [r ttl k]]
        assert_error "ERR wrong number of arguments for 'increx' command" {r increx}
    }

    test {INCREX BYFLOAT: doubles in RESP3, bulk strings in RESP2} {
        r del f
        assert_equal {*2 $3 1.5 $3 1.5} [wire increx f byfloat 1.5]
        r hello 3
        assert_equal {*2 ,1.75 ,0.25} [wire increx f byfloat 0.25]
        assert_equal {*2 ,-10000000000000000000000000 ,-10000000000000000000000000} [wire increx f byfloat -1e25 xx lbound -1e25 saturate]
        assert_equal {*2 :0 :0} [wire increx none xx]
        assert_equal {*2 ,0 ,0} [wire increx none byfloat 1 xx]
        r hello 2
        assert_equal {*2 $1 0 $1 0} [wire increx none byfloat 1 xx]
    } {} {valgrind:skip}

    test {INCREX BYFLOAT: 0.1 + 0.2 is 0.3, zero has no sign, and an integer is stored as one} {
        r del f
        assert_equal {{0.1 0.1} {0.3 0.2} {1 0.7}} [list [r increx f byfloat 0.1] [r increx f byfloat 0.2] [r increx f byfloat 0.7]]
        assert_equal {1 int} [list [r get f] [r object encoding f]]
        assert_equal {2 1} [r increx f]
        assert_equal {0 -2} [r increx f byfloat -2]
        assert_equal {0 0 0} [concat [r increx f byfloat -0] [r get f]]
        assert_equal {0 0} [r increx g byfloat -1e-30]
        assert_equal 0 [r get g]
        assert_equal {2.5 2.5} [r increx f byfloat 25e-1]
        assert_equal embstr [r object encoding f]
    } {} {valgrind:skip}

    test {INCREX BYFLOAT: what was added is the difference of the values, at large magnitudes, too} {
        r set f 1e20
        assert_equal {100000000000000000000 0} [r increx f byfloat 0.25]
        assert_equal {100000000000000000008 8} [r increx f byfloat 7]
    } {} {valgrind:skip}

    test {INCREX NX and XX: a condition that fails gives the present value and 0} {
        r del k
        assert_equal {0 0} [r increx k xx byint 5]
        assert_equal 0 [r exists k]
        assert_equal {5 5} [r increx k nx byint 5]
        assert_equal {5 0} [r increx k nx byint 5 ex 100]
        assert_equal {5 0} [r increx k byfloat 1.5 nx]
        assert_equal {5 -1} [list [r get k] [r ttl k]]
        assert_equal {6 1} [r increx k xx]
        r set f 1.50
        assert_equal {1.5 0} [r increx f nx byfloat 1]
        assert_equal 1.50 [r get f]
    }

    test {INCREX that overflows changes nothing} {
        r set k $max ex 100
        assert_equal [list $max 0] [r increx k persist]
        assert_equal [list $max 0] [r increx k byint $max ex 5000]
        assert_equal 100 [r ttl k]
        r set k $min
        assert_equal [list $min 0] [r increx k byint -1]
        assert_equal [list $min 0] [r increx k byint $min]
        assert_equal [list -1 $max] [r increx k byint $max]
        r set f 1e4932
        set before [r get f]
        assert_equal 0 [lindex [r increx f byfloat 1e4932] 1]
        assert_equal $before [r get f]
    } {} {valgrind:skip}

    # ---- Bounds ----

    test {INCREX LBOUND and UBOUND: beyond them nothing changes (9.2 §3, #4679)} {
        r del k
        assert_equal {0 0} [r increx k byint 6 ubound 5]
        assert_equal {0 0} [r increx k byint -6 lbound -5 ex 100]
        assert_equal 0 [r exists k]
        assert_equal {5 5} [r increx k byint 5 ubound 5 lbound 5]
        assert_equal {5 0} [r increx k ubound 5 ex 100]
        assert_equal -1 [r ttl k]
        assert_equal {4 -1} [r increx k lbound 4 byint -1]
        assert_equal {4 0} [r increx k LBOUND 4 BYINT -1]
        r set k 20
        assert_equal {20 0} [r increx k byint -5 ubound 10] "still beyond it"
        assert_equal {10 -10} [r increx k byint -10 ubound 10]
        r set f 0.5
        assert_equal {0.5 0} [r increx f byfloat 0.1 ubound 0.55]
        assert_equal {0.6 0.1} [r increx f byfloat 0.1 ubound 0.6]
        assert_equal {0.5 -0.1} [r increx f byfloat -0.1 lbound -inf ubound +inf]
        assert_equal {0.5 0} [r increx f byfloat 1 lbound inf]
        assert_equal {0.5 0} [r increx f byfloat 1 ubound -inf]
    } {} {valgrind:skip}

    test {INCREX SATURATE: the nearest number that is allowed} {
        r del k
        assert_equal {5 5} [r increx k byint 7 ubound 5 saturate]
        assert_equal {5 0} [r increx k byint 7 saturate ubound 5]
        assert_equal {3 -2} [r increx k ubound 3 saturate] "what was added may have the other sign"
        assert_equal {10 7} [r increx k lbound 10 byint -3 saturate]
        r del k
        assert_equal {-2 -2} [r increx k ubound -2 saturate] "a missing key is created"
        r set k [expr {$max - 2}]
        assert_equal [list $max 2] [r increx k byint 5 saturate]
        assert_equal [list $max 0] [r increx k saturate]
        r set k $min
        assert_equal [list $min 0] [r increx k byint -1 saturate]
        assert_error "ERR applied increment would overflow" {r increx k lbound 0 saturate}
        r set k $max
        assert_error "ERR applied increment would overflow" {r increx k byint -1 ubound -2 saturate}
        assert_equal $max [r get k]
        r del f
        assert_equal {0.75 0.75} [r increx f byfloat 3 ubound 0.75 saturate]
        assert_equal {-0.5 -1.25} [r increx f byfloat -3 lbound -0.5 saturate]
    }

    test {INCREX SATURATE BYFLOAT: at the limit of long doubles, and infinite bounds} {
        r del f
        set top [lindex [r increx f byfloat 1e4932] 0]
        set limit [lindex [r increx f byfloat 1e4932 saturate] 0]
        assert_equal $limit [r get f]
        assert_morethan [string compare $limit $top] 0
        assert_equal [list $limit 0] [r increx f byfloat 1e4932 saturate ubound inf]
        assert_error "ERR applied increment would be Infinity" {r increx f byfloat -1 ubound -$limit saturate}
        assert_error "ERR applied increment would be Infinity" {r increx f byfloat 1 lbound inf saturate}
        assert_error "ERR applied increment would be Infinity" {r increx f byfloat 1 ubound -inf saturate}
        assert_equal $limit [r get f]
        r del f
        assert_error "ERR applied increment would be Infinity" {r increx f byfloat 1 lbound inf saturate}
        assert_equal 0 [r exists f]
    } {} {valgrind:skip}

    # ---- Errors ----

    test {INCREX: errors, which change nothing (9.2 §3)} {
        r set k 5 ex 1000
        r set f 1.5
        r set t text
        r set i inf
        r del l
        r rpush l x
        foreach {command error} [list \
            {increx k byint x} $notint {increx k byint} "ERR syntax error" {increx k byint 1.0} $notint {increx k byint 9223372036854775808} $notint \
            {increx k byint { 1}} $notint {increx k byfloat nan} $notfloat {increx k byfloat 1e99999} $notfloat {increx k byfloat x} $notfloat \
            {increx k byfloat {}} $notfloat {increx k byfloat} "ERR syntax error" {increx k byfloat inf} "ERR BYFLOAT increment cannot be Infinity" \
            {increx k byfloat -inf} "ERR BYFLOAT increment cannot be Infinity" {increx t} "ERR value is not an integer or out of range" \
            {increx f} "ERR value is not an integer or out of range" {increx t byfloat 1} "ERR value is not a valid float" \
            {increx i byfloat 1} "ERR value cannot be Infinity" {increx i byfloat 1 nx} "ERR value cannot be Infinity" \
            {increx k nx xx} "ERR syntax error" {increx k xx nx} "ERR syntax error" {increx k byint 1 byfloat 1} "ERR syntax error" \
            {increx k byfloat 1 byint 1} "ERR syntax error" {increx k byint 1 byint 1} "ERR syntax error" {increx k ex} "ERR syntax error" \
            {increx k ex 5 px 5} "ERR syntax error" {increx k 5} "ERR syntax error" {increx k keepttl} "ERR syntax error" {increx k get} "ERR syntax error" \
            {increx k lbound} "ERR syntax error" {increx k lbound 1 lbound 1} "ERR syntax error" {increx k ubound 1 ubound 1} "ERR syntax error" \
            {increx k persist ex 5} "ERR syntax error" {increx k ex 5 persist} "ERR syntax error" {increx k persist enx} "ERR syntax error" \
            {increx k ex 5 enx persist} "ERR syntax error" {increx k enx} "ERR ENX flag requires an expiration" \
            {increx k lbound 5 ubound 4} "ERR LBOUND can't be greater than UBOUND" {increx k byfloat 1 lbound inf ubound 4} "ERR LBOUND can't be greater than UBOUND" \
            {increx k lbound 1.5} "ERR LBOUND is not an integer or out of range" {increx k ubound inf} "ERR UBOUND is not an integer or out of range" \
            {increx k lbound nan byfloat 1} "ERR LBOUND is not a valid float" {increx k ubound x byfloat 1} "ERR UBOUND is not a valid float" \
            {increx k ex 0} "ERR invalid expire time in 'increx' command" {increx k px -1} "ERR invalid expire time in 'increx' command" \
            {increx k ex 9223372036854775807} "ERR invalid expire time in 'increx' command" {increx k ex x} "ERR value is not an integer or out of range" \
            {increx l} WRONGTYPE* {increx l xx byfloat 1} WRONGTYPE* {increx l pxat 1} WRONGTYPE* {increx t pxat 1} "ERR value is not an integer or out of range" \
        ] {
            assert_error $error { r {*}$command } $command
        }
        assert_equal {5 1.5 text inf {} 1000} [concat [r mget k f t i l] [r ttl k]]
    }

    # ---- Expiry ----

    test {INCREX keeps, sets, drops the expiry} {
        r set k 1 ex 100
        r increx k
        assert_range [r ttl k] 99 100
        r increx k ex 1000
        assert_range [r ttl k] 999 1000
        r increx k PX 5000000 byint 3
        assert_range [r ttl k] 4999 5000
        r increx k exat 4102444800
        assert_equal 4102444800000 [r pexpiretime k]
        r increx k pxat 4102444800123
        assert_equal 4102444800123 [r pexpiretime k]
        assert_equal {9 1} [r increx k persist]
        assert_equal -1 [r ttl k]
        assert_equal {10 1} [r increx k persist]
        assert_equal {1.5 1.5} [r increx new byfloat 1.5 ex 100]
        assert_range [r ttl new] 99 100
    }

    test {INCREX ENX: the expiry is set only if there is none} {
        r set k 1
        r increx k ex 100 enx
        r increx k enx ex 1000
        assert_range [r ttl k] 99 100
        r del k
        r increx k enx px 100000
        assert_range [r ttl k] 99 100
        assert_equal {3 2} [r increx k pxat 1 enx byint 2]
        assert_range [r ttl k] 99 100
    }

    test {INCREX with a time in the past: the key goes, the reply is the same} {
        r set k 5
        assert_equal {6 1} [r increx k pxat 1]
        assert_equal 0 [r exists k]
        assert_equal {1.5 1.5} [r increx k exat 1 byfloat 1.5]
        assert_equal 0 [r exists k]
        r set k 5
        assert_equal {5 0} [r increx k pxat 1 ubound 5]
        assert_equal {5 0} [r increx k pxat 1 nx]
        assert_equal 5 [r get k]
    }

    test {INCREX as a rate limiter: a window of its own for each key} {
        r del user
        set seen {}
        for {set i 0} {$i < 5} {incr i} { lappend seen [lindex [r increx user ex 60 enx ubound 3] 1] }
        assert_equal {1 1 1 0 0} $seen
        assert_range [r ttl user] 59 60
    }

    # ---- Random calls beside a model ----

    test {INCREX: random calls give what a model gives} {
        r del k
        set old {}
        for {set i 0} {$i < 3000} {incr i} {
            set by [randomElement [list 1 -1 0 7 -7 100 -100 $max $min [randomRange -50 50]]]
            lassign [lsort -integer [list [randomElement [list $min -40 0 [randomRange -60 60]]] [randomElement [list $max 40 [randomRange -60 60]]]]] low high
            set opts [list byint $by]
            set bounded [randomInt 2]
            if {$bounded} { lappend opts lbound $low ubound $high } else { lassign [list $min $max] low high }
            set saturate [randomInt 2]
            if {$saturate} { lappend opts saturate }
            set condition [randomElement {{} {} nx xx}]
            lappend opts {*}$condition
            set present [expr {$old eq {} ? 0 : $old}]
            set sum [expr {$present + $by}]
            set inside [expr {$sum >= $low && $sum <= $high}]
            if {$saturate} { set sum [expr {max($low, min($high, $sum))}] }
            set added [expr {$sum - $present}]
            if {($condition eq "nx" && $old ne {}) || ($condition eq "xx" && $old eq {}) || (!$inside && !$saturate)} {
                set expected [list $present 0]
            } elseif {$added > $max || $added < $min} {
                assert_error "ERR applied increment would overflow" { r increx k {*}$opts }
                continue
            } else {
                set expected [list $sum $added]
                set old $sum
            }
            assert_equal $expected [r increx k {*}$opts] $opts
            if {[randomInt 20] == 0} {
                r del k
                set old {}
            }
        }
        assert_equal $old [r get k]
    }
}

# ---- A replica of 9.1.2 ----

start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
    test {INCREX, DELEX, SET IFNE: a replica of 9.1.2 has the same data (9.2 §3)} {
        follow replica primary
        set at [at primary]
        for {set i 0} {$i < 2000} {incr i} {
            set key k[randomInt 6]
            set time [randomElement [list {} {} {ex 1000} {px 1000000} {exat 4102444800} {pxat 4102444800123} {pxat 1} {ex 1000 enx} persist]]
            set digest [randomElement [list 0123456789abcdef [r $at digest k0]]]
            set commands [list \
                [list set $key [randomRange -5 5] [randomElement {ifdeq ifdne}] $digest {*}[randomElement {{} keepttl get {ex 1000} {pxat 1}}]] \
                [list delex k0 [randomElement {ifdeq ifdne}] $digest] [list delex $key] \
                [list increx $key {*}$time] [list increx $key byfloat [randomElement {0.1 -0.25 1e-9 3}] {*}$time] \
                [list increx $key byint [randomRange -9 9] lbound -5 ubound 5 saturate {*}$time] \
                [list increx $key byfloat 100 ubound 3.5 saturate xx] [list increx $key nx {*}$time] \
                [list delex $key [randomElement {ifeq ifne}] [randomRange -5 5]] \
                [list set $key [randomRange -5 5] ifne [randomRange -5 5] {*}[randomElement {{} keepttl get {ex 1000} {pxat 4102444800123} {pxat 1}}]]]
            catch {r $at {*}[randomElement $commands]}
        }
        wait_for_offset replica primary
        foreach name {primary replica} {
            set states($name) [lmap key [lsort [r [at $name] keys *]] {
                list $key [r [at $name] get $key] [r [at $name] object encoding $key] [r [at $name] pexpiretime $key]
            }]
        }
        assert_equal $states(primary) $states(replica)
        assert_morethan [r $at dbsize] 0
    }
}
