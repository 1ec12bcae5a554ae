# Small allocations of the main thread are the server's own slabs' (src/base/slab.h), where its allocator is jemalloc.
source [file join [file dirname [info script]] server_util.tcl]

proc has_slabs {client} {
    string match "Slabs of *" [$client memory malloc-stats]
}

proc load_strings {client} {
    $client eval {for i = 1, 200000 do redis.call('set', 'key:' .. i, string.rep('x', 20 + i % 60)) end} 0
}

start_server {tags {memory external:skip valgrind:skip} overrides {save {}}} {
    test {sizes that differ by 8 take what they need} {
        if {![has_slabs r]} { skip "another allocator" }
        load_strings r
        set usage {}
        foreach n {10 18 26 34 42 50} {
            r set k [string repeat x $n]
            lappend usage [r memory usage k]
        }
        for {set i 1} {$i < [llength $usage]} {incr i} {
            assert_equal 8 [expr {[lindex $usage $i] - [lindex $usage $i-1]}] $usage
        }
    }

    foreach how {sync async} {
        test "FLUSHALL $how: memory is freed at once, and its pages are returned within seconds" {
            if {![has_slabs r]} { skip "another allocator" }
            r flushall sync
            r memory purge
            set used [s used_memory]
            set resident [s used_memory_rss]
            load_strings r
            set loaded [s used_memory]
            assert_morethan $loaded [expr {$used + 10000000}]
            assert_morethan [s used_memory_rss] [expr {$resident + 8000000}]
            r flushall $how
            wait_for_condition 500 20 {[s lazyfree_pending_objects] == 0} else { fail "lazy free hangs" }
            assert_lessthan [s used_memory] [expr {$used + 500000}]
            wait_for_condition 60 200 {[s used_memory_rss] < $resident + 4000000} else {
                fail "[s used_memory_rss] resident, of $resident before; [s used_memory] used"
            }
        }
    }

    test {a child that saves allocates and frees, too} {
        load_strings r
        r bgsave
        for {set i 1} {$i < 20000} {incr i 7} { r set key:$i changed }
        wait_for_condition 500 20 {![s rdb_bgsave_in_progress]} else { fail "no end" }
        assert_equal ok [s rdb_last_bgsave_status]
        r debug reload
        assert_equal {200000 changed} [list [r dbsize] [r get key:8]]
    } {} {needs:debug}
}

start_server {tags {memory external:skip}} {
    test {with a limited address space there are no slabs, and all works} {
        if {![has_slabs r]} { skip "another allocator" }
        set port [free_port]
        with_server_command [list sh -c "ulimit -v 4000000 && exec \"\$0\" --port $port --save ''" $::options(server)] {
            wait_for_text $log "Ready to accept connections tcp"
            set c [resp::connect 127.0.0.1 $port]
            assert_equal 0 [has_slabs $c]
            load_strings $c
            assert_equal 200000 [$c dbsize]
            assert_equal OK [$c flushall async]
            $c close
        }
    }
}
