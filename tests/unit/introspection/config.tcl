# The configuration: reading files and options, CONFIG GET, SET and REWRITE.

# Runs the server on a configuration that it must refuse, and returns its output.
proc refused_config {text args} {
    set path $::work_dir/refused.conf
    set f [open $path w]
    puts -nonewline $f $text
    close $f
    catch {exec $::options(server) $path {*}$args 2>@1} said
    return $said
}

proc fatal_text {line_number line reason} {
    return "*FATAL CONFIG FILE ERROR (*) ?**\nReading the configuration file, at line $line_number\n>>> '$line'\n$reason*"
}

proc write_lines {path lines} {
    set f [open $path w]
    foreach line $lines { puts $f $line }
    close $f
}

tags {introspection external:skip} {
    test {errors in the file are reported with line and reason} {
        assert_match [fatal_text 3 "nosuch directive" "Bad directive or wrong number of arguments"] \
            [refused_config "# comment\n\nnosuch directive\n"]
        assert_match [fatal_text 1 "maxclients abc" "argument couldn't be parsed into an integer"] \
            [refused_config "  maxclients abc  \r\n"]
        assert_match [fatal_text 1 "maxclients 1 2" "wrong number of arguments"] [refused_config "maxclients 1 2"]
        assert_match [fatal_text 1 "maxclients" "wrong number of arguments"] [refused_config "maxclients"]
        assert_match [fatal_text 2 {port "1} "Unbalanced quotes in configuration line"] \
            [refused_config "maxclients 10\nport \"1"]
        assert_match [fatal_text 1 "port 70000" "argument must be between 0 and 65535 inclusive"] \
            [refused_config "port 70000"]
        assert_match [fatal_text 1 "lazyfree-lazy-expire maybe" "argument must be 'yes' or 'no'"] \
            [refused_config "lazyfree-lazy-expire maybe"]
        assert_match [fatal_text 1 "loglevel loud" "argument(s) must be one of the following: debug, *"] \
            [refused_config "loglevel loud"]
    }

    test {errors in options have line numbers that follow the file's} {
        assert_match [fatal_text 5 {nosuch "a b" "c"} "Bad directive*"] \
            [refused_config "maxclients 10\nmaxclients 11\n" --port 0 --nosuch "a b" c]
        assert_match [fatal_text 2 {maxclients} "wrong number of arguments"] [refused_config "" --maxclients]
    }

    test {a file that includes itself is refused} {
        assert_match "*nested too deeply*" [refused_config "include $::work_dir/refused.conf\n"]
    }

    test {a missing file is refused} {
        catch {exec $::options(server) $::work_dir/nosuch.conf 2>@1} said
        assert_match "*The configuration file '*/nosuch.conf' could not be opened: No such file or directory*" $said
        assert_match "*The configuration file '/nosuch.conf' could not be opened*" [refused_config "" --logfile {} --include /nosuch.conf]
    }

    write_lines $::work_dir/more-1.conf {{maxclients 101}}
    write_lines $::work_dir/more-2.conf {{maxclients 102} {}}
    start_server [list overrides [list include $::work_dir/more-*.conf ZSET-Max-ListPack-Entries {"7"}] \
                      args {--zset-max-listpack-value 33 --tcp-keepalive 62}] {
        test {include with a pattern, names in any case, quotes, and options before the file} {
            assert_equal 102 [config_get maxclients]
            assert_equal 7 [config_get zset-max-listpack-entries]
            assert_equal 33 [config_get zset-max-listpack-value]
            assert_equal 62 [config_get tcp-keepalive]
        }
    }
}

start_server {tags {introspection}} {
    test {CONFIG GET: exact names as they were written, patterns, aliases} {
        assert_equal {port} [dict keys [r config get port]]
        assert_equal {PORT} [dict keys [r config get PORT port]]
        assert_equal {} [r config get nosuch]
        set found [r config get zset-max-* port ZSET-MAX-LISTPACK-*]
        assert_equal [list port zset-max-listpack-entries zset-max-listpack-value zset-max-ziplist-entries \
                          zset-max-ziplist-value] [lsort [dict keys $found]]
        assert_equal [dict get $found zset-max-listpack-value] [dict get $found zset-max-ziplist-value]
        assert_error "*wrong number of arguments for 'config|get' command" { r config get }
    }

    test {CONFIG GET is a map in RESP3} {
        r hello 3
        r deferred 1
        r config get port
        foreach line {%1 $4 port} { assert_equal $line [r rawread] }
        r rawread
        r rawread
        r deferred 0
        r hello 2
    }

    test {CONFIG SET: several at once, aliases, units} {
        r config set zset-max-ziplist-entries 10 Zset-Max-Listpack-Value 1kb
        assert_equal 10 [config_get zset-max-listpack-entries]
        assert_equal 1024 [config_get zset-max-listpack-value]
        r config set zset-max-listpack-entries 128 zset-max-listpack-value 64
    }

    test {CONFIG SET refuses unknown directives} {
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'" { r config set nosuch 1 }
        foreach {wrong right} {maxmemry maxmemory MAXMEMORY-POLCY maxmemory-policy apendfsync appendfsync slowlog-logslower-than slowlog-log-slower-than} {
            assert_error "ERR Unknown option or number of arguments for CONFIG SET - '$wrong'" { r config set $wrong 1 }
            wait_for_log "CONFIG SET of a directive that there is not: did you mean '$right'?"
        }
        assert_equal {} [r config get maxmemry]
        assert_error "ERR Unknown option*'nosuch'" { r config set zset-max-listpack-entries abc nosuch 1 }
        assert_error "ERR syntax error" { r config set a b c }
        assert_error "*wrong number of arguments for 'config|set' command" { r config set port }
    }

    proc set_failed {name reason} { return "ERR CONFIG SET failed (possibly related to argument '$name') - $reason" }

    test {CONFIG SET says why a value is refused} {
        assert_error [set_failed lazyfree-lazy-expire "argument must be 'yes' or 'no'"] {
            r config set lazyfree-lazy-expire maybe }
        assert_error [set_failed port "argument must be between 0 and 65535 inclusive"] { r config set port 70000 }
        assert_error [set_failed port "argument couldn't be parsed into an integer"] { r config set port 1x }
        assert_error [set_failed port "argument couldn't be parsed into an integer"] { r config set Port {} }
        assert_error [set_failed zset-max-listpack-value "argument must be a memory value"] {
            r config set zset-max-listpack-value 1zb }
        assert_error [set_failed loglevel "argument(s) must be one of the following: debug, verbose, notice, warning*"] {
            r config set loglevel loud }
        assert_error [set_failed databases "can't set immutable config"] { r config set databases 3 }
        assert_error [set_failed dir "can't set protected config"] { r config set dir / }
        assert_error [set_failed port "duplicate parameter"] { r config set port 1 port 2 }
    }

    test {CONFIG SET changes everything or nothing} {
        set before [r config get *]
        assert_error [set_failed lazyfree-lazy-expire *] {
            r config set zset-max-listpack-entries 99 loglevel warning lazyfree-lazy-expire maybe }
        assert_error [set_failed databases *] { r config set zset-max-listpack-entries 99 databases 3 }
        assert_equal $before [r config get *]
    }

    test {a CONFIG SET that cannot be applied is undone} {
        set taken [socket -server {apply {{args} {}}} -myaddr 127.0.0.1 0]
        set busy [lindex [fconfigure $taken -sockname] 2]
        set before [r config get *]
        assert_error "ERR CONFIG SET failed (possibly related to argument 'port') - *" {
            r config set zset-max-listpack-entries 98 port $busy }
        close $taken
        assert_equal $before [r config get *]
        assert_equal PONG [[valkey_client] ping]
    }

    test {CONFIG GET lists directives in order of their names, each once} {
        foreach patterns {* {port PORT hz* maxmem* a*only timeout} {*-ziplist* slowlog* z*}} {
            set names [dict keys [r config get {*}$patterns]]
            assert_equal [lsort -unique $names] $names $patterns
        }
        assert_equal {appendonly hz maxmemory port} [dict keys [r config get port hz* appendonly maxmemory p*rt]]
    }

    test {every directive that can be set accepts its current value} {
        foreach {name value} [r config get *] {
            if {![catch {r config set $name $value} problem]} continue
            if {![string match "*can't set*" $problem]} { fail "$name '$value': $problem" }
        }
    }

    test {CONFIG RESETSTAT: counters are reset, gauges stay} {
        set fields {keyspace_hits keyspace_misses expired_keys total_error_replies total_connections_received
            total_net_input_bytes total_commands_processed}
        r set here 1
        r set gone 1 px 1
        for {set i 0} {$i < 2000} {incr i} { r get here; r get nowhere }
        catch {r incr gone x}
        [valkey_client] close
        wait_for_condition 100 50 {[s expired_keys] == 1 && [s instantaneous_input_kbps] > 1} else {
            fail "no rate, or nothing expired"
        }
        foreach field $fields { assert_morethan [s $field] 0 $field }
        assert_match "calls=*" [s cmdstat_get]
        assert_match "count=*" [s errorstat_ERR]
        assert_equal OK [r config resetstat]
        set info [r info everything]
        foreach field {keyspace_hits keyspace_misses expired_keys total_error_replies total_connections_received} {
            assert_match "*\n$field:0\r*" $info
        }
        foreach {field most} {total_net_input_bytes 1000 total_commands_processed 5} {
            regexp "\n$field:(\\d+)" $info -> value
            assert_lessthan $value $most $field
        }
        regexp {\ninstantaneous_input_kbps:([0-9.]+)} $info -> rate
        assert_lessthan $rate 1
        assert_equal {} [s cmdstat_get]
        assert_equal {} [s errorstat_ERR]
        assert_equal 1 [r dbsize]
        assert_morethan [s connected_clients] 0
    }

    test {CONFIG HELP and unknown subcommands} {
        assert_match "CONFIG <subcommand>*" [lindex [r config help] 0]
        assert_error "ERR unknown subcommand 'nosuch'. Try CONFIG HELP." { r config nosuch }
        assert_error "*wrong number of arguments for 'config|resetstat' command" { r config resetstat x }
    }
}

start_server {tags {introspection external:skip} overrides {zset-max-ziplist-entries 100 zset-max-listpack-value 64}} {
    test {CONFIG REWRITE keeps the file's shape, and the server starts with it again} {
        set path [srv dir]/server.conf
        set f [open $path a]
        puts $f "\n# last words\n  maxclients 111\nmaxclients 112"
        close $f
        restart_server
        r config set maxclients 120 tcp-keepalive 61 zset-max-listpack-entries 128
        assert_equal OK [r config rewrite]
        set text [read_file $path]
        assert_equal 1 [regexp -all -line {^maxclients 120$} $text]
        assert_equal 1 [regexp -all -line {^maxclients } $text]
        assert_equal 1 [regexp -all -line {^# last words$} $text]
        assert_equal 1 [regexp -all -line {^zset-max-listpack-entries 128$} $text]
        assert_no_match *ziplist* $text
        assert_match "*\n\n# Generated by CONFIG REWRITE\n*tcp-keepalive 61\n*" $text
        assert_equal OK [r config rewrite]
        assert_equal $text [read_file $path]
        set before [r config get *]
        restart_server
        assert_equal $before [r config get *]
    }

    test {CONFIG REWRITE creates a missing file again, and fails when it cannot} {
        set dir [srv dir]
        file delete $dir/server.conf
        assert_equal OK [r config rewrite]
        assert_match "*\nmaxclients 120\n*" [read_file $dir/server.conf]
        file rename $dir $dir.away
        set failed [catch {r config rewrite} problem]
        file rename $dir.away $dir
        assert {$failed}
        assert_equal "ERR Rewriting config file: No such file or directory" $problem
        assert_equal {} [glob -nocomplain $dir/*.tmp]
    }
}

tags {introspection external:skip} {
    test {CONFIG REWRITE without a file is an error} {
        set port [free_port]
        set pid [exec $::options(server) --port $port --dir $::work_dir >/dev/null 2>/dev/null &]
        try {
            wait_for_condition 100 100 {![catch {resp::connect 127.0.0.1 $port} c]} else { fail "no server" }
            assert_error "ERR The server is running without a config file" { $c config rewrite }
            assert_match "*\nconfig_file:\r\n*" [$c info server]
        } finally {
            exec kill $pid
        }
    }
}

start_server {tags {introspection external:skip}} {
    set top [file dirname [file dirname $::support]]

    test {valkey.conf allows connections from this machine only} {
        set text [read_file $top/valkey.conf]
        assert_match "*\nbind 127.0.0.1 -::1\n*" $text
        assert_equal {} [regexp -inline -line {^bind .*\*} $text]
    }

    test {valkey.conf documents every directive} {
        set text [read_file $top/valkey.conf]
        set missing {}
        foreach name [dict keys [r config get *]] {
            if {![regexp -line "^#.*\\m$name\\M|^$name " $text]} { lappend missing $name }
        }
        assert_equal {} $missing
    }

    # Port and folder are those of the test, and `bind` is narrower than without a file; the rest must change nothing.
    test {valkey.conf has the defaults} {
        proc values_with {lines} {
            set path $::work_dir/defaults.conf
            write_lines $path [concat $lines [list "port [srv port]" "dir $::work_dir"]]
            file rename -force [srv conf] $path.own
            file rename $path [srv conf]
            restart_server
            set values [dict remove [r config get *] bind]
            file rename -force $path.own [srv conf]
            return $values
        }
        assert_equal [values_with {}] [values_with [list "include $top/valkey.conf"]]
    }
}
