# Asking the metrics port, from sockets of Tcl.

# Sends bytes as they are; the socket, to read answers from.
proc web_send {port bytes} {
    set sock [socket 127.0.0.1 $port]
    fconfigure $sock -translation binary -blocking 1
    puts -nonewline $sock $bytes
    flush $sock
    return $sock
}

# The next answer: a dict with status, headers (a dict by name in lower case) and body; {} when the connection was closed.
proc web_answer {sock {method GET}} {
    if {[gets $sock line] < 0} { return {} }
    if {![regexp {^HTTP/1\.1 (\d+) (.*)\r$} $line -> status reason]} { error "no status line: $line" }
    set headers {}
    while {[gets $sock line] > 1} {
        if {![regexp {^([^:]+): (.*)\r$} $line -> name value]} { error "no header: $line" }
        dict set headers [string tolower $name] $value
    }
    set body {}
    if {$method ne {HEAD}} { set body [read $sock [dict get $headers content-length]] }
    return [dict create status $status reason $reason headers $headers body $body]
}

proc web_request {method path headers {version 1.1}} {
    set request "$method $path HTTP/$version\r\n"
    foreach {name value} $headers { append request "$name: $value\r\n" }
    return "$request\r\n"
}

# One request on a connection of its own.
proc web {path args} {
    array set opt {-port {} -method GET -version 1.1 -headers {Host localhost}}
    array set opt $args
    if {$opt(-port) eq {}} { set opt(-port) [config_get metrics-port] }
    set sock [web_send $opt(-port) [web_request $opt(-method) $path $opt(-headers) $opt(-version)]]
    set answer [web_answer $sock $opt(-method)]
    close $sock
    return $answer
}

proc web_status {path args} { dict get [web $path {*}$args] status }
proc web_body {path args} { dict get [web $path {*}$args] body }
proc web_header {name path args} { dict get [web $path {*}$args] headers $name }

proc basic {user password} { list Host localhost Authorization "Basic [binary encode base64 $user:$password]" }
proc bearer {token} { list Host localhost Authorization "Bearer $token" }

# The statuses of requests that are sent together, each on a connection of its own: wrong credentials are answered after a second.
proc web_statuses {path list_of_headers} {
    set socks [lmap headers $list_of_headers { web_send [config_get metrics-port] [web_request GET $path $headers] }]
    return [lmap sock $socks { set status [dict get [web_answer $sock] status]; close $sock; set status }]
}

# A sample of /metrics, by its name with its labels.
proc metric {name args} {
    foreach line [split [web_body /metrics {*}$args] \n] {
        if {[string match "$name *" $line]} { return [lindex $line end] }
    }
    error "no metric $name"
}

proc listens {host port} { expr {![catch {close [socket $host $port]}]} }

# Runs the body with a server that has a metrics port; where it was built without, that is one test skipped.
proc with_web {overrides code} {
    set password {}
    if {[dict exists $overrides requirepass]} { set password "r auth [dict get $overrides requirepass]" }
    set body "$password
    if {\[catch {r config set metrics-port \[free_port\]} err\]} {
        test {metrics port} { assert_match {*was built without an HTTP parser*} \$err; skip {the server was built without an HTTP parser} }
    } else {$code}"
    uplevel 1 [list start_server [list overrides [list save {} {*}$overrides] tags {web external:skip}] $body]
}
