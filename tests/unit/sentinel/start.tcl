# How a Sentinel starts and ends, and its properties: names, the file it needs, the directives of its file, its
# commands, and how INFO, HELLO, ROLE and the log differ from a server's. Where there is an oracle, it must do the
# same.

source -encoding utf-8 $::support/sentinel.tcl
source -encoding utf-8 $::support/since_9_1.tcl

# {exit code, output} of a Sentinel that ends by itself, of that kind, with a file of these lines.
proc sentinel_end {kind lines args} {
    set path $::work_dir/ending.conf
    set f [open $path w]
    foreach line $lines { puts $f $line }
    close $f
    return [program_end [server_of_kind [sentinel_kind $kind]] $path --sentinel {*}$args]
}

proc program_end {args} {
    set code 0
    if {[catch {exec timeout 20 {*}$args 2>@1} output how]} {
        set code [lindex [dict get $how -errorcode] 2]
        regsub {\nchild process exited abnormally$} $output {} output
    }
    return [list $code $output]
}

# Without the parts that differ from start to start.
proc messages {output} { return [regsub -all -line {^\d+:(\w) \d+ \w+ \d+ [\d:.]+ } $output {\1 }] }

tags {sentinel external:skip} {
    test {without a file that exists and can be written a Sentinel does not start} {
        assert_equal {1 {X # A Sentinel keeps its state in its configuration file, but none was given, so it exits}} [lmap part [other_face valkey-sentinel] { messages $part }]
        lassign [other_face valkey-sentinel /nosuch/sentinel.conf] code output
        assert_equal 1 $code
        assert_match "*X * # The configuration file '/nosuch/sentinel.conf' could not be opened: No such file or directory*" $output
        lassign [program_end $::options(server) --port 0 --sentinel] code output
        assert_equal 1 $code
        assert_match "*A Sentinel keeps its state in its configuration file*" $output
        foreach name {redis-sentinel my-valkey-sentinel-7} {
            assert_match "1 *A Sentinel keeps its state in its configuration file*" [other_face $name]
        }
    }

    test {errors of the configuration are in the log file, where there is one} {
        set log /tmp/sentinel-[pid].log
        try {
            lassign [program_end $::options(server) --sentinel --logfile $log] code output
            assert_equal 1 $code
            assert_no_match *Sentinel* $output
            set f [open $log]
            assert_match "*X * # A Sentinel keeps its state in its configuration file, but none was given, so it exits*" [read $f]
            close $f
        } finally {
            file delete $log
        }
    }

    test {with a read-only file a Sentinel does not start} {
        if {[auto_execok setpriv] eq {}} { skip "no setpriv" }
        set path /tmp/sentinel-[pid].conf
        try {
            close [open $path w]
            file attributes $path -permissions 0444
            file copy $::options(server) /tmp/sentinel-[pid]
            file attributes /tmp/sentinel-[pid] -permissions 0755
            lassign [program_end setpriv --reuid=65534 --clear-groups /tmp/sentinel-[pid] $path --sentinel] code output
            assert_equal 1 $code
            assert_match "*# The configuration file $path of this Sentinel cannot be written: Permission denied. The Sentinel exits." $output
        } finally {
            file delete $path /tmp/sentinel-[pid]
        }
    }

    # The lines after `port 0`, and the reason of the refusal; the line in the error is the last one, except for those
    # with a third word.
    set refused {
        {"sentinel foo"} "Unrecognized sentinel configuration statement."
        {"sentinel monitor"} "Unrecognized sentinel configuration statement."
        {"sentinel monitor a 127.0.0.1 1 1 1"} "Unrecognized sentinel configuration statement."
        {"sentinel \"monitor a 127.0.0.1 1 1\""} "Unrecognized sentinel configuration statement."
        {"sentinel monitor a 127.0.0.1 1 0"} "Quorum must be 1 or greater."
        {"sentinel monitor a 127.0.0.1 1 1" "sentinel monitor a 127.0.0.1 2 1"} "Duplicate master name."
        {"sentinel monitor a 127.0.0.1 70000 1"} "Invalid port number."
        {"sentinel monitor a no.such.host.invalid 1 1"} "Can't resolve instance hostname."
        {"sentinel config-epoch nosuch 1"} "No such master with specified name."
        {"sentinel down-after-milliseconds a 0" "sentinel monitor a 127.0.0.1 1 1"} "negative or zero time parameter." 2
        {"sentinel foo" "sentinel monitor a 127.0.0.1 1 0"} "Quorum must be 1 or greater."
        {"sentinel foo" "bar"} "Bad directive or wrong number of arguments"
        {"sentinel monitor a 127.0.0.1 1 1" "sentinel notification-script a /nosuch"} "Notification script seems non existing or non executable."
        {"sentinel monitor a 127.0.0.1 1 1" "sentinel client-reconfig-script a /nosuch"} "Client reconfiguration script seems non existing or non executable."
        {"sentinel myid abc"} "Malformed Sentinel id in myid option."
        {"sentinel resolve-hostnames maybe"} "Please specify yes or no for the resolve-hostnames option."
        {"sentinel deny-scripts-reconfig maybe"} "Please specify yes or no for the deny-scripts-reconfig options."
    }
    test {wrong lines of the file end the start, and are quoted} {
        foreach {lines reason at} [regsub -all -line {"$} $refused {" {}}] {
            set number [expr {$at eq {} ? [llength $lines] + 1 : $at}]
            set text [lindex $lines $number-2]
            lassign [sentinel_end ours [concat {"port 0"} $lines]] code output
            assert_equal 1 $code $lines
            assert_match "*\\*\\*\\* FATAL CONFIG FILE ERROR (Version *) \\*\\*\\*\nReading the configuration file, at line $number\n>>> *\n$reason" $output $lines
            assert_morethan [string first ">>> '$text'\n" $output] -1
        }
    }

    test {Valkey 9.1 refuses the same lines} {
        if {[valkey_oracle] eq {}} { skip "no oracle" }
        set words {"(Version 9.1.2)" "(Version 9.2.0)" "Failed to resolve hostname 'no.such.host.invalid'" "The host name 'no.such.host.invalid' could not be resolved"}
        foreach {lines reason at} [regsub -all -line {"$} $refused {" {}}] {
            assert_equal [lmap part [sentinel_end valkey [concat {"port 0"} $lines]] { string map $words [messages $part] }] \
                [lmap part [sentinel_end ours [concat {"port 0"} $lines]] { messages $part }] $lines
        }
    }

    test {a server that is no Sentinel refuses sentinel lines, except the bare word} {
        set f [open $::work_dir/server.conf w]
        puts $f "port 0\nsentinel\nsentinel monitor a 127.0.0.1 1 1"
        close $f
        lassign [program_end $::options(server) $::work_dir/server.conf] code output
        assert_equal 1 $code
        assert_match "*at line 3\n>>> 'sentinel monitor a 127.0.0.1 1 1'\nsentinel directive while not in sentinel mode*" $output
    }

    test {ordinary directives are read as in a server} {
        lassign [sentinel_end ours {"port 0" "maxclients x"}] code output
        assert_equal 1 $code
        assert_match "*at line 2\n>>> 'maxclients x'*" $output
        lassign [sentinel_end ours {"port 0" "rename-command get \"\""}] code output
        assert_match "*No such command in rename-command*" $output
    }
}

start_server {tags {sentinel external:skip}} {
    test {a server that is no Sentinel has no SENTINEL, and no such section in INFO} {
        assert_error "ERR unknown command 'sentinel'*" { r sentinel masters }
        assert_equal {} [r info sentinel]
        assert_no_match "*# Sentinel*" [r info everything]
        assert_equal -1 [lsearch [r command list] sentinel]
        assert_equal standalone [dict get [r hello] mode]
    }
}

start_sentinel {kind ours lines {{monitor one 127.0.0.1 1 1} {monitor two 127.0.0.1 2 1}} tags {sentinel external:skip}} {
    test {the log of the start has the lines of a Sentinel} {
        wait_for_log "+monitor master two*"
        set steps {"X * Valkey is starting" "The configuration is read" "The server runs in sentinel mode on port [srv port]" "The configuration file of this Sentinel is written"
            "The ID of this Sentinel is" "+monitor master one 127.0.0.1 1 quorum 1"}
        set from 0
        foreach step [subst -nobackslashes {$steps}] { set from [wait_for_log [subst [lindex $step 0]] $from] }
        assert_equal 0 [count_log_message "Ready to accept"]
        foreach line [log_lines] {
            if {[string match {[0-9]*:*} $line]} { assert_match {*:X *} $line }
        }
    }

    test {ROLE, HELLO, the mode in INFO} {
        lassign [r role] role names
        assert_equal {sentinel {one two}} [list $role [lsort $names]]
        assert_equal {server valkey proto 2 mode sentinel modules {}} [dict remove [r hello] version id]
        assert_equal sentinel [s server_mode]
    }

    test {hz varies all the time} {
        set seen {}
        wait_for_condition 200 20 {[llength [lsort -unique [lappend seen [s hz]]]] > 3} else { fail "hz: $seen" }
        foreach hz $seen { assert_range $hz 10 19 }
    }

    test {INFO has the sections of a Sentinel only} {
        assert_equal {Server Clients Stats CPU Sentinel} [lmap {- name} [regexp -all -inline -line {^# (\w+)} [r info]] { set name }]
        foreach names {all everything default} { assert_match "*# Sentinel*" [r info $names] }
        foreach name {keyspace replication memory commandstats nosuch} { assert_equal {} [r info $name] }
        foreach {field value} {sentinel_masters 2 sentinel_tilt 0 sentinel_tilt_since_seconds -1 sentinel_total_tilt 0
            sentinel_running_scripts 0 sentinel_scripts_queue_length 0 sentinel_simulate_failure_flags 0} {
            assert_equal $value [s $field] $field
        }
        assert_match "*\nmaster?:name=one,status=ok,address=127.0.0.1:1,slaves=0,sentinels=1\r\n*" [r info sentinel]
    }

    test {commands of servers are unknown} {
        foreach command {{get a} {set a b} {config get port} {multi} {monitor} {debug sleep 0} {pubsub channels} {eval x 0} {save} {replicaof no one} {cluster info}} {
            assert_error "ERR unknown command '[lindex $command 0]', with args beginning with:*" { r {*}$command }
        }
        assert_error "ERR unknown subcommand 'no-touch'. Try CLIENT HELP." { r client no-touch on }
        assert_error "ERR Command 'get' not found" { r acl dryrun default get a }
    }

    test {PUBLISH is for hello messages} {
        assert_error "ERR Only HELLO messages are accepted by Sentinel instances." { r publish news x }
        assert_equal 1 [r publish __sentinel__:hello "not one"]
        assert_equal 1 [r publish __sentinel__:hello ,,,,,,,]
    }

    test {events reach subscribers, whatever the log level} {
        set c [event_client sentinel]
        r sentinel set one quorum 2
        assert_equal {pmessage * +set {master one 127.0.0.1 1 quorum 2}} [$c read]
        $c close
    }

    test {SHUTDOWN saves nothing, and logs that a Sentinel exits} {
        assert_error "ERR syntax error" { r shutdown save nosave }
        assert_error "ERR No shutdown in progress." { r shutdown abort }
        r write "*2\r\n\$8\r\nSHUTDOWN\r\n\$4\r\nSAVE\r\n"
        assert_equal 1 [wait_file [srv dir]/exit 10000]
        assert_equal 0 [exit_code [srv dir]]
        wait_for_log "A shutdown was requested by '*"
        wait_for_log "# Sentinel is now ready to exit, bye bye..."
        assert_equal {} [glob -nocomplain -directory [srv dir] *.rdb]
    }
}

# Directives about data are accepted without an effect.
start_sentinel {kind ours lines {{monitor one 127.0.0.1 1 1}} tags {sentinel external:skip} overrides {appendonly yes replicaof {127.0.0.1 1} save {1 1}
        cluster-enabled yes io-threads 2 hz 50}} {
    test {directives about data have no effect} {
        assert_equal sentinel [s server_mode]
        after 1200
        assert_equal 0 [count_log_message "SYNC"]
        assert_equal {} [glob -nocomplain -directory [srv dir] appendonlydir *.rdb nodes.conf]
        assert_match "*:*/valkey-server*\\\[sentinel\\\]" [exec ps -o pid=,args= -p [srv pid] | sed "s/ /:/"]
    }
}

# The file that users begin with: it has the defaults, nothing of it is lost when it is rewritten, and 9.1 can read
# it.
foreach kind {ours valkey} {
    start_sentinel [list kind $kind tags {sentinel external:skip} crash 1] {
        test "sentinel.conf is read, and keeps its values ($kind)" {
            set before [split [string trim [read_file [file dirname [file dirname $::support]]/sentinel.conf]] \n]
            set changed {^(port|dir|daemonize|protected-mode|logfile|loglevel|sentinel) }
            stop_server sentinel
            set f [open [srv conf] w]
            foreach line $before {
                puts $f [regsub {^dir .*} [regsub {^port .*} $line "port [srv port]"] "dir [srv dir]"]
            }
            close $f
            start_server_again sentinel
            r sentinel flushconfig
            set after [split [read_file [srv conf]] \n]
            foreach line $before {
                if {$line ne {} && ![regexp $changed $line]} { assert_morethan_equal [lsearch -exact $after $line] 0 $line }
            }
            set map [r sentinel master mymaster]
            foreach {field value} {ip 127.0.0.1 port 6379 quorum 2 down-after-milliseconds 30000 failover-timeout 180000 parallel-syncs 1} {
                assert_equal $value [dict get $map $field] $field
            }
            assert_equal {resolve-hostnames no announce-hostnames no announce-ip {} announce-port 0} \
                [dict filter [r sentinel config get *] key resolve-hostnames announce-*]
        }
    }
}

foreach kind {ours valkey} {
    start_sentinel [list kind $kind lines {{monitor one 127.0.0.1 1 1}} tags {sentinel external:skip}] {
        test "INFO is a bulk string, in RESP3 too ($kind)" {
            r hello 3
            assert_match {$* # Sentinel*sentinel_masters:1*} [wire info sentinel]
            assert_match {=* txt:id=*} [wire client info]
        }
    }
}

# ---- Beside the oracle -----------------------------------------------------------------------------------------

start_sentinel {kind valkey name peer lines {{monitor one 127.0.0.1 1 1}} tags {sentinel external:skip}} {
    start_sentinel {kind ours name own lines {{monitor one 127.0.0.1 1 1}}} {
        proc fields {level args} { return [lsort [lmap {- name} [regexp -all -inline -line {^(\w+):} [r $level info {*}$args]] { set name }]] }
        proc subcommands {level} {
            set all {}
            dict for {name facts} [r $level command docs] {
                lappend all $name
                if {[dict exists $facts subcommands]} { lappend all {*}[dict keys [dict get $facts subcommands]] }
            }
            return [lsort $all]
        }

        test {the commands and subcommands are those of 9.1} {
            assert_equal [since_9_1::unchanged [subcommands [at peer]]] [since_9_1::unchanged [subcommands [at own]]]
            foreach name {peer own} { set list($name) [lsort [since_9_1::unchanged [r [at $name] command list]]] }
            assert_equal $list(peer) $list(own)
            assert_equal [r [at peer] command count] [r [at own] command count]
        }

        test {the facts about the commands are those of 9.1} {
            foreach name [r [at peer] command list] {
                set theirs [lindex [r [at peer] command info $name] 0]
                set ours [lindex [r [at own] command info $name] 0]
                foreach i {0 1 3 4 5} { assert_equal [lindex $theirs $i] [lindex $ours $i] $name }
                foreach i {2 6} { assert_equal [lsort [lindex $theirs $i]] [lsort [lindex $ours $i]] $name }
            }
        }

        test {INFO has the fields of 9.1} {
            foreach section {server clients stats cpu sentinel all} {
                set ours [fields [at own] $section]
                assert_equal {} [lmap name [fields [at peer] $section] { if {$name in $ours} continue; set name }] $section
            }
        }

        test {the replies are those of 9.1} {
            foreach command {{get a} {config get a} {client no-touch on} {publish a b} {publish __sentinel__:hello x} {role} {select 1}
                {acl whoami} {acl cat dangerous} {acl list} {shutdown save nosave} {shutdown abort} {hello 3 auth a b} {auth a} {reset} {quit x}
                {subscribe} {ssubscribe a} {command getkeys get a} {info nosuch} {sentinel} {client reply maybe}} {
                foreach name {peer own} {
                    catch { r [at $name] {*}$command } answer($name)
                    if {[llength $command] > 1 && [lindex $command 0] eq "acl"} { set answer($name) [lsort [since_9_1::unchanged $answer($name)]] }
                }
                assert_equal $answer(peer) $answer(own) $command
            }
        }
    }
}
