# DEBUG subcommands that suites for other servers use: switches that act, and those of parts that are not here.

start_server {tags {debug needs:debug external:skip}} {
    test {switches without an effect are accepted} {
        foreach words {
            {close-cluster-link-on-packet-drop 0} {disable-cluster-random-ping 0} {disable-cluster-reconnection 0}
            {drop-cluster-packet-filter -1} {client-enforce-reply-list 1} {delay-rdb-client-free-seconds 0}
            {force-free-primary-async 0} {force-tls-write-error 0} {hashtable-can-abort-shrink 1}
            {replybuffer resizing 0} {replybuffer peak-reset-time reset} {replybuffer peak-reset-time 10}
            {slotmigration prevent-pause 0} {slotmigration prevent-failover 0}
        } {
            assert_equal OK [r debug {*}$words] $words
        }
        assert_error "ERR value is not an integer or out of range" {r debug replybuffer peak-reset-time x}
        assert_error "ERR value is not an integer or out of range" {r debug drop-cluster-packet-filter x}
        assert_error "ERR Debug option only available for cluster mode enabled setup!" {r debug clusterlink kill all x}
        foreach words {{slotmigration} {slotmigration x 1} {replybuffer x 1} {replybuffer}} {
            assert_error "ERR unknown subcommand or wrong number of arguments for '[lindex $words 0]'. Try DEBUG HELP." {
                r debug {*}$words
            }
        }
    }

    test {DEBUG PROTECT-CLIENT} {
        assert_equal OK [r debug protect-client [r client id]]
        assert_error "ERR No such client" {r debug protect-client 999999}
        assert_error "ERR Invalid client id" {r debug protect-client x}
    }

    test {DEBUG SDSLEN and STRUCTSIZE} {
        r set number 1
        r set short hello
        r set long [string repeat x 5000]
        assert_match "key_sds_len:5 key_sds_avail:0 obj_alloc:* val_sds_len:5 val_sds_avail:0 val_alloc:0" [r debug sdslen short]
        assert {[regexp {val_sds_len:5000 val_sds_avail:\d+ val_alloc:(\d+)$} [r debug sdslen long] -> bytes]}
        assert_morethan $bytes 5000
        assert_error "ERR Not an sds encoded string." {r debug sdslen number}
        assert_error "ERR no such key" {r debug sdslen nosuch}
        assert_match "bits:* robj:* *" [r debug structsize]
    }

    test {DEBUG OBJECT FAST leaves out slow fields} {
        r rpush l 1
        assert_match "Value at:* refcount:1 encoding:listpack serializedlength:* lru:*" [r debug object l]
        assert_match "Value at:* refcount:1 encoding:listpack lru:* lru_seconds_idle:*" [r debug object l fast]
    }

    test {DEBUG MALLCTL asks the allocator} {
        if {![string match jemalloc* [s mem_allocator]]} { skip "no jemalloc" }
        assert_morethan [r debug mallctl arenas.narenas] 0
        assert_match *.*.* [r debug mallctl-str version]
        assert_error "ERR No such file or directory" {r debug mallctl nosuch}
        assert_error "ERR No such file or directory" {r debug mallctl-str nosuch}
        foreach text {opt.dss arena.0.dss opt.junk opt.percpu_arena} { assert_no_match {ERR*} [r debug mallctl-str $text] }
        foreach number {arenas.page epoch stats.allocated opt.narenas thread.allocatedp} {
            assert_error "ERR Invalid argument" {r debug mallctl-str $number} ;# none of them is an address of a text
        }
        r debug mallctl background_thread 1
        assert_equal 1 [r debug mallctl background_thread]
        r debug mallctl background_thread 0
        assert_equal 0 [r debug mallctl background_thread]
    }

    test {DEBUG SET-SKIP-CHECKSUM-VALIDATION} {
        set payload [r dump short]
        set broken [string replace $payload end end [format %c [expr {([scan [string index $payload end] %c] + 1) % 256}]]]
        assert_error "ERR DUMP payload version or checksum are wrong" {r restore copy 0 $broken}
        r debug set-skip-checksum-validation 1
        assert_equal OK [r restore copy 0 $broken]
        assert_equal hello [r get copy]
        r debug set-skip-checksum-validation 0
        assert_error "ERR DUMP payload version or checksum are wrong" {r restore copy2 0 $broken}
    }

    test {DEBUG SET-DISABLE-DENY-SCRIPTS} {
        assert_error "*not allowed from script*" {r eval {return redis.call('client', 'id')} 0}
        r debug set-disable-deny-scripts 1
        assert_morethan [r eval {return redis.call('client', 'id')} 0] -1
        r debug set-disable-deny-scripts 0
        assert_error "*not allowed from script*" {r eval {return redis.call('client', 'id')} 0}
    }

    test {DEBUG CHANGE-REPL-ID} {
        set before [s master_replid]
        assert_equal OK [r debug change-repl-id]
        assert {[s master_replid] ne $before}
        assert_equal 40 [string length [s master_replid]]
    }

    test {DEBUG CLIENT-EVICTION} {
        assert_error "ERR maxmemory-clients is disabled." {r debug client-eviction}
        config_set maxmemory-clients 100mb
        set lines [split [string trim [r debug client-eviction]] \n]
        assert_match "bucket *0 - *32767: tot-mem: *, clients: 1" [lindex $lines 0]
        config_set maxmemory-clients 0
    }

    test {DEBUG STRINGMATCH-TEST ends} {
        r debug stringmatch-test
        assert_equal PONG [r ping]
    }

    test {DEBUG PAUSE-AFTER-FORK stops the server until SIGCONT} {
        r debug pause-after-fork 1
        set d [valkey_deferring_client]
        $d bgsave
        wait_for_condition 500 20 {[string match "State:\tT*" [lindex [split [exec cat /proc/[srv pid]/status] \n] 2]]} else {
            fail "it runs on"
        }
        exec kill -CONT [srv pid]
        assert_match "Background saving started*" [$d read]
        r debug pause-after-fork 0
        $d close
    }

    test {DEBUG CONFIG-REWRITE-FORCE-ALL writes defaults too} {
        assert_equal OK [r debug config-rewrite-force-all]
        restart_server
        assert_equal PONG [r ping]
        assert_equal OK [r config rewrite]
    }
}

start_server {overrides {appendonly yes} tags {debug needs:debug external:skip}} {
    test {DEBUG AOF-FLUSH-SLEEP} {
        r debug aof-flush-sleep 200000
        set started [clock milliseconds]
        r set k v
        assert_morethan_equal [expr {[clock milliseconds] - $started}] 199
        r debug aof-flush-sleep 0
    }
}
