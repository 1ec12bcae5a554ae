# Append-only files are exchanged with Redis 7.0 in both directions.
source [file join [file dirname [info script]] aof_util.tcl]

# Every value, read through commands that both servers know.
proc aof_read_all {} {
    set all {}
    foreach db {0 3} {
        r select $db
        foreach key [lsort [r keys *]] {
            switch [r type $key] {
                string { set value [r get $key] }
                list { set value [r lrange $key 0 -1] }
                set { set value [lsort [r smembers $key]] }
                zset { set value [r zrange $key 0 -1 withscores] }
                hash { set value [lsort -stride 2 [r hgetall $key]] }
                stream {
                    set info [dict remove [r xinfo stream $key] radix-tree-keys radix-tree-nodes]
                    # How much a group has read is not in XCLAIM, which is how reading is written down.
                    set groups [lmap g [r xinfo groups $key] { list [dict remove $g entries-read lag] [r xpending $key [dict get $g name]] }]
                    set value [list [r xrange $key - +] $info $groups]
                }
            }
            dict set all $db:$key [list $value [expr {[r pttl $key] > 0}]]
        }
    }
    r select 0
    return $all
}

proc assert_same_data {expected actual} {
    assert_equal [lsort [dict keys $expected]] [lsort [dict keys $actual]]
    dict for {key value} $expected { assert_equal $value [dict get $actual $key] $key }
}

proc aof_fill_common {} {
    set fill [info body aof_fill]
    # Redis 7.0 knows nothing of fields that expire.
    regsub -line {^.*hpexpire.*$} $fill {} fill
    eval $fill
}

tags {external:skip} {
    if {[oracle] eq {}} {
        test {append-only files of Redis 7.0} { skip "no redis-server here" }
        return
    }
    foreach rewrite {0 1} {
        test "ours reads the files of Redis 7.0[expr {$rewrite ? ", rewritten" : ""}]" {
            set dir $::work_dir/exchange.[incr ::server_count]
            file mkdir $dir
            start_server [list executable [oracle] overrides [list dir $dir appendonly yes appendfsync always]] {
                aof_fill_common
                if {$rewrite} {
                    r bgrewriteaof
                    aof_wait_rewrite
                    r set after rewrite
                }
                set theirs [aof_read_all]
            }
            start_server [list overrides [list dir $dir appendonly yes]] {
                assert_same_data $theirs [aof_read_all]
                r bgrewriteaof
                aof_wait_rewrite
                assert_equal ok [s aof_last_bgrewrite_status]
                restart_server
                assert_same_data $theirs [aof_read_all]
            }
        }

        test "Redis 7.0 reads our files[expr {$rewrite ? ", rewritten" : ""}]" {
            set dir $::work_dir/exchange.[incr ::server_count]
            file mkdir $dir
            start_server [list overrides [list dir $dir appendonly yes aof-use-rdb-preamble no]] {
                aof_fill_common
                if {$rewrite} {
                    r bgrewriteaof
                    aof_wait_rewrite
                    r set after rewrite
                }
                set ours [aof_read_all]
            }
            start_server [list executable [oracle] overrides [list dir $dir appendonly yes]] {
                assert_same_data $ours [aof_read_all]
            }
        }
    }
}
