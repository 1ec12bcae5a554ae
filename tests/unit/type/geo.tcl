# Places: every command, the shapes against a search of all members, errors, both protocols.

source [file join [file dirname [info script]] zset_util.tcl]

proc sorted {list} { lsort $list }

# ---- The same in Tcl ----

set pi [expr {acos(-1)}]
proc radians {degrees} { expr {$degrees * $::pi / 180} }
proc metres {lon1 lat1 lon2 lat2} {
    set v [expr {sin([radians [expr {$lon2 - $lon1}]] / 2)}]
    set u [expr {sin([radians [expr {$lat2 - $lat1}]] / 2)}]
    set h [expr {$u * $u + cos([radians $lat1]) * cos([radians $lat2]) * $v * $v}]
    return [expr {2 * 6372797.560856 * asin(sqrt(min($h, 1)))}]
}

# Whether the point is within the shape. Distances closer to the border than `slack` give "either".
set slack 0.01
proc within {shape lon lat} {
    lassign $shape kind a b c d
    switch $kind {
        circle { return [below [metres $a $b $lon $lat] $c] }
        box {
            set height [below [metres $lon $b $lon $lat] [expr {$d / 2}]]
            set width [below [metres $a $lat $lon $lat] [expr {$c / 2}]]
            if {$height eq {no} || $width eq {no}} { return no }
            return [expr {$height eq {yes} && $width eq {yes} ? {yes} : {either}}]
        }
    }
}
proc below {distance limit} {
    if {abs($distance - $limit) < $::slack} { return either }
    return [expr {$distance < $limit ? {yes} : {no}}]
}

proc random_place {} {
    switch [randomInt 4] {
        0 { return [list [expr {rand() * 360 - 180}] [expr {rand() * 170 - 85}]] }
        1 { return [list [expr {179.5 + rand() * 0.5}] [expr {rand() * 2}]] }
        2 { return [list [expr {-180 + rand() * 0.5}] [expr {rand() * 2}]] }
        3 { return [list [expr {rand() * 360 - 180}] [expr {84 + rand()}]] }
    }
}

# Members, with their places as the server keeps them.
proc fill_places {key count} {
    r del $key
    set args {}
    for {set i 0} {$i < $count} {incr i} { lappend args {*}[random_place] m$i }
    r geoadd $key {*}$args
    set places {}
    set names [lmap {lon lat name} $args { set name }]
    foreach name $names place [r geopos $key {*}$names] { dict set places $name $place }
    return $places
}

proc check_search {places shape found} {
    dict for {name place} $places {
        set expected [within $shape {*}$place]
        set there [expr {$name in $found ? {yes} : {no}}]
        if {$expected ne {either} && $expected ne $there} { fail "$name at $place in $shape: $there, not $expected" }
    }
}

foreach {encoding overrides} {listpack {} {not listpack} {zset-max-listpack-entries 0}} {
start_server [list overrides $overrides tags geo] {
    proc sicily {} {
        r del s
        r geoadd s 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 13.583333 37.316667 Agrigento
    }

    test "GEOADD, GEOPOS, GEOHASH, GEODIST ($encoding)" {
        assert_equal 3 [sicily]
        assert_equal [expr {$encoding eq {listpack}}] [expr {[r object encoding s] eq {listpack}}]
        assert_equal 3479099956230698 [r zscore s Palermo]
        assert_equal {{13.36138933897018433 38.11555639549629859} {} {15.08726745843887329 37.50266842333162032}} \
            [r geopos s Palermo none Catania]
        assert_equal {sqc8b49rny0 {} sqdtr74hyu0} [r geohash s Palermo none Catania]
        assert_equal {166274.1516 166.2742 166.2742 103.3182 545518.8700} \
            [list [r geodist s Palermo Catania] [r geodist s Palermo Catania km] [r geodist s Palermo Catania KM] \
                 [r geodist s Palermo Catania mi] [r geodist s Palermo Catania ft]]
        assert_equal 0.0000 [r geodist s Palermo Palermo]
        r geoadd antipodes 0 0 a 179.999997 0 b 90 45 c -90 -45 d
        assert_match {200207*.????} [r geodist antipodes a b]
        assert_match {200207*.????} [r geodist antipodes c d]
        assert_equal {} [r geodist s Palermo none]
        assert_equal {{} {}} [r geopos nokey a b]
        assert_equal {{} {}} [r geohash nokey a b]
        assert_equal {} [r geodist nokey a b]
        assert_equal {} [r geopos s]
    }

    test "GEOADD NX, XX, CH ($encoding)" {
        sicily
        assert_equal 0 [r geoadd s nx 0 0 Palermo]
        assert_equal sqc8b49rny0 [r geohash s Palermo]
        assert_equal 0 [r geoadd s xx 0 0 new]
        assert_equal {} [r zscore s new]
        assert_equal 0 [r geoadd s xx 1 1 Palermo]
        assert_equal 1 [r geoadd s xx ch 2 2 Palermo]
        assert_equal 2 [r geoadd s CH 3 3 Palermo 4 4 new]
        assert_equal 1 [r geoadd s 3 3 nx]
    }

    test "the search's options ($encoding)" {
        sicily
        set near {fromlonlat 15 37 byradius 200 km}
        assert_equal {Agrigento Catania Palermo} [sorted [r geosearch s {*}$near]]
        assert_equal {Catania Agrigento Palermo} [r geosearch s {*}$near asc]
        assert_equal {Palermo Agrigento Catania} [r geosearch s {*}$near desc]
        assert_equal {Catania Agrigento} [r geosearch s {*}$near count 2]
        assert_equal {Palermo} [r geosearch s {*}$near desc count 1]
        assert_equal 2 [llength [r geosearch s {*}$near count 2 any]]
        assert_equal 3 [llength [r geosearch s {*}$near any count 20]]
        assert_equal {{Catania 56.4413 3479447370796909 {15.08726745843887329 37.50266842333162032}}} \
            [r geosearch s withcoord withhash {*}$near withdist count 1]
        assert_equal {{Catania 35.0711}} [r geosearch s fromlonlat 15 37 byradius 50 mi withdist]
        assert_equal {Palermo} [r geosearch s frommember Palermo byradius 0 m]
        assert_equal {Palermo Agrigento} [r geosearch s bybox 100 200 km frommember Palermo asc]
        assert_equal {} [r geosearch nokey frommember Palermo byradius 1 km]
    }

    test "GEORADIUS and its relatives ($encoding)" {
        sicily
        assert_equal {Catania Agrigento} [r georadius s 15 37 180 km asc]
        assert_equal {{Catania 56.4413}} [r georadius_ro s 15 37 200 km withdist count 1]
        assert_equal {Palermo Agrigento} [r georadiusbymember s Palermo 100 km asc]
        assert_equal {Palermo} [r georadiusbymember_ro s Palermo 1 km]
        assert_error {ERR syntax error} { r georadius_ro s 15 37 200 km store d }
        assert_error {ERR syntax error} { r georadiusbymember_ro s Palermo 200 km storedist d }
    }

    test "storing ($encoding)" {
        sicily
        assert_equal 2 [r georadius s 15 37 180 km store d]
        assert_equal {Agrigento Catania} [sorted [r zrange d 0 -1]]
        assert_equal [r zscore s Catania] [r zscore d Catania]
        assert_equal 1 [r georadius s 15 37 180 km count 1 storedist d]
        assert_range [r zscore d Catania] 56.441257 56.441258
        assert_equal 2 [r georadiusbymember s Palermo 100 km storedist d]
        assert_equal {Palermo Agrigento} [r zrange d 0 -1]
        assert_equal 3 [r geosearchstore d s fromlonlat 15 37 bybox 400 400 km]
        assert_equal [r zrange s 0 -1 withscores] [r zrange d 0 -1 withscores]
        assert_equal 3 [r geosearchstore d s fromlonlat 15 37 bybox 400 400 km storedist]
        assert_equal {Catania Agrigento Palermo} [r zrange d 0 -1]
        r set d string
        assert_equal 1 [r geosearchstore d s frommember Palermo byradius 1 km]
        assert_equal {Palermo} [r zrange d 0 -1]
        assert_equal 0 [r geosearchstore d s fromlonlat 0 0 byradius 1 km]
        assert_equal 0 [r exists d]
        r set d string
        assert_equal 0 [r geosearchstore d nokey fromlonlat 0 0 byradius 1 km]
        assert_equal 0 [r exists d]
        assert_equal 2 [r geosearchstore s s frommember Palermo byradius 100 km]
        assert_equal 2 [r zcard s]
    }

    test "polygons ($encoding)" {
        r del p
        r geoadd p 1 1 low 5 5 middle 9 1 right 1 7 left 5 1 base 12 5 out
        assert_equal {base low middle right} [sorted [r geosearch p bypolygon 3 0 0 10 0 5 10]]
        # A bay, where `middle` is; any direction; closed or not.
        assert_equal {base left low right} [sorted [r geosearch p bypolygon 5 0 0 10 0 10 10 5 3 0 10]]
        assert_equal {base left low right} [sorted [r geosearch p bypolygon 6 0 10 5 3 10 10 10 0 0 0 0 10]]
        # Distances are from the place below the mean of the vertices' vectors: a little nearer to the pole than
        # the mean of their latitudes.
        set found [r geosearch p bypolygon 4 0 0 10 0 10 10 0 10 withdist asc]
        assert_equal {middle base} [list [lindex $found 0 0] [lindex $found 1 0]]
        assert_equal {2113.5207 447018.7620} [list [lindex $found 0 1] [lindex $found 1 1]]
        assert_equal {middle} [r geosearch p bypolygon 4 0 0 10 0 10 10 0 10 count 1]
        assert_equal 2 [r geosearchstore q p bypolygon 3 0 0 10 0 5 10 count 2]
        assert_equal {} [r geosearch nokey bypolygon 3 0 0 10 0 5 10]
    }

    test "COUNT ANY searches from the center outwards ($encoding)" {
        r del far
        set args {}
        for {set i 0} {$i < 3000} {incr i} { lappend args [expr {-60 + $i % 120}] [expr {-50 + $i / 30}] m$i }
        r geoadd far {*}$args
        # A circle of 5,000 km; the first cell that is looked at is the one around its center.
        set found [r geosearch far fromlonlat 40 40 byradius 5000 km count 5 any withdist]
        assert_equal 5 [llength $found]
        r config resetstat
        for {set i 0} {$i < 20} {incr i} { r geosearch far fromlonlat 40 40 byradius 5000 km count 1 any }
        for {set i 0} {$i < 20} {incr i} { r georadius far 40 40 5000 km count 1 }
        regexp {cmdstat_geosearch:calls=20,usec=(\d+)} [r info commandstats] - any
        regexp {cmdstat_georadius:calls=20,usec=(\d+)} [r info commandstats] - nearest
        assert_lessthan [expr {3 * $any}] [expr {$nearest + 1000}]
    }

    test "searches find the same as a test of every member ($encoding)" {
        set places [fill_places g 300]
        for {set i 0} {$i < 150} {incr i} {
            lassign [random_place] lon lat
            set from [list fromlonlat $lon $lat]
            if {$i % 3 == 0} {
                set member m[randomInt 300]
                lassign [dict get $places $member] lon lat
                set from [list frommember $member]
            }
            set size [expr {10 ** (2 + rand() * 5.2)}]
            set height [expr {$size * 10 ** (rand() * 2 - 1)}]
            check_search $places [list circle $lon $lat $size] [r geosearch g {*}$from byradius $size m]
            check_search $places [list box $lon $lat $size $height] [r geosearch g {*}$from bybox $size $height m]
        }
    }

    test "order and COUNT agree with the whole result ($encoding)" {
        fill_places g 200
        for {set i 0} {$i < 30} {incr i} {
            set area [list fromlonlat {*}[random_place] byradius [expr {10 ** (4 + rand() * 3.3)}] m]
            set all [r geosearch g {*}$area asc withdist]
            assert_equal $all [lsort -real -index 1 $all]
            assert_equal [lreverse $all] [r geosearch g {*}$area desc withdist]
            set n [randomRange 1 20]
            assert_equal [lrange $all 0 $n-1] [r geosearch g {*}$area count $n withdist]
            assert_equal [lrange [lreverse $all] 0 $n-1] [r geosearch g {*}$area count $n desc withdist]
            set any [r geosearch g {*}$area count $n any asc withdist]
            assert_equal [expr {min($n, [llength $all])}] [llength $any]
            foreach hit $any { assert {$hit in $all} }
        }
    }

    test "searches at the limits of longitude and latitude ($encoding)" {
        r del e
        assert_equal 4 [r geoadd e 180 85.05112878 ne -180 -85.05112878 sw 180 0 east -180 0 west]
        assert_equal {east west} [sorted [r geosearch e fromlonlat 180 0 byradius 1 km]]
        assert_equal {east west} [sorted [r geosearch e fromlonlat -180 0 byradius 1 km]]
        assert_equal {east west} [sorted [r geosearch e fromlonlat 179.999 0 bybox 1 1 km]]
        assert_equal {east west} [sorted [r geosearch e frommember east byradius 1 m]]
        assert_equal {ne} [r geosearch e frommember ne byradius 0 m]
        assert_equal {sw} [r geosearch e fromlonlat 0 -85.05112878 byradius 1200 km]
        assert_equal {east ne sw west} [sorted [r geosearch e fromlonlat 0 0 byradius 21000 km]]
        assert_equal {east ne sw west} [sorted [r geosearch e fromlonlat 0 0 byradius inf km]]
    }

    test "scores that no GEOADD makes ($encoding)" {
        r del e
        r zadd e 1e17 a -5 b 4503599627370496 c 3.7 d inf e -inf f
        foreach place [r geopos e a b c d e f] {
            assert_range [lindex $place 0] -180 180
            assert_range [lindex $place 1] -85.06 85.06
        }
        assert_equal {bp05b5048p0 bp05b5048p0 bp05b5048p0 00bh0hbj210 00bh0hbj200} [r geohash e a b c d e]
        assert_equal {{d 3}} [r geosearch e fromlonlat -180 -85.05 byradius 1 km withhash]
    }
}
}

start_server {tags {geo}} {
    test {errors of GEOADD} {
        r set str x
        foreach args {{k nx 1 2} {k nx xx 1 2 a} {k gt 1 2 a} {k incr 1 2 a} {k 1 2 a 3} {k 1 2 a ch} {k nx xx ch}} {
            assert_error {ERR syntax error} { r geoadd {*}$args }
        }
        assert_error {ERR invalid longitude,latitude pair 200.000000,10.000000} { r geoadd k 200 10 a }
        assert_error {ERR invalid longitude,latitude pair 1.000000,-86.000000} { r geoadd k 1 -86 a }
        assert_error {ERR invalid longitude,latitude pair inf,1.000000} { r geoadd k inf 1 a }
        foreach place {{x 1} {1 x} {nan 1} {{ 1} 1} {1e400 1} {{} 1}} {
            assert_error {ERR value is not a valid float} { r geoadd k {*}$place a }
        }
        assert_error {ERR invalid longitude,latitude pair 200.000000,3.000000} { r geoadd k 1 2 a 200 3 b }
        assert_equal 0 [r exists k]
        assert_error {WRONGTYPE*} { r geoadd str 1 2 a }
        assert_error {ERR invalid longitude,latitude pair*} { r geoadd str 200 2 a }
        assert_error {ERR wrong number of arguments*} { r geoadd k 1 2 }
    }

    test {errors of the others} {
        r geoadd s 13.361389 38.115556 Palermo
        foreach command {geopos geohash} { assert_error {WRONGTYPE*} { r $command str a } }
        assert_error {WRONGTYPE*} { r geodist str a b }
        set unit {ERR unsupported unit provided. please use M, KM, FT, MI}
        assert_error $unit { r geodist str a b miles }
        assert_error {ERR syntax error} { r geodist s a b km km }
        assert_error {WRONGTYPE*} { r geosearch str fromlonlat 1 1 byradius 1 km nonsense }
        set vertices {ERR invalid number of vertices}
        set few {ERR GEOSEARCH BYPOLYGON must have at least 3 vertices}
        foreach {message args} [list \
            {ERR need numeric radius} {fromlonlat 1 1 byradius x km} \
            {ERR need numeric radius} {fromlonlat 1 1 byradius nan km} \
            {ERR radius cannot be negative} {fromlonlat 1 1 byradius -1 nounit} \
            $unit {fromlonlat 1 1 byradius 1 x} \
            {ERR need numeric width} {fromlonlat 1 1 bybox x y km} \
            {ERR need numeric height} {fromlonlat 1 1 bybox 1 y km} \
            {ERR height or width cannot be negative} {fromlonlat 1 1 bybox 1 -1 km} \
            {ERR height or width cannot be negative} {fromlonlat 1 1 bybox -1 1 x} \
            $unit {fromlonlat 1 1 bybox 1 1 x} \
            {ERR value is not a valid float} {fromlonlat 1 y byradius 1 km} \
            {ERR invalid longitude,latitude pair 215.000000,1.000000} {fromlonlat 215 1 byradius 1 km} \
            {ERR member none does not exist} {frommember none byradius 1 km} \
            {ERR member none does not exist} {frommember none byradius x km} \
            {ERR need numeric radius} {fromlonlat 1 1 byradius 0x10 km} \
            {ERR COUNT must be > 0} {frommember Palermo byradius 1 km count 0} \
            {ERR COUNT must be > 0} {frommember Palermo byradius 1 km count -3} \
            {ERR value is not an integer or out of range} {frommember Palermo byradius 1 km count x} \
            {ERR the ANY argument requires COUNT argument} {frommember Palermo byradius 1 km any} \
            {ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GeoSearch} {byradius 1 km asc desc} \
            {ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for GeoSearch} {frommember Palermo asc asc asc} \
            {ERR syntax error} {frommember Palermo byradius 1 km count} \
            {ERR syntax error} {frommember Palermo byradius 1 km store d} \
            {ERR syntax error} {frommember Palermo byradius 1 km storedist} \
            {ERR syntax error} {frommember Palermo fromlonlat 1 1 byradius 1 km} \
            {ERR syntax error} {frommember Palermo byradius 1 km bybox 1 1 km} \
            {ERR syntax error} {fromlonlat 1 1 asc bybox 1 1} \
            $vertices {bypolygon x 1 1 2 2 3 3} \
            $vertices {bypolygon 2147483648 1 1 2 2 3 3} \
            $vertices {bypolygon 9223372036854775807 1 1 2 2 3 3} \
            $few {bypolygon 2 1 1 2 2 3 3} \
            $few {bypolygon -1 1 1 2 2 3 3} \
            $few {bypolygon 4 1 1 2 2 3 3} \
            $few {bypolygon 2147483647 1 1 2 2 3 3} \
            {ERR value is not a valid float} {bypolygon 3 1 1 2 x 3 3} \
            {ERR invalid longitude,latitude pair*} {bypolygon 3 1 1 2 99 3 3} \
            {ERR syntax error} {bypolygon 3 1 1 2 2 3 4 frommember Palermo} \
            {ERR syntax error} {fromlonlat 1 1 bypolygon 3 1 1 2 2 3 4} \
            {ERR syntax error} {bypolygon 3 1 1 2 2 3 4 byradius 1 km} \
        ] {
            assert_error $message { r GeoSearch s {*}$args } $args
        }
        foreach with {withdist withhash withcoord} {
            assert_error {ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options} {
                r geosearchstore d s frommember Palermo byradius 1 km $with
            }
            assert_error {ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options} {
                r georadius s 1 1 1 km $with store d
            }
        }
        # FROMMEMBER with a missing key: only the options are checked.
        assert_equal {} [r georadiusbymember nokey none x y]
        assert_error {ERR syntax error} { r georadiusbymember nokey none x y z }
        assert_error {ERR member none does not exist} { r georadiusbymember s none x y z }
        # The last of two polygons counts.
        assert_equal {} [r geosearch s bypolygon 3 0 30 30 30 15 45 bypolygon 3 1 1 2 2 3 4]
    }

    test {replies in both protocols} {
        r del s
        r geoadd s 13.361389 38.115556 Palermo
        set lon 13.36138933897018433
        set lat 38.11555639549629859
        assert_equal "*2 *2 \$20 $lon \$20 $lat *-1" [wire geopos s Palermo none]
        assert_equal {*2 $11 sqc8b49rny0 $-1} [wire geohash s Palermo none]
        assert_equal {$-1} [wire geodist s Palermo none]
        assert_equal "*1 *4 \$7 Palermo \$6 0.0000 :3479099956230698 *2 \$20 $lon \$20 $lat" \
            [wire geosearch s frommember Palermo byradius 1 km withcoord withdist withhash]
        r hello 3
        assert_equal "*2 *2 ,$lon ,$lat _" [wire geopos s Palermo none]
        assert_equal {*2 $11 sqc8b49rny0 _} [wire geohash s Palermo none]
        assert_equal {_} [wire geodist s Palermo none]
        assert_equal {$6 0.0000} [wire geodist s Palermo Palermo]
        assert_equal "*1 *4 \$7 Palermo \$6 0.0000 :3479099956230698 *2 ,$lon ,$lat" \
            [wire geosearch s frommember Palermo byradius 1 km withcoord withdist withhash]
        r hello 2
    }

    test {the keys that commands name} {
        assert_equal {g} [r command getkeys geosearch g fromlonlat 1 1 byradius 1 km]
        assert_equal {d g} [r command getkeys geosearchstore d g fromlonlat 1 1 byradius 1 km]
        assert_equal {g d} [r command getkeys georadius g 1 1 1 km store d]
        assert_equal {g d} [r command getkeys georadiusbymember g m 1 km storedist d]
    }
}
