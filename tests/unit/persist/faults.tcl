# Full disks, broken disks, no processes: the server replies, logs, keeps its data, and continues when the fault is
# over. Calls of the server are made to fail by tests/support/faults.c.
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/faults.tcl

set EIO 5
set EAGAIN 11
set ENOSPC 28

proc still_there {key value} {
    assert_equal $value [r get $key]
}

tags {external:skip valgrind:skip} {
    if {![faults_possible]} {
        test {a fault of any system call is reported, and no acknowledged write is lost} { skip "not with a sanitizer" }
        return
    }
    set program [faults_build]
    faults

    foreach {what call errno pattern} [list \
        "a full disk" write $ENOSPC incr.aof "a short write" write 0 incr.aof "a disk that cannot sync" fdatasync $EIO incr.aof] {
        start_server [list executable $program overrides {appendonly yes appendfsync everysec}] {
            test "appendfsync everysec, $what: writes are refused until it is over" {
                r set before 1
                faults $call $errno 0 1000000 $pattern
                wait_for_condition 400 25 {[catch {r set during [incr n]} error] && [string match MISCONF* $error]} else {
                    fail "writes go on"
                }
                assert_match "MISCONF Errors writing to the AOF file: *" $error
                assert_error "MISCONF Errors writing to the AOF file: *" { r ping }
                assert_error "*MISCONF*" { r eval {return redis.call('set', 'a', 1)} 0 }
                assert_equal 1 [r get before]
                assert_equal err [s aof_last_write_status]
                assert_equal 0 [r exists a]
                faults
                wait_for_condition 400 25 {![catch {r set after 1}]} else { fail "writes stay refused" }
                assert_equal PONG [r ping]
                assert_equal ok [s aof_last_write_status]
                # Writes that were acknowledged while the disk was full are not lost either.
                set during [r get during]
                restart_server
                assert_equal [list 1 $during 1] [r mget before during after]
            }
        }
    }

    test {appendfsync everysec, an fsync that hangs: what is answered survives a kill -9, and the delay is reported} {
        start_server [list executable $program overrides {appendonly yes appendfsync everysec}] {
            faults fdatasync -600000 0 1000000 incr.aof
            r set before 1
            wait_for_condition 400 25 {[s aof_pending_bio_fsync] == 1 && [faults_seen] == 1} else { fail "no fsync" }
            for {set i 0} {$i < 100} {incr i} { r rpush during $i }
            assert_equal 0 [s aof_buffer_length]
            wait_for_condition 400 25 {[r rpush during [incr i]] && [s aof_delayed_fsync] > 0} else { fail "no delay is counted" }
            wait_for_log "*An fsync of the append-only file has been under way for * ms.*"
            set length [r rpush during last]
            faults
            restart_server 0 KILL
            assert_equal [list 1 $length] [list [r get before] [r llen during]]
        }
    }

    # Found by tests/simulation/run.
    test {the append-only file is not switched on unless the name of its directory is on the disk} {
        start_server [list executable $program overrides {appendonly no}] {
            faults fsync $EIO 0 1 [file tail [srv dir]]
            assert_error "*Unable to turn on AOF*" { r config set appendonly yes }
            faults
            r config set appendonly yes
            wait_for_condition 400 25 {[s aof_last_bgrewrite_status] eq {ok} && ![s aof_rewrite_in_progress]} else { fail "no rewrite" }
        }
    }

    # Otherwise a loss of power could leave it incomplete, and the server would refuse to start.
    test {a rewrite begins only when the increment before it is on the disk} {
        start_server [list executable $program overrides {appendonly yes appendfsync no}] {
            r set before 1
            faults fdatasync $EIO 0 1 1.incr.aof
            assert_error "ERR Can't execute an AOF background rewriting*" { r bgrewriteaof }
            faults
            assert_equal 0 [s aof_rewrite_in_progress]
            r bgrewriteaof
            wait_for_condition 400 25 {[s aof_last_bgrewrite_status] eq {ok} && ![s aof_rewrite_in_progress]} else { fail "no rewrite" }
        }
    }

    # Also found there: the manifest was in its place, and the base that it names was deleted again.
    test {an fsync that fails during a rewrite, whichever it is: the next start finds everything} {
        start_server [list executable $program overrides {appendonly yes appendfsync everysec}] {
            for {set skip 0} {$skip < 10} {incr skip} {
                r set last $skip
                faults fsync $EIO $skip 1 appendonlydir
                catch { r bgrewriteaof }
                wait_for_condition 400 25 {![s aof_rewrite_in_progress]} else { fail "the rewrite does not end" }
                faults
                restart_server 0 KILL
                assert_equal $skip [r get last]
            }
        }
    }

    test {what a killed process has written is synced before the next one answers} {
        start_server [list executable $program overrides {appendonly yes appendfsync everysec}] {
            r set key 1
            faults fdatasync -1 0 1000000 incr.aof
            wait_for_condition 400 25 {[s aof_pending_bio_fsync] == 0} else { fail "no fsync" }
            set before [faults_seen]
            restart_server 0 KILL
            assert_equal 1 [r get key]
            assert_morethan [faults_seen] $before
            faults
        }
    }

    foreach {what call errno} [list "a full disk" write $ENOSPC "a failed fsync" fdatasync $EIO] {
        test "appendfsync always, $what: the server exits before an acknowledged write is lost" {
            set dir $::work_dir/always.[incr ::server_count]
            file mkdir $dir
            set overrides [list dir $dir appendonly yes appendfsync always]
            start_server [list executable $program crash 1 overrides $overrides] {
                r set before 1
                faults $call $errno 0 1000000 incr.aof
                assert_error "I/O error*" { r set during 1 }
                assert {[wait_file [srv dir]/exit]}
                assert_equal 1 [exit_code [srv dir]]
            }
            faults
            # A failed fsync may have dropped what the file shows, and the next one succeeds without it.
            start_server [list overrides $overrides] {
                still_there before 1
                assert_equal {} [r get during]
            }
        }
    }

    # A rewrite: each of its calls fails once, the first, the second ...
    set either {fork forkless}
    foreach {call errno pattern most methods} [list \
        open $ENOSPC temp-rewriteaof 1 $either write $ENOSPC temp-rewriteaof 2 $either write 0 temp-rewriteaof 1 $either \
        fsync $EIO temp-rewriteaof 1 $either close $EIO temp-rewriteaof 1 $either \
        rename $EIO temp-rewriteaof-bg 1 $either rename $EIO base 1 $either \
        open $ENOSPC incr.aof 1 $either open $ENOSPC manifest 2 $either write $ENOSPC manifest 2 $either fsync $EIO manifest 2 $either \
        rename $EIO manifest 2 $either fork $EAGAIN fork 1 fork thread $EAGAIN thread 1 forkless] {
        foreach method $methods {
            test "BGREWRITEAOF, $method: $call ($pattern) fails with [expr {$errno ? $errno : {a short write}}], then not" {
                for {set skip 0} {$skip < $most} {incr skip} {
                    start_server [list executable $program overrides [list appendonly yes auto-aof-rewrite-percentage 0 bgsave-default-method $method]] {
                        aof_fill
                        set digest [r debug digest]
                        faults $call $errno $skip 1 $pattern
                        catch { r bgrewriteaof }
                        aof_wait_rewrite
                        assert_morethan [faults_seen] $skip "calls"
                        assert_equal [expr {$errno ? "err" : "ok"}] [s aof_last_bgrewrite_status] "skip $skip"
                        r set meanwhile 1
                        faults
                        restart_server
                        still_there meanwhile 1
                        r del meanwhile
                        assert_equal $digest [r debug digest]
                        r bgrewriteaof
                        aof_wait_rewrite
                        assert_equal ok [s aof_last_bgrewrite_status]
                        restart_server
                        assert_equal $digest [r debug digest]
                    }
                }
            }
        }
    }

    test {appendonly yes at run time on a full disk is refused, or tried again} {
        start_server [list executable $program] {
            r set k v
            faults open $ENOSPC 0 1000000 appendonly
            assert_error "*Unable to turn on AOF*" { r config set appendonly yes }
            assert_equal no [config_get appendonly]
            # It fails once only: after the third failure the next try is a minute later.
            faults write $ENOSPC 0 1 temp-rewriteaof
            r config set appendonly yes
            wait_for_log "*The AOF rewrite failed*"
            r set during 1
            wait_for_condition 400 25 {[aof_state_files] eq {b i}} else { fail "it is not tried again" }
            faults
            restart_server
            r set after 1
            r config set appendonly no
        }
    }

    foreach {method call} {fork fork forkless thread} {
        test "appendonly yes at run time, and no $call for it: it stays off, and can be switched on later" {
            start_server [list executable $program overrides [list bgsave-default-method $method]] {
                r set k v
                faults $call $EAGAIN 0 1 $call
                assert_error "*Unable to turn on AOF*" { r config set appendonly yes }
                assert_equal {no 0} [list [config_get appendonly] [s aof_enabled]]
                r set big [string repeat x 100000]
                set before [s used_memory]
                for {set i 0} {$i < 100} {incr i} { r set big [string repeat x 100000] }
                assert_lessthan [s used_memory] [expr {$before + 2000000}] "nobody keeps it for a file"
                faults
                r config set appendonly yes
                wait_for_condition 400 25 {[aof_state_files] eq {b i}} else { fail "no base" }
                r set after 1
                r debug loadaof
                assert_equal 1 [r get after]
                r config set appendonly no
            }
        }
    }

    test {While appendonly waits for its first base, a BGREWRITEAOF that fails does not end the waiting} {
        start_server [list executable $program] {
            r set k v
            faults write $ENOSPC 0 1000000 temp-rewriteaof
            r config set appendonly yes
            wait_for_condition 400 25 {[s aof_last_bgrewrite_status] eq "err"} else { fail "no failure" }
            faults open $ENOSPC 0 1000000 appendonly
            wait_for_condition 400 25 {[catch { r bgrewriteaof } error] && [string match "*Can't execute*" $error]} else {
                fail "no failure of BGREWRITEAOF: $error"
            }
            assert_equal 1 [s aof_pending_rewrite]
            # The next try may happen at any time, and a server that is writing its first base refuses to end.
            r config set appendonly no
            faults
        }
    }

    foreach {call errno pattern most methods} [list \
        open $ENOSPC temp- 1 $either write $ENOSPC temp- 2 $either write 0 temp- 1 $either fsync $EIO temp- 1 $either \
        close $EIO temp- 1 $either rename $EIO dump.rdb 1 $either fork $EAGAIN fork 1 fork thread $EAGAIN thread 1 forkless] {
        foreach method $methods {
            test "SAVE and BGSAVE, $method: $call ($pattern) fails with [expr {$errno ? $errno : {a short write}}], then not" {
                for {set skip 0} {$skip < $most} {incr skip} {
                    start_server [list executable $program overrides [list save "3600 100000" bgsave-default-method $method]] {
                        r set generation 1
                        r save
                        set old [read_file [srv dir]/dump.rdb]
                        aof_fill
                        r set generation 2
                        faults $call $errno $skip 1 $pattern
                        set good [expr {!$errno || $call in {fork thread}}]
                        assert_equal [expr {!$good}] [catch { r save }]
                        if {!$good} { assert_equal $old [read_file [srv dir]/dump.rdb] }
                        assert_equal {} [glob -nocomplain [srv dir]/temp-*]
                        faults $call $errno $skip 1 $pattern
                        set failed [catch { r bgsave }]
                        assert_equal [expr {$call in {fork thread}}] $failed
                        wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "BGSAVE does not end" }
                        if {$errno} {
                            assert_equal err [s rdb_last_bgsave_status]
                            assert_error "MISCONF *" { r set refused 1 }
                            assert_equal 2 [r get generation]
                        }
                        faults
                        r bgsave
                        wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "BGSAVE does not end" }
                        assert_equal ok [s rdb_last_bgsave_status]
                        r set accepted 1
                        r del accepted
                        set digest [r debug digest]
                        restart_server
                        assert_equal $digest [r debug digest]
                    }
                }
            }
        }
    }

    # The file is in its place then, but its name may not be on the disk.
    foreach method $either {
        foreach {call errno} [list open $ENOSPC fsync $EIO] {
            test "BGSAVE, $method: $call fails for the folder of the file: the save has failed, the file is whole" {
                start_server [list executable $program overrides [list save "3600 100000" bgsave-default-method $method]] {
                    aof_fill
                    set digest [r debug digest]
                    # Calls for the folder come behind those for the temporary file in it.
                    faults $call $errno 1 1 [file tail [srv dir]]
                    r bgsave
                    wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "BGSAVE does not end" }
                    assert_morethan [faults_seen] 1 "calls"
                    assert_equal err [s rdb_last_bgsave_status]
                    assert_equal {} [glob -nocomplain [srv dir]/temp-*]
                    faults
                    restart_server 0 KILL
                    assert_equal $digest [r debug digest]
                    r bgsave
                    wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "BGSAVE does not end" }
                    assert_equal ok [s rdb_last_bgsave_status]
                }
            }
        }
    }

    foreach {method call} {fork fork forkless thread} {
        foreach diskless {yes no} {
            test "a replica, repl-diskless-sync $diskless, and no $call for its snapshot: it is told, and gets the next one" {
                start_server [list executable $program overrides [list save {} bgsave-default-method $method \
                        repl-diskless-sync $diskless repl-diskless-sync-delay 0]] {
                    aof_fill
                    set f [valkey_client]
                    assert_equal OK [$f replconf capa eof capa psync2 version 9.1.2]
                    faults $call $EAGAIN 0 1 $call
                    $f write "PSYNC ? -1\r\n"
                    assert_match {*-ERR BGSAVE failed, replication can't continue*} [$f rawread 1000000]
                    $f close
                    assert_equal 1 [faults_seen]
                    faults
                    assert_equal 0 [s rdb_bgsave_in_progress]
                    start_server {overrides {save {}}} {
                        r replicaof [srv -1 host] [srv -1 port]
                        wait_for_condition 400 25 {[s master_link_status] eq "up"} else { fail "the replica does not get through" }
                        wait_for_condition 100 25 {[r debug digest] eq [r -1 debug digest]} else { fail "the data differ" }
                    }
                }
            }
        }
    }

    # A large value is written by both threads, in parts.
    foreach {call errno most} [list write $ENOSPC 4 write 0 4 fdatasync $EIO 3 fsync $EIO 1 close $EIO 1 rename $EIO 1] {
        test "BGSAVE of large values, forkless, while clients change them: $call fails with [expr {$errno ? $errno : {a short write}}], then not" {
            start_server [list executable $program overrides {save {} bgsave-default-method forkless rdbcompression no}] {
                foreach key {list set} command {rpush sadd} {
                    r eval "for i = 1, 16000 do redis.call('$command', KEYS\[1\], i .. string.rep('v', 500)) end" 1 $key
                }
                r debug populate 2000
                r save
                set generation 0
                for {set skip 0} {$skip < $most} {incr skip} {
                    set old [r debug digest]
                    r set generation [incr generation]
                    set digest [r debug digest]
                    faults $call $errno $skip 1 [expr {$call eq "rename" ? "dump.rdb" : "temp-"}]
                    r bgsave
                    for {set i 1} {[s rdb_bgsave_in_progress]} {incr i} {
                        r lset list $i $i
                        r srem set $i[string repeat v 500]
                        r set key:$i changed
                    }
                    assert_morethan [faults_seen] $skip "calls"
                    faults
                    assert_equal [expr {$errno ? "err" : "ok"}] [s rdb_last_bgsave_status] "skip $skip"
                    assert_equal {} [glob -nocomplain [srv dir]/temp-*]
                    assert_equal 0 [s mem_snapshot_buffer]
                    if {$errno && $skip} continue
                    set now [r debug digest]
                    r debug reload nosave
                    if {!$errno} { assert_equal $digest [r debug digest] } else { assert_not_equal $now [r debug digest] }
                    r bgsave
                    wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "BGSAVE does not end" }
                    assert_equal ok [s rdb_last_bgsave_status]
                }
            }
        }
    }
}
