# 9.2 §9, repl-compression: snapshots for replicas, and what is stored of them.
source [file join [file dirname [info script]] compression_util.tcl]

tags {replication external:skip needs:debug} {

# ---- Full synchronization -----------------------------------------------------------------------------------------

start_server [list overrides [dict merge $common {repl-compression zstd}]] {
    r debug populate 300 key 100
    set lz4 {capa eof capa psync2 capa lz4 version 9.2.0 listening-port 7001}
    set zstd {capa eof capa psync2 capa lz4 capa zstd version 9.2.0 listening-port 7002}

    test {a snapshot is an RDB stream between the marks, and the stream after it another one} {
        foreach {words codec} [list $lz4 1 $zstd 2] {
            set f [asker $words]
            asker_ask $f
            set offset [asker_full $f]
            set bulk [asker_bulk $f]
            assert_equal sockets [dict get $bulk kind]
            assert [starts_with [envelope $codec 1] [dict get $bulk bytes]]
            assert_sound [dict get $bulk bytes]
            $f write [resp::encode [list REPLCONF ACK $offset]]
            r set k v
            assert_equal [envelope $codec 2] [$f rawread 7]
            $f close
        }
    }

    test {after +CONTINUE the stream is compressed at once} {
        set f [asker $zstd]
        $f write "PSYNC [s master_replid] [expr {[s master_repl_offset] + 1}]\r\n"
        assert_equal "+CONTINUE [s master_replid]" [asker_line $f]
        r set k v2
        assert_equal [envelope 2 2] [$f rawread 7]
        $f close
    }

    test {replicas that wait are grouped by their codecs} {
        config_set repl-diskless-sync-delay 2
        set askers {}
        foreach words [list $zstd $lz4 {capa eof capa psync2 version 9.2.0} $lz4 $zstd] {
            lappend askers [set f [asker $words]]
            asker_ask $f
        }
        set forks [s total_forks]
        foreach f $askers codec {2 1 0 1 2} {
            asker_full $f
            set bytes [dict get [asker_bulk $f] bytes]
            assert_equal [expr {$codec > 0}] [starts_with [envelope $codec 1] $bytes]
            $f close
        }
        assert_equal 3 [expr {[s total_forks] - $forks}]
        config_set repl-diskless-sync-delay 0
    }

    test {a slow replica is disconnected at its limit, and nothing of it is kept} {
        config_set repl-backlog-size 16kb
        config_set client-output-buffer-limit {replica 5mb 0 0}
        set f [asker $zstd]
        asker_ask $f
        set offset [asker_full $f]
        asker_bulk $f
        $f write [resp::encode [list REPLCONF ACK $offset]]
        wait_for_condition 100 50 {[string match *repl_compression=zstd* [s slave0]]} else { fail [s slave0] }
        set noise [exec head -c 3000000 /dev/urandom | base64 -w 0]
        for {set i 0} {$i < 40 && [s connected_slaves]} {incr i} { r set noise $noise$i }
        wait_for_condition 100 50 {[s connected_slaves] == 0} else { fail [s slave0] }
        wait_for_log "*flags=S*scheduled to be closed ASAP for overcoming of output buffer limits*"
        wait_for_condition 100 50 {[s mem_clients_slaves] < 100000} else { fail [s mem_clients_slaves] }
        $f close
        config_set client-output-buffer-limit {replica 256mb 64mb 60}
        r del noise
    }

    test {a snapshot from a file: it is sent as it is when its codec is that of the link} {
        config_set repl-diskless-sync no
        foreach {file words kind start} [list lz4 $lz4 disk [envelope 1 1]  zstd $zstd disk [envelope 2 1] \
                yes $lz4 sockets [envelope 1 1]  zstd $lz4 sockets [envelope 1 1] \
                yes {capa eof capa psync2 version 9.2.0} disk REDIS0011  lz4 {capa eof capa psync2 version 9.2.0} sockets VALKEY080] {
            config_set rdbcompression $file
            set f [asker $words]
            asker_ask $f
            asker_full $f
            set bulk [asker_bulk $f]
            assert_equal $kind [dict get $bulk kind] "$file, $words"
            assert [starts_with $start [dict get $bulk bytes]] "$file, $words: [string range [dict get $bulk bytes] 0 9]"
            assert_sound [dict get $bulk bytes]
            $f close
        }
    }

    test {a replica that needs the file and cannot read its codec is refused} {
        config_set rdbcompression lz4
        foreach words {{} {capa psync2} {capa psync2 version 9.1.2}} {
            set f [asker $words]
            asker_ask $f
            assert_match "-ERR The RDB file is compressed*" [asker_line $f]
            $f close
        }
        set f [asker {capa psync2 capa lz4}]
        asker_ask $f
        asker_full $f
        assert [starts_with [envelope 1 1] [dict get [asker_bulk $f] bytes]]
        $f close
        config_set rdbcompression yes
        config_set repl-diskless-sync yes
    }
}

foreach {link own start} [list lz4 yes VALKEY080 zstd no VALKEY080 zstd lz4 [envelope 1 1] no lz4 [envelope 1 1] lz4 lz4 [envelope 1 1]] {
    start_servers [list p [list kind ours overrides [dict merge $common [list repl-compression $link]]] \
                        s [list kind ours overrides [dict merge $common [list repl-compression $link rdbcompression $own save {900 1}]]]] {
        test "a snapshot that came with $link is stored as rdbcompression $own says" {
            r [at p] debug populate 3000 key 200
            follow_from s p
            assert_equal_data p s
            set file [read_file [srv [at s] dir]/dump.rdb]
            assert [starts_with $start $file] [string range $file 0 9]
            assert_sound $file
        }
    }
}

foreach load {disabled flush-before-load swapdb} {
    start_servers [list p [list kind ours overrides [dict merge $common {repl-compression zstd dual-channel-replication-enabled yes repl-diskless-sync yes}]] \
                        s [list kind ours overrides [dict merge $common [list repl-compression zstd dual-channel-replication-enabled yes repl-diskless-load $load]]]] {
        test "dual channel, repl-diskless-load $load: snapshot and stream are compressed" {
            r [at p] debug populate 20000 key 100
            config_set rdb-key-save-delay 50 [at p]
            r [at s] replicaof 127.0.0.1 [srv [at p] port]
            wait_for_condition 200 20 {[s [at s] master_sync_in_progress]} else { fail "it does not begin" }
            write_some p 1000
            wait_for_condition 400 50 {[s [at s] master_link_status] eq "up"} else { fail "the link is not up" }
            assert_equal zstd [stream_codec p]
            assert_equal_data p s
            write_some p 100
            assert_equal_data p s
        }
    }
}
}
