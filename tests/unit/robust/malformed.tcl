# Malformed and odd input: every answer is that of Valkey 9.1, to the byte, before and after authentication.

proc differences {} {
    set script [file join [file dirname $::test_file] malformed.py]
    if {[catch {exec python3 $script [srv -1 port] [srv port] 2>@1} said]} { fail $said }
}

foreach {what overrides} {"" {} ", with a password that nobody gives" {requirepass secret}} {
    start_server [list tags {robust external:skip} overrides $overrides] {
        if {[valkey_oracle] eq {}} {
            test "malformed input gets the replies of Valkey 9.1$what" { skip "no Valkey to compare with: utils/oracle fetches it" }
        } else {
            start_server [list executable [valkey_oracle] overrides $overrides] {
                test "malformed input gets the replies of Valkey 9.1$what" { differences }
            }
        }
    }
}
