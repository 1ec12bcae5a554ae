# valkey-benchmark: mixed loads, the distributions of keys, results for programs, charts, and the live line of comparisons.

proc run_benchmark {input args} { return [run_tool valkey-benchmark $input {*}$args] }
proc benchmark {args} { return [tool_output valkey-benchmark {*}$args] }
set ::benchmark_command [list [tool_path valkey-benchmark]]

# How often each command ran since CONFIG RESETSTAT.
proc calls {command} {
    if {![regexp "cmdstat_$command:calls=(\\d+)" [r info commandstats] -> calls]} { return 0 }
    return $calls
}

# The value that python's JSON parser finds at a path, in a text that it takes as a whole.
proc json_at {text args} {
    set code {
import json, sys
at = json.load(sys.stdin)
for step in sys.argv[1:]: at = at[int(step)] if isinstance(at, list) else at[step]
print(len(at) if isinstance(at, (list, dict)) else at)
    }
    return [exec python3 -c $code {*}$args << $text]
}

proc need_python {} { if {[auto_execok python3] eq {}} { skip "no python3 here" } }

start_server {tags {tools}} {
    test "--mix: each command is sent as often as its weight says, in one load" {
        foreach pipeline {1 7} {
            r config resetstat
            set out [benchmark --mix get:80,set:15,hset:5 -n 20000 -P $pipeline -c 10 -r 1000 -q]
            assert_match "MIX of 80 GET + 15 SET + 5 HSET: *" $out
            set sum 0
            foreach {command title share} {get GET 0.8 set SET 0.15 hset HSET 0.05} {
                set expected [expr {20000 * $share}]
                set calls [calls $command]
                assert_range $calls [expr {int($expected - 6 * sqrt($expected))}] [expr {int($expected + 6 * sqrt($expected))}]
                assert {[regexp -line "^  $title: \[\\d.\]+ requests per second, p50=\[\\d.\]+ p99=\[\\d.\]+ max=\[\\d.\]+ msec$" $out]} $out
                incr sum $calls
            }
            # Requests that were due with the last batches are sent as whole batches.
            assert_range $sum 20000 [expr {20000 + $pipeline}]
        }
        assert_morethan [r dbsize] 500 "keys are drawn for each command"
        assert_match "*\n  by command:\n    GET: *\n    SET: *\n" [benchmark --mix get,set -n 100]
        assert_equal 4 [llength [split [string trim [benchmark --mix get,set:3 -n 100 --csv]] \n]]
        benchmark --mix fcall:1,get:1 -n 100 -q
    }

    test "--mix: a wrong one is an error, and nothing is sent" {
        r config resetstat
        foreach {arguments error} {
            {--mix get:80,nosuch:20} "*no single test is named 'nosuch'*"
            {--mix get:0}            "*invalid weight*"
            {--mix get:x}            "*invalid weight*"
            {--mix ping}             "*no single test is named 'ping'*"
            {--mix {}}               "*no test*"
            {--mix get -t set}       "*Only one load can be given*"
            {--mix get ping}         "*Only one load can be given*"
            {--keys zipf}            "*-r, is required*"
            {--keys pareto -r 10}    "*uniform, zipf or gauss*"
            {--keys zipf:0 -r 10}    "*uniform, zipf or gauss*"
            {--keys zipf -r 10 --sequential} "*Only one of these*"
            {--json --csv}           "*Only one output format*"
            {--svg x --vs 127.0.0.1:1} "*only one server*"
        } {
            lassign [run_benchmark {} {*}$arguments -n 10] code out err
            assert_equal 1 $code $arguments
            assert_match $error $err
        }
        assert_equal 0 [calls get]
    }

    test "--keys: the most frequent keys" {
        foreach {kind least most} {
            uniform {}             {}
            zipf    {0 0.17 0.21}  {99 0.0005 0.005}
            gauss   {50 0.015 0.035} {0 0 0.002}
        } {
            r flushall
            benchmark -r 100 --keys $kind -n 20000 -P 10 -q -t incr
            set counts {}
            for {set i 0} {$i < 100} {incr i} { lappend counts [expr {[scan "0[r get [format counter:%012d $i]]" %d] / 20000.0}] }
            foreach place [list $least $most] {
                if {$place ne {}} { lassign $place key from to; assert_range [lindex $counts $key] $from $to }
            }
            if {$kind eq "uniform"} { foreach count $counts { assert_range $count 0.005 0.015 } }
        }
    }

    test "--json: one object, also with an error, a mix, a comparison" {
        need_python
        set text [benchmark --json -t get,set -n 500 -c 5 -P 4 -r 10]
        assert_equal 2 [json_at $text tests]
        assert_equal {GET 500 0 5 4 10 uniform} [list [json_at $text tests 1 test] [json_at $text tests 1 requests] [json_at $text tests 1 errors] \
            [json_at $text options clients] [json_at $text options pipeline] [json_at $text options range] [json_at $text options keys]]
        foreach name {avg min p50 p90 p95 p99 p99.9 p99.99 max} { assert_morethan [json_at $text tests 0 latency_ms $name] 0 $name }
        assert_morethan [json_at $text tests 0 rps] 0
        set text [benchmark --json --mix get:1,set:1 -n 500]
        assert_equal 2 [json_at $text tests 0 commands]
        assert_equal 500 [expr {[json_at $text tests 0 commands 0 requests] + [json_at $text tests 0 commands 1 requests]}]
        lassign [run_benchmark {} --json -n 10 nosuch "with \"quotes\" and \x01"] code text
        assert_equal 1 $code
        assert_match "*nosuch*" [json_at $text tests 0 test]
        assert_match "*unknown command*" [json_at $text tests 0 error]
        set text [benchmark --json -t get -n 200 --rounds 2 --vs [srv host]:[srv port] --name a --name b]
        assert_equal {2 a b} [list [json_at $text tests 0 servers] [json_at $text tests 0 servers 0 server] [json_at $text tests 0 servers 1 server]]
    }

    test "--svg: a chart for each test, with a line for each percentile" {
        need_python
        set file [file join $::work_dir load.svg]
        benchmark -t get,set --duration 1 --rps 2000 -q --svg $file
        set code {
import sys, xml.etree.ElementTree as tree
ns = "{http://www.w3.org/2000/svg}"
charts = tree.parse(sys.argv[1]).getroot().findall(ns + "g")
print(len(charts), *[chart.find(ns + "text").text for chart in charts])
for chart in charts:
    lines = {p.get("class"): p.get("d") for p in chart.findall(ns + "path") if p.get("class") in ("line p50", "line p99", "line max", "rate") and len(p.get("d")) > 40}
    print(sorted(lines), min(d.count("L") for kind, d in lines.items() if kind != "rate") > 10)
        }
        assert_equal "2 SET GET\n[string repeat "\['line max', 'line p50', 'line p99', 'rate'\] True\n" 2]" "[exec python3 -c $code $file]\n"
        # Programs beside browsers know neither variables of CSS nor media queries.
        set text [read_file $file]
        assert {![string match "*var(*" $text]}
        set plain [regsub {@media[^\n]*\n([^\n]*\n){2}  \}} $text {}]
        assert {![string match *@media* $plain]}
        foreach rule {{text*fill:#} {.title*fill:#} {.paper*fill:#} {.grid*stroke:#} {.p50*stroke:#} {.p99*stroke:#} {.max*stroke:#} {.rate*fill:#}} {
            assert_match "*$rule*" $plain
        }
        # A run of one interval has a dot for each percentile.
        benchmark -t get -n 1 -c 1 -q --svg $file
        assert_equal 3 [regexp -all {<path class="line (p50|p99|max)" d="M[\d. ]+h0"/>} [read_file $file]]
        lassign [run_benchmark {} -t get -n 10 -q --svg /nosuch/folder/x.svg] code out err
        assert_equal 1 $code
        assert_match "*/nosuch/folder/x.svg: No such file or directory*" $err
    }

    test "--rps: the latency of a stalled server includes all requests that were due" {
        need_python
        set other [valkey_deferring_client]
        set run [open |[list {*}$::benchmark_command --json --duration 2 --rps 1000 -c 5 -t get -h [srv host] -p [srv port]] r]
        after 500
        $other debug sleep 0.5
        set text [read $run]
        close $run
        $other read
        $other close
        # A quarter of the commands were due in that half second, and wait 0.25 s in the mean; without the correction there were 5.
        assert_morethan [json_at $text tests 0 latency_ms p90] 200
        assert_lessthan [json_at $text tests 0 latency_ms p50] 200
    }

    test "a comparison on a terminal shows its progress, and does not disturb the table" {
        if {[auto_execok script] eq {}} { skip "no script(1) here" }
        set command [list {*}$::benchmark_command -p [srv port] --vs [srv host]:[srv port] --name one --name two --rounds 2 --duration 1 -t get]
        set out [exec timeout 100 script -qec $command /dev/null < /dev/null]
        foreach round {1 2} { foreach name {one two} { assert_match "*GET, round $round of 2, $name: *%, rps=*" $out } }
        assert {[regexp {[\r\n]\x1b\[K\| GET \| one \|} $out]} $out
        assert_match "*Ratios are one / two.*" $out
    }
}
