# A snapshot arrives, and the disk fails: the old data stays, and the next try may succeed.
source [file join [file dirname [info script]] receive_util.tcl]
source $::support/faults.tcl

tags {external:skip valgrind:skip} {
    if {![faults_possible]} {
        test {faults while a snapshot is received} { skip "not with a sanitizer" }
        return
    }
    fake_listen
    set new [snapshot {
        r set key new
        for {set i 0} {$i < 5000} {incr i} { r set filler:$i [randstring 100 100 alpha] }
    }]
    set program [faults_build]
    faults

    foreach {what call errno pattern log} {
        "cannot be made" open 28 . "Opening the temporary file for the snapshot from the primary failed: No space left on device"
        "cannot be written" write 28 deleted "Writing the snapshot from the primary to its temporary file failed: No space left on device"
        "cannot be synced" fdatasync 5 deleted "Writing the snapshot from the primary to its temporary file failed: Input/output error"
    } {
        start_server [list executable $program overrides {save {}}] {
            test "the file $what" {
                r set key old
                faults $call $errno 0 1000000 $pattern
                fake_follow
                set p [fake_sync]
                fake_slowly $p [counted $new] 30000
                wait_for_log $log
                wait_for_failure
                fake_hang_up $p
                assert_equal old [r get key]
                assert_equal {} [temporary_files]
                faults
                fake_follow
                set p [fake_sync]
                fake_send $p [counted $new]
                fake_wait_ack $p 1000
                assert_equal new [r get key]
                assert_equal $new [read_file [srv dir]/dump.rdb]
                assert_equal {} [temporary_files]
                fake_hang_up $p
            }
        }
    }

    start_server [list executable $program overrides {save {}}] {
        test {the file cannot be renamed: the data is loaded anyway} {
            faults rename 28 0 1000000 dump.rdb
            fake_follow
            set p [fake_sync]
            fake_send $p [counted $new]
            fake_wait_ack $p 1000
            wait_for_log "Failed trying to rename the temp DB into dump.rdb in PRIMARY <-> REPLICA synchronization: No space left on device"
            assert_equal new [r get key]
            assert_equal {} [temporary_files]
            fake_hang_up $p
            faults
        }
    }

    start_server [list executable $program overrides {appendonly yes}] {
        test {the append-only file cannot be started again: it is retried} {
            faults write 28 0 1000000 manifest
            fake_follow
            set p [fake_sync]
            fake_send $p [counted $new]
            fake_wait_ack $p 1000
            assert_equal new [r get key]
            wait_for_condition 100 50 {[s aof_last_bgrewrite_status] eq "err" || ![s aof_enabled]} else { fail "it is not noticed" }
            faults
            wait_for_condition 400 25 {[s aof_enabled] && ![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else { fail "it stays off" }
            fake_hang_up $p
            restart_server 0 KILL
            assert_equal new [r get key]
        }
    }

    start_server [list executable $program crash 1 overrides {appendonly yes}] {
        test {the append-only file can never be started again: the server exits} {
            faults open 28 0 1000000 appendonly
            fake_follow
            set p [fake_sync]
            fake_send $p [counted $new]
            wait_for_log "The synchronization with the primary is complete, but the append-only file cannot be turned on, so the server exits" 0 300 50
            wait_file [srv dir]/exit
            assert_equal 1 [exit_code [srv dir]]
            fake_hang_up $p
            faults
        }
    }
}
