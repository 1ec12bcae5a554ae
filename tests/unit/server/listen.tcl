# The addresses that the server listens on, and the clients that it accepts.
source [file join [file dirname [info script]] server_util.tcl]

set ready {Ready to accept connections tcp}

start_server {tags {external:skip}} {
    test {a port in use stops the start with code 1} {
        lassign [run_to_end --port [srv port] --bind 127.0.0.1] code output
        assert_equal 1 $code
        assert_match "*Listening on 127.0.0.1:[srv port] failed: bind: Address already in use*" $output
        assert_match "*Listening on port [srv port] (tcp) failed, so the server exits*" $output
        assert_equal PONG [r ping]
    }

    test {a port in use is an error for an optional address too} {
        lassign [run_to_end --port [srv port] --bind -127.0.0.1] code output
        assert_equal 1 $code
        assert_match "*Address already in use*" $output
    }

    test {CONFIG SET port moves the server; open connections stay} {
        set old [srv port]
        set new [free_port]
        config_set port $new
        assert {[can_connect 127.0.0.1 $new]}
        assert {![can_connect 127.0.0.1 $old]}
        assert_equal PONG [r ping]
        assert_equal $new [s tcp_port]
        config_set port $old
        assert {[can_connect 127.0.0.1 $old]}
    }

    test {CONFIG SET port to one in use changes nothing} {
        set taken [socket -server {apply {{args} {}}} -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $taken -sockname] 2]
        assert_error "*Unable to listen on this port*" { r config set port $port }
        close $taken
        assert_equal [srv port] [config_get port]
        assert {[can_connect 127.0.0.1 [srv port]]}
        assert_error "*argument must be between 0 and 65535*" { r config set port 65536 }
    }

    test {CONFIG SET port 0 closes the sockets} {
        config_set port 0
        assert {![can_connect 127.0.0.1 [srv port]]}
        assert_equal PONG [r ping]
        config_set port [srv port]
        assert {[can_connect 127.0.0.1 [srv port]]}
    }

    test {CONFIG SET bind} {
        config_set bind "127.0.0.1 127.0.0.2"
        assert {[can_connect 127.0.0.1 [srv port]]}
        assert {[can_connect 127.0.0.2 [srv port]]}
        assert_equal "127.0.0.1 127.0.0.2" [config_get bind]
        assert_match "name=tcp,bind=127.0.0.1,bind=127.0.0.2,port=[srv port]" [s listener0]
        config_set bind 127.0.0.2
        assert {![can_connect 127.0.0.1 [srv port]]}
        config_set bind 127.0.0.1
        assert {![can_connect 127.0.0.2 [srv port]]}
        assert {[can_connect 127.0.0.1 [srv port]]}
    }

    test {CONFIG SET bind to an address of another machine changes nothing} {
        assert_error "*Failed to bind to specified addresses*" { r config set bind "127.0.0.1 198.51.100.7" }
        assert_equal 127.0.0.1 [config_get bind]
        assert {[can_connect 127.0.0.1 [srv port]]}
        config_set bind "127.0.0.1 -198.51.100.7"
        assert {[can_connect 127.0.0.1 [srv port]]}
        config_set bind 127.0.0.1
    }

    test {CONFIG SET bind to nothing} {
        config_set bind ""
        assert_equal "" [config_get bind]
        assert {![can_connect 127.0.0.1 [srv port]]}
        config_set bind 127.0.0.1
        assert {[can_connect 127.0.0.1 [srv port]]}
    }

    test {port and bind together} {
        set new [free_port]
        assert_equal OK [r config set port $new bind 127.0.0.2]
        assert {[can_connect 127.0.0.2 $new]}
        assert {![can_connect 127.0.0.1 [srv port]]}
        assert_equal OK [r config set port [srv port] bind 127.0.0.1]
        assert {[can_connect 127.0.0.1 [srv port]]}
    }

    test {maxclients: one client too many gets an error and is closed} {
        wait_for_clients 1
        config_set maxclients 3
        set before [s rejected_connections]
        set c [valkey_client]
        set d [valkey_client]
        assert_equal PONG [$d ping]
        set e [valkey_deferring_client]
        assert_equal "-ERR max number of clients reached" [$e rawread]
        assert {[is_closed $e]}
        assert_equal [expr {$before + 1}] [s rejected_connections]
        $c close
        wait_for_clients 2
        $e reconnect
        $e ping
        assert_equal PONG [$e read]
        $d close
        $e close
        config_set maxclients 10000
    }

    test {maxclients can be raised beyond the initial size of the loop} {
        set limit [exec sh -c {ulimit -Hn}]
        if {$limit ne "unlimited" && $limit < 13000} { skip "the limit of open files is too low" }
        config_set maxclients 12000
        assert_equal 12000 [s maxclients]
        assert_error "*not able to handle the specified number of clients*" { r config set maxclients 2000000000 }
        assert_equal 12000 [config_get maxclients]
        config_set maxclients 10000
    }

    # The kernel's own timer of the connection, in seconds; {}: none runs.
    proc keepalive_of {c} {
        set here [format %04X [srv port]]
        set there [format %04X [lindex [fconfigure [$c channel] -sockname] 2]]
        foreach line [split [read_file /proc/net/tcp] \n] {
            if {[regexp ":$here \\S+:$there 01 \\S+ (\\d\\d):(\\S+)" $line -> timer left]} {
                return [expr {$timer eq "02" ? "0x$left" / 100 : {}}]
            }
        }
    }

    test {tcp-keepalive applies to new connections} {
        if {[string match *:* [fconfigure [r channel] -sockname]]} { skip "over IPv6" }
        foreach {seconds least most} {300 200 300 60 30 60 0 {} {}} {
            config_set tcp-keepalive $seconds
            set c [valkey_client]
            $c ping
            after 300 ;# before that, it is the timer of what was not acknowledged
            set left [keepalive_of $c]
            assert {$left eq $least || ($left >= $least && $left <= $most)} "$seconds: $left"
            $c close
        }
        config_set tcp-keepalive 300
    }

    test {a thousand clients connect, send and disconnect} {
        set limit [exec sh -c {ulimit -n}]
        if {$limit ne "unlimited" && $limit < 1200} { skip "the limit of open files is too low" }
        wait_for_clients 1
        set before [s total_connections_received]
        set all {}
        for {set i 0} {$i < 1000} {incr i} { lappend all [valkey_deferring_client] }
        foreach c $all { $c incr visits }
        foreach c $all { $c read }
        assert_equal 1000 [r get visits]
        assert_equal 1001 [s connected_clients]
        assert_equal [expr {$before + 1000}] [s total_connections_received]
        foreach c $all { $c close }
        wait_for_clients 1
        r del visits
    }
}

start_server {overrides {bind {127.0.0.1 -198.51.100.7 127.0.0.3}} tags {external:skip}} {
    test {several addresses; an optional one may be missing} {
        assert {[can_connect 127.0.0.1 [srv port]]}
        assert {[can_connect 127.0.0.3 [srv port]]}
        assert_equal "127.0.0.1 -198.51.100.7 127.0.0.3" [config_get bind]
    }
}

tags {external:skip} {
    test {a missing address that is not optional stops the start} {
        set port [free_port]
        lassign [run_to_end --port $port --bind 127.0.0.1 198.51.100.7] code output
        assert_equal 1 $code
        assert_match "*Listening on 198.51.100.7:$port failed: bind: Cannot assign requested address*" $output
    }

    test {IPv6} {
        if {![has_address ::1]} { skip "this host has no IPv6" }
        set port [free_port]
        with_server_command [list $::options(server) --port $port --bind ::1] {
            wait_for_text $log $ready
            assert {[can_connect ::1 $port]}
            assert {![can_connect 127.0.0.1 $port]}
            set c [resp::connect ::1 $port]
            assert_match {*addr=\[::1\]:* laddr=\[::1\]:*} [$c client info]
            $c close
        }
    }

    test {IPv4 and IPv6 side by side, as by default} {
        if {![has_address ::1]} { skip "this host has no IPv6" }
        set port [free_port]
        with_server_command [list $::options(server) --port $port] {
            wait_for_text $log $ready
            assert {[can_connect 127.0.0.1 $port]}
            assert {[can_connect ::1 $port]}
        }
    }

    test {a unix socket alone} {
        set path $::work_dir/only.sock
        with_server_command [list $::options(server) --port 0 --unixsocket $path --unixsocketperm 700] {
            wait_for_text $log "Ready to accept connections unix"
            assert_no_match "*accept connections tcp*" [read_file $log]
            assert_equal 700 [string range [file attributes $path -permissions] end-2 end]
            assert_equal +PONG [unix_command $path ping]
            set info [unix_command $path info server]
            assert_match "*\nlistener0:name=unix,bind=$path*" $info
            assert_match "*\ntcp_port:0\n*" $info
            assert_match "*flags=U *" [unix_command $path client info]
            exec kill -TERM $pid
            assert_equal 0 [wait_for_exit $dir]
            assert_match "*The file of the Unix socket is deleted*" [read_file $log]
            assert {![file exists $path]}
        }
    }

    test {a socket file that was left over is replaced, another file is not} {
        set path $::work_dir/stale.sock
        exec python3 -c "import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv\[1])" $path
        with_server_command [list $::options(server) --port 0 --unixsocket $path] {
            wait_for_text $log "Ready to accept connections unix"
            assert_equal +PONG [unix_command $path ping]
        }
        close [open $::work_dir/plain.file w]
        lassign [run_to_end --port 0 --unixsocket $::work_dir/plain.file] code output
        assert_equal 1 $code
        assert_match "*Opening the Unix socket failed: bind: *" $output
        assert {[file exists $::work_dir/plain.file]}
    }

    test {protected mode refuses other machines while there is no password} {
        set address [outer_address]
        if {$address eq {}} { skip "this host has only loopback addresses" }
        set port [free_port]
        with_server_command [list $::options(server) --port $port] {
            wait_for_text $log $ready
            set local [resp::connect 127.0.0.1 $port]
            assert_equal PONG [$local ping]
            set remote [resp::connect $address $port 1]
            assert_match "-DENIED *protected mode*" [$remote rawread]
            assert {[is_closed $remote]}
            assert_equal 1 [status $local rejected_connections]
            $local config set protected-mode no
            assert {[can_connect $address $port]}
            $local config set protected-mode yes
            $local config set requirepass secret
            $remote reconnect
            $remote ping
            assert_error "NOAUTH*" { $remote read }
            $remote close
            $local close
        }
    }
}
