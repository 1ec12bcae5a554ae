# Orderly ends: by signal and by SHUTDOWN.
source [file join [file dirname [info script]] server_util.tcl]

set steps {"A shutdown was requested" "Valkey is now ready to exit, bye bye..."}

tags {external:skip} {
    foreach {signal word} {TERM SIGTERM INT SIGINT} {
        test "$word ends the server with code 0" {
            start_server {} {
                r set k v
                exec kill -$signal [srv pid]
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_in_order [read_file [srv log]] [list "[srv pid]:signal-handler (*) Received $word, so the server shuts down" {*}$steps]
                assert {![can_connect 127.0.0.1 [srv port]]}
            }
        }
    }

    foreach how {{} nosave save now force {nosave now force} {SAVE FORCE}} {
        test "SHUTDOWN $how" {
            start_server {} {
                catch { r shutdown {*}$how } problem
                assert_match "I/O error*" $problem
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_in_order [read_file [srv log]] $steps
            }
        }
    }

    test {replies before SHUTDOWN in a pipeline are sent} {
        start_server {} {
            set c [valkey_deferring_client]
            $c write "SET k v\r\nGET k\r\nSHUTDOWN\r\nPING\r\n"
            assert_equal OK [$c read]
            assert_equal v [$c read]
            assert_error "I/O error*" { $c read }
            $c close
            assert_equal 0 [wait_for_exit [srv dir]]
        }
    }

    test {a signal while clients are blocked and half a request is there} {
        start_server {} {
            set c [valkey_deferring_client]
            $c bzpopmin none 0
            set d [valkey_deferring_client]
            $d write "*2\r\n\$4\r\nECHO\r\n\$100000\r\nabc"
            wait_for_blocked 1
            exec kill -TERM [srv pid]
            assert_equal 0 [wait_for_exit [srv dir]]
            assert {[is_closed $c]}
            assert {[is_closed $d]}
            $c close
            $d close
        }
    }

    test {a second SIGINT does not wait} {
        start_server {crash 1 overrides {busy-reply-threshold 10}} {
            set c [valkey_deferring_client]
            $c eval {while true do end} 0
            wait_for_log "Slow script detected"
            exec kill -INT [srv pid]
            wait_for_log "Received SIGINT"
            exec kill -INT [srv pid]
            assert_equal 1 [wait_for_exit [srv dir]]
            wait_for_log "Second SIGINT: the server exits at once"
            $c close
        }
    }

    test {SHUTDOWN NOSAVE while a script is busy} {
        start_server {crash 0 overrides {busy-reply-threshold 10}} {
            set c [valkey_deferring_client]
            $c eval {while true do end} 0
            wait_for_log "Slow script detected"
            assert_error "BUSY*" { r shutdown }
            catch { r shutdown nosave } problem
            assert_match "I/O error*" $problem
            assert_equal 0 [wait_for_exit [srv dir]]
            $c close
        }
    }

    test {SIGHUP and SIGPIPE do not end the server} {
        start_server {} {
            exec kill -HUP [srv pid]
            exec kill -PIPE [srv pid]
            assert_equal PONG [r ping]
        }
    }
}

start_server {crash 1} {
    test {SHUTDOWN SAFE ends a server without a cluster} {
        catch { r shutdown safe nosave now }
        assert_equal 0 [wait_for_exit [srv dir]]
    }
}

start_server {} {
    test {SHUTDOWN with wrong words does nothing} {
        foreach words {nosuch {save nosave} {abort now} {nosave abort}} {
            assert_error "ERR syntax error" { r shutdown {*}$words } $words
        }
        assert_error "ERR syntax error" { r shutdown safe now abort }
        assert_error "ERR No shutdown in progress." { r shutdown abort }
        foreach words {failover {failover safe} {failover force nosave}} {
            assert_error "ERR SHUTDOWN FAILOVER is only supported in cluster mode." { r shutdown {*}$words } $words
        }
        assert_equal PONG [r ping]
    }
}

start_server {overrides {save {900 1} enable-debug-command yes appendonly no} tags {external:skip}} {
    # The same process continues with another run_id.
    proc begun_anew {command} {
        set before [list [s process_id] [s run_id]]
        catch {r debug {*}$command}
        wait_for_condition 1000 20 {![catch {
            set c [valkey_client]
            set text [$c info server]
            $c close
            regexp {process_id:(\d+)} $text -> pid
            regexp {run_id:(\w+)} $text -> run
        }] && $run ne [lindex $before 1]} else { fail "it does not come back" }
        assert_equal [lindex $before 0] $pid
        srv_set 0 client [valkey_client]
    }

    test {DEBUG RESTART keeps the data, DEBUG CRASH-AND-RECOVER only what was saved} {
        foreach command {restart crash-and-recover} {
            assert_error "ERR value is not an integer or out of range" {r debug $command soon}
        }
        r set k saved
        begun_anew restart
        assert_equal saved [r get k]
        r set k lost
        begun_anew {crash-and-recover 100}
        assert_equal saved [r get k]
        assert_match "*CRASH-AND-RECOVER*" [r debug help]
    }
}
