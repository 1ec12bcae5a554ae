# INFO: which sections are shown, their order, and the three that count commands, errors and keys.

proc info_titles {args} { return [regexp -all -inline -line {^# [\w ]+} [r info {*}$args]] }

start_server {tags {introspection}} {
    test {INFO shows sections in their order, one blank line between} {
        set titles {{# Server} {# Clients} {# Memory} {# Persistence} {# Stats} {# Replication} {# CPU} {# Modules}
            {# Errorstats} {# Cluster} {# Keyspace}}
        assert_equal [lmap t $titles { set t }] [info_titles]
        assert_equal [info_titles] [info_titles default]
        set text [r info]
        assert_equal [expr {[llength $titles] - 1}] [regexp -all "\r\n\r\n" $text]
        assert_equal [expr {[llength $titles] - 1}] [regexp -all "\r\n\r\n# " $text]
    }

    test {INFO all and everything add the sections about commands} {
        foreach group {all everything} {
            set titles [info_titles $group]
            assert_equal 20 [llength $titles]
            assert_equal {{# Server} {# TLS} {# Clients}} [lrange $titles 0 2]
            assert_equal {{# Commandstats} {# Errorstats} {# Latencystats} {# Cluster} {# Cluster Info} {# Scripting Engines} {# Keyspace} {# Keysizes} {# Hotkeys} {# Throttling}} \
                [lrange $titles 10 end]
            assert_equal {{# Persistence} {# Threads} {# Stats}} [lrange $titles 4 6]
        }
    }

    test {INFO shows some sections only when they are named} {
        foreach {name title} {tls TLS threads Threads keysizes Keysizes debug Debug cluster_info {Cluster Info} scriptingengines {Scripting Engines}} {
            assert_equal [list "# $title"] [info_titles $name]
        }
        assert_no_match "*# Debug*" [r info everything]
        assert_equal {} [info_titles "Scripting Engines"]
    }

    # Names are an interface, and so is their order: programs that read the first lines of a section must continue to
    # work.
    test {the fields of a section are in one order, whichever module they come from} {
        proc fields {section} { return [regexp -all -inline -line {^[a-z_0-9]+(?=:)} [r info $section]] }
        proc in_order {section wanted} {
            set found [lmap f [fields $section] { if {$f ni $wanted} continue; set f }]
            assert_equal [list {*}$wanted] $found
        }
        in_order server {redis_version server_name process_id process_supervised run_id tcp_port hz executable config_file io_threads_active availability_zone listener0}
        in_order clients {connected_clients cluster_connections maxclients blocked_clients tracking_clients pubsub_clients paused_timeout_milliseconds}
        in_order memory {used_memory used_memory_peak_human used_memory_peak_time used_memory_peak_perc used_memory_lua used_memory_scripts_human maxmemory mem_replicas_repl_buffer mem_clients_slaves mem_cluster_slot_import
            mem_cluster_slot_export mem_aof_buffer mem_snapshot_buffer mem_allocator mem_overhead_db_hashtable_rehashing active_defrag_running lazyfreed_objects}
        in_order persistence {loading rdb_changes_since_last_save rdb_last_cow_size aof_enabled aof_last_cow_size module_fork_in_progress slot_migration_fork_in_progress
            forkless_estimated_seconds_remaining}
        in_order stats {total_connections_received total_net_repl_input_bytes instantaneous_input_kbps instantaneous_input_repl_kbps sync_full expired_keys
            expired_keys_active expired_fields expired_subkeys expired_subkeys_active expired_stale_perc
            evicted_keys keyspace_hits migrate_cached_sockets slave_expires_tracked_keys dump_payload_sanitizations io_threaded_reads_processed
            reply_buffer_shrinks eventloop_cycles acl_access_denied_db}
        in_order cpu {used_cpu_sys used_cpu_user_main_thread used_active_time_main_thread}
        in_order debug {eventloop_duration_aof_sum eventloop_duration_cron_sum eventloop_duration_max eventloop_cmd_per_cycle_max
            io_threaded_reads_pending io_threaded_writes_pending forkless_current_item_ms forkless_dbentries_processed}
        # 9.2 §7
        in_order persistence {rdb_bgsave_in_progress rdb_current_bgsave_type rdb_last_bgsave_type rdb_last_save_time}
        assert_equal forkless_estimated_seconds_remaining [lindex [fields persistence] end]
    }

    test {INFO shows features that do not exist as idle} {
        assert_match "*\nmodule:name=lua,ver=1,api=1,*" [string map {\r {}} [r info modules]]
        assert_match "# Scripting Engines*engines_count:1\r\nengines_total_used_memory:*engine_0:name=LUA,module=lua,*" [r info scriptingengines]
        assert_equal "# Cluster Info\r\n" [r info cluster_info]
        foreach field {eventloop_duration_aof_sum eventloop_duration_cron_sum eventloop_duration_max eventloop_cmd_per_cycle_max
            io_threaded_reads_pending io_threaded_writes_pending} {
            assert_match "*\n$field:*" [r info debug]
        }
        foreach field {current_queue_length queue_length_target dbentries_queued dbentries_processed} {
            assert_match "*\nforkless_$field:0\r*" [r info debug]
        }
        assert_match "*\nforkless_current_item_ms:-1\r*" [r info debug]
        assert_equal -1 [s forkless_estimated_seconds_remaining]
        foreach who {server client ca} {
            assert_match "*\ntls_${who}_cert_serial:none\r\ntls_${who}_cert_expires_in_seconds:0\r\n*" [r info tls]
        }
        assert_morethan [s used_active_time_main_thread] 0
    }

    test {INFO accepts several sections in any case and order, and ignores unknown ones} {
        assert_equal {{# Server} {# Keyspace}} [info_titles KEYSPACE nosuch server SERVER]
        assert_equal {} [r info nosuch]
        assert_equal 12 [llength [info_titles default commandstats]]
    }

    test {every line of INFO is a title, a field or blank} {
        foreach line [split [string map {\r {}} [r info everything]] \n] {
            assert {[regexp {^$|^# [\w ]+$|^[\w|.-]+:} $line]} $line
        }
    }

    test {no field is shown twice} {
        set fields [regexp -all -inline -line {^[\w|.-]+:} [r info everything]]
        set sorted [lsort $fields]
        for {set i 1} {$i < [llength $sorted]} {incr i} {
            assert_not_equal [lindex $sorted $i-1] [lindex $sorted $i]
        }
    }

    test {INFO is a verbatim string in RESP3} {
        r hello 3
        r deferred 1
        r info nosuch
        assert_equal =4 [r rawread]
        assert_equal txt: [r rawread]
        r deferred 0
        r hello 2
    }

    test {commandstats count calls, failures and refusals, subcommands by their own name} {
        r config resetstat
        r set k v
        r get k
        r get k
        catch {r incr k}
        catch {r get}
        r config get port
        set text [r info commandstats]
        assert_match "*cmdstat_get:calls=2,usec=*,usec_per_call=*,rejected_calls=1,failed_calls=0\r\n*" $text
        assert_match "*cmdstat_incr:calls=1,usec=*,usec_per_call=*,rejected_calls=0,failed_calls=1\r\n*" $text
        assert_match "*cmdstat_config|get:calls=1,*" $text
        assert_no_match "*cmdstat_config:*" $text
        assert_no_match "*cmdstat_del:*" $text
        assert {[regexp {cmdstat_get:calls=2,usec=\d+,usec_per_call=\d+\.\d\d,} $text]}
    }

    test {errorstats count errors by their code} {
        r config resetstat
        assert_equal "# Errorstats\r\n" [r info errorstats]
        r del k
        r zadd k 1 a
        catch {r get k}
        catch {r get k}
        catch {r nosuchcommand}
        assert_match "*errorstat_WRONGTYPE:count=2\r\n*" [r info errorstats]
        assert_match "*errorstat_ERR:count=1\r\n*" [r info errorstats]
        r config resetstat
        assert_equal "# Errorstats\r\n" [r info errorstats]
    }

    test {keyspace shows the databases that have keys} {
        r flushall
        assert_equal "# Keyspace\r\n" [r info keyspace]
        r set a 1
        r set b 1 ex 100
        assert_match "# Keyspace\r\ndb*:keys=2,expires=1,avg_ttl=*\r\n" [r info keyspace]
        r flushall
    }
}
