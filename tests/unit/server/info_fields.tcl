# The fields of INFO by name and kind of value, and that the figures in them move with what happens.
source [file join [file dirname [info script]] server_util.tcl]

# Section, then the fields that must be there, each with the pattern of its value.
set expected {
    server {
        redis_version {^\d+\.\d+\.\d+$} server_name ^valkey$ valkey_version {^\d+\.\d+\.\d+$}
        valkey_release_stage ^\\w+$ skipstone_version {^\d+\.\d+\.\d+$} redis_git_sha1 {^[0-9a-f]+$} redis_git_dirty ^\\d$ redis_build_id {^[0-9a-f]+$}
        server_mode ^standalone$ os ^Linux arch_bits ^64$ monotonic_clock . multiplexing_api ^(epoll|io_uring)$
        gcc_version {^\d+\.\d+\.\d+$} process_id ^\\d+$ process_supervised ^no$ run_id {^[0-9a-f]{40}$} tcp_port ^\\d+$
        server_time_usec {^\d{16}$} uptime_in_seconds ^\\d+$ uptime_in_days ^0$ hz ^10$ configured_hz ^10$ clients_hz ^10$
        lru_clock ^\\d+$ executable ^/ config_file /server.conf$ listener0 ^name=tcp,bind=127.0.0.1,port=\\d+$
    }
    clients {
        connected_clients ^\\d+$ maxclients ^10000$ client_recent_max_input_buffer ^\\d+$
        client_recent_max_output_buffer ^\\d+$ blocked_clients ^0$ tracking_clients ^0$ clients_in_timeout_table ^0$
        total_blocking_keys ^0$ total_blocking_keys_on_nokey ^0$ paused_reason ^none$ paused_actions ^none$
        paused_timeout_milliseconds ^0$ pubsub_clients ^0$
    }
    memory {
        used_memory ^\\d+$ used_memory_human {^[\d.]+[BKMG]$} used_memory_rss ^\\d+$ used_memory_rss_human {^[\d.]+[KMG]$}
        used_memory_peak ^\\d+$ used_memory_peak_human {^[\d.]+[BKMG]$} used_memory_peak_perc {^[\d.]+%$} used_memory_peak_time {^\d{10}$}
        used_memory_overhead ^\\d+$ used_memory_startup ^\\d+$ used_memory_dataset ^\\d+$
        used_memory_dataset_perc {^[\d.]+%$} allocator_allocated ^\\d+$ allocator_active ^\\d+$
        allocator_resident ^\\d+$ allocator_muzzy ^\\d+$ total_system_memory ^\\d+$
        total_system_memory_human {^[\d.]+[MGT]$} allocator_frag_ratio {^[\d.]+$} allocator_frag_bytes {^-?\d+$}
        allocator_rss_ratio {^[\d.]+$} allocator_rss_bytes {^-?\d+$} rss_overhead_ratio {^[\d.]+$}
        rss_overhead_bytes {^-?\d+$} mem_fragmentation_ratio {^[\d.]+$} mem_fragmentation_bytes {^-?\d+$}
        maxmemory ^0$ maxmemory_human ^0B$ maxmemory_policy ^noeviction$ mem_not_counted_for_evict ^\\d+$
        mem_replication_backlog ^\\d+$ mem_total_replication_buffers ^\\d+$ mem_clients_slaves ^\\d+$
        mem_cluster_links ^\\d+$ mem_aof_buffer ^\\d+$ mem_overhead_db_hashtable_rehashing ^\\d+$
        mem_clients_normal ^\\d+$ mem_allocator ^(jemalloc|libc) active_defrag_running ^0$
        lazyfree_pending_objects ^\\d+$ lazyfreed_objects ^\\d+$ hash_shapes ^\\d+$
        hash_shapes_bytes ^\\d+$ hash_shapes_hashes ^\\d+$
    }
    stats {
        total_connections_received ^\\d+$ total_commands_processed ^\\d+$ instantaneous_ops_per_sec ^\\d+$
        total_net_input_bytes ^\\d+$ total_net_output_bytes ^\\d+$ instantaneous_input_kbps {^[\d.]+$}
        instantaneous_output_kbps {^[\d.]+$} rejected_connections ^0$ expired_keys ^0$
        expired_stale_perc {^[\d.]+$} expired_time_cap_reached_count ^\\d+$ expire_cycle_cpu_milliseconds ^\\d+$
        evicted_keys ^0$ evicted_clients ^0$ active_defrag_hits ^0$ active_defrag_misses ^0$ active_defrag_key_hits ^0$
        active_defrag_key_misses ^0$ total_active_defrag_time ^0$ current_active_defrag_time ^0$
        tracking_total_keys ^0$ tracking_total_items ^0$
        tracking_total_prefixes ^0$ total_eviction_exceeded_time ^0$ current_eviction_exceeded_time ^0$
        keyspace_hits ^\\d+$ keyspace_misses ^\\d+$ unexpected_error_replies ^0$ total_error_replies ^\\d+$
        total_reads_processed ^\\d+$ total_writes_processed ^\\d+$ client_query_buffer_limit_disconnections ^0$
        client_output_buffer_limit_disconnections ^0$ pubsub_channels ^0$ pubsub_patterns ^0$ pubsubshard_channels ^0$
        acl_access_denied_auth ^0$ acl_access_denied_cmd ^0$ acl_access_denied_key ^0$
        acl_access_denied_channel ^0$ acl_access_denied_db ^0$
        eventloop_cycles ^\\d+$ eventloop_duration_sum ^\\d+$ eventloop_duration_cmd_sum ^\\d+$
        instantaneous_eventloop_cycles_per_sec ^\\d+$ instantaneous_eventloop_duration_usec ^\\d+$
    }
    cluster { cluster_enabled ^0$ }
    replication {
        role ^master$ connected_slaves ^0$ replicas_waiting_psync ^0$ master_failover_state ^no-failover$
        master_replid {^[0-9a-f]{40}$} master_replid2 {^0{40}$} master_repl_offset ^0$ second_repl_offset ^-1$
        repl_backlog_active ^0$ repl_backlog_size ^10485760$ repl_backlog_first_byte_offset ^0$ repl_backlog_histlen ^0$
    }
    cpu {
        used_cpu_sys {^\d+\.\d{6}$} used_cpu_user {^\d+\.\d{6}$} used_cpu_sys_children {^\d+\.\d{6}$}
        used_cpu_user_children {^\d+\.\d{6}$} used_cpu_sys_main_thread {^\d+\.\d{6}$}
        used_cpu_user_main_thread {^\d+\.\d{6}$}
    }
}

proc info_field {section field} {
    if {[regexp -line "^$field:(.*?)\r?$" [r info $section] -> value]} { return $value }
    return "(no field $field in $section)"
}

start_server {tags {external:skip}} {
    test {ROLE of a server without replicas} {
        assert_equal {master 0 {}} [r role]
        assert_error "ERR wrong number of arguments for 'role' command" { r role x }
    }

    foreach {section fields} $expected {
        test "INFO $section has its fields" {
            set text [r info $section]
            foreach {field pattern} $fields {
                if {![regexp -line "^$field:(.*?)\r?$" $text -> value]} { fail "no field $field" }
                assert {[regexp $pattern $value]} "$field:$value"
            }
        }
    }

    test {server: process, port, executable and time} {
        assert_equal [srv pid] [s process_id]
        assert_equal [srv port] [s tcp_port]
        assert_equal [file normalize $::options(server)] [s executable]
        assert_range [s server_time_usec] [expr {[clock microseconds] - 5000000}] [expr {[clock microseconds] + 5000000}]
        assert_range [s uptime_in_seconds] 0 60
    }

    test {clients: counts and largest buffers} {
        set c [valkey_deferring_client]
        wait_for_clients 2
        $c bzpopmin a b a 0
        wait_for_blocked 1
        assert_equal 2 [s total_blocking_keys]
        $c close
        wait_for_clients 1
        assert_equal 0 [s blocked_clients]
        assert_equal 0 [s total_blocking_keys]
        r config resetstat
        r set k [string repeat x 500000]
        r get k
        assert_morethan [s client_recent_max_input_buffer] 499999
        assert_morethan [s client_recent_max_output_buffer] 499999
        r del k
    }

    test {memory: used_memory goes up and down, the peak stays} {
        set before [s used_memory]
        r set k [string repeat x 4000000]
        set with [s used_memory]
        assert_morethan $with [expr {$before + 3900000}]
        assert_morethan [s used_memory_dataset] 3900000
        r del k
        assert_lessthan [s used_memory] [expr {$before + 1000000}]
        assert_morethan_equal [s used_memory_peak] $with
        r config resetstat
        assert_lessthan [s used_memory_peak] $with
        assert_morethan [s used_memory_rss] 1000000
        assert_morethan [s used_memory] [s used_memory_startup]
    }

    test {stats: commands, bytes, hits, misses} {
        r set k v
        r config resetstat
        r get k
        r get none
        r get none
        r exists k
        catch { r incr k }
        assert_equal 1 [expr {[info_field stats keyspace_hits] - 1}] ;# GET and EXISTS
        assert_equal 2 [info_field stats keyspace_misses]
        assert_equal 1 [info_field stats total_error_replies]
        # The INFO commands above count as well; each shows those before it.
        assert_range [info_field stats total_commands_processed] 8 10
        assert_range [info_field stats total_net_input_bytes] 200 1000
        assert_morethan [info_field stats total_net_output_bytes] 3000
        assert_range [info_field stats total_reads_processed] 9 20
        assert_range [info_field stats total_writes_processed] 9 20
        assert_equal 0 [info_field stats total_connections_received]
        r del k
    }

    test {stats: rates cover the last seconds} {
        for {set i 0} {$i < 3000} {incr i} { r ping }
        wait_for_condition 500 20 {[s instantaneous_ops_per_sec] > 50} else { fail "the rate stays 0" }
        assert_morethan [s instantaneous_input_kbps] 0
        assert_morethan [s instantaneous_output_kbps] 0
        wait_for_condition 200 50 {[s instantaneous_ops_per_sec] < 50} else { fail "the rate does not fall" }
    }

    test {stats: cycles of the event loop, and the time spent in them and in commands} {
        r config resetstat
        for {set i 0} {$i < 50} {incr i} { r ping }
        set commands [s eventloop_duration_cmd_sum]
        r debug sleep 0.1
        assert_morethan_equal [s eventloop_cycles] 50
        assert_morethan_equal [s eventloop_duration_cmd_sum] [expr {$commands + 100000}]
        # Both of one moment: INFO is a command, too.
        lassign [regexp -all -inline {eventloop_duration_(?:cmd_)?sum:\d+} [r info stats]] cycles commands
        assert_morethan_equal [lindex [split $cycles :] 1] [lindex [split $commands :] 1]
        wait_for_condition 200 50 {[s instantaneous_eventloop_cycles_per_sec] > 0 && [s instantaneous_eventloop_duration_usec] > 0} else {
            fail "the rates stay 0"
        }
        # Commands within a transaction or a script are not counted twice.
        r config resetstat
        r multi
        r debug sleep 0.1
        r exec
        assert_range [s eventloop_duration_cmd_sum] 100000 [expr {[s eventloop_duration_sum] + 1000000}]
        assert_morethan [s eventloop_duration_sum] 100000
    }

    test {errorstats: sorted kinds, and one for those beyond 128} {
        r config resetstat
        for {set i 0} {$i < 140} {incr i} { catch { r eval {return redis.error_reply(ARGV[1])} 0 [format "KIND%03d x" $i] } }
        catch { r eval {return redis.error_reply('KIND:x y')} 0 }
        set text [r info errorstats]
        set names [lmap line [lrange [split [string trim $text] \n] 1 end] { lindex [split $line :] 0 }]
        assert_equal 129 [llength $names]
        assert_equal [lsort [lrange $names 0 127]] [lrange $names 0 127]
        assert_match "*errorstat_KIND127:count=1*errorstat_ERRORSTATS_OVERFLOW:count=13*" $text
        assert_equal 141 [s total_error_replies]
        r config resetstat
        catch { r eval {return redis.error_reply('KIND:x y')} 0 }
        assert_match "*errorstat_KIND_x:count=1*" [r info errorstats]
    }

    test {INFO: several sections, groups, and unknown ones} {
        foreach {words sections} {
            {} {Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace}
            default {Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace}
            {cpu server} {Server CPU} {CPU cpu nosuch} CPU nosuch {} {commandstats keyspace} {Commandstats Keyspace}
            all {Server TLS Clients Memory Persistence Threads Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster {Cluster Info} {Scripting Engines} Keyspace Keysizes Hotkeys Throttling}
            everything {Server TLS Clients Memory Persistence Threads Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster {Cluster Info} {Scripting Engines} Keyspace Keysizes Hotkeys Throttling}
            {default commandstats} {Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats Cluster Keyspace}
        } {
            assert_equal $sections [lmap title [regexp -all -inline -line {^# [\w ]+} [r info {*}$words]] { string range $title 2 end }] $words
        }
    }

    test {keyspace: keys, expires and avg_ttl of each database} {
        r flushall
        r set a 1
        r set b 1 px 100000
        r select 3
        r set c 1
        set text [r info keyspace]
        r select 0
        assert_match "*\ndb0:keys=2,expires=1,avg_ttl=*\n*" $text
        assert_match "*\ndb3:keys=1,expires=0,avg_ttl=0*" $text
        assert_no_match "*db1:*" $text
        wait_for_condition 200 50 {[regexp {db0:keys=2,expires=1,avg_ttl=(\d+)} [r info keyspace] -> ttl] && $ttl > 90000} else {
            fail "avg_ttl is not known: [r info keyspace]"
        }
        assert_lessthan_equal $ttl 100000
        r flushall
    }

    test {cpu: the times grow} {
        set before [s used_cpu_user]
        r debug populate 300000
        assert_morethan [s used_cpu_user] $before
        assert_morethan [s used_cpu_user_main_thread] $before
        r flushall
    }
}
