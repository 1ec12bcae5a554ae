# The wire: how requests may be written and cut up, what is refused, and what happens to the requests behind one
# that blocks, closes or mutes its client.

# All bytes that the server sends in reply to raw bytes, until it is silent or closes (then with EOF at the end).
proc raw {bytes {piece 0} {probe "ECHO the-end\r\n"}} {
    set c [valkey_client]
    set fd [$c channel]
    if {$piece} {
        for {set i 0} {$i < [string length $bytes]} {incr i $piece} {
            $c write [string range $bytes $i [expr {$i + $piece - 1}]]
        }
    } else {
        $c write $bytes
    }
    # A request of our own marks where the replies end; a closed connection cannot take it.
    catch {$c write $probe}
    set out {}
    while {[gets $fd line] >= 0} {
        append out [string trimright $line \r] |
        if {[string match *the-end| $out]} {
            $c close
            return [string range $out 0 end-[string length "\$7|the-end|"]]
        }
    }
    $c close
    return ${out}EOF
}

proc request {args} {
    set s "*[llength $args]\r\n"
    foreach a $args { append s "\$[string length $a]\r\n$a\r\n" }
    return $s
}

start_server {tags {protocol}} {
    test {inline requests} {
        assert_equal +PONG| [raw "PING\r\n"]
        assert_equal +PONG| [raw "PING\n"]
        assert_equal "\$2|hi|" [raw "  ping \t hi  \r\n"]
        assert_equal +PONG| [raw "\r\n\r\nPING\r\n"]
        assert_equal "+OK|\$3|x y|" [raw "SET a \"x y\"\r\nGET a\r\n"]
        assert_equal "+OK|\$3|x'y|" [raw "SET a 'x\\'y'\r\nGET a\r\n"]
        assert_equal "+OK|\$2|A\t|" [raw "SET a \"\\x41\\t\"\r\nGET a\r\n"]
        assert_equal "+OK|\$0||" [raw "SET a \"\"\r\nGET a\r\n"]
    }

    test {inline requests that are refused} {
        assert_equal "-ERR Protocol error: unbalanced quotes in request|EOF" [raw "SET a \"b\r\nPING\r\n"]
        assert_equal "-ERR Protocol error: unbalanced quotes in request|EOF" [raw "GET \"a\"b\"\r\n"]
        assert_equal "-ERR Protocol error: too big inline request|EOF" [raw [string repeat a 70000] 0 {}]
    }

    test {empty requests are skipped} {
        assert_equal +PONG| [raw "*0\r\nPING\r\n"]
        assert_equal +PONG| [raw "*-1\r\nPING\r\n"]
        assert_equal +PONG| [raw "\n\n\nPING\r\n"]
    }

    test {protocol errors are replied, and end the connection} {
        foreach {bytes error} {
            "*abc\r\n" "invalid multibulk length"
            "*2147483648\r\n" "invalid multibulk length"
            "*1\r\nPING\r\n" "expected '$', got 'P'"
            "*1\r\n\$-1\r\n" "invalid bulk length"
            "*1\r\n\$abc\r\n" "invalid bulk length"
            "*1\r\n\$536870913\r\n" "invalid bulk length"
            "*1\r\n\$99999999999999999999\r\n" "invalid bulk length"
        } {
            assert_equal "-ERR Protocol error: $error|EOF" [raw $bytes] $bytes
            assert_equal "+PONG|-ERR Protocol error: $error|EOF" [raw "PING\r\n$bytes"] "PING, then $bytes"
        }
        assert_equal "-ERR Protocol error: too big mbulk count string|EOF" [raw "*[string repeat 1 70000]" 0 {}]
        assert_equal "-ERR Protocol error: too big bulk count string|EOF" \
            [raw "*1\r\n\$[string repeat 1 70000]" 0 {}]
        assert_equal PONG [r ping]
    }

    test {a protocol error is logged, with the client} {
        set from [llength [log_lines]]
        raw "*abc\r\n"
        set line [lindex [log_lines] [wait_for_log "Protocol error (invalid multibulk length)*" [expr {$from - 1}]]]
        assert_match "*id=* addr=127.0.0.1:*" $line
    } {} {external:skip}

    test {HTTP requests close the connection} {
        assert_equal EOF [raw "POST / HTTP/1.1\r\nHost: x\r\n\r\nSET stolen 1\r\n"]
        assert_equal EOF [raw "GET / HTTP/1.1\r\nHost: x\r\n\r\nSET stolen 1\r\n"]
        assert_equal 0 [r exists stolen]
        wait_for_log "A client sends an HTTP request (POST or Host:)*"
    } {} {external:skip}

    test {errors of unknown commands quote the arguments} {
        assert_error "ERR unknown command 'nosuch', with args beginning with: 'a' 'b c' " {r nosuch a "b c"}
        assert_error "ERR unknown command '', with args beginning with: " {r {}}
        assert_error "ERR unknown command 'a  b', with args beginning with: " {r "a\r\nb"}
        catch {r nosuch [string repeat x 1000]} error
        assert_lessthan [string length $error] 300
        assert_error "ERR wrong number of arguments for 'get' command" {r get}
        assert_error "ERR wrong number of arguments for 'client|reply' command" {r client reply}
        assert_error "ERR unknown subcommand 'nosuch'. Try CLIENT HELP." {r client nosuch}
    }

    test {requests may come in pieces of any size} {
        set bytes "[request SET k "a\r\nb"]PING\r\n[request GET k][request STRLEN k]"
        foreach piece {1 2 3 5 7 16 100} {
            assert_equal "+OK|+PONG|\$4|a|b|:4|" [raw $bytes $piece] "pieces of $piece"
        }
    }

    test {a byte at a time, each in a packet of its own} {
        set c [valkey_client]
        fconfigure [$c channel] -buffering none
        foreach byte [split [request SET slow "x y z"] {}] {
            $c write $byte
            after 2
        }
        assert_equal OK [$c read]
        $c close
        assert_equal "x y z" [r get slow]
    }

    test {bulks around the size that gets a buffer of its own} {
        foreach size {32766 32767 32768 32769 40000 65536 1048576 3000001} {
            set value [randstring $size $size]
            assert_equal OK [r set big $value]
            assert {[r get big] eq $value} "$size bytes"
            r append big x
            assert_equal [expr {$size + 1}] [r strlen big]
        }
        r del big
    }

    test {a big bulk in small pieces, between small requests} {
        set value [string repeat 0123456789 10000]
        set bytes "[request SET small 1][request SET big $value][request STRLEN big][request GET small]"
        foreach piece {4096 16384 33000} { assert_equal "+OK|+OK|:100000|\$1|1|" [raw $bytes $piece] }
        assert {[r get big] eq $value}
    }

    test {several big bulks in one request} {
        set value [string repeat v 50000]
        assert_equal OK [r mset {*}[concat {*}[lmap i {1 2 3 4} {list big$i $value$i}]]]
        foreach i {1 2 3 4} { assert {[r get big$i] eq "$value$i"} }
    }

    test {big bulks as keys and as arguments that are not stored} {
        set big [string repeat k 100000]
        r set $big 1
        assert_equal 1 [r get $big]
        assert_equal 1 [r exists $big]
        assert_equal 1 [r del $big]
        assert {[r echo $big] eq $big}
        assert_error "ERR syntax error" {r set k $big $big}
        assert_error "ERR unknown command*" {r $big}
    }

    test {10,000 requests at once get replies in order} {
        set d [valkey_deferring_client]
        set bytes {}
        for {set i 0} {$i < 5000} {incr i} { append bytes [request SET p:$i $i] [request GET p:$i] }
        $d write $bytes
        for {set i 0} {$i < 5000} {incr i} {
            assert_equal OK [$d read]
            assert_equal $i [$d read]
        }
        assert_equal 0 [$d pending]
        $d close
    }

    test {many clients at once, each with a pipeline} {
        set ds {}
        for {set i 0} {$i < 40} {incr i} { lappend ds [valkey_deferring_client] }
        foreach round {1 2 3} {
            foreach d $ds {
                set bytes {}
                for {set i 0} {$i < 50} {incr i} { append bytes [request INCR shared] [request SET $d:$i $i] }
                $d write $bytes
            }
            foreach d $ds {
                for {set i 0} {$i < 50} {incr i} {
                    $d read
                    assert_equal OK [$d read]
                }
            }
        }
        assert_equal 6000 [r get shared]
        foreach d $ds { $d close }
    }

    test {replies larger than the socket takes at once} {
        r set big [string repeat x 2000000]
        set d [valkey_deferring_client]
        for {set i 0} {$i < 10} {incr i} { $d get big }
        $d ping
        after 100
        for {set i 0} {$i < 10} {incr i} { assert_equal 2000000 [string length [$d read]] }
        assert_equal PONG [$d read]
        $d close
        r del big
    }

    test {QUIT ends a pipeline} {
        assert_equal +PONG|+OK|EOF [raw "PING\r\nQUIT\r\nSET after 1\r\n"]
        assert_equal +OK|EOF [raw "QUIT now please\r\n"]
        assert_equal 0 [r exists after]
    }

    test {a client that disconnects in the middle of a pipeline: received requests run} {
        set d [valkey_deferring_client]
        $d write "[request SET gone 1][request INCR gone]*2\r\n\$3\r\nGE"
        $d close
        wait_for_condition 500 20 {[r get gone] eq 2} else { fail "the whole requests were not served" }
    }

    test {a client killed by its own pipeline runs nothing behind that} {
        r del after
        set d [valkey_deferring_client]
        $d client id
        set id [$d read]
        $d write "[request SET before 1][request CLIENT KILL ID $id SKIPME no][request SET after 1]"
        assert_equal OK [$d read]
        assert_equal 1 [$d read]
        assert_error "I/O error*" {$d read}
        $d close
        assert_equal {1 {}} [r mget before after]
    }

    test {a client killed by another in the same batch runs nothing more} {
        if {[config_get io-threads] > 1} { skip "connections of different threads have no order" }
        set victims {}
        set killer [valkey_deferring_client]
        set bytes {}
        for {set i 0} {$i < 20} {incr i} {
            set v [valkey_deferring_client]
            $v client id
            append bytes [request CLIENT KILL ID [$v read]]
            lappend victims $v
        }
        r config set prefetch-batch-max-size 128
        # All are read in one turn of the loop when the server wakes up from its sleep.
        r deferred 1
        r debug sleep 0.2
        after 50
        $killer write $bytes
        foreach v $victims { $v write [string repeat [request INCR victims] 3] }
        assert_equal OK [r read]
        r deferred 0
        for {set i 0} {$i < 20} {incr i} { assert_equal 1 [$killer read] }
        assert_equal 0 [r exists victims]
        assert_equal PONG [r ping]
        foreach v $victims { $v close }
        $killer close
        r config set prefetch-batch-max-size 16
    } {} {needs:debug}
}

# ---- Blocked clients -------------------------------------------------------------------------------------------

start_server {tags {protocol}} {
    test {requests behind one that blocks wait, and then run in order} {
        set d [valkey_deferring_client]
        $d write "[request SET x 1][request BZPOPMIN z 0][request INCR x][request GET x]"
        assert_equal OK [$d read]
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        assert_equal 1 [r get x]
        assert_equal 0 [$d pending]
        $d write "[request INCR x]"
        r zadd z 1 a
        assert_equal {z a 1} [$d read]
        assert_equal {2 2 3} [list [$d read] [$d read] [$d read]]
        $d close
    }

    test {several that block in one pipeline} {
        set d [valkey_deferring_client]
        set bytes {}
        for {set i 0} {$i < 30} {incr i} { append bytes [request BZPOPMIN z 0] [request ECHO $i] }
        $d write $bytes
        for {set i 0} {$i < 30} {incr i} { r zadd z $i m$i }
        for {set i 0} {$i < 30} {incr i} {
            assert_equal [list z m$i $i] [$d read]
            assert_equal $i [$d read]
        }
        $d close
    }

    test {a request in pieces behind one that blocks} {
        set d [valkey_deferring_client]
        set value [string repeat v 50000]
        set bytes [request SET big $value]
        $d write "[request BZPOPMIN z 0][string range $bytes 0 20]"
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        $d write [string range $bytes 21 40000]
        after 20
        r zadd z 1 a
        assert_equal {z a 1} [$d read]
        $d write [string range $bytes 40001 end]
        assert_equal OK [$d read]
        assert {[r get big] eq $value}
        $d close
    }

    test {after a timeout the pipeline continues} {
        set d [valkey_deferring_client]
        $d write "[request BZPOPMIN z 0.05][request PING]"
        assert_equal {} [$d read]
        assert_equal PONG [$d read]
        $d close
    }

    test {after a blocked client is killed or disconnects, its later requests do not run} {
        r del after
        set d [valkey_deferring_client]
        set e [valkey_deferring_client]
        $d client id
        set id [$d read]
        $d write "[request BZPOPMIN z 0][request SET after 1]"
        $e write "[request BZPOPMIN z 0][request SET after 1]"
        wait_for_condition 500 20 {[s blocked_clients] == 2} else { fail "not blocked" }
        assert_equal 1 [r client kill id $id]
        $e close
        wait_for_condition 500 20 {[s blocked_clients] == 0} else { fail "still blocked" }
        r zadd z 1 a
        assert_equal 1 [r zcard z]
        assert_equal 0 [r exists after]
        $d close
        r del z
    }

    test {after CLIENT UNBLOCK the pipeline continues} {
        set d [valkey_deferring_client]
        $d client id
        set id [$d read]
        $d write "[request BZPOPMIN z 0][request PING][request BZPOPMIN z 0][request PING]"
        foreach {how answer} {timeout {} error "UNBLOCKED client unblocked via CLIENT UNBLOCK"} {
            wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
            assert_equal 1 [r client unblock $id $how]
            catch {$d read} got
            assert_equal $answer $got
            assert_equal PONG [$d read]
        }
        assert_equal 0 [r client unblock $id]
        $d close
    }
}

# ---- CLIENT REPLY ----------------------------------------------------------------------------------------------

start_server {tags {protocol}} {
    test {CLIENT REPLY OFF and ON} {
        assert_equal +OK|+PONG| [raw "CLIENT REPLY OFF\r\nPING\r\nNOSUCH\r\nCLIENT REPLY ON\r\nPING\r\n"]
        assert_equal +OK|+PONG| [raw "CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n"]
        assert_equal +OK| [raw "CLIENT REPLY OFF\r\nCLIENT REPLY what\r\nCLIENT REPLY ON\r\n"]
        assert_equal "-ERR syntax error|" [raw "CLIENT REPLY what\r\n"]
        assert_equal +OK| [raw "CLIENT REPLY ON\r\n"]
    }

    test {CLIENT REPLY SKIP is about one request} {
        assert_equal +PONG| [raw "CLIENT REPLY SKIP\r\nECHO no\r\nPING\r\n"]
        assert_equal +PONG| [raw "CLIENT REPLY SKIP\r\nNOSUCH\r\nPING\r\n"]
        assert_equal +PONG| [raw "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nECHO no\r\nPING\r\n"]
        assert_equal +OK|+PONG| [raw "CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n"]
    }

    test {commands run with CLIENT REPLY OFF, and long replies are dropped} {
        r set big [string repeat x 100000]
        set d [valkey_deferring_client]
        set bytes "CLIENT REPLY OFF\r\n"
        for {set i 0} {$i < 1000} {incr i} { append bytes [request INCR muted] [request GET big] }
        $d write "${bytes}CLIENT REPLY ON\r\n[request GET muted]"
        assert_equal OK [$d read]
        assert_equal 1000 [$d read]
        $d close
    }

    test {QUIT and RESET with CLIENT REPLY OFF} {
        assert_equal +RESET|+PONG| [raw "CLIENT REPLY OFF\r\nRESET\r\nPING\r\n"]
        set c [valkey_client]
        $c write "CLIENT REPLY OFF\r\nQUIT\r\n"
        assert_equal {} [::read [$c channel]]
        $c close
    }
}
