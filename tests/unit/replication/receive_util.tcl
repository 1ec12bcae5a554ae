# A primary that the test plays on a raw socket. Source it where it is needed.
#
#   fake_listen                 opens its port: $::fake_port
#   set p [fake_sync ID OFF]    waits for the replica, answers its handshake, +FULLRESYNC: the snapshot may follow
#   fake_send $p BYTES          at once; fake_slowly $p BYTES ?part?: in parts
#   fake_command $p             the next command that arrives, as a list; line ends between commands are skipped
#   fake_hang_up $p
#   snapshot { ... }            the RDB file of a server that has run this
#   counted BYTES, marked BYTES as it goes over the wire

set ::fake_id 0123456789abcdef0123456789abcdef01234567
set ::fake_mark [string repeat 0a1b2c3d4e 4]

proc fake_listen {} {
    set ::fake_waiting {}
    set ::fake_socket [socket -server {apply {{channel args} { lappend ::fake_waiting $channel }}} -myaddr 127.0.0.1 0]
    set ::fake_port [lindex [fconfigure $::fake_socket -sockname] 2]
}

# The next connection.
proc fake_accept {{timeout_ms 30000}} {
    set timer [after $timeout_ms {lappend ::fake_waiting {}}]
    while {![llength $::fake_waiting]} { vwait ::fake_waiting }
    after cancel $timer
    set ::fake_waiting [lassign $::fake_waiting p]
    if {$p eq {}} { fail "the replica has not come" }
    fconfigure $p -translation binary -blocking 1
    return $p
}

proc fake_command {p} {
    while {[set line [string trimright [gets $p] \r]] eq {}} {
        if {[eof $p]} { fail "the replica has gone" }
    }
    set words {}
    foreach - [lrepeat [string range $line 1 end] x] {
        set len [string range [string trimright [gets $p] \r] 1 end]
        lappend words [read $p $len]
        read $p 2
    }
    return $words
}

# Reads up to PSYNC; its arguments are in ::fake_asked. A connection that the replica has closed is skipped.
proc fake_handshake {} {
    while 1 {
        set p [fake_accept]
        if {![catch {fake_answer $p} ::fake_asked]} { return $p }
        fake_hang_up $p
    }
}

proc fake_answer {p} {
    while 1 {
        set command [fake_command $p]
        switch -nocase [lindex $command 0] {
            ping { fake_send $p "+PONG\r\n" }
            psync { return [lrange $command 1 end] }
            default { fake_send $p "+OK\r\n" }
        }
    }
}

proc fake_sync {{id {}} {offset 1000}} {
    set p [fake_handshake]
    if {$id eq {}} { set id $::fake_id }
    fake_send $p "+FULLRESYNC $id $offset\r\n"
    # So that the condition that is awaited next, such as the end of the synchronization, is not true before its
    # beginning.
    wait_for_condition 400 25 {[s master_sync_in_progress] == 1} else { fail "the synchronization does not begin" }
    return $p
}

# The replica may have closed the connection already.
proc fake_send {p bytes} {
    catch {
        puts -nonewline $p $bytes
        flush $p
    }
}

proc fake_slowly {p bytes {part 1000} {delay_ms 1}} {
    for {set at 0} {$at < [string length $bytes]} {incr at $part} {
        fake_send $p [string range $bytes $at [expr {$at + $part - 1}]]
        after $delay_ms
    }
}

proc fake_hang_up {p} { catch {close $p} }

# Connections of the time before are forgotten.
proc fake_follow {} {
    r replicaof no one
    update
    foreach p $::fake_waiting { fake_hang_up $p }
    set ::fake_waiting {}
    r replicaof 127.0.0.1 $::fake_port
}

# Until the replica acknowledges this offset.
proc fake_wait_ack {p offset} {
    while {[lrange [set command [fake_command $p]] 0 2] ne [list REPLCONF ACK $offset]} {}
}

proc counted {bytes} { return "\$[string length $bytes]\r\n$bytes" }
proc marked {bytes} { return "\$EOF:$::fake_mark\r\n$bytes$::fake_mark" }

proc snapshot {body {overrides {}}} {
    start_server [list overrides $overrides] {
        uplevel 1 $body
        r save
        set bytes [read_file [srv dir]/dump.rdb]
    }
    return $bytes
}

# Names of files that no server leaves behind.
proc temporary_files {} { return [glob -nocomplain -tails -directory [srv dir] temp-* appendonlydir/temp-*] }

proc wait_for_sync {} {
    wait_for_condition 400 25 {[s master_link_status] eq "up"} else { fail "the link is not up" }
}

proc wait_for_failure {} {
    wait_for_condition 800 10 {[s master_sync_in_progress] == 0} else { fail "it goes on" }
}

# It has failed, and tries again.
# A synchronization that brings these bytes, and ends.
proc fake_breaks_off {bytes} {
    fake_follow
    set p [fake_sync]
    fake_send $p $bytes
    fake_hang_up $p
    wait_for_failure
}

proc fake_comes_again {} {
    set p [fake_handshake]
    fake_hang_up $p
}
