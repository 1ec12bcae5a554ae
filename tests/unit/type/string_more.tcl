# Strings: LCS, DELIFEQ, MSETEX, and the longest string that proto-max-bulk-len allows.

start_server {tags {string}} {
    test {LCS} {
        r mset a ohmytext b mynewtext
        assert_equal {mytext 6} [list [r lcs a b] [r lcs a b len]]
        assert_equal {matches {{{4 7} {5 8}} {{2 3} {0 1}}} len 6} [r lcs a b idx]
        assert_equal {matches {{{4 7} {5 8} 4} {{2 3} {0 1} 2}} len 6} [r lcs a b idx withmatchlen]
        assert_equal {matches {{{4 7} {5 8}}} len 6} [r lcs a b IDX MinMatchLen 4]
        assert_equal {matches {} len 6} [r lcs a b idx minmatchlen 5]
        assert_equal {{} 0} [list [r lcs a nosuch] [r lcs nosuch nosuch len]]
        assert_equal {matches {} len 0} [r lcs a nosuch idx]
        assert_equal {ohmytext} [r lcs a a]
    }

    test {LCS of integers, and in RESP3} {
        r mset a 12345 b 9234
        r hello 3
        assert_equal 234 [r lcs a b]
        assert_equal {{{1 3} {1 3}}} [dict get [r lcs a b idx] matches]
        r hello 2
    }

    test {LCS: errors} {
        r del l a b
        r rpush l x
        assert_error "ERR The specified keys must contain string values" {r lcs l a}
        assert_error "ERR The specified keys must contain string values" {r lcs a l nonsense}
        assert_error "ERR If you want both the length and indexes, please just use IDX." {r lcs a b len idx}
        assert_error "ERR syntax error" {r lcs a b nonsense}
        assert_error "ERR syntax error" {r lcs a b minmatchlen}
        assert_error "ERR value is not an integer or out of range" {r lcs a b minmatchlen x}
        r mset a [string repeat ab 15000] b [string repeat bc 15000]
        assert_error "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len" {r lcs a b}
    }

    proc randtext {max} {
        set text {}
        for {set n [randomInt $max]} {$n > 0} {incr n -1} { append text [randomElement {a b c}] }
        return $text
    }
    proc lcs_length {a b} {
        set row [lrepeat [expr {[string length $b] + 1}] 0]
        foreach x [split $a {}] {
            set next 0
            set j 0
            foreach y [split $b {}] {
                lappend next [expr {$x eq $y ? [lindex $row $j] + 1 : max([lindex $next $j], [lindex $row $j+1])}]
                incr j
            }
            set row $next
        }
        return [lindex $row end]
    }
    proc is_part {text whole} {
        return [string match *[join [split $text {}] *]* $whole]
    }

    test {LCS against a plain computation} {
        for {set round 0} {$round < 60} {incr round} {
            set a [randtext 25]
            set b [randtext 25]
            r mset a $a b $b
            set len [lcs_length $a $b]
            assert_equal $len [r lcs a b len] "$a $b"
            set text [r lcs a b]
            assert_equal $len [string length $text]
            foreach whole [list $a $b] { assert {[is_part $text $whole]} "$text of $a $b" }
            set joined {}
            foreach match [lreverse [dict get [r lcs a b idx] matches]] {
                append joined [string range $a {*}[lindex $match 0]]
                assert_equal [string range $a {*}[lindex $match 0]] [string range $b {*}[lindex $match 1]]
            }
            assert_equal $text $joined
        }
    }

    test {DELIFEQ} {
        r mset a text n 123 big [string repeat x 1000]
        assert_equal {0 0 0} [list [r delifeq a other] [r delifeq a tex] [r delifeq nosuch text]]
        assert_equal {1 1 1} [list [r delifeq a text] [r delifeq n 123] [r delifeq big [string repeat x 1000]]]
        assert_equal 0 [r exists a n big]
        r del l
        r rpush l x
        assert_error "WRONGTYPE*" {r delifeq l x}
        assert_error "ERR wrong number of arguments for 'delifeq' command" {r delifeq a}
    }

    test {MSETEX} {
        r del a b c
        assert_equal 1 [r msetex 2 a 1 b 2]
        assert_equal {1 2 -1} [list [r get a] [r get b] [r ttl a]]
        assert_equal 1 [r msetex 2 a 3 c 4 ex 100]
        assert_equal {3 4 2 100 100 -1} [list [r get a] [r get c] [r get b] [r ttl a] [r ttl c] [r ttl b]]
        assert_equal 1 [r msetex 2 a 5 b 6 keepttl]
        assert_equal {5 100 -1} [list [r get a] [r ttl a] [r ttl b]]
        assert_equal 1 [r msetex 1 a 6]
        assert_equal -1 [r ttl a]
        assert_equal 1 [r msetex 1 a 6 pxat 4102444800000]
        assert_equal 4102444800 [r expiretime a]
    }

    test {MSETEX NX and XX: all or nothing} {
        r del a b c
        r set a old
        assert_equal 0 [r msetex 2 b new a new nx]
        assert_equal {old 0} [list [r get a] [r exists b]]
        assert_equal 1 [r msetex 2 b new c new NX PX 100000]
        assert_equal 0 [r msetex 2 a newer d newer xx]
        assert_equal {old 0} [list [r get a] [r exists d]]
        assert_equal 1 [r msetex 3 a newer b newer c newer xx]
        assert_equal {newer newer newer} [r mget a b c]
        assert_equal -1 [r ttl b]
    }

    test {MSETEX: any type is overwritten, a key given twice has its last value} {
        r del l
        r rpush l x
        assert_equal 1 [r msetex 3 l 1 a 2 a 3]
        assert_equal {1 3} [r mget l a]
    }

    test {MSETEX: errors change nothing} {
        r set a old
        foreach count {0 -1 x 1.5 99999999999999999999} {
            assert_error "ERR invalid numkeys value or out of range" {r msetex $count a 1}
        }
        assert_error "ERR invalid numkeys value or out of range" {r msetex 2147483648 a 1}
        foreach words {{2 a 1 b} {2147483647 a 1} {2 a 1}} {
            assert_error "ERR syntax error" {r msetex {*}$words} $words
        }
        foreach words {nonsense get {ifeq x} {nx xx} {ex 1 keepttl} ex {b 2}} {
            assert_error "ERR syntax error" {r msetex 1 a 1 {*}$words}
        }
        assert_error "ERR invalid expire time in 'msetex' command" {r msetex 1 a 1 ex 0}
        assert_error "ERR value is not an integer or out of range" {r msetex 1 a 1 ex x}
        assert_equal old [r get a]
    }

    test {keys of the new commands} {
        assert_equal {a b} [r command getkeys msetex 2 a 1 b 2 ex 10]
        assert_equal {a b} [r command getkeys lcs a b idx]
        assert_equal a [r command getkeys delifeq a b]
    }

    # More keys than the round looks ahead for: the loop does it itself.
    test {MGET of many keys: missing, expired, of another type, more than once} {
        r debug set-active-expire 0
        set keys {}
        set want {}
        for {set i 0} {$i < 300} {incr i} {
            set key many:[expr {$i % 170}]
            set value [string repeat $i [expr {$i % 40 + 1}]]
            if {$i < 170} {
                r del $key
                switch [expr {$i % 7}] {
                    0 { r rpush $key $value }
                    1 { r psetex $key 1 $value }
                    2 {}
                    3 { r set $key $i }
                    default { r set $key $value }
                }
            }
            lappend keys $key
        }
        after 5
        foreach key $keys {
            set i [string range $key 5 end]
            lappend want [switch [expr {$i % 7}] { 0 - 1 - 2 { string cat {} } 3 { string cat $i }
                default { string repeat $i [expr {$i % 40 + 1}] } }]
        }
        assert_equal $want [r mget {*}$keys]
        assert_equal $want [r mget {*}$keys]
        assert_equal $want [r eval {return redis.call('mget', unpack(KEYS))} [llength $keys] {*}$keys]
        r multi
        r mget {*}$keys
        r set many:3 changed
        r mget {*}[lrange $keys 0 20]
        lset want 3 changed
        assert_equal [lrange $want 0 20] [lindex [r exec] 2]
        r debug set-active-expire 1
        r del {*}$keys
    }

    test {proto-max-bulk-len is the longest string} {
        set was [config_get proto-max-bulk-len]
        config_set proto-max-bulk-len 1mb
        r del k
        assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {r setrange k 1048576 x}
        assert_equal 0 [r exists k]
        assert_equal 1048576 [r setrange k 1048575 x]
        assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {r append k x}
        assert_error "ERR bit offset is not an integer or out of range" {r setbit k 8388608 1}
        assert_equal 0 [r setbit k 8388606 1]
        config_set proto-max-bulk-len $was
        assert_equal 1048577 [r append k x]
        r del k
    }
}
