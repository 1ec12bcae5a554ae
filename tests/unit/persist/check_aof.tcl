# valkey-check-aof: the faults that it finds and repairs.
source [file join [file dirname [info script]] aof_util.tcl]

proc check_aof {args} { return [other_face valkey-check-aof {*}$args] }

proc aof_in_folder {text} {
    set dir $::work_dir/check.[incr ::server_count]
    aof_put_files $dir [aof_one_file $text]
    return $dir/appendonlydir
}

tags {external:skip} {
    start_server {overrides {appendonly yes}} {
        test {the files of a server are valid, with and without an RDB base} {
            aof_fill
            set manifest [config_get dir]/appendonlydir/appendonly.aof.manifest
            foreach preamble {yes no} {
                r config set aof-use-rdb-preamble $preamble
                r bgrewriteaof
                aof_wait_rewrite
                r set after $preamble
                r config set appendfsync always
                lassign [check_aof $manifest] code output
                assert_equal 0 $code
                assert_match "*Start to check BASE AOF ([expr {$preamble ? {RDB} : {RESP}}] format).*" $output
                assert_match "*AOF analyzed: filename=appendonly.aof.*.incr.aof, size=*, ok_up_to=*, diff=0*" $output
                assert_match "*All AOF files and manifest are valid" $output
            }
        }
    }

    foreach {what tail} [list \
        "half a command" "*3\r\n\$3\r\nSET\r\n\$1\r\na" \
        "garbage" "garbage" \
        "half a transaction" [aof_text MULTI {SET a 1}] \
        "an EXEC too many" [aof_text EXEC] \
        "a wrong length" "*2\r\n\$30000\r\nx\r\n" \
        "a length that is none" "*x\r\n" \
        "a missing end of line" "*1\r\n\$4\r\nPINGxx"] {
        test "$what: reported, then cut off with --fix" {
            set good [aof_text {SET a 1} {RPUSH l x y}]
            set dir [aof_in_folder $good$tail]
            set file $dir/appendonly.aof.1.incr.aof
            lassign [check_aof $dir/appendonly.aof.manifest] code output
            assert_equal 1 $code
            assert_match "*size=[string length $good$tail], ok_up_to=[string length $good], *diff=[string length $tail]*" $output
            assert_match "*is not valid. With --fix its end is cut off where it ceases to be." $output
            assert_equal $good$tail [read_file $file]

            lassign [check_aof --fix $dir/appendonly.aof.manifest << n\n] code output
            assert_equal 1 $code
            assert_equal $good$tail [read_file $file]

            lassign [check_aof --fix $dir/appendonly.aof.manifest << y\n] code output
            assert_equal 0 $code
            assert_match "*Successfully truncated AOF appendonly.aof.1.incr.aof*" $output
            assert_equal $good [read_file $file]
            assert_equal 0 [lindex [check_aof $file] 0]
        }
    }

    test {only the last file is shortened} {
        set dir [aof_in_folder [aof_text {SET a 1}]garbage]
        aof_put_files $dir [list second.aof [aof_text {SET b 1}] appendonly.aof.manifest \
            "file appendonly.aof.1.incr.aof seq 1 type i\nfile second.aof seq 2 type i\n"]
        lassign [check_aof --fix $dir/appendonly.aof.manifest << y\n] code output
        assert_equal 1 $code
        assert_match "*appendonly.aof.1.incr.aof is not shortened, because it is not the last file*" $output
    }

    test {--truncate-to-timestamp cuts the file at a time} {
        set before "#TS:1000\r\n[aof_text {SET a 1}]#TS:2000\r\n[aof_text {SET a 2}]"
        set dir [aof_in_folder "$before#TS:3000\r\n[aof_text {SET a 3}]"]
        set file $dir/appendonly.aof.1.incr.aof
        lassign [check_aof --truncate-to-timestamp 5000 $dir/appendonly.aof.manifest] code output
        assert_equal 0 $code
        assert_match "*Nothing in the append-only file appendonly.aof.1.incr.aof was written after timestamp 5000*" $output
        lassign [check_aof --truncate-to-timestamp 2500 $dir/appendonly.aof.manifest] code output
        assert_equal 0 $code
        assert_match "*Successfully truncated AOF appendonly.aof.1.incr.aof to timestamp 2500*" $output
        assert_equal $before [read_file $file]
        # Nothing would be left.
        foreach form [list $dir/appendonly.aof.manifest $file] {
            lassign [check_aof --truncate-to-timestamp 500 $form] code output
            assert_equal 1 $code
            assert_match "*appendonly.aof.1.incr.aof is not shortened to timestamp 500: *nothing*" $output
            assert_equal $before [read_file $file]
        }
        # Commands before the first timestamp are older than it.
        aof_put_files $dir [list appendonly.aof.1.incr.aof "[aof_text {SET a 0}]$before"]
        lassign [check_aof --truncate-to-timestamp 500 $file] code output
        assert_equal 0 $code
        assert_equal [aof_text {SET a 0}] [read_file $file]
    }

    test {a damaged image, a bad manifest, a missing file, bad arguments} {
        set dir [aof_in_folder "REDIS0011garbage"]
        lassign [check_aof $dir/appendonly.aof.manifest] code output
        assert_equal 1 $code
        assert_match "*The RDB image at the beginning of the file is corrupt*" $output
        aof_put_files $dir {bad.manifest "file x\n"}
        lassign [check_aof $dir/bad.manifest] code output
        assert_equal 1 $code
        assert_match "*Invalid AOF manifest: * line 1: *" $output
        assert_match {1 {The file /nonexistent cannot be opened: *}} [check_aof /nonexistent]
        assert_match {1 {Usage: *}} [check_aof]
        assert_match {1 {The timestamp is not valid}} [check_aof --truncate-to-timestamp x file]
    }
}
