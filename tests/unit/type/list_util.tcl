# Procedures for the files list*.tcl, which source this one. It has no tests of its own.

# The bytes of a reply, with blanks for line ends: shows which type each element has.
proc wire {args} {
    set out "*[llength $args]\r\n"
    foreach word $args { append out "\$[string length $word]\r\n$word\r\n" }
    r write $out
    return [string trimright [wire_element]]
}
proc wire_element {} {
    set line [r rawread]
    set n [string range $line 1 end]
    switch -glob -- $line {
        {[$]-1} - {[*]-1} { return "$line " }
        {[$]*} { return "$line [string range [r rawread [expr {$n + 2}]] 0 end-2] " }
        {[*]*} { set count $n }
        default { return "$line " }
    }
    append line " "
    for {set i 0} {$i < $count} {incr i} { append line [wire_element] }
    return $line
}

# The list at key is made of these elements.
proc fill {key args} {
    r del $key
    if {[llength $args]} { r rpush $key {*}$args }
}

proc all {key} { return [r lrange $key 0 -1] }

proc numbers {from to} {
    set out {}
    for {set i $from} {$i <= $to} {incr i} { lappend out $i }
    return $out
}

proc wait_for_blocked {n} {
    wait_for_condition 1000 10 {[s blocked_clients] == $n} else { fail "[s blocked_clients] clients are blocked, not $n" }
}

# A client that waits in a blocking command.
proc blocked_client {args} {
    set before [s blocked_clients]
    set d [valkey_deferring_client]
    $d {*}$args
    wait_for_blocked [expr {$before + 1}]
    return $d
}

# Limits under which the lists of these tests are one listpack; many nodes; many nodes, most of them compressed.
set forms {
    listpack {list-max-listpack-size -2}
    quicklist {list-max-listpack-size 2}
    compressed {list-max-listpack-size 3 list-compress-depth 1}
}
