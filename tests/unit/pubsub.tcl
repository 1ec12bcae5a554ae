# Channels, patterns and shard channels; what a subscriber may do; messages in both protocols; limits of output.

# Sends a command whose reply is several messages and returns that many.
proc answers {c n args} {
    $c deferred 1
    $c {*}$args
    set all {}
    for {set i 0} {$i < $n} {incr i} { lappend all [$c read] }
    return $all
}

proc subscriber {resp args} {
    set c [valkey_client]
    if {$resp == 3} { $c hello 3 }
    answers $c [expr {[llength $args] - 1}] {*}$args
    return $c
}

# The next n messages.
proc messages {c n} {
    set all {}
    for {set i 0} {$i < $n} {incr i} { lappend all [$c read] }
    return $all
}

# No more messages than those read: the answer to PING is the next thing.
proc assert_nothing_more {c} {
    $c deferred 1
    $c ping end
    assert {[$c read] in {end {pong end}}}
}

# The exact bytes of the answer to one command, as long as `expected`.
proc assert_bytes {c expected command} {
    $c write $command
    assert_equal $expected [$c rawread [string length $expected]]
}

proc client_field {id field} {
    regexp -line "^id=$id .* $field=(\\S*)" [r client list] -> value
    return $value
}

start_server {tags {pubsub}} {
    foreach resp {2 3} {
        set mark [expr {$resp == 2 ? "*" : ">"}]
        set nil [expr {$resp == 2 ? "\$-1" : "_"}]

        test "SUBSCRIBE and UNSUBSCRIBE reply once per channel, in order (RESP$resp)" {
            set c [subscriber $resp subscribe first]
            assert_equal {{subscribe a 2} {subscribe b 3} {subscribe a 3}} [answers $c 3 subscribe a b a]
            assert_equal {{psubscribe a* 4} {psubscribe a 5}} [answers $c 2 psubscribe a* a]
            assert_equal {{ssubscribe a 1} {ssubscribe b 2}} [answers $c 2 ssubscribe a b]
            assert_equal {{unsubscribe a 4} {unsubscribe no 4}} [answers $c 2 unsubscribe a no]
            assert_equal {3 2} [lmap m [answers $c 2 unsubscribe] {lindex $m 2}]
            $c close
        }

        test "ending the last subscription, and none (RESP$resp)" {
            set c [valkey_client]
            if {$resp == 3} { $c hello 3 }
            assert_bytes $c "${mark}3\r\n\$11\r\nunsubscribe\r\n$nil\r\n:0\r\n" "UNSUBSCRIBE\r\n"
            assert_bytes $c "${mark}3\r\n\$12\r\npunsubscribe\r\n$nil\r\n:0\r\n" "PUNSUBSCRIBE\r\n"
            assert_bytes $c "${mark}3\r\n\$12\r\nsunsubscribe\r\n$nil\r\n:0\r\n" "SUNSUBSCRIBE\r\n"
            assert_bytes $c "${mark}3\r\n\$12\r\nsunsubscribe\r\n\$1\r\nx\r\n:0\r\n" "SUNSUBSCRIBE x\r\n"
            answers $c 1 subscribe x
            assert_equal {{unsubscribe x 0}} [answers $c 1 unsubscribe]
            $c deferred 0
            assert_equal {} [$c get nokey]
            $c close
        }

        test "the bytes of messages (RESP$resp)" {
            set c [subscriber $resp subscribe ch]
            answers $c 1 psubscribe c?
            answers $c 1 ssubscribe sh
            assert_equal 2 [r publish ch hello]
            set expected "${mark}3\r\n\$7\r\nmessage\r\n\$2\r\nch\r\n\$5\r\nhello\r\n"
            append expected "${mark}4\r\n\$8\r\npmessage\r\n\$2\r\nc?\r\n\$2\r\nch\r\n\$5\r\nhello\r\n"
            assert_equal $expected [$c rawread [string length $expected]]
            assert_equal 1 [r spublish sh {}]
            set expected "${mark}3\r\n\$8\r\nsmessage\r\n\$2\r\nsh\r\n\$0\r\n\r\n"
            assert_equal $expected [$c rawread [string length $expected]]
            assert_equal {0 0} [list [r publish sh x] [r spublish ch x]]
            assert_nothing_more $c
            $c close
        }

        test "large messages arrive complete, also for many subscribers (RESP$resp)" {
            foreach size {900 1100 20000 300000} {
                set all {}
                for {set i 0} {$i < 5} {incr i} { lappend all [subscriber $resp subscribe big] }
                set message [randstring $size $size]
                assert_equal 5 [r publish big $message]
                assert_equal 5 [r publish big after]
                foreach c $all {
                    assert_equal [list [list message big $message] {message big after}] [messages $c 2]
                    $c close
                }
                wait_for_condition 500 20 {[r pubsub numsub big] eq {big 0}} else { fail "still subscribed" }
            }
        }

        test "CLIENT REPLY OFF and SKIP silence no message (RESP$resp)" {
            set c [valkey_deferring_client]
            if {$resp == 3} { $c hello 3; $c read }
            $c client reply off
            assert_equal {{subscribe m 1}} [answers $c 1 subscribe m]
            if {$resp == 3} { $c echo silence }
            assert_equal 1 [r publish m 1]
            assert_equal {message m 1} [$c read]
            assert_equal {{unsubscribe m 0}} [answers $c 1 unsubscribe m]
            $c client reply on
            assert_equal OK [$c read]
            $c client reply skip
            assert_equal {{subscribe m 1}} [answers $c 1 subscribe m]
            $c close
        }

        test "RESET and the end of a connection unsubscribe (RESP$resp)" {
            set c [subscriber $resp subscribe x y]
            answers $c 1 psubscribe p*
            answers $c 1 ssubscribe s
            assert_equal {2 1 1 1} [list [s pubsub_channels] [s pubsub_patterns] [s pubsubshard_channels] [s pubsub_clients]]
            $c deferred 0
            assert_equal RESET [$c reset]
            assert_equal {0 0 0 0} [list [s pubsub_channels] [s pubsub_patterns] [s pubsubshard_channels] [s pubsub_clients]]
            assert_equal 0 [r publish x m]
            assert_equal {} [$c get nokey]
            if {$resp == 3} { $c hello 3 }
            answers $c 1 subscribe x
            answers $c 1 psubscribe p*
            $c close
            wait_for_condition 500 20 {[s pubsub_clients] == 0} else { fail "still there" }
            assert_equal {0 0} [list [s pubsub_channels] [r pubsub numpat]]
        }
    }

    test {RESP2: a subscriber may run few commands} {
        set c [subscriber 2 subscribe a]
        $c deferred 0
        set allowed "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
        assert_error "ERR Can't execute 'get': $allowed" { $c get k }
        assert_error "ERR Can't execute 'publish': $allowed" { $c publish a b }
        assert_error "ERR Can't execute 'client|id': $allowed" { $c client id }
        assert_error "ERR Can't execute 'hello': $allowed" { $c hello 3 }
        assert_error "ERR wrong number of arguments for 'get' command" { $c get }
        assert_error "ERR unknown command 'nope'*" { $c nope }
        assert_equal {pong {}} [$c ping]
        assert_equal {pong hi} [$c ping hi]
        assert_error "ERR wrong number of arguments for 'ping' command" { $c ping a b }
        assert_equal OK [$c quit]
        $c close
        foreach kind {psubscribe ssubscribe} {
            set c [subscriber 2 $kind a]
            $c deferred 0
            assert_error "ERR Can't execute 'get'*" { $c get k }
            $c close
        }
    }

    test {RESP2: shard subscriptions restrict commands too} {
        set c [subscriber 2 subscribe a]
        answers $c 1 ssubscribe b
        answers $c 1 unsubscribe
        $c deferred 0
        assert_error "ERR Can't execute 'get'*" { $c get k }
        answers $c 1 sunsubscribe
        $c deferred 0
        assert_equal {} [$c get nokey]
        assert_equal PONG [$c ping]
        $c close
    }

    test {RESP3: a subscriber may run every command} {
        set c [subscriber 3 subscribe a]
        $c deferred 0
        assert_equal {OK 1} [list [$c set k 1] [$c get k]]
        assert_equal {PONG hi} [list [$c ping] [$c ping hi]]
        assert_equal a [$c pubsub channels]
        $c close
    }

    test {RESP3, then back to RESP2: the restriction applies} {
        set c [subscriber 3 subscribe a]
        $c deferred 0
        $c hello 2
        assert_error "ERR Can't execute 'get'*" { $c get k }
        r publish a m
        assert_equal {message a m} [$c read]
        $c close
    }

    test {order: channel before patterns, patterns by age, subscribers by age} {
        set c [subscriber 3 psubscribe n* *s news]
        answers $c 1 subscribe news
        assert_equal 4 [r publish news 1]
        assert_equal {{message news 1} {pmessage n* news 1} {pmessage *s news 1} {pmessage news news 1}} \
            [messages $c 4]
        $c close
    }

    test {messages arrive in the order they were published} {
        set c [subscriber 2 subscribe seq]
        for {set i 0} {$i < 2000} {incr i} { append pipeline "PUBLISH seq $i\r\n" }
        r write $pipeline
        for {set i 0} {$i < 2000} {incr i} {
            assert_equal 1 [r read]
            assert_equal "message seq $i" [$c read]
        }
        $c close
    }

    test {a message to the publisher itself comes after the reply} {
        set c [subscriber 3 subscribe me]
        answers $c 1 psubscribe m*
        set expected ":2\r\n>3\r\n\$7\r\nmessage\r\n\$2\r\nme\r\n\$2\r\nhi\r\n"
        append expected ">4\r\n\$8\r\npmessage\r\n\$2\r\nm*\r\n\$2\r\nme\r\n\$2\r\nhi\r\n"
        assert_bytes $c $expected "PUBLISH me hi\r\n"
        $c close
    }

    test {scripts publish, to others and to their caller} {
        set d [subscriber 2 subscribe me]
        set c [subscriber 3 subscribe me]
        $c deferred 1
        $c eval {redis.call('publish', 'me', '1') return {redis.call('publish', 'me', '2'), redis.call('spublish', 'me', '3')}} 0
        assert_equal {{2 0} {message me 1} {message me 2}} [messages $c 3]
        assert_equal {{message me 1} {message me 2}} [messages $d 2]
        assert_error "ERR * not allowed from script*" { r eval {return redis.call('subscribe', 'a')} 0 }
        assert_error "ERR * not allowed from script*" { r eval {return redis.call('ssubscribe', 'a')} 0 }
        $c close
        $d close
    }

    test {a message never comes within a reply} {
        config_set notify-keyspace-events KEm
        set c [subscriber 3 psubscribe __keyspace*]
        $c deferred 1
        $c mget no1 no2
        $c get no3
        assert_equal {{} {}} [$c read]
        assert_equal {pmessage __keyspace* __keyspace@0__:no1 keymiss} [$c read]
        assert_equal {pmessage __keyspace* __keyspace@0__:no2 keymiss} [$c read]
        assert_equal {} [$c read]
        assert_equal {pmessage __keyspace* __keyspace@0__:no3 keymiss} [$c read]
        # Unsubscribed when its client disconnects.
        $c write "MGET no1 no2\r\nQUIT\r\n"
        $c close
        config_set notify-keyspace-events {}
        r ping
    } PONG

    test {PUBSUB lists channels, patterns and the numbers of subscribers} {
        wait_for_condition 500 20 {[s pubsub_clients] == 0} else { fail "still there" }
        set c [subscriber 2 subscribe news.a news.b other]
        set d [subscriber 3 subscribe news.a]
        answers $d 2 psubscribe n* x*
        answers $c 1 psubscribe n*
        answers $c 2 ssubscribe s1 s2
        assert_equal {news.a news.b other} [lsort [r pubsub channels]]
        assert_equal {news.a news.b} [lsort [r pubsub channels news.*]]
        assert_equal {} [r pubsub channels nope*]
        assert_equal {news.a 2 other 1 none 0 news.a 2} [r pubsub numsub news.a other none news.a]
        assert_equal {} [r pubsub numsub]
        assert_equal 2 [r pubsub numpat]
        assert_equal {s1 s2} [lsort [r pubsub shardchannels]]
        assert_equal s2 [r pubsub shardchannels *2]
        assert_equal {s1 1 news.a 0} [r pubsub shardnumsub s1 news.a]
        assert_equal {3 2 2 2} [list [s pubsub_channels] [s pubsub_patterns] [s pubsubshard_channels] [s pubsub_clients]]
        $c close
        $d close
        assert_error "ERR unknown subcommand or wrong number of arguments for 'channels'. Try PUBSUB HELP." { r pubsub channels a b }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'SHARDCHANNELS'. Try PUBSUB HELP." { r pubsub SHARDCHANNELS a b }
        assert_error "ERR unknown subcommand 'foo'. Try PUBSUB HELP." { r pubsub foo }
        assert_error "ERR wrong number of arguments for 'pubsub|numpat' command" { r pubsub numpat x }
        assert_error "ERR wrong number of arguments for 'pubsub' command" { r pubsub }
        assert_match "PUBSUB <subcommand>*CHANNELS*HELP*" [join [r pubsub help] \n]
    }

    test {CLIENT LIST and KILL know subscribers} {
        wait_for_condition 500 20 {[s pubsub_clients] == 0} else { fail "still there" }
        set c [valkey_client]
        set id [$c client id]
        answers $c 2 subscribe a b
        answers $c 1 psubscribe p
        answers $c 3 ssubscribe x y z
        foreach {field value} {sub 2 psub 1 ssub 3 flags P} { assert_equal $value [client_field $id $field] $field }
        assert_match "id=$id *" [r client list type pubsub]
        assert_no_match "*id=$id *" [r client list type normal]
        assert_equal 1 [r client kill type pubsub]
        assert_equal {a 0} [r pubsub numsub a]
        assert_error "I/O error*" { $c read }
        $c close
    }

    test {subscribers join and leave: the order stays, slots are reused} {
        set all {}
        for {set i 0} {$i < 60} {incr i} { lappend all [subscriber [expr {2 + $i % 2}] subscribe crowd] }
        for {set round 0} {$round < 5} {incr round} {
            set stay {}
            foreach c $all {
                if {[randomInt 3] == 0} {
                    assert_equal {{unsubscribe crowd 0}} [answers $c 1 unsubscribe crowd]
                    if {[randomInt 2]} { answers $c 1 subscribe crowd; lappend stay $c } else { $c close }
                } else {
                    lappend stay $c
                }
            }
            set all $stay
            assert_equal [llength $all] [r publish crowd $round]
            foreach c $all { assert_equal "message crowd $round" [$c read] }
        }
        foreach c $all { $c close }
        wait_for_condition 500 20 {[s pubsub_channels] == 0} else { fail "the channel is still there" }
    }
}

start_server {tags {pubsub}} {
    test {client-output-buffer-limit: what it shows and refuses} {
        set name client-output-buffer-limit
        assert_equal "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60" [config_get $name]
        config_set $name "replica 1 2 3 pubsub 4kb 5 6"
        assert_equal "normal 0 0 0 slave 1 2 3 pubsub 4096 5 6" [config_get $name]
        config_set $name "NORMAL 1gb 2mb 3 slave 0 0 0"
        assert_equal "normal 1073741824 2097152 3 slave 0 0 0 pubsub 4096 5 6" [config_get $name]
        config_set $name {}
        foreach {value reason} {
            {bogus 1 2 3} "Invalid client class specified in buffer limit configuration."
            {master 1 2 3} "Invalid client class specified in buffer limit configuration."
            {normal 1} "Wrong number of arguments in buffer limit configuration."
            {normal -1 2 3} "Error in hard, soft or soft_seconds setting in buffer limit configuration."
            {normal 1 2 -3} "Error in hard, soft or soft_seconds setting in buffer limit configuration."
            {normal 1 2 x pubsub 1 1 1} "Error in hard, soft or soft_seconds setting in buffer limit configuration."
        } {
            assert_error "ERR CONFIG SET failed (possibly related to argument '$name') - $reason" { r config set $name $value }
        }
        assert_equal "normal 1073741824 2097152 3 slave 0 0 0 pubsub 4096 5 6" [config_get $name]
        config_set $name "normal 0 0 0 pubsub 0 0 0"
    }

    # More than the socket takes, and not read by the client.
    foreach size {500 60000} {
        test "a subscriber past the hard limit is closed (messages of $size)" {
            config_set client-output-buffer-limit "pubsub 200kb 0 0"
            r config resetstat
            set from [llength [log_lines]]
            set c [subscriber 2 subscribe flood]
            set sent 0
            while {[r publish flood [string repeat x $size]] && $sent < 40000000} { incr sent $size }
            assert_equal 1 [s client_output_buffer_limit_disconnections]
            assert_equal {flood 0} [r pubsub numsub flood]
            wait_for_log "Client id=* flags=P * scheduled to be closed ASAP for overcoming of output buffer limits." \
                [expr {$from - 1}]
            $c close
        }
    }

    test {past the soft limit: only after its time} {
        config_set client-output-buffer-limit "pubsub 0 100kb 1"
        r config resetstat
        set c [subscriber 3 subscribe flood]
        set full 0
        for {set i 0} {$i < 400 && !$full} {incr i} {
            r publish flood [string repeat x 60000]
            regexp {omem=(\d+)} [r client list type pubsub] -> omem
            set full [expr {$omem > 200000}]
        }
        assert {$full}
        assert_equal 0 [s client_output_buffer_limit_disconnections]
        wait_for_condition 100 100 {[s client_output_buffer_limit_disconnections] == 1} else { fail "not closed" }
        wait_for_condition 500 20 {[s pubsub_clients] == 0} else { fail "still there" }
        $c close
    }

    test {a client that reads in time is not closed by the soft limit} {
        config_set client-output-buffer-limit "pubsub 0 100kb 1"
        r config resetstat
        set c [subscriber 3 subscribe flood]
        set message [string repeat x 300000]
        for {set i 0} {$i < 5} {incr i} {
            r publish flood $message
            assert_equal [list message flood $message] [$c read]
            after 500
        }
        assert_equal 0 [s client_output_buffer_limit_disconnections]
        $c close
    } {} {slow}

    test {a reply past the limit of normal clients closes its own client} {
        config_set client-output-buffer-limit "normal 100kb 0 0"
        r config resetstat
        r set long [string repeat x 300000]
        set c [valkey_client]
        assert_error "I/O error*" { $c get long }
        $c close
        set c [valkey_client]
        for {set i 0} {$i < 30} {incr i} { r rpush list [string repeat y 10000] }
        assert_error "I/O error*" { $c lrange list 0 -1 }
        $c close
        assert_equal 2 [s client_output_buffer_limit_disconnections]
        assert_equal 30 [r llen list]
        config_set client-output-buffer-limit "normal 1 1 1"
        assert_equal PONG [r ping]
        config_set client-output-buffer-limit "normal 0 0 0"
        assert_equal 300000 [string length [r get long]]
    }
}

start_server {tags {pubsub}} {
    test {CLIENT LIST counts the names of channels as the client's memory} {
        set c [valkey_client]
        $c client setname counted
        proc counted_memory {} {
            regexp -line {name=counted .* tot-mem=(\d+) } [r client list] -> bytes
            return $bytes
        }
        # With I/O threads a reply may count for a moment after it was read.
        proc counts_more {before least most} {
            wait_for_condition 50 20 {[counted_memory] - $before >= $least && [counted_memory] - $before <= $most} else {
                fail "[expr {[counted_memory] - $before}] bytes more, not $least to $most"
            }
        }
        set before [counted_memory]
        answers $c 1 subscribe first
        counts_more $before 0 2000
        answers $c 2 subscribe [string repeat a 10000] [string repeat b 10000]
        counts_more $before 20000 24000
        answers $c 2 unsubscribe [string repeat a 10000] [string repeat b 10000]
        counts_more $before 0 4000
        $c close
    }
}
