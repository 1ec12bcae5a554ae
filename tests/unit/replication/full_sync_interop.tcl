# Other servers read our snapshots: Valkey 9.1 and Redis 7.0 as replicas of this server.
source [file join [file dirname [info script]] full_sync_util.tcl]
source $::support/values.tcl

proc follow {host port} {
    r replicaof $host $port
    wait_for_condition 200 50 {[s master_link_status] eq {up}} else { fail "the replica does not get through" }
}

proc wait_for_stream {} {
    r -1 set last [clock microseconds]
    wait_for_condition 200 50 {[r get last] eq [r -1 get last]} else { fail "the stream does not arrive" }
}

set overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes dual-channel-replication-enabled yes}

start_server [list overrides $overrides tags {repl}] {
    set host [srv host]
    set port [srv port]
    fill_all 0
    r set expires v ex 100000
    r select 9
    r set other database
    r select 0
    r function load "#!lua name=lib\nredis.register_function('f', function() return 1 end)"

    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 reads our snapshots} { skip "no Valkey to follow: utils/oracle fetches it" }
    } else {
        r hset fields a 1 b 2
        r hexpire fields 100000 fields 1 a
        foreach {diskless load dual} {
            yes disabled no        no disabled no        yes flush-before-load no        yes swapdb no
            yes disabled yes       yes flush-before-load yes
        } {
            r config set repl-diskless-sync $diskless
            start_server [list executable [valkey_oracle] overrides [list save {} enable-debug-command yes repl-diskless-load $load \
                    dual-channel-replication-enabled $dual]] {
                test "Valkey 9.1 reads our snapshots: repl-diskless-sync $diskless, repl-diskless-load $load, dual channel $dual" {
                    follow $host $port
                    wait_for_stream
                    assert_equal [contents -1] [contents 0]
                    assert_equal [r -1 pexpiretime expires] [r pexpiretime expires]
                    assert_equal [r -1 hpexpiretime fields fields 1 a] [r hpexpiretime fields fields 1 a]
                    assert_match *lib* [r function list]
                    r select 9
                    assert_equal database [r get other]
                    r select 0
                }
            }
        }
        r config set repl-diskless-sync yes
        r del fields
    }

    if {[oracle] eq {}} {
        test {Redis 7.0 reads our snapshots} { skip "no redis-server" }
    } else {
        foreach diskless {yes no} load {disabled swapdb} {
            r config set repl-diskless-sync $diskless
            start_server [list executable [oracle] overrides [list save {} enable-debug-command yes repl-diskless-load $load]] {
                test "Redis 7.0 reads our snapshots: repl-diskless-sync $diskless, repl-diskless-load $load" {
                    follow $host $port
                    wait_for_stream
                    assert_equal [contents -1] [contents 0]
                    assert_equal [r -1 pexpiretime expires] [r pexpiretime expires]
                    assert_match *lib* [r function list]
                }
            }
        }
    }
}
