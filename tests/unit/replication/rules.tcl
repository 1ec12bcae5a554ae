# What a replica refuses, keeps although it has expired, does not evict, and redirects; and what becomes of clients
# when a primary becomes a replica. (tests/unit/admission.tcl tests the precedence of errors.)

source [file join [file dirname [info script]] rules_util.tcl]

set readonly {READONLY You can't write against a read only replica.}
set masterdown {MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.}
set stale {ERR Can not execute the command on a stale replica}

proc said {args} {
    catch { r {*}$args } reply
    return $reply
}

start_server {overrides {repl-timeout 60} tags {external:skip}} {
    r set k v
    r function load "#!lua name=lib
        redis.register_function('w', function() return redis.call('set', 'k', 'v') end)
        redis.register_function{function_name='ro', callback=function() return redis.call('get', 'k') end, flags={'no-writes'}}
        redis.register_function{function_name='rost', callback=function() return redis.call('get', 'k') end, flags={'no-writes', 'allow-stale'}}"

    test {clients that wait when a primary becomes a replica get an error and are closed} {
        r xadd s 1-1 a b
        r xgroup create s g $
        set waiting {}
        foreach command {{blpop l 0} {xread block 0 streams s $} {xreadgroup group g c block 0 streams s >} {wait 1 0}} {
            lappend waiting [blocked_client {*}$command]
        }
        set redirected [valkey_deferring_client]
        $redirected client capa redirect
        assert_equal OK [$redirected read]
        $redirected blpop l 0
        set reader [valkey_deferring_client]
        $reader client capa redirect
        $reader readonly
        assert_equal {OK OK} [list [$reader read] [$reader read]]
        $reader xread block 0 streams s $
        wait_for_blocked 6
        r replicaof 127.0.0.1 1
        foreach c $waiting {
            assert_error "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)" { $c read }
            assert [is_closed $c]
            $c close
        }
        assert_error "REDIRECT 127.0.0.1:1" { $redirected read }
        $redirected ping
        assert_equal PONG [$redirected read] "it may go on"
        assert_equal 1 [s blocked_clients] "and who reads from replicas waits on"
        $redirected close
        $reader close
        r replicaof no one
    }

    test {a transaction that writes is refused when the server has become a replica, one that reads is not} {
        set writer [valkey_client]
        set reader [valkey_client]
        set redirected [valkey_client]
        $redirected client capa redirect
        foreach c [list $writer $reader $redirected] command {{set k w} {get k} {get k}} {
            $c multi
            $c {*}$command
        }
        r replicaof 127.0.0.1 1
        assert_error "EXECABORT Transaction discarded because of: $readonly" { $writer exec }
        assert_equal v [$reader exec]
        assert_error "REDIRECT 127.0.0.1:1" { $redirected exec }
        foreach c [list $writer $reader $redirected] {
            assert_error "ERR DISCARD without MULTI" { $c discard }
            $c close
        }
    }

    test {a replica refuses writes, and HELLO has its role} {
        foreach command {{set k w} {del k} {flushall} {sort k} {getex k} {xreadgroup group g c streams s >} {function flush}
                         {fcall w 0} {fcall_ro w 0}} {
            assert_equal $readonly [said {*}$command] $command
        }
        foreach command {{get k} {pfcount h} {publish c m} {sort_ro k} {readonly} {readwrite} {script flush} {fcall ro 0}} {
            assert_no_match *READONLY* [said {*}$command]
        }
        assert_equal replica [dict get [r hello 2] role]
    }

    test {scripts on a replica: those that may write do not start, others are stopped when they do} {
        assert_equal $readonly [said eval "#!lua\nreturn 1" 0]
        assert_equal $readonly [said eval_ro "#!lua flags=allow-stale\nreturn 1" 0]
        assert_equal "$readonly script: on @user_script:1." [said eval {return redis.call('set', 'k', 'v')} 0]
        assert_equal $readonly [said eval {return redis.pcall('set', 'k', 'v')} 0]
        assert_equal v [said eval "#!lua flags=no-writes\nreturn redis.call('get', 'k')" 0]
        assert_equal v [said eval {return redis.call('get', 'k')} 0]
    }

    test {read-only scripts may not run commands that are replicated} {
        foreach command {{'publish', 'c', 'm'} {'spublish', 'c', 'm'} {'pfcount', 'h'}} {
            assert_equal "ERR Write commands are not allowed from read-only scripts. script: on @user_script:1." \
                [said eval_ro "return redis.call($command)" 0]
        }
    }

    test {a client with capa redirect is redirected to the primary} {
        set c [valkey_client]
        $c client capa redirect
        foreach command {{get k} {set k w} {dbsize} {keys *} {flushall} {eval_ro "return 1" 0} {pfcount h}} {
            assert_error "REDIRECT 127.0.0.1:1" { $c {*}$command }
        }
        assert_equal PONG [$c ping]
        assert_equal v [$c eval {return redis.call('get', 'k')} 0]
        $c readonly
        assert_match {*flags=r *} [$c client info]
        assert_equal v [$c get k]
        assert_error "REDIRECT 127.0.0.1:1" { $c set k w }
        $c readwrite
        assert_error "REDIRECT 127.0.0.1:1" { $c get k }
        $c readonly
        $c reset
        assert_error "REDIRECT 127.0.0.1:1" { $c get k }
        $c close
    }

    test {replica-serve-stale-data no: a replica without a link refuses commands} {
        r config set replica-serve-stale-data no
        foreach command {{get k} ping {wait 0 1} {dbsize} {fcall ro 0} {eval "return 1" 0} {eval "#!lua flags=no-writes\nreturn 1" 0}} {
            assert_equal $masterdown [said {*}$command] $command
        }
        assert_equal $readonly [said set k v]
        assert_equal 1 [said eval "#!lua flags=no-writes,allow-stale\nreturn 1" 0]
        assert_equal "$stale script: on @user_script:2." [said eval "#!lua flags=no-writes,allow-stale\nreturn redis.call('get', 'k')" 0]
        assert_match "$stale script: on @user_function:*" [said fcall rost 0]
        assert_equal 0 [said publish c m]
        r multi
        assert_error $masterdown { r get k }
        assert_error "EXECABORT*previous errors." { r exec }
        r multi
        assert_equal QUEUED [r eval {return 1} 0]
        assert_equal [list $masterdown] [r exec] "it is the script that is refused"
        r config set replica-read-only no
        assert_equal $masterdown [said set k v]
        r config set replica-serve-stale-data yes replica-read-only yes
        assert_equal v [r get k]
    }

    test {after promotion the server accepts writes} {
        r replicaof no one
        assert_equal OK [r set k v]
        assert_equal master [dict get [r hello 2] role]
    }
}

start_server {tags {external:skip}} {
    start_server {overrides {min-replicas-to-write 1}} {
        test {a primary with too few replicas refuses writes} {
            set error {NOREPLICAS Not enough good replicas to write.}
            assert_equal $error [said set k v]
            assert_equal $error [said eval "#!lua\nreturn 1" 0]
            assert_equal "$error script: on @user_script:1." [said eval {return redis.call('del', 'k')} 0]
            assert_equal {} [said get k]
            assert_equal 0 [said publish c m]
            r config set min-replicas-max-lag 0
            assert_equal OK [said set k v]
            r config set min-replicas-max-lag 10 min-replicas-to-write 0
            set c [blocked_client blpop l 0]
            r multi
            r rpush l v
            r config set min-replicas-to-write 1
            r exec
            assert_error $error { answer $c }
        }

        test {it accepts writes with a replica, which itself needs none} {
            r -1 config set min-replicas-to-write 3
            follow -1 0
            wait_for_condition 200 20 {[said set k v] eq "OK"} else { fail "it still refuses" }
            r -1 config set replica-read-only no
            assert_equal OK [r -1 set mine v]
            r -1 config set min-replicas-to-write 0 replica-read-only yes
            r -1 replicaof no one
            wait_for_condition 200 20 {[said set k v] ne "OK"} else { fail "it does not miss its replica" }
        }
    }
}
