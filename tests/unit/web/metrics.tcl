# /metrics: names, values, both formats, and the result of a real parser. /readyz and its reasons.
source [file join [file dirname [info script]] web_util.tcl]

# What Debian's python3-prometheus-client parses from a page; "families FIELDS" by its own count.
proc parsed_by_prometheus {openmetrics text} {
    set python /usr/bin/python3
    if {![file executable $python] || [catch {exec $python -c "import prometheus_client"}]} { skip "no python3-prometheus-client" }
    set module [expr {$openmetrics ? {prometheus_client.openmetrics.parser} : {prometheus_client.parser}}]
    return [exec $python -c "
import sys
from $module import text_string_to_metric_families as parse
families = list(parse(sys.stdin.read()))
print(len(families), sum(len(f.samples) for f in families))" << $text]
}

# Our own check of a page: every family has HELP and TYPE, once; samples are listed under their family, once; labels
# are well formed.
proc check_page {text} {
    set family {}
    foreach line [split [string trimright $text \n] \n] {
        if {[regexp {^# HELP (\w+) \S.*$} $line -> family]} {
            assert {![info exists help($family)]} $line
            set help($family) 1
        } elseif {[regexp {^# TYPE (\w+) (gauge|counter|summary|histogram|unknown)$} $line -> name type]} {
            assert_equal $family $name
        } elseif {$line eq {# EOF}} {
            continue
        } else {
            assert [regexp {^(\w+)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)*\})? (-?[0-9.]+(e[+-]?[0-9]+)?|NaN|[+-]Inf)$} $line -> name labels] $line
            assert_match "$family*" $name
            assert {![info exists sample($name$labels)]} $line
            set sample($name$labels) 1
        }
    }
    assert_morethan [array size sample] 100
}

with_web {latency-monitor-threshold 1 enable-debug-command yes} {
    test {the page is well formed} {
        r set "key" value
        catch {r "no\"such\\command"}
        r debug sleep 0.01
        check_page [web_body /metrics]
        check_page [web_body /metrics -headers {Host localhost Accept application/openmetrics-text}]
    }

    test {a real parser reads Prometheus' format} {
        assert_morethan [lindex [parsed_by_prometheus 0 [web_body /metrics]] 0] 140
    }

    test {a real parser reads OpenMetrics} {
        set headers {Host localhost Accept "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"}
        assert_morethan [lindex [parsed_by_prometheus 1 [web_body /metrics -headers $headers]] 0] 140
    }

    test {the format goes by Accept} {
        foreach {accept type} {
            {} text/plain* */* text/plain* text/html text/plain* text/plain;version=0.0.4 text/plain*
            application/openmetrics-text {application/openmetrics-text; version=1.0.0;*}
            "application/openmetrics-text; version=1.0.0, text/plain;q=0.2" application/openmetrics-text*
            "text/plain, application/openmetrics-text;q=0.1" text/plain*
        } {
            set answer [web /metrics -headers [list Host localhost Accept $accept]]
            assert_match $type [dict get $answer headers content-type] $accept
            assert_equal [string match application/* $type] [string match "*# EOF\n" [dict get $answer body]] $accept
            assert_equal Accept [dict get $answer headers vary]
        }
    }

    test {metrics have the values of INFO} {
        r flushall
        r set a 1
        r set b 2 ex 1000
        r select 3
        r set c 3
        r select 9
        assert_equal 1 [metric redis_up]
        assert_equal 2 [metric {redis_db_keys{db="db0"}}]
        assert_equal 1 [metric {redis_db_keys_expiring{db="db0"}}]
        assert_equal 1 [metric {redis_db_keys{db="db3"}}]
        assert_equal 0 [metric {redis_db_keys{db="db15"}}]
        wait_for_condition 50 100 {[metric {redis_db_avg_ttl_seconds{db="db0"}}] > 900} else { fail "no time to live" }
        assert_equal [s process_id] [metric redis_process_id]
        assert_equal [s maxclients] [metric redis_config_maxclients]
        assert_range [metric redis_start_time_seconds] [expr {[clock seconds] - 100}] [clock seconds]
        assert_equal [s keyspace_hits] [metric redis_keyspace_hits_total]
        assert_equal 1 [metric redis_rdb_last_bgsave_status]
        assert_range [metric redis_memory_used_bytes] 100000 30000000
    }

    test {commands: calls, time, errors} {
        r config resetstat
        for {set i 0} {$i < 10} {incr i} { r get a }
        r lpush list x
        catch {r get list}
        catch {r get}
        assert_equal 11 [metric {redis_commands_total{cmd="get"}}]
        assert_equal 1 [metric {redis_commands_failed_calls_total{cmd="get"}}]
        assert_equal 1 [metric {redis_commands_rejected_calls_total{cmd="get"}}]
        assert_range [metric {redis_commands_duration_seconds_total{cmd="get"}}] 0 0.1
        assert_equal 1 [metric {redis_errors_total{err="WRONGTYPE"}}]
        assert_equal 11 [metric {redis_latency_percentiles_usec_count{cmd="get"}}]
        assert_range [metric {redis_latency_percentiles_usec{cmd="get",quantile="99.9"}}] 0 100000
    }

    test {histograms: buckets grow, and the last has all} {
        set last 0
        set limits {}
        foreach line [split [web_body /metrics] \n] {
            if {![regexp {^redis_commands_latencies_usec_bucket\{cmd="get",le="(.*)"\} (\d+)$} $line -> le count]} continue
            assert_morethan_equal $count $last
            set last $count
            lappend limits $le
        }
        assert_equal 11 $last
        assert_equal 0.256 [lindex $limits 0]
        assert_equal +Inf [lindex $limits end]
        assert_equal 11 [metric {redis_commands_latencies_usec_count{cmd="get"}}]
        config_set latency-tracking no
        assert_no_match *redis_latency_percentiles_usec* [web_body /metrics]
        config_set latency-tracking yes
    }

    test {the slow log and spikes} {
        r slowlog reset
        assert_equal 0 [metric redis_slowlog_length]
        r config set slowlog-log-slower-than 5000
        r debug sleep 0.02
        assert_equal 1 [metric redis_slowlog_length]
        assert_range [metric redis_last_slow_execution_duration_seconds] 0.015 2
        assert_range [metric {redis_latency_spike_duration_seconds{event_name="command"}}] 0.015 2
    }

    test {a scrape counts itself} {
        set before [metric redis_exporter_scrapes_total]
        assert_equal [expr {$before + 1}] [metric redis_exporter_scrapes_total]
    }

    test {directives, under both of their names} {
        r config set slowlog-log-slower-than 4321
        assert_equal 4321 [metric {redis_config_value{key="slowlog-log-slower-than"}}]
        assert_equal 4321 [metric {redis_config_value{key="commandlog-execution-slower-than"}}]
    }

    test {labels are escaped} {
        r function load "#!lua name=lib\nserver.register_function('f', function() return redis.error_reply('A\"B\\\\C text') end)"
        catch {r fcall f 0}
        check_page [web_body /metrics]
        assert_match {*redis_errors_total{err="A\\"B\\\\C"} 1*} [web_body /metrics]
    }

    test {/readyz: ready, and why not} {
        assert_equal 200 [web_status /readyz]
        assert_equal "ready\n" [web_body /readyz]
        r replicaof 127.0.0.1 [free_port]
        set answer [web /readyz]
        assert_equal 503 [dict get $answer status]
        assert_equal "not ready\nreplication: the link to the primary is down\n" [dict get $answer body]
        assert_equal "not ready\n" [web_body /readyz -headers {Host localhost X-Forwarded-For 10.0.0.1}]
        assert_equal 0 [metric "redis_master_link_up{master_host=\"127.0.0.1\",master_port=\"[s master_port]\"}"]
        r replicaof no one
        assert_equal 200 [web_status /readyz]
    }

    test {/readyz: a snapshot that fails} {
        file mkdir [config_get dir]/dump.rdb/x
        catch {r bgsave}
        wait_for_condition 50 100 {[s rdb_last_bgsave_status] eq {err}} else { fail "BGSAVE worked" }
        assert_equal "not ready\nrdb: the last snapshot has failed\n" [web_body /readyz]
        assert_equal 0 [metric redis_rdb_last_bgsave_status]
        file delete -force [config_get dir]/dump.rdb
    }
}

with_web {enable-debug-command yes rdbcompression no loading-process-events-interval-bytes 1024} {
    test {while a dataset is loaded the port answers that it is not ready} {
        r debug populate 2000 key 1100
        r save
        r config set key-load-delay 20000
        set port [config_get metrics-port]
        set c [valkey_deferring_client]
        $c debug reload nosave
        wait_for_condition 500 20 {[s loading] == 1} else { fail "it does not load" }
        assert_equal 200 [web_status /healthz -port $port]
        assert_equal 503 [web_status /readyz -port $port]
        assert_equal "not ready\nloading: the dataset is being read from a file\n" [web_body /readyz -port $port]
        assert_equal 1 [metric redis_loading_dump_file -port $port]
        assert_equal 200 [web_status /api/stats -port $port]
        r config set key-load-delay 0
        assert_equal OK [$c read]
        $c close
        assert_equal "ready\n" [web_body /readyz]
    }

    test {the port answers during a slow script} {
        set port [config_get metrics-port]
        r config set busy-reply-threshold 10
        set c [valkey_deferring_client]
        $c eval {while true do end} 0
        wait_for_condition 50 20 {[catch {r ping} err] && [string match BUSY* $err]} else { fail "no script is busy" }
        foreach path {/healthz /readyz /metrics /api/stats /} { assert_equal 200 [web_status $path -port $port] $path }
        r script kill
        catch {$c read}
        $c close
    }
}

start_servers {primary {kind ours} replica {kind ours}} {
    test {a primary has metrics of its replicas, a replica of its primary} {
        foreach server {primary replica} {
            if {[catch {r [at $server] config set metrics-port [free_port]}]} { skip "built without an HTTP parser" }
        }
        follow replica primary
        r [at primary] set a 1
        wait_for_offset replica primary
        set page [web_body /metrics -port [config_get metrics-port [at primary]]]
        check_page $page
        assert [regexp "redis_connected_slave_offset_bytes\\{slave_ip=\"127.0.0.1\",slave_port=\"[srv [at replica] port]\",slave_state=\"online\"\\} \[0-9]" $page]
        set page [web_body /metrics -port [config_get metrics-port [at replica]]]
        check_page $page
        assert_match "*\nredis_master_link_up{master_host=\"127.0.0.1\",master_port=\"[srv [at primary] port]\"} 1\n*" $page
        assert_match "*redis_slave_info{master_host=\"127.0.0.1\",master_port=\"*\",read_only=\"1\"} 1\n*" $page
    }
}

with_web {cluster-enabled yes} {
    test {a node of a cluster} {
        assert_equal 0 [metric redis_cluster_state]
        assert_match "not ready\ncluster:*" [web_body /readyz]
        r cluster addslotsrange 0 16383
        wait_for_condition 50 100 {[metric redis_cluster_state] == 1} else { fail "the cluster does not serve" }
        assert_equal 16384 [metric redis_cluster_slots_ok]
        assert_equal 200 [web_status /readyz]
        assert_match {*"shards":\[{"slots":\[\[0,16383\]\],*"me":true,"primary":true,"health":"online",*}*} [web_body /api/stats]
        check_page [web_body /metrics]
    }
}
