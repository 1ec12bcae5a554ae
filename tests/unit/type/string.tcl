# Strings: SET and its relatives, numbers, parts of strings, and how values are encoded.

start_server {tags {string}} {
    r zadd zset 1 a
    set wrong "WRONGTYPE Operation against a key holding the wrong kind of value"

    test {SET and GET of values of any length} {
        foreach size {0 1 5 43 44 45 62 63 64 100 255 256 32767 32768 100000} {
            set value [randstring $size $size]
            assert_equal OK [r set k $value]
            assert {[r get k] eq $value} "$size bytes"
            assert_equal $size [r strlen k]
        }
        assert_equal {} [r get nosuch]
    }

    test {SET over values of other lengths and types} {
        foreach size {5 60 0 70 44 45 100000 3 64 63} {
            set value [string repeat x $size]
            r set k $value
            assert {[r get k] eq $value} "$size bytes"
        }
        r zadd k2 1 a
        assert_equal OK [r set k2 v]
        assert_equal v [r get k2]
    }

    test {keys of any length, with and without expiry} {
        foreach size {0 1 9 10 250 254 255 256 1000 70000} {
            set key [string repeat k $size]
            r set $key v$size
            assert_equal v$size [r get $key] "key of $size bytes"
            r expire $key 100
            assert_equal v$size [r get $key]
            assert_equal 100 [r ttl $key]
            r set $key [string repeat v 100] keepttl
            r persist $key
            assert_equal 100 [r strlen $key]
            assert_equal 1 [r del $key]
        }
    }

    test {encodings of values that are set} {
        foreach {value encoding} [list 0 int -1 int 9223372036854775807 int -9223372036854775808 int \
                9223372036854775808 embstr 01 embstr +1 embstr " 1" embstr 1.0 embstr -0 embstr {} embstr \
                [string repeat a 112] embstr [string repeat a 113] raw [string repeat 1 21] embstr] {
            r set k $value
            assert_equal $encoding [r object encoding k] "'$value'"
            assert_equal $value [r get k]
        }
    }

    # Valkey calls a value embstr while it fits into two cache lines with its key and expiry.
    test {the longest embstr value depends on key and expiry} {
        foreach {keylen most most_expiring} {1 112 104 16 97 89 31 82 74 32 79 71 64 47 39 100 11 3} {
            set key [string repeat k $keylen]
            foreach {len ttl encoding} [list $most {} embstr [expr {$most + 1}] {} raw \
                    $most_expiring {ex 100} embstr [expr {$most_expiring + 1}] {ex 100} raw] {
                r set $key [string repeat v $len] {*}$ttl
                assert_equal $encoding [r object encoding $key] "$keylen, $len, $ttl"
            }
            r set $key [string repeat v $most]
            r expire $key 100
            assert_equal raw [r object encoding $key]
            r getset $key [string repeat v $most]
            assert_equal embstr [r object encoding $key]
        }
        r set [string repeat k 111] v
        assert_equal raw [r object encoding [string repeat k 111]]
    }

    test {encodings of values that are changed} {
        r del k
        r append k abc
        assert_encoding embstr k
        r append k d
        assert_encoding raw k
        r set k 12
        r append k 3
        assert_encoding raw k
        assert_equal 124 [r incr k]
        assert_encoding int k
        r setrange k 1 9
        assert_encoding raw k
        assert_equal 194 [r get k]
        r del f
        r incrbyfloat f 3
        assert_encoding embstr f
        r incr f
        assert_encoding int f
    }

    test {SET NX and XX} {
        r del k
        assert_equal {} [r set k a xx]
        assert_equal OK [r set k a nx]
        assert_equal {} [r set k b NX]
        assert_equal OK [r set k c XX]
        assert_equal c [r get k]
    }

    test {SET GET} {
        r del k
        assert_equal {} [r set k a get]
        assert_equal a [r set k b get]
        assert_equal b [r set k c nx get]
        assert_equal b [r get k]
        assert_equal {} [r set nosuch v xx get]
        assert_equal 0 [r exists nosuch]
        assert_equal b [r set k d xx get ex 100]
        assert_equal 100 [r ttl k]
        assert_error $wrong {r set zset v get}
        assert_error $wrong {r set zset v nx get}
        assert_type zset zset
    }

    test {SET IFEQ} {
        r del k
        assert_equal {} [r set k new ifeq old]
        assert_equal 0 [r exists k]
        r set k 1
        assert_equal {} [r set k 2 ifeq 3]
        assert_equal OK [r set k 2 ifeq 1]
        assert_equal 2 [r set k 3 ifeq 1 get]
        assert_equal 2 [r set k 3 ifeq 2 get]
        assert_equal 3 [r get k]
        assert_error $wrong {r set zset v ifeq v}
        assert_error "ERR syntax error" {r set k v ifeq}
        assert_error "ERR syntax error" {r set k v ifeq a nx}
        assert_error "ERR syntax error" {r set k v xx ifeq a}
    } {} {valkey}

    test {SET with an expiry} {
        set now [clock seconds]
        foreach {option value} [list ex 100 px 100000 exat [expr {$now + 100}] pxat [expr {($now + 100) * 1000}]] {
            r del k
            assert_equal OK [r set k v $option $value]
            assert_range [r ttl k] 98 100 $option
        }
        r set k v
        assert_equal -1 [r ttl k]
        r set k v ex 100
        r set k w keepttl
        assert_range [r ttl k] 99 100
        r set k v EX 5 EX 50
        assert_range [r ttl k] 49 50
        foreach past {exat pxat} {
            r set k v
            assert_equal OK [r set k v $past 1]
            assert_equal {0 {}} [list [r exists k] [r get k]]
        }
    }

    test {SET refuses contradictory options, and changes nothing} {
        r set k old
        foreach bad {nx\ xx ex px ex\ 1\ px\ 1 ex\ 1\ keepttl keepttl\ px\ 1 what persist ex\ 1\ exat\ 5} {
            assert_error "ERR syntax error" {r set k v {*}$bad} $bad
        }
        foreach bad {{ex 0} {ex -1} {px 0} {exat 0} {pxat -5} {ex 9223372036854775807} {ex 9223372036854775}
            {px 9223372036854775807} {exat 9223372036854775807}} {
            assert_error "ERR invalid expire time in 'set' command" {r set k v {*}$bad} $bad
        }
        assert_error "ERR value is not an integer or out of range" {r set k v ex abc}
        assert_equal {old -1} [list [r get k] [r ttl k]]
    }

    test {SETEX, PSETEX and SETNX} {
        assert_equal OK [r setex k 100 v]
        assert_range [r ttl k] 99 100
        assert_equal OK [r psetex k 5000 w]
        assert_range [r pttl k] 4000 5000
        assert_error "ERR invalid expire time in 'setex' command" {r setex k 0 v}
        assert_error "ERR invalid expire time in 'psetex' command" {r psetex k -1 v}
        assert_error "ERR value is not an integer or out of range" {r setex k abc v}
        assert_equal {w 0} [list [r get k] [r setnx k x]]
        r del k
        assert_equal {1 0 x -1} [list [r setnx k x] [r setnx k y] [r get k] [r ttl k]]
    }

    test {GETSET, GETDEL and GETEX} {
        r set k a ex 100
        assert_equal a [r getset k b]
        assert_equal -1 [r ttl k]
        assert_equal {} [r getset fresh 1]
        assert_equal {b {}} [list [r getdel k] [r getdel k]]
        assert_equal 0 [r exists k]
        r set k v
        assert_equal {v -1} [list [r getex k] [r ttl k]]
        foreach {option value} [list ex 100 px 100000 exat [expr {[clock seconds] + 100}] \
                                    pxat [expr {[clock milliseconds] + 100000}]] {
            r persist k
            assert_equal v [r getex k $option $value]
            assert_range [r ttl k] 98 100 $option
        }
        assert_equal {v -1} [list [r getex k persist] [r ttl k]]
        assert_equal {v 0} [list [r getex k pxat 1] [r exists k]]
        assert_equal {} [r getex k ex 10]
        r set k v
        foreach bad {ex what keepttl ex\ 1\ persist ex\ 1\ px\ 1} {
            assert_error "ERR syntax error" {r getex k {*}$bad}
        }
        assert_error "ERR invalid expire time in 'getex' command" {r getex k ex 0}
        assert_equal -1 [r ttl k]
        r del fresh
    }

    test {wrong types} {
        foreach command {
            {get zset} {getset zset v} {getdel zset} {getex zset} {strlen zset} {append zset v} {incr zset}
            {decrby zset 2} {incrbyfloat zset 1} {setrange zset 0 v} {getrange zset 0 1} {substr zset 0 1}
        } { assert_error $wrong {r {*}$command} $command }
        assert_equal 1 [r zcard zset]
    }

    test {MSET, MGET and MSETNX} {
        assert_equal OK [r mset a 1 b 2 a 3]
        assert_equal {3 2 {} {} 3} [r mget a b nosuch zset a]
        assert_equal 0 [r msetnx c 1 b 5]
        assert_equal 0 [r msetnx a 1 b 5]
        assert_equal {3 {} 2} [r mget a c b]
        assert_equal 1 [r msetnx c 1 d 2 c 9]
        assert_equal {9 2} [r mget c d]
        r expire a 100
        r mset a 5
        assert_equal -1 [r ttl a]
        foreach command {{mset a} {mset a 1 b} {msetnx a 1 b} {mget}} {
            assert_error "ERR wrong number of arguments for '[lindex $command 0]' command" {r {*}$command}
        }
        r del a b c d
    }

    test {INCR and its relatives} {
        r del n
        assert_equal {1 2 12 11 1} [list [r incr n] [r incr n] [r incrby n 10] [r decr n] [r decrby n 10]]
        assert_equal {-9 -19} [list [r incrby n -10] [r decrby n 10]]
        r set n 9223372036854775806 ex 100
        assert_equal 9223372036854775807 [r incr n]
        assert_range [r ttl n] 99 100
        foreach command {{incr n} {incrby n 1} {decrby n -1} {incrby n 9223372036854775807}} {
            assert_error "ERR increment or decrement would overflow" {r {*}$command}
        }
        assert_error "ERR decrement would overflow" {r decrby n -9223372036854775808}
        assert_equal 9223372036854775807 [r get n]
        r set n -9223372036854775808
        assert_error "ERR increment or decrement would overflow" {r decr n}
        foreach bad {abc 1.5 9223372036854775808 " 1" {}} {
            assert_error "ERR value is not an integer or out of range" {r incrby n $bad}
            r set bad $bad
            assert_error "ERR value is not an integer or out of range" {r incr bad}
            assert_equal $bad [r get bad]
        }
    }

    test {INCR of a number that is stored as text keeps its expiry} {
        r set n 4
        r append n 1
        r expire n 100
        assert_equal {raw 42 int} [list [r object encoding n] [r incr n] [r object encoding n]]
        assert_range [r ttl n] 99 100
    }

    test {INCRBYFLOAT} {
        r del f
        assert_equal {1.5 1 3} [list [r incrbyfloat f 1.5] [r incrbyfloat f -0.5] [r incrbyfloat f 2.0e0]]
        r set f 10.5 ex 100
        assert_equal 10.6 [r incrbyfloat f 0.1]
        assert_range [r ttl f] 99 100
        r set f 3.0e3
        assert_equal 3200 [r incrbyfloat f 200]
        r set f 1
        assert_equal -0.1 [r incrbyfloat f -1.1]
        foreach bad {abc {} " 1" "1 " nan} {
            assert_error "ERR value is not a valid float" {r incrbyfloat f $bad}
            r set bad $bad
            assert_error "ERR value is not a valid float" {r incrbyfloat bad 1}
        }
        assert_error "ERR increment would produce NaN or Infinity" {r incrbyfloat f inf}
        assert_equal -0.1 [r get f]
    }

    test {APPEND, step by step across all sizes} {
        r del k
        set text {}
        for {set i 0} {$i < 150} {incr i} {
            append text [expr {$i % 10}]
            assert_equal [expr {$i + 1}] [r append k [expr {$i % 10}]]
            assert_equal $text [r get k]
        }
        assert_equal 150 [r append k {}]
        assert_equal 0 [r append fresh {}]
        assert_equal 1 [r exists fresh]
        r expire k 100
        r append k [string repeat x 50000]
        assert_equal {50150 100} [list [r strlen k] [r ttl k]]
        r set short s ex 100
        r append short [string repeat y 40000]
        assert_equal {40001 100} [list [r strlen short] [r ttl short]]
        r del fresh short
    }

    test {SETRANGE} {
        r del k
        assert_equal {0 0} [list [r setrange k 0 {}] [r exists k]]
        assert_equal 7 [r setrange k 5 ab]
        assert {[r get k] eq "\x00\x00\x00\x00\x00ab"}
        assert_equal 11 [r setrange k 2 xyzxyzxyz]
        assert {[r get k] eq "\x00\x00xyzxyzxyz"}
        assert_equal 11 [r setrange k 100 {}]
        assert_equal 103 [r setrange k 100 end]
        assert_equal end [r getrange k -3 -1]
        r set n 1234567 ex 100
        assert_equal {7 1299567 100} [list [r setrange n 2 99] [r get n] [r ttl n]]
        assert_error "ERR offset is out of range" {r setrange k -1 a}
        assert_error "ERR value is not an integer or out of range" {r setrange k a a}
        foreach offset {536870912 9223372036854775807} {
            assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {r setrange k $offset a}
        }
        assert_equal 103 [r strlen k]
        r del n
    }

    test {SETRANGE and GETRANGE against a model} {
        r del k
        set model {}
        for {set i 0} {$i < 400} {incr i} {
            set at [randomInt 100]
            set piece [randstring 1 30 text]
            r setrange k $at $piece
            while {[string length $model] < $at} { append model \x00 }
            set model [string replace $model $at [expr {$at + [string length $piece] - 1}]]
            set model "[string range $model 0 $at-1]$piece[string range $model $at end]"
            set from [randomInt 130]
            set to [randomInt 130]
            assert {[r getrange k $from $to] eq [string range $model $from $to]} "$from $to"
            if {[randomInt 10] == 0} {
                r del k
                set model {}
            }
        }
    }

    test {GETRANGE and SUBSTR} {
        r set k "Hello World"
        foreach {start end text} {
            0 4 Hello  -5 -1 World  0 -1 {Hello World}  5 2 {}  -1 -5 {}  100 200 {}  -100 4 Hello  -100 -50 H
            3 3 l  0 9223372036854775807 {Hello World}  -9223372036854775808 0 H
        } {
            assert_equal $text [r getrange k $start $end] "$start $end"
            assert_equal $text [r substr k $start $end] "$start $end"
        }
        assert_equal {} [r getrange nosuch 0 -1]
        r set n 12345
        assert_equal 234 [r getrange n 1 3]
        assert_error "ERR value is not an integer or out of range" {r getrange k a 1}
        r del n
    }

    test {big values are taken over without copying, and copies are independent} {
        set value [string repeat v 100000]
        r set a $value
        r copy a b
        r append a x
        assert_equal {100001 100000} [list [r strlen a] [r strlen b]]
        r mset c $value d $value
        r setrange c 0 w
        assert {[r get d] eq $value}
        assert_equal $value [r getset d small]
        r append fresh $value
        assert {[r get fresh] eq $value}
        r del a b c d fresh
    }

    test {RESP3: nulls} {
        set c [valkey_client]
        $c hello 3
        foreach command {{GET nosuch} {SET k v NX} {GETDEL nosuch}} {
            r set k v
            $c write "$command\r\n"
            assert_equal _ [$c rawread]
        }
        $c close
    }
}
