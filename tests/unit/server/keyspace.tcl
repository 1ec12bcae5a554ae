# Keys are created, changed, moved between tables and deleted: expiry, rewriting in every way, lazy freeing, SCAN.
source [file join [file dirname [info script]] server_util.tcl]

# Not with expr, which would turn a text like 4e203 into the number it looks like.
proc value_or_nil {name key} {
    upvar 1 $name values
    if {[info exists values($key)]} { return $values($key) }
    return {}
}

start_server {tags {external:skip needs:debug}} {
    test {expired keys are deleted without an access} {
        r config resetstat
        r debug set-active-expire 0
        r eval {for i = 1, 100000 do redis.call('set', 'e:' .. i, 'value', 'px', 50 + i % 100) end} 0
        r set stays 1
        assert_equal 100001 [r dbsize]
        set with [s used_memory]
        r debug set-active-expire 1
        wait_for_condition 200 100 {[r dbsize] == 1} else { fail "[r dbsize] keys are left" }
        assert_equal 100000 [s expired_keys]
        assert_equal 0 [regexp -all {expires=[1-9]} [r info keyspace]]
        assert_lessthan [s used_memory] [expr {$with - 3000000}]
        assert_equal 0 [s keyspace_hits]
        r flushall
    }

    test {expired keys of every database are deleted} {
        for {set db 0} {$db < 16} {incr db} {
            r select $db
            r set k v px 20
        }
        r select 0
        wait_for_condition 200 50 {[r info keyspace] eq "# Keyspace\r\n"} else { fail [r info keyspace] }
    }

    test {an expired key reads as absent, and an access deletes it} {
        r debug set-active-expire 0
        r config resetstat
        foreach {command reply} {
            {get k} {} {exists k} 0 {strlen k} 0 {type k} none {ttl k} -2 {del k} 0 {persist k} 0 {expire k 10} 0
            {getdel k} {} {object encoding k} {} {zcard k} 0 {randomkey} {} {keys *} {} {append k x} 1 {incr k} 1
            {set k v xx} {} {set k v nx} OK {setnx k v} 1 {copy k l} 0 {zadd k 1 a} 1 {getset k x} {}
        } {
            r flushall
            r set k v px 1
            after 3
            assert_equal 1 [r dbsize] "before $command"
            catch { r {*}$command } got
            if {[lindex $command 0] eq "object"} { set reply [expr {[string match ERR* $got] ? "ERR no such key" : {}}] }
            assert_equal $reply $got $command
        }
        r flushall
        r set k v px 1
        after 3
        assert_error "ERR no such key" { r rename k l }
        assert_equal 0 [r dbsize]
        assert_morethan [s expired_keys] 15
        r debug set-active-expire 1
    }

    test {an expiry in the past deletes at once} {
        foreach command {{expire k -1} {pexpire k 0} {expireat k 1} {pexpireat k 1} {getex k exat 1}} {
            r set k v
            r {*}$command
            assert_equal 0 [r exists k] $command
            assert_equal 0 [r dbsize]
        }
    }

    test {RENAME and COPY keep the expiry} {
        r set a 1 ex 100
        r set b 2
        r rename a b
        assert_range [r ttl b] 95 100
        r copy b c
        assert_range [r ttl c] 95 100
        assert_range [r ttl b] 95 100
        r set d 4
        r rename d b
        assert_equal -1 [r ttl b]
        r copy b c replace
        assert_equal -1 [r ttl c]
        assert_match "*expires=0*" [r info keyspace]
        r flushall
    }

    # The layout of an object depends on the length of its key and of its value, and on the expiry: every change below
    # may move it between allocations, and into or out of the table of those that expire.
    test {random changes of value and expiry against a model} {
        r flushall
        set far 1000000
        set keys [list s [string repeat k 16] [string repeat m 100] [string repeat x 253] [string repeat y 254] [string repeat z 255] \
            [string repeat w 256] [string repeat v 1000] {}]
        array unset vals
        array unset ttls
        for {set i 0} {$i < 12000} {incr i} {
            set k [randomElement $keys]
            set have [info exists vals($k)]
            set text [string repeat [format %c [randomRange 97 122]] [randomElement {0 1 2 5 10 20 40 43 44 45 60 62 63 64 65 100 300 40000}]]
            if {[string length $text] > 1000 && rand() < 0.9} { set text short }
            switch [randomInt 16] {
                0 { r set $k $text; set vals($k) $text; unset -nocomplain ttls($k) }
                1 { r set $k $text keepttl; set vals($k) $text }
                2 { r set $k $text ex $far; set vals($k) $text; set ttls($k) 1 }
                3 { r set $k [randomInt 100000]; set vals($k) [r get $k]; unset -nocomplain ttls($k) }
                4 {
                    set got [r append $k $text]
                    append vals($k) $text
                    assert_equal [string length $vals($k)] $got
                    if {[string length $vals($k)] == 0} { if {![r exists $k]} { unset vals($k); unset -nocomplain ttls($k) } }
                }
                5 {
                    if {!$have} { set before 0 } else { set before $vals($k) }
                    if {[string is wideinteger -strict $before]} {
                        set by [randomElement {1 -1 1000000000000 -99999}]
                        set vals($k) [expr {$before + $by}]
                        assert_equal $vals($k) [r incrby $k $by]
                    } else {
                        assert_error "ERR value is not an integer*" { r incr $k }
                    }
                }
                6 { assert_equal $have [r expire $k $far]; if {$have} { set ttls($k) 1 } }
                7 { assert_equal [info exists ttls($k)] [r persist $k]; unset -nocomplain ttls($k) }
                8 {
                    set got [r getex $k ex $far]
                    assert_equal [value_or_nil vals $k] $got
                    if {$have} { set ttls($k) 1 }
                }
                9 { r getex $k persist; unset -nocomplain ttls($k) }
                10 {
                    if {$text ne {}} {
                        set at [randomElement {0 1 5 30 63 64}]
                        if {!$have} { set vals($k) {} }
                        while {[string length $vals($k)] < $at} { append vals($k) \0 }
                        set vals($k) [string replace $vals($k) $at [expr {$at + [string length $text] - 1}] $text]
                        if {$at == [string length $vals($k)]} { append vals($k) $text }
                        if {[string length $vals($k)] < $at + [string length $text]} { set vals($k) [string range $vals($k) 0 $at-1]$text }
                        r setrange $k $at $text
                    }
                }
                11 {
                    if {rand() < 0.5} {
                        assert_equal $have [r del $k]
                    } else {
                        assert_equal [value_or_nil vals $k] [r getdel $k]
                    }
                    unset -nocomplain vals($k) ttls($k)
                }
                12 {
                    set to [randomElement $keys]
                    if {$have && $to ne $k} {
                        r rename $k $to
                        set vals($to) $vals($k)
                        unset -nocomplain ttls($to)
                        if {[info exists ttls($k)]} { set ttls($to) 1 }
                        unset -nocomplain vals($k) ttls($k)
                    }
                }
                13 {
                    set to [randomElement $keys]
                    if {$have && $to ne $k} {
                        assert_equal 1 [r copy $k $to replace]
                        set vals($to) $vals($k)
                        unset -nocomplain ttls($to)
                        if {[info exists ttls($k)]} { set ttls($to) 1 }
                    }
                }
                14 {
                    # Another type in between.
                    r del $k
                    r zadd $k 1 a
                    if {rand() < 0.5} { r expire $k $far }
                    if {rand() < 0.5} { r persist $k }
                    r set $k $text
                    set vals($k) $text
                    unset -nocomplain ttls($k)
                }
                15 { r incrbyfloat f 0.5; r mset $k $text other x; set vals($k) $text; unset -nocomplain ttls($k); r del f other }
            }
            assert_equal [value_or_nil vals $k] [r get $k] "step $i"
            set left [r ttl $k]
            if {![info exists vals($k)]} {
                assert_equal -2 $left "step $i"
            } elseif {[info exists ttls($k)]} {
                assert_range $left [expr {$far - 200}] $far "step $i"
            } else {
                assert_equal -1 $left "step $i"
            }
            if {$i % 50 == 0} {
                assert_equal [array size vals] [r dbsize] "step $i"
                assert_equal [lsort [array names vals]] [lsort [r keys *]]
                if {[array size vals]} {
                    assert_match "*keys=[array size vals],expires=[array size ttls],*" [r info keyspace] "step $i"
                }
            }
        }
        # The same data, created at once, has the same fingerprint.
        set digest [r debug digest]
        r flushall
        foreach k [array names vals] { if {[info exists ttls($k)]} { r set $k $vals($k) ex $far } else { r set $k $vals($k) } }
        assert_equal $digest [r debug digest]
        r flushall
        assert_equal [string repeat 0 40] [r debug digest]
    }

    test {a big sorted set is freed in the background} {
        r flushall sync
        wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
        r config resetstat
        set before [s used_memory]
        r eval {for i = 1, 200000 do redis.call('zadd', 'big', i, 'member:' .. i) end} 0
        assert_morethan [s used_memory] [expr {$before + 8000000}]
        r zadd small 1 a
        r unlink small big
        wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
        assert_equal 1 [s lazyfreed_objects] "the small one is not worth a thread"
        assert_lessthan [s used_memory] [expr {$before + 1000000}]
        # DEL and overwriting, with and without.
        foreach {lazy command freed} {yes {del big} 1 no {del big} 0} {
            config_set lazyfree-lazy-user-del $lazy
            r config resetstat
            r eval {for i = 1, 1000 do redis.call('zadd', 'big', i, 'member:' .. i) end} 0
            r {*}$command
            wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
            assert_equal $freed [s lazyfreed_objects]
        }
        config_set lazyfree-lazy-user-del yes
        foreach {lazy freed} {yes 1 no 0} {
            config_set lazyfree-lazy-server-del $lazy
            r config resetstat
            r eval {for i = 1, 1000 do redis.call('zadd', 'big', i, 'member:' .. i) end} 0
            r set big 1
            wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
            assert_equal $freed [s lazyfreed_objects]
            r del big
        }
        config_set lazyfree-lazy-server-del yes
        foreach {lazy freed} {yes 1 no 0} {
            config_set lazyfree-lazy-expire $lazy
            r config resetstat
            r del big
            r eval {for i = 1, 1000 do redis.call('zadd', 'big', i, 'member:' .. i) end} 0
            r pexpire big 5
            wait_for_condition 500 20 {[r dbsize] == 0} else { fail "not expired" }
            wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
            assert_equal $freed [s lazyfreed_objects]
        }
        config_set lazyfree-lazy-expire yes
    }

    test {FLUSHALL and FLUSHDB, in the background or not} {
        foreach {command lazy freed} {
            {flushall async} no 100001 {flushall sync} yes 0 flushall yes 100001 flushall no 0
            {flushdb async} no 100000 {flushdb sync} yes 0 flushdb yes 100000
        } {
            r flushall sync
            wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
            config_set lazyfree-lazy-user-flush $lazy
            r config resetstat
            set before [s used_memory]
            r debug populate 100000 key 50
            r eval {for i = 1, 1000 do redis.call('pexpire', 'key:' .. i, 1000000) end} 0
            r select 2
            r zadd z 1 a
            r select 0
            assert_morethan [s used_memory] [expr {$before + 6000000}]
            r {*}$command
            assert_equal 0 [r dbsize]
            r set new 1
            assert_equal 1 [r dbsize]
            wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
            assert_equal $freed [s lazyfreed_objects] $command
            wait_for_condition 400 25 {[s used_memory] < $before + 1000000} else { fail "memory of $command" }
        }
        config_set lazyfree-lazy-user-flush yes
        r flushall
    }

    # A key that exists from the start of a scan to its end must be returned, whatever else is added, deleted and
    # resized meanwhile.
    foreach {name stay extra} {growing 1000 30000 shrinking 500 40000 both 2000 10000} {
        test "SCAN returns all keys that stay, while others are added and deleted ($name)" {
            r flushall
            r debug populate $stay stay
            if {$name ne "growing"} { r debug populate $extra extra }
            set cursor 0
            set steps 0
            set at 0
            while 1 {
                lassign [r scan $cursor count [randomElement {1 10 50}]] cursor found
                foreach key $found { incr seen($key) }
                if {$cursor == 0} break
                incr steps
                set step [expr {max($extra / 60, 1)}]
                if {$name in {growing both} && $at < $extra} {
                    r eval {for i = ARGV[1], ARGV[2] do redis.call('set', 'more:' .. i, 1) end} 0 $at [expr {$at + $step}]
                }
                if {$name in {shrinking both} && $at < $extra} {
                    r eval {for i = ARGV[1], ARGV[2] do redis.call('del', 'extra:' .. i) end} 0 $at [expr {$at + $step}]
                }
                incr at $step
            }
            assert_morethan $steps 20
            for {set i 0} {$i < $stay} {incr i} { assert {[info exists seen(stay:$i)]} "stay:$i after $steps steps" }
            array unset seen
            r flushall
        }
    }

    test {SCAN with expiry, MATCH and TYPE while keys expire} {
        r flushall
        r debug populate 1000 stay
        r zadd stay:z 1 a
        r eval {for i = 1, 2000 do redis.call('set', 'gone:' .. i, 1, 'px', i % 200 + 1) end} 0
        set cursor 0
        set strings {}
        while 1 {
            lassign [r scan $cursor match stay:* type string count 20] cursor found
            lappend strings {*}$found
            if {$cursor == 0} break
        }
        assert_equal 1000 [llength [lsort -unique $strings]]
        r flushall
    }

    test {RANDOMKEY returns all keys, and no expired one} {
        r flushall
        r debug set-active-expire 0
        for {set i 0} {$i < 20} {incr i} { r set k:$i v; r set x:$i v px 1 }
        after 5
        for {set i 0} {$i < 600} {incr i} { incr seen([r randomkey]) }
        assert_equal 20 [array size seen]
        assert_equal 0 [llength [array names seen x:*]]
        r debug set-active-expire 1
        r flushall
    }
}
