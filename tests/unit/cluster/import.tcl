# Atomic slot migrations, as the target, its replica and its files see them before the end: hidden keys.

source -encoding utf-8 $::support/cluster.tcl
source -encoding utf-8 $::support/cluster_import.tcl

foreach {what target replica} {
    "ours" ours ours
    "ours, its replica Valkey's" ours valkey
    "Valkey's, its replica ours" valkey ours
} {
    start_cluster [list kinds [list ours $target ours $replica] primaries 2 overrides {cluster-databases 4 repl-diskless-sync-delay 0}] {
        own_keys
        test "$what: keys of an import are not visible, on the replica neither" {
            set digest [r [n 3] debug digest]
            import_begin_and_fill a
            foreach k {1 3} { only_own_keys $k 3 }
            assert_equal receiving-snapshot [import_job 1 state]
            assert_equal occurring-on-primary [import_job 3 state]
            assert_equal unknown [import_job 3 source_node]
            assert_equal [cluster_id 0] [import_job 1 source_node]
            foreach k {1 3} {
                assert_equal 7 [llength [r [n $k] cluster getkeysinslot 3300 100]]
                assert_equal 3 [lindex [r [n $k] memory stats] [expr {[lsearch [r [n $k] memory stats] keys.count] + 1}]]
            }
            assert_equal $digest [r [n 3] debug digest]
        }

        test "$what: expired keys of an import stay" {
            after 400
            foreach k {1 3} {
                assert_equal 7 [r [n $k] cluster countkeysinslot 3300]
                assert_equal 0 [s [n $k] expired_keys]
                assert_equal 0 [s [n $k] expired_fields]
            }
            $::link append "{b}px" w
            after 100
            assert_equal 7 [r [n 1] cluster countkeysinslot 3300]
        }

        test "$what: a replica that connects during the import" {
            restart_server [n 3] KILL
            wait_for_link n3
            import_here 3
            only_own_keys 3 3
            assert_equal occurring-on-primary [import_job 3 state]
        }

        test "$what: when the slot is handed over the keys are visible, and expired ones are deleted" {
            import_succeed
            foreach k {1 3} {
                wait_import $k success {}
                wait_dbsize $k 9
                assert_match "*db1:keys=1,*" [r [n $k] info keyspace]
            }
        }
    }
}

start_cluster {kinds {ours ours ours ours} primaries 2 overrides {repl-diskless-sync-delay 0 repl-diskless-load swapdb cluster-databases 4}} {
    own_keys
    test "a replica that loads beside its data hides the slot until the import ends" {
        import_begin_and_fill i
        for {set round 0} {$round < 2} {incr round} {
            r [n 3] debug change-repl-id
            r [n 3] client kill type primary
            wait_for_log {The loaded dataset takes the place of the old one} 0 100 50 [n 3]
            wait_for_link n3
            import_here 3
            only_own_keys 3 3
            assert_equal 1 [llength [r [n 3] cluster getslotmigrations]]
        }
        import_succeed
        foreach k {1 3} { wait_import $k success {} }
        foreach k {1 3} { wait_dbsize $k 9 }
    }

    test "DEBUG RELOAD ends an import, and none of its keys is left" {
        wait_owner 3300 1
        wait_cluster_ok 4
        set ::link [valkey_deferring_client [n 1]]
        $::link cluster syncslots establish source [cluster_id 0] name [import_name j] slotsrange 3168 3168
        assert_equal OK [$::link read]
        import_send ack
        $::link set "{f}1" v
        wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3168] == 1} else { fail "not there" }
        r [n 1] debug reload
        assert_equal 9 [r [n 1] dbsize]
        wait_import 1 failed *
        foreach k {1 3} {
            wait_for_condition 100 50 {[r [n $k] cluster countkeysinslot 3168] == 0} else { fail "node $k has keys left" }
            assert_equal 9 [r [n $k] dbsize]
        }
    }
}

# The target sleeps while its replica starts from its own file, which has all that the replica has shown: with everysec, a
# server that is killed may lose what it had still to write.
foreach preamble {yes no} {
    start_cluster [list kinds {ours ours ours ours} primaries 2 overrides [list cluster-databases 4 repl-diskless-sync-delay 0 \
        appendonly yes appendfsync always aof-use-rdb-preamble $preamble cluster-node-timeout 15000]] {
        own_keys
        test "a replica that starts from its append-only file hides the slot, preamble $preamble" {
            import_begin_and_fill k
            foreach rewrite {0 1} {
                wait_no_rewrite 3
                if {$rewrite} {
                    r [n 3] bgrewriteaof
                    wait_no_rewrite 3
                    assert_equal ok [s [n 3] aof_last_bgrewrite_status]
                }
                exec kill -STOP [srv [n 1] pid]
                restart_server [n 3] KILL
                import_here 3
                only_own_keys 3 3
                assert_equal occurring-on-primary [import_job 3 state]
                exec kill -CONT [srv [n 1] pid]
                wait_for_link n3
                import_here 3
            }
            import_succeed
            wait_import 3 success {}
            wait_dbsize 3 9
            wait_no_rewrite 3
            restart_server [n 3] KILL
            assert_equal 9 [r [n 3] dbsize]
            wait_for_link n3
            wait_no_rewrite 3
        }
    }
}

start_cluster {kinds {ours ours ours ours} primaries 2 overrides {rdb-key-save-delay 1000 repl-diskless-sync-delay 0}} {
    test "READONLY: replicas of the source read a slot during its migration, those of its target after it" {
        for {set i 0} {$i < 1000} {incr i} { r [n 0] set "{b}:$i" $i }
        wait_for_offset n2 n0
        r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
        foreach k {2 3} { r [n $k] readonly }
        wait_import 1 receiving-snapshot {}
        assert_equal 7 [r [n 2] get "{b}:7"]
        assert_error "MOVED 3300 *" {r [n 3] get "{b}:7"}
        wait_import 3 success {}
        wait_cluster_ok 4
        assert_equal 7 [r [n 3] get "{b}:7"]
        assert_error "MOVED 3300 *" {r [n 2] get "{b}:7"}
        assert_equal {1000 1000} [list [r [n 1] dbsize] [r [n 3] dbsize]]
    }
}

foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind]] {
        test "$kind: a primary without slots has completed its migration, and follows their owner" {
            for {set i 0} {$i < 100} {incr i} { r [n 0] set "{b}:$i" $i }
            r [n 0] cluster migrateslots slotsrange 0 8191 node [cluster_id 1]
            foreach k {0 1} { wait_import $k success {} }
            wait_for_condition 200 50 {[s [n 0] role] eq "slave"} else { fail "it follows nobody" }
            wait_for_link n0
            assert_equal {100 100} [list [r [n 0] dbsize] [r [n 1] dbsize]]
        }
    }
}
