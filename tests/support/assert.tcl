# `test`, what it may assert, and helpers that many tests need.

set ::tags {}
set ::test_name {}
set ::test_body {}

# ---- Running a test --------------------------------------------------------------------------------------------

# test name body ?expected? ?tags?
# The body's value must equal `expected` or match it as a glob pattern, when that is given.
proc test {name body args} {
    lassign $args expected tags
    if {![name_wanted $name] || ![tags_wanted [concat $::tags $tags] $name]} { return }
    set ::test_name $name
    set ::test_body $body
    report_event start $name
    set first_client $resp::next
    set begin [clock milliseconds]
    set failed [catch {uplevel 1 $body} result how]
    if {$failed == 2} { set failed 0 } ;# `return` ends a test early, and well
    if {!$failed && [llength $args] && $expected ne "" && $result ne $expected && ![string match $expected $result]} {
        set failed 1
        set result "the body's value is '$result', expected '$expected'"
        set how {-errorcode ASSERT -errorinfo {}}
    }
    set took [expr {[clock milliseconds] - $begin}]
    if {$failed && [lindex [dict get $how -errorcode] 0] eq "SKIP"} {
        report_event skip $name $result
    } elseif {$failed} {
        report_failure $name $result $how
        recover_servers $first_client
    } else {
        report_event ok $name $took
    }
    set ::test_name {}
    set ::test_body {}
}

# Ends a test, counted as neither passed nor failed.
proc skip {reason} { return -code error -errorcode SKIP $reason }

proc fail {message} { return -code error -errorcode ASSERT $message }

proc tags {list body} {
    set outer $::tags
    lappend ::tags {*}$list
    try {
        if {[tags_wanted $::tags]} { uplevel 1 $body }
    } finally {
        set ::tags $outer
    }
}

# --tags "slow -needs:debug": without the denied ones, and with at least one of the others, if there are any. A block
# around tests may have none of the wanted ones yet, so the tests within it decide.
#
# Tests that the options or the environment exclude are reported as skipped: a test by its name, a block as one.
proc tags_wanted {tags {name {}}} {
    set denied {}
    foreach t $::options(tags) {
        if {[string index $t 0] eq "-"} { lappend denied [string range $t 1 end] } else { lappend allowed $t }
    }
    foreach t $tags {
        if {$t in $denied} { return 0 }
    }
    if {[info exists allowed] && $name ne {} && ![llength [lmap t $tags { expr {$t in $allowed ? $t : [continue]} }]]} { return 0 }
    foreach {impossible tag reason} [list [expr {$::options(host) ne {}}] external:skip "needs a server of its own" \
                                          $::options(valgrind) valgrind:skip "not under valgrind"] {
        if {$impossible && $tag in $tags} {
            report_event skip [expr {$name eq {} ? "a block of tests" : $name}] $reason
            return 0
        }
    }
    return 1
}

proc name_wanted {name} {
    return [expr {$::options(only) eq {} || [string match -nocase "*$::options(only)*" $name]}]
}

proc report_failure {name message how {log {}}} {
    set where [failure_place $how]
    if {$log eq {} && [llength $::servers]} { set log [srv log] }
    report_event fail $name $where $message $log
}

# file:line of a failed test. Tcl knows the line within the test's body; the file gives the line of that body.
proc failure_place {how} {
    set text [read_file $::test_file]
    # Short bodies are found anywhere, so the search begins at the name.
    set at [string first $::test_body $text [expr {max(0, [string first $::test_name $text])}]]
    if {$::test_body eq {} || $at < 0} { return $::test_file }
    set line [regexp -all \n [string range $text 0 $at-1]]
    # The last match is the body of `test`; those before it are within procedures that it called.
    set found [regexp -all -inline {\("uplevel" body line (\d+)\)} [expr {[dict exists $how -errorinfo] ? [dict get $how -errorinfo] : {}}]]
    return $::test_file:[expr {$line + ([llength $found] ? [lindex $found end] : 1)}]
}

# ---- Assertions ------------------------------------------------------------------------------------------------

proc detail_of {detail} { return [expr {$detail eq {} ? {} : " ($detail)"}] }

proc assert {condition {detail {}}} {
    if {![uplevel 1 [list expr $condition]]} { fail "not true: $condition[detail_of $detail]" }
}

proc assert_equal {expected actual {detail {}}} {
    if {$expected ne $actual} { fail "expected '$expected', got '$actual'[detail_of $detail]" }
}

proc assert_not_equal {unexpected actual {detail {}}} {
    if {$unexpected eq $actual} { fail "got '$actual', which it must not be[detail_of $detail]" }
}

proc assert_match {pattern actual {detail {}}} {
    if {![string match $pattern $actual]} { fail "expected a match of '$pattern', got '$actual'[detail_of $detail]" }
}

proc assert_no_match {pattern actual {detail {}}} {
    if {[string match $pattern $actual]} { fail "'$actual' matches '$pattern'[detail_of $detail]" }
}

# The body must raise an error with a text that matches the glob pattern.
proc assert_error {pattern body {detail {}}} {
    if {![catch {uplevel 1 $body} message how]} { fail "expected an error like '$pattern', got '$message'[detail_of $detail]" }
    if {![string match $pattern $message]} { fail "expected an error like '$pattern', got '$message'[detail_of $detail]" }
}

proc assert_lessthan {value limit {detail {}}} {
    if {!($value < $limit)} { fail "expected less than $limit, got $value[detail_of $detail]" }
}

proc assert_lessthan_equal {value limit {detail {}}} {
    if {!($value <= $limit)} { fail "expected at most $limit, got $value[detail_of $detail]" }
}

proc assert_morethan {value limit {detail {}}} {
    if {!($value > $limit)} { fail "expected more than $limit, got $value[detail_of $detail]" }
}

proc assert_morethan_equal {value limit {detail {}}} {
    if {!($value >= $limit)} { fail "expected at least $limit, got $value[detail_of $detail]" }
}

proc assert_range {value min max {detail {}}} {
    if {$value < $min || $value > $max} { fail "expected $min to $max, got $value[detail_of $detail]" }
}

proc assert_encoding {encoding key} { assert_equal $encoding [r object encoding $key] "encoding of $key" }

proc assert_type {type key} { assert_equal $type [r type $key] "type of $key" }

proc assert_refcount {count key} { assert_equal $count [r object refcount $key] "refcount of $key" }

# Waits end early when their condition becomes true, so long limits cost only failures; a busy machine needs longer
# ones than the numbers in the tests.
set patience [expr {[info exists ::env(PATIENCE)] ? $::env(PATIENCE) : 3}]

# wait_for_condition tries delay_ms expression else script
proc wait_for_condition {tries delay_ms expression else script} {
    for {set i 0} {$i < $tries * $::patience} {incr i} {
        if {[uplevel 1 [list expr $expression]]} { return }
        after $delay_ms
    }
    uplevel 1 $script
}

# ---- Looking at a server ---------------------------------------------------------------------------------------

# A field of INFO.
proc status {client field} {
    if {[regexp -line "^$field:(.*?)\r?$" [$client info everything] -> value]} { return $value }
    return {}
}

# s ?level? field
proc s {args} {
    set level 0
    if {[llength $args] > 1} { set args [lassign $args level] }
    return [status [srv $level client] [lindex $args 0]]
}

# Keeps the server busy for so many seconds (fractions are fine).
proc debug_sleep {seconds {level 0}} { r $level debug sleep $seconds }

proc log_lines {{level 0}} { return [split [read_file [srv $level log]] \n] }

proc count_log_message {pattern {level 0}} { return [llength [lsearch -all [log_lines $level] *$pattern*]] }

# Waits until a line of the log, from line `from` on, contains the glob pattern; returns the line's number.
proc wait_for_log {pattern {from 0} {tries 100} {delay_ms 50} {level 0}} {
    for {set i 0} {$i < $tries * $::patience} {incr i} {
        set at [lsearch -start $from [log_lines $level] *$pattern*]
        if {$at >= 0} { return $at }
        after $delay_ms
    }
    fail "the log has no line like '$pattern' after line $from"
}

proc config_set {name value {level 0}} { assert_equal OK [r $level config set $name $value] }

proc config_get {name {level 0}} { return [lindex [r $level config get $name] 1] }

# ---- Data ------------------------------------------------------------------------------------------------------

# A whole number from 0 to max - 1.
proc randomInt {max} { return [expr {int(rand() * $max)}] }

proc randomRange {min max} { return [expr {$min + [randomInt [expr {$max - $min + 1}]]}] }

proc randomElement {list} { return [lindex $list [randomInt [llength $list]]] }

# The whole numbers from one to another, both included.
proc numbers {from to} {
    set list {}
    for {set i $from} {$i <= $to} {incr i} { lappend list $i }
    return $list
}

# Random bytes (a number between min and max of them), of any value or only letters and digits.
proc randstring {min max {kind binary}} {
    set alphabet abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789
    set out {}
    for {set n [randomRange $min $max]} {$n > 0} {incr n -1} {
        if {$kind eq "binary"} {
            append out [format %c [randomInt 256]]
        } else {
            append out [string index $alphabet [randomInt 62]]
        }
    }
    return $out
}

# The path of the Redis that tests compare with, or {}.
proc oracle {} { return [auto_execok redis-server] }

# The path of the Valkey that utils/oracle has fetched, or {}.
proc valkey_oracle {} {
    set folder [expr {[info exists ::env(ORACLE)] ? $::env(ORACLE) : [file join $::support .. .. build oracle]}]
    set path [file normalize [file join $folder bin valkey-server]]
    return [expr {[file executable $path] ? $path : {}}]
}

# The path of a Redis 8, which the variable REDIS8 of the environment may name, or {}.
proc redis8 {} {
    set path [expr {[info exists ::env(REDIS8)] ? $::env(REDIS8) : [file join $::support .. .. build redis8 bin redis-server]}]
    return [expr {[file isfile $path] && [file executable $path] ? [file normalize $path] : {}}]
}
