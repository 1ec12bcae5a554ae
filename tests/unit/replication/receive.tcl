# A snapshot arrives from the primary: onto the disk or into memory, counted or with an end mark; and the state after
# it is cut off, or is wrong.
source [file join [file dirname [info script]] receive_util.tcl]
source $::support/values.tcl

tags {external:skip} {
    fake_listen
    set new [snapshot {
        fill_all 0
        r select 3
        r set third 3
        r select 0
        r function load "#!lua name=new\nserver.register_function{function_name='new_function', callback=function() return 'new' end, flags={'no-writes'}}"
        set ::expected [contents 0]
        r debug set-active-expire 0
        r set expired 1 px 1
    }]
    assert_match *expired* $new

    set with_stream [snapshot { r xadd stream:waited 3-3 f v }]

    proc old_data {} {
        r select 9
        r set ninth 9
        r select 0
        r set old 1
        r function load replace "#!lua name=old\nserver.register_function{function_name='old_function', callback=function() return 'old' end, flags={'no-writes'}}"
    }
    proc begin_anew {mode} {
        r replicaof no one
        r flushall
        r function flush
        if {$mode ne "on-empty-db"} old_data
    }
    proc assert_old {} {
        assert_equal 1 [r get old]
        assert_equal old [r fcall old_function 0]
        r select 9
        assert_equal 9 [r get ninth]
        r select 0
        assert_equal {} [temporary_files]
    }
    proc assert_nothing {} {
        assert_equal 0 [regexp {db\d} [r info keyspace]]
        assert_equal {} [r function list]
        assert_equal {} [temporary_files]
    }
    proc assert_new {} {
        set actual [contents 0]
        assert_equal [lsort [dict keys $::expected]] [lsort [dict keys $actual]]
        dict for {key value} $::expected { assert_equal $value [dict get $actual $key] $key }
        assert_equal [expr {[dict size $actual] + 1}] [r dbsize] "what has expired stays until the primary says that it goes"
        assert_equal new [r fcall new_function 0]
        assert_error "*not found*" {r fcall old_function 0}
        r select 3
        assert_equal 3 [r get third]
        r select 9
        assert_equal 0 [r dbsize]
        r select 0
        assert_equal {} [temporary_files]
    }

    foreach mode {disabled flush-before-load swapdb on-empty-db} {
        start_server [list overrides [list repl-diskless-load $mode]] {
            foreach form {counted marked} {
                test "$mode, $form: it takes the place of what was there" {
                    r replicaof no one
                    old_data
                    fake_follow
                    set p [fake_sync]
                    # The snapshot is sent in pieces; the last one begins within the mark.
                    set bytes "\n\n[$form $new]"
                    fake_slowly $p [string range $bytes 0 end-17] 9973
                    after 100
                    fake_send $p [string range $bytes end-16 end]
                    fake_wait_ack $p 1000
                    wait_for_sync
                    assert_new
                    assert_equal $::fake_id [s master_replid]
                    assert_equal 1000 [s master_repl_offset]
                    # The stream continues after it.
                    set bytes [resp::encode {select 0}][resp::encode {set after 1}]
                    fake_send $p $bytes[resp::encode {replconf getack *}]
                    fake_wait_ack $p [expr {1000 + [string length $bytes]}]
                    assert_equal 1 [r get after]
                    fake_hang_up $p
                }

                test "$mode, $form: what stands directly behind it is the stream's" {
                    r replicaof no one
                    fake_follow
                    set p [fake_sync]
                    set bytes [resp::encode {select 0}][resp::encode {set after 2}]
                    fake_send $p [$form $new]$bytes[resp::encode {replconf getack *}]
                    fake_wait_ack $p [expr {1000 + [string length $bytes]}]
                    assert_equal 2 [r get after]
                    fake_hang_up $p
                }
            }

            test "$mode: a client that waits is served by a key of the snapshot" {
                fake_follow
                set p [fake_sync]
                set waiting [blocked_client xread block 0 streams stream:waited 0-0]
                fake_send $p [marked $with_stream]
                assert_equal {{stream:waited {{3-3 {f v}}}}} [answer $waiting]
                fake_hang_up $p
                r replicaof no one
                fake_follow
                set p [fake_sync]
                fake_send $p [marked $new]
                fake_wait_ack $p 1000
                fake_hang_up $p
            }

            test "$mode: the file on the disk" {
                set path [srv dir]/dump.rdb
                if {$mode in {disabled on-empty-db}} {
                    assert_equal $new [read_file $path]
                } else {
                    assert {![file exists $path]}
                }
            }

            test "$mode: old data stays while magic or version are not right" {
                foreach magic {REDIS0099 VALKEY011 somewhat?} {
                    r replicaof no one
                    r flushall
                    old_data
                    if {$mode eq "on-empty-db"} { r flushall }
                    fake_follow
                    set p [fake_sync]
                    fake_send $p [counted [string replace $new 0 8 $magic]]
                    wait_for_failure
                    fake_hang_up $p
                    if {$mode ne "on-empty-db"} assert_old
                }
            }

            foreach {what change} {
                "a bit has turned over" {string replace $new 3000 3000 [binary format c [expr {[scan [string index $new 3000] %c] ^ 1}]]}
                "it ends early" {string range $new 0 end-2000}
                "it has more databases" {string cat [string range $new 0 8] \xfe\x40\x99\x00\x01k\x01v [string range $new 9 end]}
            } {
                test "$mode: $what" {
                    begin_anew $mode
                    fake_breaks_off [marked [eval $change]] ;# at the end: else it would wait for the rest
                    r replicaof no one
                    if {$mode eq "swapdb"} assert_old else assert_nothing
                }
            }

            test "$mode: the connection ends" {
                foreach form {counted marked} {
                    begin_anew $mode
                    fake_breaks_off [string range [$form $new] 0 40000]
                    r replicaof no one
                    switch $mode {
                        disabled - swapdb assert_old
                        default assert_nothing
                    }
                }
            }

            test "$mode: the mark behind it is another" {
                if {$mode eq "disabled"} { skip "there it is what ends the file" }
                r replicaof no one
                r flushall
                r function flush
                if {$mode eq "swapdb"} old_data
                fake_follow
                set p [fake_sync]
                fake_send $p [string replace [marked $new] end end !]
                wait_for_failure
                fake_hang_up $p
                wait_for_log "The end mark of the streamed snapshot is wrong"
                r replicaof no one
                if {$mode eq "swapdb"} assert_old else assert_nothing
            }

            test "$mode: memory returns to where it was" {
                r replicaof no one
                r flushall
                r function flush
                if {$mode eq "swapdb"} old_data
                set used {}
                foreach i {1 2 3 4 5 6} {
                    fake_follow
                    set p [fake_sync]
                    fake_send $p [string range [marked $new] 0 end-[expr {300 * $i}]]
                    fake_hang_up $p
                    wait_for_failure
                    r replicaof no one
                    wait_for_condition 100 20 {[s lazyfree_pending_objects] == 0} else { fail "lazyfree" }
                    lappend used [s used_memory]
                }
                assert_lessthan [expr {abs([lindex $used end] - [lindex $used 1])}] 200000 $used
            }
        }
    }

    start_server {} {
        test {instead of a snapshot: an error, an invalid line} {
            r set old 1
            foreach {line log} {
                "-ERR no snapshot today" "The primary answered the request for a synchronization with an error: ERR no snapshot today"
                "+what" "The primary should announce the length of the snapshot with '$', but sent '+what'. Are host and port those of a primary?"
                "$" "The primary announced the length of the snapshot as"
                "$-1" "The primary announced the length of the snapshot as"
                "$0" "The primary announced the length of the snapshot as"
                "\$EOF:short" "The primary announced the length of the snapshot as"
            } {
                set from [llength [log_lines]]
                fake_follow
                set p [fake_sync]
                fake_send $p "$line\r\n"
                wait_for_log $log $from
                fake_hang_up $p
            }
            fake_follow
            set p [fake_sync]
            fake_send $p [string repeat x 5000]
            wait_for_failure
            fake_hang_up $p
            assert_equal 1 [r get old]
        }

        test {INFO shows the progress of a synchronization} {
            fake_follow
            set p [fake_sync]
            wait_for_condition 100 20 {[s master_sync_in_progress] == 1} else { fail "no synchronization" }
            fake_send $p [string range [counted $new] 0 [expr {20000 + [string length "\$[string length $new]\r\n"] - 1}]]
            wait_for_condition 100 20 {[s master_sync_read_bytes] == 20000} else { fail [s master_sync_read_bytes] }
            assert_equal [string length $new] [s master_sync_total_bytes]
            assert_equal [expr {[string length $new] - 20000}] [s master_sync_left_bytes]
            assert_equal [format %.2f [expr {2000000.0 / [string length $new]}]] [s master_sync_perc]
            assert_range [s master_sync_last_io_seconds_ago] 0 3
            assert_equal 1 [r get old]
        }

        test {REPLICAOF NO ONE ends a synchronization, and no file stays} {
            r replicaof no one
            assert_equal 1 [r get old]
            assert_equal {} [temporary_files]
            assert_equal {} [s master_sync_total_bytes]
            fake_hang_up $p
        }

        test {no file of a synchronization stays, however the server ends} {
            foreach how {TERM KILL} {
                fake_follow
                set p [fake_sync]
                fake_send $p [string range [counted $new] 0 20000]
                wait_for_condition 100 20 {[s master_sync_read_bytes] > 10000} else { fail "nothing comes" }
                restart_server 0 $how
                fake_hang_up $p
                assert_equal {} [temporary_files]
            }
        }
    }

    # With epoll, what has arrived while the server was stopped is handled in one turn, in the order of arrival.
    foreach mode {flush-before-load swapdb on-empty-db} {
        start_server [list overrides [list repl-diskless-load $mode event-backend epoll]] {
            test "$mode: REPLICAOF NO ONE in the turn in which the snapshot arrives leaves the old data" {
                begin_anew $mode
                set other [valkey_deferring_client]
                fake_follow
                set p [fake_sync]
                exec kill -STOP [srv pid]
                wait_for_condition 500 10 {[string match "*\) T *" [read_file /proc/[srv pid]/stat]]} else { fail "it runs" }
                fake_send $p [marked $new]
                $other replicaof no one
                exec kill -CONT [srv pid]
                assert_equal OK [$other read]
                $other close
                if {$mode eq "on-empty-db"} assert_nothing else assert_old
                fake_hang_up $p
            }
        }
    }

    start_server {overrides {rdb-key-save-delay 1000000}} {
        test {a child that saves the old dataset is stopped} {
            for {set i 0} {$i < 20} {incr i} { r set old:$i 1 }
            r bgsave
            fake_follow
            set p [fake_sync]
            fake_send $p [counted $new]
            fake_wait_ack $p 1000
            wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "it goes on" }
            assert_new
            fake_hang_up $p
        }
    }

    start_server {overrides {repl-diskless-load flush-before-load loading-process-events-interval-bytes 1024}} {
        test {INFO shows the progress of loading, and clients are served while no data arrives} {
            foreach form {counted marked} {
                fake_follow
                set p [fake_sync]
                set before [list [s total_net_input_bytes] [s total_net_repl_input_bytes]]
                set part [string range [$form $new] 0 20000]
                fake_send $p $part
                wait_for_condition 200 10 {[s loading] == 1 && [s loading_loaded_bytes] > 1000} else { fail "[s loading_loaded_bytes]" }
                assert_error {LOADING*} {r get old}
                assert_error {LOADING*} {r config set repl-diskless-load disabled}
                assert_error {LOADING*} {r config set appendonly yes}
                set whole [expr {$form eq "counted" ? [string length $new] : [s loading_rdb_used_mem]}]
                assert_equal [expr {$form eq "counted" ? $whole : 0}] [s loading_total_bytes]
                assert_equal [format %.2f [expr {100.0 * [s loading_loaded_bytes] / $whole}]] [s loading_loaded_perc]
                foreach was $before now [list [s total_net_input_bytes] [s total_net_repl_input_bytes]] {
                    assert_range [expr {$now - $was}] 20001 60000
                }
                fake_send $p [string range [$form $new] 20001 end]
                fake_wait_ack $p 1000
                assert_equal 0 [s loading]
                assert_equal {} [s loading_total_bytes]
                fake_hang_up $p
            }
        }

        test {silence for repl-timeout ends a synchronization} {
            r replicaof no one
            r config set repl-timeout 1
            fake_follow
            set p [fake_sync]
            fake_send $p [string range [marked $new] 0 20000]
            wait_for_log "read error: Connection timed out" 0 200 25
            wait_for_failure
            assert_equal 0 [r dbsize]
            fake_hang_up $p
        }
    }

    start_server {overrides {rdb-del-sync-files yes}} {
        test {rdb-del-sync-files: no file stays without persistence} {
            fake_follow
            set p [fake_sync]
            fake_send $p [counted $new]
            fake_wait_ack $p 1000
            assert_equal $::expected [contents 0]
            assert_equal {} [glob -nocomplain -directory [srv dir] *.rdb]
            fake_hang_up $p
        }

        test {rdb-del-sync-files: the file stays with persistence} {
            r config set save "3600 1"
            set p [fake_sync]
            fake_send $p [counted $new]
            fake_wait_ack $p 1000
            assert_equal $new [read_file [srv dir]/dump.rdb]
            fake_hang_up $p
            r config set save ""
        }
    }
}
