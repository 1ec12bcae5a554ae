# WAIT and WAITAOF with replicas. WAITAOF of one server alone: unit/persist/waitaof.
source [file join [file dirname [info script]] wait_util.tcl]

tags {external:skip repl} {
    start_server {} {
        test {WAIT of a server without replicas} {
            r set k v
            assert_equal 0 [r wait 0 0]
            assert_equal 0 [r wait -1 0]
            assert_morethan_equal [ms { assert_equal 0 [r wait 1 100] }] 99
            foreach {args error} {
                {x 0} "ERR value is not an integer or out of range" {1 x} "ERR timeout is not an integer or out of range"
                {1 -1} "ERR timeout is negative" {1 9223372036854775807} "ERR timeout is out of range"
            } {
                assert_error $error {r wait {*}$args} $args
            }
        }

        test {CLIENT UNBLOCK ends it, by its reply or by an error} {
            foreach {how reply} {TIMEOUT 0 ERROR "UNBLOCKED*"} {
                set c [valkey_deferring_client]
                $c client id
                set id [$c read]
                $c wait 1 0
                wait_for_blocked 1
                assert_equal 1 [r client unblock $id $how]
                catch { $c read } got
                assert_match $reply $got
                $c close
            }
        }

        test {many waits that end in different ways leave nothing behind} {
            for {set i 0} {$i < 50} {incr i} { assert_equal 0 [r wait 1 1] }
            set clients {}
            for {set i 0} {$i < 20} {incr i} { lappend clients [blocked_client wait 1 0] }
            foreach c $clients { $c close }
            wait_for_blocked 0
            assert_equal 0 [r wait 1 1]
        }
    }

    # The primary counts it as online when the snapshot is sent. Before there is a replica, writes have no offset.
    start_server {overrides {save {} repl-diskless-sync no}} {
        test {WAIT behind a write from before the first replica: one that loads the snapshot has not got it yet} {
            r set before 1
            start_server {overrides {save {} key-load-delay 2000000}} {
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_condition 500 20 {[replicas_online -1 1]} else { fail "not online: [r -1 info replication]" }
                assert_equal 0 [r -1 wait 1 100]
                assert_equal 1 [r -1 wait 1 10000]
                assert_equal 1 [r get before]
            }
        }
    }

    foreach end [other_ends] {
        lassign $end name executable
        with_replicas 2 $executable {} {
            test "WAIT: it replies when enough replicas have acknowledged ($name)" {
                r -2 set k 1
                assert_lessthan [ms { assert_equal 2 [r -2 wait 2 10000] }] 900
                assert_equal 1 [r get k]
                r -2 set k 2
                assert_morethan_equal [r -2 wait 1 10000] 1
                assert_morethan_equal [ms { assert_equal 2 [r -2 wait 3 300] }] 299
            }

            test "WAIT: a replica that does not acknowledge is not counted ($name)" {
                stop_server 0
                r -2 set k 3
                assert_equal 1 [r -2 wait 1 10000]
                assert_morethan_equal [ms { assert_equal 1 [r -2 wait 2 300] }] 299
                set c [valkey_client -2]
                assert_equal 2 [$c wait 2 1000] "who has not written waits for nothing"
                $c close
                set c [valkey_deferring_client -2]
                $c set k 4
                $c read
                $c wait 2 0
                set d [valkey_deferring_client -2]
                $d set k 4
                $d read
                $d wait 2 50
                assert_equal 1 [$d read]
                $d blpop none 0
                wait_for_condition 500 20 {[s -2 blocked_clients] == 2} else { fail "they do not wait" }
                continue_server 0
                assert_equal 2 [answer $c]
                assert_equal 1 [s -2 blocked_clients] "who has given up waits for something else by now"
                r -2 lpush none x
                assert_equal {none x} [answer $d]
            }

            test "WAIT: in a transaction and in a script it replies what is acknowledged, and does not wait ($name)" {
                r -2 set k 5
                assert_equal 2 [r -2 wait 2 10000]
                assert_equal 2 [r -2 eval {return redis.call('wait', 2, 0)} 0]
                r -2 multi
                r -2 wait 2 0
                r -2 set k 6
                r -2 wait 2 0
                assert_equal {2 OK 0} [r -2 exec]
                assert_equal 2 [r -2 wait 2 10000]
                assert_equal 0 [r -2 eval {redis.call('set', KEYS[1], 7) return redis.call('wait', 2, 0)} 1 k]
                assert_equal 2 [r -2 wait 2 10000] "what a script wrote is its caller's"
                assert_equal 7 [r get k]
            }

            test "WAIT and WAITAOF are not for replicas ($name)" {
                assert_error "ERR WAIT cannot be used with replica instances. Please also note that if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated." {r wait 0 0}
                assert_error "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and are not propagated." {r waitaof 1 0 0}
            }

            test "WAITAOF: the disks of replicas ($name)" {
                r -2 set k 8
                assert_equal {0 0} [r -2 waitaof 0 1 1200]
                r config set appendonly yes
                wait_for_field 0 aof_rewrite_in_progress 0
                r -2 set k 9
                assert_equal {0 1} [r -2 waitaof 0 1 10000]
                assert_morethan_equal [ms { assert_equal {0 1} [r -2 waitaof 0 2 300] }] 299
                r -2 config set appendonly yes
                wait_for_field -2 aof_rewrite_in_progress 0
                r -2 set k 10
                assert_equal {1 1} [r -2 waitaof 1 1 10000]
            }

            test "WAITAOF: a client that waits for the local disk gets an error when the file is switched off ($name)" {
                r -2 config set appendfsync no
                set local [valkey_deferring_client -2]
                set remote [valkey_deferring_client -2]
                foreach c [list $local $remote] { $c set k 11; $c read }
                $local waitaof 1 0 0
                $remote waitaof 0 2 0
                wait_for_condition 500 20 {[s -2 blocked_clients] == 2} else { fail "they do not wait" }
                r -2 config set appendonly no
                assert_error "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled." {answer $local}
                assert_equal 1 [s -2 blocked_clients]
                r -1 config set appendonly yes
                assert_equal {0 2} [answer $remote]
                foreach level {0 -1} { r $level config set appendonly no }
            }

            test "WAIT: clients that wait when the server becomes a replica ($name)" {
                r -2 set k 12
                stop_server 0
                r -2 set k 13
                set c [valkey_deferring_client -2]
                $c set k 14
                $c read
                $c wait 2 0
                wait_for_condition 500 20 {[s -2 blocked_clients] == 1} else { fail "it does not wait" }
                r -2 replicaof [srv -1 host] [srv -1 port]
                continue_server 0
                assert_error "UNBLOCKED*" {$c read}
                $c close
            }
        }
    }
}
