# Several snapshots without a fork that are wanted at the same time. There is one at a time: replicas that ask while a
# file is written for another replica share it; all others wait for the next one, and each has the data of its own
# beginning.
source [file join [file dirname [info script]] full_sync_util.tcl]

# The digest of an RDB file or its bytes, by the server at `level`, which has DEBUG.
proc digest_of {level bytes} {
    set f [open [srv $level dir]/dump.rdb wb]
    puts -nonewline $f $bytes
    close $f
    assert_equal OK [r $level debug reload nosave]
    return [r $level debug digest]
}

proc fill {} {
    r flushall
    r debug populate 3000 key 50
    foreach name {set other} {
        r eval {for i = 1, 5000 do redis.call('sadd', KEYS[1], 'member:' .. i) end} 1 $name
    }
}

# Changes some keys, differently each time.
proc change {{level 0}} {
    incr ::changes
    for {set i 0} {$i < 20} {incr i} {
        r $level set key:[randomInt 3000] $::changes
        r $level sadd set new:$::changes:$i
        r $level srem other member:[randomInt 5000]
    }
    r $level set new:$::changes x
}
set changes 0

proc wait_idle {{level 0}} {
    wait_for_condition 600 50 {[s $level rdb_bgsave_in_progress] == 0 && [s $level aof_rewrite_in_progress] == 0
        && [s $level aof_rewrite_scheduled] == 0} else { fail "a snapshot does not end" }
}

set overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes bgsave-default-method forkless rdbcompression no}

start_server {overrides {save {} enable-debug-command yes}} {
    start_server [list overrides $overrides tags {repl}] {
        foreach diskless {yes no} {
            test "BGSAVE and a full synchronization that is asked for right behind it, repl-diskless-sync $diskless" {
                r config set repl-diskless-sync $diskless
                fill
                set f [asker]
                set from [llength [log_lines]]
                set saved [r debug digest]
                r config set rdb-key-save-delay 30000
                assert_equal {Background saving started} [r bgsave]
                asker_ask $f
                for {set i 0} {$i < 20} {incr i} { change }
                set sent [r debug digest]
                assert_equal {1 forkless} [list [s rdb_bgsave_in_progress] [s rdb_current_bgsave_type]]
                assert_equal 0 [snapshots_since $from]
                r config set rdb-key-save-delay 100
                wait_for_log {*Background save complete*} $from 400
                # The next one has another name until it is complete.
                set file [read_file_bytes [srv dir]/dump.rdb]
                r config set rdb-key-save-delay 0
                asker_full $f
                set bulk [asker_bulk $f]
                assert_equal [expr {$diskless ? "sockets" : "disk"}] [dict get $bulk kind]
                $f close
                wait_idle
                assert_equal 1 [snapshots_since $from]
                assert_equal 0 [s total_forks]
                assert_equal $saved [digest_of -1 $file]
                assert_equal $sent [digest_of -1 [dict get $bulk bytes]]
            }

            test "a full synchronization and a BGSAVE SCHEDULE behind it, repl-diskless-sync $diskless" {
                r config set repl-diskless-sync $diskless
                fill
                set from [llength [log_lines]]
                set sent [r debug digest]
                r config set rdb-key-save-delay 30000
                set f [asker]
                asker_ask $f
                wait_for_condition 100 20 {[s rdb_bgsave_in_progress]} else { fail "no snapshot" }
                assert_error "ERR Background save already in progress" { r bgsave }
                assert_error "ERR Background save already in progress" { r bgsave schedule }
                assert_error "ERR Background save already in progress" { r save }
                for {set i 0} {$i < 20} {incr i} { change }
                r config set rdb-key-save-delay 0
                asker_full $f
                assert_equal $sent [digest_of -1 [dict get [asker_bulk $f] bytes]]
                $f close
                wait_idle
                assert_equal 0 [s total_forks]
            }
        }

        test {BGREWRITEAOF during a BGSAVE comes after it, and a full synchronization after both} {
            r config set repl-diskless-sync yes appendonly yes
            wait_idle
            fill
            set saved [r debug digest]
            set from [llength [log_lines]]
            r config set rdb-key-save-delay 30000
            r bgsave
            assert_match {*scheduled*} [r bgrewriteaof]
            set f [asker]
            asker_ask $f
            for {set i 0} {$i < 20} {incr i} { change }
            assert_equal {1 0 1} [list [s rdb_bgsave_in_progress] [s aof_rewrite_in_progress] [s aof_rewrite_scheduled]]
            r config set rdb-key-save-delay 100
            wait_for_log {*Background save complete*} $from 400
            set file [read_file_bytes [srv dir]/dump.rdb]
            r config set rdb-key-save-delay 0
            asker_full $f
            set sent [digest_of -1 [dict get [asker_bulk $f] bytes]]
            $f close
            wait_idle
            assert_equal {ok ok 0} [list [s rdb_last_bgsave_status] [s aof_last_bgrewrite_status] [s total_forks]]
            set now [r debug digest]
            assert_equal [list $saved $now] [list [digest_of -1 $file] $sent]
            r debug loadaof
            assert_equal $now [r debug digest]
            r config set appendonly no
        }
    }
}

start_server [list overrides $overrides tags {repl}] {
    start_server {overrides {save {} enable-debug-command yes}} {
        start_server {overrides {save {} enable-debug-command yes}} {
            # level -2: the primary; -1 and 0: its replicas
            foreach {diskless delay snapshots how} {
                no  0 1 "which share a file"
                yes 1 1 "which share what is sent"
                yes 0 2 "of which the second one gets the next snapshot"
            } {
                test "two replicas, one after the other while clients write, $how" {
                    foreach level {-1 0} { r $level replicaof no one }
                    r -2 config set repl-diskless-sync $diskless repl-diskless-sync-delay $delay rdb-key-save-delay 0
                    r -2 flushall
                    r -2 debug populate 3000 key 50
                    foreach name {set other} {
                        r -2 eval {for i = 1, 5000 do redis.call('sadd', KEYS[1], 'member:' .. i) end} 1 $name
                    }
                    r -2 config set rdb-key-save-delay 300
                    # A replica that was one must not continue where it was.
                    foreach level {-1 0} { r $level debug change-repl-id; r $level flushall; r $level set own $level }
                    set syncs [s -2 sync_full]
                    set before [regexp -all {A snapshot for replicas begins} [read_file [srv -2 log]]]
                    r -1 replicaof [srv -2 host] [srv -2 port]
                    if {!$delay} {
                        wait_for_condition 200 20 {[s -2 rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
                    }
                    for {set i 0} {$i < 5} {incr i} { change -2 }
                    r replicaof [srv -2 host] [srv -2 port]
                    set until [expr {[clock milliseconds] + 30000 * $::patience}]
                    while {[s -1 master_link_status] ne "up" || [s master_link_status] ne "up"} {
                        if {[clock milliseconds] > $until} { fail "the replicas do not get through" }
                        change -2
                    }
                    change -2
                    r -2 set last [clock microseconds]
                    foreach level {-1 0} {
                        wait_for_condition 200 50 {[r $level get last] eq [r -2 get last]} else { fail "the stream does not arrive" }
                        assert_equal [r -2 debug digest] [r $level debug digest]
                    }
                    assert_equal [expr {$syncs + 2}] [s -2 sync_full]
                    assert_equal [expr {$before + $snapshots}] [regexp -all {A snapshot for replicas begins} [read_file [srv -2 log]]]
                    assert_equal 0 [s -2 total_forks]
                }
            }
        }
    }
}
