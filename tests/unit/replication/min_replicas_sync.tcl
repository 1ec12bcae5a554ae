# min-replicas-sync: nothing leaves the primary that so many replicas have not acknowledged. Replicas hang by SIGSTOP. They are
# servers of ours or, where utils/oracle has fetched one, of Valkey 9.1.2.

# What has come on the connection so far.
proc bytes_of {client} {
    set f [$client channel]
    fconfigure $f -blocking 0
    set text [read $f]
    fconfigure $f -blocking 1
    return $text
}

# The next `count` servers follow the one of this level, and have loaded what it had: 9.1.2 does so a second after it was sent.
proc wait_until_online {level count} {
    wait_for_condition 200 50 {[regexp -all {state=online} [r $level info replication]] == $count} else { fail "no replica" }
    for {set i 1} {$i <= $count} {incr i} {
        wait_for_condition 200 50 {[s [expr {$level + $i}] master_link_status] eq "up"} else { fail "no link" }
    }
}

tags {external:skip} {
    set threads_used {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes}
    set kinds [list ours $::options(server)]
    if {[valkey_oracle] ne {}} { lappend kinds valkey [valkey_oracle] }
    set cases [list {} ours $threads_used ours]
    if {[dict exists $kinds valkey]} { lappend cases {} valkey }

    foreach {threads kind} $cases {
        set case "$kind $threads"
        set program [dict get $kinds $kind]
        start_server [list overrides [concat {save {} min-replicas-sync 1 min-replicas-sync-timeout 1000 repl-diskless-sync-delay 0} $threads]] {
            test "without replicas writes are refused, reads are unknown, and who only watches gets answers [list $case]" {
                assert_error "NOREPLICAS*" { r set k 1 }
                assert_equal PONG [r ping]
                assert_equal master [lindex [r role] 0]
                set d [valkey_deferring_client]
                $d get k
                assert_error "NOTSYNCED *unknown*" {$d read}
                assert_error "*" {$d read}
                $d close
                assert_equal PONG [r ping]
            }

            start_server [list executable $program overrides {save {}}] {
                test "with a replica everything works, and it has what was acknowledged [list $case]" {
                    r replicaof [srv -1 host] [srv -1 port]
                    wait_until_online -1 1
                    for {set i 0} {$i < 50} {incr i} {
                        assert_equal $i [expr {[r -1 incr n] - 1}]
                        assert_equal [expr {$i + 1}] [r get n]
                    }
                    assert_equal 50 [r -1 get n]
                    assert_equal {51 52} [r -1 eval {return {redis.call('incr', 'n'), redis.call('incr', 'n')}} 0]
                    assert_equal 52 [r get n]
                    assert_morethan [s -1 reply_gate_waits] 50
                    assert_equal 0 [s -1 reply_held_clients]
                }

                test "while it hangs nothing leaves: writes, reads, EXEC, scripts, pushes; afterwards all does, in order [list $case]" {
                    r -1 config set min-replicas-sync-timeout 60000
                    set writer [valkey_deferring_client -1]
                    set reader [valkey_deferring_client -1]
                    set subscriber [valkey_deferring_client -1]
                    $subscriber subscribe ch
                    $subscriber read
                    set popper [valkey_deferring_client -1]
                    $popper blpop list 0
                    wait_for_condition 100 20 {[s -1 blocked_clients] == 1} else { fail "it does not block" }
                    set watcher [valkey_client -1]
                    exec kill -STOP [srv 0 pid]
                    $writer set k 1
                    $writer multi
                    $writer rpush list x
                    $writer publish ch message
                    $writer exec
                    $writer eval {return redis.call('incr', 'k')} 0
                    $writer flush
                    after 100
                    $reader get k
                    $reader flush
                    after 300
                    foreach c [list $writer $reader $subscriber $popper] { assert_equal {} [bytes_of $c] }
                    assert_equal PONG [$watcher ping]
                    assert_match "*reply_held_clients:4*" [$watcher info clients]
                    exec kill -CONT [srv 0 pid]
                    assert_equal {OK OK QUEUED QUEUED {1 1} 2} [list [$writer read] [$writer read] [$writer read] [$writer read] [$writer read] [$writer read]]
                    assert_equal 2 [$reader read]
                    assert_equal {message ch message} [$subscriber read]
                    assert_equal {list x} [$popper read]
                    foreach c [list $writer $reader $subscriber $popper] { $c close }
                    $watcher close
                }

                test "output that waits is bounded: a client that sends on waits, and gets all its replies [list $case]" {
                    r -1 set big [string repeat x 200000]
                    set watcher [valkey_client -1]
                    set d [valkey_deferring_client -1]
                    exec kill -STOP [srv 0 pid]
                    $d client setname many
                    $d incr i
                    for {set i 0} {$i < 40} {incr i} {
                        $d get big
                        $d flush
                        after 10
                    }
                    regexp {name=many [^\n]*omem=(\d+)} [$watcher client list] -> bytes
                    assert_range $bytes 1000000 3000000
                    exec kill -CONT [srv 0 pid]
                    assert_equal {OK 1} [list [$d read] [$d read]]
                    for {set i 0} {$i < 40} {incr i} { assert_equal 200000 [string length [$d read]] }
                    $d close
                    $watcher close
                }

                test "who was blocked when it was switched on waits as well [list $case]" {
                    r -1 config set min-replicas-sync 0
                    set popper [valkey_deferring_client -1]
                    $popper blpop list2 0
                    wait_for_condition 100 20 {[s -1 blocked_clients] == 1} else { fail "it does not block" }
                    r -1 config set min-replicas-sync 1
                    exec kill -STOP [srv 0 pid]
                    set writer [valkey_deferring_client -1]
                    $writer rpush list2 x
                    $writer flush
                    after 200
                    assert_equal {} [bytes_of $popper]
                    exec kill -CONT [srv 0 pid]
                    assert_equal {list2 x} [$popper read]
                    $popper close
                    $writer close
                }

                test "when the time is over the client gets one error, and its connection ends [list $case]" {
                    r -1 config set min-replicas-sync-timeout 300
                    set d [valkey_deferring_client -1]
                    exec kill -STOP [srv 0 pid]
                    $d set k 10
                    $d incr k
                    $d flush
                    assert_error "NOTSYNCED *unknown*" {$d read}
                    assert_error "*" {$d read}
                    $d close
                    exec kill -CONT [srv 0 pid]
                    # A request that still runs into the time-out ends its connection, so each has its own.
                    wait_for_condition 100 50 {![catch {
                        set c [valkey_client -1]
                        set value [$c get k]
                        $c close
                    }] && $value == 11} else { fail "it does not go on" }
                    assert_morethan [s -1 reply_gate_given_up] 0
                }

                test "a primary that becomes a replica releases nothing; switching it off releases all [list $case]" {
                    r -1 config set min-replicas-sync-timeout 60000
                    exec kill -STOP [srv 0 pid]
                    set d [valkey_deferring_client -1]
                    $d incr k
                    $d flush
                    after 200
                    assert_equal {} [bytes_of $d]
                    r -1 config set min-replicas-sync 0
                    assert_equal 12 [$d read]
                    r -1 config set min-replicas-sync 1
                    $d incr k
                    $d flush
                    after 200
                    set watcher [valkey_client -1]
                    $watcher replicaof 127.0.0.1 1
                    assert_error "NOTSYNCED *replica now*" {$d read}
                    exec kill -CONT [srv 0 pid]
                    $watcher replicaof no one
                    $watcher close
                    $d close
                }
            }
        }
    }

    test {a cluster can be made before replicas are there, and who asks for keys of slots waits} {
        start_server {overrides {save {} cluster-enabled yes min-replicas-sync 1 min-replicas-sync-timeout 500}} {
            assert_equal OK [r cluster set-config-epoch 7]
            assert_equal OK [r cluster addslotsrange 0 16383]
            assert_match "*cluster_my_epoch:7*" [r cluster info]
            foreach ask {{countkeysinslot 0} {getkeysinslot 0 10}} {
                set d [valkey_deferring_client]
                $d cluster {*}$ask
                assert_error "NOTSYNCED *" {$d read}
                $d close
            }
        }
    }

    foreach {kind program} $kinds {
        start_server {overrides {save {} min-replicas-sync 2 min-replicas-sync-timeout 700 repl-diskless-sync-delay 0}} {
            set with_file [list executable $program overrides {save {} appendonly yes appendfsync everysec}]
            start_server $with_file {
                start_server $with_file {
                    test "two of two have to acknowledge; in the mode disk, when their disks have it ($kind)" {
                        foreach level {-1 0} { r $level replicaof [srv -2 host] [srv -2 port] }
                        wait_until_online -2 2
                        assert_equal OK [r -2 set k 1]
                        assert_equal {1 1} [list [r get k] [r -1 get k]]
                        set d [valkey_deferring_client -2]
                        exec kill -STOP [srv 0 pid]
                        $d incr k
                        assert_error "NOTSYNCED*" {$d read}
                        $d close
                        exec kill -CONT [srv 0 pid]
                        wait_for_condition 100 50 {![catch {r -2 get k} value] && $value == 2} else { fail "it does not go on" }
                        r -2 config set min-replicas-sync-timeout 10000 min-replicas-sync-mode disk
                        # Of two writes in a row one waits for most of the second between two fsyncs.
                        set started [clock milliseconds]
                        foreach i {1 2 3} { r -2 incr k }
                        assert_morethan [expr {[clock milliseconds] - $started}] 800
                    }

                    test "in the mode disk a replica without a file counts for nothing ($kind)" {
                        r config set appendonly no
                        r -2 config set min-replicas-sync-timeout 1500
                        set d [valkey_deferring_client -2]
                        $d incr k
                        assert_error "NOTSYNCED*" {$d read}
                        $d close
                        r -2 config set min-replicas-sync-mode memory
                        wait_for_condition 100 50 {![catch {r -2 get k} value] && $value == 6} else { fail "it does not go on" }
                    }
                }
            }
        }
    }

    foreach {kind program} $kinds {
        start_server {overrides {save {} min-replicas-sync 1 min-replicas-sync-timeout 20000 repl-diskless-sync-delay 0}} {
            start_server [list executable $program overrides {save {}}] {
                start_server {overrides {save {}}} {
                    test "while one of two replicas hangs, the other one has what was acknowledged ($kind and ours)" {
                        foreach level {-1 0} { r $level replicaof [srv -2 host] [srv -2 port] }
                        wait_until_online -2 2
                        set hangs 0
                        for {set i 1} {$i <= 60} {incr i} {
                            if {[randomInt 4] == 0} {
                                exec kill -STOP [srv $hangs pid]
                                assert_equal $i [r -2 incr k]
                                assert_equal $i [r [expr {-1 - $hangs}] get k]
                                exec kill -CONT [srv $hangs pid]
                                set hangs [expr {-[randomInt 2]}]
                            } else {
                                assert_equal $i [r -2 incr k]
                                assert {[r get k] == $i || [r -1 get k] == $i}
                            }
                        }
                    }
                }
            }
        }
    }
}
