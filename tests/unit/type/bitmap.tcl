# Bitmaps: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP and BITFIELD against a model on strings of 0 and 1.

source [file join [file dirname [info script]] zset_util.tcl]

# ---- The model ----

proc bits_of {bytes} {
    binary scan $bytes B* bits
    return $bits
}
proc bytes_of {bits} { binary format B* $bits }

# A range of arguments as first and last index of `length` things; empty when first > last.
proc clip {start end length} {
    if {$start < 0} { set start [expr {max($start + $length, 0)}] }
    if {$end < 0} { set end [expr {max($end + $length, 0)}] }
    return [list $start [expr {min($end, $length - 1)}]]
}
proc model_bitcount {bits start end unit} {
    if {$start < 0 && $end < 0 && $start > $end} { return 0 }
    set width [expr {$unit eq {bit} ? 1 : 8}]
    lassign [clip $start $end [expr {[string length $bits] / $width}]] first last
    if {$first > $last} { return 0 }
    return [regexp -all 1 [string range $bits [expr {$first * $width}] [expr {$last * $width + $width - 1}]]]
}
proc model_bitpos {bits bit start end unit} {
    set width [expr {$unit eq {bit} ? 1 : 8}]
    lassign [clip $start $end [expr {[string length $bits] / $width}]] first last
    if {$first > $last} { return -1 }
    set at [string first $bit $bits [expr {$first * $width}]]
    return [expr {$at >= $last * $width + $width ? -1 : $at}]
}
proc model_bitop {op args} {
    set length [tcl::mathfunc::max {*}[lmap a $args { string length $a }]]
    set padded [lmap a $args { string cat $a [string repeat 0 [expr {$length - [string length $a]}]] }]
    set out {}
    for {set i 0} {$i < $length} {incr i} {
        set column [lmap a $padded { string index $a $i }]
        append out [switch $op {
            and { expr {"0" ni $column} }
            or { expr {"1" in $column} }
            xor { expr {[tcl::mathop::+ {*}$column] % 2} }
            not { expr {![lindex $column 0]} }
            diff { expr {[lindex $column 0] && "1" ni [lrange $column 1 end]} }
            diff1 { expr {![lindex $column 0] && "1" in [lrange $column 1 end]} }
            andor { expr {[lindex $column 0] && "1" in [lrange $column 1 end]} }
            one { expr {[tcl::mathop::+ {*}$column] == 1} }
        }]
    }
    return $out
}

# Bits as an integer, and back.
proc field_value {bits signed} {
    set v 0
    foreach b [split $bits {}] { set v [expr {2 * $v + $b}] }
    return [expr {$signed && [string index $bits 0] ? $v - (1 << [string length $bits]) : $v}]
}
proc field_bits {v width} {
    set out {}
    for {set i 0} {$i < $width} {incr i} {
        set out [expr {$v & 1}]$out
        set v [expr {$v >> 1}]
    }
    return $out
}
# {new value or empty} after bringing v into the type's range.
proc overflow {v width signed rule} {
    set min [expr {$signed ? -(1 << ($width - 1)) : 0}]
    set max [expr {$signed ? (1 << ($width - 1)) - 1 : (1 << $width) - 1}]
    if {$v >= $min && $v <= $max} { return $v }
    switch $rule {
        fail { return {} }
        sat { return [expr {$v < $min ? $min : $max}] }
        wrap { return [field_value [field_bits $v $width] $signed] }
    }
}
# Runs the operations on the variable that holds the bits; returns the replies.
proc model_bitfield {bits_name operations} {
    upvar $bits_name bits
    set rule wrap
    set replies {}
    foreach operation $operations {
        lassign $operation name type offset value
        if {$name eq {overflow}} {
            set rule $type
            continue
        }
        set signed [expr {[string index $type 0] eq {i}}]
        set width [string range $type 1 end]
        if {[string index $offset 0] eq {#}} { set offset [expr {[string range $offset 1 end] * $width}] }
        set end [expr {$offset + $width}]
        set whole $bits[string repeat 0 [expr {max($end - [string length $bits], 0)}]]
        set old [field_value [string range $whole $offset [expr {$end - 1}]] $signed]
        if {$name eq {get}} {
            lappend replies $old
            continue
        }
        set bits $whole[string repeat 0 [expr {-[string length $whole] & 7}]]
        set new [overflow [expr {$name eq {set} ? $value : $old + $value}] $width $signed $rule]
        lappend replies [expr {$new eq {} ? {} : $name eq {set} ? $old : $new}]
        if {$new ne {}} { set bits [string replace $bits $offset [expr {$end - 1}] [field_bits $new $width]] }
    }
    return $replies
}

start_server {tags {bitmap}} {
    test {SETBIT and GETBIT} {
        assert_equal {0 1 0} [list [r setbit k 7 1] [r setbit k 7 0] [r setbit k 100 1]]
        assert_equal 13 [r strlen k]
        assert_equal {0 1 0 0} [list [r getbit k 7] [r getbit k 100] [r getbit k 104] [r getbit k 4294967295]]
        assert_equal [string repeat 0 100]1000 [bits_of [r get k]]
        assert_equal 0 [r getbit nokey 0]
        r set n 12
        assert_encoding int n
        assert_equal {0 1} [list [r getbit n 0] [r getbit n 2]]
        assert_equal 1 [r setbit n 3 0]
        assert_encoding raw n
        assert_equal "!2" [r get n]
        r set e short
        assert_equal 1 [r setbit e 1 0]
        assert_encoding raw e
        assert_equal 0 [r setbit new 3 0]
        assert_equal "\x00" [r get new]
    }

    test {SETBIT keeps the expiry} {
        r set k x ex 1000
        r setbit k 1000 1
        assert_range [r ttl k] 900 1000
    }

    test {random SETBIT and GETBIT} {
        r del k
        set bits {}
        for {set i 0} {$i < 2000} {incr i} {
            set at [randomInt 3000]
            set bit [randomInt 2]
            set was [expr {$at < [string length $bits] ? [string index $bits $at] : 0}]
            if {rand() < 0.5} {
                assert_equal $was [r getbit k $at]
                continue
            }
            assert_equal $was [r setbit k $at $bit]
            append bits [string repeat 0 [expr {max(($at / 8 + 1) * 8 - [string length $bits], 0)}]]
            set bits [string replace $bits $at $at $bit]
        }
        assert_equal $bits [bits_of [r get k]]
    }

    test {BITCOUNT} {
        r set k foobar
        assert_equal {26 26 26} [list [r bitcount k] [r bitcount k 0 -1] [r bitcount k 0 -1 byte]]
        assert_equal {4 6 0 0} [list [r bitcount k 0 0] [r bitcount k 1 1] [r bitcount k 3 2] [r bitcount k 6 9]]
        assert_equal {17 1} [list [r bitcount k 5 30 bit] [r bitcount k -4 -1 BIT]]
        assert_equal 0 [r bitcount nokey]
        assert_equal 0 [r bitcount nokey 0 -1 bit]
        r set n 123
        assert_equal 10 [r bitcount n]
    }

    test {random BITCOUNT and BITPOS} {
        for {set i 0} {$i < 400} {incr i} {
            set value [randstring 0 [randomElement {1 3 9 40 200}]]
            if {rand() < 0.4} { set value [string repeat [randomElement [list \x00 \xff]] [randomInt 60]]$value }
            r set k $value
            if {$value eq {}} continue
            set bits [bits_of $value]
            set size [string length $bits]
            assert_equal [regexp -all 1 $bits] [r bitcount k]
            foreach unit {byte bit} {
                set most [expr {$unit eq {bit} ? $size + 10 : $size / 8 + 3}]
                set start [randomRange -$most $most]
                set end [randomRange -$most $most]
                set what "$start $end $unit of $bits"
                assert_equal [model_bitcount $bits $start $end $unit] [r bitcount k $start $end $unit] $what
                foreach bit {0 1} {
                    assert_equal [model_bitpos $bits $bit $start $end $unit] [r bitpos k $bit $start $end $unit] $what
                }
            }
        }
    }

    test {BITPOS beyond the end} {
        assert_equal {-1 0} [list [r bitpos nokey 1] [r bitpos nokey 0]]
        r set k "\xff\xff\xff"
        assert_equal {24 24 -1 -1} [list [r bitpos k 0] [r bitpos k 0 1] [r bitpos k 0 0 -1] [r bitpos k 0 0 5 bit]]
        assert_equal -1 [r bitpos k 0 3]
        r set k "\x00\x00"
        assert_equal {-1 -1} [list [r bitpos k 1] [r bitpos k 1 -100 100]]
        r set k "\x00\xff\xf0"
        assert_equal {8 16 8 12 20} [list [r bitpos k 1] [r bitpos k 1 2] [r bitpos k 1 7 15 bit] [r bitpos k 1 12 15 bit] \
            [r bitpos k 0 2]]
        r set long [string repeat "\x00" 100000]\x01
        assert_equal 800007 [r bitpos long 1]
        r set long [string repeat "\xff" 100000]
        assert_equal 800000 [r bitpos long 0]
    }

    test {BITOP} {
        r set a "\xaa\x00\xff\x55"
        r set b "\xaa\x00\xff"
        assert_equal 4 [r bitop and d a b nokey]
        assert_equal "\x00\x00\x00\x00" [r get d]
        assert_equal 4 [r bitop OR d a b]
        assert_equal "\xaa\x00\xff\x55" [r get d]
        assert_equal 4 [r bitop xor d a b]
        assert_equal "\x00\x00\x00\x55" [r get d]
        assert_equal 3 [r bitop not d b]
        assert_equal "\x55\xff\x00" [r get d]
        assert_equal 4 [r bitop and a a a]
        assert_equal "\xaa\x00\xff\x55" [r get a]
        assert_equal 0 [r bitop or d nokey]
        assert_equal 0 [r exists d]
        r set n 12
        assert_equal 2 [r bitop not d n]
        assert_equal "\xce\xcd" [r get d]
        r rpush list x
        assert_equal 2 [r bitop or list n]
        assert_type string list
    }

    test {BITOP DIFF, DIFF1, ANDOR and ONE} {
        r set a "\xff\x0f\xaa"
        r set b "\x0f\xf0"
        r set c "\x33"
        foreach {op keys result} {
            diff {a b c} c00faa  diff1 {a b c} 00f000  andor {a b c} 3f0000  one {a b c} c0ffaa
            DIFF {c a b} 000000  Diff1 {c a b} ccffaa  ANDOR {c a b} 330000  ONE {a a} 000000
            diff {nokey a} 000000  diff1 {nokey a b} ffffaa  andor {a nokey} 000000  one a ff0faa  diff {a nokey} ff0faa
        } {
            assert_equal 3 [r bitop $op d {*}$keys] "$op $keys"
            binary scan [r get d] H* hex
            assert_equal $result $hex "$op $keys"
        }
        assert_equal 0 [r bitop one d nokey nokey]
        assert_equal 0 [r exists d]
        assert_equal 3 [r bitop diff a a b]
        assert_equal "\xf0\x0f\xaa" [r get a] "the result may replace a source"
        r set n 12
        assert_equal 2 [r bitop one d n]
        assert_equal 12 [r get d]
    }

    test {random BITOP across the blocks in which it works} {
        foreach op {and or xor diff diff1 andor one} {
            set rows {}
            foreach key {k1 k2 k3} size [list 8192 [randomRange 8000 8400] [randomRange 100 25000]] {
                set bytes [lmap i [lrepeat $size 0] { randomElement {0 1 85 170 254 255} }]
                r set $key [binary format c* $bytes]
                lappend rows $bytes
            }
            set rows [lmap row $rows { lrange [concat $row [lrepeat 25000 0]] 0 24999 }]
            set expected [lmap x [lindex $rows 0] y [lindex $rows 1] z [lindex $rows 2] {
                switch $op {
                    and { expr {$x & $y & $z} }
                    or { expr {$x | $y | $z} }
                    xor { expr {$x ^ $y ^ $z} }
                    diff { expr {$x & ~($y | $z)} }
                    diff1 { expr {~$x & ($y | $z)} }
                    andor { expr {$x & ($y | $z)} }
                    one { expr {($x ^ $y ^ $z) & ~($x & $y & $z)} }
                }
            }]
            set n [r bitop $op d k1 k2 k3]
            assert {[r get d] eq [binary format c* [lrange $expected 0 $n-1]]} $op
        }
    }

    test {random BITOP} {
        for {set i 0} {$i < 200} {incr i} {
            set op [randomElement {and or xor not diff diff1 andor one}]
            set keys {}
            set values {}
            foreach n [lrepeat [expr {$op eq {not} ? 1 : [randomRange [expr {$op in {diff diff1 andor} ? 2 : 1}] 20]}] 0] {
                lappend values [randstring 1 [randomElement {1 7 8 9 33 300}]]
                lappend keys k[llength $values]
                r set [lindex $keys end] [lindex $values end]
            }
            set expected [model_bitop $op {*}[lmap v $values { bits_of $v }]]
            assert_equal [expr {[string length $expected] / 8}] [r bitop $op d {*}$keys]
            assert_equal $expected [bits_of [r get d]] "$op of [llength $keys]"
        }
    }

    test {BITFIELD} {
        r del k
        assert_equal {0} [r bitfield k get u8 0]
        assert_equal 0 [r exists k] "reading makes no key"
        assert_equal {0 42 127} [r bitfield k set u8 0 42 get u8 0 incrby u8 0 85]
        assert_equal {127 -1 -1} [r bitfield k set i8 #0 -1 get i8 0 get i4 4]
        assert_equal {255 15} [r bitfield k get u8 0 get u4 #1]
        assert_equal {255 0} [r bitfield k incrby u8 8 -1 incrby u8 #1 1]
        assert_equal {-1 {} -128} \
            [r bitfield k set i8 0 127 overflow fail incrby i8 0 1 overflow wrap incrby i8 0 1] \
            "the first reply is the old value"
    }

    test {BITFIELD: overflow at the ends} {
        r del k
        foreach {rule type value by expected} {
            wrap u8 255 1 0        sat u8 255 1 255     fail u8 255 1 {}
            wrap u8 0 -1 255       sat u8 0 -1 0        fail u8 0 -1 {}
            wrap i8 127 1 -128     sat i8 127 1 127     fail i8 127 1 {}
            wrap i8 -128 -1 127    sat i8 -128 -1 -128  fail i8 -128 -1 {}
            wrap i64 9223372036854775807 1 -9223372036854775808
            sat i64 9223372036854775807 1 9223372036854775807
            fail i64 9223372036854775807 1 {}
            wrap i64 -9223372036854775808 -1 9223372036854775807
            sat i64 -9223372036854775808 -1 -9223372036854775808
            wrap u63 9223372036854775807 1 0
            sat u63 9223372036854775807 9223372036854775807 9223372036854775807
            wrap u1 1 1 0          sat i1 -1 -1 -1      wrap i1 0 1 -1
        } {
            r bitfield k set $type 3 $value
            assert_equal [list $expected] [r bitfield k overflow $rule incrby $type 3 $by] "$rule $type $value $by"
            assert_equal [expr {$expected eq {} ? $value : $expected}] [r bitfield k get $type 3]
        }
    }

    test {random BITFIELD} {
        r del k
        set bits {}
        for {set i 0} {$i < 1500} {incr i} {
            set operations {}
            for {set n [randomRange 1 5]} {$n} {incr n -1} {
                set signed [randomInt 2]
                set width [randomRange 1 [expr {$signed ? 64 : 63}]]
                set type [lindex {u i} $signed]$width
                set offset [expr {rand() < 0.3 ? "#[randomInt 5]" : [randomInt 200]}]
                # SET takes values out of range, too, but those that an unsigned field cannot mean.
                set least [expr {$signed ? -(1 << ($width - 1)) : 0}]
                set most [expr {$signed ? (1 << ($width - 1)) - 1 : (1 << $width) - 1}]
                set value [expr {$least + entier(rand() * ($most - $least))}]
                switch [randomInt 4] {
                    0 { lappend operations [list get $type $offset] }
                    1 { lappend operations [list set $type $offset $value] }
                    2 { lappend operations [list incrby $type $offset [expr {rand() < 0.5 ? $value : [randomRange -300 300]}]] }
                    3 { lappend operations [list overflow [randomElement {wrap sat fail}]] [list incrby $type $offset $value] }
                }
            }
            set expected [model_bitfield bits $operations]
            assert_equal $expected [r bitfield k {*}[concat {*}$operations]] $operations
            if {$i % 50 == 0} { assert_equal $bits [bits_of [r get k]] }
        }
    }

    test {BITFIELD_RO} {
        r set k "\x12\x34"
        assert_equal {18 52 4660} [r bitfield_ro k get u8 0 get u8 #1 get u16 0]
        assert_error {ERR BITFIELD_RO only supports the GET subcommand} { r bitfield_ro k set u8 0 1 }
        assert_error {ERR BITFIELD_RO only supports the GET subcommand} { r bitfield_ro k get u8 0 incrby u8 0 1 }
        assert_equal {{k {RO access}}} [r command getkeysandflags bitfield k get u8 0]
        assert_equal {{k {RW access update}}} [r command getkeysandflags bitfield k get u8 0 set u8 0 1]
    }

    test {errors} {
        r del k s d list
        r rpush list x
        r set s foobar
        set offset {ERR bit offset is not an integer or out of range}
        foreach at {-1 4294967296 9223372036854775807 9223372036854775808 x {} 1.0 #1 { 1}} {
            assert_error $offset { r setbit k $at 1 } "'$at'"
            assert_error $offset { r getbit k $at } "'$at'"
        }
        foreach bit {2 -1 x {} 01 {1 }} {
            assert_error {ERR bit is not an integer or out of range} { r setbit k 1 $bit } "'$bit'"
        }
        assert_equal 0 [r exists k]
        foreach command {{setbit list 0 1} {getbit list 0} {bitcount list} {bitpos list 1} {bitop or d list} {bitop or d s list}
                {bitfield list get u8 0} {bitfield list set u8 0 1} {bitfield_ro list get u8 0}} {
            assert_error {WRONGTYPE*} { r {*}$command } $command
        }
        foreach args {{0 1 word} {0 1 bit bit} {0 1 {}}} {
            assert_error {ERR syntax error} { r bitcount s {*}$args } $args
            assert_error {ERR syntax error} { r bitpos s 1 {*}$args } $args
        }
        foreach args {{x 1} {0 x} {0 9223372036854775808} {1.0 2}} {
            assert_error {ERR value is not an integer or out of range} { r bitcount s {*}$args } $args
            assert_error {ERR value is not an integer or out of range} { r bitpos s 1 {*}$args } $args
        }
        # The unit is looked at before the end, and all arguments before the key.
        assert_error {ERR syntax error} { r bitcount s 0 x word }
        assert_error {ERR syntax error} { r bitpos s 0 0 x word }
        assert_error {ERR value is not an integer or out of range} { r bitpos s 0 x x word }
        foreach key {absent list} {
            foreach {args error} {
                x "ERR value is not an integer or out of range"           {0 x bit} "ERR value is not an integer or out of range"
                {0 1 word} "ERR syntax error"  {0 x word} "ERR syntax error"  {0 1 bit x} "ERR syntax error"
            } {
                assert_error $error { r bitcount $key {*}$args } "$key $args"
                assert_error $error { r bitpos $key 1 {*}$args } "$key $args"
            }
        }
        assert_error {ERR The bit argument must be 1 or 0.} { r bitpos s 2 }
        assert_error {ERR value is not an integer or out of range} { r bitpos s x }
        assert_error {ERR syntax error} { r bitop nand d s }
        assert_error {ERR BITOP NOT must be called with a single source key.} { r bitop not d s s }
        foreach op {DIFF DIFF1 ANDOR} {
            assert_error "ERR BITOP $op must be called with at least two source keys." { r bitop $op d s }
            assert_error "ERR BITOP $op must be called with at least two source keys." { r bitop [string tolower $op] d list }
            assert_error "WRONGTYPE*" { r bitop $op d list nokey }
        }
        assert_error "WRONGTYPE*" { r bitop one d nokey list }
        assert_error {ERR syntax error} { r bitop diff2 d s s }
        assert_equal 0 [r exists d]
    }

    test {errors of BITFIELD change nothing} {
        r set s foobar
        set type {ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.}
        foreach bad {u64 u0 i0 i65 u i x8 8 {} u-1 u8x {u 8}} {
            assert_error $type { r bitfield s set u8 0 1 get $bad 0 } "'$bad'"
        }
        foreach at {-1 x 4294967296 #x # #-1 #9223372036854775807 {}} {
            assert_error {ERR bit offset is not an integer or out of range} { r bitfield s set u8 0 1 get u8 $at } "'$at'"
        }
        foreach value {x {} 9223372036854775808 1.0} {
            assert_error {ERR value is not an integer or out of range} { r bitfield s set u8 0 1 incrby u8 0 $value } "'$value'"
        }
        assert_error {ERR Invalid OVERFLOW type specified} { r bitfield s set u8 0 1 overflow word incrby u8 0 1 }
        foreach args {{word} {get u8} {get} {set u8 0} {incrby u8 0} {overflow} {get u8 0 1}} {
            assert_error {ERR syntax error} { r bitfield s set u8 0 1 {*}$args } $args
        }
        assert_equal foobar [r get s]
    }

    test {the longest string: a field may begin with its last bit, and reach beyond} {
        config_set proto-max-bulk-len 1mb
        r del k
        assert_error {ERR bit offset is not an integer or out of range} { r setbit k 8388608 1 }
        assert_error {ERR bit offset is not an integer or out of range} { r bitfield k set u8 8388608 1 }
        assert_equal {0 0} [list [r setbit k 8388607 0] [r bitfield k set u8 8388607 255]]
        assert_equal {1048577 255 1} [list [r strlen k] [r bitfield k get u8 8388607] [r getbit k 8388607]]
        assert_equal {1 0} [r bitfield k get u8 #1048575 get u63 #133150]
        r del k
        config_set proto-max-bulk-len 512mb
    }

    test {replies in both protocols} {
        r set s "\xff"
        assert_equal {*2 :255 $-1} [wire bitfield s get u8 0 overflow fail incrby u8 0 1]
        r hello 3
        assert_equal {*2 :255 _} [wire bitfield s get u8 0 overflow fail incrby u8 0 1]
        r hello 2
    }
}
