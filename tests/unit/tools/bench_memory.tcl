# utils/bench/memory: that it still runs, and what its tables and its heat map look like; the figures are another matter. What it concludes from
# sizes is in bench_memory.py.

set ::memory [file join [file dirname $::test_file] .. .. .. utils bench memory]
set ::script [file join [file dirname $::test_file] bench_memory.py]

# This server under another program name, as a peer: under its own name it would be left out.
proc peer {} {
    set path [file join $::work_dir peer]
    set f [open $path w 0755]
    puts $f "#!/bin/sh\nexec '[file normalize [file join $::memory .. .. .. src valkey-server]]' \"\$@\""
    close $f
    return $path
}

if {[auto_execok python3] eq {}} {
    test "utils/bench/memory" { skip "no python3" }
    return
}

test "conclusions from sizes" {
    assert_equal ok [exec python3 $::script]
}

tags {valgrind:skip} {
    test "tables and heat map of some rows" {
        set text [exec -ignorestderr python3 $::memory --count 2000 --rest 0 --row TTL --row {zset btree} --peer [peer] --out $::work_dir 2>/dev/null]
        assert_match "*## Memory by size\n*" $text
        # The same server on both sides takes the same memory, except for its other index.
        assert {[regexp {\n\| members of a sorted set, btree \| 7 \| 0\.\d\d× \| ≤ 0\.52× \| (yes|\*\*no\*\*) \| 0\.\d\d× \(\d+\) \| ≤ 0\.62× \|} $text]}
        assert {[regexp {\n\| strings of 10 with a TTL \| 4 \| (0\.9|1\.0)\d× \| ≤ 0\.62× \| \*\*no\*\* \| \d\.\d\d× \(\d+\) \|} $text]}
        assert {[regexp {\n\| \*\*mean of the rows\*\* \| 11 \| \*\*0\.\d\d×\*\* \|} $text]}
        assert_match "*\n| name of | 6 | 10 | 14 | 20 | 28 | 36 | 48 |\n*\n| key of | 10 | 16 | 24 | 36 |\n*" [string map {\n\n \n} $text]
        # 11 cells, and a mean of each row.
        assert_equal "13 cells" [exec python3 $::script [file join $::work_dir memory.svg]]
    }

    test "the report names what does not exist" {
        foreach {words message} {
            {--row nosuch} "There is no row 'nosuch'. The rows are: strings, set, *"
            {--peer /nosuch/server} "There is no program /nosuch/server.*"
        } {
            assert {[catch {exec python3 $::memory {*}$words 2>@1} said]}
            assert_match $message $said $words
        }
    }
}
