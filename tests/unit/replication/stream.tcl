# What a primary sends its replicas for each command, argument by argument; a running Valkey 9.1, where there is one,
# must send the same. Random choices are left out of the commands, and times of the clock out of the comparison.

# A replica that is no more than a socket.
proc follower {} {
    r config set repl-diskless-sync-delay 0
    set f [valkey_client]
    assert_equal OK [$f replconf capa eof capa psync2]
    $f write "PSYNC ? -1\r\n"
    while {![string match +FULLRESYNC* [set line [$f rawread]]]} {}
    while {![regexp {^\$EOF:(.*)$} [$f rawread] - mark]} {}
    set bytes {}
    while {[string range $bytes end-39 end] ne $mark} { append bytes [$f rawread 1] }
    $f deferred 1
    wait_for_condition 100 50 {[set_online $f]} else { fail "the stream does not start" }
    return $f
}

proc set_online {f} {
    $f replconf ack 0
    return [string match *state=online* [r info replication]]
}

# Up to the message that marks the end of what a command caused.
proc next_part {f number} {
    set part {}
    while 1 {
        set command [$f read]
        if {[string tolower [lindex $command 0]] in {ping replconf}} { continue }
        if {$command eq [list PUBLISH marker $number]} { return $part }
        lappend part [plain $command]
    }
}

proc plain {command} {
    set now [clock milliseconds]
    set out {}
    foreach word $command {
        if {[regexp {^(\d{13})(-\d+)?$} $word - ms id] && abs($ms - $now) < 100000000} { set word [expr {$id eq {} ? "<ms>" : "<id>"}] }
        lappend out $word
    }
    return $out
}

# Each command and what it sent. `wait CMD` is one that blocks; `answer` takes its reply.
proc streams {commands} {
    set f [follower]
    set c [valkey_client]
    set marker [valkey_client]
    set out {}
    set n 0
    foreach command $commands {
        switch [lindex $command 0] {
            wait { set waiting [blocked_client {*}[lrange $command 1 end]] }
            answer { answer $waiting }
            after { after [lindex $command 1] }
            default { catch {$c {*}$command} }
        }
        $marker PUBLISH marker [incr n]
        lappend out $command [next_part $f $n]
    }
    foreach client [list $f $c $marker] { $client close }
    return $out
}

set commands {
    {SET a v} {set a v EX 100} {SET a v NX} {SET n v NX GET EX 10} {SET a w IFEQ v} {SETEX a 100 v} {MSETEX 2 a 1 b 2 EX 100} {GETSET a w} {GETDEL a}
    {SET a v} {GETEX a EX 100} {GETEX a PERSIST} {DELIFEQ a v} {SET x 1} {INCRBYFLOAT x 1.5} {EXPIRE x 100} {EXPIREAT x 99999999999} {PERSIST x}
    {EXPIRE x -1} {SET x v} {GETEX x EXAT 1} {SET x v PXAT 1} {SET x v} {UNLINK x} {SETRANGE x 0 ab} {BITFIELD x SET u8 0 1} {BITFIELD x GET u8 0}
    {RPUSH l a b c d} {LPOP l 2} {LMPOP 2 none l RIGHT COUNT 1} {BLPOP l 0} {wait BLMOVE l m LEFT RIGHT 0} {RPUSH l a} answer
    {wait BLPOP q1 q2 0} {RPUSH q2 a b} answer {BLPOP none 0.01} {SORT none STORE d} {RPUSH d 2 1} {SORT d STORE e}
    {SADD s a} {SPOP s} {SADD s a} {SPOP s 5} {SINTERSTORE d s none}
    {HSET h a 1 b 2} {HINCRBYFLOAT h a 1.5} {HEXPIRE h 100 FIELDS 2 a b} {HEXPIRE h 100 FIELDS 2 a none} {HPERSIST h FIELDS 1 a} {HEXPIRE h 0 FIELDS 1 b}
    {HSETEX h EX 100 FIELDS 1 a 1} {HGETEX h EX 100 FIELDS 1 a} {HGETEX h PERSIST FIELDS 1 a} {HGETDEL h FIELDS 1 a}
    {ZADD z 1 a 2 b 3 c} {ZADD z INCR 1 a} {ZPOPMIN z} {ZMPOP 1 z MAX COUNT 2} {wait BZPOPMIN z 0} {ZADD z 1 a 2 b} answer {ZRANGESTORE y none 0 -1}
    {GEOADD g 13.361389 38.115556 p} {GEORADIUS g 15 37 200 km STORE y} {PFADD p a} {PFADD p a} {PFCOUNT p} {PFMERGE q3 p}
    {XADD t * a 1} {XADD t MAXLEN ~ 100 * a 1} {DEL t} {XADD t 1-1 a 1} {XGROUP CREATE t g 0} {XGROUP CREATECONSUMER t g c} {XREADGROUP GROUP g c STREAMS t >}
    {XCLAIM t g c 0 1-1} {XACK t g 1-1} {XTRIM t MAXLEN 0} {XGROUP DESTROY t g}
    {SELECT 3} {SET k v} {MOVE k 0} {SELECT 0} {SWAPDB 0 1} {FLUSHDB} {FLUSHALL} {FLUSHALL ASYNC}
    MULTI {SET a 1} {INCR a} EXEC MULTI {SET a 1} EXEC MULTI {PUBLISH c m} {SET a 1} EXEC MULTI {PUBLISH c m} EXEC MULTI {GET a} EXEC
    {EVAL {redis.call('set', 'a', '1')} 0} {EVAL {redis.call('set', 'a', '1') redis.call('incr', 'a')} 0} {EVAL {redis.call('publish', 'c', 'm')} 0}
    {EVAL {redis.set_repl(redis.REPL_NONE) redis.call('set', 'a', '1')} 0}
    {EVAL {redis.set_repl(redis.REPL_REPLICA) redis.call('set', 'a', '1')} 0} {SCRIPT LOAD {return 1}} {FUNCTION FLUSH}
    {PUBLISH news m} {publish c m} {SPUBLISH c m} {SET e v PX 10} {after 20} {GET e} {CONFIG SET lazyfree-lazy-expire no} {SET e v} {EXPIRE e -1}
    {CONFIG SET lazyfree-lazy-server-del no} {SADD s a} {SPOP s}
}

tags {external:skip} {
    start_server {overrides {enable-debug-command yes}} {
        r config set hz 1
        r debug set-active-expire 0
        set ours [streams $commands]

        test {relative times become absolute, random choices definite, and messages are sent} {
            foreach {command part} {
                {SETEX a 100 v} {{SET a v PXAT <ms>}} {SPOP s} {{SREM s a}} {SPOP s 5} {{UNLINK s}} {PUBLISH news m} {{PUBLISH news m}} {SPUBLISH c m} {{SPUBLISH c m}}
                {BLPOP l 0} {{LPOP l}} {SCRIPT LOAD {return 1}} {}
            } {
                assert_equal $part [lindex $ours [expr {[lsearch -exact $ours $command] + 1}]] $command
            }
        }

        test {a message in a transaction stands where it was sent} {
            set f [follower]
            set c [valkey_client]
            $c multi
            $c set k v
            $c publish c m
            $c exec
            $c PUBLISH marker 1
            assert_equal {MULTI {SELECT 0} {set k v} {publish c m} EXEC} [next_part $f 1]
            foreach client [list $f $c] { $client close }
        }
    }

    start_server {overrides {appendonly yes appendfsync always}} {
        test {messages are not in files} {
            r set k v
            set size [s aof_current_size]
            r publish c m
            r multi
            r publish c m
            r set k w
            r exec
            assert_morethan [s aof_current_size] $size
            set text {}
            foreach file [glob [srv dir]/appendonlydir/*.incr.aof] {
                set fd [open $file rb]
                append text [read $fd]
                close $fd
            }
            # Without a replica messages are not sent, so the only remaining command needs no transaction.
            assert_match *set*k*w* $text
            assert_no_match *MULTI* $text
            assert_no_match *publish* $text
        }
    }

    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 sends the same stream} { skip "no Valkey to compare with: utils/oracle fetches it" }
    } else {
        start_server [list executable [valkey_oracle] overrides {enable-debug-command yes}] {
            test {Valkey 9.1 sends the same stream} {
                r config set hz 1
                r debug set-active-expire 0
                foreach {command part} [streams $commands] {other expected} $ours {
                    assert_equal $part $expected $command
                }
            }
        }
    }
}
