# The metrics port as an HTTP server: paths, methods, versions, what is refused, and the directives that open it.
source [file join [file dirname [info script]] web_util.tcl]
source [file join [file dirname [info script]] .. server server_util.tcl]

with_web {} {
    test {/healthz replies 200 while the event loop runs} {
        assert_equal 200 [web_status /healthz]
        assert_equal "ok\n" [web_body /healthz]
        assert_equal "text/plain; charset=utf-8" [web_header content-type /healthz]
        assert_equal no-store [web_header cache-control /healthz]
    }

    test {an unknown path is 404} {
        foreach path {/nothing /metrics/ //metrics /../metrics /METRICS /healthz%00 *} { assert_equal 404 [web_status $path] $path }
        assert_match "*/metrics*" [web_body /nothing]
    }

    test {a query is ignored; an absolute address is the same path} {
        assert_equal 200 [web_status /healthz?verbose=1]
        assert_equal 200 [web_status http://somebody.example/healthz]
        assert_equal 404 [web_status http://somebody.example/nothing]
        assert_match "text/html*" [web_header content-type http://somebody.example]
    }

    test {HEAD has the headers of GET, and no body} {
        foreach path {/ /healthz /readyz} {
            set answer [web $path -method HEAD]
            assert_equal 200 [dict get $answer status]
            assert_equal [string length [web_body $path]] [dict get $answer headers content-length] $path
        }
        set sock [web_send [config_get metrics-port] [web_request HEAD /healthz {Host localhost Connection close}]]
        web_answer $sock HEAD
        assert_equal {} [read $sock]
        close $sock
    }

    test {other methods are refused, and the connection ends} {
        foreach method {POST PUT DELETE OPTIONS PATCH TRACE CONNECT} {
            set target [expr {$method eq {CONNECT} ? {localhost:80} : {/metrics}}]
            set sock [web_send [config_get metrics-port] [web_request $method $target {Host localhost Content-Length 3}]abc]
            set answer [web_answer $sock]
            assert_equal 405 [dict get $answer status] $method
            assert_equal "GET, HEAD" [dict get $answer headers allow] $method
            assert_equal {} [read $sock]
            close $sock
        }
    }

    test {a connection serves one request after the other} {
        set sock [web_send [config_get metrics-port] {}]
        for {set i 0} {$i < 50} {incr i} {
            puts -nonewline $sock [web_request GET [lindex {/healthz /metrics /nothing} [expr {$i % 3}]] {Host localhost}]
            flush $sock
            assert_equal [lindex {200 200 404} [expr {$i % 3}]] [dict get [web_answer $sock] status]
        }
        close $sock
    }

    test {requests that come together are answered in order} {
        set requests {}
        for {set i 0} {$i < 100} {incr i} { append requests [web_request GET [lindex {/healthz /nothing} [expr {$i & 1}]] {Host localhost}] }
        set sock [web_send [config_get metrics-port] $requests]
        for {set i 0} {$i < 100} {incr i} { assert_equal [lindex {200 404} [expr {$i & 1}]] [dict get [web_answer $sock] status] }
        close $sock
    }

    test {a request may come a byte at a time} {
        set sock [web_send [config_get metrics-port] {}]
        fconfigure $sock -buffering none
        foreach byte [split [web_request GET /healthz {Host localhost X-Other something}] {}] { puts -nonewline $sock $byte }
        assert_equal "ok\n" [dict get [web_answer $sock] body]
        close $sock
    }

    test {HTTP/1.0 and Connection: close end with the answer, keep-alive does not} {
        foreach {version headers stays} {1.0 {} 0 1.0 {Connection keep-alive} 1 1.1 {Connection close} 0 1.1 {} 1} {
            set sock [web_send [config_get metrics-port] [web_request GET /healthz [list Host localhost {*}$headers] $version]]
            assert_equal [lindex {close keep-alive} $stays] [dict get [web_answer $sock] headers connection] "$version $headers"
            if {!$stays} { assert_equal {} [read $sock] }
            close $sock
        }
    }

    test {bytes that are not HTTP get an error} {
        foreach {bytes status} {
            "GET /\r\n\r\n" {400 505}
            "GET / HTTP/9.9\r\n\r\n" {400 505}
            "GET / HTTP/x\r\n\r\n" 400
            "GE\x00T / HTTP/1.1\r\n\r\n" 400
            "*1\r\n\$4\r\nPING\r\n" 400
            "GET /metrics HTTP/1.1\r\nHost localhost\r\n\r\n" 400
            "GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" 400
            "GET /metrics HTTP/1.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n" 400
            "GET /metrics HTTP/1.1\r\nContent-Length: x\r\n\r\n" 400
            "GET /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" 413
            "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" 413
            "\x16\x03\x01\x02\x00\x01" 400
        } {
            set sock [web_send [config_get metrics-port] $bytes]
            set got [dict get [web_answer $sock] status]
            assert {$got in $status} "$got: $bytes"
            assert_equal {} [read $sock] $bytes
            close $sock
        }
        assert_equal 200 [web_status /healthz]
    }

    test {CONFIG SET metrics-port moves it, 0 closes it} {
        set old [config_get metrics-port]
        set sock [web_send $old {}]
        config_set metrics-port [set new [free_port]]
        assert {![listens 127.0.0.1 $old]}
        assert_equal {} [read $sock]
        close $sock
        assert_equal 200 [web_status /healthz -port $new]
        config_set metrics-port 0
        assert {![listens 127.0.0.1 $new]}
        config_set metrics-port $old
        assert_equal 200 [web_status /healthz]
    }

    test {CONFIG SET metrics-port to one in use changes nothing} {
        set port [config_get metrics-port]
        assert_error "*Unable to listen on this port*" {r config set metrics-port [srv port]}
        assert_equal $port [config_get metrics-port]
        assert_equal 200 [web_status /healthz]
        assert_error "*argument must be between 0 and 65535*" {r config set metrics-port 65536}
    }

    test {CONFIG SET metrics-bind} {
        set port [config_get metrics-port]
        assert_equal "127.0.0.1 -::1" [config_get metrics-bind]
        config_set metrics-bind "127.0.0.1 127.0.0.2"
        assert {[listens 127.0.0.2 $port]}
        config_set metrics-bind "127.0.0.1 -198.51.100.7"
        assert {![listens 127.0.0.2 $port]}
        assert {[listens 127.0.0.1 $port]}
        assert_error "*Unable to listen*" {r config set metrics-bind 198.51.100.7}
        assert_error "*metrics-port 0*" {r config set metrics-bind ""}
        assert_equal "127.0.0.1 -198.51.100.7" [config_get metrics-bind]
        assert_equal 200 [web_status /healthz]
    }

    test {port and address change together} {
        r config set metrics-port [free_port] metrics-bind 127.0.0.1
        assert_equal 200 [web_status /healthz]
        assert_equal 127.0.0.1 [config_get metrics-bind]
    }
}

with_web {} {
    test {CONFIG REWRITE keeps all four, and the next start listens} {
        set port [config_get metrics-port]
        r config set metrics-bind "127.0.0.1 127.0.0.2" metrics-user probe metrics-token "two words"
        r config rewrite
        restart_server
        assert_equal $port [config_get metrics-port]
        assert_equal "127.0.0.1 127.0.0.2" [config_get metrics-bind]
        assert_equal probe [config_get metrics-user]
        assert_equal "two words" [config_get metrics-token]
        assert {[listens 127.0.0.2 $port]}
        assert_equal 200 [web_status /metrics -headers [bearer {two words}]]
    }

    test {the token is not in MONITOR and the slow log} {
        r config set slowlog-log-slower-than 0
        r config set metrics-token confidential
        assert_no_match *confidential* [r slowlog get 10]
    }

    test {a port in use stops the start with code 1} {
        lassign [run_to_end --port 0 --unixsocket $::work_dir/metrics.sock --metrics-port [config_get metrics-port]] code output
        assert_equal 1 $code
        assert_match "*Could not listen for metrics on 127.0.0.1:[config_get metrics-port]*Address already in use*" $output
        assert_match "*Listening on metrics-port [config_get metrics-port] failed, so the server exits*" $output
    }
}

start_server {overrides {save {}} tags {web external:skip}} {
    test {without metrics-port nothing listens} {
        assert_equal 0 [config_get metrics-port]
        assert_equal 0 [count_log_message "Metrics on port"]
    }
}
