# Reads that I/O threads run (parallel-reads): which requests they are, and that nobody can tell from outside. tests/parallel/stress
# looks for reads that see too little.
source [file join [file dirname [info script]] server_util.tcl]
source -encoding utf-8 $::support/cluster.tcl

proc request {args} { return [resp::encode $args] }

# How many reads threads run while body runs. What `s` asks is no read.
proc in_threads {body} {
    set before [s parallel_reads_processed]
    uplevel 1 $body
    return [expr {[s parallel_reads_processed] - $before}]
}

# Returns a client whose connection a thread has, and its id.
proc offloaded_client {} {
    set c [valkey_deferring_client]
    $c client id
    set id [$c read]
    wait_for_condition 50 100 {[regexp { io-thread=[1-9]} [r client list id $id]]} else { fail "not offloaded" }
    return [list $c $id]
}

# Returns one that has not logged in; the password is needed already.
proc unauthenticated_client {} {
    set c [valkey_deferring_client]
    wait_for_condition 50 100 {[regexp -all {io-thread=} [r client list]] >= 2 && ![regexp { io-thread=0 } [r client list]]} else { fail "not offloaded" }
    return $c
}

proc on_main_thread {body} { assert_equal 0 [uplevel 1 [list in_threads $body]] }

set threads {io-threads 3 io-threads-always-active yes parallel-reads yes parallel-reads-always yes save {}}

start_server [list overrides $threads tags {io-threads external:skip}] {
    wait_for_condition 50 100 {[s io_threads_active] == 1} else { fail "not active" }
    r client setname tester
    r mset a 1 b 2 big [string repeat x 100000] medium [string repeat y 9000]
    r hset hash f v g w
    r zadd zset 1 m 2 n
    r rpush list 1 2 3
    r sadd set x y
    wait_for_condition 50 100 {[regexp { io-thread=[12] } [r client list]]} else { fail "not offloaded" }

    test {reads of each type run in threads, and answer the same} {
        set reads {{get a} {mget a b none} {strlen big} {exists a b none} {ttl a} {type zset} {hget hash f} {hgetall hash} {hlen hash}
            {zrange zset 0 -1 withscores} {zscore zset m} {zrank zset n} {lrange list 0 -1} {llen list} {smembers set} {sismember set x}
            {getrange big 5 9} {get medium} {bitcount a} {zcount zset -inf +inf} {geodist zset m n} {sinter set set} {hscan hash 0}}
        foreach resp {2 3} {
            r hello $resp
            r config set parallel-reads yes
            set count [in_threads { set threaded [lmap words $reads { r {*}$words }] }]
            assert_range $count [expr {[llength $reads] - 2}] [llength $reads] ;# the main thread may have been at work
            r config set parallel-reads no
            on_main_thread { set plain [lmap words $reads { r {*}$words }] }
            assert_equal $plain $threaded
        }
        r hello 2
        r config set parallel-reads yes
    }

    # Each command with the flag readonly either runs in threads, with these arguments, or is in the second list. The design page
    # (docs/contributing/design/parallel-reads.md) has the reason for each of those.
    set threaded_examples {
        bitcount {a} bitfield_ro {a get u8 0} bitpos {a 1} dbsize {} digest {a} dump {a} exists {a b none} expiretime {a} geodist {geo x y} geohash {geo x} geopos {geo x}
        georadiusbymember_ro {geo x 10 km} georadius_ro {geo 1 1 500 km} geosearch {geo frommember x byradius 9 km} get {a} getbit {a 3} getrange {big 5 9}
        hexists {hash f} hexpiretime {hash fields 1 f} hget {hash f} hgetall {hash} hkeys {hash} hlen {hash} hmget {hash f g none} hpexpiretime {hash fields 1 f}
        hpttl {hash fields 1 f} hrandfield {single} hscan {hash 0} hstrlen {hash f} httl {hash fields 1 f} hvals {hash} keys {bi*} lcs {a b} lindex {list 1} llen {list}
        lpos {list 2} lrange {list 0 -1} {memory usage} {hash} mget {a b none} {object encoding} {hash} {object idletime} {none} {object refcount} {hash}
        {object freq} {none} pexpiretime {a} pfcount {hll} phcard {paths} phexists {paths p} phget {paths p f} phgetall {paths p} phlongest {paths pq} phmget {paths p fields 1 f}
        phprefixes {paths pq} phscan {paths 0} pttl {a} randomkey {} scan {0 match a} scard {set} sdiff {set none} sdiffcard {2 set none} sinter {set set}
        sintercard {2 set set} sismember {set x} smembers {set} smismember {set x z} sort_ro {list} srandmember {single-member} sscan {set 0} strlen {big} substr {a 0 0}
        sunion {set none} sunioncard {2 set none} touch {a none} ttl {a} type {zset} {xinfo consumers} {stream group} {xinfo groups} {stream} {xinfo stream} {stream full}
        xlen {stream} xpending {stream group} xrange {stream - +} xread {count 2 streams stream none 0 0} xrevrange {stream + -} zcard {zset} zcount {zset -inf +inf}
        zdiff {2 zset none} zinter {2 zset zset} zintercard {2 zset zset} zlexcount {zset - +} zmscore {zset m none} zrandmember {single-score} zrange {zset 0 -1 withscores}
        zrangebylex {zset - +} zrangebyscore {zset 1 2} zrank {zset n withscore} zrevrange {zset 0 -1} zrevrangebylex {zset + -} zrevrangebyscore {zset 2 1} zrevrank {zset n}
        zscan {zset 0} zscore {zset m} zunion {2 zset none withscores}
    }
    set on_main_thread_names {clusterscan eval_ro evalsha_ro fcall_ro lolwut}

    proc readonly_names {commands} {
        set names {}
        foreach command $commands {
            lassign $command name arity flags
            if {"readonly" in $flags && ![llength [lindex $command 9]]} { lappend names [string map {| { }} $name] }
            lappend names {*}[readonly_names [lindex $command 9]]
        }
        return $names
    }

    test {every command that is readonly is decided: it runs in threads with the same reply, or is listed} {
        r geoadd geo 1 1 x 1.01 1 y
        r hset single f v
        r sadd single-member m
        r zadd single-score 1 m
        r pfadd hll x y z
        r pfcount hll
        r phset paths p fields 1 f v
        r xadd stream 1-1 f v
        r xadd stream 2-1 f v g w
        r xgroup create stream group 0
        r xreadgroup group group consumer count 1 streams stream >
        foreach name [lsort [readonly_names [r command]]] {
            if {$name in $on_main_thread_names} continue
            if {![dict exists $threaded_examples $name]} { fail "$name is neither in threaded_examples nor in on_main_thread_names" }
            set words [concat $name [dict get $threaded_examples $name]]
            foreach resp {2 3} {
                r hello $resp
                r config set parallel-reads no
                set plain [r {*}$words]
                r config set parallel-reads yes
                if {$name ni {dump randomkey {xinfo consumers} {xinfo stream} xpending {memory usage} keys scan}} { assert_equal $plain [r {*}$words] }
                wait_for_condition 20 5 {[in_threads { r {*}$words }] == 1} else { fail "$words does not run in a thread" }
            }
        }
        r hello 2
        assert_equal {} [lmap name $on_main_thread_names { if {$name in [readonly_names [r command]]} continue; set name }]
        set page [file join $::support .. .. docs contributing design parallel-reads.md]
        if {![file exists $page]} return ;# the tree of tests/mutants has none
        foreach name $on_main_thread_names { assert_match "*`[string toupper $name]`*" [read_file $page] }
    }

    test {reads of streams: blocking ones wait, and are answered as on the main thread} {
        set c [valkey_deferring_client]
        $c write "[request get a][request xread block 0 streams stream \$][request get b]"
        assert_equal 1 [$c read]
        wait_for_condition 50 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r xadd stream 3-1 f v
        assert_equal [list {{stream {{3-1 {f v}}}}} 2] [list [$c read] [$c read]]
        assert_equal {} [r xread block 1 streams stream 3-1]
        assert_equal {} [r xread streams stream 3-1]
        $c close
    }

    test {PFCOUNT of a value with a count that is not up to date runs on the main thread once} {
        r pfadd hll another
        on_main_thread { r pfcount hll }
        wait_for_condition 20 5 {[in_threads { assert_equal 4 [r pfcount hll] }] == 1} else { fail "no thread reads" }
        wait_for_condition 20 5 {[in_threads { assert_equal 4 [r pfcount hll none] }] == 1} else { fail "no thread reads" }
    }

    test {SCAN and RANDOMKEY do not show expired keys, and the main thread deletes them} {
        r select 9
        r debug set-active-expire 0
        r set soon v px 1
        after 5
        on_main_thread { assert_equal {0 {}} [r scan 0 count 1000] }
        r set soon v px 1
        after 5
        on_main_thread { assert_equal {} [r randomkey] }
        r debug set-active-expire 1
        r select 0
    } {} {needs:debug}

    test {client-output-buffer-limit holds for what threads reply, in many small replies and in large ones} {
        for {set i 0} {$i < 100} {incr i} { r rpush long [string repeat x 5000] }
        foreach {limit words} {{normal 100000 0 0} {getrange big 0 7999} {normal 0 100000 1} {getrange big 0 7999} {normal 100000 0 0} {lrange long 0 -1}} {
            r config set client-output-buffer-limit $limit
            set before [s client_output_buffer_limit_disconnections]
            lassign [offloaded_client] c id
            for {set i 0} {$i < 60 && [s client_output_buffer_limit_disconnections] == $before} {incr i} {
                # One at a time: each reply alone is too short to be looked at.
                for {set n 0} {$n < 50} {incr n} { catch { $c write [request {*}$words] }; after 1 }
            }
            assert_equal 1 [expr {[s client_output_buffer_limit_disconnections] - $before}] $words
            $c close
            assert_equal PONG [r ping]
        }
        r config set client-output-buffer-limit {normal 0 0 0}
        r del long
    }

    test {client-output-buffer-limit holds for a reply that is shorter than a block} {
        lassign [offloaded_client] c id
        $c write [string repeat [request getrange big 0 7999] 3000] ;# more than sockets take
        wait_for_condition 50 100 {[regexp { tot-cmds=(\d+)} [r client list id $id] -> commands] && $commands > 3000} else { fail "not answered" }
        r config set client-output-buffer-limit {normal 100000 0 0}
        set before [s client_output_buffer_limit_disconnections]
        # One at a time: a block that is added to a reply would be looked at. Nothing else asks the main thread for anything.
        for {set i 0} {$i < 5} {incr i} {
            catch { $c write [request getrange big 0 7999] }
            after 60
        }
        assert_equal 1 [expr {[s client_output_buffer_limit_disconnections] - $before}]
        $c close
        r config set client-output-buffer-limit {normal 0 0 0}
    }

    test {writes, and reads behind them in a pipeline, are answered in order} {
        set c [valkey_deferring_client]
        for {set round 0} {$round < 50} {incr round} {
            set expected {}
            set batch {}
            set v 0
            for {set i 0} {$i < 60} {incr i} {
                if {rand() < 0.3} {
                    append batch [request set counter [incr v]]
                    lappend expected OK
                } elseif {$v && rand() < 0.8} {
                    append batch [request get counter]
                    lappend expected $v
                } else {
                    append batch [request strlen medium]
                    lappend expected 9000
                }
            }
            $c write $batch
            assert_equal $expected [lmap e $expected { $c read }]
        }
        $c close
    }

    test {what a thread cannot finish goes to the main thread: errors, expired keys, large strings} {
        foreach {words expected} {{get hash} "WRONGTYPE*" {getrange a x y} "ERR value is not an integer*"} {
            on_main_thread { assert_error $expected { r {*}$words } }
        }
        assert_equal {1 1} [list [regexp {errorstat_WRONGTYPE:count=(\d+)} [r info errorstats] -> n] $n]
        on_main_thread { assert_equal 100000 [string length [r get big]] }
        on_main_thread { assert_equal [list 1 [string repeat x 100000] 2] [r mget a big b] }
        r debug set-active-expire 0
        r set soon v px 10
        after 20
        set expired [s expired_keys]
        on_main_thread { assert_equal {} [r get soon] }
        assert_equal 1 [expr {[s expired_keys] - $expired}]
        r debug set-active-expire 1
        set c [valkey_deferring_client]
        $c write "[request get a][request mget a big b][request get b][request get a][request get hash][request get b]"
        assert_equal [list 1 [list 1 [string repeat x 100000] 2] 2 1] [list [$c read] [$c read] [$c read] [$c read]]
        assert_error "WRONGTYPE*" { $c read }
        assert_equal 2 [$c read]
        $c close
    } {} {needs:debug}

    test {LCS with a table of more than a megabyte runs on the main thread, so there is one such table at a time} {
        r set short [string repeat y 50]
        on_main_thread { assert_equal [string repeat y 50] [r lcs medium short] }
        on_main_thread { assert_equal {matches {{{8950 8999} {0 49}}} len 50} [r lcs medium short idx] }
        wait_for_condition 50 20 {[in_threads { assert_equal 50 [r lcs medium short len] }] == 1} else { fail "no thread reads" }
    }

    test {statistics are exact, and none comes late} {
        set c [valkey_deferring_client]
        r config resetstat
        $c write [string repeat "[request get a][request get none][request zscore zset m]" 300]
        for {set i 0} {$i < 300} {incr i} { assert_equal {1 {} 1} [list [$c read] [$c read] [$c read]] }
        set commandstats [r info commandstats]
        assert_equal 1 [regexp {cmdstat_get:calls=600,} $commandstats]
        assert_equal 1 [regexp {cmdstat_zscore:calls=300,} $commandstats]
        assert_match "*latency_percentiles_usec_get:p50=*" [r info latencystats]
        assert_equal 600 [dict get [dict get [r latency histogram get] get] calls]
        assert_equal {600 300} [list [s keyspace_hits] [s keyspace_misses]]
        assert_range [s total_commands_processed] 904 912
        set bytes [string length [string repeat "[request get a][request get none][request zscore zset m]" 300]]
        assert_range [s total_net_input_bytes] $bytes [expr {$bytes + 1000}]
        assert_range [s total_net_output_bytes] [expr {300 * (7 + 5 + 7)}] 100000
        assert_match "* tot-net-in=$bytes *tot-cmds=900*" [r client list]
        # The main thread gets the second one, and what is behind it.
        set more "[request get a][request get big][request get a]"
        $c write $more
        assert_equal [list 1 [string repeat x 100000] 1] [list [$c read] [$c read] [$c read]]
        assert_match "* tot-net-in=[expr {$bytes + [string length $more]}] *tot-cmds=903*" [r client list]
        $c close
    }

    test {the command log has reads of threads} {
        r config set slowlog-log-slower-than 0
        r slowlog reset
        wait_for_condition 50 20 {[in_threads { r get a }] == 1} else { fail "no thread reads" }
        set entry [lsearch -inline -index 3 [r slowlog get] {get a}]
        assert_equal tester [lindex $entry 5]
        r config set slowlog-log-slower-than 10000 commandlog-reply-larger-than 1000
        r commandlog reset large-reply
        wait_for_condition 50 20 {[in_threads { assert_equal 9000 [string length [r get medium]] }] == 1} else { fail "no thread reads" }
        assert_equal {get medium} [lindex [lsearch -inline -index 3 [r commandlog get -1 large-reply] {get medium}] 3]
        r config set commandlog-reply-larger-than 1048576
    }

    test {CLIENT LIST shows what threads have run} {
        set c [valkey_client]
        set id [$c client id]
        $c get a
        assert_equal 1 [regexp {cmd=get .*tot-cmds=2} [r client list id $id]]
        $c close
    }

    foreach {what on off} {
        "MONITOR" {$other monitor} {$other close}
        "client-side caching" {$other client tracking on} {$other client tracking off; $other close}
        "keymiss events" {r config set notify-keyspace-events Km} {r config set notify-keyspace-events {}; $other close}
        "hotkeys-top-k" {r config set hotkeys-top-k 5} {r config set hotkeys-top-k 0; $other close}
        "maxmemory-clients" {r config set maxmemory-clients 100mb} {r config set maxmemory-clients 0; $other close}
    } {
        test "no thread reads with $what, and all do afterwards" {
            set other [valkey_client]
            eval $on
            on_main_thread { assert_equal {} [r get none] }
            eval $off
            wait_for_condition 50 20 {[in_threads { assert_equal {} [r get none] }] == 1} else { fail "no thread reads" }
        }
    }

    test {no thread reads for a client in a transaction, with CLIENT REPLY SKIP, or that is paused} {
        on_main_thread {
            r multi
            r get a
            assert_equal 1 [r exec]
        }
        set c [valkey_deferring_client]
        on_main_thread {
            $c write [request client reply skip]
            after 100
            $c write "[request get a][request get b]"
            assert_equal 2 [$c read]
        }
        r client pause 100 all
        set at [clock milliseconds]
        $c get a
        assert_equal 1 [$c read]
        assert_morethan [expr {[clock milliseconds] - $at}] 80
        $c close
    }

    test {users: what rules surely allow runs in threads, denials are as ever} {
        r acl setuser reader on nopass ~key:* +get
        r set key:1234567 v
        set c [valkey_client]
        $c auth reader x
        r acl log reset
        foreach i {1 2 3 4} { assert_equal v [$c get key:1234567] }
        assert_morethan [in_threads { foreach i {1 2 3 4} { assert_equal v [$c get key:1234567] } }] 2
        assert_error "NOPERM*" { $c get other }
        assert_error "NOPERM*" { $c strlen key:1234567 }
        assert_equal 2 [llength [r acl log]]
        r acl deluser reader
        assert_equal 1 [catch { $c get key:1234567 }]
        $c close
    }

    test {a client that has not logged in gets NOAUTH, and one with too few arguments its error} {
        on_main_thread { assert_error "ERR wrong number of arguments for 'get' command" { r get } }
        on_main_thread { assert_error "ERR wrong number of arguments for 'object|encoding' command" { r object encoding } }
        r config set requirepass secret
        set c [unauthenticated_client]
        on_main_thread {
            $c get a
            assert_error "NOAUTH*" { $c read }
        }
        $c auth secret
        assert_equal OK [$c read]
        wait_for_condition 50 20 {[in_threads { $c get a; assert_equal 1 [$c read] }] == 1} else { fail "no thread reads" }
        $c close
        r config set requirepass {}
    }

    test {limits that only writes have to keep do not keep reads from threads} {
        r config set maxmemory 1gb min-replicas-to-write 1
        assert_error "NOREPLICAS*" { r set a 2 }
        wait_for_condition 50 20 {[in_threads { assert_equal 1 [r get a] }] == 1} else { fail "no thread reads" }
        r config set maxmemory 1 min-replicas-to-write 0
        assert_error "OOM*" { r set a 2 }
        wait_for_condition 50 20 {[in_threads { assert_equal 1 [r get a] }] == 1} else { fail "no thread reads" }
        r config set maxmemory 0
    }

    test {a read sees a write by another client that has been answered} {
        set cs [lmap i {1 2 3 4} { valkey_client }]
        for {set i 0} {$i < 400} {incr i} {
            [lindex $cs [expr {$i % 4}]] set shared $i
            assert_equal $i [[lindex $cs [expr {($i + 1 + $i / 7) % 4}]] get shared]
        }
        foreach c $cs { $c close }
    }

    test {LRU and LFU marks} {
        r config set maxmemory-policy allkeys-lfu
        r set used v
        for {set i 0} {$i < 300} {incr i} { r get used }
        assert_morethan [r object freq used] 5
        r config set maxmemory-policy noeviction
        r client no-touch on
        r get used
        r client no-touch off
    }

    test {protocol errors, partial and inline requests behind reads} {
        set c [valkey_deferring_client]
        $c write "[request get a]*2\r\n\$3\r\nGE"
        assert_equal 1 [$c read]
        $c write "T\r\n\$1\r\nb\r\nget a\r\n"
        assert_equal {2 1} [list [$c read] [$c read]]
        $c write "[request get a]*x\r\n"
        assert_equal 1 [$c read]
        assert_error "ERR Protocol error: invalid multibulk length" { $c read }
        $c close
    }

    test {threads that come and go, and the directive, beside reading clients} {
        set cs [lmap i {1 2 3} { valkey_deferring_client }]
        foreach settings {{io-threads 1} {io-threads 3} {parallel-reads no} {parallel-reads auto} {io-threads 2} {parallel-reads yes} {io-threads 3}} {
            foreach c $cs { $c write [string repeat [request get a] 200] }
            r config set {*}$settings
            foreach c $cs { for {set i 0} {$i < 200} {incr i} { assert_equal 1 [$c read] } }
        }
        foreach c $cs { $c close }
    }

    # Starts 200 reads of 4 MB by a client in one request of the socket, runs body, and returns whether the last of them was still to come.
    proc beside_long_reads {body} {
        upvar long long
        set long [valkey_deferring_client]
        $long write [string repeat [request bitcount large] 200]
        uplevel 1 $body
        set done [r info commandstats]
        for {set i 0} {$i < 200} {incr i} { assert_equal 16777216 [$long read] }
        return [expr {[regexp {cmdstat_bitcount:calls=(\d+)} $done -> calls] ? $calls < 200 : 1}]
    }

    test {a client's long reads delay others by one of them, and a write as well} {
        r config set io-threads 2
        r set large [string repeat \x0f 4194304]
        set c [valkey_client]
        r config resetstat
        # While the main thread works for more than some milliseconds, on a busy machine, it gets them all.
        for {set tries 0} {$tries < 20} {incr tries} {
            set some_left [beside_long_reads { foreach i {1 2 3 4 5} { assert_equal 1 [$c get a]; assert_equal OK [$c set other value] } }]
            $long close
            if {$some_left} break
            r config resetstat
        }
        assert_equal 1 $some_left
        assert_morethan [s parallel_reads_long] 20
        $c close
    }

    # The order in which a thread runs two requests that are there when it polls, of which the first is BITCOUNT key. {}: the main thread,
    # which was at work, has got one of them.
    proc order_of_two {long other key} {
        r slowlog reset
        set count [in_threads {
            exec kill -STOP [srv pid]
            $long bitcount $key
            $other get b
            exec kill -CONT [srv pid]
            assert_equal 2 [$other read]
            $long read
        }]
        set ran [lmap entry [lreverse [r slowlog get -1]] { lindex $entry 3 }]
        return [expr {$count == 2 ? [lmap words $ran { if {$words ni [list {get b} [list bitcount $key]]} continue; lindex $words 0 }] : {}}]
    }

    test {a client's reads run behind the others' of its thread when its last one took long} {
        r config set slowlog-log-slower-than 0
        foreach {key order} {large {get bitcount} none {bitcount get} large {get bitcount}} {
            lassign [offloaded_client] long
            lassign [offloaded_client] other
            wait_for_condition 100 20 {[in_threads { $long bitcount $key; $long read }] == 1} else { fail "no thread reads" }
            # On a busy machine a short read may take long.
            wait_for_condition 20 1 {[set ran [order_of_two $long $other $key]] eq $order} else { fail "$key: $ran" }
            $long close
            $other close
        }
        r config set slowlog-log-slower-than 10000
    }

    # They have more to do than the time until the main thread looks whether threads are needed (100 ms). On a busy machine it may get
    # all of them at once, which proves nothing.
    test {clients with long reads that wait: killed, and threads that end} {
        for {set round 0; set begun 0} {$begun < 3 && $round < 20} {incr round} {
            r config set io-threads 3
            set cs [lmap i {1 2 3 4} { valkey_deferring_client }]
            set ids [lmap c $cs { $c client id; $c read }]
            wait_for_condition 50 100 {![regexp { io-thread=0 } [r client list]]} else { fail "not offloaded" }
            set before [s parallel_reads_long]
            foreach c $cs { $c write [string repeat [request bitcount large] 100] }
            r client kill id [lindex $ids 0]
            incr begun [expr {[s parallel_reads_long] > $before}]
            r config set io-threads 1
            foreach c [lrange $cs 1 end] { for {set i 0} {$i < 100} {incr i} { assert_equal 16777216 [$c read] } }
            foreach c $cs { $c close }
        }
        r config set io-threads 3
    }

    test {CLIENT KILL of clients that read} {
        for {set round 0} {$round < 20} {incr round} {
            set c [valkey_deferring_client]
            $c client id
            set id [$c read]
            $c write [string repeat [request get medium] 500]
            r client kill id $id
            catch { while 1 { $c read } }
            $c close
        }
        assert_equal PONG [r ping]
    }
}

start_server [list overrides $threads tags {io-threads external:skip}] {
    start_server [list overrides $threads] {
        test {a replica's threads read while it applies the stream} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 100 100 {[s master_link_status] eq "up"} else { fail "no link" }
            set seen 0
            set count [in_threads {
                for {set i 1} {$i <= 200} {incr i} {
                    r -1 mset x $i y $i
                    lassign [r mget x y] x y
                    assert_equal $x $y
                    if {$x ne {}} { assert_morethan_equal $x $seen }
                    if {$x ne {}} { set seen $x }
                }
            }]
            assert_range $count 150 200 ;# the main thread may be at work
            wait_for_condition 50 20 {[r get x] == 200} else { fail [r get x] }
        }

        test {a replica redirects clients that want it, and answers no stale data when it must not} {
            lassign [offloaded_client] c id
            $c client capa redirect
            $c read
            on_main_thread {
                $c get x
                assert_error "REDIRECT *" { $c read }
            }
            $c readonly
            $c read
            wait_for_condition 50 20 {[in_threads { $c get x; assert_equal 200 [$c read] }] == 1} else { fail "no thread reads" }
            $c close
            r config set replica-serve-stale-data no
            r replicaof 127.0.0.1 1
            on_main_thread { assert_error "MASTERDOWN*" { r get x } }
            r config set replica-serve-stale-data yes
            wait_for_condition 50 20 {[in_threads { assert_equal 200 [r get x] }] == 1} else { fail "no thread reads" }
        }

        test {a replica's threads do not show keys that have expired, and do not delete them} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 100 100 {[s master_link_status] eq "up"} else { fail "no link" }
            r -1 debug set-active-expire 0
            r -1 set soon v px 50
            wait_for_condition 50 10 {[r dbsize] == [r -1 dbsize]} else { fail "not applied" }
            after 60
            on_main_thread { assert_equal {} [r get soon] }
            assert_equal {} [lsearch -all -inline [r keys *] soon]
            assert_equal [r -1 dbsize] [r dbsize]
            r -1 debug set-active-expire 1
        } {} {needs:debug}
    }
}

start_server [list overrides $threads tags {io-threads external:skip}] {
    test {keys are evicted while only threads run commands} {
        wait_for_condition 50 100 {[s io_threads_active] == 1} else { fail "not active" }
        r config set maxmemory-policy allkeys-random
        # A read that is handed over evicts, too, so it proves nothing.
        for {set attempt 1; set handed_over 1} {$handed_over && $attempt <= 50} {incr attempt} {
            r config set maxmemory 0
            for {set i 0} {$i < 100} {incr i} { r set k$i [string repeat x 1000] }
            set before [s parallel_reads_processed]
            set reads 0
            r client pause 100000 write ;# nothing is evicted yet
            r config set maxmemory 1
            after 20 ;# the timer that this starts must find the pause
            r client unpause
            wait_for_condition 100 20 {[incr reads] && [r dbsize] == 0} else { fail "[r dbsize] keys" }
            set handed_over [expr {$reads - ([s parallel_reads_processed] - $before)}]
        }
        assert_equal 0 $handed_over
    }
}

# Not with parallel-reads-always, where a thread runs the reads in front of a write.
start_server [list overrides [dict replace $threads parallel-reads-always no] tags {io-threads external:skip}] {
    r set a 1

    test {a pipeline with a write in it goes to the main thread as it came, and is answered at once} {
        lassign [offloaded_client] c
        wait_for_condition 20 5 {[in_threads { $c get a; $c read }] == 1} else { fail "no thread reads" }
        set answered [s io_threaded_writes_processed]
        on_main_thread {
            for {set i 0} {$i < 50} {incr i} {
                $c write [string repeat [request get a] 5][request set other $i][request get other]
                assert_equal [list 1 1 1 1 1 OK $i] [lmap n {1 2 3 4 5 6 7} { $c read }]
            }
        }
        assert_range [expr {[s io_threaded_writes_processed] - $answered}] 50 60
        $c close
    }
}

start_server [list overrides [concat $threads {cluster-enabled yes}] tags {io-threads external:skip}] {
    test {a node of a cluster: its own slots in threads, others' are redirected} {
        r cluster addslotsrange 0 8191
        r config set cluster-require-full-coverage no
        wait_for_condition 50 100 {[r cluster info] ne {} && [string match *cluster_state:ok* [r cluster info]]} else { fail "not ok" }
        assert_equal OK [r set "{b}" v] ;# slot 3300
        assert_morethan [in_threads { for {set i 0} {$i < 10} {incr i} { assert_equal v [r get "{b}"] } }] 8
        assert_error "CLUSTERDOWN*" { r get foo } ;# slot 12182
    }
}

start_cluster [list kinds {ours ours} primaries 1 overrides $threads] {
    test {a replica of a cluster: threads read its primary's slots for clients that have sent READONLY} {
        r [n 0] set b v
        foreach k {0 1} { wait_for_condition 50 100 {[regexp { io-thread=[12] } [r [n $k] client list]]} else { fail "not offloaded" } }
        proc processed {} { regexp {parallel_reads_processed:(\d+)} [r [n 1] info stats] -> n; return $n }
        assert_error "MOVED*" { r [n 1] get b }
        r [n 1] readonly
        wait_for_condition 50 100 {[r [n 1] get b] eq {v}} else { fail "not applied" }
        set before [processed]
        for {set i 0} {$i < 10} {incr i} { assert_equal v [r [n 1] get b] }
        assert_morethan [expr {[processed] - $before}] 5
        r [n 1] readwrite
        set before [processed]
        for {set i 0} {$i < 10} {incr i} { assert_error "MOVED*" { r [n 1] get b } }
        assert_equal 0 [expr {[processed] - $before}]
    }
}
