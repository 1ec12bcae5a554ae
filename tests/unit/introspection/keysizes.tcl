# INFO keysizes: keys by size, as Redis 8 shows them; exact while there are few keys, by a walk in the background beyond.

proc keysizes {} { return [lrange [split [string trimright [string map {\r {}} [r info keysizes]] \n] \n] 1 end] }

# Lines without the fields that only a walk in the background has.
proc distributions {} { return [lsearch -all -inline [keysizes] *_distrib_*] }

# How Redis writes the bin of a size: the largest power of two that is not above it.
proc bin_name {size} {
    if {$size == 0} { return 0 }
    set bin 1
    while {2 * $bin <= $size} { set bin [expr {2 * $bin}] }
    foreach {unit bytes} {G 1073741824 M 1048576 K 1024} { if {$bin >= $bytes} { return [expr {$bin / $bytes}]$unit } }
    return $bin
}

# The line for these sizes.
proc line_of {db name sizes} {
    set counts {}
    foreach size [lsort -integer $sizes] { dict incr counts [bin_name $size] }
    return "db${db}_distrib_$name:[join [lmap {bin n} $counts { set _ $bin=$n }] ,]"
}

proc numbers {n} { set l {}; for {set i 0} {$i < $n} {incr i} { lappend l $i }; return $l }

start_server {overrides {save {}} tags {introspection}} {
    test {INFO keysizes without keys} { assert_equal "# Keysizes\r\n" [r info keysizes] }

    test {INFO keysizes: the section shows by its name, and with all and everything} {
        foreach words {keysizes all everything} { assert_match "*# Keysizes\r\n*" [r info $words] }
        foreach words {{} default} { assert_no_match *Keysizes* [r info {*}$words] }
    }

    test {INFO keysizes: strings by bytes, numbers by their digits} {
        set sizes {0 1 2 3 4 5 7 8 15 16 31 32 63 64 127 128 511 512 1023 1024 2047 2048 65535 65536 1048575 1048576 5000000}
        foreach size $sizes { r set k:$size [string repeat x $size] }
        assert_equal [list [line_of 0 strings_sizes $sizes]] [keysizes]
        r set n 12345
        r set m -9223372036854775808
        lappend sizes 5 20
        assert_equal [list [line_of 0 strings_sizes $sizes]] [keysizes]
        r append n 6789
        r setbit bits 80000 1
        assert_equal [list [line_of 0 strings_sizes [concat [lreplace $sizes end-1 end] {9 20 10001}]]] [keysizes]
        r flushall
    }

    test {INFO keysizes: other types by elements, in this order, small and large encodings} {
        foreach n {1 3 200 5000} {
            r rpush l$n {*}[numbers $n]
            r sadd s$n {*}[numbers $n]
            r sadd t$n {*}[lmap x [numbers $n] { set _ member$x }]
            r zadd z$n {*}[concat {*}[lmap x [numbers $n] { list $x $x }]]
            r hset h$n {*}[concat {*}[lmap x [numbers $n] { list $x $x }]]
        }
        r xadd x * a b
        r set a b
        set all {1 3 200 5000}
        set expected [list db0_distrib_strings_sizes:1=1 [line_of 0 lists_items $all] [line_of 0 sets_items [concat $all $all]] [line_of 0 zsets_items $all] \
                          [line_of 0 hashes_items $all]]
        assert_equal $expected [keysizes]
        config_set zset-index btree
        r del z5000
        r zadd z5000 {*}[concat {*}[lmap x [numbers 5000] { list $x $x }]]
        assert_equal $expected [keysizes]
        config_set zset-index skiplist
        foreach path {a b c} { r phset p $path FIELDS 1 f v }
        assert_equal [concat $expected db0_distrib_pathhashes_items:2=1] [keysizes]
        r flushall
    }

    test {INFO keysizes: databases in their order; an expired field or key counts while it is there} {
        r debug set-active-expire 0
        foreach db {11 0 2} {
            r select $db
            r set k v
        }
        r select 0
        r hset h a 1 b 2
        r hpexpire h 1 fields 1 a
        r set gone xx px 1
        after 10
        assert_equal {db0_distrib_strings_sizes:1=1,2=1 db0_distrib_hashes_items:2=1 db2_distrib_strings_sizes:1=1 db11_distrib_strings_sizes:1=1} [keysizes]
        r debug set-active-expire 1
        wait_for_condition 100 20 {[lindex [keysizes] 0] eq "db0_distrib_strings_sizes:1=1"} else { fail [keysizes] }
        r flushall
    } {} {needs:debug}

    test {key-memory-histograms: the memory of all types but strings} {
        foreach {command arguments} {rpush {1 2 3} sadd {1 2} zadd {1 a} hset {a 1}} { r $command $command {*}$arguments }
        r rpush large {*}[lrepeat 1000 [string repeat x 100]]
        r set s v
        assert_equal 5 [llength [keysizes]]
        config_set key-memory-histograms yes
        set lines [keysizes]
        set names {strings_sizes lists_items sets_items zsets_items hashes_items lists_sizes sets_sizes zsets_sizes hashes_sizes}
        assert_equal [lmap name $names { set _ db0_distrib_$name }] [lmap line $lines { lindex [split $line :] 0 }]
        foreach {type keys} {lists {rpush large} sets sadd zsets zadd hashes hset} {
            set line [lsearch -inline $lines *_${type}_sizes*]
            set total 0
            foreach {- - n} [regexp -all -inline {(\d+[KM]?)=(\d+)} $line] { incr total $n }
            assert_equal [llength $keys] $total $line
        }
        assert_match *:*,64K=1 [lsearch -inline $lines *_lists_sizes*]
        config_set key-memory-histograms no
        r flushall
    }

    test {INFO keysizes: with many keys a walk in the background, whose age is shown} {
        r debug populate 30000 key 20
        r select 3
        r rpush l a b
        set lines [keysizes]
        assert_equal {keysizes_age_seconds:-1 keysizes_keys_in_progress:0} $lines
        wait_for_condition 3000 10 {[llength [set lines [keysizes]]] > 2} else { fail "the walk does not end: $lines" }
        assert_equal {keysizes_age_seconds:0 keysizes_keys_in_progress:0 db0_distrib_strings_sizes:16=30000 db3_distrib_lists_items:2=1} $lines
        # The next walk begins after a pause, and only if somebody asks.
        r rpush l c d
        wait_for_condition 3000 10 {[lindex [set lines [keysizes]] end] eq "db3_distrib_lists_items:4=1"} else { fail $lines }
        r select 0
        r flushall
        assert_equal {} [keysizes]
    } {} {needs:debug}

    test {INFO keysizes: a walk goes on while keys come and go} {
        r debug populate 20000 key 20
        keysizes
        for {set i 0} {$i < 20000} {incr i 10} { r del key:$i }
        # The figures of the walk before this one are 30000.
        wait_for_condition 3000 10 {[regexp {^db0_distrib_strings_sizes:16=(\d+)$} [lindex [distributions] 0] -> n] && $n != 30000} else { fail [keysizes] }
        assert_range $n 17900 20000
        r swapdb 0 1
        r flushall
        assert_equal {} [keysizes]
    } {} {needs:debug}
}

start_server {overrides {cluster-enabled yes save {}} tags {introspection cluster:skip external:skip}} {
    test {INFO keysizes with a table for each slot} {
        r cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[regexp cluster_state:ok [r cluster info]]} else { fail "not ok" }
        for {set i 0} {$i < 100} {incr i} { r set k$i [string repeat x $i] }
        assert_equal [list [line_of 0 strings_sizes [numbers 100]]] [keysizes]
    }
}
