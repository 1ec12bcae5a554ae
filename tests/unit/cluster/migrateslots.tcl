# Slots that move with their keys at once: CLUSTER MIGRATESLOTS, between servers of the same kind and of two.

source -encoding utf-8 $::support/cluster.tcl

# The newest job of node k, as a dictionary.
proc job {k} {
    set jobs [r [n $k] cluster getslotmigrations]
    if {![llength $jobs]} { return {state none message {}} }
    return [lindex $jobs 0]
}

proc wait_job {k state} {
    wait_for_condition 300 50 {[dict get [job $k] state] eq $state} else { fail "node $k: [job $k]" }
}

foreach {what kinds} {
    "ours to ours" {ours ours ours}
    "ours to Valkey's" {ours valkey ours}
    "Valkey's to ours" {valkey ours ours}
} {
    start_cluster [list kinds $kinds] {
        test "$what: slots move with all keys, of every type" {
            set at [srv [n 0] port]
            for {set i 0} {$i < 2000} {incr i} { r [n 0] set "{b}:$i" $i }
            r [n 0] rpush "{b}list" a b c
            r [n 0] hset "{b}hash" f v g w
            r [n 0] zadd "{b}zset" 1 a 2 b
            r [n 0] sadd "{b}set" x y z
            r [n 0] xadd "{b}stream" 1-1 f v
            if {$what ne "Valkey's to ours"} {
                # 9.1 does not know this. The ids do not move, the entries do.
                r [n 0] xadd "{b}idempotent" idmp p i * f v
                r [n 0] xcfgset "{b}idempotent" idmp-maxsize 5
                r [n 0] xadd "{b}idempotent" idmp p i * f v
            }
            r [n 0] set "{b}expires" v ex 1000
            # Valkey 9.1 has no path hashes.
            if {$what eq "ours to ours"} {
                r [n 0] phmset "{b}paths" a/b FIELDS 2 f 1 g 2 a FIELDS 1 f 3 {} FIELDS 1 f 4
                r [n 0] phset "{b}no-paths" a FIELDS 1 f 1
                r [n 0] phdel "{b}no-paths" a
            }
            set total [r [n 0] dbsize]
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 3300 3300 10 20 node [cluster_id 1]]
            wait_job 0 success
            wait_job 1 success
            wait_cluster_ok 3
            foreach k {0 1 2} { foreach slot {3300 10 20} { assert_equal 1 [cluster_owner $k $slot 3] } }
            assert_equal $total [r [n 1] dbsize]
            assert_equal 0 [r [n 0] dbsize]
            for {set i 0} {$i < 2000} {incr i 97} { assert_equal $i [r [n 1] get "{b}:$i"] }
            assert_equal {a b c} [r [n 1] lrange "{b}list" 0 -1]
            assert_equal v [r [n 1] hget "{b}hash" f]
            assert_equal 2 [r [n 1] zscore "{b}zset" b]
            assert_equal 3 [r [n 1] scard "{b}set"]
            assert_equal 1 [r [n 1] xlen "{b}stream"]
            if {$what ne "Valkey's to ours"} { assert_equal 2 [r [n 1] xlen "{b}idempotent"] }
            assert_range [r [n 1] ttl "{b}expires"] 900 1000
            if {$what eq "ours to ours"} {
                assert_equal {0 {{} a a/b}} [r [n 1] phscan "{b}paths" 0]
                assert_equal {1 2 3} [r [n 1] phmget "{b}paths" a/b FIELDS 2 f g a FIELDS 1 f]
                assert_equal {pathhash 0} [list [r [n 1] type "{b}no-paths"] [r [n 1] phcard "{b}no-paths"]]
            }
        }
    }
}

# INCR of a key, wherever it is. Returns the new value.
proc incr_anywhere {key} {
    for {set try 0} {$try < 100} {incr try} {
        set k [expr {[info exists ::migrate_at] ? $::migrate_at : 0}]
        if {![catch {r [n $k] incr $key} value]} { return $value }
        if {![string match "MOVED *" $value]} { error $value }
        set ::migrate_at [expr {1 - $k}]
    }
    error "no end of redirections"
}

# 1: it has run.
proc transaction {k value} {
    r [n $k] multi
    if {[catch { r [n $k] incr "{b}multi"; r [n $k] rpush "{b}list" $value }]} {
        r [n $k] discard
        return 0
    }
    return [expr {![catch { r [n $k] exec }]}]
}

foreach {what kinds} {
    "ours to ours" {ours ours ours}
    "ours to Valkey's" {ours valkey ours}
    "Valkey's to ours" {valkey ours ours}
} {
    start_cluster [list kinds $kinds overrides {rdb-key-save-delay 200}] {
        test "$what: writes during the migration arrive" {
            set ::migrate_at 0
            for {set i 0} {$i < 3000} {incr i} { r [n 0] set "{b}:$i" $i }
            r [n 0] set "{b}del" 1
            r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
            set counted 0
            set in_transactions 0
            set idempotent 0
            while {[dict get [job 0] state] ni {success failed}} {
                assert_equal [incr counted] [incr_anywhere "{b}count"]
                if {$::migrate_at == 0} { incr in_transactions [transaction 0 $counted] }
                if {$::migrate_at == 0 && $what ne "Valkey's to ours"} { incr idempotent [expr {![catch { r [n 0] xadd "{b}ids" idmp p $counted * f v }]}] }
            }
            assert_equal success [dict get [job 0] state]
            assert_morethan $counted 10
            wait_cluster_ok 3
            for {set i 0} {$i < 100} {incr i} { assert_equal [incr counted] [incr_anywhere "{b}count"] }
            assert_equal 1 $::migrate_at
            assert_equal $counted [r [n 1] get "{b}count"]
            assert_equal $in_transactions [r [n 1] get "{b}multi"]
            assert_equal $in_transactions [r [n 1] llen "{b}list"]
            assert_equal $idempotent [r [n 1] xlen "{b}ids"]
            for {set i 0} {$i < 3000} {incr i} { assert_equal $i [r [n 1] get "{b}:$i"] }
        }
    }

    start_cluster [list kinds $kinds overrides {rdb-key-save-delay 20000}] {
        test "$what: a cancelled migration changes nothing" {
            for {set i 0} {$i < 1000} {incr i} { r [n 0] set "{b}:$i" $i }
            r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
            wait_job 0 snapshotting
            assert_equal OK [r [n 0] cluster cancelslotmigrations]
            assert_equal cancelled [dict get [job 0] state]
            wait_job 1 failed
            assert_match "Connection lost to source*" [dict get [job 1] message]
            wait_for_condition 100 50 {[r [n 1] dbsize] == 0} else { fail "[r [n 1] dbsize] keys are left" }
            assert_equal 1000 [r [n 0] dbsize]
            assert_equal 0 [cluster_owner 1 3300 3]
            assert_equal OK [r [n 0] set "{b}:1" v]
        }

        test "$what: a target that exits changes nothing at the source" {
            wait_for_condition 100 100 {![catch {r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]}]} else { fail "not begun" }
            wait_job 0 snapshotting
            restart_server [n 1] KILL
            wait_job 0 failed
            assert_match "Connection lost to target*" [dict get [job 0] message]
            assert_equal 1000 [r [n 0] dbsize]
            wait_cluster_ok 3
            assert_equal 0 [cluster_owner 1 3300 3]
        }
    }
}

start_cluster {kinds {ours ours} overrides {rdb-key-save-delay 20000}} {
    test "a flush ends a migration" {
        for {set i 0} {$i < 1000} {incr i} { r [n 0] set "{b}:$i" $i }
        r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
        wait_job 0 snapshotting
        assert_error "ERR Slot export in progress." {r [n 0] cluster setslot 3300 stable}
        assert_error "ERR I am already migrating slot 3300." {r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]}
        r [n 0] flushall
        assert_equal failed [dict get [job 0] state]
        assert_equal "Data was flushed" [dict get [job 0] message]
        wait_job 1 failed
    }

    test "MIGRATESLOTS: errors of arguments" {
        set me [cluster_id 0]
        set to [cluster_id 1]
        foreach {error words} [list \
            "ERR Start slot number 5 is greater than end slot number 1." "slotsrange 5 1 node $to" \
            "ERR No end slot for final slot range" "slotsrange 0 0 1" \
            "ERR Slot range 3-9 overlaps with previous range 0-5." "slotsrange 0 5 3 9 node $to" \
            "ERR Slot ranges in migrations overlap" "slotsrange 0 5 node $to slotsrange 5 6 node $to" \
            "ERR No slot ranges specified" "slotsrange node $to" \
            "ERR Invalid node name: x" "slotsrange 0 0 node x" \
            "ERR Unknown node name: [string repeat 0 40]" "slotsrange 0 0 node [string repeat 0 40]" \
            "ERR Target node can not be this node." "slotsrange 0 0 node $me" \
            "ERR Slots are not served by this node." "slotsrange 9000 9000 node $to" \
            "ERR syntax error" "foo 7 7 node $to" \
        ] {
            assert_error $error {r [n 0] cluster migrateslots {*}$words}
        }
        assert_error "ERR No migrations ongoing" {r [n 0] cluster cancelslotmigrations}
        assert_error "ERR CLUSTER SYNCSLOTS ACK should only be used by slot migration clients" {r [n 0] cluster syncslots ack}
        assert_error "ERR syntax error" {r [n 0] cluster syncslots foo}
        # Scripts get a reply to each of these arguments too.
        set from_script {return redis.pcall('cluster', 'syncslots', unpack(ARGV))}
        foreach word {ack snapshot-eof paused failover-granted request-pause request-failover} {
            assert_error "ERR CLUSTER SYNCSLOTS [string toupper $word] should only be used by slot migration clients" {
                r [n 0] eval $from_script 0 $word
            }
        }
        set job [list source [cluster_id 1] name [string repeat a 40] slotsrange 1 1]
        assert_error "ERR CLUSTER SYNCSLOTS ESTABLISH should only*" {r [n 0] eval $from_script 0 establish {*}$job}
        assert_error "ERR syntax error" {r [n 0] eval $from_script 0 establish}
        assert_error "ERR syntax error" {r [n 0] eval $from_script 0 foo}
        assert_equal {} [r [n 0] eval $from_script 0 capa x]
    }
}
