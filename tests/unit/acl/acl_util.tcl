# Helpers that the ACL tests share.

# How many refusals INFO counts, for these reasons.
proc denials {args} { return [lmap reason $args { s acl_access_denied_$reason }] }

# a - b, one by one.
proc differences {a b} { return [lmap x $a y $b { expr {$x - $y} }] }

# The server has closed the connection, or does so soon: whether that is seen as an end or as a reset is a matter of time.
proc is_closed {c} {
    if {![catch {$c ping} said how]} { return 0 }
    return [expr {[dict get $how -errorcode] ne "REPLY"}]
}
