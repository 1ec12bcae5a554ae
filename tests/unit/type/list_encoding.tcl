# Lists: which encoding they have, at each limit, and how they change from one to the other.
source [file join [file dirname [info script]] list_util.tcl]

proc node_count {key} {
    regexp {ql_nodes:(\d+)} [r debug object $key] -> n
    return $n
}

start_server {overrides {enable-debug-command yes} tags {list needs:debug}} {
    test {a list is one listpack up to the number of elements, then a quicklist} {
        foreach limit {1 2 3 7 128} {
            config_set list-max-listpack-size $limit
            foreach push {lpush rpush} {
                r del k
                for {set i 1} {$i <= $limit} {incr i} {
                    r $push k $i
                    assert_encoding listpack k
                }
                r $push k one-more
                assert_encoding quicklist k
                assert_equal 2 [node_count k]
                # All at once.
                r del k
                r $push k {*}[numbers 1 $limit]
                assert_encoding listpack k
                r del k
                r $push k {*}[numbers 0 $limit]
                assert_encoding quicklist k
                assert_equal [expr {$limit + 1}] [r llen k]
            }
        }
        config_set list-max-listpack-size 0
        fill k a
        assert_encoding listpack k
        r rpush k b
        assert_encoding quicklist k
    }

    test {a list is one listpack up to the number of bytes, then a quicklist} {
        foreach {limit bytes} {-1 4096 -2 8192 -3 16384 -4 32768 -5 65536 -6 65536} {
            config_set list-max-listpack-size $limit
            r del k
            # 7 bytes of the listpack, 1000 + 4 an element
            set fits [expr {($bytes - 7) / 1004}]
            for {set i 0} {$i < $fits} {incr i} {
                r rpush k [string repeat x 1000]
                assert_encoding listpack k
            }
            r rpush k [string repeat x 1000]
            assert_encoding quicklist k
            assert_equal 2 [node_count k]
            fill k [string repeat x $bytes]
            assert_encoding quicklist k
            assert_equal $bytes [string length [r lindex k 0]]
        }
    }

    test {a number of elements is not the only limit: a listpack ends at 8 KiB then} {
        config_set list-max-listpack-size 128
        fill k {*}[lrepeat 8 [string repeat x 1000]]
        assert_encoding listpack k
        r rpush k [string repeat x 1000]
        assert_encoding quicklist k
    }

    test {only the lengths of its strings count for the size of a push} {
        config_set list-max-listpack-size -2
        # 7 bytes of the listpack, and these; what is there counts with what its entries take: 3 bytes each.
        foreach {element count} [list e 8185 12 4092 123456 1364 [string repeat x 100] 81] {
            foreach push {lpush rpush} {
                r del k
                r $push k {*}[lrepeat $count $element]
                assert_encoding listpack k
                assert_equal $count [r llen k]
                r del k
                r $push k {*}[lrepeat [expr {$count + 1}] $element]
                assert_encoding quicklist k
                assert_equal [expr {$count + 1}] [r llen k]
            }
        }
        r del k
        r lpush k {*}[numbers 1 1000]
        assert_equal [lreverse [numbers 1 1000]] [all k]
        fill k {*}[lrepeat 5000 e]
        r rpush k e
        assert_encoding quicklist k
        assert_equal 5001 [r llen k]
        r del k
        for {set i 0} {$i < 2729} {incr i} { r rpush k e }
        assert_encoding listpack k
        r rpush k e
        assert_encoding quicklist k
        # Entries without any length would never end.
        fill k {*}[lrepeat 100000 {}]
        assert_encoding quicklist k
    }

    test {a quicklist becomes a listpack at half the bytes or half the elements} {
        config_set list-max-listpack-size -2
        fill k {*}[lrepeat 3000 12345]
        while {[r object encoding k] eq {quicklist}} { r rpop k }
        assert_equal 1022 [r llen k]
        config_set list-max-listpack-size 128
        fill k {*}[lrepeat 100 [string repeat x 100]]
        r ltrim k 0 64
        assert_encoding quicklist k
        r rpop k
        assert_encoding listpack k
    }

    test {LINSERT and LSET turn a listpack into a quicklist} {
        config_set list-max-listpack-size 4
        fill k a b c d
        r linsert k before nothing x
        assert_encoding listpack k
        r linsert k after b x
        assert_encoding quicklist k
        assert_equal {a b x c d} [all k]

        config_set list-max-listpack-size -1
        set big [string repeat y 4096]
        fill k a b c
        assert_error "ERR index out of range" { r lset k 3 $big }
        assert_encoding listpack k
        r lset k 1 $big
        assert_encoding quicklist k
        assert_equal [list a $big c] [all k]
        assert_equal 3 [node_count k]
        r lset k 1 small
        assert_equal {a small c} [all k]
    }

    test {LSET by an element of the same size keeps a full listpack} {
        config_set list-max-listpack-size -1
        r del k
        while 1 {
            r rpush k [string repeat x 62]
            if {[r object encoding k] eq "quicklist"} break
        }
        r del full
        r rpush full {*}[lrange [all k] 0 end-1]
        assert_encoding listpack full
        for {set i 0} {$i < [r llen full]} {incr i} { r lset full $i [string repeat y 62] }
        assert_encoding listpack full
    }

    test {a quicklist becomes a listpack at half the number of elements} {
        config_set list-max-listpack-size 8
        foreach {command args} {lpop {} rpop {} lrem {1 e} lrem {-1 e} ltrim {1 -1} ltrim {0 -2} lmove {other left right} rpoplpush other} {
            fill k {*}[lrepeat 9 e]
            assert_encoding quicklist k
            for {set left 8} {$left > 0} {incr left -1} {
                r $command k {*}$args
                assert_equal [lrepeat $left e] [all k]
                if {[r object encoding k] eq "quicklist"} {
                    assert {$left > 4 || [node_count k] > 1} "$command, $left left"
                } else {
                    assert_lessthan_equal $left 4 $command
                }
            }
            assert_encoding listpack k
        }
        # By several at once, and it grows again.
        fill k {*}[numbers 1 30]
        r lpop k 27
        assert_encoding listpack k
        assert_equal {28 29 30} [all k]
        r rpush k {*}[numbers 31 35]
        assert_encoding listpack k
        r rpush k x
        assert_encoding quicklist k
    }

    test {a quicklist becomes a listpack at half the bytes} {
        config_set list-max-listpack-size -1
        fill k {*}[lrepeat 5 [string repeat x 1000]]
        assert_encoding quicklist k
        r rpop k
        r rpop k
        assert_encoding quicklist k
        r rpop k
        assert_equal 2 [r llen k]
        assert_encoding listpack k
    }

    test {a list that was popped empty and filled again is small again} {
        config_set list-max-listpack-size 2
        fill k a b c
        assert_encoding quicklist k
        r lpop k 3
        r rpush k a
        assert_encoding listpack k
    }

    test {new limits apply to lists that grow from now on} {
        config_set list-max-listpack-size 100
        fill k {*}[numbers 1 50]
        config_set list-max-listpack-size 10
        assert_encoding listpack k
        r rpush k 51
        assert_encoding quicklist k
        assert_equal [numbers 1 51] [all k]
        config_set list-max-listpack-size 200
        r rpop k
        assert_encoding listpack k
    }

    test {COPY keeps the encoding} {
        config_set list-max-listpack-size 3
        fill k a b c
        fill l a b c d
        r copy k k2 replace
        r copy l l2 replace
        assert_encoding listpack k2
        assert_encoding quicklist l2
    }

    test {equal lists have equal digests whatever their encoding} {
        config_set list-max-listpack-size 128
        fill k {*}[numbers 1 40] text
        config_set list-max-listpack-size 3
        fill l {*}[numbers 1 40] text
        assert_equal [r debug digest-value k] [r debug digest-value l]
        r lset l 3 other
        assert_not_equal [r debug digest-value k] [r debug digest-value l]
        # Order counts.
        fill k a b
        fill l b a
        assert_not_equal [r debug digest-value k] [r debug digest-value l]
    }

    test {DEBUG OBJECT describes a quicklist} {
        config_set list-max-listpack-size 4
        fill k a b c d e
        assert_match {*encoding:quicklist*ql_nodes:2 ql_avg_node:2.50 ql_listpack_max:4 ql_compressed:0 ql_uncompressed_size:*} \
            [r debug object k]
        fill k a
        assert_no_match {*ql_nodes*} [r debug object k]
    }

    test {an element too large for a listpack has a node of its own, in every place} {
        config_set list-max-listpack-size -1
        set big [string repeat z 5000]
        set bigger [string repeat w 9000]
        fill k a b $big c d
        assert_encoding quicklist k
        assert_equal [list a b $big c d] [all k]
        assert_equal 2 [r lpos k $big]
        r linsert k before b $bigger
        assert_equal [list a $bigger b $big c d] [all k]
        r lset k 1 $big
        assert_equal [list a $big b $big c d] [all k]
        assert_equal 2 [r lrem k 0 $big]
        assert_equal {a b c d} [all k]
        r lpush k $bigger
        assert_equal $bigger [r lpop k]
        r rpush k $bigger
        assert_equal $bigger [r rpoplpush k k]
        assert_equal [list $bigger a b c d] [all k]
    }

    test {inner nodes are compressed, and save memory} {
        config_set list-max-listpack-size -2
        set items [lrepeat 3000 [string repeat "much the same " 5]]
        foreach {key depth} {plain 0 one 1 two 2} {
            config_set list-compress-depth $depth
            set before [s used_memory]
            fill $key {*}$items
            set cost($key) [expr {[s used_memory] - $before}]
        }
        config_set list-compress-depth 0
        assert_lessthan $cost(one) [expr {$cost(plain) / 3}]
        assert_lessthan $cost(two) [expr {$cost(plain) / 2}]
        assert_lessthan $cost(one) $cost(two)
        assert_match {*ql_compressed:1*} [r debug object one]
        foreach key {one two} {
            assert_equal $items [all $key]
            r lset $key 1500 middle
            assert_equal 1500 [r lpos $key middle]
            r linsert $key after middle next
            assert_equal {middle next} [r lrange $key 1500 1501]
            assert_equal 1 [r lrem $key 0 next]
            assert_equal 3000 [r llen $key]
            assert_equal [r debug digest-value $key] [r debug digest-value $key]
        }
    }

    test {the directives have their limits and their other name} {
        assert_error "*argument must be between -2147483648 and 2147483647 inclusive*" { r config set list-max-listpack-size 2147483648 }
        assert_error "*argument must be between 0 and 2147483647 inclusive*" { r config set list-compress-depth -1 }
        config_set list-max-ziplist-size -3
        assert_equal -3 [config_get list-max-listpack-size]
        config_set list-max-listpack-size -2
        assert_equal -2 [config_get list-max-ziplist-size]
    }
}
