# Consumer groups: XGROUP, XREADGROUP, XACK, XPENDING, XCLAIM, XAUTOCLAIM, and their fields in XINFO; XREAD.

source [file join [file dirname [info script]] stream_util.tcl]

set invalid_id "ERR Invalid stream ID specified as stream command argument"
set need_key "ERR The XGROUP subcommand requires the key to exist.*MKSTREAM*"
set no_such_group "NOGROUP No such consumer group 'nog' for key name 's'"

# IDs that a consumer gets of one stream.
proc take {key group consumer id args} {
    set reply [r xreadgroup group $group $consumer {*}$args streams $key $id]
    if {$reply eq {}} { return {} }
    return [ids [lindex $reply 0 1]]
}
proc group_fact {key group name} {
    foreach g [r xinfo groups $key] {
        if {[dict get $g name] eq $group} { return [dict get $g $name] }
    }
    fail "no group $group"
}
proc consumer_fact {key group consumer name} {
    foreach c [r xinfo consumers $key $group] {
        if {[dict get $c name] eq $consumer} { return [dict get $c $name] }
    }
    fail "no consumer $consumer"
}
# {ID consumer deliveries} of what is pending.
proc pending {key group args} { lmap p [r xpending $key $group - + 1000 {*}$args] { list [lindex $p 0] [lindex $p 1] [lindex $p 3] } }

start_server {tags stream} {
    test {XREAD of one and several streams} {
        fill_stream s 5
        fill_stream t 2
        r del none
        assert_equal [list [list s [r xrange s - +]]] [r xread streams s 0]
        assert_equal [list [list s [r xrange s 4 5]]] [r xread streams s 3-5]
        assert_equal [list [list s [r xrange s 2 3]]] [r xread count 2 streams s 1]
        assert_equal [list [list t [r xrange t 2 2]]] [r xread streams s t none 5 1 0]
        assert_equal {s t} [ids [r xread count 1 streams s t 0 0]]
        assert_equal {s s} [ids [r xread streams s s 0 4]]
        assert_equal 5 [llength [lindex [r xread count 0 streams s 0] 0 1]]
        foreach last {5 5-0 $ 99} { assert_equal {*-1} [wire xread streams s $last] }
        assert_equal {*-1} [wire xread streams none 0]
    }

    test {XREAD +: the last entry} {
        fill_stream s 5
        assert_equal {{s {{5-0 {n 5}}}}} [r xread streams s +]
        assert_equal {{s {{5-0 {n 5}}}}} [r xread count 10 streams s +]
        r xdel s 5
        assert_equal {{s {{4-0 {n 4}}}}} [r xread streams s +]
        assert_equal {*-1} [wire xread streams none +]
        r xtrim s maxlen 0
        assert_equal {*-1} [wire xread streams s +]
    }

    test {XREAD answers a map in RESP3} {
        fill_stream s 1
        r hello 3
        assert_equal {%1 $1 s *1 *2 $3 1-0 *2 $1 n $1 1} [wire xread streams s 0]
        assert_equal {_} [wire xread streams s 7]
        r hello 2
        assert_equal {*1 *2 $1 s *1 *2 $3 1-0 *2 $1 n $1 1} [wire xread streams s 0]
    }

    test {XREAD errors} {
        fill_stream s 1
        r set str x
        assert_error "ERR syntax error" { r xread foo streams s 0 }
        assert_error "ERR syntax error" { r xread count 1 block 1 streams }
        assert_error "ERR syntax error" { r xread count 1 count 1 }
        assert_error "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified." { r xread streams s s 0 }
        assert_error "ERR value is not an integer or out of range" { r xread count x streams s 0 }
        assert_error "ERR timeout is not an integer or out of range" { r xread block x streams s 0 }
        assert_error "ERR timeout is negative" { r xread block -1 streams s 0 }
        assert_error $invalid_id { r xread streams s x }
        assert_error $invalid_id { r xread streams s - }
        assert_error "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option." { r xread streams s > }
        assert_error "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead." { r xread noack streams s 0 }
        assert_error "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead." { r xread group g c streams s 0 }
        assert_error "WRONGTYPE *" { r xread streams str 0 }
        assert_error "WRONGTYPE *" { r xread streams s str 0 x }
    }

    test {XGROUP CREATE} {
        fill_stream s 5
        r del none
        assert_equal OK [r xgroup create s g 0]
        assert_equal OK [r xgroup create s h $]
        assert_equal OK [r xgroup create s i 3-0 ENTRIESREAD 3]
        assert_equal {0-0 5-0 3-0} [lmap g {g h i} { group_fact s $g last-delivered-id }]
        assert_equal {{} {} 3} [lmap g {g h i} { group_fact s $g entries-read }]
        assert_equal {5 0 2} [lmap g {g h i} { group_fact s $g lag }]
        assert_error "BUSYGROUP Consumer Group name already exists" { r xgroup create s g 0 }
        assert_error $need_key { r xgroup create none g $ }
        assert_error $invalid_id { r xgroup create none g x mkstream }
        assert_equal 0 [r exists none]
        assert_equal OK [r xgroup create none g $ MKSTREAM]
        assert_equal {0 0-0} [list [r xlen none] [group_fact none g last-delivered-id]]
        foreach id {x - + *} { assert_error $invalid_id { r xgroup create s j $id } }
        assert_error "ERR value for ENTRIESREAD must be positive or -1" { r xgroup create s j 0 entriesread -2 }
        assert_error "ERR value is not an integer or out of range" { r xgroup create s j 0 entriesread x }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'create'. Try XGROUP HELP." { r xgroup create s j 0 foo }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'create'. Try XGROUP HELP." {
            r xgroup create s j 0 mkstream mkstream entriesread 1
        }
        assert_error "ERR wrong number of arguments for 'xgroup|create' command" { r xgroup create s }
        assert_error "ERR unknown subcommand 'foo'. Try XGROUP HELP." { r xgroup foo }
        r set str x
        assert_error "WRONGTYPE *" { r xgroup create str g x }
    }

    test {XGROUP SETID, DESTROY, CREATECONSUMER and DELCONSUMER} {
        fill_stream s 5
        r xgroup create s g 0
        assert_equal OK [r xgroup setid s g 3 ENTRIESREAD 3]
        assert_equal {3-0 3 2} [list [group_fact s g last-delivered-id] [group_fact s g entries-read] [group_fact s g lag]]
        assert_equal OK [r xgroup setid s g $]
        assert_equal {5-0 {}} [list [group_fact s g last-delivered-id] [group_fact s g entries-read]]
        assert_equal OK [r xgroup setid s g -]
        assert_equal 0-0 [group_fact s g last-delivered-id]
        assert_equal OK [r xgroup setid s g +]
        assert_equal 18446744073709551615-18446744073709551615 [group_fact s g last-delivered-id]
        assert_error $invalid_id { r xgroup setid s g x }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'setid'. Try XGROUP HELP." { r xgroup setid s g 0 mkstream }
        assert_error $no_such_group { r xgroup setid s nog 0 }
        assert_error $no_such_group { r xgroup createconsumer s nog c }
        assert_error $no_such_group { r xgroup delconsumer s nog c }
        foreach words {{setid g 0} {destroy g} {createconsumer g c} {delconsumer g c}} {
            assert_error $need_key { r xgroup [lindex $words 0] nokey {*}[lrange $words 1 end] }
        }
        assert_equal {1 0} [list [r xgroup createconsumer s g c] [r xgroup createconsumer s g c]]
        assert_equal 1 [group_fact s g consumers]
        r xgroup setid s g 0
        take s g c > count 3
        assert_equal 0 [r xgroup delconsumer s g nobody]
        assert_equal 3 [r xgroup delconsumer s g c]
        assert_equal {0 0} [list [group_fact s g pending] [group_fact s g consumers]]
        assert_equal {1 0} [list [r xgroup destroy s g] [r xgroup destroy s g]]
        assert_equal {} [r xinfo groups s]
    }

    test {XREADGROUP distributes entries, and shows each consumer its own} {
        fill_stream s 10
        r xgroup create s g 0
        assert_equal [ids_between 1 3] [take s g alice > count 3]
        assert_equal [ids_between 4 5] [take s g bob > count 2]
        assert_equal [ids_between 6 10] [take s g alice >]
        assert_equal {} [take s g bob >]
        assert_equal {*-1} [wire xreadgroup group g bob streams s >]
        assert_equal [concat [ids_between 1 3] [ids_between 6 10]] [take s g alice 0]
        assert_equal {6-0 7-0} [take s g alice 3 count 2]
        assert_equal [ids_between 4 5] [take s g bob 0]
        assert_equal {*1 *2 $1 s *0} [wire xreadgroup group g carol streams s 0]
        assert_equal 3 [group_fact s g consumers]
        assert_equal {} [r xreadgroup group g bob streams s 18446744073709551615-18446744073709551615]
        assert_equal 1 [r xack s g 4]
        assert_equal 5-0 [take s g bob 0]
        assert_equal {{5-0 bob 3}} [pending s g bob]
    }

    test {XREADGROUP shows deleted entries without fields} {
        fill_stream s 3
        r xgroup create s g 0
        take s g c >
        r xdel s 2
        assert_equal {{1-0 {n 1}} {2-0 {}} {3-0 {n 3}}} [lindex [r xreadgroup group g c streams s 0] 0 1]
        assert_match {*$3 2-0 *-1 *} [wire xreadgroup group g c streams s 0]
        r hello 3
        assert_match {%1*$3 2-0 _ *} [wire xreadgroup group g c streams s 0]
        r hello 2
    }

    test {XREADGROUP NOACK, and consumers that are created automatically} {
        fill_stream s 5
        r xgroup create s g 0
        assert_equal [ids_between 1 2] [take s g c > count 2 noack]
        assert_equal {0 2 3} [list [group_fact s g pending] [group_fact s g entries-read] [group_fact s g lag]]
        assert_equal 3-0 [take s g c > count 1]
        assert_equal {{3-0 c 1}} [pending s g]
        r xgroup setid s g $
        assert_equal {} [take s g newcomer >]
        assert_equal -1 [consumer_fact s g newcomer inactive]
        assert_morethan_equal [consumer_fact s g c inactive] 0
    }

    test {XREADGROUP after XGROUP SETID gives entries to others again} {
        fill_stream s 3
        r xgroup create s g 0
        take s g a >
        r xgroup setid s g 1
        assert_equal {2-0 3-0} [take s g b >]
        assert_equal {{1-0 a 1} {2-0 b 1} {3-0 b 1}} [pending s g]
        assert_equal {1 2} [list [consumer_fact s g a pending] [consumer_fact s g b pending]]
    }

    test {XREADGROUP of several streams} {
        fill_stream s 2
        fill_stream t 2
        r xgroup create s g 0
        r xgroup create t g $
        assert_equal s [ids [r xreadgroup group g c streams s t > >]]
        assert_equal {s t} [ids [r xreadgroup group g c streams s t 0 0]]
        r xadd t 3-0 n 3
        assert_equal t [ids [r xreadgroup group g c streams s t > >]]
    }

    test {XREADGROUP errors} {
        fill_stream s 1
        r del none
        r xgroup create s g 0
        set nogroup "NOGROUP No such key 'none' or consumer group 'g' in XREADGROUP with GROUP option"
        assert_error $nogroup { r xreadgroup group g c streams none > }
        assert_error $nogroup { r xreadgroup group g c streams s none > > }
        assert_error "NOGROUP No such key 's' or consumer group 'nog' *" { r xreadgroup group nog c streams s > }
        assert_equal 0 [group_fact s g consumers]
        assert_error "ERR The $ ID is meaningless in the context of XREADGROUP: *" { r xreadgroup group g c streams s $ }
        assert_error "ERR The + ID is meaningless in the context of XREADGROUP: *" { r xreadgroup group g c streams s + }
        assert_error "ERR Missing GROUP option for XREADGROUP" { r xreadgroup count 1 block 1 streams s > }
        assert_error "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified." { r xreadgroup group g c streams s s > }
        assert_error $invalid_id { r xreadgroup group g c streams s x }
        assert_error "WRONGTYPE *" { r xreadgroup group g c streams str > }
    }

    test {XACK} {
        fill_stream s 5
        r xgroup create s g 0
        take s g c >
        assert_equal 2 [r xack s g 1 2-0 9]
        assert_equal 0 [r xack s g 1 2-0]
        assert_equal [ids_between 3 5] [take s g c 0]
        assert_error $invalid_id { r xack s g 3 x }
        assert_equal 3 [group_fact s g pending]
        assert_equal {0 0 0} [list [r xack none g 1] [r xack s nog 1] [r xack s nog x]]
        r xdel s 4
        assert_equal 1 [r xack s g 4]
        assert_error "WRONGTYPE *" { r xack str g 1 }
    }

    test {XPENDING} {
        fill_stream s 6
        r xgroup create s g 0
        assert_equal {*4 :0 $-1 $-1 *-1} [wire xpending s g]
        take s g b > count 1
        take s g a > count 2
        take s g b >
        assert_equal {6 1-0 6-0 {{a 2} {b 4}}} [r xpending s g]
        assert_equal {*4 :6 $3 1-0 $3 6-0 *2 *2 $1 a $1 2 *2 $1 b $1 4} [wire xpending s g]
        assert_equal {1-0 b 1} [lindex [pending s g] 0]
        assert_equal {2-0 3-0} [ids [r xpending s g - + 10 a]]
        assert_equal {3-0 4-0} [ids [r xpending s g (2 (5-0 10]]
        assert_equal {1-0 2-0} [ids [r xpending s g - + 2]]
        assert_equal {} [r xpending s g - + 10 nobody]
        assert_equal {} [r xpending s g - + -1]
        assert_equal {} [r xpending s g IDLE 100000 - + 10]
        assert_equal 6 [llength [r xpending s g IDLE 0 - + 10]]
        r xclaim s g c 0 4-0 idle 500000
        assert_equal 4-0 [ids [r xpending s g idle 400000 - + 10]]
        assert_equal {} [r xpending s g idle 400000 - + 10 a]
        assert_range [lindex [r xpending s g 4 4 1] 0 2] 500000 510000
        foreach args {{- +} {idle 5} {idle 5 -} {idle 5 - + 10 c d}} { assert_error "ERR syntax error" { r xpending s g {*}$args } }
        assert_error "ERR value is not an integer or out of range" { r xpending s g - + x }
        assert_error "ERR value is not an integer or out of range" { r xpending s g idle x - + 1 }
        assert_error $invalid_id { r xpending s g x + 1 }
        assert_error "ERR invalid end ID for the interval" { r xpending s g - (0-0 1 }
        assert_error "NOGROUP No such key 's' or consumer group 'nog'" { r xpending s nog }
        assert_error "NOGROUP No such key 'nokey' or consumer group 'g'" { r xpending nokey g - + 1 }
        assert_error "WRONGTYPE *" { r xpending str g }
    }

    test {XCLAIM} {
        fill_stream s 5
        r xgroup create s g 0
        take s g a > count 4
        assert_equal {{1-0 {n 1}} {3-0 {n 3}}} [r xclaim s g b 0 1 3-0 5 9]
        assert_equal {{1-0 b 2} {2-0 a 1} {3-0 b 2} {4-0 a 1}} [pending s g]
        assert_equal {} [r xclaim s g b 100000 2]
        assert_equal 2-0 [r xclaim s g b 0 2 JUSTID]
        assert_equal {2-0 b 1} [lindex [pending s g] 1]
        r xclaim s g a 0 2 retrycount 7 idle 90000
        assert_range [lindex [r xpending s g 2 2 1] 0 2] 90000 95000
        assert_equal {2-0 a 7} [lindex [pending s g] 1]
        assert_equal {{2-0 {n 2}}} [r xclaim s g b 80000 1 2 3]
        r xclaim s g b 0 2 time 1000 justid
        assert_morethan [lindex [r xpending s g 2 2 1] 0 2] 1000000
        r xclaim s g b 0 2 time 99999999999999 justid
        assert_lessthan [lindex [r xpending s g 2 2 1] 0 2] 10000
        assert_equal {} [r xclaim s g b 0 5]
        assert_equal 5-0 [r xclaim s g b 0 5 FORCE JUSTID]
        assert_equal {5-0 b 1} [lindex [pending s g] 4]
        r xclaim s g b 0 5 lastid 77-0
        assert_equal 77-0 [group_fact s g last-delivered-id]
        r xclaim s g b 0 5 lastid 7-0
        assert_equal 77-0 [group_fact s g last-delivered-id]
        assert_equal {} [r xclaim s g b 0 99 lastid 78-0]
        assert_equal 78-0 [group_fact s g last-delivered-id]
    }

    test {XCLAIM of deleted entries removes them from the pending list} {
        fill_stream s 3
        r xgroup create s g 0
        take s g a >
        r xdel s 2
        assert_equal {{1-0 {n 1}}} [r xclaim s g b 0 1 2]
        assert_equal {{1-0 b 2} {3-0 a 1}} [pending s g]
        assert_equal {} [r xclaim s g b 0 2 force]
    }

    test {XCLAIM errors} {
        fill_stream s 3
        r xgroup create s g 0
        assert_error "NOGROUP No such key 'nokey' or consumer group 'g'" { r xclaim nokey g c 0 1 }
        assert_error "NOGROUP No such key 's' or consumer group 'nog'" { r xclaim s nog c x 1 }
        assert_error "ERR Invalid min-idle-time argument for XCLAIM" { r xclaim s g c x 1 }
        assert_error "ERR Unrecognized XCLAIM option 'x'" { r xclaim s g c 0 x }
        foreach o {IDLE TIME RETRYCOUNT} {
            assert_error "ERR Invalid $o option argument for XCLAIM" { r xclaim s g c 0 1 $o x }
            assert_error "ERR Unrecognized XCLAIM option '$o'" { r xclaim s g c 0 1 $o }
        }
        assert_error $invalid_id { r xclaim s g c 0 1 lastid x }
        assert_error "WRONGTYPE *" { r xclaim str g c 0 1 }
        assert_equal 0 [group_fact s g consumers]
    }

    test {XAUTOCLAIM} {
        fill_stream s 10
        r xgroup create s g 0
        take s g a > count 8
        assert_equal {0-0 {} {}} [r xautoclaim s g b 100000 -]
        assert_equal {3-0 {{1-0 {n 1}} {2-0 {n 2}}} {}} [r xautoclaim s g b 0 - count 2]
        assert_equal {6-0 {4-0 5-0} {}} [r xautoclaim s g b 0 (3 count 2 justid]
        assert_equal {{1-0 b 2} {2-0 b 2} {3-0 a 1} {4-0 b 1} {5-0 b 1} {6-0 a 1} {7-0 a 1} {8-0 a 1}} [pending s g]
        r xdel s 6 7
        assert_equal {0-0 8-0 {6-0 7-0}} [r xautoclaim s g b 0 6 count 5 JUSTID]
        assert_equal 6 [group_fact s g pending]
        r xclaim s g a 0 2 4 idle 70000
        assert_equal {0-0 {2-0 4-0} {}} [r xautoclaim s g b 60000 0 justid]
        assert_equal {*3 $3 0-0 *0 *0} [wire xautoclaim s g b 0 99]
    }

    test {XAUTOCLAIM looks at ten times COUNT entries and replies where it stopped} {
        fill_stream s 40
        r xgroup create s g 0
        take s g a >
        r xclaim s g a 0 35 idle 70000
        assert_equal {21-0 {} {}} [r xautoclaim s g b 60000 0 count 2]
        assert_equal {36-0 35-0 {}} [r xautoclaim s g b 60000 26 count 1 justid]
    }

    test {XAUTOCLAIM errors} {
        fill_stream s 3
        r xgroup create s g 0
        assert_error "NOGROUP No such key 'nokey' or consumer group 'g'" { r xautoclaim nokey g c 0 0 }
        assert_error "ERR Invalid min-idle-time argument for XAUTOCLAIM" { r xautoclaim s g c x 0 }
        assert_error $invalid_id { r xautoclaim s g c 0 x }
        foreach n {0 -1 x} { assert_error "ERR COUNT must be > 0" { r xautoclaim s g c 0 0 count $n } }
        assert_error "ERR syntax error" { r xautoclaim s g c 0 0 foo }
        assert_error "ERR syntax error" { r xautoclaim s g c 0 0 count }
        assert_error "ERR Insufficient memory, failed allocating transient memory, COUNT too high." {
            r xautoclaim s g c 0 0 count 100000000000000000
        }
        assert_error "WRONGTYPE *" { r xautoclaim str g c 0 0 }
        assert_equal 0 [group_fact s g consumers]
    }

    test {entries-read and lag} {
        fill_stream s 10
        r xgroup create s g 0
        foreach {n read lag} {1 1 9  4 5 5} {
            take s g c > count $n
            assert_equal [list $read $lag] [list [group_fact s g entries-read] [group_fact s g lag]]
        }
        r xdel s 2
        assert_equal 5 [group_fact s g lag]
        r xdel s 8
        assert_equal {5 {}} [list [group_fact s g entries-read] [group_fact s g lag]]
        take s g c > count 2
        assert_equal {{} {}} [list [group_fact s g entries-read] [group_fact s g lag]]
        take s g c >
        assert_equal {10 0} [list [group_fact s g entries-read] [group_fact s g lag]]
        r xadd s 11 n 11
        assert_equal 1 [group_fact s g lag]
        r xtrim s maxlen 0
        r xgroup setid s g 3
        assert_equal {{} 0} [list [group_fact s g entries-read] [group_fact s g lag]]
        r hello 3
        assert_match {*$12 entries-read _ $3 lag :0} [wire xinfo groups s]
        r hello 2
    }

    # With the entries 1-0 to 6-0 and these changes: entries-read and lag, at once and after one more was read.
    foreach {name changes before after} {
        {a deletion behind the group} {{xgroup create s g 3 entriesread 3} {xdel s 2}} {3 3} {4 2}
        {a deletion before the group} {{xgroup create s g 1 entriesread 1} {xdel s 3}} {1 {}} {{} {}}
        {trimmed past the group} {{xgroup create s g 1 entriesread 1} {xtrim s maxlen 2}} {1 5} {5 1}
        {the front deleted past the group} {{xgroup create s g 1 entriesread 1} {xdel s 1 2 3}} {1 {}} {4 2}
        {the front deleted up to the group} {{xgroup create s g 3} {xdel s 1 2 3}} {{} 3} {4 2}
        {the front deleted, the group at zero} {{xgroup create s g 0} {xdel s 1 2 3}} {{} 3} {4 2}
        {a hole, the group at zero} {{xgroup create s g 0} {xdel s 3}} {{} {}} {{} {}}
        {a count that is wrong} {{xgroup create s g 0 entriesread 2} {xdel s 1 2 3}} {2 3} {4 2}
        {the group at the first that is left} {{xgroup create s g 4} {xdel s 1 2 3}} {{} 2} {{} {}}
        {all deleted} {{xgroup create s g 2 entriesread 2} {xdel s 1 2 3 4 5 6}} {2 4} {2 4}
    } {
        test "entries-read and lag: $name" {
            fill_stream s 6
            foreach command $changes { r {*}$command }
            assert_equal $before [list [group_fact s g entries-read] [group_fact s g lag]]
            r xreadgroup group g c count 1 streams s >
            assert_equal $after [list [group_fact s g entries-read] [group_fact s g lag]]
        }
    }

    test {XREADGROUP NOACK does not make a consumer active} {
        fill_stream s 2
        r xgroup create s g 0
        r xreadgroup group g c noack count 1 streams s >
        assert_equal -1 [dict get [lindex [r xinfo consumers s g] 0] inactive]
        r xreadgroup group g c count 1 streams s >
        assert_morethan_equal [dict get [lindex [r xinfo consumers s g] 0] inactive] 0
    }

    test {XACK, XCLAIM and XAUTOCLAIM count as readers of the stream} {
        fill_stream s 2
        r xgroup create s g 0
        r config set notify-keyspace-events Em
        set listener [valkey_deferring_client]
        $listener subscribe __keyevent@0__:keymiss
        $listener read
        foreach command {{xack KEY g 1} {xclaim KEY g c 0 1} {xautoclaim KEY g c 0 0}} {
            r config resetstat
            r {*}[string map {KEY s} $command]
            catch { r {*}[string map {KEY none} $command] }
            assert_equal {1 1} [list [s keyspace_hits] [s keyspace_misses]] $command
            assert_equal none [lindex [$listener read] 2]
        }
        $listener close
        r config set notify-keyspace-events ""
    }

    test {XINFO CONSUMERS: idle and inactive} {
        fill_stream s 3
        r xgroup create s g 0
        take s g c > count 1
        after 120
        assert_range [consumer_fact s g c idle] 100 5000
        assert_range [consumer_fact s g c inactive] 100 5000
        take s g c 0
        assert_lessthan [consumer_fact s g c idle] 100
        assert_morethan_equal [consumer_fact s g c inactive] 100
        r xclaim s g c 0 1 justid
        assert_lessthan [consumer_fact s g c inactive] 100
        r hello 3
        assert_match {*1 %4 $4 name $1 c $7 pending :1 $4 idle :* $8 inactive :*} [wire xinfo consumers s g]
        r hello 2
        assert_error $no_such_group { r xinfo consumers s nog }
        assert_error "ERR no such key" { r xinfo consumers nokey g }
        assert_error "ERR no such key" { r xinfo groups nokey }
        assert_error "WRONGTYPE *" { r xinfo groups str }
    }

    test {XINFO STREAM FULL: groups, consumers and what is pending} {
        fill_stream s 4
        set before [clock milliseconds]
        r xgroup create s g 0
        take s g a > count 2
        take s g b > count 1
        r xgroup createconsumer s g lazy
        set g [lindex [dict get [r xinfo stream s full] groups] 0]
        assert_equal {name last-delivered-id entries-read lag pel-count pending consumers} [dict keys $g]
        assert_equal {g 3-0 3 1 3} [lmap k {name last-delivered-id entries-read lag pel-count} { dict get $g $k }]
        assert_equal {{1-0 a} {2-0 a} {3-0 b}} [lmap p [dict get $g pending] { lrange $p 0 1 }]
        assert_range [lindex [dict get $g pending] 0 2] $before [clock milliseconds]
        lassign [dict get $g consumers] a b lazy
        assert_equal {name seen-time active-time pel-count pending} [dict keys $a]
        assert_equal {a 2} [list [dict get $a name] [dict get $a pel-count]]
        assert_equal {1-0 2-0} [ids [dict get $a pending]]
        assert_equal 3 [llength [lindex [dict get $a pending] 0]]
        assert_range [dict get $b active-time] $before [clock milliseconds]
        assert_equal -1 [dict get $lazy active-time]
        set g [lindex [dict get [r xinfo stream s full count 1] groups] 0]
        assert_equal {3 1 1} [list [dict get $g pel-count] [llength [dict get $g pending]] [llength [dict get [lindex [dict get $g consumers] 0] pending]]]
        r hello 3
        assert_match {%9 *$6 groups *1 %7 *$9 consumers *3 %5 *} [wire xinfo stream s full]
        r hello 2
    }

    test {a large group, acknowledged in random order} {
        r del s
        r xgroup create s g $ mkstream
        for {set i 1} {$i <= 3000} {incr i} { r xadd s [expr {$i / 7}]-[expr {$i % 7 + 1}] n $i }
        set all [ids [r xrange s - +]]
        set open {}
        while {[set got [take s g c[randomInt 5] > count [randomRange 1 200]]] ne {}} { lappend open {*}$got }
        assert_equal $all $open
        assert_equal 3000 [lindex [r xpending s g] 0]
        set rest {}
        foreach id $all { if {[randomInt 3]} { assert_equal 1 [r xack s g $id] } else { lappend rest $id } }
        assert_equal $rest [ids [r xpending s g - + 5000]]
        set claimed {}
        for {set from 0-0} {1} {} {
            lassign [r xautoclaim s g d 0 $from count 70 justid] from some
            lappend claimed {*}$some
            if {$from eq "0-0"} break
        }
        assert_equal $rest $claimed
        assert_equal [list [list d [llength $rest]]] [lindex [r xpending s g] 3]
        assert_equal [llength $rest] [r xgroup delconsumer s g d]
        assert_equal 0 [lindex [r xpending s g] 0]
    }
}
