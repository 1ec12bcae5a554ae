# Path hashes (9.2 §1) against a model: pathhash_model.py sends random commands and compares every reply. At the end the
# replica and the restarted server hold the same.

start_server {tags {pathhash needs:debug external:skip} overrides {appendonly yes appendfsync no save {} auto-aof-rewrite-percentage 0}} {
    start_server {tags {pathhash} overrides {save {}}} {
        test {path hash: random commands reply what a model says, and survive files, moving and replication} {
            if {[auto_execok python3] eq {}} { skip "no python3" }
            wait_for_condition 400 25 {![s -1 aof_rewrite_in_progress]} else { fail "no base" }
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 200 50 {[s master_link_status] eq "up"} else { fail "no full synchronization" }
            set seed [randomInt 1000000000]
            set program [file join [file dirname $::test_file] pathhash_model.py]
            set count [expr {$::options(valgrind) ? 2000 : 40000}]
            catch { exec python3 $program [srv -1 host] [srv -1 port] $seed $count } said
            assert_equal ok $said "seed $seed"
            wait_for_condition 200 50 {[s -1 master_repl_offset] == [s master_repl_offset]} else { fail "the replica lags" }
            assert_equal [r -1 debug digest] [r debug digest]
        }
    }
    test {path hash: the file of all this is loaded at a restart, also after a rewrite without a preamble} {
        set digest [r debug digest]
        restart_server
        assert_equal $digest [r debug digest]
        config_set aof-use-rdb-preamble no
        r bgrewriteaof
        wait_for_condition 400 50 {![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else { fail "the rewrite does not end" }
        r debug loadaof
        assert_equal $digest [r debug digest]
    }
}
