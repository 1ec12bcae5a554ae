# All that a dataset is, as text that can be compared: what DEBUG DIGEST sees (contents), and what it does not: times
# of expiry of keys and of fields, the whole state of streams (counters, groups, consumers, what is pending, since when
# and how often delivered), functions. Not: encodings, the order of what has none, LRU clocks, when a consumer was seen.

# A list of {database key type expiry digest more}, sorted.
proc dataset_state {c} {
    set state {}
    set count [lindex [$c config get databases] 1]
    for {set db 0} {$db < $count} {incr db} {
        $c select $db
        foreach key [lsort [$c keys *]] {
            set type [$c type $key]
            lappend state [list $db $key $type [$c pexpiretime $key] [$c debug digest-value $key] [dataset_more $c $type $key]]
        }
    }
    $c select 0
    lappend state [list functions [lsort [$c function list withcode]]]
    return $state
}

proc dataset_more {c type key} {
    switch $type {
        hash {
            set fields [lsort [$c hkeys $key]]
            if {![llength $fields]} { return {} }
            set times [$c hpexpiretime $key fields [llength $fields] {*}$fields]
            if {[lsort -unique $times] eq {-1}} { return {} }
            return [lmap field $fields time $times { list $field $time }]
        }
        stream {
            set info [$c xinfo stream $key full count 0]
            set more [dataset_pick $info {length last-generated-id max-deleted-entry-id entries-added recorded-first-entry-id}]
            if {[dict exists $info idmp-duration]} { lappend more [dataset_pick $info {idmp-duration idmp-maxsize pids-tracked iids-tracked}] }
            foreach group [lsort [dict get $info groups]] {
                lappend more [dataset_pick $group {name last-delivered-id entries-read}]
                # {id consumer milliseconds deliveries} of each; the times as times, not as how long ago.
                lappend more [lsort [dict get $group pending]]
                lappend more [lsort [lmap consumer [dict get $group consumers] { dict get $consumer name }]]
            }
            return $more
        }
    }
    return {}
}

proc dataset_pick {dict fields} {
    return [lmap field $fields { list $field [dict get $dict $field] }]
}

# Fails with the first keys that differ.
proc assert_same_dataset {before after} {
    if {$before eq $after} return
    set text {}
    foreach {what here there} [list "before, not after" $before $after "after, not before" $after $before] {
        set lost 0
        foreach entry $here {
            if {$entry in $there} continue
            if {[incr lost] <= 5} { append text "\n$what: $entry" }
        }
    }
    fail "the datasets differ:$text"
}
