# The group of the Unix socket, the warning about tcp-backlog, maxclients where few files are allowed, and the hard limit of output.
source [file join [file dirname [info script]] server_util.tcl]

tags {external:skip} {
    test {unixsocketgroup} {
        set groups [split [exec id -Gn] " "]
        set group [lindex $groups end]
        set path $::work_dir/group.sock
        with_server_command [list $::options(server) --port 0 --unixsocket $path --unixsocketperm 770 --unixsocketgroup $group] {
            wait_for_text $log "Ready to accept connections unix"
            assert_equal $group [file attributes $path -group]
            assert_equal +PONG [unix_command $path ping]
        }
        lassign [run_to_end --port 0 --unixsocket $path --unixsocketgroup no-such-group] code output
        assert_equal 1 $code
        assert_match "*Opening the Unix socket failed: group no-such-group: *" $output
        assert {![file exists $path]}
    }

    test {a tcp-backlog beyond what the kernel allows is logged} {
        set most [string trim [read_file /proc/sys/net/core/somaxconn]]
        if {![string is integer -strict $most]} { skip "this kernel does not say" }
        foreach {backlog told} [list [expr {$most + 1}] 1 $most 0] {
            set port [free_port]
            with_server_command [list $::options(server) --port $port --tcp-backlog $backlog] {
                wait_for_text $log "Ready to accept connections tcp"
                assert_equal $told [string match "*tcp-backlog is $backlog, but the kernel limits it to $most *" [read_file $log]]
            }
        }
    }

    test {maxclients is lowered to what the limit of open files leaves} {
        set port [free_port]
        with_server_command [list sh -c "ulimit -n 100 && exec \"\$0\" --port $port" $::options(server)] {
            wait_for_text $log "Ready to accept connections tcp"
            wait_for_text $log "At most 100 files may be open, so maxclients is reduced from 10000 to 68"
            set c [resp::connect 127.0.0.1 $port]
            assert_equal {maxclients 68} [$c config get maxclients]
            assert_error "*not able to handle the specified number of clients*" { $c config set maxclients 200 }
            assert_equal {maxclients 68} [$c config get maxclients]
            $c close
        }
    }
}

start_server {tags {external:skip}} {
    test {the hard limit of output counts replies of every kind beyond the reply buffer} {
        for {set i 0} {$i < 1000} {incr i} { r set [format %0100d $i] {} }
        r rpush list {*}[numbers 1 2000]
        config_set client-output-buffer-limit "normal 100000 0 0"
        foreach command {{keys *} {scan 0 count 100000}} { # 109 KB
            set c [valkey_client]
            catch { $c {*}$command } said
            assert_match "I/O error*" $said $command
            $c close
        }
        config_set client-output-buffer-limit "normal 120000 0 0"
        assert_equal 1001 [llength [r keys *]]
        config_set client-output-buffer-limit "normal 1000 0 0"
        assert_equal 1000 [llength [r lrange list 0 999]]
        config_set client-output-buffer-limit "normal 0 0 0"
    }
}
