# Reads in I/O threads (parallel-reads) beside a module's thread that changes data under the lock (tests/modules/raising.c), or that runs
# scripts (tests/modules/engine.c).

source -encoding utf-8 $::support/module.tcl

with_modules {raising} {kinds ours tags {io-threads}
    overrides {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes save {} appendonly yes appendfsync everysec
        enable-debug-command yes}} {
    test {no read sees half of what a module's thread changes, or what is not in the append-only file} {
        lassign [list [valkey_deferring_client] [valkey_deferring_client]] c slow
        wait_for_condition 50 100 {[regexp -all { io-thread=[12] } [r client list]] == 3} else { fail "not offloaded" }
        r mset raised:x 0 raised:y 0
        set file [lindex [glob [file join [config_get dir] appendonlydir *.incr.aof]] 0]
        set before [s parallel_reads_processed]
        r raising.start 800
        set seen 0
        while {$seen < 800} {
            $slow debug sleep 0.001 ;# before the main thread writes to the file
            $c mget raised:x raised:y
            lassign [$c read] x y
            assert_equal $x $y
            assert_morethan_equal $x $seen
            if {$x > $seen} { assert_match "*raised:y\r\n\$[string length $x]\r\n$x\r\n*" [read_file $file] }
            assert_equal OK [$slow read]
            set seen $x
        }
        assert_morethan [expr {[s parallel_reads_processed] - $before}] 100
        $c close
        $slow close
    }
}

with_modules {engine} {kinds ours tags {io-threads}
    overrides {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes save {} busy-reply-threshold 10}} {
    test {no read sees half of a script that a module's thread runs, while others are served} {
        lassign [list [valkey_deferring_client] [valkey_deferring_client]] reader caller
        wait_for_condition 50 100 {[regexp -all { io-thread=[12] } [r client list]] == 3} else { fail "not offloaded" }
        r mset x 0 y 0
        set busy 0
        for {set round 1} {$round <= 10 || ($busy < 10 && $round <= 100)} {incr round} {
            $caller engine.thread eval "#!toy\ncall - set x $round\nspin 60\ncall - set y $round" 0
            for {set x 0} {$x < $round} {} {
                $reader mget x y
                if {[catch { $reader read } values]} {
                    assert_match "BUSY*" $values
                    incr busy
                    continue
                }
                lassign $values x y
                assert_equal $x $y "a script was seen half way"
            }
            assert_equal OK [$caller read]
        }
        assert_morethan $busy 0
        assert_morethan [s parallel_reads_processed] 0
        $reader close
        $caller close
    }
}
