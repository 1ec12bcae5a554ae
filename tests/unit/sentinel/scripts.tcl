# The operators' scripts: their arguments, when they run again, when they are dropped, how many run at a time. A
# notification script runs for each warning about its primary; +set is one that is easily triggered.

source -encoding utf-8 $::support/sentinel.tcl

set notes $::work_dir/notes
set script $::work_dir/script.sh
set reconfig $::work_dir/reconfig.sh

# The script notes its arguments on a line, then does the rest.
proc write_script {rest {path {}}} {
    if {$path eq {}} { set path $::script }
    set f [open $path.new w]
    puts $f "#!/bin/sh\nfor word; do line=\"\$line\$word|\"; done\nprintf '%s\\n' \"\$line\" >>$::notes\n$rest" ;# one write
    close $f
    file attributes $path.new -permissions 0755
    file rename -force $path.new $path
}

proc noted {} { return [split [string trim [read_file $::notes]] \n] }
proc notify {{value 2}} { r sentinel set one quorum $value }
proc forget {} { file delete $::notes }
proc script_events {pattern {from 0}} { return [lsearch -all -inline [sentinel_events sentinel $from] $pattern] }
proc all_done {} { return [expr {[s sentinel_scripts_queue_length] == 0}] }
proc wait_scripts {} { wait_for_condition 200 50 {[all_done]} else { fail "scripts wait: [r sentinel pending-scripts]" } }
write_script {} $reconfig

foreach kind {ours valkey} {
    write_script {}
    forget
    start_sentinel [list kind $kind tags {sentinel external:skip} overrides {loglevel debug} lines [list {monitor one 127.0.0.1 1 1} {monitor two 127.0.0.1 2 1} \
            {down-after-milliseconds one 600000} \
            [list notification-script one $script]]] {
        test "the notification script of a primary gets the events about it ($kind)" {
            wait_scripts ;# the +monitor
            assert_equal {{+monitor|master one 127.0.0.1 1 quorum 1|}} [noted]
            forget
            notify
            r sentinel set two quorum 2
            wait_scripts
            assert_equal {{+set|master one 127.0.0.1 1 quorum 2|}} [noted]
            assert_equal {} [script_events -script-error*]
        }

        test "a script runs in the folder of the Sentinel, with its environment ($kind)" {
            write_script "{ pwd; echo \$HOME; } >$::work_dir/where"
            notify
            wait_scripts
            assert_equal [list [srv dir] $::env(HOME)] [split [string trim [read_file $::work_dir/where]] \n]
        }

        test "after exit code 0, and after 2, a script is not run again ($kind)" {
            forget
            write_script "exit 2"
            set from [log_place sentinel]
            notify
            wait_scripts
            assert_equal 1 [llength [noted]]
            wait_event sentinel "-script-error $::script 0 2" $from
            assert_match {+script-child [0-9]*} [wait_event sentinel +script-child* $from]
            assert_match {-script-child [0-9]* 2 0} [wait_event sentinel -script-child* $from]
        }

        test "a script that cannot be executed any more is not run again ($kind)" {
            set from [log_place sentinel]
            file attributes $::script -permissions 0644
            notify
            wait_event sentinel "-script-error $::script 0 2" $from
            wait_scripts
        }

        test "after exit code 1 a script runs again, ten times in all, each time later ($kind)" {
            forget
            r sentinel debug script-retry-delay 2
            write_script "date +%s%3N >>$::work_dir/times; exit 1"
            set from [log_place sentinel]
            notify
            wait_event sentinel "-script-error $::script 0 1" $from 30000
            wait_scripts
            assert_equal 10 [llength [noted]]
            assert_equal {{+set|master one 127.0.0.1 1 quorum 2|}} [lsort -unique [noted]]
            assert_equal 1 [llength [script_events -script-error* $from]]
            set times [split [string trim [read_file $::work_dir/times]] \n]
            file delete $::work_dir/times
            assert_morethan_equal [expr {[lindex $times 9] - [lindex $times 8]}] 512
            assert_lessthan [expr {[lindex $times 3] - [lindex $times 0]}] 1000
        }

        test "a script that a signal ended runs again; waiting scripts are shown ($kind)" {
            forget
            r sentinel debug script-retry-delay 1000
            write_script [string map [list NOTES $::notes] {[ $(wc -l <NOTES) = 1 ] && kill -9 $$; exit 0}]
            set from [log_place sentinel]
            notify
            assert_match {-script-child [0-9]* 0 9} [wait_event sentinel -script-child* $from]
            set waiting [lindex [r sentinel pending-scripts] 0]
            assert_equal [list $::script +set {master one 127.0.0.1 1 quorum 2}] [dict get $waiting argv]
            assert_equal {scheduled 0 1} [list [dict get $waiting flags] [dict get $waiting pid] [dict get $waiting retry-num]]
            assert_range [dict get $waiting run-delay] 200 1000
            assert_equal {1 0} [list [s sentinel_scripts_queue_length] [s sentinel_running_scripts]]
            wait_scripts
            assert_equal 2 [llength [noted]]
            assert_equal {} [script_events -script-error* $from]
        }

        test "a script that takes too long is killed ($kind)" {
            forget
            r sentinel debug script-max-runtime 300 script-retry-delay 100
            write_script [string map [list NOTES $::notes] {[ $(wc -l <NOTES) = 1 ] && exec sleep 60; exit 0}]
            set from [log_place sentinel]
            notify
            wait_for_condition 100 20 {[s sentinel_running_scripts] == 1} else { fail "it does not run" }
            set running [lindex [r sentinel pending-scripts] 0]
            assert_equal {running 1} [list [dict get $running flags] [dict get $running retry-num]]
            assert_range [dict get $running run-time] 0 1000
            assert_equal "-script-timeout $::script [dict get $running pid]" [wait_event sentinel -script-timeout* $from]
            assert_match "-script-child [dict get $running pid] 0 9" [wait_event sentinel -script-child* $from]
            wait_scripts
            assert_equal 2 [llength [noted]]
            r sentinel debug script-max-runtime 60000
        }

        test "sixteen scripts run at a time, and beyond 256 waiting ones the oldest are dropped ($kind)" {
            forget
            write_script "for i in \$(seq 300); do \[ -e $::work_dir/go ] && exit; sleep 0.1; done" ;# it ends if the test does not
            for {set i 1} {$i <= 16} {incr i} { notify $i }
            wait_for_condition 100 50 {[s sentinel_running_scripts] == 16} else { fail "[s sentinel_running_scripts] run" }
            for {set i 17} {$i <= 300} {incr i} { notify $i }
            assert_equal {256 16} [list [s sentinel_scripts_queue_length] [s sentinel_running_scripts]]
            assert_equal 256 [llength [r sentinel pending-scripts]]
            close [open $::work_dir/go w]
            wait_for_condition 600 50 {[all_done]} else { fail "scripts wait" }
            file delete $::work_dir/go
            set quorums [lsort -integer [lmap line [noted] { regexp {quorum (\d+)} $line - n; set n }]]
            assert_equal [concat [numbers 1 16] [numbers 61 300]] $quorums
        }
    }
}

foreach kind {ours valkey} {
    start_watched_set {kinds {ours ours} tags {sentinel external:skip}} {
        start_sentinels [list a $kind b $kind] [list quorum 2 lines [list [list client-reconfig-script mymaster $reconfig]]] {
            test "the reconfiguration script gets the new address from leader and observer ($kind)" {
                forget
                lassign [list [srv [at primary] port] [srv [at replica1] port]] from to
                stop_server primary KILL
                foreach name {a b} { wait_event $name "+switch-master mymaster 127.0.0.1 $from 127.0.0.1 $to" }
                wait_for_condition 100 50 {[llength [noted]] == 2} else { fail [noted] }
                assert_equal [list "mymaster|leader|start|127.0.0.1|$from|127.0.0.1|$to|" "mymaster|observer|start|127.0.0.1|$from|127.0.0.1|$to|"] \
                    [lsort [noted]]
            }
        }
    }
}
