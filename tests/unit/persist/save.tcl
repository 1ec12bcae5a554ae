# When the data is saved: SAVE, BGSAVE, save points, FLUSHALL, the end of the server; and what happens when that fails.
source [file join [file dirname [info script]] rdb_util.tcl]

set unlucky ERR*

# A server whose dump file cannot be written: its name is that of a folder.
proc break_saving {} {
    file delete [srv dir]/dump.rdb
    file mkdir [srv dir]/dump.rdb/not-empty
}
proc repair_saving {} { file delete -force [srv dir]/dump.rdb }

proc temporary_files {} { return [glob -nocomplain -directory [srv dir] temp-*.rdb] }

# A save in the background that does not end by itself.
proc start_endless_save {} {
    r config set rdb-key-save-delay 10000000
    if {[r dbsize] < 10} { r debug populate 10 endless }
    assert_match "Background saving started" [r bgsave]
}

proc saves_by_thread {} { return [expr {[config_get bgsave-default-method] eq "forkless"}] }

proc child_pid {} {
    set lines [lsearch -all -inline [log_lines] "*Background save started in process*"]
    return [lindex [lindex $lines end] end]
}

tags {external:skip needs:debug} {
    start_server {} {
        test {SAVE writes a file, and counts} {
            r set k v
            assert_equal 1 [s rdb_changes_since_last_save]
            assert_equal OK [r save]
            assert_equal 0 [s rdb_changes_since_last_save]
            assert_equal 1 [s rdb_saves]
            assert_equal ok [s rdb_last_bgsave_status]
            assert_range [r lastsave] [expr {[clock seconds] - 60}] [clock seconds]
            assert_equal [r lastsave] [s rdb_last_save_time]
            assert_equal "REDIS0011" [string range [read_file [srv dir]/dump.rdb] 0 8]
            assert_equal {} [temporary_files]
            r config resetstat
            assert_equal 0 [s rdb_saves]
        }

        test {9.2 §7: INFO names how the current and the last save in the background were made} {
            assert_equal {none none} [list [s rdb_current_bgsave_type] [s rdb_last_bgsave_type]]
            set method [config_get bgsave-default-method]
            start_endless_save
            assert_equal [list $method none] [list [s rdb_current_bgsave_type] [s rdb_last_bgsave_type]]
            r bgsave cancel
            assert_equal [list none $method] [list [s rdb_current_bgsave_type] [s rdb_last_bgsave_type]]
            r config set rdb-key-save-delay 0
            r flushall
        }

        test {BGSAVE writes a file, and the log reports the child} {
            if {[saves_by_thread]} { skip "forkless.tcl tests this" }
            file delete [srv dir]/dump.rdb
            set forks [s total_forks]
            set from [string length [read_file [srv log]]]
            r set k v
            assert_equal "Background saving started" [r bgsave]
            wait_for_save
            assert {[file exists [srv dir]/dump.rdb]}
            assert_equal 0 [s rdb_changes_since_last_save]
            assert_equal [expr {$forks + 1}] [s total_forks]
            assert_morethan [s latest_fork_usec] 0
            assert_morethan [s rdb_last_cow_size] 0
            assert_morethan_equal [s rdb_last_bgsave_time_sec] 0
            assert_equal -1 [s rdb_current_bgsave_time_sec]
            # The child may report its end before the parent logs its start.
            set log [string range [read_file [srv log]] $from end]
            assert_in_order $log {"Background save started in process" "Background save complete"}
            assert_in_order $log {"RDB file written to disk" "Memory copied by the RDB process: * MB now, * MB at most, * MB on average"
                "Background save complete"}
        }

        test {BGSAVE takes SCHEDULE or CANCEL, and nothing else} {
            assert_error "ERR syntax error" { r bgsave nosuch }
            assert_error "ERR syntax error" { r bgsave schedule cancel }
            assert_error "ERR Background saving is currently not in progress or scheduled" { r bgsave cancel }
            assert_error "*wrong number of arguments*" { r save now }
            assert_equal "Background saving started" [r bgsave schedule]
            wait_for_save
        }

        test {SAVE is not for transactions; BGSAVE in one is scheduled} {
            r multi
            assert_error "ERR Command 'save' not allowed inside a transaction" { r save }
            assert_error "EXECABORT*" { r exec }
            set saves [s rdb_saves]
            r multi
            r bgsave
            assert_equal {{Background saving scheduled}} [r exec]
            wait_for_condition 600 20 {[s rdb_saves] > $saves} else { fail "the scheduled save does not begin" }
            wait_for_save
        }

        test {while a child saves: INFO, errors, progress, changes} {
            r flushall
            r debug populate 200
            r config set rdb-key-save-delay 20000
            r bgsave
            assert_equal 1 [s rdb_bgsave_in_progress]
            assert_equal 200 [s current_save_keys_total]
            assert_morethan_equal [s rdb_current_bgsave_time_sec] 0
            assert_error "ERR Background save already in progress" { r bgsave }
            assert_error "ERR Background save already in progress" { r bgsave schedule }
            assert_error "ERR Background save already in progress" { r save }
            for {set i 0} {$i < 5} {incr i} { r set later:$i 1 }
            wait_for_condition 500 20 {[s current_save_keys_processed] > 0 && ([s current_cow_size] > 0 || [saves_by_thread])} else {
                fail "no progress is seen"
            }
            assert_range [s current_fork_perc] 0.1 100
            assert_morethan_equal [s current_cow_peak] [s current_cow_size]
            wait_for_save
            assert_equal 5 [s rdb_changes_since_last_save]
            assert_equal 0 [s current_save_keys_processed]
            assert_equal 0.00 [s current_fork_perc]
            r config set rdb-key-save-delay 0
            r debug reload nosave
            assert_equal 200 [r dbsize]
        }

        test {a child sees the data as it was when it was forked} {
            r flushall
            fill_every_type r
            set before [digest]
            r config set rdb-key-save-delay 20000
            r bgsave
            foreach k [r keys *] { r del $k }
            for {set i 0} {$i < 3000} {incr i} { r set new:$i [string repeat x 100] }
            wait_for_save
            r config set rdb-key-save-delay 0
            r debug reload nosave
            assert_equal $before [digest]
        }

        test {connections that close while a child runs are closed for their peers too} {
            set c [valkey_deferring_client]
            $c ping
            assert_equal PONG [$c read]
            start_endless_save
            $c quit
            assert_equal OK [$c read]
            assert {[is_closed $c]}
            $c close
            assert_equal 1 [s rdb_bgsave_in_progress]
            assert_equal "Background saving cancelled" [r bgsave cancel]
        }

        test {DEBUG RELOAD while a child saves: the child's older data does not come back} {
            r set generation 1
            start_endless_save
            r set generation 2
            r config set rdb-key-save-delay 0
            assert_equal OK [r debug reload]
            assert_equal 0 [s rdb_bgsave_in_progress]
            assert_equal 0 [s rdb_changes_since_last_save]
            assert_equal {} [temporary_files]
            r debug reload nosave
            assert_equal 2 [r get generation]
        }

        test {BGSAVE CANCEL ends the child quietly} {
            start_endless_save
            assert_morethan [llength [temporary_files]] -1
            assert_equal "Background saving cancelled" [r bgsave cancel]
            assert_equal 0 [s rdb_bgsave_in_progress]
            assert_equal ok [s rdb_last_bgsave_status]
            assert_equal {} [temporary_files]
            wait_for_log "The running background save is stopped because BGSAVE CANCEL was called"
            if {![saves_by_thread]} { wait_for_log "Received SIGUSR1 in child, exiting now." }
            r config set rdb-key-save-delay 0
        }

        test {a killed child: an error, no temporary file, the old file unchanged} {
            if {[saves_by_thread]} { skip "a thread cannot be killed" }
            r config set rdb-key-save-delay 0
            r flushall
            r set k v
            r save
            set before [read_file [srv dir]/dump.rdb]
            start_endless_save
            wait_for_condition 500 20 {[llength [temporary_files]] == 1} else { fail "the child has no file" }
            exec kill -9 [child_pid]
            wait_for_save
            assert_equal err [s rdb_last_bgsave_status]
            wait_for_log "The background save was ended by signal 9"
            assert_equal {} [temporary_files]
            assert_equal $before [read_file [srv dir]/dump.rdb]
            r config set rdb-key-save-delay 0
            r bgsave
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
        }

        test {while the append-only file is rewritten, BGSAVE can be scheduled} {
            r debug populate 10
            r config set rdb-key-save-delay 10000000
            r bgrewriteaof
            assert_equal 1 [s aof_rewrite_in_progress]
            assert_error "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to\
                schedule a BGSAVE whenever possible." { r bgsave }
            assert_equal "Background saving scheduled" [r bgsave schedule]
            assert_equal "Scheduled background saving cancelled" [r bgsave cancel]
            assert_equal "Background saving scheduled" [r bgsave schedule]
            assert_equal 0 [s rdb_bgsave_in_progress]
            set saves [s rdb_saves]
            r config set rdb-key-save-delay 0
            if {[saves_by_thread]} {
                r config set appendonly yes ;# stops the rewrite and starts another one
                r config set appendonly no
            } else {
                set line [lindex [lsearch -all -inline [log_lines] "*AOF rewrite started in process*"] end]
                exec kill -USR1 [lindex $line end]
            }
            wait_for_condition 600 20 {[s rdb_saves] > $saves} else { fail "the scheduled save does not begin" }
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
        }

        # Strings of 100 kB, which the parent then writes to: copied only where the child still needs them.
        test {a child frees the values that it has written} {
            r config set rdbcompression no
            r flushall
            for {set i 0} {$i < 300} {incr i} { r set big:$i [string repeat x 100000] }
            r config set rdb-key-save-delay 10000
            r bgsave
            wait_for_condition 600 20 {[s current_save_keys_processed] > 150 || ![s rdb_bgsave_in_progress]} else {
                fail "no progress"
            }
            for {set i 0} {$i < 300} {incr i} { r setrange big:$i 0 [string repeat y 100000] }
            wait_for_save
            assert_lessthan [s rdb_last_cow_size] 24000000
            r config set rdb-key-save-delay 0
            r config set rdbcompression yes
            r debug reload nosave
            assert_equal [string repeat x 100000] [r get big:7]
            r flushall
        }

        test {FLUSHALL ends the child} {
            start_endless_save
            r flushall
            assert_equal 0 [s rdb_bgsave_in_progress]
            assert_equal ok [s rdb_last_bgsave_status]
            assert_equal 1 [expr {[s rdb_changes_since_last_save] > 0}]
            r config set rdb-key-save-delay 0
        }

        test {a background save under load} {
            r debug populate 20000
            set writers {}
            for {set i 0} {$i < 3} {incr i} { lappend writers [valkey_deferring_client] }
            r bgsave
            for {set i 0} {$i < 2000} {incr i} {
                foreach w $writers { $w set key:[randomInt 20000] changed }
            }
            foreach w $writers {
                for {set i 0} {$i < 2000} {incr i} { assert_equal OK [$w read] }
                $w close
            }
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
            lassign [check_rdb [srv dir]/dump.rdb] code output
            assert_equal 0 $code
            assert_match {*20000 keys read*} $output
        }
    }

    start_server {overrides {save "100000 1"}} {
        test {when saving fails, writes are refused until it works again} {
            r set k v
            break_saving
            assert_error $unlucky { r save }
            r set still fine
            r bgsave
            wait_for_save
            assert_equal {err 1} [list [s rdb_last_bgsave_status] [s rdb_saves_consecutive_failures]]
            wait_for_log "Renaming the temporary RDB file temp-*.rdb to dump.rdb in the directory * failed:"
            wait_for_log "The background save failed"
            assert_error "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to\
                disk. Commands that may modify the data set are disabled, because this instance is configured to report\
                errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the\
                Valkey logs for details about the RDB error." { r set k w }
            assert_error "MISCONF *" { r ping }
            assert_error "*MISCONF *" { r eval {return redis.call('set', KEYS[1], 1)} 1 k }
            assert_equal v [r get k]
            r config set stop-writes-on-bgsave-error no
            r set k w
            r config set stop-writes-on-bgsave-error yes
            assert_error "MISCONF *" { r set k x }
            r bgsave
            wait_for_save
            assert_equal 2 [s rdb_saves_consecutive_failures]
            r config resetstat
            assert_equal {err 0} [list [s rdb_last_bgsave_status] [s rdb_saves_consecutive_failures]]
            repair_saving
            r bgsave
            wait_for_save
            assert_equal {ok 0} [list [s rdb_last_bgsave_status] [s rdb_saves_consecutive_failures]]
            r set k x
            assert_equal PONG [r ping]
            assert_equal {} [temporary_files]
        }

        test {SHUTDOWN is refused when the data cannot be saved, unless it is forced} {
            break_saving
            assert_error "ERR Errors trying to SHUTDOWN. Check logs." { r shutdown }
            wait_for_log "Error trying to save the DB, can't exit."
            assert_equal x [r get k]
            repair_saving
        }
    }

    test {SHUTDOWN FORCE ends the server though the data cannot be saved} {
        start_server {overrides {save "100000 1"}} {
            break_saving
            catch { r shutdown force } problem
            assert_match "I/O error*" $problem
            assert_equal 0 [wait_for_exit [srv dir]]
        }
    }

    foreach {save how saved} {
        {} {shutdown} 0                 "1000 1" {shutdown} 1
        {} {shutdown save} 1            "1000 1" {shutdown nosave} 0
        {} {kill TERM} 0                "1000 1" {kill TERM} 1
        {} {kill INT} 0                 "1000 1" {kill INT} 1
    } {
        test "save \"$save\": $how [expr {$saved ? "saves" : "does not save"}]" {
            start_server [list overrides [list save $save]] {
                r set k v
                if {[lindex $how 0] eq "kill"} {
                    exec kill -[lindex $how 1] [srv pid]
                } else {
                    catch { r {*}$how }
                }
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_equal $saved [file exists [srv dir]/dump.rdb]
                assert_equal $saved [count_log_message "The server writes a last RDB file before it exits"]
            }
        }
    }

    test {a child does not replace the file after its parent was killed} {
        start_server {crash 1 overrides {bgsave-default-method fork}} {
            r set k v
            r save
            set before [read_file [srv dir]/dump.rdb]
            r debug populate 3000
            r config set rdb-key-save-delay 20000
            r bgsave
            set child [child_pid]
            exec kill -9 [srv pid]
            wait_for_condition 500 50 {![file exists /proc/$child] || [string match "*\nState:\tZ*" [read_file /proc/$child/status]]} else {
                fail "the child lives on"
            }
            assert_equal $before [read_file [srv dir]/dump.rdb]
        }
    }

    test {a server that ends kills its child} {
        start_server {} {
            r debug populate 10
            start_endless_save
            set child [expr {[saves_by_thread] ? {none} : [child_pid]}]
            catch { r shutdown nosave }
            assert_equal 0 [wait_for_exit [srv dir]]
            assert_equal 1 [count_log_message "The running background save is stopped because the server exits"]
            assert {![file exists /proc/$child]}
            assert_equal {} [temporary_files]
        }
    }

    start_server {} {
        test {a save point that is due saves} {
            r set k v
            r config set save "1 1"
            wait_for_condition 600 20 {[s rdb_changes_since_last_save] == 0} else { fail "nothing is saved" }
            wait_for_save
            wait_for_log "1 changes within 1 seconds: a background save begins"
            assert {[file exists [srv dir]/dump.rdb]}
        }

        test {keys that expire by themselves make a save point due (9.2 §0)} {
            r config set save ""
            foreach i {1 2 3 4 5} { r set $i v px 10 }
            r save
            wait_for_condition 400 10 {[r dbsize] == 1} else { fail "they stay" }
            assert_equal 5 [s rdb_changes_since_last_save]
            r config set save "1 5"
            wait_for_condition 600 20 {[s rdb_changes_since_last_save] == 0} else { fail "nothing is saved" }
            wait_for_save
            wait_for_log "5 changes within 1 seconds: a background save begins"
        }

        test {too few changes do not} {
            r config set save "1 100 100000 1"
            file delete [srv dir]/dump.rdb
            for {set i 0} {$i < 99} {incr i} { r set k $i }
            after 2500
            assert_equal 99 [s rdb_changes_since_last_save]
            assert {![file exists [srv dir]/dump.rdb]}
            r set k 99
            wait_for_condition 600 20 {[s rdb_changes_since_last_save] == 0} else { fail "nothing is saved" }
        }

        test {FLUSHALL saves the empty data when there are save points} {
            r config set save "100000 1"
            r set k v
            r save
            r flushall
            assert_equal 0 [s rdb_changes_since_last_save]
            lassign [check_rdb [srv dir]/dump.rdb] code output
            assert_match "*0 keys read*" $output
        }

        test {CONFIG of save} {
            r config set save "900 1 300 10"
            assert_equal "900 1 300 10" [config_get save]
            foreach wrong {900 "900 a" "900 1 0 0" "900 -1" "-1 1" "900 1 300"} {
                assert_error "*Invalid save parameters*" { r config set save $wrong } $wrong
                assert_equal "900 1 300 10" [config_get save]
            }
            r config set save ""
            assert_equal "" [config_get save]
            r config set save "5 6"
            r config rewrite
            restart_server
            assert_equal "5 6" [config_get save]
            r config set save ""
            r config rewrite
            restart_server
            assert_equal "" [config_get save]
        }

        test {dbfilename is protected, and no path} {
            assert_error "*can't set protected config*" { r config set dbfilename other.rdb }
        }
    }

    foreach {arguments points} {
        {} "3600 1 300 100 60 10000"
        {--save 900 1} "900 1"
        {--save "900 1 300 10"} "900 1 300 10"
        {--save 900 1 --save 300 10} "900 1 300 10"
        {--save ""} ""
        {--save 900 1 --save ""} ""
    } {
        test "save points of the command line: $arguments" {
            set port [free_port]
            with_server_command [list $::options(server) --port $port --bind 127.0.0.1 --dir $::work_dir {*}$arguments] {
                wait_for_text $log "Ready to accept connections"
                set c [resp::connect 127.0.0.1 $port]
                assert_equal [list save $points] [$c config get save]
                $c config set save ""
                $c close
            }
        }
    }

    start_server {overrides {enable-protected-configs yes}} {
        test {another dbfilename} {
            assert_error "*dbfilename can't be a path, just a filename*" { r config set dbfilename sub/other.rdb }
            r config set dbfilename other.rdb
            r set k v
            r save
            assert {[file exists [srv dir]/other.rdb]}
            assert {![file exists [srv dir]/dump.rdb]}
        }

        test {CONFIG SET dir: files are written there} {
            file mkdir [srv dir]/sub
            r config set dir [srv dir]/sub
            r save
            assert {[file exists [srv dir]/sub/other.rdb]}
        }
    }

    start_server {overrides {save "" bgsave-default-method fork}} {
        test {a child leaves no temporary file after its parent was killed} {
            r debug populate 50
            r config set rdb-key-save-delay 200000
            r bgsave
            wait_for_condition 50 100 {[temporary_files] ne {}} else { fail "no child writes" }
            restart_server 0 KILL
            wait_for_condition 50 100 {[temporary_files] eq {}} else { fail "left: [temporary_files]" }
            assert_equal 0 [r dbsize]
        }

        test {a child does not replace the file of the server that follows its killed parent} {
            # It reports after the first key, and is done before the next report is due.
            r mset k old other old
            r config set rdb-key-save-delay 190000
            r bgsave
            set child [child_pid]
            after 200
            restart_server 0 KILL
            r set k new
            r save
            wait_for_condition 50 100 {![file exists /proc/$child]} else { fail "the child goes on" }
            restart_server 0 KILL
            assert_equal new [r get k]
            assert_equal {} [temporary_files]
        }
    }

    # A file system that is full, as /dev/full is; that takes a link, and root to break the rename.
    start_server {overrides {save "100000 1"}} {
        test {a full disk: an error, and the old file unchanged} {
            r debug populate 100
            r save
            set before [read_file [srv dir]/dump.rdb]
            file link -symbolic [srv dir]/temp-[srv pid].rdb /dev/full
            r set k v
            assert_error $unlucky { r save }
            wait_for_log "Write error saving DB on disk: No space left on device"
            assert_equal $before [read_file [srv dir]/dump.rdb]
            assert_equal {} [temporary_files]
            assert_equal OK [r save]
        }
    }
}
