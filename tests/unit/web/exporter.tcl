# /metrics is compared with Debian's prometheus-redis-exporter on the same server: /metrics has all of its metrics,
# under the same names, with the same labels and types.
source [file join [file dirname [info script]] web_util.tcl]

# Metrics about the exporter itself, about options that are off by default, or about other servers.
set not_ours {go_* process_* promhttp_* redis_exporter_build_info redis_exporter_last_scrape_connect_time_seconds
    redis_exporter_scrape_duration_seconds* redis_target_scrape_request_errors_total redis_last_key_groups_scrape_duration_milliseconds
    redis_db_keys_cached redis_connected_clients_details redis_config_key_value}
# Metrics that change between the two requests, in either order.
set moving {redis_commands_* redis_connected_clients redis_connections_received_total redis_cpu_* redis_exporter_* redis_latency_percentiles_usec*
    redis_mem_* redis_net_* redis_total_reads_processed redis_total_writes_processed redis_allocator_* redis_memory_* redis_uptime_in_seconds redis_start_time_seconds
    redis_client_recent_* redis_*_offset* redis_master_last_io_seconds_ago redis_connected_slave_lag_seconds redis_db_avg_ttl_seconds
    redis_repl_backlog_history_bytes redis_slowlog_* redis_last_slow_*}

proc is_one_of {patterns name} {
    foreach p $patterns { if {[string match $p $name]} { return 1 } }
    return 0
}

# types: name to type; samples: name with sorted labels to value.
proc take_page {text types_name samples_name} {
    upvar 1 $types_name types $samples_name samples
    array unset types
    array unset samples
    foreach line [split $text \n] {
        if {[regexp {^# TYPE (\S+) (\S+)} $line -> name type]} { set types($name) $type }
        if {![regexp {^(\w+)(?:\{(.*)\})? (\S+)$} $line -> name labels value]} continue
        set samples([list $name [lsort [regexp -all -inline {\w+="(?:[^"\\]|\\.)*"} $labels]]]) $value
    }
}

# The exporter's answer about the server at this port. (To HTTP/1.1 it would be chunked.)
proc exported {exporter_port port} {
    set sock [web_send $exporter_port [web_request GET /scrape?target=redis://127.0.0.1:$port {} 1.0]]
    set text [read $sock]
    close $sock
    return $text
}

proc compare_with_exporter {exporter_port port page} {
    take_page $page our_types ours
    take_page [exported $exporter_port $port] their_types theirs
    assert_morethan [array size theirs] 200
    set wrong {}
    foreach key [lsort [array names theirs]] {
        lassign $key name labels
        if {[is_one_of $::not_ours $name]} continue
        # Our redis_instance_info has more labels, and knows the mode.
        if {$name eq {redis_instance_info}} continue
        # The exporter's own connection has run commands since.
        if {[string match {cmd="client|*"} [lindex $labels 0]] || [string match {cmd="config|get"} [lindex $labels 0]]} continue
        if {![info exists ours($key)]} {
            lappend wrong "missing: $name $labels"
        } elseif {![is_one_of $::moving $name] && double($ours($key)) != double($theirs($key))} {
            lappend wrong "$name $labels is $ours($key), not $theirs($key)"
        }
    }
    foreach name [array names their_types] {
        if {[is_one_of $::not_ours $name] || ![info exists our_types($name)]} continue
        if {$our_types($name) ne $their_types($name)} { lappend wrong "$name is a $our_types($name), not a $their_types($name)" }
    }
    assert_equal {} $wrong
}

proc with_exporter {code} {
    upvar 1 exporter_port exporter_port
    set program [auto_execok prometheus-redis-exporter]
    if {$program eq {}} { skip "no prometheus-redis-exporter" }
    set exporter_port [free_port]
    set pid [exec {*}$program -include-config-metrics -include-system-metrics -web.listen-address 127.0.0.1:$exporter_port >/dev/null 2>@1 &]
    try {
        wait_for_condition 100 50 {[listens 127.0.0.1 $exporter_port]} else { fail "the exporter does not listen" }
        uplevel 1 $code
    } finally {
        exec kill $pid
    }
}

with_web {latency-monitor-threshold 5 enable-debug-command yes appendonly yes} {
    test {the exporter's metrics of a single server} {
        with_exporter {
            r mset a 1 b 2
            r setex c 100 2
            r hset h f v
            catch {r foo}
            catch {r get h}
            r debug sleep 0.02
            r select 5
            r set x y
            compare_with_exporter $exporter_port [srv port] [web_body /metrics]
        }
    }
}

start_servers {primary {kind ours} replica {kind ours}} {
    test {the exporter's metrics of a primary and its replica} {
        foreach server {primary replica} {
            if {[catch {r [at $server] config set metrics-port [free_port]}]} { skip "built without an HTTP parser" }
        }
        follow replica primary
        wait_for_offset replica primary
        with_exporter {
            foreach server {primary replica} {
                compare_with_exporter $exporter_port [srv [at $server] port] [web_body /metrics -port [config_get metrics-port [at $server]]]
            }
        }
    }
}

with_web {cluster-enabled yes} {
    test {a node of a cluster} {
        with_exporter {
            r cluster addslotsrange 0 16383
            wait_for_condition 50 100 {[metric redis_cluster_state] == 1} else { fail "the cluster does not serve" }
            compare_with_exporter $exporter_port [srv port] [web_body /metrics]
        }
    }
}
