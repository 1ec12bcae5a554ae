# Connections to the cluster bus that never identify themselves; and the messages that a primary does not send while
# it hands over.

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
    test {a bus connection that sends no whole message is closed} {
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

    test {idle bus connections do not use up the limit of connections} {
        set fds {}
        for {set i 0} {$i < 300} {incr i} { lappend fds [bus_connection 0] }
        assert_equal PONG [r [n 0] ping]
        wait_for_condition 60 100 {[has_ended [lindex $fds 0]] && [has_ended [lindex $fds 299]]} else { fail "still there" }
        foreach fd $fds { close $fd }
        wait_cluster_ok 2
    }
}

start_cluster {kinds {ours ours}} {
    test {bad bus messages do not fill the log, and the next line has their number} {
        set fds {}
        # A header without a sender of 2256 bytes, of a type that there is not, and one of a length that does not fit its type.
        set unknown [binary format a4ISSSSx2240 RCmb 2256 1 0 40 0]
        set invalid [binary format a4ISSSSx2240 RCmb 2256 1 0 4 0]
        foreach {message line} [list "nothing that a node would say" "on the cluster bus has a wrong length or signature" \
            $unknown "A packet of the unknown type 40 was received" $invalid "A publish packet with "] {
            for {set i 0} {$i < 50} {incr i} {
                set fd [bus_connection 0]
                puts -nonewline $fd [string repeat $message 10]
                lappend fds $fd
            }
            after 300
            foreach fd $fds { catch { close $fd } }
            set fds {}
            lappend counted [count_log_message $line [n 0]]
        }
        # 50 of the first kind end their link; of the others there are 1,000. Ten are logged in ten seconds.
        assert_range [lindex $counted 0] 10 20
        assert_range [expr {[lindex $counted 1] + [lindex $counted 2]}] 1 30
        assert_equal PONG [r [n 0] ping]
        wait_cluster_ok 2
    }

    test {CONFIG RESETSTAT resets the statistics of the bus} {
        r [n 0] publish a b
        wait_for_condition 100 50 {[cluster_info 0 cluster_stats_messages_received] > 0 && [cluster_info 0 cluster_stats_pubsub_bytes_sent] > 0} else { fail "no messages" }
        # No message is sent or received meanwhile: the other node is stopped, and what is sent each second may be one
        # message.
        exec kill -STOP [srv [n 1] pid]
        try {
            after 200 ;# what it has sent before has come
            assert_equal OK [r [n 0] config resetstat]
            assert_equal {0 0} [list [cluster_info 0 cluster_stats_messages_received] [cluster_info 0 cluster_stats_pubsub_bytes_sent]]
            assert_lessthan [cluster_info 0 cluster_stats_messages_sent] 3
            assert_lessthan [cluster_info 0 cluster_stats_bytes_sent] 10000
            assert_no_match "*publish_sent*" [r [n 0] cluster info]
        } finally { exec kill -CONT [srv [n 1] pid] }
    }
}

# cluster-announce-ip is kept in 46 bytes.
start_server {overrides {cluster-enabled yes}} {
    test {cluster-announce-ip with a NUL does not reach beyond its place} {
        set before [r cluster nodes]
        catch { config_set cluster-announce-ip "10.0.0.1\x00[string repeat x 300]" }
        regsub {(10.0.0.1|127.0.0.1|):} [r cluster nodes] [regexp -inline {[0-9.]*:} $before] now
        assert_equal $before $now
        config_set cluster-announce-ip 10.0.0.2
        assert_match "* 10.0.0.2:*" [r cluster nodes]
    }
}

start_cluster {kinds {ours ours} overrides {bind-source-addr 127.0.1.9 bind {127.0.0.1 127.0.1.9}}} {
    test {links to other nodes come from bind-source-addr} {
        foreach k {0 1} { assert_match "127.0.1.9:*" [lindex [cluster_line $k [cluster_id [expr {1 - $k}]]] 0] }
    }
}

# A manual failover that cannot end, because no node votes: the other nodes are stopped.
foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind $kind $kind] primaries 3 overrides {cluster-node-timeout 60000 repl-ping-replica-period 1 cluster-manual-failover-timeout 4000}] {
        test "$kind: a primary that is paused for a failover sends nothing to its replica" {
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
