# Path hashes (9.2 §1): every command in both protocols, errors, events, propagation, and what works on any type.

source [file join [file dirname [info script]] .. persist aof_util.tcl]

# Runs the script and returns the events that it causes, each as {event key}.
proc path_events {script} {
    set listener [valkey_client]
    $listener hello 3
    $listener psubscribe __keyevent*
    uplevel 1 $script
    $listener deferred 1
    $listener echo the-end
    set events {}
    while {[set message [$listener read]] ne "the-end"} {
        lappend events [list [lindex [split [lindex $message 2] :] end] [lindex $message 3]]
    }
    $listener close
    return $events
}

# What the script adds to the number of changes.
proc path_dirty {script} {
    set before [s rdb_changes_since_last_save]
    uplevel 1 $script
    return [expr {[s rdb_changes_since_last_save] - $before}]
}

# All paths with their fields, as {path {field value ...} ...}, read in pages.
proc path_all {key {page 3}} {
    set cursor 0
    set all {}
    while 1 {
        lassign [r phscan $key $cursor count $page withvalues] cursor items
        foreach item $items { lappend all [lindex $item 0] [lsort -stride 2 [lindex $item 1]] }
        if {$cursor eq "0"} { return $all }
    }
}

# The reply to a command, with the type of each element: see wire.
proc assert_wire {expected args} { assert_equal [string trimright $expected] [wire {*}$args] $args }

proc path_lazyfreed {script} {
    r config resetstat
    uplevel 1 $script
    wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
    return [s lazyfreed_objects]
}

set range_error "ERR value is out of range*"
set integer_error "ERR value is not an integer or out of range"
set syntax_error "ERR syntax error"
set type_error "WRONGTYPE Operation against a key holding the wrong kind of value"

start_server {tags {pathhash} overrides {save {}}} {
    test {type, encoding, SCAN TYPE and category of a path hash} {
        r set other 1
        assert_equal OK [r phset k a/b FIELDS 1 f 1]
        assert_type pathhash k
        assert_encoding pathhash k
        assert_match {* encoding:pathhash *} [r debug object k]
        assert_equal {0 k} [r scan 0 type pathhash]
        assert_equal {0 k} [r scan 0 TYPE PathHash]
        assert_error {ERR unknown type name 'radix'} { r scan 0 type radix }
        assert_equal {phcard phdel phdelprefix phexists phget phgetall phlongest phmget phmset phprefixes phscan phset} \
            [lsort [r acl cat pathhash]]
        foreach unknown {radix path-hash} { assert_error "ERR Unknown category '$unknown'" { r acl cat $unknown } }
        assert_equal {@pathhash} [lsearch -inline [lindex [r command info phset] 0 6] @pathhash]
        assert_equal pathhash [dict get [r command docs phset] phset group]
        assert_equal 9.2.0 [dict get [r command docs phset] phset since]
    }

    foreach resp {2 3} {
        r hello $resp
        r flushall

        test "PHSET and PHGET: fields of a path, RESP$resp" {
            assert_wire {+OK } phset k p FIELDS 2 f 1 g 2
            assert_wire {*2 $1 1 $1 2 } phget k p f g
            assert_wire {*1 $1 1 } phget k p f
            set null [expr {$resp == 3 ? "_" : {$-1}}]
            assert_wire "*2 \$1 1 $null " phget k p f none
            assert_wire "*1 $null " phget k none f
            assert_wire "*2 $null $null " phget none p f g
            assert_equal OK [r phset k p FIELDS 3 f 1 f 2 h 3]
            assert_equal {2 2 3} [r phget k p f g h] "the last one wins"
            assert_equal OK [r phset k p fields 1 f {}]
            assert_wire {*1 $0  } phget k p f
        }

        test "PHSET FNX and FXX: all or nothing, RESP$resp" {
            r flushall
            set null [expr {$resp == 3 ? "_ " : {$-1 }}]
            assert_wire $null phset k p FXX FIELDS 1 f 1
            assert_equal 0 [r exists k] "the key is not created"
            assert_wire {+OK } phset k p FNX FIELDS 2 f 1 g 1
            assert_wire $null phset k p FNX FIELDS 2 f 2 new 2
            assert_equal {f 1 g 1} [lsort -stride 2 [r phgetall k p]]
            assert_wire $null phset k p FXX FIELDS 2 f 2 new 2
            assert_wire $null phset k q fxx FIELDS 1 f 2
            assert_equal {f 1 g 1} [lsort -stride 2 [r phgetall k p]]
            assert_wire {+OK } phset k p fxx FIELDS 2 f 2 g 3
            assert_wire {+OK } phset k q fnx FIELDS 2 f 5 f 6
            assert_equal {2 3 6} [concat [r phget k p f g] [r phget k q f]]
        }

        test "PHMSET and PHMGET: several paths, RESP$resp" {
            r flushall
            assert_wire {+OK } phmset k a FIELDS 1 f 1 b FIELDS 2 f 2 g 3 a FIELDS 1 f 4
            set null [expr {$resp == 3 ? "_" : {$-1}}]
            assert_wire "*5 \$1 4 $null \$1 3 \$1 2 $null " phmget k a FIELDS 2 f g b FIELDS 2 g f none FIELDS 1 f
            assert_wire "*2 $null $null " phmget none a FIELDS 1 f b FIELDS 1 f
        }

        test "PHGETALL, PHEXISTS, PHCARD, RESP$resp" {
            r flushall
            r phset k a/b FIELDS 1 f 1
            set map [expr {$resp == 3 ? "%1" : "*2"}]
            set none [expr {$resp == 3 ? "%0 " : "*0 "}]
            assert_wire "$map \$1 f \$1 1 " phgetall k a/b
            foreach {key path} {k a k a/b/ none a/b} { assert_wire $none phgetall $key $path }
            assert_equal {1 0 0 0} [list [r phexists k a/b] [r phexists k a] [r phexists k a/b/] [r phexists none a]]
            assert_equal {1 0} [list [r phcard k] [r phcard none]]
        }

        test "PHDEL: fields, paths, and what is left, RESP$resp" {
            r flushall
            r phset k a FIELDS 3 f 1 g 2 h 3
            assert_wire {:2 } phdel k a f f none g
            assert_equal {h 3} [r phgetall k a]
            assert_equal 0 [r phdel k a f]
            assert_equal 1 [r phdel k a h]
            assert_equal {0 0 1} [list [r phexists k a] [r phcard k] [r exists k]] "the key stays"
            r phset k a/b FIELDS 2 f 1 g 2
            assert_equal 0 [r phdel k a]
            assert_equal 1 [r phdel k a/b]
            assert_equal 0 [r phdel k a/b]
            assert_equal {0 0} [list [r phdel none a] [r phdel none a f]]
            assert_equal {0 1} [list [r exists none] [r exists k]]
        }

        test "PHLONGEST: the longest stored prefix, RESP$resp" {
            r flushall
            set null [expr {$resp == 3 ? "_ " : {$-1 }}]
            foreach choice {{} LENGTH WITHVALUES {LENGTH FIELDS 1 f}} {
                assert_wire $null phlongest none abc {*}$choice
            }
            r phmset k a FIELDS 1 f 1 abc FIELDS 2 f 2 g 3
            foreach choice {{} LENGTH WITHVALUES {LENGTH FIELDS 1 f}} {
                assert_wire $null phlongest k xabc {*}$choice
            }
            assert_wire {$1 a } phlongest k ab
            assert_wire {$3 abc } phlongest k abc
            assert_wire {$3 abc } phlongest k abcd
            assert_wire {:3 } phlongest k abcd LENGTH
            set map [expr {$resp == 3 ? "%1" : "*2"}]
            assert_wire "*2 \$1 a $map \$1 f \$1 1 " phlongest k ab WITHVALUES
            assert_wire "*2 :1 $map \$1 f \$1 1 " phlongest k ab withvalues length
            set no [expr {$resp == 3 ? "_" : {$-1}}]
            assert_wire "*2 \$1 a *3 $no \$1 1 $no " phlongest k ab FIELDS 3 g f length
            assert_wire "*2 :3 *1 \$1 3 " phlongest k abc FIELDS 1 g LENGTH
            r phset k {} FIELDS 1 f 0
            assert_wire {$0  } phlongest k xabc
            assert_wire {:0 } phlongest k {} LENGTH
        }

        test "PHPREFIXES: all stored prefixes, the shortest first, RESP$resp" {
            r flushall
            assert_wire {*0 } phprefixes none abc
            r phmset k a FIELDS 1 f 1 ab FIELDS 1 f 2 abcd FIELDS 1 g 3 x FIELDS 1 f 4
            assert_wire {*0 } phprefixes k b
            assert_wire {*3 $1 a $2 ab $4 abcd } phprefixes k abcde
            assert_wire {*2 $1 a $2 ab } phprefixes k abc
            assert_wire {*3 :1 :2 :4 } phprefixes k abcde LENGTHS
            assert_wire {*2 $2 ab $4 abcd } phprefixes k abcde COUNT 2
            assert_wire {*2 $1 a $2 ab } phprefixes k abcde MAXPATHLEN 3
            assert_wire {*1 $2 ab } phprefixes k abcde maxpathlen 2 count 1
            assert_wire {*0 } phprefixes k abcde MAXPATHLEN 0
            set no [expr {$resp == 3 ? "_" : {$-1}}]
            assert_wire "*2 *2 :1 *1 \$1 1 *2 :2 *1 \$1 2 " phprefixes k abc FIELDS 1 f LENGTHS
            assert_wire "*1 *2 \$4 abcd *1 $no " phprefixes k abcd COUNT 1 FIELDS 1 f
            set map [expr {$resp == 3 ? "%1" : "*2"}]
            assert_wire "*1 *2 \$1 a $map \$1 f \$1 1 " phprefixes k a WITHVALUES COUNT 9223372036854775807
            r phset k {} FIELDS 1 f 0
            assert_wire {*2 $0  $1 a } phprefixes k a
            assert_wire {*1 :0 } phprefixes k abc MAXPATHLEN 0 LENGTHS
        }

        test "PHPREFIXES: many prefixes of one query, RESP$resp" {
            r flushall
            set query {}
            for {set i 1} {$i <= 200} {incr i} {
                append query x
                r phset k $query FIELDS 1 f $i
                lappend all $i
            }
            assert_equal $all [r phprefixes k ${query}y LENGTHS]
            assert_equal [lrange $all end-99 end] [r phprefixes k $query COUNT 100 LENGTHS]
            assert_equal [lrange $all 0 49] [r phprefixes k $query MAXPATHLEN 50 LENGTHS]
            unset all
        }

        test "PHDELPREFIX: removes paths below a prefix, the key stays, RESP$resp" {
            r flushall
            assert_wire {:0 } phdelprefix none a
            r phmset k a FIELDS 1 f 1 a/b FIELDS 1 f 1 a/c FIELDS 1 f 1 b FIELDS 1 f 1 {} FIELDS 1 f 1
            assert_wire {:0 } phdelprefix k c
            assert_wire {:2 } phdelprefix k a/
            assert_equal {{} a b} [lindex [r phscan k 0] 1]
            assert_wire {:3 } phdelprefix k {}
            assert_wire {:0 } phdelprefix k {}
            assert_equal {0 1 0} [list [r phcard k] [r exists k] [r exists none]]
            assert_wire {*2 $1 0 *0 } phscan k 0
        }

        test "PHSCAN: byte order, pages, cursors, prefixes, RESP$resp" {
            r flushall
            assert_wire {*2 $1 0 *0 } phscan none 0
            assert_wire {*2 $1 0 *0 } phscan none 1:61
            r phmset k b FIELDS 1 f 1 a FIELDS 1 f 2 "\xff" FIELDS 1 f 3 {} FIELDS 1 f 4 aa FIELDS 1 f 5
            assert_equal [list 0 [list {} a aa b "\xff"]] [r phscan k 0]
            assert_wire {*2 $2 1: *1 $0  } phscan k 0 COUNT 1
            assert_wire {*2 $4 1:61 *1 $1 a } phscan k 1: COUNT 1
            assert_wire {*2 $4 1:62 *2 $2 aa $1 b } phscan k 1:61 COUNT 2
            assert_equal [list 0 [list "\xff"]] [r phscan k 1:62 COUNT 1] "no further call is needed to see the end"
            assert_equal {0 {}} [r phscan k 1:FF] "upper case is accepted"
            r phset k "\xff\x0a" FIELDS 1 f 6
            assert_equal [list 1:ff [list "\xff"]] [r phscan k 1:6262 COUNT 1] "the path in a cursor may be gone"
            assert_equal [list 0 [list "\xff\x0a"]] [r phscan k 1:ff]
            assert_equal {1:61 a} [r phscan k 0 PREFIX a COUNT 1]
            assert_equal {0 aa} [r phscan k 1:61 COUNT 1 PREFIX a]
            assert_equal {0 {}} [r phscan k 0 PREFIX x]
            set map [expr {$resp == 3 ? "%1" : "*2"}]
            assert_wire "*2 \$4 1:61 *1 *2 \$1 a $map \$1 f \$1 2 " phscan k 0 WITHVALUES prefix a count 1
            for {set i 0} {$i < 12} {incr i} { r phset many p$i FIELDS 1 f 1 }
            assert_equal 10 [llength [lindex [r phscan many 0] 1]]
            assert_equal 0 [lindex [r phscan many [lindex [r phscan many 0] 0]] 0]
        }
        r hello 2
    }

    test {paths and fields are binary-safe, of any length} {
        r flushall
        set byte "\x00\x01\xff\r\n"
        r phmset k $byte FIELDS 2 $byte $byte {} {} ${byte}$byte FIELDS 1 f 1
        assert_equal [list $byte ${byte}$byte] [r phprefixes k ${byte}${byte}$byte]
        assert_equal [list $byte {}] [r phget k $byte $byte {}]
        set long [string repeat [randstring 1000 1000] 100]
        foreach len {1 1000 16000 16255 16256 16257 50000 90000} { r phset k [string range $long 1 $len] FIELDS 1 len $len }
        assert_equal {90000 50000 16257 16256 16255} [list [r phlongest k [string range $long 1 end] LENGTH] \
            [r phlongest k [string range $long 1 89999] LENGTH] {*}[lmap n {16257 16256 16255} {
                r phlongest k [string range $long 1 $n] LENGTH }]]
        assert_equal {1 1000 16000 16255 16256 16257 50000 90000} [r phprefixes k [string range $long 1 end] LENGTHS]
        assert_equal 20 [llength [path_all k 1]]
    }

    test {payloads grow from small to large by the limits of hashes, and do not shrink} {
        foreach {entries value fields len} {512 64 5 3 512 64 100 3 512 64 512 5 512 64 513 5 2 64 3 5 512 64 1 65 512 64 3 300 512 64 1000 1000} {
            r flushall
            config_set hash-max-listpack-entries $entries
            config_set hash-max-listpack-value $value
            set expected {}
            for {set i 0} {$i < $fields} {incr i} {
                lappend expected f$i [string repeat [expr {$i % 10}] $len]
            }
            r_many i $fields { list phset k p/q FIELDS 1 f$i [lindex $expected [expr {2 * $i + 1}]] }
            r_many i $fields { list phset k p FIELDS 1 f$i $i }
            assert_equal [lsort -stride 2 $expected] [lsort -stride 2 [r phgetall k p/q]]
            assert_equal $fields [expr {[llength [r phgetall k p]] / 2}]
            assert_equal [lindex $expected end] [r phget k p/q [lindex $expected end-1]]
            # All fields but one are removed; the values are what they were after a reload and in a copy.
            r copy k copy
            assert_equal [r debug digest-value k] [r debug digest-value copy]
            r_many i [expr {$fields - 1}] { list phdel k p/q f[expr {$i + 1}] }
            assert_equal [lrange $expected 0 1] [r phgetall k p/q]
            assert_equal [expr {$fields}] [expr {[llength [r phgetall copy p/q]] / 2}]
            set digest [r debug digest]
            r debug reload
            assert_equal $digest [r debug digest]
        }
        config_set hash-max-listpack-entries 512
        config_set hash-max-listpack-value 64
    }

    test {errors: arguments, before anything is looked up or created} {
        r flushall
        r set string 1
        foreach words {
            {phset K p FIELDS} {phset K p} {phset K p FIELDS 1 f} {phmset K p FIELDS 1 f} {phmset K p f v} {phmget K p f v}
            {phget K p} {phmget K p FIELDS 1} {phdel K} {phcard K x} {phdelprefix K} {phlongest K} {phprefixes K} {phscan K}
        } {
            assert_error "ERR wrong number of arguments for '[lindex $words 0]' command" { r {*}$words }
        }
        foreach key {none string} {
            foreach words {
                {phset K p FNX FIELDS 1 f} {phset K p FIELDS 2 f v} {phset K p FIELDS 1 f v g} {phset K p FIELDS 1 f v g w}
                {phset K p FNX FXX FIELDS 1 f v} {phset K p FNX FNX FIELDS 1 f v} {phset K p what FIELDS 1 f v}
                {phset K p FIELDS 1 f v FNX} {phset K p f v g w} {phset K p FIELDS 9223372036854775807 f v}
                {phmset K p FIELDS 1 f v q} {phmset K p FIELDS 2 f v q FIELDS 1 f} {phmset K p FNX FIELDS 1 f v}
                {phmset K p FIELDS 1 f v q what 1 f v} {phmset K p FIELDS 1 f v q FIELDS}
                {phmget K p FIELDS 3 f g} {phmget K p FIELDS 1 f g} {phmget K p what 1 f g} {phmget K p FIELDS 1 f q FIELDS}
                {phlongest K q what} {phlongest K q LENGTHS} {phlongest K q LENGTH LENGTH} {phlongest K q COUNT 1}
                {phlongest K q WITHVALUES WITHVALUES} {phlongest K q WITHVALUES FIELDS 1 f} {phlongest K q FIELDS 1 f WITHVALUES}
                {phlongest K q FIELDS 2 f} {phlongest K q FIELDS 1 f g} {phlongest K q FIELDS 1} {phlongest K q FIELDS}
                {phlongest K q FIELDS 1 f FIELDS 1 f}
                {phprefixes K q what} {phprefixes K q LENGTH} {phprefixes K q LENGTHS LENGTHS} {phprefixes K q COUNT}
                {phprefixes K q COUNT 1 COUNT 1} {phprefixes K q MAXPATHLEN} {phprefixes K q MAXPATHLEN 0 MAXPATHLEN 0}
                {phprefixes K q maxlen 1} {phprefixes K q FIELDS 1 COUNT 1} {phprefixes K q WITHVALUES FIELDS 1 f}
                {phscan K 0 what} {phscan K 0 COUNT} {phscan K 0 COUNT 1 COUNT 1} {phscan K 0 PREFIX} {phscan K 0 MATCH x}
                {phscan K 0 PREFIX a PREFIX a} {phscan K 0 WITHVALUES WITHVALUES}
            } {
                set words [string map "K $key" $words]
                assert_error $syntax_error { r {*}$words } $words
            }
            foreach words {
                {phset K p FIELDS 0 f v} {phset K p FIELDS -1 f v} {phmset K p FIELDS 0 f v} {phmget K p FIELDS 0 f}
                {phlongest K q FIELDS 0} {phprefixes K q FIELDS 0 f} {phprefixes K q COUNT 0} {phprefixes K q COUNT -1}
                {phprefixes K q MAXPATHLEN -1} {phscan K 0 COUNT 0} {phscan K 0 COUNT -5}
            } {
                set words [string map "K $key" $words]
                assert_error $range_error { r {*}$words } $words
            }
            foreach words {
                {phset K p FIELDS x f v} {phset K p FIELDS 1.5 f v} {phmget K p FIELDS x f} {phlongest K q FIELDS 99999999999999999999 f}
                {phprefixes K q COUNT x} {phprefixes K q MAXPATHLEN x} {phscan K 0 COUNT x}
            } {
                set words [string map "K $key" $words]
                assert_error $integer_error { r {*}$words } $words
            }
            foreach cursor {x 1 5 00 1:6 1:6g 2:61 {} 1x61 :61 1:6161616} {
                assert_error {ERR invalid cursor} { r phscan $key $cursor } $cursor
            }
            assert_error {ERR cursor does not belong to the requested prefix} { r phscan $key 1:62 PREFIX a }
            assert_error {ERR cursor does not belong to the requested prefix} { r phscan $key 1: PREFIX a }
        }
        assert_equal string [r keys *]
        # PHPREFIXES takes a field that is named like an option.
        r phset k q FIELDS 1 COUNT 5
        assert_equal {{q 5}} [r phprefixes k q FIELDS 1 COUNT COUNT 1]
    }

    test {errors: WRONGTYPE in both directions} {
        r flushall
        r set string 1
        r phset k p FIELDS 1 f v
        foreach words {
            {phset string p FIELDS 1 f v} {phset string p FXX FIELDS 1 f v} {phmset string p FIELDS 1 f v} {phget string p f}
            {phmget string p FIELDS 1 f} {phgetall string p} {phexists string p} {phcard string} {phdel string p}
            {phdel string p f} {phdelprefix string p} {phlongest string q} {phprefixes string q} {phscan string 0}
            {get k} {hget k p} {lpush k p} {sadd k p} {zadd k 1 p} {xadd k * f v} {sort k} {incr k} {append k x}
            {hgetall k} {pfadd k x} {geoadd k 1 1 a} {setbit k 1 1} {sunionstore x k} {sscan k 0} {hscan k 0} {zscan k 0}
        } {
            assert_error $type_error { r {*}$words } $words
        }
        assert_equal {f v} [r phgetall k p]
    }

    test {changes that are counted, and events of class p} {
        r flushall
        config_set notify-keyspace-events EApn
        assert_equal {{new k} {phset k}} [path_events { assert_equal 2 [path_dirty { r phset k p FIELDS 2 f 1 f 2 }] }]
        assert_equal {{phset k}} [path_events { assert_equal 1 [path_dirty { r phset k p FIELDS 1 f 2 }] }]
        assert_equal {} [path_events { assert_equal 0 [path_dirty {
            r phset k p FNX FIELDS 1 f 3; r phset k p FXX FIELDS 1 none 3; r phset none p FXX FIELDS 1 f 3 }] }]
        assert_equal {{phmset k}} [path_events { assert_equal 3 [path_dirty { r phmset k p FIELDS 1 f 2 q FIELDS 2 f 1 g 1 }] }]
        assert_equal {{new m} {phmset m}} [path_events { r phmset m p FIELDS 1 f 2 }]
        assert_equal {{phdel k}} [path_events { assert_equal 2 [path_dirty { r phdel k q f f none g }] }]
        assert_equal {{phdel k}} [path_events { assert_equal 1 [path_dirty { r phdel k p }] }]
        assert_equal {} [path_events { assert_equal 0 [path_dirty {
            r phdel k p; r phdel k p f; r phdelprefix k p; r phdel none p; r phdelprefix none {} }] }]
        r phmset k a/b FIELDS 3 f 2 g 1 h 1 a/c FIELDS 1 f 1 x FIELDS 1 f 1
        assert_equal {{phdelprefix k}} [path_events { assert_equal 2 [path_dirty { r phdelprefix k a/ }] }]
        assert_equal {{phdelprefix k}} [path_events { assert_equal 1 [path_dirty { r phdelprefix k {} }] }]
        assert_equal {{del k}} [path_events { r del k }]
        config_set notify-keyspace-events Ep
        assert_equal {{phset k}} [path_events { r phset k p FIELDS 1 f 1; r set string 1; r del string }]
        config_set notify-keyspace-events E\$
        assert_equal {{set string}} [path_events { r phset k p FIELDS 1 f 1; r set string 1; r del string }]
        config_set notify-keyspace-events {}
    }

    test {WATCH sees changes, and only those} {
        r flushall
        foreach {words aborts} {
            {phset k p FIELDS 1 f 1} 1 {phset k p FNX FIELDS 1 f 2} 0 {phdel k none} 0 {phdelprefix k none} 0 {phlongest k pq} 0
            {phmset k q FIELDS 1 f 1} 1 {phdel k q f} 1 {phdelprefix k {}} 1
        } {
            r watch k
            r {*}$words
            r multi
            r ping
            assert_equal [expr {$aborts ? {} : "PONG"}] [r exec] $words
        }
    }

    test {what is freed on the thread} {
        r flushall
        set pairs [concat {*}[lmap i [numbers 1 600] { list f$i $i }]]
        proc path_fill {} {
            upvar pairs pairs
            r phset k big FIELDS 600 {*}$pairs
            for {set i 0} {$i < 200} {incr i} { r phset k p/$i FIELDS 1 f 1 }
        }
        foreach {lazy freed} {yes 1 no 0} {
            config_set lazyfree-lazy-user-del $lazy
            path_fill
            assert_equal $freed [path_lazyfreed { r phdel k big }]
            assert_equal 0 [path_lazyfreed { r phdel k p/1 }]
            assert_equal $freed [path_lazyfreed { assert_equal 199 [r phdelprefix k {}] }]
            r phset k p FIELDS 1 f 1
            assert_equal 0 [path_lazyfreed { r phdelprefix k {} }]
            path_fill
            assert_equal $freed [path_lazyfreed { r del k }]
            path_fill
            assert_equal 1 [path_lazyfreed { r unlink k }]
            r phset k big FIELDS 600 {*}$pairs
            assert_equal 1 [path_lazyfreed { r unlink k }] "one path with many fields"
            r phset k big FIELDS 600 {*}$pairs
            foreach i [numbers 1 600] { r phdel k big f$i }
            assert_equal 0 [path_lazyfreed { r unlink k }]
        }
        config_set lazyfree-lazy-user-del yes
    }

    test {memory: counted by MEMORY USAGE, given back, and little for each path} {
        r flushall
        wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
        set before [s used_memory]
        r_many i 20000 { list phset k conversation:[expr {$i % 100}]:turn:$i FIELDS 1 n [expr {$i % 10}] }
        set used [expr {[s used_memory] - $before}]
        set all [r memory usage k samples 0]
        assert_range $all [expr {int($used * 0.9)}] [expr {int($used * 1.1)}]
        assert_range [r memory usage k] [expr {int($all * 0.8)}] [expr {int($all * 1.2)}]
        # 20,000 times a path of about 28 bytes and a payload of 8.
        assert_lessthan [expr {$used / 20000}] 64
        r del k
        wait_for_condition 400 25 {[s lazyfree_pending_objects] == 0} else { fail "still pending" }
        assert_lessthan [expr {abs([s used_memory] - $before)}] 100000
    }

    test {expiry, RENAME, COPY, MOVE, overwriting} {
        r flushall
        r phset k a FIELDS 1 f 1
        r pexpire k 100000
        r phset k b FIELDS 1 f 1
        assert_morethan [r pttl k] 0
        r rename k l
        assert_equal {a b} [lindex [r phscan l 0] 1]
        assert_morethan [r pttl l] 0
        assert_equal 1 [r copy l m]
        r phset m c FIELDS 1 f 1
        assert_equal {2 3} [list [r phcard l] [r phcard m]]
        assert_equal 1 [r move m 1]
        r select 1
        assert_equal {a b c} [lindex [r phscan m 0] 1]
        r phdelprefix m {}
        assert_equal 1 [r copy m n]
        assert_equal {pathhash 0} [list [r type n] [r phcard n]]
        r set n string
        assert_type string n
        r select 0
        r pexpire l 1
        wait_for_condition 100 10 {![r exists l]} else { fail "not expired" }
    }

    test {DUMP and RESTORE, also of an empty one; broken payloads are refused} {
        r flushall
        r phmset k a FIELDS 2 f 1 g 2 a/b FIELDS 1 f [string repeat v 1000] {} FIELDS 1 f 3
        r phset e a FIELDS 1 f 1
        r phdel e a
        foreach key {k e} {
            r restore copy 0 [r dump $key] replace
            assert_equal [path_all $key] [path_all copy]
            assert_equal [r debug digest-value $key] [r debug digest-value copy]
            assert_type pathhash copy
            binary scan [string range [r dump $key] end-9 end-8] su version
            assert_equal 81 $version "so that no server before 9.2 reads it"
        }
        set payload [r dump k]
        for {set i 0} {$i < [string length $payload]} {incr i 7} {
            assert_error "ERR *" { r restore broken 0 [string replace $payload $i $i [format %c [expr {([scan [string index $payload $i] %c] + 1) % 256}]]] }
        }
        assert_equal 0 [r exists broken]
    }

    test {DEBUG DIGEST-VALUE: equal for equal contents, whatever the order and the encoding} {
        r flushall
        r phmset a x FIELDS 2 f 1 g 2 y FIELDS 1 f 3
        r phmset b y FIELDS 1 f 3
        config_set hash-max-listpack-entries 0
        r phmset b x FIELDS 2 g 2 f 1
        config_set hash-max-listpack-entries 512
        assert_equal [r debug digest-value a] [r debug digest-value b]
        foreach words {{phset b x FIELDS 1 f 2} {phset c xf FIELDS 1 {} 1} {phset d x FIELDS 1 f1 {}}} { r {*}$words }
        r phset e x FIELDS 1 f 1
        assert_equal 5 [llength [lsort -unique [r debug digest-value a b c d e]]]
    }

    test {a transaction and a script use path hashes} {
        r flushall
        r multi
        r phset k a FIELDS 1 f 1
        r phlongest k abc WITHVALUES
        assert_equal {OK {a {f 1}}} [r exec]
        assert_equal {a 1} [r eval {
            server.call('phset', KEYS[1], 'a/b', 'FIELDS', 1, 'f', 2)
            return server.call('phprefixes', KEYS[1], 'a/b', 'COUNT', 2, 'FIELDS', 1, 'f')[1]
        } 1 k]
        r eval {server.setresp(3); return server.call('phgetall', KEYS[1], 'a').map.f} 1 k
    }
}

start_server {tags {pathhash external:skip} overrides {appendonly yes appendfsync no save {}}} {
    test {propagation: as it came, and not when nothing has changed} {
        aof_wait_rewrite
        r phset k p FNX FIELDS 1 f 1
        r phset k p FNX FIELDS 1 f 2
        r phset k p FXX FIELDS 1 g 2
        r phmset k p FIELDS 1 f 3 q FIELDS 1 f 1
        r phdel k p none
        r phdel none p
        r phdel k p f none
        r phdelprefix k none
        r phdelprefix k {}
        r phdelprefix k {}
        assert_equal {{SELECT 0} {phset k p FNX FIELDS 1 f 1} {phmset k p FIELDS 1 f 3 q FIELDS 1 f 1} {phdel k p f none} {phdelprefix k {}}} \
            [aof_commands]
    }

    test {rewriting without a preamble: one PHSET for each field, and an empty one} {
        config_set aof-use-rdb-preamble no
        r flushall
        r phmset k a FIELDS 2 f 1 g 2 {} FIELDS 1 {} {}
        r phset e x FIELDS 1 f 1
        r phdel e x
        set digest [r debug digest]
        r bgrewriteaof
        aof_wait_rewrite
        assert_equal {{PHDEL e {}} {PHSET e {} FIELDS 1 {} {}} {PHSET k a FIELDS 1 f 1} {PHSET k a FIELDS 1 g 2} {PHSET k {} FIELDS 1 {} {}}} \
            [lsort [lsearch -all -inline -not [aof_commands [aof_path base]] SELECT*]]
        r debug loadaof
        assert_equal $digest [r debug digest]
        assert_equal {1 0 2} [list [r exists e] [r phcard e] [r phcard k]]
        config_set aof-use-rdb-preamble yes
        r bgrewriteaof
        aof_wait_rewrite
        r debug loadaof
        assert_equal $digest [r debug digest]
    }
}

start_server {tags {pathhash external:skip} overrides {save {}}} {
    start_server {overrides {save {}}} {
        test {MIGRATE moves path hashes, also an empty one, with their expiry} {
            r phmset p a/b FIELDS 1 f 1 a FIELDS 2 f 2 g 3
            r pexpire p 100000
            r phset e a FIELDS 1 f 1
            r phdel e a
            assert_equal OK [r migrate [srv -1 host] [srv -1 port] {} 0 5000 keys p e]
            assert_equal 0 [r dbsize]
            assert_equal {0 {a a/b}} [r -1 phscan p 0]
            assert_equal {2 3} [r -1 phget p a f g]
            assert_morethan [r -1 pttl p] 0
            assert_equal {pathhash 0} [list [r -1 type e] [r -1 phcard e]]
        }

        test {valkey-cli --bigkeys and --memkeys know the type} {
            r phmset p a FIELDS 1 f 1 b FIELDS 1 f 1 c FIELDS 1 f 1
            assert_match "*pathhash*p*3 paths*" [tool_output valkey-cli --bigkeys]
            assert_match "*pathhash*p*bytes*" [tool_output valkey-cli --memkeys]
        }
    }
}
