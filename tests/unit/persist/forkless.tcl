# Snapshots without a fork, as clients and operators see them: BGSAVE, save points, the rewrite of the append-only file.
# Faults of the disk are in faults.tcl; most other tests of this folder pass with `--config bgsave-default-method forkless`.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/module.tcl

proc temporary_files {} { return [glob -nocomplain -tails -directory [srv dir] temp-*.rdb appendonlydir/temp-*] }
proc types {} { return [list [s rdb_current_bgsave_type] [s rdb_last_bgsave_type]] }

# Lets the save go on without delays, and waits for its end.
proc finish_save {} {
    r config set rdb-key-save-delay 0
    wait_for_save
}

# Starts a save that does not end by itself: the thread waits after each key, and more keys are there than it gets at
# once.
proc start_endless_save {} {
    if {[r dbsize] < 20000} { r debug populate 20000 endless }
    r config set rdb-key-save-delay 10000000
    assert_match "Background saving started" [r bgsave]
    wait_for_condition 100 10 {[temporary_files] ne {}} else { fail "the thread has no file" }
}

proc debug_field {name} {
    regexp -line "^forkless_$name:(.*)\r$" [r info debug] - value
    return $value
}

# Runs the body and returns the lines that were logged meanwhile.
proc logged {body} {
    set from [string length [read_file [srv log]]]
    uplevel 1 $body
    return [string range [read_file [srv log]] $from end]
}

# Changes the data in many ways. What is there before must be in a snapshot that has begun.
proc change_everything {} {
    r set string changed
    r append str:short more
    foreach key [r keys *] {
        if {[string match key:* $key] && ![string match *7 $key]} continue
        switch [r type $key] {
            list { r lset $key 0 changed; r rpush $key last }
            set { r srem $key [lindex [r srandmember $key 1] 0]; r sadd $key 77 }
            zset { r zadd $key 17 changed }
            hash { r hset $key changed 1 }
            stream { r xadd $key * changed 1 }
            default { catch { r append $key x } }
        }
    }
    r rename list:big elsewhere
    r copy set:big copied
    r move hash:big 5
    r del hash:small
    r unlink zset:big
    for {set i 0} {$i < 500} {incr i} { r set new:$i [string repeat x 100] }
    r swapdb 3 7
    r flushdb
}

tags {external:skip needs:debug} {
    start_server {overrides {forkless-infrastructure-enabled no}} {
        test {forkless-infrastructure-enabled is accepted, and always yes} {
            assert_equal yes [config_get forkless-infrastructure-enabled]
            assert_error "*can't set immutable config*" { r config set forkless-infrastructure-enabled yes }
            set info [lindex [r config info forkless-infrastructure-enabled] 0]
            assert_equal {bool immutable} [list [dict get $info type] [dict get $info flags]]
            lassign [run_to_end_quietly --port [free_port] --forkless-infrastructure-enabled perhaps] code output
            assert_equal 1 $code
            assert_match "*argument must be 'yes' or 'no'*" $output
        }

        test {bgsave-default-method and forkless-buffer-limit are set at any time} {
            r config set bgsave-default-method fork
            assert_equal fork [config_get bgsave-default-method]
            r config set bgsave-default-method forkless
            assert_equal forkless [config_get bgsave-default-method]
            assert_error "*argument(s) must be one of the following: fork, forkless*" { r config set bgsave-default-method thread }
            assert_equal 268435456 [config_get forkless-buffer-limit]
            r config set forkless-buffer-limit 1mb
            assert_equal 1048576 [config_get forkless-buffer-limit]
            assert_error "*argument must be*" { r config set forkless-buffer-limit -1 }
            r config rewrite
            restart_server
            assert_equal {forkless 1048576 yes} [list [config_get bgsave-default-method] [config_get forkless-buffer-limit] \
                [config_get forkless-infrastructure-enabled]]
        }
    }

    start_server {overrides {bgsave-default-method forkless enable-protected-configs yes}} {
        test {BGSAVE without a fork: INFO, log, no process} {
            r debug populate 1000
            set forks [s total_forks]
            set log [logged {
                assert_equal "Background saving started" [r bgsave]
                finish_save
            }]
            assert_equal {none forkless} [types]
            assert_equal [list $forks 0 ok 0 0] [list [s total_forks] [s latest_fork_usec] [s rdb_last_bgsave_status] \
                [s rdb_last_cow_size] [s rdb_changes_since_last_save]]
            assert_morethan_equal [s rdb_last_bgsave_time_sec] 0
            assert_equal -1 [s forkless_estimated_seconds_remaining]
            assert_in_order $log {"forkless-save: RDB: a snapshot of 1000 keys begins" "Background save started in a thread"
                "RDB file written to disk" "forkless-save: RDB: the snapshot is complete after * seconds: 1000 keys, * MB, at\
                most * MB of old values waited to be written, 0.0 MB went to a temporary file" "Background save complete"}
            assert_equal {} [temporary_files]
            lassign [check_rdb [srv dir]/dump.rdb] code output
            assert_equal 0 $code
            assert_match {*1000 keys read*} $output
        }

        test {the file is the dataset as it was at the start, whatever happens meanwhile} {
            foreach compression {no lz4 zstd yes} {
                r flushall
                r config set rdbcompression $compression
                fill_every_type r 1
                r debug populate 10000
                set before [digest]
                r config set rdb-key-save-delay 1000
                r bgsave
                change_everything
                assert_equal forkless [s rdb_current_bgsave_type]
                finish_save
                r debug reload nosave
                assert_equal $before [digest] $compression
            }
        }

        test {keys that expire meanwhile are in the file} {
            r flushall
            r debug populate 10000
            r config set rdb-key-save-delay 500
            r eval {for i = 0, 499 do redis.call('set', 'volatile:' .. i, 'v', 'px', 1000) end} 0
            r bgsave
            wait_for_condition 500 10 {[r dbsize] == 10000} else { fail "nothing expires" }
            assert_equal forkless [s rdb_current_bgsave_type]
            finish_save
            assert_match {*10500 keys read*} [lindex [check_rdb [srv dir]/dump.rdb] 1]
        }

        test {while a snapshot is made: INFO, errors, changes} {
            r flushall
            start_endless_save
            assert_equal {1 forkless} [list [s rdb_bgsave_in_progress] [s rdb_current_bgsave_type]]
            assert_equal 20000 [s current_save_keys_total]
            assert_equal -1 [debug_field current_item_ms]
            assert_morethan_equal [s rdb_current_bgsave_time_sec] 0
            assert_equal 24 [debug_field queue_length_target]
            wait_for_condition 100 10 {[debug_field dbentries_queued] > 0 && [debug_field dbentries_processed] > 0} else { fail "no keys are given" }
            assert_error "ERR Background save already in progress" { r bgsave }
            assert_error "ERR Background save already in progress" { r bgsave schedule }
            assert_error "ERR Background save already in progress" { r save }
            assert_equal [list temp-bg-[srv pid].rdb] [temporary_files]
            assert_equal "Background saving cancelled" [r bgsave cancel]
        }

        test {old values that wait for the thread are shown, count as overhead, and are not evicted for} {
            r config set forkless-buffer-limit 0
            r flushall
            r debug populate 20000 endless 1000
            start_endless_save
            assert_equal 0 [s mem_snapshot_buffer]
            set exempt [s mem_not_counted_for_evict]
            for {set i 0} {$i < 20000} {incr i 10} { r set endless:$i [string repeat y 999] }
            wait_for_condition 50 10 {[s mem_snapshot_buffer] > 500000} else { fail "nothing waits" }
            set bytes [s mem_snapshot_buffer]
            assert_morethan_equal [s mem_not_counted_for_evict] [expr {$exempt + $bytes}]
            assert_equal $bytes [dict get [r memory stats] snapshot.buffer]
            r config set maxmemory-policy allkeys-random
            r config set maxmemory [expr {[s used_memory] - $bytes / 2}]
            r set one more
            assert_equal 0 [s evicted_keys]
            r config set maxmemory 0
            r config set maxmemory-policy noeviction
            r bgsave cancel
            assert_equal 0 [s mem_snapshot_buffer]
            r config set forkless-buffer-limit 256mb
        }

        test {when old values exceed forkless-buffer-limit, the snapshot fails and says so} {
            r save
            set old [read_file [srv dir]/dump.rdb]
            r config set forkless-buffer-limit 100kb forkless-spill-above 1gb
            start_endless_save
            set log [logged {
                for {set i 0} {$i < 20000 && [s rdb_bgsave_in_progress]} {incr i 10} { r set endless:$i [string repeat y 999] }
                finish_save
            }]
            assert_equal {err 1} [list [s rdb_last_bgsave_status] [s rdb_saves_consecutive_failures]]
            assert_in_order $log {"forkless-save: RDB: clients have changed data faster * have reached forkless-buffer-limit (100kb)"
                "forkless-save: RDB: the snapshot failed after" "The background save failed"}
            assert_equal {} [temporary_files]
            assert_equal $old [read_file [srv dir]/dump.rdb]
            r config set forkless-buffer-limit 256mb forkless-spill-above 0
            r bgsave
            finish_save
            assert_equal ok [s rdb_last_bgsave_status]
        }

        test {a large value is written on while old values wait behind it} {
            r flushall
            r eval {
                for i = 1, 1000000, 100 do
                    local members = {}
                    for j = i, i + 99 do members[#members + 1] = 'member:' .. j end
                    redis.call('sadd', 'large', unpack(members))
                end
            } 0
            r debug populate 40000 other
            for {set i 0} {$i < 100} {incr i} { r set old:$i [string repeat o 100000] }
            r config set rdbcompression no
            r config set forkless-buffer-limit 16mb ;# a large value waits while a quarter of that waits before it
            r bgsave
            r sadd large new
            for {set i 0} {$i < 100} {incr i} { r set old:$i new }
            assert_equal 1 [s rdb_bgsave_in_progress]
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
            r config set rdbcompression yes
            r config set forkless-buffer-limit 256mb
            r flushall
        }

        test {BGSAVE CANCEL: no file, the old file, the status as it was} {
            set old [read_file [srv dir]/dump.rdb]
            set at [r lastsave]
            foreach status {ok err} {
                if {$status eq "err"} {
                    file rename [srv dir]/dump.rdb [srv dir]/kept.rdb
                    file mkdir [srv dir]/dump.rdb/not-empty
                    r bgsave
                    finish_save
                    file delete -force [srv dir]/dump.rdb
                    file rename [srv dir]/kept.rdb [srv dir]/dump.rdb
                }
                start_endless_save
                r set changed $status
                set changes [s rdb_changes_since_last_save]
                set log [logged { assert_equal "Background saving cancelled" [r bgsave cancel] }]
                assert_equal [list 0 $status $changes] [list [s rdb_bgsave_in_progress] [s rdb_last_bgsave_status] \
                    [s rdb_changes_since_last_save]]
                assert_in_order $log {"BGSAVE CANCEL was called" "forkless-save: RDB: the snapshot was cancelled after"
                    "The background save was ended before it was complete"}
                assert_no_match "*Write error*" $log
                assert_equal {} [temporary_files]
                assert_equal [list $at $old] [list [r lastsave] [read_file [srv dir]/dump.rdb]]
                assert_error "ERR Background saving is currently not in progress or scheduled" { r bgsave cancel }
            }
            r bgsave
            finish_save
            assert_equal ok [s rdb_last_bgsave_status]
        }

        test {FLUSHALL ends a snapshot quietly, FLUSHDB and SWAPDB do not} {
            r select 1
            r set kept 1
            r select 0
            foreach mode {sync async} {
                start_endless_save
                r flushall $mode
                assert_equal {0 ok} [list [s rdb_bgsave_in_progress] [s rdb_last_bgsave_status]]
                assert_equal {} [temporary_files]
            }
            r debug populate 20000
            set before [digest]
            r config set rdb-key-save-delay 20
            r bgsave
            r flushdb async
            r swapdb 0 1
            r set other value
            assert_equal 1 [s rdb_bgsave_in_progress]
            finish_save
            r config set rdb-key-save-delay 0
            r debug reload nosave
            assert_equal $before [digest]
        }

        test {DEBUG RELOAD ends a snapshot; with NOSAVE the snapshot goes on} {
            r flushall
            r set generation 1
            start_endless_save
            r set generation 2
            r debug reload
            assert_equal {0 0 2} [list [s rdb_bgsave_in_progress] [s rdb_changes_since_last_save] [r get generation]]
            assert_equal {} [temporary_files]
            r config set rdb-key-save-delay 50
            r set generation 3
            set before [digest]
            r bgsave
            r debug reload nosave
            assert_equal 2 [r get generation]
            finish_save
            r config set rdb-key-save-delay 0
            r debug reload nosave
            assert_equal [list $before 3] [list [digest] [r get generation]]
        }

        test {CONFIG SET of what a snapshot uses has no effect on the running one} {
            r flushall
            fill_every_type r
            r debug populate 10000
            set before [digest]
            file mkdir [srv dir]/sub
            r config set rdb-key-save-delay 100
            r bgsave
            r config set dbfilename other.rdb
            r config set dir [srv dir]/sub
            r config set rdbcompression zstd
            r config set rdb-save-incremental-fsync no
            r config set rdb-compatible-version 80
            r config set maxmemory-policy allkeys-lfu
            r config set hide-user-data-from-log no
            finish_save
            r config set rdb-compatible-version 0
            r config set rdbcompression yes
            r config set rdb-key-save-delay 0
            r config set maxmemory-policy noeviction
            assert_equal {} [glob -nocomplain [srv dir]/sub/*]
            assert_equal {} [temporary_files]
            assert_match "REDIS*" [string range [read_file [srv dir]/dump.rdb] 0 8]
            r config set dir [srv dir]
            r config set dbfilename dump.rdb
            r debug reload nosave
            assert_equal $before [digest]
        }

        test {a save point that is due saves without a fork} {
            r config set save "1 1"
            set forks [s total_forks]
            r set due 1
            wait_for_condition 600 20 {[s rdb_changes_since_last_save] == 0} else { fail "nothing is saved" }
            assert_equal [list $forks forkless] [list [s total_forks] [s rdb_last_bgsave_type]]
            r config set save ""
        }

        test {the method that is set counts when the next snapshot starts} {
            start_endless_save
            r config set bgsave-default-method fork
            assert_equal forkless [s rdb_current_bgsave_type]
            r bgsave cancel
            r config set rdb-key-save-delay 0
            r bgsave
            wait_for_save
            assert_equal {none fork} [types]
            r config set bgsave-default-method forkless
        }

        test {SHUTDOWN SAVE and SIGTERM end a snapshot, and save} {
            foreach how {shutdown kill} {
                r flushall
                r set k v
                start_endless_save
                r set k $how
                if {$how eq "shutdown"} { catch { r shutdown save } } else { r config set save "1000 1"; exec kill [srv pid] }
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_equal [incr ended] [count_log_message "The running background save is stopped because the server exits"]
                assert_equal {} [temporary_files]
                restart_server
                assert_equal $how [r get k]
            }
        }
    }

    test {kill -9 while a snapshot is made: the old file stays, what is left is overwritten} {
        start_server {overrides {bgsave-default-method forkless} crash 1} {
            r set k v
            r save
            set old [read_file [srv dir]/dump.rdb]
            start_endless_save
            restart_server 0 KILL
            assert_equal v [r get k]
            assert_equal $old [read_file [srv dir]/dump.rdb]
            r config set bgsave-default-method forkless
            r bgsave
            finish_save
            assert_equal ok [s rdb_last_bgsave_status]
        }
    }

    # ---- The append-only file ----

    foreach preamble {yes no} {
        start_server [list overrides [list appendonly yes aof-use-rdb-preamble $preamble bgsave-default-method forkless \
                                          auto-aof-rewrite-percentage 0 aof-timestamp-enabled yes]] {
            test "BGREWRITEAOF without a fork, aof-use-rdb-preamble $preamble: nothing is lost and nothing is there twice" {
                r function load "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
                aof_fill
                r debug populate 10000
                set forks [s total_forks]
                r config set rdb-key-save-delay 50
                set log [logged {
                    r bgrewriteaof
                    assert_equal 1 [s aof_rewrite_in_progress]
                    foreach key [r keys *] {
                        switch [r type $key] {
                            list { r rpush $key last }
                            string { catch { r append $key x } }
                            zset { r zincrby $key 17 changed }
                            hash { r hincrby $key counter 1 }
                            stream { r xadd $key * changed 1 }
                        }
                    }
                    r rename list elsewhere
                    r del few
                    aof_wait_rewrite
                }]
                r config set rdb-key-save-delay 0
                assert_equal [list $forks ok 0] [list [s total_forks] [s aof_last_bgrewrite_status] [s aof_last_cow_size]]
                assert_in_order $log {"forkless-save: AOF rewrite: a snapshot of * keys begins" "AOF rewrite started in a thread"
                    "has written its temporary base file" "forkless-save: AOF rewrite: the snapshot is complete"
                    "AOF rewrite complete: the new files are in use"}
                set digest [digest]
                restart_server
                assert_equal $digest [digest]
                assert_equal 1 [r fcall f 0]
                assert_equal [expr {$preamble eq "yes"}] [string match *.rdb [aof_path base]]
                if {$preamble eq "no"} { assert_match "#TS:*" [read_file [aof_path base]] }
                assert_equal {} [temporary_files]
            }

            test "a rewrite is cancelled by appendonly no, and goes on by itself, aof-use-rdb-preamble $preamble" {
                r config set rdb-key-save-delay 10000000
                r bgrewriteaof
                set log [logged { r config set appendonly no }]
                assert_equal {0 ok} [list [s aof_rewrite_in_progress] [s aof_last_bgrewrite_status]]
                assert_in_order $log {"The running AOF rewrite is stopped" "forkless-save: AOF rewrite: the snapshot was cancelled"}
                assert_equal {} [temporary_files]
                r config set rdb-key-save-delay 50
                set digest [digest]
                r config set appendonly yes
                r set during 1
                r config set aof-use-rdb-preamble [expr {$preamble ? {no} : {yes}}]
                aof_wait_rewrite
                r config set aof-use-rdb-preamble $preamble
                r config set rdb-key-save-delay 0
                assert_equal [expr {$preamble eq "yes"}] [string match *.rdb [aof_path base]]
                r debug loadaof
                assert_equal 1 [r get during]
                r del during
                assert_equal $digest [digest]
            }

            test "kill -9 during a rewrite, aof-use-rdb-preamble $preamble: nothing is lost, nothing is left" {
                r config set rdb-key-save-delay 10000000
                r bgrewriteaof
                r set last write
                wait_for_condition 100 10 {[temporary_files] ne {}} else { fail "no file" }
                r config set rdb-key-save-delay 0
                set digest [digest]
                restart_server 0 KILL
                assert_equal $digest [digest]
                assert_equal {} [temporary_files]
                r config set bgsave-default-method forkless
                r bgrewriteaof
                aof_wait_rewrite
                restart_server
                assert_equal $digest [digest]
            }

            test "SHUTDOWN and FLUSHALL during a rewrite, aof-use-rdb-preamble $preamble" {
                r config set bgsave-default-method forkless
                r config set rdb-key-save-delay 20
                r bgrewriteaof
                r flushall
                r set after flushall
                aof_wait_rewrite
                restart_server
                assert_equal {1 flushall} [list [r dbsize] [r get after]]
                r config set bgsave-default-method forkless
                r config set rdb-key-save-delay 10000000
                r bgrewriteaof
                catch { r shutdown }
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_equal {} [temporary_files]
                restart_server
                assert_equal flushall [r get after]
            }
        }
    }

    # ---- Modules ----

    start_server [list overrides [concat [module_overrides {forkless} {}] {bgsave-default-method forkless}]] {
        test {a module that does not support it: a fork, and the log names the module} {
            r set k v
            set log [logged { r bgsave; wait_for_save }]
            assert_match "*forkless-save: this snapshot uses a fork, as the module forktest does not support it*" $log
            assert_equal {none fork} [types]
            assert_equal 1 [regexp -all {this snapshot uses a fork} $log]
        }
    }

    start_server [list overrides [concat [module_overrides {{forkless supported}} {}] {bgsave-default-method forkless}]] {
        test {a module that supports it: events come on the main thread, at the start and at the end} {
            r set k v
            r forkless.events
            start_endless_save
            assert_equal "rdb " [r forkless.events]
            r bgsave cancel
            assert_equal "failed " [r forkless.events]
            r flushall
            r bgsave
            finish_save
            assert_equal "rdb ended " [r forkless.events]
            assert_equal {none forkless} [types]
            r bgrewriteaof
            aof_wait_rewrite
            assert_equal "aof ended " [r forkless.events]
        }

        test {a module saves a file while the thread writes another one} {
            r flushall
            start_endless_save
            assert_equal [list temp-bg-[srv pid].rdb] [temporary_files]
            assert_equal 0 [r forkless.save [srv dir]/module.rdb]
            assert_equal [list temp-bg-[srv pid].rdb] [temporary_files]
            r bgsave cancel
            lassign [check_rdb [srv dir]/module.rdb] code output
            assert_equal 0 $code
            assert_match {*20000 keys read*} $output
        }

        test {what a module changes in place is in the file as it was} {
            r flushall
            r config set rdb-key-save-delay 0
            foreach key {text:large text:short} length {2000000 100} {
                for {set i 0} {$i < 8} {incr i} { r set $key:$i [string repeat old: [expr {$length / 4}]] }
            }
            start_endless_save
            set before [digest]
            # The first change of a large text begins to save it, the second one must wait for what is left.
            foreach size {large short} {
                for {set i 0} {$i < 8} {incr i} {
                    r forkless.text text:$size:$i new:
                    if {$i % 2} { r forkless.text text:$size:$i newer } else { r forkless.truncate text:$size:$i 50 }
                    r forkless.signal text:$size:$i
                    r set other:$i [string repeat x 2000000]
                }
            }
            r forkless.signal endless:1
            r forkless.signal missing
            finish_save
            assert_equal {none forkless ok} [list {*}[types] [s rdb_last_bgsave_status]]
            assert_not_equal $before [digest]
            r debug reload nosave
            assert_equal $before [digest]
        }

        test {a module has a key open for writing: a fork} {
            r set k before
            r config set rdb-key-save-delay 0
            set log [logged { r forkless.open k after; wait_for_save }]
            assert_match "*this snapshot uses a fork, as a module has opened a key for writing*" $log
            r debug reload nosave
            assert_equal before [r get k]
            r bgsave
            finish_save
            assert_equal {none forkless} [types]
        }
    }

    start_server [list overrides [concat [module_overrides {types} {}] {bgsave-default-method forkless}]] {
        test {a module with data types: a fork, and the log names the module} {
            set log [logged { r bgsave; wait_for_save }]
            assert_match "*this snapshot uses a fork, as the module * has data types*" $log
            assert_equal {none fork} [types]
        }
    }
}
