# Saved data is loaded unchanged: every type, DEBUG RELOAD, restarts, files of other servers.
source [file join [file dirname [info script]] rdb_util.tcl]

# A text that was changed in place (raw) is loaded as if it had been set (embstr, when it is short).
proc kept_encoding {k} { return [string map {embstr text raw text} [r object encoding $k]] }

tags {external:skip needs:debug} {
    foreach {name overrides} {
        defaults {}
        {no compression} {rdbcompression no}
        {no checksum} {rdbchecksum no}
        {deep checks} {sanitize-dump-payload yes}
        {compressed lists} {list-compress-depth 1}
        {btree} {zset-index btree}
    } {
        start_server [list overrides $overrides] {
            test "DEBUG RELOAD loads every type: $name" {
                fill_every_type r
                set before [digest]
                set values [lmap k [lsort [r keys *]] { list $k [r type $k] [kept_encoding $k] [readable 0 $k] }]
                assert_equal OK [r debug reload]
                assert_equal $before [digest]
                foreach value $values {
                    set k [lindex $value 0]
                    assert_equal $value [list $k [r type $k] [kept_encoding $k] [readable 0 $k]]
                }
                assert_range [r pttl volatile:string] 9000000 10000000
                assert_range [r ttl volatile:zset] 99000 100000
                assert_equal -1 [r ttl str:short]
                assert_equal REDIS0011 [string range [read_file [srv dir]/dump.rdb] 0 8]
            }

            test "hash fields that expire make version 80: $name" {
                fill_every_type r 1
                set before [digest]
                r debug reload
                assert_equal $before [digest]
                assert_equal VALKEY080 [string range [read_file [srv dir]/dump.rdb] 0 8]
                r select 3
                assert_morethan [lindex [r hpttl hash:expiring fields 1 a] 0] 9000000
                assert_equal -1 [r hpttl hash:expiring fields 1 c]
                r del hash:expiring
                r select 0
                r save
                assert_equal REDIS0011 [string range [read_file [srv dir]/dump.rdb] 0 8]
            }

            test "a restart loads everything: $name" {
                fill_every_type r 1
                set before [digest]
                r config set save "3600 1"
                restart_server
                assert_equal $before [digest]
                r flushall
            }
        }
    }

    start_server {} {
        test {DEBUG RELOAD NOSAVE takes the file as it is} {
            r set k old
            r save
            r set k new
            r set more 1
            r debug reload nosave
            assert_equal old [r get k]
            assert_equal 0 [r exists more]
        }

        test {DEBUG RELOAD NOFLUSH without MERGE fails on keys that are there} {
            assert_error "ERR Error trying to load the RDB dump*" { r debug reload noflush }
            assert_morethan [count_log_message "The file holds the key 'k' in database 0 twice"] 0
        }

        test {DEBUG RELOAD NOFLUSH MERGE replaces them and keeps others} {
            r flushall
            r set k old
            r zadd z 1 a
            r set volatile 1 ex 1000
            r save
            r set k new
            r del z
            r set z string
            r set mine 1
            r persist volatile
            r debug reload nosave noflush merge
            assert_equal old [r get k]
            assert_equal zset [r type z]
            assert_equal 1 [r get mine]
            assert_morethan [r ttl volatile] 900
        }

        test {function libraries are saved and loaded} {
            r flushall
            r function flush
            foreach i {1 2 3} { r function load "#!lua name=lib$i\nserver.register_function('f$i', function() return $i end)" }
            r set k v
            r debug reload
            assert_equal {lib1 lib2 lib3} [lsort [lmap l [r function list] { dict get $l library_name }]]
            assert_equal 2 [r fcall f2 0]
            r config set save "3600 1"
            restart_server
            assert_equal 3 [r fcall f3 0]
            assert_equal v [r get k]
            r config set save ""
            r function flush
            assert_equal OK [r debug reload nosave]
            assert_equal 1 [r fcall f1 0]
            assert_match "*\\\[info\\\] 3 functions*" [lindex [check_rdb [srv dir]/dump.rdb] 1]
            r function flush
            r set mine 1
        }

        test {DEBUG RELOAD with wrong words does nothing} {
            assert_error "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options." { r debug reload nosuch }
            assert_equal 1 [r get mine]
        }

        test {expired keys are not loaded} {
            r flushall
            r debug set-active-expire 0
            r set over 1 px 1
            r rpush gone a b c
            r pexpire gone 1
            r set stays 1 px 1000000
            r set plain 1
            after 10
            r debug reload
            assert_equal {plain stays} [lsort [r keys *]]
            assert_equal 2 [s rdb_last_load_keys_expired]
            assert_equal 2 [s rdb_last_load_keys_loaded]
            r debug set-active-expire 1
        }

        test {many keys: tables are as large as they need to be} {
            r flushall
            r debug populate 50000
            for {set i 0} {$i < 2000} {incr i} { r expire key:$i 100000 }
            set before [digest]
            r debug reload
            assert_equal $before [digest]
            assert_equal 50000 [r dbsize]
            assert_match "*keys=50000,expires=2000,*" [r info keyspace]
            r flushall
        }

        test {idle time is saved under an LRU policy, and the time since the last change under LRM} {
            foreach policy {allkeys-lru volatile-lrm} {
                r config set maxmemory-policy $policy
                r set k v
                after 2100
                r debug reload
                assert_range [r object idletime k] 2 60
            }
            r config set maxmemory-policy noeviction
            r set k v
            after 3100
            r debug reload
            assert_lessthan [r object idletime k] 3
        }

        test {use counts are saved under an LFU policy} {
            r config set maxmemory-policy allkeys-lfu
            r config set lfu-log-factor 0
            r set k v
            for {set i 0} {$i < 50} {incr i} { r get k }
            set uses [r object freq k]
            assert_morethan $uses 30
            r debug reload
            assert_range [r object freq k] [expr {$uses - 2}] $uses
            r config set maxmemory-policy allkeys-lhd
            r set l v
            r restore m 0 [r dump l] freq 9
            r debug reload
            assert_equal {1 9} [list [r object freq l] [r object freq m]]
            r config set maxmemory-policy noeviction
        }
    }

    # The other server's file is loaded here, and ours there: values must be equal by the other server's own digest.
    if {[oracle] ne {}} {
        start_server {} {
            start_server [list executable [oracle]] {
                test {a file of another server is loaded with equal values} {
                    fill_every_type [srv client]
                    set theirs [digest]
                    r save
                    file copy -force [srv dir]/dump.rdb [srv -1 dir]/dump.rdb
                    assert_equal OK [r -1 debug reload nosave]
                    assert_equal [lsort [r keys *]] [lsort [r -1 keys *]]
                    foreach key [r keys *] {
                        assert_equal [r type $key] [r -1 type $key] $key
                        assert_equal [readable 0 $key] [readable -1 $key] $key
                    }
                    assert_morethan [count_log_message "Loading RDB produced by Redis version" -1] 0
                }

                # Only the small sets are new to version 10.
                test {another server loads our file} {
                    r flushall
                    r -1 config set set-max-listpack-entries 0
                    r -1 flushall
                    fill_every_type [srv -1 client]
                    r -1 del stream
                    r -1 save
                    set bytes [read_file [srv -1 dir]/dump.rdb]
                    write_bytes [srv dir]/dump.rdb [with_version_10 $bytes]
                    assert_equal OK [r debug reload nosave]
                    assert_equal [lsort [r -1 keys *]] [lsort [r keys *]]
                    foreach key [r keys *] { assert_equal [readable -1 $key] [readable 0 $key] $key }
                    r -1 select 3
                    r select 3
                    assert_equal [r -1 hgetall hash] [r hgetall hash]
                }
            }
        }
    }
}
