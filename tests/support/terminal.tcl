# Sessions of valkey-cli at a terminal, which is a pseudo one, made by script(1).

set ::cli [tool_path valkey-cli]

proc need_terminal {} {
    if {$::cli eq {}} { skip "no valkey-cli" }
    if {[auto_execok script] eq {} || [auto_execok stty] eq {}} { skip "no script(1) to make a terminal" }
}

# The environment of the following sessions, without colours, so that the output is text alone.
set ::columns 100
set ::term xterm
set ::environment "NO_COLOR=1"

# ---- A session: keys in, text out ------------------------------------------------------------------------------

# With -t, completion waits for a server that is slow because the machine is busy.
proc session_start {args} {
    terminal_start [join [list $::cli -h [srv host] -p [srv port] -t 60 {*}$args] { }]
}

# Any line of a shell.
proc terminal_start {line} {
    need_terminal
    set ::home $::work_dir/home
    file mkdir $::home
    set command "stty cols $::columns rows 24; export HOME='$::home' TERM=$::term LC_ALL=C.UTF-8 $::environment; $line"
    set ::terminal [open |[list timeout 300 script -qec $command /dev/null 2>@stderr] r+]
    fconfigure $::terminal -blocking 0 -translation binary -buffering none
    set ::seen {}
}

proc type {keys} {
    set ::seen {}
    puts -nonewline $::terminal $keys
    flush $::terminal
}

# Waits until the output since the last `type` matches. libedit draws only what has changed, so long lines must not be
# searched as a whole. The colour of hints, which each of their characters has, is skipped.
proc see {pattern} {
    for {set i 0} {$i < 600} {incr i} {
        append ::seen [read $::terminal]
        if {[string match "*$pattern*" [string map [list \x1b\[90m {} \x1b\[2m {}] $::seen]]} { return }
        if {[eof $::terminal]} break
        after 50
    }
    fail "not seen: '$pattern' in '$::seen'"
}

proc session_end {} {
    catch {puts -nonewline $::terminal "\x03\x04"} ;# whatever is typed, the prompt is left
    catch {fconfigure $::terminal -blocking 1}
    catch {close $::terminal}
}

proc session {words body} {
    session_start {*}$words
    try { uplevel 1 $body } finally { session_end }
}

# Runs the body with other variables in the environment of its sessions, or on a terminal of another width.
proc with_environment {environment body} {
    set before $::environment
    set ::environment $environment
    try { uplevel 1 $body } finally { set ::environment $before }
}

proc with_columns {columns body} {
    set before $::columns
    set ::columns $columns
    try { uplevel 1 $body } finally { set ::columns $before }
}

# All output until the next prompt, after the line as libedit draws it.
proc answer_to {line} {
    type "$line\r"
    see "\n[prompt]"
    set text [string map {\r {}} [string range $::seen 0 [string last \n $::seen]]]
    regexp {.*\x1b\[\d+G[^\n]*\n(.*)} $text all text
    return $text
}

proc prompt {{state {}}} { return "[srv host]:[srv port]$state> " }

proc leave {} {
    type "exit\r"
    is_left
}

proc is_left {} {
    for {set i 0} {$i < 1200 && ![eof $::terminal]} {incr i} {
        read $::terminal
        after 50
    }
    assert {[eof $::terminal]} "the session has ended"
}

# ---- A screen: the text and the attributes of its cells -----------------------------------------------------------

# Carries out what a program writes to a terminal of type xterm, as far as line editors go: characters, CR, LF, BS,
# and the CSI sequences C (right), D (left), G (column), K (erase to the end), @ (insert), P (delete) and m. Anything
# else is an error. The screen is a list of rows, a row a list of cells {character attributes}.
proc screen_clear {} {
    set ::screen [list {}]
    set ::screen_column 0
    set ::screen_pen {}
}

proc screen_put {bytes} {
    while {$bytes ne {}} {
        if {[regexp {^\x1b\[([0-9;]*)([A-Za-z@])} $bytes all numbers letter]} {
            screen_sequence $letter $numbers
        } elseif {[regexp {^\r} $bytes all]} {
            set ::screen_column 0
        } elseif {[regexp {^\n} $bytes all]} {
            lappend ::screen {}
        } elseif {[regexp {^\x08} $bytes all]} {
            incr ::screen_column -1
        } elseif {[regexp {^[\x20-\x7e]} $bytes all]} {
            screen_write $all
        } else { fail "the screen does not know [list [string range $bytes 0 20]]" }
        set bytes [string range $bytes [string length $all] end]
    }
}

proc screen_row_to {column} {
    set row [lindex $::screen end]
    while {[llength $row] < $column} { lappend row {{ } {}} }
    return $row
}

proc screen_write {character} {
    set row [screen_row_to [expr {$::screen_column + 1}]]
    lset ::screen end [lreplace $row $::screen_column $::screen_column [list $character $::screen_pen]]
    incr ::screen_column
}

proc screen_sequence {letter numbers} {
    set n [expr {$numbers eq {} ? 1 : [lindex [split $numbers {;}] 0]}]
    set row [screen_row_to $::screen_column]
    switch $letter {
        C { incr ::screen_column $n }
        D { incr ::screen_column -$n }
        G { set ::screen_column [expr {$n - 1}] }
        K { lset ::screen end [lrange $row 0 $::screen_column-1] }
        P { lset ::screen end [lreplace $row $::screen_column [expr {$::screen_column + $n - 1}]] }
        @ { lset ::screen end [linsert $row $::screen_column {*}[lrepeat $n {{ } {}}]] }
        m { set ::screen_pen [expr {$numbers in {{} 0} ? {} : $numbers}] }
        default { fail "the screen does not know the sequence $numbers$letter" }
    }
}

# The last row, as a list of attributes and the text that has them; blanks go with what is before them.
proc screen_runs {} {
    set runs {}
    foreach cell [lindex $::screen end] {
        lassign $cell character pen
        if {$character eq { } && [llength $runs]} { set pen [lindex $runs end-1] }
        if {![llength $runs] || [lindex $runs end-1] ne $pen} { lappend runs $pen {} }
        lset runs end [lindex $runs end]$character
    }
    return $runs
}

# Types a key, and waits until the last row is as wanted: {attributes text ...}.
proc type_and_show {key wanted} {
    type $key
    for {set i 0} {$i < 600} {incr i} {
        screen_put [read $::terminal]
        if {$wanted eq [set runs [lmap {pen text} [screen_runs] {list $pen [string trim $text]}]]} { return }
        after 10
    }
    fail "after '$key' wanted: $wanted, shown: $runs"
}
