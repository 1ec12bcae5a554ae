# maxmemory: which keys are evicted, which commands are refused, and how close the choice is to the best one.

set policies {
    volatile-lru volatile-lfu volatile-random volatile-ttl volatile-lrm volatile-lhd
    allkeys-lru allkeys-lfu allkeys-random allkeys-lrm allkeys-lhd
}
set oom "OOM command not allowed when used memory > 'maxmemory'."

# n strings of 100 bytes under prefix:0 .. , in portions between which the server may evict. Options are those of SET.
proc load {prefix n args} {
    for {set at 0} {$at < $n} {incr at 200} {
        r eval {
            for i = ARGV[2], math.min(ARGV[2] + 199, ARGV[3] - 1) do
                redis.call('set', ARGV[1] .. ':' .. i, string.rep('v', 100), unpack(ARGV, 4))
            end
        } 0 $prefix $at $n {*}$args
    }
}

# How many of prefix:0 .. are still there.
proc left {prefix n} {
    return [r eval {
        local n = 0
        for i = 0, ARGV[2] - 1 do n = n + redis.call('exists', ARGV[1] .. ':' .. i) end
        return n
    } 0 $prefix $n]
}

proc no_limit {policy} {
    r config set maxmemory 0 maxmemory-policy $policy
    r flushall sync
    wait_for_condition 1000 10 {[s lazyfree_pending_objects] == 0} else { fail "lazy free hangs" }
    r config resetstat
}

# Sets maxmemory to this many bytes above the memory in use.
proc limit_at {more} { config_set maxmemory [expr {[s used_memory] + $more}] }

# Asks for loop:0 .. in order, and sets those that are absent, in portions. Returns how many these were.
proc loop_misses {n} {
    set misses 0
    for {set at 0} {$at < $n} {incr at 50} {
        incr misses [r eval {
            local misses = 0
            for i = ARGV[1], ARGV[1] + 49 do
                if not redis.call('get', 'loop:' .. i) then
                    misses = misses + 1
                    redis.call('set', 'loop:' .. i, string.rep('v', 100))
                end
            end
            return misses
        } 0 $at]
    }
    return $misses
}

# The reply of INFO is added to the memory in use.
proc assert_below_limit {} { assert_lessthan_equal [s used_memory] [expr {[config_get maxmemory] + 65536}] }

start_server {tags {evict external:skip} overrides {maxmemory-samples 10}} {
    test {noeviction: commands that need memory fail, all others run} {
        no_limit noeviction
        load k 100
        limit_at -200000
        assert_error $oom {r set k:0 other}
        assert_error $oom {r lpush list a}
        assert_error $oom {r zadd z 1 a}
        assert_equal 100 [string length [r get k:0]]
        assert_equal OK [r config set maxmemory-samples 10]
        assert_equal 1 [r del k:0]
        assert_equal {99 0} [list [r dbsize] [s evicted_keys]]
        config_set maxmemory 0
        assert_equal OK [r set k:0 other]
    }

    test {scripts: the first write is refused, or the script at its start by its flags} {
        no_limit noeviction
        r set k v
        limit_at -200000
        assert_error "$oom script: *" {r eval {return redis.call('set', 'k', 'w')} 0}
        assert_equal v [r eval {return redis.call('get', 'k')} 0]
        assert_equal $oom [r eval {return redis.pcall('set', 'k', 'w').err} 0]
        assert_equal v [r get k]
        assert_equal OK [r eval {redis.call('del', 'x'); return redis.call('set', 'k', 'w')} 0]
        assert_error $oom {r eval "#!lua\nreturn 1" 0}
        assert_error $oom {r eval_ro "#!lua\nreturn 1" 0}
        assert_equal 1 [r eval "#!lua flags=no-writes\nreturn 1" 0]
        assert_equal OK [r eval "#!lua flags=allow-oom\nreturn redis.call('set', 'k', 'x')" 0]
        config_set maxmemory 0
        assert_equal 1 [r eval "#!lua\nreturn 1" 0]
    }

    test {the time above the limit is counted} {
        no_limit noeviction
        assert_equal {0 0} [list [s total_eviction_exceeded_time] [s current_eviction_exceeded_time]]
        limit_at -200000
        catch {r set k v}
        after 60
        assert_range [s current_eviction_exceeded_time] 40 10000
        assert_range [s total_eviction_exceeded_time] 40 10000
        config_set maxmemory 0
        assert_equal 0 [s current_eviction_exceeded_time]
        assert_range [s total_eviction_exceeded_time] 40 10000
        r config resetstat
        assert_equal 0 [s total_eviction_exceeded_time]
    }

    test {INFO shows limit and policy} {
        no_limit noeviction
        assert_equal {0 0B noeviction 0} [lmap f {maxmemory maxmemory_human maxmemory_policy mem_not_counted_for_evict} {s $f}]
        r config set maxmemory 100mb maxmemory-policy volatile-ttl
        assert_equal {104857600 100.00M volatile-ttl} [lmap f {maxmemory maxmemory_human maxmemory_policy} {s $f}]
    }

    foreach policy $policies {
        test "$policy keeps memory below the limit" {
            no_limit $policy
            limit_at 1000000
            config_set maxmemory-eviction-tenacity 100 ;# with less, slow builds leave the rest to the timer
            load k 20000 ex 1000
            assert_below_limit
            config_set maxmemory-eviction-tenacity 10
            config_set maxmemory 0 ;# or the questions themselves could cost a key
            assert_range [r dbsize] 3000 9000
            assert_equal 20000 [expr {[r dbsize] + [s evicted_keys]}]
            assert_equal [r dbsize] [left k 20000]
        }
    }

    test {keys of all databases can be evicted} {
        no_limit allkeys-random
        limit_at 1000000
        foreach db {0 3 15} {
            r select $db
            load k 3000
        }
        r select 0
        load more 10000
        foreach db {0 3 15} {
            r select $db
            assert_lessthan [left k 3000] 3000 "database $db"
        }
        r select 0
    }

    foreach policy {volatile-lru volatile-lfu volatile-random volatile-ttl volatile-lrm volatile-lhd} {
        test "$policy: only keys with an expiry are evicted" {
            no_limit $policy
            load keep 2000
            load go 2000 ex 10000
            limit_at 0
            load new 1000 ex 10000
            assert_equal 2000 [left keep 2000]
            assert_lessthan [left go 2000] 2000
        }

        test "$policy: with no such key commands fail" {
            no_limit $policy
            load keep 2000
            limit_at 0
            assert_error $oom {for {set i 0} {$i < 100} {incr i} { r set new:$i [string repeat x 1000] }}
            assert_equal {2000 0} [list [left keep 2000] [s evicted_keys]]
        }
    }

    test {a new limit below the memory in use is logged, and keys are evicted} {
        no_limit allkeys-lru
        load k 5000
        set from [expr {[llength [log_lines]] - 1}]
        limit_at -300000
        wait_for_log "*maxmemory was set to * bytes, but * are in use*" $from
        wait_for_condition 1000 20 {[s used_memory] <= [config_get maxmemory] + 65536} else { fail "still above" }
    }

    test {with a low eviction tenacity the rest is evicted in the background} {
        no_limit allkeys-random
        config_set maxmemory-eviction-tenacity 0
        load k 50000
        limit_at -4000000
        wait_for_condition 1000 20 {[r dbsize] < 30000} else { fail "[r dbsize] keys" }
        config_set maxmemory-eviction-tenacity 100
        limit_at -400000
        assert_equal PONG [r ping]
        assert_below_limit
        config_set maxmemory-eviction-tenacity 10
    }

    test {volatile-ttl: the keys that expire next are evicted first} {
        no_limit volatile-ttl
        load soon 4000 ex 1000
        load later 1000 ex 100000
        load never 1000
        limit_at 0
        load new 500 ex 1000000
        # How many had to go depends on the memory of scripts and statistics as well: the order does not.
        assert_equal {1000 500 1000} [list [left never 1000] [left new 500] [left later 1000]]
        assert_lessthan [left soon 4000] 4000
    }

    test {a candidate whose expiry has changed is not evicted} {
        no_limit volatile-ttl
        load soon 2000 ex 1000
        limit_at 0
        r set x [string repeat x 1000] ex 2000
        foreach key [r keys soon:*] { r persist $key }
        set kept [llength [r keys soon:*]]
        assert_morethan $kept 0
        catch {load new 500 ex 3000}
        assert_equal $kept [llength [r keys soon:*]]
    }

    test {LFU: keys that are used often stay} {
        no_limit allkeys-lfu
        config_set lfu-log-factor 1
        load often 1000
        load rarely 4000
        r eval {for n = 1, 20 do for i = 0, 999 do redis.call('get', 'often:' .. i) end end} 0
        limit_at 0
        load new 3000
        assert_morethan [left often 1000] 950
        assert_lessthan [left rarely 4000] 3500
        config_set lfu-log-factor 10
    }

    test {LRM: keys that are changed stay, keys that are only read go} {
        no_limit allkeys-lrm
        load written 2000
        load read 2000
        after 2100
        load written 2000
        for {set i 0} {$i < 5} {incr i} { assert_equal 2000 [r eval {
            local n = 0
            for i = 0, 1999 do if redis.call('get', 'read:' .. i) then n = n + 1 end end
            return n} 0] }
        limit_at 0
        load new 1000
        assert_equal 2000 [left written 2000]
        assert_lessthan [left read 2000] 1500
    }

    test {LRM: OBJECT IDLETIME is the time since the last change} {
        no_limit allkeys-lrm
        assert_error "ERR An LFU maxmemory policy is not selected*" {r set k 1; r object freq k}
        r flushall
        # Commands before; a command; whether the key k counts as changed.
        set rows {
            {set k 1} {get k} 0  {set k 1} {touch k} 0  {set k 1} {strlen k} 0  {set k 1} {getex k} 0  {set k 1} {dump k} 0
            {set k 1} {getex k ex 1000} 1  {set k 1} {expire k 1000} 1  {set k 1} {persist k} 0  {set k 1} {set k 2 nx} 0
            {set k 1} {set k 2} 1  {set k 1} {incr k} 1  {set k x} {incr k} 0  {set k 1} {append k x} 1  {set k 1} {getset k 1} 1
            {set k 1} {setbit k 7 1} 0  {set k 1} {setbit k 7 0} 1  {sadd k a} {sadd k a} 0  {sadd k a} {sadd k b} 1
            {sadd k a} {srem k b} 0  {sadd k a b} {spop k} 1  {sadd k a} {smembers k} 0  {zadd k 1 a} {zadd k 1 a} 0
            {zadd k 1 a} {zadd k 2 a} 1  {hset k f v} {hget k f} 0  {hset k f v} {hset k f w} 1
            {hset k f v} {hexpire k 100 fields 1 f} 1  {rpush k a b} {lpop k} 1  {rpush k a b} {lrange k 0 -1} 0
            {rpush k a b} {lrem k 0 c} 0  {set q 1} {rename q k} 1  {set q 1; set k 1} {rename q k} 1  {set q 1} {copy q k} 1
            {set k 1} {copy k q} 0  {rpush k 3 1} {sort k} 0  {xadd k 1-1 f v} {xlen k} 0  {xadd k 1-1 f v} {xadd k 2-1 f v} 1
            {xadd k 1-1 f v} {xgroup create k g 0} 1  {xadd k 1-1 f v; xgroup create k g 0} {xreadgroup group g c streams k >} 1
            {xadd k 1-1 f v; xgroup create k g 0; xreadgroup group g c streams k >} {xack k g 1-1} 1
            {xadd k 1-1 f v; xgroup create k g 0} {xack k g 1-1} 0  {set k 1} {delex k ifeq 2} 0  {set k 1} {object encoding k} 0
        }
        proc lrm_run {n words} { r {*}[lmap word $words { expr {$word in {k q} ? "$word:$n" : $word} }] }
        set n 0
        foreach {before command changes} $rows {
            incr n
            foreach words [split $before ";"] { lrm_run $n $words }
        }
        after 3100
        set n 0
        set wrong {}
        foreach {before command changes} $rows {
            catch {lrm_run [incr n] $command}
            if {([r object idletime k:$n] < 2) != $changes} { lappend wrong $command }
        }
        assert_equal {} $wrong
    }

    test {LRM: RESTORE IDLETIME, CLIENT NO-TOUCH, a change of the policy} {
        no_limit allkeys-lrm
        r set a 1
        set payload [r dump a]
        foreach key {a b} { r restore $key 0 $payload replace idletime 1000 }
        assert_range [r object idletime a] 1000 1100
        r client no-touch on
        r get b
        assert_range [r object idletime b] 1000 1100
        r append b x
        assert_lessthan [r object idletime b] 100 "a change is one whoever makes it"
        r client no-touch off
        config_set maxmemory-policy allkeys-lru
        r get a
        assert_lessthan [r object idletime a] 100
        r restore a 0 $payload replace idletime 1000
        config_set maxmemory-policy volatile-lrm
        r get a
        assert_range [r object idletime a] 1000 1100
        r set a 2
        assert_lessthan [r object idletime a] 100
    }

    test {LHD: a loop over more keys than fit} {
        foreach policy {allkeys-lhd allkeys-lru} {
            no_limit $policy
            load loop 3000
            limit_at 0
            set misses 0
            for {set round 0} {$round < 40} {incr round} {
                set missed [loop_misses 4500]
                if {$round >= 20} { incr misses $missed }
            }
            lappend all $misses
        }
        lassign $all lhd lru
        assert_lessthan $lhd [expr {0.9 * $lru}] ;# within a second LRU is a random choice here
    }

    test {LHD: popular keys survive a scan} {
        no_limit allkeys-lhd
        load loop 3000
        limit_at 0
        for {set round 0} {$round < 20} {incr round} {
            loop_misses 1000
            load scan$round 1000
        }
        assert_morethan [left loop 1000] 950
    }

    test {LHD: OBJECT FREQ is a logarithmic count of uses, and there is no IDLETIME} {
        no_limit volatile-lhd
        r set k v
        assert_equal 0 [r object freq k]
        assert_error "ERR An LHD maxmemory policy is selected, idle time not tracked." {r object idletime k}
        r get k
        r touch k
        assert_equal 2 [r object freq k]
        for {set i 0} {$i < 300} {incr i} { r get k }
        assert_range [r object freq k] 5 13
        set payload [r dump k]
        r restore k 0 $payload replace freq 7
        assert_equal 7 [r object freq k]
        r restore k 0 $payload replace freq 255
        assert_equal 15 [r object freq k]
        r restore k 0 $payload replace freq 0
        r client no-touch on
        r get k
        assert_equal 0 [r object freq k]
        r client no-touch off
        r restore k 0 $payload replace freq 9
        r rename k m
        assert_equal 9 [r object freq m]
    }

    test {LFU: the counter grows with use and decays with time} {
        no_limit volatile-lfu
        r set k value
        assert_equal 5 [r object freq k]
        assert_error "ERR An LFU maxmemory policy is selected, idle time not tracked.*" {r object idletime k}
        config_set lfu-log-factor 0
        for {set i 0} {$i < 10} {incr i} { r get k }
        assert_equal 15 [r object freq k]
        r set k other
        assert_equal 16 [r object freq k]
        for {set i 0} {$i < 300} {incr i} { r touch k }
        assert_equal 255 [r object freq k]
        config_set lfu-log-factor 10
        r set new value
        for {set i 0} {$i < 1000} {incr i} { r get new }
        assert_range [r object freq new] 8 60
        config_set maxmemory-policy allkeys-lru
        assert_error "ERR An LFU maxmemory policy is not selected, access frequency not tracked.*" {r object freq k}
        r get k
        assert_equal 0 [r object idletime k]
    }

    test {evicting a key publishes an event} {
        no_limit allkeys-random
        config_set notify-keyspace-events Ee
        set c [valkey_deferring_client]
        $c psubscribe *
        $c read
        r set only x
        limit_at -100000
        assert_equal {pmessage * __keyevent@0__:evicted only} [$c read]
        config_set maxmemory 0
        config_set notify-keyspace-events {}
        $c close
    }

    test {big values are freed in the background} {
        no_limit allkeys-lru
        config_set lazyfree-lazy-eviction yes
        for {set i 0} {$i < 20} {incr i} {
            r eval {for i = 1, 3000 do redis.call('zadd', KEYS[1], i, 'member:' .. i) end} 1 z:$i
        }
        set freed [s lazyfreed_objects]
        limit_at -1000000
        wait_for_condition 1000 20 {[s used_memory] <= [config_get maxmemory] + 65536} else { fail "still above" }
        assert_range [r dbsize] 1 18
        wait_for_condition 1000 20 {[s lazyfreed_objects] > $freed} else { fail "nothing freed on the thread" }
    }

    test {commands of all kinds find an evicted key absent} {
        no_limit allkeys-random
        limit_at 500000
        for {set i 0} {$i < 2500} {incr i} {
            r rpush list:$i a b c
            r sadd set:$i a b c
            r hset hash:$i f v g w
            r zadd zset:$i 1 a 2 b
            r append string:$i [string repeat x 100]
        }
        assert_below_limit
        assert_morethan [s evicted_keys] 100
    }

    test {a million writes stay within maxmemory} {
        set benchmark [file join [file dirname $::options(server)] valkey-benchmark]
        if {![file executable $benchmark]} { skip "no valkey-benchmark" }
        no_limit allkeys-lru
        config_set maxmemory 20mb
        exec $benchmark -h [srv host] -p [srv port] -t set -n 1000000 -r 100000000 -P 32 -q 2>@1
        assert_below_limit
        assert_lessthan [s used_memory_peak] 24000000
        assert_morethan [r dbsize] 200000
        assert_range [expr {[r dbsize] + [s evicted_keys]}] 980000 1000000
    } {} {slow}
    no_limit noeviction
}

# Five generations of keys, the youngest last; then enough new keys that half of the old ones must be evicted. Returns
# how many of the evicted keys would have been evicted in exact order of age. Under LRM the oldest keys are read meanwhile.
proc lru_quality {{policy allkeys-lru}} {
    set generation 4000
    no_limit $policy
    for {set g 0} {$g < 5} {incr g} {
        load g$g $generation
        after 1100
        if {$policy eq "allkeys-lrm"} { r eval {for i = 0, ARGV[1] - 1 do redis.call('get', 'g0:' .. i) end} 0 $generation }
    }
    limit_at 0
    load new [expr {5 * $generation / 2}]
    for {set g 0} {$g < 5} {incr g} { lappend gone [expr {$generation - [left g$g $generation]}] }
    set all [tcl::mathop::+ {*}$gone]
    set room $all
    set right 0
    foreach n $gone {
        incr right [expr {min($n, $room)}]
        set room [expr {max(0, $room - $generation)}]
    }
    assert_range $all [expr {2 * $generation}] [expr {3 * $generation}]
    return [expr {double($right) / $all}]
}

start_server {tags {evict external:skip slow} overrides {maxmemory-samples 5}} {
    test {LRU: the oldest keys go first, about as well as with the oracle} {
        set ours [lru_quality]
        assert_morethan $ours 0.8
        if {[oracle] ne {}} {
            start_server [list executable [oracle] overrides {maxmemory-samples 5}] {
                assert_morethan $ours [expr {0.8 * [lru_quality]}]
            }
        }
    }

    test {LRM: the keys that were changed longest ago go first, as well as with LRU} {
        set ours [lru_quality allkeys-lrm]
        assert_morethan $ours 0.8
        if {[redis8] ne {}} {
            start_server [list executable [redis8] overrides {maxmemory-samples 5}] {
                assert_morethan $ours [expr {0.8 * [lru_quality allkeys-lrm]}]
            }
        }
    }
}

start_server {tags {evict external:skip} overrides {maxmemory 40% maxmemory-policy allkeys-lrm}} {
    test {maxmemory in percent: bytes are shown, at most that share of the machine} {
        set at_start [config_get maxmemory]
        assert_range $at_start 1 [expr {[s total_system_memory] * 2 / 5}]
        assert_equal $at_start [s maxmemory]
        foreach share {80 20 1} {
            config_set maxmemory $share%
            assert_range [config_get maxmemory] [expr {$at_start / 40 * $share - 1000}] [expr {$at_start / 40 * $share + 1000}]
        }
        config_set maxmemory 0%
        assert_equal 0 [config_get maxmemory]
        foreach {bad error} {
            101% "percentage argument must be less or equal to 100" % "argument must be a memory or percent value"
            -5% "argument must be a memory or percent value" x "argument must be a memory or percent value"
        } { assert_error "ERR CONFIG SET failed (possibly related to argument 'maxmemory') - $error" {r config set maxmemory $bad} }
        assert_equal 0 [config_get maxmemory]
    }

    test {maxmemory in percent: a change that fails restores it, and CONFIG REWRITE writes it} {
        config_set maxmemory 30%
        set bytes [config_get maxmemory]
        assert_error "*" {r config set maxmemory 10mb maxmemory-policy nosuch}
        assert_equal $bytes [config_get maxmemory]
        r config rewrite
        restart_server
        assert_equal $bytes [config_get maxmemory]
        r config rewrite
        set f [open [srv conf]]
        set lines [read $f]
        close $f
        assert_match "*\nmaxmemory 30%\n*" "\n$lines"
        config_set maxmemory 3mb
        r config rewrite
        restart_server
        assert_equal 3145728 [config_get maxmemory]
    }

    test {maxmemory in percent on the command line} {
        start_server {args {--maxmemory 20%}} {
            assert_range [config_get maxmemory] 1 [expr {[s total_system_memory] / 5}]
        }
    }

    test {LRM from the configuration file marks changes} {
        r set k 1
        set payload [r dump k]
        r restore k 0 $payload replace idletime 1000
        r append k x
        assert_lessthan [r object idletime k] 100
    }
}

start_server {tags {evict external:skip} overrides {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes maxmemory-policy allkeys-lhd}} {
    test {LHD: threads that read mark and count uses while keys are evicted} {
        set benchmark [file join [file dirname $::options(server)] valkey-benchmark]
        if {![file executable $benchmark]} { skip "no valkey-benchmark" }
        config_set maxmemory [expr {[s used_memory] + 2000000}]
        foreach load {set get set get} {
            exec $benchmark -h [srv host] -p [srv port] -t $load -d 100 -n 60000 -r 30000 -P 8 -c 12 -q 2>@1
        }
        assert_morethan [s evicted_keys] 20000
        assert_morethan [s keyspace_hits] 10000
        assert_morethan [s parallel_reads_processed] 10000
        set uses {}
        for {set i 0} {$i < 200} {incr i} { lappend uses [r object freq [r randomkey]] }
        assert_morethan [llength [lsort -unique $uses]] 1 "uses are counted: $uses"
    }
}
