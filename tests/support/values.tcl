# A key of every type and encoding, and what a key holds, for tests that compare before and after: source it where it is
# needed.
#
#   fill_all LEVEL         fills the current database of the server at that level (0: the inner one)
#   fill_paths LEVEL       adds path hashes, which no server before 9.2 knows
#   content LEVEL KEY      what the key holds, whatever its encoding
#   contents LEVEL         the same for all keys: a dict

# One key of each type and encoding; the numbers are those around the usual limits.
proc fill_all {level} {
    r $level set string:int 12345
    r $level set string:negative -70000
    r $level set string:wide 4611686018427387904
    r $level set string:short hello
    r $level set string:empty {}
    r $level set string:long [string repeat abcdefgh 10000]
    r $level set string:random [randstring 3000 5000]
    foreach n {1 3 100 3000} { r $level rpush list:$n {*}[elements $n] }
    r $level rpush list:plain [string repeat x 20000] y [string repeat z 9000] 7
    r $level config set list-compress-depth 1
    r $level rpush list:compressed {*}[lmap i [elements 3000] { string repeat $i 5 }]
    r $level config set list-compress-depth 0
    foreach n {1 512 513 2000} { r $level sadd set:integers:$n {*}[integers $n] }
    r $level sadd set:wide 1099511627776 -5 7
    foreach n {1 60 128 129 1000} { r $level sadd set:texts:$n {*}[lmap i [integers $n] { string cat m $i }] }
    r $level sadd set:long [string repeat a 300] b
    foreach n {1 2 10 128 129 512 513 2000} {
        r $level hset hash:$n {*}[concat {*}[lmap i [integers $n] { list f$i $i }]]
    }
    r $level hset hash:long f [string repeat v 500] [string repeat g 300] w
    foreach n {1 10 128 129 2000} {
        r $level zadd zset:$n {*}[concat {*}[lmap i [integers $n] { list [expr {$i % 5 ? $i / 3.0 : $i}] m$i }]]
    }
    r $level zadd zset:special inf a -inf b 1e300 c 0 d 3 [string repeat e 100]
    foreach n {1 300} {
        for {set i 1} {$i <= $n} {incr i} { r $level xadd stream:$n [expr {1000 + $i / 3}]-$i f $i g v$i }
    }
    r $level xdel stream:300 1002-8
    r $level xgroup create stream:300 g1 0
    r $level xreadgroup group g1 alice count 20 streams stream:300 >
    r $level xreadgroup group g1 bob count 5 streams stream:300 >
    r $level xgroup createconsumer stream:300 g1 carol
    r $level xack stream:300 g1 1000-1
    r $level xgroup create stream:300 g2 $
    r $level xadd stream:empty 5-5 a b
    r $level xdel stream:empty 5-5
    r $level xgroup create stream:new g $ mkstream
    # Entries that are pending and deleted or trimmed, and both with nothing left.
    foreach key {stream:deleted stream:trimmed stream:both stream:drained} {
        for {set i 1} {$i <= 12} {incr i} { r $level xadd $key 7-$i f $i }
        r $level xgroup create $key g 0
        r $level xreadgroup group g alice count 6 streams $key >
        r $level xreadgroup group g bob count 3 streams $key >
    }
    r $level xdel stream:deleted 7-3 7-8
    r $level xtrim stream:trimmed maxlen 5
    r $level xtrim stream:both maxlen 10
    r $level xdel stream:both 7-5
    r $level xtrim stream:drained maxlen 0
    r $level pfadd hyperloglog {*}[integers 100]
}

proc fill_paths {level} {
    r $level phset paths:one a/b FIELDS 1 f v
    r $level phset paths:empty {} FIELDS 1 {} {}
    r $level phdel paths:empty {}
    r $level phmset paths:binary {} FIELDS 1 {} {} "\x00" FIELDS 2 f "\xff\x00" {} 17 "\x00\xff" FIELDS 1 f 1
    foreach n {1 10 513} {
        r $level phset paths:payloads $n FIELDS $n {*}[concat {*}[lmap i [integers $n] { list f$i $i }]]
    }
    r $level phset paths:payloads/long long FIELDS 2 f [string repeat v 500] [string repeat g 300] w
    r $level phset paths:deep [string repeat abcdefgh 5000] FIELDS 1 f v
    r $level phset paths:deep [string repeat abcdefgh 2000] FIELDS 1 f v
    foreach i [integers 1000] { r $level phset paths:many block:[expr {$i % 7}]/[expr {$i % 31}]/$i FIELDS 2 node n$i at $i }
}

proc integers {n} {
    for {set i 0} {$i < $n} {incr i} { lappend all [expr {$i * 7 - 300}] }
    return $all
}
proc elements {n} { return [lmap i [integers $n] { expr {$i % 3 ? "e$i" : $i} }] }

# The value of a key for a comparison: independent of its encoding, and of the order where there is none.
proc content {level key} {
    switch [r $level type $key] {
        string { return [r $level get $key] }
        list { return [r $level lrange $key 0 -1] }
        set { return [lsort [r $level smembers $key]] }
        hash { return [lsort -stride 2 [r $level hgetall $key]] }
        zset { return [lmap {member score} [r $level zrange $key 0 -1 withscores] { list $member [expr {double($score)}] }] }
        pathhash {
            return [lmap item [lindex [r $level phscan $key 0 count 1000000 withvalues] 1] {
                list [lindex $item 0] [lsort -stride 2 [lindex $item 1]]
            }]
        }
        stream { return [list [r $level xrange $key - +] [stream_facts $level $key]] }
        default { return none }
    }
}

# Without what depends on the server's encoding or version.
proc stream_facts {level key} {
    set facts [r $level xinfo stream $key full count 0]
    dict unset facts radix-tree-keys
    dict unset facts radix-tree-nodes
    dict set facts groups [lmap group [dict get $facts groups] {
        dict set group consumers [lmap consumer [dict get $group consumers] { dict remove $consumer active-time }]
    }]
    return $facts
}

proc contents {level} {
    set all {}
    foreach key [lsort [r $level keys *]] { dict set all $key [content $level $key] }
    return $all
}
