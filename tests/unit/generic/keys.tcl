# Keys whatever they hold: DEL, EXISTS, TYPE, RENAME, COPY, KEYS, RANDOMKEY, OBJECT, FLUSHALL ...

start_server {tags {generic}} {
    proc fresh {} {
        r flushall
        r mset a 1 b 2
        r zadd z 1 x
    }

    test {DEL and UNLINK} {
        foreach command {del unlink} {
            fresh
            assert_equal 3 [r $command a nosuch z b a]
            assert_equal 0 [r dbsize]
            assert_error "ERR wrong number of arguments for '$command' command" {r $command}
        }
    }

    test {DEL and UNLINK of big values} {
        foreach command {del unlink} {
            r debug populate 1 big 1000000
            for {set i 0} {$i < 3000} {incr i} { lappend args $i m$i }
            r zadd bigz {*}$args
            assert_equal 2 [r $command big:0 bigz]
            assert_equal 0 [r exists big:0 bigz]
        }
    } {} {needs:debug}

    test {EXISTS, TOUCH and TYPE} {
        fresh
        assert_equal {3 0 3} [list [r exists a a z nosuch] [r exists nosuch] [r touch a z a nosuch]]
        assert_equal {string zset none} [list [r type a] [r type z] [r type nosuch]]
    }

    test {RENAME} {
        fresh
        r expire a 100
        assert_equal OK [r rename a new]
        assert_equal {0 1 100} [list [r exists a] [r get new] [r ttl new]]
        assert_equal OK [r rename b new]
        assert_equal {2 -1} [list [r get new] [r ttl new]]
        assert_equal OK [r rename z new]
        assert_equal {zset 1} [list [r type new] [r dbsize]]
        assert_equal OK [r rename new new]
        assert_error "ERR no such key" {r rename nosuch x}
        assert_error "ERR no such key" {r rename nosuch nosuch}
    }

    test {RENAME to names of other lengths} {
        r flushall
        set name k
        r set $name value ex 1000
        foreach size {10 254 255 300 3 0 70000 5} {
            set next [string repeat n $size]
            assert_equal OK [r rename $name $next]
            assert_equal {value 1000} [list [r get $next] [r ttl $next]] "$size bytes"
            set name $next
        }
        assert_equal 1 [r dbsize]
    }

    test {RENAMENX} {
        fresh
        assert_equal {0 0 1} [list [r renamenx a b] [r renamenx a a] [r renamenx a new]]
        assert_equal {1 2} [list [r get new] [r get b]]
        assert_error "ERR no such key" {r renamenx nosuch x}
    }

    test {RENAME wakes clients that wait for the new name} {
        fresh
        set d [valkey_deferring_client]
        $d bzpopmin waited 0
        wait_for_condition 500 20 {[s blocked_clients] == 1} else { fail "not blocked" }
        r rename z waited
        assert_equal {waited x 1} [$d read]
        $d close
    }

    test {COPY} {
        fresh
        r expire z 100
        assert_equal {1 0 1} [list [r copy a c] [r copy z c] [r copy z c replace]]
        assert_equal {zset 100} [list [r type c] [r ttl c]]
        r zadd c 5 more
        assert_equal {1 2} [list [r zcard z] [r zcard c]]
        assert_equal 0 [r copy nosuch x]
        assert_equal {1 0 1} [list [r copy a a db 1] [r copy a a db 1] [r copy a other db 1 replace]]
        r select 1
        assert_equal {1 1} [r mget a other]
        r select 0
        assert_error "ERR source and destination objects are the same" {r copy a a}
        assert_error "ERR source and destination objects are the same" {r copy a a db 0}
        assert_error "ERR DB index is out of range" {r copy a b db 16}
        assert_error "ERR DB index is out of range" {r copy a b db -1}
        assert_error "ERR value is not an integer or out of range" {r copy a b db x}
        foreach bad {db what {replace what}} { assert_error "ERR syntax error" {r copy a b {*}$bad} }
    }

    test {COPY of every size and encoding is independent} {
        r flushall
        foreach {name setup} {
            int {r set int 5} short {r set short abc} long {r set long [string repeat x 200]}
            small {r zadd small 1 a 2 b} large {r zadd large {*}$pairs}
        } {
            set pairs [concat {*}[lmap i [lrange [split [string repeat "x " 300]] 0 299] {list [incr n] m$n}]]
            eval $setup
            assert_equal 1 [r copy $name copy]
            assert_equal [r object encoding $name] [r object encoding copy] $name
            assert_equal [r debug digest-value $name] [r debug digest-value copy] $name
            r del $name
            if {[r type copy] eq "zset"} { r zadd copy 0 extra } else { r append copy extra }
            r del copy
        }
        assert_equal 0 [r dbsize]
    } {} {needs:debug}

    test {KEYS} {
        r flushall
        r mset foo 1 far 2 bar 3 "a*b" 4 "a\nb" 5
        foreach {pattern names} [list * [list a\nb a*b bar far foo] f* {far foo} ?a? {bar far} {[bf]ar} {bar far} \
                {[^b]ar} far {[a-c]ar} bar {a\*b} a*b foo foo nosuch {} {} {} *a* [list a\nb a*b bar far]] {
            assert_equal $names [lsort [r keys $pattern]] $pattern
        }
        r pexpire foo 1
        after 5
        assert_equal far [r keys f*]
    }

    test {KEYS: a pattern that backtracks ends soon} {
        r flushall
        r set [string repeat a 10000] 1
        set start [clock milliseconds]
        assert_equal {} [r keys [string repeat *a 40]*b]
        assert_lessthan [expr {[clock milliseconds] - $start}] 3000
    }

    test {RANDOMKEY} {
        r flushall
        assert_equal {} [r randomkey]
        r debug populate 100
        for {set i 0} {$i < 1000} {incr i} { dict incr seen [r randomkey] }
        assert_morethan [dict size $seen] 80
        assert_equal [dict size $seen] [r exists {*}[dict keys $seen]]
        r flushall
        r debug set-active-expire 0
        for {set i 0} {$i < 20} {incr i} { r set k$i v px 1 }
        r set lasting v
        after 10
        assert_equal lasting [r randomkey]
        r del lasting
        assert_equal {} [r randomkey]
        r debug set-active-expire 1
    } {} {needs:debug}

    test {OBJECT} {
        fresh
        assert_equal {int listpack} [list [r object encoding a] [r object encoding z]]
        assert_equal 0 [r object idletime z]
        assert_equal 1 [r object refcount z]
        assert_error "ERR An LFU maxmemory policy is not selected*" {r object freq a}
        foreach sub {encoding refcount idletime freq} { assert_equal {} [r object $sub nosuch] }
        assert_error "ERR unknown subcommand 'what'. Try OBJECT HELP." {r object what a}
        assert_error "ERR wrong number of arguments for 'object|encoding' command" {r object encoding}
        after 1100
        assert_morethan [r object idletime a] 0
        r touch a
        assert_equal 0 [r object idletime a]
    }

    test {DBSIZE, FLUSHDB and FLUSHALL} {
        foreach how {{} sync async} {
            fresh
            r select 1
            r set k v
            assert_equal 1 [r dbsize]
            r flushdb {*}$how
            assert_equal 0 [r dbsize]
            r set k v
            r select 0
            assert_equal 3 [r dbsize]
            r flushall {*}$how
            assert_equal 0 [r dbsize]
            r select 1
            assert_equal 0 [r dbsize]
            r select 0
        }
        assert_error "ERR syntax error" {r flushall what}
        assert_error "ERR syntax error" {r flushdb sync async}
    }

    test {FLUSHALL of many keys, with expiries, again and again} {
        foreach how {sync async} {
            r debug populate 20000
            for {set i 0} {$i < 500} {incr i} { r expire key:$i 1000 }
            r flushall $how
            assert_equal 0 [r dbsize]
            r set key:1 v
            assert_equal {1 -1} [list [r dbsize] [r ttl key:1]]
        }
    } {} {needs:debug}
}
