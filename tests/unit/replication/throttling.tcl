# 9.2 §9, repl-throttling-enabled: clients that write wait when a replica cannot read fast enough.
source [file join [file dirname [info script]] primary_util.tcl]

# Sends `count` commands of 3 kB every 10 ms, and reads the replies of each before it sends the next.
set ::writer_script {
    lassign $argv port count
    set c [socket 127.0.0.1 $port]
    fconfigure $c -translation binary -buffering full
    set value [string repeat x 3000]
    set from [clock milliseconds]
    for {set turn 1} 1 {incr turn} {
        for {set i 0} {$i < $count} {incr i} {
            puts -nonewline $c "*3\r\n\$3\r\nset\r\n\$6\r\nkey:[format %02d [expr {$i % 100}]]\r\n\$3000\r\n$value\r\n"
        }
        flush $c
        for {set i 0} {$i < $count} {incr i} { if {[gets $c] ne "+OK\r"} exit }
        set left [expr {$from + 10 * $turn - [clock milliseconds]}]
        if {$left > 0} { after $left } else { set from [clock milliseconds]; set turn 0 }
    }
}

# Writers that together would write 9 MB a second, in the background.
proc start_writers {} {
    set path [file join [srv dir] writer.tcl]
    set file [open $path w]
    puts $file $::writer_script
    close $file
    return [lmap i {1 2 3 4} count {8 8 7 7} { exec [info nameofexecutable] $path [srv port] $count > /dev/null 2> /dev/null & }]
}
proc stop_writers {pids} { foreach pid $pids { catch {exec kill $pid} } }

# Reads 3 MB a second for that long, or until the connection is gone; the script is run ten times a second. Returns
# whether the connection is still there.
proc read_slowly {f seconds {script {}}} {
    set channel [$f channel]
    fconfigure $channel -blocking 0
    for {set i 0} {$i < 10 * $seconds} {incr i} {
        set from [clock milliseconds]
        read $channel 300000
        if {[eof $channel]} { return 0 }
        uplevel 1 $script
        if {[set left [expr {100 - ([clock milliseconds] - $from)}]] > 0} { after $left }
    }
    fconfigure $channel -blocking 1
    return 1
}

proc throttling {field {section throttling}} {
    if {![regexp -line "^$field:(.*?)\r?$" [r info $section] - value]} { return {} }
    return $value
}

proc sets_run {} {
    regexp {cmdstat_set:calls=(\d+)} [r info commandstats] - calls
    return $calls
}

set limits {save {} repl-diskless-sync-delay 0 repl-backlog-size 16kb client-output-buffer-limit {replica 200mb 8mb 1}}

start_server [list overrides $limits tags {replication external:skip slow}] {
    test {without throttling a slow replica is disconnected} {
        assert_equal no [config_get repl-throttling-enabled]
        set f [follower_connect]
        follower_sync $f
        set writers [start_writers]
        assert_equal 0 [read_slowly $f 15]
        stop_writers $writers
        $f close
        assert_equal {0 -1.00 0 0 0} [lmap name {throttle_total_throttled_commands repl_throttle_rate repl_throttle_activation_events
            repl_throttle_below_guardrail_secs repl_throttle_total_commands} { throttling $name }]
        assert_equal {} [throttling throttle_repl_guardrail_secs]
    }

    test {with throttling it stays, and writers are slower} {
        config_set repl-throttling-enabled yes
        set f [follower_connect]
        follower_sync $f
        set full [s sync_full]
        set writers [start_writers]
        set flags {}
        set waiting 0
        assert_equal 1 [read_slowly $f 9 {
            foreach line [split [r client list] \n] { if {[regexp {flags=(\S+).*cmd=set} $line - found]} { lappend flags $found } }
            if {[throttling repl_throttle_current_clients debug] > 0} { incr waiting }
        }]
        set from [sets_run]
        assert_equal 1 [read_slowly $f 4]
        set to [sets_run]
        assert_range [expr {($to - $from) / 4}] 300 2000
        assert_equal [list 1 $full] [list [s connected_slaves] [s sync_full]]
        assert {"h" in $flags} $flags
        assert_morethan $waiting 0
        assert_morethan [throttling repl_throttle_rate] 0
        assert_morethan_equal [throttling repl_throttle_activation_events] 1
        assert_morethan [throttling repl_throttle_total_commands] 10
        assert_match "*throttle_total_throttled_commands:*repl_throttle_rate:*repl_throttle_activation_events:*repl_throttle_below_guardrail_secs:*" [r info throttling]
        assert_morethan [throttling repl_throttle_more_events debug] 10
        wait_for_log "*A replica cannot keep up*"
    }

    test {reads, and writes that change nothing for replicas, do not wait} {
        set from [clock milliseconds]
        for {set i 0} {$i < 500} {incr i} { r get key:01 }
        assert_lessthan [expr {[clock milliseconds] - $from}] 1000
        assert_morethan [throttling repl_throttle_rate] 0
    }

    test {a transaction waits once, at EXEC} {
        # The rate is the buckets of all: a client that had to wait for 400 tokens would need much longer than this.
        r multi
        set from [clock milliseconds]
        for {set i 0} {$i < 400} {incr i} { assert_equal QUEUED [r incr counter] }
        set took_ms [expr {[clock milliseconds] - $from}]
        assert_equal 400 [lindex [r exec] end]
        assert_equal 400 [r get counter]
        assert_lessthan $took_ms 600
    }

    test {clients wait no more when the replica has read everything, and RESETSTAT counts anew} {
        stop_writers $writers
        set channel [$f channel]
        fconfigure $channel -blocking 0
        wait_for_condition 100 100 {[string length [read $channel]] == 0 && [throttling repl_throttle_rate] eq "-1.00"} else {
            fail "the rate is [throttling repl_throttle_rate]"
        }
        assert_equal 0 [throttling repl_throttle_current_clients debug]
        assert_morethan [throttling repl_throttle_less_events debug] 0
        r config resetstat
        assert_equal {0 0 0} [list [throttling throttle_total_throttled_commands] [throttling repl_throttle_activation_events] [throttling repl_throttle_more_events debug]]
        $f close
    }

    test {while it throttles, a replica above the soft limit is excused} {
        set f [follower_connect]
        follower_sync $f
        set closed [s client_output_buffer_limit_disconnections]
        set writers [start_writers]
        after 5000
        assert_morethan [s mem_clients_slaves] 8388608
        assert_equal [list 1 $closed] [list [s connected_slaves] [s client_output_buffer_limit_disconnections]]
        stop_writers $writers
        $f close
        wait_for_condition 100 100 {[throttling repl_throttle_rate] eq "-1.00"} else { fail [throttling repl_throttle_rate] }
    }

    test {a switch to no wakes all clients that wait} {
        set f [follower_connect]
        follower_sync $f
        set writers [start_writers]
        assert_equal 1 [read_slowly $f 4]
        wait_for_condition 100 50 {[throttling repl_throttle_current_clients debug] > 0} else { fail "nobody waits" }
        config_set repl-throttling-enabled no
        wait_for_condition 100 50 {[throttling repl_throttle_current_clients debug] == 0} else { fail "clients still wait" }
        assert_equal -1.00 [throttling repl_throttle_rate]
        stop_writers $writers
        $f close
    }
}
