# What a primary sends to its replicas, and what it receives from them. The replicas are sockets (primary_util.tcl).
source [file join [file dirname [info script]] primary_util.tcl]

set none [string repeat 0 40]

start_server {overrides {save {} repl-diskless-sync-delay 0 repl-ping-replica-period 1000} tags {replication external:skip}} {
    test {REPLCONF takes its options one after the other, up to the first that is wrong} {
        foreach {words error} {
            {a} "ERR syntax error" {listening-port x} "ERR value is not an integer or out of range"
            {version 9.1} "ERR Unrecognized version format: 9.1" {version 9.1.2.3} "ERR Unrecognized version format: 9.1.2.3"
            {version 256.1.1} "ERR Unrecognized version format: 256.1.1" {version 9.1.2x} "ERR Unrecognized version format: 9.1.2x"
            {version +9.1.2} "ERR Unrecognized version format: +9.1.2"
            {rdb-only 2} "ERR value is out of range, value must between 0 and 1" {rdb-only x} "ERR value is not an integer*"
            {rdb-channel 3} "ERR value is out of range, value must between 0 and 1"
            {rdb-filter-only {foo bar}} "ERR Unsupported rdb-filter-only option: foo"
            {rdb-filter-only {"functions}} "ERR Missing rdb-filter-only values"
            {set-rdb-client-id 77} "ERR Unrecognized RDB client id 77" {set-rdb-client-id x} "ERR value is not an integer*"
            {set-cluster-node-id 77} "ERR This instance has cluster support disabled"
            {nosuch 1} "ERR Unrecognized REPLCONF option: nosuch" {capa eof nosuch 1} "ERR Unrecognized REPLCONF option: nosuch"
        } {
            assert_error $error {r replconf {*}$words} $words
        }
        assert_error "ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes" {
            r replconf ip-address [string repeat a 256]
        }
        foreach words {{} {capa nosuch} {version ..} {version 0.0.255} {listening-port -5} {LISTENING-PORT 1 capa EOF}} {
            assert_equal OK [r replconf {*}$words] $words
        }
        assert_equal OK [r replconf ip-address [string repeat a 255]]
        assert_equal 0 [s connected_slaves]
    }

    test {REPLCONF ACK has no reply, and no effect from a client that is no replica} {
        foreach words {{ack 7} {ack x} {getack *} {ack 7 nosuch 1} {listening-port 1 getack * nosuch 2}} {
            r write [resp::encode [list replconf {*}$words]][resp::encode [list echo $words]]
            assert_equal $words [r read]
        }
    }

    test {SYNC and PSYNC: refused requests} {
        foreach {words error} {
            {psync ? x} "ERR value is not an integer or out of range" {psync ?} "ERR wrong number of arguments*"
            {psync ? -1 FAILOVER} "ERR PSYNC FAILOVER can't be sent to a master."
        } {
            set c [valkey_client]
            assert_error $error {$c {*}$words} $words
            $c close
        }
        set c [valkey_client]
        $c write "PING\r\nSYNC\r\n"
        assert_equal PONG [$c read]
        assert_error "ERR SYNC and PSYNC are invalid with pending output" {$c read}
        assert_equal OK [$c replconf rdb-filter-only ""]
        assert_error "ERR Filtered replica requires EOF capability" {$c sync}
        assert_error "ERR Unsupported rdb-filter-only option: x" {$c replconf rdb-filter-only x}
        assert_error "ERR Filtered replica requires EOF capability" {$c sync}
        $c multi
        assert_error "ERR Command 'psync' not allowed inside a transaction" {$c psync ? -1}
        $c close
        assert_equal 0 [s sync_full]
    }

    test {the first replica gives the history a name and a backlog} {
        set before [s master_replid]
        assert_equal 0 [s repl_backlog_active]
        r set before 1
        assert_equal 0 [s master_repl_offset]
        set f [follower_connect]
        set answer [follower_sync $f]
        assert_match "+FULLRESYNC ???????????????????????????????????????? 0" [dict get $answer reply]
        assert_equal [s master_replid] [dict get $answer id]
        assert_not_equal $before [s master_replid]
        assert_equal $none [s master_replid2]
        assert_match VALKEY080* [dict get $answer snapshot]
        assert_match "*before*" [dict get $answer snapshot]
        assert_equal {1 1 1} [list [s repl_backlog_active] [s repl_backlog_first_byte_offset] [s sync_full]]
        wait_for_log "The replication backlog is created; the replication IDs are '[s master_replid]' and '$none'"
        wait_for_log "Replica 127.0.0.1:7001 requests a synchronization"
        wait_for_log "Replica 127.0.0.1:7001 requests a full synchronization"
        wait_for_log "Replica 127.0.0.1:7001 is synchronized"
    }

    test {the stream starts with a PING, so that its offset is not 0} {
        assert_equal ping [follower_next $f]
        assert_equal 14 [s master_repl_offset]
    }

    test {commands are sent unchanged, with a SELECT when the database changes} {
        r set a 1
        r Set b 2
        r write "SET c inline\r\n"
        r read
        r select 3
        r incrby n 5
        r select 0
        r incr n
        assert_equal {{SELECT 0} {set a 1} {Set b 2} {SET c inline} {SELECT 3} {incrby n 5} {SELECT 0} {incr n}} \
            [follower_until $f {incr n}]
        r get a
        r multi
        r set d 1
        r get d
        r lpush l x
        r exec
        assert_equal {MULTI {set d 1} {lpush l x} EXEC} [follower_until $f EXEC]
        r set big [string repeat x 100000]
        r mset big1 [string repeat y 50000] small 1 big2 [string repeat z 50000]
        assert_equal [list set big [string repeat x 100000]] [follower_next $f]
        assert_equal [list mset big1 [string repeat y 50000] small 1 big2 [string repeat z 50000]] [follower_next $f]
    }

    test {every byte has its offset} {
        assert_equal $::follower_offset($f) [s master_repl_offset]
        assert_equal $::follower_offset($f) [s repl_backlog_histlen]
    }

    test {INFO, ROLE and CLIENT LIST name the replica, with what it has acknowledged} {
        assert_equal 1 [s connected_slaves]
        assert_equal 0 [replica_field 0 offset]
        follower_ack $f
        wait_for_condition 100 20 {[replica_field 0 offset] == $::follower_offset($f)} else { fail "no ACK" }
        assert_match "ip=127.0.0.1,port=7001,state=online,offset=$::follower_offset($f),lag=\[01\],type=replica" [status_line 0 slave0]
        assert_equal [list master [s master_repl_offset] [list [list 127.0.0.1 7001 $::follower_offset($f)]]] [r role]
        set fields [r info replication]
        assert_match "*role:*connected_slaves:1*slave0:*replicas_waiting_psync:0*master_failover_state:*master_replid:*repl_backlog_histlen:*" $fields
        set line [r client list type replica]
        assert_match "* flags=SH *cmd=replconf *" $line
        assert_equal $line [r client list type slave]
        assert_no_match "*flags=S*" [r client list type normal]
    }

    test {acknowledged offsets only grow} {
        $f write [resp::encode {REPLCONF ACK 5}]
        $f write [resp::encode {REPLCONF ACK x}]
        $f write [resp::encode {REPLCONF ACK -1}]
        r ping
        after 50
        assert_equal $::follower_offset($f) [replica_field 0 offset]
    }

    test {the address that a replica announces takes precedence over its connection's} {
        set g [follower_connect {capa eof version 9.1.2 ip-address replica.example listening-port 7002}]
        follower_sync $g
        assert_match "ip=replica.example,port=7002,state=online*" [status_line 0 slave1]
        assert_match "*{replica.example 7002 *}" [lindex [r role] 2]
        wait_for_log "Replica replica.example:7002 requests a synchronization"
        $g close
        wait_for_log "Connection with replica replica.example:7002 lost."
        wait_for_condition 100 20 {[s connected_slaves] == 1} else { fail "it is still there" }
    }

    test {a replica that reconnects continues where it was} {
        set id [s master_replid]
        r set x 1
        follower_until $f {set x 1}
        set from [expr {$::follower_offset($f) + 1}]
        $f close
        wait_for_condition 100 20 {[s connected_slaves] == 0} else { fail "it is still there" }
        r set y 2
        r set z 3
        set ok [s sync_partial_ok]
        foreach {name answer} [list $id "+CONTINUE $id" [string toupper $id] "+CONTINUE $id"] {
            set f [follower_connect]
            assert_equal $answer [dict get [follower_sync $f $name $from] reply]
            assert_equal {{set y 2} {set z 3}} [follower_until $f {set z 3}]
            wait_for_log "Replica 127.0.0.1:7001 resynchronizes partially: it gets 54 bytes of the backlog from offset $from on"
            assert_equal online [replica_field 0 state]
            $f close
            wait_for_condition 100 20 {[s connected_slaves] == 0} else { fail "it is still there" }
        }
        assert_equal [expr {$ok + 2}] [s sync_partial_ok]
        set f [follower_connect {capa eof}]
        assert_equal "+CONTINUE" [dict get [follower_sync $f $id [expr {[s master_repl_offset] + 1}]] reply]
        r set w 4
        assert_equal {set w 4} [follower_next $f] "nothing was missed, and no SELECT is needed"
    }

    test {PSYNC from any offset in the backlog gives the same bytes} {
        set id [s master_replid]
        set whole {}
        foreach from [list 1 2 15 20000 [expr {[s master_repl_offset] - 100000}] [s master_repl_offset]] {
            set g [follower_connect]
            follower_sync $g $id $from
            set bytes [$g rawread [expr {[s master_repl_offset] - $from + 1}]]
            if {$whole eq {}} { set whole $bytes }
            assert {[string range $whole [expr {$from - 1}] end] eq $bytes} "from $from"
            $g close
        }
    }

    test {PSYNC from outside of the backlog gives a full synchronization} {
        set id [s master_replid]
        set end [s master_repl_offset]
        set refused [s sync_partial_err]
        foreach {name offset counts log} [list \
            $id [expr {$end + 2}] 1 "Unable to partial resync with replica 127.0.0.1:7001 for lack of backlog (Replica request was $id:[expr {$end + 2}], and I can only reply with the range *1, [expr {$end + 1}]*)." \
            $id 0 1 "for lack of backlog (Replica request was $id:0, and*" $id -1 1 "for lack of backlog (Replica request was $id:-1, and*" \
            [string repeat f 40] 1 1 "Partial resynchronization refused: the replica asks for replication ID '[string repeat f 40]', but this server's are '$id' and '$none'" \
            $none 1 1 "Partial resynchronization refused: the replica asks for offset 1 of the former replication ID, which is valid up to -1" \
            x 1 1 "the replica asks for replication ID 'x'*" ? 1 0 "Replica 127.0.0.1:7001 requests a full synchronization"] {
            set from [llength [log_lines]]
            set g [follower_connect]
            assert_equal "+FULLRESYNC $id $end" [dict get [follower_sync $g $name $offset] reply] "$name $offset"
            wait_for_log $log [expr {$from - 1}]
            assert_equal [incr refused $counts] [s sync_partial_err]
            $g close
        }
    }

    test {an unknown fourth argument of PSYNC is ignored} {
        set g [follower_connect]
        $g write "PSYNC [s master_replid] [expr {[s master_repl_offset] + 1}] nosuch\r\n"
        assert_equal "+CONTINUE [s master_replid]" [$g rawread]
        $g close
    }

    test {PSYNC from a replica that is online has no effect} {
        set full [s sync_full]
        $f write "PSYNC ? -1\r\nSYNC\r\n"
        r set again 1
        follower_until $f {set again 1}
        assert_equal [list $full 1] [list [s sync_full] [s connected_slaves]]
    }

    test {SYNC: a snapshot, and the stream} {
        set g [valkey_client]
        $g write "SYNC\r\n"
        assert_match "*before*" [follower_snapshot $g]
        assert_match "ip=127.0.0.1,port=0,state=online,offset=0,lag=*,type=replica" [status_line 0 slave1]
        r set sync 1
        assert_equal SELECT [lindex [$g read] 0]
        assert_equal {set sync 1} [$g read]
        $g close
    }

    test {rdb-only: nothing follows the snapshot} {
        set g [follower_connect {capa eof rdb-only 1}]
        $g write "SYNC\r\n"
        follower_snapshot $g
        assert_equal {} [$g rawread 1]
        assert [eof [$g channel]]
        wait_for_log "127.0.0.1:<unknown-replica-port> has received the snapshot, which is all it asked for, and should disconnect now"
        $g close
    }

    test {replicas are cut by CLIENT KILL TYPE} {
        assert_equal 0 [r client kill type primary]
        assert_equal 1 [r client kill type replica]
        assert [follower_gone $f]
        $f close
        assert_equal 0 [s connected_slaves]
    }
}

# A replica's commands get no replies. A client whose command has a reply is no replica.
start_server {overrides {save {} repl-diskless-sync-delay 0} tags {replication external:skip}} {
    test {a replica that sends a command with a reply is disconnected} {
        foreach {command error} {
            {ping} {} {info} {} {replconf capa eof} {} {multi} {}
            {get k} "Replica can't interact with the keyspace" {set k v} "Replica can't interact with the keyspace"
            {nosuch} "unknown command 'nosuch', with args beginning with: "
        } {
            set f [follower_connect]
            follower_sync $f
            set from [llength [log_lines]]
            set errors [s unexpected_error_replies]
            $f write [resp::encode $command]
            assert [follower_gone $f] $command
            set name [expr {$command eq {nosuch} ? {<unknown>} : [lindex $command 0]}]
            wait_for_log "Replica generated a reply to command '$name', disconnecting it: id=*flags=S*" [expr {$from - 1}]
            if {$error ne {}} {
                wait_for_log "== CRITICAL == This primary is sending an error to its replica: '$error' after processing the command '$name'" [expr {$from - 1}]
            }
            assert_equal [expr {$errors + ($error ne {})}] [s unexpected_error_replies]
            $f close
        }
        assert_equal 0 [r exists k]
        assert_equal OK [r set k v]
    }

    test {repl-backlog-ttl: without replicas the backlog is freed, and the ID changes} {
        wait_for_condition 100 20 {[s connected_slaves] == 0} else { fail "there are replicas" }
        set id [s master_replid]
        set offset [s master_repl_offset]
        after 1500
        assert_equal 1 [s repl_backlog_active]
        config_set repl-backlog-ttl 1
        wait_for_condition 50 100 {![s repl_backlog_active]} else { fail "it is still there" }
        wait_for_log "The replication backlog is freed, as no replica has been connected for 1 seconds"
        assert_not_equal $id [s master_replid]
        assert_equal [list 0 0 $offset] [list [s repl_backlog_first_byte_offset] [s repl_backlog_histlen] [s master_repl_offset]]
        assert_equal {0 0} [list [s mem_replication_backlog] [s mem_total_replication_buffers]]
        r set k w
        assert_equal $offset [s master_repl_offset]
        set f [follower_connect]
        assert_match "+FULLRESYNC * $offset" [dict get [follower_sync $f $id [expr {$offset + 1}]] reply]
        $f close
    }
}
