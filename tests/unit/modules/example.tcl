# The example for authors of modules, utils/module-example: it is built by its own Makefile, from the header alone,
# and used on this server and the oracle.

source -encoding utf-8 $::support/module.tcl

# It is built again in each run, with a copy of the header in an otherwise empty folder.
proc example_so {} {
    set top [file normalize $::support/../..]
    set folder $top/build/modules/example-[pid]
    file mkdir $folder/include
    file copy -force $top/src/valkeymodule.h $folder/include
    exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C $top/utils/module-example OUT=$folder/heat.so INCLUDE=$folder/include "CFLAGS=-O1 -g -Wextra -Werror"
    return $folder/heat.so
}
set ::heat [example_so]
proc close_to {expected got} { assert {abs($got - $expected) <= 0.01 * $expected} "$got, not $expected" }
proc now {} { return [clock milliseconds] }

with_modules {} [list overrides [list loadmodule $::heat save {} enable-debug-command yes]] {
    test {the example: heat is added, and halves with time} {
        close_to 1 [r heat.add k a]
        close_to 2 [r heat.add k a]
        close_to 5 [r heat.add k b weight 5]
        close_to 8 [r heat.add later a weight 8 at [expr {[now] - 1000}] halflife 1000]
        close_to 4 [r heat.get later a]
    }

    test {the example: the hottest first} {
        r flushall
        for {set i 1} {$i <= 200} {incr i} { r heat.add k m$i weight $i }
        assert_equal {m200 m199 m198} [lmap place [r heat.top k 3] { lindex $place 0 }]
        assert_equal 10 [llength [r heat.top k]]
        assert_equal {} [r heat.top nothing]
        assert_equal {} [r heat.get k nobody]
        assert_equal 9 [r heat.cool k 9.999]
        assert_equal 191 [r heat.cool k 1000]
        assert_equal 0 [r exists k]
        # Thousands of half-lives later.
        r heat.add far a weight 1 at 1000 halflife 1
        r heat.add far b weight 2 at 100000 halflife 1
        assert_equal {b a} [lmap place [r heat.top far] { lindex $place 0 }]
    }

    test {the example: wrong values are refused} {
        r set string x
        assert_error "WRONGTYPE*" { r heat.add string m }
        assert_error "WRONGTYPE*" { r heat.top string }
        foreach words {{weight x} {weight} {weight -1} {weight nan} {at x} {halflife 0} {other 1}} {
            assert_error "ERR syntax error" { r heat.add k m {*}$words }
        }
        assert_error "ERR wrong number of arguments for 'heat.add' command" { r heat.add k }
        assert_error "ERR the count is not a number, or negative" { r heat.top k -1 }
        assert_error "ERR the threshold is not a number" { r heat.cool k x }
        assert_equal 0 [r exists k]
    }

    test {the example: it is saved, rewritten, dumped, copied, digested, measured} {
        r flushall
        for {set i 0} {$i < 100} {incr i} { r heat.add k "member $i" weight $i.25 }
        assert_equal heat-heat [r type k]
        set digest [r debug digest-value k]
        set size [r memory usage k]
        assert_range $size 1600 20000
        r restore other 0 [r dump k]
        r copy k third
        assert_equal "$digest $digest" [r debug digest-value other third]
        r debug reload
        assert_equal $digest [r debug digest-value k]
        r config set aof-use-rdb-preamble no
        r config set appendonly yes
        wait_for_condition 100 50 {[s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0} else { fail "not rewritten" }
        r heat.add k more
        set digest [r debug digest-value k]
        r debug loadaof
        assert_equal $digest [r debug digest-value k]
        r config set appendonly no
        # A payload from outside may end early.
        set payload [r dump k]
        assert_error "*" { r restore bad 0 [string replace $payload 20 40] }
        assert_equal PONG [r ping]
    }

    test {the example: its INFO and its facts} {
        assert_equal {half-life 3600000 sweep-seconds 0} [string map {heat. {}} [lsort -stride 2 [r config get heat.*]]]
        set info [lindex [r command info heat.add] 0]
        assert_equal {heat.add -3 {write denyoom module fast} 1 1 1 {@write @fast}} \
            [lreplace [lrange $info 0 6] 6 6 [lsort -decreasing [lindex $info 6]]]
        assert_equal {The hottest members.} [dict get [lindex [r command docs heat.top] 1] summary]
        assert_equal k [r command getkeys heat.top k 3]
        r acl setuser reader on nopass +@read ~k
        assert_equal OK [r acl dryrun reader heat.top k]
        assert_match "*no permissions*" [r acl dryrun reader heat.add k m]
        assert_error "ERR Error unloading module: the module exports one or more module-side data types, can't unload" { r module unload heat }
    }

    test {the example: directives, a timer} {
        r config set heat.half-life 100
        r heat.add k1 m weight 1 at [expr {[now] - 5000}]
        r heat.add k2 m weight 1000000
        r config set heat.sweep-seconds 1
        wait_for_condition 60 100 {[r exists k1] == 0} else { fail "the timer does not sweep" }
        r config set heat.sweep-seconds 0
        r config set heat.half-life 3600000
        assert_equal 1 [r exists k2]
        assert_error "*argument must be between*" { r config set heat.half-life 0 }
    }
}

foreach kind {ours valkey} {
    set setup [list kind $kind overrides [list loadmodule $::heat save {} enable-debug-command yes repl-diskless-sync-delay 0]]
    start_servers [list primary $setup replica $setup] [string map [list KIND [expr {$kind eq {ours} ? {} : ", $kind"}]] {
        test {the example: replicas have the same heat, whatever their clockKIND} {
            r [at primary] heat.add k before weight 3
            follow replica primary
            r [at replica] config set heat.half-life 5
            for {set i 0} {$i < 50} {incr i} { r [at primary] heat.add k m$i weight $i }
            r [at primary] multi
            r [at primary] heat.add new a
            r [at primary] heat.cool k 10.1
            r [at primary] exec
            wait_for_offset replica primary
            assert_equal [r [at primary] debug digest] [r [at replica] debug digest]
            assert_equal [lmap place [r [at primary] heat.top k] { lindex $place 0 }] [lmap place [r [at replica] heat.top k] { lindex $place 0 }]
        }
    }]
}
file delete -force [file dirname $::heat]
