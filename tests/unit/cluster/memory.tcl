# The memory of a cluster node, compared with a single server.

source -encoding utf-8 $::support/cluster.tcl

proc memory_of_keys {count} {
    set before [s used_memory]
    r debug populate $count key 10
    return [expr {[s used_memory] - $before}]
}

# Its private memory, without the shared pages of the program and its libraries.
proc own_kb {pid} {
    regexp {RssAnon:\s+(\d+) kB} [read_file /proc/$pid/status] -> kb
    return $kb
}

tags {valgrind:skip} {
start_cluster {kinds {ours} overrides {save {}}} {
    test "an empty node is small" {
        if {![string match jemalloc* [s mem_allocator]]} { skip "another allocator" }
        wait_for_condition 50 100 {[own_kb [srv [n 0] pid]] < 2560} else { fail "[own_kb [srv [n 0] pid]] KB" }
    }
    test "memory that only TLS needs is not used without it" {
        assert_no_match "*libssl*" [read_file /proc/[srv [n 0] pid]/maps]
    }
}
}

set alone 0
start_server {overrides {save {}}} {
    test "a million keys of a single server" { set ::alone [memory_of_keys 1000000] }
}
start_cluster {kinds {ours} overrides {save {}}} {
    test "a million keys take little more in tables by slot" {
        if {![string match jemalloc* [s mem_allocator]]} { skip "another allocator" }
        set here [memory_of_keys 1000000]
        assert_lessthan $here [expr {$::alone * 1.03}]
    }
}
