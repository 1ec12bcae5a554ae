# Replicas that consist of a socket only, for tests of a primary. Source it where it is needed.
#
#   set f [follower_connect ?words of REPLCONF?]   the handshake is done
#   follower_sync $f ?id offset?                   sends PSYNC, reads a snapshot if there is one and becomes a replica;
#                                                  a dict: reply (the first line), id, offset (of the answer), snapshot
#   follower_next $f                               the next command of the stream, as a list; counts its bytes
#   follower_until $f command                      those up to and with this one
#   follower_ack $f ?words?                        REPLCONF ACK with what has been counted
#   follower_gone $f                               has the primary closed the connection?

array set ::follower_offset {}

proc follower_connect {{hello {capa eof capa psync2 version 9.1.2 listening-port 7001}} {level 0}} {
    set f [valkey_client $level]
    if {[llength $hello]} { assert_equal OK [$f replconf {*}$hello] }
    set ::follower_offset($f) 0
    return $f
}

# A line; empty ones are signs of life.
proc follower_line {f} {
    while {[set line [$f rawread]] eq {}} {
        if {[eof [$f channel]]} { fail "the primary has closed the connection" }
    }
    return $line
}

proc follower_snapshot {f} {
    set header [follower_line $f]
    if {[regexp {^\$(\d+)$} $header - length]} { return [$f rawread $length] }
    assert_match {$EOF:*} $header
    set mark [string range $header 5 end]
    set bytes {}
    while {[string range $bytes end-39 end] ne $mark} {
        append bytes [set byte [$f rawread 1]]
        if {$byte eq {}} { fail "the snapshot breaks off" }
    }
    return [string range $bytes 0 end-40]
}

proc follower_sync {f {id ?} {offset -1}} {
    $f write "PSYNC $id $offset\r\n"
    set reply [follower_line $f]
    set answer [dict create reply $reply id [lindex $reply 1] offset [lindex $reply 2]]
    if {[string match +FULLRESYNC* $reply]} {
        set ::follower_offset($f) [lindex $reply 2]
        dict set answer snapshot [follower_snapshot $f]
        follower_ack $f
        wait_for_condition 200 20 {![regexp {state=(wait_bgsave|send_bulk)} [r info replication]]} else { fail "not online" }
    } elseif {[string match +CONTINUE* $reply]} {
        set ::follower_offset($f) [expr {$offset - 1}]
    }
    return $answer
}

proc follower_next {f} {
    set command [$f read]
    incr ::follower_offset($f) [string length [resp::encode $command]]
    return $command
}

proc follower_until {f last} {
    set commands {}
    while {[lindex $commands end] ne $last} { lappend commands [follower_next $f] }
    return $commands
}

proc follower_ack {f {words {}}} {
    $f write [resp::encode [list REPLCONF ACK $::follower_offset($f) {*}$words]]
}

proc follower_gone {f} {
    set channel [$f channel]
    fconfigure $channel -blocking 0
    for {set i 0} {$i < 100} {incr i} {
        read $channel
        if {[eof $channel]} { return 1 }
        after 50
    }
    fconfigure $channel -blocking 1
    return 0
}

# A field of the line slaveN of INFO; {} when there is no such replica.
proc replica_field {n field {level 0}} {
    set line [status_line $level slave$n]
    if {![regexp "(?:^|,)$field=(\[^,\]*)" $line - value]} { return {} }
    return $value
}

proc status_line {level name} {
    if {![regexp -line "^$name:(.*?)\r?$" [r $level info replication] - value]} { return {} }
    return $value
}
