# Other replicas of this server: a Valkey 9.1, and tools that act as a replica.
source [file join [file dirname [info script]] primary_util.tcl]
source [file join [file dirname [info script]] .. .. support values.tcl]

proc link_is_up {{level 0}} {
    wait_for_condition 200 50 {[string match "*master_link_status:up*" [r $level info replication]]} else { fail "no link" }
}

# When a consumer of a stream was last seen, is seen by each server on its own.
proc without_clocks {content} { return [regsub -all {seen-time \d+} $content {}] }

# Both ends have the same, byte by byte of the stream.
proc in_step {} {
    wait_for_condition 200 50 {[status [srv -1 client] master_repl_offset] == [s master_repl_offset]} else { fail "the replica is behind" }
}

start_server {overrides {save {} repl-diskless-sync-delay 0 enable-debug-command yes databases 16} tags {replication external:skip}} {
    r set before 1
    if {[valkey_oracle] eq {}} {
        test {a Valkey 9.1 replicates from this server} { skip "no Valkey to compare with" }
    } else {
        start_server [list executable [valkey_oracle] overrides {save {} enable-debug-command yes}] {
            test {a Valkey 9.1 gets a full synchronization, then the stream} {
                fill_all -1
                r replicaof 127.0.0.1 [srv -1 port]
                link_is_up
                assert_equal {0 1} [list [llength [r keys nosuch]] [r get before]]
                r -1 flushall
                fill_all -1
                r -1 select 9
                r -1 set nine 9
                r -1 select 0
                r -1 eval {for i = 1, 100 do redis.call('rpush', 'l', i) end} 0
                r -1 set gone x px 1
                after 10
                r -1 get gone
                in_step
                set here [contents -1]
                set there [contents 0]
                assert_equal [lsort [dict keys $here]] [lsort [dict keys $there]]
                dict for {key content} $here { assert_equal [without_clocks $content] [without_clocks [dict get $there $key]] $key }
                r select 9
                assert_equal 9 [r get nine]
                r select 0
                assert_equal [r -1 lrange l 0 -1] [r lrange l 0 -1]
                wait_for_condition 100 50 {[replica_field 0 offset -1] == [s -1 master_repl_offset]} else { fail "no ACK" }
                assert_match "*port=[srv port],state=online*" [status_line -1 slave0]
            }

            test {a replica whose connection is cut again and again continues where it was} {
                set full [s -1 sync_full]
                foreach i [numbers 1 5] {
                    r -1 client kill type replica
                    foreach k [numbers 1 200] { r -1 set k$k "$i [string repeat x 2000]" }
                    link_is_up
                    in_step
                    assert_equal [r -1 get k200] [r get k200]
                }
                assert_equal [list $full 5] [list [s -1 sync_full] [s -1 sync_partial_ok]]
            }

            test {a Valkey 9.1 replica has sub-replicas with the same ID and offsets} {
                start_server [list executable [valkey_oracle] overrides {save {}}] {
                    r replicaof 127.0.0.1 [srv -1 port]
                    link_is_up
                    r -2 set far 1
                    in_step
                    wait_for_condition 100 50 {[r get far] eq 1} else { fail "it is not there" }
                    assert_equal [s -2 master_replid] [s master_replid]
                    r replicaof 127.0.0.1 [srv -2 port]
                    link_is_up
                    wait_for_log "Replica 127.0.0.1:[srv port] resynchronizes partially: it gets *" 0 100 50 -2
                }
            }
        }
    }

    test {valkey-cli --replica shows the stream, --rdb gets a file} {
        set path [tool_path valkey-cli]
        if {$path eq {}} { skip "no valkey-cli" }
        set out $::work_dir/replica.out
        set pid [exec timeout 20 $path -h [srv host] -p [srv port] --replica > $out 2> $out.err &]
        wait_for_condition 100 50 {[replica_field 0 state] eq "online"} else { fail "it does not follow" }
        r set shown yes
        wait_for_condition 100 50 {[string match "*\"set\",\"shown\",\"yes\"*" [read_file $out]]} else { fail "not shown: [read_file $out]" }
        exec kill $pid
        wait_for_condition 100 50 {[s connected_slaves] == 0} else { fail "it is still there" }
        r set before 1
        tool_output valkey-cli --rdb $::work_dir/got.rdb
        assert_match "VALKEY080*before*" [read_file $::work_dir/got.rdb]
        wait_for_condition 100 50 {[s connected_slaves] == 0} else { fail "it is still there" }
    }
}
