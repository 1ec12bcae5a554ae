# valkey-check-rdb: the server's program under another name.
source [file join [file dirname [info script]] rdb_util.tcl]

tags {external:skip needs:debug} {
    test {usage and version} {
        foreach arguments {{} {a b} {--stats a b} {a --format xml} {a --output} {a --nosuch} --stats} {
            lassign [check_rdb {*}$arguments] code output
            assert_equal 1 $code
            assert_match "*Usage: *" $output
        }
        lassign [check_rdb --version] code output
        assert_equal 0 $code
        assert_match "valkey-check-rdb *.*.*" $output
        lassign [check_rdb $::work_dir/nosuch.rdb] code output
        assert_equal 1 $code
        assert_match "The file *nosuch.rdb cannot be opened: No such file or directory" $output
    }

    start_server {} {
        fill_every_type r 1
        r set over 1 px 1
        r debug set-active-expire 0
        after 5
        set keys [expr {[r dbsize] + 3}]
        r save
        set path [srv dir]/dump.rdb
        set whole [read_file $path]

        test {a valid file: its contents are listed} {
            lassign [check_rdb $path] code output
            assert_equal 0 $code
            assert_in_order $output [list "offset 0] Checking RDB file $path" "AUX FIELD valkey-ver = '9.*'" \
                "AUX FIELD redis-bits = '64'" "Selecting DB ID 0" "Selecting DB ID 3" \
                "offset [file size $path]] Checksum OK" "looks OK!" "info] $keys keys read" "info] 3 expires" \
                "info] 1 already expired"]
            assert_equal $whole [read_file $path]
        }

        test {--stats counts by database and type} {
            set csv [srv dir]/stats.csv
            lassign [check_rdb $path --stats --format csv --output $csv] code output
            assert_equal 0 $code
            assert_no_match "*db.0.*" $output
            set sum 0
            foreach line [split [string trim [read_file $csv]] \n] {
                set fields [split $line ,]
                assert_equal 9 [llength $fields]
                if {[string match db.*.keys.total [lindex $fields 0]]} { incr sum [expr [join [lrange $fields 1 end] +]] }
                set figures([lindex $fields 0]) [lrange $fields 1 end]
            }
            assert_equal $keys $sum
            assert_equal {string list set zset hash module stream pathhash} $figures(db.0.type.name)
            foreach place {1 2 3 4 6} {
                set elements [lindex $figures(db.0.elements.total) $place]
                assert_morethan $elements 0
                assert_morethan_equal [lindex $figures(db.0.elements.num.max) $place] [lindex $figures(db.0.elements.num.p99) $place]
                set average [lindex $figures(db.0.elements.num.avg) $place]
                assert_equal $elements [expr {round($average * [lindex $figures(db.0.keys.total) $place])}]
            }
            lassign [check_rdb --stats $path] code output
            assert_match "*db.0.keys.total *\t*db.3.elements.size.p50 *" $output
            lassign [check_rdb $path --stats --format info] code output
            assert_match "*\\\[info\\\] db.0.type.list.elements.total:[lindex $figures(db.0.elements.total) 1]\n*" $output
        }

        test {--stats: figures of values of known sizes} {
            r flushall
            r mset k1 abc key2 12345
            r rpush list a bb ccc
            r sadd ints 1 22 333 4444
            r hset h field v
            r xadd st * f 1 g 22
            r phmset paths ab FIELDS 2 f v g 22 {} FIELDS 1 f 1
            r save
            lassign [check_rdb $path --stats --format csv] code output
            foreach line {keys.total,2,1,1,0,1,0,1,1 keys.size,6,4,4,0,1,0,2,5 elements.total,2,3,4,0,1,0,1,2
                elements.size,8,6,10,0,6,0,5,9 elements.num.avg,1.00,3.00,4.00,0.00,1.00,0.00,1.00,2.00
                elements.size.max,5,3,4,0,6,0,5,7 elements.size.avg,4.00,2.00,2.50,0.00,6.00,0.00,5.00,4.50
                elements.size.p50,3.00,2.00,2.00,0.00,6.00,0.00,5.00,2.00} {
                assert_match "*\ndb.0.$line\n*" $output\n
            }
            write_bytes $path $whole
        }

        test {broken files: the report has the place and what was being read} {
            write_bytes $path [string range $whole 0 199]
            lassign [check_rdb $path] code output
            assert_equal 1 $code
            assert_in_order $output {"--- RDB ERROR DETECTED ---" "offset *" "additional info] While doing: read-*" "keys read"}

            binary scan [string index $whole end] c last
            write_bytes $path [string range $whole 0 end-1][binary format c [expr {$last ^ 7}]]
            lassign [check_rdb $path] code output
            assert_equal 1 $code
            assert_match "*offset [file size $path]\\] The checksum does not match the contents of the RDB file*While doing: check-sum*" $output

            foreach magic {REDIS0000 REDIS0080 VALKEY011} {
                write_bytes $path [rdb_file $magic {}]
                lassign [check_rdb $path] code output
                assert_equal 1 $code
                assert_match "*offset 9\\] Can't handle RDB format version *While doing: start*" $output
            }

            write_bytes $path [rdb_file REDIS0011 \xfe\x00\x0b\x03key\x08\x03\x00\x00\x00\x01\x00\x00\x00]
            lassign [check_rdb $path] code output
            assert_equal 1 $code
            assert_match "*While doing: read-object-value*Reading key 'key'*Reading type 11 (set-intset)*0 keys read*" $output
        }

        test {versions that this server does not load are read as far as they can be} {
            foreach {magic note} {REDIS0014 another VALKEY079 another VALKEY082 newer VALKEY987 newer} {
                write_bytes $path [rdb_file $magic \xfe\x00\x00\x01k\x01v]
                lassign [check_rdb $path] code output
                assert_equal 0 $code
                assert_match "*RDB version * is $note*looks OK!*1 keys read*" $output
                write_bytes $path [rdb_file $magic \xfe\x00\x00\x01k\x01v\x1e\x01x]
                assert_match "1*unknown type of value: 30*Reading key 'x'*Reading type 30 ()*1 keys read*" [check_rdb $path]
                write_bytes $path [rdb_file $magic \xf0\x01x]
                assert_match "1*There is no opcode 240*0 keys read*" [check_rdb $path]
            }
        }

        test {types whose number means something else, or nothing, in the other family of versions} {
            set hash \x18\x01h\x01\0\0\0\0\0\0\0\x01\x01\x01f\x01v
            foreach magic {REDIS0012 REDIS0013 REDIS0014} {
                write_bytes $path [rdb_file $magic $hash]
                assert_match "0*looks OK!*1 keys read*" [check_rdb $path]
                write_bytes $path [rdb_file $magic \x16\x01h\x01\0\0\0\0\0\0\0\0\x01f\x01v]
                assert_match "1*pre-release version of Redis 7.4*Reading key 'h'*Reading type 22 ()*0 keys read*" [check_rdb $path]
            }
            foreach magic {REDIS0011 VALKEY080 VALKEY081} {
                write_bytes $path [rdb_file $magic $hash]
                assert_match "1*unknown type of value: 24*Reading key 'h'*Reading type 24 ()*0 keys read*" [check_rdb $path]
            }
        }

        test {a slot that is being imported} {
            write_bytes $path [rdb_file VALKEY080 \xf3\x28[string repeat a 40]\x02\x01\x02\x05\x05\xfe\x00\x00\x01k\x01v]
            assert_match "0*looks OK!*1 keys read*" [check_rdb $path]
        }

        # Except for a line about a type that Redis prints even before it has read one.
        if {[auto_execok redis-check-rdb] ne {}} {
            test {reports read like those of Redis} {
                set bodies [list {} \xfe\x00\x00\x01k\x01v \xfe\x00\xfd\x01\x00\x00\x00\x00\x01k\x01v\xfe\x05 \
                    \xfa\x04what\x05value \xfe\x00\xfb\x02\x00\x00\x01k\x01v\x00\x01l\xc0\x07]
                foreach body $bodies {
                    foreach bytes [list [rdb_file REDIS0010 $body] [rdb_file REDIS0010 $body]\x00\x00 \
                            [string range [rdb_file REDIS0010 $body] 0 end-3]] {
                        write_bytes $path $bytes
                        set theirs [expr {[catch {exec redis-check-rdb $path} text] ? "1 $text" : "0 $text"}]
                        lassign [check_rdb $path] code output
                        regsub {\nchild process exited abnormally$} $theirs {} theirs
                        set quirk "\n\\\[additional info\\\] Reading type 0 \\(string\\)"
                        regsub $quirk $theirs {} theirs
                        regsub $quirk $output {} output
                        regsub {\n\[info\] 0 functions} $output {} output ;# as Valkey has it
                        assert_equal $theirs "$code $output"
                    }
                }
            }
        }
    }
}
