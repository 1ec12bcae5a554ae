# 9.2 §9, repl-compression: the stream between servers as one LZ4 or Zstandard frame.
source [file join [file dirname [info script]] compression_util.tcl]

tags {replication external:skip needs:debug} {

# ---- What is announced --------------------------------------------------------------------------------------------

start_server [list overrides $common] {
    set port [primary_listen]
    foreach {setting words} {no {} yes {capa lz4} lz4 {capa lz4} zstd {capa lz4 capa zstd}} {
        test "a replica with repl-compression $setting announces '$words'" {
            config_set repl-compression $setting
            r replicaof 127.0.0.1 $port
            set fd [primary_accept]
            assert_equal PING [primary_receive $fd]
            primary_send $fd "+PONG\r\n"
            assert_equal [list REPLCONF listening-port [srv port]] [primary_receive $fd]
            assert_equal [list REPLCONF capa eof capa psync2 capa stream-idmp {*}$words] [primary_receive $fd]
            assert_equal {REPLCONF version 9.2.0} [primary_receive $fd]
            part $fd
        }
    }
}

# ---- The codec of a link ------------------------------------------------------------------------------------------

foreach {primary replica expected} {
    no no plain    no lz4 plain    no zstd plain
    lz4 no plain   lz4 lz4 lz4     lz4 zstd lz4
    zstd no plain  zstd lz4 lz4    zstd zstd zstd
    yes yes lz4
} {
    start_servers [list p [list kind ours overrides [dict merge $common [list repl-compression $primary]]] \
                        s [list kind ours overrides [dict merge $common [list repl-compression $replica]]]] {
        test "primary $primary, replica $replica: the link is $expected" {
            r [at p] debug populate 2000
            follow_from s p
            write_some p
            assert_equal 1 [r [at p] wait 1 5000]
            assert_equal $expected [stream_codec p]
            if {$expected ne "plain"} {
                assert_lessthan $::packed [expr {$::unpacked / 2}]
                assert_morethan $::unpacked 100000
            }
            assert_equal_data p s
            assert_morethan_equal [s [at s] last_successful_sync_duration_ms] 0
            assert_match "*,lag=*,type=replica*" [s [at p] slave0]
        }
    }
}

# ---- Both ends, and what may happen to them -----------------------------------------------------------------------

foreach codec {lz4 zstd} {
    start_servers [list p [list kind ours overrides [dict merge $common [list repl-compression $codec]]] \
                        m [list kind ours overrides [dict merge $common [list repl-compression $codec]]] \
                        s [list kind ours overrides [dict merge $common {repl-compression lz4}]]] {
        follow_from m p
        follow_from s m
        write_some p

        test "$codec: a chained replica has a codec of its own, and the same stream" {
            assert_equal $codec [stream_codec p]
            assert_equal lz4 [stream_codec m]
            assert_equal_data p m
            assert_equal_data p s
            assert_equal {1 1} [list [s [at p] sync_full] [s [at m] sync_full]]
        }

        test "$codec: WAIT is not delayed: each turn's bytes are sent at its end" {
            set from [clock milliseconds]
            for {set i 0} {$i < 100} {incr i} {
                r [at p] set counter $i
                assert_equal 1 [r [at p] wait 1 5000]
            }
            assert_lessthan [expr {[clock milliseconds] - $from}] 3000
        }

        test "$codec: a link that was cut continues, with what was missed" {
            for {set i 0} {$i < 3} {incr i} {
                r [at p] client kill type replica
                write_some p 500
                wait_for_condition 400 50 {[s [at m] master_link_status] eq "up" && [stream_codec p] eq $codec} else { fail "no link" }
                assert_equal_data p m
            }
            assert_equal 1 [s [at p] sync_full]
            assert_morethan_equal [s [at p] sync_partial_ok] 3
        }

        test "$codec: a replica that was stopped for long catches up" {
            config_set repl-backlog-size 64mb [at p]
            exec kill -STOP [srv [at m] pid]
            set value [string repeat "0123456789 abcdefghij " 5000]
            for {set i 0} {$i < 300} {incr i} { r [at p] set big:[expr {$i % 10}] $value$i }
            exec kill -CONT [srv [at m] pid]
            assert_equal_data p m
            assert_equal_data p s
            assert_equal 1 [s [at p] sync_full]
        }

        test "$codec: a transaction, big arguments, and many databases arrive" {
            r [at p] multi
            for {set i 0} {$i < 50} {incr i} { r [at p] incr n }
            r [at p] set random [string range [exec head -c 300000 /dev/urandom | base64] 0 300000]
            r [at p] exec
            r [at p] select 9
            r [at p] set k [string repeat x 3000000]
            r [at p] select 0
            assert_equal_data p m
            assert_equal_data p s
        }

        test "$codec: a change of the primary's setting connects again, without a full synchronization" {
            set partial [s [at p] sync_partial_ok]
            config_set repl-compression no [at p]
            wait_for_condition 400 50 {[stream_codec p] eq "plain" && [s [at p] sync_partial_ok] == $partial + 1 && [s [at m] master_link_status] eq "up"} else { fail [s [at p] slave0] }
            write_some p 100
            assert_equal_data p m
            config_set repl-compression $codec [at p]
            wait_for_condition 400 50 {[stream_codec p] eq $codec && [s [at m] master_link_status] eq "up"} else { fail [s [at p] slave0] }
            assert_equal 1 [s [at p] sync_full]
        }

        test "$codec: so does a change of the replica's" {
            config_set repl-compression no [at m]
            wait_for_condition 400 50 {[stream_codec p] eq "plain" && [s [at m] master_link_status] eq "up"} else { fail [s [at p] slave0] }
            wait_for_log "*repl-compression has changed*" 0 100 50 [at m]
            config_set repl-compression $codec [at m]
            wait_for_condition 400 50 {[stream_codec p] eq $codec && [s [at m] master_link_status] eq "up"} else { fail [s [at p] slave0] }
            write_some p 100
            assert_equal_data p m
            assert_equal 1 [s [at p] sync_full]
        }

        test "$codec: a failover exchanges the roles, and the link stays compressed" {
            r [at s] replicaof no one
            r [at p] failover
            wait_for_condition 400 50 {[lindex [r [at m] role] 0] eq "master" && [s [at p] master_link_status] eq "up"} else { fail "no failover" }
            write_some m 100
            wait_for_condition 200 50 {[string match "*repl_compression=$codec*" [s [at m] slave0][s [at m] slave1]]} else { fail [r [at m] info replication] }
            assert_equal_data p m
        }
    }
}

# ---- A hostile primary --------------------------------------------------------------------------------------------

start_server [list overrides [dict merge $common {repl-compression lz4}]] {
    set port [primary_listen]
    set fd [up_at $port 100]
    primary_send $fd [command SELECT 0][command set k v]
    wait_for_offset [expr {100 + [string length [command SELECT 0][command set k v]]}]
    close $fd

    foreach {what bytes} [list \
        "an unknown codec" [binary format a3cccc VCS 1 9 0 2] \
        "an unknown version" [binary format a3cccc VCS 2 1 0 2] \
        "the kind of a file" [envelope 1 1]\x04\x22\x4d\x18 \
        "no frame" [envelope 1 2][string repeat x 100] \
        "another codec's frame" [envelope 1 2]\x28\xb5\x2f\xfd[string repeat \x00 40] \
        "a broken block" [envelope 1 2]\x04\x22\x4d\x18\x74\x40\xbd[string repeat \xff 100] \
    ] {
        test "a stream with $what is refused, and the link is established again from the same place" {
            set offset [s master_repl_offset]
            set fd [primary_accept]
            assert_equal [list PSYNC $::id_a [expr {$offset + 1}]] [primary_greet $fd]
            primary_send $fd "+CONTINUE $::id_a\r\n$bytes"
            wait_for_log "*The compressed stream of the primary is refused*"
            wait_for_condition 100 50 {[s master_link_status] eq "down" || [llength $::primary_came]} else { fail "the link stays" }
            assert_equal v [r get k]
            assert_equal $offset [s master_repl_offset]
            close $fd
        }
    }

    test {after them a plain stream continues} {
        set offset [s master_repl_offset]
        set fd [primary_accept]
        assert_equal [list PSYNC $::id_a [expr {$offset + 1}]] [primary_greet $fd]
        primary_send $fd "+CONTINUE $::id_a\r\n"
        primary_send $fd [command set k w]
        wait_for_condition 100 50 {[r get k] eq "w"} else { fail "it is not applied" }
        part $fd
    }

    test {a snapshot that is damaged or not complete is refused, and the old data stay} {
        r replicaof no one
        r set old data
        r config set repl-diskless-load disabled
        foreach bytes [list [envelope 1 1]\x04\x22\x4d\x18\x74\x40\xbd[string repeat \xff 100] [envelope 7 1]abcdefghijkl [envelope 1 1]] {
            r replicaof 127.0.0.1 $port
            set fd [primary_accept]
            primary_greet $fd
            primary_send $fd "+FULLRESYNC $::id_b 100\r\n\$[string length $bytes]\r\n$bytes"
            wait_for_condition 100 50 {[s master_sync_in_progress] == 0} else { fail "it goes on" }
            assert_equal data [r get old]
            part $fd
        }
    }
}
}

# ---- Servers that do not know it ----------------------------------------------------------------------------------

proc assert_same_keys {a b} {
    wait_for_offset_of $a $b
    set keys [lmap i [numbers 0 499] { set _ key:$i }]
    assert_equal [list [r [at $a] dbsize] [r [at $a] mget {*}$keys]] [list [r [at $b] dbsize] [r [at $b] mget {*}$keys]]
}

if {[valkey_oracle] ne {}} {
    tags {replication external:skip} {
        foreach {p s} {ours valkey valkey ours} {
            set old [list save {} repl-diskless-sync-delay 0 enable-debug-command yes]
            set ours [dict merge $old {repl-compression zstd rdbcompression zstd}]
            start_servers [list p [list kind $p overrides [expr {$p eq "ours" ? $ours : $old}]] s [list kind $s overrides [expr {$s eq "ours" ? $ours : $old}]]] {
                test "9.1.2: a link from $p to $s is plain" {
                    r [at p] debug populate 1000
                    follow_from s p
                    write_some p 500
                    assert_same_keys p s
                    assert_equal plain [stream_codec p]
                    r [at p] client kill type replica
                    write_some p 500
                    wait_for_condition 400 50 {[s [at s] master_link_status] eq "up"} else { fail "no link" }
                    assert_same_keys p s
                    assert_equal 1 [s [at p] sync_full]
                }
            }
        }
    }
}
