# Proves the harness itself: what its client reads, what its servers do, and above all that what fails is reported
# as failed. The last is shown by running tests/run on the files in tests/fixtures/harness.

# ---- The client ------------------------------------------------------------------------------------------------

# Replies of every type are not to be had from one server on demand, so they are read from a file.
proc parsed {bytes} {
    set path $::work_dir/resp
    set f [open $path wb]
    puts -nonewline $f $bytes
    close $f
    set f [open $path rb]
    set push 0
    set code [catch {resp::parse $f push} value how]
    set rest [read $f]
    close $f
    if {$rest ne {}} { fail "'$rest' was left unread" }
    return [list [expr {$code ? "error" : $push ? "push" : "value"}] $value]
}

test {client: RESP2 replies} {
    assert_equal {value OK} [parsed "+OK\r\n"]
    assert_equal {value -17} [parsed ":-17\r\n"]
    assert_equal [list value "a\r\nb"] [parsed "\$4\r\na\r\nb\r\n"]
    assert_equal {value {}} [parsed "\$-1\r\n"]
    assert_equal {value {}} [parsed "*-1\r\n"]
    assert_equal {value {}} [parsed "*0\r\n"]
    assert_equal {error {ERR no}} [parsed "-ERR no\r\n"]
    assert_equal {value {1 {2 {}} {ERR inside}}} [parsed "*3\r\n:1\r\n*2\r\n:2\r\n\$-1\r\n-ERR inside\r\n"]
}

test {client: RESP3 replies} {
    assert_equal {value {}} [parsed "_\r\n"]
    assert_equal {value 1} [parsed "#t\r\n"]
    assert_equal {value 0} [parsed "#f\r\n"]
    assert_equal {value 3.25} [parsed ",3.25\r\n"]
    assert_equal {value inf} [parsed ",inf\r\n"]
    assert_equal {value 123456789012345678901234567890} [parsed "(123456789012345678901234567890\r\n"]
    assert_equal {value {some text}} [parsed "=13\r\ntxt:some text\r\n"]
    assert_equal {error {ERR long}} [parsed "!8\r\nERR long\r\n"]
    assert_equal {value {a b}} [parsed "~2\r\n+a\r\n+b\r\n"]
    assert_equal {push {invalidate k}} [parsed ">2\r\n+invalidate\r\n*1\r\n+k\r\n"]
    assert_equal {value 5} [parsed "|1\r\n+ttl\r\n:1\r\n:5\r\n"]
    set map [lindex [parsed "%2\r\n+first\r\n:1\r\n+second\r\n*1\r\n:2\r\n"] 1]
    assert_equal 1 [dict get $map first]
    assert_equal 2 [dict get $map second]
}

test {client: bytes that are no RESP, or end too early, are an error} {
    assert_match {error {this is no RESP*}} [parsed "hello\r\n"]
    assert_match {error {I/O error*}} [parsed "\$5\r\nab"]
    assert_match {error {I/O error*}} [parsed "*2\r\n:1\r\n"]
    assert_match {error {I/O error*}} [parsed ""]
}

start_server {tags {harness}} {
    test {client: bytes survive} {
        set all {}
        for {set i 0} {$i < 256} {incr i} { append all [format %c $i] }
        r set "key \r\n\x00" $all
        assert {[r get "key \r\n\x00"] eq $all}
        assert_equal 256 [r strlen "key \r\n\x00"]
    }

    test {client: text beyond bytes goes out as UTF-8} {
        r set k "\u20ac"
        assert_equal 3 [r strlen k]
    }

    test {client: error replies are Tcl errors} {
        r set k v
        assert_error "WRONGTYPE *" { r lpush k x }
        assert_equal v [r get k]
    }

    test {client: deferred, pipelined} {
        set d [valkey_deferring_client]
        foreach i {1 2 3} { assert_equal {} [$d set k$i v$i] }
        $d get k2
        $d lpush k2 x
        $d get k3
        assert_equal {OK OK OK v2} [list [$d read] [$d read] [$d read] [$d read]]
        assert_error "WRONGTYPE*" { $d read }
        assert_equal v3 [$d read]
        assert_equal 0 [$d pending]
        $d ping
        wait_for_condition 100 10 {[$d pending]} else { fail "no reply" }
        assert_equal PONG [$d read]
        $d close
    }

    test {client: raw bytes} {
        r write "*1\r\n\$4\r\nPI"
        r write "NG\r\n"
        assert_equal PONG [r read]
        r write "PING\r\nECHO x\r\n"
        assert_equal +PONG [r rawread]
        assert_equal "\$1\r\nx\r\n" [r rawread 7]
    }

    test {client: RESP3 from a server} {
        set c [valkey_client]
        set hello [$c hello 3]
        assert_equal 3 [dict get $hello proto]
        $c del h
        $c hset h f v
        assert_equal v [dict get [$c hgetall h] f]
        $c close
    }

    test {client: push messages wait for `push`} {
        set c [valkey_client]
        $c hello 3
        assert_equal {subscribe ch 1} [$c subscribe ch]
        r publish ch first
        r publish ch second
        assert_equal PONG [$c ping]
        assert_equal {message ch first} [$c push]
        assert_equal {message ch second} [$c push]
        $c close
    }

    test {client: a closed connection is an error, and reconnect opens it again} {
        set c [valkey_client]
        $c client setname me
        $c deferred 1
        $c client kill type normal skipme no
        assert_error "I/O error*" { $c read; $c read }
        $c deferred 0
        $c reconnect
        assert_equal PONG [$c ping]
        $c close
        r reconnect
    }

    # ---- Assertions and helpers --------------------------------------------------------------------------------

    test {every assertion can fail} {
        r del l
        r rpush l a
        foreach bad {
            {assert {1 == 2}} {assert_equal a b} {assert_not_equal a a} {assert_match a* b} {assert_no_match a* ab}
            {assert_error * {set x 1}} {assert_error no* {error yes}} {assert_lessthan 2 2} {assert_morethan 2 2}
            {assert_lessthan_equal 3 2} {assert_morethan_equal 2 3} {assert_range 4 1 3} {assert_type string l}
            {assert_encoding nonesuch l} {wait_for_condition 2 1 {0} else {fail never}} {wait_for_log nonesuch 0 2 1}
        } {
            if {![catch $bad message how]} { error "this did not fail: $bad" }
            if {[dict get $how -errorcode] ne "ASSERT"} { error "this failed for another reason: $bad: $message" }
        }
    }

    test {every assertion can hold} {
        assert {1 == 1}
        assert_equal a a
        assert_not_equal a b
        assert_match a* ab
        assert_no_match a* b
        assert_error yes* { error "yes indeed" }
        assert_lessthan 1 2
        assert_morethan 2 1
        assert_range 3 3 3
        assert_type list l
        set n 0
        wait_for_condition 10 1 {[incr n] == 3} else { fail "n is $n" }
        assert_equal 3 $n
    }

    test {the expected value may be a pattern} { r echo hello } h?llo

    test {a local variable of one test is seen by the next} {
        assert_equal 3 $n
        unset n
    }

    test {INFO fields, configuration, log} {
        assert_equal [srv port] [s tcp_port]
        assert_equal [srv pid] [s process_id]
        config_set maxclients 777
        assert_equal 777 [config_get maxclients]
        wait_for_log "Ready to accept connections"
        assert_equal 1 [count_log_message "Ready to accept connections"]
    } {} external:skip

    test {random helpers stay within their bounds} {
        for {set i 0} {$i < 200} {incr i} {
            assert_range [randomInt 5] 0 4
            assert_range [randomRange 7 9] 7 9
            assert_range [string length [randstring 0 3]] 0 3
        }
        assert {[string is alnum [randstring 50 50 text]]}
    }

    test {debug_sleep keeps the server busy} {
        set began [clock milliseconds]
        debug_sleep 0.1
        assert_morethan_equal [expr {[clock milliseconds] - $began}] 100
    } {} needs:debug
}

# ---- Servers ---------------------------------------------------------------------------------------------------

start_server {overrides {maxclients 555 bind {127.0.0.1 -::1}} tags {external:skip}} {
    test {server: overrides reach it} {
        assert_equal 555 [config_get maxclients]
        assert_equal {127.0.0.1 -::1} [config_get bind]
    }

    start_server {overrides {maxclients 444}} {
        test {server: blocks nest} {
            assert_equal 444 [config_get maxclients]
            assert_equal 555 [config_get maxclients -1]
            assert_not_equal [srv port] [srv -1 port]
            r set who inner
            r -1 set who outer
            assert_equal {inner outer} [list [r get who] [r -1 get who]]
            set ::inner_pid [srv pid]
            set ::inner_dir [srv dir]
        }
    }

    test {server: it is stopped after its block} {
        assert_equal 0 [exit_code $::inner_dir]
        assert_error * { exec kill -0 $::inner_pid }
        assert_equal outer [r get who]
    }

    test {server: restart keeps port, files and log} {
        set port [srv port]
        set pid [srv pid]
        restart_server
        assert_equal $port [srv port]
        assert_not_equal $pid [srv pid]
        assert_equal 2 [count_log_message "Ready to accept connections"]
    }

    test {server: restart after SIGKILL loses what was not saved} {
        r set lost yes
        restart_server 0 KILL
        assert_equal {} [r get lost]
    }
}

start_server {crash 1 tags {external:skip}} {
    test {server: a crash may be allowed} {
        exec kill -KILL [srv pid]
        assert_error "I/O error*" { r ping }
    }
}

set outer [list [expr {[info exists ::env(EVENT_BACKEND)] ? $::env(EVENT_BACKEND) : {}}] $::options(seed)]
foreach {wanted seed backend} {epoll 1 epoll io_uring 2 io_uring both 2 epoll both 3 auto {} 2 auto} {
    set ::env(EVENT_BACKEND) $wanted
    set ::options(seed) $seed
    start_server {tags {external:skip}} {
        test "server: EVENT_BACKEND='$wanted' with seed $seed" { config_get event-backend } $backend
    }
}
lassign $outer ::env(EVENT_BACKEND) ::options(seed)

# ---- Failures are failures -------------------------------------------------------------------------------------

# Runs tests/run on a fixture; gives its exit code and output.
proc nested {fixture args} {
    set code 0
    set run [file join [file dirname $::support] run]
    if {[catch {exec env TEST_RETRY= [info nameofexecutable] $run --server $::options(server) --single fixtures/harness/$fixture \
                    {*}$args 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
    }
    # Its folder is of no use.
    if {[regexp {Logs and files are in (\S+)} $output -> kept]} { file delete -force $kept }
    return [list $code $output]
}

# The number of passed and failed tests in the last line, and that the exit code agrees with it; and that there is a
# line with a reason for each that was skipped.
proc counts {result} {
    lassign $result code output
    if {![regexp {\n(\d+) passed, (\d+) failed, (\d+) skipped(?:\nchild process exited abnormally)?$} $output \
              -> passed failed skipped]} {
        fail "no last line in: $output"
    }
    assert_equal [expr {$failed > 0}] $code "exit code"
    assert_equal $skipped [regexp -all -line {^skipped: \S+: .+: .+$} $output] "reasons"
    return [list $passed $failed]
}

tags {external:skip harness} {
    test {report: every kind of failure, with its place} {
        # The whole log: the number of readiness checks, each with log lines of its own, varies.
        set result [nested failing --dump-logs]
        assert_equal {2 7} [counts $result]
        set output [lindex $result 1]
        foreach {name line} {
            "a wrong value" 6 "an error reply" 8 "an unexpected result" 9 "an error that does not come" 11
            "a type" 13 "a condition that never holds" 15 "a half-read reply" 19
        } {
            assert_match "*FAILED: $name\n    at tests/fixtures/harness/failing.tcl:$line\n*" $output
        }
        assert_match "*expected 'x', got 'v'*" $output
        assert_match "*\n    | *Ready to accept connections*" $output "the log"
        assert_match "*\n    | *" [lindex [nested failing --only "a type"] 1] "its last lines"
        assert_match "*\nskipped: fixtures/harness/failing: is skipped: no reason\n2 passed, 7 failed, 1 skipped\n*" $output
    }

    test {report: a file that passes only with --retry is flaky, and has not passed} {
        set ::env(SOMETIMES_MARK) $::work_dir/sometimes
        foreach {args expected} {{} {2 1} --retry {2 0}} {
            file delete $::env(SOMETIMES_MARK)
            set result [nested sometimes {*}$args]
            assert_equal $expected [counts $result]
        }
        assert_match "*AGAIN  fixtures/harness/sometimes*\nflaky: 1: fixtures/harness/sometimes: fails once\n2 passed, 0 failed, 0 skipped" \
            [lindex $result 1]
        set result [nested failing --retry]
        assert_equal {2 7} [counts $result]
        assert_no_match "*\nflaky: *" [lindex $result 1]
    }

    test {report: a failed test does not make those after it fail} {
        set result [nested leaves]
        assert_equal {1 1} [counts $result]
        assert_match "*FAILED: leaves directives and clients behind*" [lindex $result 1]
    }

    test {report: a crash counts beside the test that met it} {
        set result [nested crash]
        assert_equal {0 2} [counts $result]
        assert_match "*BUG REPORT START*" [lindex $result 1]
    }

    test {report: a sanitizer's message in the log is a failure} {
        set result [nested unclean]
        assert_equal {1 1} [counts $result]
        assert_match "*its log says: ==1==ERROR: AddressSanitizer*" [lindex $result 1]
    }

    test {report: a test that hangs is ended, and its server with it} {
        set result [nested hang --timeout 2]
        assert_equal {1 1} [counts $result]
        assert_match "*FAILED: hangs\n*no end after 2 seconds*" [lindex $result 1]
    }

    test {report: an error between tests} {
        set result [nested broken]
        assert_equal {1 1} [counts $result]
        assert_match "*invalid command name*no_such_procedure*" [lindex $result 1]
    }

    test {report: a worker that dies} {
        assert_equal {1 1} [counts [nested dies]]
    }

    test {report: a server that does not start} {
        set result [nested refused]
        assert_equal {0 1} [counts $result]
        assert_match "*the server ended while starting*no-such-directive*" [lindex $result 1]
    }

    test {options: --only, --tags, --loops, --config, --list} {
        assert_equal {3 0} [counts [nested tagged]]
        assert_equal {1 0} [counts [nested tagged --only "WITH*tag"]]
        assert_equal {2 0} [counts [nested tagged --tags inner]]
        assert_equal {1 0} [counts [nested tagged --tags "outer -inner"]]
        assert_equal {9 0} [counts [nested tagged --loops 3 --clients 3]]
        assert_equal {4 0} [counts [nested tagged --config maxclients 321]]
        assert_match "*with a tag*" [lindex [nested tagged --list] 1]
    }

    test {options: --fast leaves out slow files and tests} {
        assert_equal {2 0} [counts [nested tagged --fast]]
        set files [lindex [nested tagged --fast --single unit --list] 1]
        assert_match "*unit/type/string\n*" $files
        set f [open [file dirname $::support]/slow_files]
        set slow [lmap line [split [string trim [read $f]] \n] { expr {[string match #* $line] ? [continue] : [lindex $line 0]} }]
        close $f
        assert_morethan [llength $slow] 3
        foreach name $slow {
            assert {[file exists [file dirname $::support]/$name.tcl]} $name
            assert_no_match "*$name\n*" $files
        }
    }

    test {options: a run without any test fails} {
        assert_equal {0 1} [counts [nested tagged --only "no test is called so"]]
    }

    test {options: --host and --port use a server that runs} {
        start_server {} {
            r set old data
            assert_equal {3 0} [counts [nested tagged --host [srv host] --port [srv port]]]
            set result [nested sometimes --host [srv host] --port [srv port]]
            assert_match "*\nskipped: fixtures/harness/sometimes: a block of tests: needs a server of its own\n*" [lindex $result 1]
            assert_equal {} [r get old]
            assert_equal PONG [r ping]
        }
    }
}

# ---- What adds up, and what fetches the oracle -----------------------------------------------------------------

# The exit code and the output of a command.
proc utility {args} {
    set code 0
    if {[catch {exec {*}$args 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
        regsub {\n?child process exited abnormally$} $output {} output
    }
    return [list $code $output]
}

# The output of utils/test/sums.sh for programs that printed these texts and ended with these exit codes.
proc added_up {args} {
    set utils [file join [file dirname [file dirname $::support]] utils]
    set script ". $utils/test/sums.sh\n"
    set n 0
    foreach {text code} $args {
        set f [open $::work_dir/printed.[incr n] w]
        puts $f $text
        close $f
        append script "add_output $::work_dir/printed.$n $code program$n\n"
    }
    return [utility bash -uc "$script print_sums"]
}

tags {external:skip harness} {
    test {sums: what ran, what was skipped and why, what is flaky} {
        set first "ok\nskipped: f: t: no IPv6\nflaky: 2: f: u; g: v\n3 passed, 0 failed, 1 skipped"
        assert_equal "0 {skipped: f: t: no IPv6\nflaky: 2: f: u; g: v\n7 passed, 0 failed, 1 skipped}" \
            [added_up $first 0 "4 passed, 0 failed, 0 skipped" 0]
        assert_equal "1 {flaky: 3: a; b; c\n1 passed, 2 failed, 0 skipped}" \
            [added_up "flaky: 1: a\n1 passed, 0 failed" 0 "flaky: 2: b; c\n0 passed, 2 failed, 0 skipped" 1]
    }

    test {sums: an end without a failed test is a failure, and so is a run without tests} {
        assert_equal "1 {FAILED program2: exit code 124 without a failed test: it took too long\n1 passed, 1 failed, 0 skipped}" \
            [added_up "1 passed, 0 failed, 0 skipped" 0 "3 of many" 124]
        assert_equal "1 {no test was run\n0 passed, 1 failed, 0 skipped}" [added_up "lint: fine" 0]
    }

    test {unit tests: programs that run beside each other are added up, however they end} {
        set folder $::work_dir/build/unit/fake
        file mkdir $folder
        set begins "echo '\[ RUN      ] a'; "
        set passes "$begins echo '\[       OK ] a'; "
        set programs {}
        foreach {name text} [list good $passes bad "$begins echo '\[  FAILED  ] a'; exit 1" crashes "$passes kill -SEGV \$\$" \
                                 empty {exit 0} hangs "$begins exec sleep 60" left_out "$begins echo 'skipped: no a'; echo '\[  SKIPPED ] a'" \
                                 ends_its_shell "$begins kill -KILL \$(ps -o ppid= -p \$PPID); sleep 60"] {
            set f [open $folder/$name w 0755]
            puts $f "#!/bin/bash\n$text"
            close $f
            lappend programs $folder/$name
        }
        set run [file join [file dirname [file dirname $::support]] utils test run]
        lassign [utility env UNIT_LIMIT_S=2 $run --unit-only {*}$programs] code output
        assert_equal 1 $code
        assert_match "*\nskipped: fake/left_out: a: no a\n2 passed, 5 failed, 1 skipped" $output
        foreach line {"ok     fake/good (1 tests, *" "FAILED unit test fake/bad: exit code 1\n" "FAILED unit test fake/crashes: exit code 139\n"
            "FAILED unit test fake/empty: exit code 0\n*it ran no test" "FAILED unit test fake/hangs: exit code 124 (no end after 2 seconds)"
            "FAILED unit test fake/ends_its_shell: exit code 137"} {
            assert_match "*$line*" $output
        }
        assert_match "0 {ok     fake/good (1 tests, * s) 1/1\n1 passed, 0 failed, 0 skipped}" [utility $run --unit-only $folder/good]
    }

    test {unit tests: tests/slow_units names programs that exist, once} {
        set top [file dirname [file dirname $::support]]
        set f [open $top/tests/slow_units]
        set names [lmap line [split [string trim [read $f]] \n] { expr {[string match #* $line] ? [continue] : [lindex $line 0]} }]
        close $f
        assert_equal [llength [lsort -unique $names]] [llength $names]
        foreach name $names { assert {[file exists $top/src/[string map {_plain_ _} $name].c]} $name }
    }

    test {the oracle: a line and an exit code say that it is not available} {
        set oracle [file join [file dirname [file dirname $::support]] utils oracle]
        set nowhere $::work_dir/oracle
        lassign [utility $oracle --find $nowhere] code output
        assert_equal {77 1} [list $code [llength [split $output \n]]]
        assert_match "utils/oracle: there is none in $nowhere*" $output
        file mkdir $::work_dir/bin
        set f [open $::work_dir/bin/apt-get w 0755]
        puts $f "#!/bin/sh\nexit 100"
        close $f
        lassign [utility env "PATH=$::work_dir/bin:$::env(PATH)" $oracle $nowhere] code output
        assert_equal 77 $code
        assert_match "utils/oracle: *" [lindex [split $output \n] end]
        assert_equal 0 [file exists $nowhere/bin]
    }

    test {the oracle: an installed one is found, and named} {
        file mkdir $::work_dir/there/bin
        set server $::work_dir/there/bin/valkey-server
        set f [open $server w 0755]
        puts $f "#!/bin/sh\necho Valkey server v=9.2.0"
        close $f
        assert_equal [list 0 $server] [utility [file join [file dirname [file dirname $::support]] utils oracle] $::work_dir/there]
    }
}

# ---- Servers of several kinds ----------------------------------------------------------------------------------

start_servers {outer {kind ours overrides {maxclients 123}} inner {kind ours}} {
    test {servers by name: each has its own level and settings} {
        assert_equal {-1 0} [list [at outer] [at inner]]
        assert_equal 123 [config_get maxclients [at outer]]
        assert_not_equal [srv [at outer] port] [srv [at inner] port]
        r [at outer] set k outer
        assert_equal {outer {}} [list [r [at outer] get k] [r [at inner] get k]]
        assert_error "there is no server other" { at other }
    }
}

start_servers {primary {kind valkey} replica {kind valkey}} {
    test {servers by name: one follows the other} {
        follow replica primary
        r [at primary] set k v
        wait_for_offset replica primary
        assert_equal v [r [at replica] get k]
    }
}

test {servers by name: tests are skipped, and counted, where a kind is missing} {
    set oracle [expr {[info exists ::env(ORACLE)] ? $::env(ORACLE) : {}}]
    set ::env(ORACLE) $::work_dir/nowhere
    rename report_event kept_report_event
    set ::said {}
    proc report_event {args} { lappend ::said $args }
    set code [catch {
        start_servers {primary {kind valkey} replica {kind ours}} {
            test {servers by name: one} { error "it runs" }
            test "servers by name: another" { error "it runs" }
        }
        start_servers {primary {kind valkey}} { error "it runs" }
    } problem]
    rename report_event {}
    rename kept_report_event report_event
    if {$oracle eq {}} { unset ::env(ORACLE) } else { set ::env(ORACLE) $oracle }
    assert_equal 0 $code $problem
    assert_equal {{skip {servers by name: one} {no valkey here}} {skip {servers by name: another} {no valkey here}} {skip {a block of tests} {no valkey here}}} $::said
}
