# The database in which modules work when no client's command runs (tests/modules/databases.c), compared with the
# oracle: the keys that exist then, and the append-only file.

source -encoding utf-8 $::support/module.tcl

set file_options {overrides {appendonly yes aof-use-rdb-preamble no appendfsync no save {} notify-keyspace-events {}}}
beside_modules {databases} $file_options {
    proc everything {level} {
        set all {}
        for {set db 0} {$db < 9} {incr db} {
            r $level select $db
            foreach key [lsort [r $level keys *]] {
                lappend all [list $db $key [expr {[r $level type $key] eq {string} ? [r $level get $key] : {}}]]
            }
        }
        return $all
    }

    proc file_path {level} {
        return [lindex [lsort [glob [lindex [r $level config get dir] 1]/appendonlydir/*.incr.aof]] end]
    }

    # Each test begins with no keys, in database 3, with 0 selected in the files; what the files held before, also after a
    # test that failed, is not compared again.
    proc begin {} {
        both select 0
        both flushall
        both select 3
        foreach kind {ours valkey} { set ::file_start($kind) [file size [file_path [at $kind]]] }
    }

    # What has been added to the file since the test began. Times differ between the servers.
    proc file_text {kind} {
        set text [string range [read_file [file_path [at $kind]]] $::file_start($kind) end]
        set words [regexp -all -inline {\$\d+\r\n([^\r]*)} $text]
        return [lmap {all word} $words { expr {[string length $word] > 12 && [string is wideinteger $word] ? {time} : $word} }]
    }

    proc same_everywhere {key db} {
        foreach kind {ours valkey} {
            r [at $kind] select $db
            wait_for_condition 100 50 {[r [at $kind] exists $key]} else { fail "$kind: no $key in $db, but [everything [at $kind]]" }
        }
        assert_equal [everything [at valkey]] [everything [at ours]]
        assert_equal [file_text valkey] [file_text ours]
        both flushall
        both select 3
    }

    test {jobs behind events} {
        begin
        both set event x
        same_everywhere job 3
        both get event-missing
        both multi
        both set event1 x
        both select 4
        both set event2 x
        both exec
        same_everywhere job 4
        both eval {redis.call('select', 5) return redis.call('set', 'event', 'x')} 0
        same_everywhere job 5
        both set event x
        both copy event event-copy db 8
        same_everywhere job 8
    }

    test {a job that was added at an expiry runs with its deletion} {
        begin
        both set event x px 1
        foreach kind {ours valkey} {
            wait_for_condition 100 50 {[r [at $kind] dbsize] == 1} else { fail "$kind: it does not expire" }
        }
        same_everywhere job 3
    }

    test {threads with and without a blocked client, and timers, use the right database} {
        begin
        assert_equal 2 [both databases.thread]
        same_everywhere freed 3
        foreach kind {ours valkey} {
            set c [valkey_client [at $kind]]
            $c hello 3
            $c select 3
            assert_equal 3 [$c databases.thread] $kind
            $c close
        }
        same_everywhere freed 3
        both databases.detach
        same_everywhere detached 0
        both databases.timer
        same_everywhere timer 3
        both databases.timer 7
        same_everywhere timer 7
    }

    test {a call that has blocked replies in the right database} {
        begin
        both databases.wait list
        both lpush list x
        same_everywhere unblocked 3
    }

    # The last one, as the order in the files is another: 9.1.2 frees before it calls the handler of the call.
    test {the function that frees the data of a blocked call runs in the database of the call} {
        both databases.inner
        foreach kind {ours valkey} {
            foreach key {freed unblocked} {
                wait_for_condition 100 50 {[r [at $kind] exists $key]} else { fail "$kind: no $key, but [everything [at $kind]]" }
            }
        }
        assert_equal [everything [at valkey]] [everything [at ours]]
    }
}
