# Lists: pushing, looking up, changing in place.
source [file join [file dirname [info script]] list_util.tcl]

foreach {form overrides} $forms {
    start_server [list overrides $overrides tags [list list]] {
        test "LPUSH, RPUSH, LLEN, LRANGE ($form)" {
            assert_equal 1 [r lpush k c]
            assert_equal 3 [r rpush k d e]
            assert_equal 5 [r lpush k b a]
            assert_equal {a b c d e} [all k]
            assert_equal 5 [r llen k]
            assert_equal 0 [r llen none]
            assert_equal {} [all none]
            assert_type list k
            r del k
            assert_equal 4 [r rpush k 1 2 3 4]
            assert_equal 6 [r lpush k 0 -1]
            assert_equal {-1 0 1 2 3 4} [all k]
        }

        test "LPUSHX and RPUSHX only push to a list that exists ($form)" {
            r del k
            assert_equal 0 [r lpushx k a]
            assert_equal 0 [r rpushx k a b]
            assert_equal 0 [r exists k]
            r rpush k x
            assert_equal 3 [r lpushx k b a]
            assert_equal 5 [r rpushx k y z]
            assert_equal {a b x y z} [all k]
        }

        test "elements of every kind are returned unchanged ($form)" {
            set odd [list {} 0 -1 127 128 -4096 4095 4096 -4097 32767 32768 8388607 8388608 2147483648 \
                         9223372036854775807 -9223372036854775808 9223372036854775808 007 -0 +5 3.50 " 1" "\x00\xff\r\n" \
                         [string repeat a 63] [string repeat b 64] [string repeat c 4095] [string repeat d 4096]]
            fill k {*}$odd
            assert_equal $odd [all k]
            for {set i 0} {$i < [llength $odd]} {incr i} {
                assert_equal [lindex $odd $i] [r lindex k $i]
                assert_equal $i [r lpos k [lindex $odd $i]]
            }
            r del k
            foreach e $odd { r lpush k $e }
            assert_equal [lreverse $odd] [all k]
            foreach e $odd { assert_equal $e [r rpop k] }
            assert_equal 0 [r exists k]
        }

        test "LRANGE with every pair of indexes ($form)" {
            set items {a b c d e f g h i}
            fill k {*}$items
            foreach start {0 1 4 8 9 100 -1 -3 -9 -10 -100} {
                foreach stop {0 1 4 8 9 100 -1 -3 -9 -10 -100} {
                    set from [expr {$start < 0 ? max(0, 9 + $start) : $start}]
                    set to [expr {$stop < 0 ? 9 + $stop : $stop}]
                    assert_equal [lrange $items $from $to] [r lrange k $start $stop] "$start $stop"
                }
            }
            assert_error "ERR value is not an integer or out of range" { r lrange k x 1 }
            assert_error "ERR value is not an integer or out of range" { r lrange k 1 99999999999999999999 }
            assert_error "ERR value is not an integer or out of range" { r lrange none 1.5 1 }
        }

        test "LRANGE over many elements of many lengths ($form)" {
            set items {}
            for {set i 0} {$i < 400} {incr i} {
                lappend items [expr {$i % 7 == 0 ? $i * $i * $i : [string repeat [format %c [expr {97 + $i % 26}]] [expr {$i * $i % 1500}]]}]
            }
            fill k {*}$items
            assert_equal $items [all k]
            foreach {from to} {0 0 0 99 100 299 399 399 57 58 1 398} {
                assert_equal [lrange $items $from $to] [r lrange k $from $to]
            }
        }

        test "LINDEX from both ends ($form)" {
            set items [numbers 1 50]
            fill k {*}$items
            for {set i 0} {$i < 50} {incr i} {
                assert_equal [lindex $items $i] [r lindex k $i]
                assert_equal [lindex $items end-$i] [r lindex k [expr {-1 - $i}]]
            }
            foreach i {50 1000 -51 -1000 9223372036854775807 -9223372036854775808} { assert_equal {} [r lindex k $i] }
            assert_error "ERR value is not an integer or out of range" { r lindex k x }
            assert_equal {} [r lindex none x]
        }

        test "LSET ($form)" {
            fill k a b c d e f
            foreach {i v} {0 A 5 F -2 E 2 12345} { assert_equal OK [r lset k $i $v] }
            assert_equal {A b 12345 d E F} [all k]
            r lset k 3 [string repeat x 300]
            r lset k 3 {}
            assert_equal {A b 12345 {} E F} [all k]
            foreach i {6 -7 100} { assert_error "ERR index out of range" { r lset k $i x } }
            assert_error "ERR value is not an integer or out of range" { r lset k x x }
            assert_error "ERR no such key" { r lset none 0 x }
            assert_error "ERR no such key" { r lset none x x }
        }

        test "LINSERT ($form)" {
            fill k a b c d
            assert_equal 5 [r linsert k before a 1]
            assert_equal 6 [r linsert k after d 2]
            assert_equal 7 [r linsert k AFTER b 3]
            assert_equal 8 [r linsert k Before c 4]
            assert_equal {1 a b 3 4 c d 2} [all k]
            assert_equal 9 [r linsert k after 3 5]
            assert_equal {1 a b 3 5 4 c d 2} [all k]
            assert_equal -1 [r linsert k after nothing x]
            assert_equal 0 [r linsert none before a x]
            assert_error "ERR syntax error" { r linsert k beside a x }
            r rpush k a
            r linsert k after a first
            assert_equal {1 a first b 3 5 4 c d 2 a} [all k]
        }

        test "LINSERT everywhere in a long list ($form)" {
            set model [numbers 0 19]
            fill k {*}$model
            for {set i 0} {$i < 150} {incr i} {
                set pivot [randomElement $model]
                set at [lsearch -exact $model $pivot]
                if {$i % 2} {
                    r linsert k before $pivot new$i
                    set model [linsert $model $at new$i]
                } else {
                    r linsert k after $pivot new$i
                    set model [linsert $model [expr {$at + 1}] new$i]
                }
            }
            assert_equal $model [all k]
        }

        test "LREM from the left, from the right, and all ($form)" {
            foreach {count removed left} {
                0 5 {a b c d} 1 1 {a b x x c x d x} 2 2 {a b x c x d x} 3 3 {a b c x d x} -1 1 {x a b x x c x d}
                -2 2 {x a b x x c d} -3 3 {x a b x c d} -100 5 {a b c d} 100 5 {a b c d} 5 5 {a b c d}
            } {
                fill k x a b x x c x d x
                assert_equal $removed [r lrem k $count x] "count $count"
                assert_equal $left [all k] "count $count"
            }
            assert_equal 0 [r lrem k 0 nothing]
            assert_equal 0 [r lrem none 0 x]
            assert_error "ERR value is not an integer or out of range" { r lrem none x x }
            fill k 5 5 5 5 5 5 5
            assert_equal 7 [r lrem k 0 5]
            assert_equal 0 [r exists k]
            fill k 5 5 5
            assert_equal 3 [r lrem k -3 5]
            assert_equal 0 [r exists k]
        }

        test "LREM and LPOS distinguish numbers from similar texts ($form)" {
            fill k 1 01 1.0 { 1} 1 +1
            assert_equal 2 [r lrem k 0 1]
            assert_equal {01 1.0 { 1} +1} [all k]
            assert_equal 0 [r lpos k 01]
            assert_equal 1 [r lrem k 0 1.0]
        }

        test "LTRIM ($form)" {
            foreach {start stop left} {
                0 -1 {a b c d e f g} 0 3 {a b c d} 2 4 {c d e} -2 -1 {f g} 3 3 {d} 0 100 {a b c d e f g} -100 2 {a b c}
                5 2 {} 7 10 {} 100 200 {} 0 -8 {} -3 -5 {}
            } {
                fill k a b c d e f g
                assert_equal OK [r ltrim k $start $stop]
                assert_equal $left [all k] "$start $stop"
                assert_equal [expr {$left ne {}}] [r exists k]
            }
            assert_equal OK [r ltrim none 0 1]
            assert_error "ERR value is not an integer or out of range" { r ltrim none x 1 }
        }

        test "LTRIM of random long lists ($form)" {
            for {set i 0} {$i < 40} {incr i} {
                set items [numbers 0 [randomInt 200]]
                fill k {*}$items
                set n [llength $items]
                set from [randomInt $n]
                set to [randomRange $from [expr {$n - 1}]]
                r ltrim k $from $to
                assert_equal [lrange $items $from $to] [all k]
                r rpush k tail
                r lpush k head
                assert_equal [list head {*}[lrange $items $from $to] tail] [all k]
            }
        }

        test "LPOS ($form)" {
            fill k a b c 1 2 3 c c
            foreach {reply words} {
                2 {} 2 {rank 1} 6 {rank 2} 7 {rank 3} {} {rank 4} 7 {rank -1} 6 {rank -2} 2 {rank -3} {} {rank -4}
                {2 6 7} {count 0} {2} {count 1} {2 6} {count 2} {2 6 7} {count 100} {6 7} {count 0 rank 2}
                {7 6} {rank -1 count 2} {6 2} {count 5 RANK -2} {} {count 0 rank 4}
                {} {maxlen 2} 2 {maxlen 3} {2} {count 0 maxlen 6} {2 6} {count 0 maxlen 7} {7 6} {rank -1 count 0 maxlen 2}
                {} {maxlen 1 count 0} {2 6 7} {count 0 maxlen 0} {2 6 7} {count 0 maxlen 1000}
                {} {rank -9223372036854775807} {} {rank 9223372036854775807 count 0}
            } {
                assert_equal $reply [r lpos k c {*}$words] $words
            }
            assert_equal 3 [r lpos k 1]
            assert_equal {} [r lpos k nothing]
            assert_equal {} [r lpos k nothing count 0]
            assert_equal {} [r lpos none c]
            assert_equal {} [r lpos none c count 1]
        }

        test "LPOS errors ($form)" {
            fill k a
            foreach {error words} {
                "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list" {rank 0}
                "ERR COUNT can't be negative" {count -1} "ERR COUNT can't be negative" {count x}
                "ERR MAXLEN can't be negative" {maxlen -1} "ERR value is not an integer or out of range" {rank x}
                "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807" {rank -9223372036854775808}
                "ERR syntax error" {rank} "ERR syntax error" {count 1 maxlen} "ERR syntax error" {nosuch 1}
            } {
                assert_error $error { r lpos k a {*}$words } $words
                assert_error $error { r lpos none a {*}$words } $words
            }
        }

        test "a random list equals a Tcl list ($form)" {
            set model {}
            r del k
            for {set i 0} {$i < 1500} {incr i} {
                set e [expr {[randomInt 3] ? [randomInt 12] : [string repeat [randomElement {x yz q}] [randomInt 40]]}]
                set n [llength $model]
                switch [randomInt 9] {
                    0 - 1 { r lpush k $e; set model [linsert $model 0 $e] }
                    2 - 3 { r rpush k $e; lappend model $e }
                    4 { if {$n} { set at [randomInt $n]; r lset k $at $e; lset model $at $e } }
                    5 {
                        set at [lsearch -exact $model $e]
                        set got [r linsert k after $e inserted]
                        if {$at >= 0} { set model [linsert $model [expr {$at + 1}] inserted] }
                        assert_equal [expr {$n == 0 ? 0 : $at < 0 ? -1 : $n + 1}] $got
                    }
                    6 {
                        set at [lsearch -exact $model $e]
                        assert_equal [expr {$at >= 0}] [r lrem k 1 $e]
                        if {$at >= 0} { set model [lreplace $model $at $at] }
                    }
                    7 {
                        assert_equal [lindex $model end] [r rpop k]
                        set model [lrange $model 0 end-1]
                    }
                    8 {
                        if {$n > 80} {
                            r ltrim k 5 -6
                            set model [lrange $model 5 end-5]
                        }
                        assert_equal $model [all k]
                    }
                }
            }
            assert_equal $model [all k]
            assert_equal [llength $model] [r llen k]
        }

        test "reply shapes in RESP2 and RESP3 ($form)" {
            foreach {command two three} {
                {rpush k a} :3 :3 {lindex k 0} {$1 1} {$1 1} {lindex k 9} $-1 _ {lindex none 0} $-1 _
                {lrange k 0 -1} {*2 $1 1 $1 b} {*2 $1 1 $1 b} {lrange none 0 1} *0 *0
                {lpos k b} :1 :1 {lpos k x} $-1 _ {lpos k b count 0} {*1 :1} {*1 :1} {lpos none b} $-1 _
                {lpos none b count 0} *0 *0 {lset k 0 x} +OK +OK {linsert k before zz x} :-1 :-1
                {lrem k 0 b} :1 :1 {ltrim k 0 0} +OK +OK {llen k} :2 :2
            } {
                fill k 1 b
                r hello 2
                assert_equal $two [wire {*}$command] $command
                fill k 1 b
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }

        test "ranges with CLIENT REPLY OFF ($form)" {
            fill k {*}[numbers 1 200] [string repeat x 2000] text
            set d [valkey_deferring_client]
            $d client reply skip
            $d lrange k 0 -1
            $d client reply off
            $d lrange k 0 -1
            $d rpop k 2
            $d client reply on
            assert_equal OK [$d read]
            $d lrange k -2 -1
            assert_equal {199 200} [$d read]
            $d close
        }

        test "every list command refuses other types, and changes nothing ($form)" {
            r set s text
            foreach command {
                {lpush s a} {rpush s a} {lpushx s a} {rpushx s a} {lpop s} {rpop s} {lpop s 1} {llen s} {lindex s 0} {lset s 0 a}
                {linsert s before a b} {lrange s 0 1} {lrem s 0 a} {ltrim s 0 1} {lpos s a} {lmove s t left left}
                {rpoplpush s t} {lmpop 1 s left} {blpop s 0} {brpop s 0} {blmove s t left left 0} {brpoplpush s t 0}
                {blmpop 0 1 s right}
            } {
                assert_error "WRONGTYPE Operation against a key holding the wrong kind of value" { r {*}$command } $command
            }
            assert_equal text [r get s]
            assert_equal 0 [r exists t]
        }

        test "COPY, RENAME, expiry and DEBUG DIGEST-VALUE work on lists ($form)" {
            fill k {*}[numbers 1 30]
            assert_equal 1 [r copy k copy replace]
            assert_equal [all k] [all copy]
            r lset copy 0 changed
            assert_equal 1 [r lindex k 0]
            r rename copy moved
            assert_equal changed [r lindex moved 0]
            r expire moved 100
            r rpush moved more
            assert_range [r ttl moved] 90 100
            assert_equal 31 [r llen moved]
        }

        test "the right number of arguments ($form)" {
            foreach command {lpush rpush lpushx rpushx lpop rpop llen lindex lset linsert lrange lrem ltrim lpos lmove rpoplpush lmpop
                blpop brpop blmove brpoplpush blmpop} {
                assert_error "ERR wrong number of arguments for '$command' command" { r $command } $command
            }
            assert_error "ERR wrong number of arguments for 'lpop' command" { r lpop k 1 2 }
            assert_error "ERR wrong number of arguments for 'rpush' command" { r rpush k }
        }
    }
}
