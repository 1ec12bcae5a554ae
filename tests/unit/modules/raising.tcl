# Reads in I/O threads (parallel-reads) beside a module's thread that changes data under the lock (tests/modules/raising.c).

source -encoding utf-8 $::support/module.tcl

with_modules {raising} {kinds ours tags {io-threads}
    overrides {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes save {} appendonly yes appendfsync everysec}} {
    test {no read sees half of what a module's thread changes, or what is not in the append-only file} {
        set c [valkey_deferring_client]
        wait_for_condition 50 100 {[regexp -all { io-thread=[12] } [r client list]] == 2} else { fail "not offloaded" }
        r mset raised:x 0 raised:y 0
        set file [lindex [glob [file join [config_get dir] appendonlydir *.incr.aof]] 0]
        set before [s parallel_reads_processed]
        r raising.start 300
        set seen 0
        while {$seen < 300} {
            $c mget raised:x raised:y
            lassign [$c read] x y
            assert_equal $x $y
            assert_morethan_equal $x $seen
            # Nothing is sent to the server before the file is read.
            if {$x > $seen} { assert_match "*raised:y\r\n\$[string length $x]\r\n$x\r\n*" [read_file $file] }
            set seen $x
        }
        assert_morethan [expr {[s parallel_reads_processed] - $before}] 100
        $c close
    }
}
