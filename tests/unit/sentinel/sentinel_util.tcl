# Helpers that the tests of SENTINEL's replies share: each request is sent to this server, and to the oracle's
# Sentinel where there is one, and both must give the same reply.
source -encoding utf-8 $::support/sentinel.tcl

# Runs the body for each kind, which is $kind in it; tests are to be named "$kind: ..." (the name that is reported as
# skipped when a kind is missing).
proc each_kind {body} {
    foreach kind {ours valkey} {
        uplevel 1 [list set kind $kind]
        uplevel 1 [string map [list {test "$kind:} "test \"$kind:"] $body]
    }
}

# The same, in a Sentinel of that kind with these lines, which monitors `m` at a port without a listener.
proc each_sentinel {lines body} {
    set lines [concat {{monitor m 127.0.0.1 1 1}} $lines]
    uplevel 1 [list each_kind [format {start_sentinel [list kind $kind lines {%s}] {%s}} $lines $body]]
}

# {REQUEST REPLY ...}: the arguments after SENTINEL, and the bytes of the reply. Parts that vary are written as <40>
# (an id) in the reply.
proc answers {table} {
    foreach {words expected} $table {
        set got [regsub -all {\m[0-9a-f]{40}\M} [wire sentinel {*}$words] <40>]
        if {$got ne $expected} { fail "SENTINEL $words: expected '$expected', got '$got'" }
    }
}

# The lines of the Sentinel's file that begin so.
proc file_lines {begin} {
    return [lsearch -all -inline [split [read_file [srv dir]/server.conf] \n] $begin*]
}

# The events of a body, as NAME PAYLOAD.
proc events_of {count body} {
    set c [event_client [srv name]]
    uplevel 1 $body
    set events {}
    for {set i 0} {$i < $count} {incr i} { lappend events [lrange [$c read] 2 3] }
    $c close
    return [lmap event $events { join $event }]
}
