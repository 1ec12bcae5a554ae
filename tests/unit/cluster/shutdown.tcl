# SHUTDOWN SAFE and FAILOVER of nodes, and shutdown-on-sigterm: a primary that shuts down hands over to a replica.

source -encoding utf-8 $::support/cluster.tcl

foreach {what kinds} {"ours" {ours ours ours ours} "ours to Valkey's" {ours valkey ours valkey} "Valkey's to ours" {valkey ours ours ours}} {
    start_cluster [list kinds $kinds primaries 3 overrides {shutdown-on-sigterm failover repl-diskless-sync-delay 0}] {
        if {[lindex $kinds 0] eq "ours"} {
            test "$what: SHUTDOWN SAFE of a primary is refused" {
                assert_error "ERR Errors trying to SHUTDOWN*" {r [n 0] shutdown safe}
                assert_equal PONG [r [n 0] ping]
                assert_equal 1 [count_log_message "This node is a voting primary; without it the cluster may lose its majority. It does not shut down." [n 0]]
            }
        }

        test "$what: SIGTERM hands over, nothing is lost" {
            r [n 0] set b 1
            wait_for_offset n3 n0
            set epoch [cluster_info 3 cluster_current_epoch]
            restart_server [n 0] TERM
            wait_for_condition 100 50 {[string match *master* [lindex [cluster_line 1 [cluster_id 3]] 1]]} else {
                fail "nobody took over: [r [n 1] cluster nodes]"
            }
            assert_equal 1 [r [n 3] get b]
            wait_cluster_ok 4
            assert_match *slave* [lindex [cluster_line 1 [cluster_id 0]] 1]
            assert_equal [expr {$epoch + 1}] [cluster_info 3 cluster_current_epoch]
        }
    }
}

start_server {overrides {cluster-enabled yes}} {
    test {a primary without replicas shuts down although it is to hand over} {
        r cluster addslotsrange 0 16383
        after 100
        set log [srv log]
        catch { r shutdown failover safe force }
        wait_for_condition 100 50 {[string match "*ready to exit*" [read_file $log]]} else { fail "it stays" }
        assert_match "*It shuts down nevertheless.*Unable to find a replica to perform the auto failover on shutdown.*The cluster configuration file is saved before the server exits*" [read_file $log]
    }
}
