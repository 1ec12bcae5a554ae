# Beside a living Redis 8.6: fields of CLIENT LIST and of INFO in the same state, and its configuration as ours. tests/matrix/redis8
# has the names of directives, and the fields of INFO of a server that has just started.
source [file join [file dirname [info script]] .. server server_util.tcl]

# What Redis has and this server has not, and why; each line has to be needed.
set absent_fields {
    redis_mode                                      "server_mode, as in Valkey"
    atomicvar_api                                   "there is no choice of instructions to name"
    mem_replica_full_sync_buffer                    "mem_replicas_repl_buffer, as in Valkey"
    mem_cluster_slot_migration_output_buffer        "mem_cluster_slot_export, as in Valkey"
    mem_cluster_slot_migration_input_buffer         "mem_cluster_slot_import, as in Valkey"
    mem_cluster_slot_migration_input_buffer_peak    "slots move in Valkey's way, without this buffer"
    hotkeys-cmd-cpu-time                            "it is 0 in all that was tried"
}
# Directives of Redis whose values mean something else here, or that no server has in common with another.
set own_directives {dir logfile pidfile port bind replicaof slaveof daemonize syslog-ident dynamic-hz}

proc field_names {text} { return [lmap {- name} [regexp -all -inline -line {^([\w-]+):} $text] { set name }] }

proc client_fields {line} { return [lmap {- name} [regexp -all -inline {(?:^| )([\w-]+)=} $line] { set name }] }

# The names of `wanted` that are not in `found`.
proc missing {wanted found} { return [lmap name $wanted { if {$name in $found} continue; set name }] }

# Does some of everything that has a field in INFO. Subscribers stay as long as the server.
proc make_traffic {level other} {
    r $level config set latency-tracking yes
    foreach command {{set k v} {get k} {get none} {rpush l a} {sadd s a} {zadd z 1 a} {hset h f v g w} {xadd x * a b} {pfadd p a} {hpexpire h 1 fields 1 f}
                     {set brief v px 1} {incr l} {eval {return redis.call('get', KEYS[1])} 1 k} {watch k} {client tracking on} {script load {return 1}}
                     {hotkeys start metrics 2 cpu net} {bgsave} {nosuch} {client setinfo lib-name mine}} {
        catch { r $level {*}$command }
    }
    foreach channel {subscribe psubscribe ssubscribe} {
        set client [valkey_client $level]
        $client deferred 1
        $client $channel c*
        $client read
    }
    if {$other ne {}} {
        r $other replicaof [srv $level host] [srv $level port]
        wait_for_condition 100 100 {[status_of $other master_link_status] eq "up"} else { fail "no link" }
    }
    wait_for_condition 100 50 {[status_of $level rdb_bgsave_in_progress] == 0 && [r $level exists brief] == 0} else { fail "it goes on" }
}
proc status_of {level field} {
    regexp -line "^$field:(.*?)\r?$" [r $level info everything] -> value
    return $value
}

foreach {mode more} {alone {} cluster {cluster-enabled yes}} {
    set settings [list save {} enable-debug-command yes repl-diskless-sync-delay 0 {*}$more]
    set servers [list ours [list kind ours overrides $settings] theirs [list kind redis8 overrides $settings]]
    if {$mode eq "alone"} { lappend servers replica {kind ours} their_replica {kind redis8} }
    start_servers $servers {
        test "beside Redis 8 ($mode): ours has the fields of INFO after the same traffic, in the same sections" {
            foreach level {ours theirs} other {replica their_replica} {
                if {$mode eq "cluster"} {
                    r [at $level] cluster addslotsrange 0 16383
                    wait_for_condition 100 100 {[string match *cluster_state:ok* [r [at $level] cluster info]]} else { fail "not ok" }
                }
                make_traffic [at $level] [expr {$mode eq "alone" ? [at $other] : {}}]
            }
            set needed {}
            foreach section [lmap title [regexp -all -inline -line {^# \w+} [r [at theirs] info everything]] { string tolower [lindex $title 1] }] {
                foreach name [missing [field_names [r [at theirs] info $section]] [field_names [r [at ours] info $section]]] {
                    if {![dict exists $absent_fields $name]} { fail "INFO $section has no field $name" }
                    lappend needed $name
                }
            }
            if {$mode eq "alone"} { assert_equal {} [missing [dict keys $absent_fields] $needed] "no longer needed" }
        }

        test "beside Redis 8 ($mode): ours has the fields of CLIENT LIST, in the same order" {
            foreach level {ours theirs} { set fields($level) [client_fields [r [at $level] client info]] }
            assert_equal $fields(theirs) [lmap name $fields(ours) { if {$name ni $fields(theirs)} continue; set name }]
            assert_equal capa [missing $fields(ours) $fields(theirs)]
        }

        test "beside Redis 8 ($mode): its configuration, with all directives, starts this server with the same values" {
            set lines {}
            foreach {name value} [r [at theirs] config get *] {
                if {$name in $own_directives} { continue }
                lappend lines [expr {$value ne {} && $name in {save client-output-buffer-limit oom-score-adj-values latency-tracking-info-percentiles}
                                     ? "$name $value" : "$name \"[string map {\\ \\\\ \" \\\"} $value]\""}]
                set expected($name) $value
            }
            assert_morethan [llength $lines] 150
            set path $::work_dir/redis8.$mode.conf
            set f [open $path w]
            puts $f [join $lines \n]
            close $f
            set port [free_port]
            set dir $::work_dir/redis8.$mode
            file mkdir $dir
            with_server_command [list $::options(server) $path --port $port --daemonize no --dir $dir --pidfile "" --logfile "" --bind 127.0.0.1] {
                wait_for_text $log "Ready to accept connections tcp"
                assert_no_match "*does not have yet*" [read_file $log]
                set client [resp::connect 127.0.0.1 $port]
                foreach {name value} [array get expected] {
                    set found [$client config get $name]
                    if {![string is integer -strict [string range $value 0 0]]} { set found [string map {replica slave} $found] }
                    assert_equal [string map {replica slave} $value] [lindex $found 1] $name
                }
                assert_equal OK [$client config rewrite]
                $client close
            }
            array unset expected
        }
    }
}
