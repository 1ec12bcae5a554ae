# What a snapshot without a fork keeps until its end (values and databases that were deleted meanwhile) does not count
# against maxmemory: evicting keys would not free it.
start_server {tags {persist evict external:skip needs:debug} overrides {save {} bgsave-default-method forkless}} {
    # Keys from..to of the database, with values of 1000 bytes.
    proc fill_small {from to} {
        r eval {for i = ARGV[1], ARGV[2] do redis.call('set', 'small:' .. i, string.rep('v', 1000)) end} 0 $from $to
    }

    # Makes a value of about 12 MB.
    proc fill_big {kind key} {
        r eval {
            local text = string.rep('x', 1000)
            for i = 1, 12000 do
                local element = i .. text
                if ARGV[1] == 'list' then redis.call('rpush', KEYS[1], element)
                elseif ARGV[1] == 'set' then redis.call('sadd', KEYS[1], element)
                elseif ARGV[1] == 'hash' then redis.call('hset', KEYS[1], i, element)
                elseif ARGV[1] == 'stream' then redis.call('xadd', KEYS[1], i .. '-1', 'f', element)
                elseif ARGV[1] == 'paths' then redis.call('phset', KEYS[1], 'p/' .. i, 'FIELDS', 1, 'f', element)
                else redis.call('zadd', KEYS[1], i, element) end
            end
        } 1 $key $kind
    }

    proc start_slow_snapshot {} {
        r config set rdb-key-save-delay 100000
        assert_match {Background sav*} [r bgsave]
        r config set maxmemory [expr {[s used_memory] + 2000000}] maxmemory-policy allkeys-random
    }

    proc end_snapshot {} {
        r config set maxmemory 0 rdb-key-save-delay 0
        wait_for_condition 500 20 {![s rdb_bgsave_in_progress]} else { fail "the snapshot does not end" }
        assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
        wait_for_condition 500 20 {[s lazyfree_pending_objects] == 0} else { fail "lazy free hangs" }
        assert_lessthan [s mem_not_counted_for_evict] 1000000
    }

    proc start_over {} {
        r flushall
        r config resetstat
        fill_small 1 1000
    }

    foreach {kind index} {list skiplist set skiplist hash skiplist stream skiplist paths skiplist zset skiplist zset btree} {
        test "issue 29: a large $kind ($index) that is deleted during a snapshot costs no key" {
            start_over
            r config set zset-index $index
            fill_big $kind big
            start_slow_snapshot
            r del big
            assert_range [s mem_not_counted_for_evict] 9000000 20000000
            fill_small 1001 9000
            assert_equal 0 [s evicted_keys]
            assert_equal 9000 [r dbsize]
            assert [s rdb_bgsave_in_progress]
            end_snapshot
        }
    }

    # The buffers of parts may be longer than what is in them.
    foreach kind {list stream} {
        test "issue 29: all memory of the parts of a large $kind that wait counts as that of the snapshot" {
            start_over
            fill_big $kind big
            r config set rdb-key-save-delay 100000
            set used [s used_memory]
            assert_match {Background sav*} [r bgsave]
            r del big
            wait_for_condition 500 10 {[s mem_snapshot_buffer] > 4000000} else { fail "[s mem_snapshot_buffer] bytes wait" }
            r debug set-active-expire 1 ;# a turn without more work
            assert_range [expr {[s used_memory] - $used - [s mem_snapshot_buffer]}] -1000000 1000000
            end_snapshot
        }
    }

    test "issue 29: paths that a prefix removes during a snapshot cost no key" {
        start_over
        fill_big paths big
        start_slow_snapshot
        r phdelprefix big p/
        assert_range [s mem_not_counted_for_evict] 9000000 20000000
        fill_small 1001 9000
        assert_equal 0 [s evicted_keys]
        assert [s rdb_bgsave_in_progress]
        end_snapshot
    }

    test "issue 29: evicting a large value during a snapshot does not evict all other keys" {
        start_over
        fill_big list big
        start_slow_snapshot
        r config set maxmemory-policy volatile-ttl
        r expire big 100000
        fill_small 1001 4000 ;# 3 MB where 2 MB are left
        assert_equal {1 0} [list [s evicted_keys] [r exists big]]
        fill_small 4001 7000
        assert_equal {1 7000} [list [s evicted_keys] [r dbsize]]
        assert [s rdb_bgsave_in_progress]
        end_snapshot
    }

    test "issue 29: a database that is flushed during a snapshot costs no key" {
        start_over
        r select 9
        fill_small 1 12000
        fill_big set big
        r select 0
        start_slow_snapshot
        r select 9
        r flushdb
        fill_small 1 8000
        assert_equal 0 [s evicted_keys]
        assert_equal 8000 [r dbsize]
        assert [s rdb_bgsave_in_progress]
        r select 0
        end_snapshot
    }
}
