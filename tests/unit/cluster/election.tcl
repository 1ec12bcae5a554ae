# Which replica may be elected: one with complete and recent data from the shard of its primary. The primary is
# stopped, not killed, so that a wrong election loses its keys when it continues.

source -encoding utf-8 $::support/cluster.tcl

set refused "This replica cannot take over: "
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
