# Large sets and hashes in snapshots without a fork: they are saved in parts while clients change them, and the file
# has them as they were at the start.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]

# Sets `n` members with names of 30 bytes or so.
set fill_set {
    for i = 1, ARGV[1] do redis.call('SADD', KEYS[1], 'member-of-a-large-set:' .. i) end
}
# Sets `n` fields; every third expires, unless ARGV[2] is 0, after some hours.
set fill_hash {
    for i = 1, ARGV[1] do redis.call('HSET', KEYS[1], 'field:' .. i, 'value-that-is-long-enough:' .. i) end
    if ARGV[2] == '0' then return end
    for i = 3, ARGV[1], 3 do
        redis.call('HPEXPIREAT', KEYS[1], ARGV[2] + i, 'FIELDS', 1, 'field:' .. i)
    end
}
# Random changes of members. All of a script's changes come in one turn of the event loop.
set change_sets {
    local n = tonumber(ARGV[1])
    math.randomseed(ARGV[2])
    local function some() return 'member-of-a-large-set:' .. math.random(2 * n) end
    for i = 1, 150 do
        local kind = math.random(8)
        if kind < 3 then redis.call('SADD', KEYS[1], some(), some())
        elseif kind < 5 then redis.call('SREM', KEYS[1], some(), some(), some())
        elseif kind == 5 then redis.call('SPOP', KEYS[1])
        elseif kind == 6 then redis.call('SPOP', KEYS[1], math.random(10))
        elseif kind == 7 then redis.call('SMOVE', KEYS[1], KEYS[2], some())
        else redis.call('SMOVE', KEYS[2], KEYS[1], some()) end
    end
}
set change_hashes {
    local n = tonumber(ARGV[1])
    math.randomseed(ARGV[2])
    local function some() return 'field:' .. math.random(2 * n) end
    for i = 1, 150 do
        local key, f, kind = KEYS[math.random(#KEYS)], some(), math.random(11)
        if kind < 3 then redis.call('HSET', key, f, 'new:' .. i, some(), string.rep('long', math.random(100)))
        elseif kind == 3 then redis.call('HDEL', key, f, some())
        elseif kind == 4 then redis.call('HPEXPIRE', key, 3600000 + i, 'FIELDS', 1, f)
        elseif kind == 5 then redis.call('HPERSIST', key, 'FIELDS', 1, f)
        elseif kind == 6 then redis.call('HSETEX', key, 'PX', 7200000, 'FIELDS', 1, f, 'x')
        elseif kind == 7 then redis.call('HGETEX', key, 'PX', 9200000, 'FIELDS', 1, f)
        elseif kind == 8 then redis.call('HGETDEL', key, 'FIELDS', 1, f)
        elseif kind == 9 then redis.call('HSETNX', key, f, 'y')
        elseif kind == 10 then redis.call('HPEXPIRE', key, 0, 'FIELDS', 1, f)
        else redis.call('HINCRBY', key, 'number:' .. math.random(50), 1) end
    end
}

# Starts the snapshot that COMMAND begins. It lasts until `finish_snapshot`: the thread waits before the first keys.
proc start_snapshot {command} {
    r config set rdb-key-save-delay 3000000
    r {*}$command
    assert_equal 1 [expr {[s rdb_bgsave_in_progress] + [s aof_rewrite_in_progress]}]
}
proc snapshot_runs {} { return [expr {[s rdb_bgsave_in_progress] || [s aof_rewrite_in_progress]}] }
proc finish_snapshot {} {
    r config set rdb-key-save-delay 0
    wait_for_condition 600 20 {![snapshot_runs]} else { fail "the snapshot does not end" }
    assert_equal {ok ok} [list [s rdb_last_bgsave_status] [s aof_last_bgrewrite_status]]
    assert_equal 0 [count_log_message "forked"]
}

# Runs the script with numbers until the snapshot has come to an end or `times` are over.
proc change_meanwhile {script n times args} {
    set seed [randomInt 1000000]
    for {set i 0} {$i < $times && [snapshot_runs]} {incr i} {
        r eval $script [llength $args] {*}$args $n [expr {$seed + $i}]
    }
    assert {$i > 5} "too few changes were made while the snapshot ran, seed $seed"
}

set forms {
    rdb {bgsave {debug reload nosave} {}}
    {rdb for redis 8} {bgsave {debug reload nosave} {rdb-compatible-version 12}}
    commands {bgrewriteaof {debug loadaof} {aof-use-rdb-preamble no}}
}

tags {external:skip needs:debug slow} {
    foreach {name form} $forms {
        lassign $form command load overrides
        start_server [list overrides [list save {} bgsave-default-method forkless {*}$overrides]] {
            # The digest of the whole dataset at the start is that of what was written.
            proc check_snapshot {what body} {
                upvar command command load load
                set before [digest]
                start_snapshot $command
                uplevel 1 $body
                finish_snapshot
                assert_not_equal $before [digest] "$what: nothing was changed"
                assert_equal OK [r {*}$load]
                assert_equal $before [digest] $what
            }

            test "forkless $name: members of a large set are added, removed, popped and moved" {
                r flushall
                r debug populate 20 small
                foreach key {set other} { r eval $fill_set 1 $key 100000 }
                check_snapshot sets { change_meanwhile $change_sets 100000 60 set other }
            }

            test "forkless $name: fields of a large hash are set, removed, and get and lose expiries" {
                r flushall
                r debug populate 20 small
                r eval $fill_hash 1 plain 60000 0
                r eval $fill_hash 1 expiring 60000 [expr {[clock milliseconds] + 36000000}]
                r hpexpire expiring 99000000000 fields 1 field:1
                check_snapshot hashes { change_meanwhile $change_hashes 60000 60 plain expiring }
            }

            test "forkless $name: a hash gets its first expiry, or loses its last one, while it is saved" {
                r flushall
                r debug populate 20 small
                r eval $fill_hash 1 first 30000 0
                r eval $fill_hash 1 last 30000 0
                r hpexpire last 10000000 fields 2 field:100 field:20000
                check_snapshot encodings {
                    r hset first field:1 new
                    r hpexpire first 10000000 fields 1 field:17
                    r hset first field:2 new
                    r hdel last field:100
                    r hpersist last fields 1 field:20000
                    r hset last field:3 new
                    change_meanwhile $change_hashes 30000 10 first last
                }
            }

            test "forkless $name: fields that expire while the hash is saved are in the file" {
                r flushall
                r debug populate 20 small
                r eval $fill_hash 1 hash 20000 0
                # More than waits for the thread at most, so that parts are left when the fields expire.
                r eval {
                    for i = 1, 12000 do redis.call('HSET', KEYS[1], 'field:' .. i, string.rep('x', 1000)) end
                } 1 hash
                set digest [r debug digest-value hash]
                r eval {
                    for i = 1, 3000 do
                        redis.call('HSETEX', KEYS[1], 'PX', 700, 'FIELDS', 1, 'short:' .. i, 'value')
                    end
                } 1 hash
                start_snapshot $command
                r hset hash field:1 new
                wait_for_condition 100 50 {[r hlen hash] == 20000} else { fail "the fields do not expire" }
                assert_equal 1 [snapshot_runs]
                finish_snapshot
                r {*}$load
                assert_equal $digest [r debug digest-value hash]
            }

            test "forkless $name: large values are emptied, replaced, renamed and removed while they are saved" {
                r flushall
                r debug populate 20 small
                foreach key {popped few replaced renamed removed} { r eval $fill_set 1 $key 20000 }
                foreach key {emptied overwritten copied} {
                    r eval $fill_hash 1 $key 10000 [expr {[clock milliseconds] + 36000000}]
                }
                check_snapshot whole {
                    foreach key {popped few replaced renamed removed} { r sadd $key first }
                    foreach key {emptied overwritten copied} { r hset $key first 1 }
                    r spop few 19990
                    r sadd few other
                    r sinterstore replaced few removed
                    r rename renamed moved
                    r srem moved member-of-a-large-set:7
                    r move moved 5
                    r del removed
                    r copy copied copy
                    r hdel copied field:1 field:3
                    r rename overwritten emptied
                    r hpersist emptied fields 2 field:3 field:6
                    r set overwritten text
                    r hdel emptied {*}[lmap i [numbers 1 10000] { concat field:$i }] first
                    assert_equal 0 [r exists emptied]
                    assert_equal 20001 [llength [r spop popped 30000]]
                    r select 5
                    r srem moved member-of-a-large-set:8
                    r unlink moved
                    r select 0
                }
            }

            test "forkless $name: large values that move to a database that was empty are flushed there" {
                r flushall
                r debug populate 20 small
                foreach key {unread read} { r eval $fill_set 1 $key 20000 }
                check_snapshot flushed {
                    r sadd read first
                    foreach key {unread read} { r move $key 7 }
                    r select 7
                    r srem read member-of-a-large-set:7
                    r flushdb
                    r select 0
                    # The memory of what was freed is used for something else.
                    foreach key {s1 s2} { r eval $fill_set 1 $key 20000 }
                }
            }

            test "forkless $name: keys that are looked up for reading are saved before they are changed" {
                r flushall
                r debug populate 6000 small
                r eval {
                    for i = 1, 6000 do
                        redis.call('SET', 'getset:' .. i, i)
                        redis.call('SET', 'getex:' .. i, i, 'PX', 50000000)
                        redis.call('PFADD', 'hll:' .. i, i)
                        redis.call('HSET', 'hash:' .. i, 'field', i)
                    end
                } 0
                check_snapshot reading {
                    r eval {
                        for i = 1, 6000 do
                            redis.call('GETSET', 'getset:' .. i, 'new')
                            redis.call('GETEX', 'getex:' .. i, 'PX', 60000000)
                            redis.call('PFCOUNT', 'hll:' .. i)
                            redis.call('HGETEX', 'hash:' .. i, 'PX', 60000000, 'FIELDS', 1, 'field')
                        end
                    } 0
                }
            }

            # All have been given to the thread, which waits when it has written the first one.
            foreach {what fill change} {
                sets {SADD} {
                    for {set i 1} {$i < 500} {incr i 5} {
                        r srem $key element-of-a-large-value:$i
                        r sadd $key new:$i
                    }
                    r spop $key 3
                }
                hashes {HSET value-that-is-long-enough} {
                    for {set i 1} {$i < 500} {incr i 5} {
                        r hset $key element-of-a-large-value:$i other new:$i value
                        r hdel $key element-of-a-large-value:[expr {$i + 1}]
                    }
                    r hpexpire $key 10000000 fields 1 element-of-a-large-value:1000
                }
                {sorted sets} {ZADD 1.5} {
                    for {set i 1} {$i < 500} {incr i 5} {
                        r zincrby $key 1 element-of-a-large-value:$i
                        r zrem $key element-of-a-large-value:[expr {$i + 1}]
                        r zadd $key 1 new:$i
                    }
                    r zpopmin $key 20
                }
            } {
                foreach removed {0 1} {
                    test "forkless $name: $what are [lindex {changed removed} $removed] while the thread has their elements" {
                        r flushall
                        r eval {
                            for i = 1, 2100 do
                                for _, key in ipairs(KEYS) do
                                    local name = 'element-of-a-large-value:' .. i
                                    if ARGV[1] == 'SADD' then redis.call('SADD', key, name)
                                    elseif ARGV[1] == 'HSET' then redis.call('HSET', key, name, ARGV[2])
                                    else redis.call('ZADD', key, ARGV[2] + i, name) end
                                end
                            end
                        } 3 a b c {*}$fill
                        # Some of these are written by the main thread meanwhile.
                        foreach key {list1 list2} { r rpush $key {*}[numbers 1 3000] }
                        check_snapshot $what {
                            wait_for_condition 200 20 {[string match "*dbentries_processed:1\r*" [r info debug]]} else {
                                fail "no value has been written"
                            }
                            foreach key {a b c} {
                                eval $change
                                if {$removed} { r unlink $key }
                            }
                            foreach key {list1 list2} {
                                r lpush $key first
                                r lset $key 1500 x
                            }
                            # The memory of what was freed is used for something else.
                            foreach key {s1 s2} { r eval $fill_set 1 $key 20000 }
                            r eval {
                                for i = 1, 10000 do redis.call('HSET', KEYS[1], 'some-field:' .. i, 'short-value') end
                                for i = 1, 10000 do redis.call('ZADD', KEYS[2], -i, 'member-of-a-sorted-set:' .. i) end
                            } 2 h z
                        }
                    }
                }
            }

            test "forkless $name: members that are long make a value large, too" {
                r flushall
                r debug populate 20 small
                for {set i 0} {$i < 100} {incr i} {
                    r sadd set [string repeat $i 5000]
                    r hset hash $i [string repeat $i 5000]
                }
                check_snapshot long {
                    for {set i 0} {$i < 50} {incr i} {
                        r srem set [string repeat $i 5000]
                        r hset hash $i x
                    }
                    r spop set 10
                }
            }
        }
    }
}
