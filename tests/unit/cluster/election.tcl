# Which replica may be elected: one with complete and recent data from the shard of its primary. The primary is
# stopped, not killed, so that a wrong election loses its keys when it continues.

source -encoding utf-8 $::support/cluster.tcl

set refused "Currently unable to failover: "
set not_whole "${refused}The data here did not come whole from my primary."
set too_old "${refused}The link to the primary has been down for longer than"

# Node k hangs until the body has run.
proc while_stopped {k body} {
    exec kill -STOP [srv [n $k] pid]
    try { uplevel 1 $body } finally { exec kill -CONT [srv [n $k] pid] }
}

# While node `primary` is stopped, node 3 refuses to replace it. When all nodes run again, nothing has been lost.
proc assert_not_elected {primary line {meanwhile {}}} {
    set keys [r [n $primary] dbsize]
    assert_morethan $keys 0
    set from [llength [log_lines [n 3]]]
    while_stopped $primary {
        uplevel 1 $meanwhile
        wait_for_log $line $from 400 50 [n 3]
        assert_equal slave [lindex [r [n 3] role] 0]
        config_set cluster-replica-no-failover yes [n 3] ;# else it may win when it is synchronized, before FAIL is taken back
    }
    wait_for_condition 400 50 {![string match *fail* [string map {nofailover {}} [r [n 3] cluster nodes]]]} else { fail "node $primary stays failed" }
    config_set cluster-replica-no-failover no [n 3]
    wait_cluster_ok 4
    config_set rdb-key-save-delay 0 [n $primary]
    r [n $primary] client kill type replica
    assert_equal [list master $keys] [list [lindex [r [n $primary] role] 0] [r [n $primary] dbsize]]
    wait_for_link n3
    assert_equal $keys [r [n 3] dbsize]
}

# Synchronizations from node k begin, and do not end.
proc hold_synchronizations {k} { config_set rdb-key-save-delay 10000000 [n $k] }

proc wait_for_synchronization {} {
    wait_for_condition 400 50 {[s [n 3] master_sync_in_progress] == 1} else { fail "no synchronization begins" }
}

proc offset_of_node_3_at {k} {
    foreach shard [r [n $k] cluster shards] {
        foreach node [dict get $shard nodes] {
            if {[dict get $node id] eq [cluster_id 3]} { return [dict get $node replication-offset] }
        }
    }
}

set settings {cluster-node-timeout 1000 repl-diskless-sync-delay 0 repl-ping-replica-period 1 repl-timeout 3 cluster-replica-validity-factor 3 save {}}

proc share_slots_and_keys {} {
    cluster_share_slots 3
    wait_cluster_ok 4
    foreach {key owner} {b 0 foo 2} {
        foreach i [numbers 1 50] { r [n $owner] set "{$key}$i" v }
    }
}

proc fail_synchronizations {} {
    hold_synchronizations 0
    r [n 0] debug change-repl-id
    r [n 0] client kill type replica
    wait_for_synchronization
}

start_cluster [list kinds {ours ours ours ours} slots 0 overrides $settings] {
    share_slots_and_keys

    test {a replica that has never been synchronized is not elected} {
        hold_synchronizations 0
        r [n 3] cluster replicate [cluster_id 0]
        wait_for_synchronization
        config_set cluster-replica-validity-factor 0 [n 3] ;# however old they are: but there are none
        assert_not_elected 0 $not_whole
        config_set cluster-replica-validity-factor 3 [n 3]
    }

    test {a replica whose synchronizations fail becomes too old to be elected} {
        fail_synchronizations
        wait_for_condition 400 50 {[s [n 3] master_link_down_since_seconds] >= 6} else { fail "the link is not down" }
        assert_not_elected 0 $too_old
    }

    test {a replica that has just started is too old, and continues where its file ends} {
        r [n 3] save
        set full [s [n 0] sync_full]
        assert_not_elected 0 $too_old { restart_server [n 3] KILL }
        assert_equal $full [s [n 0] sync_full]
    }

    test {a replica from another shard is not elected before it is synchronized} {
        wait_for_condition 400 50 {[offset_of_node_3_at 1] > 0} else { fail "node 1 does not know what node 3 has" }
        hold_synchronizations 2
        r [n 3] cluster replicate [cluster_id 2]
        wait_for_synchronization
        assert_equal 0 [offset_of_node_3_at 3]
        wait_for_condition 400 50 {[offset_of_node_3_at 1] == 0} else { fail "it tells others of an offset in another shard" }
        assert_not_elected 2 $not_whole { restart_server [n 3] KILL } ;# its file is of the other shard
    }

    test {a replica from another shard is elected after it is synchronized} {
        while_stopped 2 {
            wait_for_condition 400 50 {[lindex [r [n 3] role] 0] eq "master"} else { fail "node 3 is not elected" }
        }
        wait_cluster_ok 4
        assert_equal [r [n 3] dbsize] [r [n 2] dbsize]
    }
}

start_cluster [list kinds {ours ours ours ours} slots 0 overrides [list repl-diskless-load flush-before-load {*}$settings]] {
    share_slots_and_keys

    test {a replica that has loaded part of another snapshot over its data is not elected} {
        r [n 3] cluster replicate [cluster_id 0]
        wait_for_link n3
        fail_synchronizations
        assert_not_elected 0 $not_whole
    }
}

# 9.2 §6: a replica with the replication offset 0 starts no election while the directive says if-empty.
start_cluster [list kinds {ours ours ours ours} slots 0 overrides [dict merge $settings {cluster-replica-validity-factor 0}]] {
    share_slots_and_keys

    test {if-empty: a replica with the replication offset 0 is not elected} {
        config_set cluster-slave-no-failover if-empty [n 3]
        assert_equal {cluster-replica-no-failover if-empty} [r [n 3] config get cluster-replica-no-failover]
        assert_no_match *nofailover* [r [n 3] cluster nodes]
        hold_synchronizations 0
        r [n 3] cluster replicate [cluster_id 0]
        wait_for_synchronization
        set from [llength [log_lines [n 3]]]
        while_stopped 0 {
            wait_for_log "Currently unable to failover: *Replication offset is 0*" $from 400 50 [n 3]
            assert_equal slave [lindex [r [n 3] role] 0]
        }
        wait_cluster_ok 4
        config_set rdb-key-save-delay 0 [n 0]
        r [n 0] client kill type replica
        wait_for_link n3
        assert_error "*argument(s) must be one of the following: no, yes, if-empty*" {r [n 3] config set cluster-replica-no-failover maybe}
    }

    test {if-empty: a replica that has data is elected} {
        assert_equal if-empty [config_get cluster-replica-no-failover [n 3]]
        while_stopped 0 {
            wait_for_condition 400 50 {[lindex [r [n 3] role] 0] eq "master"} else { fail "node 3 is not elected" }
            assert_equal 50 [r [n 3] dbsize]
        }
        wait_cluster_ok 4
    }
}

# 9.2 §6 (U): the replica with the lowest cluster-replica-priority is elected when their data is equal.
start_cluster [list kinds {ours ours ours ours ours ours} slots 0 overrides [dict merge $settings {repl-ping-replica-period 1000}]] {
    cluster_share_slots 3
    foreach k {3 4 5} {
        wait_for_condition 100 50 {[string match "*[cluster_id 0] * master *" [r [n $k] cluster nodes]]} else { fail "node $k does not know node 0" }
        r [n $k] cluster replicate [cluster_id 0]
    }
    foreach k {3 4 5} { wait_for_link n$k }
    wait_cluster_ok 6

    proc priority_at {k of} { return [r [n $k] debug cluster-replica-priority [cluster_id $of]] }
    proc nodes_conf {k} { return [read_file [file join [config_get dir [n $k]] [config_get cluster-config-file [n $k]]]] }

    test {cluster-replica-priority is known to all nodes, and is in nodes.conf unless it is 0} {
        foreach {k priority} {3 30 4 10 5 20} { config_set cluster-replica-priority $priority [n $k] }
        foreach k {0 1 2 3 4 5} {
            foreach {of priority} {0 0 3 30 4 10 5 20} {
                wait_for_condition 200 50 {[priority_at $k $of] == $priority} else { fail "node $k believes [priority_at $k $of] of node $of" }
            }
        }
        wait_for_condition 100 50 {[string match "*[cluster_id 4] *,replica-priority=10,shard-id=*" [nodes_conf 1]]} else { fail [nodes_conf 1] }
        assert_no_match "*replica-priority=0*" [nodes_conf 1]
        assert_error "*Unknown node*" {r [n 0] debug cluster-replica-priority nosuchnode}
        assert_error "*argument must be between 0 and 2147483647*" {r [n 3] config set cluster-replica-priority -1}
        config_set cluster-replica-priority 0 [n 5]
        wait_for_condition 200 50 {[priority_at 1 5] == 0} else { fail "node 1 still believes [priority_at 1 5]" }
        config_set cluster-replica-priority 20 [n 5]
        wait_for_condition 200 50 {[priority_at 3 5] == 20 && [priority_at 4 5] == 20} else { fail "nodes 3 and 4 do not know it" }
    }

    test {the replica with the lowest priority number takes over} {
        set from [llength [log_lines [n 4]]]
        while_stopped 0 {
            wait_for_condition 400 50 {[cluster_owner 1 0 6] > 2} else { fail "nobody took over" }
            assert_equal 4 [cluster_owner 1 0 6]
            wait_for_log "Start of election delayed for *rank #0, *replica priority 10*" $from 10 50 [n 4]
        }
        wait_cluster_ok 6
    }
}
