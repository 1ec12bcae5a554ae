# The append-only file around a full synchronization: it holds the old data until the new is in place, then the new.
source [file join [file dirname [info script]] receive_util.tcl]
source [file join [file dirname [info script]] .. persist aof_util.tcl]

tags {external:skip} {
    fake_listen
    set new [snapshot {
        r set key new
        for {set i 0} {$i < 500} {incr i} { r set filler:$i [randstring 20 20 alpha] }
        r function load "#!lua name=new\nserver.register_function{function_name='which', callback=function() return 'new' end, flags={'no-writes'}}"
    }]
    set stream [resp::encode {select 0}][resp::encode {set after 1}]

    proc sync_and_go_on {form} {
        fake_follow
        set p [fake_sync]
        fake_send $p [$form $::new]$::stream[resp::encode {replconf getack *}]
        while {[lrange [set command [fake_command $p]] 0 1] ne {REPLCONF ACK} || [lindex $command 2] < 1000 + [string length $::stream]} {}
        return $p
    }

    # The data as a server finds it that starts with these files.
    proc assert_kept {key after} {
        aof_wait_rewrite
        r replicaof no one
        restart_server 0 KILL
        assert_equal [list $key $after] [list [r get key] [r get after]]
    }

    foreach {mode preamble} {disabled yes disabled no flush-before-load yes swapdb yes} {
        start_server [list overrides [list appendonly yes appendfsync always aof-use-rdb-preamble $preamble repl-diskless-load $mode]] {
            test "$mode, aof-use-rdb-preamble $preamble: the file continues with the new data" {
                r set key old
                set old [aof_path incr]
                set p [sync_and_go_on marked]
                assert_equal 1 [s aof_enabled]
                fake_hang_up $p
                if {$mode eq "disabled" && $preamble} {
                    assert_equal $::new [read_file [aof_path base]]
                    assert {![file exists [srv dir]/dump.rdb]}
                    assert_equal 0 [s aof_rewrites]
                }
                aof_wait_rewrite
                wait_for_condition 100 20 {![file exists $old]} else { fail "$old is still there" }
                assert_equal {b i} [aof_state_files]
                assert_equal {} [temporary_files]
                assert_kept new 1
                assert_equal new [r fcall which 0]
            }

            test "$mode, aof-use-rdb-preamble $preamble: a synchronization that fails" {
                r set key old
                fake_breaks_off [string range [marked $::new] 0 3000]
                assert_equal [expr {$mode ne "flush-before-load"}] [s aof_enabled]
                # Until there is something new, a start finds the old.
                restart_server 0 KILL
                assert_equal old [r get key]
                r replicaof no one
            }
        }
    }

    start_server {overrides {appendonly yes appendfsync always repl-diskless-load flush-before-load}} {
        test {the append-only file is on again when a replica that failed to synchronize becomes a primary} {
            r set key old
            fake_breaks_off [string range [marked $::new] 0 3000]
            assert_equal 0 [s aof_enabled]
            r replicaof no one
            assert_equal 1 [s aof_enabled]
            r set after promoted
            assert_kept {} promoted
            # Where the file was never off, it is not started again.
            aof_wait_rewrite
            set rewrites [s aof_rewrites]
            fake_follow
            r replicaof no one
            assert_equal [list 1 $rewrites] [list [s aof_enabled] [s aof_rewrites]]
        }
    }
}
