# The link of a replica to its primary, seen from the primary's side.
source [file join [file dirname [info script]] link_util.tcl]
tags {replication external:skip needs:debug} {

set port [primary_listen]

start_server {} {
    test {A replica announces itself, and asks to continue its own history} {
        assert_equal {master 0 {}} [r role]
        set id [s master_replid]
        assert_equal OK [r replicaof 127.0.0.1 $port]
        set fd [primary_accept]
        assert_equal PING [primary_receive $fd]
        assert_match {slave 127.0.0.1 * handshake -1} [r role]
        primary_send $fd "+PONG\r\n"
        # All requests are sent without waiting for replies.
        assert_equal [list REPLCONF listening-port [srv port]] [primary_receive $fd]
        assert_equal {REPLCONF capa eof capa psync2 capa stream-idmp} [primary_receive $fd]
        assert_equal {REPLCONF version 9.2.0} [primary_receive $fd]
        primary_send $fd "+OK\r\n+OK\r\n-ERR Unrecognized REPLCONF option: version\r\n"
        assert_equal [list PSYNC $id 1] [primary_receive $fd]
        wait_for_log "*The primary does not know REPLCONF VERSION, which does no harm:*"
        assert_equal down [s master_link_status]
        assert_equal -1 [s master_link_down_since_seconds]
    }

    test {A snapshot, then the stream: offsets, role, and one acknowledgement at once} {
        primary_send $fd "\n\n" ;# it is busy, and alive
        primary_sync $fd $::id_a 1000 {k1 v1 k2 v2}
        assert_equal {REPLCONF ACK 1000} [primary_receive $fd]
        assert_equal {slave 127.0.0.1} [lrange [r role] 0 1]
        assert_equal {connected 1000} [lrange [r role] 3 4]
        assert_equal {up 0 1000 1000} [list [s master_link_status] [s master_sync_in_progress] [s slave_repl_offset] [s master_repl_offset]]
        assert_equal $::id_a [s master_replid]
        assert_equal {v1 v2} [r mget k1 k2]
        set stream [command SELECT 0][command set k1 changed][command INCR n]
        primary_send $fd $stream
        wait_for_offset [expr {1000 + [string length $stream]}]
        assert_equal {changed 1} [r mget k1 n]
        assert_match {*flags=M * user=(superuser) *} [r client list type primary]
    }

    test {GETACK replies the offset before it, and no other command has a reply} {
        set at [s master_repl_offset]
        set ask [command REPLCONF GETACK *]
        primary_send $fd [command PING]$ask
        set at [expr {$at + [string length [command PING]]}]
        wait_for_condition 20 50 {[lindex [set heard [primary_receive $fd]] 2] == $at} else { fail "heard $heard" }
        assert_equal [list REPLCONF ACK $at] $heard
        incr at [string length $ask]
        assert_equal [list REPLCONF ACK $at] [primary_receive $fd] "with the next tick"
    }

    test {A transaction counts for the offset when it has ended} {
        set at [s master_repl_offset]
        set half [command MULTI][command INCR n][command SET in multi]
        primary_send $fd $half
        after 100
        assert_equal "$at 1 {}" [list [s master_repl_offset] [r get n] [r get in]]
        primary_send $fd [command EXEC]
        wait_for_offset [expr {$at + [string length $half[command EXEC]]}]
        assert_equal {2 multi} [r mget n in]
    }

    test {Big arguments, in pieces} {
        set at [s master_repl_offset]
        set big [command SET big [string repeat x 100000]][command APPEND big [string repeat y 40000]]
        foreach {from to} {0 50 51 40000 40001 99999 100000 end} {
            primary_send $fd [string range $big $from $to]
            after 20
        }
        wait_for_offset [expr {$at + [string length $big]}]
        assert_equal 140000 [r strlen big]
    }

    test {An error of the stream is logged and counted, and the stream goes on} {
        primary_send $fd [command LPUSH n x][command NOSUCH a][command SET behind it]
        wait_for_condition 50 50 {[r get behind] eq "it"} else { fail "stopped" }
        wait_for_log "*== CRITICAL == This replica is sending an error to its primary: '-WRONGTYPE*after processing the command 'lpush'*"
        assert_equal 2 [s unexpected_error_replies]
    }

    test {A link that is cut in a transaction continues before the transaction} {
        set at [s master_repl_offset]
        primary_send $fd [command MULTI][command SET half done]
        after 100
        close $fd
        wait_for_log "*The state of the lost primary is kept for a partial resynchronization*"
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a [expr {$at + 1}]] [primary_greet $fd]
        assert_morethan_equal [s master_link_down_since_seconds] 0
        primary_send $fd "+CONTINUE\r\n[command SET whole done]"
        wait_for_offset [expr {$at + [string length [command SET whole done]]}]
        assert_equal {{} done} [r mget half whole]
        assert_equal [list up $::id_a] [list [s master_link_status] [s master_replid]]
    }

    test {The database that was selected is remembered} {
        primary_send $fd [command SELECT 5][command SET five 1]
        wait_for_condition 50 50 {[llength [r info keyspace]] && [string match *db5:* [r info keyspace]]} else { fail "no db5" }
        close $fd
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+CONTINUE\r\n[command SET five 2]"
        r select 5
        wait_for_condition 50 50 {[r get five] == 2} else { fail "another database" }
        r select 0
    }

    test {A primary under another name: ours becomes the second} {
        set at [s master_repl_offset]
        close $fd
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+CONTINUE $::id_b\r\n"
        wait_for_condition 50 50 {[s master_link_status] eq "up"} else { fail "down" }
        assert_equal [list $::id_b $::id_a [expr {$at + 1}]] [list [s master_replid] [s master_replid2] [s second_repl_offset]]
        wait_for_log "*The primary's replication ID has changed to $::id_b*"
    }

    test {A protocol error in the stream ends the link, and nothing behind it is applied} {
        primary_send $fd "hello there\r\n"
        wait_for_log "*Receiving inline protocol from primary*"
        set fd [primary_accept]
        assert_equal {PSYNC ? -1} [primary_greet $fd]
        primary_sync $fd $::id_a 5
        wait_for_condition 50 50 {[s master_link_status] eq "up"} else { fail "down" }
        primary_send $fd "*2\r\nabc\r\n"
        wait_for_log "*Protocol error*from primary*"
        set fd [primary_accept]
        assert_equal {PSYNC ? -1} [primary_greet $fd]
    }

    test {After -NOMASTERLINK or -LOADING the replica asks again} {
        foreach answer {{-NOMASTERLINK Can't SYNC while not connected with my master} {-LOADING wait}} {
            primary_send $fd "$answer\r\n"
            set fd [primary_accept]
            primary_greet $fd
        }
        assert_morethan_equal [count_log_message "*The primary cannot synchronize replicas at the moment: -*"] 2
        close $fd
        set fd [primary_accept]
        primary_receive $fd
        primary_send $fd "-LOADING wait\r\n"
        set fd [primary_accept]
        wait_for_log "*The primary answered PING with an error: '-LOADING wait'*"
        primary_receive $fd
        primary_send $fd "-NOAUTH a password, please\r\n"
        assert_equal REPLCONF [lindex [primary_receive $fd] 0]
        close $fd
    }

    test {A primary at an offset that could not grow is refused} {
        r replicaof 127.0.0.1 $port
        set fd [primary_accept]
        primary_greet $fd
        foreach offset {4611686018427387904 9223372036854775807} {
            primary_send $fd "+FULLRESYNC $::id_a $offset\r\n"
            wait_for_log "*The primary names an offset that is too large, $offset: no synchronization.*"
            set fd [primary_accept]
            primary_greet $fd
        }
        primary_sync $fd $::id_a 4611686018427387903 {k v}
        primary_send $fd [command SET k w]
        wait_for_condition 100 50 {[r get k] eq "w"} else { fail "no stream" }
        assert_equal OK [r save]
        close $fd
    }

    test {A primary without PSYNC is asked with SYNC, and gets no acknowledgements} {
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "-ERR unknown command 'PSYNC'\r\n"
        assert_equal SYNC [primary_receive $fd]
        set rdb [snapshot {old primary}]
        primary_send $fd "\$[string length $rdb]\r\n$rdb[command SET old style]"
        wait_for_condition 100 50 {[r get old] eq "style"} else { fail "no stream" }
        fconfigure $fd -blocking 0
        after 1200
        assert_equal {} [string trim [read $fd]]
        close $fd
        set fd [primary_accept]
        assert_equal {PSYNC ? -1} [primary_greet $fd]
        close $fd
    }

    test {Promotion: the history continues under a new ID} {
        set fd [primary_accept]
        primary_greet $fd
        primary_sync $fd $::id_a 500
        wait_for_condition 100 50 {[s master_link_status] eq "up"} else { fail "down" }
        assert_equal OK [r replicaof no one]
        assert_equal OK [r replicaof no one]
        assert_equal [list master $::id_a 501 500] [list [s role] [s master_replid2] [s second_repl_offset] [s master_repl_offset]]
        assert_not_equal $::id_a [s master_replid]
        wait_for_log "*This server is now a primary (requested by 'id=*"
        assert_equal {REPLCONF ACK 500} [primary_receive $fd]
        assert_equal {{}} [primary_receive $fd] "the connection has ended"
        close $fd
        r set mine 1
        set wrote [string length [command SELECT 0][command set mine 1]]
        assert_equal [expr {500 + $wrote}] [s master_repl_offset]
        set id [s master_replid]
        r replicaof 127.0.0.1 $port
        set fd [primary_accept]
        assert_equal [list PSYNC $id [expr {501 + $wrote}]] [primary_greet $fd]
        primary_send $fd "+CONTINUE $::id_b\r\n[command SELECT 0][command SET mine 2]"
        wait_for_condition 100 50 {[r get mine] == 2} else { fail "no stream" }
        wait_for_log "*This primary becomes a replica and keeps its own replication history*"
        part $fd
    }

    test {Arguments of REPLICAOF} {
        assert_error "ERR Invalid master port*" { r replicaof 127.0.0.1 x }
        assert_error "ERR Invalid master port*" { r replicaof 127.0.0.1 65536 }
        assert_equal OK [r slaveof no one]
        r replicaof 127.0.0.1 $port
        assert_equal {OK Already connected to specified master} [r replicaof 127.0.0.1 $port]
        assert_equal "127.0.0.1 $port" [config_get replicaof]
        assert_error "*replicaof*" { r config set replicaof {127.0.0.1 1} }
        r config rewrite
        assert_match "*replicaof 127.0.0.1 $port*" [read_file [s config_file]]
        part {}
        r config rewrite
        assert_no_match "*replicaof*" [read_file [s config_file]] "9.1.2 does not start from a line without an address"
    }
}

start_server {overrides {bind-source-addr 127.0.0.9 masterauth secret masteruser me replica-announce-ip 10.9.8.7 replica-announce-port 77}} {
    test {primaryuser and primaryauth, and the announced address} {
        r replicaof 127.0.0.1 $port
        set fd [primary_accept]
        assert_equal 127.0.0.9 [lindex [fconfigure $fd -peername] 0]
        primary_receive $fd
        primary_send $fd "-NOAUTH Authentication required.\r\n"
        assert_equal {AUTH me secret} [primary_receive $fd]
        assert_equal {REPLCONF listening-port 77} [primary_receive $fd]
        assert_equal {REPLCONF ip-address 10.9.8.7} [primary_receive $fd]
        primary_send $fd "-WRONGPASS no\r\n"
        wait_for_log "*Unable to AUTH to PRIMARY: -WRONGPASS no*"
        config_set primaryuser ""
        set fd [primary_accept]
        primary_receive $fd
        primary_send $fd "+PONG\r\n"
        assert_equal {AUTH secret} [primary_receive $fd]
        part $fd
    }
}

start_server {overrides {repl-timeout 2}} {
    test {A silent primary is disconnected: in the handshake, and later} {
        r replicaof 127.0.0.1 $port
        set fd [primary_accept]
        primary_receive $fd
        wait_for_log "*Connecting to the primary took longer than repl-timeout*"
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+FULLRESYNC $::id_a 7\r\n\$1000\r\nREDIS"
        wait_for_log "*Nothing of the snapshot has come from the primary for repl-timeout.*"
        set fd [primary_accept]
        primary_greet $fd
        primary_sync $fd
        wait_for_log "*Neither data nor a PING has come from the primary for repl-timeout*"
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a 101] [primary_greet $fd]
        part $fd
    }
}

start_server {overrides {busy-reply-threshold 20}} {
    test {While a script takes long, the stream waits} {
        set fd [up_at $port]
        set busy [valkey_deferring_client]
        $busy eval {while redis.call('exists', 'from') == 0 do end} 0
        after 200
        primary_send $fd [command SET from stream][command PING]
        after 200
        assert_error "BUSY*" { r get from }
        r script kill
        wait_for_condition 100 50 {[r get from] eq "stream"} else { fail "it never came" }
        wait_for_offset [expr {100 + [string length [command SET from stream][command PING]]}]
        catch {$busy read}
        $busy close
        part $fd
    }
}

start_server {overrides {dual-channel-replication-enabled yes}} {
    test {Two connections: the stream is kept until the snapshot is there} {
        r replicaof 127.0.0.1 $port
        set main [primary_accept]
        primary_greet $main
        primary_send $main "+DUALCHANNELSYNC\r\n"
        set rdb [primary_accept]
        assert_equal [list REPLCONF capa eof capa stream-idmp rdb-only 1 rdb-channel 1 listening-port [srv port] version 9.2.0] [primary_receive $rdb]
        primary_send $rdb "+OK\r\n"
        assert_equal SYNC [primary_receive $rdb]
        assert_equal {handshake 0} [list [lindex [r role] 3] [s master_sync_in_progress]]
        primary_send $rdb "\$ENDOFF:300 $::id_a 2 17\r\n"
        assert_equal {REPLCONF set-rdb-client-id 17} [primary_receive $main]
        primary_send $main "+OK\r\n"
        assert_equal [list PSYNC $::id_a 301] [primary_receive $main]
        primary_send $main "+CONTINUE $::id_a\r\n[command SET in two]"
        wait_for_condition 100 50 {[s replicas_repl_buffer_size] == [string length [command SET in two]]} else { fail "not kept" }
        assert_morethan [s mem_replicas_repl_buffer] 0
        assert_equal {1 down sync} [list [s master_sync_in_progress] [s master_link_status] [lindex [r role] 3]]
        set mark [string repeat e 40]
        primary_send $rdb "\$EOF:$mark\r\n[snapshot {from snapshot}]$mark"
        assert_equal [list REPLCONF ACK [expr {300 + [string length [command SET in two]]}]] [primary_receive $main]
        assert_equal snapshot [r get from]
        r select 2
        assert_equal two [r get in]
        r select 0
        assert_equal {} [read $rdb]
        assert_equal [list 0 [string length [command SET in two]]] [list [s replicas_repl_buffer_size] [s replicas_repl_buffer_peak]]
    }

    # Up to the request for the stream, on the main connection; the snapshot is at offset 300.
    proc dual_opening {} {
        set main [primary_accept]
        primary_greet $main
        primary_send $main "+DUALCHANNELSYNC\r\n"
        set rdb [primary_accept]
        primary_receive $rdb
        dual_offer $main $rdb
        return [list $main $rdb]
    }
    proc dual_offer {main rdb} {
        primary_send $rdb "+OK\r\n"
        primary_receive $rdb
        primary_send $rdb "\$ENDOFF:300 $::id_a -1 17\r\n"
        primary_receive $main
        primary_send $main "+OK\r\n"
        primary_receive $main
    }

    test {Two connections: an invalid offset is refused} {
        close $main
        foreach place [list "4611686018427387904 $::id_a 2 17" "300 $::id_a 2147483648 17" "300 $::id_a -2 17"] {
            set main [primary_accept]
            primary_greet $main
            primary_send $main "+DUALCHANNELSYNC\r\n"
            set rdb [primary_accept]
            primary_receive $rdb
            primary_send $rdb "+OK\r\n"
            primary_receive $rdb
            primary_send $rdb "\$ENDOFF:$place\r\n"
            assert_equal {} [read $rdb]
        }
        set main [primary_accept]
        primary_greet $main
    }

    test {Two connections: the local buffer may stay empty} {
        close $main
        lassign [dual_opening] main rdb
        primary_send $main "+CONTINUE $::id_a\r\n"
        after 100
        primary_send $rdb "\$EOF:$mark\r\n[snapshot {from snapshot}]$mark"
        assert_equal {REPLCONF ACK 300} [primary_receive $main]
        close $rdb
    }

    test {The local buffer has a limit; the rest stays with the primary} {
        foreach {name limit} {client-output-buffer-limit {replica 100000 0 0} replica-full-sync-buffer-limit 100000} {
            set old [config_get $name]
            config_set $name $limit
            close $main
            lassign [dual_opening] main rdb
            set stream [string repeat [command INCR n][command SET k [string repeat v 1000]] 300]
            primary_send $main "+CONTINUE $::id_a\r\n$stream"
            wait_for_log "*the buffer is full (*, so what follows stays with the primary for now*"
            wait_for_condition 100 20 {[s replicas_repl_buffer_size] >= 100000} else { fail "$name: [s replicas_repl_buffer_size]" }
            assert_morethan_equal 180000 [s replicas_repl_buffer_size] $name
            primary_send $rdb "\$EOF:$mark\r\n[snapshot {from snapshot}]$mark"
            wait_for_offset [expr {300 + [string length $stream]}]
            assert_equal {300 1000} [list [r get n] [r strlen k]] $name
            close $rdb
            config_set $name $old
        }
    }

    test {When one of the connections fails, the synchronization starts again} {
        close $main
        foreach which {rdb main refused} {
            set main [primary_accept]
            primary_greet $main
            primary_send $main "+DUALCHANNELSYNC\r\n"
            set rdb [primary_accept]
            primary_receive $rdb
            switch $which {
                rdb { close $rdb }
                refused { primary_send $rdb "-ERR Unrecognized REPLCONF option: rdb-channel\r\n" }
                main {
                    dual_offer $main $rdb
                    primary_send $main "+CONTINUE $::id_a\r\n"
                    primary_send $rdb "\$EOF:[string repeat e 40]\r\nREDIS"
                    close $main
                }
            }
        }
        part [primary_accept]
    }
}

start_server {overrides {appendonly yes appendfsync everysec}} {
    test {Applied bytes are not acknowledged as synced before they are} {
        set fd [up_at $port]
        wait_for_condition 100 50 {[s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0} else { fail "the file is not there" }
        primary_send $fd [command SELECT 0]
        # A second passes between the syncs of the file.
        for {set tries 20; set synced 1; set applied 0} {$synced >= $applied && $tries} {incr tries -1} {
            primary_send $fd [command INCR n][command REPLCONF GETACK *]
            lassign [primary_receive $fd] - - applied - synced
        }
        assert_lessthan $synced $applied
        set all [s master_repl_offset]
        while {$synced < $all} {
            assert_match {REPLCONF ACK * FACK *} [set heard [primary_receive $fd]]
            lassign $heard - - applied - synced
        }
        assert_equal $applied $synced
        part $fd
    }
}

start_server {} {
    test {After a restart a replica continues from its file} {
        set fd [up_at $port]
        primary_send $fd [command SELECT 3][command SET k v]
        wait_for_offset [set at [expr {100 + [string length [command SELECT 3][command SET k v]]}]]
        r config rewrite
        r save
        restart_server
        close $fd
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a [expr {$at + 1}]] [primary_greet $fd]
        primary_send $fd "+CONTINUE\r\n[command SET k w]"
        r select 3
        wait_for_condition 100 50 {[r get k] eq "w"} else { fail "another database" }
        part $fd
        r config rewrite
    }

    test {After a restart a primary can continue with its old replicas, under a new ID} {
        r select 0
        r set gone 1 px 300
        r set stays 1
        r save
        set id [s master_replid]
        set at [s master_repl_offset]
        after 400
        restart_server 0 KILL
        assert_equal [list $id [expr {$at + 1}] 1] [list [s master_replid2] [s second_repl_offset] [s repl_backlog_active]]
        set del [string length [command SELECT 0][command UNLINK gone]]
        assert_equal [expr {$at + $del}] [s master_repl_offset] "what had expired is told"
        assert_equal {{} 1} [r mget gone stays]
    }
}

foreach behavior {panic panic-on-replicas} {
    start_server [list crash 1 overrides [list propagation-error-behavior $behavior]] {
        test "propagation-error-behavior stops a replica at the first error of its stream, unless it is writable ($behavior)" {
            r config set replica-read-only no
            set fd [up_at $port]
            set pid [srv pid]
            primary_send $fd [command SET s 1][command LPUSH s 2][command SET behind 1]
            wait_for_condition 100 50 {[r get behind] eq 1} else { fail "it has ended" }
            r config set replica-read-only yes
            primary_send $fd [command LPUSH s 2]
            wait_for_condition 100 50 {![file exists /proc/$pid]} else { fail "it goes on" }
        }
    }
}

primary_close
}

test {A file with an offset that could not grow: the server starts at 0} {
    foreach {offset expected} {4611686018427387903 4611686018427387903 4611686018427387904 0 9223372036854775807 0 -5 0} {
        set dir $::work_dir/offset.[incr ::server_count]
        file mkdir $dir
        set f [open $dir/dump.rdb wb]
        puts -nonewline $f "REDIS0011\xfa\x07repl-id\x28$::id_a\xfa\x0brepl-offset[format %c [string length $offset]]$offset\xff[string repeat \x00 8]"
        close $f
        start_server [list overrides [list dir $dir]] {
            assert_equal $expected [s master_repl_offset] $offset
            assert_equal OK [r save]
        }
    }
}
