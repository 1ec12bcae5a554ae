# Idempotent XADD (IDMP, IDMPAUTO), XCFGSET and XIDMPRECORD, as in Redis 8.6.3: replies, errors, how long and how many ids are
# remembered, files, replicas of this server, of Valkey 9.1.2, and of Redis 8.
source [file join [file dirname [info script]] stream_util.tcl]
source [file join [file dirname [file dirname [file normalize [info script]]]] persist aof_util.tcl]
source [file join [file dirname [file dirname [file normalize [info script]]]] replication rules_util.tcl]
source $::support/dump.tcl

proc idmp {key pid iid args} { return [r xadd $key idmp $pid $iid {*}$args * f v] }
proc fact {name {key s}} { return [dict get [r xinfo stream $key] $name] }
# Producers, ids, ids ever added, duplicates.
proc records {{key s}} { return [lmap name {pids-tracked iids-tracked iids-added iids-duplicates} { fact $name $key }] }
proc limits {{key s}} { return [list [fact idmp-duration $key] [fact idmp-maxsize $key]] }

# The ids that Redis 8.6.3 computes, asked from a living one.
set auto_ids {
    {f v} 6e95729ee727f0814aedffba55730079
    {a 1 b 2} c5b282935f77a53123e1ff7a302a11f2
    {b 2 a 1} c5b282935f77a53123e1ff7a302a11f2
    {a 2 b 1} cffffd6da755753a303345e25554e957
    {a 1 a 1} 7cd8847868842eaf3c2706c3f301a55b
    {a 1 a 1 a 1} 8763c1776fc7605da6e20ddc850659a6
    {ab c} 16a40e6f34744cb4db57cd2b7d195a72
    {a bc} cd716045a670276ba36d448ef5da2ace
    {{} {}} 1a9f7ebbaea1d61d30b6b8daa3e38da7
    {{} a} c6116b41aaf3f7e67e7c463c70755fce
    {a {}} f7175401ebd6f201465aebceda8bc281
    {a 1 b 2 c 3} 021fe0625ffb3a1d870f793875991bfb
}
lappend auto_ids [list a [string repeat x 300]] bfe4b6f13df13d858b07577007675d52

foreach resp {2 3} {
    start_server [list tags {stream} overrides {save {}}] {
        r hello $resp

        test "XADD IDMP: the same id of the same producer gets the ID of its entry, RESP$resp" {
            set first [idmp s p a]
            assert_equal $first [idmp s p a]
            assert_not_equal $first [idmp s p b]
            assert_not_equal $first [idmp s q a]
            assert_equal $first [r xadd s idmp p a * other fields] "the id counts, not the contents"
            assert_equal {3 {2 3 3 2}} [list [r xlen s] [records]]
            assert_equal {100 100} [limits]
            # Names are bytes; a name may be a word.
            foreach name [list maxlen * NOMKSTREAM ~ limit "\0\r\n" [string repeat x 70000]] {
                set id [idmp s $name $name]
                assert_equal $id [idmp s $name $name nomkstream maxlen ~ 100 limit 5]
            }
            assert_equal 10 [r xlen s]
        }

        test "XINFO shows idempotence for streams that use it only, RESP$resp" {
            r del plain
            r xadd plain 1-1 f v
            set names [dict keys [r xinfo stream plain]]
            assert_equal -1 [lsearch -glob $names *id*s-*]
            assert_error "ERR no such key" {r xinfo stream nosuch}
            r xcfgset plain idmp-duration 100 idmp-maxsize 100
            assert_equal $names [dict keys [r xinfo stream plain]] "these are the limits of the directives"
            r xcfgset plain idmp-maxsize 101
            set at [expr {[lsearch $names recorded-first-entry-id] + 1}]
            assert_equal [linsert $names $at idmp-duration idmp-maxsize pids-tracked iids-tracked iids-added iids-duplicates] [dict keys [r xinfo stream plain]]
            set full [r xinfo stream plain full]
            assert_equal {100 101 0 0 0 0} [lrange [dict values $full] 7 12]
            assert_equal {entries groups} [lrange [dict keys $full] 13 end]
        }

        test "XADD IDMP: a duplicate does nothing else: no trimming, no event, no change, RESP$resp" {
            r del s
            foreach i {1 2 3 4} { idmp s p $i }
            set changes [s rdb_changes_since_last_save]
            set first [idmp s p 1 maxlen 1]
            assert_equal {4 1} [list [r xlen s] [expr {$first eq [lindex [fact first-entry] 0]}]]
            assert_equal $changes [s rdb_changes_since_last_save]
            assert_equal 1 [r xtrim s maxlen 3]
            assert_equal $first [idmp s p 1] "the entry is gone, the id is not"
            r xdel s [idmp s p 2]
            assert_equal [idmp s p 2] [idmp s p 2]
            assert_equal 2 [r xlen s]
            assert_equal {1 4 4 5} [records]
        }

        test "XADD IDMPAUTO: the id follows from the fields and values, as Redis 8.6 computes it, RESP$resp" {
            foreach {pairs id} $::auto_ids {
                r del s
                set entry [r xadd s idmpauto p * {*}$pairs]
                assert_equal OK [r xidmprecord s p [binary decode hex $id] $entry] $pairs
                assert_equal $entry [r xadd s idmpauto p * {*}$pairs]
                assert_equal $entry [r xadd s idmp p [binary decode hex $id] * f v]
                assert_equal {1 1 1 2} [records]
            }
        }
    }
}

start_server {tags {stream} overrides {save {}}} {
    # ---- Arguments ----

    test {XADD IDMP and IDMPAUTO: errors, which change nothing} {
        r del s
        set several "ERR syntax error, IDMP/IDMPAUTO specified multiple times"
        set fixed "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"
        set number "ERR wrong number of arguments for 'xadd' command"
        set id "ERR Invalid stream ID specified as stream command argument"
        foreach {args error} [list \
            {idmp p i 1-1 f v} $fixed {idmp p i 5-* f v} $fixed {idmp p i 0-0 f} $fixed {idmpauto p 1 f v} $fixed \
            {idmp p i limit 5 1-1 f v} $fixed {idmp p i bad f v} $id {nomkstream nomkstream idmp p} $id \
            {nomkstream nomkstream idmpauto} $id {nomkstream nomkstream idmp p i} $number {idmpauto p * f} $number {idmp p i * f v g} $number \
            {idmp p i idmp p j * f v} $several {idmp p i idmpauto p * f v} $several {idmpauto p idmp p {} * f v} $several \
            {idmp {} {} * f} "ERR syntax error, IDMP requires a non-empty producer ID" \
            {idmp p {} * f v} "ERR syntax error, IDMP requires a non-empty idempotent ID" \
            {idmpauto {} * f v} "ERR syntax error, IDMPAUTO requires a non-empty producer ID" \
            {idmp p i limit 5 * f v} "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"] {
            assert_error $error {r xadd s {*}$args} $args
        }
        assert_error "ERR syntax error" {r xtrim s idmp p i}
        assert_equal {} [r xadd s nomkstream idmp p i * f v]
        assert_equal 0 [r exists s]
        r set text v
        assert_error WRONGTYPE* {idmp text p i}
    }

    test {XADD IDMP in a stream without IDs left: known ids only} {
        r del s
        set first [idmp s p a]
        r xadd s 18446744073709551615-18446744073709551615 f v
        assert_equal $first [idmp s p a]
        assert_error "ERR The stream has exhausted the last possible ID*" {idmp s p b}
        assert_equal {1 1 1 1} [records]
    }

    test {XCFGSET: arguments} {
        r del s
        r xadd s 1-1 f v
        set duration "ERR IDMP-DURATION must be between 1 and 86400 seconds"
        set maxsize "ERR IDMP-MAXSIZE must be between 1 and 10000 entries"
        set integer "ERR value is not an integer or out of range"
        foreach {args error} [list {} "ERR At least one parameter must be specified" idmp-duration "ERR syntax error" {nosuch 5} "ERR syntax error" \
            {idmp-duration 5 idmp-maxsize} "ERR syntax error" {idmp-duration 0} $duration {idmp-duration -1} $duration {idmp-duration 86401} $duration \
            {idmp-duration x} $integer {idmp-duration 99999999999999999999} $integer {idmp-maxsize 0} $maxsize {idmp-maxsize 10001 nosuch} $maxsize \
            {idmp-maxsize 5 idmp-maxsize 6} "ERR IDMP-MAXSIZE specified multiple times" {idmp-duration 5 idmp-duration 5} "ERR IDMP-DURATION specified multiple times" \
            {idmp-maxsize 8 idmp-duration 0} $duration] {
            assert_error $error {r xcfgset s {*}$args} $args
        }
        assert_error "ERR no such key" {r xcfgset nosuch nosuch}
        assert_error WRONGTYPE* {r xcfgset text}
        assert_error "*wrong number of arguments*" {r xcfgset}
        assert_error *idmp-duration* {fact idmp-duration} "nothing has changed"
        assert_equal OK [r xcfgset s IDMP-MAXSIZE 10000 IDMP-DURATION 86400]
        assert_equal {86400 10000} [limits]
        assert_equal OK [r xcfgset s idmp-duration 1]
        assert_equal {1 10000} [limits]
    }

    test {XCFGSET: other limits than before drop what is remembered} {
        r del s
        foreach i {1 2 3 4 5} { idmp s p $i }
        idmp s q 1
        r xcfgset s idmp-duration 100
        r xcfgset s idmp-maxsize 100 idmp-duration 100
        assert_equal {2 6 6 0} [records]
        r xcfgset s idmp-maxsize 50
        assert_equal {0 0 6 0} [records]
        assert_equal {100 50} [limits]
        idmp s p 1
        assert_equal {7 {1 1 7 0}} [list [r xlen s] [records]]
        r xcfgset s idmp-duration 99
        assert_equal {0 0 7 0} [records]
    }

    test {directives: limits of streams that become idempotent} {
        r del s t
        idmp s p i
        config_set stream-idmp-duration 5
        config_set stream-idmp-maxsize 2
        idmp t p i
        assert_equal {100 100 5 2} [list {*}[limits s] {*}[limits t]]
        config_set stream-idmp-duration 100
        config_set stream-idmp-maxsize 100
        assert_equal {5 2} [limits t]
        foreach value {0 86401 x} { assert_error "ERR CONFIG SET failed*" {r config set stream-idmp-duration $value} }
        foreach value {0 10001 x} { assert_error "ERR CONFIG SET failed*" {r config set stream-idmp-maxsize $value} }
    }

    # ---- How many, how long ----

    test {XCFGSET IDMP-MAXSIZE: the oldest ids of a producer are dropped, found again or not} {
        r del s
        r xadd s 1-1 f v
        r xcfgset s idmp-maxsize 3
        foreach i {a b c} { set given($i) [idmp s p $i] }
        set given(z) [idmp s q z]
        assert_equal $given(a) [idmp s p a]
        set given(d) [idmp s p d]
        foreach i {b c d} { assert_equal $given($i) [idmp s p $i] $i }
        assert_equal $given(z) [idmp s q z]
        assert_equal {2 4 5 5} [records]
        assert_not_equal $given(a) [idmp s p a]
        assert_not_equal $given(b) [idmp s p b]
        assert_equal $given(d) [idmp s p d]
        assert_equal {2 4 7 6} [records]
    }

    test {XCFGSET IDMP-MAXSIZE: producers with many ids} {
        r del s
        r xadd s 1-1 f v
        r xcfgset s idmp-maxsize 1000
        for {set i 0} {$i < 1500} {incr i} { set given($i) [idmp s p $i] }
        assert_equal {1 1000 1500 0} [records]
        for {set i 500} {$i < 1500} {incr i 7} { assert_equal $given($i) [idmp s p $i] $i }
        assert_not_equal $given(499) [idmp s p 499]
        assert_not_equal $given(500) [idmp s p 500]
        assert_equal $given(502) [idmp s p 502]
    }

    test {XCFGSET IDMP-DURATION: an id is forgotten in time, whether somebody asks or not} {
        r del s
        r xadd s 1-1 f v
        r xcfgset s idmp-duration 1
        set a [idmp s p a]
        set z [idmp s q z]
        assert_equal $a [idmp s p a]
        wait_for_condition 100 50 {[clock milliseconds] - [lindex [split $a -] 0] > 400} else { fail "time stands still" }
        set b [idmp s p b]
        wait_for_condition 100 20 {[clock milliseconds] - [lindex [split $a -] 0] > 1020} else { fail "time stands still" }
        assert_not_equal $a [idmp s p a] "although the job may not have run"
        wait_for_condition 100 50 {[fact iids-tracked] == 0} else { fail "ids are remembered: [records]" }
        assert_equal {0 0 4} [lrange [records] 0 2]
    }

    test {an id of an old entry that was recorded late is forgotten in time, too} {
        r del s
        r xadd s [expr {[clock milliseconds] - 1500}]-1 f v
        r xcfgset s idmp-duration 2
        set old [lindex [fact last-entry] 0]
        idmp s p first
        r xidmprecord s p late $old
        assert_equal $old [idmp s p late]
        wait_for_condition 100 20 {[clock milliseconds] - [lindex [split $old -] 0] > 2020} else { fail "time stands still" }
        assert_equal {1 2 2 1} [records]
        set new [idmp s p late]
        assert_not_equal $old $new
        assert_equal $new [idmp s p late]
        assert_equal {1 2 3 2} [records]
    }

    test {an ID in the future keeps its id for longer} {
        r del s
        r xadd s [expr {[clock milliseconds] + 10000000}]-1 f v
        r xcfgset s idmp-duration 1
        set a [idmp s p a]
        after 1300
        assert_equal $a [idmp s p a]
    }

    # ---- XIDMPRECORD ----

    test {XIDMPRECORD} {
        r del s
        foreach {args error} {
            {s p i bad} "ERR Invalid stream ID specified as stream command argument" {s {} i *} "ERR Invalid stream ID specified as stream command argument"
            {s {} {} 1-1} "ERR producer ID must be non-empty" {s p {} 1-1} "ERR idempotent ID must be non-empty" {s p i 1-1} "ERR no such key" {text p i 1-1} WRONGTYPE*
        } {
            assert_error $error {r xidmprecord {*}$args} $args
        }
        assert_error "*wrong number of arguments*" {r xidmprecord s p i}
        set a [idmp s p a]
        set b [r xadd s * f v]
        assert_error "ERR No such message in stream" {r xidmprecord s p i 1-1}
        assert_equal OK [r xidmprecord s p b $b]
        assert_equal OK [r xidmprecord s p b $b]
        assert_error "ERR IID already exists for this producer with a different stream ID" {r xidmprecord s p b $a}
        assert_equal $b [idmp s p b]
        assert_equal {2 {1 2 2 1}} [list [r xlen s] [records]]
        r xadd plain $b f v
        assert_equal OK [r xidmprecord plain p i $b]
        assert_equal $b [idmp plain p i]
    }

    # ---- Copies, files, memory ----

    proc assert_remembered {key ids} {
        foreach {iid id} $ids { assert_equal $id [r xadd $key idmp p $iid nomkstream * f v] "$key $iid" }
    }
    # A stream with ids that are numbers, bytes and long, and limits of its own; returns its ids.
    proc fill_idmp {key} {
        r del $key
        r xadd $key * f v
        r xcfgset $key idmp-duration 5000 idmp-maxsize 150
        set ids {}
        for {set i 0} {$i < 200} {incr i} {
            set id [idmp $key p $i]
            if {$i >= 52} { lappend ids $i $id }
        }
        foreach iid [list \0\r\n [string repeat y 200]] { lappend ids $iid [idmp $key p $iid] }
        for {set i 0} {$i < 20} {incr i} { r xadd $key idmpauto q$i * n $i }
        return $ids
    }

    test {COPY, RENAME, DUMP and RESTORE, RELOAD, and the append-only file keep what is remembered} {
        set ids [fill_idmp s]
        r xdel s [dict get $ids 100]
        set before [r dump s]
        set facts [concat [limits] [records]]
        r copy s copied
        r restore restored 0 $before
        r rename s renamed
        r debug reload
        foreach key {copied restored renamed} {
            assert_equal $facts [concat [limits $key] [records $key]] $key
        }
        foreach key {copied restored renamed} { assert_remembered $key $ids }
        assert_equal [r debug digest-value copied] [r debug digest-value restored]
        assert_equal stream [r object encoding copied]
        foreach preamble {yes no} {
            config_set aof-use-rdb-preamble $preamble
            config_set appendonly yes
            aof_wait_rewrite
            r debug loadaof
            config_set appendonly no
            foreach key {copied restored renamed} {
                assert_equal [lrange $facts 0 3] [lrange [concat [limits $key] [records $key]] 0 3] "$key $preamble"
                assert_remembered $key $ids
            }
        }
        r copy copied db5 db 5
        r select 5
        assert_remembered db5 $ids
        r select 0
    }

    test {a stream is saved in the old form when nothing is remembered and its limits are usual} {
        r flushall
        r xadd s 1-1 f v
        assert_equal 21 [scan [r dump s] %c]
        idmp s p i
        assert_equal 26 [scan [r dump s] %c]
        r save
        assert_equal VALKEY900 [string range [read_file [config_get dir]/dump.rdb] 0 8]
        r xcfgset s idmp-duration 1
        idmp s p i
        wait_for_condition 100 50 {[fact iids-tracked] == 0} else { fail "the id is remembered" }
        assert_equal 26 [scan [r dump s] %c] "its limits are not usual"
        r xcfgset s idmp-duration 100
        assert_equal 21 [scan [r dump s] %c]
        wait_for_condition 100 50 {[r save] eq "OK" && [string range [read_file [config_get dir]/dump.rdb] 0 8] eq "REDIS0011"} else {
            fail "the file has another version"
        }
    }

    test {memory is counted, and freed on the thread} {
        r flushall
        set plain [s used_memory]
        r xadd s * f v
        set small [r memory usage s]
        r xcfgset s idmp-maxsize 10000
        for {set i 0} {$i < 2000} {incr i} { r xadd s idmp p iid:$i maxlen 0 * f v }
        for {set i 0} {$i < 2000} {incr i} { r xadd s idmpauto pid:$i maxlen 0 * f $i }
        set counted [expr {[r memory usage s samples 0] - $small}]
        assert_range [expr {1.0 * $counted / ([s used_memory] - $plain)}] 0.7 1.3
        assert_range $counted [expr {4000 * 60}] [expr {4000 * 140}]
        set freed [s lazyfreed_objects]
        r unlink s
        wait_for_condition 100 20 {[s lazyfreed_objects] > $freed} else { fail "freed here" }
        wait_for_condition 100 20 {[s used_memory] - $plain < 100000} else { fail "[s used_memory] bytes, $plain before" }
    }

    test {what leaves the keyspace is no longer looked after: DEL, FLUSHALL, SWAPDB, overwriting, expiry} {
        r flushall
        # The version of the file tells whether such a stream is known of.
        foreach {way commands} {del {{del a}} unlink {{unlink a}} overwritten {{set a v} {del a}} renamed {{rename a b} {del b}} moved {{move a 4} {flushall}}} {
            idmp a p i
            r save
            assert_equal VALKEY900 [string range [read_file [config_get dir]/dump.rdb] 0 8] $way
            foreach command $commands { r {*}$command }
            r save
            assert_equal REDIS0011 [string range [read_file [config_get dir]/dump.rdb] 0 8] $way
        }
        foreach key {a b c d e f} { idmp $key p i }
        r del a; r set b v; r rename c d; r pexpire e 1; r swapdb 0 3
        r select 3
        set id [idmp d p i]
        r xcfgset d idmp-duration 1
        idmp d p i
        wait_for_condition 100 50 {[fact iids-tracked d] == 0} else { fail "the id is remembered" }
        r flushall async
        idmp g p i
        assert_equal 1 [fact iids-tracked g]
        r select 0
        r flushall
    }

    test {defragmentation moves streams, producers and ids} {
        r flushall
        set ids {}
        foreach key {s t} { dict set all $key [fill_idmp $key] }
        for {set i 0} {$i < 10} {incr i} { r debug defrag-all }
        foreach key {s t} { assert_remembered $key [dict get $all $key] }
        foreach key {s t} { r xcfgset $key idmp-duration 1; assert_equal {0 0} [lrange [records $key] 0 1] }
    }

    # ---- Transactions, scripts, propagation ----

    test {XADD IDMP in transactions and scripts} {
        r del s
        r multi
        idmp s p a; idmp s p a; r xadd s idmpauto p * f v; r xadd s idmpauto p * f v
        lassign [r exec] a b c d
        assert_equal [list $a $c] [list $b $d]
        set script {return {server.call('XADD', KEYS[1], 'IDMP', 'p', ARGV[1], '*', 'f', 'v'), server.call('XADD', KEYS[1], 'IDMP', 'p', ARGV[1], '*', 'f', 'v')}}
        assert_equal [list $a $a] [r eval $script 1 s a]
        lassign [r eval $script 1 s b] a b
        assert_equal $a $b
        assert_equal {3 {1 3 3 5}} [list [r xlen s] [records]]
    }
}

start_server {tags {stream} overrides {save {} appendonly yes appendfsync always auto-aof-rewrite-percentage 0}} {
    proc idmp_written {args} {
        set before [llength [aof_commands]]
        {*}$args
        return [lrange [aof_commands] $before end]
    }

    test {idempotence is propagated in the form of Redis 8.6, a duplicate not at all} {
        r xadd s 1-1 f v
        foreach {option} {{IDMP p a} {IDMPAUTO p} {IDMP p b maxlen 5} {IDMP limit ~ maxlen = 9}} {
            set id {}
            assert_equal [list [list xadd s {*}$option ID f v]] \
                [lmap command [idmp_written r xadd s {*}$option * f v] { lreplace $command end-2 end-2 ID }]
            assert_equal {} [idmp_written r xadd s {*}$option * f v]
        }
        set written [lindex [idmp_written r xadd s idmp limit maxlen maxlen ~ 1 limit 5 * f v] 0]
        assert_equal {xadd s idmp limit maxlen maxlen = 6} [lrange $written 0 end-3]
        assert_equal {xadd s IDMP p c maxlen 4} [lrange [lindex [idmp_written r xadd s maxlen 4 IDMP p c * f v] 0] 0 6]
        r xgroup create s g 0
        r xreadgroup group g c streams s >
        r xack s g {*}[lmap entry [lrange [r xrange s - +] 1 end] { lindex $entry 0 }]
        set written [idmp_written r xadd s acked maxlen 1 idmp p gaps * f v]
        assert_equal {MULTI {xadd s idmp p gaps} {XDEL s} {XSETID s} EXEC} \
            [list {*}[lindex $written 0] [lrange [lindex $written 1] 0 4] [lrange [lindex $written 2] 0 1] [lrange [lindex $written 3] 0 1] {*}[lindex $written 4]]
        assert_equal {{xcfgset s idmp-maxsize 7}} [idmp_written r xcfgset s idmp-maxsize 7]
        assert_equal {} [idmp_written r xcfgset s idmp-maxsize 7]
        set id [r xadd s * f v]
        assert_equal [list [list xidmprecord s p z $id]] [idmp_written r xidmprecord s p z $id]
        assert_equal {} [idmp_written r xidmprecord s p z $id]
    }

    test {after a restart the ids are remembered} {
        foreach i {1 2 3} { set given($i) [r xadd s idmp p $i * f v]; set auto($i) [r xadd s idmpauto p * f $i] }
        r debug loadaof
        foreach i {1 2 3} {
            assert_equal [list $given($i) $auto($i)] [list [r xadd s idmp p $i nomkstream * f v] [r xadd s idmpauto p nomkstream * f $i]]
        }
    }

    test {a duplicate in a file of Redis 8 adds nothing, whether the id is known or not} {
        r del s
        set id [r xadd s idmp p a * f v]
        set command "*8\r\n\$4\r\nXADD\r\n\$1\r\ns\r\n\$4\r\nIDMP\r\n\$1\r\np\r\n\$1\r\nIID\r\n\$1\r\n*\r\n\$1\r\nf\r\n\$1\r\nv\r\n"
        set path [aof_path incr]
        config_set appendonly no
        config_set appendonly yes
        aof_wait_rewrite
        set file [open [aof_path incr] ab]
        foreach iid {a b} { puts -nonewline $file [string map [list IID $iid] $command] }
        close $file
        r debug loadaof
        assert_equal 1 [r xlen s]
        assert_equal $id [r xadd s idmp p a nomkstream * f v]
    }
}

# ---- Payloads ----

start_server {tags {stream} overrides {save {}}} {
    test {RESTORE of payloads of Redis 8.6.3, and of broken ones} {
        # An empty stream; limits of 100 and 7; producer p with ids 1 (a number) and ab; 9 added, 4 duplicates.
        proc payload {limits producers {counters {9 4}}} {
            set body [binary decode hex 1a]
            append body [string repeat \0 2] \5\0 [string repeat \0 6] $limits
            append body [binary format c [llength $producers]]
            foreach producer $producers {
                lassign $producer name records
                append body [dump_string $name] [binary format c [expr {[llength $records] / 2}]]
                foreach {iid entry} $records { append body [dump_string $iid] [binary format cc {*}$entry] }
            }
            return [dump_seal [append body [binary format cc {*}$counters]] 13]
        }
        set usual [binary decode hex 40644064]
        assert_equal OK [r restore s 0 [payload [binary decode hex 406407] {{p {1 {3 0} ab {3 1}}} {q {1 {2 0}}}}] replace]
        assert_equal {100 7 2 3 9 4} [concat [limits] [records]]
        assert_equal OK [r restore s 0 [payload $usual {}] replace]
        assert_equal {100 100 0 0 9 4} [concat [limits] [records]]
        assert_equal OK [r restore s 0 [payload $usual {} {0 0}] replace]
        assert_error *idmp-duration* {fact idmp-duration} "a plain stream"
        set before [r dump s]
        foreach {what limits producers} [list \
            {no duration} \0\5 {} {no size} \5\0 {} {a long duration} [binary decode hex 800001518105] {} {a large size} [binary decode hex 056711] {} \
            {an id twice} $usual {{p {a {1 0} a {2 0}}}} {an empty id} $usual {{p {{} {1 0}}}} {no name} $usual {{{} {a {1 0}}}} \
            {too many ids} \5\1 {{p {a {1 0} b {2 0}}}} {a producer twice, with the same id} $usual {{p {a {1 0}}} {p {a {2 0}}}}] {
            assert_error "ERR Bad data format" {r restore s 0 [payload $limits $producers] replace} $what
        }
        set good [dump_body [payload $usual {{p {a {1 0}}}}]]
        for {set n 12} {$n < [string length $good]} {incr n} {
            assert_error "ERR Bad data format" {r restore s 0 [dump_seal [string range $good 0 $n-1] 13] replace} "$n bytes"
        }
        assert_equal $before [r dump s]
    }
}

# ---- Replicas ----

proc same_ids {primary replica} {
    catch_up $replica $primary
    foreach key {s t} {
        assert_equal [r $primary xrange $key - +] [r $replica xrange $key - +] $key
    }
}
proc send_idmp {primary} {
    r $primary xadd s * f v
    r $primary xcfgset s idmp-duration 5000 idmp-maxsize 20
    for {set i 0} {$i < 50} {incr i} {
        r $primary xadd s idmp p [expr {$i % 30}] maxlen ~ 30 * f v
        r $primary xadd s idmpauto q$i nomkstream * n [expr {$i % 3}]
        r $primary xadd t idmp ~ limit maxlen ~ 3 limit 2 * f $i
    }
    set id [r $primary xadd s * f v]
    r $primary xidmprecord s q $id $id
}

start_servers {primary {kind ours} replica {kind ours}} {
    set primary [at primary]
    set replica [at replica]
    test {a replica remembers the same ids, from the snapshot and from the stream} {
        send_idmp $primary
        follow $replica $primary
        for {set i 0} {$i < 2} {incr i} {
            same_ids $primary $replica
            foreach key {s t} {
                foreach name {idmp-duration idmp-maxsize pids-tracked iids-tracked} {
                    assert_equal [dict get [r $primary xinfo stream $key] $name] [dict get [r $replica xinfo stream $key] $name] "$key $name"
                }
            }
            send_idmp $primary
        }
        set id [r $primary xadd s idmp last one * f v]
        catch_up $replica $primary
        r $replica replicaof no one
        assert_equal $id [r $replica xadd s idmp last one * f v]
    }
}

foreach kind {valkey redis8} {
    if {[expr {$kind eq "redis8" ? [redis8] : [valkey_oracle]}] eq {}} continue
    start_servers [list primary {kind ours overrides {appendonly yes appendfsync always}} replica [list kind $kind]] {
        set primary [at primary]
        set replica [at replica]
        if {$kind eq "valkey"} {
            test {a replica of 9.1.2 has the entries, and gets nothing that it does not know} {
                send_idmp $primary
                follow $replica $primary
                send_idmp $primary
                same_ids $primary $replica
                r $primary xcfgset s idmp-duration 10
                same_ids $primary $replica
                assert_equal 0 [count_log_message "CRITICAL" $replica]
                # It comes back: there is no difference in between.
                r $replica replicaof no one
                wait_for_condition 100 20 {[s $primary connected_slaves] == 0} else { fail "it is still there" }
                r $primary xadd s idmp p 1 * f v
                r $primary xcfgset s idmp-duration 11
                follow $replica $primary
                same_ids $primary $replica
                assert_equal 0 [count_log_message "CRITICAL" $replica]
                # The file does not have the option either, until the backlog has gone that such a replica could continue from.
                proc last_written {primary} { return [lindex [aof_commands [srv $primary dir]/appendonlydir/appendonly.aof.1.incr.aof] end] }
                r $primary xadd s idmp p old * f v
                assert_equal 5 [llength [last_written $primary]]
                r $replica replicaof no one
                r $primary config set repl-backlog-ttl 1
                wait_for_condition 200 50 {[s $primary repl_backlog_active] == 0} else { fail "the backlog stays" }
                r $primary xadd s idmp p new * f v
                assert_equal {IDMP p new} [string map {idmp IDMP} [lrange [last_written $primary] 2 4]]
            }
        } else {
            test {a replica of Redis 8 has the same ids} {
                send_idmp $replica
                r $replica xadd s idmp dup a * f v
                follow $primary $replica
                send_idmp $replica
                set id [r $replica xadd s idmp dup a * f v]
                assert_equal $id [r $replica xadd s idmp dup a * f v]
                same_ids $replica $primary
                foreach key {s t} {
                    foreach name {idmp-duration idmp-maxsize pids-tracked iids-tracked} {
                        assert_equal [dict get [r $replica xinfo stream $key] $name] [dict get [r $primary xinfo stream $key] $name] "$key $name"
                    }
                }
                r $primary replicaof no one
                assert_equal $id [r $primary xadd s idmp dup a * f v]
            }
        }
    }
}

if {[valkey_oracle] ne {}} {
    start_servers {first {kind ours} second {kind ours} old {kind valkey}} {
        test {a replica of 9.1.2 that continues at a new primary gets nothing that it does not know} {
            lassign [list [at first] [at second] [at old]] first second old
            r $first xadd s * f v
            follow $second $first
            follow $old $first
            catch_up $second $first
            catch_up $old $first
            r $second replicaof no one
            follow $old $second
            assert_equal 1 [s $second sync_partial_ok]
            send_idmp $second
            same_ids $second $old
            assert_equal 0 [count_log_message "CRITICAL" $old]
        }
    }
}
