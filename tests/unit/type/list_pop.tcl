# Lists: taking elements out, and moving them from list to list, without waiting.
source [file join [file dirname [info script]] list_util.tcl]

foreach {form overrides} $forms {
    start_server [list overrides $overrides tags [list list]] {
        test "LPOP and RPOP ($form)" {
            fill k a b c d e f g
            assert_equal a [r lpop k]
            assert_equal g [r rpop k]
            assert_equal {b c} [r lpop k 2]
            assert_equal {f e} [r rpop k 2]
            assert_equal {} [r lpop k 0]
            assert_equal d [r rpop k 100]
            assert_equal 0 [r exists k]
            assert_equal {} [r lpop k]
            assert_equal {} [r rpop k 3]
            foreach count {x -1 1.5 99999999999999999999} {
                assert_error "ERR value is out of range, must be positive" { r lpop k $count }
                assert_error "ERR value is out of range, must be positive" { r rpop k $count }
            }
        }

        test "pops of many, over many nodes ($form)" {
            set items [numbers 1 300]
            fill k {*}$items
            assert_equal [numbers 1 100] [r lpop k 100]
            assert_equal [lreverse [numbers 201 300]] [r rpop k 100]
            assert_equal [numbers 101 200] [all k]
            assert_equal [lreverse [numbers 101 200]] [r rpop k 9223372036854775807]
            assert_equal 0 [r exists k]
        }

        test "LMPOP ($form)" {
            fill k a b c d
            fill l x y
            assert_equal {k a} [r lmpop 1 k left]
            assert_equal {k {d c}} [r lmpop 2 k l RIGHT count 2]
            assert_equal {k b} [r lmpop 3 none k l left COUNT 100]
            assert_equal 0 [r exists k]
            assert_equal {l {x y}} [r lmpop 2 k l left count 5]
            assert_equal {} [r lmpop 2 k l left]
        }

        test "LMPOP errors ($form)" {
            foreach {error words} {
                "ERR numkeys should be greater than 0" {0 k left} "ERR numkeys should be greater than 0" {x k left}
                "ERR numkeys should be greater than 0" {-1 k left}
                "ERR syntax error" {2 k left} "ERR syntax error" {1 k middle} "ERR syntax error" {1 k left count}
                "ERR syntax error" {1 k left nosuch 1} "ERR syntax error" {1 k left count 1 count 1}
                "ERR syntax error" {9223372036854775807 k left} "ERR count should be greater than 0" {1 k left count 0}
                "ERR count should be greater than 0" {1 k left count -1} "ERR count should be greater than 0" {1 k left count x}
            } {
                assert_error $error { r lmpop {*}$words } $words
                assert_error $error { r blmpop 0.01 {*}$words } $words
            }
        }

        test "LMOVE between lists, in every direction ($form)" {
            foreach {from to moved source target} {
                left left a {b c} {a x y} left right a {b c} {x y a} right left c {a b} {c x y} right right c {a b} {x y c}
            } {
                fill k a b c
                fill l x y
                assert_equal $moved [r lmove k l $from $to]
                assert_equal $source [all k]
                assert_equal $target [all l]
            }
            assert_error "ERR syntax error" { r lmove k l left middle }
            assert_error "ERR syntax error" { r lmove none l up left }
        }

        test "LMOVE from the last element and to a new list ($form)" {
            r del new
            fill k only
            assert_equal only [r lmove k new left right]
            assert_equal 0 [r exists k]
            assert_equal only [all new]
            assert_equal {} [r lmove k new left right]
            assert_equal {} [r lmove none none2 left right]
            assert_equal 0 [r exists none2]
        }

        test "LMOVE within one list rotates it ($form)" {
            fill k {*}[numbers 1 20]
            assert_equal 1 [r lmove k k left right]
            assert_equal [list {*}[numbers 2 20] 1] [all k]
            assert_equal 1 [r lmove k k right left]
            assert_equal 1 [r lmove k k left left]
            assert_equal 20 [r rpoplpush k k]
            assert_equal [list 20 {*}[numbers 1 19]] [all k]
            for {set i 0} {$i < 20} {incr i} { r lmove k k left right }
            assert_equal [list 20 {*}[numbers 1 19]] [all k]
            fill k single
            foreach ends {{left right} {right left} {left left} {right right}} {
                assert_equal single [r lmove k k {*}$ends]
                assert_equal single [all k]
            }
        }

        test "RPOPLPUSH, with long elements too ($form)" {
            set long [string repeat long 3000]
            fill k a $long
            r del l
            assert_equal $long [r rpoplpush k l]
            assert_equal a [r rpoplpush k l]
            assert_equal [list a $long] [all l]
            assert_equal 0 [r exists k]
            assert_equal {} [r rpoplpush k l]
        }

        test "a target of another type is refused, and nothing moves ($form)" {
            fill k a b
            r set s text
            foreach command {{lmove k s left left} {rpoplpush k s} {blmove k s left left 0} {brpoplpush k s 0}} {
                assert_error "WRONGTYPE*" { r {*}$command }
            }
            assert_equal {a b} [all k]
            # Without a source the target is not checked.
            assert_equal {} [r lmove none s left left]
            assert_equal {} [r rpoplpush none s]
        }

        test "blocking commands take what is there at once ($form)" {
            fill k a b c d
            fill l x y
            assert_equal {k a} [r blpop k l 0]
            assert_equal {l y} [r brpop none l k 0]
            assert_equal {k d} [r brpop k 0]
            assert_equal b [r blmove k l left right 0]
            assert_equal c [r brpoplpush k l 0]
            assert_equal {c x b} [all l]
            assert_equal {l {c x}} [r blmpop 0 2 k l left count 2]
            assert_equal {l b} [r blmpop 0 1 l right]
            assert_equal 0 [r exists k l]
        }

        test "reply shapes of pops in RESP2 and RESP3 ($form)" {
            foreach {command two three} {
                {lpop k} {$1 a} {$1 a} {lpop none} $-1 _ {lpop k 2} {*2 $1 a $1 5} {*2 $1 a $1 5} {lpop none 1} *-1 _
                {lpop none 0} *-1 _ {lpop k 0} *0 *0 {rpop k 1} {*1 $1 c} {*1 $1 c}
                {lmpop 1 k left} {*2 $1 k *1 $1 a} {*2 $1 k *1 $1 a} {lmpop 1 none left} *-1 _
                {lmove k l left left} {$1 a} {$1 a} {lmove none l left left} $-1 _ {rpoplpush none l} $-1 _
                {blpop k 0} {*2 $1 k $1 a} {*2 $1 k $1 a} {blpop none 0.01} *-1 _ {brpop none 0.01} *-1 _
                {blmove none l left left 0.01} *-1 _ {brpoplpush none l 0.01} *-1 _ {brpoplpush k l 0} {$1 c} {$1 c}
                {blmpop 0.01 1 none left} *-1 _ {blmpop 0 1 k right count 2} {*2 $1 k *2 $1 c $1 5} {*2 $1 k *2 $1 c $1 5}
            } {
                fill k a 5 c
                r hello 2
                assert_equal $two [wire {*}$command] $command
                fill k a 5 c
                r hello 3
                assert_equal $three [wire {*}$command] $command
            }
            r hello 2
        }
    }
}
