# HOTKEYS (9.2 §4): which keys are counted, the windows, what clears them, and how well keys are ranked.

# Returns {key db} of each hot key, in the order of the reply.
proc hot_names {} { return [lmap entry [r hotkeys get] { list [dict get $entry key] [dict get $entry db] }] }

# Returns the number of samples that the body takes while every request is sampled, and the sorted keys.
proc counted {body} {
    r hotkeys start metrics 1 cpu count 64
    uplevel 1 $body
    r hotkeys stop
    set result [list [hot_field samples] [lsort [lmap name [hot_names] { lindex $name 0 }]]]
    r hotkeys reset
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
        config_set hotkeys-top-k 0
        r hotkeys start metrics 1 cpu
        r get k
        assert_match {[*]1 [*]6 $3 key $1 k $2 db :0 $3 qps :*} [wire hotkeys get]
        r hello 3
        assert_match {[*]1 %3 $3 key $1 k $2 db :0 $3 qps :*} [wire hotkeys get]
        r hello 2
        r hotkeys stop
        r hotkeys reset
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
        r hotkeys start metrics 1 cpu
        r mget "\x00" {} "\r\n" $long ${long}1
        set names [lmap name [hot_names] { lindex $name 0 }]
        assert_equal 5 [llength $names]
        foreach name [list "\x00" {} "\r\n" "[string range $long 0 1023]... (2976 more bytes)" "[string range $long 0 1023]... (2977 more bytes)"] {
            assert {$name in $names} $name
        }
        set before [s used_memory]
        for {set i 0} {$i < 300} {incr i} { r get [string repeat $i 100000] }
        assert_lessthan [expr {[s used_memory] - $before}] 2000000
        r hotkeys stop
        r hotkeys reset
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

# Redis 8.6's START and STOP.
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

    test {HOTKEYS START counts until STOP, whatever the directives say} {
        assert_equal OK [r hotkeys start metrics 2 net cpu count 2 sample 1]
        assert_error "ERR hotkey tracking session already in progress" { r hotkeys start metrics 1 cpu }
        r mget a a a b b c
        assert_equal {{a 0} {b 0}} [hot_names]
        assert_equal OK [r hotkeys stop]
        r mget c c c c
        assert_equal {{a 0} {b 0}} [hot_names] "results stay after STOP"
        assert_equal 6 [hot_field samples]
        r hotkeys reset
        assert_equal {} [hot_names]
    }

    test {HOTKEYS START DURATION ends by itself} {
        r hotkeys start metrics 1 cpu duration 1
        r get a
        wait_for_condition 100 50 {[hot_field samples] == 1} else { fail "it goes on" }
        assert_equal {} [r hotkeys stop]
        assert_range [hot_field duration_ms] 1000 2000
        assert_equal {{a 0}} [hot_names]
    }
}

start_server {tags {hotkeys cluster} overrides {cluster-enabled yes}} {
    test {HOTKEYS in a cluster: each node counts its own, SLOTS chooses, a slot that leaves clears} {
        r cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[string match *cluster_state:ok* [r cluster info]]} else { fail "not ok" }
        foreach {error words} {
            "syntax error" {slots} "not enough slot numbers provided" {slots 1} "SLOTS count must be between 1 and 16384" {slots 0 5}
            "duplicate slot number" {slots 2 5 5} "Invalid or out of range slot" {slots 1 16384} "SLOTS parameter already specified" {slots 1 5 slots 1 6}
        } { assert_error "ERR $error" { r hotkeys start metrics 1 cpu {*}$words } }
        r hotkeys start metrics 1 cpu slots 1 [r cluster keyslot foo]
        r get foo
        r get bar
        assert_equal {{foo 0}} [hot_names]
        r cluster flushslot [r cluster keyslot elsewhere]
        assert_equal {} [hot_names]
        r hotkeys stop
        assert_equal {2 {bar foo}} [counted { r get foo; r get bar }]
        r hotkeys start metrics 1 cpu
        r get foo
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
        r hotkeys start metrics 1 cpu sample 20
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
        assert_equal [lindex $top 0] [lindex [hot_names] 0 0]
        set found 0
        foreach name [hot_names] { incr found [dict exists $top [lindex $name 0]] }
        assert_morethan_equal $found 8
        assert_range [hot_field samples] 4500 5500
        set entry [lindex [r hotkeys get] 0]
        set estimate [expr {[dict get $entry qps] * [hot_field duration_ms] / 1000.0}]
        assert_range [expr {$estimate / [lindex $top 1]}] 0.75 1.25
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
        r [at replica] hotkeys start metrics 1 cpu
        r [at primary] set k v
        wait_for_offset replica primary
        r [at replica] get k
        r [at replica] hotkeys stop
        assert_match {*hotkeys_last_window_samples:1?*} [r [at replica] info hotkeys]
    }
}
