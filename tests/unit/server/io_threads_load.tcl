# The number of I/O threads: by load, and none for an idle server; and their fields in INFO.

proc io_thread_ids {} {
    set ids {}
    foreach stat [glob /proc/[srv pid]/task/*/comm] {
        set f [open $stat]
        if {[string match "io_thd_*" [read $f]]} {lappend ids [lindex [file split $stat] end-1]}
        close $f
    }
    return $ids
}

# How often any thread of the server has gone to sleep.
proc sleeps {} {
    set sum 0
    foreach status [glob /proc/[srv pid]/task/*/status] {
        set f [open $status]
        regexp {\nvoluntary_ctxt_switches:\s*(\d+)} [read $f] -> n
        close $f
        incr sum $n
    }
    return $sum
}

proc processors {} {
    set f [open /proc/self/status]
    regexp {\nCpus_allowed_list:\s*(\S+)} [read $f] -> list
    close $f
    set n 0
    foreach range [split $list ,] {
        lassign [split $range -] from to
        incr n [expr {$to eq "" ? 1 : $to - $from + 1}]
    }
    return $n
}

proc start_load {args} {
    exec [tool_path valkey-benchmark] -p [srv port] -c 20 -n 100000000 -t get -q {*}$args > /dev/null 2> /dev/null &
}

# Since {ran waited}: of the time in which the main thread wanted to run, the share in which it waited for a processor.
proc main_thread_times {} { return [lrange [read_file /proc/[srv pid]/schedstat] 0 1] }
proc waits_since {before} {
    lassign [main_thread_times] ran waited
    lassign $before ran_before waited_before
    set waited [expr {$waited - $waited_before}]
    return [expr {double($waited) / ($waited + $ran - $ran_before + 1)}]
}

start_server {overrides {io-threads 8 io-threads-always-active no save ""} tags {io-threads}} {
    test {an idle server starts no I/O thread, and hardly ever wakes} {
        r ping
        after 1000
        assert_equal {} [io_thread_ids]
        assert_equal 0 [s io_threads_active]
        set before [sleeps]
        after 2000
        assert_lessthan [expr {[sleeps] - $before}] 100
    }

    test {INFO has a field for every possible thread} {
        for {set i 1} {$i < 8} {incr i} { assert_equal 0.000000 [s used_active_time_io_thread_$i] }
        r config set io-threads 3
        assert_match "*used_active_time_main_thread:*\r\nused_active_time_io_thread_1:*\r\nused_active_time_io_thread_2:0.000000\r\n" [r info cpu]
        r config set io-threads 1
        assert_no_match "*io_thread_*" [r info cpu]
    }

    test {INFO threads has a line for the main thread and for every possible one} {
        r config resetstat
        r ping
        assert_match "# Threads\r\nio_thread_0:clients=1,reads=2,writes=2\r\n" [r info threads]
        r config set io-threads 3
        assert_match "*\r\nio_thread_1:clients=0,reads=0,writes=0\r\nio_thread_2:clients=0,reads=0,writes=0\r\n" [r info threads]
        r config set io-threads 1
        assert_match "* lib-ver= io-thread=0 tot-net-in=*" [r client info]
    }

    test {a thread starts with the load, and sleeps after it} {
        if {[processors] < 2} { skip "one processor" }
        r config set io-threads 2
        set before [main_thread_times]
        set load [start_load]
        wait_for_condition 100 100 {[s io_threads_active] == 1 && [s io_threaded_reads_processed] > 0} else {
            exec kill $load
            if {[waits_since $before] > 0.25} { skip "other programs have the processors" }
            fail "no I/O thread became active"
        }
        assert_equal 1 [llength [io_thread_ids]]
        exec kill $load
        wait_for_condition 100 100 {[s io_threads_active] == 0} else { fail "it stayed active" }
        after 1000
        set before [sleeps]
        after 2000
        assert_lessthan [expr {[sleeps] - $before}] 100
        assert_equal 1 [llength [io_thread_ids]] ;# for the next time
    }

    test {there are no more I/O threads than processors beside the main thread's} {
        if {[processors] < 2} { skip "one processor" }
        r config set io-threads 64
        set load [start_load -P 4]
        after 2000
        set ids [io_thread_ids]
        exec kill $load
        assert_lessthan [llength $ids] [processors]
    }
}

start_server {overrides {io-threads 4 io-threads-always-active yes save ""} tags {io-threads}} {
    test {INFO has counters of the threads} {
        wait_for_condition 50 100 {[s io_threads_active] == 1} else { fail "not active" }
        set clients {}
        for {set i 0} {$i < 30} {incr i} { lappend clients [valkey_client] }
        foreach c $clients { $c set key:$c value }
        foreach c $clients { for {set i 0} {$i < 20} {incr i} { $c get key:$c } }
        assert_morethan [s io_threaded_reads_processed] 600
        assert_morethan [s io_threaded_writes_processed] 600
        assert_morethan [s io_threaded_poll_processed] 100
        for {set i 1} {$i <= 3} {incr i} { assert_morethan [s used_active_time_io_thread_$i] 0 }
        set sums {clients 0 reads 0 writes 0}
        foreach line [regexp -all -inline {io_thread_[123]:\S+} [r info threads]] {
            assert_morethan [regexp {:clients=(\d+),reads=(\d+),writes=(\d+)$} $line -> n reads writes] 0 $line
            foreach {name value} [list clients $n reads $reads writes $writes] { dict incr sums $name $value }
        }
        assert_range [dict get $sums clients] 30 31
        assert_range [dict get $sums reads] 600 [s io_threaded_reads_processed]
        assert_range [dict get $sums writes] 600 [s io_threaded_writes_processed]
        set threads [regexp -all -inline { io-thread=\d } [r client list]]
        assert_morethan [llength [lsearch -all -regexp $threads {=[123] $}]] 29
        set many [valkey_deferring_client]
        for {set i 0} {$i < 50} {incr i} { append batch "GET key:$i\r\n" }
        $many write $batch
        $many flush
        for {set i 0} {$i < 50} {incr i} { $many read }
        assert_morethan [s io_threaded_total_prefetch_batches] 0
        assert_morethan_equal [s io_threaded_total_prefetch_entries] [s io_threaded_total_prefetch_batches]
        foreach c $clients { $c close }
        $many close
    }

    test {objects that I/O threads free are counted} {
        set c [valkey_client]
        $c set big [string repeat x 100000]
        for {set i 0} {$i < 20} {incr i} { assert_equal 100000 [string length [$c get big]] }
        $c close
        wait_for_condition 50 100 {[s io_threaded_freed_objects] > 0} else { fail "nothing was freed" }
    }

    test {CONFIG RESETSTAT resets the counters of the threads} {
        r config resetstat
        foreach field {reads_processed writes_processed freed_objects total_prefetch_batches total_prefetch_entries} {
            assert_lessthan [s io_threaded_$field] 10
        }
    }
}
