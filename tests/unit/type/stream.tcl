# Streams: adding, ranges, removal, trimming, XSETID, XINFO STREAM; errors and both protocols.

source [file join [file dirname [info script]] stream_util.tcl]

set invalid_id "ERR Invalid stream ID specified as stream command argument"
set too_small "ERR The ID specified in XADD is equal or smaller than the target stream top item"
set exhausted "ERR The stream has exhausted the last possible ID, unable to add more items"
set top 18446744073709551615

proc fact {key name} { dict get [r xinfo stream $key] $name }

start_server {tags stream} {
    test {XADD with IDs given, and what XRANGE and XREVRANGE say} {
        r del s
        assert_equal 1-1 [r xadd s 1-1 a 1]
        assert_equal 1-2 [r xadd s 1-2 a 2 b {}]
        assert_equal 5-0 [r xadd s 5 "\x00\r\n" 9223372036854775807]
        assert_equal 3 [r xlen s]
        assert_equal [list {1-1 {a 1}} {1-2 {a 2 b {}}} [list 5-0 [list "\x00\r\n" 9223372036854775807]]] [r xrange s - +]
        assert_equal [lreverse [r xrange s - +]] [r xrevrange s + -]
        assert_equal {1-1 1-2} [ids [r xrange s 1 1]]
        assert_equal 1-2 [ids [r xrange s 1-2 1-2]]
        assert_equal {} [r xrange s + -]
        assert_encoding stream s
        assert_type stream s
    }

    test {XADD with * makes IDs from the clock, and never goes back} {
        r del s
        set before [clock milliseconds]
        lassign [split [r xadd s * a b] -] ms seq
        assert_range $ms $before [clock milliseconds]
        assert_equal 0 $seq
        set last 0-0
        for {set i 0} {$i < 200} {incr i} {
            set id [r xadd s * a b]
            lassign [split $id -] ms seq
            lassign [split $last -] last_ms last_seq
            assert {$ms > $last_ms || ($ms == $last_ms && $seq == $last_seq + 1)}
            set last $id
        }
        r del s
        r xadd s 99999999999999-5 a b
        assert_equal 99999999999999-6 [r xadd s * a b]
    }

    test {XADD with a partial ID} {
        r del s
        assert_equal 0-1 [r xadd s 0-* a b]
        assert_equal 7-0 [r xadd s 7-* a b]
        assert_equal 7-1 [r xadd s 7-* a b]
        assert_error $too_small { r xadd s 6-* a b }
        r xadd s 7-$top a b
        assert_error $too_small { r xadd s 7-* a b }
        assert_equal 8-0 [r xadd s 8-* a b]
    }

    test {XADD at the end of all IDs} {
        r del s
        r xadd s $top-5 a b
        assert_equal $top-6 [r xadd s * a b]
        assert_equal $top-7 [r xadd s $top-* a b]
        assert_equal $top-$top [r xadd s $top-$top a b]
        foreach id [list * $top-* $top-$top 1-1] { assert_error $exhausted { r xadd s $id a b } }
        assert_equal $top-$top [ids [r xrevrange s + - count 1]]
    }

    test {XADD refuses wrong IDs and changes nothing} {
        r del s
        foreach id {abc {} - + $ > -1 1- 1-1-1 1-x 18446744073709551616 1-** *-1 -* {1 }} {
            assert_error $invalid_id { r xadd s $id a b }
        }
        assert_error "ERR The ID specified in XADD must be greater than 0-0" { r xadd s 0-0 a b }
        assert_error "ERR The ID specified in XADD must be greater than 0-0" { r xadd s 0 a b }
        assert_equal 0 [r exists s]
        r xadd s 2-2 a b
        foreach id {abc-* -* 5--*} { assert_error $invalid_id { r xadd s $id a b } }
        foreach id {2-2 2-1 1-9 2 0-1} { assert_error $too_small { r xadd s $id a b } }
        assert_equal 1 [r xlen s]
    }

    test {XADD arguments} {
        r del s
        assert_error "ERR wrong number of arguments for 'xadd' command" { r xadd s * a }
        assert_error "ERR wrong number of arguments for 'xadd' command" { r xadd s * a b c }
        assert_error "ERR wrong number of arguments for 'xadd' command" { r xadd s nomkstream maxlen 5 1-1 }
        assert_error "ERR syntax error, MAXLEN and MINID options at the same time are not compatible" {
            r xadd s maxlen 5 minid 5 * a b
        }
        assert_error "ERR syntax error, LIMIT cannot be used without the special ~ option" { r xadd s maxlen 5 limit 5 * a b }
        assert_error "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy" { r xadd s limit 5 * a b }
        assert_error "ERR The MAXLEN argument must be >= 0." { r xadd s maxlen -1 * a b }
        assert_error "ERR The LIMIT argument must be >= 0." { r xadd s maxlen ~ 1 limit -1 * a b }
        assert_error "ERR value is not an integer or out of range" { r xadd s maxlen x * a b }
        assert_error $invalid_id { r xadd s minid x * a b }
        assert_equal 0 [r exists s]
        r set str x
        assert_error "WRONGTYPE *" { r xadd str * a b }
    }

    test {NOMKSTREAM} {
        r del s
        assert_equal {} [r xadd s NOMKSTREAM 1-1 a b]
        assert_equal {$-1} [wire xadd s nomkstream * a b]
        assert_equal 0 [r exists s]
        r xadd s 1-1 a b
        assert_equal 1-2 [r xadd s nomkstream 1-2 a b]
        r hello 3
        assert_equal _ [wire xadd t nomkstream * a b]
        r hello 2
    }

    test {fields of all kinds are returned: same names, other names, numbers, long and empty values} {
        r del s
        set want {}
        for {set i 1} {$i <= 500} {incr i} {
            set pairs {}
            if {[randomInt 3]} { set names {a b} } else { set names [lrange {b a xyz 17} 0 [randomInt 4]] }
            foreach n $names {
                switch [randomInt 5] {
                    0 { set v [randomInt 1000000000] }
                    1 { set v -[randomInt 70000] }
                    2 { set v [string repeat v [randomInt 300]] }
                    3 { set v {} }
                    default { set v [randstring 0 20 binary] }
                }
                lappend pairs $n $v
            }
            r xadd s $i-1 {*}$pairs
            lappend want [list $i-1 $pairs]
        }
        assert_equal $want [r xrange s - +]
        assert_equal [lreverse $want] [r xrevrange s + -]
        for {set i 0} {$i < 200} {incr i} {
            set from [randomRange 1 500]
            set to [randomRange $from 500]
            assert_equal [lrange $want $from-1 $to-1] [r xrange s $from $to]
            assert_equal [lrange [lreverse [lrange $want $from-1 $to-1]] 0 6] [r xrevrange s $to $from count 7]
        }
    }

    test {a very long entry} {
        r del s
        set v [string repeat x 100000]
        r xadd s 1-1 f small
        r xadd s 1-2 f $v
        r xadd s 1-3 f small
        assert_equal $v [lindex [r xrange s 1-2 1-2] 0 1 1]
        assert_equal {1-3 1-2 1-1} [ids [r xrevrange s + -]]
    }

    test {ranges: ends that are not included, COUNT, errors} {
        fill_stream s 10
        assert_equal [ids_between 4 6] [ids [r xrange s (3 6]]
        assert_equal [ids_between 4 5] [ids [r xrange s (3-0 (6-0]]
        assert_equal [ids_between 4 6] [ids [r xrange s (3 (6]]
        assert_equal [ids_between 1 3] [ids [r xrange s - + count 3]]
        assert_equal {10-0 9-0} [ids [r xrevrange s + - count 2]]
        assert_equal {} [r xrange s - + count 0]
        assert_equal {*-1} [wire xrange s - + count 0]
        assert_equal {*-1} [wire xrange s - + count -4]
        assert_equal {*0} [wire xrange none - + count 0]
        assert_equal {*0} [wire xrange none - +]
        assert_error "ERR invalid start ID for the interval" { r xrange s ($top-$top + }
        assert_error "ERR invalid end ID for the interval" { r xrange s - (0-0 }
        foreach bad {( (- (+ x 1-} { assert_error $invalid_id { r xrange s $bad + } }
        assert_error "ERR syntax error" { r xrange s - + limit 3 }
        assert_error "ERR syntax error" { r xrange s - + count }
        assert_error "ERR value is not an integer or out of range" { r xrange s - + count x }
        assert_error "WRONGTYPE *" { r xrange str - + }
        assert_error "WRONGTYPE *" { r xlen str }
        assert_equal 0 [r xlen none]
    }

    test {XDEL} {
        fill_stream s 10
        assert_equal 2 [r xdel s 3-0 5 99-0]
        assert_equal {1-0 2-0 4-0 6-0 7-0 8-0 9-0 10-0} [ids [r xrange s - +]]
        assert_equal 0 [r xdel s 3-0]
        assert_equal 0 [r xdel none 1 2]
        assert_error $invalid_id { r xdel s 1-0 x }
        assert_equal 8 [r xlen s]
        assert_equal 1 [r xdel s 1-0]
        assert_equal 2-0 [fact s recorded-first-entry-id]
        assert_equal 5-0 [fact s max-deleted-entry-id]
        assert_equal 7 [r xdel s {*}[ids_between 1 10]]
        assert_equal 0 [r xlen s]
        assert_equal 1 [r exists s]
        assert_equal 10-0 [fact s last-generated-id]
        assert_equal 10-0 [fact s max-deleted-entry-id]
        assert_equal 0-0 [fact s recorded-first-entry-id]
        assert_equal 0 [fact s radix-tree-keys]
        assert_error $too_small { r xadd s 10-0 a b }
        assert_equal 11-0 [r xadd s 11 a b]
        assert_equal 11 [fact s entries-added]
        assert_error "WRONGTYPE *" { r xdel str 1 }
    }

    test {XDEL of many entries keeps the counters of long nodes right} {
        config_set stream-node-max-entries 1000
        config_set stream-node-max-bytes 0
        fill_stream s 3000
        for {set i 1} {$i <= 3000} {incr i 2} { assert_equal 1 [r xdel s $i-0] }
        assert_equal {1500 3 2-0} [list [r xlen s] [fact s radix-tree-keys] [fact s recorded-first-entry-id]]
        assert_equal [lmap {odd even} [ids_between 1 3000] { set even }] [ids [r xrange s - +]]
        assert_equal 1000 [r xtrim s maxlen 500]
        assert_equal 2002-0 [fact s recorded-first-entry-id]
        config_set stream-node-max-entries 100
        config_set stream-node-max-bytes 4096
    }

    test {the sizes of nodes} {
        config_set stream-node-max-entries 10
        fill_stream s 95
        assert_equal 10 [fact s radix-tree-keys]
        config_set stream-node-max-entries 0
        fill_stream s 95
        assert_equal 1 [fact s radix-tree-keys]
        config_set stream-node-max-bytes 500
        fill_stream s 95
        assert_range [fact s radix-tree-keys] 2 10
        assert_equal [ids_between 1 95] [ids [r xrange s - +]]
        assert_equal [lreverse [ids_between 1 95]] [ids [r xrevrange s + -]]
        config_set stream-node-max-entries 100
        config_set stream-node-max-bytes 4096
        assert_equal 4096 [config_get stream-node-max-bytes]
    }

    test {XTRIM MAXLEN and MINID, exact} {
        foreach entries {1 3 100} {
            config_set stream-node-max-entries $entries
            fill_stream s 50
            assert_equal 10 [r xtrim s MAXLEN 40]
            assert_equal [ids_between 11 50] [ids [r xrange s - +]]
            assert_equal 0 [r xtrim s MAXLEN = 40]
            assert_equal 4 [r xtrim s MINID = 15]
            assert_equal [ids_between 15 50] [ids [r xrange s - +]]
            assert_equal 1 [r xtrim s minid 15-1]
            assert_equal 16-0 [fact s recorded-first-entry-id]
            assert_equal 0-0 [fact s max-deleted-entry-id]
            r xdel s 17-0 18-0
            assert_equal 3 [r xtrim s maxlen 30]
            assert_equal [ids_between 21 50] [ids [r xrange s - +]]
            assert_equal 30 [r xtrim s maxlen 0]
            assert_equal {0 1} [list [r xlen s] [r exists s]]
        }
        assert_equal 0 [r xtrim none maxlen 0]
    }

    test {XTRIM ~ removes whole nodes, at most LIMIT entries} {
        config_set stream-node-max-entries 10
        fill_stream s 100
        assert_equal 0 [r xtrim s maxlen ~ 95]
        assert_equal 10 [r xtrim s maxlen ~ 85]
        assert_equal [ids_between 11 100] [ids [r xrange s - +]]
        assert_equal 0 [r xtrim s minid ~ 20]
        assert_equal 10 [r xtrim s minid ~ 21]
        assert_equal 30 [r xtrim s maxlen ~ 0 limit 39]
        assert_equal 0 [r xtrim s maxlen ~ 0 limit 9]
        assert_equal 50 [r xtrim s maxlen ~ 0 limit 0]
        config_set stream-node-max-entries 2
        fill_stream s 500
        assert_equal 200 [r xtrim s maxlen ~ 0]
        config_set stream-node-max-entries 0
        config_set stream-node-max-bytes 500
        fill_stream s 11000
        assert_range [r xtrim s maxlen ~ 0] 9900 10000
        config_set stream-node-max-entries 100
        config_set stream-node-max-bytes 4096
    }

    test {XADD trims the stream that it adds to} {
        r del s
        for {set i 1} {$i <= 20} {incr i} { r xadd s maxlen 5 $i-0 n $i }
        assert_equal [ids_between 16 20] [ids [r xrange s - +]]
        r xadd s minid 19 21-0 n 21
        assert_equal [ids_between 19 21] [ids [r xrange s - +]]
        assert_equal 22-0 [r xadd s maxlen 0 22-0 n 22]
        assert_equal {0 22 22-0} [list [r xlen s] [fact s entries-added] [fact s last-generated-id]]
    }

    test {XTRIM of entries before deleted ones leaves an empty node, which does no harm} {
        config_set stream-node-max-entries 3
        fill_stream s 4
        r xdel s 3
        assert_equal 2 [r xtrim s minid 3]
        assert_equal {1 2 4-0} [list [r xlen s] [fact s radix-tree-keys] [fact s recorded-first-entry-id]]
        fill_stream s 3
        r xdel s 3
        assert_equal 2 [r xtrim s minid 3]
        assert_equal {0 1 0-0} [list [r xlen s] [fact s radix-tree-keys] [fact s recorded-first-entry-id]]
        assert_equal {{} {} {}} [list [r xrange s - +] [r xrevrange s + -] [dict get [r xinfo stream s] last-entry]]
        r xadd s 4-0 n 4
        r xadd s 5-0 n 5
        assert_equal {4-0 5-0} [ids [r xrange s - +]]
        assert_equal {5-0 4-0} [ids [r xrevrange s + -]]
        assert_equal {4-0 5-0} [ids [list [dict get [r xinfo stream s] first-entry] [dict get [r xinfo stream s] last-entry]]]
        assert_equal 2 [r xtrim s maxlen 0]
        config_set stream-node-max-entries 100
    }

    test {XTRIM errors} {
        fill_stream s 3
        foreach args {{maxlen 5 x} {nomkstream maxlen 5} {abc 5} {limit 5 maxlen} {maxlen 5 limit}} {
            assert_error "ERR syntax error" { r xtrim s {*}$args }
        }
        assert_error "ERR syntax error, LIMIT cannot be used without the special ~ option" { r xtrim s maxlen = 5 limit 5 }
        assert_error "ERR syntax error, MAXLEN and MINID options at the same time are not compatible" { r xtrim s maxlen 5 minid 5 }
        assert_error "ERR value is not an integer or out of range" { r xtrim none maxlen x }
        assert_error "WRONGTYPE *" { r xtrim str maxlen 5 }
        assert_equal 3 [r xlen s]
    }

    test {deleting from the front does not visit deleted entries again and again} {
        r config set stream-node-max-entries 0
        r config set stream-node-max-bytes 0
        proc cpu_us {} { ;# of the main thread; a busy machine does not change it
            set info [r info cpu]
            regexp {used_cpu_user_main_thread:(\S+)} $info - user
            regexp {used_cpu_sys_main_thread:(\S+)} $info - system
            return [expr {int(1000000 * ($user + $system))}]
        }
        proc cost {n} {
            r del s
            fill_stream s $n
            set ids {}
            for {set i 1} {$i < $n} {incr i} { lappend ids $i-0 }
            set before [cpu_us]
            assert_equal [expr {$n - 1}] [r xdel s {*}$ids]
            set used [expr {[cpu_us] - $before}]
            assert_equal [list [list $n-0 [list n $n]]] [lmap e [r xrange s - +] { list [lindex $e 0] [lrange [lindex $e 1] 0 1] }]
            return $used
        }
        # All in one node: eight times as many take eight times as long, not sixty-four times.
        set small [expr {min([cost 2000], [cost 2000], [cost 2000]) + 200}]
        assert_lessthan [expr {min([cost 16000], [cost 16000], [cost 16000])}] [expr {25 * $small}]
        r config set stream-node-max-entries 100
        r config set stream-node-max-bytes 4096
    }

    test {XSETID} {
        fill_stream s 3
        assert_equal OK [r xsetid s 200-0]
        assert_equal 200-0 [fact s last-generated-id]
        assert_error $too_small { r xadd s 200-0 a b }
        assert_equal OK [r xsetid s 3-0 ENTRIESADDED 17 MAXDELETEDID 2-5]
        assert_equal {3-0 17 2-5} [list [fact s last-generated-id] [fact s entries-added] [fact s max-deleted-entry-id]]
        assert_error "ERR The ID specified in XSETID is smaller than the target stream top item" { r xsetid s 2-9 }
        assert_error "ERR The entries_added specified in XSETID is smaller than the target stream length" {
            r xsetid s 9 entriesadded 2
        }
        assert_error "ERR entries_added must be positive" { r xsetid s 9 entriesadded -1 }
        assert_error "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id" {
            r xsetid s 9 maxdeletedid 10
        }
        assert_error "ERR value is not an integer or out of range" { r xsetid s 9 entriesadded x }
        assert_error $invalid_id { r xsetid s x }
        assert_error $invalid_id { r xsetid s + }
        assert_error "ERR syntax error" { r xsetid s 9 foo }
        assert_error "ERR no such key" { r xsetid none 1 }
        assert_error "WRONGTYPE *" { r xsetid str 1 }
        # A deleted entry counts like an existing one.
        set deleted "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
        r xdel s 1 3
        assert_error $deleted { r xsetid s 2-9 }
        assert_error $deleted { r xsetid s 2-9 maxdeletedid 0-5 }
        r xdel s 2
        assert_error $deleted { r xsetid s 1-0 }
        assert_equal OK [r xsetid s 3-0]
    }

    test {XINFO STREAM} {
        r del s
        r xadd s 1-1 a 1
        r xadd s 2-2 b 2
        r xdel s 1-1
        r xgroup create s g 0
        set want {length 1 radix-tree-keys 1 radix-tree-nodes 2 last-generated-id 2-2 max-deleted-entry-id 1-1
            entries-added 2 recorded-first-entry-id 2-2 groups 1 first-entry {2-2 {b 2}} last-entry {2-2 {b 2}}}
        assert_equal [join $want] [join [r xinfo stream s]]
        r hello 3
        assert_match {%10 *} [wire xinfo stream s]
        r xdel s 2-2
        assert_match {*_ $10 last-entry _} [wire xinfo stream s]
        r hello 2
        assert_match {*$-1 $10 last-entry $-1} [wire xinfo stream s]
        assert_error "ERR no such key" { r xinfo stream none }
        assert_error "ERR no such key" { r xinfo stream none foo }
        assert_error "WRONGTYPE *" { r xinfo stream str }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'stream'. Try XINFO HELP." { r xinfo stream s foo }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'stream'. Try XINFO HELP." { r xinfo stream s full count }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'stream'. Try XINFO HELP." { r xinfo stream s full limit 3 }
        assert_error "ERR value is not an integer or out of range" { r xinfo stream s full count x }
        assert_error "ERR unknown subcommand 'foo'. Try XINFO HELP." { r xinfo foo }
        assert_match {XINFO <subcommand>*} [lindex [r xinfo help] 0]
        assert_match {XGROUP <subcommand>*} [lindex [r xgroup help] 0]
    }

    test {XINFO STREAM FULL shows as many entries as asked for} {
        fill_stream s 30
        assert_equal 10 [llength [dict get [r xinfo stream s full] entries]]
        assert_equal 3 [llength [dict get [r xinfo stream s FULL COUNT 3] entries]]
        assert_equal 30 [llength [dict get [r xinfo stream s full count 0] entries]]
        assert_equal 10 [llength [dict get [r xinfo stream s full count -1] entries]]
    }

    test {COPY, RENAME and digests} {
        fill_stream s 250
        r xdel s 7 8 200
        r xgroup create s g 5
        r xreadgroup group g alice count 20 streams s >
        r xreadgroup group g bob count 20 streams s >
        r copy s t
        assert_equal [r debug digest-value s] [r debug digest-value t]
        assert_equal [r xinfo stream s full count 0] [r xinfo stream t full count 0]
        r xadd t 999 a b
        r xack t g 6 9
        assert_equal {247 248} [list [r xlen s] [r xlen t]]
        assert_equal {40 38} [list [lindex [r xpending s g] 0] [lindex [r xpending t g] 0]]
        assert_not_equal [r debug digest-value s] [r debug digest-value t]
        set before [r xrange s - +]
        r rename s u
        assert_equal $before [r xrange u - +]
        r del t
        r unlink u
        assert_equal 0 [r exists s t u]
    } {} {needs:debug}

    test {random additions, deletions and trims against a list} {
        foreach entries {1 4 100} {
            config_set stream-node-max-entries $entries
            r del s
            set model {}
            set next 1
            for {set i 0} {$i < 1500} {incr i} {
                switch [randomInt 10] {
                    0 - 1 - 2 {
                        set id [randomRange [expr {max(1, $next - 60)}] $next]-0
                        set at [lsearch -exact $model $id]
                        assert_equal [expr {$at >= 0}] [r xdel s $id]
                        if {$at >= 0} { set model [lreplace $model $at $at] }
                    }
                    3 {
                        set keep [randomRange 20 60]
                        set gone [expr {max(0, [llength $model] - $keep)}]
                        assert_equal $gone [r xtrim s maxlen $keep]
                        set model [lrange $model $gone end]
                    }
                    default {
                        lappend model [r xadd s $next-0 n $next]
                        incr next
                    }
                }
                if {$i % 10 == 0} { assert_equal $model [ids [r xrange s - +]] }
            }
            assert_equal $model [lreverse [ids [r xrevrange s + -]]]
            assert_equal [llength $model] [r xlen s]
        }
        config_set stream-node-max-entries 100
    }
}
