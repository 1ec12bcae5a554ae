# Snapshots without a fork of a node of a cluster: each slot has a table of its own, which may be very large beside the
# others, and may be dropped as a whole.
source [file join [file dirname [info script]] rdb_util.tcl]

tags {external:skip needs:debug} {
    start_server {overrides {cluster-enabled yes save {} bgsave-default-method forkless}} {
        r cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "the cluster is not up" }

        proc start_slow_save {} {
            r config set rdb-key-save-delay 1000000
            assert_match "Background saving started" [r bgsave]
        }
        proc finish_and_reload {} {
            r config set rdb-key-save-delay 0
            wait_for_save
            assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
            r debug reload nosave
        }

        test {nearly all keys are in one slot: all of them are in the file, whatever is changed meanwhile} {
            r flushall
            r debug populate 50000 "{slot}"
            for {set i 0} {$i < 100} {incr i} { r set other:$i $i }
            set before [digest]
            start_slow_save
            r set "{slot}:7" changed
            r del "{slot}:49999"
            r set "{slot}:new" 1
            r set other:1 changed
            assert_equal 1 [s rdb_bgsave_in_progress]
            finish_and_reload
            assert_equal 50100 [r dbsize]
            assert_equal $before [digest]
        }

        test {a slot that has nearly all keys is given in pieces: the main thread encodes none of them} {
            r flushall
            r debug populate 300000 "{slot}"
            assert_match "Background saving started" [r bgsave]
            wait_for_save
            assert_match "*the snapshot is complete after *: 300000 keys, *, at most 0.0 MB of old values waited*" \
                [lindex [split [exec grep "forkless-save: .* the snapshot is complete" [srv log]] \n] end]
        }

        foreach mode {sync async} {
            test "a slot that is flushed ($mode) is in the file as it was" {
                r flushall
                r debug populate 3000 "{slot}"
                r debug populate 3000 "{other}"
                foreach tag {slot other} {
                    foreach key {unread read given} {
                        r eval {for i = 1, 20000 do redis.call('sadd', KEYS[1], 'member-of-a-large-set:' .. i) end} 1 "{$tag}$key"
                    }
                }
                set before [digest]
                start_slow_save
                foreach tag {slot other} { r srem "{$tag}read" member-of-a-large-set:7 }
                assert_equal 1 [s rdb_bgsave_in_progress]
                assert_equal OK [r cluster flushslot [r cluster keyslot "{slot}"] $mode]
                assert_equal 3003 [r dbsize]
                # The memory of what was freed is used for something else.
                r eval {for i = 1, 60000 do redis.call('sadd', KEYS[1], 'another-large-set-member:' .. i) end} 1 "{slot}read"
                assert_equal 1 [s rdb_bgsave_in_progress]
                finish_and_reload
                assert_equal $before [digest]
            }
        }
    }
}
