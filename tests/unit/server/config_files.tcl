# Configuration files as a whole: files that were written for other servers, directives without effect, and how CONFIG
# REWRITE keeps them.
source [file join [file dirname [info script]] server_util.tcl]

# Files of packages, and of the Valkey that utils/oracle fetches.
set top [file dirname [file dirname $::support]]
set oracle [expr {[info exists ::env(ORACLE)] ? $::env(ORACLE) : "$top/build/oracle"}]
set stock [list Valkey [list $oracle/root/etc/valkey/valkey.conf /etc/valkey/valkey.conf] Redis /etc/redis/redis.conf]

tags {introspection external:skip} {
    proc write_conf {name lines} {
        set path $::work_dir/$name
        set f [open $path w]
        puts $f [join $lines \n]
        close $f
        return $path
    }

    # Starts with this file and more options, and gives the log and a client to the body.
    proc with_conf {path options body} {
        upvar 1 log log c c
        set port [free_port]
        set dir $::work_dir/with_conf
        file mkdir $dir
        with_server_command [list $::options(server) $path --port $port --daemonize no --dir $dir --pidfile "" --logfile "" \
            --bind 127.0.0.1 {*}$options] {
            wait_for_text $log "Ready to accept connections tcp"
            set c [resp::connect 127.0.0.1 $port]
            uplevel 1 $body
            $c close
        }
    }

    # The paths of packages (log, pid file, folder) belong to a user that the test is not.
    foreach {name paths} $stock {
        test "a stock configuration of $name starts" {
            set paths [lmap p $paths { if {![file readable $p]} continue; set p }]
            if {$paths eq {}} { skip "none is installed here" }
            set lines [lmap line [split [read_file [lindex $paths 0]] \n] { if {[regexp {^(dir|logfile|pidfile) } $line]} continue; set line }]
            with_conf [write_conf stock.conf $lines] {} {
                assert_equal PONG [$c ping]
                foreach line $lines {
                    if {![regexp {^([a-z][a-z-]*) +(\S+)$} $line -> directive value]} continue
                    if {$directive in {port daemonize bind include dynamic-hz}} continue
                    set now [lindex [$c config get $directive] 1]
                    if {[regexp -nocase {^\d+(k|m|g)b$} $value]} { set value [string map -nocase {kb *1024 mb *1048576 gb *1073741824} $value]; set value [expr $value] }
                    assert_equal [string trim $value {"}] $now $directive
                }
            }
        }
    }

    test {defaults of directives without effect are accepted in the file, and not logged} {
        set lines {"replica-priority 100" "repl-backlog-size 10mb" "io-threads 1" "cluster-enabled no" "min-replicas-to-write 0"
            "cluster-node-timeout 15000" "enable-module-command no" "rdma-port 0" {replicaof no one}}
        with_conf [write_conf defaults.conf $lines] {} { assert_no_match "*does not have yet*" [read_file $log] }
    }

    test {directives without effect are logged in one block} {
        set lines {"replicaof 192.0.2.1 6379" "slave-priority 7" "primaryauth verysecret" "min-io-threads-avoid-copy-reply 3" "repl-backlog-size 1mb" "hash-seed abc"
            "ignore-warnings ARM64-COW-BUG" "rdma-bind 192.0.2.1"}
        with_conf [write_conf absent.conf $lines] {} {
            set text [split [read_file $log] \n]
            set first [lsearch $text "* # WARNING What this version does not have yet, but the configuration asks for (4):"]
            assert_morethan $first 0
            set block [lrange $text $first+1 $first+4]
            foreach line {"min-io-threads-avoid-copy-reply 3 *: no effect" "hash-seed abc (others): no effect"
                "ignore-warnings ARM64-COW-BUG *" "rdma-bind 192.0.2.1 *"} {
                assert_morethan_equal [lsearch $block "* #   $line"] 0 $line
            }
            assert_no_match *verysecret* [read_file $log]
            assert_equal {min-io-threads-avoid-copy-reply 3 primaryauth verysecret replicaof {192.0.2.1 6379}} \
                [$c config get min-io-threads-avoid-copy-reply primaryauth replicaof]
            assert_equal {slave-priority 7 slaveof {192.0.2.1 6379}} [$c config get slave-priority slaveof]
            assert_equal slave [status $c role]
            assert_equal 1048576 [status $c repl_backlog_size]
            assert_equal OK [$c config rewrite]
        }
        set text [read_file $::work_dir/absent.conf]
        foreach line {"replicaof 192.0.2.1 6379" "min-io-threads-avoid-copy-reply 3" "repl-backlog-size 1mb" "primaryauth \"verysecret\"" "replica-priority 7"} {
            assert_match "*\n$line\n*" "\n$text"
        }
    }

    test {CONFIG SET: directives without effect are accepted, those that would be a false promise are refused} {
        with_conf [write_conf empty.conf {}] {} {
            assert_equal OK [$c config set repl-timeout 7 slave-read-only no cluster-node-timeout 5]
            assert_equal {cluster-node-timeout 5 repl-timeout 7 replica-read-only no} [$c config get repl-timeout replica-read-only cluster-node-timeout]
            assert_error "*'replicaof') - can't set immutable config" { $c config set replicaof "127.0.0.1 1" }
            assert_error "*'rdma-port') - No RDMA building support." { $c config set rdma-port 7 }
            assert_equal {min-replicas-to-write 0 rdma-port 0} [$c config get min-replicas-to-write rdma-port]
        }
    }

    test {a start that would harm clients or data is refused, after all problems have been logged} {
        foreach {arguments lines} {
            {--loadmodule /nosuch.so a b --rdma-bind 192.0.2.1} {"*  rdma-bind 192.0.2.1 *" "*The module /nosuch.so could not be loaded: *" "*The module /nosuch.so could not be loaded, so the server exits*"}
            {--sentinel} {"*A Sentinel keeps its state in its configuration file*"}
            {--replicaof 127.0.0.1 x} {"*Invalid primary port*"}
            {--replicaof 127.0.0.1} {"*wrong number of arguments*"}
            {--loadmodule} {"*FATAL CONFIG FILE ERROR*"}
        } {
            lassign [run_to_end --port 0 {*}$arguments] code output
            assert_equal 1 $code $arguments
            foreach line $lines { assert_match $line $output }
        }
    }

    test {directives of older versions without a meaning are ignored} {
        set old {"list-max-ziplist-entries 5" "list-max-ziplist-value 5" "lua-replicate-commands yes" "io-threads-do-reads yes" "dynamic-hz no" "events-per-io-thread 3"
            "sanitize-dump-payload no"}
        with_conf [write_conf old.conf $old] {} {
            assert_equal {} [$c config get dynamic-hz]
            assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'dynamic-hz'" { $c config set dynamic-hz yes }
            assert_equal OK [$c config rewrite]
        }
        assert_match "*dynamic-hz no*" [read_file $::work_dir/old.conf]
        assert_match "*Bad directive or wrong number of arguments*" [lindex [run_to_end --dynamic-hz yes no] 1]
    }

    test {CONFIG REWRITE: a renamed command of an included file stays there, and the server starts again} {
        set included [write_conf included.conf {"rename-command LOLWUT joke" "timeout 7"}]
        set path [write_conf including.conf [list "include $included" "rename-command ECHO say"]]
        foreach round {1 2} {
            with_conf $path {} {
                assert_error "ERR unknown command*" { $c lolwut }
                assert_equal hi [$c say hi]
                $c config set hz 20
                assert_equal OK [$c config rewrite]
            }
            set text [read_file $path]
            assert_equal 1 [regexp -all -line ^rename-command $text]
            assert_equal 1 [regexp -all -line "^include $included" $text]
        }
        assert_equal "rename-command LOLWUT joke\ntimeout 7\n" [read_file $included]
    }

    test {CONFIG REWRITE: client-output-buffer-limit has a line for each class that was changed} {
        set path [write_conf limits.conf {"client-output-buffer-limit normal 1mb 2mb 3" "hz 10" "client-output-buffer-limit pubsub 1mb 2mb 3"}]
        with_conf $path {} {
            $c config set client-output-buffer-limit "pubsub 1 2 3 replica 4096 8192 1"
            assert_equal OK [$c config rewrite]
        }
        assert_match "client-output-buffer-limit normal 1mb 2mb 3\nclient-output-buffer-limit replica 4kb 8kb 1\nclient-output-buffer-limit pubsub 1 2 3\nhz 10\n*" [read_file $path]
        with_conf $path {} {
            assert_equal {normal 1048576 2097152 3 slave 4096 8192 1 pubsub 1 2 3} [lindex [$c config get client-output-buffer-limit] 1]
        }
    }
}
