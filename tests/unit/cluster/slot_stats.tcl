# CLUSTER SLOT-STATS: what is counted for a slot, beside Valkey's figures where it is there.

# Slot 12182 is that of `foo`, 11562 that of `l`.
proc figures {server slot} { return [lindex [r [at $server] cluster slot-stats slotsrange $slot $slot] 0 1] }

# The bytes in and out that the requests add to the slot.
proc added {server slot requests} {
    set before [figures $server $slot]
    set client [valkey_client [at $server]]
    foreach request $requests { catch { $client {*}$request } }
    $client close
    set after [figures $server $slot]
    foreach field {network-bytes-in network-bytes-out} { lappend diff [expr {[dict get $after $field] - [dict get $before $field]}] }
    return $diff
}

set overrides {cluster-enabled yes cluster-slot-stats-enabled yes}
# The statistics that both servers count alike.
set counted {
    {12182 {{set foo bar}}} {12182 {{get foo}}} {12182 {{get foo bar}}} {12182 {{type foo}}} {12182 {{lpush foo x}}} {12182 {{nosuch foo}}}
    {12182 {{object encoding foo}}} {12182 {{watch foo}}} {12182 {{expire foo 100}}} {12182 {{mget foo{a} foo}}} {12182 {{ping}}}
    {12182 {multi {set foo x} {get foo} exec}} {12182 {multi {set foo x} discard}} {12182 {{spublish foo hello} {ssubscribe foo}}}
    {11562 {{lpush l a b} {blpop l 1} {blpop l 1} {blpop l 0.05}}} {12182 {{publish foo x}}} {12182 {{cluster keyslot foo}}} {11562 {{get foo}}}
}

proc own_all_slots {server} {
    r [at $server] cluster addslotsrange 0 16383
    wait_for_condition 100 50 {[string match *cluster_state:ok* [r [at $server] cluster info]]} else { fail "$server is not ok" }
}

start_servers [list ours [list kind ours overrides $overrides]] {
    own_all_slots ours

    test {bytes of requests and replies, and time, count for the slot of the key} {
        assert_equal {31 5} [added ours 12182 {{set foo bar}}]
        assert_equal {22 9} [added ours 12182 {{get foo}}]
        assert_equal {0 0} [added ours 12182 {{get b} ping {nosuch foo}}]
        r write "GET foo\r\n"
        assert_equal bar [r read]
        set before [dict get [figures ours 12182] cpu-usec]
        r eval {local x = 0; for i = 1, 1000000 do x = x + 1 end return 1} 1 foo
        assert_morethan [dict get [figures ours 12182] cpu-usec] $before
    }

    test {a blocked client counts when it has been served} {
        set client [blocked_client blpop l 0]
        set before [figures ours 11562]
        r lpush l v
        assert_equal {l v} [answer $client]
        set after [figures ours 11562]
        assert_equal [expr {29 + 29}] [expr {[dict get $after network-bytes-in] - [dict get $before network-bytes-in]}]
    }

    test {slots can be ordered by a statistic} {
        r config resetstat
        r set b x
        r get foo
        r get foo
        assert_equal {12182 3300} [lmap e [r cluster slot-stats orderby network-bytes-out limit 2 desc] {lindex $e 0}]
        assert_equal {3300 12182} [lsort -integer [lmap e [r cluster slot-stats orderby network-bytes-in limit 2] {lindex $e 0}]]
        assert_equal {0 1} [lmap e [r cluster slot-stats orderby network-bytes-in limit 2 asc] {lindex $e 0}]
    }

    test {CONFIG RESETSTAT and a new owner reset the statistics; switching them off keeps them} {
        r set foo bar
        config_set cluster-slot-stats-enabled no
        r get foo
        assert_equal {key-count} [dict keys [figures ours 12182]]
        config_set cluster-slot-stats-enabled yes
        assert_equal 31 [expr {[dict get [figures ours 12182] network-bytes-in] % 44}]
        r config resetstat
        assert_equal 0 [dict get [figures ours 12182] network-bytes-in]
        r get foo
        r cluster delslots 12182
        assert_equal {} [r cluster slot-stats slotsrange 12182 12182]
        r cluster addslots 12182
        assert_equal 0 [dict get [figures ours 12182] network-bytes-in]
    }
}

start_servers [list ours [list kind ours overrides $overrides] valkey [list kind valkey overrides $overrides]] {
    own_all_slots ours
    own_all_slots valkey

    test {bytes are counted as Valkey does} {
        foreach line $::counted {
            lassign $line slot requests
            assert_equal "$line: [added valkey $slot $requests]" "$line: [added ours $slot $requests]"
        }
    }
}
