# What the tests of SENTINEL's replies share: each question is asked of ours, and of the oracle's Sentinel where there is one, with
# the same answer expected of both.
source -encoding utf-8 $::support/sentinel.tcl

# The body for each kind, which is $kind in it; tests are to be named "$kind: ..." (that is what is told when a kind is missing).
proc each_kind {body} {
    foreach kind {ours valkey} {
        uplevel 1 [list set kind $kind]
        uplevel 1 [string map [list {test "$kind:} "test \"$kind:"] $body]
    }
}

# The same, in a Sentinel of that kind with these lines, which watches `m` at a port where nobody listens.
proc each_sentinel {lines body} {
    set lines [concat {{monitor m 127.0.0.1 1 1}} $lines]
    uplevel 1 [list each_kind [format {start_sentinel [list kind $kind lines {%s}] {%s}} $lines $body]]
}

# {QUESTION REPLY ...}: the words after SENTINEL, and the reply as it is on the wire. What is no fact but of that moment is to be
# written as <40> (an id) in the reply.
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
