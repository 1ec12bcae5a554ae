# XADD and XTRIM with KEEPREF, DELREF and ACKED, as Redis has them since 8.2: what they remove, errors, propagation. Data of
# random calls are those of a replica of Valkey 9.1.2 and of the append-only file as well.

source [file join [file dirname [info script]] stream_util.tcl]
source [file join $::support dataset.tcl]
source [file join [file dirname [file dirname [file normalize [info script]]]] persist aof_util.tcl]

# A stream s with entries 1-0 to n-0; each group has been given so many of them by consumer c.
proc fill_groups {n given} {
    fill_stream s $n
    dict for {group count} $given {
        r xgroup create s $group 0
        if {$count} { r xreadgroup group $group c count $count streams s > }
    }
}
proc pending_ids {group {key s}} { return [ids [r xpending $key $group - + 10000]] }
proc numbers_of {ids} { return [lmap id $ids { lindex [split $id -] 0 }] }
# The numbers of entries of s, and of what is pending in each group.
proc left {args} {
    set all [list [numbers_of [ids [r xrange s - +]]]]
    foreach group $args { lappend all [numbers_of [pending_ids $group]] }
    return $all
}
proc stream_fact {name {key s}} { return [dict get [r xinfo stream $key] $name] }

start_server {tags {stream}} {
    # ---- What is removed ----

    test {XTRIM KEEPREF leaves what is pending; it is the same as no mode} {
        fill_groups 10 {g 5 h 9}
        assert_equal 7 [r xtrim s MAXLEN 3 KEEPREF]
        assert_equal {{8 9 10} {1 2 3 4 5} {1 2 3 4 5 6 7 8 9}} [left g h]
        assert_equal 1 [r xtrim s keepref minid = 9]
    }

    test {XTRIM DELREF removes what is pending of the entries that it removes, in all groups} {
        fill_groups 10 {g 5 h 9}
        r xdel s 2
        assert_equal 6 [r xtrim s DELREF MAXLEN 3]
        assert_equal {{8 9 10} 2 {2 8 9}} [left g h]
        assert_equal 1 [r xtrim s minid 9 delref]
        assert_equal {{9 10} 2 {2 9}} [left g h]
        assert_equal 0 [r xtrim s minid 9 delref]
    }

    test {XTRIM ACKED removes what all groups have read and acknowledged, also behind entries that it keeps} {
        fill_groups 10 {g 10}
        assert_equal 0 [r xtrim s maxlen 5 acked]
        r xack s g 1 3 5 7 9
        assert_equal 2 [r xtrim s maxlen 8 acked]
        assert_equal {{2 4 5 6 7 8 9 10} {2 4 6 8 10}} [left g]
        assert_equal {2-0 10} [list [stream_fact recorded-first-entry-id] [stream_fact entries-added]]
        assert_equal 1 [r xtrim s minid 6 acked]
        assert_equal 2 [r xtrim s maxlen 0 acked]
        assert_equal {{2 4 6 8 10} {2 4 6 8 10}} [left g]
        fill_groups 10 {g 5 h 4}
        r xack s g 1 2 3 5
        r xack s h 1 3 4
        assert_equal 2 [r xtrim s maxlen 0 acked]
        assert_equal {{2 4 5 6 7 8 9 10} 4 2} [left g h]
        r xgroup setid s h 0
        r xack s g 4
        r xack s h 2
        assert_equal 0 [r xtrim s maxlen 0 acked] "h would be given all of them again"
        r xgroup destroy s h
        assert_equal 3 [r xtrim s maxlen 0 acked]
        r xgroup destroy s g
        assert_equal 3 [r xtrim s maxlen 2 acked] "nobody needs them"
        assert_equal {{9 10}} [left]
    }

    test {XTRIM ACKED leaves the lag of groups as it is} {
        fill_groups 10 {g 5}
        r xack s g 1 3 5
        assert_equal 3 [r xtrim s maxlen 0 acked]
        assert_equal {5 5} [list [dict get [lindex [r xinfo groups s] 0] entries-read] [dict get [lindex [r xinfo groups s] 0] lag]]
        r xreadgroup group g c count 1 streams s >
        assert_equal {6 4} [list [dict get [lindex [r xinfo groups s] 0] entries-read] [dict get [lindex [r xinfo groups s] 0] lag]]
        assert_equal 0-1 [stream_fact max-deleted-entry-id]
        r xdel s 6
        r xack s g 2
        r xtrim s maxlen 0 acked
        assert_equal 6-0 [stream_fact max-deleted-entry-id]
    }

    test {XTRIM with DELREF or ACKED: an approximate trim keeps its limit, and else removes exactly} {
        config_set stream-node-max-entries 2
        fill_groups 10 {g 10}
        assert_equal 2 [r xtrim s maxlen ~ 3 limit 3 delref]
        assert_equal 5 [r xtrim s maxlen ~ 3 delref]
        assert_equal {{8 9 10} {8 9 10}} [left g]
        fill_groups 10 {g 10}
        r xack s g 1 3 4 5 6 7 8 9
        assert_equal 0 [r xtrim s acked limit 1 maxlen ~ 3]
        assert_equal 3 [r xtrim s maxlen ~ 3 acked limit 4]
        assert_equal 1 [r xtrim s minid ~ 6 acked]
        assert_equal {{2 6 7 8 9 10} {2 10}} [left g]
        assert_equal 2 [r xtrim s maxlen ~ 3 limit 2 keepref] "whole nodes, as without a mode"
        fill_groups 10 {g 10}
        r xack s g 5
        assert_equal 0 [r xtrim s maxlen 9 acked] "the first node could not go as a whole, and has nothing to remove"
        config_set stream-node-max-entries 100
    }

    test {XADD with DELREF or ACKED trims like XTRIM; without a strategy they mean nothing} {
        fill_groups 5 {g 5}
        assert_equal 6-0 [r xadd s DELREF 6-0 f v]
        assert_equal {{1 2 3 4 5 6} {1 2 3 4 5}} [left g]
        assert_equal 7-0 [r xadd s maxlen 4 delref 7-0 f v]
        assert_equal {{4 5 6 7} {4 5}} [left g]
        r xack s g 5
        assert_equal 8-0 [r xadd s acked nomkstream minid 6 8-0 f v]
        assert_equal {{4 6 7 8} 4} [left g]
        r del s
        assert_equal 1-0 [r xadd s acked maxlen 0 1-0 f v]
        assert_equal {{}} [left]
        assert_equal {} [r xadd nosuch acked nomkstream maxlen 0 1-0 f v]
        assert_equal 0 [r exists nosuch]
    }

    test {XTRIM MINID removes a node that has no entry left, too} {
        foreach mode {{} keepref delref acked} {
            fill_stream s 3
            r xdel s 3
            assert_equal 2 [r xtrim s minid = 3 {*}$mode]
            assert_equal {0 1} [list [r xlen s] [stream_fact radix-tree-keys]]
            assert_equal 0 [r xtrim s minid ~ 4 {*}$mode]
            assert_equal 0 [stream_fact radix-tree-keys] $mode
            assert_equal 4-0 [r xadd s 4-0 f v]
        }
    }

    test {XADD and XTRIM with a mode: errors} {
        fill_groups 5 {g 5}
        foreach {command error} {
            {xadd s acked acked 9 f v} {ERR Invalid stream ID specified as stream command argument}
            {xadd s keepref delref 9 f v} {ERR Invalid stream ID specified as stream command argument}
            {xadd s acked 9 f} {ERR wrong number of arguments for 'xadd' command}
            {xadd s acked maxlen 1} {ERR wrong number of arguments for 'xadd' command}
            {xadd s acked limit 4 9 f v} {ERR syntax error, LIMIT cannot be used without specifying a trimming strategy}
            {xadd s maxlen 2 limit 3 acked 9 f v} {ERR syntax error, LIMIT cannot be used without the special ~ option}
            {xtrim s acked} {ERR wrong number of arguments for 'xtrim' command}
            {xtrim s acked acked} {ERR syntax error}
            {xtrim s acked maxlen} {ERR syntax error}
            {xtrim s keepref maxlen 1 keepref} {ERR syntax error}
            {xtrim s delref maxlen 1 acked} {ERR syntax error}
            {xtrim s acked maxlen -1} {ERR The MAXLEN argument must be >= 0.}
            {xtrim s acked limit 1} {ERR syntax error, LIMIT cannot be used without specifying a trimming strategy}
            {xtrim s acked maxlen 1 minid 1} {ERR syntax error, MAXLEN and MINID options at the same time are not compatible}
        } {
            assert_error $error { r {*}$command } $command
        }
        assert_equal {{1 2 3 4 5} {1 2 3 4 5}} [left g]
        r set str x
        assert_error WRONGTYPE* { r xtrim str acked maxlen 1 }
    }

    # ---- Random calls ----

    proc random_step {level} {
        set id [incr ::clock]
        set some [lmap i [numbers 1 [randomRange 1 12]] { randomRange [expr {max(1, $id - 40)}] $id }]
        set mode [randomElement {keepref delref acked acked}]
        set operator [randomElement {= ~ {~ limit}}]
        set limit [expr {[llength $operator] == 2 ? [list limit [randomRange 1 12]] : {}}]
        set trim [randomElement [list [list maxlen [lindex $operator 0] [randomRange 0 30]] [list minid [lindex $operator 0] [expr {max(0, $id - [randomRange 0 30])}]]]]
        switch [randomElement {add add add add read read read read ack ack ack addtrim trim del setid}] {
            add { r $level xadd s $id-0 f v }
            addtrim { r $level xadd s {*}$trim {*}$limit $mode $id-* f v }
            trim { r $level xtrim s $mode {*}$trim {*}$limit }
            read { catch { r $level xreadgroup group [randomElement {g h}] c[randomInt 2] count [randomRange 1 10] streams s > } }
            ack { r $level xack s [randomElement {g h}] {*}$some }
            del { r $level xdel s [lindex $some 0] }
            setid { if {![randomInt 8]} { catch { r $level xgroup setid s [randomElement {g h}] {$} } } }
        }
    }
    proc random_run {level steps} {
        r $level del s
        foreach group {g h} { r $level xgroup create s $group 0 mkstream }
        set ::clock 0
        for {set i 0} {$i < $steps} {incr i} { random_step $level }
        assert {[r $level xlen s] < $::clock}
    }
}

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always auto-aof-rewrite-percentage 0 save {}} tags {stream needs:debug}} {
        proc written {args} {
            set before [llength [aof_commands]]
            r {*}$args
            return [lrange [aof_commands] $before end]
        }
        r select 0
        r set first x

        test {XADD and XTRIM with a mode are propagated in words of older servers} {
            fill_groups 10 {g 10 h 4}
            assert_equal {{XTRIM s MAXLEN = 9}} [written xtrim s maxlen 9 keepref]
            assert_equal {MULTI {XACK s g 2-0 3-0} {XACK s h 2-0 3-0} {XTRIM s MINID = 4-0} EXEC} [written xtrim s minid 4 delref]
            r xack s g 4
            r xack s h 4
            assert_equal {{XTRIM s MINID = 5-0}} [written xtrim s delref minid ~ 5] "nobody has it pending"
            fill_groups 10 {g 10}
            r xack s g 1 2
            assert_equal {{XTRIM s MAXLEN = 8}} [written xtrim s maxlen 5 acked] "without gaps it is a trim"
            r xack s g 3 5 6 8
            assert_equal {MULTI {XTRIM s MINID = 4-0} {XDEL s 5-0 6-0 8-0} {XSETID s 10-0 ENTRIESADDED 10 MAXDELETEDID 0-1} EXEC} [written xtrim s maxlen 0 acked]
            assert_equal {} [written xtrim s maxlen 0 acked]
            r xack s g 7
            assert_equal {MULTI {XDEL s 7-0} {XSETID s 10-0 ENTRIESADDED 10 MAXDELETEDID 0-1} EXEC} [written xtrim s maxlen 0 acked]
            r xack s g 10
            assert_equal {MULTI {XADD s 11-0 f v} {XDEL s 10-0} {XSETID s 11-0 ENTRIESADDED 11 MAXDELETEDID 0-1} EXEC} [written XADD s maxlen ~ 0 limit 0 acked 11-* f v]
            assert_equal {{XADD s MAXLEN = 4 12-0 f v}} [written XADD s MAXLEN = 1 acked 12-0 f v] "it removed nothing"
            assert_equal {{XADD s NOMKSTREAM 13-0 f v}} [written XADD s acked NOMKSTREAM 13 f v]
            assert_equal {MULTI {XACK s g 4-0 9-0} {XADD s MAXLEN = 2 14-0 f v} EXEC} [written XADD s delref MAXLEN = 2 14 f v]
        }

        test {XADD and XTRIM with a mode: the file brings the same data back, other sizes of nodes included} {
            foreach {size other} {2 50 50 3} {
                config_set stream-node-max-entries $size
                random_run 0 600
                set before [dataset_state r]
                config_set stream-node-max-entries $other
                r debug loadaof
                assert_same_dataset $before [dataset_state r]
            }
        }
    }

    start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
        test {XADD and XTRIM with a mode: a replica of 9.1.2 has the same data} {
            follow replica primary
            proc state_at {name} {
                set client [srv [at $name] client]
                return [list [r [at $name] xrange s - +] [dataset_more $client stream s]]
            }
            foreach size {2 30} {
                r [at primary] config set stream-node-max-entries $size
                random_run [at primary] 800
                wait_for_offset replica primary
                assert_equal [state_at primary] [state_at replica]
            }
        }
    }
}
