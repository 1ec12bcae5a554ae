# The names of the server, and special kinds of sockets.
source [file join [file dirname [info script]] server_util.tcl]

tags {external:skip} {
    test {extended-redis-compatibility: clients see Redis's name and version while it is on} {
        start_server {overrides {busy-reply-threshold 10 save {60 1} enable-debug-command yes}} {
            set busy [valkey_deferring_client]
            foreach {on title name version mode} {no Valkey valkey 9.2.0 server_mode yes Redis redis 7.2.4 redis_mode no Valkey valkey 9.2.0 server_mode} {
                config_set extended-redis-compatibility $on
                set hello [r hello 2]
                assert_equal [list $name $version] [list [dict get $hello server] [dict get $hello version]]
                set info [r info server]
                assert_match "*\r\nredis_build_id:*\r\n$mode:standalone\r\nos:*" $info
                assert_equal 1 [regexp -all -line {^\w+_mode:} $info]
                assert_match "*redis_version:7.2.4*server_name:valkey*valkey_version:9.2.0*" $info "these stay"
                $busy eval {while true do end} 0
                wait_for_log "Slow script detected"
                wait_for_condition 100 20 {[catch {r ping} reply] && [string match BUSY* $reply]} else { fail "not busy" }
                assert_equal "BUSY $title is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE." $reply
                assert_equal OK [r script kill]
                assert_error "*killed*" { $busy read }
                file delete [file join [srv dir] dump.rdb]
                file mkdir [file join [srv dir] dump.rdb]
                r bgsave
                wait_for_condition 100 20 {[status r rdb_last_bgsave_status] eq "err"} else { fail "it could save" }
                assert_error "MISCONF $title is configured to save *Please check the $title logs for details about the RDB error." { r set a 1 }
                file delete [file join [srv dir] dump.rdb]
                r save
            }
            $busy close
        }
    }

    test {reported-redis-version: INFO has it, and HELLO if it says that this is Redis} {
        start_server {overrides {reported-redis-version 8.0.0}} {
            assert_equal {8.0.0 9.2.0} [list [s redis_version] [dict get [r hello 2] version]]
            config_set extended-redis-compatibility yes
            config_set reported-redis-version 7.4.1
            assert_equal {7.4.1 7.4.1} [list [s redis_version] [dict get [r hello 2] version]]
        }
    }

    test {extended-redis-compatibility: LOADING} {
        start_server {overrides {key-load-delay 2000 loading-process-events-interval-bytes 1024 extended-redis-compatibility yes save {}}} {
            r eval {for i = 1, 2000 do server.call('set', 'key:' .. i, i) end} 0
            set other [valkey_deferring_client]
            $other debug reload
            wait_for_condition 200 20 {[catch { r get key:1 } reply] && [string match LOADING* $reply]} else { fail "not loading" }
            assert_equal "LOADING Redis is loading the dataset in memory" $reply
            config_set key-load-delay 0
            assert_equal OK [$other read]
            $other close
        }
    }

    test {mptcp: the listening socket accepts MPTCP and plain TCP} {
        if {[catch { exec sysctl -n net.mptcp.enabled } known] || $known != 1 || [auto_execok ss] eq {}} { skip "no MPTCP here, or no ss" }
        start_server {overrides {mptcp yes}} {
            assert_match "*LISTEN*:[srv port] *" [exec ss -lnM]
            assert_equal PONG [r ping]
        }
        start_server {} { assert_no_match "*LISTEN*:[srv port] *" [exec ss -lnM] }
    }

    test {socket-mark-id is set on listening sockets; without the permission the start fails} {
        if {[exec id -u] ne 0} { skip "only root may" }
        start_server {overrides {socket-mark-id 7}} { assert_equal PONG [r ping] }
        if {[auto_execok setpriv] eq {}} { skip "no setpriv" }
        catch { exec setpriv --reuid 65534 --clear-groups --bounding-set -all --inh-caps -all $::options(server) --port [free_port] --socket-mark-id 7 --save {} --dir /tmp } output
        assert_match "*Listening on * failed: setsockopt SO_MARK: Operation not permitted*" $output
    }
}
