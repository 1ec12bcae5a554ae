# XREAD BLOCK and XREADGROUP BLOCK: which clients are woken, by what, in which order, and with which reply.

proc group {key args} {
    r del $key
    r xgroup create $key g $ mkstream
}

start_server {tags {stream}} {
    test {XREAD BLOCK is woken by XADD} {
        r del s
        set c [blocked_client xread block 0 streams s 0]
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
        wait_for_blocked 0
    }

    test {XREAD BLOCK replies at once when there are entries} {
        r del s
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [r xread block 10000 streams s 0]
    }

    test {$ is the end of the stream when the client came} {
        r del s
        r xadd s 1-1 a 1
        set c [blocked_client xread block 0 streams s $]
        r xdel s 1-1
        r set other x
        assert_equal 1 [s blocked_clients]
        r xadd s 1-2 a 2
        assert_equal {{s {{1-2 {a 2}}}}} [answer $c]
        r del s
        set c [blocked_client xread block 0 streams s s $ 5]
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
    }

    test {XREAD BLOCK + waits for the first entry} {
        r del s
        set c [blocked_client xread block 0 streams s +]
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
    }

    test {an entry that is not new enough does not wake a client} {
        r del s
        set c [blocked_client xread block 0 streams s 5-0]
        r xadd s 3-0 a 3
        r xadd s 5-0 a 5
        assert_equal 1 [s blocked_clients]
        r xadd s 5-1 a 6
        assert_equal {{s {{5-1 {a 6}}}}} [answer $c]
    }

    test {an entry trimmed by its own XADD does not wake a client} {
        r del s
        set c [blocked_client xread block 0 streams s 0]
        r xadd s maxlen 0 1-0 a 1
        assert_equal 1 [s blocked_clients]
        r xadd s 2-0 a 2
        assert_equal {{s {{2-0 {a 2}}}}} [answer $c]
    }

    test {timeouts, in both protocols} {
        r del s
        set start [clock milliseconds]
        assert_equal {} [r xread block 60 streams s 0]
        assert_range [expr {[clock milliseconds] - $start}] 55 2000
        r write "*6\r\n\$5\r\nXREAD\r\n\$5\r\nBLOCK\r\n\$2\r\n10\r\n\$7\r\nSTREAMS\r\n\$1\r\ns\r\n\$1\r\n0\r\n"
        assert_equal {*-1} [r rawread]
        r hello 3
        r write "*6\r\n\$5\r\nXREAD\r\n\$5\r\nBLOCK\r\n\$2\r\n10\r\n\$7\r\nSTREAMS\r\n\$1\r\ns\r\n\$1\r\n0\r\n"
        assert_equal {_} [r rawread]
        r hello 2
    }

    test {several streams: the first that grows is returned} {
        r del s t u
        foreach key {s t u} {
            set c [blocked_client xread block 0 streams s t u 0 0 0]
            r xadd $key 1-1 a $key
            assert_equal [list [list $key [list [list 1-1 [list a $key]]]]] [answer $c]
            r del $key
        }
    }

    test {all readers are woken, in order; a group's consumers share} {
        r del s
        r xgroup create s g 0 mkstream
        foreach i {1 2 3} {
            lappend readers [blocked_client xread block 0 streams s $]
            lappend consumers [blocked_client xreadgroup group g c$i block 0 streams s >]
        }
        r xadd s 1-1 a 1
        foreach c $readers { assert_equal {{s {{1-1 {a 1}}}}} [answer $c] }
        wait_for_blocked 2
        assert_equal {{s {{1-1 {a 1}}}}} [answer [lindex $consumers 0]]
        r xadd s 1-2 a 2
        r xadd s 1-3 a 3
        assert_equal {{s {{1-2 {a 2}}}}} [answer [lindex $consumers 1]]
        assert_equal {{s {{1-3 {a 3}}}}} [answer [lindex $consumers 2]]
        assert_equal {1-1 c1 1-2 c2 1-3 c3} [join [lmap p [r xpending s g - + 10] { lrange $p 0 1 }]]
    }

    test {a client that blocks again keeps its place} {
        r del s
        r xgroup create s g 0 mkstream
        set first [blocked_client xreadgroup group g first block 0 streams s >]
        set second [blocked_client xreadgroup group g second block 0 streams s >]
        r xgroup create s other 0
        r xadd s maxlen 0 1-0 a 1
        assert_equal 2 [s blocked_clients]
        r xadd s 2-0 a 2
        assert_equal {{s {{2-0 {a 2}}}}} [answer $first]
        r xadd s 3-0 a 3
        assert_equal {{s {{3-0 {a 3}}}}} [answer $second]
    }

    test {COUNT, NOACK and a history that does not block} {
        group s
        assert_equal {{s {}}} [r xreadgroup group g c block 10000 streams s 0]
        set c [blocked_client xreadgroup group g c count 1 block 0 noack streams s >]
        r eval {redis.call('xadd', KEYS[1], '1-1', 'a', 1) redis.call('xadd', KEYS[1], '1-2', 'a', 2)} 1 s
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
        assert_equal 0 [lindex [r xpending s g] 0]
    }

    test {wake-ups in the middle of a script come after it} {
        r del s
        set c [blocked_client xread block 0 streams s $]
        assert_equal 0 [r eval {
            redis.call('xadd', KEYS[1], '1-1', 'a', 1)
            redis.call('xdel', KEYS[1], '1-1')
            return redis.call('xlen', KEYS[1])
        } 1 s]
        assert_equal 1 [s blocked_clients]
        r eval {for i = 2, 4 do redis.call('xadd', KEYS[1], '1-' .. i, 'a', i) end} 1 s
        assert_equal {{s {{1-2 {a 2}} {1-3 {a 3}} {1-4 {a 4}}}}} [answer $c]
    }

    test {scripts never block} {
        r del s
        assert_equal {} [r eval {return redis.call('xread', 'block', '0', 'streams', KEYS[1], '$')} 1 s]
        group s
        assert_equal {} [r eval {return redis.call('xreadgroup', 'group', 'g', 'c', 'block', '0', 'streams', KEYS[1], '>')} 1 s]
    }

    set nogroup "NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
    foreach {what command} {
        {DEL} {r del s}
        {UNLINK} {r unlink s}
        {XGROUP DESTROY} {r xgroup destroy s g}
        {FLUSHDB} {r flushdb}
        {RENAME} {r rename s elsewhere}
        {PEXPIRE in the past} {r pexpireat s 1}
        {a stream without the group} {r del other; r xadd other 1-1 a b; r rename other s}
    } {
        test "XREADGROUP BLOCK gets an error when its group is deleted: $what" {
            group s
            set c [blocked_client xreadgroup group g c block 0 streams s >]
            eval $command
            assert_error $nogroup { answer $c }
            wait_for_blocked 0
        }
    }

    test {XREADGROUP BLOCK gets an error when its key gets another type} {
        group s
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        r set s x
        assert_error "WRONGTYPE *" { answer $c }
        group s
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        r set l x
        r rename l s
        assert_error "WRONGTYPE *" { answer $c }
        r del s
    }

    test {XREADGROUP BLOCK gets an error when its key expires} {
        group s
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        r pexpire s 50
        assert_error $nogroup { answer $c }
    }

    test {destroying another group wakes no client} {
        group s
        r xgroup create s h 0
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        r xgroup destroy s h
        r xgroup setid s g 0
        assert_equal 1 [s blocked_clients]
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
    }

    test {XREAD BLOCK continues to wait when its key is deleted or gets another type} {
        r del s
        r xadd s 1-1 a 1
        set c [blocked_client xread block 0 streams s 1-1]
        r del s
        r set s x
        assert_equal 1 [s blocked_clients]
        r del s
        r xadd s 1-1 a 1
        r xadd s 1-2 a 2
        assert_equal {{s {{1-2 {a 2}}}}} [answer $c]
    }

    test {a client that waits for a group gets an error when the group ends, behind other readers} {
        group s
        set reader [blocked_client xread block 0 streams s $]
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        r del s
        assert_error $nogroup { answer $c }
        assert_equal 1 [s blocked_clients]
        $reader close
        wait_for_blocked 0
    }

    test {RENAME and COPY onto the key wake clients} {
        r del s t
        set c [blocked_client xread block 0 streams s 0]
        set d [blocked_client xread block 0 streams s 0]
        r xadd t 1-1 a 1
        r copy t s
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
        assert_equal {{s {{1-1 {a 1}}}}} [answer $d]
        r del s
        set c [blocked_client xread block 0 streams s 0]
        r rename t s
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
    }

    test {CLIENT UNBLOCK} {
        r del s
        foreach {how reply} {timeout {} error {UNBLOCKED client unblocked via CLIENT UNBLOCK}} {
            set c [valkey_deferring_client]
            $c client id
            set id [$c read]
            $c xread block 0 streams s 0
            wait_for_blocked 1
            assert_equal 1 [r client unblock $id $how]
            if {$how eq "error"} { assert_error $reply { answer $c } } else { assert_equal $reply [answer $c] }
        }
    }

    test {a client that disconnects while it waits leaves nothing behind} {
        group s
        set c [blocked_client xreadgroup group g c block 0 streams s >]
        $c close
        wait_for_blocked 0
        r xadd s 1-1 a 1
        assert_equal 0 [lindex [r xpending s g] 0]
    }

    test {a consumer that waits is created at once} {
        group s
        set c [blocked_client xreadgroup group g waiting block 0 streams s >]
        set consumers [r xinfo consumers s g]
        assert_equal waiting [dict get [lindex $consumers 0] name]
        assert_equal -1 [dict get [lindex $consumers 0] inactive]
        r xadd s 1-1 a 1
        assert_equal {{s {{1-1 {a 1}}}}} [answer $c]
        assert_morethan_equal [dict get [lindex [r xinfo consumers s g] 0] inactive] 0
    }
}
