# Expiry of fields. What is propagated, and a random model test, are in src/types/hash/hash_expire_test.c.

set bad_count "ERR numfields should be greater than 0 and match the provided number of fields"

proc now_ms {} { return [clock milliseconds] }

# A hash with fields a, b, c, of which b has expired but still exists, as active expiry is off; d has an expiry.
proc with_expired {} {
    r del k
    r hset k a 1 b 2 c 3 d 4
    r hpexpire k 1 fields 1 b
    r hexpire k 1000 fields 1 d
    after 10
}

# As in Redis 8, options may follow the fields; Valkey has them in front only.
start_server {tags {hash}} {
    test {options behind the fields do what they do in front of them} {
        foreach {command front behind} {
            {hexpire k 1000} {nx} {fields 2 a b} {hexpire k 1000} {XX} {fields 1 a} {hpexpire k 500000} {gt} {FIELDS 3 a b none}
            {hexpireat k 4102444800} {lt} {fields 1 b} {hpexpireat k 4102444800000} {xx gt} {fields 2 a b}
            {hgetex k} {ex 100} {fields 2 a b} {hgetex k} {PXAT 4102444800000} {fields 1 none} {hgetex k} {persist} {fields 2 a b} {hgetex k} {exat 1} {fields 1 a}
            {hsetex k} {ex 100} {fields 2 a x c y} {hsetex k} {fnx px 100000} {fields 1 c y} {hsetex k} {FXX KEEPTTL} {fields 1 b y}
            {hsetex k} {xx fxx exat 4102444800} {fields 1 a nx} {hsetex k} {nx} {fields 1 c y} {hsetex k} {pxat 1} {fields 1 a 1}
        } {
            set results {}
            foreach words [list [concat $front $behind] [concat $behind $front]] {
                r del k
                r hset k a 1 b 2
                r hexpire k 2000 fields 1 b
                lappend results [list [r {*}$command {*}$words] [lsort [r hgetall k]] [lmap ttl [r httl k fields 3 a b c] { expr {($ttl + 5) / 10} }]]
            }
            assert_equal [lindex $results 0] [lindex $results 1] "$command $front $behind"
        }
    }

    test {options in front of the fields and behind them} {
        r del k
        r hset k a 1 b 2
        r hexpire k 2000 fields 1 b
        assert_equal 1 [r hexpire k 3000 xx fields 1 b gt]
        assert_equal 0 [r hexpire k 1000 xx fields 1 b gt]
        assert_equal 1 [r hsetex k fxx fields 1 a 5 ex 100]
        assert_range [r httl k fields 1 a] 95 100
        assert_error "ERR NX and XX, GT or LT options*" { r hexpire k 1000 nx fields 1 a xx }
        assert_error "ERR GT and LT options*" { r hexpire k 1000 fields 1 a gt lt }
        assert_error "ERR syntax error" { r hsetex k ex 5 fields 1 a 5 px 100 }
        assert_error "ERR syntax error" { r hsetex k fnx fields 1 a 5 fxx }
        assert_error $bad_count { r hgetex k ex 5 fields 1 a persist }
        assert_error "ERR invalid expire time*" { r hgetex k fields 1 a ex -1 }
    }

    test {a field may have the name of an option; any other word behind the fields is an error, and nothing changes} {
        r del k
        r hset k nx 1 ex 2 a 3
        assert_equal {1 1} [r hexpire k 1000 fields 2 nx ex]
        assert_equal {0} [r hexpire k 1000 fields 1 ex nx]
        assert_equal {1 2} [r hgetex k fields 2 nx ex persist]
        assert_equal 1 [r hsetex k fields 2 ex ex px px ex 100]
        foreach words {
            {hexpire k 100 fields 1 a b} {hexpire k 100 fields 1 a nx b} {hexpire k 100 fields 1 a ex 5} {hexpire k 100 fields 0 nx} {hexpire k 100 fields -1 a nx}
            {hgetex k fields 1 a b} {hgetex k fields 1 a ex} {hgetex k fields 1 a keepttl} {hgetex k fields 1 a ex 5 b} {hgetex k fields 4 a ex 5}
            {hsetex k fields 1 a 1 b} {hsetex k fields 1 a 1 ex} {hsetex k fields 1 a 1 persist} {hsetex k fields 1 a 1 b 2} {hsetex k fields 2 a ex 100}
            {hsetex k fields 4611686018427387904 a 1 nx} {hgetdel k fields 1 a nx} {hpersist k fields 1 a persist}
        } {
            assert_error $bad_count { r {*}$words } $words
        }
        assert_error "ERR syntax error" { r httl k fields 1 a nx }
        assert_equal {3 -1} [list [r hget k a] [r httl k fields 1 a]]
    }
}

# Small hashes are listpacks; with a limit of 0 all are tables.
foreach limit {512 0} {
start_server [list overrides [list hash-max-listpack-entries $limit] tags {hash}] {
    set encoding [expr {$limit ? "listpack" : "hashtable"}]
    foreach {command unit absolute} {hexpire 1000 0 hpexpire 1 0 hexpireat 1000 1 hpexpireat 1 1} {
        proc at {ms} [subst -nocommands {
            return [expr {(\$ms + ($absolute ? [now_ms] : 0)) / $unit}]
        }]

        test "$command sets an expiry, field by field" {
            r del k
            r hset k a 1 b 2
            assert_equal {1 -2 1} [r $command k [at 100000] fields 3 a none b]
            assert_range [r hpttl k fields 1 a] 98000 100000
            assert_equal {1} [r $command k [at 500000] FIELDS 1 a]
            assert_range [r hpttl k fields 1 a] 498000 500000
            assert_range [r hpttl k fields 1 b] 98000 100000
            assert_encoding $encoding k
            assert_equal {a 1 b 2} [lsort -stride 2 [r hgetall k]]
        }

        test "$command on a missing key" {
            r del none
            assert_equal {-2 -2} [r $command none [at 1000] fields 2 a b]
            assert_equal {-2} [r $command none 0 fields 1 a]
            assert_equal 0 [r exists none]
        }

        test "$command of the past deletes, and the key with the last field" {
            r del k
            r hset k a 1 b 2
            assert_equal {2 -2 -2} [r $command k 0 fields 3 a a none]
            assert_equal {b 2} [r hgetall k]
            assert_equal 2 [r $command k [expr {$absolute ? 1 : 0}] fields 1 b]
            assert_equal 0 [r exists k]
        }

        test "$command NX, XX, GT, LT" {
            r del k
            r hset k a 1 b 2
            assert_equal {0 0} [r $command k [at 100000] xx fields 2 a b]
            assert_equal {0 0} [r $command k [at 100000] gt fields 2 a b]
            assert_equal {1} [r $command k [at 100000] nx fields 1 a]
            assert_equal {0 1} [r $command k [at 200000] NX fields 2 a b]
            assert_equal {0 0} [r $command k [at 50000] gt fields 2 a b]
            assert_equal {1 0} [r $command k [at 150000] gt fields 2 a b]
            assert_equal {0 1} [r $command k [at 170000] lt fields 2 a b]
            assert_equal {0} [r $command k [at 300000] xx lt fields 1 a]
            assert_equal {1 1} [r $command k [at 300000] xx gt fields 2 a b]
            r hset k c 3
            assert_equal {1} [r $command k [at 300000] lt fields 1 c]
            assert_equal {0 0 2} [list {*}[r $command k 0 gt fields 2 a b] [r $command k 0 lt fields 1 a]]
        }

        test "$command refuses bad arguments, and changes nothing" {
            r del k
            r hset k a 1
            foreach {error words} [list \
                $bad_count {100 fields 0 a} \
                $bad_count {100 fields 2 a} \
                $bad_count {100 fields 1 a b} \
                $bad_count {100 fields -1 a} \
                "ERR value is not an integer or out of range" {100 fields x a} \
                "ERR value is not an integer or out of range" {x fields 1 a} \
                "ERR value is not an integer or out of range" {1.5 fields 1 a} \
                "ERR value is not an integer or out of range" {9223372036854775808 fields 1 a} \
                "ERR invalid expire time in '$command' command" {-1 fields 1 a} \
                $bad_count {100 field 1 a} \
                $bad_count {100 1 a b} \
                $bad_count {100 nx xx nx} \
                $bad_count {x x x x} \
                $bad_count {x x x fields} \
                "ERR Unsupported option x" {100 x fields 1 a} \
                "ERR Unsupported option x" {x nx xx x fields 0 a} \
                "ERR NX and XX, GT or LT options at the same time are not compatible" {100 nx xx fields 1 a} \
                "ERR NX and XX, GT or LT options at the same time are not compatible" {100 gt nx fields 1 a} \
                "ERR GT and LT options at the same time are not compatible" {100 gt lt fields 1 a}] {
                assert_error $error { r $command k {*}$words } $words
            }
            assert_error "ERR wrong number of arguments for '$command' command" { r $command k 100 fields 1 }
            assert_equal -1 [r httl k fields 1 a]
            if {$unit == 1000} {
                assert_error "ERR invalid expire time*" { r $command k 9223372036854775807 fields 1 a }
                assert_error "ERR invalid expire time*" { r $command k 9223372036854776 fields 1 a }
            }
            if {!$absolute} {
                set most [expr {9223372036854775807 / $unit}]
                assert_error "ERR invalid expire time*" { r $command k $most fields 1 a }
            } else {
                set most [expr {9223372036854775807 / $unit}]
                assert_equal 1 [r $command k $most fields 1 a]
                assert_equal [expr {$most * $unit}] [r hpexpiretime k fields 1 a]
            }
        }
    }

    test {HTTL, HPTTL, HEXPIRETIME, HPEXPIRETIME} {
        r del k none
        r hset k a 1 b 2
        r hpexpireat k 4102444800600 fields 1 a
        assert_equal {4102444801 -1 -2} [r hexpiretime k fields 3 a b c]
        assert_equal {4102444800600 -1 -2} [r hpexpiretime k fields 3 a b c]
        set left [expr {4102444800600 - [now_ms]}]
        assert_range [lindex [r hpttl k fields 3 a b c] 0] [expr {$left - 5000}] $left
        assert_range [lindex [r httl k fields 3 a b c] 0] [expr {$left / 1000 - 5}] [expr {$left / 1000 + 1}]
        assert_equal {-1 -2} [lrange [r httl k fields 3 a b c] 1 end]
        foreach command {httl hpttl hexpiretime hpexpiretime hpersist} {
            assert_equal {-2 -2} [r $command none fields 2 a b]
            set error [expr {$command eq "hpersist" ? $bad_count : "ERR syntax error"}]
            assert_error $error { r $command k fields 0 a }
            assert_error $error { r $command k fields 3 a b }
            assert_error $error { r $command k fields 1 a b }
            assert_error "ERR value is not an integer*" { r $command k fields x a }
            assert_error "ERR syntax error" { r $command k field 1 a }
            assert_error "ERR wrong number of arguments*" { r $command k fields 1 }
        }
        assert_equal 0 [r exists none]
    }

    test {HPERSIST} {
        r del k
        r hset k a 1 b 2
        r hexpire k 100 fields 1 a
        assert_equal {1 -1 -2 -1} [r hpersist k fields 4 a b c a]
        assert_equal {-1 -1} [r httl k fields 2 a b]
    }

    test {HGETEX reads, and sets or removes the expiry} {
        r del k none
        r hset k a 1 b 2
        assert_equal {1 {} 2} [r hgetex k fields 3 a none b]
        assert_equal {-1 -1} [r httl k fields 2 a b]
        assert_encoding $encoding k
        assert_equal {1} [r hgetex k ex 100 fields 1 a]
        assert_range [r hpttl k fields 1 a] 98000 100000
        assert_equal {1} [r hgetex k PX 200000 FIELDS 1 a]
        assert_range [r hpttl k fields 1 a] 198000 200000
        r hgetex k exat 4102444800 fields 2 a b
        assert_equal {4102444800000 4102444800000} [r hpexpiretime k fields 2 a b]
        r hgetex k pxat 4102444800001 fields 1 b
        assert_equal {4102444800000 4102444800001} [r hpexpiretime k fields 2 a b]
        assert_equal {1 {}} [r hgetex k persist fields 2 a none]
        assert_equal {-1} [r httl k fields 1 a]
        assert_equal {2} [r hgetex k ex 0 fields 1 b]
        assert_equal {a 1} [r hgetall k]
        assert_equal {1} [r hgetex k pxat 1 fields 1 a]
        assert_equal 0 [r exists k]
        assert_equal {{} {}} [r hgetex none ex 100 fields 2 a b]
        assert_equal 0 [r exists none]
        r hset k a 1
        foreach {error words} [list \
            "ERR syntax error" {ex 10 px 10 fields 1 a} \
            "ERR syntax error" {ex 10 persist fields 1 a} \
            "ERR syntax error" {keepttl fields 1 a} \
            "ERR syntax error" {nonsense fields 1 a} \
            "ERR syntax error" {ex fields 1 a} \
            $bad_count {nonsense 1 a} \
            $bad_count {ex x fields 0 a} \
            "ERR invalid expire time in 'hgetex' command" {ex -1 fields 1 a} \
            "ERR invalid expire time in 'hgetex' command" {ex 9223372036854775807 fields 1 a} \
            "ERR value is not an integer or out of range" {ex x fields 1 a} \
            $bad_count {ex 10 fields 2 a} \
            $bad_count {fields 0 a}] {
            assert_error $error { r hgetex k {*}$words } $words
        }
        assert_equal -1 [r httl k fields 1 a]
        assert_error "ERR value is not an integer or out of range" { r hgetex none ex x fields 1 a }
        r sadd set x
        assert_error "WRONGTYPE*" { r hgetex set ex x fields 1 a }
    }

    test {HGETEX: the same option and the same field twice} {
        r del k
        r hset k a 1 b 2
        assert_equal 1 [r hgetex k ex 10 ex 1000 fields 1 a]
        assert_range [r httl k fields 1 a] 990 1000
        assert_equal 1 [r hgetex k persist persist fields 1 a]
        assert_equal -1 [r httl k fields 1 a]
        assert_equal {1 {} 2} [r hgetex k ex 0 fields 3 a a b]
        assert_equal 0 [r exists k]
    }

    test {HSETEX sets values with an expiry} {
        r del k
        assert_equal 1 [r hsetex k ex 100 fields 2 a 1 b 2]
        assert_range [r hpttl k fields 1 a] 98000 100000
        assert_range [r hpttl k fields 1 b] 98000 100000
        assert_equal 1 [r hsetex k PXAT 4102444800001 FIELDS 1 a 3]
        assert_equal 1 [r hsetex k exat 4102444800 fields 1 b 4]
        assert_equal {4102444800001 4102444800000} [r hpexpiretime k fields 2 a b]
        assert_equal 1 [r hsetex k keepttl fields 2 a 5 c 5]
        assert_equal {4102444800001 -1} [r hpexpiretime k fields 2 a c]
        assert_equal 1 [r hsetex k fields 1 a 6]
        assert_equal {-1} [r hpexpiretime k fields 1 a]
        assert_equal {a 6 b 4 c 5} [lsort -stride 2 [r hgetall k]]
        assert_equal 1 [r hsetex k px 5000 fields 2 a first a last]
        assert_equal last [r hget k a]
    }

    test {HSETEX with a field twice: the hash stays small} {
        r config set hash-max-listpack-entries 3
        r del twice
        r hsetex twice fields 5 a 1 a 2 b 3 b 4 c [string repeat x 60]
        assert_encoding listpack twice
        r hsetex twice fields 1 d 5
        assert_encoding hashtable twice
        r config set hash-max-listpack-entries $limit
    }

    test {HSETEX with a time in the past deletes} {
        r del k
        r hset k a 1 b 2
        assert_equal 1 [r hsetex k ex 0 fields 2 a 9 new 9]
        assert_equal {b 2} [r hgetall k]
        assert_equal 1 [r hsetex k pxat 1 fields 1 b 9]
        assert_equal 0 [r exists k]
        assert_equal 1 [r hsetex k ex 0 fields 1 a 1]
        assert_equal 0 [r exists k]
    }

    test {HSETEX NX and XX check the key, FNX and FXX the fields} {
        r del k
        assert_equal 0 [r hsetex k xx fields 1 a 1]
        assert_equal 0 [r hsetex k fxx fields 1 a 1]
        assert_equal 0 [r exists k]
        assert_equal 1 [r hsetex k nx fields 1 a 1]
        assert_equal 0 [r hsetex k nx fields 1 b 1]
        assert_equal 1 [r hsetex k XX fields 1 b 2]
        assert_equal 0 [r hsetex k fnx fields 2 c 3 a 9]
        assert_equal 0 [r hsetex k fxx fields 2 a 9 c 3]
        assert_equal {a 1 b 2} [lsort -stride 2 [r hgetall k]]
        assert_equal 1 [r hsetex k FXX ex 100 xx fields 2 a 3 b 4]
        assert_equal 1 [r hsetex k ex 100 FNX fields 1 c 5]
        assert_equal {a 3 b 4 c 5} [lsort -stride 2 [r hgetall k]]
    }

    test {HSETEX refuses bad arguments, and changes nothing} {
        r del k
        foreach {error words} [list \
            "ERR syntax error" {nx xx fields 1 a 1} \
            "ERR syntax error" {fnx fxx fields 1 a 1} \
            "ERR syntax error" {ex 10 px 10 fields 1 a 1} \
            "ERR syntax error" {ex 10 keepttl fields 1 a 1} \
            "ERR syntax error" {persist fields 1 a 1} \
            "ERR syntax error" {xx nx fields 1 a 1} \
            "ERR syntax error" {ex fields 1 a 1} \
            $bad_count {a 1 b 2} \
            $bad_count {ex x fields 0 a 1} \
            "ERR invalid expire time in 'hsetex' command" {ex -1 fields 1 a 1} \
            "ERR invalid expire time in 'hsetex' command" {ex 9223372036854775 fields 1 a 1} \
            "ERR invalid expire time in 'hsetex' command" {px 9223372036854775807 fields 1 a 1} \
            "ERR value is not an integer or out of range" {ex x fields 1 a 1} \
            $bad_count {ex 10 fields 2 a 1} \
            $bad_count {ex 10 fields 1 a 1 b} \
            $bad_count {ex 10 fields 1 a 1 b 2} \
            $bad_count {ex 10 fields 0 a 1}] {
            assert_error $error { r hsetex k {*}$words } $words
        }
        assert_equal 0 [r exists k]
    }

    test {HSETEX: the key's condition comes before the time, the fields' after it} {
        r del k none
        r hset k a 1
        assert_equal 0 [r hsetex k nx ex x fields 1 a 2]
        assert_equal 0 [r hsetex none xx ex -1 fields 1 a 2]
        assert_error "ERR value is not an integer or out of range" { r hsetex k fnx ex x fields 1 a 2 }
        assert_error "ERR invalid expire time in 'hsetex' command" { r hsetex none fxx ex -1 fields 1 a 2 }
        assert_equal {0 1 0 1} [list [r hsetex k nx nx fields 1 a 2] [r hsetex k xx xx fields 1 a 2] \
                                     [r hsetex k fnx fnx fields 1 a 3] [r hsetex k fxx fxx fields 1 a 3]]
        assert_equal 1 [r hsetex k ex 10 ex 1000 fields 1 a 3]
        assert_range [r httl k fields 1 a] 990 1000
        assert_equal 1 [r hsetex k keepttl keepttl fields 1 a 4]
        assert_range [r httl k fields 1 a] 990 1000
    }

    test {HGETDEL reads and deletes} {
        r del k none
        r hset k a 1 b 2 c 3
        assert_equal {1 {} {} 3} [r hgetdel k fields 4 a a none c]
        assert_equal {b 2} [r hgetall k]
        assert_equal {{} {}} [r hgetdel none fields 2 a b]
        r hexpire k 100 fields 1 b
        assert_equal {2} [r hgetdel k FIELDS 1 b]
        assert_equal 0 [r exists k]
        r hset k a 1
        foreach words {{fields 0 a} {fields 2 a} {fields 1 a b} {fields -1 a}} {
            assert_error $bad_count { r hgetdel k {*}$words } $words
        }
        assert_error "ERR syntax error" { r hgetdel k field 1 a }
        assert_equal 1 [r hget k a]
    }

    test {HSET removes the expiry of a field, HINCRBY and HINCRBYFLOAT keep it} {
        r del k
        r hsetex k ex 100 fields 4 a 1 b 1 c 1 d 1
        r hset k a 2
        r hmset k b 2
        assert_equal 2 [r hincrby k c 1]
        assert_equal 1.5 [r hincrbyfloat k d 0.5]
        assert_equal {-1 -1 100 100} [r httl k fields 4 a b c d]
    }

    test {values of every length survive setting and removing an expiry} {
        r del k
        set model {}
        foreach len {0 1 10 62 63 64 253 254 255 256 40000} {
            r hset k f$len [string repeat v $len] [string repeat f [expr {$len + 1}]] $len
        }
        set before [lsort -stride 2 [r hgetall k]]
        foreach {f v} $before {
            r hexpire k 100 fields 1 $f
            assert_equal $v [r hget k $f]
        }
        assert_equal $before [lsort -stride 2 [r hgetall k]]
        foreach {f v} $before {
            r hsetex k keepttl fields 1 $f x
            r hsetex k keepttl fields 1 $f $v
            assert_equal 100 [r httl k fields 1 $f]
            r hpersist k fields 1 $f
        }
        assert_equal $before [lsort -stride 2 [r hgetall k]]
    }

    test {the expiry of fields survives COPY and RENAME, and an expiry of the key} {
        r del k k2 k3
        r hset k a 1 b 2
        r hpexpireat k 4102444800000 fields 1 a
        r copy k k2
        r rename k k3
        r expire k3 1000
        r hpexpireat k3 4102444800001 fields 1 b
        r persist k3
        assert_equal {4102444800000 -1} [r hpexpiretime k2 fields 2 a b]
        assert_equal {4102444800000 4102444800001} [r hpexpiretime k3 fields 2 a b]
        r hpexpire k3 20 fields 1 a
        r copy k3 k2 replace
        r rename k3 k
        wait_for_condition 500 20 {[r hlen k] == 1 && [r hlen k2] == 1} else { fail "the fields stay" }
        assert_equal {b 2} [r hgetall k]
        assert_equal {b 2} [r hgetall k2]
    }

    test {DEBUG DIGEST sees the expiry of fields} {
        r del k k2
        r hset k a 1
        r copy k k2
        r hpexpireat k 4102444800000 fields 1 a
        assert {[r debug digest-value k] ne [r debug digest-value k2]}
        r hpexpireat k2 4102444800000 fields 1 a
        assert {[r debug digest-value k] eq [r debug digest-value k2]}
        r hpersist k fields 1 a
        r hpersist k2 fields 1 a
        assert {[r debug digest-value k] eq [r debug digest-value k2]}
    } {} {needs:debug}

    test {FLUSHALL and DEL with fields that would expire} {
        r flushall
        for {set i 0} {$i < 300} {incr i} { r hsetex k$i px [expr {10 + $i % 50}] fields 2 a 1 b 2 }
        for {set i 0} {$i < 100} {incr i} { r del k$i }
        for {set i 100} {$i < 150} {incr i} { r set k$i string }
        r flushall async
        r hsetex k px 10 fields 1 a 1
        r flushall sync
        r hsetex k px 10 fields 1 a 1
        r hset k b 1
        after 200
        assert_equal {b 1} [r hgetall k]
        assert_equal 1 [r dbsize]
    }
}

# ---- Fields that have expired, but still exist ----

start_server [list overrides [list hash-max-listpack-entries $limit] tags {hash needs:debug}] {
    r debug set-active-expire 0

    test {reading commands do not see an expired field} {
        with_expired
        assert_equal {} [r hget k b]
        assert_equal {1 {} 3} [r hmget k a b c]
        assert_equal {0 0} [list [r hexists k b] [r hstrlen k b]]
        assert_equal {a 1 c 3 d 4} [lsort -stride 2 [r hgetall k]]
        assert_equal {a c d} [lsort [r hkeys k]]
        assert_equal {1 3 4} [lsort [r hvals k]]
        assert_equal {-2 -2} [list [r httl k fields 1 b] [r hpexpiretime k fields 1 b]]
        assert_equal {{} 3} [r hgetex k fields 2 b c]
        assert_equal {{}} [r hgetdel k fields 1 b]
        lassign [r hscan k 0] cursor items
        assert_equal {0 {a 1 c 3 d 4}} [list $cursor [lsort -stride 2 $items]]
        assert_equal 4 [r hlen k]
        r hello 3
        assert_equal {a 1 c 3 d 4} [lsort -stride 2 [r hgetall k]]
        r hello 2
    }

    test {HRANDFIELD does not see an expired field} {
        with_expired
        for {set i 0} {$i < 100} {incr i} { assert {[r hrandfield k] in {a c d}} }
        assert_equal {a c d} [lsort [r hrandfield k 4]]
        assert_equal {a c d} [lsort [r hrandfield k 3]]
        assert_equal 2 [llength [lsort -unique [r hrandfield k 2]]]
        assert_equal {a c d} [lsort -unique [r hrandfield k -200]]
        r del k
        set words {}
        for {set i 0} {$i < 1000} {incr i} { lappend words f$i $i }
        r hset k {*}$words
        r hpexpire k 1 fields 997 {*}[lrange [dict keys $words] 3 end]
        after 5
        assert_equal {f0 f1 f2} [lsort [r hrandfield k 1000]]
        assert_equal {f0 f1 f2} [lsort -unique [r hrandfield k -100]]
        for {set i 0} {$i < 20} {incr i} { assert {[r hrandfield k] in {f0 f1 f2}} }
        r hpexpire k 1 fields 3 f0 f1 f2
        after 5
        assert_equal {{} {} {}} [list [r hrandfield k] [r hrandfield k 3] [r hrandfield k -3]]
        assert_equal {{} 1000 1} [list [r hgetall k] [r hlen k] [r exists k]]
    }

    test {writing commands do not see an expired field} {
        foreach {words reply after} {
            {hset k b 9} 1 9
            {hsetnx k b 9} 1 9
            {hincrby k b 9} 9 9
            {hincrbyfloat k b 9} 9 9
            {hdel k b} 0 {}
            {hexpire k 100 fields 1 b} -2 {}
            {hexpire k 0 fields 1 b} -2 {}
            {hpersist k fields 1 b} -2 {}
            {hsetex k fxx fields 2 a 1 b 9} 0 {}
            {hsetex k fnx fields 1 b 9} 1 9
            {hsetex k keepttl fields 1 b 9} 1 9
            {hgetex k ex 100 fields 1 b} {{}} {}
        } {
            with_expired
            assert_equal $reply [r {*}$words] $words
            assert_equal $after [r hget k b] $words
            if {$after ne {}} { assert_equal -1 [r httl k fields 1 b] $words }
            assert_equal {1 3 4 1000} [list {*}[r hmget k a c d] [r httl k fields 1 d]] $words
        }
    }

    test {INFO counts fields that have expired, and keys that have fields to expire} {
        r flushall
        r config resetstat
        r hset plain a 1
        r hset k a 1 b 2 c 3 d 4 e 5
        assert_match "*,keys_with_volatile_items=0" [s db0]
        r hexpire k 100 fields 5 a b c d e
        r copy k k2
        assert_match "*,keys_with_volatile_items=2" [s db0]
        r hpersist k2 fields 5 a b c d e
        assert_match "*,keys_with_volatile_items=1" [s db0]
        assert_equal {0 0.00} [list [s expired_fields] [s expired_keys_with_volatile_items_stale_perc]]
        r hexpire k 0 fields 2 a nof
        assert_equal 1 [s expired_fields]
        r hgetex k ex 0 fields 2 b nof
        assert_equal 2 [s expired_fields]
        r hsetex k pxat 1 fields 3 c 1 c 2 nof 1
        assert_equal 5 [s expired_fields]
        r hpexpire k 1 fields 1 d
        after 5
        assert_equal 100.00 [s expired_keys_with_volatile_items_stale_perc]
        r hgetall k
        assert_equal 5 [s expired_fields]
        r hset k d 1
        assert_equal {6 0.00} [list [s expired_fields] [s expired_keys_with_volatile_items_stale_perc]]
        assert_equal {6 0} [list [s expired_subkeys] [s expired_subkeys_active]] "Redis's names; none by the job yet"
        r hpexpire k 1 fields 2 d e
        r debug set-active-expire 1
        wait_for_condition 500 20 {[r exists k] == 0} else { fail "expired fields stay" }
        r debug set-active-expire 0
        assert_equal {8 8 2} [list [s expired_fields] [s expired_subkeys] [s expired_subkeys_active]]
        assert_match "*,keys_with_volatile_items=0" [s db0]
        r config resetstat
        assert_equal {0 0 0} [list [s expired_fields] [s expired_subkeys] [s expired_subkeys_active]]
    }

    test {HGETDEL does not count hits and misses} {
        r config resetstat
        r hset k a 1
        r hgetdel k fields 1 a
        r hgetdel k fields 1 a
        assert_equal {0 0} [list [s keyspace_hits] [s keyspace_misses]]
    }

    test {copies of expired fields stay expired} {
        with_expired
        r copy k k2 replace
        r rename k k3
        assert_equal {a 1 c 3 d 4} [lsort -stride 2 [r hgetall k2]]
        assert_equal {a 1 c 3 d 4} [lsort -stride 2 [r hgetall k3]]
        assert_equal {4 4} [list [r hlen k2] [r hlen k3]]
    }

    test {active expiry deletes all expired fields when it is switched on again} {
        r flushall
        with_expired
        r rename k k2
        with_expired
        r select 5
        r hsetex k px 1 fields 2 a 1 b 2
        r select 0
        assert_equal 4 [r hlen k]
        r debug set-active-expire 1
        wait_for_condition 500 20 {[r hlen k] == 3 && [r hlen k2] == 3} else { fail "expired fields stay" }
        r select 5
        wait_for_condition 500 20 {[r exists k] == 0} else { fail "expired fields stay in database 5" }
        r select 0
        assert_equal {1 3 4 1000} [list {*}[r hmget k a c d] [r httl k fields 1 d]]
    }
}
}

start_server {tags {hash needs:debug external:skip}} {
    # Not always the same number of digits: they are integers in the listpack.
    proc make_small {key} {
        r del $key
        r hset $key a 1 b two c 3.5 d {} 5 five
        r hpexpireat $key 4102444800001 fields 2 a 5
        r hpexpireat $key 9999999999999 fields 1 d
    }
    proc with_expiring {} { return [expr {[regexp {keys_with_volatile_items=(\d+)} [r info keyspace] - n] ? $n : 0}] }
    proc times {key} { return [r hpexpiretime $key fields 5 a b c d 5] }
    set all {5 five a 1 b two c 3.5 d {}}
    
    test {a small hash with fields that expire stays a listpack (9.2 §0)} {
        r debug set-active-expire 0
        make_small k
        r hpexpireat k 4102444800002 fields 1 d
        set times {4102444800001 -1 -1 4102444800002 4102444800001}
        assert_encoding listpack k
        assert_equal $all [lsort -stride 2 [r hgetall k]]
        assert_equal $times [times k]
        assert_match "*encoding:listpack*expiring_fields:3*" [r debug object k]
        assert_lessthan [r memory usage k] 220
        foreach how {
            {r debug reload} {r debug loadaof} {r copy k k2; r rename k2 k} {r restore k 0 [r dump k] replace}
            {r hset k e 1; r hdel k e} {r hpersist k fields 1 a; r hpexpireat k 4102444800001 fields 1 a}
            {r hsetex k keepttl fields 2 a 2 5 longer; r hsetex k keepttl fields 2 a 1 5 five}
        } {
            if {$how eq "r debug loadaof"} { r config set appendonly yes }
            eval $how
            assert_encoding listpack k
            assert_equal $all [lsort -stride 2 [r hgetall k]] $how
            assert_equal $times [times k] $how
        }
        r config set appendonly no
        assert_equal 22 [scan [r dump k] %c] "the type in files is that of 9.0"
        assert_equal {1 1 1} [r hpersist k fields 3 a d 5]
        assert_encoding listpack k
        assert_no_match "*expiring_fields*" [r debug object k]
        assert_equal 16 [scan [r dump k] %c]
    }

    test {a small hash with fields that expire becomes a table, and keeps its times} {
        foreach {directive value change} {
            hash-max-listpack-entries 5 {r hset k f6 6}
            hash-max-listpack-value 8 {r hset k f6 [string repeat x 9]}
            hash-max-listpack-value 8 {r hsetex k keepttl fields 1 a [string repeat x 9]; r hsetex k keepttl fields 1 a 1; r hset k f6 6}
            hash-max-listpack-value 8 {r hset k [string repeat x 9] 6; r hdel k [string repeat x 9]; r hset k f6 1}
            hash-max-listpack-entries 5 {r hmset k f6 1 f7 2 f8 3; r hdel k f7 f8}
        } {
            set before [config_get $directive]
            r config set $directive $value
            make_small k
            r hpexpireat k 4102444800002 fields 1 d
            assert_encoding listpack k
            eval $change
            assert_encoding hashtable k
            r config set $directive $before
            assert_equal {4102444800001 -1 -1 4102444800002 4102444800001} [times k] $change
            assert_equal 6 [r hlen k]
            r hdel k f6
            assert_equal $all [lsort -stride 2 [r hgetall k]] $change
            assert_equal 1 [with_expiring] $change
        }
        r hpersist k fields 3 a d 5
        assert_equal 0 [with_expiring]
    }

    test {fields that have expired stay so when a small hash becomes a table} {
        r del k
        r hset k a 1 b 2 c 3
        r hpexpire k 1 fields 2 a b
        after 10
        r hset k long [string repeat x 100]
        assert_encoding hashtable k
        assert_equal {2 {} 1} [list [llength [r hkeys k]] [r hget k a] [r hset k a again]]
        set n [s expired_fields]
        r debug set-active-expire 1
        wait_for_condition 200 10 {[s expired_fields] == $n + 1} else { fail "b stays" }
        assert_equal {a c long} [lsort [r hkeys k]]
        assert_equal 0 [with_expiring]
    }

    test {a small hash of which all or some fields expire} {
        foreach i [numbers 1 100] {
            r hsetex s$i px [expr {20 + $i}] fields 3 a 1 b 2 c 3
            if {$i % 2} { r hset s$i stays $i }
        }
        wait_for_condition 400 10 {[with_expiring] == 0} else { fail "some stay" }
        assert_equal 50 [llength [r keys s*]]
        foreach i {1 51 99} {
            assert_equal [list stays $i] [r hgetall s$i]
            assert_encoding listpack s$i
        }
    }
}


# ---- The job ----

start_server {tags {hash}} {
    proc make_fields {key count at} {
        for {set i 0} {$i < $count} {incr i 500} {
            set words {}
            for {set j $i} {$j < $i + 500} {incr j} { lappend words f$j $j }
            r hsetex $key pxat $at fields 500 {*}$words
        }
    }

    # Processor time that the server's main thread has used, which does not depend on what else the machine does.
    proc main_thread_ms {} {
        regexp {used_cpu_sys_main_thread:([\d.]+)\s+used_cpu_user_main_thread:([\d.]+)} [r info cpu] - sys user
        return [expr {1000 * ($sys + $user)}]
    }

    # Repeats until `size` is `last`. Returns the most processor time in ms between two replies, and how many sizes
    # were seen: a job that deletes all at once shows two.
    proc watch {size last} {
        set worst 0
        set sizes {}
        set before [main_thread_ms]
        for {set start [now_ms]} {[now_ms] - $start < 30000} {} {
            set n [r {*}$size]
            set now [main_thread_ms]
            set worst [expr {max($worst, $now - $before)}]
            set before $now
            dict set sizes $n 1
            if {$n == $last} { return [list $worst [dict size $sizes]] }
        }
        fail "not done within 30 s"
    }

    test {200,000 fields of one hash expire while others are served} {
        set at [expr {[now_ms] + 6000}]
        make_fields big 200000 $at
        r hset big stays 1
        assert_equal 200001 [r hlen big]
        after [expr {max($at - [now_ms], 0)}]
        lassign [watch {hlen big} 1] worst sizes
        assert_lessthan $worst 250
        assert_morethan $sizes 2
        assert_equal {stays 1} [r hgetall big]
        assert_lessthan [expr {[now_ms] - $at}] 15000
    } {} {slow valgrind:skip}

    test {50,000 hashes whose fields all expire are deleted} {
        r flushall
        set before [s used_memory]
        set at [expr {[now_ms] + 6000}]
        set d [valkey_deferring_client]
        for {set i 0} {$i < 50000} {incr i} { $d hsetex h$i pxat $at fields 2 a 1 b 2 }
        for {set i 0} {$i < 50000} {incr i} { $d read }
        $d close
        assert_equal 50000 [r dbsize]
        lassign [watch dbsize 0] worst sizes
        assert_lessthan $worst 250
        assert_morethan $sizes 2
        assert_morethan [now_ms] $at
        assert_lessthan [s used_memory] [expr {$before + 2000000}]
    } {} {slow valgrind:skip}

    test {only fields whose time has come expire} {
        r flushall
        for {set i 0} {$i < 200} {incr i} {
            r hset k f$i $i
            if {$i % 2} { r hpexpire k [expr {$i % 4 == 1 ? 30 : 100000}] fields 1 f$i }
        }
        wait_for_condition 500 20 {[r hlen k] == 150} else { fail "[r hlen k] fields are left" }
        for {set i 0} {$i < 200} {incr i} { assert_equal [expr {$i % 4 == 1 ? {} : $i}] [r hget k f$i] }
    }
}
