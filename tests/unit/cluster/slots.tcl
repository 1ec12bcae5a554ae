# Keys by slot: there is one table for each slot. Everything is compared with a node of Valkey too.

source -encoding utf-8 $::support/cluster.tcl

# {a} is slot 15495, {b} 3300.
proc fill_slots {{level 0}} {
    for {set i 0} {$i < 1000} {incr i} { r $level set k:$i $i }
    for {set i 0} {$i < 60} {incr i} { r $level set "{a}$i" $i }
}

proc scan_all {args} {
    set cursor 0
    set keys {}
    while 1 {
        lassign [r scan $cursor {*}$args] cursor some
        lappend keys {*}$some
        if {$cursor == 0} { return [lsort -unique $keys] }
    }
}

# The keys that CLUSTERSCAN returns, and the number of calls.
proc clusterscan_all {args} {
    set cursor 0
    set keys {}
    for {set calls 0} {$calls < 5000} {incr calls} {
        lassign [r clusterscan $cursor {*}$args] cursor some
        lappend keys {*}$some
        if {$cursor eq "0"} { return [lsort -unique $keys] }
    }
    fail "CLUSTERSCAN does not end"
}

foreach kind {ours valkey} {
    start_cluster [list kinds $kind overrides {cluster-databases 4 enable-debug-command yes notify-keyspace-events KEA}] {
        test "$kind: counts of a slot's keys" {
            fill_slots
            r select 2
            r set "{a}other" 1
            r select 0
            assert_equal 60 [r cluster countkeysinslot 15495]
            assert_equal 0 [r cluster countkeysinslot 3300]
            r select 2
            assert_equal 1 [r cluster countkeysinslot 15495]
            r select 0
            r del "{a}0"
            assert_equal 59 [r cluster countkeysinslot 15495]
            foreach slot {16384 -1} { assert_error "ERR Invalid slot" {r cluster countkeysinslot $slot} }
            assert_error "ERR value is not an integer or out of range" {r cluster countkeysinslot a}
        }

        test "$kind: names of a slot's keys" {
            assert_equal 59 [llength [lsort -unique [r cluster getkeysinslot 15495 1000]]]
            foreach key [r cluster getkeysinslot 15495 7] { assert_match "{a}*" $key }
            assert_equal 7 [llength [r cluster getkeysinslot 15495 7]]
            assert_equal {} [r cluster getkeysinslot 15495 0]
            assert_equal {} [r cluster getkeysinslot 3300 10]
            foreach {slot count} {16384 1 -1 1 1 -1} {
                assert_error "ERR Invalid slot or number of keys" {r cluster getkeysinslot $slot $count}
            }
            assert_error "ERR value is not an integer or out of range" {r cluster getkeysinslot 1 a}
        }

        test "$kind: commands on all keys visit all slots" {
            assert_equal 1059 [r dbsize]
            assert_equal 1059 [llength [r keys *]]
            assert_equal 1059 [llength [scan_all]]
            assert_equal 1059 [llength [scan_all count 100]]
            assert_equal 11 [llength [r keys "{a}1*"]]
            assert_equal 11 [llength [scan_all match "{a}1*"]]
            assert_equal 11 [llength [scan_all match "{a}1*" count 3]]
            assert_equal k:77 [r keys k:77]
            assert_equal k:77 [scan_all match k:77]
            assert_equal {} [r keys "{b}*"]
            assert_equal {} [scan_all match "{b}*"]
            assert_equal 11 [llength [r keys "?a?1*"]]
            for {set i 0} {$i < 500} {incr i} { incr seen([string match "{a}*" [r randomkey]]) }
            # (9.1.2 chooses slots first, so it finds this one more or less often.)
            if {$kind eq {ours}} { assert_range $seen(1) 5 80 }
            assert_match "*keys=1059,expires=0*" [r info keyspace]
        }

        test "$kind: as many databases as cluster-databases says" {
            assert_equal {cluster-databases 4 databases 16} [lsort -stride 2 [r config get *databases]]
            assert_error "ERR DB index is out of range" {r select 4}
            assert_equal OK [r select 3]
            r select 0
        }

        test "$kind: saved and loaded again" {
            r set with:expiry 1 ex 1000
            set digest [r debug digest]
            r debug reload
            assert_equal $digest [r debug digest]
            assert_equal 59 [r cluster countkeysinslot 15495]
            assert_range [r ttl with:expiry] 900 1000
            r config set appendonly yes
            wait_for_condition 100 100 {[s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0} else { fail "no end of the rewrite" }
            r debug loadaof
            assert_equal $digest [r debug digest]
            r config set appendonly no
        }

        test "$kind: CLUSTERSCAN begins at the first slot, or at a given one" {
            assert_equal {0-{06S}-0 {}} [r clusterscan 0]
            assert_equal {0-{a}-0 {}} [r clusterscan 0 slot 15495]
            foreach {pattern tag} {"{a}*" a abc 4h3 "{}abc" 1nj "{a]}abc" 23D "{a?}*" 06S "*{a}" 06S "x\\{a}1" 06S "{a*}1" 06S "[x{a}1" 06S "{a}{b}" a} {
                assert_equal [list "0-{$tag}-0" {}] [r clusterscan 0 match $pattern]
            }
            assert_equal {0-{a}-0 {}} [r clusterscan "0-{06S}-0" match "{a}*"]
            assert_equal {0 {}} [r clusterscan "0-{a}-0" match "{06S}*"]
            assert_equal {0 {}} [r clusterscan 0 match "{b}*" slot 15495]
        }

        test "$kind: CLUSTERSCAN returns all keys" {
            assert_equal [lsort [r keys *]] [clusterscan_all]
            assert_equal [lsort [r keys *]] [clusterscan_all count 100]
            assert_equal [lsort [r keys "{a}*"]] [clusterscan_all slot 15495]
            assert_equal [lsort [r keys "{a}*"]] [clusterscan_all slot 15495 count 1]
            assert_equal [lsort [r keys "{a}1*"]] [clusterscan_all match "{a}1*"]
            assert_equal [lsort [r keys "k:1*"]] [clusterscan_all match "k:1*" type string]
            assert_equal {} [clusterscan_all type list]
            lassign [r clusterscan "0-{a}-0" slot 15495 count 5] cursor some
            assert_match {??????-{a}-[1-9]*} $cursor
            assert_range [llength $some] 5 20
        }

        test "$kind: a cursor of another process begins its slot again" {
            set first [r clusterscan "0-{a}-0" slot 15495 count 5]
            foreach cursor {0-{a}-7 zzzzzz-{a}-7 -{a}-7 0-{a}-+7 {0-{a}- 7}} {
                assert_equal $first [r clusterscan $cursor slot 15495 count 5]
            }
        }

        test "$kind: CLUSTERSCAN: wrong cursors, and other errors" {
            foreach cursor {1 00 0-{06S} 0-{06S}- 0-{06S}-x {0-{06S}-0 } 0-{a}--1 a-b-{a}-0 0-{a}-0-1 0-{a}-99999999999999999999 {}} {
                assert_error "ERR Invalid cursor" {r clusterscan $cursor}
            }
            assert_error "ERR Cursor slot mismatch with SLOT argument" {r clusterscan "0-{06S}-0" slot 1}
            assert_error "ERR SLOT option can only be specified once" {r clusterscan 0 slot 1 slot 1}
            foreach slot {16384 -1 x} { assert_error "ERR Invalid or out of range slot" {r clusterscan 0 slot $slot} }
            foreach args {foo {match} {count 0} {type} {slot}} { assert_error "ERR syntax error" {r clusterscan 0 {*}$args} }
            assert_error "ERR unknown type name 'nosuch'" {r clusterscan 0 type nosuch}
            assert_error "ERR syntax error" {r scan 0 slot 1}
        }

        test "$kind: FLUSHSLOT deletes a slot's keys in all databases, with an event for each" {
            set events [valkey_deferring_client]
            $events psubscribe __keyevent@*__:del
            $events read
            set before [r dbsize]
            assert_equal OK [r cluster flushslot 15495 async]
            assert_equal [expr {$before - 59}] [r dbsize]
            set deleted {}
            for {set i 0} {$i < 60} {incr i} { lappend deleted [lindex [$events read] 3] }
            assert_equal 60 [llength [lsort -unique $deleted]]
            assert {"{a}other" in $deleted}
            $events close
            r select 2
            assert_equal 0 [r dbsize]
            r select 0
            foreach mode {{} sync} { assert_equal OK [r cluster flushslot 15495 {*}$mode] }
            foreach slot {16384 -1 a} { assert_error "ERR Invalid or out of range slot" {r cluster flushslot $slot} }
            assert_error "ERR syntax error" {r cluster flushslot 1 foo}
            assert_error "ERR unknown subcommand or wrong number of arguments for 'flushslot'. Try CLUSTER HELP." {r cluster flushslot 1 sync async}
        }

        test "$kind: keys of all slots expire and are evicted" {
            r flushall
            for {set i 0} {$i < 300} {incr i} { r set key:$i $i px 1 }
            wait_for_condition 100 50 {[r dbsize] == 0} else { fail "[r dbsize] keys have not expired" }
            for {set i 0} {$i < 300} {incr i} { r set key:$i [string repeat x 1000] }
            set used [s used_memory]
            r config set maxmemory-policy allkeys-lru
            r config set maxmemory [expr {$used - 100000}]
            r set one more
            assert_range [r dbsize] 1 270
            r config set maxmemory-policy allkeys-random
            r config set maxmemory [expr {$used - 150000}]
            r set one more
            assert_range [r dbsize] 1 220
            r config set maxmemory 0
        }

        test "$kind: a scan ends where another owner's slots begin" {
            r flushall
            r set a 1
            r set b 1
            r config set cluster-require-full-coverage no
            r cluster delslots 8000 8001
            wait_for_condition 100 50 {[cluster_info 0 cluster_state] eq "ok"} else { fail "the cluster is down" }
            assert_equal {0-{42}-0 b} [r clusterscan "0-{06S}-0"]
            r cluster addslots 8000 8001
        }

        test "$kind: at the start a node takes slots that it has keys of" {
            r flushall
            r set a 1
            r set b 1
            r save
            file delete [file join [config_get dir] [config_get cluster-config-file]]
            restart_server 0 KILL
            assert_equal 2 [cluster_info 0 cluster_slots_assigned]
            if {$kind eq "ours"} { assert_match "*This node holds keys of slot 3300, which nobody owns, so it takes the slot*" [read_file [srv log]] }
            assert_equal 2 [r dbsize]
        }
    }
}

start_cluster {kinds {ours ours} primaries 1 overrides {save {} enable-debug-command yes}} {
    test "a replica flushes a slot, too, and has the same keys by slot" {
        fill_slots [n 0]
        wait_for_condition 100 50 {[r [n 1] dbsize] == 1060} else { fail "the replica has [r [n 1] dbsize]" }
        assert_equal 60 [r [n 1] cluster countkeysinslot 15495]
        r [n 0] cluster flushslot 15495
        wait_for_condition 100 50 {[r [n 1] dbsize] == 1000} else { fail "the replica has [r [n 1] dbsize]" }
        assert_equal [r [n 0] debug digest] [r [n 1] debug digest]
    }
}

# Members have hashes of their own, and so have the tables of watched and tracked keys.
start_cluster {kinds {ours}} {
    test {big values, watched and tracked keys work as without a cluster} {
        for {set i 0} {$i < 3000} {incr i 6} {
            foreach {command key} {sadd set hset hash zadd zset} {
                set words {}
                for {set k $i} {$k < $i + 6} {incr k} {
                    switch $command { sadd { lappend words m$k } hset { lappend words m$k $k } zadd { lappend words $k m$k } }
                }
                assert_equal 6 [r $command $key {*}$words]
                assert_equal 0 [r $command $key {*}[lrange $words 0 [expr {$command eq "sadd" ? 0 : 1}]]]
            }
        }
        for {set k 0} {$k < 3000} {incr k 7} {
            assert_equal 1 [r sismember set m$k]
            assert_equal [list $k $k] [r hmget hash m$k m$k]
            assert_equal $k [r zrank zset m$k]
        }
        assert_equal {3000 3000 3000} [list [r scard set] [r hlen hash] [r zcard zset]]
        for {set k 0} {$k < 3000} {incr k} {
            assert_equal {1 1 1} [list [r srem set m$k] [r hdel hash m$k] [r zrem zset m$k]] $k
        }
        set other [valkey_client]
        for {set k 0} {$k < 500} {incr k} { r watch "{w}$k" }
        $other set "{w}77" x
        r multi
        r set "{w}1" y
        assert_equal {} [r exec]
        r hello 3
        r client tracking on
        for {set k 0} {$k < 500} {incr k} { r get "{w}$k" }
        for {set k 0} {$k < 500} {incr k 50} { $other set "{w}$k" z }
        assert_equal PONG [r ping]
        r hello 2
        $other close
    }
}
