# rdb-compatible-version: files of a version that other servers read, or none.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/values.tcl
source [file join $::support .. unit replication full_sync_util.tcl]

proc magic {path} { return [string range [read_file $path] 0 8] }
proc dump_path {} { return [srv dir]/dump.rdb }
proc magic_for {words} {
    set f [asker $words]
    asker_ask $f
    asker_full $f
    set bytes [dict get [asker_bulk $f] bytes]
    assert_sound $bytes
    $f close
    return [string range $bytes 0 8]
}

set magics {0 REDIS0011 10 REDIS0010 11 REDIS0011 12 REDIS0012 13 REDIS0013 80 VALKEY080 81 VALKEY081}
set unheld "*Can't store key 'fields' (db 0) in RDB version 11*"
set refused "*rdb-compatible-version names a version that can't hold the data*"

tags {external:skip needs:debug} {
    start_server {overrides {save {} repl-diskless-sync-delay 0 rdbcompression lz4}} {
        fill_every_type r

        foreach {version magic} $magics {
            if {$version in {0 81}} { continue }
            test "rdb-compatible-version $version: files have it, uncompressed, and are loaded again" {
                r config set rdb-compatible-version $version
                fill_every_type r [expr {$version >= 12}]
                set before [digest]
                r save
                assert_equal $magic [magic [dump_path]]
                file delete [dump_path]
                r bgsave
                wait_for_save
                assert_equal $magic [magic [dump_path]]
                assert_equal OK [r debug reload]
                assert_equal $before [digest]
                r config set appendonly yes
                aof_wait_rewrite
                assert_equal $magic [magic [aof_path base]]
                assert_equal OK [r debug loadaof]
                assert_equal $before [digest]
                r config set appendonly no
            }
        }

        test {rdb-compatible-version 81 leaves files compressed} {
            r config set rdb-compatible-version 81
            r save
            assert_equal VCS [string range [read_file [dump_path]] 0 2]
            r config set rdbcompression yes
            r save
            assert_equal VALKEY081 [magic [dump_path]]
        }

        r config set rdbcompression yes
        fill_every_type r
        # A replica without a version is a Redis; one that only wants the file is a tool.
        foreach {version unknown tool old} {
            0 REDIS0010 VALKEY080 REDIS0011   10 REDIS0010 REDIS0010 REDIS0011
            11 REDIS0011 REDIS0011 REDIS0011  13 REDIS0013 REDIS0013 REDIS0011  80 REDIS0010 VALKEY080 REDIS0011
        } {
            foreach diskless {yes no} {
                test "rdb-compatible-version $version, repl-diskless-sync $diskless: what replicas and tools get" {
                    r config set rdb-compatible-version $version repl-diskless-sync $diskless
                    # Without the directive, a disk-based snapshot is the file as it is.
                    set file [expr {!$version && $diskless eq "no"}]
                    assert_equal $unknown [magic_for {capa eof capa psync2}]
                    assert_equal $old [magic_for {capa eof capa psync2 version 8.1.0}]
                    assert_equal [expr {$file ? "REDIS0011" : "VALKEY080"}] [magic_for {capa eof version 9.1.2}]
                    if {$file} { set tool REDIS0011 }
                    assert_equal $tool [magic_for {capa eof rdb-only 1 version 9.2.0}]
                    exec [file dirname $::options(server)]/valkey-cli -h [srv host] -p [srv port] --rdb [srv dir]/cli.rdb 2> /dev/null
                    assert_equal $tool [magic [srv dir]/cli.rdb]
                }
            }
        }
    }

    start_server {overrides {save "3600 100000" hide-user-data-from-log no appendonly no auto-aof-rewrite-percentage 0}} {
        r set k v
        r config set rdb-compatible-version 11
        r save
        set old [read_file [dump_path]]
        r hset fields f 1 g 2
        r hpexpire fields 1000000 fields 1 f

        test {data that the version cannot hold: the save fails with the key, and the old file stays} {
            assert_error ERR { r save }
            wait_for_log $unheld
            wait_for_log "*Write error saving DB on disk: $refused"
            assert_equal $old [read_file [dump_path]]
            r bgsave
            wait_for_save
            assert_equal err [s rdb_last_bgsave_status]
            assert_equal $old [read_file [dump_path]]
            assert_equal {} [glob -nocomplain [srv dir]/temp-*]
            assert_error "MISCONF *" { r set k w }
            assert_error "ERR Errors trying to SHUTDOWN. Check logs." { r shutdown }
            assert_equal v [r get k]
        }

        test {with another version it succeeds} {
            r config set rdb-compatible-version 80
            r bgsave
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
            assert_equal VALKEY080 [magic [dump_path]]
            r set k w
        }

        test {an append-only file whose base cannot be written anew grows on} {
            r config set appendonly yes
            aof_wait_rewrite
            r config set rdb-compatible-version 11
            r set before rewrite
            r bgrewriteaof
            aof_wait_rewrite
            assert_equal err [s aof_last_bgrewrite_status]
            wait_for_log "*Writing the new AOF base file failed: $refused"
            r set after rewrite
            set before [digest]
            r config rewrite
            restart_server 0 KILL
            assert_equal $before [digest]
            assert_equal {rewrite rewrite} [r mget before after]
        }

        test {without the field that expires, the base is written} {
            r config set rdb-compatible-version 11
            r hpersist fields fields 1 f
            r bgrewriteaof
            aof_wait_rewrite
            assert_equal ok [s aof_last_bgrewrite_status]
            assert_equal REDIS0011 [magic [aof_path base]]
            r config set appendonly no
        }

        test {values that are no version are refused} {
            assert_error "*argument(s) must be one of the following: *" { r config set rdb-compatible-version 9 }
            assert_equal {rdb-compatible-version 11} [r config get rdb-compatible-version]
        }
    }
}

# ---- Other servers read them ----

# XINFO STREAM has other fields in each server.
proc stream_content {level key} {
    set groups [lmap group [r $level xinfo groups $key] {
        list [lmap fact {name consumers pending last-delivered-id entries-read} { dict get $group $fact }] \
            [lmap pending [r $level xpending $key [dict get $group name] - + 1000] { lreplace $pending 2 2 }]
    }]
    set info [r $level xinfo stream $key]
    return [list [r $level xrange $key - +] [lsort $groups] [lmap fact {length last-generated-id entries-added} { dict get $info $fact }]]
}

proc whole_content {level key} {
    if {[r $level type $key] eq "stream"} { return [stream_content $level $key] }
    set times {}
    if {[string match expires:fields* $key]} { set times [r $level hpexpiretime $key fields 3 a b c] }
    return [list [content $level $key] [r $level pexpiretime $key] $times]
}

foreach {kind versions} {redis {10} redis8 {10 11 12 13} valkey {10 11 80}} {
    start_servers [list theirs [list kind $kind overrides {save {} enable-debug-command yes}] ours {kind ours overrides {save {}}}] {
        foreach version $versions {
            test "$kind loads files with rdb-compatible-version $version, and has the same data" {
                set theirs [at theirs]
                r flushall
                fill_all 0
                r set expires v pxat 4102444800123
                r function load replace "#!lua name=lib\nredis.register_function('f', function() return 'from here' end)"
                if {$version >= 12} {
                    r hset expires:fields a 1 b 2 c 3
                    r hpexpireat expires:fields 4102444800123 fields 1 b
                    for {set i 0} {$i < 1000} {incr i} { r hsetex expires:fields:many pxat [expr {4102444800000 + $i}] fields 1 f$i v$i }
                }
                r config set rdb-compatible-version $version
                r bgsave
                wait_for_save
                assert_equal ok [s rdb_last_bgsave_status]
                file copy -force [srv dir]/dump.rdb [srv $theirs dir]/dump.rdb
                assert_equal OK [r $theirs debug reload nosave]
                assert_equal [lsort [r keys *]] [lsort [r $theirs keys *]]
                foreach key [r keys *] { assert_equal [whole_content 0 $key] [whole_content $theirs $key] $key }
                assert_equal {from here} [r $theirs fcall f 0]
                if {$version >= 12} {
                    foreach f {f0 f500 f999} {
                        assert_equal [r hpexpiretime expires:fields:many fields 1 $f] [r $theirs hpexpiretime expires:fields:many fields 1 $f]
                    }
                }
            }
        }
    }
}
