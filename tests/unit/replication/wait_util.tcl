# Helpers that the tests of WAIT, FAILOVER and SHUTDOWN share: a primary of this server with replicas of either kind.

# {name executable} of each server that may be the replica. Without Valkey 9.1 its tests are counted as skipped.
proc other_ends {} {
    set ends {{ours {}}}
    if {[valkey_oracle] eq {}} {
        test {with replicas of Valkey 9.1} { skip "no Valkey 9.1 here" }
    } else {
        lappend ends [list "Valkey 9.1" [valkey_oracle]]
    }
    return $ends
}

proc replicas_online {level n} {
    return [expr {[regexp -all {state=online} [r $level info replication]] == $n}]
}

# Runs the body with a primary at level -n and n replicas inside of it, all in sync. overrides are the primary's.
proc with_replicas {n executable overrides body} {
    set overrides [dict merge {save {} repl-diskless-sync-delay 0 repl-ping-replica-period 3600} $overrides]
    start_server [list overrides $overrides] { uplevel 1 [list with_more_replicas 1 $n $executable $body] }
}

proc with_more_replicas {i n executable body} {
    set primary [expr {1 - $i}]
    set of "[srv $primary host] [srv $primary port]"
    start_server [list executable $executable overrides [list save {} replicaof $of]] {
        if {$i < $n} {
            uplevel 1 [list with_more_replicas [expr {$i + 1}] $n $executable $body]
        } else {
            wait_for_condition 500 20 {[replicas_online -$n $n]} else { fail "not in sync: [r -$n info replication]" }
            # A replica acknowledges at once when it is asked for the first time.
            r -$n set first 1
            assert_equal $n [r -$n wait $n 10000]
            uplevel 1 $body
        }
    }
}

proc stop_server {level} { exec kill -STOP [srv $level pid] }
proc continue_server {level} { exec kill -CONT [srv $level pid] }

proc ms {script} {
    set started [clock milliseconds]
    uplevel 1 $script
    return [expr {[clock milliseconds] - $started}]
}

proc wait_for_field {level field value} {
    wait_for_condition 500 20 {[s $level $field] eq $value} else { fail "$field is [s $level $field], not $value" }
}
