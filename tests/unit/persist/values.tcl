# Every type and encoding through files: a restart brings back what was there, in each form that a file may have.
source [file join [file dirname [info script]] .. .. support values.tcl]
source [file join [file dirname [info script]] aof_util.tcl]

foreach index {skiplist btree} {
    foreach preamble {yes no} {
        start_server [list tags {persist} overrides [list appendonly yes aof-use-rdb-preamble $preamble zset-index $index]] {
            test "restart with a rewritten append-only file, preamble $preamble, zset-index $index" {
                fill_all 0
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
                    # No command tells when a consumer was last seen.
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
