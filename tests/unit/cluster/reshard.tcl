# Slots move while clients write: `valkey-cli --cluster reshard` of Valkey's own, key by key and at once, between
# servers of both kinds. Every acknowledged write counts.

source -encoding utf-8 $::support/cluster.tcl

# Keys of the first slots, which are moved first.
proc early_keys {count below} {
    set keys {}
    for {set i 0} {[llength $keys] < $count} {incr i} {
        if {[r [n 0] cluster keyslot "k:$i"] < $below} { lappend keys "k:$i" }
    }
    return $keys
}

# Follows MOVED and ASK between nodes 0 and 1, and retries while keys are moving.
proc incr_redirected {key} {
    for {set try 0} {$try < 1000} {incr try} {
        set k [expr {[info exists ::where($key)] ? $::where($key) : 0}]
        if {![catch {r [n $k] incr $key} value]} { return $value }
        switch -glob -- $value {
            "MOVED *" { set ::where($key) [expr {1 - $k}] }
            "ASK *" {
                r [n [expr {1 - $k}]] asking
                if {![catch {r [n [expr {1 - $k}]] incr $key} value]} { return $value }
            }
            "TRYAGAIN *" {}
            default { error $value }
        }
    }
    error "no end of redirections"
}

# Runs the cluster manager, and writes until it has ended. Returns what it printed.
proc reshard_under_load {from to slots way keys} {
    set cli [file join [file dirname [valkey_oracle]] valkey-cli]
    set pipe [open |[list $cli --cluster reshard 127.0.0.1:[srv [n 0] port] --cluster-from [cluster_id $from] \
        --cluster-to [cluster_id $to] --cluster-slots $slots --cluster-yes {*}$way 2>@1]]
    fconfigure $pipe -blocking 0
    set output {}
    while {![eof $pipe]} {
        append output [read $pipe]
        foreach key $keys { assert_equal [incr ::counted($key)] [incr_redirected $key] }
    }
    fconfigure $pipe -blocking 1
    if {[catch {close $pipe} why]} { fail "$why\n[string range $output end-1000 end]" }
    return $output
}

foreach {what kinds} {
    "ours and Valkey's" {ours valkey ours valkey}
    "ours alone" {ours ours ours ours}
} {
    foreach {how way} {"key by key" {} "at once" --cluster-use-atomic-slot-migration} {
        start_cluster [list kinds $kinds primaries 2] {
            test "$what, $how: slots move there and back under load" {
                if {[valkey_oracle] eq {}} { skip "no valkey here" }
                array unset ::where
                array unset ::counted
                set keys [early_keys 30 60]
                for {set i 0} {$i < 3000} {incr i} { incr_redirected "other:$i" }
                set total [expr {[r [n 0] dbsize] + [r [n 1] dbsize]}]
                foreach {from to} {0 1 1 0} {
                    reshard_under_load $from $to 60 $way $keys
                    wait_cluster_ok 4
                }
                foreach key $keys { assert_equal [incr ::counted($key)] [incr_redirected $key] }
                assert_morethan $::counted([lindex $keys 0]) 3
                assert_equal [expr {$total + [llength $keys]}] [expr {[r [n 0] dbsize] + [r [n 1] dbsize]}]
                foreach k {2 3} { wait_for_condition 100 50 {[r [n $k] dbsize] == [r [n [expr {$k - 2}]] dbsize]} else { fail "replica $k has [r [n $k] dbsize] keys" } }
                assert_equal 0 [cluster_owner 3 0 4]
            }
        }
    }
}
