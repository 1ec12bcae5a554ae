# Atomic slot migrations that fail: nothing of the import is left, and each slot has one owner.

source -encoding utf-8 $::support/cluster.tcl
source -encoding utf-8 $::support/cluster_import.tcl

# Nothing of an import is left when it has failed, whatever it was that ended it.
foreach {what target replica} {
    "ours" ours ours
    "ours, its replica Valkey's" ours valkey
    "Valkey's, its replica ours" valkey ours
} {
    start_cluster [list kinds [list ours $target ours $replica] primaries 2 overrides {cluster-databases 4 repl-diskless-sync-delay 0}] {
        own_keys
        test "$what: an import fails when the source exits" {
            import_begin_and_fill b
            $::link close
            foreach k {1 3} { wait_import $k failed "Connection lost to source*" }
            no_keys_left
            foreach k {1 3} { only_own_keys $k 3 }
        }

        test "$what: an import without memory fails; hidden keys are not evicted" {
            import_begin_and_fill c
            r [n 1] config set maxmemory-policy allkeys-lru
            r [n 1] config set maxmemory 1
            wait_dbsize 1 0
            only_own_keys 1 0
            assert_equal 3 [s [n 1] evicted_keys]
            assert_equal 7 [r [n 1] cluster countkeysinslot 3300]
            $::link set "{b}more" v
            foreach k {1 3} { wait_import $k failed "Ran out of memory (OOM) during slot import" }
            no_keys_left
            r [n 1] config set maxmemory 0
            r [n 1] config set maxmemory-policy noeviction
            $::link close
            own_keys
        }

        test "$what: a flush of one database" {
            import_begin_and_fill d
            r [n 1] select 2
            r [n 1] flushdb
            r [n 1] select 0
            foreach k {1 3} { wait_import $k failed "Data was flushed" }
            no_keys_left
            foreach k {1 3} { only_own_keys $k 3 }
            $::link close
        }

        test "$what: a target that has saved in the middle is started again" {
            import_begin_and_fill e
            r [n 1] save
            restart_server [n 1] KILL
            assert_equal 3 [r [n 1] dbsize]
            wait_import 1 failed "Process restarted"
            no_keys_left
            wait_cluster_ok 4
            only_own_keys 1 3
        }

        # (Rewritten without a preamble, the file of 9.1.2 does not contain the import.)
        foreach {preamble rewrite} [expr {$target eq "ours" ? {yes 0 yes 1 no 1} : {yes 0 yes 1}}] {
            test "$what: the same with an append-only file, preamble $preamble, rewritten $rewrite" {
                wait_for_link n3
                r [n 1] config set appendonly yes appendfsync always
                r [n 1] config set aof-use-rdb-preamble $preamble
                r [n 1] config rewrite
                wait_no_rewrite 1
                import_begin_and_fill f
                if {$rewrite} {
                    r [n 1] bgrewriteaof
                    wait_no_rewrite 1
                    assert_equal ok [s [n 1] aof_last_bgrewrite_status]
                }
                $::link set "{b}last" v
                wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3300] == 8} else { fail "not there" }
                r [n 1] set "{a}1" v
                restart_server [n 1] KILL
                assert_equal 3 [r [n 1] dbsize]
                wait_import 1 failed "Process restarted"
                no_keys_left
                wait_cluster_ok 4
                only_own_keys 1 3
            }
        }
    }
}

# A primary of Valkey 9.1.2 that becomes a replica during an import crashes. So does a replica of one that was told to
# take over during an import.
foreach {what replica} {"ours" ours "ours, its replica Valkey's" valkey} {
    start_cluster [list kinds [list ours ours ours $replica] primaries 2 overrides {repl-diskless-sync-delay 0 cluster-databases 4}] {
        own_keys
        test "$what: the target's replica takes over in the middle" {
            import_begin_and_fill g
            r [n 3] cluster failover takeover
            foreach k {1 3} { wait_import $k failed "A failover occurred during slot import" }
            no_keys_left
            wait_owner 15495 3
            wait_cluster_ok 4
            wait_owner 3300 0
            wait_for_link n1
            wait_for_offset n1 n3
            foreach k {1 3} { only_own_keys $k 3 }
            $::link close
        }

        test "$what: what was a target's replica can be a target itself, and gets the slot" {
            r [n 1] cluster failover takeover
            wait_owner 15495 1
            wait_cluster_ok 4
            wait_for_link n3
            wait_for_offset n3 n1
            import_begin_and_fill h
            import_succeed
            wait_import 3 success {}
            foreach k {1 3} { wait_dbsize $k 9 }
            r [n 3] cluster failover takeover
            wait_owner 3300 3
            wait_cluster_ok 4
            assert_equal 9 [r [n 3] dbsize]
        }
    }
}

# ---- Real migrations with a failover before the end ----

foreach {what side} {"the source's replica" 2 "the target's replica" 3} {
    start_cluster {kinds {ours ours ours ours} primaries 2 overrides {repl-diskless-sync-delay 0}} {
        test "$what takes over in the middle: the slot has one owner, with all keys" {
            for {set i 0} {$i < 2000} {incr i} { r [n 0] set "{b}:$i" [string repeat $i 300] }
            wait_for_offset n2 n0
            # The snapshot would take 20 s, and is sent in pieces of 64 KB: it is not complete when the replica takes
            # over.
            r [n 0] config set rdb-key-save-delay 10000
            r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
            wait_import 0 snapshotting {}
            wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3300] > 100} else { fail "no keys come" }
            r [n $side] cluster failover takeover
            wait_import 0 failed *
            # The target forgets a failed import when it has to load all from its replica, which may have less of the stream.
            wait_for_condition 200 50 {[import_job 1 state] in {failed none}} else { fail "node 1: [import_job 1 state]" }
            no_keys_left
            wait_cluster_ok 4
            set owner [expr {$side == 2 ? 2 : 0}]
            wait_owner 3300 $owner
            wait_cluster_ok 4
            assert_equal 2000 [r [n $owner] dbsize]
            for {set i 0} {$i < 2000} {incr i 37} { assert_equal [string repeat $i 300] [r [n $owner] get "{b}:$i"] }
            foreach k {1 3} { assert_equal 0 [r [n $k] dbsize] }
        }
    }
}
