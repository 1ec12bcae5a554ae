# Lists that are inside the object of their key, and those close to it: random changes against Tcl's own lists, with
# sizes around 80 bytes of listpack, where they leave the object, and half of that, where they return.
source [file join [file dirname [info script]] list_util.tcl]

set keys {k other {a key of more than 16 bytes}}

# Elements of 0 to 40 bytes, every third a number.
proc random_element {} {
    switch [randomInt 3] {
        0 { return [randomInt 100000] }
        1 { return [string repeat x [randomInt 40]] }
        default { return "e[randomInt 5]" }
    }
}

proc check_model {} {
    upvar model model keys keys
    foreach key $keys {
        assert_equal $model($key) [all $key] $key
        assert_equal [llength $model($key)] [r llen $key]
        if {[llength $model($key)]} { assert_encoding listpack $key }
    }
}

proc remove_equal {items element count} {
    if {$count < 0} { return [lreverse [remove_equal [lreverse $items] $element [expr {-$count}]]] }
    set out {}
    foreach item $items {
        if {$item eq $element && ($count == 0 || [incr removed] <= $count)} continue
        lappend out $item
    }
    return $out
}

# One random command, on the server and in the model.
proc random_change {key other} {
    upvar model model
    set n [llength $model($key)]
    set element [random_element]
    set at [randomInt [expr {$n + 1}]]
    switch [randomInt 10] {
        0 { r rpush $key $element; lappend model($key) $element }
        1 { r lpush $key $element a; set model($key) [list a $element {*}$model($key)] }
        2 { assert_equal [lindex $model($key) end] [r rpop $key]; set model($key) [lrange $model($key) 0 end-1] }
        3 { assert_equal [lindex $model($key) 0] [r lpop $key]; set model($key) [lrange $model($key) 1 end] }
        4 {
            if {$at < $n} {
                r lset $key $at $element
                lset model($key) $at $element
            } elseif {$n} {
                assert_error "ERR index out of range" { r lset $key $at $element }
            }
        }
        5 {
            set pivot [lindex $model($key) $at]
            set first [lsearch -exact $model($key) $pivot]
            if {$at < $n} {
                r linsert $key after $pivot $element
                set model($key) [linsert $model($key) [expr {$first + 1}] $element]
            } else {
                assert_equal [expr {$n ? -1 : 0}] [r linsert $key before nothing $element]
            }
        }
        6 {
            set count [expr {[randomInt 5] - 2}]
            set left [remove_equal $model($key) $element $count]
            assert_equal [expr {$n - [llength $left]}] [r lrem $key $count $element]
            set model($key) $left
        }
        7 {
            set to [expr {$at + [randomInt 6]}]
            r ltrim $key $at $to
            set model($key) [lrange $model($key) $at $to]
        }
        8 {
            assert_equal [lindex $model($key) end] [r lmove $key $other right left]
            if {$n} {
                set moved [lindex $model($key) end]
                set model($key) [lrange $model($key) 0 end-1]
                set model($other) [list $moved {*}$model($other)]
            }
        }
        9 { if {$n} { if {[randomInt 2]} { r expire $key 1000 } else { r persist $key } } }
    }
}

proc random_key {keys} { return [lindex $keys [randomInt [llength $keys]]] }

start_server {overrides {enable-debug-command yes list-max-listpack-size -2} tags {list needs:debug}} {
    test {random changes of short lists, and their copies, against a model} {
        foreach key $keys { set model($key) {} }
        for {set i 0} {$i < 4000} {incr i} {
            random_change [random_key $keys] [random_key $keys]
            if {$i % 20 == 0} check_model
            if {$i % 100 == 0} {
                set key [random_key $keys]
                r copy $key copy replace
                if {[llength $model($key)]} {
                    assert_equal $model($key) [all copy]
                    assert_equal [r debug digest-value $key] [r debug digest-value copy]
                    r restore copy 0 [r dump $key] replace
                    assert_equal $model($key) [all copy]
                }
                r del copy
            }
            if {$i % 1000 == 999} {
                r debug reload
                check_model
            }
        }
    }

    test {a list moves from its object to an allocation of its own and back, as it grows and shrinks} {
        # While it is in the object, it takes no more memory than a string of as many bytes.
        fill k {*}[lrepeat 5 0123456789]
        r set s [string repeat x 67]
        assert_equal [r memory usage s] [r memory usage k]
        # A list that has left the object returns at half the size only.
        fill k {*}[lrepeat 20 0123456789]
        while {[r llen k] > 3} { r rpop k }
        r set s [string repeat x 43]
        assert_morethan [r memory usage k] [r memory usage s]
        r rpop k
        r set s [string repeat x 31]
        assert_equal [r memory usage s] [r memory usage k]
        assert_equal [lrepeat 2 0123456789] [all k]
    }

    test {SORT STORE, LMPOP, BLMOVE and a list that turns in itself, in the object} {
        fill k 3 1 2
        r sort k store sorted
        assert_equal {1 2 3} [all sorted]
        assert_equal {sorted {1 2}} [r lmpop 1 sorted left count 2]
        assert_equal 3 [r blmove sorted sorted left right 1]
        assert_equal 3 [r rpoplpush sorted sorted]
        assert_equal 3 [all sorted]
        assert_equal 3 [r rpoplpush sorted k]
        assert_equal 0 [r exists sorted]
        assert_equal {3 3 1 2} [all k]
        for {set i 0} {$i < 10} {incr i} { r lmove k k left right }
        assert_equal {1 2 3 3} [all k]
    }

    test {a short list survives defragmentation} {
        fill k a b 17 [string repeat y 50]
        r expire k 1000
        r set text [string repeat z 150]
        r debug defrag-all
        assert_equal [list a b 17 [string repeat y 50]] [all k]
        assert_equal [string repeat z 150] [r get text]
    }
}
