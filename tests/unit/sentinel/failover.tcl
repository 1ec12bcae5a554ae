# SENTINEL FAILOVER by hand: what the primary has acknowledged meanwhile is not lost.

source -encoding utf-8 $::support/sentinel.tcl

# Writes to the primary until it takes no more, and returns what it has acknowledged. A read of what a paused primary
# holds back ends when the Sentinel closes the connection.
proc write_until_refused {} {
    set acknowledged {}
    set c [valkey_client [at primary]]
    for {set i 0} {![catch {$c rpush written $i} reply] && $reply > 0} {incr i} {
        lappend acknowledged $i
        after 1
    }
    catch {$c close}
    return $acknowledged
}

proc assert_nothing_lost {acknowledged} {
    assert_morethan [llength $acknowledged] 0
    set there [ask replica1 lrange written 0 -1]
    set lost [lmap i $acknowledged { if {$i in $there} continue; set i }]
    assert_equal {} $lost "[llength $lost] of [llength $acknowledged] acknowledged writes are lost"
}

# Sentinel a knows that the primary supports FAILOVER, and a replica that can be promoted.
proc wait_until_promotable {} {
    set port [srv [at replica1] port]
    wait_for_condition 400 50 {[string match *master_failover_state:no-failover* [r [at a] sentinel info-cache mymaster]]
            && [sentinel_peer_field a replicas $port flags] eq "slave" && [sentinel_peer_field a replicas $port slave-repl-offset] > 0
            && [sentinel_field a flags] eq "master"} else {
        fail [r [at a] sentinel replicas mymaster]
    }
}

set ::failover_events {+try-failover +elected-leader +failover-state-select-slave +selected-slave +failover-state-send-slaveof-noone
    +failover-state-wait-promotion +promoted-slave +failover-state-reconf-slaves +failover-end +switch-master}

foreach kind {ours valkey redis} {
    start_watched_set [list kinds [list $kind $kind] tags {sentinel external:skip}] {
        start_sentinels {a ours b ours} {quorum 2} {
            test "$kind: a manual failover loses no acknowledged write" {
                wait_until_promotable
                set place [log_place a]
                assert_equal OK [r [at a] sentinel failover mymaster]
                set acknowledged [write_until_refused]
                wait_event a "+switch-master mymaster *" $place
                assert_nothing_lost $acknowledged
                assert_equal master [lindex [ask replica1 role] 0]
                wait_for_condition 300 50 {[lindex [ask primary role] 0] eq "slave"} else { fail "the old primary is no replica" }
            }

            test "$kind: a manual failover has the events of 9.1.2, in order" {
                set names [lmap name [event_names [sentinel_events a $place]] {
                    if {$name ni $::failover_events} continue
                    set name
                }]
                assert_equal [join $::failover_events] [join $names]
            }
        }
    }
}

start_watched_set {kinds {ours ours} tags {sentinel external:skip} overrides {rename-command {FAILOVER ""}}} {
    start_sentinels {a ours} {quorum 1} {
        test "where the primary refuses FAILOVER, the replica is promoted without it" {
            wait_until_promotable
            set place [log_place a]
            assert_equal OK [r [at a] sentinel failover mymaster]
            wait_event a "+switch-master mymaster *" $place
            assert_equal master [lindex [ask replica1 role] 0]
            assert_equal 1 [llength [lsearch -all -regexp [lrange [log_lines [at a]] $place end] {'mymaster' has not handed over}]]
        }
    }
}

start_watched_set {kinds {ours ours} tags {sentinel external:skip}} {
    start_sentinels {a ours} {quorum 1 set {down-after-milliseconds 60000}} {
        test "where the primary hangs, the replica is promoted without it when half of failover-timeout is over" {
            wait_until_promotable
            set place [log_place a]
            exec kill -STOP [srv [at primary] pid]
            assert_equal OK [r [at a] sentinel failover mymaster]
            wait_event a "+promoted-slave *" $place
            exec kill -CONT [srv [at primary] pid]
            assert_equal master [lindex [ask replica1 role] 0]
            wait_for_condition 600 50 {[lindex [ask primary role] 0] eq "slave"} else { fail "the old primary is no replica" }
        }
    }
}
