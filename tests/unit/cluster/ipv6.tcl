# Clusters over IPv6: addresses that contain colons, in links, messages, files and replies.

source -encoding utf-8 $::support/cluster.tcl

proc has_ipv6 {} {
    if {[catch { close [socket -server list -myaddr ::1 0] }]} { return 0 }
    return 1
}

# Nodes that share the slots and meet at ::1.
proc meet_at_loopback {count} {
    for {set k 1} {$k < $count} {incr k} {
        r [n 0] cluster meet ::1 [srv [n $k] port] [cluster_bus_port $k]
    }
    for {set k 0} {$k < $count} {incr k} {
        wait_for_condition 200 50 {[cluster_info $k cluster_known_nodes] == $count && ![string match *handshake* [r [n $k] cluster nodes]]} else {
            fail "node $k does not know all others: [r [n $k] cluster nodes]"
        }
    }
}

foreach kinds {{ours ours ours} {ours valkey valkey} {valkey ours ours}} {
    set servers {}
    for {set k 0} {$k < 3} {incr k} {
        lappend servers n$k [list kind [lindex $kinds $k] overrides {cluster-enabled yes bind {127.0.0.1 -::1} cluster-node-timeout 2000}]
    }
    start_servers $servers {
        test "$kinds: nodes meet by IPv6, and one becomes a replica of another" {
            if {![has_ipv6]} { skip "no ::1 here" }
            meet_at_loopback 3
            cluster_share_slots 2
            set id [cluster_id 0]
            wait_for_condition 100 50 {[string match "*$id * master *" [r [n 2] cluster nodes]]} else { fail "no primary $id" }
            r [n 2] cluster replicate $id
            wait_for_link n2
            wait_cluster_ok 3
            assert_equal ::1 [s [n 2] master_host]
            for {set k 0} {$k < 3} {incr k} {
                for {set of 0} {$of < 3} {incr of} {
                    assert_match "::1:[srv [n $of] port]@[cluster_bus_port $of]*" [lindex [cluster_line $k [cluster_id $of]] 0]
                }
            }
        }

        test "$kinds: redirections have the IPv6 address" {
            if {![has_ipv6]} { skip "no ::1 here" }
            assert_error "MOVED 12182 ::1:[srv [n 1] port]" { r [n 0] set foo bar }
            assert_error "MOVED 3300 ::1:[srv [n 0] port]" { r [n 1] set b bar }
            set ends {}
            foreach range [r [n 2] cluster slots] { foreach node [lrange $range 2 end] { lappend ends [lrange $node 0 1] } }
            assert_equal [lsort $ends] [lsort [list [list ::1 [srv [n 0] port]] [list ::1 [srv [n 1] port]] [list ::1 [srv [n 2] port]]]]
            foreach shard [r [n 0] cluster shards] {
                foreach node [dict get $shard nodes] {
                    assert_equal ::1 [dict get $node ip]
                    assert_equal ::1 [dict get $node endpoint]
                }
            }
            r [n 0] cluster setslot 3300 migrating [cluster_id 1]
            assert_error "ASK 3300 ::1:[srv [n 1] port]" { r [n 0] get b }
            r [n 0] cluster setslot 3300 stable
        }

        test "$kinds: slots move over IPv6, by SETSLOT and atomically" {
            if {![has_ipv6]} { skip "no ::1 here" }
            r [n 0] set "{b}1" v
            r [n 0] set "{06S}1" v
            r [n 1] cluster setslot 3300 importing [cluster_id 0]
            r [n 0] cluster setslot 3300 migrating [cluster_id 1]
            assert_equal OK [r [n 0] migrate ::1 [srv [n 1] port] "{b}1" 0 5000]
            foreach k {1 0} { r [n $k] cluster setslot 3300 node [cluster_id 1] }
            assert_equal v [r [n 1] get "{b}1"]
            r [n 0] cluster migrateslots slotsrange 0 10 node [cluster_id 1]
            wait_for_condition 200 50 {[dict get [lindex [r [n 0] cluster getslotmigrations] 0] state] in {success failed}} else { fail "no end" }
            assert_equal success [dict get [lindex [r [n 0] cluster getslotmigrations] 0] state]
            wait_cluster_ok 3
            assert_equal v [r [n 1] get "{06S}1"]
        }

        test "$kinds: nodes find each other again after a restart" {
            if {![has_ipv6]} { skip "no ::1 here" }
            for {set k 0} {$k < 3} {incr k} {
                r [n $k] cluster saveconfig
                assert_match "*::1:[srv [n $k] port]@*myself*" [read_file [file join [srv [n $k] dir] nodes.conf]]
            }
            for {set k 0} {$k < 3} {incr k} { restart_server [n $k] }
            wait_cluster_ok 3
            wait_for_link n2
            assert_match "::1:[srv [n 1] port]@*" [lindex [cluster_line 0 [cluster_id 1]] 0]
        }

        test "$kinds: the replica takes over" {
            if {![has_ipv6]} { skip "no ::1 here" }
            r [n 2] cluster failover
            wait_for_condition 200 50 {[cluster_owner 1 5 3] == 1 && [cluster_owner 1 100 3] == 2} else { fail [r [n 1] cluster nodes] }
            wait_cluster_ok 3
            wait_for_link n0
            assert_equal ::1 [s [n 0] master_host]
        }
    }
}

start_server {overrides {cluster-enabled yes cluster-announce-ip fd00::7 cluster-announce-client-ipv6 fd00::8}} {
    test {the announced address is in CLUSTER NODES and in nodes.conf} {
        r cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "not ok" }
        assert_match "*fd00::7:[srv port]@*" [r cluster nodes]
        r cluster saveconfig
        assert_match "*fd00::7:[srv port]@*" [read_file [file join [srv dir] nodes.conf]]
        set id [r cluster myid]
        restart_server
        assert_equal $id [r cluster myid]
        assert_match "*fd00::7:[srv port]@*" [r cluster nodes]
    }
}
