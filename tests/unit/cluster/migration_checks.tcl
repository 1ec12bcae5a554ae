# MIGRATESLOTS, its counterpart at the target (SYNCSLOTS ESTABLISH) and SETSLOT: their errors, and the order in which
# they check their arguments; and the list of migrations. This server and Valkey reply the same.

source -encoding utf-8 $::support/cluster.tcl

proc named {words} {
    foreach k {0 1 2 3} { lappend names ID$k [cluster_id $k] }
    return [string map $names $words]
}

proc establish {k words} {
    set c [valkey_client [n $k]]
    catch {$c cluster syncslots establish {*}[named $words]} said
    $c close
    return $said
}

proc jobs {k field} { return [lmap job [r [n $k] cluster getslotmigrations] { dict get $job $field }] }

set job [string repeat a 40]
set unknown [string repeat 0 40]

foreach kind {ours valkey} {
    start_cluster [list kinds [list $kind $kind $kind $kind] primaries 3] {
        test "$kind: during an atomic migration SETSLOT of any slot is refused, whatever else is wrong with it" {
            r [n 0] debug slotmigration prevent-pause 1
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 300 300 node [cluster_id 1]]
            wait_for_condition 100 50 {[jobs 1 state] eq "waiting-for-paused"} else { fail [jobs 1 state] }
            foreach words {{301 stable} {301 node ID0} {301 migrating ID2} {12000 importing ID2} {x stable} {301 foo}} {
                assert_error "ERR Slot export in progress." {r [n 0] cluster setslot {*}[named $words]} $words
                assert_error "ERR Slot import in progress." {r [n 1] cluster setslot {*}[named $words]} $words
            }
            assert_equal OK [r [n 2] cluster setslot 301 stable]
            r [n 2] debug slotmigration prevent-pause 1
            assert_equal OK [r [n 2] cluster migrateslots slotsrange 12000 12000 node [cluster_id 0]]
            wait_for_condition 100 50 {[jobs 0 operation] eq "IMPORT EXPORT"} else { fail [jobs 0 operation] }
            assert_error "ERR Slot import in progress." {r [n 0] cluster setslot 301 stable}
            assert_equal OK [r [n 2] cluster cancelslotmigrations]
            r [n 2] debug slotmigration prevent-pause 0
        }

        test "$kind: MIGRATESLOTS checks each group from left to right" {
            r [n 0] cluster delslots 100
            foreach {error words} [list \
                "ERR Start slot number 5 is greater than end slot number 1." "slotsrange 5 1 node x" \
                "ERR Slot 100 has no node served." "slotsrange 0 150 100 100 node x" \
                "ERR Requested slots span multiple shards" "slotsrange 6001 6001 20 12000 node x" \
                "ERR Slot range 3-9 overlaps with previous range 0-5." "slotsrange 0 5 3 9 node x" \
                "ERR Slots are not served by this node." "slotsrange 9000 9000 foo" \
                "ERR I am already migrating slot 300." "slotsrange 300 300 foo" \
                "ERR syntax error" "slotsrange 5 5 foo x" \
                "ERR syntax error" "slotsrange 5 5 node" \
                "ERR Slot ranges in migrations overlap" "slotsrange 0 5 node ID1 slotsrange 5 6 node x" \
                "ERR Invalid node name: x" "slotsrange 0 0 node x slotsrange foo" \
                "ERR Target node can not be this node." "slotsrange 0 0 node ID0 slotsrange foo" \
                "ERR No slot ranges specified" "slotsrange 5 5 node ID3 slotsrange foo" \
            ] { assert_error $error {r [n 0] cluster migrateslots {*}[named $words]} $words }
            assert_error "ERR Slot migration can only be used on primary nodes." {r [n 3] cluster migrateslots foo bar}
        }

        test "$kind: ESTABLISH checks its arguments from left to right, and the owners of the slots last" {
            foreach {error words} [list \
                "ERR syntax error" "foo" \
                "ERR syntax error" "source x slotsrange x" \
                "ERR Target node does not know the source node" "source $unknown name x" \
                "ERR Source node is target node itself" "source ID1 name x" \
                "ERR syntax error" "source ID0 name x slotsrange x" \
                "ERR No slot ranges specified" "source ID0 name $job slotsrange" \
                "ERR No slot ranges specified" "slotsrange source ID0" \
                "ERR No end slot for final slot range" "source ID0 slotsrange 5" \
                "ERR Invalid or out of range slot" "slotsrange -1 5 foo" \
                "ERR Start slot number 9 is greater than end slot number 5." "slotsrange 9 5 foo" \
                "ERR Requested slots span multiple shards" "slotsrange 5 5 6000 6000 foo" \
                "ERR Slot range 0-5 overlaps with previous range 0-0." "slotsrange 0 0 0 5 foo" \
                "ERR Slot is already being imported on the target by a different migration" "slotsrange 300 300 foo" \
                "ERR syntax error" "source ID0 name $job" \
                "ERR syntax error" "source ID0 name $job slotsrange 5 5 source ID0" \
                "ERR Target node does not agree about current slot ownership" "source ID2 name $job slotsrange 5 5" \
                "ERR Target node does not agree about current slot ownership" "source ID0 name $job slotsrange 9000 9000" \
                "ERR Target node does not agree about current slot ownership" "source ID3 name $job slotsrange 5 5" \
            ] { assert_equal $error [establish 1 $words] $words }
            assert_equal "ERR Slot migration can only be used on primary nodes." [establish 3 foo]
            assert_equal {300-300} [jobs 1 slot_ranges] "none of them has begun"
            assert_equal OK [r [n 0] cluster cancelslotmigrations]
            wait_for_condition 100 50 {"waiting-for-paused" ni [jobs 1 state]} else { fail [jobs 1 state] }
        }

        test "$kind: while any slot is open, no migration begins" {
            r [n 0] cluster addslots 100
            assert_equal OK [r [n 0] cluster setslot 200 migrating [cluster_id 1]]
            assert_error "ERR Slots are being manually migrated" {r [n 0] cluster migrateslots foo bar}
            assert_equal "ERR Slots are being manually migrated" [establish 0 foo]
            assert_equal OK [r [n 0] cluster setslot 6000 importing [cluster_id 1]]
            assert_error "ERR Slots are being manually imported" {r [n 0] cluster migrateslots slotsrange 5 5 node [cluster_id 1]}
            assert_equal "ERR Slots are being manually imported" [establish 0 foo]
            foreach slot {200 6000} { r [n 0] cluster setslot $slot stable }
        }

        test "$kind: a replica refuses to be a target, and the migration has the reason" {
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 5 5 node [cluster_id 3]]
            wait_for_condition 100 50 {[lindex [jobs 0 state] 0] eq "failed"} else { fail [jobs 0 state] }
            assert_match "*Slot migration can only be used on primary nodes.*" [lindex [jobs 0 message] 0]
        }

        test "$kind: the newest migrations come first, those of one command in its order; the oldest are dropped" {
            set to [cluster_id 1]
            r [n 0] config set cluster-slot-migration-log-max-len 0
            wait_for_condition 100 50 {[jobs 0 state] eq {}} else { fail [jobs 0 state] }
            r [n 0] config set cluster-slot-migration-log-max-len 1000
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 0 0 node $to]
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 1 1 node $to slotsrange 2 3 node $to slotsrange 4 4 node $to]
            assert_equal {1-1 2-3 4-4 0-0} [jobs 0 slot_ranges]
            assert_equal OK [r [n 0] cluster cancelslotmigrations]
            r [n 0] config set cluster-slot-migration-log-max-len 3
            wait_for_condition 100 50 {[jobs 0 slot_ranges] eq {1-1 2-3 4-4}} else { fail [jobs 0 slot_ranges] }
            r [n 0] config set cluster-slot-migration-log-max-len 1
            wait_for_condition 100 50 {[jobs 0 slot_ranges] eq {1-1}} else { fail [jobs 0 slot_ranges] }
        }
    }
}
