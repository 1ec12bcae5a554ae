# Slots that move key by key: which slots each node has open after any SETSLOT and any failover.

source -encoding utf-8 $::support/cluster.tcl

# The open slots of node k, as its own line has them.
proc open_slots {k} { return [join [lsearch -all -inline [lrange [cluster_line $k [cluster_id $k]] 7 end] {\[*}]] }

proc wait_open_slots {k expected} {
    wait_for_condition 200 50 {[open_slots $k] eq $expected} else { fail "node $k: [open_slots $k], not $expected" }
}

foreach {what kinds} {"ours" {ours ours ours} "ours, its replica Valkey's" {ours ours valkey} "Valkey's" {valkey valkey ours}} {
    start_cluster [list kinds $kinds primaries 2] {
        test "$what: closing an empty slot ends its migration, for replicas too" {
            set me [cluster_id 0]
            set to [cluster_id 1]
            assert_equal OK [r [n 0] cluster setslot 3300 migrating $to]
            foreach k {0 2} { assert_equal "\[3300->-$to\]" [open_slots $k] }
            assert_equal OK [r [n 0] cluster setslot 3300 node $me]
            foreach k {0 2} { assert_equal {} [open_slots $k] }
            assert_equal OK [r [n 0] set "{b}" v]
            assert_equal OK [r [n 0] cluster setslot 3300 migrating $to]
            assert_equal OK [r [n 0] cluster setslot 3300 node $me]
            foreach k {0 2} { assert_equal "\[3300->-$to\]" [open_slots $k] "it has a key" }
            assert_equal OK [r [n 0] cluster setslot 3300 stable]
        }

        test "$what: DELSLOTS ends an import" {
            assert_equal OK [r [n 0] cluster setslot 9000 importing [cluster_id 1]]
            assert_equal OK [r [n 0] cluster delslots 9000]
            assert_equal {} [open_slots 0]
            wait_for_condition 100 50 {[cluster_owner 0 9000 2] == 1} else { fail "its owner does not say so" }
        }
    }
}

start_cluster {kinds {ours ours ours ours} primaries 2} {
    test "a replica that does not know the slot's owner yet opens it as its primary says" {
        r [n 2] debug drop-cluster-packet-filter -2
        r [n 2] cluster delslots 7 9000
        assert_equal OK [r [n 0] cluster setslot 7 migrating [cluster_id 1]]
        assert_equal "\[7->-[cluster_id 1]\]" [open_slots 2]
        assert_equal OK [r [n 0] cluster setslot 7 stable]
        assert_equal OK [r [n 2] debug drop-cluster-packet-filter -1]
        wait_cluster_ok 4
    }

    test "the source is replaced, and returns as a replica: each node of its shard knows the open slots" {
        foreach k {0 1} id [list [cluster_id 0] [cluster_id 1]] { set id$k $id }
        r [n 0] set "{b}" v
        assert_equal OK [r [n 1] cluster setslot 3300 importing $id0]
        assert_equal OK [r [n 0] cluster setslot 3300 migrating $id1]
        assert_equal OK [r [n 2] cluster failover]
        foreach {k open} [list 1 "\[3300-<-[cluster_id 2]\]" 2 "\[3300->-$id1\]" 3 "\[3300-<-[cluster_id 2]\]"] { wait_open_slots $k $open }
        wait_for_condition 200 50 {[s [n 0] role] eq "slave"} else { fail "it follows nobody" }
        wait_for_link n0
        wait_open_slots 0 "\[3300->-$id1\]"
        assert_equal OK [r [n 0] cluster failover]
        wait_for_condition 200 50 {[s [n 0] role] eq "master" && [s [n 2] role] eq "slave"} else { fail "no failover" }
        wait_for_link n2
        foreach k {0 2} { wait_open_slots $k "\[3300->-$id1\]" }
    }

    test "a replica that was down when a slot was closed learns it with the data" {
        exec kill -STOP [srv [n 2] pid]
        assert_error "NOREPLICAS *" {r [n 0] cluster setslot 3300 stable timeout 1}
        restart_server [n 2] KILL
        wait_for_link n2
        assert_equal OK [r [n 0] cluster setslot 3300 migrating [cluster_id 1]]
        exec kill -KILL [srv [n 2] pid]
        wait_for_condition 100 50 {[s [n 0] connected_slaves] == 0} else { fail "it is still there" }
        assert_equal OK [r [n 0] cluster setslot 3300 stable]
        r [n 0] debug change-repl-id
        restart_server [n 2] KILL
        wait_for_link n2
        assert_equal {} [open_slots 2]
    }

    test "a primary with a replica that loses its last slot follows the new owner with its replica: no slot stays open" {
        assert_equal OK [r [n 1] cluster setslot 3300 stable]
        wait_cluster_ok 4
        set to [cluster_id 1]
        r [n 0] del "{b}"
        assert_equal OK [r [n 0] cluster setslot 9001 importing $to]
        assert_equal OK [r [n 0] cluster delslotsrange 0 3299 3301 8191]
        assert_equal OK [r [n 0] cluster setslot 3300 node $to]
        assert_equal {} [open_slots 0] "not even until the data come"
        foreach k {0 2} {
            wait_for_condition 200 50 {[lindex [cluster_line $k [cluster_id $k]] 2] eq $to} else { fail "node $k: [r [n $k] cluster nodes]" }
            wait_for_link n$k
            wait_open_slots $k {}
        }
    }
}

# For example a tool that copies the data. It has no slots that it could open, and need not acknowledge before a slot
# can move.
start_cluster {kinds {ours ours} primaries 2} {
    start_server [list name copy overrides [list replicaof [list [srv [n 0] host] [srv [n 0] port]]]] {
        test "SETSLOT is not sent to a replica that is no node of the cluster, and does not wait for it" {
            wait_for_link copy
            set copied [srv [at copy] pid]
            r [n 0] set "{b}" v
            r [n 0] wait 1 0
            set offset [s [n 0] master_repl_offset]
            exec kill -STOP $copied
            set replies {}
            foreach words [list [list migrating [cluster_id 1]] stable] {
                catch { r [n 0] cluster setslot 3300 {*}$words } reply
                lappend replies $reply
            }
            exec kill -CONT $copied
            assert_equal {OK OK} $replies
            assert_equal $offset [s [n 0] master_repl_offset]
        }
    }
}
