# Path hashes and replicas (9.2 §1, §8): a file or a snapshot with a path hash has version 81, which Valkey 9.1.2 does not
# read; only the full synchronization of such a replica fails.
source [file join [file dirname [info script]] full_sync_util.tcl]
source $::support/values.tcl

proc snapshot_magic {told} {
    set f [asker [list capa eof {*}$told]]
    asker_ask $f
    asker_full $f
    set bytes [dict get [asker_bulk $f] bytes]
    assert_sound $bytes
    $f close
    return [string range $bytes 0 8]
}

proc file_magic {} {
    r save
    return [string range [read_file [srv dir]/dump.rdb] 0 8]
}

start_server {tags {repl pathhash} overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes}} {
    test {the version of files is 81 while there is a path hash in any database} {
        r set k v
        set plain [file_magic]
        assert_not_equal VALKEY081 $plain
        r phset p a FIELDS 1 f v
        assert_equal VALKEY081 [file_magic]
        r phdel p a
        assert_equal VALKEY081 [file_magic] "an empty path hash"
        foreach words {{del p} {set p v} {move p 3} {flushall} {flushdb} {expire p -1} {unlink p} {restore p 0 DUMP replace}} {
            r set k v
            r phset p a FIELDS 1 f v
            assert_equal VALKEY081 [file_magic]
            r {*}[lmap word $words { expr {$word eq "DUMP" ? [r dump k] : $word} }]
            assert_equal [expr {$words eq {move p 3} ? "VALKEY081" : $plain}] [file_magic] $words
            foreach db {3 0} {
                r select $db
                r del p
            }
            assert_equal $plain [file_magic]
        }
        r phset p a FIELDS 1 f v
        r rename p q
        r copy q r
        r swapdb 0 5
        assert_equal VALKEY081 [file_magic]
        r debug reload
        r select 5
        r del q
        assert_equal VALKEY081 [file_magic]
        r del r
        assert_equal $plain [file_magic]
        r select 0
        r flushall
    }

    test {snapshots have version 81 for replicas of 9.2 only} {
        r flushall
        r set k v
        foreach {told magic} {{version 9.1.2} VALKEY080 {version 9.2.0} VALKEY080 {version 10.0.0} VALKEY080} {
            assert_equal $magic [snapshot_magic $told] $told
        }
        r phset p a FIELDS 1 f v
        foreach told {{version 9.2.0} {version 10.0.0}} { assert_equal VALKEY081 [snapshot_magic $told] $told }
    }

    test {a replica that cannot hold a path hash fails, and no other one} {
        fill_all 0
        fill_paths 0
        start_server {overrides {save {}}} {
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 200 50 {[s master_link_status] eq "up"} else { fail "no full synchronization" }
            assert_equal [r -1 debug digest] [r debug digest]
            foreach {told version} {{version 9.1.2} 80 {version 8.1.0} 11 {} 13} {
                foreach {hide shown} {yes {'\*redacted\*'} no 'p*'} {
                    r -1 config set hide-user-data-from-log $hide
                    set from [llength [log_lines -1]]
                    set f [asker [list capa eof {*}$told] -1]
                    asker_ask $f
                    asker_full $f
                    asker_gone $f
                    wait_for_log "*Can't store key $shown (db 0) in RDB version $version" $from 100 50 -1
                }
            }
            assert_equal up [s master_link_status]
            r -1 phset paths:one new/path FIELDS 1 f v
            wait_for_condition 200 50 {[r phexists paths:one new/path]} else { fail "the stream does not arrive" }
            assert_equal 1 [count_log_message "The synchronization with the primary is complete"]
            assert_equal [r -1 debug digest] [r debug digest]
        }
    }

    if {[valkey_oracle] eq {}} {
        test {Valkey 9.1 follows only while there is no path hash} { skip "no Valkey to follow: utils/oracle fetches it" }
    } else {
        start_server [list executable [valkey_oracle] overrides {save {} enable-debug-command yes}] {
            test {Valkey 9.1 follows only while there is no path hash} {
                set from [llength [log_lines -1]]
                r replicaof [srv -1 host] [srv -1 port]
                wait_for_log "*Can't store key * in RDB version 80" $from 200 50 -1
                assert_equal down [s master_link_status]
                foreach key [r -1 keys paths:*] { r -1 del $key }
                r -1 del p
                wait_for_condition 400 50 {[s master_link_status] eq "up"} else { fail "no full synchronization" }
                assert_equal [contents -1] [contents 0]
            }
        }
    }
}
