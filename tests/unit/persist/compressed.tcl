# 9.2 §8, §6 rdbcompression: RDB files and bases of the append-only file that are compressed as a whole.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/faults.tcl

set ENVELOPE_ERROR "Invalid or unsupported RDB stream envelope"
set SKIPPED "Logical RDB CRC64 skipped for streaming-compressed input"
# The first bytes of a file by codec: envelope and magic.
set heads [dict create lz4 VCS\x01\x01\x00\x01\x04\x22\x4d\x18 zstd VCS\x01\x02\x00\x01\x28\xb5\x2f\xfd]

proc dump_file {{level 0}} { return [read_file [srv $level dir]/dump.rdb] }

proc byte_at {bytes at} {
    binary scan [string index $bytes $at] cu byte
    return $byte
}

# Bytes that do not get shorter.
proc noise {n} {
    set f [open /dev/urandom rb]
    set bytes [read $f $n]
    close $f
    return $bytes
}

proc has_tools {} { return [expr {[auto_execok lz4] ne {} && [auto_execok zstd] ne {}}] }

# What is in a compressed file, by the programs lz4 and zstd.
proc unpacked {bytes} {
    set tool [lindex {- lz4 zstd} [byte_at $bytes 4]]
    set base $::work_dir/unpack.[pid]
    write_bytes $base.in [string range $bytes 7 end]
    exec $tool -q -d -f -c $base.in > $base.out 2> /dev/null
    return [read_file $base.out]
}

# These bytes as a frame made by one of these programs, in an envelope.
proc packed {bytes tool args} {
    set base $::work_dir/pack.[pid]
    write_bytes $base.in $bytes
    exec $tool -q -f -c {*}$args < $base.in > $base.out 2> /dev/null
    return [string range [dict get $::heads $tool] 0 6][read_file $base.out]
}

tags {external:skip needs:debug} {
    # ---- Saving and loading ----

    foreach codec {lz4 zstd} {
        foreach checksum {yes no} {
            start_server [list overrides [list rdbcompression $codec rdbchecksum $checksum]] {
                test "9.2 §8: every type comes back from a file of $codec, rdbchecksum $checksum" {
                    fill_every_type r 1
                    set before [digest]
                    assert_equal OK [r debug reload]
                    assert_equal $before [digest]
                    assert_equal 1 [count_log_message $SKIPPED]
                    assert_equal [dict get $heads $codec] [string range [dump_file] 0 10]
                    r config set save "3600 1"
                    r set k v
                    set before [digest]
                    restart_server
                    assert_equal $before [digest]
                    r config set save {}
                }

                test "9.2 §8: checksums of the frame, $codec, rdbchecksum $checksum" {
                    set descriptor [byte_at [dump_file] 11]
                    set mask [dict get {lz4 0x14 zstd 0x04} $codec]
                    assert_equal [expr {$checksum ? $mask : 0}] [expr {$descriptor & $mask}]
                    if {$codec eq "lz4"} {
                        assert_equal 0 [expr {$descriptor & 0x20}] "blocks are linked"
                        assert_equal 0x40 [format 0x%x [expr {[byte_at [dump_file] 12] & 0x70}]] "of 64 KiB"
                    }
                }

                test "9.2 §8: inside is a normal RDB, $codec, rdbchecksum $checksum" {
                    if {![has_tools]} { skip "no lz4 and zstd programs" }
                    r flushall
                    r set compressible [string repeat abcdefgh 20]
                    r save
                    set inside [unpacked [dump_file]]
                    assert_equal REDIS0011 [string range $inside 0 8]
                    assert_equal \xff[binary format w 0] [string range $inside end-8 end]
                    assert_match "*compressible\x40\xa0[string repeat abcdefgh 20]*" $inside
                }
            }
        }
    }

    start_server {overrides {rdbcompression yes}} {
        test {9.2 §6: rdbcompression takes five words} {
            foreach word {no yes lzf lz4 zstd LZ4} {
                r config set rdbcompression $word
                assert_equal [list rdbcompression [string tolower $word]] [r config get rdbcompression]
            }
            assert_error "*argument(s) must be one of the following: no, yes, lzf, lz4, zstd" { r config set rdbcompression lzma }
            assert_error "*argument(s) must be one of the following: no, yes, lzf, lz4, zstd" { r config set rdbcompression {} }
            assert_equal lz4 [config_get rdbcompression]
        }

        test {9.2 §8: no, yes and lzf make plain files, yes and lzf the same} {
            r flushall
            r set compressible [string repeat abcdefgh 200]
            foreach word {no yes lzf} {
                r config set rdbcompression $word
                r save
                assert_equal REDIS0011 [string range [dump_file] 0 8]
                dict set sizes $word [string length [dump_file]]
                assert_equal OK [r debug reload nosave]
            }
            assert_lessthan [dict get $sizes yes] 400
            assert_range [dict get $sizes lzf] [expr {[dict get $sizes yes] - 8}] [expr {[dict get $sizes yes] + 8}]
            assert_morethan [dict get $sizes no] 1600
        }

        test {9.2 §8: files are recognized whatever the setting says} {
            fill_every_type r 1
            set before [digest]
            foreach saved {no yes lzf lz4 zstd} {
                r config set rdbcompression $saved
                r save
                foreach setting {no yes lz4 zstd} {
                    r config set rdbcompression $setting
                    assert_equal OK [r debug reload nosave]
                    assert_equal $before [digest] "$saved, $setting"
                }
            }
        }

        test {9.2 §8: a running save keeps the mode that it began with} {
            r flushall
            r debug populate 30
            foreach {before meanwhile head} {lz4 no VCS\x01\x01 no zstd REDIS zstd lz4 VCS\x01\x02} {
                r config set rdbcompression $before
                r config set rdb-key-save-delay 10000
                r bgsave
                assert_equal 1 [s rdb_bgsave_in_progress]
                r config set rdbcompression $meanwhile
                wait_for_save
                assert_equal $head [string range [dump_file] 0 4]
            }
            r config set rdb-key-save-delay 0
        }

        test {9.2 §8: DUMP never uses an envelope} {
            r set compressible [string repeat abcdefgh 200]
            foreach setting {no yes lz4 zstd} {
                r config set rdbcompression $setting
                set payload [r dump compressible]
                assert_equal \x00 [string index $payload 0]
                assert_equal -1 [string first VCS $payload]
                r restore copy 0 $payload replace
                assert_equal [r get compressible] [r get copy]
            }
        }

        test {BGSAVE, SHUTDOWN and save points write compressed files} {
            r config set rdbcompression zstd
            r set k 1
            r bgsave
            wait_for_save
            assert_equal ok [s rdb_last_bgsave_status]
            assert_equal [dict get $heads zstd] [string range [dump_file] 0 10]
            r config set rdbcompression lz4
            r config set save "1 1"
            r set k 2
            wait_for_condition 400 25 {[string range [dump_file] 0 10] eq [dict get $heads lz4]} else { fail "no save point" }
            r config set rdbcompression zstd
            wait_for_save
            r set k 3
            set dir [srv dir]
            restart_server
            # The server starts with rdbcompression yes, and has written the file with zstd when it ended.
            assert_equal [dict get $heads zstd] [string range [dump_file] 0 10]
            assert_equal 3 [r get k]
        }
    }

    # ---- Other writers of frames ----

    start_server {} {
        r set k [string repeat v 100]
        r save
        set plain [dump_file]
        set big {}
        for {set i 0} {$i < 3000} {incr i} { r set key:$i [randstring 100 200 text]}
        r save
        set larger [dump_file]
        set digest [digest]

        foreach {tool args} {
            lz4 {-1} lz4 {-9 -B4} lz4 {-B5 -BI} lz4 {-B7 -BD -BX} lz4 {-12 -B6 -BD} lz4 --no-frame-crc
            zstd {-1} zstd {-19} zstd {--no-check -3} zstd {--long=23} zstd {--fast=3}
        } {
            test "9.2 §8: readers accept any valid frame: $tool $args" {
                if {![has_tools]} { skip "no lz4 and zstd programs" }
                write_bytes [srv dir]/dump.rdb [packed $larger $tool {*}$args]
                assert_equal OK [r debug reload nosave]
                assert_equal $digest [digest]
                # The CRC-64 inside does not count.
                write_bytes [srv dir]/dump.rdb [packed [string range $plain 0 end-8]\x01\x02\x03\x04\x05\x06\x07\x08 $tool {*}$args]
                assert_equal OK [r debug reload nosave]
                assert_equal [string repeat v 100] [r get k]
            }
        }

        test {a frame with a window above 8 MiB, a frame of nothing, more in the frame than an RDB: refused} {
            if {![has_tools]} { skip "no lz4 and zstd programs" }
            foreach bytes [list [packed $larger zstd --long=27] [packed {} zstd] [packed {} lz4] [packed ${plain}x lz4] \
                               [packed ${plain}x zstd] [packed [packed $plain lz4] lz4] [packed REDIS lz4]] {
                write_bytes [srv dir]/dump.rdb $bytes
                assert_error "ERR Error trying to load the RDB dump*" { r debug reload nosave }
            }
            assert_morethan [count_log_message "there is more in the compressed frame than its contents"] 1
            assert_equal PONG [r ping]
        }

        test {9.2 §8: bytes behind the frame are ignored} {
            foreach codec {lz4 zstd} {
                r flushall
                r set k v
                r config set rdbcompression $codec
                r save
                write_bytes [srv dir]/dump.rdb [dump_file][string repeat more 50000]
                assert_equal OK [r debug reload nosave]
                assert_equal v [r get k]
            }
            assert_equal 2 [count_log_message "There is more behind the end of the RDB data: it is ignored."]
        }
    }

    # ---- Damage ----

    foreach codec {lz4 zstd} {
        start_server [list overrides [list rdbcompression $codec]] {
            r set k v
            r set other [string repeat 0123456789 30]
            r zadd z 1 a 2 b
            r save
            set whole [dump_file]
            set before [digest]

            test "9.2 §8: a file of $codec that is cut off anywhere is refused" {
                for {set n 0} {$n < [string length $whole]} {incr n} {
                    write_bytes [srv dir]/dump.rdb [string range $whole 0 $n-1]
                    assert_error "ERR Error trying to load the RDB dump*" { r debug reload nosave } "$n bytes"
                }
                write_bytes [srv dir]/dump.rdb $whole
                assert_equal OK [r debug reload nosave]
            }

            test "9.2 §8: a changed bit in a file of $codec is found, or has no meaning" {
                set refused 0
                for {set n 0} {$n < [string length $whole]} {incr n} {
                    write_bytes [srv dir]/dump.rdb [with_byte $whole $n [expr {[byte_at $whole $n] ^ (1 << [randomInt 8])}]]
                    if {[catch { r debug reload nosave } error]} {
                        assert_match "ERR Error trying to load the RDB dump*" $error "byte $n"
                        incr refused
                    } else {
                        assert_equal $before [digest] "byte $n"
                    }
                }
                assert_morethan $refused [expr {[string length $whole] - 8}] "the other bits have no meaning"
            }

            foreach {name at value} {version 3 2 version 3 0 codec 4 3 codec 4 0 {byte 5} 5 1 kind 6 2 kind 6 0} {
                test "9.2 §8: the server does not start with an envelope of $codec with $name $value" {
                    set dir $::work_dir/bad
                    file mkdir $dir
                    set bytes [with_byte $whole $at $value]
                    write_bytes $dir/dump.rdb $bytes
                    lassign [run_to_end --port [free_port] --bind 127.0.0.1 --dir $dir --save 900 1] code output
                    assert_equal 1 $code
                    assert_match "*$ENVELOPE_ERROR*The dataset could not be loaded, so the server exits*" $output
                    assert_equal $bytes [read_file $dir/dump.rdb]
                    assert_equal $dir/dump.rdb [glob $dir/*]
                }
            }

            test "changed bytes in a file of $codec without checksums cause nothing but an error" {
                set dir $::work_dir/nosum.$codec
                file mkdir $dir
                start_server [list overrides [list rdbcompression $codec rdbchecksum no dir $dir maxmemory 1gb]] {
                    fill_every_type r 1
                    foreach k {str:long list:plain} { r del $k }
                    r save
                    set large [read_file $dir/dump.rdb]
                    set size [string length $large]
                    for {set i 0} {$i < 300} {incr i} {
                        set bytes $large
                        for {set k [randomRange 1 3]} {$k > 0} {incr k -1} {
                            set bytes [with_byte $bytes [randomRange 12 [expr {$size - 1}]] [randomInt 256]]
                        }
                        write_bytes $dir/dump.rdb $bytes
                        catch { r debug reload nosave } problem
                        if {[string match "I/O*" $problem]} { fail "the server did not survive $dir/dump.rdb" }
                    }
                    assert_equal PONG [r ping]
                    r flushall
                }
            }
        }
    }

    # ---- While it is loaded ----

    start_server {overrides {rdbcompression zstd loading-process-events-interval-bytes 1024}} {
        test {9.2 §8: figures of loading count compressed bytes, and clients are served in between} {
            for {set i 0} {$i < 400} {incr i} { r set key:$i [string repeat x 20000][randstring 50 60 text] }
            r save
            set size [file size [srv dir]/dump.rdb]
            assert_lessthan $size 100000
            r config set key-load-delay 5000
            set c [valkey_deferring_client]
            $c debug reload nosave
            wait_for_condition 500 20 {[s loading] == 1} else { fail "it does not load" }
            set figures {}
            for {set i 0} {$i < 20 && [s loading]} {incr i} {
                set info [r info persistence]
                if {[regexp {loading_loaded_bytes:(\d+)} $info - loaded]} { lappend figures $loaded }
                regexp {loading_total_bytes:(\d+)} $info - total
                after 20
            }
            assert_equal $size $total
            assert_morethan [llength [lsort -unique $figures]] 1
            assert_lessthan_equal [lindex $figures end] $size
            assert_equal $figures [lsort -integer $figures]
            assert_equal OK [$c read]
            $c close
            r config set key-load-delay 0
        }
    }

    start_server {overrides {rdbcompression zstd loading-process-events-interval-bytes 102400}} {
        test {clients are served while a file that is much smaller than its contents is loaded} {
            for {set i 0} {$i < 100} {incr i} { r set key:$i [string repeat x 50000] }
            r save
            assert_lessthan [file size [srv dir]/dump.rdb] 10240
            r config set key-load-delay 15000
            set c [valkey_deferring_client]
            $c debug reload nosave
            wait_for_condition 500 20 {[s loading] == 1} else { fail "no client is served" }
            r config set key-load-delay 0
            assert_equal OK [$c read]
            $c close
        }
    }

    # ---- The append-only file ----

    foreach codec {lz4 zstd} {
        start_server [list overrides [list appendonly yes rdbcompression $codec auto-aof-rewrite-percentage 0]] {
            test "9.2 §8: the base of the append-only file is compressed with $codec" {
                aof_fill
                r bgrewriteaof
                aof_wait_rewrite
                assert_equal [dict get $heads $codec] [string range [read_file [aof_path base]] 0 10]
                assert_match "*.base.rdb" [aof_path base]
                r set after 1
                assert_equal {{SELECT 0} {set after 1}} [aof_commands]
                set digest [digest]
                set manifest [aof_manifest]
                restart_server
                assert_equal $digest [digest]
                assert_equal $manifest [aof_manifest]
                r debug loadaof
                assert_equal $digest [digest]
                lassign [other_face valkey-check-aof [config_get dir]/appendonlydir/appendonly.aof.manifest] code output
                assert_equal 0 $code
                assert_match "*Start to check BASE AOF (RDB format)*RDB looks OK!*All AOF files and manifest are valid" $output
            }

            test "9.2 §8: an old append-only file whose image is compressed with $codec, and commands behind it" {
                set base [read_file [aof_path base]]
                set tail [aof_text {SET after 2} {MULTI} {RPUSH new 1} {RPUSH new 2} {EXEC}]
                foreach {what bytes cut} [list whole $base$tail 0 half "$base$tail*2\r\n\$3\r\nDEL" 1 none $base 0] {
                    set dir $::work_dir/old.$codec.$what
                    file mkdir $dir
                    write_bytes $dir/appendonly.aof $bytes
                    lassign [other_face valkey-check-aof $dir/appendonly.aof] code output
                    assert_equal $cut $code
                    assert_match "*RDB looks OK!*" $output
                    start_server [list overrides [list appendonly yes dir $dir appenddirname appendonlydir]] {
                        assert_equal [expr {$what eq "none" ? {} : "2"}] [r get after]
                        assert_equal [expr {$what eq "none" ? {} : "1 2"}] [r lrange new 0 -1]
                        assert_equal value [r get string]
                        assert_equal $cut [count_log_message "is cut off at offset [string length $base$tail]"]
                        assert_equal [string range $bytes 0 [expr {$cut ? [string length $base$tail] - 1 : "end"}]] \
                            [read_file $dir/appendonlydir/appendonly.aof]
                    }
                }
            }

            test "a base of $codec that is cut off or changed is refused, and the files stay as they are" {
                set base [read_file [aof_path base]]
                set name [file tail [aof_path base]]
                set incr [file tail [aof_path incr]]
                set others [list appendonlydir/$incr [read_file [aof_path incr]] appendonlydir/appendonly.aof.manifest [aof_manifest]]
                foreach n [list 3 7 12 200 [expr {[string length $base] / 2}] [expr {[string length $base] - 1}]] {
                    aof_refused [concat [list appendonlydir/$name [string range $base 0 $n-1]] $others] {aof-load-truncated yes} \
                        "*[expr {$n < 7 ? {Bad file format} : {Loading the AOF base file}}]*"
                }
                aof_refused [concat [list appendonlydir/$name [with_byte $base 4 9]] $others] {} "*$ENVELOPE_ERROR*"
                aof_refused [concat [list appendonlydir/$name [with_byte $base 100 [expr {[byte_at $base 100] ^ 1}]]] $others] {} \
                    "*Loading the AOF base file*"
            }
        }
    }

    # ---- The check tool ----

    start_server {} {
        foreach codec {lz4 zstd} {
            test "9.2 §8: valkey-check-rdb reads files of $codec" {
                r config set rdbcompression $codec
                fill_every_type r 1
                r save
                set path [srv dir]/dump.rdb
                set size [file size $path]
                lassign [check_rdb $path] code output
                assert_equal 0 $code
                assert_in_order $output [list "offset 0] Checking RDB file $path" "logical offset 0, physical offset 0] $SKIPPED" \
                    "logical offset *, physical offset *] AUX FIELD valkey-ver = '9.*'" "Selecting DB ID 3" \
                    "physical offset $size] * RDB looks OK! *" "keys read" "info] 2 expires"]
                assert_no_match "*Checksum OK*" $output
                regexp {logical offset (\d+), physical offset \d+\] .o/ RDB looks} $output - logical
                assert_morethan $logical $size
                lassign [check_rdb $path --stats --format csv] code output
                assert_match "*db.0.type.name,*" $output
            }

            test "9.2 §8: valkey-check-rdb reports damaged files of $codec" {
                set whole [read_file $path]
                foreach n [list 7 20 1000 [expr {$size - 1}]] {
                    write_bytes $path [string range $whole 0 $n-1]
                    lassign [check_rdb $path] code output
                    assert_equal 1 $code
                    assert_match "*RDB ERROR DETECTED*logical offset *, physical offset $n\\] Unexpected EOF reading RDB file*" $output
                }
                foreach at {3 4 5 6} {
                    write_bytes $path [with_byte $whole $at 7]
                    lassign [check_rdb $path] code output
                    assert_equal 1 $code
                    assert_match "*RDB ERROR DETECTED*$ENVELOPE_ERROR*" $output
                }
                write_bytes $path [with_byte $whole 2000 [expr {[byte_at $whole 2000] ^ 4}]]
                assert_match "1*RDB ERROR DETECTED*" [check_rdb $path]
                write_bytes $path $whole
            }
        }
    }

    # ---- Files for Valkey 9.1.2, and from it ----

    foreach setting {no yes lzf} {
        start_servers [list ours [list kind ours overrides [list rdbcompression $setting]] theirs {kind valkey}] {
            test "9.2 §8: with rdbcompression $setting, Valkey 9.1.2 loads our file and we load its file" {
                foreach {from to} [list [at ours] [at theirs] [at theirs] [at ours]] {
                    interp alias {} writer {} r $from
                    fill_every_type writer 1
                    writer save
                    set values [lmap k [lsort [r $from keys *]] { list $k [r $from type $k] [readable $from $k] }]
                    file copy -force [srv $from dir]/dump.rdb [srv $to dir]/dump.rdb
                    r $to debug reload nosave
                    assert_equal $values [lmap k [lsort [r $to keys *]] { list $k [r $to type $k] [readable $to $k] }]
                }
            }
        }
    }

    # ---- Faults ----

    if {![faults_possible]} {
        test {a compressed save that fails leaves the old file} { skip "not with a sanitizer" }
        return
    }
    set program [faults_build]
    faults

    foreach codec {lz4 zstd} {
        foreach {call errno pattern most} {open 28 temp- 1 write 28 temp- 3 write 0 temp- 2 fsync 5 temp- 1 rename 5 dump.rdb 1} {
            test "SAVE and BGSAVE with $codec: $call fails with [expr {$errno ? $errno : {a short write}}], then not" {
                for {set skip 0} {$skip < $most} {incr skip} {
                    start_server [list executable $program overrides [list save "3600 100000" rdbcompression $codec]] {
                        r set generation 1
                        r save
                        set old [dump_file]
                        r debug populate 5000 key 60
                        r set random [noise 400000]
                        r set generation 2
                        set good [expr {!$errno}]
                        foreach save {save bgsave} {
                            faults $call $errno $skip 1 $pattern
                            set failed [catch { r $save }]
                            wait_for_save
                            assert_morethan [faults_seen] $skip "calls"
                            if {$good} { continue }
                            assert_equal [expr {$save eq "save"}] $failed
                            assert_equal [expr {$save eq "save" ? "ok" : "err"}] [s rdb_last_bgsave_status]
                            assert_equal $old [dump_file]
                            assert_equal {} [glob -nocomplain [srv dir]/temp-*]
                        }
                        faults
                        r bgsave
                        wait_for_save
                        assert_equal ok [s rdb_last_bgsave_status]
                        set digest [digest]
                        restart_server
                        assert_equal $digest [digest]
                    }
                }
            }
        }
    }

    test {a server that is killed while it saves with lz4 has the old file} {
        start_server {overrides {rdbcompression lz4}} {
            r set generation 1
            r save
            set old [dump_file]
            r set generation 2
            r debug populate 300
            r config set rdb-key-save-delay 10000
            r bgsave
            after 300
            assert_equal 1 [s rdb_bgsave_in_progress]
            restart_server 0 KILL
            assert_equal $old [dump_file]
            assert_equal 1 [r get generation]
        }
    }

    test {rdb-save-incremental-fsync counts compressed bytes} {
        start_server [list executable $program overrides {save {}}] {
            r debug populate 2000 key 10000
            foreach {incremental codec least most} {yes no 4 6 no lz4 0 0 yes lz4 0 0} {
                r config set rdb-save-incremental-fsync $incremental rdbcompression $codec
                faults fdatasync 0 1000000 0 temp-
                r save
                assert_range [faults_seen] $least $most "$incremental $codec"
            }
            # Random bytes do not get shorter.
            for {set i 0} {$i < 10} {incr i} { r set random:$i [noise 1000000] }
            faults fdatasync 0 1000000 0 temp-
            r save
            assert_range [faults_seen] 2 3
            faults
        }
    }
}
