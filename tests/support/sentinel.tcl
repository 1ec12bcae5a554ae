# Sentinels of several kinds over servers of several kinds, on top of start_servers (support/server.tcl).
#
#     start_watched_set {kinds {ours valkey ours}} {                   primary, replica1, replica2: linked, in step
#         start_sentinels {a ours b valkey c redis} {quorum 2} {       all watch it as mymaster, and know each other
#             r [at a] sentinel ckquorum mymaster
#             stop_server primary KILL
#             wait_event a {+switch-master *}
#         }
#     }
#
# Kinds are `ours`, `valkey` and `redis` (7.0), as everywhere; `oracle` and `redis7` are other names of the latter two.
# A Sentinel is a server on the stack like any other: srv, r, restart_server and so on work, `at NAME` is its level.

proc sentinel_kind {kind} { return [string map {oracle valkey redis7 redis} $kind] }

# start_sentinel {kind KIND ?name NAME? ?lines {LINE ...}? ?overrides {...}? ?args {--sentinel ...}? ?crash 1? ?wait 0?} body
# One Sentinel. `lines` are those of its file that begin with `sentinel`, without that word.
proc start_sentinel {options body} {
    set o [dict merge {kind ours name sentinel lines {} overrides {}} $options]
    set overrides [sentinel_overrides [dict get $o overrides] [dict get $o lines]]
    set server [dict remove $o name lines]
    dict set server kind [sentinel_kind [dict get $o kind]]
    dict set server overrides $overrides
    if {![dict exists $o args]} { dict set server args --sentinel }
    uplevel 1 [list start_servers [list [dict get $o name] $server] $body]
}

proc sentinel_overrides {overrides lines} {
    foreach line $lines { lappend overrides sentinel $line }
    return $overrides
}

# start_sentinels {NAME KIND NAME KIND ...} {?quorum N? ?set {OPTION VALUE ...}? ?lines {...}? ?overrides {...}? ?crash 1?
#     ?agree 0?} body
# They watch the primary of the start_watched_set around as mymaster. `set`: down-after-milliseconds, failover-timeout ...
# The body runs when all of them know its replicas and each other; with `agree 0`, at once.
proc start_sentinels {names options body} {
    set o [dict merge {quorum 2 set {} lines {} overrides {} crash 0 agree 1} $options]
    set lines [watch_lines [dict get $o quorum] [dict get $o set]]
    set overrides [sentinel_overrides [dict get $o overrides] [concat $lines [dict get $o lines]]]
    set servers {}
    foreach {name kind} $names {
        lappend servers $name [list kind [sentinel_kind $kind] overrides $overrides args --sentinel crash [dict get $o crash]]
    }
    if {[dict get $o agree]} { set body [list sentinels_body [dict keys $names] $body] }
    uplevel 1 [list start_servers $servers $body]
}

proc watch_lines {quorum settings} {
    set lines [list "monitor mymaster 127.0.0.1 [srv [at primary] port] $quorum"]
    foreach {option value} [dict merge {down-after-milliseconds 1000 failover-timeout 6000} $settings] {
        lappend lines [list $option mymaster {*}$value]
    }
    return $lines
}

proc sentinels_body {names body} {
    wait_sentinels_agree $names
    uplevel 1 $body
}

# Each has found the replicas of the watched set, and the others.
proc wait_sentinels_agree {names} {
    set replicas [expr {$::watched_count - 1}]
    foreach name $names {
        wait_for_condition 300 50 {[sentinel_field $name num-slaves] == $replicas
                && [sentinel_field $name num-other-sentinels] == [llength $names] - 1} else {
            fail "Sentinel $name knows [sentinel_field $name num-slaves] replicas, [sentinel_field $name num-other-sentinels] others"
        }
    }
}

# start_watched_set {kinds {PRIMARY REPLICA ...} ?overrides {...}? ?tags {...}? ?crash 0?} body
# Servers named primary, replica1, replica2 ...; the body runs when the replicas are linked. Sentinels rewrite their
# files, and may kill, hang and move them: their ends are not looked at, unless with crash 0.
proc start_watched_set {options body} {
    set o [dict merge {overrides {} crash 1 tags {}} $options]
    set ::watched_count [llength [dict get $o kinds]]
    set servers {}
    set overrides [dict merge {repl-diskless-sync-delay 0} [dict get $o overrides]]
    for {set i 0} {$i < $::watched_count} {incr i} {
        lappend servers [watched_name $i] [list kind [sentinel_kind [lindex [dict get $o kinds] $i]] overrides $overrides \
            crash [dict get $o crash] tags [dict get $o tags]]
    }
    uplevel 1 [list start_servers $servers [list watched_body $::watched_count $body]]
}

proc watched_name {i} { return [expr {$i ? "replica$i" : "primary"}] }

proc watched_body {count body} {
    for {set i 1} {$i < $count} {incr i} { follow replica$i primary }
    uplevel 1 $body
}

# Ends a server before its block does.
proc stop_server {name {signal TERM}} {
    set level [at $name]
    catch {exec kill -CONT [srv $level pid]}
    exec kill -$signal [srv $level pid]
    if {![wait_file [srv $level dir]/exit 15000]} { fail "$name did not end" }
}

# Starts it again, with its files.
proc start_server_again {name} {
    set level [at $name]
    set at [expr {[llength $::servers] - 1 + $level}]
    set server [lindex $::servers $at]
    catch {[dict get $server client] close}
    catch {close [dict get $server pipe]}
    set f [open [dict get $server log] a]
    puts $f $::restart_mark
    close $f
    file delete [dict get $server dir]/exit
    lset ::servers $at [spawn $server]
    wait_until_ready $level
    srv_set $level client [resp::connect [srv $level host] [srv $level port]]
}

proc hang_server {name} { exec kill -STOP [srv [at $name] pid] }
proc wake_server {name} { exec kill -CONT [srv [at $name] pid] }

# A command to a watched server, on a new connection: Sentinels kill those of a server that they move.
proc ask {name args} {
    set c [valkey_client [at $name]]
    try { return [$c {*}$args] } finally { $c close }
}
proc ask_info {name field} { return [expr {[regexp -line "^$field:(.*?)\r?$" [ask $name info] - value] ? $value : {}}] }

# A field of SENTINEL MASTER, or of what SENTINEL SLAVES or SENTINELS shows of an address ({}: it shows none).
proc sentinel_field {name field {primary mymaster}} {
    if {[catch {r [at $name] sentinel master $primary} map]} { return {} }
    return [map_field $map $field]
}

proc map_field {map field} { return [expr {[dict exists $map $field] ? [dict get $map $field] : {}}] }

proc sentinel_peer_field {name of port field {primary mymaster}} {
    foreach map [r [at $name] sentinel $of $primary] {
        if {[dict get $map port] == $port} { return [map_field $map $field] }
    }
    return {}
}

# The server that a Sentinel takes for the primary, by its name in the watched set; {}: another one.
proc sentinel_primary {name {primary mymaster}} {
    lassign [r [at $name] sentinel get-master-addr-by-name $primary] ip port
    for {set i 0} {$i < $::watched_count} {incr i} {
        if {[srv [at [watched_name $i]] port] == $port} { return [watched_name $i] }
    }
    return {}
}

# ---- Events ----------------------------------------------------------------------------------------------------

# The events that a Sentinel has logged since its file has `from` lines, oldest first: "+sdown master mymaster ...".
proc sentinel_events {name {from 0}} {
    set events {}
    foreach line [lrange [log_lines [at $name]] $from end] {
        if {[regexp {^\d+:X \d+ \S+ \d+ \S+ [-.*#] ([-+][a-z].*)$} $line - event]} { lappend events $event }
    }
    return $events
}

# How many lines the log has now: where later events begin.
proc log_place {name} { return [expr {[llength [log_lines [at $name]]] - 1}] }

# Waits for an event that matches the glob pattern, after that line of the log; returns it.
proc wait_event {name pattern {from 0} {timeout_ms 20000}} {
    set deadline [expr {[clock milliseconds] + $timeout_ms}]
    while 1 {
        set found [lsearch -inline [sentinel_events $name $from] $pattern]
        if {$found ne {}} { return $found }
        if {[clock milliseconds] > $deadline} { break }
        after 50
    }
    fail "Sentinel $name has no event like '$pattern': [join [sentinel_events $name $from] \n]"
}

# The names alone, of what several primaries' or peers' timing does not reorder: to compare Sentinels with each other.
proc event_names {events} { return [lmap event $events { lindex $event 0 }] }

# A client that gets all events: `$c read` gives {pmessage * NAME PAYLOAD}.
proc event_client {name} {
    set c [valkey_deferring_client [at $name]]
    $c psubscribe *
    $c read
    return $c
}
