# SENTINEL CONFIG and SENTINEL DEBUG: the Sentinel itself, and its time limits.
source -encoding utf-8 [file join [file dirname [info script]] sentinel_util.tcl]

each_sentinel {} {
    test "$kind: CONFIG GET shows matches once, in the order of the arguments" {
        set level [lindex [r sentinel config get loglevel] 1]
        assert_equal [list resolve-hostnames no announce-hostnames no announce-ip {} announce-port 0 sentinel-user {} \
            sentinel-pass {} loglevel $level] [r sentinel config get *]
        answers {
            {config get announce-port ANN* announce-i?} {*6 $13 announce-port $1 0 $18 announce-hostnames $2 no $11 announce-ip $0}
            {config get Resolve-Hostnames nosuch} {*2 $17 resolve-hostnames $2 no}
            {config get nosuch} *0
            {config get {}} *0
        }
        r hello 3
        answers {
            {config get announce-port} {%1 $13 announce-port $1 0}
            {config get nosuch} %0
        }
        r hello 2
    }

    test "$kind: CONFIG needs GET or SET, and enough arguments" {
        set usage "-ERR Only SENTINEL CONFIG GET <param> \[<param> <param> ...\] / SET <param> <value> \[<param> <value> ...\] are supported."
        foreach words {{set announce-port} {nosuch x} {set nosuch}} { assert_equal $usage [wire sentinel config {*}$words] }
        foreach words {config {config get} {config set}} {
            assert_equal "-ERR wrong number of arguments for 'sentinel|config' command" [wire sentinel {*}$words]
        }
    }

    test "$kind: CONFIG SET with a wrong argument sets nothing" {
        answers {
            {config set nosuch x} {-ERR Invalid argument 'nosuch' to SENTINEL CONFIG SET}
            {config set nosuch x y} {-ERR Invalid argument 'nosuch' to SENTINEL CONFIG SET}
            {config set announce-port 5 announce-ip} {-ERR Missing argument 'announce-ip' value}
            {config set announce-port 5 Announce-Port 6} {-ERR Duplicate argument 'Announce-Port' to SENTINEL CONFIG SET}
            {config set announce-port 5 announce-ip x announce-port} {-ERR Duplicate argument 'announce-port' to SENTINEL CONFIG SET}
            {config set announce-port x nosuch y} {-ERR Invalid value 'x' to SENTINEL CONFIG SET 'announce-port'}
            {config set announce-ip 1.2.3.4 announce-port 65536} {-ERR Invalid value '65536' to SENTINEL CONFIG SET 'announce-port'}
            {config set announce-port -1} {-ERR Invalid value '-1' to SENTINEL CONFIG SET 'announce-port'}
            {config set announce-port 00} {-ERR Invalid value '00' to SENTINEL CONFIG SET 'announce-port'}
            {config set Resolve-hostnames x} {-ERR Invalid value 'x' to SENTINEL CONFIG SET 'Resolve-hostnames'}
            {config set announce-hostnames 1} {-ERR Invalid value '1' to SENTINEL CONFIG SET 'announce-hostnames'}
            {config set loglevel x} {-ERR Invalid value 'x' to SENTINEL CONFIG SET 'loglevel'}
            {config get announce-ip announce-port} {*4 $11 announce-ip $0  $13 announce-port $1 0}
        }
        set tail "control characters are not allowed"
        assert_equal "-ERR Invalid argument at index 3 for SENTINEL CONFIG SET: $tail" [wire sentinel config set "a\n" b]
        assert_equal "-ERR Invalid argument at index 6 for SENTINEL CONFIG SET: $tail" \
            [wire sentinel config set announce-port 5 announce-ip "b\x7f"]
        assert_equal *0 [wire sentinel config get "a\n"]
        assert_equal {announce-port 0} [r sentinel config get announce-port]
    }

    test "$kind: CONFIG SET sets, and saves" {
        answers {
            {config set Announce-Ip 1.2.3.4 announce-port 65535 sentinel-user u sentinel-pass {p "q}} +OK
            {config set resolve-hostnames YES announce-hostnames Yes} +OK
        }
        assert_equal {resolve-hostnames yes announce-hostnames yes announce-ip 1.2.3.4 announce-port 65535 sentinel-user u sentinel-pass} \
            [lrange [r sentinel config get *] 0 10]
        assert_equal {p "q} [dict get [r sentinel config get *] sentinel-pass]
        foreach line {{resolve-hostnames yes} {announce-hostnames yes} {announce-ip "1.2.3.4"} {announce-port 65535}
            {sentinel-user u} {sentinel-pass "p \"q"}} {
            assert_equal [list [regsub {user u} "sentinel $line" {user "u"}]] [file_lines "sentinel [lindex [split $line] 0]"]
        }
        restart_server
        assert_equal {p "q} [dict get [r sentinel config get *] sentinel-pass]
        answers {
            {config set announce-ip {} announce-port 0 sentinel-user {} sentinel-pass {}} +OK
            {config set resolve-hostnames no announce-hostnames no} +OK
            {config get sentinel*} {*4 $13 sentinel-user $0  $13 sentinel-pass $0}
        }
        foreach name {announce-port sentinel-user sentinel-pass} { assert_equal {} [file_lines "sentinel $name"] }
    }

    test "$kind: CONFIG SET loglevel, in any case" {
        answers {
            {config set loglevel WARNING} +OK
            {config get loglevel} {*2 $8 loglevel $7 warning}
        }
        set lines [llength [log_lines]]
        assert_equal OK [r sentinel flushconfig]
        assert_equal $lines [llength [log_lines]]
        assert_equal {{loglevel warning}} [file_lines loglevel]
        answers {
            {config set loglevel nothing} +OK
            {config get loglevel} {*2 $8 loglevel $7 nothing}
            {config set loglevel debug} +OK
        }
        assert_equal OK [r sentinel flushconfig]
        assert_morethan [llength [log_lines]] $lines
    }

    test "$kind: CONFIG without SENTINEL is unknown" {
        assert_error "ERR unknown command 'config'*" { r config get * }
    }

    test "$kind: DEBUG shows the time limits" {
        set limits {INFO-PERIOD 10000 PING-PERIOD 1000 ASK-PERIOD 1000 PUBLISH-PERIOD 2000 DEFAULT-DOWN-AFTER 30000
            DEFAULT-FAILOVER-TIMEOUT 180000 TILT-TRIGGER 2000 TILT-PERIOD 30000 SLAVE-RECONF-TIMEOUT 10000
            MIN-LINK-RECONNECT-PERIOD 15000 ELECTION-TIMEOUT 10000 SCRIPT-MAX-RUNTIME 60000 SCRIPT-RETRY-DELAY 30000}
        assert_equal [list {*}$limits] [r sentinel debug]
        r hello 3
        assert_equal {%13 $11 INFO-PERIOD $5 10000} [join [lrange [split [wire sentinel debug]] 0 4]]
        r hello 2
    }

    test "$kind: DEBUG sets values up to the first wrong one" {
        answers {
            {debug nosuch} {-ERR Unknown option or number of arguments for SENTINEL DEBUG 'nosuch'}
            {debug nosuch 1} {-ERR Unknown option or number of arguments for SENTINEL DEBUG 'nosuch'}
            {debug info-period} {-ERR Unknown option or number of arguments for SENTINEL DEBUG 'info-period'}
            {debug info-period 0} {-ERR Invalid argument '0' for SENTINEL DEBUG 'info-period'}
            {debug Info-Period -1} {-ERR Invalid argument '-1' for SENTINEL DEBUG 'Info-Period'}
            {debug info-period 1.5} {-ERR Invalid argument '1.5' for SENTINEL DEBUG 'info-period'}
            {debug info-period 99999999999999999999} {-ERR Invalid argument '99999999999999999999' for SENTINEL DEBUG 'info-period'}
            {debug info-period 5000 Ping-Period 700} +OK
            {debug info-period 6000 ping-period 0 ask-period 900} {-ERR Invalid argument '0' for SENTINEL DEBUG 'ping-period'}
            {debug tilt-period 9000 nosuch} {-ERR Unknown option or number of arguments for SENTINEL DEBUG 'nosuch'}
        }
        set now [r sentinel debug]
        foreach {name value} {INFO-PERIOD 6000 PING-PERIOD 700 ASK-PERIOD 1000 TILT-PERIOD 9000} {
            assert_equal [list $name $value] [list $name [dict get $now $name]]
        }
    }

    test "$kind: DEBUG's defaults apply to primaries that are added later" {
        answers {
            {debug default-down-after 4000 default-failover-timeout 8000} +OK
            {monitor m2 127.0.0.1 0 1} +OK
        }
        assert_equal {4000 8000} [list [dict get [r sentinel master m2] down-after-milliseconds] \
            [dict get [r sentinel master m2] failover-timeout]]
        assert_equal 30000 [dict get [r sentinel master m] down-after-milliseconds]
    }
}

each_kind {
    start_servers [list other {kind ours args --sentinel overrides {requirepass geheim sentinel {monitor m 127.0.0.1 1 1}}}] {
        start_sentinel [list kind $kind lines {{monitor m 127.0.0.1 1 1} {down-after-milliseconds m 300}}] {
            test "$kind: the password for other Sentinels is used after it was set" {
                r sentinel debug ping-period 100
                set c [valkey_client -1]
                $c auth geheim
                set id [$c sentinel myid]
                $c close
                r publish __sentinel__:hello "127.0.0.1,[srv [at other] port],$id,0,m,127.0.0.1,1,0"
                wait_for_condition 100 50 {[dict get [lindex [r sentinel sentinels m] 0] flags] eq "s_down,sentinel"} else { fail "up" }
                assert_equal OK [r sentinel config set sentinel-pass geheim]
                wait_for_condition 100 50 {[dict get [lindex [r sentinel sentinels m] 0] flags] eq "sentinel"} else { fail "down" }
                assert_equal OK [r sentinel config set sentinel-user nosuch]
                wait_for_condition 100 50 {[dict get [lindex [r sentinel sentinels m] 0] flags] eq "s_down,sentinel"} else { fail "up" }
                assert_equal OK [r sentinel config set sentinel-user default]
                wait_for_condition 100 50 {[dict get [lindex [r sentinel sentinels m] 0] flags] eq "sentinel"} else { fail "down" }
            }
        }
    }
}
