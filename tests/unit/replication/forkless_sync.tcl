# Full synchronization while clients write, by a thread in the place of a fork: replicas of several kinds, and ends of
# all sorts. What a replica gets is compared by a digest of all data, or key by key when it is a Valkey.
source [file join [file dirname [info script]] full_sync_util.tcl]
source $::support/values.tcl

# Changes about 150 keys of all types, in databases 0 and 9, once. ARGV: a seed, how many keys there are of a type.
set churn {
    math.randomseed(ARGV[1])
    local n, random = tonumber(ARGV[2]), math.random
    local function name(type) return type .. ':' .. random(n) end
    local function call(...) return server.call(...) end
    for turn = 1, 15 do
        if turn == 8 then call('SELECT', 9) end
        local size = random(10) == 1 and 300 or 8
        call('SET', name('string'), string.rep(string.char(96 + random(26)), random(300)))
        call('APPEND', name('string'), random(1000000))
        call('INCR', 'count:' .. random(n))
        for i = 1, size do
            call('RPUSH', 'list:' .. turn, random(100000))
            call('SADD', 'set:' .. turn, random(5000))
            call('HSET', 'hash:' .. turn, 'f' .. random(5000), random(100000))
            call('ZADD', 'zset:' .. turn, random(100000), 'm' .. random(5000))
        end
        call('LSET', 'list:' .. turn, 0, 'changed')
        call('LPOP', 'list:' .. turn)
        call('HDEL', 'hash:' .. turn, 'f' .. random(5000))
        call('ZINCRBY', 'zset:' .. turn, 1, 'm' .. random(5000))
        call('SREM', 'set:' .. turn, random(5000))
        call('XADD', 'stream:' .. turn, '*', 'f', random(100000))
        call('SADD', name('set'), random(100), 'x' .. random(100))
        call('ZADD', name('zset'), random(100), 'm' .. random(300))
        call('HSET', name('hash'), 'f' .. random(300), string.rep('v', random(100)))
        call('RPUSH', name('list'), random(100), string.rep('e', random(100)))
        call('EXPIRE', name('string'), 100000 + random(1000))
        call('PERSIST', name('string'))
        call('DEL', name('hash'), name('list'), name('zset'))
        call('UNLINK', 'list:' .. random(15))
        server.pcall('COPY', name('set'), name('set'), 'REPLACE')
        local from = name('zset')
        if call('EXISTS', from) == 1 then call('RENAME', from, name('zset')) end
        from = name('string')
        if call('EXISTS', from) == 1 then call('MOVE', from, 5) end
    end
}

proc churn {level times} {
    for {set i 0} {$i < $times} {incr i} { r $level eval $::churn 0 [randomInt 1000000000] 300 }
}

# Follows the server at level -1, which is changed until the synchronization is over; then all data must be equal.
proc follow_churning {host port {by_digest 1}} {
    r replicaof $host $port
    set until [expr {[clock milliseconds] + 30000 * $::patience}]
    while {[s master_link_status] ne {up}} {
        if {[clock milliseconds] > $until} { fail "the replica does not get through" }
        churn -1 3
    }
    churn -1 3
    r -1 set last [clock microseconds]
    wait_for_condition 200 50 {[r get last] eq [r -1 get last]} else { fail "the stream does not arrive" }
    if {$by_digest} {
        assert_equal [r -1 debug digest] [r debug digest]
        return
    }
    foreach db {0 5 9} {
        foreach level {-1 0} { r $level select $db }
        set same [expr {[contents -1] eq [contents 0]}]
        foreach level {-1 0} { r $level select 0 }
        if {!$same} { fail "database $db differs" }
    }
}

# TLS for replication from level -1 to level 0. Returns the port.
proc use_tls {} {
    if {[auto_execok openssl] eq {} || [catch {exec grep -q tls-cert-file $::options(server)}]} { skip "no TLS here" }
    set folder $::work_dir/forkless_tls
    if {![file exists $folder]} {
        file mkdir $folder
        exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=node \
            -keyout $folder/node.key -out $folder/node.crt 2>/dev/null
    }
    foreach level {-1 0} {
        foreach name {cert key ca-cert} file {crt key crt} { r $level config set tls-$name-file $folder/node.$file }
    }
    r -1 config set tls-port [free_port] tls-auth-clients yes
    r config set tls-replication yes
    return [config_get tls-port -1]
}

set overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes bgsave-default-method forkless
    dual-channel-replication-enabled yes rdb-key-save-delay 100 rdbcompression no
    client-output-buffer-limit {replica 0 0 0}}

start_server [list overrides $overrides tags {repl}] {
    set host [srv host]
    set port [srv port]
    fill_all 0
    churn 0 60

    foreach {kind diskless load dual tls compression} {
        ours   no  disabled           no  no  no
        ours   yes disabled           no  no  no
        ours   yes flush-before-load  no  no  lz4
        ours   yes swapdb             no  no  no
        ours   yes disabled           yes no  no
        ours   yes swapdb             yes no  zstd
        ours   yes disabled           no  yes no
        ours   yes flush-before-load  yes yes no
        valkey no  disabled           no  no  no
        valkey yes disabled           no  no  no
        valkey yes swapdb             no  no  no
        valkey yes disabled           yes no  no
        valkey yes flush-before-load  yes yes no
    } {
        set what "$kind, repl-diskless-sync $diskless, repl-diskless-load $load, dual channel $dual, TLS $tls, compression $compression"
        if {[server_of_kind $kind] eq {}} {
            test $what { skip "no $kind here" }
            continue
        }
        r config set repl-diskless-sync $diskless repl-compression $compression
        set settings [list save {} enable-debug-command yes repl-diskless-load $load dual-channel-replication-enabled $dual \
            repl-timeout [expr {20 * $::patience}]]
        if {$kind eq {ours}} { lappend settings repl-compression $compression }
        start_server [list executable [server_of_kind $kind] overrides $settings] {
            test $what {
                set at [expr {$tls ? [use_tls] : $port}]
                set syncs [s -1 sync_full]
                follow_churning $host $at [expr {$kind eq {ours}}]
                assert_equal [expr {$syncs + 1}] [s -1 sync_full]
                assert_equal 0 [s -1 total_forks]
                wait_for_condition 100 20 {[s -1 rdb_bgsave_in_progress] == 0} else { fail "the snapshot goes on" }
            }
        }
    }
    r config set repl-diskless-sync yes repl-compression no

    start_server {overrides {save {} enable-debug-command yes}} {
        start_server {overrides {save {} enable-debug-command yes bgsave-default-method forkless}} {
            test {a replica of a replica, whose snapshot is made while the stream changes the data} {
                r -1 config set bgsave-default-method forkless rdb-key-save-delay 100 repl-diskless-sync-delay 0
                r -1 replicaof $host $port
                wait_for_condition 200 50 {[s -1 master_link_status] eq {up}} else { fail "the replica does not get through" }
                r replicaof [srv -1 host] [srv -1 port]
                while {[s master_link_status] ne {up}} { churn -2 3 }
                r -2 set last [clock microseconds]
                wait_for_condition 200 50 {[r get last] eq [r -2 get last]} else { fail "the stream does not arrive" }
                assert_equal [r -2 debug digest] [r debug digest]
                assert_equal 0 [s -1 total_forks]
            }
        }
    }

    foreach how {no-channel dual-channel} {
        test "a replica that reads nothing does not stop writers, nor a FLUSHALL that ends its snapshot: $how" {
            r debug populate 300 big 100000
            set f [asker [expr {$how eq {no-channel} ? {capa eof version 9.1.2} : {capa eof rdb-only 1 rdb-channel 1 version 9.1.2}}]]
            if {$how eq {no-channel}} { asker_ask $f } else { $f write "SYNC\r\n" }
            wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
            after 500 ;# the pipe fills
            set worst 0
            for {set i 0} {$i < 100} {incr i} {
                set at [clock milliseconds]
                churn 0 1
                r set big:$i changed
                set worst [expr {max($worst, [clock milliseconds] - $at)}]
            }
            assert_lessthan $worst [expr {1000 * $::patience}]
            assert_equal 1 [s rdb_bgsave_in_progress]
            set at [clock milliseconds]
            r flushall
            assert_lessthan [expr {[clock milliseconds] - $at}] [expr {1000 * $::patience}]
            wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "the thread lives on" }
            asker_gone $f
        }
    }

    test {a replica that reads nothing is disconnected after repl-timeout, and the thread ends} {
        r debug populate 300 big 100000
        r config set repl-timeout 2
        set f [asker {capa eof version 9.1.2}]
        asker_ask $f
        wait_for_log {*Disconnecting timedout replica (full sync): *} 0 200
        wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 0} else { fail "the thread lives on" }
        assert_equal 0 [s connected_slaves]
        $f close
        r config set repl-timeout 60
    }

    foreach dual {no yes} {
        start_server [list overrides [list save {} enable-debug-command yes dual-channel-replication-enabled $dual] crash 1] {
            test "a replica that is killed in the middle, dual channel $dual" {
                r -1 config set rdb-key-save-delay 2000
                churn -1 5
                r replicaof $host $port
                wait_for_condition 100 20 {[s -1 rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
                churn -1 5
                exec kill -KILL [srv pid]
                wait_for_condition 200 50 {[s -1 rdb_bgsave_in_progress] == 0} else { fail "the thread lives on" }
                churn -1 5
                r -1 config set rdb-key-save-delay 100
            }
        }
        start_server [list overrides [list save {} enable-debug-command yes dual-channel-replication-enabled $dual]] {
            test "the next replica synchronizes as if nothing had been, dual channel $dual" {
                follow_churning $host $port
                assert_equal 0 [s -1 total_forks]
            }
        }
    }
}

start_server {overrides {save {} enable-debug-command yes}} {
    start_server [list overrides $overrides tags {repl}] {
        test {a primary that is killed in the middle: its replica synchronizes with the next one} {
            churn 0 20
            r config set rdb-key-save-delay 2000
            r -1 replicaof [srv host] [srv port]
            wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
            churn 0 5
            restart_server 0 KILL
            churn 0 20
            wait_for_condition 400 50 {[s -1 master_link_status] eq {up}} else { fail "the replica does not get through" }
            wait_for_condition 100 50 {[r -1 debug digest] eq [r debug digest]} else { fail "the data differ" }
        }

        test {SHUTDOWN in the middle of a snapshot for a replica} {
            r config set rdb-key-save-delay 2000
            churn 0 5
            set f [asker {capa eof version 9.1.2}]
            asker_ask $f
            wait_for_condition 100 20 {[s rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
            restart_server 0 TERM
            $f close
            assert_equal PONG [r ping]
        }
    }
}

start_server {overrides {save {} enable-debug-command yes bgsave-default-method forkless rdb-key-save-delay 2000 repl-diskless-sync-delay 0}} {
    start_server [list overrides $overrides tags {repl}] {
        test {a server that becomes a replica during a snapshot for its own replica} {
            churn 0 10
            churn -1 10
            set f [asker {capa eof version 9.1.2} -1]
            asker_ask $f
            wait_for_condition 100 20 {[s -1 rdb_bgsave_in_progress] == 1} else { fail "no snapshot" }
            r -1 replicaof [srv host] [srv port]
            wait_for_condition 400 50 {[s -1 master_link_status] eq {up}} else { fail "the replica does not get through" }
            asker_gone $f
            r set last x
            wait_for_condition 200 50 {[r -1 get last] eq {x}} else { fail "the stream does not arrive" }
            assert_equal [r debug digest] [r -1 debug digest]
        }
    }
}
