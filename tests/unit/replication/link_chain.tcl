# A replica with sub-replicas: what it passes on, and when these have to reconnect.
source [file join [file dirname [info script]] link_util.tcl]
tags {replication external:skip needs:debug} {

set port [primary_listen]

# A replica of the server, in the middle of the stream.
proc sub_replica {id from} {
    set c [valkey_deferring_client]
    $c replconf capa psync2
    assert_equal OK [$c read]
    $c psync $id $from
    assert_match "CONTINUE*" [$c read]
    return $c
}

start_server {} {
    set fd [up_at $port 100]
    set sub [sub_replica $::id_a 101]

    test {The primary's bytes are passed on unchanged, a transaction when it has ended} {
        set one [command sEt k v][command SELECT 3][command set n 1]
        primary_send $fd $one
        assert_equal $one [$sub rawread [string length $one]]
        set half [command multi][command incr n]
        primary_send $fd $half
        after 100
        assert_equal 0 [$sub pending]
        primary_send $fd [command exec]
        assert_equal $half[command exec] [$sub rawread [string length $half[command exec]]]
        assert_equal [s master_repl_offset] [expr {100 + [string length $one$half[command exec]]}]
    }

    test {Big arguments are passed on too, in and out of transactions} {
        set big [command SET big [string repeat b 70000]][command MULTI][command SET other [string repeat c 50000]][command INCR n][command EXEC]
        primary_send $fd [string range $big 0 60000]
        after 50
        primary_send $fd [string range $big 60001 end]
        assert_equal $big [$sub rawread [string length $big]]
    }

    test {Local changes of a replica are not part of the stream} {
        config_set replica-read-only no
        r set local 1
        r select 3
        r pexpire n 1
        after 50
        assert_equal {} [r get n]
        primary_send $fd [command PING]
        assert_equal [command PING] [$sub rawread [string length [command PING]]]
        config_set replica-read-only yes
    }

    test {A sub-replica that reconnects gets what it missed, by the IDs of the chain} {
        set missed [command SET a 1][command SET b 2]
        set from [expr {[s master_repl_offset] + 1}]
        $sub close
        primary_send $fd $missed
        wait_for_offset [expr {$from - 1 + [string length $missed]}]
        set sub [sub_replica $::id_a $from]
        assert_equal $missed [$sub rawread [string length $missed]]
    }

    test {A new ID of the primary: sub-replicas reconnect, and may continue} {
        set at [s master_repl_offset]
        close $fd
        set fd [primary_accept]
        primary_greet $fd
        primary_send $fd "+CONTINUE $::id_b\r\n"
        assert_error * { $sub read }
        $sub close
        set sub [sub_replica $::id_a [expr {$at + 1}]]
        $sub close
        set sub [sub_replica $::id_b [expr {$at + 1}]]
    }

    test {Promotion: sub-replicas reconnect, and may continue} {
        r debug set-active-expire 0 ;# else what has expired may come first in our own stream
        set at [s master_repl_offset]
        part $fd
        assert_error * { $sub read }
        $sub close
        set sub [sub_replica $::id_b [expr {$at + 1}]]
        r select 0
        r set of mine
        set wrote [command SELECT 0][command set of mine]
        assert_equal $wrote [$sub rawread [string length $wrote]]
    }

    test {DEBUG REPLICATE adds a command to the stream, and does not run it} {
        r debug replicate SET ghost 1
        assert_equal [command SET ghost 1] [$sub rawread [string length [command SET ghost 1]]]
        assert_equal 0 [r exists ghost]
        $sub close
    }

    test {Another dataset: sub-replicas reconnect, and get a full synchronization} {
        set fd [up_at $port 500]
        set sub [sub_replica $::id_a 501]
        close $fd
        set fd [primary_accept]
        primary_greet $fd
        primary_sync $fd $::id_b 7000 {other data}
        assert_error * { $sub read }
        $sub close
        wait_for_condition 100 50 {[s master_link_status] eq "up"} else { fail "the link is not up" }
        set other [valkey_deferring_client]
        $other psync $::id_a 501
        assert_match "FULLRESYNC $::id_b 7000" [$other read]
        $other close
        part $fd
    }
}

primary_close

if {![file executable [auto_execok openssl]]} {
    test {A replica over TLS} { skip "openssl is not installed" }
} else {
    set dir [file join $::work_dir certificates]
    file mkdir $dir
    exec openssl req -x509 -newkey rsa:2048 -nodes -keyout $dir/key -out $dir/crt -days 2 -subj /CN=ca 2>/dev/null
    set tls [list port 0 tls-replication yes tls-cert-file $dir/crt tls-key-file $dir/key tls-ca-cert-file $dir/crt]
    start_server [list overrides [lrange $tls 2 end]] {
        start_server [list overrides [concat [lrange $tls 2 end] {repl-diskless-sync-delay 0}]] {
            test {A replica over TLS} {
                set tls_port [free_port]
                config_set tls-port $tls_port
                r set k [string repeat v 100000]
                r -1 replicaof 127.0.0.1 $tls_port
                wait_for_condition 100 50 {[s -1 master_link_status] eq "up"} else { fail "down" }
                r set more 1
                wait_for_condition 100 50 {[r -1 get more] eq "1"} else { fail "no stream" }
                assert_equal 100000 [r -1 strlen k]
            }

            # 9.2 §9: the stream is decoded above TLS, which has bytes of its own that poll does not see.
            foreach codec {lz4 zstd} {
                test "A replica over TLS with repl-compression $codec" {
                    config_set repl-compression $codec
                    config_set repl-compression $codec -1
                    wait_for_condition 200 50 {[string match *repl_compression=$codec* [s slave0]] && [s -1 master_link_status] eq "up"} else { fail [s slave0] }
                    for {set i 0} {$i < 200} {incr i} {
                        r set key:$i [string repeat "a value of $i " [expr {$i * 20}]]
                        if {$i % 20 == 0} { assert_equal 1 [r wait 1 5000] }
                    }
                    wait_for_condition 200 50 {[r debug digest] eq [r -1 debug digest]} else { fail "the data differ" }
                    r -1 replicaof no one
                    r -1 flushall
                    r -1 replicaof 127.0.0.1 $tls_port
                    wait_for_condition 200 50 {[s -1 master_link_status] eq "up" && [r debug digest] eq [r -1 debug digest]} else { fail "no full synchronization" }
                }
            }
            config_set repl-compression no
            config_set repl-compression no -1

            test {The wrong authority is refused} {
                exec openssl req -x509 -newkey rsa:2048 -nodes -keyout $dir/key2 -out $dir/crt2 -days 2 -subj /CN=other 2>/dev/null
                r -1 replicaof no one
                config_set tls-ca-cert-file $dir/crt2 -1
                r -1 replicaof 127.0.0.1 $tls_port
                wait_for_log "*The connection to the primary failed:*" 0 100 50 -1
                assert_equal down [s -1 master_link_status]
                r -1 replicaof no one
            }
        }
    }
}
}
