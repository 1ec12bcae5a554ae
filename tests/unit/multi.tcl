# Transactions: queueing, what makes EXEC refuse, watched keys, and what a client in MULTI costs.

proc raw {client line} {
    $client write "$line\r\n"
    return [$client rawread]
}

# The fields of this client in CLIENT LIST, as seen by another one.
proc fields_of {id} {
    set line [lindex [split [r client list id $id] \n] 0]
    return [concat {*}[lmap word [split $line] { split $word = }]]
}
proc field {id name} { return [dict get [fields_of $id] $name] }

proc watching {} { return [list [s watching_clients] [s total_watched_keys]] }

# The reply of EXEC to a client that watches `key` while `body` runs: {} or PONG.
proc after_watch {c keys body} {
    $c watch {*}$keys
    uplevel 1 $body
    $c multi
    $c ping
    return [$c exec]
}

proc config_set_by_other {name value} {
    set other [valkey_client]
    $other config set $name $value
    $other close
}

set aborted "EXECABORT Transaction discarded because of previous errors."

start_server {tags {multi}} {
    set c [valkey_client]

    foreach resp {2 3} {
        r hello $resp
        $c hello $resp

        test "RESP$resp: commands are queued and run by EXEC" {
            r del a b
            assert_equal +OK [raw r MULTI]
            assert_equal +QUEUED [raw r {SET a 1}]
            assert_equal +QUEUED [raw r {INCR a}]
            assert_equal +QUEUED [raw r {HSET b f v}]
            assert_equal +QUEUED [raw r {HGETALL b}]
            assert_equal {} [$c get a]
            assert_equal {OK 2 1 {f v}} [r exec]
            assert_equal 2 [$c get a]
        }

        test "RESP$resp: each reply is in the client's protocol" {
            r del a
            r multi
            r get a
            r hgetall a
            set null [expr {$resp == 2 ? {$-1} : "_"}]
            set map [expr {$resp == 2 ? "*0" : "%0"}]
            assert_equal *2 [raw r EXEC]
            assert_equal $null [r rawread]
            assert_equal $map [r rawread]
        }

        test "RESP$resp: an empty transaction" {
            r multi
            assert_equal *0 [raw r EXEC]
        }

        test "RESP$resp: a transaction whose watched key changed replies a null array" {
            r watch a
            $c incr a
            r multi
            r incr a
            assert_equal [expr {$resp == 2 ? "*-1" : "_"}] [raw r EXEC]
            assert_error "ERR EXEC without MULTI" {r exec}
        }

        test "RESP$resp: HELLO in a transaction changes the replies behind it" {
            r multi
            r hello [expr {5 - $resp}]
            r get nokey
            r hello $resp
            r get nokey
            set replies [r exec]
            assert_equal 4 [llength $replies]
            assert_equal [expr {5 - $resp}] [dict get [lindex $replies 0] proto]
        }

        test "RESP$resp: an error of one command does not stop the others" {
            r set a x
            r multi
            r incr a
            r lpush a 1
            r set a y
            set replies [list "ERR value is not an integer or out of range" \
                "WRONGTYPE Operation against a key holding the wrong kind of value" OK]
            assert_equal $replies [r exec]
            assert_equal y [r get a]
        }
    }
    r hello 2
    $c hello 2

    test {the time does not change in a transaction, however long a command takes} {
        set spin {local t = os.clock() while os.clock() - t < 0.03 do end}
        r multi
        r time
        r eval $spin 0
        r set k v px 10
        r eval $spin 0
        r exists k
        r pttl k
        r time
        lassign [r exec] before - - - there ttl after
        assert_equal {1 10} [list $there $ttl]
        assert_equal $before $after
    }

    test {EXEC and DISCARD without MULTI} {
        assert_error "ERR EXEC without MULTI" {r exec}
        assert_error "ERR DISCARD without MULTI" {r discard}
    }

    test {DISCARD drops the queue and the watched keys} {
        r set a 1
        r watch a
        r multi
        r set a 2
        $c set a 3
        assert_equal OK [r discard]
        assert_equal 3 [r get a]
        assert_equal {0 0} [watching]
        r multi
        r ping
        assert_equal PONG [r exec]
    }

    foreach {what command error} {
        {an unknown command} {nosuch x} {ERR unknown command 'nosuch', with args beginning with: 'x' }
        {an unknown subcommand} {client nosuch} {ERR unknown subcommand 'nosuch'. Try CLIENT HELP.}
        {a wrong number of arguments} {set a} {ERR wrong number of arguments for 'set' command}
        {a wrong number of arguments of a subcommand} {client kill} {ERR wrong number of arguments for 'client|kill' command}
        {nested MULTI} {multi} {ERR Command 'multi' not allowed inside a transaction}
        {WATCH} {watch k} {ERR Command 'watch' not allowed inside a transaction}
        {SHUTDOWN} {shutdown nosave} {ERR Command 'shutdown' not allowed inside a transaction}
        {SAVE} {save} {ERR Command 'save' not allowed inside a transaction}
        {CLIENT REPLY} {client reply off} {ERR Command 'client|reply' not allowed inside a transaction}
        {SYNC} {sync} {ERR Command 'sync' not allowed inside a transaction}
        {MULTI with an argument} {multi x} {ERR wrong number of arguments for 'multi' command}
        {UNWATCH with an argument} {unwatch x} {ERR wrong number of arguments for 'unwatch' command}
        {RESET with an argument} {reset x} {ERR wrong number of arguments for 'reset' command}
    } {
        test "$what aborts the transaction" {
            r set a before
            r multi
            assert_equal QUEUED [r set a after]
            assert_error $error {r {*}$command}
            assert_equal QUEUED [r set a after]
            assert_error $aborted {r exec}
            assert_equal before [r get a]
            assert_error "ERR EXEC without MULTI" {r exec}
        }
    }

    test {after an error, DISCARD starts anew} {
        r multi
        assert_error "ERR*" {r nosuch}
        assert_error "ERR wrong number of arguments for 'discard' command" {r discard x}
        r discard
        r multi
        r ping
        assert_equal PONG [r exec]
    }

    test {an EXEC that is refused itself says why, and ends the transaction} {
        set why "EXECABORT Transaction discarded because of: syntax error"
        r set a 1
        r watch a
        r multi
        r set a 2
        assert_error $why {r exec now}
        assert_equal {0 0} [watching]
        assert_error "ERR EXEC without MULTI" {r exec}
        assert_error "ERR EXEC without MULTI" {r exec now}
        assert_equal 1 [r get a]
    }

    test {EXECABORT takes precedence over changed keys} {
        r watch a
        $c incr a
        r multi
        assert_error "ERR*" {r nosuch}
        assert_error $aborted {r exec}
    }

    test {SELECT in a transaction lasts} {
        r select 9
        r del a
        r multi
        r select 10
        r set a ten
        r exec
        assert_equal ten [r get a]
        assert_match "*db=10 *" [r client info]
        r flushdb
        r select 9
        assert_equal {} [r get a]
        r select 0
    }

    test {DISCARD does not undo a SELECT} {
        r multi
        r select 10
        r discard
        assert_match "*db=0 *" [r client info]
    }

    test {big arguments, and many} {
        set big [string repeat "0123456789" 20000]
        r del l
        r multi
        r set a $big
        r append a tail
        r rpush l $big small $big {} x
        r mset b $big c small
        r getrange a 199995 -1
        r lindex l 2
        for {set i 0} {$i < 1000} {incr i} { r rpush l $i }
        set replies [r exec]
        assert_equal [list OK 200004 5 OK 56789tail $big 6] [lrange $replies 0 6]
        assert_equal 1005 [lindex $replies end]
        assert_equal $big [r get b]
        assert_equal 999 [r lindex l -1]
    }

    test {a whole transaction in one write, and two} {
        r write "MULTI\r\nSET a 1\r\nGET a\r\nEXEC\r\nMULTI\r\nINCR a\r\nDISCARD\r\nGET a\r\n"
        assert_equal {OK QUEUED QUEUED {OK 1} OK QUEUED OK 1} [lmap i [lrepeat 8 x] { r read }]
    }

    test {CLIENT REPLY OFF within a transaction does not silence the connection} {
        set d [valkey_deferring_client]
        $d write "MULTI\r\nPING\r\nCLIENT REPLY OFF\r\nEXEC\r\nPING\r\n"
        assert_equal {+OK +QUEUED} [lmap i {1 2} { $d rawread }]
        assert_equal "-ERR Command 'client|reply' not allowed inside a transaction" [$d rawread]
        assert_equal "-$aborted" [$d rawread]
        assert_equal +PONG [$d rawread]
        $d close
    }

    test {nested MULTI: the transaction has failed, and is over after EXEC} {
        r config resetstat
        assert_equal OK [r multi]
        assert_error "ERR Command 'multi' not allowed inside a transaction" {r multi}
        assert_error $aborted {r exec}
        assert_match "*cmdstat_multi:calls=1,*rejected_calls=1,failed_calls=0*" [r info commandstats]
        assert_equal OK [r multi]
        assert_equal {} [r exec]
    }

    test {scripts run in transactions, not the other way round} {
        r multi
        r eval {return redis.call('set', KEYS[1], 'script')} 1 a
        r eval {return redis.error_reply('ERR no')} 0
        r get a
        assert_equal {OK {ERR no} script} [r exec]
        foreach name {multi exec discard {watch k} unwatch} {
            set call [join [lmap w $name { string cat ' $w ' }] ,]
            assert_error "*not allowed from script*" {r eval "return redis.call($call)" 0}
        }
    }

    test {a blocking command in a transaction replies at once} {
        r del q z
        r multi
        r blpop q 0
        r brpoplpush q q2 0
        r bzpopmin z 0
        r rpush q 1
        r blpop q 0
        assert_equal {{} {} {} 1 {q 1}} [r exec]
        assert_equal 0 [s blocked_clients]
    }

    test {after EXEC, commands block as before} {
        set d [valkey_deferring_client]
        $d multi
        $d exec
        $d blpop q 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r rpush q x
        assert_equal {OK {} {q x}} [lmap i {1 2 3} { $d read }]
        $d close
    }

    test {clients that wait are served after EXEC} {
        set d [valkey_deferring_client]
        $d blpop q 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r multi
        r rpush q 1
        r llen q
        r rpush q 2
        r lrange q 0 -1
        assert_equal {1 1 2 {1 2}} [r exec]
        assert_equal {q 1} [$d read]
        assert_equal 2 [r lrange q 0 -1]
        r del q

        $d blpop q 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "it does not wait" }
        r multi
        r rpush q 1
        r del q
        r exec
        assert_equal 1 [s blocked_clients]
        r rpush q last
        assert_equal {q last} [$d read]
        $d close
    }

    # ---- WATCH ----

    test {WATCH: nothing changed} {
        r set k 1
        assert_equal PONG [after_watch $c {k nokey} { r get k; r set other 1; r select 9; r set k 2; r flushdb; r select 0 }]
    }

    foreach {what prepare change} {
        {overwritten}           {r set k 1}            {r set k 2}
        {overwritten by itself} {r set k 1}            {$c set k 2}
        {the same value again}  {r set k 1}            {r set k 1}
        {deleted}               {r set k 1}            {r del k}
        {created}               {r del k}              {r set k 1}
        {created and deleted}   {r del k}              {r set k 1; r del k}
        {unlinked}              {r set k 1}            {r unlink k}
        {renamed}               {r set k 1}            {r rename k other}
        {renamed to}            {r set other 1}        {r rename other k}
        {copied to}             {r set other 1}        {r copy other k replace}
        {given an expiry}       {r set k 1}            {r expire k 100}
        {made to stay}          {r set k 1 ex 100}     {r persist k}
        {incremented}           {r set k 1}            {r incr k}
        {appended to}           {r set k 1}            {r append k 1}
        {a bit of it set}       {r set k 1}            {r setbit k 9 1}
        {read with an expiry}   {r set k 1}            {r getex k ex 100}
        {read and deleted}      {r set k 1}            {r getdel k}
        {pushed to}             {r del k; r rpush k 1} {r rpush k 2}
        {popped from}           {r del k; r rpush k 1} {r lpop k}
        {sorted set, grown}     {r del k; r zadd k 1 a} {r zadd k 2 b}
        {sorted set, a score}   {r del k; r zadd k 1 a} {r zincrby k 1 a}
        {sorted set, emptied}   {r del k; r zadd k 1 a} {r zrem k a}
        {set, grown}            {r del k; r sadd k a}  {r sadd k b}
        {set, moved from}       {r del k other; r sadd k a} {r smove k other a}
        {hash, a field set}     {r del k; r hset k f v} {r hset k f w}
        {hash, a field gone}    {r del k; r hset k f v} {r hdel k f}
        {counted}               {r del k}              {r pfadd k a b}
        {by a script}           {r set k 1}            {r eval {redis.call('set', KEYS[1], 2)} 1 k}
        {by a transaction}      {r set k 1}            {r multi; r set k 2; r exec}
        {FLUSHALL}              {r set k 1}            {r flushall}
        {FLUSHALL ASYNC}        {r set k 1}            {r flushall async}
        {FLUSHDB}               {r set k 1}            {r flushdb}
        {SWAPDB, away}          {r set k 1}            {r swapdb 0 9}
        {SWAPDB, to it}         {r del k; r select 9; r set k 1; r select 0} {r swapdb 9 0}
        {one of several}        {r mset j 1 k 1 l 1}   {r set l 2}
    } {
        test "WATCH: $what" {
            eval $prepare
            assert_equal {} [after_watch $c {j k l} $change]
            assert_equal {0 0} [watching]
            assert_equal PONG [after_watch $c {j k l} {}]
        }
    }

    foreach {what prepare change} {
        {SADD of a member}          {r sadd k a}     {r sadd k a}
        {DEL of a missing key}      {}               {r del k}
        {SREM of no member}         {r sadd k a}     {r srem k b}
        {ZADD of the same score}    {r zadd k 1 a}   {r zadd k 1 a}
        {SETNX of a key}            {r set k 1}      {r setnx k 2}
        {PERSIST without an expiry} {r set k 1}      {r persist k}
        {a failing command}         {r set k x}      {catch {r incr k}}
        {FLUSHALL, of a missing key} {}              {r flushall}
        {SWAPDB, of a missing key} {}                {r swapdb 0 9}
        {SWAPDB of others}          {r set k 1}      {r swapdb 8 9}
        {a touch}                   {r set k 1}      {r touch k}
        {another database's key}    {r set k 1}      {r select 9; r set k 1; r del k; r flushdb; r select 0}
    } {
        test "WATCH: no change by $what" {
            r del k
            eval $prepare
            assert_equal PONG [after_watch $c k $change]
        }
    }

    test {WATCH: a key named twice is watched once} {
        r watch x x
        r watch y x
        assert_match "* watch=2 *" [r client info]
        r unwatch
        assert_match "* watch=0 *" [r client info]
    }

    test {WATCH in another database} {
        r set k 1
        $c select 9
        assert_equal PONG [after_watch $c k {r set k 2}]
        assert_equal {} [after_watch $c k {r select 9; r set k 2; r select 0}]
        r del k
        assert_equal {} [after_watch $c k {r swapdb 3 9}]
        r swapdb 3 9
        assert_equal {} [after_watch $c k {r swapdb 9 3}]
        r swapdb 3 9
        $c flushdb
        $c select 0
    }

    test {WATCH: the same name in two databases is two keys} {
        $c select 9
        $c watch k
        $c select 0
        $c watch k
        assert_equal {1 2} [watching]
        r select 9
        r set k 1
        r flushdb
        r select 0
        $c multi
        assert_equal {} [$c exec]
        assert_equal {0 0} [watching]
    }

    test {UNWATCH discards changes that have happened} {
        assert_equal PONG [after_watch $c k {r incr k; $c unwatch}]
        assert_equal OK [$c unwatch]
    }

    test {UNWATCH in a transaction comes too late} {
        r set k 1
        $c watch k
        r set k 2
        $c multi
        assert_equal QUEUED [$c unwatch]
        assert_equal {} [$c exec]
    }

    test {EXEC ends the watch, whatever its result} {
        foreach end {{$c exec} {$c discard} {catch {$c exec x}}} {
            $c watch k
            $c multi
            eval $end
            assert_equal {0 0} [watching]
            r incr k
            $c multi
            $c ping
            assert_equal PONG [$c exec]
        }
    }

    test {a transaction does not fail by changes to its watched keys of its own} {
        r set k 1
        $c watch k
        $c multi
        $c set k 2
        $c set k 3
        assert_equal {OK OK} [$c exec]
    }

    test {many clients watch one key, one client many keys} {
        set many [lmap i [lrepeat 20 x] { valkey_client }]
        foreach d $many { $d watch k other }
        $c watch {*}[lmap i [lrepeat 500 x] { incr n }] k k k other
        assert_equal {21 502} [watching]
        r set k 1
        assert_equal {0 0} [watching]
        foreach d [concat $many $c] {
            $d multi
            assert_equal {} [$d exec]
        }
        foreach d $many { $d close }
    }

    test {FLUSHALL with many clients and keys} {
        r set k 1
        set many [lmap i [lrepeat 10 x] { valkey_client }]
        set n 0
        foreach d $many { $d watch key:[incr n] [expr {$n % 2 ? "k" : "nokey"}] }
        r flushall
        assert_equal {5 6} [watching]
        set n 0
        foreach d $many {
            $d multi
            $d ping
            assert_equal [expr {[incr n] % 2 ? {} : "PONG"}] [$d exec]
            $d close
        }
    }

    tags {needs:debug} {
        test {WATCH: a key that expires} {
            r set k 1 px 20
            assert_equal {} [after_watch $c k {after 60}]
            r set k 1 px 20
            assert_equal {} [after_watch $c k {after 60; r get k}]
        }

        test {WATCH: a key that expires and is not accessed} {
            r debug set-active-expire 0
            r set k 1 px 20
            assert_equal {} [after_watch $c k {after 60}]
        }

        foreach {what change reply} {
            {and stays}       {}           PONG
            {is found}        {r get k}    PONG
            {is deleted}      {r del k}    PONG
            {is flushed}      {r flushall} PONG
            {is set}          {r set k 2}  {}
            {is found and then set} {r get k; r set k 2} {}
            {is flushed and then set} {r flushall; r set k 2} {}
            {is swapped away} {r swapdb 0 9}               PONG
            {is swapped away and back} {r swapdb 0 9; r swapdb 9 0} PONG
            {is swapped for another} {r select 9; r set k 2; r select 0; r swapdb 0 9} {}
            {is swapped for another such} {r select 9; r set k 2 px 1; r select 0; after 20; r swapdb 0 9} PONG
        } {
            test "WATCH: a key that has expired before, $what" {
                r set k 1 px 1
                after 20
                assert_equal $reply [after_watch $c k $change]
            }
        }
        test {WATCH: an expired key is created where there was none} {
            r del k
            r select 9
            r set k 1 px 1
            r select 0
            after 20
            assert_equal PONG [after_watch $c k {r swapdb 0 9}]
            # A key that existed when the watch began does not any more.
            r flushall
            r set k 1 px 50
            assert_equal {} [after_watch $c k {after 80; r swapdb 0 9}]
            r flushall
        }
        r debug set-active-expire 1
    }

    # ---- The client ----

    test {CLIENT LIST: flags, multi, watch, multi-mem} {
        r del k
        set d [valkey_client]
        set id [$d client id]
        proc looks {id} { return [lmap f {flags multi watch} { field $id $f }] }
        assert_equal {N -1 0} [looks $id]
        assert_equal 0 [field $id multi-mem]
        # A reply that is here may still count as on its way: an I/O thread notes that it is sent when it is.
        set idle [field $id tot-mem]
        for {set i 0} {$i < 10} {incr i} { after 5; set idle [expr {min($idle, [field $id tot-mem])}] }
        $d watch a b k
        assert_equal {N 0 3} [looks $id]
        assert_morethan [field $id tot-mem] $idle
        $d multi
        assert_equal {x 0 3} [looks $id]
        $d set k 1
        $d get k
        assert_equal {x 2 3} [looks $id]
        r set k 2
        assert_equal {xd 0 0} [looks $id]
        assert_equal {} [$d exec]
        assert_equal {N 0 0} [looks $id]
        wait_for_condition 100 5 {[field $id tot-mem] == $idle} else { fail "[field $id tot-mem], not $idle bytes" }
        $d watch k
        r set k 1
        assert_equal {d 0 0} [looks $id]
        $d watch another
        assert_equal {d 0 0} [looks $id]
        $d unwatch
        assert_equal {N 0 0} [looks $id]

        $d multi
        $d set k [string repeat x 1000]
        assert_range [field $id multi-mem] 1000 1200
        $d set k [string repeat x 100000]
        assert_range [field $id multi-mem] 101000 140000
        assert_morethan_equal [field $id tot-mem] [expr {$idle + [field $id multi-mem]}]
        $d client info
        assert_match "*flags=x *multi=3 *" [lindex [$d exec] end]
        assert_equal 0 [field $id multi-mem]
        $d close
    }

    test {RESET ends a transaction and the watch} {
        set d [valkey_client]
        $d watch k
        $d multi
        $d set k reset
        assert_equal RESET [$d reset]
        assert_equal {0 0} [watching]
        assert_error "ERR EXEC without MULTI" {$d exec}
        assert_not_equal reset [r get k]
        r incr k2
        $d watch k2
        r incr k2
        $d reset
        $d multi
        $d ping
        assert_equal PONG [$d exec]
        $d close
    }

    test {QUIT in a transaction} {
        set d [valkey_client]
        $d multi
        $d set k quit
        assert_equal OK [$d quit]
        assert_error "*closed the connection*" {$d read}
        assert_not_equal quit [r get k]
        $d close
    }

    test {a client that disconnects leaves no watched keys behind} {
        set before [s used_memory]
        for {set i 0} {$i < 5} {incr i} {
            set d [valkey_client]
            $d watch a b c
            $d multi
            $d set k [string repeat x 1000000]
            $d set k small
            $d close
        }
        wait_for_condition 500 20 {[s connected_clients] == 2} else { fail "it is still there" }
        assert_equal {0 0} [watching]
        assert_lessthan [s used_memory] [expr {$before + 1000000}]
    }

    test {CLIENT KILL of a client with a queue} {
        set d [valkey_client]
        set id [$d client id]
        $d watch k
        $d multi
        $d set k killed
        assert_equal 1 [r client kill id $id]
        assert_error "*closed the connection*" {$d read}
        assert_equal {0 0} [watching]
        assert_not_equal killed [r get k]
        $d close
    }

    test {a client that kills itself within a transaction finishes it} {
        set d [valkey_client]
        set id [$d client id]
        $d multi
        $d client kill id $id skipme no
        $d set k finished
        assert_equal 1 [lindex [$d exec] 0]
        assert_error "*closed the connection*" {$d read}
        assert_equal finished [r get k]
        $d close
    }

    test {statistics count queued commands when they run} {
        r config resetstat
        r set k x
        r multi
        r incr k
        r get k
        assert_error "ERR*" {r get}
        catch {r exec}
        r multi
        r incr k
        r get k
        r exec
        assert_match "*cmdstat_get:calls=1,*rejected_calls=1,failed_calls=0*" [r info commandstats]
        assert_match "*cmdstat_incr:calls=1,*rejected_calls=0,failed_calls=1*" [r info commandstats]
        assert_match "*cmdstat_exec:calls=2,*rejected_calls=0,failed_calls=1*" [r info commandstats]
        assert_match "*errorstat_EXECABORT:count=1*" [r info errorstats]
        r multi
        catch {r exec x}
        assert_match "*cmdstat_exec:calls=3,*rejected_calls=0,failed_calls=2*" [r info commandstats]
        assert_match "*errorstat_EXECABORT:count=2*" [r info errorstats]
    }
    $c close
}

start_server {overrides {client-query-buffer-limit 1mb} tags {multi external:skip}} {
    test {queued commands count against client-query-buffer-limit} {
        set d [valkey_client]
        $d multi
        assert_error "I/O error*" {
            for {set i 0} {$i < 20} {incr i} { $d set k [string repeat x 100000] }
        }
        assert_range $i 9 11
        assert_equal 1 [s client_query_buffer_limit_disconnections]
        assert_equal 1 [count_log_message "*reached max query buffer length*multi=*"]
        $d close
    }

    test {without a transaction it does not} {
        for {set i 0} {$i < 20} {incr i} { r set k [string repeat x 100000] }
        r ping
    } PONG
}

start_server {tags {multi external:skip}} {
    test {out of memory: what needs none is queued, and EXEC runs nothing that needs memory} {
        set oom "OOM command not allowed when used memory > 'maxmemory'."
        r set k before
        set e [valkey_client]
        foreach c [list r $e] { $c multi }
        r set k after
        $e get k
        config_set_by_other maxmemory 1
        assert_error "EXECABORT Transaction discarded because of: $oom" {r exec}
        assert_equal before [$e exec]
        r multi
        foreach command {{get k} ping unwatch {del nosuch}} { assert_equal QUEUED [r {*}$command] }
        assert_equal {before PONG OK 0} [r exec]
        r multi
        assert_equal QUEUED [r get k]
        assert_error $oom {r set k v}
        assert_error $aborted {r exec}
        r multi
        assert_equal RESET [r reset]
        config_set_by_other maxmemory 0
        assert_equal before [r get k]
        $e close
    }
}

start_server {overrides {requirepass secret} tags {multi external:skip}} {
    test {without a password neither MULTI nor EXEC} {
        assert_error "NOAUTH Authentication required." {r multi}
        assert_error "NOAUTH Authentication required." {r set k 1}
        assert_error "EXECABORT Transaction discarded because of: NOAUTH Authentication required." {r exec}
        r auth secret
        r multi
        r config set requirepass other
        r set k 1
        assert_equal {OK OK} [r exec]
    }

    test {RESET logs the client out} {
        r multi
        r set k 2
        r reset
        assert_error "NOAUTH*" {r get k}
        r auth other
        assert_equal 1 [r get k]
    }
}

start_server {overrides {busy-reply-threshold 100} tags {multi slow external:skip}} {
    test {a busy server refuses a transaction as a whole} {
        set d [valkey_deferring_client]
        foreach c {e f} {
            set $c [valkey_client]
            [set $c] multi
            [set $c] set k queued
        }
        $d eval {while true do end} 0
        wait_for_condition 200 50 {[catch {r ping} error] && [string match BUSY* $error]} else { fail "not busy" }
        assert_error "EXECABORT Transaction discarded because of: BUSY*" {$e exec}
        assert_equal OK [$e multi]
        assert_error "BUSY*" {$e set k queued}
        assert_error "BUSY*" {$f set k queued}
        r script kill
        assert_error "*SCRIPT KILL*" {$d read}
        assert_error $aborted {$e exec}
        assert_error $aborted {$f exec}
        assert_equal {} [r get k]
        foreach c [list $d $e $f] { $c close }
    }

    test {during a slow script in a transaction the queue stays intact} {
        set d [valkey_deferring_client]
        set big [string repeat x 50000]
        $d multi
        $d set k $big
        $d eval {local n = 0; while redis.call('incr', 'n') < 1000000 do end; return 'done'} 0
        $d get k
        $d exec
        wait_for_condition 500 20 {[catch {r ping}]} else { }
        assert_equal {OK QUEUED QUEUED QUEUED} [lmap i {1 2 3 4} { $d read }]
        assert_equal [list OK done $big] [$d read]
        $d close
    }
}
