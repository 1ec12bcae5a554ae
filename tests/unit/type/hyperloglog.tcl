# HyperLogLogs: accuracy, merging, the sparse limit, bytes of other servers, and corrupt values.

source [file join [file dirname [info script]] zset_util.tcl]

proc count_from {from count} {
    set list {}
    for {set i $from} {$i < $from + $count} {incr i} { lappend list $i }
    return $list
}
proc add_numbers {key from count} {
    for {} {$count > 0} {incr from 1000; incr count -1000} { r pfadd $key {*}[count_from $from [expr {min($count, 1000)}]] }
}
proc kind_of {key} { return [string range [r get $key] 4 4] }
set sparse "\x01"
set dense "\x00"

# Standard error is 0.81%.
proc assert_near {expected actual {sigmas 5}} {
    set slack [expr {max(1, $expected * 0.0081 * $sigmas)}]
    if {abs($actual - $expected) > $slack} { fail "$actual is too far from $expected" }
}

start_server {tags {hyperloglog}} {
    test {PFADD replies whether something changed} {
        assert_equal {1 0 1 0} [list [r pfadd h a] [r pfadd h a] [r pfadd h a b c] [r pfadd h c b]]
        assert_equal 3 [r pfcount h]
        assert_equal 1 [r pfadd empty]
        assert_equal 0 [r pfadd empty]
        assert_equal 0 [r pfcount empty]
        assert_equal 0 [r pfcount nokey]
        assert_type string h
        assert_encoding raw h
    }

    test {the bytes are those of other servers} {
        assert_equal 48594c4c01000000030000000000000060f38050b1844bfb80425a [binary encode hex [r get h]]
        assert_equal {Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603} [r pfdebug decode h]
        r set copy [binary decode hex 48594c4c01000000030000000000000060f38050b1844bfb80425a]
        assert_equal 0 [r pfadd copy a b c]
        assert_equal 3 [r pfcount copy]
    }

    test {the cached count is kept in the value} {
        r del h
        r pfadd h a
        assert_equal 80 [binary encode hex [string range [r get h] 15 15]]
        r pfcount h
        assert_equal 0100000000000000 [binary encode hex [string range [r get h] 8 15]]
        r pfadd h a
        assert_equal 0100000000000000 [binary encode hex [string range [r get h] 8 15]] "nothing changed"
        r pfadd h b
        assert_equal 80 [binary encode hex [string range [r get h] 15 15]]
    }

    test {accuracy} {
        set from 0
        foreach count {1 2 5 10 100 1000 10000 100000} {
            r del h
            add_numbers h $from $count
            assert_near $count [r pfcount h]
            incr from $count
        }
    }

    test {a sparse HyperLogLog becomes dense at hll-sparse-max-bytes} {
        foreach limit {0 18 30 200 3000 15000} {
            config_set hll-sparse-max-bytes $limit
            r del h
            set was_sparse 1
            for {set i 0} {$i < 2000} {incr i} {
                r pfadd h $i
                set size [r strlen h]
                set is_sparse [expr {[kind_of h] eq $sparse}]
                assert {!$is_sparse || $was_sparse} "it never goes back"
                assert_equal [expr {$is_sparse ? {sparse} : {dense}}] [r pfdebug encoding h]
                if {$is_sparse} { assert_lessthan_equal $size [expr {max($limit, 18)}] } else { assert_equal 12304 $size }
                set was_sparse $is_sparse
                if {!$is_sparse} break
            }
            assert_equal [expr {$limit < 15000}] [expr {!$was_sparse}] "limit $limit"
        }
        config_set hll-sparse-max-bytes 3000
    }

    test {sparse and dense count the same} {
        for {set i 0} {$i < 50} {incr i} {
            r del a b
            config_set hll-sparse-max-bytes 15000
            r pfadd a
            r pfadd b
            assert_equal 1 [r pfdebug todense b]
            foreach element [lrepeat [randomRange 1 300] {}] {
                set element [randomInt 500]
                assert_equal [r pfadd a $element] [r pfadd b $element]
            }
            assert_equal {sparse dense} [list [r pfdebug encoding a] [r pfdebug encoding b]]
            assert_equal [r pfcount a] [r pfcount b]
            assert_equal [r pfdebug getreg b] [r pfdebug getreg a]
            assert_equal {dense} [r pfdebug encoding a] "GETREG makes it dense"
            r pfcount a b
            assert_equal [r get a] [r get b]
        }
        config_set hll-sparse-max-bytes 3000
    }

    test {PFCOUNT of several keys, PFMERGE} {
        r del a b c d all
        add_numbers a 0 3000
        add_numbers b 2000 3000
        add_numbers c 100000 20
        add_numbers all 0 5000
        add_numbers all 100000 20
        assert_equal [r pfcount all] [r pfcount a b c nokey]
        assert_near 5020 [r pfcount a b c]
        assert_equal [r pfcount a] [r pfcount a a nokey]
        assert_equal OK [r pfmerge d a b c nokey]
        assert_equal [r pfcount all] [r pfcount d]
        assert_equal [r pfdebug getreg all] [r pfdebug getreg d]
        assert_equal OK [r pfmerge a b c]
        assert_equal [r pfcount all] [r pfcount a] "what was there stays"
        assert_equal OK [r pfmerge new]
        assert_equal 0 [r pfcount new]
        assert_equal 1 [r exists new]
        set before [r pfcount all]
        r pfmerge all
        assert_equal $before [r pfcount all]
    }

    test {merging keeps a sparse HyperLogLog sparse while it fits} {
        r del a b d
        r pfadd a {*}[count_from 0 20]
        r pfadd b {*}[count_from 10 20]
        r pfmerge d a b
        assert_equal {sparse} [r pfdebug encoding d]
        assert_near 30 [r pfcount d]
        r pfdebug todense b
        r pfmerge d b
        assert_equal {dense} [r pfdebug encoding d]
        config_set hll-sparse-max-bytes 20
        r del d
        r pfdebug todense a
        r pfmerge d a
        assert_equal {dense} [r pfdebug encoding d]
        config_set hll-sparse-max-bytes 3000
    }

    test {merging against the union, at random} {
        for {set i 0} {$i < 30} {incr i} {
            r del all d
            set keys {}
            for {set k 0} {$k < 4} {incr k} {
                r del part$k
                set elements [lmap x [lrepeat [randomInt 800] {}] { randomInt 3000 }]
                r pfadd part$k {*}$elements
                r pfadd all {*}$elements
                lappend keys part$k
            }
            assert_equal [r pfcount all] [r pfcount {*}$keys]
            r pfmerge d {*}$keys
            assert_equal [r pfcount all] [r pfcount d]
        }
    }

    test {keys keep their expiry} {
        r del h
        r pfadd h a
        r expire h 1000
        r pfadd h {*}[count_from 0 5000]
        r pfcount h
        r pfmerge h nokey
        assert_range [r ttl h] 900 1000
    }

    test {strings that are no HyperLogLog are refused} {
        set none {WRONGTYPE Key is not a valid HyperLogLog string value.}
        r pfadd good a
        foreach value [list {} x HYLL [string repeat x 100] "HYLL\x02[string repeat \0 11]" "hyll\x01[string repeat \0 20]" \
                "HYLL\x00[string repeat \0 12298]" "HYLL\x00[string repeat \0 12300]" "HYLL\x01[string repeat \0 10]"] {
            r set bad $value
            foreach command {{pfadd bad a} {pfcount bad} {pfcount good bad} {pfmerge bad good} {pfmerge d good bad}
                    {pfdebug getreg bad}} {
                assert_error $none { r {*}$command } "$command of [string range $value 0 20]"
            }
            assert_equal $value [r get bad]
        }
        r set bad "HYLL\x00[string repeat \0 12299]"
        assert_equal 1 [r pfadd bad a]
        r rpush list x
        foreach command {{pfadd list a} {pfcount list} {pfmerge list good} {pfmerge d list} {pfdebug encoding list}} {
            assert_error {WRONGTYPE Operation against*} { r {*}$command } $command
        }
    }

    test {PFADD that finds corrupt registers changes nothing} {
        # Half of the registers are missing: some elements find theirs, others do not.
        set broken "HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x5f\xff"
        set corrupt {INVALIDOBJ Corrupted HLL object detected}
        r set k $broken
        set dirty [s rdb_changes_since_last_save]
        assert_error $corrupt { r pfadd k {*}[numbers 1 200] }
        assert_equal $broken [r get k]
        assert_equal $dirty [s rdb_changes_since_last_save]
        # One that finds its register is added all the same.
        set added 0
        foreach element [numbers 1 20] { if {![catch { r pfadd k $element }]} { incr added } }
        assert_morethan $added 0
    }

    test {corrupt sparse registers are an error} {
        set corrupt {INVALIDOBJ Corrupted HLL object detected}
        set head "HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80"
        r del d
        r pfadd good a
        # None, too few, too many registers; half an opcode.
        foreach runs [list {} "\x00" "\x7f\xfe" "\x7f\xff\x00" "\x7f\xff\x7f\xff" "\x7f\xfe\x40" "\x40"] {
            r set bad $head$runs
            foreach command {{pfcount bad} {pfcount good bad} {pfmerge d bad} {pfmerge bad good} {pfdebug getreg bad} {pfdebug todense bad}} {
                assert_error $corrupt { r {*}$command } "$command of [binary encode hex $runs]"
            }
            assert_equal $head$runs [r get bad]
        }
        assert_equal 0 [r exists d]
    }

    test {garbage does not crash the server} {
        for {set i 0} {$i < 500} {incr i} {
            r del bad
            r pfadd bad {*}[count_from [randomInt 100000] [randomInt 40]]
            for {set n [randomRange 1 4]} {$n} {incr n -1} {
                r setrange bad [randomRange 5 [r strlen bad]] [randstring 1 3]
            }
            catch { r pfadd bad {*}[count_from 0 20] }
            catch { r pfcount bad }
            catch { r pfcount bad good }
            catch { r pfmerge bad good }
            catch { r pfmerge d bad }
            catch { r pfdebug decode bad }
            catch { r pfdebug getreg bad }
        }
        assert_equal PONG [r ping]
    }

    test {PFDEBUG and PFSELFTEST} {
        r del h
        assert_error {ERR The specified key does not exist} { r pfdebug encoding h }
        r pfadd h a
        assert_equal 16384 [llength [r pfdebug getreg h]]
        assert_equal 1 [llength [lsearch -all -not [r pfdebug getreg h] 0]]
        assert_equal 0 [r pfdebug todense h]
        assert_error {ERR HLL encoding is not sparse} { r pfdebug decode h }
        assert_error {ERR Unknown PFDEBUG subcommand*} { r pfdebug word h }
        assert_equal OK [r pfselftest]
    }

    test {errors of the number of arguments} {
        foreach command {pfadd pfcount pfmerge {pfdebug encoding}} {
            assert_error {ERR wrong number of arguments*} { r {*}$command } $command
        }
    }

    test {hll-sparse-max-bytes} {
        assert_equal 3000 [config_get hll-sparse-max-bytes]
        assert_error {ERR CONFIG SET failed*} { r config set hll-sparse-max-bytes -1 }
    }
}
