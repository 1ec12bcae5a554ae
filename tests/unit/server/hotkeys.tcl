# HOTKEYS (9.2 §4): which keys are counted, the windows, what clears them, and how well keys are ranked.

# Returns {key db} of each hot key, in the order of the reply.
proc hot_names {} { return [lmap entry [r hotkeys get] { list [dict get $entry key] [dict get $entry db] }] }

# Returns the number of samples that the body takes while every request is sampled, and the sorted keys.
proc counted {body} {
    config_set hotkeys-window-seconds 1
    config_set hotkeys-top-k 64
    r hotkeys reset
    uplevel 1 $body
    wait_for_condition 100 50 {[hot_field duration_ms]} else { fail "the window does not end" }
    set result [list [hot_field samples] [lsort [lmap name [hot_names] { lindex $name 0 }]]]
    config_set hotkeys-top-k 0
    return $result
}

proc hot_field {field} {
    regexp -line "^hotkeys_last_window_$field:(\\d+)" [r info hotkeys] - value
    return $value
}
proc wait_hot {pattern} {
    wait_for_condition 100 50 {[string match $pattern [hot_names]]} else { fail "[r hotkeys get] does not match $pattern" }
}

start_server {tags {hotkeys} overrides {hotkeys-sampling-percentage 100}} {
    test {9.2 §4: nothing is counted, and no error replied, while hotkeys-top-k is 0} {
        r set k v
        assert_equal {} [r hotkeys get]
        assert_equal OK [r hotkeys reset]
        assert_match "*hotkeys_last_window_samples:0*hotkeys_last_window_duration_ms:0*" [r info hotkeys]
        assert_no_match "*Hotkeys*" [r info]
        assert_match "*Keyspace*Hotkeys*" [r info all]
        assert_match "*Hotkeys*" [r info everything]
        assert_error "ERR wrong number of arguments for 'hotkeys' command" {r hotkeys}
        assert_error "ERR unknown subcommand*" {r hotkeys nosuch}
        assert_match "*GET*RESET*START*STOP*HELP*" [r hotkeys help]
    }

    test {9.2 §4: a window ends after hotkeys-window-seconds, and its keys are shown with uses per second} {
        config_set hotkeys-top-k 2
        r mget {*}[lrepeat 300 often] {*}[lrepeat 100 less] {*}[lrepeat 30 rare]
        wait_hot {{often 0} {less 0}}
        set ms [hot_field duration_ms]
        assert_range $ms 1000 2000
        assert_equal 430 [hot_field samples]
        lassign [r hotkeys get] first second
        assert_equal {key db qps} [dict keys $first]
        assert_equal [list often 0 [expr {round(300 * 1000.0 / $ms)}]] [dict values $first]
        assert_equal [list less 0 [expr {round(100 * 1000.0 / $ms)}]] [dict values $second]
        wait_for_condition 100 50 {[hot_field samples] == 0} else { fail "the next window does not end" }
        assert_equal {} [r hotkeys get]
    }

    test {9.2 §4: RESP3 replies maps} {
        r get k
        wait_hot {{k 0}}
        config_set hotkeys-window-seconds 300
        assert_match {[*]1 [*]6 $3 key $1 k $2 db :0 $3 qps :*} [wire hotkeys get]
        r hello 3
        assert_match {[*]1 %3 $3 key $1 k $2 db :0 $3 qps :*} [wire hotkeys get]
        r hello 2
        config_set hotkeys-window-seconds 1
        config_set hotkeys-top-k 0
    }

    test {9.2 §4: every key that a command names counts, also missing ones and in all databases} {
        assert_equal {8 {a b c d m nosuch}} [counted { r mset a 1 b 2; r del a nosuch; r unlink c; r get d; r exists m m }]
        assert_equal {3 {a a l}} [counted { r get a; r select 3; r get a; r lpush l x; r select 0 }]
        r select 3
        r del l
        r select 0
    }

    test {9.2 §4: the commands of transactions and scripts count, a script's declared keys do not} {
        assert_equal {2 {a b}} [counted { r multi; r set a 1; r get b; r exec }]
        assert_equal {3 {a b}} [counted { r eval {redis.call('incr', 'a') redis.call('incr', 'a') redis.call('get', 'b')} 1 declared }]
        r function load "#!lua name=l\nredis.register_function('f', function(keys) return redis.call('get', keys\[1\]) end)"
        assert_equal {1 x} [counted { r fcall f 1 x }]
        r function flush
    }

    test {9.2 §4: refused commands, channels, OBJECT and DEBUG do not count} {
        r set a 1
        r rpush list x
        r acl setuser only on nopass ~mine +@all
        set client [valkey_client]
        $client auth only x
        assert_equal {0 {}} [counted { catch {$client get a}; catch {r get}; r object encoding a; r publish a x; r spublish a x; r ping }]
        assert_equal {0 {}} [counted { r debug object a }]
        assert_equal {1 mine} [counted { $client get mine }]
        assert_equal {1 list} [counted { catch {r incr list} }] "an error of the command itself"
        $client close
        r acl deluser only
    } {} {needs:debug}

    test {9.2 §4: a blocked command counts once} {
        assert_equal {2 q} [counted { set client [blocked_client blpop q 0]; r rpush q v; assert_equal {q v} [answer $client] }]
    }

    test {9.2 §4: expiry and eviction do not count} {
        r set fleeting v px 1
        assert_equal {0 {}} [counted { after 50; wait_for_condition 100 20 {[r dbsize] == [llength [r keys *]]} else { fail "not expired" } }]
    }

    test {9.2 §4: keys of any bytes and any size, in bounded memory} {
        set long [string repeat "x\x00\xff\n" 1000]
        config_set hotkeys-top-k 64
        r hotkeys reset
        r mget "\x00" {} "\r\n" $long ${long}1
        wait_for_condition 100 50 {[llength [hot_names]]} else { fail "the window does not end" }
        set names [lmap name [hot_names] { lindex $name 0 }]
        assert_equal 5 [llength $names]
        foreach name [list "\x00" {} "\r\n" "[string range $long 0 1023]... (2976 more bytes)" "[string range $long 0 1023]... (2977 more bytes)"] {
            assert {$name in $names} $name
        }
        set before [s used_memory]
        for {set i 0} {$i < 300} {incr i} { r get [string repeat $i 100000] }
        assert_lessthan [expr {[s used_memory] - $before}] 2000000
        config_set hotkeys-top-k 0
    }

    test {9.2 §4: RESET forgets both windows} {
        config_set hotkeys-top-k 5
        r get a
        wait_hot {{a 0}}
        config_set hotkeys-window-seconds 300
        wait_hot {{a 0}}
        r get b
        r hotkeys reset
        assert_equal {} [r hotkeys get]
        assert_equal {0 0} [list [hot_field samples] [hot_field duration_ms]]
        config_set hotkeys-window-seconds 1
        after 1200
        assert_equal {} [r hotkeys get]
    }

    test {9.2 §4: a change of a setting drops the running window, and keeps the finished one} {
        foreach {setting value} {hotkeys-top-k 4 hotkeys-sampling-percentage 99 hotkeys-window-seconds 2} {
            config_set hotkeys-top-k 5
            config_set hotkeys-window-seconds 1
            config_set hotkeys-sampling-percentage 100
            r hotkeys reset
            r get finished
            wait_hot {{finished 0}}
            config_set hotkeys-window-seconds 300
            r get running
            config_set $setting $value
            assert_equal {{finished 0}} [hot_names] $setting
            config_set hotkeys-window-seconds 1
            wait_for_condition 100 50 {[hot_names] eq {}} else { fail "[hot_names]" }
        }
        config_set hotkeys-sampling-percentage 100
        r get a
        wait_hot {{a 0}}
        config_set hotkeys-window-seconds 300
        config_set hotkeys-top-k 0
        assert_equal {} [r hotkeys get] "disabled"
    }

    test {9.2 §4: emptied data clears both windows, SWAPDB, RENAME and MOVE do not} {
        config_set hotkeys-top-k 5
        foreach command {flushdb flushall {debug reload}} {
            r set saved 1
            config_set hotkeys-window-seconds 1
            r get finished
            wait_hot {*{finished 0}*}
            config_set hotkeys-window-seconds 300
            r {*}$command
            assert_equal {} [r hotkeys get] $command
        }
        config_set hotkeys-top-k 0
        assert_equal {3 {a b c}} [counted { r get a; r flushall; r get a; r swapdb 0 1; r select 1; r get b; r select 0; r swapdb 0 1; r get c }]
        r set a 1
        assert_equal {4 {a b c}} [counted { r rename a b; r get c; r move b 1 }]
    } {} {needs:debug}

    test {9.2 §4: the users of keys are for administrators to see} {
        r acl setuser reader on nopass allkeys +@all -@admin
        set client [valkey_client]
        $client auth reader x
        foreach command {get reset stop {start metrics 1 cpu}} { assert_error "NOPERM*" { $client hotkeys {*}$command } }
        assert_match "*GET*" [$client hotkeys help]
        $client close
        r acl deluser reader
    }

    test {9.2 §4: a window that could not be closed in time is dropped} {
        config_set hotkeys-window-seconds 1
        config_set hotkeys-top-k 5
        r get before
        wait_hot {{before 0}}
        r get during
        exec kill -STOP [srv 0 pid]
        after 2500
        exec kill -CONT [srv 0 pid]
        after 200
        assert_equal {} [r hotkeys get]
        config_set hotkeys-top-k 0
    }
}

# The sessions of Redis 8.6. Figures of bytes were compared with Redis 8.6.3.
proc session {} { return [lindex [r hotkeys get] 0] }
proc session_field {name} { return [dict get [session] $name] }

# Returns the bytes of all requests and those of keys, of a session over the body.
proc session_bytes {body} {
    r hotkeys start metrics 2 cpu net
    uplevel 1 $body
    r hotkeys stop
    set result [list [session_field net-bytes-all-commands-all-slots] [session_field by-net-bytes]]
    assert_equal [expr [join [dict values [lindex $result 1]] +]+0] [session_field total-net-bytes]
    r hotkeys reset
    return $result
}

start_server {tags {hotkeys}} {
    test {HOTKEYS START: the grammar and the errors are Redis's} {
        foreach {error words} {
            "METRICS parameter is required" {{} metrics foo {count 3 metrics 1 cpu}}
            "METRICS count must be > 0 and <= 2" {{metrics 0} {metrics x} {metrics 3 cpu net}}
            "METRICS count does not match number of metric types provided" {{metrics 1} {metrics 2 cpu}}
            "METRICS no valid metrics passed. Supported: CPU|NET" {{metrics 1 foo}}
            "METRICS CPU defined more than once!" {{metrics 2 cpu cpu}}
            "COUNT must be between 1 and 64" {{metrics 1 cpu count 0} {metrics 1 cpu count 65} {metrics 1 cpu count x}}
            "DURATION must be between 1 and 1000000" {{metrics 1 cpu duration -1} {metrics 1 cpu duration 0} {metrics 1 cpu duration x}}
            "SAMPLE ratio must be positive" {{metrics 1 cpu sample 0} {metrics 1 cpu sample 2147483648} {metrics 1 cpu sample x}}
            "SLOTS parameter cannot be used in non-cluster mode" {{metrics 1 cpu slots 1 5}}
            "syntax error" {{metrics 1 cpu count} {metrics 1 cpu foo} {metrics 1 cpu net} {metrics 1 cpu metrics 1 cpu}}
        } {
            foreach line $words { assert_error "ERR $error" { r hotkeys start {*}$line } $line }
        }
        assert_equal {} [r hotkeys stop]
        assert_equal {$-1} [wire hotkeys stop]
    }

    test {HOTKEYS START: the report of a session, in RESP2 and RESP3} {
        set before [clock milliseconds]
        assert_equal OK [r hotkeys start metrics 2 net cpu count 2 sample 1]
        assert_error "ERR hotkey tracking session already in progress" { r hotkeys start metrics 1 cpu }
        r set a b
        assert_match {[*]1 [*]24 $15 tracking-active :1 $12 sample-ratio :1 $14 selected-slots [*]1 [*]2 :0 :16383 $25 all-commands-all-slots-us :* $32\
            net-bytes-all-commands-all-slots :32 $29 collection-start-time-unix-ms :* $22 collection-duration-ms :* $22 total-cpu-time-user-ms :*\
            $21 total-cpu-time-sys-ms :* $15 total-net-bytes :32 $14 by-cpu-time-us [*]* $12 by-net-bytes [*]2 $1 a :32} [wire hotkeys get]
        assert_range [session_field collection-start-time-unix-ms] $before [clock milliseconds]
        assert_range [session_field collection-duration-ms] 0 [expr {[clock milliseconds] - $before}]
        assert_error "ERR hotkey tracking session in progress, stop tracking first" { r hotkeys reset }
        assert_match "*\r\nhotkeys-tracking-active:1\r\n*" [r info hotkeys]
        assert_equal OK [r hotkeys stop]
        r set more x
        set report [session]
        assert_equal {0 32} [list [dict get $report tracking-active] [dict get $report total-net-bytes]]
        assert_match "*\r\nhotkeys-tracking-active:0\r\n*" [r info hotkeys]
        after 20
        assert_equal $report [session] "it stays as it was at STOP"
        r hello 3
        assert_match {[*]1 %12 $15 tracking-active :0 * $12 by-net-bytes [*]2 $1 a :32} [wire hotkeys get]
        r hello 2
        assert_equal {} [r hotkeys stop]
        r hotkeys reset
        assert_equal {} [r hotkeys get]
        assert_no_match "*tracking-active*" [r info hotkeys]
    }

    test {HOTKEYS START: only the metrics that were named} {
        foreach {metric has no} {cpu {by-cpu-time-us total-cpu-time-user-ms total-cpu-time-sys-ms} {by-net-bytes total-net-bytes}
                                 net {by-net-bytes total-net-bytes} {by-cpu-time-us total-cpu-time-user-ms total-cpu-time-sys-ms}} {
            r hotkeys start metrics 1 $metric
            set names [dict keys [session]]
            foreach name $has { assert {$name in $names} $name }
            foreach name $no { assert {$name ni $names} $name }
            r hotkeys stop
        }
        r hotkeys reset
    }

    test {HOTKEYS START: bytes of requests and replies, in equal parts for the keys of a request} {
        foreach {requests bytes} {
            {{ping}} {0 {}} {{set a b}} {32 {a 32}} {{get a}} {27 {a 27}} {{mget a c}} {44 {a 22 c 22}} {{mget a a}} {46 {a 46}} {{mset a 1 c 2}} {47 {a 23 c 23}}
            {{get nosuch}} {30 {nosuch 30}} {{eval {redis.call("set",KEYS[1],"v") return 1} 1 a}} {77 {a 77}} {{eval {return redis.call("set","zz","v")} 0}} {0 {}}
            {{eval {return redis.call("get",KEYS[1])} 2 a b}} {81 {a 40 b 40}} {{select 1} {set a bbbbbb} {select 0} {set a b}} {69 {a 69}}
            {{lpush a}} {0 {}} {{lpush a x}} {97 {a 97}} {{publish x y}} {0 {}} {{multi} {set a b} {set c d} {exec}} {64 {a 32 c 32}} {{flushall} {set a b} {flushall}} {32 {a 32}}
        } {
            assert_equal $bytes [session_bytes { foreach request $requests { catch { r {*}$request } } }] $requests
        }
        assert_equal {80 {q 80}} [session_bytes { set client [blocked_client blpop q 0]; r rpush q v; assert_equal {q v} [answer $client] }] "a blocked one counts once"
        set long [string repeat x 1025]
        assert_equal "[string repeat x 1024]... (1 more bytes)" [lindex [session_bytes { r get $long }] 1 0]
    }

    test {HOTKEYS START: time of requests} {
        r hotkeys start metrics 1 cpu count 1
        r set quick v
        r eval {local n = 0; while n < 3000000 do n = n + 1 end} 1 slow
        lassign [session_field by-cpu-time-us] key us
        assert_equal {slow 1} [list $key [expr {[llength [session_field by-cpu-time-us]] / 2}]]
        assert_range $us 1000 [session_field all-commands-all-slots-us]
        assert_range [session_field all-commands-all-slots-us] $us [expr {$us + 1000}]
        r hotkeys stop
        assert_morethan [expr {[session_field total-cpu-time-user-ms] + [session_field total-cpu-time-sys-ms]}] 0
        r hotkeys reset
    }

    test {HOTKEYS START SAMPLE: one request in so many counts for keys, all of them in the totals} {
        r hotkeys start metrics 1 net sample 10
        for {set i 0} {$i < 2000} {incr i} { r get k }
        r hotkeys stop
        assert_equal 50000 [session_field net-bytes-all-commands-all-slots]
        assert_range [session_field total-net-bytes] 3000 7000
        assert_equal [list k [session_field total-net-bytes]] [session_field by-net-bytes]
        r hotkeys reset
    }

    test {HOTKEYS START beside hotkeys-top-k: windows go on, and GET shows them again after RESET} {
        config_set hotkeys-sampling-percentage 100
        config_set hotkeys-top-k 2
        r hotkeys start metrics 1 net
        r get k
        assert_equal {k 25} [session_field by-net-bytes]
        r hotkeys stop
        wait_for_condition 100 50 {[hot_field samples] == 1} else { fail "no window ends" }
        r hotkeys reset
        r get k
        wait_hot {{k 0}}
        config_set hotkeys-top-k 0
        config_set hotkeys-sampling-percentage 1
    }

    test {HOTKEYS START DURATION ends by itself} {
        r hotkeys start metrics 1 net duration 1
        r get a
        wait_for_condition 100 50 {![session_field tracking-active]} else { fail "it goes on" }
        r get a
        assert_equal {} [r hotkeys stop]
        assert_range [session_field collection-duration-ms] 1000 2000
        assert_equal {a 25} [session_field by-net-bytes]
        assert_equal OK [r hotkeys start metrics 1 cpu] "it replaces what has ended"
        r hotkeys stop
    }
}

start_server {tags {hotkeys cluster} overrides {cluster-enabled yes}} {
    test {HOTKEYS START SLOTS in a cluster} {
        r cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "not ok" }
        foreach {error words} {
            "syntax error" {slots} "not enough slot numbers provided" {slots 1} "SLOTS count must be between 1 and 16384" {slots 0 5}
            "duplicate slot number" {slots 2 5 5} "Invalid or out of range slot" {slots 1 16384} "SLOTS parameter already specified" {slots 1 5 slots 1 6}
        } { assert_error "ERR $error" { r hotkeys start metrics 1 cpu {*}$words } }
        r hotkeys start metrics 1 net slots 4 [r cluster keyslot foo] 5 6 8
        r get foo
        r get bar
        r hotkeys stop
        assert_equal [lsort -integer -index 0 [list {5 6} 8 [r cluster keyslot foo]]] [session_field selected-slots]
        assert_equal {54 27 27 {foo 27}} [lmap name {net-bytes-all-commands-all-slots net-bytes-all-commands-selected-slots total-net-bytes by-net-bytes} { session_field $name }]
        r hotkeys start metrics 1 net slots 1 [r cluster keyslot foo] sample 4
        for {set i 0} {$i < 400} {incr i} { r get foo }
        r hotkeys stop
        assert_equal 10800 [session_field net-bytes-all-commands-selected-slots]
        assert_range [session_field net-bytes-sampled-commands-selected-slots] 1350 4050
        assert_equal [session_field net-bytes-sampled-commands-selected-slots] [session_field total-net-bytes]
        assert_range [session_field sampled-commands-selected-slots-us] 0 [session_field all-commands-selected-slots-us]
        r hotkeys reset
    }

    test {HOTKEYS in a cluster: each node counts its own, a slot that leaves clears} {
        config_set hotkeys-sampling-percentage 100
        assert_equal {2 {bar foo}} [counted { r get foo; r get bar }]
        config_set hotkeys-top-k 64
        r get foo
        wait_hot {{foo 0}}
        config_set hotkeys-window-seconds 300
        r cluster flushslot [r cluster keyslot elsewhere]
        assert_equal {} [hot_names]
        config_set hotkeys-window-seconds 1
        r get foo
        wait_hot {{foo 0}}
        config_set hotkeys-window-seconds 300
        r flushall
        r cluster reset
        assert_equal {} [hot_names]
    }
}

# A random number from 0 on, with frequencies near to those of Zipf's law.
proc zipf {n} { return [expr {int(pow($n, rand())) - 1}] }

start_server {tags {hotkeys slow} overrides {hotkeys-top-k 10 hotkeys-sampling-percentage 5 hotkeys-window-seconds 300}} {
    test {9.2 §4: sampled keys of a skewed load are ranked as they are used} {
        set client [valkey_deferring_client]
        array set uses {}
        r hotkeys start metrics 1 net sample 20
        for {set batch 0} {$batch < 200} {incr batch} {
            set requests {}
            for {set i 0} {$i < 500} {incr i} {
                set key key:[zipf 100000]
                incr uses($key)
                append requests [resp::encode [list get $key]]
            }
            $client write $requests
            for {set i 0} {$i < 500} {incr i} { $client read }
        }
        r hotkeys stop
        $client close
        set top [lrange [lsort -integer -stride 2 -index 1 -decreasing [array get uses]] 0 19]
        set bytes [session_field by-net-bytes]
        assert_equal [lindex $top 0] [lindex $bytes 0]
        set found 0
        foreach key [dict keys $bytes] { incr found [dict exists $top $key] }
        assert_morethan_equal $found 8
        assert_range [expr {20.0 * [session_field total-net-bytes] / [session_field net-bytes-all-commands-all-slots]}] 0.9 1.1
        set request [string length [resp::encode [list get [lindex $top 0]]]]
        assert_range [expr {20.0 * [lindex $bytes 1] / ($request + 5) / [lindex $top 1]}] 0.75 1.25
    }
}

start_servers {primary {kind ours overrides {hotkeys-sampling-percentage 100}} replica {kind ours overrides {hotkeys-sampling-percentage 100}}} {
    test {9.2 §4: what a replica gets from its primary does not count, a full synchronization clears} {
        r [at replica] config set hotkeys-top-k 5
        r [at replica] get mine
        wait_for_condition 100 50 {[llength [r [at replica] hotkeys get]]} else { fail "nothing is counted" }
        r [at replica] config set hotkeys-window-seconds 300
        follow replica primary
        wait_for_condition 100 50 {[r [at replica] hotkeys get] eq {}} else { fail "the synchronization did not clear" }
        r [at replica] config set hotkeys-window-seconds 1
        r [at replica] hotkeys start metrics 1 net
        r [at primary] set k v
        wait_for_offset replica primary
        r [at replica] get k
        r [at replica] hotkeys stop
        assert_equal {k 27} [dict get [lindex [r [at replica] hotkeys get] 0] by-net-bytes]
        wait_for_condition 100 50 {[string match {*hotkeys_last_window_samples:1?*} [r [at replica] info hotkeys]]} else { fail [r [at replica] info hotkeys] }
    }
}
