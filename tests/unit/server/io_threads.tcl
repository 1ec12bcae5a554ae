# Clients see the same whether I/O threads read and send for them or not. So the tests run twice: in a server without
# threads, and in one whose threads own every client (io-threads-always-active).
source [file join [file dirname [info script]] server_util.tcl]

proc id_of {c} {
    $c deferred 0
    set id [$c client id]
    $c deferred 1
    return $id
}

# A field of a client's line.
proc client_field {id name} {
    regexp " $name=(\\S*)" [r client list id $id] -> value
    return $value
}

# Sends bytes in pieces of a size that is drawn each time; 0: at once.
proc write_pieces {c bytes most} {
    if {!$most} {
        $c write $bytes
        return
    }
    for {set at 0} {$at < [string length $bytes]} {incr at $n} {
        set n [randomRange 1 $most]
        $c write [string range $bytes $at $at+[expr {$n - 1}]]
    }
}

proc request {args} { return [resp::encode $args] }

# Runs valkey-benchmark beside the body until that is done.
proc under_load {options body} {
    set program [file dirname $::options(server)]/valkey-benchmark
    set pid [exec $program -p [srv port] -n 100000000 {*}$options >/dev/null 2>/dev/null &]
    try {
        wait_for_condition 200 25 {[s instantaneous_ops_per_sec] > 0} else { fail "no load" }
        uplevel 1 $body
    } finally {
        catch {exec kill $pid}
        wait_for_clients 1
    }
}

# One client that sends pipelines and gets its replies in order, until body is done.
proc check_order {c from count} {
    set all {}
    for {set i $from} {$i < $from + $count} {incr i} { append all [request echo $i] }
    $c write $all
    for {set i $from} {$i < $from + $count} {incr i} { assert_equal $i [$c read] }
}

proc closed_by_server {c} {
    wait_for_condition 200 25 {[is_closed $c]} else { fail "still open" }
}

proc io_thread_tests {} {
    test {pipelines of many sizes, in pieces of any size, are answered in order} {
        set c [valkey_deferring_client]
        foreach count {1 2 15 16 17 100 1000 5000} {
            foreach most {0 1 7 100 5000} {
                if {$most == 1 && $count > 100 || $most == 7 && $count > 1000} continue
                set all {}
                for {set i 0} {$i < $count} {incr i} { append all [request set key:$i [string repeat $i [expr {$i % 7}]]] [request echo $i] }
                write_pieces $c $all $most
                for {set i 0} {$i < $count} {incr i} {
                    assert_equal OK [$c read]
                    assert_equal $i [$c read]
                }
            }
        }
        $c close
        r flushall
    }

    test {requests that come in two parts, parted at every byte} {
        set c [valkey_deferring_client]
        set all "[request set k [string repeat v 30]][request get k]PING\r\n\r\n[request mget a k]*0\r\n[request echo {}]"
        for {set at 1} {$at < [string length $all]} {incr at} {
            $c write [string range $all 0 $at-1]
            after 1
            $c write [string range $all $at end]
            assert_equal [list OK [string repeat v 30] PONG [list {} [string repeat v 30]] {}] [lmap i {1 2 3 4 5} { $c read }]
        }
        $c close
    }

    test {transactions, and keys that are watched, among pipelines of others} {
        set cs [lmap i {0 1 2 3 4 5} { valkey_deferring_client }]
        foreach round {1 2 3 4 5} {
            foreach c $cs { $c write [string repeat "[request multi][request incr n][request incr n][request exec]" 50] }
            foreach c $cs {
                for {set i 0} {$i < 50} {incr i} {
                    assert_equal {OK QUEUED QUEUED} [lmap j {1 2 3} { $c read }]
                    lassign [$c read] first second
                    assert_equal [expr {$first + 1}] $second
                }
            }
        }
        assert_equal 3000 [r get n]
        set c [lindex $cs 0]
        $c write "[request watch n][request multi][request incr n]"
        assert_equal {OK OK QUEUED} [lmap j {1 2 3} { $c read }]
        r incr n
        $c write [request exec]
        assert_equal {} [$c read]
        foreach c $cs { $c close }
        wait_for_clients 1
    }

    test {a waiting client whose peer has disconnected gets nothing; the next one does} {
        foreach behind {{} PING\r\n} {
            set a [valkey_deferring_client]
            set b [valkey_deferring_client]
            $a write "[request blpop q 0]$behind"
            wait_for_blocked 1
            $b blpop q 0
            wait_for_blocked 2
            $a close
            wait_for_blocked 1
            r rpush q x
            assert_equal {q x} [$b read]
            $b close
            wait_for_clients 1
        }
    }

    test {requests behind a blocking command run in order, a protocol error too} {
        set c [valkey_deferring_client]
        $c write "[request blpop q 0][request incr n1]"
        wait_for_blocked 1
        $c write [request incr n1]
        write_pieces $c "[request incr n1]*1\r\n!bad\r\n" 3
        $c write [string repeat [request set never 1] 2000]
        after 20
        assert_equal {} [r get n1]
        r rpush q x
        assert_equal {{q x} 1 2 3} [lmap i {1 2 3 4} { $c read }]
        assert_error "ERR Protocol error: expected*" { $c read }
        assert {[is_closed $c]}
        assert_equal 0 [r exists never]
        $c close
        r del n1
    }

    test {protocol errors behind whole requests: those are answered, then the error, then the end} {
        foreach {bad error} {"*1\r\n!\r\n" "expected '$', got '!'" "*1\r\n$-7\r\n" "invalid bulk length" "*x\r\n" "invalid multibulk length"
                             "PING \"x\r\n" "unbalanced quotes in request"} {
            foreach count {0 1 40 2000} {
                set c [valkey_deferring_client]
                $c write "[string repeat [request incr errors] $count]$bad[request set never 1]"
                for {set i 0} {$i < $count} {incr i} { $c read }
                assert_error "ERR Protocol error: $error" { $c read }
                assert {[is_closed $c]}
                $c close
            }
        }
        assert_equal [list 0 8164] [list [r exists never] [r get errors]]
    }

    test {CLIENT KILL of every kind} {
        foreach kind {id addr laddr user type} {
            set victim [valkey_client]
            $victim client setname victim
            r client setname me
            set id [$victim client id]
            set addr [client_field $id addr]
            set filter [dict get [list id [list id $id] addr [list addr $addr] laddr [list laddr 127.0.0.1:[srv port]] user {user default} \
                                      type {type normal}] $kind]
            assert_equal 1 [r client kill {*}$filter] $kind
            assert_match "*name=me*" [string trim [r client list]]
            assert_equal 1 [llength [split [string trim [r client list]] \n]] $kind
            assert_error "I/O error*" { $victim ping }
            $victim close
        }
    }

    test {CLIENT KILL of a client that is blocked, in a transaction, behind with its replies, or in the middle of a request} {
        r set big [string repeat x 1000000]
        foreach state {{BLPOP q 0\r\n} {MULTI\r\nPING\r\n} {GET big\r\n} {*2\r\n$3\r\nGET\r\n$3\r\n} {*2\r\n$4\r\nECHO\r\n$100000\r\nxxx}} {
            set c [valkey_deferring_client]
            set id [id_of $c]
            $c write [string repeat [subst -nocommands -novariables $state] [expr {$state eq {GET big\r\n} ? 50 : 1}]]
            after 10
            assert_equal 1 [r client kill id $id]
            wait_for_clients 1
            assert_equal 0 [s blocked_clients]
            closed_by_server $c
            $c close
        }
        r del big
    }

    test {a client that kills itself gets all replies, that to CLIENT KILL too} {
        set c [valkey_deferring_client]
        set id [id_of $c]
        $c write "[string repeat PING\r\n 1000][request client kill id $id skipme no][string repeat PING\r\n 1000]"
        for {set i 0} {$i < 1000} {incr i} { assert_equal PONG [$c read] }
        assert_equal 1 [$c read]
        assert {[is_closed $c]}
        $c close
    }

    test {QUIT behind a pipeline: all replies arrive, nothing behind it runs} {
        r set big [string repeat x 100000]
        foreach count {0 1 100 500} {
            set c [valkey_deferring_client]
            $c write "[string repeat [request get big] $count][request quit][request set never 1]"
            after 20
            for {set i 0} {$i < $count} {incr i} { assert_equal 100000 [string length [$c read]] }
            assert_equal OK [$c read]
            assert {[is_closed $c]}
            $c close
        }
        assert_equal 0 [r exists never]
        r del big
    }

    test {a half-closed connection: the requests before have run} {
        foreach count {1 100 3000} {
            r del n
            set c [valkey_deferring_client]
            $c write [string repeat [request incr n] $count]
            close [$c channel] write
            wait_for_condition 200 25 {[r get n] == $count} else { fail "[r get n] of $count" }
            wait_for_clients 1
            $c close
        }
    }

    test {CLIENT PAUSE: writes wait, reads run, and replies are in order} {
        set w [valkey_deferring_client]
        r set n 0
        r client pause 100000 write
        $w write "[request get n][request incr n][request get n]"
        assert_equal 0 [$w read]
        after 20
        assert_equal {0 0} [list [$w pending] [r get n]]
        $w write [request incr n]
        r client unpause
        assert_equal {1 1 2} [lmap i {1 2 3} { $w read }]
        r client pause 50 all
        set begin [clock milliseconds]
        $w write "[request incr n][request incr n]"
        assert_equal {3 4} [lmap i {1 2} { $w read }]
        assert_morethan [expr {[clock milliseconds] - $begin}] 20
        # One client disconnects while it waits.
        r client pause 100000 write
        set c [valkey_deferring_client]
        $c write [string repeat [request incr n] 10]
        after 20
        $c close
        r client unpause
        wait_for_clients 2
        $w close
        wait_for_clients 1
    }

    test {CLIENT REPLY OFF, SKIP and ON within a pipeline} {
        set c [valkey_deferring_client]
        foreach most {0 5} {
            write_pieces $c "[request echo 1][request client reply skip][request echo no][request echo 2][request client reply off][string repeat [request echo no] 50][request client reply on][request echo 3]" $most
            assert_equal {1 2 OK 3} [lmap i {1 2 3 4} { $c read }]
        }
        $c close
    }

    test {MONITOR shows every command, each client's in order} {
        set m [valkey_deferring_client]
        $m monitor
        assert_equal OK [$m read]
        set cs [lmap i {0 1 2 3} { valkey_deferring_client }]
        foreach c $cs i {0 1 2 3} {
            set all {}
            for {set n 0} {$n < 200} {incr n} { append all [request echo $i:$n] }
            $c write $all
        }
        foreach i {0 1 2 3} { set next($i) 0 }
        for {set n 0} {$n < 800} {incr n} {
            assert {[regexp {"echo" "(\d):(\d+)"} [$m read] - i at]}
            assert_equal $next($i) $at
            incr next($i)
        }
        foreach c [concat $cs $m] { $c close }
        wait_for_clients 1
    }

    test {messages to a thousand subscribers arrive in order} {
        set cs [lmap i [lrepeat 1000 {}] { valkey_deferring_client }]
        foreach c $cs { $c subscribe news }
        foreach c $cs { assert_equal {subscribe news 1} [$c read] }
        foreach n {1 2 3} { assert_equal 1000 [r publish news "$n:[string repeat x 20000]"] }
        foreach n {4 5} { r publish news $n }
        foreach c $cs {
            foreach n {1 2 3 4 5} { assert_match "$n*" [lindex [$c read] 2] }
            $c close
        }
        wait_for_clients 1
    }

    test {tracking: pushes, and redirected} {
        set t [valkey_client]
        $t hello 3
        $t client tracking on
        $t mget a b
        r mset a 1 b 2
        assert_equal {{invalidate a} {invalidate b}} [lsort [list [$t push] [$t push]]]
        $t client tracking off
        set to [valkey_deferring_client]
        set id [id_of $to]
        $to subscribe __redis__:invalidate
        $to read
        set u [valkey_client]
        $u client tracking on redirect $id
        $u get a
        r set a 2
        assert_equal {message __redis__:invalidate a} [$to read]
        foreach c [list $t $to $u] { $c close }
        wait_for_clients 1
    }

    test {output that is not read: the hard and the soft limit} {
        r set big [string repeat x 1000000]
        config_set client-output-buffer-limit "normal 20mb 0 0"
        set n [s client_output_buffer_limit_disconnections]
        set c [valkey_deferring_client]
        catch { for {set i 0} {$i < 60} {incr i} { $c get big } }
        wait_for_condition 200 25 {[s client_output_buffer_limit_disconnections] == $n + 1} else { fail "no hard limit" }
        wait_for_clients 1
        $c close
        config_set client-output-buffer-limit "normal 0 5mb 1"
        set c [valkey_deferring_client]
        catch { for {set i 0} {$i < 30} {incr i} { $c get big } }
        wait_for_condition 200 25 {[s client_output_buffer_limit_disconnections] == $n + 2} else { fail "no soft limit" }
        wait_for_clients 1
        $c close
        config_set client-output-buffer-limit "normal 0 0 0"
        # One that reads in the end gets all.
        set c [valkey_deferring_client]
        for {set i 0} {$i < 30} {incr i} { $c get big }
        after 100
        for {set i 0} {$i < 30} {incr i} { assert_equal 1000000 [string length [$c read]] }
        $c close
        r del big
    }

    test {an endless request: its bytes are counted and limited} {
        config_set client-query-buffer-limit 1mb
        set n [s client_query_buffer_limit_disconnections]
        set c [valkey_deferring_client]
        set id [id_of $c]
        $c write "*2\r\n\$4\r\nECHO\r\n\$3000000\r\n[string repeat y 500000]"
        wait_for_condition 200 25 {[client_field $id tot-net-in] >= 500020} else { fail [r client list id $id] }
        assert_range [client_field $id tot-net-in] 500020 500100
        assert_range [client_field $id qbuf] 500000 2500000
        assert_range [client_field $id tot-mem] 500000 2500000
        assert_morethan [s client_recent_max_input_buffer] 499999
        catch { $c write [string repeat y 600000] }
        wait_for_condition 200 25 {[s client_query_buffer_limit_disconnections] == $n + 1} else { fail "no limit" }
        closed_by_server $c
        $c close
        config_set client-query-buffer-limit 1gb
    }

    test {bytes of a client are counted, in and out} {
        set c [valkey_deferring_client]
        set id [id_of $c]
        set begin [client_field $id tot-net-in]
        write_pieces $c [request set k [string repeat x 100000]] 5000
        assert_equal OK [$c read]
        $c write [request get k]
        assert_equal 100000 [string length [$c read]]
        set asked [string length [request set k [string repeat x 100000]][request get k]]
        assert_equal [expr {$begin + $asked}] [client_field $id tot-net-in]
        assert_morethan [client_field $id tot-net-out] 100000
        $c close
    }

    test {values of a megabyte and of a hundred, both ways} {
        foreach size {1000000 100000000} {
            r set k [string repeat abcdefghij [expr {$size / 10}]]
            assert_equal $size [r strlen k]
            set c [valkey_deferring_client]
            $c write "[request get k][request strlen k]"
            assert {[$c read] eq [string repeat abcdefghij [expr {$size / 10}]]}
            assert_equal $size [$c read]
            $c close
        }
        r del k
    }

    test {AUTH in the middle of a pipeline lifts the limits for what is behind it} {
        r acl setuser eve on >pass ~* +@all
        config_set requirepass secret
        set c [valkey_deferring_client]
        $c write "PING\r\n[request auth eve wrong][request auth eve pass][request set k [string repeat x 40000]][request strlen k]"
        assert_error "NOAUTH*" { $c read }
        assert_error "WRONGPASS*" { $c read }
        assert_equal {OK OK 40000} [lmap i {1 2 3} { $c read }]
        $c close
        foreach {bad error} [list [request set k [string repeat x 40000]] "unauthenticated bulk length" \
                                 [request mget a b c d e f g h i j k l] "unauthenticated multibulk length"] {
            foreach before {0 1 2} { # with the first request, and with later ones, when the thread may continue
                set c [valkey_deferring_client]
                for {set i 0} {$i < $before} {incr i} {
                    $c write [request get k]
                    assert_error "NOAUTH*" { $c read }
                }
                $c write $bad
                assert_error "ERR Protocol error: $error" { $c read }
                $c close
            }
        }
        # It loses what it was.
        set c [valkey_deferring_client]
        $c write "[request auth secret][request reset][request get k]"
        assert_equal {OK RESET} [lmap i {1 2} { $c read }]
        assert_error "NOAUTH*" { $c read }
        $c close
        r auth secret
        config_set requirepass {}
        r acl deluser eve
        r del k
    }

    test {deleting a user closes its clients} {
        r acl setuser eve on >pass ~* +@all
        set c [valkey_client]
        $c auth eve pass
        r acl deluser eve
        assert_error "I/O error*" { $c ping }
        $c close
        wait_for_clients 1
    }

    test {RESET within a pipeline} {
        set c [valkey_deferring_client]
        $c write "[request hello 3][request subscribe x][request multi]"
        foreach i {1 2 3} { $c read }
        $c write "[request reset][request echo 1][request multi][request reset][request echo 2]"
        assert_equal {RESET 1 OK RESET 2} [lmap i {1 2 3 4 5} { $c read }]
        $c close
    }

    test {a slow script: other clients get replies, and one of them kills it} {
        config_set busy-reply-threshold 20
        set slow [valkey_deferring_client]
        set other [valkey_deferring_client]
        $slow write "[request eval {while true do end} 0][request incr behind]"
        after 100
        $other write "[request get k][request get k]PING\r\n"
        assert_error "BUSY*" { $other read }
        assert_error "BUSY*" { $other read }
        assert_error "BUSY*" { $other read }
        set quick [valkey_client]
        assert_equal OK [$quick script kill]
        assert_error "*Script killed*" { $slow read }
        assert_equal 1 [$slow read]
        $other write PING\r\n
        assert_equal PONG [$other read]
        foreach c [list $slow $other $quick] { $c close }
        config_set busy-reply-threshold 5000
        r del behind
    }

    test {timeout: a silent client is closed, one that sends or reads slowly is not} {
        config_set timeout 1
        set silent [valkey_deferring_client]
        set sends [valkey_deferring_client]
        $sends write "*2\r\n\$4\r\nECHO\r\n\$100000\r\n"
        for {set i 0} {$i < 35} {incr i} {
            $sends write [string repeat z 1000]
            r ping
            after 100
        }
        closed_by_server $silent
        $sends write "[string repeat z 65000]\r\n"
        assert_equal 100000 [string length [$sends read]]
        config_set timeout 0
        $silent close
        $sends close
    }

    test {maxclients, and places that become free} {
        wait_for_clients 1 ;# those of earlier tests would be counted as long as they are there
        config_set maxclients 10
        set cs [lmap i {1 2 3 4 5 6 7 8 9} { valkey_client }]
        foreach c $cs { assert_equal PONG [$c ping] }
        set more [valkey_deferring_client]
        assert_error "ERR max number of clients reached" { $more read }
        $more close
        foreach c $cs { $c close }
        wait_for_clients 1
        set c [valkey_client]
        assert_equal PONG [$c ping]
        $c close
        config_set maxclients 10000
    }

    test {more descriptors than the loops started with} {
        set cs [lmap i [lrepeat 1200 {}] { valkey_client }]
        foreach c $cs { assert_equal PONG [$c ping] }
        foreach c $cs { $c close }
        wait_for_clients 1
    }

    test {snapshots and rewrites while clients write, and a reload} {
        under_load {-t set,incr,lpush -c 20 -P 5 -r 1000} {
            r bgsave
            wait_for_condition 400 25 {![s rdb_bgsave_in_progress]} else { fail "no snapshot" }
            assert_equal ok [s rdb_last_bgsave_status]
            r config set appendonly yes
            wait_for_condition 400 25 {![s aof_rewrite_in_progress] && ![s aof_rewrite_scheduled]} else { fail "no rewrite" }
            r bgrewriteaof
            wait_for_condition 400 25 {![s aof_rewrite_in_progress]} else { fail "no rewrite" }
            assert_equal ok [s aof_last_bgrewrite_status]
            r config set appendonly no
            assert_equal OK [r debug reload]
        }
        set digest [r debug digest]
        r debug reload
        assert_equal $digest [r debug digest]
        r flushall
    } {} {needs:debug}

    test {eviction of clients by what they take} {
        config_set maxmemory-clients 3mb
        set n [s evicted_clients]
        set c [valkey_deferring_client]
        catch { $c write "*2\r\n\$4\r\nECHO\r\n\$5000000\r\n[string repeat y 4000000]" }
        wait_for_condition 200 25 {[s evicted_clients] == $n + 1} else { fail "not evicted" }
        $c close
        # Replies that were read do not count.
        r set big [string repeat x 300000]
        set c [valkey_deferring_client]
        for {set i 0} {$i < 40} {incr i} {
            $c get big
            assert_equal 300000 [string length [$c read]]
        }
        assert_equal [expr {$n + 1}] [s evicted_clients]
        $c close
        config_set maxmemory-clients 0
        r del big
    }
}

foreach {kind overrides} {{no threads} {io-threads 1 io-threads-always-active no} threads {io-threads 4 io-threads-always-active yes}} {
    start_server [list tags {external:skip} overrides $overrides] {
        test "$kind: I/O threads are active as configured" {
            assert_equal [expr {$kind eq "threads"}] [s io_threads_active]
            if {$kind eq "threads"} { assert_morethan [s io_threaded_reads_processed] 0 }
        }
        io_thread_tests
    }
}

start_server {tags {external:skip} overrides {io-threads 2 io-threads-always-active yes}} {
    test {the number of threads changes under load without an effect on clients} {
        under_load {-t get,set,incr -c 30 -P 3} {
            set c [valkey_deferring_client]
            set at 0
            foreach n {8 1 4 2 16 1 3} {
                config_set io-threads $n
                for {set i 0} {$i < 15} {incr i} {
                    check_order $c [incr at 100] 100
                    after 15
                }
                assert_equal [expr {$n > 1}] [s io_threads_active]
            }
            $c close
        }
    }

    test {connections move between the main thread and I/O threads under load} {
        config_set io-threads 3
        r set big [string repeat x 200000]
        under_load {-t get,set,lpush -c 30 -P 3 -d 1000} {
            set cs [lmap i {1 2 3 4} { valkey_deferring_client }]
            set at 0
            foreach n {1 2 3} {
                foreach {directive value} {io-threads-always-active yes io-threads 1 io-threads 3 io-threads-always-active no} {
                    config_set $directive $value
                    for {set i 0} {$i < 6} {incr i} {
                        # Half requests, replies that wait, a blocked client, while they move.
                        lassign $cs a b c d
                        $a write "*2\r\n\$4\r\nECHO\r\n\$40000\r\n[string repeat a 20000]"
                        for {set k 0} {$k < 10} {incr k} { $b get big }
                        $c write "[request blpop list:$at 0][request echo behind]"
                        check_order $d [incr at 100] 100
                        after 40
                        $a write "[string repeat b 20000]\r\n"
                        assert_equal 40000 [string length [$a read]]
                        for {set k 0} {$k < 10} {incr k} { assert_equal 200000 [string length [$b read]] }
                        r rpush list:[expr {$at - 100}] x
                        assert_equal [list "list:[expr {$at - 100}] x" behind] [list [$c read] [$c read]]
                    }
                }
            }
            foreach c $cs { $c close }
        }
        config_set io-threads-always-active yes
    }
}

# A replica whose connection an I/O thread owned before it sent PSYNC, with full and partial synchronizations.
start_server {tags {external:skip needs:debug} overrides {io-threads 3 io-threads-always-active yes repl-diskless-sync-delay 0}} {
    start_server {overrides {io-threads 3 io-threads-always-active yes}} {
        proc in_sync {} {
            wait_for_condition 400 25 {[s master_link_status] eq {up} && [s master_repl_offset] == [s -1 master_repl_offset]} else { fail "not in sync" }
            assert_equal [r -1 debug digest] [r debug digest]
        }
        proc primary_load {body} {
            set program [file dirname $::options(server)]/valkey-benchmark
            set pid [exec $program -p [srv -1 port] -n 100000000 -t set,lpush,incr -c 10 -r 100 >/dev/null 2>/dev/null &]
            try { uplevel 1 $body } finally { catch {exec kill $pid} }
        }

        test {full synchronizations and partial ones under load} {
            r replicaof 127.0.0.1 [srv -1 port]
            primary_load {
                wait_for_condition 400 25 {[s master_link_status] eq {up}} else { fail "no link" }
                foreach i {1 2 3} {
                    after 100
                    assert_equal 1 [r -1 client kill type replica]
                    wait_for_condition 400 25 {[s master_link_status] eq {up}} else { fail "no link" }
                }
                r client kill type master
                after 200
            }
            in_sync
            assert_morethan [s -1 sync_partial_ok] 2
            r replicaof no one
            r replicaof 127.0.0.1 [srv -1 port]
            in_sync
            r replicaof no one
        }

        test {PSYNC works behind other requests of a client that an I/O thread owned} {
            set c [valkey_deferring_client -1]
            $c write "PING\r\n[request set k v]"
            assert_equal {PONG OK} [list [$c read] [$c read]]
            $c write "[request client reply off][request get k][request client reply on]"
            assert_equal OK [$c read]
            $c write "[request replconf listening-port 1]"
            assert_equal OK [$c read]
            $c write "[request psync ? -1]"
            assert_match "FULLRESYNC*" [$c read]
            assert_match "*flags=S*" [r -1 client list type replica]
            $c close
            wait_for_condition 200 25 {[s -1 connected_slaves] == 0} else { fail "still there" }
        }

        test {MIGRATE from one to the other} {
            r flushall
            r -1 set mine [string repeat x 100000]
            assert_equal OK [r -1 migrate 127.0.0.1 [srv port] mine 0 5000]
            assert_equal {0 100000} [list [r -1 exists mine] [r strlen mine]]
        }
    }
}

start_server {tags {external:skip} overrides {io-threads 3 io-threads-always-active yes}} {
    test {replies that are on their way arrive before SHUTDOWN ends the server} {
        r set big [string repeat x 10000]
        set cs [lmap i {1 2 3} { valkey_deferring_client }]
        foreach c [lrange $cs 0 1] { $c write [string repeat [request get big] 10] }
        foreach c [lrange $cs 0 1] { assert_equal 10000 [string length [$c read]] } ;# all ten have run: between connections there is no order
        set c [lindex $cs 2]
        $c write "[string repeat [request get big] 10][request shutdown nosave]"
        foreach c $cs left {9 9 10} {
            for {set i 0} {$i < $left} {incr i} { assert_equal 10000 [string length [$c read]] }
            $c close
        }
        wait_for_condition 200 25 {[file exists [srv dir]/exit]} else { fail "it did not end" }
    }
}

start_server {tags {external:skip needs:debug} overrides {io-threads 2 io-threads-always-active yes}} {
    test {replies of connections that move back to the main thread arrive too} {
        r set big [string repeat x 10000]
        set cs [lmap i {1 2} { valkey_deferring_client }]
        # Their connections are requested back between the arrival of their requests and the batch that runs these.
        set z [valkey_deferring_client]
        $z write "[request config set io-threads 1][request debug sleep 0.5]"
        after 150
        foreach c $cs end [list {} [request shutdown nosave]] {
            $c write "[string repeat [request get big] 10]$end"
            after 50
        }
        assert_equal {OK OK} [list [$z read] [$z read]]
        foreach c $cs {
            for {set i 0} {$i < 10} {incr i} { assert_equal 10000 [string length [$c read]] }
            $c close
        }
        $z close
        wait_for_condition 200 25 {[file exists [srv dir]/exit]} else { fail "it did not end" }
    }
}

start_server {tags {external:skip needs:debug} crash 1 overrides {io-threads 3 io-threads-always-active yes}} {
    test {a crash report has the stacks of the I/O threads} {
        catch { r debug segfault }
        wait_for_log "*REPORT END*"
        assert_match "*io_thd_1*io_thd_2*" [read_file [srv log]]
    }
}

start_server {tags {external:skip} overrides {io-threads 2 io-threads-always-active yes}} {
    test {the first request of all may be any write} {
        assert_equal 1 [r zadd zset 1 member]
        assert_equal 1 [r zscore zset member]
    }
}
