# Large sorted sets in snapshots without a fork: they are saved in parts while clients change them, and the file has
# them as they were at the start.
source [file join [file dirname [info script]] rdb_util.tcl]

set large_zsets 12
set members 4000
set started {Background saving started}

# Sorted sets of integers, fractions, equal scores and long members.
proc fill_large_zsets {} {
    r eval {
        for k = 1, tonumber(ARGV[1]) do
            local score = 0
            for i = 1, tonumber(ARGV[2]) do
                if k % 4 == 0 then score = math.random(100000)
                elseif k % 4 == 1 then score = math.random()
                elseif k % 4 == 2 then score = 5
                else score = i end
                local member = 'member:' .. i
                if i % 100 == 0 and k % 3 == 0 then member = member .. string.rep('x', 300) end
                redis.call('zadd', 'large:' .. k, score, member)
            end
        end
        redis.call('zadd', 'small', 1, 'a')
    } 0 $::large_zsets $::members
}

proc a_member {} { return member:[randomInt [expr {$::members + 500}]] }

# A command that changes sorted sets in some way.
proc a_change {} {
    set key large:[randomRange 1 $::large_zsets]
    switch [randomInt 40] {
        0 { return [list zpopmin $key [randomInt 200]] }
        1 { return [list zpopmax $key [randomInt 200]] }
        2 { set at [randomInt $::members]; return [list zremrangebyrank $key $at [expr {$at + [randomInt 300]}]] }
        3 { return [list zremrangebyscore $key 0.2 [expr {0.2 + rand() / 10}]] }
        4 { return [list zremrangebylex $key \[member:3[randomInt 9] \[member:3[randomInt 9]9] }
        5 { return [list zrangestore $key large:[randomRange 1 $::large_zsets] 0 -1] }
        6 { return [list geoadd $key 13.3 38.1 [a_member]] }
        7 { return [list copy $key copy:[randomInt 3] replace] }
        8 { return [list rename $key large:[randomRange 1 $::large_zsets]] }
        9 { return [list expire $key 100000] }
        10 { return [list zunionstore union:[randomInt 3] 2 $key large:[randomRange 1 $::large_zsets]] }
        11 { if {[randomInt 4] == 0} { return [list del $key] } else { return [list zremrangebyrank $key 0 -20] } }
        12 - 13 - 14 - 15 - 16 - 17 { return [list zrem $key [a_member] [a_member]] }
        18 - 19 - 20 - 21 - 22 - 23 { return [list zincrby $key [expr {rand() < 0.5 ? 1 : rand() * 1000}] [a_member]] }
        24 - 25 { return [list zadd $key 1 new:[randomInt 100000] 7 [a_member] 0.5 [a_member]] }
        default { return [list zadd $key [expr {rand() < 0.5 ? [randomInt 5000] : rand()}] [a_member]] }
    }
}

# Sends the commands of which the last one starts a snapshot, and changes behind them without waiting for replies.
# Returns the reply of the last one; *first becomes that of the first.
proc start_and_change {commands changes {first ignored}} {
    upvar $first reply
    set client [valkey_deferring_client]
    foreach command $commands { $client {*}$command }
    for {set i 0} {$i < $changes} {incr i} { $client {*}[a_change] }
    set reply [$client read]
    set last $reply
    foreach command [lrange $commands 1 end] { set last [$client read] }
    for {set i 0} {$i < $changes} {incr i} { catch { $client read } }
    $client close
    return $last
}

proc digest_of_file {level file} {
    file copy -force $file [srv $level dir]/dump.rdb
    assert_equal OK [r $level debug reload nosave]
    return [r $level debug digest]
}

# Takes snapshots of a server with this index (level 0) while it changes.
proc check_snapshots {index} {
    for {set round 0} {$round < 6} {incr round} {
        test "issue 29: large zsets ($index) are saved as they were while they change, round $round" {
            r flushall
            fill_large_zsets
            assert_encoding $index large:1
            r save
            set file [srv dir]/dump.rdb
            set oracles_digest [digest_of_file -2 $file]
            assert_equal $::started [start_and_change {{debug digest} {bgsave}} [expr {$round ? [randomRange 100 4000] : 0}] digest]
            wait_for_save
            assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
            assert_equal $digest [digest_of_file -1 $file] "in a server with the other index"
            assert_equal $oracles_digest [digest_of_file -2 $file] "in 9.1.2"
            set now [r debug digest]
            assert {$round == 0 || $now ne $digest}
        }
    }

    test "issue 29: a snapshot of large zsets ($index) may be cancelled, again and again" {
        r flushall
        fill_large_zsets
        set changes [list {*}[lrepeat 30 {bgsave} {debug set-active-expire 1} {bgsave cancel}]]
        for {set i 0} {$i < 5} {incr i} { start_and_change $changes 300 }
        assert_equal $::started [start_and_change {{debug digest} {bgsave}} 2000 digest]
        wait_for_save
        assert_equal ok [s rdb_last_bgsave_status]
        assert_equal $digest [digest_of_file -1 [srv dir]/dump.rdb]
    }

    test "issue 29: large zsets ($index) go into an append-only file as commands while they change" {
        r config set aof-use-rdb-preamble no
        foreach changes {0 500 3000} {
            r flushall
            fill_large_zsets
            start_and_change {{config set appendonly yes}} $changes
            wait_for_condition 600 20 {![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else {
                fail "the rewrite does not end"
            }
            assert_equal ok [s aof_last_bgrewrite_status]
            set digest [r debug digest]
            r debug loadaof
            assert_equal $digest [r debug digest]
            r config set appendonly no
        }
    }
}

tags {external:skip needs:debug slow} {
    set other [expr {[valkey_oracle] ne {} ? [list executable [valkey_oracle] overrides {save {} enable-debug-command yes}] : {overrides {save {}}}}]
    foreach {index loaded_as} {skiplist btree btree skiplist} {
        start_server $other {
            start_server [list overrides [list save {} zset-index $loaded_as]] {
                start_server [list overrides [list save {} bgsave-default-method forkless zset-index $index]] {
                    check_snapshots $index
                }
            }
        }
    }
}
