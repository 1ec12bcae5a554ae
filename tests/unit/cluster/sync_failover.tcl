# min-replicas-sync 1 with two replicas: before one of them takes over, both have stopped acknowledging to the old
# primary. Nodes 3 and 4 are replicas of node 0, which hangs; node 4 is never elected.

source -encoding utf-8 $::support/cluster.tcl

set settings {cluster-node-timeout 3000 cluster-allow-replica-migration no repl-diskless-sync-delay 0 repl-ping-replica-period 1000 min-replicas-sync-timeout 60000 save {}}

proc start_synced_cluster {kinds body} {
    start_cluster [list kinds $kinds slots 0 overrides [expr {"valkey" in $kinds ? [dict remove $::settings min-replicas-sync-timeout] : $::settings}]] {
        cluster_share_slots 3
        foreach k {3 4} {
            wait_for_condition 100 50 {[string match "*[cluster_id 0] * master *" [r [n $k] cluster nodes]]} else { fail "node $k does not know node 0" }
            r [n $k] cluster replicate [cluster_id 0]
        }
        foreach k {3 4} { wait_for_link n$k }
        wait_cluster_ok 5
        config_set min-replicas-sync 1 [n 0]
        settle
        assert_equal OK [r [n 0] set "{b}" before]
        uplevel 1 $body
    }
}

# Until no node is taken for failed. (nofailover would be mistaken for a failure.)
proc settle {} {
    foreach k {0 1 2 3 4} {
        wait_for_condition 400 50 {![string match *fail* [string map {nofailover {}} [r [n $k] cluster nodes]]]} else {
            fail "node $k: [r [n $k] cluster nodes]"
        }
    }
    config_set cluster-replica-no-failover no [n 4]
    wait_cluster_ok 5
    config_set cluster-replica-no-failover yes [n 4]
}

proc hang_node {k} { exec kill -STOP [srv [n $k] pid] }
proc wake_node {k} { exec kill -CONT [srv [n $k] pid] }
# Hangs the other replica, then the primary, until node 3 has logged this. Returns how many lines its log had before.
proc hang_until_logged {line} {
    set from [llength [log_lines [n 3]]]
    hang_node 4
    hang_node 0
    wait_for_log $line $from 400 50 [n 3]
    return $from
}
proc wait_until_primary {k} {
    wait_for_condition 1000 10 {[lindex [r [n $k] role] 0] eq "master"} else { fail "node $k is not elected: [lrange [log_lines [n $k]] end-10 end]" }
}
proc role_of {k} { ;# on a connection of its own, whose replies never wait
    set c [valkey_client [n $k]]
    try { return [lindex [$c role] 0] } finally { $c close }
}
proc acks_paused {k} { return [expr {[regexp {replica_acks_paused:(\d+)} [r [n $k] info replication] - value] ? $value : 0}] }

start_synced_cluster {ours ours ours ours ours} {
    # Node 4 misses the news of the promotion for a second or more, and node 0 until it is told to listen.
    test "a primary that goes on after the promotion gets no acknowledgement of the other replica" {
        foreach k {0 1 2 3 4} { r [n $k] debug disable-cluster-random-ping 1 }
        set writer [valkey_deferring_client [n 0]]
        $writer ping
        $writer read
        r [n 4] debug drop-cluster-packet-filter 1
        r [n 0] debug drop-cluster-packet-filter -2
        hang_node 0
        $writer set "{b}" meanwhile
        $writer flush
        wait_until_primary 3
        wake_node 0
        fconfigure [$writer channel] -blocking 0
        set got {}
        for {set i 0} {$i < 5 && $got eq {}} {incr i} {
            after 200
            append got [read [$writer channel]]
        }
        assert_no_match "+OK*" $got
        r [n 4] debug drop-cluster-packet-filter -1
        set listens [valkey_deferring_client [n 0]] ;# its reply may wait, too
        $listens debug drop-cluster-packet-filter -1
        $listens flush
        wait_for_condition 200 50 {[role_of 0] eq "slave"} else { fail "node 0 has not learnt of it" }
        $writer close
        $listens close
        settle
        assert_equal before [r [n 3] get "{b}"]
    }

    test "afterwards nothing is paused, and the new primary is acknowledged" {
        foreach k {0 4} {
            wait_for_link n$k
            assert_equal 0 [acks_paused $k]
        }
        config_set min-replicas-sync 1 [n 3]
        assert_equal OK [r [n 3] set "{b}" afterwards]
    }

    test "a manual failover gives the primary's role back, and waits for nobody" {
        hang_node 4
        assert_equal OK [r [n 0] cluster failover]
        wait_until_primary 0
        wait_for_condition 200 50 {[cluster_owner 1 0 5] == 0} else { fail [r [n 1] cluster nodes] }
        wake_node 4
        settle
        assert_equal afterwards [r [n 0] get "{b}"]
        foreach k {3 4} { wait_for_link n$k }
    }
}

start_synced_cluster {ours ours ours ours ours} {
    test "while the other replica is missed, the failover waits, and ends when the primary is back" {
        hang_until_logged "1 of 2 replicas have stopped acknowledging, 2 are needed with min-replicas-sync 1; it waits"
        assert_equal 1 [acks_paused 3]
        after 1000
        assert_equal slave [lindex [r [n 3] role] 0]
        wake_node 0
        wait_for_condition 400 50 {[acks_paused 3] == 0} else { fail "it is paused" }
        assert_equal OK [r [n 0] set "{b}" back]
    }

    test "it goes on when the other replica comes" {
        wake_node 4
        settle
        hang_node 4
        assert_equal OK [r [n 0] set "{b}" one]
        set from [llength [log_lines [n 3]]]
        hang_node 0
        wait_for_log "it waits for them" $from 400 50 [n 3]
        wake_node 4
        wait_until_primary 3
        wake_node 0
        settle
        assert_equal one [r [n 3] get "{b}"]
    }
}

foreach {way order} {cluster-unclean-failover {config set cluster-unclean-failover yes} force {cluster failover force} takeover {cluster failover takeover}} {
    start_synced_cluster {ours ours ours ours ours} {
        test "with $way it goes on without the other replica" {
            set from [hang_until_logged "it waits for them"]
            assert_equal OK [r [n 3] {*}$order]
            wait_until_primary 3
            if {$way eq "cluster-unclean-failover"} { wait_for_log "it goes on, and may lose acknowledged writes" $from 10 50 [n 3] }
            wake_node 0
            wake_node 4
            settle
            assert_equal {0 0} [list [acks_paused 0] [acks_paused 4]]
        }
    }
}

start_synced_cluster {ours ours ours ours valkey} {
    test "a replica of Valkey is not waited for, with a line in the log" {
        set from [llength [log_lines [n 3]]]
        hang_node 0
        wait_until_primary 3
        wait_for_log "1 of 2 replicas have stopped acknowledging, 2 are needed with min-replicas-sync 1; the others do not know how to" $from 10 50 [n 3]
        wake_node 0
        settle
        assert_equal before [r [n 3] get "{b}"]
    }

    test "it is elected as ever" {
        wait_for_link n4
        wait_for_link n0
        config_set cluster-replica-no-failover no [n 4]
        wait_cluster_ok 5
        config_set cluster-replica-no-failover yes [n 0]
        hang_node 3
        wait_until_primary 4
        wake_node 3
        config_set cluster-replica-no-failover no [n 0]
        wait_cluster_ok 5
    }
}
