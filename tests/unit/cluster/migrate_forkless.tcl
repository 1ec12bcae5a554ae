# Slots that move while clients write, with a snapshot by a thread in the place of a fork. What arrives is compared with
# what the source had, key by key.

source -encoding utf-8 $::support/cluster.tcl
source $::support/values.tcl

proc job {k} {
    set jobs [r [n $k] cluster getslotmigrations]
    if {![llength $jobs]} { return {state none message {}} }
    return [lindex $jobs 0]
}

proc wait_job {k state} {
    wait_for_condition 300 50 {[dict get [job $k] state] eq $state} else { fail "node $k: [job $k]" }
}

proc begin {from to args} {
    assert_equal OK [r [n $from] cluster migrateslots slotsrange {*}$args node [cluster_id $to]]
}

# Writes of all types to slot 3300 ({b}), and to 3301 to 16383 by keys without a tag.
proc write_some {k round} {
    set i [expr {$round % 50}]
    r [n $k] set "{b}string:$i" $round
    r [n $k] append "{b}string:$i" [string repeat x 50]
    r [n $k] incr "{b}count"
    r [n $k] rpush "{b}list" $round
    r [n $k] lpop "{b}list"
    r [n $k] hset "{b}hash" f$i $round g$round v
    r [n $k] hdel "{b}hash" f[expr {($i * 7) % 50}]
    r [n $k] zadd "{b}zset" $round m$i
    r [n $k] sadd "{b}set" $round
    r [n $k] srem "{b}set" [expr {$round / 2}]
    r [n $k] xadd "{b}stream" * f $round
    r [n $k] del "{b}string:[expr {($i * 3) % 50}]"
    r [n $k] rename "{b}count" "{b}count2"
    r [n $k] rename "{b}count2" "{b}count"
    r [n $k] multi
    r [n $k] set "{b}twin1:$i" $round
    r [n $k] set "{b}twin2:$i" $round
    r [n $k] exec
}

proc fill_slot {k} {
    for {set i 0} {$i < 1500} {incr i} { r [n $k] set "{b}:$i" $i }
    r [n $k] set "{b}:expires" v px 100000000
    for {set i 0} {$i < 3000} {incr i} {
        r [n $k] hset "{b}hash" large$i $i
        r [n $k] zadd "{b}zset" $i large$i
        r [n $k] rpush "{b}list" large$i
        r [n $k] sadd "{b}set" large$i
    }
}

foreach {what kinds} {
    "ours to ours" {ours ours}
    "ours to Valkey's" {ours valkey}
} {
    start_cluster [list kinds $kinds overrides {rdb-key-save-delay 200 cluster-databases 2}] {
        test "$what: all types, under writes, without a fork" {
            r [n 0] config set bgsave-default-method forkless
            fill_slot 0
            r [n 0] select 1
            r [n 0] set "{b}other database" v
            r [n 0] select 0
            r [n 0] set "{c}stays" v
            r [n 0] debug slotmigration prevent-pause 1
            begin 0 1 3300 3300
            for {set round 0} {[dict get [job 0] state] in {connecting reading-auth-response reading-establish-response waiting-to-snapshot snapshotting}} {incr round} {
                write_some 0 $round
            }
            assert_morethan $round 3
            wait_job 0 waiting-to-pause
            for {set i 0} {$i < 20} {incr i} { write_some 0 [incr round] }
            set before [dict filter [contents [n 0]] key "{b}*"]
            r [n 0] debug slotmigration prevent-pause 0
            wait_job 0 success
            wait_cluster_ok 2
            assert_equal 1 [expr {$before eq [contents [n 1]]}]
            assert_range [r [n 1] pttl "{b}:expires"] 1 100000000
            assert_equal {0 0} [list [s [n 0] total_forks] [dict get [job 0] cow_size]]
            wait_for_condition 100 50 {[r [n 0] cluster countkeysinslot 3300] == 0} else { fail "keys are left" }
            assert_equal v [r [n 0] get "{c}stays"]
            r [n 1] select 1
            assert_equal {{{b}other database}} [r [n 1] keys *]
            r [n 1] select 0
        }
    }
}

start_cluster {kinds {ours ours} overrides {bgsave-default-method forkless rdb-key-save-delay 2000 rdbcompression no}} {
    test "INFO while a thread makes the snapshot" {
        for {set i 0} {$i < 1000} {incr i} { r [n 0] set "{b}:$i" [string repeat v 500] }
        begin 0 1 3300 3300
        wait_job 0 snapshotting
        assert_equal 1 [s [n 0] slot_migration_fork_in_progress]
        wait_job 0 success
        assert_equal 0 [s [n 0] slot_migration_fork_in_progress]
        assert_range [set sent [s [n 0] total_net_cluster_slot_export_bytes]] 500000 700000
        assert_range [s [n 1] total_net_cluster_slot_import_bytes] [expr {$sent - 300}] $sent
    }

    foreach {how message} {
        {cancel} {*}
        {flushall} {Data was flushed}
    } {
        test "$how in the middle of the snapshot, while the target reads nothing" {
            r [n 0] flushall
            # 100 MB: the buffers of a connection may take 36 MB (tcp_rmem, tcp_wmem).
            for {set i 0} {$i < 200} {incr i} { r [n 0] set "{c}:$i" [string repeat v 500000] }
            set slot [r [n 0] cluster keyslot "{c}"]
            set pid [srv [n 1] pid]
            r [n 0] config set rdb-key-save-delay 10000 ;# 2 s in all: the target is stopped before its end
            begin 0 1 $slot $slot
            wait_job 0 snapshotting
            exec kill -STOP $pid
            try {
                after 2500
                assert_equal 1 [s [n 0] slot_migration_fork_in_progress]
                set at [clock milliseconds]
                if {$how eq "cancel"} { r [n 0] cluster cancelslotmigrations } else { r [n 0] flushall }
                assert_lessthan [expr {[clock milliseconds] - $at}] [expr {1000 * $::patience}]
                assert_match $message [dict get [job 0] message]
                wait_for_condition 100 20 {[s [n 0] slot_migration_fork_in_progress] == 0} else { fail "the thread lives on" }
            } finally {
                exec kill -CONT $pid
            }
            wait_for_condition 100 50 {[dict get [job 1] state] eq "failed"} else { fail [job 1] }
            wait_for_condition 100 50 {[r [n 1] cluster countkeysinslot $slot] == 0} else { fail "keys are left" }
            wait_cluster_ok 2 ;# the stopped node may have been taken for failed
        }
    }

    test "the limit of a replica's output does not apply to what waits of a snapshot" {
        r [n 0] flushall
        r [n 0] config set rdb-key-save-delay 0 client-output-buffer-limit "replica 300000 0 0" repl-backlog-size 16kb
        for {set i 0} {$i < 200} {incr i} { r [n 0] set "{c}:$i" [string repeat v 100000] }
        set slot [r [n 0] cluster keyslot "{c}"]
        begin 0 1 $slot $slot
        wait_job 0 success
        assert_equal 0 [s [n 0] client_output_buffer_limit_disconnections]
        assert_equal 200 [r [n 1] cluster countkeysinslot $slot]
    }

    # The walk of the snapshot comes to the other slot late, as the thread is not given all keys at once.
    test "keys of other slots that are changed meanwhile are not sent" {
        for {set i 0} {1} {incr i} {
            set stays "{$i}"
            if {[r [n 0] cluster keyslot $stays] in [numbers 5000 6000]} break
        }
        foreach k {0 1} { r [n $k] flushall }
        r [n 0] config set rdb-key-save-delay 200 client-output-buffer-limit "replica 256mb 64mb 60"
        # Half of these belong to the other node.
        set c [valkey_deferring_client [n 0]]
        for {set i 0} {$i < 30000} {incr i} { $c set key:$i v }
        for {set i 0} {$i < 30000} {incr i} { catch { $c read } }
        $c close
        r [n 0] set "$stays:key" v
        set all [r [n 0] dbsize]
        begin 0 1 0 3299
        wait_job 0 snapshotting
        for {set i 0} {[dict get [job 0] state] eq "snapshotting"} {incr i} { r [n 0] append "$stays:key" x }
        assert_morethan $i 3
        r [n 0] config set rdb-key-save-delay 0
        wait_job 0 success
        wait_for_condition 100 50 {[r [n 0] cluster countkeysinslot 3299] == 0} else { fail "keys are left" }
        assert_range [r [n 1] dbsize] 5500 6500
        assert_equal $all [expr {[r [n 0] dbsize] + [r [n 1] dbsize]}]
        assert_equal v[string repeat x $i] [r [n 0] get "$stays:key"]
    }
}
