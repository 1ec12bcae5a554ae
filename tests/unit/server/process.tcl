# The process of the server: its title, its settings in the kernel, the supervisor, the formats of the log, the
# watchdog, and the meaning of signals.
source [file join [file dirname [info script]] server_util.tcl]

proc title {pid} { return [string trimright [string map {\0 { }} [read_file /proc/$pid/cmdline]]] }

# Collects datagrams sent to a socket, one line each; returns the collector's pid.
proc collect_datagrams {socket output} {
    set program {import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(60)
out = open(sys.argv[2], "w", 1)
out.write("bound\n")
while True:
    out.write(s.recv(4096).decode().strip().replace("\n", " ") + "\n")}
    return [exec python3 -c $program $socket $output 2>/dev/null &]
}

tags {external:skip} {
    test {the title follows proc-title-template} {
        start_server {} {
            assert_match "*valkey-server 127.0.0.1:[srv port]" [title [srv pid]]
            config_set proc-title-template "{port}|{title}|{listen-addr}|{server-mode}|{tls-port}|{unixsocket}|{config-file}|x"
            assert_match "[srv port]|*valkey-server|127.0.0.1:[srv port]||0||[srv dir]/server.conf|x" [title [srv pid]]
            foreach bad {"\{nosuch\}" "\{title" "x\{\}"} {
                assert_error "*template format is invalid or contains unknown variables" {
                    r config set proc-title-template [subst -nocommands -novariables $bad]
                }
            }
            config_set proc-title-template [string repeat long 5000]
            assert_match "longlong*" [title [srv pid]]
            assert_equal PONG [r ping]
        }
        start_server {overrides {set-proc-title no}} { assert_match "*valkey-server*server.conf*" [title [srv pid]] }
    }

    test {oom-score-adj: values are set in the kernel, and reset} {
        set path /proc/self/oom_score_adj
        start_server {overrides {oom-score-adj-values {5 10 20} oom-score-adj relative}} {
            set own [string trim [read_file $path]]
            set path /proc/[srv pid]/oom_score_adj
            assert_equal [expr {min($own + 5, 1000)}] [string trim [read_file $path]]
            assert_equal yes [config_get oom-score-adj]
            config_set oom-score-adj absolute
            config_set oom-score-adj-values "30 40 50"
            assert_equal 30 [string trim [read_file $path]]
            assert_equal "30 40 50" [config_get oom-score-adj-values]
            config_set oom-score-adj no
            assert_equal $own [string trim [read_file $path]]
            assert_error "*wrong number of arguments" { r config set oom-score-adj-values "1 2" }
            foreach bad {{1 2 a} {1 2 2001} {-2001 2 3}} {
                assert_error "*Invalid oom-score-adj-values, elements must be between -2000 and 2000." { r config set oom-score-adj-values $bad }
            }
            assert_equal "30 40 50" [config_get oom-score-adj-values]
        }
    }

    test {huge pages are off for the process, unless disable-thp is no} {
        start_server {} { assert {[regexp {THP_enabled:\s+0} [read_file /proc/[srv pid]/status]]} }
        start_server {overrides {disable-thp no}} { assert {[regexp {THP_enabled:\s+1} [read_file /proc/[srv pid]/status]]} }
    }

    test {systemd is notified of the start and the end} {
        set socket $::work_dir/notify.sock
        set output $::work_dir/notify.out
        file delete $socket $output
        set collector [collect_datagrams $socket $output]
        try {
            wait_for_condition 200 50 {[file exists $output] && [read_file $output] ne {}} else { fail "no collector" }
            set port [free_port]
            set ::env(NOTIFY_SOCKET) $socket
            foreach mode {systemd auto} {
                with_server_command [list $::options(server) --port $port --supervised $mode] {
                    wait_for_text $log "Ready to accept connections tcp"
                    set c [resp::connect 127.0.0.1 $port]
                    assert_equal systemd [status $c process_supervised]
                    $c close
                    assert_match "*systemd supervises the server*" [read_file $log]
                }
            }
            wait_for_condition 200 50 {[regexp -all STOPPING=1 [read_file $output]] == 2} else { fail [read_file $output] }
            assert_in_order [read_file $output] {STATUS=*loading "STATUS=Ready to accept connections*READY=1" STOPPING=1
                STATUS=*loading READY=1 STOPPING=1}
        } finally {
            unset -nocomplain ::env(NOTIFY_SOCKET)
            exec kill $collector
        }
    }

    test {supervised without a supervisor is logged, and does no harm} {
        set port [free_port]
        with_server_command [list env -u NOTIFY_SOCKET -u UPSTART_JOB $::options(server) --port $port --supervised systemd] {
            wait_for_text $log "systemd supervision requested, but NOTIFY_SOCKET not found"
            wait_for_text $log "Ready to accept connections tcp"
            set c [resp::connect 127.0.0.1 $port]
            assert_equal no [status $c process_supervised]
            $c close
        }
    }

    test {upstart: the server stops itself when it is ready} {
        set port [free_port]
        with_server_command [list env UPSTART_JOB=x $::options(server) --port $port --supervised upstart] {
            wait_for_condition 200 50 {[regexp {State:\s+T} [read_file /proc/$pid/status]]} else { fail "it runs on" }
            exec kill -CONT $pid
            wait_for_text $log "Ready to accept connections tcp"
        }
    }

    test {log-format and log-timestamp-format} {
        start_server {overrides {log-format logfmt log-timestamp-format iso8601}} {
            r debug log "a \"word\"\nand more"
            set line [lindex [log_lines] end-1]
            assert {[regexp {^pid=\d+ role=primary timestamp="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d" level=warning message="DEBUG LOG: a 'word' and more"$} $line]} $line
            config_set log-timestamp-format milliseconds
            r debug log x
            assert {[regexp {timestamp="(\d{13})" level=warning message="DEBUG LOG: x"$} [lindex [log_lines] end-1] -> ms]}
            assert_range $ms [expr {[clock milliseconds] - 60000}] [clock milliseconds]
            config_set log-format legacy
            r debug log y
            assert {[regexp {^\d+:M \d{13} # DEBUG LOG: y$} [lindex [log_lines] end-1]]}
            config_set log-timestamp-format legacy
            r debug log [string repeat long 2000]
            assert_match "*:M * # DEBUG LOG: [string repeat long 2000]" [lindex [log_lines] end-1]
            config_set log-format logfmt
            r debug log [string repeat long 2000]
            assert_match "pid=* level=warning message=\"DEBUG LOG: [string repeat long 2000]\"" [lindex [log_lines] end-1]
            config_set log-format json
            r debug log "a\"b\\c\td\x01/e\nf"
            set line [lindex [log_lines] end-1]
            assert {[regexp {^\{"pid":\d+,"role":"primary","timestamp":"[^"]+","level":"warning","message":"DEBUG LOG: (.*)"\}$} $line -> text]} $line
            assert_equal {a\"b\\c\td\u0001/e\nf} $text
            r debug log [string repeat "\n" 3000]
            assert_equal 3000 [regexp -all {\\n} [lindex [log_lines] end-1]]
        }
    }

    test {always-show-logo} {
        start_server {overrides {always-show-logo yes}} {
            set log [read_file [srv log]]
            assert_match "*Valkey * (*/?) 64 bit*Port: [srv port]*PID: [srv pid]*The server is set up*" $log
            assert_no_match "*The server runs in * mode*" $log
        }
        start_server {} { assert_no_match "*PID: [srv pid]*" [read_file [srv log]] }
    }

    test {locale-collate: checked before it is used} {
        start_server {overrides {locale-collate C}} {
            assert_error "*Invalid locale name" { r config set locale-collate nosuch }
            assert_equal C [config_get locale-collate]
            r rpush l b B a A
            assert_equal {A B a b} [r sort l alpha]
        }
        lassign [run_to_end --locale-collate nosuch] code output
        assert_equal 1 $code
        assert_match "*Invalid locale name*" $output
    }

    test {shutdown-on-sigint and shutdown-on-sigterm: their values} {
        start_server {overrides {shutdown-on-sigint {nosave now}}} {
            assert_equal "nosave now" [config_get shutdown-on-sigint]
            assert_equal default [config_get shutdown-on-sigterm]
            config_set shutdown-on-sigterm "force save"
            assert_equal "save force" [config_get shutdown-on-sigterm]
            config_set shutdown-on-sigterm default
            assert_error "*shutdown options SAVE and NOSAVE can't be used simultaneously" { r config set shutdown-on-sigint "save nosave" }
            assert_error "*argument(s) must be one of the following: default, save, nosave, now, force, safe, failover" { r config set shutdown-on-sigint perhaps }
            assert_equal "nosave now" [config_get shutdown-on-sigint]
            config_set shutdown-on-sigint "failover safe nosave"
            assert_equal "nosave safe failover" [config_get shutdown-on-sigint]
        }
    }

    test {SIGALRM from outside logs the stacks, and the server continues} {
        start_server {} {
            exec kill -ALRM [srv pid]
            wait_for_log "STACK TRACE DONE"
            assert_in_order [read_file [srv log]] {"SIGALRM came from outside" "------ STACK TRACE ------" " *" "aeMain" "bio_close_file" "pthread_cond_wait"
                "?/? expected stacktraces." "------ STACK TRACE DONE ------"}
            assert_no_match "*WATCHDOG*" [read_file [srv log]]
            assert_equal PONG [r ping]
        }
    }

    test {at level verbose the log has connections, disconnections and sizes of databases} {
        start_server {overrides {loglevel verbose}} {
            r set a 1
            r set b 1 ex 100
            set c [valkey_client]
            $c client setname bob
            set id [$c client id]
            $c close
            wait_for_log "A client has closed its connection: id=$id "
            assert_match "*Accepted 127.0.0.1:*A client has closed its connection: id=$id addr=127.0.0.1:* name=*redacted* *cmd=client|id user=*redacted* *" [read_file [srv log]]
            assert_no_match "*name=bob*" [read_file [srv log]]
            config_set hide-user-data-from-log no
            set c [valkey_client]
            $c client setname bob
            $c close
            wait_for_log "name=bob *user=default "
            wait_for_log "Database ?: 2 keys, 1 of them with an expiry, in a table of * slots" 0 200
            config_set loglevel notice
            set n [count_log_message "Accepted"]
            [valkey_client] close
            assert_equal $n [count_log_message "Accepted"]
        }
    }

    test {the log names the client that requested the shutdown} {
        start_server {overrides {hide-user-data-from-log no} crash 1} {
            r client setname ender
            set id [r client id]
            catch { r shutdown nosave }
            wait_for_exit [srv dir]
            assert_match "*A shutdown was requested by 'id=$id addr=127.0.0.1:* laddr=127.0.0.1:* fd=* name=ender user=default lib-name= lib-ver='*" [read_file [srv log]]
        }
    }

    test {the watchdog logs the stack of a command that takes too long} {
        start_server {} {
            config_set watchdog-period 50
            assert_equal 200 [config_get watchdog-period] "two periods of hz"
            r debug sleep 0.6
            wait_for_log "WATCHDOG TIMER EXPIRED"
            assert_match "*WATCHDOG TIMER EXPIRED*commandRun*--------*" [read_file [srv log]]
            config_set watchdog-period 0
            set n [count_log_message "WATCHDOG TIMER EXPIRED"]
            r debug sleep 0.6
            assert_equal $n [count_log_message "WATCHDOG TIMER EXPIRED"]
            assert_equal PONG [r ping]
        }
    }

    test {the crash report: users' data only when allowed, and a test of the memory} {
        foreach {hide shown} {yes "3 bytes" no "\"abc\""} {
            start_server [list crash 1 overrides [list hide-user-data-from-log $hide crash-memcheck-enabled $hide busy-reply-threshold 10]] {
                set c [valkey_deferring_client]
                $c eval {while true do end} 0 abc
                wait_for_log "Slow script detected"
                exec kill -SEGV [srv pid]
                assert_not_equal 0 [wait_for_exit [srv dir]]
                set log [read_file [srv log]]
                assert_match "*argv\\\[3\\\]: $shown*" $log
                assert_equal [expr {$hide eq "yes"}] [string match "*TEST OF THE MEMORY*Tested * pages in * of * regions: 0 errors.*BUG REPORT END*" $log]
                $c close
            }
        }
    }
}
