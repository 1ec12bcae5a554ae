# XREADGROUP CLAIM, as Redis has it since 8.4: what it takes over, in which order, the reply, how it waits, propagation. XREAD
# and XREADGROUP with MAXCOUNT and MAXSIZE, as redis-py 8.1 describes those of Redis 8.10.

source [file join [file dirname [info script]] stream_util.tcl]
source [file join $::support dataset.tcl]
source [file join [file dirname [file dirname [file normalize [info script]]]] persist aof_util.tcl]

# A stream s with entries 1-0 to n-0, of which group g has given so many to consumer c. Then each of `idle`, {id ms ...},
# has been pending for that long.
proc fill_group {n given {idle {}}} {
    fill_stream s $n
    r xgroup create s g 0
    if {$given} { r xreadgroup group g c count $given streams s > }
    dict for {id ms} $idle { r xclaim s g c 0 $id idle $ms retrycount $id justid }
}
proc claim {min args} { return [r xreadgroup group g d claim $min {*}$args streams s >] }
# {id deliveries} of each entry of a reply about s.
proc claimed {reply} {
    if {$reply eq {}} { return {} }
    return [join [lmap entry [lindex $reply 0 1] { list [lindex $entry 0] [lindex $entry 3] }]]
}
proc owners {} { return [join [lmap entry [r xpending s g - + 1000] { list [lindex $entry 0] [lindex $entry 1] [lindex $entry 3] }]] }

start_server {tags {stream}} {
    # ---- CLAIM ----

    test {XREADGROUP CLAIM: the longest pending first, then new entries; idle time and deliveries in each entry} {
        fill_group 7 5 {2 3000000 4 5000000 5 4000000}
        set reply [claim 1000000 count 10]
        assert_equal {4-0 4 5-0 5 2-0 2 6-0 0 7-0 0} [claimed $reply]
        assert_equal {s {n 4}} [list [lindex $reply 0 0] [lindex $reply 0 1 0 1]]
        assert_range [lindex $reply 0 1 0 2] 5000000 5010000
        assert_range [lindex $reply 0 1 2 2] 3000000 3010000
        assert_equal {0 0} [lrange [lindex $reply 0 1 3] 2 3]
        assert_equal {1-0 c 1 2-0 d 3 3-0 c 1 4-0 d 5 5-0 d 6 6-0 d 1 7-0 d 1} [owners]
        assert_equal {} [claim 1000000]
        assert_range [lindex [r xpending s g 4 4 1] 0 2] 0 10000
        assert_equal 7 [llength [lindex [claim 0] 0 1]]
    }

    test {XREADGROUP CLAIM: COUNT is for both together} {
        fill_group 6 4 {1 2000000 2 4000000 3 3000000}
        assert_equal {2-0 2} [claimed [claim 1000000 count 1]]
        assert_equal {3-0 3 1-0 1 5-0 0} [claimed [claim 1000000 count 3]]
        assert_equal {6-0 0} [claimed [claim 1000000 count 3]]
        assert_equal {} [claim 1000000 count 3]
    }

    test {XREADGROUP CLAIM: the layout of the reply, in both protocols} {
        fill_group 1 0
        r write [resp::encode {xreadgroup group g d claim 5 streams s >}]
        assert_equal {*1 *2 {$1} s *1 *4 {$3} 1-0 *2 {$1} n {$1} 1 :0 :0} [lmap i [numbers 1 15] { r rawread }]
        r xclaim s g d 0 1 time 1
        r hello 3
        r write [resp::encode {xreadgroup group g d claim 5000000 streams s >}]
        assert_match {%1 {$1} s \*1 \*4 {$3} 1-0 \*2 {$1} n {$1} 1 :1* :2} [lmap i [numbers 1 14] { r rawread }]
        r hello 2
    }

    test {XREADGROUP CLAIM 0 takes an entry once, whatever times it has had} {
        fill_group 4 4
        assert_equal {} [claim 1000000]
        r xclaim s g c 0 2 idle 3000000
        r xclaim s g c 0 2 idle 5000000
        r xclaim s g c 0 2 3 idle 1000000
        r xack s g 3
        r xclaim s g c 0 3 idle 9000000 force
        set reply [claim 0]
        assert_equal {1-0 2-0 3-0 4-0} [lsort [ids [lindex $reply 0 1]]]
        assert_equal {1-0 d 2 2-0 d 5 3-0 d 3 4-0 d 2} [owners]
        assert_equal 4 [llength [lindex [claim 0] 0 1]]
        foreach time {1000 300 700 500 700} { r xclaim s g c 0 2 time $time justid }
        assert_equal {2-0 6} [claimed [claim 1000000]]
        assert_equal {2-0 d 7} [lrange [owners] 3 5]
    }

    test {XREADGROUP CLAIM with NOACK: what is claimed stays pending} {
        fill_group 4 2 {1 2000000}
        assert_equal {1-0 1 3-0 0 4-0 0} [claimed [claim 1000000 noack]]
        assert_equal {1-0 d 2 2-0 c 1} [owners]
    }

    test {XREADGROUP CLAIM leaves alone what was deleted from the stream} {
        fill_group 5 5 {1 2000000 2 3000000 3 4000000}
        r xdel s 2 4
        assert_equal {3-0 3 1-0 1} [claimed [claim 1000000]]
        assert_equal {1-0 d 2 2-0 c 2 3-0 d 4 4-0 c 1 5-0 c 1} [owners]
        r xdel s 1 3 5
        assert_equal {} [claim 0]
        # The same ID, given to a new entry.
        fill_group 3 3 {1 2000000 2 2000000}
        assert_equal {1-0 1} [claimed [claim 1000000 count 1]]
        r xtrim s maxlen 1
        assert_equal {} [claim 1000000]
        r xtrim s maxlen 0
        r xsetid s 1-0
        r xadd s 2-0 n again
        assert_equal {2-0 2} [claimed [claim 1000000]]
    }

    test {XREADGROUP CLAIM means nothing for a history; the highest ID is ">"} {
        fill_group 3 3 {1 2000000}
        assert_equal {{s {{1-0 {n 1}} {2-0 {n 2}}}}} [r xreadgroup group g c claim 10 count 2 streams s 0]
        r xclaim s g c 0 3 idle 2000000
        assert_equal {3-0 2} [claimed [r xreadgroup group g d claim 1000000 streams s 18446744073709551615-18446744073709551615]]
        r del t
        r xadd t 1-0 a b
        r xgroup create t g 0
        r xclaim s g c 0 2 idle 2000000
        assert_equal {s t} [lmap stream [r xreadgroup group g d claim 1000000 streams s t > >] { lindex $stream 0 }]
        r xclaim s g c 0 2 1 idle 2000000
        assert_equal {s s} [lmap stream [r xreadgroup group g d claim 1000000 count 1 streams s s > >] { lindex $stream 0 }]
    }

    test {XREADGROUP CLAIM: errors; the last one counts} {
        fill_group 2 2 {1 2000000}
        foreach {min error} {
            -1 {ERR min-idle-time must be a positive integer}
            x {ERR min-idle-time is not an integer or out of range}
            1.5 {ERR min-idle-time is not an integer or out of range}
            9223372036854775808 {ERR min-idle-time is not an integer or out of range}
        } {
            assert_error $error { claim $min }
        }
        assert_error {ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.} { r xread claim x streams s 0 }
        assert_error {ERR syntax error} { r xreadgroup group g d count 1 claim }
        assert_error NOGROUP* { r xreadgroup group nosuch d claim 1 streams s > }
        assert_equal {} [claim 9223372036854775807]
        assert_equal {} [claim 1 claim 9223372036854775807]
        assert_equal {1-0 1} [claimed [claim 9223372036854775807 claim 1000000]]
    }

    test {XREADGROUP CLAIM: the keys of a command with it} {
        assert_equal {CLAIM b} [r command getkeys xreadgroup group g c claim 1 streams CLAIM b > >]
        assert_equal a [r command getkeys xread maxcount 1 maxsize streams streams a 0]
    }

    # ---- The order, beside a model ----

    test {XREADGROUP CLAIM: random deliveries, claims and deletions} {
        fill_group 300 300
        r xadd s 301-0 n 301
        set now [clock milliseconds]
        # Minutes for which each has been pending; those that were just claimed are not in it.
        set minutes {}
        for {set i 0} {$i < 1500} {incr i} {
            set id [randomRange 1 300]
            switch [randomElement {set set set ack del claim add}] {
                set {
                    set some [expr {100000 + [randomInt 100000]}]
                    while {$some in [dict values $minutes]} { incr some }
                    if {[r xclaim s g c 0 $id time [expr {$now - 60000 * $some}] justid] ne {}} { dict set minutes $id $some }
                }
                ack { r xack s g $id; dict unset minutes $id }
                del { if {![randomInt 5]} { r xdel s $id; dict unset minutes $id } }
                add { if {![randomInt 4]} { r xclaim s g c 0 $id force justid; dict unset minutes $id } }
                claim {
                    set count [randomRange 1 9]
                    set least [expr {100000 + [randomInt 100000]}]
                    set expected {}
                    foreach {id time} [lsort -integer -decreasing -stride 2 -index 1 $minutes] {
                        if {$time < $least || [llength $expected] == $count} break
                        lappend expected $id-0
                    }
                    set reply [r xreadgroup group g d claim [expr {60000 * $least}] count $count streams s >]
                    assert_equal $expected [lmap entry [lindex $reply 0 1] { if {[lindex $entry 3] == 0} continue; lindex $entry 0 }]
                    foreach id $expected { dict unset minutes [lindex [split $id -] 0] }
                }
            }
        }
    }

    # ---- Waiting ----

    test {XREADGROUP CLAIM waits until an entry has been pending for long enough} {
        fill_group 3 3
        r xack s g 2
        set start [clock milliseconds]
        set c [blocked_client xreadgroup group g d block 0 claim 300 streams s >]
        assert_equal {1-0 1 3-0 1} [claimed [answer $c]]
        assert_range [expr {[clock milliseconds] - $start}] 250 2000
        # Somebody else has it meanwhile.
        set start [clock milliseconds]
        set c [blocked_client xreadgroup group g e block 0 claim 300 streams s >]
        after 150
        r xclaim s g c 0 1 3
        assert_equal {1-0 3 3-0 3} [claimed [answer $c]]
        assert_range [expr {[clock milliseconds] - $start}] 400 3000
        # It is given an older time.
        set c [blocked_client xreadgroup group g e block 0 claim 100000 streams s >]
        r xclaim s g c 0 3 idle 200000
        assert_equal {3-0 5} [claimed [answer $c]]
    }

    test {XREADGROUP CLAIM waits when nothing is pending yet} {
        fill_group 1 0
        r xgroup setid s g 1
        set c [blocked_client xreadgroup group g d block 0 claim 200 streams s >]
        set other [blocked_client xreadgroup group g e block 0 claim 0 streams s >]
        r xclaim s g c 0 1 force
        assert_equal {1-0 2} [claimed [answer $other]]
        assert_equal {1-0 3} [claimed [answer $c]]
    }

    test {XREADGROUP CLAIM: new entries end the wait, too, and the timeout, and the group's end} {
        fill_group 1 1
        set c [blocked_client xreadgroup group g d block 0 claim 100000 streams s >]
        r xadd s 2-0 a b
        assert_equal {2-0 0} [claimed [answer $c]]
        set start [clock milliseconds]
        assert_equal {} [r xreadgroup group g d block 150 claim 100000 streams s >]
        assert_range [expr {[clock milliseconds] - $start}] 140 2000
        set c [blocked_client xreadgroup group g d block 0 claim 100000 streams s >]
        r xdel s 1 2
        r xgroup destroy s g
        assert_error NOGROUP* { answer $c }
        fill_group 1 1
        r multi
        r xreadgroup group g d block 0 claim 100000 streams s >
        assert_equal {{}} [r exec]
        assert_equal 0 [r eval {return #(server.call('XREADGROUP', 'GROUP', 'g', 'd', 'BLOCK', 0, 'CLAIM', 100000, 'STREAMS', KEYS[1], '>') or {})} 1 s]
    }

    test {XREADGROUP CLAIM: those who wait are served in the order in which they came} {
        fill_group 2 2
        foreach name {a b} { lappend waiting [blocked_client xreadgroup group g $name block 0 claim 200 count 1 streams s >] }
        assert_equal {1-0 1} [claimed [answer [lindex $waiting 0]]]
        assert_equal {2-0 1} [claimed [answer [lindex $waiting 1]]]
        set c [blocked_client xreadgroup group g d block 0 claim 50 streams s >]
        $c close
        after 100
        assert_equal PONG [r ping]
    }

    # ---- MAXCOUNT and MAXSIZE ----

    test {XREAD MAXCOUNT limits the entries of all streams together} {
        foreach key {s t u} { fill_stream $key 5 }
        proc counts {reply} { return [join [lmap stream $reply { list [lindex $stream 0] [llength [lindex $stream 1]] }]] }
        assert_equal {s 5 t 2} [counts [r xread maxcount 7 streams s t u 0 0 0]]
        assert_equal {s 3 t 3 u 1} [counts [r xread count 3 maxcount 7 streams s t u 0 0 0]]
        assert_equal {t 1} [counts [r xread maxcount 1 streams s t u 9 4 0]]
        foreach key {s t u} { r xgroup create $key g 0 }
        assert_equal {s 5 t 1} [counts [r xreadgroup group g c maxcount 6 streams s t u > > >]]
        assert_equal {s 2 t 1} [counts [r xreadgroup group g c count 2 maxcount 3 streams s t u 0 0 0]]
        assert_equal {1 5} [list [llength [r xpending t g - + 10]] [dict get [lindex [r xinfo groups u] 0] lag]]
        r xclaim s g c 0 2 idle 2000000
        assert_equal {s 1 t 4} [counts [r xreadgroup group g d claim 1000000 maxcount 5 streams s t u > > >]]
    }

    test {XREAD MAXSIZE ends the reply with the entry that reaches it} {
        r del s t
        foreach key {s t} { foreach id {1 2 3} { r xadd $key $id-0 f [string repeat x 1000] } }
        assert_equal {s 1} [counts [r xread maxsize 1 streams s t 0 0]]
        assert_equal {s 2} [counts [r xread maxsize 1500 streams s t 0 0]]
        assert_equal {s 3 t 1} [counts [r xread maxsize 3500 streams s t 0 0]]
        assert_equal {s 3 t 3} [counts [r xread maxsize 100000 streams s t 0 0]]
        assert_equal {s 1 t 1} [counts [r xread maxsize 1500 count 1 streams s t 0 0]]
        # What was replied before, in the same transaction, does not count.
        r multi
        r xread streams s t 0 0
        r xread maxsize 1500 streams s t 0 0
        assert_equal {s 2} [counts [lindex [r exec] 1]]
        r xgroup create s g 0
        assert_equal {s 2} [counts [r xreadgroup group g c maxsize 1500 streams s >]]
        assert_equal 2 [llength [r xpending s g - + 10]]
    }

    test {XREAD MAXCOUNT and MAXSIZE: errors} {
        foreach command {{xread} {xreadgroup group g c}} {
            foreach {args error} {
                {maxcount 0} {ERR MAXCOUNT must be > 0}
                {maxcount -1} {ERR MAXCOUNT must be > 0}
                {maxcount x} {ERR MAXCOUNT must be > 0}
                {maxsize 0} {ERR MAXSIZE must be > 0}
                {maxsize x} {ERR MAXSIZE must be > 0}
                {count 3 maxcount 2} {ERR MAXCOUNT must be greater than or equal to COUNT}
                {maxcount 2 count 3} {ERR MAXCOUNT must be greater than or equal to COUNT}
            } {
                assert_error $error { r {*}$command {*}$args streams s 0 } $args
            }
        }
    }
}

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always auto-aof-rewrite-percentage 0 save {}} tags {stream needs:debug}} {
        proc written {args} {
            set before [llength [aof_commands]]
            r {*}$args
            return [lrange [aof_commands] $before end]
        }
        r select 0

        test {XREADGROUP CLAIM is propagated as XCLAIM} {
            fill_group 4 2 {1 2000000}
            assert_match {MULTI {XGROUP CREATECONSUMER s g d} {XCLAIM s g d 0 1-0 TIME * RETRYCOUNT 2 FORCE JUSTID LASTID 2-0} EXEC} [written xreadgroup group g d claim 1000000 count 1 streams s >]
            r xclaim s g c 0 2 idle 2000000 justid
            assert_match {MULTI {XCLAIM s g d 0 2-0 TIME * RETRYCOUNT 2 FORCE JUSTID LASTID 2-0} {XCLAIM s g d 0 3-0 TIME * RETRYCOUNT 1 FORCE JUSTID LASTID 3-0} {XGROUP SETID s g 3-0 ENTRIESREAD 3} EXEC} [written xreadgroup group g d claim 1000000 count 2 streams s >]
            set before [dataset_state r]
            r debug loadaof
            assert_same_dataset $before [dataset_state r]
        }

        test {XREADGROUP CLAIM: COPY, DUMP and a file know nothing of the index} {
            fill_group 50 50 {7 3000000 9 4000000}
            assert_equal {9-0 9} [claimed [claim 1000000 count 1]]
            r copy s t
            r restore u 0 [r dump s]
            foreach key {t u} { assert_equal {7-0 7} [claimed [r xreadgroup group g d claim 1000000 streams $key >]] }
            r debug reload
            assert_equal {7-0 7} [claimed [claim 1000000]]
        }
    }

    start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
        test {XREADGROUP CLAIM: a replica of 9.1.2 has the same data} {
            follow replica primary
            proc state_at {name} { return [dataset_more [srv [at $name] client] stream s] }
            set primary [srv [at primary] client]
            foreach id [numbers 1 200] { $primary xadd s $id-0 n $id }
            $primary xgroup create s g 0
            for {set i 0} {$i < 300} {incr i} {
                $primary xreadgroup group g c[randomInt 3] count [randomRange 1 5] {*}[randomElement {{} {claim 0} {claim 1000000}}] streams s >
                $primary xclaim s g c 0 [randomRange 1 200] idle [expr {1000000 * [randomRange 1 3]}]
                if {![randomInt 3]} { $primary xack s g [randomRange 1 200] }
            }
            wait_for_offset replica primary
            assert_equal [state_at primary] [state_at replica]
        }
    }
}
