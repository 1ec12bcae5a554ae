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

proc denied_command {user command} { return "NOPERM User $user has no permissions to run the '$command' command" }

# Creates the user again, and a client that is logged in as it.
proc client_of {user args} {
    r acl setuser $user reset on >pw {*}$args
    set c [valkey_client]
    assert_equal OK [$c auth $user pw]
    return $c
}

proc refused {expected script} {
    if {![catch {uplevel 1 $script} said]} { fail "expected '$expected', got '$said'" }
    assert_equal $expected $said
}

# Writes a file of these lines, and returns its path.
proc write_lines {path args} {
    set f [open $path w]
    foreach line $args { puts $f $line }
    close $f
    return $path
}
