# XNACK, after the descriptions that clients of Redis 8.8 have of it: a consumer gives entries back.

source [file join [file dirname [info script]] stream_util.tcl]
source [file join $::support dataset.tcl]
source [file join [file dirname [file dirname [file normalize [info script]]]] persist aof_util.tcl]

proc fill_group {n given} {
    fill_stream s $n
    r xgroup create s g 0
    if {$given} { r xreadgroup group g c count $given streams s > }
}
# {id consumer deliveries} of each entry that is pending.
proc owners {} { return [join [lmap entry [r xpending s g - + 1000] { list [lindex $entry 0] [lindex $entry 1] [lindex $entry 3] }]] }

start_server {tags {stream}} {
    test {XNACK: SILENT takes a delivery back, FAIL leaves the count, FATAL sets it to the highest} {
        fill_group 4 4
        r xclaim s g c 0 1 2 3 retrycount 5
        assert_equal 1 [r xnack s g SILENT IDS 1 1]
        assert_equal 2 [r xnack s g fail ids 2 2 4-0]
        assert_equal 1 [r xnack s g FATAL ids 1 3-0]
        assert_equal {1-0 {} 4 2-0 {} 5 3-0 {} 9223372036854775807 4-0 {} 1} [owners]
        assert_equal 1 [r xnack s g silent ids 1 4]
        assert_equal 1 [r xnack s g silent ids 1 4]
        assert_equal {4-0 {} 0} [lrange [owners] 9 end]
        assert_equal 3 [r xnack s g fatal ids 3 1 2 3 RETRYCOUNT 7]
        assert_equal {1-0 {} 7 2-0 {} 7 3-0 {} 7 4-0 {} 0} [owners]
        assert_equal {{{s {}}} {4 1-0 4-0 {}}} [list [r xreadgroup group g c streams s 0] [r xpending s g]]
        set group [lindex [dict get [r xinfo stream s full] groups] 0]
        assert_equal {4 4} [list [dict get $group nacked-count] [dict get $group pel-count]]
        r xclaim s g c 0 1 2 3 4
        assert_equal {4 1-0 4-0 {{c 4}}} [r xpending s g]
        assert_equal 0 [dict exists [lindex [dict get [r xinfo stream s full] groups] 0] nacked-count]
        # A consumer that somebody has given the empty name is one like any other.
        r xclaim s g {} 0 1 2
        assert_equal {4 1-0 4-0 {{{} 2} {c 2}}} [r xpending s g]
    }

    test {XNACK: whoever claims next has the entry, the first of all} {
        fill_group 3 3
        r xclaim s g c 0 1 idle 100000
        r xnack s g fail ids 1 2
        assert_equal {2-0 1 1-0 2} [join [lmap entry [lindex [r xreadgroup group g d claim 50000 streams s >] 0 1] { list [lindex $entry 0] [lindex $entry 3] }]]
        r xnack s g fail ids 1 3
        assert_equal {3-0} [ids [lindex [r xautoclaim s g e 1000000000 0] 1]]
        assert_equal {1-0 d 3 2-0 d 2 3-0 e 2} [owners]
        set c [blocked_client xreadgroup group g f block 0 claim 100000000 streams s >]
        assert_equal 1 [r xnack s g silent ids 1 2]
        assert_equal 2-0 [lindex [answer $c] 0 1 0 0]
        # The highest count stays.
        r xnack s g fatal ids 1 2
        r xclaim s g d 0 2
        r xreadgroup group g d streams s 0
        r xnack s g fail ids 1 2
        r xreadgroup group g d claim 100000 streams s >
        assert_equal {2-0 d 9223372036854775807} [lrange [owners] 3 5]
    }

    test {XNACK: what is not pending is not counted; FORCE makes it pending} {
        fill_group 5 2
        assert_equal 0 [r xnack s g fail ids 2 3 77]
        assert_equal {1-0 c 1 2-0 c 1} [owners]
        assert_equal {c} [lmap consumer [r xinfo consumers s g] { dict get $consumer name }]
        assert_equal 2 [r xnack s g fail ids 3 3 2 77 force]
        assert_equal 1 [r xnack s g fail ids 1 4 FORCE retrycount 3]
        assert_equal {1-0 c 1 2-0 {} 1 3-0 {} 0 4-0 {} 3} [owners]
        # Entries that are gone from the stream are pending no more, as with XCLAIM.
        r xdel s 1 2
        assert_equal 0 [r xnack s g fail ids 2 1 2 force]
        assert_equal {3-0 {} 0 4-0 {} 3} [owners]
    }

    test {XNACK: errors} {
        fill_group 2 2
        foreach {args error} {
            {lost ids 1 1} {ERR syntax error}
            {fail id 1 1} {ERR syntax error}
            {fail ids 2 1} {ERR syntax error}
            {fail ids 1 1 2} {ERR syntax error}
            {fail ids 4294967297 1} {ERR syntax error}
            {fail ids 1 1 retrycount} {ERR syntax error}
            {fail ids 0 1} {ERR Number of IDs must be a positive integer}
            {fail ids x 1} {ERR Number of IDs must be a positive integer}
            {fail ids 1 1 retrycount -1} {ERR RETRYCOUNT must be >= 0}
            {fail ids 1 1 retrycount x} {ERR RETRYCOUNT must be >= 0}
            {fail ids 2 1 x} {ERR Invalid stream ID specified as stream command argument}
        } {
            assert_error $error { r xnack s g {*}$args } $args
        }
        assert_error {ERR wrong number of arguments for 'xnack' command} { r xnack s g fail ids 1 }
        assert_error NOGROUP* { r xnack s nosuch fail ids 1 1 }
        assert_error NOGROUP* { r xnack nosuch g fail ids 1 1 }
        r set str x
        assert_error WRONGTYPE* { r xnack str g fail ids 1 1 }
        assert_equal {1-0 c 1 2-0 c 1} [owners]
    }
}

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always auto-aof-rewrite-percentage 0 save {}} tags {stream needs:debug}} {
        test {XNACK is propagated as XCLAIM for the consumer without a name} {
            fill_group 3 3
            r xdel s 2
            set before [llength [aof_commands]]
            assert_equal 1 [r xnack s g silent ids 2 1 2]
            assert_equal {MULTI {XGROUP CREATECONSUMER s g {}} {XCLAIM s g {} 0 1-0 TIME 0 RETRYCOUNT 0 FORCE JUSTID LASTID 3-0} {XACK s g 2-0} EXEC} [lrange [aof_commands] $before end]
            r xnack s g fatal ids 1 3
            r xclaim s g c 0 3
            set before [dataset_state r]
            r debug loadaof
            assert_same_dataset $before [dataset_state r]
            r debug reload
            assert_same_dataset $before [dataset_state r]
        }
    }

    start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
        test {XNACK: a replica of 9.1.2 has the same data} {
            follow replica primary
            set primary [srv [at primary] client]
            foreach id [numbers 1 100] { $primary xadd s $id-0 n $id }
            $primary xgroup create s g 0
            $primary xreadgroup group g c count 60 streams s >
            for {set i 0} {$i < 200} {incr i} {
                $primary xnack s g [randomElement {silent fail fatal}] ids 2 [randomRange 1 100] [randomRange 1 100] {*}[randomElement {{} force {retrycount 3}}]
                $primary xreadgroup group g d[randomInt 2] count 1 claim 100000 streams s >
                if {![randomInt 3]} { $primary xack s g [randomRange 1 100] }
                if {![randomInt 9]} { $primary xdel s [randomRange 1 100] }
            }
            wait_for_offset replica primary
            foreach name {primary replica} { lappend states [dataset_more [srv [at $name] client] stream s] }
            assert_equal [lindex $states 0] [lindex $states 1]
        }
    }
}
