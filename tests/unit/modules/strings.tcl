# Strings, memory, dictionaries and replies of modules, with tests/modules/strings.c; on this server and the oracle.

source -encoding utf-8 $::support/module.tcl

with_modules {strings} {} {
    test {strings are made from numbers, and numbers from strings} {
        foreach {kind value expected} {
            longlong -9223372036854775808 -9223372036854775808
            longlong 12 12
            ulonglong 18446744073709551615 18446744073709551615
            ulonglong { 5} 5
            ulonglong { -2} 18446744073709551614
            ulonglong -02 18446744073709551614
            double 0.1 0.1
            double 1e300 1e+300
            double -inf -inf
            longdouble 0.1 0.1
            longdouble 1e-30 1e-30
            longdouble 0x10 16
            human 0.1 0.1
            human 1e20 100000000000000000000
            streamid 5 5-0
            streamid 5-7 5-7
            streamid - 0-0
            streamid + 18446744073709551615-18446744073709551615
            copy "a\x00b" "a\x00b"
            printf {a text} {<a text|3>}
        } {
            assert_equal $expected [r strings.make $kind $value] "$kind $value"
        }
    } {} {valgrind:skip} ;# which reckons with 64 bits of a long double

    test {texts that are no numbers are refused} {
        foreach {kind value} {
            longlong {} longlong { 1} longlong 1x longlong 9223372036854775808 ulonglong x ulonglong -2 ulonglong 18446744073709551616
            double nan double {} double { 1} double 1x double 0x1 longdouble nan longdouble x
            streamid {} streamid 1- streamid x-1 streamid 1-x streamid -1
        } {
            assert_error "ERR not that" { r strings.make $kind $value } "$kind '$value'"
        }
    }

    test {a string can be appended to only with one reference} {
        set long [string repeat x 100000]
        assert_equal [list a${long}c 1] [r strings.append a $long c]
        assert_equal {{} 1} [r strings.append]
    }

    test {strings are compared by their bytes} {
        foreach {a b cmp} {a a 0 a b -1 b a 1 a ab -1 ab a 1 {} {} 0 A a -1} {
            set got [r strings.compare $a $b]
            assert_equal $cmp [expr {($got > 0) - ($got < 0)}]
        }
        assert {[r strings.compare "a\x00a" "a\x00b"] < 0}
        assert {[r strings.compare "\xff" "a"] > 0}
        assert_equal {(NULL string reply referenced in module)} [r strings.null]
    }

    test {a string that is kept outlives its command} {
        assert_equal {} [r strings.keep]
        assert_equal first [r strings.keep first]
        r set other [string repeat y 1000]
        assert_equal first [r strings.keep]
        set long [string repeat z 100000]
        assert_equal $long [r strings.hold $long]
        assert_equal $long [r strings.keep]
        assert_equal auto [r strings.auto auto]
        for {set i 0} {$i < 100} {incr i} { r ping $i }
        assert_equal auto [r strings.keep]
    }

    test {GetUsedMemoryRatio follows maxmemory} {
        assert_equal {0 0} [r strings.memory]
        r config set maxmemory 1gb
        assert_equal {0 1} [r strings.memory]
        r config set maxmemory 0
    }

    test {a dictionary has any bytes as keys, and any values} {
        assert_equal 0 [r strings.dict set b 3]
        assert_equal 1 [r strings.dict set b 4]
        assert_equal 0 [r strings.dict setc c 5]
        assert_equal 0 [r strings.dict setc {} 7]
        assert_equal 0 [r strings.dict set "a\x00\xff" -1]
        assert_equal 1 [r strings.dict setc c 6]
        assert_equal {3 0} [r strings.dict get b]
        assert_equal {5 0} [r strings.dict getc c]
        assert_equal {7 0} [r strings.dict getc {}]
        assert_equal {-1 0} [r strings.dict get "a\x00\xff"]
        assert_equal {0 1} [r strings.dict get x]
        assert_equal 1 [r strings.dict replace b 8]
        assert_equal 0 [r strings.dict replacec d 9]
        assert_equal {8 0} [r strings.dict get b]
        assert_equal {5 1} [r strings.dict size]
        assert_equal {1 0} [r strings.dict del x]
        assert_equal {0 8} [r strings.dict del b]
        assert_equal {0 9} [r strings.dict delc d]
        assert_equal {3 1} [r strings.dict size]
        assert_equal OK [r strings.dict clear]
        assert_equal {0 1} [r strings.dict size]
    }

    test {iterators of dictionaries go both ways from any place} {
        set n 0
        foreach key {a ab abc b ba c} { r strings.dict set $key [incr n] }
        foreach form {c s} {
            foreach {op key way expected} {
                ^ {} next {1 a 1 ab 2 abc 3 b 4 ba 5 c 6}
                $ {} prev {1 c 6 ba 5 b 4 abc 3 ab 2 a 1}
                $ {} next {1 c 6}
                ^ {} prev {1 a 1}
                > abc next {1 b 4 ba 5 c 6}
                >= abc next {1 abc 3 b 4 ba 5 c 6}
                < b prev {1 abc 3 ab 2 a 1}
                <= b prev {1 b 4 abc 3 ab 2 a 1}
                == ab next {1 ab 2 abc 3 b 4 ba 5 c 6}
                == x next {1}
                > c next {1}
                < a prev {1}
            } {
                assert_equal $expected [r strings.walk $op $key $way $form] "$op $key $way $form"
            }
            assert_equal {1 a 1 ab 2 abc 3 b 4} [r strings.walk ^ {} next $form >= b]
            assert_equal {1 a 1 ab 2} [r strings.walk ^ {} next $form == ab]
            assert_equal {1 c 6 ba 5 b 4 abc 3} [r strings.walk \$ {} prev $form < b]
            # The oracle would end here.
            if {$kind eq {ours}} { assert_equal 0 [lindex [r strings.walk ? {} next $form] 0] }
        }
        r strings.dict clear
    }

    test {replies in both protocols} {
        foreach {kind two three} {
            empty {$0  } {$0  }
            cstring {$8 c string } {$8 c string }
            null {$-1 } {_ }
            nullarray {*-1 } {_ }
            emptyarray {*0 } {*0 }
            true {:1 } {#t }
            false {:0 } {#f }
            double {$4 3.25 } {,3.25 }
            inf {$3 inf } {,inf }
            -inf {$4 -inf } {,-inf }
            nan {$3 nan } {,nan }
            longdouble {$3 0.1 } {,0.1 }
            bignumber {$21 123456789012345678901 } {(123456789012345678901 }
            verbatimtype {$6 # head } {=10 md :# head }
            error {-MINE an  error } {-MINE an  error }
            errorformat {-MINE 4 words } {-MINE 4 words }
            map {*4 :0 :1 :2 :3 } {%2 :0 :1 :2 :3 }
            latemap {*4 :0 :1 :2 :3 } {%2 :0 :1 :2 :3 }
            set {*2 :0 :1 } {~2 :0 :1 }
            lateset {*2 :0 :1 } {~2 :0 :1 }
        } {
            r hello 2
            assert_equal [string trim $two] [string map {\r\n { }} [wire strings.reply $kind]] "$kind, RESP2"
            r write "*2\r\n\$5\r\nHELLO\r\n\$1\r\n3\r\n"
            r read
            assert_equal [string trim $three] [string map {\r\n { }} [wire strings.reply $kind]] "$kind, RESP3"
        }
        r hello 2
    } {} {valgrind:skip} ;# which reckons with 64 bits of a long double

    test {attributes are for RESP3} {
        foreach kind {attribute lateattribute} {
            assert_equal {no attributes here} [r strings.reply $kind]
        }
    }

    test {array lengths can be set after the elements} {
        set nested [r strings.reply nested]
        assert_equal {0 1000 2000} [lmap part $nested { llength $part }]
        assert_equal 0123456789abcdef [lindex $nested 2 1999]
    }

    test {errors count in errorstats} {
        r config resetstat
        catch { r strings.reply error }
        catch { r strings.reply customerror }
        catch { r strings.reply silenterror }
        set stats [r info errorstats]
        assert_match {*errorstat_MINE:count=1*} $stats
        assert_match {*errorstat_CUSTOM:count=1*} $stats
        assert_no_match {*SILENT*} $stats
        # The dash is the text's, and one word alone is no code.
        assert_equal "--DASH  x" [wire strings.reply dasherror]
        assert_equal "-WORD" [wire strings.reply worderror]
        assert_match {*errorstat_-DASH:count=1*errorstat_ERR:count=1*} [r info errorstats]
    }

    test {a command may send no reply} {
        r write "*2\r\n\$13\r\nstrings.reply\r\n\$7\r\nnothing\r\n*1\r\n\$4\r\nPING\r\n"
        assert_equal PONG [r read]
    }
}
