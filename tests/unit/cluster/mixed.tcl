# Clusters of this server and Valkey: each accepts nodes of the other.

source -encoding utf-8 $::support/cluster.tcl

foreach {what kinds} {
    "ours alone" {ours ours ours ours ours ours}
    "ours in the minority" {ours valkey valkey valkey valkey ours}
    "ours in the majority" {ours ours valkey valkey ours ours}
} {
    start_cluster [list kinds $kinds primaries 3 overrides {min-replicas-to-write 0}] {
        test "$what: keys are where their slots are" {
            foreach {key slot} {b 3300 foo 12182 a 15495} {
                set owner [cluster_owner 0 $slot 6]
                foreach k {0 1 2 3 4 5} {
                    if {$k == $owner} {
                        assert_equal OK [r [n $k] set $key v]
                    } else {
                        assert_error "MOVED $slot 127.0.0.1:[srv [n $owner] port]" {r [n $k] set $key v}
                    }
                }
            }
            assert_error "CROSSSLOT *" {r [n 0] mget a b}
        }

        test "$what: a replica takes over by a manual failover" {
            set id [cluster_id 3]
            set waits [valkey_deferring_client [n 0]]
            $waits blpop "nosuch{b}" 0
            wait_for_condition 100 50 {[s [n 0] blocked_clients] == 1} else { fail "it does not wait" }
            assert_equal OK [r [n 3] cluster failover]
            assert_error "MOVED 3300 127.0.0.1:[srv [n 3] port]" {$waits read}
            assert_equal PONG [$waits ping; $waits read]
            $waits close
            wait_for_condition 200 50 {[cluster_owner 0 0 6] == 3} else { fail "node 3 is not the primary: [r [n 0] cluster nodes]" }
            wait_cluster_ok 6
            assert_match "*slave*" [lindex [cluster_line 1 [cluster_id 0]] 1]
        }

        # 9.2 §10: 9.1.2 ignores the extension, so it is lost nowhere but in its own nodes.conf.
        test "$what: nodes with a cluster-replica-priority are understood" {
            foreach {k kind} [concat {*}[lmap k {0 1 2 3 4 5} kind $kinds {list $k $kind}]] {
                if {$kind eq "ours"} { config_set cluster-replica-priority [expr {$k + 1}] [n $k] }
            }
            foreach {k kind} [concat {*}[lmap k {0 1 2 3 4 5} kind $kinds {list $k $kind}]] {
                if {$kind ne "ours"} { continue }
                foreach of {0 1 2 3 4 5} other $kinds {
                    set known [expr {$other eq "ours" ? $of + 1 : 0}]
                    wait_for_condition 200 50 {[r [n $k] debug cluster-replica-priority [cluster_id $of]] == $known} else {
                        fail "node $k believes [r [n $k] debug cluster-replica-priority [cluster_id $of]] of node $of"
                    }
                }
            }
            wait_cluster_ok 6
        }

        test "$what: a primary that hangs is replaced, and becomes a replica when it returns" {
            set pid [srv [n 1] pid]
            exec kill -STOP $pid
            wait_for_condition 400 50 {[cluster_owner 2 6000 6] == 4} else { fail "nobody took over: [r [n 2] cluster nodes]" }
            exec kill -CONT $pid
            wait_cluster_ok 6
            assert_match "*slave*" [lindex [cluster_line 2 [cluster_id 1]] 1]
            assert_equal [srv [n 4] port] [s [n 1] master_port]
        }
    }
}
