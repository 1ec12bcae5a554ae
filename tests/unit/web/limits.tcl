# A peer of the metrics port can neither stay for ever, send without end, exclude others, nor stall the server.
source [file join [file dirname [info script]] web_util.tcl]

with_web {} {
    test {a long path, a long header, many headers} {
        foreach {request status} [list \
            [web_request GET /[string repeat a 2000] {Host localhost}] 414 \
            [web_request GET /healthz?[string repeat a 1100] {Host localhost}] 414 \
            [web_request GET /healthz [list Host localhost Authorization "Bearer [string repeat a 3000]"]] 431 \
            [web_request GET /healthz [list Host localhost X-Other [string repeat a 9000]]] 431 \
            [web_request GET /healthz [lrepeat 1000 X-Other abc]] 431 \
            [web_request GET /healthz [list Host localhost X-Other [string repeat a 7000]]] 200 \
            [web_request GET /healthz [list Host localhost [string repeat x 5000] abc]] 200 \
        ] {
            set sock [web_send [config_get metrics-port] $request]
            assert_equal $status [dict get [web_answer $sock] status] [string range $request 0 60]
            close $sock
        }
    }

    test {a header without end is cut off} {
        set sock [web_send [config_get metrics-port] "GET / HTTP/1.1\r\nX-Other: "]
        catch {
            for {set i 0} {$i < 1000} {incr i} { puts -nonewline $sock [string repeat a 1000]; flush $sock }
        }
        catch {read $sock} left
        close $sock
        assert_equal 200 [web_status /healthz]
    }

    test {many connections: others are still accepted, and the server serves clients} {
        set socks {}
        for {set i 0} {$i < 200} {incr i} { lappend socks [web_send [config_get metrics-port] "GET /met"] }
        assert_equal 200 [web_status /healthz]
        assert_equal 200 [web_status /metrics]
        assert_equal PONG [r ping]
        set open 0
        foreach sock $socks {
            fconfigure $sock -blocking 0
            catch {read $sock}
            if {![eof $sock]} { incr open }
            close $sock
        }
        assert_lessthan_equal $open 32
    }

    test {under load connections that have had an answer stay, others are closed} {
        set sock [web_send [config_get metrics-port] [web_request GET /metrics {Host localhost}]]
        assert_equal 200 [dict get [web_answer $sock] status]
        set socks {}
        for {set i 0} {$i < 100} {incr i} { lappend socks [web_send [config_get metrics-port] {}] }
        puts -nonewline $sock [web_request GET /metrics {Host localhost}]
        flush $sock
        assert_equal 200 [dict get [web_answer $sock] status]
        foreach s [concat $sock $socks] { close $s }
    }

    test {expensive answers take a small part of the time} {
        set socks {}
        for {set i 0} {$i < 30} {incr i} {
            lappend socks [web_send [config_get metrics-port] [string repeat [web_request GET /metrics {Host localhost}] 60]]
        }
        set slowest 0
        for {set i 0} {$i < 300} {incr i} {
            set start [clock microseconds]
            r ping
            set slowest [expr {max($slowest, [clock microseconds] - $start)}]
        }
        assert_lessthan $slowest 200000
        foreach sock $socks {
            assert_equal 200 [dict get [web_answer $sock] status]
            close $sock
        }
    }

    test {a peer that does not read its answer does not block the server} {
        set sock [socket 127.0.0.1 [config_get metrics-port]]
        fconfigure $sock -translation binary -blocking 0
        puts -nonewline $sock [string repeat [web_request GET /api/stats {Host localhost}] 2000]
        catch {flush $sock}
        for {set i 0} {$i < 20} {incr i} { assert_equal 200 [web_status /healthz] }
        assert_lessthan [s used_memory] 30000000
        catch {close $sock}
    }

    test {connections to the port do not count as clients} {
        set sock [web_send [config_get metrics-port] {}]
        assert_equal 1 [s connected_clients]
        close $sock
    }
}

tags {slow} {
    with_web {} {
        test {a request that does not end is closed after ten seconds} {
            set sock [web_send [config_get metrics-port] "GET /metrics HT"]
            set silent [web_send [config_get metrics-port] {}]
            set start [clock milliseconds]
            for {set i 0} {$i < 8} {incr i} {
                after 1000
                puts -nonewline $sock [string index "TP/1.1\r\nHost" $i]
                flush $sock
            }
            assert_equal 408 [dict get [web_answer $sock] status]
            assert_range [expr {[clock milliseconds] - $start}] 8000 14000
            assert_equal {} [read $silent]
            close $sock
            close $silent
        }
    }
}
