# Atomic slot migrations: before the target owns the slots, its replica has the keys, since it may have to replace the
# target, and so has its append-only file, since the target may restart.

source -encoding utf-8 $::support/cluster.tcl
source $::support/faults.tcl

proc job_state {k} { return [dict get [lindex [r [n $k] cluster getslotmigrations] 0] state] }

# Moves a slot from node 0 to node 1; returns the milliseconds it took.
proc move {slot} {
    set begun [clock milliseconds]
    r [n 0] cluster migrateslots slotsrange $slot $slot node [cluster_id 1]
    wait_for_condition 300 20 {[job_state 0] in {success failed}} else { fail [r [n 0] cluster getslotmigrations] }
    assert_equal success [job_state 0]
    return [expr {[clock milliseconds] - $begun}]
}

proc goes_on_without {} { return [count_log_message "goes on, though no replica has" [n 1]] }

foreach {what kinds} {
    "ours" {ours ours ours ours ours}
    "beside Valkey's" {valkey ours valkey valkey valkey}
} {
    start_cluster [list kinds $kinds primaries 3 overrides {appendonly yes}] {
        test "$what: a target requests the slots when its replica has their keys" {
            r [n 0] set "{06S}" before
            assert_equal 0 [r [n 0] cluster keyslot "{06S}"]
            move 0
            assert_equal 0 [goes_on_without]
        }

        test "$what: a target waits for a replica that hangs, for a limited time" {
            set pid [srv [n 4] pid]
            exec kill -STOP $pid
            try { set took [move 1] } finally { exec kill -CONT $pid }
            assert_morethan_equal $took 1000
            assert_equal 1 [goes_on_without]
            wait_cluster_ok 5
        }
    }
}

tags {external:skip valgrind:skip} {
    if {![faults_possible]} {
        test {a migration fails when its target is killed} { skip "not with a sanitizer" }
        return
    }
    set program [faults_build]
    faults
    set overrides {cluster-enabled yes cluster-node-timeout 5000 appendonly yes appendfsync everysec}
    start_server [list name n0 executable $program overrides $overrides] {
        start_server [list name n1 executable $program overrides $overrides] {
            cluster_body 2 2 1 {
                test "a target that is killed when it has the slots has the keys, though its file was being synced" {
                    for {set i 0} {$i < 20} {incr i} { r [n 0] set "{06S}$i" $i }
                    faults fdatasync -3000 0 1 [file tail [srv [n 1] dir]]/appendonlydir
                    r [n 1] set foo bar
                    wait_for_condition 300 10 {[faults_seen] > 0} else { fail "nothing is synced" }
                    move 0
                    restart_server [n 1] KILL
                    wait_cluster_ok 2
                    for {set i 0} {$i < 20} {incr i} { assert_equal $i [r [n 1] get "{06S}$i"] }
                }
            }
        }
    }
}
