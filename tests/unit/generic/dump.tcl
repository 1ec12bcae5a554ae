# DUMP and RESTORE: the command, every type and encoding, payloads of other servers, and invalid payloads.
source [file join [file dirname [info script]] .. .. support dump.tcl]
source [file join [file dirname [info script]] .. .. support values.tcl]

# ---- The commands ----

start_server {tags {dump} overrides {enable-debug-command yes}} {
    test {DUMP and RESTORE: a value is restored under any name} {
        r set a hello
        set payload [r dump a]
        assert_equal [dump_seal [binary format c 0][dump_string hello] 11] $payload
        assert_equal OK [r restore b 0 $payload]
        assert_equal hello [r get b]
        assert_equal -1 [r ttl b]
        assert_equal {} [r dump none]
    }

    test {RESTORE: BUSYKEY when the key exists, unless REPLACE} {
        r set a one
        set payload [r dump a]
        r set b two
        assert_error "BUSYKEY Target key name already exists." { r restore b 0 $payload }
        assert_error "BUSYKEY*" { r restore b nonsense bad }
        assert_equal OK [r restore b 0 $payload replace]
        assert_equal one [r get b]
        r del list
        r rpush list x
        r pexpire list 100000
        assert_equal OK [r restore list 0 $payload REPLACE]
        assert_equal {string -1} [list [r type list] [r ttl list]]
    }

    test {RESTORE: errors of arguments, in their order} {
        r del b
        r set a one
        set payload [r dump a]
        assert_error "ERR syntax error" { r restore a x bad replace nonsense }
        assert_error "ERR syntax error" { r restore b 0 $payload idletime }
        assert_error "ERR value is not an integer or out of range" { r restore b 0 $payload idletime x }
        assert_error "ERR Invalid IDLETIME value, must be >= 0" { r restore b 0 $payload idletime -1 }
        assert_error "ERR value is not an integer or out of range" { r restore b 0 $payload freq x }
        assert_error "ERR Invalid FREQ value, must be >= 0 and <= 255" { r restore b 0 $payload freq 256 }
        assert_error "ERR Invalid FREQ value, must be >= 0 and <= 255" { r restore b 0 $payload freq -1 }
        assert_error "ERR syntax error" { r restore b 0 $payload freq 1 idletime 1 }
        assert_error "ERR syntax error" { r restore b 0 $payload idletime 1 freq 1 }
        assert_error "ERR value is not an integer or out of range" { r restore b x bad }
        assert_error "ERR Invalid TTL value, must be >= 0" { r restore b -1 bad }
        assert_error "ERR DUMP payload version or checksum are wrong" { r restore b 0 bad }
        assert_error "ERR wrong number of arguments for 'restore' command" { r restore b 0 }
        assert_equal 0 [r exists b]
    }

    test {RESTORE: version and checksum} {
        set body [binary format c 0][dump_string x]
        r del b
        foreach version {1 9 10 11 12 13 80 81} { assert_equal OK [r restore b 0 [dump_seal $body $version] replace] }
        foreach version {0 14 79 82 65535} {
            assert_error "ERR DUMP payload version or checksum are wrong" { r restore b 0 [dump_seal $body $version] replace }
        }
        config_set rdb-version-check relaxed
        assert_equal OK [r restore b 0 [dump_seal $body 14] replace]
        config_set rdb-version-check strict
        set payload [dump_seal $body]
        for {set i 0} {$i < [string length $payload]} {incr i} {
            binary scan [string index $payload $i] cu code
            set damaged [string replace $payload $i $i [binary format c [expr {$code ^ 4}]]]
            assert_error "ERR DUMP payload version or checksum are wrong" { r restore b 0 $damaged replace }
        }
        assert_equal x [r get b]
    }

    test {DUMP: the version follows rdb-compatible-version where that can hold the value} {
        r del s members plain fields paths
        r set s x
        r sadd members a b
        r hset fields a 1 b 2
        r hpexpireat fields 4102444800000 fields 1 a
        r phset paths a FIELDS 1 f v
        # Each with the versions of the string, the set, the hash and the path hash, and the types of the set and the hash.
        foreach {version versions types} {
            0 {11 11 80 81} {20 22}     10 {10 10 80 81} {2 22}     11 {11 11 80 81} {20 22}
            12 {11 11 12 81} {20 24}    13 {11 11 12 81} {20 24}    80 {11 11 80 81} {20 22}    81 {11 11 80 81} {20 22}
        } {
            config_set rdb-compatible-version $version
            set seen {}
            foreach key {s members fields paths} {
                set payload [r dump $key]
                binary scan [string range $payload end-9 end-8] su found
                lappend seen $found
                assert_equal OK [r restore copy 0 $payload replace]
                assert_equal [r debug digest-value $key] [r debug digest-value copy]
            }
            assert_equal $versions $seen
            assert_equal $types [lmap key {members fields} { scan [string index [r dump $key] 0] %c }]
        }
        config_set rdb-compatible-version 0
        r del s members fields paths copy
    }

    test {RESTORE: time to live, relative and absolute} {
        r set a one
        set payload [r dump a]
        r del b
        r restore b 5000000 $payload
        assert_range [r pttl b] 4000000 5000000
        r restore b 4102444800123 $payload replace absttl
        assert_equal 4102444800123 [r pexpiretime b]
        # It has expired already: the key that it would have replaced is deleted too.
        assert_equal OK [r restore b 1 $payload absttl replace]
        assert_equal 0 [r exists b]
        assert_equal OK [r restore b 1 $payload absttl]
        assert_equal 0 [r exists b]
        assert_error "ERR Bad data format" { r restore b 1 [dump_seal "\x02\x00"] absttl }
    }

    test {RESTORE: how long ago, or how often, the key was used} {
        r set a one
        set payload [r dump a]
        r restore b 0 $payload replace idletime 1000
        assert_range [r object idletime b] 1000 1100
        config_set maxmemory-policy allkeys-lfu
        r restore b 0 $payload replace freq 100
        assert_equal 100 [r object freq b]
        config_set maxmemory-policy noeviction
    }

    test {RESTORE: events, and WATCH} {
        r set a one
        set payload [r dump a]
        config_set notify-keyspace-events KEA
        set c [valkey_client]
        $c psubscribe __keyevent@*__:*
        r restore b 0 $payload replace
        assert_equal [list pmessage __keyevent@*__:* __keyevent@0__:restore b] [$c read]
        r restore b 1 $payload absttl replace
        assert_equal [list pmessage __keyevent@*__:* __keyevent@0__:del b] [$c read]
        $c close
        config_set notify-keyspace-events {}
        r watch b
        set d [valkey_client]
        $d restore b 0 $payload
        $d close
        r multi
        r ping
        assert_equal {} [r exec]
    }

    test {RESTORE wakes a client that waits for the key} {
        r del list other
        r rpush list x
        set payload [r dump list]
        set c [valkey_deferring_client]
        $c blpop other 0
        wait_for_condition 100 100 {[s blocked_clients] == 1} else { fail "nobody waits" }
        r restore other 0 $payload
        assert_equal {other x} [$c read]
        $c close
    }

    test {RESTORE: bytes behind the value are nobody's business, missing ones are an error} {
        r restore b 0 [dump_seal "\x00\x01ab"] replace
        assert_equal a [r get b]
        foreach {body reason} [list {} {} "\x00" {} "\x00\x02a" {} "\x02\x00" {} "\x63\x01a" ": unknown type of value: 99" \
                                   "\x06\x01" ": values of modules in the format of a pre-release version cannot be read" \
                                   "\x07\x01" ": there is a value of the module type 'AAAAAAAAA', but no loaded module provides that type"] {
            assert_error "ERR Bad data format$reason" { r restore b 0 [dump_seal $body] replace }
        }
        assert_equal a [r get b]
    }

    test {sanitize-dump-payload: harmless faults are looked for only where the directive says so} {
        r del s
        r xadd s 1-1 f v
        r xadd s 1-2 f v
        config_set rdbcompression no
        set body [dump_body [r dump s]]
        config_set rdbcompression yes
        # The second entry's sequence, relative to the first: 1; now it is before it.
        set at [string last "\x00\x01\x01\x01" $body]
        set disorder [dump_seal [string replace $body [expr {$at + 2}] [expr {$at + 2}] "\x00"] 11]
        assert_not_equal [r dump s] $disorder
        foreach {mode refused} {no 0 yes 1 clients 1} {
            config_set sanitize-dump-payload $mode
            assert_equal $refused [catch { r restore s 0 $disorder replace } error] "$mode: $error"
        }
        config_set sanitize-dump-payload no
    }

    # ---- Every type and encoding ----

    foreach index {skiplist btree} {
        test "DUMP and RESTORE: every type and encoding, zset-index $index" {
            config_set zset-index $index
            r flushall
            fill_all 0
            r hset hash:expiring a 1 b 2 c 3
            r hpexpireat hash:expiring 4102444800123 FIELDS 2 a b
            foreach key [lsort [r keys *]] {
                set before [list [r debug digest-value $key] [r object encoding $key] [content 0 $key]]
                set payload [r dump $key]
                r del $key
                assert_equal OK [r restore $key 0 $payload] $key
                assert_equal $before [list [r debug digest-value $key] [r object encoding $key] [content 0 $key]] $key
            }
            assert_equal {4102444800123 4102444800123 -1} [r hpexpiretime hash:expiring FIELDS 3 a b c]
        }
    }

    test {RESTORE: random values are restored as equal} {
        for {set i 0} {$i < 60} {incr i} {
            r del k
            set n [randomElement {1 2 20 127 128 129 130 511 512 513 700}]
            set width [randomElement {3 20 63 64 65 200}]
            set items [lmap x [lrepeat $n x] { randstring 1 $width [randomElement {alpha binary}] }]
            switch [randomInt 4] {
                0 { r rpush k {*}$items }
                1 { r sadd k {*}$items }
                2 { r hset k {*}[concat {*}[lmap item $items { list $item [randomInt 100000] }]] }
                3 { r zadd k {*}[concat {*}[lmap item $items { list [expr {rand() < 0.5 ? [randomInt 50] : rand()}] $item }]] }
            }
            config_set zset-index [randomElement {skiplist btree}]
            config_set rdbcompression [randomElement {yes no}]
            set digest [r debug digest-value k]
            r restore copy 0 [r dump k] replace
            assert_equal $digest [r debug digest-value copy]
        }
        config_set rdbcompression yes
        config_set zset-index skiplist
    }

    test {RESTORE: the current limits decide the encoding} {
        r del k
        r sadd k a b c
        set payload [r dump k]
        config_set set-max-listpack-entries 2
        r restore k 0 $payload replace
        assert_encoding hashtable k
        config_set set-max-listpack-entries 128
        r del k
        r zadd k 1 a 2 b 3 c
        set payload [r dump k]
        config_set zset-max-listpack-entries 2
        config_set zset-index btree
        r restore k 0 $payload replace
        assert_encoding btree k
        config_set zset-index skiplist
        r restore k 0 $payload replace
        assert_encoding skiplist k
        set large [r dump k]
        config_set zset-max-listpack-entries 128
        r restore k 0 $large replace
        assert_encoding listpack k
        assert_equal {a 1 b 2 c 3} [r zrange k 0 -1 withscores]
    }

    test {RESTORE: expired fields of a hash are restored, are not visible, and are deleted} {
        r debug set-active-expire 0
        r del h
        r hset h a 1 b 2
        r hpexpire h 100000 FIELDS 1 a
        set body [dump_body [r dump h]]
        binary scan $body cu type
        assert_equal 22 $type
        set at [binary format w [lindex [r hpexpiretime h FIELDS 1 a] 0]]
        set past [string map [list $at [binary format w 1000]] $body]
        assert_not_equal $body $past
        assert_equal OK [r restore h 0 [dump_seal $past 80] replace]
        assert_equal {b 2} [r hgetall h]
        assert_equal 2 [r hlen h]
        # All of them: the key is there until they are deleted.
        r del h
        r hset h a 1
        r hpexpire h 100000 FIELDS 1 a
        set at [binary format w [lindex [r hpexpiretime h FIELDS 1 a] 0]]
        set all_past [string map [list $at [binary format w 1000]] [dump_body [r dump h]]]
        assert_equal OK [r restore gone 0 [dump_seal $all_past 80]]
        assert_equal {1 {}} [list [r exists gone] [r hgetall gone]]
        r debug set-active-expire 1
        wait_for_condition 100 20 {[r exists gone] == 0} else { fail "a hash of nothing but expired fields" }
        assert_equal OK [r restore h 0 [dump_seal $past 80] replace]
        wait_for_condition 100 20 {[r hlen h] == 1} else { fail "an expired field" }
    }

    test {RESTORE: an empty element has no node of its own} {
        assert_error "ERR Bad data format" {r restore emptynode 0 [dump_seal \x12\x01\x01\x00 11]}
    }

    # ---- What older servers wrote ----

    test {RESTORE: encodings of older servers are accepted} {
        proc ziplist {elements} {
            set entries {}
            set before 0
            set last 10
            foreach element $elements {
                set last [expr {10 + [string length $entries]}]
                if {[string is integer -strict $element] && $element >= -32768 && $element < 32768} {
                    set entry [binary format cs 0xc0 $element]
                } else {
                    set entry [binary format ca* [string length $element] $element]
                }
                set entry [binary format c $before]$entry
                set before [string length $entry]
                append entries $entry
            }
            set bytes [expr {11 + [string length $entries]}]
            return [dump_string [binary format iis $bytes $last [llength $elements]]$entries\xff]
        }
        proc old {type body} {
            r restore k 0 [dump_seal [binary format c $type]$body 6] replace
            return [content 0 k]
        }
        set abc [ziplist {a 1 b -300 c 70}]
        assert_equal {a 1 b} [old 1 "\x03[dump_string a][dump_string 1][dump_string b]"]
        assert_equal {1 a} [old 2 "\x02[dump_string a][dump_string 1]"]
        assert_equal {{b -Inf} {a 1.5} {c Inf}} [old 3 "\x03[dump_string a][dump_string 1.5][dump_string b]\xff[dump_string c]\xfe"]
        assert_equal {a 1 b 2} [old 9 [dump_string "\x02\x01a\x01\x001\x01b\x01\x022..\xff"]]
        assert_equal {a 1 b -300 c 70} [old 10 $abc]
        assert_equal {-5 7} [old 11 [dump_string [binary format iiss 2 2 -5 7]]]
        assert_equal {{b -300.0} {a 1.0} {c 70.0}} [old 12 [ziplist {b -300 a 1 c 70}]]
        assert_equal {a 1 b -300 c 70} [old 13 $abc]
        assert_encoding listpack k
        assert_equal {a 1 b -300 c 70 x y} [old 14 "\x03$abc[ziplist {}][ziplist {x y}]"]
    }

    # ---- Invalid payloads ----

    # CI has little time; types/rdb_hooks_test.c does this at length, and a fuzzer for as long as one likes.
    test {RESTORE: damaged values do no harm} {
        r flushall
        fill_all 0
        config_set rdbcompression no
        foreach deep {no yes} {
            config_set sanitize-dump-payload $deep
            foreach key {string:short list:3 set:integers:1 set:texts:60 set:wide hash:10 hash:long zset:10 zset:special stream:1 stream:empty} {
                set body [dump_body [r dump $key]]
                for {set i 0} {$i < 25} {incr i} {
                    set at [randomInt [string length $body]]
                    set damaged [string replace $body $at $at [binary format c [randomInt 256]]]
                    if {[catch { r restore damaged 0 [dump_seal $damaged] replace } error]} {
                        assert_match "ERR Bad data format*" $error
                    } else {
                        r debug digest-value damaged
                        r copy damaged other replace
                        r del damaged
                    }
                }
                set cut [string range $body 0 [randomInt [expr {[string length $body] - 1}]]]
                assert_error "ERR Bad data format" { r restore damaged 0 [dump_seal $cut] replace }
            }
        }
        config_set rdbcompression yes
        config_set sanitize-dump-payload no
        assert_equal PONG [r ping]
    }
}

# ---- Other servers ----

# A body as 7.0 reads it: it knows neither the types of 7.2 nor their versions.
proc for_oracle {key payload} {
    set body [dump_body $payload]
    binary scan $body cu type
    if {$type == 20 || $type == 21} { return {} }
    return [dump_seal $body 10]
}

start_server {tags {dump external:skip}} {
    if {[oracle] eq {}} {
        test {DUMP of Redis 7.0} { skip "no redis-server here" }
    } else {
        start_server [list executable [oracle]] {
            test {RESTORE accepts what Redis 7.0 dumps} {
                fill_all 0
                set keys [lsort [r keys *]]
                foreach key $keys {
                    assert_equal OK [r -1 restore $key 0 [r dump $key]] $key
                    assert_equal [content 0 $key] [content -1 $key] $key
                }
                assert_equal [llength $keys] [r -1 dbsize]
            }

            test {Redis 7.0 restores what DUMP returns} {
                r flushall
                r -1 flushall
                fill_all -1
                set count 0
                foreach key [lsort [r -1 keys *]] {
                    set payload [for_oracle $key [r -1 dump $key]]
                    if {$payload eq {}} continue
                    assert_equal OK [r restore $key 0 $payload] $key
                    assert_equal [content -1 $key] [content 0 $key] $key
                    incr count
                }
                assert_morethan $count 30
            }
        }
    }
}
