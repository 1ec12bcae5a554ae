# Snapshots on a connection of their own (dual channel), as a primary.
source [file join [file dirname [info script]] full_sync_util.tcl]

# Requests a snapshot as a replica's second connection does: a dict of offset, id, db, client.
proc channel_ask {{more {}}} {
    set f [asker [list capa eof rdb-only 1 rdb-channel 1 listening-port 7001 version 9.1.2 {*}$more]]
    $f write "SYNC\r\n"
    return $f
}

proc channel_place {f} {
    set line [asker_line $f]
    assert_equal 1 [regexp {^\$ENDOFF:(\d+) ([0-9a-f]{40}) (-?\d+) (\d+)$} $line - offset id db client] $line
    return [dict create offset $offset id $id db $db client $client]
}

start_server {overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes dual-channel-replication-enabled yes} tags {repl}} {
    r set k v

    test {a replica with capa dual-channel is asked to use two connections} {
        set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
        asker_ask $main
        assert_equal +DUALCHANNELSYNC [asker_line $main]
        assert_equal 0 [s connected_slaves]
        $main close
    }

    test {the stream goes over the main connection while the snapshot is sent} {
        r config set rdb-key-save-delay 1000
        r debug populate 1000 key 10
        set rdb [channel_ask]
        set place [channel_place $rdb]
        assert_equal [s master_replid] [dict get $place id]
        wait_for_log {*A snapshot for replicas begins: it is written to the sockets of the replicas (dual channel)}
        wait_for_log "*Dual channel replication: for replica 127.0.0.1:7001 the snapshot ends at offset [dict get $place offset]; the RDB channel is client [dict get $place client]"
        set way [expr {[config_get bgsave-default-method] eq {fork} ? "direct socket to replica" : "pipe through parent process"}]
        wait_for_log "*Background RDB transfer started by pid * to $way"
        assert_equal {wait_bgsave rdb-channel} [list [dict get [replica_fields 0] state] [dict get [replica_fields 0] type]]
        assert_equal 1 [s replicas_waiting_psync]
        r set during snapshot

        set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
        assert_error "ERR Unrecognized RDB client id 999999" { $main replconf set-rdb-client-id 999999 }
        assert_equal OK [$main replconf set-rdb-client-id [dict get $place client]]
        $main write "PSYNC [dict get $place id] [expr {[dict get $place offset] + 1}]\r\n"
        assert_equal "+CONTINUE [dict get $place id]" [asker_line $main]
        while {[set command [$main read]] eq {ping}} {}
        assert_equal {SELECT 0} $command
        assert_equal {set during snapshot} [$main read]
        assert_equal {bg_transfer main-channel} [list [dict get [replica_fields 1] state] [dict get [replica_fields 1] type]]
        assert_equal 0 [s replicas_waiting_psync]

        set bulk [asker_bulk $rdb]
        assert_match VALKEY080* [dict get $bulk bytes]
        assert_sound [dict get $bulk bytes]
        assert_no_match *during* [dict get $bulk bytes]
        assert_equal {} [asker_gone $rdb]
        $main write "REPLCONF ACK [s master_repl_offset]\r\n"
        wait_for_condition 100 20 {[dict get [replica_fields 0] state] eq {online}} else { fail [s slave0] }
        assert_equal 1 [s connected_slaves]
        $main close
        r config set rdb-key-save-delay 0
    }

    test {the stream is kept for a late main connection, for a limited time} {
        r config set repl-backlog-size 16384
        r debug delay-rdb-client-free-seconds 1
        set rdb [channel_ask]
        set place [channel_place $rdb]
        asker_bulk $rdb
        wait_for_condition 100 20 {[dict get [replica_fields 0] state] eq {rdb_transmitted}} else { fail [s slave0] }
        for {set i 0} {$i < 100} {incr i} { r set big [string repeat x 10000] }
        assert_morethan [s repl_backlog_histlen] 900000
        set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
        assert_equal OK [$main replconf set-rdb-client-id [dict get $place client]]
        $main write "PSYNC [dict get $place id] [expr {[dict get $place offset] + 1}]\r\n"
        assert_match +CONTINUE* [asker_line $main]
        $main close
        asker_gone $rdb

        set rdb [channel_ask]
        set place [channel_place $rdb]
        asker_bulk $rdb
        assert_equal {} [asker_gone $rdb]
        wait_for_log "*Dual channel replication: Replica main channel failed to establish PSYNC within the grace period (* seconds). Freeing RDB client [dict get $place client]."
        set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
        assert_error "ERR Unrecognized RDB client id *" { $main replconf set-rdb-client-id [dict get $place client] }
        $main close
        r set big x
        r set big [string repeat x 20000]
        wait_for_condition 50 20 {[s repl_backlog_histlen] < 100000} else { fail "[s repl_backlog_histlen] bytes are kept" }
    }

    # Found by tests/simulation/run --pair: the primary crashed.
    test {the backlog is not freed while the stream is kept for a late main connection} {
        r debug delay-rdb-client-free-seconds 6
        r config set repl-backlog-ttl 1
        set rdb [channel_ask]
        set place [channel_place $rdb]
        asker_bulk $rdb
        $rdb close
        after 3200
        set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
        assert_equal OK [$main replconf set-rdb-client-id [dict get $place client]]
        $main write "PSYNC [dict get $place id] [expr {[dict get $place offset] + 1}]\r\n"
        assert_match +CONTINUE* [asker_line $main]
        $main close
        r config set repl-backlog-ttl 3600
        r debug delay-rdb-client-free-seconds 1
    }

    # The output buffer limit of replicas also limits what is kept for a replica that does not read yet.
    test {the stream that is kept for a missing main connection has a limit} {
        r debug delay-rdb-client-free-seconds 1000
        set limits [config_get client-output-buffer-limit]
        foreach sent {yes no} {
            config_set rdb-key-save-delay [expr {$sent ? 0 : 100000}]
            config_set client-output-buffer-limit {replica 200000 0 0}
            set rdb [channel_ask]
            set place [channel_place $rdb]
            if {$sent} { asker_bulk $rdb }
            assert_equal 1 [s replicas_waiting_psync]
            set closed [s client_output_buffer_limit_disconnections]
            for {set i 0} {$i < 100} {incr i} { r set big [string repeat x 10000] }
            wait_for_log "*the stream that is kept for RDB client [dict get $place client] takes * bytes, more than the output buffer limit of replicas.*"
            wait_for_condition 100 20 {[s replicas_waiting_psync] == 0 && [s connected_slaves] == 0} else { fail "it is kept" }
            assert_equal [expr {$closed + 1}] [s client_output_buffer_limit_disconnections]
            r set big x
            r set big [string repeat x 20000]
            wait_for_condition 50 20 {[s repl_backlog_histlen] < 100000} else { fail "[s repl_backlog_histlen] bytes are kept" }
            $rdb close
            wait_for_condition 100 50 {[s rdb_bgsave_in_progress] == 0} else { fail "the child lives on" }
        }

        # For a limited time, by the soft limit.
        config_set rdb-key-save-delay 0
        config_set client-output-buffer-limit {replica 0 200000 1}
        set rdb [channel_ask]
        channel_place $rdb
        asker_bulk $rdb
        for {set i 0} {$i < 30} {incr i} { r set big [string repeat x 10000] }
        assert_equal 1 [s replicas_waiting_psync]
        wait_for_condition 200 50 {[s replicas_waiting_psync] == 0} else { fail "it is kept" }
        $rdb close
        config_set client-output-buffer-limit $limits
        r debug delay-rdb-client-free-seconds 1
    }

    test {no stream is buffered for a snapshot with a main connection, nor for one without a stream} {
        config_set rdb-key-save-delay 2000
        set limits [config_get client-output-buffer-limit]
        config_set client-output-buffer-limit {replica 200000 0 0}
        foreach alone {no yes} {
            if {$alone} {
                set rdb [asker {capa eof rdb-only 1 version 9.1.2}]
                $rdb write "SYNC\r\n"
                wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
            } else {
                set rdb [channel_ask]
                set place [channel_place $rdb]
                set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2}]
                assert_equal OK [$main replconf set-rdb-client-id [dict get $place client]]
                $main write "PSYNC [dict get $place id] [expr {[dict get $place offset] + 1}]\r\n"
                assert_match +CONTINUE* [asker_line $main]
            }
            for {set i 0} {$i < 100} {incr i} {
                r set big [string repeat x 10000]
                if {!$alone} { while {[lindex [$main read] 0] ne "set"} {} }
            }
            assert_lessthan [s repl_backlog_histlen] 200000
            assert_equal 1 [s rdb_bgsave_in_progress]
            assert_sound [dict get [asker_bulk $rdb] bytes]
            if {!$alone} { $main close }
            asker_gone $rdb
        }
        config_set client-output-buffer-limit $limits
        config_set rdb-key-save-delay 0
    }

    test {several replicas share a snapshot, and one that disconnects does not harm the others} {
        r config set repl-diskless-sync-delay 1
        r config set rdb-key-save-delay 1000
        set from [llength [log_lines]]
        set channels [list [channel_ask] [channel_ask] [channel_ask]]
        set ids {}
        foreach f $channels { lappend ids [dict get [channel_place $f] client] }
        assert_equal 3 [llength [lsort -unique $ids]]
        [lindex $channels 1] close
        foreach at {0 2} { assert_sound [dict get [asker_bulk [lindex $channels $at]] bytes] }
        assert_equal 1 [snapshots_since $from]
        foreach at {0 2} { [lindex $channels $at] close }
        wait_for_condition 100 50 {[s connected_slaves] == 0} else { fail "[s connected_slaves] are left" }
    }

    test {the child is killed with the last connection} {
        set from [llength [log_lines]]
        set f [channel_ask]
        channel_place $f
        $f close
        wait_for_log {*Background RDB transfer *} [expr {$from + 3}]
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "the child lives on" }
        wait_for_condition 100 20 {[s replicas_waiting_psync] == 0} else { fail "its stream is kept" }
    }

    test {a server that follows another one keeps no stream for a late main connection} {
        r debug delay-rdb-client-free-seconds 6
        set rdb [channel_ask]
        set place [channel_place $rdb]
        asker_bulk $rdb
        $rdb close
        start_server {overrides {save {} repl-diskless-sync-delay 0}} {
            r -1 replicaof [srv 0 host] [srv 0 port]
            wait_for_condition 100 50 {[s -1 master_link_status] eq {up}} else { fail "the link is [s -1 master_link_status]" }
            set main [asker {capa eof capa psync2 capa dual-channel version 9.1.2} -1]
            assert_error "ERR Unrecognized RDB client id *" { $main replconf set-rdb-client-id [dict get $place client] }
            $main close
            r -1 replicaof no one
        }
    }
}
