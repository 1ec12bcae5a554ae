# Scripts past their time limit: what other clients get, SCRIPT KILL, SHUTDOWN, and that no input is lost.

set busy "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."

# A client that runs the script, which must get past its limit.
proc start_script {args} {
    set c [valkey_deferring_client]
    $c eval {*}$args
    wait_for_condition 500 20 {[catch { r ping } message] && [string match BUSY* $message]} else { fail "the server is not busy" }
    return $c
}

proc killed {c} {
    assert_equal OK [r script kill]
    assert_error {ERR Script killed by user with SCRIPT KILL. script: on @user_script:1.} { $c read }
}

start_server {tags {scripting} overrides {busy-reply-threshold 50}} {
    test {other clients get BUSY during a script, and SCRIPT KILL ends it} {
        set c [start_script {while true do end} 0]
        assert_error $busy { r get k }
        assert_error $busy { r eval {return 1} 0 }
        assert_error $busy { r script flush }
        assert_error $busy { r shutdown }
        assert_error $busy { r shutdown save }
        set other [valkey_client]
        assert_error $busy { $other ping }
        killed $c
        assert_equal PONG [r ping]
        assert_equal PONG [$other ping]
        assert_error {NOTBUSY *} { r script kill }
        wait_for_log "Slow script detected: still in execution after * milliseconds."
        wait_for_log "*The running script is ended by SCRIPT KILL"
        $c close
        $other close
    }

    test {commands behind the script in a pipeline wait for it} {
        set c [valkey_deferring_client]
        $c write "[resp::encode {set a 1}][resp::encode {eval {while true do end} 0}][resp::encode {get a}][resp::encode {incr a}]"
        assert_equal OK [$c read]
        wait_for_condition 500 20 {[catch { r ping }]} else { fail "the server is not busy" }
        killed $c
        assert_equal 1 [$c read]
        assert_equal 2 [$c read]
        $c close
    }

    test {clients whose input arrived in the script's batch get BUSY or wait} {
        # While the server sleeps, input gathers; then one round has it all.
        set sleeper [valkey_deferring_client]
        set c [valkey_deferring_client]
        foreach i {1 2 3 4} { lappend others [valkey_deferring_client] }
        $sleeper debug sleep 0.3
        after 50
        $c eval {while true do end} 0
        foreach o $others { $o write "[resp::encode {ping}][resp::encode [list set big [string repeat x 50000]]][resp::encode {ping}]" }
        assert_equal OK [$sleeper read]
        set refused 0
        foreach o $others {
            foreach i {1 2 3} {
                if {[catch { $o read } reply]} { assert_equal $busy $reply; incr refused }
            }
        }
        assert_morethan $refused 5
        killed $c
        foreach o $others {
            $o set [set key k$o] [string repeat y 40000]
            assert_equal OK [$o read]
            $o strlen $key
            assert_equal 40000 [$o read]
            $o close
        }
        $sleeper close
        $c close
    }

    test {a request that has arrived only in part when the script begins} {
        set o [valkey_deferring_client]
        $o write "*3\r\n\$3\r\nset\r\n\$4\r\nhalf\r\n\$5\r\nab"
        set c [start_script {while true do end} 0]
        $o write "c"
        killed $c
        $o write "de\r\n"
        assert_equal OK [$o read]
        assert_equal abcde [r get half]
        $o close
        $c close
    }

    test {a client that disconnects while a script runs does no harm} {
        set c [start_script {while true do end} 0]
        set o [valkey_deferring_client]
        $o write "*2\r\n\$4\r\nping"
        $o close
        $c close
        assert_error $busy { r ping }
        assert_equal OK [r script kill]
        wait_for_condition 500 20 {![catch { r ping }]} else { fail "the server is still busy" }
        wait_for_condition 100 50 {[s connected_clients] == 1} else { fail "a client is left" }
    }

    test {no script prevents SCRIPT KILL} {
        foreach script {
            {while true do pcall(function() while true do end end) end}
            {while true do xpcall(function() while true do end end, function() while true do end end) end}
            {local co = coroutine.wrap(function() while true do end end) pcall(co) while true do end}
            {while true do redis.pcall('get', 'k') end}
            {while true do pcall(redis.call, 'nosuch') end}
            {local function f() return pcall(f) end while true do f() end}
            {table.sort({1, 2, 3}, function() while true do end end)}
            {return setmetatable({}, {__index = function() while true do end end}).x}
            {return load(function() while true do end end)}
            {error(setmetatable({}, {__tostring = function() while true do end end}), 1) while true do end}
        } {
            if {[string match error* $script]} continue
            set c [start_script $script 0]
            killed $c
            $c close
        }
        assert_equal 10 [r eval {local n = 0 for i = 1, 10 do n = n + 1 end return n} 0]
        # The limit works for the next one, too.
        set c [start_script {while true do end} 0]
        killed $c
        $c close
    }

    test {a script that has written cannot be killed} {
        r del stop
        set c [start_script {redis.call('set', 'w', 1) local t = os.clock() while os.clock() - t < 1 do end return 'done'} 0]
        assert_error {UNKILLABLE Sorry the script already executed write commands*} { r script kill }
        assert_equal done [$c read]
        assert_equal 1 [r get w]
        $c close
    }

    test {commands that run during a script do not let blocked clients change data} {
        r del q
        set blocked [blocked_client blpop q 0]
        set c [start_script {
            redis.call('rpush', 'q', 'x')
            local t = os.clock()
            while os.clock() - t < 1 and redis.call('llen', 'q') == 1 do end
            return redis.call('llen', 'q')
        } 0]
        set other [valkey_client]
        set allowed 0
        foreach command {
            {hello 3} {hello 2} {auth x} {multi} {discard} {watch q} {unwatch} {script kill} {function stats} {client no-evict off}
            {client pause 1 write} {client unpause} {client tracking on} {client tracking off} {client id} {replconf capa eof} {reset}
        } {
            if {![catch { $other {*}$command } error] || ![string match BUSY* $error]} { incr allowed }
        }
        assert_morethan $allowed 10
        assert_equal 1 [$c read]
        assert_equal {q x} [answer $blocked]
        $other close
        $c close
    }

    test {a slow script that ends in time does not make others BUSY} {
        set c [valkey_deferring_client]
        $c eval {local t = os.clock() while os.clock() - t < 0.2 do end return redis.call('set', 'slow', 'x')} 0
        assert_equal OK [$c read]
        assert_equal x [r get slow]
        $c close
    }

    test {a limit of 0 is none; lua-time-limit is another name for it} {
        r config set lua-time-limit 0
        assert_equal 0 [config_get busy-reply-threshold]
        set c [valkey_deferring_client]
        $c eval {local t = os.clock() while os.clock() - t < 0.3 do end return 1} 0
        after 100
        assert_equal PONG [r ping]
        assert_equal 1 [$c read]
        $c close
        r config set busy-reply-threshold 50
    }
}

start_server {tags {scripting} overrides {busy-reply-threshold 50}} {
    test {SHUTDOWN ABORT cancels a SIGTERM that waits for a script} {
        set c [start_script {while true do end} 0]
        assert_error "ERR No shutdown in progress." {r shutdown abort}
        exec kill -TERM [srv pid]
        wait_for_log "Received SIGTERM, so the server shuts down"
        assert_equal OK [r shutdown abort]
        assert_error "ERR No shutdown in progress." {r shutdown abort}
        assert_equal OK [r script kill]
        catch {$c read}
        $c close
        after 200
        assert_equal PONG [r ping]
        assert_equal 1 [count_log_message "Shutdown manually aborted"]
    }

    test {SHUTDOWN NOSAVE while a script runs} {
        set c [start_script {redis.call('set', 'w', 1) while true do end} 0]
        catch { r shutdown nosave }
        wait_for_log "ready to exit"
        $c close
    }
}
