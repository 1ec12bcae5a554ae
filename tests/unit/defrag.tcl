# Active defragmentation. That nothing is lost when allocations move shows best where all of them do, at every
# opportunity, under a sanitizer: DEBUG DEFRAG-ALL and DEFRAG-STRESS work with any allocator. That holes are closed shows
# with jemalloc alone.
source [file join [file dirname [info script]] ../support/values.tcl]

set unavailable "*Active defragmentation cannot be enabled: it requires a Valkey server compiled with a modified Jemalloc\
    like the one shipped by default with the Valkey source distribution"

proc can_defrag {} { return [string match jemalloc* [s mem_allocator]] }

# Adds what fill_all leaves out: expiring keys and fields, consumers with many entries, and large values of each
# encoding.
proc fill_more {} {
    set soon [expr {[clock seconds] + 100000}]
    for {set i 0} {$i < 300} {incr i} { r set expiring:$i [string repeat e $i] exat [expr {$soon + $i}] }
    r set [string repeat longkey 100] [string repeat v 700] ex 100000
    foreach key {hash:128 hash:129 hash:2000} {
        r hexpireat $key $soon fields 3 f1 f8 f15
        r hpexpireat $key ${soon}123 fields 1 f22
    }
    for {set i 0} {$i < 300} {incr i} {
        r hset small:$i a $i b [string repeat b [expr {$i % 60}]] c $i
        r hpexpireat small:$i ${soon}321 fields 1 b
    }
    r config set zset-index-convert-percent 0
    r config set zset-index btree
    foreach n {129 5000} {
        r zadd btree:$n {*}[concat {*}[lmap i [integers $n] { list $i m$i }]]
    }
    r zadd btree:129 7 [string repeat big 100]
    r config set zset-index skiplist
    for {set i 0} {$i < 3000} {incr i} { r xadd stream:big * field $i [string repeat f [expr {$i % 50}]] value }
    foreach group {a group1 group2} {
        r xgroup create stream:big $group 0
        foreach consumer {x y consumer1 consumer2} count {1 1200 300 900} {
            r xreadgroup group $group $consumer count $count streams stream:big >
        }
    }
    r xgroup create stream:big idle $
    fill_paths 0
    foreach path {a a/b/c z} {
        r phset paths:tables $path FIELDS 3000 {*}[concat {*}[lmap i [integers 3000] { list f$i [string repeat $i 3] }]]
        r phset paths:tables $path/x FIELDS 1 f 1
    }
    r select 9
    fill_all 0
    fill_paths 0
    r select 0
}

# Everything that can be read, and what commands see that no digest covers.
proc everything {} {
    set seen {}
    foreach db {0 9} {
        r select $db
        lappend seen [contents 0] [lmap key [lsort [r keys *]] { list $key [r object encoding $key] [r pexpiretime $key] }]
    }
    r select 0
    lappend seen [r debug digest] [r hpexpiretime hash:2000 fields 5 f1 f8 f15 f22 f29]
    foreach stream {stream:300 stream:big} {
        foreach group [r xinfo groups $stream] {
            set name [dict get $group name]
            lappend seen $group [lmap consumer [r xinfo consumers $stream $name] { dict remove $consumer idle inactive }]
            lappend seen [lmap pending [r xpending $stream $name - + 10000] { lreplace $pending 2 2 }]
        }
    }
    foreach key {zset:2000 btree:5000} { lappend seen [r zrank $key m77] [r zrevrange $key 0 -1 withscores] }
    return $seen
}

# A stream of commands that depends on the seed alone.
proc random_commands {count} {
    expr {srand(4711)}
    set commands {}
    for {set i 0} {$i < $count} {incr i} {
        set n [randomInt 3000]
        set text [string repeat t [randomInt 100]]
        lappend commands [switch [randomInt 26] {
            0 { list set string:[expr {$n % 50}] $text:$n }
            1 { list append string:[expr {$n % 50}] $text }
            2 { list set string:[expr {$n % 50}] $n exat 99999999999 }
            3 { list del [randomElement {string list set hash zset btree stream paths}]:[expr {$n % 50}] }
            4 { list rpush list $text$n $n }
            5 { list lpush list $n }
            6 { list lrem list -1 $n }
            7 { list lset list 0 $text }
            8 { list ltrim list 0 2000 }
            9 { list sadd set $n:$text m$n }
            10 { list srem set m[expr {$n / 2}] }
            11 { list sadd intset $n }
            12 { list hset hash f$n $text$n f[expr {$n / 2}] [string repeat long $n] }
            13 { list hdel hash f[expr {$n / 3}] }
            14 { list hexpireat hash 99999999999 fields 2 f$n f[expr {$n / 2}] }
            15 { list hpersist hash fields 1 f$n }
            16 { list zadd zset $n m[expr {$n / 2}] [expr {$n * 0.3}] $text$n }
            17 { list zremrangebyrank zset [expr {$n / 3}] [expr {$n / 3 + 3}] }
            18 { list xadd stream 7-* f $n g $text }
            19 { list xreadgroup group g c[expr {$n % 5}] count 3 streams stream > }
            20 { list xack stream g 7-[expr {$n / 8}] 7-[expr {$n / 9}] }
            21 { list xtrim stream maxlen ~ 300 }
            22 { list phset paths p/[expr {$n % 60}]/$n FIELDS 2 f $text g $n }
            23 { list phset paths p/[expr {$n % 3}] FIELDS 2 f$n $text f[expr {$n / 2}] [string repeat long $n] }
            24 { list phdel paths p/[expr {$n % 61}]/$n }
            25 { list phdelprefix paths p/[expr {$n % 60}]/[expr {$n / 30}] }
        }]
    }
    return $commands
}

# Runs the commands and returns their replies.
proc run_commands {commands} {
    r flushall
    r xgroup create stream g 0 mkstream
    r config set list-compress-depth 1
    set c [valkey_deferring_client]
    foreach command $commands { $c {*}$command }
    foreach command $commands { catch { $c read } }
    $c close
    return [list [r debug digest] [lsort [r keys *]] [r lrange list 0 -1] [r zrange zset 0 -1 withscores] \
        [lmap p [r xpending stream g - + 10000] { lrange $p 0 1 }] [lsort [r hgetall hash]] [content 0 paths]]
}

start_server {tags {defrag needs:debug external:skip} overrides {active-defrag-max-scan-fields 20}} {
    test {defrag: directives, and their limits} {
        foreach {name default low high} {
            cycle-min 1 1 99  cycle-max 25 1 99  threshold-lower 10 0 1000  threshold-upper 100 0 1000
            cycle-us 500 0 100000
        } {
            assert_equal $default [config_get active-defrag-$name]
            foreach bad [list [expr {$low - 1}] [expr {$high + 1}]] {
                assert_error "*argument must be between $low and $high inclusive" { r config set active-defrag-$name $bad }
            }
        }
        assert_equal {no 104857600} [list [config_get activedefrag] [config_get active-defrag-ignore-bytes]]
        if {[can_defrag]} {
            config_set activedefrag yes
            config_set activedefrag no
        } else {
            assert_error "ERR CONFIG SET failed (possibly related to argument 'activedefrag') - $unavailable" {
                r config set activedefrag yes
            }
        }
    }

    test {defrag: every allocation of every type moves, in pieces and at once, without loss} {
        fill_all 0
        fill_more
        set before [everything]
        foreach fields {1 1000000} {
            config_set active-defrag-max-scan-fields $fields
            r config resetstat
            assert_equal OK [r debug defrag-all]
            assert_morethan [s active_defrag_hits] 15000
            assert_morethan_equal [s active_defrag_key_hits] [r dbsize]
            assert_equal 0 [s active_defrag_misses]
            assert_equal $before [everything]
        }
    }

    test {defrag: moved values can be changed and deleted, and expire} {
        r debug defrag-all
        foreach key {hash:2000 hash:129} {
            r hpexpire $key 1 fields 3 f1 f8 f29
            wait_for_condition 500 20 {[r hexists $key f8] == 0 && [r hlen $key] == [regsub .*: $key {}] - 3} else {
                fail "fields of $key do not expire: [r hlen $key] are left"
            }
        }
        r debug defrag-all
        for {set i 0} {$i < 300} {incr i} { r pexpire expiring:$i 1 }
        wait_for_condition 500 20 {[r exists expiring:0 expiring:150 expiring:299] == 0 && ![llength [r keys expiring:*]]} else {
            fail "keys do not expire"
        }
        r xgroup delconsumer stream:big a consumer2
        r xgroup destroy stream:big group1
        r debug defrag-all
        foreach key [r keys *] {
            r rename $key moved
            assert_equal 1 [r copy moved $key]
            r debug defrag-all
            assert_equal [content 0 $key] [content 0 moved] $key
            assert_equal 2 [r del moved $key] $key
        }
        assert_equal 0 [r dbsize]
        r flushall
        assert_equal OK [r debug defrag-all]
    }

    test {defrag: every node, payload and field of a path hash is offered} {
        r flushall
        set hits {}
        foreach n {0 1000} {
            for {set i 0} {$i < $n} {incr i} { r phset paths [expr {$i % 7}]/$i FIELDS 1 f $i }
            for {set i 0} {$i < $n} {incr i} { r phset paths 7 FIELDS 1 f$i [string repeat $i 80] }
            foreach fields {1 1000000} {
                config_set active-defrag-max-scan-fields $fields
                r config resetstat
                r debug defrag-all
                lappend hits [s active_defrag_hits]
            }
        }
        # A node and a payload for each path, and an entry for each field.
        foreach before [lrange $hits 0 1] after [lrange $hits 2 3] { assert_morethan_equal $after [expr {$before + 3000}] }
    }

    test {defrag: commands between slices see and change the same as without it} {
        set commands [random_commands 20000]
        set expected [run_commands $commands]
        foreach index {skiplist btree} {
            config_set zset-index $index
            r debug defrag-stress 1
            set got [run_commands $commands]
            r debug defrag-stress 0
            assert_equal $expected $got $index
        }
        config_set zset-index skiplist
        wait_for_condition 200 50 {[s active_defrag_running] == 0} else { fail "does not stop" }
        assert_morethan [s active_defrag_hits] 10000
    }

    test {defrag: databases are swapped and flushed meanwhile} {
        r debug defrag-stress 1
        for {set i 0} {$i < 20} {incr i} {
            r flushall [randomElement {sync async}]
            r select [expr {$i % 3}]
            fill_all 0
            r swapdb [expr {$i % 3}] 5
            after [expr {$i * 2}]
            r swapdb [expr {$i % 3}] 5
            assert_morethan [r dbsize] 30
        }
        r debug defrag-stress 0
        r select 0
    }

    test {defrag: cached scripts move, too} {
        r script flush
        for {set i 0} {$i < 490} {incr i} { assert_equal $i [r eval "return $i" 0] }
        set sha [r script load {return 'kept'}]
        r debug defrag-all
        set scripts [s number_of_cached_scripts]
        for {set i 480} {$i < 520} {incr i} {
            assert_equal $i [r eval "return $i" 0]
            if {$i % 7 == 0} { r debug defrag-all }
        }
        assert_equal [list kept 0] [list [r evalsha $sha 0] [lindex [r script exists [string repeat 0 40]] 0]]
        assert_equal {491 20} [list $scripts [s evicted_scripts]]
        r script flush
        assert_equal 0 [s number_of_cached_scripts]
    }

    test {defrag: nothing moves while a child process runs} {
        r flushall
        r debug populate 2000 key 100
        config_set rdb-key-save-delay 1000000
        r debug defrag-stress 1
        wait_for_condition 1000 10 {[s active_defrag_running] > 0} else { fail "does not start" }
        r bgsave
        r config resetstat
        after 300
        assert_equal {1 0} [list [s rdb_bgsave_in_progress] [s active_defrag_hits]]
        config_set rdb-key-save-delay 0
        exec kill -USR1 [lindex [exec pgrep -P [srv pid]] 0]
        wait_for_condition 1000 10 {[s active_defrag_hits] > 0} else { fail "does not go on" }
        r debug defrag-stress 0
    }
}

# Each script leaves a third of what it makes, here and there. KEYS are many, or one.
set fragment_scripts {
    strings {
        for i = 1, 60000 do redis.call('set', 'k' .. i, string.rep('v', 50 + i % 250)) end
        for i = 1, 60000 do if i % 3 > 0 then redis.call('del', 'k' .. i) end end
    }
    {long strings} {
        for i = 1, 12000 do redis.call('set', 'k' .. i, string.rep('v', 500 + i % 1300), 'ex', 100000) end
        for i = 1, 12000 do if i % 3 > 0 then redis.call('del', 'k' .. i) end end
    }
    {small containers} {
        for i = 1, 12000 do
            redis.call('rpush', 'list' .. i, string.rep('v', 50 + i % 200), 'b')
            redis.call('sadd', 'texts' .. i, string.rep('v', i % 60), 'b')
            redis.call('sadd', 'numbers' .. i, i, i + 1, i + 1000000)
            redis.call('hset', 'hash' .. i, string.rep('v', i % 60), i, 'g', string.rep('v', i % 60))
            if i % 2 == 0 then redis.call('hexpire', 'hash' .. i, 100000, 'fields', 1, 'g') end
            redis.call('zadd', 'zset' .. i, i, string.rep('v', i % 60), 4, 'b')
            redis.call('xadd', 'stream' .. i, '1-1', string.rep('v', i % 60), 4)
        end
        for i = 1, 12000 do
            if i % 3 > 0 then
                redis.call('del', 'list' .. i, 'texts' .. i, 'numbers' .. i, 'hash' .. i, 'zset' .. i, 'stream' .. i)
            end
        end
    }
    {a long list} {
        for i = 1, 60000 do redis.call('rpush', 'list', string.rep(i % 18 < 6 and 's' or 'v', 100 + i % 7)) end
        for size = 100, 106 do redis.call('lrem', 'list', 0, string.rep('v', size)) end
    }
    {a large set} {
        for i = 1, 100000 do redis.call('sadd', 'set', i .. string.rep('v', i % 100)) end
        for i = 1, 100000 do if i % 3 > 0 then redis.call('srem', 'set', i .. string.rep('v', i % 100)) end end
    }
    {a large hash} {
        for i = 1, 60000 do redis.call('hset', 'hash', 'f' .. i, string.rep('v', i % 400)) end
        for i = 1, 60000, 9 do redis.call('hexpire', 'hash', 100000, 'fields', 1, 'f' .. i) end
        for i = 1, 60000 do if i % 3 > 0 then redis.call('hdel', 'hash', 'f' .. i) end end
    }
    {a large zset} {
        for i = 1, 100000 do redis.call('zadd', 'zset', i, i .. string.rep('v', i % 100)) end
        for i = 1, 100000 do if i % 3 > 0 then redis.call('zrem', 'zset', i .. string.rep('v', i % 100)) end end
    }
    streams {
        for i = 1, 300 do
            redis.call('xgroup', 'create', 'stream' .. i, 'g', '0', 'mkstream')
            for j = 1, 200 do redis.call('xadd', 'stream' .. i, '1-' .. j, 'f', string.rep('v', 10)) end
            redis.call('xreadgroup', 'group', 'g', 'c', 'streams', 'stream' .. i, '>')
        end
        for i = 1, 300 do
            if i % 3 > 0 then redis.call('del', 'stream' .. i) end
            for j = 1, 200 do if j % 3 > 0 then redis.call('xack', 'stream' .. i, 'g', '1-' .. j) end end
        end
    }
}

set fragmented {tags {defrag needs:debug external:skip valgrind:skip} overrides {
    active-defrag-ignore-bytes 1 active-defrag-threshold-lower 5 active-defrag-cycle-max 60 active-defrag-cycle-min 30
    latency-monitor-threshold 1 lazyfree-lazy-user-del no list-max-listpack-size 6
}}

foreach {what script} $fragment_scripts {
    start_server $fragmented {
        test "defrag: holes are closed, and data stay as they are: $what" {
            if {![can_defrag]} { skip "the allocator does not tell where holes are" }
            r eval $script 0
            set digest [r debug digest]
            set holes [s allocator_frag_bytes]
            assert_morethan $holes 1500000
            assert_morethan [s allocator_frag_ratio] 1.3
            config_set activedefrag yes
            # Some hundred kilobytes stay: a slab in use of each size, and what Lua has.
            wait_for_condition 1000 20 {[s allocator_frag_bytes] < 0.3 * $holes + 500000} else {
                fail "still [s allocator_frag_bytes] of $holes; moved [s active_defrag_hits], stayed [s active_defrag_misses]"
            }
            assert_equal $digest [r debug digest]
            assert_morethan [s total_active_defrag_time] 0
            assert_morethan [s active_defrag_key_hits] 0
        }
    }
}

start_server $fragmented {
    test {defrag: it ends when nothing is left to move, or when it is switched off} {
        if {![can_defrag]} { skip "the allocator does not tell where holes are" }
        r eval [dict get $fragment_scripts strings] 0
        config_set active-defrag-threshold-lower 100
        config_set activedefrag yes
        # It may take 12 ms in all. The figures at its end count: tables that shrink after it change the ratio again.
        wait_for_log "Active defrag done"
        assert_morethan [s total_active_defrag_time] 0
        wait_for_condition 500 20 {[s active_defrag_running] == 0} else { fail "does not end" }
        regexp {Active defrag done .*frag=(\d+)%} [lsearch -inline [log_lines] "*Active defrag done*"] - frag
        assert_lessthan $frag 100
        # A pass that finds nothing to move takes some milliseconds: too few for INFO to be sure to show it.
        set from [llength [log_lines]]
        config_set active-defrag-threshold-lower 0
        set at [wait_for_log "Starting active defrag" $from]
        regexp {cpu=(\d+)%} [lindex [log_lines] $at] - cpu
        assert_morethan $cpu 29
        config_set activedefrag no
        # Between two passes the cron is what notices that it is switched off.
        wait_for_condition 500 20 {[s active_defrag_running] + [s current_active_defrag_time] == 0} else { fail "does not stop" }
    }

    test {defrag: a slice that takes long is an event of the latency monitor} {
        if {![can_defrag]} { skip "the allocator does not tell where holes are" }
        config_set active-defrag-cycle-us 20000
        config_set activedefrag yes
        wait_for_condition 500 20 {[lsearch -index 0 [r latency latest] active-defrag-cycle] >= 0} else {
            fail "no such event: [r latency latest]"
        }
    }
}
