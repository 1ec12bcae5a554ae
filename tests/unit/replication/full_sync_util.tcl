# Replicas that consist of a socket only, for tests of snapshots. Source it where it is needed.
#
#   set f [asker ?words of REPLCONF?]   the handshake is done
#   asker_ask $f                        PSYNC ? -1, without waiting for an answer
#   asker_line $f ?newlines?            the next line; empty ones are counted in the variable
#   asker_full $f                       reads +FULLRESYNC: its offset
#   asker_bulk $f                       the snapshot after it: a dict of kind (disk, sockets) and bytes
#   asker_gone $f                       the primary closes the connection: what it sent before

proc asker {{hello {capa eof capa psync2 version 9.1.2 listening-port 7001}} {level 0}} {
    set f [valkey_client $level]
    if {[llength $hello]} { assert_equal OK [$f replconf {*}$hello] }
    return $f
}

proc asker_ask {f} { $f write "PSYNC ? -1\r\n" }

proc asker_line {f {newlines_var {}}} {
    if {$newlines_var ne {}} { upvar 1 $newlines_var newlines }
    set newlines 0
    while {[set line [$f rawread]] eq {}} {
        if {[eof [$f channel]]} { fail "the primary has closed the connection" }
        incr newlines
    }
    return $line
}

proc asker_full {f} {
    set line [asker_line $f]
    assert_match {+FULLRESYNC * *} $line
    return [lindex $line 2]
}

proc asker_bulk {f} {
    set head [asker_line $f]
    if {[regexp {^\$(\d+)$} $head - length]} { return [dict create kind disk bytes [$f rawread $length]] }
    assert_match {$EOF:????????????????????????????????????????} $head
    set mark [string range $head 5 end]
    set bytes {}
    while {[string range $bytes end-39 end] ne $mark} {
        set byte [$f rawread 1]
        if {$byte eq {}} { fail "the snapshot breaks off" }
        append bytes $byte
    }
    return [dict create kind sockets bytes [string range $bytes 0 end-40]]
}

proc asker_gone {f} {
    set bytes [$f rawread 100000000]
    $f close
    return $bytes
}

# How many snapshots for replicas have begun since line `from` of the log.
proc snapshots_since {from} {
    return [llength [lsearch -all [lrange [log_lines] $from end] "*A snapshot for replicas begins*"]]
}

# Is the snapshot one that our checker finds sound?
proc assert_sound {bytes} {
    set path [srv dir]/snapshot.rdb
    set file [open $path wb]
    puts -nonewline $file $bytes
    close $file
    assert_equal 0 [lindex [set told [other_face valkey-check-rdb $path]] 0] $told
}

proc replica_fields {n} {
    set line [s slave$n]
    set fields {}
    foreach field [split $line ,] { lappend fields {*}[split $field =] }
    return $fields
}

proc asker_full_bulk {f} {
    asker_full $f
    return [asker_bulk $f]
}

proc read_file_bytes {path} {
    set file [open $path rb]
    set bytes [read $file]
    close $file
    return $bytes
}
