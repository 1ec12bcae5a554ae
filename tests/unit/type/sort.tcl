# SORT: all sources and encodings, against sorting in Tcl; BY, GET, LIMIT, STORE, errors, key positions.

source [file join [file dirname [info script]] zset_util.tcl]

# ---- The same in Tcl ----

# Numbers are compared first, then texts.
proc by_number {a b} {
    set cmp [expr {[lindex $a 0] < [lindex $b 0] ? -1 : [lindex $a 0] > [lindex $b 0]}]
    return [expr {$cmp ? $cmp : [string compare [lindex $a 1] [lindex $b 1]]}]
}
proc model_sort {elements weights desc} {
    set pairs [lmap e $elements { list [expr {[dict exists $weights $e] ? [dict get $weights $e] : 0.0}] $e }]
    set sorted [lmap pair [lsort -command by_number $pairs] { lindex $pair 1 }]
    return [expr {$desc ? [lreverse $sorted] : $sorted}]
}
proc own_weights {elements} {
    set weights {}
    foreach e $elements { dict set weights $e [expr {double($e)}] }
    return $weights
}

# The elements in a value of that kind.
proc put {kind key elements} {
    r del $key
    switch $kind {
        list { r rpush $key {*}$elements }
        set { r sadd $key {*}$elements }
        zset { r zadd $key {*}[concat {*}[lmap e $elements { list [randomInt 10] $e }]] }
    }
}

proc distinct_numbers {count} {
    set seen {}
    while {[dict size $seen] < $count} {
        set n [expr {rand() < 0.5 ? [randomRange -1000 1000] : round(rand() * 1e5) / 100.0 - 500}]
        dict set seen $n 1
    }
    return [dict keys $seen]
}

foreach {name kind overrides count} {
    {short list} list {} 20
    {long list} list {list-max-listpack-size 3} 300
    {compressed list} list {list-max-listpack-size 3 list-compress-depth 1} 300
    {intset} set {} 1
    {small set} set {} 20
    {large set} set {} 300
    {small sorted set} zset {} 20
    {large sorted set} zset {zset-max-listpack-entries 0} 300
} {
    start_server [list overrides $overrides tags {sort}] {
        set elements [expr {$name eq {intset} ? {5 -3 10 9 100} : [distinct_numbers $count]}]
        put $kind k $elements
        set weights [own_weights $elements]

        test "slices without sorting ($name)" {
            set inOrder [switch $kind { list { r lrange k 0 -1 } zset { r zrange k 0 -1 } set { r smembers k } }]
            set backwards [expr {$kind eq {set} ? $inOrder : [lreverse $inOrder]}]
            assert_equal $inOrder [r sort k by nosort]
            assert_equal $backwards [r sort k by nosort desc]
            set n [llength $elements]
            foreach {offset count} [list 0 1 0 0 1 2 -3 2 [expr {$n / 2}] 10 [expr {$n - 1}] 5 $n 1 0 -1 2 -1 0 $n] {
                set first [expr {max($offset, 0)}]
                set last [expr {$count < 0 ? {end} : $first + $count - 1}]
                foreach {order all} [list asc $inOrder desc $backwards] {
                    assert_equal [lrange $all $first $last] [r sort k by nosort $order limit $offset $count] \
                        "$order $offset $count"
                }
            }
        }

        test "numbers, both ways ($name)" {
            assert_equal [model_sort $elements $weights 0] [r sort k]
            assert_equal [model_sort $elements $weights 1] [r sort k desc]
            assert_equal [r sort k] [r sort_ro k asc]
        }

        test "ALPHA ($name)" {
            assert_equal [lsort $elements] [r sort k alpha]
            assert_equal [lsort -decreasing $elements] [r sort k alpha desc]
        }

        test "LIMIT ($name)" {
            set sorted [r sort k]
            for {set i 0} {$i < 30} {incr i} {
                set from [randomRange -3 [expr {[llength $elements] + 3}]]
                set n [randomRange -2 [llength $elements]]
                set start [expr {max($from, 0)}]
                set expected [lrange $sorted $start [expr {$n < 0 ? {end} : $start + $n - 1}]]
                assert_equal $expected [r sort k limit $from $n] "limit $from $n"
            }
        }

        test "BY keys and BY fields of hashes ($name)" {
            set by_key {}
            set by_field {}
            foreach e $elements {
                set w [randomInt 10]
                if {$w < 8} {
                    r set w_$e $w
                    dict set by_key $e $w
                    r hset h_$e f [expr {-$w}] other x
                    dict set by_field $e [expr {-$w}]
                }
            }
            assert_equal [model_sort $elements $by_key 0] [r sort k by w_*]
            assert_equal [model_sort $elements $by_key 1] [r sort k by w_* desc]
            assert_equal [model_sort $elements $by_field 0] [r sort k by h_*->f]
            assert_equal [model_sort $elements {} 0] [r sort k by h_*->none]
            set expected {}
            foreach e [r sort k] { lappend expected $e [expr {[dict exists $by_key $e] ? [dict get $by_key $e] : {}}] }
            assert_equal $expected [r sort k get # get w_*]
        }

        test "STORE ($name)" {
            assert_equal [llength $elements] [r sort k store d]
            assert_type list d
            assert_equal [r sort k] [r lrange d 0 -1]
            assert_equal [expr {2 * [llength $elements]}] [r sort k get # get none_* store d]
            assert_equal {} [lindex [r lrange d 0 -1] 1]
            r set d string
            assert_equal 1 [r sort k limit 0 1 store d]
            assert_type list d
            assert_equal 0 [r sort k limit 0 0 store d]
            assert_equal 0 [r exists d]
            put $kind k2 $elements
            assert_equal [llength $elements] [r sort k2 store k2]
            assert_equal [r sort k] [r lrange k2 0 -1]
        }
    }
}

start_server {tags {sort}} {
    test {BY a constant does not sort} {
        r rpush l 3 1 2 10 -5
        assert_equal {3 1 2 10 -5} [r sort l by nosort]
        assert_equal {-5 10 2 1 3} [r sort l by nosort desc]
        assert_equal {1 2} [r sort l by nosort limit 1 2]
        assert_equal {3 1 2 10 -5} [r sort l by nosort by w_*] "once constant, always constant"
        assert_equal {3 1 2 10 -5} [r sort l by w_* by nosort]
        r zadd z 3 a 2 b 1 c 2.5 d
        assert_equal {c b d a} [r sort z by nosort]
        assert_equal {a d b c} [r sort z by nosort desc]
        assert_equal {b d} [r sort z by nosort limit 1 2]
        assert_equal {d b} [r sort z by nosort desc limit 1 2]
        assert_equal {a d} [r sort z by nosort desc limit -5 2]
        assert_equal {a} [r sort z by nosort limit 3 -1]
        r sadd s 10 9 100 a
        assert_equal {10 100 9 a} [lsort [r sort s by nosort]]
    }

    test {BY nosort sorts a set with STORE and in scripts} {
        r del s
        r sadd s 10 9 100 a
        assert_equal 4 [r sort s by nosort store d]
        assert_equal {10 100 9 a} [r lrange d 0 -1]
        r sort s by nosort desc store d
        assert_equal {a 9 100 10} [r lrange d 0 -1]
        assert_equal {10 100 9 a} [r eval {return redis.call('sort', KEYS[1], 'by', 'nosort')} 1 s]
        assert_equal {a 9 100 10} [r eval {return redis.call('sort_ro', KEYS[1], 'by', 'nosort', 'desc')} 1 s]
    }

    test {ALPHA with STORE compares all bytes; without, as strcoll() does, up to a NUL} {
        foreach values [list [list {} \0b \0a {}] [list x\0b x\0a x] [list aaaaaaaaaaa\0b aaaaaaaaaaa\0 aaaaaaaaaaa\0a aaaaaaaaaaa b a]] {
            r del l s
            r rpush l {*}$values
            r sort l alpha store d
            assert_equal [lsort $values] [r lrange d 0 -1]
            r sort l alpha desc limit 0 2 store d
            assert_equal [lrange [lsort -decreasing $values] 0 1] [r lrange d 0 -1]
            # The same values as weights.
            r del l
            for {set i 0} {$i < [llength $values]} {incr i} {
                r rpush l $i
                r set w_$i [lindex $values $i]
            }
            r sort l by w_* alpha get w_* store d
            assert_equal [lsort $values] [r lrange d 0 -1]
        }
        r del l
        r rpush l x\0b x\0a x
        assert_equal [list x\0b x\0a x] [r sort l alpha]
    }

    test {ALPHA BY with STORE: a table of members has no order to settle ties by} {
        r del s
        set members {}
        for {set i 0} {$i < 200} {incr i} { lappend members member:$i }
        r config set set-max-listpack-entries 128
        r sadd s {*}$members
        assert_encoding hashtable s
        r sort s by nosuch_* alpha store d
        assert_equal [lsort $members] [r lrange d 0 -1]
    }

    test {ALPHA BY: elements without a weight come first} {
        r del l
        r rpush l 1 2 3
        r mset w_1 pear w_3 apple
        r del w_2
        assert_equal {2 3 1} [r sort l by w_* alpha]
        assert_equal {1 3 2} [r sort l by w_* alpha desc]
    }

    test {patterns} {
        r flushall
        r rpush l 3
        r hset h_3 f value x-> arrow f->g both
        r mset h_3-> stars h_->3 prefix 3_* second 3 itself
        r hset x->h_3 f late
        r rpush a_3 list
        foreach {pattern expected} {
            h_*->f value  h_*->none {}  h_*->f->g both  h_*->x-> arrow  h_*-> stars  h_->* prefix  x->h_*->f late
            *_* second  * itself  # 3  a_* {}  a_*->f {}  h_* {}  3->f {}  3 {}  {} {}
        } {
            assert_equal [list $expected] [r sort l get $pattern] "GET $pattern"
        }
        assert_equal {{} 3 value} [r sort l get none_* get # get h_*->f]
        r hset h_3 f 1.5
        r hset number n 7
        assert_equal {1.5} [r sort l by h_*->f get h_*->f]
    }

    test {infinities, exponents and signs sort as numbers} {
        foreach {element like} {inf 1e308 -inf -1e308 -0 0 1e3 1000 +1 1 .5 0.5} {
            r del l
            r rpush l $element 0.75 -3 700 2000 10 20
            set below [llength [lsearch -all [lmap x {0.75 -3 700 2000 10 20} { expr {$x < $like} }] 1]]
            assert_equal $element [lindex [r sort l] $below] "'$element' sorts as $like"
        }
        set error {ERR One or more scores can't be converted into double}
        foreach element {x {} { 1} 0x10 {1 } nan 1e400 1e-400 1x {1 2} -} {
            r del l
            r rpush l $element
            assert_error $error { r sort l } "'$element'"
            r del l
            r rpush l 1
            r set w_1 $element
            assert_error $error { r sort l by w_* } "weight '$element'"
            assert_equal 1 [r sort l by w_* alpha]
        }
        r del l w_1
        r rpush l b a
        assert_error $error { r sort l store d }
        assert_equal 0 [r exists d]
        assert_equal {a b} [r sort l by none_*] "the elements are not looked at"
    }

    test {errors} {
        r flushall
        r set str x
        r hset hash f v
        r rpush l 1
        foreach key {str hash} {
            assert_error {WRONGTYPE*} { r sort $key }
            assert_error {WRONGTYPE*} { r sort $key by nosort }
            assert_error {ERR syntax error} { r sort $key foo }
        }
        foreach args {foo by get store limit {limit 1} {by w_* by} {asc x} {alpha 1}} {
            assert_error {ERR syntax error} { r sort l {*}$args } $args
        }
        assert_error {ERR syntax error} { r sort_ro l store d }
        foreach limit {{a 1} {1 a} {1.5 2} {9223372036854775808 1}} {
            assert_error {ERR value is not an integer or out of range} { r sort l limit {*}$limit }
        }
        assert_error {ERR wrong number of arguments*} { r sort }
        assert_equal {} [r sort nokey]
        assert_equal {} [r sort nokey by w_* get # limit 0 10]
        assert_equal {1} [r sort l limit 0 9223372036854775807]
        assert_equal {} [r sort l limit 9223372036854775807 9223372036854775807]
        r set d x
        assert_equal 0 [r sort nokey store d]
        assert_equal 0 [r exists d]
    }

    test {the last of options that contradict each other counts} {
        r del l
        r rpush l 1 3 2
        assert_equal {3 2 1} [r sort l asc desc]
        assert_equal {1 2 3} [r sort l desc asc]
        assert_equal {2 3} [r sort l limit 0 1 limit 1 5]
        r sort l store d store e
        assert_equal {0 1} [list [r exists d] [r exists e]]
    }

    test {an expired weight counts as missing} {
        r debug set-active-expire 0
        r del l
        r rpush l 1 2
        r set w_1 10 px 1
        r set w_2 5
        after 20
        assert_equal {1 2} [r sort l by w_*]
        assert_equal {{} 5} [r sort l get w_*]
        r debug set-active-expire 1
    } {} needs:debug

    test {replies in both protocols} {
        r del l
        r rpush l 2 1
        assert_equal {*4 $1 1 $-1 $1 2 $-1} [wire sort l get # get none_*]
        r hello 3
        assert_equal {*4 $1 1 _ $1 2 _} [wire sort l get # get none_*]
        assert_equal {*0} [wire sort nokey]
        r hello 2
    }

    test {the keys that SORT names} {
        assert_equal {k} [r command getkeys sort k]
        assert_equal {k d} [r command getkeys sort k by w_* get x store d]
        assert_equal {k e} [r command getkeys sort k store d store e]
        assert_equal {k} [r command getkeys sort k store]
        assert_equal {k} [r command getkeys sort k get store limit 1 store x]
        assert_equal {k zz} [r command getkeys sort k get STORE STORE zz]
        assert_equal {k} [r command getkeys sort_ro k by w_* get x]
        assert_equal {{k {RO access}} {d {OW update}}} [r command getkeysandflags sort k store d]
    }

    # Microseconds for a hundred calls.
    proc cost {args} {
        r config resetstat
        for {set i 0} {$i < 100} {incr i} { r {*}$args }
        regexp {cmdstat_sort:calls=100,usec=(\d+)} [r info commandstats] - usec
        return $usec
    }

    test {SORT without sorting costs only what it returns} {
        r del l z t few
        r rpush few 1 2 3 4 5 6 7 8 9 10
        set numbers {}
        for {set i 0} {$i < 100000} {incr i} { lappend numbers $i }
        r rpush l {*}$numbers
        r sadd t {*}$numbers
        r zadd z {*}[concat {*}[lmap n $numbers { list $n $n }]]
        set little [expr {[cost sort few by nosort] + 1000}]
        # Looking at all of them takes a thousand times as long.
        foreach key {l t z} { assert_lessthan [cost sort $key by nosort limit 0 10] [expr {10 * $little}] $key }
        foreach key {l z} { assert_lessthan [cost sort $key by nosort desc limit 0 10] [expr {10 * $little}] $key }
        assert_lessthan [cost sort z by nosort limit 50000 10] [expr {10 * $little}]
    }

    test {no name of a destination hides it from GETKEYS and from rules about keys (9.2 §3)} {
        r flushall
        r rpush l 2 1
        r acl setuser sorter reset on >p +@all ~l ~mine
        foreach destination {by get store limit asc desc alpha BY Store mine other} {
            foreach {rest result} {{} {1 2} {by nosort} {2 1} {get #} {1 2} {limit 0 1} 1 {asc} {1 2}} {
                assert_equal [list l $destination] [r command getkeys sort l store $destination {*}$rest] "$destination $rest"
                assert_equal [list l $destination] [r command getkeys sort l {*}$rest store nothing store $destination] "$destination $rest"
                set allowed [expr {$destination eq "mine" ? "OK" : "*access the '$destination' key*"}]
                assert_match $allowed [r acl dryrun sorter sort l store $destination {*}$rest] "$destination $rest"
                r sort l store $destination {*}$rest
                assert_equal $result [r lrange $destination 0 -1] "$destination $rest"
                assert_equal 2 [r dbsize]
                r del $destination
            }
        }
    }

    test {large results} {
        r del l
        set numbers [lmap i [lrepeat 20000 0] { randomInt 1000000 }]
        r rpush l {*}$numbers
        assert_equal [lsort -integer $numbers] [r sort l]
        assert_equal [lrange [lsort -integer -decreasing $numbers] 10 19] [r sort l desc limit 10 10]
        assert_equal 20000 [r sort l store d]
        assert_equal [lsort -integer $numbers] [r lrange d 0 -1]
    }
}
