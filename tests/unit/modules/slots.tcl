# Migrations of slots with keys of a module's type (tests/modules/slots.c), between servers of the same kind and of
# two; the events that modules get; and types that prevent migrations.

source -encoding utf-8 $::support/module.tcl
source -encoding utf-8 $::support/cluster.tcl

# nodes: {kind {module and its arguments} ...}; those behind the first two are replicas.
proc start_slots {nodes overrides body} {
    set servers {}
    foreach {kind module} $nodes {
        set o [dict merge {cluster-enabled yes cluster-node-timeout 2000} $overrides [module_overrides [list $module] {}]]
        lappend servers n[expr {[llength $servers] / 2}] [list kind $kind overrides $o]
    }
    uplevel 1 [list start_servers $servers [list cluster_body [expr {[llength $nodes] / 2}] 2 1 $body]]
}

proc job {k} {
    set jobs [r [n $k] cluster getslotmigrations]
    if {![llength $jobs]} { return {state none message {}} }
    return [lindex $jobs 0]
}

proc wait_job {k state} {
    wait_for_condition 300 50 {[dict get [job $k] state] eq $state} else { fail "node $k: [job $k]" }
}

set refusal {ERR The module slots does not support atomic slot migrations. Please ensure all modules have declared support for atomic slot migration and try again}

foreach {what a b} {
    "ours to ours" ours ours
    "ours to Valkey's" ours valkey
    "Valkey's to ours" valkey ours
} {
    start_slots [list $a {slots aware} $b {slots aware} $b {slots aware} $b {slots aware}] {} {
        test "$what: values of modules move, and modules get events" {
            r [n 0] set "{b}s" x
            r [n 0] slots.put "{b}k" v
            r [n 0] slots.put "{b}e" w
            r [n 0] expire "{b}e" 1000
            for {set i 0} {$i < 200} {incr i} { r [n 0] slots.put "{c}:$i" $i }
            assert_equal 1 [r [n 0] wait 1 5000]
            foreach k {0 1 2 3} { r [n $k] slots.told }
            r [n 0] cluster migrateslots slotsrange 10 20 3300 3300 node [cluster_id 1]
            wait_job 0 success
            wait_job 1 success
            wait_job 3 success
            wait_cluster_ok 4
            assert_equal v [r [n 1] slots.get "{b}k"]
            assert_equal w [r [n 1] slots.get "{b}e"]
            assert_range [r [n 1] ttl "{b}e"] 900 1000
            r [n 3] readonly
            assert_equal v [r [n 3] slots.get "{b}k"]
            assert_error "MOVED 3300 *" { r [n 0] slots.get "{b}k" }

            set ranges "40 10-20 3300-3300"
            wait_for_condition 100 50 {[r [n 0] dbsize] == 0 || [r [n 0] cluster countkeysinslot 3300] == 0} else { fail "keys are left" }
            # Keys go one by one; when is not the same everywhere.
            assert_equal [lsort [list "export started $ranges" "export completed $ranges" \
                "event del {b}s" "event del {b}k" "event del {b}e"]] [lsort [r [n 0] slots.told]]
            set put [list "event set {b}s import obeyed" "put {b}k import obeyed" "put {b}e import obeyed" \
                "event expire {b}e import obeyed"]
            set told [r [n 1] slots.told]
            assert_equal "import started $ranges" [lindex $told 0]
            assert_equal "import completed $ranges" [lindex $told end]
            assert_equal [lsort $put] [lsort [lrange $told 1 end-1]]
            # The replica obeys its primary, and brings no slots.
            set told [r [n 3] slots.told]
            assert_equal "import started $ranges" [lindex $told 0]
            assert_equal "import completed $ranges" [lindex $told end]
            assert_equal [lsort [string map {" import obeyed" " obeyed"} $put]] [lsort [lrange $told 1 end-1]]
        }

        test "$what: values of modules move back" {
            r [n 1] cluster migrateslots slotsrange 3300 3300 node [cluster_id 0]
            wait_job 0 success
            wait_job 1 success
            wait_cluster_ok 4
            assert_equal v [r [n 0] slots.get "{b}k"]
            assert_equal {} [lsearch -all -inline -glob [r [n 1] slots.told] "event expire*"]
            foreach i {0 99 199} { assert_equal $i [r [n [cluster_owner 0 [r [n 0] cluster keyslot "{c}"] 4]] slots.get "{c}:$i"] }
        }
    }

    start_slots [list $a {slots aware} $b {slots aware}] {rdb-key-save-delay 2000} {
        test "$what: a migration that ends too early" {
            for {set i 0} {$i < 500} {incr i} { r [n 0] slots.put "{b}:$i" $i }
            r [n 0] slots.told
            r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
            wait_job 0 snapshotting
            r [n 0] cluster cancelslotmigrations
            assert_equal cancelled [dict get [job 0] state]
            wait_job 1 failed
            assert_equal [list "export started 40 3300-3300" "export aborted 40 3300-3300"] [r [n 0] slots.told]
            wait_for_condition 100 50 {[r [n 1] dbsize] == 0} else { fail "[r [n 1] dbsize] keys are left" }
            set told [lsearch -all -inline -glob [r [n 1] slots.told] import*]
            assert_equal [list "import started 40 3300-3300" "import aborted 40 3300-3300"] $told
            assert_equal 7 [r [n 0] slots.get "{b}:7"]
        }
    }

    start_slots [list $a {slots aware} $b slots] {} {
        test "$what: the target's module does not let slots move" {
            r [n 0] slots.put "{b}k" v
            assert_equal OK [r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]]
            wait_job 0 failed
            assert_equal "Received error during handshake to target: -$refusal" [string trim [dict get [job 0] message]]
            assert_equal none [dict get [job 1] state]
            assert_equal v [r [n 0] slots.get "{b}k"]
            assert_equal {} [r [n 1] slots.told]
        }

        test "$what: the source's module does not let slots move, whatever else is wrong" {
            foreach arguments {{slotsrange a} {slotsrange 1 2 foo} {slotsrange 1 2 node foo} {slotsrange 16000 16000 node x}} {
                assert_error $refusal { r [n 1] cluster migrateslots {*}$arguments }
            }
            assert_error "ERR No migrations ongoing" { r [n 1] cluster cancelslotmigrations }
        }
    }
}

start_slots {ours {slots aware silent} ours {slots aware silent}} {} {
    test {a type that writes no commands moves as a dump} { ;# 9.1.2's child dies of it
        r [n 0] slots.put "{b}k" v
        r [n 0] cluster migrateslots slotsrange 3300 3300 node [cluster_id 1]
        wait_job 0 success
        wait_job 1 success
        assert_equal v [r [n 1] slots.get "{b}k"]
    }
}

foreach {from to} {ours valkey valkey ours ours ours} {
    set overrides [module_overrides {slots} {}]
    start_servers [list from [list kind $from overrides $overrides] to [list kind $to overrides $overrides]] {
        test "MIGRATE of a module's values, $from to $to" {
            r [at from] slots.put k v
            r [at from] slots.put l w
            r [at from] pexpire l 1000000
            assert_equal OK [r [at from] migrate 127.0.0.1 [srv [at to] port] {} 0 5000 keys k l]
            assert_equal 0 [r [at from] exists k l]
            assert_equal {v w} [list [r [at to] slots.get k] [r [at to] slots.get l]]
            assert_range [r [at to] pttl l] 900000 1000000
            assert_equal slots-own [r [at to] type k]
        }
    }
}
