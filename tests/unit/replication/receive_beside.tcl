# repl-diskless-load swapdb: a snapshot is loaded beside the data that is there, and takes its place at the end. When it
# continues our own history, the old data is served meanwhile (async_loading).
source [file join [file dirname [info script]] receive_util.tcl]

tags {external:skip} {
    fake_listen
    set new [snapshot {
        r set key new
        r set only:new 1
        for {set i 0} {$i < 3000} {incr i} { r set filler:$i [randstring 20 20 alpha] }
        r xadd stream 5-5 f v
        r hset fields f 1 g 2
        r hexpire fields 1000 fields 1 f
        r select 3
        r set third new
        r function load "#!lua name=new\nserver.register_function{function_name='which', callback=function() return 'new' end, flags={'no-writes'}}"
    }]
    set half [expr {[string length $new] / 2}]

    # A first synchronization, so that there is a history; then the link is cut.
    proc first_sync {} {
        fake_follow
        set p [fake_sync]
        fake_send $p [marked $::new]
        fake_wait_ack $p 1000
        set bytes {}
        foreach command {{select 0} {set key old} {del only:new} {hset fields old 1} {hpexpire fields 1000000 fields 1 old}
            {select 5} {set fifth old} {select 0}
            {function load replace "#!lua name=new\nserver.register_function{function_name='which', callback=function() return 'old' end, flags={'no-writes'}}"}} {
            append bytes [resp::encode $command]
        }
        fake_send $p $bytes[resp::encode {replconf getack *}]
        fake_wait_ack $p [expr {1000 + [string length $bytes]}]
        fake_hang_up $p
    }

    # Half of the second snapshot has arrived.
    proc second_sync {{id {}} {form marked}} {
        set p [fake_sync $id 5000]
        fake_send $p [string range [$form $::new] 0 $::half]
        wait_for_condition 200 10 {[s loading_start_time] ne {}} else { fail "nothing is loaded" }
        return $p
    }

    proc second_half {p {form marked}} { fake_send $p [string range [$form $::new] $::half+1 end] }

    start_server {overrides {repl-diskless-load swapdb loading-process-events-interval-bytes 1024}} {
        test {old data is served while data of the same history is loaded} {
            first_sync
            set watching [valkey_client]
            $watching watch key
            set tracking [valkey_client]
            $tracking hello 3
            $tracking client tracking on
            $tracking get key
            set waiting [blocked_client xread block 0 streams absent $]
            r config set replica-read-only no
            set writing [valkey_deferring_client]
            foreach command {multi {set key 1}} {
                $writing {*}$command
                $writing read
            }
            set p [second_sync]
            assert_equal 1 [s async_loading]
            assert_equal 0 [s loading]
            assert_equal old [r get key]
            assert_equal old [r fcall which 0]
            assert_equal old [r eval {return redis.call('get', KEYS[1])} 1 key]
            assert_equal {f g old} [lsort [r hkeys fields]]
            r multi
            r get key
            r dbsize
            assert_equal {old 3003} [r exec]
        }

        test {some commands have to wait until it is loaded} {
            foreach command {{replicaof no one} {bgsave} {config set appendonly yes} {config set repl-diskless-load disabled}} {
                assert_error {LOADING*} {r {*}$command} $command
            }
            assert_equal PONG [r ping]
            assert_equal OK [r config set hz 20]
        }

        test {writes to a writable replica during the load would be lost, and are refused} {
            assert_error {LOADING*} {r set key 1}
            assert_error {*LOADING*} {r eval {return redis.call('set', KEYS[1], 1)} 1 key}
            $writing exec
            assert_match {LOADING*} [lindex [$writing read] 0]
            $writing close
            r config set replica-read-only yes
        }

        test {a script that takes too long does not get in the way} {
            r config set busy-reply-threshold 50
            set busy [valkey_deferring_client]
            $busy eval {while true do end} 0
            wait_for_condition 100 20 {[catch {r ping} error] && [string match BUSY* $error]} else { fail "not busy" }
            assert_equal OK [r script kill]
            assert_error {*killed*} {$busy read}
            $busy close
            assert_equal old [r get key]
        }

        test {the loaded data replaces the old data} {
            assert_equal 0 [$watching exists only:new]
            second_half $p
            fake_wait_ack $p 5000
            assert_equal 0 [s async_loading]
            assert_equal {new 1 new} [list [r get key] [r exists only:new] [r fcall which 0]]
            assert_equal {f g} [lsort [r hkeys fields]]
            assert_range [r hpttl fields fields 1 f] 1 1000000
            r select 5
            assert_equal 0 [r dbsize]
            r select 3
            assert_equal new [r get third]
            r select 0
            assert_equal {} [temporary_files]
        }

        test {watching, tracking and waiting clients notice the exchange of the dataset} {
            $watching multi
            $watching ping
            assert_equal {} [$watching exec]
            assert_equal {invalidate {}} [$tracking push]
            set bytes [resp::encode {select 0}][resp::encode {xadd absent 1-1 f v}]
            fake_send $p $bytes
            assert_equal {{absent {{1-1 {f v}}}}} [answer $waiting]
            $watching close
            $tracking close
        }

        test {fields expire in the exchanged data} {
            fake_hang_up $p
            r replicaof no one
            r hpexpire fields 1 fields 1 f
            wait_for_condition 100 20 {[r hlen fields] == 1} else { fail [r hgetall fields] }
            r debug reload
            assert_equal {g 2} [r hgetall fields]
        }

        test {when the load fails, the old data stays, and is served} {
            first_sync
            set p [second_sync]
            assert_equal 1 [s async_loading]
            set id [s master_replid]
            fake_hang_up $p
            wait_for_condition 200 20 {[s async_loading] == 0} else { fail "it goes on" }
            assert_equal {old old} [list [r get key] [r fcall which 0]]
            assert_equal $id [s master_replid]
            assert_equal 3003 [r dbsize]
        }

        test {data of another history: old data is not served during the load} {
            set p [second_sync [string repeat ab 20] counted]
            assert_equal {1 0} [list [s loading] [s async_loading]]
            assert_error {LOADING*} {r get key}
            assert_error {LOADING*} {r eval {return 1} 0}
            second_half $p counted
            fake_wait_ack $p 5000
            assert_equal new [r get key]
            fake_hang_up $p
        }

        test {SHUTDOWN during the load} {
            set p [second_sync [string repeat ab 20]]
            assert_equal 1 [s async_loading]
            restart_server
            fake_hang_up $p
            assert_equal {} [temporary_files]
        }
    }
}
