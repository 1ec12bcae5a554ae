# Sessions of valkey-cli at a terminal, which is a pseudo one, made by script(1).

set ::cli [tool_path valkey-cli]

proc need_terminal {} {
    if {$::cli eq {}} { skip "no valkey-cli" }
    if {[auto_execok script] eq {} || [auto_execok stty] eq {}} { skip "no script(1) to make a terminal" }
}

# Of the sessions that follow. Without colours, so that what is seen is the text alone.
set ::columns 100
set ::environment "NO_COLOR=1"

# ---- A session: keys in, text out ------------------------------------------------------------------------------

proc session_start {args} {
    terminal_start [join [list $::cli -h [srv host] -p [srv port] {*}$args] { }]
}

# Any line of a shell.
proc terminal_start {line} {
    need_terminal
    set ::home $::work_dir/home
    file mkdir $::home
    set command "stty cols $::columns rows 24; export HOME='$::home' TERM=xterm LC_ALL=C.UTF-8 $::environment; $line"
    set ::terminal [open |[list timeout 300 script -qec $command /dev/null 2>@stderr] r+]
    fconfigure $::terminal -blocking 0 -translation binary -buffering none
    set ::seen {}
}

proc type {keys} {
    set ::seen {}
    puts -nonewline $::terminal $keys
    flush $::terminal
}

# Waits until what has come since the last `type` matches. libedit draws only what has changed, so long lines must
# not be looked for as a whole.
proc see {pattern} {
    for {set i 0} {$i < 600} {incr i} {
        append ::seen [read $::terminal]
        if {[string match "*$pattern*" $::seen]} { return }
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

# All that comes until the prompt is there again, behind the line as libedit draws it.
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
