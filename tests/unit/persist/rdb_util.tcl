# Helpers that the tests of RDB files share: data of every type and encoding, files as bytes, the check tool.
source [file join [file dirname [info script]] .. server server_util.tcl]
source [file join $::support dataset.tcl]
source [file join $::support dump.tcl]

# Makes keys of every type and encoding in databases 0 and 3; types that need version 80 only with `expiring`.
proc fill_every_type {c {expiring 0}} {
    $c flushall
    $c set str:short hello
    $c set str:empty {}
    foreach n {0 -1 127 -128 32767 -32768 2147483647 -2147483648 9223372036854775807 12345678901} { $c set int:$n $n }
    $c set str:zeros 007
    $c set str:compressible [string repeat abcdefgh 100]
    $c set str:binary [binary format H* 00ff0d0a00deadbeef]
    $c set str:long [string repeat x 70000]
    $c set [string repeat longkey 100] value
    $c pfadd hll {*}[lrange [split abcdefghijklmnopqrstuvwxyz {}] 0 end]
    $c rpush list:small a 1 2 [string repeat z 100]
    for {set i 0} {$i < 600} {incr i} { lappend items item:$i }
    $c rpush list:big {*}$items
    $c rpush list:plain [string repeat p 20000] small [string repeat q 20000]
    $c sadd set:int 1 2 3 -70000 5000000000
    $c sadd set:small a b c 1
    $c sadd set:big {*}$items
    $c hset hash:tiny a b
    $c hset hash:small field [string repeat v 60] other 17
    foreach item $items { lappend pairs $item value-of-$item }
    $c hset hash:big {*}$pairs
    $c zadd zset:small 1 a 2.5 b -inf c inf d 1e300 e
    for {set i 0} {$i < 300} {incr i} { lappend scored [expr {$i * 1.1}] member:$i }
    $c zadd zset:big {*}$scored
    $c geoadd geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
    for {set i 1} {$i <= 150} {incr i} { $c xadd stream $i-0 field value:$i }
    $c xdel stream 7-0
    $c xgroup create stream group 0
    $c xgroup create stream empty \$
    $c xreadgroup group group alice count 5 streams stream >
    $c xreadgroup group group bob count 3 streams stream >
    $c xreadgroup group group alice count 2 streams stream 0
    $c xack stream group 2-0
    $c xsetid stream 200-5 entriesadded 170
    $c set volatile:string v px 10000000
    $c zadd volatile:zset 1 a
    $c expire volatile:zset 100000
    $c select 3
    $c set elsewhere 1
    $c hset hash a 1 b 2
    if {$expiring} {
        $c hset hash:expiring a 1 b 2 c 3
        $c hpexpire hash:expiring 10000000 fields 2 a b
    }
    $c select 0
}

proc digest {{level 0}} { return [r $level debug digest] }

proc write_bytes {path bytes} {
    set f [open $path wb]
    puts -nonewline $f $bytes
    close $f
}

proc with_byte {bytes at value} {
    return [string replace $bytes $at $at [binary format c $value]]
}

# An RDB file of these bytes between magic and end, with its checksum.
proc rdb_file {magic body} {
    set bytes $magic$body\xff
    return $bytes[binary format w [crc64 $bytes]]
}

proc check_rdb {args} { return [other_face valkey-check-rdb {*}$args] }

proc wait_for_save {{level 0}} {
    wait_for_condition 600 20 {[s $level rdb_bgsave_in_progress] == 0} else { fail "the background save does not end" }
}

# The value of a key as clients see it, in an order that does not depend on the server.
proc readable {level key} {
    switch [r $level type $key] {
        string { return [r $level get $key] }
        list { return [r $level lrange $key 0 -1] }
        set { return [lsort [r $level smembers $key]] }
        zset { return [lmap {member score} [r $level zrange $key 0 -1 withscores] { list $member [expr {double($score)}] }] }
        hash {
            set pairs {}
            foreach {f v} [r $level hgetall $key] { lappend pairs [list $f $v] }
            return [lsort $pairs]
        }
        stream {
            interp alias {} server_here {} r $level
            return [list [r $level xrange $key - +] [dataset_more server_here stream $key]]
        }
    }
}

# Makes a file of version 11 claim version 10. Its checksum is off then (0: none was kept), which every version
# accepts.
proc with_version_10 {bytes} {
    return REDIS0010[string range $bytes 9 end-8][binary format w 0]
}
