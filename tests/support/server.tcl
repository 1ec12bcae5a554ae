# Starting, watching and stopping servers.
#
# Running servers form a stack, as start_server blocks nest: level 0 is the innermost, -1 the one around it.
# A server lives in a folder of its own, tests/tmp/run-<pid>/<test file>/server.<n>/, which holds server.conf, log,
# pid, and whatever the server writes.

set ::servers {}       ;# stack of dicts: host port pid dir log pipe client args crash
set ::server_count 0
set ::next_port 0
set ::restart_mark "--- restarted by the test ---"

# ---- The servers by level ---------------------------------------------------------------------------------------

# srv ?level? field
proc srv {args} {
    set level 0
    if {[llength $args] > 1} { set args [lassign $args level] }
    return [dict get [lindex $::servers end[expr {$level < 0 ? $level : ""}]] [lindex $args 0]]
}

proc srv_set {level field value} {
    set at [expr {[llength $::servers] - 1 + $level}]
    lset ::servers $at [dict replace [lindex $::servers $at] $field $value]
}

# r ?level? command...
proc r {args} {
    set level 0
    if {[string is integer -strict [lindex $args 0]]} { set args [lassign $args level] }
    return [[srv $level client] {*}$args]
}

proc valkey_client {{level 0}} { return [resp::connect [srv $level host] [srv $level port]] }

# Runs a command for each i from 0 to n - 1, a script that returns its words, in pipelines: with I/O threads each request alone would cost
# several changes of threads, which take long on a busy machine. All have to be answered without an error.
proc r_many {variable n script} {
    upvar $variable i
    for {set i 0} {$i < $n} {} {
        set batch {}
        for {set count 0} {$i < $n && $count < 500} {incr i; incr count} { append batch [resp::encode [uplevel 1 $script]] }
        r write $batch
        for {} {$count > 0} {incr count -1} { r read }
    }
}

proc valkey_deferring_client {{level 0}} { return [resp::connect [srv $level host] [srv $level port] 1] }

proc wait_for_blocked {n} {
    wait_for_condition 1000 10 {[s blocked_clients] == $n} else { fail "[s blocked_clients] clients are blocked, not $n" }
}

# A client that waits in the command; it is known to be blocked. `answer` closes it.
proc blocked_client {args} {
    set before [s blocked_clients]
    set client [valkey_deferring_client]
    $client {*}$args
    wait_for_condition 1000 10 {[s blocked_clients] == $before + 1} else { fail "it does not wait: $args" }
    return $client
}

# The reply that the client gets, now or soon; it is closed then.
proc answer {client} {
    set reply [$client read]
    $client close
    return $reply
}

# The bytes of the reply to a command, with blanks for line ends: shows which type each element has.
proc wire {args} { return [wire_at 0 {*}$args] }
proc wire_at {level args} {
    set client [srv $level client]
    $client write [resp::encode $args]
    return [string trimright [wire_element $client]]
}
proc wire_element {client} {
    set line [$client rawread]
    set n [string range $line 1 end]
    switch -glob -- $line {
        {[$]-1} - {[*]-1} { return "$line " }
        {[$=]*} { return "$line [string range [$client rawread [expr {$n + 2}]] 0 end-2] " }
        {[*~>]*} { set count $n }
        {%*} { set count [expr {2 * $n}] }
        default { return "$line " }
    }
    append line " "
    for {set i 0} {$i < $count} {incr i} { append line [wire_element $client] }
    return $line
}

# ---- Ports -----------------------------------------------------------------------------------------------------

# A port that is free now. Each worker walks its own stretch below the kernel's ephemeral ports; the cluster bus,
# 10000 above, must be free as well.
proc free_port {} {
    for {set i 0} {$i < 2000} {incr i} {
        set port [expr {21000 + ($::base_port + $::next_port) % 11000}]
        incr ::next_port
        if {[port_is_free $port] && [port_is_free [expr {$port + 10000}]]} { return $port }
    }
    error "no free port between 21000 and 32000"
}

proc port_is_free {port} {
    if {[catch {socket -server {apply {{args} {}}} -myaddr 127.0.0.1 $port} fd]} { return 0 }
    close $fd
    return 1
}

# ---- Configuration ---------------------------------------------------------------------------------------------

# Lines of server.conf: ours, then --config (for the server that is tested, not for those it is compared with), then
# the block's own. A later directive replaces an earlier one; one that is given twice within `overrides` (as `save` or
# `rename-command` may be) stays twice.
proc config_lines {overrides tested} {
    set defaults [list port 0 bind 127.0.0.1 loglevel verbose enable-debug-command yes save {}]
    set lines {}
    foreach {key value} [concat $defaults [expr {$tested ? $::options(config) : {}}]] {
        if {![dict exists $overrides $key]} { dict set base $key $value }
    }
    foreach {key value} [concat $base $overrides] {
        lappend lines "$key [expr {$value eq {} ? {""} : $value}]"
    }
    return $lines
}

# The value of EVENT_BACKEND for this file: {} is the server's own choice, which `both` leaves to every second seed.
proc event_backend {} {
    set wanted [expr {[info exists ::env(EVENT_BACKEND)] ? $::env(EVENT_BACKEND) : {}}]
    if {$wanted ne {both}} { return $wanted }
    return [expr {$::options(seed) % 2 ? {} : {epoll}}]
}

proc write_config {dir port overrides tested} {
    lappend overrides port $port ;# no `dict set`: a name may be there twice
    if {![dict exists $overrides dir]} { lappend overrides dir $dir }
    if {$tested && [event_backend] ne {} && ![dict exists $overrides event-backend]} {
        lappend overrides event-backend [event_backend]
    }
    set f [open $dir/server.conf w]
    puts $f [join [config_lines $overrides $tested] \n]
    close $f
}

# ---- Start and stop --------------------------------------------------------------------------------------------

# start_server {overrides {name value ...} tags {tag ...} args {--flag ...} executable PATH crash 0|1
#               wait 0|1} body
#
# Runs the body with a fresh server. `crash 1` says that the body means to crash or kill it. `wait 0` does not wait
# for it to be ready. When the body is done, the server must stop by itself on SIGTERM with exit code 0, and its log
# must hold no crash report and no word from a sanitizer or valgrind; otherwise that counts as a failed test.
proc start_server {options body} {
    set o [dict merge {overrides {} tags {} args {} executable {} crash 0 wait 1 name {}} $options]
    set outer $::tags
    lappend ::tags {*}[dict get $o tags]
    try {
        if {![tags_wanted $::tags]} { return }
        set external [expr {$::options(host) ne {}}]
        if {$external} {
            if {![borrow_server $o]} { return }
        } else {
            bring_up $o
        }
        try {
            uplevel 1 $body
        } finally {
            set server [lindex $::servers end]
            set ::servers [lrange $::servers 0 end-1]
            if {$external} { give_back_server $server } else { check_end $server }
        }
    } finally {
        set ::tags $outer
    }
}

# Another process may take the port between our check and the server's bind: then another port is tried.
proc bring_up {o} {
    foreach try {1 2 3 4 5} {
        lappend ::servers [launch $o]
        if {![dict get $o wait]} { return }
        if {![catch {wait_until_ready} problem]} {
            srv_set 0 client [resp::connect [srv host] [srv port]]
            return
        }
        set server [lindex $::servers end]
        set ::servers [lrange $::servers 0 end-1]
        stop $server KILL
        if {![string match -nocase "*address already in use*" $problem]} break
    }
    error $problem
}

proc check_end {server} {
    set problem [stop $server]
    if {$problem ne {}} { report_failure "the server ran and stopped cleanly" $problem {} [dict get $server log] }
}

proc launch {o} {
    set dir $::work_dir/server.[incr ::server_count]
    file mkdir $dir
    set port [free_port]
    set program [dict get $o executable]
    write_config $dir $port [dict get $o overrides] [expr {$program in [list {} $::options(server) $::work_dir/with-faults]}]
    if {$program eq {}} { set program $::options(server) }
    set server [dict create host 127.0.0.1 port $port dir $dir log $dir/log conf $dir/server.conf program $program \
        args [dict get $o args] crash [dict get $o crash] name [dict get $o name] client {} pid 0 pipe {}]
    return [spawn $server]
}

proc spawn {server} {
    dict with server {
        set command [list $program $conf {*}$args]
        if {$::options(valgrind)} { set command [list {*}[valgrind_command] {*}$command] }
        file delete $dir/pid
        set pipe [open [list | sh $::support/guard.sh $dir $log {*}$command 2>@stderr] w]
        wait_file $dir/pid
        set pid [string trim [read_file $dir/pid]]
    }
    report_event server $pid [dict get $server log]
    return $server
}

proc valgrind_command {} {
    set command {valgrind -q --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite
        --error-exitcode=99 --num-callers=24}
    set supp [file dirname $::support]/valgrind.supp
    if {[file exists $supp]} { lappend command --suppressions=$supp }
    return $command
}

# The server is ready when its log says so (or when it replies, should the log level hide that).
proc wait_until_ready {{level 0}} {
    set deadline [expr {[clock milliseconds] + 1000 * ($::options(valgrind) ? 60 : 20)}]
    set dir [srv $level dir]
    while {[clock milliseconds] < $deadline} {
        if {[file exists $dir/exit]} {
            error "the server ended while starting, with exit code [exit_code [srv $level dir]]\n[tail [srv $level log] 15]"
        }
        if {[log_has_ready [srv $level log]]} { return }
        if {![catch {resp::connect [srv $level host] [srv $level port]} c]} {
            set code [catch {$c ping} reply]
            set strange [is_another_server $c [srv $level pid]]
            $c close
            if {!$strange && ($reply eq "PONG" || [string match NOAUTH* $reply] || [string match NOPERM* $reply])} { return }
        }
        after 10
    }
    error "the server was not ready in time\n[tail [srv $level log] 15]"
}

# The reply may come from another process, which was faster to take the port: our server exits then, a moment later.
proc is_another_server {client pid} {
    if {[catch {$client info server} text] || ![regexp {process_id:(\d+)} $text - its]} { return 0 }
    return [expr {$its != $pid}]
}

# Only what was logged since the last start counts.
proc log_has_ready {log} {
    set text [read_file $log]
    set start [string last $::restart_mark $text]
    return [expr {[string first "Ready to accept connections" $text [expr {max($start, 0)}]] >= 0}]
}

# Stops a server and returns what was wrong with its end, or {}.
proc stop {server {signal TERM}} {
    catch {[dict get $server client] close}
    set dir [dict get $server dir]
    set pid [dict get $server pid]
    set problem {}
    if {![file exists $dir/exit]} {
        catch {exec kill -CONT $pid} ;# it may have been paused
        catch {exec kill -$signal $pid}
        if {![wait_file $dir/exit [expr {$::options(valgrind) ? 60000 : 15000}]]} {
            set problem "it did not stop within 15 seconds of SIG$signal"
            catch {exec kill -KILL $pid}
            wait_file $dir/exit
        }
    }
    report_event gone $pid
    catch {close [dict get $server pipe]}
    if {$problem eq {}} { set problem [log_problem [dict get $server log]] }
    set code [exit_code $dir]
    if {$problem eq {} && $code != 0 && $signal ne "KILL"} { set problem "its exit code was $code" }
    return [expr {[dict get $server crash] ? {} : $problem}]
}

proc exit_code {dir} { return [string trim [read_file $dir/exit]] }

# ---- Servers of several kinds ----------------------------------------------------------------------------------

# start_servers {NAME {kind ours|valkey|redis|redis8 ?overrides {...}? ...} NAME {...} ...} body
#
# Nested start_servers, each of a kind and with a name: `at NAME` is the level by which r, s, srv and the like know it,
# `follow NAME OF` links two. valkey is the oracle (utils/oracle), redis is redis-server 7.0, redis8 what REDIS8 names. Where a kind is missing, the tests
# of the body are skipped.
proc start_servers {servers body} {
    foreach {name options} $servers {
        set kind [dict get $options kind]
        if {$::options(host) ne {} || [server_of_kind $kind] eq {}} {
            skip_tests_of $body [expr {$::options(host) ne {} ? "needs servers of its own" : "no $kind here"}]
            return
        }
    }
    uplevel 1 [nest_servers $servers $body]
}

proc nest_servers {servers body} {
    if {![llength $servers]} { return $body }
    set rest [lassign $servers name options]
    set program [server_of_kind [dict get $options kind]]
    set options [dict merge [dict remove $options kind] [list executable $program name $name]]
    return [list start_server $options [nest_servers $rest $body]]
}

# The path of its program, or {}.
proc server_of_kind {kind} {
    switch $kind {
        ours { return $::options(server) }
        valkey { return [valkey_oracle] }
        redis { return [oracle] }
        redis8 { return [redis8] }
    }
    error "there is no kind $kind of servers"
}

# Every test in it is reported as skipped, by its name.
proc skip_tests_of {body reason} {
    set names [regexp -all -inline -line {^\s*test\s+[\{"](.*?)[\}"]\s+\{} $body]
    if {![llength $names]} { report_event skip "a block of tests" $reason }
    foreach {- name} $names {
        if {[name_wanted $name]} { report_event skip $name $reason }
    }
}

proc at {name} {
    for {set i [expr {[llength $::servers] - 1}]} {$i >= 0} {incr i -1} {
        if {[dict get [lindex $::servers $i] name] eq $name} { return [expr {$i - [llength $::servers] + 1}] }
    }
    error "there is no server $name"
}

# The server `name` becomes a replica of `of`; returns when the link is up.
proc follow {name of} {
    r [at $name] replicaof [srv [at $of] host] [srv [at $of] port]
    wait_for_link $name
}

proc wait_for_link {name} {
    wait_for_condition 400 50 {[s [at $name] master_link_status] eq "up"} else { fail "the link of $name is not up" }
}

# Until `name` has applied what `of` has sent.
proc wait_for_offset {name of} {
    wait_for_condition 400 50 {[s [at $name] master_repl_offset] == [s [at $of] master_repl_offset]} else {
        fail "$name is at [s [at $name] master_repl_offset], $of at [s [at $of] master_repl_offset]"
    }
}

# ---- Ends ------------------------------------------------------------------------------------------------------

# The first line of a log that no healthy server writes, or {}.
proc log_problem {log} {
    foreach pattern {{BUG REPORT START} {ASSERTION FAILED} {ERROR: \w+Sanitizer} {WARNING: ThreadSanitizer}
                     {runtime error:} {==\d+== (?:Invalid|Conditional|Use of|Syscall|\S+ bytes in .* lost)}} {
        if {[regexp -line ".*$pattern.*" [read_file $log] line]} { return "its log says: [string trim $line]" }
    }
    return {}
}

# Restarts the server on the same port, with the same files and log. `how` is the signal that ends it: TERM lets it
# save.
proc restart_server {{level 0} {how TERM}} {
    set server [lindex $::servers end[expr {$level < 0 ? $level : ""}]]
    set problem [stop $server $how]
    if {$problem ne {}} { error "while restarting: $problem" }
    # The mark keeps the earlier "Ready" from being taken for the new one.
    set f [open [dict get $server log] a]
    puts $f $::restart_mark
    close $f
    set at [expr {[llength $::servers] - 1 + $level}]
    lset ::servers $at [spawn $server]
    wait_until_ready $level
    srv_set $level client [resp::connect [srv $level host] [srv $level port]]
}

# After a failed test: what it has left behind must not make those after it fail. Closes the clients that it has opened,
# gives the servers' own clients new connections, as replies may be half read, and puts directives back to what the
# server was started with. Data stay, as later tests may need them.
proc recover_servers {first_client} {
    set kept [lmap s $::servers { dict get $s client }]
    for {set i [expr {$first_client + 1}]} {$i <= $resp::next} {incr i} {
        if {"::resp::client$i" ni $kept && [llength [info commands ::resp::client$i]]} { catch {::resp::client$i close} }
    }
    foreach server $::servers {
        catch {reconnect_client [dict get $server client]}
        if {[dict exists $server conf] && ![file exists [dict get $server dir]/exit]} { catch {restore_directives $server} }
    }
}

# A new connection that is served: as long as the server has not noticed that other clients have closed, it may refuse
# one more (maxclients).
proc reconnect_client {client} {
    for {set i 0} {$i < 100} {incr i} {
        $client reconnect
        $client write [resp::encode ping]
        if {![wait_readable [$client channel] 2000]} { return [$client reconnect] } ;# a server that hangs
        if {![catch {$client read} reply how]} { return }
        if {[lindex [dict get $how -errorcode] 0] eq "REPLY" && ![string match "ERR max number of clients*" $reply]} { return }
        after 20
    }
}

# A second server with the same configuration file shows the original values of the directives.
proc restore_directives {server} {
    set client [dict get $server client]
    fconfigure [$client channel] -blocking 0 ;# a server that hangs is left as it is
    $client write [resp::encode {config get *}]
    if {![wait_readable [$client channel] 2000]} { return [$client reconnect] }
    fconfigure [$client channel] -blocking 1
    set now [$client read]
    set dir [dict get $server dir]/as_started
    file mkdir $dir
    set twin [dict merge $server [list dir $dir log $dir/log port [free_port] client {}]]
    dict lappend twin args --port [dict get $twin port] --dir $dir
    set twin [spawn $twin]
    lappend ::servers $twin
    try {
        wait_until_ready
        set c [resp::connect 127.0.0.1 [dict get $twin port]]
        foreach {name value} [$c config get *] {
            if {$name ni {port dir logfile unixsocket pidfile} && [dict get $now $name] ne $value} { catch {$client config set $name $value} }
        }
        $c close
    } finally {
        set ::servers [lrange $::servers 0 end-1]
        stop $twin KILL
    }
}

proc wait_readable {channel timeout_ms} {
    set timer [after $timeout_ms {set ::channel_is_readable 0}]
    fileevent $channel readable {set ::channel_is_readable 1}
    vwait ::channel_is_readable
    fileevent $channel readable {}
    after cancel $timer
    return $::channel_is_readable
}

# --host/--port: an external server, whose data is deleted. Overrides are set, and later reset, by CONFIG SET; a block
# with one that cannot be set at run time is skipped (0).
proc borrow_server {o} {
    set c [resp::connect $::options(host) $::options(port)]
    set before {}
    set refused [catch {
        foreach {key value} [dict get $o overrides] {
            lappend before $key [lindex [$c config get $key] 1]
            $c config set $key $value
        }
    }]
    set server [dict create host $::options(host) port $::options(port) client $c pid 0 log /dev/null \
        dir $::work_dir before $before name {}]
    if {$refused || [llength [dict get $o args]] || [dict get $o executable] ne {}} {
        give_back_server $server
        report_event skip "a block of tests" "needs a server of its own"
        return 0
    }
    $c flushall
    lappend ::servers $server
    return 1
}

proc give_back_server {server} {
    set c [dict get $server client]
    foreach {key value} [dict get $server before] { catch {$c config set $key $value} }
    catch {$c close}
}

# ---- Files -----------------------------------------------------------------------------------------------------

proc read_file {path} {
    if {[catch {open $path rb} f]} { return {} }
    set text [read $f]
    close $f
    return $text
}

proc write_file {path text} {
    set f [open $path wb]
    puts -nonewline $f $text
    close $f
}

proc wait_file {path {timeout_ms 5000}} {
    set deadline [expr {[clock milliseconds] + $timeout_ms}]
    while {![file exists $path]} {
        if {[clock milliseconds] > $deadline} { return 0 }
        after 5
    }
    return 1
}

proc tail {path lines} {
    return [join [lrange [split [string trimright [read_file $path]] \n] end-[expr {$lines - 1}] end] \n]
}

# Runs the server's program under another name (valkey-check-rdb ...), with a redirection if need be: a list of exit
# code and output.
proc other_face {name args} {
    set tool $::work_dir/$name
    if {![file exists $tool]} { file link -symbolic $tool [file normalize $::options(server)] }
    set code 0
    if {[catch {exec $tool {*}$args 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
        regsub {\nchild process exited abnormally$} $output {} output
    }
    return [list $code $output]
}

# A program beside the server's (valkey-cli, valkey-benchmark), or {} when there is none.
proc tool_path {name} {
    set path [file join [file dirname $::options(server)] $name]
    return [expr {[file executable $path] ? $path : {}}]
}

# Runs such a program against the server, with `input` as its standard input: {exit code, standard output, standard
# error}.
proc run_tool {name input args} {
    set path [tool_path $name]
    if {$path eq {}} { skip "no $name" }
    set err $::work_dir/$name.err
    set code 0
    if {[catch {exec -keepnewline -- timeout 120 $path -h [srv host] -p [srv port] {*}$args << $input 2> $err} out how]} {
        lassign [dict get $how -errorcode] kind pid code
        if {$kind eq "NONE"} { set code 0 } elseif {$kind ne "CHILDSTATUS"} { error $out }
        # Tcl appends its own message to the output of a command that failed.
        regsub {child process exited abnormally\n?$} $out {} out
    }
    return [list $code $out [read_file $err]]
}

# Standard output of a run that went well.
proc tool_output {name args} {
    lassign [run_tool $name {} {*}$args] code out err
    if {$code != 0} { fail "exit code $code of $name $args: $out$err" }
    return $out
}
