# DIGEST, and the conditions IFDEQ and IFDNE of SET and DELEX. The digests are those of the Python package xxhash.

# A text of n bytes, all values of a byte among them.
proc digest_text {n} {
    set bytes {}
    for {set i 0} {$i < $n} {incr i} { lappend bytes [expr {($i * 7 + $n) & 255}] }
    return [binary format c* $bytes]
}

start_server {tags {string}} {
    test {DIGEST is XXH3 of 64 bits in hexadecimal digits} {
        foreach {text digest} {{} 2d06800538d394c2 7 06eed105b82285fa hello 9555e8555c62dcfd} {
            r set k $text
            assert_equal $digest [r digest k]
        }
        r set big [string repeat a 1000000]
        assert_equal b1fd6fae5285c4eb [r digest big]
        assert_equal {$-1} [wire digest nosuch]
        r rpush l x
        assert_error WRONGTYPE* {r digest l}
        assert_error "ERR wrong number of arguments for 'digest' command" {r digest}
        assert_error "ERR wrong number of arguments for 'digest' command" {r digest k k}
    }

    test {DIGEST of each length up to 300, at each alignment} {
        set all {}
        for {set n 0} {$n <= 300} {incr n} {
            set key [string repeat k [expr {$n % 17 + 1}]]
            r set $key [digest_text $n]
            append all [r digest $key]
        }
        assert_equal 0c159c85bc5ff778e9aced0a62d6088333339426 [r eval {return server.sha1hex(ARGV[1])} 0 $all]
    }

    test {DIGEST depends on the text, not on how it is stored} {
        r set int -12345
        r set raw -1234
        r append raw 5
        assert_equal {int raw} [list [r object encoding int] [r object encoding raw]]
        assert_equal [r digest int] [r digest raw]
        r set big [string repeat x 50000]
        set digest [r digest big]
        r get big
        assert_equal $digest [r digest big] "after a reply that refers to the text"
        r set bits {}
        r setrange bits 0 [string repeat x 50000]
        assert_equal $digest [r digest bits]
    }

    test {SET IFDEQ sets if the value has this digest} {
        r set k hello
        set digest [r digest k]
        assert_equal {} [r set k no ifdeq 0123456789abcdef]
        assert_equal {OK world} [list [r set k world ifdeq $digest] [r get k]]
        r set k hello
        assert_equal {OK world} [list [r set k world IfDeq [string toupper $digest]] [r get k]]
        assert_equal {{} 0} [list [r set nosuch x ifdeq $digest] [r exists nosuch]]
    }

    test {SET IFDNE sets unless the value has this digest, and sets a missing key} {
        r set k hello
        set digest [r digest k]
        assert_equal {{} {} hello} [list [r set k no ifdne $digest] [r set k no ifdne [string toupper $digest]] [r get k]]
        assert_equal {OK world} [list [r set k world ifdne 0123456789abcdef] [r get k]]
        r del k
        assert_equal {OK x} [list [r set k x ifdne $digest] [r get k]]
    }

    test {SET IFDEQ and IFDNE with GET and with an expiry} {
        r set k 7
        assert_equal {7 7} [list [r set k 8 ifdeq 0123456789abcdef get] [r get k]]
        assert_equal {7 8} [list [r set k 8 get ifdeq 06eed105b82285fa] [r get k]]
        assert_equal {8 9} [list [r set k 9 ifdne 06eed105b82285fa ex 100 get] [r get k]]
        assert_range [r ttl k] 99 100
        assert_equal OK [r set k 7 ifdne 06eed105b82285fa keepttl]
        assert_range [r ttl k] 99 100
        assert_equal {{} 7} [list [r set k 8 ifdne 06eed105b82285fa pxat 1] [r get k]]
        assert_equal {OK 0} [list [r set k 8 ifdeq 06eed105b82285fa pxat 1] [r exists k]]
        assert_equal {$-1} [wire set k x ifdeq 06eed105b82285fa get]
        assert_equal 0 [r exists k]
    }

    test {SET IFDEQ and IFDNE: a digest has 16 digits, which is checked when there is something to compare} {
        r set k hello
        foreach digest {abc {} 9555e8555c62dcfd0} {
            foreach words [list [list ifdeq $digest] [list ifdne $digest] [list get ifdeq $digest]] {
                assert_equal {-ERR must be exactly 16 hexadecimal characters} [wire set k x {*}$words] $words
            }
        }
        foreach digest [list 9555e8555c62dcfg 0x55e8555c62dcfd " 555e8555c62dcfd" "9555e8555c62dcf\0"] {
            assert_equal {} [r set k x ifdeq $digest]
        }
        assert_equal hello [r get k]
        assert_equal {} [r set nosuch x ifdeq abc]
        assert_equal {OK x} [list [r set nosuch x ifdne abc] [r get nosuch]]
    }

    test {SET IFDEQ and IFDNE: errors} {
        r del l
        r rpush l x
        r set k a
        set digest [r digest k]
        foreach words {{ifdeq abc} {ifdne abc} {ifdeq 0123456789abcdef} {get ifdne abc}} { assert_error WRONGTYPE* {r set l a {*}$words} }
        foreach words {
            {ifdeq} {ifdne} {ifdeq D nx} {xx ifdeq D} {nx ifdne D} {ifdne D xx} {ifeq a ifdeq D} {ifdeq D ifne b} {ifdeq D ifdeq D} {ifdeq D ifdne D}
        } {
            assert_error "ERR syntax error" {r set k b {*}[string map [list D $digest] $words]} $words
        }
        assert_error "ERR syntax error" {r msetex 1 k b ifdeq $digest}
        assert_error "ERR invalid expire time in 'set' command" {r set k b ifdeq abc ex 0}
        assert_equal a [r get k]
    }

    test {DELEX IFDEQ and IFDNE delete if the value has, or has not, this digest} {
        r mset a 7 b hello
        assert_equal {0 0} [list [r delex a ifdeq 9555e8555c62dcfd] [r delex b ifdne 9555E8555C62DCFD]]
        assert_equal {0 0 0} [list [r delex gone ifdeq 06eed105b82285fa] [r delex gone ifdne 06eed105b82285fa] [r delex gone ifdne abc]]
        foreach digest {abc {} 06eed105b82285fa0} {
            assert_error "ERR must be exactly 16 hexadecimal characters" {r delex a ifdeq $digest}
            assert_error "ERR must be exactly 16 hexadecimal characters" {r delex a ifdne $digest}
        }
        assert_equal 2 [r exists a b]
        assert_equal {1 1 0} [list [r delex a IFDEQ 06EED105b82285fa] [r delex b ifdne 06eed105b82285fa] [r exists a b]]
        r set a 7
        assert_equal 1 [r delex a ifdne 06eed105b82285fg]
        r del l
        r rpush l x
        assert_error WRONGTYPE* {r delex l ifdeq abc}
    }

    test {DELEX without a condition deletes a key of any type} {
        r flushall
        r set a 1
        r rpush l x
        r hset h f v
        assert_equal {1 1 1 0} [list [r delex a] [r delex l] [r delex h] [r delex a]]
        assert_equal 0 [r dbsize]
    }
}
