# Every type and encoding through files: a restart brings back what was there, in each form that a file may have.
source [file join [file dirname [info script]] .. .. support values.tcl]
source [file join [file dirname [info script]] aof_util.tcl]

foreach index {skiplist btree} {
    foreach {preamble compression} {yes yes yes lz4 yes zstd no lz4} {
        start_server [list tags {persist} overrides [list appendonly yes aof-use-rdb-preamble $preamble zset-index $index \
                                                         rdbcompression $compression]] {
            test "restart with a rewritten append-only file, preamble $preamble, rdbcompression $compression, zset-index $index" {
                fill_all 0
                fill_paths 0
                r hset hash:expiring a 1 b 2 c 3
                r hpexpireat hash:expiring 4102444800123 FIELDS 2 a b
                r pexpireat string:short 4102444800456
                set before [contents 0]
                set digest [r debug digest]
                r bgrewriteaof
                aof_wait_rewrite
                restart_server
                assert_equal [dict keys $before] [dict keys [contents 0]]
                dict for {key value} $before {
                    set now [content 0 $key]
                    # No command shows when a consumer was last seen.
                    if {!$preamble} {
                        regsub -all {seen-time \d+} $value {} value
                        regsub -all {seen-time \d+} $now {} now
                    }
                    assert_equal $value $now $key
                }
                assert_equal $digest [r debug digest]
                assert_equal {4102444800123 4102444800123 -1} [r hpexpiretime hash:expiring FIELDS 3 a b c]
                assert_equal 4102444800456 [r pexpiretime string:short]
            }
        }
    }
}

start_server {tags {persist} overrides {appendonly yes auto-aof-rewrite-percentage 0}} {
    test {RESTORE is written with a time that does not move, and as a deletion when that is over} {
        r set a one
        set payload [r dump a]
        set before [llength [aof_commands]]
        r restore b 0 $payload
        r restore c 100000 $payload replace
        r restore d 4102444800123 $payload absttl
        r restore d 1 $payload absttl replace
        r restore d 1 $payload absttl
        assert_error "BUSYKEY*" { r restore b 0 $payload }
        lassign [lrange [aof_commands] $before end] b c d gone more
        assert_equal [list restore b 0 $payload] $b
        assert_equal [list restore c [r pexpiretime c] $payload replace ABSTTL] $c
        assert_equal [list restore d 4102444800123 $payload absttl] $d
        assert_equal {UNLINK d} $gone
        assert_equal {} $more
    }

    test {the effects of RESTORE and MIGRATE survive a restart} {
        r mset moved 1 stays 2 gone 3
        start_server {} {
            r set stays taken
            assert_error "ERR Target instance replied with error: BUSYKEY*" {
                r -1 migrate [srv 0 host] [srv 0 port] {} 0 5000 keys moved stays gone
            }
            assert_equal {gone moved stays} [lsort [r keys *]]
            assert_equal OK [r -1 migrate [srv 0 host] [srv 0 port] a 0 5000 copy]
        }
        assert_equal {DEL moved gone} [lindex [aof_commands] end]
        set keys [lsort [r keys *]]
        assert_equal {a b c stays} $keys
        set digest [r debug digest]
        restart_server
        assert_equal $keys [lsort [r keys *]]
        assert_equal $digest [r debug digest]
    }
}
