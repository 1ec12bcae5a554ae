# Snapshots of Valkey 9.1: all types, functions, several databases, each way of sending and of taking them.
source $::support/values.tcl
source [file join [file dirname [info script]] receive_util.tcl]

tags {external:skip} {
    set oracle [valkey_oracle]
    if {$oracle eq {}} {
        test {snapshots of Valkey 9.1} { skip "no Valkey here" }
        return
    }
    start_server [list executable $oracle overrides {repl-diskless-sync-delay 0}] {
        fill_all 0
        r hset fields f 1 g 2
        r hpexpire fields 100000 fields 1 f
        r set expiring 1 px 100000
        r function load "#!lua name=new\nserver.register_function{function_name='which', callback=function() return 'new' end, flags={'no-writes'}}"
        r select 5
        r set fifth 5
        r select 0
        set expected [contents 0]

        foreach diskless {yes no} {
            r config set repl-diskless-sync $diskless
            foreach mode {disabled flush-before-load swapdb on-empty-db} {
                start_server [list overrides [list repl-diskless-load $mode]] {
                    test "repl-diskless-sync $diskless there, repl-diskless-load $mode here" {
                        r set old 1
                        r replicaof [srv -1 host] [srv -1 port]
                        wait_for_sync
                        set actual [contents 0]
                        assert_equal [lsort [dict keys $expected]] [lsort [dict keys $actual]]
                        dict for {key value} $expected { assert_equal $value [dict get $actual $key] $key }
                        assert_equal new [r fcall which 0]
                        assert_range [r hpttl fields fields 1 f] 1 100000
                        assert_range [r pttl expiring] 1 100000
                        r select 5
                        assert_equal 5 [r get fifth]
                        r select 0
                        assert_equal [s -1 master_replid] [s master_replid]
                        # The stream continues.
                        r -1 set after $mode$diskless
                        wait_for_condition 100 20 {[r get after] eq "$mode$diskless"} else { fail "the stream stands still" }
                        dict set expected after [content -1 after]
                    }

                    test "repl-diskless-sync $diskless there, repl-diskless-load $mode here: again, over existing data" {
                        r replicaof no one
                        r config set rdb-key-save-delay 100000
                        r bgsave
                        r replicaof [srv -1 host] [srv -1 port]
                        r -1 debug change-repl-id
                        wait_for_sync
                        assert_equal [lsort [dict keys $expected]] [lsort [dict keys [contents 0]]]
                        assert_equal 1 [count_log_message "so the background save in process"]
                        assert_equal 0 [s rdb_bgsave_in_progress]
                        assert_equal {} [temporary_files]
                    }
                }
            }
        }
    }
}
