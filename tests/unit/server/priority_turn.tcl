# priority-preemptive-poll-interval-us (9.2 §6, §10): priority clients and the cluster bus are served within a long turn.
source -encoding utf-8 $::support/cluster.tcl

proc admin_client {{deferred 0}} { return [resp::connect [srv 0 host] [srv 0 port] $deferred 127.0.0.2] }

# Has a client send so many commands at once that they make one turn of about `ms` milliseconds. Returns it.
proc begin_long_turn {ms} {
    set client [valkey_deferring_client]
    set ::long_commands [expr {$ms / 2}]
    $client write [string repeat [resp::encode {debug sleep 0.002}] $::long_commands]
    after 50
    return $client
}
proc end_long_turn {client} {
    for {set i 0} {$i < $::long_commands} {incr i} { assert_equal OK [$client read] }
    $client close
}

proc measured_ms {body} {
    set start [clock milliseconds]
    uplevel 1 $body
    return [expr {[clock milliseconds] - $start}]
}
proc debug_field {field} {
    regexp -line "^$field:(\\d+)" "[r info stats][r info debug]" - value
    return $value
}

proc tests_of_turns {} {
    test {9.2 §10: a priority client is served within a long turn, others are not} {
        config_set priority-preemptive-poll-interval-us 2000
        r config resetstat
        set admin [admin_client]
        $admin ping
        set other [valkey_deferring_client]
        set long [begin_long_turn 2000]
        $other write [resp::encode ping]
        set pings 0
        set longest 0
        set all [measured_ms {
            while {![$other pending]} {
                set ms [measured_ms { assert_equal PONG [$admin ping] }]
                if {$ms > $longest && ![$other pending]} { set longest $ms }
                incr pings
            }
        }]
        assert_equal PONG [$other read]
        assert_morethan $all 400 "the other client waited"
        assert_morethan $pings 10
        assert_lessthan $longest [expr {$all / 2}]
        end_long_turn $long
        assert_morethan [debug_field eventloop_priority_cycles] 10
        assert_morethan [debug_field eventloop_priority_duration_sum] 0
        assert_range [debug_field eventloop_priority_cmd_per_cycle_max] 1 5
        assert_morethan_equal [debug_field eventloop_priority_duration_sum] [debug_field eventloop_priority_duration_cmd_sum]
        assert_morethan_equal [debug_field eventloop_priority_duration_sum] [debug_field eventloop_priority_duration_max]
        $admin close
        $other close
    } {} {needs:debug}

    test {9.2 §6: with priority-preemptive-poll-interval-us 0 nobody is served within a turn} {
        config_set priority-preemptive-poll-interval-us 0
        r config resetstat
        set admin [admin_client]
        $admin ping
        set long [begin_long_turn 1000]
        assert_morethan [measured_ms { $admin ping }] 500
        end_long_turn $long
        assert_equal 0 [debug_field eventloop_priority_cycles]
        config_set priority-preemptive-poll-interval-us 2000
        $admin close
    } {} {needs:debug}

    test {9.2 §10: within a long turn, requests of priority clients keep their order, whole or in pieces} {
        set admins [list [admin_client 1] [admin_client 1]]
        set long [begin_long_turn 1500]
        set large [string repeat x 50000]
        set sent {}
        foreach client $admins {
            set bytes {}
            for {set i 0} {$i < 60} {incr i} { append bytes [resp::encode [list echo $client-$i]] }
            append bytes [resp::encode [list set large $large]] [resp::encode {get large}] [resp::encode multi] [resp::encode {get large}] [resp::encode exec]
            lappend sent $bytes
        }
        for {set at 0} {$at < [string length [lindex $sent 0]]} {incr at $step} {
            set step [expr {$at < 3000 ? [randomRange 1 400] : 20000}]
            foreach client $admins bytes $sent { $client write [string range $bytes $at [expr {$at + $step - 1}]] }
            after 5
        }
        foreach client $admins {
            for {set i 0} {$i < 60} {incr i} { assert_equal $client-$i [$client read] }
            assert_equal [list OK $large OK QUEUED [list $large]] [lmap - {1 2 3 4 5} { $client read }]
            $client close
        }
        end_long_turn $long
    } {} {needs:debug}

    test {9.2 §10: within a long turn, a priority client blocks, subscribes, kills, and disconnects} {
        set admins [list [admin_client 1] [admin_client 1] [admin_client 1] [admin_client]]
        lassign $admins blocked subscriber killer last
        set victim [valkey_deferring_client]
        $victim client id
        set id [$victim read]
        set long [begin_long_turn 1500]
        $victim write [string repeat [resp::encode {debug sleep 0.002}] 100]
        $blocked blpop list 0
        $subscriber subscribe channel
        assert_equal {subscribe channel 1} [$subscriber read]
        $killer client kill id $id
        assert_equal 1 [$killer read]
        $killer close
        assert_equal 1 [$last rpush list value]
        assert_equal {list value} [$blocked read]
        assert_equal 1 [$last publish channel hello]
        assert_equal {message channel hello} [$subscriber read]
        foreach client [list $blocked $subscriber $last] { $client close }
        end_long_turn $long
        $victim close
        assert_equal PONG [r ping]
    } {} {needs:debug}

    test {9.2 §10: a script of a priority client may become busy within a turn of others} {
        config_set busy-reply-threshold 20
        set admin [admin_client 1]
        set second [admin_client]
        $second ping
        set long [begin_long_turn 800]
        $admin eval {local x = 0 while true do x = x + 1 end} 0
        wait_for_condition 100 20 {[catch {$second ping} error] && [string match BUSY* $error]} else { fail "not busy" }
        assert_equal OK [$second script kill]
        assert_error "*Script killed*" { $admin read }
        assert_equal PONG [$second ping]
        $admin close
        $second close
        for {set i 0; set errors 0} {$i < $::long_commands} {incr i} { incr errors [catch {$long read}] }
        assert_lessthan $errors $::long_commands
        $long close
        config_set busy-reply-threshold 5000
    } {} {needs:debug}
}

foreach kind {{event-backend epoll} {event-backend io_uring} {io-threads 3 io-threads-always-active yes} {appendonly yes appendfsync always}} {
    start_server [list tags {priority slow} overrides [list priority-subnets 127.0.0.2 {*}$kind]] { tests_of_turns }
}

start_cluster {kinds {ours ours ours} overrides {cluster-node-timeout 2000}} {
    foreach {interval suspected} {2000 0 0 1} {
        test "9.2 §10: in a long turn with an interval of $interval, links of the bus are served, and no node is suspected: [expr {!$suspected}]" {
            r [n 0] config set priority-preemptive-poll-interval-us $interval
            set client [resp::connect [srv [n 0] host] [srv [n 0] port] 1]
            $client write [string repeat [resp::encode {debug sleep 0.008}] 480]
            set seen 0
            for {set i 0} {$i < 40 && !($suspected && $seen)} {incr i} {
                after 100
                if {[regexp -line "^[cluster_id 0] .*fail" [r [n 1] cluster nodes]]} { set seen 1 }
            }
            assert_equal $suspected $seen
            for {set i 0} {$i < 480} {incr i} { $client read }
            $client close
            wait_cluster_ok 3
        } {} {needs:debug}
    }
}
