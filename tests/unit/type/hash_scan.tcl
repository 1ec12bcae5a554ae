# HRANDFIELD and HSCAN.

# Pearson's statistic of counts that should be equal; with 1 - 1e-6 of all fair ones below this bound (Wilson, Hilferty).
proc chi_square {counts} {
    set mean [expr {[tcl::mathop::+ {*}$counts] / double([llength $counts])}]
    set sum 0
    foreach n $counts { set sum [expr {$sum + ($n - $mean) ** 2 / $mean}] }
    return $sum
}
proc chi_square_bound {freedom} {
    set v [expr {2.0 / (9 * $freedom)}]
    return [expr {$freedom * (1 - $v + 4.75 * sqrt($v)) ** 3}]
}

foreach {name limit suffix fields} [list packed 512 {} 10 listpack 512 [string repeat _ 20] 10 listpack 512 {} 100 \
        table 0 {} 10 table 0 {} 100 table 0 {} 1000] {
    start_server [list overrides [list hash-max-listpack-entries $limit] tags [list hash]] {
        set all {}
        for {set i 0} {$i < $fields} {incr i} {
            r hset k f$i$suffix $i
            lappend all f$i$suffix
        }

        test "HRANDFIELD replies one field, or null ($name, $fields)" {
            for {set i 0} {$i < 50} {incr i} { assert {[r hrandfield k] in $all} }
            assert_equal {} [r hrandfield none]
        }

        test "HRANDFIELD with a count replies different fields ($name, $fields)" {
            foreach count [list 0 1 2 [expr {$fields / 5}] [expr {$fields / 2}] [expr {$fields - 1}] $fields 100000] {
                set got [r hrandfield k $count]
                assert_equal [expr {min($count, $fields)}] [llength $got]
                assert_equal [llength $got] [llength [lsort -unique $got]]
                foreach f $got { assert {$f in $all} }
            }
        }

        test "HRANDFIELD with a negative count may repeat ($name, $fields)" {
            set got [r hrandfield k [expr {-3 * $fields}]]
            assert_equal [expr {3 * $fields}] [llength $got]
            foreach f [lsort -unique $got] { assert {$f in $all} }
        }

        test "HRANDFIELD WITHVALUES: pairs, flat in RESP2 and nested in RESP3 ($name, $fields)" {
            foreach count {1 3 -5 100000} {
                foreach {f v} [r hrandfield k $count withvalues] { assert_equal $v [r hget k $f] }
            }
            r hello 3
            foreach count {1 3 -5 100000} {
                set got [r hrandfield k $count WITHVALUES]
                assert_equal [expr {$count < 0 ? -$count : min($count, $fields)}] [llength $got]
                foreach pair $got { assert_equal [lindex $pair 1] [r hget k [lindex $pair 0]] }
            }
            r hello 2
        }

        test "HRANDFIELD is fair ($name, $fields)" {
            foreach how {one distinct repeated} {
                array unset hits
                foreach f $all { set hits($f) 0 }
                set rounds [expr {max(20 * $fields, 2000)}]
                switch $how {
                    one {
                        set d [valkey_deferring_client]
                        for {set i 0} {$i < $rounds} {incr i} { $d hrandfield k }
                        for {set i 0} {$i < $rounds} {incr i} { incr hits([$d read]) }
                        $d close
                    }
                    distinct {
                        set count [expr {max($fields / 5, 1)}]
                        for {set i 0} {$i < $rounds / $count} {incr i} {
                            foreach f [r hrandfield k $count] { incr hits($f) }
                        }
                    }
                    repeated { foreach f [r hrandfield k -$rounds] { incr hits($f) } }
                }
                set counts [lmap f $all { set hits($f) }]
                assert_lessthan [chi_square $counts] [chi_square_bound [expr {$fields - 1}]] $how
            }
        }

        test "HSCAN returns every field with its value ($name, $fields)" {
            foreach extra {{} {count 3} {count 1000}} {
                set cursor 0
                set got {}
                while 1 {
                    lassign [r hscan k $cursor {*}$extra] cursor items
                    foreach {f v} $items { dict set got $f $v }
                    if {$cursor == 0} break
                }
                assert_equal $fields [dict size $got]
                dict for {f v} $got { assert_equal f$v$suffix $f }
            }
        }

        test "HSCAN MATCH and NOVALUES ($name, $fields)" {
            set cursor 0
            set got {}
            while 1 {
                lassign [r hscan k $cursor match f*3$suffix novalues count 50] cursor items
                lappend got {*}$items
                if {$cursor == 0} break
            }
            assert_equal [lsort [lsearch -all -inline $all f*3$suffix]] [lsort -unique $got]
        }
    }
}

start_server {tags {hash}} {
    test {HRANDFIELD refuses bad arguments} {
        r hset k a 1
        set range "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
        foreach {error words} [list \
            "ERR value is not an integer or out of range" {x} \
            "ERR value is not an integer or out of range" {x withvalues} \
            "ERR syntax error" {1 withscores} \
            "ERR syntax error" {1 withvalues more} \
            $range {-9223372036854775808} \
            "ERR value is out of range" {-4611686018427387904 withvalues} \
            "ERR value is out of range" {4611686018427387904 withvalues}] {
            assert_error $error { r hrandfield k {*}$words } $words
        }
        assert_equal {a 1} [r hrandfield k 4611686018427387903 withvalues]
    }

    test {HSCAN refuses bad arguments} {
        r hset k a 1
        assert_error "ERR invalid cursor" { r hscan k x }
        assert_error "ERR syntax error" { r hscan k 0 count 0 }
        assert_error "ERR syntax error" { r hscan k 0 match }
        assert_error "ERR NOSCORES option can only be used in ZSCAN" { r hscan k 0 noscores }
        assert_error "ERR value is not an integer or out of range" { r hscan k 0 count x }
    }

    test {HSCAN returns all fields that stay while others are added and removed} {
        r del k
        config_set hash-max-listpack-entries 0
        for {set i 0} {$i < 500} {incr i} { r hset k stay$i x }
        set cursor 0
        set n 0
        array unset stayed
        while 1 {
            lassign [r hscan k $cursor count 5] cursor items
            foreach {f v} $items { set stayed($f) $v }
            for {set i 0} {$i < 20} {incr i} { r hset k come[incr n] x }
            for {set i 0} {$i < 10} {incr i} { r hdel k come[randomInt $n] }
            if {$cursor == 0} break
        }
        for {set i 0} {$i < 500} {incr i} { assert {[info exists stayed(stay$i)]} stay$i }
    }
}
