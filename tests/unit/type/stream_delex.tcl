# XACKDEL and XDELEX (9.2 §2): replies, errors, what a group needs, propagation; and random calls beside a model, whose
# data a replica of Valkey 9.1.2 and the append-only file must have as well.

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
proc stream_ids {{key s}} { return [ids [r xrange $key - +]] }
proc stream_fact {name {key s}} { return [dict get [r xinfo stream $key] $name] }

start_server {tags {stream}} {
    # ---- XACKDEL ----

    test {XACKDEL KEEPREF acknowledges in one group and deletes; other groups keep their references (9.2 §2)} {
        fill_groups 5 {g 5 h 2}
        assert_equal {1 1} [r xackdel s g ids 2 1-0 3-0]
        assert_equal {1} [r xackdel s g keepref IDS 1 5-0]
        assert_equal [list {2-0 4-0} {2-0 4-0} {1-0 2-0}] [list [stream_ids] [pending_ids g] [pending_ids h]]
        assert_equal {2 2-0 5-0 5} [list [r xlen s] [lindex [stream_fact first-entry] 0] [stream_fact max-deleted-entry-id] [stream_fact entries-added]]
    }

    test {XACKDEL: 1 also if the entry was gone, -1 for what is not pending in this group} {
        fill_groups 5 {g 3 h 5}
        r xdel s 1-0
        assert_equal {1 1 -1 -1 -1} [r xackdel s g ids 5 1-0 2-0 4-0 9-9 2-0]
        assert_equal [list {3-0 4-0 5-0} {3-0} [ids_between 1 5]] [list [stream_ids] [pending_ids g] [pending_ids h]]
        assert_equal {-1 -1} [r xackdel s nosuch ids 2 3-0 4-0]
        assert_equal {-1 -1} [r xackdel nosuch g ids 2 3-0 4-0]
        assert_equal {-1 -1} [r xackdel s g delref ids 2 4-0 5-0]
        assert_equal [ids_between 1 5] [pending_ids h]
    }

    test {XACKDEL DELREF removes the references of all groups, whatever their last ID} {
        fill_groups 5 {g 5 h 5 i 1 j 0}
        r xgroup setid s h 0
        assert_equal {1 1 1} [r xackdel s g DELREF ids 3 1-0 2-0 4-0]
        assert_equal [list {3-0 5-0} {3-0 5-0} {3-0 5-0} {} {}] [list [stream_ids] [pending_ids g] [pending_ids h] [pending_ids i] [pending_ids j]]
        r xdel s 3-0
        assert_equal {1} [r xackdel s g delref ids 1 3-0]
        assert_equal {5-0 5-0} [list [pending_ids g] [pending_ids h]]
    }

    test {XACKDEL ACKED keeps what another group has pending, or has not read} {
        fill_groups 4 {g 4 h 2}
        assert_equal {2 2 2 2} [r xackdel s g acked ids 4 1-0 2-0 3-0 4-0]
        assert_equal [list [ids_between 1 4] {} {1-0 2-0}] [list [stream_ids] [pending_ids g] [pending_ids h]]
        assert_equal {1 1} [r xackdel s h acked ids 2 1-0 2-0]
        assert_equal {3-0 4-0} [stream_ids]
        r xgroup setid s h 3
        assert_equal {-1 -1} [r xackdel s h acked ids 2 3-0 4-0]
        # An entry that is gone and still pending elsewhere is still needed there.
        fill_groups 1 {g 1 h 1}
        r xdel s 1-0
        assert_equal {2} [r xackdel s g acked ids 1 1-0]
        assert_equal {1} [r xackdel s h acked ids 1 1-0]
    }

    test {XACKDEL ACKED: the last ID of its own group does not count, after XGROUP SETID backwards} {
        fill_groups 3 {g 3}
        r xgroup setid s g 0
        assert_equal {1 -1} [r xackdel s g acked ids 2 2-0 2-0]
        r xgroup create s h 3
        assert_equal {1} [r xackdel s g acked ids 1 1-0]
        r xgroup setid s h 2
        assert_equal {2} [r xackdel s g acked ids 1 3-0]
        assert_equal {3-0} [stream_ids]
    }

    # ---- XDELEX ----

    test {XDELEX KEEPREF deletes, and leaves all references (9.2 §2)} {
        fill_groups 5 {g 2}
        assert_equal {1 -1 1 -1} [r xdelex s ids 4 2-0 9-0 5 2-0]
        assert_equal {1} [r xdelex s KeepRef ids 1 1]
        assert_equal [list {3-0 4-0} {1-0 2-0} {3-0} {5-0}] \
            [list [stream_ids] [pending_ids g] [lindex [stream_fact first-entry] 0] [stream_fact max-deleted-entry-id]]
        assert_equal {-1 -1} [r xdelex nosuch ids 2 1 2]
        assert_equal 0 [r exists nosuch]
        assert_equal {1 1} [r xdelex s ids 2 3 4]
        assert_equal {stream 0 0-0} [list [r type s] [r xlen s] [stream_fact recorded-first-entry-id]]
    }

    test {XDELEX DELREF deletes, and removes the references of all groups} {
        fill_groups 4 {g 4 h 3}
        r xgroup setid s h 0
        assert_equal {1 1} [r xdelex s delref ids 2 1 3]
        assert_equal {{2-0 4-0} {2-0 4-0} 2-0} [list [stream_ids] [pending_ids g] [pending_ids h]]
        r xdel s 2
        assert_equal {-1 1 -1} [r xdelex s delref ids 3 2 4 4]
        assert_equal {{} {} {}} [list [stream_ids] [pending_ids g] [pending_ids h]]
    }

    test {XDELEX ACKED deletes what all groups have read and acknowledged} {
        fill_groups 4 {g 4 h 4}
        r xack s g 1 2
        r xack s h 1 3
        assert_equal {1 2 2 2} [r xdelex s acked ids 4 1 2 3 4]
        assert_equal {2-0 3-0 4-0} [stream_ids]
        r xgroup create s late 3
        r xack s g 3 4; r xack s h 2 4
        assert_equal {1 1 2} [r xdelex s acked ids 3 2 3 4]
        r xgroup setid s late 4
        assert_equal {1} [r xdelex s acked ids 1 4]
        fill_stream s 2
        assert_equal {1 1 -1} [r xdelex s acked ids 3 1 2 3] "without groups nothing is needed"
    }

    test {XDELEX ACKED: XGROUP SETID backwards blocks, and forwards frees} {
        fill_groups 3 {g 3 h 3}
        r xack s g 1 2 3
        r xack s h 1 2 3
        r xgroup setid s h 1
        assert_equal {1 2 2} [r xdelex s acked ids 3 1 2 3]
        r xgroup setid s h 2
        assert_equal {1 2} [r xdelex s acked ids 2 2 3]
        r xgroup setid s h $
        assert_equal {1} [r xdelex s acked ids 1 3]
    }

    test {XDELEX ACKED: 2 for an entry that is gone and still pending, -1 if nobody refers to it} {
        fill_groups 3 {g 3 h 3}
        r xdel s 1 2
        r xack s g 1 2
        r xack s h 2
        assert_equal {2 -1 2} [r xdelex s acked ids 3 1 2 3]
        assert_equal {1-0 3-0} [pending_ids h]
        assert_equal {-1} [r xdelex s ids 1 1]
    }

    # ---- Arguments ----

    test {XACKDEL and XDELEX: arguments (9.2 §2)} {
        fill_groups 2 {g 2}
        set state [dataset_state r]
        foreach start {{xackdel s g} {xdelex s}} {
            foreach {end error} {
                {ids 0 1} {ERR Number of IDs must be a positive integer}
                {ids -1 1} {ERR Number of IDs must be a positive integer}
                {ids x 1} {ERR Number of IDs must be a positive integer}
                {ids 1.0 1} {ERR Number of IDs must be a positive integer}
                {ids 9223372036854775808 1} {ERR Number of IDs must be a positive integer}
                {acked ids 0 1 2} {ERR Number of IDs must be a positive integer}
                {ids 2 1} {ERR syntax error}
                {ids 1 1 2} {ERR syntax error}
                {ids 4294967297 1} {ERR syntax error}
                {ids 9223372036854775807 1} {ERR syntax error}
                {delref ids 1} {ERR syntax error}
                {nosuch ids 1 1} {ERR syntax error}
                {keepref acked ids 1 1} {ERR syntax error}
                {ids 1 1 acked} {ERR syntax error}
                {acked 1 1 1} {ERR syntax error}
                {1 2 3} {ERR syntax error}
                {ids 1 x} {ERR Invalid stream ID specified as stream command argument}
                {ids 2 1 -} {ERR Invalid stream ID specified as stream command argument}
                {delref ids 3 1 2 +} {ERR Invalid stream ID specified as stream command argument}
            } {
                assert_error $error { r {*}$start {*}$end } "$start $end"
            }
            assert_error "ERR wrong number of arguments for '[lindex $start 0]' command" { r {*}$start ids 1 }
        }
        assert_same_dataset $state [dataset_state r]
        r set str x
        assert_error WRONGTYPE* { r xackdel str g ids 1 1 }
        assert_error WRONGTYPE* { r xdelex str ids 0 1 }
        # IDs are only looked at where they can mean something, as with XACK and XDEL.
        assert_equal {-1} [r xdelex nosuch ids 1 x]
        assert_equal {-1} [r xackdel s nosuch ids 1 x]
    }

    test {XACKDEL and XDELEX: IDs over many nodes, in any order} {
        config_set stream-node-max-entries 3
        fill_groups 300 {g 300 h 300}
        set even [lmap i [numbers 1 150] { string cat [expr {(2 * $i * 77) % 302}] -0 }]
        assert_equal [lrepeat 150 1] [r xackdel s g delref ids 150 {*}$even]
        set odd [lmap i [numbers 1 150] { string cat [expr {2 * $i - 1}] -0 }]
        assert_equal [list $odd $odd $odd] [list [stream_ids] [pending_ids g] [pending_ids h]]
        r xack s g {*}$odd
        assert_equal [lrepeat 150 2] [r xdelex s acked ids 150 {*}[lreverse $odd]]
        r xack s h {*}$odd
        assert_equal [lrepeat 150 1] [r xdelex s acked ids 150 {*}[lreverse $odd]]
        assert_equal {0 300-0 300} [list [r xlen s] [stream_fact max-deleted-entry-id] [stream_fact entries-added]]
        config_set stream-node-max-entries 100
    }

    # ---- Random calls beside a model ----

    # The model: `entries` and for each group `last` and `pending`, by the numbers of IDs n-0.
    proc model_new {} {
        set ::model {entries {} groups {} clock 0}
    }
    proc model_pending {group id} { return [dict exists $::model groups $group pending $id] }
    proc model_needed {id own} {
        dict for {group state} [dict get $::model groups] {
            if {[dict exists $state pending $id] || ($group ne $own && $id > [dict get $state last])} { return 1 }
        }
        return 0
    }
    # What XDELEX, or XACKDEL of a group, replies for one ID.
    proc model_delete {mode id own} {
        global model
        if {$own ne {}} {
            if {![model_pending $own $id]} { return -1 }
            dict unset model groups $own pending $id
        }
        if {$mode eq "delref"} {
            foreach group [dict keys [dict get $model groups]] { dict unset model groups $group pending $id }
        }
        if {$mode eq "acked" && [model_needed $id $own]} { return 2 }
        set existed [dict exists $model entries $id]
        dict unset model entries $id
        return [expr {$existed || $own ne {} ? 1 : -1}]
    }

    # One random call; returns it and, if it is known, its reply.
    proc model_step {} {
        global model
        set groups [dict keys [dict get $model groups]]
        set group [randomElement {g h i}]
        set clock [dict get $model clock]
        set ids [lmap i [numbers 1 [randomRange 1 12]] { randomRange [expr {max(1, $clock - 40)}] [expr {$clock + 2}] }]
        if {$group ni $groups} {
            dict set model groups $group [dict create last 0 pending {}]
            return [list [list xgroup create s $group 0 mkstream] OK]
        }
        switch [randomElement {add add add read read read read delex delex ackdel ackdel ack del setid}] {
            add {
                dict incr model clock
                dict set model entries [dict get $model clock] 1
                return [list [list xadd s [dict get $model clock]-0 f v] [dict get $model clock]-0]
            }
            read {
                set count [randomRange 1 8]
                set taken [lrange [lmap id [lsort -integer [dict keys [dict get $model entries]]] {
                    if {$id <= [dict get $model groups $group last]} continue
                    set id
                }] 0 [expr {$count - 1}]]
                foreach id $taken {
                    dict set model groups $group pending $id 1
                    dict set model groups $group last $id
                }
                return [list [list xreadgroup group $group c[randomInt 2] count $count streams s >]]
            }
            ack {
                set n 0
                foreach id $ids {
                    incr n [model_pending $group $id]
                    dict unset model groups $group pending $id
                }
                return [list [list xack s $group {*}$ids] $n]
            }
            del {
                set n 0
                foreach id $ids {
                    incr n [dict exists $model entries $id]
                    dict unset model entries $id
                }
                return [list [list xdel s {*}$ids] $n]
            }
            setid {
                set to [randomRange [expr {max(0, $clock - 20)}] $clock]
                dict set model groups $group last $to
                return [list [list xgroup setid s $group $to-0] OK]
            }
            delex {
                set mode [randomElement {keepref delref acked}]
                return [list [list xdelex s $mode ids [llength $ids] {*}$ids] [lmap id $ids { model_delete $mode $id {} }]]
            }
            ackdel {
                set mode [randomElement {keepref delref acked}]
                return [list [list xackdel s $group $mode ids [llength $ids] {*}$ids] [lmap id $ids { model_delete $mode $id $group }]]
            }
        }
    }
    proc model_run {level steps} {
        model_new
        r $level del s
        for {set i 0} {$i < $steps} {incr i} {
            lassign [model_step] command expected
            set actual [r $level {*}$command]
            if {$expected ne {}} { assert_equal $expected $actual $command }
        }
        set entries [lmap id [lsort -integer [dict keys [dict get $::model entries]]] { string cat $id -0 }]
        assert_equal $entries [ids [r $level xrange s - +]]
        dict for {group state} [dict get $::model groups] {
            set pending [lmap id [lsort -integer [dict keys [dict get $state pending]]] { string cat $id -0 }]
            assert_equal $pending [ids [r $level xpending s $group - + 10000]] $group
        }
    }

    test {XACKDEL and XDELEX: random calls give what a model gives (9.2 §2)} {
        foreach size {2 7 100} {
            config_set stream-node-max-entries $size
            model_run 0 1500
        }
        config_set stream-node-max-entries 100
    }
}

# ---- Transactions, events, propagation ----

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always auto-aof-rewrite-percentage 0 save {}} tags {stream needs:debug}} {
        proc written {args} {
            set before [llength [aof_commands]]
            r {*}$args
            return [lrange [aof_commands] $before end]
        }
        r select 0
        r set first x

        test {XACKDEL and XDELEX are propagated as XACK and XDEL (9.2 §2)} {
            fill_groups 9 {g 9 h 5 i 0}
            assert_equal {MULTI {XACK s g 1 2-0} {XDEL s 1 2-0} EXEC} [written xackdel s g ids 3 1 2-0 77]
            assert_equal {{XDEL s 3}} [written xdelex s ids 2 3 77]
            assert_equal {MULTI {XACK s g 3} {XACK s h 3} EXEC} [written xdelex s delref ids 2 3 77] "only references are cleared"
            assert_equal {MULTI {XACK s g 4 5} {XACK s h 4 5} {XDEL s 4 5} EXEC} [written xackdel s g delref ids 2 4 5]
            assert_equal {{XACK s g 6}} [written xackdel s g acked ids 1 6] "it is kept"
            assert_equal {} [written xdelex s acked ids 2 7 8]
            assert_equal {} [written xackdel s g ids 1 77]
            assert_equal {{XACK s h 1 2}} [written xackdel s h keepref ids 2 1 2] "they were gone"
            r xgroup setid s h 9
            r xgroup setid s i 9
            assert_equal {MULTI {XACK s g 8} {XDEL s 8} EXEC} [written xackdel s g acked ids 1 8]
            assert_equal {{XDEL s 6}} [written xdelex s acked ids 2 6 9]
        }

        test {XACKDEL and XDELEX in transactions and scripts} {
            fill_groups 6 {g 6 h 6}
            r multi
            r xackdel s g ids 2 1 9
            r xdelex s delref ids 1 2
            assert_equal {{1 -1} 1} [r exec]
            assert_equal {1 2} [r eval {return server.call('XACKDEL', KEYS[1], 'g', 'ACKED', 'IDS', 1, 3)[1] == 2 and
                {1, server.call('XDELEX', KEYS[1], 'ACKED', 'IDS', 1, 4)[1]}} 1 s]
            assert_equal [list [ids_between 3 6] [ids_between 4 6] {1-0 3-0 4-0 5-0 6-0}] [list [stream_ids] [pending_ids g] [pending_ids h]]
        }

        test {XACKDEL and XDELEX: the file brings the same data back, other sizes of nodes included} {
            foreach {size other} {2 50 50 3} {
                config_set stream-node-max-entries $size
                model_run 0 600
                set before [dataset_state r]
                config_set stream-node-max-entries $other
                r debug loadaof
                assert_same_dataset $before [dataset_state r]
            }
        }
    }

    start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
        test {XACKDEL and XDELEX: a replica of 9.1.2 has the same data (9.2 §2)} {
            follow replica primary
            # What is pending, its times included, consumers, counters.
            proc state_at {name} {
                set client [srv [at $name] client]
                return [list [r [at $name] xrange s - +] [dataset_more $client stream s]]
            }
            foreach size {2 30} {
                r [at primary] config set stream-node-max-entries $size
                model_run [at primary] 800
                wait_for_offset replica primary
                assert_equal [state_at primary] [state_at replica]
            }
            # Only references are cleared.
            r [at primary] del s
            foreach id {1 2 3} { r [at primary] xadd s $id-0 f v }
            foreach group {g h} { r [at primary] xgroup create s $group 0; r [at primary] xreadgroup group $group c streams s > }
            r [at primary] xdel s 1 2
            assert_equal {-1 -1} [r [at primary] xdelex s delref ids 2 1 2]
            wait_for_offset replica primary
            assert_equal {3-0 3-0} [list [ids [r [at replica] xpending s g - + 10]] [ids [r [at replica] xpending s h - + 10]]]
            assert_equal [state_at primary] [state_at replica]
        }
    }

    test {9.1.2 reads the file that XACKDEL, XDELEX, INCREX, DELEX and SET IFNE have written (9.2 §2, §3)} {
        if {[valkey_oracle] eq {}} { skip "no Valkey 9.1 here" }
        proc state_of_all {} {
            set client [srv client]
            return [list [r xrange s - +] [dataset_more $client stream s] [lmap key {a b c d} { list [r get $key] [r pexpiretime $key] }]]
        }
        set dir $::work_dir/since_9_1
        file mkdir $dir
        start_server [list overrides [list dir $dir appendonly yes appendfsync always]] {
            model_run 0 500
            r increx a byfloat 0.1 ex 1000
            r increx b byint 7 pxat 4102444800123
            r increx b ubound 5 saturate persist
            r set c 1 ifne 2 px 1000000
            r set c 3 ifne 2 keepttl get
            r set c 4 ifne 2 keepttl
            r set d 1
            r delex d ifne 2
            set ours [state_of_all]
        }
        start_server [list executable [valkey_oracle] overrides [list dir $dir appendonly yes]] {
            assert_equal $ours [state_of_all]
        }
    }
}
