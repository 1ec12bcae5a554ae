# Long lists and strings that are changed in all ways while a snapshot without a fork saves them in parts: the file has
# them as they were when it began.
source [file join [file dirname [info script]] rdb_util.tcl]

set elements 12000
proc big_element {} { return [string repeat [randstring 1 8 alpha] [randomElement {1000 4000 30000}]] }
proc element {} { return [expr {[randomInt 400] ? [randstring 1 90 alpha] : [big_element]}] }

proc fill_list {key n} {
    for {set i 0} {$i < $n} {incr i 200} {
        set words {}
        for {set k 0} {$k < 200} {incr k} { lappend words [element] }
        r rpush $key {*}$words
    }
}

# A change of the list, or of part of it that is often moved or becomes a listpack.
proc list_change {} {
    set at [expr {[randomInt 2] ? [randomInt $::elements] : -1 - [randomInt 3000]}]
    switch [randomInt 15] {
        0 { return [list lpush l [element] [element]] }
        1 { return [list rpush l [element] [element]] }
        2 { return [list lpop l [randomRange 1 100]] }
        3 { return [list rpop l [randomRange 1 100]] }
        4 - 5 - 6 { return [list lset l $at [element]] }
        7 { return [list linsert l [randomElement {before after}] [lindex $::pivots [randomInt [llength $::pivots]]] [element]] }
        8 { return [list lrem l [randomElement {1 -1 0}] [lindex $::pivots [randomInt [llength $::pivots]]]] }
        9 { return [list ltrim l [randomInt 60] -[randomRange 1 60]] }
        10 { return [list lmove l l left right] }
        11 { return [list lmove l l2 [randomElement {left right}] left] }
        12 { return [list lmove l2 l right right] }
        13 { return [randomElement {{copy l l3 replace} {ltrim l3 0 20} {ltrim l4 0 20} {del l3} {lrange l 5000 5100}}] }
        14 { return [list lset l2 [randomInt 3000] [element]] }
    }
}

proc string_change {} {
    set at [randomInt 2100000]
    switch [randomInt 12] {
        0 - 1 { return [list setrange s $at [randstring 1 2000]] }
        2 { return [list setbit s [expr {$at * 8 + 3}] [randomInt 2]] }
        3 { return [list bitfield s set u16 [expr {$at * 8}] [randomInt 65536] incrby i8 [randomInt 16000000] 77] }
        4 { return [list append s [randstring 1 20000]] }
        5 { return [list get s] }
        6 { return [list append s2 [randstring 1 200]] }
        7 { return [list setrange s2 [randomInt 600000] [randstring 1 70000]] }
        8 { return [list copy s s3 replace] }
        9 { return [list getrange s 1000 2000000] }
        10 { return [list set s2 [string repeat [randstring 30 30] 20000]] }
        11 { return [randomElement {{getdel s4} {del s5} {bitop not s4 s2} {bitop not s7 s2} {rename s6 s5}}] }
    }
}

# Changes while the save lasts, the first ones in the same turn of the loop as its beginning. Returns how many batches
# came before its end.
proc change_during {begin change} {
    set client [valkey_deferring_client]
    set n 0
    $client {*}$begin
    for {set batches 0} {$batches < 300} {incr batches} {
        for {set i 0} {$i < 20} {incr i} {
            $client {*}[eval $change]
            incr n
        }
        if {!$batches} { $client read }
        while {$n} {
            catch { $client read }
            incr n -1
        }
        if {[s rdb_bgsave_in_progress] == 0 && [s aof_rewrite_in_progress] == 0} break
    }
    $client close
    return $batches
}

tags {external:skip needs:debug} {
    start_server {overrides {save {} bgsave-default-method forkless list-max-listpack-size -2}} {
        set pivots {}
        for {set i 0} {$i < 100} {incr i} { lappend pivots [randstring 5 10 alpha] }

        proc fill_lists {} {
            r flushall
            r debug populate 2000 small 10
            fill_list l $::elements
            r rpush l {*}$::pivots {*}$::pivots
            fill_list l2 3000
            fill_list l4 3000
        }
        proc fill_strings {} {
            r flushall
            r debug populate 2000 small 10
            foreach key {s s2 s4 s5 s6 s7} { r set $key [string repeat [randstring 50 50] 20000] }
            r append s [string repeat x 1000000]
        }

        foreach {depth fill change} {
            0 fill_lists list_change
            1 fill_lists list_change
            0 fill_strings string_change
        } {
            test "A save has the values of its beginning: $change, list-compress-depth $depth" {
                r config set list-compress-depth $depth
                for {set round 0} {$round < 2} {incr round} {
                    $fill
                    r config set rdb-key-save-delay 300
                    set digest [r debug digest]
                    set batches [change_during bgsave $change]
                    wait_for_save
                    assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
                    assert_morethan $batches 0
                    r config set rdb-key-save-delay 0
                    assert {$digest ne [r debug digest]}
                    r debug reload nosave
                    assert_equal $digest [r debug digest]
                }
            }

            test "After a save that was cancelled, the next one is complete: $change, list-compress-depth $depth" {
                $fill
                for {set round 0} {$round < 3} {incr round} {
                    r config set rdb-key-save-delay 1000000
                    r bgsave
                    for {set i 0} {$i < 200} {incr i} { catch { r {*}[$change] } }
                    r bgsave cancel
                    wait_for_save
                    r config set rdb-key-save-delay 0
                }
                set digest [r debug digest]
                change_during bgsave $change
                wait_for_save
                r debug reload nosave
                assert_equal $digest [r debug digest]
            }
        }
        r config set list-compress-depth 0

        # In one script, so that what was freed is used for something else before the save goes on.
        test {A save has a list as it was that has become a listpack} {
            for {set round 0} {$round < 3} {incr round} {
                fill_lists
                r config set rdb-key-save-delay 300
                set digest [r debug digest]
                r bgsave
                r eval {
                    redis.call('rpush', 'l', 'x')
                    for _, key in ipairs({'l', 'l2', 'l4'}) do redis.call('ltrim', key, 5, 10) end
                    local text = string.rep('y', 3000)
                    for i = 1, 2000 do redis.call('rpush', 'new:' .. i, text, text, text, text) end
                } 0
                assert_equal 1 [s rdb_bgsave_in_progress]
                assert_encoding listpack l4
                r config set rdb-key-save-delay 0
                wait_for_save
                assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
                r debug reload nosave
                assert_equal $digest [r debug digest]
            }
        }

        foreach {fill change} {fill_lists list_change fill_strings string_change} {
            test "An append-only file is rewritten as commands: $change" {
                $fill
                r config set aof-use-rdb-preamble no
                r config set appendonly yes
                wait_for_condition 100 50 {[s aof_rewrite_in_progress] == 0} else { fail "no rewrite" }
                r config set rdb-key-save-delay 300
                change_during bgrewriteaof $change
                wait_for_condition 600 50 {[s aof_rewrite_in_progress] == 0} else { fail "no rewrite" }
                r config set rdb-key-save-delay 0
                assert_equal ok [s aof_last_bgrewrite_status]
                set digest [r debug digest]
                r debug loadaof
                assert_equal $digest [r debug digest]
                r config set appendonly no
            }
        }

        test {A list of 100 MB holds up no writer while it is saved} {
            r flushall
            set text [string repeat 0123456789 10]
            r eval {for i = 1, 40000 do redis.call('rpush', 'big', unpack({ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1],
                ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1],
                ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1], ARGV[1]})) end} 0 $text
            set digest [r debug digest]
            r bgsave
            set worst 0
            for {set n 0} {[s rdb_bgsave_in_progress]} {incr n} {
                set from [clock microseconds]
                r lset big [randomInt 1000] [randstring 100 100 alpha]
                r rpush big $text
                set took [expr {[clock microseconds] - $from}]
                if {$took > $worst} { set worst $took }
            }
            assert_morethan $n 2
            r debug reload nosave
            assert_equal $digest [r debug digest]
            assert_lessthan $worst 500000 "the longest of $n writes took $worst us"
        }
    }
}
