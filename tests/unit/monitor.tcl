# MONITOR: the lines, their order, what is left out, and clients that watch.
source [file join [file dirname [info script]] server server_util.tcl]

# The next line for the watcher, with its time and port taken out.
proc next_line {c} {
    set line [$c read]
    if {![regexp {^\d{10}\.\d{6} \[(\d+) ([^\]]*)\] (.*)$} $line -> db origin words]} { fail "no line of MONITOR: $line" }
    return [list $db [regsub {:\d+$} $origin {}] $words]
}

# Runs the script and returns all lines up to its end.
proc watched {script} {
    set c [valkey_deferring_client]
    $c monitor
    $c read
    uplevel 1 $script
    r ping over
    set lines {}
    while {[set line [next_line $c]] ne {0 127.0.0.1 {"ping" "over"}} && [lindex $line 2] ne {"ping" "over"}} {
        lappend lines $line
    }
    $c close
    return $lines
}

start_server {tags {monitor}} {
    test {MONITOR: database, address and quoted arguments} {
        set lines [watched {
            r set k "v\n\"\\\x00\xc3\t\a"
            r select 3
            r get k
            r select 0
        }]
        assert_equal [list [list 0 127.0.0.1 {"set" "k" "v\n\"\\\x00\xc3\t\a"}] {3 127.0.0.1 {"select" "3"}} {3 127.0.0.1 {"get" "k"}} \
            {0 127.0.0.1 {"select" "0"}}] $lines
    }

    test {MONITOR: refused and administrative commands are not shown} {
        assert_equal {} [watched {
            catch { r nosuch }
            catch { r get }
            r config set maxmemory 0
            r slowlog len
            r latency latest
            r client list
        }]
        assert_equal {{0 127.0.0.1 {"client" "id"}}} [watched { r client id }]
    }

    test {MONITOR: secrets are not shown} {
        assert_equal {{"auth" "(redacted)"} {"auth" "(redacted)" "(redacted)"} {"hello" "2" "auth" "(redacted)" "(redacted)" "setname" "x"}} \
            [lmap line [watched {
                catch { r auth secret }
                catch { r auth user secret }
                r hello 2 auth default secret setname x
            }] { lindex $line 2 }]
    }

    test {MONITOR: transactions show when they run, scripts before their commands} {
        assert_equal {{0 127.0.0.1 {"multi"}} {0 127.0.0.1 {"incr" "n"}} {0 127.0.0.1 {"ping"}} {0 127.0.0.1 {"exec"}}} [watched {
            r multi
            r incr n
            r ping
            r exec
        }]
        assert_equal {{0 127.0.0.1 {"eval" "return redis.call('incr', 'n')" "0"}} {0 lua {"incr" "n"}}} \
            [watched { r eval {return redis.call('incr', 'n')} 0 }]
    }

    test {MONITOR: a blocked command is shown once, when it arrives} {
        r del l
        set lines [watched {
            set b [valkey_deferring_client]
            $b blpop l 0
            wait_for_blocked 1
            r rpush l x
            $b read
            $b close
        }]
        assert_equal {{"blpop" "l" "0"} {"rpush" "l" "x"}} [lmap line $lines { if {[string match {"info"*} [lindex $line 2]]} continue; lindex $line 2 }]
    }

    test {MONITOR: the client is marked, may not use keys, and may run other commands} {
        set c [valkey_client]
        assert_equal OK [$c monitor]
        assert_match "*flags=O *" [r client list]
        assert_error "ERR Replica can't interact with the keyspace" { $c get k }
        assert_error "ERR Replica can't interact with the keyspace" { $c publish a b }
        assert_equal PONG [$c ping]
        assert_equal {0 127.0.0.1 {"ping"}} [next_line $c]
        # A second MONITOR changes nothing.
        $c write [resp::encode {monitor}][resp::encode {ping again}]
        assert_equal again [$c read]
        assert_equal {0 127.0.0.1 {"ping" "again"}} [next_line $c]
        assert_equal RESET [$c reset]
        r ping
        assert_equal PONG [$c ping] "no line came before it"
        assert_no_match "*flags=O *" [r client list]
        $c close
    }

    test {MONITOR: a client that runs a transaction gets the lines after its reply} {
        set c [valkey_deferring_client]
        $c monitor
        $c multi
        $c ping
        $c client id
        $c exec
        assert_equal OK [$c read]
        assert_equal OK [$c read]
        assert_equal {0 127.0.0.1 {"multi"}} [next_line $c]
        assert_equal QUEUED [$c read]
        assert_equal QUEUED [$c read]
        assert_match {PONG *} [$c read]
        assert_equal {"ping"} [lindex [next_line $c] 2]
        assert_equal {"client" "id"} [lindex [next_line $c] 2]
        assert_equal {"exec"} [lindex [next_line $c] 2]
        $c close
    }

    test {MONITOR is refused in transactions and scripts} {
        r multi
        r monitor
        assert_equal {{ERR MONITOR isn't allowed for DENY BLOCKING client}} [r exec]
        assert_error "*not allowed from script*" { r eval {return redis.call('monitor')} 0 }
        assert_no_match "*flags=O *" [r client list]
    }

    test {MONITOR: a client that does not read is closed at its limit, the others continue} {
        r config set client-output-buffer-limit "normal 200000 0 0"
        set slow [valkey_deferring_client]
        $slow monitor
        $slow read
        set closed [s client_output_buffer_limit_disconnections]
        set value [string repeat x 100000]
        for {set i 0} {$i < 200 && [s client_output_buffer_limit_disconnections] == $closed} {incr i} { r set k $value }
        assert_equal [expr {$closed + 1}] [s client_output_buffer_limit_disconnections]
        $slow close
        assert_equal {{0 127.0.0.1 {"ping" "x"}}} [watched { r ping x }]
        r config set client-output-buffer-limit "normal 0 0 0"
    }

    test {MONITOR: clients start and stop} {
        set all {}
        for {set i 0} {$i < 5} {incr i} {
            set c [valkey_client]
            $c monitor
            lappend all $c
        }
        [lindex $all 1] close
        [lindex $all 3] close
        wait_for_condition 200 50 {[regexp -all {flags=O } [r client list]] == 3} else { fail "they stay" }
        foreach i {0 2 4} { [lindex $all $i] close }
        wait_for_condition 200 50 {![string match "*flags=O *" [r client list]]} else { fail "they stay" }
        assert_equal PONG [r ping]
    }
}

