# Cluster nodes through the module API (tests/modules/nodes.c): nodes of 9.1.2 and of this server in one cluster.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/cluster.tcl

beside_modules {nodes} {} {
    test {API functions for slots without a cluster} {
        foreach key {a foo {x{tag}y} {} {{}x} 123456789} { both nodes.slot $key }
        for {set slot 0} {$slot < 200} {incr slot} { both nodes.slot k$slot }
    }

    test {API functions for nodes without a cluster} {
        both nodes.all
        assert_equal 1 [lindex [r [at ours] nodes.one [string repeat 0 40]] 0] ;# 9.1.2 ends
        both nodes.send all 1 x
        both nodes.listen 1
        both nodes.heard
    }
}

start_cluster [list kinds {ours valkey ours} primaries 2 overrides [module_overrides {nodes} {}]] {
    proc heard {k wanted} {
        wait_for_condition 100 50 { [lindex [r [n $k] nodes.heard] 0] >= $wanted } else { fail "node $k: [r [n $k] nodes.heard]" }
        return [lindex [r [n $k] nodes.heard] 1]
    }

    test {all nodes give the same facts about each other} {
        foreach k {0 1 2} {
            set all [lassign [r [n $k] nodes.all] me count]
            assert_equal [cluster_id $k] $me
            assert_equal 3 $count
            # Each sees itself with one flag more.
            foreach {id node} $all { dict set seen($k) $id [lreplace $node end end [expr {[lindex $node end] & ~1}]] }
            assert_equal 1 [expr {[lindex [dict get $all $me] end] & 1}]
        }
        foreach k {1 2} {
            foreach id [dict keys $seen(0)] { assert_equal [dict get $seen(0) $id] [dict get $seen($k) $id] "of node $k" }
        }
        assert_equal [cluster_id 0] [lindex [dict get $seen(1) [cluster_id 2]] 2]
    }

    test {nodes are described for the address that a client uses} {
        foreach k {0 1} {
            set client [r [n $k] client id]
            foreach other {0 1 2} { lappend told($k) [lreplace [r [n $k] nodes.one [cluster_id $other] $client] end end] }
            assert_equal 1 [lindex [r [n $k] nodes.one [cluster_id 0] 999999] 0]
            assert_equal 1 [lindex [r [n $k] nodes.one [string repeat 0 40] $client] 0]
            assert_equal 1 [lindex [r [n $k] nodes.one [string repeat 0 40]] 0]
        }
        assert_equal $told(1) $told(0)
    }

    test {messages between servers of both kinds} {
        foreach k {0 1 2} { r [n $k] nodes.listen 7 }
        assert_equal 0 [r [n 0] nodes.send [cluster_id 1] 7 hello]
        assert_equal "[cluster_id 0] 7 hello" [heard 1 1]
        assert_equal 0 [r [n 1] nodes.send [cluster_id 0] 7 "and back"]
        assert_equal "[cluster_id 1] 7 and back" [heard 0 1]
        assert_equal 0 [r [n 1] nodes.send all 7 everybody]
        assert_equal "[cluster_id 1] 7 everybody" [heard 0 2]
        assert_equal "[cluster_id 1] 7 everybody" [heard 2 1]
        assert_equal 0 [r [n 2] nodes.send all 7 ours]
        assert_equal "[cluster_id 2] 7 ours" [heard 0 3]
        assert_equal "[cluster_id 2] 7 ours" [heard 1 2]
        assert_equal 1 [r [n 0] nodes.send [string repeat 0 40] 7 nobody]
        assert_equal 1 [r [n 1] nodes.send [string repeat 0 40] 7 nobody]
    }

    test {a receiver that was removed gets no messages} {
        r [n 0] nodes.listen 8
        r [n 0] nodes.listen 7 off
        r [n 1] nodes.send [cluster_id 0] 7 lost
        r [n 1] nodes.send [cluster_id 0] 8 heard
        assert_equal "[cluster_id 1] 8 heard" [heard 0 4]
        assert_equal 4 [lindex [r [n 0] nodes.heard] 0]
        r [n 0] module unload nodes-abc
        r [n 1] nodes.send [cluster_id 0] 8 lost
        r [n 0] module load [module_so nodes]
        assert_equal {} [lindex [r [n 0] nodes.heard] 1]
    }

    test {a module can switch redirections off} {
        assert_error {MOVED*} { r [n 0] get foo }
        r [n 0] nodes.flags 4
        assert_equal {} [r [n 0] get foo]
        r [n 0] nodes.flags 0
        assert_equal {} [r [n 0] get foo]
    }
}
