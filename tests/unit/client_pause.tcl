# CLIENT PAUSE: which clients wait, and that the data does not change; import mode.

start_server {tags {pause}} {
    test {CLIENT PAUSE refuses wrong arguments} {
        foreach {args error} {
            x "ERR timeout is not an integer or out of range" -1 "ERR timeout is negative"
            99999999999999999999 "ERR timeout is not an integer or out of range"
            {1000 what} "ERR CLIENT PAUSE mode must be WRITE or ALL"
        } {
            assert_error $error {r client pause {*}$args} $args
        }
        assert_error "ERR wrong number of arguments for 'client|unpause' command" {r client unpause x}
        assert_equal none [s paused_actions]
        assert_equal OK [r client pause 9223372036854775807 write]
        assert_equal OK [r client unpause]
        assert_equal OK [r client unpause]
    }

    test {INFO shows a pause} {
        assert_equal {none none 0} [list [s paused_reason] [s paused_actions] [s paused_timeout_milliseconds]]
        r client pause 100000 write
        assert_equal {client_pause write} [list [s paused_reason] [s paused_actions]]
        assert_range [s paused_timeout_milliseconds] 1 100000
        r client unpause
        assert_equal {none none 0} [list [s paused_reason] [s paused_actions] [s paused_timeout_milliseconds]]
    }

    test {WRITE: commands that may change data wait, and run in order afterwards} {
        r set k old
        r client pause 100000 write
        set cs {}
        foreach command {{set k new} {publish ch msg} {pfcount h} {eval {return 1} 0} flushall {lpush l 1} {blpop l 0}} {
            lappend cs [blocked_client {*}$command]
        }
        assert_equal old [r get k]
        assert_equal 7 [s blocked_clients]
        assert_equal OK [r config set maxmemory-samples 5]
        assert_equal 1 [r eval_ro {return 1} 0]
        assert_equal {} [r lrange l 0 -1]
        foreach c $cs { assert_equal 0 [$c pending] }
        r client unpause
        set got {}
        foreach c $cs {
            lappend got [$c read]
            $c close
        }
        assert_equal {OK 0 0 1 OK 1 {l 1}} $got
        assert_equal 0 [s blocked_clients]
        assert_equal 0 [r exists k]
    }

    test {A script with no-writes runs during a pause, one without flags waits} {
        r client pause 100000 write
        assert_equal 1 [r eval "#!lua flags=no-writes\nreturn 1" 0]
        set c [blocked_client eval "#!lua\nreturn 2" 0]
        r client unpause
        assert_equal 2 [$c read]
        $c close
    }

    test {During a pause a request that is refused is refused at once} {
        r client pause 100000 write
        assert_error "ERR unknown command 'nosuch'*" {r nosuch}
        assert_error "ERR wrong number of arguments for 'set' command" {r set k}
        r client unpause
    }

    test {A paused client: its flags, its command and its later input} {
        r set n 0
        r client pause 100000 write
        set c [valkey_deferring_client]
        $c client id
        set id [$c read]
        $c write "INCR n\r\nGET n\r\nINCR n\r\n"
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "does not wait" }
        assert_match "*flags=b *cmd=incr *" [r client list id $id]
        assert_equal 0 [r client unblock $id]
        $c write "PING later\r\nPING"
        assert_equal 0 [r get n]
        r client unpause
        $c write " last\r\n"
        assert_equal {1 1 2 later last} [lmap i {1 2 3 4 5} { $c read }]
        $c close
    }

    test {A big argument survives a pause} {
        set value [string repeat abcdefgh 50000]
        r client pause 100000 write
        set c [blocked_client set big $value]
        r client unpause
        assert_equal OK [$c read]
        assert {[r get big] eq $value}
        r del big
        $c close
    }

    test {CLIENT REPLY SKIP still skips the command that had to wait} {
        r client pause 100000 write
        set c [valkey_deferring_client]
        $c write "CLIENT REPLY SKIP\r\nSET k skipped\r\nPING after\r\n"
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "does not wait" }
        r client unpause
        assert_equal after [$c read]
        assert_equal skipped [r get k]
        $c close
    }

    test {Transactions: queueing a write and its EXEC wait; reads do not} {
        set c [valkey_deferring_client]
        $c multi
        $c set k exec
        assert_equal {OK QUEUED} [list [$c read] [$c read]]
        r client pause 100000 write
        $c exec
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "EXEC does not wait" }
        wait_for_condition 200 20 {[string match "*flags=xb *" [lindex [split [r client list type normal] \n] 1]]} else {
            fail [r client list]
        }
        set d [valkey_client]
        $d multi
        $d get k
        assert_equal {skipped} [$d exec]
        $d close
        set e [valkey_deferring_client]
        $e multi
        assert_equal OK [$e read]
        $e set k queued
        wait_for_condition 500 20 {[s blocked_clients] == 2} else { fail "SET is queued" }
        r client unpause
        assert_equal OK [$c read]
        assert_equal QUEUED [$e read]
        assert_equal exec [r get k]
        $e exec
        assert_equal OK [$e read]
        assert_equal queued [r get k]
        $c close
        $e close
    }

    test {ALL: every command waits until the time is over, UNPAUSE too} {
        set c [valkey_deferring_client]
        $c client pause 300 all
        assert_equal OK [$c read]
        set begin [clock milliseconds]
        $c ping a
        set d [valkey_deferring_client]
        $d client unpause
        assert_equal a [$c read]
        assert_morethan_equal [expr {[clock milliseconds] - $begin}] 200
        assert_equal OK [$d read]
        assert_equal none [s paused_actions]
        $c close
        $d close
    }

    test {A second pause: the stricter mode and the longer time count} {
        r client pause 100000 write
        r client pause 1 write
        after 50
        assert_equal write [s paused_actions]
        r client unpause
        r client pause 300 write
        set c [valkey_deferring_client]
        set begin [clock milliseconds]
        r client pause 1 all
        $c ping
        assert_equal PONG [$c read]
        assert_morethan_equal [expr {[clock milliseconds] - $begin}] 100
        $c close
    }

    test {Clients that disconnect during a pause do no harm} {
        r client pause 100000 write
        set c [blocked_client set k closed]
        set d [blocked_client set k dead]
        $c close
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "still counted" }
        assert_equal 1 [r client kill type normal]
        wait_for_condition 500 20 {[s blocked_clients] == 0} else { fail "still counted" }
        r client unpause
        assert_equal queued [r get k]
        $d close
    }

    test {Blocked clients are served after the pause, not during it} {
        set c [blocked_client blpop list 0]
        set d [blocked_client xread block 0 streams stream $]
        r multi
        r client pause 100000 write
        r lpush list 1
        r xadd stream 1-1 f v
        r exec
        assert_equal {{stream {{1-1 {f v}}}}} [$d read]
        assert_equal {1 1 0} [list [s blocked_clients] [r llen list] [$c pending]]
        r client unpause
        assert_equal {list 1} [$c read]
        assert_equal 0 [r exists list]
        r del stream
        $c close
        $d close
    }

    test {A blocked client's time runs out during a pause} {
        set c [blocked_client blpop nolist 1]
        r client pause 100000 write
        assert_equal {} [$c read]
        r client unpause
        $c close
    }

    test {Keys are not deleted by expiry during a pause, but read as absent} {
        r flushall
        r config resetstat
        for {set i 0} {$i < 20} {incr i} { r set k$i v px 100 }
        r hsetex h px 100 fields 1 f v
        r hset h stays 1
        r client pause 100000 write
        after 200
        assert_equal {} [r get k0]
        assert_equal {} [r keys k*]
        assert_equal {21 0} [list [r dbsize] [s expired_keys]]
        assert {[r randomkey] ne {}}
        assert_equal {} [r hget h f]
        r client unpause
        wait_for_condition 200 50 {[r dbsize] == 1} else { fail "[r dbsize] keys" }
        assert_equal 20 [s expired_keys]
    }

    test {RANDOMKEY ends when all keys have expired and none may be deleted} {
        r flushall
        r set k v px 50
        r client pause 100000 write
        after 100
        assert_equal k [r randomkey]
        r client unpause
    }

    test {Nothing is evicted during a pause} {
        r flushall
        for {set i 0} {$i < 100} {incr i} { r set k$i [string repeat x 1000] }
        config_set maxmemory-policy allkeys-random
        r client pause 100000 write
        config_set maxmemory 1
        for {set i 0} {$i < 20} {incr i} { r get k$i }
        assert_equal 100 [r dbsize]
        r client unpause
        wait_for_condition 500 20 {[r dbsize] == 0} else { fail "[r dbsize] keys" }
        config_set maxmemory 0
        config_set maxmemory-policy noeviction
    }
}

start_server {tags {import}} {
    test {CLIENT IMPORT-SOURCE} {
        assert_error "ERR Server is not in import mode" {r client import-source on}
        assert_equal OK [r client import-source off]
        assert_error "ERR Server is not in import mode" {r client import-source what}
        config_set import-mode yes
        assert_error "ERR syntax error" {r client import-source what}
        assert_equal OK [r client import-source on]
        assert_match "*flags=I *" [r client info]
        assert_equal OK [r client import-source off]
        assert_match "*flags=N *" [r client info]
        config_set import-mode no
    }

    test {Import mode: expired keys stay, and only the importing client sees them} {
        config_set import-mode yes
        set c [valkey_client]
        $c client import-source on
        $c set k v px 50
        $c set other v px 50
        after 100
        assert_equal {} [r get k]
        assert_equal v [$c get k]
        assert_equal {2 0} [list [r dbsize] [s expired_keys]]
        assert_equal {0 1} [list [r exists k] [$c exists k]]
        assert_equal 1 [$c pexpireat other 1]
        assert_equal v [$c get other]
        assert_equal {} [r get other]
        config_set import-mode no
        wait_for_condition 200 50 {[r dbsize] == 0} else { fail "[r dbsize] keys" }
        assert_equal {} [$c get k]
        $c close
    }

    test {Import mode: fields of hashes} {
        config_set import-mode yes
        set c [valkey_client]
        $c client import-source on
        $c hset h f v g w
        assert_equal 1 [$c hpexpireat h 1 fields 1 f]
        assert_equal {v {}} [list [$c hget h f] [r hget h f]]
        assert_equal {f v g w} [$c hgetall h]
        assert_equal {g w} [r hgetall h]
        config_set import-mode no
        assert_equal {} [$c hget h f]
        $c close
        r del h
    }

    test {Import mode: nothing is evicted, but maxmemory is still a limit} {
        config_set import-mode yes
        r flushall
        for {set i 0} {$i < 100} {incr i} { r set k$i v }
        set c [valkey_client]
        $c client import-source on
        config_set maxmemory-policy allkeys-random
        config_set maxmemory 1
        r get k1
        foreach client [list r $c] {
            assert_error "OOM command not allowed*" { $client set more v }
            assert_error "OOM command not allowed*" { $client eval {return redis.call('set', 'more', 'v')} 0 }
        }
        assert_equal 1 [r del k99]
        assert_equal {99 0} [list [r dbsize] [s evicted_keys]]
        config_set import-mode no
        # A slow server lets writes pass until it has evicted everything.
        wait_for_condition 500 20 {[catch { r set more v } error]} else { fail "not refused" }
        assert_match "OOM command not allowed*" $error
        assert_morethan [s evicted_keys] 0
        config_set maxmemory 0
        $c close
    }
}
