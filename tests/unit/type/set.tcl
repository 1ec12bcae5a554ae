# Sets: every command, the three encodings and the borders between them, errors, both protocols, fairness.

source [file join [file dirname [info script]] zset_util.tcl]

proc make_set {key args} {
    r del $key
    r sadd $key {*}$args
}
proc sorted {list} { lsort $list }
proc names {count} { lmap i [numbers 1 $count] { set _ m$i } }

# Pearson's statistic of counts that should be equal. With n - 1 degrees of freedom its mean is n - 1 and its
# variance 2(n - 1); six deviations above the mean do not happen by chance.
proc assert_uniform {counts expected_keys} {
    set n [llength $expected_keys]
    set total 0
    foreach k $expected_keys {
        if {![dict exists $counts $k]} { fail "$k was never chosen" }
        incr total [dict get $counts $k]
    }
    assert_equal $n [dict size $counts]
    set mean [expr {double($total) / $n}]
    set chi 0
    foreach k $expected_keys { set chi [expr {$chi + ([dict get $counts $k] - $mean) ** 2 / $mean}] }
    set limit [expr {$n - 1 + 6 * sqrt(2.0 * ($n - 1))}]
    if {$chi > $limit} { fail "chi-square $chi is over $limit: $counts" }
}

foreach {encoding overrides members} {
    intset {} {1 2 3 4 5}
    listpack {} {a b 3 dd 55}
    hashtable {set-max-listpack-entries 0 set-max-intset-entries 0} {a b 3 dd 55}
} {
    start_server [list overrides $overrides tags set] {
        test "SADD, SREM, SCARD, SISMEMBER, SMISMEMBER ($encoding)" {
            make_set s {*}$members
            assert_encoding $encoding s
            lassign $members first second
            assert_equal 5 [r scard s]
            assert_equal 0 [r sadd s $first $second]
            assert_equal 1 [r sismember s $first]
            assert_equal 0 [r sismember s 99]
            assert_equal {1 0 1} [r smismember s $first 99 $second]
            assert_equal {0 0} [r smismember none a b]
            assert_equal 0 [r scard none]
            assert_equal 2 [r srem s $first $second 99 $first]
            assert_equal [sorted [lrange $members 2 end]] [sorted [r smembers s]]
            assert_equal 3 [r srem s {*}$members]
            assert_equal 0 [r exists s]
            assert_equal 0 [r srem s a]
        }

        test "SMOVE ($encoding)" {
            make_set s {*}$members
            make_set t [lindex $members 0]
            assert_equal 1 [r smove s t [lindex $members 1]]
            assert_equal 0 [r smove s t [lindex $members 1]]
            assert_equal 1 [r smove s t [lindex $members 0]]
            assert_equal [sorted [lrange $members 0 1]] [sorted [r smembers t]]
            assert_equal 3 [r scard s]
            assert_equal 1 [r smove s s [lindex $members 2]]
            assert_equal 0 [r smove s s 99]
            assert_equal 0 [r smove none s 99]
            r del new
            foreach m [lrange $members 2 end] { assert_equal 1 [r smove s new $m] }
            assert_equal 0 [r exists s]
            assert_equal 3 [r scard new]
        }

        test "SINTERSTORE makes an intset of integers, whatever they came from ($encoding)" {
            make_set s {*}$members 1 2 3 4 5 word
            r srem s word a b dd 55
            assert_equal {1 2 3 4 5} [sorted [r smembers s]]
            set limit [config_get set-max-intset-entries]
            foreach {entries intset} {512 1 4 0} {
                r config set set-max-intset-entries $entries
                r sinterstore new s s
                assert_equal $intset [expr {[r object encoding new] eq {intset}}]
            }
            r config set set-max-intset-entries $limit
        }

        test "SINTER, SUNION, SDIFF and their STORE forms ($encoding)" {
            make_set s {*}$members
            make_set t {*}[lrange $members 0 2] x y 77
            make_set u {*}[lrange $members 1 2]
            set both [sorted [lrange $members 0 2]]
            assert_equal $both [sorted [r sinter s t]]
            assert_equal [sorted [lrange $members 1 2]] [sorted [r sinter s t u]]
            assert_equal [sorted [concat $members x y 77]] [sorted [r sunion s t u]]
            assert_equal [sorted [lrange $members 3 4]] [sorted [r sdiff s t u]]
            assert_equal {} [r sinter s none]
            assert_equal {} [r sdiff none s]
            assert_equal {} [r sdiff s s]
            assert_equal [sorted $members] [sorted [r sunion s none]]
            assert_equal 3 [r sinterstore d s t]
            assert_equal $both [sorted [r smembers d]]
            assert_equal 8 [r sunionstore d s t]
            assert_equal 2 [r sdiffstore d s t]
            assert_equal [sorted [lrange $members 3 4]] [sorted [r smembers d]]
            assert_equal 5 [r sunionstore s s u]
            assert_equal [sorted $members] [sorted [r smembers s]]
            assert_equal 0 [r sinterstore d s none]
            assert_equal 0 [r exists d]
        }

        test "SINTERCARD ($encoding)" {
            make_set s {*}$members
            make_set t {*}[lrange $members 0 2] x
            assert_equal 3 [r sintercard 2 s t]
            assert_equal 2 [r sintercard 2 s t limit 2]
            assert_equal 3 [r sintercard 2 s t LIMIT 0]
            assert_equal 3 [r sintercard 2 s t limit 10]
            assert_equal 0 [r sintercard 2 s none]
            assert_equal 5 [r sintercard 1 s]
        }

        test "SUNIONCARD and SDIFFCARD ($encoding)" {
            make_set s {*}$members
            make_set t {*}[lrange $members 0 2] x y 77
            make_set u {*}[lrange $members 1 2]
            foreach {words reply} {
                {sunioncard 1 s} 5 {sunioncard 3 s t u} 8 {sunioncard 2 u s} 5 {sunioncard 3 s s s} 5 {sunioncard 2 s none} 5
                {sunioncard 1 none} 0 {sunioncard 2 none gone} 0
                {sunioncard 2 s t limit 0} 8 {sunioncard 2 s t LIMIT 7} 7 {sunioncard 2 s t limit 8} 8 {sunioncard 2 s t limit 99} 8
                {sunioncard 2 s t limit 3} 3 {sunioncard 1 s limit 2} 2
                {sunioncard 3 s t u approx} 8 {sunioncard 1 s APPROX} 5 {sunioncard 2 s t approx limit 7} 7 {sunioncard 2 s t limit 2 approx} 2
                {sunioncard 2 none gone approx} 0
                {sdiffcard 1 s} 5 {sdiffcard 2 s t} 2 {sdiffcard 3 s t u} 2 {sdiffcard 2 u s} 0 {sdiffcard 2 s s} 0 {sdiffcard 2 s none} 5
                {sdiffcard 2 none s} 0 {sdiffcard 2 t u limit 0} 4 {sdiffcard 2 t u limit 3} 3 {sdiffcard 2 t u limit 4} 4 {sdiffcard 2 t u limit 5} 4
                {sdiffcard 1 s limit 1} 1
            } {
                assert_equal $reply [r {*}$words] $words
            }
        }

        test "SPOP ($encoding)" {
            make_set s {*}$members
            set popped [r spop s]
            assert {$popped in $members}
            assert_equal 0 [r sismember s $popped]
            lappend popped {*}[r spop s 2]
            assert_equal 2 [r scard s]
            lappend popped {*}[r spop s 100]
            assert_equal [sorted $members] [sorted $popped]
            assert_equal 0 [r exists s]
            assert_equal {} [r spop s]
            assert_equal {} [r spop s 3]
            make_set s {*}$members
            assert_equal {} [r spop s 0]
            assert_equal 5 [r scard s]
        }

        test "SRANDMEMBER ($encoding)" {
            make_set s {*}$members
            assert {[r srandmember s] in $members}
            assert_equal {} [r srandmember none]
            assert_equal {} [r srandmember none 3]
            assert_equal {} [r srandmember s 0]
            assert_equal [sorted $members] [sorted [r srandmember s 100]]
            for {set i 0} {$i < 20} {incr i} {
                set three [r srandmember s 3]
                assert_equal 3 [llength [lsort -unique $three]]
                foreach m [concat $three [r srandmember s -30]] { assert {$m in $members} }
            }
            assert_equal 30 [llength [r srandmember s -30]]
            assert_equal 5 [r scard s]
        }

        test "random members are chosen fairly ($encoding)" {
            make_set s {*}$members
            foreach {how command} {
                one {list [r srandmember s]} repeated {r srandmember s -10} distinct {r srandmember s 2}
            } {
                set counts {}
                while {[dict size $counts] == 0 || [tcl::mathop::+ {*}[dict values $counts]] < 5000} {
                    foreach m [eval $command] { dict incr counts $m }
                }
                assert_uniform $counts $members
            }
            set counts {}
            for {set i 0} {$i < 1000} {incr i} {
                make_set s {*}$members
                dict incr counts [r spop s]
            }
            assert_uniform $counts $members
        }

        test "SSCAN ($encoding)" {
            make_set s {*}$members
            lassign [r sscan s 0 count 100] cursor items
            assert_equal 0 $cursor
            assert_equal [sorted $members] [sorted $items]
            assert_equal [lindex $members 2] [lindex [r sscan s 0 match 3 count 100] 1]
            assert_equal {0 {}} [r sscan none 0]
        }

        test "COPY, RENAME, DEBUG DIGEST-VALUE ($encoding)" {
            make_set s {*}$members
            r copy s t replace
            assert_encoding $encoding t
            assert_equal [r debug digest-value s] [r debug digest-value t]
            r srem t [lindex $members 0]
            assert_equal 5 [r scard s]
            assert {[r debug digest-value s] ne [r debug digest-value t]}
            r sadd t [lindex $members 0]
            assert_equal [r debug digest-value s] [r debug digest-value t]
            r rename t v
            assert_equal [sorted $members] [sorted [r smembers v]]
            r del s v
        }
    }
}

start_server {tags set} {
    test "integers stay an intset up to set-max-intset-entries" {
        make_set s {*}[numbers 1 512]
        assert_encoding intset s
        r sadd s 513
        assert_encoding hashtable s
        assert_equal 513 [r scard s]
        assert_equal [numbers 1 513] [lsort -integer [r smembers s]]
    }

    test "an intset that gets a name turns into a listpack, or a hashtable when that is too long" {
        make_set s {*}[numbers 1 127]
        r sadd s name
        assert_encoding listpack s
        assert_equal [sorted [concat [numbers 1 127] name]] [sorted [r smembers s]]
        make_set s {*}[numbers 1 128]
        r sadd s name
        assert_encoding hashtable s
        make_set s 1 2
        r sadd s [string repeat x 65]
        assert_encoding hashtable s
    }

    test "names stay a listpack up to set-max-listpack-entries and -value" {
        make_set s {*}[names 128]
        assert_encoding listpack s
        r sadd s more
        assert_encoding hashtable s
        assert_equal [sorted [concat [names 128] more]] [sorted [r smembers s]]
        make_set s [string repeat x 64]
        assert_encoding listpack s
        r sadd s [string repeat y 65]
        assert_encoding hashtable s
        make_set s [string repeat x 65]
        assert_encoding hashtable s
    }

    test "many members at once choose the encoding early" {
        make_set s {*}[names 129]
        assert_encoding hashtable s
        make_set s {*}[numbers 1 600]
        assert_encoding hashtable s
        make_set s 1 2 3 x
        assert_encoding listpack s
    }

    test "integers of all widths" {
        set ints {-9223372036854775808 -2147483649 -2147483648 -32769 -32768 -1 0 1 32767 32768 2147483647 2147483648
            9223372036854775807}
        make_set s {*}$ints
        assert_encoding intset s
        assert_equal [list {*}$ints] [r smembers s]
        foreach i $ints { assert_equal 1 [r sismember s $i] }
        foreach odd {-0 +1 01 1.0 {} { 1} 9223372036854775808} { assert_equal 0 [r sismember s $odd] $odd }
        foreach i $ints { assert_equal 1 [r srem s $i] }
        assert_equal 0 [r exists s]
    }

    test "odd members: empty, binary, 254, 255 and 70000 bytes" {
        set odd [list "" "\x00\xff\r\n" [string repeat a 254] [string repeat b 255] [string repeat c 256] [string repeat d 70000]]
        make_set s {*}$odd
        assert_encoding hashtable s
        foreach m $odd { assert_equal 1 [r sismember s $m] }
        assert_equal [sorted $odd] [sorted [r smembers s]]
        assert_equal 6 [r srem s {*}$odd]
    }

    test "errors" {
        r set str x
        r del s
        foreach words {
            {sadd str a} {srem str a} {smembers str} {scard str} {sismember str a} {smismember str a} {spop str} {spop str 1}
            {srandmember str} {srandmember str 1} {sscan str 0} {smove str s a} {sinter str} {sinter s str} {sunion s str}
            {sdiff s str} {sinterstore d s str} {sunionstore d str} {sdiffstore d s str} {sintercard 1 str}
        } {
            assert_error "WRONGTYPE*" { r {*}$words } $words
        }
        make_set s a b
        assert_error "WRONGTYPE*" { r smove s str a }
        assert_equal 2 [r scard s]
        foreach {error words} {
            "ERR value is out of range, must be positive" {spop s -1}
            "ERR value is out of range, must be positive" {spop s x}
            "ERR syntax error" {spop s 1 2}
            "ERR syntax error" {srandmember s 1 2}
            "ERR value is not an integer or out of range" {srandmember s x}
            "ERR numkeys should be greater than 0" {sintercard 0 s}
            "ERR numkeys should be greater than 0" {sintercard x s}
            "ERR Number of keys can't be greater than number of args" {sintercard 3 s s}
            "ERR LIMIT can't be negative" {sintercard 1 s limit -1}
            "ERR syntax error" {sintercard 1 s nosuch 1}
            "ERR syntax error" {sintercard 1 s limit}
            "ERR numkeys should be greater than 0" {sunioncard 0 s} "ERR Number of keys can't be greater than number of args" {sdiffcard 3 s s}
            "ERR LIMIT can't be negative" {sunioncard 1 s approx limit -1} "ERR LIMIT can't be negative" {sdiffcard 1 s limit x}
            "ERR syntax error" {sunioncard 1 s limit} "ERR syntax error" {sdiffcard 1 s approx} "ERR syntax error" {sintercard 1 s approx}
            "ERR syntax error" {sunioncard 1 s approx 1} "WRONGTYPE*" {sunioncard 2 s str} "WRONGTYPE*" {sdiffcard 2 none str}
            "ERR invalid cursor" {sscan s x}
            "ERR syntax error" {sscan s 0 count 0}
            "ERR syntax error" {sscan s 0 nosuch 1}
            "ERR wrong number of arguments for 'sadd' command" {sadd s}
        } {
            assert_error $error { r {*}$words } $words
        }
    }

    test {SUNIONCARD and SDIFFCARD count what SUNION and SDIFF reply, with few sets and with many} {
        foreach sets {2 3 5 40} {
            for {set round 0} {$round < 12} {incr round} {
                set keys {}
                for {set i 0} {$i < $sets} {incr i} {
                    r del s$i
                    lappend keys s$i
                    if {[randomInt 8] == 0} continue
                    set size [expr {1 + [randomInt [lindex {5 40 400} [randomInt 3]]]}]
                    set from [randomInt 300]
                    set form [lindex {%d m%d} [randomInt 2]]
                    r sadd s$i {*}[lmap n [numbers $from [expr {$from + $size}]] { format $form $n }]
                }
                set union [llength [r sunion {*}$keys]]
                set difference [llength [r sdiff {*}$keys]]
                assert_equal $union [r sunioncard $sets {*}$keys]
                assert_equal $difference [r sdiffcard $sets {*}$keys]
                set estimate [r sunioncard $sets {*}$keys approx]
                assert {abs($estimate - $union) <= 2 + $union * 0.05}
                foreach limit {1 3 50 1000} {
                    assert_equal [expr {min($union, $limit)}] [r sunioncard $sets {*}$keys limit $limit]
                    assert_equal [expr {min($difference, $limit)}] [r sdiffcard $sets {*}$keys limit $limit]
                    assert {[r sunioncard $sets {*}$keys limit $limit approx] <= $limit}
                }
            }
        }
    }

    test {SUNIONCARD APPROX of large sets is close to the number} {
        foreach {key from} {a 0 b 20000 c 40000} {
            r del $key
            for {set i 0} {$i < 30000} {incr i 5000} { r sadd $key {*}[lmap n [numbers $i [expr {$i + 4999}]] { expr {$from + $n} }] }
        }
        assert_range [r sunioncard 3 a b c approx] 67000 73000
        assert_equal {70000 50000 20000} [list [r sunioncard 3 a b c] [r sunioncard 2 a b] [r sdiffcard 2 a b]]
        assert_equal 10000 [r sdiffcard 3 b a c]
        assert_equal 40000 [r sunioncard 3 a b c approx limit 40000]
    }

    test "STORE replaces a value of another type; a source may be the target" {
        make_set s a b c
        r set d text
        r sunionstore d s
        assert_equal {a b c} [sorted [r smembers d]]
        r sinterstore s s s
        assert_equal {a b c} [sorted [r smembers s]]
        r expire d 100
        r sunionstore d s
        assert_equal -1 [r ttl d]
    }

    test "both algorithms of SDIFF give the same" {
        make_set a {*}[numbers 1 1000]
        make_set few 5 6 7 {*}[names 3]
        make_set many {*}[numbers 11 5000]
        assert_equal 997 [llength [r sdiff a few]]
        assert_equal {1 2 3 4 8 9 10} [lsort -integer [r sdiff a few many few]]
        assert_equal {1 2 3 4 5 6 7 8 9 10} [lsort -integer [r sdiff a many]]
    }

    test {SISMEMBER XX tells a missing key from a missing member (9.2 §3)} {
        make_set s a
        r set str x
        r del none
        assert_equal {1 0 -1 0} [list [r sismember s a XX] [r sismember s b xx] [r sismember none a xx] [r sismember none a]]
        foreach words {{s a nx} {none a xx xx} {s a {}} {none a xy} {s a xx nosuch}} { assert_error "ERR syntax error" {r sismember {*}$words} $words }
        assert_error "WRONGTYPE*" {r sismember str a xx}
        assert_error "ERR wrong number*" {r sismember s}
        make_set s 1 2
        assert_equal {1 0} [list [r sismember s 1 xx] [r sismember s x xx]]
        r pexpire s 1
        after 5
        assert_equal -1 [r sismember s 1 xx]
    }

    test "RESP3: sets are sets" {
        r hello 3
        make_set s a
        foreach {words bytes} {
            {smembers s} {~1 $1 a} {sinter s} {~1 $1 a} {sunion s} {~1 $1 a} {sdiff s} {~1 $1 a} {spop s 0} ~0
            {srandmember s 1} {*1 $1 a} {srandmember s} {$1 a} {smismember s a} {*1 :1} {sismember s a} :1 {spop none} _
            {smembers none} ~0 {sscan s 0} {*2 $1 0 *1 $1 a}
        } {
            assert_equal $bytes [wire {*}$words] $words
        }
        r hello 2
    }

    test "SSCAN returns every member that stays, while others come and go" {
        make_set s {*}[names 2000]
        set seen {}
        set cursor 0
        set i 0
        while 1 {
            lassign [r sscan s $cursor count 50] cursor items
            foreach m $items { dict set seen $m 1 }
            for {set k 0} {$k < 40} {incr k} { r sadd s extra:[incr i] }
            if {$cursor == 0} break
        }
        foreach m [names 2000] { if {![dict exists $seen $m]} { fail "$m was not returned" } }
    }

    test "SPOP of five times the remaining members makes a new set of these" {
        foreach {size count encoding} {200 166 hashtable 200 167 listpack 1000 871 hashtable 1000 872 listpack} {
            foreach prefix {m {}} {
                r del s
                r sadd s text
                r sadd s {*}[lmap i [lrepeat [expr {$size - 1}] x] { string cat $prefix [incr number] }]
                assert_encoding hashtable s
                set all [r smembers s]
                set popped [r spop s $count]
                assert_equal $count [llength [lsort -unique $popped]]
                assert_encoding $encoding s
                assert_equal [lsort $all] [lsort [concat $popped [r smembers s]]]
            }
        }
    }

    test "SPOP of everything counts as a hit" {
        r del s
        r sadd s a b c
        set hits [s keyspace_hits]
        r spop s 2
        r spop s 0
        assert_equal $hits [s keyspace_hits]
        r spop s 5
        assert_equal [expr {$hits + 1}] [s keyspace_hits]
    }

    test "random members are still quick after a large set was popped down to ten" {
        set cmd {local t = {} for i = 1, 100000 do redis.call('sadd', KEYS[1], 'member:' .. i) end}
        r eval $cmd 1 big
        assert_equal 99990 [llength [r spop big 99990]]
        assert_equal 10 [r scard big]
        set counts {}
        foreach m [r srandmember big -5000] { dict incr counts $m }
        assert_uniform $counts [r smembers big]
    }
}
