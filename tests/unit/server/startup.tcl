# Starting: the command line, the configuration from each of its sources, the log, and errors that stop a start.
source [file join [file dirname [info script]] server_util.tcl]

set ready {Ready to accept connections tcp}

tags {external:skip} {
    test {the error for a mistyped directive suggests the nearest one, on the command line and in a file} {
        set file $::work_dir/mistyped.conf
        set f [open $file w]
        puts $f "port 0\nmaxmemory-polcy allkeys-lru"
        close $f
        foreach {arguments meant} [list {--maxmemry 1gb} maxmemory {--prot 0} port {--SALVEOF no one} slaveof $file maxmemory-policy] {
            lassign [run_to_end {*}$arguments] code output
            assert_equal 1 $code
            assert_match "*\nBad directive or wrong number of arguments\nDid you mean '$meant'?*" $output
        }
        assert_no_match "*Did you mean*" [lindex [run_to_end --zzzqqqxxx 1] 1]
    }

    test {--version and -v} {
        foreach flag {--version -v} {
            lassign [run_to_end $flag] code output
            assert_equal 0 $code
            assert {[regexp {^Valkey server v=\d+\.\d+\.\d+ sha=[0-9a-f]{8}:[01] malloc=\S+ bits=64 build=[0-9a-f]+ Skipstone=\d+\.\d+\.\d+$} $output]} $output
        }
    }

    test {--help and -h} {
        foreach flag {--help -h} {
            lassign [run_to_end $flag] code output
            assert_equal 0 $code
            assert_match "Usage: *valkey.conf*--port*" $output
        }
    }

    test {--check-system: a line for each check, and code 1 when one of them warns} {
        lassign [run_to_end --check-system] code output
        foreach name {slow-clocksource xen-clocksource overcommit THP somaxconn open-files zone-reclaim swap container-memory clock-synchronized} {
            assert {[regexp -line "^\\\[$name\\]...(OK|skipped|NOTE:|WARNING:)$" $output]} "$name: $output"
        }
        assert_equal [string match *WARNING:* $output] $code
        if {[string trim [read_file /proc/sys/vm/overcommit_memory]] ne "1"} { assert_match "*vm.overcommit_memory=1*" $output }
    }

    test {--test-memory} {
        lassign [run_to_end --test-memory 3] code output
        assert_equal 0 $code
        assert_match "*Pass 4 of 4 over 3 MB ... 0 errors*" $output
        foreach arguments {{} x 0 -1} {
            lassign [run_to_end --test-memory {*}$arguments] code output
            assert_equal 1 $code $arguments
            assert_match "*number of megabytes*" $output
        }
    }

    test {a bad directive ends the start with code 1 and names its line} {
        foreach {arguments line} {
            {--nosuch 1} {nosuch "1"} {--port} port {--port x} {port "x"} {--maxclients 0} {maxclients "0"}
            {--port 1 --daemonize perhaps} {daemonize "perhaps"}
        } {
            lassign [run_to_end {*}$arguments] code output
            assert_equal 1 $code $arguments
            assert_match "*FATAL CONFIG FILE ERROR (Version *)*Reading the configuration file, at line *>>> '*$line*'*" $output
        }
        assert_match "*Bad directive or wrong number of arguments*" [lindex [run_to_end --nosuch 1] 1]
    }

    test {the error for a bad line of a file has its number} {
        set path $::work_dir/bad.conf
        set f [open $path w]
        puts $f "# a comment\nport 0\n\nmaxclients many"
        close $f
        lassign [run_to_end $path] code output
        assert_equal 1 $code
        assert_match "*at line 4\n>>> 'maxclients many'*" $output
    }

    test {a missing configuration file ends the start} {
        lassign [run_to_end $::work_dir/nosuch.conf] code output
        assert_equal 1 $code
        assert_match "*The configuration file '*nosuch.conf' could not be opened: No such file or directory*" $output
    }

    test {a log file that cannot be written} {
        lassign [run_to_end --logfile /nosuch/dir/log] code output
        assert_equal 1 $code
        assert_match "*Can't open the log file: No such file or directory*" $output
    }

    test {a missing folder ends the start} {
        lassign [run_to_end --dir /nosuch/dir] code output
        assert_equal 1 $code
        assert_match "*No such file or directory*" $output
    }

    test {a start without any address to listen on fails} {
        lassign [run_to_end --port 0] code output
        assert_equal 1 $code
        assert_match "*No port and no Unix socket to listen on is configured*" $output
    }

    test {configuration from standard input, and options after it} {
        set port [free_port]
        set conf $::work_dir/stdin.conf
        set f [open $conf w]
        puts $f "port 1\nmaxclients 123\nbind 127.0.0.1"
        close $f
        with_server_command [list sh -c "exec \"\$0\" - --port $port <$conf" $::options(server)] {
            wait_for_text $log $ready
            set c [resp::connect 127.0.0.1 $port]
            assert_equal {maxclients 123} [$c config get maxclients]
            assert_equal "" [status $c config_file]
            $c close
        }
    }

    test {a start without a configuration is logged} {
        # The default port may be taken: the warning comes before that matters.
        catch {exec {*}[in_folder $::work_dir [list timeout 1 $::options(server)]] </dev/null 2>@1} output
        assert_match "*No configuration file is given*valkey.conf*" $output
        assert_match "*The server runs in standalone mode on port 6379*" $output
    }

    test {options alone, with several values} {
        set port [free_port]
        with_server_command [list $::options(server) --port $port --bind 127.0.0.1 -127.0.0.2 --loglevel debug] {
            wait_for_text $log "The configuration is read"
            wait_for_text $log $ready
            set c [resp::connect 127.0.0.1 $port]
            assert_equal {bind {127.0.0.1 -127.0.0.2}} [$c config get bind]
            assert_equal {loglevel debug} [$c config get loglevel]
            $c close
        }
    }
}

start_server {overrides {maxclients 77 hz 20 enable-protected-configs yes} args {--maxclients 88} tags {external:skip}} {
    test {options win over the file} {
        assert_equal 88 [config_get maxclients]
        assert_equal 20 [config_get hz]
        assert_equal [srv dir]/server.conf [s config_file]
    }

    test {the log has the steps of the start in order, in the format that tools parse} {
        assert_in_order [read_file [srv log]] [list "Valkey is starting" \
            "Version *, 64 bits, commit *, modified ?, process [srv pid]" "The configuration is read" \
            "Clock for durations:" "The server runs in standalone mode on port [srv port]" "The server is set up" \
            "Ready to accept connections tcp"]
        foreach line [log_lines] {
            if {$line eq {}} continue
            assert {[regexp {^\d+:M \d\d \w\w\w \d{4} \d\d:\d\d:\d\d\.\d{3} [.*#-] } $line]} $line
        }
    }

    test {dir is where the server is, and can be changed} {
        assert_equal [file normalize [srv dir]] [config_get dir]
        assert_equal [file normalize [srv dir]] [file readlink /proc/[srv pid]/cwd]
        assert_error "*No such file or directory*" { r config set dir /nosuch }
        file mkdir [srv dir]/sub
        config_set dir [srv dir]/sub
        assert_equal [file normalize [srv dir]/sub] [file readlink /proc/[srv pid]/cwd]
        config_set dir [srv dir]
    }

    test {loglevel: lines below it are not logged, at run time too} {
        config_set loglevel warning
        r debug log "to be dropped?"
        config_set loglevel notice
        set before [count_log_message "DEBUG LOG"]
        r debug log "an important word"
        assert_equal 1 [count_log_message "an important word"]
        config_set loglevel nothing
        r debug log "a lost word"
        assert_equal 0 [count_log_message "a lost word"]
        config_set loglevel verbose
        assert_error "*argument(s) must be one of the following: debug, verbose, notice, warning, nothing*" {
            r config set loglevel loud
        }
    }
}

tags {external:skip} {
    test {logfile has the log from its first line} {
        set port [free_port]
        set path $::work_dir/other.log
        file delete $path
        with_server_command [list $::options(server) --port $port --logfile $path] {
            wait_for_text $path $ready
            assert_equal "" [read_file $log]
            # A rotated file is let go at once.
            file rename -force $path $path.1
            set c [resp::connect 127.0.0.1 $port]
            catch {$c config set maxclients 0}
            $c close
            exec kill -TERM $pid
            assert_equal 0 [wait_for_exit $dir]
            assert_match "*ready to exit, bye bye*" [read_file $path]
            assert_no_match "*bye bye*" [read_file $path.1]
        }
    }

    test {daemonize: the starter ends with code 0, the daemon writes its pid file and removes it} {
        set port [free_port]
        set pidfile $::work_dir/daemon.pid
        set path $::work_dir/daemon.log
        file delete $pidfile $path
        lassign [run_to_end --port $port --daemonize yes --pidfile $pidfile --logfile $path --bind 127.0.0.1] code output
        assert_equal 0 $code
        wait_for_text $path $ready
        assert {[wait_file $pidfile]}
        set daemon [string trim [read_file $pidfile]]
        report_event server $daemon $path
        set c [resp::connect 127.0.0.1 $port]
        assert_equal $daemon [status $c process_id]
        assert_equal $daemon [lindex [exec ps -o sid= -p $daemon] 0] "a session of its own"
        assert_equal /dev/null [file readlink /proc/$daemon/fd/1]
        $c close
        exec kill -TERM $daemon
        wait_for_condition 200 50 {![file exists /proc/$daemon]} else { fail "the daemon does not end" }
        report_event gone $daemon
        assert {![file exists $pidfile]}
        assert_match "*bye bye*" [read_file $path]
    }

    test {a pid file without daemonize} {
        set port [free_port]
        set pidfile $::work_dir/plain.pid
        with_server_command [list $::options(server) --port $port --pidfile $pidfile] {
            wait_for_text $log $ready
            assert_equal $pid [string trim [read_file $pidfile]]
            exec kill -TERM $pid
            assert_equal 0 [wait_for_exit $dir]
            assert {![file exists $pidfile]}
            assert_in_order [read_file $log] {"A shutdown was requested" "The pid file is deleted" "bye bye..."}
        }
    }

    test {a pid file that cannot be written is logged, and does no harm} {
        set port [free_port]
        with_server_command [list $::options(server) --port $port --pidfile /nosuch/dir/pid] {
            wait_for_text $log $ready
            wait_for_text $log "Writing the pid file failed: No such file or directory"
        }
    }
}

tags {external:skip} {
    # Starts the server, reads a directive, and stops it. `stdin` is its standard input, {} is none.
    proc value_with {arguments directive {stdin {}}} {
        set input $::work_dir/options.stdin
        set f [open $input w]
        puts -nonewline $f $stdin
        close $f
        set port [free_port]
        set value {}
        with_server_command [list sh -c "exec \"\$0\" \"\$@\" <$input" $::options(server) {*}[string map "PORT $port" $arguments]] {
            wait_for_text $log "Ready to accept connections tcp"
            set c [resp::connect 127.0.0.1 $port]
            set value [lindex [$c config get $directive] 1]
            $c close
        }
        return $value
    }

    set conf $::work_dir/options.conf
    set f [open $conf w]
    puts $f "port 0\ntimeout 3\nhz 30\nsave 7 7"
    close $f
    foreach {arguments directive value} {
        {--port PORT --save 900 1} save {900 1}
        {--port PORT --save {900 1 300 10}} save {900 1 300 10}
        {--port PORT --save 900 1 --save 300 10} save {900 1 300 10}
        {--port PORT --save {} --save 300 10} save {300 10}
        {--port PORT --save {}} save {}
        {--save --port PORT} save {}
        {--port PORT --SAVE} save {}
        {--port PORT --timeout 5 --TimeOut 6} timeout 6
        {--port PORT --proc-title-template --my--title--} proc-title-template --my--title--
        {--port PORT --proc-title-template -- --hz 20} hz 20
        {--port PORT --bind 127.0.0.1 -::1 --hz 20} bind {127.0.0.1 -::1}
        {--port PORT --bind {127.0.0.1 -::1}} bind {127.0.0.1 -::1}
        {--port PORT --client-output-buffer-limit normal 1mb 2mb 3 --client-output-buffer-limit {pubsub 5 6 7}}
            client-output-buffer-limit {normal 1048576 2097152 3 slave 268435456 67108864 60 pubsub 5 6 7}
        {CONF --port PORT} timeout 3
        {CONF --port PORT --timeout 5} timeout 5
        {CONF --port PORT} save {7 7}
        {CONF --port PORT --save 900 1} save {7 7 900 1}
    } {
        test "options: $arguments" { assert_equal $value [value_with [string map "CONF $conf" $arguments] $directive] }
    }

    test {standard input is read after the file and before the options, wherever the dash is} {
        foreach arguments {{CONF --port PORT --hz 20 -} {- --port PORT --hz 20} {--port PORT --hz 20 -}} {
            foreach {directive value} {timeout 7 hz 20} {
                assert_equal $value [value_with [string map "CONF $conf" $arguments] $directive "timeout 7\nhz 50\n"] $arguments
            }
        }
    }

    test {words that are neither a value nor an option} {
        foreach {arguments line} {
            {--port 0 timeout 5} {port "0" "timeout" "5"}
            {--port=0} {port=0}
            {--port 0 --timeout --hz 20} {timeout "--hz" "20"}
            {--bogus --port 0} {bogus "--port" "0"}
            {--port 0 -- 5} {"5"}
            -nosuch {"-nosuch"}
        } {
            lassign [run_to_end {*}$arguments] code output
            assert_equal 1 $code $arguments
            assert_match "*at line \[23\]\n>>> '$line'*" $output
        }
    }
}

start_server {tags {external:skip}} {
    set f [open [srv conf] a]
    puts $f "rename-command GET \"\"\nrename-command set Zet\nrename-command client cl"
    puts $f "user bob on nopass ~* -@all +get +set +client|id"
    close $f
    restart_server

    test {rename-command: clients and scripts know the new name only} {
        assert_error "ERR unknown command 'get'*" { r get a }
        assert_error "ERR unknown command 'set'*" { r set a b }
        assert_equal OK [r zet a b]
        assert_equal OK [r eval {return redis.call('ZET', 'a', 'c')} 0]
        assert_error "*Unknown*command called from script*" { r eval {return redis.call('set', 'a', 'c')} 0 }
        assert_error "ERR wrong number of arguments for 'set' command" { r zet a }
        assert_error "ERR wrong number of arguments for 'client' command" { r cl }
        assert_error "ERR unknown subcommand 'nosuch'. Try CL HELP." { r cl nosuch }
        assert_equal {{}} [r command info get]
        assert_equal set [lindex [r command info zet] 0 0]
        assert_match "calls=2,*" [s cmdstat_set]
    }

    test {rename-command: ACL rules use the old name} {
        assert_error "*Unknown command or category name in ACL*" { r acl setuser c +zet }
        assert_equal OK [r acl dryrun bob zet a b]
        assert_error "*Command 'set' not found*" { r acl dryrun bob set a b }
    }

    test {rename-command: CONFIG REWRITE keeps it, and CONFIG GET and SET do not know it} {
        assert_equal {} [r config get rename-command]
        assert_error "ERR Unknown option*" { r config set rename-command "a b" }
        assert_equal OK [r config rewrite]
        restart_server
        assert_error "ERR unknown command 'set'*" { r set a b }
        assert_equal OK [r zet a b]
        assert_equal 3 [regexp -all -line ^rename-command [read_file [srv conf]]]
    }
}

tags {external:skip} {
    test {rename-command: refused names} {
        foreach {line reason} {
            "rename-command nosuch a" "No such command in rename-command"
            "rename-command get set" "Target command name already exists"
            "rename-command get" "Bad directive or wrong number of arguments"
            "rename-command get a b" "Bad directive or wrong number of arguments"
        } {
            lassign [run_to_end --port 0 {*}[lreplace $line 0 0 --rename-command]] code output
            assert_equal 1 $code $line
            assert_match "*$reason*" $output
        }
    }
}
