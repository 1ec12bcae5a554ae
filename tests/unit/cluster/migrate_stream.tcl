# The connection between the two ends of a migration: the link (plain, TLS, silent, stuck, too full), what INFO shows
# of it, and what becomes of the keys at the source.

source -encoding utf-8 $::support/cluster.tcl

proc job {k} {
    set jobs [r [n $k] cluster getslotmigrations]
    if {![llength $jobs]} { return {state none message {}} }
    return [lindex $jobs 0]
}

proc wait_job {k state} {
    wait_for_condition 300 50 {[dict get [job $k] state] eq $state} else { fail "node $k: [job $k]" }
}

proc fill {k count {value v}} {
    for {set i 0} {$i < $count} {incr i} { r [n $k] set "{b}:$i" $value }
}

proc begin {from to args} {
    if {![llength $args]} { set args {3300 3300} }
    assert_equal OK [r [n $from] cluster migrateslots slotsrange {*}$args node [cluster_id $to]]
}

proc child_pids {pid} {
    if {[catch {exec pgrep -P $pid} pids]} { return {} }
    return $pids
}

# ---- TLS ----

set certificates $::work_dir/migrate_tls

proc make_certificate {folder} {
    file mkdir $folder
    exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=node \
        -keyout $folder/node.key -out $folder/node.crt 2>/dev/null
}

foreach {what kinds} {
    "ours to ours" {ours ours ours}
    "ours to Valkey's" {ours valkey ours}
    "Valkey's to ours" {valkey ours ours}
} {
    start_cluster [list kinds $kinds overrides {rdb-key-save-delay 200}] {
        test "$what, with tls-replication: keys, and writes during the migration" {
            if {[auto_execok openssl] eq {}} { skip "no openssl" }
            if {[catch {exec grep -q tls-cert-file $::options(server)}]} { skip "a build without TLS" }
            make_certificate $certificates
            foreach k {0 1} {
                foreach name {cert key ca-cert} file {crt key crt} {
                    r [n $k] config set tls-$name-file $certificates/node.$file
                }
                r [n $k] config set tls-port [free_port] tls-auth-clients yes
                r [n $k] config set tls-replication yes
            }
            fill 0 2000 [string repeat v 200]
            foreach k {0 1} port [list [config_get tls-port [n 1]] [config_get tls-port [n 0]]] {
                wait_for_condition 200 50 {[string match "*tls-port $port *" [r [n $k] cluster shards]]} else { fail "the bus has not told node $k of the other's port" }
            }
            begin 0 1
            wait_job 0 snapshotting
            for {set i 0} {$i < 200} {incr i} { r [n 0] incr "{b}count" }
            r [n 0] set "{b}big" [string repeat x 200000]
            wait_job 0 success
            wait_cluster_ok 3
            assert_equal 2002 [r [n 1] cluster countkeysinslot 3300]
            assert_equal 200 [r [n 1] get "{b}count"]
            assert_equal 200000 [r [n 1] strlen "{b}big"]
            assert_equal [string repeat v 200] [r [n 1] get "{b}:1999"]
        }
    }
}

# ---- Time ----

foreach {what kinds} {
    "ours to Valkey's" {ours valkey}
    "Valkey's to ours" {valkey ours}
} {
    start_cluster [list kinds $kinds overrides {repl-timeout 3 rdb-key-save-delay 3000 cluster-node-timeout 10000}] {
        test "$what: a migration may wait and take longer than repl-timeout, as both sides send keepalives" {
            fill 0 1300 [string repeat v 400]
            r [n 0] bgsave
            begin 0 1
            wait_job 0 waiting-to-snapshot
            wait_job 0 success
            assert_equal 1300 [r [n 1] cluster countkeysinslot 3300]
        }
    }
}

start_cluster {kinds {ours ours} overrides {repl-timeout 2 cluster-node-timeout 60000}} {
    test "a target that is silent ends a migration, in the middle of the snapshot too" {
        fill 0 1000
        r [n 0] config set rdb-key-save-delay 5000
        begin 0 1
        wait_job 0 snapshotting
        set pid [srv [n 1] pid]
        exec kill -STOP $pid
        try { wait_job 0 failed } finally { exec kill -CONT $pid }
        assert_equal "Timed out after too long with no interaction" [dict get [job 0] message]
        wait_job 1 failed
        assert_equal 1000 [r [n 0] cluster countkeysinslot 3300]
        wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3300] == 0} else { fail "keys are left" }
    }

    foreach {stage state} {"in the middle of the snapshot" receiving-snapshot "before it stops writing" waiting-for-paused} {
        test "a source that is silent ends an import, $stage" {
            fill 0 1000
            r [n 0] config set rdb-key-save-delay [expr {$state eq "waiting-for-paused" ? 0 : 5000}]
            r [n 0] debug slotmigration prevent-pause [expr {$state eq "waiting-for-paused"}]
            wait_for_condition 100 50 {[s [n 0] slot_migration_fork_in_progress] == 0} else { fail "a child is left" }
            begin 0 1
            wait_job 1 $state
            set pid [srv [n 0] pid]
            # The child that makes the snapshot would run on. It is stopped after its parent and continues before it:
            # while the parent is stopped, the child's id stays valid.
            exec kill -STOP $pid
            foreach child [child_pids $pid] { exec kill -STOP $child }
            try { wait_job 1 failed } finally {
                foreach child [child_pids $pid] { exec kill -CONT $child }
                exec kill -CONT $pid
            }
            assert_equal "Timed out after too long with no interaction" [dict get [job 1] message]
            wait_job 0 failed
            assert_equal 1000 [r [n 0] cluster countkeysinslot 3300]
            wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3300] == 0} else { fail "keys are left" }
            r [n 0] debug slotmigration prevent-pause 0
        }
    }

    test "a target that reads too slowly: client-output-buffer-limit of replicas" {
        fill 0 1000
        r [n 0] config set client-output-buffer-limit "replica 2mb 0 0" repl-backlog-size 16kb rdb-key-save-delay 5000
        begin 0 1
        wait_job 0 snapshotting
        for {set i 0} {$i < 10} {incr i} { r [n 0] set "{b}big:$i" [string repeat x 300000] }
        wait_job 0 failed
        assert_match "Connection lost to target*" [dict get [job 0] message]
        assert_equal 1 [s [n 0] client_output_buffer_limit_disconnections]
        wait_job 1 failed
        assert_equal 1010 [r [n 0] cluster countkeysinslot 3300]
        r [n 0] config set client-output-buffer-limit "replica 64mb 1mb 1"
        begin 0 1
        wait_job 0 snapshotting
        for {set i 0} {$i < 10} {incr i} { r [n 0] set "{b}big:$i" [string repeat y 300000] }
        wait_job 0 failed
        assert_equal 2 [s [n 0] client_output_buffer_limit_disconnections]
        r [n 0] config set client-output-buffer-limit "replica 256mb 64mb 60" rdb-key-save-delay 0
        begin 0 1
        wait_job 0 success
        assert_equal 1010 [r [n 1] cluster countkeysinslot 3300]
        assert_equal [string repeat y 300000] [r [n 1] get "{b}big:9"]
    }
}

start_cluster {kinds {ours ours} overrides {rdb-key-save-delay 20000}} {
    test "a slot that is flushed at its source does not return at the target" {
        fill 0 1000
        begin 0 1 3300 3300
        wait_job 0 snapshotting
        r [n 0] cluster flushslot 3300
        wait_job 0 failed
        assert_equal "Data was flushed" [dict get [job 0] message]
        wait_job 1 failed
        wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot 3300] == 0} else { fail "keys are left" }
        assert_equal 0 [r [n 0] cluster countkeysinslot 3300]
    }
}

start_cluster {kinds {ours ours} overrides {rdb-key-save-delay 5000}} {
    test "a target that is behind reads in large pieces" {
        fill 0 800 [string repeat v 5000]
        begin 0 1
        wait_job 0 snapshotting
        set pid [srv [n 1] pid]
        exec kill -STOP $pid
        after 500
        exec kill -CONT $pid
        wait_job 0 success
        assert_morethan [s [n 1] client_recent_max_input_buffer] 50000
        assert_equal 800 [r [n 1] cluster countkeysinslot 3300]
        assert_equal [string repeat v 5000] [r [n 1] get "{b}:799"]
    }
}

# ---- What is shown ----

start_cluster {kinds {ours ours} overrides {rdb-key-save-delay 2000 cluster-manual-failover-timeout 1000}} {
    test "INFO and CLIENT LIST while slots move" {
        r [n 0] config set bgsave-default-method fork ;# the child is stopped by a signal
        fill 0 1500 [string repeat v 500]
        assert_equal 0 [s [n 0] slot_migration_fork_in_progress]
        begin 0 1
        wait_job 0 snapshotting
        wait_for_condition 100 50 {[s [n 1] mem_cluster_slot_import] > 100} else { fail "no key comes" }
        set child [child_pids [srv [n 0] pid]]
        exec kill -STOP $child ;# it ends when all has been looked at
        assert_equal 1 [s [n 0] slot_migration_fork_in_progress]
        for {set i 0} {$i < 100} {incr i} { r [n 0] set "{b}new:$i" [string repeat w 1000] }
        assert_range [dict get [job 0] remaining_repl_size] 100000 120000
        assert_morethan [s [n 0] mem_cluster_slot_export] 100000
        assert_equal 0 [s [n 0] mem_cluster_slot_import]
        assert_morethan [s [n 1] mem_cluster_slot_import] 100
        assert_match "*flags=iH *" [r [n 1] client list flags i]
        assert_equal {} [r [n 0] client list flags i]
        exec kill -CONT $child
        wait_job 0 success
        assert_equal 0 [s [n 0] slot_migration_fork_in_progress]
        assert_equal 0 [s [n 0] mem_cluster_slot_export]
        assert_equal 0 [s [n 1] mem_cluster_slot_import]
        set sent [s [n 0] total_net_cluster_slot_export_bytes]
        assert_range $sent 900000 1100000
        assert_range [s [n 1] total_net_cluster_slot_import_bytes] [expr {$sent - 300}] $sent
        assert_morethan [dict get [job 0] cow_size] 0
        foreach k {0 1} { r [n $k] config resetstat }
        assert_equal 0 [s [n 0] total_net_cluster_slot_export_bytes]
        assert_equal 0 [s [n 1] total_net_cluster_slot_import_bytes]
    }

    test "DEBUG SLOTMIGRATION pauses both ends" {
        r [n 0] debug slotmigration prevent-pause 1
        begin 0 1 0 5
        wait_job 0 waiting-to-pause
        after 300
        assert_equal waiting-to-pause [dict get [job 0] state]
        assert_equal waiting-for-paused [dict get [job 1] state]
        r [n 1] debug slotmigration prevent-failover 1
        r [n 0] debug slotmigration prevent-pause 0
        wait_job 1 failover-granted
        set epoch [cluster_info 0 cluster_my_epoch]
        wait_job 0 failed
        assert_equal "The target has not claimed the slots in time, and does not get them any more" [dict get [job 0] message]
        assert_morethan [cluster_info 0 cluster_my_epoch] $epoch
        wait_job 1 failed
        assert_equal 0 [cluster_owner 1 3 2]
        r [n 1] debug slotmigration prevent-failover 0
        begin 0 1 0 5
        wait_job 0 success
    }
}

# ---- Keys of slots that have moved ----

foreach {what kinds} {
    "of ours" {ours ours ours}
    "Valkey's" {ours ours valkey}
} {
    start_cluster [list kinds $kinds primaries 2 overrides {cluster-databases 4 appendonly yes}] {
        test "a replica, $what, and the file drop the keys of a slot that has moved, without an event" {
            for {set i 0} {$i < 300} {incr i} { r [n 0] set "{b}:$i" v }
            r [n 0] set "{b}expires" v ex 1000
            r [n 0] set "{c}other" v
            r [n 0] select 3
            r [n 0] hsetex "{b}hash" ex 1000 fields 1 f v
            r [n 0] set "{b}in3" v
            r [n 0] select 0
            r [n 0] config set notify-keyspace-events KEA
            set listener [valkey_deferring_client [n 0]]
            $listener psubscribe *
            $listener read
            begin 0 1
            wait_job 0 success
            foreach k {0 2} {
                wait_for_condition 100 50 {[r [n $k] cluster countkeysinslot 3300] == 0} else { fail "node $k has keys of the slot" }
            }
            assert_equal 301 [r [n 1] cluster countkeysinslot 3300]
            foreach {k db keys} {0 0 1 0 3 0 1 0 301 1 3 2 2 0 1 2 3 0} {
                r [n $k] select $db
                assert_equal $keys [r [n $k] dbsize]
                r [n $k] select 0
            }
            r [n 0] set "{c}other" w
            assert_equal {pmessage * __keyspace@0__:{c}other set} [$listener read]
            $listener close
            r [n 0] debug loadaof
            assert_equal 1 [r [n 0] dbsize]
            assert_equal w [r [n 0] get "{c}other"]
        }
    }
}

start_cluster {kinds {ours ours}} {
    test "clients that watch or track a key notice that it has moved with its slot" {
        fill 0 10
        set watcher [valkey_client [n 0]]
        $watcher watch "{b}:1"
        set blocked [valkey_deferring_client [n 0]]
        $blocked blpop "{b}list" 0
        begin 0 1
        wait_job 0 success
        assert_error "MOVED 3300 *" {$blocked read}
        $watcher multi
        $watcher ping
        assert_equal {} [$watcher exec]
        $watcher close
        $blocked close
    }
}
