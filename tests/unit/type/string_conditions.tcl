# Conditions on the present value: DELEX IFEQ and IFNE, SET IFNE (9.2 §3).

start_server {tags {string}} {
    test {DELEX IFEQ deletes if the value is equal (9.2 §3)} {
        r mset a text n 123 big [string repeat x 1000]
        assert_equal {0 0 0} [list [r delex a ifeq other] [r delex a ifeq tex] [r delex nosuch ifeq text]]
        assert_equal {0 0} [list [r delex n ifeq 0123] [r delex a ifeq {}]]
        assert_equal {1 1 1} [list [r delex a ifeq text] [r delex n IFEQ 123] [r delex big IfEq [string repeat x 1000]]]
        assert_equal 0 [r exists a n big]
    }

    test {DELEX IFNE deletes if the value is another one; a missing key is not deleted} {
        r mset a text n 123
        assert_equal {0 0 0} [list [r delex a ifne text] [r delex n ifne 123] [r delex nosuch ifne x]]
        assert_equal {1 1} [list [r delex a ifne tex] [r delex n IFNE 0123]]
        assert_equal 0 [r exists a n]
    }

    test {DELEX: errors} {
        r del l
        r rpush l x
        r set a x
        assert_error WRONGTYPE* {r delex l ifeq x}
        assert_error WRONGTYPE* {r delex l ifne x}
        foreach key {a l nosuch} { assert_error "ERR syntax error" {r delex $key ifgt x} }
        foreach arguments {{} {a ifeq} {a ifgt} {a ifeq x y}} {
            assert_error "ERR wrong number of arguments for 'delex' command" {r delex {*}$arguments}
        }
        assert_equal x [r get a]
    }

    test {SET IFNE sets unless the value is equal, and sets a missing key (9.2 §3)} {
        r del k
        assert_equal OK [r set k a ifne x]
        assert_equal {} [r set k b ifne a]
        assert_equal {a OK b} [list [r get k] [r set k b IFNE c] [r get k]]
        r set n 123
        assert_equal {{} OK} [list [r set n 1 ifne 123] [r set n 1 ifne 0123]]
        assert_equal OK [r set empty {} ifne {}]
        assert_equal {} [r set empty x ifne {}]
    }

    test {SET IFNE GET replies the old value whatever happens} {
        r set k a
        assert_equal {a a} [list [r set k b ifne a get] [r get k]]
        assert_equal {a b} [list [r set k b get ifne c] [r get k]]
        r del k
        assert_equal {$-1} [wire set k b ifne c get]
        assert_equal b [r get k]
        assert_equal {b get} [list [r set k get ifne get get] [r get k]]
        assert_equal {get get} [list [r set k x ifne get get] [r get k]]
    }

    test {SET IFNE and expiry} {
        r del k
        r set k a ifne x ex 100
        assert_range [r ttl k] 99 100
        assert_equal {} [r set k b ifne a ex 5000]
        assert_range [r ttl k] 99 100
        r set k b ifne x keepttl
        assert_range [r ttl k] 99 100
        r set k c ifne a
        assert_equal -1 [r ttl k]
        assert_equal {} [r set k b ifne c pxat 1]
        assert_equal 1 [r exists k]
        assert_equal OK [r set k b ifne a pxat 1]
        assert_equal 0 [r exists k]
    }

    test {SET IFNE: errors} {
        r del l
        r rpush l x
        r set k a
        assert_error WRONGTYPE* {r set l a ifne x}
        assert_error WRONGTYPE* {r set l a ifne x get}
        foreach words {{ifne} {ifne a nx} {nx ifne a} {ifne a xx} {xx ifne a} {ifne a ifeq a} {ifeq a ifne b} {ifne a ifne a} {ifne a ex} {get ifne}} {
            assert_error "ERR syntax error" {r set k b {*}$words} $words
        }
        assert_error "ERR syntax error" {r msetex 1 k b ifne a}
        assert_error "ERR invalid expire time in 'set' command" {r set k b ifne a ex 0}
        assert_equal a [r get k]
    }

    test {SET IFNE, DELEX, INCREX in a transaction and in a script} {
        r del k
        r multi
        r increx k byint 5
        r set k 6 ifne 5
        r set k 6 ifne 4
        r delex k ifne 6
        assert_equal {{5 5} {} OK 0} [r exec]
        assert_equal {7 1 0} [r eval {local v = server.call('INCREX', KEYS[1])
            return {v[1], server.call('DELEX', KEYS[1], 'IFEQ', '7'), server.call('EXISTS', KEYS[1])}} 1 k]
    }
}
