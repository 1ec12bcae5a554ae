# Expiry where it is easily off by a little: the last moment, the table of what expires, many at once.
start_server {tags {expire}} {
    test {a key exists until its time has come, and not after it} {
        foreach ms {300 900} {
            r set k v px $ms
            r hset h f v
            r pexpire h $ms
            assert_equal {v 1} [list [r get k] [r exists h]]
        }
        set over [expr {[clock milliseconds] + 60}]
        r pexpireat k $over
        while {[clock milliseconds] < $over - 20} {
            set there [r exists k]
            if {[clock milliseconds] < $over - 1} { assert_equal 1 $there }
        }
        wait_for_condition 100 5 {[clock milliseconds] > $over} else { fail "time stands still" }
        assert_equal 0 [r exists k]
    }

    # A value that fits into the place of the old one overwrites it together with its expiry.
    test {a key without an expiry is not counted in expires} {
        r flushall
        foreach length {0 1 5 8 9 15 16 20 30 40 60 70 100 500} {
            set value [string repeat x $length]
            r set set:$length $value ex 1000
            r set set:$length $value
            r set persist:$length $value ex 1000
            r persist persist:$length
            r set getex:$length $value ex 1000
            r getex getex:$length persist
            r set getset:$length $value ex 1000
            r getset getset:$length y
            r set short:$length $value ex 1000
            r set short:$length z
            r set grown:$length $value ex 1000
            r set grown:$length [string repeat y 500]
        }
        foreach number {7 70000 12345678901} {
            r set int:$number $number ex 1000
            r set int:$number 8
        }
        assert_match {*expires=0,*} [r info keyspace]
        foreach key [r keys *] { assert_equal -1 [r ttl $key] }
        foreach key [r keys *] { r del $key }
        assert_equal 0 [r dbsize]
        foreach length {0 1 5 8 16 40} {
            r set shrunk:$length [string repeat y 500]
            r set shrunk:$length [string repeat x $length] ex 1000
        }
        assert_match {*keys=6,expires=6,*} [r info keyspace]
    }

    test {many expired keys are deleted soon, in all databases} {
        r flushall
        foreach db {0 5} {
            r select $db
            for {set i 0} {$i < 3000} {incr i} { r set key:$i v px 1 }
        }
        wait_for_condition 160 50 {[r info keyspace] eq "# Keyspace\n" || ![regexp {keys=} [r info keyspace]]} else { fail [r info keyspace] }
        r select 0
    }

    test {HEXPIRE with a condition and an equal time} {
        set at [expr {[clock milliseconds] + 100000}]
        r del h
        r hset h f v
        assert_equal 1 [r hpexpireat h $at fields 1 f]
        assert_equal 0 [r hpexpireat h $at gt fields 1 f]
        assert_equal 0 [r hpexpireat h $at lt fields 1 f]
        assert_equal 1 [r hpexpireat h [expr {$at + 1}] gt fields 1 f]
        assert_equal 1 [r hpexpireat h $at lt fields 1 f]
        assert_equal $at [r hpexpiretime h fields 1 f]
    }
}
