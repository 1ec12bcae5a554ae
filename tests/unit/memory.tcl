# MEMORY: what a key takes, and where the rest is.

start_server {tags {memory external:skip}} {
    proc make {type n} {
        switch $type {
            string { r set k [string repeat x [expr {$n * 10}]] }
            list { r rpush k {*}[lrepeat $n value:12345] }
            set { r sadd k {*}[lmap i [range $n] {string cat member:$i}] }
            zset { r zadd k {*}[concat {*}[lmap i [range $n] {list $i member:$i}]] }
            hash { r hset k {*}[concat {*}[lmap i [range $n] {list field:$i value}]] }
        }
    }
    proc range {n} {
        for {set i 0} {$i < $n} {incr i} { lappend list $i }
        return $list
    }

    foreach type {string list set zset hash} {
        test "MEMORY USAGE of a $type is the growth of used_memory" {
            foreach n {3 100 5000} {
                r del k
                make $type $n
                r flushall sync
                r config set list-max-listpack-size 128
                wait_for_condition 500 20 {[s lazyfree_pending_objects] == 0} else { fail "lazy free hangs" }
                set before [s used_memory]
                make $type $n
                set grown [expr {[s used_memory] - $before}]
                set usage [r memory usage k samples 0]
                if {$n == 3} {
                    assert_range $usage 30 400
                } else {
                    assert_range $usage [expr {int(0.75 * $grown) - 2000}] [expr {int(1.25 * $grown) + 2000}] "$n elements"
                }
                assert_range [r memory usage k] [expr {$usage / 2}] [expr {$usage * 2}] "sampled, $n elements"
            }
        }
    }

    test {a string that a command makes has no spare bytes behind its end} {
        foreach command {{setrange k 99999 x} {setbit k 799999 1} {bitfield k set u8 799992 1} {append k TEXT} {set k TEXT} {eval SCRIPT 1 k}} {
            r del k
            r {*}[string map [list TEXT [string repeat x 100000] SCRIPT {redis.call('setrange',KEYS[1],99999,'x')}] $command]
            assert_range [r memory usage k] 100000 120000 $command
        }
        r del k
        r pfadd k {*}[numbers 1 5000]
        assert_range [r memory usage k] 12304 14500
    }

    test {INFO does not count the memory of its own text} {
        r ping
        set before [dict get [r memory stats] total.allocated]
        assert_range [s used_memory] [expr {$before - 4096}] [expr {$before + 4096}]
    }

    test {MEMORY USAGE counts the expiry} {
        r set k v
        set plain [r memory usage k]
        r expire k 1000
        assert_morethan [r memory usage k] $plain
    }

    test {MEMORY USAGE: missing keys, and errors} {
        r flushall
        assert_equal {} [r memory usage nosuch]
        r set k v px 1
        wait_for_condition 100 20 {[r dbsize] == 0} else { fail "it has not expired" }
        assert_equal {} [r memory usage k]
        r set k v
        assert_error "ERR syntax error" {r memory usage k samples}
        assert_error "ERR syntax error" {r memory usage k samples -1}
        assert_error "ERR syntax error" {r memory usage k nonsense 1}
        assert_error "ERR value is not an integer or out of range" {r memory usage k samples x}
        assert_error "ERR wrong number of arguments for 'memory|usage' command" {r memory usage}
        assert_error "ERR unknown subcommand 'nonsense'. Try MEMORY HELP." {r memory nonsense}
    }

    test {MEMORY USAGE does not count as use of the key} {
        r set k v
        after 1100
        r memory usage k
        assert_morethan [r object idletime k] 0
        set hits [s keyspace_hits]
        r memory usage k
        assert_equal $hits [s keyspace_hits]
    }

    test {MEMORY STATS} {
        r flushall
        r set k v ex 1000
        r select 3
        r mset a 1 b 2
        r select 0
        foreach protocol {2 3} {
            r hello $protocol
            set stats [r memory stats]
            foreach field {peak.allocated total.allocated startup.allocated replication.backlog
                           replicas.repl.buffer clients.slaves clients.normal cluster.links cluster.slot_import
                           cluster.slot_export aof.buffer snapshot.buffer lua.caches functions.caches db.0 db.3
                           overhead.db.hashtable.lut overhead.db.hashtable.rehashing db.dict.rehashing.count
                           overhead.total keys.count keys.bytes-per-key dataset.bytes dataset.percentage peak.percentage
                           allocator.allocated allocator.active allocator.resident allocator.muzzy
                           allocator-fragmentation.ratio allocator-fragmentation.bytes allocator-rss.ratio
                           allocator-rss.bytes rss-overhead.ratio rss-overhead.bytes fragmentation fragmentation.bytes} {
                assert {[dict exists $stats $field]} $field
            }
            assert_equal 37 [dict size $stats]
            assert_equal 3 [dict get $stats keys.count]
            # A bucket; for leak checkers it has the addresses once more.
            set bucket [dict get $stats db.3 overhead.hashtable.main]
            assert {$bucket in {64 192}} $bucket
            assert_equal "overhead.hashtable.main $bucket overhead.hashtable.expires $bucket" [dict get $stats db.0]
            assert_equal "overhead.hashtable.main $bucket overhead.hashtable.expires 0" [dict get $stats db.3]
            assert_range [dict get $stats peak.percentage] 50 100
            assert_morethan_equal [dict get $stats peak.allocated] [dict get $stats total.allocated]
        }
        r hello 2
    }

    test {scripts count as overhead} {
        set before [dict get [r memory stats] lua.caches]
        r script load "return [string repeat 1 10000]"
        assert_range [expr {[dict get [r memory stats] lua.caches] - $before}] 10000 20000
    }

    test {INFO and MEMORY STATS agree} {
        r debug populate 1000 k 1000
        set stats [r memory stats]
        assert_range [expr {[s used_memory_dataset] - [dict get $stats dataset.bytes]}] -50000 50000
        assert_range [s used_memory_dataset] 1000000 2500000
        # I/O threads take more than a megabyte besides.
        assert_morethan [dict get $stats dataset.percentage] [expr {[config_get io-threads] > 1 ? 50 : 80}]
    } {} {needs:debug}

    # The allocator's figures are cached, because reading them takes long.
    test {the allocator's figures in INFO are at most some milliseconds old} {
        if {![string match jemalloc* [s mem_allocator]]} { skip "the allocator says nothing" }
        r flushall sync
        after 50
        foreach field {allocator_allocated allocator_active} { set was($field) [s $field] }
        r set big [string repeat x 20000000]
        for {set i 0} {$i < 60} {incr i} { r info memory; after 1 }
        foreach field {allocator_allocated allocator_active} {
            assert_range [s $field] [expr {$was($field) + 15000000}] [expr {$was($field) + 80000000}] $field
        }
        r del big
    }

    test {a large value that is set again and again reuses the pages of the last one} {
        if {![string match jemalloc* [s mem_allocator]]} { skip "the pages are the C library's affair" }
        proc page_faults {} { return [lindex [read_file /proc/[srv pid]/stat] 9] }
        set value [string repeat x 16777216] ;# 4096 pages
        for {set i 0} {$i < 13} {incr i} {
            if {$i == 3} { set before [page_faults] }
            r set big $value
        }
        assert_lessthan [expr {([page_faults] - $before) / 10}] 1000
        r del big
    } {} {external:skip}

    test {the peak stays, until CONFIG RESETSTAT} {
        r flushall sync
        r set big [string repeat x 5000000]
        r get nothing
        assert_morethan [s used_memory_peak] 5000000
        set at [s used_memory_peak_time]
        assert_range $at [expr {[clock seconds] - 5}] [clock seconds]
        r del big
        after 1100
        assert_morethan [s used_memory_peak] 5000000
        assert_equal $at [s used_memory_peak_time]
        wait_for_condition 500 20 {[s used_memory] < 5000000} else { fail "not freed" }
        r config resetstat
        assert_lessthan [s used_memory_peak] 5000000
        assert_morethan [s used_memory_peak_time] $at
    }

    test {MEMORY DOCTOR, PURGE, MALLOC-STATS and HELP} {
        r flushall sync
        assert_match "*nothing to say*" [r memory doctor]
        r debug populate 200000 k
        assert_no_match "*nothing to say*" [r memory doctor]
        r flushall sync
        r set big [string repeat x 30000000]
        assert_morethan [s used_memory_peak] 30000000
        r flushall sync
        r debug populate 100 big 100000
        assert_match "*Peak*" [r memory doctor]
        assert_equal OK [r memory purge]
        if {[string match jemalloc* [s mem_allocator]]} {
            assert_match "*jemalloc statistics*" [r memory malloc-stats]
        } else {
            assert_equal "Stats not supported for the current allocator" [r memory malloc-stats]
        }
        assert_match "*USAGE <key> \\\[SAMPLES <count>\\\]*" [r memory help]
    } {} {needs:debug}
}
