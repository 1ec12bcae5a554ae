# How a Sentinel connects to what it monitors: IPv6, names, its source address; and servers that reply nothing,
# nonsense or too much.

source -encoding utf-8 $::support/sentinel.tcl

proc flags_of {primary} { return [split [dict get [r sentinel master $primary] flags] ,] }
proc wait_flags {primary pattern} {
    wait_for_condition 200 50 {[string match $pattern [flags_of $primary]]} else { fail "$primary: [r sentinel master $primary]" }
}

set without_ipv6 [catch {close [socket -server {apply {{args} {}}} -myaddr ::1 0]}]

start_server {tags {sentinel external:skip} name watched overrides {bind {127.0.0.1 -::1}}} {
    set port [srv port]
    start_sentinel [list kind ours overrides {bind-source-addr 127.0.0.2} \
        lines [list "monitor one 127.0.0.1 $port 1" {down-after-milliseconds one 1000}]] {
        test {connections come from bind-source-addr, and hello messages announce it} {
            wait_flags one master
            assert_equal 2 [llength [regexp -all -inline {addr=127\.0\.0\.2:\d+ [^\n]*name=sentinel-\w+-(?:cmd|pubsub)} [r [at watched] client list]]]
            set c [valkey_deferring_client [at watched]]
            $c subscribe __sentinel__:hello
            $c read
            assert_match "127.0.0.2,[srv port],[r sentinel myid],0,one,127.0.0.1,$port,0" [lindex [$c read] 2]
            $c close
        }

        test {a killed connection is opened again} {
            set before [regexp -all -inline {id=\d+ addr=127.0.0.2} [r [at watched] client list]]
            assert_equal 2 [r [at watched] client kill laddr 127.0.0.1:$port skipme yes]
            wait_for_condition 200 50 {[regexp -all {addr=127.0.0.2:\d+ [^\n]*name=sentinel-} [r [at watched] client list]] == 2} else { fail "no new ones" }
            assert_equal {} [lmap id [regexp -all -inline {id=\d+ addr=127.0.0.2} [r [at watched] client list]] { if {$id ni $before} continue; set id }]
            wait_flags one master
        }
    }

    if {!$without_ipv6} {
        start_sentinel [list kind ours lines [list "monitor six ::1 $port 1" {down-after-milliseconds six 1000}]] {
            test {IPv6} {
                wait_flags six master
                assert_equal "::1 $port" [r sentinel get-primary-addr-by-name six]
                assert_match "*addr=\\\[::1]:*name=sentinel-*" [r [at watched] client list]
            }
        }
    }

    start_sentinel [list kind ours lines [list {resolve-hostnames yes} {announce-hostnames yes} "monitor named localhost $port 1" \
            {down-after-milliseconds named 1000} "monitor lost no.such.host.invalid $port 1"]] {
        test {names are resolved, and kept; one that does not resolve is tried again and again} {
            wait_flags named master
            assert_equal "localhost $port" [r sentinel get-primary-addr-by-name named]
            assert_match "*\nsentinel monitor named localhost $port 1\n*" [read_file [srv conf]]
            assert_match "*disconnected*" [flags_of lost]
            wait_for_log "The host name 'no.such.host.invalid' could not be resolved"
        }
    }
}

# ---- Servers that are none -------------------------------------------------------------------------------------

# Listens, and sends each client what is in ::nonsense when the client sends something.
proc fake_server {} {
    set fd [socket -server fake_accept -myaddr 127.0.0.1 0]
    return [list $fd [lindex [fconfigure $fd -sockname] 2]]
}
proc fake_accept {fd args} {
    fconfigure $fd -blocking 0 -translation binary -buffering none
    fileevent $fd readable [list fake_answer $fd]
    incr ::fake_connections
}
proc fake_answer {fd} {
    if {[catch {read $fd} heard] || [eof $fd]} {
        catch {close $fd}
        incr ::fake_ended
        return
    }
    if {$::nonsense ne {}} { catch {puts -nonewline $fd $::nonsense} }
}
# Lets the fake server live so long.
proc fake_live {ms} {
    after $ms {set ::lived 1}
    vwait ::lived
}

lassign [fake_server] fake_fd fake_port
set nonsense {}
set fake_connections 0
set fake_ended 0
start_sentinel [list kind ours tags {sentinel external:skip} overrides {loglevel debug} \
        lines [list "monitor fake 127.0.0.1 $fake_port 1" {down-after-milliseconds fake 500}]] {
    test {a silent server is down} {
        fake_live 1500
        assert_morethan_equal $fake_connections 2
        assert_match "s_down o_down master*" [flags_of fake]
    }

    # Are they hung up on? What is sent.
    foreach {name hung_up answer} {
        "what is no answer" 1 "HTTP/1.1 400 Bad Request\r\n\r\n"
        "a length that is no number" 1 "\$x\r\n"
        "a negative length" 1 "*-7\r\n"
        "an array of arrays of arrays" 1 NESTED
        "more than is taken in" 1 LONG
        "answers to what was not asked" 0 "+PONG\r\n+PONG\r\n:1\r\n*3\r\n:1\r\n\$1\r\n*\r\n:0\r\n\$-1\r\n*-1\r\n"
        "errors" 0 "-ERR no\r\n-BUSY x\r\n-LOADING x\r\n-MASTERDOWN x\r\n"
        "an INFO that lies" 0 "+PONG\r\n\$77\r\nrole:slave\r\nslave0:ip=,port=99999999999\r\nmaster_host:\r\nrun_id:\r\nmaster_port:x\r\n"
        "messages with holes" 0 "*3\r\n\$7\r\nmessage\r\n\$18\r\n__sentinel__:hello\r\n\$-1\r\n*1\r\n\$7\r\nmessage\r\n*0\r\n"
    } {
        test "a server that replies with $name does no harm" {
            set nonsense [string map [list NESTED [string repeat "*1\r\n" 600] LONG "\$1000000000\r\n[string repeat x 17000000]"] $answer]
            set ended $fake_ended
            r sentinel reset fake
            for {set i 0} {$i < ($hung_up ? 80 : 4) && !($hung_up && $fake_ended > $ended)} {incr i} { fake_live 200 }
            assert {!$hung_up || $fake_ended > $ended}
            assert_equal PONG [r ping]
            assert_equal fake [dict get [r sentinel master fake] name]
        }
    }
    set nonsense {}
    test {connections to a primary that was removed are closed} {
        r sentinel remove fake
        fake_live 200
        assert_equal $fake_connections $fake_ended
    }
}
close $fake_fd
