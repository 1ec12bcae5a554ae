# Batches over clients and pipelines, input cut at any byte, big arguments, clients that disconnect in the middle.
source [file join [file dirname [info script]] server_util.tcl]

proc batch_counters {} { return [list [s prefetch_batches] [s prefetch_batch_commands]] }

# Runs the script, and returns how many batches and commands that took. The two INFO are 4 commands of their own.
proc counted {script} {
    set c [r info stats]
    regexp -line {^prefetch_batches:(\d+)} $c -> batches
    regexp -line {^prefetch_batch_commands:(\d+)} $c -> commands
    uplevel 1 $script
    set c [r info stats]
    regexp -line {^prefetch_batches:(\d+)} $c -> b
    regexp -line {^prefetch_batch_commands:(\d+)} $c -> n
    return [list [expr {$b - $batches - 1}] [expr {$n - $commands - 1}]]
}

proc pipeline {n {command {incr counter}}} {
    return [string repeat [resp::encode $command] $n]
}

start_server {tags {external:skip}} {
    test {requests of many clients at once make common batches} {
        set all {}
        for {set i 0} {$i < 50} {incr i} { lappend all [valkey_deferring_client] }
        wait_for_clients 51
        set busy [valkey_deferring_client]
        set found [counted {
            # All 50 arrive while the server sleeps.
            $busy debug sleep 0.3
            after 50
            foreach c $all { $c incr visits }
            $busy read
            foreach c $all { $c read }
        }]
        lassign $found batches commands
        assert_equal 51 $commands
        assert_lessthan_equal $batches 25 "51 commands of 51 clients"
        assert_equal 50 [r get visits]
        foreach c $all { $c close }
        $busy close
    }

    foreach {max batches_max} {0 200 1 200 16 16 128 5} {
        test "a pipeline of 200 commands with prefetch-batch-max-size $max" {
            config_set prefetch-batch-max-size $max
            r set counter 0
            set found [counted {
                r write [pipeline 200]
                for {set i 1} {$i <= 200} {incr i} { assert_equal $i [r read] }
            }]
            lassign $found batches commands
            assert_equal 200 $commands
            assert_range $batches [expr {200 / max($max, 1)}] $batches_max
            if {$max <= 1} { assert_equal 200 $batches }
        }
    }
    config_set prefetch-batch-max-size 16

    test {prefetch-batch-max-size has limits} {
        assert_error "*argument must be between 0 and 128*" { r config set prefetch-batch-max-size 129 }
        assert_error "*argument must be between 0 and 128*" { r config set prefetch-batch-max-size -1 }
    }

    test {a batch full of keys and members keeps within its bounds} {
        config_set prefetch-batch-max-size 128
        set keys {}
        for {set i 0} {$i < 40} {incr i} {
            lappend keys many:$i
            r zadd many:$i $i a
        }
        # Each with as many keys as are hashed ahead, so that the space for hashes is used up; then members.
        set text {}
        for {set i 0} {$i < 60} {incr i} { append text [resp::encode [list exists {*}$keys]] }
        for {set i 0} {$i < 68} {incr i} { append text [resp::encode [list zscore many:[expr {$i % 40}] a]] }
        r write $text
        for {set i 0} {$i < 60} {incr i} { assert_equal 40 [r read] }
        for {set i 0} {$i < 68} {incr i} { assert_equal [expr {$i % 40}] [r read] }
        config_set prefetch-batch-max-size 16
        r del {*}$keys
    }

    test {one command without subcommand does not spoil the next of its container} {
        r write "CONFIG\r\nCONFIG GET port\r\nCLIENT\r\nCLIENT ID\r\n"
        assert_error "ERR wrong number of arguments*" { r read }
        assert_equal [list port [srv port]] [r read]
        assert_error "ERR wrong number of arguments*" { r read }
        assert_morethan [r read] 0
    }

    test {commands that change how the next ones run, in one pipeline} {
        r flushall
        r write "SELECT 5\r\nSET k five\r\nSELECT 0\r\nEXISTS k\r\nSELECT 5\r\nGET k\r\nSELECT 0\r\n"
        assert_equal {OK OK OK 0 OK five OK} [lmap i {1 2 3 4 5 6 7} { r read }]
        r write "SET a 1\r\nRENAME a b\r\nGET b\r\nFLUSHALL\r\nGET b\r\nSET b 2\r\nGET b\r\n"
        assert_equal {OK OK 1 OK {} OK 2} [lmap i {1 2 3 4 5 6 7} { r read }]
        r write "CLIENT REPLY SKIP\r\nPING a\r\nPING b\r\nCLIENT REPLY OFF\r\nPING c\r\nCLIENT REPLY ON\r\nPING d\r\n"
        assert_equal {b OK d} [lmap i {1 2 3} { r read }]
        r write "HELLO 3\r\nZADD z 1.5 a\r\nZSCORE z a\r\nHELLO 2\r\nZSCORE z a\r\n"
        r read
        assert_equal {:1 ,1.5} [list [r rawread] [r rawread]]
        r read
        assert_equal {{$3} 1.5} [list [r rawread] [r rawread]]
        r flushall
    }

    test {AUTH lifts the limits for later requests of the same write} {
        config_set requirepass secret
        set c [valkey_deferring_client]
        $c write "AUTH secret\r\n[resp::encode [list set big [string repeat x 30000]]][resp::encode [list exists {*}[lrepeat 30 big]]]"
        assert_equal OK [$c read]
        assert_equal OK [$c read]
        assert_equal 30 [$c read]
        $c reconnect
        $c write "AUTH wrong\r\n[resp::encode [list set big [string repeat x 30000]]]"
        assert_error "WRONGPASS*" { $c read }
        assert_error "ERR Protocol error: unauthenticated bulk length" { $c read }
        assert {[is_closed $c]}
        $c close
        config_set requirepass ""
        r del big
    }

    test {requests cut at any byte} {
        set text "[resp::encode {set torn hello}]PING\r\n[resp::encode {get torn}][resp::encode [list echo "a\r\nb"]]\r\nGET torn\r\n"
        set fd [r channel]
        for {set cut 1} {$cut < [string length $text]} {incr cut} {
            r write [string range $text 0 $cut-1]
            r flush
            if {$cut % 7 == 0} { after 1 }
            r write [string range $text $cut end]
            assert_equal [list OK PONG hello "a\r\nb" hello] [lmap i {1 2 3 4 5} { r read }] "torn at $cut"
        }
        foreach char [split $text {}] { r write $char }
        assert_equal [list OK PONG hello "a\r\nb" hello] [lmap i {1 2 3 4 5} { r read }]
    }

    foreach {size name} {32767 "32 KiB - 1" 32768 "32 KiB" 32769 "32 KiB + 1" 1048576 "1 MiB" 67108864 "64 MiB"} {
        test "an argument of $name among small requests, in one piece and in several" {
            # No two parts are alike, so that a shift shows.
            set value {}
            for {set i 0} {[string length $value] < min($size, 300000)} {incr i} { append value "$i\r\n" }
            set value [string range [string repeat $value [expr {$size / [string length $value] + 1}]] 0 $size-1]
            set text "PING\r\n[resp::encode {set before 1}][resp::encode [list set big $value]][resp::encode {incr before}][resp::encode {strlen big}]PING\r\n"
            set expected [list PONG OK OK 2 $size PONG]
            set length [string length $text]
            foreach cut [list $length 40 60 70 80 100 [expr {$length / 2}] [expr {$length - 70}] [expr {$length - 60}] [expr {$length - 3}]] {
                if {$size > 10000000 && $cut ni [list $length 80]} continue
                r write [string range $text 0 $cut-1]
                after 2
                r write [string range $text $cut end]
                assert_equal $expected [lmap i {1 2 3 4 5 6} { r read }] "torn at $cut of $length"
                assert {[r get big] eq $value} "torn at $cut of $length"
            }
            r append big $value
            assert_equal [expr {2 * $size}] [r strlen big]
            r set other [r getrange big $size -1]
            assert {[r get other] eq $value}
            r del big other
        }
    }

    test {several big arguments in one request} {
        set a [string repeat a 40000]
        set b [string repeat b 50000]
        set text "[resp::encode [list mset $a 1 small $b k2 $a]][resp::encode [list mget $a small k2]]"
        foreach cut {10 30000 40030 40060 70000 90080 100000 130000} {
            r write [string range $text 0 $cut-1]
            after 2
            r write [string range $text $cut end]
            assert_equal OK [r read]
            assert_equal [list 1 $b $a] [r read] "torn at $cut"
        }
        r flushall
    }

    test {memory of big requests is freed with them} {
        r config set client-query-buffer-limit 1gb
        set before [s used_memory]
        r set big [string repeat x 20000000]
        r del big
        set many [lrepeat 200000 k v]
        r mset {*}$many
        r del k
        assert_lessthan [s used_memory] [expr {$before + 2000000}]
    }

    test {a client that disconnects in the middle of a pipeline: received requests run, the rest does not} {
        r del counter
        set c [valkey_deferring_client]
        $c write "[pipeline 1000][string range [resp::encode {set half done}] 0 end-3]"
        $c close
        wait_for_clients 1
        assert_equal 1000 [r get counter]
        assert_equal 0 [r exists half]
    }

    test {a client that is killed by another in the same turn runs no more} {
        r del counter
        set c [valkey_deferring_client]
        $c client id
        set id [$c read]
        set busy [valkey_deferring_client]
        $busy debug sleep 0.3
        after 50
        r deferred 1
        r client kill id $id
        after 20
        $c write [pipeline 100]
        r read
        r deferred 0
        assert {[is_closed $c]}
        $c close
        $busy read
        $busy close
        wait_for_clients 1
        assert {[r get counter] in {{} 100}}
    }

    test {a client that kills itself gets the reply, and runs nothing more} {
        r set counter 0
        set c [valkey_deferring_client]
        $c client id
        set id [$c read]
        $c write "PING\r\nCLIENT KILL ID $id SKIPME no\r\n[pipeline 100]"
        assert_equal PONG [$c read]
        assert_equal 1 [$c read]
        assert_error "I/O error*" { $c read }
        $c close
        assert_equal 0 [r get counter]
    }

    test {QUIT replies, and later requests do not run} {
        r set counter 0
        set c [valkey_deferring_client]
        $c write "PING\r\nQUIT\r\n[pipeline 100]"
        assert_equal PONG [$c read]
        assert_equal OK [$c read]
        assert_error "I/O error*" { $c read }
        $c close
        assert_equal 0 [r get counter]
    }

    test {a protocol error ends the connection after the earlier replies} {
        set c [valkey_deferring_client]
        $c write "PING\r\nSET proto 1\r\n*1\r\n!\r\nSET proto 2\r\n"
        assert_equal PONG [$c read]
        assert_equal OK [$c read]
        assert_error {ERR Protocol error: expected '$', got '!'} { $c read }
        assert {[is_closed $c]}
        $c close
        assert_equal 1 [r get proto]
    }

    test {a half-closed connection gets its replies} {
        r set counter 0
        set c [valkey_deferring_client]
        $c write [pipeline 500]
        close [$c channel] write
        for {set i 1} {$i <= 500} {incr i} { assert_equal $i [$c read] }
        assert_error "I/O error*" { $c read }
        $c close
        wait_for_clients 1
    }

    test {output that is not read is kept, and freed with the client} {
        config_set min-string-size-avoid-copy-reply 0 ;# or it would hold nothing but the value
        r set big [string repeat x 1000000]
        set before [s used_memory]
        set c [valkey_deferring_client]
        $c write [string repeat "GET big\r\n" 60]
        wait_for_condition 200 50 {[s used_memory] > $before + 40000000} else { fail "the output is not held" }
        assert {[regexp {omem=(\d+)} [lsearch -inline [split [r client list] \n] *cmd=get*] -> omem]}
        assert_morethan $omem 40000000
        assert_equal PONG [r ping]
        $c close
        wait_for_clients 1
        wait_for_condition 200 50 {[s used_memory] < $before + 10000000} else {
            fail "[expr {[s used_memory] - $before}] bytes are still held"
        }
        config_set min-string-size-avoid-copy-reply 16384
    }

    test {output that is read late is complete} {
        set c [valkey_deferring_client]
        $c write [string repeat "GET big\r\nPING\r\n" 40]
        after 100
        for {set i 0} {$i < 40} {incr i} {
            assert_equal 1000000 [string length [$c read]]
            assert_equal PONG [$c read]
        }
        $c close
    }

    test {a client that closes after its reply, and still sends, does not keep the loop turning} {
        wait_for_clients 1
        set c [valkey_deferring_client]
        $c write "[string repeat "GET big\r\n" 60]QUIT\r\n"
        wait_for_condition 500 20 {[string match "*flags=c*" [r client list]]} else { fail "QUIT has not run" }
        $c write [string repeat "PING\r\n" 1000]
        set before [s used_cpu_user]
        set sys [s used_cpu_sys]
        after 500
        assert_lessthan [expr {[s used_cpu_user] - $before + [s used_cpu_sys] - $sys}] 0.25
        $c close
        wait_for_clients 1
        r del big
    }

    test {client-query-buffer-limit closes a client beyond it, and no other} {
        config_set client-query-buffer-limit 1mb
        set before [s client_query_buffer_limit_disconnections]
        # Just below the limit is fine, in one argument and in many.
        assert_equal OK [r set k [string repeat x 1000000]]
        assert_equal 10000 [r exists {*}[lrepeat 10000 k]]
        assert_equal 1000000 [r strlen k]
        foreach text [list [resp::encode [list set k [string repeat y 2000000]]] [resp::encode [list mset {*}[lrepeat 200000 key v]]]] {
            set c [valkey_deferring_client]
            catch {
                $c write $text
                $c read
            }
            assert {[is_closed $c]}
            $c close
        }
        assert_equal [expr {$before + 2}] [s client_query_buffer_limit_disconnections]
        assert_morethan_equal [count_log_message "Closing client that reached max query buffer length"] 2
        assert_equal 1000000 [r strlen k]
        config_set client-query-buffer-limit 1gb
        r del k
    }

    test {proto-max-bulk-len} {
        config_set proto-max-bulk-len 1mb
        set c [valkey_deferring_client]
        $c write "*2\r\n\$4\r\necho\r\n\$1048577\r\n"
        assert_error "ERR Protocol error: invalid bulk length" { $c read }
        assert {[is_closed $c]}
        $c reconnect
        $c echo [string repeat x 1048576]
        assert_equal 1048576 [string length [$c read]]
        $c close
        config_set proto-max-bulk-len 512mb
    }

    test {a slow script: other clients are served, and the rest of the same batch runs after it} {
        config_set busy-reply-threshold 50
        set slow [valkey_deferring_client]
        set other [valkey_deferring_client]
        set busy [valkey_deferring_client]
        r del counter
        # Both clients' pipelines arrive in one turn, the script first; with I/O threads, the other may arrive first.
        $busy debug sleep 0.2
        after 50
        set script {local t=os.clock() while os.clock()-t<0.4 do end return 'done'}
        $slow write "[pipeline 3][resp::encode [list eval $script 0]][pipeline 3]"
        after 20
        $other write "[pipeline 20][resp::encode [list set kept [string repeat x 100000]]]PING\r\n"
        $busy read
        lassign [lmap i {1 2 3 4} { $slow read }] first second third script
        assert {$first == 1 || ([config_get io-threads] > 1 && $first == 21)}
        assert_equal [list [expr {$first + 1}] [expr {$first + 2}] done] [list $second $third $script]
        # The other client's requests of the batch got replies in order: they ran before the script, or were refused
        # while it ran.
        set ran 0
        for {set i 0} {$i < 20} {incr i} { if {![catch { $other read } reply]} { incr ran } else { assert_match "BUSY*" $reply } }
        if {![catch { $other read } reply]} { assert_equal OK $reply } else { assert_match "BUSY*" $reply }
        if {![catch { $other read } reply]} { assert_equal PONG $reply } else { assert_match "BUSY*" $reply }
        foreach i {1 2 3} { $slow read }
        assert_equal [expr {6 + $ran}] [r get counter]
        config_set busy-reply-threshold 5000
        foreach c [list $slow $other $busy] { $c close }
    }
}
