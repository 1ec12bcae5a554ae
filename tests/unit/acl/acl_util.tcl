# What the tests of users share.

# The server has closed the connection, or does so soon: whether that is seen as an end or as a reset is a matter of time.
proc is_closed {c} {
    if {![catch {$c ping} said how]} { return 0 }
    return [expr {[dict get $how -errorcode] ne "REPLY"}]
}
