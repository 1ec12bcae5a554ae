# utils/bench/suite: that it still runs, and what its tables look like; the figures are another matter. What it concludes from figures is in
# bench_suite.py.

set ::suite [file join [file dirname $::test_file] .. .. .. utils bench suite]
set ::script [file join [file dirname $::test_file] bench_suite.py]

proc suite {args} { return [exec -ignorestderr python3 $::suite {*}$args 2>/dev/null] }

# The lines of the table below a heading.
proc rows_below {text heading} {
    set rows {}
    set lines [lrange [split $text \n] [lsearch -glob [split $text \n] "*$heading*"]+1 end]
    foreach line $lines {
        if {[string match "|*" $line]} { lappend rows $line } elseif {[llength $rows]} { break }
    }
    return [lrange $rows 2 end]
}

foreach tool {python3 taskset} {
    if {[auto_execok $tool] eq {}} {
        test "utils/bench/suite" { skip "no $tool" }
        return
    }
}

test "conclusions from costs" {
    assert_equal ok [exec python3 $::script]
}

tags {valgrind:skip} {
    test "--quick prints the tables, the budgets and the chart" {
        set folder [file join $::work_dir suite]
        set text [suite --quick --rows get,spop --peer ours --peer "again=ours --io-threads 2" --reference again --out $folder]
        assert_match "*## The default benchmark suite\n*" $text
        foreach heading {"CPU per request, 20 clients, no pipeline" "CPU per request, 20 clients, pipeline 16"} {
            set rows [rows_below $text $heading]
            assert_equal 2 [llength $rows] $heading
            assert {[regexp {^\| GET \| \d+\.\d\d \(\d+\.\d\d×\) \| \d+\.\d\d \|$} [lindex $rows 0]]}
            assert_match "| SPOP |*" [lindex $rows 1]
        }
        assert_match "*Worst row against again: ours: *" $text
        set budgets [rows_below $text "### Budgets"]
        assert_match "| every row, 20 clients, pipeline 16 | ≥ 1.5× | *" [lindex $budgets 0]
        assert_equal 11 [llength $budgets]
        foreach line $budgets { assert {[regexp {\| (yes|\*\*no\*\*|not measured) \|$} $line]} }
        assert_equal 2 [llength [rows_below $text "### GET and SET"]]
        assert_equal 2 [llength [rows_below $text "### Projection"]]
        foreach line [rows_below $text "### Tails"] {
            assert {[regexp {^\| GET \| (ours|again) \| [\d,]+ \| [\d,]+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \|$} $line]}
        }
        assert_equal "5 dots" [exec python3 $::script [file join $folder suite.svg]] ;# 2 rows in 2 panels, and the legend
    }

    test "the report names what cannot be compared" {
        foreach {words message} {
            {--rows nosuch} "There is no row nosuch*"
            {--peer ours --peer /nosuch/server} "There is no program for '/nosuch/server'*"
            {--peer ours --peer ours} "Two peers have one label*"
            {--peer ours --reference other} "There is no peer 'other'*"
            {--peer {ours --nosuch 1}} "*does not start*"
        } {
            assert {[catch {exec python3 $::suite --quick {*}$words 2>@1} said]}
            assert_match $message $said $words
        }
    }
}
