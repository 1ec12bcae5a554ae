# What operators and their tools see when a server of another make is replaced by this one: which steps the log names,
# in which order; figures, lines in the configuration file.
source [file join [file dirname [info script]] link_util.tcl]
tags {replication external:skip needs:debug} {

# The log from line `from` on has lines like these, in this order.
proc assert_in_order {from level patterns} {
    foreach pattern $patterns { set from [expr {[wait_for_log $pattern $from 100 50 $level] + 1}] }
}
proc log_end {level} { return [expr {[llength [log_lines $level]] - 1}] }
proc wait_linked {level} {
    wait_for_condition 200 25 {[s $level master_link_status] eq "up"} else { fail "the link is down" }
}

start_server {overrides {repl-diskless-sync-delay 0}} {
start_server {overrides {repl-diskless-sync-delay 0}} {
    set primary [srv -1 port]
    r set z0 1; r set z1 1; r set z2 1
    r -1 set k v

    test {Log of a full synchronization, seen from the replica} {
        set from [log_end 0]
        r replicaof 127.0.0.1 $primary
        wait_linked 0
        assert_in_order $from 0 [list "*:S *This primary becomes a replica and keeps its own replication history*" \
            "*:S *\\* Connecting to the primary 127.0.0.1:$primary" "*The synchronization with the primary begins" "*This server is now a replica of 127.0.0.1:$primary (requested by '*" \
            "*The connection to the primary is established" "*The primary has answered PING" "*A partial resynchronization is requested*" \
            "*The primary begins a full synchronization: *" "*The snapshot from the primary is written to disk by a thread" "*The snapshot from the primary has arrived" "*The snapshot from the primary is on disk" \
            "*The snapshot from the primary is complete and is now loaded" "*The state kept of the former primary is discarded" "*sync: Loading DB in memory" \
            "*Flushing old data" "*Done loading RDB, keys loaded: 1, keys expired: 0, all fields expired hashes: 0." "*The synchronization with the primary is complete"]
    }

    test {Replicas are no clients in INFO, and a snapshot counts as changes as in Valkey} {
        assert_equal 1 [s -1 connected_slaves]
        assert_equal 1 [s -1 connected_clients]
        assert_equal 2 [s connected_clients] "the link to the primary is one"
        assert_equal 3 [s rdb_changes_since_last_save] "the file that came has all there is"
        r replicaof no one
        r debug change-repl-id
        config_set repl-diskless-load flush-before-load
        r replicaof 127.0.0.1 $primary
        wait_linked 0
        assert_equal 4 [s rdb_changes_since_last_save] "no file has what came"
    }

    test {Log of a link that is cut, and of a promotion} {
        set from [log_end 0]
        r -1 client kill type replica
        assert_in_order $from 0 [list "*The connection to the primary is lost" "*The state of the lost primary is kept*" \
            "*Connecting to the primary 127.0.0.1:$primary again" "*synchronization with the primary begins" "*A partial resynchronization is requested*" "*The primary grants the partial resynchronization" \
            "*The replication stream of the primary continues"]
        assert_equal -1 [lsearch -start $from [log_lines] "* Connecting to the primary 127.0.0.1:$primary"]
        wait_linked 0
        set from [log_end 0]
        r replicaof no one
        assert_in_order $from 0 {"*:M *The connection to the primary is lost" "*:M *The state of the lost primary is kept*" "*:M *The state kept of the former primary is discarded"
            "*:M *The former replication ID * stays valid up to offset *" "*This server is now a primary (requested by *"}
    }

    test {The log of a server that hands over names the client that requested it, and no more} {
        r replicaof 127.0.0.1 $primary
        wait_linked 0
        wait_for_condition 100 25 {[string match *state=online* [r -1 info replication]]} else { fail "not online" }
        set from [log_end 0]
        r -1 failover
        set at [wait_for_log "*This replica is now a primary (failover requested by *" $from]
        assert_match "*'id=* addr=* lib-name=* lib-ver=*')" [lindex [log_lines] $at]
        assert_no_match "*age=*" [lindex [log_lines] $at]
        wait_linked -1
    }

    test {Log of a synchronization over two connections} {
        r -1 replicaof no one
        r replicaof no one
        r debug change-repl-id
        foreach level {0 -1} { config_set dual-channel-replication-enabled yes $level }
        set from [log_end -1]
        r -1 set big [string repeat x 300000]
        config_set rdbcompression no -1
        set sent [s -1 total_net_repl_output_bytes]
        r replicaof 127.0.0.1 $primary
        wait_linked 0
        assert_in_order $from -1 {"*Dual channel replication: replica 127.0.0.1:* needs a full synchronization*"
            "*Dual channel replication: for replica * the snapshot ends at offset *" "*Dual channel replication: the RDB channel of replica 127.0.0.1:* is closed"}
        assert_equal 0 [llength [lsearch -all -start $from [log_lines -1] "*Connection with replica*"]]
        wait_for_condition 100 25 {[s -1 total_net_repl_output_bytes] > $sent + 300000} else { fail "what the child sent is not counted" }
    }
}
}

start_server {overrides {repl-timeout 60}} {
    set port [primary_listen]

    test {A synchronization that ends before it replaces data keeps the offset to continue from} {
        r replicaof 127.0.0.1 $port
        set fd [primary_accept]
        primary_greet $fd
        primary_sync $fd $::id_a 1000 {k v}
        wait_linked 0
        close $fd
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a 1001] [primary_greet $fd]
        primary_send $fd "+FULLRESYNC $::id_b 5\r\n\$100\r\nREDIS"
        assert_match {slave 127.0.0.1 * sync -1} [r role]
        assert_equal 1000 [s slave_repl_offset]
        set from [log_end 0]
        close $fd
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a 1001] [primary_greet $fd] "cut"
        assert_in_order $from 0 [list "*Reading the snapshot from the primary failed: connection lost" "*The snapshot from the primary is lost: reading its payload failed" \
            "*Connecting to the primary 127.0.0.1:$port again after failure" "*The synchronization with the primary begins"]
        set from [log_end 0]
        primary_send $fd "-NOAUTH Authentication required.\r\n"
        assert_equal SYNC [primary_receive $fd]
        primary_send $fd "-NOAUTH Authentication required.\r\n"
        close $fd
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a 1001] [primary_greet $fd] "no password"
        assert_in_order $from 0 {"*The primary answered the request for a synchronization with an error: NOAUTH*" "*The snapshot from the primary is lost: reading its metadata failed"}
        assert_equal v [r get k]
        primary_send $fd "+CONTINUE\r\n[command SELECT 0][command SET k later]"
        wait_for_condition 100 25 {[r get k] eq "later"} else { fail "the stream does not go on" }
        close $fd
    }

    test {After a replica has begun to replace its data, it asks for a full synchronization} {
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+FULLRESYNC $::id_b 5\r\n\$14\r\nREDIS0011\xfe\xfe\xfe\xfe\xfe"
        set next [primary_accept]
        assert_equal {PSYNC ? -1} [primary_greet $next]
        close $fd
        close $next
        r replicaof no one
    }

    test {REPLICAOF another primary unblocks clients with an error} {
        r replicaof 127.0.0.1 $port
        set blocked [valkey_client]
        $blocked write [resp::encode {xread block 0 streams s $}]
        wait_for_condition 100 25 {[s blocked_clients] == 1} else { fail "not blocked" }
        r replicaof 127.0.0.1 [expr {$port ^ 1}]
        assert_error "UNBLOCKED force unblock from blocking operation*" {$blocked read}
        part {}
    }

    test {Expired keys that are not deleted yet can be inspected} {
        r debug set-active-expire 0
        r set over value px 1
        after 20
        r replicaof 127.0.0.1 $port
        assert_equal {} [r get over]
        assert_match "Value at:*encoding:embstr*" [r debug object over]
        assert_morethan [r memory usage over] 8
        assert_not_equal [string repeat 0 40] [r debug digest-value over]
        part {}
        r debug set-active-expire 1
    }

    test {Errors in the stream are logged, those with a code of their own with the code} {
        set fd [up_at $port]
        set from [log_end 0]
        primary_send $fd [command SELECT 0][command SET s x][command LPUSH s 1][command SET s x nonsense][command INCR s]
        assert_in_order $from 0 {"*sending an error to its primary: '-WRONGTYPE Operation*' after processing the command 'lpush'"
            "*primary: '-ERR syntax error' after*'set'" "*primary: 'value is not an integer or out of range' after*'incr'"}
        part $fd
    }

    test {tls-replication needs a certificate} {
        if {[llength [r config get tls-cert-file]] == 0} { skip "built without TLS" }
        assert_error "ERR CONFIG SET failed (possibly related to argument 'tls-replication') - Unable to update TLS configuration. Check server logs." {
            r config set tls-replication yes
        }
        assert_equal no [config_get tls-replication]
        wait_for_log "*tls-cert-file is not set"
    }
    primary_close
}
}
