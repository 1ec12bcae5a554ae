# The crash report: it exists, has what is needed to find the cause, and no users' data.
source [file join [file dirname [info script]] server_util.tcl]
source $::support/faults.tcl

# Sanitizers and valgrind print stacks of their own for faults, but the report is the same.
proc crashed {command report} {
    start_server {crash 1} {
        r set secretkey secretvalue
        r client setname tester
        set c [valkey_deferring_client]
        $c write [resp::encode {set otherkey othervalue}]$command
        if {[wait_for_exit [srv dir]] == 0} { fail "the server ended without an error" }
        assert_in_order [read_file [srv log]] $report
        uplevel 1 [list set log [read_file [srv log]]]
        uplevel 1 [list set code [exit_code [srv dir]]]
        $c close
    }
}

set start "=== VALKEY BUG REPORT START: Cut & paste starting from here ==="
set instruction [expr {$::tcl_platform(machine) eq "x86_64" ? {"Crashed running the instruction at: 0x"} : {}}]
set threads {"bio_close_file" "pthread_cond_wait" "?/? expected stacktraces." "------ STACK TRACE DONE ------"}
set details {"------ INFO OUTPUT ------" "# Server" "redis_version:" "# Keyspace"
    "------ CLIENTS ------" " name=\\*redacted\\* *cmd=client|setname user=\\*redacted\\* " "------ CURRENT CLIENT INFO ------" "cmd=debug "
    "argv\\\[0\\\]: \"debug\"" "argv\\\[1\\\]: * bytes" "------ EXECUTING CLIENT INFO ------" "------ INFO OF MODULES ------"
    "------ SETTINGS ------" "io-threads *" "=== VALKEY BUG REPORT END. Make sure to include from START to END. ===" "CONTRIBUTING.md" "SECURITY.md"}

tags {external:skip} {
    test {DEBUG SEGFAULT} {
        crashed [resp::encode {debug segfault}] [list $start "crashed by signal: 11, si_code: " "The faulting access was to address " {*}$instruction \
            "------ STACK TRACE ------" "EIP:" "(debugSegfault+0x" " valkey-server *" "(debugSegfault+0x" "(commandRun+0x" {*}$threads "------ REGISTERS ------" {*}$details]
        assert {$code != 0}
        if {$::tcl_platform(machine) eq "x86_64"} { assert_match "*RAX:????????????????*RIP:????????????????*" $log }
        assert_no_match "*secretvalue*" $log
        assert_no_match "*othervalue*" $log
        assert_no_match "*secretkey*" $log
    }

    test {DEBUG PANIC} {
        crashed [resp::encode {debug panic}] [list "Panic: DEBUG PANIC was called (*debug_command.c:*" $start \
            "------ STACK TRACE ------" "commandRun" {*}$threads {*}$details]
        assert_equal 134 $code
        assert_equal 1 [regexp -all "BUG REPORT START" $log] "one report, not another for the abort behind it"
    }

    test {DEBUG ASSERT} {
        crashed [resp::encode {debug assert}] [list "=== ASSERTION FAILED ===" "==> *debug_command.c:* 'c->argc < 0' does not hold" \
            $start "=== ASSERTION FAILED CLIENT CONTEXT ===" "client->argc = 2" "client->argv\\\[0\\\] = \"debug\"" "client->argv\\\[1\\\] = 6 bytes" "------ STACK TRACE ------" {*}$threads {*}$details]
        assert_equal 134 $code
    }

    test {within a script, the client that runs it and the command it runs are both shown} {
        set eval {eval {return redis.call('debug', 'panic')} 0}
        crashed "[resp::encode {debug set-disable-deny-scripts 1}][resp::encode $eval]" [list $start "------ CURRENT CLIENT INFO ------" \
            "cmd=eval " "argv\\\[0\\\]: \"eval\"" "------ EXECUTING CLIENT INFO ------" "argv\\\[0\\\]: \"debug\"" "------ INFO OF MODULES ------"]
        assert_equal 134 $code
    }

    foreach {signal number} {SEGV 11 ABRT 6 BUS 7 FPE 8 ILL 4} {
        test "SIG$signal from outside is reported and ends the process by that signal" {
            start_server {crash 1} {
                r ping ;# the loop runs, not only the log says so
                exec kill -$signal [srv pid]
                assert_equal [expr {128 + $number}] [wait_for_exit [srv dir]]
                assert_in_order [read_file [srv log]] [list $start "crashed by signal: $number, si_code: 0" \
                    "The signal was sent by process " "------ STACK TRACE ------" "aeMain" "------ INFO OUTPUT ------" "=== VALKEY BUG REPORT END."]
                assert_no_match "*CURRENT CLIENT*" [read_file [srv log]]
            }
        }
    }

    # Sends a signal to threads of the server, by their names, all but at once.
    proc fault_in {threads} {
        set program {import ctypes, glob, os, signal, sys
pid, names = int(sys.argv[1]), sys.argv[2:]
tids = {open(path).read().strip(): int(path.split("/")[4]) for path in glob.glob(f"/proc/{pid}/task/*/comm")}
for name in names: ctypes.CDLL(None).tgkill(pid, tids[name], int(signal.SIGSEGV))}
        exec python3 -S -c $program [srv pid] {*}$threads
    }

    foreach threads {io_thd_1 bio_lazy_free {io_thd_1 io_thd_2 bio_aof}} {
        test "a fault in a thread is reported like one of the main thread: $threads" {
            if {[auto_execok python3] eq {}} { skip "no python3" }
            start_server {crash 1 overrides {io-threads 3 io-threads-always-active yes}} {
                r ping
                fault_in $threads
                assert_equal 139 [wait_for_exit [srv dir]]
                set log [read_file [srv log]]
                assert_in_order $log [list $start "crashed by signal: 11" "------ STACK TRACE ------" "?/? expected stacktraces." \
                    "------ INFO OUTPUT ------" "=== VALKEY BUG REPORT END."]
                assert_equal 1 [regexp -all "BUG REPORT START" $log]
                set asked 0
                foreach name $threads { incr asked [regexp " $name \\*" $log] }
                assert_equal 1 $asked "the stack of the one that reports stands first"
            }
        }
    }

    test {use-exit-on-panic: an exit code instead of an abort; debug-context is in the report} {
        start_server {crash 1} {
            r config set use-exit-on-panic yes debug-context "on the third shelf"
            catch { r debug panic }
            assert_equal 1 [wait_for_exit [srv dir]]
            assert_in_order [read_file [srv log]] [list $start "debug-context on the third shelf" "=== VALKEY BUG REPORT END."]
        }
    }

    test {crash-log-enabled no: no report, also when set at run time} {
        start_server {crash 1} {
            config_set crash-log-enabled no
            exec kill -SEGV [srv pid]
            assert_equal 139 [wait_for_exit [srv dir]]
            assert_no_match "*BUG REPORT*" [read_file [srv log]]
        }
        start_server {crash 1 overrides {crash-log-enabled no}} {
            catch { r debug panic }
            assert_equal 134 [wait_for_exit [srv dir]]
            assert_no_match "*BUG REPORT*" [read_file [srv log]]
            assert_match "*Panic: *" [read_file [srv log]]
        }
    }

    # The crash is in a function of libc that the log calls with a lock in its hand, so the report waits for that lock.
    test {a report that hangs is ended with the stack and by the signal of the crash} {
        if {![faults_possible]} { skip "calls cannot be made to fail here" }
        foreach {exit_on_panic code} {no 134 yes 1} {
            faults
            start_server [list crash 1 executable [faults_build] overrides [list use-exit-on-panic $exit_on_panic]] {
                config_set watchdog-period 200 ;# its timer does not end the report early
                faults localtime_r 0 0 1 time
                catch { r config set maxmemory-samples 7 } ;# it is logged
                wait_for_condition 400 100 {[file exists [srv dir]/exit]} else { fail "the server did not end" }
                faults
                assert_equal $code [exit_code [srv dir]]
                assert_in_order [read_file [srv log]] [list $start "After a crash by signal 6 the report goes no further" "------ STACK TRACE ------" "(serverLog+0x" \
                    "(commandRun+0x" "------ STACK TRACE DONE ------" "=== VALKEY BUG REPORT END."]
            }
        }
    } {} {slow}
}
