# SHUTDOWN of a primary: replicas get everything first, as long as shutdown-timeout lasts.
source [file join [file dirname [info script]] wait_util.tcl]

proc shutdown_log {level} { return [read_file [srv $level log]] }

# A client that waits in SHUTDOWN.
proc shutting_down {level args} {
    set c [valkey_deferring_client $level]
    $c shutdown {*}$args
    wait_for_field $level paused_reason shutdown_in_progress
    return $c
}

proc ended {level} {
    if {![wait_file [srv $level dir]/exit 15000]} { fail "the server did not end" }
    return [exit_code [srv $level dir]]
}

tags {external:skip repl} {
    foreach end [other_ends] {
        lassign $end name executable
        with_replicas 1 $executable {shutdown-timeout 60} {
            test "SHUTDOWN: writes wait with it, reads do not ($name)" {
                stop_server 0
                r -1 set k 1
                set c [shutting_down -1]
                assert_equal write [s -1 paused_actions]
                assert_morethan [s -1 paused_timeout_milliseconds] 1000000000000
                assert_range [s -1 shutdown_in_milliseconds] 1 60000
                set writer [valkey_deferring_client -1]
                $writer set k 2
                wait_for_condition 500 20 {[s -1 blocked_clients] == 2} else { fail "it writes" }
                assert_equal 1 [r -1 get k]
                # A second SHUTDOWN joins the first; only ABORT ends the wait of both.
                set d [valkey_deferring_client -1]
                $d client id
                set id [$d read]
                $d shutdown nosave now
                wait_for_condition 500 20 {[s -1 blocked_clients] == 3} else { fail "it does not wait" }
                assert_equal 0 [r -1 client unblock $id]
                assert_equal 0 [r -1 client unblock $id error]
                assert_equal OK [r -1 shutdown abort]
                foreach waits [list $c $d] {
                    assert_error "ERR Errors trying to SHUTDOWN. Check logs." {$waits read}
                    $waits ping
                    assert_equal PONG [answer $waits]
                }
                assert_equal OK [answer $writer]
                assert_equal {none none {}} [list [s -1 paused_reason] [s -1 paused_actions] [s -1 shutdown_in_milliseconds]]
                assert_error "ERR No shutdown in progress." {r -1 shutdown abort}
                assert_match "*The shutdown waits until the replicas have everything*Shutdown manually aborted.*" [shutdown_log -1]
            }

            test "SIGTERM waits too, and can be aborted ($name)" {
                foreach signal {TERM INT} {
                    exec kill -$signal [srv -1 pid]
                    wait_for_field -1 paused_reason shutdown_in_progress
                    exec kill -TERM [srv -1 pid] ;# once more: nothing changes
                    after 200
                    assert_equal shutdown_in_progress [s -1 paused_reason]
                    assert_equal OK [r -1 shutdown abort]
                    assert_equal none [s -1 paused_reason]
                }
            }

            test "SHUTDOWN ends as soon as the replica has everything ($name)" {
                set c [shutting_down -1]
                assert_lessthan [ms {
                    continue_server 0
                    assert_equal 0 [ended -1]
                }] 8000
                assert_error "I/O error*" {$c read}
                $c close
                assert_match "*1 of 1 replicas are in sync when shutting down.*bye bye...*" [shutdown_log -1]
                assert_no_match "*Lagging replica*" [shutdown_log -1]
                assert_equal 2 [r get k]
            }
        }

        with_replicas 1 $executable {shutdown-timeout 1} {
            test "SHUTDOWN: after shutdown-timeout it ends anyway, and logs the replicas that lag ($name)" {
                stop_server 0
                r -1 set k 1
                assert_range [ms {
                    shutting_down -1
                    assert_equal 0 [ended -1]
                }] 950 6000
                set log [shutdown_log -1]
                assert_match "*Lagging replica 127.0.0.1:[srv port] reported offset * behind master, lag=*, state=online.*" $log
                assert_match "*0 of 1 replicas are in sync when shutting down.*" $log
                continue_server 0
            }
        }

        with_replicas 1 $executable {shutdown-timeout 60} {
            test "SHUTDOWN: it ends when the replica is lost while it waits ($name)" {
                stop_server 0
                r -1 set k 1
                set c [shutting_down -1]
                assert_lessthan [ms {
                    r -1 client kill type replica
                    assert_equal 0 [ended -1]
                }] 8000
                $c close
                continue_server 0
            }
        }

        foreach {how overrides} {now {shutdown-timeout 60} {} {shutdown-timeout 0}} {
            with_replicas 1 $executable $overrides {
                test "SHUTDOWN $how with $overrides does not wait ($name)" {
                    stop_server 0
                    r -1 set k 1
                    assert_lessthan [ms {
                        catch { r -1 shutdown {*}$how }
                        assert_equal 0 [ended -1]
                    }] 8000
                    assert_match "*0 of 1 replicas are in sync*" [shutdown_log -1]
                    assert_no_match "*The shutdown waits until the replicas*" [shutdown_log -1]
                    continue_server 0
                }
            }
        }
    }

    with_replicas 1 {} {shutdown-timeout 60 enable-protected-configs yes} {
        test {SHUTDOWN: when the data cannot be saved, the server continues} {
            stop_server 0
            r -1 set k 1
            file mkdir [srv -1 dir]/full.rdb
            r -1 config set dbfilename full.rdb
            set c [shutting_down -1 save]
            continue_server 0
            assert_error "ERR Errors trying to SHUTDOWN. Check logs." {answer $c}
            assert_equal none [s -1 paused_reason]
            assert_equal OK [r -1 set k 2]
            assert_match "*Errors trying to shut down the server. Check the logs for more information.*" [shutdown_log -1]
            r -1 config set dbfilename dump.rdb
        }

        test {DEBUG RESTART does not wait} {
            stop_server 0
            r -1 set k 3
            set before [s -1 run_id]
            assert_lessthan [ms {
                catch { r -1 debug restart }
                wait_for_condition 500 20 {![catch {
                    set c [valkey_client -1]
                    set run [status $c run_id]
                    $c close
                }] && $run ne $before} else { fail "it does not come back" }
            }] 9000
            srv_set -1 client [valkey_client -1]
            continue_server 0
        }
    }
}
