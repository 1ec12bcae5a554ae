# An import of slots, played by the test: a client that sends keys of slot 3300 ({b}) from node 0 to node 1, whose
# replica is node 3. Keys of {a} are node 1's own. It is built on support/cluster.tcl.

set ::link {}

proc import_name {letter} { return [string repeat $letter 40] }

proc import_begin {letter} {
    set ::link [valkey_deferring_client [n 1]]
    $::link cluster syncslots establish source [cluster_id 0] name [import_name $letter] slotsrange 3300 3300
    assert_equal OK [$::link read]
    import_send ack
}

proc import_send {word} { $::link cluster syncslots $word }

# Messages from the target, without keepalives.
proc import_receive {} {
    while {[set word [lindex [$::link read] 2]] eq "ACK"} {}
    return $word
}

proc import_fill {} {
    $::link select 0
    foreach i {0 1 2 3} { $::link set "{b}$i" $i }
    $::link set "{b}ex" v ex 1000
    $::link set "{b}px" v px 1
    $::link hset "{b}hash" f 1 g 2
    $::link hpexpire "{b}hash" 1 fields 1 f
    $::link select 1
    $::link set "{b}1" v
    $::link select 0
}

proc import_here {{k 1}} {
    wait_for_condition 100 50 {[r [n $k] cluster countkeysinslot 3300] == 7} else { fail "node $k: [r [n $k] cluster countkeysinslot 3300] keys" }
}

proc import_begin_and_fill {letter} {
    import_begin $letter
    import_fill
    import_here 1
    import_here 3
}

# A rewrite of node k's append-only file may be under way or due, as after a full synchronization: waits for its end.
proc wait_no_rewrite {k} {
    wait_for_condition 200 50 {[s [n $k] aof_rewrite_in_progress] == 0 && [s [n $k] aof_rewrite_scheduled] == 0} else { fail "node $k goes on rewriting its file" }
}

proc import_succeed {} {
    import_send snapshot-eof
    assert_equal REQUEST-PAUSE [import_receive]
    import_send paused
    assert_equal REQUEST-FAILOVER [import_receive]
    import_send failover-granted
}

# The newest job of node k.
proc import_job {k field} {
    set jobs [r [n $k] cluster getslotmigrations]
    if {![llength $jobs]} { return none }
    set job [lindex $jobs 0]
    return [expr {[dict exists $job $field] ? [dict get $job $field] : "unknown"}]
}

proc wait_import {k state message} {
    wait_for_condition 200 50 {[import_job $k state] eq $state} else { fail "node $k: [import_job $k state]" }
    assert_match $message [import_job $k message]
}

# So many keys are visible, all of {a}.
proc only_own_keys {k count} {
    set at [n $k]
    assert_equal $count [r $at dbsize]
    assert_equal $count [llength [r $at keys *]]
    assert_equal {} [r $at keys "{b}*"]
    set cursor 0
    set seen {}
    while {1} {
        lassign [r $at scan $cursor count 100] cursor keys
        lappend seen {*}$keys
        if {$cursor eq "0"} { break }
    }
    assert_equal $count [llength [lsort -unique $seen]]
    assert_equal {0 {}} [r $at scan 0 match "{b}*" count 100]
    foreach key $seen { assert_match "{a}*" $key }
    for {set i 0} {$i < 20} {incr i} { assert_match [expr {$count ? "{a}*" : ""}] [r $at randomkey] }
    assert_match "*db0:keys=$count,expires=0,*" "[r $at info keyspace][expr {$count ? {} : {db0:keys=0,expires=0,}}]"
    assert_no_match "*db1:*" [r $at info keyspace]
    assert_error "MOVED 3300 *" {r $at get "{b}1"}
}

proc wait_dbsize {k count} {
    wait_for_condition 100 50 {[r [n $k] dbsize] == $count} else { fail "node $k has [r [n $k] dbsize] keys" }
}

proc wait_owner {slot owner} {
    foreach k {0 1 2 3} {
        wait_for_condition 200 50 {[cluster_owner $k $slot 4] == $owner} else { fail "node $k: [cluster_owner $k $slot 4] owns $slot" }
    }
}

proc no_keys_left {} {
    foreach k {1 3} {
        wait_for_condition 200 50 {[r [n $k] cluster countkeysinslot 3300] == 0} else { fail "node $k has keys of slot 3300 left" }
    }
}

proc own_keys {} {
    foreach i {0 1 2} { r [n 1] set "{a}$i" v }
    wait_dbsize 3 3
}
