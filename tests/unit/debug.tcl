# DEBUG: the right to use it, and each of its subcommands.

set refused "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it\
    from a local connection, otherwise you need to set this option in the configuration file, and then restart\
    the server."

start_server {overrides {enable-debug-command no} tags {debug external:skip}} {
    test {DEBUG is off by default} {
        assert_error $refused {r debug sleep 0}
        assert_error $refused {r debug help}
        assert_error "ERR wrong number of arguments for 'debug' command" {r debug}
        assert_error "ERR CONFIG SET failed*immutable*" {r config set enable-debug-command yes}
        assert_equal no [config_get enable-debug-command]
    }
}

start_server {overrides {enable-debug-command local} tags {debug external:skip}} {
    test {DEBUG for local connections} {
        assert_equal OK [r debug sleep 0]
    }
}

start_server {tags {debug needs:debug}} {
    test {DEBUG: unknown subcommands and wrong numbers of arguments} {
        foreach words {nosuch {sleep} {sleep 1 2} {object} {digest x} {populate} {populate 1 a 2 b} {protocol} {error}} {
            assert_error "ERR unknown subcommand or wrong number of arguments for '[lindex $words 0]'. Try DEBUG HELP." {
                r debug {*}$words
            }
        }
        assert_match "DEBUG <subcommand>*" [lindex [r debug help] 0]
    }

    test {DEBUG SLEEP} {
        set start [clock milliseconds]
        assert_equal OK [r debug sleep 0.1]
        assert_range [expr {[clock milliseconds] - $start}] 95 2000
        assert_equal OK [r debug sleep 0]
        assert_equal OK [r debug sleep abc]
    }

    test {DEBUG OBJECT} {
        r set k 5
        assert_match "Value at:0x* refcount:* encoding:int serializedlength:* lru:* lru_seconds_idle:*" [r debug object k]
        r zadd z 1 a
        assert_match "* encoding:listpack *" [r debug object z]
        assert_error "ERR no such key" {r debug object nosuch}
    }

    test {DEBUG OBJECT does not count as use of the key} {
        r set k 5
        set misses [s keyspace_misses]
        set hits [s keyspace_hits]
        r debug object k
        catch {r debug object nosuch}
        assert_equal "$hits $misses" "[s keyspace_hits] [s keyspace_misses]"
    }

    test {DEBUG POPULATE} {
        r flushall
        assert_equal OK [r debug populate 100]
        assert_equal {100 value:0 value:99} [list [r dbsize] [r get key:0] [r get key:99]]
        r set key:0 mine
        assert_equal OK [r debug populate 101]
        assert_equal {101 mine value:100} [list [r dbsize] [r get key:0] [r get key:100]]
        r debug populate 2 short 3
        r debug populate 2 long 20
        assert_equal "val value:1[string repeat \x00 13]" "[r get short:1] [r get long:1]"
        r debug populate 1 any 0
        assert_equal value:0 [r get any:0]
        r select 7
        r debug populate 3
        assert_equal 3 [r dbsize]
        r flushdb
        r select 0
        foreach bad {x -1 {1 a -1} {1 a x}} {
            assert_error "ERR value is out of range, must be positive" {r debug populate {*}$bad}
        }
        r flushall
    }

    test {DEBUG DIGEST does not depend on order, and depends on every value} {
        set none [string repeat 0 40]
        r flushall
        assert_equal $none [r debug digest]
        set seen [list $none]
        set fill {
            {set a 1} {set b two} {zadd z 1 x 2 y} {select 1} {set a 1} {select 0} {pexpireat a 99999999999999}
        }
        foreach command $fill {
            r {*}$command
            if {[lindex $command 0] eq "select"} continue
            set digest [r debug digest]
            assert_match {[0-9a-f]*} $digest
            assert {$digest ni $seen} $command
            lappend seen $digest
        }
        r flushall
        foreach command {
            {select 1} {set a 1} {select 0} {zadd z 2 y} {zadd z 1 x} {set c 1} {del c} {set b two} {set a 1 ex 1000}
        } { r {*}$command }
        assert_equal [lindex $seen end] [r debug digest]
        r persist a
        assert_not_equal [lindex $seen end] [r debug digest]
        r flushall
    }

    test {DEBUG DIGEST differs when values change their keys} {
        r mset a b c d
        set digest [r debug digest]
        r flushall
        r mset a d c b
        assert_not_equal $digest [r debug digest]
        r flushall
        r mset b a d c
        assert_not_equal $digest [r debug digest]
        r flushall
    }

    test {DEBUG DIGEST does not depend on encodings} {
        r set k 12
        r append k 3
        set one [r debug digest]
        r set k 123
        assert_equal $one [r debug digest]
        r flushall
        foreach limit {128 0} {
            r config set zset-max-listpack-entries $limit
            r del z
            for {set i 0} {$i < 20} {incr i} { r zadd z $i.5 m$i }
            lappend digests [r debug digest]
            lappend encodings [r object encoding z]
        }
        assert_equal listpack [lindex $encodings 0]
        assert {[lindex $encodings 1] in {skiplist btree}}
        assert_equal [lindex $digests 0] [lindex $digests 1]
        r config set zset-max-listpack-entries 128
        r flushall
    }

    test {DEBUG DIGEST-VALUE} {
        r mset a same b same c other
        lassign [r debug digest-value a b c nosuch] a b c none
        assert_equal $a $b
        assert_not_equal $a $c
        assert_equal [string repeat 0 40] $none
        assert_equal {} [r debug digest-value]
        r expire b 100
        assert_not_equal $a [r debug digest-value b]
        r flushall
    }

    test {DEBUG SET-ACTIVE-EXPIRE} {
        r debug set-active-expire 0
        r set k v px 1
        after 300
        assert_equal 1 [r dbsize]
        r debug set-active-expire 1
        wait_for_condition 200 50 {[r dbsize] == 0} else { fail "never expired" }
    }

    test {DEBUG PROTOCOL} {
        set lines {
            string {$11|Hello World} {$11|Hello World}
            integer :12345 :12345
            double {$5|3.141} ,3.141
            bignum {$37|1234567999999999999999999999999999999} (1234567999999999999999999999999999999
            null {$-1} _
            array {*3|:0|:1|:2} {*3|:0|:1|:2}
            set {*3|:0|:1|:2} {~3|:0|:1|:2}
            map {*6|:0|:0|:1|:1|:2|:0} {%3|:0|#f|:1|#t|:2|#f}
            attrib {$39|Some real reply following the attribute}
                {|1|$14|key-popularity|*2|$7|key:123|:90|$39|Some real reply following the attribute}
            push {-ERR RESP2 is not supported by this command}
                {>2|$16|server-cpu-usage|:42|$40|Some real reply following the push reply}
            verbatim {$25|This is a verbatim|string} {=29|txt:This is a verbatim|string}
            true :1 #t
            false :0 #f
        }
        set c [valkey_client]
        foreach resp {2 3} {
            $c hello $resp
            foreach {type resp2 resp3} $lines {
                $c write "DEBUG PROTOCOL $type\r\n"
                foreach line [split [set resp$resp] |] {
                    if {$line eq {}} continue
                    set got [$c rawread]
                    if {[string match {|1} $got]} { set got 1 }
                    assert_equal $line $got "$type in RESP$resp"
                }
            }
        }
        $c close
        assert_error "ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false" {
            r debug protocol nosuch
        }
    }

    test {DEBUG ERROR and LOG} {
        assert_error "MYERR some text" {r debug error "MYERR some text"}
        assert_error "MYERR a  b  " {r debug error "MYERR a\r\nb\r\n"}
        assert_error "-MYERR x" {r debug error "-MYERR x"}
        # It is an error to clients only.
        r config resetstat
        catch {r debug error "MYERR x"}
        assert_equal 0 [s total_error_replies]
        assert_no_match *MYERR* [r info errorstats]
        assert_match "*calls=1,*failed_calls=0" [s cmdstat_debug]
        assert_equal OK [r debug log "a line of mine"]
        wait_for_log "DEBUG LOG: a line of mine"
    } {} {external:skip}

    test {DEBUG HTSTATS} {
        r flushall
        r debug populate 1000
        set text [r debug htstats 0]
        assert_match "*Dictionary HT*number of elements: 1000*Expires HT*" $text
        assert_error "ERR Out of range database" {r debug htstats 99}
        assert_error "ERR value is not an integer or out of range" {r debug htstats x}
        r flushall
    }

    test {DEBUG STRINGMATCH-LEN: no pattern takes exponential time} {
        assert_equal 1 [r debug stringmatch-len a* 1000]
        set start [clock milliseconds]
        assert_equal 0 [r debug stringmatch-len [string repeat *a 50]*b 20000]
        assert_lessthan [expr {[clock milliseconds] - $start}] 5000
    }
}

foreach {how word} {segfault "crashed by signal" assert "ASSERTION FAILED" panic "DEBUG PANIC was called"} {
    start_server {tags {debug needs:debug external:skip valgrind:skip} crash 1} {
        test "DEBUG [string toupper $how] ends with a crash report" {
            catch {r debug $how}
            wait_for_log $word
            wait_for_condition 200 50 {[file exists [srv dir]/exit]} else { fail "the server lives on" }
        }
    }
}

start_server {tags {debug needs:debug external:skip}} {
    test {DEBUG OBJECT: serializedlength is the value's size in a snapshot} {
        r set k [string repeat abcdefgh 1000]
        assert {[regexp {serializedlength:(\d+) } [r debug object k] -> packed]}
        assert_range $packed 10 2000
        r config set rdbcompression no
        assert {[regexp {serializedlength:(\d+) } [r debug object k] -> plain]}
        assert_range $plain 8000 8010
        r config set rdbcompression yes
    }

    test {DEBUG HTSTATS-KEY: values with a table} {
        r del s h z l
        for {set i 0} {$i < 300} {incr i} {
            r sadd s m$i
            r hset h f$i [string repeat x 100]
            r zadd z $i m$i
        }
        foreach key {s h z} { assert_match "*main hash table*300*" [r debug htstats-key $key] }
        r rpush l a
        r del s
        r sadd s a
        foreach key {l s} {
            assert_error "ERR The value stored at the specified key is not represented using an hash table" { r debug htstats-key $key }
        }
        assert_error "ERR no such key" { r debug htstats-key nosuch }
    }

    test {DEBUG LISTPACK and QUICKLIST print to standard output} {
        r del l
        r rpush l first second
        assert_equal "Listpack structure printed on stdout" [r debug listpack l]
        wait_for_log "{1} 6 bytes: second"
        assert_error "ERR Not a quicklist encoded object." { r debug quicklist l }
        r config set list-max-listpack-size 1
        r rpush l third
        assert_equal "Quicklist structure printed on stdout" [r debug quicklist l]
        wait_for_log "{2} 5 bytes: third"
        assert_error "ERR Not a listpack encoded object." { r debug listpack l }
        r config set list-max-listpack-size -2
        assert_error "ERR no such key" { r debug listpack nosuch }
    }

    test {DEBUG QUICKLIST-PACKED-THRESHOLD: long elements get nodes of their own} {
        r del l
        assert_equal OK [r debug quicklist-packed-threshold 50b]
        r rpush l a [string repeat x 60] b
        assert_encoding quicklist l
        assert_match "*ql_nodes:3 *" [r debug object l]
        assert_equal [list a [string repeat x 60] b] [r lrange l 0 -1]
        r del l
        assert_equal OK [r debug quicklist-packed-threshold 0]
        r rpush l a [string repeat x 60] b
        assert_encoding listpack l
        foreach bad {5gb -1 abc} {
            assert_error "ERR argument must be a memory value bigger than 1 and smaller than 4gb" { r debug quicklist-packed-threshold $bad }
        }
    }

    test {DEBUG PAUSE-CRON: expired keys stay until they are accessed} {
        assert_equal OK [r debug pause-cron 1]
        set expired [s expired_keys]
        r psetex gone 1 x
        after 500
        set size [r dbsize]
        assert_equal OK [r debug pause-cron 0]
        wait_for_condition 200 50 {[r dbsize] == $size - 1} else { fail "cron does not come back" }
        assert_error "ERR value is not an integer or out of range" { r debug pause-cron x }
    }

    test {DEBUG DICT-RESIZING} {
        assert_equal OK [r debug dict-resizing 0]
        r debug populate 2000 many
        assert_equal OK [r debug dict-resizing 1]
        r debug populate 2000 more
        assert_equal value:1999 [r get many:1999]
    }
}

start_server {tags {debug needs:debug external:skip} crash 1} {
    test {DEBUG OOM ends the server as a lack of memory would} {
        catch { r debug oom }
        wait_for_log "An allocation of * bytes failed"
    }
}
