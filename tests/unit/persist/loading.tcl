# While a file is loaded, and files that cannot be.
source [file join [file dirname [info script]] rdb_util.tcl]

# Makes a file with so many keys, in the folder of the innermost server. Each of them is larger than the least
# interval at which clients are served, so key-load-delay decides how long they wait.
proc make_file {keys} {
    r config set rdbcompression no
    r flushall
    r debug populate $keys key 1100
    r save
    r flushall
}

tags {external:skip needs:debug} {
    start_server {overrides {loading-process-events-interval-bytes 1024}} {
        test {clients get -LOADING, INFO shows the progress} {
            make_file 2000
            r config set key-load-delay 20000
            set c [valkey_deferring_client]
            $c debug reload nosave
            wait_for_condition 500 20 {[s loading] == 1} else { fail "it does not load" }
            foreach command {ping {get key:1} {set k v} dbsize {eval {return 1} 0} save bgsave} {
                assert_error "LOADING Valkey is loading the dataset in memory" { r {*}$command } $command
            }
            assert_morethan [r client id] 0
            assert_error "LOADING*" { r debug reload }
            assert_equal {key-load-delay 20000} [r config get key-load-delay]
            assert_equal [file size [srv dir]/dump.rdb] [s loading_total_bytes]
            assert_range [s loading_start_time] [expr {[clock seconds] - 120}] [clock seconds]
            assert_morethan [s loading_rdb_used_mem] 100000
            wait_for_condition 500 20 {[s loading_loaded_bytes] > 0} else { fail "no progress" }
            assert_range [s loading_loaded_perc] 0.01 100
            assert_morethan_equal [s loading_eta_seconds] 0
            assert_equal 0 [s async_loading]
            r config set key-load-delay 0
            assert_equal OK [$c read]
            assert_equal 0 [s loading]
            assert_equal {} [s loading_total_bytes]
            assert_equal 2000 [r dbsize]
            $c close
        }

        test {a pause ends in time while a file is loaded} {
            make_file 2000
            r config set key-load-delay 20000
            set c [valkey_deferring_client]
            $c debug reload nosave
            wait_for_condition 500 20 {[s loading] == 1} else { fail "it does not load" }
            assert_equal OK [r client pause 100 all]
            assert_equal 1 [s loading]
            r config set key-load-delay 0
            assert_equal OK [$c read]
            $c close
        }

        test {clients connect and disconnect while a file is loaded} {
            make_file 2000
            r config set key-load-delay 20000
            set c [valkey_deferring_client]
            $c debug reload nosave
            wait_for_condition 500 20 {[s loading] == 1} else { fail "it does not load" }
            for {set i 0} {$i < 20} {incr i} {
                set d [valkey_client]
                assert_error "LOADING*" { $d get k }
                $d close
            }
            set d [valkey_deferring_client]
            $d write "ECHO a\r\nGET k\r\nLASTSAVE\r\nSET half"
            assert_equal a [$d read]
            assert_error "LOADING*" { $d read }
            assert_morethan [$d read] 1000000000
            r config set key-load-delay 0
            assert_equal OK [$c read]
            $d write " 1\r\n"
            assert_equal OK [$d read]
            $c close
            $d close
        }
    }

    start_server {overrides {appendonly yes aof-use-rdb-preamble no}} {
        test {commands of an append-only file are delayed, too, and clients served meanwhile} {
            for {set i 0} {$i < 2000} {incr i} { r set key:$i v }
            set c [valkey_client]
            r config set key-load-delay 20000
            set d [valkey_deferring_client]
            $d debug loadaof
            wait_for_condition 500 20 {[status $c loading] == 1} else { fail "it does not load" }
            assert_error "LOADING*" { $c get key:1 }
            $c config set key-load-delay 0
            assert_equal OK [$d read]
            assert_equal 2000 [r dbsize]
            $c close
            $d close
        }
    }

    foreach {name how} {SIGTERM {exec kill -TERM [srv pid]} SHUTDOWN {catch { [valkey_client] shutdown }}} {
        test "$name while the server starts and loads" {
            start_server {overrides {save "100000 1"}} {
                make_file 2000
                r debug populate 2000 key 1100
                r save
                set before [read_file [srv dir]/dump.rdb]
                catch { r shutdown nosave }
                wait_for_exit [srv dir]
                set at [llength [log_lines]]
                lset ::servers end [spawn [dict replace [lindex $::servers end] args {--key-load-delay 20000
                    --loading-process-events-interval-bytes 1024}]]
                wait_for_log "Loading RDB produced by Valkey version" [expr {$at - 1}]
                wait_for_condition 500 20 {![catch {valkey_client} c]} else { fail "it does not listen" }
                assert_error "LOADING*" { $c get key:1 }
                assert_equal 1 [status $c loading]
                eval $how
                assert_equal 0 [wait_for_exit [srv dir]]
                assert_equal $before [read_file [srv dir]/dump.rdb]
                if {$name eq "SIGTERM"} { wait_for_log "Received a signal to shut down while loading, so the server exits at once" }
            }
        }
    }

    # Refusals because of the role take precedence over those because of loading: clients take READONLY for a
    # failover.
    foreach {what arguments expected} {
        "a primary" {} {LOADING LOADING}
        "a read-only replica" {--replicaof 127.0.0.1 1} {READONLY LOADING}
        "a writable replica" {--replicaof 127.0.0.1 1 --replica-read-only no} {LOADING LOADING}
        "a replica that must not show old data" {--replicaof 127.0.0.1 1 --replica-serve-stale-data no} {READONLY MASTERDOWN}
    } {
        test "errors of $what that starts and loads" {
            start_server {overrides {save "100000 1"}} {
                make_file 2000
                r debug populate 2000 key 1100
                catch { r shutdown }
                wait_for_exit [srv dir]
                lset ::servers end [spawn [dict replace [lindex $::servers end] args [concat {--key-load-delay 20000
                    --loading-process-events-interval-bytes 1024} $arguments]]]
                wait_for_condition 500 20 {![catch {valkey_client} c]} else { fail "it does not listen" }
                assert_equal $expected [lmap command {{set k v} {get k}} { catch { $c {*}$command } error; lindex $error 0 }]
                assert_equal 1 [status $c loading]
                $c close
            }
        }
    }

    test {the log of a start with a file} {
        start_server {overrides {save "100000 1"}} {
            r set k v
            r set over 1 px 1
            r debug set-active-expire 0
            restart_server
            assert_in_order [read_file [srv log]] {"Loading RDB produced by Valkey version 9" "The RDB file is * seconds old"
                "The server that wrote the RDB file was using * MB" "Done loading RDB, keys loaded: 1, keys expired: *." "Dataset loaded from the RDB file in * seconds"
                "Ready to accept connections"}
            assert_equal 1 [s rdb_last_load_keys_loaded]
            assert_equal 0 [s rdb_changes_since_last_save]
        }
    }

    # ---- Files that cannot be read ----

    start_server {overrides {sanitize-dump-payload yes}} {
        fill_every_type r 1
        foreach k {str:long list:plain} { r del $k }
        r save
        set whole [read_file [srv dir]/dump.rdb]

        test {a file that is cut off anywhere is an error} {
            set size [string length $whole]
            for {set n 0} {$n < $size} {incr n [expr {$n < 600 || $n > $size - 50 ? 1 : 97}]} {
                write_bytes [srv dir]/dump.rdb [string range $whole 0 $n-1]
                assert_error "ERR Error trying to load the RDB dump*" { r debug reload nosave } "$n of $size bytes"
            }
        }

        test {a bit that is flipped anywhere is an error} {
            binary scan $whole cu* bytes
            for {set n 0} {$n < $size} {incr n [expr {$n < 600 ? 1 : 61}]} {
                write_bytes [srv dir]/dump.rdb [with_byte $whole $n [expr {[lindex $bytes $n] ^ (1 << [randomInt 8])}]]
                assert_error "ERR Error trying to load the RDB dump*" { r debug reload nosave } "byte $n"
            }
            write_bytes [srv dir]/dump.rdb $whole
            assert_equal OK [r debug reload nosave]
        }
    }

    foreach deep {no yes} {
        start_server [list overrides [list rdbchecksum no sanitize-dump-payload $deep maxmemory 1gb]] {
            test "changed bytes in a file without a checksum cause nothing but an error (deep checks: $deep)" {
                fill_every_type r 1
                foreach k {str:long list:plain} { r del $k }
                r save
                set whole [read_file [srv dir]/dump.rdb]
                set size [string length $whole]
                set wrong 0
                for {set i 0} {$i < 700} {incr i} {
                    set bytes $whole
                    for {set k [randomRange 1 3]} {$k > 0} {incr k -1} {
                        set bytes [with_byte $bytes [randomRange 9 [expr {$size - 1}]] [randomInt 256]]
                    }
                    write_bytes [srv dir]/dump.rdb $bytes
                    incr wrong [catch { r debug reload nosave } problem]
                    if {[string match "I/O*" $problem]} {
                        file rename -force [srv dir]/dump.rdb $::work_dir/culprit.rdb
                        fail "the server did not survive $::work_dir/culprit.rdb"
                    }
                    if {$i % 50 == 0} { digest }
                }
                assert_morethan $wrong 50
                assert_equal PONG [r ping]
            }
        }
    }

    # Each file with the expected line of the log.
    set head "\xfa\nvalkey-ver\x059.1.0"
    set cases [list \
        {an empty file} {} "offset 0: *" \
        {no RDB file} "REDUS0011[string repeat x 20]" "The file does not begin with the signature of an RDB file" \
        {no version} "REDISabcd[string repeat x 20]" "The file does not begin with the signature of an RDB file" \
        {version 0} [rdb_file REDIS0000 {}] "Can't handle RDB format version 0" \
        {version 14} [rdb_file REDIS0014 {}] "Can't handle RDB format version 14" \
        {version 79} [rdb_file REDIS0079 {}] "Can't handle RDB format version 79" \
        {version 80 under another name} [rdb_file REDIS0080 {}] "Can't handle RDB format version 80" \
        {version 11 under our name} [rdb_file VALKEY011 {}] "Can't handle RDB format version 11" \
        {version 12 under our name} [rdb_file VALKEY012 {}] "Can't handle RDB format version 12" \
        {version 82} [rdb_file VALKEY082 {}] "Can't handle RDB format version 82" \
        {too many databases} [rdb_file REDIS0011 $head\xfe\x10] \
            "The file has keys in a database beyond the 16 that are configured: raise the directive databases" \
        {data of a module} [rdb_file REDIS0011 $head\xf7\x81[binary format W 0x0001020304050600]\x00] \
            "The RDB file holds auxiliary data of the module '*', which is not loaded" \
        {a value of a module} [rdb_file REDIS0011 $head\xfe\x00\x07\x01k\x00] "there is a value of the module type '*', but no loaded module provides that type" \
        {functions of a preview} [rdb_file REDIS0011 $head\xf6\x00] "Functions in the format of a pre-release version cannot be read" \
        {an unknown opcode} [rdb_file REDIS0011 $head\xf0] "unknown opcode 240" \
        {a key twice} [rdb_file REDIS0011 $head\xfe\x00\x00\x01k\x01v\x00\x01k\x01w] "The file holds the key 'k' in database 0 twice" \
        {a wrong checksum} [string range [rdb_file REDIS0011 $head] 0 end-1]\x01 "The contents have the checksum *, but the file says *" \
        {a value that is not sound} [rdb_file REDIS0011 $head\xfe\x03\x0b\x07bad\x01key\x08\x03\x00\x00\x00\x01\x00\x00\x00] \
            {Loading failed within the value of key "bad\\x01key" in database 3, which has RDB type 11 (set-intset).*Internal error} \
        {a string longer than the file} [rdb_file REDIS0011 $head\xfe\x00\x00\x01k\x80\x7f\xff\xff\xff] "*bytes announced*" \
    ]
    foreach {name bytes reason} $cases {
        test "the server does not start with $name, and does not change the file" {
            set dir $::work_dir/bad
            file mkdir $dir
            write_bytes $dir/dump.rdb $bytes
            lassign [run_to_end --port [free_port] --bind 127.0.0.1 --dir $dir --save 900 1] code output
            assert_equal 1 $code
            assert_match "*Internal error in RDB reading offset *: *" $output
            assert_match "*$reason*" $output
            assert_match "*The dataset could not be loaded, so the server exits*" $output
            assert_equal $bytes [read_file $dir/dump.rdb]
            assert_equal $dir/dump.rdb [glob $dir/*]
        }
    }

    # ---- Files that can ----

    set cases [list \
        {version 1, seconds, no checksum} REDIS0001\xfe\x00\xfd\xff\xff\xff\x7f\x00\x01k\x01v\xff {k v} \
        {version 4} REDIS0004\xfe\x00\x00\x01k\x01v\xff {k v} \
        {version 5} [rdb_file REDIS0005 \xfe\x00\x00\x01k\x01v] {k v} \
        {no checksum kept} REDIS0011\xfe\x00\x00\x01k\x01v\xff[binary format w 0] {k v} \
        {bytes behind the end} [rdb_file REDIS0011 \xfe\x00\x00\x01k\x01v]more {k v} \
        {unknown AUX fields} [rdb_file REDIS0011 \xfa\x06nosuch\x03abc\xfe\x00\x00\x01k\x01v] {k v} \
        {slot info} [rdb_file REDIS0011 \xfe\x00\xf4\x01\x02\x03\x00\x01k\x01v] {k v} \
        {sizes that lie} [rdb_file REDIS0011 \xfe\x00\xfb\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x00\x01k\x01v] {k v} \
        {idle time and uses} [rdb_file REDIS0011 \xfe\x00\xf8\x0a\x00\x01k\x01v\xf9\xff\x00\x01l\x01w] {k v l w} \
        {an empty list, which old servers wrote} [rdb_file REDIS0011 \xfe\x00\x01\x04none\x00\x00\x01k\x01v] {k v} \
        {version 12} [rdb_file REDIS0012 \xfe\x00\x00\x01k\x01v] {k v} \
        {version 13} [rdb_file REDIS0013 \xfe\x00\x00\x01k\x01v] {k v} \
        {version 80} [rdb_file VALKEY080 \xfe\x00\x00\x01k\x01v] {k v} \
        {numbers and compressed strings} \
            [rdb_file REDIS0011 \xfe\x00\x00\xc0\x07\xc1\x39\x30\x00\x01z\xc3\x06\x1e\x01aa\xe0\x13\x00] \
            [list 7 12345 z [string repeat a 30]] \
    ]
    start_server {} {
        foreach {name bytes pairs} $cases {
            test "loaded: $name" {
                write_bytes [srv dir]/dump.rdb $bytes
                assert_equal OK [r debug reload nosave]
                assert_equal [expr {[llength $pairs] / 2}] [r dbsize]
                foreach {key value} $pairs { assert_equal $value [r get $key] }
            }
        }

        test {rdb-version-check relaxed tries what is newer} {
            foreach magic {REDIS0014 REDIS0079 VALKEY082} {
                write_bytes [srv dir]/dump.rdb [rdb_file $magic \xfe\x00\x00\x01k\x01v]
                assert_error "ERR*" { r debug reload nosave }
                r config set rdb-version-check relaxed
                assert_equal OK [r debug reload nosave]
                assert_equal v [r get k]
                r config set rdb-version-check strict
            }
        }
    }
}
