# min-replicas-sync with fewer than all replicas: a primary that hangs, is replaced, and goes on before the other replica
# follows the new one gets no acknowledgement from that replica any more.

source -encoding utf-8 $::support/sentinel.tcl

set ::synced {min-replicas-sync 1 min-replicas-sync-timeout 60000}

# Sentinel a knows that both replicas have the same data as the primary.
proc wait_until_known {} {
    wait_for_condition 400 50 {[string match *min_replicas_sync:1* [r [at a] sentinel info-cache mymaster]]
            && [sentinel_field a flags] eq "master"
            && [sentinel_peer_field a replicas [srv [at replica1] port] master-link-status] eq "ok"
            && [sentinel_peer_field a replicas [srv [at replica2] port] master-link-status] eq "ok"} else {
        fail [r [at a] sentinel replicas mymaster]
    }
}

# Waits until one of the replicas has the role of a primary, and returns its name. Sentinels kill its connections.
proc wait_promoted {} {
    set deadline [expr {[clock milliseconds] + 15000}]
    while {[clock milliseconds] < $deadline} {
        foreach name {replica1 replica2} {
            if {![catch {ask $name role} role] && [lindex $role 0] eq "master"} { return $name }
        }
    }
    fail "none is promoted"
}

proc log_has {name pattern place} { return [llength [lsearch -all [lrange [log_lines [at $name]] $place end] $pattern]] }

start_watched_set [list kinds {ours ours ours} tags {sentinel external:skip} overrides $::synced] {
    start_sentinels {a ours} {quorum 1 set {down-after-milliseconds 2000}} {
        test "a primary that goes on between the promotion and the order to the other replica acknowledges nothing" {
            wait_until_known
            set place [log_place a]
            r [at a] sentinel debug tilt-trigger 600000 ;# it hangs below, on a machine that may be busy
            set writer [valkey_deferring_client [at primary]]
            $writer set before 1
            assert_equal OK [$writer read]
            hang_server primary
            set promoted [wait_promoted]
            hang_server a
            wake_server primary
            $writer set meanwhile 1
            $writer flush
            fconfigure [$writer channel] -blocking 0
            set got {}
            for {set i 0} {$i < 6 && $got eq {}} {incr i} {
                after 100
                append got [read [$writer channel]]
            }
            wake_server a
            wait_event a "+switch-master mymaster *" $place
            wait_for_condition 200 50 {[ask_info $promoted connected_slaves] > 0} else { fail "none follows the new primary" }
            assert_equal 1 [ask $promoted get before]
            if {[string match "+OK*" $got]} { assert_equal 1 [ask $promoted get meanwhile] "an acknowledged write is lost" }
            assert_equal {} $got
            $writer close
        }

        test "afterwards no pause is left, and the new primary is acknowledged" {
            wait_for_condition 400 50 {[sentinel_field a flags] eq "master" && [ask_info $promoted connected_slaves] == 2} else {
                fail [ask $promoted info replication]
            }
            assert_equal OK [ask $promoted set afterwards 1]
            foreach name {primary replica1 replica2} { assert_equal {} [ask_info $name replica_acks_paused] }
        }
    }
}

start_watched_set [list kinds {ours ours ours} tags {sentinel external:skip} overrides $::synced] {
    start_sentinels {a ours} {quorum 1 set {down-after-milliseconds 2000 failover-timeout 60000}} {
        test "while one of two replicas is missed, the failover waits, with the other one paused" {
            wait_until_known
            set place [log_place a]
            hang_server replica2
            hang_server primary
            wait_event a "+failover-state-select-slave *" $place
            wait_for_condition 200 50 {[log_has a "*1 of 2 replicas have stopped acknowledging, 2 are needed*it waits*" $place]} else {
                fail "it is not logged"
            }
            after 1500
            assert_equal slave [lindex [ask replica1 role] 0]
            assert_equal 1 [ask_info replica1 replica_acks_paused]
        }

        test "the primary that comes back ends the failover and the pause" {
            wake_server primary
            wait_event a "-failover-abort-master-is-back *" $place
            wait_for_condition 200 50 {[ask_info replica1 replica_acks_paused] eq {}} else { fail "it is paused" }
            assert_equal OK [ask primary set back 1]
        }
    }
}

foreach way {comes unclean} {
    start_watched_set [list kinds {ours ours ours} tags {sentinel external:skip} overrides $::synced] {
        start_sentinels {a ours} {quorum 1 set {down-after-milliseconds 2000 failover-timeout 60000}} {
            test "the failover goes on when the missed replica $way" {
                wait_until_known
                set place [log_place a]
                hang_server replica2
                assert_equal OK [ask primary set k 1]
                stop_server primary KILL
                wait_for_condition 400 50 {[log_has a "*it waits for them*" $place]} else { fail "it is not logged" }
                if {$way eq "comes"} { wake_server replica2 } else { r [at a] sentinel set mymaster unclean-failover yes }
                wait_event a "+switch-master mymaster *" $place
                wake_server replica2
                if {$way eq "comes"} {
                    assert_equal 1 [ask [sentinel_primary a] get k]
                } else {
                    assert_equal replica1 [sentinel_primary a]
                    assert_equal 1 [log_has a "*it goes on, and may lose acknowledged writes*" $place]
                }
            }
        }
    }
}

start_watched_set [list kinds {ours ours valkey} tags {sentinel external:skip} overrides {}] {
    start_sentinels {a ours} {quorum 1 set {down-after-milliseconds 2000}} {
        test "a replica that does not know the order is failed over as before, with a line in the log" {
            ask primary config set min-replicas-sync 1
            wait_until_known
            set place [log_place a]
            stop_server primary KILL
            wait_event a "+switch-master mymaster *" $place
            assert_equal 1 [log_has a "*the others do not know REPLICAOF ACK, so it goes on without*" $place]
        }
    }
}
