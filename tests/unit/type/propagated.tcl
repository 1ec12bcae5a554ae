# What lists, sets, sorted sets and streams write to the append-only file in place of the client's command, and that
# running it again gives the same data.
source [file join [file dirname [file dirname [file normalize [info script]]]] persist aof_util.tcl]

tags {external:skip} {
    start_server {overrides {appendonly yes appendfsync always}} {
        # The commands written for a command; runs of arguments that are the time are shown as <ms>.
        proc written {args} {
            set before [llength [aof_commands]]
            r {*}$args
            return [lmap command [lrange [aof_commands] $before end] { regsub -all {\y\d{13}\y} $command <ms> }]
        }

        r select 0
        r set first x

        test {GEOADD is propagated as ZADD of its scores} {
            assert_equal {{ZADD g 3479099956230698 Palermo}} [written geoadd g 13.361389 38.115556 Palermo]
            set commands [written geoadd g nx CH 1 50 b 15.087269 37.502669 c]
            assert_equal [list [list ZADD g nx CH [r zscore g b] b 3479447370796909 c]] $commands
            assert_equal {} [written geoadd g nx 1 1 b]
        }

        test {a range of names among differing scores is a range of ranks, where the structure decides what it is} {
            foreach size {3 300} {
                foreach scores {0 1} {
                    set pairs {}
                    for {set i 0} {$i < $size} {incr i} { lappend pairs [expr {$scores * $i}] [format m%03d [expr {$i * 7 % $size}]] }
                    r del z
                    r zadd z {*}$pairs
                    set stored [lindex [written zrangestore d z {[m001} + bylex] 0]
                    set removed [lindex [written zremrangebylex z {[m001} +] 0]
                    if {$size == 300 && $scores} {
                        set count [r zcard d]
                        assert_match "ZRANGESTORE d z * *" $stored
                        assert_match "ZREMRANGEBYRANK z * *" $removed
                        assert_equal $count [expr {[lindex $removed 3] - [lindex $removed 2] + 1}]
                        assert_equal [expr {300 - $count}] [r zcard z]
                    } else {
                        assert_equal {zrangestore d z {[m001} + bylex} $stored
                        assert_equal {zremrangebylex z {[m001} +} $removed
                    }
                }
            }
        }

        test {XADD keeps its options, and what is approximate becomes exact, without LIMIT (9.2 §3)} {
            r config set stream-node-max-entries 2
            assert_equal {{xadd s 1-1 a b}} [written xadd s 1-1 a b]
            assert_equal {{xadd s 2-0 a b}} [written xadd s 2-* a b]
            assert_equal {{xadd s NOMKSTREAM 3-0 a b}} [written xadd s NOMKSTREAM 3-* a b]
            assert_equal {{xadd s MAXLEN 3 <ms>-0 a b}} [written xadd s MAXLEN 3 * a b]
            r del s
            for {set i 1} {$i <= 5} {incr i} { r xadd s $i-0 n $i }
            assert_equal {{xadd s nomkstream maxlen = 4 6-0 n 6}} [written xadd s nomkstream maxlen ~ 3 6-* n 6]
            # Only a loader would accept LIMIT with "=".
            assert_equal {{xadd s maxlen = 5 7-0 n 7}} [written xadd s maxlen ~ 1 limit 1 7-* n 7]
            assert_equal {{xadd s MINID = 5-0 8-0 n 8}} [written xadd s MINID ~ 6 8-* n 8]
            r xadd s 9-0 n 9
            assert_equal {{XTRIM s MAXLEN = 3}} [written xtrim s maxlen ~ 2]
            foreach id {1 2 3 4} { r xadd t $id-0 n $id }
            assert_equal {{XTRIM t MAXLEN = 2}} [written xtrim t maxlen ~ 1 limit 2]
        }

        test {SPOP is propagated as SREM, and as UNLINK or DEL when the set becomes empty} {
            r sadd few a b c
            assert_equal {{UNLINK few}} [written spop few 3]
            r config set lazyfree-lazy-server-del no
            r sadd few a b c
            assert_equal {{DEL few}} [written spop few 3]
            r config set lazyfree-lazy-server-del yes
            r config set set-max-listpack-entries 10
            set members [lmap i [lrepeat 200 x] { incr n }]
            r sadd many text {*}$members
            set commands [written spop many 180]
            assert_equal {SREM} [lmap command $commands { lindex $command 0 }]
            set gone [lrange [lindex $commands 0] 2 end]
            assert_equal 180 [llength [lsort -unique $gone]]
            assert_equal 21 [r scard many]
            foreach member [r smembers many] { assert {$member ni $gone} }
        }

        test {entries that a consumer reads again are propagated as XCLAIM, with time and count} {
            r xgroup create s g 0
            r xreadgroup group g c streams s >
            assert_equal [list MULTI {XCLAIM s g c 0 8-0 TIME <ms> RETRYCOUNT 2 FORCE JUSTID LASTID 9-0} \
                {XCLAIM s g c 0 9-0 TIME <ms> RETRYCOUNT 2 FORCE JUSTID LASTID 9-0} EXEC] \
                [written xreadgroup group g c streams s 7]
            assert_equal {} [written xreadgroup group g c streams s 9]
        }

        test {the file restores all of it} {
            r xautoclaim s g other 0 0 count 1
            set facts {}
            foreach run {1 2} {
                # When a consumer was last there is not kept.
                regsub -all {(seen|active)-time \d+} [r xinfo stream s full] {} stream
                lappend facts [list [r debug digest] $stream [r zrange g 0 -1 withscores]]
                r debug loadaof
            }
            assert_equal [lindex $facts 0] [lindex $facts 1]
        }
    }

    test {files of Valkey before 9.2 may have LIMIT in an exact trimming} {
        set text [aof_text {SELECT 0} {XADD s 1-0 a b} {XADD s 2-0 a b} {XADD s NOMKSTREAM MAXLEN = 2 LIMIT 5 3-0 a b} \
            {XTRIM s MINID = 3-0 LIMIT 10}]
        aof_with_files [aof_one_file $text] {} {
            assert_equal {{3-0 {a b}}} [r xrange s - +]
            assert_error "ERR syntax error, LIMIT*" { r xadd s maxlen = 2 limit 5 4-0 a b }
        }
    }
}
