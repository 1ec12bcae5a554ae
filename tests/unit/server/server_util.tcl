# Helpers that the tests of the server itself share: programs that run to their end, and servers that start in other
# ways than `start_server` knows.

# A command line that runs in that folder: a server that saves when it ends does it there.
proc in_folder {dir command} { return [list sh -c {cd "$0" && exec "$@"} $dir {*}$command] }

# Runs the server with these arguments until it ends; a list of exit code and output.
proc run_to_end {args} {
    set code 0
    set command [in_folder $::work_dir [list timeout 10 $::options(server) {*}$args]]
    if {[catch {exec {*}$command </dev/null 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
    }
    return [list $code $output]
}

# Runs a command line that becomes a server; the body has its folder in `dir`, its log in `log` and its pid in `pid`.
# What is still alive when the body is done is ended.
proc with_server_command {command body} {
    upvar 1 dir dir log log pid pid
    set dir $::work_dir/raw.[incr ::server_count]
    file mkdir $dir
    set log $dir/log
    set pipe [open [list | sh $::support/guard.sh $dir $log {*}[in_folder $dir $command] 2>@stderr] w]
    assert {[wait_file $dir/pid]}
    set pid [string trim [read_file $dir/pid]]
    report_event server $pid $log
    set server [dict create client {} dir $dir log $log pid $pid pipe $pipe crash 0]
    try {
        uplevel 1 $body
    } finally {
        set problem [stop $server]
    }
    if {$problem ne {}} { fail $problem }
}

proc wait_for_text {path pattern} {
    wait_for_condition 400 25 {[string match "*$pattern*" [read_file $path]]} else {
        fail "no '$pattern' in $path:\n[tail $path 10]"
    }
}

proc wait_for_exit {dir} {
    if {![wait_file $dir/exit 15000]} { fail "the server did not end" }
    return [exit_code $dir]
}

# All of the patterns must be in lines of the text, each in a later line than the one before.
proc assert_in_order {text patterns} {
    set lines [split $text \n]
    set at -1
    foreach pattern $patterns {
        set next [lsearch -start [expr {$at + 1}] $lines *$pattern*]
        if {$next < 0} { fail "no line like '$pattern' after line $at of:\n$text" }
        set at $next
    }
}

proc can_connect {host port} {
    if {[catch {resp::connect $host $port} c]} { return 0 }
    set ok [expr {![catch {$c ping} reply] && $reply eq "PONG"}]
    $c close
    return $ok
}

# Does this host have that address to listen on?
proc has_address {address} {
    if {[catch {socket -server {apply {{args} {}}} -myaddr $address 0} fd]} { return 0 }
    close $fd
    return 1
}

# An address of this host that is not loopback, or {}.
proc outer_address {} {
    if {[catch {exec hostname -I} addresses]} { return {} }
    foreach address $addresses {
        if {[regexp {^[\d.]+$} $address] && ![string match 127.* $address] && [has_address $address]} { return $address }
    }
    return {}
}

# A connection through a unix socket, spoken to by a small relay, as Tcl has no unix sockets.
proc unix_command {path args} {
    set relay {import socket,sys
s=socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); s.sendall((" ".join(sys.argv[2:])+"\r\n").encode())
sys.stdout.write(s.recv(65536).decode())}
    return [string trim [exec python3 -c $relay $path {*}$args]]
}

proc wait_for_clients {n} {
    wait_for_condition 400 25 {[s connected_clients] == $n} else { fail "[s connected_clients] clients, not $n" }
}

# True when the server has closed the connection.
proc is_closed {client} {
    set fd [$client channel]
    fconfigure $fd -blocking 0
    for {set i 0} {$i < 200} {incr i} {
        if {[catch {read $fd} text]} { return 1 }
        if {[eof $fd]} { return 1 }
        after 10
    }
    return 0
}
