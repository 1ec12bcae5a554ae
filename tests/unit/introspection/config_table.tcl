# Every directive, one by one. The table says how each may be set: a directive that is not in it fails the test, and so
# does a line whose directive no longer exists. A type gives the values that are accepted and refused:
#
#     bool            yes, no
#     int LO HI       a whole number; memory LO: with a unit; LO may be -1; percent LO: or a percentage
#     enum NAME ...   one of the words
#     text GOOD ...   any string, e.g. these
#     own GOOD BAD    values of a kind of its own: {value shown} pairs, and values that are refused
#     immutable       by CONFIG SET; its value is of the file only
#
# Some names have an older one behind a bar: both work, and are one.

set int_max 2147483647
set long_max 9223372036854775807
set table [subst {
    acl-pubsub-default {enum allchannels resetchannels}
    aclfile immutable
    acllog-max-len {int 0 $long_max}
    active-defrag-cycle-max {int 1 99}
    active-defrag-cycle-min {int 1 99}
    active-defrag-cycle-us {int 0 100000}
    active-defrag-ignore-bytes {memory 1}
    active-defrag-max-scan-fields {int 1 $long_max}
    active-defrag-threshold-lower {int 0 1000}
    active-defrag-threshold-upper {int 0 1000}
    active-expire-effort {int 1 10}
    activerehashing bool
    always-show-logo immutable
    aof-load-corrupt-tail-max-size {int 0 $long_max}
    aof-load-truncated bool
    aof-rewrite-cpulist|aof_rewrite_cpulist immutable
    aof-rewrite-incremental-fsync bool
    aof-timestamp-enabled bool
    aof-use-rdb-preamble bool
    appenddirname immutable
    appendfilename immutable
    appendfsync {enum everysec always no}
    appendonly bool
    auto-aof-rewrite-min-size {memory 0}
    auto-aof-rewrite-percentage {int 0 $int_max}
    availability-zone {text eu-1a {a b}}
    bgsave-cpulist|bgsave_cpulist immutable
    bio-cpulist|bio_cpulist immutable
    busy-reply-threshold|lua-time-limit {int 0 $long_max}
    client-output-buffer-limit {own {{normal 1kb 2 3} {normal 1024 2 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60}
        {slave 0 0 0 pubsub 1mb 2mb 3} {normal 1024 2 3 slave 0 0 0 pubsub 1048576 2097152 3}}
        {{normal 1 2} {nosuch 1 2 3} {normal 1 2 x} {normal x 2 3} {normal 1 2 -3} {master 1 2 3}}}
    client-query-buffer-limit {memory 1048576}
    commandlog-execution-slower-than|slowlog-log-slower-than {int -1 $long_max}
    commandlog-large-reply-max-len {int 0 $long_max}
    commandlog-large-request-max-len {int 0 $long_max}
    commandlog-reply-larger-than {memory -1}
    commandlog-request-larger-than {memory -1}
    commandlog-slow-execution-max-len|slowlog-max-len {int 0 $long_max}
    crash-log-enabled bool
    crash-memcheck-enabled bool
    daemonize immutable
    databases immutable
    disable-thp immutable
    enable-debug-command immutable
    enable-protected-configs immutable
    event-backend immutable
    hash-max-listpack-entries|hash-max-ziplist-entries {int 0 $long_max}
    hash-max-listpack-value|hash-max-ziplist-value {memory 0}
    hash-shapes bool
    hide-user-data-from-log bool
    hll-sparse-max-bytes {memory 0}
    hotkeys-sampling-percentage {int 1 100}
    hotkeys-top-k {int 0 1000}
    hotkeys-window-seconds {int 1 300}
    hz {own {1 1 20 20 500 500 0 1 501 500 2147483647 500} {x 1kb {} -1 2147483648}}
    import-mode bool
    key-memory-histograms bool
    latency-monitor-threshold {int 0 $long_max}
    latency-tracking bool
    latency-tracking-info-percentiles {own {{50 99.5} {50 99.5} {} {} {0 100} {0 100}} {101 x -1 {50 x} 0x10}}
    lazyfree-lazy-eviction bool
    jemalloc-bg-thread bool
    lazyfree-lazy-expire bool
    lazyfree-lazy-server-del bool
    lazyfree-lazy-user-del bool
    lazyfree-lazy-user-flush bool
    lfu-decay-time {int 0 $int_max}
    lfu-log-factor {int 0 $int_max}
    list-compress-depth {int 0 $int_max}
    list-max-listpack-size|list-max-ziplist-size {int -2147483648 $int_max}
    locale-collate {own {C C} {nosuch_LOCALE}}
    log-format {enum legacy logfmt json}
    log-timestamp-format {enum legacy iso8601 milliseconds}
    logfile immutable
    loglevel {enum debug verbose notice warning nothing}
    max-new-connections-per-cycle {int 1 1000}
    max-new-tls-connections-per-cycle {int 1 1000}
    maxclients {own {1000 1000 50 50} {0 -1 x 1kb}}
    maxclients-reserved {int 0 4294967295}
    maxmemory {own {0 0 3mb 3145728 2Gb 2147483648 9223372036854775807 9223372036854775807
        9223372036854775808 9223372036854775807 18446744073709551615 9223372036854775807} {x -1 -5% 101% % 5%% 1.5% 18446744073709551616}}
    maxmemory-scripts {own {1gb 1073741824 7% 7% 100% 100%} {101% -1 x 1kbx %}}
    maxmemory-clients {own {1gb 1073741824 7% 7% 100% 100%} {101% -1 x 1kbx %}}
    maxmemory-eviction-tenacity {int 0 100}
    maxmemory-policy {enum volatile-lru volatile-lfu volatile-random volatile-ttl volatile-lrm volatile-lhd allkeys-lru allkeys-lfu allkeys-random allkeys-lrm allkeys-lhd noeviction}
    maxmemory-samples {int 1 64}
    metrics-node-url {own {http://{host}:9121/ http://{host}:9121/ https://m/{host}/{port} https://m/{host}/{port} {} {}} {javascript:{host} http://m/ {host}}}
    metrics-token {text abc {a b}}
    metrics-user {text abc {a b}}
    no-appendfsync-on-rewrite bool
    notify-keyspace-events {own {KEASTIV AKESTIV KEA AKE Kg$ g\$K {} {} nEx xnE} {q Kq}}
    oom-score-adj {own {no no yes yes relative yes absolute absolute} {x 1 {}}}
    oom-score-adj-values {own {{0 100 300} {0 100 300}} {{1 2} {1 2 x} {0 0 2001}}}
    pidfile immutable
    prefetch-batch-max-size {int 0 128}
    priority-preemptive-poll-interval-us {int 0 $int_max}
    priority-subnets {own {10.0.0.0/8 10.0.0.0/8 {1.2.3.4,  ::1/128 fd00::/8} {1.2.3.4,  ::1/128 fd00::/8} {} {}} {1.2.3 host 1.2.3.4/33 ::1/129 1.2.3.4/}}
    proc-title-template {own {{{title} x} {{title} x}} {{{nosuch}} {} {{title}}}}
    protected-mode bool
    proto-max-bulk-len {memory 1048576}
    rdb-compatible-version {enum 0 10 11 12 13 80 81}
    rdb-del-sync-files bool
    rdb-save-incremental-fsync bool
    rdb-skip-unknown-types bool
    rdb-version-check {enum strict relaxed}
    rdbchecksum immutable
    rdbcompression {enum no yes lzf lz4 zstd}
    requirepass {text secret {two words}}
    save {own {{900 1} {900 1} {900 1 300 10} {900 1 300 10} {} {}} {900 {900 x} {900 1 2} {0 1} {-1 1}}}
    server-cpulist|server_cpulist immutable
    set-max-intset-entries {int 0 $long_max}
    set-max-listpack-entries {int 0 $long_max}
    set-max-listpack-value {int 0 $long_max}
    set-proc-title immutable
    shutdown-on-sigint {own {default default save save {nosave force} {nosave force} {safe failover} {safe failover}} {x {save x}}}
    shutdown-on-sigterm {own {default default save save {nosave now} {nosave now}} {x {save x}}}
    stop-writes-on-bgsave-error bool
    stream-idmp-duration {int 1 86400}
    stream-idmp-maxsize {int 1 10000}
    stream-node-max-bytes {memory 0}
    stream-node-max-entries {int 0 $long_max}
    supervised immutable
    syslog-enabled immutable
    syslog-facility immutable
    syslog-ident immutable
    tcp-backlog immutable
    tcp-keepalive {int 0 $int_max}
    timeout {int 0 $int_max}
    tracking-table-max-keys {int 0 $long_max}
    unixsocket immutable
    unixsocketgroup immutable
    unixsocketperm immutable
    zset-exact-integers bool
    zset-index {enum skiplist btree}
    zset-index-convert-percent {int 0 50}
    zset-max-listpack-entries|zset-max-ziplist-entries {int 0 $long_max}
    zset-max-listpack-value|zset-max-ziplist-value {memory 0}
}]

# Directives that are known, although nothing reads them yet.
append table [subst {
    bind-source-addr {text abc {a b}}
    cluster-allow-pubsubshard-when-down bool
    cluster-allow-reads-when-down bool
    cluster-allow-replica-migration bool
    cluster-announce-bus-port {int 0 65535}
    cluster-announce-client-ipv4 {own {192.0.2.1 192.0.2.1 {} {}} {x 1.2.3 ::1}}
    cluster-announce-client-ipv6 {own {2001:db8::1 2001:db8::1 {} {}} {x 1.2.3.4}}
    cluster-announce-client-port {int 0 65535}
    cluster-announce-client-tls-port {int 0 65535}
    cluster-announce-hostname {own {a.b-c a.b-c {} {}} {{a b} a_b 50%}}
    cluster-announce-human-nodename {own {a_b a_b {} {}} {{a b} 50%}}
    cluster-announce-ip {own {192.0.2.1 192.0.2.1 {} {}} {{a b} 50%}}
    cluster-announce-port {int 0 65535}
    cluster-announce-tls-port {int 0 65535}
    cluster-compatibility-sample-ratio {int 0 100}
    cluster-blacklist-ttl {own {-1 -1 7 7} {x 1kb}}
    cluster-config-file immutable
    cluster-config-save-behavior {enum sync best-effort}
    cluster-databases immutable
    cluster-enabled immutable
    cluster-link-sendbuf-limit {memory 0}
    cluster-manual-failover-timeout {int 1 $int_max}
    cluster-migration-barrier {int 0 $int_max}
    cluster-node-timeout {int 0 $long_max}
    cluster-port immutable
    cluster-preferred-endpoint-type {enum ip hostname unknown-endpoint}
    cluster-replica-no-failover|cluster-slave-no-failover {enum no yes if-empty}
    cluster-replica-priority {int 0 2147483647}
    cluster-replica-validity-factor|cluster-slave-validity-factor {int 0 $int_max}
    cluster-require-full-coverage bool
    cluster-slot-migration-handoff-max-lag-bytes {memory 0}
    cluster-slot-migration-write-pause-timeout {int 0 $long_max}
    cluster-slot-migration-log-max-len {int 0 $long_max}
    cluster-slot-stats-enabled bool
    cluster-unclean-failover bool
    dual-channel-replication-enabled bool
    enable-module-command immutable
    extended-redis-compatibility bool
    reported-redis-version {own {7.4.0 7.4.0 255.0.999 255.0.999} {{} x 7 7.4 7.4.x 07.4.0 7.4.0.1 1000.0.0 {7.4.0 } -1.2.3}}
    hash-seed immutable
    bgsave-default-method {enum fork forkless}
    forkless-buffer-limit {memory 0}
    forkless-infrastructure-enabled immutable
    ignore-warnings {text abc {a b}}
    io-threads {int 1 256}
    lookahead {int 1 $int_max}
    parallel-reads {enum no yes auto}
    min-replicas-max-lag|min-slaves-max-lag {int 0 $int_max}
    min-replicas-sync {int 0 $int_max}
    min-replicas-sync-mode {enum memory disk}
    min-replicas-sync-timeout {int 1 $int_max}
    min-replicas-to-write|min-slaves-to-write {int 0 $int_max}
    mptcp immutable
    primaryauth|masterauth {text abc {a b}}
    primaryuser|masteruser {text abc {a b}}
    propagation-error-behavior {enum ignore panic panic-on-replicas}
    rdma-bind {own {{} {}} {127.0.0.1}}
    rdma-completion-vector immutable
    rdma-port {own {0 0} {7 x}}
    rdma-rx-size immutable
    repl-backlog-size {own {1mb 1048576 1 16384 16384 16384} {0 x}}
    repl-backlog-ttl {int 0 $long_max}
    repl-compression {enum no yes lz4 zstd}
    repl-disable-tcp-nodelay bool
    repl-diskless-load {enum disabled on-empty-db swapdb flush-before-load}
    repl-diskless-sync bool
    repl-diskless-sync-delay {int 0 $int_max}
    repl-diskless-sync-max-replicas {int 0 $int_max}
    repl-mptcp immutable
    repl-ping-replica-period|repl-ping-slave-period {int 1 $int_max}
    repl-throttling-enabled bool
    repl-timeout {int 1 $int_max}
    replica-announce-ip|slave-announce-ip {text abc {a b}}
    replica-announce-port|slave-announce-port {int 0 65535}
    replica-announced bool
    replica-full-sync-buffer-limit {memory 0}
    replica-ignore-disk-write-errors bool
    replica-ignore-maxmemory|slave-ignore-maxmemory bool
    replica-lazy-flush|slave-lazy-flush bool
    replica-priority|slave-priority {int 0 $int_max}
    replica-read-only|slave-read-only bool
    replica-serve-stale-data|slave-serve-stale-data bool
    replicaof|slaveof immutable
    shutdown-timeout {int 0 $int_max}
    slot-migration-max-failover-repl-bytes {own {-1 -1 1kb 1024} {-2 x}}
    socket-mark-id immutable
    tls-cluster {own {no no} {yes x}}
    tls-replication {own {no no} {yes x}}
    vset-force-single-threaded-execution bool
}]

# Not shown by patterns.
set hidden {use-exit-on-panic aof-disable-auto-gc enable-debug-assert lua-enable-insecure-api lua-enable-deprecated-api
    io-threads-always-active parallel-reads-always debug-context min-io-threads-avoid-copy-reply min-string-size-avoid-copy-reply
    min-string-size-avoid-copy-reply-threaded cluster-message-gossip-perc cluster-ping-interval sanitize-dump-payload
    forkless-always}

# Where the server is and what it writes: tested with listening (metrics: unit/web), files and TLS, as they need more than a value.
set elsewhere {activedefrag bind port metrics-bind metrics-port dir dbfilename tls-*}

proc set_refused {name value} { catch {r config set $name $value} problem; return $problem }

proc reason {name why} { return "ERR CONFIG SET failed (possibly related to argument '$name') - $why" }

# The values that a type accepts, as pairs of a value and how it is shown, and those that it refuses, as pairs of a
# value and the reason.
proc values_of {type} {
    set rest [lassign $type kind low high]
    switch -- $kind {
        bool { return [list {yes yes no no} [list maybe "argument must be 'yes' or 'no'" 1 "argument must be 'yes' or 'no'"]] }
        enum {
            set names [lrange $type 1 end]
            set why "argument(s) must be one of the following: [join $names {, }]"
            return [list [concat {*}[lmap n $names {list $n $n}]] [list nosuch $why {} $why]]
        }
        int {
            set between "argument must be between $low and $high inclusive"
            set none "argument couldn't be parsed into an integer"
            set bad [list x $none {} $none 1kb $none 1.5 $none " 1" $none 9223372036854775808 $none [expr {$low - 1}] $between]
            if {$high < $::long_max} { lappend bad [expr {$high + 1}] $between }
            return [list [list $low $low $high $high [expr {$low + 1}] [expr {$low + 1}]] $bad]
        }
        memory {
            set between "argument must be between $low and $::long_max inclusive"
            set none "argument must be a memory value"
            set bad [list x $none 1kbx $none 5% $none 9223372036854775808 $between 99999999999999999999gb $none 99999999999999999999 $none]
            if {$low < 0} { lappend bad [expr {$low - 1}] $between } else { lappend bad -1 $none }
            if {$low > 0} { lappend bad [expr {$low - 1}] $between {} $between } else { lappend good {} 0 gb 0 }
            lappend good $low $low 3mb 3145728 3M 3000000 2Gb 2147483648 [expr {1 << 40}] [expr {1 << 40}]
            return [list $good $bad]
        }
        text { return [list [concat {*}[lmap v [lrange $type 1 end] {list $v $v}]] {}] }
        own { return [list $low [concat {*}[lmap v $high {list $v *}]]] }
    }
}

start_server {tags {introspection external:skip}} {
    test {every directive is in the table} {
        set known [concat {*}[lmap name [dict keys $table] { split $name | }]]
        set missing {}
        foreach name [dict keys [r config get *]] {
            if {$name ni $known && ![llength [lmap p $elsewhere { if {![string match $p $name]} continue; set p }]]} { lappend missing $name }
        }
        assert_equal {} $missing
    }

    test {CONFIG INFO: what it says of each directive is what CONFIG SET accepts (9.2 §6)} {
        r hello 3
        set infos {}
        foreach info [r config info *] { dict set infos [dict get $info name] $info }
        r hello 2
        assert_equal [lsort [dict keys [r config get *]]] [dict keys $infos] "as many as CONFIG GET shows, in order"
        set wrong {}
        dict for {names type} $table {
            lassign [split $names |] name alias
            set info [dict get $infos $name]
            set rest [lassign $type kind low high]
            set said [dict get $info type]
            switch -- $kind {
                bool { set expected {bool {} {}} }
                text { set expected {string {} {}} }
                enum { set expected [list enum [lrange $type 1 end] {}] }
                int { set expected [list numeric {} [list $low $high]] }
                memory { set expected [list numeric {} [list $low $::long_max]] }
                default { set expected {} }
            }
            set shown [list $said [expr {[dict exists $info values] ? [dict get $info values] : {}}] [expr {[dict exists $info range] ? [dict get $info range] : {}}]]
            if {$expected ne {} && $shown ne $expected} { lappend wrong "$name: $shown, not $expected" }
            if {("immutable" in [dict get $info flags]) != ($type eq "immutable")} { lappend wrong "$name: immutable?" }
            if {[dict exists $info range] && ![string match *% [config_get $name]]} {
                lassign [dict get $info range] min max
                if {[config_get $name] < $min || [config_get $name] > $max} { lappend wrong "$name: its value is not in $min .. $max" }
            }
            if {[dict exists $info values]} {
                foreach word [config_get $name] { if {$word ni [dict get $info values]} { lappend wrong "$name: $word is none of its values" } }
            }
            if {"alias" in [dict get $info flags] || [dict exists $info alias] != ($alias ne "")} { lappend wrong "$name: alias?" }
            if {$alias ne ""} {
                set other [dict get $infos $alias]
                dict set info name $alias
                dict set info alias $name
                if {[dict get $infos $name alias] ne $alias || [dict remove $other flags] ne [dict remove $info flags]} { lappend wrong "$alias: not as $name" }
                if {[lsort [dict get $other flags]] ne [lsort [concat [dict get $info flags] alias]]} { lappend wrong "$alias: [dict get $other flags]" }
            }
        }
        assert_equal {} $wrong
    }

    test {CONFIG INFO: shape and order} {
        assert_equal {} [r config info nosuch]
        assert_equal {{name maxmemory-samples type numeric flags {} range {1 64}}} [r config info maxmemory-samples]
        assert_equal {{name maxmemory-clients type numeric flags {} range {-100 9223372036854775807}}} [r config info maxmemory-clients]
        assert_equal {{name unixsocketperm type numeric flags immutable range {0 511}}} [r config info unixsocketperm]
        assert_equal {{name appendfsync type enum flags {} values {everysec always no}}} [r config info APPENDfsync]
        assert_equal {{name requirepass type string flags sensitive}} [r config info requirepass]
        assert_equal {{name dir type special flags protected}} [r config info dir]
        assert_equal {{name appendonly type bool flags deny-loading}} [r config info appendonly]
        assert_equal {{name save type special flags multi-arg}} [r config info save]
        assert_equal {{name debug-context type string flags {debug hidden}}} [r config info debug-context]
        assert_equal {{name shutdown-on-sigint type enum flags multi-arg values {default save nosave now force safe failover}}} [r config info shutdown-on-sigint]
        assert_equal {{name replicaof type special flags {immutable multi-arg} alias slaveof} {name slaveof type special flags {immutable multi-arg alias} alias replicaof}} \
            [r config info slaveof replica?? repl*of SLAVEOF]
        assert_equal {lua-time-limit slowlog-max-len} [lmap info [r config info slowlog-max-len LUA-TIME-LIMIT] { dict get $info name }]
        assert_equal {} [lmap info [r config info *] { if {"hidden" ni [dict get $info flags]} continue; dict get $info name }]
        assert_equal {} [r config info user rename-command loadmodule]
        r hello 3
        assert_equal {*1 %4 $4 name $17 maxmemory-samples $4 type $7 numeric $5 flags *0 $5 range *2 $1 1 $2 64} [wire config info maxmemory-samples]
        r hello 2
        assert_error "ERR wrong number of arguments for 'config|info' command" { r config info }
        assert_match "*INFO <pattern>*" [r config help]
    }

    test {CONFIG INFO needs the right of an administrator} {
        r acl setuser someone on nopass +@all -@admin
        assert_match "*no permissions to run the 'config|info' command" [r acl dryrun someone config info *]
        r acl deluser someone
    }

    test {hidden directives are shown only by their full names} {
        set all [r config get *]
        foreach name $hidden {
            assert {![dict exists $all $name]} $name
            assert_equal $name [lindex [r config get $name] 0]
        }
        assert_equal OK [r config set debug-context "hello" use-exit-on-panic yes]
        assert_equal {debug-context hello use-exit-on-panic yes} [r config get debug-context use-exit-on-panic]
        assert_error "*can't set protected config" { r config set lua-enable-insecure-api no }
    }

    dict for {names type} $table {
        lassign [split $names |] name alias
        if {$type eq "immutable"} {
            test "$name can only be set at the start" {
                set value [config_get $name]
                foreach n [split $names |] {
                    assert_equal [reason $n "can't set immutable config"] [set_refused $n $value]
                    assert_equal [list $n $value] [r config get $n]
                }
            }
            continue
        }
        test "$name: accepted and refused values" {
            lassign [values_of $type] good bad
            set before [config_get $name]
            foreach {value why} $bad {
                assert_match [string map {\[ \\\[ \\ \\\\} [reason $name $why]] [set_refused $name $value] "'$value'"
                assert_equal $before [config_get $name] "after '$value' was refused"
            }
            foreach {value shown} $good {
                config_set $name $value
                assert_equal $shown [config_get $name] "after '$value' was set"
                if {$alias ne ""} { assert_equal $shown [config_get $alias] }
            }
            config_set [expr {$alias eq "" ? $name : $alias}] $before
            assert_equal $before [config_get $name]
        }
    }

    test {CONFIG REWRITE writes what was set, a restart reads it, and without the line it is the default again} {
        set before [r config get *]
        set wanted [dict create]
        dict for {names type} $table {
            set name [lindex [split $names |] 0]
            # These would make the rest of the test another one.
            if {$type eq "immutable" || $name in {requirepass min-replicas-to-write min-replicas-sync client-output-buffer-limit maxmemory maxclients maxclients-reserved appendonly locale-collate loglevel log-format}} continue
            foreach {value shown} [lindex [values_of $type] 0] {
                if {$shown eq [dict get $before $name]} continue
                config_set $name $value
                dict set wanted $name $shown
                break
            }
        }
        assert_morethan [dict size $wanted] 70
        assert_equal OK [r config rewrite]
        set text [read_file [srv conf]]
        restart_server
        dict for {name shown} $wanted {
            assert_equal 1 [regexp -all -line "^$name " $text] "lines of $name"
            assert_equal $shown [config_get $name] "$name after the restart"
        }
        assert_equal OK [r config rewrite]
        assert_equal $text [read_file [srv conf]]
        # Set to the defaults again, the lines stay with the defaults.
        dict for {name shown} $wanted { config_set $name [dict get $before $name] }
        assert_equal OK [r config rewrite]
        restart_server
        dict for {name shown} $wanted { assert_equal [dict get $before $name] [config_get $name] "$name at its default" }
    }
}
