# What replicas cost a primary: a chain of blocks that the backlog and all of them share, limits, and timeouts.
source [file join [file dirname [info script]] primary_util.tcl]

# A replica that reads nothing more.
proc stalled {} {
    set f [follower_connect]
    follower_sync $f
    return $f
}

proc fill {count {size 10000}} {
    set value [string repeat x $size]
    for {set i 0} {$i < $count} {incr i} { r set k $value }
}

proc replicas_are {n} {
    wait_for_condition 100 50 {[s connected_slaves] == $n} else { fail "there are [s connected_slaves] replicas, not $n" }
}

# The blocks for the replica that is most behind: sockets take varying amounts.
proc memory_of_replica {field} {
    return [tcl::mathfunc::max {*}[dict values [regexp -all -inline " $field=(\\d+)" [r client list type replica]]]]
}

start_server {overrides {save {} repl-diskless-sync-delay 0 repl-ping-replica-period 1000 repl-backlog-size 1mb
                         client-output-buffer-limit {replica 0 0 0}} tags {replication external:skip}} {
    test {the backlog keeps its size, and little more} {
        set f [follower_connect]
        follower_sync $f
        assert_morethan [s mem_replication_backlog] 0
        $f close
        replicas_are 0
        fill 300
        assert_range [s repl_backlog_histlen] 1048576 1100000
        assert_equal [expr {[s master_repl_offset] - [s repl_backlog_histlen] + 1}] [s repl_backlog_first_byte_offset]
        assert_range [s mem_replication_backlog] 1048576 1130000
        assert_equal [list [s mem_replication_backlog] 0] [list [s mem_total_replication_buffers] [s mem_clients_slaves]]
        fill 3 3000000
        assert_range [s mem_replication_backlog] 1048576 1130000
    }

    test {an offset before the backlog is refused, its first one is not} {
        set id [s master_replid]
        set first [s repl_backlog_first_byte_offset]
        foreach {from reply} [list [expr {$first - 1}] +FULLRESYNC* $first "+CONTINUE $id"] {
            set f [follower_connect]
            assert_match $reply [dict get [follower_sync $f $id $from] reply]
            $f close
        }
        replicas_are 0
    }

    test {ten slow replicas cost as much as one} {
        set slow {}
        fill 300
        foreach i [numbers 1 10] { lappend slow [stalled] }
        set before [s used_memory]
        fill 1600
        replicas_are 10
        set pending [memory_of_replica omem]
        assert_morethan $pending 8000000
        assert_range [s mem_total_replication_buffers] $pending [expr {$pending + 1100000}]
        assert_range [s mem_replication_backlog] 1000000 1100000
        assert_equal [s mem_total_replication_buffers] [expr {[s mem_replication_backlog] + [s mem_clients_slaves]}]
        assert_lessthan [expr {[s used_memory] - $before}] [expr {$pending * 105 / 100}]
        assert_range [memory_of_replica tot-mem] $pending [expr {$pending + 40000}]
        assert_range [memory_of_replica oll] [expr {$pending / 40000}] [expr {$pending / 16384}]
        assert_range [s mem_not_counted_for_evict] [expr {$pending - 1100000}] $pending
        set stats [r memory stats]
        assert_equal [list [s mem_replication_backlog] [s mem_clients_slaves]] \
            [list [dict get $stats replication.backlog] [dict get $stats clients.slaves]]
    }

    test {a slow replica that reads again gets every byte, and its memory is freed} {
        foreach f [lrange $slow 1 end] { $f close }
        set slow [lindex $slow 0]
        set end [s master_repl_offset]
        $slow rawread [expr {$end - $::follower_offset($slow)}]
        replicas_are 1
        wait_for_condition 100 50 {[s mem_total_replication_buffers] < 1130000} else { fail "it is not given back" }
        assert_equal 0 [memory_of_replica obl]
        assert_range [s repl_backlog_histlen] 1048576 1130000
        $slow close
        replicas_are 0
    }

    test {a resized backlog grows with time, and shrinks at once} {
        config_set repl-backlog-size 3mb
        fill 150
        assert_range [s repl_backlog_histlen] 2000000 3145728
        fill 200
        assert_range [s repl_backlog_histlen] 3145728 3300000
        config_set repl-backlog-size 100kb
        wait_for_condition 50 50 {[s repl_backlog_histlen] < 150000} else { fail "it is as long as before" }
        assert_morethan_equal [s repl_backlog_histlen] 102400
        config_set repl-backlog-size 1
        assert_equal 16384 [s repl_backlog_size]
        config_set repl-backlog-size 1mb
    }

    test {client-output-buffer-limit replica: the hard limit} {
        config_set client-output-buffer-limit {replica 3mb 0 0}
        fill 150
        set disconnected [s client_output_buffer_limit_disconnections]
        set f [stalled]
        set g [follower_connect]
        follower_sync $g
        set from [llength [log_lines]]
        fill 200
        $g rawread 2000000
        incr ::follower_offset($g) 2000000
        replicas_are 2
        for {set i 0} {$i < 1500 && [s connected_slaves] == 2} {incr i 10} {
            fill 10
            $g rawread [expr {10 * 10032}]
        }
        replicas_are 1
        wait_for_log "Client id=*flags=S*scheduled to be closed ASAP for overcoming of output buffer limits." [expr {$from - 1}]
        assert_equal [incr disconnected] [s client_output_buffer_limit_disconnections]
        assert_equal online [replica_field 0 state]
        $f close
        $g close
        replicas_are 0
    }

    test {a limit below the size of the backlog counts as that} {
        config_set client-output-buffer-limit {replica 10kb 10kb 1}
        config_set repl-backlog-size 20mb
        set f [stalled]
        fill 1000
        after 2500
        fill 100
        replicas_are 1
        config_set repl-backlog-size 1mb
        fill 100
        replicas_are 0
        $f close
    }

    test {the soft limit, after its time} {
        config_set client-output-buffer-limit {replica 0 3mb 1}
        set f [stalled]
        fill 900
        replicas_are 1
        after 1100
        fill 10
        replicas_are 0
        $f close
        config_set client-output-buffer-limit {replica 0 0 0}
    }
}

start_server {overrides {save {} repl-diskless-sync-delay 0 repl-ping-replica-period 1 repl-timeout 2 min-replicas-to-write 0}
              tags {replication external:skip}} {
    test {PING is sent at intervals} {
        set f [follower_connect]
        follower_sync $f
        foreach i {1 2 3} {
            assert_equal ping [follower_next $f]
            follower_ack $f
        }
        assert_equal $::follower_offset($f) [s master_repl_offset]
    }

    test {repl-timeout: a silent replica is disconnected} {
        assert [follower_gone $f]
        wait_for_log "Replica 127.0.0.1:7001 has acknowledged nothing for repl-timeout and is disconnected"
        replicas_are 0
        $f close
    }

    test {an acknowledgement or an empty line keeps a replica; one that used SYNC may be silent} {
        set ack [stalled]
        set line [stalled]
        set old [valkey_client]
        $old write "SYNC\r\n"
        follower_snapshot $old
        set silent [stalled]
        for {set i 0} {$i < 8} {incr i} {
            after 500
            follower_ack $ack
            $line write "\n"
        }
        replicas_are 3
        assert [follower_gone $silent]
        assert_lessthan [replica_field 0 lag] 2
        assert_lessthan [replica_field 1 lag] 2
        foreach f [list $ack $line $old $silent] { $f close }
        replicas_are 0
    }

    test {INFO counts the replicas that have acknowledged lately} {
        assert_equal {} [status_line 0 min_slaves_good_slaves]
        config_set repl-timeout 60
        config_set min-replicas-max-lag 2
        config_set min-replicas-to-write 1
        assert_equal 0 [s min_slaves_good_slaves]
        set f [stalled]
        assert_equal 1 [s min_slaves_good_slaves]
        wait_for_condition 100 50 {[s min_slaves_good_slaves] == 0} else { fail "it is still good" }
        assert_morethan [replica_field 0 lag] 2
        follower_ack $f
        wait_for_condition 100 50 {[s min_slaves_good_slaves] == 1} else { fail "it is not good again" }
        config_set min-replicas-max-lag 0
        assert_equal {} [status_line 0 min_slaves_good_slaves]
    }

    test {bytes to replicas are counted separately, and in the total} {
        set before [s total_net_repl_output_bytes]
        r set k [string repeat x 100000]
        assert_range [expr {[s total_net_repl_output_bytes] - $before}] 100000 110000
        assert_morethan_equal [s total_net_output_bytes] [s total_net_repl_output_bytes]
        assert_morethan [s instantaneous_output_repl_kbps] 0 {}
        $f close
        r config resetstat
        assert_equal {0 0 0} [list [s total_net_repl_output_bytes] [s sync_full] [s sync_partial_ok]]
    }
}
