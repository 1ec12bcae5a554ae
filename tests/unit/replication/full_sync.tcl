# Snapshots for replicas over their own connection: from disk, and while they are made.
source [file join [file dirname [info script]] full_sync_util.tcl]

proc child_pid {} { return [lindex [split [exec pgrep -P [srv pid]] \n] 0] }
# While a replica waits for its snapshot, which a process makes.
proc lose_child {} {
    set method [config_get bgsave-default-method]
    r config set bgsave-default-method fork
    set f [asker]
    asker_ask $f
    asker_full $f
    exec kill -9 [child_pid]
    asker_gone $f
    r config set bgsave-default-method $method
}

start_server {overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes} tags {repl}} {
    r set k v
    r hset h f v

    test {a snapshot is sent over sockets, and the stream waits for the first ACK} {
        set f [asker]
        asker_ask $f
        set offset [asker_full $f]
        set bulk [asker_bulk $f]
        assert_equal sockets [dict get $bulk kind]
        assert_match VALKEY080* [dict get $bulk bytes]
        assert_sound [dict get $bulk bytes]
        wait_for_condition 100 20 {[dict get [replica_fields 0] state] eq {online}} else { fail [s slave0] }
        wait_for_log {*Replica 127.0.0.1:7001 has been sent the snapshot; the replication stream follows after its next REPLCONF ACK}
        wait_for_log {*Diskless rdb transfer, done reading from pipe, 1 replicas still up.}
        wait_for_log {*The snapshot for replicas has ended without an error}
        r set a b
        after 100
        assert_equal 0 [$f pending]
        $f write "REPLCONF ACK $offset\r\n"
        # The first command behind a snapshot has its SELECT, and a stream never starts at 0.
        while {[set command [$f read]] eq {ping}} {}
        assert_equal {SELECT 0} $command
        assert_equal {set a b} [$f read]
        $f close
        assert_equal 0 [s rdb_saves]
        assert_equal -1 [s rdb_current_bgsave_time_sec]
        assert_morethan_equal [s rdb_last_bgsave_time_sec] 0
    }

    test {the version of the snapshot is one that the replica reads} {
        foreach {told magic} {
            {} REDIS0010
            {version 8.1.0} REDIS0011
            {version 8.255.255} REDIS0011
            {version 9.0.0} VALKEY080
            {version 10.0.0} VALKEY080
        } {
            set f [asker [list capa eof {*}$told]]
            asker_ask $f
            asker_full $f
            set bytes [dict get [asker_bulk $f] bytes]
            assert_match $magic* $bytes $told
            assert_sound $bytes
            $f close
        }
    }

    test {a replica without a version gets the oldest version of Redis that holds the data, a tool the oldest of all} {
        r hset fields f v
        r hexpire fields 1000 fields 1 f
        foreach {told magic} {{} REDIS0012 {rdb-only 1} VALKEY080} {
            set f [asker [list capa eof {*}$told]]
            asker_ask $f
            asker_full $f
            set bytes [dict get [asker_bulk $f] bytes]
            assert_match $magic* $bytes $told
            assert_sound $bytes
            $f close
        }
        r del fields
    }

    test {a snapshot ends when the replica's version cannot hold the data} {
        r hset fields f v
        r hexpire fields 1000 fields 1 f
        foreach {told version} {{version 8.0.0} 11 {version 8.1.0} 11} {
            set from [llength [log_lines]]
            set f [asker [list capa eof {*}$told]]
            asker_ask $f
            asker_full $f
            asker_gone $f
            wait_for_log "*Can't store key '\*redacted\*' (db 0) in RDB version $version" $from
            wait_for_log {*Background RDB transfer error} $from
            wait_for_log {*The synchronization of a replica failed because its snapshot failed} $from
        }
        r del fields
    }

    test {a filter leaves out keys and functions} {
        r function load "#!lua name=lib\nserver.register_function('f', function() return 1 end)"
        foreach {filter functions} {functions 1 {} 0} {
            set f [asker [list capa eof rdb-filter-only $filter rdb-only 1]]
            $f write "SYNC\r\n"
            set bytes [dict get [asker_bulk $f] bytes]
            assert_equal $functions [string match *register_function* $bytes]
            assert_no_match *\x01k\x01v* $bytes
            asker_gone $f
        }
        wait_for_log {*127.0.0.1:<unknown-replica-port> has received the snapshot, which is all it asked for, and should disconnect now}
        r function flush
    }

    test {a replica that uses SYNC gets no offset} {
        set f [asker {capa eof version 9.1.2}]
        $f write "SYNC\r\n"
        assert_match VALKEY080* [dict get [asker_bulk $f] bytes]
        $f close
    }

    test {replicas with the same request are served by one child, others by the next} {
        r config set repl-diskless-sync-delay 1
        set from [llength [log_lines]]
        set same [list [asker] [asker] [asker]]
        set other [asker {capa eof version 8.0.0}]
        foreach f [list {*}$same $other] { asker_ask $f }
        foreach f $same {
            asker_full $f
            assert_match VALKEY080* [dict get [asker_bulk $f] bytes]
        }
        asker_full $other
        assert_match REDIS0011* [dict get [asker_bulk $other] bytes]
        assert_equal 2 [snapshots_since $from]
        foreach f [list {*}$same $other] { $f close }
    }

    test {a replica that wants keys does not share a snapshot with one that wants none} {
        r config set repl-diskless-sync-delay 1
        set without [asker {capa eof rdb-filter-only functions rdb-only 1}]
        set with [asker {capa eof rdb-only 1}]
        foreach f [list $without $with] { $f write "SYNC\r\n" }
        assert_no_match *\x01k\x01v* [dict get [asker_bulk $without] bytes]
        assert_match *\x01k\x01v* [dict get [asker_bulk $with] bytes]
        asker_gone $without
        asker_gone $with
    }

    test {repl-diskless-sync-max-replicas ends the delay} {
        r config set repl-diskless-sync-delay 1000
        r config set repl-diskless-sync-max-replicas 2
        set first [asker]
        asker_ask $first
        wait_for_log {*The snapshot waits for repl-diskless-sync-delay, so that more replicas can share it}
        after 1500
        assert_equal 0 [s rdb_bgsave_in_progress]
        set second [asker]
        asker_ask $second
        asker_full $first
        asker_full $second
        $first close
        $second close
        r config set repl-diskless-sync-max-replicas 0
        r config set repl-diskless-sync-delay 0
    }

    test {a replica that waits gets newlines} {
        r config set repl-diskless-sync-delay 3
        set f [asker]
        asker_ask $f
        assert_match +FULLRESYNC* [asker_line $f newlines]
        assert_range $newlines 1 4
        asker_bulk $f
        $f close
        r config set repl-diskless-sync-delay 0
    }
}

start_server {overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes rdb-key-save-delay 1000} tags {repl}} {
    r debug populate 1000 key 100

    test {a replica that connects during a snapshot over sockets waits for the next one} {
        set f [asker]
        asker_ask $f
        asker_full $f
        assert_equal wait_bgsave [dict get [replica_fields 0] state]
        assert_equal 1 [s rdb_bgsave_in_progress]
        assert_error "ERR Background save already in progress" { r bgsave }
        set g [asker]
        asker_ask $g
        wait_for_log {*Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC}
        asker_bulk $f
        asker_full $g
        $f close
        $g close
    }

    test {the child is killed when the last replica disconnects} {
        wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "a child is left" }
        set from [llength [log_lines]]
        set f [asker]
        set g [asker]
        r config set repl-diskless-sync-delay 1
        asker_ask $f
        asker_ask $g
        asker_full $f
        asker_full $g
        $f close
        after 300
        assert_equal 1 [s rdb_bgsave_in_progress]
        $g close
        wait_for_log {*Diskless rdb transfer, last replica dropped, killing fork child.} $from
        wait_for_log {*The snapshot for replicas was ended by signal 10} $from
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "the child lives on" }
        assert_equal ok [s rdb_last_bgsave_status]
        r config set repl-diskless-sync-delay 0
    }

    test {a killed child disconnects its replicas, and is no failed save} {
        set from [llength [log_lines]]
        lose_child
        wait_for_log {*The snapshot for replicas was ended by signal 9} $from
        wait_for_log {*The synchronization of a replica failed because its snapshot failed} $from
        wait_for_log {*Connection with replica 127.0.0.1:7001 lost.} $from
        assert_equal ok [s rdb_last_bgsave_status]
    }

    foreach how {flushall {bgsave cancel}} {
        test "$how ends it, too" {
            r debug populate 1000 key 100
            set from [llength [log_lines]]
            set f [asker]
            asker_ask $f
            asker_full $f
            r {*}$how
            asker_gone $f
            if {[config_get bgsave-default-method] eq {fork}} { wait_for_log {*Killing running RDB child: *} $from }
            wait_for_log {*The snapshot for replicas was ended by signal 10} $from
        }
    }

    test {a snapshot waits for another child} {
        r debug populate 1000 key 100
        r config set repl-diskless-sync no
        r bgrewriteaof
        set f [asker]
        asker_ask $f
        wait_for_log {*The snapshot for the replica waits for the end of another child process}
        asker_full $f
        $f close
    }
}

start_server {overrides {save {} repl-diskless-sync no enable-debug-command yes} tags {repl}} {
    r set k v

    test {a snapshot from disk has a length, and the stream follows at once} {
        set f [asker]
        asker_ask $f
        set offset [asker_full $f]
        set bulk [asker_bulk $f]
        assert_equal disk [dict get $bulk kind]
        assert_equal [dict get $bulk bytes] [read_file_bytes [srv dir]/dump.rdb]
        assert_sound [dict get $bulk bytes]
        r set a b
        while {[set command [$f read]] eq {ping}} {}
        assert_equal {SELECT 0} $command
        assert_equal {set a b} [$f read]
        assert_equal online [dict get [replica_fields 0] state]
        $f close
        assert_equal 1 [s rdb_saves]
    }

    test {a replica without capa eof gets a file although repl-diskless-sync is on} {
        r config set repl-diskless-sync yes
        set f [asker {}]
        $f write "SYNC\r\n"
        assert_equal disk [dict get [asker_bulk $f] kind]
        $f close
        r config set repl-diskless-sync no
    }

    test {an old replica gets its version over sockets although files are configured} {
        set f [asker {capa eof}]
        asker_ask $f
        asker_full $f
        assert_equal sockets [dict get [asker_bulk $f] kind]
        $f close
    }

    test {a replica that connects while the file is written joins it, at the same offset} {
        r config set rdb-key-save-delay 1000
        r debug populate 1000 key 100
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "a child is left" }
        set from [llength [log_lines]]
        set f [asker]
        asker_ask $f
        set offset [asker_full $f]
        r set during snapshot
        set g [asker]
        asker_ask $g
        wait_for_log {*The replica waits for the end of the running snapshot}
        assert_equal $offset [asker_full $g]
        set other [asker {capa eof}]
        asker_ask $other
        wait_for_log {*The running snapshot does not suit the replica, which waits for the next one}
        foreach h [list $f $g] {
            set bytes [dict get [asker_bulk $h] bytes]
            assert_no_match *during* $bytes
            while {[set command [$h read]] eq {ping}} {}
            assert_equal {SELECT 0} $command
            assert_equal {set during snapshot} [$h read]
        }
        assert_match REDIS0010* [dict get [asker_full_bulk $other] bytes]
        assert_equal 2 [snapshots_since $from]
        foreach h [list $f $g $other] { $h close }
    }

    test {a save by a client is not shared with replicas} {
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "a child is left" }
        set from [llength [log_lines]]
        r bgsave
        set f [asker]
        asker_ask $f
        wait_for_log {*The running snapshot does not suit the replica, which waits for the next one} $from
        asker_full $f
        assert_equal disk [dict get [asker_bulk $f] kind]
        wait_for_log {*Background save complete} $from
        $f close
    }

    test {a file for replicas only is aborted with the last of them} {
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "a child is left" }
        set from [llength [log_lines]]
        set f [asker]
        asker_ask $f
        asker_full $f
        $f close
        wait_for_log {*The last replica that waited for the snapshot is gone and nothing else needs it, so the snapshot is stopped} $from
        wait_for_log {*The background save was ended *} $from

        r config set save {3600 100000000}
        set from [llength [log_lines]]
        set f [asker]
        asker_ask $f
        asker_full $f
        $f close
        wait_for_log {*Background save complete} $from
        r config set save {}
    }

    test {a save that fails disconnects the replicas that wait for it} {
        set from [llength [log_lines]]
        lose_child
        wait_for_log {*The synchronization of a replica failed because its snapshot failed} $from
        assert_equal err [s rdb_last_bgsave_status]
    }
}

start_server {overrides {save {} repl-diskless-sync-delay 1 enable-debug-command yes rdbcompression no} tags {repl}} {
    r debug populate 300 key 100000

    test {a snapshot waits for the slowest replica, but not longer than repl-timeout} {
        r config set repl-timeout 2
        set slow [asker {capa eof version 9.1.2 listening-port 7002}]
        set fast [asker]
        asker_ask $slow
        asker_ask $fast
        asker_full $fast
        set started [clock milliseconds]
        set channel [$fast channel]
        fconfigure $channel -blocking 0
        set bytes 0
        set head {}
        set tail {}
        while {[s rdb_bgsave_in_progress]} {
            set piece [read $channel]
            incr bytes [string length $piece]
            set head [string range $head$piece 0 99]
            set tail [string range $tail$piece end-39 end]
            after 5
        }
        assert_equal 1 [regexp {\$EOF:([0-9a-f]{40})} $head - mark]
        # The rest of it is still on its way.
        wait_for_condition 50 100 {[string match *$mark [append tail [read $channel]]]} else { fail "ends with $tail" }
        incr bytes [expr {[string length $tail] - 40}]
        wait_for_log {*Disconnecting timedout replica (full sync): 127.0.0.1:7002}
        assert_morethan [expr {[clock milliseconds] - $started}] 1500
        wait_for_log {*Diskless rdb transfer, done reading from pipe, 1 replicas still up.}
        assert_morethan $bytes 29000000
        $slow close
        $fast close
    }

    test {rdb-del-sync-files removes a file that was for replicas only} {
        r config set repl-diskless-sync no
        r config set rdb-del-sync-files yes
        set path [srv dir]/dump.rdb
        foreach saved_meanwhile {0 1} {
            set f [asker]
            asker_ask $f
            asker_full $f
            wait_for_condition 100 20 {[dict get [replica_fields 0] state] eq {send_bulk}} else { fail [s slave0] }
            assert_equal 1 [file exists $path]
            if {$saved_meanwhile} { r save }
            assert_equal disk [dict get [asker_bulk $f] kind]
            $f close
            if {$saved_meanwhile} {
                after 1500
                assert_equal 1 [file exists $path]
            } else {
                wait_for_log {*The RDB file that was written for replicas only is deleted}
                assert_equal 0 [file exists $path]
            }
        }
    }
}

start_server {overrides {save {} repl-diskless-sync-delay 0} tags {repl}} {
    test {only replicas that announce stream-idmp get what only this server stores and propagates} {
        r xadd ids idmp p i * f v

        foreach {told magic option} {
            {version 9.2.0 capa stream-idmp} VALKEY900 1
            {version 9.2.0} VALKEY080 0
            {version 9.2.0 capa stream-idmp} VALKEY900 0
            {version 9.1.2} VALKEY080 0
            {version 8.1.0} REDIS0011 0
            {} REDIS0010 0
            {rdb-only 1} REDIS0010 -1
        } {
            set f [asker [list capa eof {*}$told]]
            asker_ask $f
            set offset [asker_full $f]
            assert_match $magic* [dict get [asker_bulk $f] bytes] $told
            if {$option != -1} {
                $f write "REPLCONF ACK $offset\r\n"
                set id [r xadd ids idmp p [incr iid] * f v]
                while {[lindex [set command [$f read]] 0] ne "xadd"} {}
                assert_equal [list xadd ids {*}[expr {$option ? [list idmp p $iid] : {}}] $id f v] $command $told
            }
            $f close
        }
    }
}
