# Clients change far more than forkless-buffer-limit while the thread of a snapshot without a fork is held up: old values
# go to a temporary file, and the snapshot is the data of its beginning.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/faults.tcl

set ENOSPC 28
set keys 8000
set limit [expr {12 * 1024 * 1024}]
set overrides [list save {} bgsave-default-method forkless forkless-buffer-limit $limit forkless-spill-above 200kb rdbcompression no \
    list-max-listpack-size -2 repl-diskless-sync yes repl-diskless-sync-delay 0 client-output-buffer-limit "replica 0 0 0"]

proc fill {level} {
    r $level flushall
    r $level config set rdb-key-save-delay 0
    foreach from {0 4000} {
        r $level eval {for i = ARGV[1], ARGV[1] + 3999 do redis.call('set', 'key:' .. i, string.rep(i, 400)) end} 0 $from
    }
    r $level eval {for i = 1, 8000 do
        redis.call('hset', 'hash', 'f' .. i, string.rep(i, 40))
        redis.call('sadd', 'set', 'm' .. i)
        redis.call('zadd', 'zset', i, string.rep(i, 20))
        redis.call('rpush', 'list', string.rep(i, 100))
        redis.call('rpush', 'list2', string.rep(i, 100))
    end} 0
    foreach key {string string2} { r $level set $key [string repeat [randstring 50 50 alpha] 200000] }
    r $level select 9
    r $level debug populate 2000 other 1000
    r $level select 0
}

# Changes all keys and all parts of large values. Returns the most that waited in memory meanwhile.
proc change_all {level} {
    set most 0
    for {set from 0} {$from < $::keys} {incr from 200} {
        r $level eval {for i = ARGV[1], ARGV[1] + 199 do
            redis.call('append', 'key:' .. i, 'more')
            redis.call('hset', 'hash', 'f' .. i + 1, 'changed')
            redis.call('srem', 'set', 'm' .. i + 1)
            redis.call('zincrby', 'zset', 7, string.rep(i + 1, 20))
            if i % 8 == 0 then redis.call('lset', 'list', i, 'changed') redis.call('lset', 'list2', i, 'changed') end
        end
        for _, key in ipairs{'string', 'string2'} do for i = 0, 2 do redis.call('setrange', key, ARGV[1] * 1200 + i * 80000, 'changed') end end
        redis.call('select', 9)
        for i = ARGV[1] / 4, ARGV[1] / 4 + 49 do redis.call('append', 'other:' .. i, 'more') end} 0 $from
        set most [expr {max($most, [s $level mem_snapshot_buffer])}]
    }
    return $most
}

proc spilled {level} {
    regexp -line {^forkless_spilled_bytes:(.*)\r$} [r $level info debug] - bytes
    return $bytes
}

# Much more than the limit was changed, and less waited in memory.
proc assert_spilled {level most} {
    assert_morethan [spilled $level] [expr {3 * $::limit / 2}]
    assert_lessthan $most $::limit
}

# BGSAVE while everything changes, and writes to the temporary file fail from the fourth on.
proc save_without_spill_file {} {
    faults write $::ENOSPC 3 1000000 temp-spill
    r config set rdb-key-save-delay 20000000
    r bgsave
    change_all 0
    r config set rdb-key-save-delay 0
    wait_for_save
}

tags {external:skip needs:debug} {
    foreach index {skiplist btree} {
        start_server [list overrides [concat $overrides [list zset-index $index]]] {
            test "BGSAVE while the thread is held up and everything changes: the file is the data of the beginning, $index" {
                fill 0
                set before [digest]
                r config set rdb-key-save-delay 20000000
                r bgsave
                set most [change_all 0]
                assert_equal 1 [s rdb_bgsave_in_progress]
                assert_equal {} [glob -nocomplain [srv dir]/temp-spill-*]
                r config set rdb-key-save-delay 0
                wait_for_save
                assert_equal ok [s rdb_last_bgsave_status]
                assert_spilled 0 $most
                assert_equal 1 [count_log_message "forkless-save: RDB: clients change data faster than it can be written, so old values go to a temporary file"]
                r debug reload nosave
                assert_equal $before [digest]
            }

            test "a snapshot that is cancelled while old values are in the file, $index" {
                fill 0
                r config set rdb-key-save-delay 20000000
                r bgsave
                change_all 0
                assert_equal "Background saving cancelled" [r bgsave cancel]
                assert_equal 0 [s rdb_bgsave_in_progress]
                assert_equal 0 [s mem_snapshot_buffer]
                set before [digest]
                r config set rdb-key-save-delay 0
                r bgsave
                wait_for_save
                assert_equal {ok 0} [list [s rdb_last_bgsave_status] [spilled 0]]
                r debug reload nosave
                assert_equal $before [digest]
            }
        }
    }

    start_server [list overrides $overrides] {
        # Of one of them, the file would take them only from 256 KB on.
        test {old values of many large keys, of which each has little, go to the file} {
            set hashes 300
            proc change_fields {from value} {
                r eval {for k = ARGV[1], ARGV[1] + 4 do
                    for f = 1, 2500 do redis.call('hset', 'hash:' .. k, 'field:' .. f, ARGV[2] .. f) end
                end} 0 $from $value
            }
            for {set k 0} {$k < $hashes} {incr k 5} { change_fields $k [string repeat v 20] }
            set before [digest]
            r config set rdb-key-save-delay 20000000
            r bgsave
            set most 0
            for {set k 0} {$k < $hashes} {incr k 5} {
                change_fields $k changed
                set most [expr {max($most, [s mem_snapshot_buffer])}]
            }
            r config set rdb-key-save-delay 0
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
            assert_spilled 0 $most
            r debug reload nosave
            assert_equal $before [digest]
        }
    }

    foreach preamble {yes no} {
        start_server [list overrides [concat $overrides [list appendonly yes auto-aof-rewrite-percentage 0 aof-use-rdb-preamble $preamble]]] {
            test "BGREWRITEAOF while the thread is held up and everything changes, aof-use-rdb-preamble $preamble" {
                # Old parts of lists stay in memory when commands are written.
                if {!$preamble} { r config set forkless-buffer-limit 64mb }
                fill 0
                aof_wait_rewrite
                r config set rdb-key-save-delay 20000000
                # While much is not on the disk, a rewrite is only scheduled.
                assert_equal {1 0} [r waitaof 1 0 60000]
                r bgrewriteaof
                wait_for_condition 200 10 {[s aof_rewrite_in_progress]} else { fail "no rewrite begins" }
                change_all 0
                assert_equal 1 [s aof_rewrite_in_progress]
                r config set rdb-key-save-delay 0
                aof_wait_rewrite
                assert_equal ok [s aof_last_bgrewrite_status]
                assert_morethan [spilled 0] $::limit
                set digest [digest]
                restart_server
                assert_equal $digest [digest]
            }
        }
    }

    start_server [list overrides $overrides] {
        start_server {overrides {save {} repl-timeout 600} } {
            test {a replica that does not read for a while, and everything changes} {
                fill -1
                r -1 config set repl-timeout 600 rdb-key-save-delay 100
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_condition 200 20 {[s -1 rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
                exec kill -STOP [srv pid]
                set most [change_all -1]
                assert_equal 1 [s -1 rdb_bgsave_in_progress]
                exec kill -CONT [srv pid]
                r -1 config set rdb-key-save-delay 0
                wait_for_condition 600 50 {[s master_link_status] eq {up}} else { fail "the replica does not get through" }
                r -1 set last write
                wait_for_condition 200 50 {[r get last] eq {write}} else { fail "the stream does not arrive" }
                assert_equal [digest -1] [digest]
                assert_equal 1 [s -1 sync_full]
                assert_spilled -1 $most
            }
        }
    }

    start_server [list overrides $overrides crash 1] {
        test {SHUTDOWN and kill -9 while old values are in the file leave nothing behind} {
            foreach how {KILL TERM} {
                fill 0
                r config set rdb-key-save-delay 20000000
                r bgsave
                change_all 0
                assert_morethan [spilled 0] $::limit
                restart_server 0 $how
                assert_equal {} [glob -nocomplain [srv dir]/temp-spill-*]
                r config set bgsave-default-method forkless
            }
        }
    }

    if {![faults_possible]} {
        test {the temporary file cannot be written} { skip "not with a sanitizer" }
        return
    }
    set program [faults_build]
    faults
    start_server [list executable $program overrides $overrides] {
        test {the temporary file cannot be written: the snapshot fails at forkless-buffer-limit, and the server goes on} {
            fill 0
            save_without_spill_file
            assert_equal err [s rdb_last_bgsave_status]
            assert_in_order [read_file [srv log]] {"forkless-save: RDB: clients change data faster than it can be written"
                "forkless-save: RDB: old values can't be written to a temporary file (No space left on device), so they wait in memory"
                "forkless-save: RDB: clients have changed data faster * have reached forkless-buffer-limit (12mb)" "The background save failed"}
            assert_equal PONG [r ping]
        }

        test {the temporary file cannot be written, but memory is enough: the snapshot is complete} {
            faults
            fill 0
            set before [digest]
            r config set forkless-buffer-limit 0
            save_without_spill_file
            faults
            assert_equal ok [s rdb_last_bgsave_status]
            r debug reload nosave
            assert_equal $before [digest]
        }
    }
}
