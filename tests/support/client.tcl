# A client that speaks RESP2 and RESP3, small enough to trust.
#
#   set c [resp::connect 127.0.0.1 6379]     a command of its own: $c get key
#   set d [resp::connect 127.0.0.1 6379 1]   deferred: $d get key only sends; $d read takes the next reply
#
# Beside server commands, which are sent as they are, a client knows these words:
#   read            the next reply          push       the next push message (RESP3), those passed over first
#   write BYTES     send raw bytes          rawread N  take N raw bytes; without N a line
#   flush           (writes flush anyway)   pending    1 when bytes of a reply wait to be read
#   deferred 0|1    change the mode         reconnect  a new connection to the same place
#   channel         the Tcl channel         close
#
# How replies look in Tcl: strings and numbers as they are, bulk strings as bytes, nulls as {}, booleans as 1 and 0,
# arrays and sets as lists, maps as dicts, verbatim strings without their `txt:`. An error reply is raised as a Tcl
# error with the reply's text, and -errorcode REPLY; inside an array it is a plain element.

namespace eval resp {
    variable next 0
    variable state ;# array: fd, host, port, deferred, pushes, by client name
    # I/O threads of a server handle their connections in no common order: a later request on another connection may
    # be handled before a `close`. So that tests need not wait for the end of each client, a close waits this many
    # milliseconds.
    variable close_ms 0
}

# source: the address to connect from; empty: any.
proc resp::connect {host port {deferred 0} {source {}}} {
    variable next
    variable state
    set name ::resp::client[incr next]
    array set state [list $name,host $host $name,port $port $name,deferred $deferred $name,source $source $name,pushes {}]
    resp::open $name
    interp alias {} $name {} ::resp::dispatch $name
    return $name
}

proc resp::open {name} {
    variable state
    set source [expr {$state($name,source) eq {} ? {} : [list -myaddr $state($name,source)]}]
    set fd [socket {*}$source $state($name,host) $state($name,port)]
    fconfigure $fd -translation binary -buffering full -buffersize 65536
    set state($name,fd) $fd
    set state($name,pushes) {}
}

proc resp::dispatch {name word args} {
    variable state
    set fd $state($name,fd)
    switch -exact -- $word {
        read { return [resp::read $name] }
        push { return [resp::takePush $name] }
        write {
            puts -nonewline $fd [lindex $args 0]
            flush $fd
        }
        flush { flush $fd }
        rawread {
            if {[llength $args]} { return [::read $fd [lindex $args 0]] }
            return [string trimright [gets $fd] \r]
        }
        pending { return [resp::pending $fd] }
        deferred { set state($name,deferred) [lindex $args 0] }
        channel { return $fd }
        reconnect {
            catch {::close $fd}
            resp::open $name
        }
        close {
            catch {::close $fd}
            variable close_ms
            if {$close_ms} { after $close_ms }
            array unset state $name,*
            catch {interp alias {} $name {}}
        }
        default { return [resp::command $name [list $word {*}$args]] }
    }
    return {}
}

proc resp::command {name words} {
    variable state
    set fd $state($name,fd)
    if {[catch {
        puts -nonewline $fd [resp::encode $words]
        flush $fd
    } problem]} {
        return -code error -errorcode IO "I/O error writing to the server: $problem"
    }
    if {$state($name,deferred)} { return {} }
    # A push that overtakes the reply is kept for `push`; for SUBSCRIBE and its like it is the reply.
    set pushIsReply [string match -nocase *subscribe [lindex $words 0]]
    while 1 {
        set isPush 0
        set reply [resp::parse $fd isPush]
        if {!$isPush || $pushIsReply} { return $reply }
        lappend state($name,pushes) $reply
    }
}

proc resp::encode {words} {
    set out "*[llength $words]\r\n"
    foreach w $words {
        # Characters up to 255 are bytes; text beyond that can only be meant as UTF-8.
        if {[regexp {[^\u0000-\u00ff]} $w]} { set w [encoding convertto utf-8 $w] }
        append out "\$[string length $w]\r\n$w\r\n"
    }
    return $out
}

proc resp::read {name} {
    variable state
    set isPush 0
    return [resp::parse $state($name,fd) isPush]
}

proc resp::takePush {name} {
    variable state
    if {[llength $state($name,pushes)]} {
        set state($name,pushes) [lassign $state($name,pushes) first]
        return $first
    }
    set isPush 0
    set reply [resp::parse $state($name,fd) isPush]
    if {!$isPush} { error "a push message was expected, not the reply '$reply'" }
    return $reply
}

# Only the event loop can report this without reading: 1 ms is enough for bytes that have already arrived.
proc resp::pending {fd} {
    if {[chan pending input $fd] > 0} { return 1 }
    fileevent $fd readable [list apply {{fd} {
        fileevent $fd readable {}
        set ::resp::readable 1
    }} $fd]
    set timer [after 1 {set ::resp::readable 0}]
    vwait ::resp::readable
    after cancel $timer
    fileevent $fd readable {}
    return $::resp::readable
}

# One reply from the channel. `pushVar` is set to 1 when it is a push message.
proc resp::parse {fd pushVar {nested 0}} {
    upvar 1 $pushVar isPush
    if {[gets $fd line] < 0} {
        return -code error -errorcode IO "I/O error reading reply: the server closed the connection"
    }
    set line [string trimright $line \r]
    set type [string index $line 0]
    set rest [string range $line 1 end]
    switch -exact -- $type {
        + - : - , - ( { return $rest }
        # { return [expr {$rest eq "t"}] }
        _ { return {} }
        - { return [resp::failure $rest $nested] }
        ! { return [resp::failure [resp::bytes $fd $rest] $nested] }
        $ {
            # Not with expr, which would take "01" for a number and return 1.
            if {$rest < 0} { return {} }
            return [resp::bytes $fd $rest]
        }
        = { return [string range [resp::bytes $fd $rest] 4 end] }
        * - ~ { return [resp::items $fd $rest] }
        % { return [resp::items $fd [expr {$rest * 2}]] }
        > {
            set isPush 1
            return [resp::items $fd $rest]
        }
        | {
            resp::items $fd [expr {$rest * 2}] ;# attributes are skipped; the reply follows
            return [resp::parse $fd isPush $nested]
        }
        default { error "this is no RESP: [string range $line 0 60]" }
    }
}

proc resp::failure {text nested} {
    if {$nested} { return $text }
    return -code error -errorcode REPLY $text
}

proc resp::bytes {fd n} {
    set data [::read $fd $n]
    ::read $fd 2
    if {[string length $data] != $n} {
        return -code error -errorcode IO "I/O error reading reply: the connection ended within a string"
    }
    return $data
}

proc resp::items {fd n} {
    set list {}
    for {set i 0} {$i < $n} {incr i} { lappend list [resp::parse $fd ignored 1] }
    return $list
}
