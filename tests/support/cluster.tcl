# Clusters of several kinds of servers, on top of start_servers (support/server.tcl).
#
# start_cluster {kinds {ours valkey ...} ?primaries N? ?overrides {...}? ?slots 0?} body
#
# One node for each kind, named n0, n1 ...: `n K` is the level of node K. The first `primaries` (all of them, when it is
# not said) share the slots evenly; the others become their replicas, in turn. The body runs when all agree and are ok.
# Where a kind is missing, its tests are skipped. slots 0: the nodes know each other, and that is all.

proc n {k} { return [at n$k] }

proc start_cluster {options body} {
    set o [dict merge {overrides {} slots 1} $options]
    set kinds [dict get $o kinds]
    if {![dict exists $o primaries]} { dict set o primaries [llength $kinds] }
    set overrides [dict merge {cluster-enabled yes cluster-node-timeout 2000} [dict get $o overrides]]
    set servers {}
    for {set k 0} {$k < [llength $kinds]} {incr k} {
        lappend servers n$k [list kind [lindex $kinds $k] overrides $overrides]
    }
    uplevel 1 [list start_servers $servers [list cluster_body [llength $kinds] [dict get $o primaries] [dict get $o slots] $body]]
}

# Within the innermost server.
proc cluster_body {count primaries slots body} {
    cluster_meet $count
    if {$slots} {
        cluster_share_slots $primaries
        cluster_attach_replicas $primaries $count
        wait_cluster_ok $count
    }
    uplevel 1 $body
}

proc cluster_meet {count} {
    for {set k 0} {$k < $count} {incr k} { r [n $k] cluster set-config-epoch [expr {$k + 1}] }
    for {set k 1} {$k < $count} {incr k} { r [n 0] cluster meet 127.0.0.1 [srv [n $k] port] [cluster_bus_port $k] }
    for {set k 0} {$k < $count} {incr k} {
        wait_for_condition 200 50 {[cluster_info $k cluster_known_nodes] == $count && ![string match *handshake* [r [n $k] cluster nodes]]} else {
            fail "node $k does not know all others: [r [n $k] cluster nodes]"
        }
    }
}

proc cluster_bus_port {k} {
    set port [config_get cluster-port [n $k]]
    return [expr {$port ? $port : [srv [n $k] port] + 10000}]
}

proc cluster_share_slots {primaries} {
    for {set k 0} {$k < $primaries} {incr k} {
        set first [expr {16384 * $k / $primaries}]
        r [n $k] cluster addslotsrange $first [expr {16384 * ($k + 1) / $primaries - 1}]
    }
}

proc cluster_attach_replicas {primaries count} {
    for {set k $primaries} {$k < $count} {incr k} {
        set id [cluster_id [expr {($k - $primaries) % $primaries}]]
        wait_for_condition 100 50 {[string match "*$id * master *" [r [n $k] cluster nodes]]} else { fail "node $k: no primary $id" }
        r [n $k] cluster replicate $id
        wait_for_link n$k
    }
}

proc cluster_id {k} { return [r [n $k] cluster myid] }

# A field of CLUSTER INFO of node k.
proc cluster_info {k field} {
    if {![regexp "(?:^|\n)$field:(\[^\r\n\]*)" [r [n $k] cluster info] - value]} { error "CLUSTER INFO has no $field" }
    return $value
}

# The fields of node `of`'s line, as node `k` sees it: address flags primary ping pong epoch link slots...
proc cluster_line {k of} {
    foreach line [split [r [n $k] cluster nodes] \n] {
        if {[lindex $line 0] eq $of} { return [lrange $line 1 end] }
    }
    return {}
}

# A node's view of the cluster, without what differs from node to node.
proc cluster_view {k} {
    set view {}
    foreach line [split [string trim [r [n $k] cluster nodes]] \n] {
        lappend view [list [lindex $line 0] [string map {myself, {}} [lindex $line 2]] [lindex $line 3] [lrange $line 8 end]]
    }
    return [lsort $view]
}

# All nodes are ok and see the same, with no failed node; `alive` are the nodes that are checked (all by default).
proc wait_cluster_ok {count {alive {}}} {
    if {$alive eq {}} { for {set k 0} {$k < $count} {incr k} { lappend alive $k } }
    foreach k $alive {
        wait_for_condition 400 50 {[cluster_info $k cluster_state] eq "ok" && [cluster_view $k] eq [cluster_view [lindex $alive 0]]
            && ![string match *fail* [cluster_view $k]]} else {
            fail "node $k: [cluster_info $k cluster_state]\n[r [n $k] cluster nodes]\nnode [lindex $alive 0]:\n[r [n [lindex $alive 0]] cluster nodes]"
        }
    }
}

# The number of the node that owns the slot, as node k sees it; -1: no owner.
proc cluster_owner {k slot count} {
    foreach range [r [n $k] cluster slots] {
        lassign $range first last primary
        if {$slot < $first || $slot > $last} { continue }
        for {set i 0} {$i < $count} {incr i} {
            if {[srv [n $i] port] == [lindex $primary 1]} { return $i }
        }
    }
    return -1
}
