# Defragmentation while a snapshot without a fork runs: it moves objects and containers, which the snapshot's thread may
# read and whose addresses the snapshot knows. Passes of their own wait for the end of a save, so DEBUG DEFRAG-ALL makes
# them here, and DEBUG DEFRAG-STRESS beside snapshots that nobody waits for (forkless-always).
source [file join [file dirname [info script]] ../../support/values.tcl]

start_server {tags {persist external:skip needs:debug slow} overrides {save {} bgsave-default-method forkless}} {
    # Values that are moved in pieces (active-defrag-max-scan-fields), not so large that they are saved in parts, and
    # some that are.
    proc fill_pieces {} {
        r config set active-defrag-max-scan-fields 20
        for {set k 0} {$k < 60} {incr k} {
            r hset fields:$k {*}[concat {*}[lmap i [integers 150] { list f$i [string repeat $i 5] }]]
            r sadd members:$k {*}[lmap i [integers 150] { string cat member$i }]
            r zadd scores:$k {*}[concat {*}[lmap i [integers 150] { list $i member$i }]]
            r rpush elements:$k {*}[lmap i [integers 300] { string repeat e$i 10 }]
            r set text:$k [string repeat x 3000]
            for {set i 1} {$i <= 30} {incr i} { r xadd few:$k $i-1 f [string repeat v 100] }
        }
        foreach i {1 2 3} {
            r hset large:hash {*}[concat {*}[lmap j [integers 1500] { list f$i:$j $j }]]
            r sadd large:set {*}[lmap j [integers 1500] { string cat m$i:$j }]
            r zadd large:zset {*}[concat {*}[lmap j [integers 1500] { list $j m$i:$j }]]
        }
    }

    test {issue 29: everything moves again and again during a snapshot, which has all of it as it was} {
        foreach index {skiplist btree} {
            r flushall
            r config set zset-index $index
            fill_all 0
            fill_pieces
            set digest [r debug digest]
            r config set rdb-key-save-delay 2000
            assert_match {Background sav*} [r bgsave]
            for {set n 0} {[s rdb_bgsave_in_progress]} {incr n} {
                r debug defrag-all
                r hset fields:[randomInt 60] f1 $n
                if {$n == 10} { r config set rdb-key-save-delay 0 }
            }
            assert_morethan $n 5
            assert_equal {ok forkless} [list [s rdb_last_bgsave_status] [s rdb_last_bgsave_type]]
            r debug reload nosave
            assert_equal $digest [r debug digest]
        }
    }

    test {issue 29: values move in pieces beside snapshots, each of which has all as it was} {
        r flushall
        fill_pieces
        r config set forkless-always 30
        r debug defrag-stress 1
        set hits [s active_defrag_hits]
        for {set end [expr {[clock milliseconds] + 4000}]} {[clock milliseconds] < $end} {} {
            r hset fields:[randomInt 60] f1 [randomInt 1000]
            r zincrby scores:[randomInt 60] 1 member7
        }
        r debug defrag-stress 0
        r config set forkless-always 0
        assert_morethan [s active_defrag_hits] [expr {$hits + 10000}]
        assert_equal PONG [r ping]
    }
}
