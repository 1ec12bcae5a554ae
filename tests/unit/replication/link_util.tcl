# A primary that the test plays: sockets, with full control over each byte.

# Listens, on a port of its own.
proc primary_listen {} {
    set ::primary_came {}
    set ::primary_listener [socket -server {apply {{fd args} {
        fconfigure $fd -translation binary -buffering none
        lappend ::primary_came $fd
    }}} -myaddr 127.0.0.1 0]
    return [lindex [fconfigure $::primary_listener -sockname] 2]
}
proc primary_close {} {
    close $::primary_listener
    foreach fd $::primary_came { catch {close $fd} }
}

# The next connection.
proc primary_accept {} {
    set give_up [after 20000 {lappend ::primary_came {}}]
    while {![llength $::primary_came]} { vwait ::primary_came }
    after cancel $give_up
    set ::primary_came [lassign $::primary_came fd]
    if {$fd eq {}} { fail "the replica did not connect" }
    return $fd
}

proc primary_send {fd text} {
    puts -nonewline $fd $text
    flush $fd
}

# The next command, as its arguments. An inline command is one argument.
proc primary_receive {fd} {
    while {[set line [string trimright [gets $fd] \r]] eq {} && ![eof $fd]} {} ;# "\n": it is alive
    if {[string index $line 0] ne "*"} { return [list $line] }
    set words {}
    for {set n [string range $line 1 end]} {$n > 0} {incr n -1} {
        set len [string range [string trimright [gets $fd] \r] 1 end]
        lappend words [read $fd $len]
        read $fd 2
    }
    return $words
}

# The next that is no acknowledgement.
proc primary_receive_other {fd} {
    while 1 {
        set words [primary_receive $fd]
        if {[lrange $words 0 1] ne {REPLCONF ACK}} { return $words }
    }
}

# A command in the stream.
proc command {args} { return [resp::encode $args] }

# Receives the handshake; returns the arguments of PSYNC.
proc primary_greet {fd} {
    while 1 {
        set words [primary_receive $fd]
        switch -nocase [lindex $words 0] {
            PING { primary_send $fd "+PONG\r\n" }
            AUTH - REPLCONF { primary_send $fd "+OK\r\n" }
            default { return $words }
        }
    }
}

set ::id_a [string repeat a 40]
set ::id_b [string repeat b 40]

# A snapshot with string keys in database 0; no checksum.
proc snapshot {keys} {
    set out "REDIS0011\xfe\x00"
    dict for {key value} $keys {
        append out "\x00[format %c [string length $key]]$key[format %c [string length $value]]$value"
    }
    return "$out\xff[string repeat \x00 8]"
}

# From PSYNC on: a whole synchronization, at that offset.
proc primary_sync {fd {id {}} {offset 100} {keys {}}} {
    if {$id eq {}} { set id $::id_a }
    set rdb [snapshot $keys]
    primary_send $fd "+FULLRESYNC $id $offset\r\n\$[string length $rdb]\r\n$rdb"
}

# A replica of this server that has been in touch, and is up.
proc up_at {port {offset 100}} {
    r replicaof 127.0.0.1 $port
    set fd [primary_accept]
    primary_greet $fd
    primary_sync $fd $::id_a $offset
    wait_for_condition 100 50 {[s master_link_status] eq "up"} else { fail "the link is not up" }
    return $fd
}

# The server is a primary again, and no connection is left.
proc part {fd} {
    r replicaof no one
    after 50
    update
    foreach fd [concat $fd $::primary_came] { close $fd }
    set ::primary_came {}
}

proc wait_for_offset {offset} {
    wait_for_condition 100 50 {[s master_repl_offset] == $offset} else {
        fail "the offset is [s master_repl_offset], not $offset"
    }
}
