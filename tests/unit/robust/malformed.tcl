# Malformed and odd input: every answer is that of Redis 7.0, to the byte, before and after authentication.

proc differences {args} {
    set script [file join [file dirname $::test_file] malformed.py]
    if {[catch {exec python3 $script [srv -1 port] [srv port] {*}$args 2>@1} said]} { fail $said }
}

foreach {what overrides} {"" {} ", with a password that nobody gives" {requirepass secret}} {
    start_server [list tags {robust external:skip} overrides $overrides] {
        if {[oracle] eq {}} {
            test "malformed input gets the answers of Redis 7.0$what" { skip "no redis-server here" }
        } else {
            start_server [list executable [oracle] overrides $overrides] {
                test "malformed input gets the answers of Redis 7.0$what" {
                    differences {*}[expr {$what eq {} ? {} : "password"}]
                }
            }
        }
    }
}
