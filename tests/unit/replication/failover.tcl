# FAILOVER: the primary hands its part to a replica.
source [file join [file dirname [info script]] wait_util.tcl]

proc address {level} { return "[srv $level host] [srv $level port]" }

tags {external:skip repl} {
    start_server {} {
        test {FAILOVER: errors of arguments} {
            foreach {args error} {
                {abort timeout 5} "ERR syntax error" {to h} "ERR syntax error" {timeout 5 timeout 6} "ERR syntax error"
                {abort abort} "ERR syntax error" {to h 1 to h 2} "ERR syntax error" {abort to h 1} "ERR syntax error"
                {abort force} "ERR syntax error" {nosuch} "ERR syntax error" {timeout} "ERR syntax error"
                {timeout 0} "ERR FAILOVER timeout must be greater than 0" {timeout -5 abort} "ERR FAILOVER timeout must be*"
                {timeout x} "ERR value is not an integer or out of range" {to h p} "ERR value is not an integer or out of range"
                {abort} "ERR No failover in progress." {} "ERR FAILOVER requires connected replicas."
                {force} "ERR FAILOVER requires connected replicas." {to h -1} "ERR FAILOVER requires connected replicas."
            } {
                assert_error $error {r failover {*}$args} "FAILOVER $args"
            }
            assert_equal no-failover [s master_failover_state]
        }
    }

    foreach end [other_ends] {
        lassign $end name executable
        with_replicas 2 $executable {} {
            test "FAILOVER: errors of arguments, with replicas ($name)" {
                set host [srv host]
                foreach {args error} {
                    {to h 1} "ERR FAILOVER target HOST and PORT is not a replica."
                    {to 127.0.0.1 1} "ERR FAILOVER target HOST and PORT is not a replica."
                    {force} "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
                    {force timeout 10} "ERR FAILOVER with force option requires both*"
                    {to 127.0.0.1 1 force} "ERR FAILOVER with force option requires both*"
                } {
                    assert_error $error {r -2 failover {*}$args} "FAILOVER $args"
                }
                assert_error "ERR FAILOVER is not valid when server is a replica." {r failover}
                assert_error "ERR No failover in progress." {r failover abort}
            }

            test "FAILOVER: while it waits for the replica, writes wait, and it can be aborted ($name)" {
                foreach level {0 -1} { stop_server $level }
                r -2 set k 1
                assert_equal OK [r -2 failover to {*}[address 0]]
                assert_equal waiting-for-sync [s -2 master_failover_state]
                assert_equal {failover_in_progress write} [list [s -2 paused_reason] [s -2 paused_actions]]
                r -2 client pause 100000 write
                assert_equal failover_in_progress [s -2 paused_reason] "the pause that lasts longest"
                r -2 client unpause
                set writer [valkey_deferring_client -2]
                $writer set k 2
                assert_error "ERR FAILOVER already in progress." {r -2 failover}
                assert_error "ERR REPLICAOF not allowed while failing over." {r -2 replicaof no one}
                assert_error "ERR REPLICAOF not allowed while failing over." {r -2 replicaof h 1}
                assert_error "NOMASTERLINK Can't SYNC while failing over" {r -2 psync ? -1}
                assert_equal 1 [r -2 get k]
                set offset [s -2 master_repl_offset]
                r -2 config set repl-ping-replica-period 1
                after 1500
                assert_equal $offset [s -2 master_repl_offset] "nothing is added to the stream"
                r -2 config set repl-ping-replica-period 3600
                assert_equal OK [r -2 failover abort]
                assert_equal OK [answer $writer]
                assert_equal {no-failover none} [list [s -2 master_failover_state] [s -2 paused_reason]]
                assert_match "*A failover to 127.0.0.1:[srv port] was requested*The failover to 127.0.0.1:[srv port] was aborted: FAILOVER ABORT was called*" [read_file [srv -2 log]]
            }

            test "FAILOVER TIMEOUT: it is aborted when no replica has caught up ($name)" {
                assert_equal OK [r -2 failover timeout 300]
                assert_equal waiting-for-sync [s -2 master_failover_state]
                assert_range [ms { wait_for_field -2 master_failover_state no-failover }] 150 5000
                assert_match "*A failover to any replica was requested*The failover to any replica was aborted: no replica caught up before the timeout*" [read_file [srv -2 log]]
                assert_equal OK [r -2 set k 3]
                assert_equal master [s -2 role]
            }

            test "FAILOVER TO hands over: no write is lost, clients are redirected ($name)" {
                foreach level {0 -1} { continue_server $level }
                set syncs [s -2 sync_full]
                set waits [valkey_deferring_client -2]
                $waits blpop nosuch 0
                wait_for_condition 500 20 {[s -2 blocked_clients] == 1} else { fail "it does not wait" }
                r -2 set k 4
                assert_equal OK [r -2 failover to {*}[address 0]]
                assert_error "READONLY*" {r -2 set k 5}
                assert_error "UNBLOCKED force unblock*" {$waits read}
                $waits close
                wait_for_field -2 master_failover_state no-failover
                assert_equal none [s -2 paused_reason]
                wait_for_field -2 master_link_status up
                assert_equal [list slave [srv port]] [list [s -2 role] [s -2 master_port]]
                assert_equal {master 4} [list [s role] [r get k]]
                assert_equal [s master_replid2] [s -2 master_replid2]
                assert_match "*Replica 127.0.0.1:[srv port] has all data, so it takes over now*" [read_file [srv -2 log]]
                # The other replica follows through its old primary, without a full synchronization.
                wait_for_field -1 master_link_status up
                r set k 6
                wait_for_condition 500 20 {[r -1 get k] eq "6" && [r -2 get k] eq "6"} else { fail "the stream does not go on" }
                assert_equal $syncs [s -2 sync_full]
                assert_equal 0 [s sync_full]
            }
        }

        with_replicas 2 $executable {} {
            test "FAILOVER without a target chooses a replica that has everything ($name)" {
                stop_server 0
                r -2 set k 1
                assert_equal OK [r -2 failover]
                wait_for_field -1 role master
                wait_for_field -2 master_link_status up
                assert_equal [srv -1 port] [s -2 master_port]
                assert_equal 1 [r -1 get k]
                assert_equal no-failover [s -2 master_failover_state]
                continue_server 0
            }
        }

        with_replicas 1 $executable {} {
            test "FAILOVER FORCE hands over to a replica that lags, and loses what it lacked ($name)" {
                r -1 set k 1
                assert_equal 1 [r -1 wait 1 10000]
                stop_server 0
                r -1 set k 2
                set waits [valkey_deferring_client -1]
                $waits blpop nosuch 0
                wait_for_field -1 blocked_clients 1
                assert_equal OK [r -1 failover to {*}[address 0] force timeout 300]
                wait_for_field -1 master_failover_state failover-in-progress
                assert_equal {slave 1} [list [s -1 role] [s -1 blocked_clients]]
                assert_match "*FAILOVER to 127.0.0.1:[srv port] time out exceeded, failing over.*" [read_file [srv -1 log]]
                assert_equal failover_in_progress [s -1 paused_reason]
                continue_server 0
                wait_for_field 0 role master
                assert_error "UNBLOCKED force unblock*" {answer $waits}
                wait_for_field -1 master_link_status up
                assert_equal {no-failover none} [list [s -1 master_failover_state] [s -1 paused_reason]]
                assert_equal [r get k] [r -1 get k]
                r set k 3
                wait_for_condition 500 20 {[r -1 get k] eq "3"} else { fail "the stream does not go on" }
            }
        }

        with_replicas 1 $executable {} {
            test "FAILOVER ABORT while it is in progress: a primary again ($name)" {
                stop_server 0
                r -1 set k 1
                set id [s -1 master_replid]
                set waits [valkey_deferring_client -1]
                $waits blpop list 0
                wait_for_field -1 blocked_clients 1
                assert_equal OK [r -1 failover to {*}[address 0] force timeout 500]
                set writer [valkey_deferring_client -1]
                $writer set k 2
                wait_for_field -1 master_failover_state failover-in-progress
                assert_equal {slave 2} [list [s -1 role] [s -1 blocked_clients]]
                assert_error "READONLY*" {r -1 set k 3}
                assert_error "ERR FAILOVER already in progress." {r -1 failover}
                assert_error "ERR REPLICAOF not allowed while failing over." {r -1 replicaof no one}
                assert_equal OK [r -1 failover abort]
                assert_equal OK [answer $writer]
                r -1 rpush list v ;# clients that waited for a key continue to wait
                assert_equal {list v} [answer $waits]
                assert_equal [list master $id] [list [s -1 role] [s -1 master_replid2]]
                assert_equal {no-failover none} [list [s -1 master_failover_state] [s -1 paused_reason]]
                continue_server 0
            }
        }
    }

    # A wrong target: an ordinary server that claims to have been a replica.
    start_server {overrides {save {} repl-diskless-sync-delay 0}} {
        start_server {overrides {save {}}} {
            test {FAILOVER: the target refuses, and we are a primary again} {
                r -1 set k 1
                set c [valkey_client -1]
                $c replconf listening-port [srv port]
                $c write "PSYNC ? -1\r\n"
                flush [$c channel]
                wait_for_condition 500 20 {[replicas_online -1 1]} else { fail "it is not online" }
                assert_equal OK [r -1 failover to {*}[address 0] force timeout 100]
                wait_for_log "aborted: Failover target rejected psync request" 0 100 50 -1
                assert_equal {master no-failover none} [list [s -1 role] [s -1 master_failover_state] [s -1 paused_reason]]
                assert_equal OK [r -1 set k 2]
                $c close
            }
        }
    }
}
