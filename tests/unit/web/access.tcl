# Access rights over HTTP.
source [file join [file dirname [info script]] web_util.tcl]

proc stats {args} { return [web_body /api/stats {*}$args] }

with_web {} {
    test {without credentials: the default user, from this machine, by a name that is this machine's} {
        foreach host {localhost LOCALHOST localhost:1234 127.0.0.1 127.0.0.1:80 10.1.2.3 [::1]:9 [::1]} {
            assert_equal 200 [web_status /metrics -headers [list Host $host]] $host
        }
        assert_equal 200 [web_status /metrics -headers {} -version 1.0]
        foreach host {evil.example evil.example:9121 127.0.0.1.evil.example localhost.evil.example 1.2.3 x} {
            assert_equal 421 [web_status /metrics -headers [list Host $host]] $host
            assert_equal 421 [web_status / -headers [list Host $host]] $host
        }
        assert_equal 200 [web_status /healthz -headers {Host evil.example}]
    }

    test {a proxy on this machine is not a peer on this machine} {
        foreach header {Forwarded X-Forwarded-For Via x-forwarded-for} {
            assert_equal 401 [web_status /metrics -headers [list Host localhost $header 127.0.0.1]] $header
        }
    }

    test {no page is served to other sites} {
        set answer [web /api/stats]
        assert_equal same-origin [dict get $answer headers cross-origin-resource-policy]
        assert {![dict exists $answer headers access-control-allow-origin]}
        assert_match "default-src 'none'*frame-ancestors 'none'" [web_header content-security-policy /]
    }

    test {credentials count where they are given, needed or not} {
        assert_equal 401 [web_status /metrics -headers [bearer something]]
        assert_equal 401 [web_status /metrics -headers [basic nobody x]]
        assert_equal 200 [web_status /metrics -headers [basic default x]]
    }

    test {wrong credentials: 401 after a second, the end of the connection, and a line in ACL LOG} {
        r acl log reset
        set denied [s acl_access_denied_auth]
        set start [clock milliseconds]
        set sock [web_send [config_get metrics-port] [web_request GET /metrics [basic nobody secret]]]
        set answer [web_answer $sock]
        assert_range [expr {[clock milliseconds] - $start}] 900 3000
        assert_equal 401 [dict get $answer status]
        assert_match {Basic realm="valkey"*} [dict get $answer headers www-authenticate]
        assert_equal close [dict get $answer headers connection]
        assert_equal {} [read $sock]
        close $sock
        assert_equal [expr {$denied + 1}] [s acl_access_denied_auth]
        set entry [lindex [r acl log] 0]
        assert_equal auth [dict get $entry reason]
        assert_equal nobody [dict get $entry username]
        assert_no_match *secret* $entry
    }

    test {malformed credentials are refused with 401} {
        set values {Basic "Basic " "Basic !!!" "Basic YQ==" "Basic a" Bearer "Bearer " "Digest x" "basic" x}
        assert_equal [lrepeat 10 401] [web_statuses /metrics [lmap value $values { list Host localhost Authorization $value }]]
    }
}

with_web {requirepass secret} {
    test {the port needs credentials where clients need a password} {
        set sock [web_send [config_get metrics-port] [web_request GET /metrics {Host localhost}]]
        set start [clock milliseconds]
        assert_equal 401 [dict get [web_answer $sock] status]
        assert_lessthan [expr {[clock milliseconds] - $start}] 900
        close $sock
        assert_equal 200 [web_status /metrics -headers [basic default secret]]
        assert_equal 401 [web_status /metrics -headers [basic default wrong]]
        assert_equal 200 [web_status /metrics -headers [basic {} secret]]
        assert_equal 401 [web_status /metrics -headers [basic {} wrong]]
        assert_equal 401 [web_status /api/stats]
        assert_equal 401 [web_status /]
        assert_equal 401 [web_status /nothing]
        assert_equal 200 [web_status /healthz]
        assert_equal "ready\n" [web_body /readyz]
    }

    test {users: rights to INFO, users that are off, INFO renamed to nothing} {
        r acl setuser probe on >pw +info
        r acl setuser other on >pw +@all -info ~*
        r acl setuser sleeper off >pw +@all ~*
        assert_equal 200 [web_status /metrics -headers [basic probe pw]]
        assert_equal 403 [web_status /metrics -headers [basic other pw]]
        assert_equal 401 [web_status /metrics -headers [basic sleeper pw]]
        r acl setuser probe >p:w%20
        assert_equal 200 [web_status /metrics -headers [basic probe p:w%20]]
        r acl deluser probe
        assert_equal 401 [web_status /metrics -headers [basic probe pw]]
    }

    test {metrics-user: only this user is accepted} {
        r acl setuser probe on >pw +info
        config_set metrics-user probe
        assert_equal 200 [web_status /metrics -headers [basic probe pw]]
        assert_equal 401 [web_status /metrics -headers [basic default secret]]
        config_set metrics-user ""
        assert_equal 200 [web_status /metrics -headers [basic default secret]]
    }

    test {metrics-token} {
        assert_equal 401 [web_status /metrics -headers [bearer ""]]
        config_set metrics-token t0ken
        assert_equal 200 [web_status /metrics -headers [bearer t0ken]]
        assert_equal {401 401 401 401} [web_statuses /metrics [lmap wrong {t0ke t0kenn T0KEN ""} { bearer $wrong }]]
        config_set metrics-token ""
        assert_equal 401 [web_status /metrics -headers [bearer t0ken]]
    }

    test {the page's figures have names only for clients with the right to see them} {
        r set visible:1 [string repeat v 3000]
        r set hidden:1 [string repeat h 3000]
        r config set slowlog-log-slower-than 0
        r get slow:argument
        r config set slowlog-log-slower-than 10000
        r client setname somebody
        config_set metrics-token t0ken
        r acl setuser all on >pw +info +memory|usage ~* +commandlog|get +client|list
        r acl setuser some on >pw +info +memory|usage ~visible:*
        r acl setuser figures on >pw +info
        stats -headers [basic all pw]
        wait_for_condition 50 100 {
            [string match *visible:1* [stats -headers [basic all pw]]] && [string match *visible:1* [stats -headers [basic some pw]]]
        } else { fail "the survey sees no keys" }
        foreach {headers has} [list [basic all pw] {1 1 1 1} [basic some pw] {1 0 0 0} [basic figures pw] {0 0 0 0} [bearer t0ken] {0 0 0 0}] {
            set text [stats -headers $headers]
            foreach text_part {visible:1 hidden:1 slow:argument somebody} wanted $has {
                assert_equal $wanted [string match *$text_part* $text] "$headers $text_part"
            }
            set rights [lmap w [list [lindex $has 0] [lindex $has 2] [lindex $has 3]] { lindex {false true} $w }]
            assert_match "*\"rights\":{\"keys\":[lindex $rights 0],\"slow\":[lindex $rights 1],\"clients\":[lindex $rights 2]}*" $text $headers
        }
        config_set metrics-token ""
    }

    test {metrics of directives need the right to run CONFIG GET} {
        r acl setuser figures on >pw +info
        assert_no_match *redis_config_value* [web_body /metrics -headers [basic figures pw]]
        r acl setuser figures +config|get
        assert_match {*redis_config_value{key="maxclients"} *} [web_body /metrics -headers [basic figures pw]]
        assert_no_match *secret* [web_body /metrics -headers [basic figures pw]]
    }

    test {a changed rule applies to the next request of a connection} {
        r acl setuser probe on >pw +info
        set sock [web_send [config_get metrics-port] [web_request GET /metrics [basic probe pw]]]
        assert_equal 200 [dict get [web_answer $sock] status]
        r acl setuser probe -info
        puts -nonewline $sock [web_request GET /metrics [basic probe pw]]
        flush $sock
        assert_equal 403 [dict get [web_answer $sock] status]
        close $sock
    }
}

with_web {} {
    test {setting metrics-user or metrics-token requires credentials from every request} {
        assert_equal 200 [web_status /metrics]
        config_set metrics-token t
        assert_equal 401 [web_status /metrics]
        config_set metrics-token ""
        config_set metrics-user default
        assert_equal 401 [web_status /metrics]
        assert_equal 200 [web_status /metrics -headers [basic default x]]
        config_set metrics-user ""
        assert_equal 200 [web_status /metrics]
    }

    test {other machines need credentials, and a user with a password} {
        set host {}
        catch {set host [lindex [exec hostname -I 2>/dev/null] 0]}
        if {![regexp {^[0-9.]+$} $host]} { skip "this machine has no address but its own" }
        config_set metrics-bind "127.0.0.1 $host"
        r acl setuser probe on >pw +info
        foreach {headers status} [list [list Host $host] 401 [basic default x] 401 [basic probe pw] 200] {
            set sock [socket $host [config_get metrics-port]]
            fconfigure $sock -translation binary
            puts -nonewline $sock [web_request GET /metrics $headers]
            flush $sock
            assert_equal $status [dict get [web_answer $sock] status] $headers
            close $sock
        }
    }

    test {a default user without the right to run INFO gets no metrics} {
        r acl setuser admin on nopass +@all ~* &*
        r auth admin x
        r acl setuser default -info
        assert_equal 403 [web_status /metrics]
        assert_equal 200 [web_status /healthz]
        r acl setuser default off
        assert_equal 401 [web_status /metrics]
    }
}
