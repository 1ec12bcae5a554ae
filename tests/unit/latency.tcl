# LATENCY: spikes and histograms. Times are made with DEBUG SLEEP; only lower bounds are certain.
source [file join [file dirname [info script]] server server_util.tcl]

start_server {tags {latency needs:debug} overrides {latency-monitor-threshold 20}} {
    test {LATENCY: a command as long as the threshold is a spike} {
        r debug sleep 0.001
        assert_equal {} [r latency latest]
        set before [clock seconds]
        r debug sleep 0.03
        assert_equal 6 [llength [lindex [r latency latest] 0]]
        lassign [lindex [r latency latest] 0] event time last worst sum count
        assert_equal command $event
        assert_equal [list $last 1] [list $sum $count]
        assert_range $time $before [expr {[clock seconds] + 1}]
        assert_morethan_equal $last 30
        assert_equal $last $worst
        assert_equal [list [list $time $last]] [r latency history command]
    }

    test {LATENCY HISTORY: one sample a second, the worst} {
        r latency reset
        # All three within one second, or the third in a second of its own.
        r debug sleep 0.05
        r debug sleep 0.03
        set history [r latency history command]
        assert_range [llength $history] 1 2
        assert_morethan_equal [lindex $history 0 1] 50
        if {[llength $history] == 1} { assert_morethan_equal [lindex $history 0 1] 50 }
        after 1100
        r debug sleep 0.03
        set times [lmap sample [r latency history command] { lindex $sample 0 }]
        assert_equal [lsort -integer -unique $times] $times
        assert_morethan_equal [llength $times] 2
        lassign [lindex [r latency latest] 0] event time last worst sum count
        assert_equal $time [lindex $times end]
        assert_morethan_equal $worst 50
        assert_equal 3 $count "every spike counts, two of one second as well"
        assert_morethan_equal $sum 110
    }

    test {LATENCY: unknown events are empty, and names are case-sensitive} {
        assert_equal {} [r latency history nosuch]
        assert_equal {} [r latency history COMMAND]
        assert_error "ERR No samples available for event 'nosuch'" { r latency graph nosuch }
        assert_error "ERR unknown subcommand 'nosuch'. Try LATENCY HELP." { r latency nosuch }
        assert_error "ERR wrong number of arguments for 'latency|history' command" { r latency history }
        assert_match "LATENCY <subcommand>*" [lindex [r latency help] 0]
    }

    test {LATENCY GRAPH: a column per sample} {
        r latency reset
        r debug sleep 0.03
        after 1100
        r debug sleep 0.4
        set lines [split [r latency graph command] \n]
        assert {[regexp {^command - high (\d+) ms, low (\d+) ms \(all time high (\d+) ms\)$} [lindex $lines 0] -> high low worst]} [lindex $lines 0]
        assert_morethan_equal $high 390 ;# it sleeps by one clock, and is timed by another
        assert_morethan_equal $low 29
        assert_equal $high $worst
        assert_equal [string repeat - 80] [lindex $lines 1]
        assert_equal {{ #} { |} { |} _| {  }} [lrange $lines 2 6]
        assert_match {[1-9][0-9]} [lindex $lines 7]
        assert_equal {} [lindex $lines end]
    }

    test {LATENCY DOCTOR lists the spikes and gives advice} {
        set text [r latency doctor]
        assert_match "*1. command: 2 latency spikes (average *ms, mean deviation *ms, period *sec). Worst all time event *ms.*SLOWLOG*" $text
    }

    test {LATENCY RESET} {
        assert_equal 0 [r latency reset nosuch]
        assert_equal 1 [r latency reset command nosuch]
        assert_equal {} [r latency latest]
        assert_equal 0 [r latency reset]
        assert_match "No latency spike*" [r latency doctor]
    }

    test {LATENCY: commands of scripts and transactions count, and so do scripts and transactions as a whole} {
        r latency reset
        r eval {local t = os.clock() while os.clock() - t < 0.041 do end} 0
        # Other commands can be slow as well, on a busy machine: the longest is meant.
        set longest [lsearch -inline -index 0 [r latency latest] command]
        assert_morethan_equal [lindex $longest 3] 40
    }

    test {LATENCY: nothing is noted while the threshold is 0} {
        r config set latency-monitor-threshold 0
        r latency reset
        r debug sleep 0.05
        assert_equal {} [r latency latest]
        assert_match "Latency monitoring is disabled*" [r latency doctor]
        assert_error "*argument must be between 0 and 9223372036854775807 inclusive" { r config set latency-monitor-threshold -1 }
    }

    test {LATENCY: evictions and expiry have events of their own} {
        r config set latency-monitor-threshold 1
        r config set lazyfree-lazy-eviction no
        r config set maxmemory-policy allkeys-random
        r debug populate 5 big 50000000
        r latency reset
        r eval {for i = 1, 300000 do redis.call('sadd', 'bigset', i .. 'x') end} 0
        r config set maxmemory 1
        wait_for_condition 200 50 {[r dbsize] == 0} else { fail "evictions stop" }
        r config set maxmemory 0
        set events [lmap e [r latency latest] { lindex $e 0 }]
        assert {"eviction-cycle" in $events} $events
        assert {"eviction-del" in $events} $events
        r config set latency-monitor-threshold 0
    }
}

start_server {tags {latency needs:debug} overrides {appendonly yes appendfsync always latency-monitor-threshold 1}} {
    # Hardly any disk takes less than a millisecond for all of these; the test continues until it sees an event.
    test {LATENCY: writes and syncs of the append-only file have events} {
        set value [string repeat x 4000000]
        wait_for_condition 1000 10 {[r set k $value] eq "OK" && [string match *aof-fsync-always* [r latency latest]] && [string match *aof-write* [r latency latest]]} else {
            fail [r latency latest]
        }
        set events [lmap e [r latency latest] { lindex $e 0 }]
        assert {"aof-write" in $events} $events
        assert {[llength [lsearch -all $events aof-write-*]] > 0} $events
    }
}

# The map of a command in LATENCY HISTOGRAM's reply.
proc histogram {name args} {
    set reply [r latency histogram {*}$args]
    return [expr {[dict exists $reply $name] ? [dict get $reply $name] : {}}]
}

start_server {tags {latency needs:debug}} {
    test {LATENCY HISTOGRAM: calls that took up to a limit} {
        r config resetstat
        for {set i 0} {$i < 10} {incr i} { r set k v }
        r debug sleep 0.05
        set h [histogram set]
        assert_equal 10 [dict get $h calls]
        set limits [dict keys [dict get $h histogram_usec]]
        assert_equal [lsort -integer $limits] $limits
        foreach limit $limits { assert {$limit in {1 2 4 8 16 33 66 132 264 528 1056 2113 4227 8454 16908 33816 67633 135266 270532 541065 1082130}} $limit }
        assert_equal 10 [lindex [dict values [dict get $h histogram_usec]] end] "the counts add up"
        set slow [dict get [histogram debug] histogram_usec]
        assert_equal 1 [lindex $slow 1]
        assert_morethan_equal [lindex $slow 0] 67633
    }

    test {LATENCY HISTOGRAM of some commands, and of containers} {
        r config resetstat
        r set k v
        r get k
        r client id
        r client getname
        assert_equal {get set} [lsort [dict keys [r latency histogram get set]]]
        assert_equal {client|getname client|id} [lsort [dict keys [r latency histogram CLIENT]]]
        assert_equal client|id [dict keys [r latency histogram client|id nosuch lpush]]
        assert_equal {} [r latency histogram nosuch]
        assert {"get" in [dict keys [r latency histogram]]}
    }

    test {LATENCY HISTOGRAM in RESP3 is made of maps} {
        r config resetstat
        r hello 3
        r get k
        assert_match "get {calls 1 histogram_usec {* 1}}" [r latency histogram get]
        r hello 2
    }

    test {INFO latencystats: percentiles as configured} {
        r config resetstat
        r get k
        assert_match "*latency_percentiles_usec_get:p50=*,p99=*,p99.9=*" [r info latencystats]
        r config set latency-tracking-info-percentiles "0 50 50.5 100"
        assert {[regexp {latency_percentiles_usec_get:p0=([\d.]+),p50=([\d.]+),p50.5=([\d.]+),p100=([\d.]+)\r?\n} [r info latencystats] -> a b c d]}
        assert_equal "$b $c" "$d $d" "one call, so all but p0 agree"
        assert_lessthan_equal $a $b
        assert_equal "0 50 50.5 100" [config_get latency-tracking-info-percentiles]
        r config set latency-tracking-info-percentiles ""
        assert_match "*latency_percentiles_usec_get:\r\n*" [r info latencystats]\r\n
        assert_error "*parameters should sit between*" { r config set latency-tracking-info-percentiles 101 }
        assert_error "*parameters should sit between*" { r config set latency-tracking-info-percentiles -1 }
        assert_error "*Invalid latency-tracking-info-percentiles parameters" { r config set latency-tracking-info-percentiles "50 x" }
        assert_equal "" [config_get latency-tracking-info-percentiles]
    }

    test {latency-tracking no: nothing is counted} {
        r config resetstat
        r config set latency-tracking no
        r get k
        assert_equal {} [r latency histogram get]
        assert_no_match "*percentiles*" [r info latencystats]
        r config set latency-tracking yes
        r get k
        assert_equal 1 [dict get [histogram get] calls]
    }

    test {a blocked command counts once, when it ends, and so does one that times out} {
        r del l none
        r config resetstat
        set c [valkey_deferring_client]
        $c blpop l 0
        wait_for_blocked 1
        r eval {redis.call('rpush', 'l', 'x') redis.call('lpop', 'l')} 0
        assert_no_match "*cmdstat_blpop*" [r info commandstats]
        assert_equal {} [r latency histogram blpop]
        r rpush l x
        $c read
        assert_match "*cmdstat_blpop:calls=1,*failed_calls=0*" [r info commandstats]
        $c blpop none 0.01
        $c read
        assert_match "*cmdstat_blpop:calls=2,*failed_calls=0*" [r info commandstats]
        $c client id
        set id [$c read]
        $c blpop none 0
        wait_for_blocked 1
        r client unblock $id error
        assert_error UNBLOCKED* { $c read }
        assert_match "*cmdstat_blpop:calls=3,*rejected_calls=1,failed_calls=0*" [r info commandstats]
        assert_equal 3 [dict get [histogram blpop] calls]
        $c close
    }
}
