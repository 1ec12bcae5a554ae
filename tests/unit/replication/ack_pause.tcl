# REPLICAOF ACK PAUSE: a replica applies what comes and acknowledges nothing, for a failover by Sentinels.

proc acks_paused {level} {
    return [expr {[regexp {replica_acks_paused:(\d+)} [r $level info replication] - n] ? $n : 0}]
}

tags {external:skip repl} {
    start_server {overrides {save {} min-replicas-sync 1 min-replicas-sync-timeout 60000 repl-diskless-sync-delay 0}} {
        start_server {overrides {save {}}} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 200 50 {[s master_link_status] eq "up" && ![catch {r -1 set k 0}]} else { fail "no link" }
            set other [valkey_client]

            test {nothing is acknowledged during a pause, and all of it afterwards} {
                assert_equal OK [r replicaof ACK PAUSE]
                assert_equal 1 [acks_paused 0]
                set writer [valkey_deferring_client -1]
                $writer set k 1
                $writer flush
                wait_for_condition 100 20 {[r get k] == 1} else { fail "it is not applied" }
                after 1200
                assert_equal 0 [$writer pending]
                set watcher [valkey_client -1] ;# output of a client that has written would wait
                assert_match "*reply_held_clients:1\r*" [$watcher info clients]
                $watcher close
                assert_equal OK [r slaveof ack resume]
                assert_equal 0 [acks_paused 0]
                assert_equal OK [$writer read]
            }

            test {a GETACK is not answered during a pause, and WAIT does not count the replica} {
                r replicaof ack pause
                r -1 config set min-replicas-sync 0
                r -1 set k 2
                assert_equal 0 [r -1 wait 1 300]
                r replicaof ack resume
                assert_equal 1 [r -1 wait 1 5000]
                r -1 config set min-replicas-sync 1
            }

            test {a pause belongs to its connection: another one does not end it} {
                r replicaof ack pause
                $other replicaof ack pause
                assert_equal 2 [acks_paused 0]
                $other replicaof ack pause
                assert_equal 2 [acks_paused 0]
                $other replicaof ack resume
                $other replicaof ack resume
                assert_equal 1 [acks_paused 0]
                $other replicaof ack pause
                set third [valkey_client]
                assert_equal OK [$third replicaof ack release]
                $third close
                assert_equal 0 [acks_paused 0]
            }

            test {more pauses than there is room for keep it paused} {
                set clients {}
                for {set i 0} {$i < 40} {incr i} {
                    lappend clients [valkey_client]
                    assert_equal OK [[lindex $clients end] replicaof ack pause]
                }
                assert_equal 16 [acks_paused 0]
                foreach c $clients { $c replicaof ack resume; $c close }
                assert_equal 0 [acks_paused 0]
            }

            test {REPLICAOF ends the pause of its own connection only} {
                foreach {host port} [list [srv -1 host] [srv -1 port] no one 127.0.0.1 1] {
                    r replicaof ack pause
                    $other replicaof ack pause
                    r replicaof $host $port
                    assert_equal 1 [acks_paused 0]
                    $other replicaof ack resume
                    assert_equal 0 [acks_paused 0]
                }
            }

            test {a primary can be paused, and acknowledges nothing when it is a replica} {
                r replicaof no one
                $other replicaof ack pause
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_condition 200 50 {[s master_link_status] eq "up"} else { fail "no link" }
                r -1 config set min-replicas-sync 0
                r -1 set k 3
                assert_equal 0 [r -1 wait 1 1500]
                $other replicaof ack resume
                assert_equal 1 [r -1 wait 1 5000]
            }

            test {other words are an address, as ever} {
                assert_error "ERR Invalid master port" {r replicaof ack stop}
                assert_error "ERR Invalid master port" {r replicaof no pause}
                assert_equal OK [r replicaof ack 1]
                assert_equal ack [s master_host]
                r replicaof no one
            }
            $other close
        }
    }

    test {a primary that holds its output back answers the orders, as it may be one that was just promoted} {
        start_server {overrides {save {} min-replicas-sync 1 min-replicas-sync-timeout 60000}} {
            set c [valkey_client]
            assert_equal 1 [expr {[lindex [time { $c replicaof ack pause; $c info replication; $c replicaof ack resume }] 0] < 5000000}]
            $c close
        }
    }

    if {[valkey_oracle] ne {}} {
        start_server [list executable [valkey_oracle] overrides {save {}}] {
            test {9.1.2 answers with an error, and changes nothing} {
                r replicaof 127.0.0.1 1
                assert_error "ERR Invalid master port" {r slaveof ACK PAUSE}
                assert_error "ERR Invalid master port" {r slaveof ACK RESUME}
                assert_equal 127.0.0.1 [s master_host]
                assert_equal 1 [s master_port]
            }
        }
    }
}
