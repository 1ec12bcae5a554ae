# Hashes: setting, reading, counting, incrementing, scanning. Everything runs in each encoding; `long` names make a
# small hash grow out of its object into an allocation of its own, which OBJECT ENCODING does not show.

proc pairs_of {key} { return [lsort -stride 2 [r hgetall $key]] }

foreach {name encoding limit suffix} [list packed listpack 512 {} listpack listpack 512 [string repeat _ 50] \
        table hashtable 0 {}] {
    start_server [list overrides [list hash-max-listpack-entries $limit] tags [list hash]] {
        set a a$suffix
        set b b$suffix
        set c c$suffix

        test "HSET adds, updates, and counts what it added ($name)" {
            assert_equal 2 [r hset k $a 1 $b two]
            assert_encoding $encoding k
            assert_type hash k
            assert_equal 1 [r hset k $a one $c 3]
            assert_equal 0 [r hset k $a {} $b two]
            assert_equal [list $a {} $b two $c 3] [pairs_of k]
            assert_equal 1 [r hset k d 1 d 2 d 3]
            assert_equal 3 [r hget k d]
        }

        test "HMSET is HSET with another reply ($name)" {
            r del k
            assert_equal OK [r hmset k $a 1 $b 2]
            assert_equal OK [r hmset k $a 3]
            assert_equal [list $a 3 $b 2] [pairs_of k]
        }

        test "HSETNX sets only missing fields ($name)" {
            r del k
            assert_equal 1 [r hsetnx k $a 1]
            assert_equal 0 [r hsetnx k $a 2]
            assert_equal 1 [r hsetnx k $b 2]
            assert_equal [list $a 1 $b 2] [pairs_of k]
        }

        test "HGET, HMGET, HEXISTS, HSTRLEN find existing fields ($name)" {
            r del k
            r hset k $a one $b 12345 $c {}
            assert_equal one [r hget k $a]
            assert_equal {} [r hget k none]
            assert_equal {one {} 12345 {} one} [r hmget k $a none $b $c $a]
            assert_equal {1 1 0} [list [r hexists k $a] [r hexists k $c] [r hexists k none]]
            assert_equal {3 5 0 0} [list [r hstrlen k $a] [r hstrlen k $b] [r hstrlen k $c] [r hstrlen k none]]
        }

        test "HGETALL, HKEYS, HVALS and HLEN cover all fields ($name)" {
            r del k
            r hset k $a 1 $b 2 $c 3
            assert_equal [list $a $b $c] [lsort [r hkeys k]]
            assert_equal {1 2 3} [lsort [r hvals k]]
            assert_equal 3 [r hlen k]
            if {$encoding eq "listpack"} { assert_equal [list $a 1 $b 2 $c 3] [r hgetall k] }
            r hello 3
            assert_equal [dict create $a 1 $b 2 $c 3] [lsort -stride 2 [r hgetall k]]
            r write "HGETALL k\r\n"
            assert_equal "%3" [string trim [r rawread]]
            for {set i 0} {$i < 12} {incr i} { r rawread }
            r hello 2
        }

        test "HDEL removes fields, and the key with the last ($name)" {
            r del k
            r hset k $a 1 $b 2 $c 3
            assert_equal 0 [r hdel k none nobody]
            assert_equal 2 [r hdel k $b none $a $b]
            assert_equal [list $c 3] [r hgetall k]
            assert_equal 1 [r hdel k $a $b $c none]
            assert_equal 0 [r exists k]
            assert_equal 0 [r hdel k $a]
        }

        test "a missing key reads as an empty hash ($name)" {
            r del none
            assert_equal {{} {} 0 0 0} \
                [list [r hget none a] [r hgetall none] [r hlen none] [r hexists none a] [r hstrlen none a]]
            assert_equal {{} {}} [r hmget none a b]
            assert_equal {} [r hkeys none]
            assert_equal {} [r hvals none]
            assert_equal {} [r hrandfield none]
            assert_equal {} [r hrandfield none 3]
            assert_equal {0 {}} [r hscan none 0]
            assert_equal 0 [r exists none]
        }

        test "HINCRBY adds to integers within 64 bits ($name)" {
            r del k
            assert_equal 5 [r hincrby k $a 5]
            assert_equal -3 [r hincrby k $a -8]
            assert_equal -3 [r hget k $a]
            r hset k $b 9223372036854775806
            assert_equal 9223372036854775807 [r hincrby k $b 1]
            assert_error "ERR increment or decrement would overflow" { r hincrby k $b 1 }
            r hset k $b -9223372036854775808
            assert_error "ERR increment or decrement would overflow" { r hincrby k $b -1 }
            foreach text {abc 1.5 {} { 1} 01 1e3 9223372036854775808} {
                r hset k $c $text
                assert_error "ERR hash value is not an integer" { r hincrby k $c 1 } $text
                assert_equal $text [r hget k $c]
            }
            assert_error "ERR value is not an integer or out of range" { r hincrby k $a x }
            assert_error "ERR value is not an integer or out of range" { r hincrby k $a 9223372036854775808 }
        }

        test "HINCRBYFLOAT adds and prints without trailing zeros ($name)" {
            r del k
            assert_equal 1.5 [r hincrbyfloat k $a 1.5]
            assert_equal 3 [r hincrbyfloat k $a 1.5]
            assert_equal 203 [r hincrbyfloat k $a 2e2]
            assert_equal 203 [r hget k $a]
            assert_equal 4 [r hincrby k $b 4]
            assert_equal 3.9 [r hincrbyfloat k $b -0.1]
            r hset k $c abc
            assert_error "ERR hash value is not a float" { r hincrbyfloat k $c 1 }
            assert_error "ERR value is not a valid float" { r hincrbyfloat k $a x }
            assert_error "ERR value is not a valid float" { r hincrbyfloat k $a nan }
            assert_error "ERR value is NaN or Infinity" { r hincrbyfloat k $a inf }
            r hset k $c 1e4932
            assert_error "ERR increment would produce NaN or Infinity" { r hincrbyfloat k $c 1e4932 }
        }

        test "fields and values are any bytes of any length ($name)" {
            r del k
            set model {}
            foreach len {0 1 5 30 61 62 63 64 65 127 128 253 254 255 256 300 4095 4096 70000} {
                foreach {f v} [list [string repeat f $len] value field$len [string repeat v $len] \
                        [string repeat \xff\x00 $len] [string repeat \r\n $len]] {
                    r hset k $f $v
                    dict set model $f $v
                }
            }
            dict for {f v} $model { assert_equal $v [r hget k $f] }
            assert_equal [dict size $model] [r hlen k]
            assert_equal [lsort -stride 2 $model] [pairs_of k]
            # Every value by one of another length.
            set values [lreverse [dict values $model]]
            foreach f [dict keys $model] v $values { r hset k $f $v }
            foreach f [dict keys $model] v $values { assert_equal $v [r hget k $f] }
        }

        test "a value of several pages is replaced and read back ($name)" {
            r del k
            foreach len {40000 100000 32768 10 200000} {
                r hset k f [string repeat x $len]
                assert_equal $len [r hstrlen k f]
                r hsetnx k g$len [string repeat y $len]
                assert_equal $len [string length [r hget k g$len]]
            }
        }

        test "random changes agree with a dict ($name)" {
            r del k
            set model {}
            for {set i 0} {$i < 3000} {incr i} {
                set f f[randomInt 30]$suffix
                switch [randomInt 4] {
                    0 { assert_equal [dict exists $model $f] [r hdel k $f]; dict unset model $f }
                    1 { set v [randomInt 100000]; r hset k $f $v; dict set model $f $v }
                    2 { set v [randstring 0 80 alpha]; r hset k $f $v; dict set model $f $v }
                    3 { if {[dict exists $model $f]} { set v [dict get $model $f] } else { set v {} }; assert_equal $v [r hget k $f] }
                }
                if {$i % 500 == 0} { r del k; set model {} }
                if {$i % 20 == 0} { assert_equal [lsort -stride 2 $model] [pairs_of k] }
            }
        }

        test "RENAME, COPY, expiry of the key, and DEBUG DIGEST keep the fields ($name)" {
            r del k k2 k3
            r hset k $a 1 $b 2 $c 3
            set before [pairs_of k]
            r expire k 1000
            assert_equal $before [pairs_of k]
            r rename k k2
            assert_equal $before [pairs_of k2]
            assert_range [r ttl k2] 990 1000
            r persist k2
            assert_equal 1 [r copy k2 k3]
            r hset k3 $a changed
            assert_equal $before [pairs_of k2]
            assert_equal changed [r hget k3 $a]
            assert_equal 1 [r copy k2 k3 replace]
            assert_equal $before [pairs_of k3]
            assert_encoding $encoding k3
        }
    }
}

start_server {tags {hash}} {
    test {wrong numbers of arguments} {
        foreach words {{hset k a} {hset k a 1 b} {hmset k a 1 b}} {
            assert_error "ERR wrong number of arguments for '[lindex $words 0]' command" { r {*}$words } $words
        }
        assert_equal 0 [r exists k]
    }

    test {every command refuses another type} {
        r set s text
        foreach words {
            {hset s a 1} {hmset s a 1} {hsetnx s a 1} {hget s a} {hmget s a} {hgetall s} {hkeys s} {hvals s} {hlen s}
            {hexists s a} {hdel s a} {hstrlen s a} {hincrby s a 1} {hincrbyfloat s a 1} {hrandfield s} {hrandfield s 1}
            {hscan s 0} {hexpire s 1 fields 1 a} {hpexpire s 1 fields 1 a} {hexpireat s 1 fields 1 a}
            {hpexpireat s 1 fields 1 a} {httl s fields 1 a} {hpttl s fields 1 a} {hexpiretime s fields 1 a}
            {hpexpiretime s fields 1 a} {hpersist s fields 1 a} {hgetex s fields 1 a} {hsetex s fields 1 a 1}
            {hgetdel s fields 1 a}
        } {
            assert_error "WRONGTYPE*" { r {*}$words } $words
        }
        assert_equal text [r get s]
    }

    test {a hash becomes a table past its limits, and stays one} {
        r del k
        config_set hash-max-listpack-entries 4
        config_set hash-max-listpack-value 10
        r hset k a 1 b 2 c 3 d 4
        assert_encoding listpack k
        r hset k a 0123456789 0123456789 x b 2
        assert_encoding hashtable k
        r hdel k 0123456789 b c d
        assert_encoding hashtable k
        foreach words {{hset k a 01234567890} {hset k 01234567890 a} {hsetnx k f 01234567890} {hset k a 1 b 2 c 3 d 4 e 5}
            {hsetex k fields 1 a 01234567890}} {
            r del k
            r {*}$words
            assert_encoding hashtable k
        }
        foreach words {{hset k a 0123456789} {hset k 0123456789 a} {hsetnx k f 0123456789} {hincrby k f 1}} {
            r del k
            r {*}$words
            assert_encoding listpack k
        }
        r del k
        r hincrby k a 1234567890
        assert_encoding listpack k
        r hincrby k a 9999999999
        assert_encoding hashtable k
        assert_equal 4 [config_get hash-max-ziplist-entries]
        assert_equal 10 [config_get hash-max-ziplist-value]
        config_set hash-max-listpack-entries 512
        config_set hash-max-listpack-value 64
    }

    test {default limits: 512 fields, 64 bytes} {
        r del k
        for {set i 0} {$i < 512} {incr i} { r hset k f$i $i }
        assert_encoding listpack k
        r hset k f512 512
        assert_encoding hashtable k
        for {set i 0} {$i < 513} {incr i} { assert_equal $i [r hget k f$i] }
        r del k
        r hset k f [string repeat x 64]
        assert_encoding listpack k
        r hset k f [string repeat x 65]
        assert_encoding hashtable k
    }

    test {the three encodings of equal hashes have equal digests} {
        r del k1 k2 k3
        r hset k1 a 1 b two
        r hset k2 a 1 b [string repeat x 60]
        r hset k2 b two
        r hset k3 a 1 b [string repeat x 100]
        r hset k3 b two
        assert_equal {listpack listpack hashtable} [lmap k {k1 k2 k3} { r object encoding $k }]
        set digests [r debug digest-value k1 k2 k3]
        assert_equal 1 [llength [lsort -unique $digests]]
        r hset k3 b 1 a two
        assert_equal 2 [llength [lsort -unique [r debug digest-value k1 k3]]]
    } {} {needs:debug}

    test {a small hash costs no allocation of its own} {
        r del k
        r flushall
        set before [s used_memory]
        r_many i 10000 { list hset user:$i name bob age 42 }
        assert_lessthan [expr {([s used_memory] - $before) / 10000.}] 64
    } {} {slow}
}
