# Lists: LMOVEM and BLMOVEM, which move several elements at once (Redis 8.10).
source [file join [file dirname [info script]] list_util.tcl]

# What LMOVEM leaves: {moved source destination}.
proc movem_model {source destination from to count obo} {
    set block [expr {$from eq "left" ? [lrange $source 0 $count-1] : [lrange $source end-[expr {$count - 1}] end]}]
    set source [expr {$from eq "left" ? [lrange $source $count end] : [lrange $source 0 end-$count]}]
    if {$obo && $from eq $to} { set block [lreverse $block] }
    return [list $block $source [expr {$to eq "left" ? [concat $block $destination] : [concat $destination $block]}]]
}

foreach {form overrides} $forms {
    start_server [list overrides $overrides tags [list list]] {
        test "LMOVEM replies the elements in the order of the destination ($form)" {
            foreach {from to how moved left target} {
                left left {count 3 obo} {3 2 1} {4 5} {3 2 1 a b} left left {count 3 bulk} {1 2 3} {4 5} {1 2 3 a b}
                left right {count 3 obo} {1 2 3} {4 5} {a b 1 2 3} left right {COUNT 3 BULK} {1 2 3} {4 5} {a b 1 2 3}
                right left {count 2 obo} {4 5} {1 2 3} {4 5 a b} right left {count 2 bulk} {4 5} {1 2 3} {4 5 a b}
                right right {count 2 obo} {5 4} {1 2 3} {a b 5 4} RIGHT RIGHT {exactly 2 bulk} {4 5} {1 2 3} {a b 4 5}
                left right {} 1 {2 3 4 5} {a b 1} right left {} 5 {1 2 3 4} {5 a b}
                left right {count 99 bulk} {1 2 3 4 5} {} {a b 1 2 3 4 5} left right {exactly 5 obo} {1 2 3 4 5} {} {a b 1 2 3 4 5}
            } {
                foreach command {lmovem blmovem} {
                    fill k 1 2 3 4 5
                    fill to a b
                    assert_equal $moved [r $command k to $from $to {*}[expr {$command eq "lmovem" ? {} : 0}] {*}$how] "$command $from $to $how"
                    assert_equal [list $left $target] [list [all k] [all to]] "$command $from $to $how"
                }
            }
        }

        test "LMOVEM EXACTLY moves all or nothing; nothing is a null ($form)" {
            fill k a b
            r del to
            assert_equal *-1 [string trim [wire lmovem k to left right exactly 3 bulk]]
            assert_equal *-1 [string trim [wire lmovem none to left right]]
            assert_equal *-1 [string trim [wire lmovem none to left right count 3 bulk]]
            assert_equal {{a b} 0} [list [all k] [r exists to]]
            r hello 3
            assert_equal _ [string trim [wire lmovem k to left right exactly 3 bulk]]
            r hello 2
        }

        test "random LMOVEM leave what a model and loops of LMOVE leave ($form)" {
            foreach key {a b} { set model($key) {}; fill $key }
            for {set i 0} {$i < 600} {incr i} {
                set from [lindex {left right} [randomInt 2]]
                set to [lindex {left right} [randomInt 2]]
                set src [lindex {a b} [randomInt 2]]
                set dst [lindex {a b} [randomInt 2]]
                set obo [randomInt 2]
                set count [expr {1 + [randomInt 12]}]
                if {$i % 5 == 0} {
                    set pushed [lmap n [numbers 1 [randomInt 15]] { expr {[randomInt 2] ? $n * 1000 : "[string repeat x [randomInt 40]]$n"} }]
                    if {[llength $pushed]} { r rpush $src {*}$pushed }
                    lappend model($src) {*}$pushed
                }
                if {$count > [llength $model($src)]} { set count [llength $model($src)] }
                if {!$count} continue
                # LMOVE one by one gives the same as OBO, and as BULK between different ends.
                set as_loop [expr {$src ne $dst && ($obo || $from ne $to)}]
                if {$as_loop} { r del a2 b2; foreach key {a b} { r copy $key ${key}2 } }
                set target [expr {$src eq $dst ? [expr {$from eq "left" ? [lrange $model($src) $count end] : [lrange $model($src) 0 end-$count]}] : $model($dst)}]
                lassign [movem_model $model($src) $target $from $to $count $obo] moved model($src) new
                set model($dst) $new
                assert_equal $moved [r lmovem $src $dst $from $to [lindex {count exactly} [randomInt 2]] $count [lindex {bulk obo} $obo]]
                foreach key {a b} { assert_equal $model($key) [all $key] }
                if {$as_loop} {
                    for {set n 0} {$n < $count} {incr n} { r lmove ${src}2 ${dst}2 $from $to }
                    foreach key {a b} { assert_equal $model($key) [all ${key}2] }
                }
            }
        }

        test "many elements move at once ($form)" {
            set items [numbers 1 5000]
            foreach {from to obo} {left right 0 right left 1 left left 1 right right 0} {
                fill k {*}$items
                fill to x
                lassign [movem_model $items x $from $to 4000 $obo] moved left target
                assert_equal $moved [r lmovem k to $from $to count 4000 [expr {$obo ? "obo" : "bulk"}]]
                assert_equal [list $left $target] [list [all k] [all to]]
            }
        }
    }
}

start_server {tags {list}} {
    test {LMOVEM and BLMOVEM: arguments} {
        fill k a b c
        foreach {args error} {
            {left middle} "ERR syntax error" {up left} "ERR syntax error" {left right count} "ERR syntax error"
            {left right count 2} "ERR syntax error" {left right bulk} "ERR syntax error" {left right count 2 bulk obo} "ERR syntax error"
            {left right count 2 sideways} "ERR syntax error" {left right limit 2 bulk} "ERR syntax error"
            {left right bulk count 2} "ERR syntax error"
            {left right count 0 bulk} "ERR count should be greater than 0" {left right exactly -1 obo} "ERR count should be greater than 0"
            {left right count x bulk} "ERR count should be greater than 0"
        } {
            assert_error $error { r lmovem k to {*}$args } $args
            assert_error $error { r blmovem k to {*}[linsert $args 2 0] } $args
        }
        foreach timeout {x -1 {}} { assert_error "ERR timeout*" { r blmovem k to left right $timeout } }
        assert_error "ERR wrong number of arguments for 'lmovem' command" { r lmovem k to left }
        assert_error "ERR wrong number of arguments for 'blmovem' command" { r blmovem k to left right }
        assert_equal {{a b c} 0} [list [all k] [r exists to]]
    }

    test {LMOVEM and BLMOVEM refuse other types, and change nothing} {
        fill k a b c
        r set s text
        foreach keys {{k s} {s k} {s s}} {
            assert_error "WRONGTYPE*" { r lmovem {*}$keys left left count 2 bulk }
            assert_error "WRONGTYPE*" { r blmovem {*}$keys left left 0 count 2 bulk }
        }
        assert_equal {{a b c} text} [list [all k] [r get s]]
        assert_equal {} [r lmovem none s left left]
    }

    test {a list that is moved onto itself as a whole keeps its expiry} {
        foreach {from to how expected} {left left {count 9 obo} {c b a} left right {count 3 bulk} {a b c} right left {count 3 obo} {a b c}} {
            fill k a b c
            r expire k 1000
            assert_equal $expected [r lmovem k k $from $to {*}$how]
            assert_equal $expected [all k]
            assert_range [r ttl k] 900 1000
        }
    }

    test {BLMOVEM is served when its list is created, with what is there} {
        foreach {how moved} {{} a {count 5 bulk} {a b} {exactly 2 bulk} {a b}} {
            r del k to
            set c [blocked_client blmovem k to left right 0 {*}$how]
            r rpush k a b
            assert_equal $moved [answer $c]
            assert_equal $moved [all to]
        }
    }

    test {BLMOVEM EXACTLY waits until the list is long enough, however it grows} {
        foreach grow {
            {rpush k c} {lpush k c} {linsert k after a c} {rpoplpush other k} {eval "return redis.call('rpush', KEYS[1], 'c')" 1 k}
            {lmovem other k left right} {sort other3 by nosort store k} {rename other3 k} {copy other3 k replace} {rpushx k c}
        } {
            r del k to other other3
            fill other c
            fill other3 a b c
            set c [blocked_client blmovem k to left right 0 exactly 3 bulk]
            r rpush k a
            r rpush k b
            assert_equal {{a b} 1} [list [all k] [s blocked_clients]] $grow
            r {*}$grow
            assert_equal 3 [llength [answer $c]] $grow
            assert_equal {3 0} [list [r llen to] [r exists k]] $grow
        }
    }

    test {BLMOVEM EXACTLY that waits does not hold back others} {
        r del k to
        set exactly [blocked_client blmovem k to left right 0 exactly 3 bulk]
        set pop [blocked_client blpop k 0]
        r rpush k a b
        assert_equal {k a} [answer $pop]
        assert_equal b [r lpop k]
        set count [blocked_client blmovem k to left right 0 count 3 bulk]
        r rpush k c
        assert_equal c [answer $count]
        r rpush k d e f g
        assert_equal {d e f} [answer $exactly]
        assert_equal g [all k]
    }

    test {clients that wait for more are served in order, and one may serve the next} {
        r del k l to
        set first [blocked_client blmovem k l left right 0 exactly 2 bulk]
        set second [blocked_client blmovem l to left right 0 exactly 3 obo]
        r rpush l x
        r rpush k a
        assert_equal 2 [s blocked_clients]
        r rpush k b
        assert_equal {a b} [answer $first]
        assert_equal {x a b} [answer $second]
        assert_equal {x a b} [all to]
    }

    test {BLMOVEM: timeout, disconnecting, EXEC, scripts, other types} {
        r del k to
        set c [valkey_deferring_client]
        foreach how {{} {count 2 bulk} {exactly 2 obo}} {
            $c blmovem k to left right 0.02 {*}$how
            assert_equal {} [$c read]
        }
        $c close
        r rpush k a
        assert_equal {} [r eval {return redis.call('blmovem', 'k', 'to', 'left', 'right', 0, 'exactly', 2, 'bulk')} 0]
        r multi
        r blmovem k to left right 0 exactly 2 bulk
        r lmovem k to left right
        assert_equal {{} a} [r exec]
        set c [blocked_client blmovem k to left right 0 exactly 2 bulk]
        r set k text
        assert_equal 1 [s blocked_clients]
        r del k
        r set to text
        r rpush k a
        assert_equal 1 [s blocked_clients]
        r rpush k b
        assert_error "WRONGTYPE*" { $c read }
        assert_equal {a b} [all k]
        $c close
        set c [blocked_client blmovem none to left right 0 exactly 2 bulk]
        $c close
        wait_for_blocked 0
    }

    test {LMOVEM: the facts that clients ask for} {
        foreach {command flags} {lmovem {write denyoom} blmovem {write denyoom blocking}} {
            lassign [lindex [r command info $command] 0] - arity flag first last step
            assert_equal $flags [lsort -command {apply {{a b} { expr {[lsearch {write denyoom blocking} $a] - [lsearch {write denyoom blocking} $b]} }}} $flag]
            assert_equal [list [expr {$command eq "lmovem" ? -5 : -6}] 1 2 1] [list $arity $first $last $step]
        }
        assert_equal {{a {RW access delete}} {b {RW insert}}} [r command getkeysandflags lmovem a b left right count 2 bulk]
    }

    test {LMOVEM needs the rights for both keys} {
        fill k a b
        r del to
        r acl setuser mover on nopass +lmovem ~k %R~to
        set c [valkey_client]
        $c auth mover any
        assert_error "NOPERM*" { $c lmovem k to left right count 2 bulk }
        r acl setuser mover ~to
        assert_equal {a b} [$c lmovem k to left right count 2 bulk]
        $c close
        r acl deluser mover
    }
}

if {[valkey_oracle] eq {}} {
    test {LMOVEM: a replica of 9.1.2 has the same data} { skip "no Valkey 9.1 here" }
} else {
    start_servers {primary {kind ours overrides {repl-diskless-sync-delay 0}} replica {kind valkey overrides {repl-diskless-sync-delay 0}}} {
        test {LMOVEM: a replica of 9.1.2 has the same data} {
            follow replica primary
            foreach size {-2 3} {
                r [at primary] config set list-max-listpack-size $size
                for {set i 0} {$i < 400} {incr i} {
                    set src [lindex {a b c} [randomInt 3]]
                    r [at primary] rpush $src {*}[numbers $i [expr {$i + [randomInt 6]}]]
                    if {[randomInt 10] == 0} { r [at primary] expire $src 1000 }
                    set how [list [lindex {count exactly} [randomInt 2]] [expr {1 + [randomInt 30]}] [lindex {bulk obo} [randomInt 2]]]
                    set ends [list [lindex {left right} [randomInt 2]] [lindex {left right} [randomInt 2]]]
                    set dst [lindex {a b c} [randomInt 3]]
                    switch [randomInt 3] {
                        0 { r [at primary] blmovem $src $dst {*}$ends 0.001 {*}$how }
                        1 { r [at primary] lmovem $src $dst {*}$ends {*}$how }
                        2 { r [at primary] eval {return redis.call('lmovem', KEYS[1], KEYS[2], unpack(ARGV))} 2 $src $dst {*}$ends {*}$how }
                    }
                }
                # More than one propagated push holds.
                r [at primary] rpush a {*}[numbers 1 40000]
                r [at primary] lmovem a b right left count 35000 obo
                wait_for_offset replica primary
                foreach key {a b c} {
                    assert_equal [r [at primary] lrange $key 0 -1] [r [at replica] lrange $key 0 -1]
                    assert_equal [r [at primary] pexpiretime $key] [r [at replica] pexpiretime $key]
                }
            }
        }
    }
}
