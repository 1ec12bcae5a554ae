# Data of Redis 7.4 to 8.6: what the living Redis 8 writes is loaded here, key by key the same, and the other way round; and
# what is made by hand after the bytes that it writes. The servers in between wrote version 12, which is 13 without idempotence records.
source [file join [file dirname [info script]] rdb_util.tcl]
source [file join [file dirname [info script]] aof_util.tcl]
source $::support/values.tcl

# What a key holds, and when it and its fields expire.
proc whole_content {level key} {
    set all [list [content $level $key] [r $level pexpiretime $key]]
    # Idempotence records are compared in a test of their own.
    regsub { idmp-duration \d+ idmp-maxsize \d+ pids-tracked \d+ iids-tracked \d+ iids-added \d+ iids-duplicates \d+} $all {} all
    regsub -all { lag (\d+|{})} $all {} all ;# Redis counts the entries that are gone as read
    if {[r $level type $key] ne "hash"} { return $all }
    set fields [lsort [r $level hkeys $key]]
    return [list {*}$all [r $level hpexpiretime $key fields [llength $fields] {*}$fields]]
}

# `except` is what need not be the same.
proc assert_same_contents {from to {except {}}} {
    set keys [lsort [r $from keys *]]
    assert_equal $keys [lsort [r $to keys *]]
    foreach key $keys {
        foreach level [list $from $to] { set found($level) [regsub -all $except [whole_content $level $key] {}] }
        assert_equal $found($from) $found($to) $key
    }
}

# Hashes of random sizes, from a random number of whose fields the expiry has been set, and removed from some again.
proc fill_expiring_hashes {level count} {
    for {set i 0} {$i < $count} {incr i} {
        set fields {}
        set n [expr {1 + int(pow(2, rand() * 10))}]
        for {set f 0} {$f < $n} {incr f} { lappend fields [expr {rand() < 0.2 ? $f * 1001 : "field:$f"}] }
        r $level hset expiring:$i {*}[concat {*}[lmap f $fields { list $f [randstring 0 [expr {rand() < 0.01 ? 300 : 20}]] }]]
        for {set times [expr {int(rand() * 5)}]} {$times > 0} {incr times -1} {
            set some [lrange $fields 0 [expr {int(rand() * $n)}]]
            set at [expr {4102444800000 + int(rand() * (rand() < 0.5 ? 1000 : 1e11))}]
            r $level hpexpireat expiring:$i $at fields [llength $some] {*}$some
            set some [lrange $fields [expr {int(rand() * $n)}] end]
            if {rand() < 0.3} { r $level hpersist expiring:$i fields [llength $some] {*}$some }
        }
    }
}

proc fill_redis8 {level} {
    r $level flushall
    fill_all $level
    fill_expiring_hashes $level 60
    r $level set expires v pxat 4102444800123
    r $level hset expires:hash a 1 b 2
    r $level pexpireat expires:hash 4102444800456
    r $level hpexpireat expires:hash 4102444800789 fields 1 b
    r $level function load replace "#!lua name=lib\nredis.register_function('f', function() return 'from there' end)"
}

# Commands of all kinds, for the increments of an append-only file.
proc change_redis8 {level} {
    r $level set later 1 px 100000000
    r $level hset expiring:new a 1 b 2 c 3 d 4 e 5
    r $level hexpire expiring:new 100000 fields 2 a b
    r $level hpexpire expiring:new 1 fields 1 c
    r $level hsetex expiring:new ex 5000 fields 2 x 1 y 2
    r $level hgetex expiring:new persist fields 1 a
    r $level hgetdel expiring:new fields 1 d
    r $level rename list:100 list:renamed
    r $level lpop list:3000 5
    r $level incrbyfloat float 1.5
    r $level spop set:texts:1000 10
    r $level zpopmin zset:2000 3
    r $level getex expires persist
    r $level msetex 2 m1 1 m2 2 ex 5000
    r $level set m3 1
    r $level delex m3 ifeq 1
    r $level multi
    r $level set in transaction
    r $level incr counter
    r $level exec
    r $level eval {redis.call('set', KEYS[1], 'script')} 1 scripted
    after 20
    assert_equal 0 [r $level hexists expiring:new c]
}

start_servers {
    theirs {kind redis8 overrides {save {} aof-use-rdb-preamble yes auto-aof-rewrite-percentage 0}}
    ours {kind ours overrides {save {}}}
} {
    set theirs [at theirs]
    set ours [at ours]

    proc load_theirs {theirs ours} {
        r $theirs save
        file copy -force [srv $theirs dir]/dump.rdb [srv $ours dir]/dump.rdb
        r $ours debug reload nosave
    }

    foreach policy {noeviction allkeys-lru allkeys-lfu} {
        test "a file of Redis 8, maxmemory-policy $policy" {
            r $theirs config set maxmemory-policy $policy
            fill_redis8 $theirs
            r $theirs select 9
            r $theirs set other database
            load_theirs $theirs $ours
            r $ours select 9
            assert_equal database [r $ours get other]
            r $theirs flushdb
            r $theirs select 0
            r $ours select 0
            assert_same_contents $theirs $ours
            assert_equal {from there} [r $ours fcall f 0]
            lassign [check_rdb [srv $theirs dir]/dump.rdb] code output
            assert_equal 0 $code
            assert_match "*redis-ver = '8.*looks OK!*1 functions*" $output
            # It can be saved again in our format.
            r $ours debug reload
            assert_same_contents $theirs $ours
        }
    }

    test {RESTORE of what DUMP of Redis 8 returns} {
        r $theirs config set maxmemory-policy noeviction
        fill_redis8 $theirs
        r $ours flushall
        foreach key [r $theirs keys *] {
            set at [r $theirs pexpiretime $key]
            assert_equal OK [r $ours restore $key [expr {max($at, 0)}] [r $theirs dump $key] absttl]
        }
        assert_same_contents $theirs $ours
    }

    test {hashes of Redis 8 with fields that expire: encodings, and fields that are over} {
        r $theirs flushall
        r $theirs debug set-active-expire 0
        r $theirs hset small a 1 b 2
        r $theirs hpexpireat small 4102444800000 fields 1 a
        r $theirs hset large a [string repeat x 100] b 2 c 3
        r $theirs hpexpireat large 4102444800000 fields 1 a
        assert_equal {listpackex hashtable} [list [r $theirs object encoding small] [r $theirs object encoding large]]
        foreach {key field} {small:over a large:over b} {
            r $theirs hset $key a [string repeat x [expr {$key eq "small:over" ? 1 : 100}]] b 2
            r $theirs hpexpire $key 1 fields 1 $field
        }
        r $theirs hset all:over a 1
        r $theirs hpexpire all:over 1 fields 1 a
        after 5
        load_theirs $theirs $ours
        assert_equal {large large:over small small:over} [lsort [r $ours keys *]]
        assert_equal {listpack hashtable} [list [r $ours object encoding small] [r $ours object encoding large]]
        assert_equal {b 2} [r $ours hgetall small:over]
        assert_equal [list a [string repeat x 100]] [r $ours hgetall large:over]
        r $theirs debug set-active-expire 1
    }

    test {a file of version 12, as Redis 7.4 to 8.4 write it} {
        r $theirs flushall
        r $theirs mset a 1 b [string repeat x 100]
        fill_expiring_hashes $theirs 5
        r $theirs save
        # Without streams, only the magic differs.
        set bytes [string range [read_file [srv $theirs dir]/dump.rdb] 9 end-9]
        write_bytes [srv $ours dir]/dump.rdb [rdb_file REDIS0012 $bytes]
        r $ours debug reload nosave
        assert_same_contents $theirs $ours
        foreach key [r $theirs keys *] {
            r $ours restore $key 0 [dump_seal [dump_body [r $theirs dump $key]] 12] replace
        }
        assert_same_contents $theirs $ours
    }

    test {FUNCTION RESTORE of what FUNCTION DUMP of Redis 8 returns} {
        r $theirs function load replace "#!lua name=lib\nredis.register_function('f', function() return 'dumped there' end)"
        assert_equal OK [r $ours function restore [r $theirs function dump] flush]
        assert_equal {dumped there} [r $ours fcall f 0]
    }

    test {a vector set of Redis 8 ends the load with its key, or is skipped} {
        r $theirs flushall
        r $theirs set k v
        r $theirs vadd vectors values 3 1 2.5 -3 element setattr {{"a": 1}}
        for {set i 0} {$i < 300} {incr i} { r $theirs vadd vectors:more values 3 $i [expr {$i * $i}] 1 e$i }
        r $theirs vadd vectors:binary values 3 1 2 3 e bin
        r $theirs set l w
        set size [file size [srv $ours log]]
        assert_error ERR* { load_theirs $theirs $ours }
        set log [string range [read_file [srv $ours log]] $size end]
        assert_match {*Loading failed within the value of key "vectors*" in database 0*With rdb-skip-unknown-types yes*} $log
        assert_match {*there is a value of the module type 'vectorset', but no loaded module provides that type*} $log
        assert_error {ERR Bad data format: there is a value of the module type 'vectorset'*} {
            r $ours restore vectors 0 [r $theirs dump vectors]
        }
        r $ours config set rdb-skip-unknown-types yes
        load_theirs $theirs $ours
        assert_equal {k l} [lsort [r $ours keys *]]
        assert_equal 3 [s $ours rdb_last_load_keys_skipped]
        assert_match "*(vectorset 3)*" [lindex [check_rdb [srv $theirs dir]/dump.rdb] 1]
        r $ours config set rdb-skip-unknown-types no
    }

    # ---- The way back ----

    foreach {version magic} {11 REDIS0011 12 REDIS0012 13 REDIS0013} {
        test "Redis 8 loads our files of version $version" {
            r $ours config set rdb-compatible-version $version
            fill_redis8 $ours
            if {$version == 11} { r $ours del {*}[r $ours keys expir*] }
            # Fields past their expiry are in the file; the reader drops them. A late expiry becomes the last that Redis has.
            if {$version > 11} {
                r $ours debug set-active-expire 0
                r $ours hset over:small a 1 b 2
                r $ours hset over:large a [string repeat x 100] b 2
                foreach key {over:small over:large} { r $ours hpexpire $key 1 fields 1 a }
                r $ours hset late a 1 b 2
                r $ours hpexpireat late 9223372036854775000 fields 1 a
                after 5
            }
            r $ours save
            r $ours debug set-active-expire 1
            assert_equal $magic [string range [read_file [srv $ours dir]/dump.rdb] 0 8]
            file copy -force [srv $ours dir]/dump.rdb [srv $theirs dir]/dump.rdb
            assert_equal OK [r $theirs debug reload nosave]
            if {$version > 11} {
                set late {}
                foreach level [list $ours $theirs] {
                    assert_equal 2 [r $level hget late b]
                    lappend late [r $level hpexpiretime late fields 2 a b]
                    r $level del late
                }
                assert_equal {{9223372036854775000 -1} {281474976710655 -1}} $late
            }
            assert_same_contents $ours $theirs
            assert_equal {from there} [r $theirs fcall f 0]
            # What Redis makes of it comes back.
            load_theirs $theirs $ours
            assert_same_contents $theirs $ours
        }
    }

    test {a path hash does not fit into versions of Redis} {
        r $ours flushall
        r $ours phset paths a/b FIELDS 1 f v
        r $ours config set hide-user-data-from-log no
        foreach version {12 13} {
            r $ours config set rdb-compatible-version $version
            set size [file size [srv $ours log]]
            assert_error ERR* { r $ours save }
            assert_match "*Can't store key 'paths' (db 0) in RDB version $version*" [string range [read_file [srv $ours log]] $size end]
        }
        r $ours flushall
        r $ours config set rdb-compatible-version 0
    }

    test {Redis 8 loads our append-only file: a base of version 13 and increments} {
        start_server {overrides {appendonly yes auto-aof-rewrite-percentage 0 rdb-compatible-version 13}} {
            set there [at theirs]
            fill_redis8 0
            r bgrewriteaof
            aof_wait_rewrite
            change_redis8 0
            assert_equal REDIS0013 [string range [read_file [aof_path base]] 0 8]
            set dir $::work_dir/our_aof
            file delete -force $dir
            file mkdir $dir
            file copy [srv dir]/appendonlydir $dir/appendonlydir
            start_server [list executable [redis8] overrides [list appendonly yes dir $dir]] {
                assert_same_contents -1 0
                assert_equal {from there} [r fcall f 0]
            }
        }
    }

    test {DUMP and MIGRATE write what Redis 8 restores, with rdb-compatible-version 12} {
        r $ours config set rdb-compatible-version 12
        fill_redis8 $ours
        r $theirs flushall
        foreach key [r $ours keys expiring:*] {
            assert_equal OK [r $theirs restore $key 0 [r $ours dump $key]]
            assert_equal [whole_content $ours $key] [whole_content $theirs $key] $key
        }
        r $theirs flushall
        set keys [r $ours keys *]
        assert_equal OK [r $ours migrate [srv $theirs host] [srv $theirs port] {} 0 5000 copy keys {*}$keys]
        # What MIGRATE passes on is how long keys live.
        foreach key {expires expires:hash} {
            assert_range [expr {[r $ours pexpiretime $key] - [r $theirs pexpiretime $key]}] -1000 1000
            foreach level [list $ours $theirs] { r $level persist $key }
        }
        assert_same_contents $ours $theirs
        r $ours config set rdb-compatible-version 0
    }

    foreach preamble {yes no} {
        test "an append-only file of Redis 8: base and increments, aof-use-rdb-preamble $preamble" {
            r $theirs config set aof-use-rdb-preamble $preamble
            fill_redis8 $theirs
            r $theirs config set appendonly yes
            wait_for_condition 200 50 {[s $theirs aof_rewrite_in_progress] == 0 && [s $theirs aof_rewrite_scheduled] == 0} else {
                fail "the rewrite does not end"
            }
            r $theirs config set aof-timestamp-enabled yes
            change_redis8 $theirs
            set dir $::work_dir/redis8_aof
            file delete -force $dir
            file mkdir $dir
            file copy [srv $theirs dir]/appendonlydir $dir/appendonlydir
            # Commands lose what is pending of entries that are gone; Redis loses it as well.
            if {!$preamble} { r $theirs debug loadaof }
            r $theirs config set appendonly no
            assert_match "*startoffset*" [read_file $dir/appendonlydir/appendonly.aof.manifest]
            start_server [list overrides [list appendonly yes dir $dir]] {
                set there [at theirs]
                # No command shows when a consumer was last seen.
                set except [expr {$preamble ? {} : {seen-time \d+}}]
                assert_same_contents $there 0 $except
                assert_equal {from there} [r fcall f 0]
                r set after restart
                r bgrewriteaof
                aof_wait_rewrite
                restart_server
                r del after
                assert_same_contents $there 0 $except
            }
        }
    }
}

start_servers {
    theirs {kind redis8 overrides {save {} cluster-enabled yes}}
    ours {kind ours overrides {save {}}}
    cluster {kind ours overrides {save {} cluster-enabled yes}}
} {
    test {a file of a node of Redis 8's cluster} {
        r [at theirs] cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[regexp {cluster_state:ok} [r [at theirs] cluster info]]} else { fail "the cluster is not ok" }
        for {set i 0} {$i < 300} {incr i} { r [at theirs] set key:$i $i }
        fill_expiring_hashes [at theirs] 20
        r [at theirs] save
        r [at cluster] cluster addslotsrange 0 16383
        wait_for_condition 100 50 {[regexp {cluster_state:ok} [r [at cluster] cluster info]]} else { fail "the cluster is not ok" }
        foreach name {ours cluster} {
            file copy -force [srv [at theirs] dir]/dump.rdb [srv [at $name] dir]/dump.rdb
            r [at $name] debug reload nosave
            assert_same_contents [at theirs] [at $name]
        }
    }
}

# ---- Data that have no equivalent here -------------------------------------------------------------------------

# A value of a module type, as Redis writes it: its id has the name and a version.
proc module_id {name {version 0}} {
    set letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_
    set id 0
    foreach letter [split $name {}] { set id [expr {$id << 6 | [string first $letter $letters]}] }
    return \x81[binary format W [expr {$id << 10 | $version}]]
}
proc module_key {key name} { return \x07[dump_string $key][module_id $name 1]\x02\x05\x05\x03abc\x00 }
proc string_key {key} { return \x00[dump_string $key]\x01v }
# Metadata of a key: class mrze, which says that it can be ignored, or mrzf, which does not.
proc metadata {flags} { return \xf3\x01[binary format i [expr {0x9abcde00 | $flags}]]\x02\x05\x05\x03abc\x00 }

start_server {overrides {appendonly yes appendfsync no auto-aof-rewrite-percentage 0}} {
    test {RESTORE and FUNCTION RESTORE of payloads of Redis are propagated as payloads that Valkey reads} {
        set plain [dump_seal "\x00\x01v" 13]
        set hash [dump_seal "\x18[binary format w 4102444800000]\x02\x01\x01a\x01b\x00\x01c\x01d" 12]
        set library "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        set seen [llength [aof_commands]]
        r restore k 0 $plain
        r restore h 4102444800456 $hash absttl
        r restore h 1000000 $hash replace
        r restore own 0 [r dump k]
        r function restore [dump_seal \xf5[dump_string $library] 13] replace
        set commands [lrange [aof_commands] $seen end]
        if {[lindex $commands 0 0] eq "SELECT"} { set commands [lrange $commands 1 end] }
        assert_equal [list restore k 0 [dump_seal "\x00\x01v" 11]] [lindex $commands 0]
        assert_equal [list restore h 4102444800456 [r dump h] absttl] [lindex $commands 1]
        assert_equal [list restore h [r pexpiretime h] [r dump h] replace ABSTTL] [lindex $commands 2]
        assert_equal [list restore own 0 [r dump k]] [lindex $commands 3]
        assert_equal [list function restore [dump_seal \xf5[dump_string $library] 11] replace] [lindex $commands 4]
        assert_equal 5 [llength $commands]
        set digest [r debug digest]
        r debug loadaof
        assert_equal $digest [r debug digest]
        assert_equal {4102444800000 -1 1} [list {*}[r hpexpiretime h fields 2 a c] [r fcall f 0]]
    }
}

start_servers {ours {kind ours overrides {save {}}} follower {kind valkey overrides {save {}}}} {
    test {a replica with Valkey 9.1 follows RESTORE of payloads of Redis} {
        follow follower ours
        r [at ours] restore k 0 [dump_seal "\x00\x01v" 13]
        r [at ours] restore h 0 [dump_seal "\x18[binary format w 4102444800000]\x02\x01\x01a\x01b\x00\x01c\x01d" 12]
        wait_for_offset follower ours
        assert_same_contents [at ours] [at follower]
    }
}

tags {external:skip} {
    # Each with the database, the key, and what the log says.
    set cases [list \
        {a value of a module} \xfe\x05[module_key "bad\x01key" vectorset] \
            {*"bad\x01key" in database 5, which has RDB type 7 (module-value)*With rdb-skip-unknown-types yes*} \
            "there is a value of the module type 'vectorset', but no loaded module provides that type" \
        {an unknown type} \xfe\x05\x1c\x03key\x00 \
            {*"key" in database 5, which has RDB type 28 ()*The end of such a value cannot be found. Delete the key*} \
            "unknown type of value: 28" \
        {a type of a pre-release version} \x16\x03key\x00 \
            {*"key" in database 0, which has RDB type 22 ()*Delete the key*} "type of value 22 was written by a pre-release version" \
        {a path hash} \x17\x03key\x00 {*"key" in database 0*Delete the key*} "pre-release" \
        {metadata of a key} [metadata 0xf0][string_key key] \
            {*"key" in database 0, which has RDB type 0 (string)*With rdb-skip-unknown-types yes*} \
            "the key has metadata of the class 'mrze', which no module provides" \
        {data of a module beside the keys} \xf7[module_id vectorset]\x02\x01\x00 {*With rdb-skip-unknown-types yes*} \
            "The RDB file holds auxiliary data of the module 'vectorset', which is not loaded" \
    ]
    foreach {name body shown reason} $cases {
        test "the server says which key has $name, and what to do" {
            set dir $::work_dir/unknown
            file mkdir $dir
            set bytes [rdb_file REDIS0013 [string_key first]$body[string_key last]]
            write_bytes $dir/dump.rdb $bytes
            lassign [run_to_end --port [free_port] --bind 127.0.0.1 --dir $dir --save 900 1] code output
            assert_equal 1 $code
            assert_match [string map {\[ \\[ \\ \\\\} $shown] $output
            assert_match "*Internal error in RDB reading offset *: *$reason*" $output
            assert_equal $bytes [read_file $dir/dump.rdb]
        }
    }

    start_server {overrides {save {} loglevel notice}} {
        proc load_bytes {magic body} {
            write_bytes [srv dir]/dump.rdb [rdb_file $magic $body]
            return [r debug reload nosave]
        }
        proc log_since {size} { return [string range [read_file [srv log]] $size end] }

        test {rdb-skip-unknown-types: what has an end is skipped, listed and counted} {
            r config set rdb-skip-unknown-types yes
            set size [file size [srv log]]
            set body [string_key a]\xf7[module_id other-mod]\x02\x01\x05\x03abc\x00[module_key vectors vectorset]
            append body [metadata 0xf1][string_key b][metadata 0xf0][string_key c][metadata 0][module_key both vectorset]
            append body \xfe\x03[module_key "\x00\"" ReJSON-RL]\xfc[binary format w 1][module_key over vectorset][string_key d]
            append body [module_key [string repeat x 300] vectorset]
            load_bytes REDIS0013 $body
            assert_equal 3 [r dbsize]
            assert_equal {v v v} [r mget a b c]
            r select 3
            assert_equal {v 1} [list [r get d] [r dbsize]]
            r select 0
            assert_equal {4 4 1} [list [s rdb_last_load_keys_loaded] [s rdb_last_load_keys_skipped] [s rdb_last_load_keys_expired]]
            set log [log_since $size]
            assert_in_order $log {
                {Skipped: auxiliary data of the module 'other-mod', which is not loaded}
                {Skipped: the value with the module type vectorset of key "vectors" in database 0}
                {Skipped: metadata of the class 'mrze' of key "b" in database 0}
                {Skipped: metadata of the class 'mrze' of key "c" in database 0}
                {Skipped: the value with the module type vectorset of key "both" in database 0}
            }
            assert_equal 2 [regexp -all {in database 3} $log]
            assert_match {*of key "\\x00\\"" in database 3*} $log
            assert_match "*\"[string repeat x 256]\" in database 3*" $log
            assert_match {*Metadata of 2 keys were skipped*} $log
            assert_match {*4 keys of unknown types were skipped (vectorset 3, ReJSON-RL 1), as rdb-skip-unknown-types allows*} $log
            r debug reload
            assert_equal 0 [s rdb_last_load_keys_skipped]
            assert_equal 3 [r dbsize]
        }

        test {rdb-skip-unknown-types: the list ends after 100 keys, the count does not} {
            r config set rdb-skip-unknown-types yes
            set size [file size [srv log]]
            set body [string_key a]
            for {set i 0} {$i < 250} {incr i} { append body [module_key key:$i [expr {$i % 25 ? "vectorset" : "mod-[expr {1000 + $i}]-"}]] }
            load_bytes REDIS0013 $body
            assert_equal {250 1} [list [s rdb_last_load_keys_skipped] [r dbsize]]
            set log [log_since $size]
            assert_equal 100 [regexp -all {Skipped: the value with the module type} $log]
            assert_match {*Skipped: further keys are only counted*250 keys of unknown types were skipped (mod-1000- 1, vectorset 240, mod-1025- 1*} $log
        }

        test {rdb-skip-unknown-types: what has no end still ends the load; without it nothing is skipped} {
            foreach body [list \x1c\x03key\x00 \x06\x03key[module_id vectorset]\x00 \x16\x03key\x00 \xf0 \
                              [metadata 0xf1][metadata 0xf1] \x07\x03key[module_id vectorset]\x06\x00 \xf3\x08] {
                assert_error "ERR*" { load_bytes REDIS0013 [string_key a]$body[string_key b] }
            }
            r config set rdb-skip-unknown-types no
            assert_error "ERR*" { load_bytes REDIS0013 [module_key key vectorset] }
            # Without a module that needs it, metadata that may be ignored are skipped in any case, and logged.
            set size [file size [srv log]]
            load_bytes REDIS0013 [metadata 0xf1][string_key b]
            assert_equal v [r get b]
            assert_match {*Skipped: metadata of the class 'mrze' of key "b" in database 0*} [log_since $size]
        }

        test {the opcode of metadata announces an import of slots in Valkey's files} {
            foreach magic {VALKEY080 VALKEY081 REDIS0011} {
                assert_error "ERR*" { load_bytes $magic [metadata 0xf1][string_key b] }
            }
            load_bytes REDIS0012 [metadata 0xf1][string_key b]
        }

        test {RESTORE says what it does not know, whatever rdb-skip-unknown-types says} {
            foreach skip {no yes} {
                r config set rdb-skip-unknown-types $skip
                set value [module_id vectorset 1]\x02\x05\x00
                assert_error {ERR Bad data format: there is a value of the module type 'vectorset', but no loaded module provides that type} {
                    r restore k 0 [dump_seal \x07$value 13]
                }
                assert_error {ERR Bad data format: unknown type of value: 24} { r restore k 0 [dump_seal \x18\x00 81] }
                assert_error {ERR Bad data format: type of value 22 was written by a pre-release*} { r restore k 0 [dump_seal \x16\x00 13] }
                assert_error {ERR Bad data format: the key has metadata of the class 'mrze', which no module provides} {
                    r restore k 0 [dump_seal [metadata 0xf0]\x00\x01v 13]
                }
                assert_error {ERR Bad data format} { r restore k 0 [dump_seal \x02\x01 13] }
                assert_error {ERR Bad data format*} { r restore k 0 [dump_seal [metadata 0xf1]\x00\x01v 81] }
                assert_equal 0 [r exists k]
                assert_equal OK [r restore k 0 [dump_seal [metadata 0xf1]\x00\x01v 13]]
                assert_equal v [r get k]
                r del k
            }
            r config set rdb-skip-unknown-types no
        }

        test {the check tool reports what a server needs modules for} {
            write_bytes [srv dir]/dump.rdb [rdb_file REDIS0013 \
                \xf7[module_id vectorset]\x02\x01\x00[metadata 0xf0][string_key a][module_key b vectorset][module_key c vectorset]]
            lassign [check_rdb [srv dir]/dump.rdb --stats] code output
            assert_equal 0 $code
            assert_in_order $output {{MODULE AUX for: vectorset} {KEY METADATA for: 'mrze'} {looks OK!} {3 keys read}
                {1 keys with metadata of modules} {2 keys of module types (vectorset 2): only a server that has the modules}}
        }
    }

    test {rdb-skip-unknown-types holds for the base of an append-only file} {
        set files [list appendonlydir/appendonly.aof.1.base.rdb [rdb_file REDIS0013 [module_key vectors vectorset][string_key a]] \
            appendonlydir/appendonly.aof.1.incr.aof [aof_text {SELECT 0} {SET b w}] \
            appendonlydir/appendonly.aof.manifest "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i startoffset 7\n"]
        aof_with_files $files {rdb-skip-unknown-types yes} {
            assert_equal {v w 1} [list [r get a] [r get b] [s rdb_last_load_keys_skipped]]
        }
    }
}
