# The door of the cluster bus: who connects there and does not say who he is; and what a primary leaves unsaid while it hands over.

source -encoding utf-8 $::support/cluster.tcl

proc bus_connection {k} {
    set fd [socket 127.0.0.1 [cluster_bus_port $k]]
    fconfigure $fd -translation binary -blocking 0 -buffering none
    return $fd
}

proc has_ended {fd} {
    catch { read $fd }
    return [eof $fd]
}

start_cluster {kinds {ours ours} overrides {cluster-node-timeout 1000}} {
    test {who connects to the bus and says nothing is shown out} {
        set silent [bus_connection 0]
        set half [bus_connection 0]
        puts -nonewline $half "RCmb\x00\x00\x08\xd0\x00\x01"
        after 500
        assert {![has_ended $silent] && ![has_ended $half]}
        wait_for_condition 40 100 {[has_ended $silent] && [has_ended $half]} else { fail "still there" }
        close $silent
        close $half
        wait_cluster_ok 2
        foreach k {0 1} { assert_match *connected* [cluster_line $k [cluster_id [expr {1 - $k}]]] }
    }

    test {strangers do not take the room of all others} {
        set fds {}
        for {set i 0} {$i < 300} {incr i} { lappend fds [bus_connection 0] }
        assert_equal PONG [r [n 0] ping]
        wait_for_condition 60 100 {[has_ended [lindex $fds 0]] && [has_ended [lindex $fds 299]]} else { fail "still there" }
        foreach fd $fds { close $fd }
        wait_cluster_ok 2
    }
}

start_cluster {kinds {ours ours} overrides {bind-source-addr 127.0.1.9 bind {127.0.0.1 127.0.1.9}}} {
    test {links to others come from the address that is set} {
        foreach k {0 1} { assert_match "127.0.1.9:*" [lindex [cluster_line $k [cluster_id [expr {1 - $k}]]] 0] }
    }
}

# A manual failover that cannot end, as nobody votes: the others stand still.
foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind $kind $kind] primaries 3 overrides {cluster-node-timeout 60000 repl-ping-replica-period 1 cluster-manual-failover-timeout 4000}] {
        test "$kind: a primary that stands still for a failover says nothing to its replica" {
            set offset [s [n 0] master_repl_offset]
            wait_for_condition 40 100 {[s [n 0] master_repl_offset] > $offset} else { fail "no PING" }
            foreach k {1 2} { exec kill -STOP [srv [n $k] pid] }
            try {
                r [n 3] cluster failover
                after 500
                set offset [s [n 0] master_repl_offset]
                after 2500
                assert_equal $offset [s [n 0] master_repl_offset]
            } finally {
                foreach k {1 2} { exec kill -CONT [srv [n $k] pid] }
            }
            wait_cluster_ok 4
        }
    }
}
