# valkey-benchmark: what it sends, what it prints, and its exit code. Figures are looked at for their form only.

set ::benchmark [tool_path valkey-benchmark]

proc run_benchmark {input args} { return [run_tool valkey-benchmark $input {*}$args] }
proc benchmark {args} { return [tool_output valkey-benchmark {*}$args] }

start_server {} {
    test "the report" {
        set out [benchmark -t get -n 500 -c 5]
        foreach pattern {
            {^====== GET ======\n  500 requests completed in \d+\.\d\d seconds\n  5 parallel clients\n  3 bytes payload\n  keep alive: 1\n}
            {\n  host configuration "save": .*\n}
            {\n  multi-thread: no\n\nLatency by percentile distribution:\n0\.000% <= \d+\.\d{3} milliseconds \(cumulative count \d+\)\n}
            {\n100\.000% <= \d+\.\d{3} milliseconds \(cumulative count 500\)\n\nCumulative distribution of latencies:\n}
            {\n100\.000% <= \d+\.\d{3} milliseconds \(cumulative count 500\)\n\nSummary:\n  throughput summary: [\d.]+ requests per second\n}
            {\n  latency summary \(msec\):\n          avg       min       p50       p95       p99       max\n( +[\d.]+){6}\n\n$}
        } { assert {[regexp -- $pattern $out]} "$pattern in $out" }
    }

    test "-q: one line a test, in the order of the suite" {
        set titles {}
        foreach line [split [string trim [benchmark -q -n 100 -c 4]] \n] {
            if {![regexp {^(.*): [\d.]+ requests per second, p50=[\d.]+ msec$} $line -> title]} { fail $line }
            lappend titles $title
        }
        assert_equal [list {*}{PING_INLINE PING_MBULK SET GET INCR LPUSH RPUSH LPOP RPOP SADD HSET SPOP ZADD ZPOPMIN
            {LPUSH (needed to benchmark LRANGE)} {LRANGE_100 (first 100 elements)} {LRANGE_300 (first 300 elements)}
            {LRANGE_500 (first 500 elements)} {LRANGE_600 (first 600 elements)} {MSET (10 keys)} {MGET (10 keys)} XADD
            {FUNCTION LOAD} FCALL}] \
            [list {*}$titles]
    }

    test "--csv" {
        set lines [split [string trim [benchmark --csv -t ping,mset -n 100]] \n]
        assert_equal {"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"} \
            [lindex $lines 0]
        assert_equal {{"PING_INLINE"} {"PING_MBULK"} {"MSET (10 keys)"}} [lmap l [lrange $lines 1 end] { lindex [split $l ,] 0 }]
        foreach line [lrange $lines 1 end] { assert {[regexp {^"[^"]*"(,"\d+\.\d+"){7}$} $line]} $line }
    }

    foreach how {{} {-P 7} {-c 3 --threads 2} {-P 16 -c 3 --threads 3} {-k 0 -c 3} {-k 0 -P 5 -c 2}} {
        test "exactly -n commands are sent ($how)" {
            r flushall
            benchmark {*}$how -q -n 1003 incr counter
            assert_equal 1003 [r get counter]
        }
    }

    test "a command of one's own, with a title, a payload and random numbers" {
        r flushall
        assert_match "set key:__rand_int__ __data__: *" [benchmark -q -n 500 -r 20 -d 50 set key:__rand_int__ __data__]
        assert_range [r dbsize] 2 20
        foreach key [r keys *] {
            assert {[regexp {^key:0{10}[01]\d$} $key]} $key
            assert_equal 50 [r strlen $key]
        }
        r flushall
        benchmark -q -n 10 set key:__rand_int__ x
        assert_equal key:__rand_int__ [r keys *]
    }

    test "--sequential covers the whole range" {
        r flushall
        benchmark -q -n 300 -r 300 --sequential -P 7 -c 4 --threads 2 set k:__rand_int__ v
        assert_equal 300 [r dbsize]
        assert_equal 1 [r exists k:000000000299]
    }

    test "__rand_1st__ is the same number within a command" {
        r flushall
        benchmark -q -n 50 -r 100000 -- set k:__rand_1st__ __rand_1st__-__rand_2nd__
        foreach key [r keys *] {
            assert_match "[string range $key 2 end]-????????????" [r get $key]
        }
    }

    test "the same --seed gives the same keys" {
        r flushall
        benchmark -q -n 40 -c 1 -r 1000000 --seed 5 sadd a __rand_int__
        benchmark -q -n 40 -c 1 -r 1000000 --seed 5 sadd b __rand_int__
        benchmark -q -n 40 -c 1 -r 1000000 --seed 6 sadd c __rand_int__
        assert_equal 0 [llength [r sdiff a b]]
        assert_morethan [llength [r sdiff a c]] 0
    }

    test "-x, --dbnum, -u and -3" {
        lassign [run_benchmark "from stdin" -x -q -n 5 --dbnum 2 set k] code out
        assert_match "set k: *" $out
        assert_equal 0 $code
        r select 2
        assert_equal "from stdin" [r get k]
        benchmark -u valkey://[srv host]:[srv port]/2 -q -n 5 set u 1
        assert_equal 1 [r get u]
        r select 0
        benchmark -3 -q -n 5 hset h f v
        assert_equal v [r hget h f]
    }

    test "--duration and --warmup" {
        r flushall
        r config resetstat
        assert_match "incr n: *" [benchmark -q --duration 1 incr n]
        assert_morethan [r get n] 50
        r del n
        benchmark -q --warmup 1 -n 20 incr n
        assert_morethan [r get n] 20
    }

    test "a sequence of commands, some of them more than once" {
        r flushall
        r config resetstat
        benchmark -q -n 100 -c 2 -P 3 -r 10 -- 2 incr n ";" 3 hset h f __rand_int__
        assert_equal 40 [r get n]
        assert_match "*cmdstat_hset:calls=60,*" [r info commandstats]
        benchmark -q -n 9 -c 1 multi ";" incr n ";" exec
        assert_equal 43 [r get n]
    }

    test "--rfr changes nothing for one server" {
        r config resetstat
        foreach mode {no yes all} { assert_match "GET: *" [benchmark -q -n 10 -c 1 -t get --rfr $mode] }
        assert_match "*cmdstat_get:calls=30,*" [r info commandstats]
    }

    test "functions: function_load and fcall" {
        r config resetstat
        assert_match "FUNCTION LOAD: *FCALL: *" [benchmark -q -n 20 -t function_load,fcall --num-functions 3 --num-keys-in-fcall 2]
        assert_equal {key1 key1} [list [r fcall foo1 2 key1 key2] [r fcall foo1 1 key1]]
        assert_match "*cmdstat_fcall:calls=22,*" [r info commandstats]
    }

    test "--rps limits the load" {
        r flushall
        set begin [clock milliseconds]
        benchmark -q --rps 100 -n 200 -c 10 -P 2 --threads 2 incr n
        assert_equal 200 [r get n]
        assert_morethan [expr {[clock milliseconds] - $begin}] 1500 ;# 100 batches, 20 ms apart
        benchmark -q --rps 1000 -n 100 -c 3 -k 0 incr m
        assert_equal 100 [r get m]
        assert_match "incr o: *" [benchmark -q --rps 1000 --duration 1 --warmup 1 incr o]
        assert_range [r get o] 1000 4000
    }

    test "many threads, with and without --rps" {
        r flushall
        benchmark -q -n 640 -c 64 --threads 64 incr n
        benchmark -q -n 640 -c 64 --threads 64 --rps 100000 incr n
        assert_equal 1280 [r get n]
    }

    test "--rps counts latency from when a request was due, not from when a client was free" {
        if {$::benchmark eq {}} { skip "no valkey-benchmark" }
        set pipe [open |[list timeout 100 $::benchmark -h [srv host] -p [srv port] --csv --rps 100 -n 200 -c 1 incr paused]]
        wait_for_condition 500 10 {[r get paused] > 20} else { fail "it does not begin" }
        r client pause 1000 all
        gets $pipe names
        gets $pipe figures
        close $pipe
        # Half of the requests were due in that second. One client would have waited once, for one of them.
        set p95_ms [string trim [lindex [split $figures ,] [lsearch [split $names ,] {"p95_latency_ms"}]] \"]
        assert_morethan $p95_ms 400
        assert_equal 200 [r get paused]
    }

    test "error replies: the first one ends the test, or they are counted" {
        lassign [run_benchmark {} -q -n 100 nosuch] code out err
        assert_equal {1 {}} [list $code $out]
        assert_match "Error from server: ERR unknown command*" $err
        lassign [run_benchmark {} -q -n 100 --show-server-errors nosuch] code out err
        assert_equal 1 $code
        assert_match "nosuch: *requests per second*" $out
        assert_match "*nosuch: 100 error replies, the first: ERR unknown command*" $err
    }

    test "no server, bad options, unknown tests" {
        lassign [run_benchmark {} -p 1 -n 10] code out err
        assert_equal 1 $code
        assert_match "*Could not connect to server at *:1: Connection refused*" $err
        foreach words {--nosuch -n {-n x} {-k 2} {--fuzz-mode some} {--rfr some} {-u http://x} -x {-n 1 --duration 1} {ping ; ; ping} {0 ping}} {
            assert_equal 1 [lindex [run_benchmark {} {*}$words] 0] $words
        }
        lassign [run_benchmark {} -t nosuch,get -n 10 -q] code out err
        assert_equal 0 $code
        assert_match "GET: *" $out
        assert_match "There is no test 'nosuch'*" $err
    }

    test "-I connects and waits" {
        if {$::benchmark eq {}} { skip "no valkey-benchmark" }
        # The keys of earlier tests are deleted when only ours is left.
        wait_for_condition 200 50 {[s connected_clients] == 1} else { fail "others are there" }
        set pipe [open |[list timeout 100 $::benchmark -h [srv host] -p [srv port] -I -c 7] r]
        assert_match "Creating 7 idle connections*" [gets $pipe]
        assert_equal "clients: 7" [gets $pipe]
        wait_for_condition 200 50 {[s connected_clients] == 8} else { fail "they are not there" }
        exec kill [pid $pipe]
        catch {close $pipe}
    }

    test "-I ends with an error when the server refuses a connection, or closes it" {
        if {$::benchmark eq {}} { skip "no valkey-benchmark" }
        set before [config_get maxclients]
        config_set maxclients 5
        lassign [run_benchmark {} -I -c 9] code out err
        config_set maxclients $before
        assert_equal 1 $code
        assert_match "Error from server: ERR max number of clients reached\n" $err
        set pipe [open |[list timeout 100 $::benchmark -h [srv host] -p [srv port] -I -c 3 2>@1] r]
        gets $pipe
        assert_equal "clients: 3" [gets $pipe]
        wait_for_condition 200 50 {[s connected_clients] == 4} else { fail "they are not there" }
        r client kill type normal skipme yes
        assert_equal "A connection has ended: Server closed the connection\n" [read $pipe]
        assert_equal 1 [catch {close $pipe}]
    }

    test "figures are shown live at a terminal" {
        if {$::benchmark eq {}} { skip "no valkey-benchmark" }
        if {[auto_execok script] eq {}} { skip "no script(1) to make a terminal" }
        set command "stty cols 120; $::benchmark -h [srv host] -p [srv port] -q --duration 2 -t get"
        set out [exec timeout 100 script -qec $command /dev/null < /dev/null]
        assert {[regexp {[\r\n]\S*GET: \d+%, rps=[\d.]+ \(overall: [\d.]+\) avg_msec=[\d.]+ \(overall: [\d.]+\)} $out]} $out
        assert {[regexp {GET: [\d.]+ requests per second, p50=[\d.]+ msec} $out]} $out
        # The default form shows it, too, with the number of the test; lines fit the terminal.
        set command "stty cols 50; $::benchmark -h [srv host] -p [srv port] --duration 1 --warmup 1 -t get,set"
        set out [exec timeout 100 script -qec $command /dev/null < /dev/null]
        assert {[regexp {\x1b\[K\[1/2\] SET: warming up, rps=} $out]} $out
        assert {[regexp {\x1b\[K\[2/2\] GET: [1-9]\d*%, rps=} $out]} $out
        foreach {line text} [regexp -all -inline {\x1b\[K(\[[^\r\n]*)} $out] { assert_lessthan [string length $text] 50 }
    }

    test "--cluster prints the error of a server without a cluster" {
        lassign [run_benchmark {} --cluster -n 10 -t get] code out err
        assert_equal 1 $code
        assert_equal [list "CLUSTER SLOTS failed: ERR This instance has cluster support disabled" \
            "The configuration of the cluster could not be read from [srv host]:[srv port]"] [split [string trim $err] \n]
    }

    foreach modes {{} malformed-commands config-commands malformed-commands,config-commands} {
        test "--fuzz sends valid commands, and the server survives: $modes" {
            r config resetstat
            set out [benchmark --fuzz {*}[expr {$modes eq {} ? {} : [list --fuzz-mode $modes]}] -n 4000 -c 8 --seed 5]
            assert_match "Running fuzzer with 8 clients, 500 commands per client (4000 total commands)\n*" $out
            foreach line {"All client threads completed. 8 succeeded, 0 failed." "Total commands sent: 4000" "Malformed replies: 0"} {
                assert {[string first "\[INFO \] $line\n" $out] >= 0} "$line: $out"
            }
            regexp {Success replies: (\d+)\n.*Error replies: (\d+)\n.*Success rate: (\d+)} $out - good bad rate
            assert_equal 4000 [expr {$good + $bad}]
            assert_range $rate [expr {[string match malformed* $modes] ? 50 : 70}] 95
            assert_morethan [r dbsize] 50
            set seen [llength [regexp -all -inline {cmdstat_} [r info commandstats]]]
            assert_morethan $seen 150 "commands"
            foreach never {shutdown debug blpop subscribe migrate} { assert {![regexp cmdstat_$never: [r info commandstats]]} $never }
            assert_equal [string match *config* $modes] [regexp cmdstat_config.set: [r info commandstats]]
        }
    }

    test "--fuzz-loglevel" {
        assert_equal 1 [llength [split [string trim [benchmark --fuzz --fuzz-loglevel none -n 100 -c 2]] \n]]
        assert_match "*\\\[DEBUG\\\]*: -ERR *" [benchmark --fuzz --fuzz-loglevel debug -n 2000 -c 2]
        assert_match "*There is no log level 'x', so it is 'info'*" [benchmark --fuzz --fuzz-loglevel x -n 100 -c 2]
        lassign [run_benchmark {} --fuzz --fuzz-mode x] code out err
        assert_equal [list 1 "There is no fuzz mode 'x'"] [list $code [string trim $err]]
    }

    test "--help and --version" {
        assert_match "valkey-benchmark *\n" [benchmark --version]
        set help [benchmark --help]
        foreach option {-h -p -s -a --user -u -c -n -d --dbnum -3 --threads --enable-tracking -k -r -P -q --precision
            --csv --json --svg --mix --keys -l -t -I --seed --show-server-errors -x --rps --mptcp --num-functions --num-keys-in-fcall --warmup --duration --sequential --cluster --rfr
            --fuzz --fuzz-mode --fuzz-loglevel --help --version} {
            assert {[string first " $option" $help] >= 0} $option
        }
    }
}

start_server {overrides {requirepass secret}} {
    test "passwords" {
        r auth secret
        benchmark -a secret -q -n 10 -t get
        benchmark -a secret --user default -q -n 10 -t get
        benchmark -u redis://default:secret@[srv host]:[srv port] -q -n 10 -t get
        lassign [run_benchmark {} -q -n 10 -a wrong -t get] code out err
        assert_equal 1 $code
        assert_match "*WRONGPASS*" $err
    }
}
